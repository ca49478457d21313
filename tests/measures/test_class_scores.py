"""Measures of probabilities of many classes: by hand, brute force, scikit-learn, two classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from clfeval.arrays import Counts, Floats, Ints
from clfeval.measures.catalog import CATALOG
from clfeval.measures.multiclass_scores import clipped_weight, roc_auc_by_class
from clfeval.measures.record import Multiclass
from tests.measures.values import multiclass_value

Rows = tuple[Ints, Floats, Counts]
# all of the catalogue that are smooth; those of the largest probability: see test_top_label
NAMES = [
    name
    for name, measure in CATALOG.items()
    if measure.needs in ("scores", "probabilities")
    and measure.classes is not None
    and measure.classes.influence is not None
]


def form_of(name: str, **settings: Any) -> Multiclass:
    form = CATALOG[name].with_settings(**settings).classes
    assert form is not None
    return form


def influence(name: str, rows: Rows, **settings: Any) -> Floats:
    found = form_of(name, **settings).influence
    assert found is not None
    return found(*rows)


def random_class_rows(c: int, seed: int, *, m: int = 60, tied: bool = True) -> Rows:
    """Return rows of c classes, all of which occur; probabilities of few values tie."""
    rng = np.random.default_rng([c, seed])
    truth = np.concatenate([np.arange(c), rng.integers(0, c, m - c)])
    raw = rng.integers(0, 5, (m, c)) + 2 * (truth[:, None] == np.arange(c)) + 1.0
    if not tied:
        raw = raw + rng.random((m, c))
    return truth, raw / raw.sum(axis=1, keepdims=True), rng.integers(1, 6, m)


def random_parameters() -> Iterator[Any]:
    for c in range(2, 13):
        yield from (
            pytest.param(random_class_rows(c, 0), id=f"{c} tied"),
            pytest.param(random_class_rows(c, 1, tied=False), id=f"{c}"),
        )


EVERY = list(random_parameters())


def test_three_classes_by_hand() -> None:
    truth = np.array([0, 1, 2, 1])
    p = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.5, 0.25, 0.25], [0.0, 0.25, 0.75]])
    n = np.array([1, 2, 1, 1])
    rows = truth, p, n
    sums = [0.25 + 0.125, 0.375, 0.25 + 0.0625 + 0.5625, 0.5625 + 0.5625]
    total = sums[0] + 2 * sums[1] + sums[2] + sums[3]
    assert multiclass_value("brier_per_class", *rows) == pytest.approx(total / 15, abs=1e-15)
    # of two classes equally probable the earlier is in the top: class 2 of the third row is not
    assert multiclass_value("top_k_accuracy", *rows, k=2) == 4 / 5
    assert form_of("top_k_accuracy", k=2).share is not None
    assert form_of("top_k_accuracy", k=2).share(*rows) == (4, 5)


def area(x: Floats, truth: Ints, n: Counts, i: int, j: int) -> float:
    """P(x of a row of class i > x of a row of class j), pair by pair of rows."""
    won = 0.0
    for a in np.flatnonzero(truth == i):
        for b in np.flatnonzero(truth == j):
            won += n[a] * n[b] * (float(x[a] > x[b]) + 0.5 * float(x[a] == x[b]))
    return won / float(n[truth == i].sum() * n[truth == j].sum())


@pytest.mark.parametrize("rows", EVERY)
def test_brute_force(rows: Rows) -> None:
    truth, p, n = rows
    c, m = p.shape[1], n.sum()
    both = [
        (area(p[:, i], truth, n, i, j) + area(p[:, j], truth, n, j, i)) / 2
        for i, j in combinations(range(c), 2)
    ]
    assert multiclass_value("roc_auc", *rows) == pytest.approx(np.mean(both), abs=1e-12)
    ranked = 0.0
    for t, row, count in zip(truth, p, n, strict=True):
        for k in range(c - 1):
            ranked += count * (float(t <= k) - row[: k + 1].sum()) ** 2
    assert multiclass_value("rps", *rows) == pytest.approx(ranked / (c - 1) / m, abs=1e-12)
    for k in (1, 2, c):
        inside = 0
        for t, row, count in zip(truth, p, n, strict=True):
            order = sorted(range(c), key=lambda j, row=row: (-row[j], j))
            inside += count * (t in order[:k])
        assert multiclass_value("top_k_accuracy", *rows, k=k) == inside / m


@pytest.mark.parametrize("rows", EVERY)
def test_scikit_learn(rows: Rows) -> None:
    truth, p, n = rows
    c = p.shape[1]
    loss = metrics.log_loss(truth, p, sample_weight=n, labels=range(c))
    assert multiclass_value("log_loss", *rows) == pytest.approx(loss, abs=1e-12)
    squares = metrics.brier_score_loss(
        truth, p, sample_weight=n, labels=range(c), scale_by_half=False
    )
    assert multiclass_value("brier_sum", *rows) == pytest.approx(squares, abs=1e-12)
    assert multiclass_value("brier", *rows) == pytest.approx(squares / 2, abs=1e-12)
    if c > 2:
        d2 = metrics.d2_log_loss_score(truth, p, sample_weight=n, labels=range(c))
        assert multiclass_value("log_loss_skill", *rows) == pytest.approx(d2, abs=1e-12)
    d2 = metrics.d2_brier_score(truth, p, sample_weight=n, labels=range(c))
    assert multiclass_value("brier_skill", *rows) == pytest.approx(d2, abs=1e-12)
    if c > 2:
        for by in ("macro", "weighted"):
            peer = metrics.roc_auc_score(
                truth, p, multi_class="ovr", average=by, sample_weight=n, labels=range(c)
            )
            assert multiclass_value("roc_auc_ovr", *rows, by=by) == pytest.approx(peer, abs=1e-12)
        # its pairs of classes take no weights: rows are repeated
        t, q = np.repeat(truth, n), np.repeat(p, n, axis=0)
        peer = metrics.roc_auc_score(t, q, multi_class="ovo", average="macro", labels=range(c))
        assert multiclass_value("roc_auc", *rows) == pytest.approx(peer, abs=1e-12)


def smooth(**more: Any) -> Iterator[tuple[str, Callable[..., Floats], Callable[..., Floats]]]:
    for name in NAMES:
        form = form_of(name, k=2, **more)
        assert form.compute is not None
        assert form.influence is not None
        yield name, form.compute, form.influence


@pytest.mark.parametrize("by", ["macro", "weighted"])
@pytest.mark.parametrize("c", [2, 3, 5])
def test_influence_by_numerical_differentiation(c: int, by: str) -> None:
    truth, p, n = random_class_rows(c, 7, m=25)
    counts, step = n.astype(float), 1e-4
    moved = step * np.eye(len(n))
    for name, of, found in smooth(by=by):
        slope = (of(truth, p, counts + moved) - of(truth, p, counts - moved)) / (2 * step)
        mine = found(truth, p, n)
        np.testing.assert_allclose(mine, slope * n.sum(), atol=3e-6, err_msg=name)
        assert mine @ n == pytest.approx(0, abs=1e-10), name


def test_many_replicates_are_measured_one_by_one() -> None:
    truth, p, _ = random_class_rows(4, 3)
    n = np.random.default_rng(0).integers(0, 3, (2, 5, len(truth)))
    n[1, 2] = 0
    forms = {name: measure.with_settings(k=2).classes for name, measure in CATALOG.items()}
    for name, form in forms.items():
        if CATALOG[name].needs not in ("scores", "probabilities") or form is None:
            continue
        of = form.compute
        assert of is not None
        each = [[of(truth, p, n[i, j]) for j in range(5)] for i in range(2)]
        np.testing.assert_allclose(of(truth, p, n), each, rtol=1e-13, err_msg=name)
        assert np.isnan(each[1][2]), name


def test_a_class_without_rows() -> None:
    """Of four classes one never occurs: areas are those of the other three."""
    truth, p, n = random_class_rows(3, 4)
    wide = np.insert(p * 0.75, 1, 0.25, axis=1)
    moved = np.array([0, 2, 3])[truth]
    for name in ("roc_auc", "roc_auc_ovr"):
        here, there = (moved, wide, n), (truth, p, n)
        assert multiclass_value(name, *here) == pytest.approx(
            multiclass_value(name, *there), abs=1e-15
        )
        np.testing.assert_allclose(influence(name, here), influence(name, there), atol=1e-12)
    assert np.isnan(roc_auc_by_class(moved, wide, n)).tolist() == [False, True, False, False]
    assert not np.isnan(multiclass_value("log_loss_skill", moved, wide, n))


def test_undefined_and_the_ends() -> None:
    one = np.array([1, 1]), np.array([[0.0, 1.0, 0.0], [0.2, 0.5, 0.3]]), np.array([1, 2])
    for name in ("roc_auc", "roc_auc_ovr", "log_loss_skill", "brier_skill"):
        assert np.isnan(multiclass_value(name, *one)), name
        assert np.isnan(influence(name, one)).all(), name
    perfect = np.arange(3), np.eye(3), np.array([4, 5, 6])
    values = {name: float(multiclass_value(name, *perfect, k=1)) for name in NAMES}
    most = {"roc_auc", "roc_auc_ovr", "log_loss_skill", "brier_skill", "top_k_accuracy"}
    assert values == {name: float(name in most) for name in NAMES}
    assert not math.copysign(1, values["log_loss"]) < 0


def test_certainty_that_is_wrong_costs_no_more_than_the_clip() -> None:
    truth, p = np.array([0, 1]), np.array([[0.0, 1.0, 0.0], [2.0**-52, 0.5, 0.5]])
    rows = truth, p, np.array([3, 1])
    assert multiclass_value("log_loss", *rows) == pytest.approx(
        (3 * 52 + 1) * math.log(2) / 4, rel=1e-15
    )
    assert clipped_weight(*rows) == 3


@pytest.mark.parametrize("bad", [-1e-9, 1.0000001, math.inf, math.nan])
def test_what_is_no_probability_is_refused(bad: float) -> None:
    p = np.full((3, 3), 1 / 3)
    p[1, 1] = bad
    for name in NAMES:
        with pytest.raises(ValueError, match=r"\b0\b.*\b1\b"):
            multiclass_value(name, np.arange(3), p, np.ones(3))
