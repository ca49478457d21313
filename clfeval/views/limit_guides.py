"""Pictures of a result with the limits of its gates as guides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clfeval.compare.gates.kinds import VALUE_LIMIT_KINDS
from clfeval.document import Document
from clfeval.formatting import join_names
from clfeval.pages.chart import Chart, Guide
from clfeval.pages.intervals import FOREST, deciding_measure
from clfeval.pages.pictures import pictures_of

SIGNS = {kind.name: "≥" if kind.lower else "≤" for kind in VALUE_LIMIT_KINDS}


def pictures_with_limits(result: Document) -> dict[str, list[Chart]]:
    """Return the panels of each picture, the intervals of models with the limits on them."""
    pictures = pictures_of(result)
    if result.gates and FOREST in pictures:
        pictures[FOREST] = [
            replace(chart, guides=tuple(_limit_guides(result, len(chart.series))))
            for chart in pictures[FOREST]
        ]
    return pictures


def _limit_guides(result: Document, model_count: int) -> Iterator[Guide]:
    """Yield the limits on the deciding measure, with the models where these are not all."""
    measure = deciding_measure(result)
    models_by_limit: dict[tuple[str, str, float], set[str | None]] = {}
    for gate in result.gates:
        if gate.kind in SIGNS and gate.slice is None and gate.measure == measure:
            models_by_limit.setdefault((gate.kind, gate.metric, gate.limit), set()).add(gate.model)
    for (kind, metric, limit), names in models_by_limit.items():
        limit_part = metric.removeprefix(measure).replace(".", " ")
        named_models = tuple(sorted(map(str, names))) if len(names) < model_count else ()
        subject = f" of {join_names(named_models)}" if named_models else ""
        text = f"gate{limit_part}{subject} {SIGNS[kind]} {limit:g}"
        yield Guide(text, x=limit, limit=True, rows=named_models)
