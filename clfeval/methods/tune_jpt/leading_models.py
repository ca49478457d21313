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
from clfeval.document.cells import Estimate, Row, as_row
from clfeval.inference.distributions import simultaneous_level
from clfeval.inference.influence_and_clusters import mean_covariance
from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import Measure, Population
from clfeval.methods.estimates import Cells, Estimates, concatenate_counts, estimate_column
from clfeval.methods.few_clusters import confidence_level
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
        parts = [_part_covariance(part) for part in patterns]
        covariance, differ, sizes, weight, rows = map(np.array, zip(*parts, strict=True))
        k = len(counts.models) // len(parts)
        return RateCovariance(
            counts,
            covariance,
            np.concatenate([*differ], axis=1),
            np.repeat(sizes.T, k, axis=1),
            np.repeat(weight, k),
            np.repeat(rows, k),
        )
    sizes = np.stack([counts.positives, counts.negatives])
    total = counts.rows
    rates = divide(np.stack([counts.tp, counts.fp]), sizes)
    covariance = divide(rates * (1 - rates), sizes) * divide(total, total - 1)
    return RateCovariance(
        counts, covariance, None, sizes.astype(np.float64), np.ones(len(total)), total
    )


def _part_covariance(patterns: PatternCounts) -> tuple[Floats, Bools, Floats, float, float]:
    """Return covariance, differ, sizes, weight and parts of `RateCovariance` of a part."""
    n = patterns.n
    clusters = patterns.clusters
    classes = [_class_covariance(patterns, rows) for rows in (patterns.truth, ~patterns.truth)]
    covariances, differ, influence = zip(*classes, strict=True)
    if clusters is None:
        units = float(n.sum())
        independent = np.zeros_like(covariances[0])
        products = np.block([[covariances[0], independent], [independent, covariances[1]]])
    else:
        units = 0.0 if clusters.too_few else clusters.size
        products = clusters.products(np.concatenate(influence))
    weight = float(n.sum() / class_sizes(patterns, 2).sum())
    sizes = effective_class_sizes(patterns, 2)[::-1]  # of negatives first
    return mean_covariance(products, 1.0, units), np.array(differ), sizes, weight, units


def _class_covariance(patterns: PatternCounts, rows: Bools) -> tuple[Floats, Bools, Floats]:
    """Return the covariance of the rates of k models in a class of independent rows, (k, k).

    Also which models differ in some row of it, (k, k), and the influence values, (k, p).
    """
    n = patterns.n[rows]
    votes = patterns.votes[rows].T.astype(np.float64)
    joint_positives = (votes * n) @ votes.T
    positives = np.diag(joint_positives)
    size = float(n.sum())
    differ = positives[:, None] + positives - 2 * joint_positives > 0
    expected = divide(np.outer(positives, positives), size)
    covariance = divide(joint_positives - expected, size**2)
    residuals = (patterns.votes.T - divide(positives, size)[:, None]) * rows
    return covariance, differ, divide(residuals, size)


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
        values = self.measure.function(Cells.picked(self.counts, models, ratios).tuned)
        return np.asarray(values, np.float64)

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
            is_equal = np.isfinite(gap) & (np.abs(gap) <= _EQUAL * np.maximum(np.abs(a), np.abs(b)))
        return np.where(is_equal | (a == b), 0.0, np.sign(gap))

    def leads(self, first: Ints, second: Ints, ratios: Floats) -> Bools:
        """Return whether `first` is significantly better than `second` at ratios, (m,) each."""
        places = np.arange(len(first))
        models = np.concatenate([first, second])
        return self.significant(places, places + len(first), models, np.tile(ratios, 2))

    def significant(self, first: Ints, second: Ints, models: Ints, ratios: Floats) -> Bools:
        """Return whether intervals of differences exclude 0, (q,); models, ratios: (e,)."""
        if self.rates is None or self.level is None or not len(first):
            return np.zeros(len(first), bool)
        estimates = self.rates.measures_at_odds(self.measure, models, ratios)
        _, low, high = estimates.intervals(first, second, level=self.level)
        return np.asarray((low > 0) if self.sign > 0 else (high < 0))


def compare_pairs(
    sample: Sample, labels: Sequence[str | None], options: TuneOptions
) -> PairwiseComparison:
    """Return the pairwise comparison of models in slices with equally many models."""
    patterns = [sample.patterns[label] for label in labels if label in sample.patterns]
    _, counts = concatenate_counts({label: sample.slices[label] for label in labels})
    level = confidence_level(sample.patterns, options.confidence) if sample.sampled else None
    measure = CATALOG[str(options.compared)].with_settings(
        beta=options.beta, stakes=options.outcome_costs
    )
    rates = None if level is None else rate_covariance(counts, patterns)
    return PairwiseComparison(measure, counts, rates, level, parts=len(labels))


