"""How often a history names a change point: of a model that stays as it is, and of one that fell.

Without a change: twelve labels, one model or three. Estimates are drawn with their standard errors:
the 14 measures of the first screen independent, or alike by half within a model; or whole lines
are dealt from a store of reports on different rows, whose measures depend as they do in a table.
With a change: ten labels, of which the last 2, 3 or 5 have a ROC AUC that is lower by 0.08, 30 %
positives. Also how often a drop is larger than the one "not excluded". The seed was fixed before
the first run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import log, sqrt

import numpy as np
import polars as pl
from scipy.stats import norm

from clfeval import report
from clfeval.arrays import Floats
from clfeval.compare.baseline.read import result_lines, rows_by_label
from clfeval.compare.families import CALIBRATION, ON_SCREEN
from clfeval.compare.history.change_point import ChangePoint, change_points
from clfeval.compare.history.file import HistoryLine, HistoryLines, HistoryMeasure
from clfeval.compare.history.trend import trend_result
from clfeval.records import replace
from tests.benchmarks.coverage import Line

SEED, LEVEL, LABELS, ERROR = 58, 0.95, 12, 0.02
NAMES = (*ON_SCREEN, *CALIBRATION)
AUC, FALL, PREVALENCE, SHARED = 0.82, 0.08, 0.3, 0.5
STORED = 600  # reports of a store, at most
CHANGED, LENGTHS = 10, (2, 3, 5)  # labels, and those after the change
Z = float(norm.ppf(0.975))
Store = Sequence[Sequence[HistoryLine]]  # the lines of each report, one a model


def lines(replicates: int) -> list[Line]:
    """Return shares of histories with a false sentence, and with the name of a true change."""
    by_rows = (of_reports(rows, replicates) for rows in (200, 2000))
    return [*of_estimates(replicates), *chain.from_iterable(by_rows)]


def of_estimates(replicates: int) -> Iterator[Line]:
    """Yield the shares of histories of normal estimates with a false sentence."""
    for models in (1, 3):
        for alike, title in ((0.0, "independent measures"), (SHARED, "measures alike by half")):
            rng = np.random.default_rng([SEED, models, int(10 * alike)])
            histories = (_drawn_history(rng, models, alike) for _ in range(replicates))
            yield _false_claims(f"{models} models, {title}", histories, replicates)


def of_reports(rows: int, replicates: int) -> Iterator[Line]:
    """Yield the shares of histories of reports with a false sentence, or with the true one."""
    rng = np.random.default_rng([SEED, rows])
    size = max(2 * LABELS, min(replicates, STORED))
    before = [_report_lines(rng, rows, AUC) for _ in range(size)]
    after = [_report_lines(rng, rows, AUC - FALL) for _ in range(size // 2)]
    for models in (1, 3):
        histories = (_dealt(rng, before, models, LABELS) for _ in range(replicates))
        title = f"{models} models, reports on {rows:,} rows"
        yield _false_claims(title, histories, replicates)
    for length in LENGTHS:
        yield from _true_claims(rng, (before, after), length, rows, max(10, replicates // 10))


def _false_claims(title: str, histories: Iterator[HistoryLines], count: int) -> Line:
    """Return the share of histories with a sentence on a change point."""
    claims = [bool(_points(history)) for history in histories]
    return Line(
        "a change point where there is none", title, count, float(np.mean(claims)), most=0.05
    )


def _true_claims(
    rng: np.random.Generator, stores: tuple[Store, Store], length: int, rows: int, count: int
) -> Iterator[Line]:
    """Yield the shares of histories whose first sentence is on the fall, and with its label."""
    named, at_label, excluded = [], [], []
    for _ in range(count):
        before = _dealt(rng, stores[0], 1, CHANGED - length)
        after = _dealt(rng, stores[1], 1, length)
        shifted = [
            _relabelled(line, place) for place, line in enumerate(after.lines, CHANGED - length)
        ]
        result = trend_result(_history([*before.lines, *shifted]), "report")
        first = result.answer[0]
        named.append(first.code == "since" and first.measure == "roc_auc" and "fell" in first.text)
        at_label.append(named[-1] and f"at W{CHANGED - length} " in first.text)
        bounds = [-(one.value or 0.0) for one in result.answer if one.code == "not-excluded"]
        excluded.append(any(bound < FALL for bound in bounds))
    setting = f"{rows:,} rows, the last {length} of {CHANGED}"
    least = 0.9 if rows == 2000 else None
    yield Line("the fall is the first sentence", setting, count, float(np.mean(named)), least)
    yield Line("with the label at which it began", setting, count, float(np.mean(at_label)))
    yield Line("the fall is excluded", setting, count, float(np.mean(excluded)), most=0.05)


def _points(history: HistoryLines) -> list[ChangePoint]:
    """Return the change points, each of which has a part in a sentence."""
    series: dict[str, list[HistoryLine]] = {}
    for line in history.lines:
        series.setdefault(line.model, []).append(line)
    return change_points(series, history.lines[-1].label, "report")


def _history(entries: Sequence[HistoryLine]) -> HistoryLines:
    return HistoryLines.from_entries("h.jsonl", "0" * 64, entries)


def _drawn_history(rng: np.random.Generator, models: int, alike: float) -> HistoryLines:
    """Return a history of normal estimates, those of a model alike by a share of the variance."""
    entries = []
    for label in range(LABELS):
        common = rng.normal(size=(models, 1))
        own = rng.normal(size=(models, len(NAMES)))
        values = 0.7 + ERROR * (sqrt(alike) * common + sqrt(1 - alike) * own)
        for model, row in enumerate(values):
            entries.append(_line(label, f"m{model}", row))
    return _history(entries)


def _line(label: int, model: str, values: Floats) -> HistoryLine:
    measures = {
        name: HistoryMeasure(value, value - Z * ERROR, value + Z * ERROR, ERROR)
        for name, value in zip(NAMES, values.tolist(), strict=True)
    }
    truth, level = f"ids:{label}", LEVEL
    return HistoryLine(
        "report", f"W{label}", model, truth=truth, rows=100, level=level, measures=measures
    )


def _report_lines(rng: np.random.Generator, rows: int, auc: float) -> Sequence[HistoryLine]:
    """Return the lines of a report on three models, calibrated at an AUC of `AUC`."""
    truth = rng.random(rows) < PREVALENCE
    common = rng.normal(size=rows)
    apart, designed = (sqrt(2) * norm.ppf(one) for one in (auc, AUC))
    table = {"truth": truth.astype(int)}
    for model in range(3):
        noise = sqrt(SHARED) * common + sqrt(1 - SHARED) * rng.normal(size=rows)
        latent = (apart * truth + (designed - apart) / 2) + noise
        logits = designed * latent - designed**2 / 2 + log(PREVALENCE / (1 - PREVALENCE))
        table[f"m{model}"] = 1 / (1 + np.exp(-logits))
    result = report(pl.DataFrame(table))
    return [*result_lines(result, "", rows_by_label(result))]


def _dealt(rng: np.random.Generator, store: Store, models: int, labels: int) -> HistoryLines:
    """Return a history of different reports of a store."""
    chosen = rng.choice(len(store), labels, replace=False)
    return _history(
        [
            _relabelled(line, label)
            for label, place in enumerate(chosen.tolist())
            for line in store[place][:models]
        ]
    )


def _relabelled(line: HistoryLine, label: int) -> HistoryLine:
    return replace(line, label=f"W{label}", truth=f"ids:{label}", data=())
