"""The page of each command, imported when it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from clfeval.pages.schema import DRY_RUN, HISTORY, SUITE, Page

NO_PAGE = Page("", (), lambda _: [""], lambda *_: (), lambda _: ())
# the module of each page, and its name there
_PLACES: Mapping[str, tuple[str, str]] = {
    "report": ("clfeval.pages.report", "PAGE"),
    "mars": ("clfeval.pages.mars", "PAGE"),
    "phidelta": ("clfeval.pages.phidelta", "PAGE"),
    "tune-jpt": ("clfeval.pages.tune_jpt", "PAGE"),
    "mlcps": ("clfeval.pages.mlcps", "PAGE"),
    "recalibrate": ("clfeval.pages.recalibrate", "PAGE"),
    "count": ("clfeval.pages.count", "PAGE"),
    DRY_RUN: ("clfeval.pages.batches", "DRY_RUN_PAGE"),
    HISTORY: ("clfeval.pages.batches", "HISTORY_PAGE"),
    SUITE: ("clfeval.pages.batches", "SUITE_PAGE"),
}


@cache
def page_of(command: str) -> Page:
    """Return the page of a command, without importing others; an empty one if it has none."""
    if command not in _PLACES:
        return NO_PAGE
    module_name, page_name = _PLACES[command]
    page: Page = getattr(import_module(module_name), page_name)
    return page
