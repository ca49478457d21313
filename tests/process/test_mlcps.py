"""mlcps at the shell: exit codes, streams, saved files, the same bytes twice."""

from __future__ import annotations

import os
from math import cos, pi, sin
from pathlib import Path

import pytest

from tests.process.program import Done, clfeval, json_document, on_terminal, write_files
from tests.texts import check_text, problem_places

FIXTURES = Path(__file__).parents[2] / "fixtures"
SCORES = FIXTURES / "breast-cancer" / "scores.csv"
VALUES = {"rf": (0.9, 0.8, 0.7), "svm": (0.8, 0.85, 0.75), "lr": (0.7, 0.6, 0.9)}
TABLE = "model,recall,precision,specificity\n" + "".join(
    f"{name},{','.join(map(str, row))}\n" for name, row in VALUES.items()
)
FILES = {
    "m.csv": TABLE,
    "bad.csv": "model,recall,precision,f1\na,.5,x,.5\nb,,.5,.5\n",
    "below.csv": "model,recall,precision,mcc\na,.5,.6,-.5\nb,.6,.5,.5\n",
    "two.csv": "model,recall,precision\na,.5,.6\n",
    "other.csv": "model,recall,precision,specificity\nknn,.5,.6,.7\n",
    "bad.yaml": "recall: 2\nprecison: 3\n",
}


@pytest.fixture(autouse=True)
def input_files(folder: Path) -> None:
    write_files(folder, FILES)


def area(rays: tuple[float, ...]) -> float:
    """Return the area of the polygon of these rays, from its corners (the shoelace formula)."""
    angles = [2 * pi * i / len(rays) for i in range(len(rays))]
    corners = [(r * cos(a), r * sin(a)) for r, a in zip(rays, angles, strict=True)]
    pairs = zip(corners, corners[1:] + corners[:1], strict=True)
    return sum(x * v - u * y for (x, y), (u, v) in pairs) / 2


def rank(*words: str, **changes: str) -> Done:
    return clfeval("mlcps", *words, **changes)


def scores_by_model(done: Done, score: str = "mlcps") -> dict[str, float]:
    """Return one score of every model, in the order of the table."""
    return {row["model"]: row[score]["value"] for row in json_document(done)["tables"]["models"]}


def in_folder() -> set[str]:
    """Return what is in the folder, hidden files too, beside the tables of these tests."""
    return set(os.listdir()) - {"t.csv", *FILES}


def test_a_table_is_enough() -> None:
    done = rank("m.csv")
    assert done.code == 0
    check_text([*done.err.splitlines(), *done.out.splitlines()[:1]])
    for name, row in VALUES.items():
        (line,) = (line for line in done.out.splitlines() if line.startswith(f"{name}  "))
        assert f"{area(row):.3f}" in line.split(), name
    found = scores_by_model(rank("m.csv", "-q", "-f", "json"))
    assert found == pytest.approx({name: area(row) for name, row in VALUES.items()}, rel=1e-12)


ERRORS: dict[str, tuple[list[str], int, str]] = {
    "no table": ([], 2, "TABLE"),
    "several tables": (["m.csv", "other.csv"], 2, "[several-tables]"),
    "a glob of several": (["*.csv"], 2, "[several-tables]"),
    "one table twice": (["m.csv", "m.csv"], 2, "[repeated-file]"),
    "no such file": (["gone.csv"], 3, "gone.csv: "),
    "no such file to compare": (["m.csv", "--compare", "gone.csv"], 3, "[no-such-file]"),
    "other models to compare": (["m.csv", "--compare", "other.csv"], 3, "[different-models]"),
    "other metrics to compare": (["m.csv", "--compare", "two.csv"], 3, "two.csv: "),
    "a text": (["bad.csv"], 3, "bad.csv:2: column 'precision': "),
    "a gap": (["bad.csv"], 3, "bad.csv:3: column 'recall': "),
    "a negative metric": (["below.csv"], 3, "--rescale mcc=-1:1"),
    "two metrics": (["two.csv"], 3, "[too-few-metrics]"),
    "predictions": (["t.csv"], 3, "--from predictions"),
    "an unknown weight": (["m.csv", "--metric-weight", "recal=2"], 2, "'recall'"),
    "no weight": (["m.csv", "--metric-weight", "recall"], 2, "METRIC=NUMBER"),
    "a negative weight": (["m.csv", "--metric-weight", "recall=-1"], 2, "--metric-weight"),
    "no direction": (["m.csv", "--direction", "recall=up"], 2, "METRIC=max"),
    "no range": (["m.csv", "--rescale", "recall=1"], 2, "METRIC=LOW:HIGH"),
    "an unknown metric": (["m.csv", "--metric", "recal"], 2, "[unknown-metric]"),
    "an unknown model": (["m.csv", "--model", "knn"], 2, "[unknown-model]"),
    "no such wishes": (["m.csv", "--desirability", "gone.yaml"], 2, "gone.yaml: "),
    "weights of others": (["m.csv", "--metric-weight", "bad.yaml"], 2, "'precision'"),
    "for predictions": (["m.csv", "--truth", "model"], 2, "--from predictions"),
    "no measure": (["t.csv", "--from", "predictions", "--metric", "f2"], 2, "[unknown-measure]"),
    "an unknown option": (["m.csv", "--weigth", "recall=2"], 2, "--metric-weight"),
    "an unknown table": (["m.csv", "--show", "weights"], 2, "'weights'"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_their_code_and_nothing_on_stdout(name: str) -> None:
    words, code, part = ERRORS[name]
    done = rank(*words, "-q", "--save", "r.json", "--save", "r.html")
    assert (done.code, done.out) == (code, "")
    assert part in done.err
    check_text(done.err)
    assert in_folder() == set()


def test_a_terminal_is_no_table_and_gets_colours() -> None:
    none = on_terminal("mlcps", "-")
    assert (none.code, none.out) == (2, "")
    assert problem_places(none.err) == ["<stdin>: [no-input]"]
    seen = on_terminal("mlcps", "m.csv", "-q")
    assert seen.code == 0
    assert "\x1b[" in seen.out
    assert "\x1b[" not in rank("m.csv", "-q").out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["bad.csv", "--save", "r.json"], 3),
        (["m.csv", "--save", "r.json", "--compare", "other.csv"], 3),
        (["m.csv", "--save", "r.json", "--desirability", "bad.yaml"], 2),
        (["m.csv", "--save", "r.json", "--show", "splits"], 2),
        (["m.csv", "--save", "r.json", "--fail-under", "auc=1"], 2),
        (["m.csv", "--save", "r.json", "--save", "nowhere/r.csv"], 2),
        (["m.csv", "--save", "r.json", "--save", "r.xml"], 2),
        (["m.csv", "--save", "r.json", "--save", "m.csv"], 2),
        (["m.csv", "--save", "r.json", "--compare", "other.csv", "--save", "other.csv"], 2),
    ],
)
def test_what_is_refused_leaves_the_old_result(words: list[str], code: int) -> None:
    Path("r.json").write_text("old", encoding="utf-8")
    done = rank(*words, "-q")
    assert (done.code, done.out) == (code, "")
    assert Path("r.json").read_text(encoding="utf-8") == "old"
    assert {name: Path(name).read_text(encoding="utf-8") for name in FILES} == FILES
    assert in_folder() == {"r.json"}
