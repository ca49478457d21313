"""Topics F to I: dense, sparse, wide and numeric features, whole processes side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks import feature_peers as peers
from tests.benchmarks.feature_tables import NUMBERS, PER_DOC, TERMS, WIDE
from tests.benchmarks.measure import MIB, Command, Runs, called, clfeval, interleave, python
from tests.benchmarks.report import Check, Line, extra, peak, print_table, ratio
from tests.benchmarks.tables import size, table

ROUNDS = 7
SAMPLE_ROWS, SAMPLE_COLUMNS = 100_000, 20  # for peers that would take minutes
CLFEVAL, NUMPY, CHI2 = "clfeval phidelta --features", "pandas and numpy", "scikit-learn chi2"
MUTUAL = f"mutual_info_classif, {SAMPLE_ROWS:,} rows"
KS = f"scipy ks_2samp, {SAMPLE_COLUMNS} columns"
SAMPLE = f"{CLFEVAL}, {SAMPLE_COLUMNS} columns"
STARTED = "clfeval phidelta (10 rows)"

Commands = Mapping[str, tuple[Command, int]]


def dense_features(rows: int) -> bool:
    """F: 0/1 columns; at most as slow as numpy plus the start-up, and in less memory."""
    path = str(table("dense", rows))
    done = interleave(
        {
            NUMPY: (python(peers.NUMPY, path), ROUNDS),
            CLFEVAL: (_features(path), ROUNDS),
            STARTED: (_start(), ROUNDS),
            CHI2: (python(peers.CHI2, path), 3),
            MUTUAL: (python(peers.MUTUAL, path, str(SAMPLE_ROWS)), 1),
        }
    )
    _compare(done[NUMPY], done[CLFEVAL])
    others = [ratio(done[CLFEVAL], done[who]) for who in (CHI2, MUTUAL)]
    title = f"F  {rows:,} rows, 500 features of 0/1, Parquet ({size(Path(path))} on disk)"
    return _print(title, done, [*_targets(done), *others])


def sparse_features(docs: int) -> bool:
    """G: a long table of entries with a table of classes; the same targets."""
    entries, classes = table("entries", docs), table("classes", docs)
    paths = str(entries), str(classes)
    done = interleave(
        {
            NUMPY: (python(peers.NUMPY_SPARSE, *paths), ROUNDS),
            CLFEVAL: (_called(paths[0], truth_table=paths[1], id="doc"), ROUNDS),
            STARTED: (_start(), ROUNDS),
            CHI2: (python(peers.CHI2_SPARSE, *paths), 3),
        }
    )
    _compare(done[NUMPY], done[CLFEVAL])
    title = (
        f"G  {TERMS:,} features, {docs:,} documents, {docs * PER_DOC:,} entries, "
        f"Parquet ({size(entries)} on disk)"
    )
    return _print(title, done, [*_targets(done), ratio(done[CLFEVAL], done[CHI2])])


def wide_features(rows: int, mixed: int) -> bool:
    """H: 20,000 columns of 0/1, and many rows with columns of text: for information."""
    for kind, columns in (("wide", "Parquet"), ("widecsv", "CSV")):
        path = table(kind, rows)
        done = _beside(path, peers.NUMPY)
        title = f"H  {rows:,} rows, {WIDE:,} features of 0/1, {columns} ({size(path)} on disk)"
        _print(title, done, [ratio(done[CLFEVAL], done[NUMPY])])
    path = table("mixed", mixed)
    done = _beside(path, peers.MIXED)
    title = f"H  {mixed:,} rows, 10 features of 0/1 and 3 of text, CSV ({size(path)} on disk)"
    return _print(title, done, [ratio(done[CLFEVAL], done[NUMPY])])


def numeric_features(rows: int) -> bool:
    """I: numeric columns cut at the median and where the classes differ most: for information."""
    path = table("numbers", rows)
    for cut, script in (("median", peers.MEDIAN), ("best", peers.BEST)):
        done = _beside(path, script, "--cut", cut)
        title = f"I  {rows:,} rows, {NUMBERS} numeric features, --cut {cut} ({size(path)} on disk)"
        _print(title, done, [ratio(done[CLFEVAL], done[NUMPY])])
    columns = [f"x{25 * j}" for j in range(SAMPLE_COLUMNS)]
    done = interleave(
        {
            KS: (python(peers.KS_2SAMP, str(path), *columns), 3),
            SAMPLE: (_called(str(path), cut="best", feature=columns), 3),
        }
    )
    distances = peers.distances_of(done[KS].output)
    for name, delta in peers.deltas_of(done[SAMPLE].output).items():
        if abs(abs(delta) - distances[name]) > 1e-12:
            raise SystemExit(f"clfeval and ks_2samp differ in {name}")
    title = f"I  {rows:,} rows, {SAMPLE_COLUMNS} numeric features, --cut best"
    lines = [Line(done[KS]), Line(done[SAMPLE], [ratio(done[SAMPLE], done[KS])])]
    return print_table(title, lines)


def _beside(path: Path, script: str, *options: str) -> dict[str, Runs]:
    """Run a numpy script and clfeval on one table, and make sure that they count the same."""
    commands: Commands = {
        NUMPY: (python(script, str(path)), 3),
        CLFEVAL: (_features(str(path), *options), 3),
    }
    done = interleave(commands)
    _compare(done[NUMPY], done[CLFEVAL])
    return done


def _features(path: str, *options: str) -> list[str]:
    return clfeval("phidelta", path, "--features", "-f", "csv", *options)


def _called(path: str, **options: Any) -> list[str]:
    """Return the same from Python, for options that no shell has."""
    return called("phidelta", path, table="features", features=True, **options)


def _start() -> list[str]:
    """Return the run whose time is that of starting: ten rows."""
    return clfeval("phidelta", "fixtures/mars-paper/wide.csv", "--features", "-f", "csv")


def _compare(peer: Runs, mine: Runs) -> None:
    if peers.plane_of(peer.output) != peers.plane_of(mine.output):
        raise SystemExit(f"clfeval and {peer.name} count differently")
    deltas = [peers.deltas_of(runs.output).values() for runs in (peer, mine)]
    if any(abs(abs(a) - abs(b)) > 1e-12 for a, b in zip(*deltas, strict=True)):
        raise SystemExit(f"clfeval and {peer.name} order the features differently")


def _targets(done: Mapping[str, Runs]) -> list[Check]:
    mine, peer = done[CLFEVAL], done[NUMPY]
    return [
        ratio(mine, peer),
        extra(mine, peer, done[STARTED].seconds),
        peak(mine, peer.peak // MIB),
    ]


def _print(title: str, done: Mapping[str, Runs], checks: list[Check]) -> bool:
    lines = [Line(runs, checks if who == CLFEVAL else ()) for who, runs in done.items()]
    return print_table(title, lines)
