"""The guides that come with the program: one for each command, for tables, gates and numbers."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import typer

from clfeval.cli.output import print_result
from clfeval.errors import UsageError, suggestion

FOLDER = Path(__file__).parent.parent / "guide"
COMMAND = re.compile(r"^\$ .+$", re.MULTILINE)  # in a block of a guide
BREAKS = re.compile(r" (?=--|\||clfeval )")
CONTINUES = " \\"
MARGIN = 2  # columns a block takes beside its text
NO_PAGER = (126, 127)  # what a shell answers when it cannot run something


def guide_names() -> list[str]:
    """Return the names of the guides."""
    return sorted(file.stem for file in FOLDER.glob("*.md"))


def show_guide(name: str) -> None:
    """Print a guide, laid out and paged on a terminal; UsageError where there is none."""
    if name not in guide_names():
        hint = suggestion(name, guide_names()) or f"one of {', '.join(guide_names())}"
        raise UsageError.new(f"no guide '{name}'", "bad-option", hint=hint)
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    if sys.stdout is None or not sys.stdout.isatty():
        print_result([text], for_people=True)
        return
    import subprocess

    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(color_system=None)  # no styles: not every pager passes them on
    with console.capture() as laid_out:
        console.print(
            Markdown(COMMAND.sub(lambda line: break_command(line[0], console.width), text))
        )
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a pager that reads no further ends nothing
    pager = os.environ.get("PAGER") or "less"
    done = subprocess.run(pager, shell=True, input=laid_out.get().encode(), check=False)
    if done.returncode in NO_PAGER:
        print_result([laid_out.get()], for_people=True)


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


def print_guide(name: str | None) -> None:
    """Print a guide by its name, and leave."""
    if name is not None:
        show_guide(name)
        raise typer.Exit
