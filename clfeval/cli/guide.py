"""The guides that come with the program: one for each command, for tables, gates and numbers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.resources import files
from typing import Any

import typer

from clfeval.cli.output import print_result
from clfeval.errors import UsageError, suggestion

NO_PAGER = (126, 127)  # what a shell answers when it cannot run something


def guides() -> list[str]:
    """Return the names of the guides."""
    return sorted(file.name.removesuffix(".md") for file in _folder().iterdir())


def show_guide(name: str) -> None:
    """Print a guide, laid out and paged on a terminal; UsageError where there is none."""
    if name not in guides():
        hint = suggestion(name, guides()) or f"one of {', '.join(guides())}"
        raise UsageError.of(f"no guide '{name}'", "bad-option", hint=hint)
    text = (_folder() / f"{name}.md").read_text(encoding="utf-8")
    if sys.stdout is None or not sys.stdout.isatty():
        print_result([text], for_people=True)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(no_color=True)
    with console.capture() as laid_out:  # without styles: not every pager passes them on
        console.print(Markdown(text), style="none")
    pager = os.environ.get("PAGER") or "less"
    plain = re.sub(r"\x1b\[[0-9;]*m", "", laid_out.get())
    done = subprocess.run(pager, shell=True, input=plain.encode(), check=False)
    if done.returncode in NO_PAGER:
        print_result([plain], for_people=True)


def of_command(ctx: typer.Context, wanted: bool) -> None:
    """Print the guide of the command at hand, and leave."""
    if wanted:
        show_guide(str(ctx.info_name))
        raise typer.Exit


def of_name(name: str | None) -> None:
    """Print a guide by its name, and leave."""
    if name is not None:
        show_guide(name)
        raise typer.Exit


def _folder() -> Any:
    return files("clfeval") / "guide"
