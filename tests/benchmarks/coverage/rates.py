"""One model: intervals of its two rates, and at no class ratio, the sample's, another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from clfeval.arrays import Counts, Floats, divide
from clfeval.counts.patterns import ConfusionCounts
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.confidence_limits import exact_limits, measure_limits
from clfeval.methods.estimates import Cells, Design, Limits
from tests.benchmarks.coverage import Line

LEVEL, LEAST = 0.95, 0.92
ROWS, PREVALENCES = (60, 120, 300), (0.1, 0.2, 0.3, 0.5)
RATES = ((0.8, 0.9), (0.9, 0.8), (0.95, 0.98), (0.6, 0.7))  # sensitivity, specificity
TARGET = 0.01
FREE = ("delta", "phi")
UNBIASED = ("precision", "npv", "f1", "mcc", "mutual_information")
SHARES = ("accuracy", "precision", "npv")
AT_SAMPLE = ("f1", "mcc", "mutual_information", "phi_b", "delta_b", "f_beta", "ic")
TUNED = ("ppv", "npv", "tar", "f_beta", "mcc", "epa", "ic", "dor")
BETA = 2.0  # of f_beta at the sample: that of 1 is F1


def lines(replicates: int) -> list[Line]:
    """Return a line per interval, design and number of rows: the lowest of its sixteen cells."""
    rng = np.random.default_rng(13)
    found: dict[tuple[str, str, int], list[tuple[float, float, str]]] = {}
    for rows, prevalence, (sensitivity, specificity) in product(ROWS, PREVALENCES, RATES):
        truth = Confusion.from_prevalence(sensitivity, 1 - specificity, prevalence)
        where = f"prevalence {prevalence:g}, rates {sensitivity:g} {specificity:g}"
        for totals in ("random", "fixed"):
            p = np.full(replicates, round(rows * prevalence))
            if totals == "random":
                p = rng.binomial(rows, prevalence, replicates)
            tp, fp = rng.binomial(p, sensitivity), rng.binomial(rows - p, 1 - specificity)
            for name, covered, width in _judged(tp, p, fp, rows - p, truth, totals):
                found.setdefault((name, totals, rows), []).append((covered, width, where))
    out = []
    for (name, totals, rows), cells in sorted(found.items()):
        covered, width, where = min(cells)
        setting = f"totals {totals}, {rows} rows; least of 16: {where}"
        out.append(Line(name, setting, replicates, covered, least=LEAST, width=width))
    return out


def _judged(
    tp: Counts, p: Counts, fp: Counts, n: Counts, truth: Confusion, totals: str
) -> Iterator[tuple[str, float, float]]:
    """Yield, for each interval, the share of tables in which it holds the truth, and its width."""
    flat = np.array([tp, p, fp, n])
    few, place = np.unique(flat, axis=1, return_inverse=True)
    tp, p, fp, n = few
    counts = ConfusionCounts(("",) * len(tp), tp, fp, p - tp, n - fp, p, n)
    design = Design(totals)
    own, even = Cells.at_prevalence(counts), Cells.at_prevalence(counts, 0.5)
    there = Cells.at_prevalence(counts, TARGET)
    tuned = truth.tuned(TARGET / (1 - TARGET))

    def judged(
        name: str, found: Limits, value: Floats, *, wide: bool = True
    ) -> tuple[str, float, float]:
        low, high = (side[place.ravel()] for side in found)
        # undefined makes no claim; a rounding error is none
        held = np.isnan(low) | ((low <= value + 1e-12) & (high >= value - 1e-12))
        if np.any(high - low <= 0):
            raise AssertionError(f"{name} has an interval of width zero")
        finite = np.isfinite(high - low)
        return name, float(held.mean()), float((high - low)[finite].mean()) if wide else np.nan

    for name in FREE:
        found = measure_limits(name, own, level=LEVEL, design=design)
        yield judged(name, found, CATALOG[name].function(truth))
    for name in UNBIASED:
        found = measure_limits(name, even, level=LEVEL, by="region")
        yield judged(f"{name}_u", found, CATALOG[name].function(truth.normalised()))
    both = [exact_limits(name, own, level=LEVEL**0.5) for name in ("sensitivity", "specificity")]
    rates = (divide(truth.tp, truth.positives), divide(truth.tn, truth.negatives))
    held = np.ones(len(tp), bool)
    for ends, rate in zip(both, rates, strict=True):
        assert ends is not None
        held &= np.isnan(ends[0]) | ((ends[0] <= rate) & (rate <= ends[1]))
    yield "joint region", float(held[place.ravel()].mean()), np.nan
    for name in SHARES if totals == "random" else ():
        found = measure_limits(name, own, level=LEVEL, design=design)
        yield judged(f"{name} as counted", found, CATALOG[name].function(truth))
    for name in AT_SAMPLE:
        beta = BETA if name == "f_beta" else 1.0
        found = measure_limits(name, own, level=LEVEL, design=design, beta=beta)
        value = CATALOG[name].with_settings(beta=beta).function(truth)
        yield judged(f"{name} as counted", found, value)
    for name in TUNED:
        found = measure_limits(name, there, level=LEVEL)
        yield judged(f"{name} at prevalence {TARGET}", found, CATALOG[name].function(tuned))
