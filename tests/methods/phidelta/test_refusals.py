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
from tests.texts import check_text

LABELS = pl.DataFrame({"truth": [1, 1, 0, 0], "rf": [1, 0, 0, 0], "svm": [1, 1, 1, 0]})
SCORES = pl.DataFrame({"truth": [1, 1, 0, 0], "rf": [0.9, 0.2, 0.1, 0.4]})
COUNTS = counts_frame({"rf": Cells(3, 1, 2, 4), "svm": Cells(4, 2, 1, 3)})
RUNS = LABELS.with_columns(fold=pl.Series([1, 2, 1, 2]))

# table, options -> code, what the message names, what it offers
CASES: dict[str, tuple[Any, dict[str, Any], str, str]] = {
    "prevalence 0": (LABELS, {"prevalence": 0}, "bad-prevalence", "--prevalence 0.01"),
    "prevalence 1": (LABELS, {"prevalence": 1}, "bad-prevalence", "0.01"),
    "prevalence -1": (LABELS, {"prevalence": -1}, "bad-prevalence", "0.01"),
    "prevalence 2": (LABELS, {"prevalence": 2}, "bad-prevalence", "0.02"),
    "prevalence nan": (LABELS, {"prevalence": float("nan")}, "bad-prevalence", "0.01"),
    "one of several": (LABELS, {"prevalence": [0.5, 1.5]}, "bad-prevalence", "0.015"),
    "a bare ratio": (LABELS, {"prevalence": "100"}, "bad-prevalence", "0.01"),
    "odds without negatives": (LABELS, {"prevalence": "1:0"}, "bad-odds", "1:100"),
    "odds without positives": (LABELS, {"prevalence": "0:1"}, "bad-odds", "1:100"),
    "odds of words": (LABELS, {"prevalence": "a:b"}, "bad-odds", "1:100"),
    "negative odds": (LABELS, {"prevalence": "-1:-2"}, "bad-odds", "1:100"),
    "three odds": (LABELS, {"prevalence": "1:2:3"}, "bad-odds", "1:100"),
    "odds of nothing": (LABELS, {"prevalence": ":"}, "bad-odds", "1:100"),
    "infinite odds": (LABELS, {"prevalence": "inf:1"}, "bad-odds", "1:100"),
    "odds near certainty": (LABELS, {"prevalence": "1e17:1"}, "bad-odds", "1e17:1"),
    "points alone": (SCORES, {"points": 10}, "bad-option", "--curve"),
    "one point": (SCORES, {"points": 1, "curve": True}, "bad-option", "--points"),
    "curve of labels": (LABELS, {"curve": True}, "needs-scores", "--curve"),
    "curve of counts": (COUNTS, {"curve": True}, "needs-scores", "--curve"),
    "unknown reference": (LABELS, {"reference": "svn"}, "unknown-model", "'svm'"),
    "far reference": (LABELS, {"reference": "zzz"}, "unknown-model", "'rf', 'svm'"),
    "reference of one": (SCORES, {"reference": "rf"}, "bad-option", "'rf'"),
    "reference of counts": (COUNTS, {"reference": "rf"}, "needs-predictions", "--run"),
    "unknown measure": (LABELS, {"isometrics": {"precison": [0.5]}}, "bad-option", "'precision'"),
    "measure without lines": (LABELS, {"isometrics": {"q": [0.5]}}, "bad-option", "precision"),
    "value out of range": (LABELS, {"isometrics": {"npv": [1.5]}}, "bad-option", "0 and 1"),
    "negative value": (LABELS, {"isometrics": {"accuracy": [-0.1]}}, "bad-option", "0 and 1"),
    "no value": (LABELS, {"isometrics": {"accuracy": [float("nan")]}}, "bad-option", "0 and 1"),
    "run and by": (RUNS, {"run": "fold", "by": "fold"}, "bad-option", "--by"),
    "run and run files": (RUNS, {"run": "fold", "run_files": True}, "bad-option", "--run-files"),
    "level 1": (LABELS, {"level": 1}, "bad-option", "--level 1"),
    "level 95": (LABELS, {"level": 95}, "bad-option", "0.95"),
    "unknown interval": (LABELS, {"interval": "wald"}, "bad-option", "wilson"),
    "selection": (LABELS, {"select": 5}, "bad-option", "--features"),
    "cut": (LABELS, {"cut": "best"}, "bad-option", "--features"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_request_that_makes_no_sense(case: str) -> None:
    table, options, code, offered = CASES[case]
    error = refusal(table, **options)
    assert isinstance(error, clfeval.UsageError)
    assert error.exit_code == ExitCode.USAGE
    assert error.problems[0].code == code
    assert f"--{next(iter(options)).replace('_', '-')}" in str(error)
    assert offered in str(error)
    check_text(str(error))


def test_fractional_weights_in_one_class_or_one_run_only() -> None:
    """They are sampling weights all the same: 4.5 of weight, of about 4.5² / 5.25 rows."""
    frame = RUNS.with_columns(w=pl.Series([1.0, 1.0, 1.0, 1.5]))
    for parts in ({"run": "fold"}, {"by": "fold"}):
        summary = clfeval.phidelta(frame, weight="w", **parts).summary
        assert summary["effective_rows"] == pytest.approx(4.5**2 / 5.25)


@pytest.mark.parametrize(
    "options", [{"threshold": 0.4}, {"weight": "n"}], ids=lambda options: next(iter(options))
)
def test_options_that_counts_cannot_follow_are_not_passed_over(options: dict[str, Any]) -> None:
    """A threshold for labels is refused as having nothing to act on; counts have even less."""
    error = refusal(COUNTS.with_columns(n=2), **options)
    assert f"--{next(iter(options)).replace('_', '-')}" in str(error)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("--prevalence nan", "--prevalence nan"),
        ("--margin delta=x", "'delta=x'"),
        ("--select x --features", "--select 'x'"),
        ("--run truth --by rf", "[bad-option]"),
    ],
)
def test_the_same_at_the_shell_is_exit_2_and_no_output(
    words: str, offered: str, tmp_path: Any
) -> None:
    LABELS.write_csv(tmp_path / "t.csv")
    done = program("phidelta", str(tmp_path / "t.csv"), *words.split())
    assert (done.code, done.out) == (2, "")
    assert offered in done.err
    assert "Traceback" not in done.err
