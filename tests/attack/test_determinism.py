"""Every byte is the same with other threads, hash seeds, languages and zones, and row orders.

18 command lines in processes of their own in three environments, with every kind of file; and five
commands on the rows in 13 formats, shuffled and reversed.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.attack.attempts import answer
from tests.attack.mutants import WRITERS
from tests.conftest import ROOT
from tests.process.program import started
from tests.samples import detections, informed_scores
from tests.thoroughness import full, thinned

ROLES = "--positive yes --id id --ignore patient"
METRICS = "mlcps m.csv"
ROWS = f"report t.csv {ROLES} --by site"
# what is typed, and the files that it saves beside its JSON
LINES: tuple[tuple[str, str], ...] = (
    (f"report t.csv {ROLES} --by site --fail-under a:recall=0.1", "p.html g.xml h.jsonl"),
    (f"report t.csv {ROLES} --ignore site --show all", "roc.svg calibration.svg scores.svg"),
    (f"report t.csv {ROLES} --ignore site --with all", "p.html p.md"),
    (
        f"report t.csv {ROLES} --ignore site --reference a --margin recall=0.1 --measure auprg",
        "p.html differences.svg",
    ),
    ("report t.csv --positive yes --id id --cluster patient --by site", "p.html"),
    (f"report t.csv {ROLES} --by site --scores buckets:4", "p.csv"),
    (f"report t.csv {ROLES} --by site --baseline old.csv --max-drop a:recall=1", "p.html g.xml"),
    (f"report t.csv {ROLES} --ignore site --best-threshold f1 --interval bootstrap", "p.html"),
    (f"count t.csv {ROLES} --by site", "c.counts.parquet"),
    (f"count t.csv {ROLES} --ignore site --joint pairs", "c.counts.parquet"),
    (f"count t.csv {ROLES} --by site --min-cell 5", "c.counts.parquet"),
    (f"mars t.csv {ROLES} --by site --subsets all --best 2 --list found", "p.html h.jsonl"),
    (f"mars t.csv {ROLES} --ignore site --show plots --fail-under recall=0", "p.html g.xml"),
    (f"phidelta t.csv {ROLES} --ignore site --curve --prevalence 1:9", "p.html diamond.svg"),
    (f"tune-jpt t.csv {ROLES} --ignore site --prevalence 1:100 --show all", "p.html cuts.svg"),
    (f"{METRICS} --weight-sensitivity --show plots", "p.html radars.svg"),
    (
        f"mlcps t.csv {ROLES} --ignore site --from predictions "
        "--metric f1 --metric mcc --metric recall",
        "p.csv",
    ),
    ("history old.jsonl --show all", "p.html"),
)
# Python 3.11 cannot read the path of a clone with other letters in the locale C
LOCALE = "C" if str(ROOT).isascii() else "C.UTF-8"
ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {"POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "0", "LC_ALL": LOCALE, "TZ": "Asia/Kathmandu"},
    {
        "POLARS_MAX_THREADS": "2",
        "PYTHONHASHSEED": "4242",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "LC_ALL": "C.UTF-8",
        "TZ": "America/St_Johns",
    },
)


def scores_of_patients() -> pl.DataFrame:
    """Return two models with scores, one with labels, slices and clusters."""
    dice = np.random.default_rng([6, 18])
    truth = dice.random(180) < 0.4
    return pl.DataFrame(
        {
            "id": [f"r{row:03}" for row in range(180)],
            "truth": np.where(truth, "yes", "no"),
            "a": informed_scores(dice, truth, 0.3, 2),
            "b": informed_scores(dice, truth, 0.2, 3),
            "rule": detections(dice, truth, 0.8),
            "site": dice.choice(["north", "süd", "Z"], 180),
            "patient": dice.integers(0, 60, 180),
        }
    )


def write_tables() -> None:
    """Write the tables that the command lines name."""
    rows = scores_of_patients()
    rows.write_csv("t.csv")
    rows.with_columns(pl.col("a").reverse()).write_csv("old.csv")
    metrics = {"model": ["x", "y", "z"], "f1": [0.5, 0.6, 0.7], "auc": [0.9, 0.8, 0.7]}
    pl.DataFrame({**metrics, "mcc": [0.1, 0.3, 0.2]}).write_csv("m.csv")
    for label in ("W1", "W2"):
        words = (*shlex.split(ROWS), "-q", "--append", "old.jsonl", "--label", label)
        assert answer("history", *words, form="table").code == 0


def outputs(line: str, saved: str, **environment: str) -> dict[str, bytes]:
    """Run a command line in a process, and return what it prints and saves."""
    names = ["r.json", *saved.split()]
    words = shlex.split(line)
    for name in names:
        Path(name).unlink(missing_ok=True)
        if name == "h.jsonl":
            words += ["--append", name, "--label", "W3"]
        elif not (words[0] == "history" and name.endswith(".json")):
            words += ["--save", name]
    if any(name.endswith(".svg") for name in names):
        words += ["--size", "640x480"]
    run = started(b"", *words, **environment)
    assert run.code == 0, run.err
    written = {name: Path(name).read_bytes() for name in names if Path(name).exists()}
    assert {*saved.split()} <= {*written}
    return {"stdout": run.out.encode(), "stderr": run.err.encode(), **written}


@pytest.mark.parametrize(("line", "saved"), thinned(LINES, LINES[:1]))
def test_an_environment_changes_no_byte(line: str, saved: str, folder: Path) -> None:
    write_tables()
    first = outputs(line, saved)
    for environment in ENVIRONMENTS:
        others = outputs(line, saved, **environment)
        assert {name for name in first if first[name] != others[name]} == set(), environment


COMMANDS = (
    f"report FILE {ROLES} --by site",
    "report FILE --positive yes --id id --cluster patient --ignore site",
    f"mars FILE {ROLES} --by site --subsets all",
    f"phidelta FILE {ROLES} --ignore site --curve",
    f"tune-jpt FILE {ROLES} --ignore site --prevalence 1:9",
)


def numbers_of(line: str, file: str) -> Any:
    """Return the result of a command on a file, but for the file's name and digest."""
    words = shlex.split(line.replace("FILE", file))
    run = answer("orders", *words, "-q", "-f", "json")
    assert run.code == 0, run.err
    document = json.loads(run.out)
    return {name: document[name] for name in ("tables", "summary", "answer", "warnings")}


@pytest.mark.parametrize("line", thinned(COMMANDS, COMMANDS[:1]))
def test_formats_and_orders_of_rows_change_no_number(line: str, folder: Path) -> None:
    rows = scores_of_patients()
    rows.write_csv("t.csv")
    expected = numbers_of(line, "t.csv")
    for form, write in [*WRITERS.items()][:: 1 if full() else 4]:
        Path(f"t.{form}").write_bytes(write(rows))
        assert numbers_of(line, f"t.{form}") == expected, form
    orders = {"reversed": rows.reverse()}
    orders |= {
        f"shuffled {i}": rows.sample(fraction=1, shuffle=True, seed=i)
        for i in range(3 if full() else 1)
    }
    for order, changed in orders.items():
        Path("o.csv").write_bytes(WRITERS["csv"](changed))
        assert numbers_of(line, "o.csv") == expected, order
