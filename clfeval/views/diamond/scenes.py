"""The elements of φ-δ diagrams: dots, curves, regions, lines, a population, and the key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import nlargest, nsmallest
from math import isclose

from clfeval.document import Document
from clfeval.document.cells import Cell, Estimate, Row, Rows, as_row, cell_value
from clfeval.formatting import printable
from clfeval.pages.chart import Point, row_point
from clfeval.pages.phidelta import CORNERS, isometric_lines
from clfeval.pages.table_parts import REASONS, format_cell, format_exact, sort_by_column
from clfeval.records import dataclass, replace
from clfeval.views.canvas import MARKERS, NAME, TIE, KeyEntry, shorten_name

REST = "•"  # everything beyond the markers
DOTTED = "·:,`~"
SHADED = "~,`"  # lines that are not to be taken for a count
MOST_POPULATIONS = 3
FEW = 30  # more features are drawn as a density
CURVES = 3  # more only cover each other
REGIONS = 3  # with more models the regions only cover each other
MAX_NAMES = 5  # names of what is not shown


@dataclass(frozen=True, slots=True)
class Diamond:
    """A share of positives, and the corners of its diamond: top, right, bottom, left."""

    prevalence: float = 0.5
    odds: str = "1:1"
    corners: tuple[Point, ...] = ((0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0))

    @property
    def balanced(self) -> bool:
        """True for one positive to one negative, where φ and δ themselves are drawn."""
        return isclose(self.prevalence, 0.5)

    @property
    def symbols(self) -> tuple[str, str]:
        """The symbols of the two axes."""
        return ("φ", "δ") if self.balanced else ("φ_b", "δ_b")

    def move(self, point: Point) -> Point:
        """Return where a point (φ, δ) lies in this population's diamond, (φ_b, δ_b)."""
        tilt = 1 - 2 * self.prevalence
        phi, delta = point
        return phi + tilt * (1 - delta), delta - tilt * phi


@dataclass(frozen=True, slots=True)
class Dot:
    """One dot of the diagram; brackets: the pair of them around its marker, or empty."""

    marker: str
    point: Point
    brackets: str = ""


