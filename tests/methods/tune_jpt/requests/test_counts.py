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
    cells_by_model,
    command,
    estimate_at,
    rows_at,
    tuned,
    usage_message,
    value_at,
)
from tests.results import four_cells, limits_of, value_of, warning_codes, warning_messages
from tests.texts import check_text, problem_places

BAD_COUNTS = [
    "67,5,33,-95",
    "67.5,5,33,95",
    "0.67,0.05,0.33,0.95",
    "a,b,c,d",
    "67,5,33,x",
    "67,5,33",
    "67,5,33,95,1",
    "67,5,33,95,",
    "67 5 33 95",
    "67;5;33;95",
    "",
    "nan,5,33,95",
    "67,inf,33,95",
    "1e400,5,33,95",
    "67,5,33,1e19",
]


@pytest.mark.parametrize("model", ["", "rf="])
def test_what_is_no_count_is_refused(model: str) -> None:
    messages = []
    for text in BAD_COUNTS:
        code, message = command("--counts", f"{model}{text}")
        assert code == 2, message
        assert [place[-12:] for place in problem_places(message)] == ["[bad-counts]"], message
        messages.append(message)
    rates = messages[BAD_COUNTS.index("0.67,0.05,0.33,0.95")]
    assert "--sensitivity 0.67 --specificity 0.95" in rates
    large = usage_message(counts=(2**60 + 1, 1, 1, 1))
    assert str(2**60 + 1) in large
    assert f"{2**60:,}" in large
    if model:
        check_text([*messages, large])


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
    assert cells_by_model(tuned(counts={name: CCP})) == {name: CCP}


@pytest.mark.parametrize("names", [("", ""), ("rf=", "rf="), ("", "model=")])
def test_a_name_twice_is_refused(names: tuple[str, str]) -> None:
    words = [word for name in names for word in ("--counts", f"{name}{COUNTS}")]
    code, message = command(*words)
    assert code == 2
    assert [place[-12:] for place in problem_places(message)] == ["[bad-counts]"]
    check_text(message)


def test_counts_may_be_any_whole_numbers() -> None:
    plain = tuned(counts=CCP).to_json()
    kinds: list[Any] = [list(CCP), tuple(map(float, CCP)), tuple(map(np.int64, CCP))]
    kinds += [tuple(map(Fraction, CCP)), {"model": CCP}]
    assert {tuned(counts=kind).to_json() for kind in kinds} == {plain}
    assert tuned(counts={"ccp": CCP, "rf": RF}).summary["positives"] == 67 + 33


def test_counts_are_kept_to_the_last_row() -> None:
    """More than a float holds exactly."""
    measures = ("sensitivity", "specificity", "tar", "ppv", "mcc", "ic")
    many = (10**15, 10**15 - 1, 2**53 + 1, 3)
    result = tuned(counts=many, prevalence="1:1000000", measure=measures)
    assert cells_by_model(result) == {"model": many}
    assert result.summary["rows"] == sum(many)
    share = Fraction(10**15, 10**15 + 2**53 + 1)
    assert value_at(result, "sensitivity", "sample") == pytest.approx(float(share), rel=1e-15)
    for measure in measures:
        for population in ("sample", "1:1", "target"):
            estimate = estimate_at(result, measure, population)
            low, high = limits_of(estimate)
            assert low <= value_of(estimate) <= high
    huge = (2**60,) * 4
    assert cells_by_model(tuned(counts=huge, measure="tar")) == {"model": huge}
    assert value_at(tuned(counts=huge, measure="tar"), "tar", "1:1") == 0.5


@pytest.mark.parametrize("counts", ["0,5,0,95", "67,0,33,0", "0,0,0,0"])
def test_a_class_that_nobody_counted_cannot_be_tuned(counts: str) -> None:
    code, message = command("--counts", counts)
    assert code == 3
    assert problem_places(message) == ["--counts: [single-class]"]
    check_text(message)
    assert command("--counts", counts, "--counts", f"b={counts}")[0] == 3


