"""The page of tune-jpt: headline, charts, words of its screens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf, log10

from clfeval.document import Document
from clfeval.document.cells import Cell, Estimate, Row, cell_number, cell_value
from clfeval.formatting import format_count
from clfeval.measures.catalog import CATALOG
from clfeval.pages.chart import FEW_NAMED_CURVES, MOST_NAMED, Axis, Chart, Mark, Note, Point, Series
from clfeval.pages.schema import SHARED_WORDS, Page, TableView
from clfeval.pages.shared_tables import ALARMS_PER_CASE, AT_PREVALENCE, PPV_MEANINGS, RATE_MEANINGS
from clfeval.pages.table_parts import (
    difference_tables,
    format_class_counts,
    join_names,
    prevalence_table,
)
from clfeval.pages.tune_jpt import sections
from clfeval.pages.tune_jpt.main_table import (
    TableContext,
    format_odds,
    format_prevalence,
    has_sample,
    leading_order,
    main_table,
    slice_table,
)
from clfeval.pages.tune_jpt.tables import TABLES
from clfeval.placeholders import END, OPTION

MAX_CROSSINGS = 4  # with a mark each
MAX_PLOTS = 3  # measures with a plot each
LOG_FACTOR = 100  # a measure without upper end that varies more has a log axis


def page_charts(result: Document) -> Iterator[Chart]:
    """Yield charts of measures over the swept odds, and of the best thresholds of scores."""
    rows = result.unsliced_rows("sweep")
    rank_of_model = leading_order(result)
    for chart_index, measure in enumerate(_charted_measures(result, rows)):
        chart = _measure_chart(result, rows, measure, rank_of_model)
        is_main = chart_index == 0 and len(chart.series) > 1
        yield replace(chart, rank="main" if is_main else "detail")
    yield from _threshold_chart(result, rank_of_model)


def _measure_chart(
    result: Document, rows: Sequence[Row], measure: str, rank_of_model: Mapping[str, int]
) -> Chart:
    """Return the curves of a measure over the swept odds, with its crossings."""
    values = [cell_value(row[measure]) for row in rows]
    defined_values = [value for value in values if value is not None]
    has_no_limit = CATALOG[measure].high == inf
    is_log = (
        has_no_limit
        and min(defined_values) > 0
        and max(defined_values) >= LOG_FACTOR * min(defined_values)
    )
    points = [
        (_log10_ratio(row), value and log10(value) if is_log else value)
        for row, value in zip(rows, values, strict=True)
    ]
    curves = _group_curves(rows, points, rank_of_model)
    marks, notes = _crossings(result, measure, curves)
    if len(defined_values) < len(values):
        notes.append(Note("gaps: infinite or undefined values"))
    heading = TableContext(result).heading(measure)
    title = f"{heading[0].upper()}{heading[1:]} by class ratio"
    return _odds_chart(title, result, rows, curves, marks, notes, log=is_log)


def _threshold_chart(result: Document, rank_of_model: Mapping[str, int]) -> Iterator[Chart]:
    """Yield the best thresholds of a few models over the swept odds, if there are any."""
    rows = [row for row in TableContext(result).swept("thresholds") if row["slice"] is None]
    rows = [row for row in rows if row["measure"] == rows[0]["measure"]]
    points = [(_log10_ratio(row), cell_value(row["threshold"])) for row in rows]
    if all(y is None for _, y in points):
        return
    all_curves = _group_curves(rows, points, rank_of_model)
    curves = tuple(
        replace(curve, parts=tuple(map(_threshold_steps, curve.parts)))
        for curve in all_curves[:FEW_NAMED_CURVES]
    )
    notes = []
    if any(row["threshold"] is None for row in rows):
        notes.append(Note("gaps: the best rule predicts no positives"))
    omitted_count = len(all_curves) - FEW_NAMED_CURVES
    if omitted_count > 0:
        notes.append(
            Note(f"{format_count(omitted_count, 'more model')}: {OPTION}--show cutoffs{END}")
        )
    title = f"Best threshold for {TableContext(result).heading(str(rows[0]['measure']))}"
    yield replace(_odds_chart(title, result, rows, curves, marks=(), key_notes=notes), name="cuts")


def _charted_measures(result: Document, rows: Sequence[Row]) -> list[str]:
    """Return the measure that compares models, and a few that depend on the class ratio."""
    context = TableContext(result)
    leading = result.parameters.get("compared_by")
    if leading is None and not CATALOG[context.sort_measure].invariant:
        leading = context.sort_measure
    names = [name for name, cell in rows[0].items() if isinstance(cell, Estimate)] if rows else []
    ratio_dependent = [name for name in names if not CATALOG[name].invariant and name != leading]
    names = [name for name in (leading,) if name in names] + ratio_dependent
    drawable_measures = [n for n in names if any(cell_value(row[n]) is not None for row in rows)]
    return drawable_measures[: MAX_PLOTS if len(ratio_dependent) <= MAX_PLOTS else 1]


def _odds_chart(
    title: str,
    result: Document,
    rows: Sequence[Row],
    curves: tuple[Series, ...],
    marks: Sequence[Mark],
    key_notes: Sequence[Note],
    *,
    log: bool = False,
) -> Chart:
    """Return a chart of curves over odds, with marks of the targets and of a shared sample.

    rows: of the sweep. marks, key_notes: further ones. log: whether heights are logarithms.
    """
    odds_of_log = {_log10_ratio(row): format_odds(row) for row in rows}
    low = min(odds_of_log)
    high = max(odds_of_log)
    populations = [("target", target) for target in result.parameters["targets"]]
    if result.summary["odds"] is not None:
        populations.append(("sample", result.summary))
    population_marks: list[Mark] = []
    population_notes = []
    for population_name, population in populations:
        letter = population_name[0].upper()
        x = _log10_odds(population["prevalence"])
        if low <= x <= high:
            population_marks.append(Mark(letter, x))
        prevalence = format_prevalence(population["prevalence"])
        note = f"{letter} {population_name} {format_odds(population)}, prevalence {prevalence}"
        population_notes.append(Note(note if low <= x <= high else f"{note}, outside the plot"))
    axis = Axis("positives:negatives", "odds", (low, high), (odds_of_log[low], odds_of_log[high]))
    return Chart(
        "lines",
        title,
        axis,
        Axis(scale="log" if log else "linear"),
        curves,
        (*population_marks, *marks),
        (*dict.fromkeys(population_notes), *key_notes),
        name="curves",
    )


def _crossings(
    result: Document, measure: str, curves: Sequence[Series]
) -> tuple[list[Mark], list[Note]]:
    """Return numbered marks of the crossings of curves, and notes on them.

    Of many crossings only those of leading models are marked.
    """
    named_curves = curves if len(curves) <= MOST_NAMED else curves[:FEW_NAMED_CURVES]
    curve_of_model = {curve.name: curve for curve in named_curves}
    crossings = [
        row
        for row in result.unsliced_rows("crossovers")
        if row["measure"] == measure and cell_value(row["crossing"]) is not None
    ]
    shown_models = {*curve_of_model}
    if len(crossings) > MAX_CROSSINGS:
        winner_rows = result.tables.get("winners", ())
        shown_models &= {row["leader"] for row in winner_rows if row["slice"] is None}
    marks: list[Mark] = []
    notes: list[Note] = []
    for row in crossings:
        prevalence = cell_value(row["crossing"])
        model_pair = (str(row["first"]), row["second"])
        if (
            prevalence is None
            or not shown_models.issuperset(model_pair)
            or len(marks) == MAX_CROSSINGS
        ):
            continue
        x = _log10_odds(prevalence)
        marks.append(Mark(str(len(marks) + 1), x, height_at(curve_of_model[model_pair[0]], x)))
        notes.append(Note(f"{marks[-1].letter} {{}} = {{}} {_crossing_place(row)}", model_pair))
    if omitted_count := len(crossings) - len(marks):
        notes.append(
            Note(f"{format_count(omitted_count, 'more crossing')}: {OPTION}--show crossovers{END}")
        )
    return marks, notes


def _crossing_place(row: Row) -> str:
    """Return at which prevalence and class ratio two curves cross."""
    prevalence = format_prevalence(cell_value(row["crossing"]))
    limits = sections.format_crossing_interval(row["crossing"])
    return f"at prevalence {f'{prevalence} {limits}'.rstrip()}, class ratio {format_odds(row)}"


def height_at(curve: Series, x: float) -> float | None:
    """Return the height of a curve at x by linear interpolation; None outside it."""
    for points in curve.parts:
        for (x_start, y_start), (x_end, y_end) in pairwise(points):
            if x_start <= x <= x_end:
                return y_start + (y_end - y_start) * (
                    (x - x_start) / (x_end - x_start) if x_end > x_start else 0.0
                )
    return None


def _group_curves(
    rows: Sequence[Row],
    points: Sequence[tuple[float, float | None]],
    rank_of_model: Mapping[str, int],
) -> tuple[Series, ...]:
    """Return a curve for each model, in parts where points are missing, leading models first."""
    parts_of_model: dict[str, list[list[Point]]] = {}
    for row, (x, y) in zip(rows, points, strict=True):
        model_parts = parts_of_model.setdefault(row["model"], [[]])
        if y is None:
            model_parts.append([])
        else:
            model_parts[-1].append((x, y))
    return tuple(
        Series(
            name,
            tuple(
                tuple(points_of_part) for points_of_part in parts_of_model[name] if points_of_part
            ),
        )
        for name in sorted(
            parts_of_model, key=lambda name: rank_of_model.get(name, len(rank_of_model))
        )
    )


def _threshold_steps(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return points of steps, from one threshold to the next halfway between their odds."""
    step_points = list(points[:1])
    for (x0, y0), (x1, y1) in pairwise(points):
        step_points += [((x0 + x1) / 2, y0), ((x0 + x1) / 2, y1), (x1, y1)]
    return tuple(step_points)


