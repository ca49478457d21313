"""The Markdown view: a marker for bots, one verdict line, tables, details folded away."""

from __future__ import annotations

from collections.abc import Iterator

from clfeval.pages.write import DIGITS
from clfeval.result import Result
from clfeval.views.render import Section, gate_lines, headline, reasons, sections


def markdown_lines(result: Result, *, digits: int = DIGITS) -> Iterator[str]:
    """Yield the document line by line; at most a few dozen rows of each table."""
    yield f"<!-- clfeval:{result.command} -->\n"
    first, *others = headline(result)
    yield f"**{escape(first)}**\n\n"
    for line in others:
        yield f"- {escape(line)}\n"
    yield "\n"
    gates, left_out = gate_lines(result)
    for gate in gates:
        yield f"- {'✅' if gate.passed else '❌'} {escape(str(gate))}\n"
    if left_out:
        yield f"- {escape(left_out)}\n"
    shown, *folded = sections(result, digits=digits)
    yield from _table(shown)
    if folded:
        yield "\n<details><summary>More tables</summary>\n"
        for part in folded:
            yield from _table(part)
        yield "\n</details>\n"
    for reason in reasons(result):
        yield f"\n{escape(reason)}\n"
    for warning in result.warnings:
        yield f"\n> {escape(warning.message)}\n"
    yield f"\n`{result.signature}`\n"


def _table(part: Section) -> Iterator[str]:
    yield f"\n{escape(part.title)}\n\n"
    if not part.rows:
        yield "none\n"
        return
    yield "| " + " | ".join(map(escape, part.headings)) + " |\n"
    yield "|" + "|".join("---:" if strip.numeric else ":---" for strip in part.strips) + "|\n"
    for row in part.rows:
        yield "| " + " | ".join(map(escape, row)) + " |\n"
    if part.note:
        yield f"\n{escape(part.note)}\n"


def escape(text: str) -> str:
    """Keep user text from being read as Markdown or HTML."""
    for character in "\\`*_{}[]<>|#~":
        text = text.replace(character, f"\\{character}")
    return text.replace("&", "&amp;").replace("\n", " ")
