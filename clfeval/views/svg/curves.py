"""Pictures with two numeric axes: curves, points, histograms and diamonds, with direct labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import chain, combinations

import numpy as np

from clfeval.arrays import Floats
from clfeval.formatting import format_count, printable
from clfeval.pages.chart import Chart, Point, Series
from clfeval.placeholders import fill_for_shell
from clfeval.views.svg import elements as svg

STRIP = 34  # pixels of the bars below an axis
WIDEST = 150  # pixels of labels beside curves, at most
APART = 12  # pixels between the ends of curves that are labelled there
BADGE = 7  # pixels, the radius of a letter on a curve
REFERENCES = (":", "-")  # letters of lines with which curves are compared
PLACES = [i / 24 for i in range(1, 24)]  # of the width, where a letter may be on a curve


def draw_curves(chart: Chart, colors: svg.Colors, width: float, height: float) -> Iterator[str]:
    """Yield the elements of a chart of curves or points, in a box with its corner at 0, 0."""
    drawn = [one for one in chart.series if any(one.parts)]
    curves = [one for one in drawn if one.letter not in REFERENCES]
    named = [one for one in curves if colors.color_of(one.name)][: svg.COLORED]
    wide = max((svg.text_width(one.name) for one in named), default=0)
    behind = [one for one in chart.extra if one.shape != "area"]
    points = [*chain.from_iterable(chain.from_iterable(one.parts) for one in (*drawn, *behind))]
    heights = [y for _, y in points] + [one.y for one in chart.guides if one.y is not None]
    heights += [
        y for one in behind if one.shape == "dots" for y in chain(*one.spans) if y is not None
    ]
    greys = (len(curves) - len(named)) * bool(colors.numbers and chart.kind == "lines")
    texts = [f"grey: {format_count(greys, 'other model')}"] * bool(greys)
    texts += [fill_for_shell(note.text).format(*note.names) for note in chart.key]
    notes = [line for text in texts for line in svg.fold(text, width - 12, svg.FONT - 2)]
    bottom = height - 40 - STRIP * bool(chart.below) - 13 * len(notes)
    marks = any(mark.y is None for mark in chart.marks)
    up = svg.axis_scale(chart.y, heights, bottom, 8.0 + 14 * marks)
    ticks = svg.axis_ticks(chart.y, up)
    if any(one.shape == "bars" for one in chart.extra):  # those below the axis count too
        ticks = [(y, text.removeprefix(svg.MINUS)) for y, text in ticks]
    left = 10 + max((svg.text_width(text) for _, text in ticks), default=0)
    left += 18 * bool(chart.y.label)
    right = width - 10 - (min(wide, WIDEST) + 30 if named else 0)
    if chart.square:  # equal units on both axes
        right = min(right, left + (bottom - up.end))
    across = svg.axis_scale(chart.x, (x for x, _ in points), left, right)
    yield from _frame(chart, across, up, ticks)
    for one in chart.extra:
        yield from _shape(one, colors, across, up)
    most = max((abs(y) for one in chart.below for _, y in one.parts[0]), default=0.0) or 1.0
    strip = svg.PixelScale(-most, most, bottom + STRIP + 2, bottom + 2)
    for one in chart.below:  # bars below the axis, of one series up, of the other down
        yield from _shape(one, svg.Colors(), across, strip)
    straight = [*_guides(chart, across, up)]
    for one in drawn:
        if one not in curves:
            parts = (svg.curve_pixels(part, across, up) for part in one.parts)
            straight += [svg.path(parts, "ref axis"), *_reference_name(one, across, up)]
    yield from (one for one in straight if "<text" not in one)
    for one in curves[::-1]:
        yield from _shape(one, colors, across, up, dots=chart.kind == "points")
    yield from (one for one in straight if "<text" in one)  # names are above the curves
    yield from _marks(chart, across, up)
    marked = [(mark.x, mark.y) for mark in chart.marks if mark.y is not None]
    marked += [at for one in chart.extra if one.shape == "dots" for at in one.parts[0][:1]]
    marks_at = [(across.place(x), up.place(y)) for x, y in marked]
    yield from _labels(named, colors, across, up, marks_at, dots=chart.kind == "points")
    if chart.moving:  # what the sliders of a page move; it is drawn last
        ends = " ".join(map(svg.pixel, (across.start, across.end, up.start, up.end)))
        values = f"{across.low!r} {across.high!r} {up.low!r} {up.high!r}"
        x, y, model = (escape(printable(text)) for text in chart.moving)
        yield (
            f'<g class="moving" data-x="{x}" data-y="{y}" data-model="{model}" '
            f'data-pixels="{ends}" data-values="{values}"></g>'
        )
    for i, text in enumerate(notes):
        yield svg.label(6, height - 13 * (len(notes) - i) + 8, text, "small dim")


def _frame(
    chart: Chart, across: svg.PixelScale, up: svg.PixelScale, ticks: Sequence[tuple[float, str]]
) -> Iterator[str]:
    """Yield grid, ticks and titles of both axes."""
    for y, text in ticks:
        yield svg.line(across.start, y, across.end, y, "grid")
        yield svg.label(across.start - 6, y + 4, text, "e")
    low = up.start + (STRIP + 2) * bool(chart.below)
    yield from svg.axis_labels(chart.x, across, up.start, up.end, low + 16)
    yield svg.line(across.start, up.start, across.end, up.start, "axis")
    middle = (across.start + across.end) / 2
    yield svg.label(middle, low + 32, svg.shorten(chart.x.label, across.end), "m")
    if chart.y.label:
        text, at = svg.shorten(chart.y.label, up.start), (up.start + up.end) / 2
        yield f'<g transform="rotate(-90 13 {svg.pixel(at)})">{svg.label(13, at, text, "m")}</g>'


def _shape(
    one: Series,
    colors: svg.Colors,
    across: svg.PixelScale,
    up: svg.PixelScale,
    *,
    dots: bool = False,
) -> Iterator[str]:
    """Yield the elements of one series."""
    n = colors.color_of(one.name)
    if dots or one.shape == "dots":
        for i, (x, y) in enumerate(one.parts[0] if one.parts else ()):
            at, low_high = across.place(x), one.spans[i] if one.spans else (None, None)
            if low_high[0] is not None and low_high[1] is not None:
                yield svg.line(at, up.place(low_high[0]), at, up.place(low_high[1]), f"line s{n}")
            yield svg.circle(at, up.place(y), 3.5 if one.letter != "." else 1.5, f"f{n}")
    elif one.shape == "bars":
        for (_, y), (low, high) in zip(one.parts[0], one.spans, strict=True):
            a, b = across.place(low or 0.0), across.place(high or 0.0)
            top, bottom = sorted((up.place(y), up.place(0.0)))
            if bottom > top:
                yield svg.rectangle(a, top, b - a - 0.5, bottom - top, f"bar {one.letter}")
        yield from _name_of_bars(one, across, up)
    elif one.shape == "ellipse":
        (a, low), (b, high) = ((across.place(x), up.place(y)) for x, y in one.parts[0])
        yield (
            f'<ellipse cx="{svg.pixel((a + b) / 2)}" cy="{svg.pixel((low + high) / 2)}" '
            f'rx="{svg.pixel((b - a) / 2)}" ry="{svg.pixel((low - high) / 2)}" '
            f'class="area f{n}"/>'
        )
    elif one.shape == "area":
        yield svg.path(
            (svg.curve_pixels(part, across, up) for part in one.parts), f"area f{n}", closed=True
        )
    else:
        parts = (svg.curve_pixels(part, across, up) for part in one.parts if part)
        yield svg.path(parts, f"line s{n} d{n}" if n else "thin s0")


def _name_of_bars(one: Series, across: svg.PixelScale, up: svg.PixelScale) -> Iterator[str]:
    """Yield the name of a histogram at its outer edge, on the side where it is lower."""
    heights = [abs(y) for _, y in one.parts[0]]
    third = max(len(heights) // 3, 1)
    right = sum(heights[:third]) > sum(heights[-third:])
    negative = sum(y for _, y in one.parts[0]) < 0
    if up.start - up.end > 2 * STRIP:
        y = up.start - 6 if negative else up.end + 24
        x = across.end - 6 if right else across.start + 6
        yield svg.label(x, y, svg.shorten(one.name, (across.end - across.start) / 2), "e" * right)


def _guides(chart: Chart, across: svg.PixelScale, up: svg.PixelScale) -> Iterator[str]:
    """Yield named straight lines; the name is where the plot has more room."""
    taken, heights = list[tuple[float, float, float]](), list[float]()
    for guide in chart.guides:
        kind = "ref limit" if guide.limit else "ref axis"
        text = guide.text
        if guide.x is not None and across.low <= guide.x <= across.high:
            x = across.place(guide.x)
            yield svg.line(x, up.start, x, up.end, kind)
            wide, y = svg.text_width(text, svg.FONT - 2), up.end + 10
            ends = x + 4 + wide > across.end
            start = x - 4 - wide if ends else x + 4
            while any(start < b and start + wide > a and y == h for a, b, h in taken):
                y += 13
            taken.append((start, start + wide, y))
            yield svg.label(x - 4 if ends else x + 4, y, text, "small dim over" + " e" * ends)
        elif guide.y is not None:
            y = up.place(guide.y)
            yield svg.line(across.start, y, across.end, y, kind)
            if all(abs(y - other) > svg.FONT for other in heights):
                heights.append(y)
                yield svg.label(across.end - 4, y - 4, text, "small dim over e")


def _reference_name(one: Series, across: svg.PixelScale, up: svg.PixelScale) -> Iterator[str]:
    """Yield the name of a line of reference: along it, at the end of a flat one or a curve."""
    pixels = svg.curve_pixels(one.parts[0], across, up)
    (x, y), (end, low) = pixels[0].tolist(), pixels[-1].tolist()
    if len(pixels) > 2:
        yield svg.label(end + 6, low - 26, one.name, "small dim over")
    elif abs(low - y) < 0.05 * abs(end - x):
        yield svg.label(x + 4, y - 4, one.name, "small dim over")
    else:
        middle, turn = pixels[0] + 0.72 * (pixels[1] - pixels[0]), np.arctan2(low - y, end - x)
        text = svg.label(0, 12, one.name, "small dim over m")
        place = f"translate({svg.pixel(middle[0])} {svg.pixel(middle[1])})"
        yield f'<g transform="{place} rotate({np.degrees(turn):.1f})">{text}</g>'


def _marks(chart: Chart, across: svg.PixelScale, up: svg.PixelScale) -> Iterator[str]:
    """Yield letters: over a dotted line, or at a point."""
    taken: list[float] = []
    for mark in chart.marks:
        x = across.place(mark.x)
        if mark.y is None:
            yield svg.line(x, up.start, x, up.end, "ref axis")
            near = [at for at in taken if abs(x - at) < svg.FONT]
            taken.append(max(near) + svg.FONT if near else x)
            yield svg.label(taken[-1], up.end - 4, mark.letter, "m dim")
        else:
            y = up.place(mark.y)
            yield svg.circle(x, y, BADGE, "ground dot axis")
            yield svg.label(x, y + 4, mark.letter, "small m")


def _labels(
    named: Sequence[Series],
    colors: svg.Colors,
    across: svg.PixelScale,
    up: svg.PixelScale,
    marks: Sequence[Point],
    *,
    dots: bool,
) -> Iterator[str]:
    """Yield the names of curves beside their ends or, where these meet, letters on the curves."""
    if not named:
        return
    pixels = [
        np.concatenate([svg.curve_pixels(part, across, up) for part in one.parts if part])
        for one in named
    ]
    ends = [float(one[-1, 1]) for one in pixels]
    close = any(abs(a - b) < APART for a, b in combinations(ends, 2))
    short = any(one[-1, 0] < across.end - 4 for one in pixels)
    number = (close or short) and len(named) > 1 and not dots
    at = _letter_places(pixels, across, marks) if number else [(0.0, y) for y in ends]
    order = sorted(range(len(named)), key=lambda i: at[i][1])
    heights = _spread_heights([at[i][1] for i in order], up.end + 6, up.start - 2)
    placed: list[Point] = []
    for i, y in zip(order, heights, strict=True):
        one, n = named[i], colors.color_of(named[i].name)
        left = across.end + 6
        if dots:
            x, here = pixels[i][0]
            yield svg.circle(left + 5, y, 3.5, f"f{n}")
            close = any(abs(x - a) < BADGE and abs(here - b) < APART for a, b in placed)
            placed.append((x - 2 * APART * close, here))  # a letter is right of its dot, else left
            yield svg.label(
                x - 5 if close else x + 5, here - 4, one.letter, "small over" + " e" * close
            )
        elif number:
            yield svg.line(left, y, left + 22, y, f"line s{n} d{n}")
            for x, here in (at[i], (left + 11, y)):
                yield svg.circle(x, here, BADGE, f"ground dot s{n}")
                yield svg.label(x, here + 4, chr(ord("A") + i), "small m")
        else:
            yield svg.line(across.end, ends[i], left + 12, y, f"thin s{n}")
        yield svg.label(
            left + 26 if number else left + 14,
            y + 4,
            svg.shorten(f"{one.letter} {one.name}".strip() if dots else one.name, WIDEST),
            title=one.name,
        )


def _letter_places(
    curves: Sequence[Floats], across: svg.PixelScale, marks: Sequence[Point]
) -> list[Point]:
    """Return a point of each curve for its letter, far from other curves, letters and marks."""
    kept = [*marks]
    for i, curve in enumerate(curves):
        at = _points_along(curve, across)
        others = [*curves[:i], *curves[i + 1 :]]
        room = np.min([_distances(one, at) for one in others], axis=0)
        for place in kept:
            room = np.minimum(room, np.hypot(*(at - place).T) - 2 * BADGE)
        x, y = at[np.argmax(room)].tolist()
        kept.append((x, y))
    return kept[len(marks) :]


def _points_along(curve: Floats, across: svg.PixelScale) -> Floats:
    """Return points (k, 2) of a curve at even steps along it, without ends, else the last point."""
    steps = np.hypot(*np.diff(curve, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    at = np.array(PLACES) * along[-1]
    points = np.column_stack([np.interp(at, along, curve[:, i]) for i in range(2)])
    inside = points[
        abs(points[:, 0] - (across.start + across.end) / 2)
        < (across.end - across.start) / 2 - BADGE
    ]
    return inside if len(inside) else curve[-1:]


def _distances(curve: Floats, points: Floats) -> Floats:
    """Return the distance of points (k, 2) from a curve (n, 2)."""
    a, b = curve[: max(len(curve) - 1, 1)], curve[-max(len(curve) - 1, 1) :]
    way, here = b - a, points[:, None] - a
    share = (here * way).sum(axis=2) / np.maximum((way**2).sum(axis=1), 1e-12)
    gaps = here - np.clip(share, 0.0, 1.0)[:, :, None] * way
    return np.asarray(np.hypot(gaps[:, :, 0], gaps[:, :, 1]).min(axis=1))


def _spread_heights(heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Return rising heights of labels, each at least a line below the one before."""
    placed: list[float] = []
    for y in heights:
        placed.append(max(y, placed[-1] + svg.LINE - 1 if placed else top))
    over = placed[-1] - bottom
    for i in range(len(placed) - 1, -1, -1):
        if over > 0:
            placed[i] = min(placed[i], bottom - (len(placed) - 1 - i) * (svg.LINE - 1))
    return placed
