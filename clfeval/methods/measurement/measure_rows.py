"""Rows of measures of models and slices, with their estimates, and the list of measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from math import inf, isnan
from textwrap import wrap

import numpy as np

from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.sample import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document import ResultNote
from clfeval.document.cells import Estimate, Row, as_row
from clfeval.inference.hypothesis_tests import separation_test
from clfeval.inference.resampling import random_stream
from clfeval.measures.catalog import CATALOG, find_measure
from clfeval.measures.record import Measure, parameters_of
from clfeval.methods.estimates import concatenate_counts
from clfeval.methods.measurement import label_measures, score_measures
from clfeval.methods.measurement.label_measures import (
    OF_KIND,
    MeasureEstimate,
    TableResampler,
    measure_row,
)
from clfeval.methods.measurement.net_benefits import net_benefit
from clfeval.methods.measurement.perfect_calibration import (
    CALIBRATION_COLUMNS,
    perfect_calibration_values,
)
from clfeval.methods.measurement.requested_measures import (
    AT_RISK,
    NET_BENEFIT,
    AvailableMeasures,
    RequestedMeasure,
    parse_measures,
    set_row_units,
)
from clfeval.methods.model_order import LEAD_OF_LABELS, LEAD_OF_SCORES, LEAD_WITHOUT_NEGATIVES
from clfeval.methods.options import IntervalSettings
from clfeval.records import replace

OF_TRUTH = ("prevalence", "no_information_rate")  # measures without a threshold
GAP, INDENT, WIDTH = "  ", "    ", 80


def list_measures(command: str, available: AvailableMeasures) -> Iterator[str]:
    """Yield the lines of the list of measures with parameters and aliases, then the sets."""
    measures = [CATALOG[name] for name in available.ids]
    rows: list[tuple[str, ...]] = [("measure", "range", "best", "needs", "interval")]
    for measure in measures:
        best = measure.best if measure.aim is None else str(measure.aim)
        value_range = f"{_format_limit(measure.low)} to {_format_limit(measure.high)}"
        needs = "labels" if measure.needs in ("confusion", "classes") else measure.needs
        needs = "probabilities" if measure.id == NET_BENEFIT else needs
        rows.append((measure.id, value_range, best, needs, _interval_method(measure)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
    head, *lines = (GAP.join(row).rstrip() for row in cells)
    yield head
    yield GAP.join("─" * width for width in widths)
    for measure, line in zip(measures, lines, strict=True):
        yield line
        for note in _measure_notes(measure):
            yield from wrap(note, WIDTH, initial_indent=INDENT, subsequent_indent=2 * INDENT)
    yield f"sets: {', '.join(available.sets)}"
    yield f"explanation of a measure: clfeval {command} --explain NAME"


_BY_SIMULATION: Mapping[str, str] = {
    "drawn": "bootstrap",
    "null": "p by simulation",
    "permuted": "p by permutation",
    "none": "none",
}


def _interval_method(measure: Measure) -> str:
    """Name the usual interval method; small classes use the bootstrap instead."""
    if measure.id in (NET_BENEFIT, AT_RISK, *score_measures.OF_TWO_COUNTS):
        return "square-and-add"
    if measure.interval == "delong":
        return "DeLong"
    if measure.interval in _BY_SIMULATION:
        return _BY_SIMULATION[measure.interval]
    if measure.interval == "share" or (measure.share is not None and measure.needs == "confusion"):
        return "exact"
    if measure.needs != "confusion":
        return f"influence, {measure.scale}"
    if measure.base is not None:
        return "exact, transformed" if measure.base != "dor" else OF_KIND["derived"]
    if measure.invariant:
        return OF_KIND[measure.interval].removeprefix("Newcombe ")
    return OF_KIND["region"]


def _measure_notes(measure: Measure) -> Iterator[str]:
    others = [name for name in measure.aliases if find_measure(name) is measure]
    if others:
        yield f"also {', '.join(others)}"
    if measure.twin:
        yield f"the same as {measure.twin}"
    if measure.id == NET_BENEFIT:
        yield "t: default is the threshold in use"
    for name, parameter in parameters_of(measure).items() if measure.id != NET_BENEFIT else ():
        default = parameter.default
        if isinstance(default, tuple):
            default_text = f"{default[0]:g}..{default[1]:g}"
        else:
            default_text = "required" if default is None else f"{default:g}"
        yield f"{name}: {parameter.words}; {default_text}"
    if measure.ordered:
        yield "for ordered classes (--classes)"
    elif measure.compute is None:
        yield "for more than two classes"
    if measure.caveat:
        yield f"note: {measure.caveat}"


def _format_limit(limit: float) -> str:
    return f"{'-' * (limit < 0)}∞" if abs(limit) == inf else f"{limit:.3g}"


def additional_measure_rows(
    sample: Sample, names: Sequence[str], settings: IntervalSettings, digest: str
) -> tuple[list[Row], str, list[ResultNote]]:
    """Return the measures that options request in addition to a command's own.

    With their digest and caveats. The rows are of all models, in the whole table and in slices.
    digest: of the command's own statistics; the result is that of these and of the scores.
    """
    requested = set_row_units(parse_measures(names), sample.predictions)
    rows = [
        *label_measure_rows(sample, requested, settings),
        *unscored_model_rows(sample, requested),
    ]
    digests = list[str]()
    if has_scored_model(sample) and any(map(takes_scores, requested)):
        for score_rows, of_scores in _measures_of_scores(sample, requested, settings):
            rows += score_rows
            digests.append(of_scores)
    if digests:
        digest = sha256("".join([digest, *sorted(digests)]).encode()).hexdigest()
    return sort_measure_rows(rows, sample, requested), digest, caveat_notes(requested)


def _measures_of_scores(
    sample: Sample, requested: Sequence[RequestedMeasure], settings: IntervalSettings
) -> list[tuple[list[Row], str]]:
    """Return the rows of measures of scores of each model, and the digests of these scores."""
    predictions = sample.predictions
    shown_models = sample.slices[None].models
    assert predictions is not None
    from clfeval.counts.rows import read_scored_rows

    all_scores = read_scored_rows(predictions)
    names = [predictions.models[i].name for i in all_scores.models]

    def measure_model(j: int) -> tuple[list[Row], str] | None:
        model = names[j]
        rows = list[Row]()
        if model not in shown_models:  # merged into a group, which has no scores
            return None
        all_counts, place = all_scores.ranked(j)
        for label in sample.slices:
            slice_counts = all_counts
            if label is not None:
                slice_counts, _ = all_scores.slice_scores(all_counts, place, label)
            cut = sample.thresholds.get(model)
            rows += score_measure_rows(
                label, model, slice_counts.frozen(), cut, requested, settings
            )
        return rows, f"{model}{all_counts.digest()}"

    return [of_model for of_model in all_scores.map_models(measure_model) if of_model is not None]


def label_measure_rows(
    sample: Sample, requested: Sequence[RequestedMeasure], settings: IntervalSettings
) -> list[Row]:
    """Return rows of the measures of 2 x 2 tables, for all models in all slices."""
    uncut = {} if sample.predictions is None else sample.predictions.uncut
    unknown = {} if sample.predictions is None else sample.predictions.unknown
    labels, tables = concatenate_counts(sample.slices)
    subjects = list(zip(labels, tables.models, strict=True))
    copies = 1
    if unknown:
        extremes = _extreme_tables(tables, [unknown.get(key, (0, 0)) for key in subjects])
        tables = concatenate_counts(extremes)[1]
        copies = len(extremes)
    measures = [measure for measure in requested if not takes_scores(measure)]
    estimates = _label_estimates(
        measures, tables, _limit_settings(sample, subjects, settings, copies)
    )
    rows = list[Row]()
    for i, subject in enumerate(subjects):
        for name, values in estimates.items():
            value = values[i]
            if name not in OF_TRUTH and subject in unknown:
                value = _middle_of_extremes(values[i :: len(subjects)], name)
            elif name not in OF_TRUTH and subject[1] in uncut:
                value = MeasureEstimate.undefined("needs_threshold")
            rows.append(measure_row(*subject, name, value))
    return rows


def _limit_settings(
    sample: Sample,
    subjects: Sequence[tuple[str | None, str]],
    settings: IntervalSettings,
    copies: int,
) -> label_measures.LabelLimitSettings:
    """Return the settings of limits for slices and models, which are repeated in copies."""
    resamplers = [
        TableResampler.from_patterns(sample.patterns.get(label), model) for label, model in subjects
    ]
    sizes = [0.0 if resampler is None else resampler.clusters.size for resampler in resamplers]
    return label_measures.LabelLimitSettings(
        settings,
        [f"{model}\0{label or ''}" for label, model in subjects] * copies,
        resamplers * copies,
        sizes * copies,
    )


def _label_estimates(
    measures: Sequence[RequestedMeasure],
    tables: ConfusionCounts,
    settings: label_measures.LabelLimitSettings,
) -> dict[str, list[MeasureEstimate]]:
    """Return measures of 2 x 2 tables by name, those of each table."""
    ranges = label_measures.label_ranges(measures, tables, settings.intervals)
    return {
        measure.name: label_measures.estimate_label_measure(measure, tables, settings, ranges)
        for measure in measures
    }


def _extreme_tables(
    counts: ConfusionCounts, unknown: Sequence[tuple[int, int]]
) -> dict[int, ConfusionCounts]:
    """Return the tables with none, or all, of unknown positives and negatives predicted positive.

    unknown: of each table, which has them predicted negative.
    """
    p, n = np.array(unknown).T
    return {
        i: replace(counts, tp=counts.tp + a, fn=counts.fn - a, fp=counts.fp + b, tn=counts.tn - b)
        for i, (a, b) in enumerate(((0, 0), (p, 0), (0, n), (p, n)))
    }


def _middle_of_extremes(extremes: Sequence[MeasureEstimate], name: str) -> MeasureEstimate:
    """Return the middle of the values of a measure of extreme tables, with limits around all."""
    estimates = [extreme.value for extreme in extremes]
    values = [estimate.value for estimate in estimates if estimate.value is not None]
    # mutual information is least where truth and predictions are independent, not at an end
    if len(values) < len(estimates) or name.startswith(("mutual_information", "ic")):
        return MeasureEstimate.undefined("hidden_counts")
    lows = [estimate.low for estimate in estimates if estimate.low is not None]
    highs = [estimate.high for estimate in estimates if estimate.high is not None]
    is_limited = len(lows) == len(highs) == len(estimates)
    middle = (max(values) + min(values)) / 2
    bound = (max(values) - min(values)) / 2
    value = Estimate(middle, min(lows), max(highs)) if is_limited else Estimate(middle)
    return extremes[0]._replace(value=value, bound=bound)


def score_measure_rows(
    label: str | None,
    model: str,
    counts: ScoreCounts,
    threshold: float | None,
    requested: Iterable[RequestedMeasure],
    settings: IntervalSettings,
) -> list[Row]:
    """Return rows of the measures of one model's scores; net benefit at its threshold or 0.5."""
    rows = list[Row]()
    name = f"{model}\0{label or ''}"
    score_requests = [measure for measure in requested if takes_scores(measure)]
    tests = perfect_calibration_values(score_requests, counts.probabilities, settings, name)
    tests |= separation_p_values(score_requests, counts, settings, name)
    for measure in score_requests:
        t = risk_threshold(measure, threshold)
        estimate = (
            score_measures.estimate_score_measure(measure.measure, counts, settings, name)
            if t is None
            else _net_benefit_estimate(counts, t, settings, name)
        )
        rows.append(
            as_row(
                {**measure_row(label, model, measure.name, estimate), **tests.get(measure.name, {})}
            )
        )
    return rows


