"""The metrics view: a number for each model and measure, for programs that compare such files."""

from __future__ import annotations

from clfeval.baseline.models import rows_by_label
from clfeval.document import Document, cell_value, dumps


def as_metrics(result: Document) -> str:
    """Return `{model: {measure: value}}` as JSON, of the measures that gates can name.

    Values are unrounded; undefined and infinite ones are left out, as `dvc metrics` requires.
    """
    models = {
        label: {name: value for name, cell in row.items()
                if not isinstance(cell, bool) and (value := cell_value(cell)) is not None}
        for label, row in rows_by_label(result).items()
    }  # fmt: skip
    lines = [f"{dumps(label)}: {dumps(measures)}" for label, measures in models.items()]
    return "{\n  " + ",\n  ".join(lines) + "\n}\n" if lines else "{}\n"
