"""Pictures of report: intervals, differences, scores, calibration, curves, confusions, slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from clfeval.document import Document
from clfeval.document.cells import Estimate, Row, as_estimate, cell_number, cell_text, cell_value
from clfeval.document.rows import rows_where
from clfeval.formatting import (
    describe_reference,
    format_count,
    format_exact,
    format_percent,
    join_names,
    quote_if_ambiguous,
    with_interval,
)
from clfeval.measures.calibration_spline import LEVELS
from clfeval.measures.catalog import CATALOG
from clfeval.pages import intervals
from clfeval.pages.chart import Axis, Chart, Guide, Note, Point, Series
from clfeval.pages.report import SHARE_RANGE, page_charts
from clfeval.pages.report.requested_tables import slice_models
from clfeval.pages.schema import comparison_rows
from clfeval.pages.table_parts import sort_by_column

PANELS = 4  # models with a panel of their own
MEASURES = 4  # measures whose differences have a panel each
SLICES = 15  # slices shown
CALIBRATION_CODES = ("probabilities", "miscalibrated")  # of sentences
VERTICAL = {
    "benefit": "net benefit",
    "roc": "sensitivity",
    "pr": "precision",
    "lift": "lift",
    "gain": "sensitivity",
    "risk": "error rate",
}
# what the sliders of a page move: the axes of a chart, and the model if it is of one
MOVING = {
    "roc": ("fpr", "sensitivity", ""),
    "pr": ("sensitivity", "ppv", ""),
    "benefit": ("threshold", "benefit", ""),
}
FOLDED = ("pr", "gain", "lift", "risk")  # among other pictures, below the first ones


def pictures(result: Document) -> Iterator[Chart]:
    """Yield the charts of a report in reading order."""
    yield from intervals.intervals_of_models(result)
    yield from differences(result)
    yield from _all_pairs(result)
    shown_models = intervals.leading_models(result, PANELS)
    yield from _calibration(result, shown_models)
    yield from _score_histograms(result, shown_models)
    charts_by_name = {
        chart.name: chart for chart in page_charts(result) if chart.name != "calibration"
    }
    best_model = shown_models[0] if shown_models else ""
    for name in ("benefit", "roc"):
        if name in charts_by_name:
            yield replace(_with_details(result, charts_by_name[name], best_model), rank="main")
    yield from _confusions(result, shown_models)
    yield from _slices(result)
    for name in FOLDED:
        if name in charts_by_name:
            yield _with_details(result, charts_by_name[name], best_model)


def differences(result: Document) -> Iterator[Chart]:
    """Yield differences to the reference with simultaneous intervals and margins, by measure."""
    rows = [
        row
        for row in comparison_rows(result, "reference")
        if as_estimate(row["difference_adjusted"]).value is not None
    ]
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    lead_measure = intervals.deciding_measure(result)
    margins = result.parameters.get("margin", {})
    requested_measures = {*margins, *result.parameters.get("measure", ()), lead_measure}
    compared_measures = sorted(
        requested_measures & {*measures}, key=[lead_measure, *measures].index
    )
    for measure in compared_measures[:MEASURES]:
        measure_rows = [row for row in rows if row["measure"] == measure]
        has_several_references = len({row["reference"] for row in measure_rows}) > 1
        if not has_several_references or len(measure_rows) <= SLICES:
            yield _differences_of_measure(
                result, measure, measure_rows, has_several_references=has_several_references
            )


def _differences_of_measure(
    result: Document, measure: str, rows: Sequence[Row], *, has_several_references: bool
) -> Chart:
    """Return the differences in a measure from one reference, or from several ones."""
    margin = result.parameters.get("margin", {}).get(measure)
    margin_limits = (-margin, margin) if margin else ()
    series = []
    for row in rows:
        row_label = (
            f"{row['model']} − {row['reference']}" if has_several_references else row["model"]
        )
        verdict_text = f" {row['verdict']}" if row["verdict"] else ""
        series.append(intervals.interval_row(row_label, row["difference_adjusted"], verdict_text))
    pair_phrase = "between models"
    if not has_several_references:
        requested_reference = str(result.parameters.get("reference"))
        pair_phrase = f"to {describe_reference(str(rows[0]['reference']), requested_reference)}"
    finding = intervals.sentences_on(result, "compared", "significantly-worse", "equivalent")
    title = intervals.title_of(measure)
    return Chart(
        "intervals",
        f"Difference in {title} {pair_phrase}, simultaneous intervals",
        Axis(f"difference in {title}"),
        series=tuple(series),
        guides=(
            Guide("no difference", x=0.0),
            *(Guide(f"red: margin ±{margin:g}", x=limit, limit=True) for limit in margin_limits),
        ),
        name="differences",
        rank="main",
        finding=finding or intervals.best_sentence(result),
    )


def _all_pairs(result: Document) -> Iterator[Chart]:
    """Yield the matrix of differences of all pairs, row minus column; significant ones shaded."""
    lead_measure = intervals.deciding_measure(result)
    level = result.parameters.get("level") or 0.95
    pair_rows = [
        row for row in comparison_rows(result, "reference") if row["measure"] == lead_measure
    ]
    if len({row["reference"] for row in pair_rows}) < 2:
        return
    model_rows = sort_by_column(result.unsliced_rows("models"), lead_measure)
    models = [row["model"] for row in model_rows]
    cells = _pair_cells(pair_rows, level)
    comparison_sentence = intervals.sentences_on(result, "compared")
    series = []
    for model in models:
        row_cells = [cells.get((model, reference), (None, 0.0)) for reference in models]
        values = tuple(difference for difference, _ in row_cells)
        shades = tuple((shade, None) for _, shade in row_cells)
        series.append(Series(model, values=values, spans=shades))
    yield Chart(
        "cells",
        f"Differences in {intervals.title_of(lead_measure)}: row minus column",
        series=tuple(series),
        names=tuple(models),
        x=Axis("shaded: significant, adjusted for all pairs"),
        name="pairs",
        rank="main",
        finding=comparison_sentence or intervals.best_sentence(result),
    )


def _pair_cells(
    pair_rows: Sequence[Row], level: float
) -> dict[tuple[str, str], tuple[float | None, float]]:
    """Return the difference of each pair of models in both directions, and its shade."""
    cells: dict[tuple[str, str], tuple[float | None, float]] = {}
    for row in pair_rows:
        model = row["model"]
        reference = cell_text(row["reference"])
        difference = cell_value(row["difference"])
        p = cell_value(row["p_adjusted"])
        shade = 1.0 if p is not None and p < 1 - level else 0.0
        cells[model, reference] = difference, shade
        cells[reference, model] = None if difference is None else -difference, shade
    return cells


def rows_of_model(result: Document, table: str, model: str) -> Sequence[Row]:
    """Return the rows of one model in a table of all rows."""
    return rows_where(result.unsliced_rows(table), "model", model)


def _calibration(result: Document, models: Sequence[str]) -> Iterator[Chart]:
    """Yield, for each leading model, score groups with intervals, the curve, scores of classes."""
    for model in models:
        groups = rows_of_model(result, "calibration", model)
        if not groups:
            continue
        group_dots = _calibration_groups(model, groups)
        curve, curve_note = _calibration_curve(result, model)
        corners = (SHARE_RANGE[:1] * 2, SHARE_RANGE[1:] * 2)
        diagonal = Series("below: scores too high", (corners,), letter=":")
        yield Chart(
            "lines",
            f"Calibration of {model}",
            Axis("score", range=SHARE_RANGE),
            Axis("share of positives", range=SHARE_RANGE),
            (diagonal,),
            name="calibration",
            key=(
                Note(f"{_group_note(result, groups)}; {curve_note}"),
                Note("below: scores of positives (up) and negatives (down)"),
            ),
            rank="main",
            extra=(*curve, group_dots),
            below=_bars(result, model),
            finding=_calibration_finding(result, model, groups),
        )


def _calibration_groups(model: str, groups: Sequence[Row]) -> Series:
    """Return the share of positives of each group of scores, with its interval."""
    points = [(cell_number(row["mean_score"]), cell_value(row["observed"])) for row in groups]
    limits = [as_estimate(row["observed"]) for row in groups]
    return Series(
        model,
        (tuple((x, y) for x, y in points if y is not None),),
        shape="dots",
        spans=tuple((limit.low, limit.high) for limit in limits),
    )


def _group_note(result: Document, groups: Sequence[Row]) -> str:
    """Return how many rows the groups have, and the level of their intervals."""
    sizes = {round(cell_number(row["rows"])) for row in groups}
    smallest_text = f"{min(sizes):,} to " if len(sizes) > 1 else ""
    level = result.parameters.get("level")
    level_clause = f", with {100 * level:g}% intervals" if level else ""
    return f"dots: groups of {smallest_text}{format_count(max(sizes), 'row')}{level_clause}"


def _calibration_curve(result: Document, model: str) -> tuple[Sequence[Series], str]:
    """Return the calibration curve of a model with its simultaneous band, and what they are.

    Of few distinct scores, which have no spline, the isotonic steps.
    """
    rows = rows_of_model(result, "calibration_band", model)
    if len(rows) <= LEVELS:
        steps = list[Point]()
        for row in rows_of_model(result, "calibration_curve", model):
            height = cell_number(row["isotonic"])
            steps += [(cell_number(row["from"]), height), (cell_number(row["to"]), height)]
        return [Series(model, (tuple(steps),))] if steps else [], "line: isotonic calibration"
    curve_points = _band_points(rows, "curve")
    upper_points = _band_points(rows, "high_all")
    outline = (*upper_points, *reversed(_band_points(rows, "low_all")))
    band_area = [Series(model, (outline,), shape="area")] if upper_points else []
    level = result.parameters.get("level")
    band_clause = f" with simultaneous {100 * level:g}% band" if upper_points and level else ""
    return [*band_area, Series(model, (curve_points,))], f"line: spline{band_clause}"


def _band_points(rows: Sequence[Row], column: str) -> tuple[Point, ...]:
    """Return a column of the calibration band by score, as far as it is known."""
    values = [(cell_number(row["score"]), cell_value(row[column])) for row in rows]
    return tuple((score, value) for score, value in values if value is not None)


def _calibration_finding(result: Document, model: str, groups: Sequence[Row]) -> str:
    """Return the sentence of the answer on the calibration of a model, or one on its groups."""
    for answer in result.answer:
        if answer.code in CALIBRATION_CODES and model in answer.models:
            return answer.text
    significant_count = 0
    for row in groups:
        observed = as_estimate(row["observed"])
        if observed.low is not None and observed.high is not None:
            significant_count += not observed.low <= cell_number(row["mean_score"]) <= observed.high
    return (
        f"In {significant_count} of {len(groups)} groups by score of {quote_if_ambiguous(model)} "
        "the observed rate differs significantly from the predicted one."
    )


def _bars(result: Document, model: str) -> tuple[Series, ...]:
    """Return the histograms of both classes, the positive one up and the other one down."""
    rows = rows_of_model(result, "distribution", model)
    histograms = []
    class_names = dict.fromkeys(cell_text(row["class"]) for row in rows)  # the positive one first
    for class_index, class_name in enumerate(class_names):
        bins = [row for row in rows if row["class"] == class_name]
        edges = [(cell_number(row["from"]), cell_number(row["to"])) for row in bins]
        sign = 1 - 2 * class_index  # up, then down
        heights = [sign * (cell_value(row["share"]) or 0.0) for row in bins]
        bin_centres = [(low + high) / 2 for low, high in edges]
        points = tuple(zip(bin_centres, heights, strict=True))
        side = ("positive", "negative")[class_index]
        histograms.append(
            Series(
                f"{side}: {class_name}", (points,), letter=side, shape="bars", spans=tuple(edges)
            )
        )
    return tuple(histograms)


def _score_histograms(result: Document, models: Sequence[str]) -> Iterator[Chart]:
    """Yield the scores of each leading model by class, with its threshold."""
    bars_by_model = {model: bars for model in models if (bars := _bars(result, model))}
    all_bars = chain.from_iterable(bars_by_model.values())
    max_height = max((abs(y) for series in all_bars for _, y in series.parts[0]), default=0.0)
    for model, bars in bars_by_model.items():
        row = rows_of_model(result, "models", model)[0]
        threshold = cell_value(row.get("threshold"))
        guides: tuple[Guide, ...] = ()
        if threshold is not None:
            guides = (Guide(f"threshold {format_exact(threshold)}", x=threshold),)
        auc_text = _interval_text(result, row.get("roc_auc"))
        bin_spans = bars[0].spans
        yield Chart(
            "lines",
            f"Scores of {model} by class",
            Axis("score", range=(bin_spans[0][0] or 0.0, bin_spans[-1][1] or 0.0)),
            Axis("share of the class", range=(-max_height, max_height)),
            name="scores",
            guides=guides,
            extra=bars,
            rank="main",
            finding=f"The ROC AUC of {quote_if_ambiguous(model)} is {auc_text}.",
            moving=("threshold", "", model),
        )


def _with_details(result: Document, chart: Chart, best_model: str) -> Chart:
    """Return a chart of curves with thresholds in force, what is shaded, and the finding."""
    shaded_areas: tuple[Series, ...] = ()
    threshold_dots: tuple[Series, ...] = ()
    shading_note = ""
    if chart.name == "roc":
        shaded_areas = _roc_band(result, best_model)
        level = 100 * (result.parameters.get("level") or 0.0)
        shading_note = f"shaded: joint {level:g}% CI of sensitivity and specificity of {{}}"
        threshold_dots = _in_force(result, "fpr", "sensitivity")
    elif chart.name == "pr":
        threshold_dots = _in_force(result, "sensitivity", "ppv")
    elif chart.name == "benefit":
        shaded_areas = _helping_ranges(result, chart, best_model)
        shading_note = "shaded: {} is significantly better than treat-all and treat-none"
    notes = list(chart.key)
    if shaded_areas:
        notes.append(Note(shading_note, (best_model,)))
    if threshold_dots:
        notes.append(Note("dots: thresholds in force"))
    return replace(
        chart,
        y=replace(chart.y, label=VERTICAL[chart.name]),
        extra=(*shaded_areas, *threshold_dots),
        finding=_finding_of_curves(result, chart.name, best_model, shaded_areas),
        key=tuple(notes),
        square=chart.name == "roc",
        moving=MOVING.get(chart.name),
    )


def _finding_of_curves(
    result: Document, chart_name: str, best_model: str, shaded_areas: Sequence[Series]
) -> str:
    """Return the sentence on the best model's curve in a chart.

    shaded_areas: of the ranges of thresholds at which it helps.
    """
    quoted_model = quote_if_ambiguous(best_model)
    row = rows_of_model(result, "models", best_model)[0]
    if chart_name == "roc":
        auc_text = _interval_text(result, row["roc_auc"])
        return f"The area under the curve of {quoted_model} is {auc_text}."
    if chart_name == "pr":
        if row.get("threshold") is None:
            return f"{quoted_model} has no threshold."
        precision = intervals.interval_words(as_estimate(row.get("precision")))
        sensitivity = intervals.interval_words(as_estimate(row.get("sensitivity")))
        rates_phrase = f"precision {precision}, sensitivity {sensitivity}"
        return f"At its threshold {quoted_model} has {rates_phrase}."
    if chart_name == "benefit":
        return _net_benefit_finding(result, best_model, shaded_areas)
    if chart_name == "risk":
        return intervals.sentences_on(result, "abstention")
    return _gain_finding(result, best_model)


def _net_benefit_finding(result: Document, best_model: str, shaded_areas: Sequence[Series]) -> str:
    """Return at which thresholds the best model is better than both alternatives."""
    rows = rows_of_model(result, "decision", best_model)
    if not any(row["helps"] is not None for row in rows):
        return "Differences from treat-all and treat-none are not tested."
    areas = [corners for series in shaded_areas for corners in series.parts]
    # corners of an area: two at its lowest threshold, two at its highest one
    threshold_ranges = [(corners[0][0], corners[2][0]) for corners in areas]
    range_texts = [
        f"{start:g} to {end:g}" if end > start else f"{start:g}" for start, end in threshold_ranges
    ]
    clause = f"at thresholds {' and '.join(range_texts)}" if range_texts else "at no threshold"
    quoted_model = quote_if_ambiguous(best_model)
    return f"{quoted_model} is significantly better than treat-all and treat-none {clause}."


def _gain_finding(result: Document, best_model: str) -> str:
    """Return the sentence on the point of the best model's curve near a tenth of the rows."""
    points = [
        (flagged_share, cell_value(row["sensitivity"]) or 0.0)
        for row in rows_of_model(result, "curves", best_model)
        if (flagged_share := cell_value(row["flagged"]) or 0.0)
    ]
    if not points:
        return ""
    nearest_point = min(points, key=lambda point: abs(point[0] - 0.1))
    flagged, sensitivity = map(format_percent, nearest_point)
    return (
        f"{sensitivity}% of the positives are in the {flagged}% of the rows with the highest "
        f"scores of {quote_if_ambiguous(best_model)}."
    )


