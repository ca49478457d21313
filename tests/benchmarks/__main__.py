"""Run the topics asked for; exit 1 when a target is missed."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version

from tests.benchmarks.batching import batches
from tests.benchmarks.buckets import count_buckets
from tests.benchmarks.counting import ROWS, hundred_millions, millions
from tests.benchmarks.curves import roc_curves
from tests.benchmarks.feature_tables import PER_DOC
from tests.benchmarks.features import dense_features, sparse_features
from tests.benchmarks.growth import growth
from tests.benchmarks.joining import joins
from tests.benchmarks.measure import THREADS
from tests.benchmarks.ranking import rank_models
from tests.benchmarks.reporting import full_report
from tests.benchmarks.startup import start_up
from tests.benchmarks.subsets import all_subsets
from tests.benchmarks.thresholds import best_thresholds

PACKAGES = ("clfeval", "polars", "duckdb", "scikit-learn", "numpy", "pandas", "scipy")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="A,C", help="topics to run; default all of A to Q")
    parser.add_argument(
        "--rows",
        type=int,
        default=ROWS,
        metavar="N",
        help=f"rows of A, J and K, entries of G; B and Q have ten times as many, O half of them, F "
        f"and N a tenth; targets are for {ROWS:,}",
    )
    asked = parser.parse_args()
    rows: int = asked.rows
    topics: dict[str, Callable[[], bool]] = {
        "A": lambda: millions(rows),
        "B": lambda: hundred_millions(10 * rows),
        "C": all_subsets,
        "D": start_up,
        "F": lambda: dense_features(max(1, rows // 10)),
        "G": lambda: sparse_features(max(1, rows // PER_DOC)),
        "J": lambda: roc_curves(rows),
        "K": lambda: best_thresholds(rows),
        "L": rank_models,
        "M": growth,
        "N": lambda: full_report(max(1, rows // 10)),
        "O": lambda: joins(max(1, rows // 2)),
        "P": batches,
        "Q": lambda: count_buckets(10 * rows),
    }
    chosen = asked.only.upper().split(",") if asked.only else list(topics)
    unknown = sorted(set(chosen) - set(topics))
    if unknown:
        parser.error(f"no topic {', '.join(unknown)}; topics: {', '.join(topics)}")
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    print(f"Python {platform.python_version()}, {packages}")
    print(f"{platform.machine()}, {os.cpu_count()} CPUs; {THREADS} threads for each process")
    missed = [name for name in chosen if not topics[name]()]
    print(f"\ntargets missed in {', '.join(missed)}" if missed else "\nall targets met")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
