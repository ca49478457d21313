"""Orders, single weights, redundant metrics: what the first place hangs on."""

from __future__ import annotations

from itertools import permutations
from math import pi, sin

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.methods.mlcps.compare import redundant_rows
from clfeval.methods.mlcps.ranking import dense_ranks, order_ranks


def frame(models: dict[str, list[float]], names: str = "abcdefghij") -> pl.DataFrame:
    columns = zip(*models.values(), strict=True)
    return pl.DataFrame(
        {"model": list(models), **{n: list(c) for n, c in zip(names, columns, strict=False)}}
    )


def polygon(values: list[float]) -> float:
    n = len(values)
    pairs = sum(values[i] * values[(i + 1) % n] for i in range(n))
    return 0.5 * sin(2 * pi / n) * pairs


def test_the_example_whose_winner_hangs_on_the_order() -> None:
    """METHODS section 4: the same four numbers in two orders, .18 and .50; x lies between."""
    models = {"far": [0.9, 0.1, 0.9, 0.1], "near": [0.9, 0.9, 0.1, 0.1], "x": [0.5] * 4}
    result = clfeval.mlcps(frame(models))
    rows = {str(row["model"]): row for row in result.tables["models"]}
    assert rows["far"]["mlcps"].value == pytest.approx(0.18)
    assert rows["near"]["mlcps"].value == pytest.approx(0.50)
    assert rows["x"]["mlcps"].value == pytest.approx(0.5 * 4 * 0.25)
    for row in (rows["far"], rows["near"]):
        assert row["lowest"].value == pytest.approx(0.18)
        assert row["highest"].value == pytest.approx(0.50)
    ranks = {str(row["model"]): row for row in result.tables["ranks"]}
    # near ties with x here; in another order far does, and near falls behind
    assert (ranks["near"]["mlcps"], ranks["x"]["mlcps"], ranks["far"]["mlcps"]) == (1, 1, 2)
    assert (ranks["near"]["best_over_orders"], ranks["near"]["worst_over_orders"]) == (1, 2)
    assert ranks["far"]["order_dependent"] is True
    assert result.summary["winners"] == ["far", "near", "x"]


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_ranks_over_all_orders_by_enumeration(n: int) -> None:
    rng = np.random.default_rng(n)
    rays = rng.integers(0, 5, (7, n)) / 4
    found = order_ranks(rays, seed=0)
    seen = []
    for order in permutations(range(1, n)):
        areas = [round(polygon([row[0], *(row[i] for i in order)]), 9) for row in rays.tolist()]
        levels = sorted(set(areas), reverse=True)
        seen.append([levels.index(area) + 1 for area in areas])
    table = np.array(seen)
    assert found.everything
    assert found.best.tolist() == table.min(axis=0).tolist()
    assert found.worst.tolist() == table.max(axis=0).tolist()
    assert found.winners == tuple(np.flatnonzero((table == 1).any(axis=0)).tolist())
    assert (found.dependent != found.settled).all()


def test_many_metrics_are_sampled_and_what_is_said_of_them_is_proved() -> None:
    rng = np.random.default_rng(1)
    middle = rng.uniform(0.4, 0.6, 12)  # five orders of the same numbers
    rays = np.vstack(
        [np.full(12, 0.99), *(rng.permutation(middle) for _ in range(5)), np.full(12, 0.1)]
    )
    found = order_ranks(rays, seed=0)
    assert not found.everything
    assert found.looked_at == 2000
    assert found.settled[0]
    assert not found.dependent[0]
    assert (found.best[0], found.worst[0]) == (1, 1)
    assert found.dependent[1:6].all()
    assert not found.settled[6]  # the five above it may tie in some order, which moves it up
    assert not (found.dependent & found.settled).any()
    again = order_ranks(rays[::-1], seed=0)
    assert again.best[::-1].tolist() == found.best.tolist()


