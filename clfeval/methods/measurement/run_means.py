"""Means of measures over runs (seeds or folds) with intervals, and differences of means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import hypot, isnan, nan, sqrt

import numpy as np

from clfeval import formatting
from clfeval.compare.change import (
    BETTER,
    WORSE,
    Change,
    comparison_row,
    estimate_or_none,
    number_or_none,
    p_from_limits,
)
from clfeval.compare.families import ALL_PAIRS, family_pairs, joint_maximum_p_values
from clfeval.counts.sample import Sample
from clfeval.document import Answer, ResultNote
from clfeval.document.cells import Estimate, Row, as_estimate, cell_text
from clfeval.inference.distributions import student_quantile
from clfeval.inference.resampling import random_stream
from clfeval.measures.catalog import CATALOG
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace

FOLDS, REPEATS = "folds", "repeats"  # runs with half of all rows at most; with more of them
NONE = "none"
COUNTS = "counts do not show which rows the runs share"
MAX_LISTED = 3  # runs, or pairs of models, by name
RunValues = Mapping[tuple[str, str], Mapping[str, Estimate]]  # by measure and model, then by run
RowDifferences = Mapping[tuple[str, str, str, str], Estimate]  # see `row_differences`


@dataclass(frozen=True, slots=True)
class Runs:
    """How runs share rows."""

    names: Sequence[str]
    kind: str | None = None  # None where unknown
    rows: float = nan  # observations in all
    train: float = nan  # share of them that a run lacks
    runs_of_row: float = nan  # mean number of runs per row
    unknown: str = ""

    def reference(self, requested: str | None) -> str | None:
        """Return the reference of comparisons within runs; None for all pairs or unknown runs."""
        return requested if self.kind is not None and requested != ALL_PAIRS else None

    @classmethod
    def from_sample(cls, sample: Sample) -> Runs:
        """Return how the runs of a sample share rows; DataError if the truth of a row differs."""
        names = list(sample.runs)
        predictions = sample.predictions
        if predictions is None:
            return cls(names, unknown=f"{COUNTS}, so the means have no confidence intervals")
        if predictions.evaluated.settled.columns.id is None:
            text = f"means over runs have no confidence interval; add {OPTION}--id COLUMN{END}"
            return cls(names, unknown=text)
        row_count, run_sizes = predictions.evaluated.runs_of_rows()
        mean_size = float(np.mean(run_sizes))
        kind = REPEATS if mean_size > row_count / 2 else FOLDS
        return cls(names, kind, row_count, 1 - mean_size / row_count, sum(run_sizes) / row_count)


@dataclass(frozen=True, slots=True)
class RunMean:
    """The mean of a measure of a model over the runs that have it, and the SD between them."""

    metric: str
    model: str
    runs: int
    mean: Estimate
    sd: float | None
    method: str


def run_means(run_values: RunValues, runs: Runs, level: float | None) -> list[RunMean]:
    """Return the mean over runs of every measure and model."""
    means = list[RunMean]()
    for (metric, model), by_run in run_values.items():
        measure = CATALOG[metric.partition(":")[0]]
        estimates = [estimate for estimate in by_run.values() if estimate.value is not None]
        mean, sd, low, high, method = mean_over_runs(estimates, runs, level)
        mean_estimate = Estimate(
            None, reason=next((estimate.reason for estimate in by_run.values()), "too_few_rows")
        )
        if estimates:
            mean_estimate = estimate_or_none(mean, max(low, measure.low), min(high, measure.high))
        means.append(
            RunMean(metric, model, len(estimates), mean_estimate, number_or_none(sd), method)
        )
    return means


def mean_over_runs(
    estimates: Sequence[Estimate], runs: Runs, level: float | None
) -> tuple[float, float, float, float, str]:
    """Return the mean over runs, the SD between them, limits of the mean and the method.

    estimates: of J runs with SD S, with limits by the rows.
    folds: variance (1/J + n_test / n_train) S², J - 1 degrees of freedom; n_test: rows of a run on
    average, n_train the other rows of all: of K folds 1/J + 1/(K - 1). repeats: square-and-add of t
    S / sqrt(J) and of the mean distance of a run's limits from its value; so too folds with S = 0.
    No limits where those of a run are unknown.
    Source: Nadeau and Bengio 2003, Machine Learning 52:239; Zou and Donner 2008, Statistics in
    Medicine 27:1693.
    """
    values = np.array([estimate.value for estimate in estimates], np.float64)
    j = len(values)
    mean = float(values.mean()) if j else nan
    sd = float(values.std(ddof=1)) if j > 1 else nan
    if j < 2 or runs.kind is None or level is None:
        return mean, sd, nan, nan, NONE
    t = float(student_quantile(j - 1, level=level))
    if runs.kind == FOLDS and np.ptp(values):
        half_width = t * sd * sqrt(1 / j + (1 - runs.train) / runs.train)
        return mean, sd, mean - half_width, mean + half_width, "corrected t (Nadeau-Bengio)"
    between_runs = t * sd / sqrt(j)
    mean_limits = np.array(
        [(estimate.low, estimate.high) for estimate in estimates], np.float64
    ).mean(axis=0)  # None is NaN
    distance_below, distance_above = (
        hypot(between_runs, abs(float(limit) - mean)) for limit in mean_limits
    )
    if isnan(distance_below + distance_above) or not distance_below + distance_above:
        return mean, sd, nan, nan, NONE
    return mean, sd, mean - distance_below, mean + distance_above, "runs and rows, square-and-add"


def row_differences(rows: Sequence[Row], prefix: str) -> RowDifferences:
    """Return the differences within runs (slices named `prefix`...) by measure, models and run."""
    return {
        (
            row["measure"],
            row["model"],
            cell_text(row["reference"]),
            cell_text(row["slice"]).removeprefix(prefix),
        ): as_estimate(row["difference"])
        for row in rows
        if row["slice"] is not None and row["against"] == "reference"
    }


def run_comparisons(
    run_values: RunValues,
    models: Sequence[str],
    runs: Runs,
    reference: str,
    by_rows: RowDifferences,
    *,
    level: float,
    seed: int,
) -> Iterator[Row]:
    """Yield mean differences over runs, adjusted for all pairs of models.

    by_rows: the differences within runs, with limits.
    """
    pairs = family_pairs(reference, models)
    for measure_id in dict.fromkeys(measure_id for measure_id, _ in run_values):
        mean_differences = [
            _mean_difference(
                measure_id,
                (models[model_index], models[reference_index]),
                run_values,
                by_rows,
                runs,
                level,
            )
            for model_index, reference_index in pairs
        ]
        changes = [mean_difference.change for mean_difference in mean_differences]
        rng = random_stream(seed, f"runs\0{measure_id}")
        adjusted_changes = _adjust_changes(
            changes, pairs, len(models), span=_measure_span(measure_id), level=level, rng=rng
        )
        for (model_index, reference_index), change, mean_difference in zip(
            pairs, adjusted_changes, mean_differences, strict=True
        ):
            yield comparison_row(
                "run",
                measure_id,
                models[model_index],
                models[reference_index],
                change,
                level,
                method=mean_difference.method,
            )


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """The mean difference of two models over runs, and the method of its interval."""

    change: Change
    method: str


def _mean_difference(
    metric: str,
    models: tuple[str, str],
    run_values: RunValues,
    by_rows: RowDifferences,
    runs: Runs,
    level: float,
) -> MeanDifference:
    """Return the mean difference of a model from a reference over the runs that have both."""
    model, reference = models
    value_pairs = _paired_values(
        run_values.get((metric, model), {}), run_values.get((metric, reference), {})
    )
    differences = [
        replace(
            by_rows.get((metric, model, reference, run), Estimate(None)),
            value=new_value - reference_value,
        )
        for run, (new_value, reference_value) in value_pairs.items()
    ]
    mean, _, low, high, method = mean_over_runs(differences, runs, level)
    p = float(p_from_limits(mean, low, high, len(value_pairs) - 1, level=level))
    if (
        runs.kind is not None
        and len(value_pairs) > 1
        and not any(difference.value for difference in differences)
    ):
        p = 1.0  # the models are equal in every run
    span = _measure_span(metric)
    reason = None if value_pairs else "too_few_rows"
    difference_estimate = estimate_or_none(mean, max(low, -span), min(high, span), reason)
    change = Change(
        _mean_of_runs([reference_value for _, reference_value in value_pairs.values()]),
        _mean_of_runs([new_value for new_value, _ in value_pairs.values()]),
        difference_estimate,
        number_or_none(p),
        rows=len(value_pairs),
        paired=True,
    )
    return MeanDifference(change, method)


def _paired_values(
    by_run: Mapping[str, Estimate], reference_by_run: Mapping[str, Estimate]
) -> dict[str, tuple[float, float]]:
    """Return the values of two models in the runs in which both have one."""
    value_pairs: dict[str, tuple[float, float]] = {}
    for run, estimate in by_run.items():
        value = estimate.value
        reference_value = reference_by_run[run].value if run in reference_by_run else None
        if value is not None and reference_value is not None:
            value_pairs[run] = (value, reference_value)
    return value_pairs


def _mean_of_runs(values: Sequence[float]) -> Estimate:
    """Return the mean of values of runs, without limits."""
    if not values:
        return Estimate(None, reason="too_few_rows")
    return Estimate(float(np.mean(values)))


def _measure_span(metric: str) -> float:
    """Return the length of the range of a measure, which may have parameters."""
    measure = CATALOG[metric.partition(":")[0]]
    return measure.high - measure.low


def _adjust_changes(
    changes: Sequence[Change],
    pairs: Sequence[tuple[int, int]],
    model_count: int,
    *,
    span: float,
    level: float,
    rng: np.random.Generator,
) -> list[Change]:
    """Return the changes of pairs of models with adjusted p-values and simultaneous limits."""
    tested_indices = [
        pair_index for pair_index, change in enumerate(changes) if change.p is not None
    ]
    model_indices, reference_indices = (
        np.array([pairs[pair_index] for pair_index in tested_indices], np.int64).reshape(-1, 2).T
    )
    p_values = np.array([changes[pair_index].p for pair_index in tested_indices], np.float64)
    adjusted, each_level = joint_maximum_p_values(
        p_values, model_indices, reference_indices, np.eye(model_count), level=level, rng=rng
    )
    adjusted_p = dict(zip(tested_indices, adjusted.tolist(), strict=True))
    return [
        replace(
            change,
            adjusted=adjusted_p.get(pair_index),
            simultaneous=_widen_limits(change, each_level, span=span, level=level),
        )
        for pair_index, change in enumerate(changes)
    ]


def _widen_limits(change: Change, each_level: float, *, span: float, level: float) -> Estimate:
    """Return the difference with limits of another level, within the span of the measure."""
    difference = change.difference
    value, low, high = difference.value, difference.low, difference.high
    if value is None or low is None or high is None:
        return difference
    df = max((change.rows or 1) - 1, 1)
    joint_quantile, single_quantile = (
        float(student_quantile(df, level=confidence)) for confidence in (each_level, level)
    )
    widening = joint_quantile / single_quantile
    low = value + (low - value) * widening
    high = value + (high - value) * widening
    return replace(difference, low=max(low, -span), high=min(high, span))


def run_ties(
    lead_measure: str,
    means: Sequence[RunMean],
    run_values: RunValues,
    models: Sequence[str],
    runs: Runs,
    *,
    level: float,
    seed: int,
) -> dict[str, bool]:
    """Return which models are tied with the best mean, adjusted for pairs; empty without tests."""
    known_means = {
        run_mean.model: value
        for run_mean in means
        if run_mean.metric == lead_measure and (value := run_mean.mean.value) is not None
    }
    if len(known_means) < 2:
        return {}
    best_model = max(known_means, key=lambda model: CATALOG[lead_measure].sign * known_means[model])
    lead_values = {key: by_run for key, by_run in run_values.items() if key[0] == lead_measure}
    comparisons = run_comparisons(lead_values, models, runs, ALL_PAIRS, {}, level=level, seed=seed)
    tied = {best_model: True}
    for row in comparisons:
        pair = {row["model"], cell_text(row["reference"])}
        if best_model in pair and row["p"] is not None:
            tied |= dict.fromkeys(pair - {best_model}, row["verdict"] not in (BETTER, WORSE))
    return tied if len(tied) == len(known_means) else {}


def run_answers(
    lead_measure: str,
    means: Sequence[RunMean],
    comparisons: Sequence[Row],
    runs: Runs,
    level: float | None,
    tied: Mapping[str, bool],
) -> Iterator[Answer]:
    """Yield sentences on the best mean and models significantly different; tied: see `run_ties`."""
    measure = CATALOG[lead_measure]
    lead_means = [mean for mean in means if mean.metric == lead_measure]
    ranked = sorted(
        (mean for mean in lead_means if mean.mean.value is not None),
        key=lambda mean: -measure.sign * (mean.mean.value or 0.0),
    )
    if not ranked:
        yield Answer("no-position", f"{measure.title} is undefined in every run.")
        return
    best_run_mean = ranked[0]
    best_mean = best_run_mean.mean
    best_models = [mean.model for mean in ranked if mean.mean.value == best_mean.value]
    verb_phrase = "has the highest" if len(best_models) == 1 else "have the highest"
    if len(lead_means) == 1:
        verb_phrase = "has a"
    value_text = formatting.with_interval(
        best_mean.value or 0.0, best_mean.low, best_mean.high, level or 0.95
    )
    deviation = (
        "" if best_run_mean.sd is None else f", SD {formatting.format_number(best_run_mean.sd)}"
    )
    runs_text = formatting.format_count(best_run_mean.runs, "run")
    sentence = f"{formatting.join_names(best_models)} {verb_phrase} mean {measure.title} over "
    sentence += f"{runs_text}: {value_text}"
    other_models = [
        mean.model for mean in ranked if mean.model in tied and mean.model not in best_models
    ]
    worse_models = [model for model in other_models if not tied[model]]
    tied_models = [model for model in other_models if tied[model]]
    ties_text = formatting.describe_ties(tied_models, worse_models)
    sentence = f"{sentence}{deviation}. {ties_text}".rstrip()
    yield Answer(
        "best",
        sentence,
        tuple(best_models),
        lead_measure,
        best_mean.value,
        best_mean.low,
        best_mean.high,
    )
    yield from _run_differences_answer(lead_measure, comparisons, runs)
    if level is None or best_mean.low is None:
        return
    sentence = "Every row is in one run" if runs.runs_of_row == 1 else "Runs share some rows"
    sentence += ": intervals use the Nadeau-Bengio correction for cross-validation."
    if runs.kind == REPEATS:
        sentence = f"All {len(runs.names):,} runs have the same {runs.rows:,.0f} rows"
        if runs.runs_of_row < len(runs.names):
            sentence = f"Runs share most of their {runs.rows:,.0f} rows"
        sentence += ": intervals include the variance between runs and between rows."
    yield Answer("runs", sentence)


def _run_differences_answer(
    lead_measure: str, comparisons: Sequence[Row], runs: Runs
) -> Iterator[Answer]:
    """Yield the sentence on models significantly better or worse over runs."""
    rows = [row for row in comparisons if row["measure"] == lead_measure]
    if not rows:
        return
    title = CATALOG[lead_measure].title
    tests_text = formatting.format_count(len(rows), "test")
    if all(row["p"] is None for row in rows):
        sentence = f"No significance test of mean {title} over runs is possible"
        sentence += f": {COUNTS}" if runs.unknown.startswith(COUNTS) else ""
        if runs.kind == REPEATS and len({row["reference"] for row in rows}) > 1:
            sentence += f": add {OPTION}--reference MODEL{END} to compare with one model"
        yield Answer("compared", f"{sentence}.", (), lead_measure)
        return
    rows_by_verdict = {
        verdict: [row for row in rows if row["verdict"] == verdict] for verdict in (BETTER, WORSE)
    }
    significant_rows = [*rows_by_verdict[BETTER], *rows_by_verdict[WORSE]]
    tests_clause = f" ({tests_text}, adjusted together)" if len(rows) > 1 else ""
    if len({row["reference"] for row in rows}) > 1:
        significant_pairs = [
            (row["model"], cell_text(row["reference"])) for row in significant_rows
        ]
        sentence = (
            f"{len(significant_rows):,} of {formatting.format_count(len(rows), 'pair')} of models "
        )
        verb = "differs" if len(significant_rows) == 1 else "differ"
        sentence += f"{verb} significantly in mean {title} over runs{tests_clause}"
        shown_pairs = [  # the better one first
            " above ".join(
                map(formatting.quote_if_ambiguous, pair if row["verdict"] == BETTER else pair[::-1])
            )
            for row, pair in zip(significant_rows[:MAX_LISTED], significant_pairs, strict=False)
        ]
        sentence += f": {', '.join(shown_pairs)}" if shown_pairs else ""
        unlisted_count = len(significant_pairs) - len(shown_pairs)
        sentence += f" and {unlisted_count:,} more" if unlisted_count else ""
        yield Answer("compared", f"{sentence}.", (), lead_measure)
        return
    reference = formatting.quote_if_ambiguous(str(rows[0]["reference"]))
    findings = [
        f"{formatting.join_names([str(row['model']) for row in verdict_rows])} "
        f"{'is' if len(verdict_rows) == 1 else 'are'} significantly {verdict} than {reference}"
        for verdict, verdict_rows in rows_by_verdict.items()
        if verdict_rows
    ]
    finding = " and ".join(findings) or f"no model is significantly different from {reference}"
    sentence = f"By mean {title} over runs, {finding}{tests_clause}."
    yield Answer(
        "compared", sentence, tuple(row["model"] for row in significant_rows), lead_measure
    )


def run_notes(
    lead_measure: str, run_values: RunValues, runs: Runs, cluster: str | None, level: float | None
) -> Iterator[ResultNote]:
    """Yield warnings on missing intervals, their assumptions, and runs that means exclude."""
    if len(runs.names) == 1:
        text = "there is only one run: variation between runs is unknown"
        yield ResultNote("runs-dependent", text)
    elif runs.kind is None and level is not None:
        yield ResultNote("runs-dependent", runs.unknown)
    excluded_runs = {
        run
        for (metric, _), by_run in run_values.items()
        if metric == lead_measure
        for run in runs.names
        if run not in by_run or by_run[run].value is None
    }
    if excluded_runs:
        text = f"{CATALOG[lead_measure].title} is undefined in, and its means exclude, run"
        runs_text = formatting.join_words(
            [run for run in runs.names if run in excluded_runs], most=MAX_LISTED
        )
        plural = "s" if len(excluded_runs) > 1 else ""
        yield ResultNote("runs-left-out", f"{text}{plural} {runs_text}")
    if runs.kind == FOLDS and cluster is not None and level is not None:
        text = f"intervals over runs assume independent runs, even if they share '{cluster}'"
        yield ResultNote("runs-dependent", text)
