"""Gates on the number of rows, and on models that must stay tied with the best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from clfeval.document import Cell, Document, Gate, Row
from clfeval.errors import UsageError
from clfeval.gates.looked import match_models, whole_table_rows
from clfeval.limits import Gates

CELLS = {"rows": ("tp", "fp", "fn", "tn"), "positives": ("tp", "fn")}


def row_count_gates(
    result: Document, gates: Gates, slices: Iterable[str], paired: float | None = None
) -> Iterator[Gate]:
    """Yield gates for the rows of the table and of each slice; paired: rows of changes."""
    for name, least in gates.least:
        kind = f"min-{name}"
        if name not in result.summary:
            what = f"--{kind}: {result.command} does not count {name} here"
            raise UsageError.new(what, "bad-gate", hint="remove it, or use report")
        for part in (None, *slices):
            rows = result.summary[name] if part is None else _rows_of(result, name, part)
            value = rows if isinstance(rows, (int, float)) else None
            if value is not None and paired is not None and (name, part) == ("rows", None):
                value = min(value, paired)
            reason = None if value is not None else "not_alike"
            yield Gate(kind, name, None, least, value, value is not None and value >= least,
                       reason, slice=part)  # fmt: skip


def _rows_of(result: Document, name: str, part: str) -> float | None:
    """Return how many rows a slice has, the fewest of any model; None where nobody knows."""
    found: list[float] = []
    for table in ("models", "slices"):
        for row in result.tables.get(table, ()):
            if row.get("slice") == part:
                found += _row_count(row, name)
    if not found:  # of several classes
        each: dict[Cell, float] = {}
        for row in result.tables.get("confusion", ()):
            positive = row["truth"] == result.parameters.get("positive")
            if row["slice"] == part and (name == "rows" or positive):
                each[row["model"]] = each.get(row["model"], 0) + cast("float", row["rows"])
        found = [*each.values()]
    return min(found, default=None)


def _row_count(row: Row, name: str) -> list[float]:
    """Return what a row says of it: a number of its own, or cells added up."""
    own = row.get(name)
    if isinstance(own, (int, float)):
        return [own]
    cells = [row.get(cell) for cell in CELLS[name]]
    known = [cell for cell in cells if isinstance(cell, (int, float))]
    return [sum(known)] if len(known) == len(cells) else []


def still_best_gates(result: Document, models: Sequence[str]) -> Iterator[Gate]:
    """Yield whether models are among those that may be the best by the measure that decides."""
    best: Sequence[Row] = result.tables.get("best", ())
    if models and (result.command != "report" or not best or "tied" not in best[0]):
        hint = "use report with several models and without --interval none"
        what = "--still-best: the models of this result are not ranked with intervals"
        raise UsageError.new(what, "bad-gate", hint=hint)
    rows: Mapping[str, Row] = whole_table_rows(result)
    for text in models:
        which, colon, model = text.partition(":")
        few = bool(colon) and which in ("any", "all") and text not in rows
        lead = str(best[0]["measure"])
        may = {row["model"]: row["tied"] for row in best if row["measure"] == lead}
        found = [
            _still_best_gate(lead, name, may.get(name))
            for name in match_models(rows, model if few else text, "still-best")
        ]
        if few and which == "any":
            found = [replace(max(found, key=lambda gate: gate.passed), among=len(found))]
        yield from found


def _still_best_gate(lead: str, model: str, may: Cell) -> Gate:
    known = isinstance(may, bool)
    return Gate("still-best", lead, model, 1.0, float(bool(may)) if known else None, may is True,
                None if known else "undefined")  # fmt: skip
