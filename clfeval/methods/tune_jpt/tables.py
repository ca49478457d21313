"""The tables of tuned models: measures at every class ratio, cells, rows, uncertain prevalences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Floats, Ints, over
from clfeval.counts.patterns import ConfusionCounts
from clfeval.inference.resampling import beta_odds, percentiles, resampled_rates, stream
from clfeval.inference.shares import combination
from clfeval.measures.catalog import CATALOG, computed
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import Stakes
from clfeval.measures.population import BALANCED, Population
from clfeval.measures.record import BOTH
from clfeval.methods.estimates import (
    Cells,
    Estimates,
    Limits,
    column,
    estimate,
    exact_limits,
    limits,
    rows_of,
)
from clfeval.methods.tune_jpt.options import MEASURES, ROWS, TuneOptions
from clfeval.result import Estimate, Row

Formula = Callable[[Confusion], Floats]
MODELS = "slice model population prevalence odds rows tp fp fn tn threshold"  # then the measures
SWEEP = "slice model prevalence odds ratio"


@dataclass(frozen=True, slots=True)
class Tuner:
    """Models of slices, ready to be tuned all at once.

    labels: the slice of each model, None for the whole table. `sampled` is False where only rates
    are known.
    """

    labels: tuple[str | None, ...]
    counts: ConfusionCounts
    thresholds: Mapping[str, float | None]
    options: TuneOptions
    sampled: bool = True

    @classmethod
    def of_slices(
        cls, slices: Mapping[str | None, ConfusionCounts], thresholds: Mapping[str, float | None],
        options: TuneOptions, *, sampled: bool,
    ) -> Tuner:  # fmt: skip
        """Put the models of all slices in one row: hundreds of slices cost little more than one."""
        parts = list(slices.values())
        columns = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("tp", "fp", "fn", "tn", "positives", "negatives")
        )
        models = tuple(model for part in parts for model in part.models)
        labels = tuple(label for label, part in slices.items() for _ in part.models)
        return cls(labels, ConfusionCounts(models, *columns), thresholds, options, sampled)

    @property
    def level(self) -> float | None:
        """The level of intervals; None without them, and where nobody knows how many rows."""
        return self.options.confidence if self.sampled else None

    def rows(self) -> tuple[list[Row], list[Row], int]:
        """Return tables `models` and `sweep`, and the most undefined replicates of any measure.

        A row per model as counted, at 1:1 and at each target; a row per swept population and model
        of the whole table. They are estimated together, which costs little more than a few.
        """
        counts, options = self.counts, self.options
        pairs = zip(counts.positives.tolist(), counts.negatives.tolist(), strict=True)
        targets = [("1:1", BALANCED), *(("target", target) for target in options.populations)]
        places: list[tuple[int, str, Any]] = []
        for i, (p, n) in enumerate(pairs):
            if self.sampled:
                places.append((i, "sample", Population.of_counts(p, n) if p and n else None))
            places += [(i, kind, target) for kind, target in targets]
        shown = len(places)
        swept = options.swept.populations if options.swept is not None else ()
        places += [(i, "sweep", one) for one in swept for i in range(self.labels.count(None))]
        models, kinds, populations = zip(*places, strict=True)
        own = over(counts.positives, counts.negatives)
        found_at = [one and (own[i] if kind == "sample" else one.ratio) for i, kind, one in places]
        ratios = np.array(found_at, np.float64)
        cells = Cells.of(counts, [1.0]).at(np.array(models), ratios)
        counted = np.array([kind == "sample" for kind in kinds])
        found, failed = self._estimates(cells, np.array(models), counted)
        total, per = (counts.positives + counts.negatives).tolist(), cells.tuned.per(ROWS)
        columns: dict[str, Sequence[Any]] = {
            "slice": [self.labels[i] for i in models], "model": [counts.models[i] for i in models],
            "population": kinds, "prevalence": [one and one.prevalence for one in populations],
            "odds": [one and one.odds for one in populations], "ratio": ratios.tolist(),
            "rows": [total[i] if kind == "sample" else ROWS for i, kind, _ in places],
            "threshold": [self.thresholds.get(counts.models[i]) for i in models], **found,
        }  # fmt: skip
        for name in ("tp", "fp", "fn", "tn"):
            whole, tuned = getattr(counts, name).tolist(), getattr(per, name).tolist()
            columns[name] = [
                whole[i] if kind == "sample" else None if x != x else x
                for (i, kind, _), x in zip(places, tuned, strict=True)
            ]
        by_model, by_odds = (
            rows_of({name: columns[name][part] for name in (*names.split(), *found)})
            for names, part in ((MODELS, slice(shown)), (SWEEP, slice(shown, None)))
        )
        return by_model, by_odds, failed

    def _estimates(
        self, cells: Cells, models: Ints, counted: Bools
    ) -> tuple[dict[str, Estimates], int]:
        """Return every measure shown; exact limits for shares of the rows that were counted."""
        options, level = self.options, self.level
        known = formulas(options.beta, options.stakes)
        chosen = {name: known[name] for name in options.measures}
        bounds: dict[str, Limits] = {}
        failed = 0
        if level is not None and options.interval == "bootstrap":
            bounds, failed = bootstrap_limits(
                chosen, cells, models, self.counts.models, level=level,
                resamples=options.resamples, seed=options.seed,
            )  # fmt: skip
        elif level is not None:
            for name in chosen:
                found = limits(
                    name, cells, level=level, beta=options.beta, stakes=options.stakes,
                    known=bounds,
                )  # fmt: skip
                exact = exact_limits(name, cells, level=level) or found
                low, high = (np.where(counted, *both) for both in zip(exact, found, strict=True))
                bounds[name] = low, high
        tables = cells.tuned
        return {
            name: column(
                # what does not move keeps all its digits
                np.where(
                    counted | CATALOG[name].invariant, measure(cells.counted), measure(tables)
                ),
                bounds.get(name), cells, CATALOG[name].tuned,
            )
            for name, measure in chosen.items()
        }, failed  # fmt: skip


def formulas(beta: float = 1.0, stakes: Stakes | None = None) -> dict[str, Formula]:
    """Return what computes each measure, with the weight of recall and the stakes filled in."""
    known = computed("confusion", beta=beta, stakes=stakes)
    return {name: known[name] for name in MEASURES if name in known}


def bootstrap_limits(
    known: Mapping[str, Formula], cells: Cells, models: Ints, names: tuple[str, ...], *,
    level: float, resamples: int, seed: int,
) -> tuple[dict[str, Limits], int]:  # fmt: skip
    """Return percentile limits by measure, (m,) each, and the most undefined replicates of any.

    models (m,): of which of the `names` each table is; each has a stream of its own. NaN for
    models without a class. An empty cell stays empty in every replicate: limits are too narrow.
    Errors: ValueError for counts that are not whole.
    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapters 8 and 13.
    """
    out = {name: (np.full(len(cells.tp), np.nan), np.full(len(cells.tp), np.nan)) for name in known}
    failed = 0
    for i, model in enumerate(names):
        here = np.flatnonzero(models == i)
        tp, p, fp, n = (
            int(part[here[0]]) for part in (cells.tp, cells.positives, cells.fp, cells.negatives)
        )
        if not (p and n):
            continue
        tpr, fpr = resampled_rates(tp, p, fp, n, resamples=resamples, rng=stream(seed, model))
        drawn = Confusion.of_rates(tpr[:, None], fpr[:, None], cells.ratio[here])
        for name, measure in known.items():
            low, high, lost = percentiles(measure(drawn), level=level)
            out[name][0][here], out[name][1][here] = low, high
            failed = max(failed, int(np.max(lost)))
    return out, failed


def expected_rows(
    tuner: Tuner, populations: Sequence[tuple[str, Population]], rows: float
) -> list[Row]:
    """Return, per model and population, the cells expected among so many rows, with intervals.

    TP and FN are shares of the positives there, FP and TN of the negatives: their intervals are
    those of sensitivity and specificity, scaled. `called` is TP + FP, all that are called positive.
    The class totals are taken as known; what a single sample of that size shows varies more.
    Range 0..rows; undefined, with a reason, without the class. Intervals: Clopper-Pearson, and for
    `called` square-and-add of Wilson limits.
    """
    counts = tuner.counts
    out: list[Row] = []
    for kind, population in populations:
        cells = Cells.of(counts, [population.ratio])
        p = rows * population.prevalence
        n = rows - p if population.ratio < 1 else rows / (1 + population.ratio)
        tp, fp = cells.rates
        found = {
            "tp": _scaled(tuner, cells, "sensitivity", tp, p),
            "fp": _scaled(tuner, cells, "specificity", fp, n, rest=True),
            "fn": _scaled(tuner, cells, "sensitivity", 1 - tp, p, rest=True),
            "tn": _scaled(tuner, cells, "specificity", 1 - fp, n),
            "called": _called(tuner, cells, p, n),
        }
        k = len(counts.models)
        out += rows_of(
            {
                "slice": list(tuner.labels), "model": list(counts.models), "population": [kind] * k,
                "prevalence": [population.prevalence] * k, "odds": [population.odds] * k,
                "rows": [rows] * k, "positives": [p] * k, "negatives": [n] * k, **found,
            }
        )  # fmt: skip
    return out


def _scaled(
    tuner: Tuner, cells: Cells, name: str, share: Floats, total: float, *, rest: bool = False
) -> list[Estimate]:
    """Return total times a share of one class; `rest` where the limits are of what is left."""
    low = high = np.full(len(share), np.nan)
    if tuner.level is not None:
        low, high = limits(name, cells, level=tuner.level)
    if rest:
        low, high = 1 - high, 1 - low
    return column(share * total, (low * total, high * total), cells, CATALOG[name].undefined)


def _called(tuner: Tuner, cells: Cells, p: float, n: float) -> list[Estimate]:
    tp, fp = cells.rates
    value, low = p * tp + n * fp, np.full(len(tp), np.nan)
    high = low
    if tuner.level is not None:
        _, low, high = combination(
            p, n, cells.tp, cells.positives, cells.fp, cells.negatives, level=tuner.level
        )
    return column(value, (low, high), cells, BOTH)


_GRID = 401  # odds at first, evenly in the logarithm
_ZOOM = 17  # odds inside a bracket, which becomes 8 times narrower each time
_ZOOMS = 12
_EQUAL = 1e-12  # relative; a smaller difference is rounding
DRAWS = 10_000  # of simulations


def range_rows(tuner: Tuner, ends: tuple[float, float]) -> list[Row]:
    """Return, per model and measure, the lowest and the highest value over the prevalences.

    Each with its own interval, and the prevalence at which it is reached: an end, or in between as
    for MCC and EPA. What does not move with the class ratio has one value, at the lower end.
    """
    low, high = (Population.of_prevalence(end).ratio for end in ends)
    options = tuner.options
    rows: list[Row] = []
    known = formulas(options.beta, options.stakes)
    for i, model in enumerate(tuner.counts.models):
        one = Cells.of(tuner.counts, [1.0]).where(np.array([i]))
        for name in options.measures:
            still = CATALOG[name].invariant
            found: list[tuple[Estimate, float]] = []
            for sign in (-1, 1):
                ratio = low if still else _extreme(known[name], one, low, high, sign)
                at_end = {low: ends[0], high: ends[1]}
                place = at_end.get(ratio, ratio / (1 + ratio))
                found.append((_valued(tuner, name, known[name], one, ratio), place))
            (least, least_at), (most, most_at) = found
            rows.append(
                {
                    "slice": tuner.labels[i], "model": model, "measure": name, "lowest": least,
                    "lowest_at": least_at, "highest": most, "highest_at": most_at,
                }
            )  # fmt: skip
    return rows


def simulated_rows(tuner: Tuner, prior: tuple[float, float]) -> list[Row]:
    """Return, per model and measure, its distribution when the prevalence is Beta(a, b).

    Each draw takes a prevalence from the prior and, where rows were counted, a true and a false
    positive rate from what the rows leave plausible of each, Beta(k + 1/2, n - k + 1/2) (Jeffreys):
    low and high hold all three uncertainties, and an empty cell does not pass for known. A measure
    that is undefined for the rows as counted has no distribution.
    """
    options, counts = tuner.options, tuner.counts
    rows: list[Row] = []
    known = formulas(options.beta, options.stakes)
    for i, model in enumerate(counts.models):
        rng = stream(options.seed, f"prior\0{model}")
        ratio = beta_odds(*prior, draws=DRAWS, rng=rng)
        one = Cells.of(counts, [1.0]).where(np.array([i]))
        tp, fp = one.rates
        whole = bool(one.positives[0] and one.negatives[0])
        if tuner.level is not None and whole:
            tp, fp = (
                rng.beta(k[0] + 0.5, n[0] - k[0] + 0.5, len(ratio))
                for k, n in ((one.tp, one.positives), (one.fp, one.negatives))
            )
        drawn = Confusion.of_rates(tp, fp, ratio)
        for name in options.measures:
            undefined = np.isnan(known[name](one.tuned)[0])
            rows.append(
                {
                    "slice": tuner.labels[i], "model": model, "measure": name,
                    **_spread(
                        np.full(len(ratio), np.nan) if undefined else known[name](drawn),
                        options.level,
                    ),
                }
            )  # fmt: skip
    return rows


def _spread(values: Floats, level: float) -> dict[str, float | int | None]:
    """Return mean, median and percentiles of what is defined; None where infinite or nothing is."""
    low, high, failed = (x.item() for x in percentiles(values, level=level))
    defined = values[~np.isnan(values)]
    middle = mean = np.nan
    if defined.size:
        with np.errstate(invalid="ignore", over="ignore"):  # of both infinities there is none
            middle, mean = float(np.median(defined)), float(defined.mean())
    shown = {"mean": mean, "median": middle, "low": low, "high": high}
    return {
        **{key: x if np.isfinite(x) else None for key, x in shown.items()}, "failed": failed
    }  # fmt: skip


def _valued(tuner: Tuner, name: str, measure: Formula, one: Cells, ratio: float) -> Estimate:
    options = tuner.options
    here = one.at(np.array([0]), np.array([ratio]))
    low = high = np.array([np.nan])
    if tuner.level is not None:
        low, high = limits(name, here, level=tuner.level, beta=options.beta, stakes=options.stakes)
    value = float(measure(one.counted if CATALOG[name].invariant else here.tuned)[0])
    return estimate(value, float(low[0]), float(high[0]), CATALOG[name].tuned, one.counted)


def _extreme(measure: Formula, one: Cells, low: float, high: float, sign: int) -> float:
    """Return the odds in low..high where sign times the measure is greatest, the lowest such."""
    a, b = np.log(low), np.log(high)
    for step in range(_ZOOMS):
        grid = np.linspace(a, b, _GRID if step == 0 else _ZOOM)
        ratios = np.clip(np.exp(grid), low, high)
        ratios[0], ratios[-1] = max(ratios[0], low), min(ratios[-1], high)
        values = sign * measure(Confusion.of_rates(*one.rates, ratios))
        if np.isnan(values).all():
            return low
        top = np.nanmax(values)
        nearly = top - _EQUAL * abs(top) if np.isfinite(top) else top
        best = int(np.flatnonzero(values >= nearly)[0])
        if step == 0 and best in (0, len(grid) - 1):
            return low if best == 0 else high
        a, b = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(ratios[best])
