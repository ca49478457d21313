"""Tables a report refuses: each problem with file, row, column and what to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.process.program import clfeval

CASES = {
    "beyond 0..1": (
        "truth,m:a,m:b\na,.5,.5\nb,1.2,-.2\n", ("--positive", "a"),
        "p.csv:3: column 'm:a': class probabilities from -0.2 to 1.2 [bad-probability]\n"
        "hint: probabilities lie between 0 and 1\n",
    ),
    "sums": (
        "truth,m:a,m:b\na,.5,.5\nb,.2,.2\n", ("--positive", "a"),
        "p.csv:3: column 'm:a': the class probabilities of 'm' sum to 0.4, at worst [bad-sum]\n"
        "hint: --renormalize divides them by their sum in each row\n"
        "try: clfeval report p.csv --quiet --positive a --renormalize\n",
    ),
    "other classes": (
        "truth,m:a,m:c\na,.5,.5\nb,.2,.8\n", ("--positive", "a"),
        "p.csv:1: column 'm:c': no row of truth has this class, and 'b' has no column "
        "[class-column]\n"
        "hint: name the columns as the classes are written in truth, or declare with --labels what "
        "truth happens to lack\n",
    ),
    "beyond 0..1, of many classes": (
        "truth,m:a,m:b,m:c\na,.5,.5,0\nb,.2,1.3,.5\nc,0,0,1\n", (),
        "p.csv:3: column 'm:b': class probabilities from 0 to 1.3 [bad-probability]\n"
        "hint: probabilities lie between 0 and 1; --renormalize divides them by their sum\n"
        "try: clfeval report p.csv --quiet --renormalize\n",
    ),
    "a row of nothing": (
        "truth,m:a,m:b,m:c\na,.5,.5,0\nb,0,0,0\nc,0,0,1\n", ("--renormalize",),
        "p.csv:3: column 'm:a': the class probabilities of 'm' are all 0 [bad-sum]\n"
        "hint: --missing drop leaves such rows out\n",
    ),
    "classes of another name": (
        "truth,m:x,m:y,m:c\na,.5,.5,0\nb,.2,.2,.6\nc,0,0,1\n", (),
        "p.csv:1: column 'm:x': no row of truth has this class, and 'a', 'b' have no column "
        "[class-column]\n"
        "p.csv:1: column 'm:y': no row of truth has this class, and 'a', 'b' have no column "
        "[class-column]\n"
        "hint: name the columns as the classes are written in truth, or declare with --labels what "
        "truth happens to lack\n",
    ),
    "no class of these names": (
        "truth,.pred_x,.pred_y,.pred_z\na,.5,.5,0\nb,.2,.2,.6\nc,0,0,1\n", (),
        "".join(f"p.csv:1: column '.pred_{name}': no row of truth has this class, and 'a', 'b', 'c'"
                " have no column [class-column]\n" for name in "xyz")
        + "hint: name the columns as the classes are written in truth, or declare with --labels "
        "what truth happens to lack\n",
    ),
    "several labels in a cell": (
        "truth,m\na,a\na; b,a\nb,b\n", ("--positive", "a"),
        "p.csv:3: column 'truth': 'a; b': several of the classes 'a', 'b' in one [multi-label]\n"
        "hint: make it long, one label a line: columns row, label, truth and prediction (1 where "
        "the row has it), then --by label --cluster row --positive 1\n",
    ),
    "a column of truth for each label": (
        "truth_a,truth_b,pred_a,pred_b\n1,0,1,0\n0,1,1,1\n", (),
        "p.csv:1: column 'truth_b': no truth column; columns: 'truth_a', 'truth_b', 'pred_a', "
        "'pred_b' [multi-label]\n"
        "hint: 'truth_a', 'truth_b': a label each? Make it long, one label a line: columns row, "
        "label, truth and prediction, then --by label --cluster row --positive 1; else --truth "
        "COLUMN\n",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_a_table_is_refused_by_row_and_column_with_what_to_do(name: str) -> None:
    text, words, said = CASES[name]
    Path("p.csv").write_text(text)
    done = clfeval("report", "p.csv", "--quiet", *words)
    assert (done.code, done.out) == (3, "")
    assert done.err == said
    dry = clfeval("report", "p.csv", "--dry-run", *words)
    assert dry.code == 3
    assert "must be answered before report computes" in dry.out


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


def test_a_class_that_truth_happens_to_lack_may_have_a_column() -> None:
    Path("p.csv").write_text("truth,m:a,m:b,m:c\na,.5,.3,.2\nb,.2,.8,0\n")
    assert clfeval("report", "p.csv", "--positive", "a", "--quiet").code == 0


def numbers(*words: str) -> str:
    done = clfeval("report", "p.csv", "--quiet", "-f", "csv", "--table", "metrics",
                   "--interval", "bootstrap", "--resamples", "200", *words)  # fmt: skip
    assert done.code == 0, done.err
    return done.out


def test_same_seed_same_bytes_and_no_model_moves_anothers_interval() -> None:
    lines = [f"{i * 7 % 3 % 2},{i * 37 % 100 / 100},{i * 53 % 100 / 100}" for i in range(90)]
    Path("p.csv").write_text("\n".join(["truth,a,b", *lines, ""]))
    both, again, other = numbers(), numbers(), numbers("--seed", "1")
    assert both == again != other
    assert numbers("--level", "0.9") != both
    alone = numbers("--model", "a")
    assert [row for row in both.splitlines() if ",a," in row] == alone.splitlines()[1:]
