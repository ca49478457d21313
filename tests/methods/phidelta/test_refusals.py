"""What phidelta refuses for classifiers: each with a message that says what to type instead."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.errors import ExitCode
from tests.methods.phidelta.byhand import Cells, counts_frame
from tests.methods.phidelta.repeats import refusal
from tests.process.program import clfeval as program

LABELS = pl.DataFrame({"truth": [1, 1, 0, 0], "rf": [1, 0, 0, 0], "svm": [1, 1, 1, 0]})
SCORES = pl.DataFrame({"truth": [1, 1, 0, 0], "rf": [0.9, 0.2, 0.1, 0.4]})
COUNTS = counts_frame({"rf": Cells(3, 1, 2, 4), "svm": Cells(4, 2, 1, 3)})
RUNS = LABELS.with_columns(fold=pl.Series([1, 2, 1, 2]))

# table, options -> what the message must say, what message or hint must offer
CASES: dict[str, tuple[Any, dict[str, Any], str, str]] = {
    "prevalence 0": (LABELS, {"prevalence": 0}, "no positives", "--prevalence 0.01"),
    "prevalence 1": (LABELS, {"prevalence": 1}, "no negatives", "0.01 for 1 %"),
    "prevalence -1": (LABELS, {"prevalence": -1}, "--prevalence -1 is not between", "0.01"),
    "prevalence 2": (LABELS, {"prevalence": 2}, "--prevalence 2 is not between", "0.02 for 2 %"),
    "prevalence nan": (LABELS, {"prevalence": float("nan")}, "nan is not between", "0.01"),
    "one of several": (LABELS, {"prevalence": [0.5, 1.5]}, "--prevalence 1.5", "0.015 for 1.5 %"),
    "a bare ratio": (LABELS, {"prevalence": "100"}, "--prevalence 100 is not between", "0.01"),
    "odds without negatives": (LABELS, {"prevalence": "1:0"}, "'1:0'", "--prevalence 1:100"),
    "odds without positives": (LABELS, {"prevalence": "0:1"}, "'0:1'", "--prevalence 1:100"),
    "odds of words": (LABELS, {"prevalence": "a:b"}, "'a:b'", "--prevalence 1:100"),
    "negative odds": (LABELS, {"prevalence": "-1:-2"}, "'-1:-2'", "--prevalence 1:100"),
    "three odds": (LABELS, {"prevalence": "1:2:3"}, "'1:2:3'", "--prevalence 1:100"),
    "odds of nothing": (LABELS, {"prevalence": ":"}, "':'", "--prevalence 1:100"),
    "infinite odds": (LABELS, {"prevalence": "inf:1"}, "'inf:1'", "--prevalence 1:100"),
    "odds no float can tell from certainty": (LABELS, {"prevalence": "1e17:1"}, "1e17:1", ""),
    "points alone": (SCORES, {"points": 10}, "--points", "--curve"),
    "one point": (SCORES, {"points": 1, "curve": True}, "from 2 up", ""),
    "curve of labels": (LABELS, {"curve": True}, "--curve needs scores", "table of scores"),
    "curve of counts": (COUNTS, {"curve": True}, "--curve needs scores", "table of scores"),
    "unknown reference": (LABELS, {"reference": "svn"}, "'svn'", "did you mean 'svm'?"),
    "far reference": (LABELS, {"reference": "zzz"}, "'zzz'", "models: 'rf', 'svm'"),
    "reference of one": (SCORES, {"reference": "rf"}, "the only model", ""),
    "reference of counts": (COUNTS, {"reference": "rf"}, "same rows", "--run"),
    "unknown measure": (LABELS, {"isometrics": {"precison": [0.5]}}, "'precison'",
                        "did you mean 'precision'?"),
    "measure without lines": (LABELS, {"isometrics": {"q": [0.5]}}, "'q'", "mutual_information"),
    "value out of range": (LABELS, {"isometrics": {"npv": [1.5]}}, "npv=1.5", "0..1"),
    "negative value": (LABELS, {"isometrics": {"accuracy": [-0.1]}}, "accuracy=-0.1", "0..1"),
    "no value": (LABELS, {"isometrics": {"accuracy": [float("nan")]}}, "accuracy=nan", "0..1"),
    "run and by": (RUNS, {"run": "fold", "by": "fold"}, "--run and --by", "one at a time"),
    "run and run files": (RUNS, {"run": "fold", "run_files": True}, "--run and --run-files",
                          "give one"),
    "level 1": (LABELS, {"level": 1}, "--level 1 is not between 0 and 1", ""),
    "level 95": (LABELS, {"level": 95}, "--level 95 is not between 0 and 1", "0.95 for 95 %"),
    "unknown interval": (LABELS, {"interval": "wald"}, "'wald'", "exact, wilson"),
    "selection": (LABELS, {"select": 5}, "--select is for features", "--features"),
    "cut": (LABELS, {"cut": "best"}, "--cut is for features", "--features"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_request_that_makes_no_sense(case: str) -> None:
    table, options, said, offered = CASES[case]
    error = refusal(table, **options)
    assert isinstance(error, clfeval.UsageError)
    assert error.exit_code == ExitCode.USAGE
    assert said in str(error.problems[0])
    assert offered in str(error)


def test_fractional_weights_in_one_class_or_one_run_only() -> None:
    """They are sampling weights all the same: 4.5 of weight, of about 4.5² / 5.25 rows."""
    frame = RUNS.with_columns(w=pl.Series([1.0, 1.0, 1.0, 1.5]))
    for parts in ({"run": "fold"}, {"by": "fold"}):
        summary = clfeval.phidelta(frame, weight="w", **parts).summary
        assert summary["effective_rows"] == pytest.approx(4.5**2 / 5.25)


def test_three_classes_need_a_positive_one() -> None:
    frame = pl.DataFrame({"truth": ["cat", "dog", "eel"], "m": ["cat", "cat", "eel"]})
    error = refusal(frame)
    assert isinstance(error, clfeval.DataError)
    assert "which class is positive? truth has 'cat' (1 row), 'dog' (1 row)" in str(error)
    assert "--positive" in str(error.hint)
    result = clfeval.phidelta(frame, positive="cat")
    assert result.parameters["positive"] == "cat"
    assert result.parameters["negative"] == ["dog", "eel"]
    row = result.tables["models"][0]
    assert (row["tp"], row["fp"], row["fn"], row["tn"]) == (1, 1, 0, 1)


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ([("a", 3, 1, 2, -4)], "bad-count"),
        ([("a", 3, 1, 2, 1.5)], "bad-count"),
        ([("a", "3", "1", "2", "four")], "bad-count"),
        ([("a", "3", "1", "2", "1e30")], "bad-count"),
        ([("a", 3, 1, 2, None)], "missing-value"),
        ([("a", 3, 1, 2, 4), ("a", 3, 1, 2, 4)], "duplicate-row"),
    ],
)
def test_counts_that_are_none(table: list[Any], what: str) -> None:
    frame = pl.DataFrame(
        table, schema=["model", "tp", "fp", "fn", "tn"], orient="row", strict=False
    )
    assert refusal(frame).problems[0].code == what


@pytest.mark.parametrize(
    "options",
    [{"threshold": 0.4}, {"weight": "n"}],
    ids=lambda options: next(iter(options)),
)
def test_options_that_counts_cannot_follow_are_not_passed_over(options: dict[str, Any]) -> None:
    """A threshold for labels is refused as having nothing to act on; counts have even less."""
    error = refusal(COUNTS.with_columns(n=2), **options)
    assert f"--{next(iter(options))}" in str(error)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--prevalence nan", "--prevalence nan is not between 0 and 1 [bad-prevalence]"),
        ("--prevalence -1", "--prevalence -1 is not between 0 and 1 [bad-prevalence]"),
        ("--prevalence 1:0", "--prevalence '1:0' is not positives:negatives, two numbers above 0"),
        ("--margin delta=x", "--margin 'delta=x' is not MEASURE=DELTA"),
        ("--select x --features", "--select 'x' is neither a whole number from 1 up nor all"),
        ("--reference svn", "hint: did you mean 'svm'?"),
        ("--run truth --by rf", "--run and --by: one at a time [bad-option]"),
    ],
)
def test_the_same_at_the_shell_is_exit_2_and_no_output(
    words: str, said: str, tmp_path: Any
) -> None:
    LABELS.write_csv(tmp_path / "t.csv")
    done = program("phidelta", str(tmp_path / "t.csv"), *words.split())
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err
