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

SMALL_FONT = svg.FONT - 2  # of words and notes
ROW_HEIGHT = 23  # pixels
ROWS_TOP = 14.0  # pixels above the first row
MATRIX_TOP = 20  # pixels above the first cell
MIN_PLOT_WIDTH = 90  # pixels between names and words, at least
BOLD_FACTOR = 1.12  # of the width of letters that are not bold
MAX_ROWS = 50  # of intervals or bars
MAX_NUMBERED = 20  # rows and columns of a matrix with numbers in its cells, at most
MAX_OPACITY = 0.5  # opacity of a cell, at most: text on it stays legible
RADAR_SIZE = 200  # pixels of one radar
MAX_HEADS_WIDTH = 320  # pixels for the names of all columns of a matrix


def rows_height(chart: Chart) -> float:
    """Return the height of a chart of intervals or bars, without its title."""
    row_count = min(len(chart.series), MAX_ROWS)
    has_notes = len(chart.series) > MAX_ROWS or bool(chart.left) or len(chart.guides) > 1
    return ROW_HEIGHT * row_count + 62 + (14 if has_notes else 0)


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
        return ROWS_TOP + ROW_HEIGHT * index

    @property
    def bottom(self) -> float:
        """The lower edge of the last row, where the axis is."""
        return self.top(len(self.series))


def draw_rows(chart: Chart, colors: svg.Colors, width: float, _height: float) -> Iterator[str]:
    """Yield a line for each series: its name, a value with its interval or a bar, its words."""
    rows = _layout_rows(chart, width)
    labelled_flags = _guides_with_room(chart.guides, rows.scale)
    yield from _bands(rows)
    yield from _axis_below(chart.x, rows, width)
    for guide, is_labelled in zip(chart.guides, labelled_flags, strict=True):
        yield from _guide_lines(guide, rows)
        if is_labelled:
            yield _guide_label(guide, rows.scale, width)
    for index, series in enumerate(rows.series):
        color = colors.color_of(series.name)
        yield from _row_texts(rows, index)
        if chart.kind == "bars":
            yield from _bar(series, rows.scale, rows.top(index), color)
        else:
            yield from _value_and_interval(series, rows.scale, rows.top(index), color)
    note_texts = [
        guide.text
        for guide, is_labelled in zip(chart.guides, labelled_flags, strict=True)
        if not is_labelled
    ]
    if hidden_count := len(chart.series) - len(rows.series) + chart.left:
        note_texts.append(f"{format_count(hidden_count, 'more row')} not shown")
    notes_text = svg.shorten("; ".join(dict.fromkeys(note_texts)), width, SMALL_FONT)
    yield svg.label(6, rows.bottom + 50, notes_text, "small dim")


def _layout_rows(chart: Chart, width: float) -> RowsLayout:
    """Return the rows as they fit in a width; names and words share what the plot leaves."""
    series = chart.series[:MAX_ROWS]
    names = [printable(row.name) for row in series]
    words = [_words_of(row) for row in series]
    letter_factor = BOLD_FACTOR if any(row.sign == "best" for row in series) else 1.0
    full_names_width = letter_factor * max(
        (svg.text_width(name, svg.FONT) for name in names), default=0.0
    )
    full_words_width = letter_factor * max(
        (svg.text_width(text, SMALL_FONT) for text in words), default=0.0
    )
    max_names_width = max(width - 30 - MIN_PLOT_WIDTH - full_words_width, 0.2 * width)
    names_end = 10 + min(full_names_width, 0.36 * width, max_names_width)
    words_width = 10 + min(
        full_words_width, max(width - MIN_PLOT_WIDTH - 20 - names_end, 0.2 * width)
    )
    letter_count = int((names_end - 10) / svg.LETTER / svg.FONT / letter_factor) + 1
    short_names = shorten_names_apart(names, letter_count)
    plot_end = width - words_width - 4
    return RowsLayout(
        series,
        tuple(short_names[name] for name in names),
        tuple(svg.shorten(text, words_width - 6, SMALL_FONT) for text in words),
        names_end=names_end,
        words_start=width - words_width + 4,
        scale=svg.axis_scale(chart.x, _values_on_axis(chart, series), names_end + 8, plot_end),
    )


