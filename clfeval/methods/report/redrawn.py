"""Differences of measures without influence: rows drawn again, the same for two models at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.counted import Counted
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.rows import RowKinds, ScoredRows
from clfeval.inference.redrawn import OfDraws, of_draws
from clfeval.measures.scored import distinct
from clfeval.methods.clustered import fewest
from clfeval.methods.measured.asked import Asked
from clfeval.methods.measured.drawn import drawn_how, redraws
from clfeval.methods.options import Certainty
from clfeval.methods.report.contests import Observed
from clfeval.methods.report.together import Together, pairs_of
from clfeval.result import Estimate

Both = tuple[str, str]  # two models, by name
Measuring = Callable[[Counts], list[Floats]]  # of draws (b, m): (b,) each
OF_EACH = 8  # as many numbers of a kind of rows are made on every draw, of both models


def by_draws(
    every: ScoredRows, names: Sequence[str], held: Sequence[Asked], values: Observed,
    patterns: PatternCounts, reference: str | None, wanted: Certainty,
) -> dict[str, Together]:  # fmt: skip
    """Return how models differ by those measures of scores that have no influence values.

    names: the models of these rows; values: of all measures, None where one is undefined.
    """
    some = [
        one for one in held
        if one.needs in ("scores", "probabilities") and one.measure.influence is None
    ]  # fmt: skip

    def drawn(pair: Both) -> Floats:
        places = [names.index(one) for one in pair]
        kinds = every.pair(*places)
        truth = every.truth[kinds.first]
        sides = [_of_scores(every.scores[i][kinds.first], truth, some) for i in places]
        return _drawn(pair, kinds, sides, wanted)

    return _told(
        some, names, values, reference, fewest(patterns), wanted,
        lambda pairs: every.side_by_side(drawn, pairs),
    )  # fmt: skip


def by_draws_of_classes(
    counted: Counted, held: Sequence[Asked], values: Observed, patterns: ClassPatterns,
    reference: str | None, wanted: Certainty,
) -> dict[str, Together]:  # fmt: skip
    """Return the same of class probabilities, of models that have some."""
    some = [
        one for one in held
        if one.needs == "probabilities" and one.measure.classes is not None
        and one.measure.classes.of is not None and one.measure.classes.influence is None
    ]  # fmt: skip
    at = {model.name: i for i, model in enumerate(counted.models) if model.kind == "classes"}

    def drawn(pair: Both) -> Floats:
        one, other = (counted.class_rows(at[name]) for name in pair)
        weighed = patterns.fractional and one.owners is None
        columns = (*one.p.T, *other.p.T, one.truth)
        kinds = RowKinds.of(columns, one.weights, one.owners, weighed=weighed)
        truth = one.truth[kinds.first]
        sides = [_of_classes(rows.p[kinds.first], truth, some) for rows in (one, other)]
        return _drawn(pair, kinds, sides, wanted)

    least = fewest(patterns, len(patterns.classes))
    return _told(some, [*at], values, reference, least, wanted, lambda pairs: map(drawn, pairs))


def _told(
    held: Sequence[Asked], names: Sequence[str], values: Observed, reference: str | None,
    least: float, wanted: Certainty, drawn: Callable[[Sequence[Both]], Iterable[Floats]],
) -> dict[str, Together]:  # fmt: skip
    """Return what draws, (measures, r) of each pair of models by name, tell by each measure."""
    none, level = Estimate(None), wanted.level or 0.95
    models = {
        one.name: [name for name in names if values.get((name, one.name), none).value is not None]
        for one in held
    }
    pairs = {name: pairs_of(reference, some) for name, some in models.items()}
    both = dict.fromkeys(
        _by_name(some[i], some[j]) for name, some in models.items() for i, j in pairs[name]
    )
    draws, found = dict(zip(both, drawn([*both]), strict=True)), dict[str, Together]()
    for place, one in enumerate(held):
        mine, apart, how = models[one.name], list[tuple[float, ...]](), list[str]()
        value = np.array([values[name, one.name].value for name in mine], np.float64)
        for i, j in pairs[one.name]:
            turn = 1 if mine[i] < mine[j] else -1
            each = turn * draws[_by_name(mine[i], mine[j])][place]
            size = float(np.abs(value[[i, j]]).max())
            apart.append(
                of_draws(float(value[i] - value[j]), each, size, level=level, fewest=least)
            )
            how.append(drawn_how(len(each), int(np.isnan(each).sum()), wanted))
        if apart:
            error, df, low, high = np.array(apart).T
            shared = OfDraws(error, df, low, high, level, how)
            found[one.name] = Together(
                one.name, one.measure, tuple(mine), value, shared, pairs[one.name], least
            )
    return found


def _by_name(one: str, other: str) -> Both:
    return (one, other) if one < other else (other, one)


def _drawn(pair: Both, kinds: RowKinds, sides: Sequence[Measuring], wanted: Certainty) -> Floats:
    """Return by how much the first of two models is more, by each measure on each draw: (k, r)."""
    name = "difference\0{}\0{}".format(*pair)
    blocks = [
        [np.array(side(draws)) for side in sides]
        for draws in redraws(kinds.n, kinds.clusters, wanted, name, each=OF_EACH)
    ]
    return np.concatenate([one - other for one, other in blocks], axis=1)


def _of_scores(x: Floats, truth: Bools, held: Sequence[Asked]) -> Measuring:
    """Return what measures a model on draws of kinds of rows: scores x, truth (m,)."""
    order = np.argsort(x, kind="stable")
    starts = distinct(x[order])
    scores, hit = x[order][starts], truth[order]

    def measured(draws: Counts) -> list[Floats]:
        ordered = draws[:, order]
        positives, n = (np.add.reduceat(one, starts, axis=1) for one in (ordered * hit, ordered))
        parts = (scores, positives, n - positives)
        return [np.broadcast_to(one.measure.function(*parts), len(draws)) for one in held]

    return measured


def _of_classes(p: Floats, truth: Ints, held: Sequence[Asked]) -> Measuring:
    """Return the same of class probabilities, p (m, C)."""
    forms = [one.measure.classes for one in held]

    def measured(draws: Counts) -> list[Floats]:
        return [np.broadcast_to(form.of(truth, p, draws), len(draws))
                for form in forms if form is not None and form.of is not None]  # fmt: skip

    return measured
