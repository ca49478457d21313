"""The canvas: one scale for both axes, lines that lean as they should, nothing off its edges."""

from __future__ import annotations

import pytest

from clfeval.views.canvas import Canvas, Ink


def canvas(columns: int = 21, rows: int = 11, scale: float = 10.0) -> Canvas:
    return Canvas(columns, rows, left=-1.0, top=1.0, scale=scale)


def test_a_square_of_data_is_twice_as_many_columns_as_rows() -> None:
    area = canvas()
    assert area.cell(-1, 1) == (0, 0)
    assert area.cell(1, -1) == (20, 10)
    assert area.cell(0, 0) == (10, 5)


def test_what_is_more_important_covers_what_is_less_in_either_order() -> None:
    area = canvas()
    for column, inks in ((0, ("a", "b")), (1, ("b", "a"))):
        for char in inks:
            area.set_cell(column, 0, Ink(char, priority=1 if char == "b" else 0))
    assert area.render()[0] == "bb"
    area.set_cell(0, 0, Ink("c", priority=1))  # of equals the later one stays
    assert area.render()[0] == "cb"


def test_nothing_is_drawn_off_the_canvas() -> None:
    area = canvas()
    for cell in ((-1, 0), (21, 0), (0, -1), (0, 11)):
        area.set_cell(*cell, Ink("x"))
    area.line((-50, -50), (50, 50), Ink(""))
    area.trace([(-50.0, 0.0), (50.0, 0.3)], Ink(""))
    area.dots([(-50.0, 9.0), (50.0, -9.0)], Ink("·"))
    area.text(18, 3, "moved in", Ink(""))
    lines = area.render()
    assert len(lines) == 11
    assert max(map(len, lines)) <= 21
    assert lines[3].endswith("moved in")


@pytest.mark.parametrize(
    ("to", "char"), [((1, 1), "/"), ((1, -1), "\\"), ((1, 0.2), "-"), ((0.1, 1), "|")]
)
def test_a_line_is_drawn_with_the_character_that_leans_as_it_does(
    to: tuple[float, float], char: str
) -> None:
    for a, b in (((0.0, 0.0), to), (to, (0.0, 0.0))):
        area = canvas()
        area.line(a, b, Ink(""))
        assert {ink.char for ink in area.cells.values()} == {char}
        assert area.cell(*to) in area.cells
        assert (10, 5) in area.cells


def test_a_diagonal_has_one_character_a_row_and_moves_two_columns() -> None:
    area = canvas()
    area.line((-1, -1), (1, 1), Ink(""))
    assert [len(line) - 1 for line in area.render()] == list(range(20, -1, -2))


def test_a_line_of_no_length_is_a_point() -> None:
    area = canvas()
    area.line((0, 0), (0, 0), Ink("x"))
    assert list(area.cells) == [(10, 5)]


def test_dots_are_as_far_apart_along_a_row_as_down_a_column() -> None:
    area = canvas()
    flat = area.dots([(-1, 1), (1, 1)], Ink("·"))
    assert [column for column, _ in flat] == list(range(0, 21, 2))
    steep = area.dots([(-1, 1), (-1, -1)], Ink("·"))
    assert [row for _, row in steep] == list(range(11))


def test_a_trace_has_one_character_a_column_at_the_right_height() -> None:
    area = canvas()
    cells = area.trace([(-1.0, 0.0), (0.0, 0.06), (1.0, 0.0)], Ink(""))
    assert [column for column, _ in cells] == list(range(21))
    line = area.render()[5]
    assert line[0] == line[20] == "-"  # the middle of its cell
    assert line[10] == "'"  # a third of a row higher


def test_text_is_free_only_with_a_blank_on_each_side() -> None:
    area = canvas()
    area.set_cell(5, 0, Ink("x"))
    assert not area.free(6, 0, 3)
    assert area.free(7, 0, 3)
    assert area.free(1, 0, 3)
    assert not area.free(2, 0, 3)
    assert not area.free(19, 0, 3)


def test_lines_end_where_their_last_character_does_and_codes_only_come_when_asked_for() -> None:
    area = canvas()
    area.set_cell(2, 0, Ink("x", style="1"))
    area.set_cell(3, 0, Ink("y", style="1"))
    assert area.render()[:2] == ["  xy", ""]
    assert area.render(color=True)[0] == "  \x1b[1mxy\x1b[0m"