def _words_of(series: Series) -> str:
    """Return the words after a row, by default its value."""
    value = series.values[0]
    return series.words or ("–" if value is None else f"{value:,.10g}")


def _values_on_axis(chart: Chart, series: Sequence[Series]) -> list[float]:
    """Return the values that an axis has to show: of rows, their limits, guides; of bars also 0."""
    span_numbers = (number for row in series for number in chain(row.values, *row.spans))
    values = [number for number in span_numbers if number is not None]
    values += [guide.x for guide in chart.guides if guide.x is not None]
    if chart.kind == "bars":
        values.append(0.0)
    return values


def _bands(rows: RowsLayout) -> Iterator[str]:
    """Yield a shaded band behind each row that has a sign."""
    band_width = rows.scale.end - rows.scale.start
    for index, series in enumerate(rows.series):
        if series.sign:
            yield svg.rectangle(rows.scale.start, rows.top(index), band_width, ROW_HEIGHT, "band")


def _axis_below(axis: Axis, rows: RowsLayout, width: float) -> Iterator[str]:
    """Yield the axis below the rows, with its ticks and its title."""
    scale = rows.scale
    bottom = rows.bottom
    yield from svg.axis_labels(axis, scale, bottom, ROWS_TOP, bottom + 16)
    yield svg.line(scale.start, bottom, scale.end, bottom, "axis")
    text = svg.shorten(axis.label, width)
    half_width = svg.text_width(text) / 2
    label_x = max(min((scale.start + scale.end) / 2, width - half_width), half_width + 4)
    yield svg.label(label_x, bottom + 34, text, "m")


def _guides_with_room(guides: Sequence[Guide], scale: svg.PixelScale) -> list[bool]:
    """Return whether each guide has room for its text above the plot; the first guides win."""
    label_extents: list[tuple[float, float]] = []  # the middle and half the width of each
    has_room_flags: list[bool] = []
    for guide in guides:
        x = scale.place(guide.x or 0.0)
        half_width = svg.text_width(guide.text, SMALL_FONT) / 2
        has_room_flags.append(
            all(
                abs(x - other_x) > half_width + other_half_width + 6
                for other_x, other_half_width in label_extents
            )
        )
        if has_room_flags[-1]:
            label_extents.append((x, half_width))
    return has_room_flags


def _guide_lines(guide: Guide, rows: RowsLayout) -> Iterator[str]:
    """Yield the vertical line of a guide, or a piece of it in each of its rows."""
    x = rows.scale.place(guide.x or 0.0)
    line_classes = "ref limit" if guide.limit else "ref axis"
    if not guide.rows:
        yield svg.line(x, ROWS_TOP - 2, x, rows.bottom, line_classes)
    for index, series in enumerate(rows.series):
        if series.name in guide.rows:
            yield svg.line(x, rows.top(index), x, rows.top(index + 1), line_classes)


def _guide_label(guide: Guide, scale: svg.PixelScale, width: float) -> str:
    half_width = svg.text_width(guide.text, SMALL_FONT) / 2
    x = min(scale.place(guide.x or 0.0), width - half_width - 4)
    return svg.label(x, 9, guide.text, "small dim m")


def _row_texts(rows: RowsLayout, index: int) -> Iterator[str]:
    """Yield the name and the words of a row, in bold for the best."""
    series = rows.series[index]
    best_class = " best" if series.sign == "best" else ""
    baseline_y = rows.top(index) + ROW_HEIGHT / 2 + 4
    yield svg.label(
        rows.names_end, baseline_y, rows.names[index], f"e{best_class}", title=series.name
    )
    yield svg.label(rows.words_start, baseline_y, rows.words[index], f"small{best_class}")


def _bar(series: Series, scale: svg.PixelScale, top: float, color: int) -> Iterator[str]:
    """Yield the bar of a row, from 0 to its value."""
    value = series.values[0]
    if value is not None:
        zero_x = scale.place(0)
        bar_width = scale.place(value) - zero_x
        yield svg.rectangle(zero_x, top + ROW_HEIGHT / 2 - 7, bar_width, 14, f"bar f{color}")


