"""The order of models by the leading measure of a report, with those tied with the best."""

from __future__ import annotations

from collections.abc import Mapping

from clfeval.records import dataclass

LEAD_OF_SCORES, LEAD_OF_LABELS = "roc_auc", "balanced_accuracy"
LEAD_WITHOUT_NEGATIVES = "f1"  # of counts without true negatives


@dataclass(frozen=True, slots=True, eq=False)
class ModelOrder:
    """Models ranked by the leading measure of a report.

    values: of all rows, by model, the best first; models without a value come last, with None.
    ties: not significantly different from the best, by model; None where it cannot be compared, and
    empty where that is not tested.
    """

    measure: str
    values: Mapping[str, float | None]
    ties: Mapping[str, bool | None]
