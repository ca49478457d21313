"""Comparisons of models with a reference and with each other, on rows and over runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, nan
from typing import Any, TypeVar

import numpy as np

from clfeval.arrays import Floats
from clfeval.compare import families
from clfeval.compare.change import number_or_none
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.evaluated_rows import slice_label
from clfeval.counts.patterns import PatternCounts, from_units
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.rows import ScoredRows, list_changes
from clfeval.counts.sample import Sample
from clfeval.document import Document
from clfeval.document.cells import Estimate, Row, as_estimate, as_row, cell_number, cell_text
from clfeval.errors import UsageError, bad_option, unknown_model_error
from clfeval.inference.hypothesis_tests import cochran_q, mid_p
from clfeval.methods.measurement.label_measures import effective_class_sizes
from clfeval.methods.measurement.measure_rows import takes_scores
from clfeval.methods.measurement.requested_measures import OPERATING_POINT, RequestedMeasure
from clfeval.methods.measurement.run_means import (
    RunMean,
    Runs,
    row_differences,
    run_answers,
    run_comparisons,
    run_means,
    run_notes,
    run_ties,
)
from clfeval.methods.report.model_estimates import Observed, score_estimates
from clfeval.methods.report.options import ReportOptions, numbers_by_measure
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

FEW = 3  # models from which the best is corrected for selection
DEPENDENT = "none: the test assumes independent rows without weights"
ESTIMATORS = ("binary", "multiclass", "macro")  # of the values that are compared

Patterns = PatternCounts | ClassPatterns
P = TypeVar("P")


def compared_measures(
    requested: Sequence[RequestedMeasure], lead_measure: str, options: ReportOptions
) -> list[RequestedMeasure]:
    """Return the measures that compare models; none without intervals."""
    if options.confidence is None:
        return []
    screen_measures = families.ON_SCREEN if options.reference is not None else ()
    comparison_measures = [
        measure
        for measure in requested
        if measure.name == lead_measure
        or measure.by != "default"
        or measure.name in screen_measures
    ]
    return sorted(comparison_measures, key=lambda measure: measure.name != lead_measure)


def check_reference(models: Sequence[str], options: ReportOptions, *, same_rows: bool) -> None:
    """Raise UsageError for an unknown reference, or one without models to compare."""
    reference = options.reference
    if reference is None:
        return
    if reference not in (*models, *families.EVERY) and not families.family_pairs(reference, models):
        raise unknown_model_error("--reference", reference, [*models, *families.EVERY])
    if len(models) == 1:
        raise bad_option(f"{OPTION}--reference{END} {reference}: '{models[0]}' is the only model")
    if not same_rows:
        message = (
            f"{OPTION}--reference{END} compares models on the same rows, but the rows of these "
            "models may "
        )
        hint = "give a table with the predictions of all models"
        raise UsageError.new(f"{message}differ", "needs-predictions", hint=hint)


def observed_values(metrics: Sequence[Row]) -> Observed:
    """Return the values of the whole table, by model and measure; metrics: rows of `measures`."""
    return {
        (row["model"], row["measure"]): as_estimate(row["value"])
        for row in metrics
        if row["slice"] is None and row["estimator"] in ESTIMATORS
    }


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonSettings:
    """How models are compared: with a reference or all with each other, and by which margins.

    margins: the least difference that matters, by measure.
    """

    reference: str | None
    level: float
    seed: int
    margins: Mapping[str, float]

    @classmethod
    def from_options(
        cls, options: ReportOptions, measure_names: Callable[[str], Iterable[str]]
    ) -> ComparisonSettings:
        """Build from the options; measure_names: the measures that an option names."""
        margins = numbers_by_measure(options.margin, measure_names)
        return cls(options.reference, options.level, options.seed, margins)

    @property
    def ranks(self) -> bool:
        """True if all models are compared with each other."""
        return self.reference is None or self.reference in families.EVERY

    def family(self, estimates: PairedEstimates) -> families.PairFamily | None:
        """Return the compared pairs with adjusted p-values and intervals; None without any.

        The measures of the operating point are one family where there is a reference.
        """
        is_operating_point = self.reference is not None and estimates.metric in OPERATING_POINT
        return families.adjusted_family(
            estimates,
            families.family_pairs(self.reference, estimates.models),
            level=self.level,
            seed=self.seed,
            measures=len(OPERATING_POINT) if is_operating_point else 1,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ModelComparisons:
    """The best set of models by each measure, and the tables of comparisons by name."""

    best_sets: Mapping[str, families.BestSet]
    tables: Mapping[str, list[Row]]

    @property
    def rows(self) -> list[Row]:
        """The comparisons with the reference."""
        return self.tables.get("comparisons", [])


def compare_models(
    estimates: Sequence[PairedEstimates],
    observed: Observed,
    sample_size: float | None,
    settings: ComparisonSettings,
) -> ModelComparisons:
    """Return the best sets and tables of comparisons, by each of the measures estimated.

    The family: all pairs of models, or those with a reference. sample_size: the number of rows,
    None where those of the models may differ.
    """
    best_sets = dict[str, families.BestSet]()
    tables = defaultdict[str, list[Row]](list)
    for paired in estimates:
        family = settings.family(paired)
        best_set = families.best_set(
            family if settings.ranks else None, paired, level=settings.level, seed=settings.seed
        )
        if best_set is not None:
            best_sets[paired.metric] = best_set
            if settings.ranks:
                tables["best"] += families.best_set_rows(best_set, paired.metric)
            tables["winner"] += _winner_rows(paired, best_set, observed)
        if family is not None and settings.reference is not None and sample_size is not None:
            # values of labels stand where the table of measures has none
            values = [
                observed.get((model, paired.metric), Estimate(value))
                for model, value in zip(paired.models, paired.values.tolist(), strict=True)
            ]
            margin = settings.margins.get(paired.metric)
            tables["comparisons"] += families.reference_rows(
                family, values, sample_size, settings.reference, margin=margin
            )
    filled_tables = {name: rows for name, rows in tables.items() if rows}
    return ModelComparisons(best_sets if settings.ranks else {}, filled_tables)


def compare_rows(
    patterns: Patterns,
    predictions: PredictionCounts,
    comparisons: Sequence[Row],
    without_threshold: Collection[str],
    options: ReportOptions,
    measure_names: Callable[[str], Iterable[str]],
) -> dict[str, list[Row]]:
    """Return the tables of rows that two models predict differently, for compared models.

    comparisons: rows of that table. without_threshold: models whose scores have no threshold.
    measure_names: the measures that an option names.
    """
    compared_pairs = [(row["model"], cell_text(row["reference"])) for row in comparisons]
    # each pair once, of models with labels
    pairs = [pair for pair in dict.fromkeys(compared_pairs) if not {*pair} & {*without_threshold}]
    resolutions = numbers_by_measure(options.resolution, measure_names)
    tables = {
        "mcnemar": [*_mcnemar_rows(patterns, pairs)],
        "together": [*_cochran_rows(patterns, without_threshold)],
        "resolution": [
            *_resolution_rows(comparisons, resolutions, predictions.size, options.level)
        ],
    }
    if options.list_changes is not None:
        tables["changes"] = [*list_changes(predictions, pairs, options.list_changes)]
    return {name: rows for name, rows in tables.items() if rows}


def with_bounds(rows: list[Row], estimates: Mapping[str, PairedEstimates]) -> list[Row]:
    """Return comparisons with the bound of each difference, where scores are in buckets."""
    bounds = {
        (measure_id, model): bound
        for measure_id, paired in estimates.items()
        if paired.bounds is not None
        for model, bound in zip(paired.models, paired.bounds.tolist(), strict=True)
    }
    if not bounds:
        return rows
    bounded_rows = list[Row]()
    for row in rows:
        measure = row["measure"]
        bound = bounds.get((measure, row["model"]))
        if bound is not None:  # that of the difference is the sum of both
            bound += bounds[measure, cell_text(row["reference"])]
        bounded_rows.append(as_row({**row, "bound": bound}))
    return bounded_rows


def slice_compared_measures(
    measures: Sequence[RequestedMeasure], lead_measure: str, options: ReportOptions
) -> list[RequestedMeasure]:
    """Return the measures that compare models in slices: the leading one, and those named."""
    if options.reference in (None, families.ALL_PAIRS):
        return []
    return [measure for measure in measures if measure.name == lead_measure or measure.by == "name"]


def slice_label_estimates(
    patterns: Mapping[str | None, P],
    measures: Sequence[RequestedMeasure],
    lead_measure: str,
    options: ReportOptions,
    estimate: Callable[[P, RequestedMeasure], PairedEstimates | None],
) -> dict[str, dict[str, PairedEstimates]]:
    """Return paired estimates in each slice by measures of labels, as `estimate` makes them."""
    estimates = dict[str, dict[str, PairedEstimates]]()
    for measure in slice_compared_measures(measures, lead_measure, options):
        if takes_scores(measure):
            continue
        estimates_by_slice = {
            slice_name: estimate(slice_patterns, measure)
            for slice_name, slice_patterns in patterns.items()
            if slice_name is not None
        }
        estimates[measure.name] = {
            slice_name: paired
            for slice_name, paired in estimates_by_slice.items()
            if paired is not None
        }
    return estimates


def slice_score_estimates(
    all_scores: ScoredRows,
    patterns: Mapping[str | None, PatternCounts],
    requested: RequestedMeasure,
    influence_by_slice: Mapping[str, Mapping[str, tuple[float, Floats]]],
) -> dict[str, PairedEstimates]:
    """Return paired estimates in each slice by a measure of scores, from values and influence.

    influence_by_slice: the value of each model and the influence of rows on it, by slice.
    """
    estimates = dict[str, PairedEstimates]()
    for slice_name, slice_influence in influence_by_slice.items():
        row_indices = all_scores.slices[slice_name]
        weights = None if all_scores.weights is None else all_scores.weights[row_indices]
        owners = None
        if all_scores.owners is not None:
            _, owners = np.unique(all_scores.owners[row_indices], return_inverse=True)
        class_sizes = effective_class_sizes(patterns[slice_name], 2)
        paired = score_estimates(
            weights, owners, requested, slice_influence, class_sizes, sampling=all_scores.weighed
        )
        if paired is not None:
            estimates[slice_name] = paired
    return estimates


def subtract_bias(estimate: Estimate, bias: float) -> Estimate:
    """Return an estimate and its limits less a bias."""
    corrected, low, high = (
        None if value is None else value - bias
        for value in (estimate.value, estimate.low, estimate.high)
    )
    return Estimate(corrected, low, high, estimate.reason)


def _winner_rows(
    estimates: PairedEstimates, best_set: families.BestSet, observed: Observed
) -> Iterator[Row]:
    """Yield the best of three models or more, corrected for selection."""
    if len(estimates.models) < FEW:
        return
    winner = estimates.models[best_set.leader]
    # the value of labels stands where the table of measures has none
    label_estimate = Estimate(estimates.values[best_set.leader].item())
    value = observed.get((winner, estimates.metric), label_estimate)
    yield as_row(
        {
            "measure": estimates.metric,
            "model": winner,
            "value": value,
            "optimism": best_set.optimism,
            "corrected": subtract_bias(value, estimates.sign * best_set.optimism),
        }
    )


def _mcnemar_rows(patterns: Patterns, pairs: Sequence[tuple[str, str]]) -> Iterator[Row]:
    """Yield the rows that only one of two models predicts correctly, and McNemar's mid-p."""
    is_correct = patterns.votes == patterns.truth[:, None]
    correct_counts = (is_correct * patterns.n[:, None]).T.astype(np.float64)  # whole numbers
    # (k, k): rows that the first model has right and the second one wrong
    only_first_correct = correct_counts @ ~is_correct
    for model, reference in pairs:
        model_index, reference_index = map(patterns.models.index, (model, reference))
        newly_right = int(only_first_correct[model_index, reference_index])
        newly_wrong = int(only_first_correct[reference_index, model_index])
        is_independent = patterns.clusters is None
        yield as_row(
            {
                "model": model,
                "reference": reference,
                "newly_right": from_units(newly_right, patterns.unit),
                "newly_wrong": from_units(newly_wrong, patterns.unit),
                "p": mid_p(newly_right, newly_wrong) if is_independent else None,
                "method": "McNemar, mid-p" if is_independent else DEPENDENT,
            }
        )


