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
    models = intervals.leading_models(result, PANELS)
    yield from _calibration(result, models)
    yield from _score_histograms(result, models)
    charts = {chart.name: chart for chart in page_charts(result) if chart.name != "calibration"}
    best = models[0] if models else ""
    for name in ("benefit", "roc"):
        if name in charts:
            yield replace(_with_details(result, charts[name], best), rank="main")
    yield from _confusions(result, models)
    yield from _slices(result)
    for name in FOLDED:
        if name in charts:
            yield _with_details(result, charts[name], best)


def differences(result: Document) -> Iterator[Chart]:
    """Yield differences to the reference with simultaneous intervals and margins, by measure."""
    rows = [
        row
        for row in comparison_rows(result, "reference")
        if as_estimate(row["difference_adjusted"]).value is not None
    ]
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    lead = intervals.deciding_measure(result)
    margins = result.parameters.get("margin", {})
    requested = {*margins, *result.parameters.get("measure", ()), lead}
    for measure in sorted(requested & {*measures}, key=[lead, *measures].index)[:MEASURES]:
        measure_rows = [row for row in rows if row["measure"] == measure]
        several = len({row["reference"] for row in measure_rows}) > 1
        if not several or len(measure_rows) <= SLICES:
            yield _differences_of_measure(result, measure, measure_rows, several=several)


def _differences_of_measure(
    result: Document, measure: str, rows: Sequence[Row], *, several: bool
) -> Chart:
    """Return the differences in a measure; several: whether there are several references."""
    margin = result.parameters.get("margin", {}).get(measure)
    limits = (-margin, margin) if margin else ()
    series = []
    for row in rows:
        name = f"{row['model']} − {row['reference']}" if several else row["model"]
        verdict = f" {row['verdict']}" if row["verdict"] else ""
        series.append(intervals.interval_row(name, row["difference_adjusted"], verdict))
    pair = "between models"
    if not several:
        requested_reference = str(result.parameters.get("reference"))
        pair = f"to {describe_reference(str(rows[0]['reference']), requested_reference)}"
    finding = intervals.sentences_on(result, "compared", "significantly-worse", "equivalent")
    title = intervals.title_of(measure)
    return Chart(
        "intervals",
        f"Difference in {title} {pair}, simultaneous intervals",
        Axis(f"difference in {title}"),
        series=tuple(series),
        guides=(
            Guide("no difference", x=0.0),
            *(Guide(f"red: margin ±{margin:g}", x=limit, limit=True) for limit in limits),
        ),
        name="differences",
        rank="main",
        finding=finding or intervals.best_sentence(result),
    )


def _all_pairs(result: Document) -> Iterator[Chart]:
    """Yield the matrix of differences of all pairs, row minus column; significant ones shaded."""
    lead = intervals.deciding_measure(result)
    level = result.parameters.get("level") or 0.95
    pairs = [row for row in comparison_rows(result, "reference") if row["measure"] == lead]
    if len({row["reference"] for row in pairs}) < 2:
        return
    rows = sort_by_column(result.unsliced_rows("models"), lead)
    names = [row["model"] for row in rows]
    cells: dict[tuple[str, str], tuple[float | None, float]] = {}  # difference, and its shade
    for row in pairs:
        model = row["model"]
        reference = cell_text(row["reference"])
        value = cell_value(row["difference"])
        p = cell_value(row["p_adjusted"])
        shade = 1.0 if p is not None and p < 1 - level else 0.0
        cells[model, reference] = value, shade
        cells[reference, model] = None if value is None else -value, shade
    compared = intervals.sentences_on(result, "compared")
    series = tuple(
        Series(
            a,
            values=tuple(cells.get((a, b), (None, 0.0))[0] for b in names),
            spans=tuple((cells.get((a, b), (None, 0.0))[1], None) for b in names),
        )
        for a in names
    )
    yield Chart(
        "cells",
        f"Differences in {intervals.title_of(lead)}: row minus column",
        series=series,
        names=tuple(names),
        x=Axis("shaded: significant, adjusted for all pairs"),
        name="pairs",
        rank="main",
        finding=compared or intervals.best_sentence(result),
    )


def rows_of_model(result: Document, table: str, model: str) -> Sequence[Row]:
    """Return the rows of one model in a table of all rows."""
    return rows_where(result.unsliced_rows(table), "model", model)


