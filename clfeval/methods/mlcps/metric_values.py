"""Values of metrics, measured or read, and their replicates by bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.counts.evaluated_rows import JointCounts
from clfeval.counts.patterns import ConfusionCounts, PatternCounts, order_by_name
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.document import InputFile, ResultNote
from clfeval.errors import DataError, Problem, UsageError, list_names
from clfeval.formatting import format_count
from clfeval.inference import resampling
from clfeval.inference.rank_statistics import delong_auc
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.probability import clipped_weight, mean_loss
from clfeval.methods.confidence_limits import exact_limits, measure_limits
from clfeval.methods.estimates import Cells, Limits, fractional_weights_error, make_estimate
from clfeval.methods.mlcps.answer import (
    DEFAULT,
    ONE_BYTE,
    measure_by_id,
    measures_needing,
    parse_measure_names,
)
from clfeval.methods.mlcps.options import MlcpsOptions
from clfeval.methods.provenance import clipped_note, counting_notes
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field


def make_evaluator(joint: JointCounts, names: Sequence[str], row: float = 1) -> Evaluator:
    """Return the function from counts (b, m), `row` units a row, to measures (b, k, n)."""
    measures = {name: measure_by_id(name).with_settings(row=row) for name in names}
    confusions = _make_confusion_function(joint)
    losses = {
        name: [measure.loss(p, joint.truth) for p in _score_columns(joint)]
        for name, measure in measures.items()
        if measure.loss is not None
    }
    of_scores = [n for n in measures_needing(names, "scores", "probabilities") if n not in losses]
    orders = _score_orders(joint, of_scores)

    def evaluate(counts: Counts) -> Floats:
        values = np.empty((len(counts), len(joint.models), len(names)))
        if counts.dtype.kind != "f" and counts.max() <= np.iinfo(np.uint8).max:
            counts = counts.astype(np.uint8)  # faster to sort by score in a large table
        tables = confusions(counts)
        for j, name in enumerate(names):
            if measures[name].needs == "confusion":
                values[:, :, j] = measures[name].function(tables)
            for i, loss in enumerate(losses.get(name, ())):
                values[:, i, j] = mean_loss(loss, counts)
        for i, (order, scores, truth) in enumerate(orders):
            negatives = counts[:, order]
            positives = negatives * truth
            negatives -= positives
            for name in of_scores:
                by_class = (positives, negatives)
                if name not in ONE_BYTE:
                    by_class = _widen(positives, negatives)
                values[:, i, names.index(name)] = measures[name].function(scores, *by_class)
        return values

    return evaluate


def _score_orders(
    joint: JointCounts, names: Sequence[str]
) -> list[tuple[Ints, NDArray[Any], Bools]]:
    """Return, per model, the order of its scores, the scores in it, and the truth in it.

    Where no measure needs probabilities, ranks stand for scores. None without measures.
    """
    uses_probabilities = bool(measures_needing(names, "probabilities"))
    orders = list[tuple[Ints, NDArray[Any], Bools]]()
    for scores in _score_columns(joint) if names else ():
        order = np.argsort(scores, kind="stable")
        ordered: NDArray[Any] = scores[order]
        if not uses_probabilities:
            ranks = np.zeros(len(order), np.int32)
            np.cumsum(ordered[1:] > ordered[:-1], out=ranks[1:])
            ordered = ranks
        orders.append((order, ordered, joint.truth[order]))
    return orders


def _widen(positives: Counts, negatives: Counts) -> tuple[Counts, Counts]:
    """Return counts as integers wide enough for products of them; floats stay."""
    wide = np.float64 if positives.dtype.kind == "f" else np.int64
    return positives.astype(wide, copy=False), negatives.astype(wide, copy=False)


def _make_confusion_function(joint: JointCounts) -> Callable[[Counts], Confusion]:
    """Return the function from counts (b, m) to 2 x 2 tables, (b, k) each."""
    rows = np.column_stack([joint.truth, joint.votes])
    first = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
    truth = joint.truth[first]
    votes = joint.votes[first].astype(np.float64)

    def tables(counts: Counts) -> Confusion:
        # floats, for their products are fast, and they are exact up to 2**53 rows
        patterns = np.add.reduceat(counts, first, axis=1, dtype=np.float64)
        hits, misses = (patterns[:, truth] @ flags[truth] for flags in (votes, 1 - votes))
        alarms, passes = (patterns[:, ~truth] @ flags[~truth] for flags in (votes, 1 - votes))
        return Confusion(hits, alarms, misses, passes)

    return tables


def _score_columns(joint: JointCounts) -> list[Floats]:
    """Return the scores of each model; empty where they were not counted."""
    return [] if joint.scores is None else list(joint.scores.T)


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


def measure_models(
    predictions: PredictionCounts,
    metrics: Sequence[str],
    *,
    resamples: int | None,
    seed: int,
    level: float = 0.95,
) -> MetricValues:
    """Compute the metrics of every model; `resamples` 0: no replicates, None: the default.

    The default is 1000, or fewer where 1000 times the distinct rows exceed 500 million, but at
    least 100. No metrics: the default ones. A smoothed bootstrap is used where
    `sparse_data_reasons`, with a warning.
    Errors: UsageError for unknown measures, measures of scores where a model holds labels, and
    replicates of rows of fractional weight; DataError where probabilities are none.
    """
    names = parse_measure_names(metrics) or DEFAULT
    joint = _count_joint_rows(predictions, names)
    if joint.fractional and resamples:
        raise fractional_weights_error(bootstrap=True)
    values = make_evaluator(joint, names, predictions.units_per_row)(joint.n[None])[0]
    bootstrap = NO_BOOTSTRAP
    if resamples != 0 and not joint.fractional:
        bootstrap = _bootstrap_measures(joint, names, resamples, seed, level)
    notes = counting_notes(predictions, clusters=False)
    if joint.fractional and resamples is None:
        text = "no intervals: weights that are not whole numbers cannot be bootstrapped"
        notes.append(ResultNote("resamples", text))
    notes += _smoothing_notes(bootstrap.smoothing)
    notes += _merged_class_notes(predictions)
    if resamples is None:
        notes += _default_resamples_notes(bootstrap.replicates)
    notes += _clipped_probability_notes(joint, names)
    positives, negatives = (joint.n[rows].sum().item() for rows in (joint.truth, ~joint.truth))
    rows = positives + negatives
    return MetricValues(
        name=predictions.name,
        models=joint.models,
        metrics=names,
        values=values,
        inputs=predictions.files,
        statistics=joint.digest(),
        problem=_value_problems(predictions.name, joint.models, names),
        reasons=_undefined_reasons(joint, names, values),
        replicates=bootstrap.replicates,
        limits=bootstrap.limits,
        positive=predictions.positive,
        prevalence=positives / rows if rows else None,
        fewest=int(min(positives, negatives)),
        thresholds=predictions.thresholds,
        notes=tuple(notes),
    )


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapMeasures:
    """Replicates (B, k, n) of n measures of k models, and closed-form limits, (k, n) each.

    smoothing: why the bootstrap is smoothed; empty if it is not.
    """

    replicates: Floats | None
    limits: Limits | None
    smoothing: Sequence[str]


NO_BOOTSTRAP = BootstrapMeasures(None, None, ())


def _bootstrap_measures(
    joint: JointCounts, names: Sequence[str], resamples: int | None, seed: int, level: float
) -> BootstrapMeasures:
    """Return replicates and limits of the measures; resamples None: the default number."""
    smoothing = sparse_data_reasons(
        joint,
        votes=bool(measures_needing(names, "confusion")),
        ranks=bool(measures_needing(names, "scores")),
    )
    if resamples is None:
        resamples = _default_resamples(len(joint.n), smoothed=bool(smoothing))
    replicates = bootstrap_replicates(
        joint,
        lambda rows: make_evaluator(rows, names),
        resamples=resamples,
        seed=seed,
        smoothing=smoothing,
    )
    limits = closed_form_limits(joint, names, level=level)
    return BootstrapMeasures(replicates, limits, smoothing)


def _default_resamples(distinct_rows: int, *, smoothed: bool) -> int:
    """Return the number of bootstrap samples that takes a bearable time."""
    resamples = max(FEWEST, min(RESAMPLES, MOST_DRAWN // distinct_rows))
    if smoothed:  # weights of rows take longer than counts
        return max(FEWEST, min(resamples, MOST_DRAWN // SLOWER // distinct_rows))
    return resamples


def _value_problems(
    table: str, models: Sequence[str], metrics: Sequence[str]
) -> Callable[[int, int, str, str], Problem]:
    """Return the function that builds the error for a value; it keeps no rows."""

    def problem(i: int, j: int, message: str, code: str) -> Problem:
        return Problem(f"model '{models[i]}': {message}", code, table, None, metrics[j])

    return problem


def _smoothing_notes(reasons: Sequence[str]) -> Iterator[ResultNote]:
    if reasons:
        text = "the bootstrap adds half a correct and half a wrong row to each class"
        text = f"{', '.join(reasons)}: {text}, for errors that no row shows"
        yield ResultNote("unseen-errors", text)


def _merged_class_notes(predictions: PredictionCounts) -> Iterator[ResultNote]:
    """Yield a note that several negative classes are merged."""
    negative = predictions.negative
    if len(negative) > 1:
        text = f"measures compare '{predictions.positive}' with the other {len(negative)} classes"
        yield ResultNote("merged-classes", f"{text} together: {list_names(negative)}")


def _default_resamples_notes(replicates: Floats | None) -> Iterator[ResultNote]:
    """Yield a note where fewer bootstrap samples than usual are drawn by default."""
    if replicates is not None and len(replicates) < RESAMPLES:
        resamples = len(replicates)
        text = (
            f"only {resamples} bootstrap samples for speed; {OPTION}--resamples N{END} sets the "
            "number"
        )
        yield ResultNote("resamples", text)


def _clipped_probability_notes(joint: JointCounts, names: Sequence[str]) -> list[ResultNote]:
    """Return a note on rows whose true class has probability 0, for log loss."""
    columns = _score_columns(joint) if "log_loss" in names else []
    weights = {
        model: clipped_weight(p, joint.truth, joint.n).item()
        for model, p in zip(joint.models, columns, strict=False)
    }
    return clipped_note(weights, joint.unit)


def _count_joint_rows(predictions: PredictionCounts, names: Sequence[str]) -> JointCounts:
    """Count rows by votes, and scores if a measure needs them; errors for unsuitable models."""
    of_scores = measures_needing(names, "scores", "probabilities")
    labels = [model.name for model in predictions.models if model.kind == "label"]
    if labels and of_scores:
        hold = f"{list_names(labels)} hold{'s' * (len(labels) == 1)} labels"
        hint = (
            f"choose measures of labels with {OPTION}--metric{END}, or models with scores with "
            f"{OPTION}--model{END}"
        )
        message = f"{_they_need(of_scores)} scores, but {hold}"
        raise UsageError.new(message, "needs-scores", predictions.name, hint=hint)
    joint = predictions.joint(scores=bool(of_scores))
    if of_probabilities := measures_needing(of_scores, "probabilities"):
        problems = [
            Problem(
                f"scores from {p.min():g} to {p.max():g}, where {_they_need(of_probabilities)} "
                "probabilities",
                "bad-probability",
                predictions.name,
                None,
                model,
            )
            for model, p in zip(joint.models, _score_columns(joint), strict=True)
            if p.min() < 0 or p.max() > 1
        ]
        if problems:
            hint = f"choose other measures with {OPTION}--metric{END}, or give scores from 0 to 1"
            raise DataError(problems, hint=hint)
    return joint


def _they_need(names: Sequence[str]) -> str:
    return f"{' and '.join(names)} need{'s' * (len(names) == 1)}"


def _undefined_reasons(
    joint: JointCounts, names: Sequence[str], values: Floats
) -> dict[tuple[int, int], str]:
    """Return the reason of each value that is not finite, by model and measure."""
    places = np.argwhere(~np.isfinite(values)).tolist()
    if not places:
        return {}
    tables = _make_confusion_function(joint)(joint.n[None])
    reasons: dict[tuple[int, int], str] = {}
    for i, j in places:
        cells = (tables.tp, tables.fp, tables.fn, tables.tn)
        table = Confusion(*(cell[0, i] for cell in cells))
        undefined = measure_by_id(names[j]).undefined
        estimate = make_estimate(values[i, j].item(), undefined=undefined, table=table)
        reasons[i, j] = str(estimate.reason)
    return reasons


def measure_predictions(
    predictions: PredictionCounts, metrics: Sequence[str], options: MlcpsOptions
) -> MetricValues:
    """Compute the metrics of a prediction table, with paired bootstrap replicates.

    Errors: DataError for undefined measures of weight above 0; UsageError for weights that are not
    whole where a bootstrap is requested.
    """
    resamples = 0 if options.interval == "none" else options.resamples
    measured = measure_models(
        predictions, metrics, resamples=resamples, seed=options.seed, level=options.level
    )
    problems: list[Problem] = []
    undefined: dict[str, None] = {}
    for (i, j), reason in sorted(measured.reasons.items()):
        name = measured.metrics[j]
        model = measured.models[i]
        if name not in options.unused:
            infinite = reason in ("infinite", "minus_infinite")
            words = reason.replace("_", " ") if infinite else f"undefined ({reason})"
            message = f"{name} of '{model}' is {words}"
            problems.append(Problem(message, "undefined-metric", measured.name))
            undefined[name] = None
    if problems:
        names = list_names(undefined)
        hint = (
            f"choose measures other than {names} with {OPTION}--metric{END}, or models with "
            f"{OPTION}--model{END}"
        )
        raise DataError(problems, hint=hint)
    return measured


def closed_form_limits(joint: JointCounts, names: Sequence[str], *, level: float) -> Limits:
    """Return lower and upper limits of measures (k, n), NaN where a bootstrap is needed.

    Shares of rows: exact (Clopper and Pearson). Measures invariant to the class ratio: from the two
    rates. ROC AUC and Gini: `delong_auc`, NaN with one row of a class. Others: NaN.
    Source: each method's own, see `inference`.
    """
    low, high = np.full((2, len(joint.models), len(names)), np.nan)
    patterns = PatternCounts(joint.models, joint.truth, joint.votes, joint.n)
    counts = ConfusionCounts.from_patterns(patterns)
    cells = Cells.at_prevalence(counts, counts.positives / (counts.positives + counts.negatives))
    for j, name in enumerate(names):
        limits = _confusion_limits(name, cells, level)
        if limits is not None:
            low[:, j], high[:, j] = limits
    if {*names} & {"roc_auc", "gini"}:
        for i, (auc_low, auc_high) in enumerate(_auc_limits(joint, level)):
            for j, name in enumerate(names):
                if name == "roc_auc":
                    low[i, j], high[i, j] = auc_low, auc_high
                elif name == "gini":
                    low[i, j], high[i, j] = 2 * auc_low - 1, 2 * auc_high - 1
    return low, high


def _confusion_limits(name: str, cells: Cells, level: float) -> Limits | None:
    """Return limits (k,) of a measure of the 2 x 2 table without parameters; None if unknown."""
    if name not in CATALOG or CATALOG[name].needs != "confusion":
        return None
    limits = exact_limits(name, cells, level=level)
    if limits is None and CATALOG[name].invariant:
        return measure_limits(name, cells, level=level)
    return limits


def _auc_limits(joint: JointCounts, level: float) -> Iterator[tuple[float, float]]:
    """Yield the limits of the ROC AUC of each model; none without scores or with one class."""
    positives, negatives = (np.where(rows, joint.n, 0) for rows in (joint.truth, ~joint.truth))
    if positives.any() and negatives.any():
        for scores in _score_columns(joint):
            ranks = np.unique(scores, return_inverse=True)[1]
            sides = (np.bincount(ranks, weights=weights) for weights in (positives, negatives))
            area = delong_auc(*sides, level=level)
            yield area.low, area.high


FEW = 30  # rows of a class below which the bootstrap is smoothed
Evaluator = Callable[[Counts], Floats]
CELLS = (("FN", True, False), ("TP", True, True), ("FP", False, True), ("TN", False, False))


def sparse_data_reasons(joint: JointCounts, *, votes: bool, ranks: bool) -> list[str]:
    """Return why to smooth the bootstrap: classes below 30 rows, empty cells, separation.

    votes, ranks: whether measures of the 2 x 2 table, or of the order of scores, are used.
    """
    reasons = list[str]()
    models = np.array(joint.models, object)
    for word, rows in (("positive", joint.truth), ("negative", ~joint.truth)):
        if 0 < (count := joint.n[rows].sum().item()) < FEW:
            reasons.append(format_count(count, f"{word} row"))
    for name, positive, vote in CELLS if votes else ():
        rows = joint.truth == positive
        empty = joint.n[rows] @ (joint.votes[rows] == vote) == 0
        if rows.any() and empty.any():
            reasons.append(f"no {name} of {list_names(models[empty], 3)}")
    if ranks and joint.scores is not None and joint.truth.any() and not joint.truth.all():
        high = joint.scores[joint.truth]
        low = joint.scores[~joint.truth]
        separated = (high.min(axis=0) > low.max(axis=0)) | (high.max(axis=0) < low.min(axis=0))
        if separated.any() and not reasons:
            reasons.append(f"perfectly separated classes for {list_names(models[separated], 3)}")
    return reasons


def add_unseen_rows(joint: JointCounts, rng: np.random.Generator) -> JointCounts:
    """Add MASS pseudo-rows to each class, half right and half wrong for every model.

    Their scores are those of rows of their own class, or of the other where the model errs.
    """
    # by name, so that the order of models is irrelevant
    errors = resampling.prior_error_patterns(len(joint.models))[
        :, np.argsort(order_by_name(joint.models))
    ]
    truth = [joint.truth]
    votes = [joint.votes]
    scores = [] if joint.scores is None else [joint.scores]
    n = [joint.n.astype(np.float64)]
    for positive in (True, False):
        if not (joint.truth == positive).any():
            continue
        truth.append(np.full(len(errors), positive))
        votes.append(errors ^ positive)
        if joint.scores is not None:
            scores.append(_unseen_scores(joint, errors, positive, rng))
        n.append(np.full(len(errors), resampling.MASS / len(errors)))
    return JointCounts.from_rows(
        joint.models,
        np.concatenate(truth),
        np.concatenate(votes),
        np.concatenate(scores) if scores else None,
        np.concatenate(n),
    )


def _unseen_scores(
    joint: JointCounts, errors: Bools, positive: bool, rng: np.random.Generator
) -> Floats:
    """Return the scores of pseudo-rows of a class, (m, k), at even quantiles of scores there."""
    assert joint.scores is not None
    quantiles = np.empty(errors.shape)
    own_class = joint.truth == positive
    other_class = ~own_class if not own_class.all() else own_class
    half = len(errors) // 2
    for i in order_by_name(joint.models):
        scores = joint.scores[:, i]
        for errs, rows in ((True, other_class), (False, own_class)):
            order = np.argsort(scores[rows], kind="stable")
            above = np.cumsum(joint.n[rows][order])
            middles = (np.arange(half) + 0.5) / half * above[-1]
            places = order[np.searchsorted(above, middles, side="right")]
            quantiles[errors[:, i] == errs, i] = rng.permutation(scores[rows][places])
    return quantiles


def bootstrap_replicates(
    joint: JointCounts,
    measured_by: Callable[[JointCounts], Evaluator],
    *,
    resamples: int,
    seed: int,
    smoothing: Sequence[str],
) -> Floats:
    """Return the measures of bootstrap samples, (resamples, k, n); smoothed with `smoothing`."""
    rng = resampling.random_stream(seed, "mlcps")
    rows = add_unseen_rows(joint, rng) if smoothing else joint
    draws: Iterable[Counts] = (
        resampling.dirichlet_counts(rows.n, rows.truth, resamples=resamples, rng=rng)
        if smoothing
        else resampling.resampled_counts(rows.n, resamples=resamples, rng=rng)
    )
    return np.concatenate([*map(measured_by(rows), draws)])
