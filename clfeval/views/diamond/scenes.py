"""The elements of φ-δ diagrams: dots, curves, regions, lines, a population, and the key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import nlargest, nsmallest
from math import isclose

from clfeval.document import Cell, Document, Estimate, Row, Rows, cell_value
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

    def move(self, at: Point) -> Point:
        """Return where a point (φ, δ) lies in this population's diamond, (φ_b, δ_b)."""
        tilt = 1 - 2 * self.prevalence
        return at[0] + tilt * (1 - at[1]), at[1] - tilt * at[0]


@dataclass(frozen=True, slots=True)
class Dot:
    """One dot of the diagram; `around` is a pair of brackets around the marker, or empty."""

    marker: str
    at: Point
    around: str = ""


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
        at, prevalence = row_point(row, "phi_b", "delta_b"), cell_value(row["prevalence"])
        if at and prevalence is not None and not isclose(prevalence, 0.5):
            corners.setdefault((prevalence, str(row["odds"])), {})[str(row["corner"])] = at
    others = [
        Diamond(prevalence, odds, tuple(block[name] for name in CORNERS))
        for (prevalence, odds), block in corners.items()
        if {*CORNERS} <= {*block}
    ]
    shown, left_out = [Diamond(), *others[:MOST_POPULATIONS]], len(others) - MOST_POPULATIONS
    if len(features_to_draw(result)) > FEW:
        return density_scenes(result, shown), left_out
    scene = feature_scene if result.parameters.get("mode") == "features" else model_scene
    return (scene(result, population) for population in shown), left_out


def features_to_draw(result: Document) -> Rows:
    """Return the features to draw: the selected ones, else all."""
    return result.tables.get("selected") or result.tables.get("features", ())


def isometric_contours(
    result: Document, population: Diamond, chars: str = DOTTED
) -> tuple[Contour, ...]:
    """Return the lines of equal value for a population, dotted differently by measure."""
    found = [*isometric_lines(result, population.odds, "" if population.balanced else "_b")]
    measures = list(dict.fromkeys(measure for measure, _, _ in found))
    return tuple(
        Contour(chars[measures.index(name) % len(chars)], name.replace("_", " "), value, branches)
        for name, value, branches in found
    )


def marker_of_index(index: int) -> str:
    """Return the marker of the i-th model or feature."""
    return MARKERS[index] if index < len(MARKERS) else REST


def defined_point(phi: Cell, delta: Cell) -> Point | None:
    """Return a point when both its coordinates are defined."""
    x, y = cell_value(phi), cell_value(delta)
    return None if x is None or y is None else (x, y)


def point_in_population(population: Diamond, phi: Cell, delta: Cell) -> Point | None:
    """Return where a point lies in a population's diamond, if it is defined."""
    at = defined_point(phi, delta)
    return population.move(at) if at else None


KeyedPoint = tuple[KeyEntry, Cell, Cell]  # what the key says of a thing, and its φ and δ


def model_scene(result: Document, population: Diamond) -> Scene:
    """Return the diagram of the models of the whole table, of their curves or of their runs."""
    runs = result.tables.get("runs", ())
    rows = sort_by_column(
        result.tables.get("run_spread", ()) if runs else result.unsliced_rows("models"),
        "delta_mean" if runs else "delta",
    )
    markers = {str(row["model"]): marker_of_index(i) for i, row in enumerate(rows)}
    best = {} if runs else {str(row["model"]): row for row in result.unsliced_rows("curves")}
    drawn = _models_with_curves(result)
    known = {  # as the table of populations has them
        str(row["model"]): (row["phi_b"], row["delta_b"])
        for row in (() if runs or population.balanced else result.unsliced_rows("populations"))
        if isclose(cell_value(row["prevalence"]) or 0.0, population.prevalence)
    }
    mean = "_mean" if runs else ""
    placed, dots = [], []
    for row, (name, char) in zip(rows, markers.items(), strict=True):
        cells = row[f"phi{mean}"], row[f"delta{mean}"]
        phi, delta = known.get(name) or point_in_population(population, *cells) or cells
        top = best.get(name, {})
        more = [format_cell(row["runs"])] if runs else []
        if best:
            more = [format_exact(row["threshold"]), format_cell(top.get("best_delta"))]
            more.append(format_exact(top.get("best_threshold")))
        entry = KeyEntry(char, name, (format_cell(phi), format_cell(delta), *more))
        placed.append((entry, phi, delta))
        at = defined_point(phi, delta)
        if at and not (top and (row["threshold"] is None or name not in drawn)):
            dots.append(Dot(char, at, "[]" if runs else "()" if top else ""))
    for name, row in best.items():
        at = point_in_population(population, row["best_phi"], row["best_delta"])
        dots += [Dot(markers.get(name, REST), at, "[]")] if at else []
    run_dots = [
        Dot(markers.get(str(row["model"]), REST), at)
        for row in runs
        if (at := point_in_population(population, row["phi"], row["delta"]))
    ]
    regions = () if runs or best or len(rows) > REGIONS else _region_corners(rows, population)
    first, lost = next(iter(markers.values()), MARKERS[0]), len(runs) - len(run_dots)
    heads: tuple[str, ...] = population.symbols
    notes = []
    if runs:
        heads = (*(f"mean {symbol}" for symbol in heads), "runs")
        notes.append(f"{first}: one run; [{first}]: mean of the model's runs")
    if best:
        heads = (*heads, "threshold", "largest δ", "at")
        notes.append(f"[{first}]: largest δ of a curve; ({first}): threshold used")
    if len(best) > len(drawn):
        names = " and ".join(
            f"{markers[name]}{TIE}{shorten_name(printable(name), NAME)}" for name in drawn
        )
        notes.append(
            f"curves and thresholds only of {names}: largest Gini"
            f"{', the reference' * (len(drawn) > 1)}"
        )
    if lost:
        notes.append(f"{lost} run{'s' * (lost > 1)} not shown: φ or δ is undefined")
    scene = Scene(
        population,
        (*run_dots, *dots),
        () if runs else _curve_points(result, drawn, markers, population),
        regions,
        isometric_contours(result, population, DOTTED[1:] if regions else DOTTED),
        notes=tuple(notes),
    )
    return add_key(scene, "model", heads, placed)


