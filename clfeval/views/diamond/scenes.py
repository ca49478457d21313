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
from clfeval.pages.phidelta import isometric_lines
from clfeval.pages.phidelta.tables import CORNERS
from clfeval.pages.table_parts import REASONS, format_cell, format_exact, sort_by_column
from clfeval.records import dataclass, replace
from clfeval.views.canvas import MARKERS, NAME, TIE, KeyEntry, shorten_name

REST_MARKER = "•"  # everything beyond the markers
LINE_CHARS = "·:,`~"
LINE_CHARS_OVER_SHADES = "~,`"  # lines that are not to be taken for a count
MAX_POPULATIONS = 3
MAX_DOTS = 30  # more features are drawn as a density
MAX_CURVES = 3  # more only cover each other
MAX_REGIONS = 3  # with more models the regions only cover each other
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
    corners_by_population: dict[tuple[float, str], dict[str, Point]] = {}
    for row in result.tables.get("corners", ()):
        point = row_point(row, "phi_b", "delta_b")
        prevalence = cell_value(row["prevalence"])
        if point and prevalence is not None and not isclose(prevalence, 0.5):
            corners_by_population.setdefault((prevalence, str(row["odds"])), {})[row["corner"]] = (
                point
            )
    other_populations = [
        Diamond(prevalence, odds, tuple(point_of_corner[name] for name in CORNERS))
        for (prevalence, odds), point_of_corner in corners_by_population.items()
        if {*CORNERS} <= {*point_of_corner}
    ]
    populations = [Diamond(), *other_populations[:MAX_POPULATIONS]]
    omitted_count = len(other_populations) - MAX_POPULATIONS
    if len(features_to_draw(result)) > MAX_DOTS:
        return density_scenes(result, populations), omitted_count
    make_scene = feature_scene if result.parameters.get("mode") == "features" else model_scene
    return (make_scene(result, population) for population in populations), omitted_count


def features_to_draw(result: Document) -> Rows:
    """Return the features to draw: the selected ones, else all."""
    return result.tables.get("selected") or result.tables.get("features", ())


