"""From counts to the Result of MARS: its tables, signature and warnings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from clfeval.counts.evaluated_rows import list_exclusive
from clfeval.counts.patterns import PatternCounts, from_units
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.sample import Sample
from clfeval.document import Document, ResultNote
from clfeval.document.cells import Row, Rows, as_row
from clfeval.errors import unknown_model_error
from clfeval.methods import provenance
from clfeval.methods.few_clusters import explain_missing_limits
from clfeval.methods.label_comparisons import comparison_rows
from clfeval.methods.mars import best_subsets
from clfeval.methods.mars.answer import mars_answer
from clfeval.methods.mars.lead import (
    DetectionRanking,
    best_pair_row,
    equal_effort_rows,
    model_test_rows,
    pair_scores,
    pair_test_rows,
)
from clfeval.methods.mars.options import COMPARED, MEASURE, MarsOptions
from clfeval.methods.mars.tables import mars_tables, sweep_table
from clfeval.methods.options import IntervalSettings
from clfeval.placeholders import END, OPTION


def mars_result(predictions: PredictionCounts, options: MarsOptions) -> Document:
    """Return the result of MARS with every requested table.

    models: per model confusion counts, accuracy, precision, recall, ShineThrough, Occlusion.
    pairs: the same scores for two models together; `p_value` is of the exact test that both have
    equally many unique detections. subsets, best, max_effort, sweep: as requested. All of the whole
    table (slice None) and every slice. slices: one row per slice. exclusive: rows of the input.
    Errors: UsageError for too many subsets.
    """
    notes = [*_top_notes(predictions, options)]
    options.check_groups([model.name for model in predictions.models])
    tables = mars_tables(predictions, options)
    if len(predictions.slices) > 1:
        tables["slices"] = _slice_rows(predictions, options)
    if options.sweep is not None:
        tables["sweep"], sweep_notes = sweep_table(predictions, options)
        notes += sweep_notes
    if options.list:
        tables["exclusive"] = _exclusive_rows(predictions, options)
    grouped_predictions = predictions.grouped(options.group, options.target)
    counts = grouped_predictions.patterns.targets(options.target)
    statistics_digest = predictions.patterns.digest()
    measure_notes: list[ResultNote] = []
    if options.measure:  # most runs request none and start without these
        from clfeval.methods.measurement.measure_rows import additional_measure_rows

        interval_settings = IntervalSettings(
            options.confidence, options.interval, seed=options.seed
        )
        tables["measures"], statistics_digest, measure_notes = additional_measure_rows(
            Sample.from_predictions(grouped_predictions),
            options.measure,
            interval_settings,
            statistics_digest,
        )
    if options.reference is not None:
        if options.reference not in counts.models:
            raise unknown_model_error("--reference", options.reference, counts.models)
        tables["comparisons"] = _reference_rows(
            grouped_predictions.slices, tables["models"], options, options.reference
        )
    ranking = DetectionRanking.from_counts(counts)
    tables |= _lead_tables(grouped_predictions, ranking, options)
    answer = mars_answer(ranking, tables, options)
    detection_totals = summarize_detections(predictions.patterns, options)
    detection_totals |= provenance.cluster_summary(predictions.patterns)
    notes += _table_notes(tables, detection_totals, options)
    document = Document(
        command="mars",
        signature=_mars_signature(predictions, options, tables, statistics_digest),
        inputs=predictions.files,
        parameters=_mars_parameters(predictions, options),
        summary={**detection_totals, "rule": options.occlusion, "target": options.target},
        answer=(provenance.prefix_threshold(answer[0], predictions.thresholds), *answer[1:]),
        tables=tables,
        warnings=(*notes, *_counting_notes(predictions, options), *measure_notes),
    )
    return explain_missing_limits(document, grouped_predictions.slices, options.confidence)


def _lead_tables(
    predictions: PredictionCounts, ranking: DetectionRanking, options: MarsOptions
) -> dict[str, Rows]:
    """Return the tests of the best model and pair, and single models of the pair's effort."""
    if not ranking.detected or len(ranking.order) < 2:
        return {}
    test_rows: list[Row] = []
    if options.confidence is not None and options.reference is None:
        test_rows += model_test_rows(ranking)
    tables: dict[str, Rows] = {"lead_tests": test_rows}
    if options.max_effort is None and len(ranking.order) > 2:
        pairs = pair_scores(ranking.counts)
        if options.confidence is not None:
            test_rows += pair_test_rows(ranking, pairs)
        tables["best_pair"] = [best_pair_row(ranking, pairs, options)]
        effort = float(pairs.effort[0])
        tables["equal_effort"] = [*equal_effort_rows(predictions, ranking, effort, options.target)]
    return {name: rows for name, rows in tables.items() if rows}


def _slice_rows(predictions: PredictionCounts, options: MarsOptions) -> Rows:
    """Return the class totals and detections of each slice."""
    return [
        as_row({"slice": slice_name, **summarize_detections(patterns, options)})
        for slice_name, patterns in predictions.slices.items()
        if slice_name is not None
    ]


def _exclusive_rows(predictions: PredictionCounts, options: MarsOptions) -> Rows:
    """Return the rows of the input that only one model detects, or misses."""
    exclusive_rows = list_exclusive(
        predictions.evaluated,
        options.list,
        target=options.target,
        rule=options.occlusion,
        groups=options.group,
    )
    return [as_row(cells) for cells in exclusive_rows]


