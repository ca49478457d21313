"""What must hold for any metric table: symmetries, order among models, bounds, D and its zeros."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

import clfeval
from tests.methods.mlcps import reference as ref
from tests.results import rows_of
from tests.thoroughness import examples

AREAS = ("mlcps", "order_free", "lowest", "highest")
SCORES = (*AREAS, "mean", "sd")
RANKS = (*SCORES, "best_over_orders", "worst_over_orders")
Models = list[list[float]]

tied = st.integers(0, 8).map(lambda eighths: eighths / 8)
plain = st.floats(0, 1)
some = st.one_of(tied, plain, st.sampled_from([0.0, 1.0, 0.1, 0.3, 1e-9, 1e-200, 5e-324]))
normal = st.one_of(st.just(0.0), st.floats(1e-100, 1))  # products keep all their digits
weights = st.one_of(st.integers(1, 5).map(float), st.floats(0.01, 100))


@st.composite
def models_of_metrics(
    draw: st.DrawFn,
    n: tuple[int, int] = (3, 6),
    k: tuple[int, int] = (1, 6),
    of: Sequence[st.SearchStrategy[float]] = (tied, plain, some),
) -> Models:
    """Draw models of n metrics: eighths that tie often, or any floats, or both."""
    values = draw(st.sampled_from(of))
    width = draw(st.integers(*n))
    rows = st.lists(values, min_size=width, max_size=width)
    return draw(st.lists(rows, min_size=k[0], max_size=k[1]))


def scores_and_ranks(
    models: Models, **options: Any
) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Return the columns of tables `models` and `ranks`."""
    result = clfeval.mlcps(ref.metric_frame(models), **options)
    return columns_of(result.tables["models"]), columns_of(result.tables["ranks"])


def columns_of(rows: Any) -> dict[str, list[Any]]:
    return {name: ref.column(rows, name) for name in rows[0]}


def check_order(models: Models, ranks: dict[str, list[int]], names: tuple[str, ...]) -> None:
    """See that a model at least as good in every metric has no greater rank number."""
    for i, values in enumerate(models):
        for j, rival in enumerate(models):
            if all(a >= b for a, b in zip(values, rival, strict=True)):
                for name in names:
                    assert ranks[name][i] <= ranks[name][j], (name, values, rival)


@given(models_of_metrics(of=(tied, normal)), st.data())
@examples(60)
def test_only_the_ratio_of_weights_counts(models: Models, data: st.DataObject) -> None:
    n = len(models[0])
    w = data.draw(st.lists(weights, min_size=n, max_size=n))
    times = data.draw(st.one_of(st.sampled_from([2.0, 0.125, 1024.0]), st.floats(1e-3, 1e3)))
    scores, ranks = scores_and_ranks(models, metric_weight={f"x{i}": v for i, v in enumerate(w)})
    scores2, ranks2 = scores_and_ranks(
        models, metric_weight={f"x{i}": v * times for i, v in enumerate(w)}
    )
    assert scores["rank"] == scores2["rank"]
    assert all(ranks[name] == ranks2[name] for name in RANKS)
    assert ranks["weight_dependent"] == ranks2["weight_dependent"]


@given(models_of_metrics(k=(2, 6)), st.randoms(use_true_random=False))
@examples(40)
def test_permuting_models_permutes_rows(models: Models, rng: Any) -> None:
    order = rng.sample(range(len(models)), len(models))
    table = ref.metric_frame(models)
    result, permuted = (clfeval.mlcps(t) for t in (table, table[order]))
    for name in ("models", "ranks"):
        rows, permuted_rows = rows_of(result, name), rows_of(permuted, name)
        for row in rows + permuted_rows:
            row.pop("dominated_by", None)
        assert permuted_rows == [rows[i] for i in order]


