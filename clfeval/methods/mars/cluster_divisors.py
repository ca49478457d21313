"""Divisors of the counts of shares of target rows in clusters, and sign tests."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from clfeval.arrays import Bools, Floats
from clfeval.counts.clusters_and_weights import RowWeights
from clfeval.counts.patterns import TargetCounts
from clfeval.inference.clusters import count_divisor, flip_test
from clfeval.inference.proportions import sign_test, weighted_sign_test
from clfeval.methods.design_effects import share_design
from clfeval.methods.mars.best_subsets import detection_masks

_SHARES_OF_BOTH_CLASSES = ("yield", "accuracy", "precision")  # shares of rows of both classes


def _named_divisors(
    counts: TargetCounts, parts: Mapping[str, tuple[Bools, Bools]], level: float
) -> dict[str, Floats]:
    """Return the divisors of numerator and denominator of named shares, of s subsets each.

    parts: which of the p + q patterns both are, (s, p + q); the denominator may be (1, p + q).
    """
    target, clusters = target_patterns(counts), counts.clusters
    assert clusters is not None
    heavy = 0.0
    if isinstance(clusters, RowWeights):  # as in `share_divisor`
        heavy = max(clusters.among(mine).weight for mine in (target, ~target) if mine.any())
    heaviest = {name: heavy if name in _SHARES_OF_BOTH_CLASSES else 0.0 for name in parts}
    return {
        name: count_divisor(*share_design(clusters, *pair, heavy=heaviest[name]), level=level)
        for name, pair in parts.items()
    }


def subset_divisors(
    counts: TargetCounts, members: Bools, rule: str, *, level: float | None
) -> dict[str, Floats]:
    """Return the divisors of yield, ShineThrough and Occlusion of subsets (s, k)."""
    if counts.clusters is None or level is None:
        return {}
    patterns, target = np.concatenate([counts.hits, counts.alarms]), target_patterns(counts)
    hit, alone, *missed = detection_masks(patterns, members)
    found = (patterns.any(axis=1) & target)[None]
    parts = {
        "yield": (hit & target, hit), "shine_through": (alone & target, found),
        "occlusion": (missed[rule != "all"] & target, found),
    }  # fmt: skip
    return _named_divisors(counts, parts, level)


def model_rate_divisors(
    counts: TargetCounts, target: str, *, level: float | None
) -> dict[str, Floats]:
    """Return the divisors of the accuracy, precision and recall of each model."""
    if counts.clusters is None or level is None:
        return {}
    says, positive = np.concatenate([counts.hits, counts.alarms]).T, target_patterns(counts)
    if target == "negative":
        says, positive = ~says, ~positive
    parts = {
        "accuracy": (says == positive, np.ones_like(positive)[None]),
        "precision": (says & positive, says), "recall": (says & positive, positive[None]),
    }  # fmt: skip
    return _named_divisors(counts, parts, level)


def target_patterns(counts: TargetCounts) -> Bools:
    """Return which of the p + q patterns are of the target class."""
    return np.arange(len(counts.hit_n) + len(counts.alarm_n)) < len(counts.hit_n)


def sign_test_p(counts: TargetCounts, first: Bools, second: Bools) -> float:
    """Return the p-value of the sign test of rows of the patterns `first` against `second`.

    first, second (p,): disjoint patterns of the target class. The exact sign test of rows; of
    clusters the sign-flip permutation test; of weighted rows with Kish's effective number.
    """
    sums = (counts.hit_n @ first).item(), (counts.hit_n @ second).item()
    if isinstance(counts.clusters, RowWeights):
        squares = counts.clusters.squares[: len(first)] @ (first | second)
        return weighted_sign_test(*sums, float(squares))
    if counts.clusters is None:
        return sign_test(*sums)
    more = np.zeros(len(counts.hit_n) + len(counts.alarm_n))
    more[: len(first)] = first.astype(np.float64) - second
    return flip_test(counts.clusters.totals(more[None])[0])
