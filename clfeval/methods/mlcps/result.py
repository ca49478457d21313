"""The result of mlcps: its tables, parameters, signature and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from math import nan
from typing import Any

import numpy as np

from clfeval.arrays import Floats
from clfeval.document import Cell, Document, Estimate, ResultNote, Row, Rows
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
from clfeval.tables.input import Input


def ranking_parameters(ranking: Ranking, compare: str | None, said: Input) -> dict[str, Any]:
    """Return the settings of the score; those of reading predictions are in the signature."""
    options, given, orders, scales = ranking.options, ranking.given, ranking.orders, ranking.scales
    found = {
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
        "interval": "none" if given.replicates is None else options.interval,
        "resamples": given.resamples,
        "positive": given.positive,
    }
    order = (
        "from metrics weights directions scales zero_weight ranked_by orders draws desirability "
        "compare reference margin missing interval level resamples seed positive"
    )
    return build_parameters(order, found, options, said, without="by cluster")


def ranking_signature(ranking: Ranking, said: Input, other: MetricValues | None) -> str:
    """Return the settings that change numbers, and the hashes of file and statistics."""
    options, given = ranking.options, ranking.given
    resampled = given.replicates is not None
    drawn = (
        resampled or options.random_weights or (ranking.orders and not ranking.orders.everything)
    )
    weights = {name: w for name in given.metrics if (w := options.weight.get(name, 1.0)) != 1}
    found = {
        "cmd": "mlcps",
        "from": options.source,
        "pos": given.positive,
        "cut": format_thresholds(given.thresholds) if given.positive is not None else None,
        "metrics": ",".join(given.metrics),
        "weights": format_pairs(weights),
        "zero": "ray" if options.zero_weight == "ray" and 0 in weights.values() else None,
        "less": ",".join(s.metric for s in ranking.scales if s.best == "min"),
        "scale": format_pairs({s.metric: s.span for s in ranking.scales if s.span is not None}),
        "wish": ";".join(
            " ".join([wish.metric, *(f"{name}={value}" for name, value in wish.as_dict().items())])
            for wish in options.desirability
        ),
        "draws": options.random_weights and f"{options.random_weights}-{options.level!r}",
        "compare": "yes" if other is not None else None,
        "miss": said.missing,
        "ci": f"bootstrap-{options.level!r}-{options.resamples or 'auto'}" if resampled else None,
        "seed": options.seed if drawn else None,
    }
    inputs, statistics = given.inputs, given.statistics
    if other is not None:
        inputs += other.inputs
        statistics = sha256(f"{statistics}{other.statistics}".encode()).hexdigest()
    return build_signature(
        "cmd from pos cut metrics weights zero less scale wish draws compare ref margin miss ci "
        "seed",
        found,
        options,
        said,
        files=inputs,
        statistics=statistics,
    )


def ranking_notes(ranking: Ranking) -> Iterator[ResultNote]:
    """Yield notes on ranks that depend on the order of the metrics, on ties and on goals."""
    names, orders, best = ranking.given.models, ranking.orders, ranking.best
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
        values = ranking.given.values[:, ranking.given.metrics.index(wish.metric)]
        low, high = (np.nan if end is None else end for end in (wish.low, wish.high))
        outside = int(((values < low) | (values > high)).sum()) if wish.assumed else 0
        if outside:
            text = (
                f"'{wish.metric}': {outside} of {len(values)} values are outside the range of the"
            )
            text += f" measure, {low:g} to {high:g}; give low and high"
            yield ResultNote("wish-range", text)
        against = {"maximize": "min", "minimize": "max"}.get(wish.goal)
        if measure is not None and measure.best == against:
            less = "lower" if against == "min" else "higher"
            text = f"the goal is to {wish.goal} '{wish.metric}', but {less} values are better"
            yield ResultNote("wish-direction", text)
    if ranking.failed:
        text = (
            f"MLcps is undefined in up to {ranking.failed} of {ranking.given.resamples} bootstrap"
        )
        text += " samples of a model; its interval leaves them out"
        yield ResultNote("resamples-lost", text)


def mlcps_result(
    given: MetricValues, options: MlcpsOptions, said: Input, *, other: MetricValues | None
) -> Document:
    """Rank the models by MLcps, or by desirability if goals are given.

    Errors: UsageError and DataError of `make_scales`; UsageError where weights are to be varied and
    there is no polygon; DataError when `other` has fewer than two of the models.
    """
    options = options.expand_globs(given.metrics)
    scales, notes = make_scales(given, options)
    level = None if options.interval == "none" else options.level
    check_reference(options.reference, level, options.margin, ("mlcps", "desirability"))
    if options.reference is not None:
        if options.reference not in given.models:
            raise unknown_model_error("--reference", options.reference, given.models)
        if given.replicates is None:
            what = f"{OPTION}--reference{END} needs predictions, and this is a table of metrics"
            raise bad_option(
                what, f"give a table of predictions with {OPTION}--from predictions{END}"
            )
    ranking = rank_models(given, scales, options)
    if options.random_weights is not None and len(scales) < RAYS:
        raise bad_option(f"{OPTION}--weight-sensitivity{END} needs {RAYS} metrics or more")
    tables, orders = ranking_tables(ranking), ranking.orders
    notes += redundancy_notes(tables["redundant"])
    of_other = []
    if other is not None:
        there = rank_models(other, apply_scales(other, scales), options, all_orders=False)
        tables["agreement"], tables["compared"], absent = compare_rankings(ranking, there)
        notes += absent
        of_other = [ResultNote(note.code, f"{other.name}: {note.message}") for note in other.notes]
    result = Document(
        command="mlcps",
        signature=ranking_signature(ranking, said, other),
        inputs=given.inputs + (other.inputs if other is not None else ()),
        parameters=ranking_parameters(ranking, other.inputs[0].name if other else None, said),
        summary={
            "models": len(given.models),
            "metrics": len(scales),
            **({} if given.prevalence is None else {"prevalence": given.prevalence}),
            "best": [given.models[i] for i in ranking.best],
            "pareto_front": int((ranking.under < 0).sum()),
            "order_dependent": orders and int(orders.dependent.sum()),
            "winners": [given.models[i] for i in orders.winners] if orders else [],
        },
        tables=tables,
        warnings=(*given.notes, *notes, *ranking_notes(ranking), *of_other),
    )
    return replace(result, answer=mlcps_answer(result, ranking.best, ranking.equal))


Splits = Mapping[str, Floats]

MOST_PAIRS = 500  # models whose dominators are all named
MOST_WEIGHED = 2000  # models whose ranks are tested under all weights


def ranking_tables(ranking: Ranking) -> dict[str, Rows]:
    """Return the tables of a ranking: the usual ones, then those of its data or options."""
    options, by_split = ranking.options, ranking.given.by_split
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
    if len(ranking.given.models) <= MOST_PAIRS:
        names = ranking.given.models
        tables["dominance"] = [
            {"model": names[i], "dominated_by": [names[j] for j in over.tolist()]}
            for i, over in enumerate(dominators(ranking.better))
            if len(over)
        ]
    if splits is not None:
        places = dense_ranks(splits["mlcps"].T).T
        tables["splits"] = [
            {
                "split": split,
                "model": model,
                **{
                    name: make_estimate(splits[name][s, i].item(), undefined=("outside_scale",))
                    for name in ("mlcps", "normalised")
                },
                "rank": int(places[s, i]) or None,
            }
            for s, split in enumerate(ranking.given.splits)
            for i, model in enumerate(ranking.given.models)
        ]
    if options.random_weights is not None:
        tables["weights"] = _weight_rows(ranking, options.random_weights)
    if ranking.compared:
        tables["comparisons"] = ranking.compared
    if options.desirability:
        tables["desirability"] = _desirability_rows(ranking)
    return tables


def _model_rows(ranking: Ranking, splits: Splits | None) -> Rows:
    models, under = ranking.given.models, ranking.under.tolist()
    ranks = ranking.ranks[ranking.main].tolist()
    first = None if ranking.first is None else ranking.first.tolist()
    spread: Sequence[Floats] = ()
    if splits is not None:  # mean, SD, and the splits with each model first
        areas = splits["mlcps"]
        sd = areas.std(axis=0, ddof=1) if len(areas) > 1 else np.full(len(models), nan)
        spread = areas.mean(axis=0), sd, (dense_ranks(areas.T) == 1).sum(axis=1)
    values: dict[str, list[list[float]]] = {}
    for name, scores in ranking.scores.items():
        values[name] = [side.tolist() for side in (scores, *ranking.limits.get(name, ()))]

    def estimate(name: str, i: int) -> Estimate:
        lacking = "missing_component" if name == "desirability" else "too_few_metrics"
        # a mean lacks metrics too where nothing has a scale; a polygon may be flat for want of
        # weights
        if len(ranking.scales) >= RAYS and name in ("normalised", "mlcps"):
            lacking = "zero_weight"
        value, *ends = (side[i] for side in values[name])
        low, high = ends or (nan, nan)
        return make_estimate(value, low, high, undefined=(lacking,))

    def row(i: int) -> Row:
        cells: dict[str, Cell] = {"model": models[i], "mlcps": estimate("mlcps", i)}
        cells |= {"rank": ranks[i] or None, **{name: estimate(name, i) for name in SCORES[1:]}}
        above = models[under[i]] if under[i] >= 0 else None
        cells |= {"pareto": above is None, "dominated_by": above}
        if ranking.options.desirability:
            cells["desirability"] = estimate("desirability", i)
            pairs = zip(ranking.options.desirability, ranking.wished[i].tolist(), strict=True)
            # each makes D 0
            cells["dealbreakers"] = [w.metric for w, d in pairs if d == 0 and w.weight > 0]
        if first is not None:
            cells["first"] = Estimate(first[i])
        if spread:
            mean, sd, wins = (part[i].item() for part in spread)
            cells["split_mean"] = make_estimate(mean, undefined=("outside_scale",))
            why = "too_few_splits" if mean == mean else "outside_scale"
            cells["split_sd"] = make_estimate(sd, undefined=(why,))
            cells["split_wins"] = int(wins)
        return cells

    return LazyRows(len(models), row)


def _rank_rows(ranking: Ranking) -> Rows:
    """Return the rank of each model by each score, and whether order or weights change it."""
    orders, k = ranking.orders, len(ranking.given.models)
    columns: dict[str, list[Any]] = {"model": list(ranking.given.models)}
    for name, ranks in ranking.ranks.items():
        if name != "normalised":  # its ranks are those of mlcps
            columns[name] = [rank or None for rank in ranks.tolist()]
    over = ("best_over_orders", "worst_over_orders", "order_dependent", "weight_dependent")
    columns |= dict.fromkeys(over, [None] * k)
    if orders is not None:
        dependent = orders.dependent.astype(object)
        dependent[~orders.dependent & ~orders.settled] = None  # unknown
        parts = (orders.best, orders.worst, dependent)
        columns |= {name: part.tolist() for name, part in zip(over, parts, strict=False)}
        if k <= MOST_WEIGHED:
            rays = ranking.d * (ranking.weights > 0)
            columns["weight_dependent"] = depends_on_weights(rays).tolist()
    return LazyRows(k, lambda i: {name: cells[i] for name, cells in columns.items()}, columns)


def _metric_rows(ranking: Ranking) -> list[Row]:
    """Return a row per ray: scale, values, and the effect of omitting or doubling it."""
    rows: list[Row] = []
    names, ranks = ranking.given.models, ranking.ranks["mlcps"]
    changes = area_changes(ranking.d * ranking.weights)
    for scale, areas in zip(ranking.scales, changes, strict=True):
        raw, (low, high) = ranking.given.values[:, scale.place], scale.span or (None, None)
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
        for key, area in zip(("without", "doubled"), areas, strict=True):
            row |= {f"winner_{key}": None, f"moved_{key}": None}
            if area is not None:
                moved = dense_ranks(area)
                # of ties the earlier leader, with their number
                first, *others = sorted(first_models(moved), key=ranks.__getitem__)
                more = f" (and {len(others)} more)" if others else ""
                row[f"winner_{key}"] = f"{names[first]}{more}"
                row[f"moved_{key}"] = int((moved != ranks).sum())
        rows.append(row)
    return rows


def _profile_rows(ranking: Ranking) -> Rows:
    """Return a row per model and ray: raw value with limits, and length before weighting."""
    scales, given, n = ranking.scales, ranking.given, len(ranking.scales)
    sides: tuple[Floats, ...] | None = None
    if given.replicates is not None:
        sides = percentile_limits(given.replicates, level=ranking.options.level)[:2]
        if given.limits is not None:
            pairs = zip(given.limits, sides, strict=True)
            sides = tuple(np.where(np.isnan(one), other, one) for one, other in pairs)

    def row(at: int) -> Row:
        i, j = divmod(at, n)
        place = scales[j].place
        value = given.values[i, place].item()
        low, high = (nan, nan) if sides is None else (side[i, place].item() for side in sides)
        cells: dict[str, Cell] = {
            "model": given.models[i],
            "metric": scales[j].metric,
            "value": make_estimate(value, low, high),
            "d": ranking.d[i, j].item(),
        }
        if given.sds is not None:  # of the raw value over splits
            sd = given.sds[i, place].item()
            cells["sd"] = sd if sd == sd else None
        return cells

    return LazyRows(len(given.models) * n, row)


def _redundant_metric_rows(ranking: Ranking) -> list[Row]:
    """Return the pairs of redundant metrics; less is better as rays, else by goal."""
    given, wishes = ranking.given, [w for w in ranking.options.desirability if w.weight > 0]
    lower = {wish.metric: wish.goal == "minimize" for wish in wishes}
    used = {*lower, *(scale.metric for scale in ranking.scales if scale.weight > 0)}
    lower |= {scale.metric: scale.best == "min" for scale in ranking.scales}
    places = [place for place, metric in enumerate(given.metrics) if metric in used]
    less = [metric for metric, yes in lower.items() if yes]
    return redundant_rows([given.metrics[place] for place in places], given.values[:, places], less)


def _weight_rows(ranking: Ranking, draws: int) -> list[Row]:
    """Return per model the share of random weights with which it is first."""
    rays, options = ranking.d * (ranking.weights > 0), ranking.options
    wins = winner_shares(rays, draws=draws, rng=random_stream(options.seed, "weights"))
    shares = (proportion_estimates(part, draws, "no_draws", level=options.level) for part in wins)
    names = ("share", "share_order_free")
    return rows_from_columns(
        {"model": ranking.given.models, **dict(zip(names, shares, strict=True))}
    )


def _desirability_rows(ranking: Ranking) -> Rows:
    given, wishes = ranking.given, ranking.options.desirability
    places = [given.metrics.index(wish.metric) for wish in wishes]

    def row(at: int) -> Row:
        i, j = divmod(at, len(wishes))
        d = ranking.wished[i, j].item()
        return {
            "model": given.models[i],
            "metric": wishes[j].metric,
            "goal": wishes[j].described(),
            "value": given.values[i, places[j]].item(),
            "d": Estimate(d),
            "weight": wishes[j].weight,
            "dealbreaker": d == 0 and wishes[j].weight > 0,
        }

    return LazyRows(len(given.models) * len(wishes), row)
