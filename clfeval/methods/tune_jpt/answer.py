"""What tune-jpt answers: who is best at each target, what that is worth, and where it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from clfeval.measures.catalog import CATALOG
from clfeval.result import Answer, Row, Rows, estimate, whole
from clfeval.words import between, named, number, quoted

MOST = 5  # sentences
NAMES = 4  # names said in one
TARGETS = 2  # populations spoken of


def tune_answer(tables: Mapping[str, Rows], compared: str | None) -> tuple[Answer, ...]:
    """Say who is best by the measure compared, how often it is right, and where the lead ends.

    A lead is called certain where it beats each other model so (table `winners`). The threshold is
    the one chosen on these rows, and its worth the one cross-fitted.
    """
    models = whole(tables["models"])
    said: list[Answer] = []
    seen = list(dict.fromkeys(str(row["odds"]) for row in models))
    for odds in seen[:TARGETS]:
        here = [row for row in models if row["odds"] == odds]
        said += _at(here, tables, compared)
    said += _changes(tables, compared)
    return tuple(said[:MOST])


def _at(here: Sequence[Row], tables: Mapping[str, Rows], compared: str | None) -> list[Answer]:
    odds, where = here[0]["odds"], _where(here[0])
    contest = [
        row for row in tables.get("winners", ())
        if row["slice"] is None and row["odds"] == odds and row["population"] != "sweep"
    ]  # fmt: skip
    leader, said = here[0], []
    if contest and compared is not None:
        if contest[0]["leader"] is None:
            text = f"{where} {_title(compared)} is undefined for every model."
            return [Answer("no-leader", text)]
        name = str(contest[0]["leader"])
        leader = next(row for row in here if row["model"] == name)
        value = estimate(leader.get(compared, contest[0]["value"]))
        others = [other for other in _names(contest[0]["undecided"]) if other != name]
        text = f"{where} {quoted(name)} has the best {_title(compared)}, "
        text += between(value.value or 0.0, value.low, value.high)
        text += "." if others else ", for certain."
        found = (value.value, value.low, value.high)
        said.append(Answer("best-at", text, (name,), compared, *found))
        if others:
            text = f"There it cannot be told from {named(others, word='or')}."
            said.append(Answer("not-told-apart", text, tuple(others), compared))
    elif contest or len(here) > 1:
        return []
    return [*said, *_right(leader, where), *_threshold(leader, tables, compared)]


def _right(row: Row, where: str) -> list[Answer]:
    """Say how many positive answers are right."""
    ppv, ends, name = estimate(row.get("ppv")), "", str(row["model"])
    if ppv.value is None:
        return []
    if ppv.low is not None and ppv.high is not None:
        ends = f" ({_hundred(ppv.low)} to {_hundred(ppv.high)})"
    right = f"of 100 positive answers of {quoted(name)} {_hundred(ppv.value)} are right{ends}"
    return [Answer("right", f"{where} {right}.", (name,), "ppv", ppv.value, ppv.low, ppv.high)]


def _threshold(row: Row, tables: Mapping[str, Rows], compared: str | None) -> list[Answer]:
    """Say which threshold to use, and what that is worth on other rows."""
    found = [
        one for one in tables.get("thresholds", ())
        if one["slice"] is None and one["model"] == row["model"] and one["odds"] == row["odds"]
        and one["measure"] == compared
    ]  # fmt: skip
    if not found or compared is None:
        return []
    best, name, title = found[0], str(row["model"]), _title(compared)
    gain, honest = estimate(best.get("honest_gain")).value, estimate(best.get("honest")).value
    if gain is None or honest is None or best["threshold"] is None:
        return []
    fixed = _short(best["fixed_threshold"])
    if gain <= 0:  # a gain is above 0 where the measure is better, whichever way that is
        text = f"Keep the threshold of {quoted(name)}, {fixed}: none chosen here does better."
        return [Answer("keep-threshold", text, (name,), "threshold")]
    now = number(estimate(best["fixed_value"]).value or 0.0)
    text = (
        f"With threshold {_short(best['threshold'])} expect {title} {number(honest)} of "
        f"{quoted(name)} on other rows; with {fixed} it is {now} here."
    )
    return [Answer("threshold", text, (name,), "threshold", float(str(best["threshold"])))]


def _changes(tables: Mapping[str, Rows], compared: str | None) -> list[Answer]:
    """Say who leads from where on over the sweep."""
    swept = [
        row for row in tables.get("winners", ())
        if row["slice"] is None and row["population"] == "sweep" and row["leader"] is not None
    ]  # fmt: skip
    if not swept or compared is None:
        return []
    runs = [(name, list(rows)) for name, rows in groupby(swept, key=lambda row: str(row["leader"]))]
    names = tuple(name for name, _ in runs)
    if len(runs) == 1:
        text = (
            f"{quoted(names[0])} has the best {_title(compared)} at every ratio from "
            f"{swept[0]['odds']} to {swept[-1]['odds']}."
        )
        return [Answer("leads-everywhere", text, names, compared)]
    parts = [f"{quoted(names[0])} leads at {swept[0]['odds']}"]
    for (first, _), (second, rows) in pairwise(runs):
        at = _crossing(tables, first, second, rows[0])
        parts.append(f"{quoted(second)} from prevalence {at}")
    text = f"By {_title(compared)} {', '.join(parts[:NAMES])}."
    return [Answer("lead-changes", text, names, compared)]


def _crossing(tables: Mapping[str, Rows], first: str, second: str, after: Row) -> str:
    """Return the prevalence where two models change places; else the first one swept after it."""
    for row in tables.get("crossovers", ()):
        at, pair = estimate(row["crossing"]).value, {row["first"], row["second"]}
        if row["slice"] is None and pair == {first, second} and at is not None:
            return f"{at:.3g}"
    return f"{float(str(after['prevalence'])):.3g}"


def _where(row: Row) -> str:
    share = f"{float(str(row['prevalence'])):.3g}"
    if row["population"] == "sample":
        return f"At the prevalence of these rows ({share})"
    return f"At prevalence {share} ({row['odds']})"


def _title(measure: str) -> str:
    return CATALOG[measure].title


def _hundred(share: float) -> str:
    return f"{100 * share:.3g}"


def _short(cell: Any) -> str:
    return "none" if cell is None else f"{cell:.4g}"


def _names(cell: Any) -> Sequence[str]:
    return cell if isinstance(cell, list) else []
