"""Paired estimates of models by measures of scores, class labels and class probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import isfinite, sqrt

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Influence, Ints
from clfeval.compare.paired_estimates import PairedEstimates, errors_of_rows
from clfeval.counts.classes import ClassPatterns, ProbabilityRows
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.measures.class_averages import average_influence, class_average
from clfeval.methods.design_effects import class_sizes, effective_class_sizes
from clfeval.methods.measurement.label_measures import estimates_of_labels, make_paired_estimates
from clfeval.methods.measurement.metrics import measure_at_threshold
from clfeval.methods.measurement.requested_measures import AT_RISK, NET_BENEFIT, RequestedMeasure
from clfeval.methods.report.multiclass_estimates import OVER_CLASSES, small_sample_factors

_BLOCK = 2**16


def score_estimates(
    weights: Counts | None, owners: Ints | None, asked: RequestedMeasure,
    moved: Mapping[str, tuple[float, Floats]], sizes: Floats, *, sampling: bool,
) -> PairedEstimates | None:  # fmt: skip
    """Return paired estimates by a measure of scores; moved: value and influence of rows (n,)."""
    names, k = list(moved), len(moved)
    if not names:
        return None
    values, each = zip(*moved.values(), strict=True)
    measure, flips, steps = asked.measure, None, np.zeros((k, 0))
    least = float(sizes[sizes > 0].min())
    span = measure.high - measure.low
    if measure.interval == "delong":
        steps = np.full((k, len(sizes)), span)
    elif measure.loss is not None and isfinite(span):
        of = None if owners is None else np.bincount(owners, weights)
        rows = sizes.sum() if of is None else of.sum() ** 2 / (of**2).sum()
        steps, sizes = np.full((k, 1), span), np.array([rows])
    elif measure.id in (NET_BENEFIT, AT_RISK):
        row = 1.0 if weights is None or not (sampling or owners is not None) else weights.mean()
        # f + NB is 1 of a true positive, - t / (1 - t) of a false positive, 0 of other rows
        ends = np.array([(-(f.min() + nb), f.max() + nb) for nb, f in moved.values()])
        squares = (ends**2).sum(axis=1) * row**2
        differ = np.array([[not np.array_equal(one, other) for one in each] for other in each])
        flips = np.where(differ, (squares[:, None] + squares[None]) / 2, 0.0)
        steps = ends * sizes / sizes.sum()  # of negatives, of positives
    known = errors_of_rows(each, weights, owners, sampling=sampling, fewest=least, flips=flips)
    sizes = sizes if steps.shape[1] else np.zeros(0)
    return make_paired_estimates(asked, names, np.array(values), known, least, (steps, sizes))


def score_influence(
    asked: RequestedMeasure, threshold: float | None, counts: ScoreCounts
) -> tuple[float, Influence] | None:
    """Return a measure of the scores of a model and its influence, or None."""
    measure = measure_at_threshold(asked, threshold)
    if measure.influence is None or measure.needs not in ("scores", "probabilities"):
        return None
    x = counts.scores
    if measure.needs == "probabilities" and len(x) and not (x[0] >= 0 and x[-1] <= 1):
        return None
    parts = (x, counts.positives, counts.negatives)
    value = float(measure.function(*parts))
    return (value, measure.influence(*parts)) if isfinite(value) else None


def row_score_influence(
    asked: RequestedMeasure, threshold: float | None, counts: ScoreCounts, place: Ints, truth: Bools
) -> tuple[float, Floats] | None:
    """Return a measure of scores and the influence of rows (n,); place, truth: of each row."""
    found = score_influence(asked, threshold, counts)
    if found is None:
        return None
    value, each = found
    by = {True: 1.0, False: 1.0}
    if asked.measure.interval == "delong" and counts.clusters is None:
        p, n = float(counts.positives.sum()), float(counts.negatives.sum())
        for y, size in ((True, p), (False, n)):  # DeLong's variances have P - 1 and N - 1
            by[y] = sqrt(size / (size - 1) * (p + n - 1) / (p + n)) if size > 1 else 1.0
    rows = np.empty(len(place))
    for start in range(0, len(place), _BLOCK):
        part = slice(start, start + _BLOCK)
        for y in (True, False):
            some = np.flatnonzero(truth[part] == y)
            rows[some + start] = each.at(place[part][some], y) * by[y]
    return value, rows


def identical_columns(columns: Mapping[str, Ints | Floats | Bools]) -> list[list[str]]:
    """Return groups of names of columns that are equal in every row."""
    near: dict[bytes, list[list[str]]] = {}
    for name, column in columns.items():
        groups = near.setdefault(column[:1024].tobytes(), [])  # where different ones mostly differ
        same = next((one for one in groups if np.array_equal(columns[one[0]], column)), None)
        if same is None:
            groups.append([name])
        else:
            same.append(name)
    return [names for groups in near.values() for names in groups if len(names) > 1]


def class_label_estimates(
    patterns: ClassPatterns, asked: RequestedMeasure
) -> PairedEstimates | None:
    """Return paired estimates by a measure of C x C tables, or its mean over classes."""
    form = asked.measure.classes
    if form is None or (form.of is not None and form.influence is None):
        return None
    of, influence = form.of, form.influence
    if of is None or influence is None:
        of, influence = (partial(one, asked.measure, by="macro")
                         for one in (class_average, average_influence))  # fmt: skip
    tables, c = patterns.tables, len(patterns.classes)
    values = np.array([float(of(table)) for table in tables])
    some = np.flatnonzero(np.isfinite(values)).tolist()
    if not some:
        return None
    moved = np.array([influence(tables[i]).reshape(-1)[patterns.cells(i)] for i in some])
    wider = np.ones(c)
    if form.of is None or asked.measure.id in OVER_CLASSES:
        wider = small_sample_factors(patterns)
    row = float(patterns.n.sum() / class_sizes(patterns, c).sum())
    f = np.array([influence(tables[i] + row / c) for i in some]).reshape(len(some), c, c)
    shares = patterns.tables[0].sum(axis=1) / patterns.n.sum()
    return estimates_of_labels(asked, patterns, some, values[some], moved * wider[patterns.truth],
                               f.max(axis=2) - f.min(axis=2), shares, row)  # fmt: skip


def probability_estimates(
    counted: PredictionCounts, patterns: ClassPatterns, held: Sequence[RequestedMeasure]
) -> dict[str, PairedEstimates]:
    """Return paired estimates of models with class probabilities by measures of these."""
    moved: dict[str, dict[str, tuple[float, Floats]]] = {one.name: {} for one in held}
    first: ProbabilityRows | None = None
    for i, model in enumerate(counted.models):
        if model.kind != "classes":
            continue
        rows = counted.class_rows(i)
        first = rows if first is None else first
        if not np.array_equal(rows.truth, first.truth):
            raise RuntimeError("the second pass has a different row order")
        parts, wider = (rows.truth, rows.p, rows.n), small_sample_factors(patterns)[rows.truth]
        for one in held:
            form = one.measure.classes
            made = None if form is None else form.given(by="macro")
            if form is None or made is None or made.of is None or made.influence is None:
                continue
            value, each = float(made.of(*parts)), made.influence(*parts)
            if "by" in form.takes or one.measure.id in OVER_CLASSES:
                each = each * wider
            if isfinite(value):
                moved[one.name][model.name] = value, each
    if first is None:
        return {}
    sizes = effective_class_sizes(patterns, len(patterns.classes))
    return {
        one.name: paired for one in held
        if (paired := score_estimates(first.weights, first.owners, one, moved[one.name],
                                      sizes[sizes > 0], sampling=counted.patterns.fractional))
    }  # fmt: skip
