"""How a result reads beside one saved earlier, whatever its command."""

from __future__ import annotations

from clfeval.result import Result, Row
from clfeval.schema import BASELINE, COMMON, Shown

ORDER = COMMON[0].columns[-1].among  # of verdicts


def against_baseline(result: Result, lead: str) -> list[Shown]:
    """Show the measures that gates limit or that decide, worse ones first; none without baseline.

    lead: the measure that decides, of the main table.
    """
    if BASELINE not in result.tables:
        return []
    limited = {gate.metric.partition(".")[0] for gate in result.gates}
    rows = [row for row in result.tables[BASELINE] if row["measure"] in limited | {lead}]
    rows = rows or list(result.tables[BASELINE])

    def place(row: Row) -> int:
        return ORDER.index(str(row["verdict"]))

    return [
        Shown(
            BASELINE, "Beside the baseline", "model measure old new change verdict",
            sorted(rows, key=place), rank="asked", lead="change", whole=True,
            legend=("change", "verdict"), total=len(result.tables[BASELINE]),
        )
    ]  # fmt: skip