def _calibration(result: Document, models: Sequence[str]) -> Iterator[Chart]:
    """Yield, for each leading model, score groups with intervals, the curve, scores of classes."""
    for model in models:
        groups = rows_of_model(result, "calibration", model)
        if not groups:
            continue
        dots = _calibration_groups(model, groups)
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
            extra=(*curve, dots),
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
    size = f"{min(sizes):,} to " * (len(sizes) > 1) + format_count(max(sizes), "row")
    level = result.parameters.get("level")
    return f"dots: groups of {size}" + (f", with {100 * level:g}% intervals" if level else "")


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
    curve = _band_points(rows, "curve")
    upper = _band_points(rows, "high_all")
    outline = (*upper, *reversed(_band_points(rows, "low_all")))
    area = [Series(model, (outline,), shape="area")] if upper else []
    level = result.parameters.get("level")
    note = "line: spline" + (f" with simultaneous {100 * level:g}% band" if upper and level else "")
    return [*area, Series(model, (curve,))], note


def _band_points(rows: Sequence[Row], column: str) -> tuple[Point, ...]:
    """Return a column of the calibration band by score, as far as it is known."""
    values = [(cell_number(row["score"]), cell_value(row[column])) for row in rows]
    return tuple((score, value) for score, value in values if value is not None)


def _calibration_finding(result: Document, model: str, groups: Sequence[Row]) -> str:
    """Return the sentence of the answer on the calibration of a model, or one on its groups."""
    for answer in result.answer:
        if answer.code in CALIBRATION_CODES and model in answer.models:
            return answer.text
    significant = 0
    for row in groups:
        observed = as_estimate(row["observed"])
        if observed.low is not None and observed.high is not None:
            significant += not observed.low <= cell_number(row["mean_score"]) <= observed.high
    finding = f"In {significant} of {len(groups)} groups by score of {quote_if_ambiguous(model)} "
    return finding + "the observed rate differs significantly from the predicted one."


def _bars(result: Document, model: str) -> tuple[Series, ...]:
    """Return the histograms of both classes, the positive one up and the other one down."""
    rows = rows_of_model(result, "distribution", model)
    histograms = []
    for i, name in enumerate(dict.fromkeys(cell_text(row["class"]) for row in rows)):
        bins = [row for row in rows if row["class"] == name]
        edges = [(cell_number(row["from"]), cell_number(row["to"])) for row in bins]
        heights = [(1 - 2 * i) * (cell_value(row["share"]) or 0.0) for row in bins]
        middles = [(left + right) / 2 for left, right in edges]
        points = tuple(zip(middles, heights, strict=True))
        side = ("positive", "negative")[i]
        histograms.append(
            Series(f"{side}: {name}", (points,), letter=side, shape="bars", spans=tuple(edges))
        )
    return tuple(histograms)


def _score_histograms(result: Document, models: Sequence[str]) -> Iterator[Chart]:
    """Yield the scores of each leading model by class, with its threshold."""
    histograms_of = {model: bars for model in models if (bars := _bars(result, model))}
    histograms = chain.from_iterable(histograms_of.values())
    highest = max((abs(y) for series in histograms for _, y in series.parts[0]), default=0.0)
    for model, bars in histograms_of.items():
        row = rows_of_model(result, "models", model)[0]
        cut = cell_value(row.get("threshold"))
        guides = () if cut is None else (Guide(f"threshold {format_exact(cut)}", x=cut),)
        auc = _interval_text(result, row.get("roc_auc"))
        spans = bars[0].spans
        yield Chart(
            "lines",
            f"Scores of {model} by class",
            Axis("score", range=(spans[0][0] or 0.0, spans[-1][1] or 0.0)),
            Axis("share of the class", range=(-highest, highest)),
            name="scores",
            guides=guides,
            extra=bars,
            rank="main",
            finding=f"The ROC AUC of {quote_if_ambiguous(model)} is {auc}.",
            moving=("threshold", "", model),
        )


def _with_details(result: Document, chart: Chart, best: str) -> Chart:
    """Return a chart of curves with thresholds in force, what is shaded, and the finding."""
    shaded: tuple[Series, ...] = ()
    dots: tuple[Series, ...] = ()
    note = ""
    if chart.name == "roc":
        shaded = _roc_band(result, best)
        level = 100 * (result.parameters.get("level") or 0.0)
        note = f"shaded: joint {level:g}% CI of sensitivity and specificity of {{}}"
        dots = _in_force(result, "fpr", "sensitivity")
    elif chart.name == "pr":
        dots = _in_force(result, "sensitivity", "ppv")
    elif chart.name == "benefit":
        shaded = _helping_ranges(result, chart, best)
        note = "shaded: {} is significantly better than treat-all and treat-none"
    key = [Note(note, (best,))] * bool(shaded) + [Note("dots: thresholds in force")] * bool(dots)
    return replace(
        chart,
        y=replace(chart.y, label=VERTICAL[chart.name]),
        extra=(*shaded, *dots),
        finding=_finding_of_curves(result, chart.name, best, shaded),
        key=(*chart.key, *key),
        square=chart.name == "roc",
        moving=MOVING.get(chart.name),
    )


