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
        part_covariances = [_part_covariance(part) for part in patterns]
        covariances, differ, sizes, weights, row_counts = map(
            np.array, zip(*part_covariances, strict=True)
        )
        k = len(counts.models) // len(part_covariances)
        return RateCovariance(
            counts,
            covariances,
            np.concatenate([*differ], axis=1),
            np.repeat(sizes.T, k, axis=1),
            np.repeat(weights, k),
            np.repeat(row_counts, k),
        )
    sizes = np.stack([counts.positives, counts.negatives])
    row_totals = counts.rows
    rates = divide(np.stack([counts.tp, counts.fp]), sizes)
    covariance = divide(rates * (1 - rates), sizes) * divide(row_totals, row_totals - 1)
    return RateCovariance(
        counts, covariance, None, sizes.astype(np.float64), np.ones(len(row_totals)), row_totals
    )


def _part_covariance(patterns: PatternCounts) -> tuple[Floats, Bools, Floats, float, float]:
    """Return covariance, differ, sizes, weight and parts of `RateCovariance` of a part."""
    n = patterns.n  # rows of each pattern
    clusters = patterns.clusters
    class_covariances = [
        _class_covariance(patterns, rows) for rows in (patterns.truth, ~patterns.truth)
    ]
    covariances, differ, class_influence = zip(*class_covariances, strict=True)
    if clusters is None:
        unit_count = float(n.sum())
        no_covariance = np.zeros_like(covariances[0])
        products = np.block([[covariances[0], no_covariance], [no_covariance, covariances[1]]])
    else:
        unit_count = 0.0 if clusters.too_few else clusters.size
        products = clusters.products(np.concatenate(class_influence))
    weight = float(n.sum() / class_sizes(patterns, 2).sum())
    sizes = effective_class_sizes(patterns, 2)[::-1]  # of negatives first
    return mean_covariance(products, 1.0, unit_count), np.array(differ), sizes, weight, unit_count


def _class_covariance(patterns: PatternCounts, in_class: Bools) -> tuple[Floats, Bools, Floats]:
    """Return the covariance of the rates of k models in a class of independent rows, (k, k).

    in_class: which patterns are of the class. Also returns which models differ in some row of it,
    (k, k), and the influence values, (k, p).
    """
    n = patterns.n[in_class]
    model_votes = patterns.votes[in_class].T.astype(np.float64)
    joint_positives = (model_votes * n) @ model_votes.T
    positives = np.diag(joint_positives)
    class_total = float(n.sum())
    is_different = positives[:, None] + positives - 2 * joint_positives > 0
    independent_positives = divide(np.outer(positives, positives), class_total)
    covariance = divide(joint_positives - independent_positives, class_total**2)
    residuals = (patterns.votes.T - divide(positives, class_total)[:, None]) * in_class
    return covariance, is_different, divide(residuals, class_total)


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
        largest_turn = pi if self.rates.crossed else pi / 2
        turn = 0.0 if self.measure.invariant or not everywhere else largest_turn
        level = simultaneous_level(self.level, comparisons=max(comparisons, 1), turn=turn)
        return replace(self, level=level)

    def signs(self, a: Floats, b: Floats) -> Floats:
        """Return 1 where the first value is better, -1 where the second is, 0: up to rounding."""
        with np.errstate(invalid="ignore"):
            advantage = self.sign * (a - b)
            is_equal = np.isfinite(advantage) & (
                np.abs(advantage) <= _EQUAL * np.maximum(np.abs(a), np.abs(b))
            )
        return np.where(is_equal | (a == b), 0.0, np.sign(advantage))

    def leads(self, first: Ints, second: Ints, ratios: Floats) -> Bools:
        """Return whether `first` is significantly better than `second` at ratios, (m,) each."""
        indices = np.arange(len(first))
        models = np.concatenate([first, second])
        return self.significant(indices, indices + len(first), models, np.tile(ratios, 2))

    def significant(self, first: Ints, second: Ints, models: Ints, ratios: Floats) -> Bools:
        """Return whether `first` is significantly better than `second`.

        first, second (q,): indices of estimates. models, ratios (e,): those of each estimate.
        """
        if self.rates is None or self.level is None or not len(first):
            return np.zeros(len(first), bool)
        estimates = self.rates.measures_at_odds(self.measure, models, ratios)
        _, low, high = estimates.intervals(first, second, level=self.level)
        return np.asarray((low > 0) if self.sign > 0 else (high < 0))


