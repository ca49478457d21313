"""Score tests of calibration: no recalibration is fitted, the given probabilities are tested."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clfeval.arrays import Counts, Floats, Ints
from clfeval.inference.distributions import chi_square_tail
from clfeval.inference.influence import SamplingUnits

GROUPS, DRAWS = 10, 2000
BY_DRAWS, BY_CHI_SQUARE, BY_SANDWICH = "simulation", "chi-square", "sandwich, Rao-Scott"
_FEW, _WIDTH = 64, 0.5  # scores up to which each is simulated singly; else in cells of log odds
_TABLED = 200  # rows up to which outcomes are tabulated
_PLENTY = 25.0  # variance from which on a number of positives is normal
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTests:
    """Statistic, df and p of the tests on (1, log odds) and on groups by score, (2,) each.

    gaps, errors (g,): observed less expected share of positives in each group, and its standard
    error.
    """

    statistic: Floats
    df: Floats
    p: Floats
    method: str
    gaps: Floats
    errors: Floats


def score_tests(
    p: Floats, x: Floats, positives: Counts, rows: Counts, rng: np.random.Generator
) -> ScoreTests:
    """Return score tests that the classes y of independent rows are Bernoulli(p).

    (sum r)² / sum v + (sum z r)² / sum v z²   2 degrees of freedom, 1 where all x are one
    sum over ten groups by score of (sum r)² / sum v   as many degrees of freedom as groups

    with r = positives - n p, v = n p (1 - p), z = x - sum v x / sum v. Equal scores are in one
    group. p = (1 + k) / 2,001, k of 2,000 draws of y being as extreme; chi-square where every group
    has sum v >= 25.

    Shapes: p ascending within 0..1, x its log odds, rows n and positives: (m,), m >= 1.
    Source: Cox 1958, Biometrika 45:562; Hosmer and Lemeshow 1980, Communications in Statistics A
    9:1043; Davison and Hinkley 1997, Bootstrap Methods and their Application, section 4.2.
    """
    first = _group_starts(rows)
    n, r, v, vz, vzz, zr = _group_sums(p, x, positives, rows, first)
    mean, each = vz.sum() / v.sum(), np.arange(len(first))
    spread = vzz.sum() - mean * vz.sum()
    observed = _statistics(r[:, None], zr.sum() - mean * r.sum(), v, spread, each)[:, 0]
    df = np.array([1 + (spread > 0), len(first)])
    tails = np.array([chi_square_tail(int(k), s) for k, s in zip(df, observed, strict=True)])
    method, normal = BY_CHI_SQUARE, v >= _PLENTY
    if not normal.all():
        method, cells = BY_DRAWS, np.arange(len(p))
        if len(p) > _FEW:
            near = np.where(np.repeat(normal, np.diff(first, append=len(p))), 0, x // _WIDTH)
            cells = np.union1d(first, np.flatnonzero(np.diff(near)) + 1)
        for i, draws in enumerate(_simulated_statistics(p, x, rows, spread, cells, first, rng)):
            least = chi_square_tail(int(df[i]), float(draws.max()))
            share = (1 + (draws >= observed[i] * (1 - _ROUNDING)).sum()) / (1 + DRAWS)
            tails[i] = share * (tails[i] / least if tails[i] < least else 1.0)
    return ScoreTests(observed, df, tails, method, r / n, np.sqrt(v) / n)


def clustered_score_tests(
    p: Floats, x: Floats, counts: Counts, inner: slice, clusters: SamplingUnits, heavy: Floats
) -> ScoreTests:
    """Return `score_tests` for clusters or sampling weights, with the sandwich variance.

    U' A^-1 U / (d k)   A = sum v ((1 - p) w + p w') b b'   L = A^-1 sum U_c U_c'
    d = trace L / q, 1 at least   k = q trace L² / (trace L)²   df = q / k

    over q functions b of the score, U_c the score sum of r b of a cluster or a row. p is that of F,
    its second df the clusters (of weights Kish's size) less 1.

    Shapes: p, x (m,) as above; counts (2, m), rows or weights, positives first; inner: the scores
    that are tested; heavy: w and w', what a positive and a negative weigh on average.
    Source: Rao and Scott 1984, Annals of Statistics 12:46; Thomas and Rao 1987, Journal of the
    American Statistical Association 82:630.
    """
    from scipy.special import fdtrc

    p, x, rows = p[inner], x[inner], counts.sum(axis=0)[inner]
    v, first = rows * p * (1 - p), _group_starts(rows)
    z = x - x[0]
    z -= (v @ z) / v.sum()
    groups = np.repeat(np.eye(len(first)), np.diff(first, append=len(p)), axis=1)
    found = []
    for b in (np.array([np.ones(len(p)), z])[: 1 + bool(z.any())], groups):
        f, q = np.zeros((len(b), *counts.shape)), len(b)
        f[:, 0, inner], f[:, 1, inner] = b * (1 - p), -b * p
        score, sandwich = (f * counts).sum(axis=(1, 2)), clusters.products(f.reshape(q, -1))
        a = (b * (v * ((1 - p) * heavy[0] + p * heavy[1]))) @ b.T
        unlike = np.linalg.solve(a, sandwich)
        effect = np.trace(unlike) / q
        df = q / max(np.trace(unlike @ unlike) / (q * effect**2), 1.0)
        statistic = score @ np.linalg.solve(a, score) / max(effect, 1.0) * df / q
        found.append((statistic, df, fdtrc(df, clusters.size - 1, statistic / df)))
    n = groups @ rows
    errors = np.sqrt(np.diag(sandwich)) / n
    statistic, df, tails = np.array(found).T
    return ScoreTests(statistic, df, tails, BY_SANDWICH, score / n, errors)


def _group_starts(rows: Counts) -> Ints:
    """Return the start index of each group."""
    below, k = rows.cumsum(dtype=np.float64), np.arange(1, GROUPS)  # units may be 2**60
    at = np.searchsorted(below, k * (below[-1] / GROUPS))
    middle = GROUPS * (2 * below[at] - rows[at])
    at += middle < 2 * k * below[-1] * (1 - _ROUNDING)
    return np.unique(np.append(0, at[at < len(rows)]))


def _group_sums(p: Floats, x: Floats, positives: Counts, rows: Counts, first: Ints) -> Floats:
    """Return the sums over groups of n, r, v, v z, v z² and z r, (6, g), z = x - the middle x."""
    sums, middle = np.empty((6, len(first))), x[len(x) // 2]
    for g, (start, stop) in enumerate(pairwise([*first.tolist(), len(p)])):
        n, chance, z = rows[start:stop], p[start:stop], x[start:stop] - middle
        v = n * chance
        r = positives[start:stop] - v
        v *= 1 - chance
        vz = v * z
        sums[:, g] = [one.sum() for one in (n, r, v, vz, vz * z, z * r)]
    return sums


def _statistics(r: Floats, along: Floats, v: Floats, spread: float, first: Ints) -> Floats:
    """Return both test statistics, (2, d), from residuals r (m, d) and their sums by z, (d,)."""
    line = r.sum(axis=0) ** 2 / v.sum() + (along**2 / spread if spread > 0 else 0.0)
    groups = np.add.reduceat(r, first, axis=0) ** 2 / np.add.reduceat(v, first)[:, None]
    return np.array([line, groups.sum(axis=0)])


def _simulated_statistics(
    p: Floats, x: Floats, rows: Counts, spread: float, cells: Ints, first: Ints,
    rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """Return both test statistics of simulated calibrated samples, (2, draws).

    cells: where each cell begins. The variation of z within cells is one normal number per draw.
    """
    mean, each = rows * p, rows * p * (1 - p)
    n, mean, v, vx = (np.add.reduceat(one, cells)[:, None] for one in (rows, mean, each, each * x))
    z = vx / v - vx.sum() / v.sum()
    inside = max(spread - float((v * z**2).sum()), 0.0) if len(cells) < len(p) else 0.0
    r, many = np.empty((len(cells), DRAWS)), v[:, 0] >= _PLENTY
    r[many] = rng.standard_normal((many.sum(), DRAWS)) * np.sqrt(v[many])
    few = n[~many, 0], np.minimum(mean[~many] / n[~many], 1.0)[:, 0]
    r[~many] = _draw_binomials(*few, rng) - mean[~many]
    along = (z * r).sum(axis=0) + np.sqrt(inside) * rng.standard_normal(DRAWS)
    return _statistics(r, along, v[:, 0], spread, np.searchsorted(cells, first))


def _draw_binomials(n: Counts, p: Floats, rng: np.random.Generator) -> Floats:
    """Return binomial draws, (k, draws): for few rows, shuffled multinomial counts of outcomes."""
    from scipy.special import gammaln, xlog1py, xlogy

    found = np.empty((len(n), DRAWS))
    for i, (rows, chance) in enumerate(zip(n.tolist(), p.tolist(), strict=True)):
        if rows > _TABLED:
            found[i] = rng.binomial(rows, chance, DRAWS)
            continue
        k = np.arange(rows + 1)
        share = xlogy(k, chance) + xlog1py(rows - k, -chance)
        share = np.exp(share - gammaln(k + 1) - gammaln(rows - k + 1) + gammaln(rows + 1))
        each = rng.multinomial(DRAWS, share / share.sum())
        found[i] = rng.permutation(np.repeat(k, each))
    return found
