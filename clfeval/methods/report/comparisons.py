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
from clfeval.document import Document, Estimate, Row, as_estimate
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

FEW = 3  # models from which the best is corrected for selection
DEPENDENT = "none: the test assumes independent rows without weights"
ESTIMATORS = ("binary", "multiclass", "macro")  # of the values that are compared

Patterns = PatternCounts | ClassPatterns
P = TypeVar("P")


def compared_measures(
    asked: Sequence[RequestedMeasure], lead: str, options: ReportOptions
) -> list[RequestedMeasure]:
    """Return the measures that compare models; none without intervals."""
    if options.confidence is None:
        return []
    screen = families.ON_SCREEN if options.reference is not None else ()
    found = [one for one in asked if one.name == lead or one.by != "default" or one.name in screen]
    return sorted(found, key=lambda one: one.name != lead)


def check_reference(models: Sequence[str], options: ReportOptions, *, same_rows: bool) -> None:
    """Raise UsageError for an unknown reference, or one without models to compare."""
    reference = options.reference
    if reference is None:
        return
    if reference not in (*models, *families.EVERY) and not families.family_pairs(reference, models):
        raise unknown_model_error("--reference", reference, [*models, *families.EVERY])
    if len(models) == 1:
        raise bad_option(f"--reference {reference}: '{models[0]}' is the only model")
    if not same_rows:
        what = "--reference compares models on the same rows, but the rows of these models may "
        hint = "give a table with the predictions of all models"
        raise UsageError.new(f"{what}differ", "needs-predictions", hint=hint)


def observed_values(metrics: Sequence[Row]) -> Observed:
    """Return the values of the whole table, by model and measure."""
    return {
        (str(row["model"]), str(row["measure"])): as_estimate(row["value"])
        for row in metrics
        if row["slice"] is None and row["estimator"] in ESTIMATORS
    }


def compare_models(
    estimates: Mapping[str, PairedEstimates],
    held: Sequence[RequestedMeasure],
    metrics: Sequence[Row],
    patterns: Patterns | None,
    called: Callable[[str], Iterable[str]],
    options: ReportOptions,
    counted: PredictionCounts | None,
    uncut: Collection[str] = (),
) -> tuple[dict[str, families.BestSet], dict[str, list[Row]]]:
    """Return the best sets and tables of comparisons; called: measures that an option names.

    The family: all pairs of models, or those with a reference. uncut: models without threshold.
    """
    every = [estimates[one.name] for one in held if one.name in estimates]
    observed, reference, level = observed_values(metrics), options.reference, options.level
    best, rows = dict[str, families.BestSet](), defaultdict[str, list[Row]](list)
    ranked = reference is None or reference in families.EVERY
    margins = numbers_by_measure(options.margin, called)
    for one in every:
        together = reference is not None and one.metric in OPERATING_POINT  # one family
        compared = families.family_pairs(reference, one.models)
        measures = len(OPERATING_POINT) if together else 1
        family = families.adjusted_family(
            one, compared, level=level, seed=options.seed, measures=measures
        )
        found = families.best_set(family if ranked else None, one, seed=options.seed)
        if found is not None:
            best[one.metric] = found
            rows["best"] += _best_rows(one, found) if ranked else ()
            rows["winner"] += _winner_rows(one, found, observed)
        if family is not None and reference is not None and patterns is not None:
            named = zip(one.models, one.values.tolist(), strict=True)
            kept = [observed.get((name, one.metric), Estimate(value)) for name, value in named]
            size = float(from_units(patterns.n.sum(), patterns.unit))
            rows["comparisons"] += families.reference_rows(
                family, kept, size, reference, margin=margins.get(one.metric)
            )
    if reference is not None and patterns is not None and counted is not None and every:
        all_of = rows["comparisons"]
        pairs = [*dict.fromkeys((str(row["model"]), str(row["reference"])) for row in all_of)]
        pairs = [pair for pair in pairs if not {*pair} & {*uncut}]
        wanted = numbers_by_measure(options.resolution, called)
        rows["mcnemar"] = [*_mcnemar_rows(patterns, pairs)]
        rows["together"] = [*_cochran_rows(patterns, uncut)]
        rows["resolution"] = [*_resolution_rows(all_of, wanted, counted.size, level)]
        if options.list_changes is not None:
            rows["changes"] = [*list_changes(counted, pairs, options.list_changes)]
    return best if ranked else {}, {name: some for name, some in rows.items() if some}


