"""Fixtures are small, explained, equal in every format, and made by the scripts beside them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import polars.testing
import pytest

FIXTURES = Path(__file__).parent.parent / "fixtures"
TABLES = sorted(path for path in FIXTURES.rglob("*") if path.suffix in (".csv", ".parquet"))
PARQUET_ONLY = FIXTURES / "manual-pages"  # a CSV twin would be larger than all tables may be
TWINS = [path for path in TABLES if path.suffix == ".parquet" and path.parent != PARQUET_ONLY]


def test_every_folder_says_where_its_numbers_come_from() -> None:
    for folder in {path.parent for path in TABLES} - {FIXTURES / "golden"}:
        assert "python fixtures/build_" in (folder / "ORIGIN.md").read_text(encoding="utf-8")


def test_the_tables_together_stay_below_a_megabyte() -> None:
    assert sum(path.stat().st_size for path in TABLES) < 1_000_000


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("build_predictions.py", marks=pytest.mark.slow),  # trains six classifiers
        "build_mars_paper.py",
        "build_armano.py",
        pytest.param("build_metrics.py", marks=pytest.mark.slow),  # searches a grid
    ],
)
def test_a_script_rebuilds_its_tables(script: str, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, str(FIXTURES / script), str(tmp_path)], check=True, capture_output=True
    )
    built = sorted(path for path in tmp_path.rglob("*") if path.suffix in (".csv", ".parquet"))
    assert built
    for path in built:
        kept = FIXTURES / path.relative_to(tmp_path)
        if path.suffix == ".parquet":  # its bytes hold the version of the writer
            assert pl.read_parquet(path).equals(pl.read_parquet(kept)), path.name
        elif "scores" in path.name or "probabilities" in path.name:
            assert close(pl.read_csv(path), pl.read_csv(kept)), path.name
        else:
            assert path.read_bytes() == kept.read_bytes(), path.name


def close(ours: pl.DataFrame, theirs: pl.DataFrame) -> bool:
    """Tell whether two tables agree up to the last printed digit of their numbers."""
    pl.testing.assert_frame_equal(ours, theirs, abs_tol=1.5e-4)
    return True


@pytest.mark.parametrize("path", TWINS, ids=str)
def test_twins_hold_the_same_values(path: Path) -> None:
    twin = pl.read_csv(path.with_suffix(".csv"), infer_schema=False)
    parquet = pl.read_parquet(path)
    assert parquet.columns == twin.columns
    for name in parquet.columns:
        column = parquet[name]
        same = twin[name] if column.dtype == pl.String else twin[name].cast(column.dtype)
        assert column.equals(same), name
