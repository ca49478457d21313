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
        best_value = measure.best if measure.aim is None else str(measure.aim)
        value_range = f"{_format_limit(measure.low)} to {_format_limit(measure.high)}"
        needs = "labels" if measure.needs in ("confusion", "classes") else measure.needs
        needs = "probabilities" if measure.id == NET_BENEFIT else needs
        rows.append((measure.id, value_range, best_value, needs, _interval_method(measure)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded_rows = (
        [cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows
    )
    header, *measure_lines = (GAP.join(row).rstrip() for row in padded_rows)
    yield header
    yield GAP.join("─" * width for width in widths)
    for measure, measure_line in zip(measures, measure_lines, strict=True):
        yield measure_line
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
    """Yield what the list of measures says below a measure: aliases, parameters, limits of use."""
    aliases = [name for name in measure.aliases if find_measure(name) is measure]
    if aliases:
        yield f"also {', '.join(aliases)}"
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
    score_digests = list[str]()
    if has_scored_model(sample) and any(map(takes_scores, requested)):
        for score_rows, scores_digest in _measures_of_scores(sample, requested, settings):
            rows += score_rows
            score_digests.append(scores_digest)
    if score_digests:
        digest = sha256("".join([digest, *sorted(score_digests)]).encode()).hexdigest()
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
    model_names = [predictions.models[i].name for i in all_scores.models]

    def measure_model(score_index: int) -> tuple[list[Row], str] | None:
        model = model_names[score_index]
        rows = list[Row]()
        if model not in shown_models:  # merged into a group, which has no scores
            return None
        all_counts, score_indices = all_scores.ranked(score_index)
        for slice_name in sample.slices:
            slice_counts = all_counts
            if slice_name is not None:
                slice_counts, _ = all_scores.slice_scores(all_counts, score_indices, slice_name)
            threshold = sample.thresholds.get(model)
            rows += score_measure_rows(
                slice_name, model, slice_counts.frozen(), threshold, requested, settings
            )
        return rows, f"{model}{all_counts.digest()}"

    return [
        rows_and_digest
        for rows_and_digest in all_scores.map_models(measure_model)
        if rows_and_digest is not None
    ]


def label_measure_rows(
    sample: Sample, requested: Sequence[RequestedMeasure], settings: IntervalSettings
) -> list[Row]:
    """Return rows of the measures of 2 x 2 tables, for all models in all slices."""
    without_threshold = {} if sample.predictions is None else sample.predictions.uncut
    unknown_counts = {} if sample.predictions is None else sample.predictions.unknown
    slice_names, tables = concatenate_counts(sample.slices)
    slices_and_models = list(zip(slice_names, tables.models, strict=True))
    copy_count = 1
    if unknown_counts:
        extreme_tables = _extreme_tables(
            tables, [unknown_counts.get(subject, (0, 0)) for subject in slices_and_models]
        )
        tables = concatenate_counts(extreme_tables)[1]  # without the index of each extreme
        copy_count = len(extreme_tables)
    estimates = _label_estimates(
        [measure for measure in requested if not takes_scores(measure)],
        tables,
        _limit_settings(sample, slices_and_models, settings, copy_count),
    )
    rows = list[Row]()
    for subject_index, (slice_name, model) in enumerate(slices_and_models):
        for measure_name, table_estimates in estimates.items():
            estimate = table_estimates[subject_index]
            if measure_name not in OF_TRUTH and (slice_name, model) in unknown_counts:
                estimate = _middle_of_extremes(
                    table_estimates[subject_index :: len(slices_and_models)], measure_name
                )
            elif measure_name not in OF_TRUTH and model in without_threshold:
                estimate = MeasureEstimate.undefined("needs_threshold")
            rows.append(measure_row(slice_name, model, measure_name, estimate))
    return rows


def _limit_settings(
    sample: Sample,
    slices_and_models: Sequence[tuple[str | None, str]],
    settings: IntervalSettings,
    copy_count: int,
) -> label_measures.LabelLimitSettings:
    """Return the settings of limits for slices and models, which are repeated in copies."""
    resamplers = [
        TableResampler.from_patterns(sample.patterns.get(slice_name), model)
        for slice_name, model in slices_and_models
    ]
    cluster_counts = [
        0.0 if resampler is None else resampler.clusters.size for resampler in resamplers
    ]
    return label_measures.LabelLimitSettings(
        settings,
        [f"{model}\0{slice_name or ''}" for slice_name, model in slices_and_models] * copy_count,
        resamplers * copy_count,
        cluster_counts * copy_count,
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
    counts: ConfusionCounts, unknown_counts: Sequence[tuple[int, int]]
) -> dict[int, ConfusionCounts]:
    """Return the tables with none, or all, of unknown positives and negatives predicted positive.

    unknown_counts: these of each table, which counts them as predicted negative.
    """
    unknown_positives, unknown_negatives = np.array(unknown_counts).T
    return {
        extreme_index: replace(
            counts,
            tp=counts.tp + added_positives,
            fn=counts.fn - added_positives,
            fp=counts.fp + added_negatives,
            tn=counts.tn - added_negatives,
        )
        for extreme_index, (added_positives, added_negatives) in enumerate(
            (
                (0, 0),
                (unknown_positives, 0),
                (0, unknown_negatives),
                (unknown_positives, unknown_negatives),
            )
        )
    }


def _middle_of_extremes(extremes: Sequence[MeasureEstimate], measure_name: str) -> MeasureEstimate:
    """Return the middle of the values of a measure of extreme tables, with limits around all."""
    estimates = [extreme.value for extreme in extremes]
    values = [estimate.value for estimate in estimates if estimate.value is not None]
    # mutual information is least where truth and predictions are independent, not at an end
    if len(values) < len(estimates) or measure_name.startswith(("mutual_information", "ic")):
        return MeasureEstimate.undefined("hidden_counts")
    lows = [estimate.low for estimate in estimates if estimate.low is not None]
    highs = [estimate.high for estimate in estimates if estimate.high is not None]
    is_limited = len(lows) == len(highs) == len(estimates)
    middle = (max(values) + min(values)) / 2
    bound = (max(values) - min(values)) / 2
    value = Estimate(middle, min(lows), max(highs)) if is_limited else Estimate(middle)
    return extremes[0]._replace(value=value, bound=bound)


def score_measure_rows(
    slice_name: str | None,
    model: str,
    counts: ScoreCounts,
    threshold: float | None,
    requested: Iterable[RequestedMeasure],
    settings: IntervalSettings,
) -> list[Row]:
    """Return rows of the measures of one model's scores; net benefit at its threshold or 0.5."""
    rows = list[Row]()
    stream_name = f"{model}\0{slice_name or ''}"
    score_requests = [measure for measure in requested if takes_scores(measure)]
    test_columns = perfect_calibration_values(
        score_requests, counts.probabilities, settings, stream_name
    )
    test_columns |= separation_p_values(score_requests, counts, settings, stream_name)
    for measure in score_requests:
        t = risk_threshold(measure, threshold)
        estimate = (
            score_measures.estimate_score_measure(measure.measure, counts, settings, stream_name)
            if t is None
            else _net_benefit_estimate(counts, t, settings, stream_name)
        )
        rows.append(
            as_row(
                {
                    **measure_row(slice_name, model, measure.name, estimate),
                    **test_columns.get(measure.name, {}),
                }
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
    counts: ScoreCounts, t: float, settings: IntervalSettings, stream_name: str
) -> MeasureEstimate:
    """Return the net benefit at the threshold t; default limits if the bootstrap has none."""
    probabilities = counts.scores
    if len(probabilities) and not (probabilities[0] >= 0 and probabilities[-1] <= 1):
        return MeasureEstimate.undefined(score_measures.PROBABILITIES)
    measure = CATALOG[AT_RISK].with_settings(t=t)

    def estimate(scores: ScoreCounts) -> MeasureEstimate:
        value, error = net_benefit(scores, t, settings.level)
        method = label_measures.NONE
        if value.low is not None:
            method = label_measures.WEIGHED
            method += "" if scores.clusters is None else ", design effect"
        return MeasureEstimate(value, error, method)

    counts_estimate = estimate(counts)
    if counts_estimate.value.value is not None and settings.method == "bootstrap":
        resampled = score_measures.estimate_score_measure(measure, counts, settings, stream_name)
        if resampled.value.low is not None:
            return resampled
    return score_measures.with_safe_limits(measure, counts, counts_estimate, estimate)


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
    scored_models = {model.name for model in models if model.kind != "label"}
    score_requests = [
        measure for measure in requested if measure.by != "default" and takes_scores(measure)
    ]
    return [
        measure_row(slice_name, model, measure.name, MeasureEstimate.undefined("needs_scores"))
        for slice_name, counts in sample.slices.items()
        for model in counts.models
        if model not in scored_models
        for measure in score_requests
    ]


def sort_measure_rows(
    rows: Sequence[Row], sample: Sample, requested: Sequence[RequestedMeasure]
) -> list[Row]:
    """Sort rows of measures by slice, model, and order of the request."""
    slice_positions: dict[object, int] = {
        slice_name: position for position, slice_name in enumerate(sample.slices)
    }
    model_positions = {model: position for position, model in enumerate(sample.slices[None].models)}
    measure_positions = {measure.name: position for position, measure in enumerate(requested)}
    return sorted(
        fill_optional_columns(rows),
        key=lambda row: (
            slice_positions[row["slice"]],
            model_positions[row["model"]],
            measure_positions[row["measure"]],
        ),
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
    stream_name: str,
) -> dict[str, Row]:
    """Return the p-value of each distance of the classes (KS) against equal classes, by name.

    There is none for clusters or sampling weights, whose rows are not exchangeable. stream_name: of
    the random stream.
    """
    permuted_measures = [
        requested_measure
        for requested_measure in requested
        if requested_measure.measure.interval == "permuted"
    ]
    rows = dict[str, Row]()
    if settings.level is None or counts.clusters is not None:
        return rows
    for requested_measure in permuted_measures:
        rng = random_stream(settings.seed, f"permuted\0{stream_name}")
        p_value, method = separation_test(
            requested_measure.measure.function,
            counts.scores,
            counts.positives,
            counts.negatives,
            rng,
        )
        if not isnan(p_value):
            rows[requested_measure.name] = as_row({"method": method, "p": p_value})
    return rows


def fill_optional_columns(rows: Sequence[Row]) -> list[Row]:
    """Return rows of measures with equal columns, None where a row lacks one."""
    optional_columns = [
        column for column in ("bound", *CALIBRATION_COLUMNS) if any(column in row for row in rows)
    ]
    return (
        [
            as_row({**row, **{column: row.get(column) for column in optional_columns}})
            for row in rows
        ]
        if optional_columns
        else [*rows]
    )
