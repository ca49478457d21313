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
    solvable = _classes_overlap(x, pos, neg)
    if solvable.any():
        sample = x[:: 1 + len(x) // _BLOCKS]
        centre = float(sample.mean())
        unit = float(sample.std()) or 1.0
        z = x - centre
        z /= unit
        pos, neg = _select_rows(solvable, pos, neg)
        log_odds = np.log(pos.sum(axis=1) / neg.sum(axis=1))
        start = np.column_stack([log_odds, np.zeros(len(log_odds))])
        if len(x) > 2 * _BLOCKS:
            start = _maximize_likelihood(*_block_sums(z, pos, neg), start)
            start = np.where(np.isfinite(start), start, 0.0)
        a, b = _maximize_likelihood(np.broadcast_to(z, pos.shape), pos, neg, start).T
        lines[solvable] = np.column_stack([a - b * centre / unit, b / unit])
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
    solvable = (p > 0) & (n > 0)
    if solvable.any():
        pos, neg, p, n = _select_rows(solvable, pos, neg, p, n)
        start = _intercept_start(x, pos, neg, np.log(p / n), p + n)
        solved = _maximize_likelihood(np.broadcast_to(x, pos.shape), pos, neg, start, free=False)[
            :, 0
        ]
        # far from the solution, where all probabilities are 0 or 1, Newton's step is unbounded
        diverged = np.isnan(solved)
        if diverged.any():
            log_odds = np.log(p / n)[diverged]
            solved[diverged] = _bisect_intercept(x, pos[diverged], neg[diverged], log_odds)
        intercepts[solvable] = solved
    return intercepts.reshape(np.shape(positives)[:-1])


def _intercept_start(x: Floats, pos: Floats, neg: Floats, log_odds: Floats, rows: Floats) -> Floats:
    """Return a start (r, 2) of the intercept, slope 1: log odds less mean x, of many x refined."""
    refined = len(x) > 2 * _BLOCKS
    z = np.broadcast_to(x, pos.shape)
    if refined:
        z, pos, neg = _block_sums(x, pos, neg)
    mean = ((pos + neg) * z).sum(axis=1) / rows
    start = np.column_stack([log_odds - mean, np.ones(len(log_odds))])
    if not refined:
        return start
    solved = _maximize_likelihood(z, pos, neg, start, free=False)
    return np.where(np.isfinite(solved), solved, start)


def _bisect_intercept(x: Floats, pos: Floats, neg: Floats, odds: Floats) -> Floats:
    """Return the intercepts at which expected equal observed positives, by bisection, (r,)."""
    low = odds - x.max()
    high = odds - x.min()
    ones = np.ones(len(pos))
    z = np.broadcast_to(x, pos.shape)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        slope, _ = _newton_step(z, pos, neg, np.column_stack([middle, ones]), free=False)
        too_high = slope[:, 0] < 0
        low = np.where(too_high, low, middle)
        high = np.where(too_high, middle, high)
    return np.asarray((low + high) / 2)


def fisher_information(
    x: Floats, positives: Counts, negatives: Counts, a: float, b: float, *, free: bool = True
) -> Floats:
    """Return M / sum w, the mean of x by w, M / sum w (x - mean)², c, and sums over rows, (12,).

    w = n mu (1 - mu). c: a score near the middle. The sums are those of (y - mu)² (x - c)^k, k 0 to
    2, and of (y - mu)⁴ (x - c)^k, k 0 to 4; unless free only for k 0. NaN as a or b.
    """
    if np.isnan(a + b):
        return np.full(12, np.nan)
    centre = float(x[len(x) // 2])
    sums = np.zeros((3, 5))
    for start in range(0, len(x), _AT_ONCE):
        z, pos, neg = (column[start : start + _AT_ONCE] for column in (x, positives, negatives))
        z = z - centre
        mu = fitted_probabilities(z, a + b * centre, b)
        for row, weight, powers in zip(
            sums, _information_weights(mu, pos, neg), (3, 3, 5), strict=True
        ):
            for k in range(powers if free else 1):
                row[k] += weight.sum()
                weight *= z
    rows = positives.sum() + negatives.sum()
    mean = divide(sums[0, 1], sums[0, 0])
    level, steep = divide(rows, [sums[0, 0], sums[0, 2] - sums[0, 1] * mean])
    return np.array([level, centre + mean, steep, centre, *sums[1, :3], *sums[2]])


def _information_weights(mu: Floats, pos: Counts, neg: Counts) -> tuple[Floats, Floats, Floats]:
    """Return n mu (1 - mu), and sums over rows of (y - mu)² and (y - mu)⁴; mu is overwritten."""
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
    lows, highs = [], []
    for counts in (pos, neg):
        has = counts > 0
        lows.append(np.where(has.any(axis=1), x[has.argmax(axis=1)], np.nan))
        highs.append(x[len(x) - 1 - has[:, ::-1].argmax(axis=1)])
    return np.asarray((lows[0] < highs[1]) & (lows[1] < highs[0]))


def _block_sums(z: Floats, pos: Floats, neg: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean z, positives and negatives of each class in blocks of scores, (r, 2 blocks).

    Half of the blocks have as many scores each, half are as wide; with a mean of each class the
    fit differs from that of all scores by about the squared width of a block.
    """
    fractions = np.arange(_BLOCKS // 2) / (_BLOCKS // 2)
    equal_widths = np.searchsorted(z, z[0] + fractions * (z[-1] - z[0]))
    starts = np.union1d((fractions * len(z)).astype(np.int64), equal_widths)
    means = []
    rows = []
    for counts in (pos, neg):
        block_rows = np.add.reduceat(counts, starts, axis=1)
        sums = np.add.reduceat(counts * z, starts, axis=1)
        means.append(sums / np.maximum(block_rows, 1e-300))
        rows.append(block_rows)
    p, n = rows
    zeros = np.zeros_like(p)
    return np.hstack(means), np.hstack((p, zeros)), np.hstack((zeros, n))


def _maximize_likelihood(
    z: Floats, pos: Floats, neg: Floats, start: Floats, *, free: bool = True
) -> Floats:
    """Return the maximum likelihood estimates from a start (r, 2); NaN without convergence."""
    estimates = np.full_like(start, np.nan)
    position = start.copy()
    active = np.arange(len(start))
    slope, step = _newton_step(z, pos, neg, position, free)
    for _ in range(_MOST_STEPS):
        size = np.abs(step).max(axis=1)
        settled = size <= _SETTLED * (1 + np.abs(position).max(axis=1))
        estimates[active[settled]] = position[settled] + step[settled]
        goes_on = ~settled & np.isfinite(size)
        active, position, slope, step, z, pos, neg = _select_rows(
            goes_on, active, position, slope, step, z, pos, neg
        )
        if not len(active):
            break
        moving, position, slope, step = _shorten_steps(z, pos, neg, position, slope, step, free)
        active, position, slope, step, z, pos, neg = _select_rows(
            ~moving, active, position, slope, step, z, pos, neg
        )
    return estimates


def _shorten_steps(
    z: Floats, pos: Floats, neg: Floats, start: Floats, slope: Floats, step: Floats, free: bool
) -> tuple[Bools, Floats, Floats, Floats]:
    """Halve steps (r, 2) that go too far; return which still do, positions, slopes, next steps."""
    rise = (slope * step).sum(axis=1)
    length = np.ones(len(start))
    moving = np.ones(len(start), bool)
    position = start + step
    next_slope = slope.copy()
    next_step = step.copy()
    for _ in range(_HALVINGS):
        rows = slice(None) if moving.all() else np.flatnonzero(moving)  # a slice copies nothing
        position[rows] = start[rows] + length[rows, None] * step[rows]
        next_slope[rows], next_step[rows] = _newton_step(
            z[rows], pos[rows], neg[rows], position[rows], free
        )
        along = (next_slope[rows] * step[rows]).sum(axis=1)
        moving[rows] = ~(along >= _FALL * rise[rows])  # NaN counts as too far
        if not moving.any():
            break
        length[moving] /= 2
    return moving, position, next_slope, next_step


def _select_rows(selected: Bools, *arrays: Counts) -> Sequence[Counts]:
    """Return the selected rows of arrays, without copies where all are selected."""
    return arrays if selected.all() else [array[selected] for array in arrays]


def _newton_step(
    z: Floats, pos: Floats, neg: Floats, position: Floats, free: bool
) -> tuple[Floats, Floats]:
    """Return the gradient of the log likelihood and Newton's step, (r, 2) each."""
    with np.errstate(all="ignore"):
        g0, g1, h00, h01, h11 = _gradient_and_hessian(z, pos, neg, position, free)
        if not free:
            zeros = np.zeros_like(g0)
            return np.column_stack([g0, zeros]), np.column_stack([g0 / h00, zeros])
        determinant = h00 * h11 - h01 * h01
        step = [(h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant]
        return np.column_stack([g0, g1]), np.column_stack(step)


def _gradient_and_hessian(
    z: Floats, pos: Floats, neg: Floats, position: Floats, free: bool = True
) -> Floats:
    """Return gradient and curvature of the log likelihood: g0, g1, h00, h01, h11, (5, r).

    position: intercept and slope of each table, (r, 2).
    """
    sums = np.zeros((5, len(position)))
    for start in range(0, z.shape[1], _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        x = z[:, block]
        positives = pos[:, block]
        mu = -position[:, 1:] * x
        mu -= position[:, :1]
        np.exp(mu, out=mu)
        mu += 1
        np.reciprocal(mu, out=mu)
        w = (positives + neg[:, block]) * mu
        residuals = positives - w
        w -= np.multiply(w, mu, out=mu)
        sums[0] += residuals.sum(axis=1)
        sums[2] += w.sum(axis=1)
        if free:
            sums[1] += np.multiply(residuals, x, out=residuals).sum(axis=1)
            for power in (3, 4):
                w *= x
                sums[power] += w.sum(axis=1)
    return sums
