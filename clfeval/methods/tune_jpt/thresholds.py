"""The threshold that is best for a measure in a population, and what it is honestly worth.

It is found on the hull of the ROC points; its worth is that of thresholds chosen on some folds and
judged on the one left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.count import Sample
from clfeval.counts.patterns import ConfusionCounts
from clfeval.inference.resampling import stream
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.population import Population
from clfeval.methods.estimates import estimate
from clfeval.methods.roc import RocPoints
from clfeval.methods.tune_jpt.best import TIE, at_odds, best_points, candidates_of
from clfeval.methods.tune_jpt.crossfit import honest_estimates
from clfeval.methods.tune_jpt.options import LARGE, REPEATS, TuneOptions
from clfeval.methods.tune_jpt.tables import Formula, formulas, places_of
from clfeval.result import Estimate, Row, Rows

Vertex = tuple[float, float, float]  # threshold, true and false positives
Fixed = tuple[float | None, Confusion]
# on a curve, by odds: place of the best point or -1, its value; the value of what is in use
Values = tuple[Sequence[int], Sequence[float], Sequence[float]]


def repeats_of(given: Sample) -> int:
    """Return how often cross-fitting deals the rows anew: once where there are many."""
    return REPEATS if given.slices[None].rows.max() < LARGE else 1


def threshold_tables(
    given: Sample, options: TuneOptions
) -> tuple[dict[str, Rows], list[str], list[str]]:
    """Return the tables of thresholds, the digests of scores, and models with infinite scores.

    One model's scores are held at a time. Where scores are infinite no threshold can be written.
    """
    counted = given.counted
    if counted is None or not options.tuned:
        return {}, [], []
    known = formulas(options.beta, options.stakes)
    chosen = {name: known[name] for name in options.tuned}
    by_slice: dict[str | None, list[Row]] = {label: [] for label in given.slices}
    places = {label: places_of(given, label, options) for label in given.slices}
    repeats = repeats_of(given)
    digests: list[str] = []
    unbounded: list[str] = []
    for i, model in enumerate(counted.models):
        if model.kind == "label":
            continue
        found = counted.scores(i)
        digests.append(f"{model.name}{found[None].digest()}")
        if not np.isfinite(found[None].scores).all():
            unbounded.append(model.name)
            continue
        tables = {label: _as_cut(counts, i) for label, counts in given.slices.items()}
        alike: dict[int, list[str | None]] = {}  # slices in as many populations
        for label in found:
            if tables[label].positives and tables[label].negatives:
                alike.setdefault(len(places[label]), []).append(label)
        for labels in alike.values():
            parts, cut = [found[label] for label in labels], given.thresholds.get(model.name)
            ratios = np.array([[at.ratio for _, at in places[label]] for label in labels]).T
            rngs = [stream(options.seed, f"folds\0{model.name}\0{one or ''}") for one in labels]
            honest = honest_estimates(
                parts, ratios, chosen, folds=options.folds, repeats=repeats, rngs=rngs
            )
            curves, kept = candidates_of(parts), [tables[label] for label in labels]
            seen = best_and_kept(curves, kept, ratios, chosen)
            for at, label in enumerate(labels):
                by_slice[label] += threshold_rows(
                    label, model.name, curves[at], places[label], (cut, kept[at]), seen[at],
                    honest[at],
                )  # fmt: skip
    if not digests:
        return {}, [], []
    rows = [row for found in by_slice.values() for row in found]
    return {"thresholds": rows, "cutoffs": cutoff_rows(rows)}, sorted(digests), unbounded


def _as_cut(counts: ConfusionCounts, i: int) -> Confusion:
    """Return the table of a model as it was counted."""
    tp, fp, p, n = (
        part[i].item() for part in (counts.tp, counts.fp, counts.positives, counts.negatives)
    )
    return Confusion(tp, fp, p - tp, n - fp)


def best_and_kept(
    curves: Sequence[RocPoints], kept: Sequence[Confusion], ratios: Floats,
    measures: Mapping[str, Formula],
) -> list[dict[str, Values]]:  # fmt: skip
    """Return, by measure, what is best on each of s curves at g odds, and what is kept instead.

    kept: their tables at the thresholds in use. ratios (g, s). Measures that have no best are left
    out.
    """
    # phi has no best value to look for
    chosen = {name: one for name, one in measures.items() if CATALOG[name].best != "zero"}
    cells = [(one.tp, one.fp, one.fn, one.tn) for one in kept]
    table = Confusion(*np.array(cells).T)
    found: list[dict[str, Values]] = [{} for _ in curves]
    for name, (place, value) in best_points(curves, ratios, chosen).items():
        old = np.broadcast_to(chosen[name](at_odds(name, table, ratios)), ratios.shape)
        columns = (one.T.tolist() for one in (place, value, old))
        for its, at, best, now in zip(found, *columns, strict=True):
            its[name] = at, best, now
    return found


def threshold_rows(
    label: str | None, model: str, points: RocPoints, populations: Sequence[tuple[str, Population]],
    fixed: Fixed, values: Mapping[str, Values], honest: Mapping[str, Sequence[Estimate]],
) -> list[Row]:  # fmt: skip
    """Return the rows of table `thresholds` of one slice and model: per measure and population.

    points: the model's `roc.candidates`, or all points. populations: pairs of the kind ("sample",
    "1:1", "target", "sweep") and the population. fixed: the threshold in use, None for votes of
    the largest class, and the table it was counted to give, or that of its rates. values: as of
    `best_and_kept`. honest: by measure an estimate per population, from `honest_estimates`.

    The value is that of the best threshold on the rows it was chosen on, which flatters it. The
    loss is how much better that is than the fixed threshold, in the unit of the measure and never
    below 0; the honest gain is how much better the cross-fitted value is, and below 0 where moving
    the threshold would do harm.
    """
    threshold, table = fixed
    where = list(zip(*(x.tolist() for x in (points.thresholds, points.tp, points.fp)), strict=True))
    rows: list[Row] = []
    for name, columns in values.items():
        each = zip(populations, *columns, honest[name], strict=True)
        for (kind, at), place, value, old, judged in each:
            best = _value(name, value, where, place)
            before = estimate(old, undefined=CATALOG[name].tuned, table=table)
            rows.append(
                {
                    "slice": label, "model": model, "measure": name, "population": kind,
                    "prevalence": at.prevalence, "odds": at.odds, "ratio": at.ratio,
                    **_threshold(where, place), "value": best, "fixed_threshold": threshold,
                    "fixed_value": before, "loss": _loss(name, best, before), "honest": judged,
                    "honest_gain": _gain(name, judged, before),
                }
            )  # fmt: skip
    return rows


def cutoff_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of table `cutoffs`: per model and measure, the whole table's thresholds.

    From few positives to many, each class ratio once. A threshold of None is above every score.
    """
    names = ("model", "measure", "odds", "threshold", "rule")
    found: dict[tuple[str, str], dict[float, Row]] = {}
    for row in rows:
        if row["slice"] is None and row["rule"] is not None:
            by_ratio = found.setdefault((str(row["model"]), str(row["measure"])), {})
            by_ratio.setdefault(float(str(row["ratio"])), {name: row[name] for name in names})
    return [by_ratio[ratio] for by_ratio in found.values() for ratio in sorted(by_ratio)]


