"""What an mlcps Result says beside its tables: settings, summary, signature."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from clfeval.methods.document import cuts_in_force, parameters, signature
from clfeval.methods.mlcps.given import Given
from clfeval.methods.mlcps.ranking import Ranking
from clfeval.methods.mlcps.wishes import Wish


def parameters_of(ranking: Ranking, compare: str | None, said: Any) -> dict[str, Any]:
    """Return the settings of the score; how predictions were read stands in the signature."""
    options, given, orders = ranking.options, ranking.given, ranking.orders
    found = {
        "from": options.source,
        "metrics": [scale.metric for scale in ranking.scales],
        "weights": {scale.metric: scale.weight for scale in ranking.scales},
        "directions": {scale.metric: scale.best for scale in ranking.scales},
        "scales": {
            scale.metric: None if scale.low is None else [scale.low, scale.high]
            for scale in ranking.scales
        },
        "ranked_by": ranking.main,
        "orders": None
        if orders is None
        else {"looked_at": orders.looked_at, "all": orders.everything},
        "draws": options.drawn,
        "desirability": {w.metric: w.as_dict() for w in options.desirability} or None,
        "compare": compare,
        "interval": "none" if given.replicates is None else "bootstrap",
        "resamples": given.resamples,
        "positive": given.positive,
    }
    order = (
        "from metrics weights directions scales zero_weight ranked_by orders draws desirability "
        "compare missing interval level resamples seed positive"
    )
    return parameters(order, found, options, said, without="by")


def summary_of(ranking: Ranking) -> dict[str, Any]:
    """Return who is first, and how firmly."""
    names, orders = ranking.given.models, ranking.orders
    return {
        "models": len(names),
        "metrics": len(ranking.scales),
        "best": [names[i] for i in ranking.best],
        "pareto_front": int(ranking.on_front.sum()),
        "order_dependent": None if orders is None else int(orders.dependent.sum()),
        "winners": [] if orders is None else [names[i] for i in orders.winners],
    }


def signature_of(ranking: Ranking, said: Any, other: Given | None) -> str:
    """Return the settings that change numbers, and the hashes of file and statistics."""
    options, given = ranking.options, ranking.given
    resampled = given.replicates is not None
    drawn = resampled or options.drawn or (ranking.orders and not ranking.orders.everything)
    weights = {name: w for name in given.metrics if (w := options.weight.get(name, 1.0)) != 1}
    found = {
        "cmd": "mlcps",
        "from": options.source,
        "pos": given.positive,
        "cut": cuts_in_force(given.thresholds) if given.positive is not None else None,
        "metrics": ",".join(given.metrics),
        "weights": _pairs(weights),
        "zero": "ray" if options.zero_weight == "ray" and 0 in weights.values() else None,
        "less": ",".join(s.metric for s in ranking.scales if s.best == "min"),
        "scale": _pairs({s.metric: (s.low, s.high) for s in ranking.scales if s.low is not None}),
        "wish": ";".join(f"{w.metric} {_wish(w)}" for w in options.desirability),
        "draws": options.drawn and f"{options.drawn}-{options.level!r}",
        "compare": "yes" if other is not None else None,
        "miss": said.missing,
        "ci": f"bootstrap-{options.level!r}-{options.resamples or 'auto'}" if resampled else None,
        "seed": options.seed if drawn else None,
    }
    inputs, statistics = given.inputs, given.statistics
    if other is not None:
        inputs += other.inputs
        statistics = sha256(f"{statistics}{other.statistics}".encode()).hexdigest()
    return signature(
        "cmd from pos cut metrics weights zero less scale wish draws compare miss ci seed",
        found, options, said, files=inputs, statistics=statistics,
    )  # fmt: skip


def _wish(wish: Wish) -> str:
    """Write everything a wish says."""
    return " ".join(f"{name}={value}" for name, value in wish.as_dict().items())


def _pairs(values: dict[str, Any]) -> str:
    return ",".join(
        f"{name}={':'.join(map(repr, value)) if isinstance(value, tuple) else repr(value)}"
        for name, value in values.items()
    )
