"""Baselines of measures: by chance, with permuted classes, and of constant predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isnan, nan

import numpy as np

from clfeval.arrays import Floats
from clfeval.compare.families import ON_SCREEN
from clfeval.counts.classes import ClassPatterns
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.sample import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate, Row, as_estimate, as_row
from clfeval.inference.hypothesis_tests import (
    permuted_positives,
    permuted_tables,
    random_average_precision,
    random_true_positives,
)
from clfeval.inference.resampling import random_stream
from clfeval.measures.confusion import Confusion
from clfeval.measures.multiclass_table import class_average
from clfeval.measures.record import Measure
from clfeval.methods.measurement.measure_rows import (
    has_scored_model,
    measure_at_threshold,
    takes_scores,
)
from clfeval.methods.measurement.requested_measures import AT_RISK, NET_BENEFIT, RequestedMeasure
from clfeval.methods.report.model_estimates import Observed

EXPECTED = "expectation"
LINEAR = {"brier_skill", "log_loss_skill", AT_RISK, "roc_auc", "gini"}
_TIE_TOLERANCE = 1e-12  # relative tolerance of ties


def measures_with_baselines(requested: Sequence[RequestedMeasure]) -> list[RequestedMeasure]:
    """Return the measures with baselines: those of the first screen, and those named."""
    return [measure for measure in requested if measure.by == "name" or measure.name in ON_SCREEN]


def label_baselines(
    counts: ConfusionCounts,
    requested: Sequence[RequestedMeasure],
    values: Observed,
    *,
    independent: bool,
) -> Iterator[Row]:
    """Yield the values of measures of 2 x 2 tables by chance, with these class totals.

    TP is hypergeometric; value: the mean where it is defined, p: probability of one as good.
    independent: independent, unweighted rows; else value is the measure of the expected table,
    without p.
    """
    method = "hypergeometric" if independent else EXPECTED
    for measure in requested:
        if takes_scores(measure):
            continue
        for i, model in enumerate(counts.models):
            observed = values.get((model, measure.name), Estimate(None)).value
            cells = (counts.tp, counts.fp, counts.positives, counts.negatives)
            tp, fp, positives, negatives = (float(cell[i]) for cell in cells)
            if observed is None or not positives + negatives:
                continue
            totals = (tp + fp, positives, negatives)
            value, p = _label_chance(measure.measure, totals, observed, independent=independent)
            yield _baseline_row(measure.name, model, value, observed, p, method)


def _label_chance(
    measure: Measure, totals: tuple[float, float, float], observed: float, *, independent: bool
) -> tuple[float, float]:
    """Return the mean of a measure by chance, and the probability of a value as good; NaN if none.

    totals: predicted positives, positives, negatives.
    """
    flagged, positives, negatives = totals
    tp = np.array([flagged * positives / (positives + negatives)])
    shares = np.ones(1)
    if independent:
        tp, shares = random_true_positives(int(positives), int(negatives), int(flagged))
    with np.errstate(all="ignore"):
        values = measure.function(
            Confusion(tp, flagged - tp, positives - tp, negatives - flagged + tp)
        )
    defined = np.isfinite(values)
    if not defined.any():
        return nan, nan
    shares = np.where(defined, shares, 0.0)
    values = np.where(defined, values, 0.0)
    p = nan
    if independent and measure.sign:
        p = float(shares[_as_good(values, observed, measure.sign) & defined].sum())
        p = min(1.0, p / float(shares.sum()))
    return float(shares @ values / shares.sum()), p


def score_baselines(
    model: str,
    counts: ScoreCounts,
    requested: Sequence[RequestedMeasure],
    values: Observed,
    cut: float | None,
    seed: int,
    *,
    is_exchangeable: bool,
) -> Iterator[Row]:
    """Yield the values of measures of scores by chance, under permutation of the classes.

    Exact for measures linear in the classes and for average precision, else the mean of
    permutations; p = (1 + those as good) / (1 + all).
    """
    observed_values = {measure.name: values.get((model, measure.name)) for measure in requested}
    measures = {
        measure.name: measure_at_threshold(measure, cut)
        for measure in requested
        if takes_scores(measure) and as_estimate(observed_values[measure.name]).value is not None
    }
    n = counts.positives + counts.negatives
    if not measures or not n.sum():
        return
    permuted: Mapping[str, Floats] = {}
    if is_exchangeable:
        stream = random_stream(seed, f"baseline\0{model}")
        permuted = _permuted_values(measures, counts, stream)
    total_positives = counts.positives.sum()
    share = float(total_positives / n.sum())
    for name, measure in measures.items():
        by_chance = permuted.get(name, np.zeros(0))
        method = EXPECTED
        if measure.id == "average_precision":
            value = share
            if is_exchangeable:
                value = random_average_precision(n, float(total_positives))
        elif measure.loss is not None or measure.id in LINEAR:
            value = float(measure.function(counts.scores, n * share, n * (1 - share)))
        else:
            value = float(by_chance.mean()) if len(by_chance) else nan
            method = "permutations"
        observed = as_estimate(observed_values[name]).value or 0.0
        p = _permutation_p(by_chance, observed, measure.sign)
        yield _baseline_row(name, model, value, observed, p, method)


def _permuted_values(
    measures: Mapping[str, Measure], counts: ScoreCounts, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return the finite values of measures with permuted classes, by name."""
    n = counts.positives + counts.negatives
    permuted: dict[str, list[Floats]] = {name: [] for name in measures}
    for positives in permuted_positives(n, int(counts.positives.sum()), rng):
        for name, measure in measures.items():
            values = measure.function(counts.scores, positives, n - positives)
            permuted[name].append(np.asarray(values))
    by_name = {name: np.concatenate(blocks) for name, blocks in permuted.items() if blocks}
    return {name: values[np.isfinite(values)] for name, values in by_name.items()}


