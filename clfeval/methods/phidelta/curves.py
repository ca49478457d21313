"""ROC curves in the diamond: the area over the phi axis, the best point, the break-even point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.patterns import for_products
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.delong import delong_auc
from clfeval.measures.plane import position
from clfeval.methods.roc import RocPoints, roc_points
from clfeval.result import Estimate, Row

MOST_POINTS = 500  # of a curve listed unless all are asked for


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A model's ROC curve from (phi, delta) = (-1, 0), nothing positive, to (1, 0), everything.

    points: all m + 1 of them; phi and delta at each.
    """

    points: RocPoints
    phi: Floats
    delta: Floats
    counts: ScoreCounts

    @classmethod
    def of(cls, counts: ScoreCounts) -> Curve:
        """Walk from the highest score down; there must be both classes."""
        points = roc_points(counts)
        tp, fp = points.tp, points.fp
        return cls(points, *position(tp / tp[-1], fp / fp[-1]), counts)

    @property
    def best(self) -> int:
        """Where delta is largest; of equal ones the least biased, then the highest threshold."""
        tp, fp = for_products(self.points.tp, self.points.fp)
        p, n = tp[-1], fp[-1]
        gain = tp * n - fp * p  # whole numbers, so that equal means equal
        ties = np.flatnonzero(gain == gain.max())
        bias = np.abs(tp[ties] * n + fp[ties] * p - p * n)
        return int(ties[bias.argmin()])

    def break_even(self) -> tuple[float | None, float]:
        """Return where the curve meets phi = 0: threshold of the nearest point, and delta there.

        Of two points equally near, the one of larger delta.

        delta is read off the line between the two points around phi = 0.
        """
        tp, fp = for_products(self.points.tp, self.points.fp)
        p, n = tp[-1], fp[-1]
        distance = np.abs(tp * n + fp * p - p * n)
        ties = np.flatnonzero(distance == distance.min())
        nearest = int(ties[(tp[ties] * n - fp[ties] * p).argmax()])
        at = self.points.thresholds[nearest].item()
        return at if np.isfinite(at) else None, float(np.interp(0.0, self.phi, self.delta))

    def area(self) -> float:
        """Return the integral of delta over phi by trapezoids: the Gini coefficient."""
        return float(np.sum(np.diff(self.phi) * (self.delta[1:] + self.delta[:-1])) / 2)


def curve_row(label: str | None, model: str, curve: Curve, level: float | None) -> Row:
    """Return what one curve says: Gini, AUC, best point, break-even point.

    The largest delta is that of these rows, and no interval is given: chosen on the same rows, it
    flatters.
    """
    best = curve.best
    even, delta = curve.break_even()
    auc, gini = _areas(curve, level)
    return {
        "slice": label,
        "model": model,
        "gini": gini,
        "roc_auc": auc,
        "best_threshold": _finite(curve.points.thresholds[best].item()),
        "best_phi": curve.phi[best].item(),
        "best_delta": curve.delta[best].item(),
        "break_even_threshold": even,
        "break_even_delta": delta,
        "points": len(curve.points.thresholds),
    }


def undefined_row(label: str | None, model: str) -> Row:
    """Return the row of a model whose slice holds one class only."""
    nothing = Estimate(None, reason="single_class")
    names = ("best_threshold", "best_phi", "best_delta", "break_even_threshold", "break_even_delta")
    return {
        "slice": label, "model": model, "gini": nothing, "roc_auc": nothing,
        **dict.fromkeys(names), "points": 0,
    }  # fmt: skip


def point_rows(
    label: str | None, model: str, curve: Curve, points: int | Literal["all"] | None
) -> list[Row]:
    """Return the points of a curve, or so many evenly, both ends and the best among them."""
    m = len(curve.points.thresholds)
    limit = MOST_POINTS if points is None else points
    chosen = np.arange(m)
    if limit != "all" and m > limit:
        best = [curve.best] if limit > 2 else []
        even = np.linspace(0, m - 1, limit - len(best)).round().astype(np.int64)
        chosen = np.union1d(even, best).astype(np.int64)
    p, n = curve.points.tp[-1].item(), curve.points.fp[-1].item()
    return [
        {
            "slice": label,
            "model": model,
            "threshold": _finite(curve.points.thresholds[i].item()),
            "tp": curve.points.tp[i].item(),
            "fp": curve.points.fp[i].item(),
            "sensitivity": curve.points.tp[i].item() / p,
            "specificity": 1 - curve.points.fp[i].item() / n,
            "phi": curve.phi[i].item(),
            "delta": curve.delta[i].item(),
        }
        for i in chosen.tolist()
    ]


def _areas(curve: Curve, level: float | None) -> tuple[Estimate, Estimate]:
    counts = curve.counts
    if counts.positives.dtype.kind == "f":  # DeLong's variance counts rows
        gini = curve.area()
        return Estimate((1 + gini) / 2), Estimate(gini)
    found = delong_auc(counts.positives, counts.negatives, level=level or 0.95)
    auc, gini = found.value, 2 * found.value - 1
    if level is None or not np.isfinite(found.low):
        return Estimate(auc), Estimate(gini)
    low, high = found.low, found.high
    return Estimate(auc, low, high), Estimate(gini, 2 * low - 1, 2 * high - 1)


def _finite(threshold: float) -> float | None:
    """Return None for the infinite threshold, at which nothing is positive."""
    return threshold if np.isfinite(threshold) else None
