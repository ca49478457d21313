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

    def __add__(self, rest: ScoreFacts) -> ScoreFacts:
        """Return the facts of both sets of rows."""
        pairs = zip(fields(self), fields(rest), strict=True)
        return ScoreFacts(*(getattr(self, a.name) + getattr(rest, b.name) for a, b in pairs))


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
        roles = {column.source: name for name, column in self.added.items()}
        return [
            ColumnRole(name, f"scores for '{roles[name]}'", reason)
            if name in roles
            else ColumnRole(name, "copied", "no calibrator is of it")
            for name in self.files[0].columns
        ]

    def facts(self) -> list[dict[str, ScoreFacts]]:
        """Return facts on the rows of each file, by added column: one pass over the scores."""
        return [self._facts_of(frame) for frame in self.frames]

    def _facts_of(self, frame: pl.LazyFrame) -> dict[str, ScoreFacts]:
        sums = [pl.len().alias("rows")]
        for position, (name, column) in enumerate(self.added.items()):
            score = pl.col(SCORE.format(position))
            flags = _score_flags(score, column, self.columns.null_values)
            sums += [flag.sum().alias(f"{name}\0{key}") for key, flag in flags.items()]
        row = frame.select(sums).collect(engine="streaming").row(0, named=True)
        keys = ("missing", "invalid", "outside", "at_ends")
        return {
            name: ScoreFacts(row["rows"], *(row[f"{name}\0{key}"] for key in keys))
            for name in self.added
        }

    def problems(self) -> Iterator[tuple[pl.LazyFrame, Sequence[Check]]]:
        """Yield the numbered rows of each file, and the checks of their scores."""
        checks = list[Check]()
        for column in self.added.values():
            offset, divisor = self.columns.scale(column.source)
            score = column_as_number(column.source, self.columns.written) / divisor + offset
            if column.source in self.columns.log_odds:  # of which every number is valid
                score = pl.when(score.is_not_nan()).then(0.5)
            bad = score.is_not_null() & score.is_not_nan() & ~is_probability(score)
            message = "'{value}' is not in 0 to 1"
            checks.append(bad_number(column.source, self.columns.written))
            checks.append(Check(column.source, "not-probabilities", message, bad))
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
    score: pl.Expr, column: CalibratedColumn, null_values: Sequence[str]
) -> dict[str, pl.Expr]:
    """Return whether the score of a row is of each kind that `ScoreFacts` counts, by its name."""
    low, high = column.stored.score_range
    has_score = score.is_not_null() & score.is_not_nan()
    cell = pl.col(column.source)
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
    tables: object, roles: InputOptions, path: str
) -> Iterator[RecalibratedTable]:
    """Open paths, or one data frame, with a column for each calibrator whose model is there.

    Errors: DataError where no model is there, or a column of the new name; UsageError for options
    that need truth, and for engines.
    """
    roles = roles.with_scales()
    calibrators = read_calibrator_file(path)
    if roles.calibrations:
        message = f"{OPTION}--calibrator{END} and {OPTION}--model NAME:FILE.json{END} both give one"
        raise bad_option(message, "keep one of them")
    if roles.join not in (None, JOIN_NOTHING) or roles.engine not in (None, "polars"):
        flag = "--engine" if roles.join in (None, JOIN_NOTHING) else "--join"
        message = f"{OPTION}{flag}{END} and {OPTION}--calibrator{END} cannot be combined"
        raise bad_option(
            message, f"an engine runs the expression of recalibrate {OPTION}--save NAME.sql{END}"
        )
    with open_files(tables, roles) as files:
        if are_counts_files(files):
            refuse_calibrators(replace(roles, calibrations=(("NAME", path),)))
        profiles = profile_sample(files[0], roles.null_value, roles.decimal)
        models = _models_there(files[0], calibrators, roles)
        columns = _calibrated_columns(models, path, profiles, roles)
        frames = tuple(_with_added_columns(file, columns) for file in files)
        if any(_is_temporary(file) for file in files):  # they are written when it is gone
            frames = tuple(frame.collect().lazy() for frame in frames)
        yield RecalibratedTable(files, columns, calibrators, frames)


