"""What φ-δ diagrams show: dots, curves, regions, lines, a population; and the key to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest, nsmallest
from math import isclose

from clfeval.pages.write import REASONS, exact, plain, show
from clfeval.result import Cell, Estimate, Result, Row
from clfeval.schema import Point
from clfeval.views.text import MARKERS, NAME, TIE, Entry, short

REST = "•"  # everything beyond the markers
DOTTED = "·:,`~"
MOST_POPULATIONS = 3
CORNERS = ("oracle", "always positive", "anti-oracle", "always negative")


@dataclass(frozen=True, slots=True)
class Diamond:
    """A share of positives, and where it puts the corners: top, right, bottom, left."""

    prevalence: float = 0.5
    odds: str = "1:1"
    corners: tuple[Point, ...] = ((0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0))

    @property
    def balanced(self) -> bool:
        """True for one positive to one negative, where φ and δ themselves are drawn."""
        return isclose(self.prevalence, 0.5)

    def move(self, at: Point) -> Point:
        """Return where a point (φ, δ) lies in this population's diamond, (φ_b, δ_b)."""
        tilt = 1 - 2 * self.prevalence
        return at[0] + tilt * (1 - at[1]), at[1] - tilt * at[0]


@dataclass(frozen=True, slots=True)
class Dot:
    """One place in the diagram; `around` is a pair of brackets beside the marker, or empty."""

    marker: str
    at: Point
    around: str = ""


