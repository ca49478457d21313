"""What the φ-δ diagram of a few features shows: each feature a point, named in the key."""

from __future__ import annotations

from dataclasses import replace

from clfeval.result import Result
from clfeval.views.diamond_models import Picture, Placed, listed, symbols
from clfeval.views.diamond_scene import (
    DOTTED,
    Dot,
    Population,
    Scene,
    isometric_notes,
    isometrics,
    marker,
    pair,
)
from clfeval.views.rows import show

FEW = 30  # more features are drawn as a density


def feature_picture(result: Result, population: Population) -> Picture:
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
