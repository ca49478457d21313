"""Scores, ranks and fronts of `clfeval.mlcps` against polygons, enumeration and tours."""

from __future__ import annotations

import random
from fractions import Fraction
from math import inf
from typing import Any

import polars as pl
import pytest

import clfeval
from tests.methods.mlcps import reference as ref
from tests.results import estimate_of, rows_by, warning_codes

MAXIMA = {3: 1.299038, 4: 2.0, 5: 2.377641, 6: 2.598076, 7: 2.736410188638, 8: 2.828427}


def random_models(k: int, n: int, seed: int, top: int = 100) -> list[list[int]]:
    """Draw k models of n metrics, whole numbers up to `top`."""
    rng = random.Random(seed)
    return [[rng.randint(0, top) for _ in range(n)] for _ in range(k)]


def close(numbers: list[float]) -> Any:
    return pytest.approx(numbers, rel=1e-12, abs=1e-14)


def score_columns(
    models: list[list[int]], scale: int = 100, **options: Any
) -> dict[str, list[Any]]:
    """Return the columns of table `models`."""
    rows = clfeval.mlcps(ref.metric_frame(models, scale), **options).tables["models"]
    return {name: ref.column(rows, name) for name in rows[0]}


@pytest.mark.parametrize("n", range(3, 13))
def test_the_area_is_that_of_the_corners(n: int) -> None:
    models = random_models(6, n, seed=n)
    areas = [ref.shoelace([v / 100 for v in row]) for row in models]
    columns = score_columns(models)
    assert columns["mlcps"] == close(areas)
    assert columns["normalised"] == close([a / ref.shoelace([1] * n) for a in areas])
    assert columns["mean"] == close([float(ref.mean(row)) / 100 for row in models])
    assert columns["sd"] == close([ref.sd(row) / 100 for row in models])
    assert columns["rank"] == ref.dense([ref.around(row) for row in models])


@pytest.mark.parametrize(("n", "area"), MAXIMA.items())
def test_a_perfect_model_has_the_maximum(n: int, area: float) -> None:
    columns = score_columns([[1] * n, [0] * n], scale=1)
    for name in ("mlcps", "order_free", "lowest", "highest"):
        assert columns[name] == pytest.approx([area, 0], abs=5e-7)
    assert columns["mlcps"][0] == pytest.approx(ref.shoelace([1] * n), rel=1e-14)
    assert columns["normalised"] == [1, 0]


TIED = [(3, 9, 9), (4, 9, 3), (5, 9, 9), (6, 9, 3), (7, 6, 100), (8, 3, 100), (8, 3, 5), (9, 2, 99)]


@pytest.mark.parametrize(("n", "k", "top"), TIED)
def test_lowest_and_highest_by_enumeration(n: int, k: int, top: int) -> None:
    models = random_models(k, n, seed=20 + n, top=top)
    sums = [ref.sums_over_orders(row) for row in models]
    columns = score_columns(models, scale=top)
    assert columns["lowest"] == close([ref.area(Fraction(min(s), top**2), n) for s in sums])
    assert columns["highest"] == close([ref.area(Fraction(max(s), top**2), n) for s in sums])


@pytest.mark.parametrize(("n", "k"), [(10, 5), (11, 4), (12, 3), (13, 2), (14, 1)])
def test_lowest_and_highest_by_tours(n: int, k: int) -> None:
    models = random_models(k, n, seed=30 + n)
    tours = [ref.extremes(row) for row in models]
    columns = score_columns(models)
    assert columns["lowest"] == close([ref.area(low, n) / 1e4 for low, _ in tours])
    assert columns["highest"] == close([ref.area(high, n) / 1e4 for _, high in tours])


