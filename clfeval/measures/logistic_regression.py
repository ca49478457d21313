"""Logistic regressions of truth on several functions of the score, over counts of scores.

P(positive) = 1 / (1 + exp(-b' s)), s the functions (q, m) at m scores; by maximum likelihood, for
several tables of positives and negatives (r, m) at the same scores. The functions are the same for
all tables, or each table has its own, (r, q, m).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.arrays import Bools, Counts, Floats
from clfeval.records import dataclass

_MOST_STEPS = 60  # of Newton's method; few are needed unless scores separate the classes
_HALVINGS = 30
_SETTLED = 1e-13  # of the log likelihood of a row: the next step is near rounding
_JITTER = 1e-11  # of the curvature, which is singular where scores separate the classes
_LEAST_INFORMATION = 1e-9  # smallest eigenvalue of the curvature, of functions scaled to 1
_TINY = 1e-300
_AT_ONCE = 2**18  # numbers per block
_GROUPS = 2**13  # of more scores, of which a first fit is made
_OF_EACH = 3  # dimensions of a basis where each table has its own

Likelihood = tuple[Floats, Floats, Floats]


def fit_logistic(
    basis: Floats, positives: Counts, negatives: Counts, *, start: Sequence[float] = (0.0, 1.0)
) -> Floats:
    """Return the coefficients of the regressions of tables (r, m) on a basis: (r, q).

    basis: the functions of all tables, (q, m), or of each, (r, q, m).
    start: the first coefficients from which Newton's method starts, the others are 0; by default
    those of calibrated scores where the first function is 1 and the second the log odds. Where the
    scores separate the classes, coefficients are as large as its last steps made them; their fitted
    probabilities are near 0 and 1.
    """
    coefficients = _starting_coefficients(basis, positives, negatives, start)
    tables = _Tables.from_counts(basis, positives, negatives)
    active_tables = np.arange(len(positives))
    least_gain = _SETTLED * (positives + negatives).sum(axis=1)
    state = tables.log_likelihood(coefficients)
    for _ in range(_MOST_STEPS):
        next_coefficients, next_state = _newton_step(
            tables, coefficients[active_tables], state, least_gain[active_tables]
        )
        coefficients[active_tables] = next_coefficients
        gains = next_state[0] - state[0]
        continues = gains > least_gain[active_tables]
        active_tables = active_tables[continues]
        if not len(active_tables):
            break
        if not continues.all():
            tables = tables.take(continues)
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
    return _Tables.from_counts(basis, positives, negatives).log_likelihood(coefficients)


@dataclass(frozen=True, slots=True, eq=False)
class _Tables:
    """Tables of positives and negatives (r, m), and the functions they are regressed on.

    basis: (q, m), or (r, q, m) where each table has its own.
    """

    basis: Floats
    positives: Counts
    negatives: Counts
    products: Floats | None  # of each two functions, (..., q q, m), where there are few scores

    @classmethod
    def from_counts(cls, basis: Floats, positives: Counts, negatives: Counts) -> _Tables:
        """Compute the products of the functions once, unless they would take much memory."""
        is_small = basis.size <= _AT_ONCE
        return cls(basis, positives, negatives, _pair_products(basis) if is_small else None)

    def take(self, selection: Bools) -> _Tables:
        """Return some of the tables."""
        basis, products = self.basis, self.products
        if basis.ndim == _OF_EACH:
            basis = basis[selection]
            products = None if products is None else products[selection]
        return _Tables(basis, self.positives[selection], self.negatives[selection], products)

    def log_likelihood(self, coefficients: Floats) -> Likelihood:
        """Return what the function of this name returns, of coefficients (r, q)."""
        q, m = self.basis.shape[-2:]
        r = len(coefficients)
        sums = np.zeros(r), np.zeros((r, q)), np.zeros((r, q, q))
        block_size = max(1, _AT_ONCE // max(r, 1))
        for start in range(0, m, block_size):
            self._add_log_likelihood(sums, slice(start, start + block_size), coefficients)
        return sums

    def _add_log_likelihood(self, sums: Likelihood, block: slice, coefficients: Floats) -> None:
        """Add the log likelihoods of a block of scores, and derivatives, to sums in place."""
        likelihood, gradient, curvature = sums
        basis = self.basis[..., block]
        positives = self.positives[:, block]
        negatives = self.negatives[:, block]
        products = _pair_products(basis) if self.products is None else self.products[..., block]
        rows = positives + negatives
        log_odds = combine_functions(coefficients, basis)
        odds_of_rarer = np.exp(-np.abs(log_odds))
        # ln mu is min(log_odds, 0) - ln(1 + odds_of_rarer), ln(1 - mu) the same less log_odds
        likelihood += (positives * log_odds - rows * np.maximum(log_odds, 0)).sum(axis=1)
        likelihood -= (rows * np.log1p(odds_of_rarer)).sum(axis=1)
        mu = np.where(log_odds >= 0, 1.0, odds_of_rarer) / (1 + odds_of_rarer)
        # 1 - mu, with all its digits
        complement = np.where(log_odds >= 0, odds_of_rarer, 1.0) / (1 + odds_of_rarer)
        residuals = positives * complement - negatives * mu
        gradient += combine_functions(residuals, basis.swapaxes(-1, -2))
        information = rows * odds_of_rarer / (1 + odds_of_rarer) ** 2
        curvature += combine_functions(information, products.swapaxes(-1, -2)).reshape(
            curvature.shape
        )


def combine_functions(factors: Floats, functions: Floats) -> Floats:
    """Return the sums over i of factors (r, i) times functions (i, j), or (r, i, j): (r, j)."""
    if functions.ndim == _OF_EACH:
        return np.asarray((factors[:, None] @ functions)[:, 0])
    return np.asarray(factors @ functions)


def _pair_products(basis: Floats) -> Floats:
    """Return the products of each two functions (..., q, m), (..., q q, m)."""
    *table_count, q, m = basis.shape
    products = basis[..., :, None, :] * basis[..., None, :, :]
    return products.reshape(*table_count, q * q, m)


def _starting_coefficients(
    basis: Floats, positives: Counts, negatives: Counts, start: Sequence[float]
) -> Floats:
    """Return coefficients (r, q) near the maximum.

    Of several tables those of their sum, of many scores those of every n-th, else `start`.
    """
    table_count = len(positives)
    if table_count > 1 and basis.ndim < _OF_EACH:  # folds of the same rows, mostly
        summed_counts = [
            class_counts.sum(axis=0, keepdims=True) for class_counts in (positives, negatives)
        ]
        return np.tile(fit_logistic(basis, *summed_counts, start=start), (table_count, 1))
    score_count = basis.shape[-1]
    group_size = score_count // _GROUPS
    if group_size > 1:
        group_starts = np.arange(0, score_count, group_size)
        group_counts = [
            np.add.reduceat(class_counts, group_starts, axis=1)
            for class_counts in (positives, negatives)
        ]
        return fit_logistic(basis[..., group_starts], *group_counts, start=start)
    coefficients = np.zeros((table_count, basis.shape[-2]))
    coefficients[:, : len(start)] = start
    return coefficients


def _newton_step(
    tables: _Tables, coefficients: Floats, state: Likelihood, least_gain: Floats
) -> tuple[Floats, Likelihood]:
    """Return coefficients after a step, and their likelihood; steps that lower it are halved."""
    likelihood, gradient, curvature = state
    step = _full_newton_step(gradient, curvature)
    next_coefficients = coefficients + step
    next_state = tables.log_likelihood(next_coefficients)
    for _ in range(_HALVINGS):
        is_lower = ~(next_state[0] >= likelihood - least_gain)
        if not is_lower.any():
            break
        step[is_lower] /= 2
        next_coefficients[is_lower] = coefficients[is_lower] + step[is_lower]
        halved_state = tables.take(is_lower).log_likelihood(next_coefficients[is_lower])
        for values, halved_values in zip(next_state, halved_state, strict=True):
            values[is_lower] = halved_values
    return next_coefficients, next_state


def _full_newton_step(gradient: Floats, curvature: Floats) -> Floats:
    """Return the inverse curvatures (r, q, q) times the gradients (r, q), also where singular."""
    ridge = _JITTER * np.trace(curvature, axis1=1, axis2=2) + _TINY
    ridged_curvature = curvature + ridge[:, None, None] * np.eye(gradient.shape[1])
    return np.asarray(np.linalg.solve(ridged_curvature, gradient[..., None])[..., 0])
