"""How often a sentence of a report is false where there is nothing to find.

Two calibrated models of equal quality, slices alike, last week of the same population: one report
with `--by`, `--reference` and `--baseline`, so that every sentence has its chance to be false.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

import clfeval
from clfeval.result import Result
from tests.benchmarks.claims import Cell, Event, Judged, Promise
from tests.benchmarks.claims.populations import equal
from tests.benchmarks.claims.sentences import (
    BASELINE,
    BASELINE_ROWS,
    CALIBRATION,
    OPERATING,
    RANKING,
    SLICES,
    claimed,
    described,
    miscalibrated,
    ranking,
    sentences,
    slices_named,
)

TABLES, SLICE_COUNTS, SIZES = 1000, (1, 4, 20), (200, 5000)
MODELS = ("m0", "m1")
FALSE = ("ranking", "operating point", "calibration", "slices", "baseline")
NUMBERS = ("prevalence", "mean_score")  # that describe the rows, then and now


def cells() -> list[Cell]:
    """Return a cell for each count of slices and rows of a slice."""
    promised = {
        **{f"{name} false": Promise(most=0.05) for name in FALSE},
        "any sentence false": Promise(most=0.20, slack=0),
        **{f"{name}: interval excludes 0": Promise(most=0.05) for name in NUMBERS},
    }
    return [
        Cell(f"no-fault/{slices}/{rows}", TABLES, partial(without, slices, rows), promised)
        for slices, rows in product(SLICE_COUNTS, SIZES)
    ]


def without(
    slices: int, rows: int, rng: np.random.Generator, number: int, folder: Path
) -> Judged:
    """Judge a table without a fault."""
    total = slices * rows
    site = np.repeat([f"s{i}" for i in range(slices)], rows).tolist()
    path = folder / "last-week.csv"
    equal(rng, total, 2).frame(MODELS, first=total, site=site).write_csv(path)
    new = equal(rng, total, 2).frame(MODELS, site=site)
    result = clfeval.report(
        new, truth="truth", id="id", by="site", reference=MODELS[0], baseline=str(path)
    )
    return {**false_sentences(result), **_numbers(result)}, result


def false_sentences(result: Result) -> dict[str, Event]:
    """Return which sentences are false, and whether any is."""
    found = {
        "ranking": (
            any(one.worse for one in ranking(result, MODELS, MODELS[0])),
            RANKING,
        ),
        "operating point": (bool(claimed(result, OPERATING)), OPERATING),
        "calibration": (miscalibrated(result), CALIBRATION),
        "slices": (bool(slices_named(result)), SLICES),
        "baseline": (bool(claimed(result, BASELINE)), BASELINE),
    }
    events = {
        f"{name} false": Event(false, bool(sentences(result, codes)))
        for name, (false, codes) in found.items()
    }
    return {**events, "any sentence false": Event(any(one.happened for one in events.values()))}


def _numbers(result: Result) -> dict[str, Event]:
    """Return of each description whether its interval excludes 0; it is no claim by itself."""
    there, events = bool(sentences(result, BASELINE_ROWS)), {}
    for name in NUMBERS:
        ends = described(result, name)
        out = ends is not None and not ends[0] <= 0 <= ends[1]
        events[f"{name}: interval excludes 0"] = Event(out, there and ends is not None)
    return events
