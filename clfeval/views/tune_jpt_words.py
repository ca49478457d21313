"""A tuned table as a sentence: what the model will do among a thousand rows of the target."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.result import Estimate, Result, Row
from clfeval.views.rows import exact

SAID = 3  # sentences; the tables have them all
ANSWERS = (("ppv", "a positive answer is right in"), ("npv", "a negative one in"))


def sentences(result: Result) -> list[str]:
    """Say in words what the first few tables of target populations hold."""
    rows = [row for row in result.tables["models"] if row["population"] == "target"]
    told = [row for row in rows if row["slice"] is None and row["tp"] is not None]
    many = len({row["model"] for row in result.tables["models"]}) > 1
    return [_sentence(row, named=many) for row in told[:SAID]]


def _sentence(row: Row, *, named: bool) -> str:
    tp, fp, fn, tn, total = (float(str(row[name])) for name in ("tp", "fp", "fn", "tn", "rows"))
    who = f"{row['model']} at" if named else "at"
    words = (
        f"{who} prevalence {exact(row['prevalence'])} ({row['odds']}): of {total:,.0f} rows "
        f"{_many(tp + fn)} are positive, {_many(tp)} of them found and {_many(fn)} missed; "
        f"{_many(fp)} of {_many(fp + tn)} negatives are called positive too"
    )
    right = [f"{said} {_percent(row.get(name))}" for name, said in ANSWERS if _known(row.get(name))]
    return f"{words}; {', '.join(right)}" if right else words


def _known(cell: object) -> bool:
    return isinstance(cell, Estimate) and cell.value is not None


def _percent(cell: object) -> str:
    if not isinstance(cell, Estimate) or cell.value is None:
        return ""
    ends: Sequence[float | None] = (cell.low, cell.high)
    shown = [f"{100 * end:.3g}" for end in ends if end is not None]
    return f"{100 * cell.value:.3g} %" + (f" ({' to '.join(shown)})" if len(shown) == 2 else "")


def _many(rows: float) -> str:
    """Write expected rows: whole from ten up, with two digits below."""
    return f"{rows:,.0f}" if rows >= 10 else f"{rows:.2g}"