def test_one_model_of_several_may_lack_a_class() -> None:
    result = tuned(counts={"a": CCP, "b": (0, 5, 0, 95), "c": (0, 0, 0, 0)}, prevalence="1:100")
    assert warning_codes(result).count("single-class") == 2
    notes = warning_messages(result, "single-class")
    assert "'a'" not in notes[0] + notes[1]
    assert ["'b'" in note for note in notes] == [True, False]
    check_text(notes)
    rows = rows_at(result, "target")
    for name in ("b", "c"):
        assert four_cells(rows[name]) == (None,) * 4
        for measure in ("tar", "ppv", "npv", "mcc", "epa", "dor", "sensitivity"):
            assert rows[name][measure].value is None
            assert rows[name][measure].reason == "no_positive_truth"
    assert rows["b"]["specificity"].value == 95 / 100
    assert rows["c"]["specificity"].value is None
    assert rows["a"]["tar"].value == pytest.approx((0.67 + 0.95 * 100) / 101, rel=1e-14)
    sample = rows_at(result, "sample")["b"]
    assert (sample["odds"], sample["prevalence"], sample["rows"]) == (None, None, 100)
    assert {row["crossing"].reason for row in result.tables["crossovers"]} == {"undefined"}
    assert result.summary == dict.fromkeys(("rows", "positives", "negatives", "prevalence", "odds"))


RATES = ["--sensitivity", ".67", "--specificity", ".95"]
BAD_RATES: list[tuple[str, list[list[str]]]] = [
    (
        "bad-option",
        [
            RATES[:2],
            RATES[2:],
            ["gone.csv", *RATES],
            ["gone.csv", "--counts", COUNTS],
            ["--counts", COUNTS, *RATES],
            ["gone.csv", "--counts", COUNTS, *RATES[:2]],
        ],
    ),
    (
        "bad-option",
        [
            ["--sensitivity", x, "--specificity", y]
            for x, y in (("67", "95"), (".67", "95"), ("1.01", "1"), ("-0.1", "1"), ("nan", "1"))
        ],
    ),
    ("no-input", [[]]),
]


@pytest.mark.parametrize(("expected", "requests"), BAD_RATES)
def test_rates_and_sources_that_are_refused(expected: str, requests: list[list[str]]) -> None:
    messages = []
    for words in requests:
        code, message = command(*words)
        assert code == 2, message
        assert [place.split(": ")[-1] for place in problem_places(message)] == [f"[{expected}]"]
        messages.append(message)
    check_text(messages)


def test_rates_alone_have_values_and_no_intervals() -> None:
    for interval in ("exact", "bootstrap", "none"):
        result = tuned(
            sensitivity=0.67,
            specificity=0.95,
            prevalence="1:100",
            interval=interval,
            sweep="1:9..9:1",
        )
        assert warning_codes(result)[0] == "rates-only"
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
        assert value_at(result, "ppv") == pytest.approx(0.67 / (0.67 + 0.05 * 100), rel=1e-14)


WITHOUT_TABLE = [
    ("--truth", "y"),
    ("--model", "m"),
    ("--id", "id"),
    ("--classes", "x"),
    ("--kind", "label"),
    ("--threshold", "0.5"),
    ("--weight", "n"),
    ("--by", "site"),
    ("--missing", "drop"),
    ("--null-value", "NA"),
]


@pytest.mark.parametrize("source", [["--counts", COUNTS], RATES], ids=["counts", "rates"])
def test_options_of_tables_are_refused_without_one(source: list[str]) -> None:
    for option in WITHOUT_TABLE:
        code, message = command(*source, *option)
        assert code == 2
        assert problem_places(message) == ["[bad-option]"]
        assert option[0] in message
    check_text(message)


def test_the_positive_class_may_be_named_without_a_table() -> None:
    result = tuned(counts=CCP, positive="rheumatoid arthritis")
    assert result.parameters["positive"] == "rheumatoid arthritis"
    assert result.parameters["negative"] == ["not rheumatoid arthritis"]