def with_bounds(rows: list[Row], estimates: Mapping[str, PairedEstimates]) -> list[Row]:
    """Return comparisons with the bound of each difference, where scores are in buckets."""
    off = {
        (name, model): bound
        for name, one in estimates.items()
        if one.bounds is not None
        for model, bound in zip(one.models, one.bounds.tolist(), strict=True)
    }
    if not off:
        return rows
    return [
        {
            **row,
            "bound": None
            if (of := (str(row["measure"]), str(row["model"]))) not in off
            else off[of] + off[of[0], str(row["reference"])],
        }
        for row in rows
    ]


def slice_compared_measures(
    held: Sequence[RequestedMeasure], lead: str, options: ReportOptions
) -> list[RequestedMeasure]:
    """Return the measures that compare models in slices: the leading one, and those named."""
    if options.reference in (None, families.ALL_PAIRS):
        return []
    return [one for one in held if one.name == lead or one.by == "name"]


def slice_label_estimates(
    patterns: Mapping[str | None, P],
    held: Sequence[RequestedMeasure],
    lead: str,
    options: ReportOptions,
    estimate: Callable[[P, RequestedMeasure], PairedEstimates | None],
) -> dict[str, dict[str, PairedEstimates]]:
    """Return paired estimates in each slice by measures of labels, as `estimate` makes them."""
    return {
        one.name: {
            label: found
            for label, part in patterns.items()
            if label is not None and (found := estimate(part, one))
        }
        for one in slice_compared_measures(held, lead, options)
        if not takes_scores(one)
    }


def slice_score_estimates(
    every: ScoredRows,
    patterns: Mapping[str | None, PatternCounts],
    one: RequestedMeasure,
    moved: Mapping[str, Mapping[str, tuple[float, Floats]]],
) -> dict[str, PairedEstimates]:
    """Return paired estimates in each slice by a measure of scores; moved: value, influence."""
    found = dict[str, PairedEstimates]()
    for label, mine in moved.items():
        rows, owners = every.slices[label], None
        weights = None if every.weights is None else every.weights[rows]
        if every.owners is not None:
            _, owners = np.unique(every.owners[rows], return_inverse=True)
        sizes = effective_class_sizes(patterns[label], 2)
        if some := score_estimates(weights, owners, one, mine, sizes, sampling=every.weighed):
            found[label] = some
    return found


def subtract_bias(value: Estimate, bias: float) -> Estimate:
    """Return an estimate and its limits less a bias."""
    less, low, high = (
        None if end is None else end - bias for end in (value.value, value.low, value.high)
    )
    return Estimate(less, low, high, value.reason)


def _best_rows(one: PairedEstimates, found: families.BestSet) -> Iterator[Row]:
    """Yield whether each of several models is tied with the best, and the limits of its rank."""
    if len(one.models) < 2:
        return
    for i, model in enumerate(one.models):
        yield {
            "measure": one.metric,
            "model": model,
            "tied": found.tied[i].item(),
            "p_first": found.first[i].item(),
            "rank_low": found.low_rank[i].item(),
            "rank_high": found.high_rank[i].item(),
        }


def _winner_rows(one: PairedEstimates, found: families.BestSet, values: Observed) -> Iterator[Row]:
    """Yield the best of three models or more, corrected for selection."""
    if len(one.models) < FEW:
        return
    winner = one.models[found.leader]
    own = Estimate(one.values[found.leader].item())  # of labels, where the table has none
    value = values.get((winner, one.metric), own)
    yield {
        "measure": one.metric,
        "model": winner,
        "value": value,
        "optimism": found.optimism,
        "corrected": subtract_bias(value, one.sign * found.optimism),
    }


