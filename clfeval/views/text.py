"""Text around a drawing: keys in columns, notes folded to the screen, names cut to fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len, set_cell_size

from clfeval.views.canvas import add_ansi_style
from clfeval.words import escape_unprintable

GAP = 3
FEW = 8  # entries that stand in one column
NAME = 24  # columns a name may take where entries stand side by side
SHORTEST = 8
TIE = "\N{NO-BREAK SPACE}"  # becomes a blank after folding
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
MARKERS = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
HUES = ("31", "32", "34", "35", "36", "33")


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """One marker of the key: its name and the text of its numbers."""

    marker: str
    name: str
    numbers: tuple[str, ...]


def key_lines(
    headings: Sequence[str], entries: Sequence[KeyEntry], *, width: int, color: bool
) -> list[str]:
    """Lay out the entries, side by side when there are many; numbers that do not fit are left."""
    if not entries:
        return []
    names = [escape_unprintable(entry.name) for entry in entries]
    longest = max(cell_len(name) for name in (headings[0], *names))
    wide = _number_widths(headings, entries)
    while wide and 2 + min(longest, SHORTEST) + sum(wide) > width:
        wide.pop()
    least = 2 + min(longest, NAME) + sum(wide)
    blocks = min(4, max(1, (width + GAP) // (least + GAP))) if len(entries) > FEW else 1
    room = (width - GAP * (blocks - 1)) // blocks - 2 - sum(wide)
    room = max(1, min(longest, room))
    cut = shorten_names_apart([headings[0], *names], room)
    high = -(-len(entries) // blocks)

    def line(marker: str, name: str, numbers: Sequence[str]) -> str:
        shown = set_cell_size(cut[name], room)
        ends = "".join(f"{text:>{w}}" for text, w in zip(numbers, wide, strict=False))
        mark = add_ansi_style(marker, marker_color(marker)) if color and marker != " " else marker
        return f"{mark} {shown}{ends}"

    heads = [line(" ", headings[0], headings[1:])] * (-(-len(entries) // high))
    lines = [(" " * GAP).join(heads).rstrip()]
    for row in range(high):
        here = range(row, len(entries), high)
        parts = [line(entries[i].marker, names[i], entries[i].numbers) for i in here]
        lines.append((" " * GAP).join(parts).rstrip())
    return lines


def min_key_width(headings: Sequence[str], entries: Sequence[KeyEntry]) -> int:
    """Return the columns a key needs with every number and legible names."""
    return 2 + NAME + sum(_number_widths(headings, entries))


def fold_notes(notes: Iterable[str], *, width: int) -> list[str]:
    """Fold every note to the width, its other lines under its text."""
    lines = []
    for note in notes:
        line = ""
        for word in note.split(" "):
            word = shorten_name(word, width - 2)
            if line.strip() and cell_len(line) + 1 + cell_len(word) > width:
                lines.append(line)
                line = "  " + word
            else:
                line = f"{line} {word}" if line else word
        lines.append(line)
    return [line.replace(TIE, " ") for line in lines]


def side_by_side_lines(blocks: Sequence[Sequence[str]], wide: int) -> list[str]:
    """Put blocks of lines side by side, each `wide` columns after the one before."""
    lines = []
    for parts in zip_longest(*blocks, fillvalue=""):
        line = ""
        for i, part in enumerate(parts):
            line += " " * (i * wide - visible_width(line)) + part if part else ""
        lines.append(line)
    return lines


def visible_width(line: str) -> int:
    """Return how many columns a line takes on the screen."""
    return cell_len(ESCAPES.sub("", line))


def shorten_name(name: str, most: int) -> str:
    """Cut a name in the middle to columns of the screen: versions differ at their ends."""
    if cell_len(name) <= most:
        return name
    tail = _start_that_fits(name[::-1], (most - 1) // 2)[::-1]
    return f"{_start_that_fits(name, most - 1 - cell_len(tail))}…{tail}"


def shorten_names_apart(names: Sequence[str], most: int) -> dict[str, str]:
    """Cut names as `shorten_name` does; those that would look the same are cut where they
    differ.
    """
    cut = {name: shorten_name(name, most) for name in names}
    alike: dict[str, list[str]] = {}
    for name, text in cut.items():
        alike.setdefault(text, []).append(name)
    for group in alike.values():
        if len(group) > 1 and most >= SHORTEST:
            columns = enumerate(zip(*group, strict=False))
            parting = next((i for i, here in columns if len({*here}) > 1), min(map(len, group)))
            same = max(parting - 1, 0)
            head = f"{_start_that_fits(group[0][:same], most // 3)}…"
            ends = shorten_names_apart([name[same:] for name in group], most - cell_len(head))
            cut |= {name: head + ends[name[same:]] for name in group}
    return cut


def _start_that_fits(text: str, most: int) -> str:
    """Return as much of a text as fits."""
    found = ""
    for char in text:
        if cell_len(found + char) > most:
            break
        found += char
    return found


def _number_widths(headings: Sequence[str], entries: Sequence[KeyEntry]) -> list[int]:
    columns = zip(headings[1:], *(entry.numbers for entry in entries), strict=True)
    return [max(map(len, column)) + 2 for column in columns]


def marker_color(char: str) -> str:
    """Return the ANSI code that helps to tell one marker from the next."""
    place = MARKERS.find(char)
    return "1" if place < 0 else f"1;{HUES[place % len(HUES)]}"
