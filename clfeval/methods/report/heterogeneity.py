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


def heterogeneity_rows(
    measure_rows: Sequence[Row], facets: Facets, level: float | None
) -> list[Row]:
    """Return means over the slices of each facet, by measure and model; none without intervals.

    measure_rows: of table `measures`. Of ROC AUC on the logit scale, of the O:E ratio on the log
    scale, of the calibration slope as it is, with standard errors (and bounds, added in
    quadrature) by the delta method. Slices without a standard error, or with an area of 0 or 1, are
    left out; at least three are needed, five for the prediction interval. Bins of a number are
    ordered: a new one is no draw from the same distribution, so they have no rows.
    Source: Debray et al. 2017, BMJ 356:i6460.
    """
    slice_names = {cell_text(row["slice"]) for row in measure_rows if row["slice"] is not None}
    binned_facets = {
        facet_of(slice_name, facets) for slice_name in slice_names if is_binned(slice_name)
    }
    # values and errors by facet, measure and model
    slice_values = dict[tuple[tuple[str, ...], str, str], list[tuple[float, float]]]()
    for row in measure_rows if level is not None else ():
        value, measure_id, error = as_estimate(row["value"]).value, row["measure"], row["se"]
        if row["slice"] is None or measure_id not in SCALES or value is None or not error:
            continue
        if measure_id == "calibration_slope" or (
            value > 0 and (measure_id != "roc_auc" or value < 1)
        ):
            facet = facet_of(cell_text(row["slice"]), facets)
            if facet in binned_facets:
                continue
            key = facet, measure_id, row["model"]
            total_error = hypot(cell_value(error) or 0.0, cell_value(row.get("bound")) or 0.0)
            slice_values.setdefault(key, []).append((value, total_error))
    sorted_keys = sorted(
        slice_values, key=lambda key: (facets.index(key[0]), [*SCALES].index(key[1]))
    )
    return [*_rows(slice_values, sorted_keys, level or 0.95)]


def _rows(
    slice_values: Mapping[tuple[tuple[str, ...], str, str], Sequence[tuple[float, float]]],
    sorted_keys: Sequence[tuple[tuple[str, ...], str, str]],
    level: float,
) -> Iterator[Row]:
    """Yield the row of each facet, measure and model with enough slices.

    slice_values: values and standard errors of its slices.
    """
    for key in sorted_keys:
        if len(slice_values[key]) < FEWEST:
            continue
        facet, measure_id, model = key
        values, errors = np.array(slice_values[key]).T
        to_scale, derivative, from_scale = SCALES[measure_id]
        effects = random_effects(to_scale(values), errors * derivative(values), level=level)
        mean = Estimate(*from_scale(np.array([effects.mean, effects.low, effects.high])).tolist())
        prediction = Estimate(None, reason="too_few_slices")
        if effects.new_low is not None and effects.new_high is not None:
            limits = from_scale(np.array([effects.new_low, effects.new_high])).tolist()
            prediction = Estimate(mean.value, *limits)
        yield as_row(
            {
                "by": "*".join(facet),
                "measure": measure_id,
                "model": model,
                "slices": effects.groups,
                "mean": mean,
                "prediction": prediction,
                "tau": Estimate(effects.tau, effects.tau_low, effects.tau_high),
                "i2": None if np.isnan(effects.i2) else effects.i2,
                "statistic": effects.q,
                "p": effects.p,
            }
        )


def heterogeneity_answer(rows: Sequence[Row], models: Sequence[str], level: float) -> list[Answer]:
    """Return the sentence on the most significant heterogeneity of a tested model, if there is one.

    rows: of table `heterogeneity`; p adjusted by Holm's rule over its rows of these models.
    """
    tested_rows = [row for row in rows if row["model"] in models]
    adjusted_p_values = holm([cell_value(row["p"]) or 0.0 for row in tested_rows])
    p, row = min(
        zip(adjusted_p_values, tested_rows, strict=True),
        key=lambda p_and_row: p_and_row[0],
        default=(1.0, EMPTY_ROW),
    )
    if not p < 1 - level:
        return []
    model = row["model"]
    title = CATALOG[row["measure"]].title
    slice_count = cell_value(row["slices"]) or 0
    text = f"Between {format_count(slice_count, 'value')} of {row['by']}, the {title} of "
    text += f"{quote_if_ambiguous(model)} differs (I² {format_number(cell_value(row['i2']) or 0.0)}"
    text += f", adjusted {format_p_value(p)})"
    prediction = as_estimate(row["prediction"])
    if prediction.low is not None and prediction.high is not None:
        text += f"; at a new one, expect {format_number(prediction.low)} to "
        text += format_number(prediction.high)
    return [
        Answer(
            "heterogeneity",
            f"{text}.",
            (model,),
            row["measure"],
            prediction.value,
            prediction.low,
            prediction.high,
        )
    ]
