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
    file: str, profiles: Mapping[str, ColumnProfile], roles: InputOptions
) -> list[Reading]:
    """Return the readings of a long table, known by the names of its columns; none if it is none.

    Where it has labels and scores, each of them is a reading.
    """
    facts = PairFacts(profiles)
    naming = find_column(profiles, ColumnNames.MODEL) or _only_naming(profiles, roles, facts)
    if naming is None:
        return []
    readings: list[Reading] = []
    for candidate in _truths(profiles, naming, roles, facts):
        rest = {n: profile for n, profile in profiles.items() if n not in (candidate.name, naming)}
        classes = frozenset(known_labels(profiles[candidate.name].texts, roles))
        answers = _prediction_columns(rest, classes, roles)
        ids = [roles.id] if roles.id in rest else _ids_by_name(rest)
        if not answers and ids and facts.are_unique([naming, *ids]):
            answers = _only_prediction(rest, classes, roles)
        if not answers:
            continue
        parts = (candidate.name, naming, *answers.values())
        row_id = _id_column(profiles, parts, roles, facts)
        if candidate.claim == "values" and (
            row_id is None or not _is_constant(candidate.name, row_id, profiles)
        ):
            continue
        if row_id is None:
            raise _no_id_error(file, profiles, naming, are_all=len(parts) == len(profiles))
        columns = {
            kind: _long_columns(profiles, candidate.name, naming, answer, row_id)
            for kind, answer in answers.items()
        }
        readings += _readings_of_kinds(candidate, columns, profiles, roles, facts)
    return readings


def _is_constant(truth: str, row_id: str, profiles: Mapping[str, ColumnProfile]) -> bool:
    """Return whether all rows of an id have the same truth."""
    pairs = {*zip(profiles[row_id].sample, profiles[truth].sample, strict=True)}
    return len(pairs) == len({row for row, _ in pairs})


def _only_naming(
    profiles: Mapping[str, ColumnProfile], roles: InputOptions, facts: PairFacts
) -> str | None:
    """Return the only column that may name models of another name, where --layout and --id are set.

    It has a few texts, each of which occurs once with an id.
    """
    if roles.layout != "long" or roles.id not in profiles:
        return None
    possible = [
        name
        for name, profile in profiles.items()
        if name not in (roles.id, roles.truth, roles.weight, *roles.by)
        and 1 < len(profile.texts) <= MOST_RUNS
        and not (is_certain_truth(name) or is_likely_truth(name) or "prediction" in tags_of(name))
        and facts.are_unique([str(roles.id), name])
    ]
    return possible[0] if len(possible) == 1 else None


def _readings_of_kinds(
    truth: TruthCandidate,
    columns_of_kind: Mapping[Kind, Columns],
    profiles: Mapping[str, ColumnProfile],
    roles: InputOptions,
    facts: PairFacts,
) -> list[Reading]:
    """Return the readings of the labels, of the scores, or of the only kind of predictions."""
    readings: list[Reading] = []
    answers = {kind: columns.answer for kind, columns in columns_of_kind.items()}
    for kind, columns in columns_of_kind.items():
        resolved = replace(roles, kind=kind) if len(answers) > 1 else roles
        reading = Reading(truth.claim, columns, resolved)
        if len(answers) > 1:
            reading = _reading_of_kind(reading, kind, answers)
        models = [ModelColumns(columns.naming, kind, (columns.answer,))]
        view = TruthView.from_profiles(
            truth.name, profiles, columns.unused, roles, facts, sets=models
        )
        for side in side_readings(reading, view, columns.unused):
            for weighted in with_weight_kind(side, facts, roles):
                readings += with_positive(weighted, profiles[truth.name].counts, roles, models)
    return readings


def _truths(
    profiles: Mapping[str, ColumnProfile], naming: str, roles: InputOptions, facts: PairFacts
) -> list[TruthCandidate]:
    """Return the columns of a long table that may be truth; that of a usual name alone."""
    truth = roles.truth or find_column(profiles, ColumnNames.LONG_TRUTH)
    if truth is not None and truth not in profiles:
        return []  # an option names no column, which is said later
    if truth is not None:
        return [TruthCandidate(truth, "given" if roles.truth else "certain")]
    rest = {name: profile for name, profile in profiles.items() if name != naming}
    return truth_candidates(rest, roles, facts)


