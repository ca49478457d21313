"""One set of binary features, wide and sparse, from files and frames: the same rows every time."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import polars as pl
import pytest

from clfeval.api.result import Result
from tests.engines import ENGINES
from tests.methods.features import brute
from tests.methods.features.door import Row, cells, features, place, rows_of
from tests.tables.door import encoded, write
from tests.thoroughness import thinned

DICE = random.Random(11)
NAMES = [f"f{j}" for j in range(9)] + ["always", "never seen but once"]
TRUTH = [int(i % 3 == 0) for i in range(60)]
BITS = [[int(DICE.random() < (j + 1) / 10) for j in range(9)] + [1, int(i == 7)] for i in range(60)]
WIDE = pl.DataFrame(
    [[i, t, *bits] for i, (t, bits) in enumerate(zip(TRUTH, BITS, strict=True))],
    schema=["id", "truth", *NAMES],
    orient="row",
)
PAIRS = [
    (i, name) for i, bits in enumerate(BITS) for name, bit in zip(NAMES, bits, strict=True) if bit
]
SPARSE = pl.DataFrame(PAIRS, schema=["row", "feature"], orient="row")
OWNERS = WIDE.select(pl.col("id").alias("row"), "truth")
WITH_CLASS = SPARSE.join(OWNERS, on="row")
VALUED = WITH_CLASS.with_columns(value=1.0)
WORDY = WIDE.with_columns(pl.col(NAMES).cast(pl.Boolean))


def written(frame: pl.DataFrame, how: str, name: str = "t") -> str:
    return write(f"{name}.{how}", encoded(frame, how))


def text_of(frame: pl.DataFrame) -> str:
    return write("t.csv.gz", gzip.compress(frame.write_csv().encode()))


pytestmark = pytest.mark.usefixtures("folder")
WAYS: dict[str, Callable[[], Any]] = {
    "wide frame": lambda: features(WIDE),
    "wide booleans": lambda: features(WORDY),
    "wide booleans csv": lambda: features(written(WORDY, "csv")),
    "wide csv": lambda: features(written(WIDE, "csv")),
    "wide tsv": lambda: features(written(WIDE, "tsv")),
    "wide csv.gz": lambda: features(text_of(WIDE)),
    "wide parquet": lambda: features(written(WIDE, "parquet")),
    "wide ndjson": lambda: features(written(WIDE, "ndjson")),
    "wide arrow": lambda: features(written(WIDE, "arrow")),
    "sparse, class in a column": lambda: features(WITH_CLASS),
    "sparse, values": lambda: features(VALUED),
    "sparse csv": lambda: features(written(WITH_CLASS, "csv")),
    "sparse csv.gz": lambda: features(text_of(VALUED)),
    "sparse parquet": lambda: features(written(VALUED, "parquet")),
    "sparse ndjson": lambda: features(written(WITH_CLASS, "ndjson")),
    "truth table": lambda: features(SPARSE, truth_table=OWNERS),
    "truth table, two files": lambda: features(
        written(SPARSE, "parquet"), truth_table=written(OWNERS, "csv", "classes")
    ),
    "truth table, text and numbers": lambda: features(
        written(SPARSE, "csv"), truth_table=written(OWNERS, "parquet", "classes")
    ),
    "parts": lambda: features(
        [write("a.csv", encoded(WIDE[:31], "csv")), write("b.csv", encoded(WIDE[31:], "csv"))]
    ),
    "sparse parts": lambda: features(
        [written(SPARSE[:50], "csv", "a"), written(SPARSE[50:], "csv", "b")], truth_table=OWNERS
    ),
    **{f"wide {name}": lambda to=to: features(to(WIDE)) for name, to in ENGINES.items()},
    **{f"booleans {name}": lambda to=to: features(to(WORDY)) for name, to in ENGINES.items()},
    **{f"sparse {name}": lambda to=to: features(to(VALUED)) for name, to in ENGINES.items()},
    **{
        f"sparse {name}, truth table {other}": lambda to=to, too=too: features(
            to(SPARSE), truth_table=too(OWNERS)
        )
        for name, to in ENGINES.items()
        for other, too in ENGINES.items()
    },
}


def expected() -> dict[str, brute.Placed]:
    truth = [bool(t) for t in TRUTH]
    return {name: brute.binary(truth, [bits[j] for bits in BITS]) for j, name in enumerate(NAMES)}


def statistics(result: Result) -> str:
    """Return the digest of the sufficient statistics in a signature."""
    return dict(part.split(":", 1) for part in result.signature.split("|"))["stats"]


@cache
def told_wide() -> Result:
    return features(WIDE)


@pytest.mark.parametrize("way", thinned(WAYS, [*WAYS][::3]))
def test_every_way_in_gives_the_same_rows(way: str) -> None:
    result, wide = WAYS[way](), told_wide()
    rows: list[Row] = [dict(row) for row in result.tables["features"]]
    assert [(row["feature"], *place(row)) for row in rows] == [
        (row["feature"], *place(dict(row))) for row in wide.tables["features"]
    ]
    assert {row["feature"]: cells(row) for row in rows} == {
        name: placed.cells for name, placed in expected().items()
    }
    assert list(result.tables["implications"]) == list(wide.tables["implications"])
    assert statistics(result) == statistics(wide)
    for name in ("rows", "positives", "negatives", "prevalence", "odds", "features", "constant"):
        assert result.summary[name] == wide.summary[name]


EMPTY = pl.DataFrame({"row": [100, 101, 102], "truth": [1, 0, 0]})


def test_rows_without_any_entry_count_only_with_a_truth_table() -> None:
    alone = features(WITH_CLASS).summary
    told = features(SPARSE, truth_table=pl.concat([OWNERS, EMPTY])).summary
    assert (alone["rows"], alone["positives"], alone["negatives"]) == (60, 20, 40)
    assert (told["rows"], told["positives"], told["negatives"]) == (63, 21, 42)
    rows = rows_of(SPARSE, truth_table=pl.concat([OWNERS, EMPTY]))
    assert cells(rows["always"]) == (20, 40, 1, 2)
    assert cells(rows_of(WITH_CLASS)["always"]) == (20, 40, 0, 0)


def test_the_reader_is_told_where_the_rows_come_from() -> None:
    codes = [warning.code for warning in features(WITH_CLASS).warnings]
    assert "rows-from-entries" in codes
    told = [warning.code for warning in features(SPARSE, truth_table=OWNERS).warnings]
    assert "rows-from-entries" not in told


def test_an_entry_of_value_0_is_as_good_as_none() -> None:
    zeros = VALUED.with_columns(
        value=pl.when(pl.col("feature") == "f3").then(0.0).otherwise(pl.col("value"))
    )
    rows = rows_of(zeros)
    assert cells(rows["f3"]) == (0, 0, 20, 40)
    assert rows["f3"]["phi"].reason == "constant_feature"
    assert cells(rows["f4"]) == expected()["f4"].cells
