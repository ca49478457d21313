"""Pictures of the commands: charts of their pages by name, with what letters cannot show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from clfeval.document import Document
from clfeval.document.cells import Row, as_estimate, cell_value
from clfeval.formatting import (
    format_class_ratio,
    format_count,
    format_number,
    format_rows,
    join_names,
)
from clfeval.pages.chart import Axis, Chart, Guide, Note, Point, Series, row_point
from clfeval.pages.command_pages import page_of
from clfeval.pages.intervals import heading_of, interval_words, intervals_of_models, sentences_on
from clfeval.pages.mars import MEASURES, pair_cells
from clfeval.pages.phidelta import isometric_lines
from clfeval.pages.phidelta.tables import CORNERS
from clfeval.pages.report.pictures import pictures as report_pictures
from clfeval.pages.schema import HISTORY
from clfeval.pages.table_parts import format_cell
from clfeval.placeholders import OPTION
from clfeval.records import dataclass, replace

MAX_FEATURES = 300  # dots of features, at most
NAMED_FEATURES = 8
MIN_ENLARGEMENT = 2.5  # times, at least
DARK_CELLS = {  # of the matrices of pairs
    "shine_through": "dark: many positives that no other model detects",
    "occlusion": "dark: many positives that only these models miss",
}
MAX_CLASS_RATIOS = 2  # diamonds, at most
RANK_COLUMNS = ("best_over_orders", "mlcps", "worst_over_orders")  # best, own, worst


def pictures_of(result: Document) -> dict[str, list[Chart]]:
    """Return the panels of each picture of a result, by its name, in the order of the page."""
    panels: dict[str, list[Chart]] = {}
    for chart in CHARTS_OF_COMMAND.get(result.command, page_of(result.command).charts)(result):
        panels.setdefault(chart.name, []).append(chart)
    return panels


def _mars(result: Document) -> Iterator[Chart]:
    yield from intervals_of_models(result)
    for chart in page_of("mars").charts(result):
        if chart.name == "matrix":
            yield from _pair_matrices(result, chart)
        elif chart.name == "bars":
            yield _unique_bars(chart)
        else:
            yield _sweep_curves(chart)


def _pair_matrices(result: Document, chart: Chart) -> Iterator[Chart]:
    """Yield a matrix of all pairs of models for each measure."""
    model_names = tuple(series.name for series in chart.series)
    pairs = result.unsliced_rows("pairs")
    for measure, measure_title in MEASURES:
        rows_and_cells = zip(model_names, pair_cells(result, measure), strict=True)
        series = tuple(
            Series(name, values=tuple(map(cell_value, cells))) for name, cells in rows_and_cells
        )
        best_pair = max(pairs, key=lambda row: cell_value(row[measure]) or 0.0)
        highest_value = cell_value(best_pair[measure]) or 0.0
        measure_noun = measure_title.partition(" (")[0]
        finding = f"No pair has any {measure_noun}."
        if highest_value:
            pair_names = format_cell(best_pair["models"])
            finding = f"Highest share of {measure_noun}: {pair_names}, {highest_value:.3f}."
        yield replace(
            chart,
            title=f"{measure_title[0].upper()}{measure_title[1:]} of pairs; "
            "single models on the diagonal",
            x=Axis(DARK_CELLS[measure]),
            series=series,
            names=model_names,
            finding=finding,
            rank="main",
        )


def _unique_bars(chart: Chart) -> Chart:
    """Return the bars of a chart, longest first."""
    sorted_bars = sorted(chart.series, key=lambda bar: -(bar.values[0] or 0.0))
    highest_count = sorted_bars[0].values[0] or 0.0
    bars_noun = chart.title.lower()
    names_text = join_names([bar.name for bar in sorted_bars if bar.values[0] == highest_count])
    finding = f"Most {bars_noun}: {names_text}, {format_rows(highest_count)}."
    if not highest_count:
        finding = f"There are no {bars_noun}."
    return replace(
        chart, x=Axis(bars_noun), series=tuple(sorted_bars), finding=finding, rank="main"
    )


def _sweep_curves(chart: Chart) -> Chart:
    """Return the curves of a sweep, with the highest point as the finding."""
    title = chart.title.partition(" at ")[0]
    curve_points = [
        (y, x, curve.name) for curve in chart.series for x, y in chain.from_iterable(curve.parts)
    ]
    highest_value, x, name = max(curve_points, default=(0.0, 0.0, ""))
    finding = f"Highest {title}: {name}, {highest_value:.3f} at {chart.x.label} {x:.4g}."
    if not highest_value:
        finding = f"No model has any {title}."
    return replace(chart, y=replace(chart.y, label=title), finding=finding)


def _phidelta(result: Document) -> Iterator[Chart]:
    """Yield intervals of δ, then a diamond for equal classes and one for another class ratio."""
    if result.parameters.get("mode") != "features" and not result.tables.get("runs"):
        yield from intervals_of_models(result)
    corners_of_odds: dict[str, dict[str, Point]] = {}
    for row in result.tables.get("corners", ()):
        if point := row_point(row, "phi_b", "delta_b"):
            corners_of_odds.setdefault(str(row["odds"]), {})[row["corner"]] = point
    balanced_odds = [odds for odds in corners_of_odds if odds == "1:1"] or ["1:1"]
    other_odds = [odds for odds in corners_of_odds if odds not in balanced_odds]
    for odds in [*balanced_odds, *other_odds][:MAX_CLASS_RATIOS]:
        outline = (
            [corners_of_odds[odds][name] for name in CORNERS] if odds in corners_of_odds else None
        )
        chart = _diamond(result, odds, outline or [(0, 1), (1, 0), (0, -1), (-1, 0)])
        yield from (chart, *_enlarged(chart))


@dataclass(frozen=True, slots=True)
class DiamondDots:
    """The dots of a diamond: with a name, notes on them, and what is behind them."""

    dots: Sequence[Series]
    notes: Sequence[str]
    behind: Sequence[Series]


def _diamond(result: Document, odds: str, outline: list[Point]) -> Chart:
    """Return the diamond of a class ratio; outline: its corners (top, right, bottom, left)."""
    is_balanced = odds == "1:1"
    is_of_features = result.parameters.get("mode") == "features"
    dots = _feature_dots(result) if is_of_features else _model_dots(result, odds)
    series_behind = [*dots.behind]
    notes = [*dots.notes]
    for measure, value, points in isometric_lines(result, odds, "" if is_balanced else "_b"):
        series_behind.append(Series(f"{measure} {value:g}", points))
        notes.append(f"grey line: {measure.replace('_', ' ')} = {value:g}")
    notes += _corner_notes(outline, balanced=is_balanced)
    axis_limit = max(1.0, *(abs(x) for corner in outline for x in corner))
    axis_names = ("φ: bias", "δ: discrimination") if is_balanced else ("φ_b", "δ_b")
    ratio_clause = (
        "independent of the class ratio" if is_balanced else f"at {format_class_ratio(odds)}"
    )
    return Chart(
        "points",
        f"Youden's J and bias (φ-δ), {ratio_clause}",
        Axis(axis_names[0], range=(-axis_limit, axis_limit)),
        Axis(axis_names[1], range=(-axis_limit, axis_limit)),
        (*_frame_of_diamond(outline), *dots.dots),
        name="diamond",
        square=True,
        extra=tuple(series_behind),
        key=tuple(map(Note, dict.fromkeys(notes))),
        rank="main",
        finding=_diamond_finding(dots.dots, axis_names),
    )


def _frame_of_diamond(outline: Sequence[Point]) -> tuple[Series, ...]:
    """Return the edges between the corners (top, right, bottom, left), and both axes."""
    top, right, bottom, left = outline
    return (
        Series("", ((*outline, top),), letter=":"),
        Series("", (((top[0], bottom[1]), top),), letter=":"),
        Series("no information", ((left, right),), letter=":"),
    )


def _corner_notes(outline: Sequence[Point], *, balanced: bool) -> list[str]:
    """Return what the corners mean or, where the classes are not balanced, where they are."""
    if balanced:
        return ["top: always right; left: always negative; right: always positive"]
    named_corners = zip(CORNERS, outline, strict=True)
    return [f"{name} ({x:.3g}, {y:.3g})" for name, (x, y) in named_corners]


def _diamond_finding(dots: Sequence[Series], axis_names: tuple[str, str]) -> str:
    """Return the sentence on the dot that is farthest from no information."""
    if not dots:
        return "No dots."
    _, y, x, name = max((abs(y), y, x, dot.name) for dot in dots for x, y in dot.parts[0])
    phi, delta = (axis_name.partition(":")[0] for axis_name in axis_names)
    return f"Largest |{delta}|: {name}, {delta} {y:.3f}, {phi} {x:.3f}."


def _enlarged(chart: Chart) -> Iterator[Chart]:
    """Yield the part of a diamond with the ellipses, where it is small enough to be worth it."""
    ellipses = tuple(series for series in chart.extra if series.shape == "ellipse")
    corners = [corner for ellipse in ellipses for corner in ellipse.parts[0]]
    coordinates_of_axis = [[corner[axis] for corner in corners] for axis in range(2)]
    half_width = 0.53 * max(
        (max(coordinates) - min(coordinates) for coordinates in coordinates_of_axis if coordinates),
        default=1.0,
    )
    if len(ellipses) < 2 or half_width * MIN_ENLARGEMENT > 1:
        return
    centers = [(max(coordinates) + min(coordinates)) / 2 for coordinates in coordinates_of_axis]
    x, y = ((center - half_width, center + half_width) for center in centers)
    yield replace(
        chart,
        title="The same, enlarged",
        x=replace(chart.x, range=x),
        y=replace(chart.y, range=y),
        series=tuple(series for series in chart.series if not series.letter),
        extra=ellipses,
        key=(),
        guides=(Guide("no bias", x=0.0),),
    )


def _feature_dots(result: Document) -> DiamondDots:
    """Return the features with the largest |δ| with a name, before dots of all."""
    rows = list(result.tables.get("selected") or result.tables.get("features", ()))
    leading_rows = sorted(rows, key=lambda row: -abs(cell_value(row["delta"]) or 0.0))[
        :NAMED_FEATURES
    ]
    dots = [
        Series(row["feature"], ((point,),), letter=letter)
        for letter, row in zip("ABCDEFGH", leading_rows, strict=False)
        if (point := row_point(row, "phi", "delta"))
    ]
    points = [point for row in rows[:MAX_FEATURES] if (point := row_point(row, "phi", "delta"))]
    omitted_count = len(rows) - len(points)
    notes = (
        [f"{format_count(omitted_count, 'more feature')} not shown"] if omitted_count > 0 else []
    )
    return DiamondDots(dots, notes, [Series("", (tuple(points),), letter=".", shape="dots")])


def _model_dots(result: Document, odds: str) -> DiamondDots:
    """Return a dot for each model, before its ellipse and, for equal classes, curve and runs."""
    is_balanced = odds == "1:1"
    rows = list(result.unsliced_rows("models"))
    if not is_balanced:
        rows = [row for row in result.unsliced_rows("populations") if row["odds"] == odds]
    suffix = "" if is_balanced else "_b"
    dots = []
    ellipses = []
    for row in rows:
        phi = as_estimate(row.get(f"phi{suffix}"))
        delta = as_estimate(row.get(f"delta{suffix}"))
        if phi.value is None or delta.value is None:
            continue
        dots.append(Series(row["model"], (((phi.value, delta.value),),)))
        limits = (phi.low, delta.low, phi.high, delta.high)
        defined_limits = [limit for limit in limits if limit is not None]
        if len(defined_limits) == 4:
            corners = (defined_limits[0], defined_limits[1]), (defined_limits[2], defined_limits[3])
            ellipses.append(Series(row["model"], (corners,), shape="ellipse"))
    notes = ["ellipses: confidence intervals of φ and δ"] if ellipses else []
    series_behind = [*ellipses, *_curves_and_runs(result)] if is_balanced else ellipses
    return DiamondDots(dots, notes, series_behind)


def _curves_and_runs(result: Document) -> Iterator[Series]:
    """Yield the curve of each model, and a dot for each run."""
    points_of_model: dict[str, list[Point]] = {}
    for row in result.unsliced_rows("curve"):
        if point := row_point(row, "phi", "delta"):
            points_of_model.setdefault(row["model"], []).append(point)
    for name, points in points_of_model.items():
        yield Series(name, (tuple(points),))
    for row in result.tables.get("runs", ()):
        if point := row_point(row, "phi", "delta"):
            yield Series(row["model"], ((point,),), letter=".", shape="dots")


def _tune_jpt(result: Document) -> Iterator[Chart]:
    """Yield the charts of the page, each with a sentence as its finding."""
    for chart in page_of("tune-jpt").charts(result):
        title = chart.title.partition(" by ")[0]
        codes = ("leads-everywhere", "lead-changes", "no-leader")
        finding = sentences_on(result, *codes) if chart.name == "curves" else ""
        if not finding and chart.series:
            curve = chart.series[0]
            end_heights = (curve.parts[0][0][1], curve.parts[-1][-1][1])
            end_values = (
                10**height if chart.y.scale == "log" else height for height in end_heights
            )
            first_text, last_text = map(format_number, end_values)
            finding = (
                f"{title} of {curve.name} goes from {first_text} to {last_text} as the prevalence "
                "rises."
            )
        axis_label = "threshold" if chart.name == "cuts" else title
        # options are of a screen
        key = tuple(replace(note, text=note.text.partition(f": {OPTION}")[0]) for note in chart.key)
        chart = replace(chart, y=replace(chart.y, label=axis_label), key=key)
        yield replace(chart, finding=finding, rank="main")


def _mlcps(result: Document) -> Iterator[Chart]:
    """Yield the metrics, radars, and the range of each model's rank; then the scatter."""
    charts = {chart.name: chart for chart in page_of("mlcps").charts(result)}
    yield from _ranks(result)
    if radars := charts.get("radars"):
        best_radar = radars.series[0]
        title = radars.title.partition("; dotted")[0]
        finding = f"Area of {best_radar.name}: {best_radar.words}."
        yield replace(radars, rank="main", title=f"{title})", finding=finding)
    if (profile := charts.get("profile")) and profile.series:
        yield _shaded_profile(profile)
    if scatter := charts.get("scatter"):
        yield replace(scatter, finding=sentences_on(result, "first", "firm", "order"))


