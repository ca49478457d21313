"""The paper's example gives one JSON document, from any layout, format or pipe."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from clfeval import mars
from tests.process import program

FOLDER = Path(__file__).parent.parent.parent / "fixtures" / "mars-paper"
TABLES = ("wide.csv", "wide.parquet", "long.csv", "long.parquet", "long-readme.csv")
OPTIONS = ("", "--subsets all --best 4")


def text_without_input(table: str, options: str, *, piped: bool) -> str:
    """Return the JSON of a run with the input's name and hash blanked out."""
    words = ["mars", "-" if piped else str(FOLDER / table), "-q", "-f", "json", *options.split()]
    done = program.piped((FOLDER / table).read_bytes() if piped else b"", *words)
    assert (done.code, done.err) == (0, "")
    text = re.sub(r'"name": "[^"]+", "sha256": "[0-9a-f]{64}"', "INPUT", done.out)
    return re.sub(r"data:[0-9a-f]{8}", "data:HASH", text)


@pytest.mark.parametrize("options", OPTIONS)
def test_every_twin_gives_the_same_bytes(options: str) -> None:
    first = text_without_input(TABLES[0], options, piped=False)
    assert "INPUT" in first
    assert "data:HASH" in first
    for table in TABLES:
        for piped in (False, True):
            assert text_without_input(table, options, piped=piped) == first, (table, piped)


@pytest.mark.parametrize(
    "options", [{"occlusion": "any", "best": 4}, {"target": "negative", "subsets": 2}]
)
def test_so_do_options_that_python_alone_has(options: dict[str, Any]) -> None:
    results = [mars(FOLDER / table, **options) for table in TABLES]
    assert all(result.tables == results[0].tables for result in results)
