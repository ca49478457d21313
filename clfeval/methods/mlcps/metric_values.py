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


def make_evaluator(joint: JointCounts, names: Sequence[str], units_per_row: float = 1) -> Evaluator:
    """Return the function from counts (b, m) to measures (b, k, n).

    counts: of b samples and m distinct rows. units_per_row: units of weight that make one row.
    """
    measures = {name: measure_by_id(name).with_settings(row=units_per_row) for name in names}
    confusion_from_counts = _make_confusion_function(joint)
    row_losses = {
        name: [measure.loss(p, joint.truth) for p in _score_columns(joint)]
        for name, measure in measures.items()
        if measure.loss is not None
    }
    score_measures = [
        name
        for name in measures_needing(names, "scores", "probabilities")
        if name not in row_losses
    ]
    ordered_scores = _score_orders(joint, score_measures)

    def evaluate(counts: Counts) -> Floats:
        values = np.empty((len(counts), len(joint.models), len(names)))
        if counts.dtype.kind != "f" and counts.max() <= np.iinfo(np.uint8).max:
            counts = counts.astype(np.uint8)  # faster to sort by score in a large table
        confusion = confusion_from_counts(counts)
        for measure_index, name in enumerate(names):
            if measures[name].needs == "confusion":
                values[:, :, measure_index] = measures[name].function(confusion)
            for model_index, loss in enumerate(row_losses.get(name, ())):
                values[:, model_index, measure_index] = mean_loss(loss, counts)
        for model_index, (row_order, scores, is_positive) in enumerate(ordered_scores):
            negatives = counts[:, row_order]
            positives = negatives * is_positive
            negatives -= positives
            for name in score_measures:
                class_counts = (positives, negatives)
                if name not in ONE_BYTE:
                    class_counts = _widen(positives, negatives)
                values[:, model_index, names.index(name)] = measures[name].function(
                    scores, *class_counts
                )
        return values

    return evaluate


def _score_orders(
    joint: JointCounts, names: Sequence[str]
) -> list[tuple[Ints, NDArray[Any], Bools]]:
    """Return, per model, the rows ordered by score, and their scores and classes in this order.

    Where no measure needs probabilities, ranks stand for scores. Empty without measures.
    """
    uses_probabilities = bool(measures_needing(names, "probabilities"))
    score_orders = list[tuple[Ints, NDArray[Any], Bools]]()
    for scores in _score_columns(joint) if names else ():
        row_order = np.argsort(scores, kind="stable")
        ordered_scores: NDArray[Any] = scores[row_order]
        if not uses_probabilities:
            ranks = np.zeros(len(row_order), np.int32)
            np.cumsum(ordered_scores[1:] > ordered_scores[:-1], out=ranks[1:])
            ordered_scores = ranks
        score_orders.append((row_order, ordered_scores, joint.truth[row_order]))
    return score_orders


def _widen(positives: Counts, negatives: Counts) -> tuple[Counts, Counts]:
    """Return counts as integers wide enough for products of them; floats stay."""
    dtype = np.float64 if positives.dtype.kind == "f" else np.int64
    return positives.astype(dtype, copy=False), negatives.astype(dtype, copy=False)


def _make_confusion_function(joint: JointCounts) -> Callable[[Counts], Confusion]:
    """Return the function from counts (b, m) to 2 x 2 tables, (b, k) each."""
    # equal rows of classes and votes follow one another
    truth_and_votes = np.column_stack([joint.truth, joint.votes])
    pattern_starts = np.flatnonzero(
        np.concatenate([[True], (truth_and_votes[1:] != truth_and_votes[:-1]).any(axis=1)])
    )
    is_positive = joint.truth[pattern_starts]
    votes = joint.votes[pattern_starts].astype(np.float64)
    sides = (votes, 1 - votes)  # predicted positive, and negative

    def confusion(counts: Counts) -> Confusion:
        # floats, for their products are fast, and they are exact up to 2**53 rows
        pattern_counts = np.add.reduceat(counts, pattern_starts, axis=1, dtype=np.float64)
        tp, fn = (pattern_counts[:, is_positive] @ vote_flags[is_positive] for vote_flags in sides)
        fp, tn = (
            pattern_counts[:, ~is_positive] @ vote_flags[~is_positive] for vote_flags in sides
        )
        return Confusion(tp, fp, fn, tn)

    return confusion


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
    evaluate = make_evaluator(joint, names, predictions.units_per_row)
    (values,) = evaluate(joint.n[None])  # of one sample: the rows themselves
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
    total = positives + negatives
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
        prevalence=positives / total if total else None,
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
        lambda sampled_rows: make_evaluator(sampled_rows, names),
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
    table_name: str, models: Sequence[str], metrics: Sequence[str]
) -> Callable[[int, int, str, str], Problem]:
    """Return the function that builds the problem of a value; it holds no rows in memory."""

    def problem(model_index: int, metric_index: int, message: str, code: str) -> Problem:
        return Problem(
            f"model '{models[model_index]}': {message}",
            code,
            table_name,
            None,
            metrics[metric_index],
        )

    return problem


