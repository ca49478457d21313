"""2,500 damaged tables, each for two commands, and 2,000 senseless command lines: all are answered.

Exit 0, 2 or 3, no traceback, no warning of Python, nothing on stderr that steers a terminal.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import clfeval as clfeval_
from tests.attack.attempts import answer, numbers
from tests.attack.mutants import TABLES, WRITERS, mutated
from tests.attack.words import LONG, command_line, other_command_line
from tests.process.program import clfeval
from tests.thoroughness import thinned

FILES, LINES, FRAMES, PARTS = 2500, 2000, 1000, 100
SHARES = thinned(range(PARTS), [0])  # the gate runs the first
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


pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.parametrize("part", SHARES)
def test_damaged_tables_are_read_or_refused(part: int) -> None:
    codes = Counter[int]()
    for number in numbers(FILES, part, PARTS):
        dice = random.Random(f"table {number}")
        (_, form), content = dice.choice(sorted(TABLES.items()))
        name = dice.choice(("m.", f"{ESCAPES}m.")) + form
        damaged = mutated(content, dice)
        Path(name).write_bytes(damaged)
        for command in dice.sample(COMMANDS, 2):
            view = dice.choice(FORMS)
            table = "-" if dice.randrange(8) == 0 else name
            words = (command[0], table, *command[1:], "-f", view)
            piped_content = damaged if table == "-" else b""
            run = answer(f"table {number}", *words, content=piped_content, form=view)
            assert run.code != 1, (number, words)  # no gate was asked for
            codes[run.code] += 1
    print(f"damaged tables, part {part}: {dict(codes)}")
    assert codes[3] > codes.total() / 2


@pytest.fixture
def tables_of_every_kind(folder: Path) -> Path:
    """A folder with a table of every kind."""
    for kind, name in (("wide", "t"), ("counts", "c"), ("metrics", "m"), ("long", "l")):
        for form in WRITERS:
            (folder / f"{name}.{form}").write_bytes(TABLES[kind, form])
    added = clfeval("mars", "t.csv", "--append", "h.jsonl", "--label", "W1")
    assert added.code == 0, added.err
    batch = {"version": 1, "runs": {"r": {"command": "mars", "input": "t.csv"}}}
    (folder / "s.yaml").write_text(json.dumps(batch), encoding="utf-8")
    return folder


@pytest.mark.parametrize("part", SHARES)
def test_senseless_command_lines_are_answered(part: int, tables_of_every_kind: Path) -> None:
    table = tables_of_every_kind / "t.csv"
    content_of_table = table.read_bytes()
    codes = Counter[int]()
    for number in numbers(LINES, part, PARTS):
        dice = random.Random(f"line {number}")
        words = other_command_line(dice, LONG) if number % 8 == 7 else command_line(dice, LONG)
        run = answer(f"line {number}", *words, content=TABLES["wide", "csv"])
        codes[run.code] += 1
        if "t.csv" in words:  # what is read is never replaced
            assert table.read_bytes() == content_of_table
        table.write_bytes(content_of_table)
        for name in os.listdir():
            assert not name.startswith(".clfeval"), (number, words)
        if Path("o.json").exists():
            json.loads(Path("o.json").read_text(encoding="utf-8"))
    print(f"command lines, part {part}: {dict(codes)}")
    assert codes[2] > codes.total() / 4


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


@pytest.mark.parametrize("part", SHARES)
def test_senseless_frames(part: int) -> None:
    """1,000 frames of pandas with any names and cells: an answer, or an error of our own."""
    answers = 0
    for number in numbers(FRAMES, part, PARTS):
        dice = random.Random(f"frame {number}")
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
    print(f"frames, part {part}: {answers} answers")
    assert answers or part  # of ten frames of a part, none may be one that can be evaluated


def test_damage_is_found_at_all() -> None:
    """Some files are read and some refused: the attack reaches the readers."""
    codes = set()
    for number in range(40):
        dice = random.Random(number)
        Path("m.csv").write_bytes(mutated(TABLES["wide", "csv"], dice))
        codes.add(clfeval("mars", "m.csv").code)
    assert codes == {0, 3}
