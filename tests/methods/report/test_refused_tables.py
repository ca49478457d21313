"""Tables a report refuses: each problem with file, row, column and what to type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clfeval.api.commands import report
from clfeval.views.documents import csv_lines
from tests.process.program import clfeval
from tests.texts import check_text, problem_places

# table, words, where the problems are
CASES: dict[str, tuple[str, tuple[str, ...], list[str]]] = {
    "beyond 0..1": (
        "truth,m:a,m:b\na,.5,.5\nb,1.2,-.2\n",
        ("--positive", "a"),
        ["p.csv:3: column 'm:a': [bad-probability]"],
    ),
    "sums": (
        "truth,m:a,m:b\na,.5,.5\nb,.2,.2\n",
        ("--positive", "a"),
        ["p.csv:3: column 'm:a': [bad-sum]"],
    ),
    "other classes": (
        "truth,m:a,m:c\na,.5,.5\nb,.2,.8\n",
        ("--positive", "a"),
        ["p.csv:1: column 'm:c': [class-column]"],
    ),
    "beyond 0..1, of many classes": (
        "truth,m:a,m:b,m:c\na,.5,.5,0\nb,.2,1.3,.5\nc,0,0,1\n",
        (),
        ["p.csv:3: column 'm:b': [bad-probability]"],
    ),
    "a row of nothing": (
        "truth,m:a,m:b,m:c\na,.5,.5,0\nb,0,0,0\nc,0,0,1\n",
        ("--renormalize",),
        ["p.csv:3: column 'm:a': [bad-sum]"],
    ),
    "classes of another name": (
        "truth,m:x,m:y,m:c\na,.5,.5,0\nb,.2,.2,.6\nc,0,0,1\n",
        (),
        [f"p.csv:1: column 'm:{name}': [class-column]" for name in "xy"],
    ),
    "no class of these names": (
        "truth,.pred_x,.pred_y,.pred_z\na,.5,.5,0\nb,.2,.2,.6\nc,0,0,1\n",
        (),
        [f"p.csv:1: column '.pred_{name}': [class-column]" for name in "xyz"],
    ),
    "several labels in a cell": (
        "truth,m\na,a\na; b,a\nb,b\n",
        ("--positive", "a"),
        ["p.csv:3: column 'truth': [multi-label]"],
    ),
    "several labels in a cell, one of them in answers alone": (
        "truth,m\na;b,a\na,a\nc,b\n",
        ("--positive", "a"),
        ["p.csv:2: column 'truth': [multi-label]"],
    ),
    "several labels in cells of answers": (
        "truth,m\na,a;b\nb,b\na,a\n",
        ("--positive", "a"),
        ["p.csv:2: column 'm': [multi-label]"],
    ),
    "several labels in every cell": (
        "truth,m\na|b,a|b\nb|c,b|c\na|c,c|b\n",
        (),
        ["p.csv:2: column 'truth': [multi-label]"],
    ),
    **{
        f"a column for each label, {names}": (
            f"{names}\n1,0,1,0\n0,1,1,1\n",
            (),
            [f"p.csv:1: column '{second}': [multi-label]"],
        )
        for names, second in {
            "truth_a,truth_b,pred_a,pred_b": "truth_b",
            "true_sun,true_rain,pred_sun,pred_rain": "true_rain",
            "sun_true,rain_true,sun_pred,rain_pred": "rain_true",
            "sun,rain,m_sun,m_rain": "rain",
        }.items()
    },
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_a_table_is_refused_by_row_and_column_with_what_to_do(name: str) -> None:
    text, words, places = CASES[name]
    Path("p.csv").write_text(text)
    done = clfeval("report", "p.csv", "--quiet", *words)
    assert (done.code, done.out) == (3, "")
    assert problem_places(done.err) == places
    dry = clfeval("report", "p.csv", "--dry-run", *words)
    assert dry.code == 3
    check_text(done.err)


def test_the_recipe_for_several_labels_works() -> None:
    Path("long.csv").write_text(
        "row,label,truth,prediction\n1,a,1,1\n1,b,1,0\n2,a,0,0\n2,b,1,1\n3,a,1,1\n3,b,0,1\n"
    )
    words = ("--by", "label", "--cluster", "row", "--positive", "1")
    done = clfeval("report", "long.csv", "--quiet", *words)
    assert done.code == 0
    assert "label=a" in done.out


def test_a_class_that_is_no_list_of_others_is_a_class() -> None:
    Path("p.csv").write_text("truth,m\nyes,yes\nno;maybe,yes\nyes,yes\nno;maybe,no;maybe\n")
    assert clfeval("report", "p.csv", "--positive", "yes", "--quiet").code == 0


def test_names_that_share_a_word_between_commas_are_classes() -> None:
    rows = ['"cat, small"', '"cat, large"', '"dog, small"', '"dog, large"']
    Path("p.csv").write_text("truth,m\n" + "".join(f"{row},{row}\n" for row in rows))
    assert clfeval("report", "p.csv", "--quiet").code == 0


def test_a_measure_of_more_classes_says_what_it_is_of_two() -> None:
    Path("p.csv").write_text("truth,m\n1,.7\n0,.2\n1,.4\n0,.6\n")
    for measure in ("ordinal_rmse", "accuracy_within_1", "top_k_accuracy"):
        done = clfeval("report", "p.csv", "--quiet", "--measure", measure)
        assert done.code == 2
        check_text(done.err)


def test_a_measure_of_two_classes_names_one_of_more() -> None:
    Path("p.csv").write_text("truth,m:a,m:b,m:c\na,.5,.3,.2\nb,.2,.8,0\nc,.1,.2,.7\na,.2,.3,.5\n")
    words = ("report", "p.csv", "--quiet", "--measure", "average_precision")
    done = clfeval(*words)
    check_text(done.err)
    assert clfeval(*words, "--positive", "c").code == 0


def test_a_measure_that_is_undefined_says_why_below_its_table() -> None:
    rows = "".join(f"{i % 2},{i % 9 / 10},{i % 7 / 10}\n" for i in range(60))
    Path("p.csv").write_text(f"truth,a,b\n{rows}")
    done = clfeval("report", "p.csv", "--quiet", "--measure", "precision@k:k=5000")
    (line,) = (one for one in done.out.splitlines() if "– precision@k:k=5000: " in one)
    check_text(line)
    done = clfeval("report", "p.csv", "--quiet", "--measure", "precision@k:k=50")
    assert "– precision@k:k=50:" not in done.out


def test_a_class_that_truth_happens_to_lack_may_have_a_column() -> None:
    Path("p.csv").write_text("truth,m:a,m:b,m:c\na,.5,.3,.2\nb,.2,.8,0\n")
    assert clfeval("report", "p.csv", "--positive", "a", "--quiet").code == 0


def numbers(**options: Any) -> str:
    result = report("p.csv", interval="bootstrap", resamples=200, **options)
    return "".join(csv_lines(result, "measures"))


def test_same_seed_same_bytes_and_no_model_moves_anothers_interval() -> None:
    lines = [f"{i * 7 % 3 % 2},{i * 37 % 100 / 100},{i * 53 % 100 / 100}" for i in range(90)]
    Path("p.csv").write_text("\n".join(["truth,a,b", *lines, ""]))
    both, again, other = numbers(), numbers(), numbers(seed=1)
    assert both == again != other
    assert numbers(level=0.9) != both
    alone = numbers(model="a")
    assert [row for row in both.splitlines() if ",a," in row] == alone.splitlines()[1:]
