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
    is_computed = (
        measure.compute is not None
        and measure.needs in requested.NEEDS["all"]
        and measure.id != requested.NET_BENEFIT
    )
    return is_computed and measure.best in ("max", "min")


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
def measure_by_id(name: str) -> Measure:
    """Return a measure by its id and parameters, as `parse_measure_names` writes them."""
    text, _, settings = name.partition(":")
    measure = CATALOG[text]
    numbers = requested.parse_measure_settings(name, settings, measure) if settings else {}
    return measure.with_settings(**requested.measure_arguments(measure, numbers))


def measures_needing(names: Sequence[str], *needs: str) -> list[str]:
    """Return those measures that are computed from one of these statistics."""
    return [name for name in names if measure_by_id(name).needs in needs]


def parse_measure_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return measures by id and parameters without duplicates; UsageError if not computed here.

    Of a set those that lie within 0..1, without duplicates.
    """
    measures: dict[str, None] = {}
    for text in names:
        key = text.strip().casefold()
        if key not in requested.SETS:
            measures[_parse_measure_name(text)] = None
            continue
        members = _members_of_set(key)
        if not members and key != "default":
            message = f"{OPTION}{FLAG}{END}: set '{key}' has no measure that mlcps computes"
            raise UsageError.new(message, "unknown-measure", hint="name measures or another set")
        measures |= dict.fromkeys(members or DEFAULT)
    return tuple(measures)


def _members_of_set(key: str) -> list[str]:
    """Return the measures of a set within 0..1, without duplicates; none of the default set."""
    members = list[str]()
    for request in requested.parse_measures((key,), FLAG) if key != "default" else ():
        name = request.name
        is_share = (request.measure.low, request.measure.high) == (0, 1)
        if name not in MEASURED or not is_share:
            continue
        if not any(equivalence_formula(member, name) for member in members):
            members.append(name)
    return members


def _parse_measure_name(text: str) -> str:
    name, _, settings = plain_heading(text).partition(":")
    requested.refuse_measure(name, FLAG)
    measure = requested.find_measure_by_name(name)
    if measure is None:
        hint = requested.suggest_measure(text, MLCPS_MEASURES, FLAG)
        raise UsageError.new(
            f"{OPTION}{FLAG}{END}: '{name}' is not a measure", "unknown-measure", hint=hint
        )
    if measure.id == requested.NET_BENEFIT and settings:
        measure = CATALOG[requested.AT_RISK]
    without_parameter = (*MEASURED, *_DUPLICATE_MEASURES)
    needs_parameter = measure.id in MLCPS_MEASURES.ids and measure.id not in without_parameter
    measured = None if settings or needs_parameter else match_measure(name, MEASURED)
    if measured is not None:
        measure = CATALOG[measured]
    elif not _is_computable(measure):
        hint = f"for the available measures: {COMMAND}clfeval mlcps --explain measures{END}"
        if measure.id == requested.NET_BENEFIT:
            hint = f"give a threshold probability, for example {requested.AT_RISK}:t=0.1"
        elif measure.needs in requested.NEEDS["all"]:
            hint = "neither higher nor lower values of it are better"
        message = f"{OPTION}{FLAG}{END}: {measure.id} is not available in mlcps"
        raise UsageError.new(message, "unknown-measure", hint=hint)
    return requested.format_measure_name(
        measure, requested.parse_measure_settings(text, settings, measure, flag=FLAG)
    )


FEW = 4  # models that are named where one of them is first


def mlcps_answer(
    result: Document, places: Sequence[int], equal: Sequence[int] | None
) -> tuple[Answer, ...]:
    """Return the first model, the stability of its rank, and the first model of another table.

    places: of the first models; equal: of those not significantly different, or None.
    """
    best = tuple(result.summary["best"])
    if not best:
        return (Answer("no-score", "MLcps is undefined for every model."),)
    score = result.parameters["ranked_by"]
    rows = [result.tables["models"][i] for i in places]
    value = as_estimate(rows[0].get(score))
    numbers = (score, value.value, value.low, value.high)
    if result.summary["models"] == 1:
        name = f"{formatting.quote_if_ambiguous(best[0])} is the only model"
        text = f"{name}, so there is no ranking; its {_format_score(result, rows[0])}."
        return (Answer("one-model", text, best, *numbers),)
    if score == "desirability" and not value.value:
        return (Answer("none-desirable", "The desirability D is 0 for every model."),)
    if not value.value:
        return (Answer("no-score", "MLcps is 0 for every model, so none is first."),)
    sentence = _first_model_sentence(result, best, rows, score)
    comparisons = [*_ties_answer(result, best, equal)]
    if compared := result.tables.get("comparisons"):
        settings = result.parameters
        margin = settings["margin"].get(score)
        comparisons = [
            *reference_answers(compared, score, settings["reference"], margin, settings["level"])
        ]
    return (
        Answer("first", sentence, best, *numbers),
        *comparisons,
        *_stability_answers(result, best, places, rows, equal or ()),
        *_other_table_answer(result, best),
    )


def _first_model_sentence(
    result: Document, best: Sequence[str], rows: Sequence[Row], score: str
) -> str:
    """Return the sentence on the first models, their lead, and models that dominate them."""
    lead = _format_lead(result, score, as_estimate(rows[0].get(score)).value or 0.0)
    off_front = [row["model"] for row in rows if not row["pareto"]]
    if off_front and len(rows) == 1:
        dominator = formatting.quote_if_ambiguous(str(rows[0]["dominated_by"]))
        lead += f", but {dominator} dominates it in every metric"
    elif off_front:
        are = "is" if len(off_front) == 1 else "are"
        lead += f", but {formatting.join_names(off_front)} {are} not on the Pareto front"
    subject = f"{formatting.join_names(best)} {'has' if len(best) == 1 else 'share'}"
    return f"{subject} the highest {_format_score(result, rows[0])}{lead}."


def _format_score(result: Document, row: Row) -> str:
    """Format the score that ranks; MLcps without an interval also as a share of its maximum."""
    score = result.parameters["ranked_by"]
    level = result.parameters["level"]
    value = as_estimate(row.get(score))
    share = cell_value(row.get("normalised"))
    title = "desirability" if score == "desirability" else "MLcps"
    if value.value is None:
        return f"{title} is undefined"
    text = f"{title}: {formatting.with_interval(value.value, value.low, value.high, level)}"
    if score == "mlcps" and share is not None and value.low is None:
        text += f" ({formatting.format_number(share)} of the maximum)"
    return text


def _format_lead(result: Document, score: str, value: float) -> str:
    """Format the difference from the second models."""
    ranks = result.tables["ranks"]
    second = [i for i, rank in enumerate(column_values(ranks, score)) if rank == 2]
    second_value = cell_value(result.tables["models"][second[0]].get(score)) if second else None
    if second_value is None:
        return ""
    names = formatting.join_names([ranks[i]["model"] for i in second])
    return f", {formatting.format_number(value - second_value)} above {names}"


def _ties_answer(
    result: Document, best: Sequence[str], equal: Sequence[int] | None
) -> Iterator[Answer]:
    """Yield the sentence on models not significantly different from the first."""
    models = result.tables["models"]
    if len(best) == len(models):
        return
    if equal is None:
        alone = "from metrics alone" if result.parameters["from"] == "metrics" else "here"
        yield Answer("untested", f"No significance test is possible {alone}.")
    elif not equal:
        text = "Every other model is significantly worse."
        yield Answer("significantly-worse", text, tuple(best))
    else:
        names = tuple(models[i]["model"] for i in equal)
        worse = [name for row in models if (name := row["model"]) not in {*best, *names}]
        yield Answer("not-significantly-different", formatting.describe_ties(names, worse), names)


StabilityClaim = tuple[bool, str]  # whether it supports the first rank, and the words
_AND_MORE = r" \(and [\d,]+ more\)$"  # after the first of several


def _stability_answers(
    result: Document,
    best: Sequence[str],
    places: Sequence[int],
    rows: Sequence[Row],
    equal: Sequence[int],
) -> Iterator[Answer]:
    """Yield sentences on the conditions under which the same model is first; equal: tied models."""
    by_desirability = result.parameters["ranked_by"] == "desirability"
    is_single = len(best) == 1
    who = formatting.quote_if_ambiguous(best[0]) if is_single else "one of them"
    claims = [*_order_claims(result, best, by_desirability=by_desirability)]
    if not by_desirability:
        rank = result.tables["ranks"][places[0]]
        claims += _weight_claims(result, best[0], rank) if is_single else ()
        claims += _split_claims(result, places, who if is_single else "")
    share = cell_value(rows[0].get("first"))
    if is_single and share is not None:
        claims.append(_bootstrap_claim(result, who, share, equal))
    stable = [words for supports, words in claims if supports]
    fragile = [words for supports, words in claims if not supports]
    if stable:
        subject = who if is_single else "At least one of them"
        yield Answer("firm", f"{subject} is first {formatting.join_words(stable)}.", tuple(best))
    if fragile:
        yield Answer("fragile", f"But {'. Also, '.join(fragile)}.")


def _bootstrap_claim(
    result: Document, who: str, share: float, equal: Sequence[int]
) -> StabilityClaim:
    """Return the phrase on bootstrap samples with the model first; equal: models tied with it."""
    is_stable = share >= result.parameters["level"]
    phrase = f"in {formatting.format_close(100 * share, 1)}% of bootstrap samples"
    if not (is_stable and equal):
        return _stability_claim(who, is_stable, phrase)
    names = [result.tables["models"][i]["model"] for i in equal]
    are = "is" if len(equal) == 1 else "are"
    ties = f"{formatting.join_names(names, most=3)} {are} tied with {who}"
    return False, f"{ties}, although {who} is first {phrase}"


def _stability_claim(who: str, most: bool, words: str) -> StabilityClaim:
    return most, words if most else f"{who} is first {words.replace(' ', ' only ', 1)}"


def _order_claims(
    result: Document, best: Sequence[str], *, by_desirability: bool
) -> Iterator[StabilityClaim]:
    """Yield the number of orders of metrics in which it is first, and the other first models."""
    winners = list(result.summary["winners"])
    orders = result.parameters["orders"]
    others = [name for name in winners if name not in set(best)]
    rivals = winners if by_desirability else others
    subject = f"one of {formatting.format_count(len(rivals), 'model')}"
    if 0 < len(rivals) <= FEW:
        subject = formatting.join_names(rivals, word="or")
    if by_desirability and others:  # D does not depend on the order, only the area does
        decides = ", depending on the order of the metrics" if len(winners) > 1 else ""
        yield False, f"by MLcps {subject} is first{decides}"
    elif others:
        other_orders = "another order" if len(others) == 1 else "other orders"
        yield False, f"{subject} is first, alone or tied, in {other_orders} of the metrics"
    elif winners and orders and not by_desirability:
        count = formatting.format_count(orders["looked_at"], "evaluated order")
        extent = "every order" if orders["all"] else f"all {count}"
        yield True, f"in {extent} of the metrics"


def _weight_claims(result: Document, best: str, rank: Row) -> Iterator[StabilityClaim]:
    """Yield the phrase on random weights, else on omitting or doubling each metric."""
    shares = result.tables.get("weights", ())
    metrics = result.tables["metrics"]
    if shares:
        share = next(cell_value(row["share"]) or 0.0 for row in shares if row["model"] == best)
        phrase = f"with {formatting.format_close(100 * share, 1)}% of random weights"
        yield _stability_claim(formatting.quote_if_ambiguous(best), share >= 0.5, phrase)
        return
    if rank["weight_dependent"] is False:
        yield True, "in this order with any positive weights"
        return
    omitted = "is left out or " * any(row["winner_without"] is not None for row in metrics)
    changes: dict[tuple[str, str], list[str]] = {}
    for row in metrics:
        for column, change in (("winner_without", "left out"), ("winner_doubled", "doubled")):
            winner = re.sub(_AND_MORE, "", str(row[column] if row[column] is not None else best))
            if winner != best:
                changes.setdefault((winner, change), []).append(row["metric"])
    if changes:
        claims = [
            f"{formatting.quote_if_ambiguous(winner)} is first if "
            f"{formatting.join_words(metric_names, most=2, word='or')} is {change}"
            for (winner, change), metric_names in changes.items()
        ]
        yield False, claims[0].replace("is doubled", "has double weight")
    elif metrics:
        yield True, f"if any one metric {omitted}has double weight"


def _split_claims(result: Document, places: Sequence[int], who: str) -> Iterator[StabilityClaim]:
    """Yield the number of splits in which a first model is first; who: its name, if only one."""
    rows = result.tables.get("splits", ())
    k = result.summary["models"]
    splits = len(rows) // k
    wins = sum(any(rows[s * k + i]["rank"] == 1 for i in places) for s in range(splits))
    if splits and (who or 2 * wins > splits):
        yield _stability_claim(who, 2 * wins > splits, f"in {wins} of {splits} splits")
    elif splits:
        yield False, f"other models are first in {splits - wins} of {splits} splits"


def _other_table_answer(result: Document, best: Sequence[str]) -> Iterator[Answer]:
    """Yield the sentence on whether another table of metrics has the same first model."""
    rows = result.tables.get("agreement", ())
    if not rows:
        return
    score = result.parameters["ranked_by"]
    agreement = next((row for row in rows if row["measure"] == score), rows[0])
    first = _first_names(agreement["top_here"])
    other_first = _first_names(agreement["top_there"])
    compared = result.tables["compared"]
    values = (cell_value(row["there"]) for row in compared if row["model"] in other_first[:1])
    value = next(values, None)
    if agreement["same_top"]:
        claim = "the same model is first" if len(first) == 1 else "the same models are first"
    elif score == "desirability" and not value:
        claim = "the desirability of every model is 0"
        other_first = ()
    else:
        are = "is" if len(other_first) == 1 else "are"
        claim = f"{formatting.join_names(other_first)} {are} first"
        if not {*first} & {*other_first}:
            claim += f" instead of {formatting.join_names(first)}"
    tau = cell_value(agreement.get("kendall"))
    words = "" if tau is None else f"; Kendall's τ of the ranks is {formatting.format_number(tau)}"
    opening = f"In {result.parameters['compare']}"
    if agreement["models"] != result.summary["models"]:
        common = {row["model"] for row in compared}
        absent = [name for name in best if name not in common]
        opening += f", which lacks {formatting.join_names(absent)}" if absent else ""
        claim += f" among the {agreement['models']} models of both tables"
    yield Answer("compared", f"{opening}, {claim}{words}.", other_first)


def _first_names(cell: Cell) -> tuple[str, ...]:
    """Return the names of the first models in a cell; none of a cell without a list."""
    return tuple(cell) if isinstance(cell, list) else ()


ONE_BYTE = ("roc_auc", "gini", "average_precision", "ks")  # on counts of any integer type


def needs_only_ranks(metrics: Sequence[str]) -> bool:
    """Return whether all measures depend only on the order of scores."""
    return bool(metrics) and len(measures_needing(metrics, "scores")) == len(metrics)