def _is_temporary(file: TableFile) -> bool:
    """Return whether the rows are in a copy, of a pipe or of a packed file."""
    return file.source is not None and str(file.source.path) != file.source.name


def _models_there(
    file: TableFile, calibrators: CalibratorFile, roles: InputOptions
) -> list[StoredCalibrator]:
    """Return the calibrators whose model is a column of a table; DataError if there is none."""
    if roles.model:
        chosen_names = match_names(calibrators.name, calibrators.models, roles.model)
        calibrators = replace(
            calibrators, calibrators=[calibrators.calibrator_of(name) for name in chosen_names]
        )
    present = [
        stored for stored in calibrators.calibrators if {*_columns_of(stored)} <= {*file.columns}
    ]
    lacking = [stored.model for stored in calibrators.calibrators if stored not in present]
    if not present or (roles.model and lacking):
        message = f"has no column of scores of {list_names(lacking)}"
        hints = (suggestion(name, file.columns) for name in lacking)
        hint = next(filter(None, hints), f"its columns are {list_names(file.columns)}")
        needed = [name for stored in calibrators.calibrators for name in stored.columns.values()]
        if calibrators.classes:
            lacking_columns = [name for name in needed if name not in file.columns]
            message = "has no column of a class for each calibrator"
            hint = f"add {list_names(lacking_columns)}"
        raise DataError.new(message, "no-models", file.name, hint=hint)
    return present


def _columns_of(stored: StoredCalibrator) -> tuple[str, ...]:
    """Return the columns that a calibrator reads."""
    return tuple(stored.columns.values()) or (stored.model,)


def _calibrated_columns(
    stored: Sequence[StoredCalibrator],
    path: str,
    profiles: Mapping[str, ColumnProfile],
    roles: InputOptions,
) -> Columns:
    """Return the columns of scores, how they are read, and the columns that calibrators add.

    Errors: DataError for labels in place of scores, and as `with_calibrated_models`.
    """
    models = [calibrator.model for calibrator in stored]
    names = [name for calibrator in stored for name in _columns_of(calibrator)]
    percents = [name for name in percent_columns(profiles, roles) if name in names]
    evaluated = {**profiles, **{name: divided_profile(profiles[name]) for name in percents}}
    columns = Columns(
        "",
        models=tuple(
            ModelColumns(
                calibrator.model,
                "classes" if calibrator.columns else "score",
                _columns_of(calibrator),
                tuple(calibrator.columns),
            )
            for calibrator in stored
        ),
        null_values=roles.null_value,
        written=frozenset(
            name
            for name in names
            if profiles[name].percent or (roles.decimal == "," and not profiles[name].typed_number)
        ),
    )
    calibrations = tuple((name, path) for name in models)
    only = replace(roles, model=(), calibrations=calibrations, only_calibrated=tuple(models))
    return with_scales(columns, evaluated, only, percents)


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
    score_columns = dict[str, str]()
    for position, (name, column) in enumerate(columns.computed.items()):
        score = SCORE.format(position)
        cell = pl.col(column.source)
        if columns.null_values:
            cell = pl.when(~cell.cast(pl.String).is_in([*columns.null_values])).then(cell)
        if column.source in columns.written and schema[column.source] == pl.String:
            cell = parse_number_text(cell)
        elif schema[column.source] != pl.Float32:
            cell = cell.cast(pl.Float64, strict=False)
        scored = with_shortest_decimals(
            nw.from_native(rows.with_columns(cell.alias(score))), [score]
        )
        if column.source in {*columns.scaled, *columns.log_odds}:
            number = evaluated_score(nw.col(score), column.source, columns)
            scored = scored.with_columns(number.alias(score))
        score_columns[name] = score
        rows = in_polars(scored)
    return in_polars(_with_calibrated(nw.from_native(rows), columns, score_columns))


def _with_calibrated(frame: Frame, columns: Columns, scores: Mapping[str, str]) -> Frame:
    """Return a frame with the added columns; scores: the column that each is computed from."""
    for name, column in columns.calibrated.items():
        if column.class_sources:
            sources = {added: scores[added] for added in column.class_columns}
            frame = with_calibrated_classes(frame, sources, column)
        else:
            frame = with_calibrated_column(frame, scores[name], name, column.stored.calibrator)
    return frame