def _finding_of_curves(result: Document, name: str, best: str, shaded: Sequence[Series]) -> str:
    """Return the sentence on the best model's curve in a chart; shaded: ranges of thresholds."""
    model = quote_if_ambiguous(best)
    row = rows_of_model(result, "models", best)[0]
    if name == "roc":
        return f"The area under the curve of {model} is {_interval_text(result, row['roc_auc'])}."
    if name == "pr":
        if row.get("threshold") is None:
            return f"{model} has no threshold."
        precision = intervals.interval_words(as_estimate(row.get("precision")))
        sensitivity = intervals.interval_words(as_estimate(row.get("sensitivity")))
        return f"At its threshold {model} has precision {precision}, sensitivity {sensitivity}."
    if name == "benefit":
        return _net_benefit_finding(result, best, shaded)
    if name == "risk":
        return intervals.sentences_on(result, "abstention")
    return _gain_finding(result, best)


def _net_benefit_finding(result: Document, best: str, shaded: Sequence[Series]) -> str:
    """Return at which thresholds the best model is better than both alternatives."""
    rows = rows_of_model(result, "decision", best)
    if not any(row["helps"] is not None for row in rows):
        return "Differences from treat-all and treat-none are not tested."
    corners = [part for series in shaded for part in series.parts]
    ranges = [(part[0][0], part[2][0]) for part in corners]
    texts = (f"{a:g} to {b:g}" if b > a else f"{a:g}" for a, b in ranges)
    thresholds = f"at thresholds {' and '.join(texts)}" if ranges else "at no threshold"
    model = quote_if_ambiguous(best)
    return f"{model} is significantly better than treat-all and treat-none {thresholds}."


def _gain_finding(result: Document, best: str) -> str:
    """Return the sentence on the point of the best model's curve near a tenth of the rows."""
    shares = [
        [cell_value(row[key]) or 0.0 for key in ("flagged", "sensitivity")]
        for row in rows_of_model(result, "curves", best)
    ]
    shares = [pair for pair in shares if pair[0]]
    if not shares:
        return ""
    nearest = min(shares, key=lambda pair: abs(pair[0] - 0.1))
    flagged, sensitivity = map(format_percent, nearest)
    return (
        f"{sensitivity}% of the positives are in the {flagged}% of the rows with the highest "
        f"scores of {quote_if_ambiguous(best)}."
    )


def _interval_text(result: Document, cell: object) -> str:
    """Return a value with its interval for a sentence."""
    estimate = as_estimate(cell)
    if estimate.value is None:
        return "undefined"
    level = result.parameters.get("level") or 0.95
    return with_interval(estimate.value, estimate.low, estimate.high, level)


def _in_force(result: Document, x: str, y: str) -> tuple[Series, ...]:
    """Return a dot for each model at its threshold."""
    dots = []
    columns = {"fpr": "specificity", "ppv": "precision"}
    for row in result.unsliced_rows("models"):
        x_value, y_value = (cell_value(row.get(columns.get(name, name))) for name in (x, y))
        if row.get("threshold") is not None and x_value is not None and y_value is not None:
            point = 1 - x_value if x == "fpr" else x_value, y_value
            dots.append(Series(row["model"], ((point,),), shape="dots"))
    return tuple(dots)


def _roc_band(result: Document, best: str) -> tuple[Series, ...]:
    """Return the area through the corners of the regions of all thresholds."""
    upper = [(0.0, 0.0)]
    lower = [(0.0, 0.0)]
    for row in rows_of_model(result, "roc_band", best):
        sensitivity = as_estimate(row["sensitivity"])
        fpr = as_estimate(row["fpr"])
        if sensitivity.low is not None and sensitivity.high is not None:
            upper.append((fpr.low or 0.0, sensitivity.high))
            lower.append((fpr.high or 0.0, sensitivity.low))
    outline = (*upper, (1.0, 1.0), *lower[::-1])
    return (Series(best, (outline,), shape="area"),) if len(upper) > 1 else ()


