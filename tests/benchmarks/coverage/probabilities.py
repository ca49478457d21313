"""Measures of scores and probabilities, whose scores crowd, of few rows, rare positives, near ends.

Log odds of the truth are normal in each class, `apart` from each other; the model's are 1.25 times
as far from 0 and .2 higher: its calibration slope is .8. Net benefit is that at the prevalence, or
where so stated at a threshold that few rows reach. Tables without limits are left out.

By clusters: ten rows each, whose classes are alike by an ICC of .3, and scores in a class by .5.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

from clfeval.counts.rows import ScoredRows
from clfeval.inference.delong import delong_auc
from clfeval.inference.influence import limits, smaller_class, uncertainty
from clfeval.inference.resampling import percentiles, resampled_counts
from clfeval.inference.sample_region import range_over_sample
from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import Measure
from tests.benchmarks.coverage import Line

LEVEL, LEAST, SLOWER, RESAMPLES, BLOCK = 0.95, 0.92, 10, 300, 128
SMOOTH = (
    "brier", "log_loss", "brier_skill", "log_loss_skill", "calibration_slope",
    "calibration_intercept", "calibration_in_the_large", "oe_ratio", "average_precision", "pr_auc",
)  # fmt: skip
BENEFITS = ("net_benefit@t", "net_benefit_standardised", "interventions_avoided")
SIZES, CLUSTERS, MEMBERS = (50, 200, 1000), (20, 50, 100), 10
# distance of the classes, prevalence, threshold
SETTINGS = ((1.3, 0.5, 0.5), (1.3, 0.05, 0.05), (3.0, 0.5, 0.5), (3.0, 0.05, 0.05))
FAR = ((1.3, 0.5, 0.95), (1.3, 0.05, 0.3))
Arrays = Any


def lines(replicates: int) -> list[Line]:
    """Return lines by measure, setting and number of rows; of the bootstrap a tenth of tables."""
    found: list[Line] = []
    for setting in SETTINGS:
        for rows in SIZES:
            found += _lines(rows, *setting, replicates)
    for setting in FAR:
        for rows in SIZES[1:]:
            tables = list(_tables(rows, *setting[:2], replicates))
            found += _benefits(rows, setting, tables)
    for setting in SETTINGS[:2]:
        for clusters in CLUSTERS:
            found += _clustered(clusters, setting, replicates)
    return found


def _lines(rows: int, apart: float, prevalence: float, t: float, replicates: int) -> Iterator[Line]:
    tables = list(_tables(rows, apart, prevalence, replicates))
    setting = (apart, prevalence, t)
    yield _areas(rows, setting, tables)
    yield from _benefits(rows, setting, tables)
    for name in SMOOTH:
        yield _smooth(CATALOG[name].given(t=t), rows, setting, tables)
    few = tables[: max(replicates // SLOWER, 100)]
    rng = np.random.default_rng([3, rows])
    draws = [next(resampled_counts(np.ones(rows, int), resamples=RESAMPLES, rng=rng)) for _ in few]
    for name in ("roc_auc", "brier", "calibration_slope", "average_precision"):
        ends = []
        for (p, pos, neg), drawn in zip(few, draws, strict=True):
            values = CATALOG[name].function(p, drawn * pos, drawn * neg)
            ends.append([float(end) for end in percentiles(values, level=LEVEL)[:2]])
        yield _held(f"{name}, percentiles of a bootstrap", rows, setting,
                    _true(CATALOG[name], *setting[:2]), np.array(ends), None)  # fmt: skip


def _clustered(clusters: int, setting: tuple[float, ...], replicates: int) -> Iterator[Line]:
    """Yield the coverage by clusters, and without them; both classes are as without clusters."""
    apart, prevalence, _ = setting
    rng, rows = np.random.default_rng([11, clusters, round(100 * prevalence)]), clusters * MEMBERS
    owner, names = np.repeat(np.arange(clusters), MEMBERS), ("roc_auc", *SMOOTH)
    ends: dict[tuple[str, bool], list[Any]] = {(n, by): [] for n in names for by in (True, False)}
    for _ in range(replicates):
        alike = rng.beta(prevalence / 0.3 * 0.7, (1 - prevalence) / 0.3 * 0.7, clusters)[owner]
        truth = rng.random(rows) < alike
        noise = (rng.standard_normal(clusters)[owner] + rng.standard_normal(rows)) / np.sqrt(2)
        p = _probabilities(noise + apart * truth, apart, prevalence)
        counts, _ = ScoredRows(
            models=(0,), scores=(p,), truth=truth, weights=None, slices={}, owners=owner
        ).ranked(0)
        table = counts.scores, counts.positives, counts.negatives
        for (name, by), found in ends.items():
            found.append(_ends(CATALOG[name], *table, counts.clusters if by else None))
    for (name, by), found in ends.items():
        told = f"{name}, clusters" if by else f"{name}, clusters ignored"
        true = _true(CATALOG[name], apart, prevalence)
        yield _held(told, rows, setting, true, np.array(found), LEAST if by else None)


def _tables(
    rows: int, apart: float, prevalence: float, replicates: int
) -> Iterator[tuple[Arrays, Arrays, Arrays]]:
    """Yield tables: ascending probabilities, and which row is of which class."""
    rng = np.random.default_rng([7, rows, round(100 * prevalence), round(10 * apart)])
    for _ in range(replicates):
        truth = rng.random(rows) < prevalence
        p = _probabilities(rng.standard_normal(rows) + apart * truth, apart, prevalence)
        order = np.argsort(p)
        yield p[order], truth[order] * 1, ~truth[order] * 1


def _probabilities(z: Arrays, apart: float, prevalence: float) -> Arrays:
    odds = np.log(prevalence / (1 - prevalence)) + apart * z - apart**2 / 2
    return 1 / (1 + np.exp(-0.2 - 1.25 * odds))


def _true(measure: Measure, apart: float, prevalence: float) -> float:
    """Return the measure of the population, on a grid of 200,001 scores."""
    z = np.linspace(-9, 9 + apart, 200_001)
    pos, neg = np.exp(-((z - apart) ** 2) / 2), np.exp(-(z**2) / 2)
    pos, neg = prevalence * pos / pos.sum(), (1 - prevalence) * neg / neg.sum()
    return float(measure.function(_probabilities(z, apart, prevalence), pos, neg))


def _smooth(measure: Measure, rows: int, setting: tuple[float, ...], tables: Arrays) -> Line:
    """Return the coverage of the interval by influence values."""
    ends = [_ends(measure, *table) for table in tables]
    return _held(measure.id, rows, setting, _true(measure, *setting[:2]), np.array(ends), LEAST)


def _ends(
    measure: Measure, p: Arrays, pos: Arrays, neg: Arrays, clusters: Arrays = None
) -> tuple[float, float]:
    """Return the limits by influence values; NaN where there are none."""
    assert measure.influence is not None
    value = float(measure.function(p, pos, neg))
    if not np.isfinite(value):
        return np.nan, np.nan
    f, n = measure.influence(p, pos, neg), np.concatenate([pos, neg])
    found = uncertainty(f, n, fewest=smaller_class(n, clusters), clusters=clusters)
    low, high = limits(
        value, found.errors[0], scale=measure.scale, low=measure.low, high=measure.high,
        level=LEVEL, df=found.df[0],
    )  # fmt: skip
    return float(low), float(high)


def _areas(rows: int, setting: tuple[float, ...], tables: Arrays) -> Line:
    found = [
        delong_auc(pos, neg, level=LEVEL) if min(pos.sum(), neg.sum()) else None
        for _, pos, neg in tables
    ]
    ends = [(one.low, one.high) if one else (np.nan, np.nan) for one in found]
    true = _true(CATALOG["roc_auc"], *setting[:2])
    return _held("roc_auc", rows, setting, true, np.array(ends), LEAST)


def _benefits(rows: int, setting: tuple[float, ...], tables: Arrays) -> Iterator[Line]:
    """Yield the coverage of net benefit and its kin, as of the 2 x 2 table at the threshold.

    The table is one of two scores: below the threshold, and at it.
    """
    t, cells = setting[2], []
    for p, pos, neg in tables:
        called = p >= t
        cells.append([pos[called].sum(), pos.sum(), neg[called].sum(), neg.sum()])
    counts = np.array([one for one in cells if min(one[1], one[3])], float)
    unlike, place = np.unique(counts, axis=0, return_inverse=True)
    for name in BENEFITS:
        measure = CATALOG[name].given(t=t)

        def of(tp: Arrays, fp: Arrays, p: Arrays, measure: Measure = measure) -> Arrays:
            tp, fp, p = np.broadcast_arrays(tp, fp, p)
            pos, neg = (np.stack([part * (1 - hit), part * hit], axis=-1)
                        for part, hit in ((p, tp), (1 - p, fp)))  # fmt: skip
            return measure.function(np.array([0.0, t]), pos, neg)

        blocks = [unlike[i : i + BLOCK].T for i in range(0, len(unlike), BLOCK)]
        found = [range_over_sample(of, *block, level=LEVEL) for block in blocks]
        ends = np.concatenate(found, axis=1).T[place.ravel()]
        true = _true(measure, *setting[:2])
        yield _held(f"{name}:t={t:g}", rows, setting, true, ends, LEAST)


def _held(
    interval: str, rows: int, setting: tuple[float, ...], true: float, ends: Arrays,
    least: float | None,
) -> Line:  # fmt: skip
    """Return how many of the intervals that there are hold the truth."""
    known = ~np.isnan(ends).any(axis=1)
    low, high = ends[known].T
    inside = (low <= true) & (true <= high)
    apart, prevalence, _ = setting
    name = f"{rows} rows, prevalence {prevalence:g}, {apart:g} apart, at {true:.3f}"
    wide = high - low
    width = float(np.median(wide[wide < inf]))
    if least is not None and not (wide > 0).all():
        raise AssertionError(f"an interval of width zero: {interval}, {name}")
    return Line(interval, name, int(known.sum()), float(inside.mean()), least, width=width)
