"""A matrix: a run for every combination of its values, but those that are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from json import dumps
from math import prod

from clfeval.errors import UsageError, list_names, suggestion
from clfeval.suite.entries import BatchErrors, Node
from clfeval.suite.keys import RUN, RunKeys, report_unknown_key

MOST = 10_000  # runs of a batch


def too_many_runs(place: str) -> UsageError:
    """Build the error for more runs than a batch may have."""
    return UsageError.new(f"the batch has more than {MOST:,} runs", "configuration", place)


def combinations(
    given: Mapping[str, Node], keys: RunKeys, wrong: BatchErrors, room: int
) -> list[tuple[str, dict[str, Node]]]:
    """Return what a matrix makes, each with its label; one without one where there is none."""
    if "matrix" not in given:
        if "exclude" in given:
            wrong.say(given["exclude"], "exclude needs a matrix")
        return [("", {})]
    axes: dict[str, list[Node]] = {}
    matrix = given["matrix"]
    if not isinstance(matrix.value, dict) or not matrix.value:
        wrong.say(matrix, "matrix must map options to lists", "write {threshold: [0.1, 0.5]}")
        return []
    for key, one in matrix.pairs():
        name = key.replace("-", "_")
        name = keys.known[name].name if name in keys.known else name
        if name in RUN and name != "input":
            wrong.say(one, f"a matrix cannot vary '{key}'")
        elif name not in keys.known and name != "input":
            report_unknown_key(one, name, keys, wrong)
        elif name in axes:
            wrong.say(one, f"{key}: this option is given twice", "keep one list of its values")
        elif not isinstance(one.value, list) or not one.value:
            wrong.say(one, f"{key} needs a list of values in a matrix", f"write {key}: [...]")
        else:
            axes[name] = [value for _, value in one.inside()]
    if prod(map(len, axes.values())) > room:
        raise too_many_runs(matrix.place)
    left_out = _read_exclusions(given.get("exclude"), axes, keys, wrong)
    every = (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))
    kept = [one for one in every if not any(
        all(k in one and one[k].value == v.value for k, v in rule.items()) for rule in left_out
    )]  # fmt: skip
    if axes and not kept:
        wrong.say(given["exclude"], "exclude removes every combination of the matrix")
    return [(",".join(f"{key.replace('_', '-')}={_text(value)}" for key, value in one.items()), one)
            for one in kept]  # fmt: skip


def _read_exclusions(
    given: Node | None, axes: Mapping[str, Sequence[Node]], keys: RunKeys, wrong: BatchErrors
) -> list[dict[str, Node]]:
    """Return the combinations to leave out."""
    if given is None:
        return []
    if not isinstance(given.value, list):
        wrong.say(given, "exclude must be a list of mappings", "write exclude: [{threshold: 0.5}]")
        return []
    rules = []
    for _, one in given.inside():
        if not isinstance(one.value, dict) or not one.value:
            wrong.say(one, "exclude: entries must be mappings", "write exclude: [{threshold: 0.5}]")
            continue
        rule = {}
        for key, value in one.pairs():
            name = key.replace("-", "_")
            name = keys.known[name].name if name in keys.known else name
            if name not in axes:
                what = f"exclude: the matrix has no '{key}'"
                wrong.say(value, what, suggestion(key, axes) or f"its keys: {list_names(axes)}")
            elif all(value.value != other.value for other in axes[name]):
                there = ", ".join(map(_text, axes[name]))
                wrong.say(value, f"exclude: {key} has no value {_text(value)}", f"values: {there}")
            rule[name] = value
        rules.append(rule)
    return rules


def _text(given: Node) -> str:
    """Write a value of a matrix as the name of its run has it."""
    if isinstance(given.value, list):
        return "+".join(_text(one) for _, one in given.inside())
    if isinstance(given.value, dict):
        return ",".join(f"{key}:{_text(one)}" for key, one in given.inside())
    if isinstance(given.value, str):
        return given.value
    return given.written or dumps(given.value)
