"""Wishes: what is wanted of several metrics, as a YAML file or a mapping says it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from math import isfinite
from typing import cast

from clfeval.errors import quoted, suggestion
from clfeval.measures.catalog import find_measure
from clfeval.methods.mlcps.entries import Entries, items_of, shown
from clfeval.methods.mlcps.wish import Goal, Wish, desirabilities
from clfeval.tables.yaml_file import read_yaml

__all__ = ["Wish", "desirabilities", "read_wishes", "wishes_of"]

SPELLINGS = {"maximise": "maximize", "minimise": "minimize"}

# what each goal takes besides a weight, what it cannot do without, and how it is written
TAKES: dict[str, tuple[str, ...]] = {
    "maximize": ("low", "high", "gamma"),
    "minimize": ("low", "high", "gamma"),
    "target": ("low", "target", "high", "gamma", "gamma_low", "gamma_high"),
    "box": ("low", "high", "above", "below"),
    "custom": ("points",),
}
NEEDS: dict[str, tuple[str, ...]] = {
    "maximize": ("low", "high"),
    "minimize": ("low", "high"),
    "target": ("low", "target", "high"),
    "box": (),
    "custom": ("points",),
}
EXAMPLES = {
    "maximize": "{goal: maximize, low: 0.8, high: 1}: low is worth 0, high 1",
    "minimize": "{goal: minimize, low: 0, high: 0.1}: low is worth 1, high 0",
    "target": "{goal: target, low: 0.1, target: 0.3, high: 0.6}",
    "box": "{goal: box, low: 0.8}, {goal: box, above: 0, below: 20}",
    "custom": "{goal: custom, points: [[0, 1], [50, 0.8], [200, 0]]}: [raw value, 0..1]",
}


def read_wishes(name: str | os.PathLike[str]) -> tuple[Wish, ...]:
    """Read a YAML file of wishes; UsageError with line and column for all that is wrong."""
    file = read_yaml(name)
    return wishes_of(file.value, place=file.place)


def wishes_of(wishes: object, *, place: Callable[..., str] | None = None) -> tuple[Wish, ...]:
    """Take a mapping from metrics to goals or mappings; UsageError with all that is wrong.

    place: says where the key at a path stands; by default to which metric it belongs.
    """
    entries = Entries(place or _of_metric)
    found: list[Wish | None] = []
    if not isinstance(wishes, Mapping) or not wishes:
        what = shown(wishes) if wishes or not isinstance(wishes, Mapping) else "empty"
        hint = "a line for each metric, for example brier: {goal: minimize, low: 0, high: 0.1}"
        entries.wrong((), f"wishes are a mapping from metrics, this is {what}", hint)
    else:
        found = [_wish(metric, entry, entries) for metric, entry in wishes.items()]
    entries.done()
    whole = tuple(wish for wish in found if wish is not None)
    if not any(wish.weight for wish in whole):
        entries.wrong((), "every weight is 0", "give one metric a weight above 0")
        entries.done()
    return whole


def _of_metric(*path: str | int) -> str:
    return f"desirability of {quoted(str(path[0]))}" if path else "desirability"


def _wish(metric: str, given: object, entries: Entries) -> Wish | None:
    """Return the wish of one metric; None with at least one problem kept."""
    before = len(entries.problems)
    entry = {"goal": given} if isinstance(given, str) else given
    if not isinstance(metric, str):
        entries.wrong((metric,), f"the name of a metric is text, not {shown(metric)}")
    elif not isinstance(entry, Mapping):
        what = f"{quoted(metric)} is {shown(given)}, neither a goal nor a mapping with one"
        hint = "a space goes after the ':'" if ":" in metric else _example("maximize")
        entries.wrong((metric,), what, hint)
    elif "goal" not in entry:
        known = dict.fromkeys(key for keys in TAKES.values() for key in keys)
        entries.keys((metric,), entry, ("goal", *known, "weight"), "a wish")
        entries.wrong((metric,), "no goal", f"goals: {', '.join(TAKES)}")
    else:
        goal = SPELLINGS.get(str(entry["goal"]), entry["goal"])
        if isinstance(goal, str) and goal in TAKES:
            entries.keys((metric,), entry, ("goal", *TAKES[goal], "weight"), goal)
            return _checked(metric, cast(Goal, goal), entry, entries, before)
        hint = f"goals: {', '.join(TAKES)}"
        if isinstance(goal, str):
            close = suggestion(goal, TAKES, cutoff=0.5)
            entries.wrong((metric, "goal"), f"unknown goal {shown(goal)}", close or hint)
        else:
            entries.wrong((metric, "goal"), f"goal is {shown(goal)}", hint)
    return None


def _checked(
    metric: str, goal: Goal, entry: Mapping[str, object], entries: Entries, before: int
) -> Wish | None:
    ends = {
        name: entries.number((metric, name), name, entry[name])
        for name in ("low", "target", "high", "above", "below")
        if name in entry and name in TAKES[goal]
    }
    known = _range_of(metric) if goal in ("maximize", "minimize") else {}
    assumed = {name: end for name, end in known.items() if name not in entry}
    missing = [name for name in NEEDS[goal] if name not in entry and name not in assumed]
    if missing:
        what = f"{goal} needs {' and '.join(missing)}"
        if goal in ("maximize", "minimize"):
            ends_of = {"low": "lower end", "high": "upper end"}
            lacks = "range" if len(missing) == 2 else ends_of[missing[0]]
            what += f": no {lacks} is known for {quoted(metric)}"
        entries.wrong((metric,), what, _example(goal))
    gamma = _gamma(metric, goal, entry, entries)
    points = _points(metric, entry["points"], entries) if not missing and goal == "custom" else ()
    weight = entries.number((metric, "weight"), "weight", entry.get("weight", 1), ">= 0")
    if len(entries.problems) > before or weight is None:
        return None
    wish = Wish(
        metric, goal, **ends, **assumed, gamma=gamma, points=points, weight=weight,
        assumed=tuple(assumed),
    )  # fmt: skip
    try:
        wish.of(0.0)
    except ValueError as error:
        entries.wrong((metric,), str(error), _example(goal))
        return None
    return wish


def _range_of(metric: str) -> dict[str, float]:
    """Return the finite ends of the range of a known measure."""
    measure = find_measure(metric)
    ends = {"low": measure.low, "high": measure.high} if measure else {}
    return {name: float(end) for name, end in ends.items() if isfinite(end)}


def _example(goal: Goal) -> str:
    return f"for example {EXAMPLES[goal]}"


def _gamma(
    metric: str, goal: Goal, entry: Mapping[str, object], entries: Entries
) -> tuple[float, ...]:
    """Return the exponents a goal takes; fewer with at least one problem kept."""
    if "gamma" not in TAKES[goal]:
        return ()
    path, given = (metric, "gamma"), entry.get("gamma", 1)
    if goal != "target":
        one = entries.number(path, "gamma", given, "> 0")
        return () if one is None else (one,)
    sides = ("gamma_low", "gamma_high")
    if any(side in entry for side in sides):
        if "gamma" in entry:
            entries.wrong(
                path,
                "gamma beside gamma_low or gamma_high",
                "for example gamma: [1, 2], below the target and above it",
            )
        both = [entries.number((metric, s), s, entry.get(s, 1), "> 0") for s in sides]
    elif items_of(given) is not None:
        both = list(
            entries.pair(path, "gamma", given, ("below the target", "above it"), "> 0") or ()
        )
    else:
        both = [entries.number(path, "gamma", given, "> 0")] * 2
    return tuple(one for one in both if one is not None)


def _points(metric: str, given: object, entries: Entries) -> tuple[tuple[float, float], ...]:
    """Return the points of a custom goal; fewer with at least one problem kept."""
    items = items_of(given)
    if items is None:
        what = f"points is {shown(given)}, not a list of [raw value, 0..1]"
        entries.wrong((metric, "points"), what, _example("custom"))
    points = [
        entries.pair((metric, "points", i), f"point {i + 1}", item, ("raw value", "0..1"))
        for i, item in enumerate(items or ())
    ]
    return tuple(point for point in points if point is not None)
