"""The counting of predictions in one pass over the rows, and of tables of counts."""

from __future__ import annotations

from collections.abc import Mapping

from clfeval.counts import settings
from clfeval.counts.ambiguous_labels import refuse_class_columns_not_in_truth
from clfeval.counts.calibrated_models import check_calibrators, refuse_scores_outside
from clfeval.counts.files import count_table, refuse_fractions
from clfeval.counts.group_rows import group_rows
from clfeval.counts.invalid_rows import (
    PatternCheck,
    check_patterns,
    check_thresholds,
    corrected_settings,
    has_other_facts,
    refuse_invalid_patterns,
    refuse_invalid_rows,
    refuse_rows_without_run,
)
from clfeval.counts.patterns import rounding_error, row_unit, weight_unit
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.read_files import EXACT, StoredRows, read_counts
from clfeval.counts.scores import TopRows, find_top_rows
from clfeval.counts.unknown_labels import refuse_multilabel_cells
from clfeval.errors import DataError, UsageError, bad_option
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables.engines import counts_only
from clfeval.tables.frames import engine_errors, nw
from clfeval.tables.invalid_cells import check_structure
from clfeval.tables.layouts.counts_file import COUNTS_FILE, counts_as_table
from clfeval.tables.predictions import Predictions
from clfeval.tables.recognition import read_again
from clfeval.tables.scan import TableFile, scan


def count_predictions(
    opened: Predictions, *, top: str | None = None, any_range: bool = False, labels: bool = False
) -> PredictionCounts:
    """Count the patterns of a prediction table.

    `top`: each model's highest rows are predicted positive, instead of thresholds; `any_range`:
    allow scores outside 0..1 without threshold; `labels`: scores are not counted later. Raises
    DataError with every problem of the table.
    """
    if opened.layout is COUNTS_FILE:
        if top is not None:
            raise bad_option(
                f"{OPTION}--top{END} needs rows, but the table holds counts", "leave it out"
            )
        return PredictionCounts(**read_counts(opened))
    elsewhere = counts_only(opened.files[0].native, opened.roles)
    needs = {
        "--top": top,
        "--cluster": opened.roles.cluster,
        "--run": opened.roles.run,
        "--sampling-weights": opened.roles.sampling_weights,
    }
    for flag in [flag for flag, value in needs.items() if value and elsewhere]:
        raise bad_option(
            f"{OPTION}{flag}{END} needs rows, which stay in the engine",
            f"leave {OPTION}--engine{END} out",
        )
    if top is not None and opened.roles.threshold:
        raise bad_option(f"{OPTION}--top{END} and {OPTION}--threshold{END} cannot be combined")
    try:
        counts = _count_as_read(opened, any_range=any_range or top is not None)
        check_calibrators(counts)
        if counts.roles.scores not in (None, EXACT):
            _ = counts.bits  # raises where buckets are impossible
        if elsewhere and counts.multiclass:
            message = f"of {len(counts.order)} classes rows are needed, which stay in the engine"
            raise UsageError.new(
                message, "needs-predictions", hint=f"add {OPTION}--positive CLASS{END}"
            )
        if elsewhere and labels:
            refuse_fractions(counts)
            evaluated = counts.evaluated
            no_rows = StoredRows(
                evaluated.settled, evaluated.mode, (), (), evaluated.complete, evaluated.rows
            )
            return replace(counts, evaluated=no_rows)
        if elsewhere:
            return _as_stored(counts, opened)
        if top is None:
            return counts
        cuts, highest = find_top_rows(counts.evaluated, top, counts.patterns.rows)
        settled = counts.evaluated.settled
        settled = replace(settled, thresholds={**settled.thresholds, **cuts})
        return _count_patterns(settled, any_range=True, top=highest)
    except engine_errors() as error:
        if elsewhere:
            raise
        raise settings.convert_read_error(opened.files, error) from error


def recount_at_thresholds(
    predictions: PredictionCounts, thresholds: Mapping[str, float]
) -> PredictionCounts:
    """Count the rows again with other thresholds of some models; the options as given stay."""
    settled, roles = predictions.evaluated.settled, predictions.roles
    all_thresholds: dict[str | None, float] = {**roles.threshold}
    all_thresholds.update(thresholds)
    settled = replace(
        settled,
        thresholds={**settled.thresholds, **thresholds},
        roles=replace(roles, threshold=all_thresholds),
    )
    return replace(_count_patterns(settled, any_range=True), roles=roles)


