"""Where runs come from: a column of wide, long and counts tables."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import clfeval
from tests.methods.phidelta.byhand import cells_shown
from tests.methods.phidelta.repeats import (
    COUNTS,
    EXPECTED,
    LONG,
    WIDE,
    cells_by_run,
    cells_of_model,
    refusal,
)
from tests.results import problem_codes, rows_by
from tests.texts import problem_places

TABLES = {"wide": WIDE, "wide without id": WIDE.drop("id"), "long": LONG, "counts": COUNTS}


@pytest.mark.parametrize("layout", TABLES)
@pytest.mark.parametrize("how", ["frame", "csv", "parquet"])
def test_the_same_ids_in_several_runs(layout: str, how: str, tmp_path: Path) -> None:
    frame = TABLES[layout]
    path = tmp_path / f"table.{how}"
    if how != "frame":
        getattr(frame, f"write_{how}")(path)
    result = clfeval.phidelta(frame if how == "frame" else path, run="fold")
    assert cells_by_run(result) == EXPECTED
    assert list(cells_by_run(result)) == list(EXPECTED)  # runs in the order of their numbers
    rows = rows_by(result, "models", "model")
    assert {model: cells_shown(row) for model, row in rows.items()} == {
        model: cells_of_model(WIDE, model) for model in ("a", "b")
    }
    assert {row["slice"] for row in result.tables["models"]} == {None}
    assert result.parameters["run"] == "fold"
    assert result.parameters["by"] == []
    assert result.summary["runs"] == 3


def test_runs_of_numbers_and_of_scores() -> None:
    typed = WIDE.with_columns(
        pl.col("fold").cast(pl.Int64), pl.col("a", "b").cast(pl.Float64) * 0.6
    )
    result = clfeval.phidelta(typed, run="fold", threshold=0.6, curve=True)
    assert cells_by_run(result) == EXPECTED
    assert {row["threshold"] for row in result.tables["runs"]} == {0.6}
    assert [row["slice"] for row in result.tables["curves"]] == [None, None]


def test_an_id_twice_in_one_run_is_refused_with_its_row() -> None:
    twice = pl.concat([WIDE, WIDE[25:26]])  # r5 of fold 2 stands in row 26 already
    error = refusal(twice, run="fold")
    assert problem_places(str(error))[0] == "<frame>:61: column 'id': [duplicate-id]"
    assert "<frame>:26" in error.problems[0].message


def test_an_id_twice_in_one_run_of_a_long_table(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    pl.concat([LONG, LONG[7:8]]).write_csv(path)  # the header is row 1, so 9 and 122
    (problem,) = refusal(path, run="fold").problems
    assert (problem.row, problem.code) == (122, "duplicate-row")
    assert "long.csv:9" in problem.message


def test_without_run_repeated_ids_are_refused() -> None:
    assert "duplicate-id" in str(refusal(WIDE.drop("fold")))
    assert "repeated-rows" in str(refusal(LONG))


def places(error: clfeval.ClfevalError) -> list[tuple[int | None, str | None, str]]:
    return [(problem.row, problem.column, problem.code) for problem in error.problems]


@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("layout", ["wide", "long", "counts"])
def test_a_row_without_a_run_is_named(layout: str, missing: str, tmp_path: Path) -> None:
    holes = (
        TABLES[layout]
        .with_row_index("i")
        .with_columns(fold=pl.when(pl.col("i") != 4).then(pl.col("fold")))
    )
    path = tmp_path / "holes.csv"
    holes.drop("i").write_csv(path)
    assert (6, "fold", "missing-value") in places(refusal(path, run="fold", missing=missing))


@pytest.mark.parametrize("layout", ["wide", "long", "counts"])
def test_a_run_that_is_no_number_is_missing_too(layout: str) -> None:
    """METHODS 0 of scores, and tables everywhere: NaN is missing; frames and Parquet hold it."""
    frame = (
        TABLES[layout]
        .with_row_index("i")
        .with_columns(
            fold=pl.when(pl.col("i") == 4).then(float("nan")).otherwise(pl.col("fold").cast(float))
        )
    )
    assert (5, "fold", "missing-value") in places(refusal(frame.drop("i"), run="fold"))


def test_a_model_without_a_row_in_one_run_is_named() -> None:
    lacking = LONG.filter((pl.col("model") != "b") | (pl.col("fold") != "2"))
    error = refusal(lacking, run="fold")
    assert {*problem_codes(error)} == {"unequal-ids"}
    assert "'b'" in error.problems[0].message
    assert error.totals["unequal-ids"] == 20


def test_an_id_has_one_truth_within_a_run_and_across_runs() -> None:
    moved = LONG.with_columns(
        truth=pl.when(pl.col("fold") == "2").then(1 - pl.col("truth")).otherwise("truth")
    )
    assert "conflicting-truth" in str(refusal(moved, run="fold"))
    odd = LONG.with_row_index("i").with_columns(
        truth=pl.when(pl.col("i") == 3).then(1 - pl.col("truth")).otherwise("truth")
    )
    assert "conflicting-truth" in str(refusal(odd.drop("i"), run="fold"))


def test_an_unknown_run_column_gets_a_suggestion() -> None:
    error = refusal(WIDE, run="flod")
    assert error.problems[0].code == "unknown-column"
    assert "'fold'" in str(error.hint)


def test_too_many_runs_are_refused_by_the_option_of_runs() -> None:
    """A column of ids is no run; the option to mend is --run, not --by, which nobody gave."""
    n = 1001
    frame = pl.DataFrame({"case": range(n), "truth": [0, 1] * (n // 2) + [0], "m": [1] * n})
    error = refusal(frame, run="case")
    message = f"{error.problems[0].message} {error.hint}"
    assert "--run" in message
    assert "--by" not in message
    assert "slice" not in message
