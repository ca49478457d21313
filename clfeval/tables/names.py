"""The column names that say what a column is, when nobody else does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

TRUTH_NAMES = ("truth", "y_true", "target", "actual", "label", "true_label")
LONG_TRUTH_NAMES = (*TRUTH_NAMES, "actual_class", "true_class")
MODEL_NAMES = ("model", "classifier", "classifier_name", "model_name", "system")
PREDICTION_NAMES = (
    "prediction", "pred_label", "predicted_class", "predicted", "pred", "y_pred",
    "score", "y_score", "probability",
)  # fmt: skip
ID_NAMES = ("id", "instance id", "instance_id", "observation_id", "row_id")
ROW_NAMES = (*ID_NAMES, "row", "doc", "document", "doc_id", "document_id", "sample", "sample_id")
FEATURE_NAMES = ("feature", "term", "token", "word")
VALUE_NAMES = ("value", "count", "frequency", "tf")
COUNT_NAMES = ("tp", "fp", "fn", "tn")


def find(columns: Iterable[str], names: Sequence[str]) -> str | None:
    """Return the column that matches the earliest of the names, case and outer spaces aside.

    Of several that match one name, the exact one, else the first.
    """
    listed = list(columns)
    loose = {column.strip().casefold(): column for column in reversed(listed)}
    loose |= {column: column for column in listed if column in names}
    return next((loose[name] for name in names if name in loose), None)
