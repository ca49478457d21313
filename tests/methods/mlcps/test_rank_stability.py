"""Orders, single weights, redundant metrics: what the first place hangs on."""

from __future__ import annotations

import numpy as np
import pytest

import clfeval
from clfeval.methods.mlcps.ranking import dense_ranks, order_ranks
from clfeval.methods.mlcps.robustness import redundant_rows
from tests.methods.mlcps.reference import named_metric_frame
from tests.results import rows_by, value_of
from tests.texts import check_text


def test_the_example_whose_winner_hangs_on_the_order() -> None:
    """METHODS section 4: the same four numbers in two orders, .18 and .50; x lies between."""
    models = {"far": [0.9, 0.1, 0.9, 0.1], "near": [0.9, 0.9, 0.1, 0.1], "x": [0.5] * 4}
    table = named_metric_frame(models, metrics="abcd")
    result = clfeval.mlcps(table, direction=dict.fromkeys("abc", "max"))
    rows = rows_by(result, "models", "model")
    assert value_of(rows["far"]["mlcps"]) == pytest.approx(0.18)
    assert value_of(rows["near"]["mlcps"]) == pytest.approx(0.50)
    assert value_of(rows["x"]["mlcps"]) == pytest.approx(0.5 * 4 * 0.25)
    for row in (rows["far"], rows["near"]):
        assert value_of(row["lowest"]) == pytest.approx(0.18)
        assert value_of(row["highest"]) == pytest.approx(0.50)
    ranks = rows_by(result, "ranks", "model")
    # near ties with x here; in another order far does, and near falls behind
    assert (ranks["near"]["mlcps"], ranks["x"]["mlcps"], ranks["far"]["mlcps"]) == (1, 1, 2)
    assert (ranks["near"]["best_over_orders"], ranks["near"]["worst_over_orders"]) == (1, 2)
    assert ranks["far"]["order_dependent"] is True
    assert result.summary["winners"] == ["far", "near", "x"]


def test_many_metrics_are_sampled_and_what_is_said_of_them_is_proved() -> None:
    rng = np.random.default_rng(1)
    middle = rng.uniform(0.4, 0.6, 12)  # five orders of the same numbers
    rays = np.vstack(
        [np.full(12, 0.99), *(rng.permutation(middle) for _ in range(5)), np.full(12, 0.1)]
    )
    ranks = order_ranks(rays, seed=0)
    assert not ranks.everything
    assert ranks.looked_at == 2000
    assert ranks.settled[0]
    assert not ranks.dependent[0]
    assert (ranks.best[0], ranks.worst[0]) == (1, 1)
    assert ranks.dependent[1:6].all()
    assert not ranks.settled[6]  # the five above it may tie in some order, which moves it up
    assert not (ranks.dependent & ranks.settled).any()
    again = order_ranks(rays[::-1], seed=0)
    assert again.best[::-1].tolist() == ranks.best.tolist()


def test_of_three_metrics_none_can_be_spared() -> None:
    models = {"a": [0.5, 0.6, 0.7], "b": [0.6, 0.5, 0.6]}
    result = clfeval.mlcps(named_metric_frame(models, metrics="abc"))
    assert [row["winner_without"] for row in result.tables["metrics"]] == [None] * 3
    assert [row["moved_without"] for row in result.tables["metrics"]] == [None] * 3


def test_two_models_always_lie_on_a_line_and_three_may_by_chance() -> None:
    (row,) = redundant_rows(["x", "y"], np.array([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3001]]))
    assert row["why"] == "correlated"
    check_text(str(row["note"]))
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
