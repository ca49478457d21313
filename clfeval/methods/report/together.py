"""What models share on the same rows, measure by measure, and who leads by one of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import isfinite, sqrt

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Influence, Ints
from clfeval.counts.class_rows import ProbabilityRows
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.counted import Counted
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.best import Leaders, contest
from clfeval.inference.redrawn import OfDraws
from clfeval.inference.resampling import stream
from clfeval.inference.shared import PairPlaces, Shared, of_kinds, of_rows
from clfeval.measures.averages import average, average_influence
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import Measure
from clfeval.methods.clustered import class_sizes, fewest
from clfeval.methods.measured.asked import AT_RISK, NET_BENEFIT, Asked
from clfeval.methods.measured.hard import influence
from clfeval.methods.report.classes import OVER_CLASSES, wider_by
from clfeval.words import NAMESAKES

BEST, ALL_PAIRS = "best", "all-pairs"  # in place of a reference
EVERY = (BEST, ALL_PAIRS)  # of which any two models are compared
_BLOCK = 2**16
_BEGINNING = 2**10  # rows in which columns that are not the same mostly differ


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """k models by one measure on the same rows: values (k,), and what is known of their errors.

    metric: the measure with its parameters. pairs: whose differences `shared` tells, by place; of
    what has no influence values it tells nothing else. fewest: rows of the smaller class, or
    clusters of which it is.
    """

    metric: str
    measure: Measure
    models: tuple[str, ...]
    values: Floats
    shared: Shared | OfDraws
    pairs: PairPlaces
    fewest: float

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is, 0 where neither is."""
        return self.measure.sign

    def race(self, *, level: float, seed: int) -> Race | None:
        """Compare the models by the measure, on the same rows; None where nothing tells."""
        if isinstance(self.shared, OfDraws) or not self.sign:
            return None
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


def pairs_of(reference: str | None, models: Sequence[str]) -> PairPlaces:
    """Return which models are compared, by place: each with the reference, or any two.

    Of `old:*` each `NAME:MODEL` with `old:MODEL`.
    """
    if reference is None:
        return ()
    if reference in EVERY:
        return list(combinations(range(len(models)), 2))
    if reference.endswith(NAMESAKES):
        of = reference.removesuffix("*")
        at = {name.removeprefix(of): i for i, name in enumerate(models) if name.startswith(of)}
        tails = [name.partition(":")[2] for name in models]
        return [(i, at[tail]) for i, tail in enumerate(tails) if at.get(tail, i) != i]
    if reference not in models:
        return ()
    place = list(models).index(reference)
    return [(i, place) for i in range(len(models)) if i != place]


def moved_by_votes(patterns: PatternCounts, measure: Measure) -> tuple[Floats, Floats, Floats]:
    """Return a measure of 2 x 2 tables of k models, (k,), and its influence values.

    Of the cells TP, FP, FN, TN, (4, k), and of the patterns, (k, m).
    """
    truth, votes, n = patterns.truth[:, None], patterns.votes, patterns.n
    tables = (truth & votes, ~truth & votes, truth & ~votes, ~truth & ~votes)
    table = Confusion(*((n @ one).astype(np.float64) for one in tables))
    each = influence(measure.function, table)
    cell = np.where(truth, np.where(votes, 0, 2), np.where(votes, 1, 3))
    values = np.asarray(measure.function(table), np.float64)
    return values, each, np.asarray(each[cell, np.arange(votes.shape[1])].T)


def by_votes(
    patterns: PatternCounts, asked: Asked, reference: str | None = None,
    without: Collection[str] = (),
) -> Together | None:  # fmt: skip
    """Return how models stand by a measure of 2 x 2 tables; None where a class has no row.

    without: models that are not among them, for want of a threshold.
    """
    if patterns.truth.all() or not patterns.truth.any():
        return None
    values, each, moved = moved_by_votes(patterns, asked.measure)
    some = [
        i for i, model in enumerate(patterns.models) if model not in without and isfinite(values[i])
    ]
    names, least = [patterns.models[i] for i in some], fewest(patterns)
    pairs = pairs_of(reference, names)
    flips = None
    if asked.measure.share is None or patterns.clusters is not None:  # not of shares of equal rows
        row = patterns.n.sum() / class_sizes(patterns, 2).sum()  # what one weighs
        flips = ((each[0] - each[2]) ** 2 + (each[1] - each[3]) ** 2)[some] * row**2
    shared = of_kinds(moved[some], patterns.n, patterns.clusters, pairs, fewest=least, flips=flips)
    return known(asked, names, values[some], shared, pairs, least)


