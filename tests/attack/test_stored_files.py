"""Damaged counts files, saved results, histories and batches: none is taken for a bug of clfeval.

A changed counts file is refused, or gives the numbers of the whole one.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval as clfeval_
from clfeval.counts.read_files import file_digest
from clfeval.tables.layouts.counts_file import METADATA
from tests.attack.attempts import check, numbers
from tests.attack.mutants import counts_bytes, flipped, mutated, mutated_cells, mutated_document
from tests.process.program import clfeval
from tests.samples import detections, informed_scores
from tests.suite.mutants import ROOT
from tests.suite.mutants import mutated as mutated_batch
from tests.suite.mutants import text as batch_text
from tests.thoroughness import thinned

PARTS = 50  # of each attack; the gate runs the first
COUNTS_FILES, FLIPS, RESULTS, HISTORIES, BATCHES = 1000, 600, 1000, 600, 500
BATCH = batch_text().replace(f"{ROOT}/", "")
SHARES = thinned(range(PARTS), [0])

pytestmark = pytest.mark.usefixtures("folder")


@cache
def scores_at_two_sites() -> pl.DataFrame:
    """Return a table of two models with scores, one with labels, and two slices."""
    dice = np.random.default_rng(11)
    truth = dice.random(160) < 0.4
    return pl.DataFrame(
        {
            "id": range(160),
            "truth": np.where(truth, "yes", "no"),
            "a": informed_scores(dice, truth, 0.3, 2),
            "b": informed_scores(dice, truth, 0.2, 2),
            "rule": detections(dice, truth, 0.8),
            "site": dice.choice(["north", "south"], 160),
        }
    )


OPTIONS: dict[str, dict[str, Any]] = {
    "exact": {},
    "slices": {"by": "site"},
    "buckets": {"scores": "buckets:6"},
    "pairs": {"joint": "pairs"},
    "hidden": {"min_cell": 5},
}


@cache
def counts_files() -> dict[str, bytes]:
    """Return a counts file of each kind."""
    files = {}
    for kind, options in OPTIONS.items():
        rows = scores_at_two_sites() if "by" in options else scores_at_two_sites().drop("site")
        path = Path(f"{kind}.counts.parquet")
        clfeval_.count(rows, positive="yes", ignore="id", **options).save(path)
        files[kind] = path.read_bytes()
        path.unlink()
    return files


def mutated_counts(content: bytes, dice: random.Random) -> tuple[bytes, bool]:
    """Return a counts file with bytes, description or cells changed, and whether it is resealed.

    A resealed file has the digest of what it says now, as one that was not made by clfeval.
    """
    how = dice.randrange(4)
    if how == 0:
        return mutated(content, dice), False
    Path("whole.parquet").write_bytes(content)
    counts = pl.read_parquet("whole.parquet")
    description = json.loads(pl.read_parquet_metadata("whole.parquet")[METADATA])
    if how == 1:
        counts = mutated_cells(counts, dice)
    else:
        description = mutated_document(description, dice)
    resealed = how == 3 or (how == 1 and dice.randrange(2) == 0)
    if resealed and isinstance(description, dict):
        with suppress(pl.exceptions.PolarsError, TypeError):  # other types have no digest
            description["digest"] = file_digest(counts, description)
    return counts_bytes(counts, description), resealed


def tables_of(text: str) -> Any:
    """Return the numbers of a result: everything but its inputs and their digests."""
    result = json.loads(text)
    return {name: result[name] for name in ("tables", "summary", "answer")}


@cache
def whole_tables(kind: str, words: Sequence[str]) -> Any:
    """Return the numbers of a command on the whole counts file of a kind."""
    Path("m.counts.parquet").write_bytes(counts_files()[kind])
    done = clfeval(*words)
    assert done.code == 0, done.err
    return tables_of(done.out)


def attack_counts(content: bytes, kind: str, mutant: str, *, resealed: bool = False) -> list[int]:
    """Run two commands on a changed counts file, and return their exit codes."""
    codes = []
    for command in ("report", "mars" if kind != "hidden" else "count"):
        words = (command, "m.counts.parquet", "-q", "-f", "json")
        expected = None if resealed else whole_tables(kind, words)
        Path("m.counts.parquet").write_bytes(content)
        done = clfeval(*words)
        check(done, mutant)
        if done.code == 0 and not resealed:
            assert tables_of(done.out) == expected, mutant
        codes.append(done.code)
    return codes


@pytest.mark.parametrize("part", SHARES)
def test_changed_counts_are_refused(part: int) -> None:
    codes = Counter[int]()
    for number in numbers(COUNTS_FILES, part, PARTS):
        dice = random.Random(f"counts {number}")
        kind = dice.choice([*OPTIONS])
        content, resealed = mutated_counts(counts_files()[kind], dice)
        codes.update(attack_counts(content, kind, f"{kind} {number}", resealed=resealed))
    print(f"changed counts, part {part}: {dict(codes)}")
    assert codes[3] > codes.total() / 2


def content_of(content: bytes) -> tuple[str, str] | None:
    """Return the counts in a file and their description as texts, None if polars reads none."""
    Path("flipped.parquet").write_bytes(content)
    try:
        counts = pl.read_parquet("flipped.parquet")
        return counts.write_json(), pl.read_parquet_metadata("flipped.parquet")[METADATA]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, KeyError, OSError):
        return None


@pytest.mark.parametrize("part", SHARES)
def test_a_flipped_bit_is_noticed(part: int) -> None:
    codes = Counter[int]()
    for number in numbers(FLIPS, part, PARTS):
        dice = random.Random(f"bit {number}")
        kind = dice.choice([*OPTIONS])
        content = flipped(counts_files()[kind], dice)
        exit_codes = attack_counts(content, kind, f"bit {kind} {number}")
        if content_of(content) != content_of(counts_files()[kind]):
            assert exit_codes == [3, 3], number
        codes.update(exit_codes)
    print(f"flipped bits, part {part}: {dict(codes)}")
    assert codes[3] > 0  # 396 of all 600; the others change nothing that is read


@cache
def saved_results() -> dict[str, Any]:
    """Return the documents of results of every command."""
    rows = scores_at_two_sites().drop("site")
    asked: dict[str, Any] = {"positive": "yes", "ignore": "id"}
    classes = pl.DataFrame(
        {"truth": ["x", "y", "z"] * 8, "p": ["x", "y", "z", "x"] * 6, "q": ["z", "y", "x"] * 8}
    )
    results = {
        "report": clfeval_.report(rows, reference="a", **asked).check(fail_under={"f1": 0.1}),
        "slices": clfeval_.report(scores_at_two_sites(), by="site", **asked),
        "classes": clfeval_.report(classes),
        "mars": clfeval_.mars(rows, subsets="all", **asked),
        "phidelta": clfeval_.phidelta(rows, curve=True, **asked),
        "tune-jpt": clfeval_.tune_jpt(rows, points=3, prevalence="1:9", **asked),
    }
    return {name: json.loads(result.to_json()) for name, result in results.items()}


SHOWN: tuple[tuple[str, ...], ...] = (
    ("-f", "table"),
    ("-f", "table", "--show", "all"),
    ("-f", "markdown"),
    ("-f", "csv"),
    ("-f", "json"),
    ("--fail-under", "f1=0.3"),
    ("--save", "r.html"),
    ("--save", "r.metrics.json"),
    ("--save", "r.xml", "--fail-under", "f1=0.3"),
)
TABLES = {"slices": ("t.csv", "--by", "site"), "classes": ("c.csv",)}


@pytest.fixture
def rows_of_results(folder: Path) -> Path:
    """A folder with the tables of the saved results."""
    scores_at_two_sites().drop("site").write_csv(folder / "r.csv")
    scores_at_two_sites().write_csv(folder / "t.csv")
    classes = {
        "truth": ["x", "y", "z"] * 8,
        "p": ["x", "y", "z", "x"] * 6,
        "q": ["z", "y", "x"] * 8,
    }
    pl.DataFrame(classes).write_csv(folder / "c.csv")
    return folder


@pytest.mark.parametrize("part", SHARES)
@pytest.mark.usefixtures("rows_of_results")
def test_a_changed_result_is_read_or_refused(part: int) -> None:
    codes = Counter[int]()
    for number in numbers(RESULTS, part, PARTS):
        dice = random.Random(f"result {number}")
        name = dice.choice([*saved_results()])
        document = saved_results()[name]
        command = document["command"]
        text = json.dumps(mutated_document(document, dice)).encode()
        text = mutated(json.dumps(document).encode(), dice) if dice.randrange(4) == 0 else text
        Path("m.json").write_bytes(text)
        source, *options = TABLES.get(name, ("r.csv",))
        options += ["--ignore", "id", "--positive", "yes"] if name != "classes" else []
        compared = (command, source, *options, "--baseline", "m.json", "--max-drop", "f1=0.1")
        for words in (("report", "m.json", "-q", *dice.choice(SHOWN)), (*compared, "-q")):
            done = clfeval(*words)
            form = "json" if {*words} & {"csv", "json"} else "table"
            check(done, f"result {name} {number}: {words}", form)
            codes[done.code] += 1
    print(f"changed results, part {part}: {dict(codes)}")
    assert codes[3] > codes.total() / 4


@pytest.mark.parametrize("part", SHARES)
@pytest.mark.usefixtures("rows_of_results")
def test_a_changed_history_is_read_or_refused(part: int) -> None:
    words = ("report", "r.csv", "--ignore", "id", "--positive", "yes", "-q")
    for label in ("W1", "W2", "W3"):
        done = clfeval(
            *words, "--fail-under", "f1=0.1", "--append", "whole.jsonl", "--label", label
        )
        assert done.code == 0
    assert clfeval("history", "whole.jsonl", "--accept", "--label", "W1").code == 0
    lines = [json.loads(line) for line in Path("whole.jsonl").read_text().splitlines()]
    codes = Counter[int]()
    for number in numbers(HISTORIES, part, PARTS):
        dice = random.Random(f"history {number}")
        texts = map(json.dumps, (mutated_document(line, dice) for line in lines))
        changed = [*map(json.dumps, lines)]
        at = dice.randrange(len(lines))
        changed[at] = [*texts][at]
        content = "\n".join(changed).encode() + b"\n"
        content = mutated(content, dice) if dice.randrange(3) == 0 else content
        Path("m.jsonl").write_bytes(content)
        compared = (*words, "--baseline", "m.jsonl", "--max-drop", "f1=0.2")
        for run in (("history", "m.jsonl"), ("history", "m.jsonl", "-f", "markdown"), compared):
            done = clfeval(*run)
            check(done, f"history {number}: {run}", "table")
            codes[done.code] += 1
    print(f"changed histories, part {part}: {dict(codes)}")
    assert codes[2] > codes.total() / 4


# of a path that is a folder outside: everything in it would be read
OUTSIDE = re.compile(r"(?<![\w.}/-])(/|\.\.)(?![\w.$/-])")


def batch(number: int) -> str:
    """Return a batch with a line broken, whose paths are in the folder of the test."""
    return OUTSIDE.sub("nowhere", mutated_batch(20_000 + number, BATCH))


@pytest.mark.parametrize("part", SHARES)
def test_a_changed_batch_runs_or_is_refused(part: int, folder: Path) -> None:
    shutil.copytree(ROOT / "fixtures" / "breast-cancer", folder / "fixtures" / "breast-cancer")
    codes = Counter[int]()
    for number in numbers(BATCHES, part, PARTS):
        Path("suite.yaml").write_text(batch(number), encoding="utf-8")
        done = clfeval("batch", "suite.yaml", "-q")
        assert done.code in (0, 1, 2, 3), (number, done.err[-2000:])
        assert "Traceback" not in done.err, number
        codes[done.code] += 1
    print(f"changed batches, part {part}: {dict(codes)}")
    assert codes[2] > codes.total() / 4
