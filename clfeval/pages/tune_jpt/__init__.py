"""The page of tune-jpt: its tables with the meanings of their columns, charts and headline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf, log10

from clfeval.document import Document
from clfeval.document.cells import Cell, Estimate, Row, cell_number, cell_value
from clfeval.formatting import format_count
from clfeval.measures.catalog import CATALOG
from clfeval.measures.odds import TUNABLE
from clfeval.pages.chart import FEW_NAMED_CURVES, MOST_NAMED, Axis, Chart, Mark, Note, Point, Series
from clfeval.pages.schema import COUNT_MEANINGS, SHARED, Column, Json, Page, Table, TableView, cols
from clfeval.pages.table_parts import (
    AT_PREVALENCE,
    CELLS,
    MODEL,
    PREVALENCE_HEADINGS,
    PREVALENCE_MEANINGS,
    PREVALENCE_TABLE,
    SLICE,
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
from clfeval.placeholders import END, OPTION

POPULATIONS = ("sample", "1:1", "target", "sweep")
VERDICTS = ("better", "equivalent", "not worse", "undecided")
RULES = ("score >= t", "never positive", "always positive")
KINDS = {(0.0, 1.0): "share", (0.0, inf): "amount", (-1.0, 1.0): "signed"}  # by range
MEASURES = tuple(
    Column(name, KINDS.get((CATALOG[name].low, CATALOG[name].high), "estimate"), when="?")
    for name in TUNABLE
)
WHO = (SLICE, MODEL)
MEASURE = Column("measure", "measure")
POPULATION_COLUMNS = (*cols("prevalence", "prevalence"), *cols("odds", "odds"))
POPULATION_KIND = Column("population", "text", among=POPULATIONS[:3])
HERE = (*POPULATION_COLUMNS, *cols("positive", "ratio"))
# the cells are null where a class is absent, except in the sample, whose counts they are
SAMPLE: Json = {
    "if": {"properties": {"population": {"const": "sample"}}},
    "then": {"properties": {column.name: {"type": "number"} for column in CELLS}},
    "else": {"properties": {"prevalence": {"type": "number"}, "odds": {"type": "string"}}},
}
TABLES = (
    Table(
        "models",
        (
            *WHO,
            POPULATION_KIND,
            *cols("prevalence?", "prevalence"),
            *cols("odds?", "odds"),
            *cols("weight", "rows"),
            *(Column(cell.name, "weight?", cell.title, best=cell.best) for cell in CELLS),
            Column("threshold", "cut?"),
            *MEASURES,
        ),
        "",
        1,
        SAMPLE,
    ),
    Table(
        "expected",
        (
            *WHO,
            POPULATION_KIND,
            *POPULATION_COLUMNS,
            *cols("positive", "rows"),
            *cols("weight", "positives negatives"),
            *cols("amount", "tp fp fn tn flagged"),
        ),
    ),
    Table("sweep", (*WHO, *HERE, *MEASURES), min_rows=2),
    Table(
        "crossovers",
        (
            SLICE,
            MEASURE,
            *cols("text", "first second"),
            *cols("crossing", "crossing"),
            *cols("odds?", "odds"),
            *cols("text?", "leads_below leads_above"),
            *cols("text", "verdict"),
        ),
    ),
    Table(
        "winners",
        (
            SLICE,
            MEASURE,
            Column("population", "text", among=("sample", "target", "sweep")),
            *HERE,
            *cols("text?", "leader"),
            *cols("estimate", "value"),
            *cols("text?", "winner"),
            *cols("text*", "tied"),
            Column("verdict", "text", among=(None, *VERDICTS), when="margin"),
            Column("least_lead", "number?", when="margin"),
            *cols("text*", "equivalent possibly_better", when="margin"),
        ),
    ),
    Table(
        "thresholds",
        (
            *WHO,
            MEASURE,
            Column("population", "text", among=POPULATIONS),
            *HERE,
            Column("threshold", "cut?", json_schema={"description": "null: above every score"}),
            Column("rule", "text", among=(None, *RULES)),
            *cols("part?", "sensitivity specificity"),
            *cols("estimate", "value"),
            Column(
                "fixed_threshold", "cut?", json_schema={"description": "null: the largest class"}
            ),
            Column("fixed_value", "estimate", "value at the fixed threshold"),
            Column("corrected", "estimate", "corrected value"),
        ),
    ),
    PREVALENCE_TABLE,
    Table(
        "cutoffs",
        (
            MODEL,
            MEASURE,
            *cols("odds", "odds"),
            *cols("cut?", "threshold"),
            Column("rule", "text", among=RULES),
        ),
    ),
    Table(
        "ranges",
        (
            *WHO,
            MEASURE,
            *cols("estimate", "lowest"),
            *cols("prevalence", "lowest_at"),
            *cols("estimate", "highest"),
            *cols("prevalence", "highest_at"),
        ),
    ),
    Table(
        "simulated",
        (
            *WHO,
            MEASURE,
            *cols("number?", "mean median low high"),
            Column(
                "failed",
                "count",
                json_schema={"description": "simulations in which it is undefined"},
            ),
        ),
    ),
)
CROSSINGS = 4  # with a mark each
FEW = 3  # measures with a plot each
FACTOR = 100  # a measure without upper end that varies more has a log axis


def page_charts(result: Document) -> Iterator[Chart]:
    """Yield charts of measures over the swept odds, and of the best thresholds of scores."""
    rows = result.unsliced_rows("sweep")
    order = leading_order(result)
    for number, measure in enumerate(_charted_measures(result, rows)):
        chart = _measure_chart(result, rows, measure, order)
        is_main = number == 0 and len(chart.series) > 1
        yield replace(chart, rank="main" if is_main else "detail")
    yield from _threshold_chart(result, order)


def _measure_chart(
    result: Document, rows: Sequence[Row], measure: str, order: Mapping[str, int]
) -> Chart:
    """Return the curves of a measure over the swept odds, with its crossings."""
    values = [cell_value(row[measure]) for row in rows]
    defined = [value for value in values if value is not None]
    has_no_limit = CATALOG[measure].high == inf
    log = has_no_limit and min(defined) > 0 and max(defined) >= FACTOR * min(defined)
    points = [
        (_log10_ratio(row), value and log10(value) if log else value)
        for row, value in zip(rows, values, strict=True)
    ]
    curves = _group_curves(rows, points, order)
    marks, key = _crossings(result, measure, curves)
    if len(defined) < len(values):
        key.append(Note("gaps: infinite or undefined values"))
    heading = TableContext(result).heading(measure)
    title = f"{heading[0].upper()}{heading[1:]} by class ratio"
    return _odds_chart(title, result, rows, curves, marks, key, log=log)


def _threshold_chart(result: Document, order: Mapping[str, int]) -> Iterator[Chart]:
    """Yield the best thresholds of a few models over the swept odds, if there are any."""
    rows = [row for row in TableContext(result).swept("thresholds") if row["slice"] is None]
    rows = [row for row in rows if row["measure"] == rows[0]["measure"]]
    points = [(_log10_ratio(row), cell_value(row["threshold"])) for row in rows]
    if all(y is None for _, y in points):
        return
    all_curves = _group_curves(rows, points, order)
    curves = tuple(
        replace(curve, parts=tuple(map(_threshold_steps, curve.parts)))
        for curve in all_curves[:FEW_NAMED_CURVES]
    )
    key = []
    if any(row["threshold"] is None for row in rows):
        key.append(Note("gaps: the best rule predicts no positives"))
    left = len(all_curves) - FEW_NAMED_CURVES
    if left > 0:
        key.append(Note(f"{format_count(left, 'more model')}: {OPTION}--show cutoffs{END}"))
    title = f"Best threshold for {TableContext(result).heading(str(rows[0]['measure']))}"
    yield replace(_odds_chart(title, result, rows, curves, (), key), name="cuts")


def _charted_measures(result: Document, rows: Sequence[Row]) -> list[str]:
    """Return the measure that compares models, and a few that depend on the class ratio."""
    context = TableContext(result)
    leading = result.parameters.get("compared_by")
    if leading is None and not CATALOG[context.sort_measure].invariant:
        leading = context.sort_measure
    names = [name for name, cell in rows[0].items() if isinstance(cell, Estimate)] if rows else []
    moving = [name for name in names if not CATALOG[name].invariant and name != leading]
    names = [name for name in (leading,) if name in names] + moving
    drawable = [n for n in names if any(cell_value(row[n]) is not None for row in rows)]
    return drawable[: FEW if len(moving) <= FEW else 1]


def _odds_chart(
    title: str,
    result: Document,
    rows: Sequence[Row],
    curves: tuple[Series, ...],
    marks: Sequence[Mark],
    key: Sequence[Note],
    *,
    log: bool = False,
) -> Chart:
    """Return a chart of curves over odds, with marks of the targets and of a shared sample."""
    odds = {_log10_ratio(row): format_odds(row) for row in rows}
    low = min(odds)
    high = max(odds)
    populations = [("target", target) for target in result.parameters["targets"]]
    if result.summary["odds"] is not None:
        populations.append(("sample", result.summary))
    population_marks: list[Mark] = []
    notes = []
    for kind, population in populations:
        letter = kind[0].upper()
        x = _log10_odds(population["prevalence"])
        if low <= x <= high:
            population_marks.append(Mark(letter, x))
        prevalence = format_prevalence(population["prevalence"])
        note = f"{letter} {kind} {format_odds(population)}, prevalence {prevalence}"
        notes.append(Note(note if low <= x <= high else f"{note}, outside the plot"))
    axis = Axis("positives:negatives", "odds", (low, high), (odds[low], odds[high]))
    return Chart(
        "lines",
        title,
        axis,
        Axis(scale="log" if log else "linear"),
        curves,
        (*population_marks, *marks),
        (*dict.fromkeys(notes), *key),
        name="curves",
    )


def _crossings(
    result: Document, measure: str, curves: Sequence[Series]
) -> tuple[list[Mark], list[Note]]:
    """Return numbered marks of crossings of curves, and notes; of many those of leading models."""
    with_name = curves if len(curves) <= MOST_NAMED else curves[:FEW_NAMED_CURVES]
    curve_of_model = {curve.name: curve for curve in with_name}
    crossings = [
        row
        for row in result.unsliced_rows("crossovers")
        if row["measure"] == measure and cell_value(row["crossing"]) is not None
    ]
    models = {*curve_of_model}
    if len(crossings) > CROSSINGS:
        contests = result.tables.get("winners", ())
        models &= {row["leader"] for row in contests if row["slice"] is None}
    marks: list[Mark] = []
    key: list[Note] = []
    for row in crossings:
        share = cell_value(row["crossing"])
        names = (str(row["first"]), row["second"])
        if share is None or not models.issuperset(names) or len(marks) == CROSSINGS:
            continue
        x = _log10_odds(share)
        marks.append(Mark(str(len(marks) + 1), x, height_at(curve_of_model[names[0]], x)))
        key.append(Note(f"{marks[-1].letter} {{}} = {{}} {_crossing_place(row)}", names))
    if left := len(crossings) - len(marks):
        key.append(Note(f"{format_count(left, 'more crossing')}: {OPTION}--show crossovers{END}"))
    return marks, key


def _crossing_place(row: Row) -> str:
    """Return at which prevalence and class ratio two curves cross."""
    prevalence = format_prevalence(cell_value(row["crossing"]))
    limits = sections.format_crossing_interval(row["crossing"])
    return f"at prevalence {f'{prevalence} {limits}'.rstrip()}, class ratio {format_odds(row)}"


def height_at(curve: Series, x: float) -> float | None:
    """Return the height of a curve at x by linear interpolation; None outside it."""
    for part in curve.parts:
        for (x0, y0), (x1, y1) in pairwise(part):
            if x0 <= x <= x1:
                return y0 + (y1 - y0) * ((x - x0) / (x1 - x0) if x1 > x0 else 0.0)
    return None


def _group_curves(
    rows: Sequence[Row], points: Sequence[tuple[float, float | None]], order: Mapping[str, int]
) -> tuple[Series, ...]:
    """Return a curve for each model, in parts where points are missing, leading models first."""
    parts: dict[str, list[list[Point]]] = {}
    for row, (x, y) in zip(rows, points, strict=True):
        model_parts = parts.setdefault(row["model"], [[]])
        if y is None:
            model_parts.append([])
        else:
            model_parts[-1].append((x, y))
    return tuple(
        Series(name, tuple(tuple(part) for part in parts[name] if part))
        for name in sorted(parts, key=lambda name: order.get(name, len(order)))
    )


def _threshold_steps(part: Sequence[Point]) -> tuple[Point, ...]:
    """Return points of steps, from one threshold to the next halfway between their odds."""
    out = list(part[:1])
    for (x0, y0), (x1, y1) in pairwise(part):
        out += [((x0 + x1) / 2, y0), ((x0 + x1) / 2, y1), (x1, y1)]
    return tuple(out)


def _log10_odds(share: float) -> float:
    return log10(share / (1 - share)) if share < 1 else inf


def _log10_ratio(row: Mapping[str, Cell]) -> float:
    return log10(cell_number(row["ratio"]))


def headline(result: Document) -> list[str]:
    """Return the headline: inputs and, with targets, the rows' prevalence and the assumption."""
    if not has_sample(result):
        return ["PPV and NPV at other prevalences, from published sensitivity and specificity"]
    names = join_names([file.name for file in result.inputs])
    line = "sensitivity and specificity are assumed to be the same at the target prevalence."
    if result.summary["odds"] is not None:
        prevalence = format_prevalence(result.summary["prevalence"])
        ratio = format_odds(result.summary)
        line = f"These rows have prevalence {prevalence} (class ratio {ratio}); {line}"
    assumed = [line[0].upper() + line[1:]] if result.parameters["targets"] else []
    names = "2 x 2 counts" if names in ("", "--counts") else names
    return [f"{names} at other prevalences: {format_class_counts(result)}", *assumed]