def compare_pairs(
    sample: Sample, slice_names: Sequence[str | None], options: TuneOptions
) -> PairwiseComparison:
    """Return the pairwise comparison of models in slices with equally many models."""
    patterns = [
        sample.patterns[slice_name] for slice_name in slice_names if slice_name in sample.patterns
    ]
    _, counts = concatenate_counts(
        {slice_name: sample.slices[slice_name] for slice_name in slice_names}
    )
    level = confidence_level(sample.patterns, options.confidence) if sample.sampled else None
    measure = CATALOG[str(options.compared)].with_settings(
        beta=options.beta, stakes=options.outcome_costs
    )
    rates = None if level is None else rate_covariance(counts, patterns)
    return PairwiseComparison(measure, counts, rates, level, parts=len(slice_names))


def reference_comparisons(sample: Sample, options: TuneOptions, reference: str) -> Iterator[Row]:
    """Yield differences from a reference at each target, by `ppv:prevalence=0.02` and the like."""
    contest = compare_pairs(sample, [None], options)
    places = slice_populations(sample, None, options)
    tested_kind = "target" if options.populations else places[0][0]
    model_indices = np.arange(contest.models_per_part)
    level = contest.level or 0.0
    for kind, population in places:
        if kind != tested_kind or contest.rates is None:
            continue  # no tests of other populations, and none without intervals
        ratio_estimates = contest.rates.measures_at_odds(
            contest.measure, model_indices, np.full(len(model_indices), population.ratio)
        )
        suffix = "" if tested_kind == "sample" else f":prevalence={population.prevalence:.6g}"
        estimates = ratio_estimates.paired(f"{contest.measure.id}{suffix}", model_indices)
        model_pairs = family_pairs(reference, estimates.models)
        family = adjusted_family(estimates, model_pairs, level=level, seed=options.seed)
        if family is not None:
            value_estimates = [Estimate(value) for value in estimates.values.tolist()]
            row_total = float(contest.counts.rows[0])
            margin = options.least_difference
            yield from reference_rows(family, value_estimates, row_total, reference, margin=margin)


def winner_rows(
    slice_names: Sequence[str | None],
    contest: PairwiseComparison,
    places: Sequence[tuple[int, str, Population]],
    options: TuneOptions,
) -> Iterator[Row]:
    """Yield, per population of a part, the model with the best value, and those tied with it.

    `winner` is that model where every other one is significantly worse; else None, and `tied` names
    the models that are not. All pairs of a population are adjusted by the joint maximum, of many
    models by Bonferroni's rule, swept rows as crossings are. With a margin also the verdict on the
    leader, models `equivalent` to it, and those `possibly_better` by the margin.

    places: the part, the kind (all swept, or none) and the population of each row.
    """
    if not places:
        return
    margin = options.least_difference
    is_tested = contest.level is not None
    leading_models = _leading_models(contest, places, options)
    for (part_index, kind, population), leading_model in zip(places, leading_models, strict=True):
        row: dict[str, Any] = {
            "slice": slice_names[part_index],
            "measure": contest.measure.id,
            "population": kind,
            "prevalence": population.prevalence,
            "odds": population.odds,
            "ratio": population.ratio,
            **leading_model.cells(is_tested=is_tested),
        }
        if margin is not None:
            row |= _margin_cells(leading_model.lead_estimates(), margin)
        yield as_row(row)


