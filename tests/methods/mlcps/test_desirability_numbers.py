"""Overall desirability through the public door against arithmetic written out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from tests.methods.mlcps import reference as ref
from tests.results import rows_by, value_of

# AML4TD 15.10: fewer than 20 predictors, specificity at least 80 %, Brier score in [0, .1)
CHAPTER = """\
predictors: {goal: box, below: 20}
specificity: {goal: box, low: 0.8}
sensitivity: maximize
brier: {goal: minimize, low: 0, high: 0.1}
"""
MODELS = pl.DataFrame(
    {
        "model": ["small", "large", "edge", "vague", "wrong", "best"],
        "predictors": [12, 20, 19, 7, 3, 10],
        "sensitivity": [0.9, 0.99, 0.64, 0.95, 0.8, 0.96],
        "specificity": [0.85, 0.97, 0.8, 0.7999, 0.9, 0.81],
        "brier": [0.05, 0.01, 0.075, 0.02, 0.1, 0.025],
    }
)


def ranked_by_wishes(values: Mapping[str, Sequence[float]], wishes: Any, **options: Any) -> Result:
    """Rank models m0, m1, ... by a mapping of wishes."""
    names = [f"m{i}" for i in range(len(next(iter(values.values()))))]
    table = pl.DataFrame({"model": names, **{k: [float(x) for x in v] for k, v in values.items()}})
    return clfeval.mlcps(table, desirability=wishes, **options)


def desirabilities(values: Sequence[float], wish: Mapping[str, Any]) -> list[float]:
    """Return the desirability of each value of a single metric."""
    return ref.column(ranked_by_wishes({"x": values}, {"x": wish}).tables["desirability"], "d")


def test_the_example_of_the_chapter(tmp_path: Path) -> None:
    path = tmp_path / "wishes.yaml"
    path.write_text(CHAPTER, encoding="utf-8")
    result = clfeval.mlcps(MODELS, desirability=str(path))
    rows = rows_by(result, "models", "model")
    expected = {
        "small": (1 * 1 * 0.9 * (0.1 - 0.05) / 0.1) ** (1 / 4),  # .45 to the fourth root
        "large": 0,  # 20 predictors are not fewer than 20
        "edge": (1 * 1 * 0.64 * 0.25) ** (1 / 4),  # exactly 80 % is at least 80 %
        "vague": 0,  # 79.99 % is not
        "wrong": 0,  # a Brier score of .1 is outside [0, .1)
        "best": (1 * 1 * 0.96 * 0.75) ** (1 / 4),
    }
    for model, number in expected.items():
        assert value_of(rows[model]["desirability"]) == pytest.approx(number, rel=1e-12)
    assert expected["edge"] == pytest.approx(sqrt(0.4))
    assert {name: row["rank"] for name, row in rows.items()} == {
        "best": 1,
        "small": 2,
        "edge": 3,
        "large": 4,
        "vague": 4,
        "wrong": 4,
    }
    assert {name: row["dealbreakers"] for name, row in rows.items() if row["dealbreakers"]} == {
        "large": ["predictors"],
        "vague": ["specificity"],
        "wrong": ["brier"],
    }
    assert result.summary["best"] == ["best"]
    assert result.parameters["ranked_by"] == "desirability"
    # the polygon has the three that have a scale: large is first by it, as it is by each of them
    corners = [
        [b, c, 1 - d] for b, c, d in MODELS.select("specificity", "sensitivity", "brier").rows()
    ]
    areas = [ref.shoelace(row) for row in corners]
    assert ref.column(result.tables["models"], "mlcps") == pytest.approx(areas, rel=1e-12)
    assert ref.column(result.tables["ranks"], "mlcps") == ref.dense(areas)
    assert ref.column(result.tables["ranks"], "desirability") == [2, 4, 3, 4, 4, 1]


GRID = [-0.5, 0, 0.1, 0.2, 0.25, 0.3, 0.5, 0.7, 0.75, 0.8, 1, 1.5]


@pytest.mark.parametrize("gamma", [1, 2, 0.5, 3.7, 0.1])
def test_maximize_and_minimize(gamma: float) -> None:
    scale = {"low": 0.2, "high": 0.8, "gamma": gamma}
    up = [ref.maximize(x, 0.2, 0.8, gamma) for x in GRID]
    down = [ref.minimize(x, 0.2, 0.8, gamma) for x in GRID]
    assert desirabilities(GRID, {"goal": "maximize", **scale}) == pytest.approx(up, rel=1e-12)
    assert desirabilities(GRID, {"goal": "minimize", **scale}) == pytest.approx(down, rel=1e-12)
    # (.5 - .2) / .6 = (.5 - .8) / -.6 = 1/2
    assert up[6] == pytest.approx(0.5**gamma)
    assert down[6] == pytest.approx(0.5**gamma)


def test_weights_of_the_geometric_mean() -> None:
    values = {"f1": [0.25, 0.9, 0.0], "recall": [0.5, 0.1, 1.0], "npv": [0.8, 0.8, 0.8]}
    wishes = {
        "f1": {"goal": "maximize", "weight": 2},
        "recall": "maximize",
        "npv": {"goal": "maximize", "weight": 0.5},
    }
    rows = ranked_by_wishes(values, wishes).tables["models"]
    overall = ref.column(rows, "desirability")
    # (.25^2 .5 sqrt(.8)) ^ (1 / 3.5)
    assert overall[0] == pytest.approx((0.0625 * 0.5 * sqrt(0.8)) ** (2 / 7), rel=1e-12)
    assert overall[1] == pytest.approx(ref.overall([0.9, 0.1, 0.8], [2, 1, 0.5]), rel=1e-12)
    assert overall[2] == 0
    assert [row["dealbreakers"] for row in rows] == [[], [], ["f1"]]
    # all weights times 1000 is the same taste
    thousandfold = {
        m: {"goal": "maximize", "weight": w}
        for m, w in (("f1", 2000), ("recall", 1e3), ("npv", 500))
    }
    again = ref.column(ranked_by_wishes(values, thousandfold).tables["models"], "desirability")
    assert again == pytest.approx(overall, rel=1e-12)


@pytest.mark.parametrize("metrics", [1, 2])
def test_fewer_than_three_metrics_span_no_polygon(metrics: int) -> None:
    values = {"f1": [0.25, 0.9, 0.25], "recall": [0.5, 0.3, 0.5]}
    names = list(values)[:metrics]
    result = ranked_by_wishes({m: values[m] for m in names}, dict.fromkeys(names, "maximize"))
    rows = result.tables["models"]
    for name in ("mlcps", "normalised", "order_free", "lowest", "highest"):
        assert [row[name] for row in rows] == [Estimate(None, reason="too_few_metrics")] * 3
    overall = [ref.overall([values[m][i] for m in names]) for i in range(3)]
    assert ref.column(rows, "desirability") == pytest.approx(overall, rel=1e-12)
    assert ref.column(rows, "rank") == ref.dense(overall)
    # .25 and .5 make the root of .125, .9 and .3 that of .27
    assert overall[:2] == pytest.approx([[0.25, 0.9], [sqrt(0.125), sqrt(0.27)]][metrics - 1])


def test_a_wish_without_a_column_is_refused_and_a_missing_value_too() -> None:
    with pytest.raises(clfeval.UsageError, match="'recal'"):
        ranked_by_wishes({"recall": [0.5], "f1": [0.5], "auc": [0.3]}, {"recal": "maximize"})
    with pytest.raises(clfeval.DataError, match="f1"):
        ranked_by_wishes({"f1": [0.5, float("nan")]}, {"f1": "maximize"})
