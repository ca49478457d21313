"""Pictures of the commands: charts of their pages by name, with what letters cannot show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from clfeval.document import Document, Row, as_estimate, cell_value
from clfeval.formatting import (
    format_class_ratio,
    format_count,
    format_number,
    format_rows,
    join_names,
)
from clfeval.pages.chart import Axis, Chart, Guide, Note, Point, Series, row_point
from clfeval.pages.command_pages import page_of
from clfeval.pages.intervals import heading_of, interval_words, intervals_of_models, sentence
from clfeval.pages.mars import MEASURES, pair_cells
from clfeval.pages.phidelta import CORNERS, isometric_lines
from clfeval.pages.report.pictures import pictures as report_pictures
from clfeval.pages.schema import HISTORY
from clfeval.pages.table_parts import format_cell
from clfeval.placeholders import OPTION

FEATURES = 300  # dots of features, at most
NAMED_FEATURES = 8
ENLARGED = 2.5  # times, at least
DARK_CELLS = {  # of the matrices of pairs
    "shine_through": "dark: many positives that no other model detects",
    "occlusion": "dark: many positives that only these models miss",
}
CLASS_RATIOS = 2  # diamonds, at most
RANKS = ("best_over_orders", "mlcps", "worst_over_orders")  # columns


def pictures_of(result: Document) -> dict[str, list[Chart]]:
    """Return the panels of each picture of a result, by its name, in the order of the page."""
    found: dict[str, list[Chart]] = {}
    for chart in CHARTS.get(result.command, page_of(result.command).charts)(result):
        found.setdefault(chart.name, []).append(chart)
    return found


def _mars(result: Document) -> Iterator[Chart]:
    yield from intervals_of_models(result)
    for chart in page_of("mars").charts(result):
        if chart.name == "matrix":
            names = tuple(one.name for one in chart.series)
            for measure, title in MEASURES:
                rows = zip(names, pair_cells(result, measure), strict=True)
                series = tuple(Series(a, values=tuple(map(cell_value, cells))) for a, cells in rows)
                pairs = result.unsliced_rows("pairs")
                pair = max(pairs, key=lambda row: cell_value(row[measure]) or 0.0)
                most = cell_value(pair[measure]) or 0.0
                name = title.partition(" (")[0]
                finding = f"Highest share of {name}: {format_cell(pair['models'])}, {most:.3f}."
                finding = finding if most else f"No pair has any {name}."
                made = replace(
                    chart,
                    title=f"{title[0].upper()}{title[1:]} of pairs; single models on the diagonal",
                    x=Axis(DARK_CELLS[measure]),
                    series=series,
                    names=names,
                    finding=finding,
                )
                yield replace(made, rank="main")
        elif chart.name == "bars":
            bars = sorted(chart.series, key=lambda one: -(one.values[0] or 0.0))
            most, what = bars[0].values[0] or 0.0, chart.title.lower()
            first = join_names([one.name for one in bars if one.values[0] == most])
            finding = (
                f"Most {what}: {first}, {format_rows(most)}." if most else f"There are no {what}."
            )
            yield replace(chart, x=Axis(what), series=tuple(bars), finding=finding, rank="main")
        else:
            title = chart.title.partition(" at ")[0]
            points = [
                (y, x, one.name) for one in chart.series for part in one.parts for x, y in part
            ]
            most, x, first = max(points, default=(0.0, 0.0, ""))
            finding = f"Highest {title}: {first}, {most:.3f} at {chart.x.label} {x:.4g}."
            finding = finding if most else f"No model has any {title}."
            yield replace(chart, y=replace(chart.y, label=title), finding=finding)


def _phidelta(result: Document) -> Iterator[Chart]:
    """Yield intervals of δ, then a diamond for equal classes and one for another class ratio."""
    if result.parameters.get("mode") != "features" and not result.tables.get("runs"):
        yield from intervals_of_models(result)
    corners: dict[str, dict[str, Point]] = {}
    for row in result.tables.get("corners", ()):
        if at := row_point(row, "phi_b", "delta_b"):
            corners.setdefault(str(row["odds"]), {})[str(row["corner"])] = at
    even = [odds for odds in corners if odds == "1:1"] or ["1:1"]
    for odds in [*even, *(one for one in corners if one not in even)][:CLASS_RATIOS]:
        outline = [corners[odds][name] for name in CORNERS] if odds in corners else None
        chart = _diamond(result, odds, outline or [(0, 1), (1, 0), (0, -1), (-1, 0)])
        yield from (chart, *_enlarged(chart))


def _diamond(result: Document, odds: str, outline: list[Point]) -> Chart:
    balanced, features = odds == "1:1", result.parameters.get("mode") == "features"
    end = "" if balanced else "_b"
    title = "independent of the class ratio" if balanced else f"at {format_class_ratio(odds)}"
    edges = Series("", ((*outline, outline[0]),), letter=":")
    bias, information = outline[0][0], outline[1]
    axes = (
        Series("", (((bias, outline[2][1]), outline[0]),), letter=":"),
        Series("no information", ((outline[3], information),), letter=":"),
    )
    reach = max(1.0, *(abs(x) for at in outline for x in at))
    dots, notes, extra = _dots(result, odds, balanced=balanced, features=features)
    for name, value, points in isometric_lines(result, odds, end):
        extra.append(Series(f"{name} {value:g}", points))
        notes.append(f"grey line: {name.replace('_', ' ')} = {value:g}")
    for corner, at in zip(CORNERS, outline, strict=True):
        notes += [f"{corner} ({at[0]:.3g}, {at[1]:.3g})"] * (not balanced)
    notes += ["top: always right; left: always negative; right: always positive"] * balanced
    names = ("φ: bias", "δ: discrimination") if balanced else ("φ_b", "δ_b")
    across, up = (Axis(name, range=(-reach, reach)) for name in names)
    far = max((abs(y), y, x, one.name) for one in dots for x, y in one.parts[0]) if dots else None
    x, y = (name.partition(":")[0] for name in names)
    finding = f"Largest |{y}|: {far[3]}, {y} {far[1]:.3f}, {x} {far[2]:.3f}." if far else "No dots."
    return Chart(
        "points",
        f"Youden's J and bias (φ-δ), {title}",
        across,
        up,
        (edges, *axes, *dots),
        name="diamond",
        square=True,
        extra=tuple(extra),
        key=tuple(map(Note, dict.fromkeys(notes))),
        rank="main",
        finding=finding,
    )


def _enlarged(chart: Chart) -> Iterator[Chart]:
    """Yield the part of a diamond with the ellipses, where it is small enough to be worth it."""
    found = tuple(one for one in chart.extra if one.shape == "ellipse")
    sides = [[at[i] for one in found for at in one.parts[0]] for i in range(2)]
    half = 0.53 * max((max(side) - min(side) for side in sides if side), default=1.0)
    if len(found) < 2 or half * ENLARGED > 1:
        return
    middles = [(max(side) + min(side)) / 2 for side in sides]
    x, y = ((middle - half, middle + half) for middle in middles)
    yield replace(
        chart,
        title="The same, enlarged",
        x=replace(chart.x, range=x),
        y=replace(chart.y, range=y),
        series=tuple(one for one in chart.series if not one.letter),
        extra=found,
        key=(),
        guides=(Guide("no bias", x=0.0),),
    )


def _dots(
    result: Document, odds: str, *, balanced: bool, features: bool
) -> tuple[list[Series], list[str], list[Series]]:
    """Return the dots with a name, notes, and what lies behind them: ellipses, curves, the rest."""
    if features:
        rows = list(result.tables.get("selected") or result.tables.get("features", ()))
        named = sorted(rows, key=lambda row: -abs(cell_value(row["delta"]) or 0.0))[:NAMED_FEATURES]
        rest = [at for row in rows[:FEATURES] if (at := row_point(row, "phi", "delta"))]
        left = len(rows) - len(rest)
        notes = [f"{format_count(left, 'more feature')} not shown"] if left > 0 else []
        dots = [
            Series(str(row["feature"]), ((at,),), letter=letter)
            for letter, row in zip("ABCDEFGH", named, strict=False)
            if (at := row_point(row, "phi", "delta"))
        ]
        return dots, notes, [Series("", (tuple(rest),), letter=".", shape="dots")]
    rows = list(result.unsliced_rows("models"))
    if not balanced:
        rows = [row for row in result.unsliced_rows("populations") if row["odds"] == odds]
    end = "" if balanced else "_b"
    dots, extra = [], []
    for row in rows:
        phi, delta = as_estimate(row.get(f"phi{end}")), as_estimate(row.get(f"delta{end}"))
        if phi.value is None or delta.value is None:
            continue
        dots.append(Series(str(row["model"]), (((phi.value, delta.value),),)))
        box = [v for v in (phi.low, delta.low, phi.high, delta.high) if v is not None]
        if len(box) == 4:
            corners = (box[0], box[1]), (box[2], box[3])
            extra.append(Series(str(row["model"]), (corners,), shape="ellipse"))
    if balanced:
        curves: dict[str, list[Point]] = {}
        for row in result.unsliced_rows("curve"):
            if at := row_point(row, "phi", "delta"):
                curves.setdefault(str(row["model"]), []).append(at)
        extra += [Series(name, (tuple(points),)) for name, points in curves.items()]
        for row in result.tables.get("runs", ()):
            if at := row_point(row, "phi", "delta"):
                extra.append(Series(str(row["model"]), ((at,),), letter=".", shape="dots"))
    sure = any(one.shape == "ellipse" for one in extra)
    return dots, ["ellipses: confidence intervals of φ and δ"] * sure, extra


def _tune_jpt(result: Document) -> Iterator[Chart]:
    for chart in page_of("tune-jpt").charts(result):
        what = chart.title.partition(" by ")[0]
        codes = ("leads-everywhere", "lead-changes", "no-leader")
        finding = sentence(result, *codes) if chart.name == "curves" else ""
        if not finding and chart.series:
            one, log = chart.series[0], chart.y.scale == "log"
            ends = (10**y if log else y for _, y in (one.parts[0][0], one.parts[-1][-1]))
            first, last = map(format_number, ends)
            finding = f"{what} of {one.name} goes from {first} to {last} as the prevalence rises."
        label = "threshold" if chart.name == "cuts" else what
        # options are of a screen
        key = tuple(replace(note, text=note.text.partition(f": {OPTION}")[0]) for note in chart.key)
        chart = replace(chart, y=replace(chart.y, label=label), key=key)
        yield replace(chart, finding=finding, rank="main")


def _mlcps(result: Document) -> Iterator[Chart]:
    """Yield the metrics, radars, and the range of each model's rank; then the scatter."""
    charts = {chart.name: chart for chart in page_of("mlcps").charts(result)}
    yield from _ranks(result)
    if radars := charts.get("radars"):
        first, title = radars.series[0], radars.title.partition("; dotted")[0]
        finding = f"Area of {first.name}: {first.words}."
        yield replace(radars, rank="main", title=f"{title})", finding=finding)
    if (profile := charts.get("profile")) and profile.series:
        values = [v for one in profile.series for v in one.values if v is not None]
        low, wide = min(values), (max(values) - min(values)) or 1.0
        shades = [
            tuple((None if v is None else (v - low) / wide, None) for v in one.values)
            for one in profile.series
        ]
        series = tuple(map(lambda one, spans: replace(one, spans=spans), profile.series, shades))
        columns = [*zip(*(one.values for one in series), strict=True)]
        best = sum(
            one[0] is not None and one[0] == max(v for v in one if v is not None) for one in columns
        )
        finding = f"{series[0].name} has the best value of {best} of {len(columns)} metrics."
        yield replace(
            profile,
            rank="main",
            x=Axis("darker is better"),
            key=(),
            series=series,
            names=profile.names[: len(columns)],
            finding=finding,
        )
    if scatter := charts.get("scatter"):
        yield replace(scatter, finding=sentence(result, "first", "firm", "order"))


