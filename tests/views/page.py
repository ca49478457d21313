"""What every page must keep to, whatever its command."""

from __future__ import annotations

import re

from clfeval.result import Result
from clfeval.schema import ALL
from clfeval.views.plots import plots
from clfeval.views.render import Section, fold, section
from clfeval.views.terminal import as_text


def same_without_colour(result: Result) -> None:
    """Check that colour changes nothing but the codes of colour, and steers nothing else."""
    plain, colored = (
        as_text(result, width=80, color=c, plots=plots(result, width=80, color=c))
        for c in (False, True)
    )
    assert "\x1b" not in plain
    assert "\x07" not in colored
    without = re.sub(r"\x1b\[[\d;]*m", "", colored)
    assert [line.rstrip() for line in without.splitlines()] == plain.splitlines()


def sections(result: Result) -> list[Section]:
    """Return all tables of a page."""
    page = fold(result, (ALL,))
    return [section(one, result, wide=page.wide) for one in page.opened]
