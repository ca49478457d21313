"""What is tuned: a table's predictions or counts, or numbers given on the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index

import numpy as np

from clfeval.counts.confusion import ConfusionCounts
from clfeval.counts.predictions import FileCount
from clfeval.errors import DataError, Problem, UsageError, listing
from clfeval.methods.sources import Sources, read_sources
from clfeval.tables.confusion import MOST_ROWS, Confusion
from clfeval.tables.prediction import Predictions
from clfeval.tables.roles import Roles

NAMES = ("TP", "FP", "FN", "TN")


@dataclass(frozen=True, slots=True)
class Given:
    """Counts of models with what was said of the table; `sampled`: they are counted rows."""

    sources: Sources
    roles: Roles
    sampled: bool = True


def of_table(predictions: Predictions) -> Given:
    """Count the table; DataError where it lacks a class altogether, for then nothing is tuned."""
    sources = read_sources(predictions)
    where, column = predictions.files[0].name, None
    hint = "both TP and FN, or both FP and TN, are 0 for every model"
    if sources.counted is not None:
        column = predictions.layout.truth
        held = f"'{column}' holds {listing(sources.counted.classes)}"
        hint = f"the positive class is '{sources.positive}', and {held}: is it --positive?"
    _need_classes(sources.slices[None], where, hint, column)
    return Given(sources, predictions.roles)


def of_counts(counts: Mapping[str, Sequence[float]], roles: Roles) -> Given:
    """Take TP, FP, FN, TN per model; UsageError for what is not four counts."""
    rows = []
    for model, numbers in counts.items():
        if not model:
            raise UsageError(
                Problem("--counts: a model without a name", "bad-counts"),
                hint="for example --counts rf=69,15,31,85",
            )
        where = f"--counts {model}=" if model != "model" else "--counts "
        shown = where + ",".join(map(str, numbers))
        if len(numbers) != len(NAMES):
            raise UsageError(
                Problem(f"{shown} is not four numbers TP,FP,FN,TN", "bad-counts"),
                hint="for example --counts 67,5,33,95",
            )
        whole = []
        for name, number in zip(NAMES, numbers, strict=True):
            try:
                whole.append(index(int(number) if float(number).is_integer() else number))  # type: ignore[arg-type]
            except (TypeError, ValueError, OverflowError):
                whole.append(-1)
            if not 0 <= whole[-1] <= MOST_ROWS:
                why = "not a whole number"
                if isinstance(number, (int, float)) and number < 0:
                    why = "negative"
                elif whole[-1] > MOST_ROWS:
                    why = f"more than {MOST_ROWS:,}"
                raise UsageError(
                    Problem(f"{shown}: {name} is {number}, {why}", "bad-counts"),
                    hint="counts are whole numbers of rows from 0 up; of rates alone: "
                    "--sensitivity 0.67 --specificity 0.95",
                )
        tp, fp, fn, tn = whole
        rows.append(Confusion(model, tp, fp, fn, tn))
    confusions = ConfusionCounts.of_rows(rows)
    _need_classes(confusions, "--counts", "both TP and FN, or both FP and TN, are 0")
    total = int((confusions.positives + confusions.negatives).max())
    return Given(_sources(confusions, FileCount("--counts", None, total, 0), roles), roles)


def of_rates(sensitivity: float | None, specificity: float | None, roles: Roles) -> Given:
    """Take two rates without the rows behind them; UsageError unless both are in 0..1."""
    rates = {"sensitivity": sensitivity, "specificity": specificity}
    for name, rate in rates.items():
        if rate is None:
            other = next(key for key in rates if key != name)
            what = f"--{other} alone says nothing of the other class: add --{name}"
            raise UsageError(Problem(what, "bad-option"))
        if not 0 <= rate <= 1 or math.isnan(rate):
            hint = "a share, for example 0.95 for 95 %" if rate > 1 else None
            raise UsageError(
                Problem(f"--{name} {rate:g} is not between 0 and 1", "bad-option"), hint=hint
            )
    tp, tn = (np.array([float(rate or 0.0)]) for rate in rates.values())
    one = np.ones(1)
    confusions = ConfusionCounts(("model",), tp, 1 - tn, 1 - tp, tn, one, one)
    files = FileCount("--sensitivity --specificity", None, 0, 0)
    return Given(_sources(confusions, files, roles), roles, sampled=False)


def _sources(counts: ConfusionCounts, files: FileCount, roles: Roles) -> Sources:
    positive = roles.positive or "positive"
    return Sources(
        slices={None: counts},
        runs={},
        patterns={},
        counted=None,
        files=(files,),
        positive=positive,
        negative=("negative" if roles.positive is None else f"not {positive}",),
        thresholds={},
    )


def _need_classes(
    counts: ConfusionCounts, where: str, hint: str, column: str | None = None
) -> None:
    for name, totals in (("positive", counts.positives), ("negative", counts.negatives)):
        if not totals.any():
            what = f"no {name} row: tuning needs rows of both classes"
            raise DataError(Problem(what, "single-class", where, column=column), hint=hint)
