"""What tests of batches share: files in a folder, a batch planned or run as the shell does."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from clfeval.cli.output import Output
from clfeval.errors import UsageError
from clfeval.suite.plan import Plan, build_plan
from tests.results import problem_codes
from tests.texts import check_text

ROWS = "id,truth,a,b\n1,1,.9,.2\n2,1,.8,.7\n3,0,.3,.6\n4,0,.1,.4\n5,1,.6,.9\n6,0,.2,.1\n"


def write_batch(folder: Path, text: str, name: str = "suite.yaml") -> str:
    """Write a file and a table beside it; return its name."""
    (folder / "t.csv").write_text(ROWS)
    path = folder / name
    path.write_text(dedent(text), encoding="utf-8")
    return str(path)


def plan_of(folder: Path, text: str, **given: tuple[str, ...]) -> Plan:
    """Return the plan of a batch."""
    return build_plan([write_batch(folder, text)], Output, **given)


def refused(folder: Path, text: str, **given: tuple[str, ...]) -> list[str]:
    """Return what is wrong with a batch, line by line, its folder left out."""
    with pytest.raises(UsageError) as caught:
        plan_of(folder, text, **given)
    return [line.replace(f"{folder}/", "") for line in caught.value.lines(verbose=True)]


def problems(folder: Path, text: str, *, kept: bool = True, **given: tuple[str, ...]) -> list[str]:
    """Return where which problems of a batch are: `6:5 configuration`; what is said is kept."""
    with pytest.raises(UsageError) as caught:
        plan_of(folder, text, **given)
    if kept:
        check_text(line.replace(f"{folder}/", "") for line in caught.value.lines(verbose=True))
    places = ((one.file or "").rpartition("suite.yaml:")[2] for one in caught.value.problems)
    codes = problem_codes(caught.value)
    return [f"{place} {code}".strip() for place, code in zip(places, codes, strict=True)]
