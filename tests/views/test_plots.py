"""Plots tell the truth without colour: bar lengths, cell heights, one marker per curve."""

from __future__ import annotations

import pytest

from clfeval.document.cells import Estimate, cell_value
from clfeval.pages.chart import Axis, Chart, Point, Series
from clfeval.views.plots import MARKERS, SHADES
from clfeval.views.plots import draw_chart as draw


def bars(title: str, names: list[str], values: list[float], width: int) -> str:
    series = (Series(name, values=(v,)) for name, v in zip(names, values, strict=True))
    return draw(Chart("bars", title, series=tuple(series)), width=width, color=False)


def curves(title: str, label: str, lines: dict[str, tuple[Point, ...]], width: int) -> str:
    series = tuple(Series(name, (points,)) for name, points in lines.items())
    return draw(Chart("lines", title, Axis(label), series=series), width=width, color=False)


@pytest.mark.parametrize("count", [1, 2, 3, 6, 11, 30])
def test_a_bar_is_as_long_as_its_value(count: int) -> None:
    values = [float((7 * i) % 23) for i in range(count)]
    drawn = bars("title", [f"m{i}" for i in range(count)], values, 80)
    lines = [line for line in drawn.splitlines() if "┤" in line]
    expected = sorted(values, reverse=True)
    shown = [float(line.split("┤")[0].split()[-1]) for line in lines if line.split("┤")[0].strip()]
    assert shown == expected
    room = len(lines[0].split("┤")[1].rstrip("│"))
    for line, value in zip(lines, expected, strict=False):
        assert line.count("█") == pytest.approx(value / max(*expected, 1.0) * room, abs=1.6)


def test_more_bars_than_fit_are_cut_after_the_longest() -> None:
    drawn = bars("t", [f"m{i}" for i in range(50)], [float(i) for i in range(50)], 60)
    assert "m49 49┤" in drawn
    assert "m19 19┤" not in drawn


def test_a_cell_is_as_high_as_its_value_and_the_diagonal_is_framed() -> None:
    cells = [
        [Estimate(0.0), Estimate(0.25), Estimate(0.5)],
        [Estimate(0.25), Estimate(1.0), Estimate(None, reason="nothing_found")],
        [Estimate(0.5), Estimate(None, reason="nothing_found"), Estimate(0.001)],
    ]
    series = (
        Series(name, values=tuple(map(cell_value, row)))
        for name, row in zip("abc", cells, strict=True)
    )
    chart = Chart("cells", "title", series=tuple(series))
    lines = draw(chart, width=80, color=False).splitlines()
    assert lines[0] == "title"
    assert "[ ]" in lines[2]  # 0 is blank
    assert lines[2].endswith("▄")  # half of 8 steps
    assert "[█]" in lines[3]
    assert lines[3].endswith("?")  # undefined is no value at all
    assert f"[{SHADES[1]}]" in lines[4]  # more than nothing is never blank
    assert "█ is 1.000" in lines[5]


@pytest.mark.parametrize(("many", "named"), [(8, 8), (9, 3), (14, 3)])
def test_curves_have_markers_of_their_own_and_of_many_the_first_have_names(
    many: int, named: int
) -> None:
    names = [f"model {i}" for i in range(many)]
    drawn = curves("t", "cut", dict.fromkeys(names, ((0.0, 0.0), (1.0, 1.0))), 70)
    key = " ".join(line.strip() for line in drawn.splitlines()[-4:])
    for marker, name in zip(MARKERS, names[:named], strict=False):
        assert f"{marker} {name}" in key
    assert (f". {many - named} others" in key) is (many > named)
    assert f"model {named}" not in key


def test_plots_do_not_remember_each_other() -> None:
    first = bars("t", ["a", "b"], [1.0, 2.0], 60)
    curves("x", "y", {"c": ((0.0, 3.0), (5.0, 4.0))}, 60)
    assert bars("t", ["a", "b"], [1.0, 2.0], 60) == first


def test_the_best_curve_is_on_top_and_what_it_is_held_against_below_all() -> None:
    flat = (((0.0, 0.5), (1.0, 0.5)),)
    series = (Series("best", flat), Series("next", flat), Series("chance", flat, letter=":"))
    chart = Chart("lines", "t", Axis("x", range=(0.0, 1.0)), Axis(range=(0.0, 1.0)), series)
    *picture, ticks, _, key = draw(chart, width=60, color=False).splitlines()
    inside = "".join(line.partition("│")[2] + line.partition("┤")[2] for line in picture)
    assert {*inside} - {"│", " "} == {"o"}
    assert key == "o best   x next (under o)   : chance"
    assert ticks.split() == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
