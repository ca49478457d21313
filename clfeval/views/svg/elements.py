"""Parts of pictures: scales, ticks, text and curves; a colour and dashes for each model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path

import numpy as np
from rich.cells import cell_len

from clfeval.arrays import Floats, Ints
from clfeval.document import Document
from clfeval.formatting import printable
from clfeval.pages.chart import Axis, Point
from clfeval.pages.intervals import leading_models
from clfeval.records import dataclass, field
from clfeval.views.canvas import shorten_name
from clfeval.views.terminal import TENTHS, height_ticks, odds_ticks

FONT = 13  # pixels
LINE = 17  # pixels from a line of text to the next
LETTER = 0.6  # of the font, the mean width of a letter
COLUMN_WIDTH = (
    0.25  # pixels: points of a curve in one such column are its first, last and extreme ones
)
TOLERANCE = 0.2  # pixels by which a line with fewer points may miss a point
TENTHS_OF_PIXEL = 10.0  # coordinates are written in tenths of a pixel
MINUS = "−"


@dataclass(frozen=True, slots=True)
class PixelScale:
    """A linear map from values (low to high) to pixels (start to end)."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Return the pixel of a value, inside the plot or at its edge."""
        extent = self.high - self.low
        fraction = (value - self.low) / extent if extent else 0.5
        return self.start + min(max(fraction, 0.0), 1.0) * (self.end - self.start)

    def places(self, values: Floats) -> Floats:
        """Return the pixels of values (n,)."""
        fractions = np.clip((values - self.low) / ((self.high - self.low) or 1.0), 0.0, 1.0)
        return self.start + fractions * (self.end - self.start)


def axis_scale(axis: Axis, values: Iterable[float], start: float, end: float) -> PixelScale:
    """Return the scale of an axis over its range, else over the values with some room."""
    if axis.range:
        return PixelScale(*axis.range, start, end)
    axis_values = [*values]
    low = min(axis_values, default=0.0)
    high = max(axis_values, default=1.0)
    room = 0.04 * (high - low) if high > low else 0.5 * abs(high) or 0.5
    starts_at_zero = axis.scale == "linear" and 0 <= low < 0.1 * high  # near 0 an axis starts at 0
    return PixelScale(0.0 if starts_at_zero else low - room, high + room, start, end)


def axis_ticks(axis: Axis, scale: PixelScale) -> list[tuple[float, str]]:
    """Return the pixels and labels of round values on an axis."""
    room = abs(scale.end - scale.start)
    if len(axis.names) > 2 or (any(axis.names) and axis.scale != "odds"):  # categories
        return [
            (scale.place(category_index), shorten(name, room / 3))
            for category_index, name in enumerate(axis.names, 1)
        ]
    if axis.scale == "odds":
        ticks, labels = odds_ticks((scale.low, scale.high), axis.names, int(room / FONT / LETTER))
    else:
        steps = TENTHS if room > 150 else 3
        ticks, labels = height_ticks(scale.low, scale.high, log=axis.scale == "log", steps=steps)
        decimal_places = max((len(text.partition(".")[2]) for text in labels), default=0)
        if axis.scale == "linear":  # as many decimals for all
            labels = [f"{tick:,.{decimal_places}f}" for tick in ticks]
    return [
        (scale.place(tick), text.replace("-", MINUS))
        for tick, text in zip(ticks, labels, strict=True)
    ]


def axis_labels(axis: Axis, scale: PixelScale, foot: float, top: float, y: float) -> Iterator[str]:
    """Yield the vertical grid lines of an axis, with labels at height `y` where they have room.

    foot, top: heights of the ends of the grid lines.
    """
    min_left_edge = 0.0
    for x, text in axis_ticks(axis, scale):
        yield line(x, foot, x, top, "grid")
        if x - text_width(text) / 2 > min_left_edge:
            yield label(x, y, text, "m")
            min_left_edge = x + text_width(text) / 2 + 9


