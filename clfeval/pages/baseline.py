"""How a result reads beside one saved earlier, whatever its command."""

from __future__ import annotations

from clfeval.result import Result, Row
from clfeval.schema import BASELINE, CHANGES, COMMON, Shown

ORDER = next(one for one in COMMON[1].columns if one.name == "verdict").among
FEW = 10  # rows that are newly wrong, of all models


PAIRED = "new - old; its interval is of both on the same rows"
PARTLY = "new - old; its interval is of both on the same rows, or else of independent rows"


def against_baseline(result: Result, lead: str) -> list[Shown]:
    """Show the measures that gates limit or that decide, worse ones first; none without baseline.

    lead: the measure that decides, of the main table.
    """
    if BASELINE not in result.tables:
        return []
    limited = {gate.measure for gate in result.gates}
    rows = [row for row in result.tables[BASELINE] if row["measure"] in limited | {lead}]
    rows = rows or list(result.tables[BASELINE])

    def place(row: Row) -> int:
        return ORDER.index(str(row["verdict"]))

    paired = [bool(row.get("paired")) for row in rows]
    words = {"change": PAIRED if all(paired) else PARTLY} if any(paired) else {}
    shown = [
        Shown(
            BASELINE, "Beside the baseline", "model measure old new change verdict",
            sorted(rows, key=place), rank="asked", lead="change", whole=True,
            legend=("change", "verdict"), total=len(result.tables[BASELINE]), words=words,
        )
    ]  # fmt: skip
    if changes := result.tables.get(CHANGES):
        shown.append(
            Shown(CHANGES, "Rows that were right before, and are wrong now",
                  "model id truth before after", changes, FEW, rank="asked", lead="model",
                  total=len(changes))
        )  # fmt: skip
    return shown
