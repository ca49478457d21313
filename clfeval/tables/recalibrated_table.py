"""Tables with the columns that stored calibrators add, whose other columns are as they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from clfeval.errors import DataError, UsageError, bad_option, list_names, suggestion
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, fields, replace
from clfeval.tables.calibrator_files import CalibratorFile, StoredCalibrator, read_calibrator_file
from clfeval.tables.columns import CalibratedColumn, ColumnRole, Columns, ModelColumns
from clfeval.tables.frames import (
    Frame,
    engine_errors,
    first_line_of,
    in_polars,
    nw,
    pl,
    with_shortest_decimals,
)
from clfeval.tables.input import JOIN_NOTHING, InputOptions, match_names
from clfeval.tables.invalid_cells import Check, bad_number, column_as_number, numbered_rows
from clfeval.tables.layouts.counts_file import are_counts_files
from clfeval.tables.prediction_files import open_files
from clfeval.tables.profiles import ROUNDED, ColumnProfile, profile_sample
from clfeval.tables.readings.calibrated_scores import (
    refuse_calibrators,
    with_calibrated_classes,
    with_calibrated_column,
)
from clfeval.tables.readings.score_scales import (
    divided_profile,
    evaluated_score,
    percent_columns,
    with_scales,
)
from clfeval.tables.scan import TableFile, parse_number_text, scan

SCORE = "__clfeval_score_{}"  # the scores of a model as they are evaluated
WRITERS = {".parquet": "sink_parquet", ".csv": "sink_csv", ".ndjson": "sink_ndjson"}


@dataclass(frozen=True, slots=True)
class ScoreFacts:
    """Numbers of rows of a recalibrated model: all, and those whose score is none of 0 to 1.

    missing: without a score. invalid: of text that is no number, or outside 0 to 1. outside_range:
    outside the scores that the calibrator was fitted to. at_ends: of exactly 0 or 1.
    """

    rows: int
    missing: int
    invalid: int
    outside_range: int
    at_ends: int

    def __add__(self, other_facts: ScoreFacts) -> ScoreFacts:
        """Return the facts of both sets of rows."""
        names = [count.name for count in fields(self)]
        return ScoreFacts(*(getattr(self, name) + getattr(other_facts, name) for name in names))


@dataclass(frozen=True, slots=True, eq=False)
class RecalibratedTable:
    """Files of one schema, and their rows with the columns that calibrators add.

    frames: of each file, with the scores as they are evaluated, by the names of `SCORE`.
    """

    files: tuple[TableFile, ...]
    columns: Columns
    calibrators: CalibratorFile
    frames: tuple[pl.LazyFrame, ...]

    @property
    def added(self) -> Mapping[str, CalibratedColumn]:
        """The added columns by name."""
        return self.columns.computed

    def described(self) -> str:
        """Return one line on how the table was read."""
        models = [column.stored.model for column in self.columns.calibrated.values()]
        return f"{self.files[0].name}: scores of {list_names(models)}"

    def column_roles(self) -> Sequence[ColumnRole]:
        """Return the role of every column, with the reason."""
        reason = f"{self.calibrators.name} has its calibrator"
        model_of_source = {column.source: name for name, column in self.added.items()}
        return [
            ColumnRole(name, f"scores for '{model_of_source[name]}'", reason)
            if name in model_of_source
            else ColumnRole(name, "copied", "no calibrator is of it")
            for name in self.files[0].columns
        ]

    def facts(self) -> list[dict[str, ScoreFacts]]:
        """Return facts on the rows of each file, by added column: one pass over the scores."""
        return [self._facts_of(frame) for frame in self.frames]

    def _facts_of(self, frame: pl.LazyFrame) -> dict[str, ScoreFacts]:
        """Return facts on the rows of one file, by added column."""
        sum_expressions = [pl.len().alias("rows")]
        for column_index, (name, calibrated_column) in enumerate(self.added.items()):
            score = pl.col(SCORE.format(column_index))
            flags = _score_flags(score, calibrated_column, self.columns.null_values)
            sum_expressions += [flag.sum().alias(f"{name}\0{key}") for key, flag in flags.items()]
        totals = frame.select(sum_expressions).collect(engine="streaming").row(0, named=True)
        keys = ("missing", "invalid", "outside", "at_ends")
        return {
            name: ScoreFacts(totals["rows"], *(totals[f"{name}\0{key}"] for key in keys))
            for name in self.added
        }

    def problems(self) -> Iterator[tuple[pl.LazyFrame, Sequence[Check]]]:
        """Yield the numbered rows of each file, and the checks of their scores."""
        checks = list[Check]()
        for calibrated_column in self.added.values():
            offset, divisor = self.columns.scale(calibrated_column.source)
            score = (
                column_as_number(calibrated_column.source, self.columns.written) / divisor + offset
            )
            if calibrated_column.source in self.columns.log_odds:  # of which every number is valid
                score = pl.when(score.is_not_nan()).then(0.5)
            is_outside = score.is_not_null() & score.is_not_nan() & ~is_probability(score)
            message = "'{value}' is not in 0 to 1"
            checks.append(bad_number(calibrated_column.source, self.columns.written))
            checks.append(Check(calibrated_column.source, "not-probabilities", message, is_outside))
        for file in self.files:
            yield numbered_rows(file, self.columns.null_values), checks

    def write(self, path: Path, suffix: str) -> None:
        """Write all rows in the format of a suffix, streamed; UsageError where it cannot."""
        names = [*self.files[0].columns, *self.added]
        rows = pl.concat([frame.select(names) for frame in self.frames], how="vertical_relaxed")
        try:
            getattr(rows, WRITERS[suffix])(path)
        except engine_errors() as error:
            message = f"cannot write the table as {suffix}: {first_line_of(error)}"
            raise UsageError.new(message, "output", self.files[0].name) from error


def _score_flags(
    score: pl.Expr, calibrated_column: CalibratedColumn, null_values: Sequence[str]
) -> dict[str, pl.Expr]:
    """Return whether the score of a row is of each kind that `ScoreFacts` counts, by its name."""
    low, high = calibrated_column.stored.score_range
    has_score = score.is_not_null() & score.is_not_nan()
    cell = pl.col(calibrated_column.source)
    is_absent = cell.is_null() | cell.cast(pl.String).is_in([*null_values])
    return {
        "missing": is_absent | score.is_nan().fill_null(value=False),
        "invalid": (score.is_null() & ~is_absent) | (has_score & ~is_probability(score)),
        "outside": has_score & ((score < low) | (score > high)),
        "at_ends": has_score & ((score == 0) | (score == 1)),
    }


def is_probability(score: pl.Expr) -> pl.Expr:
    """Return whether scores are in 0 to 1, up to rounding."""
    return (score >= -ROUNDED) & (score <= 1 + ROUNDED)


@contextmanager
def open_recalibrated(
    tables: object, input_options: InputOptions, path: str
) -> Iterator[RecalibratedTable]:
    """Open paths, or one data frame, with a column for each calibrator whose model is there.

    Errors: DataError where no model is there, or a column of the new name; UsageError for options
    that need truth, and for engines.
    """
    input_options = input_options.with_scales()
    calibrators = read_calibrator_file(path)
    if input_options.calibrations:
        message = f"{OPTION}--calibrator{END} and {OPTION}--model NAME:FILE.json{END} both give one"
        raise bad_option(message, "keep one of them")
    is_joined = input_options.join not in (None, JOIN_NOTHING)
    if is_joined or input_options.engine not in (None, "polars"):
        flag = "--join" if is_joined else "--engine"
        message = f"{OPTION}{flag}{END} and {OPTION}--calibrator{END} cannot be combined"
        raise bad_option(
            message, f"an engine runs the expression of recalibrate {OPTION}--save NAME.sql{END}"
        )
    with open_files(tables, input_options) as files:
        if are_counts_files(files):
            refuse_calibrators(replace(input_options, calibrations=(("NAME", path),)))
        profiles = profile_sample(files[0], input_options.null_value, input_options.decimal)
        stored_calibrators = _models_there(files[0], calibrators, input_options)
        columns = _calibrated_columns(stored_calibrators, path, profiles, input_options)
        frames = tuple(_with_added_columns(file, columns) for file in files)
        if any(_is_temporary(file) for file in files):  # they are written when it is gone
            frames = tuple(frame.collect().lazy() for frame in frames)
        yield RecalibratedTable(files, columns, calibrators, frames)


def _is_temporary(file: TableFile) -> bool:
    """Return whether the rows are in a copy, of a pipe or of a packed file."""
    return file.source is not None and str(file.source.path) != file.source.name


def _models_there(
    file: TableFile, calibrators: CalibratorFile, input_options: InputOptions
) -> list[StoredCalibrator]:
    """Return the calibrators whose model is a column of a table; DataError if there is none."""
    if input_options.model:
        model_names = match_names(calibrators.name, calibrators.models, input_options.model)
        calibrators = replace(
            calibrators, calibrators=[calibrators.calibrator_of(name) for name in model_names]
        )
    usable_calibrators = [
        stored for stored in calibrators.calibrators if {*_columns_of(stored)} <= {*file.columns}
    ]
    lacking_models = [
        stored.model for stored in calibrators.calibrators if stored not in usable_calibrators
    ]
    if not usable_calibrators or (input_options.model and lacking_models):
        message = f"has no column of scores of {list_names(lacking_models)}"
        hints = (suggestion(name, file.columns) for name in lacking_models)
        hint = next(filter(None, hints), f"its columns are {list_names(file.columns)}")
        needed_columns = [
            name for stored in calibrators.calibrators for name in stored.columns.values()
        ]
        if calibrators.classes:
            lacking_columns = [name for name in needed_columns if name not in file.columns]
            message = "has no column of a class for each calibrator"
            hint = f"add {list_names(lacking_columns)}"
        raise DataError.new(message, "no-models", file.name, hint=hint)
    return usable_calibrators


def _columns_of(stored: StoredCalibrator) -> tuple[str, ...]:
    """Return the columns that a calibrator reads."""
    return tuple(stored.columns.values()) or (stored.model,)


def _calibrated_columns(
    calibrators: Sequence[StoredCalibrator],
    path: str,
    profiles: Mapping[str, ColumnProfile],
    input_options: InputOptions,
) -> Columns:
    """Return the columns of scores, how they are read, and the columns that calibrators add.

    Errors: DataError for labels in place of scores, and as `with_calibrated_models`.
    """
    model_names = [stored.model for stored in calibrators]
    score_columns = [name for stored in calibrators for name in _columns_of(stored)]
    percent_names = [
        name for name in percent_columns(profiles, input_options) if name in score_columns
    ]
    evaluated_profiles = {
        **profiles,
        **{name: divided_profile(profiles[name]) for name in percent_names},
    }
    columns = Columns(
        "",
        models=tuple(
            ModelColumns(
                stored.model,
                "classes" if stored.columns else "score",
                _columns_of(stored),
                tuple(stored.columns),
            )
            for stored in calibrators
        ),
        null_values=input_options.null_value,
        written=frozenset(
            name
            for name in score_columns
            if profiles[name].percent
            or (input_options.decimal == "," and not profiles[name].typed_number)
        ),
    )
    calibrations = tuple((model, path) for model in model_names)
    calibration_options = replace(
        input_options, model=(), calibrations=calibrations, only_calibrated=tuple(model_names)
    )
    return with_scales(columns, evaluated_profiles, calibration_options, percent_names)


def _with_added_columns(file: TableFile, columns: Columns) -> pl.LazyFrame:
    """Return the rows of a file as they are, then scores as evaluated, and calibrated ones.

    Text that is no number is missing among the scores.
    """
    if file.head is not None:
        rows = in_polars(scan(file, dict.fromkeys(file.columns, "text")))
    else:
        assert file.native is not None
        rows = in_polars(file.native).select(file.columns)
    schema = rows.collect_schema()
    score_name_of = dict[str, str]()
    for column_index, (name, calibrated_column) in enumerate(columns.computed.items()):
        score_name = SCORE.format(column_index)
        cell = pl.col(calibrated_column.source)
        if columns.null_values:
            cell = pl.when(~cell.cast(pl.String).is_in([*columns.null_values])).then(cell)
        if (
            calibrated_column.source in columns.written
            and schema[calibrated_column.source] == pl.String
        ):
            cell = parse_number_text(cell)
        elif schema[calibrated_column.source] != pl.Float32:
            cell = cell.cast(pl.Float64, strict=False)
        scored_rows = with_shortest_decimals(
            nw.from_native(rows.with_columns(cell.alias(score_name))), [score_name]
        )
        if calibrated_column.source in {*columns.scaled, *columns.log_odds}:
            evaluated_expr = evaluated_score(nw.col(score_name), calibrated_column.source, columns)
            scored_rows = scored_rows.with_columns(evaluated_expr.alias(score_name))
        score_name_of[name] = score_name
        rows = in_polars(scored_rows)
    return in_polars(_with_calibrated(nw.from_native(rows), columns, score_name_of))


def _with_calibrated(frame: Frame, columns: Columns, score_name_of: Mapping[str, str]) -> Frame:
    """Return a frame with the added columns; score_name_of: the column of scores of each."""
    for name, calibrated_column in columns.calibrated.items():
        if calibrated_column.class_sources:
            sources = {
                class_column: score_name_of[class_column]
                for class_column in calibrated_column.class_columns
            }
            frame = with_calibrated_classes(frame, sources, calibrated_column)
        else:
            frame = with_calibrated_column(
                frame, score_name_of[name], name, calibrated_column.stored.calibrator
            )
    return frame
