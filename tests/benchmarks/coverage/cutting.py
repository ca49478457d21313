"""Thresholds chosen on the rows, and zones without an answer: what these are worth on others.

Tables are those of `reporting`: rows, rows in clusters of ten, rows with weights by class. The
truth is the value, in the population, of the threshold (or zone) that the whole table chose: that
is what whoever uses it will have. The mean over tables of such thresholds would be another truth,
which nobody uses. A limit of the sensitivity or of the precision has two: of what is to be best
within it, and of the measure of the limit. Flattering limits are those of the table at the
threshold. At other class ratios thresholds are chosen as tune-jpt does; the bias of the corrected
value is the mean of its difference to the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm

from clfeval import tune_jpt
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Row, as_estimate
from clfeval.measures.catalog import measure_functions
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import OutcomeCosts
from clfeval.methods.measurement.net_benefits import confusions_at
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.report.threshold_rules import parse_rules, parse_zones
from clfeval.methods.report.thresholds import (
    abstention_rows,
    chosen_thresholds,
    cutoff_rows,
    estimate_measures,
)
from clfeval.methods.threshold_optimism import ThresholdRule
from tests.benchmarks.coverage import Line
from tests.benchmarks.coverage.reporting import APART, SURE, _clustered, _counted
from tests.benchmarks.coverage.weights import UNIT
from tests.benchmarks.coverage.weights import _table as _weighed

RULES = parse_rules(("j_index", "f1", "mcc", "cost:fp=1,fn=5", "sens>=.9", "ppv>=.8"))
TUNED, TARGETS, BIAS = ("j_index", "f_beta", "mcc", "tar", "cost:fp=1,fn=5"), (0.5, 0.1, 0.01), 0.02
ZONES, CUT = parse_zones(("5%", "20%")), 0.5
PREVALENCES, LEAST = (0.5, 0.1), 0.92
Arrays = Any
Held = tuple[float, float, float]  # the low and the high limit, and the truth


def lines(replicates: int) -> list[Line]:
    """Return lines by rule, measure, kind of rows, their number, and prevalence."""
    found: list[Line] = []
    for kind, sizes in (("rows", (200, 1000)), ("clusters", (40, 100)), ("weights", (200, 1000))):
        for size in sizes:
            for prevalence in PREVALENCES:
                found += _setting(kind, size, prevalence, replicates)
    for size in (200, 1000):
        for prevalence in PREVALENCES:
            found += _at_odds(size, prevalence, replicates)
    return found


def _at_odds(size: int, prevalence: float, replicates: int) -> Iterator[Line]:
    """Yield coverage and bias where thresholds are chosen at other class ratios."""
    rng = np.random.default_rng([32, size, round(100 * prevalence)])
    every = measure_functions("confusion", beta=1.0, stakes=OutcomeCosts(1, 5))
    held: dict[tuple[str, float], list[tuple[float | None, ...]]] = {}
    for seed in range(replicates):
        truth, score = _scored(rng, size, prevalence)
        if truth.all() or not truth.any():
            continue
        frame = pl.DataFrame({"truth": truth.astype(int), "m": score})
        found = tune_jpt(frame, prevalence=TARGETS, measure=TUNED, sweep=None, seed=seed)
        for row in found.tables["thresholds"]:
            name, honest, cut = str(row["measure"]), as_estimate(row["corrected"]), row["threshold"]
            z = np.inf if cut is None else _place(cut, prevalence)
            there = Confusion.from_rates(norm.sf(z - APART), norm.sf(z), row["ratio"])
            true = float(every[name](there))
            if row["population"] == "target" and honest.low is not None and not np.isnan(true):
                ends = honest.low, honest.high, honest.value, true
                held.setdefault((name, float(str(row["prevalence"]))), []).append(ends)
    for (name, at), each in held.items():
        low, high, value, true = np.array(each, np.float64).T
        setting = f"{size} rows, prevalence {prevalence:g}, at {at:g}"
        yield Line.of(name, setting, np.stack([low, high], axis=1), true, LEAST)
        off = abs(float((value - true).mean()))
        yield Line(f"{name}: corrected value off by", setting, len(each), off, most=BIAS)


def _setting(kind: str, size: int, prevalence: float, replicates: int) -> Iterator[Line]:
    rng = np.random.default_rng([31, len(kind), size, round(100 * prevalence)])
    held: dict[str, list[Held]] = {}
    for _ in range(replicates):
        counts = _drawn(rng, kind, size, prevalence)
        if not (counts.positives.any() and counts.negatives.any()):
            continue
        chosen = chosen_thresholds("m\0", counts, RULES, SURE)
        for rule, row in zip(RULES, cutoff_rows(None, "m", RULES, SURE, chosen), strict=True):
            if row["rule"] is not None:
                for name, ends in _of_rule(rule, row, counts, prevalence):
                    held.setdefault(name, []).append(ends)
        for row in abstention_rows(None, "m", counts, CUT, ZONES, SURE):
            value, name = as_estimate(row["accuracy"]), f"accuracy, {row['chosen_by']} unanswered"
            if value.low is not None and value.high is not None:
                true = _answered(row, prevalence)
                held.setdefault(name, []).append((value.low, value.high, true))
    for name, each in held.items():
        low, high, true = np.array(each).T
        least = None if name.endswith("flattering") else LEAST
        setting = f"{size} {kind}, prevalence {prevalence:g}"
        yield Line.of(name, setting, np.stack([low, high], axis=1), true, least)


def _drawn(rng: np.random.Generator, kind: str, size: int, prevalence: float) -> ScoreCounts:
    """Draw a table."""
    if kind == "clusters":
        return _counted(*_clustered(rng, size, prevalence), 1)[0]
    if kind == "weights":
        return _counted(*_weighed(rng, "class", prevalence, size), UNIT)[0]
    truth, score = _scored(rng, size, prevalence)
    return ScoreCounts.from_rows(score, truth, None)


def _scored(rng: np.random.Generator, size: int, prevalence: float) -> tuple[Arrays, Arrays]:
    """Draw the truth and the scores of rows."""
    truth = rng.random(size) < prevalence
    return truth, _probability(rng.standard_normal(size) + APART * truth, prevalence)


def _probability(z: Arrays, prevalence: float) -> Arrays:
    odds = log(prevalence / (1 - prevalence)) + APART * z - APART**2 / 2
    return 1 / (1 + np.exp(-0.2 - 1.25 * odds))


def _place(p: Arrays, prevalence: float) -> Arrays:
    """Return where a probability stands on the normal scale."""
    with np.errstate(divide="ignore"):
        odds = (np.log(p) - np.log1p(-np.asarray(p)) - 0.2) / 1.25
    return (odds - log(prevalence / (1 - prevalence)) + APART**2 / 2) / APART


def _of_rule(
    rule: ThresholdRule, row: Row, counts: ScoreCounts, prevalence: float
) -> Iterator[tuple[str, Held]]:
    """Yield the limits and the truths of the best value, of the limited one, and flattering."""
    cut = row["threshold"]
    z = np.inf if cut is None else -np.inf if cut == 0 else _place(cut, prevalence)
    tp, fp = prevalence * norm.sf(z - APART), (1 - prevalence) * norm.sf(z)
    table = Confusion(*map(np.array, (tp, fp, prevalence - tp, 1 - prevalence - fp)))

    def true(one: RequestedMeasure) -> float:
        with np.errstate(all="ignore"):
            return float(one.measure.function(table))

    here = confusions_at(counts, np.array([np.inf if cut is None else cut]))
    judged = [
        (rule.best, row["corrected"], ""),
        (rule.best, estimate_measures([rule.best], here, SURE)[0], ", flattering"),
    ]
    if rule.limited is not None:
        judged.append((rule.limited, row["limited"], ""))
    for one, cell, more in judged:
        found, value = as_estimate(cell), true(one)
        if found.low is not None and found.high is not None and not np.isnan(value):
            yield f"{one.name} by {rule.name}{more}", (found.low, found.high, value)


def _answered(row: Row, prevalence: float) -> float:
    """Return the accuracy, in the population, of the rows outside of a zone."""
    low, high = (
        np.inf if row[end] is None else _place(row[end], prevalence) for end in ("low", "high")
    )
    tp, fn = prevalence * norm.sf(high - APART), prevalence * norm.cdf(low - APART)
    fp, tn = (1 - prevalence) * norm.sf(high), (1 - prevalence) * norm.cdf(low)
    return float((tp + tn) / (tp + fn + fp + tn))