def _value_and_interval(
    series: Series, scale: svg.PixelScale, top: float, color: int
) -> Iterator[str]:
    """Yield a dot at the value of a row, over its interval; without a value nothing."""
    value = series.values[0]
    if value is None:
        return
    y = top + ROW_HEIGHT / 2
    if series.spans:
        yield from _interval(series.spans[0], scale, y, f"line s{color}")
    yield svg.circle(scale.place(value), y, 4, f"f{color}")


def _interval(span: Span, scale: svg.PixelScale, y: float, classes: str) -> Iterator[str]:
    """Yield an interval with a stroke at each limit; a missing limit is the edge of the plot."""
    low, high = span
    if low is None and high is None:
        return
    start_x = scale.place(scale.low if low is None else low)
    end_x = scale.place(scale.high if high is None else high)
    yield svg.line(start_x, y, end_x, y, classes)
    for x, limit in ((start_x, low), (end_x, high)):
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
    longest_width = max((svg.text_width(name, SMALL_FONT) for name in chart.names), default=0.0)
    return longest_width < min(104, MAX_HEADS_WIDTH / max(len(chart.names), 1))


def _key_of_columns(chart: Chart) -> list[str]:
    """Return the lines of names of numbered columns; none where the rows have the numbers."""
    return [] if _is_square(chart) or _columns_have_room(chart) else _numbered_names(chart)


def _cell_size(rows: int) -> float:
    return 24 if rows <= MAX_NUMBERED else max(4.0, 400 / rows)


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
    largest_value = max(map(abs, values), default=0) or 1.0
    decimal_places = None
    if not all(float(value).is_integer() for value in values):
        decimal_places = 2 if cells.wide < 40 else 3
    for row_index, name in enumerate(_row_names(chart, cells)):
        series = chart.series[row_index]
        y = MATRIX_TOP + cells.high * row_index
        if cells.high > svg.FONT:
            baseline_y = y + cells.high / 2 + 4
            yield svg.label(cells.left - 6, baseline_y, name, "e", title=series.name)
        for column_index in range(len(series.values)):
            x = cells.left + cells.wide * column_index
            yield from _shade(series, column_index, largest_value, (x, y), cells)
            if cells.numbered:
                yield _number(series.values[column_index], decimal_places, (x, y), cells)
    text = svg.shorten(chart.x.label, width - cells.left, SMALL_FONT)
    notes_y = MATRIX_TOP + cells.high * len(chart.series) + 14
    yield svg.label(cells.left, notes_y, text, "small dim")
    for line_number, text in enumerate(_key_of_columns(chart), start=1):
        yield svg.label(6, notes_y + 14 * line_number, text, "small dim")


def _layout_cells(chart: Chart, width: float) -> CellLayout:
    """Return the size of cells: as high as rows allow, as wide as numbers or squares need."""
    row_count = len(chart.series)
    column_count = len(chart.series[0].values) if chart.series else 0
    is_numbered = max(row_count, column_count) <= MAX_NUMBERED
    cell_height = _cell_size(row_count)
    longest_width = max((svg.text_width(printable(row.name)) for row in chart.series), default=0)
    names_width = min(longest_width + 26, 0.4 * width)
    max_cell_width = cell_height
    if is_numbered:
        max_cell_width = 100 if column_count < 5 else 64
    cell_width = min((width - (8 + names_width) - 6) / max(column_count, 1), max_cell_width)
    return CellLayout(names_width, cell_width, cell_height, is_numbered)


def _row_names(chart: Chart, cells: CellLayout) -> list[str]:
    """Return the names of rows as they fit; with the numbers of columns that are the rows."""
    names = [printable(series.name) for series in chart.series]
    letter_count = int((cells.names_width - 26) / svg.LETTER / svg.FONT) + 1
    short_names = shorten_names_apart(names, letter_count)
    texts = [short_names[name] for name in names]
    if cells.numbered and _is_square(chart) and not _columns_have_room(chart):
        return [f"{number} {text}" for number, text in enumerate(texts, start=1)]
    return texts


def _column_heads(chart: Chart, cells: CellLayout) -> Iterator[str]:
    """Yield the names or numbers of columns, of narrow ones only some."""
    column_count = len(chart.series[0].values) if chart.series else 0
    heads: Sequence[str] = [str(column_number) for column_number in range(1, column_count + 1)]
    if _columns_have_room(chart):
        heads = chart.names
    step = max(1, round(26 / cells.wide))
    for column_number in range(0, len(heads), step):
        x = cells.left + cells.wide * (column_number + 0.5)
        text = svg.shorten(heads[column_number], cells.wide * step, SMALL_FONT)
        yield svg.label(x, MATRIX_TOP - 6, text, "small m", title=heads[column_number])


