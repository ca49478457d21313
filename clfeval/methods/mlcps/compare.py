"""Two metric tables of the same models, such as training and test: whether they rank alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from clfeval.errors import DataError, Problem, listing
from clfeval.inference.agreement import kendall_tau_b, spearman
from clfeval.methods.mlcps.ranking import Ranking
from clfeval.methods.mlcps.ranks import Ints, dense_ranks, firsts
from clfeval.result import Estimate, Row, Warn

Floats = NDArray[np.float64]


def compared(here: Ranking, there: Ranking) -> tuple[list[Row], list[Row], list[Warn]]:
    """Return the agreement by each score and metric, each model's two places, and who is missing.

    Only models of both tables are compared; their ranks are those among them.
    Errors: DataError when fewer than two models are in both.
    """
    others = {name: i for i, name in enumerate(there.given.models)}
    ours = [i for i, name in enumerate(here.given.models) if name in others]
    names = [here.given.models[i] for i in ours]
    theirs = [others[name] for name in names]
    if len(names) < 2:
        raise DataError(
            Problem(
                f"{len(names)} of its models {'is' if len(names) == 1 else 'are'} also in "
                f"{here.given.name}",
                "different-models",
                there.given.name,
            ),
            hint=f"models here: {listing(here.given.models)}; there: {listing(there.given.models)}",
        )
    scores = {
        name: (here.scores[name][ours], there.scores[name][theirs])
        for name in ("mlcps", "order_free", "mean", "desirability")
        if name in here.scores
    }
    agreement = [_agreement(names, name, *both) for name, both in scores.items()]
    agreement += [  # the scales of both are the same, in the same order
        _agreement(names, scale.metric, here.d[ours, i], there.d[theirs, i])
        for i, scale in enumerate(here.scales)
    ]
    return agreement, _places(names, *scores[here.main]), _absent(here, there, names)


def _agreement(names: Sequence[str], measure: str, here: Floats, there: Floats) -> Row:
    ranks = [dense_ranks(column) for column in (here, there)]
    tops = [[names[i] for i in firsts(column)] for column in ranks]
    return {
        "measure": measure,
        "models": len(names),
        "kendall": _coefficient(kendall_tau_b, *ranks),
        "spearman": _coefficient(spearman, *ranks),
        "top_here": tops[0],
        "top_there": tops[1],
        "same_top": tops[0] == tops[1] and bool(tops[0]),
    }


def _coefficient(function: Callable[[Ints, Ints], float], here: Ints, there: Ints) -> Estimate:
    """Return a coefficient of two rankings: what ranks call a tie is one here too."""
    if not (here.all() and there.all()):
        return Estimate(None, reason="too_few_metrics")
    value = float(function(here, there))
    return Estimate(value) if value == value else Estimate(None, reason="constant")


def _places(names: Sequence[str], here: Floats, there: Floats) -> list[Row]:
    ranks = [dense_ranks(column).tolist() for column in (here, there)]
    return [
        {
            "model": name,
            "here": _score(x),
            "there": _score(y),
            "rank_here": a or None,
            "rank_there": b or None,
            "moved": b - a if a and b else None,
        }
        for name, x, y, a, b in zip(names, here.tolist(), there.tolist(), *ranks, strict=True)
    ]


def _score(value: float) -> Estimate:
    return Estimate(value) if value == value else Estimate(None, reason="too_few_metrics")


def _absent(here: Ranking, there: Ranking, names: Sequence[str]) -> list[Warn]:
    both = set(names)
    parts = []
    for where, ranking in (("here", here), ("there", there)):
        alone = [name for name in ranking.given.models if name not in both]
        if alone:
            parts.append(f"only {where}: {listing(alone, 5)}")
    return [Warn("different-models", f"compared without {'; '.join(parts)}")] if parts else []
