"""Scores that are read through a stored calibrator: models, profiles, and expressions of rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from clfeval.arrays import Floats
from clfeval.errors import DataError, UsageError, bad_option, list_names, quote_name
from clfeval.measures.calibrators import LogOddsCalibrator, StepCalibrator
from clfeval.measures.class_calibrators import AnyCalibrator
from clfeval.measures.venn_abers import VennAbersCalibrator
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables.calibrator_files import CalibratorFile, StoredCalibrator, read_calibrator_file
from clfeval.tables.columns import CalibratedColumn, Columns, ModelColumns
from clfeval.tables.frames import Frame, nw, pl, with_shortest_decimals
from clfeval.tables.input import InputOptions, match_names
from clfeval.tables.profiles import ROUNDED, ColumnProfile

_TOGETHER = "__clfeval_classes"  # the probabilities of a row in one column


def with_calibrated_models(
    columns: Columns, names_in_use: Collection[str], input_options: InputOptions
) -> Columns:
    """Return columns with a further model for each one that is read through a calibrator.

    Models that are named with a calibrator only are not evaluated themselves. names_in_use: of
    columns, or of the models of a long table. Errors: UsageError for a model without scores;
    DataError where the file has no calibrator of it, or the name is taken.
    """
    if not input_options.calibrations:
        return columns
    calibrated = dict[str, CalibratedColumn]()
    models_of_source = dict[str, list[ModelColumns]]()  # by the name of the model with the scores
    for pattern, path in input_options.calibrations:
        file = read_calibrator_file(path)
        for model in _models_to_calibrate(columns, pattern, file):
            stored = file.calibrator_of(model.name)
            sources = _class_sources(model, stored, file)
            column = CalibratedColumn(model.columns[0], stored, file, sources)
            added_model = _added_model(column)
            for name in added_model.columns:
                if name in names_in_use or stored.column in calibrated:
                    raise _column_exists_error(name, file)
            _check_scale(columns, columns.source(model), stored, file.name)
            calibrated[stored.column] = column
            models_of_source.setdefault(model.name, []).append(added_model)
    models = list[ModelColumns]()
    for model in columns.models:
        if _is_evaluated(model.name, input_options):
            models.append(model)
        models += models_of_source.get(model.name, [])
    return replace(columns, models=tuple(models), calibrated=calibrated)


def _added_model(column: CalibratedColumn) -> ModelColumns:
    """Return the model that a calibrator adds: of one column, or of one for each class."""
    name = column.stored.column
    if column.class_sources:
        return ModelColumns(
            name, "classes", tuple(column.class_columns), tuple(column.class_sources)
        )
    return ModelColumns(name, "score", (name,))


def _column_exists_error(name: str, file: CalibratorFile) -> DataError:
    """Return the error of a column that has the name of one that a calibrator adds."""
    message = f"there is a column of this name, that the calibrator of {file.name} adds"
    hint = "rename the column, or leave the calibrator out"
    return DataError.new(message, "column-exists", None, None, name, hint=hint)


def _class_sources(
    model: ModelColumns, stored: StoredCalibrator, file: CalibratorFile
) -> dict[str, str]:
    """Return the column of each class of a model; empty for a calibrator of two classes.

    DataError where the columns are those of other classes than the calibrator's.
    """
    if not file.classes:
        return {}
    if {*model.classes} != {*stored.columns}:
        message = f"its calibrator of {quote_name(model.name)} is of the classes "
        message += f"{list_names([*stored.columns])}, but the columns are of "
        message += list_names(model.classes)
        hint = "fit a calibrator of these classes"
        raise DataError.new(message, "other-classes", file.name, hint=hint)
    return dict(zip(model.classes, model.columns, strict=True))


def _check_scale(columns: Columns, column: str, stored: StoredCalibrator, file: str) -> None:
    """Raise DataError where a column is read on another scale than the scores of a calibrator."""
    scale = columns.scale(column)
    log_odds = column in columns.log_odds
    if stored.scale is None or (stored.scale, stored.log_odds) == (scale, log_odds):
        return
    message = f"its calibrator of {quote_name(stored.model)} is of scores "
    message += f"{_describe_scale(stored.scale, log_odds=stored.log_odds)}, but here they are "
    message += _describe_scale(scale, log_odds=log_odds)
    _, divisor = stored.scale
    suffixes = [":percent"] if abs(divisor) > 1 else []
    suffixes += [":reversed"] if divisor < 0 else []
    suffixes += [":logit"] if stored.log_odds else []
    options = [f"{OPTION}--model {stored.model}{suffix}{END}" for suffix in suffixes]
    hint = f"add {' '.join(options)}" if options else "read the scores as for the fit"
    raise DataError.new(message, "other-scale", file, hint=hint)


def _describe_scale(scale: tuple[float, float], *, log_odds: bool) -> str:
    """Return how scores are read, in words."""
    offset, divisor = scale
    phrases = ["divided by 100"] if abs(divisor) > 1 else []
    if divisor < 0:
        phrases.append("subtracted from 1" if offset else "negated")
    if log_odds:
        phrases.append("read as log odds")
    return " and ".join(phrases) or "as they are"


def refuse_calibrators(input_options: InputOptions) -> None:
    """Raise UsageError for calibrators where the table holds counts."""
    for pattern, path in input_options.calibrations:
        file = read_calibrator_file(path)
        message = (
            f"{OPTION}--model {pattern}:{file.name}{END} needs rows, but the table holds counts"
        )
        hint = "give it to the command that counts the rows: clfeval count"
        raise UsageError.new(message, "needs-predictions", hint=hint)


def _is_evaluated(model: str, input_options: InputOptions) -> bool:
    """Return whether --model names a model without a calibrator too, or not with one only."""
    own_patterns = [
        name for name in input_options.model if name not in input_options.only_calibrated
    ]
    if any(model == pattern or fnmatchcase(model, pattern) for pattern in own_patterns):
        return True
    return not any(fnmatchcase(model, pattern) for pattern in input_options.only_calibrated)


def _models_to_calibrate(
    columns: Columns, pattern: str, file: CalibratorFile
) -> Sequence[ModelColumns]:
    """Return the models with scores that a name or glob of --model means; of a glob, in the file.

    UsageError for models without one score per row.
    """
    option = f"{OPTION}--model {pattern}:{file.name}{END}"
    if not columns.models:
        message = f"{option} needs a table with a column of scores for each model"
        raise bad_option(message, "write one row per observation, and one column per model")
    models = {model.name: model for model in columns.models}
    names = match_names(file.name, list(models), (pattern,))
    if pattern not in models:
        names = [name for name in names if name in file.models] or names[:1]
    for name in names:
        if models[name].kind == "label":
            message = f"{option} needs probabilities, but {quote_name(name)} has labels"
            raise bad_option(message, "give the column of its scores")
        if file.classes and models[name].kind != "classes":
            message = f"{option} needs a column of probabilities for each class"
            raise bad_option(message, f"{file.name} is of {len(file.classes)} classes")
        if not file.classes and (models[name].kind != "score" or models[name].confidence):
            message = f"{option} needs a model with one score per row"
            raise bad_option(message, f"models: {list_names(models)}")
    return [models[name] for name in names]


def calibrated_profiles(
    columns: Columns, profiles: Mapping[str, ColumnProfile]
) -> dict[str, ColumnProfile]:
    """Return the profiles of the columns that calibrators add; profiles: of scores as evaluated."""
    calibrated = dict[str, ColumnProfile]()
    for name, column in columns.computed.items():
        profile = profiles[column.source]
        if column.stored.columns:  # which depend on the probabilities of all classes
            calibrated[name] = profile
            continue
        texts = [text for text, number in profile.number_of_text.items() if 0 <= number <= 1]
        numbers = np.array([profile.number_of_text[text] for text in texts])
        values = column.stored.calibrator.calibrate(numbers).tolist()
        spelling = {text: repr(value) for text, value in zip(texts, values, strict=True)}
        calibrated[name] = replace(profile.with_spelling(spelling), pointed=True, distinct=False)
    return calibrated


def with_calibrated_numbers(frame: Frame, columns: Columns) -> Frame:
    """Return a frame with the columns that calibrators add to its scores as they are evaluated."""
    columns_of_frame = {*frame.collect_schema().names()}
    for name, column in columns.calibrated.items():
        if not {*column.sources} <= columns_of_frame:
            continue
        if column.class_sources:
            frame = with_calibrated_classes(frame, column.class_columns, column)
        else:
            frame = with_calibrated_column(frame, column.source, name, column.stored.calibrator)
    return frame


def models_in_file(columns: Columns) -> tuple[ModelColumns, ...]:
    """Return the models whose scores a table has, those too that are only read by a calibrator."""
    models = {
        model.columns[0]: model for model in columns.models if model.name not in columns.calibrated
    }
    for column in columns.calibrated.values():
        source = ModelColumns(column.stored.model, "score", (column.source,))
        models.setdefault(column.source, source)
    return tuple(models.values())


def with_calibrated_column(
    frame: Frame, source: str, name: str, calibrator: AnyCalibrator
) -> Frame:
    """Return a frame with the calibrated scores of a column as another one.

    Missing scores stay missing. Scores beyond 0 to 1 by rounding are read as 0 and 1; those further
    away are kept, as no calibrator changes them.
    """
    frame = _with_clipped_scores(frame, {name: source})
    if isinstance(calibrator, LogOddsCalibrator):
        return frame.with_columns(_log_odds_expression(nw.col(name), calibrator).alias(name))
    native = frame.to_native()
    if isinstance(native, pl.LazyFrame):  # its branches are all computed in every row
        return nw.from_native(native.with_columns(_calibrated(name, calibrator)))
    if isinstance(calibrator, VennAbersCalibrator):
        message = "calibrators of venn-abers are applied by polars only"
        hint = f"leave {OPTION}--engine{END} out, or use a calibrator of another method"
        raise UsageError.new(message, "no-sql", hint=hint)
    assert isinstance(calibrator, StepCalibrator)
    return frame.with_columns(_step_expression(nw.col(name), calibrator).alias(name))


def with_calibrated_classes(
    frame: Frame, sources: Mapping[str, str], column: CalibratedColumn
) -> Frame:
    """Return a frame with the calibrated probabilities of several classes as further columns.

    sources: the column of the probabilities of each new one, in the order of `class_sources`. Rows
    with a missing probability have none; those with one outside 0 to 1 by more than rounding are as
    they were, as no calibrator changes them.
    """
    frame = _with_clipped_scores(frame, sources)
    native = frame.to_native()
    if not isinstance(native, pl.LazyFrame):
        message = "calibrators of more than two classes are applied by polars only"
        hint = f"leave {OPTION}--engine{END} out"
        raise UsageError.new(message, "no-sql", hint=hint)

    def calibrate(rows: pl.Series) -> pl.Series:
        values = rows.struct.unnest().to_numpy()
        is_missing = pl.Series(np.isnan(values).any(axis=1))
        calibrated = _calibrated_classes(values, column)
        cells = {
            name: pl.Series(calibrated[:, k]).set(is_missing, None)
            for k, name in enumerate(sources)
        }
        return pl.DataFrame(cells).to_struct(rows.name)

    types = pl.Struct(dict.fromkeys(sources, pl.Float64))
    recalibrated = pl.struct(*sources).map_batches(
        calibrate, return_dtype=types, is_elementwise=True
    )
    return nw.from_native(
        native.with_columns(recalibrated.alias(_TOGETHER))
        .with_columns(pl.col(_TOGETHER).struct.field(*sources))
        .drop(_TOGETHER)
    )


def _calibrated_classes(values: Floats, column: CalibratedColumn) -> Floats:
    """Return the recalibrated probabilities of rows, (n, k) of the classes that have a column.

    Rows with a value outside 0 to 1 stay as they are.
    """
    classes = column.file.classes
    class_indices = [classes.index(label) for label in column.class_sources]
    is_changed = np.all((values >= 0) & (values <= 1), axis=1, keepdims=True)
    p = np.zeros((len(values), len(classes)))
    p[:, class_indices] = np.where(is_changed, values, 0.0)
    recalibrated = column.stored.calibrator.calibrate(p)[:, class_indices]
    return np.where(is_changed, recalibrated, values)


def _with_clipped_scores(frame: Frame, sources: Mapping[str, str]) -> Frame:
    """Return a frame with columns as further ones, those beyond 0 to 1 by rounding as 0 and 1."""
    copies = [nw.col(source).alias(name) for name, source in sources.items()]
    frame = with_shortest_decimals(frame.with_columns(*copies), sources)
    clipped = list[nw.Expr]()
    for name in sources:
        score = nw.col(name).cast(nw.Float64)
        below_one = nw.when((score > 1) & (score <= 1 + ROUNDED)).then(nw.lit(1.0)).otherwise(score)
        above_zero = nw.when((score < 0) & (score >= -ROUNDED)).then(nw.lit(0.0))
        clipped.append(above_zero.otherwise(below_one).alias(name))
    return frame.with_columns(*clipped)


def _log_odds_expression(score: nw.Expr, calibrator: LogOddsCalibrator) -> nw.Expr:
    """Return 1 / (1 + exp(-logit)) of scores between 0 and 1, and other scores as they are."""
    is_interior = (score > 0) & (score < 1)
    p = nw.when(is_interior).then(score).otherwise(nw.lit(0.5))
    complement = 1 - p
    # corrected by what 1 - p loses by rounding
    log_complement = complement.log() - (p - (1 - complement)) / complement
    logit = calibrator.intercept + calibrator.power * p.log()
    logit = logit - calibrator.complement_power * log_complement
    return nw.when(is_interior).then(logistic_expression(logit)).otherwise(score)


def logistic_expression(logit: nw.Expr) -> nw.Expr:
    """Return 1 / (1 + exp(-logit))."""
    exponential = (-logit.abs()).exp()  # never infinite
    numerator = nw.when(logit >= 0).then(nw.lit(1.0)).otherwise(exponential)
    return numerator / (1 + exponential)


def _calibrated(name: str, calibrator: AnyCalibrator) -> pl.Expr:
    """Return the expression of polars that looks scores up in the steps of a calibrator."""

    def calibrate(scores: pl.Series) -> pl.Series:
        values = scores.to_numpy()
        is_probability = (values >= 0) & (values <= 1)
        recalibrated = calibrator.calibrate(np.where(is_probability, values, 0.0))
        cells = pl.Series(scores.name, np.where(is_probability, recalibrated, values))
        return cells.set(scores.is_null(), None)

    return pl.col(name).map_batches(calibrate, return_dtype=pl.Float64, is_elementwise=True)


def _step_expression(score: nw.Expr, calibrator: StepCalibrator) -> nw.Expr:
    """Return the values between the knots of a calibrator, and scores outside 0 to 1 as they are.

    A tree of conditions, so that it is no deeper than the logarithm of the number of knots.
    """
    x = calibrator.probabilities.tolist()
    q = calibrator.recalibrated.tolist()

    def between(first: int, last: int) -> nw.Expr:
        """Return the expression of scores from knot `first` to knot `last`."""
        if last - first > 1:
            middle = (first + last) // 2
            is_low = score <= x[middle]
            return nw.when(is_low).then(between(first, middle)).otherwise(between(middle, last))
        slope = (q[last] - q[first]) / (x[last] - x[first])
        line: nw.Expr = slope * (score - x[first]) + q[first]
        return line

    inner_value = between(0, len(x) - 1) if len(x) > 1 else nw.lit(q[0])
    value_from_knots = nw.when(score >= x[-1]).then(nw.lit(q[-1])).otherwise(inner_value)
    value = nw.when(score <= x[0]).then(nw.lit(q[0])).otherwise(value_from_knots)
    return nw.when((score >= 0) & (score <= 1)).then(value).otherwise(score)
