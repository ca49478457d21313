"""Values of measures of the catalogue, by their names."""

from __future__ import annotations

from typing import Any

from clfeval.arrays import Floats
from clfeval.measures.catalog import CATALOG


def measure_value(name: str, *counts: Any, **settings: Any) -> float:
    """Return a measure of scores, and of positives and negatives at each."""
    return float(CATALOG[name].with_settings(**settings).function(*counts))


def multiclass_value(name: str, *counts: Any, **settings: Any) -> Floats:
    """Return a measure of many classes: of their table, or of truth, probabilities and weights."""
    form = CATALOG[name].with_settings(**settings).classes
    assert form is not None
    assert form.compute is not None
    return form.compute(*counts)