def _mcnemar_rows(patterns: Patterns, pairs: Sequence[tuple[str, str]]) -> Iterator[Row]:
    """Yield the rows that only one of two models predicts correctly, and McNemar's mid-p."""
    right_in = patterns.votes == patterns.truth[:, None]
    alone = (right_in * patterns.n[:, None]).T.astype(np.float64) @ ~right_in  # whole numbers
    for model, reference in pairs:
        i, j = map(patterns.models.index, (model, reference))
        right, wrong = (int(one) for one in (alone[i, j], alone[j, i]))
        alike = patterns.clusters is None
        yield {
            "model": model,
            "reference": reference,
            "newly_right": from_units(right, patterns.unit),
            "newly_wrong": from_units(wrong, patterns.unit),
            "p": mid_p(right, wrong) if alike else None,
            "method": "McNemar, mid-p" if alike else DEPENDENT,
        }


def _cochran_rows(patterns: Patterns, without: Collection[str] = ()) -> Iterator[Row]:
    """Yield Cochran's Q test of equal accuracy of three models or more."""
    places = [i for i, model in enumerate(patterns.models) if model not in without]
    if len(places) < FEW:
        return
    right = patterns.votes[:, places] == patterns.truth[:, None]
    differ = int(patterns.n[right.any(axis=1) & ~right.all(axis=1)].sum())
    q, p = cochran_q(right, patterns.n)
    method = "Cochran's Q, chi²"
    if len(places) * differ < 24:  # Tate and Brown 1970
        method = f"{method}, rough: few rows differ" if differ else "no row differs"
    if patterns.clusters is not None:
        q, p, method = nan, nan, DEPENDENT
    yield {
        "measure": "accuracy",
        "models": len(places),
        "differ": from_units(differ, patterns.unit),
        "statistic": number_or_none(q),
        "p": number_or_none(p),
        "method": method,
    }


def _resolution_rows(
    rows: Sequence[Row], wanted: Mapping[str, float], size: float, level: float
) -> Iterator[Row]:
    """Yield the number of rows needed to detect a difference of a measure with power .8.

    rows needed = rows (detectable / wanted)², detectable = (z at (1 + level) / 2 + z at .8) s
    Source: Cohen 1988, Statistical Power Analysis for the Behavioral Sciences, chapter 2.
    """
    for row in rows:
        least, error = wanted.get(str(row["measure"])), row["se"]
        if least is not None and isinstance(error, float):
            seen = float(families.detectable_difference(error, level=level))
            yield {
                "measure": row["measure"],
                "model": row["model"],
                "reference": row["reference"],
                "detectable": seen,
                "wanted": least,
                "rows_needed": ceil(size * (seen / least) ** 2),
            }


LEADS = ("roc_auc", "balanced_accuracy", "accuracy")  # the first that is known


def runs_as_slices(options: ReportOptions, sample: Sample) -> Sample:
    """Return the sample with runs as slices; UsageError for options that need distinct rows."""
    models = sample.slices[None].models
    for flag, given in (
        ("--margin", options.margin),
        ("--resolution", options.resolution),
        ("--list-changes", options.list_changes),
        ("--dummies", options.dummies),
        ("--best-threshold", options.best_threshold),
        ("--abstain", options.abstain),
        ("--prevalence", options.prevalence),
    ):
        if given:
            raise bad_option(f"{flag} is not available with runs, which may repeat rows")
    reference = options.reference
    if reference == families.BEST:
        raise bad_option("--reference best is not available with runs: name a model, or all-pairs")
    if reference not in (None, families.ALL_PAIRS, *models):
        raise unknown_model_error("--reference", str(reference), [*models, families.ALL_PAIRS])
    if reference is not None and len(models) == 1:
        raise bad_option(f"--reference {reference}: '{models[0]}' is the only model")
    if sample.counted is None:
        what = "--run needs predictions by row, but the table has counts"
        hint = "give a table with the predictions of all models"
        raise UsageError.new(what, "needs-predictions", hint=hint)
    return replace(sample, slices=dict(sample.counted.confusions), runs={})


