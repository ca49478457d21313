"""Help by name: guides, explanations, examples, and words that mean another command."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any

import typer

from clfeval import COMMANDS
from clfeval.cli.output import detect_screen, print_result
from clfeval.compare.gates.limits import Gates
from clfeval.errors import (
    UsageError,
    bad_option,
    format_command_line,
    say_which_have_it,
    suggestion,
)
from clfeval.options.declaration import Command, Option, options_of
from clfeval.options.syntax import MEANT
from clfeval.output_files import Draft

if TYPE_CHECKING:
    from clfeval.methods.measurement.requested_measures import AvailableMeasures

Find = Callable[[str, str], Option | None]  # returns the option of a command by its flag
NO_TABLE = ("batch", "history")


@contextmanager
def suggest_other_commands(command: str, words: Sequence[str], find: Find) -> Iterator[None]:
    """Raise UsageError for an option that other commands have, naming them; words: arguments."""
    try:
        yield
    except Exception as error:  # recognised by its attributes: its class is not public
        flag = getattr(error, "option_name", "")
        every = (*COMMANDS, *NO_TABLE)
        owners = [(one, o) for one in every if flag.startswith("--") and (o := find(one, flag))]
        shells = [one for one, option in owners if option.opt.shell]
        own = dict(owners).get(command)
        if (not owners and flag not in MEANT) or (own and own.opt.shell):
            raise  # second case: the command has the option, and another error occurred
        if not owners:
            what = f"{command} has no {flag}"
            raise UsageError.new(what, "command-line", hint=f"use {MEANT[flag]}") from None
        if own or not shells:
            owner, option = (command, own) if own else owners[0]
            where = "result.check" if option in options_of(Gates) else f"clfeval.{owner}"
            where = where.replace("-", "_")
            what = f"{flag} exists in Python and in batches only"
            hint = f"in Python {where}({option.name}=...), in a batch {option.key}: ..."
            raise UsageError.new(what, "command-line", hint=hint) from None
        raise _command_error(
            f"{command} has no {flag}: {say_which_have_it(shells)}", [shells[0], *words]
        ) from None


def refuse_unknown_command(words: Sequence[str], find: Find) -> None:
    """Raise for an unknown command that is an option or a file, with the command to run."""
    word, flag = words[0], f"--{words[0]}"
    if word == "suite":
        raise _command_error(f"clfeval has no command '{word}'", ["batch", *words[1:]])
    if any((option := find(one, flag)) and option.opt.shell for one in COMMANDS):
        what = f"clfeval has no command '{word}': report has {flag}"
        raise _command_error(what, ["report", flag, *words[1:]])
    if os.path.isfile(word):
        command = "batch" if word.endswith((".yaml", ".yml")) else "report"
        raise _command_error(f"'{word}' is a file, not a command", [command, *words])


def _command_error(what: str, words: Sequence[str]) -> UsageError:
    return UsageError.new(what, "command-line", hint=format_command_line(["clfeval", *words]))


FOLDER = Path(__file__).parent.parent / "guide"
COMMAND = re.compile(r"^\$ .+$", re.MULTILINE)  # in a block of a guide
BREAKS = re.compile(r" (?=--|\||clfeval )")
CONTINUES = " \\"
MARGIN = 2  # columns of a block in addition to its text
NO_PAGER = (126, 127)  # exit codes of a shell for a command that cannot run


def guide_names() -> list[str]:
    """Return the names of the guides."""
    return sorted(file.stem for file in FOLDER.glob("*.md"))


def print_guide(name: str | None) -> None:
    """Print a guide, formatted and paged on a terminal, and exit; UsageError for an unknown one."""
    if name is None:
        return
    if name not in guide_names():
        hint = suggestion(name, guide_names()) or f"one of {', '.join(guide_names())}"
        raise bad_option(f"no guide '{name}'", hint)
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    if sys.stdout is None or not sys.stdout.isatty():
        print_result([text], for_people=True)
        raise typer.Exit
    import subprocess

    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(color_system=None)  # no styles: not every pager shows them
    text = COMMAND.sub(lambda line: break_command(line[0], console.width), text)
    with console.capture() as laid_out:
        console.print(Markdown(text))
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a pager may stop reading early
    pager = os.environ.get("PAGER") or "less"
    done = subprocess.run(pager, shell=True, input=laid_out.get().encode(), check=False)
    if done.returncode in NO_PAGER:
        print_result([laid_out.get()], for_people=True)
    raise typer.Exit


def break_command(line: str, width: int) -> str:
    """Break a long command between its options, so that it can be copied from the screen."""
    first, *parts = BREAKS.split(line)
    lines = [first]
    for part in parts:
        if len(lines[-1]) + 1 + len(part) + len(CONTINUES) > width - MARGIN:
            lines[-1] += CONTINUES
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}"
    return "\n".join(lines)


NARROWEST = 30  # minimum width that lines are folded to
MEASURES = "measures"  # lists all measures
WIDTH = 80  # if the width of the screen is unknown


def explain_name(ctx: typer.Context, name: str | None) -> None:
    """Print the meaning of a name in this command, and exit."""
    if name is None or ctx.resilient_parsing:
        return
    from clfeval.pages.explain import ALL, explain_page, explainable_names, find_terms
    from clfeval.pages.schema import HISTORY, SUITE, page_of

    if name == MEASURES:
        from clfeval.methods.measurement.measure_rows import list_measures

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
        parts = []
        for i, term in enumerate(terms):
            known = term.measure in [one.measure for one in terms[:i]]
            parts.append((term.title, list(term.lines(known=known))))
    if not parts:
        from clfeval.methods.measurement.requested_measures import refuse_measure

        refuse_measure(name, "--explain")
        every = f"{ctx.command_path} --explain {ALL} lists every name"
        known_here = [one for here in (page, *others.values()) for one in explainable_names(here)]
        hint = suggestion(name, known_here) or every
        raise bad_option(f"no heading, measure or code is named '{name}'", hint)
    fold = TextWrapper(
        max(detect_screen().width or WIDTH, NARROWEST), initial_indent="  ",
        subsequent_indent="    ", break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    texts = []
    for title, meanings in parts:
        rows = [row for line in meanings for row in fold.wrap(line)]
        texts.append("\n".join([title, *rows]))
    print_result(["\n\n".join(texts), "\n"], for_people=True)
    raise typer.Exit


def askable_measures(command: str) -> AvailableMeasures:
    """Return the measures that can be requested from a command."""
    if command == "tune-jpt":
        from clfeval.methods.tune_jpt.options import tunable_measures

        return tunable_measures()
    if command == "mlcps":
        from clfeval.methods.mlcps.answer import MLCPS_MEASURES

        return MLCPS_MEASURES
    from clfeval.methods.measurement import requested_measures

    if command == "report":
        return requested_measures.OF_PREDICTIONS
    return requested_measures.OF_TWO_CLASSES


TABLES = Path(__file__).parent.parent / "example"
READABLE = 0o644
TRIES = (
    ("report", "scores.csv", "--positive", "malignant"),
    ("mars", "labels.csv", "--positive", "malignant"),
    ("phidelta", "labels.csv", "--positive", "malignant"),
    ("tune-jpt", "scores.csv", "--positive", "malignant", "--prevalence", "0.01"),
    ("mlcps", "metrics.csv"),
)
EXAMPLE = Command(
    "example",
    (),
    have="no table yet",
    want="how it works, on a real table",
    help="Write example tables: predictions of six breast cancer classifiers.",
    examples="clfeval example\nclfeval example tables\n",
    tables="The folder; by default the current one. It is created if missing.",
    optional=True,
    files="DIR",
)


def write_example(_: Command, folders: Sequence[str], __: Mapping[str, Any]) -> None:
    """Write the example tables, and print commands to try; UsageError rather than overwrite."""
    if len(folders) > 1:
        raise bad_option("example takes one folder", f"clfeval example {folders[0]}")
    folder = Path(*folders)
    tables = {folder / one.name: one.read_text("utf-8") for one in sorted(TABLES.glob("*.csv"))}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in tables.items():
            if path.exists() and path.read_text("utf-8", errors="replace") != text:
                what = "a different file has this name"
                hint = "name another folder: clfeval example DIR"
                raise UsageError.new(what, "output", f"{path}", hint=hint)
        for path, text in tables.items():
            draft = Draft(path)
            try:
                draft.stream.write(text)
                draft.replace_target(READABLE)
            finally:
                draft.close()
    except OSError as error:
        what = f"cannot write the example: {error.strerror}"
        raise UsageError.new(what, "output", f"{folder}") from None
    lines = [f"Wrote {', '.join(map(str, tables))}. Now try, for example:\n"]
    for name, file, *more in TRIES:
        words = ["clfeval", name, str(folder / file), *more]
        lines.append(f"  {format_command_line(words)}\n")
    print_result(lines, for_people=True)
