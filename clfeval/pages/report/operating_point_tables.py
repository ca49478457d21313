"""The tables of models at the specificity of a reference that has labels only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.document import Document
from clfeval.document.cells import Row, cell_number, cell_text
from clfeval.formatting import describe_reference, format_number, quote_if_ambiguous
from clfeval.pages.schema import (
    DIFFERENCE_ADJUSTED,
    MODEL,
    P_ADJUSTED,
    P_VALUE,
    VERDICT,
    Column,
    Source,
    Table,
    TableView,
)
from clfeval.records import replace

MAX_MODELS = 15  # shown
SHORT: Mapping[str, Source] = {
    "difference": "difference_adjusted",
    "p, adjusted": "p_adjusted",
    "verdict": "verdict",
}
SAME_SPECIFICITY = Table(
    "same_specificity",
    (
        MODEL,
        Column(
            "reference", "text", meaning="the reference, which has labels only", headings=("minus",)
        ),
        Column("specificity", "part", meaning="specificity of the reference"),
        Column(
            "sensitivity",
            "part?",
            meaning="sensitivity of the model at that specificity, on its interpolated ROC curve",
        ),
        Column(
            "reference_sensitivity",
            "part",
            "sensitivity of reference",
            meaning="sensitivity of the reference",
        ),
        Column(
            "difference",
            "estimate",
            meaning="sensitivity of the model minus that of the reference, at the specificity of "
            "the reference",
        ),
        P_VALUE,
        replace(
            P_ADJUSTED,
            meaning="p adjusted for all models with scores, by the joint maximum",
            headings=(),
        ),
        DIFFERENCE_ADJUSTED,
        replace(VERDICT, kind="text?"),
        Column("method", "text", meaning="method of the interval and p, or why there is none"),
        Column("threshold", "cut?", meaning="the lowest threshold with at least that specificity"),
        Column(
            "threshold_sensitivity",
            "part",
            "sensitivity at threshold",
            meaning="sensitivity at the threshold",
        ),
        Column(
            "threshold_specificity",
            "part",
            "specificity at threshold",
            meaning="specificity at the threshold",
        ),
        Column("flagged", "weight", "rows flagged", meaning="rows that the reference flags"),
        Column(
            "flagged_sensitivity",
            "part",
            "sensitivity, equally many flagged",
            meaning="sensitivity of the model where it flags as many rows as the reference",
        ),
        Column(
            "flagged_difference",
            "number",
            "difference, equally many flagged",
            meaning="that sensitivity minus the one of the reference; not tested",
        ),
    ),
    "reference?",
)


def same_specificity_tables(result: Document) -> Iterator[TableView]:
    """Yield the tables of models at the specificity of a reference that has labels only."""
    rows = result.tables.get("same_specificity", ())
    if not rows:
        return
    references = {cell_text(row["reference"]) for row in rows}
    reference_column: dict[str, Source] = {"minus": "reference"} if len(references) > 1 else {}
    model_columns: dict[str, Source] = {"model": "model", **reference_column}
    reference_name = describe_reference(
        str(rows[0]["reference"]), str(result.parameters["reference"])
    )
    title = f"Sensitivity at the specificity of {reference_name}"
    if len(references) == 1:
        title += f" ({format_number(cell_number(rows[0]['specificity']))})"
    yield TableView(
        "same_specificity",
        title,
        {**model_columns, "sens. ↑": "sensitivity", **SHORT},
        rows,
        MAX_MODELS,
        _same_specificity_note(rows),
        rank="asked",
        lead="difference_adjusted",
        keep_columns=True,
    )
    yield _operating_points(
        f"Thresholds with at least the specificity of {reference_name}",
        {
            **model_columns,
            "threshold": "threshold",
            "sens. ↑": "threshold_sensitivity",
            "spec. ↑": "threshold_specificity",
        },
        rows,
        "operating_points",
    )
    yield _operating_points(
        f"Sensitivity when flagging as many rows as {reference_name}",
        {
            **model_columns,
            "rows flagged": "flagged",
            "sens. ↑": "flagged_sensitivity",
            "difference": "flagged_difference",
        },
        rows,
        "equally_flagged",
    )


def _operating_points(
    title: str, columns: Mapping[str, Source], rows: Sequence[Row], table_name: str
) -> TableView:
    """Return a table of the models at one operating point each."""
    return TableView(
        "same_specificity",
        title,
        columns,
        rows,
        MAX_MODELS,
        rank="asked",
        name=table_name,
        keep_columns=True,
        places=(),
    )


def _same_specificity_note(rows: Sequence[Row]) -> str:
    """Return for what intervals and p are adjusted, or why there are none."""
    reasons = {str(row["method"]) for row in rows if str(row["method"]).startswith("none: ")}
    notes = [reason.removeprefix("none: ") for reason in sorted(reasons)]
    sensitivities = {cell_text(row["reference"]): row["reference_sensitivity"] for row in rows}
    for reference, sensitivity in sensitivities.items():
        sensitivity_text = format_number(cell_number(sensitivity))
        notes.insert(0, f"sensitivity of {quote_if_ambiguous(reference)}: {sensitivity_text}")
    if len(rows) > len(reasons) and any(row["p"] is not None for row in rows):
        notes.append("intervals and p: adjusted for all models with scores")
    return "; ".join(notes)