def _interval_text(result: Document, cell: object) -> str:
    """Return a value with its interval for a sentence."""
    estimate = as_estimate(cell)
    if estimate.value is None:
        return "undefined"
    level = result.parameters.get("level") or 0.95
    return with_interval(estimate.value, estimate.low, estimate.high, level)


def _in_force(result: Document, x_column: str, y_column: str) -> tuple[Series, ...]:
    """Return a dot for each model at its threshold."""
    dots = []
    model_columns = {"fpr": "specificity", "ppv": "precision"}
    for row in result.unsliced_rows("models"):
        x_value, y_value = (
            cell_value(row.get(model_columns.get(column, column)))
            for column in (x_column, y_column)
        )
        if row.get("threshold") is not None and x_value is not None and y_value is not None:
            point = 1 - x_value if x_column == "fpr" else x_value, y_value
            dots.append(Series(row["model"], ((point,),), shape="dots"))
    return tuple(dots)


def _roc_band(result: Document, best_model: str) -> tuple[Series, ...]:
    """Return the area through the corners of the regions of all thresholds."""
    upper_corners = [(0.0, 0.0)]
    lower_corners = [(0.0, 0.0)]
    for row in rows_of_model(result, "roc_band", best_model):
        sensitivity = as_estimate(row["sensitivity"])
        fpr = as_estimate(row["fpr"])
        if sensitivity.low is not None and sensitivity.high is not None:
            upper_corners.append((fpr.low or 0.0, sensitivity.high))
            lower_corners.append((fpr.high or 0.0, sensitivity.low))
    outline = (*upper_corners, (1.0, 1.0), *lower_corners[::-1])
    return (Series(best_model, (outline,), shape="area"),) if len(upper_corners) > 1 else ()


