"""Tables of the changes of a result since a saved one, for all commands."""

from __future__ import annotations

from clfeval.document import Document
from clfeval.schema import BASELINE, CHANGES, MOST_CHANGES, TableView, comparison_rows

FEW = 10  # rows that are newly wrong, of all models
FIRST = 15  # changes, where nobody asks for all

PAIRED = "new - old, on the same rows"
PARTLY = "new - old, on the same rows or, where not paired, on independent samples"


def baseline_tables(result: Document, *, every: bool) -> list[TableView]:
    """Return tables of changes tested together or limited, worst first; none without baseline.

    every: all of them, else the first.
    """
    found = comparison_rows(result, BASELINE)
    if not found:
        return []
    limited = {gate.measure for gate in result.gates}
    rows = [row for row in found if row["p_adjusted"] is not None or row["measure"] in limited]
    paired = [bool(row["paired"]) for row in rows]
    shown = [
        TableView(
            "comparisons", "Change since the baseline", {
                "model": "model", "measure": "measure", "old": "old", "new": "new",
                "change": "difference", "p, adjusted": "p_adjusted", "verdict": "verdict",
            }, rows or found, None if every else FIRST,
            "p: adjusted (Benjamini-Hochberg) over these measures and models; –: not adjusted",
            rank="asked", lead="difference", whole=True, name=BASELINE, total=len(found),
            more="--show baseline; all measures: --format csv --show comparisons",
            words={"change": PAIRED if all(paired) else PARTLY} if any(paired) else {},
        )
    ]  # fmt: skip
    if changes := result.tables.get(CHANGES):
        shown.append(
            TableView(CHANGES, "Rows predicted correctly before, incorrectly now",
                  "model id truth before after", changes, FEW, rank="asked", lead="model",
                  note=f"at most {MOST_CHANGES} rows per model", total=len(changes))
        )  # fmt: skip
    return shown
