"""How often a report names the one fault of its table: of a site, a new week, a model, of scores.

Named: by a sentence, with the right slice and a measure that truly is worse there, or with a
measure that truly changed. A prevalence that drifted since the baseline may also be described, with
an interval of its change that excludes 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from tests.benchmarks.claims import Cell, Event, Judged, Promise
from tests.benchmarks.claims.populations import FAULTS, against_old, join, sample
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

TABLES, SIZES, ENOUGH = 200, (200, 5000), 5000
SITES, MODELS = ("east", "north", "south", "west"), ("m0", "m1")
OLD, NEW = "current", "revised"
# of the four measures of a slice those that are worse in a site with the fault
WORSE = {
    "shift": {"oe_ratio", "specificity"},
    "prevalence": {"oe_ratio", "prevalence"},
    "sensitivity": {"sensitivity", "roc_auc", "oe_ratio"},
    "labels": {"roc_auc", "oe_ratio", "sensitivity", "specificity"},
}
# what a fault leaves as it is; every other measure of the first screen truly changes
UNAFFECTED = {
    "shift": {"roc_auc", "average_precision", "calibration_slope", "prevalence"},
    "prevalence": {
        "roc_auc",
        "balanced_accuracy",
        "sensitivity",
        "specificity",
        "calibration_slope",
    },
    "sensitivity": {"specificity", "prevalence"},
    "labels": {"mean_score"},
}
OF_ONE_MODEL = ("shift", "sensitivity")  # faults that the second model does not have
GROUPS, OFF = 10, {4: 0.70, 5: 0.30}  # tenths by score, and what came in two of them
DIFFERS = {"less specific": "specificity", "more sensitive": "sensitivity"}


def cells() -> list[Cell]:
    """Return the cells of each kind of fault; 5,000 rows a slice are enough to name it."""
    found = []
    for rows, fault in product(SIZES, FAULTS):
        found.append(_cell(f"slices/{fault}/{rows}", rows, partial(in_a_site, fault, rows)))
    for rows, fault in product(SIZES, FAULTS):
        found.append(_cell(f"baseline/{fault}/{rows}", rows, partial(in_a_week, fault, rows)))
    for rows, fault in product(SIZES, DIFFERS):
        name = f"reference/{fault.replace(' ', '-')}/{rows}"
        found.append(_cell(name, rows, partial(in_a_model, fault, rows)))
    for rows in (200, 1000):
        promised = {"fault named": Promise(least=0.95, slack=0)} if rows == 1000 else {}
        judge = partial(in_two_tenths, rows)
        found.append(Cell(f"calibration/two-tenths/{rows}", TABLES, judge, promised))
    return found


def _cell(name: str, rows: int, judge: partial[Judged]) -> Cell:
    promised = {"fault named": Promise(least=0.95, slack=0)} if rows >= ENOUGH else {}
    return Cell(name, TABLES, judge, promised)


def in_a_site(fault: str, rows: int, rng: np.random.Generator, number: int, folder: Path) -> Judged:
    """Judge a table of four sites, of which one has the fault of the leading model."""
    faulty = SITES[rng.integers(len(SITES))]
    table = join([sample(rng, rows, fault=fault if site == faulty else None) for site in SITES])
    site = np.repeat(SITES, rows).tolist()
    result = report_of(table.frame(MODELS, site=site), by="site")
    named = slices_named(result)
    there = bool(answers(result, SLICES))
    label = f"site={faulty}"
    return {
        "fault named": Event(bool(named.get(label, set()) & WORSE[fault]), there),
        "another site named": Event(bool(named.keys() - {label}), there),
        "with a measure that is not worse": Event(
            bool(named.get(label, set()) - WORSE[fault]), there
        ),
    }, (result,)


def in_a_week(fault: str, rows: int, rng: np.random.Generator, number: int, folder: Path) -> Judged:
    """Judge a week with the fault beside last week's table, of other rows."""
    old = sample(rng, rows).frame(MODELS)
    new = sample(rng, rows, fault=fault).frame(MODELS, first=rows)
    path = folder / "last-week.csv"
    old.write_csv(path)
    result = report_of(new, baseline=path)
    other = MODELS[1] if fault in OF_ONE_MODEL else None
    said = claimed(result, BASELINE, unless=other)
    named = bool(said - UNAFFECTED[fault] - {""})
    if fault == "prevalence":
        ends = described(result, "prevalence")
        named = named or (ends is not None and not ends[0] <= 0 <= ends[1])
    there = bool(answers(result, (*BASELINE, *BASELINE_ROWS)))
    return {
        "fault named": Event(named, there),
        "with a measure that did not change": Event(bool(said & UNAFFECTED[fault]), there),
    }, (result,)


def in_a_model(
    fault: str, rows: int, rng: np.random.Generator, number: int, folder: Path
) -> Judged:
    """Judge a new model beside an old one of the same ROC AUC, one side of its point differs."""
    table = against_old(rng, rows, fault).frame((NEW, OLD))
    result = report_of(table, reference=OLD)
    said = claimed(result, OPERATING)
    there = bool(answers(result, OPERATING))
    events: Mapping[str, Event] = {
        "fault named": Event(DIFFERS[fault] in said, there),
        "with the other side": Event(bool(said & {*DIFFERS.values()} - {DIFFERS[fault]}), there),
        "one called better by ROC AUC": Event(ranked_worse(result), bool(answers(result, RANKING))),
    }
    return events, (result,)


def in_two_tenths(rows: int, rng: np.random.Generator, number: int, folder: Path) -> Judged:
    """Judge a model whose scores fit in eight of ten groups and are 25 points off in two."""
    group = np.arange(rows) % GROUPS
    scores = (group + 0.5) / GROUPS
    came = np.array([OFF.get(i, (i + 0.5) / GROUPS) for i in range(GROUPS)])
    truth = rng.random(rows) < came[group]
    frame = pl.DataFrame({"id": np.arange(rows), "truth": truth * 1, "m0": scores})
    result = report_of(frame)
    there = bool(answers(result, CALIBRATION))
    return {"fault named": Event(miscalibrated(result), there)}, (result,)
