"""Measures that mlcps computes from predictions, and the sentences of its result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from clfeval import formatting
from clfeval.document import Answer, Document, Row, as_estimate, cell_value
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
    made = (
        measure.compute is not None
        and measure.needs in requested.NEEDS["all"]
        and measure.id != requested.NET_BENEFIT
    )
    return made and measure.best in ("max", "min")


MLCPS_MEASURES = requested.AvailableMeasures(
    "mlcps",
    [
        one.id
        for one in CATALOG.values()
        if _is_computable(one) and one.id not in _DUPLICATE_MEASURES[1:]
    ],
    [name for name in requested.SETS if name != requested.ORDINAL],
)
MEASURED = tuple(  # without a parameter
    one
    for one in MLCPS_MEASURES.ids
    if one not in _DUPLICATE_MEASURES
    and None not in [each.default for each in parameters_of(CATALOG[one]).values()]
)


@cache
def measure_by_id(name: str) -> Measure:
    """Return a measure by its id and parameters, as `parse_measure_names` writes them."""
    text, _, settings = name.partition(":")
    measure = CATALOG[text]
    given = requested.parse_measure_settings(name, settings, measure) if settings else {}
    return measure.with_settings(**requested.measure_arguments(measure, given))


def measures_needing(names: Sequence[str], *needs: str) -> list[str]:
    """Return those measures that are computed from one of these statistics."""
    return [name for name in names if measure_by_id(name).needs in needs]


def parse_measure_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return measures by id and parameters without duplicates; UsageError if not computed here.

    Of a set those that lie within 0..1, without duplicates.
    """
    found: dict[str, None] = {}
    for text in names:
        key, members = text.strip().casefold(), list[str]()
        if key not in requested.SETS:
            found[_parse_measure_name(text)] = None
            continue
        for one in requested.parse_measures((key,), FLAG) if key != "default" else ():
            known = one.name in MEASURED and (one.measure.low, one.measure.high) == (0, 1)
            if known and not any(equivalence_formula(other, one.name) for other in members):
                members.append(one.name)
        if not members and key != "default":
            what = f"{OPTION}{FLAG}{END}: set '{key}' has no measure that mlcps computes"
            raise UsageError.new(what, "unknown-measure", hint="name measures or another set")
        found |= dict.fromkeys(members or DEFAULT)
    return tuple(found)


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
    # for a parameter
    asks = measure.id in MLCPS_MEASURES.ids and measure.id not in (*MEASURED, *_DUPLICATE_MEASURES)
    known = None if settings or asks else match_measure(name, MEASURED)
    if known is not None:
        measure = CATALOG[known]
    elif not _is_computable(measure):
        hint = f"for the available measures: {COMMAND}clfeval mlcps --explain measures{END}"
        if measure.id == requested.NET_BENEFIT:
            hint = f"give a threshold probability, for example {requested.AT_RISK}:t=0.1"
        elif measure.needs in requested.NEEDS["all"]:
            hint = "neither higher nor lower values of it are better"
        what = f"{OPTION}{FLAG}{END}: {measure.id} is not available in mlcps"
        raise UsageError.new(what, "unknown-measure", hint=hint)
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
    who = f"{formatting.join_names(best)} {'has' if len(best) == 1 else 'share'} the highest"
    lead = _format_lead(result, score, value.value)
    below = [str(row["model"]) for row in rows if not row["pareto"]]
    if below and len(rows) == 1:
        other = formatting.quote_if_ambiguous(str(rows[0]["dominated_by"]))
        lead += f", but {other} dominates it in every metric"
    elif below:
        are = "is" if len(below) == 1 else "are"
        lead += f", but {formatting.join_names(below)} {are} not on the Pareto front"
    text = f"{who} {_format_score(result, rows[0])}{lead}."
    others = [*_ties_answer(result, best, equal)]
    if compared := result.tables.get("comparisons"):
        margin, to, level = (result.parameters[name] for name in ("margin", "reference", "level"))
        others = [*reference_answers(compared, score, to, margin.get(score), level)]
    return (
        Answer("first", text, best, *numbers),
        *others,
        *_stability_answers(result, best, places, rows, equal or ()),
        *_other_table_answer(result, best),
    )


def _format_score(result: Document, row: Row) -> str:
    """Format the score that ranks; MLcps without an interval also as a share of its maximum."""
    score, level = result.parameters["ranked_by"], result.parameters["level"]
    value, share = as_estimate(row.get(score)), cell_value(row.get("normalised"))
    title = "desirability" if score == "desirability" else "MLcps"
    if value.value is None:
        return f"{title} is undefined"
    words = f"{title}: {formatting.with_interval(value.value, value.low, value.high, level)}"
    part = score == "mlcps" and share is not None and value.low is None
    return f"{words} ({formatting.format_number(share or 0.0)} of the maximum)" if part else words


