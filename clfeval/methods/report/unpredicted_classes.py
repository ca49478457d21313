"""Classes that a model never predicts, and the class of the lowest recall."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from clfeval.arrays import Counts
from clfeval.counts.patterns import from_units
from clfeval.counts.sample import Sample
from clfeval.document import Answer, ResultNote
from clfeval.document.cells import CellsByColumn, Estimate, Row, as_estimate, cell_number
from clfeval.formatting import (
    format_count,
    format_exact,
    join_names,
    join_words,
    quote_if_ambiguous,
)
from clfeval.methods.report.scores import negative_name
from clfeval.records import dataclass

CODE = "never-predicted"
MAX_LISTED, MAX_MODELS = 3, 6  # classes and models by name


@dataclass(frozen=True, slots=True, eq=False)
class UnpredictedClasses:
    """Classes that models never predict, though truth has them; sizes: rows of each class.

    class_indices: of these classes, by model. thresholds: of the predictions, by model.
    """

    classes: Sequence[str]
    sizes: Sequence[float]
    class_indices: Mapping[str, tuple[int, ...]]
    thresholds: Mapping[str, float | None]

    @classmethod
    def from_tables(
        cls,
        models: Sequence[str],
        classes: Sequence[str],
        tables: Counts,
        unit: float = 1,
        thresholds: Mapping[str, float | None] | None = None,
    ) -> UnpredictedClasses:
        """Return those of tables (k, C, C): rows of k models by true and predicted class."""
        class_rows = from_units(tables.sum(axis=2), unit)
        is_unpredicted = (tables.sum(axis=1) == 0) & (class_rows > 0)
        class_indices = {
            model: tuple(np.flatnonzero(is_unpredicted[i]).tolist())
            for i, model in enumerate(models)
        }
        sizes = class_rows[0].tolist() if len(class_rows) else []
        return cls(classes, sizes, class_indices, thresholds or {})

    @classmethod
    def from_labels(cls, sample: Sample) -> UnpredictedClasses:
        """Return those of two classes, of models whose labels or thresholds are known."""
        counts, predictions = sample.slices[None], sample.predictions
        model_indices = [
            i
            for i, model in enumerate(counts.models)
            if sample.sampled and (predictions is None or predictions.knows_labels(None, model))
        ]
        cells = np.array([[counts.tp, counts.fn], [counts.fp, counts.tn]])
        tables = cells.transpose(2, 0, 1)[model_indices]
        model_names = [counts.models[i] for i in model_indices]
        classes = (sample.positive, negative_name(sample))
        return cls.from_tables(model_names, classes, tables, counts.unit, sample.thresholds)

    def answers(self, models: Sequence[str]) -> list[Answer]:
        """Return the sentence on those of `models` that never predict a class; none of others."""
        unpredicting_models = [model for model in models if self.class_indices.get(model)]
        if not unpredicting_models:
            return []
        clauses = [
            f"{subject} never {verb} {classes}"
            for subject, verb, classes in self._clauses(unpredicting_models, "0 of ")
        ]
        thresholds = {self.thresholds.get(model) for model in unpredicting_models}
        text = f"{'; '.join(clauses)}."
        if len(thresholds) == 1 and None not in thresholds:
            text = f"At threshold {format_exact(cell_number(*thresholds))}, {text}"
        return [Answer(CODE, text, tuple(unpredicting_models), harm=True)]

    def notes(self, answers: Sequence[Answer]) -> Iterator[ResultNote]:
        """Yield notes on the models that no sentence of an answer names for it.

        Of several classes also one on macro precision, which lacks these.
        """
        models_in_answer = {
            model for answer in answers if answer.code == CODE for model in answer.models
        }
        for subject, verb, classes in self._clauses(
            [model for model in self.class_indices if model not in models_in_answer]
        ):
            yield ResultNote(CODE, f"{subject} never {verb} {classes}")
        if len(self.classes) > 2 and any(self.class_indices.values()):
            text = "macro precision of a model is the mean over the classes that it predicts"
            yield ResultNote(CODE, text)

    def _clauses(
        self, models: Sequence[str], share_prefix: str = ""
    ) -> Iterator[tuple[str, str, str]]:
        """Yield subject, verb and classes; models without the same classes share a clause.

        share_prefix: text before the rows of a class.
        """
        models_by_classes: dict[tuple[int, ...], list[str]] = {}
        for model in models:
            if self.class_indices[model]:
                models_by_classes.setdefault(self.class_indices[model], []).append(model)
        for class_indices, group_models in models_by_classes.items():
            subject = join_names(group_models, most=MAX_MODELS)
            verb = "predicts" if len(group_models) == 1 else "predict"
            if len(group_models) == len(self.class_indices) and len(group_models) > 1:
                subject = "every model"
                verb = "predicts"
            yield subject, verb, self._list_classes(class_indices, share_prefix)

    def _list_classes(self, class_indices: Sequence[int], share_prefix: str) -> str:
        """Return the names of classes with their rows; share_prefix: text before these rows."""
        classes = [
            f"{_class_name(self.classes[k])} ({share_prefix}{_count_rows(self.sizes[k])})"
            for k in class_indices
        ]
        if (unlisted_count := len(class_indices) - MAX_LISTED) > 0:
            unlisted_rows = _count_rows(sum(self.sizes[k] for k in class_indices[MAX_LISTED:]))
            noun = "classes" if unlisted_count > 1 else "class"
            unlisted_text = f"{unlisted_count:,} more {noun} ({share_prefix}{unlisted_rows})"
            classes = [*classes[:MAX_LISTED], unlisted_text]
        return join_words(classes, most=len(classes))


def _class_name(name: str) -> str:
    """Write the name of a class so that it cannot be read as a number."""
    return f"class {name}" if name[:1].isdigit() else quote_if_ambiguous(name)


def _count_rows(rows: float) -> str:
    """Write a number of rows of a class; fractions are rounded, but for those below a half."""
    return format_count(float(rows), "row") if rows >= 0.5 else f"{rows:.2g} rows"


def lowest_recall_cells(measure_rows: Sequence[Row]) -> dict[tuple[object, object], CellsByColumn]:
    """Return the lowest recall of the classes with its class, by slice and model; first of ties.

    It has no interval: that of the class would ignore that the lowest one was selected.
    """
    lowest_cells: dict[tuple[object, object], CellsByColumn] = {}
    for row in measure_rows:
        recall = as_estimate(row["value"]).value
        if row["estimator"] != "class" or row["measure"] != "sensitivity" or recall is None:
            continue
        key = (row["slice"], row["model"])
        lowest_so_far = (
            as_estimate(lowest_cells[key]["lowest_recall"]).value if key in lowest_cells else None
        )
        if lowest_so_far is None or recall < lowest_so_far:
            lowest_cells[key] = {
                "lowest_recall": Estimate(recall),
                "lowest_recall_class": row["class"],
            }
    return lowest_cells


UNKNOWN: CellsByColumn = {
    "lowest_recall": Estimate(None, reason="too_few_rows"),
    "lowest_recall_class": None,
}
