"""Only ratios of sampling weights matter, to every measure and table: their mean is one row."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isclose, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.document.cells import Estimate
from tests.results import four_cells, row_of, rows_by, value_of
from tests.thoroughness import thinned

ROWS = 60
GROWING = {"spiegelhalter_z", "hosmer_lemeshow", "ece_debiased"}  # with the number of rows
GROWING |= {"ici", "e50", "e90"}  # knots, and quantiles over rows
TOP = ("precision@k:k=5", "recall@k:k=5", "gain@k:k=5", "lift@k:k=5")
TWO = (
    "all",
    *TOP,
    "precision@k:k=.2",
    "hosmer_lemeshow",
    "ece",
    "mce",
    "ece_debiased",
    "partial_auc:fpr=0..0.3",
    "f_beta:beta=2",
    "net_benefit:t=.3",
    "ppv_at:prevalence=.1",
    "selective_accuracy",
    "ordinal",
)
MANY = ("all", "ece", "mce", "ece_debiased", "top_k_accuracy:k=2", "aurc", "selective_accuracy")


def weighted_models(seed: int, classes: int) -> pl.DataFrame:
    """Draw rows of two models, of so many classes, whose weights differ fourteen times."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, ROWS)
    columns: dict[str, Any] = {
        "y": [f"k{i}" for i in y],
        "site": rng.choice(["s", "t"], ROWS),
        "w": rng.choice([0.5, 1.25, 2, 3.75, 7], ROWS),
    }
    for model in "ab":
        p = rng.random((ROWS, classes)) + (y[:, None] == np.arange(classes))
        p = np.round(p / p.sum(axis=1, keepdims=True), 2 if classes == 2 else 6)
        sides = {f"{model}:k{k}": p[:, k] for k in range(classes)}
        columns |= {model: p[:, 1]} if classes == 2 else sides
    return pl.DataFrame(columns)


def weighted_report(frame: pl.DataFrame, **options: Any) -> clfeval.Result:
    of_two = {"positive": "k1", "measure": TWO} if "a" in frame.columns else {"measure": MANY}
    return clfeval.report(frame, truth="y", weight="w", by="site", **of_two, **options)