def _shaded_profile(profile: Chart) -> Chart:
    """Return the metrics of each model, each cell as dark as its value is high."""
    value_rows = [model.values for model in profile.series]
    values = [value for row in value_rows for value in row if value is not None]
    lowest = min(values)
    value_range = (max(values) - lowest) or 1.0
    series = []
    for model in profile.series:
        shades = (
            None if value is None else (value - lowest) / value_range for value in model.values
        )
        series.append(replace(model, spans=tuple((shade, None) for shade in shades)))
    columns = [*zip(*value_rows, strict=True)]
    best_count = 0
    for column in columns:
        defined_values = [value for value in column if value is not None]
        best_count += column[0] is not None and column[0] == max(defined_values)
    finding = f"{series[0].name} has the best value of {best_count} of {len(columns)} metrics."
    return replace(
        profile,
        rank="main",
        x=Axis("darker is better"),
        key=(),
        series=tuple(series),
        names=profile.names[: len(columns)],
        finding=finding,
    )


def _ranks(result: Document) -> Iterator[Chart]:
    """Yield the chart of each model's rank with its range over the orders of the metrics."""
    rows = sorted(result.tables["ranks"], key=lambda row: cell_value(row["mlcps"]) or 0.0)
    series = []
    for row in rows:
        low, rank, high = (cell_value(row[name]) for name in RANK_COLUMNS)
        rank_text = "" if rank is None else f"{rank:g}"
        rank_text += f" [{low:g} to {high:g}]" if low != high else ""
        series.append(Series(row["model"], values=(rank,), spans=((low, high),), words=rank_text))
    title = "Rank by MLcps, and its range over all orders of the metrics"
    yield Chart(
        "intervals",
        title,
        Axis("rank, 1 is best"),
        series=tuple(series),
        name="ranks",
        rank="main",
        finding=sentences_on(result, "first", "firm", "order"),
    )


