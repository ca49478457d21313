"""From counts to the Result of MARS: tables, signature and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from clfeval.arrays import Counts
from clfeval.counts.count import Sample
from clfeval.counts.evaluated_rows import list_exclusive
from clfeval.counts.patterns import CELLS, PatternCounts, from_units
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.scores import merge_group_scores, rank_scores, read_scores
from clfeval.document import Document, Estimate, ResultNote, Row, Rows
from clfeval.document.rows import LazyRows
from clfeval.errors import UsageError, unknown_model_error
from clfeval.methods.comparison_answer import comparison_rows
from clfeval.methods.estimates import rows_from_columns
from clfeval.methods.mars import best_subsets, target_slices
from clfeval.methods.mars.answer import MEASURE, mars_answer
from clfeval.methods.mars.best_subsets import (
    ChosenSubset,
    SubsetScores,
    cross_validate_best,
    cross_validate_within_effort,
)
from clfeval.methods.mars.options import COMPARED, MarsOptions
from clfeval.methods.mars.target_slices import (
    SweepCounts,
    TargetSlice,
    choose_thresholds,
    concat_rate_divisors,
    distinct_thresholds,
    exclusive_columns,
    subset_columns,
    sweep_thresholds,
)
from clfeval.methods.options import IntervalSettings
from clfeval.methods.provenance import (
    build_parameters,
    build_signature,
    cluster_summary,
    counting_notes,
    format_thresholds,
    prefix_threshold,
)

BLOCK = 1024  # rows of subsets made at once
SHARED = ("slice", "models", "covered", "effort", "yield")  # columns of subsets, not of models


def mars_result(counted: PredictionCounts, options: MarsOptions) -> Document:
    """Return the result of MARS with every requested table.

    models: per model confusion counts, accuracy, precision, recall, ShineThrough, Occlusion.
    pairs: the same scores for two models together; `p_value` is of the exact test that both have
    equally many unique detections. subsets, best, max_effort, sweep: as requested. All of the whole
    table (slice None) and every slice. slices: one row per slice. exclusive: rows of the input.
    Errors: UsageError for too many subsets.
    """
    warnings = [*_top_notes(counted, options)]
    _check_groups(counted, options)
    tables = _tables(counted, options)
    if options.sweep is not None:
        tables["sweep"], more = _sweep_table(counted, options)
        warnings += more
    if options.list:
        tables["exclusive"] = list_exclusive(
            counted.kept, options.list, target=options.target, rule=options.occlusion,
            groups=options.group,
        )  # fmt: skip
    said = counted.roles
    totals = summarize_detections(counted.patterns, options) | cluster_summary(counted.patterns)
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
            *comparison_rows(together.slices, tables["models"], options.reference, options.level,
                             options.margin, tuple(dict.fromkeys((lead, *COMPARED))))
        ]  # fmt: skip
    first, *others = mars_answer(seen, tables, options)
    return Document(
        command="mars",
        signature=build_signature(
            "cmd target rule pos cut group miss weight cluster ci folds measures seed",
            {
                "cmd": "mars", "target": options.target, "rule": options.occlusion,
                "pos": counted.positive,
                "cut": f"top {options.top}" if options.top else format_thresholds(
                    counted.thresholds),
                "group": ",".join(f"{n}={'+'.join(sorted(m))}" for n, m in sorted(groups.items())),
                "miss": said.missing, "weight": "yes" if said.weight else None,
                "ci": options.signed,
                "folds": options.seed if {"best", "max_effort"} & {*tables} else None,
                "measures": ",".join(options.measure),
                "seed": options.seed if options.measure else None,
            },
            said, options, files=counted.files, statistics=statistics,
        ),
        inputs=counted.files,
        parameters=build_parameters(
            "positive negative target occlusion level interval independence missing top sweep "
            "groups by cluster measure",
            {
                "positive": counted.positive, "negative": list(counted.negative),
                "groups": groups,
            },
            said, options, weighed=counted.patterns.fractional,
        ),
        summary={**totals, "rule": options.occlusion, "target": options.target},
        answer=(prefix_threshold(first, counted.thresholds), *others),
        tables=tables,
        warnings=(*warnings, *_warnings(counted, options, tables, totals), *notes),
    )  # fmt: skip


def _tables(counted: PredictionCounts, options: MarsOptions) -> dict[str, Rows]:
    target = options.target
    views = [
        TargetSlice(label, counts.grouped(options.group, target).targets(target), options)
        for label, counts in counted.slices.items()
    ]
    members = {member for names in options.group.values() for member in names}
    thresholds = {name: t for name, t in counted.thresholds.items() if name not in members}
    tables: dict[str, Rows] = {"models": _model_rows(views, thresholds), "pairs": _pair_rows(views)}
    if options.subsets is not None:
        scores = [best_subsets.score_subsets_up_to(view.counts, options.subsets) for view in views]
        tables["subsets"] = subset_table(list(zip(views, scores, strict=True)))
    if options.best is not None:
        size = options.best
        tables["best"] = [
            row
            for view in views
            for row in _best_rows(view, best_subsets.best_subsets(view.counts, size))
        ]
    if (most := options.max_effort) is not None:
        within = ((view, best_subsets.best_within_effort(view.counts, most)) for view in views)
        tables["max_effort"] = [
            _chosen_subset_row(view, choice,
                               cross_validate_within_effort(view.counts, choice, most, view.folds))
            for view, choice in within if choice
        ]  # fmt: skip
    if len(views) > 1:
        tables["slices"] = [
            {"slice": label, **summarize_detections(counts, options)}
            for label, counts in counted.slices.items()
            if label is not None
        ]
    return tables


def summarize_detections(counts: PatternCounts, options: MarsOptions) -> dict[str, Any]:
    """Return rows, positives, negatives, and target rows detected by some model or by none."""
    target = counts.targets(options.target)
    ttp = best_subsets.total_detected(target)
    totals = {
        "rows": counts.n.sum(), "positives": counts.n[counts.truth].sum(),
        "negatives": counts.n[~counts.truth].sum(), "found": np.asarray(ttp),
        "missed_by_all": target.hit_n.sum() - ttp,
    }  # fmt: skip
    return {name: from_units(total, counts.unit).item() for name, total in totals.items()}


def _model_rows(views: Sequence[TargetSlice], thresholds: Mapping[str, float | None]) -> list[Row]:
    models, view = views[0].counts.models, views[0]
    parts: list[list[Counts]] = []
    for one in views:
        counts = one.counts
        hit, alarm = counts.hit_n @ counts.hits, counts.alarm_n @ counts.alarms
        missed, passed = counts.hit_n.sum() - hit, counts.alarm_n.sum() - alarm
        # with negative target a hit is a true negative, an alarm a false negative
        order = 1 if view.options.target == "positive" else -1
        parts.append([hit, alarm, missed, passed][::order])
    cells: list[Counts] = [*np.concatenate(parts, axis=1)]
    tp, fp, fn, tn = cells
    rates, each = concat_rate_divisors(views), np.eye(len(models), dtype=bool)
    alone = subset_columns(views, [best_subsets.score_subsets(one.counts, each) for one in views])
    return rows_from_columns(
        {
            "slice": [one.label for one in views for _ in models],
            "model": models * len(views),
            "threshold": [thresholds.get(model) for model in models] * len(views),
            **{name: view.display_units(cell) for name, cell in zip(CELLS, cells, strict=True)},
            "accuracy": view.shares("accuracy", tp + tn, tp + fp + fn + tn, rates.get("accuracy")),
            "precision": view.shares("precision", tp, tp + fp, rates.get("precision")),
            "recall": view.shares("recall", tp, tp + fn, rates.get("recall")),
            **{name: alone[name] for name in alone if name not in SHARED},
        }
    )


def _pair_rows(views: Sequence[TargetSlice]) -> list[Row]:
    twos = best_subsets.model_combinations(len(views[0].counts.models), 2)
    both: list[list[Any]] = []
    p_values: list[float] = []
    for view in views:
        counts = view.counts
        only = counts.hits & (counts.hits.sum(axis=1, keepdims=True) == 1)
        alone_n = from_units(counts.hit_n @ only, counts.unit)
        both += [alone_n[pair].tolist() for pair in twos]
        p_values += [target_slices.sign_test_p(counts, *only.T[pair]) for pair in twos]
    columns = subset_columns(views, [best_subsets.score_subsets(one.counts, twos) for one in views])
    first, second = ([pair[i] for pair in both] for i in (0, 1))
    more = {"first_alone": first, "second_alone": second, "p_value": p_values}
    return rows_from_columns({**columns, **more})


def subset_table(parts: Sequence[tuple[TargetSlice, SubsetScores]]) -> Rows:
    """Return the rows of all subsets as a lazy table, computed a block at a time."""
    starts = np.cumsum([0, *(len(scores) for _, scores in parts)])
    made: dict[tuple[int, int], list[Row]] = {}

    def make_row(index: int) -> Row:
        part = int(np.searchsorted(starts, index, side="right")) - 1
        number, offset = divmod(index - int(starts[part]), BLOCK)
        if (part, number) not in made:
            made.clear()
            view, scores = parts[part]
            rows = np.arange(number * BLOCK, min((number + 1) * BLOCK, len(scores)))
            made[part, number] = rows_from_columns(subset_columns([view], [scores.take(rows)]))
        return made[part, number][offset]

    return LazyRows(int(starts[-1]), make_row)


def _chosen_subset_row(
    view: TargetSlice, choice: ChosenSubset, judged: tuple[Estimate, Estimate], **more: float
) -> dict[str, Any]:
    (row,) = rows_from_columns(subset_columns([view], [choice.scores]))
    who = {"slice": None, "size": int(choice.scores.sizes[0]), **more, "method": choice.method}
    return {**who, **row, "corrected": judged[0], "corrected_yield": judged[1]}


def _best_rows(view: TargetSlice, choices: list[ChosenSubset]) -> Iterator[Row]:
    before: dict[int, float] = {0: 0}
    judged = cross_validate_best(view.counts, choices, int(choices[-1].scores.sizes[0]), view.folds)
    for choice, elsewhere in zip(choices, judged, strict=True):
        size, covered = int(choice.scores.sizes[0]), choice.scores.covered[0].item()
        gain = from_units(covered - before.get(size - 1, 0), view.counts.unit)
        before[size] = max(covered, before.get(size, 0))
        yield _chosen_subset_row(view, choice, elsewhere, gain=gain)


def _sweep_table(counted: PredictionCounts, options: MarsOptions) -> tuple[Rows, list[ResultNote]]:
    target, masks = read_scores(counted.kept, options.target)
    if options.sweep == "top":
        everything, _ = read_scores(counted.kept, "all")
        target = rank_scores(everything, target)
    target = merge_group_scores(target, options.group, options.target)
    if not len(target.n):
        return [], []
    every = distinct_thresholds(target.scores)
    cuts = choose_thresholds(every, len(every) if options.points == "all" else options.points)
    warnings = []
    if len(cuts) < len(every):
        text = f"the sweep has {len(cuts):,} of {len(every):,} thresholds; add --points all for all"
        warnings.append(ResultNote("cuts-thinned", text))
    rows: list[Row] = []
    for label, mask in [(None, np.ones(len(target.n), bool)), *masks.items()]:
        part = target.where(mask)
        if len(part.n):
            steps = sweep_thresholds(part.scores, part.n, options.target, cuts)
            sure = counted.patterns.clusters is None
            rows += sweep_rows(steps, part.models, label, options, part.unit, sure=sure)
    return rows, warnings


def sweep_rows(
    counts: SweepCounts, models: Sequence[str], label: str | None, options: MarsOptions,
    unit: float = 1, *, sure: bool = True,
) -> list[Row]:  # fmt: skip
    """Return one row per threshold and model: detections, unique ones and misses, shares of TTP.

    In a sweep over top rows `top` is the number of rows flagged. sure: with intervals.
    """
    missed = counts.missed_all if options.occlusion == "all" else counts.missed_any
    order, k, cuts = slice(None), len(models), counts.cuts.tolist()
    if options.sweep == "top":
        cuts = [int(-cut) if cut.is_integer() else -cut for cut in cuts]
        order = slice(None, None, -1)
    found, many = np.repeat(counts.found[order], k), k * len(cuts)
    # models of the first threshold, of the second, ...
    hits, alone, lost = (
        part[:, order].T.ravel() for part in (counts.hits, counts.exclusive, missed)
    )
    others = np.full(many, k > 1)
    return rows_from_columns({
        "slice": [label] * many, options.sweep or "": [cut for cut in cuts[order] for _ in models],
        "model": [*models] * len(cuts), "found": from_units(found, unit).tolist(),
        "hits": from_units(hits, unit).tolist(),
        **exclusive_columns(alone, lost, found, others, options, unit, sure=sure),
    })  # fmt: skip


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


def _check_groups(counted: PredictionCounts, options: MarsOptions) -> None:
    names = [model.name for model in counted.models]
    seen: set[str] = set()
    for group, members in options.group.items():
        for member in members:
            if member not in names:
                raise unknown_model_error(f"--group {group}", member, names)
            if member in seen:
                raise UsageError.new(f"'{member}' is in two groups of --group", "bad-group")
            seen.add(member)
    for group, members in options.group.items():
        if group in names and group not in members:
            text = f"--group {group} is also the name of a model; choose another name"
            raise UsageError.new(text, "bad-group")


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
    yield from counting_notes(counted)
