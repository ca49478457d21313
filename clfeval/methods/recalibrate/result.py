"""From counts of scores to the Result of `recalibrate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.sample import Sample
from clfeval.document import Document, ResultNote
from clfeval.document.cells import Row
from clfeval.errors import DataError, UsageError, bad_option, list_names
from clfeval.formatting import format_count, join_names, quote_if_ambiguous
from clfeval.methods.provenance import (
    bucket_notes,
    build_parameters,
    build_signature,
    class_totals,
    counting_notes,
    multiclass_summary,
    offer_of_log_odds,
)
from clfeval.methods.recalibrate.answer import recalibration_answer
from clfeval.methods.recalibrate.class_tables import class_line_rows, confidence_group_rows
from clfeval.methods.recalibrate.options import RecalibrateOptions
from clfeval.methods.recalibrate.tables import group_rows, mapping_rows, method_rows, model_rows
from clfeval.methods.recalibration.class_recalibration import MOST_NUMBERS, recalibrate_classes
from clfeval.methods.recalibration.method_fits import FLEXIBLE_ROWS
from clfeval.methods.recalibration.method_names import CLASS_METHODS
from clfeval.methods.recalibration.model_recalibration import (
    FEWEST_OF_CLASS,
    ModelRecalibration,
    recalibrate_model,
)
from clfeval.placeholders import END, OPTION
from clfeval.tables.calibrator_files import CalibratorFile, StoredCalibrator, StoredGain
from clfeval.tables.columns import AS_WRITTEN, ModelColumns


def recalibration_result(predictions: PredictionCounts, options: RecalibrateOptions) -> Document:
    """Return the gains of recalibrating each model with scores, and the recalibrated values.

    Errors: UsageError for models of labels only, DataError for one class only.
    """
    sample = Sample.from_predictions(predictions)
    _refuse_labels_only(sample, predictions)
    if options.method == "none":
        raise bad_option(f"{OPTION}--method none{END} fits nothing", "leave the option out")
    if predictions.multiclass:
        _check_classes(predictions, options)
    else:
        _check_two_classes(sample, predictions, options)
    models = list[ModelRecalibration]()
    groups = list[Row]()
    for model_index, model_columns in enumerate(predictions.models):
        model, model_groups = _recalibrate(predictions, model_index, model_columns, options)
        models.append(model)
        groups += model_groups
    class_lines = [row for model in models for row in class_line_rows(model)]
    return Document(
        command="recalibrate",
        signature=_signature(sample, options, [f"{model.model}{model.digest}" for model in models]),
        inputs=sample.files,
        parameters=_parameters(sample, options),
        summary=_summary(sample, predictions),
        tables={
            "models": model_rows(models),
            "methods": [*method_rows(models)],
            **({} if predictions.multiclass else {"mapping": mapping_rows(models)}),
            "groups": groups,
            **({"classes": class_lines} if class_lines else {}),
        },
        answer=tuple(recalibration_answer(models, options, _log_odds_offer(models, predictions))),
        extras={
            "calibrators": _calibrator_file(predictions, models, options.level),
            "combined": _combined_models(predictions),
            "computed": _computed_models(predictions),
        },
        warnings=tuple(_notes(models, predictions)),
    )


def _recalibrate(
    predictions: PredictionCounts,
    model_index: int,
    model_columns: ModelColumns,
    options: RecalibrateOptions,
) -> tuple[ModelRecalibration, list[Row]]:
    """Return the recalibration of a model, and groups of its rows before and after."""
    if model_columns.kind == "label":
        reason = "needs_scores"
        return ModelRecalibration(model_columns.name, options.method, table_reason=reason), []
    if predictions.multiclass:
        scores = predictions.class_scores(model_index)[None]
        model = recalibrate_classes(model_columns.name, scores, options.settings)
        return model, [*confidence_group_rows(model, scores, options.level)]
    counts = predictions.scores(model_index)[None].probabilities
    model = recalibrate_model(model_columns.name, counts, options.settings)
    return model, group_rows(model, counts, options.level)


def _calibrator_file(
    predictions: PredictionCounts, models: Sequence[ModelRecalibration], level: float
) -> CalibratorFile:
    """Return the calibrators in force, of models that have one."""
    table_columns = predictions.evaluated.settled.columns
    row_count = sum(file.rows for file in predictions.files)
    if predictions.multiclass:
        calibrators = [*_class_calibrators(predictions, models, level)]
        return CalibratorFile("", calibrators, row_count, classes=predictions.order)
    scale_by_model = {}
    log_odds_models = {
        model.name
        for model in predictions.models
        if table_columns.source(model) in table_columns.log_odds
    }
    if predictions.stored is None:
        scale_by_model = {
            model.name: table_columns.scale(table_columns.source(model))
            for model in predictions.models
        }
    calibrators = [
        StoredCalibrator(
            model.model,
            str(model.selected),
            calibrator,
            model.score_range,
            model.digest_of_rows,
            scale_by_model.get(model.model),
            _stored_gain(model, level),
            model.model in log_odds_models,
        )
        for model in models
        if (calibrator := model.final_calibrator) is not None
    ]
    return CalibratorFile(predictions.positive, calibrators, row_count)


def _stored_gain(model: ModelRecalibration, level: float) -> StoredGain | None:
    """Return the gain of a model's calibrator; None of one that is for another prevalence."""
    gain = model.gain
    if gain is None or model.prior_shift:
        return None
    return StoredGain(gain.verdict, model.loss, gain.value, gain.low, gain.high, level)


