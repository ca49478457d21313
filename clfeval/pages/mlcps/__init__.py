"""The screen of mlcps: its tables, its charts and what stands above them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from clfeval.document import Document, Row, value_of
from clfeval.pages.columns import MODEL
from clfeval.pages.glossary import MLCPS, MLCPS_HEADINGS
from clfeval.pages.mlcps.best import Best
from clfeval.pages.mlcps.sections import ends, shown
from clfeval.pages.write import joined, show, without_model
from clfeval.schema import Axis, Chart, Column, Json, Note, Page, Point, Series, Table, of
from clfeval.words import many, quoted

BOOT, BY_D = "resamples", "ranked_by=desirability"
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
            "description": "share of bootstrap samples in which it is first",
            "properties": {"value": {"$ref": "#/$defs/part"}},
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
    Table("weights", (MODEL, *of("mlcps_won", "share share_order_free")), "draws", 1),
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


def charts(result: Document) -> Iterator[Chart]:
    """Yield the metrics, radars and spread of the best models; every model has a letter."""
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
    """Plot every metric of the best models; where less is better, 1 - value."""
    best, ways = best.few(PROFILED), best.result.parameters["directions"]
    names = tuple("1 - " * (ways[name] == "min") + name for name in metrics)
    return Chart(
        "profile", "Metrics scaled to 0 to 1 (1 is best)", names=names,
        series=tuple(
            Series(name, values=values[:METRICS])
            for name, values in zip(best.names, _values(best), strict=True)
        ),
        left=best.result.summary["models"] - len(best.rows),
        key=(Note("--format csv --show profile"),), name="profile",
    )  # fmt: skip


def _radars(best: Best, metrics: list[str]) -> Chart:
    """Plot the polygons of the best models, whose area is the score."""
    weights = best.result.parameters["weights"].values()
    longest = max(weights) or 1.0
    return Chart(
        "radar", "Radar charts of the best models (area: MLcps; dotted: perfect model)",
        names=tuple(metrics), weights=tuple(weight / longest for weight in weights),
        series=tuple(
            Series(str(row["model"]), values=values, letter=letter, words=show(row["mlcps"]))
            for letter, row, values in zip(LETTERS, best.rows, _values(best), strict=False)
        ),
        name="radars",
    )  # fmt: skip


def _spread(best: Best, series: list[Series]) -> Chart:
    """Plot the SD of the metrics of every model over MLcps; dots beyond the letters."""
    table = best.result.tables["models"]
    more = len(table) - len(best.rows)
    step = -(-more // DOTS) or 1
    dots = (_point(table[i]) for i in (range(0, len(table), step) if more else ()))
    sample = f", 1 in {step} shown" if step > 1 else ""
    series.append(Series("", (tuple(at for at in dots if at),), letter=DOT))
    return Chart(
        "points", "SD of the metrics by MLcps (best models at the lower right)",
        Axis("MLcps"), Axis("SD"), tuple(series),
        key=(Note(f"{DOT} {many(more, 'more model')}{sample}"),) if more else (), name="scatter",
    )  # fmt: skip


def _point(row: Row) -> Point | None:
    x, y = value_of(row.get("mlcps")), value_of(row.get("sd"))
    return None if x is None or y is None else (x, y)


OF_ACCURACY = {"accuracy", "error_rate", "tar", "tor"}
NAMED = 130  # characters of names of metrics on top, about


def headline(result: Document) -> list[str]:
    """Return what was read, and the order and scales of the metrics."""
    return [_read(result), *_scored(result)]


def _read(result: Document) -> str:
    summary, other = result.summary, result.parameters.get("compare")
    files = list(result.inputs)
    if other is not None and len(files) > 1 and files[-1].name == other:
        files.pop()
    names = joined([item.name for item in files]) or "given values"
    read, counted = many(summary["metrics"], "metric"), ""
    if result.parameters["from"] == "predictions" and files:
        positive = result.parameters.get("positive")
        counted = f" (positive: {quoted(str(positive))})" if positive is not None else ""
        read = many(files[0].rows, "row")
    return f"MLcps of {names}: {many(summary['models'], 'model')}, {read}{counted}"


def _scored(result: Document) -> Iterator[str]:
    """Yield the metrics in the order of the rays with their scales, and the accuracy of chance."""
    parameters = result.parameters
    weights = parameters["weights"].items()
    if weights:
        weighted = [f"{quoted(name)} (weight {w:g})" if w != 1 else quoted(name)
                    for name, w in weights]  # fmt: skip
        scales = [(metric, scale) for metric, scale in parameters["scales"].items()
                  if scale is not None and list(scale) != [0, 1]]  # fmt: skip
        rescaled = _some([f"{quoted(metric)} from {ends(scale)}" for metric, scale in scales])
        said = f"; rescaled: {rescaled}" if scales else ""
        yield f"Metrics in order: {_some(weighted)}{said}"
        if OF_ACCURACY & {*parameters["metrics"]} and "prevalence" in result.summary:
            yield without_model([result.summary["prevalence"]])


def _some(names: Sequence[str]) -> str:
    """List the names that fit in a line or two, at least the first two."""
    ends_at = accumulate(len(name) + 2 for name in names)
    most = max(sum(end <= NAMED for end in ends_at), 2)
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")


PAGE = Page(
    "mlcps", TABLES, headline, shown, charts, parts=("firm", "changes", "goals"),
    plots=("profile", "radars", "scatter"), glossary=MLCPS, headings=MLCPS_HEADINGS,
)  # fmt: skip