def _helping_ranges(result: Document, chart: Chart, best_model: str) -> tuple[Series, ...]:
    """Return the areas of thresholds at which the best model is better than both alternatives."""
    curves = chain.from_iterable(series.parts for series in chart.series)
    heights = [y for _, y in chain.from_iterable(curves)]
    lowest = min(heights, default=0.0)
    highest = max(heights, default=0.0)
    areas = []
    range_start = None
    for row, next_row in pairwise([*rows_of_model(result, "decision", best_model), {}]):
        threshold = cell_number(row["threshold"])
        range_start = threshold if row["helps"] and range_start is None else range_start
        if range_start is not None and not next_row.get("helps"):
            start_side = ((range_start, lowest), (range_start, highest))
            areas.append((*start_side, (threshold, highest), (threshold, lowest)))
            range_start = None
    return (Series("", tuple(areas), shape="area"),) if areas else ()


def _confusions(result: Document, models: Sequence[str]) -> Iterator[Chart]:
    """Yield the confusion matrix of each leading model, shaded by the share of the true class."""
    for model in models:
        rows = rows_of_model(result, "confusion", model)
        if rows:
            yield _confusion_matrix(result, model, rows)


Confusions = Mapping[tuple[str, str], tuple[float, float]]  # (truth, predicted) -> rows, share