def _log10_odds(prevalence: float) -> float:
    return log10(prevalence / (1 - prevalence)) if prevalence < 1 else inf


def _log10_ratio(row: Mapping[str, Cell]) -> float:
    return log10(cell_number(row["ratio"]))


def headline(result: Document) -> list[str]:
    """Return the headline: inputs and, with targets, the rows' prevalence and the assumption."""
    if not has_sample(result):
        return ["PPV and NPV at other prevalences, from published sensitivity and specificity"]
    names_text = join_names([file.name for file in result.inputs])
    assumption = "sensitivity and specificity are assumed to be the same at the target prevalence."
    if result.summary["odds"] is not None:
        prevalence = format_prevalence(result.summary["prevalence"])
        ratio = format_odds(result.summary)
        assumption = f"These rows have prevalence {prevalence} (class ratio {ratio}); {assumption}"
    assumption_lines = (
        [assumption[0].upper() + assumption[1:]] if result.parameters["targets"] else []
    )
    names_text = "2 x 2 counts" if names_text in ("", "--counts") else names_text
    return [f"{names_text} at other prevalences: {format_class_counts(result)}", *assumption_lines]


def page_tables(result: Document, digits: int) -> Iterator[TableView]:
    """Yield the tables in reading order; the first answer decides which one is the main table."""
    context = TableContext(result)
    rows = result.unsliced_rows(AT_PREVALENCE)
    main = main_table(context)
    is_predictive = [sentence.code for sentence in result.answer[:1]] == ["at-prevalence"]
    models = [row["model"] for row in main.rows or ()]
    yield from sections.expected_count_tables(context, models)
    yield from sections.range_tables(context, [name for name in (main.lead, "ppv") if name])
    yield from difference_tables(result)
    yield from slice_table(context, main)
    if rows:
        yield prevalence_table(rows, "main" if is_predictive else "detail")
    yield main if context.requested_measures or not is_predictive else replace(main, rank="detail")
    yield from sections.detail_tables(context, digits)