def _permutation_p(by_chance: Floats, observed: float, sign: int) -> float:
    """Return (1 + those as good as the observed value) / (1 + all); NaN without a direction."""
    if not sign or not len(by_chance):
        return nan
    as_good = _as_good(by_chance, observed, sign)
    return float((1 + as_good.sum()) / (1 + len(by_chance)))


def dummy_baselines(
    counts: ConfusionCounts,
    requested: Sequence[RequestedMeasure],
    cut: float | None,
    *,
    scored: bool,
) -> Iterator[Row]:
    """Yield the measures of constant predictions: the larger class, or the prevalence as score."""
    p = float(counts.positives[0])
    n = float(counts.negatives[0])
    if not p + n:
        return
    table = Confusion(*map(np.array, ((p, n, 0.0, 0.0) if p > n else (0.0, 0.0, p, n))))
    one_score = (np.array([p / (p + n)]), np.array([p]), np.array([n]))
    for measure in requested:
        is_of_labels = not takes_scores(measure)
        if not is_of_labels and not scored:
            continue
        function = measure_at_threshold(measure, cut).function
        with np.errstate(all="ignore"):
            value = float(function(table) if is_of_labels else function(*one_score))
        if not isnan(value):
            model = "(majority)" if is_of_labels else "(constant)"
            yield _baseline_row(measure.name, model, value, value, nan, "constant")


def class_baselines(
    patterns: ClassPatterns, requested: Sequence[RequestedMeasure], values: Observed, seed: int
) -> Iterator[Row]:
    """Yield measures of several classes by chance, of the expected table; p by permutation."""
    is_exchangeable = patterns.clusters is None and not patterns.fractional
    for model, table in zip(patterns.models, patterns.tables, strict=True):
        permuted_counts = np.zeros((0, *table.shape))
        if is_exchangeable:
            permuted_counts = np.array(
                [*permuted_tables(table, random_stream(seed, f"baseline\0{model}"))]
            )
        chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        for measure in requested:
            form = measure.measure.classes
            observed = values.get((model, measure.name), Estimate(None)).value
            if form is None or takes_scores(measure) or observed is None:
                continue
            function = (
                partial(class_average, measure.measure, by="macro")
                if form.compute is None
                else form.compute
            )
            with np.errstate(all="ignore"):
                value = float(function(chance))
                permuted = np.asarray(function(permuted_counts), np.float64).ravel()
            sign = measure.measure.sign
            permuted = permuted[np.isfinite(permuted)]
            p = _permutation_p(permuted, observed, sign)
            yield _baseline_row(measure.name, model, value, observed, p, EXPECTED)


def _as_good(values: Floats, observed: float, sign: int) -> Floats:
    return np.asarray(sign * (values - observed) >= -_TIE_TOLERANCE * (1 + abs(observed)))


def _baseline_row(
    metric: str, model: str, value: float, observed: float, p: float, method: str
) -> Row:
    return as_row(
        {
            "measure": metric,
            "model": model,
            "value": None if isnan(value) else 0.0 if abs(value) < _TIE_TOLERANCE else value,
            "observed": observed,
            "p": None if isnan(p) else p,
            "method": method,
        }
    )


def two_class_baselines(
    sample: Sample,
    requested: Sequence[RequestedMeasure],
    values: Observed,
    of_scores: Sequence[Row],
) -> list[Row]:
    """Return the rows of baselines in the order of measures, constant predictions last."""
    counts = sample.slices[None]
    patterns = sample.patterns.get(None)
    measures = measures_with_baselines(requested)
    independent = not counts.fractional and (patterns is None or patterns.clusters is None)
    thresholds = {*sample.thresholds.values()}
    constant_measures = [
        measure for measure in measures if measure.name != NET_BENEFIT or len(thresholds) == 1
    ]
    of_labels = label_baselines(counts, measures, values, independent=independent)
    of_constants = dummy_baselines(
        counts, constant_measures, next(iter(thresholds), None), scored=has_scored_model(sample)
    )
    order = [measure.name for measure in measures]
    return sorted(
        [*of_labels, *of_scores, *of_constants], key=lambda row: order.index(row["measure"])
    )
