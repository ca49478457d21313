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
    ranking: Ranking, compare: str | None, roles: InputOptions
) -> dict[str, Any]:
    """Return the settings of the score; those of reading predictions are in the signature."""
    options = ranking.options
    table = ranking.table
    orders = ranking.orders
    scales = ranking.scales
    parameters = {
        "from": options.source,
        "metrics": [s.metric for s in scales],
        "weights": {s.metric: s.weight for s in scales},
        "directions": {s.metric: s.best for s in scales},
        "scales": {s.metric: s.span and [*s.span] for s in scales},
        "ranked_by": ranking.main,
        "orders": orders and {"looked_at": orders.looked_at, "all": orders.everything},
        "draws": options.random_weights,
        "desirability": {w.metric: w.as_dict() for w in options.desirability} or None,
        "compare": compare,
        "interval": "none" if table.replicates is None else options.interval,
        "resamples": table.resamples,
        "positive": table.positive,
    }
    order = (
        "from metrics weights directions scales zero_weight ranked_by orders draws desirability "
        "compare reference margin missing interval level resamples seed positive"
    )
    return build_parameters(order, parameters, options, roles, omitted="by cluster")


def ranking_signature(ranking: Ranking, roles: InputOptions, second: MetricValues | None) -> str:
    """Return the settings that change numbers, and the hashes of file and statistics."""
    options = ranking.options
    table = ranking.table
    resampled = table.replicates is not None
    samples_orders = ranking.orders and not ranking.orders.everything
    is_random = resampled or options.random_weights or samples_orders
    weights = {name: w for name in table.metrics if (w := options.weight.get(name, 1.0)) != 1}
    settings = {
        "cmd": "mlcps",
        "from": options.source,
        "pos": table.positive,
        "cut": format_thresholds(table.thresholds) if table.positive is not None else None,
        "metrics": ",".join(table.metrics),
        "weights": format_pairs(weights),
        "zero": "ray" if options.zero_weight == "ray" and 0 in weights.values() else None,
        "less": ",".join(s.metric for s in ranking.scales if s.best == "min"),
        "scale": format_pairs({s.metric: s.span for s in ranking.scales if s.span is not None}),
        "wish": ";".join(
            " ".join([wish.metric, *(f"{name}={value}" for name, value in wish.as_dict().items())])
            for wish in options.desirability
        ),
        "draws": options.random_weights and f"{options.random_weights}-{options.level!r}",
        "compare": "yes" if second is not None else None,
        "miss": roles.missing,
        "ci": f"bootstrap-{options.level!r}-{options.resamples or 'auto'}" if resampled else None,
        "seed": options.seed if is_random else None,
    }
    inputs = table.inputs
    statistics = table.statistics
    if second is not None:
        inputs += second.inputs
        statistics = sha256(f"{statistics}{second.statistics}".encode()).hexdigest()
    return build_signature(
        "cmd from pos cut metrics weights zero less scale wish draws compare ref margin miss ci "
        "seed",
        settings,
        options,
        roles,
        files=inputs,
        statistics=statistics,
    )


def ranking_notes(ranking: Ranking) -> Iterator[ResultNote]:
    """Yield notes on ranks that depend on the order of the metrics, on ties and on goals."""
    names = ranking.table.models
    orders = ranking.orders
    best = ranking.best
    if orders is not None and ranking.main == "mlcps" and len(names) > 1:
        if len(orders.winners) > 1 and set(orders.winners) != set(best):
            winners = list_names([names[i] for i in orders.winners], 5)
            text = f"the first rank depends on the order of the metrics: {winners}"
            yield ResultNote("order", f"{text}; order-free scores do not")
        if not orders.everything:
            text = f"only {orders.looked_at:,} orders of the metrics were evaluated"
            yield ResultNote("some-orders", f"{text}; further ranks may depend on the order")
    if ranking.weights.any() and np.isnan(ranking.scores["normalised"]).all():
        yield ResultNote("no-area", "no neighbouring metrics have weights above 0, so MLcps is 0")
    if len(best) > 1:
        tied = list_names([names[i] for i in best], 5)
        yield ResultNote("tie", f"tied for the first rank: {tied}")
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
        opposite = {"maximize": "min", "minimize": "max"}.get(wish.goal)
        if measure is not None and measure.best == opposite:
            direction = "lower" if opposite == "min" else "higher"
            text = f"the goal is to {wish.goal} '{wish.metric}', but {direction} values are better"
            yield ResultNote("wish-direction", text)
    if ranking.failed:
        text = (
            f"MLcps is undefined in up to {ranking.failed} of {ranking.table.resamples} bootstrap"
        )
        text += " samples of a model; its interval leaves them out"
        yield ResultNote("resamples-lost", text)


