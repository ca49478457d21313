"""The rows of models on the first screen, and of confusion matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from clfeval.arrays import Counts
from clfeval.compare.families import BestSet
from clfeval.counts.patterns import CELLS, from_units
from clfeval.counts.sample import Sample
from clfeval.document.cells import CellsByColumn, Estimate, Row, as_row
from clfeval.methods.measurement.measure_rows import has_scored_model
from clfeval.methods.measurement.requested_measures import HARD, OF_SCORES
from clfeval.methods.report import comparisons
from clfeval.methods.report.scores import negative_name


def model_rows(
    measures: Sequence[Row],
    names: Sequence[str],
    best_set: BestSet | None,
    further_cells: Callable[[str | None, str], CellsByColumn] = lambda *_: {},
) -> list[Row]:
    """Return the rows of the first screen: one per model and slice."""
    values_by_row: dict[tuple[Any, Any], dict[str, Any]] = {}
    for row in measures:
        values = values_by_row.setdefault((row["slice"], row["model"]), {})
        if row["estimator"] in comparisons.ESTIMATORS:
            values[row["measure"]] = row["value"]
    undefined = Estimate(None, reason="needs_scores")
    ties = {} if best_set is None else best_set.ties
    return [
        as_row(
            {
                "slice": label,
                "model": model,
                **further_cells(label, model),
                **{name: values.get(name, undefined) for name in names},
                "tied": None if label is not None else ties.get(model),
            }
        )
        for (label, model), values in values_by_row.items()
    ]


def confusion_rows(
    label: str | None,
    models: Sequence[str],
    classes: Sequence[str],
    tables: Counts,
    unit: float = 1,
    *,
    with_empty: bool = False,
) -> Iterator[Row]:
    """Yield the cells of confusion matrices, (k, C, C); with_empty: those without rows too."""
    for model, table in zip(models, tables, strict=True):
        totals = table.sum(axis=1)
        for i, j in np.argwhere((table != 0) | with_empty).tolist():
            yield as_row(
                {
                    "slice": label,
                    "model": model,
                    "truth": classes[i],
                    "predicted": classes[j],
                    "rows": from_units(table[i, j], unit).item(),
                    "share": float(table[i, j] / totals[i]) if totals[i] else None,
                }
            )


def two_class_model_rows(
    sample: Sample, measures: Sequence[Row], best_set: BestSet | None = None
) -> list[Row]:
    """Return the rows of the first screen, with thresholds and 2 x 2 tables."""
    predictions = sample.predictions

    def threshold_and_counts(label: str | None, model: str) -> Row:
        counts = sample.slices[label]
        table = counts.take([counts.models.index(model)])
        labels_are_known = predictions is None or predictions.knows_labels(label, model)
        return as_row(
            {
                "threshold": sample.thresholds.get(model),
                **{
                    name: table.display_units(name)[0].item()
                    if labels_are_known and (name != "tn" or sample.counts_negatives)
                    else None
                    for name in CELLS
                },
            }
        )

    names = (*OF_SCORES, *HARD) if has_scored_model(sample) else HARD
    return model_rows(measures, names, best_set, threshold_and_counts)


def two_class_confusion_rows(sample: Sample) -> list[Row]:
    """Return the cells of the confusion matrices of models with labels or a threshold."""
    rows = list[Row]()
    classes = (sample.positive, negative_name(sample))
    for label, counts in sample.slices.items():
        tp, fn, fp, tn = (counts.display_units(name) for name in ("tp", "fn", "fp", "tn"))
        if not sample.counts_negatives:
            tn = np.zeros_like(tp)
        tables = np.array([[tp, fn], [fp, tn]]).transpose(2, 0, 1)
        rows += [
            row
            for row in confusion_rows(label, counts.models, classes, tables, with_empty=True)
            if sample.predictions is None or sample.predictions.knows_labels(label, row["model"])
        ]
    if sample.counts_negatives:
        return rows
    negative = classes[1]
    return [
        as_row({**row, "share": None}) if row["truth"] == negative else row
        for row in rows
        if (row["truth"], row["predicted"]) != (negative, negative)
    ]