def _smoothing_notes(reasons: Sequence[str]) -> Iterator[ResultNote]:
    if reasons:
        text = "the bootstrap adds half a correct and half a wrong row to each class"
        message = f"{', '.join(reasons)}: {text}, for errors that no row shows"
        yield ResultNote("unseen-errors", message)


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
    probabilities = _score_columns(joint) if "log_loss" in names else []
    clipped_weights = {
        model: clipped_weight(p, joint.truth, joint.n).item()
        for model, p in zip(joint.models, probabilities, strict=False)  # none without log loss
    }
    return clipped_note(clipped_weights, joint.unit)


def _count_joint_rows(predictions: PredictionCounts, names: Sequence[str]) -> JointCounts:
    """Count rows by votes, and scores if a measure needs them; errors for unsuitable models."""
    score_measures = measures_needing(names, "scores", "probabilities")
    label_models = [model.name for model in predictions.models if model.kind == "label"]
    if label_models and score_measures:
        labels_clause = (
            f"{list_names(label_models)} hold{'s' if len(label_models) == 1 else ''} labels"
        )
        hint = (
            f"choose measures of labels with {OPTION}--metric{END}, or models with scores with "
            f"{OPTION}--model{END}"
        )
        message = f"{_they_need(score_measures)} scores, but {labels_clause}"
        raise UsageError.new(message, "needs-scores", predictions.name, hint=hint)
    joint = predictions.joint(scores=bool(score_measures))
    if probability_measures := measures_needing(score_measures, "probabilities"):
        problems = [
            Problem(
                f"scores from {p.min():g} to {p.max():g}, where {_they_need(probability_measures)} "
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
    return f"{' and '.join(names)} need{'s' if len(names) == 1 else ''}"


def _undefined_reasons(
    joint: JointCounts, names: Sequence[str], values: Floats
) -> dict[tuple[int, int], str]:
    """Return the reason of each value that is not finite, by model and measure."""
    value_indices = np.argwhere(~np.isfinite(values)).tolist()
    if not value_indices:
        return {}
    confusion = _make_confusion_function(joint)(joint.n[None])
    reasons: dict[tuple[int, int], str] = {}
    for model_index, measure_index in value_indices:
        cells = (confusion.tp, confusion.fp, confusion.fn, confusion.tn)
        model_table = Confusion(*(cell[0, model_index] for cell in cells))
        undefined = measure_by_id(names[measure_index]).undefined
        estimate = make_estimate(
            values[model_index, measure_index].item(), undefined=undefined, table=model_table
        )
        reasons[model_index, measure_index] = str(estimate.reason)
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
    undefined_measures: dict[str, None] = {}
    for (model_index, measure_index), reason in sorted(measured.reasons.items()):
        name = measured.metrics[measure_index]
        model = measured.models[model_index]
        if name not in options.unused:
            is_infinite = reason in ("infinite", "minus_infinite")
            reason_phrase = reason.replace("_", " ") if is_infinite else f"undefined ({reason})"
            message = f"{name} of '{model}' is {reason_phrase}"
            problems.append(Problem(message, "undefined-metric", measured.name))
            undefined_measures[name] = None
    if problems:
        names_text = list_names(undefined_measures)
        hint = (
            f"choose measures other than {names_text} with {OPTION}--metric{END}, or models with "
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
        confusion_limits = _confusion_limits(name, cells, level)
        if confusion_limits is not None:
            low[:, j], high[:, j] = confusion_limits
    if {*names} & {"roc_auc", "gini"}:
        for i, (auc_low, auc_high) in enumerate(_auc_limits(joint, level)):
            for j, name in enumerate(names):
                if name == "roc_auc":
                    low[i, j], high[i, j] = (auc_low, auc_high)
                elif name == "gini":
                    low[i, j], high[i, j] = (2 * auc_low - 1, 2 * auc_high - 1)
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
    positive_weights, negative_weights = (
        np.where(rows, joint.n, 0) for rows in (joint.truth, ~joint.truth)
    )
    if positive_weights.any() and negative_weights.any():
        for scores in _score_columns(joint):
            _, ranks = np.unique(scores, return_inverse=True)
            counts_by_rank = (
                np.bincount(ranks, weights=class_weights)
                for class_weights in (positive_weights, negative_weights)
            )
            auc = delong_auc(*counts_by_rank, level=level)
            yield auc.low, auc.high


FEW = 30  # rows of a class below which the bootstrap is smoothed
Evaluator = Callable[[Counts], Floats]
CELLS = (("FN", True, False), ("TP", True, True), ("FP", False, True), ("TN", False, False))


def sparse_data_reasons(joint: JointCounts, *, votes: bool, ranks: bool) -> list[str]:
    """Return why to smooth the bootstrap: classes below 30 rows, empty cells, separation.

    votes, ranks: whether measures of the 2 x 2 table, or of the order of scores, are used.
    """
    reasons = list[str]()
    models = np.array(joint.models, object)
    for class_word, in_class in (("positive", joint.truth), ("negative", ~joint.truth)):
        if 0 < (count := joint.n[in_class].sum().item()) < FEW:
            reasons.append(format_count(count, f"{class_word} row"))
    for cell_name, is_positive, vote_positive in CELLS if votes else ():
        in_class = joint.truth == is_positive
        is_empty = joint.n[in_class] @ (joint.votes[in_class] == vote_positive) == 0
        if in_class.any() and is_empty.any():
            reasons.append(f"no {cell_name} of {list_names(models[is_empty], 3)}")
    if ranks and joint.scores is not None and joint.truth.any() and not joint.truth.all():
        positive_scores = joint.scores[joint.truth]
        negative_scores = joint.scores[~joint.truth]
        is_separated = (positive_scores.min(axis=0) > negative_scores.max(axis=0)) | (
            positive_scores.max(axis=0) < negative_scores.min(axis=0)
        )
        if is_separated.any() and not reasons:
            reasons.append(f"perfectly separated classes for {list_names(models[is_separated], 3)}")
    return reasons


def add_unseen_rows(joint: JointCounts, rng: np.random.Generator) -> JointCounts:
    """Add MASS pseudo-rows to each class, half right and half wrong for every model.

    Their scores are those of rows of their own class, or of the other class where the model errs.
    """
    # by name, so that the order of models is irrelevant
    is_error = resampling.prior_error_patterns(len(joint.models))[
        :, np.argsort(order_by_name(joint.models))
    ]
    truth_blocks = [joint.truth]
    vote_blocks = [joint.votes]
    score_blocks = [] if joint.scores is None else [joint.scores]
    count_blocks = [joint.n.astype(np.float64)]
    for is_positive in (True, False):
        if not (joint.truth == is_positive).any():
            continue  # a class without rows gets no pseudo-rows
        truth_blocks.append(np.full(len(is_error), is_positive))
        vote_blocks.append(is_error ^ is_positive)
        if joint.scores is not None:
            score_blocks.append(_unseen_scores(joint, is_error, is_positive, rng))
        count_blocks.append(np.full(len(is_error), resampling.MASS / len(is_error)))
    return JointCounts.from_rows(
        joint.models,
        np.concatenate(truth_blocks),
        np.concatenate(vote_blocks),
        np.concatenate(score_blocks) if score_blocks else None,
        np.concatenate(count_blocks),
    )


def _unseen_scores(
    joint: JointCounts, is_error: Bools, is_positive: bool, rng: np.random.Generator
) -> Floats:
    """Return the scores of pseudo-rows of a class, (m, k), at even quantiles of scores there."""
    assert joint.scores is not None
    pseudo_scores = np.empty(is_error.shape)
    own_class = joint.truth == is_positive
    other_class = ~own_class if not own_class.all() else own_class
    half_size = len(is_error) // 2
    for model_index in order_by_name(joint.models):
        scores = joint.scores[:, model_index]
        for errs, in_class in ((True, other_class), (False, own_class)):
            order = np.argsort(scores[in_class], kind="stable")
            cumulative_counts = np.cumsum(joint.n[in_class][order])
            quantile_counts = (np.arange(half_size) + 0.5) / half_size * cumulative_counts[-1]
            row_indices = order[np.searchsorted(cumulative_counts, quantile_counts, side="right")]
            pseudo_scores[is_error[:, model_index] == errs, model_index] = rng.permutation(
                scores[in_class][row_indices]
            )
    return pseudo_scores


def bootstrap_replicates(
    joint: JointCounts,
    make_measure: Callable[[JointCounts], Evaluator],
    *,
    resamples: int,
    seed: int,
    smoothing: Sequence[str],
) -> Floats:
    """Return the measures of bootstrap samples, (resamples, k, n); smoothed with `smoothing`."""
    rng = resampling.random_stream(seed, "mlcps")
    source_rows = add_unseen_rows(joint, rng) if smoothing else joint
    count_blocks: Iterable[Counts] = (
        resampling.dirichlet_counts(source_rows.n, source_rows.truth, resamples=resamples, rng=rng)
        if smoothing
        else resampling.resampled_counts(source_rows.n, resamples=resamples, rng=rng)
    )
    return np.concatenate([*map(make_measure(source_rows), count_blocks)])
