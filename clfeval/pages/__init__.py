"""Pages: the tables, headline and charts, as data, of the results of each command."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from clfeval import COMMANDS
from clfeval.pages.schema import Page

DRY_RUN = "dry-run"  # a result of every command
HISTORY = "history"  # likewise, of the lines of earlier runs
SUITE = "suite"  # likewise, of a batch
NO_PAGE = Page("", (), lambda _: [""], lambda *_: (), lambda _: ())


@cache
def page_of(command: str) -> Page:
    """Return the page of a command, without importing others."""
    if command not in (*COMMANDS, DRY_RUN, HISTORY, SUITE):
        return NO_PAGE
    page: Page = import_module(f"clfeval.pages.{command.replace('-', '_')}").PAGE
    return page
