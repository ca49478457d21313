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
    active_tables = np.arange(len(positives))
    least_gain = _SETTLED * (positives + negatives).sum(axis=1)
    state = log_likelihood(basis, positives, negatives, coefficients)
    for _ in range(_MOST_STEPS):
        table_counts = positives[active_tables], negatives[active_tables]
        next_coefficients, next_state = _newton_step(
            basis, table_counts, coefficients[active_tables], state, least_gain[active_tables]
        )
        coefficients[active_tables] = next_coefficients
        gains = next_state[0] - state[0]
        continues = gains > least_gain[active_tables]
        active_tables = active_tables[continues]
        if not len(active_tables):
            break
        likelihood, gradient, curvature = next_state
        state = likelihood[continues], gradient[continues], curvature[continues]
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
    squared_scales = (positives + negatives) @ (basis**2).T
    scale_products = np.sqrt(
        np.maximum(squared_scales[:, :, None] * squared_scales[:, None], _TINY)
    )
    eigenvalues = np.linalg.eigvalsh(curvature / scale_products)
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
    block_size = max(1, _AT_ONCE // max(r, 1))
    for start in range(0, m, block_size):
        block = slice(start, start + block_size)
        _add_log_likelihood(
            sums, basis[:, block], positives[:, block], negatives[:, block], coefficients
        )
    return sums


def _add_log_likelihood(
    sums: Likelihood, basis: Floats, positives: Counts, negatives: Counts, coefficients: Floats
) -> None:
    """Add the log likelihoods of a block of scores, with their derivatives, to sums in place."""
    likelihood, gradient, curvature = sums
    rows = positives + negatives
    log_odds = coefficients @ basis
    odds_of_rarer = np.exp(-np.abs(log_odds))
    # ln mu is min(log_odds, 0) - ln(1 + odds_of_rarer), ln(1 - mu) the same less log_odds
    likelihood += (positives * log_odds - rows * np.maximum(log_odds, 0)).sum(axis=1)
    likelihood -= (rows * np.log1p(odds_of_rarer)).sum(axis=1)
    mu = np.where(log_odds >= 0, 1.0, odds_of_rarer) / (1 + odds_of_rarer)
    # 1 - mu, with all its digits
    complement = np.where(log_odds >= 0, odds_of_rarer, 1.0) / (1 + odds_of_rarer)
    gradient += (positives * complement - negatives * mu) @ basis.T
    q = len(basis)
    products = (basis[:, None] * basis[None]).reshape(q * q, -1)
    curvature += ((rows * odds_of_rarer / (1 + odds_of_rarer) ** 2) @ products.T).reshape(-1, q, q)


def _starting_coefficients(
    basis: Floats, positives: Counts, negatives: Counts, start: Sequence[float]
) -> Floats:
    """Return coefficients (r, q) near the maximum.

    Of several tables those of their sum, of many scores those of every n-th, else `start`.
    """
    table_count = len(positives)
    if table_count > 1:  # folds of the same rows, mostly
        summed_counts = [
            class_counts.sum(axis=0, keepdims=True) for class_counts in (positives, negatives)
        ]
        return np.tile(fit_logistic(basis, *summed_counts, start=start), (table_count, 1))
    group_size = basis.shape[1] // _GROUPS
    if group_size > 1:
        group_starts = np.arange(0, basis.shape[1], group_size)
        group_counts = [
            np.add.reduceat(class_counts, group_starts, axis=1)
            for class_counts in (positives, negatives)
        ]
        return fit_logistic(basis[:, group_starts], *group_counts, start=start)
    coefficients = np.zeros((table_count, len(basis)))
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
    likelihood, gradient, curvature = state
    step = _full_newton_step(gradient, curvature)
    next_coefficients = coefficients + step
    positives, negatives = tables
    next_state = log_likelihood(basis, positives, negatives, next_coefficients)
    for _ in range(_HALVINGS):
        is_lower = ~(next_state[0] >= likelihood - least_gain)
        if not is_lower.any():
            break
        step[is_lower] /= 2
        next_coefficients[is_lower] = coefficients[is_lower] + step[is_lower]
        halved_state = log_likelihood(
            basis, positives[is_lower], negatives[is_lower], next_coefficients[is_lower]
        )
        for values, halved_values in zip(next_state, halved_state, strict=True):
            values[is_lower] = halved_values
    return next_coefficients, next_state


def _full_newton_step(gradient: Floats, curvature: Floats) -> Floats:
    """Return the inverse curvatures (r, q, q) times the gradients (r, q), also where singular."""
    ridge = _JITTER * np.trace(curvature, axis1=1, axis2=2) + _TINY
    ridged_curvature = curvature + ridge[:, None, None] * np.eye(gradient.shape[1])
    return np.asarray(np.linalg.solve(ridged_curvature, gradient[..., None])[..., 0])