@dataclass(frozen=True, slots=True, eq=False)
class LeadingModel:
    """The best of k models at a class ratio, compared with the other models.

    best_index: of the best model; value: of its measure. is_undefined: models without a value;
    is_tied: models not significantly worse. leads: the lead over each model, with lower and upper
    limit, (3, k).
    """

    models: Sequence[str]
    best_index: int
    value: Estimate
    is_undefined: Sequence[bool]
    is_tied: Sequence[bool]
    leads: Sequence[Sequence[float]]

    @property
    def defined(self) -> bool:
        """True if the measure of some model is defined."""
        return not self.is_undefined[self.best_index]

    @property
    def rivals(self) -> list[int]:
        """The indices of the other models that have a value."""
        indices = range(len(self.models))
        return [i for i in indices if i != self.best_index and not self.is_undefined[i]]

    def cells(self, *, is_tested: bool) -> dict[str, Any]:
        """Return the columns `leader`, `value`, `winner` and `tied`; is_tested: with a level."""
        leader = self.models[self.best_index]
        rival_indices = self.rivals
        tied_names = [self.models[i] for i in rival_indices if self.is_tied[i]]
        is_winner = self.defined and not tied_names and bool(rival_indices) and is_tested
        return {
            "leader": leader if self.defined else None,
            "value": self.value,
            "winner": leader if is_winner else None,
            "tied": tied_names if self.defined else [],
        }

    def lead_estimates(self) -> dict[str, Estimate]:
        """Return the lead over each other model; none where the measure is undefined."""
        lead_values, lower_limits, upper_limits = self.leads
        rival_indices = self.rivals if self.defined else []
        return {
            self.models[i]: estimate_or_none(lead_values[i], lower_limits[i], upper_limits[i])
            for i in rival_indices
        }


@dataclass(frozen=True, slots=True, eq=False)
class ModelsAtRatios:
    """The k models of a part at each of g class ratios, and the best of them.

    ratios, starts (g,): the class ratio, and which of all models is the first of the part; values
    (g, k), NaN where undefined; best_indices (g,): the index of the best model in its part.
    """

    ratios: Floats
    starts: Ints
    values: Floats
    best_indices: Ints

    @property
    def models(self) -> Ints:
        """The models of each ratio among all, (g k,)."""
        return _models_of_parts(self.starts, self.values.shape[1])

    @classmethod
    def from_places(
        cls, contest: PairwiseComparison, places: Sequence[tuple[int, str, Population]]
    ) -> ModelsAtRatios:
        """Compute the measure of all models at each place; of equal ones the first is the best.

        places: part, kind and population.
        """
        k = contest.models_per_part
        ratios = np.array([population.ratio for *_, population in places])
        starts = np.array([part_index for part_index, *_ in places]) * k
        values = contest.function(_models_of_parts(starts, k), np.repeat(ratios, k))
        values = values.reshape(len(places), k)
        best_indices = np.where(np.isnan(values), -np.inf, contest.sign * values).argmax(axis=1)
        return cls(ratios, starts, values, best_indices)

    def best_estimates(self, contest: PairwiseComparison) -> Estimates:
        """Return the values of the best models."""
        cells = Cells.picked(contest.counts, self.starts + self.best_indices, self.ratios)
        values = self.values[np.arange(len(self.best_indices)), self.best_indices]
        return estimate_column(values, None, cells, contest.measure.undefined_at_odds)


def _models_of_parts(starts: Ints, k: int) -> Ints:
    """Return the indices of k models from each start, (g k,)."""
    return (starts[:, None] + np.arange(k)).ravel()


