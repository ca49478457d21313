"""Classes that a model never predicts, and the class of the lowest recall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from clfeval.arrays import Counts
from clfeval.counts.patterns import from_units
from clfeval.counts.sample import Sample
from clfeval.document import Estimate, ResultNote, Row, as_estimate
from clfeval.formatting import format_count, join_names, join_words, quote_if_ambiguous
from clfeval.methods.report.scores import negative_name

CODE = "never-predicted"
MAX_LISTED, MAX_MODELS = 3, 6  # classes and models by name


def unpredicted_class_notes(
    models: Sequence[str], classes: Sequence[str], tables: Counts, unit: float = 1
) -> Iterator[ResultNote]:
    """Yield a note per model on the classes that it never predicts, with their rows.

    tables (k, C, C): rows by true and predicted class. Models without the same classes share one.
    """
    rows = from_units(tables.sum(axis=2), unit)
    never = (tables.sum(axis=1) == 0) & (rows > 0)
    models_by_classes: dict[tuple[int, ...], list[int]] = {}
    for i in range(len(models)):
        if never[i].any():
            places = tuple(np.flatnonzero(never[i]).tolist())
            models_by_classes.setdefault(places, []).append(i)
    for places, indices in models_by_classes.items():
        sizes = rows[indices[0]]
        classes_with_rows = [f"{_class_name(classes[j])} ({_count_rows(sizes[j])})" for j in places]
        if (further := len(places) - MAX_LISTED) > 0:
            left = _count_rows(sum(sizes[j] for j in places[MAX_LISTED:]))
            rest = f"{further:,} more class{'es' * (further > 1)} ({left})"
            classes_with_rows = [*classes_with_rows[:MAX_LISTED], rest]
        subject = _subject_and_verb([models[i] for i in indices], len(models))
        listing = join_words(classes_with_rows, most=len(classes_with_rows))
        if len(classes) > 2:
            listing += "; macro precision is the mean over the other classes"
        yield ResultNote(CODE, f"{subject} {listing}")


def _subject_and_verb(models: Sequence[str], number: int) -> str:
    """Write which of `number` models never predict, up to the object of the sentence."""
    if len(models) == number > 1:
        return "every model never predicts"
    verb = "predicts" if len(models) == 1 else "predict"
    return f"{join_names(models, most=MAX_MODELS)} never {verb}"


def _class_name(name: str) -> str:
    """Write the name of a class so that it cannot be read as a number."""
    return f"class {name}" if name[:1].isdigit() else quote_if_ambiguous(name)


def _count_rows(rows: float) -> str:
    """Write a number of rows of a class; fractions are rounded, but for those below a half."""
    return format_count(float(rows), "row") if rows >= 0.5 else f"{rows:.2g} rows"


def unpredicted_label_notes(sample: Sample) -> Iterator[ResultNote]:
    """Yield the notes of models of two classes whose labels or thresholds are known."""
    counts, predictions = sample.slices[None], sample.counted
    places = [
        i
        for i, model in enumerate(counts.models)
        if predictions is None or predictions.knows_labels(None, model)
    ]
    if not places or not sample.sampled:
        return
    tables = np.array([[counts.tp, counts.fn], [counts.fp, counts.tn]]).transpose(2, 0, 1)[places]
    classes = (sample.positive, negative_name(sample))
    names = [counts.models[i] for i in places]
    yield from unpredicted_class_notes(names, classes, tables, counts.unit)


def lowest_recall_cells(measures: Sequence[Row]) -> dict[tuple[object, object], Row]:
    """Return the lowest recall of the classes with its class, by slice and model; first of ties.

    It has no interval: that of the class would ignore that the lowest one was selected.
    """
    lowest: dict[tuple[object, object], Row] = {}
    for row in measures:
        recall = as_estimate(row["value"]).value
        if row["estimator"] != "class" or row["measure"] != "sensitivity" or recall is None:
            continue
        key = (row["slice"], row["model"])
        lowest_so_far = as_estimate(lowest[key]["lowest_recall"]).value if key in lowest else None
        if lowest_so_far is None or recall < lowest_so_far:
            lowest[key] = {"lowest_recall": Estimate(recall), "lowest_recall_class": row["class"]}
    return lowest


UNKNOWN: Row = {"lowest_recall": Estimate(None, reason="too_few_rows"), "lowest_recall_class": None}