def _format_lead(result: Document, score: str, value: float) -> str:
    """Format the difference from the second models."""
    ranks = result.tables["ranks"]
    second = [i for i, rank in enumerate(column_values(ranks, score)) if rank == 2]
    less = cell_value(result.tables["models"][second[0]].get(score)) if second else None
    if less is None:
        return ""
    names = formatting.join_names([str(ranks[i]["model"]) for i in second])
    return f", {formatting.format_number(value - less)} above {names}"


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
        names = tuple(str(models[i]["model"]) for i in equal)
        worse = [name for row in models if (name := str(row["model"])) not in {*best, *names}]
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
    by, one = result.parameters["ranked_by"] == "desirability", len(best) == 1
    who = formatting.quote_if_ambiguous(best[0]) if one else "one of them"
    said = [*_order_claims(result, best, by=by)]
    if not by:
        rank = result.tables["ranks"][places[0]]
        said += _weight_claims(result, best[0], rank) if one else ()
        said += _split_claims(result, places, who if one else "")
    share = cell_value(rows[0].get("first"))
    if one and share is not None:
        stable = share >= result.parameters["level"]
        where = f"in {formatting.format_close(100 * share, 1)}% of bootstrap samples"
        if stable and equal:
            alike = formatting.join_names(
                [str(result.tables["models"][i]["model"]) for i in equal], most=3
            )
            tied = f"{alike} {'is' if len(equal) == 1 else 'are'} tied with {who}"
            said.append((False, f"{tied}, although {who} is first {where}"))
        else:
            said.append(_stability_claim(who, stable, where))
    stable_, fragile = ([words for holds, words in said if holds == it] for it in (True, False))
    if stable_:
        start = who if one else "At least one of them"
        yield Answer("firm", f"{start} is first {formatting.join_words(stable_)}.", tuple(best))
    if fragile:
        yield Answer("fragile", f"But {'. Also, '.join(fragile)}.")


def _stability_claim(who: str, most: bool, words: str) -> StabilityClaim:
    return most, words if most else f"{who} is first {words.replace(' ', ' only ', 1)}"


def _order_claims(result: Document, best: Sequence[str], *, by: bool) -> Iterator[StabilityClaim]:
    """Yield the number of orders of metrics in which it is first, and the other first models."""
    winners, looked = list(result.summary["winners"]), result.parameters["orders"]
    others = [name for name in winners if name not in set(best)]
    named = winners if by else others
    one = f"one of {formatting.format_count(len(named), 'model')}"
    if 0 < len(named) <= FEW:
        one = formatting.join_names(named, word="or")
    if by and others:  # D does not depend on the order, only the area does
        decides = ", depending on the order of the metrics" if len(winners) > 1 else ""
        yield False, f"by MLcps {one} is first{decides}"
    elif others:
        orders = "another order" if len(others) == 1 else "other orders"
        yield False, f"{one} is first, alone or tied, in {orders} of the metrics"
    elif winners and looked and not by:
        count = formatting.format_count(looked["looked_at"], "evaluated order")
        where = "every order" if looked["all"] else f"all {count}"
        yield True, f"in {where} of the metrics"


def _weight_claims(result: Document, best: str, rank: Row) -> Iterator[StabilityClaim]:
    """Yield the phrase on random weights, else on omitting or doubling each metric."""
    shares, metrics = result.tables.get("weights", ()), result.tables["metrics"]
    if shares:
        share = next(cell_value(row["share"]) or 0.0 for row in shares if row["model"] == best)
        where = f"with {formatting.format_close(100 * share, 1)}% of random weights"
        yield _stability_claim(formatting.quote_if_ambiguous(best), share >= 0.5, where)
        return
    if rank["weight_dependent"] is False:
        yield True, "in this order with any positive weights"
        return
    omitted = "is left out or " * any(row["winner_without"] is not None for row in metrics)
    changes: dict[tuple[str, str], list[str]] = {}
    for row in metrics:
        for column, how in (("winner_without", "left out"), ("winner_doubled", "doubled")):
            winner = re.sub(_AND_MORE, "", str(row[column] if row[column] is not None else best))
            if winner != best:
                changes.setdefault((winner, how), []).append(str(row["metric"]))
    if changes:
        said = [
            f"{formatting.quote_if_ambiguous(winner)} is first if "
            f"{formatting.join_words(which, most=2, word='or')} is {how}"
            for (winner, how), which in changes.items()
        ]
        yield False, said[0].replace("is doubled", "has double weight")
    elif metrics:
        yield True, f"if any one metric {omitted}has double weight"


def _split_claims(result: Document, places: Sequence[int], who: str) -> Iterator[StabilityClaim]:
    """Yield the number of splits in which a first model is first; who: its name, if only one."""
    rows, k = result.tables.get("splits", ()), result.summary["models"]
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
    decides, other = result.parameters["ranked_by"], result.parameters["compare"]
    row = next((row for row in rows if row["measure"] == decides), rows[0])
    here, there = (
        tuple(names) if isinstance(names, list) else ()
        for names in (row["top_here"], row["top_there"])
    )
    places = result.tables["compared"]
    value = next((cell_value(one["there"]) for one in places if one["model"] in there[:1]), None)
    if row["same_top"]:
        first = "the same model is first" if len(here) == 1 else "the same models are first"
    elif decides == "desirability" and not value:
        first, there = "the desirability of every model is 0", ()
    else:
        first = f"{formatting.join_names(there)} {'is' if len(there) == 1 else 'are'} first"
        first += "" if {*here} & {*there} else f" instead of {formatting.join_names(here)}"
    tau = cell_value(row.get("kendall"))
    words = "" if tau is None else f"; Kendall's τ of the ranks is {formatting.format_number(tau)}"
    where = f"In {other}"
    if row["models"] != result.summary["models"]:
        both = {one["model"] for one in places}
        gone = [name for name in best if name not in both]
        where += f", which lacks {formatting.join_names(gone)}" if gone else ""
        first += f" among the {row['models']} models of both tables"
    yield Answer("compared", f"{where}, {first}{words}.", there)


ONE_BYTE = ("roc_auc", "gini", "average_precision", "ks")  # on counts of any integer type


def needs_only_ranks(metrics: Sequence[str]) -> bool:
    """Return whether all measures depend only on the order of scores."""
    return bool(metrics) and len(measures_needing(metrics, "scores")) == len(metrics)