def _leading_models(
    contest: PairwiseComparison, places: Sequence[tuple[int, str, Population]], options: TuneOptions
) -> Iterator[LeadingModel]:
    """Yield the best model of each place; of equal values the first."""
    k = contest.models_per_part
    models = contest.counts.models
    at_ratios = ModelsAtRatios.from_places(contest, places)
    leader_tests = _test_leaders(contest, at_ratios, options, swept=places[0][1] == "sweep")
    is_undefined = np.isnan(at_ratios.values)
    columns = (
        at_ratios.starts,
        at_ratios.best_indices,
        is_undefined,
        leader_tests.tied,
        leader_tests.leads,
    )
    for estimate, first_model, *leader_columns in zip(
        at_ratios.best_estimates(contest), *(column.tolist() for column in columns), strict=True
    ):
        best_index, undefined_flags, tied_flags, leads = leader_columns
        yield LeadingModel(
            models[first_model : first_model + k],
            best_index,
            estimate,
            undefined_flags,
            tied_flags,
            leads,
        )


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
    leader_rows = np.repeat(np.arange(g) * k + at_ratios.best_indices, k)
    rival_rows = np.arange(g * k)
    p_values = estimates.p_values(leader_rows, rival_rows).reshape(g, k)
    interval_levels = _interval_levels(contest, estimates, p_values, options, everywhere=swept)
    if options.least_difference is not None:
        for ratio_index in range(g):
            ratio_rows = slice(ratio_index * k, (ratio_index + 1) * k)
            leads[ratio_index] = estimates.intervals(
                leader_rows[ratio_rows], rival_rows[ratio_rows], level=interval_levels[ratio_index]
            )
    if contest.sign < 0:
        leads = -leads[:, [0, 2, 1]]
    return LeaderTests(~(p_values < 1 - interval_levels[:, None]), leads)


def _interval_levels(
    contest: PairwiseComparison,
    estimates: RateEstimates,
    p_values: Floats,
    options: TuneOptions,
    *,
    everywhere: bool,
) -> Floats:
    """Return the level of intervals for all pairs at each ratio, (g,): joint or Bonferroni's."""
    g, k = p_values.shape
    level = contest.level or 0.0
    interval_levels = np.full(
        g, contest.simultaneous(k * (k - 1) // 2, everywhere=everywhere).level
    )
    if everywhere or k > MOST_PAIRED:
        return interval_levels
    # the joint maximum lies between Bonferroni's rule and each pair by itself
    can_change = ((p_values < 1 - level) & (p_values >= 1 - interval_levels[:, None])).any(axis=1)
    for ratio_index in np.flatnonzero(can_change | (options.least_difference is not None)).tolist():
        paired = estimates.paired(
            contest.measure.id, np.arange(ratio_index * k, (ratio_index + 1) * k)
        )
        pairs = family_pairs(None, paired.models)
        family = adjusted_family(paired, pairs, level=level, seed=options.seed)
        interval_levels[ratio_index] = (
            interval_levels[ratio_index] if family is None else family.each_level
        )
    return interval_levels


def _margin_cells(leads_by_model: Mapping[str, Estimate], margin: float) -> dict[str, Any]:
    """Return the cells that compare the leader with the other models by the margin."""
    no_estimate = Estimate(None)
    verdicts_by_model: dict[str, str | None] = {}
    lower_limits: list[float] = []
    for model, lead in leads_by_model.items():
        if lead.low is not None:
            change = Change(no_estimate, no_estimate, lead, float(lead.low <= 0))
            verdicts_by_model[model] = change.verdict("", 0.5, margin=margin, best="max")
            lower_limits.append(lead.low)
    distinct_verdicts = {*verdicts_by_model.values()}
    verdict = None
    if verdicts_by_model and len(verdicts_by_model) == len(leads_by_model):
        mixed_verdict = UNDECIDED if UNDECIDED in distinct_verdicts else NOT_WORSE
        verdict = distinct_verdicts.pop() if len(distinct_verdicts) == 1 else mixed_verdict
    return {
        "verdict": verdict,
        "least_lead": min(lower_limits, default=None),
        "equivalent": [
            model
            for model, model_verdict in verdicts_by_model.items()
            if model_verdict == EQUIVALENT
        ],
        "possibly_better": [
            model
            for model, model_verdict in verdicts_by_model.items()
            if model_verdict == UNDECIDED
        ],
    }
