"""Plots of mlcps: bars, areas and places are as long, large and far as their numbers say."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from rich.cells import cell_len

from clfeval.api.result import Result
from clfeval.pages.command_pages import page_of
from clfeval.views.canvas import Canvas
from clfeval.views.plots import MARGIN, QUARTERS, draw_plots, draw_radar
from tests.texts import check_text, numbers_in
from tests.views.ranked import FIVE, MANY, RESULTS, SEVEN, ranked

PROFILE, RADARS, SCATTER = "profile", "radars", "scatter"
WIDE = {f"m{i}": [0.5 + 0.01 * i] * 13 for i in range(3)}


def plot_lines(result: Result, name: str, width: int = 80) -> list[str]:
    """Return the lines of one plot."""
    return draw_plots(result, (name,), width=width, color=False).splitlines()


def titles(result: Result) -> list[str]:
    names = {chart.name for chart in page_of("mlcps").charts(result)}
    return [name for name in (PROFILE, RADARS, SCATTER) if name in names]


def filled(canvas: Canvas) -> int:
    """Count the quarters of cells that are filled."""
    return sum(
        QUARTERS.index(ink.char).bit_count()
        for ink in canvas.cells.values()
        if ink.char in QUARTERS
    )


@pytest.mark.parametrize("width", [40, 80, 140])
@pytest.mark.parametrize("name", RESULTS)
def test_every_line_fits(name: str, width: int) -> None:
    text = draw_plots(RESULTS[name], width=width, color=False)
    assert text
    assert max(map(cell_len, text.splitlines())) <= width
    assert "\x1b" not in text


def test_the_profile_has_a_bar_and_a_number_for_every_metric_and_model() -> None:
    lines = plot_lines(RESULTS["two"], PROFILE)[2:]
    assert [line.split() for line in lines] == [
        ["svm", "rf"],
        ["0", "1", "0", "1"],
        ["accuracy", "████████··", "0.800", "████████··", "0.800"],
        ["f1", "████████··", "0.800", "██████····", "0.600"],
        ["mcc", "██████····", "0.600", "████████··", "0.800"],
        ["roc_auc", "██████····", "0.600", "██████····", "0.600"],
    ]
    assert lines[1].index("1") == len("accuracy  ██████████") - 1  # where full bars end


def test_the_profile_shows_the_best_and_counts_the_rest() -> None:
    lines = plot_lines(RESULTS["thirty"], PROFILE)
    assert sum("1 - brier" in line for line in lines) == 4  # 8 models by twos
    assert {22} <= {*numbers_in(lines[-1])}
    many = plot_lines(
        ranked({"a": [0.5] * 50, "b": [0.6] * 50}, [f"m{i}" for i in range(50)]), PROFILE
    )
    check_text([lines[-1], many[-1]])
    assert {10} <= {*numbers_in(many[-1])}
    assert any(line.startswith("m39 ") for line in many)


def test_what_is_drawn_depends_on_the_metrics() -> None:
    assert titles(RESULTS["five"]) == [PROFILE, RADARS, SCATTER]
    assert titles(RESULTS["pair"]) == [PROFILE]
    assert titles(RESULTS["one model"]) == [PROFILE, RADARS]
    assert titles(ranked(WIDE, [f"m{i}" for i in range(13)])) == [PROFILE, SCATTER]


@pytest.mark.parametrize("width", [80, 140])
def test_radars_stand_side_by_side_with_a_number_at_every_ray(width: int) -> None:
    lines = plot_lines(RESULTS["thirty"], RADARS, width)
    assert len(lines) <= 35
    heads = re.findall(r"[ABC] model \d+ \d\.\d{3}", lines[2])
    assert len(heads) == 3
    key = next(i for i, line in enumerate(lines) if "1 accuracy" in line)
    inside = " ".join(lines[3:key])
    assert all(len(re.findall(rf"(?<!\S){ray}(?!\S)", inside)) == 3 for ray in range(1, 8))
    named = "".join(lines[key:]).replace(" ", "")
    assert all(f"{i}{name}" in named for i, name in enumerate(map(bare, SEVEN[:6]), start=1))
    assert len(plot_lines(RESULTS["one model"], RADARS, 30)) <= 35


def bare(name: str) -> str:
    return name.replace(" ", "")


@pytest.mark.parametrize("radius", [8, 16])
@pytest.mark.parametrize(
    "d", [(0.5,) * 4, (0.8, 0.6, 0.8, 0.6), (0.9, 0.3, 0.7, 0.8, 0.6, 0.5, 0.9), (0.7,) * 12]
)
def test_the_area_is_the_score(d: Sequence[float], radius: int) -> None:
    n = len(d)
    whole, part = (filled(draw_radar(rays, [1.0] * n, radius)) for rays in ([1.0] * n, d))
    share = sum(d[i] * d[(i + 1) % n] for i in range(n)) / n
    assert part / whole == pytest.approx(share, abs=0.05)


def test_each_ray_is_filled_as_far_as_its_metric_goes() -> None:
    canvas = draw_radar((0.75, 0.25, 0.5, 1.0), [1.0] * 4, 16)
    middle, row = canvas.cell(0, 0)
    inked = {cell for cell, ink in canvas.cells.items() if ink.char in QUARTERS}
    on_axis = [r - row for c, r in inked if c == middle]
    beside = [c - middle for c, r in inked if r == row]
    # a unit is 8 rows or 16 columns: up .75, to the right .25, down .5, to the left 1
    reached = (-min(on_axis), max(beside), max(on_axis), -min(beside))
    assert reached == pytest.approx((6, 4, 4, 16), abs=1)


def test_a_lonely_ray_is_seen_although_its_area_is_0() -> None:
    canvas = draw_radar((1.0, 0.0, 1.0, 0.0), [1.0] * 4, 8)
    column, row = canvas.cell(0, 0)
    assert all(canvas.cells[column, row + step].char in QUARTERS for step in (-3, -2, 2, 3))


def test_rays_are_as_long_as_their_weights() -> None:
    canvas = draw_radar((1.0,) * 4, (1.0, 0.5, 1.0, 0.5), 16)
    column, row = canvas.cell(0, 0)
    inked = [c for (c, r), ink in canvas.cells.items() if ink.char in QUARTERS and r == row]
    assert max(inked) - column in (7, 8)
    assert column - min(inked) in (7, 8)
    check_text(plot_lines(RESULTS["weighted"], RADARS))
    assert canvas.columns == 2 * (16 + MARGIN) + 1


@pytest.mark.parametrize("width", [80, 140])
def test_letters_stand_where_mlcps_and_sd_are(width: int) -> None:
    lines = plot_lines(RESULTS["five"], SCATTER, width)
    inside = [re.split("[│┤]", line)[1] for line in lines if line.endswith("│")]
    wide, high = len(inside[0]), len(inside)
    points = {}
    for letter, name in zip("ABCDE", ("svm", "rf", "lda", "tree", "knn"), strict=True):
        d = FIVE[name]
        area, mean = sum(d[i] * d[(i + 1) % 4] for i in range(4)) / 2, sum(d) / 4
        sd = (sum((x - mean) ** 2 for x in d) / 3) ** 0.5
        points[letter] = area, sd
        assert [letter, name, f"{area:.3f}", f"{sd:.3f}"] in [line.split() for line in lines]
    xs, ys = zip(*points.values(), strict=True)
    (x0, x1), (y0, y1) = ((min(side), max(side)) for side in (xs, ys))
    for letter, (x, y) in points.items():
        found = [(row, line.index(letter)) for row, line in enumerate(inside) if letter in line]
        row, column = found[0]
        # the outermost points have a margin of 4 % of the axis
        assert column / (wide - 1) == pytest.approx((0.04 + (x - x0) / (x1 - x0)) / 1.08, abs=0.02)
        assert row / (high - 1) == pytest.approx((0.04 + (y1 - y) / (y1 - y0)) / 1.08, abs=0.06)


def test_points_in_one_place_are_told() -> None:
    lines = plot_lines(RESULTS["tie"], SCATTER)
    check_text(lines[-1])
    inside = "".join(line for line in lines if line.endswith("│"))
    assert ("A" in inside, "B" in inside) == (True, False)


def test_beyond_26_models_there_are_dots() -> None:
    lines = plot_lines(RESULTS["thirty"], SCATTER)
    inside = "".join(line.split("│", 1)[-1] for line in lines if line.endswith("│"))
    assert 1 <= inside.count(".") <= 4
    assert [numbers_in(line) for line in lines if line.startswith(". ")] == [[4]]
    assert any(line.startswith("A model") for line in lines)
    assert len(MANY) == 30