def mlcps_result(
    table: MetricValues, options: MlcpsOptions, roles: InputOptions, *, second: MetricValues | None
) -> Document:
    """Rank the models by MLcps, or by desirability if goals are given.

    Errors: UsageError and DataError of `make_scales`; UsageError where weights are to be varied and
    there is no polygon; DataError when `second` has fewer than two of the models.
    """
    options = options.expand_globs(table.metrics)
    scales, notes = make_scales(table, options)
    level = None if options.interval == "none" else options.level
    check_reference(options.reference, level, options.margin, ("mlcps", "desirability"))
    if options.reference is not None:
        if options.reference not in table.models:
            raise unknown_model_error("--reference", options.reference, table.models)
        if table.replicates is None:
            message = f"{OPTION}--reference{END} needs predictions, and this is a table of metrics"
            raise bad_option(
                message, f"give a table of predictions with {OPTION}--from predictions{END}"
            )
    ranking = rank_models(table, scales, options)
    if options.random_weights is not None and len(scales) < RAYS:
        raise bad_option(f"{OPTION}--weight-sensitivity{END} needs {RAYS} metrics or more")
    tables = ranking_tables(ranking)
    orders = ranking.orders
    notes += redundancy_notes(tables["redundant"])
    of_other = []
    if second is not None:
        second_ranking = rank_models(
            second, apply_scales(second, scales), options, all_orders=False
        )
        tables["agreement"], tables["compared"], absent = compare_rankings(ranking, second_ranking)
        notes += absent
        of_other = [
            ResultNote(note.code, f"{second.name}: {note.message}") for note in second.notes
        ]
    result = Document(
        command="mlcps",
        signature=ranking_signature(ranking, roles, second),
        inputs=table.inputs + (second.inputs if second is not None else ()),
        parameters=ranking_parameters(ranking, second.inputs[0].name if second else None, roles),
        summary={
            "models": len(table.models),
            "metrics": len(scales),
            **({} if table.prevalence is None else {"prevalence": table.prevalence}),
            "best": [table.models[i] for i in ranking.best],
            "pareto_front": int((ranking.dominator < 0).sum()),
            "order_dependent": orders and int(orders.dependent.sum()),
            "winners": [table.models[i] for i in orders.winners] if orders else [],
        },
        tables=tables,
        warnings=(*table.notes, *notes, *ranking_notes(ranking), *of_other),
    )
    return replace(result, answer=mlcps_answer(result, ranking.best, ranking.equal))


Splits = Mapping[str, Floats]

MOST_PAIRS = 500  # models whose dominators are all named
MOST_WEIGHED = 2000  # models whose ranks are tested under all weights


def ranking_tables(ranking: Ranking) -> dict[str, Rows]:
    """Return the tables of a ranking: the usual ones, then those of its data or options."""
    options = ranking.options
    by_split = ranking.table.by_split
    splits = None
    if by_split is not None and len(ranking.scales) >= RAYS:
        splits = score_models(compute_rays(ranking.scales, by_split), ranking.weights)
    tables: dict[str, Rows] = {
        "models": _model_rows(ranking, splits),
        "ranks": _rank_rows(ranking),
        "metrics": _metric_rows(ranking),
        "profile": _profile_rows(ranking),
        "redundant": _redundant_metric_rows(ranking),
    }
    if len(ranking.table.models) <= MOST_PAIRS:
        names = ranking.table.models
        tables["dominance"] = [
            as_row({"model": names[i], "dominated_by": [names[j] for j in dominating.tolist()]})
            for i, dominating in enumerate(dominators(ranking.better))
            if len(dominating)
        ]
    if splits is not None:
        places = dense_ranks(splits["mlcps"].T).T
        tables["splits"] = [
            as_row(
                {
                    "split": split,
                    "model": model,
                    **{
                        name: make_estimate(splits[name][s, i].item(), undefined=("outside_scale",))
                        for name in ("mlcps", "normalised")
                    },
                    "rank": int(places[s, i]) or None,
                }
            )
            for s, split in enumerate(ranking.table.splits)
            for i, model in enumerate(ranking.table.models)
        ]
    if options.random_weights is not None:
        tables["weights"] = _weight_rows(ranking, options.random_weights)
    if ranking.compared:
        tables["comparisons"] = ranking.compared
    if options.desirability:
        tables["desirability"] = _desirability_rows(ranking)
    return tables


