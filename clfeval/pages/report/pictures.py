"""Pictures of report: intervals, differences, scores, calibration, curves, confusions, slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from clfeval.document import Document, Estimate, Row, as_estimate, cell_value
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
from clfeval.pages.chart import Axis, Chart, Guide, Note, Point, Series, Span
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
FOLDED = ("pr", "gain", "lift", "risk")  # among other pictures, below the first ones


def pictures(result: Document) -> Iterator[Chart]:
    """Yield the charts of a report in reading order."""
    yield from intervals.intervals_of_models(result)
    yield from differences(result)
    yield from _all_pairs(result)
    shown = intervals.leading_models(result, PANELS)
    yield from _calibration(result, shown)
    yield from _score_histograms(result, shown)
    charts = {chart.name: chart for chart in page_charts(result) if chart.name != "calibration"}
    best = shown[0] if shown else ""
    for name in ("benefit", "roc"):
        if name in charts:
            yield replace(_with_details(result, charts[name], best), rank="main")
    yield from _confusions(result, shown)
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
    given = str(result.parameters.get("reference"))
    measures = list(dict.fromkeys(str(row["measure"]) for row in rows))
    lead = intervals.deciding_measure(result)
    asked = {*result.parameters.get("margin", ()), *result.parameters.get("measure", ()), lead}
    for measure in sorted(asked & {*measures}, key=[lead, *measures].index)[:MEASURES]:
        here = [row for row in rows if row["measure"] == measure]
        several = len({row["reference"] for row in here}) > 1
        if several and len(here) > SLICES:
            continue
        margin = result.parameters.get("margin", {}).get(measure)
        guides = [Guide("no difference", x=0.0)]
        guides += [
            Guide(f"red: margin ±{margin:g}", x=x, limit=True)
            for x in ((-margin, margin) if margin else ())
        ]
        series = []
        for row in here:
            name = f"{row['model']} − {row['reference']}" if several else str(row["model"])
            verdict = f" {row['verdict']}" if row["verdict"] else ""
            series.append(intervals.interval_row(name, row["difference_adjusted"], verdict))
        to = f"to {describe_reference(str(here[0]['reference']), given)}"
        to = "between models" if several else to
        found = intervals.sentence(result, "compared", "significantly-worse", "equivalent")
        title = intervals.title_of(measure)
        yield Chart(
            "intervals",
            f"Difference in {title} {to}, simultaneous intervals",
            Axis(f"difference in {title}"),
            series=tuple(series),
            guides=tuple(guides),
            name="differences",
            rank="main",
            finding=found or intervals.best_sentence(result),
        )


def _all_pairs(result: Document) -> Iterator[Chart]:
    """Yield the matrix of differences of all pairs, row minus column; significant ones shaded."""
    lead, level = intervals.deciding_measure(result), result.parameters.get("level") or 0.95
    found = [row for row in comparison_rows(result, "reference") if row["measure"] == lead]
    if len({row["reference"] for row in found}) < 2:
        return
    rows = sort_by_column(result.unsliced_rows("models"), lead)
    names = [str(row["model"]) for row in rows]
    cells: dict[tuple[str, str], tuple[float | None, float]] = {}
    for row in found:
        value, p = cell_value(row["difference"]), cell_value(row["p_adjusted"])
        sure = 1.0 if p is not None and p < 1 - level else 0.0
        cells[str(row["model"]), str(row["reference"])] = value, sure
        cells[str(row["reference"]), str(row["model"])] = None if value is None else -value, sure
    compared = intervals.sentence(result, "compared")
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
    points = [(float(str(row["mean_score"])), cell_value(row["observed"])) for row in groups]
    limits = [as_estimate(row["observed"]) for row in groups]
    return Series(
        model,
        (tuple((x, y) for x, y in points if y is not None),),
        shape="dots",
        spans=tuple((limit.low, limit.high) for limit in limits),
    )


def _group_note(result: Document, groups: Sequence[Row]) -> str:
    """Return how many rows the groups have, and the level of their intervals."""
    sizes = {round(float(str(row["rows"]))) for row in groups}
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
            height = float(str(row["isotonic"]))
            steps += [(float(str(row["from"])), height), (float(str(row["to"])), height)]
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
    values = [(float(str(row["score"])), cell_value(row[column])) for row in rows]
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
            significant += not observed.low <= float(str(row["mean_score"])) <= observed.high
    finding = f"In {significant} of {len(groups)} groups by score of {quote_if_ambiguous(model)} "
    return finding + "the observed rate differs significantly from the predicted one."


def _bars(result: Document, model: str) -> tuple[Series, ...]:
    """Return the histograms of both classes, the positive one up and the other one down."""
    rows = rows_of_model(result, "distribution", model)
    made = []
    for i, name in enumerate(dict.fromkeys(str(row["class"]) for row in rows)):
        here = [row for row in rows if row["class"] == name]
        ends: tuple[Span, ...] = tuple((float(str(r["from"])), float(str(r["to"]))) for r in here)
        heights = [(1 - 2 * i) * (cell_value(row["share"]) or 0.0) for row in here]
        middles = [((a or 0.0) + (b or 0.0)) / 2 for a, b in ends]
        points = tuple(zip(middles, heights, strict=True))
        side = ("positive", "negative")[i]
        made.append(Series(f"{side}: {name}", (points,), letter=side, shape="bars", spans=ends))
    return tuple(made)


def _score_histograms(result: Document, models: Sequence[str]) -> Iterator[Chart]:
    """Yield the scores of each leading model by class, with its threshold."""
    bars_of = {model: bars for model in models if (bars := _bars(result, model))}
    most = max(
        (abs(y) for bars in bars_of.values() for one in bars for _, y in one.parts[0]), default=0.0
    )
    for model, bars in bars_of.items():
        shown = rows_of_model(result, "models", model)[0]
        cut = cell_value(shown.get("threshold"))
        guides = () if cut is None else (Guide(f"threshold {format_exact(cut)}", x=cut),)
        finding = f"The ROC AUC of {quote_if_ambiguous(model)} is "
        finding += f"{_interval_text(result, shown.get('roc_auc'))}."
        ends = bars[0].spans[0][0] or 0.0, bars[0].spans[-1][1] or 0.0
        yield Chart(
            "lines",
            f"Scores of {model} by class",
            Axis("score", range=ends),
            Axis("share of the class", range=(-most, most)),
            name="scores",
            guides=guides,
            extra=bars,
            rank="main",
            finding=finding,
            moving=("threshold", "", model),
        )


def _with_details(result: Document, chart: Chart, best: str) -> Chart:
    """Return a chart of curves with thresholds in force, what is shaded, and the finding."""
    who, row = quote_if_ambiguous(best), rows_of_model(result, "models", best)[0]
    shaded: tuple[Series, ...] = ()
    moving: tuple[str, str, str] | None = None
    note = finding = ""
    if chart.name == "roc":
        moving, shaded = ("fpr", "sensitivity", ""), _roc_band(result, best)
        level = 100 * (result.parameters.get("level") or 0.0)
        note = f"shaded: joint {level:g}% CI of sensitivity and specificity of {{}}"
        finding = f"The area under the curve of {who} is {_interval_text(result, row['roc_auc'])}."
    elif chart.name == "pr":
        moving = ("sensitivity", "ppv", "")
        precision, hits = (
            intervals.interval_words(as_estimate(row.get(name)))
            for name in ("precision", "sensitivity")
        )
        finding = f"At its threshold {who} has precision {precision}, sensitivity {hits}."
        finding = finding if row.get("threshold") is not None else f"{who} has no threshold."
    elif chart.name == "benefit":
        moving, shaded = ("threshold", "benefit", ""), _helping_ranges(result, chart, best)
        note = "shaded: {} is significantly better than treat-all and treat-none"
        rows = rows_of_model(result, "decision", best)
        ends = [(part[0][0], part[2][0]) for one in shaded for part in one.parts]
        where = " and ".join(f"{a:g} to {b:g}" if b > a else f"{a:g}" for a, b in ends)
        where = f"at thresholds {where}" if where else "at no threshold"
        finding = f"{who} is significantly better than treat-all and treat-none {where}."
        if not any(row["helps"] is not None for row in rows):
            finding = "Differences from treat-all and treat-none are not tested."
    elif chart.name == "risk":
        finding = intervals.sentence(result, "abstention")
    else:  # of a point of the curve near a tenth of the rows
        shares = [
            [cell_value(one[key]) or 0.0 for key in ("flagged", "sensitivity")]
            for one in rows_of_model(result, "curves", best)
        ]
        near = sorted((pair for pair in shares if pair[0]), key=lambda pair: abs(pair[0] - 0.1))
        for flagged, hits in (map(format_percent, pair) for pair in near[:1]):
            finding = (
                f"{hits}% of the positives are in the {flagged}% of the rows with the highest "
            )
            finding += f"scores of {who}."
    dots = _in_force(result, *moving[:2]) if chart.name in ("roc", "pr") and moving else ()
    key = [Note(note, (best,))] * bool(shaded) + [Note("dots: thresholds in force")] * bool(dots)
    return replace(
        chart,
        y=replace(chart.y, label=VERTICAL[chart.name]),
        extra=(*shaded, *dots),
        finding=finding,
        key=(*chart.key, *key),
        square=chart.name == "roc",
        moving=moving,
    )


def _interval_text(result: Document, cell: object) -> str:
    """Return a value with its interval for a sentence."""
    one = as_estimate(cell)
    if one.value is None:
        return "undefined"
    return with_interval(one.value, one.low, one.high, result.parameters.get("level") or 0.95)


def _in_force(result: Document, x: str, y: str) -> tuple[Series, ...]:
    """Return a dot for each model at its threshold."""
    made = []
    names = {"fpr": "specificity", "ppv": "precision"}
    for row in result.unsliced_rows("models"):
        a, b = (cell_value(row.get(names.get(name, name))) for name in (x, y))
        if row.get("threshold") is not None and a is not None and b is not None:
            at = 1 - a if x == "fpr" else a, b
            made.append(Series(str(row["model"]), ((at,),), shape="dots"))
    return tuple(made)


def _roc_band(result: Document, best: str) -> tuple[Series, ...]:
    """Return the area through the corners of the regions of all thresholds."""
    over, under = [(0.0, 0.0)], [(0.0, 0.0)]
    for row in rows_of_model(result, "roc_band", best):
        rise, across = as_estimate(row["sensitivity"]), as_estimate(row["fpr"])
        if rise.low is not None and rise.high is not None:
            over.append((across.low or 0.0, rise.high))
            under.append((across.high or 0.0, rise.low))
    outline = (*over, (1.0, 1.0), *under[::-1])
    return (Series(best, (outline,), shape="area"),) if len(over) > 1 else ()


def _helping_ranges(result: Document, chart: Chart, best: str) -> tuple[Series, ...]:
    """Return the areas of thresholds at which the best model is better than both alternatives."""
    heights = [y for one in chart.series for part in one.parts for _, y in part]
    low, high = min(heights, default=0.0), max(heights, default=0.0)
    areas, start = [], None
    for row, after in pairwise([*rows_of_model(result, "decision", best), {}]):
        at = float(str(row["threshold"]))
        start = at if row["helps"] and start is None else start
        if start is not None and not after.get("helps"):
            areas.append(((start, low), (start, high), (at, high), (at, low)))
            start = None
    return (Series("", tuple(areas), shape="area"),) if areas else ()


def _confusions(result: Document, models: Sequence[str]) -> Iterator[Chart]:
    """Yield the confusion matrix of each leading model, shaded by the share of the true class."""
    positive = result.parameters.get("positive")
    for model in models:
        rows = rows_of_model(result, "confusion", model)
        if not rows:
            continue
        cut = cell_value(rows_of_model(result, "models", model)[0].get("threshold"))
        at = "" if cut is None else f" at threshold {format_exact(cut)}"
        names = dict.fromkeys(str(row[key]) for key in ("truth", "predicted") for row in rows)
        classes = sorted(names, key=lambda one: positive is not None and one != positive)
        cells = {
            (str(row["truth"]), str(row["predicted"])): [
                cell_value(row[key]) or 0.0 for key in ("rows", "share")
            ]
            for row in rows
        }
        series = []
        for truth in classes:
            here = [cells.get((truth, one), [0.0, 0.0]) for one in classes]
            series.append(
                Series(
                    truth,
                    values=tuple(rows for rows, _ in here),
                    spans=tuple((share, None) for _, share in here),
                )
            )
        wrong = {pair: cell for pair, cell in cells.items() if pair[0] != pair[1] and cell[0]}
        finding = f"{(who := quote_if_ambiguous(model))} predicts every row correctly."
        if wrong:
            truth, predicted = max(wrong, key=lambda pair: wrong[pair][0])
            count, share = wrong[truth, predicted]
            finding = f"Most frequent error of {who}: {truth} predicted as {predicted}, "
            finding += f"{format_count(count, 'row')} ({format_percent(share)}% of the class)."
        title = f"Confusion of {model}{at}: true class (rows), predicted class (columns)"
        yield Chart(
            "cells",
            title,
            series=tuple(series),
            names=tuple(classes),
            x=Axis("number of rows; shaded by the share of the true class"),
            name="confusion",
            rank="main",
            finding=finding,
        )


def _slices(result: Document) -> Iterator[Chart]:
    """Yield the slices of the models first shown, and of those that are worse in one of them."""
    slices = result.tables.get("slices", ())
    worse = [str(row["model"]) for row in slices if row["worse"]]
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

    rows.sort(
        key=lambda row: (
            not is_worse(row),
            (value := cell_value(row[measure])) is None,
            sign * (value or 0.0),
        )
    )
    series = []
    for row in rows[:SLICES]:
        size = f", {format_count(cell_value(row['rows']) or 0, 'row')}{' ▼' * is_worse(row)}"
        series.append(intervals.interval_row(str(row["slice"]), row[measure], size))
    value = cell_value(rows_of_model(result, "models", model)[0].get(measure))
    worse, title = [str(row["slice"]) for row in rows if is_worse(row)], intervals.title_of(measure)
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
