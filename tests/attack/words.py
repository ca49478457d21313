"""Command lines that chance writes from the declared options."""

from __future__ import annotations

import random
from collections.abc import Sequence

from clfeval import COMMANDS
from clfeval.cli.output import Output
from clfeval.compare.gates.limits import Gates
from clfeval.compare.history.file import HistoryOptions
from clfeval.methods.command_lookup import command_of
from clfeval.options.declaration import Option

VALUES = (
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "0.9",
    "1e-300",
    "1e308",
    "nan",
    "inf",
    "",
    " ",
    "x",
    "all",
    "*",
    "truth",
    "id",
    "a",
    "b",
    "s",
    "a=0.5",
    "=",
    "a=",
    "1:9",
    "1:1..1:9",
    "0:1",
    "1/3",
    "5%",
    ":",
    "a:recall=0.5",
    "roc_auc=\uff11",
    "recall[*]=0",
    "id < 12",
    "a > .5 or \"s\" in ('1')",
    "recall.low=0.1",
    "recall=0.5",
    "a,b",
    "\x1b[31m",
    "\x07\n",
    "é",
    "-",
    "--",
    "[red]",
    "%s",
    "{}",
    "g=a,b",
    "auc",
    "f1",
    "delta",
    "median",
    "10",
    "o.json",
    "no.csv",
    "id=a",
)
# values of other attempts than those that compare versions of the source
LONG = (
    *VALUES,
    "x" * 20_000,
    "é" * 20_000,
    "9" * 20_000,
    "A" * 300,
    "ü" * 200,
    "/no" * 3000,
    "x=" * 5000 + "0.5",
    "recall=" + "0" * 20_000 + ".5",
    "a," * 8000,
    "(" * 2000,
    "not " * 3000 + "a",
    "1:" + "9" * 5000,
    "\U0001f600",
    "\u202eevil",
    "\u2028",
    "e\u0301",
    "\ufeff",
    "\udcff",
    "\u0660",
    "½",
    "１",
    "∞",
    "-0",
    "+.5",
    "0x10",
    "1_0",
    "0.1.2",
    ".",
    "..",
    "~",
    "$(touch x)",
    "`touch x`",
    "; touch x",
    "a'b",
    'a"b',
    "a\\b",
    "\r\n",
    "[[]]",
    "recall[",
    "any:",
    "any:any:recall=0",
    "recall[site=*].low=1",
    "roc_auc.change=0",
    "2026-02-30",
)
FILES = ("t.csv", "t.parquet", "t.arrow", "t.ndjson", "c.csv", "m.csv", "l.csv", "no.csv", "-", ".")
OFTEN = (20, 3, 3, 3, 8, 8, 8, 1, 1, 1)
SAVED = ("o.json", "o.csv", "o.md", "o.html", "o.xml", "o", "no/o.json", "t.csv")
HISTORIES = ("h.jsonl", "h.jsonl", "no/h.jsonl", "t.csv", ".")
OPTIONS = {name: command_of(name).options(Output, Gates, HistoryOptions) for name in COMMANDS}


def command_line(dice: random.Random, values: Sequence[str] = VALUES) -> list[str]:
    """Return the words of one command line; values: of options that take any text."""
    command = dice.choice(COMMANDS)
    words = [command, *dice.choices(FILES, OFTEN, k=dice.choice((1, 1, 1, 2)))]
    for option in dice.sample(OPTIONS[command], dice.choice((0, 1, 1, 2, 2, 3, 6))):
        words += option_words(option, dice, values)
    if not dice.randrange(20):
        words.insert(dice.randrange(len(words)), dice.choice(values))
    return words


# commands without declared options of tables: their files, and options with any value
OTHERS = {
    "history": (HISTORIES, ("--label", "--command", "--show", "--format", "--save", "--accept")),
    "batch": (
        ("s.yaml", "s.yaml", "no.yaml", "t.csv", "."),
        ("--set", "--only", "--label", "--format", "--dry-run", "--accept", "--fail-fast"),
    ),
}
WITHOUT_VALUE = ("--accept", "--dry-run", "--fail-fast")


def other_command_line(dice: random.Random, values: Sequence[str]) -> list[str]:
    """Return the words of one command line of a history or a batch."""
    command = dice.choice([*OTHERS])
    files, flags = OTHERS[command]
    words = [command, *dice.choices(files, k=dice.choice((1, 1, 2)))]
    for flag in dice.sample(flags, dice.choice((0, 1, 1, 2, 3))):
        words.append(flag if flag in WITHOUT_VALUE else f"{flag}={dice.choice(values)}")
    return words


def option_words(option: Option, dice: random.Random, values: Sequence[str]) -> list[str]:
    flag = dice.choice(option.opt.flags or (option.flag,)).partition("/")[0]
    if option.kinds == (bool,):
        return [flag]
    pool = values
    if option.field == "save":
        pool = SAVED
    elif option.field == "append":
        pool = HISTORIES
    elif option.opt.reads or option.field in ("baseline", "desirability"):
        pool = FILES
    elif option.choices and dice.randrange(8):
        pool = tuple(map(str, option.choices))
    return [f"{flag}={dice.choice(pool)}"] if flag.startswith("--") else [flag, dice.choice(pool)]
