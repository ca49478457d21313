"""Scores counted with truth: of each model by itself, of all in each row, and where to cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Any, Literal

import narwhals as nw
import numpy as np

from clfeval.arrays import Bools, Counts, Floats
from clfeval.counts.count import Counted
from clfeval.counts.judge import slice_label
from clfeval.counts.raw import collect, counting_rows, finite, score_column
from clfeval.counts.reading import frames
from clfeval.errors import Problem, UsageError, listing
from clfeval.tables.csv import SAMPLE_ROWS
from clfeval.tables.names import natural
from clfeval.tables.peek import is_absent


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Score columns of equal length with the weight of each row; rows without a value are out."""

    models: tuple[str, ...]
    scores: tuple[Floats, ...]
    n: Counts

    def where(self, mask: Bools) -> ScoreTable:
        """Return the rows of a mask."""
        return ScoreTable(self.models, tuple(column[mask] for column in self.scores), self.n[mask])


def read_scores(
    counted: Counted, rows: Literal["positive", "negative", "all"]
) -> tuple[ScoreTable, dict[str, Bools]]:
    """Read the scores of all rows or of one class; also, per slice, which rows belong to it."""
    _need_scores(counted)
    tables = [
        collect(_selected(frame, counted, rows))
        for frame in frames(counted.predictions, counted.mode)
    ]
    names = tuple(model.name for model in counted.models)

    def column(name: str) -> Floats:
        return np.concatenate([table[name].to_numpy().astype(np.float64) for table in tables])

    weights: Any = column("w")
    if counted.slices[None].n.dtype == np.int64:
        weights = weights.astype(np.int64)
    scores = ScoreTable(names, tuple(column(f"s{i}") for i in range(len(names))), weights)
    masks: dict[str, Bools] = {}
    for position, table in enumerate(tables):
        before = sum(len(earlier) for earlier in tables[:position])
        for label, mask in _slice_masks(table, counted).items():
            whole = masks.setdefault(label, np.zeros(len(weights), bool))
            whole[before : before + len(mask)] = mask
    return scores, masks


def score_rows(counted: Counted, i: int) -> nw.LazyFrame[Any]:
    """Return the scores of model i of all rows: s, w, t (1 positive), b0.. slices.

    A missing value of any model leaves a row out; where there was none, only this one is read.
    """
    complete = not counted.blank_rows and not any(file.dropped for file in counted.files)
    names = [f"b{j}" for j in range(len(counted.plan.by))]
    parts = [
        _selected(frame, counted, "all", only=i if complete else None).select(
            "t", "w", *names, s=nw.col(f"s{i}")
        )
        for frame in frames(counted.predictions, counted.mode)
    ]
    return nw.concat(parts) if len(parts) > 1 else parts[0]


def _selected(
    frame: nw.LazyFrame[Any], counted: Counted, rows: str, only: int | None = None
) -> nw.LazyFrame[Any]:
    plan = counted.plan
    truth = nw.col(plan.truth)
    is_positive = truth.is_in(list(counted.positive_values))
    picked = {
        f"s{i}": nw.col(model.columns[0])
        if model.kind == "label"
        else finite(score_column(model, plan.positive))
        for i, model in enumerate(plan.models)
        if only in (None, i)
    }
    picked["t"] = is_positive.cast(nw.Int8)
    weight = nw.lit(1.0) if plan.weight is None else nw.col(plan.weight).cast(nw.Float64)
    picked["w"] = weight
    # a vote for the largest probability needs them all, so a row that lacks one is not counted
    largest = [model for model in plan.models if np.isnan(plan.thresholds[model.name])]
    largest = largest if only is None else []
    needed = [column for model in largest for column in model.columns]
    picked |= {f"o{i}": finite(nw.col(name).cast(nw.Float64)) for i, name in enumerate(needed)}
    wanted = counting_rows(frame, plan).filter(~truth.is_null())
    if rows != "all":
        wanted = wanted.filter(is_positive if rows == "positive" else ~is_positive)
    slices = [nw.col(name).alias(f"b{i}") for i, name in enumerate(plan.by)]
    narrow = wanted.select(*[value.alias(name) for name, value in picked.items()], *slices)
    return narrow.drop_nulls(subset=list(picked))