@dataclass(frozen=True, slots=True)
class Contour:
    """A dotted line of equal values of a measure, in one or more branches."""

    char: str
    measure: str
    value: float
    branches: tuple[tuple[Point, ...], ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """The elements of one diagram, and its key."""

    population: Diamond
    dots: tuple[Dot, ...] = ()
    curves: tuple[tuple[str, tuple[Point, ...]], ...] = ()
    regions: tuple[tuple[Point, ...], ...] = ()
    lines: tuple[Contour, ...] = ()
    density: tuple[Point, ...] = ()
    headings: tuple[str, ...] = ()
    entries: tuple[KeyEntry, ...] = ()
    notes: tuple[str, ...] = ()


def scenes(result: Document) -> tuple[Iterator[Scene], int]:
    """Return a scene for each population, equal classes first, and the number left out."""
    corners: dict[tuple[float, str], dict[str, Point]] = {}
    for row in result.tables.get("corners", ()):
        point = row_point(row, "phi_b", "delta_b")
        prevalence = cell_value(row["prevalence"])
        if point and prevalence is not None and not isclose(prevalence, 0.5):
            corners.setdefault((prevalence, str(row["odds"])), {})[row["corner"]] = point
    others = [
        Diamond(prevalence, odds, tuple(block[name] for name in CORNERS))
        for (prevalence, odds), block in corners.items()
        if {*CORNERS} <= {*block}
    ]
    populations = [Diamond(), *others[:MOST_POPULATIONS]]
    left_out = len(others) - MOST_POPULATIONS
    if len(features_to_draw(result)) > FEW:
        return density_scenes(result, populations), left_out
    scene = feature_scene if result.parameters.get("mode") == "features" else model_scene
    return (scene(result, population) for population in populations), left_out


def features_to_draw(result: Document) -> Rows:
    """Return the features to draw: the selected ones, else all."""
    return result.tables.get("selected") or result.tables.get("features", ())


def isometric_contours(
    result: Document, population: Diamond, chars: str = DOTTED
) -> tuple[Contour, ...]:
    """Return the lines of equal value for a population, dotted differently by measure."""
    lines = [*isometric_lines(result, population.odds, "" if population.balanced else "_b")]
    measures = list(dict.fromkeys(measure for measure, _, _ in lines))
    return tuple(
        Contour(chars[measures.index(name) % len(chars)], name.replace("_", " "), value, branches)
        for name, value, branches in lines
    )


def marker_of_index(index: int) -> str:
    """Return the marker of the i-th model or feature."""
    return MARKERS[index] if index < len(MARKERS) else REST


def defined_point(phi: Cell, delta: Cell) -> Point | None:
    """Return a point when both its coordinates are defined."""
    x = cell_value(phi)
    y = cell_value(delta)
    return None if x is None or y is None else (x, y)


def point_in_population(population: Diamond, phi: Cell, delta: Cell) -> Point | None:
    """Return where a point lies in a population's diamond, if it is defined."""
    point = defined_point(phi, delta)
    return population.move(point) if point else None


KeyedPoint = tuple[KeyEntry, Cell, Cell]  # a line of the key, and its φ and δ


def model_scene(result: Document, population: Diamond) -> Scene:
    """Return the diagram of the models of the whole table, of their curves or of their runs."""
    if result.tables.get("runs"):
        return _run_scene(result, population)
    rows = sort_by_column(result.unsliced_rows("models"), "delta")
    markers = _model_markers(rows)
    best_points = {row["model"]: row for row in result.unsliced_rows("curves")}
    models_with_curves = _models_with_curves(result)
    positions = _model_positions(result, rows, population)
    key: list[KeyedPoint] = []
    for row in rows:
        model = row["model"]
        further = _threshold_numbers(row, best_points.get(model, as_row({}))) if best_points else ()
        key.append(_keyed_point(markers[model], model, positions[model], further))
    headings: tuple[str, ...] = population.symbols
    if best_points:
        headings = (*headings, "threshold", "largest δ", "at")
    # regions would hide curves, and each other
    with_regions = not best_points and len(rows) <= REGIONS
    regions = _region_corners(rows, population) if with_regions else ()
    scene = Scene(
        population,
        (
            *_model_dots(rows, markers, positions, set(models_with_curves), set(best_points)),
            *_best_dots(best_points, markers, population),
        ),
        _curve_points(result, models_with_curves, markers, population),
        regions,
        isometric_contours(result, population, DOTTED[1:] if regions else DOTTED),
        notes=_curve_notes(markers, len(best_points), models_with_curves),
    )
    return add_key(scene, "model", headings, key)


def _run_scene(result: Document, population: Diamond) -> Scene:
    """Return the diagram of the runs of each model and of their means."""
    runs = result.tables["runs"]
    rows = sort_by_column(result.tables.get("run_spread", ()), "delta_mean")
    markers = _model_markers(rows)
    key: list[KeyedPoint] = []
    means: list[Dot] = []
    for row in rows:
        model = row["model"]
        mean = row["phi_mean"], row["delta_mean"]
        point = point_in_population(population, *mean)
        key.append(_keyed_point(markers[model], model, point or mean, (format_cell(row["runs"]),)))
        if point:
            means.append(Dot(markers[model], point, "[]"))
    dots = _run_dots(runs, markers, population)
    first = next(iter(markers.values()), MARKERS[0])
    notes = [f"{first}: one run; [{first}]: mean of the model's runs"]
    if undefined := len(runs) - len(dots):
        notes.append(f"{undefined} run{'s' * (undefined > 1)} not shown: φ or δ is undefined")
    scene = Scene(
        population,
        (*dots, *means),
        lines=isometric_contours(result, population),
        notes=tuple(notes),
    )
    headings = (*(f"mean {symbol}" for symbol in population.symbols), "runs")
    return add_key(scene, "model", headings, key)


def _run_dots(runs: Sequence[Row], markers: Mapping[str, str], population: Diamond) -> list[Dot]:
    """Return a dot for each run with defined φ and δ."""
    dots = []
    for row in runs:
        if point := point_in_population(population, row["phi"], row["delta"]):
            dots.append(Dot(markers.get(row["model"], REST), point))
    return dots


def _model_markers(rows: Sequence[Row]) -> dict[str, str]:
    """Return the marker of each model, by the order of the rows."""
    return {row["model"]: marker_of_index(index) for index, row in enumerate(rows)}


def _keyed_point(
    marker: str, name: str, position: tuple[Cell, Cell], further: Sequence[str]
) -> KeyedPoint:
    """Return a point with its line of the key: φ, δ, and further numbers."""
    phi, delta = position
    return KeyEntry(marker, name, (format_cell(phi), format_cell(delta), *further)), phi, delta


def _model_positions(
    result: Document, rows: Sequence[Row], population: Diamond
) -> dict[str, tuple[Cell, Cell]]:
    """Return φ and δ of each model in a population, as the table of populations has them."""
    positions: dict[str, tuple[Cell, Cell]] = {}
    for row in rows:
        cells = row["phi"], row["delta"]
        positions[row["model"]] = point_in_population(population, *cells) or cells
    for row in () if population.balanced else result.unsliced_rows("populations"):
        model = row["model"]
        prevalence = cell_value(row["prevalence"]) or 0.0
        if model in positions and isclose(prevalence, population.prevalence):
            positions[model] = row["phi_b"], row["delta_b"]
    return positions


def _threshold_numbers(row: Row, best_point: Row) -> tuple[str, ...]:
    """Return the threshold of a model, and the largest δ of its curve with its threshold."""
    return (
        format_exact(row["threshold"]),
        format_cell(best_point.get("best_delta")),
        format_exact(best_point.get("best_threshold")),
    )


def _model_dots(
    rows: Sequence[Row],
    markers: Mapping[str, str],
    positions: Mapping[str, tuple[Cell, Cell]],
    with_curve_drawn: Collection[str],
    with_curve: Collection[str],
) -> Iterator[Dot]:
    """Yield a dot for each model; of those with curves only where the curve is drawn."""
    for row in rows:
        model = row["model"]
        point = defined_point(*positions[model])
        if point and model not in with_curve:
            yield Dot(markers[model], point)
        elif point and model in with_curve_drawn and row["threshold"] is not None:
            yield Dot(markers[model], point, "()")


def _best_dots(
    best_points: Mapping[str, Row], markers: Mapping[str, str], population: Diamond
) -> Iterator[Dot]:
    """Yield a dot at the largest δ of each curve."""
    for model, row in best_points.items():
        if point := point_in_population(population, row["best_phi"], row["best_delta"]):
            yield Dot(markers.get(model, REST), point, "[]")


def _curve_notes(
    markers: Mapping[str, str], number_of_curves: int, models_with_curves: Sequence[str]
) -> tuple[str, ...]:
    """Return what the brackets mean, and which curves are drawn if not all are."""
    if not number_of_curves:
        return ()
    first = next(iter(markers.values()), MARKERS[0])
    brackets = f"[{first}]: largest δ of a curve; ({first}): threshold used"
    if number_of_curves <= len(models_with_curves):
        return (brackets,)
    names = " and ".join(
        f"{markers[model]}{TIE}{shorten_name(printable(model), NAME)}"
        for model in models_with_curves
    )
    reference = ", the reference" if len(models_with_curves) > 1 else ""
    return brackets, f"curves and thresholds only of {names}: largest Gini{reference}"


def feature_scene(result: Document, population: Diamond) -> Scene:
    """Return the diagram of a few features."""
    key: list[KeyedPoint] = []
    dots = []
    for index, row in enumerate(features_to_draw(result)):
        marker = marker_of_index(index)
        position = row["phi"], row["delta"]
        point = point_in_population(population, *position)
        role = (format_cell(row["role"]),)
        key.append(_keyed_point(marker, row["feature"], point or position, role))
        if point:
            dots.append(Dot(marker, point))
    scene = Scene(population, tuple(dots), lines=isometric_contours(result, population))
    return add_key(scene, "feature", (*population.symbols, "role"), key)


def add_key(scene: Scene, noun: str, heads: Sequence[str], points: Sequence[KeyedPoint]) -> Scene:
    """Return the scene with a key of the markers, and notes on what is not drawn."""
    defined = [line for line, phi, delta in points if defined_point(phi, delta)]
    entries = [line for line in defined if line.marker != REST]
    notes = [*scene.notes]
    if unmarked := len(defined) - len(entries):
        notes.append(f"{REST} {unmarked} more {noun}{'s' * (unmarked > 1)}")
    for reason, names in _undefined_names(points).items():
        further = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
        notes.append(f"not shown, {reason}: {', '.join(names[:MAX_NAMES])}{further}")
    return replace(scene, headings=(noun, *heads), entries=tuple(entries), notes=tuple(notes))


def _undefined_names(points: Sequence[KeyedPoint]) -> dict[str, list[str]]:
    """Return the names of what has no φ or no δ, by the reason."""
    names_by_reason: dict[str, list[str]] = {}
    for line, phi, delta in points:
        if not defined_point(phi, delta):
            name = shorten_name(printable(line.name), NAME).replace(" ", TIE)
            estimates = [cell for cell in (phi, delta) if isinstance(cell, Estimate)]
            codes = (cell.reason for cell in estimates if cell.value is None and cell.reason)
            code = next(codes, "")
            reason = REASONS.get(code, code.replace("_", " ")) or "φ or δ is undefined"
            names_by_reason.setdefault(reason, []).append(f"'{name}'")
    return names_by_reason


def _models_with_curves(result: Document) -> list[str]:
    """Return the models whose curves are drawn: all of a few, else the best and the reference."""
    names = [row["model"] for row in sort_by_column(result.unsliced_rows("curves"), "gini")]
    if len(names) <= CURVES:
        return names
    reference = result.parameters.get("reference")
    return [names[0], *([reference] if reference in names[1:] else [])]


def _curve_points(
    result: Document, models: Sequence[str], markers: Mapping[str, str], population: Diamond
) -> tuple[tuple[str, tuple[Point, ...]], ...]:
    """Return the points of the curves of some models, each with the marker of its model."""
    points: dict[str, list[Point]] = {}
    for row in result.unsliced_rows("curve"):
        point = point_in_population(population, row["phi"], row["delta"])
        if point and row["model"] in models:
            points.setdefault(row["model"], []).append(point)
    return tuple((markers.get(name, REST), tuple(curve)) for name, curve in points.items())


def _region_corners(rows: Sequence[Row], population: Diamond) -> tuple[tuple[Point, ...], ...]:
    """Return the corners of each joint region: a rectangle standing on its corner."""
    regions = []
    for row in rows:
        cells = row.get("region_sensitivity"), row.get("region_specificity")
        rates = [cell for cell in cells if isinstance(cell, Estimate)]
        sides = [(r.low, r.high) for r in rates if r.low is not None and r.high is not None]
        if len(sides) == 2:
            (a, b), (c, d) = sides
            corners = ((b, d), (b, c), (a, c), (a, d))
            regions.append(tuple(population.move((x - y, x + y - 1)) for x, y in corners))
    return tuple(regions)


@dataclass(frozen=True, slots=True)
class MarkedFeature:
    """A feature that is named among many, and why: its φ or δ is extreme."""

    marker: str
    name: str
    reason: str
    point: Point


def density_scenes(result: Document, populations: Sequence[Diamond]) -> Iterator[Scene]:
    """Yield the diagrams of many features, the most extreme ones marked and named."""
    rows = features_to_draw(result)
    defined = [(row, point) for row in rows if (point := row_point(row, "phi", "delta"))]
    points = [point for _, point in defined]
    marked = [
        MarkedFeature(marker, defined[index][0]["feature"], reason, points[index])
        for index, (marker, reason) in _extreme_points(points).items()
    ]
    notes = _density_notes([row for row, _ in defined], len(rows))
    for population in populations:
        dots = [Dot(feature.marker, population.move(feature.point)) for feature in marked]
        yield Scene(
            population,
            tuple(dots),
            lines=isometric_contours(result, population, SHADED),
            density=tuple(map(population.move, points)),
            headings=("feature", *population.symbols, ""),
            entries=tuple(
                KeyEntry(dot.marker, feature.name, (*map(format_cell, dot.point), feature.reason))
                for feature, dot in zip(marked, dots, strict=True)
            ),
            notes=notes,
        )


def _extreme_points(points: Sequence[Point]) -> dict[int, tuple[str, str]]:
    """Return the markers of the most extreme points, and why they are, by the index of a point."""
    markers_by_index: dict[int, tuple[str, str]] = {}
    for markers, reason, find_extremes, axis in (
        ("12345", "highest δ", nlargest, 1),
        ("abcde", "lowest δ", nsmallest, 1),
        ("ABC", "highest φ", nlargest, 0),
    ):
        values = [point[axis] for point in points]
        indices = find_extremes(len(markers), range(len(points)), values.__getitem__)
        for marker, index in zip(markers, indices, strict=False):
            markers_by_index.setdefault(index, (marker, reason))
    return markers_by_index


def _density_notes(defined: Sequence[Row], number_of_features: int) -> tuple[str, ...]:
    """Return how many features are drawn, by their roles, and how many are not."""
    roles = Counter(str(row["role"]) for row in defined if row["role"])
    counts = ", ".join(f"{count:,} {role}" for role, count in roles.most_common())
    note = f"{len(defined):,} features{f': {counts}' if counts else ''}"
    if undefined := number_of_features - len(defined):
        return note, f"{undefined:,} more not shown: φ or δ is undefined"
    return (note,)