def reference_comparisons(sample: Sample, options: TuneOptions, reference: str) -> Iterator[Row]:
    """Yield differences from a reference at each target, by `ppv:prevalence=0.02` and the like."""
    contest = compare_pairs(sample, [None], options)
    places = slice_populations(sample, None, options)
    kind = "target" if options.populations else places[0][0]
    models = np.arange(contest.models_per_part)
    level = contest.level or 0.0
    for place_kind, population in places:
        if place_kind != kind or contest.rates is None:
            continue
        measures = contest.rates.measures_at_odds(
            contest.measure, models, np.full(len(models), population.ratio)
        )
        suffix = "" if kind == "sample" else f":prevalence={population.prevalence:.6g}"
        estimates = measures.paired(f"{contest.measure.id}{suffix}", models)
        pairs = family_pairs(reference, estimates.models)
        family = adjusted_family(estimates, pairs, level=level, seed=options.seed)
        if family is not None:
            values = [Estimate(value) for value in estimates.values.tolist()]
            rows = float(contest.counts.rows[0])
            margin = options.least_difference
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
    margin = options.least_difference
    is_tested = contest.level is not None
    leaders = _leading_models(contest, places, options)
    for (part, kind, population), leader in zip(places, leaders, strict=True):
        row: dict[str, Any] = {
            "slice": labels[part],
            "measure": contest.measure.id,
            "population": kind,
            "prevalence": population.prevalence,
            "odds": population.odds,
            "ratio": population.ratio,
            **leader.cells(is_tested=is_tested),
        }
        if margin is not None:
            row |= _margin_cells(leader.lead_estimates(), margin)
        yield as_row(row)


@dataclass(frozen=True, slots=True, eq=False)
class LeadingModel:
    """The best of k models at a class ratio, compared with the other models.

    place: of the best model; value: of its measure. undefined: models without a value; tied: models
    not significantly worse. leads: the lead over each model, with lower and upper limit, (3, k).
    """

    models: Sequence[str]
    place: int
    value: Estimate
    undefined: Sequence[bool]
    tied: Sequence[bool]
    leads: Sequence[Sequence[float]]

    @property
    def defined(self) -> bool:
        """True if the measure of some model is defined."""
        return not self.undefined[self.place]

    @property
    def rivals(self) -> list[int]:
        """The places of the other models that have a value."""
        places = range(len(self.models))
        return [j for j in places if j != self.place and not self.undefined[j]]

    def cells(self, *, is_tested: bool) -> dict[str, Any]:
        """Return the columns `leader`, `value`, `winner` and `tied`; is_tested: with a level."""
        name = self.models[self.place]
        rivals = self.rivals
        tied = [self.models[j] for j in rivals if self.tied[j]]
        wins = self.defined and not tied and bool(rivals) and is_tested
        return {
            "leader": name if self.defined else None,
            "value": self.value,
            "winner": name if wins else None,
            "tied": tied if self.defined else [],
        }

    def lead_estimates(self) -> dict[str, Estimate]:
        """Return the lead over each other model; none where the measure is undefined."""
        values, lower, upper = self.leads
        rivals = self.rivals if self.defined else []
        return {self.models[j]: estimate_or_none(values[j], lower[j], upper[j]) for j in rivals}


@dataclass(frozen=True, slots=True, eq=False)
class ModelsAtRatios:
    """The k models of a part at each of g class ratios, and the best of them.

    ratios, starts (g,): the class ratio, and which of all models is the first of the part; values
    (g, k), NaN where undefined; best (g,): the place of the best model in its part.
    """

    ratios: Floats
    starts: Ints
    values: Floats
    best: Ints

    @property
    def models(self) -> Ints:
        """The models of each ratio among all, (g k,)."""
        return _models_of_parts(self.starts, self.values.shape[1])

    @classmethod
    def from_places(
        cls, contest: PairwiseComparison, places: Sequence[tuple[int, str, Population]]
    ) -> ModelsAtRatios:
        """Compute the measure of all models at the place of each row; of equal ones the first."""
        k = contest.models_per_part
        ratios = np.array([population.ratio for *_, population in places])
        starts = np.array([part for part, *_ in places]) * k
        values = contest.function(_models_of_parts(starts, k), np.repeat(ratios, k))
        values = values.reshape(len(places), k)
        best = np.where(np.isnan(values), -np.inf, contest.sign * values).argmax(axis=1)
        return cls(ratios, starts, values, best)

    def best_estimates(self, contest: PairwiseComparison) -> Estimates:
        """Return the values of the best models."""
        cells = Cells.picked(contest.counts, self.starts + self.best, self.ratios)
        values = self.values[np.arange(len(self.best)), self.best]
        return estimate_column(values, None, cells, contest.measure.undefined_at_odds)