def _slice_masks(table: nw.DataFrame[Any], counted: Counted) -> dict[str, Bools]:
    """Return the rows of each slice, comparing whole columns with the few distinct slice values."""
    by = counted.predictions.roles.by
    if not by:
        return {}
    names = [f"b{i}" for i in range(len(by))]
    masks: dict[str, Bools] = {}
    for values in table.select(names).unique().rows():
        same = [
            table[name].is_null() if is_absent(value) else table[name] == value
            for name, value in zip(names, values, strict=True)
        ]
        mask = np.all([part.fill_null(value=False).to_numpy() for part in same], axis=0)
        label = slice_label(by, values)
        masks[label] = masks.get(label, np.zeros(len(mask), bool)) | mask
    return masks


def top_count(text: str, rows: int | float) -> float:
    """Turn `0.05`, `5%` or `200` into a number of rows; a fraction is rounded down, exactly."""
    try:
        fraction = Fraction(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        fraction = Fraction(0)
    share = fraction.denominator != 1 or "." in text or "%" in text
    if fraction <= 0 or (share and fraction > 1):
        raise UsageError(
            Problem(f"--top '{text}' is neither a count nor a fraction", "bad-top"),
            hint="a count like 200, or a fraction like 0.05 or 5%",
        )
    count = fraction * Fraction(rows) // 1 if share else fraction
    if count < 1:
        raise UsageError(
            Problem(f"--top {text} of {rows} rows is less than one row", "bad-top"),
            hint="give a count, for example --top 1",
        )
    return float(count)


def top_cuts(table: ScoreTable, count: float) -> tuple[dict[str, float], dict[str, float]]:
    """Return each model's cut for its `count` highest rows, and how many rows that takes.

    A row is taken while fewer than `count` rows score higher, so ties at the cut all come in.
    """
    cuts, taken = {}, {}
    for name, column in zip(table.models, table.scores, strict=True):
        higher = weight_above(column, table.n)
        inside = higher < count
        cuts[name] = float(column[inside].min())
        taken[name] = float(table.n[inside].sum())
    return cuts, taken


def weight_above(column: Floats, n: Counts) -> Floats:
    """Return for every row how many rows (or what weight) score strictly higher."""
    order = np.argsort(column)
    running = np.concatenate([[0.0], np.cumsum(n[order], dtype=np.float64)])
    return np.asarray(running[-1] - running[np.searchsorted(column[order], column, side="right")])


def ranks(everything: ScoreTable, target: ScoreTable) -> ScoreTable:
    """Replace each target row's scores by minus the rank in the model's own order of all rows.

    The rank is 1 + the rows scoring strictly higher, so that the first `count` rows of every model
    are those with a negated rank of at least -count.
    """
    columns = []
    for column, mine in zip(everything.scores, target.scores, strict=True):
        order = np.argsort(column)
        running = np.concatenate([[0.0], np.cumsum(everything.n[order], dtype=np.float64)])
        higher = running[-1] - running[np.searchsorted(column[order], mine, side="right")]
        columns.append(-(higher + 1))
    return ScoreTable(target.models, tuple(columns), target.n)


def grouped_scores(
    table: ScoreTable, groups: Mapping[str, tuple[str, ...]], target: str
) -> ScoreTable:
    """Merge the members of a group: it finds what any member finds, so its best score counts."""
    best = np.maximum if target == "positive" else np.minimum
    member_of = {member: name for name, members in groups.items() for member in members}
    merged: dict[str, Floats] = {}
    for name, column in zip(table.models, table.scores, strict=True):
        key = member_of.get(name, name)
        merged[key] = best(merged[key], column) if key in merged else column
    return ScoreTable(tuple(merged), tuple(merged.values()), table.n)


def _need_scores(counted: Counted) -> None:
    labels = [model.name for model in counted.models if model.kind == "label"]
    if labels:
        raise UsageError(
            Problem(
                f"scores are needed, but {listing(labels)} hold{'s' * (len(labels) == 1)} labels",
                "needs-scores", counted.predictions.files[0].name,
            ),
            hint="leave them out with --model, or give a table of scores",
        )  # fmt: skip


_PIECE = 2**20  # numbers turned into bytes at a time
_MOST_SORTED = 2**25  # rows put in order in memory


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCounts:
    """The sufficient statistic of a ranking: m distinct scores, ascending, and (m,) counts."""

    scores: Floats
    positives: Counts
    negatives: Counts

    def digest(self, piece: int = _PIECE) -> str:
        """Return the sha256 of scores and counts."""
        found = sha256()
        for column in (self.scores, self.positives, self.negatives):
            for start in range(0, len(column), piece):
                found.update(column[start : start + piece].astype("<f8").tobytes())
        return found.hexdigest()

    @classmethod
    def of(cls, scores: Floats, positives: Counts, negatives: Counts) -> ScoreCounts:
        """Merge equal scores and put them in order."""
        if (scores[1:] < scores[:-1]).any():
            order = np.argsort(scores, kind="stable")
            scores, positives, negatives = scores[order], positives[order], negatives[order]
        new = _changes(scores)
        if new.all():
            return cls(scores, positives, negatives)
        place = np.cumsum(new) - 1
        return cls(
            scores[new],
            np.bincount(place, positives).astype(positives.dtype),
            np.bincount(place, negatives).astype(negatives.dtype),
        )


def model_scores(counted: Counted, i: int) -> Mapping[str | None, ScoreCounts]:
    """Count the scores of model i, for the whole table (None) and for each slice.

    Rows are those that were counted: with --missing drop, all that lack no model's answer. One
    model at a time, because ten million distinct scores are a quarter of a gigabyte.
    """
    rows, by = score_rows(counted, i), counted.predictions.roles.by
    if not by and counted.plan.weight is None and _mostly_distinct(counted, i):
        return {None: _sorted(rows)}
    keys = ["s", *(f"b{j}" for j in range(len(by)))]
    weighed = rows.select(*keys, n=nw.col("w"), positives=nw.col("w") * nw.col("t"))
    table = collect(weighed.group_by(*keys).agg(nw.col("n", "positives").sum()).sort("s"))
    kind: Any = np.int64 if counted.slices[None].n.dtype == np.int64 else np.float64
    scores = table["s"].to_numpy()
    hits, n = (table[name].to_numpy().astype(kind) for name in ("positives", "n"))
    found: dict[str | None, ScoreCounts] = {None: ScoreCounts.of(scores, hits, n - hits)}
    if by:
        labels = np.array([slice_label(by, row) for row in table.select(keys[1:]).rows()], object)
        for label in sorted(set(labels.tolist()), key=natural):
            mask = labels == label
            found[label] = ScoreCounts.of(scores[mask], hits[mask], (n - hits)[mask])
    return found


def _mostly_distinct(counted: Counted, i: int) -> bool:
    """Tell whether the first rows hardly share a score, so that grouping would not shrink them.

    A table too large for that to be kept in memory is grouped all the same.
    """
    peeks, layout = counted.predictions.peeks, counted.predictions.layout
    name = layout.prediction if layout.name == "long" else counted.models[i].columns[0]
    few = len(peeks[name].texts) < 0.95 * SAMPLE_ROWS
    return not few and sum(file.rows for file in counted.files) <= _MOST_SORTED


def _sorted(rows: nw.LazyFrame[Any]) -> ScoreCounts:
    """Count scores by putting the rows in order: for those that hardly ever tie."""
    table = collect(rows.select("s", "t").sort("s"))
    scores, hits = table["s"].to_numpy(), table["t"].to_numpy()
    new = _changes(scores)
    if new.all():
        positives = hits.astype(np.int64)
        return ScoreCounts(scores, positives, 1 - positives)
    first = np.flatnonzero(new)
    positives = np.add.reduceat(hits, first, dtype=np.int64)
    return ScoreCounts(scores[first], positives, np.diff(first, append=len(hits)) - positives)


def _changes(scores: Floats) -> Bools:
    """Mark where a score differs from the one before it."""
    new = np.ones(len(scores), bool)
    np.not_equal(scores[1:], scores[:-1], out=new[1:])
    return new