def _long_columns(
    profiles: Mapping[str, ColumnProfile], truth: str, naming: str, answer: str, row_id: str
) -> Columns:
    """Return the columns of a long table; the others are not used."""
    parts = (truth, naming, answer, row_id)
    unused = {name: "a long table has no part for it" for name in profiles if name not in parts}
    return Columns(truth, row_id, naming=naming, answer=answer, unused=unused)


def _reading_of_kind(reading: Reading, kind: Kind, answers: Mapping[Kind, str]) -> Reading:
    """Return a reading that evaluates the labels or the scores only, and says so."""
    unused_kind: Kind = "score" if kind == "label" else "label"
    words = (
        f"the {kind}s of '{answers[kind]}', without the {unused_kind}s of '{answers[unused_kind]}'"
    )
    text = f"'{answers['label']}' has labels and '{answers['score']}' has scores"
    question = Question("which-layout", f"{text}: which should be evaluated?")
    return replace(reading, options={"kind": kind}, words=[words], questions=[question])


def _id_column(
    profiles: Mapping[str, ColumnProfile],
    parts: Sequence[str],
    roles: InputOptions,
    facts: PairFacts,
) -> str | None:
    """Return the column of row ids of a long table: by name, or unique together with the model.

    parts: the columns of truth, model and predictions. None if no column can be it.
    """
    _, naming, *answers = parts
    row_id = roles.id or find_column(profiles, ColumnNames.ID)
    if row_id in (naming, *answers):
        part = "model names" if row_id == naming else "predictions"
        id_name = find_column([name for name in profiles if name != row_id], ColumnNames.ID)
        hint = (
            format_option("--id", id_name) if id_name else "name a column that identifies the rows"
        )
        raise bad_option(f"{OPTION}--id{END} '{row_id}' is the column of {part}", hint)
    if row_id is not None:
        return row_id
    excluded = {*parts, *roles.by, roles.weight, roles.cluster, roles.run}
    runs = [name for name in profiles if "run" in tags_of(name)]
    other_keys = [naming, *runs[:1]]
    possible = [
        name
        for name, profile in profiles.items()
        if name not in excluded
        and not profile.distinct
        and name not in other_keys
        and tags_of(name) & {"like an id", "cluster", "index"}
        and facts.are_unique([name, *other_keys])
    ]
    row_column = find_column(possible, ColumnNames.ROW)
    return row_column or (possible[0] if len(possible) == 1 else None)


def _no_id_error(
    file: str, profiles: Mapping[str, ColumnProfile], naming: str, *, are_all: bool
) -> DataError:
    """Build the error of a long table without a column of row ids; are_all: none can be it."""
    hint, fixes = (
        f"add {OPTION}--id COLUMN{END}, or number the rows in the same order for each model",
        {},
    )
    row = find_column([name for name in profiles if name != naming], ColumnNames.ROW)
    if row is not None:
        hint, fixes = f"add {format_option('--id', row)}: its name suggests ids", {"id": row}
    message = "a long table needs a column of row ids"
    if fixes or not are_all:
        return DataError.new(message, "no-id", file, hint=hint, fixes=fixes)
    counts = profiles[naming].counts
    models = sorted(counts, key=natural_sort_key)[:MOST_PARTS]
    readings = [rows_of_value(naming, model, counts[model]) for model in models]
    return DataError(Problem(message, "no-id", file), hint=hint, readings=readings)


def _ids_by_name(profiles: Mapping[str, ColumnProfile]) -> list[str]:
    """Return the columns of ids that repeat, as in a long table."""
    row_id = find_column(profiles, ColumnNames.ID)
    return [row_id] if row_id and not profiles[row_id].distinct else []


def _only_prediction(
    profiles: Mapping[str, ColumnProfile], classes: frozenset[str], roles: InputOptions
) -> dict[Kind, str]:
    """Return the only column of labels or numbers that has no other part by its name."""
    view = TruthView.from_profiles(next(iter(profiles)), profiles, profiles, roles, PairFacts({}))
    possible = [
        column.name
        for column in view.free
        if kind_of_cells(column.profile, classes) in ("label", "number")
        and (column.predicts or not column.tags)
        and column.name not in roles.by
    ]
    if len(possible) != 1:
        return {}
    return {kind_of_predictions(profiles[possible[0]], classes, roles): possible[0]}


