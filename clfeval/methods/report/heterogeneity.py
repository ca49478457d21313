"""How much measures differ between slices, such as sites, and what a new one has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import hypot

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.evaluated_rows import Facets, facet_of, is_binned
from clfeval.document import Answer
from clfeval.document.cells import (
    EMPTY_ROW,
    Estimate,
    Row,
    as_estimate,
    as_row,
    cell_text,
    cell_value,
)
from clfeval.formatting import format_count, format_number, format_p_value, quote_if_ambiguous
from clfeval.inference.heterogeneity import FEWEST, random_effects
from clfeval.inference.proportions import holm
from clfeval.measures.catalog import CATALOG

Map = Callable[[Floats], Floats]


def _expit(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


# of each measure: the scale on which it is about normal, its derivative, and the way back
SCALES: Mapping[str, tuple[Map, Map, Map]] = {
    "roc_auc": (lambda x: np.log(x / (1 - x)), lambda x: 1 / (x * (1 - x)), _expit),
    "oe_ratio": (np.log, lambda x: 1 / x, np.exp),
    "calibration_slope": (np.asarray, np.ones_like, np.asarray),
}


def heterogeneity_rows(rows: Sequence[Row], facets: Facets, level: float | None) -> list[Row]:
    """Return means over the slices of each facet, by measure and model; none without intervals.

    rows: of table `measures`. Of ROC AUC on the logit scale, of the O:E ratio on the log scale, of
    the calibration slope as it is, with standard errors (and bounds, added in quadrature) by the
    delta method. Slices without a standard error, or with an area of 0 or 1, are left out; at least
    three are needed, five for the prediction interval. Bins of a number are ordered: a new one is
    no draw from the same distribution, so they have no rows.
    Source: Debray et al. 2017, BMJ 356:i6460.
    """
    labels = {cell_text(row["slice"]) for row in rows if row["slice"] is not None}
    binned = {facet_of(label, facets) for label in labels if is_binned(label)}
    slice_values = dict[tuple[tuple[str, ...], str, str], list[tuple[float, float]]]()
    for row in rows if level is not None else ():
        value, name, error = as_estimate(row["value"]).value, row["measure"], row["se"]
        if row["slice"] is None or name not in SCALES or value is None or not error:
            continue
        if name == "calibration_slope" or (value > 0 and (name != "roc_auc" or value < 1)):
            key = facet_of(cell_text(row["slice"]), facets), name, row["model"]
            if key[0] in binned:
                continue
            total_error = hypot(cell_value(error) or 0.0, cell_value(row.get("bound")) or 0.0)
            slice_values.setdefault(key, []).append((value, total_error))
    order = sorted(slice_values, key=lambda key: (facets.index(key[0]), [*SCALES].index(key[1])))
    return [*_rows(slice_values, order, level or 0.95)]


def _rows(
    slice_values: Mapping[tuple[tuple[str, ...], str, str], Sequence[tuple[float, float]]],
    order: Sequence[tuple[tuple[str, ...], str, str]],
    level: float,
) -> Iterator[Row]:
    for key in order:
        if len(slice_values[key]) < FEWEST:
            continue
        names, measure, model = key
        values, errors = np.array(slice_values[key]).T
        scale, slope, back = SCALES[measure]
        groups = random_effects(scale(values), errors * slope(values), level=level)
        mean = Estimate(*back(np.array([groups.mean, groups.low, groups.high])).tolist())
        prediction = Estimate(None, reason="too_few_slices")
        if groups.new_low is not None and groups.new_high is not None:
            limits = back(np.array([groups.new_low, groups.new_high])).tolist()
            prediction = Estimate(mean.value, *limits)
        yield as_row(
            {
                "by": "*".join(names),
                "measure": measure,
                "model": model,
                "slices": groups.groups,
                "mean": mean,
                "prediction": prediction,
                "tau": Estimate(groups.tau, groups.tau_low, groups.tau_high),
                "i2": None if np.isnan(groups.i2) else groups.i2,
                "statistic": groups.q,
                "p": groups.p,
            }
        )


def heterogeneity_answer(rows: Sequence[Row], models: Sequence[str], level: float) -> list[Answer]:
    """Return the sentence on the most significant heterogeneity of a tested model, if there is one.

    rows: of table `heterogeneity`; p adjusted by Holm's rule over its rows of these models.
    """
    tested = [row for row in rows if row["model"] in models]
    adjusted = holm([cell_value(row["p"]) or 0.0 for row in tested])
    p, row = min(
        zip(adjusted, tested, strict=True), key=lambda pair: pair[0], default=(1.0, EMPTY_ROW)
    )
    if not p < 1 - level:
        return []
    model, title = row["model"], CATALOG[row["measure"]].title
    groups = cell_value(row["slices"]) or 0
    text = f"Between {format_count(groups, 'value')} of {row['by']}, the {title} of "
    text += f"{quote_if_ambiguous(model)} differs (I² {format_number(cell_value(row['i2']) or 0.0)}"
    text += f", adjusted {format_p_value(p)})"
    new = as_estimate(row["prediction"])
    if new.low is not None and new.high is not None:
        text += f"; at a new one, expect {format_number(new.low)} to {format_number(new.high)}"
    return [
        Answer("heterogeneity", f"{text}.", (model,), row["measure"], new.value, new.low, new.high)
    ]
