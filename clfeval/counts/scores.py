"""Score counts by class: of single models, of all models by row, and thresholds of top rows."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import reduce
from hashlib import sha256
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, count_up_to, running_sums
from clfeval.counts.buckets import Buckets
from clfeval.counts.clusters_and_weights import (
    Owned,
    Owners,
    clusters_or_weights,
    select_owners,
    subtract_owners,
)
from clfeval.counts.evaluated_rows import EvaluatedRows, Target, slice_rows_of_tables
from clfeval.counts.patterns import (
    WeightedCounts,
    common_unit,
    from_units,
    group_members,
    squares_of,
    stack_arrays,
)
from clfeval.errors import UsageError, list_names
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field, replace
from clfeval.tables.frames import as_text, collect, concatenate_frames, nw


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores of several models by row, with weights in units; incomplete rows are excluded."""

    models: tuple[str, ...]
    scores: tuple[Floats, ...]
    n: Counts
    unit: float = 1

    def select(self, mask: Bools) -> ScoreTable:
        """Return the rows selected by a mask."""
        return replace(self, scores=tuple(column[mask] for column in self.scores), n=self.n[mask])


def read_scores(evaluated: EvaluatedRows, target: Target) -> tuple[ScoreTable, dict[str, Bools]]:
    """Read the scores of all rows or of one class, with a mask of the rows of each slice."""
    settings = evaluated.settled
    columns = settings.columns
    if label_models := [model.name for model in columns.models if model.kind == "label"]:
        verb = "has" if len(label_models) == 1 else "have"
        message = f"scores are needed, but {list_names(label_models)} {verb} labels"
        hint = f"add {OPTION}--model NAME{END} for each model with scores, or use a table of scores"
        raise UsageError.new(message, "needs-scores", settings.name, hint=hint)
    names = tuple(model.name for model in columns.models)
    frames = evaluated.frames(scores=range(len(names)), by=True, target=target)
    tables = [collect(frame) for frame in frames]

    def column(name: str, kind: type[np.generic] = np.float64) -> Counts:
        return np.concatenate([table[name].to_numpy().astype(kind) for table in tables])

    scores = tuple(column(f"s{i}") for i in range(len(names)))
    n = column("w", np.int64)
    masks = dict[str, Bools]()
    for label, rows in slice_rows_of_tables(tables, columns.facets, columns.by).items():
        masks[label] = np.zeros(len(n), bool)
        masks[label][rows] = True
    return ScoreTable(names, scores, n, settings.unit), masks


@dataclass(frozen=True, slots=True)
class TopRows:
    """The number of highest rows requested, and those of each model, ties included."""

    count: float
    flagged_rows: Mapping[str, float]


def find_top_rows(
    evaluated: EvaluatedRows, text: str, rows: int | float
) -> tuple[dict[str, float], TopRows]:
    """Return each model's threshold for its highest rows, as many as --top requests of all rows."""
    table, _ = read_scores(evaluated, "all")
    count = parse_top_count(text, rows)
    thresholds, flagged_rows = top_thresholds(table, count)
    return thresholds, TopRows(count, flagged_rows)