def test_what_each_metric_does() -> None:
    """Three models, four metrics: without `d` b is first, with `d` twice a is."""
    models = {"a": [0.5, 0.5, 0.5, 0.9], "b": [0.6, 0.6, 0.6, 0.4], "c": [0.1] * 4}
    result = clfeval.mlcps(frame(models))
    assert result.summary["best"] == ["a"]  # .5 (.25 + .25 + .45 + .45) over .5 (.36 + .36 + .48)
    rows = {row["metric"]: row for row in result.tables["metrics"]}
    assert rows["d"]["winner_without"] == "b"
    assert rows["d"]["moved_without"] == 2
    assert rows["d"]["winner_doubled"] == "a"
    # double b: a has .5 + .5 + .45 + .45 = 1.9, b has .72 + .72 + .24 + .24 = 1.92
    assert rows["b"]["winner_doubled"] == "b"
    for i, name in enumerate("abcd"):
        left = {model: polygon([*v[:i], *v[i + 1 :]]) for model, v in models.items()}
        assert rows[name]["winner_without"] == max(left, key=left.__getitem__)
        twice = {
            model: polygon([x * (1 + (j == i)) for j, x in enumerate(v)])
            for model, v in models.items()
        }
        assert rows[name]["winner_doubled"] == max(twice, key=twice.__getitem__)
        assert (rows[name]["least"], rows[name]["most"]) == (
            0.1,
            max(v[i] for v in models.values()),
        )


def test_of_three_metrics_none_can_be_spared() -> None:
    result = clfeval.mlcps(frame({"a": [0.5, 0.6, 0.7], "b": [0.6, 0.5, 0.6]}))
    assert [row["winner_without"] for row in result.tables["metrics"]] == [None] * 3
    assert [row["moved_without"] for row in result.tables["metrics"]] == [None] * 3


def test_redundant_metrics_and_why() -> None:
    values = np.array(
        [
            [0.1, 0.1, 0.2, 0.55, 0.5],
            [0.2, 0.2, 0.1, 0.60, 0.5],
            [0.4, 0.4, 0.4, 0.70, 0.5],
            [0.6, 0.6, 0.3, 0.80, 0.5],
        ]
    )
    rows = redundant_rows(["x", "y", "gini", "roc_auc", "same"], values)
    assert [(row["first"], row["second"], row["why"]) for row in rows] == [
        ("x", "y", "identical"),
        ("x", "roc_auc", "correlated"),
        ("y", "roc_auc", "correlated"),
        ("gini", "roc_auc", "same measure"),
    ]
    assert rows[0]["r"] == pytest.approx(1.0)
    assert rows[3]["r"] == pytest.approx(float(np.corrcoef(values[:, 2], values[:, 3])[0, 1]))


def test_two_models_always_lie_on_a_line_and_three_may_by_chance() -> None:
    (row,) = redundant_rows(["x", "y"], np.array([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3001]]))
    assert row["why"] == "correlated"
    assert str(row["note"]).endswith("over three models, maybe by chance")
    assert redundant_rows(["x", "y"], np.array([[0.1, 0.3], [0.2, 0.5]])) == []
    assert len(redundant_rows(["x", "y"], np.array([[0.1, 0.1], [0.2, 0.2]]))) == 1


def test_a_constant_metric_correlates_with_nothing() -> None:
    values = np.array([[0.1, 0.3, 0.3], [0.2, 0.3, 0.3], [0.5] * 3, [0.1, 0.3, 0.3]])
    rows = redundant_rows(["x", "y", "z"], values)
    assert [(row["first"], row["why"]) for row in rows] == [("y", "identical")]
    rows = redundant_rows(["x", "y"], np.array([[0.1, 0.3], [0.2, 0.3], [0.5, 0.3], [0.6, 0.3]]))
    assert rows == []


def test_dense_ranks() -> None:
    assert dense_ranks(np.array([0.3, 0.9, 0.3, 0.1])).tolist() == [2, 1, 2, 3]
    assert dense_ranks(np.array([0.1 + 0.2, 0.3, np.nan])).tolist() == [1, 1, 0]
    assert dense_ranks(-np.array([0.3, 0.9, np.nan, 0.1])).tolist() == [2, 3, 0, 1]
    assert dense_ranks(np.array([0.0, 1e-300])).tolist() == [2, 1]
    both = dense_ranks(np.array([[1.0, 0.0], [2.0, 0.0]]))
    assert both.tolist() == [[2, 1], [1, 1]]