def leaves(cell: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every number and word of a row, with the name of its column."""
    if isinstance(cell, Estimate):
        cell = [cell.value, cell.low, cell.high, cell.reason]
    if isinstance(cell, dict):
        for key, one in cell.items():
            yield from leaves(one, key)
    elif isinstance(cell, (list, tuple)):
        for one in cell:
            yield from leaves(one, name)
    else:
        yield name, cell


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("factor", thinned([0.5, 1 / 3, 10, 1000], [10]))
def test_no_scale_of_sampling_weights_changes_anything(classes: int, factor: float) -> None:
    options: dict[str, Any] = {
        "sampling_weights": True,
        "reference": "a",
        "resolution": {"log_loss": 0.1},
        "resamples": 100,
    }
    options |= {"best_threshold": ["j", "sens>=.9"], "prevalence": [0.1]} if classes == 2 else {}
    frame = weighted_models(1, classes)
    one, other = (
        weighted_report(frame.with_columns(w=pl.col("w") * by), **options) for by in (1.0, factor)
    )
    assert one.tables.keys() == other.tables.keys()
    assert [answer.text for answer in one.answer] == [answer.text for answer in other.answer]
    for name, rows in one.tables.items():
        for mine, theirs in zip(rows, other.tables[name], strict=True):
            for (column, x), (_, y) in zip(leaves(dict(mine)), leaves(dict(theirs)), strict=True):
                if x != y:
                    assert None not in (x, y), (name, column, x, y, mine)
                    assert isclose(x, y, rel_tol=1e-6, abs_tol=1e-9), (name, column, mine)


@pytest.mark.parametrize("declared", [False, True])
def test_counts_of_sampling_weights_add_up_to_the_rows(declared: bool) -> None:
    """The four cells of a model have the shares of the weights, of 60 rows in all."""
    frame = weighted_models(3, 2).with_columns(w=pl.col("w") * 41.3)
    result = weighted_report(frame, interval="none", sampling_weights=declared)
    weights = frame["w"].to_numpy()
    positive = frame["y"].to_numpy() == "k1"
    says = frame["a"].to_numpy() >= 0.5
    expected = [
        ROWS * weights[cell].sum() / weights.sum()
        for cell in (positive & says, ~positive & says, positive & ~says, ~positive & ~says)
    ]
    row = row_of(result, "models", model="a", slice=None)
    assert four_cells(row) == pytest.approx(expected)
    assert result.summary["rows"] == pytest.approx(ROWS)
    for command in (clfeval.mars, clfeval.phidelta, clfeval.tune_jpt):
        other = command(
            frame.drop("site"),
            truth="y",
            positive="k1",
            weight="w",
            sampling_weights=declared,
            interval="none",
        )
        assert other.summary["rows"] == pytest.approx(ROWS)
        assert other.summary["positives"] == pytest.approx(expected[0] + expected[2])


def test_the_prevalence_of_weighted_rows_is_a_share_of_weights() -> None:
    frame = weighted_models(3, 2)
    share = frame.filter(pl.col("y") == "k1")["w"].sum() / frame["w"].sum()
    result = weighted_report(frame, prevalence=[0.1], interval="none")
    (named,) = {
        answer.text.partition("of these rows (")[2].partition(")")[0]
        for answer in result.answer
        if "prevalence of these rows" in answer.text
    }
    assert float(named) == pytest.approx(share, abs=0.001)


def test_copies_are_added_up() -> None:
    frame = weighted_models(4, 2).with_columns(w=pl.Series(np.arange(ROWS) % 3 + 1))
    result = clfeval.report(frame, truth="y", positive="k1", weight="w:counts", interval="none")
    assert result.summary["rows"] == 20 * (1 + 2 + 3)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sampling", [False, True])
def test_weights_all_alike_are_rows_to_every_ratio(classes: int, sampling: bool) -> None:
    """Undeclared, a weight of .5 is half a row to what counts rows; declared, only ratios count."""
    frame = weighted_models(2, classes)
    rows, halves = (
        weighted_report(
            frame.with_columns(w=pl.lit(weight)), interval="none", sampling_weights=declared
        )
        for weight, declared in ((1.0, False), (0.5, sampling))
    )
    half = {"spiegelhalter_z": sqrt(0.5), "hosmer_lemeshow": 0.5}
    for one, other in zip(rows.tables["measures"], halves.tables["measures"], strict=True):
        (x, *_), (y, *_) = ([leaf for _, leaf in leaves(row["value"])] for row in (one, other))
        metric = str(one["measure"])
        if sampling or metric not in (*GROWING, *TOP):
            assert y == (x if x is None else pytest.approx(x, rel=1e-11)), metric
        elif metric in half:
            assert y == pytest.approx(x * half[metric], rel=1e-11), metric


def test_statistics_that_count_rows_take_the_weights_themselves() -> None:
    """Exact fractions of five rows: units of a thousandth made z 18.08."""
    rows = [
        ("1", ".7", ".123"),
        ("0", ".4", ".517"),
        ("1", ".3", ".871"),
        ("0", ".6", ".333"),
        ("1", ".9", ".759"),
    ]
    exact = [tuple(map(Fraction, row)) for row in rows]
    measures = ("spiegelhalter_z", "hosmer_lemeshow", "precision@k:k=2", "recall@k:k=2")
    frame = pl.DataFrame(
        {
            "y": [int(row[0]) for row in rows],
            "m": [float(row[1]) for row in rows],
            "w": [float(row[2]) for row in rows],
        }
    )
    for declared in (False, True):
        mean = sum(w for *_, w in exact) / len(rows) if declared else 1
        result = clfeval.report(
            frame,
            truth="y",
            weight="w",
            sampling_weights=declared,
            measure=measures,
            interval="none",
        )
        by_measure = rows_by(result, "measures", "measure")
        value = {name: value_of(by_measure[name]["value"]) for name in measures}
        parts = [(y, p, w / mean) for y, p, w in exact]
        top = sum(w * (y - p) * (1 - 2 * p) for y, p, w in parts)
        spread = sum(w * (1 - 2 * p) ** 2 * p * (1 - p) for _, p, w in parts)
        assert value["spiegelhalter_z"] == pytest.approx(float(top) / sqrt(spread), rel=1e-12)
        # five scores far apart: each is a group of its own
        each = sum(w * (y - p) ** 2 / (p * (1 - p)) for y, p, w in parts)
        assert value["hosmer_lemeshow"] == pytest.approx(float(each), rel=1e-12)
        room, hits = Fraction(2), Fraction(0)
        for y, _, w in sorted(parts, key=lambda row: -row[1]):
            hits += y * min(w, max(room, 0))
            room -= w
        assert value["precision@k:k=2"] == pytest.approx(float(hits / 2), rel=1e-12)
        positives = sum(y * w for y, _, w in parts)
        assert value["recall@k:k=2"] == pytest.approx(float(hits / positives), rel=1e-12)
