"""Tune-jpt runs for tests of views, of models given by their four counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl

import clfeval
from clfeval.api.result import Result

ORDER = (
    "tar",
    "tor",
    "ppv",
    "npv",
    "ppv_odds",
    "npv_odds",
    "epa",
    "f_beta",
    "f_odds",
    "mcc",
    "ic",
    "sensitivity",
    "specificity",
    "j_index",
    "phi",
    "delta",
    "lr_pos",
    "lr_neg",
    "dor",
    "dp",
    "expected_cost",
    "net_benefit",
)
Counts = tuple[int, int, int, int]  # tp, fp, fn, tn
# of 600 positives and 400 negatives: sensitivities .67 .69 .85, specificities .95 .85 .7
MODELS: Mapping[str, Counts] = {
    "anti-CCP": (402, 20, 198, 380),
    "RF": (414, 60, 186, 340),
    "triage": (510, 120, 90, 280),
}


def tuned(
    models: Mapping[str, Counts] = MODELS,
    *,
    targets: Sequence[str] = ("1:100", "1:1000"),
    uncertain: bool = True,
    **options: Any,
) -> Result:
    """Return the result of a request, computed once.

    scores: .9 and .1 instead of labels; slices: names of parts with equal rows; uncertain: the
    prevalence from .001 to .02, and of Beta(2, 98). Models of different totals are given as counts.
    """
    return _tuned(tuple(models.items()), tuple(targets), uncertain, tuple(options.items()))


@cache
def _tuned(
    models: tuple[tuple[str, Counts], ...],
    targets: tuple[str, ...],
    uncertain: bool,
    options: tuple[tuple[str, Any], ...],
) -> Result:
    given = dict(options)
    scores, slices = given.pop("scores", True), given.pop("slices", ())
    prevalence = [*targets, *(["0.001..0.02"] if uncertain else [])]
    given |= {"prevalence": prevalence, "prevalence_beta": (2, 98) if uncertain else None}
    if len({(tp + fn, fp + tn) for _, (tp, fp, fn, tn) in models}) > 1:
        return clfeval.tune_jpt(counts=dict(models), **given)
    (tp, fp, fn, tn), yes, no = models[0][1], 0.9 if scores else 1, 0.1 if scores else 0
    columns: dict[str, list[Any]] = {
        name: [yes] * tp + [no] * fn + [yes] * fp + [no] * tn for name, (tp, fp, fn, tn) in models
    }
    frame = pl.DataFrame({"truth": [1] * (tp + fn) + [0] * (fp + tn), **columns})
    if slices:
        frame = pl.concat(frame.with_columns(site=pl.lit(name)) for name in slices)
        given["by"] = "site"
    return clfeval.tune_jpt(frame, truth="truth", **given)
