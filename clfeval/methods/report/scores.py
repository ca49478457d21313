"""Results from scores, one model at a time: measures, curves, influence, and slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.rows import ScoredRows, StoredScores, read_scored_rows
from clfeval.counts.sample import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Estimate, Row, Rows, cell_value
from clfeval.document.rows import LazyRows, RowsBySlice, stack_rows
from clfeval.inference.complement_sums import PowerSums, RankedPairs, RiskSums
from clfeval.measures.probability import given_probabilities, loss_powers
from clfeval.methods.curves import decision_rows, isotonic_rows
from clfeval.methods.estimates import Design
from clfeval.methods.measurement.joint_sums import group_influence, score_influence
from clfeval.methods.measurement.label_measures import effective_class_sizes
from clfeval.methods.measurement.measure_rows import (
    risk_threshold,
    score_measure_rows,
    takes_scores,
)
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.measurement.score_measures import (
    confusions_at,
    delong_estimate,
    influence_estimate,
    net_benefit_of_table,
)
from clfeval.methods.options import IntervalSettings
from clfeval.methods.report.baselines import measures_with_baselines, score_baselines
from clfeval.methods.report.calibration import (
    adjust_calibration_tests,
    calibration_rows,
    calibration_test_rows,
    choose_thresholds,
    curve_rows,
    distribution_rows,
    roc_band_rows,
    threshold_rows,
)
from clfeval.methods.report.comparisons import (
    observed_values,
    slice_compared_measures,
    slice_score_estimates,
)
from clfeval.methods.report.model_estimates import (
    bootstrap_estimates,
    group_estimates,
    identical_columns,
    row_score_influence,
    score_estimates,
)
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.report.slice_tests import (
    Complement,
    Key,
    Retest,
    complement_estimates,
    shared_cluster_correlation,
    shared_clusters,
    slice_test_measures,
    subtract_counts,
    use_default_intervals,
)
from clfeval.records import dataclass, field, replace

Tables = list[tuple[str, str | None, str, Rows]]  # names, slices, models and their rows
Moved = dict[str, tuple[float, Floats]]  # a measure of each model and the influence of rows
CUTS = ("cutoffs", "at_prevalence", "abstentions", "risk")
TABLES = (
    *CUTS,
    "calibration",
    "calibration_curve",
    "thresholds",
    "decision",
    "distribution",
    "curves",
    "roc_band",
)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreResults:
    """Results from the scores of all models."""

    measures: Sequence[Row] = ()
    estimates: Mapping[str, PairedEstimates] = field(default_factory=dict)  # by measure
    digests: Sequence[str] = ()  # of the scores
    lost: Mapping[str, float] = field(default_factory=dict)  # rows whose class had probability 0
    same: list[list[str]] = field(default_factory=list)  # models with equal scores
    beside: dict[Key, Complement] = field(default_factory=dict)
    tables: Mapping[str, Rows] = field(default_factory=dict)
    baselines: Sequence[Row] = ()
    inside: Mapping[str, Mapping[str, PairedEstimates]] = field(default_factory=dict)
    # measures and curves of slices that are not used in tests
    unjudged: Callable[[], tuple[Sequence[Row], Mapping[str, Rows]]] = lambda: ((), {})
    retest: Retest = lambda *_: {}  # see `SliceEstimates.adjusted_changes`


def compute_score_results(
    sample: Sample,
    counted: PredictionCounts,
    asked: Sequence[RequestedMeasure],
    held: Sequence[RequestedMeasure],
    options: ReportOptions,
    lead: str,
) -> ScoreResults:
    """Return the results from scores, computed one model at a time."""
    every = read_scored_rows(counted)
    names, by = [counted.models[i].name for i in every.models], slice_test_measures(asked)
    by_group = isinstance(every, StoredScores)  # influence of groups of rows, not of each
    inner = (
        []
        if by_group
        else [one for one in slice_compared_measures(held, lead, options) if takes_scores(one)]
    )
    measures, digests, lost = list[Row](), list[str](), dict.fromkeys(names, 0.0)
    beside, baselines, tests = dict[Key, Complement](), list[Row](), list[Row]()
    moved_in: dict[str, dict[str, Moved]] = {one.name: {} for one in inner}
    tables, moved = Tables(), {one.name: Moved() for one in held}
    for found in every.map_models(
        lambda j: _of_model(sample, every, j, names[j], asked, held, options, by, inner)
    ):
        measures += found.measures
        baselines += found.baselines
        tests += found.tests
        tables += found.tables
        digests.append(f"{found.model}{found.digest}")
        beside |= found.beside
        lost |= {str(row["model"]): cell_value(row["contradicted"]) or 0.0 for row in found.tests}
        for name, influence in found.moved.items():
            moved[name][found.model] = influence
        for (name, label), influence in found.inside.items():
            moved_in[name].setdefault(label, {})[found.model] = influence
    sizes = effective_class_sizes(counted.patterns, 2)
    estimates = (
        group_estimates(counted, every, held, moved, measures, sizes)
        if by_group
        else {
            each.name: paired
            for each in held
            if (
                paired := score_estimates(
                    every.weights,
                    every.owners,
                    each,
                    moved.pop(each.name),
                    sizes,
                    sampling=every.weighed,
                )
            )
        }
    )
    if options.reference is not None and not by_group:
        estimates |= bootstrap_estimates(
            every,
            names,
            held,
            observed_values(measures),
            sample.patterns[None],
            options.reference,
            options.interval_settings,
        )
    same = identical_columns(dict(zip(names, every.scores, strict=True)))
    inside = {
        each.name: slice_score_estimates(every, sample.patterns, each, moved_in[each.name])
        for each in inner
    }
    rest = [each for each in asked if each.name not in {one.name for one in by}]

    def retest(model: str, labels: Sequence[str], without: Sequence[str]) -> dict[Key, Complement]:
        if model not in names:
            return {}
        (whole, place), some = (
            every.ranked(names.index(model)),
            replace(
                every,
                slices={
                    label: np.concatenate([every.slices[one] for one in (label, *without)])
                    for label in labels
                },
            ),
        )
        cut, wanted = sample.thresholds.get(model), use_default_intervals(options.interval_settings)
        everybody = ComplementScores(model, whole, cut, by, wanted)
        return {
            key: value
            for label in labels
            for here, at in [some.slice_scores(whole, place, label)]
            for key, value in everybody.complement_measures(label, here.frozen(), at)
        }

    @cache
    def unjudged() -> tuple[list[Row], dict[str, LazyRows]]:
        measures, tables = list[Row](), Tables()
        for rows, some in (
            every.map_models(lambda j: _in_slices(sample, every, j, names[j], rest, options))
            if every.slices
            else ()
        ):
            measures += rows
            tables += some
        return measures, _stack_tables(tables)

    def others(name: str) -> Rows:
        return unjudged()[1].get(name, ())

    named: dict[str, Rows] = {"calibration_tests": adjust_calibration_tests(tests)} if tests else {}
    named |= {
        name: rows if name in CUTS else RowsBySlice(rows, partial(others, name))
        for name, rows in _stack_tables(tables).items()
    }
    return ScoreResults(
        measures, estimates, digests, lost, same, beside, named, baselines, inside, unjudged, retest
    )


def _stack_tables(tables: Tables) -> dict[str, LazyRows]:
    """Concatenate the tables of the same name, in the order of `TABLES`."""
    parts: dict[str, list[tuple[str | None, str, Rows]]] = {name: [] for name in TABLES}
    for table, label, model, some in tables:
        parts[table].append((label, model, some))
    return {name: stack_rows(some) for name, some in parts.items() if some}


@dataclass(frozen=True, slots=True, eq=False)
class _ModelScoreResults:
    """Results of one model; moved, inside: value and influence of rows; beside: of complements."""

    model: str
    digest: str
    measures: list[Row]
    tables: Tables
    tests: list[Row]
    moved: dict[str, tuple[float, Floats]]
    beside: dict[Key, Complement]
    baselines: Sequence[Row]
    inside: dict[tuple[str, str], tuple[float, Floats]]


def _of_model(
    sample: Sample,
    every: ScoredRows,
    j: int,
    model: str,
    asked: Sequence[RequestedMeasure],
    held: Sequence[RequestedMeasure],
    options: ReportOptions,
    by: Sequence[RequestedMeasure],
    inner: Sequence[RequestedMeasure],
) -> _ModelScoreResults:
    whole, place = every.ranked(j)
    # cached log odds of this view are freed with it
    scored = replace(whole.frozen(), scores=whole.scores[:])
    measures, beside = list[Row](), dict[Key, Complement]()
    tables, baselines, tests = Tables(), list[Row](), list[Row]()
    hidden = sample.counted is not None and sample.counted.min_cell
    if len(whole.scores) and whole.scores[0] >= 0 and whole.highest[-1] <= 1 and not hidden:
        tests = calibration_test_rows(model, scored.probabilities, options.level, options.seed)
    cut, inside = sample.thresholds.get(model), dict[tuple[str, str], tuple[float, Floats]]()
    everybody = ComplementScores(
        model, whole, cut, by, use_default_intervals(options.interval_settings)
    )
    of = np.empty(len(whole.scores), np.int64)
    for label in sample.slices:
        here, at = (whole, place) if label is None else every.slice_scores(whole, place, label)
        here = here.frozen()
        measures += score_measure_rows(
            label,
            model,
            scored if label is None else here,
            cut,
            asked if label is None else by,
            options.interval_settings,
        )
        if label is None:
            tables += _curve_tables(label, model, here, options, sample)
        else:
            beside |= everybody.complement_measures(label, here, at)
            of[at], rows = np.arange(len(at)), every.slices[label]
            for one in inner:
                if (
                    found := row_score_influence(
                        one, cut, here, of.take(place.take(rows)), every.truth.take(rows)
                    )
                ) is not None:
                    inside[one.name, label] = found
        if options.uses_thresholds:
            from clfeval.methods.report.thresholds import threshold_tables

            tables += [
                (table, label, model, cuts)
                for table, cuts in threshold_tables(label, model, here, sample, options)
            ]
    if options.dummies:
        n = np.maximum(whole.positives + whole.negatives, 1)
        means = whole if whole.buckets is None else replace(whole, scores=whole.sums() / n)
        baselines += score_baselines(
            model,
            means,
            measures_with_baselines(asked),
            observed_values(measures),
            cut,
            options.seed,
            alike=every.independent_rows,
        )
    del scored
    moved = {
        one.name: found
        for one in held
        if (
            found := group_influence(one, cut, whole)
            if isinstance(every, StoredScores)
            else row_score_influence(one, cut, whole, place, every.truth)
        )
    }
    return _ModelScoreResults(
        model, whole.digest(), measures, tables, tests, moved, beside, baselines, inside
    )


def _in_slices(
    sample: Sample,
    every: ScoredRows,
    j: int,
    model: str,
    asked: Sequence[RequestedMeasure],
    options: ReportOptions,
) -> tuple[list[Row], Tables]:
    """Return measures and curves of the scores of one model in each slice."""
    (whole, place), cut = every.ranked(j), sample.thresholds.get(model)
    measures, tables = list[Row](), Tables()
    for label in every.slices:
        here = every.slice_scores(whole, place, label)[0].frozen()
        measures += score_measure_rows(label, model, here, cut, asked, options.interval_settings)
        tables += _curve_tables(label, model, here, options, sample)
    return measures, tables


def _curve_tables(
    label: str | None, model: str, here: ScoreCounts, options: ReportOptions, sample: Sample
) -> Iterator[tuple[str, str | None, str, Rows]]:
    """Yield the curves of one model in one slice, with the names of their tables and the slice."""
    if not len(here.scores) or (sample.counted is not None and sample.counted.min_cell):
        return
    level, design = options.confidence, Design(options.totals)
    classes = sample.positive, negative_name(sample)
    yield "distribution", label, model, distribution_rows(label, model, here, classes)
    yield "curves", label, model, curve_rows(label, model, here, options.points)
    cuts = choose_thresholds(here, options.thresholds)
    yield "thresholds", label, model, threshold_rows(label, model, here, cuts, level, design)
    if here.scores[0] >= 0 and here.scores[-1] <= 1:
        yield "calibration", label, model, calibration_rows(label, model, here, level, design)
        yield "decision", label, model, decision_rows(label, model, here, level)
        if label is None:
            yield "calibration_curve", label, model, isotonic_rows(label, model, here)
    if label is None:
        yield "roc_band", label, model, roc_band_rows(label, model, here, level, design)


def negative_name(sample: Sample) -> str:
    """Return the name of the negative class, or `not` and the positive one."""
    return sample.negative[0] if len(sample.negative) == 1 else f"not {sample.positive}"


@dataclass(frozen=True, eq=False)
class ComplementScores:
    """Scores of a model in all rows, to compute measures `held` of the rows outside a slice."""

    model: str
    whole: ScoreCounts
    cut: float | None  # the threshold in force
    held: Sequence[RequestedMeasure]
    wanted: IntervalSettings
    _known: dict[str, Any] = field(default_factory=dict)

    def complement_measures(
        self, label: str, part: ScoreCounts, at: Ints
    ) -> Iterator[tuple[Key, Complement]]:
        """Yield the measures of the complement of a slice; at: indices of its scores."""
        anew = list[RequestedMeasure]()
        for one in self.held:
            value = None
            if self.whole.clusters is None and len(self.whole.scores):
                value = self._subtract_sums(one, part, at)
            if value is None:
                anew.append(one)
            else:
                yield (label, self.model, one.name), Complement(value)
        if any(map(takes_scores, anew)):
            yield from self._anew(label, part, anew)

    def _subtract_sums(self, one: RequestedMeasure, part: ScoreCounts, at: Ints) -> Estimate | None:
        """Return a measure of the complement by subtraction of sums; None if impossible."""
        whole, measure, level = self.whole, one.measure, self.wanted.level
        totals, sides = ((each.positives, each.negatives) for each in (whole, part))
        if measure.interval == "delong":
            pairs = self._once("pairs", lambda: RankedPairs.from_counts(*totals))
            area = pairs and pairs.complement(at, *sides, level=level or 0.95)
            if not area:
                return None
            value = 2 * area.value - 1 if measure.low < 0 else area.value
            return delong_estimate(measure, area, value, level).value
        t, loss = risk_threshold(one, self.cut), measure.loss
        if not (whole.scores[0] >= 0 and whole.scores[-1] <= 1):
            return None
        if whole.buckets is not None and t is None:
            return None
        if t is not None:
            cut = np.array([t])
            all_of = self._once(f"at {t}", lambda: confusions_at(whole, cut))
            table = subtract_counts(all_of, confusions_at(part, cut))
            return net_benefit_of_table(table, t, level)[0]
        sizes = self._once("sizes", lambda: [int(n.sum()) for n in totals])
        few = min(size - int(some.sum()) for size, some in zip(sizes, sides, strict=True))
        if one.name == "oe_ratio":
            risks, other = self._once("risks", lambda: _risk_sums(whole)), _risk_sums(part)
            found = risks.complement(other, fewest=few)
            return found and influence_estimate(measure, found[0], found[1], level).value
        if loss is None:
            return None
        mean = self._once(
            f"{one.name} mean", lambda: float(measure.function(whole.scores, *totals))
        )
        every = self._once(one.name, lambda: _power_sums(loss, whole, mean))
        found = every.complement(_power_sums(loss, part, mean), fewest=few)
        return found and influence_estimate(measure, mean + found[0], found[1], level).value

    def _anew(
        self, label: str, part: ScoreCounts, held: Sequence[RequestedMeasure]
    ) -> Iterator[tuple[Key, Complement]]:
        left, rho = self.whole.subtract(part).frozen(), dict[Key, float]()
        shared = shared_clusters(part.clusters, left.clusters)
        for one in held if shared is not None else ():
            f, g = (score_influence(one, self.cut, each) for each in (part, left))
            if shared is not None and f is not None and g is not None:
                found = shared_cluster_correlation(*shared, f[1], g[1])
                rho[label, self.model, one.name] = float(found[0])
        rows = score_measure_rows(label, self.model, left, self.cut, held, self.wanted)
        yield from complement_estimates(rows, rho)

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._known:
            self._known[name] = make()
        return self._known[name]


def _power_sums(loss: Callable[..., Floats], counts: ScoreCounts, centre: float) -> PowerSums:
    parts = counts.scores, counts.positives, counts.negatives
    return PowerSums(loss_powers(loss, parts, 1.0, -centre, -centre).sum(axis=0))


def _risk_sums(counts: ScoreCounts) -> RiskSums:
    parts = counts.scores, counts.positives, counts.negatives
    sums = loss_powers(given_probabilities, parts, 1.0, 0.0, 0.0)
    return RiskSums(sums.sum(axis=0), sums[0, :4])
