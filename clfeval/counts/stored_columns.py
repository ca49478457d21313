"""The columns of counts files: their types and ranges, by which files are checked when read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clfeval.records import dataclass
from clfeval.tables.frames import pl
from clfeval.tables.layouts.counts_schema import COLUMN_TYPES, damaged_counts

PATTERNS, SCORES = "patterns", "scores"  # blocks
LARGEST_SUM = 2.0**63  # of int64
SUMS = ("n", "m1", "m2")  # columns that are added up


@dataclass(frozen=True, slots=True, eq=False)
class CellRule:
    """What the cells of a column have to be: an expression that is true where they are not.

    block: of the rows that the rule is about; "" for all.
    """

    column: str
    problem: str
    broken: pl.Expr
    block: str = ""


def cell_rules(description: Mapping[str, Any]) -> Iterator[CellRule]:
    """Yield the rules of the columns of a file; description: its description."""
    models = description["models"]
    scored_models = [
        model["name"] for model in models if description["min_cell"] or model["kind"] == "score"
    ]
    blocks = [SCORES] if description["min_cell"] else [PATTERNS, SCORES]
    pattern_regex = f"^[01]{{{len(models)}}}$"
    yield CellRule("block", f"is not {' or '.join(blocks)}", _not_among("block", blocks))
    yield CellRule("truth", "is null", pl.col("truth").is_null())
    if description["positive"] not in description["classes"]:
        problem = "is true, but 'classes' of the description do not have 'positive'"
        yield CellRule("truth", problem, pl.col("truth"))
    yield CellRule("n", "is null", pl.col("n").is_null())
    yield CellRule("n", "is negative", pl.col("n") < 0)
    yield CellRule("n", "is more than the rows of the table", pl.col("n") > description["rows"])
    is_valid_pattern = pl.col("pattern").str.contains(pattern_regex)
    problem = f"is not 0 or 1 for each of {len(models)} models"
    yield CellRule("pattern", problem, ~is_valid_pattern.fill_null(value=False), PATTERNS)
    yield CellRule(
        "model", "names no model with scores", _not_among("model", scored_models), SCORES
    )
    for column in ("key", "lo", "hi"):
        yield CellRule(column, "is null", pl.col(column).is_null(), SCORES)
    for column in ("lo", "hi"):
        yield CellRule(column, "is not a number", pl.col(column).is_nan(), SCORES)
    yield CellRule("lo", "is above hi", pl.col("lo") > pl.col("hi"), SCORES)
    if description["scores"] == "exact":
        yield CellRule("hi", "is not lo", pl.col("lo") != pl.col("hi"), SCORES)
    for column in ("m1", "m2"):
        yield CellRule(column, "is negative", pl.col(column) < 0, SCORES)
    for column in ("model", "key", "m1", "m2", "lo", "hi"):
        yield CellRule(column, "is not null", pl.col(column).is_not_null(), PATTERNS)


def _not_among(column: str, names: list[str]) -> pl.Expr:
    return ~pl.col(column).is_in(names).fill_null(value=False)


def check_column_types(table: pl.DataFrame, name: str) -> None:
    """Raise DataError for a column of another type than those of every counts file."""
    for column, dtype in table.schema.items():
        is_slice = column.startswith("b") and column not in COLUMN_TYPES
        expected = "String" if is_slice else COLUMN_TYPES.get(column)
        if expected is not None and dtype != getattr(pl, expected):
            raise damaged_counts(f"holds {dtype}, not {expected}", name, column=column)


def check_cells(table: pl.DataFrame, description: Mapping[str, Any], name: str) -> None:
    """Raise DataError for the first cell that breaks a rule, and for sums that are too large."""
    rules = [*cell_rules(description)]
    broken_cells = [
        rule.broken & (pl.col("block") == rule.block) if rule.block else rule.broken
        for rule in rules
    ]
    first_broken = [expression.arg_true().first() for expression in broken_cells]
    # with the sums in one query: many files may be small
    first_columns = [first_row.alias(str(i)) for i, first_row in enumerate(first_broken)]
    first_rows_and_sums = table.select(*first_columns, pl.col(SUMS).cast(pl.Float64).sum()).row(0)
    for rule, first_row in zip(rules, first_rows_and_sums, strict=False):
        if first_row is not None:
            raise damaged_counts(rule.problem, name, first_row + 2, rule.column)
    for column, total in zip(SUMS, first_rows_and_sums[len(rules) :], strict=True):
        if total >= LARGEST_SUM:
            raise damaged_counts("adds up to more than int64 holds", name, column=column)
