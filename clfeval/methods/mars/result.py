"""From counts to the Result of MARS: its tables, signature and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from clfeval.counts.evaluated_rows import list_exclusive
from clfeval.counts.patterns import PatternCounts, from_units
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.sample import Sample
from clfeval.document import Document, ResultNote, Rows
from clfeval.errors import unknown_model_error
from clfeval.methods import provenance
from clfeval.methods.comparison_answer import comparison_rows
from clfeval.methods.mars import best_subsets
from clfeval.methods.mars.answer import MEASURE, mars_answer
from clfeval.methods.mars.options import COMPARED, MarsOptions
from clfeval.methods.mars.tables import mars_tables, sweep_table
from clfeval.methods.options import IntervalSettings


def mars_result(counted: PredictionCounts, options: MarsOptions) -> Document:
    """Return the result of MARS with every requested table.

    models: per model confusion counts, accuracy, precision, recall, ShineThrough, Occlusion.
    pairs: the same scores for two models together; `p_value` is of the exact test that both have
    equally many unique detections. subsets, best, max_effort, sweep: as requested. All of the whole
    table (slice None) and every slice. slices: one row per slice. exclusive: rows of the input.
    Errors: UsageError for too many subsets.
    """
    warnings = [*_top_notes(counted, options)]
    options.check_groups([model.name for model in counted.models])
    tables = mars_tables(counted, options)
    if len(counted.slices) > 1:
        tables["slices"] = [
            {"slice": label, **summarize_detections(counts, options)}
            for label, counts in counted.slices.items()
            if label is not None
        ]
    if options.sweep is not None:
        tables["sweep"], more = sweep_table(counted, options)
        warnings += more
    if options.list:
        tables["exclusive"] = list_exclusive(
            counted.kept,
            options.list,
            target=options.target,
            rule=options.occlusion,
            groups=options.group,
        )
    said = counted.roles
    totals = summarize_detections(counted.patterns, options)
    totals |= provenance.cluster_summary(counted.patterns)
    groups = {name: list(members) for name, members in options.group.items()}
    together = counted.grouped(options.group, options.target)
    seen = together.patterns.targets(options.target)
    sample = Sample.from_predictions(together)
    how = IntervalSettings(options.confidence, options.interval, seed=options.seed)
    statistics, notes = counted.patterns.digest(), list[ResultNote]()
    if options.measure:  # most runs request none and start without these
        from clfeval.methods.measurement.measure_rows import additional_measure_rows

        tables["measures"], statistics, notes = additional_measure_rows(
            sample, options.measure, how, statistics
        )
    if options.reference is not None:
        if options.reference not in seen.models:
            raise unknown_model_error("--reference", options.reference, seen.models)
        lead = MEASURE[options.target]
        # the count of every model, not of the target alone
        tables["comparisons"] = [
            *comparison_rows(
                together.slices,
                tables["models"],
                options.reference,
                options.level,
                options.margin,
                tuple(dict.fromkeys((lead, *COMPARED))),
            )
        ]
    first, *others = mars_answer(seen, tables, options)
    return Document(
        command="mars",
        signature=provenance.build_signature(
            "cmd target rule pos cut group miss weight cluster ci folds measures seed",
            {
                "cmd": "mars",
                "target": options.target,
                "rule": options.occlusion,
                "pos": counted.positive,
                "cut": f"top {options.top}"
                if options.top
                else provenance.format_thresholds(counted.thresholds),
                "group": ",".join(f"{n}={'+'.join(sorted(m))}" for n, m in sorted(groups.items())),
                "miss": said.missing,
                "weight": "yes" if said.weight else None,
                "ci": options.signed,
                "folds": options.seed if {"best", "max_effort"} & {*tables} else None,
                "measures": ",".join(options.measure),
                "seed": options.seed if options.measure else None,
            },
            said,
            options,
            files=counted.files,
            statistics=statistics,
        ),
        inputs=counted.files,
        parameters=provenance.build_parameters(
            "positive negative target occlusion level interval independence missing top sweep "
            "groups by cluster measure",
            {"positive": counted.positive, "negative": list(counted.negative), "groups": groups},
            said,
            options,
            weighed=counted.patterns.fractional,
        ),
        summary={**totals, "rule": options.occlusion, "target": options.target},
        answer=(provenance.prefix_threshold(first, counted.thresholds), *others),
        tables=tables,
        warnings=(*warnings, *_warnings(counted, options, tables, totals), *notes),
    )


def summarize_detections(counts: PatternCounts, options: MarsOptions) -> dict[str, Any]:
    """Return rows, positives, negatives, and target rows detected by some model or by none."""
    target = counts.targets(options.target)
    ttp = best_subsets.total_detected(target)
    totals = {
        "rows": counts.n.sum(),
        "positives": counts.n[counts.truth].sum(),
        "negatives": counts.n[~counts.truth].sum(),
        "found": np.asarray(ttp),
        "missed_by_all": target.hit_n.sum() - ttp,
    }
    return {name: from_units(total, counts.unit).item() for name, total in totals.items()}


def _top_notes(counted: PredictionCounts, options: MarsOptions) -> Iterator[ResultNote]:
    if counted.top is None:
        return
    count, rows = counted.top.count, counted.patterns.rows
    tied = [f"'{name}' {number:g}" for name, number in counted.top.taken.items() if number > count]
    if count > rows:
        text = f"--top {options.top} flags every row: the table has {rows}"
        yield ResultNote("top-takes-all", text)
    if tied:
        text = f"scores are tied at --top {count:g}, so more rows are flagged: {', '.join(tied)}"
        yield ResultNote("ties-at-cut", text)


def _warnings(
    counted: PredictionCounts, options: MarsOptions, tables: dict[str, Rows], whole: dict[str, Any]
) -> Iterator[ResultNote]:
    if tables.get("best") or tables.get("max_effort"):
        text = "subsets of models are chosen and evaluated on the same rows; the column `corrected`"
        yield ResultNote("chosen-models", f"{text} has the value expected on new data")
    if options.max_effort is not None and not tables["max_effort"]:
        text = f"every model flags more than {options.max_effort:g} rows"
        yield ResultNote("nothing-affordable", text)
    targets = whole[f"{options.target}s"]
    if not targets:
        yield ResultNote("no-target", f"the table has no {options.target} rows")
    elif not whole["found"]:
        text = f"no model detects any of the {targets} {options.target}s"
        yield ResultNote("nothing-detected", text)
    if len(counted.models) == 1:
        yield ResultNote("one-model", "with only one model, every detection is unique to it")
    if options.sweep is not None and counted.patterns.clusters is not None:
        why = "fractional weights" if counted.patterns.fractional else "clustered rows"
        yield ResultNote("sweep-unsure", f"a sweep has no confidence intervals for {why}")
    yield from provenance.counting_notes(counted)