def _helping_ranges(result: Document, chart: Chart, best: str) -> tuple[Series, ...]:
    """Return the areas of thresholds at which the best model is better than both alternatives."""
    parts = chain.from_iterable(series.parts for series in chart.series)
    heights = [y for _, y in chain.from_iterable(parts)]
    low = min(heights, default=0.0)
    high = max(heights, default=0.0)
    areas = []
    start = None
    for row, next_row in pairwise([*rows_of_model(result, "decision", best), {}]):
        threshold = cell_number(row["threshold"])
        start = threshold if row["helps"] and start is None else start
        if start is not None and not next_row.get("helps"):
            areas.append(((start, low), (start, high), (threshold, high), (threshold, low)))
            start = None
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
    names = dict.fromkeys(str(row[key]) for key in ("truth", "predicted") for row in rows)
    classes = sorted(names, key=lambda name: positive is not None and name != positive)
    series = []
    for truth in classes:
        line = [cells.get((truth, predicted), (0.0, 0.0)) for predicted in classes]
        counts = tuple(count for count, _ in line)
        spans = tuple((share, None) for _, share in line)
        series.append(Series(truth, values=counts, spans=spans))
    cut = cell_value(rows_of_model(result, "models", model)[0].get("threshold"))
    threshold = "" if cut is None else f" at threshold {format_exact(cut)}"
    return Chart(
        "cells",
        f"Confusion of {model}{threshold}: true class (rows), predicted class (columns)",
        series=tuple(series),
        names=tuple(classes),
        x=Axis("number of rows; shaded by the share of the true class"),
        name="confusion",
        rank="main",
        finding=_most_frequent_error(model, cells),
    )


def _most_frequent_error(model: str, cells: Confusions) -> str:
    """Return the sentence on the largest cell off the diagonal of a confusion matrix."""
    errors = {pair: cell for pair, cell in cells.items() if pair[0] != pair[1] and cell[0]}
    name = quote_if_ambiguous(model)
    if not errors:
        return f"{name} predicts every row correctly."
    truth, predicted = max(errors, key=lambda pair: errors[pair][0])
    count, share = errors[truth, predicted]
    finding = f"Most frequent error of {name}: {truth} predicted as {predicted}, "
    return finding + f"{format_count(count, 'row')} ({format_percent(share)}% of the class)."


def _slices(result: Document) -> Iterator[Chart]:
    """Yield the slices of the models first shown, and of those that are worse in one of them."""
    slices = result.tables.get("slices", ())
    worse = [row["model"] for row in slices if row["worse"]]
    for model in [*dict.fromkeys([*slice_models(result), *worse])][:PANELS] if slices else ():
        rows = [row for row in slices if row["model"] == model]
        if rows:
            yield _slices_of_model(result, model, rows)


def _slices_of_model(result: Document, model: str, slices: Sequence[Row]) -> Chart:
    """Return the slices of a model with intervals, significantly worse ones first."""
    measure = _measure_of_slices(result, slices)
    rows = [row for row in slices if row["q"] is not None] or [*slices]
    sign = -1 if measure in CATALOG and CATALOG[measure].arrow == "↓" else 1

    def is_worse(row: Row) -> bool:
        return isinstance(row["worse"], list) and measure in row["worse"]

    def order(row: Row) -> tuple[bool, bool, float]:
        value = cell_value(row[measure])
        return not is_worse(row), value is None, sign * (value or 0.0)

    rows.sort(key=order)
    series = []
    for row in rows[:SLICES]:
        size = f", {format_count(cell_value(row['rows']) or 0, 'row')}{' ▼' * is_worse(row)}"
        series.append(intervals.interval_row(cell_text(row["slice"]), row[measure], size))
    value = cell_value(rows_of_model(result, "models", model)[0].get(measure))
    worse = [cell_text(row["slice"]) for row in rows if is_worse(row)]
    title = intervals.title_of(measure)
    finding = f"{quote_if_ambiguous(model)} is significantly worse in {title} in "
    finding += f"{join_names(worse, most=len(worse))}." if worse else "no slice."
    if all(row["q"] is None for row in rows):
        finding = "Slices are not tested."
    return Chart(
        "intervals",
        f"{title} of {model} by slice, worst first",
        Axis("▼ significantly worse than outside the slice"),
        series=tuple(series),
        guides=() if value is None else (Guide("all rows", x=value),),
        name="slices",
        rank="main",
        left=len(rows) - len(series),
        finding=finding,
    )


def _measure_of_slices(result: Document, slices: Sequence[Row]) -> str:
    """Return the measure of a picture: the leading one, or that by which the worst slice is."""
    names = [name for name, cell in slices[0].items() if isinstance(cell, Estimate)]
    lead = intervals.deciding_measure(result)
    worse = slices[0]["worse"]
    measures = [name for name in worse if name in names] if isinstance(worse, list) else []
    if measures and lead not in measures:
        return str(measures[0])
    return lead if lead in names else names[0]
