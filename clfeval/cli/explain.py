"""The meaning of a heading, a measure or a code, asked for by name and without a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import TextWrapper
from typing import TYPE_CHECKING

import typer

from clfeval.cli.output import detect_screen, print_result
from clfeval.errors import UsageError, suggestion

if TYPE_CHECKING:
    from clfeval.methods.measured.asked import AvailableMeasures

NARROWEST = 30  # columns that lines are folded to at the least
MEASURES = "measures"  # names all of them
WIDTH = 80  # where nobody says how wide the screen is


def explain_name(ctx: typer.Context, name: str | None) -> None:
    """Print what a name means in the command at hand, and leave."""
    if name is None or ctx.resilient_parsing:
        return
    from clfeval.pages import HISTORY, SUITE, page_of
    from clfeval.pages.explain import ALL, explain_page, explainable_names, find_terms

    if name == MEASURES:
        from clfeval.methods.measured.listed import list_measures

        lines = list_measures(str(ctx.info_name), askable_measures(str(ctx.info_name)))
        print_result([f"{line}\n" for line in lines], for_people=True)
        raise typer.Exit
    page = page_of(str(ctx.info_name))
    others = {"a history": page_of(HISTORY), "a batch": page_of(SUITE)}
    if name.strip().casefold() == ALL:
        parts = list(explain_page(page))
    else:
        terms = find_terms(page, name)
        terms += [
            replace(term, tables=tuple(f"{table} of {whose}" for table in term.tables))
            for whose, other in others.items()
            for term in find_terms(other, name)
            if term.tables and term.short and term not in terms
        ]
        known = [term.measure in [one.measure for one in terms[:i]] for i, term in enumerate(terms)]
        parts = [
            (term.called, list(term.lines(known=said)))
            for term, said in zip(terms, known, strict=True)
        ]
    if not parts:
        from clfeval.methods.measured.asked import refuse_misleading_measure

        refuse_misleading_measure(name, "--explain")
        every = f"{ctx.command_path} --explain {ALL} lists every name"
        known_here = [one for here in (page, *others.values()) for one in explainable_names(here)]
        hint = suggestion(name, known_here) or every
        raise UsageError.new(
            f"no heading, measure or code is named '{name}'", "bad-option", hint=hint
        )
    width = max(detect_screen().width or WIDTH, NARROWEST)
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


def askable_measures(command: str) -> AvailableMeasures:
    """Return the measures a command can be asked for."""
    from clfeval.methods.measured import asked

    if command == "tune-jpt":
        from clfeval.methods.tune_jpt.asked import TUNE_JPT_MEASURES

        return TUNE_JPT_MEASURES
    if command == "mlcps":
        from clfeval.methods.mlcps import asked as folded

        return folded.MLCPS_MEASURES
    return asked.OF_PREDICTIONS if command == "report" else asked.OF_TWO_CLASSES
