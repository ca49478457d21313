"""Confidence limits of single metrics in closed form, and bootstrap replicates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from clfeval.arrays import Bools, Counts, Floats
from clfeval.counts.evaluated_rows import JointCounts
from clfeval.counts.patterns import ConfusionCounts, PatternCounts, order_by_name
from clfeval.errors import list_names
from clfeval.formatting import format_count
from clfeval.inference.rank_statistics import delong_auc
from clfeval.inference.resampling import (
    MASS,
    dirichlet_counts,
    prior_error_patterns,
    random_stream,
    resampled_counts,
)
from clfeval.measures.catalog import CATALOG
from clfeval.methods.estimates import Cells, Limits, exact_limits, measure_limits


def closed_form_limits(joint: JointCounts, names: Sequence[str], *, level: float) -> Limits:
    """Return lower and upper limits of measures (k, n), NaN where a bootstrap is needed.

    Shares of rows: exact (Clopper and Pearson). Measures invariant to the class ratio: from the two
    rates. ROC AUC and Gini: `delong_auc`, NaN with one row of a class. Others: NaN.
    Source: each method's own, see `inference`.
    """
    k = len(joint.models)
    low, high = np.full((k, len(names)), np.nan), np.full((k, len(names)), np.nan)
    patterns = PatternCounts(joint.models, joint.truth, joint.votes, joint.n)
    counts = ConfusionCounts.from_patterns(patterns)
    rows = counts.positives + counts.negatives
    cells = Cells.at_prevalence(counts, counts.positives / rows)
    for j, name in enumerate(names):
        found: Limits | None = None
        if name in CATALOG and CATALOG[name].needs == "confusion":  # without parameters
            found = exact_limits(name, cells, level=level)
            if found is None and CATALOG[name].invariant:
                found = measure_limits(name, cells, level=level)
        if found is not None:
            low[:, j], high[:, j] = found
    positives, negatives = (np.where(one, joint.n, 0) for one in (joint.truth, ~joint.truth))
    both = joint.scores is not None and positives.any() and negatives.any()
    for i in range(k) if both and {*names} & {"roc_auc", "gini"} else ():
        _, place = np.unique(joint.scores[:, i], return_inverse=True)  # type: ignore[index]
        sides = (np.bincount(place, weights=one) for one in (positives, negatives))
        area = delong_auc(*sides, level=level)
        for j, name in enumerate(names):
            if name in ("roc_auc", "gini"):
                a, b = (1, 0) if name == "roc_auc" else (2, -1)
                low[i, j], high[i, j] = a * area.low + b, a * area.high + b
    return low, high


FEW = 30  # rows of a class below which the bootstrap is smoothed
Evaluator = Callable[[Counts], Floats]
CELLS = (("FN", True, False), ("TP", True, True), ("FP", False, True), ("TN", False, False))


def sparse_data_reasons(joint: JointCounts, *, votes: bool, ranks: bool) -> list[str]:
    """Return why to smooth the bootstrap: classes below 30 rows, empty cells, separation.

    votes, ranks: whether measures of the 2 x 2 table, or of the order of scores, are used.
    """
    said, n, models = [], joint.n, np.array(joint.models, object)
    for word, rows in (("positive", joint.truth), ("negative", ~joint.truth)):
        if 0 < (count := n[rows].sum().item()) < FEW:
            said.append(format_count(count, f"{word} row"))
    for name, positive, vote in CELLS if votes else ():
        rows = joint.truth == positive
        empty = n[rows] @ (joint.votes[rows] == vote) == 0
        if rows.any() and empty.any():
            said.append(f"no {name} of {list_names(models[empty], 3)}")
    if ranks and joint.scores is not None and joint.truth.any() and not joint.truth.all():
        high, low = joint.scores[joint.truth], joint.scores[~joint.truth]
        apart = (high.min(axis=0) > low.max(axis=0)) | (high.max(axis=0) < low.min(axis=0))
        if apart.any() and not said:
            said.append(f"perfectly separated classes for {list_names(models[apart], 3)}")
    return said


def add_unseen_rows(joint: JointCounts, rng: np.random.Generator) -> JointCounts:
    """Add MASS pseudo-rows to each class, half right and half wrong for every model.

    Their scores are those of rows of their own class, or of the other where the model errs.
    """
    # by name, so that the order of models is irrelevant
    wrong = prior_error_patterns(len(joint.models))[:, np.argsort(order_by_name(joint.models))]
    parts = [(joint.truth, joint.votes, joint.scores, joint.n.astype(np.float64))]
    for positive in (True, False):
        if not (joint.truth == positive).any():
            continue
        scores = None if joint.scores is None else _unseen_scores(joint, wrong, positive, rng)
        each = np.full(len(wrong), MASS / len(wrong))
        parts.append((np.full(len(wrong), positive), wrong ^ positive, scores, each))
    truth, votes, n = (np.concatenate([one[i] for one in parts]) for i in (0, 1, 3))
    found = [one[2] for one in parts if one[2] is not None]
    return JointCounts.from_rows(
        joint.models, truth, votes, np.concatenate(found) if found else None, n
    )


def _unseen_scores(
    joint: JointCounts, wrong: Bools, positive: bool, rng: np.random.Generator
) -> Floats:
    """Return the scores of pseudo-rows of a class, (m, k), at even quantiles of scores there."""
    assert joint.scores is not None
    found = np.empty(wrong.shape)
    own = joint.truth == positive
    other = ~own if not own.all() else own
    half = len(wrong) // 2
    for i in order_by_name(joint.models):
        scores = joint.scores[:, i]
        for errs, rows in ((True, other), (False, own)):
            order = np.argsort(scores[rows], kind="stable")
            above = np.cumsum(joint.n[rows][order])
            middles = (np.arange(half) + 0.5) / half * above[-1]
            places = order[np.searchsorted(above, middles, side="right")]
            found[wrong[:, i] == errs, i] = rng.permutation(scores[rows][places])
    return found


def bootstrap_replicates(
    joint: JointCounts, measured_by: Callable[[JointCounts], Evaluator], *, resamples: int,
    seed: int, why: Sequence[str],
) -> Floats:  # fmt: skip
    """Return the measures of bootstrap samples, (resamples, k, n), smoothed if `why`."""
    rng = random_stream(seed, "mlcps")
    rows = add_unseen_rows(joint, rng) if why else joint
    draws: Iterable[Counts] = (
        dirichlet_counts(rows.n, rows.truth, resamples=resamples, rng=rng)
        if why
        else resampled_counts(rows.n, resamples=resamples, rng=rng)
    )
    return np.concatenate([*map(measured_by(rows), draws)])
