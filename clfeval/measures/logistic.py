"""Logistic regression of truth on the log odds of predicted probabilities, for calibration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, cache_last_call, divide
from clfeval.measures.probability import MIN_PROBABILITY, check_probabilities, log_complement

_MOST_STEPS = 200  # steps of Newton's method; few are needed
_HALVINGS = 60
_SETTLED = 1e-7  # the step after which the next, about its square, is near rounding
_BLOCKS = 2**13  # of many scores, of which a first fit is made
_AT_ONCE = 2**15  # scores per block, few enough to stay in the cache
_FALL = -0.5  # of the slope along a step: beyond the maximum by more, the step is halved


@cache_last_call
def log_odds(p: Counts) -> Floats:
    """Return ln(p / (1 - p)) of probabilities, p clipped to 2**-52..1 - 2**-52: within ±52 ln 2.

    Errors: ValueError for numbers outside 0..1.
    """
    probabilities = check_probabilities(p)
    x = np.empty(len(probabilities))
    for start in range(0, len(x), _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        clipped = np.clip(probabilities[block], MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        np.subtract(np.log(clipped), log_complement(clipped), out=x[block])
    return x


def log_odds_slice(p: Counts) -> slice:
    """Return the slice of ascending probabilities that lie within 2**-52..1 - 2**-52."""
    return slice(
        int(np.searchsorted(p, MIN_PROBABILITY)),
        int(np.searchsorted(p, 1 - MIN_PROBABILITY, side="right")),
    )


@cache_last_call
def fit_line(x: Floats, positives: Counts, negatives: Counts) -> Floats:
    """Return intercept and slope of the logistic regression of truth on x: (2, ...).

    Maximum likelihood: sum n (y - mu) = 0, sum n x (y - mu) = 0 with mu = 1 / (1 + exp(-a - b x)),
    by Newton's method; a step beyond the maximum is halved.

    Shapes: x (m,) ascending; positives and negatives (..., m). NaN with one class, where all x are
    equal, and where some x separates the classes.
    """
    pos, neg = _flat_counts(positives, negatives)
    lines = np.full((len(pos), 2), np.nan)
    is_solvable = _classes_overlap(x, pos, neg)
    if is_solvable.any():
        sampled_x = x[:: 1 + len(x) // _BLOCKS]
        centre = float(sampled_x.mean())
        unit = float(sampled_x.std()) or 1.0
        z = x - centre
        z /= unit
        pos, neg = _select_rows(is_solvable, pos, neg)
        prior_log_odds = np.log(pos.sum(axis=1) / neg.sum(axis=1))
        start_lines = np.column_stack([prior_log_odds, np.zeros(len(prior_log_odds))])  # slope 0
        if len(x) > 2 * _BLOCKS:
            start_lines = _maximize_likelihood(*_block_sums(z, pos, neg), start_lines)
            start_lines = np.where(np.isfinite(start_lines), start_lines, 0.0)
        a, b = _maximize_likelihood(np.broadcast_to(z, pos.shape), pos, neg, start_lines).T
        lines[is_solvable] = np.column_stack([a - b * centre / unit, b / unit])
    return lines.T.reshape(2, *np.shape(positives)[:-1])


@cache_last_call
def fit_intercept(x: Floats, positives: Counts, negatives: Counts) -> Floats:
    """Return the intercept of the logistic regression with the slope fixed at 1: (...).

    With it sum n / (1 + exp(-a - x)) is the number of positives. Shapes as for `fit_line`; NaN with
    one class.
    """
    pos, neg = _flat_counts(positives, negatives)
    intercepts = np.full(len(pos), np.nan)
    p = pos.sum(axis=1)
    n = neg.sum(axis=1)
    is_solvable = (p > 0) & (n > 0)
    if is_solvable.any():
        pos, neg, p, n = _select_rows(is_solvable, pos, neg, p, n)
        start_lines = _intercept_start(x, pos, neg, np.log(p / n), p + n)
        z = np.broadcast_to(x, pos.shape)
        lines = _maximize_likelihood(z, pos, neg, start_lines, free_slope=False)
        solutions = lines[:, 0]
        # far from the solution, where all probabilities are 0 or 1, Newton's step is unbounded
        has_diverged = np.isnan(solutions)
        if has_diverged.any():
            prior_log_odds = np.log(p / n)[has_diverged]
            solutions[has_diverged] = _bisect_intercept(
                x, pos[has_diverged], neg[has_diverged], prior_log_odds
            )
        intercepts[is_solvable] = solutions
    return intercepts.reshape(np.shape(positives)[:-1])


def _intercept_start(x: Floats, pos: Floats, neg: Floats, log_odds: Floats, rows: Floats) -> Floats:
    """Return a start (r, 2) of the intercept, slope 1: log odds less mean x, of many x refined."""
    is_refined = len(x) > 2 * _BLOCKS
    z = np.broadcast_to(x, pos.shape)
    if is_refined:
        z, pos, neg = _block_sums(x, pos, neg)
    mean = ((pos + neg) * z).sum(axis=1) / rows
    start_lines = np.column_stack([log_odds - mean, np.ones(len(log_odds))])
    if not is_refined:
        return start_lines
    refined_lines = _maximize_likelihood(z, pos, neg, start_lines, free_slope=False)
    return np.where(np.isfinite(refined_lines), refined_lines, start_lines)


def _bisect_intercept(x: Floats, pos: Floats, neg: Floats, log_odds: Floats) -> Floats:
    """Return the intercepts at which expected equal observed positives, by bisection, (r,).

    log_odds (r,): of the class totals.
    """
    low = log_odds - x.max()
    high = log_odds - x.min()
    ones = np.ones(len(pos))
    z = np.broadcast_to(x, pos.shape)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        gradient, _ = _newton_step(z, pos, neg, np.column_stack([middle, ones]), free_slope=False)
        is_too_high = gradient[:, 0] < 0
        low = np.where(is_too_high, low, middle)
        high = np.where(is_too_high, middle, high)
    return np.asarray((low + high) / 2)


def fisher_information(
    x: Floats, positives: Counts, negatives: Counts, a: float, b: float, *, free_slope: bool = True
) -> Floats:
    """Return M / sum w, the mean of x by w, M / sum w (x - mean)², c, and sums over rows, (12,).

    w = n mu (1 - mu). c: a score near the middle. The sums are those of (y - mu)² (x - c)^k, k 0 to
    2, and of (y - mu)⁴ (x - c)^k, k 0 to 4; those of k above 0 are 0 unless the slope is free. NaN
    where a or b is.
    """
    if np.isnan(a + b):
        return np.full(12, np.nan)
    centre = float(x[len(x) // 2])
    sums = np.zeros((3, 5))
    for start in range(0, len(x), _AT_ONCE):
        z, pos, neg = (column[start : start + _AT_ONCE] for column in (x, positives, negatives))
        z = z - centre
        mu = fitted_probabilities(z, a + b * centre, b)
        for power_sums, terms, power_count in zip(
            sums, _information_weights(mu, pos, neg), (3, 3, 5), strict=True
        ):
            for k in range(power_count if free_slope else 1):
                power_sums[k] += terms.sum()
                terms *= z
    rows = positives.sum() + negatives.sum()
    mean = divide(sums[0, 1], sums[0, 0])
    inverse_weight, inverse_squares = divide(rows, [sums[0, 0], sums[0, 2] - sums[0, 1] * mean])
    return np.array(
        [inverse_weight, centre + mean, inverse_squares, centre, *sums[1, :3], *sums[2]]
    )


def _information_weights(mu: Floats, pos: Counts, neg: Counts) -> tuple[Floats, Floats, Floats]:
    """Return n mu (1 - mu), and sums over rows of (y - mu)² and (y - mu)⁴, at each score.

    mu (m,): the fitted probabilities, which are overwritten.
    """
    complement = 1 - mu  # products are in place, which takes less time
    w = (pos + neg) * mu
    w *= complement
    mu *= mu
    complement *= complement
    squares = pos * complement + neg * mu
    mu *= mu
    complement *= complement
    return w, squares, pos * complement + neg * mu


def fitted_probabilities(x: Floats, a: float, b: float) -> Floats:
    """Return 1 / (1 + exp(-a - b x)), without overflow."""
    p = np.multiply(x, -b)  # in place, which takes two thirds of the time
    p -= a
    with np.errstate(over="ignore"):
        np.exp(p, out=p)
    p += 1
    return np.reciprocal(p, out=p)


def _flat_counts(*counts: Counts) -> Sequence[Counts]:
    """Return positives and negatives, one row per table, (r, m) each."""
    return [column.reshape(int(np.prod(column.shape[:-1])), column.shape[-1]) for column in counts]


def _classes_overlap(x: Floats, pos: Floats, neg: Floats) -> Bools:
    """Return whether the classes overlap in x, as a finite maximum likelihood estimate needs."""
    if not len(x):
        return np.zeros(len(pos), bool)
    lowest_x, highest_x = [], []
    for counts in (pos, neg):
        has_rows = counts > 0
        lowest_x.append(np.where(has_rows.any(axis=1), x[has_rows.argmax(axis=1)], np.nan))
        highest_x.append(x[len(x) - 1 - has_rows[:, ::-1].argmax(axis=1)])
    positive_low, negative_low = lowest_x
    positive_high, negative_high = highest_x
    return np.asarray((positive_low < negative_high) & (negative_low < positive_high))


def _block_sums(z: Floats, pos: Floats, neg: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean z, positives and negatives of each class in blocks of scores, (r, 2 blocks).

    Half of the blocks have as many scores each, half are as wide; with a mean of each class the
    fit differs from that of all scores by about the squared width of a block.
    """
    fractions = np.arange(_BLOCKS // 2) / (_BLOCKS // 2)
    width_starts = np.searchsorted(z, z[0] + fractions * (z[-1] - z[0]))
    starts = np.union1d((fractions * len(z)).astype(np.int64), width_starts)
    class_means = []
    class_rows = []
    for counts in (pos, neg):
        block_rows = np.add.reduceat(counts, starts, axis=1)
        sums = np.add.reduceat(counts * z, starts, axis=1)
        class_means.append(sums / np.maximum(block_rows, 1e-300))
        class_rows.append(block_rows)
    positive_rows, negative_rows = class_rows
    zeros = np.zeros_like(positive_rows)
    return (
        np.hstack(class_means),
        np.hstack((positive_rows, zeros)),
        np.hstack((zeros, negative_rows)),
    )


def _maximize_likelihood(
    z: Floats, pos: Floats, neg: Floats, start_lines: Floats, *, free_slope: bool = True
) -> Floats:
    """Return the maximum likelihood estimates from a start (r, 2); NaN without convergence.

    free_slope: whether the slope is fitted too, else only the intercept.
    """
    estimates = np.full_like(start_lines, np.nan)
    lines = start_lines.copy()
    active_tables = np.arange(len(start_lines))
    gradient, step = _newton_step(z, pos, neg, lines, free_slope)
    for _ in range(_MOST_STEPS):
        step_sizes = np.abs(step).max(axis=1)
        has_converged = step_sizes <= _SETTLED * (1 + np.abs(lines).max(axis=1))
        estimates[active_tables[has_converged]] = lines[has_converged] + step[has_converged]
        continues = ~has_converged & np.isfinite(step_sizes)
        active_tables, lines, gradient, step, z, pos, neg = _select_rows(
            continues, active_tables, lines, gradient, step, z, pos, neg
        )
        if not len(active_tables):
            break
        goes_too_far, lines, gradient, step = _shorten_steps(
            z, pos, neg, lines, gradient, step, free_slope
        )
        active_tables, lines, gradient, step, z, pos, neg = _select_rows(
            ~goes_too_far, active_tables, lines, gradient, step, z, pos, neg
        )
    return estimates


def _shorten_steps(
    z: Floats,
    pos: Floats,
    neg: Floats,
    start_lines: Floats,
    gradient: Floats,
    step: Floats,
    free_slope: bool,
) -> tuple[Bools, Floats, Floats, Floats]:
    """Halve steps (r, 2) that go too far; return which still do, lines, gradients, next steps."""
    full_slope = (gradient * step).sum(axis=1)
    lengths = np.ones(len(start_lines))
    goes_too_far = np.ones(len(start_lines), bool)
    lines = start_lines + step
    next_gradient = gradient.copy()
    next_step = step.copy()
    for _ in range(_HALVINGS):
        # a slice copies nothing
        tables = slice(None) if goes_too_far.all() else np.flatnonzero(goes_too_far)
        lines[tables] = start_lines[tables] + lengths[tables, None] * step[tables]
        next_gradient[tables], next_step[tables] = _newton_step(
            z[tables], pos[tables], neg[tables], lines[tables], free_slope
        )
        step_slope = (next_gradient[tables] * step[tables]).sum(axis=1)
        goes_too_far[tables] = ~(step_slope >= _FALL * full_slope[tables])  # NaN counts as too far
        if not goes_too_far.any():
            break
        lengths[goes_too_far] /= 2
    return goes_too_far, lines, next_gradient, next_step


def _select_rows(selected: Bools, *arrays: Counts) -> Sequence[Counts]:
    """Return the selected rows of arrays, without copies where all are selected."""
    return arrays if selected.all() else [array[selected] for array in arrays]


def _newton_step(
    z: Floats, pos: Floats, neg: Floats, lines: Floats, free_slope: bool
) -> tuple[Floats, Floats]:
    """Return the gradient of the log likelihood and Newton's step, (r, 2) each."""
    with np.errstate(all="ignore"):
        g0, g1, h00, h01, h11 = _gradient_and_hessian(z, pos, neg, lines, free_slope)
        if not free_slope:
            zeros = np.zeros_like(g0)
            return np.column_stack([g0, zeros]), np.column_stack([g0 / h00, zeros])
        determinant = h00 * h11 - h01 * h01
        step = [(h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant]
        return np.column_stack([g0, g1]), np.column_stack(step)


def _gradient_and_hessian(
    z: Floats, pos: Floats, neg: Floats, lines: Floats, free_slope: bool = True
) -> Floats:
    """Return gradient and curvature of the log likelihood: g0, g1, h00, h01, h11, (5, r).

    lines: intercept and slope of each table, (r, 2).
    """
    sums = np.zeros((5, len(lines)))
    for start in range(0, z.shape[1], _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        x = z[:, block]
        block_pos = pos[:, block]
        mu = -lines[:, 1:] * x
        mu -= lines[:, :1]
        np.exp(mu, out=mu)
        mu += 1
        np.reciprocal(mu, out=mu)
        w = (block_pos + neg[:, block]) * mu
        residuals = block_pos - w
        w -= np.multiply(w, mu, out=mu)
        sums[0] += residuals.sum(axis=1)
        sums[2] += w.sum(axis=1)
        if free_slope:
            sums[1] += np.multiply(residuals, x, out=residuals).sum(axis=1)
            for power in (3, 4):
                w *= x
                sums[power] += w.sum(axis=1)
    return sums
