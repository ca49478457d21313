"""One screen: how long every command's output is, where its answer stands, and that nothing breaks.

The tables are those of the fixtures and one of 12 models on 50,000 rows whose names are long and
hold what a shell, a list or a terminal may stumble over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from rich.cells import cell_len

import clfeval
from clfeval.api.result import Result
from clfeval.cli.run import run_command as show
from tests.conftest import ROOT
from tests.process.runner import Done, run
from tests.samples import logistic
from tests.thoroughness import thinned

LABELS = "fixtures/breast-cancer/labels.csv --positive malignant"
SCORES = "fixtures/breast-cancer/scores.csv --positive malignant"
METRICS = "fixtures/metrics/test.csv"
TERMS = "fixtures/manual-pages/terms.parquet --positive function"
LARGE = "{large} --positive default --id loan_id"
# what is typed, and whether an option asks for more than the main table
COMMANDS = {
    "mars": (f"mars {LABELS}", False),
    "mars large": (f"mars {LARGE}", False),
    "mars best": (f"mars {LABELS} --best 3", True),
    "mars effort": (f"mars {LABELS} --max-effort 110", True),
    "mars list": (f"mars {SCORES} --list found", True),
    "mars slices": ("mars fixtures/digits/labels.csv --positive 8 --by truth", True),
    "mars sweep": (f"mars {SCORES}", True),
    "phidelta": (f"phidelta {LABELS}", False),
    "phidelta large": (f"phidelta {LARGE}", False),
    "phidelta reference": (f"phidelta {LABELS} --reference tree", True),
    "phidelta prevalence": (f"phidelta {LABELS} --prevalence 0.01", True),
    "phidelta features": (f"phidelta {TERMS}", True),
    "phidelta runs": ("phidelta fixtures/armano/runs.csv --run run", False),
    "tune-jpt counts": ("tune-jpt --counts 67,5,33,95 --prevalence 0.02", False),
    "tune-jpt": (f"tune-jpt {LABELS} --prevalence 0.05", False),
    "tune-jpt scores": (f"tune-jpt {SCORES} --prevalence 0.05", False),
    "tune-jpt large": (f"tune-jpt {LARGE} --prevalence 0.05", False),
    "tune-jpt cost": (f"tune-jpt {SCORES} --measure cost:fp=1,fn=10", True),
    "mlcps": (f"mlcps {METRICS}", False),
    "mlcps predictions": (f"mlcps {SCORES} --from predictions", False),
    "report classes": ("report fixtures/digits/labels.csv", False),
    "mlcps search": ("mlcps fixtures/metrics/cv_results.csv", False),
    "report": (f"report {SCORES}", False),
    "report labels": (f"report {LABELS}", False),
    "report large": (f"report {LARGE}", False),
    "report cuts": (f"report {SCORES} --best-threshold mcc --best-threshold sens>=.9", True),
    "report zones": (f"report {SCORES} --abstain 5% --abstain cost:fp=1,fn=5,abstain=.2", True),
    "report slices": ("report fixtures/digits/labels.csv --positive 8 --by truth", True),
}
# what of it only Python and batches have; the shell shows the result
IN_PYTHON: dict[str, dict[str, Any]] = {
    "mars sweep": {"sweep": "threshold"},
    "phidelta features": {
        "truth_table": "fixtures/manual-pages/classes.csv",
        "features": True,
        "select": 10,
    },
    "mlcps predictions": {
        "source": "predictions",
        "metric": ["f1", "roc_auc", "specificity", "brier"],
        "resamples": 200,
    },
}
MOST = {80: 40, 100: 40, 140: 30, 200: 30}  # lines of six models, where nothing more is asked for
REPORT = 45  # of the report: it has more to say
LARGER = 55  # of twelve
LARGER_REPORT = 63  # two tables of twelve
ASKED = 24  # more, where an option asks for a table of its own
FOLLOWS = 3  # and where a rule chooses a threshold, what follows for 1,000 people
ANSWERED = 8  # by this line the answer has begun and its first sentence is read
PIPED = 160

NAMES = (
    "Logistic Regression",
    "Random Forest [n=200]",
    "k-NN, k=5",
    "naive Bayes (Gaussian)",
    "gradient boosting: depth 3, eta 0.1",
    "决策树 CART",
    "svm <rbf> & C=1",
    "café",
    "a very long name of a model that somebody made of all its parameters",
    "MLP 64-32 'relu'",
    "HistGB (tuned)",
    "dummy | most frequent",
)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scores of 12 models on 50,000 rows, a tenth of them positive."""
    draw = np.random.default_rng(7)
    truth = draw.random(50_000) < 0.1
    columns = {
        name: logistic((1 + i / 4) * truth - 2 + draw.normal(0, 1, len(truth)), 3)
        for i, name in enumerate(NAMES)
    }
    labels = np.where(truth, "default", "paid")
    path = tmp_path_factory.mktemp("large") / "loans.parquet"
    frame = pl.DataFrame({"loan_id": np.arange(len(truth)), "truth": labels, **columns})
    frame.write_parquet(path)
    return path


