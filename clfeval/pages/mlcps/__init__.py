"""The page of mlcps: its tables with the meanings of their columns, charts and headline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from clfeval.document import Document
from clfeval.formatting import format_count, quote_if_ambiguous
from clfeval.pages.chart import Axis, Chart, Note, Series, row_point
from clfeval.pages.mlcps.sections import BestModels, format_range, page_tables
from clfeval.pages.schema import SHARED, Column, Json, Page, Table, cols
from clfeval.pages.table_parts import MODEL, format_cell, join_names, majority_class_note
from clfeval.placeholders import END, OPTION

BOOT, BY_D = "resamples", "ranked_by=desirability"
AT_MOST_1: Json = {"properties": {"value": {"maximum": 1}}}
VALUE: Json = {"properties": {"value": {"type": "number"}}}
TABLES = (
    Table(
        "models",
        (
            MODEL,
            *cols("mlcps_area", "mlcps"),
            Column("rank", "rank", best="min"),
            *cols("mlcps_share", "normalised"),
            *cols("mlcps_area", "order_free lowest highest"),
            *cols("mlcps_share", "mean"),
            Column("sd", "mlcps_share", "SD", best="min"),
            *cols("flag", "pareto"),
            *cols("text?", "dominated_by"),
            Column("desirability", "share", when=BY_D, json_schema=VALUE),
            Column("dealbreakers", "text*", when=BY_D),
            Column(
                "first",
                "bare",
                when=BOOT,
                json_schema={
                    "description": "share of bootstrap samples in which it is first",
                    "properties": {"value": {"$ref": "#/$defs/part"}},
                },
            ),
            Column("split_mean", "mlcps_split", "mean over splits", "+splits"),
            Column("split_sd", "mlcps_split", "SD over splits", "+splits", best="min"),
            Column("split_wins", "count", when="+splits"),
        ),
        "",
        1,
        {
            "if": {"properties": {"pareto": {"const": True}}},
            "then": {"properties": {"dominated_by": {"type": "null"}}},
            "else": {"properties": {"dominated_by": {"type": "string"}}},
        },
    ),
    Table(
        "ranks",
        (
            MODEL,
            *cols("rank", "mlcps order_free lowest highest mean"),
            Column("sd", "rank", "SD"),
            Column("desirability", "rank", when=BY_D),
            *cols("rank", "best_over_orders worst_over_orders"),
            *cols("flag?", "order_dependent weight_dependent"),
        ),
        "",
        1,
    ),
    Table(
        "metrics",
        (
            *cols("text", "metric"),
            Column("direction", "text", among=("max", "min")),
            *cols("number?", "low high"),
            *cols("weight", "weight"),
            *cols("number", "least average most"),
            Column(
                "winner_without",
                "text?",
                json_schema={"description": "null: no polygon without it"},
            ),
            *cols("count?", "moved_without"),
            *cols("text?", "winner_doubled"),
            *cols("count?", "moved_doubled"),
        ),
        "",
    ),
    Table(
        "profile",
        (
            MODEL,
            *cols("text", "metric"),
            Column("value", "estimate", json_schema=VALUE),
            Column("d", "part", json_schema={"description": "the ray before weighting"}),
            Column(
                "sd",
                "weight?",
                "SD",
                "?",
                json_schema={"description": "of the value over splits, as the table gives it"},
            ),
        ),
        "",
    ),
    Table(
        "redundant",
        (
            *cols("text", "first second"),
            Column("why", "text", among=("identical", "same measure", "correlated", "opposite")),
            Column("r", "correlation?"),
            *cols("text", "note"),
        ),
        "",
    ),
    Table("dominance", (MODEL, *cols("text+", "dominated_by"))),
    Table(
        "splits",
        (
            Column("split", "text", json_schema={"pattern": r"^split\d+$"}),
            MODEL,
            *cols("mlcps_split", "mlcps"),
            *cols("mlcps_split", "normalised", json_schema=AT_MOST_1),
            *cols("rank", "rank"),
        ),
        min_rows=1,
    ),
    Table("weights", (MODEL, *cols("mlcps_won", "share share_order_free")), "draws", 1),
    Table(
        "desirability",
        (
            MODEL,
            *cols("text", "metric goal"),
            *cols("number", "value"),
            *cols("mlcps_place", "d", json_schema=AT_MOST_1),
            *cols("weight", "weight"),
            *cols("flag", "dealbreaker"),
        ),
        BY_D,
        1,
    ),
    Table(
        "agreement",
        (
            *cols("text", "measure"),
            Column("models", "count", json_schema={"minimum": 2}),
            Column("kendall", "mlcps_agreement", "Kendall's τ"),
            Column("spearman", "mlcps_agreement", "Spearman's ρ"),
            *cols("text*", "top_here top_there"),
            *cols("flag", "same_top"),
        ),
        "compare",
        1,
    ),
    Table(
        "compared",
        (
            MODEL,
            *cols("mlcps_place", "here there"),
            *cols("rank", "rank_here rank_there"),
            Column("moved", "whole?"),
        ),
        "compare",
        2,
    ),
)

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MAX_PROFILED, MAX_METRICS = 8, 40  # models and metrics of the profile
MAX_RADARS, MIN_RAYS, MAX_RAYS = 3, 3, 12  # radars, and rays of a radar
DOT_LETTER = "."
MAX_DOTS = 5000  # models without a letter that are drawn


def page_charts(result: Document) -> Iterator[Chart]:
    """Yield charts of metrics, radars and spread of the best models; every model has a letter."""
    best_models = BestModels.from_result(result, len(LETTERS))
    metrics = list(result.parameters["metrics"])
    if metrics:
        yield _profile(best_models, metrics)
    if MIN_RAYS <= len(metrics) <= MAX_RAYS:
        yield _radars(best_models, metrics)
    yield from _scatter(best_models)


def _profile(best_models: BestModels, metrics: Sequence[str]) -> Chart:
    """Return the chart of the scaled metrics of the best models."""
    models = best_models.head(MAX_PROFILED)
    directions = best_models.result.parameters["directions"]
    return Chart(
        "profile",
        "Metrics scaled to 0 to 1 (1 is best)",
        names=tuple("1 - " * (directions[name] == "min") + name for name in metrics),
        series=tuple(
            Series(name, values=values[:MAX_METRICS])
            for name, values in zip(models.names, _ray_values(models), strict=True)
        ),
        left=best_models.result.summary["models"] - len(models.rows),
        key=(Note(f"{OPTION}--format csv --show profile{END}"),),
        name="profile",
    )


def _radars(best_models: BestModels, metrics: Sequence[str]) -> Chart:
    """Return the radars of the best models, with rays as long as the weights."""
    models = best_models.head(MAX_RADARS)
    weights = best_models.result.parameters["weights"].values()
    longest = max(weights) or 1.0
    return Chart(
        "radar",
        "Radar charts of the best models (area: MLcps; dotted: perfect model)",
        names=tuple(metrics),
        weights=tuple(weight / longest for weight in weights),
        series=tuple(
            Series(name, values=values, letter=letter, words=format_cell(row["mlcps"]))
            for letter, name, row, values in zip(
                LETTERS, models.names, models.rows, _ray_values(models), strict=False
            )
        ),
        name="radars",
    )


def _scatter(best_models: BestModels) -> Iterator[Chart]:
    """Yield the spread of the metrics by MLcps: letters for the best models, dots for others."""
    series = [
        Series(row["model"], ((point,),), letter=letter)
        for letter, row in zip(LETTERS, best_models.rows, strict=False)
        if (point := row_point(row, "mlcps", "sd"))
    ]
    if len(series) < 2:
        return
    model_rows = best_models.result.tables["models"]
    unlettered_count = len(model_rows) - len(best_models.rows)
    step = -(-unlettered_count // MAX_DOTS) or 1
    sampled_indices = range(0, len(model_rows), step) if unlettered_count else ()
    dot_points = (row_point(model_rows[index], "mlcps", "sd") for index in sampled_indices)
    series.append(Series("", (tuple(point for point in dot_points if point),), letter=DOT_LETTER))
    key: tuple[Note, ...] = ()
    if unlettered_count:
        sample_clause = f", 1 in {step} shown" if step > 1 else ""
        key = (Note(f"{DOT_LETTER} {format_count(unlettered_count, 'more model')}{sample_clause}"),)
    yield Chart(
        "points",
        "SD of the metrics by MLcps (best models at the lower right)",
        Axis("MLcps"),
        Axis("SD"),
        tuple(series),
        key=key,
        name="scatter",
    )


def _ray_values(best_models: BestModels) -> Iterator[tuple[float, ...]]:
    """Yield the rays of each model before weighting, in the order of the metrics."""
    for rows in best_models.of_table("profile"):
        rays = (row["d"] for row in rows)
        yield tuple(ray for ray in rays if isinstance(ray, float))


NAMES_WIDTH = 130  # characters of names of metrics on top, about


def headline(result: Document) -> list[str]:
    """Return the headline: inputs, and the order and scales of the metrics."""
    summary = result.summary
    parameters = result.parameters
    files = list(result.inputs)
    compared_file = parameters.get("compare")
    if compared_file is not None and len(files) > 1 and files[-1].name == compared_file:
        files.pop()
    names_text = join_names([file.name for file in files]) or "given values"
    size_phrase = format_count(summary["metrics"], "metric")
    if parameters["from"] == "predictions" and files:
        size_phrase = format_count(files[0].rows, "row")
        if (positive := parameters.get("positive")) is not None:
            size_phrase += f" (positive: {quote_if_ambiguous(str(positive))})"
    lines = [f"MLcps of {names_text}: {format_count(summary['models'], 'model')}, {size_phrase}"]
    if weights := parameters["weights"].items():
        weighted_names = [
            f"{quote_if_ambiguous(name)} (weight {weight:g})"
            if weight != 1
            else quote_if_ambiguous(name)
            for name, weight in weights
        ]
        rescaled_metrics = [
            f"{quote_if_ambiguous(metric)} from {format_range(scale)}"
            for metric, scale in parameters["scales"].items()
            if scale is not None and list(scale) != [0, 1]
        ]
        scales_clause = f"; rescaled: {_fit_names(rescaled_metrics)}" if rescaled_metrics else ""
        lines.append(f"Metrics in order: {_fit_names(weighted_names)}{scales_clause}")
        if {"accuracy", "error_rate", "tar", "tor"} & {
            *parameters["metrics"]
        } and "prevalence" in summary:
            lines.append(majority_class_note([summary["prevalence"]]))
    return lines


def _fit_names(names: Sequence[str]) -> str:
    """Return the names that fit in a line or two, at least the first two, and how many are left."""
    end_positions = accumulate(len(name) + 2 for name in names)
    max_names = max(sum(end_position <= NAMES_WIDTH for end_position in end_positions), 2)
    omitted_count = len(names) - max_names
    return ", ".join(names[:max_names]) + (
        f" and {omitted_count} more" if omitted_count > 0 else ""
    )


_RANKED = {
    "mlcps": "MLcps",
    "order_free": "the order-free score",
    "lowest": "the lowest score",
    "highest": "the highest score",
    "mean": "the mean of the metrics",
    "desirability": "D",
}
GLOSSARY: Mapping[str, str] = {
    **SHARED,
    **{f"ranks.{name}": f"rank by {words}, largest first" for name, words in _RANKED.items()},
    "ranks.sd": "rank by the SD of the metrics, smallest first",
    "mlcps": "area of the polygon of the metrics in a radar chart",
    "normalised": "MLcps / MLcps of a perfect model",
    "order_free": "mean area over all orders of the metrics",
    "lowest": "smallest area over all orders of the metrics",
    "highest": "largest area over all orders of the metrics",
    "mean": "unweighted mean of the metrics",
    "sd": "unweighted standard deviation of the metrics",
    "rank": "rank by MLcps or D, 1 the best; equal scores share a rank",
    "splits.rank": "rank by MLcps in this split, 1 the best",
    "bar": "normalised MLcps, D or the share as a bar from 0 to 1",
    "ranks": "best and worst rank by MLcps over all orders of the metrics",
    "pareto": "whether no model is at least as good in every metric and goal and better in one",
    "dominated_by": "models at least as good in every metric and goal, and better in one",
    "desirability": "geometric mean of the desirabilities of the metrics, 0 to 1",
    "dealbreakers": "metrics with desirability 0, which makes D 0",
    "dealbreaker": "whether the desirability is 0, which makes D 0",
    "metrics with d = 0": "number of metrics that make the desirability D 0",
    "models.first": "share of bootstrap samples in which the model is first (alone or tied)",
    "split_mean": "mean of MLcps over the splits",
    "split_sd": "standard deviation of MLcps over the splits",
    "split_wins": "number of splits in which the model is first",
    "best_over_orders": "best rank by MLcps over all orders of the metrics",
    "worst_over_orders": "worst rank by MLcps over all orders of the metrics",
    "order_dependent": "whether the rank by MLcps depends on the order of the metrics",
    "weight_dependent": "whether the rank by MLcps depends on the weights",
    "metric": "metric of the table, or measure of its predictions",
    "ray": "position of the metric in the radar chart, from 1",
    "scale": "range that is rescaled to 0 to 1",
    "direction": "max if higher is better, min if lower is better",
    "low": "lower bound of the rescaled range; none if values are unchanged",
    "high": "upper bound of the rescaled range; none if values are unchanged",
    "weight": "weight of the metric, 1 by default",
    "least": "smallest value of any model",
    "average": "mean of the values of all models",
    "most": "largest value of any model",
    "winner_without": "first model by MLcps without the metric",
    "moved_without": "number of models whose rank changes without the metric",
    "winner_doubled": "first model by MLcps with double weight of the metric",
    "moved_doubled": "number of models whose rank changes with double weight",
    "ranks changed": "number of models whose rank by MLcps changes",
    "value": "value of the metric, given or measured",
    "profile.value": "value of the metric; its interval is closed-form (as DeLong) if there is "
    "one, else bootstrap",
    "d": "rescaled value before weighting, 0 to 1, higher is better",
    "desirability.d": "desirability of the value, 0 to 1",
    "profile.sd": "standard deviation over splits, as given in the table",
    "first": "first metric of the pair",
    "second": "second metric of the pair",
    "why": "identical values, the same measure, or a correlation near 1 or -1",
    "r": "correlation of the two metrics over the models",
    "note": "why the two metrics are redundant",
    "split": "cross-validation split, numbered as in the table",
    "share": "share of random weights with which the model is first by MLcps; the interval is the "
    "simulation error",
    "share_order_free": "share of random weights with which it is first by the order-free score",
    "result": "outcome if the table has no rows",
    "goal": f"goal for the metric in the file of {OPTION}--desirability{END}",
    "models": "number of models in both tables",
    "kendall": "Kendall's τ-b of the ranks in both tables: 1 same order, -1 reversed",
    "spearman": "Spearman's ρ of the ranks in both tables: 1 same order, -1 reversed",
    "top_here": "first model in this table, among those in both",
    "top_there": "first model in the other table, among those in both",
    "same_top": "whether the same models are first in both tables",
    "here": "the score in this table",
    "there": "the score in the other table",
    "rank_here": "rank in this table, among the models in both",
    "rank_there": "rank in the other table, among the models in both",
    "moved": "rank in the other table - rank here",
}
HEADINGS: Mapping[str, str] = {
    "first in bootstrap": "models.first",
    "splits won": "split_wins",
    "mean MLcps": "split_mean",
    "Pareto front": "pareto",
    "dominated by": "dominated_by",
    "depends on order": "order_dependent",
    "depends on weights": "weight_dependent",
    "order-free share": "share_order_free",
    "d of …": "desirability.d",
    "reason": "note",
    "minimum": "least",
    "maximum": "most",
    "Kendall τ": "kendall",
    "Spearman ρ": "spearman",
    "score": "measure",
    "first here": "top_here",
    "first there": "top_there",
    "rank change": "moved",
    "first without it": "winner_without",
    "first at double weight": "winner_doubled",
}
PAGE = Page(
    "mlcps",
    TABLES,
    headline,
    page_tables,
    page_charts,
    parts=("firm", "changes", "goals"),
    plots=("profile", "radars", "scatter"),
    pictures=("ranks",),
    glossary=GLOSSARY,
    headings=HEADINGS,
)
