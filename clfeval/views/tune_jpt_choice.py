"""Which model where: the crossings of every pair, and the best model at each class ratio."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from clfeval.result import Cell, Estimate, Result, Row
from clfeval.views.rows import ABSENT, INTERVAL, Section, exact, value_of
from clfeval.views.tune_jpt_look import PLACE, Column, Look, listed, place

OPEN = "…"  # an interval's end beyond the swept odds
SPAN = "positives:negatives"
_CALLED = "called where the interval of each difference{} excludes 0"
_UNCALLED = "without intervals no winner is called: this is the model of the best value"


def choices(result: Result, look: Look) -> list[Section]:
    """Return the tables that compare models; a single model has none."""
    return [*_crossovers(result, look), *_winners(result, look)]


def _crossovers(result: Result, look: Look) -> list[Section]:
    rows = result.tables.get("crossovers", ())
    if not rows:
        return []
    rows = sorted(rows, key=lambda row: value_of(row["crossing"]) is None)  # crossings first
    ends = [between(row["crossing"]) for row in rows]
    columns: dict[str, Column] = {
        **look.who(model=False),
        "models": lambda row: f"{row['first']}, {row['second']}",
        "measure": lambda row: look.title(str(row["measure"])),
        "which leads": "verdict",
        "crossing at\nprevalence": lambda row: exact(value_of(row["crossing"])),
    }
    if any(ends):
        columns[f"{look.level * 100:g} {INTERVAL}"] = lambda row: between(row["crossing"])
    note = f"{OPEN} beyond the swept odds" if any(OPEN in text for text in ends) else ""
    return [
        look.table(
            "Where two models change places", rows, columns, "crossovers", note=note,
            right=[head for head in columns if "prevalence" in head or head.endswith(INTERVAL)],
        )
    ]  # fmt: skip


def between(cell: Cell) -> str:
    """Write the interval of a crossing, whose ends may lie beyond the swept odds."""
    if not isinstance(cell, Estimate) or cell.low is cell.high is None:
        return ""
    low, high = (OPEN if end is None else exact(end) for end in (cell.low, cell.high))
    return f"[{low}, {high}]"


def _winners(result: Result, look: Look) -> list[Section]:
    rows = result.tables.get("winners", ())
    models = result.tables["models"]
    counted = any(row["population"] == "sample" for row in models)
    judged = counted and result.parameters.get("interval") != "none"

    order = {name: i for i, name in enumerate(dict.fromkeys(str(row["model"]) for row in models))}

    def ahead(row: Row) -> list[str]:
        if row["leader"] is None:
            return []
        undecided = row["undecided"] if judged and row["winner"] is None else []
        tied = dict.fromkeys(
            [str(row["leader"]), *(undecided if isinstance(undecided, list) else ())]
        )
        return sorted(tied, key=lambda name: order.get(name, len(order)))

    def best(row: Row) -> str:
        names = ahead(row)
        if not names:
            return f"{ABSENT} no model has a value"
        return f"undecided: {listed(names)}" if len(names) > 1 else names[0]

    def leading(row: Row) -> str:
        """Name the leader, whose value is shown, and then those it does not beat for sure."""
        others = [name for name in ahead(row) if name != row["leader"]]
        if not others:
            return best(row)
        return f"{row['leader']}, not for sure over {listed(others)}"

    named: dict[str, Column] = {
        **look.who(model=False),
        "measure": lambda row: look.title(str(row["measure"])),
    }
    paired = ", on the same rows," if result.parameters.get("paired", True) else ""
    out, note = [], _CALLED.format(paired) if judged else _UNCALLED
    here = [row for row in rows if row["population"] != "sweep"]
    if here:
        columns = {**named, PLACE: place, "best model": leading, "its value": "value"}
        out.append(look.table("Which model where", here, columns, "winners", note=note))
        note = ""
    runs = neighbours([row for row in rows if row["population"] == "sweep"], ahead)
    if runs:
        columns = {**named, SPAN: "odds", "prevalences": "prevalence", "best model": best}
        out.append(look.table("Which model at which odds", runs, columns, "winners", note=note))
    return out


def neighbours(rows: Sequence[Row], ahead: Callable[[Row], list[str]]) -> list[Row]:
    """Put neighbouring odds with the same models ahead together: their first row, their ends."""
    out: list[Row] = []
    for _, group in groupby(rows, lambda row: (row["slice"], row["measure"])):
        ordered = sorted(group, key=lambda row: float(str(row["ratio"])))
        for _, run in groupby(ordered, ahead):
            first, *others = run
            last = others[-1] if others else first
            out.append({**first, **{
                name: _span(write(first[name]), write(last[name]))
                for name, write in (("odds", str), ("prevalence", exact))
            }})  # fmt: skip
    return out


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first} .. {last}"