def takes_scores(requested: RequestedMeasure) -> bool:
    """Return whether a measure needs scores rather than labels."""
    return requested.name == NET_BENEFIT or requested.needs in ("scores", "probabilities")


def measure_at_threshold(requested: RequestedMeasure, cut: float | None) -> Measure:
    """Return the measure; for net benefit the one at the threshold in force, else 0.5."""
    if requested.name == NET_BENEFIT:
        return CATALOG[AT_RISK].with_settings(t=0.5 if cut is None else cut)
    return requested.measure


def risk_threshold(requested: RequestedMeasure, threshold: float | None) -> float | None:
    """Return the threshold probability of a requested net benefit; None for other measures."""
    if requested.name != NET_BENEFIT and requested.measure.id != AT_RISK:
        return None
    t = threshold if requested.name == NET_BENEFIT else requested.settings.get("t")
    return 0.5 if t is None else float(t)


def _net_benefit_estimate(
    counts: ScoreCounts, t: float, settings: IntervalSettings, name: str
) -> MeasureEstimate:
    """Return the net benefit at the threshold t; default limits if the bootstrap has none."""
    x = counts.scores
    if len(x) and not (x[0] >= 0 and x[-1] <= 1):
        return MeasureEstimate.undefined(score_measures.PROBABILITIES)
    measure = CATALOG[AT_RISK].with_settings(t=t)

    def estimate(scores: ScoreCounts) -> MeasureEstimate:
        value, error = net_benefit(scores, t, settings.level)
        clustered = label_measures.WEIGHED + ", design effect" * (scores.clusters is not None)
        method = label_measures.NONE if value.low is None else clustered
        return MeasureEstimate(value, error, method)

    of_counts = estimate(counts)
    if of_counts.value.value is not None and settings.method == "bootstrap":
        resampled = score_measures.estimate_score_measure(measure, counts, settings, name)
        if resampled.value.low is not None:
            return resampled
    return score_measures.with_safe_limits(measure, counts, of_counts, estimate)