def by_rows(
    weights: Counts | None, owners: Ints | None, asked: Asked,
    moved: Mapping[str, tuple[float, Floats]], reference: str | None, least: float, *,
    sampling: bool,
) -> Together | None:  # fmt: skip
    """Return how models stand by a measure of scores; moved: its value, f of the rows (n,)."""
    names = list(moved)
    if not names:
        return None
    pairs = pairs_of(reference, names)
    values, each = zip(*moved.values(), strict=True)
    flips = None
    if asked.measure.id in (NET_BENEFIT, AT_RISK):
        row = 1.0 if weights is None or not (sampling or owners is not None) else weights.mean()
        # f + NB is 1 of a hit, - t / (1 - t) of a false alarm, 0 of other rows
        flips = [((f.max() + nb) ** 2 + (f.min() + nb) ** 2) * row**2 for nb, f in moved.values()]
    shared = of_rows(each, weights, owners, pairs, sampling=sampling, fewest=least, flips=flips)
    return known(asked, names, np.array(values), shared, pairs, least)


def of_scores(
    asked: Asked, threshold: float | None, counts: ScoreCounts
) -> tuple[float, Influence] | None:
    """Return a measure of the scores of a model, and its influence; None where it has none.

    threshold: that in force, for a net benefit; None for 0.5.
    """
    measure = asked.measure
    if asked.name == NET_BENEFIT:
        measure = CATALOG[AT_RISK].given(t=0.5 if threshold is None else threshold)
    if measure.influence is None or measure.needs not in ("scores", "probabilities"):
        return None
    x = counts.scores
    if measure.needs == "probabilities" and len(x) and not (x[0] >= 0 and x[-1] <= 1):
        return None
    parts = (x, counts.positives, counts.negatives)
    value = float(measure.function(*parts))
    return (value, measure.influence(*parts)) if isfinite(value) else None


def row_by_row(
    asked: Asked, threshold: float | None, counts: ScoreCounts, place: Ints, truth: Bools
) -> tuple[float, Floats] | None:
    """Return a measure of the scores of a model, and the influence of its rows, (n,).

    place, truth (n,): of each row where its score is counted, and its class.
    """
    found = of_scores(asked, threshold, counts)
    if found is None:
        return None
    value, each = found
    if asked.measure.interval == "delong":
        each = as_delong(each, counts)
    return value, spread(each, place, truth)


def known(
    asked: Asked,
    models: Sequence[str],
    values: Floats,
    shared: Shared,
    pairs: PairPlaces,
    least: float,
) -> Together | None:
    """Return what is known of the models together; None where nothing is of their errors."""
    if not models or not np.isfinite(shared.covariance).all():
        return None
    return Together(asked.name, asked.measure, tuple(models), values, shared, pairs, least)


def by_worth(patterns: PatternCounts, t: float, models: Sequence[str]) -> Together | None:
    """Return how models stand by net benefit at threshold t: of votes, in few of which they differ.

    f = y s - (1 - y) s t / (1 - t) - NB of a row of truth y, called positive or not: s. Of two
    models that differ in few rows, a row more in each direction and class, half of each to one.
    """
    n, odds = patterns.n.astype(np.float64), t / (1 - t)
    places = [patterns.models.index(name) for name in models]
    added = np.where(patterns.truth[:, None], 1.0, -odds) * patterns.votes[:, places]
    values = n @ added / n.sum()
    size = patterns.rows if patterns.clusters is None else patterns.clusters.size
    found = of_kinds((added - values).T, patterns.n, patterns.clusters)
    more = (1 + odds**2) / 2 / size**2 * np.eye(len(values))
    asked = Asked(NET_BENEFIT, CATALOG[NET_BENEFIT], {})
    wider = replace(found, covariance=found.covariance + more)
    return known(asked, models, values, wider, (), fewest(patterns))


