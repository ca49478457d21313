"""Robustness of the ranking: random weights, redundant metrics, and another table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Bools, Floats, Ints
from clfeval.document import ResultNote
from clfeval.document.cells import Cell, Estimate, Row, as_row
from clfeval.errors import DataError, list_names
from clfeval.inference.rank_statistics import kendall_tau_b, spearman
from clfeval.measures.catalog import equivalence_formula
from clfeval.methods.estimates import make_estimate
from clfeval.methods.mlcps.ranking import TIE, Ranking, dense_ranks, first_models
from clfeval.methods.mlcps.scale import RAYS

Real = NDArray[np.floating[Any]]

_DRAWS = 320  # weightings at a time
_CELLS = 2**20  # exact scores at a time
_PAIRS = 2**19  # pairs of models at a time
CLOSE = 0.999  # |r| over models above which two metrics are redundant
_BLOCK = 10  # metrics whose pairs are multiplied out
_PIECE = 2**18  # multiplications in one call of the library


def winner_shares(d: Floats, *, draws: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the number of random weightings with each model first: by MLcps, and order-free.

    Weights are uniform on the simplex, Dirichlet(1, ..., 1): independent exponential numbers over
    their sum. First are all models whose w_1 w_2 d_1 d_2 + ... + w_n w_1 d_n d_1 (or, order-free,
    sum of w_i w_j d_i d_j over all pairs) is within one part in 10**12 of the greatest.
    Both scores use the same draws, `draws` times n numbers from `rng`, independent of the models.
    Shapes: d (k, n) in 0..1, n >= 3; results (k,), 0..draws. With ties they add up to more.
    Source: Devroye 1986, Non-Uniform Random Variate Generation, theorem V.2.2 (the simplex).
    """
    wins = np.zeros((2, len(d)), np.int64)
    # a common factor changes no rank, and keeps tiny metrics in the range of floats
    a = d / (d.max(initial=0) or 1)
    step = max(1, _CELLS // len(d))
    for start in range(0, draws, _DRAWS):
        # not divided by their sum, which is a common factor too
        w = rng.standard_exponential((min(_DRAWS, draws - start), d.shape[1]))
        for first in range(0, len(w), step):
            block = w[first : first + step]
            by_area = _matrix_product(*(x * np.roll(x, -1, axis=1) for x in (a, block)))
            for row, scores in enumerate((by_area, _all_pairs(a, block))):
                wins[row] += np.count_nonzero(scores >= scores.max(axis=0) * (1 - TIE), axis=1)
    return wins[0], wins[1]


def depends_on_weights(d: Floats) -> Bools:
    """Return which models' dense ranks depend on the weights.

    Q_A(w) = sum of w_i w_(i+1) a_i a_(i+1) >= Q_B(w) for all weights, if and only if
    a_i a_(i+1) >= b_i b_(i+1) for every i. A model depends on the weights when one of its products
    is greater and another less than that of another model, by more than one part in 10**12, or when
    this holds for a model above it.
    Shapes: d (k, n) in 0..1, n >= 3; result (k,). The work is k**2 n.
    """
    k = len(d)
    columns = np.ascontiguousarray((d * np.roll(d, -1, axis=1)).T, np.float64)
    turning = np.zeros(k, bool)
    all_models = np.ones(k, bool)
    step = max(1, _PAIRS // k)
    blocks = [slice(start, start + step) for start in range(0, k, step)]
    for rows in blocks:
        above, below = _compare_products(columns, rows, all_models)
        turning[rows] = (above & below).any(axis=1)
    dependent = turning.copy()
    for rows in blocks:
        above, below = _compare_products(columns, rows, turning)
        dependent[rows] |= (below & ~above).any(axis=1)
    return dependent


def _compare_products(columns: Floats, rows: slice, others: Bools) -> tuple[Bools, Bools]:
    """Return whether some product of each row exceeds, or is below, that of each other model."""
    above = np.zeros((len(columns[0, rows]), int(others.sum())), bool)
    below = np.zeros_like(above)
    for column in columns:
        row_products = column[rows, None]
        other_products = column[others]
        above |= row_products > other_products * (1 + TIE)
        below |= row_products * (1 + TIE) < other_products
    return above, below


def _all_pairs(a: Real, w: Real) -> Real:
    """Return sums over all pairs, (k, m), without the cancellation of (S**2 - squares) / 2."""
    block = a[:, :_BLOCK]
    block_weights = w[:, :_BLOCK]
    total = _matrix_product(_pair_products(block), _pair_products(block_weights))
    if a.shape[1] > _BLOCK:
        sums = _matrix_product(block, block_weights)
        for start in range(_BLOCK, a.shape[1], _BLOCK):
            block = a[:, start : start + _BLOCK]
            block_weights = w[:, start : start + _BLOCK]
            block_sums = _matrix_product(block, block_weights)
            total += _matrix_product(_pair_products(block), _pair_products(block_weights))
            total += sums * block_sums
            sums += block_sums
    return total


def _pair_products(x: Real) -> Real:
    return np.concatenate([x[:, i, None] * x[:, i + 1 :] for i in range(x.shape[1])], axis=1)


def _matrix_product(a: Real, w: Real) -> Real:
    """Return the matrix product of models (k, f) and weightings (m, f): (k, m), without threads."""
    if not a.shape[1]:
        return np.zeros((len(a), len(w)), a.dtype)
    across = np.ascontiguousarray(w.T)
    out = np.empty((len(a), len(w)), a.dtype)
    rows = max(1, _PIECE // max(1, w.size))
    in_pieces = len(a) // rows * rows
    pieces = a[:in_pieces].reshape(-1, rows, a.shape[1])
    np.matmul(pieces, across, out=out[:in_pieces].reshape(-1, rows, len(w)))
    np.matmul(a[in_pieces:], across, out=out[in_pieces:])
    return out


def redundant_rows(
    metrics: Sequence[str], values: Floats, lower: Collection[str] = ()
) -> list[Row]:
    """Return the pairs of metrics that are identical, equivalent, or have |r| > .999.

    r is Pearson's over at least three models, undefined for constant metrics, with the sign of the
    rays: `lower` names the metrics of which lower values are better.
    Shapes: values (k, n), raw.
    """
    k, n = values.shape
    # two points always lie on a line; of three, one pair in 35 is that close to one by chance
    r = _correlations(values) if k >= 3 else np.full((n, n), np.nan)
    sign = np.array([-1 if metric in lower else 1 for metric in metrics])
    models_phrase = "models" if k >= 4 else "three models only"
    rows: list[Row] = []
    for i, j in combinations(range(n), 2):
        is_identical = bool((values[:, i] == values[:, j]).all())
        words = equivalence_formula(metrics[i], metrics[j])
        number = None if np.isnan(r[i, j]) else float(r[i, j])
        if is_identical:
            reason = "identical"
            note = words or "equal values for every model"
        elif words:
            reason = "same measure"
            note = words
        elif number is not None and abs(number) > CLOSE:
            reason = "correlated"
            note = f"r = {number:.5f} over {models_phrase}"
        else:
            continue
        if sign[i] * sign[j] * (1.0 if is_identical else number or 0.0) < -CLOSE:
            reason = "opposite"
            note += "; one gets better as the other gets worse"
        rows.append(
            as_row(
                {
                    "first": metrics[i],
                    "second": metrics[j],
                    "why": reason,
                    "r": number,
                    "note": note,
                }
            )
        )
    return rows


def redundancy_notes(rows: Sequence[Row]) -> Iterator[ResultNote]:
    """Return notes on metrics that count twice, and on opposite ones."""
    for is_opposite, words in (
        (False, "are redundant and count double"),
        (True, "are opposite and offset each other"),
    ):
        pairs = [
            f"'{row['first']}' and '{row['second']}'"
            for row in rows
            if (row["why"] == "opposite") == is_opposite
        ]
        if pairs:
            further = f", and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
            yield ResultNote("redundant", f"{', '.join(pairs[:3])}{further} {words}")


def _correlations(values: Floats) -> Floats:
    """Return Pearson's r of every two columns, NaN where one is constant."""
    most = np.abs(values).max(axis=0)
    values = values / np.where(most > 0, most, 1.0)  # squares of large ones would be infinite
    centred = values - values.mean(axis=0)
    centred[:, (values == values[0]).all(axis=0)] = 0.0
    size = np.sqrt((centred**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = centred / size
        r = np.clip(unit.T @ unit, -1.0, 1.0)
    r[:, size == 0] = r[size == 0, :] = np.nan
    return np.asarray(r)


def compare_rankings(
    ranking: Ranking, second: Ranking
) -> tuple[list[Row], list[Row], list[ResultNote]]:
    """Return the agreement by each score and metric, both ranks of each model, and missing models.

    Only models of both tables are compared; their ranks are those among them.
    Errors: DataError when fewer than two models are in both.
    """
    models = ranking.table.models
    second_models = second.table.models
    positions = {name: i for i, name in enumerate(second_models)}
    names = [name for name in models if name in positions]
    rows = [i for i, name in enumerate(models) if name in positions]
    second_rows = [positions[name] for name in names]
    if len(names) < 2:
        are = "is" if names else "are"
        message = f"{len(names)} of its models {are} also in {ranking.table.name}"
        hint = f"models here: {list_names(models)}; there: {list_names(second_models)}"
        raise DataError.new(message, "different-models", second.table.name, hint=hint)
    scores = {
        name: (ranking.scores[name][rows], second.scores[name][second_rows])
        for name in ("mlcps", "order_free", "mean", "desirability")
        if name in ranking.scores
    }
    agreement = [_agreement_row(names, name, *pair) for name, pair in scores.items()]
    agreement += [  # the scales of both are the same, in the same order
        _agreement_row(names, scale.metric, ranking.d[rows, i], second.d[second_rows, i])
        for i, scale in enumerate(ranking.scales)
    ]
    notes = _unshared_model_notes(models, second_models)
    return agreement, _rank_rows(names, *scores[ranking.main]), notes


def _unshared_model_notes(models: Sequence[str], second_models: Sequence[str]) -> list[ResultNote]:
    """Return a note on the models that only one of two tables has, if any."""
    common = {*models} & {*second_models}
    unshared = [name for name in models if name not in common]
    second_unshared = [name for name in second_models if name not in common]
    phrases = [
        f"models only {table}: {list_names(names, 5)}"
        for table, names in (("here", unshared), ("there", second_unshared))
        if names
    ]
    return (
        [ResultNote("different-models", f"not compared: {'; '.join(phrases)}")] if phrases else []
    )


def _agreement_row(names: Sequence[str], measure: str, values: Floats, other_values: Floats) -> Row:
    ranks = [dense_ranks(column) for column in (values, other_values)]
    tops = [[names[i] for i in first_models(column)] for column in ranks]
    row: dict[str, Cell] = {"measure": measure, "models": len(names)}
    for name, function in (("kendall", kendall_tau_b), ("spearman", spearman)):
        row[name] = Estimate(None, reason="too_few_metrics")
        if all(column.all() for column in ranks):  # tied ranks are ties
            row[name] = make_estimate(float(function(*ranks)), undefined=("constant",))
    is_same = tops[0] == tops[1] and bool(tops[0])
    return as_row({**row, "top_here": tops[0], "top_there": tops[1], "same_top": is_same})


def _rank_rows(names: Sequence[str], values: Floats, other_values: Floats) -> list[Row]:
    ranks = [dense_ranks(column).tolist() for column in (values, other_values)]
    return [
        as_row(
            {
                "model": name,
                "here": make_estimate(x, undefined=("too_few_metrics",)),
                "there": make_estimate(y, undefined=("too_few_metrics",)),
                "rank_here": a or None,
                "rank_there": b or None,
                "moved": b - a if a and b else None,
            }
        )
        for name, x, y, a, b in zip(
            names, values.tolist(), other_values.tolist(), *ranks, strict=True
        )
    ]


def area_changes(rays: Floats) -> Iterator[tuple[Floats | None, Floats | None]]:
    """Yield, for each ray, areas without it and doubled, up to a factor; None below 3 rays."""
    n = rays.shape[1]
    products = rays * np.roll(rays, -1, axis=1)
    up_to = np.cumsum(products, axis=1)
    onward = np.cumsum(products[:, ::-1], axis=1)[:, ::-1]
    for i in range(n):
        doubled = up_to[:, -1] + products[:, i] + products[:, i - 1]
        if n <= RAYS:
            yield None, doubled if n == RAYS else None
            continue
        if i == 0:
            remaining = products[:, 1:-1].sum(axis=1)
        else:
            remaining = (up_to[:, i - 2] if i > 1 else 0.0) + (
                onward[:, i + 1] if i < n - 1 else 0.0
            )
        yield remaining + rays[:, i - 1] * rays[:, (i + 1) % n], doubled
