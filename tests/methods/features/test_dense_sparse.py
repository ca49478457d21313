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
from tests.methods.features.door import features, place, rows_by_feature
from tests.results import four_cells, rows_of, warning_codes
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


def written_file(frame: pl.DataFrame, how: str, name: str = "t") -> str:
    return write(f"{name}.{how}", encoded(frame, how))


def packed_csv(frame: pl.DataFrame) -> str:
    return write("t.csv.gz", gzip.compress(frame.write_csv().encode()))


pytestmark = pytest.mark.usefixtures("folder")
WAYS: dict[str, Callable[[], Any]] = {
    "wide frame": lambda: features(WIDE),
    "wide booleans": lambda: features(WORDY),
    "wide booleans csv": lambda: features(written_file(WORDY, "csv")),
    "wide csv": lambda: features(written_file(WIDE, "csv")),
    "wide tsv": lambda: features(written_file(WIDE, "tsv")),
    "wide csv.gz": lambda: features(packed_csv(WIDE)),
    "wide parquet": lambda: features(written_file(WIDE, "parquet")),
    "wide ndjson": lambda: features(written_file(WIDE, "ndjson")),
    "wide arrow": lambda: features(written_file(WIDE, "arrow")),
    "sparse, class in a column": lambda: features(WITH_CLASS),
    "sparse, values": lambda: features(VALUED),
    "sparse csv": lambda: features(written_file(WITH_CLASS, "csv")),
    "sparse csv.gz": lambda: features(packed_csv(VALUED)),
    "sparse parquet": lambda: features(written_file(VALUED, "parquet")),
    "sparse ndjson": lambda: features(written_file(WITH_CLASS, "ndjson")),
    "truth table": lambda: features(SPARSE, truth_table=OWNERS),
    "truth table, two files": lambda: features(
        written_file(SPARSE, "parquet"), truth_table=written_file(OWNERS, "csv", "classes")
    ),
    "truth table, text and numbers": lambda: features(
        written_file(SPARSE, "csv"), truth_table=written_file(OWNERS, "parquet", "classes")
    ),
    "parts": lambda: features(
        [write("a.csv", encoded(WIDE[:31], "csv")), write("b.csv", encoded(WIDE[31:], "csv"))]
    ),
    "sparse parts": lambda: features(
        [written_file(SPARSE[:50], "csv", "a"), written_file(SPARSE[50:], "csv", "b")],
        truth_table=OWNERS,
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
def wide_result() -> Result:
    return features(WIDE)


@pytest.mark.parametrize("way", thinned(WAYS, [*WAYS][::3]))
def test_every_way_in_gives_the_same_rows(way: str) -> None:
    result, wide = WAYS[way](), wide_result()
    rows, wide_rows = rows_of(result, "features"), rows_of(wide, "features")
    assert [(row["feature"], *place(row)) for row in rows] == [
        (row["feature"], *place(row)) for row in wide_rows
    ]
    assert {row["feature"]: four_cells(row) for row in rows} == {
        name: placed.cells for name, placed in expected().items()
    }
    assert list(result.tables["implications"]) == list(wide.tables["implications"])
    assert statistics(result) == statistics(wide)
    for name in ("rows", "positives", "negatives", "prevalence", "odds", "features", "constant"):
        assert result.summary[name] == wide.summary[name]


EMPTY = pl.DataFrame({"row": [100, 101, 102], "truth": [1, 0, 0]})


def test_rows_without_any_entry_count_only_with_a_truth_table() -> None:
    entries = features(WITH_CLASS).summary
    every_row = features(SPARSE, truth_table=pl.concat([OWNERS, EMPTY])).summary
    assert (entries["rows"], entries["positives"], entries["negatives"]) == (60, 20, 40)
    assert (every_row["rows"], every_row["positives"], every_row["negatives"]) == (63, 21, 42)
    rows = rows_by_feature(SPARSE, truth_table=pl.concat([OWNERS, EMPTY]))
    assert four_cells(rows["always"]) == (20, 40, 1, 2)
    assert four_cells(rows_by_feature(WITH_CLASS)["always"]) == (20, 40, 0, 0)


def test_the_reader_is_told_where_the_rows_come_from() -> None:
    assert "rows-from-entries" in warning_codes(features(WITH_CLASS))
    with_truth_table = features(SPARSE, truth_table=OWNERS)
    assert "rows-from-entries" not in warning_codes(with_truth_table)


def test_an_entry_of_value_0_is_as_good_as_none() -> None:
    zeros = VALUED.with_columns(
        value=pl.when(pl.col("feature") == "f3").then(0.0).otherwise(pl.col("value"))
    )
    rows = rows_by_feature(zeros)
    assert four_cells(rows["f3"]) == (0, 0, 20, 40)
    assert rows["f3"]["phi"].reason == "constant_feature"
    assert four_cells(rows["f4"]) == expected()["f4"].cells