def _history(result: Document) -> Iterator[Chart]:
    """Yield trends with confidence intervals, segment means, accepted values and limits."""
    labels = list(dict.fromkeys(row["label"] for row in result.tables["history"]))
    rows_of_trend: dict[tuple[str, str], list[Row]] = {}
    for row in result.tables["history"]:
        if cell_value(row["value"]) is not None:
            rows_of_trend.setdefault((row["model"], row["measure"]), []).append(row)
    charts = page_of(HISTORY).charts(result)
    for chart, measure in zip(charts, result.parameters["leading"], strict=False):
        yield _trends(chart, measure, rows_of_trend, labels)


def _trends(
    chart: Chart,
    measure: str,
    rows_by_trend: Mapping[tuple[str, str], Sequence[Row]],
    labels: Sequence[str],
) -> Chart:
    """Return the trends of a measure with its confidence intervals, accepted values and limits.

    rows_by_trend: those of the history, by model and measure.
    """
    interval_series = []
    last_values = []
    guides: dict[Guide, None] = {}
    for trend in chart.series:
        if trend.letter:
            continue
        rows = rows_by_trend[trend.name, measure]
        estimates = [as_estimate(row["value"]) for row in rows]
        spans = tuple((estimate.low, estimate.high) for estimate in estimates)
        interval_series.append(Series(trend.name, trend.parts, shape="dots", spans=spans))
        last_values.append(f"{trend.name} {interval_words(estimates[-1])}")
        for row, estimate in zip(rows, estimates, strict=True):
            if row["accepted"]:
                guides[Guide(f"accepted: {trend.name}", y=estimate.value)] = None
        if (limit := cell_value(rows[-1].get("limit"))) is not None:
            guides[Guide(f"limit {limit:g}", y=limit, limit=True)] = None
    return replace(
        chart,
        extra=tuple(interval_series),
        guides=tuple(guides),
        rank="main",
        title=f"{heading_of(measure)} by label",
        y=replace(chart.y, label=heading_of(measure)),
        x=Axis("label", range=chart.x.range, names=tuple(labels)),
        finding=f"{heading_of(measure)} at {labels[-1]}: {'; '.join(last_values)}.",
    )


CHARTS_OF_COMMAND: Mapping[str, Callable[[Document], Iterable[Chart]]] = {
    "report": report_pictures,
    "mars": _mars,
    "phidelta": _phidelta,
    "tune-jpt": _tune_jpt,
    "mlcps": _mlcps,
    HISTORY: _history,
}
