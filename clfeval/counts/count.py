"""The counting of predictions in one pass over the rows, and of tables of counts."""

from __future__ import annotations

from collections.abc import Mapping

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
from clfeval.counts.settings import (
    CountSettings,
    OtherFacts,
    convert_read_error,
    resolve_settings,
    with_label_thresholds,
)
from clfeval.counts.unknown_labels import refuse_multilabel_cells
from clfeval.errors import DataError, UsageError, bad_option
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables.engines import counts_only
from clfeval.tables.frames import engine_errors, nw
from clfeval.tables.input import InputOptions
from clfeval.tables.invalid_cells import check_structure
from clfeval.tables.layouts.counts_file import COUNTS_FILE, counts_as_table
from clfeval.tables.predictions import Predictions
from clfeval.tables.recognition import read_again
from clfeval.tables.scan import TableFile, scan


def count_predictions(
    opened_table: Predictions,
    *,
    top: str | None = None,
    any_range: bool = False,
    labels: bool = False,
) -> PredictionCounts:
    """Count the patterns of a prediction table.

    `top`: each model's highest rows are predicted positive, instead of thresholds; `any_range`:
    allow scores outside 0..1 without threshold; `labels`: scores are not counted later. Raises
    DataError with every problem of the table.
    """
    if opened_table.layout is COUNTS_FILE:
        if top is not None:
            raise bad_option(
                f"{OPTION}--top{END} needs rows, but the table holds counts", "leave it out"
            )
        return PredictionCounts(**read_counts(opened_table))
    is_in_engine = counts_only(opened_table.files[0].native, opened_table.roles)
    if is_in_engine:
        _refuse_options_needing_rows(opened_table.roles, top)
    if top is not None and opened_table.roles.threshold:
        raise bad_option(f"{OPTION}--top{END} and {OPTION}--threshold{END} cannot be combined")
    try:
        counts = _count_as_read(opened_table, any_range=any_range or top is not None)
        check_calibrators(counts)
        if counts.roles.scores not in (None, EXACT):
            _ = counts.bits  # raises where buckets are impossible
        if is_in_engine and counts.multiclass:
            message = f"of {len(counts.order)} classes rows are needed, which stay in the engine"
            raise UsageError.new(
                message, "needs-predictions", hint=f"add {OPTION}--positive CLASS{END}"
            )
        if is_in_engine and labels:
            refuse_fractions(counts)
            evaluated = counts.evaluated
            no_rows = StoredRows(
                evaluated.settled, evaluated.mode, (), (), evaluated.complete, evaluated.rows
            )
            return replace(counts, evaluated=no_rows)
        if is_in_engine:
            return _as_stored(counts, opened_table)
        if top is None:
            return counts
        top_thresholds, top_rows = find_top_rows(counts.evaluated, top, counts.patterns.rows)
        settings = counts.evaluated.settled
        settings = replace(settings, thresholds={**settings.thresholds, **top_thresholds})
        return _count_patterns(settings, any_range=True, top=top_rows)
    except engine_errors() as error:
        if is_in_engine:
            raise
        raise convert_read_error(opened_table.files, error) from error


def _refuse_options_needing_rows(input_options: InputOptions, top: str | None) -> None:
    """Raise for the first option given that needs rows, where these stay in the engine."""
    options_needing_rows = {
        "--top": top,
        "--cluster": input_options.cluster,
        "--run": input_options.run,
        "--sampling-weights": input_options.sampling_weights,
    }
    for flag, value in options_needing_rows.items():
        if value:
            raise bad_option(
                f"{OPTION}{flag}{END} needs rows, which stay in the engine",
                f"leave {OPTION}--engine{END} out",
            )


def recount_at_thresholds(
    predictions: PredictionCounts, thresholds: Mapping[str, float]
) -> PredictionCounts:
    """Count the rows again with other thresholds of some models; the options as given stay."""
    settings, input_options = predictions.evaluated.settled, predictions.roles
    all_thresholds: dict[str | None, float] = {**input_options.threshold}
    all_thresholds.update(thresholds)
    settings = replace(
        settings,
        thresholds={**settings.thresholds, **thresholds},
        roles=replace(input_options, threshold=all_thresholds),
    )
    return replace(_count_patterns(settings, any_range=True), roles=input_options)


