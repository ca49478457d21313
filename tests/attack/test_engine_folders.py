"""43 folders with odd names, types and values: polars, DuckDB and Spark make the same file of each.

Equal to the last bit, and in what the file says of itself. An engine may refuse a name that it
cannot address, in one line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from clfeval.errors import ClfevalError
from tests.counts.engine_tables import ENGINES, ODD, counts_of
from tests.counts.test_engines import spark
from tests.samples import informed_scores
from tests.thoroughness import full, thinned

__all__ = ["spark"]  # a fixture
FOLDERS = 43
NAMES = (
    *("rows", "it's", 'the "rows"', "back\\slash", "é ü", "a%20b", "p[1]", "g*", "w?", "x;y"),
    *("c:d", "#1", "$v", "~", "{b}", "a&b", "(p)", "-- x", "a\u00a0b", "e\u0301", "b=1"),
)
# what stands in a path, as values of partitions are written
PARTS = ("A", "a b", "it's", "é", "ü%25", "01", "1", "x%3Dy", 'q"q', "a%20b", "a%2Fb", "null")
MODELS = ("b", "b b", "it's b", 'the "b"', "é", "b%", "B[1]", "select")
UNUSED = ("day", "hour", "local", "age", "site")
REFUSALS: Mapping[str, str] = {
    "polars": r"polars cannot read '\*' in a partition",
    "duckdb": r"DuckDB cannot (address this path|read '[\\?]' in a partition)",
    "spark": r"Spark cannot address this name|Relative path in absolute URI",
}


def scores_of(dice: np.random.Generator, chance: np.ndarray, kind: int) -> pl.Series:
    """Return scores of a type: double, single or decimal, whole, with NaN or null, or log odds."""
    rows = len(chance)
    if kind == 0:
        return pl.Series(chance.astype(np.float32))
    if kind == 1:
        cells = [Decimal(int(score * 10**6)).scaleb(-6) for score in chance]
        return pl.Series(cells, dtype=pl.Decimal(12, 6))
    if kind == 2:
        return pl.Series(np.where(dice.random(rows) < 0.05, np.nan, chance))
    if kind == 3:
        return pl.Series(chance).set(pl.Series(dice.random(rows) < 0.05), None)
    if kind == 4:
        return pl.Series(dice.integers(0, 2, rows)).cast(pl.Int8)
    if kind == 5:
        return pl.Series(np.round(chance, 1).astype(np.float32)).cast(pl.Float64)
    return pl.Series(dice.choice([*ODD, *chance[:9]], rows))


def random_rows(seed: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return a table, and the options that it is counted with."""
    dice = np.random.default_rng([5, seed])
    rows = int(dice.integers(300, 700))
    truth = dice.random(rows) < 0.4
    classes = [("no", "yes"), (0, 1), (False, True)][seed % 3]
    chance = informed_scores(dice, truth, 0.3)
    model, kind = MODELS[seed % len(MODELS)], seed % 7
    night = datetime(2024, 10, 27, tzinfo=UTC)  # hours that a clock in Berlin shows twice
    hours = [night + timedelta(minutes=30 * int(step)) for step in dice.integers(0, 5, rows)]
    table = pl.DataFrame(
        {
            "truth": [classes[int(value)] for value in truth],
            "a": np.where(dice.random(rows) < 0.3, dice.choice(ODD, rows), chance),
            model: scores_of(dice, chance, kind),
            "age": dice.choice([20.5, 40.0, 65.5, 65.50000000000001, 90.0, np.nan], rows),
            "site": dice.choice(PARTS[: 2 + seed % 11], rows),
            "day": [date(2024, 3, 30) + timedelta(int(step)) for step in dice.integers(0, 3, rows)],
            "hour": pl.Series(hours).dt.convert_time_zone("Europe/Berlin"),
            "local": pl.Series(hours).dt.replace_time_zone(None),
        }
    )
    by = ["site", "day", "hour", "local", "age:40,65.5"][seed % 5]
    options: dict[str, Any] = {
        "positive": ("yes", "1", "true")[seed % 3],
        "model": ("a", model),
        "by": by,
        "scores": ("exact", "buckets:4", "buckets:8")[seed % 3],
    }
    if kind in (2, 3) or by.startswith("age"):
        options["missing"] = "drop"
    if kind == 4:
        options["kind"] = "score"
    if seed % 4 == 0:
        options["where"] = "day >= '2024-03-31' and not a > 0.9"
    return table, options


def write_rows(table: pl.DataFrame, seed: int, folder: Path) -> str:
    """Write a table as a file, as parts, or as a folder of partitions, with odd names.

    Some parts have a column more, lack one, or have other types of numbers.
    """
    path = folder / NAMES[seed % len(NAMES)]
    kind = seed % 4
    if kind == 0:
        path = path.with_name(f"{path.name}.parquet")
        table.write_parquet(path)
        return str(path)
    parts = {"p:1": table[: len(table) // 2], "p[1]": table[len(table) // 2 :]}
    if kind > 1:
        by_site = table.partition_by("site", as_dict=True, include_key=False)
        parts = {f"site={site}/p %20.{seed}": part for (site,), part in by_site.items()}
    for number, (name, part) in enumerate(parts.items()):
        rows = part
        if number == 1:
            rows = part.with_columns(note=pl.lit("it's"))
        elif number == 0 and kind == 3:
            rows = part.drop("local").cast({pl.Int64: pl.Int16, pl.Decimal: pl.Float64})
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        rows.write_parquet(path / name)
    return str(path)


@pytest.mark.parametrize("seed", thinned(range(FOLDERS), [1, 11]))
def test_all_engines_count_a_folder_alike(
    seed: int, folder: Path, request: pytest.FixtureRequest
) -> None:
    if full():  # else Spark is asked by the tests of engines only: each file starts its own
        request.getfixturevalue("spark")
    table, options = random_rows(seed)
    path = write_rows(table, seed, folder)
    unused = ["note"] if seed % 4 else []
    unused += [name for name in UNUSED if name != options["by"].partition(":")[0]]
    counts: dict[str, tuple[pl.DataFrame, str]] = {}
    refusals: dict[str, str] = {}
    for engine in ENGINES[: 3 if full() else 2]:
        try:
            place = folder / f"{engine}.counts.parquet"
            counts[engine] = counts_of(path, place, engine=engine, ignore=unused, **options)
        except ClfevalError as error:
            refusals[engine] = str(error)
    print(f"{path}: {refusals}")
    assert all(re.search(REFUSALS[engine], text) for engine, text in refusals.items()), refusals
    first, *others = counts
    assert first == "polars"
    assert others
    for engine in others:
        assert counts[engine][0].equals(counts[first][0]), engine
        assert counts[engine][1] == counts[first][1], engine
