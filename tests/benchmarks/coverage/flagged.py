"""Differences of predictive values of two models that flag few rows.

Tables are those of `comparing`, cut at a threshold that few rows reach, or many.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import norm

from clfeval.measures.confusion import Confusion
from clfeval.methods.measurement.requested_measures import RequestedMeasure, parse_measures
from tests.benchmarks.coverage import Line
from tests.benchmarks.coverage.comparing import _family, _Setting

LEAST = 0.93
NAMES = ("precision", "npv", "precision_u", "npv_u", "ppv_at:prevalence=0.1")
# rows, kind, prevalence, threshold, share of noise in common, equal models
SETTINGS = (
    (1000, "", 0.05, 0.3, 0.5, True),
    (1000, "", 0.05, 0.3, 0.9, True),
    (1000, "", 0.05, 0.5, 0.5, True),
    (1000, "", 0.05, 0.3, 0.5, False),
    (1000, "", 0.05, 0.05, 0.5, True),
    (200, "", 0.3, 0.5, 0.5, True),
    (200, "", 0.3, 0.5, 0.9, False),
    (200, "", 0.05, 0.3, 0.5, True),
    (500, "clusters", 0.3, 0.5, 0.5, True),
    (400, "weights", 0.1, 0.3, 0.5, True),
)


def lines(replicates: int) -> list[Line]:
    """Return lines by measure and setting, and how often p is below .05 for equal models."""
    found: list[Line] = []
    for rows, kind, prevalence, threshold, alike, equal in SETTINGS:
        setting = _Setting(2, rows, kind, prevalence, alike, equal)
        found += _lines(setting, threshold, replicates)
    return found


def _lines(setting: _Setting, threshold: float, replicates: int) -> Iterator[Line]:
    measures = parse_measures(NAMES)
    ends: dict[str, list[tuple[float, float]]] = {measure.name: [] for measure in measures}
    claims = dict.fromkeys(ends, 0)
    flagged = 0.0
    for table in setting.tables(replicates):
        votes = (np.array(table.every.scores) >= threshold).T
        table.patterns = table.voted(table.models, votes)
        flagged += float(votes[:, 0].sum()) / replicates
        for measure in measures:
            family = _family(table.estimates(measure), "m0")
            if family is None:
                continue
            (change,) = family.changes()
            if change.difference.low is not None and change.difference.high is not None:
                ends[measure.name].append((change.difference.low, change.difference.high))
                claims[measure.name] += change.p is not None and change.p < 0.05
    told = f"{setting}, {flagged:.0f} flagged"
    for measure in measures:
        best, second = (_population(measure, apart, setting, threshold) for apart in setting.apart)
        low, high = np.array(ends[measure.name]).T
        true = second - best
        sides = f"misses {(true < low).sum()}/{(true > high).sum()}"
        text = f"{told}, {sides}"
        yield Line.of(f"difference of {measure.name}", text, ends[measure.name], true, LEAST)
        if setting.equal:
            share = claims[measure.name] / replicates
            yield Line(f"{measure.name} differs (false)", told, replicates, share, most=0.07)


def _population(
    measure: RequestedMeasure, apart: float, setting: _Setting, threshold: float
) -> Any:
    """Return the measure of the population at the threshold; p as in `reporting`."""
    prevalence = setting.prevalence
    odds = np.log(prevalence / (1 - prevalence))
    z = ((np.log(threshold / (1 - threshold)) - 0.2) / 1.25 - odds + apart**2 / 2) / apart
    tp, fp = prevalence * norm.sf(z - apart), (1 - prevalence) * norm.sf(z)
    return float(measure.measure.function(Confusion(tp, fp, prevalence - tp, 1 - prevalence - fp)))
