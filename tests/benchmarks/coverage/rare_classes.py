"""Means over classes of which some have few rows, as `clfeval report` prints them.

Three classes of .60, .38 and .02 of 300 rows, and 10 or 100 classes of 3, 10 or 20 rows each. A
model has a normal score for each class, higher for the true one by 1.8, for many classes by 1 to
3.5, or by more where few rows are wrong; it predicts the class of the largest score plus log
prevalence. The truth is that of a million rows, its mean over the classes that the model predicts
at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from clfeval.counts.classes import ClassPatterns
from clfeval.document.cells import as_estimate
from clfeval.measures.catalog import CATALOG
from clfeval.measures.multiclass_table import measure_by_class
from clfeval.methods.measurement.requested_measures import parse_multiclass_measures
from clfeval.methods.report.multiclass_estimates import multiclass_label_rows
from clfeval.methods.report.options import ReportOptions
from tests.benchmarks.coverage import Line

LEAST, MANY, BLOCK = 0.93, 1_000_000, 20_000
NAMES = ("sensitivity", "precision", "f1", "jaccard", "specificity")
Arrays = Any


def lines(replicates: int) -> list[Line]:
    """Return lines by measure, number of classes and rows of each."""
    three = np.array([0.60, 0.38, 0.02])
    found = [*_lines("classes .60 .38 .02, 300 rows", three, np.full(3, 1.8), 300, 0, replicates)]
    for classes in (10, 100):
        equal = np.full(classes, 1 / classes)
        apart = np.linspace(1, 3.5, classes)
        for rows in (3, 10, 20):
            setting = f"{classes} classes of {rows} rows"
            found += _lines(f"{setting} on average", equal, apart, classes * rows, 0, replicates)
            found += _lines(setting, equal, apart, 0, rows, replicates)
    for classes, rows, far in ((10, 28, 4.5), (3, 100, 3.5), (5, 20, 4.0)):
        equal = np.full(classes, 1 / classes)
        setting = f"{classes} classes of {rows} rows, {far:g} apart"
        found += _lines(setting, equal, np.full(classes, far), 0, rows, replicates)
    return found


def _lines(
    setting: str, prevalence: Arrays, apart: Arrays, total: int, rows: int, replicates: int
) -> Iterator[Line]:
    """Yield a line per measure; total: of rows drawn at random, else `rows` of each class."""
    classes = len(prevalence)
    rng = np.random.default_rng([41, classes, total, rows])
    table = np.zeros((classes, classes), np.int64)
    for _ in range(MANY // BLOCK):
        truth = rng.choice(classes, BLOCK, p=prevalence)
        np.add.at(table, (truth, _predictions(rng, truth, prevalence, apart)), 1)
    true = {name: measure_by_class(CATALOG[name], table) for name in NAMES}
    ends: dict[str, list[tuple[float, float, float]]] = {name: [] for name in NAMES}
    for _ in range(replicates):
        if total:
            truth = rng.choice(classes, total, p=prevalence)
        else:
            truth = np.repeat(np.arange(classes), rows)
        votes = _predictions(rng, truth, prevalence, apart)
        sample = np.zeros_like(table)
        np.add.at(sample, (truth, votes), 1)
        for name, (low, high) in _measured(truth, votes, classes):
            defined = ~np.isnan(measure_by_class(CATALOG[name], sample))
            ends[name].append((low, high, float(true[name][defined].mean())))
    for name, each in ends.items():
        low, high, truths = np.array(each).T
        mean = float(truths.mean())
        missed = f"{(truths < low).sum()}/{(truths > high).sum()}"
        text = f"{setting}, at {mean:.3f}, misses {missed}"
        yield Line.of(f"macro {name}", text, np.column_stack([low, high]), truths, LEAST)


def _predictions(rng: np.random.Generator, truth: Arrays, prevalence: Arrays, apart: Arrays) -> Any:
    scores = rng.standard_normal((len(truth), len(prevalence)))
    scores[np.arange(len(truth)), truth] += apart[truth]
    return (apart.mean() * scores + np.log(prevalence)).argmax(axis=1)


def _measured(
    truth: Arrays, votes: Arrays, classes: int
) -> Iterator[tuple[str, tuple[float, float]]]:
    names, wanted = tuple(map(str, range(classes))), ReportOptions().interval_settings
    asked = parse_multiclass_measures(NAMES, names, ordered=False)
    n = np.ones(len(truth), np.int64)
    patterns = ClassPatterns.from_labels(["m"], names, truth, votes[:, None], n)
    for row in multiclass_label_rows(None, patterns, asked, wanted):
        if row["estimator"] == "macro" and row["measure"] in NAMES:
            value = as_estimate(row["value"])
            low = np.nan if value.low is None else value.low
            high = np.nan if value.high is None else value.high
            yield str(row["measure"]), (low, high)