def _prediction_columns(
    profiles: Mapping[str, ColumnProfile], classes: frozenset[str], roles: InputOptions
) -> dict[Kind, str]:
    """Return the columns of labels and of scores by their names, the likeliest of each kind."""
    names_of_predictions = [
        name for name in profiles if find_column([name], ColumnNames.PREDICTION)
    ]
    by_kind: dict[Kind, list[str]] = {}
    for name in names_of_predictions:
        kind = kind_of_predictions(profiles[name], classes, replace(roles, kind=None))
        by_kind.setdefault(kind, []).append(name)
    if roles.kind_of_models is not None and names_of_predictions:
        same_kind = by_kind.get(roles.kind_of_models) or names_of_predictions
        return {roles.kind_of_models: str(find_column(same_kind, ColumnNames.PREDICTION))}
    return {
        kind: str(find_column(names, ColumnNames.PREDICTION)) for kind, names in by_kind.items()
    }


def list_models(
    files: Sequence[TableFile],
    columns: Columns,
    profiles: Mapping[str, ColumnProfile],
    roles: InputOptions,
) -> Columns:
    """Return the columns with the selected models in the rows, ordered by name."""
    names = count_distinct_values(files, columns.naming, columns.null_values)
    name, ordered = files[0].name, sorted(names, key=natural_sort_key)
    if not names:
        raise DataError.new("no rows to evaluate", "empty-table", name, hint=HEADER_ONLY)
    selected = match_names(name, ordered, roles.model or ordered)
    classes = frozenset(known_labels(profiles[columns.truth].texts, roles))
    kind: Kind = kind_of_predictions(profiles[columns.answer], classes, roles)
    models = (
        ModelColumns(name, kind, (ANSWER_COLUMN.format(i),)) for i, name in enumerate(selected)
    )
    return with_calibrated_models(replace(columns, models=tuple(models)), ordered, roles)


def scan_rows(files: Sequence[TableFile], columns: Columns, mode: Mode, extra: Also) -> list[Frame]:
    """Scan the files, and widen the rows of each observation, which may be in several files."""
    readings, watch = columns.readings(mode), extra == "watch"
    scans = [scan(file, readings, null_values=columns.null_values, watch=watch) for file in files]
    scans = [with_scaled_numbers(frame, columns) for frame in scans]
    models = models_in_file(columns)
    wide = widen(concatenate_frames(scans), replace(columns, models=models))
    wide = with_calibrated_numbers(wide, columns)
    suspect = [nw.col(TIMES.format(i)) != 1 for i in range(len(models))]
    suspect += [nw.col(DIFFERS.format(i)) == 1 for i in range(len(columns.constants))]
    suspect.append(nw.col(NAMELESS) == 1)
    return [wide.with_columns(nw.any_horizontal(*suspect, ignore_nulls=True).alias(WRONG))]


