"""The same rows in several forms, which recalibrate alike."""

from __future__ import annotations

from typing import Any

import polars as pl


def write_forms(table: pl.DataFrame, repeated: int, form: str) -> tuple[Any, dict[str, Any]]:
    """Write rows.csv, whose first rows come twice, and the same rows in another form.

    Return the files of that form, and the options that it needs: permuted, split over two files, or
    weighted. Other forms write rows.csv only.
    """
    copies = pl.concat([table, table.head(repeated)])
    copies = copies.with_columns(id=pl.int_range(len(copies)))
    copies.write_csv("rows.csv")
    if form == "permuted":
        copies.sample(fraction=1, shuffle=True, seed=1).write_csv("other.csv")
    elif form == "split":
        copies.head(101).write_csv("a.csv")
        copies.tail(-101).write_csv("b.csv")
        return ["a.csv", "b.csv"], {}
    elif form == "weighted":
        weight = 1 + (pl.col("id") < repeated).cast(pl.Int64)
        table.with_columns(n=weight).drop("id").write_csv("other.csv")
        return "other.csv", {"weight": "n"}
    return "other.csv", {}
