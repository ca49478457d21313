"""The names columns go by, and which values count as classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from clfeval.errors import UsageError, listing, suggestion
from clfeval.tables.input import Input

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
METRIC_NAMES = ("metric", ".metric", "measure", "variable")
METRIC_VALUE_NAMES = ("value", ".estimate", "estimate", "score", "mean")
ESTIMATOR_NAMES = ("estimator", ".estimator")
SLICE_NAMES = ("slice", "class")
_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")


def find(columns: Iterable[str], names: Sequence[str]) -> str | None:
    """Return the column that matches the earliest of the names, case and outer spaces aside.

    Of several that match one name, the exact one, else the first.
    """
    listed = list(columns)
    loose = {column.strip().casefold(): column for column in reversed(listed)}
    loose |= {column: column for column in listed if column in names}
    return next((loose[name] for name in names if name in loose), None)


def is_index(name: str) -> bool:
    """Tell whether a column has the name that pandas or Parquet give the nameless row index."""
    return bool(_INDEX.fullmatch(name))


def match_names(
    file: str, names: Sequence[str], patterns: Sequence[str], *, what: str = "model"
) -> list[str]:
    """Resolve exact names and globs; a pattern that matches nothing is an error."""
    chosen: dict[str, None] = {}
    known = set(names)
    for pattern in patterns:
        found = [pattern] if pattern in known else [n for n in names if fnmatchcase(n, pattern)]
        if not found:
            text = f"no {what} matches '{pattern}'; {what}s: {listing(names)}"
            raise UsageError.of(text, f"unknown-{what}", file, hint=suggestion(pattern, names))
        chosen |= dict.fromkeys(found)
    return list(chosen)


BINARY = ({"0", "1"}, {"false", "true"})
PARTNERS = {"0": "1", "false": "true", "False": "True", "FALSE": "TRUE"}
PARTNERS |= {name: partner for partner, name in PARTNERS.items()}


def known_labels(classes: Iterable[str], roles: Input) -> set[str]:
    """Return truth's labels, the declared ones, and both of a pair like 0 / 1."""
    known = {*classes, *roles.labels}
    if roles.positive is not None:
        known.add(roles.positive)
    if known <= set(PARTNERS):
        known |= {PARTNERS[name] for name in known}
    return known


def natural(text: str) -> tuple[tuple[int, float, str], ...]:
    """Order text with numbers by their value: 2 before 10, fold9 before fold10."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return tuple(
        (0, float(part), part) if index % 2 else (1, 0.0, part)
        for index, part in enumerate(parts)
        if part
    )