def _confusion_matrix(result: Document, model: str, rows: Sequence[Row]) -> Chart:
    """Return the confusion matrix of a model, the positive class first."""
    cells = {
        (row["truth"], row["predicted"]): (
            cell_value(row["rows"]) or 0.0,
            cell_value(row["share"]) or 0.0,
        )
        for row in rows
    }
    positive = result.parameters.get("positive")
    class_names = dict.fromkeys(
        str(row[column]) for column in ("truth", "predicted") for row in rows
    )
    sorted_classes = sorted(class_names, key=lambda name: positive is not None and name != positive)
    series = []
    for truth in sorted_classes:
        row_cells = [cells.get((truth, predicted), (0.0, 0.0)) for predicted in sorted_classes]
        counts = tuple(count for count, _ in row_cells)
        spans = tuple((share, None) for _, share in row_cells)
        series.append(Series(truth, values=counts, spans=spans))
    threshold = cell_value(rows_of_model(result, "models", model)[0].get("threshold"))
    threshold_phrase = "" if threshold is None else f" at threshold {format_exact(threshold)}"
    return Chart(
        "cells",
        f"Confusion of {model}{threshold_phrase}: true class (rows), predicted class (columns)",
        series=tuple(series),
        names=tuple(sorted_classes),
        x=Axis("number of rows; shaded by the share of the true class"),
        name="confusion",
        rank="main",
        finding=_most_frequent_error(model, cells),
    )


