"""What `clfeval.report` says of 3 to 12 classes, measure by measure, beside other programs.

Whole weights, ties, a class that is never said and one that is never true: the others get the rows
repeated. The guide names them: see the last test. Two classes: see `test_oracles`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import brentq
from scipy.stats import beta, norm
from sklearn import metrics as sk
from statsmodels.stats.inter_rater import cohens_kappa

import clfeval
from clfeval.document.cells import Row
from clfeval.methods.report.multiclass_estimates import equivalent_class_size
from tests.methods.report.test_oracles import GUIDE
from tests.results import estimate_of, limits_of, row_of, rows_by, value_of
from tests.thoroughness import thinned

SIZES = range(3, 13)


@dataclass(frozen=True)
class Rows:
    """Truth y, answers v and probabilities p of rows, each as often as its weight says."""

    frame: pl.DataFrame
    names: list[str]
    y: Any
    v: Any
    p: Any


def random_rows(c: int, *, scored: bool, seed: int | None = None) -> Rows:
    """Rows of c classes; labels: the last class is never true, the one before never said."""
    rng = np.random.default_rng([c, scored] if seed is None else [c, scored, seed])
    names = [f"k{i:02}" for i in range(c)]
    there = c if scored else c - 1
    y = np.concatenate([np.arange(there), rng.integers(0, there, 90 - there)])
    raw = rng.integers(0, 4, (90, c)) + 2.0 * (y[:, None] == np.arange(c)) + 0.5
    raw[:, c - 2] *= scored
    p = raw / raw.sum(axis=1, keepdims=True)
    w = rng.integers(1, 4, 90)
    columns: dict[str, Any] = {"truth": [names[i] for i in y], "w": w}
    if scored:
        columns |= {f"m:{name}": p[:, k] for k, name in enumerate(names)}
    else:
        columns["m"] = [names[i] for i in p.argmax(axis=1)]
    y, p = np.repeat(y, w), np.repeat(p, w, axis=0)
    return Rows(pl.DataFrame(columns), names, y, p.argmax(axis=1), p)


def measure_rows(rows: Rows, **options: Any) -> dict[Any, Any]:
    """Return what the report says: its rows by measure, estimator and class."""
    result = clfeval.report(rows.frame, weight="w", classes=rows.names, **options)
    return rows_by(result, "measures", "measure", "estimator", "class")


Oracle = Callable[[Rows], Any]


def averaged(score: Callable[..., Any], **more: Any) -> Callable[[Rows, str | None], Any]:
    """Return scikit-learn's score: an average where one is named, else of every class."""

    def averaged_score(rows: Rows, by: str | None) -> Any:
        labels = range(len(rows.names))
        return score(rows.y, rows.v, average=by, labels=labels, zero_division=np.nan, **more)

    return averaged_score


OF_LABELS: dict[str, tuple[str, Oracle]] = {
    "accuracy": ("sklearn accuracy_score", lambda r: sk.accuracy_score(r.y, r.v)),
    "error_rate": ("sklearn zero_one_loss", lambda r: sk.zero_one_loss(r.y, r.v)),
    "mcc": ("sklearn matthews_corrcoef", lambda r: sk.matthews_corrcoef(r.y, r.v)),
    "kappa": ("sklearn cohen_kappa_score", lambda r: kappa(r, None)),
    "kappa_linear": ("sklearn cohen_kappa_score", lambda r: kappa(r, "linear")),
    "kappa_quadratic": ("sklearn cohen_kappa_score", lambda r: kappa(r, "quadratic")),
    "ordinal_mae": ("sklearn mean_absolute_error", lambda r: sk.mean_absolute_error(r.y, r.v)),
    "ordinal_mse": ("sklearn mean_squared_error", lambda r: sk.mean_squared_error(r.y, r.v)),
    "ordinal_rmse": (
        "sklearn root_mean_squared_error",
        lambda r: sk.root_mean_squared_error(r.y, r.v),
    ),
    "accuracy_within_1": ("numpy", lambda r: (np.abs(r.y - r.v) < 2).mean()),
}
AVERAGED: dict[str, tuple[str, Callable[[Rows, str | None], Any]]] = {
    "sensitivity": ("sklearn recall_score", averaged(sk.recall_score)),
    "precision": ("sklearn precision_score", averaged(sk.precision_score)),
    "f1": ("sklearn f1_score", averaged(sk.f1_score)),
    "f_beta:beta=2": ("sklearn fbeta_score", averaged(sk.fbeta_score, beta=2)),
    "jaccard": ("sklearn jaccard_score", lambda r, by: jaccard(r, by)),
}
OF_PROBABILITIES: dict[str, tuple[str, Oracle]] = {
    "roc_auc": ("sklearn roc_auc_score", lambda r: sk.roc_auc_score(r.y, r.p, multi_class="ovo")),
    "brier_sum": ("sklearn brier_score_loss", lambda r: brier(r)),
    "brier": ("sklearn brier_score_loss", lambda r: brier(r) / 2),
    "brier_per_class": ("sklearn brier_score_loss", lambda r: brier(r) / len(r.names)),
    "brier_skill": ("sklearn d2_brier_score", lambda r: sk.d2_brier_score(r.y, r.p)),
    "log_loss": ("sklearn log_loss", lambda r: sk.log_loss(r.y, r.p)),
    "log_loss_skill": ("sklearn d2_log_loss_score", lambda r: sk.d2_log_loss_score(r.y, r.p)),
    "rps": ("numpy", lambda r: ranked(r)),
    "top_k_accuracy:k=3": ("numpy", lambda r: top(r, 3)),
}


