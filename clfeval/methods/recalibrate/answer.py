"""What to do with the probabilities of each model: recalibrate them, or keep them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clfeval.document import Answer
from clfeval.formatting import (
    format_count,
    format_exact,
    format_number,
    join_names,
    quote_if_ambiguous,
)
from clfeval.inference.influence_and_clusters import FEWEST_CLUSTERS
from clfeval.measures.class_calibrators import OneVsRestCalibrator
from clfeval.measures.record import Population
from clfeval.methods.provenance import ENOUGH as ENOUGH_CLUSTERS
from clfeval.methods.recalibrate.options import RecalibrateOptions
from clfeval.methods.recalibration.cross_fitting import LOSSES, LossName
from clfeval.methods.recalibration.formulas import calibrator_formula, loss_title
from clfeval.methods.recalibration.gain import GainEstimate
from clfeval.methods.recalibration.model_recalibration import ModelRecalibration
from clfeval.placeholders import END, OPTION

NEW_ROWS = "new rows"
MANY_UNCHANGED = 0.05  # share of rows with scores of 0 and 1 that the answer tells
REASONS = {  # of `ModelRecalibration.reason` but few clusters; singular and plural
    "needs_scores": ("has labels only", "have labels only"),
    "not_probabilities": (
        "has scores outside 0 to 1 instead of probabilities",
        "have scores outside 0 to 1 instead of probabilities",
    ),
    "single_class": ("has rows of one class only", "have rows of one class only"),
    "reversed_scores": ("ranks in reverse", "rank in reverse"),
    "separation": (
        "has scores that are equal or separate the classes",
        "have scores that are equal or separate the classes",
    ),
    "too_few_rows": (
        "has fewer than 16 rows of a class, too few to estimate a gain,",
        "have fewer than 16 rows of a class, too few to estimate a gain,",
    ),
    "flexible_rows": (
        "has fewer than the 1,000 rows that this method needs (try logistic)",
        "have fewer than the 1,000 rows that this method needs (try logistic)",
    ),
}
CLASS_REASONS = {  # of more than two classes, where these differ
    "reversed_scores": (
        "gives true classes no more than an equal share of probability",
        "give true classes no more than an equal share of probability",
    ),
    "separation": (
        "has equal probabilities, or the most probable class is always true,",
        "have equal probabilities, or the most probable class is always true,",
    ),
    "too_few_rows": (
        "has fewer than 16 rows outside the most frequent class, too few to estimate a gain,",
        "have fewer than 16 rows outside the most frequent class, too few to estimate a gain,",
    ),
}


def recalibration_answer(
    models: Sequence[ModelRecalibration], options: RecalibrateOptions, log_odds_offer: str = ""
) -> Iterator[Answer]:
    """Yield what recalibration does: helps, harms, is undecided, or cannot be fitted.

    log_odds_offer: how scores below 0 are read as log odds; empty where there are none.
    """
    level = options.level
    judged_models = [model for model in models if model.gain is not None]
    models_by_verdict = {
        verdict: [model for model in judged_models if model.gain and model.gain.verdict == verdict]
        for verdict in ("helps", "harms", "undecided")
    }
    yield from (_helps(model, level) for model in models_by_verdict["helps"])
    yield from (_harms(model, level) for model in models_by_verdict["harms"])
    for loss in LOSSES:
        undecided_models = [model for model in models_by_verdict["undecided"] if model.loss == loss]
        if undecided_models:
            yield _undecided(undecided_models, loss, level)
    for reason in REASONS:
        model_names = [model.model for model in models if model.reason == reason]
        if model_names:
            offer = log_odds_offer if reason == "not_probabilities" else ""
            has_classes = any(model.classes for model in models)
            yield _not_recalibrated(model_names, reason, offer, has_classes=has_classes)
    unjudged_models = [model for model in models if model.reason == "few_clusters"]
    if unjudged_models:
        yield _too_few_clusters(
            [model.model for model in unjudged_models], unjudged_models[0].clusters or 0
        )

    if options.population is not None:
        yield from (
            _at_prevalence(model, options.population)
            for model in models
            if model.final_calibrator is not None
        )


def _at_prevalence(model: ModelRecalibration, population: Population) -> Answer:
    """Return the formula for another prevalence, and what it presumes."""
    text = f"{quote_if_ambiguous(model.model)} at prevalence {format_exact(population.prevalence)}"
    text += " (label shift: the scores of each class are distributed as in these rows): "
    text += f"{calibrator_formula(model.final_calibrator)}."
    return Answer("recalibration-at-prevalence", text, (model.model,))


def _helps(model: ModelRecalibration, level: float) -> Answer:
    """Return the sentence on a model that recalibration improves, with the formula."""
    gain = model.gain
    assert gain is not None
    loss_now = model.losses[model.loss]
    text = f"{quote_if_ambiguous(model.model)}: {model.selected} recalibration lowers the "
    text += f"{loss_title(model.loss)} of {NEW_ROWS} from {format_number(loss_now)} to "
    text += f"{format_number(loss_now - gain.value)}, by {_with_limits(gain, level)}: "
    text += calibrator_formula(model.calibrator)
    if isinstance(model.calibrator, OneVsRestCalibrator):
        text += f"; {OPTION}--show classes{END} has a_k and b_k"
    text += "."
    return _answer("recalibration-helps", text, model, gain)


def _harms(model: ModelRecalibration, level: float) -> Answer:
    """Return the sentence on a model that recalibration makes worse."""
    gain = model.gain
    assert gain is not None
    loss_rise = GainEstimate(-gain.value, -gain.high, -gain.low)
    text = f"{quote_if_ambiguous(model.model)}: {model.selected} recalibration raises the "
    text += f"{loss_title(model.loss)} of {NEW_ROWS} by {_with_limits(loss_rise, level)}: keep the "
    return _answer("recalibration-harms", f"{text}scores.", model, gain)


def _undecided(models: Sequence[ModelRecalibration], loss: LossName, level: float) -> Answer:
    """Return the sentence on models whose gain may be positive or negative."""
    loss_name = loss_title(loss)
    names_text = join_names([model.model for model in models])
    highest_model = max(models, key=lambda model: 0.0 if model.gain is None else model.gain.high)
    gain = highest_model.gain
    assert gain is not None
    if len(models) == 1 and highest_model.selected != "none":
        text = f"{names_text}: whether {highest_model.selected} recalibration lowers the "
        text += f"{loss_name} of {NEW_ROWS} is undecided, by {_with_limits(gain, level)}: "
        text += "keep the scores."
        if _has_few_clusters(highest_model):
            text += f" The limits of {highest_model.clusters} clusters are wide: a fall of up to "
            text += f"{format_number(gain.high)} is not excluded; more clusters may decide it."
        return _answer("recalibration-undecided", text, highest_model, gain)
    text = f"{names_text}: keep the scores, as no recalibration {_of_others(models)}lowers the "
    text += f"{loss_name} of {NEW_ROWS} significantly; "
    text += f"a fall of up to {format_number(gain.high)}"
    text += f" ({quote_if_ambiguous(highest_model.model)})" if len(models) > 1 else ""
    text += " is not excluded."
    if _has_few_clusters(highest_model):
        text += f" The limits of {highest_model.clusters} clusters are wide: "
        text += "more clusters may decide it."
    model_names = tuple(model.model for model in models)
    return Answer("recalibration-undecided", text, model_names, loss)


def _has_few_clusters(model: ModelRecalibration) -> bool:
    """Return whether a model's limits are wide, as its rows are of few clusters."""
    return model.clusters is not None and model.clusters < ENOUGH_CLUSTERS


