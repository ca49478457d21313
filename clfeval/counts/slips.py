"""Single scores beyond 0..1 in a column of probabilities: rounding or a mistake, and no scale."""

from __future__ import annotations

from collections.abc import Iterable

from clfeval.counts.settle import CountSettings
from clfeval.errors import DataError, Problem
from clfeval.late import pl
from clfeval.shell import format_option
from clfeval.tables.cells import as_text
from clfeval.tables.diagnose import FILE, ROW, column_as_number, read_numbered_rows
from clfeval.tables.input import DEFAULT_THRESHOLD
from clfeval.tables.prediction import ModelColumns
from clfeval.words import format_count

FEW = 0.1  # share of the scores that may be mistaken
MAX_VALUES_IN_HINT = 3  # different values in a hint
ROUNDED = 1e-3  # beyond 0..1 by rounding, in as many rows as there are
VALUE = "__clfeval_value"


def refuse_stray_scores(settled: CountSettings, models: Iterable[ModelColumns]) -> None:
    """Raise for scores that are probabilities but for few of them, with the first of these."""
    problems, hint, cuts = [], "", {}
    for model in models:
        column = settled.columns.source(model)
        if model.kind != "score" or settled.peeks[column].whole:
            continue
        number = column_as_number(column, settled.columns.written)
        mine = pl.lit(value=True)
        if settled.columns.naming:
            mine = pl.col(settled.columns.naming) == model.name
        rows = pl.concat(
            read_numbered_rows(file, settled.columns.null_values)
            .filter(mine & number.is_not_nan())
            .select(FILE, ROW, pl.col(column).alias(VALUE), number.alias("number"))
            for file in settled.files
        ).collect()
        beyond = rows.filter((pl.col("number") < 0) | (pl.col("number") > 1))
        rounded = beyond.filter(~pl.col("number").is_between(-ROUNDED, 1 + ROUNDED)).is_empty()
        if not 0 < len(beyond) < len(rows) or not (rounded or len(beyond) <= FEW * len(rows)):
            continue
        file, row, value, _ = beyond.row(0)
        text = str(as_text(value))
        more = f" and {len(beyond) - 1:,} more lie" if len(beyond) > 1 else " lies"
        inside = format_count(len(rows) - len(beyond), "score")
        what = f"{text}{more} outside 0 to 1; {inside} lie inside"
        problems.append(Problem(what, "needs-threshold", file, row, column))
        cuts[model.name] = DEFAULT_THRESHOLD
        cut = format_option("--threshold", f"{model.name}={DEFAULT_THRESHOLD}")
        hint = hint or (
            f"correct the values outside{_left_out(beyond[VALUE])}; if these scores are not "
            f"probabilities, add {cut}"
        )
    if problems:
        raise DataError(problems, hint=hint, fixes={"threshold": cuts})


def _left_out(values: pl.Series) -> str:
    """Say how rows of a few different values are left out; nothing of more of them."""
    texts = [
        str(as_text(value))
        for value in values.unique(maintain_order=True)[: MAX_VALUES_IN_HINT + 1]
    ]
    flags = " ".join(format_option("--null-value", text) for text in texts)
    return (
        f", or drop their rows with {flags} --missing drop"
        if len(texts) <= MAX_VALUES_IN_HINT
        else ""
    )
