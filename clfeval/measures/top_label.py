"""Confidence measures of the most probable of C classes.

As for two classes, with the largest probability and whether its class is the true one (`truth`, `p`
and `n` as in `class_scores`); of equal probabilities the earlier class is predicted.
Source: Guo, Pleiss, Sun and Weinberger 2017, ICML 34:1321.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from clfeval.arrays import Counts, Floats, Ints
from clfeval.measures import calibration, selective
from clfeval.measures.record import MulticlassDefinition
from clfeval.measures.scored import check_probabilities

MeasureFunction = Callable[..., Floats]


def top_label_measure(
    measure: MeasureFunction, truth: Ints, p: Floats, n: Counts, **given: Any
) -> Floats:
    """Return a measure of a probability, and of how many rows have it rightly and wrongly, (...).

    Errors: ValueError for probabilities outside 0..1.
    """
    each = check_probabilities(p)
    largest = each.max(axis=1)
    order = np.argsort(largest, kind="stable")
    right = (each.argmax(axis=1) == truth)[order]
    counts = n[..., order]
    return measure(largest[order], counts * right, counts * ~right, **given)


def _top_label_definition(measure: MeasureFunction, *takes: str) -> MulticlassDefinition:
    return MulticlassDefinition(
        partial(top_label_measure, measure), None, ("too_few_rows",), takes=takes
    )


# what measures of two classes are of the most probable of more, by id
OF_TOP: Mapping[str, MulticlassDefinition] = {
    "ece": _top_label_definition(calibration.ece, "bins"),
    "mce": _top_label_definition(calibration.mce, "bins"),
    "ece_debiased": _top_label_definition(calibration.ece_debiased, "bins", "row"),
    "aurc": _top_label_definition(selective.mean_risk),
    "selective_accuracy": _top_label_definition(selective.confident_accuracy, "coverage"),
}
