"""Options that are nearly right are told how they are written.

What a refusal proposes is run, and finds nothing more to ask.
"""

from __future__ import annotations

import json
import shlex

import pytest

from tests.process.program import clfeval as program
from tests.tables.asking import START
from tests.tables.door import write


def test_an_option_of_one_value_is_not_given_twice() -> None:
    write("t.csv", "truth,a\n1,1\n0,1\n")
    done = program("mars", "t.csv", "--positive", "1", "--positive=0")
    assert (done.code, done.err) == (
        2,
        "--positive takes one value, and is given 2 times [bad-option]\n"
        "hint: leave all but one out\n",
    )


def test_classes_with_commas_between_them_are_told_how_to_be_given() -> None:
    rows = "".join(f"{t},{t}\n" for t in "xyzx")
    write("t.csv", f"truth,a\n{rows}")
    for command in ("report", "mars --positive x", "report --measure rps"):
        done = program(*command.split(), "t.csv", "--classes", "x, y,z", "-q")
        assert (done.code, done.err) == (
            2,
            "--classes 'x, y,z' is one class, and truth has none so called [bad-option]\n"
            "hint: one at a time: --classes 'x' --classes 'y' --classes 'z'\n",
        )
    # a class may be called so
    write("t.csv", f'truth,a\n{rows}"x,w",x\n')
    for label in ("x,w", "v,w"):  # or truth happens to lack it
        assert program("report", "t.csv", "--classes", label, "-q").code == 0


def test_names_with_commas_between_them_are_told_how_to_be_given() -> None:
    write("t.csv", "truth,rf,g b\n1,1,1\n0,1,0\n")
    done = program("mars", "t.csv", "--model", "rf,g b")
    assert done.err.splitlines()[-1] == "hint: one each time: --model 'rf' --model 'g b'"


@pytest.mark.parametrize(("words", "hint"), [
    (("mars", "t.csv", "--threshold", "50%"), "50 % of 0..1 is --threshold 0.5"),
    (("mars", "t.csv", "--threshold", "a=12.5%"), "12.5 % of 0..1 is --threshold a=0.125"),
    (("tune-jpt", "--counts", "67", "5", "33", "95"),
     "the four counts with commas: --counts 67,5,33,95"),
    (("mars", "t.csv", "-q", "--fail-under", "f1=0.8"),
     "it is left out of this result: add --measure f1"),
    (("mars", "t.csv", "-q", "--fail-under", "recall=70"), "70 % is 0.7"),
])  # fmt: skip
def test_what_is_nearly_right_is_told_how_it_is_written(words: tuple[str, ...], hint: str) -> None:
    write("t.csv", "truth,a\n1,.7\n0,.2\n1,.6\n")
    done = program(*words)
    assert (done.code, done.err.splitlines()[-1]) == (2, f"hint: {hint}")


@pytest.mark.parametrize("rate", ["90%", "90 %", "0.9", ".9"])
def test_a_rate_may_be_a_percentage(rate: str) -> None:
    words = ("tune-jpt", "--sensitivity", rate, "--specificity", "80%", "-f", "json")
    done = program(*words, "--dry-run")
    plan = {row["what"]: row["value"] for row in json.loads(done.out)["tables"]["plan"]}
    assert (plan["--sensitivity"], plan["--specificity"]) == ("0.9", "0.8")
    done = program("tune-jpt", "--sensitivity", "90", "--specificity", ".8")
    assert done.err.splitlines() == [
        "--sensitivity 90 is not between 0 and 1 [bad-option]", "hint: a share: 0.9 for 90 %",
    ]  # fmt: skip
    done = program("tune-jpt", "--sensitivity", "x", "--specificity", ".8")
    assert (done.code, done.err.splitlines()[0]) == (
        2, "--sensitivity 'x' is not a number [bad-option]",
    )  # fmt: skip


def test_a_table_of_rates_is_told_what_is_taken() -> None:
    write("t.csv", "study,sensitivity,specificity\nA,.9,.8\nB,.7,.9\n")
    done = program("tune-jpt", "t.csv", "-q")
    assert (done.code, len(done.err.splitlines())) == (3, 2)
    assert "takes their counts (columns model, tp, fp, fn, tn), or the rates of one" in done.err


def test_features_are_proposed_to_be_features() -> None:
    rows = "".join(
        f"{'MB'[i % 2]},{i % 7 + 6},{i * 31 % 400 + 150},{i % 5 / 10}\n" for i in range(40)
    )
    write(
        "t.csv",
        f"diagnosis,radius,area,smooth\n{rows}".replace("smooth", "perimeter").replace(
            ",0.", ",90."
        ),
    )
    done = program("phidelta", "t.csv", "--positive", "M", "-q")
    assert done.code == 3
    last = done.err.splitlines()[-1]
    assert last == "try: clfeval phidelta t.csv --positive M -q --features --truth diagnosis"
    assert program(*shlex.split(last.removeprefix(START))).code == 0
