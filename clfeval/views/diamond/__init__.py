"""The φ-δ diagrams of a result, drawn in plain characters: one to a population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clfeval.result import Result
from clfeval.views.canvas import TALL, Canvas
from clfeval.views.diamond.draw import (
    GUTTER,
    NARROW,
    closer_look,
    diamond_canvas,
    draw_scene,
    larger_than_a_cell,
    mark_window,
    name_corners,
    ruled,
)
from clfeval.views.diamond.pictures import (
    CORNERS,
    FEW,
    Diamond,
    Picture,
    Scene,
    density_picture,
    feature_picture,
    gather,
    model_picture,
    populations,
    symbols,
)
from clfeval.views.text import GAP, beside, key_lines, least_width, notes_lines

NARROWEST = 24
WIDE = 100  # from this many columns on the diamond is larger
HALVES = (32, 40)  # columns to a unit of φ
SMALL = 20  # the same beside a closer look
LOOK = 60  # columns a closer look beside the diamond needs


def phidelta_plots(result: Result, *, width: int = 80, color: bool = False) -> str:
    """Draw what the tables hold: models, runs, curves or features, at every prevalence asked."""
    width = max(width, NARROWEST)
    shown, left_out = populations(result)
    many = gather(result) if len(result.tables.get("features", ())) > FEW else None
    lines: list[str] = []
    for population in shown:
        if many:
            picture = density_picture(result, many, population)
        elif result.parameters.get("mode") == "features":
            picture = feature_picture(result, population)
        else:
            picture = model_picture(result, population)
        lines += [*([""] if lines else []), *diagram(picture, width=width, color=color)]
    if left_out:
        more = f"{left_out} more prevalence{'s' * (left_out > 1)} not drawn"
        lines += ["", *notes_lines([more], width=width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def diagram(picture: Picture, *, width: int, color: bool) -> list[str]:
    """Draw one diagram, a closer look when its dots crowd, and the key; side by side if it fits."""
    population = picture.scene.population
    canvas = diamond_canvas(population, width, HALVES[width >= WIDE])
    small = diamond_canvas(population, width, SMALL)
    room = width - small.columns - GAP
    room = room if room >= LOOK else width
    look = None if picture.scene.density else closer_look(picture.scene.dots, room, canvas.scale)
    canvas = small if look else canvas
    scene = _with_visible_regions(picture.scene, [canvas, *(look[:1] if look else ())])
    parted = [dot for dot in scene.dots if look and look[0].inside(*look[0].cell(*dot.at))]
    notes = draw_scene(canvas, scene, parted=parted)
    name_corners(canvas, population)
    if look:
        mark_window(canvas, look[0])
    title = notes_lines([_title(population)], width=width)
    drawn = canvas.render(color=color)
    picture = replace(picture, notes=(*_legend(scene, width), *picture.notes))
    if look:
        closer = _closer(look, scene, canvas.scale, width=room, color=color)
        if room < width:
            left = [*drawn, *notes_lines(notes, width=canvas.columns)]
            block = beside(left, closer, canvas.columns + GAP)
        else:
            block = [*drawn, *notes_lines(notes, width=width), "", *closer]
        return [*title, *block, "", *_key(picture, width=width, color=color)]
    room = width - canvas.columns - GAP
    if room >= least_width(picture.headings, picture.entries):
        key = [*_key(picture, width=room, color=color), "", *notes_lines(notes, width=room)]
        if len(key) + TALL <= canvas.rows:
            return [*title, *beside(drawn, [*[""] * TALL, *key], canvas.columns + GAP)]
    key = _key(picture, width=width, color=color)
    return [*title, *drawn, *notes_lines(notes, width=width), "", *key]


def _with_visible_regions(scene: Scene, canvases: Sequence[Canvas]) -> Scene:
    seen = [r for r in scene.regions if any(larger_than_a_cell(c, r) for c in canvases)]
    return replace(scene, regions=tuple(seen))


def _closer(
    look: tuple[Canvas, float], scene: Scene, scale: float, *, width: int, color: bool
) -> list[str]:
    window, step = look
    notes = draw_scene(window, scene)
    text = f"a closer look, {window.scale / scale:.0f} times as large"
    title = [" " * GUTTER + line for line in notes_lines([text], width=width - GUTTER)]
    names = symbols(scene.population)
    return [*title, *ruled(window, step, names, color=color), *notes_lines(notes, width=width)]


def _key(picture: Picture, *, width: int, color: bool) -> list[str]:
    entries = key_lines(picture.headings, picture.entries, width=width, color=color)
    return [*entries, *notes_lines(picture.notes, width=width)]


def _legend(scene: Scene, width: int) -> list[str]:
    """Say what the dots are, and what the drawing has no room for."""
    notes = []
    if scene.regions:
        notes.append("· around a marker: the joint region of sensitivity and specificity")
    if scene.population.balanced:
        narrow = ["left corner: always negative, right corner: always positive"]
        return [*notes, *narrow * (width < NARROW)]
    named = zip(CORNERS, scene.population.corners, strict=True)
    corners = "; ".join(f"{name} {x:.3g}, {y:.3g}" for name, (x, y) in named)
    return [*notes, "| no bias (φ_b = 0)   - no information", f"corners at φ_b, δ_b: {corners}"]


def _title(population: Diamond) -> str:
    if population.balanced:
        return "φ-δ diagram, class ratio removed"
    share = f"prevalence {population.prevalence:.4g}"
    return f"φ-δ diagram at {share}, positives : negatives = {population.odds}"
