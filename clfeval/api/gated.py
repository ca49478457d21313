"""Measures that a limit names and that nobody else asks for: a report computes them too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clfeval.api.saved import saved_files
from clfeval.gates.looked import LIMITED
from clfeval.limits import Gates
from clfeval.measures.catalog import equivalent_names, find_measure
from clfeval.methods.measured.asked import DEFAULT
from clfeval.options import Command, as_list


def add_gate_measures(
    command: Command, table: Any, given: Mapping[str, Any], gates: Gates
) -> dict[str, Any]:
    """Return the options of a report, its measures with those that limits name added."""
    if command.name != "report" or saved_files(table):  # what was saved has its measures
        return dict(given)
    more = []
    for limit in gates.limits:
        measure = find_measure(limit.metric.partition(":")[0])
        there = not {*equivalent_names(limit.metric)}.isdisjoint(DEFAULT)  # maybe by another name
        if measure is not None and measure.needs in LIMITED and not there:
            more.append(limit.metric)
    asked = tuple(dict.fromkeys((*as_list(given.get("measure")), *more)))
    return {**given, "measure": asked} if more else dict(given)
