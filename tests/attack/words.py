"""Command lines that chance writes from the declared options."""

from __future__ import annotations

import random

from clfeval import COMMANDS
from clfeval.cli.output import Output
from clfeval.compare.gates.limits import Gates
from clfeval.options.declaration import Option
from clfeval.tables.input import command_of

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
FILES = ("t.csv", "t.parquet", "t.arrow", "t.ndjson", "c.csv", "m.csv", "l.csv", "no.csv", "-", ".")
OFTEN = (20, 3, 3, 3, 8, 8, 8, 1, 1, 1)
SAVED = ("o.json", "o.csv", "o.md", "o.html", "o.xml", "o", "no/o.json", "t.csv")
OPTIONS = {name: command_of(name).options(Output, Gates) for name in COMMANDS}


def line(dice: random.Random) -> list[str]:
    """Return the words of one command line."""
    command = dice.choice(COMMANDS)
    words = [command, *dice.choices(FILES, OFTEN, k=dice.choice((1, 1, 1, 2)))]
    for option in dice.sample(OPTIONS[command], dice.choice((0, 1, 1, 2, 2, 3, 6))):
        words += _given(option, dice)
    if not dice.randrange(20):
        words.insert(dice.randrange(len(words)), dice.choice(VALUES))
    return words


def _given(option: Option, dice: random.Random) -> list[str]:
    flag = dice.choice(option.opt.flags or (option.flag,)).partition("/")[0]
    if option.kinds == (bool,):
        return [flag]
    pool = VALUES
    if option.field == "save":
        pool = SAVED
    elif option.opt.reads or option.field in ("baseline", "desirability"):
        pool = FILES
    elif option.choices and dice.randrange(8):
        pool = tuple(map(str, option.choices))
    return [f"{flag}={dice.choice(pool)}"] if flag.startswith("--") else [flag, dice.choice(pool)]
