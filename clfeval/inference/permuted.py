"""What measures are worth when truth is dealt to the rows anew: exactly, and by draws."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clfeval.arrays import Counts, Floats, Ints

DRAWS, MIN_PERMUTATIONS = 999, 99  # of rows up to 2**25 / 999, and of many
_AT_ONCE = 2**25  # rows drawn in all, and rows of counts held
_FAR = 40.0  # standard deviations: what lies beyond has no chance as a float


def random_true_positives(positives: int, negatives: int, called: int) -> tuple[Ints, Floats]:
    """Return the true positives of a random prediction, with probabilities.

    P(t) = C(P, t) C(N, m - t) / C(P + N, m): hypergeometric.
    Shapes: (s,) each, s at most min(P, m) + 1; m predicted positives; negligible tails are omitted.
    """
    from scipy.special import gammaln

    p, n, m = float(positives), float(negatives), float(called)
    mean = m * p / (p + n)
    spread = _FAR * np.sqrt(mean * (n / (p + n)) * (p + n - m) / max(p + n - 1, 1)) + _FAR
    low, high = max(0.0, m - n, np.floor(mean - spread)), min(p, m, np.ceil(mean + spread))
    t = np.arange(low, high + 1)

    def chosen(k: Floats, of: float) -> Floats:
        return np.asarray(gammaln(of + 1) - gammaln(k + 1) - gammaln(of - k + 1))

    logs = chosen(t, p) + chosen(m - t, n)
    shares = np.exp(logs - logs.max())
    return t.astype(np.int64), shares / shares.sum()


def random_average_precision(n: Counts, positives: float) -> float:
    """Return the expected average precision of scores when the classes are permuted.

    sum over scores from the highest of n_i (1 / M + (N_i - 1) (P - 1) / (M (M - 1))) / N_i, N_i the
    rows from the highest score down to this one

    n (m,): rows at each score, ascending; P of the M rows are positive. Of many rows it is P / M,
    of few more: without ties (P - 1) / (M - 1) + H_M (M - P) / (M (M - 1)), H_M = 1 + ... + 1/M.
    NaN without positives.
    Source: Bestgen 2015, Prague Bulletin of Mathematical Linguistics 103:131, extended to ties.
    """
    each = np.asarray(n, np.float64)[::-1]
    each = each[each > 0]
    total, upto = float(each.sum()), np.cumsum(each)
    if not positives:
        return float("nan")
    both = (positives - 1) / (total * (total - 1)) if total > 1 else 0.0
    return float((each * (1 / total + (upto - 1) * both) / upto).sum())


def permuted_positives(n: Counts, positives: int, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield the positives at each of m scores, (b, m), under 99 to 999 permutations."""
    total, m = int(n.sum()), len(n)
    draws = max(MIN_PERMUTATIONS, min(DRAWS, _AT_ONCE // max(total, 1)))
    owner, step = np.repeat(np.arange(m), n), max(1, _AT_ONCE // 8 // max(m, 1))
    for start in range(0, draws, step):
        found = np.empty((min(step, draws - start), m), np.int64)
        for row in found:
            some = rng.choice(total, positives, replace=False, shuffle=False)
            row[:] = np.bincount(owner[some], minlength=m)
        yield found


def permuted_tables(table: Counts, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield tables of C classes, (C, C), when truth is dealt anew to the same answers."""
    truth, said = (
        np.repeat(np.arange(len(table)), table.sum(axis=axis).astype(np.int64)) for axis in (1, 0)
    )
    for _ in range(max(MIN_PERMUTATIONS, min(DRAWS, _AT_ONCE // max(len(truth), 1)))):
        cells = rng.permutation(truth) * len(table) + said
        yield np.bincount(cells, minlength=table.size).reshape(table.shape)
