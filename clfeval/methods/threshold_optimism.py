"""Thresholds chosen by rules, and the optimism of evaluating them on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import e, isfinite

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, divide
from clfeval.counts.clusters_and_weights import ClusterCounts, RowWeights
from clfeval.counts.patterns import ConfusionCounts, safe_for_products
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Estimate
from clfeval.inference.influence_and_clusters import smaller_class_size
from clfeval.inference.resampling import random_stream
from clfeval.measures.confusion import Confusion, sensitivity, specificity
from clfeval.measures.record import CLASS_REASONS
from clfeval.methods.curves import RocPoints, candidate_points, hull_places, roc_points
from clfeval.methods.estimates import make_estimate
from clfeval.methods.measurement.label_measures import float_confusion
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.score_measures import confusions_at, resample_rows
from clfeval.records import dataclass, replace

DRAWS = 400  # bootstrap tables
GROUPS = 2**9  # groups of scores on bootstrap tables
SELDOM, INFINITE = "limit_seldom_met", "infinite_scores"
_TIE = 1e-12  # relative tolerance of ties


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdRule:
    """A measure to optimise within a limit."""

    name: str  # as in tables
    best: RequestedMeasure
    within: RequestedMeasure | None = None  # the measure of the limit
    at: float = 0.0  # the limit
    sign: int = 1  # 1 for a lower, -1 for an upper limit
    safe: bool = False  # a confidence limit must satisfy it

    def places(self, tp: Counts, fp: Counts) -> Ints:
        """Return the indices of optimal points, -1 for none; ties by tpr - fpr, then threshold.

        Shapes: tp and fp (..., h), from nothing positive to everything; result (...).
        """
        p, n = tp[..., -1:], fp[..., -1:]
        table = Confusion(*(one.astype(np.float64) for one in (tp, fp, p - tp, n - fp)))
        gains = self.best.measure.sign * measure_value(self.best, table)
        if self.within is not None:
            inside = self.sign * (measure_value(self.within, table) - self.at)
            gains = np.where(inside >= -_TIE, gains, np.nan)
        known = ~np.isnan(gains)
        most = np.where(known, gains, -np.inf).max(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            near = known & ((gains == most) | (gains >= most - _TIE * np.abs(most)))
        hits, false, p, n = safe_for_products(tp, fp, p, n)
        delta = hits * n - false * p  # whole numbers, so that equal means equal
        delta = np.where(near, delta, delta.min(axis=-1, keepdims=True) - 1)
        return np.where(known.any(axis=-1), delta.argmax(axis=-1), -1)


def measure_value(one: RequestedMeasure, table: Confusion) -> Floats:
    """Return a measure of tables."""
    with np.errstate(all="ignore"):
        return np.asarray(one.measure.function(table), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapChoices:
    """Thresholds of r rules on b draws, (r, b), or NaN; tables there of the draw, of all rows."""

    thresholds: Floats
    drawn: Confusion
    whole: Confusion

    def optimism(self, of: Callable[[Confusion], Floats]) -> Floats:
        """Return the bootstrap optimism of a measure at the chosen thresholds, (r,).

        mean over draws (measure of the draw - measure of all rows) / (1 - 1/e)
        """
        gaps = np.asarray(of(self.drawn) - of(self.whole))
        known = ~np.isnan(gaps)
        mean = np.where(known, gaps, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        return np.asarray(mean / (1 - 1 / e))  # the expected share of distinct rows in a draw


@dataclass(frozen=True, slots=True, eq=False)
class ChosenThresholds:
    """Thresholds that r rules choose among the points of a ROC curve."""

    points: RocPoints
    at: Ints  # the points, (r,), -1 for none
    here: ConfusionCounts  # on these rows
    expected: ConfusionCounts  # on new data
    choices: BootstrapChoices | None  # of bootstrap tables
    unknown: Sequence[str | None]  # why `expected` is unknown, (r,)

    @classmethod
    def from_scores(
        cls,
        counts: ScoreCounts,
        rules: Sequence[ThresholdRule],
        seed: int,
        who: str,
        *,
        hull: bool = False,
    ) -> ChosenThresholds:
        """Choose thresholds and estimate their optimism, with the random stream `who`.

        hull: search `candidate_points` only. Expected: less positive optimism of both rates.
        """
        points = candidate_points(counts) if hull else roc_points(counts)
        at = _best_places(rules, points.tp[None], points.fp[None], hull=hull)[:, 0]
        here = confusions_at(counts, points.thresholds[at])
        if reason := _explain_unknown(counts):
            return cls(points, at, here, here, None, [reason] * len(at))
        found = _bootstrap_choices(counts, rules, random_stream(seed, f"cut\0{who}"), hull=hull)
        p, n = here.positives, here.negatives
        both = np.array(
            [here.tp - found.optimism(sensitivity) * p, here.fp + found.optimism(specificity) * n]
        )
        _correct_limits(rules, here, found, both)
        tp, fp = np.clip(both, 0, [p, n])
        same = (here.tp + here.fp == 0) | (here.fn + here.tn == 0)
        for i, rule in enumerate(rules):
            one = Confusion(tp[i], fp[i], p[i] - tp[i], n[i] - fp[i])
            before, after = (
                float(measure_value(rule.best, table).ravel()[0])
                for table in (float_confusion(here.take([i])), one)
            )
            same[i] |= rule.within is None and rule.best.measure.sign * (after - before) > 0
        tp, fp = np.where(same, here.tp, tp), np.where(same, here.fp, fp)
        expected = replace(here, tp=tp, fp=fp, fn=p - tp, tn=n - fp)
        if here.sums is not None:
            alone = isinstance(counts.clusters, RowWeights)
            sums = [
                thinned_products(here.take([i]), expected.take([i]), rows=alone)
                for i in range(len(at))
            ]
            expected = replace(expected, sums=np.array(sums))
        seldom = np.isnan(found.thresholds).mean(axis=1) > 0.5
        return cls(points, at, here, expected, found, [SELDOM if one else None for one in seldom])

    def used(self, i: int) -> tuple[float | None, ConfusionCounts, ConfusionCounts]:
        """Return the threshold of a rule, None above every score, and the tables there."""
        cut = self.points.thresholds[self.at[i]].item()
        return cut if isfinite(cut) else None, self.expected.take([i]), self.here.take([i])


def _best_places(rules: Sequence[ThresholdRule], tp: Counts, fp: Counts, *, hull: bool) -> Ints:
    """Return the indices of the best points of b curves, (b, h), by r rules: (r, b)."""
    if not hull:
        return np.stack([rule.places(tp, fp) for rule in rules])
    few = hull_places(tp, fp)
    tp, fp = (np.take_along_axis(one, few, axis=1) for one in (tp, fp))
    found = np.stack([rule.places(tp, fp) for rule in rules])
    return np.where(found < 0, -1, few[np.arange(len(few)), found])


def _bootstrap_choices(
    counts: ScoreCounts, rules: Sequence[ThresholdRule], rng: np.random.Generator, *, hull: bool
) -> BootstrapChoices:
    """Return the thresholds of rules on bootstrap tables, of scores in at most 512 groups.

    Source: Efron 1983, Journal of the American Statistical Association 78:316; Noma et al. 2021,
    Statistics in Medicine 40:5691.
    """
    few = counts.coarser(GROUPS)
    (tp,), (fp,) = (_from_above(part[None]) for part in (few.positives, few.negatives))
    cuts = np.concatenate([[np.inf], few.scores[::-1]])
    parts: list[tuple[Floats, ...]] = []
    n = np.concatenate([few.positives, few.negatives])
    for block in resample_rows(n, few.clusters, DRAWS, rng):
        both = block.reshape(len(block), 2, -1)
        both = both[(both.sum(axis=2) > 0).all(axis=1)]
        hits, false = _from_above(both[:, 0]), _from_above(both[:, 1])
        place, each = _best_places(rules, hits, false, hull=hull), np.arange(len(both))
        p, n, _ = np.broadcast_arrays(hits[:, -1], false[:, -1], place)
        columns = (cuts[place], hits[each, place], false[each, place], p, n, tp[place], fp[place])
        parts.append(tuple(np.where(place < 0, np.nan, one) for one in columns))
    at, hit, false, p, n, a, b = (np.concatenate(one, axis=1) for one in zip(*parts, strict=True))
    whole = Confusion(a, b, tp[-1] - a, fp[-1] - b)
    return BootstrapChoices(at, Confusion(hit, false, p - hit, n - false), whole)


def _correct_limits(
    rules: Sequence[ThresholdRule], here: ConfusionCounts, found: BootstrapChoices, counts: Floats
) -> None:
    """Correct TP and FP, (2, r), for optimism of predictive values; the maximised rate stays."""
    tp, fp = counts
    for i, rule in enumerate(rules):
        limit = rule.within
        if limit is None or limit.name not in ("precision", "npv", "fdr", "for"):
            continue
        wrong = float(measure_value(limit, float_confusion(here.take([i])))[0])
        wrong -= float(found.optimism(limit.measure.function)[i])
        wrong = min(max(1 - wrong if limit.measure.sign > 0 else wrong, 0.0), 1.0)
        if rule.best.name == "specificity" and here.negatives[i] > fp[i]:
            tp[i] = here.positives[i] - divide((here.negatives[i] - fp[i]) * wrong, 1 - wrong)
        elif rule.best.name == "sensitivity" and tp[i] > 0:
            fp[i] = divide(tp[i] * wrong, 1 - wrong)


def thinned_products(here: ConfusionCounts, less: ConfusionCounts, *, rows: bool) -> Floats:
    """Return the sums of products, (4, 4), of tables with fewer or more TP or FP than here.

    A row stays with probability a: a² of the squares, a (1 - a) of rows. rows: independent.
    """
    assert here.sums is not None
    sums, moved, alone = here.sums[0], np.eye(4), np.zeros(4)
    for i, hit, other in ((0, "tp", "fn"), (1, "fp", "tn")):
        before, after = (float(getattr(one, hit)[0]) for one in (here, less))
        which, left = np.eye(4)[i], hit
        if after > before:  # fewer of the others
            which, left = np.eye(4)[2 + i] - which, other
        old, new = (float(getattr(one, left)[0]) for one in (here, less))
        stays = new / old if new != old else 1.0
        moved[i] = np.eye(4)[2 + i] - stays * which if left == other else stays * which
        alone[i] = stays * (1 - stays) * (float(which @ sums @ which) if rows else old * here.unit)
    return np.asarray(moved @ sums @ moved.T + np.diag(alone))


def _explain_unknown(counts: ScoreCounts) -> str | None:
    """Return the reason why optimism cannot be estimated; None if it can."""
    n = np.concatenate([counts.positives, counts.negatives])
    if not np.isfinite(counts.scores).all():
        return INFINITE
    for reason, part in zip(CLASS_REASONS, (counts.positives, counts.negatives), strict=True):
        if not part.sum():
            return reason
    if smaller_class_size(n, counts.clusters) >= 2:
        return None
    return "too_few_clusters" if isinstance(counts.clusters, ClusterCounts) else "too_few_rows"


def extend_limits(one: Estimate, value: float) -> Estimate:
    """Return an estimate whose limits, if any, are extended to include a value."""
    if one.value is None or one.low is None or one.high is None or value != value:
        return one
    return make_estimate(one.value, min(one.low, value), max(one.high, value))


def _from_above(each: Counts) -> Counts:
    """Return the counts at or above each threshold, (b, m + 1), of ascending scores (b, m)."""
    found = np.zeros((len(each), each.shape[1] + 1), each.dtype)
    np.cumsum(each[:, ::-1], axis=1, out=found[:, 1:])
    return found
