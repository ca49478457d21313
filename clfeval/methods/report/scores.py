"""What scores tell, one model at a time: measures, curves, and how each row moves them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from clfeval.arrays import Floats
from clfeval.compare.paired import PairedEstimates
from clfeval.counts.count import Sample
from clfeval.counts.counted import Counted
from clfeval.counts.rows import ScoredRows, scored_rows
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Row, Rows, value_of
from clfeval.lazy import BySlice, LazyRows, stacked
from clfeval.methods.clustered import smallest_sizes
from clfeval.methods.estimates import Design
from clfeval.methods.measured.asked import Asked
from clfeval.methods.measured.decisions import decision_rows
from clfeval.methods.measured.metrics import score_rows, takes_scores
from clfeval.methods.report.baselines import against_dummies, score_baselines
from clfeval.methods.report.calibration import (
    adjusted_for_all,
    calibration_rows,
    calibration_test_rows,
)
from clfeval.methods.report.comparisons import compared_inside, observed_values, scores_inside
from clfeval.methods.report.curves import (
    curve_rows,
    cuts_asked,
    distribution_rows,
    threshold_rows,
)
from clfeval.methods.report.model_estimates import (
    identical_columns,
    row_by_row,
    score_estimates,
)
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.report.rests import Everybody
from clfeval.methods.report.slices import Key, Rest, Retest, sliced

Tables = list[tuple[str, str | None, str, Rows]]  # names, slices, models and their rows
CUTS = ("cutoffs", "at_prevalence", "abstentions", "risk")
TABLES = (
    *CUTS,
    "calibration",
    "thresholds",
    "decision",
    "distribution",
    "curves",
)


@dataclass(frozen=True, slots=True, eq=False)
class AllScores:
    """Results from the scores of all models.

    estimates: models by measure; digests: of the scores; lost: rows of each model whose class had
    probability 0; same: models with equal scores; beside: measures of slice complements. unjudged:
    why slices are not tested; retest: see `slices.Slices.judged`.
    """

    measures: Sequence[Row] = ()
    estimates: Mapping[str, PairedEstimates] = field(default_factory=dict)
    digests: Sequence[str] = ()
    lost: Mapping[str, float] = field(default_factory=dict)
    same: list[list[str]] = field(default_factory=list)
    beside: dict[Key, Rest] = field(default_factory=dict)
    tables: Mapping[str, Rows] = field(default_factory=dict)
    baselines: Sequence[Row] = ()
    inside: Mapping[str, Mapping[str, PairedEstimates]] = field(default_factory=dict)
    unjudged: Callable[[], InSlices] = lambda: InSlices()
    retest: Retest = lambda *_: {}


@dataclass(frozen=True, slots=True, eq=False)
class InSlices:
    """Of the scores in slices what no slice is judged by: other measures, and curves."""

    measures: Sequence[Row] = ()
    tables: Mapping[str, Rows] = field(default_factory=dict)


def scores_of(
    sample: Sample, counted: Counted, asked: Sequence[Asked], held: Sequence[Asked],
    options: ReportOptions, lead: str,
) -> AllScores:  # fmt: skip
    """Return what scores tell, one model at a time."""
    every = scored_rows(counted.kept)
    names, by = [counted.models[i].name for i in every.models], sliced(asked)
    inner = [one for one in compared_inside(held, lead, options) if takes_scores(one)]

    def one(j: int) -> _Scored:
        return _of_model(sample, every, j, names[j], asked, held, options, by, inner)

    measures, digests, lost = list[Row](), list[str](), dict.fromkeys(names, 0.0)
    beside, baselines, tests = dict[Key, Rest](), list[Row](), list[Row]()
    moved_in: dict[str, dict[str, dict[str, tuple[float, Floats]]]] = {
        one.name: {} for one in inner
    }
    tables = Tables()
    moved: dict[str, dict[str, tuple[float, Floats]]] = {one.name: {} for one in held}
    for found in every.each(one):
        measures += found.measures
        baselines += found.baselines
        tests += found.tests
        tables += found.tables
        digests.append(f"{found.model}{found.digest}")
        beside |= found.beside
        lost |= {str(row["model"]): value_of(row["contradicted"]) or 0.0 for row in found.tests}
        for name, influence in found.moved.items():
            moved[name][found.model] = influence
        for (name, label), influence in found.inside.items():
            moved_in[name].setdefault(label, {})[found.model] = influence
    estimates, sizes = dict[str, PairedEstimates](), smallest_sizes(sample.patterns[None], 2)
    for each in held:
        found_of = score_estimates(
            every.weights, every.owners, each, moved.pop(each.name), sizes, sampling=every.weighed
        )
        if found_of is not None:
            estimates[each.name] = found_of
    if options.reference is not None:
        from clfeval.methods.report.bootstrap_estimates import bootstrap_estimates

        estimates |= bootstrap_estimates(
            every, names, held, observed_values(measures), sample.patterns[None],
            options.reference, options.certainty,
        )  # fmt: skip
    same = identical_columns(dict(zip(names, every.scores, strict=True)))
    inside = {
        each.name: scores_inside(every, sample.patterns, each, moved_in[each.name])
        for each in inner
    }
    rest = [each for each in asked if each.name not in {one.name for one in by}]

    def retest(model: str, labels: Sequence[str], without: Sequence[str]) -> dict[Key, Rest]:
        if model not in names:
            return {}
        j, parts = names.index(model), {
            label: np.concatenate([every.slices[one] for one in (label, *without)])
            for label in labels
        }  # fmt: skip
        (whole, place), some = every.ranked(j), replace(every, slices=parts)
        everybody = Everybody(model, whole, sample.thresholds.get(model))
        return {
            key: value for label in labels
            for here, at in [some.within(whole, place, label)]
            for key, value in everybody.outside(label, here.frozen(), at, by, options.certainty)
        }  # fmt: skip

    @cache
    def unjudged() -> InSlices:
        def of(j: int) -> tuple[list[Row], Tables]:
            return _in_slices(sample, every, j, names[j], rest, options)

        measures, tables = list[Row](), Tables()
        for rows, some in every.each(of) if every.slices else ():
            measures += rows
            tables += some
        return InSlices(measures, _together(tables))

    def others(name: str) -> Callable[[], Rows]:
        return lambda: unjudged().tables.get(name, ())

    known = _together(tables)
    named: dict[str, Rows] = {"calibration_tests": adjusted_for_all(tests)} if tests else {}
    named |= {name: rows if name in CUTS else BySlice(rows, others(name))
              for name, rows in known.items()}  # fmt: skip
    return AllScores(
        measures, estimates, digests, lost, same, beside, named, baselines, inside, unjudged, retest
    )  # fmt: skip


def _together(tables: Tables) -> dict[str, LazyRows]:
    """Stack the tables of one name, in the order of `TABLES`."""
    parts: dict[str, list[tuple[str | None, str, Rows]]] = {name: [] for name in TABLES}
    for table, label, model, some in tables:
        parts[table].append((label, model, some))
    return {name: stacked(some) for name, some in parts.items() if some}


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """Results from the scores of one model; moved: measures and the influence of each row.

    beside: measures of slice complements. inside: as moved, by measure and slice.
    """

    model: str
    digest: str
    measures: list[Row]
    tables: Tables
    tests: list[Row]
    moved: dict[str, tuple[float, Floats]]
    beside: dict[Key, Rest]
    baselines: Sequence[Row]
    inside: dict[tuple[str, str], tuple[float, Floats]]


def _of_model(
    sample: Sample, every: ScoredRows, j: int, model: str, asked: Sequence[Asked],
    held: Sequence[Asked], options: ReportOptions, by: Sequence[Asked], inner: Sequence[Asked],
) -> _Scored:  # fmt: skip
    whole, place = every.ranked(j)
    measures, beside = list[Row](), dict[Key, Rest]()
    tables, baselines = Tables(), list[Row]()
    cut = sample.thresholds.get(model)
    everybody, of = Everybody(model, whole, cut), np.empty(len(whole.scores), np.int64)
    inside = dict[tuple[str, str], tuple[float, Floats]]()
    for label in sample.slices:
        here, at = (whole, place) if label is None else every.within(whole, place, label)
        here = here.frozen()
        wanted = asked if label is None else by
        measures += score_rows(label, model, here, cut, wanted, options.certainty)
        if label is not None:
            beside |= everybody.outside(label, here, at, by, options.certainty)
            of[at], rows = np.arange(len(at)), every.slices[label]
            for one in inner:
                if (found := row_by_row(one, cut, here, of.take(place.take(rows)),
                                        every.truth.take(rows))) is not None:  # fmt: skip
                    inside[one.name, label] = found
        if label is None:
            tables += _curves(label, model, here, options, sample)
        if options.cuts:
            from clfeval.methods.report.cutting.tables import cut_tables

            for table, cuts in cut_tables(label, model, here, sample, options):
                tables.append((table, label, model, cuts))
    moved = dict[str, tuple[float, Floats]]()
    for one in held:
        if (found := row_by_row(one, cut, whole, place, every.truth)) is not None:
            moved[one.name] = found
    if options.dummies:
        known = observed_values(measures)
        baselines += score_baselines(model, whole, against_dummies(asked), known, cut, options.seed,
                                     alike=every.alike)  # fmt: skip
    tests = list[Row]()
    if len(whole.scores) and whole.scores[0] >= 0 and whole.scores[-1] <= 1:
        tests = calibration_test_rows(model, whole, options.level, options.seed)
    return _Scored(model, whole.digest(), measures, tables, tests, moved, beside, baselines, inside)


def _in_slices(
    sample: Sample, every: ScoredRows, j: int, model: str, asked: Sequence[Asked],
    options: ReportOptions,
) -> tuple[list[Row], Tables]:  # fmt: skip
    """Return measures and curves of the scores of one model in each slice."""
    (whole, place), cut = every.ranked(j), sample.thresholds.get(model)
    measures, tables = list[Row](), Tables()
    for label in every.slices:
        here = every.within(whole, place, label)[0].frozen()
        measures += score_rows(label, model, here, cut, asked, options.certainty)
        tables += _curves(label, model, here, options, sample)
    return measures, tables


def _curves(
    label: str | None, model: str, here: ScoreCounts, options: ReportOptions, sample: Sample
) -> Iterator[tuple[str, str | None, str, Rows]]:
    """Yield the curves of one model in one slice, with the names of their tables and the slice."""
    if not len(here.scores):
        return
    level, design = options.confidence, Design(options.totals)
    classes = sample.positive, negative_of(sample)
    yield "distribution", label, model, distribution_rows(label, model, here, classes)
    yield "curves", label, model, curve_rows(label, model, here, options.points)
    cuts = cuts_asked(here, options.thresholds)
    yield "thresholds", label, model, threshold_rows(label, model, here, cuts, level, design)
    if here.scores[0] >= 0 and here.scores[-1] <= 1:
        yield "calibration", label, model, calibration_rows(label, model, here, level, design)
        yield "decision", label, model, decision_rows(label, model, here, level)


def negative_of(sample: Sample) -> str:
    """Name what is not positive."""
    return sample.negative[0] if len(sample.negative) == 1 else f"not {sample.positive}"
