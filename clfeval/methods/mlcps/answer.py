"""What mlcps answers: who is first, what bears that out, and what would put another first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clfeval.lazy import LazyRows
from clfeval.result import Answer, Result, Row, estimate, value_of
from clfeval.words import between, close, listed, many, named, number

MOSTLY = 0.5
FEW = 4  # models that are named where one of them is first
_UNKNOWN = "without intervals"
_METRICS = "from metrics alone: no sampling error is in what follows"
AND_MORE = re.compile(r" \(and [\d,]+ more\)$")  # behind the first of several


def mlcps_answer(
    result: Result, places: Sequence[int], equal: Sequence[int] | None
) -> tuple[Answer, ...]:
    """Say who is first and how firmly, and whether another table has the same first model.

    places: of the first models, in the tables of one row for each model; equal: of those that
    cannot be told from the first, None where nothing tells.
    """
    best = tuple(result.summary["best"])
    if not best:
        return (Answer("no-score", "No model has a score, so none is first."),)
    score = result.parameters["ranked_by"]
    rows = [result.tables["models"][i] for i in places]
    value = estimate(rows[0].get(score))
    numbers = (score, value.value, value.low, value.high)
    if result.summary["models"] == 1:
        text = f"One model: nothing to rank it against; {named(best)} has {_score(score, rows[0])}."
        return (Answer("one-model", text, best, *numbers),)
    if score == "desirability" and not value.value:
        return (Answer("none-desirable", "No model meets what is wanted: every D is 0."),)
    if not value.value:
        return (Answer("no-score", "MLcps is 0 for every model, so none is first."),)
    tie = ", a tie," if len(best) > 1 else ""
    by = "desirability" if score == "desirability" else "MLcps"
    who = f"First by {by}: {named(best)}{tie} with {_score(score, rows[0])}"
    text = f"{who}{_margin(result, score, value.value)}, {_front(result, rows)}."
    return (
        Answer("first", text, best, *numbers),
        *_against(result),
        *(() if "comparisons" in result.tables else _told_apart(result, best, equal)),
        *_borne_out(result, best, places, rows, equal or ()),
        *_compared(result, best),
    )


def _against(result: Result) -> Iterator[Answer]:
    """Say how the scores compare with that of the reference."""
    score, reference = result.parameters["ranked_by"], result.parameters["reference"]
    if rows := result.tables.get("comparisons"):
        from clfeval.methods.comparison_answer import comparison_answer

        margin = result.parameters["margin"].get(score)
        yield from comparison_answer(rows, score, reference, margin, result.parameters["level"])


def _score(score: str, row: Row) -> str:
    """Write the score that ranks, of MLcps also as a share of the largest area."""
    value, share = estimate(row.get(score)), value_of(row.get("normalised"))
    if value.value is None:
        return "no score"
    words = between(value.value, value.low, value.high)
    if score == "desirability":
        return f"D {words}"
    return f"{words} ({number(share)} of the largest area)" if share is not None else words


def _margin(result: Result, score: str, value: float | None) -> str:
    """Say how far below the second are."""
    ranks = result.tables["ranks"]
    columns = ranks.columns if isinstance(ranks, LazyRows) else {}  # without making rows
    column = columns[score] if score in columns else [row[score] for row in ranks]
    second = [i for i, rank in enumerate(column) if rank == 2]
    if not second or value is None:
        return ""
    less = value_of(result.tables["models"][second[0]].get(score))
    names = [str(ranks[i]["model"]) for i in second]
    return f", {number(value - less)} above {named(names)}" if less is not None else ""


def _told_apart(
    result: Result, best: Sequence[str], equal: Sequence[int] | None
) -> Iterator[Answer]:
    """Say who may be as good as the first, as far as the rows tell."""
    models = result.tables["models"]
    if len(best) == len(models):
        return
    if equal is None:
        lacking = _METRICS if result.parameters["from"] == "metrics" else _UNKNOWN
        yield Answer("untested", f"Whether the lead is chance cannot be told {lacking}.")
        return
    if not equal:
        text = "Each other model has less, and chance does not explain it."
        yield Answer("significantly-worse", text, tuple(best))
        return
    rows = [models[i] for i in equal]
    names = tuple(str(row["model"]) for row in rows)
    they = "it" if len(best) == 1 else "they"
    text = f"On these rows {they} cannot be told from {named(names, most=6, word='or')}."
    yield Answer("not-significantly-different", text, names)


Said = tuple[bool, str]  # whether it bears out who is first, and the words


def _borne_out(
    result: Result, best: Sequence[str], places: Sequence[int], rows: Sequence[Row],
    equal: Sequence[int],
) -> Iterator[Answer]:  # fmt: skip
    """Say under which other conditions the same model is first, and under which another is.

    equal: as for `mlcps_answer`. Of models that are as good, one is first in most resamples too:
    their share bears out nothing where another cannot be told from it.
    """
    by, one = result.parameters["ranked_by"] == "desirability", len(best) == 1
    who = "it" if one else "one of them"
    said = [*_orders(result, best, by=by)]
    if not by and one:
        said += _weights(result, best[0], result.tables["ranks"][places[0]])
    if not by:
        said += _splits(result, places, who)
    share = value_of(rows[0].get("first"))
    if one and share is not None:
        sure = share >= result.parameters["level"]
        where = f"in {close(100 * share, 1)} % of the resamples"
        if sure and equal:
            alike = named(
                [str(result.tables["models"][i]["model"]) for i in equal], most=3, word="or"
            )
            said.append((False, f"that it is first {where} does not tell it from {alike}"))
        else:
            said.append(_tries(who, sure, where))
    firm, fragile = ([words for holds, words in said if holds == it] for it in (True, False))
    if firm:
        text = f"{who[0].upper()}{who[1:]} is first {listed(firm)}."
        yield Answer("firm", text, tuple(best))
    if fragile:
        yield Answer("fragile", f"But {', and '.join(fragile)}.")


def _tries(who: str, most: bool, words: str) -> Said:
    return most, words if most else f"{who} is first only {words}"


def _one_of(names: Sequence[str]) -> str:
    return named(names, word="or") if len(names) <= FEW else f"one of {many(len(names), 'model')}"


def _orders(result: Result, best: Sequence[str], *, by: bool) -> Iterator[Said]:
    """Say in how many orders of the metrics that is so, and who else is first in some."""
    winners, looked = list(result.summary["winners"]), result.parameters["orders"]
    others = [name for name in winners if name not in set(best)]
    if by:  # D knows no order: the area only stands beside it
        decides = " (the order of the metrics decides)" if len(winners) > 1 else ""
        if others:
            yield False, f"{_one_of(winners)} is first by MLcps{decides}"
    elif others:
        orders = "another order" if len(others) == 1 else "other orders"
        yield False, f"{_one_of(others)} is first, alone or tied, in {orders} of the metrics"
    elif winners and looked:
        if looked["all"]:
            yield True, "in every order of the metrics"
        else:
            yield True, f"in all {many(looked['looked_at'], 'order')} of the metrics looked at"


def _weights(result: Result, best: str, rank: Row) -> Iterator[Said]:
    """Say what is known of the weights: from draws of all weights, else one metric at a time."""
    shares, metrics = result.tables.get("weights", ()), result.tables["metrics"]
    if shares:
        share = next(value_of(row["share"]) or 0.0 for row in shares if row["model"] == best)
        yield _tries("it", share >= MOSTLY, f"with {close(100 * share, 1)} % of the weights drawn")
        return
    if rank["weight_dependent"] is False:
        yield True, "with any weights above 0 in this order"
        return
    changes = [
        (AND_MORE.sub("", str(winner)), str(row["metric"]))
        for row in metrics for winner in (row["winner_without"], row["winner_doubled"])
        if winner is not None and AND_MORE.sub("", str(winner)) != best
    ]  # fmt: skip
    spared = "left out or " * any(row["winner_without"] is not None for row in metrics)
    if changes:
        winners, which = (list(dict.fromkeys(names)) for names in zip(*changes, strict=True))
        metric = named(which, word="or")
        yield False, f"{_one_of(winners)} is first if one metric is {spared}doubled ({metric})"
    elif metrics:
        yield True, f"whichever metric is {spared}doubled"


def _splits(result: Result, places: Sequence[int], who: str) -> Iterator[Said]:
    """Say in how many splits one of the first models is first."""
    rows, k = result.tables.get("splits", ()), result.summary["models"]
    splits = len(rows) // k
    if splits:
        wins = sum(any(rows[s * k + i]["rank"] == 1 for i in places) for s in range(splits))
        yield _tries(who, 2 * wins > splits, f"in {wins} of {splits} splits")


def _front(result: Result, rows: Sequence[Row]) -> str:
    """Say whether any model is at least as good as the first in everything."""
    if result.summary["pareto_front"] == result.summary["models"]:
        return "on the Pareto front as every model is"
    below = [row for row in rows if not row["pareto"]]
    if not below:
        return "on the Pareto front"
    if len(rows) == 1:
        return f"not on the Pareto front (under {named([str(rows[0]['dominated_by'])])})"
    return f"not all on the Pareto front (off it: {named([str(row['model']) for row in below])})"


def _compared(result: Result, best: Sequence[str]) -> Iterator[Answer]:
    """Say whether another table of metrics has the same first model."""
    rows = result.tables.get("agreement", ())
    if not rows:
        return
    decides, other = result.parameters["ranked_by"], result.parameters["compare"]
    row = next((row for row in rows if row["measure"] == decides), rows[0])
    here, there = (tuple(names) if isinstance(names, list) else ()
                   for names in (row["top_here"], row["top_there"]))  # fmt: skip
    places = result.tables["compared"]
    value = next((value_of(one["there"]) for one in places if one["model"] in there[:1]), None)
    if row["same_top"]:
        first = "the same first"
    elif decides == "desirability" and not value:
        first, there = "no model meets there what is wanted", ()
    else:
        first = f"{'first there' if {*here} & {*there} else 'another first'}, {named(there)}"
    tau = value_of(row.get("kendall"))
    words = ""
    if tau is not None:
        words = f"; Kendall's τ of the ranks {number(tau)} (1: the same order)"
    lacking = ""
    if row["models"] != result.summary["models"]:
        both = {one["model"] for one in places}
        gone = [name for name in best if name not in both]
        lacking = f"{named(gone)} not in it; " if gone else ""
        lacking += f"among the {row['models']} models of both, "
    text = f"Compared with {other}: {lacking}{first}{words}."
    yield Answer("compared", text, there)
