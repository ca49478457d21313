"""The long layout: a row for each observation and model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clfeval.errors import HEADER_ONLY, DataError, Problem, bad_option, format_option
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables import invalid_cells as checks
from clfeval.tables.columns import KEY, WRONG, Also, Columns, Mode, ModelColumns
from clfeval.tables.frames import Frame, concatenate_frames, natural_sort_key, nw, pl
from clfeval.tables.input import ColumnNames, InputOptions, Kind, find_column, match_names
from clfeval.tables.predictions import Layout
from clfeval.tables.profiles import ColumnProfile
from clfeval.tables.readings.calibrated_scores import (
    models_in_file,
    with_calibrated_models,
    with_calibrated_numbers,
)
from clfeval.tables.readings.candidate_columns import kind_of_cells
from clfeval.tables.readings.labels import known_labels
from clfeval.tables.readings.names import is_certain_truth, is_likely_truth, tags_of
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.reading import Question, Reading
from clfeval.tables.readings.repeated_rows import MOST_PARTS, rows_of_value
from clfeval.tables.readings.requirements import MOST_RUNS, TruthView, kind_of_predictions
from clfeval.tables.readings.score_scales import with_scaled_numbers
from clfeval.tables.readings.truths import TruthCandidate, truth_candidates
from clfeval.tables.readings.weights import with_weight_kind
from clfeval.tables.readings.wide_tables import side_readings, with_positive
from clfeval.tables.scan import TableFile, count_distinct_values, scan

ANSWER_COLUMN, TIMES, DIFFERS = "__clfeval_said{}", "__clfeval_times{}", "__clfeval_differs{}"
NAMELESS = "__clfeval_nameless"


def long_readings(
    file: str, profiles: Mapping[str, ColumnProfile], input_options: InputOptions
) -> list[Reading]:
    """Return the readings of a long table, known by the names of its columns; none if it is none.

    Where it has labels and scores, each of them is a reading.
    """
    facts = PairFacts(profiles)
    model_column = find_column(profiles, ColumnNames.MODEL) or _only_naming(
        profiles, input_options, facts
    )
    if model_column is None:
        return []
    readings: list[Reading] = []
    for truth_candidate in _truths(profiles, model_column, input_options, facts):
        other_profiles = {
            name: profile
            for name, profile in profiles.items()
            if name not in (truth_candidate.name, model_column)
        }
        classes = frozenset(known_labels(profiles[truth_candidate.name].texts, input_options))
        answer_columns = _prediction_columns(other_profiles, classes, input_options)
        id_columns = (
            [input_options.id]
            if input_options.id in other_profiles
            else _ids_by_name(other_profiles)
        )
        if not answer_columns and id_columns and facts.are_unique([model_column, *id_columns]):
            answer_columns = _only_prediction(other_profiles, classes, input_options)
        if not answer_columns:
            continue  # a long table needs predictions
        role_columns = (truth_candidate.name, model_column, *answer_columns.values())
        id_column = _id_column(profiles, role_columns, input_options, facts)
        if truth_candidate.claim == "values" and (
            id_column is None or not _is_constant(truth_candidate.name, id_column, profiles)
        ):
            continue  # it may be truth by its values only, without one value for each id
        if id_column is None:
            all_have_roles = len(role_columns) == len(profiles)
            raise _no_id_error(file, profiles, model_column, all_have_roles=all_have_roles)
        columns_by_kind = {
            kind: _long_columns(
                profiles, truth_candidate.name, model_column, answer_column, id_column
            )
            for kind, answer_column in answer_columns.items()
        }
        readings += _readings_of_kinds(
            truth_candidate, columns_by_kind, profiles, input_options, facts
        )
    return readings


def _is_constant(truth_column: str, id_column: str, profiles: Mapping[str, ColumnProfile]) -> bool:
    """Return whether all rows of an id have the same truth."""
    pairs = {*zip(profiles[id_column].sample, profiles[truth_column].sample, strict=True)}
    return len(pairs) == len({id_value for id_value, _ in pairs})


def _only_naming(
    profiles: Mapping[str, ColumnProfile], input_options: InputOptions, facts: PairFacts
) -> str | None:
    """Return the only column that may name models of another name, where --layout and --id are set.

    It has a few texts, each of which occurs once with an id.
    """
    if input_options.layout != "long" or input_options.id not in profiles:
        return None
    model_name_columns = [
        name
        for name, profile in profiles.items()
        if name
        not in (input_options.id, input_options.truth, input_options.weight, *input_options.by)
        and 1 < len(profile.texts) <= MOST_RUNS
        and not (is_certain_truth(name) or is_likely_truth(name) or "prediction" in tags_of(name))
        and facts.are_unique([str(input_options.id), name])
    ]
    return model_name_columns[0] if len(model_name_columns) == 1 else None


def _readings_of_kinds(
    truth_candidate: TruthCandidate,
    columns_by_kind: Mapping[Kind, Columns],
    profiles: Mapping[str, ColumnProfile],
    input_options: InputOptions,
    facts: PairFacts,
) -> list[Reading]:
    """Return the readings of the labels, of the scores, or of the only kind of predictions."""
    readings: list[Reading] = []
    answer_columns = {kind: columns.answer for kind, columns in columns_by_kind.items()}
    for kind, columns in columns_by_kind.items():
        reading_options = (
            replace(input_options, kind=kind) if len(answer_columns) > 1 else input_options
        )
        reading = Reading(truth_candidate.claim, columns, reading_options)
        if len(answer_columns) > 1:
            reading = _reading_of_kind(reading, kind, answer_columns)
        models = [ModelColumns(columns.naming, kind, (columns.answer,))]
        truth_view = TruthView.from_profiles(
            truth_candidate.name, profiles, columns.unused, input_options, facts, sets=models
        )
        for oriented_reading in side_readings(reading, truth_view, columns.unused):
            for weighted_reading in with_weight_kind(oriented_reading, facts, input_options):
                readings += with_positive(
                    weighted_reading, profiles[truth_candidate.name].counts, input_options, models
                )
    return readings


def _truths(
    profiles: Mapping[str, ColumnProfile],
    model_column: str,
    input_options: InputOptions,
    facts: PairFacts,
) -> list[TruthCandidate]:
    """Return the columns of a long table that may be truth; that of a usual name alone."""
    truth_column = input_options.truth or find_column(profiles, ColumnNames.LONG_TRUTH)
    if truth_column is not None and truth_column not in profiles:
        return []  # an option names no column, which is said later
    if truth_column is not None:
        return [TruthCandidate(truth_column, "given" if input_options.truth else "certain")]
    other_profiles = {name: profile for name, profile in profiles.items() if name != model_column}
    return truth_candidates(other_profiles, input_options, facts)


def _long_columns(
    profiles: Mapping[str, ColumnProfile],
    truth_column: str,
    model_column: str,
    answer_column: str,
    id_column: str,
) -> Columns:
    """Return the columns of a long table; the others are not used."""
    role_columns = (truth_column, model_column, answer_column, id_column)
    unused_columns = {
        name: "a long table has no part for it" for name in profiles if name not in role_columns
    }
    return Columns(
        truth_column, id_column, naming=model_column, answer=answer_column, unused=unused_columns
    )


def _reading_of_kind(
    reading: Reading, evaluated_kind: Kind, answer_columns: Mapping[Kind, str]
) -> Reading:
    """Return a reading that evaluates the labels or the scores only, and says so."""
    unused_kind: Kind = "score" if evaluated_kind == "label" else "label"
    meaning = (
        f"the {evaluated_kind}s of '{answer_columns[evaluated_kind]}', without the "
        f"{unused_kind}s of '{answer_columns[unused_kind]}'"
    )
    problem_clause = (
        f"'{answer_columns['label']}' has labels and '{answer_columns['score']}' has scores"
    )
    question = Question("which-layout", f"{problem_clause}: which should be evaluated?")
    return replace(reading, options={"kind": evaluated_kind}, words=[meaning], questions=[question])


def _id_column(
    profiles: Mapping[str, ColumnProfile],
    role_columns: Sequence[str],
    input_options: InputOptions,
    facts: PairFacts,
) -> str | None:
    """Return the column of row ids of a long table: by name, or unique together with the model.

    role_columns: the columns of truth, model and predictions. None if no column can be it.
    """
    _truth_column, model_column, *answer_columns = role_columns
    id_column = input_options.id or find_column(profiles, ColumnNames.ID)
    if id_column in (model_column, *answer_columns):
        role_phrase = "model names" if id_column == model_column else "predictions"
        usual_id_column = find_column(
            [name for name in profiles if name != id_column], ColumnNames.ID
        )
        hint = (
            format_option("--id", usual_id_column)
            if usual_id_column
            else "name a column that identifies the rows"
        )
        raise bad_option(f"{OPTION}--id{END} '{id_column}' is the column of {role_phrase}", hint)
    if id_column is not None:
        return id_column
    excluded_columns = {
        *role_columns,
        *input_options.by,
        input_options.weight,
        input_options.cluster,
        input_options.run,
    }
    run_columns = [name for name in profiles if "run" in tags_of(name)]
    other_key_columns = [model_column, *run_columns[:1]]
    unique_columns = [
        name
        for name, profile in profiles.items()
        if name not in excluded_columns
        and not profile.distinct
        and name not in other_key_columns
        and tags_of(name) & {"like an id", "cluster", "index"}
        and facts.are_unique([name, *other_key_columns])
    ]
    row_number_column = find_column(unique_columns, ColumnNames.ROW)
    return row_number_column or (unique_columns[0] if len(unique_columns) == 1 else None)


def _no_id_error(
    file: str, profiles: Mapping[str, ColumnProfile], model_column: str, *, all_have_roles: bool
) -> DataError:
    """Build the error of a long table without a column of row ids.

    all_have_roles: every column is the truth, the model names or predictions.
    """
    hint, fixes = (
        f"add {OPTION}--id COLUMN{END}, or number the rows in the same order for each model",
        {},
    )
    row_number_column = find_column(
        [name for name in profiles if name != model_column], ColumnNames.ROW
    )
    if row_number_column is not None:
        hint, fixes = (
            f"add {format_option('--id', row_number_column)}: its name suggests ids",
            {"id": row_number_column},
        )
    message = "a long table needs a column of row ids"
    if fixes or not all_have_roles:
        return DataError.new(message, "no-id", file, hint=hint, fixes=fixes)
    row_counts = profiles[model_column].counts
    first_models = sorted(row_counts, key=natural_sort_key)[:MOST_PARTS]
    readings = [
        rows_of_value(model_column, model_name, row_counts[model_name])
        for model_name in first_models
    ]
    return DataError(Problem(message, "no-id", file), hint=hint, readings=readings)


def _ids_by_name(profiles: Mapping[str, ColumnProfile]) -> list[str]:
    """Return the columns of ids that repeat, as in a long table."""
    id_column = find_column(profiles, ColumnNames.ID)
    return [id_column] if id_column and not profiles[id_column].distinct else []


def _only_prediction(
    profiles: Mapping[str, ColumnProfile], classes: frozenset[str], input_options: InputOptions
) -> dict[Kind, str]:
    """Return the only column of labels or numbers that has no other part by its name."""
    truth_view = TruthView.from_profiles(
        next(iter(profiles)), profiles, profiles, input_options, PairFacts({})
    )
    prediction_columns = [
        column.name
        for column in truth_view.free
        if kind_of_cells(column.profile, classes) in ("label", "number")
        and (column.predicts or not column.tags)
        and column.name not in input_options.by
    ]
    if len(prediction_columns) != 1:
        return {}
    (prediction_column,) = prediction_columns
    kind = kind_of_predictions(profiles[prediction_column], classes, input_options)
    return {kind: prediction_column}


def _prediction_columns(
    profiles: Mapping[str, ColumnProfile], classes: frozenset[str], input_options: InputOptions
) -> dict[Kind, str]:
    """Return the columns of labels and of scores by their names, the likeliest of each kind."""
    prediction_columns = [name for name in profiles if find_column([name], ColumnNames.PREDICTION)]
    columns_by_kind: dict[Kind, list[str]] = {}
    for name in prediction_columns:
        kind = kind_of_predictions(profiles[name], classes, replace(input_options, kind=None))
        columns_by_kind.setdefault(kind, []).append(name)
    requested_kind = input_options.kind_of_models
    if requested_kind is not None and prediction_columns:
        candidate_columns = columns_by_kind.get(requested_kind) or prediction_columns
        return {requested_kind: str(find_column(candidate_columns, ColumnNames.PREDICTION))}
    return {
        kind: str(find_column(column_names, ColumnNames.PREDICTION))
        for kind, column_names in columns_by_kind.items()
    }


def list_models(
    files: Sequence[TableFile],
    columns: Columns,
    profiles: Mapping[str, ColumnProfile],
    input_options: InputOptions,
) -> Columns:
    """Return the columns with the selected models in the rows, ordered by name."""
    row_counts = count_distinct_values(files, columns.naming, columns.null_values)
    file_name = files[0].name
    sorted_models = sorted(row_counts, key=natural_sort_key)
    if not row_counts:
        raise DataError.new("no rows to evaluate", "empty-table", file_name, hint=HEADER_ONLY)
    selected_models = match_names(file_name, sorted_models, input_options.model or sorted_models)
    classes = frozenset(known_labels(profiles[columns.truth].texts, input_options))
    kind: Kind = kind_of_predictions(profiles[columns.answer], classes, input_options)
    models = (
        ModelColumns(model, kind, (ANSWER_COLUMN.format(i),))
        for i, model in enumerate(selected_models)
    )
    return with_calibrated_models(
        replace(columns, models=tuple(models)), sorted_models, input_options
    )


def scan_rows(
    files: Sequence[TableFile], columns: Columns, mode: Mode, added_columns: Also
) -> list[Frame]:
    """Scan the files, and widen the rows of each observation, which may be in several files.

    mode: how labels and scores are read. added_columns: "watch" adds the flags of the scan.
    """
    cell_readings = columns.readings(mode)
    adds_flags = added_columns == "watch"
    frames = [
        scan(file, cell_readings, null_values=columns.null_values, watch=adds_flags)
        for file in files
    ]
    frames = [with_scaled_numbers(frame, columns) for frame in frames]
    models = models_in_file(columns)
    wide_frame = widen(concatenate_frames(frames), replace(columns, models=models))
    wide_frame = with_calibrated_numbers(wide_frame, columns)
    conflict_flags = [nw.col(TIMES.format(i)) != 1 for i in range(len(models))]
    conflict_flags += [nw.col(DIFFERS.format(i)) == 1 for i in range(len(columns.constants))]
    conflict_flags.append(nw.col(NAMELESS) == 1)
    return [
        wide_frame.with_columns(nw.any_horizontal(*conflict_flags, ignore_nulls=True).alias(WRONG))
    ]


def widen(frame: Frame, columns: Columns) -> Frame:
    """Convert a long table into a wide one, with flag columns for repeats, conflicts and gaps.

    With `run` an observation has one row per run.

    Columns: KEY, the column of each model, and the constants (truth, slices, weight) by name;
    truth is missing if any row of the id lacks it. Blank lines are left out.
    Flags: how often each model has the id, 1 where a constant differs within the id, 1 where a row
    lacks its id or its model.
    """
    model_cell = nw.col(columns.naming)
    answer_cell = nw.col(columns.answer)
    model_names = [model_columns.name for model_columns in columns.models]
    constants = columns.constants
    is_model_exprs = [model_cell == name for name in model_names]
    is_blank = nw.col(str(columns.id)).is_null() & model_cell.is_null() & answer_cell.is_null()
    is_selected = model_cell.is_in(model_names) | model_cell.is_null()
    row_keys = {f"r{i}": nw.col(name) for i, name in enumerate(columns.row)}
    # by number: r id and run, p predictions, c rows of a model, k constants, g their gaps; nobody
    # marks rows without a model
    flagged_rows = frame.filter(~is_blank & is_selected).select(
        *[row_key.alias(name) for name, row_key in row_keys.items()],
        *[
            nw.when(is_model).then(answer_cell).alias(f"p{i}")
            for i, is_model in enumerate(is_model_exprs)
        ],
        *[is_model.cast(nw.Int32).alias(f"c{i}") for i, is_model in enumerate(is_model_exprs)],
        *[nw.col(name).alias(f"k{i}") for i, name in enumerate(constants)],
        *[nw.col(name).is_null().cast(nw.Int32).alias(f"g{i}") for i, name in enumerate(constants)],
        model_cell.is_null().cast(nw.Int32).alias("nobody"),
    )
    # l and h: the lowest and the highest value of a constant within an id
    observations = flagged_rows.group_by(*row_keys).agg(
        *[nw.col(f"p{i}").max() for i in range(len(model_names))],
        *[nw.col(f"c{i}").sum() for i in range(len(model_names))],
        *[nw.col(f"k{i}").min().alias(f"l{i}") for i in range(len(constants))],
        *[nw.col(f"k{i}").max().alias(f"h{i}") for i in range(len(constants))],
        *[nw.col(f"g{i}").sum() for i in range(len(constants))],
        nw.col("nobody").sum(),
        nw.len().alias("rows"),
    )
    return observations.select(
        nw.col("r0").alias(KEY),
        *[
            nw.col(f"p{i}").alias(model_columns.columns[0])
            for i, model_columns in enumerate(columns.models)
        ],
        *[nw.col(f"c{i}").alias(TIMES.format(i)) for i in range(len(model_names))],
        *[_differs(i).alias(DIFFERS.format(i)) for i in range(len(constants))],
        (nw.col("r0").is_null() | (nw.col("nobody") > 0)).cast(nw.Int8).alias(NAMELESS),
        nw.when(nw.col("g0") == 0).then(nw.col("h0")).alias(columns.truth),
        *[nw.col(f"h{i}").alias(name) for i, name in enumerate(constants) if i > 0],
    )


def _differs(constant_index: int) -> nw.Expr:
    """Return 1 where a constant has two values in an id, or is missing in some of its rows.

    constant_index: 0 is truth, which may be missing in some rows.
    """
    low, high, gap_count = (nw.col(f"{prefix}{constant_index}") for prefix in "lhg")
    differs = nw.when(low.is_null()).then(nw.lit(0)).otherwise((low != high).cast(nw.Int8))
    if constant_index > 0:
        partly_missing = (gap_count > 0) & (gap_count < nw.col("rows"))
        differs = nw.when(partly_missing).then(nw.lit(1)).otherwise(differs)
    return differs.cast(nw.Int8)


def row_checks(
    columns: Columns, suspicion: checks.Suspicion, frames: Sequence[pl.LazyFrame]
) -> list[tuple[pl.LazyFrame, list[checks.Check]]]:
    """Return the checks of all files together, as an observation may have rows in several."""
    model_cell = pl.col(columns.naming)
    model_names = [model_columns.name for model_columns in models_in_file(columns)]
    frame = pl.concat(frames).filter(model_cell.is_in(model_names) | model_cell.is_null())
    holds_labels = {model_columns.kind for model_columns in columns.models} == {"label"}
    row_place = pl.col(checks.PLACE)
    has_id = pl.col(columns.row[0]).is_not_null()
    first_place = row_place.first().over(pl.struct(*columns.row, columns.naming))
    message = "'{value}' already has a prediction for this id in {extra}"
    is_repeated = (row_place != first_place) & has_id
    observation_checks = [
        checks.Check(columns.naming, "duplicate-row", message, is_repeated, first_place)
    ]
    observation_checks += [_constant_check(columns, name, has_id) for name in columns.constants]
    observation_checks += [
        checks.missing_value(str(columns.id)),
        checks.missing_value(columns.naming),
    ]
    group_columns = (columns.run, columns.cluster)
    observation_checks += [
        checks.missing_cell(name, frame) for name in group_columns if name is not None
    ]
    observation_checks += [checks.missing_value(columns.truth)] if suspicion.strict else []
    observation_checks += checks.prediction_checks(
        columns.answer, columns, suspicion, number=not holds_labels
    )
    if suspicion.weights and columns.weight:
        observation_checks.append(checks.bad_weight(columns.weight, columns.written))
    if suspicion.wrong:
        observation_checks += [_missing_model_check(columns, name, has_id) for name in model_names]
    return [(frame, observation_checks)]


def _missing_model_check(columns: Columns, model_name: str, has_id: pl.Expr) -> checks.Check:
    """Return the check that an id has a row of a model; the first row of the id fails it."""
    row_place = pl.col(checks.PLACE)
    lacks_model = (row_place == row_place.first().over(columns.row)) & has_id
    lacks_model &= ~(pl.col(columns.naming) == model_name).any().over(columns.row)
    message = f"id '{{extra}}' has no row for model '{checks.escape_braces(model_name)}'"
    id_text = checks.column_as_text(columns.row[0])
    return checks.Check(columns.naming, "unequal-ids", message, lacks_model, id_text)


def _constant_check(columns: Columns, column: str, has_id: pl.Expr) -> checks.Check:
    """Return the check that a column has the same value in all rows of an id."""
    cell_text = checks.column_as_text(column)
    is_truth = column == columns.truth  # a missing truth does not count as a value
    compared_text = cell_text if is_truth else cell_text.fill_null("")
    first_text = (cell_text.drop_nulls() if is_truth else compared_text).first().over(columns.row)
    differs = (compared_text != first_text) & has_id
    code = "conflicting-truth" if is_truth else "conflicting-value"
    message = "'{value}' differs from '{extra}' in an earlier row of this id"
    return checks.Check(column, code, message, differs, first_text)


LAYOUT = Layout(
    name="long",
    needs="id, model, prediction, truth",
    readings=long_readings,
    rows=scan_rows,
    checks=row_checks,
    models=list_models,
)
