"""An uncertain prevalence: the range of a measure over it, or its distribution by simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clfeval.arrays import Floats
from clfeval.inference.resampling import beta_odds, percentiles, stream
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.population import Population
from clfeval.methods.estimates import Cells, estimate, limits
from clfeval.methods.tune_jpt.tables import Formula, Tuner, formulas
from clfeval.result import Estimate, Row

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
        tp, fp = one.rates
        for name in options.measures:
            at = _along(known[name], tp, fp)
            found: list[tuple[Estimate, float]] = []
            for sign in (-1, 1):
                ratio = low if CATALOG[name].invariant else _extreme(at, low, high, sign)
                at_end = {low: ends[0], high: ends[1]}
                place = at_end.get(ratio, ratio / (1 + ratio))
                found.append((_valued(tuner, name, known[name], one, ratio), place))
            (least, least_at), (most, most_at) = found
            rows.append(
                {
                    "slice": tuner.labels[i],
                    "model": model,
                    "measure": name,
                    "lowest": least,
                    "lowest_at": least_at,
                    "highest": most,
                    "highest_at": most_at,
                }
            )
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
                    "slice": tuner.labels[i],
                    "model": model,
                    "measure": name,
                    **_spread(
                        np.full(len(ratio), np.nan) if undefined else known[name](drawn),
                        options.level,
                    ),
                }
            )
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


def _along(measure: Formula, tp: Floats, fp: Floats) -> Callable[[Floats], Floats]:
    return lambda ratio: measure(Confusion.of_rates(tp, fp, ratio))


def _valued(tuner: Tuner, name: str, measure: Formula, one: Cells, ratio: float) -> Estimate:
    options = tuner.options
    here = one.at(np.array([0]), np.array([ratio]))
    low = high = np.array([np.nan])
    if tuner.level is not None:
        low, high = limits(name, here, level=tuner.level, beta=options.beta, stakes=options.stakes)
    value = float(measure(one.counted if CATALOG[name].invariant else here.tuned)[0])
    return estimate(value, float(low[0]), float(high[0]), CATALOG[name].tuned, one.counted)


def _extreme(function: Callable[[Floats], Floats], low: float, high: float, sign: int) -> float:
    """Return the odds in low..high where sign times the function is greatest, the lowest such."""
    a, b = np.log(low), np.log(high)
    for step in range(_ZOOMS):
        grid = np.linspace(a, b, _GRID if step == 0 else _ZOOM)
        ratios = np.clip(np.exp(grid), low, high)
        ratios[0], ratios[-1] = max(ratios[0], low), min(ratios[-1], high)
        values = sign * function(ratios)
        if np.isnan(values).all():
            return low
        top = np.nanmax(values)
        nearly = top - _EQUAL * abs(top) if np.isfinite(top) else top
        best = int(np.flatnonzero(values >= nearly)[0])
        if step == 0 and best in (0, len(grid) - 1):
            return low if best == 0 else high
        a, b = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(ratios[best])
