"""Baselines of a result in Python: read as its own table was, and paired by ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.api.result import GateReport
from clfeval.errors import UsageError
from tests.results import row_of, value_of, warning_codes, warning_messages
from tests.samples import logistic

ROWS = 400


def new_and_old() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return two tables of the same rows in different order; the scores now are a little worse."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, ROWS)
    before = logistic(1.5 * truth - 0.7 + rng.normal(size=ROWS), 3)
    now = np.round(np.clip(before + rng.normal(size=ROWS) * 0.05, 0, 1), 3)
    old = pl.DataFrame({"case": [f"c{i}" for i in range(ROWS)], "out": truth, "m": before})
    return old.with_columns(m=now).reverse(), old


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = (tmp_path / "new.csv", tmp_path / "old.csv")
    for table, path in zip(new_and_old(), paths, strict=True):
        table.write_csv(path)
    return paths


READ: dict[str, Any] = {"truth": "out", "id": "case"}


def change_of_auc(checked: GateReport) -> Any:
    return row_of(checked, "comparisons", measure="roc_auc")


@pytest.mark.parametrize("kind", ["path", "result", "frames"])
def test_a_baseline_is_paired_by_ids(kind: str, files: tuple[Path, Path]) -> None:
    """The change is that of one table of both models, which DeLong's test compares by rows."""
    new, old = new_and_old()
    both = new.rename({"m": "now"}).join(old.rename({"m": "before"}), on=["case", "out"])
    expected = clfeval.report(both, **READ, reference="before").tables["comparisons"][0]
    now = clfeval.report(new if kind == "frames" else files[0], **READ)
    baseline: Any = str(files[1])
    if kind != "path":
        baseline = clfeval.report(old if kind == "frames" else files[1], **READ)
    checked = now.check(baseline=baseline)
    row = change_of_auc(checked)
    assert (row["paired"], row["rows"]) == (True, ROWS)
    assert row["p"] == pytest.approx(expected["p"])
    assert "400 shared rows" in checked.answer[0].text


def test_a_path_is_read_with_the_options_of_the_result(files: tuple[Path, Path]) -> None:
    for path in files:
        path.write_text(path.read_text().replace(",", ";"))
    now = clfeval.report(files[0], truth="out", ignore="case", delimiter=";")
    row = change_of_auc(now.check(baseline=files[1]))
    assert not row["paired"]
    old = clfeval.report(new_and_old()[1].drop("case"), truth="out")
    assert row["old"] == row_of(old, "models")["roc_auc"]


def test_a_table_that_has_changed_since_is_not_paired(files: tuple[Path, Path]) -> None:
    before, now = clfeval.report(files[1], **READ), clfeval.report(files[0], **READ)
    new_and_old()[0].write_csv(files[1])
    checked = now.check(baseline=before)
    row = change_of_auc(checked)
    assert not row["paired"]
    assert value_of(row["old"]) != value_of(row["new"])
    assert warning_messages(checked, "baseline-unpaired") == [
        "rows of the baseline and of this table are not paired: a table has changed since its "
        "result was computed"
    ]


def test_results_without_ids_are_independent_without_a_note(files: tuple[Path, Path]) -> None:
    options: dict[str, Any] = {"truth": "out", "ignore": "case"}
    before, now = (clfeval.report(files[place], **options) for place in (1, 0))
    checked = now.check(baseline=before)
    assert not change_of_auc(checked)["paired"]
    assert "baseline-unpaired" not in warning_codes(checked)


def test_a_result_of_arrays_or_of_a_file_cannot_read_a_table(files: tuple[Path, Path]) -> None:
    new, _ = new_and_old()
    result = clfeval.report(new["out"].to_numpy(), new["m"].to_numpy())
    with pytest.raises(UsageError, match="unknown how to read it"):
        result.check(baseline=files[1])