def kappa(rows: Rows, weights: str | None) -> Any:
    return sk.cohen_kappa_score(rows.y, rows.v, labels=range(len(rows.names)), weights=weights)


def jaccard(rows: Rows, by: str | None) -> Any:
    """Of classes that are true or said: scikit-learn has 0 where neither is."""
    some = [k for k in range(len(rows.names)) if (rows.y == k).any() or (rows.v == k).any()]
    found = sk.jaccard_score(rows.y, rows.v, average=by, labels=some, zero_division=0)
    if by is not None:
        return found
    return [dict(zip(some, found, strict=True)).get(k, np.nan) for k in range(len(rows.names))]


def brier(rows: Rows) -> Any:
    return sk.brier_score_loss(rows.y, rows.p, labels=range(len(rows.names)), scale_by_half=False)


def ranked(rows: Rows) -> Any:
    true = rows.y[:, None] <= np.arange(len(rows.names) - 1)
    return ((true - rows.p.cumsum(axis=1)[:, :-1]) ** 2).sum(axis=1).mean() / (len(rows.names) - 1)


def top(rows: Rows, k: int) -> float:
    own = rows.p[np.arange(len(rows.y)), rows.y][:, None]
    before = (rows.p > own) | ((rows.p == own) & (np.arange(rows.p.shape[1]) < rows.y[:, None]))
    return float((before.sum(axis=1) < k).mean())


def check_value(row: Row, expected: Any, name: str) -> None:
    """Check the value of a row; expected: nan where it is undefined."""
    value = estimate_of(row["value"]).value
    if value is None:
        assert np.isnan(expected), name
    else:
        assert value == pytest.approx(float(expected), abs=1e-12), name


@pytest.mark.filterwarnings("ignore:y_pred contains:UserWarning")
@pytest.mark.parametrize("c", SIZES)
def test_labels(c: int) -> None:
    rows = random_rows(c, scored=False)
    found = measure_rows(rows, measure=["all", "ordinal", "f_beta:beta=2"], interval="none")
    for name, (_, oracle) in OF_LABELS.items():
        check_value(found[name, "multiclass", None], oracle(rows), name)
    for name, (_, by_average) in AVERAGED.items():
        for by in ("macro", "weighted"):
            check_value(found[name, by, None], by_average(rows, by), name)
        for k, each in enumerate(by_average(rows, None)):
            check_value(found[name, "class", rows.names[k]], each, name)
    check_value(found["sensitivity", "micro", None], sk.accuracy_score(rows.y, rows.v), "micro")
    assert found["balanced_accuracy", "multiclass", None]["value"].reason == "class_absent"
    recall = sk.balanced_accuracy_score(rows.y, rows.v)
    check_value(found["sensitivity", "macro", None], recall, "macro recall")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("c", thinned(SIZES, (3, 7)))
