"""Random tables that every engine counts, and what is left of a count."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import clfeval
from clfeval.tables.layouts.counts_file import METADATA
from tests.samples import informed_scores

ODD = [
    0.0,
    -0.0,
    5e-324,
    2.0**-1022,
    1 - 2.0**-53,
    1.0,
    0.5,
    np.nextafter(0.5, 0),
    0.1 + 0.2,
    1e-300,
    0.07,
    0.29,
    0.57,
    0.58,
]
ENGINES = ("polars", "duckdb", "spark")
CLASSES = {"text": ("no", "yes"), "number": (0, 1), "boolean": (False, True)}
SCORES = ("single", "decimal", "nan", "null", "log odds")
KINDS = list(product(CLASSES, SCORES))


def random_table(seed: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return a table with seven slices, with a kind of truth and of scores, and options."""
    dice, (classes, kind) = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
    n = int(dice.integers(400, 900))
    truth, names = dice.random(n) < 0.4, CLASSES[classes]
    chance = informed_scores(dice, truth, 0.3)
    other: pl.Series = {
        "single": lambda: pl.Series(chance.astype(np.float32)),
        "decimal": lambda: pl.Series(
            [Decimal(int(one * 10**4)).scaleb(-4) for one in chance], dtype=pl.Decimal(10, 4)
        ),
        "nan": lambda: pl.Series(np.where(dice.random(n) < 0.05, np.nan, chance)),
        "null": lambda: pl.Series(chance).set(pl.Series(dice.random(n) < 0.05), None),
        "log odds": lambda: pl.Series(dice.normal(size=n) * 8),
    }[kind]()
    wrong = dice.random(n) < 0.2
    table = pl.DataFrame(
        {
            "truth": [names[int(one)] for one in truth],
            "a": np.where(dice.random(n) < 0.3, dice.choice(ODD, n), chance),
            "b b": other,
            "rule": [names[int(one)] for one in truth ^ wrong],
            "site": dice.choice(["x", "y z", "01", "ä", "A", "a=b", "null"], n),
        }
    )
    if seed % 2:
        table = table.with_columns(site=pl.when(pl.Series(dice.random(n) > 0.1)).then("site"))
    said: dict[str, Any] = {
        "positive": {"text": "yes", "number": "1", "boolean": "true"}[classes],
        "by": "site",
        "scores": "buckets:6" if seed % 2 else "exact",
    }
    said["model"] = ("a", "b b", "rule")
    if kind in ("nan", "null"):
        said["missing"] = "drop"
    return table, said | ({"threshold": {"b b": 0.5}} if kind == "log odds" else {})


def write_parquet(table: pl.DataFrame, folder: Path, *, partitions: bool) -> str:
    """Write a table as a file, or as a folder with a part of each slice; return its path.

    One part has a column more, one has other types of numbers.
    """
    if not partitions:
        table.write_parquet(folder / "t.parquet")
        return str(folder / "t.parquet")
    for (site,), part in table.partition_by("site", as_dict=True, include_key=False).items():
        name = "__HIVE_DEFAULT_PARTITION__" if site is None else str(site).replace(" ", "%20")
        place = folder / f"site={name.replace('=', '%3D')}"
        place.mkdir()
        part = part.with_columns(more=pl.lit("note")) if site == "x" else part
        if site == "ä":  # with missing values Spark needs many seconds for the plan
            gaps = table["b b"].cast(pl.Float64).fill_nan(None).null_count()
            single = pl.Float64 if gaps else pl.Float32
            part = part.cast({pl.Int64: pl.Int16, pl.Float64: single, pl.Decimal: pl.Float64})
        part.write_parquet(place / "0.parquet")
    return str(folder)


def counts_of(table: Any, place: Path, **said: Any) -> tuple[pl.DataFrame, str]:
    clfeval.count(table, **said).save(place)
    return pl.read_parquet(place), pl.read_parquet_metadata(place)[METADATA]