def has_scored_model(sample: Sample) -> bool:
    """Return whether any model has scores."""
    models = () if sample.predictions is None else sample.predictions.models
    return any(model.kind != "label" for model in models)


def leading_measure(sample: Sample) -> str:
    """Return the measure that orders models: of scores, of labels, or without true negatives."""
    if has_scored_model(sample):
        return LEAD_OF_SCORES
    return LEAD_OF_LABELS if sample.counts_negatives else LEAD_WITHOUT_NEGATIVES


def unscored_model_rows(sample: Sample, requested: Sequence[RequestedMeasure]) -> list[Row]:
    """Return undefined rows of measures of scores by name or set, for models without scores."""
    models = () if sample.predictions is None else sample.predictions.models
    with_scores = {model.name for model in models if model.kind != "label"}
    score_requests = [
        measure for measure in requested if measure.by != "default" and takes_scores(measure)
    ]
    return [
        measure_row(label, model, measure.name, MeasureEstimate.undefined("needs_scores"))
        for label, counts in sample.slices.items()
        for model in counts.models
        if model not in with_scores
        for measure in score_requests
    ]


def sort_measure_rows(
    rows: Sequence[Row], sample: Sample, requested: Sequence[RequestedMeasure]
) -> list[Row]:
    """Sort rows of measures by slice, model, and order of the request."""
    slices: dict[object, int] = {label: i for i, label in enumerate(sample.slices)}
    models = {model: i for i, model in enumerate(sample.slices[None].models)}
    names = {measure.name: i for i, measure in enumerate(requested)}
    return sorted(
        fill_optional_columns(rows),
        key=lambda row: (slices[row["slice"]], models[row["model"]], names[row["measure"]]),
    )


