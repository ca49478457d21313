"""Compare values of `clfeval report` with those of other programs, in many random tables.

The programs are those of the tests `test_oracles` and `test_class_oracles`. Exit 1 where a value
deviates by more than 1e-9 of the larger of 1 and the value.

    python -m tests.benchmarks.independent_values [--values N]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from itertools import count

import numpy as np

from tests.methods.report import test_class_oracles as several
from tests.methods.report import test_oracles as binary

ALLOWED = 1e-9
SHARES = (0.5, 0.3, 0.1)
Comparison = tuple[str, float | None, float]  # measure, our value, theirs


def binary_comparisons(seed: int) -> Iterator[Comparison]:
    """Yield the measures of a table of two classes, with ties or without, with weights."""
    rows = binary.random_rows(seed, 1 + seed % 12, SHARES[seed % len(SHARES)])
    estimates = binary.measure_rows(
        rows, measure=["all", "partial_auc", "f_beta:beta=2"], interval="none"
    )
    for name, (_, oracle) in {**binary.OF_SCORES, **binary.OF_VOTES}.items():
        yield name, estimates[name]["value"].value, float(oracle(rows))


def several_comparisons(seed: int) -> Iterator[Comparison]:
    """Yield the measures of a table of 3 to 12 classes, of labels or of probabilities."""
    classes = 3 + seed % 10
    rows = several.random_rows(classes, scored=bool(seed % 2), seed=seed)
    measures = ["all", "ordinal", "f_beta:beta=2", "rps", "top_k_accuracy:k=3"]
    estimates = several.measure_rows(
        rows, measure=measures if seed % 2 else measures[:3], interval="none"
    )
    oracles = {**several.OF_LABELS, **(several.OF_PROBABILITIES if seed % 2 else {})}
    for name, (_, oracle) in oracles.items():
        yield name, _value(estimates[name, "multiclass", None]), float(oracle(rows))
    for name, (_, average) in several.AVERAGED.items():
        for kind in ("macro", "weighted"):
            theirs = float(average(rows, kind))
            yield f"{kind} {name}", _value(estimates[name, kind, None]), theirs
        for label, theirs in zip(rows.names, average(rows, None), strict=True):
            yield f"{name} of a class", _value(estimates[name, "class", label]), float(theirs)


def _value(row: several.Row) -> float | None:
    value: several.Any = row["value"]
    return None if value.value is None else float(value.value)


def deviates(ours: float | None, theirs: float) -> bool:
    """Return whether two values deviate; an undefined one is no number there."""
    if ours is None or np.isnan(theirs):
        return not (ours is None and np.isnan(theirs))
    return abs(ours - theirs) > ALLOWED * max(1.0, abs(theirs))


def main() -> int:
    """Compare so many values, print the measures with deviations and the number of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=60_000, metavar="N")
    most = parser.parse_args().values
    deviations: dict[str, int] = {}
    compared = 0
    warnings.simplefilter("ignore")
    for seed in count(1000):
        comparisons = several_comparisons(seed) if seed % 3 else binary_comparisons(seed)
        for name, ours, theirs in comparisons:
            compared += 1
            if deviates(ours, theirs):
                deviations[name] = deviations.get(name, 0) + 1
                print(f"seed {seed}, {name}: {ours} here, {theirs} there", flush=True)
        if compared >= most:
            break
    print(f"{compared:,} values in {seed - 999:,} tables; deviations: {deviations or 'none'}")
    return int(bool(deviations))


if __name__ == "__main__":
    sys.exit(main())