def _threshold(points: Sequence[Vertex], place: int) -> dict[str, float | str | None]:
    if place < 0:
        return {"threshold": None, "rule": None, "sensitivity": None, "specificity": None}
    (cut, tp, fp), (_, p, n) = points[place], points[-1]
    there = {"sensitivity": tp / p, "specificity": 1 - fp / n}
    if place == 0:
        return {"threshold": None, "rule": "never positive", **there}
    rule = "always positive" if place == len(points) - 1 else "score >= t"
    return {"threshold": cut, "rule": rule, **there}


def _value(name: str, value: float, points: Sequence[Vertex], place: int) -> Estimate:
    if value == value:
        return estimate(value)
    (_, tp, fp), (_, p, n) = points[place], points[-1]
    table = Confusion(tp, fp, p - tp, n - fp)
    return estimate(value, undefined=CATALOG[name].tuned, table=table)


def _loss(name: str, best: Estimate, kept: Estimate) -> Estimate:
    """Return by how much the best value beats the kept one: not at all where they tie."""
    lost = _gain(name, best, kept)
    if lost.value is None or best.value is None:
        return lost
    return Estimate(lost.value if lost.value > TIE * abs(best.value) else 0.0)


def _gain(name: str, new: Estimate, old: Estimate) -> Estimate:
    """Return by how much a value is better than another; two infinite ones are alike."""
    sign = -1 if CATALOG[name].best == "min" else 1
    if new.value is not None and old.value is not None:
        return Estimate(0.0 if new.value == old.value else sign * (new.value - old.value))
    for one in (new, old):
        if one.value is None and one.reason not in _INFINITE:
            return Estimate(None, reason=one.reason)
    a, b = (
        one.value if one.value is not None else _INFINITE[str(one.reason)] for one in (new, old)
    )
    return estimate(0.0 if a == b else sign * (a - b))


_INFINITE = {"infinite": np.inf, "minus_infinite": -np.inf}