@dataclass(frozen=True, slots=True)
class Contour:
    """A dotted line of equal value, in one or more branches."""

    char: str
    label: str
    branches: tuple[tuple[Point, ...], ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """All there is to draw in one diagram."""

    population: Diamond
    dots: tuple[Dot, ...] = ()
    curves: tuple[tuple[str, tuple[Point, ...]], ...] = ()
    regions: tuple[tuple[Point, ...], ...] = ()
    lines: tuple[Contour, ...] = ()
    density: tuple[Point, ...] = ()


def populations(result: Result) -> tuple[list[Diamond], int]:
    """Return the populations to draw, the balanced one first, and how many are left out."""
    corners: dict[tuple[float, str], dict[str, Point]] = {}
    for row in result.tables.get("corners", ()):
        at = decimal(row["phi_b"]), decimal(row["delta_b"])
        prevalence = decimal(row["prevalence"])
        if at[0] is not None and at[1] is not None and prevalence is not None:
            block = corners.setdefault((prevalence, str(row["odds"])), {})
            block[str(row["corner"])] = at[0], at[1]
    others = [
        Diamond(prevalence, odds, tuple(block[name] for name in CORNERS))
        for (prevalence, odds), block in corners.items()
        if not isclose(prevalence, 0.5)
    ]
    return [Diamond(), *others[:MOST_POPULATIONS]], max(0, len(others) - MOST_POPULATIONS)


def isometrics(result: Result, population: Diamond, chars: Iterable[str]) -> list[Contour]:
    """Return the lines of equal value that hold for a population, each measure dotted its way."""
    suffix = "" if population.balanced else "_b"
    found: dict[tuple[str, float], dict[int, list[Point]]] = {}
    for row in result.tables.get("isometrics", ()):
        value, x, y = (decimal(row[key]) for key in ("value", f"phi{suffix}", f"delta{suffix}"))
        prevalence = decimal(row["prevalence"])
        if value is None or x is None or y is None or prevalence is None:
            continue
        if isclose(prevalence, population.prevalence):
            branches = found.setdefault((str(row["measure"]), value), {})
            branches.setdefault(int(decimal(row["branch"]) or 0), []).append((x, y))
    measures = list(dict.fromkeys(measure for measure, _ in found))
    ways = list(chars)
    char = {measure: ways[i % len(ways)] for i, measure in enumerate(measures)}
    return [
        Contour(
            char[measure],
            f"{value:g}" if len(measures) == 1 else f"{measure.replace('_', ' ')} {value:g}",
            tuple(tuple(points) for points in branches.values()),
        )
        for (measure, value), branches in found.items()
    ]


def isometric_notes(result: Result, population: Diamond, chars: Iterable[str]) -> list[str]:
    """Name the dotted lines and their class ratio: `· precision = 0.5, 0.8 at 1:1`."""
    ways = list(chars)
    values: dict[str, dict[float, None]] = {}
    for row in result.tables.get("isometrics", ()):
        prevalence, value = decimal(row["prevalence"]), decimal(row["value"])
        if value is not None and isclose(prevalence or 0.0, population.prevalence):
            values.setdefault(str(row["measure"]), {})[value] = None
    return [
        f"{ways[i % len(ways)]} {name.replace('_', ' ')} = "
        f"{', '.join(f'{v:g}' for v in some)} at {population.odds}"
        for i, (name, some) in enumerate(values.items())
    ]


def marker(index: int) -> str:
    """Return the marker of the i-th model."""
    return MARKERS[index] if index < len(MARKERS) else REST


def decimal(cell: Cell) -> float | None:
    """Return a cell's number, or None when it has none."""
    if isinstance(cell, Estimate):
        return cell.value
    return float(cell) if isinstance(cell, (int, float)) else None


def pair(phi: Cell, delta: Cell) -> Point | None:
    """Return a point when both its coordinates are defined."""
    x, y = decimal(phi), decimal(delta)
    return None if x is None or y is None else (x, y)


FEW = 30  # more features are drawn as a density
SHADED = "~,`"  # lines that are not to be taken for a count
FAR = 5  # features named at the top and at the bottom
RIGHT = 3  # features named at the right
REGIONS = 3  # with more models the regions only cover each other
NAMED = 5  # names of what is not drawn


@dataclass(frozen=True, slots=True)
class Picture:
    """A scene with its key."""

    scene: Scene
    headings: tuple[str, ...]
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """One named thing with its marker, its φ and δ in a population, and more for the key."""

    marker: str
    name: str
    phi: Cell
    delta: Cell
    more: tuple[str, ...] = ()


def model_picture(result: Result, population: Diamond) -> Picture:
    """Return the diagram of the models of the whole table."""
    tables = result.tables
    runs = tables.get("runs", ())
    rows = tables.get("run_spread", ()) if runs else result.whole("models")
    mean = "_mean" if runs else ""
    names = [str(row["model"]) for row in rows]
    markers = {name: marker(i) for i, name in enumerate(names)}
    best = {str(row["model"]): row for row in result.whole("curves") if not runs}
    known = {} if runs else _known(result, population)
    placed = []
    for name, row in zip(names, rows, strict=True):
        phi, delta = row[f"phi{mean}"], row[f"delta{mean}"]
        if not population.balanced:
            phi, delta = known.get(name) or _moved(population, phi, delta)
        more: tuple[str, ...] = (show(row["runs"]),) if runs else ()
        if best:
            top = best.get(name, {})
            more = (
                exact(row["threshold"]),
                show(top.get("best_delta")),
                exact(top.get("best_threshold")),
            )
        placed.append(Placed(markers[name], name, phi, delta, more))
    dots = [
        Dot(one.marker, at, "[]" if runs else "()" if one.name in best else "")
        for one, row in zip(placed, rows, strict=True)
        if (at := pair(one.phi, one.delta))
        and not (one.name in best and row["threshold"] is None)  # no threshold is in force
    ]
    dots += _best(best, markers, population)
    run_dots, lost = _runs(runs, markers, population)
    regions = () if runs or best or len(rows) > REGIONS else _regions(rows, population)
    chars = DOTTED[1:] if regions else DOTTED
    scene = Scene(
        population, (*run_dots, *dots),
        () if runs else _curves(result.whole("curve"), markers, population), regions,
        tuple(isometrics(result, population, chars)),
    )  # fmt: skip
    first = placed[0].marker if placed else MARKERS[0]
    notes = []
    if runs:
        notes.append(f"{first} is one run, [{first}] the mean of its model's runs")
    if best:
        notes.append(f"[{first}] the largest δ of a curve, ({first}) the threshold in force")
    if lost:
        notes.append(f"{lost} run{'s' * (lost > 1)} not drawn: φ or δ is undefined")
    heads: tuple[str, ...] = symbols(population)
    if runs:
        heads = (*(f"mean {symbol}" for symbol in heads), "runs")
    if best:
        heads = (*heads, "threshold", "largest δ", "at")
    picture = listed("model", heads, placed, scene)
    return replace(
        picture, notes=(*notes, *picture.notes, *isometric_notes(result, population, chars))
    )


def listed(what: str, heads: Sequence[str], placed: Sequence[Placed], scene: Scene) -> Picture:
    """Add the key: all that is drawn with a marker of its own, and why the others are not."""
    drawn = [one for one in placed if pair(one.phi, one.delta)]
    entries = [
        Entry(one.marker, one.name, (show(one.phi), show(one.delta), *one.more))
        for one in drawn
        if one.marker != REST
    ]
    notes = []
    rest = len(drawn) - len(entries)
    if rest:
        notes.append(f"{REST} {rest} more {what}{'s' * (rest > 1)}")
    lost: dict[str, list[str]] = {}
    for one in placed:
        if not pair(one.phi, one.delta):
            name = short(plain(one.name), NAME).replace(" ", TIE)
            lost.setdefault(_reason(one), []).append(f"'{name}'")
    for reason, names in lost.items():
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        notes.append(f"not drawn, {reason}: {', '.join(names[:NAMED])}{more}")
    return Picture(scene, (what, *heads), tuple(entries), tuple(notes))


def symbols(population: Diamond) -> tuple[str, str]:
    """Return what the two axes are called."""
    return ("φ", "δ") if population.balanced else ("φ_b", "δ_b")


def _known(result: Result, population: Diamond) -> dict[str, tuple[Cell, Cell]]:
    """Return the models' pairs at the prevalence as the table of populations has them."""
    return {
        str(row["model"]): (row["phi_b"], row["delta_b"])
        for row in result.whole("populations")
        if isclose(decimal(row["prevalence"]) or 0.0, population.prevalence)
    }


def _moved(population: Diamond, phi: Cell, delta: Cell) -> tuple[Cell, Cell]:
    at = pair(phi, delta)
    return population.move(at) if at else (phi, delta)


def _best(best: dict[str, Row], markers: dict[str, str], population: Diamond) -> list[Dot]:
    pairs = ((name, pair(row["best_phi"], row["best_delta"])) for name, row in best.items())
    return [Dot(markers.get(name, REST), population.move(at), "[]") for name, at in pairs if at]


def _runs(
    runs: Sequence[Row], markers: dict[str, str], population: Diamond
) -> tuple[list[Dot], int]:
    pairs = [(str(row["model"]), pair(row["phi"], row["delta"])) for row in runs]
    dots = [Dot(markers.get(name, REST), population.move(at)) for name, at in pairs if at]
    return dots, len(pairs) - len(dots)


def _curves(
    rows: Sequence[Row], markers: dict[str, str], population: Diamond
) -> tuple[tuple[str, tuple[Point, ...]], ...]:
    points: dict[str, list[Point]] = {}
    for row in rows:
        at = pair(row["phi"], row["delta"])
        if at:
            points.setdefault(str(row["model"]), []).append(population.move(at))
    return tuple((markers.get(name, REST), tuple(curve)) for name, curve in points.items())


def _regions(rows: Sequence[Row], population: Diamond) -> tuple[tuple[Point, ...], ...]:
    """Return the corners of each joint region: a rectangle standing on its corner."""
    regions = []
    for row in rows:
        sens, spec = row.get("region_sensitivity"), row.get("region_specificity")
        if not isinstance(sens, Estimate) or not isinstance(spec, Estimate):
            continue
        if sens.low is None or sens.high is None or spec.low is None or spec.high is None:
            continue
        ends = (
            (sens.high, spec.high), (sens.high, spec.low), (sens.low, spec.low),
            (sens.low, spec.high),
        )  # fmt: skip
        regions.append(tuple(population.move((a - b, a + b - 1)) for a, b in ends))
    return tuple(regions)


def _reason(one: Placed) -> str:
    for cell in (one.phi, one.delta):
        if isinstance(cell, Estimate) and cell.value is None and cell.reason:
            return REASONS.get(cell.reason, cell.reason.replace("_", " "))
    return "φ or δ is undefined"


def feature_picture(result: Result, population: Diamond) -> Picture:
    """Return the diagram of a few features."""
    placed = []
    for i, row in enumerate(result.tables["features"]):
        at = pair(row["phi"], row["delta"])
        more = (show(row["role"]),)
        if at:
            x, y = population.move(at)
            placed.append(Placed(marker(i), str(row["feature"]), x, y, more))
        else:
            placed.append(Placed(marker(i), str(row["feature"]), row["phi"], row["delta"], more))
    dots = tuple(Dot(one.marker, at) for one in placed if (at := pair(one.phi, one.delta)))
    lines = tuple(isometrics(result, population, DOTTED))
    picture = listed(
        "feature", (*symbols(population), "role"), placed, Scene(population, dots, lines=lines)
    )
    return replace(picture, notes=(*picture.notes, *isometric_notes(result, population, DOTTED)))


@dataclass(frozen=True, slots=True)
class Crowd:
    """Where all the features lie, and what the key tells of them."""

    points: tuple[Point, ...]
    far: tuple[tuple[str, str, str, Point], ...]  # marker, name, why, place
    roles: tuple[tuple[str, int], ...]
    lost: int


def gather(result: Result) -> Crowd:
    """Read all features once."""
    rows = result.tables["features"]
    points: list[Point] = []
    places: list[int] = []
    roles: Counter[str] = Counter()
    for i, row in enumerate(rows):
        at = pair(row["phi"], row["delta"])
        if at:
            points.append(at)
            places.append(i)
            if row["role"]:
                roles[str(row["role"])] += 1
    order = range(len(points))
    far: dict[int, tuple[str, str]] = {}
    for markers, why, chosen in (
        ("12345", "highest δ", nlargest(FAR, order, key=lambda i: points[i][1])),
        ("abcde", "lowest δ", nsmallest(FAR, order, key=lambda i: points[i][1])),
        ("ABC", "highest φ", nlargest(RIGHT, order, key=lambda i: points[i][0])),
    ):
        for char, i in zip(markers, chosen, strict=False):
            far.setdefault(i, (char, why))
    named = tuple(
        (char, str(rows[places[i]]["feature"]), why, points[i]) for i, (char, why) in far.items()
    )
    return Crowd(tuple(points), named, tuple(roles.most_common()), len(rows) - len(points))


def density_picture(result: Result, crowd: Crowd, population: Diamond) -> Picture:
    """Return the diagram of many features, those farthest out marked and named."""
    moved = [population.move(at) for *_, at in crowd.far]
    entries = tuple(
        Entry(char, name, (show(x), show(y), why))
        for (char, name, why, _), (x, y) in zip(crowd.far, moved, strict=True)
    )
    total = f"{len(crowd.points):,} features"
    roles = ", ".join(f"{count:,} {role}" for role, count in crowd.roles)
    notes = [f"{total}: {roles}" if roles else total]
    if crowd.lost:
        notes.append(f"{crowd.lost:,} more not drawn: φ or δ is undefined")
    scene = Scene(
        population,
        tuple(Dot(one[0], at) for one, at in zip(crowd.far, moved, strict=True)),
        lines=tuple(isometrics(result, population, SHADED)),
        density=tuple(map(population.move, crowd.points)),
    )
    notes += isometric_notes(result, population, SHADED)
    return Picture(scene, ("feature", *symbols(population), ""), entries, tuple(notes))
