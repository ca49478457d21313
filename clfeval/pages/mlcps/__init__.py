"""The page of mlcps: headline, charts, words of its screens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from clfeval.document import Document
from clfeval.formatting import format_count, quote_if_ambiguous
from clfeval.pages.chart import Axis, Chart, Note, Series, row_point
from clfeval.pages.mlcps.sections import BestModels, format_range, page_tables
from clfeval.pages.mlcps.tables import TABLES
from clfeval.pages.schema import SHARED_WORDS, Page
from clfeval.pages.table_parts import format_cell, join_names, majority_class_note
from clfeval.placeholders import END, OPTION

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


GLOSSARY: Mapping[str, str] = {
    **SHARED_WORDS,
    "mlcps": "area of the polygon of the metrics in a radar chart",
    "order_free": "mean area over all orders of the metrics",
    "desirability": "geometric mean of the desirabilities of the metrics, 0 to 1",
    "bar": "normalised MLcps, D or the share as a bar from 0 to 1",
    "ranks": "best and worst rank by MLcps over all orders of the metrics",
    "metrics with d = 0": "number of metrics that make the desirability D 0",
    "ray": "position of the metric in the radar chart, from 1",
    "scale": "range that is rescaled to 0 to 1",
    "ranks changed": "number of models whose rank by MLcps changes",
    "result": "outcome if the table has no rows",
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
)
