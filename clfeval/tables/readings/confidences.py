"""Models whose numbers are the probability of the class that they predict (--kind confidence)."""

from __future__ import annotations

from clfeval.errors import bad_option, list_names, quote_name
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables.columns import ModelColumns
from clfeval.tables.profiles import ColumnProfiles
from clfeval.tables.readings.candidate_columns import scale_of
from clfeval.tables.readings.names import is_name_of_predictions
from clfeval.tables.readings.reading import Question, Reading
from clfeval.tables.readings.requirements import FEW_SCORES, TruthView, may_be_confidence

LOWEST = 0.5  # probability of the predicted one of two classes
_HINT = f"name the model by both columns: {OPTION}--model LABELS+CONFIDENCES{END}"


def with_confidence(reading: Reading, view: TruthView) -> Reading:
    """Return a reading whose models are labels with confidences; UsageError where none is.

    These are the models that --model names by two columns, else the only column of labels with
    the only one of their probabilities.
    """
    if len(view.classes) != 2:
        classes = list_names(sorted(view.classes))
        message = f"{OPTION}--kind confidence{END} needs two classes; truth has {classes}"
        raise bad_option(message, "of more, the probabilities of the other classes are unknown")
    models = reading.columns.models
    paired_models = [
        model for model in models if model.kind == "score" and model.label_column is not None
    ]
    if not paired_models:
        model, unused = _only_pair(reading, view)
        columns = replace(reading.columns, models=(model,), unused=unused)
        return replace(reading, columns=columns)
    for model in paired_models:
        _refuse_other_numbers(model, view)
    marked_models = tuple(
        replace(model, confidence=True) if model in paired_models else model for model in models
    )
    return replace(reading, columns=replace(reading.columns, models=marked_models))


def _only_pair(reading: Reading, view: TruthView) -> tuple[ModelColumns, dict[str, str]]:
    """Return the model of the only labels and their confidences, and the unused columns left."""
    label_models = [model for model in reading.columns.models if model.kind == "label"]
    confidence_columns = [column.name for column in view.free if may_be_confidence(column, view)]
    if len(label_models) != 1 or len(confidence_columns) != 1:
        message = (
            f"{OPTION}--kind confidence{END} needs a column of labels and one of their "
            "probabilities; "
        )
        message += f"{len(label_models)} and {len(confidence_columns)} can be these"
        raise bad_option(message, _HINT)
    (name,) = confidence_columns
    (label_model,) = label_models
    model = ModelColumns(
        label_model.name, "score", (name,), label_column=label_model.columns[0], confidence=True
    )
    unused = {column: reason for column, reason in reading.columns.unused.items() if column != name}
    return model, unused


def _refuse_other_numbers(model: ModelColumns, view: TruthView) -> None:
    """Raise UsageError for numbers that are no probabilities of one of two classes."""
    (name,) = model.columns
    profile = view.facts.profiles[name]
    lowest = min(profile.numbers, default=0.0)
    if scale_of(profile) != "unit" or lowest < LOWEST:
        message = f"'{name}' holds no probabilities of the predicted class: these are 0.5 to 1"
        raise bad_option(message, f"its numbers begin at {lowest:g}")


def with_doubtful_truth(reading: Reading, profiles: ColumnProfiles) -> Reading:
    """Return a reading with a question if its truth may be predicted, with the only score.

    Such a table of labels with their probabilities, all at least 0.5, may lack the true classes.
    """
    truth, models = reading.columns.truth, reading.columns.models
    is_known_truth = reading.claim in ("given", "values") or not is_name_of_predictions(truth)
    if (
        is_known_truth
        or len(models) != 1
        or models[0].kind != "score"
        or models[0].label_column is not None
    ):
        return reading
    (name,) = models[0].columns
    score_profile, classes = profiles[name], profiles[truth].texts
    is_certain = (
        scale_of(score_profile) == "unit" and min(score_profile.numbers, default=0.0) >= LOWEST
    )
    if not is_certain or score_profile.rows < FEW_SCORES or len(classes) != 2:
        return reading
    quoted_score = quote_name(name)
    question_text = f"is it truth, or is it predicted, with its probability in {quoted_score}?"
    return replace(
        reading,
        options={"truth": truth, **reading.options},
        words=[
            f"{quote_name(truth)} is truth; {quoted_score} is the score of the positive class",
            *reading.words,
        ],
        questions=[Question("which-truth", question_text, truth), *reading.questions],
    )
