"""Limits on how far a value exceeds its mean under perfect calibration: `ici.excess=0.03`.

Distances from calibration are above 0 for calibrated models too, by an amount that depends on the
number of rows; a limit on the excess over this amount does not.
"""

from __future__ import annotations

from collections.abc import Mapping

from clfeval.compare.gates.limit_tests import NOT_SIGNIFICANT, GateDraft, value_gate
from clfeval.document import Document, Gate
from clfeval.document.cells import EMPTY_ROW, Cell, Estimate, as_estimate, cell_value
from clfeval.errors import UsageError, list_names
from clfeval.measures.catalog import CATALOG
from clfeval.placeholders import END, OPTION
from clfeval.records import replace

EXCESS = "excess"
UNKNOWN = "no_calibrated_mean"  # the reason where nothing was simulated


def excess_gates(
    result: Document, draft: GateDraft, cells: Mapping[str, Cell], slice_name: str | None
) -> list[Gate]:
    """Return the gates of values less their means under perfect calibration; cells: by model.

    An upper limit is missed only where the value is also significantly above that mean, at the
    level of the result: of calibrated models at most 1 - level miss it, however few rows there are.
    slice_name: None for the whole table. Undefined without such a mean; UsageError for a
    measure that has none.
    """
    _check_measure(draft)
    row_of_model = {
        row["model"]: row
        for row in result.tables.get("measures", ())
        if (row["measure"], row["slice"]) == (draft.metric, slice_name)
    }
    gates = list[Gate]()
    for model, cell in cells.items():
        row = row_of_model.get(model, EMPTY_ROW)
        excess = _excess(as_estimate(cell), cell_value(row.get("calibrated_mean")))
        gate = value_gate(draft, model, slice_name, excess)
        p = cell_value(row.get("p"))
        if not gate.passed and gate.value is not None and p is not None and not draft.kind.lower:
            is_significant = p < 1 - draft.level
            reason = None if is_significant else NOT_SIGNIFICANT
            gate = replace(gate, p=p, passed=not is_significant, reason=reason)
        gates.append(gate)
    return gates


def _check_measure(draft: GateDraft) -> None:
    """Raise UsageError for a measure without a mean under perfect calibration."""
    measure = CATALOG.get(draft.metric.partition(":")[0])
    if measure is None or measure.interval != "null":
        names = [name for name, simulated in CATALOG.items() if simulated.interval == "null"]
        message = f"{OPTION}--{draft.limit.kind}{END}: '{draft.metric}' has no mean under perfect "
        message += "calibration"
        raise UsageError.new(message, "bad-gate", hint=f"these have one: {list_names(names)}")


def _excess(estimate: Estimate, mean: float | None) -> Estimate:
    """Return a value less its mean under perfect calibration, or why there is none."""
    if estimate.value is None:
        return Estimate(None, reason=estimate.reason)
    if mean is None:
        return Estimate(None, reason=UNKNOWN)
    return Estimate(estimate.value - mean)
