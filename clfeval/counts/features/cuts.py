"""Cuts of features: candidates, the best, and its value in cross-fitting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import chain
from typing import Any, Literal

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, safe_for_products
from clfeval.counts import patterns
from clfeval.counts.ambiguous_labels import refuse_similar_labels
from clfeval.counts.group_rows import weight_sums
from clfeval.counts.invalid_rows import HINTS, raise_found_problems
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.settings import raw_values_of, resolve_positive
from clfeval.errors import HEADER_ONLY, DataError, quote_name
from clfeval.inference.resampling import split_into_folds
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field, replace
from clfeval.tables.frames import (
    Frame,
    as_text,
    collect,
    count_texts,
    distinct_texts,
    is_missing,
    natural_sort_key,
    nw,
    pl,
)
from clfeval.tables.input import InputOptions
from clfeval.tables.invalid_cells import Check, numbered_rows
from clfeval.tables.scan import TableFile

_SEED, _DIVISIONS = 0, 5


UNDEALT = (np.inf, np.inf)


def cross_fitted_counts(positives: Counts, negatives: Counts) -> tuple[float, float]:
    """Return the cross-fitted numbers of positives and negatives above the best threshold.

    Two stratified folds: the best threshold of each half is applied to the other. The mean of five
    divisions, with one seed for every feature.

    Shapes: (values,) each, whole numbers. `UNDEALT` with fewer than two rows of a class.
    Source: cross-fitting; Stone 1974, Journal of the Royal Statistical Society B 36:111.
    """
    if min(positives.sum(), negatives.sum()) < 2:
        return UNDEALT
    rng = np.random.default_rng(_SEED)
    tp = fp = 0
    for _ in range(_DIVISIONS):
        first_positives, _ = split_into_folds(positives, 2, rng)
        first_negatives, _ = split_into_folds(negatives, 2, rng)
        first_half = first_positives, first_negatives
        second_half = positives - first_positives, negatives - first_negatives
        for choosing_half, counting_half in ((first_half, second_half), (second_half, first_half)):
            threshold_index = best_threshold_index(*choosing_half)
            half_positives, half_negatives = counting_half
            tp += half_positives[threshold_index:].sum().item()
            fp += half_negatives[threshold_index:].sum().item()
    return tp / _DIVISIONS, fp / _DIVISIONS


def best_threshold_index(positives: Counts, negatives: Counts) -> int:
    """Return the index of the best threshold; integers are compared exactly, without division."""
    positives, negatives, p, n = safe_for_products(
        positives, negatives, positives.sum(), negatives.sum()
    )
    tp, fp = positives[::-1].cumsum()[::-1], negatives[::-1].cumsum()[::-1]
    gain = np.abs(tp * n - fp * p)
    best_indices = np.flatnonzero(gain == gain.max())
    bias = np.abs(tp * n + fp * p - p * n)
    return int(best_indices[bias[best_indices].argmin()])


@dataclass(frozen=True, slots=True)
class ClassCounts(patterns.WeightedCounts):
    """Rows by class, in units; values: raw values of the positive class in each frame.

    missing: rows without a class; bad_weights: rows with an invalid weight. weight_unit: units per
    weight of 1; unit: units per row, of sampling weights those of their mean.
    """

    classes: tuple[str, ...]
    positive: str
    values: tuple[tuple[Any, ...], ...]
    positives: int | float
    negatives: int | float
    rows: tuple[int, ...]  # with a class, in each file
    missing: tuple[int, ...]
    bad_weights: int
    weight_unit: float = 1
    unit: float = 1

    def __add__(self, other: ClassCounts) -> ClassCounts:
        """Append the counts of further files with the same positive class."""
        if self.positive != other.positive:
            raise ValueError(f"different classes: {self.positive} and {other.positive}")
        added_fields = ("values", "positives", "negatives", "rows", "missing", "bad_weights")
        sums: dict[str, Any] = {
            name: getattr(self, name) + getattr(other, name) for name in added_fields
        }
        classes = tuple(sorted({*self.classes, *other.classes}, key=natural_sort_key))
        return replace(self, classes=classes, unit=patterns.common_unit(self, other), **sums)

    def is_positive(self, truth: str, frame: int = 0) -> nw.Expr:
        """Return 1 for positive rows and 0 for negative ones of a frame."""
        return nw.col(truth).is_in(list(self.values[frame])).cast(nw.Int8)


def count_classes(
    file: str,
    frames: Sequence[Frame],
    truth: str,
    input_options: InputOptions,
    *,
    column: str | None = None,
) -> ClassCounts:
    """Count the rows of each class; DataError for no rows or too many classes.

    column: name of the truth column in messages, if not `truth`.
    """
    unit: float = 1
    rows_of_files = _by_class(frames, truth, input_options.weight, unit)
    class_rows = [row for file_rows in rows_of_files for row in file_rows]
    needs_units = any(row.get("y") for row in class_rows) or input_options.sampling_weights
    if needs_units and not any(row["x"] for row in class_rows):
        # features are summed as floats, which are exact up to 2**53
        unit = patterns.weight_unit(frames, str(input_options.weight), most=2**53)
        rows_of_files = _by_class(frames, truth, input_options.weight, unit)
        class_rows = [row for file_rows in rows_of_files for row in file_rows]
    classes = tuple(sorted(distinct_texts(row["t"] for row in class_rows), key=natural_sort_key))
    if not classes:
        hint = HEADER_ONLY if not class_rows else f"no row has a class in '{column or truth}'"
        raise DataError.new("no rows to evaluate", "empty-table", file, hint=hint)
    counts = count_texts((row["t"] for row in class_rows), (row["rows"] for row in class_rows))
    rows_by_class = {name: counts[name] for name in classes}
    refuse_similar_labels(file, column or truth, rows_by_class, input_options)
    positive = resolve_positive(file, "", rows_by_class, input_options)
    values = tuple(
        raw_values_of((row["t"] for row in file_rows), positive) for file_rows in rows_of_files
    )
    totals = _class_totals(rows_of_files, positive)
    row_counts = _rows_by_file(rows_of_files, missing=False)
    missing_counts = _rows_by_file(rows_of_files, missing=True)
    bad_weights = sum(row.get("x", 0) for row in class_rows)
    units_per_row = unit if unit == 1 else patterns.row_unit(sum(totals), sum(row_counts))
    return ClassCounts(
        classes,
        positive,
        values,
        *totals,
        row_counts,
        missing_counts,
        bad_weights,
        unit,
        units_per_row,
    )


def _class_totals(
    rows_of_files: Sequence[Sequence[dict[str, Any]]], positive: str
) -> tuple[int, int]:
    """Return the weights of positives and of negatives in all files; rows: see `_by_class`."""
    totals = {True: 0.0, False: 0.0}
    for file_rows in rows_of_files:
        for row in file_rows:
            if not is_missing(row["t"]):
                totals[as_text(row["t"]) == positive] += row.get("w", row["rows"])
    return int(totals[True]), int(totals[False])


def _rows_by_file(
    rows_of_files: Sequence[Sequence[dict[str, Any]]], *, missing: bool
) -> tuple[int, ...]:
    """Return the rows of each file that have a class, or that have none."""
    return tuple(
        sum(row["rows"] for row in file_rows if is_missing(row["t"]) == missing)
        for file_rows in rows_of_files
    )


def _by_class(
    frames: Sequence[nw.LazyFrame[Any]], truth: str, weight: str | None, unit: float
) -> list[list[dict[str, Any]]]:
    """Return the rows of each file by class t, with sums of weights: see `weight_sums`."""
    weights = {} if weight is None else weight_sums(weight, unit)
    sums = [nw.len().alias("rows"), *(nw.col(name).sum() for name in weights)]
    class_frames = (frame.select(nw.col(truth).alias("t"), **weights) for frame in frames)
    return [collect(frame.group_by("t").agg(*sums)).rows(named=True) for frame in class_frames]


def refuse_single_class(file: str, classes: ClassCounts, column: str) -> None:
    """Raise DataError unless there are rows of both classes."""
    if classes.positives and classes.negatives:
        return
    absent_class = "negative" if classes.positives else "positive"
    message = (
        f"no row is {absent_class}: truth has only {' and '.join(map(quote_name, classes.classes))}"
    )
    hint = "features are evaluated by both classes: add rows of the other class"
    raise DataError.new(message, "single-class", file, None, column, hint=hint)


Cut = Literal["median", "mean", "best", "soft"] | float


@dataclass(frozen=True, slots=True)
class BinaryFeature:
    """A dichotomised feature: its threshold, and the weights of positives and negatives above.

    cross_fitted: the same by cross-fitting (`cross_fitted_counts`), None if the cut does not depend
    on classes.
    """

    cut: float
    rule: Rule | None
    tp: float
    fp: float
    cross_fitted: tuple[float, float] | None = field(default=None, compare=False)


def split_feature(feature: ScoreCounts, cut: Cut) -> BinaryFeature:
    """Dichotomise a numeric feature.

    `median` and `mean`: true above the median or mean of all rows (at the median where nothing is
    above it); a number: true at or above it; `best`: true at or above the value of largest |tp -
    fp| (shares), which is the two-sample Kolmogorov-Smirnov distance; of equal ones the least
    biased (|tp + fp - 1|), then the lowest. `soft`: no cut, votes are values scaled to 0..1 by the
    least and greatest one. Two values are split at the greater one, except where the cut is a
    number or soft. One value is constant: never true by a median or mean, and without a soft vote.
    """
    values, positives, negatives = feature.scores, feature.positives, feature.negatives
    if not len(values):
        return BinaryFeature(np.nan, None, 0, 0)
    is_constant = len(values) == 1
    if cut == "soft":
        if is_constant:
            return BinaryFeature(np.nan, "soft", np.nan, np.nan)
        halves = values / 2  # the range of two large numbers may overflow
        votes = (halves - halves[0]) / (halves[-1] - halves[0])
        return BinaryFeature(np.nan, "soft", float(votes @ positives), float(votes @ negatives))
    rule: Rule = ">="
    cross_fitted = None
    if isinstance(cut, float):
        threshold, first_index = cut, int(np.searchsorted(values, cut, side="left"))
    elif len(values) == 2:
        threshold, first_index = float(values[1]), 1
    elif cut == "best" and not is_constant:
        first_index = best_threshold_index(positives, negatives)
        threshold = float(values[first_index])
        cross_fitted = cross_fitted_counts(positives, negatives)
    else:
        weights = positives + negatives
        threshold = _mean(values, weights) if cut == "mean" else _median(values, weights)
        rule, first_index = ">", int(np.searchsorted(values, threshold, side="right"))
        if first_index == len(values) and not is_constant:  # the median is the greatest value
            rule, first_index = ">=", int(np.searchsorted(values, threshold, side="left"))
    tp = positives[first_index:].sum().item()
    fp = negatives[first_index:].sum().item()
    return BinaryFeature(threshold, rule, tp, fp, cross_fitted)


def split_rows(x: Floats, truth: Bools, n: Counts | None, cut: Cut) -> BinaryFeature:
    """Dichotomise rows as `split_feature` does; the common thresholds without sorting.

    x (rows,) without NaN; n None where every row counts once. Results do not depend on the order of
    rows, nor on repeating instead of weighting them.
    """
    skips_sorting = isinstance(cut, float) or (cut == "median" and n is None)
    if skips_sorting and len(np.unique(x[:100])) <= 2:  # two values in all?
        skips_sorting = bool(len(x)) and not ((x == x.min()) | (x == x.max())).all()
    if not skips_sorting:
        return split_feature(ScoreCounts.from_rows(x, truth, n), cut)
    rule: Rule = ">"
    if isinstance(cut, float):
        threshold, is_above, rule = cut, x >= cut, ">="
    else:
        middle_indices = [(len(x) - 1) // 2, len(x) // 2]
        threshold = _midpoint(*np.partition(x, middle_indices)[middle_indices])
        is_above = x > threshold
        if not is_above.any():  # the median is the greatest value
            is_above, rule = x >= threshold, ">="
    return BinaryFeature(
        threshold, rule, mask_weight(is_above & truth, n), mask_weight(is_above & ~truth, n)
    )


def mask_weight(rows: Bools, n: Counts | None) -> Any:
    """Return the number of rows in a mask, or their total weight."""
    return int(np.count_nonzero(rows)) if n is None else n[rows].sum().item()


def _mean(values: Floats, weights: Counts) -> float:
    """Return the weighted mean, also of values whose sum overflows."""
    with np.errstate(over="ignore"):
        mean = float(values @ weights / weights.sum())
    if np.isfinite(mean) or not np.isfinite(values).all():
        return mean
    largest = float(np.abs(values).max())
    return float((values / largest) @ weights / weights.sum()) * largest


def _median(values: Floats, weights: Counts) -> float:
    """Return the weighted median: the mean of the two middle values if there are two."""
    below = weights.cumsum()
    half = below[-1] / 2
    lower = values[np.searchsorted(below, half, side="left")]
    return _midpoint(lower, values[np.searchsorted(below, half, side="right")])


def _midpoint(lower: float, upper: float) -> float:
    """Return the midpoint of two values; the lower one if either is infinite."""
    halfway = lower + (upper - lower) / 2 if np.isfinite([lower, upper]).all() else lower
    return float(halfway)


Rule = Literal[">=", ">", "soft"]
# name, column and kind of a feature, its split, and numbers of positives, negatives, missing
Feature = tuple[str, str, str, BinaryFeature, Any, Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureCounts:
    """The sufficient statistic of k features, all fields of length k.

    names, columns (where they come from), kinds (binary, numeric, category, term). cuts and rules:
    a numeric feature is true where its value is `rule` (`>=` or `>`) its cut; cuts are NaN and
    rules None for features that need none, and for `soft` votes. tp, fp: positives and negatives
    for which the feature is true (sums of votes when soft); positives, negatives: those whose value
    is not missing; missing: rows without a value. A feature that is constant has no soft votes:
    NaN. Weights are in units of 1 / `unit`. held_tp, held_fp: see `cross_fitted_counts`, NaN where
    cuts do not depend on classes, else `UNDEALT`.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    cuts: Floats
    rules: tuple[Rule | None, ...]
    tp: Counts
    fp: Counts
    positives: Counts
    negatives: Counts
    missing: Counts
    held_tp: Floats
    held_fp: Floats
    unit: float = 1

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self.names)

    @classmethod
    def from_features(cls, features: Iterable[Feature], unit: float = 1) -> FeatureCounts:
        """Build the counts from single features."""
        fields_of_features = list(zip(*features, strict=True)) or [()] * 7
        names, columns, kinds, splits, positives, negatives, missing = fields_of_features
        # cross-fitting splits whole rows, which fractional weights are not
        cross_fitted = [
            split.cross_fitted if unit == 1 or split.cross_fitted is None else UNDEALT
            for split in splits
        ]
        held_counts = [counts or (np.nan, np.nan) for counts in cross_fitted]
        held_tp, held_fp = np.array(held_counts, np.float64).reshape(-1, 2).T
        return cls(
            names,
            columns,
            kinds,
            np.array([split.cut for split in splits], np.float64),
            tuple(split.rule for split in splits),
            np.array([split.tp for split in splits]),
            np.array([split.fp for split in splits]),
            np.array(positives),
            np.array(negatives),
            np.array(missing),
            held_tp,
            held_fp,
            unit,
        )

    @classmethod
    def concatenate(cls, parts: Sequence[FeatureCounts]) -> FeatureCounts:
        """Concatenate several sets of features."""
        fields: dict[str, Any] = {
            name: tuple(chain(*(getattr(part, name) for part in parts))) for name in _TEXTS
        }
        fields |= {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS
        }
        return cls(**fields, unit=parts[0].unit)

    def __add__(self, other: FeatureCounts) -> FeatureCounts:
        """Add the counts of other rows of the same features with the same thresholds."""
        has_same_texts = all(getattr(self, name) == getattr(other, name) for name in _TEXTS)
        if not has_same_texts or not np.array_equal(self.cuts, other.cuts, equal_nan=True):
            raise ValueError("the features or their thresholds differ")
        sums = {name: getattr(self, name) + getattr(other, name) for name in _ARRAYS[1:]}
        return replace(self, **sums, unit=patterns.common_unit(self, other))

    def take(self, indices: Ints) -> FeatureCounts:
        """Return the features at some indices, in their order."""
        fields: dict[str, Any] = {
            name: tuple(getattr(self, name)[i] for i in indices.tolist()) for name in _TEXTS
        }
        fields |= {name: getattr(self, name)[indices] for name in _ARRAYS}
        return replace(self, **fields)

    def digest(self) -> str:
        """Return the sha256 of the counts, independent of the order of features."""
        columns = (self.tp, self.fp, self.positives, self.negatives)
        count_rows = zip(
            *(patterns.from_units(column, self.unit).tolist() for column in columns), strict=True
        )
        features = zip(self.names, self.cuts.tolist(), self.rules, count_rows, strict=True)
        lines = sorted(
            f"{name!r} {cut!r} {rule} {' '.join(map(repr, counts))}"
            for name, cut, rule, counts in features
        )
        return sha256("\n".join(lines).encode()).hexdigest()


_TEXTS = ("names", "columns", "kinds", "rules")
_ARRAYS = ("cuts", "tp", "fp", "positives", "negatives", "missing", "held_tp", "held_fp")


_HINTS = HINTS | {
    "duplicate-row": "list each feature of a row once; put counts into a value column",
    "conflicting-truth": "give all entries of a row the same class",
    "unknown-row": f"add the class of every row to {OPTION}--truth-table{END}",
}


def raise_problems(
    files: Sequence[TableFile], checks: Sequence[Check], null_values: Sequence[str]
) -> None:
    """Run the checks over the files, and raise the problems they detect, if any."""
    if checks:
        frame = pl.concat([numbered_rows(file, null_values) for file in files])
        raise_found_problems(files, [(frame, checks)], _HINTS)