def test_no_order_of_fifty_metrics_leaves_the_bounds() -> None:
    models, rng = random_models(2, 50, seed=50), random.Random(50)
    columns = score_columns(models)
    for row, low, high in zip(models, columns["lowest"], columns["highest"], strict=True):
        best, worst = -inf, inf
        for _ in range(200):
            tour = rng.sample(row, 50)
            for i in range(40):  # reverse a stretch of the tour if that helps the one or the other
                turned = tour[:i] + tour[i : i + 10][::-1] + tour[i + 10 :]
                area = ref.area(ref.around(turned), 50) / 1e4
                best, worst = max(best, area), min(worst, area)
        assert low <= worst < best <= high


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 8])
@pytest.mark.parametrize("zero", [False, True])
def test_weights_stretch_the_rays(n: int, zero: bool) -> None:
    models, (weights,) = random_models(5, n, seed=40 + n), random_models(1, n, seed=60 + n, top=8)
    weights = [w + 1 for w in weights]
    if zero and n > 3:
        weights[1] = 0
    kept = [i for i in range(n) if weights[i]]
    rays = [[Fraction(row[i] * weights[i], 200) for i in kept] for row in models]
    w = {f"x{i}": weights[i] / 2 for i in range(n)}
    columns = score_columns(models, metric_weight=w)
    perfect = ref.shoelace([weights[i] / 2 for i in kept])
    sums = [ref.sums_over_orders(r) for r in rays]
    m = len(kept)
    assert columns["mlcps"] == close([ref.shoelace(r) for r in rays])
    assert columns["normalised"] == close([ref.shoelace(r) / perfect for r in rays])
    assert columns["order_free"] == close([ref.area(ref.mean(s), m) for s in sums])
    assert columns["lowest"] == close([ref.area(min(s), m) for s in sums])
    assert columns["highest"] == close([ref.area(max(s), m) for s in sums])
    assert columns["mean"] == close([sum(row[i] for i in kept) / m / 100 for row in models])
    assert columns["sd"] == close([ref.sd([row[i] for i in kept]) / 100 for row in models])
    assert columns["rank"] == ref.dense([ref.around(r) for r in rays])


def test_a_ray_of_length_zero_takes_its_neighbours_along() -> None:
    models = random_models(6, 6, seed=70)
    columns = score_columns(models, metric_weight={"x2": 0, "x4": 3}, zero_weight="ray")
    w = [1, 1, 0, 1, 3, 1]
    rays = [[Fraction(a * b, 100) for a, b in zip(row, w, strict=True)] for row in models]
    # without x1 x2 and x2 x3, and the angles are still sixths
    areas = [
        ref.area(Fraction(d[0] * d[1] + 3 * d[3] * d[4] + 3 * d[4] * d[5] + d[5] * d[0], 10**4), 6)
        for d in models
    ]
    sums = [ref.sums_over_orders(r) for r in rays]
    assert columns["mlcps"] == close(areas)
    assert columns["mlcps"] == close([ref.shoelace(r) for r in rays])
    assert columns["normalised"] == close([a / ref.area(1 + 3 + 3 + 1, 6) for a in areas])
    assert columns["order_free"] == close([ref.area(ref.mean(s), 6) for s in sums])
    assert columns["lowest"] == close([ref.area(min(s), 6) for s in sums])
    assert columns["highest"] == close([ref.area(max(s), 6) for s in sums])
    assert columns["mlcps"] != close(
        score_columns(models, metric_weight={"x2": 0, "x4": 3})["mlcps"]
    )


def test_rays_of_length_zero_may_leave_no_area_at_all() -> None:
    """Every second ray is gone: no polygon is left in this order, even for a perfect model."""
    table = pl.DataFrame({"model": ["p", "q"], **{m: [1.0, 0.5] for m in "abcd"}})
    weights = {"a": 0, "c": 0}
    result = clfeval.mlcps(table, metric_weight=weights, zero_weight="ray", direction={"b": "max"})
    assert "no-area" in warning_codes(result)
    rows = result.tables["models"]
    assert ref.column(rows, "mlcps") == [0, 0]
    assert ref.column(rows, "rank") == [1, 1]
    assert ref.column(rows, "normalised") == [None, None]  # 0 of 0
    assert [estimate_of(row["normalised"]).reason for row in rows] == ["zero_weight"] * 2
    # b and d side by side in another order: one right angle between them
    assert ref.column(rows, "highest") == close([1 / 2, 1 / 8])
    assert ref.column(rows, "order_free") == close([1 / 3, 1 / 12])


SPREADS = [(3, 9, 3), (4, 9, 4), (4, 8, 100), (5, 8, 5), (5, 9, 10), (6, 7, 4), (7, 5, 6)]


@pytest.mark.parametrize(("n", "k", "top"), SPREADS)
def test_every_rank_and_all_over_orders(n: int, k: int, top: int) -> None:
    models = random_models(k, n, seed=80 + n + top, top=top)
    result = clfeval.mlcps(ref.metric_frame(models, top))
    sums = [ref.sums_over_orders(row) for row in models]
    expected = {
        "mlcps": [ref.around(row) for row in models],
        "order_free": [sum(s) for s in sums],
        "lowest": [min(s) for s in sums],
        "highest": [max(s) for s in sums],
        "mean": [sum(row) for row in models],
        "sd": [-ref.variance(list(map(Fraction, row))) for row in models],
    }
    rows = result.tables["ranks"]
    for name, numbers in expected.items():
        assert ref.column(rows, name) == ref.dense(numbers), name
    seen, winners = ref.ranks_over_orders(models)
    assert ref.column(rows, "best_over_orders") == [min(ranks) for ranks in seen]
    assert ref.column(rows, "worst_over_orders") == [max(ranks) for ranks in seen]
    assert ref.column(rows, "order_dependent") == [len(ranks) > 1 for ranks in seen]
    assert result.summary["order_dependent"] == sum(len(ranks) > 1 for ranks in seen)
    assert result.summary["winners"] == [f"m{i}" for i in sorted(winners)]
    assert result.parameters["orders"]["all"] is True