def _cochran_rows(patterns: Patterns, excluded_models: Collection[str] = ()) -> Iterator[Row]:
    """Yield Cochran's Q test of equal accuracy of three models or more.

    excluded_models: those without labels.
    """
    model_indices = [
        index for index, model in enumerate(patterns.models) if model not in excluded_models
    ]
    if len(model_indices) < FEW:
        return
    is_correct = patterns.votes[:, model_indices] == patterns.truth[:, None]
    differing_rows = int(patterns.n[is_correct.any(axis=1) & ~is_correct.all(axis=1)].sum())
    q, p = cochran_q(is_correct, patterns.n)
    method = "Cochran's Q, chi²"
    if len(model_indices) * differing_rows < 24:  # Tate and Brown 1970
        method = f"{method}, rough: few rows differ" if differing_rows else "no row differs"
    if patterns.clusters is not None:
        q, p, method = nan, nan, DEPENDENT
    yield as_row(
        {
            "measure": "accuracy",
            "models": len(model_indices),
            "differ": from_units(differing_rows, patterns.unit),
            "statistic": number_or_none(q),
            "p": number_or_none(p),
            "method": method,
        }
    )


def _resolution_rows(
    comparisons: Sequence[Row], resolutions: Mapping[str, float], row_total: float, level: float
) -> Iterator[Row]:
    """Yield the number of rows needed to detect a difference of a measure with power .8.

    None where these rows do not plan a study, as in `families.planned_differences`.
    rows needed = rows (detectable / resolution)², detectable = (z at (1 + level) / 2 + z at .8) s
    Source: Cohen 1988, Statistical Power Analysis for the Behavioral Sciences, chapter 2.
    """
    for row in comparisons:
        resolution = resolutions.get(row["measure"])
        standard_error = row["se"]
        if resolution is not None and isinstance(standard_error, float):
            is_planned = row["detectable"] is not None
            detectable = float(families.detectable_difference(standard_error, level=level))
            yield as_row(
                {
                    "measure": row["measure"],
                    "model": row["model"],
                    "reference": row["reference"],
                    "detectable": detectable if is_planned else None,
                    "wanted": resolution,
                    "rows_needed": ceil(row_total * (detectable / resolution) ** 2)
                    if is_planned
                    else None,
                }
            )


