"""Pictures with a line for each name: intervals, bars, matrices and radars."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import cos, pi, sin

import numpy as np

from clfeval.formatting import format_count, format_number, printable
from clfeval.pages.chart import Chart
from clfeval.views.canvas import shorten_names_apart
from clfeval.views.svg import elements as svg

ROW = 23  # pixels
PLOT = 90  # pixels between names and words, at least
BOLD = 1.12  # of the width of letters that are not bold
MOST_ROWS = 50  # of intervals or bars
NUMBERED = 20  # rows and columns of a matrix with numbers in its cells, at most
STRONGEST = 0.5  # opacity of a cell, at most: text on it stays legible
RADAR = 200  # pixels of one radar
HEADS = 320  # pixels for the names of all columns of a matrix


def rows_height(chart: Chart) -> float:
    """Return the height of a chart of intervals or bars, without its title."""
    shown = min(len(chart.series), MOST_ROWS)
    notes = len(chart.series) > MOST_ROWS or bool(chart.left) or len(chart.guides) > 1
    return ROW * shown + 62 + 14 * notes


def draw_rows(chart: Chart, colors: svg.Colors, width: float, _height: float) -> Iterator[str]:
    """Yield a line for each series: its name, a value with its interval or a bar, its words."""
    shown = chart.series[:MOST_ROWS]
    names = [printable(one.name) for one in shown]
    words = [
        one.words or ("–" if one.values[0] is None else f"{one.values[0]:,.10g}") for one in shown
    ]
    small, bars = svg.FONT - 2, chart.kind == "bars"
    bold = BOLD if any(one.sign == "best" for one in shown) else 1.0
    widest = [
        bold * max((svg.text_width(text, size) for text in texts), default=0.0)
        for texts, size in ((names, svg.FONT), (words, small))
    ]
    left = 10 + min(widest[0], 0.36 * width, max(width - 30 - PLOT - widest[1], 0.2 * width))
    beside = 10 + min(widest[1], max(width - PLOT - 20 - left, 0.2 * width))
    cut = shorten_names_apart(names, int((left - 10) / svg.LETTER / svg.FONT / bold) + 1)
    words = [svg.shorten(text, beside - 6, small) for text in words]
    values = [v for one in shown for v in chain(one.values, *one.spans) if v is not None]
    values += [guide.x for guide in chart.guides if guide.x is not None] + [0.0] * bars
    across = svg.axis_scale(chart.x, values, left + 8, width - beside - 4)
    bottom = 14 + ROW * len(shown)
    for i, one in enumerate(shown):
        if one.sign:
            yield svg.rectangle(across.start, 14 + ROW * i, across.end - across.start, ROW, "band")
    yield from svg.axis_labels(chart.x, across, bottom, 14.0, bottom + 16)
    yield svg.line(across.start, bottom, across.end, bottom, "axis")
    middle, text = (across.start + across.end) / 2, svg.shorten(chart.x.label, width)
    middle = max(min(middle, width - svg.text_width(text) / 2), svg.text_width(text) / 2 + 4)
    yield svg.label(middle, bottom + 34, text, "m")
    taken, below = list[tuple[float, float]](), list[str]()
    for guide in chart.guides:
        x, wide = across.place(guide.x or 0.0), svg.text_width(guide.text, small) / 2
        lines = (
            [
                (14.0 + ROW * i, 14.0 + ROW * (i + 1))
                for i, one in enumerate(shown)
                if one.name in guide.rows
            ]
            if guide.rows
            else [(12.0, bottom)]
        )
        kind = "ref limit" if guide.limit else "ref axis"
        yield from (svg.line(x, top, x, end, kind) for top, end in lines)
        if all(abs(x - at) > wide + half + 6 for at, half in taken):
            taken.append((x, wide))
            yield svg.label(min(x, width - wide - 4), 9, guide.text, "small dim m")
        else:
            below.append(guide.text)
    for i, (one, name, text) in enumerate(zip(shown, names, words, strict=True)):
        y, n = 14 + ROW * (i + 0.5), colors.color_of(one.name)
        best = " best" * (one.sign == "best")
        yield svg.label(left, y + 4, cut[name], f"e{best}", title=one.name)
        yield svg.label(width - beside + 4, y + 4, text, f"small{best}")
        if (value := one.values[0]) is None:
            continue
        x = across.place(value)
        if bars:
            yield svg.rectangle(across.place(0), y - 7, x - across.place(0), 14, f"bar f{n}")
            continue
        low, high = one.spans[0] if one.spans else (None, None)
        if low is not None or high is not None:
            ends_at = [across.low if low is None else low, across.high if high is None else high]
            a, b = map(across.place, ends_at)
            yield svg.line(a, y, b, y, f"line s{n}")
            yield "".join(
                svg.line(at, y - 4, at, y + 4, f"line s{n}")
                for at, end in ((a, low), (b, high))
                if end is not None
            )
        yield svg.circle(x, y, 4, f"f{n}")
    if left_out := len(chart.series) - len(shown) + chart.left:
        below.append(f"{format_count(left_out, 'more row')} not shown")
    yield svg.label(
        6, bottom + 50, svg.shorten("; ".join(dict.fromkeys(below)), width, small), "small dim"
    )


def matrix_height(chart: Chart) -> float:
    """Return the height of a matrix, without its title."""
    _, fits, key = _heads(chart)
    return _cell_size(len(chart.series)) * len(chart.series) + 40 + 14 * len(key) * (not fits)


def _heads(chart: Chart) -> tuple[bool, bool, list[str]]:
    """Return whether columns are the rows, whether their names fit, and else a key of these."""
    square = chart.names in ((), tuple(one.name for one in chart.series))
    longest = max((svg.text_width(name, svg.FONT - 2) for name in chart.names), default=0.0)
    fits = longest < min(104, HEADS / max(len(chart.names), 1))
    return square, fits, [] if square else _numbered_names(chart)


def _cell_size(rows: int) -> float:
    return 24 if rows <= NUMBERED else max(4.0, 400 / rows)


def draw_matrix(chart: Chart, _colors: svg.Colors, width: float, _height: float) -> Iterator[str]:
    """Yield squares shaded by their values, with numbers where there are few; negative ones red."""
    shown = chart.series
    columns = len(shown[0].values) if shown else 0
    numbered = max(len(shown), columns) <= NUMBERED
    high = _cell_size(len(shown))
    names = [printable(one.name) for one in shown]
    room = min(max(map(svg.text_width, names), default=0) + 26, 0.4 * width)
    cut = shorten_names_apart(names, int((room - 26) / svg.LETTER / svg.FONT) + 1)
    left, top = 8 + room, 20
    most_wide = (100 if columns < 5 else 64) if numbered else high
    wide = min((width - left - 6) / max(columns, 1), most_wide)
    values = [v for one in shown for v in one.values if v is not None]
    most = max(map(abs, values), default=0) or 1.0
    whole = all(float(value).is_integer() for value in values)
    names = [cut[name] for name in names]
    square, fits, key = _heads(chart)
    heads = chart.names if fits else tuple(str(j + 1) for j in range(columns))
    if square and numbered and not fits:  # the numbers stand before the names of the rows
        names = [f"{i} {name}" for i, name in enumerate(names, start=1)]
    every = max(1, round(26 / wide))  # columns from one name to the next
    if numbered or not square:
        for j, head in enumerate(heads):
            if j % every:
                continue
            at, text = left + wide * (j + 0.5), svg.shorten(head, wide * every, svg.FONT - 2)
            yield svg.label(at, top - 6, text, "small m", title=head)
    for i, (one, name) in enumerate(zip(shown, names, strict=True)):
        y = top + high * i
        if high > svg.FONT:
            yield svg.label(left - 6, y + high / 2 + 4, name, "e", title=one.name)
        for j, value in enumerate(one.values):
            x, middle = left + wide * j, y + high / 2 + 4
            shade = one.spans[j][0] if one.spans else abs(value or 0.0) / most
            strong = STRONGEST * min(shade or 0.0, 1.0)
            if value is not None and strong > 0.004:
                more = f' fill-opacity="{strong:.2f}"'
                yield svg.rectangle(x, y, wide - 1, high - 1, "f2" if value < 0 else "f1", more)
            if numbered and value is not None:
                text = f"{value:,.10g}" if whole else format_number(value, 2 if wide < 40 else 3)
                yield svg.label(x + wide / 2, middle, text.replace("-", svg.MINUS), "small m")
            elif numbered:
                yield svg.label(x + wide / 2, middle, "–", "small m dim")
    text = svg.shorten(chart.x.label, width - left, svg.FONT - 2)
    below = top + high * len(shown) + 14
    yield svg.label(left, below, text, "small dim")
    for i, text in enumerate([] if fits else key, start=1):
        yield svg.label(6, below + 14 * i, text, "small dim")


def radars_height(chart: Chart) -> float:
    """Return the height of a row of radars with the names of their rays."""
    return RADAR + 24 + 14 * len(_numbered_names(chart))


def _numbered_names(chart: Chart) -> list[str]:
    """Return the names of rays or columns with numbers, in lines as wide as a usual picture."""
    text = "   ".join(f"{i} {name}" for i, name in enumerate(chart.names, start=1))
    return svg.fold(text, 470, svg.FONT - 2, apart="   ")


def draw_radars(chart: Chart, colors: svg.Colors, width: float, _height: float) -> Iterator[str]:
    """Yield a polygon for each series: rays of the lengths of the weights, filled to the values."""
    each = width / max(len(chart.series), 1)
    for i, one in enumerate(chart.series):
        middle, radius = (each * (i + 0.5), 20 + RADAR / 2), min(each, RADAR) / 2 - 18
        rays = [(-pi / 2 + 2 * pi * j / len(one.values)) for j in range(len(one.values))]
        unit = np.array([[cos(a), sin(a)] for a in rays])
        lengths = np.array(chart.weights or [1.0] * len(rays))[:, None]
        filled = unit * lengths * np.array([[value or 0.0] for value in one.values])
        n = colors.color_of(one.name)
        for share in (0.25, 0.5, 0.75, 1.0):
            yield svg.path([middle + radius * share * unit * lengths], "thin grid", closed=True)
        yield svg.path([middle + radius * filled], f"area f{n}", closed=True)
        yield svg.path([middle + radius * filled], f"line s{n}", closed=True)
        for j, (x, y) in enumerate(middle + (radius + 9) * unit * lengths):
            yield svg.label(x, y + 4, str(j + 1), "small m dim")
        words = f" {one.words}" if one.words else ""
        name = svg.shorten(one.name, each - svg.text_width(words) - 8)
        yield svg.label(middle[0], 12, f"{name}{words}", "m", title=one.name)
    for i, text in enumerate(_numbered_names(chart)):
        yield svg.label(6, RADAR + 36 + 14 * i, text, "small dim")
