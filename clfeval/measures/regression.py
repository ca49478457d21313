"""Logistic regression of truth on columns of scores, for several tables of counts at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clfeval.arrays import Bools, Counts, Floats
from clfeval.records import dataclass

_MOST_STEPS = 100
_HALVINGS = 40  # of a step beyond the maximum
_ROUNDING = 1e-13  # of a likelihood, by which it may seem to fall
_SINGULAR = 1 / np.finfo(np.float64).eps  # condition of a curvature beyond which it has no inverse
_SETTLED = 1e-9  # the step after which the next, about its square, is near rounding
_FARTHEST = 1e6  # coefficients beyond are those of classes that some column separates
_AT_ONCE = 2**14  # scores at a time


def fit_logistic_regression(
    columns: Floats,
    positives: Counts,
    negatives: Counts,
    *,
    start: Floats,
    offset: Floats | None = None,
) -> Floats:
    """Return the maximum likelihood coefficients b of logit P(y = 1) = offset + sum_j b_j x_j.

    By Newton's method: sum n x_j (y - mu) = 0 for every column j.

    Shapes: columns (k, m), offset (m,), positives and negatives (tables, m), start (k,); returns
    (tables, k). NaN without a finite maximum: one class only, classes that the columns separate,
    columns that are linearly dependent.
    Source: McCullagh and Nelder 1989, Generalized Linear Models, section 4.4.
    """
    shift = np.zeros(columns.shape[1]) if offset is None else offset
    position = np.tile(start, (len(positives), 1))
    if len(positives) > 1:  # tables are parts of the same rows, mostly, and end near their sum
        sums = [part.sum(axis=0, keepdims=True) for part in (positives, negatives)]
        (of_sum,) = fit_logistic_regression(columns, *sums, start=start, offset=offset)
        position = np.tile(np.where(np.isfinite(of_sum), of_sum, start), (len(positives), 1))
    estimates = np.full_like(position, np.nan)
    active = np.flatnonzero((positives.sum(axis=1) > 0) & (negatives.sum(axis=1) > 0))
    value = _Likelihood(columns, shift, positives, negatives).value(position)
    for _ in range(_MOST_STEPS):
        if not len(active):
            break
        likelihood = _Likelihood(columns, shift, positives[active], negatives[active])
        step = likelihood.newton_step(position[active])
        position[active], value[active] = likelihood.climb(position[active], value[active], step)
        size = np.abs(step).max(axis=1)
        scale = 1 + np.abs(position[active]).max(axis=1)
        settled = size <= _SETTLED * scale
        estimates[active[settled]] = position[active[settled]]
        active = active[_goes_on(settled, size, scale)]
    return estimates


def _goes_on(settled: Bools, size: Floats, scale: Floats) -> Bools:
    """Return the tables whose coefficients are neither settled nor without a maximum."""
    return ~settled & np.isfinite(size) & (scale < _FARTHEST)


@dataclass(frozen=True, slots=True, eq=False)
class _Likelihood:
    """The log likelihood of tables (tables, m) as a function of coefficients (tables, k)."""

    columns: Floats
    offset: Floats
    positives: Counts
    negatives: Counts

    def newton_step(self, position: Floats) -> Floats:
        """Return Newton's step of each table, (tables, k); NaN where the curvature is singular."""
        tables, k = position.shape
        gradient = np.zeros((tables, k))
        curvature = np.zeros((tables, k, k))
        for part in self._parts():
            x = self.columns[:, part]
            rows = self.positives[:, part] + self.negatives[:, part]
            mean = inverse_logit(self.offset[part] + position @ x)
            gradient += (self.positives[:, part] - rows * mean) @ x.T
            products = (x[:, None] * x).reshape(k * k, -1)
            curvature += ((rows * mean * (1 - mean)) @ products.T).reshape(-1, k, k)
        steps = np.full((tables, k), np.nan)
        solvable: Bools = np.asarray(np.isfinite(curvature).all(axis=(1, 2)))
        solvable[solvable] = np.linalg.cond(curvature[solvable]) < _SINGULAR
        if solvable.any():
            solved = np.linalg.solve(curvature[solvable], gradient[solvable][..., None])
            steps[solvable] = solved[..., 0]
        return steps

    def climb(self, position: Floats, value: Floats, step: Floats) -> tuple[Floats, Floats]:
        """Return the positions after the steps, and the likelihood there.

        A step is halved until the likelihood does not fall. value: the likelihood before it.
        """
        length = np.ones(len(position))
        lowest = value - _ROUNDING * np.abs(value)
        for _ in range(_HALVINGS):
            candidate = position + length[:, None] * step
            reached = self.value(candidate)
            falls = reached < lowest
            if not falls.any():
                break
            length[falls] /= 2
        return candidate, reached

    def value(self, position: Floats) -> Floats:
        """Return the log likelihood of each table, (tables,)."""
        total = np.zeros(len(position))
        for part in self._parts():
            logit = self.offset[part] + position @ self.columns[:, part]
            positives = self.positives[:, part]
            with np.errstate(invalid="ignore"):  # NaN of a table without a maximum
                losses = (positives + self.negatives[:, part]) * np.logaddexp(0, logit)
                losses -= positives * logit
            total -= losses.sum(axis=1)
        return total

    def _parts(self) -> Iterator[slice]:
        """Yield the scores in parts that fit the cache."""
        for start in range(0, self.columns.shape[1], _AT_ONCE):
            yield slice(start, start + _AT_ONCE)


def inverse_logit(logit: Floats) -> Floats:
    """Return 1 / (1 + exp(-logit)), without overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-np.asarray(logit))))