def average_over_runs(
    sample: Sample, each: Document, runs: Runs, options: ReportOptions
) -> Document:
    """Return means over runs, from a report that has each of them as a slice."""
    level, prefix = options.confidence, slice_label((str(sample.roles.run),), ("",))
    of_runs = dict[tuple[str, str], dict[str, Row]]()
    for row in each.tables["measures"]:
        if row["slice"] is not None and row["estimator"] in ESTIMATORS:
            key = str(row["measure"]), str(row["model"])
            of_runs.setdefault(key, {})[str(row["slice"]).removeprefix(prefix)] = row
    values = {
        key: {run: as_estimate(row["value"]) for run, row in mine.items()}
        for key, mine in of_runs.items()
    }
    found = run_means(values, runs, level)
    means = {(one.metric, one.model): one for one in found}
    models = list(dict.fromkeys(str(row["model"]) for row in each.tables["models"]))
    lead = next(
        (
            name
            for name in LEADS
            if any(one.metric == name and one.mean.value is not None for one in found)
        ),
        LEADS[-1],
    )
    tied = (
        {}
        if level is None or options.reference is not None
        else run_ties(lead, found, values, models, runs, level=level, seed=options.seed)
    )
    measures = list[Row]()  # of one class in the runs only
    for row in each.tables["measures"]:
        mean = means.get((str(row["measure"]), str(row["model"])))
        if row["slice"] is not None:
            measures.append(row)
        elif mean is not None and row["estimator"] in ESTIMATORS:
            measures.append({**row, "value": mean.mean, "se": None, "method": mean.method})
    tables: dict[str, Sequence[Row]] = {
        "models": [
            row
            if row["slice"] is not None
            else {
                **_mean_row(row, means, each.tables["models"]),
                "tied": tied.get(str(row["model"])),
            }
            for row in each.tables["models"]
        ],
        "measures": measures,
        "runs": [
            {"measure": metric, "model": model, "run": run, "value": row["value"], "se": row["se"]}
            for (metric, model), mine in of_runs.items()
            for run, row in mine.items()
        ],
        "run_spread": [
            {
                "measure": one.metric,
                "model": one.model,
                "runs": one.runs,
                "mean": one.mean,
                "sd": one.sd,
                "method": one.method,
            }
            for one in found
        ],
        "confusion": [row for row in each.tables["confusion"] if row["slice"] is not None],
    }
    if options.reference is not None and level is not None:
        by_rows = row_differences(each.tables.get("comparisons", ()), prefix)
        tables["comparisons"] = [
            *run_comparisons(
                values, models, runs, options.reference, by_rows, level=level, seed=options.seed
            )
        ]
    return replace(
        each,
        tables={name: rows for name, rows in tables.items() if rows or name == "confusion"},
        parameters={**each.parameters, "reference": options.reference},
        summary={**each.summary, "runs": len(runs.names)},
        answer=tuple(run_answers(lead, found, tables.get("comparisons", ()), runs, level, tied)),
        warnings=(
            *each.warnings,
            *run_notes(lead, values, runs, each.parameters["cluster"], level),
        ),
    )


def _mean_row(row: Row, means: Mapping[tuple[str, str], RunMean], models: Sequence[Row]) -> Row:
    """Return the row of a model on the first screen with means over runs, of the counts too."""
    mine = [one for one in models if one["model"] == row["model"] and one["slice"] is not None]
    found: dict[str, Any] = {**row}
    for name, cell in row.items():
        if isinstance(cell, Estimate) and (of_runs := means.get((name, str(row["model"])))):
            found[name] = of_runs.mean
        elif name in ("tp", "fp", "fn", "tn") and cell is not None:
            found[name] = float(np.mean([float(str(one[name])) for one in mine]))
    return found