def _reference_rows(
    slices: Mapping[str | None, PatternCounts],
    model_rows: Rows,
    options: MarsOptions,
    reference: str,
) -> Rows:
    """Return the differences of the models from the reference; model_rows: of table `models`."""
    measures = dict.fromkeys((MEASURE[options.target], *COMPARED))
    # the count of every model, not of the target alone
    return [
        *comparison_rows(
            slices, model_rows, reference, options.level, options.margin, tuple(measures)
        )
    ]


def _mars_signature(
    predictions: PredictionCounts, options: MarsOptions, tables: Collection[str], statistics: str
) -> str:
    """Return the settings that change numbers, and the hashes of files and statistics."""
    group_texts = (
        f"{name}={'+'.join(sorted(group_models))}"
        for name, group_models in sorted(options.group.items())
    )
    thresholds_text = provenance.format_thresholds(predictions.thresholds)
    return provenance.build_signature(
        "cmd target rule pos cut group miss weight cluster ci folds measures seed",
        {
            "cmd": "mars",
            "target": options.target,
            "rule": options.occlusion,
            "pos": predictions.positive,
            "cut": f"top {options.top}" if options.top else thresholds_text,
            "group": ",".join(group_texts),
            "miss": predictions.roles.missing,
            "weight": "yes" if predictions.roles.weight else None,
            "ci": options.signed,
            "folds": options.seed if {"best", "max_effort"} & {*tables} else None,
            "measures": ",".join(options.measure),
            "seed": options.seed if options.measure else None,
        },
        predictions.roles,
        options,
        files=predictions.files,
        statistics=statistics,
    )


def _mars_parameters(predictions: PredictionCounts, options: MarsOptions) -> dict[str, Any]:
    """Return every setting of the result."""
    return provenance.build_parameters(
        "positive negative target occlusion level interval independence missing top sweep "
        "groups by cluster measure",
        {
            "positive": predictions.positive,
            "negative": list(predictions.negative),
            "groups": {name: list(group_models) for name, group_models in options.group.items()},
        },
        predictions.roles,
        options,
        weighed=predictions.patterns.fractional,
    )


def summarize_detections(counts: PatternCounts, options: MarsOptions) -> dict[str, Any]:
    """Return rows, positives, negatives, and target rows detected by some model or by none."""
    target_counts = counts.targets(options.target)
    detected_total = best_subsets.total_detected(target_counts)
    unit_totals = {
        "rows": counts.n.sum(),
        "positives": counts.n[counts.truth].sum(),
        "negatives": counts.n[~counts.truth].sum(),
        "found": np.asarray(detected_total),
        "missed_by_all": target_counts.hit_n.sum() - detected_total,
    }
    return {name: from_units(total, counts.unit).item() for name, total in unit_totals.items()}


def _top_notes(predictions: PredictionCounts, options: MarsOptions) -> Iterator[ResultNote]:
    """Yield notes where --top flags every row, or more rows than it says."""
    if predictions.top is None:
        return
    row_limit = predictions.top.count
    row_count = predictions.patterns.rows
    tied_phrases = [
        f"'{name}' {flagged_count:g}"
        for name, flagged_count in predictions.top.flagged_rows.items()
        if flagged_count > row_limit
    ]
    if row_limit > row_count:
        text = f"{OPTION}--top{END} {options.top} flags every row: the table has {row_count}"
        yield ResultNote("top-takes-all", text)
    if tied_phrases:
        text = (
            f"scores are tied at {OPTION}--top {row_limit:g}{END}, so more rows are flagged: "
            f"{', '.join(tied_phrases)}"
        )
        yield ResultNote("ties-at-cut", text)


def _table_notes(
    tables: Mapping[str, Rows], detection_totals: Mapping[str, Any], options: MarsOptions
) -> Iterator[ResultNote]:
    """Yield notes on subsets chosen on these rows, and on rows that no model detects."""
    if tables.get("best") or tables.get("max_effort"):
        text = "subsets of models are chosen and evaluated on the same rows; the column `corrected`"
        yield ResultNote("chosen-models", f"{text} has the value expected on new data")
    if options.max_effort is not None and not tables["max_effort"]:
        text = f"every model flags more than {options.max_effort:g} rows"
        yield ResultNote("nothing-affordable", text)
    target_total = detection_totals[f"{options.target}s"]
    if not target_total:
        yield ResultNote("no-target", f"the table has no {options.target} rows")
    elif not detection_totals["found"]:
        text = f"no model detects any of the {target_total} {options.target}s"
        yield ResultNote("nothing-detected", text)


def _counting_notes(predictions: PredictionCounts, options: MarsOptions) -> Iterator[ResultNote]:
    """Yield notes on a single model, sweeps without intervals, and how rows were counted."""
    if len(predictions.models) == 1:
        yield ResultNote("one-model", "with only one model, every detection is unique to it")
    if options.sweep is not None and predictions.patterns.clusters is not None:
        reason = "fractional weights" if predictions.patterns.fractional else "clustered rows"
        yield ResultNote("sweep-unsure", f"a sweep has no confidence intervals for {reason}")
    yield from provenance.counting_notes(predictions)
