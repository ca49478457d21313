"""What models share on the same rows, measure by measure, and who leads by one of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite

import numpy as np

from clfeval.arrays import Bools, Floats, Influence, Ints
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.counts.rows import ScoredRows
from clfeval.inference.best import Leaders, contest
from clfeval.inference.resampling import stream
from clfeval.inference.shared import Pairs, Shared, of_kinds, of_rows
from clfeval.measures.record import Measure
from clfeval.methods.clustered import fewest
from clfeval.methods.estimates import Cells
from clfeval.methods.measured.asked import Asked
from clfeval.methods.measured.hard import influence, table_of

BEST, ALL_PAIRS = "best", "all-pairs"  # in place of a reference
EVERY = (BEST, ALL_PAIRS)  # of which any two models are compared
_BLOCK = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """k models by one measure on the same rows: values (k,), and what is known of their errors.

    metric: the measure with its parameters. pairs: whose differences `shared` tells, by place.
    fewest: rows of the smaller class, or clusters of which it is.
    """

    metric: str
    measure: Measure
    models: tuple[str, ...]
    values: Floats
    shared: Shared
    pairs: Pairs
    fewest: float

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is, 0 where neither is."""
        return {"max": 1, "min": -1}.get(self.measure.best, 0)

    def race(self, *, level: float, seed: int) -> Race:
        """Compare the models by the measure, on the same rows."""
        rng, df = stream(seed, f"best\0{self.metric}"), self.fewest - 1
        found = contest(
            self.sign * self.values, self.shared.covariance, level=level, rng=rng, df=df
        )
        return Race(self.models, found, df)


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


def pairs_of(reference: str | None, models: Sequence[str]) -> Pairs:
    """Return which models are compared, by place: each with the reference, or any two."""
    if reference is None:
        return ()
    if reference in EVERY:
        return list(combinations(range(len(models)), 2))
    if reference not in models:
        return ()
    place = list(models).index(reference)
    return [(i, place) for i in range(len(models)) if i != place]


def by_votes(
    patterns: PatternCounts, asked: Asked, reference: str | None = None,
    without: Collection[str] = (),
) -> Together | None:  # fmt: skip
    """Return how models stand by a measure of 2 x 2 tables; None where a class has no row.

    without: models that are not among them, for want of a threshold.
    """
    if patterns.truth.all() or not patterns.truth.any():
        return None
    table = table_of(Cells.at_prevalence(ConfusionCounts.of_patterns(patterns)))
    of = asked.measure.function
    each, values = influence(of, table), np.asarray(of(table), np.float64)
    some = [
        i
        for i, model in enumerate(patterns.models)
        if model not in without and isfinite(values[i])
    ]
    # TP, FP, FN, TN, as `influence` has them
    cell = np.where(patterns.truth[:, None], np.where(patterns.votes, 0, 2),
                    np.where(patterns.votes, 1, 3))  # fmt: skip
    moved = each[cell[:, some], some].T
    names, least = [patterns.models[i] for i in some], fewest(patterns)
    pairs = pairs_of(reference, names)
    shared = of_kinds(moved, patterns.n, patterns.clusters, pairs, fewest=least)
    return known(asked, names, values[some], shared, pairs, least)


def by_scores(
    every: ScoredRows, asked: Asked, values: Mapping[str, float], moved: Sequence[Floats],
    reference: str | None, least: float,
) -> Together | None:  # fmt: skip
    """Return how models stand by a measure of scores; moved: f of the rows, (n,) each."""
    names = list(values)
    pairs = pairs_of(reference, names)
    if not names:
        return None
    shared = of_rows(
        moved, every.weights, every.owners, pairs, sampling=every.weighed, fewest=least
    )
    return known(asked, names, np.array([*values.values()]), shared, pairs, least)


def known(
    asked: Asked, models: Sequence[str], values: Floats, shared: Shared, pairs: Pairs, least: float
) -> Together | None:
    """Return what is known of the models together; None where nothing is of their errors."""
    if not models or not np.isfinite(shared.covariance).all():
        return None
    return Together(asked.name, asked.measure, tuple(models), values, shared, pairs, least)


def of_classes(patterns: ClassPatterns, measure: Measure) -> tuple[Floats, Shared]:
    """Return a measure of the tables of models, (k,), and what they share, of C classes."""
    form = measure.classes
    if form is None or form.of is None or form.influence is None:
        raise ValueError(f"{measure.id} is not smooth in the table of many classes")
    tables = patterns.tables
    each = form.influence(tables)
    moved = np.array([one[patterns.cells(i)] for i, one in enumerate(each)])
    return form.of(tables), of_kinds(moved, patterns.n, patterns.clusters)


def spread(each: Influence, place: Ints, truth: Bools) -> Floats:
    """Return the influence of rows, (n,), from that of a positive and a negative at each score."""
    found = np.empty(len(place))
    for start in range(0, len(place), _BLOCK):
        part = slice(start, start + _BLOCK)
        for y in (True, False):
            rows = np.flatnonzero(truth[part] == y)
            found[rows + start] = each.at(place[part][rows], y)
    return found


def as_delong(moved: Floats, every: ScoredRows) -> Floats:
    """Scale the influence on areas, (n,), for variances within a class to be those of DeLong.

    He divides sums of squares by P - 1 and N - 1, not P and N. Not of clusters, nor of weights.
    """
    if not every.alike:
        return moved
    n = np.ones(len(moved)) if every.weights is None else every.weights.astype(np.float64)
    total = float(n.sum())
    for rows in (every.truth, ~every.truth):
        size = float(n[rows].sum())
        with np.errstate(divide="ignore"):
            moved[rows] *= np.sqrt(np.divide(size, size - 1) * (total - 1) / total)
    return moved
