"""Combinations of rates that few errors carry: net benefit, standardised, interventions avoided.

Log odds of the truth are normal in each class, so far apart that the area is as stated, and the
model is calibrated; limits as the report finds them. In the settings few missed positives, or few
positives, are below the threshold t.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from clfeval.counts.scores import ScoreCounts
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.net_benefits import net_benefit
from clfeval.methods.measurement.score_measures import estimate_score_measure
from clfeval.methods.options import IntervalSettings
from tests.benchmarks.coverage import Line

LEVEL, LEAST = 0.95, 0.93
# rows, prevalence, area, t
SETTINGS = (
    (200, 0.1, 0.8, 0.02),
    (1000, 0.05, 0.8, 0.01),
    (200, 0.1, 0.9, 0.05),
    (200, 0.3, 0.8, 0.1),
    (200, 0.3, 0.99, 0.1),
    (200, 0.3, 0.8, 0.3),
    (200, 0.3, 0.95, 0.1),
)
NAMES = ("net_benefit@t", "net_benefit_standardised", "interventions_avoided")
WANTED = IntervalSettings(LEVEL, resamples=300)
Arrays = Any


def lines(replicates: int) -> list[Line]:
    """Return lines by measure and setting."""
    return [line for setting in SETTINGS for line in _lines(*setting, replicates)]


def _lines(rows: int, prevalence: float, area: float, t: float, replicates: int) -> list[Line]:
    rng = np.random.default_rng([43, rows, round(100 * area), round(1000 * t)])
    apart = np.sqrt(2) * norm.ppf(area)
    prior = np.log(prevalence / (1 - prevalence))
    ends: dict[str, list[tuple[float, float]]] = {name: [] for name in NAMES}
    for _ in range(replicates):
        truth = rng.random(rows) < prevalence
        z = rng.standard_normal(rows) + apart * truth
        p = expit(prior + apart * z - apart**2 / 2)
        order = np.argsort(p)
        hits = truth[order] * 1
        counts = ScoreCounts(p[order], hits, 1 - hits)
        for name in NAMES:
            measure = CATALOG[name].with_settings(t=t)
            if name == "net_benefit@t":
                found = net_benefit(counts, t, LEVEL)[0]
            else:
                found = estimate_score_measure(measure, counts, WANTED, "").value
            low = np.nan if found.low is None else found.low
            ends[name].append((low, np.nan if found.high is None else found.high))
    cut = (np.log(t / (1 - t)) - prior + apart**2 / 2) / apart
    sensitivity, false = norm.sf(cut - apart), norm.sf(cut)
    odds = t / (1 - t)
    benefit = prevalence * sensitivity - (1 - prevalence) * false * odds
    net_true = (1 - prevalence) * (1 - false) - prevalence * (1 - sensitivity) / odds
    true = dict(zip(NAMES, (benefit, benefit / prevalence, 100 * net_true), strict=True))
    missed = rows * prevalence * (1 - sensitivity)
    setting = f"{rows} rows, prevalence {prevalence:g}, area {area:g}, t {t:g}, {missed:.1f} missed"
    found_lines = []
    for name, both in ends.items():
        low, high = np.array(both).T
        sides = f"misses {(true[name] < low).sum()}/{(true[name] > high).sum()}"
        found_lines.append(Line.of(name, f"{setting}, {sides}", both, true[name], LEAST))
    return found_lines
