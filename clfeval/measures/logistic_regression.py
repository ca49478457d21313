"""Logistic regressions of truth on several functions of the score, over counts of scores.

P(positive) = 1 / (1 + exp(-b' s)), s the functions (q, m) at m scores; by maximum likelihood, for
several tables of positives and negatives (r, m) at the same scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.arrays import Counts, Floats

_MOST_STEPS = 60  # of Newton's method; few are needed unless scores separate the classes
_HALVINGS = 30
_SETTLED = 1e-13  # of the log likelihood of a row: the next step is near rounding
_JITTER = 1e-11  # of the curvature, which is singular where scores separate the classes
_LEAST_INFORMATION = 1e-9  # smallest eigenvalue of the curvature, of functions scaled to 1
_TINY = 1e-300
_AT_ONCE = 2**18  # numbers per block
_GROUPS = 2**13  # of more scores, of which a first fit is made

Likelihood = tuple[Floats, Floats, Floats]


def fit_logistic(
    basis: Floats, positives: Counts, negatives: Counts, *, start: Sequence[float] = (0.0, 1.0)
) -> Floats:
    """Return the coefficients of the regressions of tables (r, m) on a basis (q, m): (r, q).

    start: the first coefficients from which Newton's method starts, the others are 0; by default
    those of calibrated scores where the first function is 1 and the second the log odds. Where the
    scores separate the classes, coefficients are as large as its last steps made them; their fitted
    probabilities are near 0 and 1.
    """
    coefficients = _starting_coefficients(basis, positives, negatives, start)
    active = np.arange(len(positives))
    least_gain = _SETTLED * (positives + negatives).sum(axis=1)
    state = log_likelihood(basis, positives, negatives, coefficients)
    for _ in range(_MOST_STEPS):
        tables = positives[active], negatives[active]
        updated, following = _newton_step(
            basis, tables, coefficients[active], state, least_gain[active]
        )
        coefficients[active] = updated
        goes_on = following[0] - state[0] > least_gain[active]
        active = active[goes_on]
        if not len(active):
            break
        state = following[0][goes_on], following[1][goes_on], following[2][goes_on]
    return coefficients


def fit_finite_logistic(
    basis: Floats, positives: Counts, negatives: Counts, *, start: Sequence[float] = (0.0, 1.0)
) -> Floats:
    """Return the coefficients of `fit_logistic`, NaN where the likelihood has no finite maximum.

    That is with one class, with classes that the basis separates, so that all fitted probabilities
    are near 0 or 1, and with linearly dependent functions.
    """
    coefficients = fit_logistic(basis, positives, negatives, start=start)
    _, _, curvature = log_likelihood(basis, positives, negatives, coefficients)
    scale = (positives + negatives) @ (basis**2).T
    unit = np.sqrt(np.maximum(scale[:, :, None] * scale[:, None], _TINY))
    eigenvalues = np.linalg.eigvalsh(curvature / unit)
    has_classes = (positives.sum(axis=1) > 0) & (negatives.sum(axis=1) > 0)
    is_finite = has_classes & (eigenvalues[:, 0] > _LEAST_INFORMATION)
    return np.where(is_finite[:, None], coefficients, np.nan)


def inverse_logit(logit: Floats) -> Floats:
    """Return 1 / (1 + exp(-logit)), without overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-np.asarray(logit))))


def log_likelihood(
    basis: Floats, positives: Counts, negatives: Counts, coefficients: Floats
) -> Likelihood:
    """Return log likelihoods (r,), their gradients (r, q) and curvatures, (r, q, q) positive."""
    q, m = basis.shape
    r = len(coefficients)
    sums = np.zeros(r), np.zeros((r, q)), np.zeros((r, q, q))
    width = max(1, _AT_ONCE // max(r, 1))
    for start in range(0, m, width):
        part = slice(start, start + width)
        _add_log_likelihood(
            sums, basis[:, part], positives[:, part], negatives[:, part], coefficients
        )
    return sums


def _add_log_likelihood(
    sums: Likelihood, basis: Floats, positives: Counts, negatives: Counts, coefficients: Floats
) -> None:
    """Add the log likelihoods of a block of scores, with their derivatives, to sums in place."""
    likelihood, gradient, curvature = sums
    rows = positives + negatives
    odds = coefficients @ basis
    small = np.exp(-np.abs(odds))
    # ln mu is min(odds, 0) - ln(1 + small), ln(1 - mu) the same less the odds
    likelihood += (positives * odds - rows * np.maximum(odds, 0)).sum(axis=1)
    likelihood -= (rows * np.log1p(small)).sum(axis=1)
    hit = np.where(odds >= 0, 1.0, small) / (1 + small)
    miss = np.where(odds >= 0, small, 1.0) / (1 + small)  # 1 - hit, with all its digits
    gradient += (positives * miss - negatives * hit) @ basis.T
    q = len(basis)
    products = (basis[:, None] * basis[None]).reshape(q * q, -1)
    curvature += ((rows * small / (1 + small) ** 2) @ products.T).reshape(-1, q, q)


def _starting_coefficients(
    basis: Floats, positives: Counts, negatives: Counts, start: Sequence[float]
) -> Floats:
    """Return coefficients (r, q) near the maximum.

    Of several tables those of their sum, of many scores those of every n-th, else `start`.
    """
    tables = len(positives)
    if tables > 1:  # folds of the same rows, mostly
        total = [part.sum(axis=0, keepdims=True) for part in (positives, negatives)]
        return np.tile(fit_logistic(basis, *total, start=start), (tables, 1))
    step = basis.shape[1] // _GROUPS
    if step > 1:
        starts = np.arange(0, basis.shape[1], step)
        sums = [np.add.reduceat(part, starts, axis=1) for part in (positives, negatives)]
        return fit_logistic(basis[:, starts], *sums, start=start)
    coefficients = np.zeros((tables, len(basis)))
    coefficients[:, : len(start)] = start
    return coefficients


def _newton_step(
    basis: Floats,
    tables: tuple[Counts, Counts],
    coefficients: Floats,
    state: Likelihood,
    least_gain: Floats,
) -> tuple[Floats, Likelihood]:
    """Return coefficients after a step, and their likelihood; steps that lower it are halved."""
    step = _full_newton_step(*state[1:])
    updated = coefficients + step
    following = log_likelihood(basis, *tables, updated)
    for _ in range(_HALVINGS):
        lower = ~(following[0] >= state[0] - least_gain)
        if not lower.any():
            break
        step[lower] /= 2
        updated[lower] = coefficients[lower] + step[lower]
        halved = log_likelihood(basis, tables[0][lower], tables[1][lower], updated[lower])
        for part, repeated in zip(following, halved, strict=True):
            part[lower] = repeated
    return updated, following


def _full_newton_step(gradient: Floats, curvature: Floats) -> Floats:
    """Return the inverse curvatures (r, q, q) times the gradients (r, q), also where singular."""
    ridge = _JITTER * np.trace(curvature, axis1=1, axis2=2) + _TINY
    steady = curvature + ridge[:, None, None] * np.eye(gradient.shape[1])
    return np.asarray(np.linalg.solve(steady, gradient[..., None])[..., 0])
