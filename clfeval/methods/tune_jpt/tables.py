"""The tables of tuned models: measures at every class ratio, cells, rows, uncertain prevalences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clfeval.arrays import Floats, Ints, divide
from clfeval.counts.count import Sample
from clfeval.counts.patterns import CELLS, ConfusionCounts
from clfeval.document import Row
from clfeval.inference.clusters import rate_correlation, rate_divisors
from clfeval.inference.resampling import (
    beta_odds,
    correlate_draws,
    percentile_limits,
    random_stream,
)
from clfeval.measures.catalog import CATALOG, measure_functions
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import OutcomeCosts
from clfeval.measures.population import BALANCED, Population
from clfeval.methods.estimates import (
    Cells,
    Design,
    Estimates,
    Limits,
    estimate_column,
    measure_limits,
    rows_from_columns,
)
from clfeval.methods.measurement.label_measures import TableResampler
from clfeval.methods.measurement.score_measures import Formula, bootstrap_limits
from clfeval.methods.provenance import slice_totals
from clfeval.methods.tune_jpt.options import ROWS, TuneOptions
from clfeval.records import dataclass

Place = tuple[str, Population]  # sample, 1:1, target or sweep; and the population
MODELS = "slice model population prevalence odds rows tp fp fn tn threshold"  # then the measures
SWEEP = "slice model prevalence odds ratio"


def slice_populations(given: Sample, label: str | None, options: TuneOptions) -> list[Place]:
    """Return the populations of a slice by kind; swept odds for the whole table only."""
    sample = slice_totals(given, label)[-1]
    return [
        *([("sample", sample)] if sample is not None else []),
        ("1:1", BALANCED),
        *(("target", target) for target in options.populations),
        *(("sweep", one) for one in (options.swept if label is None else ())),
    ]


@dataclass(frozen=True, slots=True)
class TunedModels:
    """Models of slices, concatenated; labels: the slice of each, None for the whole table."""

    given: Sample
    options: TuneOptions
    labels: tuple[str | None, ...]
    counts: ConfusionCounts

    @property
    def level(self) -> float | None:
        """The level of intervals; None without intervals or counts."""
        return self.options.confidence if self.given.sampled else None

    def who(self, models: Sequence[int]) -> dict[str, list[Any]]:
        """Return the columns of slice and model."""
        names = self.counts.models
        return {"slice": [self.labels[i] for i in models], "model": [names[i] for i in models]}

    def limits(self, name: str, cells: Cells, known: Mapping[str, Limits] | None = None) -> Limits:
        """Return the limits of a measure by formula, NaN without intervals."""
        options = self.options
        if self.level is None:
            return np.full(len(cells.tp), np.nan), np.full(len(cells.tp), np.nan)
        # measures that are not resampled have exact limits
        how = "exact" if options.interval == "bootstrap" else options.interval
        return measure_limits(
            name, cells, level=self.level, design=Design(options.totals, how), beta=options.beta,
            stakes=options.outcome_costs, known=known,
        )  # fmt: skip

    def estimates(
        self, name: str, cells: Cells, chosen: Cells | None = None, times: Floats | float = 1.0
    ) -> Estimates:
        """Return a measure of tables, times `times`, with limits extended to that of `chosen`."""
        value, here = (self.values(name, one) * times for one in (cells, chosen or cells))
        low, high = (end * times for end in self.limits(name, cells))
        bounds = np.minimum(low, here), np.maximum(high, here)
        return estimate_column(value, bounds, cells, CATALOG[name].undefined_at_odds)

    def values(self, name: str, cells: Cells) -> Floats:
        """Return a measure of tables, all digits kept where it does not depend on the ratio."""
        of = measure_formulas(self.options.beta, self.options.outcome_costs)[name]
        still = cells.sampled | CATALOG[name].invariant
        return np.where(still, of(cells.observed), of(cells.tuned))

    def rows(self) -> tuple[list[Row], list[Row], int]:
        """Return tables `models` and `sweep`, and the most undefined replicates of any measure.

        A row per model in the sample, at 1:1 and each target, and per swept population and model.
        """
        counts, thresholds = self.counts, self.given.thresholds
        pairs = zip(counts.positives.tolist(), counts.negatives.tolist(), strict=True)
        targets = [("1:1", BALANCED), *(("target", target) for target in self.options.populations)]
        places: list[tuple[int, str, Any]] = []
        for i, (p, n) in enumerate(pairs):
            if self.given.sampled:
                own = Population.from_counts(p, n, counts.unit) if p and n else None
                places.append((i, "sample", own))
            places += [(i, kind, target) for kind, target in targets]
        shown, whole = len(places), range(self.labels.count(None))
        places += [(i, "sweep", one) for one in self.options.swept for i in whole]
        models, kinds, populations = zip(*places, strict=True)
        counted = np.array([kind == "sample" for kind in kinds])
        own = divide(counts.positives, counts.negatives)[np.array(models)]
        wanted = np.array([one and one.ratio for one in populations], np.float64)
        ratios = np.where(counted & ~np.isnan(wanted), own, wanted)
        cells = Cells.picked(counts, models, ratios, counted)
        found, failed = self._estimates(cells, np.array(models))
        total, per = counts.rows.tolist(), cells.tuned.per(ROWS)
        columns: dict[str, Sequence[Any]] = {
            **self.who(models), "population": kinds,
            "prevalence": [one and one.prevalence for one in populations],
            "odds": [one and one.odds for one in populations], "ratio": ratios.tolist(),
            "rows": [total[i] if kind == "sample" else ROWS for i, kind, _ in places],
            "threshold": [thresholds.get(counts.models[i]) for i in models], **found,
        }  # fmt: skip
        for name in CELLS:
            rows, tuned = counts.display_units(name).tolist(), getattr(per, name).tolist()
            columns[name] = [
                rows[i] if kind == "sample" else None if x != x else x
                for (i, kind, _), x in zip(places, tuned, strict=True)
            ]
        by_model, by_odds = (
            rows_from_columns({name: columns[name][part] for name in (*names.split(), *found)})
            for names, part in ((MODELS, slice(shown)), (SWEEP, slice(shown, None)))
        )
        return by_model, by_odds, failed

    def _estimates(self, cells: Cells, models: Ints) -> tuple[dict[str, Estimates], int]:
        """Return every measure shown, and the most undefined replicates of any."""
        options, level, names = self.options, self.level, self.counts.models
        known = measure_formulas(options.beta, options.outcome_costs)
        bounds: dict[str, Limits] = {}
        failed = 0
        if level is not None and options.interval == "bootstrap":
            bounds, failed = bootstrap_limits(
                {name: known[name] for name in options.measures}, cells, models, names,
                level=level, resamples=options.resamples, seed=options.seed,
                design=Design(options.totals),
                redrawn=lambda i: TableResampler.from_patterns(
                    self.given.patterns.get(self.labels[i]), names[i]),
            )  # fmt: skip
        elif level is not None:
            for name in options.measures:
                bounds[name] = self.limits(name, cells, bounds)
        return {
            name: estimate_column(
                self.values(name, cells), bounds.get(name), cells, CATALOG[name].undefined_at_odds
            )
            for name in options.measures
        }, failed


def measure_formulas(beta: float = 1.0, stakes: OutcomeCosts | None = None) -> dict[str, Formula]:
    """Return the functions of measures, with beta and costs filled in."""
    return measure_functions("confusion", beta=beta, stakes=stakes)


def expected_rows(tuner: TunedModels, rows: float) -> list[Row]:
    """Return, per model and population, the expected cells among `rows` rows, with intervals.

    Intervals of TP, FN, FP and TN are those of sensitivity and specificity, scaled; class totals
    are known. `called` is TP + FP, all predicted positive. Range 0..rows; undefined, with a reason,
    without the class. Intervals: Clopper-Pearson, and for `called` square-and-add of Wilson limits.
    """
    places = [
        (i, kind, one)
        for label in tuner.given.slices
        for kind, one in slice_populations(tuner.given, label, tuner.options)
        if kind != "sweep"
        for i in (i for i, its in enumerate(tuner.labels) if its == label)
    ]
    models, kinds, populations = zip(*places, strict=True)
    ratios, p = (
        np.array([getattr(one, name) for one in populations]) for name in ("ratio", "prevalence")
    )
    cells, p = Cells.picked(tuner.counts, models, ratios), rows * p
    n = np.where(ratios < 1, rows - p, rows / (1 + ratios))
    found = {
        cell: tuner.estimates(name, cells, times=total)
        for cell, name, total in (
            ("tp", "sensitivity", p), ("fp", "fpr", n), ("fn", "fnr", p), ("tn", "specificity", n),
            ("flagged", "detection_prevalence", rows),
        )
    }  # fmt: skip
    return rows_from_columns(
        {
            **tuner.who(models), "population": kinds,
            "prevalence": [one.prevalence for one in populations],
            "odds": [one.odds for one in populations], "rows": [rows] * len(places),
            "positives": p.tolist(), "negatives": n.tolist(), **found,
        }
    )  # fmt: skip


_GRID = 401  # odds at first, evenly in the logarithm
_ZOOM = 17  # odds inside a bracket, which becomes 8 times narrower each time
_ZOOMS = 12
_EQUAL = 1e-12  # relative; a smaller difference is rounding
DRAWS = 10_000  # of simulations


def range_rows(tuner: TunedModels, ends: tuple[float, float]) -> list[Row]:
    """Return, per model and measure, the lowest and the highest value over the prevalences.

    Each with its interval and its prevalence; measures invariant to it at the lower end.
    """
    low, high = (Population.from_prevalence(end).ratio for end in ends)
    at_end, options = {low: ends[0], high: ends[1]}, tuner.options
    rows: list[Row] = []
    known = measure_formulas(options.beta, options.outcome_costs)
    for i, model in enumerate(tuner.counts.models):
        one = Cells.picked(tuner.counts, [i], np.ones(1))
        for name in options.measures:
            still = CATALOG[name].invariant
            row: dict[str, Any] = {"slice": tuner.labels[i], "model": model, "measure": name}
            for side, sign in (("lowest", -1), ("highest", 1)):
                ratio = low if still else _extreme_odds(known[name], one, low, high, sign)
                here = Cells.picked(tuner.counts, [i], np.array([ratio]))
                row[side] = tuner.estimates(name, here)[0]
                row[f"{side}_at"] = at_end.get(ratio, ratio / (1 + ratio))
            rows.append(row)
    return rows


def simulated_rows(tuner: TunedModels, prior: tuple[float, float]) -> list[Row]:
    """Return, per model and measure, its distribution when the prevalence is Beta(a, b).

    Each draw takes a prevalence from the prior and, of counted rows, both rates from their
    posteriors Beta(k + 1/2, n - k + 1/2) (Jeffreys). Undefined where the measure of the rows is.
    Mean, median and percentiles are of defined draws, None if infinite or undefined.
    """
    options, counts = tuner.options, tuner.counts
    rows: list[Row] = []
    known = measure_formulas(options.beta, options.outcome_costs)
    for i, model in enumerate(counts.models):
        rng = random_stream(options.seed, f"prior\0{model}")
        ratio = beta_odds(*prior, draws=DRAWS, rng=rng)
        one = Cells.picked(counts, [i], np.ones(1))
        tp, fp = one.rates
        if tuner.level is not None and bool(one.positives[0] and one.negatives[0]):
            rho, alone = 0.0, one
            if one.sums is not None:  # each rate by itself, then together
                by = rate_divisors(one.sums, one.totals, np.zeros((2, 1)), level=options.level)
                rho, alone = rate_correlation(one.sums, one.totals).item(), one.divided(by)
            tp, fp = (
                rng.beta(k[0] + 0.5, n[0] - k[0] + 0.5, len(ratio))
                for k, n in ((alone.tp, alone.positives), (alone.fp, alone.negatives))
            )
            tp, fp = correlate_draws(tp, fp, rho, rng)
        drawn = Confusion.from_rates(tp, fp, ratio)
        for name in options.measures:
            undefined = np.isnan(known[name](one.tuned)[0])
            values = np.full(len(ratio), np.nan) if undefined else known[name](drawn)
            low, high, failed = (x.item() for x in percentile_limits(values, level=options.level))
            defined = values[~np.isnan(values)]
            middle = mean = np.nan
            if defined.size:
                with np.errstate(invalid="ignore", over="ignore"):  # undefined for inf - inf
                    middle, mean = float(np.median(defined)), float(defined.mean())
            found = {"mean": mean, "median": middle, "low": low, "high": high}
            shown = {key: x if np.isfinite(x) else None for key, x in found.items()}
            who = {"slice": tuner.labels[i], "model": model, "measure": name}
            rows.append({**who, **shown, "failed": failed})
    return rows


def _extreme_odds(measure: Formula, one: Cells, low: float, high: float, sign: int) -> float:
    """Return the odds in low..high where sign times the measure is greatest, the lowest such."""
    a, b = np.log(low), np.log(high)
    for step in range(_ZOOMS):
        grid = np.linspace(a, b, _GRID if step == 0 else _ZOOM)
        ratios = np.clip(np.exp(grid), low, high)
        ratios[0], ratios[-1] = max(ratios[0], low), min(ratios[-1], high)
        values = sign * measure(Confusion.from_rates(*one.rates, ratios))
        if np.isnan(values).all():
            return low
        top = np.nanmax(values)
        nearly = top - _EQUAL * abs(top) if np.isfinite(top) else top
        best = int(np.flatnonzero(values >= nearly)[0])
        if step == 0 and best in (0, len(grid) - 1):
            return low if best == 0 else high
        a, b = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(ratios[best])
