"""How often a fault in one slice of a tied model is named, and how often another slice is.

Three calibrated models of equal quality, 30 % positives, eight slices; one of them, which does not
lead, has a fault in one slice. Below the table: `slice_arrays` tests the slices straight from
arrays. Of several classes, with clusters and with weights, whole reports are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from math import log, sqrt
from pathlib import Path

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.stats import norm

from clfeval.arrays import Bools, Floats, Ints
from tests.benchmarks.claims import Cell, Event, Judged, Promise
from tests.benchmarks.claims.populations import ALIKE
from tests.benchmarks.claims.reports import report_of
from tests.benchmarks.claims.said import SLICES, answers, harms_named
from tests.benchmarks.claims.slice_arrays import slices_tested, worse_slices

SLICE_COUNT, MODELS, FAULTY = 8, ("m0", "m1", "m2"), "m1"
# ROC AUC 0.856; the threshold is the prevalence: there both rates are 0.773
PREVALENCE, APART = 0.3, 1.5
PRIOR = log(PREVALENCE / (1 - PREVALENCE))
LOST, LESS_AREA, TIMES = 0.10, 0.08, 1.5  # of a rate; of the ROC AUC; the O:E ratio
FAULTS = ("sensitivity", "specificity", "area", "ratio")
# the measures that a fault makes worse in its slice
WORSE = {
    "sensitivity": {"sensitivity", "roc_auc", "oe_ratio"},
    "specificity": {"specificity", "roc_auc", "oe_ratio"},
    "area": {"roc_auc", "sensitivity", "specificity", "oe_ratio"},
    "ratio": {"oe_ratio", "sensitivity"},
}
CLASSES, RECALL, LOST_RECALL = 5, 0.8, 0.4
TABLES, NULL_TABLES, CLUSTERS = 200, 2000, 40


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Classes and slices of rows (n,), the scores of each model, and the slice with the fault."""

    truth: Bools
    site: Ints
    scores: dict[str, Floats]
    faulty: int


def cells() -> list[Cell]:
    """Return the cells: each fault at 2,000 and 200 rows a slice, and none."""
    enough = {"fault named": Promise(least=0.90)}
    false = {"another slice or model named": Promise(most=0.05)}
    found = []
    for fault, rows in product(FAULTS, (2000, 200)):
        promised = {**false, **(enough if rows == 2000 else {})}
        judge = partial(in_a_slice, fault, rows)
        found.append(Cell(f"tied/{fault}/{rows}", TABLES, judge, promised))
    for rows in (2000, 200):
        promised = {**false, **(enough if rows == 2000 else {})}
        judge = partial(in_a_class, rows)
        found.append(Cell(f"tied/recall/{rows}", TABLES, judge, promised))
    for fault in ("", *FAULTS):
        name = f"tied/false/{fault or 'none'}"
        found.append(Cell(name, NULL_TABLES, partial(in_a_slice, fault, 200), false))
    for design, fault in product(("clusters", "weights"), ("", "specificity")):
        name = f"tied/false/{design}/{fault or 'none'}"
        found.append(Cell(name, NULL_TABLES, partial(in_a_report, design, fault), false))
    return found


def draw(rng: np.random.Generator, rows: int, fault: str) -> Table:
    """Draw a table of so many rows a slice."""
    n = rows * SLICE_COUNT
    truth = rng.random(n) < PREVALENCE
    site = np.repeat(np.arange(SLICE_COUNT), rows)
    faulty = int(rng.integers(SLICE_COUNT))
    shared, own = rng.standard_normal(n), rng.standard_normal((len(MODELS), n))
    latent = sqrt(ALIKE) * shared + sqrt(1 - ALIKE) * own + APART * truth
    logits = APART * latent - APART**2 / 2 + PRIOR
    inside = site == faulty
    logits[1, inside] = with_fault(logits[1, inside], latent[1, inside], truth[inside], fault)
    scores = 1 / (1 + np.exp(-logits))
    return Table(truth, site, dict(zip(MODELS, scores, strict=True)), faulty)


def with_fault(logits: Floats, latent: Floats, truth: Bools, fault: str) -> Floats:
    """Return log odds with a fault."""
    if fault in ("sensitivity", "specificity"):  # rows just right of the threshold change sides
        positive = fault == "sensitivity"
        mine = truth if positive else ~truth
        distance = logits - PRIOR if positive else PRIOR - logits
        moved = mine & (distance >= 0) & (distance < width())
        return np.where(moved, 2 * PRIOR - logits, logits)
    if fault == "area":  # less signal, the same distribution of scores within negatives
        apart = sqrt(2) * norm.ppf(norm.cdf(APART / sqrt(2)) - LESS_AREA)
        weaker = latent - (APART - apart) * truth
        return np.asarray(apart * weaker - apart**2 / 2 + PRIOR)
    return logits - shift() if fault == "ratio" else logits