RESULTS: dict[str, Result] = {}


def shown(command: str, path: Path, options: Sequence[str], environment: dict[str, str]) -> Done:
    """Run a command; its result is computed the first time alone, and shown anew each time."""

    def known(*given: Any, **more: Any) -> None:
        *others, compute = given
        if command not in RESULTS:
            RESULTS[command] = compute()
        show(*others, lambda: RESULTS[command], **more)

    words = [word.format(large=path) for word in COMMANDS[command][0].split()]
    if command in IN_PYTHON and command not in RESULTS:
        name, file, _, positive, *_ = words
        function = getattr(clfeval, name)
        RESULTS[command] = function(ROOT / file, positive=positive, **IN_PYTHON[command])
    with contextlib.chdir(ROOT), mock.patch("clfeval.cli.run.run_command", known):
        return run([*words, "--quiet", *options], b"", environment)


@cache
def screen(command: str, columns: int, path: Path) -> list[str]:
    """Return the lines of a command's output, piped where there are no columns."""
    environment = {"COLUMNS": str(columns)} if columns else {}
    done = shown(command, path, (), environment)
    assert (done.code, done.err) == (0, "")
    return done.out.splitlines()


@pytest.mark.usefixtures("long_names")
@pytest.mark.parametrize("columns", thinned(MOST, [80, 140]))
@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_one_screen_with_the_answer_on_top_and_no_word_broken(
    command: str, columns: int, large: Path
) -> None:
    lines, wide = screen(command, columns, large), screen(command, 10_000, large)
    most = REPORT if command.startswith("report") else MOST[columns]
    most = LARGER_REPORT if command == "report large" else LARGER if "large" in command else most
    most += FOLLOWS if command == "report cuts" else 0
    assert len(lines) <= most + ASKED * COMMANDS[command][1]
    first = next(line for line in wide[1:] if line.endswith("."))
    assert first in " ".join(lines[:ANSWERED])
    assert [line for line in lines if cell_len(line) > columns] == []
    others = (screen(command, other, large) for other in (60, *MOST) if other != columns)
    words = {word for shown in (wide, *others) for line in shown for word in line.split()}
    names = {part for name in NAMES for part in name.split()}
    # each word of a heading or a sentence stands whole; a name may be cut, and then says so
    for line in lines:
        for word in line.split():
            if word.isalpha() and word.isascii() and word not in words:
                assert any(word in name for name in names), line


@pytest.mark.usefixtures("long_names")
@pytest.mark.parametrize("command", COMMANDS)
def test_in_a_pipe_only_names_make_a_line_longer_and_the_last_says_what_else_there_is(
    command: str, large: Path
) -> None:
    slack = max(map(len, NAMES)) if "large" in command else 0
    longest = max(screen(command, 0, large), key=cell_len)
    assert cell_len(longest) <= PIPED + slack, longest
    text = " ".join(screen(command, 100, large)[-3:])
    assert "(--show NAME, or all)" in text


@pytest.mark.parametrize(
    "command",
    thinned(
        [name for name in COMMANDS if "large" not in name],
        [
            "mars sweep",
            "phidelta reference",
            "phidelta features",
            "tune-jpt cost",
            "mlcps",
            "report labels",
            "report classes",
            "report slices",
        ],
    ),
)
def test_everything_there_was_is_there_on_request(command: str, large: Path) -> None:
    """The names on the last line are those of tables, and each of them adds one."""
    text = " ".join(screen(command, 10_000, large)[-1:])
    names = text.partition(": ")[2].partition(" (")[0].split(", ")
    every = shown(command, large, ["--show", "all"], {"COLUMNS": "120"}).out
    for name in names:
        if name in ("intervals", "plots"):
            continue
        done = shown(command, large, ["--show", name], {"COLUMNS": "120"})
        assert done.code == 0
        assert len(done.out.splitlines()) > len(screen(command, 120, large))
        assert len(every.splitlines()) >= len(done.out.splitlines())