def _of_others(models: Sequence[ModelRecalibration]) -> str:
    """Return that scores of 0 and 1 are left out, where they are many: only steps change them.

    With more than two classes no method changes them.
    """
    has_many_unchanged = any(
        model.unchanged > MANY_UNCHANGED * model.rows for model in models if not model.classes
    )
    return "that leaves scores of 0 and 1 as they are " if has_many_unchanged else ""


def _too_few_clusters(model_names: Sequence[str], cluster_count: int) -> Answer:
    """Return the sentence on models whose rows are of too few clusters for limits."""
    text = f"{join_names(model_names)} cannot be judged: {format_count(cluster_count, 'cluster')} "
    text += f"{'is' if cluster_count == 1 else 'are'} too few, as limits of a gain need "
    text += f"{FEWEST_CLUSTERS}. Keep the scores, or get rows of more clusters."
    return Answer("not-recalibrated", text, tuple(model_names))


def _not_recalibrated(
    model_names: Sequence[str], reason: str, offer_clause: str = "", *, has_classes: bool = False
) -> Answer:
    """Return the sentence on models that are not recalibrated, and the remedy.

    offer_clause: another remedy. has_classes: there are more than two classes.
    """
    singular_claim, plural_claim = REASONS[reason]
    if has_classes:
        singular_claim, plural_claim = CLASS_REASONS.get(reason, (singular_claim, plural_claim))
    text = f"{join_names(model_names)} {singular_claim if len(model_names) == 1 else plural_claim}"
    if reason == "reversed_scores" and not has_classes:
        model_name = quote_if_ambiguous(model_names[0])
        text += f"; recalibrate as {OPTION}--model {model_name}:reversed{END}"
    else:
        text += f" and {'is' if len(model_names) == 1 else 'are'} not recalibrated"
    text += f"; {offer_clause}" if offer_clause else ""
    return Answer("not-recalibrated", f"{text}.", tuple(model_names))


def _answer(code: str, text: str, model: ModelRecalibration, gain: GainEstimate) -> Answer:
    return Answer(code, text, (model.model,), model.loss, gain.value, gain.low, gain.high)


def _with_limits(gain: GainEstimate, level: float) -> str:
    """Return a gain with its confidence interval."""
    limits = f"{format_number(gain.low)} to {format_number(gain.high)}"
    return f"{format_number(gain.value)} ({100 * level:g}% CI {limits})"