def _model_rows(ranking: Ranking, splits: Splits | None) -> Rows:
    """Return a row per model, built when it is read."""
    split_cells = _split_cells(splits)
    values: dict[str, list[list[float]]] = {}
    for name, scores in ranking.scores.items():
        values[name] = [column.tolist() for column in (scores, *ranking.limits.get(name, ()))]
    row = partial(_model_row, ranking, values, split_cells)
    return LazyRows(len(ranking.table.models), row)


def _model_row(
    ranking: Ranking,
    values: Mapping[str, list[list[float]]],
    split_cells: Callable[[int], dict[str, Cell]],
    i: int,
) -> Row:
    """Return the row of model i; values: of each score and its limits, if any, by model."""
    models = ranking.table.models

    def estimate(name: str) -> Estimate:
        reason = "missing_component" if name == "desirability" else "too_few_metrics"
        # a mean lacks metrics too where nothing has a scale; a polygon may be flat for want of
        # weights
        if len(ranking.scales) >= RAYS and name in ("normalised", "mlcps"):
            reason = "zero_weight"
        value, *limits = (column[i] for column in values[name])
        low, high = limits or (nan, nan)
        return make_estimate(value, low, high, undefined=(reason,))

    rank = ranking.ranks[ranking.main][i].item()
    cells: dict[str, Cell] = {"model": models[i], "mlcps": estimate("mlcps")}
    cells |= {"rank": rank or None, **{name: estimate(name) for name in SCORES[1:]}}
    dominator = ranking.dominator[i].item()
    dominated_by = models[dominator] if dominator >= 0 else None
    cells |= {"pareto": dominated_by is None, "dominated_by": dominated_by}
    if ranking.options.desirability:
        cells["desirability"] = estimate("desirability")
        pairs = zip(ranking.options.desirability, ranking.desirabilities[i].tolist(), strict=True)
        # each makes D 0
        cells["dealbreakers"] = [w.metric for w, d in pairs if d == 0 and w.weight > 0]
    if ranking.first is not None:
        cells["first"] = Estimate(ranking.first[i].item())
    return as_row({**cells, **split_cells(i)})


def _split_cells(splits: Splits | None) -> Callable[[int], dict[str, Cell]]:
    """Return the function from a model to its mean, SD, and number of splits with it first."""
    if splits is None:
        return lambda _: {}
    areas = splits["mlcps"]
    means = areas.mean(axis=0)
    sds = areas.std(axis=0, ddof=1) if len(areas) > 1 else np.full(len(means), nan)
    wins = (dense_ranks(areas.T) == 1).sum(axis=1)

    def cells(i: int) -> dict[str, Cell]:
        mean = means[i].item()
        reason = "too_few_splits" if mean == mean else "outside_scale"
        return {
            "split_mean": make_estimate(mean, undefined=("outside_scale",)),
            "split_sd": make_estimate(sds[i].item(), undefined=(reason,)),
            "split_wins": int(wins[i]),
        }

    return cells


def _rank_rows(ranking: Ranking) -> Rows:
    """Return the rank of each model by each score, and whether order or weights change it."""
    orders = ranking.orders
    k = len(ranking.table.models)
    columns: dict[str, list[Any]] = {"model": list(ranking.table.models)}
    for name, ranks in ranking.ranks.items():
        if name != "normalised":  # its ranks are those of mlcps
            columns[name] = [rank or None for rank in ranks.tolist()]
    names = ("best_over_orders", "worst_over_orders", "order_dependent", "weight_dependent")
    columns |= dict.fromkeys(names, [None] * k)
    if orders is not None:
        dependent = orders.dependent.astype(object)
        dependent[~orders.dependent & ~orders.settled] = None  # unknown
        over_orders = zip(names, (orders.best, orders.worst, dependent), strict=False)
        columns |= {name: column.tolist() for name, column in over_orders}
        if k <= MOST_WEIGHED:
            rays = ranking.d * (ranking.weights > 0)
            columns["weight_dependent"] = depends_on_weights(rays).tolist()
    return LazyRows(k, lambda i: {name: cells[i] for name, cells in columns.items()}, columns)