def alike(columns: Mapping[str, Ints | Floats | Bools]) -> list[list[str]]:
    """Return the names of columns that are equal in every row, two or more together."""
    near: dict[bytes, list[list[str]]] = {}
    for name, column in columns.items():
        groups = near.setdefault(column[:_BEGINNING].tobytes(), [])
        same = next((one for one in groups if np.array_equal(columns[one[0]], column)), None)
        if same is None:
            groups.append([name])
        else:
            same.append(name)
    return [names for groups in near.values() for names in groups if len(names) > 1]


def by_labels(
    patterns: ClassPatterns, asked: Asked, reference: str | None = None
) -> Together | None:
    """Return how models stand by a measure of the tables of C classes, or its mean over them."""
    form = asked.measure.classes
    if form is None or (form.of is not None and form.influence is None):
        return None
    of, influence = form.of, form.influence
    if of is None or influence is None:
        of, influence = (partial(one, asked.measure, by="macro")
                         for one in (average, average_influence))  # fmt: skip
    tables = patterns.tables
    values = np.array([float(of(table)) for table in tables])
    some = np.flatnonzero(np.isfinite(values)).tolist()
    if not some:
        return None
    moved = np.array([influence(tables[i]).reshape(-1)[patterns.cells(i)] for i in some])
    if form.of is None or asked.measure.id in OVER_CLASSES:
        moved *= wider_by(patterns)[patterns.truth]
    names, least = [patterns.models[i] for i in some], fewest(patterns, len(patterns.classes))
    pairs = pairs_of(reference, names)
    shared = of_kinds(moved, patterns.n, patterns.clusters, pairs, fewest=least)
    return known(asked, names, values[some], shared, pairs, least)


def by_probabilities(
    counted: Counted, patterns: ClassPatterns, held: Sequence[Asked], reference: str | None
) -> dict[str, Together]:
    """Return how models stand by measures of class probabilities, of models that have some."""
    moved: dict[str, dict[str, tuple[float, Floats]]] = {one.name: {} for one in held}
    first: ProbabilityRows | None = None
    for i, model in enumerate(counted.models):
        if model.kind != "classes":
            continue
        rows = counted.class_rows(i)
        first = rows if first is None else first
        if not np.array_equal(rows.truth, first.truth):
            raise RuntimeError("rows come in another order the second time")
        parts, wider = (rows.truth, rows.p, rows.n), wider_by(patterns)[rows.truth]
        for one in held:
            form = one.measure.classes
            if form is None:
                continue
            made = form.given(by="macro")
            if made.of is None or made.influence is None:
                continue
            value, each = float(made.of(*parts)), made.influence(*parts)
            if "by" in form.takes or one.measure.id in OVER_CLASSES:
                each = each * wider
            if isfinite(value):
                moved[one.name][model.name] = value, each
    if first is None:
        return {}
    least, weighed = fewest(patterns, len(patterns.classes)), counted.patterns.fractional
    found = {
        one.name: by_rows(first.weights, first.owners, one, moved[one.name], reference, least,
                          sampling=weighed)
        for one in held
    }  # fmt: skip
    return {name: one for name, one in found.items() if one is not None}


def spread(each: Influence, place: Ints, truth: Bools) -> Floats:
    """Return the influence of rows, (n,), from that of a positive and a negative at each score."""
    found = np.empty(len(place))
    for start in range(0, len(place), _BLOCK):
        part = slice(start, start + _BLOCK)
        for y in (True, False):
            rows = np.flatnonzero(truth[part] == y)
            found[rows + start] = each.at(place[part][rows], y)
    return found


def as_delong(each: Influence, counts: ScoreCounts) -> Influence:
    """Scale the influence on an area for variances within a class to be those of DeLong.

    He divides sums of squares by P - 1 and N - 1, not P and N. Not of clusters, nor of weights.
    """
    if counts.clusters is not None:
        return each
    sizes = {True: float(counts.positives.sum()), False: float(counts.negatives.sum())}
    total = sum(sizes.values())
    by = {y: sqrt(n / (n - 1) * (total - 1) / total) if n > 1 else 1.0 for y, n in sizes.items()}
    return Influence(each.m, lambda which, y: each.at(which, y) * by[y])