def page_tables(result: Document, digits: int) -> Iterator[TableView]:
    """Yield the tables in reading order; the first answer decides which one is the main table."""
    context = TableContext(result)
    rows = result.unsliced_rows(AT_PREVALENCE)
    main = main_table(context)
    predictive = [sentence.code for sentence in result.answer[:1]] == ["at-prevalence"]
    models = [row["model"] for row in main.rows or ()]
    yield from sections.expected_count_tables(context, models)
    yield from sections.range_tables(context, [name for name in (main.lead, "ppv") if name])
    yield from difference_tables(result)
    yield from slice_table(context, main)
    if rows:
        yield prevalence_table(rows, "main" if predictive else "detail")
    yield main if context.requested_measures or not predictive else replace(main, rank="detail")
    yield from sections.detail_tables(context, digits)


GLOSSARY: Mapping[str, str] = {
    **PREVALENCE_MEANINGS,
    **SHARED,
    **{
        f"models.{name}": f"{words} among the number in `rows`"
        for name, words in COUNT_MEANINGS.items()
    },
    **{
        f"expected.{name}": f"expected {words} in the population"
        for name, words in COUNT_MEANINGS.items()
    },
    "rows": "total of the 2 x 2 table: counted rows, else 1,000",
    "expected.rows": f"size of the population, given by {OPTION}--population{END}",
    "positives": "positives in that population",
    "negatives": "negatives in that population",
    "flagged": "expected number of rows predicted positive",
    "ratio": "positives / negatives as one number",
    "tar": "accuracy, the share of correct predictions",
    "npv": "share of predicted negatives that are negative",
    "sensitivity": "share of positives predicted positive",
    "specificity": "share of negatives predicted negative",
    "ic": "mutual information of truth and prediction / entropy of the truth",
    "net_benefit": "(TP - FP × t / (1 - t)) / rows, at threshold probability t",
    "expected_cost": "mean cost of errors per row, minus the benefit of correct predictions",
    "epa": "mean of PPV odds and NPV odds; the larger one dominates it",
    "tor": "odds of a correct prediction, accuracy / (1 - accuracy)",
    "lr_pos": "positive likelihood ratio, sensitivity / (1 - specificity)",
    "lr_neg": "negative likelihood ratio, (1 - sensitivity) / specificity",
    "dor": "diagnostic odds ratio, LR+ / LR-",
    "dp": "discriminant power, proportional to the logarithm of DOR",
    "first": "first model of the pair",
    "second": "second model of the pair",
    "crossovers.models": "the pair of models",
    "crossing": "prevalence at which both are equal; outside its interval one is better",
    "leads_below": "the better model at smaller prevalences",
    "leads_above": "the better model at larger prevalences",
    "crossovers.verdict": "leading models; tests are simultaneous for all ratios and pairs",
    "leader": "the model with the best value",
    "value": "value of the best model",
    "winner": "the leader, if every other model is significantly worse (adjusted for all pairs)",
    "winners.verdict": "leader compared with the other models, for the margin of "
    f"{OPTION}--margin{END}",
    "least_lead": "smallest lower confidence limit of the leader's differences to other models",
    "equivalent": f"models equivalent to the leader within {OPTION}--margin{END} (adjusted)",
    "possibly_better": f"models for which a lead by {OPTION}--margin{END} or more is not excluded",
    "tied": "models that are not significantly worse than the leader",
    "thresholds.threshold": "the best threshold for the measure in this population",
    "cutoffs.threshold": "the best threshold for the measure at this class ratio",
    "rule": "score >= t: rows at or above the threshold are predicted positive; else all or none",
    "thresholds.sensitivity": "sensitivity at the best threshold",
    "thresholds.specificity": "specificity at the best threshold",
    "thresholds.value": "value at the best threshold, on the rows that chose it",
    "fixed_threshold": "the threshold in use; none: each row gets its most probable class",
    "fixed_value": "value of the measure at the threshold in use",
    "corrected": "value expected on new data: the optimism of the choice is subtracted (bootstrap)",
    "lowest": "smallest value over the range of prevalences",
    "lowest_at": "prevalence of the smallest value",
    "highest": "largest value over the range of prevalences",
    "highest_at": "prevalence of the largest value",
    "at odds": "class ratio (prevalence) of the value to the left",
    "mean": "mean of the measure over the simulations",
    "median": "median of the measure over the simulations",
    "low": "lower quantile of the simulations, at the level",
    "high": "upper quantile of the simulations, at the level",
    "failed": "simulations in which the measure is undefined",
    "models.alarms_per_case": PREVALENCE_MEANINGS["alarms_per_case"],
}
HEADINGS: Mapping[str, str] = {
    "sens.": "sensitivity",
    "spec.": "specificity",
    "sens. at best": "thresholds.sensitivity",
    "spec. at best": "thresholds.specificity",
    "positives: negatives": "odds",
    "positives:negatives": "odds",
    "positives: negatives (prevalence)": "odds",
    "prevalences": "prevalence",
    "prevalence of crossing": "crossing",
    "leading model": "crossovers.verdict",
    "best model": "leader",
    "tied with the best": "tied",
    "best threshold": "thresholds.threshold",
    "best value": "thresholds.value",
    "value at fixed": "fixed_value",
    "lower": "low",
    "upper": "high",
    "undefined": "failed",
    **PREVALENCE_HEADINGS,
}
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
