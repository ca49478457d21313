"""What a reader of tuned tables is told: small classes, one-sided averages, what fits what."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import clfeval
from tests.results import warning_codes, warning_messages
from tests.texts import check_text, numbers_in


def notes_on(counts: Any, **options: Any) -> dict[str, str]:
    """Return the messages of the warnings on tuned counts, by code."""
    result = clfeval.tune_jpt(counts=counts, **{"sweep": None, **options})
    return {warning.code: warning.message for warning in result.warnings}


def test_below_400_rows_of_a_class_measures_flatter() -> None:
    assert "small-class" not in notes_on((300, 50, 100, 950))
    note = notes_on((299, 50, 100, 950))["small-class"]
    assert {399, 400} <= {*numbers_in(note)}
    check_text(note)


def test_small_slices_are_named() -> None:
    """900 and 1100 rows are enough, 3 and 9 of a site are not."""
    rows = [("big", 1)] * 900 + [("big", 0)] * 1100 + [("tiny", 1)] * 3 + [("tiny", 0)] * 9
    frame = pl.DataFrame(rows, schema=["site", "truth"], orient="row").with_columns(a="truth")
    result = clfeval.tune_jpt(frame, by="site", sweep=None)
    (note,) = warning_messages(result, "small-class")
    assert "site=tiny" in note
    assert 3 in numbers_in(note)
    assert "big" not in note
    check_text(note)


@pytest.mark.parametrize(
    ("counts", "odds", "numbers"),
    [
        # PPV odds 67/5 x 100 = 1340, NPV odds 95/33 / 100 = .02879; EPA is half their sum
        ((67, 5, 33, 95), "100:1", [670, 1340, 0.02879]),
        ((67, 0, 33, 95), "100:1", [0.0303]),  # (95/95) / (33/100) / 100
        ((0, 5, 33, 95), "1:100", [0, 95]),  # (95/100) / (33/33) x 100
    ],
)
def test_epa_hides_one_of_its_odds(counts: Any, odds: str, numbers: list[float]) -> None:
    note = notes_on(counts, prevalence=odds)["epa-one-sided"]
    assert {*numbers} <= {*numbers_in(note)}
    check_text(note)


def test_epa_of_even_odds_hides_nothing() -> None:
    """PPV odds 60/40, NPV odds 60/40."""
    assert "epa-one-sided" not in notes_on((60, 40, 40, 60))
    assert "epa-one-sided" not in notes_on((67, 5, 33, 95), prevalence="1:1", measure="ppv")


def test_advice_depends_on_the_question() -> None:
    check_text(notes_on((67, 5, 33, 95))["advice"])


def test_a_bootstrap_takes_an_empty_cell_for_known() -> None:
    assert "bootstrap-empty-cell" in notes_on((67, 0, 33, 95), interval="bootstrap", resamples=100)
    assert "bootstrap-empty-cell" not in notes_on(
        (67, 5, 33, 95), interval="bootstrap", resamples=100
    )
    assert "bootstrap-empty-cell" not in notes_on((67, 0, 33, 95))


def test_an_unchosen_sweep_reaches_the_targets() -> None:
    wide = clfeval.tune_jpt(counts=(67, 5, 33, 95), prevalence=0.0001, points=3)
    assert [row["odds"] for row in wide.tables["sweep"]][::2] == ["1:9999", "1000:1"]
    chosen = clfeval.tune_jpt(
        counts=(67, 5, 33, 95), prevalence=0.0001, sweep="1:10..10:1", points=3
    )
    assert [row["odds"] for row in chosen.tables["sweep"]] == ["1:10", "1:1", "10:1"]


def test_one_sided_measures_choose_extreme_thresholds() -> None:
    frame = pl.DataFrame({"truth": [1, 1, 0, 0, 1, 0], "s": [0.9, 0.8, 0.7, 0.3, 0.2, 0.1]})
    codes = {
        name: warning_codes(clfeval.tune_jpt(frame, measure=name, sweep=None))
        for name in ("ppv", "mcc")
    }
    assert "one-sided-measure" in codes["ppv"]
    assert "one-sided-measure" not in codes["mcc"]
