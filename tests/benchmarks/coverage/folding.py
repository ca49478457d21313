"""Rankings by MLcps from predictions, and sets of models of mars judged on other rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.special import ndtr, ndtri

from clfeval.arrays import Bools, Floats
from clfeval.counts.evaluated_rows import JointCounts
from clfeval.counts.patterns import PatternCounts
from clfeval.document.cells import Estimate
from clfeval.inference.resampling import percentile_limits
from clfeval.measures.catalog import CATALOG
from clfeval.measures.composite_scores import polygon_area
from clfeval.measures.confusion import Confusion
from clfeval.methods.mars.best_subsets import best_subsets, best_within_effort
from clfeval.methods.mars.selection_bias import correct_best_set, correct_set_within_effort
from clfeval.methods.mlcps.metric_values import bootstrap_replicates as drawn
from clfeval.methods.mlcps.metric_values import (
    closed_form_limits,
    make_evaluator,
    sparse_data_reasons,
)
from clfeval.methods.mlcps.ranking import _tied_with_first, dense_ranks, first_models
from tests.benchmarks.coverage import Line

SHARE = 5  # a ranking takes long: one of so many replicates
RESAMPLES, LEVEL, ALIKE = 1000, 0.95, 0.5  # ALIKE: the correlation of two models' scores in a class
SIZES = (60, 150, 300)
METRICS = {
    "default": ("sensitivity", "specificity", "precision", "npv"),
    "F1, AUC, spec.": ("f1", "roc_auc", "specificity"),
}
# prevalence, and sensitivity and specificity of the models
SETTINGS: dict[str, tuple[float, tuple[tuple[float, float], ...]]] = {
    "equal": (0.3, ((0.85, 0.85),) * 3),
    "two equal": (0.3, ((0.85, 0.85),) * 2),
    "twelve equal": (0.3, ((0.85, 0.85),) * 12),
    "apart": (0.3, ((0.9, 0.85), (0.85, 0.8), (0.8, 0.8))),
    "good, rare": (0.15, ((0.96, 0.93), (0.9, 0.9), (0.85, 0.85))),
    "good, rare, equal": (0.15, ((0.96, 0.93),) * 3),
    "near perfect": (0.5, ((0.98, 0.97), (0.95, 0.95), (0.95, 0.9))),
}


def lines(replicates: int) -> list[Line]:
    """Return the lines of rankings, then those of chosen sets."""
    found: list[Line] = []
    for setting, metrics, n in product(SETTINGS, METRICS, SIZES):
        found += _ranking(setting, metrics, n, max(1, replicates // SHARE))
    for n, size in product((60, 150), (1, 3)):
        found += _sets(n, size, None, max(1, replicates // SHARE))
    for n in (60, 150):
        found += _sets(n, None, 0.45, max(1, replicates // SHARE))
    return found


@dataclass(slots=True)
class Tally:
    """What came of the tables of one setting."""

    tables: int = 0
    scores: list[Bools] = field(default_factory=list)
    singles: list[Bools] = field(default_factory=list)
    widths: list[Floats] = field(default_factory=list)
    still: int = 0
    false_first: int = 0
    false_apart: int = 0


def _ranking(setting: str, metrics: str, n: int, replicates: int) -> list[Line]:
    """Return what MLcps, its single metrics and its claims are worth."""
    prevalence, rates = SETTINGS[setting]
    names = METRICS[metrics]
    truth = _true(prevalence, rates, names)
    whole, rng, found = polygon_area(truth), np.random.default_rng([n, len(names)]), Tally()
    best = set(np.flatnonzero(whole >= whole.max() * (1 - 1e-12)).tolist())
    for seed in range(replicates):
        _one(_drawn(rng, n, prevalence, rates), names, truth, whole, best, seed, found)
    where, many = f"{setting}; {metrics}; n {n}", found.tables
    held, wide = np.mean(found.scores).item(), np.mean(found.widths).item()
    said = [Line("MLcps", where, many * len(rates), held, least=0.92, width=wide)]
    for name, share in zip(names, np.mean(found.singles, axis=(0, 1)).tolist(), strict=True):
        said.append(Line(f"MLcps, profile: {name}", where, many * len(rates), share, least=0.92))
    every = many * len(rates) * (1 + len(names))
    return [
        *said,
        Line("MLcps: intervals of no width", where, every, found.still / every, most=0.0),
        Line(
            "MLcps: a wrong model first in over 95 %",
            where,
            many,
            found.false_first / many,
            most=0.05,
        ),
        Line("MLcps: a wrong model told apart", where, many, found.false_apart / many, most=0.05),
    ]


def _one(
    joint: JointCounts,
    names: tuple[str, ...],
    truth: Floats,
    whole: Floats,
    best: set[int],
    seed: int,
    found: Tally,
) -> None:
    """Add one table; one of which a measure is undefined would be refused."""
    values = make_evaluator(joint, names)(joint.n[None])[0]
    if not np.isfinite(values).all():
        return
    found.tables += 1
    why = sparse_data_reasons(joint, votes=True, ranks="roc_auc" in names)
    made = drawn(
        joint,
        lambda rows: make_evaluator(rows, names),
        resamples=RESAMPLES,
        seed=seed,
        smoothing=why,
    )
    scores, score = polygon_area(made), polygon_area(values)
    low, high, _ = percentile_limits(scores, level=LEVEL)
    low, high = np.minimum(low, score), np.maximum(high, score)
    found.scores.append((low <= whole) & (whole <= high))
    found.widths.append(high - low)
    ends = [
        np.where(np.isnan(one), other, one)
        for one, other in zip(
            closed_form_limits(joint, names, level=LEVEL),
            percentile_limits(made, level=LEVEL)[:2],
            strict=True,
        )
    ]
    least, most = np.minimum(ends[0], values), np.maximum(ends[1], values)
    found.singles.append((least <= truth + 1e-12) & (truth - 1e-12 <= most))
    found.still += int((low == high).sum() + (least == most).sum())
    first = int(score.argmax())
    leads = (scores >= scores.max(axis=1, keepdims=True) * (1 - 1e-12)).mean(axis=0)
    found.false_first += first not in best and leads[first] > LEVEL
    fewest = min(joint.n[joint.truth].sum(), joint.n[~joint.truth].sum())
    ranks = dense_ranks(score)
    alike = {*first_models(ranks), *_tied_with_first(score, scores, ranks, fewest, LEVEL)}
    told = [i for i in range(len(score)) if i not in alike]
    found.false_apart += any(whole[i] >= whole[first] for i in told)


def _drawn(
    rng: np.random.Generator, n: int, prevalence: float, rates: tuple[tuple[float, float], ...]
) -> JointCounts:
    """Draw scores, normal in each class, with a cut at 0 that has these rates."""
    truth, k = rng.random(n) < prevalence, len(rates)
    common, own = rng.standard_normal((n, 1)), rng.standard_normal((n, k))
    sensitivity, specificity = np.array(rates).T
    means = np.where(truth[:, None], ndtri(sensitivity), -ndtri(specificity))
    scores = means + np.sqrt(ALIKE) * common + np.sqrt(1 - ALIKE) * own
    return JointCounts.from_rows(
        tuple("abcdefghijkl"[:k]), truth, scores >= 0, scores, np.ones(n, np.int64)
    )


def _true(
    prevalence: float, rates: tuple[tuple[float, float], ...], names: tuple[str, ...]
) -> Floats:
    """Return the measures of the population, (k, n)."""
    p, (tp, tn) = prevalence, np.array(rates).T
    table = Confusion(p * tp, (1 - p) * (1 - tn), p * (1 - tp), (1 - p) * tn)
    areas = ndtr((ndtri(tp) + ndtri(tn)) / np.sqrt(2))
    known = (CATALOG[one] for one in names)
    return np.column_stack(
        [one.function(table) if one.needs == "confusion" else areas for one in known]
    )


def _sets(n: int, size: int | None, effort: float | None, replicates: int) -> list[Line]:
    """Return by how much chosen sets of eight equal models flatter, as counted and corrected."""
    rng, k, found, honest = np.random.default_rng(n), 8, [], []
    for _ in range(replicates):
        truth = rng.random(n) < 0.3
        votes = np.where(truth[:, None], rng.random((n, k)) < 0.6, rng.random((n, k)) < 0.2)
        patterns = PatternCounts.from_votes(tuple("abcdefgh"), truth, votes, np.ones(n, np.int64))
        counts = patterns.targets("positive")
        if size is not None:
            choices = best_subsets(counts, size)
            choice = choices[-1]
            judged = correct_best_set(counts, choice, Estimate(None), rng)
        else:
            within = best_within_effort(counts, (effort or 0) * n)
            if within is None:
                continue
            choice, limit = within, (effort or 0) * n
            judged = correct_set_within_effort(counts, within, Estimate(None), limit, rng)
        rows = counts.hit_n.sum()
        real = 1 - 0.4 ** choice.scores.sizes[0]
        found.append(choice.scores.covered[0] / rows - real)
        honest.append((judged.detected.value or 0) / rows - real)
    what = "--max-effort" if size is None else f"--best {size}"
    where = f"8 equal models; n {n}"
    return [
        Line(f"mars {what}: recall too high by", where, len(found), abs(np.mean(found).item())),
        Line(
            f"mars {what}: corrected off by",
            where,
            len(found),
            abs(np.mean(honest).item()),
            most=0.02,
        ),
    ]