def refuse_multilabel(counts: PredictionCounts) -> None:
    """Raise for cells with several classes, as `a;b`, and for columns of classes not in truth."""
    classes = [*counts.classes]
    refuse_multilabel_cells(counts.evaluated.settled, classes)
    declared_classes = (name for name in counts.roles.classes if name not in classes)
    refuse_class_columns_not_in_truth(counts.name, counts.models, [*classes, *declared_classes])


def _as_stored(counts: PredictionCounts, opened_table: Predictions) -> PredictionCounts:
    """Return the counts as if they were read from a file: rows stay where they are."""
    table, description = count_table(counts)
    native = nw.from_native(table.lazy())
    file = TableFile(opened_table.files[0].name, tuple(table.columns), native=native)
    stored = PredictionCounts(
        **read_counts(counts_as_table((file,), description, opened_table.roles), [description])
    )
    settings = stored.evaluated.settled
    as_read = counts.evaluated.settled.columns  # how scores were read, for notes
    columns = replace(
        settings.columns,
        scaled=as_read.scaled,
        log_odds=as_read.log_odds,
        calibrated=as_read.calibrated,
    )
    stored_rows = replace(stored.evaluated, settled=replace(settings, columns=columns))
    return replace(stored, evaluated=stored_rows)


def _count_as_read(opened_table: Predictions, *, any_range: bool) -> PredictionCounts:
    """Count a table; where all rows are of other facts than the first ones, it is read again."""
    while True:
        try:
            settings = resolve_settings(opened_table)
            return _count_patterns(settings, any_range=any_range, opened_table=opened_table)
        except OtherFacts as facts:
            opened_table = read_again(opened_table, facts.denied)
        except DataError:
            if opened_table.is_whole:
                raise
            opened_table = read_again(opened_table)  # all rows may be read otherwise


def _count_in_units(settings: CountSettings, weight: str) -> tuple[PatternCheck, CountSettings]:
    """Return the patterns by sampling weights in whole units, and the settings with these.

    Counts are shown in rows of the mean weight: their sum is the number of rows, whatever the scale
    of the weights.
    """
    null_values = settings.columns.null_values
    frames = [scan(file, {weight: "loose"}, null_values=null_values) for file in settings.files]
    unit = weight_unit(frames, weight)
    rounding = rounding_error(frames, weight, unit)
    settings = replace(settings, weight_unit=unit, unit=unit, rounding=rounding)
    check = check_patterns(group_rows(settings), settings)
    is_evaluated = ~check.missing
    raw_patterns = check.grouped
    units_per_row = row_unit(
        raw_patterns.n[is_evaluated].sum(), raw_patterns.rows[is_evaluated].sum()
    )
    return check, replace(settings, unit=units_per_row)


def _count_patterns(
    settings: CountSettings,
    *,
    any_range: bool,
    top: TopRows | None = None,
    opened_table: Predictions | None = None,
) -> PredictionCounts:
    """Count the patterns of all rows, with settings corrected by what the rows show.

    opened_table: given where the table may be read again; top: the numbers of rows that --top
    predicts as positive.
    """
    if settings.strange:
        check_structure(settings.files, settings.tasks)
        settings.refuse_similar_labels(dict.fromkeys(settings.classes, 0), settings.strange)
        has_weights = settings.columns.weight is not None
        refuse_invalid_rows(settings, settings.classes, settings.strange, weights=has_weights)
    while True:
        if settings.related is None:
            settings = with_label_thresholds(settings, opened_table)
        raw_patterns = group_rows(settings)  # the one pass
        if (
            opened_table is not None
            and not opened_table.is_whole
            and has_other_facts(raw_patterns, settings)
        ):
            raise OtherFacts
        refuse_scores_outside(settings, raw_patterns.ranges)
        check = check_patterns(raw_patterns, settings)
        corrected = corrected_settings(check, settings)
        if corrected is None:
            break
        settings = corrected
    refuse_invalid_patterns(check, settings, any_range=any_range)
    are_sampling_weights = settings.roles.sampling_weights or check.grouped.n.dtype.kind == "f"
    if settings.columns.weight is not None and are_sampling_weights:
        check, settings = _count_in_units(settings, settings.columns.weight)
    counts = PredictionCounts.from_patterns(check, settings, top)
    check_thresholds(settings)
    if settings.columns.run and f"{settings.columns.run}=(missing)" in counts.slices:
        refuse_rows_without_run(settings)
    return counts