LEADS = ("roc_auc", "balanced_accuracy", "accuracy")  # the first that is known


def runs_as_slices(options: ReportOptions, sample: Sample) -> Sample:
    """Return the sample with runs as slices; UsageError for options that need distinct rows."""
    models = sample.slices[None].models
    for flag, option_value in (
        ("--margin", options.margin),
        ("--resolution", options.resolution),
        ("--list-changes", options.list_changes),
        ("--dummies", options.dummies),
        ("--best-threshold", options.best_threshold),
        ("--abstain", options.abstain),
        ("--prevalence", options.prevalence),
    ):
        if option_value:
            raise bad_option(
                f"{OPTION}{flag}{END} is not available with runs, which may repeat rows"
            )
    reference = options.reference
    if reference == families.BEST:
        raise bad_option(
            f"{OPTION}--reference best{END} is not available with runs: name a model, or all-pairs"
        )
    if reference not in (None, families.ALL_PAIRS, *models):
        raise unknown_model_error("--reference", str(reference), [*models, families.ALL_PAIRS])
    if reference is not None and len(models) == 1:
        raise bad_option(f"{OPTION}--reference{END} {reference}: '{models[0]}' is the only model")
    if sample.predictions is None:
        message = f"{OPTION}--run{END} needs predictions by row, but the table has counts"
        hint = "give a table with the predictions of all models"
        raise UsageError.new(message, "needs-predictions", hint=hint)
    return replace(sample, slices=dict(sample.predictions.confusions), runs={})