def pixel(value: float) -> str:
    """Write a coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0").replace("-0", "0" if abs(value) < 0.05 else "-0")


def text_width(text: str, size: float = FONT) -> float:
    """Return about how many pixels wide a text is."""
    return cell_len(text) * LETTER * size


def shorten(text: str, room: float, size: float = FONT) -> str:
    """Return a text, cut in the middle, that is about as wide as the room."""
    return shorten_name(printable(text), max(int(room / LETTER / size), 4))


def fold(text: str, room: float, size: float = FONT, separator: str = " ") -> list[str]:
    """Return a text in lines about as wide as the room, broken at separators."""
    lines: list[str] = []
    for full_word in printable(text).split(separator):
        word = shorten(full_word, room, size)
        if lines and text_width(f"{lines[-1]}{separator}{word}", size) <= room:
            lines[-1] += f"{separator}{word}"
        else:
            lines.append(word)
    return lines


def label(x: float, y: float, text: str, classes: str = "", title: str = "") -> str:
    """Return a text element; classes: `m` in the middle of x, `e` up to x; title: its full text."""
    class_attribute = f' class="{classes}"' if classes else ""
    title_element = f"<title>{escape(printable(title))}</title>" if title and title != text else ""
    return (
        f'<text x="{pixel(x)}" y="{pixel(y)}"{class_attribute}>{title_element}{escape(text)}</text>'
    )


def line(x: float, y: float, to_x: float, to_y: float, classes: str) -> str:
    """Return a straight line."""
    points = f'x1="{pixel(x)}" y1="{pixel(y)}" x2="{pixel(to_x)}" y2="{pixel(to_y)}"'
    return f'<line {points} class="{classes}"/>'


def rectangle(
    x: float, y: float, width: float, height: float, classes: str, attributes: str = ""
) -> str:
    """Return a rectangle; attributes: further ones, as text that begins with a space."""
    size = f'width="{pixel(max(width, 0))}" height="{pixel(max(height, 0))}"'
    return f'<rect x="{pixel(x)}" y="{pixel(y)}" {size} class="{classes}"{attributes}/>'


def circle(x: float, y: float, radius: float, classes: str) -> str:
    """Return a circle."""
    return f'<circle cx="{pixel(x)}" cy="{pixel(y)}" r="{pixel(radius)}" class="{classes}"/>'


def path(parts: Iterable[Floats], classes: str, *, closed: bool = False) -> str:
    """Return a path through pixels, each part (n, 2), in tenths of a pixel and relative steps."""
    path_parts = []
    for part in parts:
        tenths = np.round(part * TENTHS_OF_PIXEL).astype(np.int64)
        steps = np.diff(tenths, axis=0, prepend=0 * tenths[:1])
        steps = steps[np.concatenate([[True], (steps[1:] != 0).any(axis=1)])]
        tenth_pairs = [(_tenths(x), _tenths(y)) for x, y in steps.tolist()]
        closing = "z" if closed else ""
        path_parts.append("M" + "l".join(f"{x} {y}" for x, y in tenth_pairs) + closing)
    return f'<path d="{"".join(path_parts)}" class="{classes}"/>' if path_parts else ""


def _tenths(value: int) -> str:
    return f"{value / TENTHS_OF_PIXEL:.10g}"


def curve_pixels(
    part: Sequence[Point] | Floats, x_scale: PixelScale, y_scale: PixelScale
) -> Floats:
    """Return the pixels (n, 2) of a curve, with few of its points, all nearer than half a pixel."""
    points = np.asarray(part, np.float64).reshape(-1, 2)
    return thin(np.column_stack([x_scale.places(points[:, 0]), y_scale.places(points[:, 1])]))


def thin(points: Floats) -> Floats:
    """Return few points (m, 2) of a line (n, 2) that misses none of them by `TOLERANCE` pixels.

    In each column of `COLUMN_WIDTH` pixels the first, last, lowest and highest are looked at; of
    these a point stays where the line without it would miss it.
    Source: Douglas and Peucker 1973, Cartographica 10:112.
    """
    if len(points) > 2:
        points = points[_extremes_of_columns(points)]
    is_retained = np.zeros(len(points), bool)
    is_retained[:1] = is_retained[-1:] = True
    sections = [(0, len(points) - 1)]
    while sections:
        start, stop = sections.pop()
        if stop - start < 2:
            continue
        distances = _squared_distances(points[start + 1 : stop], points[start], points[stop])
        farthest_offset = int(np.argmax(distances))
        if distances[farthest_offset] > TOLERANCE**2:
            middle = start + 1 + farthest_offset
            is_retained[middle] = True
            sections += [(start, middle), (middle, stop)]
    return points[is_retained]


def _extremes_of_columns(points: Floats) -> Ints:
    """Return the indices of the first, last, lowest and highest point of each column."""
    column_of_point = np.floor(points[:, 0] / COLUMN_WIDTH)
    starts = np.flatnonzero(np.diff(column_of_point, prepend=column_of_point[0] - 1))
    stops = np.append(starts[1:], len(points))
    column_numbers = np.repeat(np.arange(len(starts)), stops - starts)
    order = np.lexsort((points[:, 1], column_numbers))
    return np.unique(np.concatenate([starts, stops - 1, order[starts], order[stops - 1]]))


def _squared_distances(points: Floats, start: Floats, end: Floats) -> Floats:
    """Return the squared distances of points (n, 2) from the line between two others, (2,)."""
    direction = end - start
    from_start = points - start
    squared_length = float(direction @ direction)
    if not squared_length:
        return np.asarray((from_start**2).sum(axis=1))
    fractions = np.clip(from_start @ direction / squared_length, 0.0, 1.0)
    gaps = from_start - fractions[:, None] * direction
    return np.asarray((gaps**2).sum(axis=1))


COLORED = 8  # models with a colour, at most
SECOND_STATE = {"after": 2}  # the colour of series that are no models
# Okabe and Ito's colours, distinct with any colour vision; on white the yellow is darker
LIGHT = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222", "#9a8f00")
DARK = ("#56b4e9", "#ff8c42", "#2fc59b", "#e3a2c7", "#e69f00", "#8fd0f5", "#f2f2f2", "#f0e442")
DASHES = ("none", "7 3", "2 2", "9 3 2 3", "12 4", "1 3", "9 2 2 2 2 2", "4 1")
TONES = {  # names of tones, and their colours on light and on dark ground
    "ink": ("#1b1e23", "#e8eaed"),
    "dim": ("#59616b", "#a9b2bd"),
    "grid": ("#e3e6ea", "#31363d"),
    "rest": ("#a3abb5", "#66707b"),
    "band": ("#eef1f4", "#23282f"),
    "bad": ("#b3261e", "#ff8a80"),
    "ground": ("#ffffff", "#16181c"),
}


@dataclass(frozen=True, slots=True)
class Colors:
    """The colour, from 1 on, of each model that has one; the others are grey, which is 0."""

    numbers: Mapping[str, int] = field(default_factory=dict)
    models: Collection[str] = ()

    @classmethod
    def from_result(cls, result: Document) -> Colors:
        """Return colours of up to eight models; of more, of the best, the tied, the reference."""
        tables = result.tables
        table = tables.get("history") or next(iter(tables.values()), ())
        models = dict.fromkeys(row["model"] for row in table if row.get("model"))
        tied_models = leading_models(result, COLORED) if "models" in tables else []
        answer_models = [name for sentence in result.answer[:2] for name in sentence.models]
        reference = str(result.parameters.get("reference"))
        preferred_names = (*tied_models[:1], *answer_models[:1], reference, *tied_models)
        ranked_models = [name for name in preferred_names if name in models]
        ranked_models += models if len(models) <= COLORED else []
        colored_models = list(dict.fromkeys(ranked_models))[:COLORED]
        return cls({name: number for number, name in enumerate(colored_models, start=1)}, models)

    def color_of(self, name: str) -> int:
        """Return the number of a colour: of a model, or 0, which is grey; of other names 1.

        What is after something has another colour than what is before it.
        """
        state_color = SECOND_STATE.get(name, 1)
        return self.numbers.get(name, 0 if name in self.models or not name else state_color)


def color_rules(tones: int, scope: str = "") -> str:
    """Return the CSS of colours on light (0) or dark (1) ground; scope: a selector before each."""
    colors: Sequence[str] = (LIGHT, DARK)[tones]
    color_of_tone = {name: light_and_dark[tones] for name, light_and_dark in TONES.items()}
    rules = {
        "text": f"fill:{color_of_tone['ink']}",
        ".dim": f"fill:{color_of_tone['dim']}",
        ".grid": f"stroke:{color_of_tone['grid']}",
        ".axis": f"stroke:{color_of_tone['dim']}",
        ".band": f"fill:{color_of_tone['band']}",
        ".ground": f"fill:{color_of_tone['ground']}",
        ".limit": f"stroke:{color_of_tone['bad']}",
        ".over": f"stroke:{color_of_tone['ground']}",
        ".positive": f"fill:{color_of_tone['dim']}",
        ".negative": f"fill:{color_of_tone['rest']}",
        ".s0": f"stroke:{color_of_tone['rest']}",
        ".f0": f"fill:{color_of_tone['rest']}",
    }
    for number, color in enumerate(colors, start=1):
        rules |= {f".s{number}": f"stroke:{color}", f".f{number}": f"fill:{color}"}
    return "".join(f"{scope} {name}{{{rule}}}" for name, rule in rules.items())


@cache
def shape_rules(scope: str = "") -> str:
    """Return the CSS of fonts, widths of lines and dashes; scope: a selector before each."""
    text = (Path(__file__).parent / "picture.css").read_text(encoding="utf-8")
    text += "".join(
        f"@.d{number}{{stroke-dasharray:{dash_pattern}}}"
        for number, dash_pattern in enumerate(DASHES, start=1)
    )
    return text.replace("\n", "").replace("@", f"{scope} ")