def _models_of_parts(starts: Ints, k: int) -> Ints:
    """Return the k models from each start, (g k,)."""
    return (starts[:, None] + np.arange(k)).ravel()


def _leading_models(
    contest: PairwiseComparison, places: Sequence[tuple[int, str, Population]], options: TuneOptions
) -> Iterator[LeadingModel]:
    """Yield the best model of each place; of equal values the first."""
    k = contest.models_per_part
    names = contest.counts.models
    at_ratios = ModelsAtRatios.from_places(contest, places)
    tests = _test_leaders(contest, at_ratios, options, swept=places[0][1] == "sweep")
    undefined = np.isnan(at_ratios.values)
    columns = (at_ratios.starts, at_ratios.best, undefined, tests.tied, tests.leads)
    for estimate, start, *leader in zip(
        at_ratios.best_estimates(contest), *(column.tolist() for column in columns), strict=True
    ):
        place, is_undefined, tied, leads = leader
        yield LeadingModel(names[start : start + k], place, estimate, is_undefined, tied, leads)


@dataclass(frozen=True, slots=True, eq=False)
class LeaderTests:
    """Tests of the best of k models at each of g class ratios against every model.

    tied (g, k): not significantly worse. leads (g, 3, k): the lead, lower and upper limit, NaN
    without a margin.
    """

    tied: Bools
    leads: Floats


def _test_leaders(
    contest: PairwiseComparison, at_ratios: ModelsAtRatios, options: TuneOptions, *, swept: bool
) -> LeaderTests:
    """Test the best model at each class ratio against all models of its part."""
    g, k = at_ratios.values.shape
    leads = np.full((g, 3, k), np.nan)
    if contest.rates is None:
        return LeaderTests(np.ones((g, k), bool), leads)
    odds = np.repeat(at_ratios.ratios, k)
    estimates = contest.rates.measures_at_odds(contest.measure, at_ratios.models, odds)
    first = np.repeat(np.arange(g) * k + at_ratios.best, k)
    second = np.arange(g * k)
    p = estimates.p_values(first, second).reshape(g, k)
    levels = _interval_levels(contest, estimates, p, options, everywhere=swept)
    if options.least_difference is not None:
        for i in range(g):
            rows = slice(i * k, (i + 1) * k)
            leads[i] = estimates.intervals(first[rows], second[rows], level=levels[i])
    if contest.sign < 0:
        leads = -leads[:, [0, 2, 1]]
    return LeaderTests(~(p < 1 - levels[:, None]), leads)


def _interval_levels(
    contest: PairwiseComparison,
    estimates: RateEstimates,
    p: Floats,
    options: TuneOptions,
    *,
    everywhere: bool,
) -> Floats:
    """Return the level of intervals for all pairs of each row, (g,): joint or `together`."""
    g, k = p.shape
    level = contest.level or 0.0
    levels = np.full(g, contest.simultaneous(k * (k - 1) // 2, everywhere=everywhere).level)
    if everywhere or k > MOST_PAIRED:
        return levels
    # the joint maximum lies between Bonferroni's rule and each pair by itself
    matters = ((p < 1 - level) & (p >= 1 - levels[:, None])).any(axis=1)
    for i in np.flatnonzero(matters | (options.least_difference is not None)).tolist():
        paired = estimates.paired(contest.measure.id, np.arange(i * k, (i + 1) * k))
        pairs = family_pairs(None, paired.models)
        family = adjusted_family(paired, pairs, level=level, seed=options.seed)
        levels[i] = levels[i] if family is None else family.each_level
    return levels


def _margin_cells(leads: Mapping[str, Estimate], margin: float) -> dict[str, Any]:
    """Return the cells that compare the leader with the other models by the margin."""
    none = Estimate(None)
    verdicts: dict[str, str | None] = {}
    limits: list[float] = []
    for name, lead in leads.items():
        if lead.low is not None:
            change = Change(none, none, lead, float(lead.low <= 0))
            verdicts[name] = change.verdict("", 0.5, margin=margin, best="max")
            limits.append(lead.low)
    distinct = {*verdicts.values()}
    verdict = None
    if verdicts and len(verdicts) == len(leads):
        mixed = UNDECIDED if UNDECIDED in distinct else NOT_WORSE
        verdict = distinct.pop() if len(distinct) == 1 else mixed
    return {
        "verdict": verdict,
        "least_lead": min(limits, default=None),
        "equivalent": [name for name, kind in verdicts.items() if kind == EQUIVALENT],
        "possibly_better": [name for name, kind in verdicts.items() if kind == UNDECIDED],
    }