def refuse_multilabel(counts: PredictionCounts) -> None:
    """Raise for cells with several classes, as `a;b`, and for columns of classes not in truth."""
    classes = [*counts.classes]
    refuse_multilabel_cells(counts.evaluated.settled, classes)
    declared = (name for name in counts.roles.classes if name not in classes)
    refuse_class_columns_not_in_truth(counts.name, counts.models, [*classes, *declared])


def _as_stored(counts: PredictionCounts, opened: Predictions) -> PredictionCounts:
    """Return the counts as if they were read from a file: rows stay where they are."""
    table, description = count_table(counts)
    native = nw.from_native(table.lazy())
    file = TableFile(opened.files[0].name, tuple(table.columns), native=native)
    stored = PredictionCounts(
        **read_counts(counts_as_table((file,), description, opened.roles), [description])
    )
    settled = stored.evaluated.settled
    as_read = counts.evaluated.settled.columns  # how scores were read, for notes
    columns = replace(
        settled.columns,
        scaled=as_read.scaled,
        log_odds=as_read.log_odds,
        calibrated=as_read.calibrated,
    )
    rows = replace(stored.evaluated, settled=replace(settled, columns=columns))
    return replace(stored, evaluated=rows)


def _count_as_read(opened: Predictions, *, any_range: bool) -> PredictionCounts:
    """Count a table; where all rows are of other facts than the first ones, it is read again."""
    while True:
        try:
            settled = settings.resolve_settings(opened)
            return _count_patterns(settled, any_range=any_range, opened=opened)
        except settings.OtherFacts as facts:
            opened = read_again(opened, facts.denied)
        except DataError:
            if opened.is_whole:
                raise
            opened = read_again(opened)  # all rows may be read otherwise


def _count_in_units(
    settled: settings.CountSettings, weight: str
) -> tuple[PatternCheck, settings.CountSettings]:
    """Return the patterns by sampling weights in whole units, and the settings with these.

    Counts are shown in rows of the mean weight: their sum is the number of rows, whatever the scale
    of the weights.
    """
    nulls = settled.columns.null_values
    scans = [scan(file, {weight: "loose"}, null_values=nulls) for file in settled.files]
    unit = weight_unit(scans, weight)
    rounding = rounding_error(scans, weight, unit)
    settled = replace(settled, weight_unit=unit, unit=unit, rounding=rounding)
    check = check_patterns(group_rows(settled), settled)
    evaluated = ~check.missing
    raw = check.grouped
    units_per_row = row_unit(raw.n[evaluated].sum(), raw.rows[evaluated].sum())
    return check, replace(settled, unit=units_per_row)


def _count_patterns(
    settled: settings.CountSettings,
    *,
    any_range: bool,
    top: TopRows | None = None,
    opened: Predictions | None = None,
) -> PredictionCounts:
    if settled.strange:
        check_structure(settled.files, settled.tasks)
        settled.refuse_similar_labels(dict.fromkeys(settled.classes, 0), settled.strange)
        weighed = settled.columns.weight is not None
        refuse_invalid_rows(settled, settled.classes, settled.strange, weights=weighed)
    while True:
        if settled.related is None:
            settled = settings.with_label_thresholds(settled, opened)
        grouped = group_rows(settled)  # the one pass
        if opened is not None and not opened.is_whole and has_other_facts(grouped, settled):
            raise settings.OtherFacts
        refuse_scores_outside(settled, grouped.ranges)
        check = check_patterns(grouped, settled)
        better = corrected_settings(check, settled)
        if better is None:
            break
        settled = better
    refuse_invalid_patterns(check, settled, any_range=any_range)
    sampling = settled.roles.sampling_weights or check.grouped.n.dtype.kind == "f"
    if settled.columns.weight is not None and sampling:
        check, settled = _count_in_units(settled, settled.columns.weight)
    counts = PredictionCounts.from_patterns(check, settled, top)
    check_thresholds(settled)
    if settled.columns.run and f"{settled.columns.run}=(missing)" in counts.slices:
        refuse_rows_without_run(settled)
    return counts
