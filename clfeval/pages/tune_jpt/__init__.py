"""How tuned tables of a classifier read: which populations, what never moves, what to plot."""

from __future__ import annotations

from math import floor, log10

from clfeval.pages.phidelta import classes
from clfeval.pages.tune_jpt.charts import charts
from clfeval.pages.tune_jpt.sections import counted, shown
from clfeval.pages.tune_jpt.tables import TABLES
from clfeval.pages.write import exact, value_of
from clfeval.result import Estimate, Result, Row
from clfeval.schema import Page

TARGETS = 4  # populations named on top
SAID = 3  # sentences; the tables have them all
ANSWERS = (("ppv", "positive"), ("npv", "negative"))


def headline(result: Result) -> list[str]:
    """Say what was read, what share of it is positive, and which populations follow."""
    summary, parameters = result.summary, result.parameters
    names = ", ".join(item.name for item in result.inputs) or "given rates"
    read = classes(result) if counted(result) else "sensitivity and specificity, no rows"
    lines = [f"joint probability tables of {names}: {read}"]
    if summary["odds"] is not None:
        at = f"prevalence {exact(summary['prevalence'])}, odds {summary['odds']}"
        lines.append(f"in the sample: {at} (positives : negatives)")
    targets = [f"{one['odds']} (prevalence {exact(one['prevalence'])})"
               for one in ({"odds": "1:1", "prevalence": 0.5}, *parameters["targets"])]  # fmt: skip
    left = len(targets) - 1 - TARGETS
    also = f" and {left} more" if left > 0 else ""
    lines.append(f"tuned to positives : negatives {', '.join(targets[: 1 + TARGETS])}{also}")
    sweep = parameters.get("sweep")
    if sweep:
        lines[-1] += f"; swept from {sweep['from']} to {sweep['to']} at {sweep['points']} odds"
    lines.append("tuning keeps sensitivity and specificity; only the share of positives changes")
    return [*lines, *sentences(result)]


def sentences(result: Result) -> list[str]:
    """Say in words what the first few tables of target populations hold."""
    rows = [row for row in result.whole("models") if row["population"] == "target"]
    told = [row for row in rows if row["tp"] is not None]
    many = len({row["model"] for row in result.tables["models"]}) > 1
    left = len(told) - SAID
    rest = [f"... and {left} more, in the tables"] if left > 0 else []
    return [*(_sentence(row, named=many) for row in told[:SAID]), *rest]


def _sentence(row: Row, *, named: bool) -> str:
    tp, fp, fn, tn, total = (float(str(row[name])) for name in ("tp", "fp", "fn", "tn", "rows"))
    who = f"{row['model']} at" if named else "at"
    found, missed = (_many(rows, of=tp + fn) for rows in (tp, fn))
    words = (
        f"{who} prevalence {exact(row['prevalence'])} ({row['odds']}): of {total:,.0f} rows "
        f"{_many(tp + fn)} are positive, {found} of them found and {missed} missed; "
        f"{_many(fp, of=fp + tn)} of {_many(fp + tn)} negatives are called positive too"
    )
    right = [
        f"a {answer} answer is right in {_percent(row.get(name))}"
        for name, answer in ANSWERS
        if value_of(row.get(name)) is not None
    ]
    return f"{words}; {', '.join(right)}" if right else words


def _percent(cell: object) -> str:
    if not isinstance(cell, Estimate) or cell.value is None:
        return ""
    ends = [_share(end) for end in (cell.low, cell.high) if end is not None]
    return f"{_share(cell.value)} %" + (f" ({' to '.join(ends)})" if len(ends) == 2 else "")


def _share(share: float) -> str:
    """Write a percentage: three digits, and next to 100 two of what is lacking."""
    lacking = 100 * (1 - share)
    if not 0 < lacking < 1:
        return f"{100 * share:.3g}"
    if lacking < 1e-4:
        return ">99.9999"
    return f"{100 * share:.{1 - floor(log10(lacking))}f}"


def _many(rows: float, *, of: float | None = None) -> str:
    """Write expected rows: with more decimals the fewer rows the class they are of has."""
    whole = rows if of is None else of
    if whole >= 100 or abs(rows - round(rows)) < 1e-9:
        return f"{rows:,.0f}"
    return f"{rows:.1f}" if whole >= 10 else f"{rows:.2f}" if rows >= 0.1 else f"{rows:.2g}"


PAGE = Page("tune-jpt", TABLES, headline, shown, charts)
