"""Measures an option asked for: their tidy table, what its columns mean, how people see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.document import Document, Row, as_estimate
from clfeval.measures.catalog import find_measure
from clfeval.pages.columns import MODEL, SLICE
from clfeval.pages.write import INFINITE, REASONS
from clfeval.schema import Column, Table, TableView, columns_of_kind

LABELS = "the model has labels only"
MAX_ROWS = 30  # rows of a table shown to a person; files get them all
COLUMNS = (
    SLICE, MODEL, *columns_of_kind("text", "measure estimator"), *columns_of_kind("text?", "class"),
    *columns_of_kind("estimate", "value"),
    Column("se", "number?", "standard error"), *columns_of_kind("text", "method"),
    *columns_of_kind("number?", "calibrated_mean calibrated_high", when="?"),
    Column("p", "p?", when="?"),
)  # fmt: skip
MEASURED = Table("measures", COLUMNS)
MEANINGS: Mapping[str, str] = {
    "class": "the class of the measure; empty if it is about all classes",
    "measure": "the measure, with its parameters",
    "estimator": "binary; for more classes multiclass, macro, weighted, micro, or class (one "
    "against the rest)",
    "value": "value of the measure",
    "se": "standard error of the value",
    "measures.method": "method of the interval or p",
    "calibrated_mean": "mean of the measure if the probabilities were calibrated",
    "calibrated_high": "upper --level quantile of the measure if they were calibrated",
    "measures.p": "p-value against calibrated probabilities",
}


def requested_rows(result: Document) -> list[Row]:
    """Return the measures of a report that were asked for by name, or are only in a set that was.

    Those of single classes are left out.
    """
    known = result.tables["models"][0]
    found = [find_measure(name.partition(":")[0]) for name in result.parameters.get("measure", ())]
    ids = {measure.id for measure in found if measure is not None}
    metrics = [(row, str(row["measure"])) for row in result.whole("measures")
               if row["estimator"] != "class"]  # fmt: skip
    return [
        row
        for row, name in metrics
        if name.partition(":")[0] in ids or (None in found and name not in known)
    ]


def measure_tables(
    result: Document, rows: Sequence[Row] | None = None, *, name: str = ""
) -> Iterator[TableView]:
    """Yield the measures asked for, those of slices too where there are any; rows: only these."""
    if MEASURED.name not in result.tables:
        return
    mine = result.tables[MEASURED.name] if rows is None else rows
    if not mine:
        return
    columns = "slice " * any(row["slice"] is not None for row in mine) + "model measure "
    columns += "estimator " * (len({row["estimator"] for row in mine}) > 1) + "value "
    columns += "calibrated_mean? calibrated_high? p? " * any("p" in row for row in mine) + "method"
    whys: dict[str, dict[str, None]] = {}
    for row in mine[:MAX_ROWS]:
        reason = as_estimate(row["value"]).reason
        if reason is not None and reason not in INFINITE:
            whys.setdefault(reason, {})[str(row["measure"])] = None
    said = [
        f"–: {LABELS}" if reason == "needs_scores"
        else f"– {', '.join(names)}: {REASONS.get(reason, reason.replace('_', ' '))}"
        for reason, names in whys.items()
    ]  # fmt: skip
    note = "; ".join(said)
    yield TableView(MEASURED.name, "Requested measures", columns, mine, MAX_ROWS, rank="asked",
                    name=name,
                note=note)  # fmt: skip