@pytest.mark.parametrize(("n", "k", "top"), [*SPREADS, (3, 40, 4), (3, 40, 100)])
def test_the_front_and_who_is_under_it(n: int, k: int, top: int) -> None:
    models = random_models(k - 1, n, seed=90 + n + top, top=top)
    models.append([v // 2 for v in models[0]])
    result = clfeval.mlcps(ref.metric_frame(models, top))
    above = [[j for j in range(k) if ref.dominates(models[j], row)] for row in models]
    rows = result.tables["models"]
    assert ref.column(rows, "pareto") == [not who for who in above]
    assert result.summary["pareto_front"] == sum(not who for who in above)
    under = [(i, row["dominated_by"]) for i, row in enumerate(rows) if row["dominated_by"]]
    assert [i for i, _ in under] == [i for i in range(k) if above[i]]
    assert all(int(str(by)[1:]) in above[i] and not above[int(str(by)[1:])] for i, by in under)
    dominated = rows_by(result, "dominance", "model")
    assert {model: {*row["dominated_by"]} for model, row in dominated.items()} == {
        f"m{i}": {f"m{j}" for j in who} for i, who in enumerate(above) if who
    }


@pytest.mark.parametrize("n", [4, 5, 6, 8])
def test_a_metric_left_out_and_one_that_counts_twice(n: int) -> None:
    models = random_models(6, n, seed=100 + n, top=10)
    now = ref.dense([ref.around(row) for row in models])
    rows = clfeval.mlcps(ref.metric_frame(models, 10)).tables["metrics"]
    for i in range(n):
        for case, changed in (
            ("without", [row[:i] + row[i + 1 :] for row in models]),
            ("doubled", [[*row[:i], 2 * row[i], *row[i + 1 :]] for row in models]),
        ):
            ranks = ref.dense([ref.around(row) for row in changed])
            tied = [model for model, rank in enumerate(ranks) if rank == 1]
            first = f"m{min(tied, key=now.__getitem__)}"  # who is ahead now too
            more = f" (and {ranks.count(1) - 1} more)" if ranks.count(1) > 1 else ""
            assert rows[i][f"winner_{case}"] == first + more
            moved = sum(a != b for a, b in zip(ranks, now, strict=True))
            assert rows[i][f"moved_{case}"] == moved
    least = [min(c) / 10 for c in zip(*models, strict=True)]
    assert ref.column(rows, "least") == least
    assert ref.column(rows, "average") == close([sum(c) / 60 for c in zip(*models, strict=True)])


@pytest.mark.parametrize("weight", [1, 1000, 1e6])
def test_who_is_alike_without_a_metric_is_however_much_it_weighs(weight: float) -> None:
    """All four differ in x0 alone: without it they tie, whatever digits it had in the sum."""
    models = [[90, 70, 30, 60], [31, 70, 30, 60], [50, 70, 30, 60], [77, 70, 30, 60]]
    result = clfeval.mlcps(ref.metric_frame(models, 100), metric_weight={"x0": weight})
    row = result.tables["metrics"][0]
    assert ref.column(result.tables["models"], "rank") == [1, 4, 3, 2]
    assert (row["winner_without"], row["moved_without"]) == ("m0 (and 3 more)", 3)


def test_no_spread_is_none_whatever_the_level() -> None:
    result = clfeval.mlcps(ref.metric_frame([[1, 1, 1], [5, 5, 5], [7, 7, 7], [1, 2, 3]], 10))
    assert ref.column(result.tables["models"], "sd") == [0, 0, 0, pytest.approx(0.1)]
    assert ref.column(result.tables["ranks"], "sd") == [1, 1, 1, 2]


def test_shares_of_weights_are_of_the_polygon_with_its_ray_of_length_zero() -> None:
    """Without x0 x1 and x1 x2 the first has more of both products left, under all weights."""
    models = [[50, 90, 50, 100], [100, 90, 100, 25]]
    result = clfeval.mlcps(
        ref.metric_frame(models, 100),
        metric_weight={"x1": 0},
        zero_weight="ray",
        weight_sensitivity=True,
    )
    assert ref.column(result.tables["ranks"], "weight_dependent") == [False, False]
    assert ref.column(result.tables["weights"], "share") == [1, 0]
