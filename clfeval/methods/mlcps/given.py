"""What is ranked: models by metrics, from a metric table or measured on predictions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from clfeval.counts.predictions import count_predictions
from clfeval.errors import DataError, Problem, listing
from clfeval.methods.mlcps.evaluator import OF_RANKING
from clfeval.methods.mlcps.looks import check_sides
from clfeval.methods.mlcps.measured import Measured, measure_names, measured
from clfeval.methods.notes import check_thresholds, counting_notes
from clfeval.result import Input, Warn
from clfeval.tables.metric import MetricTable
from clfeval.tables.prediction import Predictions

Floats = NDArray[np.float64]

INFINITE = ("infinite", "minus_infinite")


@dataclass(frozen=True, slots=True)
class Given:
    """Raw values (k, n) of models by metrics, and what else the source knows.

    by_split: (s, k, n) of cross-validation splits. replicates: (B, k, n), jointly resampled.
    problem: builds the error for value i, j, naming its file, row and column.
    """

    name: str
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    values: Floats
    inputs: tuple[Input, ...]
    statistics: str
    problem: Callable[[int, int, str, str], Problem]
    splits: tuple[str, ...] = ()
    by_split: Floats | None = None
    sds: Floats | None = None  # (k, n) over splits, as the table gives them
    replicates: Floats | None = None
    positive: str | None = None
    lenient: bool = False  # of a result of clfeval nobody chose the metrics
    thresholds: Mapping[str, float | None] = field(default_factory=dict)
    notes: tuple[Warn, ...] = ()

    @property
    def resamples(self) -> int | None:
        """How many replicates there are; None without a bootstrap."""
        return None if self.replicates is None else len(self.replicates)


def of_metrics(table: MetricTable, *, chosen: bool = False) -> Given:
    """Take a metric table as it is; `chosen` where somebody named the metrics.

    Errors: DataError for what looks turned, headless, or like a known metric without numbers.
    """
    if table.layout == "wide":
        check_sides(table, chosen=chosen)
    notes = [Warn("partly-read", note) for note in table.notes]
    if table.dropped:
        models = "model" if table.dropped == 1 else "models"
        text = f"{table.dropped} {models} with missing values left out"
        notes.append(Warn("dropped", text))
    if table.splits:
        text = (
            f"means over {len(table.splits)} splits are scored; splits share training rows, so "
            "their spread is no interval"
        )
        notes.append(Warn("splits", text))
    return Given(
        name=table.name,
        models=table.models,
        metrics=table.metrics,
        values=table.values,
        inputs=(Input(table.display, table.sha256, len(table.models), table.dropped),),
        statistics=_digest(table),
        problem=table.problem,
        splits=table.splits,
        by_split=table.by_split,
        sds=table.sds,
        lenient=table.layout == "result" and not chosen,
        notes=tuple(notes),
    )


def of_predictions(
    predictions: Predictions,
    metrics: Sequence[str],
    *,
    resamples: int | None,
    seed: int,
    unused: Collection[str] = (),
) -> Given:
    """Measure the models of a prediction table, and resample its rows for all of them at once.

    Measures that are `unused`, having weight 0, may be undefined.

    Errors: DataError for measures that are undefined, such as the precision of a model that never
    says positive; UsageError for weights that are not whole where a bootstrap is wanted.
    """
    ranked = bool(metrics) and set(measure_names(metrics)) <= set(OF_RANKING)
    counted = count_predictions(predictions, any_range=ranked)  # only the order of scores matters
    check_thresholds(counted)
    found = measured(counted, metrics, resamples=resamples, seed=seed)
    name = predictions.files[0].name
    _refuse_undefined(name, found, unused)
    notes = counting_notes(counted)
    others = [name for name in counted.classes if name != counted.positive]
    if len(others) > 1:
        text = (
            f"every measure is of '{counted.positive}' against the other {len(others)} classes as "
            f"one: {listing(others)}"
        )
        notes.append(Warn("merged-classes", text))
    drawn = None if found.replicates is None else len(found.replicates)
    if resamples is None and drawn is not None and drawn < 1000:
        text = f"{drawn} resamples, for there are many distinct rows; --resamples N draws more"
        notes.append(Warn("resamples", text))
    for model, rows in found.clipped.items():
        text = (
            f"'{model}': {rows:,.10g} rows of probability 0 for the true class count as 2**-52 in "
            "log_loss"
        )
        notes.append(Warn("clipped", text))
    return Given(
        name=name,
        models=found.models,
        metrics=found.metrics,
        values=found.values,
        inputs=tuple(Input(f.name, f.sha256, f.rows, f.dropped) for f in counted.files),
        statistics=found.digest,
        problem=lambda i, j, what, code: Problem(
            f"model '{found.models[i]}': {what}", code, name, None, found.metrics[j]
        ),
        replicates=found.replicates,
        positive=counted.positive,
        thresholds=counted.thresholds,
        notes=tuple(notes),
    )


def _refuse_undefined(name: str, found: Measured, unused: Collection[str]) -> None:
    reasons = {ij: why for ij, why in found.reasons.items() if found.metrics[ij[1]] not in unused}
    if not reasons:
        return
    problems = [
        Problem(
            f"{found.metrics[j]} of '{found.models[i]}' is "
            + (reason.replace("_", " ") if reason in INFINITE else f"undefined ({reason})"),
            "undefined-metric",
            name,
        )
        for (i, j), reason in sorted(reasons.items())
    ]
    metrics = listing(dict.fromkeys(found.metrics[j] for _, j in sorted(reasons)))
    raise DataError(
        problems,
        hint=f"name other measures than {metrics} with --metric, or the models to rank with "
        "--model",
    )


def _digest(table: MetricTable) -> str:
    """Return the sha256 of the values whatever the order of models; metrics keep theirs."""
    order = sorted(range(len(table.models)), key=table.models.__getitem__)
    names = repr([list(table.metrics), [table.models[i] for i in order], list(table.splits)])
    found = sha256(names.encode("utf-8", "surrogatepass"))
    found.update(table.values[order].astype("<f8").tobytes())
    if table.by_split is not None:
        found.update(table.by_split[:, order].astype("<f8").tobytes())
    return found.hexdigest()