def _metric_rows(ranking: Ranking) -> list[Row]:
    """Return a row per ray: scale, values, and the effect of omitting or doubling it."""
    rows: list[Row] = []
    changes = area_changes(ranking.d * ranking.weights)
    for scale, areas in zip(ranking.scales, changes, strict=True):
        raw = ranking.table.values[:, scale.place]
        low, high = scale.span or (None, None)
        row: dict[str, Cell] = {
            "metric": scale.metric,
            "direction": scale.best,
            "low": low,
            "high": high,
            "weight": scale.weight,
            "least": float(raw.min()),
            "average": float(np.sort(raw).mean()),  # for any order of models
            "most": float(raw.max()),
        }
        for name, area in zip(("without", "doubled"), areas, strict=True):
            row |= _change_cells(ranking, name, area)
        rows.append(as_row(row))
    return rows


def _change_cells(ranking: Ranking, name: str, area: Floats | None) -> dict[str, Cell]:
    """Return the first model by a changed area, and the number of models with another rank."""
    if area is None:
        return {f"winner_{name}": None, f"moved_{name}": None}
    ranks = ranking.ranks["mlcps"]
    changed_ranks = dense_ranks(area)
    # of ties the earlier leader, with their number
    first, *others = sorted(first_models(changed_ranks), key=ranks.__getitem__)
    further = f" (and {len(others)} more)" if others else ""
    return {
        f"winner_{name}": f"{ranking.table.models[first]}{further}",
        f"moved_{name}": int((changed_ranks != ranks).sum()),
    }


def _profile_rows(ranking: Ranking) -> Rows:
    """Return a row per model and ray: raw value with limits, and length before weighting."""
    scales = ranking.scales
    table = ranking.table
    n = len(scales)
    limits: tuple[Floats, ...] | None = None
    if table.replicates is not None:
        limits = percentile_limits(table.replicates, level=ranking.options.level)[:2]
        if table.limits is not None:
            pairs = zip(table.limits, limits, strict=True)
            limits = tuple(
                np.where(np.isnan(closed_form), percentile, closed_form)
                for closed_form, percentile in pairs
            )

    def row(index: int) -> Row:
        i, j = divmod(index, n)
        place = scales[j].place
        value = table.values[i, place].item()
        low = high = nan
        if limits is not None:
            low, high = (limit[i, place].item() for limit in limits)
        cells: dict[str, Cell] = {
            "model": table.models[i],
            "metric": scales[j].metric,
            "value": make_estimate(value, low, high),
            "d": ranking.d[i, j].item(),
        }
        if table.sds is not None:  # of the raw value over splits
            sd = table.sds[i, place].item()
            cells["sd"] = sd if sd == sd else None
        return as_row(cells)

    return LazyRows(len(table.models) * n, row)


def _redundant_metric_rows(ranking: Ranking) -> list[Row]:
    """Return the pairs of redundant metrics; less is better as rays, else by goal."""
    table = ranking.table
    wishes = [wish for wish in ranking.options.desirability if wish.weight > 0]
    lower = {wish.metric: wish.goal == "minimize" for wish in wishes}
    used = {*lower, *(scale.metric for scale in ranking.scales if scale.weight > 0)}
    lower |= {scale.metric: scale.best == "min" for scale in ranking.scales}
    places = [place for place, metric in enumerate(table.metrics) if metric in used]
    minimized = [metric for metric, is_lower in lower.items() if is_lower]
    return redundant_rows(
        [table.metrics[place] for place in places], table.values[:, places], minimized
    )


def _weight_rows(ranking: Ranking, draws: int) -> list[Row]:
    """Return per model the share of random weights with which it is first."""
    rays = ranking.d * (ranking.weights > 0)
    options = ranking.options
    wins = winner_shares(rays, draws=draws, rng=random_stream(options.seed, "weights"))
    shares = (proportion_estimates(n, draws, "no_draws", level=options.level) for n in wins)
    names = ("share", "share_order_free")
    return rows_from_columns(
        {"model": ranking.table.models, **dict(zip(names, shares, strict=True))}
    )


def _desirability_rows(ranking: Ranking) -> Rows:
    table = ranking.table
    wishes = ranking.options.desirability
    places = [table.metrics.index(wish.metric) for wish in wishes]

    def row(index: int) -> Row:
        i, j = divmod(index, len(wishes))
        d = ranking.desirabilities[i, j].item()
        return as_row(
            {
                "model": table.models[i],
                "metric": wishes[j].metric,
                "goal": wishes[j].described(),
                "value": table.values[i, places[j]].item(),
                "d": Estimate(d),
                "weight": wishes[j].weight,
                "dealbreaker": d == 0 and wishes[j].weight > 0,
            }
        )

    return LazyRows(len(table.models) * len(wishes), row)
