"""Models by metrics: given, counted from predictions, or evaluated by another program."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from clfeval.arrays import Counts, Floats
from clfeval.counts.count import Counted
from clfeval.counts.kept import JointCounts
from clfeval.errors import DataError, Problem, UsageError, listing, suggestion
from clfeval.inference.resampling import CELLS, resampled_counts, stream
from clfeval.measures.catalog import CATALOG, computed, find_measure, one_of, spellings
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import why
from clfeval.measures.scores import clipped, mean_loss
from clfeval.methods.document import counting_notes
from clfeval.methods.estimates import undrawable_weights
from clfeval.result import InputFile, Warn

# a bias is neither better high nor low; the others tell what stands there by another name
_LEFT_OUT = ("phi", "phi_b", "delta_b", "f_beta", "mutual_information_u")
OF_TABLE = {
    name: of for name, of in computed("confusion", beta=1.0).items() if name not in _LEFT_OUT
}
OF_RANKING = computed("scores")
OF_PROBABILITIES = computed("probabilities")  # the loss of each row, whose mean they are

Evaluator = Callable[[Counts], Floats]


def evaluator(joint: JointCounts, names: Sequence[str]) -> Evaluator:
    """Return the function from counts of the joint rows (b, m) to measures (b, k, n)."""
    cells = _cells(joint)
    orders = _orders(joint) if any(name in OF_RANKING for name in names) else []
    losses = {
        name: [OF_PROBABILITIES[name](p, joint.truth) for p in _columns(joint)]
        for name in names
        if name in OF_PROBABILITIES
    }

    def evaluate(counts: Counts) -> Floats:
        found = np.empty((len(counts), len(joint.models), len(names)))
        if counts.dtype.kind != "f" and counts.max() <= np.iinfo(np.uint8).max:
            counts = counts.astype(np.uint8)  # a big table's counts in the order of its scores
        tables = cells(counts)
        for j, name in enumerate(names):
            if name in OF_TABLE:
                found[:, :, j] = OF_TABLE[name](tables)
            for i, loss in enumerate(losses.get(name, ())):
                found[:, i, j] = mean_loss(loss, counts)
        for i, (order, ranks, truth) in enumerate(orders):
            rows = counts[:, order]
            positives = rows * truth
            rows -= positives
            for j, name in enumerate(names):
                if name in OF_RANKING:
                    found[:, i, j] = OF_RANKING[name](ranks, positives, rows)
        return found

    return evaluate


def cells_of(joint: JointCounts) -> Confusion:
    """Return the 2 x 2 tables of the models as they were counted, (k,) each."""
    found = _cells(joint)(joint.n[None])
    return Confusion(found.tp[0], found.fp[0], found.fn[0], found.tn[0])


def _cells(joint: JointCounts) -> Callable[[Counts], Confusion]:
    """Return the function from counts (b, m) to 2 x 2 tables, (b, k) each.

    Rows of the same truth and votes are neighbours: they are added up first.
    """
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


def _orders(joint: JointCounts) -> list[tuple[Counts, Counts, Counts]]:
    """Return, per model, the rows in the order of its scores: places, ranks, truth."""
    found = []
    for scores in _columns(joint):
        order = np.argsort(scores, kind="stable")
        ordered = scores[order]
        # ranks of equal scores are equal, and take half the memory
        ranks = np.zeros(len(order), np.int32)
        np.cumsum(ordered[1:] > ordered[:-1], out=ranks[1:])
        found.append((order, ranks, joint.truth[order]))
    return found


def _columns(joint: JointCounts) -> Sequence[Floats]:
    """Return the scores of each model; ValueError where they were not counted."""
    if joint.scores is None:
        raise ValueError("no scores were counted")
    return list(joint.scores.T)


MEASURED = (*OF_TABLE, *OF_RANKING, *OF_PROBABILITIES)
DEFAULT = ("sensitivity", "specificity", "precision", "npv")
RESAMPLES, FEWEST = 1000, 100
MOST_DRAWN = 500_000_000  # distinct rows x resamples, unless so many are asked for


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Measures of k models and, where wanted, their joint replicates.

    values: (k, n), NaN where undefined. reasons: why value i, j is undefined, or that it is
    infinite. replicates: (B, k, n), NaN where undefined; all models on the same rows in each.
    clipped: per model, rows whose truth had a probability too small for log_loss.
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    values: Floats
    reasons: Mapping[tuple[int, int], str]
    replicates: Floats | None
    digest: str
    clipped: Mapping[str, int | float]


def measure_names(names: Sequence[str], option: str = "--metric") -> tuple[str, ...]:
    """Return the measures by id, each once; UsageError for names of none that is computed here."""
    found = []
    for name in names:
        one = one_of(name, MEASURED)
        if one is None:
            other = find_measure(name)
            what = f"no measure '{name}'"
            if other is not None:
                what = f"{other.id} is not computed from predictions here"
            problem = Problem(f"{option}: {what}", "unknown-measure")
            raise UsageError(problem, hint=_hint(option, name))
        found.append(one)
    return tuple(dict.fromkeys(found))


def only_ranks(metrics: Sequence[str]) -> bool:
    """Tell whether only the order of scores matters to what is measured."""
    return bool(metrics) and set(measure_names(metrics)) <= set(OF_RANKING)


def measured(
    counted: Counted, metrics: Sequence[str], *, resamples: int | None, seed: int
) -> Measured:
    """Measure every model of a table; `resamples` 0 for no replicates, None for a fit number.

    Without a number there are 1000 replicates, or fewer where 1000 times the distinct rows would
    be more than 500 million, and never fewer than 100. No metrics: the default ones.

    Errors: UsageError for unknown measures, measures of scores where a model holds labels, and
    replicates of rows of fractional weight; DataError where probabilities are none.
    """
    names = measure_names(metrics) or DEFAULT
    joint = _joint(counted, names)
    m = len(joint.n)
    if resamples is None:
        resamples = max(FEWEST, min(RESAMPLES, MOST_DRAWN // m))
    if resamples and joint.n.dtype.kind == "f":
        raise undrawable_weights()
    measure = evaluator(joint, names)
    values = measure(joint.n[None])[0]
    replicates = None
    if resamples:
        rng = stream(seed, "mlcps")
        draws = resampled_counts(joint.n, resamples=resamples, rng=rng, cells=CELLS)
        replicates = np.concatenate([measure(counts) for counts in draws])
    lost: dict[str, int | float] = {}
    if joint.scores is not None and "log_loss" in names:
        for name, p in zip(joint.models, joint.scores.T, strict=True):
            lost[name] = clipped(p, joint.truth, joint.n).item()
    return Measured(
        models=joint.models, metrics=names, values=values, reasons=_reasons(joint, names, values),
        replicates=replicates, digest=joint.digest(),
        clipped={name: count for name, count in lost.items() if count},
    )  # fmt: skip


def _joint(counted: Counted, names: Sequence[str]) -> JointCounts:
    """Count rows of votes, and of scores where a measure needs them; refuse what has none."""
    wanted = [name for name in names if name in (*OF_RANKING, *OF_PROBABILITIES)]
    if not wanted:
        return counted.joint(scores=False)
    labels = [model.name for model in counted.models if model.kind == "label"]
    if labels:
        hold = f"{listing(labels)} hold{'s' * (len(labels) == 1)} labels"
        raise UsageError(
            Problem(f"{_need(wanted)} scores, but {hold}", "needs-scores", counted.name),
            hint="name measures of labels with --metric, leave these models out with --model, or "
            "give a table of scores",
        )
    joint = counted.joint(scores=True)
    of_probabilities = [name for name in wanted if name in OF_PROBABILITIES]
    if of_probabilities and joint.scores is not None:
        low, high = joint.scores.min(axis=0).tolist(), joint.scores.max(axis=0).tolist()
        problems = [
            Problem(
                f"scores from {least:g} to {most:g}, where {_need(of_probabilities)} probabilities",
                "bad-probability", counted.name, None, model,
            )
            for model, least, most in zip(joint.models, low, high, strict=True)
            if least < 0 or most > 1
        ]  # fmt: skip
        if problems:
            hint = "name other measures with --metric, or give scores between 0 and 1"
            raise DataError(problems, hint=hint)
    return joint


def _need(names: Sequence[str]) -> str:
    """Say that some measures need something."""
    return f"{' and '.join(names)} need{'s' * (len(names) == 1)}"


def _reasons(
    joint: JointCounts, names: Sequence[str], values: Floats
) -> dict[tuple[int, int], str]:
    """Say why values are undefined, or that they are infinite."""
    found: dict[tuple[int, int], str] = {}
    places = np.argwhere(~np.isfinite(values)).tolist()
    if not places:
        return found
    cells = cells_of(joint)
    for i, j in places:
        if math.isnan(values[i, j]):
            table = Confusion(*(part[i] for part in (cells.tp, cells.fp, cells.fn, cells.tn)))
            found[i, j] = why(CATALOG[names[j]].undefined, table)
        else:
            found[i, j] = "infinite" if values[i, j] > 0 else "minus_infinite"
    return found


def _hint(option: str, name: str) -> str:
    """Suggest a measure by id or alias, or to repeat the option."""
    if "," in name:
        parts = [part.strip() for part in name.split(",") if part.strip()]
        return f"one at a time: {' '.join(f'{option} {part}' for part in parts)}"
    return suggestion(name, spellings(MEASURED)) or f"one of {', '.join(MEASURED)}"


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
    inputs: tuple[InputFile, ...]
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


def of_predictions(
    counted: Counted, metrics: Sequence[str], *, resamples: int | None, seed: int,
    unused: Collection[str] = (),
) -> Given:  # fmt: skip
    """Measure the models of a prediction table, and resample its rows for all of them at once.

    Measures that are `unused`, having weight 0, may be undefined.

    Errors: DataError for measures that are undefined, such as the precision of a model that never
    says positive; UsageError for weights that are not whole where a bootstrap is wanted.
    """
    found = measured(counted, metrics, resamples=resamples, seed=seed)
    name = counted.name
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
        name=name, models=found.models, metrics=found.metrics, values=found.values,
        inputs=counted.files,
        statistics=found.digest,
        problem=lambda i, j, what, code: Problem(
            f"model '{found.models[i]}': {what}", code, name, None, found.metrics[j]
        ),
        replicates=found.replicates, positive=counted.positive, thresholds=counted.thresholds,
        notes=tuple(notes),
    )  # fmt: skip


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
