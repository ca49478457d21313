"""Numbers given to tune-jpt instead of a table: four counts a model, or two rates."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import clfeval
from tests.methods.tune_jpt.requests.door import (
    CCP,
    COUNTS,
    RF,
    cells,
    codes,
    command,
    one,
    rows_of,
    tuned,
    usage_message,
    value,
)

# what follows --counts -> what the refusal says
BAD_COUNTS: dict[str, tuple[str, list[str]]] = {
    "negative": ("67,5,33,-95", ["TN", "-95", "negative", "from 0 up"]),
    "fractions": ("67.5,5,33,95", ["TP", "67.5", "not a whole number", "--sensitivity 0.67"]),
    "rates": ("0.67,0.05,0.33,0.95", ["TP", "0.67", "--sensitivity 0.67 --specificity 0.95"]),
    "words": ("a,b,c,d", ["--counts 'a,b,c,d'", "TP,FP,FN,TN", "--counts rf=69,15,31,85"]),
    "one word": ("67,5,33,x", ["--counts '67,5,33,x'", "TP,FP,FN,TN"]),
    "three numbers": ("67,5,33", ["four numbers TP,FP,FN,TN", "--counts 67,5,33,95"]),
    "five numbers": ("67,5,33,95,1", ["four numbers TP,FP,FN,TN", "--counts 67,5,33,95"]),
    "a comma too much": ("67,5,33,95,", ["--counts '67,5,33,95,'", "TP,FP,FN,TN"]),
    "spaces for commas": ("67 5 33 95", ["--counts '67 5 33 95'", "--counts rf=69,15,31,85"]),
    "semicolons": ("67;5;33;95", ["--counts '67;5;33;95'", "--counts rf=69,15,31,85"]),
    "nothing": ("", ["--counts ''", "TP,FP,FN,TN"]),
    "a name alone": ("rf=", ["--counts 'rf='", "TP,FP,FN,TN"]),
    "not a number": ("nan,5,33,95", ["TP", "nan", "from 0 up"]),
    "infinite": ("67,inf,33,95", ["67,inf,33,95", "TP,FP,FN,TN"]),
    "beyond what a number holds": ("1e400,5,33,95", ["1e400,5,33,95", "TP,FP,FN,TN"]),
    "beyond what is counted": ("67,5,33,1e19", ["TN", "from 0 up"]),
}


@pytest.mark.parametrize("name", BAD_COUNTS)
@pytest.mark.parametrize("model", ["", "rf="])
def test_what_is_no_count_is_refused(name: str, model: str) -> None:
    text, parts = BAD_COUNTS[name]
    code, message = command("--counts", f"{model}{text}")
    assert code == 2, message
    assert "[bad-counts]" in message
    missing = [part.replace("--counts '", f"--counts '{model}") for part in parts]
    assert [part for part in missing if part not in message] == [], message


@pytest.mark.parametrize("text", ["67, 5, 33, 95", " 67,5,33,95 ", "67.0,5,33,95", "+67,5,33,95e0"])
def test_counts_may_be_written_as_numbers_are(text: str) -> None:
    code, out = command("--counts", text, "--measure", "ppv", "-f", "csv")
    assert code == 0
    assert out.splitlines()[1].startswith(",model,sample,0.5,100:100,200,67,5,33,95,,")


NAMES = ["a=b", "a,b", "two words", "'q'", '"q"', "[red]x[/x]", "ünïcode", "--odds", "1:100", "1,2"]


@pytest.mark.parametrize("name", NAMES)
def test_a_model_may_have_any_name(name: str) -> None:
    code, out = command(f"--counts={name}={COUNTS}", "--measure", "ppv")
    assert code == 0
    assert name in out
    assert cells(tuned(counts={name: CCP})) == {name: CCP}


@pytest.mark.parametrize("names", [("", ""), ("rf=", "rf="), ("", "model=")])
def test_a_name_twice_is_refused(names: tuple[str, str]) -> None:
    words = [word for name in names for word in ("--counts", f"{name}{COUNTS}")]
    code, message = command(*words)
    assert code == 2
    assert "twice [bad-counts]" in message
    assert "--counts rf=69,15,31,85 --counts ccp=67,5,33,95" in message


def test_counts_may_be_any_whole_numbers() -> None:
    plain = tuned(counts=CCP).to_json()
    kinds: list[Any] = [list(CCP), tuple(map(float, CCP)), tuple(map(np.int64, CCP))]
    kinds += [tuple(map(Fraction, CCP)), {"model": CCP}]
    assert {tuned(counts=kind).to_json() for kind in kinds} == {plain}
    assert tuned(counts={"ccp": CCP, "rf": RF}).summary["positives"] == 67 + 33


def test_counts_are_kept_to_the_last_row() -> None:
    """More than a float holds exactly."""
    shown = ("sensitivity", "specificity", "tar", "ppv", "mcc", "ic")
    many = (10**15, 10**15 - 1, 2**53 + 1, 3)
    result = tuned(counts=many, prevalence="1:1000000", measure=shown)
    assert cells(result) == {"model": many}
    assert result.summary["rows"] == sum(many)
    share = Fraction(10**15, 10**15 + 2**53 + 1)
    assert value(result, "sensitivity", "sample") == pytest.approx(float(share), rel=1e-15)
    for measure in shown:
        for population in ("sample", "1:1", "target"):
            found = one(result, measure, population)
            assert found.value is not None
            assert found.low is not None
            assert found.high is not None
            assert found.low <= found.value <= found.high
    huge = (2**60,) * 4
    assert cells(tuned(counts=huge, measure="tar")) == {"model": huge}
    assert value(tuned(counts=huge, measure="tar"), "tar", "1:1") == 0.5
    assert f"TP is {2**60 + 1}, more than {2**60:,} " in usage_message(counts=(2**60 + 1, 1, 1, 1))


@pytest.mark.parametrize(("counts", "lacking"), [
    ("0,5,0,95", "positive"), ("67,0,33,0", "negative"), ("0,0,0,0", "positive"),
])  # fmt: skip
def test_a_class_that_nobody_counted_cannot_be_tuned(counts: str, lacking: str) -> None:
    code, message = command("--counts", counts)
    assert code == 3
    assert message.startswith(f"--counts: no {lacking} row")
    assert "[single-class]" in message
    assert command("--counts", counts, "--counts", f"b={counts}")[0] == 3


def test_one_model_of_several_may_lack_a_class() -> None:
    result = tuned(counts={"a": CCP, "b": (0, 5, 0, 95), "c": (0, 0, 0, 0)}, prevalence="1:100")
    assert codes(result).count("single-class") == 2
    said = [warning.message for warning in result.warnings if warning.code == "single-class"]
    assert "no positive row for 'b', 'c'" in said[0]
    assert "no negative row for 'c'" in said[1]
    rows = rows_of(result, "target")
    for name in ("b", "c"):
        assert [rows[name][cell] for cell in ("tp", "fp", "fn", "tn")] == [None] * 4
        for measure in ("tar", "ppv", "npv", "mcc", "epa", "dor", "sensitivity"):
            assert rows[name][measure].value is None
            assert rows[name][measure].reason == "no_positive_truth"
    assert rows["b"]["specificity"].value == 95 / 100
    assert rows["c"]["specificity"].value is None
    assert rows["a"]["tar"].value == pytest.approx((0.67 + 0.95 * 100) / 101, rel=1e-14)
    sample = rows_of(result, "sample")["b"]
    assert (sample["odds"], sample["prevalence"], sample["rows"]) == (None, None, 100)
    assert {row["crossing"].reason for row in result.tables["crossovers"]} == {"undefined"}
    assert result.summary == dict.fromkeys(("rows", "positives", "negatives", "prevalence", "odds"))


# words -> parts of the message
BAD_RATES: dict[str, tuple[list[str], list[str]]] = {
    "sensitivity alone": (["--sensitivity", ".67"], ["--sensitivity alone", "add --specificity"]),
    "specificity alone": (["--specificity", ".95"], ["--specificity alone", "add --sensitivity"]),
    "percents": (
        ["--sensitivity", "67", "--specificity", "95"], ["--sensitivity 67 ", "0.67 for 67 %"]
    ),
    "one percent": (
        ["--sensitivity", ".67", "--specificity", "95"], ["--specificity 95 ", "0.95 for 95 %"]
    ),
    "just beyond": (["--sensitivity", "1.01", "--specificity", "1"], ["1.01 is not between 0"]),
    "negative": (["--sensitivity", "-0.1", "--specificity", "1"], ["-0.1 is not between 0 and 1"]),
    "nan": (["--sensitivity", "nan", "--specificity", "1"], ["nan is not between 0 and 1"]),
    "a word": (["--sensitivity", "high", "--specificity", "1"], ["--sensitivity", "'high'"]),
    "and counts": (
        ["--sensitivity", ".67", "--specificity", ".95", "--counts", COUNTS],
        ["--counts", "--sensitivity", "give one"],
    ),
    "and a table": (
        ["gone.csv", "--sensitivity", ".67", "--specificity", ".95"], ["a table", "give one"]
    ),
    "counts and a table": (["gone.csv", "--counts", COUNTS], ["a table", "--counts", "give one"]),
    "all three": (
        ["gone.csv", "--counts", COUNTS, "--sensitivity", ".67"], ["a table", "--counts", "--sens"]
    ),
    "nothing": ([], ["nothing to tune [no-input]", "--counts", "--sensitivity"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_RATES)
def test_rates_and_sources_that_are_refused(name: str) -> None:
    words, parts = BAD_RATES[name]
    code, message = command(*words)
    assert code == 2, message
    assert [part for part in parts if part not in message] == [], message


def test_rates_alone_have_values_and_no_intervals() -> None:
    for interval in ("exact", "bootstrap", "none"):
        result = tuned(
            sensitivity=0.67,
            specificity=0.95,
            prevalence="1:100",
            interval=interval,
            sweep="1:9..9:1",
        )
        assert codes(result)[0] == "rates-only"
        assert (result.parameters["interval"], result.parameters["interval_methods"]) == (
            "none",
            {},
        )
        assert {row["population"] for row in result.tables["models"]} == {"1:1", "target"}
        for row in (*result.tables["models"], *result.tables["sweep"]):
            for cell in row.values():
                if isinstance(cell, clfeval.Estimate):
                    assert (cell.low, cell.high) == (None, None)
        # TP 0.67 x 10/1010 rows, FP 0.05 x 1000/1010
        assert value(result, "ppv") == pytest.approx(0.67 / (0.67 + 0.05 * 100), rel=1e-14)


def test_rates_may_be_0_and_1() -> None:
    perfect = tuned(sensitivity=1, specificity=1.0, prevalence="1:100")
    assert value(perfect, "tar") == 1
    assert one(perfect, "tor").reason == "infinite"
    never = tuned(sensitivity=0, specificity=1, prevalence="1:100")
    assert value(never, "tar") == pytest.approx(100 / 101, rel=1e-15)
    assert one(never, "ppv").reason == "no_positive_prediction"
    always_wrong = tuned(sensitivity=0.0, specificity=0.0, prevalence="1:100")
    assert value(always_wrong, "tar") == 0
    assert one(always_wrong, "dp").reason == "minus_infinite"


WITHOUT_TABLE: dict[str, list[str]] = {
    option: [option, given]
    for option, given in (
        ("--truth", "y"), ("--model", "m"), ("--id", "id"), ("--classes", "x"), ("--kind", "label"),
        ("--threshold", "0.5"), ("--weight", "n"), ("--by", "site"), ("--missing", "drop"),
        ("--null-value", "NA"),
    )
}  # fmt: skip


@pytest.mark.parametrize("option", WITHOUT_TABLE)
@pytest.mark.parametrize("source", [
    ["--counts", COUNTS], ["--sensitivity", ".67", "--specificity", ".95"],
], ids=["counts", "rates"])  # fmt: skip
def test_options_of_tables_are_refused_without_one(option: str, source: list[str]) -> None:
    code, message = command(*source, *WITHOUT_TABLE[option])
    assert code == 2
    assert message == f"{option} is for a table, and there is none [bad-option]\n"


def test_the_positive_class_may_be_named_without_a_table() -> None:
    result = tuned(counts=CCP, positive="rheumatoid arthritis")
    assert result.parameters["positive"] == "rheumatoid arthritis"
    assert result.parameters["negative"] == ["not rheumatoid arthritis"]
