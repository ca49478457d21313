"""Values of metrics, measured or read, and their replicates by bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from clfeval.arrays import Bools, Counts, Floats
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
                each = (
                    part if name in ONE_BYTE else part.astype(wide, copy=False)
                    for part in (positives, rows)
                )
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
    counted: PredictionCounts,
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
    values = make_evaluator(joint, names, counted.units_per_row)(joint.n[None])[0]
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
    lost = {
        model: clipped_weight(p, joint.truth, joint.n).item()
        for model, p in zip(models, columns, strict=False)
    }
    notes += clipped_note(lost, joint.unit)
    return MetricValues(
        name=name,
        models=models,
        metrics=names,
        values=values,
        inputs=counted.files,
        statistics=joint.digest(),
        problem=lambda i, j, what, code: Problem(
            f"model '{models[i]}': {what}", code, name, None, names[j]
        ),
        reasons=_undefined_reasons(joint, names, values),
        replicates=found,
        limits=ends,
        positive=counted.positive,
        prevalence=prevalence,
        fewest=int(min(sizes)),
        thresholds=counted.thresholds,
        notes=tuple(notes),
    )


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
            Problem(
                f"scores from {p.min():g} to {p.max():g}, where {need(of_probabilities)} "
                "probabilities",
                "bad-probability",
                counted.name,
                None,
                model,
            )
            for model, p in zip(joint.models, _score_columns(joint), strict=True)
            if p.min() < 0 or p.max() > 1
        ]
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


def closed_form_limits(joint: JointCounts, names: Sequence[str], *, level: float) -> Limits:
    """Return lower and upper limits of measures (k, n), NaN where a bootstrap is needed.

    Shares of rows: exact (Clopper and Pearson). Measures invariant to the class ratio: from the two
    rates. ROC AUC and Gini: `delong_auc`, NaN with one row of a class. Others: NaN.
    Source: each method's own, see `inference`.
    """
    k = len(joint.models)
    low, high = np.full((k, len(names)), np.nan), np.full((k, len(names)), np.nan)
    patterns = PatternCounts(joint.models, joint.truth, joint.votes, joint.n)
    counts = ConfusionCounts.from_patterns(patterns)
    rows = counts.positives + counts.negatives
    cells = Cells.at_prevalence(counts, counts.positives / rows)
    for j, name in enumerate(names):
        found: Limits | None = None
        if name in CATALOG and CATALOG[name].needs == "confusion":  # without parameters
            found = exact_limits(name, cells, level=level)
            if found is None and CATALOG[name].invariant:
                found = measure_limits(name, cells, level=level)
        if found is not None:
            low[:, j], high[:, j] = found
    positives, negatives = (np.where(one, joint.n, 0) for one in (joint.truth, ~joint.truth))
    both = joint.scores is not None and positives.any() and negatives.any()
    for i in range(k) if both and {*names} & {"roc_auc", "gini"} else ():
        _, place = np.unique(joint.scores[:, i], return_inverse=True)  # type: ignore[index]
        sides = (np.bincount(place, weights=one) for one in (positives, negatives))
        area = delong_auc(*sides, level=level)
        for j, name in enumerate(names):
            if name in ("roc_auc", "gini"):
                a, b = (1, 0) if name == "roc_auc" else (2, -1)
                low[i, j], high[i, j] = a * area.low + b, a * area.high + b
    return low, high


FEW = 30  # rows of a class below which the bootstrap is smoothed
Evaluator = Callable[[Counts], Floats]
CELLS = (("FN", True, False), ("TP", True, True), ("FP", False, True), ("TN", False, False))


def sparse_data_reasons(joint: JointCounts, *, votes: bool, ranks: bool) -> list[str]:
    """Return why to smooth the bootstrap: classes below 30 rows, empty cells, separation.

    votes, ranks: whether measures of the 2 x 2 table, or of the order of scores, are used.
    """
    said, n, models = [], joint.n, np.array(joint.models, object)
    for word, rows in (("positive", joint.truth), ("negative", ~joint.truth)):
        if 0 < (count := n[rows].sum().item()) < FEW:
            said.append(format_count(count, f"{word} row"))
    for name, positive, vote in CELLS if votes else ():
        rows = joint.truth == positive
        empty = n[rows] @ (joint.votes[rows] == vote) == 0
        if rows.any() and empty.any():
            said.append(f"no {name} of {list_names(models[empty], 3)}")
    if ranks and joint.scores is not None and joint.truth.any() and not joint.truth.all():
        high, low = joint.scores[joint.truth], joint.scores[~joint.truth]
        apart = (high.min(axis=0) > low.max(axis=0)) | (high.max(axis=0) < low.min(axis=0))
        if apart.any() and not said:
            said.append(f"perfectly separated classes for {list_names(models[apart], 3)}")
    return said


def add_unseen_rows(joint: JointCounts, rng: np.random.Generator) -> JointCounts:
    """Add MASS pseudo-rows to each class, half right and half wrong for every model.

    Their scores are those of rows of their own class, or of the other where the model errs.
    """
    # by name, so that the order of models is irrelevant
    wrong = resampling.prior_error_patterns(len(joint.models))[
        :, np.argsort(order_by_name(joint.models))
    ]
    parts = [(joint.truth, joint.votes, joint.scores, joint.n.astype(np.float64))]
    for positive in (True, False):
        if not (joint.truth == positive).any():
            continue
        scores = None if joint.scores is None else _unseen_scores(joint, wrong, positive, rng)
        each = np.full(len(wrong), resampling.MASS / len(wrong))
        parts.append((np.full(len(wrong), positive), wrong ^ positive, scores, each))
    truth, votes, n = (np.concatenate([one[i] for one in parts]) for i in (0, 1, 3))
    found = [one[2] for one in parts if one[2] is not None]
    return JointCounts.from_rows(
        joint.models, truth, votes, np.concatenate(found) if found else None, n
    )


def _unseen_scores(
    joint: JointCounts, wrong: Bools, positive: bool, rng: np.random.Generator
) -> Floats:
    """Return the scores of pseudo-rows of a class, (m, k), at even quantiles of scores there."""
    assert joint.scores is not None
    found = np.empty(wrong.shape)
    own = joint.truth == positive
    other = ~own if not own.all() else own
    half = len(wrong) // 2
    for i in order_by_name(joint.models):
        scores = joint.scores[:, i]
        for errs, rows in ((True, other), (False, own)):
            order = np.argsort(scores[rows], kind="stable")
            above = np.cumsum(joint.n[rows][order])
            middles = (np.arange(half) + 0.5) / half * above[-1]
            places = order[np.searchsorted(above, middles, side="right")]
            found[wrong[:, i] == errs, i] = rng.permutation(scores[rows][places])
    return found


def bootstrap_replicates(
    joint: JointCounts,
    measured_by: Callable[[JointCounts], Evaluator],
    *,
    resamples: int,
    seed: int,
    why: Sequence[str],
) -> Floats:
    """Return the measures of bootstrap samples, (resamples, k, n), smoothed if `why`."""
    rng = resampling.random_stream(seed, "mlcps")
    rows = add_unseen_rows(joint, rng) if why else joint
    draws: Iterable[Counts] = (
        resampling.dirichlet_counts(rows.n, rows.truth, resamples=resamples, rng=rng)
        if why
        else resampling.resampled_counts(rows.n, resamples=resamples, rng=rng)
    )
    return np.concatenate([*map(measured_by(rows), draws)])
