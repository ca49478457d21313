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
        distinct, sizes = predictions.evaluated.runs_of_rows()
        size = float(np.mean(sizes))
        kind = REPEATS if size > distinct / 2 else FOLDS
        return cls(names, kind, distinct, 1 - size / distinct, sum(sizes) / distinct)


@dataclass(frozen=True, slots=True)
class RunMean:
    """The mean of a measure of a model over the runs that have it, and the SD between them."""

    metric: str
    model: str
    runs: int
    mean: Estimate
    sd: float | None
    method: str


def run_means(values: RunValues, runs: Runs, level: float | None) -> list[RunMean]:
    """Return the mean over runs of every measure and model."""
    means = list[RunMean]()
    for (metric, model), by_run in values.items():
        measure = CATALOG[metric.partition(":")[0]]
        estimates = [estimate for estimate in by_run.values() if estimate.value is not None]
        mean, sd, low, high, method = mean_over_runs(estimates, runs, level)
        value = Estimate(
            None, reason=next((estimate.reason for estimate in by_run.values()), "too_few_rows")
        )
        if estimates:
            value = estimate_or_none(mean, max(low, measure.low), min(high, measure.high))
        means.append(RunMean(metric, model, len(estimates), value, number_or_none(sd), method))
    return means


def mean_over_runs(
    estimates: Sequence[Estimate], runs: Runs, level: float | None
) -> tuple[float, float, float, float, str]:
    """Return the mean over runs, the SD between them, limits of the mean and the method.

    estimates: of runs, with limits by the rows. folds:
    variance (1/J + n_test / n_train) S², J - 1 degrees of freedom; n_test: rows of a run on
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
        reach = t * sd * sqrt(1 / j + (1 - runs.train) / runs.train)
        return mean, sd, mean - reach, mean + reach, "corrected t (Nadeau-Bengio)"
    between_runs = t * sd / sqrt(j)
    mean_limits = np.array(
        [(estimate.low, estimate.high) for estimate in estimates], np.float64
    ).mean(axis=0)  # None is NaN
    below, above = (hypot(between_runs, abs(float(end) - mean)) for end in mean_limits)
    if isnan(below + above) or not below + above:
        return mean, sd, nan, nan, NONE
    return mean, sd, mean - below, mean + above, "runs and rows, square-and-add"


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
    values: RunValues,
    models: Sequence[str],
    runs: Runs,
    reference: str,
    by_rows: RowDifferences,
    *,
    level: float,
    seed: int,
) -> Iterator[Row]:
    """Yield mean differences over runs, adjusted for all pairs; by_rows: of runs, with limits."""
    pairs = family_pairs(reference, models)
    for metric in dict.fromkeys(metric for metric, _ in values):
        differences = [
            _mean_difference(metric, (models[i], models[j]), values, by_rows, runs, level)
            for i, j in pairs
        ]
        changes = [difference.change for difference in differences]
        rng = random_stream(seed, f"runs\0{metric}")
        adjusted_changes = _adjust_changes(
            changes, pairs, len(models), span=_measure_span(metric), level=level, rng=rng
        )
        for (i, j), change, difference in zip(pairs, adjusted_changes, differences, strict=True):
            yield comparison_row(
                "run", metric, models[i], models[j], change, level, method=difference.method
            )


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """The mean difference of two models over runs, and the method of its interval."""

    change: Change
    method: str


def _mean_difference(
    metric: str,
    models: tuple[str, str],
    values: RunValues,
    by_rows: RowDifferences,
    runs: Runs,
    level: float,
) -> MeanDifference:
    """Return the mean difference of a model from a reference over the runs that have both."""
    model, reference = models
    pairs = _paired_values(values.get((metric, model), {}), values.get((metric, reference), {}))
    differences = [
        replace(by_rows.get((metric, model, reference, run), Estimate(None)), value=new - old)
        for run, (new, old) in pairs.items()
    ]
    mean, _, low, high, method = mean_over_runs(differences, runs, level)
    p = float(p_from_limits(mean, low, high, len(pairs) - 1, level=level))
    if runs.kind is not None and len(pairs) > 1 and not any(d.value for d in differences):
        p = 1.0
    span = _measure_span(metric)
    reason = None if pairs else "too_few_rows"
    limited = estimate_or_none(mean, max(low, -span), min(high, span), reason)
    change = Change(
        _mean_of_runs([old for _, old in pairs.values()]),
        _mean_of_runs([new for new, _ in pairs.values()]),
        limited,
        number_or_none(p),
        rows=len(pairs),
        paired=True,
    )
    return MeanDifference(change, method)


def _paired_values(
    first: Mapping[str, Estimate], second: Mapping[str, Estimate]
) -> dict[str, tuple[float, float]]:
    """Return the values of two models in the runs in which both have one."""
    pairs: dict[str, tuple[float, float]] = {}
    for run, estimate in first.items():
        value = estimate.value
        reference_value = second[run].value if run in second else None
        if value is not None and reference_value is not None:
            pairs[run] = (value, reference_value)
    return pairs


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
    models: int,
    *,
    span: float,
    level: float,
    rng: np.random.Generator,
) -> list[Change]:
    """Return the changes of pairs of models with adjusted p-values and simultaneous limits."""
    tested = [k for k, change in enumerate(changes) if change.p is not None]
    first, second = np.array([pairs[k] for k in tested], np.int64).reshape(-1, 2).T
    p_values = np.array([changes[k].p for k in tested], np.float64)
    adjusted, each_level = joint_maximum_p_values(
        p_values, first, second, np.eye(models), level=level, rng=rng
    )
    adjusted_p = dict(zip(tested, adjusted.tolist(), strict=True))
    return [
        replace(
            change,
            adjusted=adjusted_p.get(k),
            simultaneous=_widen_limits(change, each_level, span=span, level=level),
        )
        for k, change in enumerate(changes)
    ]


def _widen_limits(change: Change, each_level: float, *, span: float, level: float) -> Estimate:
    """Return the difference with limits of another level, within the span of the measure."""
    difference = change.difference
    value, low, high = difference.value, difference.low, difference.high
    if value is None or low is None or high is None:
        return difference
    df = max((change.rows or 1) - 1, 1)
    joint, single = (float(student_quantile(df, level=p)) for p in (each_level, level))
    widening = joint / single
    low = value + (low - value) * widening
    high = value + (high - value) * widening
    return replace(difference, low=max(low, -span), high=min(high, span))


def run_ties(
    lead: str,
    means: Sequence[RunMean],
    values: RunValues,
    models: Sequence[str],
    runs: Runs,
    *,
    level: float,
    seed: int,
) -> dict[str, bool]:
    """Return which models are tied with the best mean, adjusted for pairs; empty without tests."""
    known_means = {
        mean.model: value
        for mean in means
        if mean.metric == lead and (value := mean.mean.value) is not None
    }
    if len(known_means) < 2:
        return {}
    best = max(known_means, key=lambda model: CATALOG[lead].sign * known_means[model])
    lead_values = {key: of_runs for key, of_runs in values.items() if key[0] == lead}
    rows = run_comparisons(lead_values, models, runs, ALL_PAIRS, {}, level=level, seed=seed)
    tied = {best: True}
    for row in rows:
        pair = {row["model"], cell_text(row["reference"])}
        if best in pair and row["p"] is not None:
            tied |= dict.fromkeys(pair - {best}, row["verdict"] not in (BETTER, WORSE))
    return tied if len(tied) == len(known_means) else {}


def run_answers(
    lead: str,
    means: Sequence[RunMean],
    compared: Sequence[Row],
    runs: Runs,
    level: float | None,
    tied: Mapping[str, bool],
) -> Iterator[Answer]:
    """Yield sentences on the best mean and models significantly different; tied: see `run_ties`."""
    measure = CATALOG[lead]
    lead_means = [mean for mean in means if mean.metric == lead]
    ranked = sorted(
        (mean for mean in lead_means if mean.mean.value is not None),
        key=lambda mean: -measure.sign * (mean.mean.value or 0.0),
    )
    if not ranked:
        yield Answer("no-position", f"{measure.title} is undefined in every run.")
        return
    first = ranked[0]
    best_mean = first.mean
    models = [mean.model for mean in ranked if mean.mean.value == best_mean.value]
    best = (
        "has a"
        if len(lead_means) == 1
        else "has the highest"
        if len(models) == 1
        else ("have the highest")
    )
    size = formatting.with_interval(
        best_mean.value or 0.0, best_mean.low, best_mean.high, level or 0.95
    )
    deviation = "" if first.sd is None else f", SD {formatting.format_number(first.sd)}"
    runs_text = formatting.format_count(first.runs, "run")
    text = f"{formatting.join_names(models)} {best} mean {measure.title} over {runs_text}: {size}"
    order = [mean.model for mean in ranked if mean.model in tied and mean.model not in models]
    worse = [name for name in order if not tied[name]]
    ties = formatting.describe_ties([name for name in order if tied[name]], worse)
    text = f"{text}{deviation}. {ties}".rstrip()
    yield Answer("best", text, tuple(models), lead, best_mean.value, best_mean.low, best_mean.high)
    yield from _run_differences_answer(lead, compared, runs)
    if level is None or best_mean.low is None:
        return
    text = "Every row is in one run" if runs.runs_of_row == 1 else "Runs share some rows"
    text += ": intervals use the Nadeau-Bengio correction for cross-validation."
    if runs.kind == REPEATS:
        text = f"All {len(runs.names):,} runs have the same {runs.rows:,.0f} rows"
        if runs.runs_of_row < len(runs.names):
            text = f"Runs share most of their {runs.rows:,.0f} rows"
        text += ": intervals include the variance between runs and between rows."
    yield Answer("runs", text)


def _run_differences_answer(lead: str, compared: Sequence[Row], runs: Runs) -> Iterator[Answer]:
    """Yield the sentence on models significantly better or worse over runs."""
    rows = [row for row in compared if row["measure"] == lead]
    if not rows:
        return
    title = CATALOG[lead].title
    tests = formatting.format_count(len(rows), "test")
    if all(row["p"] is None for row in rows):
        text = f"No significance test of mean {title} over runs is possible"
        text += f": {COUNTS}" * runs.unknown.startswith(COUNTS)
        if runs.kind == REPEATS and len({row["reference"] for row in rows}) > 1:
            text += f": add {OPTION}--reference MODEL{END} to compare with one model"
        yield Answer("compared", f"{text}.", (), lead)
        return
    kinds = {kind: [row for row in rows if row["verdict"] == kind] for kind in (BETTER, WORSE)}
    differing = [*kinds[BETTER], *kinds[WORSE]]
    rule = f" ({tests}, adjusted together)" * (len(rows) > 1)
    if len({row["reference"] for row in rows}) > 1:
        pairs = [(row["model"], cell_text(row["reference"])) for row in differing]
        text = f"{len(differing):,} of {formatting.format_count(len(rows), 'pair')} of models "
        text += f"differ{'s' * (len(differing) == 1)} significantly in mean {title} over runs{rule}"
        shown_pairs = [  # the better one first
            " above ".join(
                map(formatting.quote_if_ambiguous, pair if row["verdict"] == BETTER else pair[::-1])
            )
            for row, pair in zip(differing[:MAX_LISTED], pairs, strict=False)
        ]
        text += f": {', '.join(shown_pairs)}" if shown_pairs else ""
        further = len(pairs) - len(shown_pairs)
        text += f" and {further:,} more" if further else ""
        yield Answer("compared", f"{text}.", (), lead)
        return
    reference = formatting.quote_if_ambiguous(str(rows[0]["reference"]))
    findings = [
        f"{formatting.join_names([str(row['model']) for row in kind_rows])} "
        f"{'is' if len(kind_rows) == 1 else 'are'} significantly {kind} than {reference}"
        for kind, kind_rows in kinds.items()
        if kind_rows
    ]
    finding = " and ".join(findings) or f"no model is significantly different from {reference}"
    text = f"By mean {title} over runs, {finding}{rule}."
    yield Answer("compared", text, tuple(row["model"] for row in differing), lead)


def run_notes(
    lead: str, values: RunValues, runs: Runs, cluster: str | None, level: float | None
) -> Iterator[ResultNote]:
    """Yield warnings on missing intervals, their assumptions, and runs that means exclude."""
    if len(runs.names) == 1:
        text = "there is only one run: variation between runs is unknown"
        yield ResultNote("runs-dependent", text)
    elif runs.kind is None and level is not None:
        yield ResultNote("runs-dependent", runs.unknown)
    left = {
        run
        for (metric, _), by_run in values.items()
        if metric == lead
        for run in runs.names
        if run not in by_run or by_run[run].value is None
    }
    if left:
        text = f"{CATALOG[lead].title} is undefined in, and its means exclude, run"
        names = formatting.join_words([run for run in runs.names if run in left], most=MAX_LISTED)
        yield ResultNote("runs-left-out", f"{text}{'s' * (len(left) > 1)} {names}")
    if runs.kind == FOLDS and cluster is not None and level is not None:
        text = f"intervals over runs assume independent runs, even if they share '{cluster}'"
        yield ResultNote("runs-dependent", text)
