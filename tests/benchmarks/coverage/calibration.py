"""Sentences about calibration: calibrated models called miscalibrated.

Calibrated: truth is a coin of the prevalence, a model sees it in normal noise, `APART` between the
classes and of correlation .5 with that of other models, and gives its posterior probability. A
table is false where it names any of its models. Clusters are alike by an ICC of .3, weights are
those of `weights`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt
from typing import Any

import numpy as np
import polars as pl

import clfeval
from clfeval.counts.rows import ScoredRows
from clfeval.document.cells import Row, cell_value
from clfeval.methods.report.calibration import adjust_calibration_tests, calibration_test_rows
from tests.benchmarks.coverage import Line
from tests.benchmarks.coverage.weights import UNIT, _chance

LEVEL, SEED = 0.95, 0
APART, CORRELATION, ICC = 1.3, 0.5, 0.3
MODELS, SIZES, PREVALENCES = (1, 2, 5, 10), (200, 1000, 5000), (0.5, 0.1)
CLUSTERS, KEPT = ((40, 5), (100, 10)), ("score", "class")
SAME = 100  # of so many tables one is given to the report as well
Arrays = Any


def lines(replicates: int) -> list[Line]:
    """Return lines by prevalence, rows and number of models; of clusters and weights."""
    found: list[Line] = []
    for prevalence in PREVALENCES:
        for rows in SIZES:
            found += _false(f"{rows} rows", prevalence, replicates, _plain(rows))
        for clusters, members in CLUSTERS:
            name = f"{clusters} clusters of {members}"
            found += _false(name, prevalence, replicates, _clustered(clusters, members))
        for by in KEPT:
            for rows in SIZES[:2]:
                name = f"{rows} rows weighted by {by}"
                found += _false(name, prevalence, replicates, _weighted(rows, by))
    return found


Draw = Callable[[np.random.Generator, float], tuple[Arrays, ...]]


def _false(name: str, prevalence: float, replicates: int, draw: Draw) -> Iterator[Line]:
    rng = np.random.default_rng([23, round(100 * prevalence), *name.encode()])
    named = dict.fromkeys(MODELS, 0)
    for i in range(replicates):
        truth, z, weights, owners = draw(rng, prevalence)
        p = 1 / (1 + np.exp(APART**2 / 2 - APART * z) * (1 - prevalence) / prevalence)
        tests = _tests(p, truth, weights, owners)
        for k in MODELS:
            named[k] += _miscalibrated(adjust_calibration_tests(tests[: 2 * k]))
        if i % SAME == 0 and weights is None and owners is None:
            models = {f"m{j}": each for j, each in enumerate(p)}
            told = clfeval.report(pl.DataFrame({"truth": truth * 1, **models}))
            for row, test in zip(
                told.tables["calibration_tests"], adjust_calibration_tests(tests), strict=True
            ):
                assert {name: row[name] for name in test} == test
    for k, times in named.items():
        setting = f"{name}, prevalence {prevalence:g}, {k} models"
        yield Line(
            "calibrated, called miscalibrated",
            setting,
            replicates,
            times / replicates,
            most=1 - LEVEL,
        )


def _tests(p: Arrays, truth: Arrays, weights: Arrays, owners: Arrays) -> list[Row]:
    unit = 1 if weights is None else UNIT
    rows = ScoredRows(tuple(range(len(p))), tuple(p), truth, weights, {}, owners, unit)
    tables = [rows.ranked(j)[0] for j in range(len(p))]
    return [
        test
        for j, one in enumerate(tables)
        for test in calibration_test_rows(f"m{j}", one, LEVEL, SEED)
    ]


def _miscalibrated(tests: list[Row]) -> bool:
    return any(
        (cell_value(test["p_adjusted"]) or 0) < 1 - LEVEL or test["contradicted"] for test in tests
    )


def _noise(rng: np.random.Generator, rows: int) -> Arrays:
    shared = sqrt(CORRELATION) * rng.standard_normal(rows)
    return shared + sqrt(1 - CORRELATION) * rng.standard_normal((MODELS[-1], rows))


def _plain(rows: int) -> Draw:
    def draw(rng: np.random.Generator, prevalence: float) -> tuple[Arrays, ...]:
        truth = rng.random(rows) < prevalence
        return truth, _noise(rng, rows) + APART * truth, None, None

    return draw


def _clustered(clusters: int, members: int) -> Draw:
    def draw(rng: np.random.Generator, prevalence: float) -> tuple[Arrays, ...]:
        owner = np.repeat(np.arange(clusters), members)
        alike = rng.beta(prevalence / ICC * (1 - ICC), (1 - prevalence) / ICC * (1 - ICC), clusters)
        truth = rng.random(len(owner)) < alike[owner]
        noise = (_noise(rng, clusters)[:, owner] + _noise(rng, len(owner))) / sqrt(2)
        return truth, noise + APART * truth, None, owner

    return draw


def _weighted(rows: int, by: str) -> Draw:
    def draw(rng: np.random.Generator, prevalence: float) -> tuple[Arrays, ...]:
        truth, z, _, _ = _plain(12 * rows)(rng, prevalence)
        chance = _chance(rng, by, truth, z[0])
        kept = np.flatnonzero(rng.random(len(truth)) < chance)[:rows]
        weights = np.round(UNIT / chance[kept]).astype(np.int64)
        return truth[kept], z[:, kept], weights, None

    return draw
