"""The meaning of a heading, a measure or a code, asked for by name and without a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import TextWrapper
from typing import TYPE_CHECKING

import typer

from clfeval.cli.output import print_result, screen_for
from clfeval.errors import UsageError, suggestion

if TYPE_CHECKING:
    from clfeval.methods.measured.asked import Askable

NARROWEST = 30  # columns that lines are folded to at the least
MEASURES = "measures"  # names all of them
WIDTH = 80  # where nobody says how wide the screen is


def of_command(ctx: typer.Context, name: str | None) -> None:
    """Print what a name means in the command at hand, and leave."""
    if name is None or ctx.resilient_parsing:
        return
    from clfeval.pages import HISTORY, SUITE, page_of
    from clfeval.pages.explain import ALL, everything, explained, known_names

    if name == MEASURES:
        from clfeval.methods.measured.listed import listed

        lines = listed(str(ctx.info_name), known_to(str(ctx.info_name)))
        print_result([f"{line}\n" for line in lines], for_people=True)
        raise typer.Exit
    page = page_of(str(ctx.info_name))
    others = {"a history": page_of(HISTORY), "a batch": page_of(SUITE)}
    if name.strip().casefold() == ALL:
        parts = list(everything(page))
    else:
        terms = explained(page, name)
        terms += [
            replace(term, tables=tuple(f"{table} of {whose}" for table in term.tables))
            for whose, other in others.items()
            for term in explained(other, name)
            if term.tables and term.short and term not in terms
        ]
        known = [term.measure in [one.measure for one in terms[:i]] for i, term in enumerate(terms)]
        parts = [
            (term.called, list(term.lines(known=said)))
            for term, said in zip(terms, known, strict=True)
        ]
    if not parts:
        from clfeval.methods.measured.asked import refuse

        refuse(name, "--explain")
        every = f"{ctx.command_path} --explain {ALL} lists every name"
        known_here = [one for here in (page, *others.values()) for one in known_names(here)]
        hint = suggestion(name, known_here) or every
        raise UsageError.of(
            f"no heading, measure or code is named '{name}'", "bad-option", hint=hint
        )
    width = max(screen_for().width or WIDTH, NARROWEST)
    text = "\n".join(_laid_out(parts, width))
    print_result([f"{text}\n"], for_people=True)
    raise typer.Exit


def _laid_out(parts: Sequence[tuple[str, Sequence[str]]], width: int) -> Iterator[str]:
    """Yield lines no longer than the screen, what is said of a name below it."""
    fold = TextWrapper(
        width, initial_indent="  ", subsequent_indent="    ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    for number, (title, lines) in enumerate(parts):
        if number:
            yield ""
        yield title
        for line in lines:
            yield from fold.wrap(line)


def known_to(command: str) -> Askable:
    """Return the measures a command can be asked for."""
    from clfeval.methods.measured import asked

    if command == "tune-jpt":
        from clfeval.methods.tune_jpt.asked import KNOWN

        return KNOWN
    if command == "mlcps":
        from clfeval.methods.mlcps import asked as folded

        return folded.KNOWN
    return asked.OF_PREDICTIONS if command == "report" else asked.OF_TWO_CLASSES