def parse_top_count(text: str, rows: int | float) -> float:
    """Convert `0.05`, `5%` or `200` to a number of rows; fractions are rounded down, exactly."""
    from fractions import Fraction

    try:
        fraction = Fraction(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        fraction = Fraction(-1)
    is_share = fraction.denominator != 1 or "." in text or "%" in text
    if not 0 < fraction <= (1 if is_share else sys.float_info.max):
        hint = "write a count of at least 1, or a share such as 5%"
        message = f"{OPTION}--top{END} '{text:.60}' is neither a count nor a fraction"
        message = message if fraction else f"{OPTION}--top{END} {text:.60} flags no rows"
        raise UsageError.new(message, "bad-top", hint=hint)
    # a sum of decimal weights is compared as the decimal number it is written as
    count = fraction * Fraction(repr(rows)) // 1 if is_share else fraction
    if count < 1:
        message = f"{OPTION}--top{END} {text} of {rows} rows is less than one row"
        raise UsageError.new(
            message, "bad-top", hint=f"give a count, for example {OPTION}--top 1{END}"
        )
    return float(count)


def top_thresholds(table: ScoreTable, count: float) -> tuple[dict[str, float], dict[str, float]]:
    """Return each model's threshold for its `count` highest rows with ties, and rows flagged."""
    thresholds = {}
    flagged_rows = {}
    most_units = count * table.unit
    for name, scores in zip(table.models, table.scores, strict=True):
        is_flagged = weight_above(scores, table.n, scores) < most_units
        thresholds[name] = float(scores[is_flagged].min())
        flagged_rows[name] = float(from_units(table.n[is_flagged].sum(), table.unit))
    return thresholds, flagged_rows


def weight_above(column: Floats, n: Counts, scores: Floats) -> Counts:
    """Return for each given score the number (or weight) of rows of a column that score higher."""
    order = np.argsort(column)
    cumulative_weight = np.concatenate([[0], np.cumsum(n[order])])
    return np.asarray(cumulative_weight[-1] - cumulative_weight[count_up_to(column[order], scores)])


def rank_scores(all_rows: ScoreTable, target: ScoreTable) -> ScoreTable:
    """Replace each target row's scores by minus its rank among all rows of the model.

    The rank is 1 + the rows scoring strictly higher.
    """
    ranks = []
    for scores, target_scores in zip(all_rows.scores, target.scores, strict=True):
        rows_above = from_units(weight_above(scores, all_rows.n, target_scores), target.unit)
        ranks.append(-(rows_above + 1.0))
    return replace(target, scores=tuple(ranks))


def merge_group_scores(
    table: ScoreTable, groups: Mapping[str, tuple[str, ...]], target: str
) -> ScoreTable:
    """Merge the members of each group into their best score, as any member's detection counts."""
    better = np.maximum if target == "positive" else np.minimum
    members = group_members(table.models, groups)
    columns = [reduce(better, (table.scores[i] for i in indices)) for indices in members.values()]
    return ScoreTable(tuple(members), tuple(columns), table.n, table.unit)


_PIECE = 2**20  # numbers converted to bytes at a time


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCounts(WeightedCounts):
    """Counts of distinct scores by class, sufficient for rankings and for numeric features.

    scores: m distinct ones, ascending; positives and negatives (m,): rows of each, or their weight
    in units of 1 / `unit`. clusters: of these 2 m counts, positives first, as of `PatternCounts`.
    buckets: what is known of the scores in m groups, of which `scores` are the lowest ones.
    """

    scores: Floats
    positives: Counts
    negatives: Counts
    unit: float = 1
    clusters: Owned | None = None
    buckets: Buckets | None = None
    _known: dict[str, ScoreCounts] = field(default_factory=dict, repr=False)

    @property
    def probabilities(self) -> ScoreCounts:
        """The counts for measures of probabilities: of buckets two scores for each class."""
        x = self.scores
        if self.buckets is None or not (len(x) and x[0] >= 0 and x[-1] <= 1):
            return self
        if "points" not in self._known:
            points = self.buckets.points(np.array([self.positives, self.negatives]))
            self._known["points"] = ScoreCounts.from_scores(*points).frozen()
        return self._known["points"]

    def sums(self, part: slice = slice(None)) -> Floats:
        """Return the sum of the scores of each group of rows in a slice of the groups."""
        if self.buckets is None:
            n = self.positives[part] + self.negatives[part]
            return np.asarray(n * self.scores[part])
        n = np.array([self.positives, self.negatives])
        mean, _, _ = self.buckets.moments(n)
        return np.asarray((n * mean).sum(axis=0)[part])

    @property
    def highest(self) -> Floats:
        """The highest score of each group of rows, (m,)."""
        return self.scores if self.buckets is None else self.buckets.high.max(axis=0)

    @property
    def running(self) -> Counts:
        """Number of rows of each class below each score, and of all rows: (2, m + 1)."""
        return running_sums(self.positives, self.negatives)

    def frozen(self) -> ScoreCounts:
        """Return the counts with read-only arrays."""
        for column in (self.scores, self.positives, self.negatives):
            column.setflags(write=False)
        return self

    def digest(self, *, clusters: bool = True) -> str:
        """Return the sha256 of scores and counts; clusters: with those, or with weights."""
        hasher = sha256()
        units = (1, self.unit, self.unit)
        for column, unit in zip((self.scores, self.positives, self.negatives), units, strict=True):
            for start in range(0, len(column), _PIECE):
                piece = from_units(column[start : start + _PIECE], unit)
                hasher.update(np.ascontiguousarray(piece, "<f8").data)
        if clusters and self.clusters is not None:
            hasher.update(self.clusters.digest().encode())
        if self.buckets is not None:
            hasher.update(self.buckets.digest().encode())
        return hasher.hexdigest()

    def __add__(self, other: ScoreCounts) -> ScoreCounts:
        """Add the counts of other rows; ValueError for counts by cluster."""
        if self.clusters is not None or other.clusters is not None:
            raise ValueError("counts by cluster do not add up")
        scores, positives, negatives = stack_arrays(self, other, "scores", "positives", "negatives")
        buckets = None
        if self.buckets is not None and other.buckets is not None:
            buckets = self.buckets + other.buckets
        return ScoreCounts.from_scores(
            scores, positives, negatives, common_unit(self, other), buckets
        )

    def coarser(self, most: int) -> ScoreCounts:
        """Merge neighbouring scores into at most `most` groups, each with its lowest score."""
        starts_from_top = group_starts(self.positives[::-1] + self.negatives[::-1], most)
        m = len(self.scores)
        if len(starts_from_top) == m:
            return self
        first_indices = m - np.append(starts_from_top[1:], m)[::-1]  # ascending
        positives, negatives = (
            np.add.reduceat(n, first_indices) for n in (self.positives, self.negatives)
        )
        group_index = np.searchsorted(first_indices, np.arange(m), side="right") - 1
        count_index = np.concatenate([group_index, group_index + len(first_indices)])
        clusters = None if self.clusters is None else self.clusters.renumber(count_index)
        return ScoreCounts(self.scores[first_indices], positives, negatives, self.unit, clusters)

    def subtract(self, part: ScoreCounts) -> ScoreCounts:
        """Return the counts without those of a part; scores without rows are kept."""
        indices = np.searchsorted(self.scores, part.scores)
        positives = self.positives.copy()
        negatives = self.negatives.copy()
        positives[indices] -= part.positives
        negatives[indices] -= part.negatives
        count_indices = np.concatenate([indices, indices + len(self.scores)])
        clusters = subtract_owners(self.clusters, part.clusters, count_indices)
        buckets = self.buckets
        if buckets is not None and part.buckets is not None:
            buckets = buckets.subtract(part.buckets, indices)
        return ScoreCounts(self.scores, positives, negatives, self.unit, clusters, buckets)

    @classmethod
    def from_rows(cls, x: Counts, truth: Bools, n: Counts | None, unit: float = 1) -> ScoreCounts:
        """Count rows: values x, classes truth, weights n, all (rows,); n None for one each."""
        if n is not None:
            return cls.from_scores(x, np.where(truth, n, 0), np.where(truth, 0, n), unit)
        if (x[1:] < x[:-1]).any():
            order = np.argsort(x)
            x, truth = x[order], truth[order]
        is_new = is_new_score(x)
        if is_new.all():
            positives = truth.astype(np.int64)
            return cls(x, positives, 1 - positives)
        starts = np.flatnonzero(is_new)
        # the same bytes as integers: summing booleans takes five times as long
        positives = np.add.reduceat(truth.view(np.int8), starts, dtype=np.int64)
        return cls(x[starts], positives, np.diff(starts, append=len(x)) - positives)

    @classmethod
    def from_scores(
        cls,
        scores: Floats,
        positives: Counts,
        negatives: Counts,
        unit: float = 1,
        buckets: Buckets | None = None,
    ) -> ScoreCounts:
        """Merge equal scores, and sort them."""
        if (scores[1:] < scores[:-1]).any():
            order = np.argsort(scores, kind="stable")
            scores, positives, negatives = scores[order], positives[order], negatives[order]
            buckets = None if buckets is None else buckets.take(order)
        is_new = is_new_score(scores)
        if is_new.all():
            return cls(scores, positives, negatives, unit, buckets=buckets)
        first_indices = np.flatnonzero(is_new)
        positives, negatives = (
            np.add.reduceat(class_counts, first_indices) for class_counts in (positives, negatives)
        )
        buckets = None if buckets is None else buckets.merge(first_indices)
        return cls(scores[is_new], positives, negatives, unit, buckets=buckets)


def group_starts(rows: Counts, most: int) -> Ints:
    """Return the start indices of at most `most` groups of rows (m,), smaller at both ends."""
    if len(rows) <= most:
        return np.arange(len(rows))
    cumulative_rows = np.cumsum(rows)
    total = int(cumulative_rows[-1])
    # half of the ends evenly spaced, a quarter from each side in geometric progression
    from_each_end = np.geomspace(1, total, most // 4)
    last_rows = np.concatenate(
        [np.linspace(1, total, most // 2), from_each_end, total - from_each_end]
    )
    last_indices = np.unique(np.searchsorted(cumulative_rows, np.clip(last_rows, 1, total)))
    return np.concatenate([[0], last_indices[:-1] + 1])


def count_model_scores(evaluated: EvaluatedRows, i: int) -> Mapping[str | None, ScoreCounts]:
    """Count the scores of model i, for the whole table (None) and for each slice.

    With --missing drop, of the rows where no model's prediction is missing.
    """
    columns = evaluated.settled.columns
    table = _score_table_of_model(evaluated, i)
    scores = table[f"s{i}"].to_numpy()
    positives = table["positives"].to_numpy().astype(np.int64)
    negatives = table["n"].to_numpy().astype(np.int64) - positives
    owners: Owners | None = None
    if evaluated.settled.weighed:
        positive_squares, negative_squares, largest_positive, largest_negative = (
            table[name].to_numpy() for name in "qrgh"
        )
        owners = np.column_stack(
            [
                np.concatenate([positive_squares, negative_squares]),
                np.concatenate([largest_positive, largest_negative]),
            ]
        )
    elif columns.cluster is not None:
        owners = list(map(str, map(as_text, table["c"].to_list()))) * 2

    def slice_counts(mask: Ints | slice) -> ScoreCounts:
        counts = ScoreCounts.from_scores(
            scores[mask], positives[mask], negatives[mask], evaluated.settled.unit
        )
        if owners is None:
            return counts
        m = len(counts.scores)
        score_index = np.searchsorted(counts.scores, scores[mask])
        count_index = np.concatenate([score_index, score_index + m])  # positives come first
        n = np.concatenate([positives[mask], negatives[mask]])
        entry_indices = np.flatnonzero(n)
        owner_indices = np.arange(2 * len(scores)).reshape(2, -1)[:, mask].ravel()[entry_indices]
        owned = clusters_or_weights(
            select_owners(owners, owner_indices),
            count_index[entry_indices],
            n[entry_indices],
            2 * m,
        )
        return replace(counts, clusters=owned)

    slices = slice_rows_of_tables([table], columns.facets, columns.by)
    return {None: slice_counts(slice(None))} | {
        name: slice_counts(rows) for name, rows in slices.items()
    }


def _score_table_of_model(evaluated: EvaluatedRows, i: int) -> nw.DataFrame[Any]:
    """Return the rows n and positives of each score of model i, by slices and clusters.

    With sampling weights also the sums of squares q and r, of positives and of negatives, and the
    largest weights g and h.
    """
    columns = evaluated.settled.columns
    score = f"s{i}"
    rows = concatenate_frames(evaluated.frames(scores=(i,), by=True, cluster=True))
    keys = [score, *(f"b{j}" for j in range(len(columns.by)))]
    keys += [] if columns.cluster is None else ["c"]
    is_positive = nw.col("t").cast(nw.Int8)
    sums = {"n": nw.col("w"), "positives": nw.col("w") * is_positive}
    largest: dict[str, nw.Expr] = {}
    if evaluated.settled.weighed:
        square = squares_of("w")
        weight = nw.col("w").cast(nw.Float64)
        sums |= {"q": square * is_positive, "r": square * (1 - is_positive)}
        largest = {"g": weight * is_positive, "h": weight * (1 - is_positive)}
    aggregated = [nw.col(*sums).sum(), *([nw.col(*largest).max()] if largest else [])]
    totals = rows.select(*keys, **sums, **largest).group_by(*keys).agg(*aggregated)
    return collect(totals.sort(score))


def is_new_score(scores: Floats) -> Bools:
    """Return where a score differs from the one before it."""
    is_new = np.ones(len(scores), bool)
    np.not_equal(scores[1:], scores[:-1], out=is_new[1:])
    return is_new
