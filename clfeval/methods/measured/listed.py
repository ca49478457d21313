"""The catalogue of measures as lines: what a command may be asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from textwrap import wrap

from clfeval.measures.catalog import CATALOG, find_measure
from clfeval.measures.parameters import parameters_of
from clfeval.measures.record import Measure
from clfeval.methods.measured.asked import AT_RISK, NET_BENEFIT, AvailableMeasures
from clfeval.methods.measured.hard import OF_KIND

NEEDS = {
    "confusion": "labels", "classes": "labels", "scores": "scores",
    "probabilities": "probabilities",
}  # fmt: skip
HEADS = ("measure", "range", "best", "needs", "interval")
GAP, INDENT, WIDTH = "  ", "    ", 80


def list_measures(command: str, known: AvailableMeasures) -> Iterator[str]:
    """Yield a line for each measure, its parameters and other names below it, then the sets."""
    measures = [CATALOG[one] for one in known.ids]
    rows = [HEADS, *map(_measure_cells, measures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADS))]
    yield _format_line(HEADS, widths)
    yield GAP.join("─" * width for width in widths)
    for measure, row in zip(measures, rows[1:], strict=True):
        yield _format_line(row, widths)
        for note in _measure_notes(measure):
            yield from wrap(note, WIDTH, initial_indent=INDENT, subsequent_indent=2 * INDENT)
    yield f"sets: {', '.join(known.sets)}"
    yield f"explanation of a measure: clfeval {command} --explain NAME"


def _format_line(cells: Sequence[str], widths: Sequence[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    return GAP.join(cell.ljust(width) for cell, width in pairs).rstrip()


def _measure_cells(measure: Measure) -> tuple[str, ...]:
    best = measure.best if measure.aim is None else str(measure.aim)
    ends = f"{_format_limit(measure.low)} to {_format_limit(measure.high)}"
    needs = "probabilities" if measure.id == NET_BENEFIT else NEEDS[measure.needs]
    return measure.id, ends, best, needs, _interval_method(measure)


def _interval_method(measure: Measure) -> str:
    """Name the usual interval method; small classes use the bootstrap instead."""
    if measure.id in (NET_BENEFIT, AT_RISK):
        return "square-and-add"
    if measure.interval == "delong":
        return "DeLong"
    if measure.interval in ("drawn", "null"):
        return "bootstrap" if measure.interval == "drawn" else "p by simulation"
    if measure.interval == "share" or (measure.share is not None and measure.needs == "confusion"):
        return "exact"
    if measure.needs != "confusion":
        return f"influence, {measure.scale}"
    if measure.base is not None:
        return "exact, transformed" if measure.base != "dor" else OF_KIND["derived"]
    if measure.invariant:
        return OF_KIND[measure.interval].removeprefix("Newcombe ")
    return OF_KIND["region"]


def _measure_notes(measure: Measure) -> Iterator[str]:
    others = [name for name in measure.aliases if find_measure(name) is measure]
    if others:
        yield f"also {', '.join(others)}"
    if measure.twin:
        yield f"the same as {measure.twin}"
    at_threshold = measure.id == NET_BENEFIT
    if at_threshold:
        yield "t: default is the threshold in use"
    for name, one in {} if at_threshold else parameters_of(measure).items():
        default = one.default
        shown = f"{default[0]:g}..{default[1]:g}" if isinstance(default, tuple) else (
            "required" if default is None else f"{default:g}")  # fmt: skip
        yield f"{name}: {one.words}; {shown}"
    if measure.ordered:
        yield "for ordered classes (--classes)"
    elif measure.of is None:
        yield "for more than two classes"
    if measure.caveat:
        yield f"note: {measure.caveat}"


def _format_limit(limit: float) -> str:
    return f"{'-' * (limit < 0)}∞" if abs(limit) == inf else f"{limit:g}"