def average_over_runs(
    sample: Sample, report: Document, runs: Runs, options: ReportOptions
) -> Document:
    """Return means over runs; report: one that has each of them as a slice."""
    level = options.confidence
    slice_prefix = slice_label((str(sample.roles.run),), ("",))
    rows_by_run = _measure_rows_by_run(report.tables["measures"], slice_prefix)
    values_by_run = {  # by measure and model, then run
        key: {run: as_estimate(row["value"]) for run, row in rows.items()}
        for key, rows in rows_by_run.items()
    }
    means = run_means(values_by_run, runs, level)
    models = list(dict.fromkeys(row["model"] for row in report.tables["models"]))
    lead_measure = _lead_of_means(means)
    ties: Mapping[str, bool] = {}
    if level is not None and options.reference is None:
        ties = run_ties(
            lead_measure, means, values_by_run, models, runs, level=level, seed=options.seed
        )
    tables = _run_tables(report, means, ties, rows_by_run)
    if options.reference is not None and level is not None:
        differences_by_run = row_differences(report.tables.get("comparisons", ()), slice_prefix)
        tables["comparisons"] = [
            *run_comparisons(
                values_by_run,
                models,
                runs,
                options.reference,
                differences_by_run,
                level=level,
                seed=options.seed,
            )
        ]
    comparisons = tables.get("comparisons", ())
    notes = run_notes(lead_measure, values_by_run, runs, report.parameters["cluster"], level)
    return replace(
        report,
        tables={name: rows for name, rows in tables.items() if rows or name == "confusion"},
        parameters={**report.parameters, "reference": options.reference},
        summary={**report.summary, "runs": len(runs.names)},
        answer=tuple(run_answers(lead_measure, means, comparisons, runs, level, ties)),
        warnings=(*report.warnings, *notes),
    )


