"""Measures that mlcps computes from predictions, and the sentences of its result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from clfeval import formatting
from clfeval.document import Answer, Document
from clfeval.document.cells import Cell, Row, as_estimate, cell_value
from clfeval.document.rows import column_values
from clfeval.errors import UsageError
from clfeval.measures.catalog import CATALOG, equivalence_formula, match_measure
from clfeval.measures.other_names import plain_heading
from clfeval.measures.record import Measure, parameters_of
from clfeval.methods.comparison_answer import reference_answers
from clfeval.methods.measurement import requested_measures as requested
from clfeval.placeholders import COMMAND, END, OPTION

FLAG = "--metric"
DEFAULT = ("sensitivity", "specificity", "precision", "npv")
# f_beta is f1 without a parameter; the others duplicate columns under other names
_DUPLICATE_MEASURES = ("f_beta", "delta_b", "mutual_information_u")


def _is_computable(measure: Measure) -> bool:
    """Return whether a measure needs predictions of two classes only, and is best high or low."""
    uses_predictions = (
        measure.compute is not None
        and measure.needs in requested.NEEDS["all"]
        and measure.id != requested.NET_BENEFIT
    )
    return uses_predictions and measure.best in ("max", "min")


MLCPS_MEASURES = requested.AvailableMeasures(
    "mlcps",
    [
        measure.id
        for measure in CATALOG.values()
        if _is_computable(measure) and measure.id not in _DUPLICATE_MEASURES[1:]
    ],
    [name for name in requested.SETS if name != requested.ORDINAL],
)
MEASURED = tuple(  # without a parameter
    name
    for name in MLCPS_MEASURES.ids
    if name not in _DUPLICATE_MEASURES
    and None not in [parameter.default for parameter in parameters_of(CATALOG[name]).values()]
)


@cache
def measure_by_id(measure_name: str) -> Measure:
    """Return a measure by its id and parameters, as `parse_measure_names` writes them."""
    measure_id, _, settings_text = measure_name.partition(":")
    measure = CATALOG[measure_id]
    settings = (
        requested.parse_measure_settings(measure_name, settings_text, measure)
        if settings_text
        else {}
    )
    return measure.with_settings(**requested.measure_arguments(measure, settings))


def measures_needing(names: Sequence[str], *needs: str) -> list[str]:
    """Return those measures that are computed from one of these statistics."""
    return [name for name in names if measure_by_id(name).needs in needs]


def parse_measure_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return measures by id and parameters without duplicates; UsageError if not computed here.

    Of a set those that lie within 0..1, without duplicates.
    """
    measures: dict[str, None] = {}
    for name in names:
        set_name = name.strip().casefold()
        if set_name not in requested.SETS:
            measures[_parse_measure_name(name)] = None
            continue
        set_measures = _members_of_set(set_name)
        if not set_measures and set_name != "default":
            message = f"{OPTION}{FLAG}{END}: set '{set_name}' has no measure that mlcps computes"
            raise UsageError.new(message, "unknown-measure", hint="name measures or another set")
        measures |= dict.fromkeys(set_measures or DEFAULT)
    return tuple(measures)


def _members_of_set(set_name: str) -> list[str]:
    """Return the measures of a set within 0..1, without duplicates; none of the default set."""
    measures = list[str]()
    for request in requested.parse_measures((set_name,), FLAG) if set_name != "default" else ():
        measure_id = request.name
        is_share = (request.measure.low, request.measure.high) == (0, 1)
        is_usable = measure_id in MEASURED and is_share
        if is_usable and not any(equivalence_formula(measure, measure_id) for measure in measures):
            measures.append(measure_id)
    return measures


def _parse_measure_name(text: str) -> str:
    """Return a measure by id and parameters; UsageError if mlcps does not compute it."""
    name, _, settings_text = plain_heading(text).partition(":")
    requested.refuse_measure(name, FLAG)
    measure = requested.find_measure_by_name(name)
    if measure is None:
        hint = requested.suggest_measure(text, MLCPS_MEASURES, FLAG)
        raise UsageError.new(
            f"{OPTION}{FLAG}{END}: '{name}' is not a measure", "unknown-measure", hint=hint
        )
    if measure.id == requested.NET_BENEFIT and settings_text:
        measure = CATALOG[requested.AT_RISK]
    without_parameter = (*MEASURED, *_DUPLICATE_MEASURES)
    needs_parameter = measure.id in MLCPS_MEASURES.ids and measure.id not in without_parameter
    matched_id = None if settings_text or needs_parameter else match_measure(name, MEASURED)
    if matched_id is not None:
        measure = CATALOG[matched_id]
    elif not _is_computable(measure):
        hint = f"for the available measures: {COMMAND}clfeval mlcps --explain measures{END}"
        if measure.id == requested.NET_BENEFIT:
            hint = f"give a threshold probability, for example {requested.AT_RISK}:t=0.1"
        elif measure.needs in requested.NEEDS["all"]:
            hint = "neither higher nor lower values of it are better"
        message = f"{OPTION}{FLAG}{END}: {measure.id} is not available in mlcps"
        raise UsageError.new(message, "unknown-measure", hint=hint)
    return requested.format_measure_name(
        measure, requested.parse_measure_settings(text, settings_text, measure, flag=FLAG)
    )


