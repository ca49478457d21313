"""Pictures with two numeric axes: curves, points, histograms and diamonds, with direct labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import chain, combinations

import numpy as np

from clfeval.arrays import Floats
from clfeval.formatting import format_count, printable
from clfeval.pages.chart import Chart, Guide, Point, Series
from clfeval.placeholders import fill_for_shell
from clfeval.records import dataclass
from clfeval.views.svg import elements as svg

STRIP_HEIGHT = 34  # pixels of the bars below an axis
MAX_LABEL_WIDTH = 150  # pixels of labels beside curves, at most
MIN_END_DISTANCE = 12  # pixels between the ends of curves that are labelled there
BADGE_RADIUS = 7  # pixels, the radius of a letter on a curve
NOTE_HEIGHT = 13  # pixels from a note to the next
REFERENCE_LETTERS = (":", "-")  # letters of lines with which curves are compared
LETTER_FRACTIONS = [i / 24 for i in range(1, 24)]  # of its length, where a letter may be on a curve


@dataclass(frozen=True, slots=True)
class CurvesLayout:
    """The series of a chart by how they are drawn, both axes in pixels, and the notes below.

    curves: those of models. references: lines with which these are compared. labelled: the curves
    with a colour and a label. bottom: of the plot. ticks: heights in pixels, and their labels.
    """

    curves: Sequence[Series]
    references: Sequence[Series]
    labelled: Sequence[Series]
    x_scale: svg.PixelScale
    y_scale: svg.PixelScale
    bottom: float
    ticks: Sequence[tuple[float, str]]
    notes: Sequence[str]


def draw_curves(chart: Chart, colors: svg.Colors, width: float, height: float) -> Iterator[str]:
    """Yield the elements of a chart of curves or points, in a box with its corner at 0, 0."""
    layout = _layout_curves(chart, colors, width, height)
    x_scale = layout.x_scale
    y_scale = layout.y_scale
    dots = chart.kind == "points"
    yield from _frame(chart, layout)
    for series in chart.extra:
        yield from _shape(series, colors, x_scale, y_scale)
    yield from _bars_below(chart, layout)
    straight_lines = [*_guides(chart, x_scale, y_scale)]
    for reference in layout.references:
        straight_lines += _reference_line(reference, x_scale, y_scale)
    yield from (element for element in straight_lines if "<text" not in element)
    for curve in layout.curves[::-1]:
        yield from _shape(curve, colors, x_scale, y_scale, dots=dots)
    # the names of lines are drawn over the curves
    yield from (element for element in straight_lines if "<text" in element)
    yield from _marks(chart, x_scale, y_scale)
    mark_points = _pixels_of_marks(chart, x_scale, y_scale)
    yield from _labels(layout.labelled, colors, x_scale, y_scale, mark_points, dots=dots)
    yield from _moving_group(chart, x_scale, y_scale)
    for note_index, note in enumerate(layout.notes):
        yield svg.label(
            6, height - NOTE_HEIGHT * (len(layout.notes) - note_index) + 8, note, "small dim"
        )


def _layout_curves(chart: Chart, colors: svg.Colors, width: float, height: float) -> CurvesLayout:
    """Return the series as they are drawn, and the axes that leave room for labels and notes."""
    visible_series = [series for series in chart.series if any(series.parts)]
    curves = [series for series in visible_series if series.letter not in REFERENCE_LETTERS]
    references = [series for series in visible_series if series.letter in REFERENCE_LETTERS]
    labelled_curves = [curve for curve in curves if colors.color_of(curve.name)][: svg.COLORED]
    has_grey_note = bool(colors.numbers) and chart.kind == "lines"
    notes = _note_lines(chart, len(curves) - len(labelled_curves) if has_grey_note else 0, width)
    other_shapes = [series for series in chart.extra if series.shape != "area"]
    points = _points_of([*visible_series, *other_shapes])
    bottom = height - 40 - (STRIP_HEIGHT if chart.below else 0) - NOTE_HEIGHT * len(notes)
    top = 8.0 + (14 if any(mark.y is None for mark in chart.marks) else 0)
    y_scale = svg.axis_scale(chart.y, _heights_on_axis(chart, points), bottom, top)
    ticks = _height_ticks(chart, y_scale)
    left = 10 + max((svg.text_width(text) for _, text in ticks), default=0)
    left += 18 if chart.y.label else 0
    right = width - 10 - _labels_width(labelled_curves)
    if chart.square:  # equal units on both axes
        right = min(right, left + (bottom - y_scale.end))
    x_scale = svg.axis_scale(chart.x, (x for x, _ in points), left, right)
    return CurvesLayout(curves, references, labelled_curves, x_scale, y_scale, bottom, ticks, notes)


def _labels_width(labelled_curves: Sequence[Series]) -> float:
    """Return the pixels that labels take beside the plot."""
    if not labelled_curves:
        return 0.0
    return min(max(svg.text_width(curve.name) for curve in labelled_curves), MAX_LABEL_WIDTH) + 30


def _note_lines(chart: Chart, grey_count: int, width: float) -> list[str]:
    """Return the notes below a chart in lines of its width, first that on models in grey."""
    texts = [f"grey: {format_count(grey_count, 'other model')}"] if grey_count else []
    texts += [fill_for_shell(note.text).format(*note.names) for note in chart.key]
    return [line for text in texts for line in svg.fold(text, width - 12, svg.FONT - 2)]


def _points_of(series: Iterable[Series]) -> list[Point]:
    """Return the points of all parts of some series."""
    parts = chain.from_iterable(curve.parts for curve in series)
    return [*chain.from_iterable(parts)]


def _heights_on_axis(chart: Chart, points: Sequence[Point]) -> list[float]:
    """Return the values that the vertical axis has to show: of points, guides and intervals."""
    heights = [y for _, y in points]
    heights += [guide.y for guide in chart.guides if guide.y is not None]
    for series in chart.extra:
        if series.shape == "dots":
            heights += [limit for limit in chain(*series.spans) if limit is not None]
    return heights


def _height_ticks(chart: Chart, y_scale: svg.PixelScale) -> list[tuple[float, str]]:
    """Return the ticks of the vertical axis; of bars on both sides of 0, without signs."""
    ticks = svg.axis_ticks(chart.y, y_scale)
    if any(series.shape == "bars" for series in chart.extra):  # those below the axis count too
        return [(y, text.removeprefix(svg.MINUS)) for y, text in ticks]
    return ticks


def _frame(chart: Chart, layout: CurvesLayout) -> Iterator[str]:
    """Yield grid, ticks and titles of both axes."""
    x_scale = layout.x_scale
    y_scale = layout.y_scale
    for y, text in layout.ticks:
        yield svg.line(x_scale.start, y, x_scale.end, y, "grid")
        yield svg.label(x_scale.start - 6, y + 4, text, "e")
    axis_bottom = y_scale.start + (STRIP_HEIGHT + 2 if chart.below else 0)
    yield from svg.axis_labels(chart.x, x_scale, y_scale.start, y_scale.end, axis_bottom + 16)
    yield svg.line(x_scale.start, y_scale.start, x_scale.end, y_scale.start, "axis")
    middle_x = (x_scale.start + x_scale.end) / 2
    yield svg.label(middle_x, axis_bottom + 32, svg.shorten(chart.x.label, x_scale.end), "m")
    if chart.y.label:
        middle_y = (y_scale.start + y_scale.end) / 2
        title = svg.label(13, middle_y, svg.shorten(chart.y.label, y_scale.start), "m")
        yield f'<g transform="rotate(-90 13 {svg.pixel(middle_y)})">{title}</g>'


def _shape(
    series: Series,
    colors: svg.Colors,
    x_scale: svg.PixelScale,
    y_scale: svg.PixelScale,
    *,
    dots: bool = False,
) -> Iterator[str]:
    """Yield the elements of one series."""
    color = colors.color_of(series.name)
    if dots or series.shape == "dots":
        yield from _dots_with_intervals(series, color, x_scale, y_scale)
    elif series.shape == "bars":
        yield from _histogram(series, x_scale, y_scale)
    elif series.shape == "ellipse":
        yield _ellipse(series, color, x_scale, y_scale)
    elif series.shape == "area":
        outlines = (svg.curve_pixels(curve_part, x_scale, y_scale) for curve_part in series.parts)
        yield svg.path(outlines, f"area f{color}", closed=True)
    else:
        pixel_parts = (
            svg.curve_pixels(curve_part, x_scale, y_scale)
            for curve_part in series.parts
            if curve_part
        )
        yield svg.path(pixel_parts, f"line s{color} d{color}" if color else "thin s0")


def _dots_with_intervals(
    series: Series, color: int, x_scale: svg.PixelScale, y_scale: svg.PixelScale
) -> Iterator[str]:
    """Yield a dot for each point, on the interval of its height where it has both limits."""
    radius = 1.5 if series.letter == "." else 3.5
    for index, (x, y) in enumerate(series.parts[0] if series.parts else ()):
        center = x_scale.place(x)
        low, high = series.spans[index] if series.spans else (None, None)
        if low is not None and high is not None:
            bottom = y_scale.place(low)
            yield svg.line(center, bottom, center, y_scale.place(high), f"line s{color}")
        yield svg.circle(center, y_scale.place(y), radius, f"f{color}")


def _histogram(series: Series, x_scale: svg.PixelScale, y_scale: svg.PixelScale) -> Iterator[str]:
    """Yield a bar for each span, from 0 to the height of its point, and the name."""
    for (_, y), (low, high) in zip(series.parts[0], series.spans, strict=True):
        left = x_scale.place(low or 0.0)
        right = x_scale.place(high or 0.0)
        top, bottom = sorted((y_scale.place(y), y_scale.place(0.0)))
        if bottom > top:
            classes = f"bar {series.letter}"
            yield svg.rectangle(left, top, right - left - 0.5, bottom - top, classes)
    yield from _histogram_name(series, x_scale, y_scale)


def _histogram_name(
    series: Series, x_scale: svg.PixelScale, y_scale: svg.PixelScale
) -> Iterator[str]:
    """Yield the name of a histogram at its outer edge, on the side where it is lower."""
    heights = [abs(y) for _, y in series.parts[0]]
    third_count = max(len(heights) // 3, 1)
    is_at_right = sum(heights[:third_count]) > sum(heights[-third_count:])
    is_negative = sum(y for _, y in series.parts[0]) < 0
    if y_scale.start - y_scale.end > 2 * STRIP_HEIGHT:
        y = y_scale.start - 6 if is_negative else y_scale.end + 24
        x = x_scale.end - 6 if is_at_right else x_scale.start + 6
        name = svg.shorten(series.name, (x_scale.end - x_scale.start) / 2)
        yield svg.label(x, y, name, "e" if is_at_right else "")


def _ellipse(series: Series, color: int, x_scale: svg.PixelScale, y_scale: svg.PixelScale) -> str:
    """Return the ellipse between two corners, which are the points of a series."""
    (left, bottom), (right, top) = (
        (x_scale.place(x), y_scale.place(y)) for x, y in series.parts[0]
    )
    return (
        f'<ellipse cx="{svg.pixel((left + right) / 2)}" cy="{svg.pixel((bottom + top) / 2)}" '
        f'rx="{svg.pixel((right - left) / 2)}" ry="{svg.pixel((bottom - top) / 2)}" '
        f'class="area f{color}"/>'
    )


def _bars_below(chart: Chart, layout: CurvesLayout) -> Iterator[str]:
    """Yield the bars below the axis, of one series up, of the other down."""
    heights = (abs(y) for series in chart.below for _, y in series.parts[0])
    max_height = max(heights, default=0.0) or 1.0
    strip_scale = svg.PixelScale(
        -max_height, max_height, layout.bottom + STRIP_HEIGHT + 2, layout.bottom + 2
    )
    for series in chart.below:
        yield from _shape(series, svg.Colors(), layout.x_scale, strip_scale)


def _guides(chart: Chart, x_scale: svg.PixelScale, y_scale: svg.PixelScale) -> Iterator[str]:
    """Yield named straight lines; the name is where the plot has more room."""
    name_boxes: list[tuple[float, float, float]] = []  # left, right and height of vertical ones
    name_heights: list[float] = []
    for guide in chart.guides:
        classes = "ref limit" if guide.limit else "ref axis"
        if guide.x is not None and x_scale.low <= guide.x <= x_scale.high:
            x = x_scale.place(guide.x)
            yield svg.line(x, y_scale.start, x, y_scale.end, classes)
            yield _vertical_guide_name(guide, x, x_scale.end, y_scale.end + 10, name_boxes)
        elif guide.y is not None:
            y = y_scale.place(guide.y)
            yield svg.line(x_scale.start, y, x_scale.end, y, classes)
            if all(abs(y - other_height) > svg.FONT for other_height in name_heights):
                name_heights.append(y)
                yield svg.label(x_scale.end - 4, y - 4, guide.text, "small dim over e")


def _vertical_guide_name(
    guide: Guide, x: float, right: float, y: float, name_boxes: list[tuple[float, float, float]]
) -> str:
    """Return the name of a vertical line beside its top, below names that it would cover.

    right: the edge of the plot. y: of a name that covers no other. name_boxes: left, right and
    height of the names before this one, which is added.
    """
    name_width = svg.text_width(guide.text, svg.FONT - 2)
    is_left_of_line = x + 4 + name_width > right
    start = x - 4 - name_width if is_left_of_line else x + 4
    while any(
        start < box_right and start + name_width > box_left and y == box_y
        for box_left, box_right, box_y in name_boxes
    ):
        y += 13
    name_boxes.append((start, start + name_width, y))
    classes = "small dim over e" if is_left_of_line else "small dim over"
    return svg.label(x - 4 if is_left_of_line else x + 4, y, guide.text, classes)


def _reference_line(
    reference: Series, x_scale: svg.PixelScale, y_scale: svg.PixelScale
) -> list[str]:
    """Return a line of reference and its name: along it, at the end of a flat one or a curve."""
    parts = [svg.curve_pixels(part, x_scale, y_scale) for part in reference.parts]
    return [svg.path(parts, "ref axis"), _reference_name(reference.name, parts[0])]


def _reference_name(name: str, pixels: Floats) -> str:
    """Return the name of a line (n, 2): along it, at the end of a flat one or a curve."""
    start_x, start_y = pixels[0].tolist()
    end_x, end_y = pixels[-1].tolist()
    if len(pixels) > 2:
        return svg.label(end_x + 6, end_y - 26, name, "small dim over")
    if abs(end_y - start_y) < 0.05 * abs(end_x - start_x):
        return svg.label(start_x + 4, start_y - 4, name, "small dim over")
    x, y = pixels[0] + 0.72 * (pixels[1] - pixels[0])
    angle = np.degrees(np.arctan2(end_y - start_y, end_x - start_x))
    text = svg.label(0, 12, name, "small dim over m")
    translation = f"translate({svg.pixel(x)} {svg.pixel(y)})"
    return f'<g transform="{translation} rotate({angle:.1f})">{text}</g>'


def _marks(chart: Chart, x_scale: svg.PixelScale, y_scale: svg.PixelScale) -> Iterator[str]:
    """Yield letters: over a dotted line, or at a point."""
    letters_x: list[float] = []  # of the letters on top
    for mark in chart.marks:
        x = x_scale.place(mark.x)
        if mark.y is None:
            yield svg.line(x, y_scale.start, x, y_scale.end, "ref axis")
            overlapping_xs = [letter_x for letter_x in letters_x if abs(x - letter_x) < svg.FONT]
            letters_x.append(max(overlapping_xs) + svg.FONT if overlapping_xs else x)
            yield svg.label(letters_x[-1], y_scale.end - 4, mark.letter, "m dim")
        else:
            y = y_scale.place(mark.y)
            yield svg.circle(x, y, BADGE_RADIUS, "ground dot axis")
            yield svg.label(x, y + 4, mark.letter, "small m")


def _pixels_of_marks(chart: Chart, x_scale: svg.PixelScale, y_scale: svg.PixelScale) -> list[Point]:
    """Return the pixels of marks and of the first dot of a series behind, which letters avoid."""
    mark_points = [(mark.x, mark.y) for mark in chart.marks if mark.y is not None]
    for series in chart.extra:
        if series.shape == "dots":
            mark_points += series.parts[0][:1]
    return [(x_scale.place(x), y_scale.place(y)) for x, y in mark_points]


def _moving_group(chart: Chart, x_scale: svg.PixelScale, y_scale: svg.PixelScale) -> Iterator[str]:
    """Yield the group that the sliders of a page move, where there is one; it is drawn last."""
    if chart.moving:
        corners = (x_scale.start, x_scale.end, y_scale.start, y_scale.end)
        pixels = " ".join(map(svg.pixel, corners))
        values = f"{x_scale.low!r} {x_scale.high!r} {y_scale.low!r} {y_scale.high!r}"
        x, y, model = (escape(printable(text)) for text in chart.moving)
        yield (
            f'<g class="moving" data-x="{x}" data-y="{y}" data-model="{model}" '
            f'data-pixels="{pixels}" data-values="{values}"></g>'
        )


def _labels(
    labelled_curves: Sequence[Series],
    colors: svg.Colors,
    x_scale: svg.PixelScale,
    y_scale: svg.PixelScale,
    mark_points: Sequence[Point],
    *,
    dots: bool,
) -> Iterator[str]:
    """Yield the names of curves beside their ends or, where these meet, letters on the curves.

    mark_points: pixels that the letters avoid. dots: whether the series are points.
    """
    if not labelled_curves:
        return
    pixels = [_pixels_of_series(curve, x_scale, y_scale) for curve in labelled_curves]
    color_numbers = [colors.color_of(curve.name) for curve in labelled_curves]
    end_heights = [float(curve[-1, 1]) for curve in pixels]
    ends_meet = any(
        abs(first_height - second_height) < MIN_END_DISTANCE
        for first_height, second_height in combinations(end_heights, 2)
    )
    ends_early = any(curve[-1, 0] < x_scale.end - 4 for curve in pixels)
    if dots:
        heights = _label_heights(end_heights, y_scale)
        yield from _dot_labels(labelled_curves, color_numbers, pixels, heights, x_scale.end + 6)
    elif (ends_meet or ends_early) and len(labelled_curves) > 1:
        letter_points = _letter_places(pixels, x_scale, mark_points)
        heights = _label_heights([y for _, y in letter_points], y_scale)
        yield from _letter_labels(
            labelled_curves, color_numbers, letter_points, heights, x_scale.end + 6
        )
    else:
        for index, y in _label_heights(end_heights, y_scale):
            yield svg.line(
                x_scale.end,
                end_heights[index],
                x_scale.end + 18,
                y,
                f"thin s{color_numbers[index]}",
            )
            yield _name_label(labelled_curves[index], x_scale.end + 20, y)


def _pixels_of_series(series: Series, x_scale: svg.PixelScale, y_scale: svg.PixelScale) -> Floats:
    """Return the pixels (n, 2) of all parts of a series."""
    parts = (svg.curve_pixels(part, x_scale, y_scale) for part in series.parts if part)
    return np.concatenate([*parts])


def _label_heights(heights: Sequence[float], y_scale: svg.PixelScale) -> list[tuple[int, float]]:
    """Return the index of each label, and a height near its own with room, from the top down."""
    top_down_indices = sorted(range(len(heights)), key=lambda index: heights[index])
    rising_heights = [heights[index] for index in top_down_indices]
    label_ys = _spread_heights(rising_heights, y_scale.end + 6, y_scale.start - 2)
    return list(zip(top_down_indices, label_ys, strict=True))


def _dot_labels(
    labelled_curves: Sequence[Series],
    color_numbers: Sequence[int],
    dot_pixels: Sequence[Floats],
    heights: Sequence[tuple[int, float]],
    labels_start: float,
) -> Iterator[str]:
    """Yield a letter at the dot of each series, and beside the plot its name after a dot.

    heights: index and height of each label. labels_start: the left edge of the labels.
    """
    letter_points: list[Point] = []
    for index, label_y in heights:
        dot_x, dot_y = dot_pixels[index][0]
        yield svg.circle(labels_start + 5, label_y, 3.5, f"f{color_numbers[index]}")
        # a letter is right of its dot or, where it would cover another letter, left of it
        covers_letter = any(
            abs(dot_x - x) < BADGE_RADIUS and abs(dot_y - y) < MIN_END_DISTANCE
            for x, y in letter_points
        )
        letter_points.append((dot_x - 2 * MIN_END_DISTANCE if covers_letter else dot_x, dot_y))
        letter_x = dot_x - 5 if covers_letter else dot_x + 5
        classes = "small over e" if covers_letter else "small over"
        yield svg.label(letter_x, dot_y - 4, labelled_curves[index].letter, classes)
        text = f"{labelled_curves[index].letter} {labelled_curves[index].name}".strip()
        yield _name_label(labelled_curves[index], labels_start + 14, label_y, text)


def _letter_labels(
    labelled_curves: Sequence[Series],
    color_numbers: Sequence[int],
    letter_points: Sequence[Point],
    heights: Sequence[tuple[int, float]],
    labels_start: float,
) -> Iterator[str]:
    """Yield a letter on each curve, and beside the plot its name after this letter.

    heights: index and height of each label. labels_start: the left edge of the labels.
    """
    for index, label_y in heights:
        color = color_numbers[index]
        yield svg.line(labels_start, label_y, labels_start + 22, label_y, f"line s{color} d{color}")
        for letter_x, letter_y in (letter_points[index], (labels_start + 11, label_y)):
            yield svg.circle(letter_x, letter_y, BADGE_RADIUS, f"ground dot s{color}")
            yield svg.label(letter_x, letter_y + 4, chr(ord("A") + index), "small m")
        yield _name_label(labelled_curves[index], labels_start + 26, label_y)


def _name_label(series: Series, x: float, y: float, text: str = "") -> str:
    """Return the name of a series, or another text with it, cut to the room beside a plot."""
    return svg.label(x, y + 4, svg.shorten(text or series.name, MAX_LABEL_WIDTH), title=series.name)


def _letter_places(
    curves: Sequence[Floats], x_scale: svg.PixelScale, mark_points: Sequence[Point]
) -> list[Point]:
    """Return a point of each curve for its letter, far from other curves, letters and marks."""
    avoided_points = [*mark_points]
    for index, curve in enumerate(curves):
        points = _points_along(curve, x_scale)
        other_curves = [*curves[:index], *curves[index + 1 :]]
        distances_to_nearest = np.min(
            [_distances(other_curve, points) for other_curve in other_curves], axis=0
        )
        for avoided_point in avoided_points:
            distances_to_nearest = np.minimum(
                distances_to_nearest, np.hypot(*(points - avoided_point).T) - 2 * BADGE_RADIUS
            )
        x, y = points[np.argmax(distances_to_nearest)].tolist()
        avoided_points.append((x, y))
    return avoided_points[len(mark_points) :]


def _points_along(curve: Floats, x_scale: svg.PixelScale) -> Floats:
    """Return points (k, 2) of a curve at even steps along it, without ends, else the last point."""
    steps = np.hypot(*np.diff(curve, axis=0).T)
    lengths = np.concatenate([[0.0], np.cumsum(steps)])
    even_lengths = np.array(LETTER_FRACTIONS) * lengths[-1]
    points = np.column_stack(
        [np.interp(even_lengths, lengths, curve[:, axis]) for axis in range(2)]
    )
    center = (x_scale.start + x_scale.end) / 2
    half_width = (x_scale.end - x_scale.start) / 2 - BADGE_RADIUS
    in_plot = points[abs(points[:, 0] - center) < half_width]
    return in_plot if len(in_plot) else curve[-1:]


def _distances(curve: Floats, points: Floats) -> Floats:
    """Return the distance of points (k, 2) from a curve (n, 2)."""
    segments = max(len(curve) - 1, 1)
    starts = curve[:segments]
    directions = curve[-segments:] - starts
    from_starts = points[:, None] - starts
    squares = np.maximum((directions**2).sum(axis=1), 1e-12)
    fractions = (from_starts * directions).sum(axis=2) / squares
    gaps = from_starts - np.clip(fractions, 0.0, 1.0)[:, :, None] * directions
    return np.asarray(np.hypot(gaps[:, :, 0], gaps[:, :, 1]).min(axis=1))


def _spread_heights(heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Return rising heights of labels, each at least a line below the one before."""
    label_ys: list[float] = []
    for y in heights:
        min_y = label_ys[-1] + svg.LINE - 1 if label_ys else top
        label_ys.append(max(y, min_y))
    if label_ys[-1] > bottom:
        for index, y in enumerate(label_ys):
            labels_below = len(label_ys) - 1 - index
            label_ys[index] = min(y, bottom - labels_below * (svg.LINE - 1))
    return label_ys
