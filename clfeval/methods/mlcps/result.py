"""From metrics of models to the Result of mlcps: tables, notes, settings and signature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from clfeval.document import Document, ResultNote
from clfeval.errors import bad_option, list_names, unknown_model
from clfeval.measures.catalog import measure_of_column
from clfeval.methods.mlcps.answer import mlcps_answer
from clfeval.methods.mlcps.metric_values import MetricValues
from clfeval.methods.mlcps.options import MlcpsOptions
from clfeval.methods.mlcps.ranking import Ranking, rank_models
from clfeval.methods.mlcps.robustness import compare_rankings, redundancy_notes
from clfeval.methods.mlcps.scale import RAYS, apply_scales, make_scales
from clfeval.methods.mlcps.tables import ranking_tables
from clfeval.methods.options import check_reference
from clfeval.methods.provenance import build_parameters, build_signature, format_thresholds


def ranking_parameters(ranking: Ranking, compare: str | None, said: Any) -> dict[str, Any]:
    """Return the settings of the score; those of reading predictions are in the signature."""
    options, given, orders, scales = ranking.options, ranking.given, ranking.orders, ranking.scales
    found = {
        "from": options.source, "metrics": [s.metric for s in scales],
        "weights": {s.metric: s.weight for s in scales},
        "directions": {s.metric: s.best for s in scales},
        "scales": {s.metric: s.span and [*s.span] for s in scales},
        "ranked_by": ranking.main,
        "orders": orders and {"looked_at": orders.looked_at, "all": orders.everything},
        "draws": options.random_weights,
        "desirability": {w.metric: w.as_dict() for w in options.desirability} or None,
        "compare": compare, "interval": "none" if given.replicates is None else options.interval,
        "resamples": given.resamples, "positive": given.positive,
    }  # fmt: skip
    order = (
        "from metrics weights directions scales zero_weight ranked_by orders draws desirability "
        "compare reference margin missing interval level resamples seed positive"
    )
    return build_parameters(order, found, options, said, without="by cluster")


def ranking_signature(ranking: Ranking, said: Any, other: MetricValues | None) -> str:
    """Return the settings that change numbers, and the hashes of file and statistics."""
    options, given = ranking.options, ranking.given
    resampled = given.replicates is not None
    drawn = (
        resampled or options.random_weights or (ranking.orders and not ranking.orders.everything)
    )
    weights = {name: w for name in given.metrics if (w := options.weight.get(name, 1.0)) != 1}
    found = {
        "cmd": "mlcps", "from": options.source, "pos": given.positive,
        "cut": format_thresholds(given.thresholds) if given.positive is not None else None,
        "metrics": ",".join(given.metrics), "weights": _format_pairs(weights),
        "zero": "ray" if options.zero_weight == "ray" and 0 in weights.values() else None,
        "less": ",".join(s.metric for s in ranking.scales if s.best == "min"),
        "scale": _format_pairs({s.metric: s.span for s in ranking.scales if s.span is not None}),
        "wish": ";".join(
            " ".join([wish.metric, *(f"{name}={value}" for name, value in wish.as_dict().items())])
            for wish in options.desirability
        ),
        "draws": options.random_weights and f"{options.random_weights}-{options.level!r}",
        "compare": "yes" if other is not None else None, "miss": said.missing,
        "ci": f"bootstrap-{options.level!r}-{options.resamples or 'auto'}" if resampled else None,
        "seed": options.seed if drawn else None,
    }  # fmt: skip
    inputs, statistics = given.inputs, given.statistics
    if other is not None:
        inputs += other.inputs
        statistics = sha256(f"{statistics}{other.statistics}".encode()).hexdigest()
    return build_signature(
        "cmd from pos cut metrics weights zero less scale wish draws compare ref margin miss ci "
        "seed", found, options, said, files=inputs, statistics=statistics,
    )  # fmt: skip


def _format_pairs(values: dict[str, Any]) -> str:
    return ",".join(
        f"{name}={':'.join(map(repr, value)) if isinstance(value, tuple) else repr(value)}"
        for name, value in values.items()
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
    given: MetricValues, options: MlcpsOptions, said: Any, *, other: MetricValues | None
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
            raise unknown_model("--reference", options.reference, given.models)
        if given.replicates is None:
            what = "--reference needs predictions, and this is a table of metrics"
            raise bad_option(what, "give a table of predictions with --from predictions")
    ranking = rank_models(given, scales, options)
    if options.random_weights is not None and len(scales) < RAYS:
        raise bad_option(f"--weight-sensitivity needs {RAYS} metrics or more")
    tables, orders = ranking_tables(ranking), ranking.orders
    notes += redundancy_notes(tables["redundant"])
    of_other = []
    if other is not None:
        there = rank_models(other, apply_scales(other, scales), options, all_orders=False)
        tables["agreement"], tables["compared"], absent = compare_rankings(ranking, there)
        notes += absent
        of_other = [ResultNote(note.code, f"{other.name}: {note.message}") for note in other.notes]
    result = Document(
        command="mlcps", signature=ranking_signature(ranking, said, other),
        inputs=given.inputs + (other.inputs if other is not None else ()),
        parameters=ranking_parameters(ranking, other.inputs[0].name if other else None, said),
        summary={
            "models": len(given.models), "metrics": len(scales),
            **({} if given.prevalence is None else {"prevalence": given.prevalence}),
            "best": [given.models[i] for i in ranking.best],
            "pareto_front": int((ranking.under < 0).sum()),
            "order_dependent": orders and int(orders.dependent.sum()),
            "winners": [given.models[i] for i in orders.winners] if orders else [],
        },
        tables=tables,
        warnings=(*given.notes, *notes, *ranking_notes(ranking), *of_other),
    )  # fmt: skip
    return replace(result, answer=mlcps_answer(result, ranking.best, ranking.equal))