@given(models_of_metrics(k=(1, 5)), st.integers(0, 9), st.booleans(), st.booleans())
@examples(60)
def test_turning_and_mirroring_the_polygon_changes_nothing(
    models: Models, by: int, mirrored: bool, weighted: bool
) -> None:
    n = len(models[0])
    names = [f"x{i}" for i in range(n)]
    turned = [*names[by % n :], *names[: by % n]][:: -1 if mirrored else 1]
    w = {name: i / 3 + 0.1 for i, name in enumerate(names)} if weighted else None
    table = ref.metric_frame(models)
    tables, turned_tables = (
        clfeval.mlcps(t, metric_weight=w).tables for t in (table, table.select("model", *turned))
    )
    for name in (*SCORES, "rank", "normalised", "pareto", "dominated_by"):
        values, turned_values = (ref.column(t["models"], name) for t in (tables, turned_tables))
        assert values == turned_values, name  # equal bits
    assert list(tables["ranks"]) == list(turned_tables["ranks"])


@given(models_of_metrics(k=(2, 6)), st.data())
@examples(80)
@example([[0.1, 0.2, 0.3, 1e-9], [0.1, 0.2, 0.3, 0.0], [0.1, 0.2, 0.3, 2e-9]], None)
@example([[1.0, 0.0, 0.0, 5e-324], [1.0, 0.0, 0.0, 0.0]], None)
@example([[1.0, 1e-9, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]], None)
def test_nobody_better_everywhere_ranks_below(models: Models, data: st.DataObject | None) -> None:
    better = [max(values) for values in zip(*models, strict=True)]
    models = [*models, better, list(models[0])]
    n = len(better)
    w = data.draw(st.lists(weights, min_size=n, max_size=n)) if data else [1.0] * n
    scores, ranks = scores_and_ranks(models, metric_weight={f"x{i}": v for i, v in enumerate(w)})
    check_order(models, ranks, (*AREAS, "mean", "best_over_orders", "worst_over_orders"))
    check_order(models, scores, ("rank",))
    assert all(scores[name][-1] == scores[name][0] for name in (*SCORES, "rank"))


@given(models_of_metrics(n=(3, 6), k=(1, 5)))
@examples(60)
def test_scores_to_the_last_digits(models: Models) -> None:
    """Against exact fractions of the very floats, small ones next to great ones included."""
    scores, _ = scores_and_ranks(models)
    for i, row in enumerate([list(map(Fraction, row)) for row in models]):
        n = len(row)
        free = (sum(row) ** 2 - sum(v * v for v in row)) / (n - 1)
        low, high = ref.extremes(row)
        for name, exact in zip(AREAS, (ref.around(row), free, low, high), strict=True):
            expected = ref.area(exact, n)
            # products below the least normal number lose their digits
            assert abs(scores[name][i] - expected) <= 1e-12 * expected + 1e-307, name


eighths = st.lists(st.integers(0, 8), min_size=4, max_size=4)


def test_a_tie_further_up_that_hangs_on_weights_moves_those_below() -> None:
    """Ranks are dense: the two first, equal under equal weights, push the last to 3 by others."""
    models = [[0.0, 0, 0, 0], [0.0, 0, 1, 1], [0.0, 1, 1, 0]]
    equal, ranks = scores_and_ranks(models)
    weighted, _ = scores_and_ranks(models, metric_weight={"x3": 10})
    assert (equal["rank"], weighted["rank"]) == ([2, 1, 1], [3, 1, 2])
    assert ranks["weight_dependent"] == [True, True, True]


@given(eighths, eighths, st.sampled_from([None, 0, 1, 3]))
@examples(60)
def test_weights_decide_between_two_models_if_each_has_a_greater_corner(
    one: list[int], other: list[int], zero: int | None
) -> None:
    """The product of two neighbours may outweigh all others, whichever it is."""
    models = [[v / 8 for v in row] for row in (one, other)]
    base = {} if zero is None else {f"x{zero}": 0.0}
    _, ranks = scores_and_ranks(models, metric_weight=base, zero_weight="ray")
    gaps = {
        ref.sign(one[i - 1] * one[i] - other[i - 1] * other[i])
        for i in range(4)
        if zero not in ((i - 1) % 4, i)
    }
    assert ranks["weight_dependent"] == [{1, -1} <= gaps] * 2