FEW = 4  # models that are named where one of them is first


def mlcps_answer(
    result: Document, first_indices: Sequence[int], tied_indices: Sequence[int] | None
) -> tuple[Answer, ...]:
    """Return sentences on the first model, the stability of its rank, and another table.

    first_indices: of the first models; tied_indices: of those not significantly different, or None.
    """
    first_names = tuple(result.summary["best"])
    if not first_names:
        return (Answer("no-score", "MLcps is undefined for every model."),)
    score = result.parameters["ranked_by"]
    first_rows = [result.tables["models"][i] for i in first_indices]
    score_estimate = as_estimate(first_rows[0].get(score))
    score_and_limits = (score, score_estimate.value, score_estimate.low, score_estimate.high)
    if result.summary["models"] == 1:
        name = f"{formatting.quote_if_ambiguous(first_names[0])} is the only model"
        text = f"{name}, so there is no ranking; its {_format_score(result, first_rows[0])}."
        return (Answer("one-model", text, first_names, *score_and_limits),)
    if score == "desirability" and not score_estimate.value:
        return (Answer("none-desirable", "The desirability D is 0 for every model."),)
    if not score_estimate.value:
        return (Answer("no-score", "MLcps is 0 for every model, so none is first."),)
    sentence = _first_model_sentence(result, first_names, first_rows, score)
    comparison_answers = [*_ties_answer(result, first_names, tied_indices)]
    if comparison_rows := result.tables.get("comparisons"):
        parameters = result.parameters
        margin = parameters["margin"].get(score)
        comparison_answers = [
            *reference_answers(
                comparison_rows, score, parameters["reference"], margin, parameters["level"]
            )
        ]
    return (
        Answer("first", sentence, first_names, *score_and_limits),
        *comparison_answers,
        *_stability_answers(result, first_names, first_indices, first_rows, tied_indices or ()),
        *_other_table_answer(result, first_names),
    )


def _first_model_sentence(
    result: Document, first_names: Sequence[str], first_rows: Sequence[Row], score: str
) -> str:
    """Return the sentence on the first models, their lead, and models that dominate them."""
    lead_clause = _format_lead(result, score, as_estimate(first_rows[0].get(score)).value or 0.0)
    dominated_names = [row["model"] for row in first_rows if not row["pareto"]]
    if dominated_names and len(first_rows) == 1:
        dominator = formatting.quote_if_ambiguous(str(first_rows[0]["dominated_by"]))
        lead_clause += f", but {dominator} dominates it in every metric"
    elif dominated_names:
        are = "is" if len(dominated_names) == 1 else "are"
        lead_clause += (
            f", but {formatting.join_names(dominated_names)} {are} not on the Pareto front"
        )
    subject = f"{formatting.join_names(first_names)} {'has' if len(first_names) == 1 else 'share'}"
    return f"{subject} the highest {_format_score(result, first_rows[0])}{lead_clause}."


def _format_score(result: Document, row: Row) -> str:
    """Format the score that ranks; MLcps without an interval also as a share of its maximum."""
    score = result.parameters["ranked_by"]
    level = result.parameters["level"]
    estimate = as_estimate(row.get(score))
    normalised = cell_value(row.get("normalised"))
    title = "desirability" if score == "desirability" else "MLcps"
    if estimate.value is None:
        return f"{title} is undefined"
    text = (
        f"{title}: {formatting.with_interval(estimate.value, estimate.low, estimate.high, level)}"
    )
    if score == "mlcps" and normalised is not None and estimate.low is None:
        text += f" ({formatting.format_number(normalised)} of the maximum)"
    return text


def _format_lead(result: Document, score: str, first_value: float) -> str:
    """Format the difference from the second models."""
    ranks = result.tables["ranks"]
    second_indices = [i for i, rank in enumerate(column_values(ranks, score)) if rank == 2]
    second_value = (
        cell_value(result.tables["models"][second_indices[0]].get(score))
        if second_indices
        else None
    )
    if second_value is None:
        return ""
    names = formatting.join_names([ranks[i]["model"] for i in second_indices])
    return f", {formatting.format_number(first_value - second_value)} above {names}"


