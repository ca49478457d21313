"""The Markdown view: a marker for bots, one verdict line, tables, details folded away."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import zip_longest

from clfeval.result import Result
from clfeval.views.render import (
    BEST,
    STATES,
    Section,
    beside,
    fold,
    gate_lines,
    headline,
    reasons,
    section,
)
from clfeval.words import DIGITS, tame


def markdown_lines(
    result: Result, *, digits: int = DIGITS, names: Collection[str] = (), only: str | None = None
) -> Iterator[str]:
    """Yield the document line by line; at most a few dozen rows of each table."""
    page = fold(result, names, digits, only)
    if only is not None:
        for one in page.opened:
            yield from _table(section(one, result, digits, wide=page.wide))
        return
    yield f"<!-- clfeval:{result.command} -->\n"
    first, *others = headline(result)
    yield f"**{escape(first)}**\n\n"
    for sentence in result.answer:
        yield f"{escape(sentence.text)}\n\n"
    for line in others:
        yield f"- {escape(line)}\n"
    yield "\n"
    gates, left_out = gate_lines(result)
    for gate in gates:
        yield f"- {STATES[gate.state]} {escape(str(gate))}\n"
    if left_out:
        yield f"- {escape(left_out)}\n"
    for one in page.opened:
        yield from _table(section(one, result, digits, wide=page.wide))
    if names:
        yield from _drawn(result, names)
    if page.folded:
        yield "\n<details><summary>More tables</summary>\n"
        for one in page.folded:
            yield from _table(section(one, result, digits))
        yield "\n</details>\n"
    for reason in reasons(result, (*page.opened, *page.folded)):
        yield f"\n{escape(reason)}\n"
    for warning in result.warnings:
        yield f"\n> {escape(warning.message)}\n"
    yield f"\n`{result.signature}`\n"
    for _, other, shown in beside(result, names):
        yield "\n"
        yield from markdown_lines(other, digits=digits, names=shown)


def _table(part: Section) -> Iterator[str]:
    yield f"\n{escape(part.title)}\n\n"
    if not part.rows:
        yield "none\n"
        return
    yield "| " + " | ".join(map(escape, part.headings)) + " |\n"
    yield "|" + "|".join("---:" if strip.numeric else ":---" for strip in part.strips) + "|\n"
    for row, sign in zip_longest(part.rows, part.signs):
        cells = (f"**{cell}**" if sign == BEST and cell else cell for cell in map(escape, row))
        yield "| " + " | ".join(cells) + " |\n"
    for line in (*part.legend, *([part.note] if part.note else [])):
        yield f"\n{escape(line)}\n"


def _drawn(result: Result, names: Collection[str]) -> Iterator[str]:
    """Yield the plots asked for as they are on a terminal, whatever their names hold."""
    from clfeval.views.plots import asked

    if text := asked(result, names):
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 0)
        yield f"\n{fence}text\n{text}{fence}\n"


def escape(text: str) -> str:
    """Keep user text from being read as Markdown or HTML, or steering a terminal."""
    text = tame(text)
    for character in "\\`*_{}[]<>|#~":
        text = text.replace(character, f"\\{character}")
    return text.replace("&", "&amp;").replace("\n", " ")
