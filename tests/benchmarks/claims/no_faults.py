"""How often a sentence of a report is false where there is nothing to find.

Two calibrated models of equal quality, slices alike, last week of the same population. Of each
table two reports: by slices and beside last week; with a reference. An answer has five sentences at
most, and one report of it all would leave some out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from clfeval.api.result import Result
from tests.benchmarks.claims import Cell, Event, Judged, Promise
from tests.benchmarks.claims.populations import equal
from tests.benchmarks.claims.reports import report_of
from tests.benchmarks.claims.said import (
    BASELINE,
    BASELINE_ROWS,
    CALIBRATION,
    OPERATING,
    RANKING,
    SLICES,
    answers,
    claimed,
    described,
    miscalibrated,
    ranked_worse,
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


def without(slices: int, rows: int, rng: np.random.Generator, number: int, folder: Path) -> Judged:
    """Judge a table without a fault."""
    total = slices * rows
    site = np.repeat([f"s{i}" for i in range(slices)], rows).tolist()
    path = folder / "last-week.csv"
    equal(rng, total, 2).frame(MODELS, first=total, site=site).write_csv(path)
    new = equal(rng, total, 2).frame(MODELS, site=site)
    by_site = report_of(new, by="site", baseline=path)
    referred = report_of(new.drop("site"), reference=MODELS[0])
    both = by_site, referred
    return {**false_sentences(both), **_numbers(by_site)}, both


def false_sentences(results: Sequence[Result]) -> dict[str, Event]:
    """Return which sentences are false in any of the reports of a table, and whether any is."""
    found: dict[str, tuple[Sequence[str], Callable[[Result], bool]]] = {
        "ranking": (RANKING, ranked_worse),
        "operating point": (OPERATING, lambda one: bool(claimed(one, OPERATING))),
        "calibration": (CALIBRATION, miscalibrated),
        "slices": (SLICES, lambda one: bool(slices_named(one))),
        "baseline": (BASELINE, lambda one: bool(claimed(one, BASELINE))),
    }
    events = {
        f"{name} false": Event(
            any(map(false, results)), any(answers(one, codes) for one in results)
        )
        for name, (codes, false) in found.items()
    }
    return {**events, "any sentence false": Event(any(one.happened for one in events.values()))}


def _numbers(result: Result) -> dict[str, Event]:
    """Return of each description whether its interval excludes 0; it is no claim by itself."""
    there, events = bool(answers(result, BASELINE_ROWS)), {}
    for name in NUMBERS:
        ends = described(result, name)
        out = ends is not None and not ends[0] <= 0 <= ends[1]
        events[f"{name}: interval excludes 0"] = Event(out, there and ends is not None)
    return events