def _ties_answer(
    result: Document, first_names: Sequence[str], tied_indices: Sequence[int] | None
) -> Iterator[Answer]:
    """Yield the sentence on models not significantly different from the first."""
    models = result.tables["models"]
    if len(first_names) == len(models):  # all are first, so none is tied with the first
        return
    if tied_indices is None:
        source_phrase = "from metrics alone" if result.parameters["from"] == "metrics" else "here"
        yield Answer("untested", f"No significance test is possible {source_phrase}.")
    elif not tied_indices:
        text = "Every other model is significantly worse."
        yield Answer("significantly-worse", text, tuple(first_names))
    else:
        tied_names = tuple(models[i]["model"] for i in tied_indices)
        worse_names = [
            name for row in models if (name := row["model"]) not in {*first_names, *tied_names}
        ]
        yield Answer(
            "not-significantly-different",
            formatting.describe_ties(tied_names, worse_names),
            tied_names,
        )


StabilityClaim = tuple[bool, str]  # whether it supports the first rank, and the words
_AND_MORE = r" \(and [\d,]+ more\)$"  # after the first of several


def _stability_answers(
    result: Document,
    first_names: Sequence[str],
    first_indices: Sequence[int],
    first_rows: Sequence[Row],
    tied_indices: Sequence[int],
) -> Iterator[Answer]:
    """Yield sentences on the conditions under which the same model is first."""
    by_desirability = result.parameters["ranked_by"] == "desirability"
    is_single = len(first_names) == 1
    subject_name = formatting.quote_if_ambiguous(first_names[0]) if is_single else "one of them"
    claims = [*_order_claims(result, first_names, by_desirability=by_desirability)]
    if not by_desirability:
        rank_row = result.tables["ranks"][first_indices[0]]
        claims += _weight_claims(result, first_names[0], rank_row) if is_single else ()
        claims += _split_claims(result, first_indices, subject_name if is_single else "")
    bootstrap_share = cell_value(first_rows[0].get("first"))
    if is_single and bootstrap_share is not None:
        claims.append(_bootstrap_claim(result, subject_name, bootstrap_share, tied_indices))
    stable_phrases = [phrase for supports, phrase in claims if supports]
    fragile_phrases = [phrase for supports, phrase in claims if not supports]
    if stable_phrases:
        subject = subject_name if is_single else "At least one of them"
        yield Answer(
            "firm",
            f"{subject} is first {formatting.join_words(stable_phrases)}.",
            tuple(first_names),
        )
    if fragile_phrases:
        yield Answer("fragile", f"But {'. Also, '.join(fragile_phrases)}.")


def _bootstrap_claim(
    result: Document, model_name: str, share: float, tied_indices: Sequence[int]
) -> StabilityClaim:
    """Return the claim on bootstrap samples with the model first; tied_indices: of models tied."""
    is_stable = share >= result.parameters["level"]
    phrase = f"in {formatting.format_close(100 * share, 1)}% of bootstrap samples"
    if not (is_stable and tied_indices):
        return _stability_claim(model_name, is_stable, phrase)
    names = [result.tables["models"][i]["model"] for i in tied_indices]
    are = "is" if len(tied_indices) == 1 else "are"
    ties_clause = f"{formatting.join_names(names, most=3)} {are} tied with {model_name}"
    return False, f"{ties_clause}, although {model_name} is first {phrase}"


def _stability_claim(subject: str, is_stable: bool, phrase: str) -> StabilityClaim:
    """Return a phrase as a claim; if it is not stable, as a clause with `only`."""
    return (
        is_stable,
        phrase if is_stable else f"{subject} is first {phrase.replace(' ', ' only ', 1)}",
    )


def _order_claims(
    result: Document, first_names: Sequence[str], *, by_desirability: bool
) -> Iterator[StabilityClaim]:
    """Yield the number of orders of metrics in which it is first, and the other first models."""
    winners = list(result.summary["winners"])
    orders = result.parameters["orders"]
    other_winners = [name for name in winners if name not in set(first_names)]
    named_winners = winners if by_desirability else other_winners
    subject = f"one of {formatting.format_count(len(named_winners), 'model')}"
    if 0 < len(named_winners) <= FEW:
        subject = formatting.join_names(named_winners, word="or")
    if by_desirability and other_winners:  # D does not depend on the order, only the area does
        reason_clause = ", depending on the order of the metrics" if len(winners) > 1 else ""
        yield False, f"by MLcps {subject} is first{reason_clause}"
    elif other_winners:
        other_orders = "another order" if len(other_winners) == 1 else "other orders"
        yield False, f"{subject} is first, alone or tied, in {other_orders} of the metrics"
    elif winners and orders and not by_desirability:
        count_phrase = formatting.format_count(orders["looked_at"], "evaluated order")
        orders_phrase = "every order" if orders["all"] else f"all {count_phrase}"
        yield True, f"in {orders_phrase} of the metrics"