@cache
def width() -> float:
    """Return how near the threshold rows are that change sides, in log odds."""
    return float(APART**2 / 2 - APART * norm.ppf(norm.cdf(APART / 2) - LOST))


@cache
def shift() -> float:
    """Return how much lower log odds make the O:E ratio as many times larger."""
    z = norm.ppf((np.arange(20_000) + 0.5) / 20_000)

    def expected(less: float) -> float:
        means = ((PREVALENCE, APART**2 / 2), (1 - PREVALENCE, -(APART**2) / 2))
        return sum(
            share * float((1 / (1 + np.exp(-(PRIOR + mean - less + APART * z)))).mean())
            for share, mean in means
        )

    return float(brentq(lambda less: expected(less) * TIMES - PREVALENCE, 0, 5))


def events(named: set[tuple[str, str, str]], label: str, fault: str) -> dict[str, Event]:
    """Return whether the fault is named, and whether anything else is: model, slice, measure."""
    here = {measure for model, part, measure in named if (model, part) == (FAULTY, label)}
    others = {(model, part) for model, part, _ in named} - ({(FAULTY, label)} if fault else set())
    found = {"another slice or model named": Event(bool(others), bool(named))}
    if fault:
        found["fault named"] = Event(bool(here & WORSE.get(fault, {fault})), bool(named))
    return found


def in_a_slice(
    fault: str, rows: int, rng: np.random.Generator, number: int, folder: Path
) -> Judged:
    """Judge a table of scores straight from arrays."""
    table = draw(rng, rows, fault)
    tested = slices_tested(table.scores, table.truth, table.site, SLICE_COUNT, PREVALENCE)
    return events(worse_slices(tested), f"site=s{table.faulty}", fault), ()


def in_a_report(
    design: str, fault: str, rng: np.random.Generator, number: int, folder: Path
) -> Judged:
    """Judge a whole report, with clusters across slices or with sampling weights."""
    table = draw(rng, 200, fault)
    n = len(table.truth)
    frame = {
        "id": np.arange(n),
        "truth": table.truth * 1,
        "site": [f"s{s}" for s in table.site.tolist()],
        **table.scores,
    }
    column = "patient" if design == "clusters" else "w"
    clusters = rng.integers(0, CLUSTERS, n) if design == "clusters" else None
    frame[column] = rng.uniform(0.5, 2.0, n) if clusters is None else clusters
    option = {"cluster": column} if design == "clusters" else {"weight": column}
    options = {"by": "site", "model": [*MODELS], "threshold": PREVALENCE, **option}
    result = report_of(pl.DataFrame(frame), **options)
    return events(harms_named(result), f"site=s{table.faulty}", fault), (result,)


def in_a_class(rows: int, rng: np.random.Generator, number: int, folder: Path) -> Judged:
    """Judge labels of five classes; in one slice a model detects half as many of one class."""
    n = rows * SLICE_COUNT
    truth, site = rng.integers(0, CLASSES, n), np.repeat(np.arange(SLICE_COUNT), rows)
    faulty, lost = int(rng.integers(SLICE_COUNT)), int(rng.integers(CLASSES))
    columns = {}
    for name in MODELS:
        recall = np.full(n, RECALL)
        if name == FAULTY:
            recall[(site == faulty) & (truth == lost)] = LOST_RECALL
        wrong = (truth + rng.integers(1, CLASSES, n)) % CLASSES
        columns[name] = np.where(rng.random(n) < recall, truth, wrong)
    frame = {
        "id": np.arange(n),
        "truth": [f"c{k}" for k in truth.tolist()],
        "site": [f"s{s}" for s in site.tolist()],
        **{name: [f"c{k}" for k in said.tolist()] for name, said in columns.items()},
    }
    result = report_of(pl.DataFrame(frame), by="site", model=[*MODELS])
    there = bool(answers(result, SLICES))
    named = harms_named(result)
    found = events(named, f"site=s{faulty}", f"recall:class=c{lost}")
    classes = {m for model, part, m in named if part == f"site=s{faulty}" and "class=" in m}
    other = Event(bool(classes - {f"recall:class=c{lost}"}), there)
    return {**found, "recall of another class named": other}, (result,)
