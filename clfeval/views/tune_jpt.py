"""How tuned tables of a classifier read: expected cells, measures, odds, and what never moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

from clfeval.measures.catalog import CATALOG
from clfeval.result import Cell, Estimate, Result, Row
from clfeval.views.phidelta import classes
from clfeval.views.rows import DIGITS, Section, exact
from clfeval.views.tune_jpt_choice import choices
from clfeval.views.tune_jpt_look import AT_ODDS, PLACE, Column, Look, amount, odds_of, place
from clfeval.views.tune_jpt_moving import moving
from clfeval.views.tune_jpt_words import sentences

TARGETS = 4  # populations named on top
STAKED = ("expected_cost", "net_benefit")
LATER = ("tor", "f_odds")  # after EPA and its two terms
KINDS = {"sample": "sample as counted"}
EXPLAINED = {
    "tar": "TAR: share of right answers, accuracy",
    "ppv": "PPV, NPV: shares of the positive and of the negative answers that are right",
    "ic": "IC: share of the truth's information in the answer",
    "epa": "EPA: mean of PPV odds and NPV odds, its two terms; the smaller one hardly shows in it",
    "tor": "TOR: right answers for each wrong one",
    "lr_pos": "LR: likelihood ratios",
    "dor": "DOR: diagnostic odds ratio",
    "dp": "DP: discriminant power",
}


def headline(result: Result) -> list[str]:
    """Say what was read, what share of it is positive, and which populations follow."""
    summary, parameters = result.summary, result.parameters
    names = ", ".join(item.name for item in result.inputs) or "given rates"
    read = classes(result) if _counted(result) else "sensitivity and specificity, no rows"
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


def sections(result: Result, *, digits: int = DIGITS) -> list[Section]:
    """Return the tables in reading order."""
    look, rows = Look.of(result, digits), result.tables["models"]
    shares, odds, staked, fixed = _measured(rows)
    return [
        _cells(result, look),
        *_expected(result, look),
        *_moved("Measures that move with the class ratio", rows, shares, look),
        *_moved("Odds, which move with the class ratio", rows, odds, look),
        *_moved("Cost and benefit of a row", rows, staked, look, note=_stakes(result)),
        *_unmoved(rows, fixed, look),
        *choices(result, look),
        *moving(result, look),
    ]


def _measured(rows: Sequence[Row]) -> tuple[list[str], list[str], list[str], list[str]]:
    """Sort the measures at hand: shares, odds, cost and benefit, and what never moves."""
    known = [name for name, cell in rows[0].items() if isinstance(cell, Estimate)] if rows else []
    fixed = [name for name in known if CATALOG[name].invariant]
    staked = [name for name in known if name in STAKED]
    others = [name for name in known if name not in (*fixed, *staked)]
    odds = [name for name in others if CATALOG[name].high == inf]
    shares = [name for name in others if name not in odds]
    return shares, sorted(odds, key=LATER.__contains__), staked, fixed


def _counted(result: Result) -> bool:
    return any(row["population"] == "sample" for row in result.tables["models"])


def _cells(result: Result, look: Look) -> Section:
    """Show each table as rows of a population, which is what a clinic will see."""
    per = result.parameters["rows_per"]
    cells: dict[str, Column] = {
        name.upper(): partial(_rows, name=name, digits=look.digits)
        for name in ("tp", "fp", "fn", "tn")
    }
    columns: dict[str, Column] = {
        **look.who(),
        "population": lambda row: KINDS.get(str(row["population"]), str(row["population"])),
        AT_ODDS: odds_of,
        "prevalence": "prevalence",
        **cells,
    }
    title = f"Per {per:,.10g} rows"
    if _counted(result):
        title += " (the sample: as counted)"
    return look.table(title, result.tables["models"], columns, "models", right=tuple(cells))


def _rows(row: Row, *, name: str, digits: int) -> Cell:
    """Write a cell, whole where rows were counted."""
    number = row[name]
    if not isinstance(number, (int, float)):
        return number
    return f"{number:,.10g}" if row["population"] == "sample" else amount(number, digits)


def _expected(result: Result, look: Look) -> list[Section]:
    """Show the cells of the reader's own population, with intervals."""
    rows = result.tables.get("expected", ())
    if not rows:
        return []
    columns: dict[str, Column] = {
        **look.who(), PLACE: place, "TP": "tp", "FP": "fp", "FN": "fn", "TN": "tn",
        "called positive": "called",
    }  # fmt: skip
    title = f"To expect in {result.parameters['population']:,.10g} rows"
    note = "intervals: what is not known of the model; one such sample varies more"
    return [look.table(title, rows, columns, "expected", note=note, write=amount)]


def _moved(
    title: str, rows: Sequence[Row], names: Sequence[str], look: Look, *, note: str = ""
) -> list[Section]:
    """Show measures by model and population."""
    columns = {**look.who(), PLACE: place, **look.measures(names)}
    note = note or _explained(names)
    return [look.table(title, rows, columns, "models", note=note)] if names else []


def _unmoved(rows: Sequence[Row], names: Sequence[str], look: Look) -> list[Section]:
    """Show the others once for each model, as counted where rows were."""
    first: dict[tuple[object, object], Row] = {}
    for row in rows:
        first.setdefault((row["slice"], row["model"]), row)
    cut = any(row["threshold"] is not None for row in rows)
    columns = {**look.who(), **({"threshold": "threshold"} if cut else {}), **look.measures(names)}
    title = "Measures that do not move with the class ratio"
    lines = list(first.values())
    return [look.table(title, lines, columns, "models", note=_explained(names))] if names else []


def _explained(names: Sequence[str]) -> str:
    return "; ".join(EXPLAINED[name] for name in names if name in EXPLAINED)


def _stakes(result: Result) -> str:
    """Say what errors cost and what right answers bring."""
    cost: Mapping[str, Any] = result.parameters.get("cost") or {}
    words = {"fp": "a false positive costs", "fn": "a false negative costs",
             "tp": "a true positive brings", "tn": "a true negative brings"}  # fmt: skip
    named = [f"{text} {cost[key]:g}" for key, text in words.items()
             if cost.get(key) or (key in cost and key in ("fp", "fn"))]  # fmt: skip
    return ", ".join(named)
