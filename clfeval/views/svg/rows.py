"""Pictures with a line for each name: intervals, bars, matrices and radars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import cos, pi, sin

import numpy as np

from clfeval.formatting import format_count, format_number, printable
from clfeval.pages.chart import Axis, Chart, Guide, Point, Series, Span
from clfeval.records import dataclass
from clfeval.views.canvas import shorten_names_apart
from clfeval.views.svg import elements as svg

SMALL = svg.FONT - 2  # of words and notes
ROW = 23  # pixels
ROWS_TOP = 14.0  # pixels above the first row
MATRIX_TOP = 20  # pixels above the first cell
PLOT = 90  # pixels between names and words, at least
BOLD = 1.12  # of the width of letters that are not bold
MOST_ROWS = 50  # of intervals or bars
NUMBERED = 20  # rows and columns of a matrix with numbers in its cells, at most
STRONGEST = 0.5  # opacity of a cell, at most: text on it stays legible
RADAR = 200  # pixels of one radar
HEADS = 320  # pixels for the names of all columns of a matrix


def rows_height(chart: Chart) -> float:
    """Return the height of a chart of intervals or bars, without its title."""
    rows = min(len(chart.series), MOST_ROWS)
    notes = len(chart.series) > MOST_ROWS or bool(chart.left) or len(chart.guides) > 1
    return ROW * rows + 62 + 14 * notes


@dataclass(frozen=True, slots=True)
class RowsLayout:
    """The series of a chart of rows, their texts as they fit, and where these are.

    names_end, words_start: pixels of the texts left and right of the plot. scale: of the values.
    """

    series: tuple[Series, ...]
    names: tuple[str, ...]
    words: tuple[str, ...]
    names_end: float
    words_start: float
    scale: svg.PixelScale

    def top(self, index: int) -> float:
        """Return the upper edge of a row."""
        return ROWS_TOP + ROW * index

    @property
    def bottom(self) -> float:
        """The lower edge of the last row, where the axis is."""
        return self.top(len(self.series))


def draw_rows(chart: Chart, colors: svg.Colors, width: float, _height: float) -> Iterator[str]:
    """Yield a line for each series: its name, a value with its interval or a bar, its words."""
    rows = _layout_rows(chart, width)
    has_room = _guides_with_room(chart.guides, rows.scale)
    yield from _bands(rows)
    yield from _axis_below(chart.x, rows, width)
    for guide, labelled in zip(chart.guides, has_room, strict=True):
        yield from _guide_lines(guide, rows)
        if labelled:
            yield _guide_label(guide, rows.scale, width)
    for index, series in enumerate(rows.series):
        color = colors.color_of(series.name)
        yield from _row_texts(rows, index)
        if chart.kind == "bars":
            yield from _bar(series, rows.scale, rows.top(index), color)
        else:
            yield from _value_and_interval(series, rows.scale, rows.top(index), color)
    notes = [
        guide.text for guide, labelled in zip(chart.guides, has_room, strict=True) if not labelled
    ]
    if hidden_rows := len(chart.series) - len(rows.series) + chart.left:
        notes.append(f"{format_count(hidden_rows, 'more row')} not shown")
    text = svg.shorten("; ".join(dict.fromkeys(notes)), width, SMALL)
    yield svg.label(6, rows.bottom + 50, text, "small dim")


def _layout_rows(chart: Chart, width: float) -> RowsLayout:
    """Return the rows as they fit in a width: the plot and the words leave the names the rest."""
    series = chart.series[:MOST_ROWS]
    names = [printable(row.name) for row in series]
    words = [_words_of(row) for row in series]
    bold = BOLD if any(row.sign == "best" for row in series) else 1.0
    widest_name = bold * max((svg.text_width(name, svg.FONT) for name in names), default=0.0)
    widest_words = bold * max((svg.text_width(text, SMALL) for text in words), default=0.0)
    rest = max(width - 30 - PLOT - widest_words, 0.2 * width)
    names_end = 10 + min(widest_name, 0.36 * width, rest)
    words_width = 10 + min(widest_words, max(width - PLOT - 20 - names_end, 0.2 * width))
    letters = int((names_end - 10) / svg.LETTER / svg.FONT / bold) + 1
    shortened = shorten_names_apart(names, letters)
    plot_end = width - words_width - 4
    return RowsLayout(
        series,
        tuple(shortened[name] for name in names),
        tuple(svg.shorten(text, words_width - 6, SMALL) for text in words),
        names_end,
        width - words_width + 4,
        svg.axis_scale(chart.x, _values_on_axis(chart, series), names_end + 8, plot_end),
    )


def _words_of(series: Series) -> str:
    """Return the words after a row, by default its value."""
    value = series.values[0]
    return series.words or ("–" if value is None else f"{value:,.10g}")


def _values_on_axis(chart: Chart, series: Sequence[Series]) -> list[float]:
    """Return the values that an axis has to show: of rows, their limits, guides; of bars also 0."""
    numbers = (number for row in series for number in chain(row.values, *row.spans))
    values = [number for number in numbers if number is not None]
    values += [guide.x for guide in chart.guides if guide.x is not None]
    if chart.kind == "bars":
        values.append(0.0)
    return values


def _bands(rows: RowsLayout) -> Iterator[str]:
    """Yield a shaded band behind each row that has a sign."""
    wide = rows.scale.end - rows.scale.start
    for index, series in enumerate(rows.series):
        if series.sign:
            yield svg.rectangle(rows.scale.start, rows.top(index), wide, ROW, "band")


def _axis_below(axis: Axis, rows: RowsLayout, width: float) -> Iterator[str]:
    """Yield the axis below the rows, with its ticks and its title."""
    scale = rows.scale
    bottom = rows.bottom
    yield from svg.axis_labels(axis, scale, bottom, ROWS_TOP, bottom + 16)
    yield svg.line(scale.start, bottom, scale.end, bottom, "axis")
    text = svg.shorten(axis.label, width)
    half = svg.text_width(text) / 2
    middle = max(min((scale.start + scale.end) / 2, width - half), half + 4)
    yield svg.label(middle, bottom + 34, text, "m")


def _guides_with_room(guides: Sequence[Guide], scale: svg.PixelScale) -> list[bool]:
    """Return which guides have room for their text above the plot, the first ones first."""
    labels: list[tuple[float, float]] = []  # their middles and half their widths
    flags: list[bool] = []
    for guide in guides:
        x = scale.place(guide.x or 0.0)
        half = svg.text_width(guide.text, SMALL) / 2
        flags.append(all(abs(x - middle) > half + taken_half + 6 for middle, taken_half in labels))
        if flags[-1]:
            labels.append((x, half))
    return flags


def _guide_lines(guide: Guide, rows: RowsLayout) -> Iterator[str]:
    """Yield the vertical line of a guide, or a piece of it in each of its rows."""
    x = rows.scale.place(guide.x or 0.0)
    kind = "ref limit" if guide.limit else "ref axis"
    if not guide.rows:
        yield svg.line(x, ROWS_TOP - 2, x, rows.bottom, kind)
    for index, series in enumerate(rows.series):
        if series.name in guide.rows:
            yield svg.line(x, rows.top(index), x, rows.top(index + 1), kind)


def _guide_label(guide: Guide, scale: svg.PixelScale, width: float) -> str:
    half = svg.text_width(guide.text, SMALL) / 2
    x = min(scale.place(guide.x or 0.0), width - half - 4)
    return svg.label(x, 9, guide.text, "small dim m")


def _row_texts(rows: RowsLayout, index: int) -> Iterator[str]:
    """Yield the name and the words of a row, in bold for the best."""
    series = rows.series[index]
    best = " best" if series.sign == "best" else ""
    foot = rows.top(index) + ROW / 2 + 4
    yield svg.label(rows.names_end, foot, rows.names[index], f"e{best}", title=series.name)
    yield svg.label(rows.words_start, foot, rows.words[index], f"small{best}")


def _bar(series: Series, scale: svg.PixelScale, top: float, color: int) -> Iterator[str]:
    """Yield the bar of a row, from 0 to its value."""
    value = series.values[0]
    if value is not None:
        zero = scale.place(0)
        wide = scale.place(value) - zero
        yield svg.rectangle(zero, top + ROW / 2 - 7, wide, 14, f"bar f{color}")


def _value_and_interval(
    series: Series, scale: svg.PixelScale, top: float, color: int
) -> Iterator[str]:
    """Yield a dot at the value of a row, over its interval; without a value nothing."""
    value = series.values[0]
    if value is None:
        return
    y = top + ROW / 2
    if series.spans:
        yield from _interval(series.spans[0], scale, y, f"line s{color}")
    yield svg.circle(scale.place(value), y, 4, f"f{color}")


def _interval(span: Span, scale: svg.PixelScale, y: float, classes: str) -> Iterator[str]:
    """Yield an interval with a stroke at each limit; a missing limit is the edge of the plot."""
    low, high = span
    if low is None and high is None:
        return
    start = scale.place(scale.low if low is None else low)
    end = scale.place(scale.high if high is None else high)
    yield svg.line(start, y, end, y, classes)
    for x, limit in ((start, low), (end, high)):
        if limit is not None:
            yield svg.line(x, y - 4, x, y + 4, classes)


def matrix_height(chart: Chart) -> float:
    """Return the height of a matrix, without its title."""
    rows = len(chart.series)
    return _cell_size(rows) * rows + 40 + 14 * len(_key_of_columns(chart))


def _is_square(chart: Chart) -> bool:
    """Return whether the columns are the rows."""
    return chart.names in ((), tuple(series.name for series in chart.series))


def _columns_have_room(chart: Chart) -> bool:
    """Return whether the names of columns have room above them; else there are numbers."""
    longest = max((svg.text_width(name, SMALL) for name in chart.names), default=0.0)
    return longest < min(104, HEADS / max(len(chart.names), 1))


def _key_of_columns(chart: Chart) -> list[str]:
    """Return the lines of names of numbered columns; none where the rows have the numbers."""
    return [] if _is_square(chart) or _columns_have_room(chart) else _numbered_names(chart)


def _cell_size(rows: int) -> float:
    return 24 if rows <= NUMBERED else max(4.0, 400 / rows)


@dataclass(frozen=True, slots=True)
class CellLayout:
    """The room of the names of rows in pixels, the size of a cell, and whether it has a number."""

    names_width: float
    wide: float
    high: float
    numbered: bool

    @property
    def left(self) -> float:
        """The left edge of the first column."""
        return 8 + self.names_width


def draw_matrix(chart: Chart, _colors: svg.Colors, width: float, _height: float) -> Iterator[str]:
    """Yield squares shaded by their values, with numbers where there are few; negative ones red."""
    cells = _layout_cells(chart, width)
    if cells.numbered or not _is_square(chart):
        yield from _column_heads(chart, cells)
    values = [value for row in chart.series for value in row.values if value is not None]
    largest = max(map(abs, values), default=0) or 1.0
    decimals = None
    if not all(float(value).is_integer() for value in values):
        decimals = 2 if cells.wide < 40 else 3
    for index, name in enumerate(_row_names(chart, cells)):
        series = chart.series[index]
        y = MATRIX_TOP + cells.high * index
        if cells.high > svg.FONT:
            foot = y + cells.high / 2 + 4
            yield svg.label(cells.left - 6, foot, name, "e", title=series.name)
        for column in range(len(series.values)):
            x = cells.left + cells.wide * column
            yield from _shade(series, column, largest, (x, y), cells)
            if cells.numbered:
                yield _number(series.values[column], decimals, (x, y), cells)
    text = svg.shorten(chart.x.label, width - cells.left, SMALL)
    below = MATRIX_TOP + cells.high * len(chart.series) + 14
    yield svg.label(cells.left, below, text, "small dim")
    for line, text in enumerate(_key_of_columns(chart), start=1):
        yield svg.label(6, below + 14 * line, text, "small dim")


def _layout_cells(chart: Chart, width: float) -> CellLayout:
    """Return the size of cells: as high as rows allow, as wide as numbers or squares need."""
    rows = len(chart.series)
    columns = len(chart.series[0].values) if chart.series else 0
    numbered = max(rows, columns) <= NUMBERED
    high = _cell_size(rows)
    longest = max((svg.text_width(printable(row.name)) for row in chart.series), default=0)
    names_width = min(longest + 26, 0.4 * width)
    most_wide = high
    if numbered:
        most_wide = 100 if columns < 5 else 64
    wide = min((width - (8 + names_width) - 6) / max(columns, 1), most_wide)
    return CellLayout(names_width, wide, high, numbered)


def _row_names(chart: Chart, cells: CellLayout) -> list[str]:
    """Return the names of rows as they fit; with the numbers of columns that are the rows."""
    names = [printable(series.name) for series in chart.series]
    letters = int((cells.names_width - 26) / svg.LETTER / svg.FONT) + 1
    shortened = shorten_names_apart(names, letters)
    texts = [shortened[name] for name in names]
    if cells.numbered and _is_square(chart) and not _columns_have_room(chart):
        return [f"{number} {text}" for number, text in enumerate(texts, start=1)]
    return texts


def _column_heads(chart: Chart, cells: CellLayout) -> Iterator[str]:
    """Yield the names or numbers of columns, of narrow ones only some."""
    columns = len(chart.series[0].values) if chart.series else 0
    heads: Sequence[str] = [str(column) for column in range(1, columns + 1)]
    if _columns_have_room(chart):
        heads = chart.names
    step = max(1, round(26 / cells.wide))
    for column in range(0, len(heads), step):
        x = cells.left + cells.wide * (column + 0.5)
        text = svg.shorten(heads[column], cells.wide * step, SMALL)
        yield svg.label(x, MATRIX_TOP - 6, text, "small m", title=heads[column])


def _shade(
    series: Series, column: int, largest: float, corner: Point, cells: CellLayout
) -> Iterator[str]:
    """Yield the square of a cell, as strong as its value or as its span says."""
    value = series.values[column]
    share = series.spans[column][0] if series.spans else abs(value or 0.0) / largest
    opacity = STRONGEST * min(share or 0.0, 1.0)
    if value is not None and opacity > 0.004:
        color = "f2" if value < 0 else "f1"
        style = f' fill-opacity="{opacity:.2f}"'
        yield svg.rectangle(*corner, cells.wide - 1, cells.high - 1, color, style)


def _number(value: float | None, decimals: int | None, corner: Point, cells: CellLayout) -> str:
    """Return the number in a cell, without decimals if all are whole; a dash if undefined."""
    left, top = corner
    x = left + cells.wide / 2
    y = top + cells.high / 2 + 4
    if value is None:
        return svg.label(x, y, "–", "small m dim")
    text = f"{value:,.10g}" if decimals is None else format_number(value, decimals)
    return svg.label(x, y, text.replace("-", svg.MINUS), "small m")


def radars_height(chart: Chart) -> float:
    """Return the height of a row of radars with the names of their rays."""
    return RADAR + 24 + 14 * len(_numbered_names(chart))


def _numbered_names(chart: Chart) -> list[str]:
    """Return the names of rays or columns with numbers, in lines as wide as a usual picture."""
    text = "   ".join(f"{number} {name}" for number, name in enumerate(chart.names, start=1))
    return svg.fold(text, 470, SMALL, separator="   ")


def draw_radars(chart: Chart, colors: svg.Colors, width: float, _height: float) -> Iterator[str]:
    """Yield a polygon for each series: rays of the lengths of the weights, filled to the values."""
    room = width / max(len(chart.series), 1)
    for index, series in enumerate(chart.series):
        middle = room * (index + 0.5)
        yield from _radar(series, chart.weights, (middle, room), colors.color_of(series.name))
        words = f" {series.words}" if series.words else ""
        name = svg.shorten(series.name, room - svg.text_width(words) - 8)
        yield svg.label(middle, 12, f"{name}{words}", "m", title=series.name)
    for line, text in enumerate(_numbered_names(chart)):
        yield svg.label(6, RADAR + 36 + 14 * line, text, "small dim")


def _radar(
    series: Series, weights: Sequence[float], place: tuple[float, float], color: int
) -> Iterator[str]:
    """Yield the grid, polygon and numbers of one radar; place: its middle and its room."""
    x, room = place
    center = (x, 20 + RADAR / 2)
    radius = min(room, RADAR) / 2 - 18
    rays = len(series.values)
    angles = [-pi / 2 + 2 * pi * ray / rays for ray in range(rays)]
    directions = np.array([[cos(angle), sin(angle)] for angle in angles])
    lengths = np.array(weights or [1.0] * rays)[:, None]
    for share in (0.25, 0.5, 0.75, 1.0):
        yield svg.path([center + radius * share * directions * lengths], "thin grid", closed=True)
    shares = np.array([[value or 0.0] for value in series.values])
    polygon = center + radius * (directions * lengths * shares)
    yield svg.path([polygon], f"area f{color}", closed=True)
    yield svg.path([polygon], f"line s{color}", closed=True)
    for number, (at_x, at_y) in enumerate(center + (radius + 9) * directions * lengths, start=1):
        yield svg.label(at_x, at_y + 4, str(number), "small m dim")
