"""The example batch with one line broken: keys, values, indentation, signs of YAML."""

from __future__ import annotations

import random
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "fixtures" / "suite" / "suite.yaml"
WORDS = (
    "null",
    "true",
    "no",
    "01",
    "1e400",
    "-1",
    ".nan",
    "0x10",
    "[]",
    "{}",
    "[1, [2]]",
    "{a: b}",
    "''",
    "'x'",
    "*unset",
    "&a *a",
    "!!str x",
    "!!python/object:os.system x",
    "${unset}",
    "${",
    "$$",
    "@x",
    "%x",
    "`x`",
    "- x",
    "? x",
    "x: y: z",
    "'open",
    "[open",
    "{open",
    "\t",
    "é",
    "\u202e",
    "9" * 400,
    "2026-11-22",
    "12:30",
    "~",
    "<<: *screening",
    "-",
    "/",
    "..",
    "{run: x}",
    "{run: ranking}",
    "{run: 1, table: []}",
    "[[[[]]]]",
    '"\\x"',
    "|",
    ">-",
    "#",
    ": :",
)
KEYS = (
    "version",
    "set",
    "runs",
    "defaults",
    "command",
    "input",
    "inputs",
    "matrix",
    "exclude",
    "baseline",
    "save",
    "threshold",
    "measure",
    "positive",
    "fail-under",
    "max_drop",
    "digits",
    "labels",
    "weight",
    "direction",
    "rescale",
    "desirability",
    "odds",
    "counts",
    "cost",
    "margin",
    "with",
    "from",
    "best-threshold",
    "abstain",
    "isometrics",
    "prevalence",
    "points",
    "x-more",
    "thresholds",
    "truth_table",
    "compare",
    "level",
    "seed",
    "resamples",
    "by",
    "cluster",
    "table",
    "show",
    "null-value",
    "decimal",
    "join",
    "benefit",
    "sweep",
    "cut",
    "lists",
    "subsets",
)


MORE = """\
  compared:
    command: mars
    input: ../breast-cancer/labels.csv
    fail-under: {"any:recall": 0.5}
    baseline: {input: "{name}.json", missing: skip, max-drop: {recall: [0.01, "2%"]}}
history: {file: past.jsonl, label: W47, accept: true}
"""


def text() -> str:
    """The example with a baseline and a history, its tables named absolutely."""
    every = SUITE.read_text(encoding="utf-8") + MORE
    return every.replace("../", f"{ROOT / 'fixtures'}/")


def mutated(number: int, whole: str | None = None) -> str:
    """Return a batch, by default the example, with a line broken.

    The lines take turns; equal numbers give one text.
    """
    dice = random.Random(number)
    lines = (text() if whole is None else whole).splitlines()
    at = number % len(lines)
    line = lines[at]
    kinds = (_letter, _value, _value, _key, _indent, _cut, _twice, _more, _inside)
    lines[at : at + 1] = dice.choice(kinds)(line, dice)
    return "\n".join(lines) + "\n"


def _letter(line: str, dice: random.Random) -> list[str]:
    place = dice.randrange(len(line) + 1)
    kept = dice.randrange(2)
    return [
        line[:place] + dice.choice("x:-[]{},&*!|>'\"%@`# \t$0\u00e9\x07") + line[place + kept :]
    ]


def _value(line: str, dice: random.Random) -> list[str]:
    key, colon, _ = line.partition(":")
    return [f"{key}{colon} {dice.choice(WORDS)}"]


def _key(line: str, dice: random.Random) -> list[str]:
    return [re.sub(r"[\w-]+(?=:)", dice.choice(KEYS), line, count=1)]


def _indent(line: str, dice: random.Random) -> list[str]:
    return [" " * dice.randrange(6) + line.lstrip()]


def _cut(line: str, dice: random.Random) -> list[str]:
    return [line[: dice.randrange(len(line) + 1)]]


def _twice(line: str, dice: random.Random) -> list[str]:
    return [line, line]


def _more(line: str, dice: random.Random) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    return [line, f"{indent}{dice.choice(KEYS)}: {dice.choice(WORDS)}"]


def _inside(line: str, dice: random.Random) -> list[str]:
    """Put another value in place of one within brackets, or of a key there."""
    found = [*re.finditer(r"[\w./${}-]+", line)]
    one = dice.choice(found) if found else None
    word = dice.choice((*WORDS, *KEYS))
    return [line[: one.start()] + word + line[one.end() :]] if one else [word]
