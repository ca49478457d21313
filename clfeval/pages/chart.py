"""Charts as data: the same object is drawn with letters on a terminal and as SVG in files."""

from __future__ import annotations

from typing import Literal

from clfeval.document.cells import Row, cell_value
from clfeval.records import dataclass

MOST_NAMED = 8  # curves of a chart: of more, only the first few have names
FEW_NAMED_CURVES = 3  # these
Point = tuple[float, float]
Span = tuple[float | None, float | None]
Rank = Literal["asked", "main", "detail"]  # by an option; needed by every reader; the rest


def row_point(row: Row, x: str, y: str) -> Point | None:
    """Return the point of two columns of a row when both are defined."""
    x_value = cell_value(row.get(x))
    y_value = cell_value(row.get(y))
    return None if x_value is None or y_value is None else (x_value, y_value)


@dataclass(frozen=True, slots=True)
class Axis:
    """Title, range (by default that of the data) and scale of an axis.

    log: numbers are logarithms to the base 10; odds: the same, written as positives:negatives.
    names: of both ends, for odds; of the places 1, 2, ... of an axis of categories.
    """

    label: str = ""
    scale: Literal["linear", "log", "odds"] = "linear"
    range: Point | None = None
    names: tuple[str, ...] = ("", "")


# how a series is drawn; `area`: each part is the outline of an area, `ellipse`: two corners
Shape = Literal["line", "dots", "bars", "area", "ellipse"]


@dataclass(frozen=True, slots=True)
class Series:
    """A named series of a chart: values, or points in parts; letter: of a reference line.

    spans: of each value or point of the first part, the confidence limits of its height, or the
    ends of a bar. sign: of a row of intervals. In pictures a model has the colour of its name.
    """

    name: str
    parts: tuple[tuple[Point, ...], ...] = ()
    values: tuple[float | None, ...] = ()
    letter: str = ""
    words: str = ""  # after the name
    shape: Shape = "line"
    spans: tuple[Span, ...] = ()
    sign: Literal["", "best", "equal"] = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A letter at a point, or at the top of a vertical dotted line if `y` is None."""

    letter: str
    x: float
    y: float | None = None


@dataclass(frozen=True, slots=True)
class Guide:
    """A named straight line of a picture, vertical at `x` or horizontal at `y`."""

    text: str
    x: float | None = None
    y: float | None = None
    limit: bool = False  # of a gate
    rows: tuple[str, ...] = ()  # of intervals, where it is; else at all


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence below a chart; `{}` is replaced by names, which a narrow screen shortens."""

    text: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as data, independent of its format.

    bars: a value for each series. lines: points over x, the best curve first. points: a letter for
    each series. cells: a matrix of values, a series a row. profile, radar: values by their `names`.
    intervals: a value with its limits for each series, from the top. name: requests it; charts of
    one name are panels of one picture. Pictures add what follows `rank`: the finding in words,
    further series behind the others, straight lines, bars below the x-axis, equal units of x and y.
    """

    kind: Literal["bars", "lines", "points", "cells", "profile", "radar", "intervals"]
    title: str
    x: Axis = Axis()
    y: Axis = Axis()
    series: tuple[Series, ...] = ()
    marks: tuple[Mark, ...] = ()
    key: tuple[Note, ...] = ()
    names: tuple[str, ...] = ()  # of the values of a series, as many as there are or more
    weights: tuple[float, ...] = ()  # of the values of a series
    left: int = 0  # number of items without a series
    name: str = ""
    rank: Rank = "detail"
    finding: str = ""
    extra: tuple[Series, ...] = ()
    guides: tuple[Guide, ...] = ()
    below: tuple[Series, ...] = ()
    square: bool = False
    moving: tuple[str, str, str] | None = None  # by sliders: what x and y are, and a model