def isometric_contours(
    result: Document, population: Diamond, chars: str = LINE_CHARS
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
    return MARKERS[index] if index < len(MARKERS) else REST_MARKER


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
    marker_of_model = _model_markers(rows)
    best_row_of_model = {row["model"]: row for row in result.unsliced_rows("curves")}
    models_with_curves = _models_with_curves(result)
    position_of_model = _model_positions(result, rows, population)
    key_points: list[KeyedPoint] = []
    for row in rows:
        model = row["model"]
        further_numbers = (
            _threshold_numbers(row, best_row_of_model.get(model, as_row({})))
            if best_row_of_model
            else ()
        )
        key_points.append(
            _keyed_point(marker_of_model[model], model, position_of_model[model], further_numbers)
        )
    key_headings: tuple[str, ...] = population.symbols
    if best_row_of_model:
        key_headings = (*key_headings, "threshold", "largest δ", "at")
    # regions would hide curves, and each other
    draws_regions = not best_row_of_model and len(rows) <= MAX_REGIONS
    regions = _region_corners(rows, population) if draws_regions else ()
    scene = Scene(
        population,
        (
            *_model_dots(
                rows,
                marker_of_model,
                position_of_model,
                set(models_with_curves),
                set(best_row_of_model),
            ),
            *_best_dots(best_row_of_model, marker_of_model, population),
        ),
        curves=_curve_points(result, models_with_curves, marker_of_model, population),
        regions=regions,
        lines=isometric_contours(result, population, LINE_CHARS[1:] if regions else LINE_CHARS),
        notes=_curve_notes(marker_of_model, len(best_row_of_model), models_with_curves),
    )
    return add_key(scene, "model", key_headings, key_points)


def _run_scene(result: Document, population: Diamond) -> Scene:
    """Return the diagram of the runs of each model and of their means."""
    runs = result.tables["runs"]
    rows = sort_by_column(result.tables.get("run_spread", ()), "delta_mean")
    marker_of_model = _model_markers(rows)
    key_points: list[KeyedPoint] = []
    mean_dots: list[Dot] = []
    for row in rows:
        model = row["model"]
        mean = row["phi_mean"], row["delta_mean"]
        point = point_in_population(population, *mean)
        key_points.append(
            _keyed_point(marker_of_model[model], model, point or mean, (format_cell(row["runs"]),))
        )
        if point:
            mean_dots.append(Dot(marker_of_model[model], point, "[]"))
    dots = _run_dots(runs, marker_of_model, population)
    first_marker = next(iter(marker_of_model.values()), MARKERS[0])
    notes = [f"{first_marker}: one run; [{first_marker}]: mean of the model's runs"]
    if undefined_count := len(runs) - len(dots):
        notes.append(
            f"{undefined_count} run{'s' if undefined_count > 1 else ''} not shown: "
            "φ or δ is undefined"
        )
    scene = Scene(
        population,
        (*dots, *mean_dots),
        lines=isometric_contours(result, population),
        notes=tuple(notes),
    )
    headings = (*(f"mean {symbol}" for symbol in population.symbols), "runs")
    return add_key(scene, "model", headings, key_points)


def _run_dots(
    runs: Sequence[Row], marker_of_model: Mapping[str, str], population: Diamond
) -> list[Dot]:
    """Return a dot for each run with defined φ and δ."""
    dots = []
    for row in runs:
        if point := point_in_population(population, row["phi"], row["delta"]):
            dots.append(Dot(marker_of_model.get(row["model"], REST_MARKER), point))
    return dots


def _model_markers(rows: Sequence[Row]) -> dict[str, str]:
    """Return the marker of each model, by the order of the rows."""
    return {row["model"]: marker_of_index(index) for index, row in enumerate(rows)}


def _keyed_point(
    marker: str, name: str, position: tuple[Cell, Cell], further_numbers: Sequence[str]
) -> KeyedPoint:
    """Return a point with its line of the key: φ, δ, and further numbers."""
    phi, delta = position
    return (
        KeyEntry(marker, name, (format_cell(phi), format_cell(delta), *further_numbers)),
        phi,
        delta,
    )


def _model_positions(
    result: Document, rows: Sequence[Row], population: Diamond
) -> dict[str, tuple[Cell, Cell]]:
    """Return φ and δ of each model in a population, as the table of populations has them."""
    position_of_model: dict[str, tuple[Cell, Cell]] = {}
    for row in rows:
        cells = row["phi"], row["delta"]
        position_of_model[row["model"]] = point_in_population(population, *cells) or cells
    for row in () if population.balanced else result.unsliced_rows("populations"):
        model = row["model"]
        prevalence = cell_value(row["prevalence"]) or 0.0
        if model in position_of_model and isclose(prevalence, population.prevalence):
            position_of_model[model] = row["phi_b"], row["delta_b"]
    return position_of_model


def _threshold_numbers(row: Row, best_point: Row) -> tuple[str, ...]:
    """Return the threshold of a model, and the largest δ of its curve with its threshold."""
    return (
        format_exact(row["threshold"]),
        format_cell(best_point.get("best_delta")),
        format_exact(best_point.get("best_threshold")),
    )


def _model_dots(
    rows: Sequence[Row],
    marker_of_model: Mapping[str, str],
    position_of_model: Mapping[str, tuple[Cell, Cell]],
    models_with_drawn_curve: Collection[str],
    models_with_curve: Collection[str],
) -> Iterator[Dot]:
    """Yield a dot for each model; of those with curves only where the curve is drawn."""
    for row in rows:
        model = row["model"]
        point = defined_point(*position_of_model[model])
        if point and model not in models_with_curve:
            yield Dot(marker_of_model[model], point)
        elif point and model in models_with_drawn_curve and row["threshold"] is not None:
            yield Dot(marker_of_model[model], point, "()")


def _best_dots(
    best_row_of_model: Mapping[str, Row], marker_of_model: Mapping[str, str], population: Diamond
) -> Iterator[Dot]:
    """Yield a dot at the largest δ of each curve."""
    for model, row in best_row_of_model.items():
        if point := point_in_population(population, row["best_phi"], row["best_delta"]):
            yield Dot(marker_of_model.get(model, REST_MARKER), point, "[]")


def _curve_notes(
    marker_of_model: Mapping[str, str], curve_count: int, models_with_curves: Sequence[str]
) -> tuple[str, ...]:
    """Return what the brackets mean, and which curves are drawn if not all are."""
    if not curve_count:
        return ()
    first_marker = next(iter(marker_of_model.values()), MARKERS[0])
    bracket_note = f"[{first_marker}]: largest δ of a curve; ({first_marker}): threshold used"
    if curve_count <= len(models_with_curves):
        return (bracket_note,)
    names_text = " and ".join(
        f"{marker_of_model[model]}{TIE}{shorten_name(printable(model), NAME)}"
        for model in models_with_curves
    )
    reference_clause = ", the reference" if len(models_with_curves) > 1 else ""
    return (
        bracket_note,
        f"curves and thresholds only of {names_text}: largest Gini{reference_clause}",
    )


def feature_scene(result: Document, population: Diamond) -> Scene:
    """Return the diagram of a few features."""
    key_points: list[KeyedPoint] = []
    dots = []
    for index, row in enumerate(features_to_draw(result)):
        marker = marker_of_index(index)
        position = row["phi"], row["delta"]
        point = point_in_population(population, *position)
        role_numbers = (format_cell(row["role"]),)
        key_points.append(_keyed_point(marker, row["feature"], point or position, role_numbers))
        if point:
            dots.append(Dot(marker, point))
    scene = Scene(population, tuple(dots), lines=isometric_contours(result, population))
    return add_key(scene, "feature", (*population.symbols, "role"), key_points)


def add_key(
    scene: Scene, noun: str, number_headings: Sequence[str], key_points: Sequence[KeyedPoint]
) -> Scene:
    """Return the scene with a key of the markers, and notes on what is not drawn."""
    defined_entries = [
        key_entry for key_entry, phi, delta in key_points if defined_point(phi, delta)
    ]
    entries = [key_entry for key_entry in defined_entries if key_entry.marker != REST_MARKER]
    notes = [*scene.notes]
    if unmarked_count := len(defined_entries) - len(entries):
        notes.append(
            f"{REST_MARKER} {unmarked_count} more {noun}{'s' if unmarked_count > 1 else ''}"
        )
    for reason, names in _undefined_names(key_points).items():
        omission_clause = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
        notes.append(f"not shown, {reason}: {', '.join(names[:MAX_NAMES])}{omission_clause}")
    return replace(
        scene, headings=(noun, *number_headings), entries=tuple(entries), notes=tuple(notes)
    )


def _undefined_names(key_points: Sequence[KeyedPoint]) -> dict[str, list[str]]:
    """Return the names of what has no φ or no δ, by the reason."""
    names_by_reason: dict[str, list[str]] = {}
    for key_entry, phi, delta in key_points:
        if not defined_point(phi, delta):
            name = shorten_name(printable(key_entry.name), NAME).replace(" ", TIE)
            estimates = [cell for cell in (phi, delta) if isinstance(cell, Estimate)]
            reason_codes = (cell.reason for cell in estimates if cell.value is None and cell.reason)
            reason_code = next(reason_codes, "")
            reason = (
                REASONS.get(reason_code, reason_code.replace("_", " ")) or "φ or δ is undefined"
            )
            names_by_reason.setdefault(reason, []).append(f"'{name}'")
    return names_by_reason


def _models_with_curves(result: Document) -> list[str]:
    """Return the models whose curves are drawn: all of a few, else the best and the reference."""
    ranked_models = [row["model"] for row in sort_by_column(result.unsliced_rows("curves"), "gini")]
    if len(ranked_models) <= MAX_CURVES:
        return ranked_models
    reference = result.parameters.get("reference")
    return [ranked_models[0], *([reference] if reference in ranked_models[1:] else [])]


def _curve_points(
    result: Document, models: Sequence[str], marker_of_model: Mapping[str, str], population: Diamond
) -> tuple[tuple[str, tuple[Point, ...]], ...]:
    """Return the points of the curves of some models, each with the marker of its model."""
    points_of_model: dict[str, list[Point]] = {}
    for row in result.unsliced_rows("curve"):
        point = point_in_population(population, row["phi"], row["delta"])
        if point and row["model"] in models:
            points_of_model.setdefault(row["model"], []).append(point)
    return tuple(
        (marker_of_model.get(name, REST_MARKER), tuple(curve_points))
        for name, curve_points in points_of_model.items()
    )


def _region_corners(rows: Sequence[Row], population: Diamond) -> tuple[tuple[Point, ...], ...]:
    """Return the corners of each joint region: a rectangle standing on its corner."""
    regions = []
    for row in rows:
        cells = row.get("region_sensitivity"), row.get("region_specificity")
        rates = [cell for cell in cells if isinstance(cell, Estimate)]
        limits_of_rates = [
            (rate.low, rate.high)
            for rate in rates
            if rate.low is not None and rate.high is not None
        ]
        if len(limits_of_rates) == 2:
            (low_sensitivity, high_sensitivity), (low_specificity, high_specificity) = (
                limits_of_rates
            )
            corners = (
                (high_sensitivity, high_specificity),
                (high_sensitivity, low_specificity),
                (low_sensitivity, low_specificity),
                (low_sensitivity, high_specificity),
            )
            regions.append(
                tuple(
                    population.move((sensitivity - specificity, sensitivity + specificity - 1))
                    for sensitivity, specificity in corners
                )
            )
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
    defined_rows = [(row, point) for row in rows if (point := row_point(row, "phi", "delta"))]
    points = [point for _, point in defined_rows]
    marked_features = [
        MarkedFeature(marker, defined_rows[index][0]["feature"], reason, points[index])
        for index, (marker, reason) in _extreme_points(points).items()
    ]
    notes = _density_notes([row for row, _ in defined_rows], len(rows))
    for population in populations:
        dots = [Dot(feature.marker, population.move(feature.point)) for feature in marked_features]
        yield Scene(
            population,
            tuple(dots),
            lines=isometric_contours(result, population, LINE_CHARS_OVER_SHADES),
            density=tuple(map(population.move, points)),
            headings=("feature", *population.symbols, ""),
            entries=tuple(
                KeyEntry(dot.marker, feature.name, (*map(format_cell, dot.point), feature.reason))
                for feature, dot in zip(marked_features, dots, strict=True)
            ),
            notes=notes,
        )


def _extreme_points(points: Sequence[Point]) -> dict[int, tuple[str, str]]:
    """Return the markers of the most extreme points, and why they are, by the index of a point."""
    mark_by_index: dict[int, tuple[str, str]] = {}
    for markers, reason, find_indices, axis in (
        ("12345", "highest δ", nlargest, 1),
        ("abcde", "lowest δ", nsmallest, 1),
        ("ABC", "highest φ", nlargest, 0),
    ):
        coordinates = [point[axis] for point in points]
        indices = find_indices(len(markers), range(len(points)), coordinates.__getitem__)
        for marker, index in zip(markers, indices, strict=False):
            mark_by_index.setdefault(index, (marker, reason))
    return mark_by_index


def _density_notes(drawn_rows: Sequence[Row], feature_count: int) -> tuple[str, ...]:
    """Return how many features are drawn, by their roles, and how many are not."""
    roles = Counter(str(row["role"]) for row in drawn_rows if row["role"])
    counts = ", ".join(f"{count:,} {role}" for role, count in roles.most_common())
    note = f"{len(drawn_rows):,} features{f': {counts}' if counts else ''}"
    if undefined_count := feature_count - len(drawn_rows):
        return note, f"{undefined_count:,} more not shown: φ or δ is undefined"
    return (note,)
