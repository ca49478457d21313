"""Measures an option asked for: their tidy table, what its columns mean, how people see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.pages.columns import MODEL, SLICE
from clfeval.pages.write import INFINITE, REASONS
from clfeval.result import Result, Row, estimate
from clfeval.schema import Column, Shown, Table, of

LABELS = "labels have no scores"
LISTED = 30  # rows of a table shown to a person; files get them all
COLUMNS = (
    SLICE, MODEL, *of("text", "metric estimator"), *of("text?", "class"), *of("estimate", "value"),
    Column("se", "number?", "standard error"), *of("text", "method"),
)  # fmt: skip
MEASURED = Table("metrics", COLUMNS)
MEANINGS: Mapping[str, str] = {
    "class": "the class that the measure is about; none where it is about all",
    "metric": "the measure, with its parameters",
    "estimator": "binary: positive against the others; of more classes multiclass, macro, "
    "weighted, micro, or class: one against the rest",
    "value": "the measure's value",
    "se": "its standard error, on the measure's own scale",
    "metrics.method": "how its interval was found",
}


def shown_measures(
    result: Result, rows: Sequence[Row] | None = None, *, name: str = ""
) -> Iterator[Shown]:
    """Yield the measures asked for, those of slices too where there are any; rows: only these."""
    if MEASURED.name not in result.tables:
        return
    mine = result.tables[MEASURED.name] if rows is None else rows
    if not mine:
        return
    columns = "slice " * any(row["slice"] is not None for row in mine) + "model metric value method"
    whys: dict[str, dict[str, None]] = {}
    for row in mine[:LISTED]:
        reason = estimate(row["value"]).reason
        if reason is not None and reason not in INFINITE:
            whys.setdefault(reason, {})[str(row["metric"])] = None
    said = [
        f"–: {LABELS}" if reason == "needs_scores"
        else f"– {', '.join(names)}: {REASONS.get(reason, reason.replace('_', ' '))}"
        for reason, names in whys.items()
    ]  # fmt: skip
    note = "; ".join(said)
    yield Shown(MEASURED.name, "Measures asked for", columns, mine, LISTED, rank="asked", name=name,
                note=note)  # fmt: skip
