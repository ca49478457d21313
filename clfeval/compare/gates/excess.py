"""Limits on how far a value exceeds its mean under perfect calibration: `ici.excess=0.03`.

Distances from calibration are above 0 for calibrated models too, by an amount that depends on the
number of rows; a limit on the excess over this amount does not.
"""

from __future__ import annotations

from collections.abc import Mapping

from clfeval.compare.gates.limits import Limit
from clfeval.document import Cell, Document, Estimate, as_estimate, cell_value
from clfeval.errors import UsageError, list_names
from clfeval.measures.catalog import CATALOG
from clfeval.placeholders import END, OPTION

EXCESS = "excess"
UNKNOWN = "no_calibrated_mean"  # the reason where nothing was simulated


def excess_cells(
    result: Document, limit: Limit, metric: str, cells: Mapping[str, Cell], label: str | None
) -> dict[str, Cell]:
    """Return the values of a measure by model, less their means under perfect calibration.

    label: the slice, None for the whole table. Undefined without such a mean; UsageError for a
    measure that has none.
    """
    measure = CATALOG.get(metric.partition(":")[0])
    if measure is None or measure.interval != "null":
        names = [name for name, record in CATALOG.items() if record.interval == "null"]
        message = f"{OPTION}--{limit.kind}{END}: '{metric}' has no mean under perfect calibration"
        raise UsageError.new(message, "bad-gate", hint=f"these have one: {list_names(names)}")
    means = {
        str(row["model"]): cell_value(row.get("calibrated_mean"))
        for row in result.tables.get("measures", ())
        if (row["measure"], row["slice"]) == (metric, label)
    }
    return {model: _excess(as_estimate(cell), means.get(model)) for model, cell in cells.items()}


def _excess(estimate: Estimate, mean: float | None) -> Estimate:
    """Return a value less its mean under perfect calibration, or why there is none."""
    if estimate.value is None:
        return Estimate(None, reason=estimate.reason)
    if mean is None:
        return Estimate(None, reason=UNKNOWN)
    return Estimate(estimate.value - mean)
