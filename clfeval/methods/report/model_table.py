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
    measure_names: Sequence[str],
    best_set: BestSet | None,
    extra_cells: Callable[[str | None, str], CellsByColumn] = lambda *_: {},
) -> list[Row]:
    """Return the rows of the first screen: one per model and slice.

    measures: rows of the table of measures. extra_cells: of a slice and a model.
    """
    values_by_row: dict[tuple[Any, Any], dict[str, Any]] = {}
    for row in measures:
        cells_by_measure = values_by_row.setdefault((row["slice"], row["model"]), {})
        if row["estimator"] in comparisons.ESTIMATORS:
            cells_by_measure[row["measure"]] = row["value"]
    undefined = Estimate(None, reason="needs_scores")
    ties = {} if best_set is None else best_set.ties
    return [
        as_row(
            {
                "slice": slice_name,
                "model": model,
                **extra_cells(slice_name, model),
                **{measure: cells_by_measure.get(measure, undefined) for measure in measure_names},
                "tied": None if slice_name is not None else ties.get(model),
            }
        )
        for (slice_name, model), cells_by_measure in values_by_row.items()
    ]


def confusion_rows(
    slice_name: str | None,
    models: Sequence[str],
    classes: Sequence[str],
    tables: Counts,
    unit: float = 1,
    *,
    with_empty: bool = False,
) -> Iterator[Row]:
    """Yield the cells of confusion matrices (k, C, C) of models; with_empty: those of 0 rows too.

    unit: how many counts one row has.
    """
    for model, table in zip(models, tables, strict=True):
        truth_totals = table.sum(axis=1)
        for truth_index, predicted_index in np.argwhere((table != 0) | with_empty).tolist():
            count = table[truth_index, predicted_index]
            truth_total = truth_totals[truth_index]
            yield as_row(
                {
                    "slice": slice_name,
                    "model": model,
                    "truth": classes[truth_index],
                    "predicted": classes[predicted_index],
                    "rows": from_units(count, unit).item(),
                    "share": float(count / truth_total) if truth_total else None,
                }
            )


def two_class_model_rows(
    sample: Sample, measures: Sequence[Row], best_set: BestSet | None = None
) -> list[Row]:
    """Return the rows of the first screen, with thresholds and 2 x 2 tables."""
    predictions = sample.predictions

    def threshold_and_counts(slice_name: str | None, model: str) -> Row:
        slice_counts = sample.slices[slice_name]
        model_counts = slice_counts.take([slice_counts.models.index(model)])
        knows_labels = predictions is None or predictions.knows_labels(slice_name, model)
        return as_row(
            {
                "threshold": sample.thresholds.get(model),
                **{
                    cell_name: model_counts.display_units(cell_name)[0].item()
                    if knows_labels and (cell_name != "tn" or sample.counts_negatives)
                    else None
                    for cell_name in CELLS
                },
            }
        )

    measure_names = (*OF_SCORES, *HARD) if has_scored_model(sample) else HARD
    return model_rows(measures, measure_names, best_set, threshold_and_counts)


def two_class_confusion_rows(sample: Sample) -> list[Row]:
    """Return the cells of the confusion matrices of models with labels or a threshold."""
    rows = list[Row]()
    class_names = (sample.positive, negative_name(sample))
    for slice_name, counts in sample.slices.items():
        tp, fn, fp, tn = (counts.display_units(cell_name) for cell_name in ("tp", "fn", "fp", "tn"))
        if not sample.counts_negatives:
            tn = np.zeros_like(tp)
        tables = np.array([[tp, fn], [fp, tn]]).transpose(2, 0, 1)
        rows += [
            row
            for row in confusion_rows(
                slice_name, counts.models, class_names, tables, with_empty=True
            )
            if sample.predictions is None
            or sample.predictions.knows_labels(slice_name, row["model"])
        ]
    if sample.counts_negatives:
        return rows
    negative = class_names[1]
    return [
        as_row({**row, "share": None}) if row["truth"] == negative else row
        for row in rows
        if (row["truth"], row["predicted"]) != (negative, negative)
    ]
