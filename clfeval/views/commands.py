"""Which page belongs to which command: its headline, its tables in reading order, its plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from clfeval.result import Result
from clfeval.views import mars, mlcps, phidelta, tune_jpt
from clfeval.views.rows import DIGITS, Section


class Page(Protocol):
    """What a command's module of views offers."""

    def headline(self, result: Result, /) -> list[str]:
        """Return the lines on top."""

    def sections(self, result: Result, /, *, digits: int = DIGITS) -> list[Section]:
        """Return the tables in reading order."""


PAGES: Mapping[str, Page] = {
    "mars": mars, "mlcps": mlcps, "phidelta": phidelta, "tune-jpt": tune_jpt,
}  # fmt: skip


def headline(result: Result) -> list[str]:
    """Return the lines on top: what was read and what the measures mean here."""
    return PAGES[result.command].headline(result)


def sections(result: Result, *, digits: int = DIGITS) -> list[Section]:
    """Return the tables in reading order."""
    return PAGES[result.command].sections(result, digits=digits)


def plots(result: Result, *, width: int, color: bool) -> str:
    """Draw the command's plots; a drawing library is loaded only where one is needed."""
    if result.command == "phidelta":
        from clfeval.views.diamond import phidelta_plots

        return phidelta_plots(result, width=width, color=color)
    if result.command == "tune-jpt":
        from clfeval.views.tune_jpt_plots import tune_jpt_plots

        return tune_jpt_plots(result, width=width, color=color)
    if result.command == "mlcps":
        from clfeval.views.mlcps_plots import mlcps_plots

        return mlcps_plots(result, width=width, color=color)
    from clfeval.views.plots import mars_plots

    return mars_plots(result, width=width, color=color)
