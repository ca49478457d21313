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
    scaled_d = d / (d.max(initial=0) or 1)  # by 1 where all are 0
    block_size = max(1, _CELLS // len(d))
    for start in range(0, draws, _DRAWS):
        # not divided by their sum, which is a common factor too
        weights = rng.standard_exponential((min(_DRAWS, draws - start), d.shape[1]))
        for block_start in range(0, len(weights), block_size):
            weight_block = weights[block_start : block_start + block_size]
            areas = _matrix_product(
                *(factor * np.roll(factor, -1, axis=1) for factor in (scaled_d, weight_block))
            )
            order_free = _all_pairs(scaled_d, weight_block)
            for score_index, scores in enumerate((areas, order_free)):
                wins[score_index] += np.count_nonzero(
                    scores >= scores.max(axis=0) * (1 - TIE), axis=1
                )
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
    products = np.ascontiguousarray((d * np.roll(d, -1, axis=1)).T, np.float64)
    has_crossing = np.zeros(k, bool)  # greater and less than the same other model
    all_models = np.ones(k, bool)
    block_size = max(1, _PAIRS // k)
    row_slices = [slice(start, start + block_size) for start in range(0, k, block_size)]
    for row_slice in row_slices:
        exceeds, is_below = _compare_products(products, row_slice, all_models)
        has_crossing[row_slice] = (exceeds & is_below).any(axis=1)
    is_dependent = has_crossing.copy()
    for row_slice in row_slices:
        exceeds, is_below = _compare_products(products, row_slice, has_crossing)
        is_dependent[row_slice] |= (is_below & ~exceeds).any(axis=1)
    return is_dependent


def _compare_products(
    products: Floats, row_slice: slice, in_comparison: Bools
) -> tuple[Bools, Bools]:
    """Return whether some product of each row exceeds, or is below, that of each other model.

    products (n, k): of neighbouring metrics; in_comparison (k,): the other models.
    """
    exceeds = np.zeros((len(products[0, row_slice]), int(in_comparison.sum())), bool)
    is_below = np.zeros_like(exceeds)
    for metric_products in products:
        row_products = metric_products[row_slice, None]
        other_products = metric_products[in_comparison]
        exceeds |= row_products > other_products * (1 + TIE)
        is_below |= row_products * (1 + TIE) < other_products
    return exceeds, is_below


def _all_pairs(a: Real, w: Real) -> Real:
    """Return sums of a_i a_j w_i w_j over all pairs, (k, m), of a (k, n) and w (m, n).

    This avoids the cancellation of (S**2 - squares) / 2.
    """
    a_block = a[:, :_BLOCK]
    w_block = w[:, :_BLOCK]
    total = _matrix_product(_pair_products(a_block), _pair_products(w_block))
    if a.shape[1] > _BLOCK:
        running_sums = _matrix_product(a_block, w_block)
        for start in range(_BLOCK, a.shape[1], _BLOCK):
            a_block = a[:, start : start + _BLOCK]
            w_block = w[:, start : start + _BLOCK]
            block_sums = _matrix_product(a_block, w_block)
            total += _matrix_product(_pair_products(a_block), _pair_products(w_block))
            total += running_sums * block_sums
            running_sums += block_sums
    return total


def _pair_products(x: Real) -> Real:
    return np.concatenate([x[:, i, None] * x[:, i + 1 :] for i in range(x.shape[1])], axis=1)


def _matrix_product(a: Real, w: Real) -> Real:
    """Return the matrix product of models (k, f) and weightings (m, f): (k, m), without threads."""
    if not a.shape[1]:
        return np.zeros((len(a), len(w)), a.dtype)
    transposed = np.ascontiguousarray(w.T)
    product = np.empty((len(a), len(w)), a.dtype)
    piece_rows = max(1, _PIECE // max(1, w.size))
    even_rows = len(a) // piece_rows * piece_rows
    pieces = a[:even_rows].reshape(-1, piece_rows, a.shape[1])
    np.matmul(pieces, transposed, out=product[:even_rows].reshape(-1, piece_rows, len(w)))
    np.matmul(a[even_rows:], transposed, out=product[even_rows:])
    return product


def redundant_rows(
    metrics: Sequence[str], values: Floats, minimized: Collection[str] = ()
) -> list[Row]:
    """Return the pairs of metrics that are identical, equivalent, or have |r| > .999.

    r is Pearson's over at least three models, undefined for constant metrics. Metrics are opposite
    if r is negative for their rays: of the metrics in `minimized`, lower values are better.
    Shapes: values (k, n), raw.
    """
    model_count, metric_count = values.shape
    # two points always lie on a line; of three, one pair in 35 is that close to one by chance
    r = _correlations(values) if model_count >= 3 else np.full((metric_count, metric_count), np.nan)
    signs = np.array([-1 if metric in minimized else 1 for metric in metrics])
    models_phrase = "models" if model_count >= 4 else "three models only"
    rows: list[Row] = []
    for i, j in combinations(range(metric_count), 2):
        is_identical = bool((values[:, i] == values[:, j]).all())
        formula = equivalence_formula(metrics[i], metrics[j])
        pearson = None if np.isnan(r[i, j]) else float(r[i, j])
        if is_identical:
            reason = "identical"
            note = formula or "equal values for every model"
        elif formula:
            reason = "same measure"
            note = formula
        elif pearson is not None and abs(pearson) > CLOSE:
            reason = "correlated"
            note = f"r = {pearson:.5f} over {models_phrase}"
        else:
            continue  # not redundant
        if signs[i] * signs[j] * (1.0 if is_identical else pearson or 0.0) < -CLOSE:
            reason = "opposite"
            note += "; one gets better as the other gets worse"
        rows.append(
            as_row(
                {
                    "first": metrics[i],
                    "second": metrics[j],
                    "why": reason,
                    "r": pearson,
                    "note": note,
                }
            )
        )
    return rows


def redundancy_notes(rows: Sequence[Row]) -> Iterator[ResultNote]:
    """Return notes on metrics that count twice, and on opposite ones."""
    for is_opposite, claim in (
        (False, "are redundant and count double"),
        (True, "are opposite and offset each other"),
    ):
        pair_names = [
            f"'{row['first']}' and '{row['second']}'"
            for row in rows
            if (row["why"] == "opposite") == is_opposite
        ]
        if pair_names:
            more_phrase = f", and {len(pair_names) - 3} more pairs" if len(pair_names) > 3 else ""
            yield ResultNote("redundant", f"{', '.join(pair_names[:3])}{more_phrase} {claim}")


def _correlations(values: Floats) -> Floats:
    """Return Pearson's r of every two columns, NaN where one is constant."""
    largest = np.abs(values).max(axis=0)
    scaled = values / np.where(largest > 0, largest, 1.0)  # squares of large ones would be infinite
    centred = scaled - scaled.mean(axis=0)
    centred[:, (scaled == scaled[0]).all(axis=0)] = 0.0
    norms = np.sqrt((centred**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        unit_columns = centred / norms
        r = np.clip(unit_columns.T @ unit_columns, -1.0, 1.0)
    r[:, norms == 0] = r[norms == 0, :] = np.nan
    return np.asarray(r)


def compare_rankings(
    ranking: Ranking, second_ranking: Ranking
) -> tuple[list[Row], list[Row], list[ResultNote]]:
    """Return the agreement by each score and metric, both ranks of each model, and missing models.

    Only models of both tables are compared; their ranks are those among them.
    Errors: DataError when fewer than two models are in both.
    """
    models = ranking.table.models
    second_models = second_ranking.table.models
    second_index_by_name = {name: index for index, name in enumerate(second_models)}
    common_models = [name for name in models if name in second_index_by_name]
    indices = [index for index, name in enumerate(models) if name in second_index_by_name]
    second_indices = [second_index_by_name[name] for name in common_models]
    if len(common_models) < 2:
        are = "is" if common_models else "are"
        message = f"{len(common_models)} of its models {are} also in {ranking.table.name}"
        hint = f"models here: {list_names(models)}; there: {list_names(second_models)}"
        raise DataError.new(message, "different-models", second_ranking.table.name, hint=hint)
    score_pairs = {
        name: (ranking.scores[name][indices], second_ranking.scores[name][second_indices])
        for name in ("mlcps", "order_free", "mean", "desirability")
        if name in ranking.scores
    }
    agreement = [_agreement_row(common_models, name, *pair) for name, pair in score_pairs.items()]
    agreement += [  # the scales of both are the same, in the same order
        _agreement_row(
            common_models,
            scale.metric,
            ranking.d[indices, index],
            second_ranking.d[second_indices, index],
        )
        for index, scale in enumerate(ranking.scales)
    ]
    notes = _unshared_model_notes(models, second_models)
    return agreement, _rank_rows(common_models, *score_pairs[ranking.main_score]), notes


def _unshared_model_notes(models: Sequence[str], second_models: Sequence[str]) -> list[ResultNote]:
    """Return a note on the models that only one of two tables has, if any."""
    common_models = {*models} & {*second_models}
    first_only = [name for name in models if name not in common_models]
    second_only = [name for name in second_models if name not in common_models]
    phrases = [
        f"models only {table_word}: {list_names(names, 5)}"
        for table_word, names in (("here", first_only), ("there", second_only))
        if names
    ]
    return (
        [ResultNote("different-models", f"not compared: {'; '.join(phrases)}")] if phrases else []
    )


def _agreement_row(
    models: Sequence[str], measure: str, scores: Floats, second_scores: Floats
) -> Row:
    """Return the agreement of two tables by one measure; scores: of their common models, (k,)."""
    rank_columns = [dense_ranks(values) for values in (scores, second_scores)]
    first_names = [[models[i] for i in first_models(column_ranks)] for column_ranks in rank_columns]
    row: dict[str, Cell] = {"measure": measure, "models": len(models)}
    for coefficient, coefficient_of in (("kendall", kendall_tau_b), ("spearman", spearman)):
        row[coefficient] = Estimate(None, reason="too_few_metrics")
        if all(column_ranks.all() for column_ranks in rank_columns):  # rank 0: undefined
            row[coefficient] = make_estimate(
                float(coefficient_of(*rank_columns)), undefined=("constant",)
            )
    is_same = first_names[0] == first_names[1] and bool(first_names[0])
    return as_row(
        {**row, "top_here": first_names[0], "top_there": first_names[1], "same_top": is_same}
    )


def _rank_rows(models: Sequence[str], scores: Floats, second_scores: Floats) -> list[Row]:
    """Return the main score and rank of each common model in both tables."""
    ranks = [dense_ranks(values).tolist() for values in (scores, second_scores)]
    return [
        as_row(
            {
                "model": model,
                "here": make_estimate(score, undefined=("too_few_metrics",)),
                "there": make_estimate(second_score, undefined=("too_few_metrics",)),
                "rank_here": rank or None,
                "rank_there": second_rank or None,
                "moved": second_rank - rank if rank and second_rank else None,
            }
        )
        for model, score, second_score, rank, second_rank in zip(
            models, scores.tolist(), second_scores.tolist(), *ranks, strict=True
        )
    ]


def area_changes(rays: Floats) -> Iterator[tuple[Floats | None, Floats | None]]:
    """Yield, for each ray, areas of all models without it and with it doubled, up to a factor.

    None for an area of fewer than 3 rays.
    """
    n = rays.shape[1]
    products = rays * np.roll(rays, -1, axis=1)
    sums_up_to = np.cumsum(products, axis=1)
    sums_from = np.cumsum(products[:, ::-1], axis=1)[:, ::-1]
    for i in range(n):
        doubled = sums_up_to[:, -1] + products[:, i] + products[:, i - 1]
        if n <= RAYS:
            yield None, doubled if n == RAYS else None
            continue
        if i == 0:
            other_products = products[:, 1:-1].sum(axis=1)
        else:
            other_products = (sums_up_to[:, i - 2] if i > 1 else 0.0) + (
                sums_from[:, i + 1] if i < n - 1 else 0.0
            )
        yield other_products + rays[:, i - 1] * rays[:, (i + 1) % n], doubled
