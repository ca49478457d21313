"""What a reader of the ranking must know: how firm the first place is, and what was done to it."""

from __future__ import annotations

import numpy as np

from clfeval.errors import listing
from clfeval.measures.metric_names import measure_of
from clfeval.methods.mlcps.ranking import Ranking
from clfeval.result import Warn


def ranking_notes(ranking: Ranking) -> list[Warn]:
    """Say whether order or rounding decides who is first."""
    said: list[Warn] = []
    names, orders, best = ranking.given.models, ranking.orders, ranking.best
    if orders is not None and ranking.main == "mlcps" and len(names) > 1:
        if len(orders.winners) > 1 and set(orders.winners) != set(best):
            winners = listing([names[i] for i in orders.winners], 5)
            text = f"who is first depends on the order of the metrics: {winners}"
            said.append(Warn("order", f"{text}; order-free scores do not"))
        if not orders.everything:
            text = (
                f"{orders.looked_at:,} of all orders looked at: more ranks than these may depend "
                "on the order"
            )
            said.append(Warn("some-orders", text))
    if ranking.weights.any() and np.isnan(ranking.scores["normalised"]).all():
        text = "no two neighbours have a weight above 0: every area is 0"
        said.append(Warn("no-area", text))
    if len(best) > 1:
        said.append(Warn("tie", f"first together: {listing([names[i] for i in best], 5)}"))
    said += _wish_notes(ranking)
    if ranking.failed:
        text = (
            f"up to {ranking.failed} of {ranking.given.resamples} resamples of a model have no "
            "score (a metric undefined, or outside its scale): its interval leaves them out, and "
            "it is first in none of them"
        )
        said.append(Warn("resamples-lost", text))
    return said


def _wish_notes(ranking: Ranking) -> list[Warn]:
    """Say where a wish took its range from the catalogue, and which wishes go against it."""
    given, said = ranking.given, []
    for wish in ranking.options.wishes:
        values = given.values[:, given.metrics.index(wish.metric)]
        low, high = wish.low, wish.high
        if wish.assumed and low is not None and high is not None:
            outside = int(((values < low) | (values > high)).sum())
            if outside:
                text = (
                    f"'{wish.metric}': {outside} of {len(values)} values lie outside {low:g} to "
                    f"{high:g}, the range of the measure; give low and high in its own unit"
                )
                said.append(Warn("wish-range", text))
        measure = measure_of(wish.metric)
        against = {"maximize": "min", "minimize": "max"}.get(wish.goal)
        if measure is not None and measure.best == against:
            less = "less" if against == "min" else "more"
            text = f"'{wish.metric}' is to be {wish.goal}d, and {less} of it is better"
            said.append(Warn("wish-direction", text))
    return said
