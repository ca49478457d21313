"""The signature of many features: how many fall in each cell, and which lie farthest out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from heapq import nlargest, nsmallest

from clfeval.result import Result
from clfeval.views.canvas import Point
from clfeval.views.diamond_key import Entry
from clfeval.views.diamond_models import Picture, symbols
from clfeval.views.diamond_scene import (
    Dot,
    Population,
    Scene,
    isometric_notes,
    isometrics,
    pair,
)
from clfeval.views.rows import show

DOTTED = "~,`"  # not to be taken for a count
FAR = 5  # features named at the top and at the bottom
RIGHT = 3  # features named at the right


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


def density_picture(result: Result, crowd: Crowd, population: Population) -> Picture:
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
        lines=tuple(isometrics(result, population, DOTTED)),
        density=tuple(map(population.move, crowd.points)),
    )
    notes += isometric_notes(result, population, DOTTED)
    return Picture(scene, ("feature", *symbols(population), ""), entries, tuple(notes))
