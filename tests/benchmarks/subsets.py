"""Topic C: every subset of 20 models from their counts; as a module it is the measured child."""

from __future__ import annotations

import json
from time import perf_counter

from tests.benchmarks.measure import Run, Runs, module, run
from tests.benchmarks.report import below, print_table

MODELS, PATTERNS, TIMES, CHECKED = 20, 100_000, 5, 200
SEED = 391


def all_subsets() -> bool:
    """C: covered, effort, yield, ETP, ShineThrough, missed and Occlusion of 2**20 subsets."""
    child = run(module("tests.benchmarks.subsets"))
    times = json.loads(child.output)
    runs = Runs("score_all_subsets", tuple(Run(seconds, child.peak, "") for seconds in times))
    title = f"C  2**{MODELS} subsets of {MODELS} models from {PATTERNS:,} patterns, in one process"
    return print_table(title, {runs.name: runs}, {runs.name: [below(runs.seconds, 2.0)]})


def main() -> None:
    """Print the seconds of each repetition, having compared some subsets with the slow way."""
    import numpy as np

    from clfeval.counts.patterns import TargetCounts
    from clfeval.methods.mars.best_subsets import score_all_subsets, score_subsets, total_detected

    rng = np.random.default_rng(SEED)
    drawn = rng.choice(1 << (MODELS + 1), PATTERNS, replace=False)
    bits = (drawn[:, None] >> np.arange(MODELS + 1) & 1).astype(bool)
    n = rng.integers(1, 1000, PATTERNS)
    truth, votes = bits[:, MODELS], bits[:, :MODELS]
    names = tuple(f"m{i}" for i in range(MODELS))
    counts = TargetCounts(names, votes[truth], n[truth], votes[~truth], n[~truth])

    times = []
    for _ in range(TIMES):
        start = perf_counter()
        scores = score_all_subsets(counts)
        total = total_detected(counts)
        claimed = np.maximum(scores.effort, 1)
        arrays = (
            scores.covered / claimed,  # yield; the empty subset claims nothing
            scores.exclusive_found / total,
            scores.missed_all / total,
        )
        times.append(perf_counter() - start)
    assert all(len(array) == 1 << MODELS for array in arrays)
    some = rng.choice(1 << MODELS, CHECKED, replace=False)
    slow, fast = score_subsets(counts, scores.members[some]), scores.take(some)
    for name in ("covered", "effort", "exclusive_found", "missed_all", "missed_any"):
        assert (getattr(slow, name) == getattr(fast, name)).all(), name
    print(json.dumps(times))


if __name__ == "__main__":
    main()
