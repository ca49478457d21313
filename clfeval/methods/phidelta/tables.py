"""The tables of classifiers in the phi-delta plane, and what a position in it is called.

    delta >= 0.8               near oracle
    0.1 < delta < 0.8          informative
    -0.1 <= delta <= 0.1       no better than chance
    delta < -0.1               better inverted

An informative model also leans towards positive (phi > 0.1) or negative (phi < -0.1), or is
balanced. A reading is withheld when the interval of delta covers one of its boundaries, the lean
when that of phi does.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.patterns import PatternCounts
from clfeval.inference.shares import paired_combination
from clfeval.measures import binary
from clfeval.measures.population import Population
from clfeval.methods.estimates import Column, Plane, rate, rows_of
from clfeval.result import Estimate, Row

ORACLE, CHANCE, LEAN = 0.8, 0.1, 0.1
BOUNDARIES = (-CHANCE, CHANCE, ORACLE)
WORDS = ("better inverted", "no better than chance", "informative", "near oracle")


def read_position(phi: Estimate, delta: Estimate) -> tuple[str | None, str | None]:
    """Return the reading, or None and why it is withheld."""
    if delta.value is None:
        return None, f"δ is undefined ({delta.reason})"
    if delta.low is None or delta.high is None:
        return None, "there is no interval of δ"
    covered = [f"{edge:g}" for edge in BOUNDARIES if delta.low <= edge <= delta.high]
    if covered:
        return None, f"the interval of δ covers {' and '.join(covered)}"
    words = WORDS[bisect_right(BOUNDARIES, delta.value)]
    if phi.value in (-1, 1):
        side = "positive" if phi.value > 0 else "negative"
        return f"{words}: always says {side}", None
    if words != "informative" or phi.low is None or phi.high is None:
        return words, None
    if any(phi.low <= edge <= phi.high for edge in (-LEAN, LEAN)):
        return words, None
    lean = "balanced"
    if abs(phi.value or 0.0) > LEAN:
        lean = f"leans towards {'positive' if phi.low > 0 else 'negative'}"
    return f"{words}, {lean}", None


def model_rows(
    label: str | None, plane: Plane, thresholds: Mapping[str, float | None]
) -> list[Row]:
    """Return one row per model: counts, position, reading, measures with and without class ratio.

    The measures ending in _u have the class ratio removed; phi_b, delta_b and the raw measures hold
    at the sample's own. `region_*`: both intervals together cover the point at the level.
    """
    phi, delta = plane.phi(), plane.delta()
    read = [read_position(*pair) for pair in zip(phi, delta, strict=True)]
    columns: dict[str, list[Any]] = {
        "slice": [label] * len(plane.counts.models),
        "model": list(plane.counts.models),
        **rates(plane, thresholds),
        "phi": phi,
        "delta": delta,
        "reading": [words for words, _ in read],
        "reading_withheld": [why for _, why in read],
        **unbiased(plane),
        **biased(plane),
        **joint_region(plane),
    }
    return rows_of(columns)


def rates(plane: Plane, thresholds: Mapping[str, float | None]) -> dict[str, list[Any]]:
    """Return what every position comes from: threshold, counts, sensitivity, specificity."""
    counts = plane.counts
    return {
        "threshold": [thresholds.get(model) for model in counts.models],
        "tp": counts.tp.tolist(),
        "fp": counts.fp.tolist(),
        "fn": counts.fn.tolist(),
        "tn": counts.tn.tolist(),
        "sensitivity": plane.share(counts.tp, counts.positives, "no_positive_truth"),
        "specificity": plane.share(counts.tn, counts.negatives, "no_negative_truth"),
    }


def unbiased(plane: Plane) -> dict[str, Column]:
    """Return the measures with the class ratio removed: those of the table with equal classes."""
    tp, fp, p, n = plane.whole()
    wrong = (p - tp) * n + fp * p
    return {
        "accuracy_u": plane.accuracy_u(),
        "error_u": plane.linear(1, -1, -1, factor=-0.5, value=rate(wrong, 2 * p * n)),
        "precision_u": plane.ranged(binary.precision, 0.5, "no_positive_prediction"),
        "npv_u": plane.ranged(binary.npv, 0.5, "no_negative_prediction"),
        "f1_u": plane.ranged(binary.f1, 0.5, "zero_margin"),
        "mcc_u": plane.ranged(binary.mcc, 0.5, "zero_margin"),
        "mutual_information_u": plane.information(0.5),
    }


def biased(plane: Plane) -> dict[str, Column]:
    """Return the measures at the class ratio of the rows, and the prior-aware pair there."""
    counts, p = plane.counts, plane.prevalence
    everything = counts.positives + counts.negatives
    right, wrong = counts.tp + counts.tn, counts.fp + counts.fn
    said, denied = counts.tp + counts.fp, counts.tn + counts.fn
    return {
        "accuracy": plane.share(right, everything, "too_few_rows"),
        "error_rate": plane.share(wrong, everything, "too_few_rows"),
        "precision": plane.share(counts.tp, said, "no_positive_prediction"),
        "npv": plane.share(counts.tn, denied, "no_negative_prediction"),
        "f1": _f1(plane),
        "mcc": plane.ranged(binary.mcc, p, "zero_margin", single="zero_margin"),
        "mutual_information": plane.information(p),
        **prior_pair(
            plane, p, phi=rate(2 * (counts.fp - counts.fn), everything),
            delta=rate(right - wrong, everything),
        ),
    }  # fmt: skip


def _f1(plane: Plane) -> Column:
    """Return F1, which needs no row of each class; its interval does."""
    counts = plane.counts
    column = plane.ranged(binary.f1, plane.prevalence, "zero_margin", single="zero_margin")
    whole = 2 * counts.tp + counts.fp + counts.fn
    return [
        Estimate((2 * hits) / all_) if estimate.value is None and all_ else estimate
        for estimate, hits, all_ in zip(column, counts.tp.tolist(), whole.tolist(), strict=True)
    ]


def prior_pair(
    plane: Plane, p: Any, *, phi: Floats | None = None, delta: Floats | None = None
) -> dict[str, Column]:
    """Return phi and delta at a prevalence; given values hold where both classes have rows."""
    n = 1 - p
    both = (plane.counts.positives > 0) & (plane.counts.negatives > 0)
    given = [None if v is None else np.where(both, v, np.nan) for v in (phi, delta)]
    return {
        "phi_b": plane.linear(2 * p, 2 * n, -2 * p, value=given[0]),
        "delta_b": plane.linear(2 * p, -2 * n, n - p, value=given[1]),
    }


def joint_region(plane: Plane) -> dict[str, Column]:
    """Return the joint region of sensitivity and specificity: a rectangle of exact intervals.

    The two are independent, so intervals at the square root of the level cover both at the level.
    """
    counts = plane.counts
    each = None if plane.level is None else math.sqrt(plane.level)
    return {
        "region_sensitivity": plane.share(
            counts.tp, counts.positives, "no_positive_truth", level=each
        ),
        "region_specificity": plane.share(
            counts.tn, counts.negatives, "no_negative_truth", level=each
        ),
    }


def population_rows(
    label: str | None, plane: Plane, populations: Sequence[Population]
) -> list[Row]:
    """Return, per model and population, the prior-aware pair and the measures it would have."""
    rows: list[Row] = []
    for population in populations:
        p = population.prevalence
        pair = prior_pair(plane, p)
        columns: dict[str, list[Any]] = {
            "slice": [label] * len(plane.counts.models),
            "model": list(plane.counts.models),
            "prevalence": [p] * len(plane.counts.models),
            "odds": [population.odds] * len(plane.counts.models),
            **pair,
            "accuracy": plane.linear(p, p - 1, 1 - p),
            "precision": plane.ranged(binary.precision, p, "no_positive_prediction"),
            "npv": plane.ranged(binary.npv, p, "no_negative_prediction"),
            "mutual_information": plane.information(p),
        }
        rows += rows_of(columns)
    return rows


def comparison_rows(
    label: str | None, patterns: PatternCounts, reference: str, level: float | None
) -> list[Row]:
    """Return how far the phi and delta of each other model lie from the reference's, row by row.

    A positive difference means the model has more than the reference. Intervals are paired:
    Newcombe's method 10 in each class, the two classes put together by squares.
    """
    place = patterns.models.index(reference)
    rows: list[Row] = []
    for i, model in enumerate(patterns.models):
        if i == place:
            continue
        tables = [
            tuple(
                patterns.n[(patterns.truth == truth) & (mine == a) & (theirs == b)].sum().item()
                for a, b in ((True, True), (True, False), (False, True), (False, False))
            )
            for mine, theirs in [(patterns.votes[:, i], patterns.votes[:, place])]
            for truth in (True, False)
        ]
        positives, negatives = tables
        rows.append(
            {
                "slice": label,
                "model": model,
                "reference": reference,
                "phi_difference": _paired(1, positives, negatives, level),
                "delta_difference": _paired(-1, positives, negatives, level),
                "differing_positives": positives[1] + positives[2],
                "differing_negatives": negatives[1] + negatives[2],
            }
        )
    return rows


def _paired(
    sign: int, positives: tuple[Any, ...], negatives: tuple[Any, ...], level: float | None
) -> Estimate:
    for table, reason in ((positives, "no_positive_truth"), (negatives, "no_negative_truth")):
        if not sum(table):
            return Estimate(None, reason=reason)
    if level is None:
        parts = [(t[1] - t[2]) / sum(t) for t in (positives, negatives)]
        return Estimate(parts[0] + sign * parts[1])
    one = (positives[0], positives[1], positives[2], positives[3])
    two = (negatives[0], negatives[1], negatives[2], negatives[3])
    value, low, high = paired_combination(sign, one, two, level=level)
    return Estimate(float(value), float(low), float(high))
