"""How a ranking by MLcps reads: who is first, what that depends on, which tables and charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clfeval.pages.columns import MODEL
from clfeval.pages.mlcps.sections import Best, ends, shown
from clfeval.pages.write import ARROWS, DIGITS, close, listed, many, number, show, some, value_of
from clfeval.result import Result, Row
from clfeval.schema import Axis, Chart, Column, Json, Note, Page, Point, Series, Table, of

BOOT, BY_D = "interval=bootstrap", "ranked_by=desirability"
VALUE: Json = {"properties": {"value": {"type": "number"}}}
TABLES = (
    Table("models", (
        MODEL, *of("mlcps_area", "mlcps"), Column("rank", "rank", best="min"),
        *of("mlcps_share", "normalised"), *of("mlcps_area", "order_free lowest highest"),
        *of("mlcps_share", "mean"), Column("sd", "mlcps_share", "SD", best="min"),
        *of("flag", "pareto"), *of("text?", "dominated_by"),
        Column("desirability", "share", when=BY_D, more=VALUE),
        Column("dealbreakers", "text*", when=BY_D),
        Column("first", "bare", when=BOOT, more={
            "description": "share of resamples", "properties": {"value": {"$ref": "#/$defs/part"}},
        }),
        Column("split_mean", "mlcps_split", "mean over splits", "+splits"),
        Column("split_sd", "mlcps_split", "SD over splits", "+splits", best="min"),
        Column("split_wins", "count", when="+splits"),
    ), "", 1, {
        "if": {"properties": {"pareto": {"const": True}}},
        "then": {"properties": {"dominated_by": {"type": "null"}}},
        "else": {"properties": {"dominated_by": {"type": "string"}}},
    }),
    Table("ranks", (
        MODEL, *of("rank", "mlcps order_free lowest highest mean"), Column("sd", "rank", "SD"),
        Column("desirability", "rank", when=BY_D),
        *of("rank", "best_over_orders worst_over_orders"),
        *of("flag?", "order_dependent weight_dependent"),
    ), "", 1),
    Table("metrics", (
        *of("text", "metric"), Column("direction", "text", among=("max", "min")),
        *of("number?", "low high"), *of("weight", "weight"), *of("number", "least average most"),
        Column("winner_without", "text?", more={"description": "null: no polygon without it"}),
        *of("count?", "moved_without"), *of("text?", "winner_doubled"),
        *of("count?", "moved_doubled"),
    ), ""),
    Table("profile", (
        MODEL, *of("text", "metric"), Column("value", "estimate", more=VALUE),
        Column("d", "part", more={"description": "the ray before weighting"}),
        Column("sd", "weight?", "SD", "?",
               more={"description": "of the value over splits, as the table gives it"}),
    ), ""),
    Table("redundant", (
        *of("text", "first second"),
        Column("why", "text", among=("identical", "same measure", "correlated", "opposite")),
        Column("r", "correlation?"), *of("text", "note"),
    ), ""),
    Table("dominance", (MODEL, *of("text+", "dominated_by"))),
    Table("splits", (
        Column("split", "text", more={"pattern": r"^split\d+$"}), MODEL,
        *of("mlcps_split", "mlcps"),
        Column("normalised", "mlcps_split", more={"properties": {"value": {"maximum": 1}}}),
        *of("rank", "rank"),
    ), least=1),
    Table("weights", (MODEL, *of("mlcps_won", "share share_order_free"),
                      *of("mlcps_factor", "factor")), "draws", 1),
    Table("dethroning", (
        *of("text", "metric"), *of("weight", "weight"),
        Column("joint", "weight?", more={"description": "null: no weights dethrone"}),
        *of("text?", "joint_winner"), *of("mlcps_crossing", "lower"), *of("text?", "lower_winner"),
        *of("mlcps_crossing", "upper"), *of("text?", "upper_winner"),
    ), "draws", 3),
    Table("desirability", (
        MODEL, *of("text", "metric goal"), *of("number", "value"),
        Column("d", "mlcps_place", more={"properties": {"value": {"maximum": 1}}}),
        *of("weight", "weight"), *of("flag", "dealbreaker"),
    ), BY_D, 1),
    Table("agreement", (
        *of("text", "measure"), Column("models", "count", more={"minimum": 2}),
        Column("kendall", "mlcps_agreement", "Kendall's τ"),
        Column("spearman", "mlcps_agreement", "Spearman's ρ"),
        *of("text*", "top_here top_there"), *of("flag", "same_top"),
    ), "compare", 1),
    Table("compared", (MODEL, *of("mlcps_place", "here there"), *of("rank", "rank_here rank_there"),
                       Column("moved", "whole?")), "compare", 2),
)  # fmt: skip

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PROFILED, METRICS = 8, 40  # models and metrics of the profile
RADARS, FEWEST, MOST = 3, 3, 12  # radars, and rays of a radar
DOT = "."
DOTS = 5000  # models without a letter that are drawn


def charts(result: Result) -> Iterator[Chart]:
    """Yield what the ranking rests on; every model has a letter."""
    best, metrics = Best.of(result, len(LETTERS)), list(result.parameters["metrics"])
    if metrics:
        yield _profile(best, metrics)
    if FEWEST <= len(metrics) <= MOST:
        yield _radars(best.few(RADARS), metrics)
    series = [
        Series(str(row["model"]), ((at,),), letter=letter)
        for letter, row in zip(LETTERS, best.rows, strict=False) if (at := _point(row))
    ]  # fmt: skip
    if len(series) > 1:
        yield _spread(best, series)


def _values(best: Best) -> Iterator[tuple[float, ...]]:
    """Yield the rays of each model before weighting, in the order of the metrics."""
    for rows in best.of_table("profile"):
        yield tuple(d for row in rows if isinstance(d := row["d"], float))


def _profile(best: Best, metrics: list[str]) -> Chart:
    """Every metric of the best models; one that was flipped stands here as 1 - value."""
    best, ways = best.few(PROFILED), best.result.parameters["directions"]
    flipped = f" {ARROWS['min']} flipped"
    names = tuple(name + flipped * (ways[name] == "min") for name in metrics)
    return Chart(
        "profile", "Metrics as they enter the score: 0 to 1, higher is better", names=names,
        series=tuple(
            Series(name, values=values[:METRICS])
            for name, values in zip(best.names, _values(best), strict=True)
        ),
        left=best.result.summary["models"] - len(best.rows),
        key=(Note("--format csv --table profile"),),
    )  # fmt: skip


def _radars(best: Best, metrics: list[str]) -> Chart:
    """The polygon whose area is the score, of the best models."""
    weights = best.result.parameters["weights"].values()
    longest = max(weights) or 1.0
    return Chart(
        "radar", "Radars of the best: the area is MLcps, the dotted rim a perfect model",
        names=tuple(metrics), weights=tuple(weight / longest for weight in weights),
        series=tuple(
            Series(str(row["model"]), values=values, letter=letter, words=show(row["mlcps"]))
            for letter, row, values in zip(LETTERS, best.rows, _values(best), strict=False)
        ),
    )  # fmt: skip


def _spread(best: Best, series: list[Series]) -> Chart:
    """Every model where its MLcps and the SD of its metrics put it; dots beyond the letters."""
    table = best.result.tables["models"]
    more = len(table) - len(best.rows)
    step = -(-more // DOTS) or 1
    dots = (_point(table[i]) for i in (range(0, len(table), step) if more else ()))
    sample = f", one of {step} drawn" if step > 1 else ""
    series.append(Series("", (tuple(at for at in dots if at),), letter=DOT))
    return Chart(
        "points", "SD of the metrics over MLcps: good and even models are at the lower right",
        Axis("MLcps"), Axis("SD"), tuple(series),
        key=(Note(f"{DOT} {many(more, 'more model')}{sample}"),) if more else (),
    )  # fmt: skip


def _point(row: Row) -> Point | None:
    x, y = value_of(row.get("mlcps")), value_of(row.get("sd"))
    return None if x is None or y is None else (x, y)


MOSTLY = 0.5
NAMED = 12  # metrics named on top


def headline(result: Result) -> list[str]:
    """Say what was read, how it became a polygon, who is first, and how firm that is."""
    return [_read(result), *_scored(result), _verdict(result), *_compared(result)]


def _read(result: Result) -> str:
    summary, other = result.summary, result.parameters.get("compare")
    files = list(result.inputs)
    if other is not None and len(files) > 1 and files[-1].name == other:
        files.pop()
    names = ", ".join(item.name for item in files) or "given values"
    read = f"{many(summary['models'], 'model')}, {many(summary['metrics'], 'metric')}"
    if result.parameters["from"] == "predictions" and files:
        read += f", from predictions of {many(files[0].rows, 'row')}"
        positive = result.parameters.get("positive")
        read += f" (positive: '{positive}')" if positive is not None else ""
    return f"MLcps of {names}: {read}"


def _scored(result: Result) -> Iterator[str]:
    """Name the metrics in the order of the rays, those not taken as they stand, and the limits."""
    parameters = result.parameters
    weights = parameters["weights"].items()
    if weights:
        weighted = [f"{name} (weight {w:g})" if w != 1 else name for name, w in weights]
        yield f"metrics in this order: {some(weighted, NAMED)}"
    flipped = [name for name, way in parameters["directions"].items() if way == "min"]
    scales = {m: s for m, s in parameters["scales"].items() if s is not None and list(s) != [0, 1]}
    rescaled = [f"{metric} from {ends(scale)}" for metric, scale in scales.items()]
    said = [f"rescaled to 0..1: {some(rescaled, NAMED)}"] if rescaled else []
    said += [f"flipped, as lower is better: {some(flipped, NAMED)}"] if flipped else []
    if said:
        yield "; ".join(said)
    if parameters["interval"] == "bootstrap":
        level, resamples = parameters["level"] * 100, many(parameters["resamples"], "resample")
        yield f"{level:g} % intervals: bootstrap, {resamples} of the rows, the same for all models"


def _verdict(result: Result) -> str:
    """Say who is first, what bears that out, and what would put another model first."""
    best = list(result.summary["best"])
    if result.summary["models"] == 1:
        return "one model: nothing to rank it against"
    if not best:
        return "no model has a score, so none is first"
    by = result.parameters["ranked_by"] == "desirability"
    first = Best.of(result).few(len(best))
    if by and not value_of(first.rows[0].get("desirability")):
        return "no model meets what is wanted: every D is 0 (dealbreakers below)"
    who = f"first by {'desirability' if by else 'MLcps'}: {listed(best)}"
    who += ", a tie" if len(best) > 1 else ""
    said = [*_orders(result, best, by=by)]
    if not by and len(best) == 1:
        said += _weights(result, best[0], first.of_table("ranks")[0][0])
    splits = len({row["split"] for row in result.tables.get("splits", ())})
    if splits and not by:
        wins = int(str(first.rows[0]["split_wins"]))
        said.append(_tries(2 * wins > splits, f"in {wins} of {splits} splits"))
    share = value_of(first.rows[0].get("first"))
    if len(best) == 1 and share is not None:
        said.append(_tries(share >= MOSTLY, f"in {close(100 * share, 1)} % of the resamples"))
    firm, not_so = ([words for holds, words in said if holds == wanted] for wanted in (True, False))
    so = f"; so {listed(firm)}" if firm else ""
    but = f"; but {', and '.join(not_so)}" if not_so else ""
    return f"{who}, {_front(result, first.rows)}{so}{but}"


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
            yield False, f"{listed(winners, word='or')} by MLcps{decides}"
    elif others:
        orders = "another order" if len(others) == 1 else "other orders"
        yield False, f"{listed(others, word='or')}, alone or tied, in {orders} of the metrics"
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
        others, which = listed(list(winners), word="or"), listed(list(doubled), word="or")
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
    return f"not all on the Pareto front (off it: {listed([str(row['model']) for row in below])})"


def _compared(result: Result) -> list[str]:
    """Say whether another table of metrics has the same first model."""
    rows = result.tables.get("agreement", ())
    if not rows:
        return []
    decides, other = result.parameters["ranked_by"], result.parameters["compare"]
    row = next((row for row in rows if row["measure"] == decides), rows[0])
    tau = value_of(row.get("kendall"))
    there = row["top_there"]
    first = listed(there) if isinstance(there, list) and there else "none"
    same = "the same first" if row["same_top"] else f"another first, {first}"
    words = f"; Kendall's τ of the ranks {number(tau, DIGITS)}" if tau is not None else ""
    both = row["models"]
    if both == result.summary["models"]:
        return [f"compared with {other}: {same}{words}"]
    gone = [name for name in result.summary["best"] if name not in {
        entry["model"] for entry in result.tables["compared"]}]  # fmt: skip
    lacking = f"{listed(gone)} not in it; " if gone else ""
    return [f"compared with {other}: {lacking}among the {both} models of both, {same}{words}"]


PAGE = Page("mlcps", TABLES, headline, shown, charts)
