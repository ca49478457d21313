"""The result of mlcps: its tables, parameters, signature and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from hashlib import sha256
from math import nan
from typing import Any

import numpy as np

from clfeval.arrays import Floats
from clfeval.document import Document, ResultNote
from clfeval.document.cells import Cell, Estimate, Row, Rows, as_row
from clfeval.document.rows import LazyRows
from clfeval.errors import bad_option, list_names, unknown_model_error
from clfeval.inference.resampling import percentile_limits, random_stream
from clfeval.measures.catalog import measure_of_column
from clfeval.methods.estimates import make_estimate, proportion_estimates, rows_from_columns
from clfeval.methods.mlcps.answer import mlcps_answer
from clfeval.methods.mlcps.metric_values import MetricValues
from clfeval.methods.mlcps.options import MlcpsOptions
from clfeval.methods.mlcps.ranking import (
    SCORES,
    Ranking,
    dense_ranks,
    dominators,
    first_models,
    rank_models,
    score_models,
)
from clfeval.methods.mlcps.robustness import (
    area_changes,
    compare_rankings,
    depends_on_weights,
    redundancy_notes,
    redundant_rows,
    winner_shares,
)
from clfeval.methods.mlcps.scale import RAYS, apply_scales, compute_rays, make_scales
from clfeval.methods.options import check_reference
from clfeval.methods.provenance import (
    build_parameters,
    build_signature,
    format_pairs,
    format_thresholds,
)
from clfeval.placeholders import END, OPTION
from clfeval.tables.input import InputOptions


def ranking_parameters(
    ranking: Ranking, second_name: str | None, input_options: InputOptions
) -> dict[str, Any]:
    """Return the settings of the score; those of reading predictions are in the signature.

    second_name: the name of a second table of metrics.
    """
    options = ranking.options
    table = ranking.table
    orders = ranking.orders
    scales = ranking.scales
    parameters = {
        "from": options.source,
        "metrics": [scale.metric for scale in scales],
        "weights": {scale.metric: scale.weight for scale in scales},
        "directions": {scale.metric: scale.best for scale in scales},
        "scales": {scale.metric: scale.span and [*scale.span] for scale in scales},
        "ranked_by": ranking.main_score,
        "orders": orders and {"looked_at": orders.looked_at, "all": orders.everything},
        "draws": options.random_weights,
        "desirability": {wish.metric: wish.as_dict() for wish in options.desirability} or None,
        "compare": second_name,
        "interval": "none" if table.replicates is None else options.interval,
        "resamples": table.resamples,
        "positive": table.positive,
    }
    order = (
        "from metrics weights directions scales zero_weight ranked_by orders draws desirability "
        "compare reference margin missing interval level resamples seed positive"
    )
    return build_parameters(order, parameters, options, input_options, omitted="by cluster")


def ranking_signature(
    ranking: Ranking, input_options: InputOptions, second_values: MetricValues | None
) -> str:
    """Return the settings that change numbers, and the hashes of file and statistics."""
    options = ranking.options
    table = ranking.table
    is_resampled = table.replicates is not None
    samples_orders = ranking.orders and not ranking.orders.everything
    is_random = is_resampled or options.random_weights or samples_orders
    weights = {
        name: weight for name in table.metrics if (weight := options.weight.get(name, 1.0)) != 1
    }
    settings = {
        "cmd": "mlcps",
        "from": options.source,
        "pos": table.positive,
        "cut": format_thresholds(table.thresholds) if table.positive is not None else None,
        "metrics": ",".join(table.metrics),
        "weights": format_pairs(weights),
        "zero": "ray" if options.zero_weight == "ray" and 0 in weights.values() else None,
        "less": ",".join(scale.metric for scale in ranking.scales if scale.best == "min"),
        "scale": format_pairs(
            {scale.metric: scale.span for scale in ranking.scales if scale.span is not None}
        ),
        "wish": ";".join(
            " ".join([wish.metric, *(f"{name}={value}" for name, value in wish.as_dict().items())])
            for wish in options.desirability
        ),
        "draws": options.random_weights and f"{options.random_weights}-{options.level!r}",
        "compare": "yes" if second_values is not None else None,
        "miss": input_options.missing,
        "ci": f"bootstrap-{options.level!r}-{options.resamples or 'auto'}"
        if is_resampled
        else None,
        "seed": options.seed if is_random else None,
    }
    inputs = table.inputs
    statistics = table.statistics
    if second_values is not None:
        inputs += second_values.inputs
        statistics = sha256(f"{statistics}{second_values.statistics}".encode()).hexdigest()
    return build_signature(
        "cmd from pos cut metrics weights zero less scale wish draws compare ref margin miss ci "
        "seed",
        settings,
        options,
        input_options,
        files=inputs,
        statistics=statistics,
    )


def ranking_notes(ranking: Ranking) -> Iterator[ResultNote]:
    """Yield notes on ranks that depend on the order of the metrics, on ties and on goals."""
    models = ranking.table.models
    orders = ranking.orders
    best_indices = ranking.best_indices
    if orders is not None and ranking.main_score == "mlcps" and len(models) > 1:
        if len(orders.winners) > 1 and set(orders.winners) != set(best_indices):
            winners = list_names([models[i] for i in orders.winners], 5)
            text = f"the first rank depends on the order of the metrics: {winners}"
            yield ResultNote("order", f"{text}; order-free scores do not")
        if not orders.everything:
            text = f"only {orders.looked_at:,} orders of the metrics were evaluated"
            yield ResultNote("some-orders", f"{text}; further ranks may depend on the order")
    if ranking.weights.any() and np.isnan(ranking.scores["normalised"]).all():
        yield ResultNote("no-area", "no neighbouring metrics have weights above 0, so MLcps is 0")
    if len(best_indices) > 1:
        tied_names = list_names([models[i] for i in best_indices], 5)
        yield ResultNote("tie", f"tied for the first rank: {tied_names}")
    for wish in ranking.options.desirability:
        measure = measure_of_column(wish.metric)
        values = ranking.table.values[:, ranking.table.metrics.index(wish.metric)]
        low, high = (np.nan if bound is None else bound for bound in (wish.low, wish.high))
        n_outside = int(((values < low) | (values > high)).sum()) if wish.assumed else 0
        if n_outside:
            text = (
                f"'{wish.metric}': {n_outside} of {len(values)} values are outside the range of the"
            )
            text += f" measure, {low:g} to {high:g}; give low and high"
            yield ResultNote("wish-range", text)
        contrary_direction = {"maximize": "min", "minimize": "max"}.get(wish.goal)
        if measure is not None and measure.best == contrary_direction:
            direction = "lower" if contrary_direction == "min" else "higher"
            text = f"the goal is to {wish.goal} '{wish.metric}', but {direction} values are better"
            yield ResultNote("wish-direction", text)
    if ranking.undefined_count:
        text = (
            f"MLcps is undefined in up to {ranking.undefined_count} of {ranking.table.resamples} "
            "bootstrap"
        )
        text += " samples of a model; its interval leaves them out"
        yield ResultNote("resamples-lost", text)


def mlcps_result(
    table: MetricValues,
    options: MlcpsOptions,
    input_options: InputOptions,
    *,
    second: MetricValues | None,
) -> Document:
    """Rank the models by MLcps, or by desirability if goals are given.

    Errors: UsageError and DataError of `make_scales`; UsageError where weights are to be varied and
    there is no polygon; DataError when the second table has fewer than two of the models.
    """
    options = options.expand_globs(table.metrics)
    scales, notes = make_scales(table, options)
    _check_ranking_reference(table, options)
    ranking = rank_models(table, scales, options)
    if options.random_weights is not None and len(scales) < RAYS:
        raise bad_option(f"{OPTION}--weight-sensitivity{END} needs {RAYS} metrics or more")
    tables = ranking_tables(ranking)
    orders = ranking.orders
    notes += redundancy_notes(tables["redundant"])
    second_notes = []
    if second is not None:
        second_ranking = rank_models(
            second, apply_scales(second, scales), options, all_orders=False
        )
        tables["agreement"], tables["compared"], unshared_notes = compare_rankings(
            ranking, second_ranking
        )
        notes += unshared_notes
        second_notes = [
            ResultNote(note.code, f"{second.name}: {note.message}") for note in second.notes
        ]
    result = Document(
        command="mlcps",
        signature=ranking_signature(ranking, input_options, second),
        inputs=table.inputs + (second.inputs if second is not None else ()),
        parameters=ranking_parameters(
            ranking, second.inputs[0].name if second else None, input_options
        ),
        summary={
            "models": len(table.models),
            "metrics": len(scales),
            **({} if table.prevalence is None else {"prevalence": table.prevalence}),
            "best": [table.models[i] for i in ranking.best_indices],
            "pareto_front": int((ranking.dominator < 0).sum()),
            "order_dependent": orders and int(orders.dependent.sum()),
            "winners": [table.models[i] for i in orders.winners] if orders else [],
        },
        tables=tables,
        warnings=(*table.notes, *notes, *ranking_notes(ranking), *second_notes),
    )
    return replace(result, answer=mlcps_answer(result, ranking.best_indices, ranking.tied_indices))


def _check_ranking_reference(table: MetricValues, options: MlcpsOptions) -> None:
    """Raise UsageError for a margin of anything but a score, or a reference without comparison."""
    level = None if options.interval == "none" else options.level
    check_reference(options.reference, level, options.margin, ("mlcps", "desirability"))
    if options.reference is None:
        return
    if options.reference not in table.models:
        raise unknown_model_error("--reference", options.reference, table.models)
    if table.replicates is None:
        message = f"{OPTION}--reference{END} needs predictions, and this is a table of metrics"
        raise bad_option(
            message, f"give a table of predictions with {OPTION}--from predictions{END}"
        )


Splits = Mapping[str, Floats]  # scores, (s, k), of k models in s cross-validation splits

MOST_PAIRS = 500  # models whose dominators are all named
MOST_WEIGHED = 2000  # models whose ranks are tested under all weights


def ranking_tables(ranking: Ranking) -> dict[str, Rows]:
    """Return the tables of a ranking: the usual ones, then those of its data or options."""
    options = ranking.options
    by_split = ranking.table.by_split
    split_scores = None
    if by_split is not None and len(ranking.scales) >= RAYS:
        split_scores = score_models(compute_rays(ranking.scales, by_split), ranking.weights)
    tables: dict[str, Rows] = {
        "models": _model_rows(ranking, split_scores),
        "ranks": _rank_rows(ranking),
        "metrics": _metric_rows(ranking),
        "profile": _profile_rows(ranking),
        "redundant": _redundant_metric_rows(ranking),
    }
    if len(ranking.table.models) <= MOST_PAIRS:
        names = ranking.table.models
        tables["dominance"] = [
            as_row(
                {
                    "model": names[model_index],
                    "dominated_by": [
                        names[dominator_index] for dominator_index in dominator_indices.tolist()
                    ],
                }
            )
            for model_index, dominator_indices in enumerate(dominators(ranking.dominance_values))
            if len(dominator_indices)
        ]
    if split_scores is not None:
        split_ranks = dense_ranks(split_scores["mlcps"].T).T
        tables["splits"] = [
            as_row(
                {
                    "split": split,
                    "model": model,
                    **{
                        name: make_estimate(
                            split_scores[name][split_index, model_index].item(),
                            undefined=("outside_scale",),
                        )
                        for name in ("mlcps", "normalised")
                    },
                    "rank": int(split_ranks[split_index, model_index]) or None,
                }
            )
            for split_index, split in enumerate(ranking.table.splits)
            for model_index, model in enumerate(ranking.table.models)
        ]
    if options.random_weights is not None:
        tables["weights"] = _weight_rows(ranking, options.random_weights)
    if ranking.comparison_rows:
        tables["comparisons"] = ranking.comparison_rows
    if options.desirability:
        tables["desirability"] = _desirability_rows(ranking)
    return tables


def _model_rows(ranking: Ranking, split_scores: Splits | None) -> Rows:
    """Return a row per model, built when it is read."""
    split_cells = _split_cells(split_scores)
    score_columns: dict[str, list[list[float]]] = {}
    for name, scores in ranking.scores.items():
        score_columns[name] = [
            column.tolist() for column in (scores, *ranking.limits.get(name, ()))
        ]
    row_of_model = partial(_model_row, ranking, score_columns, split_cells)
    return LazyRows(len(ranking.table.models), row_of_model)


def _model_row(
    ranking: Ranking,
    score_columns: Mapping[str, list[list[float]]],
    split_cells: Callable[[int], dict[str, Cell]],
    model_index: int,
) -> Row:
    """Return the row of a model; score_columns: of each score its values and limits, if any."""
    models = ranking.table.models

    def estimate(score: str) -> Estimate:
        reason = "missing_component" if score == "desirability" else "too_few_metrics"
        # a mean lacks metrics too where nothing has a scale; a polygon may be flat for want of
        # weights
        if len(ranking.scales) >= RAYS and score in ("normalised", "mlcps"):
            reason = "zero_weight"
        value, *limits = (column[model_index] for column in score_columns[score])
        low, high = limits or (nan, nan)
        return make_estimate(value, low, high, undefined=(reason,))

    rank = ranking.ranks[ranking.main_score][model_index].item()
    cells: dict[str, Cell] = {"model": models[model_index], "mlcps": estimate("mlcps")}
    cells |= {
        "rank": rank or None,
        **{score_name: estimate(score_name) for score_name in SCORES[1:]},
    }
    dominator = ranking.dominator[model_index].item()
    dominated_by = models[dominator] if dominator >= 0 else None
    cells |= {"pareto": dominated_by is None, "dominated_by": dominated_by}
    if ranking.options.desirability:
        cells["desirability"] = estimate("desirability")
        goal_pairs = zip(
            ranking.options.desirability, ranking.desirabilities[model_index].tolist(), strict=True
        )
        # each of these goals makes D 0
        cells["dealbreakers"] = [
            wish.metric for wish, d in goal_pairs if d == 0 and wish.weight > 0
        ]
    if ranking.first_shares is not None:
        cells["first"] = Estimate(ranking.first_shares[model_index].item())
    return as_row({**cells, **split_cells(model_index)})


def _split_cells(split_scores: Splits | None) -> Callable[[int], dict[str, Cell]]:
    """Return the function from a model to its mean, SD, and number of splits with it first."""
    if split_scores is None:
        return lambda _: {}
    areas = split_scores["mlcps"]
    means = areas.mean(axis=0)
    sds = areas.std(axis=0, ddof=1) if len(areas) > 1 else np.full(len(means), nan)
    win_counts = (dense_ranks(areas.T) == 1).sum(axis=1)

    def cells(model_index: int) -> dict[str, Cell]:
        mean = means[model_index].item()
        reason = "too_few_splits" if mean == mean else "outside_scale"
        return {
            "split_mean": make_estimate(mean, undefined=("outside_scale",)),
            "split_sd": make_estimate(sds[model_index].item(), undefined=(reason,)),
            "split_wins": int(win_counts[model_index]),
        }

    return cells


def _rank_rows(ranking: Ranking) -> Rows:
    """Return the rank of each model by each score, and whether order or weights change it."""
    orders = ranking.orders
    model_count = len(ranking.table.models)
    columns: dict[str, list[Any]] = {"model": list(ranking.table.models)}
    for score, ranks in ranking.ranks.items():
        if score != "normalised":  # its ranks are those of mlcps
            columns[score] = [rank or None for rank in ranks.tolist()]
    order_columns = ("best_over_orders", "worst_over_orders", "order_dependent", "weight_dependent")
    columns |= dict.fromkeys(order_columns, [None] * model_count)
    if orders is not None:
        is_dependent = orders.dependent.astype(object)
        is_dependent[~orders.dependent & ~orders.settled] = None  # unknown
        order_values = zip(order_columns, (orders.best, orders.worst, is_dependent), strict=False)
        columns |= {name: column.tolist() for name, column in order_values}
        if model_count <= MOST_WEIGHED:
            rays = ranking.d * (ranking.weights > 0)
            columns["weight_dependent"] = depends_on_weights(rays).tolist()
    return LazyRows(
        model_count, lambda i: {name: cells[i] for name, cells in columns.items()}, columns
    )


def _metric_rows(ranking: Ranking) -> list[Row]:
    """Return a row per ray: scale, values, and the effect of omitting or doubling it."""
    rows: list[Row] = []
    areas_by_ray = area_changes(ranking.d * ranking.weights)
    for scale, changed_areas in zip(ranking.scales, areas_by_ray, strict=True):
        metric_values = ranking.table.values[:, scale.column_index]
        low, high = scale.span or (None, None)
        row: dict[str, Cell] = {
            "metric": scale.metric,
            "direction": scale.best,
            "low": low,
            "high": high,
            "weight": scale.weight,
            "least": float(metric_values.min()),
            "average": float(np.sort(metric_values).mean()),  # for any order of models
            "most": float(metric_values.max()),
        }
        for change, area in zip(("without", "doubled"), changed_areas, strict=True):
            row |= _change_cells(ranking, change, area)
        rows.append(as_row(row))
    return rows


def _change_cells(ranking: Ranking, change: str, changed_area: Floats | None) -> dict[str, Cell]:
    """Return the first model by a changed area, and the number of models with another rank."""
    if changed_area is None:
        return {f"winner_{change}": None, f"moved_{change}": None}
    ranks = ranking.ranks["mlcps"]
    changed_ranks = dense_ranks(changed_area)
    # of several that tie the one with the best rank before, and the number of the others
    first_index, *other_indices = sorted(first_models(changed_ranks), key=ranks.__getitem__)
    more_phrase = f" (and {len(other_indices)} more)" if other_indices else ""
    return {
        f"winner_{change}": f"{ranking.table.models[first_index]}{more_phrase}",
        f"moved_{change}": int((changed_ranks != ranks).sum()),
    }


def _profile_rows(ranking: Ranking) -> Rows:
    """Return a row per model and ray: raw value with limits, and length before weighting."""
    scales = ranking.scales
    table = ranking.table
    ray_count = len(scales)
    limits: tuple[Floats, ...] | None = None
    if table.replicates is not None:
        limits = percentile_limits(table.replicates, level=ranking.options.level)[:2]
        if table.limits is not None:
            limit_pairs = zip(table.limits, limits, strict=True)
            limits = tuple(
                np.where(np.isnan(closed_form), percentile, closed_form)
                for closed_form, percentile in limit_pairs
            )

    def row(row_index: int) -> Row:
        model_index, ray_index = divmod(row_index, ray_count)
        column_index = scales[ray_index].column_index
        value = table.values[model_index, column_index].item()
        low = high = nan
        if limits is not None:
            low, high = (limit_values[model_index, column_index].item() for limit_values in limits)
        cells: dict[str, Cell] = {
            "model": table.models[model_index],
            "metric": scales[ray_index].metric,
            "value": make_estimate(value, low, high),
            "d": ranking.d[model_index, ray_index].item(),
        }
        if table.sds is not None:  # of the raw value over splits
            sd = table.sds[model_index, column_index].item()
            cells["sd"] = sd if sd == sd else None
        return as_row(cells)

    return LazyRows(len(table.models) * ray_count, row)


def _redundant_metric_rows(ranking: Ranking) -> list[Row]:
    """Return the pairs of redundant metrics; less is better as rays, else by goal."""
    table = ranking.table
    wishes = [wish for wish in ranking.options.desirability if wish.weight > 0]
    minimizes = {wish.metric: wish.goal == "minimize" for wish in wishes}
    used_metrics = {*minimizes, *(scale.metric for scale in ranking.scales if scale.weight > 0)}
    minimizes |= {scale.metric: scale.best == "min" for scale in ranking.scales}
    column_indices = [
        column_index for column_index, metric in enumerate(table.metrics) if metric in used_metrics
    ]
    minimized = [metric for metric, is_minimized in minimizes.items() if is_minimized]
    return redundant_rows(
        [table.metrics[column_index] for column_index in column_indices],
        table.values[:, column_indices],
        minimized,
    )


def _weight_rows(ranking: Ranking, draw_count: int) -> list[Row]:
    """Return per model the share of random weights with which it is first."""
    rays = ranking.d * (ranking.weights > 0)
    options = ranking.options
    win_counts = winner_shares(rays, draws=draw_count, rng=random_stream(options.seed, "weights"))
    share_estimates = (
        proportion_estimates(counts, draw_count, "no_draws", level=options.level)
        for counts in win_counts
    )
    names = ("share", "share_order_free")
    return rows_from_columns(
        {"model": ranking.table.models, **dict(zip(names, share_estimates, strict=True))}
    )


def _desirability_rows(ranking: Ranking) -> Rows:
    table = ranking.table
    wishes = ranking.options.desirability
    column_indices = [table.metrics.index(wish.metric) for wish in wishes]

    def row(row_index: int) -> Row:
        model_index, goal_index = divmod(row_index, len(wishes))
        desirability = ranking.desirabilities[model_index, goal_index].item()
        return as_row(
            {
                "model": table.models[model_index],
                "metric": wishes[goal_index].metric,
                "goal": wishes[goal_index].described(),
                "value": table.values[model_index, column_indices[goal_index]].item(),
                "d": Estimate(desirability),
                "weight": wishes[goal_index].weight,
                "dealbreaker": desirability == 0 and wishes[goal_index].weight > 0,
            }
        )

    return LazyRows(len(table.models) * len(wishes), row)
