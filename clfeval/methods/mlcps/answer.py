"""What mlcps answers: who is first, what bears that out, and what would put another first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clfeval.result import Answer, Result, Row, estimate, value_of
from clfeval.words import close, listed, many, named, number

MOSTLY = 0.5


def mlcps_answer(result: Result, places: Sequence[int]) -> tuple[Answer, ...]:
    """Say who is first and how firmly, and whether another table has the same first model.

    places: of the first models, in the tables of one row for each model.
    """
    return (_verdict(result, places), *_compared(result))


def _verdict(result: Result, places: Sequence[int]) -> Answer:
    best = tuple(result.summary["best"])
    if result.summary["models"] == 1:
        return Answer("one-model", "One model: nothing to rank it against.")
    if not best:
        return Answer("no-score", "No model has a score, so none is first.")
    by = result.parameters["ranked_by"] == "desirability"
    score = "desirability" if by else "mlcps"
    rows = [result.tables["models"][i] for i in places]
    value = estimate(rows[0].get(score))
    if by and not value.value:
        text = "No model meets what is wanted: every D is 0 (dealbreakers below)."
        return Answer("none-desirable", text)
    who = f"First by {'desirability' if by else 'MLcps'}: {named(best)}"
    who += ", a tie" if len(best) > 1 else ""
    said = [*_orders(result, best, by=by)]
    if not by and len(best) == 1:
        said += _weights(result, best[0], result.tables["ranks"][places[0]])
    splits = len({row["split"] for row in result.tables.get("splits", ())})
    if splits and not by:
        wins = int(str(rows[0]["split_wins"]))
        said.append(_tries(2 * wins > splits, f"in {wins} of {splits} splits"))
    share = value_of(rows[0].get("first"))
    if len(best) == 1 and share is not None:
        said.append(_tries(share >= MOSTLY, f"in {close(100 * share, 1)} % of the resamples"))
    firm, not_so = ([words for holds, words in said if holds == wanted] for wanted in (True, False))
    so = f"; so {listed(firm)}" if firm else ""
    but = f"; but {', and '.join(not_so)}" if not_so else ""
    text = f"{who}, {_front(result, rows)}{so}{but}."
    return Answer("first", text, best, score, value.value, value.low, value.high)


Said = tuple[bool, str]  # whether it bears out who is first, and the words


def _tries(most: bool, words: str) -> Said:
    return most, words if most else f"only {words}"


def _orders(result: Result, best: Sequence[str], *, by: bool) -> Iterator[Said]:
    """Say in how many orders of the metrics that is so, and who else is first in some."""
    winners, looked = list(result.summary["winners"]), result.parameters["orders"]
    others = [name for name in winners if name not in best]
    if by:  # D knows no order: the area only stands beside it
        decides = " (the order of the metrics decides)" if len(winners) > 1 else ""
        if others:
            yield False, f"{named(winners, word='or')} by MLcps{decides}"
    elif others:
        orders = "another order" if len(others) == 1 else "other orders"
        yield False, f"{named(others, word='or')}, alone or tied, in {orders} of the metrics"
    elif winners and looked:
        if len(best) > 1:
            yield True, "one of them in every order of the metrics"
        elif looked["all"]:
            yield True, "in every order of the metrics"
        else:
            yield True, f"in all {many(looked['looked_at'], 'order')} of the metrics looked at"


def _weights(result: Result, best: str, rank: Row) -> Iterator[Said]:
    """Say what is known of the weights: from draws of all weights, else one metric at a time."""
    shares, metrics = result.tables.get("weights", ()), result.tables["metrics"]
    if shares:
        share = next(value_of(row["share"]) or 0.0 for row in shares if row["model"] == best)
        yield _tries(share >= MOSTLY, f"with {close(100 * share, 1)} % of the weights drawn")
        factors = [(value, str(row["model"])) for row in shares
                   if (value := value_of(row.get("factor"))) is not None]  # fmt: skip
        if factors:
            yield False, "{1} if weights change {0:.3g}-fold".format(*min(factors))
        return
    if rank["weight_dependent"] is False:
        yield True, "with any weights above 0 in this order"
        return
    changes = [
        (str(winner), str(row["metric"]))
        for row in metrics for winner in (row["winner_without"], row["winner_doubled"])
        if winner is not None and str(winner).split(" (and ")[0] != best
    ]  # fmt: skip
    spared = "left out or " * any(row["winner_without"] is not None for row in metrics)
    if changes:
        winners, doubled = (dict.fromkeys(names) for names in zip(*changes, strict=True))
        others, which = named(list(winners), word="or"), listed(list(doubled), word="or")
        yield False, f"{others} if one metric is {spared}doubled ({which})"
    elif metrics:
        yield True, f"whichever metric is {spared}doubled"


def _front(result: Result, rows: Sequence[Row]) -> str:
    """Say whether any model is at least as good as the first in everything."""
    if result.summary["pareto_front"] == result.summary["models"]:
        return "on the Pareto front as every model is"
    below = [row for row in rows if not row["pareto"]]
    if not below:
        return "on the Pareto front"
    if len(rows) == 1:
        return f"not on the Pareto front (under {rows[0]['dominated_by']})"
    return f"not all on the Pareto front (off it: {named([str(row['model']) for row in below])})"


def _compared(result: Result) -> list[Answer]:
    """Say whether another table of metrics has the same first model."""
    rows = result.tables.get("agreement", ())
    if not rows:
        return []
    decides, other = result.parameters["ranked_by"], result.parameters["compare"]
    row = next((row for row in rows if row["measure"] == decides), rows[0])
    tau = value_of(row.get("kendall"))
    there = row["top_there"]
    first = named(there) if isinstance(there, list) and there else "none"
    same = "the same first" if row["same_top"] else f"another first, {first}"
    words = f"; Kendall's τ of the ranks {number(tau)}" if tau is not None else ""
    both, lacking = row["models"], ""
    gone = [name for name in result.summary["best"] if name not in {
        entry["model"] for entry in result.tables["compared"]}]  # fmt: skip
    if both != result.summary["models"]:
        lacking = f"{named(gone)} not in it; " if gone else ""
        lacking += f"among the {both} models of both, "
    text = f"Compared with {other}: {lacking}{same}{words}."
    return [Answer("compared", text, tuple(there) if isinstance(there, list) else ())]
