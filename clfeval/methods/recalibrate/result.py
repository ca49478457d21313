"""From counts of scores to the Result of `recalibrate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.sample import Sample
from clfeval.document import Document, ResultNote, Row
from clfeval.errors import DataError, UsageError, list_names
from clfeval.formatting import format_count, join_names, quote_if_ambiguous
from clfeval.methods.provenance import (
    bucket_notes,
    build_parameters,
    build_signature,
    class_totals,
    counting_notes,
    offer_of_log_odds,
)
from clfeval.methods.recalibrate.answer import recalibration_answer
from clfeval.methods.recalibrate.options import RecalibrateOptions
from clfeval.methods.recalibrate.tables import group_rows, mapping_rows, method_rows, model_rows
from clfeval.methods.recalibration.method_fits import FLEXIBLE_ROWS
from clfeval.methods.recalibration.model_recalibration import (
    FEWEST_OF_CLASS,
    ModelRecalibration,
    recalibrate_model,
)
from clfeval.placeholders import END, OPTION
from clfeval.tables.calibrator_files import CalibratorFile, StoredCalibrator, StoredGain


def recalibration_result(predictions: PredictionCounts, options: RecalibrateOptions) -> Document:
    """Return the gains of recalibrating each model with scores, and the recalibrated values.

    Errors: UsageError for models of labels only, DataError for one class only.
    """
    sample = Sample.from_predictions(predictions)
    _check_table(sample, predictions)
    models = list[ModelRecalibration]()
    groups = list[Row]()
    for position, model in enumerate(predictions.models):
        if model.kind == "label":
            models.append(
                ModelRecalibration(model.name, options.method, table_reason="needs_scores")
            )
            continue
        counts = predictions.scores(position)[None].probabilities
        models.append(recalibrate_model(model.name, counts, options.settings))
        groups += group_rows(models[-1], counts, options.level)
    return Document(
        command="recalibrate",
        signature=_signature(sample, options, [f"{model.model}{model.digest}" for model in models]),
        inputs=sample.files,
        parameters=_parameters(sample, options),
        summary=class_totals(sample),
        tables={
            "models": model_rows(models),
            "methods": [*method_rows(models)],
            "mapping": mapping_rows(models),
            "groups": groups,
        },
        answer=tuple(recalibration_answer(models, options, _log_odds_offer(models, predictions))),
        extras={
            "calibrators": _calibrator_file(predictions, models, options.level),
            "combined": _combined_models(predictions),
        },
        warnings=tuple(_notes(models, predictions)),
    )


def _calibrator_file(
    predictions: PredictionCounts, models: Sequence[ModelRecalibration], level: float
) -> CalibratorFile:
    """Return the calibrators in force, of models that have one."""
    columns = predictions.kept.settled.columns
    scales = {}
    log_odds = {
        model.name for model in predictions.models if columns.source(model) in columns.log_odds
    }
    if predictions.stored is None:
        scales = {model.name: columns.scale(columns.source(model)) for model in predictions.models}
    calibrators = [
        StoredCalibrator(
            model.model,
            str(model.selected),
            calibrator,
            model.score_range,
            model.digest_of_rows,
            scales.get(model.model),
            _stored_gain(model, level),
            model.model in log_odds,
        )
        for model in models
        if (calibrator := model.final_calibrator) is not None
    ]
    rows = sum(file.rows for file in predictions.files)
    return CalibratorFile(predictions.positive, calibrators, rows)


def _stored_gain(model: ModelRecalibration, level: float) -> StoredGain | None:
    """Return the gain of a model's calibrator; None of one that is for another prevalence."""
    gain = model.gain
    if gain is None or model.prior_shift:
        return None
    return StoredGain(gain.verdict, model.loss, gain.value, gain.low, gain.high, level)


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
    names = [
        model.model
        for model in models
        if model.table_reason == "not_probabilities" and model.score_range[0] < 0
    ]
    return offer_of_log_odds(names[0], predictions) if names else ""


def _check_table(sample: Sample, predictions: PredictionCounts) -> None:
    """Raise for tables whose models have labels only, and for those of one class."""
    if all(model.kind == "label" for model in predictions.models):
        message = "recalibration needs probabilities, but every model has labels only"
        hint = (
            f"give columns of scores; of labels with confidences add {OPTION}--kind confidence{END}"
        )
        raise UsageError.new(message, "needs-scores", sample.name, hint=hint)
    all_rows = sample.slices[None]
    for name, totals in (("positive", all_rows.positives), ("negative", all_rows.negatives)):
        if not totals.any():
            message = f"no {name} row, but recalibration needs both classes"
            hint = (
                f"the classes are {list_names(predictions.classes)}; check {OPTION}--positive{END}"
            )
            raise DataError.new(
                message, "single-class", sample.name, column=predictions.truth, hint=hint
            )


def _parameters(sample: Sample, options: RecalibrateOptions) -> dict[str, Any]:
    """Return every setting in its resolved form."""
    population = options.population
    resolved = {
        "positive": sample.positive,
        "negative": list(sample.negative),
        "prevalence": None if population is None else population.prevalence,
    }
    order = "positive negative method level seed prevalence missing"
    return build_parameters(order, resolved, options, sample.roles, without="by")


def _signature(sample: Sample, options: RecalibrateOptions, digests: Sequence[str]) -> str:
    """Return the settings that change numbers, and the hash of the score counts."""
    settings = {
        "cmd": "recalibrate",
        "pos": sample.positive,
        "miss": sample.roles.missing,
        "weight": "yes" if sample.roles.weight else None,
        "seed": options.seed,
        "ci": repr(options.level),
    }
    return build_signature(
        "cmd pos miss weight method seed ci",
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
    contradicted = {model.model: model.contradicted for model in models if model.contradicted}
    if contradicted:
        text = "the log loss is infinite, and the Brier score decides, where rows had probability "
        yield ResultNote("contradicted", f"{text}0 of their class: {_row_counts(contradicted)}")
    yield from _notes_on_ends([model for model in models if model.unchanged])
    shifted = [model.model for model in models if model.few_rows]
    if shifted:
        text = f"with fewer than {FEWEST_OF_CLASS} rows of a class, only a shift is fitted: "
        yield ResultNote("few-rows", f"{text}{join_names(shifted)}")
    yield from counting_notes(predictions)
    yield from bucket_notes(predictions)


def _notes_on_ends(models: Sequence[ModelRecalibration]) -> Iterator[ResultNote]:
    """Yield notes on models with scores of 0 and 1, and on what changes those with so many rows."""
    changing = f"only {OPTION}--method isotonic{END} and venn-abers change them"
    remedy = f"no method changes them with fewer than {FLEXIBLE_ROWS:,} rows, or "
    remedy += f"{FEWEST_OF_CLASS} of a class: get more rows, or smooth the scores in the model, "
    remedy += "as (votes + 1) / (trees + 2) of a forest"
    for words, has_steps in ((changing, True), (remedy, False)):
        rows_at_ends = {
            model.model: model.unchanged for model in models if model.allows_steps == has_steps
        }
        if rows_at_ends:
            text = f"scores of exactly 0 and 1 keep their values ({_row_counts(rows_at_ends)}); "
            yield ResultNote("scores-at-ends", f"{text}{words}")


def _row_counts(rows_by_model: Mapping[str, float]) -> str:
    """Return models with their numbers of rows."""
    parts = [
        f"{quote_if_ambiguous(model)} {format_count(rows, 'row')}"
        for model, rows in rows_by_model.items()
    ]
    return ", ".join(parts)
