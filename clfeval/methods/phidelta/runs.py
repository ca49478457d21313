"""Several runs of the same models: where they lie, how they scatter, which model is ahead.

Armano reads the scatter of a model's runs: their mean phi is its bias (towards which class it
errs), their spread its variance. Runs on overlapping training sets are not independent, so means
have intervals, and models a test, only with the share of rows that was trained on (Nadeau-Bengio).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations

import numpy as np

from clfeval.arrays import Floats
from clfeval.inference.resampling import corrected_t
from clfeval.measures.plane import position
from clfeval.methods.estimates import rows_of
from clfeval.methods.phidelta.tables import Plane, rates
from clfeval.result import Estimate, Row

BIAS = 0.05  # a mean |phi| up to here is low bias
SPREAD = 0.05  # a distance of runs from their mean point up to here is low variance


def run_rows(run: str, plane: Plane, thresholds: Mapping[str, float | None]) -> list[Row]:
    """Return one row per model of a run: counts, position, unbiased accuracy."""
    phi, delta = plane.position()
    return rows_of(
        {
            "model": plane.counts.models,
            "run": [run] * len(plane.counts.models),
            **rates(plane, thresholds),
            "phi": phi,
            "delta": delta,
            "accuracy_u": plane.accuracy_u(),
        }
    )


def points_of(planes: Mapping[str, Plane]) -> dict[str, dict[str, tuple[float, float]]]:
    """Return each model's (phi, delta) by run; runs that lack a class are left out."""
    points: dict[str, dict[str, tuple[float, float]]] = {}
    for run, plane in planes.items():
        phi, delta = position(*plane.cells().rates)
        for model, x, y in zip(plane.counts.models, phi.tolist(), delta.tolist(), strict=True):
            mine = points.setdefault(model, {})
            if x == x and y == y:
                mine[run] = (x, y)
    return points


def spread_rows(
    points: Mapping[str, Mapping[str, tuple[float, float]]],
    train_fraction: float | None,
    level: float | None,
) -> list[Row]:
    """Return, per model, mean, SD and covariance of its runs, and Armano's reading of them.

    SD and covariance divide by runs - 1. The spread that tells the variance is the root of the
    summed variances of phi and delta: how far a run lies from the mean point.
    """
    rows: list[Row] = []
    for model, by_run in points.items():
        xy = np.array(list(by_run.values()), np.float64).reshape(-1, 2)
        phi, delta = xy[:, 0], xy[:, 1]
        several = len(xy) > 1
        sd: list[float] = xy.std(axis=0, ddof=1).tolist() if several else []
        row: dict[str, object] = {
            "model": model,
            "runs": len(xy),
            "phi_mean": _mean(phi, train_fraction, level),
            "phi_sd": sd[0] if several else None,
            "delta_mean": _mean(delta, train_fraction, level),
            "delta_sd": sd[1] if several else None,
            "covariance": float(np.cov(phi, delta, ddof=1)[0, 1]) if several else None,
            "accuracy_u_mean": _mean((1 + delta) / 2, train_fraction, level, 0.0),
            "accuracy_u_sd": sd[1] / 2 if several else None,
            "bias": None,
            "variance": None,
        }
        if several:
            row["bias"] = _bias(float(phi.mean()))
            row["variance"] = "low" if math.hypot(*sd) <= SPREAD else "high"
        rows.append(row)  # type: ignore[arg-type]
    return rows


def comparison_rows(
    points: Mapping[str, Mapping[str, tuple[float, float]]],
    reference: str | None,
    train_fraction: float | None,
    level: float | None,
) -> list[Row]:
    """Compare models over their common runs: all against the reference, or all pairs.

    t and p belong to the difference of delta: the corrected resampled t-test. There is none when
    the difference is the same in all runs, and not 0.
    """
    pairs = (
        [(model, reference) for model in points if model != reference]
        if reference is not None
        else [(b, a) for a, b in combinations(points, 2)]
    )
    rows: list[Row] = []
    for model, other in pairs:
        common = [run for run in points[model] if run in points[other]]
        xy = np.array([np.subtract(points[model][run], points[other][run]) for run in common])
        xy = xy.reshape(-1, 2)
        test = None
        moves = bool(len(common) > 1 and (np.ptp(xy[:, 1]) > 0 or not xy[:, 1].any()))
        if train_fraction is not None and moves:
            test = corrected_t(xy[:, 1], train_fraction, level=level or 0.95)
        rows.append(
            {
                "model": model,
                "reference": other,
                "runs": len(common),
                "delta_difference": _mean(xy[:, 1], train_fraction, level, -2.0, 2.0),
                "phi_difference": _mean(xy[:, 0], train_fraction, level, -2.0, 2.0),
                "t": test.t if test else None,
                "df": test.df if test else None,
                "p_value": test.p_value if test else None,
            }
        )
    return rows


def _mean(
    values: Floats,
    train_fraction: float | None,
    level: float | None,
    low: float = -1.0,
    high: float = 1.0,
) -> Estimate:
    """Return the mean with its corrected interval, cut to the range of the measure.

    Runs that are all alike tell nothing of how others would differ: no interval.
    """
    if not len(values):
        return Estimate(None, reason="too_few_rows")
    mean = float(values.mean())
    if train_fraction is None or level is None or len(values) < 2 or np.ptp(values) == 0:
        return Estimate(mean)
    found = corrected_t(values, train_fraction, level=level)
    return Estimate(mean, min(max(found.low, low), mean), max(min(found.high, high), mean))


def _bias(phi: float) -> str:
    if abs(phi) <= BIAS:
        return "low"
    return f"towards {'positive' if phi > 0 else 'negative'}"
