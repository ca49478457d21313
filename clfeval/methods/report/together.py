"""What models share on the same rows: one covariance of the measure that decides, and who leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Influence, Ints
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.weights import Owned
from clfeval.inference.best import Leaders, contest
from clfeval.inference.influence import corrected
from clfeval.inference.resampling import stream
from clfeval.measures.record import Measure

_BLOCK = 2**16
DIGITS = 10  # of a covariance: sums over rows in another order differ beyond


@dataclass(frozen=True, slots=True, eq=False)
class Race:
    """Models that can be compared by one measure, and what is known of who is best.

    df: degrees of freedom of what is known of their errors.
    """

    models: tuple[str, ...]
    found: Leaders
    df: float

    @property
    def may_be_best(self) -> dict[str, bool]:
        """Whether each model may be the best."""
        return dict(zip(self.models, self.found.may_be_best.tolist(), strict=True))


def race(
    models: Sequence[str], measure: str, values: Sequence[float], covariance: Floats, *,
    level: float, seed: int, fewest: float,
) -> Race | None:  # fmt: skip
    """Compare models by a measure of which more is better, on the same rows; None if not known.

    fewest: rows of the smaller class, or clusters of which it is.
    """
    if not (np.isfinite(values).all() and np.isfinite(covariance).all()):
        return None
    rng, df = stream(seed, f"best\0{measure}"), fewest - 1
    return Race(tuple(models), contest(values, covariance, level=level, rng=rng, df=df), df)


def of_rows(
    each: Sequence[Floats], weights: Counts | None, owners: Ints | None, *, sampling: bool = False
) -> Floats:
    """Return the covariance of k estimates from their influence on rows, (k, n): (k, k).

    sum n f f' / M², over clusters sum (sum f) (sum f)' C / (C-1) / M², of weights sum w² f f'
    g / (g-1) / M². sampling: whether weights are such, and no numbers of rows.
    """
    rows = len(each[0])
    n = np.ones(rows) if weights is None else weights.astype(np.float64)
    total = float(n.sum())
    if owners is None:
        sums = np.zeros((len(each), len(each)))
        squares = n**2 if sampling else n
        for start in range(0, rows, _BLOCK):
            part = slice(start, start + _BLOCK)
            block = np.array([one[part] for one in each])
            sums += (block * squares[part]) @ block.T
        if not sampling:
            return _rounded(sums / total**2)
        return _rounded(corrected(sums, total, total**2 / float(squares.sum())))
    c = int(owners.max()) + 1
    parts = np.array([np.bincount(owners, one * n, c) for one in each])
    return _rounded(corrected(parts @ parts.T, total, c))


def of_patterns(patterns: PatternCounts) -> tuple[Floats, Floats]:
    """Return the balanced accuracies of the models of a table of votes, and their covariance.

    f = M / P (tp - sensitivity) / 2 of a positive row, M / N (tn - specificity) / 2 of a negative
    """
    n, truth = patterns.n.astype(np.float64), patterns.truth
    right = (patterns.votes == truth[:, None]).astype(np.float64)
    total = n.sum()
    each, values = np.zeros_like(right), np.zeros(right.shape[1])
    for rows in (truth, ~truth):
        many = n[rows].sum()
        share = n[rows] @ right[rows] / many
        each[rows] = total / many * (right[rows] - share) / 2
        values += share / 2
    return values, _of_kinds(each.T, n, patterns.clusters)


def of_benefits(patterns: PatternCounts, t: float) -> tuple[Floats, Floats]:
    """Return the net benefits at threshold t of the models of a table of votes, their covariance.

    f = y s - (1 - y) s t / (1 - t) - NB of a row of truth y, called positive or not: s. Of two
    models that differ in few rows, a row more in each direction and class, half of each to one.
    """
    n, odds = patterns.n.astype(np.float64), t / (1 - t)
    added = np.where(patterns.truth[:, None], 1.0, -odds) * patterns.votes
    values = n @ added / n.sum()
    size = patterns.rows if patterns.clusters is None else patterns.clusters.size
    more = (1 + odds**2) / 2 / size**2
    found = _of_kinds((added - values).T, n, patterns.clusters)
    return values, found + more * np.eye(len(values))


def alike(columns: Mapping[str, Ints | Floats | Bools]) -> list[list[str]]:
    """Return the names of columns that are equal in every row, two or more together."""
    found: dict[int, list[str]] = {}
    for name, column in columns.items():
        found.setdefault(hash(column.tobytes()), []).append(name)
    return [names for names in found.values() if len(names) > 1]


def of_classes(patterns: ClassPatterns, measure: Measure) -> tuple[Floats, Floats]:
    """Return a measure of the tables of models, (k,), and its covariance, (k, k), of C classes."""
    form = measure.classes
    if form is None or form.of is None or form.influence is None:
        raise ValueError(f"{measure.id} is not smooth in the table of many classes")
    tables = patterns.tables
    each = form.influence(tables)
    moved = np.array([one[patterns.cells(i)] for i, one in enumerate(each)])
    return form.of(tables), _of_kinds(moved, patterns.n, patterns.clusters)


def _of_kinds(each: Floats, n: Counts, clusters: Owned | None) -> Floats:
    """Return the covariance of k estimates from their influence on m kinds of rows, (k, m)."""
    total = float(n.sum())
    if clusters is None:
        return _rounded((each * n) @ each.T / total**2)
    return _rounded(corrected(clusters.products(each), total, clusters.size))


def _rounded(covariance: Floats) -> Floats:
    """Round to so many digits of the largest, so that the order of rows does not show."""
    largest = float(np.abs(covariance).max(initial=0.0))
    if not largest or not np.isfinite(largest):
        return covariance
    return np.asarray(np.round(covariance, DIGITS - int(np.floor(np.log10(largest)))))


def spread(each: Influence, place: Ints, truth: Bools) -> Floats:
    """Return the influence of rows, (n,), from that of a positive and a negative at each score."""
    found = np.empty(len(place))
    for start in range(0, len(place), _BLOCK):
        part = slice(start, start + _BLOCK)
        for y in (True, False):
            rows = np.flatnonzero(truth[part] == y)
            found[rows + start] = each.at(place[part][rows], y)
    return found