def _class_calibrators(
    predictions: PredictionCounts, models: Sequence[ModelRecalibration], level: float
) -> Iterator[StoredCalibrator]:
    """Yield the calibrators in force of more than two classes, with the columns of the classes."""
    for model, model_columns in zip(models, predictions.models, strict=True):
        calibrator = model.final_calibrator
        if calibrator is not None:
            yield StoredCalibrator(
                model.model,
                str(model.selected),
                calibrator,
                model.score_range,
                model.digest_of_rows,
                gain=_stored_gain(model, level),
                columns=dict(zip(model_columns.classes, model_columns.columns, strict=True)),
            )


def _combined_models(predictions: PredictionCounts) -> list[str]:
    """Return the models whose scores are those of several columns, or of confidences."""
    by_confidence = predictions.roles.kind == "confidence"
    return [
        model.name
        for model in predictions.models
        if model.kind != "label" and (by_confidence or len(model.columns) != 1)
    ]


def _log_odds_offer(models: Sequence[ModelRecalibration], predictions: PredictionCounts) -> str:
    """Return how scores below 0 become probabilities, if they are log odds; empty without any."""
    log_odds_models = [
        model.model
        for model in models
        if model.table_reason == "not_probabilities" and model.score_range[0] < 0
    ]
    return offer_of_log_odds(log_odds_models[0], predictions) if log_odds_models else ""


def _computed_models(predictions: PredictionCounts) -> list[str]:
    """Return the models whose class probabilities are not as the table has them."""
    settled = predictions.evaluated.settled
    table_columns = settled.columns
    file_columns = {*settled.files[0].columns} if settled.files else set[str]()
    return [
        model.name
        for model in predictions.models
        if model.kind == "classes"
        and (
            model.shares
            or not {*model.columns} <= file_columns
            or any(
                table_columns.scaled.get(column, AS_WRITTEN) != AS_WRITTEN
                for column in model.columns
            )
        )
    ]


def _refuse_labels_only(sample: Sample, predictions: PredictionCounts) -> None:
    """Raise UsageError for tables whose models have labels only."""
    if all(model.kind == "label" for model in predictions.models):
        message = "recalibration needs probabilities, but every model has labels only"
        hint = (
            f"give columns of scores; of labels with confidences add {OPTION}--kind confidence{END}"
        )
        raise UsageError.new(message, "needs-scores", sample.name, hint=hint)


def _summary(sample: Sample, predictions: PredictionCounts) -> dict[str, Any]:
    """Return the totals of rows, of classes, and of clusters."""
    if predictions.multiclass:
        return multiclass_summary(predictions.labels()[None])
    return class_totals(sample)


def _check_classes(predictions: PredictionCounts, options: RecalibrateOptions) -> None:
    """Raise for options that need a positive class, one class only, and tables too large."""
    if options.method not in CLASS_METHODS:
        message = f"{OPTION}--method {options.method}{END} is for two classes, but there are "
        message += f"{len(predictions.order)}"
        hint = f"use {' or '.join(CLASS_METHODS[1:-1])}, or name a class by {OPTION}--positive{END}"
        raise bad_option(message, hint)
    if options.population is not None:
        message = f"{OPTION}--prevalence{END} needs a positive class, but none is named"
        hint = f"add {OPTION}--positive CLASS{END} to recalibrate one class against the rest"
        raise UsageError.new(message, "positive-needed", hint=hint)
    if len(predictions.classes) < 2:
        message = "recalibration needs rows of two classes or more"
        hint = f"every row is of class {list_names(predictions.classes)}"
        raise DataError.new(
            message, "single-class", predictions.name, column=predictions.truth, hint=hint
        )
    probability_count = predictions.size * len(predictions.order)
    if probability_count > MOST_NUMBERS:
        message = f"rows times classes are {probability_count:,.0f}, more than the "
        message += f"{MOST_NUMBERS:,} that are recalibrated"
        hint = f"give a random sample of {MOST_NUMBERS // len(predictions.order):,} rows"
        raise DataError.new(message, "memory", predictions.name, hint=hint)


