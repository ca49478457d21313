"""2,000 damaged files and 1,000 senseless command lines: all are answered.

Exit 0, 2 or 3, no traceback, no warning of Python, nothing on stderr that steers a terminal.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import clfeval as clfeval_
from tests.attack.mutants import TABLES, WRITERS, mutated
from tests.attack.words import line
from tests.process.program import clfeval, piped
from tests.process.runner import Done

FILES, LINES, PARTS = 2000, 1000, 20
ESCAPES = "\x1b[31m\u202e"  # in names of files

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("mars",),
    ("mars", "--target", "negative"),
    ("mars", "--list", "found", "--best", "1"),
    ("mars", "--missing", "drop", "--sweep"),
    ("phidelta",),
    ("phidelta", "--curve"),
    ("phidelta", "--features"),
    ("phidelta", "--features", "--missing", "drop", "--cut", "best"),
    ("tune-jpt",),
    ("tune-jpt", "--prevalence", "1:9", "--show", "all"),
    ("mlcps",),
    ("mlcps", "--from", "predictions"),
    ("mars", "--by", "id"),
    ("mars", "--null-value", "nan"),
)
FORMS = ("table", "json", "csv", "markdown")


def check(done: Done, said: Sequence[str] | str, form: str = "json") -> None:
    """See that the program answered as it should."""
    assert done.code in (0, 1, 2, 3), (said, done.err[-2000:])
    assert "Traceback" not in done.err, said
    assert "Warning:" not in done.err, (said, done.err)
    steering = [c for c in done.err if not c.isprintable() and c != "\n"]
    assert steering == [], (said, done.err)
    if done.code in (2, 3) and "--dry-run" not in said:
        assert done.err, said
        assert done.out == "", said
    if form in ("table", "markdown"):
        assert [c for c in done.out if not c.isprintable() and c != "\n"] == [], (said, done.out)


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("folder")]


@pytest.mark.parametrize("part", range(PARTS))
def test_damaged_files(part: int) -> None:
    share = FILES // PARTS
    for number in range(part * share, (part + 1) * share):
        dice = random.Random(number)
        (_, form), content = dice.choice(sorted(TABLES.items()))
        name = dice.choice(("m.", f"{ESCAPES}m.")) + form
        words, view = dice.choice(COMMANDS), dice.choice(FORMS)
        Path(name).write_bytes(damaged := mutated(content, dice))
        table = "-" if dice.randrange(8) == 0 else name
        words = (words[0], table, *words[1:], "-f", view)
        done = piped(damaged if table == "-" else b"", *words)
        assert done.code != 1, (number, words)  # no gate was asked for
        check(done, f"file {number}: {words}", view)


@pytest.fixture
def beside(folder: Path) -> Path:
    """A folder with a table of every kind."""
    for kind, name in (("wide", "t"), ("counts", "c"), ("metrics", "m"), ("long", "l")):
        for form in WRITERS:
            (folder / f"{name}.{form}").write_bytes(TABLES[kind, form])
    return folder


@pytest.mark.parametrize("part", range(PARTS))
def test_senseless_command_lines(part: int, beside: Path) -> None:
    share, before = LINES // PARTS, (beside / "t.csv").read_bytes()
    for number in range(part * share, (part + 1) * share):
        words = line(random.Random(number))
        done = piped(TABLES["wide", "csv"], *words)
        check(done, f"line {number}: {words}")
        if "t.csv" in words:  # what is read is never replaced
            assert (beside / "t.csv").read_bytes() == before
        (beside / "t.csv").write_bytes(before)
        for name in os.listdir():
            assert not name.startswith(".clfeval"), (number, words)
        if Path("o.json").exists():
            json.loads(Path("o.json").read_text(encoding="utf-8"))


CELLS: tuple[Any, ...] = (
    0,
    1,
    0.5,
    -0.0,
    float("nan"),
    float("inf"),
    2**70,
    None,
    "yes",
    "no",
    "",
    "\x1b[31m",
    True,
)
NO_CELLS: tuple[Any, ...] = ([1], (2,), {"a": 1}, b"x", 1j, object(), pd.NaT, set())
NAMES: tuple[Any, ...] = ("truth", "id", "a", "b", 0, 1, 1.5, ("a", "x"), ("a", ""), None, "", "a ")
CALLS = (clfeval_.mars, clfeval_.phidelta, clfeval_.tune_jpt, clfeval_.mlcps, clfeval_.report)


@pytest.mark.parametrize("part", range(PARTS))
def test_senseless_frames(part: int) -> None:
    """1,000 frames of pandas with any names and cells: an answer, or an error of our own."""
    share, answers = LINES // PARTS, 0
    for number in range(part * share, (part + 1) * share):
        dice = random.Random(number)
        names = ["truth", *dice.choices(NAMES, k=dice.choice((1, 2, 3)))]
        kinds = [
            (0, 1),
            *([dice.choice(((0, 1), (0.1, 0.7), ("yes", "no"), CELLS, (*CELLS, *NO_CELLS)))] * 3),
        ]
        cells = [[dice.choice(kind) for _ in range(12)] for kind in kinds[: len(names)]]
        frame = pd.DataFrame(dict(enumerate(cells)))
        frame.columns = pd.Index(names, dtype=object)
        with suppress(clfeval_.ClfevalError):
            answers += bool(dice.choice(CALLS)(frame).summary)
    assert answers, part


def test_damage_is_found_at_all() -> None:
    """Some files are read and some refused: the attack reaches the readers."""
    codes = set()
    for number in range(40):
        dice = random.Random(number)
        Path("m.csv").write_bytes(mutated(TABLES["wide", "csv"], dice))
        codes.add(clfeval("mars", "m.csv").code)
    assert codes == {0, 3}
