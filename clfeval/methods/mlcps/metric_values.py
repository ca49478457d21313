"""Values of metrics by model: given, computed from predictions, or by another program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from clfeval.arrays import Counts, Floats
from clfeval.counts.evaluated_rows import JointCounts
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.document import InputFile, ResultNote
from clfeval.errors import DataError, Problem, UsageError, list_names
from clfeval.measures.confusion import Confusion
from clfeval.measures.probability import clipped_weight, mean_loss
from clfeval.methods.estimates import Limits, fractional_weights_error, make_estimate
from clfeval.methods.mlcps.answer import (
    DEFAULT,
    measure_by_id,
    measures_needing,
    parse_measure_names,
)
from clfeval.methods.mlcps.options import MlcpsOptions
from clfeval.methods.mlcps.replicates import (
    Evaluator,
    bootstrap_replicates,
    closed_form_limits,
    sparse_data_reasons,
)
from clfeval.methods.provenance import clipped_note, counting_notes
from clfeval.records import dataclass, field


def make_evaluator(joint: JointCounts, names: Sequence[str], row: float = 1) -> Evaluator:
    """Return the function from counts (b, m), `row` units a row, to measures (b, k, n)."""
    of = {name: measure_by_id(name).with_settings(row=row) for name in names}
    cells = _make_confusion_function(joint)
    losses = {
        name: [measure.loss(p, joint.truth) for p in _score_columns(joint)]
        for name, measure in of.items()
        if measure.loss is not None
    }
    of_scores = [n for n in measures_needing(names, "scores", "probabilities") if n not in losses]
    whole, orders = measures_needing(of_scores, "probabilities"), []
    for scores in _score_columns(joint) if of_scores else ():
        order = np.argsort(scores, kind="stable")
        ordered, ranks = scores[order], np.zeros(len(order), np.int32)
        np.cumsum(ordered[1:] > ordered[:-1], out=ranks[1:])
        orders.append((order, ordered if whole else ranks, joint.truth[order]))

    def evaluate(counts: Counts) -> Floats:
        found = np.empty((len(counts), len(joint.models), len(names)))
        if counts.dtype.kind != "f" and counts.max() <= np.iinfo(np.uint8).max:
            counts = counts.astype(np.uint8)  # faster to sort by score in a large table
        tables = cells(counts)
        for j, name in enumerate(names):
            if of[name].needs == "confusion":
                found[:, :, j] = of[name].function(tables)
            for i, loss in enumerate(losses.get(name, ())):
                found[:, i, j] = mean_loss(loss, counts)
        for i, (order, scores, truth) in enumerate(orders):
            rows = counts[:, order]
            positives = rows * truth
            rows -= positives
            # integers wide enough for products of counts
            wide = np.float64 if counts.dtype.kind == "f" else np.int64
            for name in of_scores:
                each = (part if name in ONE_BYTE else part.astype(wide, copy=False)
                        for part in (positives, rows))  # fmt: skip
                found[:, i, names.index(name)] = of[name].function(scores, *each)
        return found

    return evaluate


def _make_confusion_function(joint: JointCounts) -> Callable[[Counts], Confusion]:
    """Return the function from counts (b, m) to 2 x 2 tables, (b, k) each."""
    rows = np.column_stack([joint.truth, joint.votes])
    first = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
    truth = joint.truth[first]
    votes = joint.votes[first].astype(np.float64)

    def tables(counts: Counts) -> Confusion:
        # floats, for their products are fast, and they are exact up to 2**53 rows
        patterns = np.add.reduceat(counts, first, axis=1, dtype=np.float64)
        hits, misses = (patterns[:, truth] @ part[truth] for part in (votes, 1 - votes))
        alarms, passes = (patterns[:, ~truth] @ part[~truth] for part in (votes, 1 - votes))
        return Confusion(hits, alarms, misses, passes)

    return tables


def _score_columns(joint: JointCounts) -> list[Floats]:
    """Return the scores of each model; empty where they were not counted."""
    return [] if joint.scores is None else list(joint.scores.T)


ONE_BYTE = ("roc_auc", "gini", "average_precision", "ks")  # on counts of any integer type
RESAMPLES, FEWEST, SLOWER = 1000, 100, 3
MOST_DRAWN = 500_000_000  # distinct rows x resamples by default at most


@dataclass(frozen=True, slots=True)
class MetricValues:
    """Raw values (k, n) of models by metrics, and what is known of their source.

    reasons: why value i, j is undefined or infinite. by_split: (s, k, n) of cross-validation
    splits. replicates: (B, k, n), paired over models. limits: of the values, (k, n) each, NaN where
    from replicates. fewest: rows of the smaller class. problem: builds the error for value i, j.
    percent: metrics written as percentages.
    """

    name: str
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    values: Floats
    inputs: tuple[InputFile, ...]
    statistics: str
    problem: Callable[[int, int, str, str], Problem]
    splits: tuple[str, ...] = ()
    by_split: Floats | None = None
    sds: Floats | None = None  # (k, n) over splits, as the table gives them
    reasons: Mapping[tuple[int, int], str] = field(default_factory=dict)
    replicates: Floats | None = None
    limits: Limits | None = None
    positive: str | None = None
    prevalence: float | None = None
    percent: tuple[str, ...] = ()
    fewest: int = 0
    lenient: bool = False  # the metrics come from a result of clfeval, not from the user
    thresholds: Mapping[str, float | None] = field(default_factory=dict)
    notes: tuple[ResultNote, ...] = ()

    @property
    def resamples(self) -> int | None:
        """The number of replicates; None without a bootstrap."""
        return None if self.replicates is None else len(self.replicates)


def needs_only_ranks(metrics: Sequence[str]) -> bool:
    """Return whether all measures depend only on the order of scores."""
    return bool(metrics) and len(measures_needing(metrics, "scores")) == len(metrics)


def measure_models(
    counted: PredictionCounts, metrics: Sequence[str], *, resamples: int | None, seed: int,
    level: float = 0.95,
) -> MetricValues:  # fmt: skip
    """Compute the metrics of every model; `resamples` 0: no replicates, None: the default.

    The default is 1000, or fewer where 1000 times the distinct rows exceed 500 million, but at
    least 100. No metrics: the default ones. A smoothed bootstrap is used where
    `sparse_data_reasons`, with a warning.
    Errors: UsageError for unknown measures, measures of scores where a model holds labels, and
    replicates of rows of fractional weight; DataError where probabilities are none.
    """
    names = parse_measure_names(metrics) or DEFAULT
    joint, notes = _count_joint_rows(counted, names), counting_notes(counted, clusters=False)
    name, models = counted.name, joint.models  # kept so that the rows can be freed
    fit = max(FEWEST, min(RESAMPLES, MOST_DRAWN // len(joint.n)))
    drawn = fit if resamples is None else resamples
    if joint.fractional:
        if resamples:
            raise fractional_weights_error(drawn=True)
        drawn = 0
        text = "no intervals: weights that are not whole numbers cannot be bootstrapped"
        notes += [ResultNote("resamples", text)] if resamples is None else []
    values = make_evaluator(joint, names, counted.row)(joint.n[None])[0]
    sizes = [joint.n[rows].sum().item() for rows in (joint.truth, ~joint.truth)]
    prevalence = sizes[0] / sum(sizes) if sum(sizes) else None
    found, ends = None, None
    if drawn:
        votes, ranks = (bool(measures_needing(names, one)) for one in ("confusion", "scores"))
        why = sparse_data_reasons(joint, votes=votes, ranks=ranks)
        if why and resamples is None:  # weights of rows take longer than counts
            drawn = max(FEWEST, min(fit, MOST_DRAWN // SLOWER // len(joint.n)))
        found = bootstrap_replicates(
            joint, lambda rows: make_evaluator(rows, names), resamples=drawn, seed=seed, why=why
        )
        ends = closed_form_limits(joint, names, level=level)
        if why:
            text = "the bootstrap adds half a correct and half a wrong row to each class"
            text = f"{', '.join(why)}: {text}, for errors that no row shows"
            notes.append(ResultNote("unseen-errors", text))
    if len(others := counted.negative) > 1:
        text = f"measures compare '{counted.positive}' with the other {len(others)} classes"
        notes.append(ResultNote("merged-classes", f"{text} together: {list_names(others)}"))
    if resamples is None and drawn < RESAMPLES and not joint.fractional:
        text = f"only {drawn} bootstrap samples for speed; --resamples N sets the number"
        notes.append(ResultNote("resamples", text))
    columns = _score_columns(joint) if "log_loss" in names else []
    lost = {model: clipped_weight(p, joint.truth, joint.n).item()
            for model, p in zip(models, columns, strict=False)}  # fmt: skip
    notes += clipped_note(lost, joint.unit)
    return MetricValues(
        name=name, models=models, metrics=names, values=values,
        inputs=counted.files, statistics=joint.digest(),
        problem=lambda i, j, what, code: Problem(
            f"model '{models[i]}': {what}", code, name, None, names[j]
        ),
        reasons=_undefined_reasons(joint, names, values), replicates=found, limits=ends,
        positive=counted.positive, prevalence=prevalence, fewest=int(min(sizes)),
        thresholds=counted.thresholds, notes=tuple(notes),
    )  # fmt: skip


def _count_joint_rows(counted: PredictionCounts, names: Sequence[str]) -> JointCounts:
    """Count rows by votes, and scores if a measure needs them; errors for unsuitable models."""

    def need(some: Sequence[str]) -> str:
        return f"{' and '.join(some)} need{'s' * (len(some) == 1)}"

    wanted = measures_needing(names, "scores", "probabilities")
    labels = [model.name for model in counted.models if model.kind == "label"]
    if labels and wanted:
        hold = f"{list_names(labels)} hold{'s' * (len(labels) == 1)} labels"
        hint = "choose measures of labels with --metric, or models with scores with --model"
        what = f"{need(wanted)} scores, but {hold}"
        raise UsageError.new(what, "needs-scores", counted.name, hint=hint)
    joint = counted.joint(scores=bool(wanted))
    if of_probabilities := measures_needing(wanted, "probabilities"):
        problems = [
            Problem(f"scores from {p.min():g} to {p.max():g}, where {need(of_probabilities)} "
                    "probabilities", "bad-probability", counted.name, None, model)
            for model, p in zip(joint.models, _score_columns(joint), strict=True)
            if p.min() < 0 or p.max() > 1
        ]  # fmt: skip
        if problems:
            hint = "choose other measures with --metric, or give scores from 0 to 1"
            raise DataError(problems, hint=hint)
    return joint


def _undefined_reasons(
    joint: JointCounts, names: Sequence[str], values: Floats
) -> dict[tuple[int, int], str]:
    found: dict[tuple[int, int], str] = {}
    places = np.argwhere(~np.isfinite(values)).tolist()
    if not places:
        return found
    cells = _make_confusion_function(joint)(joint.n[None])
    for i, j in places:
        table = Confusion(*(part[0, i] for part in (cells.tp, cells.fp, cells.fn, cells.tn)))
        undefined = measure_by_id(names[j]).undefined
        one = make_estimate(values[i, j].item(), undefined=undefined, table=table)
        found[i, j] = str(one.reason)
    return found


def measure_predictions(
    counted: PredictionCounts, metrics: Sequence[str], options: MlcpsOptions
) -> MetricValues:
    """Compute the metrics of a prediction table, with paired bootstrap replicates.

    Errors: DataError for undefined measures of weight above 0; UsageError for weights that are not
    whole where a bootstrap is requested.
    """
    drawn = 0 if options.interval == "none" else options.resamples
    given = measure_models(
        counted, metrics, resamples=drawn, seed=options.seed, level=options.level
    )
    names, problems, lost = given.metrics, list[Problem](), dict[str, None]()
    for (i, j), reason in sorted(given.reasons.items()):
        if names[j] not in options.unused:
            infinite = reason in ("infinite", "minus_infinite")
            words = reason.replace("_", " ") if infinite else f"undefined ({reason})"
            what = f"{names[j]} of '{given.models[i]}' is {words}"
            problems.append(Problem(what, "undefined-metric", given.name))
            lost[names[j]] = None
    if problems:
        hint = (
            f"choose measures other than {list_names(lost)} with --metric, or models with --model"
        )
        raise DataError(problems, hint=hint)
    return given
