"""Topic D: how long the program takes to say anything, beside the libraries it stands on."""

from __future__ import annotations

from tests.benchmarks.measure import clfeval, interleave, python, run
from tests.benchmarks.report import print_table, ratio

ROUNDS = 15
LIMIT = 1.5
VERSION, TYPER = "clfeval --version", "import typer"
LIBRARIES = "import of libraries"
MARS, PHIDELTA = "clfeval mars (10 rows)", "clfeval phidelta (10 rows)"
TUNE = "clfeval tune-jpt (four numbers)"
MLCPS = "clfeval mlcps (6 models)"
TABLE = "fixtures/mars-paper/wide.csv"
METRICS = "fixtures/metrics/test.csv"


def start_up() -> bool:
    """D: compiled byte code on both sides, which one run of each beforehand makes sure of."""
    commands = {
        TYPER: python("import typer"),
        VERSION: clfeval("--version"),
        LIBRARIES: python("import typer, rich.table, polars, numpy, narwhals"),
        MARS: clfeval("mars", TABLE),
        PHIDELTA: clfeval("phidelta", TABLE),
        TUNE: clfeval("tune-jpt", "--counts", "67,5,33,95"),
        MLCPS: clfeval("mlcps", METRICS),
    }
    for command in commands.values():
        run(command)
    done = interleave({name: (command, ROUNDS) for name, command in commands.items()})
    peers = {VERSION: TYPER, **dict.fromkeys((MARS, PHIDELTA, TUNE, MLCPS), LIBRARIES)}
    checks = {name: [ratio(done[name], done[peer], LIMIT)] for name, peer in peers.items()}
    return print_table("D  start-up with compiled byte code", done, checks)