RunRows = Mapping[tuple[str, str], Mapping[str, Row]]  # by measure and model, then run


def _measure_rows_by_run(measure_rows: Sequence[Row], slice_prefix: str) -> RunRows:
    """Return the measures of each run; slice_prefix: of slices, before the name of the run."""
    rows_by_run = dict[tuple[str, str], dict[str, Row]]()
    for row in measure_rows:
        if row["slice"] is not None and row["estimator"] in ESTIMATORS:
            key = row["measure"], row["model"]
            run = cell_text(row["slice"]).removeprefix(slice_prefix)
            rows_by_run.setdefault(key, {})[run] = row
    return rows_by_run


def _lead_of_means(means: Sequence[RunMean]) -> str:
    """Return the first leading measure that some model has."""
    defined_measures = {run_mean.metric for run_mean in means if run_mean.mean.value is not None}
    return next((name for name in LEADS if name in defined_measures), LEADS[-1])


def _run_tables(
    report: Document, means: Sequence[RunMean], ties: Mapping[str, bool], rows_by_run: RunRows
) -> dict[str, Sequence[Row]]:
    """Return the tables of a report over runs, without comparisons; ties: of each model."""
    mean_by_key = {(run_mean.metric, run_mean.model): run_mean for run_mean in means}
    model_rows = [
        row
        if row["slice"] is not None
        else as_row(
            {**_mean_row(row, mean_by_key, report.tables["models"]), "tied": ties.get(row["model"])}
        )
        for row in report.tables["models"]
    ]
    run_rows: list[Row] = [
        as_row(
            {
                "measure": measure_id,
                "model": model,
                "run": run,
                "value": row["value"],
                "se": row["se"],
            }
        )
        for (measure_id, model), rows_of_runs in rows_by_run.items()
        for run, row in rows_of_runs.items()
    ]
    spread_rows: list[Row] = [
        as_row(
            {
                "measure": run_mean.metric,
                "model": run_mean.model,
                "runs": run_mean.runs,
                "mean": run_mean.mean,
                "sd": run_mean.sd,
                "method": run_mean.method,
            }
        )
        for run_mean in means
    ]
    return {
        "models": model_rows,
        "measures": _measures_over_runs(report.tables["measures"], mean_by_key),
        "runs": run_rows,
        "run_spread": spread_rows,
        "confusion": [row for row in report.tables["confusion"] if row["slice"] is not None],
    }


def _measures_over_runs(
    measure_rows: Sequence[Row], mean_by_key: Mapping[tuple[str, str], RunMean]
) -> list[Row]:
    """Return the measures of runs, and means in place of the values of all rows together."""
    averaged_rows = list[Row]()
    for row in measure_rows:  # measures of one class stay in the rows of the runs only
        run_mean = mean_by_key.get((row["measure"], row["model"]))
        if row["slice"] is not None:
            averaged_rows.append(row)
        elif run_mean is not None and row["estimator"] in ESTIMATORS:
            averaged_rows.append(
                as_row({**row, "value": run_mean.mean, "se": None, "method": run_mean.method})
            )
    return averaged_rows


def _mean_row(
    row: Row, mean_by_key: Mapping[tuple[str, str], RunMean], model_rows: Sequence[Row]
) -> Row:
    """Return the row of a model on the first screen with means over runs, of the counts too."""
    run_rows = [
        run_row
        for run_row in model_rows
        if run_row["model"] == row["model"] and run_row["slice"] is not None
    ]
    mean_row: dict[str, Any] = {**row}
    for column, cell in row.items():
        if isinstance(cell, Estimate) and (run_mean := mean_by_key.get((column, row["model"]))):
            mean_row[column] = run_mean.mean
        elif column in ("tp", "fp", "fn", "tn") and cell is not None:
            mean_row[column] = float(
                np.mean([cell_number(run_row[column]) for run_row in run_rows])
            )
    return as_row(mean_row)