def caveat_notes(requested: Sequence[RequestedMeasure]) -> list[ResultNote]:
    """Return warnings with the caveats of measures requested by name."""
    measures_by_name = {
        request.measure.id: request.measure for request in requested if request.by == "name"
    }
    return [
        ResultNote("caveat", f"{measure.title}: {measure.caveat}")
        for measure in measures_by_name.values()
        if measure.caveat
    ]


def separation_p_values(
    requested: Sequence[RequestedMeasure],
    counts: ScoreCounts,
    settings: IntervalSettings,
    name: str,
) -> dict[str, Row]:
    """Return the p-value of each distance of the classes (KS) against equal classes, by name.

    None for clusters or sampling weights, whose rows are not exchangeable. name: of the random
    stream.
    """
    measures = [measure for measure in requested if measure.measure.interval == "permuted"]
    rows = dict[str, Row]()
    if settings.level is None or counts.clusters is not None:
        return rows
    for measure in measures:
        rng = random_stream(settings.seed, f"permuted\0{name}")
        p_value, method = separation_test(
            measure.measure.function, counts.scores, counts.positives, counts.negatives, rng
        )
        if not isnan(p_value):
            rows[measure.name] = as_row({"method": method, "p": p_value})
    return rows


def fill_optional_columns(rows: Sequence[Row]) -> list[Row]:
    """Return rows of measures with equal columns, None where a row lacks one."""
    present = [key for key in ("bound", *CALIBRATION_COLUMNS) if any(key in row for row in rows)]
    return (
        [as_row({**row, **{key: row.get(key) for key in present}}) for row in rows]
        if present
        else [*rows]
    )