GLOSSARY: Mapping[str, str] = {
    **SHARED_WORDS,
    "tar": "accuracy, the share of correct predictions",
    **{name: RATE_MEANINGS[name] for name in ("sensitivity", "specificity", "npv")},
    **PPV_MEANINGS,
    "ic": "mutual information of truth and prediction / entropy of the truth",
    "net_benefit": "(TP - FP × t / (1 - t)) / rows, at threshold probability t",
    "expected_cost": "mean cost of errors per row, minus the benefit of correct predictions",
    "epa": "mean of PPV odds and NPV odds; the larger one dominates it",
    "tor": "odds of a correct prediction, accuracy / (1 - accuracy)",
    "lr_pos": "positive likelihood ratio, sensitivity / (1 - specificity)",
    "lr_neg": "negative likelihood ratio, (1 - sensitivity) / specificity",
    "dor": "diagnostic odds ratio, LR+ / LR-",
    "dp": "discriminant power, proportional to the logarithm of DOR",
    "models": "the pair of models",
    "alarms / case": ALARMS_PER_CASE.meaning,
    "at odds": "class ratio (prevalence) of the value to the left",
}
HEADINGS: Mapping[str, str] = {"sens.": "sensitivity", "spec.": "specificity"}
PAGE = Page(
    "tune-jpt",
    TABLES,
    headline,
    page_tables,
    page_charts,
    parts=("slices", "cells", "moving", "odds", "cost", "unmoved"),
    plots=("curves", "cuts"),
    parts_by_warning={
        "epa-one-sided": ("odds",),
        "advice": ("moving", "odds", "unmoved"),
        "chosen-threshold": ("thresholds", "cutoffs"),
        "one-sided-measure": ("thresholds", "cutoffs"),
    },
    glossary=GLOSSARY,
    headings=HEADINGS,
)