def _weight_claims(result: Document, first_name: str, rank_row: Row) -> Iterator[StabilityClaim]:
    """Yield the phrase on random weights, else on omitting or doubling each metric."""
    share_rows = result.tables.get("weights", ())
    metric_rows = result.tables["metrics"]
    if share_rows:
        share = next(
            cell_value(row["share"]) or 0.0 for row in share_rows if row["model"] == first_name
        )
        phrase = f"with {formatting.format_close(100 * share, 1)}% of random weights"
        yield _stability_claim(formatting.quote_if_ambiguous(first_name), share >= 0.5, phrase)
        return
    if rank_row["weight_dependent"] is False:
        yield True, "in this order with any positive weights"
        return
    omission_clause = ""
    if any(row["winner_without"] is not None for row in metric_rows):
        omission_clause = "is left out or "
    metrics_by_change: dict[tuple[str, str], list[str]] = {}
    for row in metric_rows:
        for column, change in (("winner_without", "left out"), ("winner_doubled", "doubled")):
            winner = re.sub(
                _AND_MORE, "", str(row[column] if row[column] is not None else first_name)
            )
            if winner != first_name:
                metrics_by_change.setdefault((winner, change), []).append(row["metric"])
    if metrics_by_change:
        claims = [
            f"{formatting.quote_if_ambiguous(winner)} is first if "
            f"{formatting.join_words(metric_names, most=2, word='or')} is {change}"
            for (winner, change), metric_names in metrics_by_change.items()
        ]
        yield False, claims[0].replace("is doubled", "has double weight")
    elif metric_rows:
        yield True, f"if any one metric {omission_clause}has double weight"


def _split_claims(
    result: Document, first_indices: Sequence[int], first_name: str
) -> Iterator[StabilityClaim]:
    """Yield the number of splits in which a first model is first; first_name: empty if several."""
    split_rows = result.tables.get("splits", ())
    model_count = result.summary["models"]
    split_count = len(split_rows) // model_count
    win_count = sum(
        any(split_rows[split_index * model_count + i]["rank"] == 1 for i in first_indices)
        for split_index in range(split_count)
    )
    if split_count and (first_name or 2 * win_count > split_count):
        yield _stability_claim(
            first_name, 2 * win_count > split_count, f"in {win_count} of {split_count} splits"
        )
    elif split_count:
        yield False, f"other models are first in {split_count - win_count} of {split_count} splits"


def _other_table_answer(result: Document, first_names: Sequence[str]) -> Iterator[Answer]:
    """Yield the sentence on whether another table of metrics has the same first model."""
    agreement_rows = result.tables.get("agreement", ())
    if not agreement_rows:
        return
    score = result.parameters["ranked_by"]
    agreement = next((row for row in agreement_rows if row["measure"] == score), agreement_rows[0])
    common_first = _first_names(agreement["top_here"])
    other_first = _first_names(agreement["top_there"])
    compared = result.tables["compared"]
    other_values = (cell_value(row["there"]) for row in compared if row["model"] in other_first[:1])
    other_value = next(other_values, None)
    if agreement["same_top"]:
        claim = "the same model is first" if len(common_first) == 1 else "the same models are first"
    elif score == "desirability" and not other_value:
        claim = "the desirability of every model is 0"
        other_first = ()
    else:
        are = "is" if len(other_first) == 1 else "are"
        claim = f"{formatting.join_names(other_first)} {are} first"
        if not {*common_first} & {*other_first}:
            claim += f" instead of {formatting.join_names(common_first)}"
    tau = cell_value(agreement.get("kendall"))
    tau_clause = (
        "" if tau is None else f"; Kendall's τ of the ranks is {formatting.format_number(tau)}"
    )
    opening = f"In {result.parameters['compare']}"
    if agreement["models"] != result.summary["models"]:
        common_names = {row["model"] for row in compared}
        absent_names = [name for name in first_names if name not in common_names]
        opening += f", which lacks {formatting.join_names(absent_names)}" if absent_names else ""
        claim += f" among the {agreement['models']} models of both tables"
    yield Answer("compared", f"{opening}, {claim}{tau_clause}.", other_first)


def _first_names(cell: Cell) -> tuple[str, ...]:
    """Return the names of the first models in a cell; none of a cell without a list."""
    return tuple(cell) if isinstance(cell, list) else ()


ONE_BYTE = ("roc_auc", "gini", "average_precision", "ks")  # on counts of any integer type


def needs_only_ranks(metrics: Sequence[str]) -> bool:
    """Return whether all measures depend only on the order of scores."""
    return bool(metrics) and len(measures_needing(metrics, "scores")) == len(metrics)
