"""Two metric tables of the same models, and metrics that say the same twice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.document import Estimate, ResultWarning, Row
from clfeval.errors import DataError, list_names
from clfeval.inference.agreement import kendall_tau_b, spearman
from clfeval.measures.catalog import equivalence_formula
from clfeval.methods.estimates import make_estimate
from clfeval.methods.mlcps.ranking import Ranking, dense_ranks, first_models

CLOSE = 0.999  # |r| over models, above which two metrics are one
FEWEST = 3  # models: two points always lie on a line
ENOUGH_MODELS = 4  # models: of three, one pair in 35 lies that close to a line by chance


def redundant_rows(metrics: Sequence[str], values: Floats, less: Collection[str] = ()) -> list[Row]:
    """Return the pairs of metrics that are identical, one measure in two forms, or |r| > .999.

    r is Pearson's over at least three models, undefined for constant metrics, with the sign of the
    rays: `less` names the metrics of which less is better.

    Shapes: values (k, n), raw.
    """
    k, n = values.shape
    r = _correlations(values) if k >= FEWEST else np.full((n, n), np.nan)
    sign = np.array([-1 if metric in less else 1 for metric in metrics])
    over = "models" if k >= ENOUGH_MODELS else "three models only"
    rows: list[Row] = []
    for i, j in combinations(range(n), 2):
        same = bool((values[:, i] == values[:, j]).all())
        words = equivalence_formula(metrics[i], metrics[j])
        number = None if np.isnan(r[i, j]) else float(r[i, j])
        if same:
            why, note = "identical", words or "equal values for every model"
        elif words:
            why, note = "same measure", words
        elif number is not None and abs(number) > CLOSE:
            why, note = "correlated", f"r = {number:.5f} over {over}"
        else:
            continue
        if sign[i] * sign[j] * (1.0 if same else number or 0.0) < -CLOSE:
            why = "opposite"
            note += "; one gets better as the other gets worse"
        rows.append(
            {"first": metrics[i], "second": metrics[j], "why": why, "r": number, "note": note}
        )
    return rows


def redundancy_notes(rows: Sequence[Row]) -> Iterator[ResultWarning]:
    """Return notes on metrics that count twice, and on opposite ones."""
    for opposite, words in (
        (False, "are redundant and count double"),
        (True, "are opposite and offset each other"),
    ):
        found = [row for row in rows if (row["why"] == "opposite") == opposite]
        if found:
            pairs = [f"'{row['first']}' and '{row['second']}'" for row in found[:3]]
            more = f", and {len(found) - 3} more pairs" if len(found) > 3 else ""
            yield ResultWarning("redundant", f"{', '.join(pairs)}{more} {words}")


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
    here: Ranking, there: Ranking
) -> tuple[list[Row], list[Row], list[ResultWarning]]:
    """Return the agreement by each score and metric, both ranks of each model, and missing models.

    Only models of both tables are compared; their ranks are those among them.
    Errors: DataError when fewer than two models are in both.
    """
    others = {name: i for i, name in enumerate(there.given.models)}
    ours = [i for i, name in enumerate(here.given.models) if name in others]
    names = [here.given.models[i] for i in ours]
    theirs = [others[name] for name in names]
    if len(names) < 2:
        what = f"{len(names)} of its models {'is' if names else 'are'} also in {here.given.name}"
        hint = (
            f"models here: {list_names(here.given.models)}; there: {list_names(there.given.models)}"
        )
        raise DataError.new(what, "different-models", there.given.name, hint=hint)
    known = [
        name for name in ("mlcps", "order_free", "mean", "desirability") if name in here.scores
    ]
    scores = {name: (here.scores[name][ours], there.scores[name][theirs]) for name in known}
    agreement = [_agreement_row(names, name, *both) for name, both in scores.items()]
    agreement += [  # the scales of both are the same, in the same order
        _agreement_row(names, scale.metric, here.d[ours, i], there.d[theirs, i])
        for i, scale in enumerate(here.scales)
    ]
    return (
        agreement,
        _rank_rows(names, *scores[here.main]),
        _missing_model_notes(here, there, set(names)),
    )


def _agreement_row(names: Sequence[str], measure: str, here: Floats, there: Floats) -> Row:
    ranks = [dense_ranks(column) for column in (here, there)]
    tops = [[names[i] for i in first_models(column)] for column in ranks]
    return {
        "measure": measure, "models": len(names), "kendall": _coefficient(kendall_tau_b, *ranks),
        "spearman": _coefficient(spearman, *ranks), "top_here": tops[0], "top_there": tops[1],
        "same_top": tops[0] == tops[1] and bool(tops[0]),
    }  # fmt: skip


def _coefficient(function: Callable[[Ints, Ints], float], here: Ints, there: Ints) -> Estimate:
    """Return a coefficient of two rankings: what ranks call a tie is one here too."""
    if not (here.all() and there.all()):
        return Estimate(None, reason="too_few_metrics")
    return make_estimate(float(function(here, there)), undefined=("constant",))


def _rank_rows(names: Sequence[str], here: Floats, there: Floats) -> list[Row]:
    ranks = [dense_ranks(column).tolist() for column in (here, there)]
    return [
        {
            "model": name, "here": make_estimate(x, undefined=("too_few_metrics",)),
            "there": make_estimate(y, undefined=("too_few_metrics",)), "rank_here": a or None,
            "rank_there": b or None, "moved": b - a if a and b else None,
        }
        for name, x, y, a, b in zip(names, here.tolist(), there.tolist(), *ranks, strict=True)
    ]  # fmt: skip


def _missing_model_notes(
    here: Ranking, there: Ranking, names: Collection[str]
) -> list[ResultWarning]:
    parts = []
    for where, ranking in (("here", here), ("there", there)):
        if alone := [name for name in ranking.given.models if name not in names]:
            parts.append(f"models only {where}: {list_names(alone, 5)}")
    return [ResultWarning("different-models", f"not compared: {'; '.join(parts)}")] if parts else []
