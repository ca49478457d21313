"""Leading models by class ratio: all pairs compared, the table of winners, and a reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import pi
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Floats, Ints, divide
from clfeval.compare.change import EQUIVALENT, NOT_WORSE, UNDECIDED, Change, estimate_or_none
from clfeval.compare.families import adjusted_family, family_pairs, reference_rows
from clfeval.compare.paired_estimates import RateCovariance, RateEstimates
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.counts.sample import Sample
from clfeval.document import Estimate, Row
from clfeval.inference.distributions import simultaneous_level
from clfeval.inference.influence_and_clusters import mean_covariance
from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import Measure, Population
from clfeval.methods.estimates import Cells, concatenate_counts, estimate_column
from clfeval.methods.measurement.label_measures import class_sizes, effective_class_sizes
from clfeval.methods.tune_jpt.options import TuneOptions
from clfeval.methods.tune_jpt.tables import slice_populations
from clfeval.records import dataclass, replace

MOST_PAIRED = 30  # models up to which all pairs are compared by default
_EQUAL = 1e-12  # relative; a smaller difference is rounding


def rate_covariance(counts: ConfusionCounts, patterns: Sequence[PatternCounts]) -> RateCovariance:
    """Return the covariance of the rates of the models of s parts; patterns: of each part, or none.

    V = (n_ij - n_i n_j / n) / n² M / (M - 1) within a class of n rows, of M in all, n_ij of which
    both models predict positive. Over clusters, and weighted rows, C / (C - 1) times the sum of F
    F', F the sum of influence values of a cluster.
    """
    if patterns:
        parts = [_of_patterns(one) for one in patterns]
        covariance, differ, sizes, weight, drawn = map(np.array, zip(*parts, strict=True))
        k = len(counts.models) // len(parts)
        return RateCovariance(
            counts,
            covariance,
            np.concatenate([*differ], axis=1),
            np.repeat(sizes.T, k, axis=1),
            np.repeat(weight, k),
            np.repeat(drawn, k),
        )
    sizes, total = np.stack([counts.positives, counts.negatives]), counts.rows
    rates = divide(np.stack([counts.tp, counts.fp]), sizes)
    covariance = divide(rates * (1 - rates), sizes) * divide(total, total - 1)
    return RateCovariance(
        counts, covariance, None, sizes.astype(np.float64), np.ones(len(total)), total
    )


def _of_patterns(one: PatternCounts) -> tuple[Floats, Bools, Floats, float, float]:
    """Return covariance, differ, sizes, weight and parts of `RateCovariance` of a part."""
    k, owned = len(one.models), one.clusters
    differ, blocks, influence = np.zeros((2, k, k), bool), [], []
    for side, mine in enumerate((one.truth, ~one.truth)):
        votes = one.votes[mine].T.astype(np.float64)
        both = (votes * one.n[mine]) @ votes.T
        size, called = float(one.n[mine].sum()), np.diag(both)
        differ[side] = called[:, None] + called - 2 * both > 0
        blocks.append(divide(both - divide(np.outer(called, called), size), size**2))
        influence.append(divide((one.votes.T - divide(called, size)[:, None]) * mine, size))
    parts = float(one.n.sum()) if owned is None else owned.size
    if owned is None:
        nothing = np.zeros((k, k))
        products = np.block([[blocks[0], nothing], [nothing, blocks[1]]])
    else:
        products = owned.products(np.concatenate(influence))
    weight = float(one.n.sum() / class_sizes(one, 2).sum())
    sizes = effective_class_sizes(one, 2)[::-1]  # of negatives first
    return mean_covariance(products, 1.0, parts), differ, sizes, weight, parts


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseComparison:
    """The measure of comparison of k models in each of s parts; level None: no intervals."""

    measure: Measure
    counts: ConfusionCounts
    rates: RateCovariance | None
    level: float | None
    parts: int = 1

    @property
    def models_per_part(self) -> int:
        """The number of models in a part."""
        return len(self.counts.models) // self.parts

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return -1 if self.measure.best == "min" else 1

    def function(self, models: Ints, ratios: Floats) -> Floats:
        """Return the measure of models at ratios, (m,) each."""
        found = self.measure.function(Cells.picked(self.counts, models, ratios).tuned)
        return np.asarray(found, np.float64)

    def simultaneous(self, comparisons: int, *, everywhere: bool = False) -> PairwiseComparison:
        """Return the comparison with simultaneous intervals, everywhere: at every class ratio.

        The direction turns by a quarter at most for measures increasing in both rates, with
        clusters of both classes by a half: see `simultaneous_level`.
        """
        if self.rates is None or self.level is None:
            return self
        most = pi if self.rates.crossed else pi / 2
        turn = 0.0 if self.measure.invariant or not everywhere else most
        level = simultaneous_level(self.level, comparisons=max(comparisons, 1), turn=turn)
        return replace(self, level=level)

    def signs(self, a: Floats, b: Floats) -> Floats:
        """Return 1 where the first value is better, -1 where the second is, 0: up to rounding."""
        with np.errstate(invalid="ignore"):
            gap = self.sign * (a - b)
            same = np.isfinite(gap) & (np.abs(gap) <= _EQUAL * np.maximum(np.abs(a), np.abs(b)))
        return np.where(same | (a == b), 0.0, np.sign(gap))

    def leads(self, first: Ints, second: Ints, ratios: Floats) -> Bools:
        """Return whether `first` is significantly better than `second` at ratios, (m,) each."""
        places, models = np.arange(len(first)), np.concatenate([first, second])
        return self.significant(places, places + len(first), models, np.tile(ratios, 2))

    def significant(self, first: Ints, second: Ints, models: Ints, ratios: Floats) -> Bools:
        """Return whether intervals of differences exclude 0, (q,); models, ratios: (e,)."""
        if self.rates is None or self.level is None or not len(first):
            return np.zeros(len(first), bool)
        known = self.rates.measures_at_odds(self.measure, models, ratios)
        _, low, high = known.intervals(first, second, level=self.level)
        return np.asarray((low > 0) if self.sign > 0 else (high < 0))


def compare_pairs(
    given: Sample, labels: Sequence[str | None], options: TuneOptions
) -> PairwiseComparison:
    """Return the pairwise comparison of models in slices with equally many models."""
    patterns = [given.patterns[label] for label in labels if label in given.patterns]
    _, counts = concatenate_counts({label: given.slices[label] for label in labels})
    level = options.confidence if given.sampled else None
    measure = CATALOG[str(options.compared)].with_settings(
        beta=options.beta, stakes=options.outcome_costs
    )
    rates = None if level is None else rate_covariance(counts, patterns)
    return PairwiseComparison(measure, counts, rates, level, parts=len(labels))


def reference_comparisons(given: Sample, options: TuneOptions, reference: str) -> Iterator[Row]:
    """Yield differences from a reference at each target, by `ppv:prevalence=0.02` and the like."""
    contest = compare_pairs(given, [None], options)
    places = slice_populations(given, None, options)
    kind = "target" if options.populations else places[0][0]
    models, level = np.arange(contest.models_per_part), contest.level or 0.0
    for its, population in places:
        if its != kind or contest.rates is None:
            continue
        known = contest.rates.measures_at_odds(
            contest.measure, models, np.full(len(models), population.ratio)
        )
        at = "" if kind == "sample" else f":prevalence={population.prevalence:.6g}"
        one = known.paired(f"{contest.measure.id}{at}", models)
        pairs = family_pairs(reference, one.models)
        family = adjusted_family(one, pairs, level=level, seed=options.seed)
        if family is not None:
            values = [Estimate(value) for value in one.values.tolist()]
            rows, margin = float(contest.counts.rows[0]), options.least_difference
            yield from reference_rows(family, values, rows, reference, margin=margin)


def winner_rows(
    labels: Sequence[str | None],
    contest: PairwiseComparison,
    places: Sequence[tuple[int, str, Population]],
    options: TuneOptions,
) -> Iterator[Row]:
    """Yield, per population of a part, the model with the best value, and those tied with it.

    `winner` is that model where every other one is significantly worse; else None, and `tied`
    names the models that are not. All pairs of a population are adjusted by the joint maximum, of
    many models by Bonferroni's rule, swept rows as crossings. With a margin also the verdict on the
    leader, models `equivalent` to it, and those `possibly_better` by the margin.

    places: the part, the kind (all swept, or none) and the population of each row.
    """
    if not places:
        return
    k, names, measure = contest.models_per_part, contest.counts.models, contest.measure
    margin = options.least_difference
    ratios = np.array([population.ratio for *_, population in places])
    start, at = np.array([part for part, *_ in places]) * k, np.arange(len(places))
    every, odds = (start[:, None] + np.arange(k)).ravel(), np.repeat(ratios, k)
    values = contest.function(every, odds).reshape(len(places), k)
    leaders = np.where(np.isnan(values), -np.inf, contest.sign * values).argmax(axis=1)
    p, ends = np.full(values.shape, np.nan), np.full((3, *values.shape), np.nan)
    levels = np.ones(len(places))
    if contest.rates is not None:
        known = contest.rates.measures_at_odds(measure, every, odds)
        first = np.repeat(at * k + leaders, k)
        p = known.p_values(first, np.arange(len(every))).reshape(values.shape)
        levels = _interval_levels(contest, known, p, options, everywhere=places[0][1] == "sweep")
        for i in range(len(places)) if margin is not None else ():
            here = slice(i * k, (i + 1) * k)
            ends[:, i] = known.intervals(first[here], np.arange(len(every))[here], level=levels[i])
    tied = ~(p < 1 - levels[:, None])
    if contest.sign < 0:
        ends = -ends[[0, 2, 1]]
    cells = Cells.picked(contest.counts, start + leaders, ratios)
    best = estimate_column(values[at, leaders], None, cells, measure.undefined_at_odds)
    columns = (x.tolist() for x in (start, leaders, np.isnan(values), tied, *ends))
    for (part, kind, population), value, begin, leader, unknown, ties, *leads in zip(
        places, best, *columns, strict=True
    ):
        its = names[begin : begin + k]
        others = [j for j in range(k) if j != leader and not unknown[j]]
        undecided = [its[j] for j in others if ties[j]]
        defined = not unknown[leader]
        called = defined and not undecided and bool(others) and contest.level is not None
        row: dict[str, Any] = {
            "slice": labels[part],
            "measure": measure.id,
            "population": kind,
            "prevalence": population.prevalence,
            "odds": population.odds,
            "ratio": population.ratio,
            "leader": its[leader] if defined else None,
            "value": value,
            "winner": its[leader] if called else None,
            "tied": undecided if defined else [],
        }
        if margin is not None:
            by = {its[j]: estimate_or_none(*(x[j] for x in leads)) for j in others if defined}
            row |= _margin_cells(by, margin)
        yield row


def _interval_levels(
    contest: PairwiseComparison,
    known: RateEstimates,
    p: Floats,
    options: TuneOptions,
    *,
    everywhere: bool,
) -> Floats:
    """Return the level of intervals for all pairs of each row, (g,): joint or `together`."""
    g, k = p.shape
    alone = contest.level or 0.0
    levels = np.full(g, contest.simultaneous(k * (k - 1) // 2, everywhere=everywhere).level)
    if everywhere or k > MOST_PAIRED:
        return levels
    # the joint maximum lies between Bonferroni's rule and each pair by itself
    matters = ((p < 1 - alone) & (p >= 1 - levels[:, None])).any(axis=1)
    for i in np.flatnonzero(matters | (options.least_difference is not None)).tolist():
        one = known.paired(contest.measure.id, np.arange(i * k, (i + 1) * k))
        pairs = family_pairs(None, one.models)
        family = adjusted_family(one, pairs, level=alone, seed=options.seed)
        levels[i] = levels[i] if family is None else family.each_level
    return levels


def _margin_cells(leads: Mapping[str, Estimate], margin: float) -> dict[str, Any]:
    """Return the cells that compare the leader with the other models by the margin."""
    none, kinds, lows = Estimate(None), dict[str, str | None](), list[float]()
    for name, one in leads.items():
        if one.low is not None:
            change = Change(none, none, one, float(one.low <= 0))
            kinds[name] = change.verdict("", 0.5, margin=margin, best="max")
            lows.append(one.low)
    found, together = {*kinds.values()}, None
    if kinds and len(kinds) == len(leads):
        mixed = UNDECIDED if UNDECIDED in found else NOT_WORSE
        together = found.pop() if len(found) == 1 else mixed
    return {
        "verdict": together,
        "least_lead": min(lows, default=None),
        "equivalent": [name for name, one in kinds.items() if one == EQUIVALENT],
        "possibly_better": [name for name, one in kinds.items() if one == UNDECIDED],
    }