def _shade(
    series: Series, column_index: int, largest_value: float, corner: Point, cells: CellLayout
) -> Iterator[str]:
    """Yield the square of a cell, as dark as its value or as its span says.

    largest_value: by absolute size. corner: the left and the upper edge in pixels.
    """
    value = series.values[column_index]
    strength = series.spans[column_index][0] if series.spans else abs(value or 0.0) / largest_value
    opacity = MAX_OPACITY * min(strength or 0.0, 1.0)
    if value is not None and opacity > 0.004:
        color = "f2" if value < 0 else "f1"
        style = f' fill-opacity="{opacity:.2f}"'
        yield svg.rectangle(*corner, cells.wide - 1, cells.high - 1, color, style)


def _number(
    value: float | None, decimal_places: int | None, corner: Point, cells: CellLayout
) -> str:
    """Return the number in a cell; decimal_places: None if all are whole; a dash if undefined."""
    left, top = corner
    x = left + cells.wide / 2
    y = top + cells.high / 2 + 4
    if value is None:
        return svg.label(x, y, "–", "small m dim")
    text = f"{value:,.10g}" if decimal_places is None else format_number(value, decimal_places)
    return svg.label(x, y, text.replace("-", svg.MINUS), "small m")


def radars_height(chart: Chart) -> float:
    """Return the height of a row of radars with the names of their rays."""
    return RADAR_SIZE + 24 + 14 * len(_numbered_names(chart))


def _numbered_names(chart: Chart) -> list[str]:
    """Return the names of rays or columns with numbers, in lines as wide as a usual picture."""
    text = "   ".join(f"{number} {name}" for number, name in enumerate(chart.names, start=1))
    return svg.fold(text, 470, SMALL_FONT, separator="   ")


def draw_radars(chart: Chart, colors: svg.Colors, width: float, _height: float) -> Iterator[str]:
    """Yield a polygon for each series: rays of the lengths of the weights, filled to the values."""
    radar_width = width / max(len(chart.series), 1)
    for radar_index, series in enumerate(chart.series):
        center_x = radar_width * (radar_index + 0.5)
        yield from _radar(
            series, chart.weights, (center_x, radar_width), colors.color_of(series.name)
        )
        suffix = f" {series.words}" if series.words else ""
        name = svg.shorten(series.name, radar_width - svg.text_width(suffix) - 8)
        yield svg.label(center_x, 12, f"{name}{suffix}", "m", title=series.name)
    for line_index, text in enumerate(_numbered_names(chart)):
        yield svg.label(6, RADAR_SIZE + 36 + 14 * line_index, text, "small dim")


def _radar(
    series: Series, weights: Sequence[float], center_and_width: tuple[float, float], color: int
) -> Iterator[str]:
    """Yield the grid, polygon and numbers of one radar; center_and_width: its middle, its width."""
    x, radar_width = center_and_width
    center = (x, 20 + RADAR_SIZE / 2)
    radius = min(radar_width, RADAR_SIZE) / 2 - 18
    ray_count = len(series.values)
    angles = [-pi / 2 + 2 * pi * ray / ray_count for ray in range(ray_count)]
    directions = np.array([[cos(angle), sin(angle)] for angle in angles])
    lengths = np.array(weights or [1.0] * ray_count)[:, None]
    for ring_fraction in (0.25, 0.5, 0.75, 1.0):
        yield svg.path(
            [center + radius * ring_fraction * directions * lengths], "thin grid", closed=True
        )
    ray_fractions = np.array([[value or 0.0] for value in series.values])
    polygon = center + radius * (directions * lengths * ray_fractions)
    yield svg.path([polygon], f"area f{color}", closed=True)
    yield svg.path([polygon], f"line s{color}", closed=True)
    for number, (number_x, number_y) in enumerate(
        center + (radius + 9) * directions * lengths, start=1
    ):
        yield svg.label(number_x, number_y + 4, str(number), "small m dim")