def feature_scene(result: Document, population: Diamond) -> Scene:
    """Return the diagram of a few features."""
    placed, dots = [], []
    for i, row in enumerate(features_to_draw(result)):
        at = point_in_population(population, row["phi"], row["delta"])
        phi, delta = at or (row["phi"], row["delta"])
        numbers = format_cell(phi), format_cell(delta), format_cell(row["role"])
        placed.append((KeyEntry(marker_of_index(i), str(row["feature"]), numbers), phi, delta))
        dots += [Dot(marker_of_index(i), at)] if at else []
    scene = Scene(population, tuple(dots), lines=isometric_contours(result, population))
    return add_key(scene, "feature", (*population.symbols, "role"), placed)


def add_key(scene: Scene, what: str, heads: Sequence[str], placed: Sequence[KeyedPoint]) -> Scene:
    """Return the scene with a key of the markers, and notes on what is not drawn."""
    drawn = [entry for entry, phi, delta in placed if defined_point(phi, delta)]
    entries = [entry for entry in drawn if entry.marker != REST]
    notes = []
    if rest := len(drawn) - len(entries):
        notes.append(f"{REST} {rest} more {what}{'s' * (rest > 1)}")
    lost: dict[str, list[str]] = {}
    for entry, phi, delta in placed:
        if not defined_point(phi, delta):
            name = shorten_name(printable(entry.name), NAME).replace(" ", TIE)
            cells = (cell for cell in (phi, delta) if isinstance(cell, Estimate))
            why = next((c.reason for c in cells if c.value is None and c.reason), "")
            why = REASONS.get(why, why.replace("_", " ")) or "φ or δ is undefined"
            lost.setdefault(why, []).append(f"'{name}'")
    for reason, names in lost.items():
        more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
        notes.append(f"not shown, {reason}: {', '.join(names[:MAX_NAMES])}{more}")
    notes = [*scene.notes, *notes]
    return replace(scene, headings=(what, *heads), entries=tuple(entries), notes=tuple(notes))


def _models_with_curves(result: Document) -> list[str]:
    """Return the models whose curves are drawn: all of a few, else the best and the reference."""
    names = [str(row["model"]) for row in sort_by_column(result.unsliced_rows("curves"), "gini")]
    if len(names) <= CURVES:
        return names
    reference = result.parameters.get("reference")
    return [names[0], *([reference] if reference in names[1:] else [])]


def _curve_points(
    result: Document, drawn: Sequence[str], markers: dict[str, str], population: Diamond
) -> tuple[tuple[str, tuple[Point, ...]], ...]:
    points: dict[str, list[Point]] = {}
    for row in result.unsliced_rows("curve"):
        at = point_in_population(population, row["phi"], row["delta"])
        if at and row["model"] in drawn:
            points.setdefault(str(row["model"]), []).append(at)
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
            ends = ((b, d), (b, c), (a, c), (a, d))
            regions.append(tuple(population.move((x - y, x + y - 1)) for x, y in ends))
    return tuple(regions)


def density_scenes(result: Document, shown: Sequence[Diamond]) -> Iterator[Scene]:
    """Yield the diagrams of many features, the most extreme ones marked and named."""
    rows = features_to_draw(result)
    drawn = [(row, at) for row in rows if (at := row_point(row, "phi", "delta"))]
    points = [at for _, at in drawn]
    roles = Counter(str(row["role"]) for row, _ in drawn if row["role"])
    far: dict[int, tuple[str, str]] = {}
    for markers, why, find, axis in (
        ("12345", "highest δ", nlargest, 1),
        ("abcde", "lowest δ", nsmallest, 1),
        ("ABC", "highest φ", nlargest, 0),
    ):
        values = [at[axis] for at in points]
        chosen = find(len(markers), range(len(points)), values.__getitem__)
        for char, i in zip(markers, chosen, strict=False):
            far.setdefault(i, (char, why))
    named = [(char, str(drawn[i][0]["feature"]), why, i) for i, (char, why) in far.items()]
    told = ", ".join(f"{count:,} {role}" for role, count in roles.most_common())
    notes = [f"{len(points):,} features{f': {told}' if told else ''}"]
    if lost := len(rows) - len(points):
        notes.append(f"{lost:,} more not shown: φ or δ is undefined")
    for population in shown:
        there = {i: population.move(points[i]) for i in far}
        numbers = {i: tuple(map(format_cell, at)) for i, at in there.items()}
        entries = tuple(KeyEntry(char, name, (*numbers[i], why)) for char, name, why, i in named)
        yield Scene(
            population,
            tuple(Dot(char, there[i]) for char, _, _, i in named),
            lines=isometric_contours(result, population, SHADED),
            density=tuple(map(population.move, points)),
            headings=("feature", *population.symbols, ""),
            entries=entries,
            notes=tuple(notes),
        )