def _check_two_classes(
    sample: Sample, predictions: PredictionCounts, options: RecalibrateOptions
) -> None:
    """Raise for tables of one class, and for a method that needs more than two."""
    if options.method == "one-vs-rest":
        message = f"{OPTION}--method one-vs-rest{END} is for more than two classes"
        raise bad_option(message, f"use {OPTION}--method logistic{END}")
    all_rows = sample.slices[None]
    for class_name, rows_by_model in (
        ("positive", all_rows.positives),
        ("negative", all_rows.negatives),
    ):
        if not rows_by_model.any():
            message = f"no {class_name} row, but recalibration needs both classes"
            hint = (
                f"the classes are {list_names(predictions.classes)}; check {OPTION}--positive{END}"
            )
            raise DataError.new(
                message, "single-class", sample.name, column=predictions.truth, hint=hint
            )


def _parameters(sample: Sample, options: RecalibrateOptions) -> dict[str, Any]:
    """Return every setting in its resolved form."""
    population = options.population
    predictions = sample.predictions
    resolved: dict[str, Any] = {"positive": sample.positive, "negative": list(sample.negative)}
    if predictions is not None and predictions.multiclass:
        resolved = {"positive": None, "negative": [], "classes": list(predictions.order)}
    resolved["prevalence"] = None if population is None else population.prevalence
    parameter_names = "positive negative classes method level seed prevalence missing"
    return build_parameters(parameter_names, resolved, options, sample.roles, omitted="by")


def _signature(sample: Sample, options: RecalibrateOptions, digests: Sequence[str]) -> str:
    """Return the settings that change numbers, and the hash of the score counts."""
    is_multiclass = sample.predictions is not None and sample.predictions.multiclass
    settings = {
        "cmd": "recalibrate",
        "pos": None if is_multiclass else sample.positive,
        "classes": len(sample.predictions.order) if sample.predictions and is_multiclass else None,
        "miss": sample.roles.missing,
        "weight": "yes" if sample.roles.weight else None,
        "seed": options.seed,
        "ci": repr(options.level),
    }
    return build_signature(
        "cmd pos classes miss weight method seed ci",
        settings,
        options,
        sample.roles,
        files=sample.files,
        statistics=sha256("".join(digests).encode()).hexdigest(),
    )


def _notes(
    models: Sequence[ModelRecalibration], predictions: PredictionCounts
) -> Iterator[ResultNote]:
    """Yield notes on infinite losses, on scores of 0 and 1, on few rows, and on counting."""
    contradicted_rows = {model.model: model.contradicted for model in models if model.contradicted}
    if contradicted_rows:
        text = "the log loss is infinite, and the Brier score decides, where rows had probability "
        yield ResultNote(
            "contradicted", f"{text}0 of their class: {_row_counts(contradicted_rows)}"
        )
    models_at_ends = [model for model in models if model.unchanged]
    if models_at_ends and predictions.multiclass:
        text = "probabilities of exactly 0 stay 0, and a probability of exactly 1 stays 1, in "
        rows_at_ends = {model.model: model.unchanged for model in models_at_ends}
        yield ResultNote("scores-at-ends", f"{text}{_row_counts(rows_at_ends)}")
    else:
        yield from _notes_on_ends(models_at_ends)
    shifted_models = [model.model for model in models if model.few_rows]
    if shifted_models:
        text = f"with fewer than {FEWEST_OF_CLASS} rows of a class, only a shift is fitted: "
        yield ResultNote("few-rows", f"{text}{join_names(shifted_models)}")
    yield from counting_notes(predictions)
    yield from bucket_notes(predictions)


def _notes_on_ends(models: Sequence[ModelRecalibration]) -> Iterator[ResultNote]:
    """Yield notes on models with scores of 0 and 1, and on what changes those with so many rows."""
    isotonic_clause = f"only {OPTION}--method isotonic{END} and venn-abers change them"
    remedy = f"no method changes them with fewer than {FLEXIBLE_ROWS:,} rows, or "
    remedy += f"{FEWEST_OF_CLASS} of a class: get more rows, or smooth the scores in the model, "
    remedy += "as (votes + 1) / (trees + 2) of a forest"
    for clause, has_steps in ((isotonic_clause, True), (remedy, False)):
        rows_at_ends = {
            model.model: model.unchanged for model in models if model.allows_steps == has_steps
        }
        if rows_at_ends:
            text = f"scores of exactly 0 and 1 keep their values ({_row_counts(rows_at_ends)}); "
            yield ResultNote("scores-at-ends", f"{text}{clause}")


def _row_counts(rows_by_model: Mapping[str, float]) -> str:
    """Return models with their numbers of rows."""
    count_texts = [
        f"{quote_if_ambiguous(model)} {format_count(rows, 'row')}"
        for model, rows in rows_by_model.items()
    ]
    return ", ".join(count_texts)