def test_probabilities(c: int) -> None:
    rows = random_rows(c, scored=True)
    found = measure_rows(rows, measure=["all", "roc_auc_ovr", "rps", "top_k_accuracy:k=3"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (_, oracle) in OF_PROBABILITIES.items():
            check_value(found[name, "multiclass", None], oracle(rows), name)
        for by in ("macro", "weighted"):
            peer = sk.roc_auc_score(rows.y, rows.p, multi_class="ovr", average=by)
            check_value(found["roc_auc_ovr", by, None], peer, by)
        check_value(
            found["balanced_accuracy", "multiclass", None],
            sk.balanced_accuracy_score(rows.y, rows.v),
            "balanced accuracy",
        )
    low, _ = limits_of(found["top_k_accuracy:k=3", "multiclass", None]["value"])
    hits, m = round(top(rows, 3) * len(rows.y)), len(rows.y)
    assert low == pytest.approx(beta.ppf(0.025, hits, m - hits + 1), abs=1e-9)


@pytest.mark.parametrize("c", [3, 7, 12])
def test_the_errors_of_kappas_are_those_of_statsmodels(c: int) -> None:
    """But for M / (M - 1), by which the variance of a mean is corrected."""
    rows = random_rows(c, scored=True)
    found = measure_rows(rows, measure="ordinal")
    table, m = sk.confusion_matrix(rows.y, rows.v, labels=range(c)), len(rows.y)
    for name, weights in (
        ("kappa", None),
        ("kappa_linear", "linear"),
        ("kappa_quadratic", "quadratic"),
    ):
        expected = cohens_kappa(table, wt=weights).std_kappa * np.sqrt(m / (m - 1))
        assert found[name, "multiclass", None]["se"] == pytest.approx(expected, rel=1e-9), name


@pytest.mark.parametrize(
    ("class_rows", "size"),
    [
        ((12, 20), 15.0),  # of two classes: the harmonic mean, 2 / (1 / 12 + 1 / 20)
        ((30, 30), 30.0),
        # c² k / (2 sum (1 + (k - 1) / 4)), k = 4 areas with a row of a class
        ((180, 114, 6), 9 * 4 / (2 * (1 / 180 + 1 / 114 + 1 / 6) * (1 + 3 / 4))),
        ((10,) * 10, 100 * 18 / (2 * 10 / 10 * (1 + 17 / 4))),
    ],
)
def test_a_mean_area_varies_like_that_of_two_classes(
    class_rows: tuple[int, ...], size: float
) -> None:
    assert equivalent_class_size(np.array(class_rows)) == pytest.approx(size, rel=1e-6)


def test_few_rows_of_a_class_widen_the_limits_of_a_mean_area() -> None:
    """To the score limits of two classes of that size, which brentq finds as well."""
    names = ["a", "b", "c"]
    y = np.repeat([0, 1, 2], (30, 20, 5))
    rng = np.random.default_rng(7)
    p = rng.random((55, 3)) + 0.6 * (y[:, None] == np.arange(3))
    p /= p.sum(axis=1, keepdims=True)
    result = clfeval.report([names[i] for i in y], {"m": p}, classes=names, measure="roc_auc")
    cell = row_of(result, "measures", measure="roc_auc")["value"]
    area = float(sk.roc_auc_score(y, p, multi_class="ovo"))
    rows = 36 / (2 * (1 / 30 + 1 / 20 + 1 / 5) * 1.75)  # of each of two classes

    def outside(a: float) -> float:
        inflation = 1 + (rows - 1) * ((1 - a) / (2 - a) + a / (1 + a))
        return float((area - a) ** 2 - norm.ppf(0.975) ** 2 * a * (1 - a) / rows**2 * inflation)

    lower, upper = brentq(outside, 1e-9, area), brentq(outside, area, 1 - 1e-9)
    assert value_of(cell) == pytest.approx(area, abs=1e-12)
    low, high = limits_of(cell)
    assert low <= lower + 1e-9
    assert high >= upper - 1e-9
    assert min(abs(low - lower), abs(high - upper)) < 1e-9


def test_the_guide_names_the_programs() -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    listed = {
        (name, program)
        for names, program in re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", guide, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", names)
    }
    each = {name: program for name, (program, _) in {**OF_LABELS, **OF_PROBABILITIES}.items()}
    each |= {name: program for name, (program, _) in AVERAGED.items()}
    assert {*each.items()} <= listed