def widen(frame: Frame, columns: Columns) -> Frame:
    """Convert a long table into a wide one, with flag columns for repeats, conflicts and gaps.

    With `run` an observation has one row per run.

    Columns: KEY, the column of each model, and the constants (truth, slices, weight) by name;
    truth is missing if any row of the id lacks it. Blank lines are left out.
    Flags: how often each model has the id, 1 where a constant differs within the id, 1 where a row
    lacks its id or its model.
    """
    model = nw.col(columns.naming)
    answer = nw.col(columns.answer)
    names, constants = [model_columns.name for model_columns in columns.models], columns.constants
    marks = [model == name for name in names]
    blank = nw.col(str(columns.id)).is_null() & model.is_null() & answer.is_null()
    is_selected = model.is_in(names) | model.is_null()
    row = {f"r{i}": nw.col(name) for i, name in enumerate(columns.row)}
    marked = frame.filter(~blank & is_selected).select(
        *[value.alias(name) for name, value in row.items()],
        *[nw.when(mark).then(answer).alias(f"p{i}") for i, mark in enumerate(marks)],
        *[mark.cast(nw.Int32).alias(f"c{i}") for i, mark in enumerate(marks)],
        *[nw.col(name).alias(f"k{i}") for i, name in enumerate(constants)],
        *[nw.col(name).is_null().cast(nw.Int32).alias(f"g{i}") for i, name in enumerate(constants)],
        model.is_null().cast(nw.Int32).alias("nobody"),
    )
    gathered = marked.group_by(*row).agg(
        *[nw.col(f"p{i}").max() for i in range(len(names))],
        *[nw.col(f"c{i}").sum() for i in range(len(names))],
        *[nw.col(f"k{i}").min().alias(f"l{i}") for i in range(len(constants))],
        *[nw.col(f"k{i}").max().alias(f"h{i}") for i in range(len(constants))],
        *[nw.col(f"g{i}").sum() for i in range(len(constants))],
        nw.col("nobody").sum(),
        nw.len().alias("rows"),
    )
    return gathered.select(
        nw.col("r0").alias(KEY),
        *[
            nw.col(f"p{i}").alias(model_columns.columns[0])
            for i, model_columns in enumerate(columns.models)
        ],
        *[nw.col(f"c{i}").alias(TIMES.format(i)) for i in range(len(names))],
        *[_differs(i).alias(DIFFERS.format(i)) for i in range(len(constants))],
        (nw.col("r0").is_null() | (nw.col("nobody") > 0)).cast(nw.Int8).alias(NAMELESS),
        nw.when(nw.col("g0") == 0).then(nw.col("h0")).alias(columns.truth),
        *[nw.col(f"h{i}").alias(name) for i, name in enumerate(constants) if i],
    )


def _differs(constant: int) -> nw.Expr:
    """Return 1 where a constant has two values in an id, or, except truth, is partly missing."""
    low, high, gaps = (nw.col(f"{name}{constant}") for name in "lhg")
    two = nw.when(low.is_null()).then(nw.lit(0)).otherwise((low != high).cast(nw.Int8))
    if constant:
        partly_missing = (gaps > 0) & (gaps < nw.col("rows"))
        two = nw.when(partly_missing).then(nw.lit(1)).otherwise(two)
    return two.cast(nw.Int8)


def row_checks(
    columns: Columns, suspicion: checks.Suspicion, frames: Sequence[pl.LazyFrame]
) -> list[tuple[pl.LazyFrame, list[checks.Check]]]:
    """Return the checks of all files together, as an observation may have rows in several."""
    model = pl.col(columns.naming)
    names = [model_columns.name for model_columns in models_in_file(columns)]
    frame = pl.concat(frames).filter(model.is_in(names) | model.is_null())
    labels = {model_columns.kind for model_columns in columns.models} == {"label"}
    row_id, place = columns.row[0], pl.col(checks.PLACE)
    has_id = pl.col(row_id).is_not_null()
    first = place.first().over(pl.struct(*columns.row, columns.naming))
    message = "'{value}' already has a prediction for this id in {extra}"
    observation_checks = [
        checks.Check(columns.naming, "duplicate-row", message, (place != first) & has_id, first)
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
        columns.answer, columns, suspicion, number=not labels
    )
    if suspicion.weights and columns.weight:
        observation_checks.append(checks.bad_weight(columns.weight, columns.written))
    for name in names if suspicion.wrong else ():  # at the first row of the id
        bad = (place == place.first().over(columns.row)) & has_id
        bad &= ~(model == name).any().over(columns.row)
        message = f"id '{{extra}}' has no row for model '{checks.escape_braces(name)}'"
        observation_checks.append(
            checks.Check(columns.naming, "unequal-ids", message, bad, checks.column_as_text(row_id))
        )
    return [(frame, observation_checks)]


def _constant_check(columns: Columns, name: str, has_id: pl.Expr) -> checks.Check:
    """Return the check that a column has the same value in all rows of an id."""
    text, truth = checks.column_as_text(name), name == columns.truth
    value = text if truth else text.fill_null("")
    first = (text.drop_nulls() if truth else value).first().over(columns.row)
    code = "conflicting-truth" if truth else "conflicting-value"
    message = "'{value}' differs from '{extra}' in an earlier row of this id"
    return checks.Check(name, code, message, (value != first) & has_id, first)


LAYOUT = Layout(
    name="long",
    needs="id, model, prediction, truth",
    readings=long_readings,
    rows=scan_rows,
    checks=row_checks,
    models=list_models,
)
