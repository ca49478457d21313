"""Options that are nearly right are told how they are written.

What a refusal proposes is run, and finds nothing more to ask.
"""

from __future__ import annotations

import json

import pytest

from tests.process.program import clfeval as program
from tests.tables.asking import refusal_and_options, refused, spots_in
from tests.tables.door import write
from tests.texts import check_text


def test_an_option_of_one_value_is_not_given_twice() -> None:
    write("t.csv", "truth,a\n1,1\n0,1\n")
    done = program("mars", "t.csv", "--positive", "1", "--positive=0")
    assert (done.code, spots_in(done.err)) == (2, "bad-option")
    check_text(done.err)


def test_classes_with_commas_between_them_are_refused() -> None:
    rows = "".join(f"{t},{t}\n" for t in "xyzx")
    write("t.csv", f"truth,a\n{rows}")
    for command in ("report", "mars --positive x", "report --measure rps"):
        done = program(*command.split(), "t.csv", "--classes", "x, y,z", "-q")
        assert (done.code, spots_in(done.err)) == (2, "bad-option")
        assert "--classes 'x' --classes 'y' --classes 'z'" in done.err
    # a class may be called so
    write("t.csv", f'truth,a\n{rows}"x,w",x\n')
    for label in ("x,w", "v,w"):  # or truth happens to lack it
        assert program("report", "t.csv", "--classes", label, "-q").code == 0


def test_names_with_commas_between_them_are_refused() -> None:
    write("t.csv", "truth,rf,g b\n1,1,1\n0,1,0\n")
    done = program("mars", "t.csv", "--model", "rf,g b")
    assert "--model 'rf' --model 'g b'" in done.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("mars", "t.csv", "--threshold", "50%"), "--threshold 0.5"),
        (("mars", "t.csv", "--threshold", "a=12.5%"), "--threshold a=0.125"),
        (("tune-jpt", "--counts", "67", "5", "33", "95"), "--counts 67,5,33,95"),
        (("mars", "t.csv", "-q", "--fail-under", "f1=0.8"), "--measure f1"),
        (("mars", "t.csv", "-q", "--fail-under", "recall=70"), "0.7"),
    ],
)
def test_what_is_nearly_right_is_shown_as_it_is_written(words: tuple[str, ...], meant: str) -> None:
    write("t.csv", "truth,a\n1,.7\n0,.2\n1,.6\n")
    done = program(*words)
    assert done.code == 2
    assert meant in done.err.splitlines()[-1]
    check_text(done.err)


@pytest.mark.parametrize("rate", ["90%", "90 %", "0.9", ".9"])
def test_a_rate_may_be_a_percentage(rate: str) -> None:
    words = ("tune-jpt", "--sensitivity", rate, "--specificity", "80%", "-f", "json")
    done = program(*words, "--dry-run")
    plan = {row["what"]: row["value"] for row in json.loads(done.out)["tables"]["plan"]}
    assert (plan["--sensitivity"], plan["--specificity"]) == ("0.9", "0.8")
    for wrong in ("90", "x"):
        done = program("tune-jpt", "--sensitivity", wrong, "--specificity", ".8")
        assert (done.code, spots_in(done.err)) == (2, "bad-option")
        check_text(done.err)


def test_a_table_of_rates_is_refused() -> None:
    write("t.csv", "study,sensitivity,specificity\nA,.9,.8\nB,.7,.9\n")
    assert refused("tune-jpt", "t.csv")[1] == ""


def test_features_are_proposed_to_be_features() -> None:
    rows = "".join(
        f"{'MB'[i % 2]},{i % 7 + 6},{i % 20 * 31 % 400 + 150},9{i % 5}\n" for i in range(40)
    )
    content = f"diagnosis,radius,area,perimeter\n{rows}"
    _, proposed = refusal_and_options(content, "--positive", "M", command="phidelta")
    assert proposed == "--features"