def _ranks(result: Document) -> Iterator[Chart]:
    rows = sorted(result.tables["ranks"], key=lambda row: cell_value(row["mlcps"]) or 0.0)
    series = []
    for row in rows:
        low, rank, high = (cell_value(row[name]) for name in RANKS)
        words = "" if rank is None else f"{rank:g}"
        words += f" [{low:g} to {high:g}]" if low != high else ""
        series.append(Series(str(row["model"]), values=(rank,), spans=((low, high),), words=words))
    title = "Rank by MLcps, and its range over all orders of the metrics"
    yield Chart(
        "intervals",
        title,
        Axis("rank, 1 is best"),
        series=tuple(series),
        name="ranks",
        rank="main",
        finding=sentence(result, "first", "firm", "order"),
    )


def _history(result: Document) -> Iterator[Chart]:
    """Yield trends with confidence intervals, segment means, accepted values and limits."""
    labels = list(dict.fromkeys(str(row["label"]) for row in result.tables["history"]))
    rows: dict[tuple[str, str], list[Row]] = {}
    for row in result.tables["history"]:
        if cell_value(row["value"]) is not None:
            rows.setdefault((str(row["model"]), str(row["measure"])), []).append(row)
    for chart, measure in zip(
        page_of(HISTORY).charts(result), result.parameters["leading"], strict=False
    ):
        extra, guides, last = [], dict[Guide, None](), []
        for one in (one for one in chart.series if not one.letter):
            mine = rows[one.name, measure]
            cells = [as_estimate(row["value"]) for row in mine]
            spans = tuple((cell.low, cell.high) for cell in cells)
            extra.append(Series(one.name, one.parts, shape="dots", spans=spans))
            last.append(f"{one.name} {interval_words(cells[-1])}")
            for row, cell in zip(mine, cells, strict=True):
                if row["accepted"]:
                    guides[Guide(f"accepted: {one.name}", y=cell.value)] = None
            if (limit := cell_value(mine[-1].get("limit"))) is not None:
                guides[Guide(f"limit {limit:g}", y=limit, limit=True)] = None
        yield replace(
            chart,
            extra=tuple(extra),
            guides=tuple(guides),
            rank="main",
            title=f"{heading_of(measure)} by label",
            y=replace(chart.y, label=heading_of(measure)),
            x=Axis("label", range=chart.x.range, names=tuple(labels)),
            finding=f"{heading_of(measure)} at {labels[-1]}: {'; '.join(last)}.",
        )


CHARTS: Mapping[str, Callable[[Document], Iterable[Chart]]] = {
    "report": report_pictures,
    "mars": _mars,
    "phidelta": _phidelta,
    "tune-jpt": _tune_jpt,
    "mlcps": _mlcps,
    HISTORY: _history,
}