def _most_frequent_error(model: str, cells: Confusions) -> str:
    """Return the sentence on the largest cell off the diagonal of a confusion matrix."""
    errors = {
        (truth, predicted): (count, share)
        for (truth, predicted), (count, share) in cells.items()
        if truth != predicted and count
    }
    quoted_model = quote_if_ambiguous(model)
    if not errors:
        return f"{quoted_model} predicts every row correctly."
    truth, predicted = max(errors, key=lambda pair: errors[pair][0])
    count, share = errors[truth, predicted]
    finding = f"Most frequent error of {quoted_model}: {truth} predicted as {predicted}, "
    return finding + f"{format_count(count, 'row')} ({format_percent(share)}% of the class)."


def _slices(result: Document) -> Iterator[Chart]:
    """Yield the slices of the models first shown, and of those that are worse in one of them."""
    slice_rows = result.tables.get("slices", ())
    worse_models = [row["model"] for row in slice_rows if row["worse"]]
    if not slice_rows:
        return
    drawn_models = [*dict.fromkeys([*slice_models(result), *worse_models])][:PANELS]
    for model in drawn_models:
        rows = [row for row in slice_rows if row["model"] == model]
        if rows:
            yield _slices_of_model(result, model, rows)


def _slices_of_model(result: Document, model: str, slice_rows: Sequence[Row]) -> Chart:
    """Return the slices of a model with intervals, significantly worse ones first."""
    measure = _measure_of_slices(result, slice_rows)
    rows = [row for row in slice_rows if row["q"] is not None] or [*slice_rows]
    direction = -1 if measure in CATALOG and CATALOG[measure].arrow == "↓" else 1

    def is_worse(row: Row) -> bool:
        return isinstance(row["worse"], list) and measure in row["worse"]

    def sort_key(row: Row) -> tuple[bool, bool, float]:
        slice_value = cell_value(row[measure])
        return not is_worse(row), slice_value is None, direction * (slice_value or 0.0)

    rows.sort(key=sort_key)
    series = []
    for row in rows[:SLICES]:
        mark = " ▼" if is_worse(row) else ""
        size_text = f", {format_count(cell_value(row['rows']) or 0, 'row')}{mark}"
        series.append(intervals.interval_row(cell_text(row["slice"]), row[measure], size_text))
    whole_value = cell_value(rows_of_model(result, "models", model)[0].get(measure))
    worse_slices = [cell_text(row["slice"]) for row in rows if is_worse(row)]
    title = intervals.title_of(measure)
    finding = f"{quote_if_ambiguous(model)} is significantly worse in {title} in "
    finding += (
        f"{join_names(worse_slices, most=len(worse_slices))}." if worse_slices else "no slice."
    )
    if all(row["q"] is None for row in rows):
        finding = "Slices are not tested."
    return Chart(
        "intervals",
        f"{title} of {model} by slice, worst first",
        Axis("▼ significantly worse than outside the slice"),
        series=tuple(series),
        guides=() if whole_value is None else (Guide("all rows", x=whole_value),),
        name="slices",
        rank="main",
        left=len(rows) - len(series),
        finding=finding,
    )


def _measure_of_slices(result: Document, slice_rows: Sequence[Row]) -> str:
    """Return the measure pictured: the leading one, or one by which the first slice is worse."""
    measure_names = [name for name, cell in slice_rows[0].items() if isinstance(cell, Estimate)]
    lead_measure = intervals.deciding_measure(result)
    worse_measures = slice_rows[0]["worse"]
    worse_columns = []
    if isinstance(worse_measures, list):
        worse_columns = [name for name in worse_measures if name in measure_names]
    if worse_columns and lead_measure not in worse_columns:
        return str(worse_columns[0])
    return lead_measure if lead_measure in measure_names else measure_names[0]
