"""The tables of models at the specificity of a reference that has labels only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.document import Document
from clfeval.document.cells import Row, cell_number, cell_text
from clfeval.formatting import describe_reference, format_number, quote_if_ambiguous
from clfeval.pages.schema import VERDICTS, Column, Source, Table, TableView, cols
from clfeval.pages.table_parts import MODEL

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
        *cols("text", "reference"),
        *cols("part", "specificity"),
        *cols("part?", "sensitivity"),
        Column("reference_sensitivity", "part", "sensitivity of reference"),
        *cols("estimate", "difference"),
        Column("p", "p?"),
        Column("p_adjusted", "p?", "p, adjusted"),
        Column("difference_adjusted", "estimate", "simultaneous difference"),
        Column("verdict", "text?", among=(None, *VERDICTS)),
        *cols("text", "method"),
        *cols("cut?", "threshold"),
        Column("threshold_sensitivity", "part", "sensitivity at threshold"),
        Column("threshold_specificity", "part", "specificity at threshold"),
        Column("flagged", "weight", "rows flagged"),
        Column("flagged_sensitivity", "part", "sensitivity, equally many flagged"),
        Column("flagged_difference", "number", "difference, equally many flagged"),
    ),
    "reference?",
)
SAME_SPECIFICITY_HEADINGS: Mapping[str, str] = {
    "sensitivity of reference": "reference_sensitivity",
    "sensitivity at threshold": "threshold_sensitivity",
    "specificity at threshold": "threshold_specificity",
    "rows flagged": "flagged",
    "sensitivity, equally many flagged": "flagged_sensitivity",
    "difference, equally many flagged": "flagged_difference",
}
SAME_SPECIFICITY_MEANINGS: Mapping[str, str] = {
    "same_specificity.reference": "the reference, which has labels only",
    "same_specificity.specificity": "specificity of the reference",
    "same_specificity.sensitivity": "sensitivity of the model at that specificity, on its "
    "interpolated ROC curve",
    "reference_sensitivity": "sensitivity of the reference",
    "same_specificity.difference": "sensitivity of the model minus that of the reference, at the "
    "specificity of the reference",
    "same_specificity.p_adjusted": "p adjusted for all models with scores, by the joint maximum",
    "same_specificity.method": "method of the interval and p, or why there is none",
    "same_specificity.threshold": "the lowest threshold with at least that specificity",
    "threshold_sensitivity": "sensitivity at the threshold",
    "threshold_specificity": "specificity at the threshold",
    "same_specificity.flagged": "rows that the reference flags",
    "flagged_sensitivity": "sensitivity of the model where it flags as many rows as the reference",
    "flagged_difference": "that sensitivity minus the one of the reference; not tested",
}


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
