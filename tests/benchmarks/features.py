"""Topics F and G: dense and sparse features, whole processes side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.benchmarks import feature_peers as peers
from tests.benchmarks.feature_tables import PER_DOC, TERMS
from tests.benchmarks.measure import MIB, Runs, called, clfeval, interleave, python
from tests.benchmarks.report import Check, extra, peak, print_table, ratio
from tests.benchmarks.tables import size, table

ROUNDS = 7
CLFEVAL, NUMPY, CHI2 = "clfeval phidelta --features", "pandas and numpy", "scikit-learn chi2"
STARTED = "clfeval phidelta (10 rows)"


def dense_features(rows: int) -> bool:
    """F: 0/1 columns; at most as slow as numpy plus the start-up, and in less memory."""
    path = str(table("dense", rows))
    done = interleave(
        {
            NUMPY: (python(peers.NUMPY, path), ROUNDS),
            CLFEVAL: (clfeval("phidelta", path, "--features", "-f", "csv"), ROUNDS),
            STARTED: (_start(), ROUNDS),
            CHI2: (python(peers.CHI2, path), 3),
        }
    )
    _compare(done[NUMPY], done[CLFEVAL])
    title = f"F  {rows:,} rows, 500 features of 0/1, Parquet ({size(Path(path))} on disk)"
    checks = [*_targets(done), ratio(done[CLFEVAL], done[CHI2])]
    return print_table(title, done, {CLFEVAL: checks})


def sparse_features(docs: int) -> bool:
    """G: a long table of entries with a table of classes; the same targets."""
    entries, classes = table("entries", docs), table("classes", docs)
    paths = str(entries), str(classes)
    done = interleave(
        {
            NUMPY: (python(peers.NUMPY_SPARSE, *paths), ROUNDS),
            CLFEVAL: (_sparse(*paths), ROUNDS),
            STARTED: (_start(), ROUNDS),
            CHI2: (python(peers.CHI2_SPARSE, *paths), 3),
        }
    )
    _compare(done[NUMPY], done[CLFEVAL])
    title = (
        f"G  {TERMS:,} features, {docs:,} documents, {docs * PER_DOC:,} entries, "
        f"Parquet ({size(entries)} on disk)"
    )
    checks = [*_targets(done), ratio(done[CLFEVAL], done[CHI2])]
    return print_table(title, done, {CLFEVAL: checks})


def _sparse(entries: str, classes: str) -> list[str]:
    """Return the call from Python, for options that no shell has."""
    options = {"features": True, "truth_table": classes, "id": "doc"}
    return called("phidelta", entries, table="features", **options)


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
