"""Pattern counts and confusion counts as arrays, and fractional weights as integer units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from math import floor, frexp, inf, log10, nextafter
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from clfeval.arrays import MOST, Bools, Counts, Floats, Ints, Number
from clfeval.counts import clusters_and_weights
from clfeval.records import dataclass, replace
from clfeval.tables.frames import Frame, collect, nw
from clfeval.tables.layouts.counts_table import CountsRow


class WithUnit(Protocol):
    """Counts of rows, or of weights in units of 1 / `unit`."""

    @property
    def unit(self) -> float:
        """The number of units in a row, or in a weight of 1."""
        ...


class CountedStatistic(WithUnit, clusters_and_weights.Statistic, Protocol):
    """A statistic of rows, or of weights in units."""


S = TypeVar("S", bound=CountedStatistic)
_PLACES = 15  # decimal places tested
_MAX_EXACT_UNITS = 2.0**50  # below it a test of weights for d decimal places is exact
_FINEST = 1000  # binary places


class WeightedCounts:
    """Counts of rows, or of weights in units."""

    __slots__ = ()
    unit: float

    @property
    def fractional(self) -> bool:
        """True if counts are weights in units of less than 1, not rows."""
        return self.unit != 1


def weight_unit(frames: Sequence[Frame], column: str, *, most: int = MOST) -> float:
    """Return the number of units in a weight of 1, for finite weights >= 0.

    10**d where every weight has at most d decimal places (as it is written shortest), else 2**k as
    large as the sum of all weights allows, which is at most `most` units; weights are rounded to
    that, by less than one part in 10**12 of the greatest for a million rows.
    """
    weight = nw.col("w")
    decimal_places = range(1, _PLACES + 1)
    # polars divides by a constant by multiplying with its inverse, which is not exact
    rounded_weights = (
        (weight * 10.0**d).round(0) / (weight * 0.0 + 10.0**d) for d in decimal_places
    )
    sums = {"rows": nw.len(), "greatest": weight.max()}
    for d, rounded_weight in zip(decimal_places, rounded_weights, strict=True):
        sums[f"d{d}"] = (rounded_weight != weight).cast(nw.Int64).sum()
    weight_frames = (frame.select(w=nw.col(column).cast(nw.Float64)) for frame in frames)
    summaries = [collect(frame.select(**sums)).rows(named=True)[0] for frame in weight_frames]
    greatest_weight = max(summary["greatest"] or 0.0 for summary in summaries)
    total_bound = greatest_weight * sum(summary["rows"] for summary in summaries)
    for d in decimal_places:
        is_exact = greatest_weight * 10.0**d < _MAX_EXACT_UNITS and total_bound * 10.0**d <= most
        if is_exact and not any(summary[f"d{d}"] for summary in summaries):
            return 10.0**d
    return 2.0 ** min(frexp(most)[1] - 1 - frexp(total_bound)[1], _FINEST)


def row_unit(total: float, rows: float) -> float:
    """Return the number of units in a row of the mean weight; never 1, which means counts of rows.

    Counts in it add up to the number of rows, whatever the scale of the weights.
    """
    mean = float(total / rows)
    return nextafter(1.0, 2.0) if mean == 1 else mean


def rounding_error(frames: Sequence[Frame], column: str, unit: float) -> float:
    """Return the relative rounding error of the smallest weight above 0; 0 for decimal units."""
    if unit == 1 or log10(unit).is_integer():
        return 0.0
    weight = nw.col(column).cast(nw.Float64)
    smallest_weights = []
    for frame in frames:
        positive_weights = frame.select(w=weight).filter(nw.col("w") > 0)
        smallest_weights += (
            collect(positive_weights.select(nw.col("w").min()))["w"].drop_nulls().to_list()
        )
    return 0.5 / (min(smallest_weights) * unit) if smallest_weights else 0.0


def in_units(weight: nw.Expr, unit: float) -> nw.Expr:
    """Return weights as integer units, at least 1 if above 0; unchanged for unit 1."""
    number = weight.cast(nw.Float64)
    if unit == 1:
        return number
    units = (number * unit).round(0).cast(nw.Int64)
    return nw.when(number > 0).then(nw.max_horizontal(units, nw.lit(1))).otherwise(units)


def squares_of(column: str) -> nw.Expr:
    """Return squares of integers as floats, as they may not fit 64 bits."""
    number = nw.col(column).cast(nw.Float64)
    return number * number


def sums_of_weights() -> list[nw.Expr]:
    """Return the sum q of squared weights w of a group of rows, and the largest one h."""
    return [squares_of("w").sum().alias("q"), nw.col("w").max().cast(nw.Float64).alias("h")]


def limit_in_units(limit: float, unit: float) -> int | float:
    """Return the largest number of units within a limit, which is read as a decimal number."""
    if unit == 1 or limit == inf:
        return limit
    # units that are no decimals, and rows of a mean weight, are rounded: allow for the error
    return floor(Fraction(repr(limit)) * Fraction(unit) * (1 + Fraction(1, 10**12)))


def from_units(n: Number, unit: float) -> Any:
    """Return counts of units as rows, or as weights."""
    return n if unit == 1 else n / unit


def stack_arrays(first: object, second: object, *names: str) -> list[Counts]:
    """Return the named arrays of two statistics, concatenated."""
    return [np.concatenate([getattr(first, name), getattr(second, name)]) for name in names]


def add_statistics(
    first: S, second: S, build: Callable[..., S], shared_names: Sequence[str], *array_names: str
) -> S:
    """Return the counts of the rows of both; ValueError where fields of `shared_names` differ.

    build: merges equal rows of the arrays that `array_names` names.
    """
    shared_values = [getattr(first, name) for name in shared_names]
    second_values = [getattr(second, name) for name in shared_names]
    if shared_values != second_values:
        difference = (
            f": {shared_values[0]} and {second_values[0]}" if len(shared_names) == 1 else ""
        )
        raise ValueError(f"different {', or different '.join(shared_names)}{difference}")
    arrays, n, owners = clusters_and_weights.concatenate_statistics(first, second, *array_names)
    return build(*shared_values, *arrays, n, common_unit(first, second), owners=owners)


def common_unit(first: WithUnit, second: WithUnit) -> float:
    """Return the common unit of two statistics; ValueError if their units differ."""
    unit: float = first.unit
    if unit != second.unit:
        raise ValueError(f"different units: {unit:g} and {second.unit:g} make one")
    return unit


@dataclass(frozen=True, slots=True, eq=False)
class PatternCounts(WeightedCounts):
    """The sufficient statistic of MARS: m distinct patterns over k models.

    truth (m,) and votes (m, k) are True for the positive class; n (m,) is the number of rows with
    the pattern, or their weight in units of 1 / `unit`. Patterns are distinct and sorted. clusters:
    frequencies by cluster, or sums of squared weights; None for independent unweighted rows.
    """

    models: tuple[str, ...]
    truth: Bools
    votes: Bools
    n: Counts
    unit: float = 1
    clusters: clusters_and_weights.Owned | None = None

    @classmethod
    def from_votes(
        cls,
        models: Sequence[str],
        truth: Bools,
        votes: Bools,
        n: Counts,
        unit: float = 1,
        *,
        owners: clusters_and_weights.Owners | None = None,
    ) -> PatternCounts:
        """Merge equal patterns, drop those of count 0 and sort; owners: as in `clusters`."""
        packed = np.packbits(np.column_stack([truth, votes]), axis=1)
        first_indices, counts, clusters = clusters_and_weights.merge_equal_rows(
            [*packed.T], n, owners
        )
        return cls(
            tuple(models), truth[first_indices], votes[first_indices], counts, unit, clusters
        )

    def __add__(self, other: PatternCounts) -> PatternCounts:
        """Add the counts of two tables of the same models: files, shards or machines."""
        build = PatternCounts.from_votes
        return add_statistics(self, other, build, ("models",), "truth", "votes")

    @property
    def rows(self) -> int | float:
        """Number of rows, or the sum of their weights."""
        total: int | float = from_units(self.n.sum(), self.unit).item()
        return total

    def digest(self) -> str:
        """Return the sha256 of the counts, independent of the order of rows and columns."""
        order = order_by_name(self.models)
        columns = (self.truth, self.votes[:, order], from_units(self.n, self.unit))
        rows = zip(*(column.tolist() for column in columns), strict=True)
        lines = sorted(
            f"{truth:d}{''.join('01'[vote] for vote in votes)} {count!r}"
            for truth, votes, count in rows
        )
        lines.insert(0, repr([self.models[index] for index in order]))
        if self.clusters is not None:  # patterns in an order independent of that of the models
            keys = [*(self.votes[:, i] for i in reversed(order)), self.truth]
            rank = np.empty(len(self.n), np.int64)
            rank[np.lexsort(keys)] = np.arange(len(self.n))
            lines.append(self.clusters.renumber(rank).digest())
        return sha256("\n".join(lines).encode()).hexdigest()

    def products(self) -> Floats | None:
        """Return sums over clusters, or weighted rows, of products of two counts.

        (2k + 2, 2k + 2): TP of each model, FP of each, positives, negatives; None for equal rows.
        """
        if self.clusters is None:
            return None
        truth = self.truth[:, None]
        cell_masks = np.column_stack([self.votes & truth, self.votes & ~truth, truth, ~truth])
        return clusters_and_weights.table_products(self.clusters, cell_masks.T.astype(np.float64))

    def grouped(self, groups: Mapping[str, tuple[str, ...]], target: str) -> PatternCounts:
        """Replace each group by one model that detects what any member does."""
        if not groups:
            return self
        members = group_members(self.models, groups)
        is_reversed = target == "negative"
        votes = merge_member_votes(self.votes ^ is_reversed, members) ^ is_reversed
        return replace(self, models=tuple(members), votes=votes)

    def targets(self, target: str) -> TargetCounts:
        """Return the counts seen from the target class: `positive`, or `negative` (reversed)."""
        votes = self.votes
        is_target = self.truth
        if target == "negative":
            votes = ~votes
            is_target = ~is_target
        clusters = None
        if self.clusters is not None:  # patterns of the target class come first
            new_index = np.empty(len(self.n), np.int64)
            new_index[np.argsort(~is_target, kind="stable")] = np.arange(len(self.n))
            clusters = self.clusters.renumber(new_index)
        return TargetCounts(
            self.models,
            votes[is_target],
            self.n[is_target],
            votes[~is_target],
            self.n[~is_target],
            self.unit,
            clusters,
        )


def order_by_name(models: Sequence[str]) -> list[int]:
    """Return the indices of the models in alphabetical order."""
    return sorted(range(len(models)), key=models.__getitem__)


def group_members(
    models: Sequence[str], groups: Mapping[str, tuple[str, ...]]
) -> dict[str, list[int]]:
    """Return the indices of the members of each group; of a model in no group its own."""
    member_of = {member: name for name, members in groups.items() for member in members}
    member_indices: dict[str, list[int]] = {}
    for i, model in enumerate(models):
        member_indices.setdefault(member_of.get(model, model), []).append(i)
    return member_indices


def merge_member_votes(votes: Bools, member_indices: Mapping[str, Sequence[int]]) -> Bools:
    """Return the votes of each group: positive if any member's is."""
    return np.column_stack([votes[:, indices].any(axis=1) for indices in member_indices.values()])


@dataclass(frozen=True, slots=True, eq=False)
class TargetCounts(WeightedCounts):
    """Pattern counts seen from the target class.

    hits (p, k): models that detect rows of the target class, hit_n (p,): such rows; alarms (q, k):
    models that flag rows of the other class, alarm_n (q,): such rows. In units of 1 / `unit`.
    clusters: of these p + q patterns, as of `PatternCounts`.
    """

    models: tuple[str, ...]
    hits: Bools
    hit_n: Counts
    alarms: Bools
    alarm_n: Counts
    unit: float = 1
    clusters: clusters_and_weights.Owned | None = None


CELLS = ("tp", "fp", "fn", "tn")


@dataclass(frozen=True, slots=True, eq=False)
class ConfusionCounts(WeightedCounts):
    """The 2 x 2 tables of k models; arrays (k,) hold rows or weights.

    Weights are in units of 1 / `unit`. sums (k, 4, 4): over clusters, or weights, of the
    products of any two of TP, FP, positives and negatives; None where rows are equal, NaN where
    clusters are too few. largest (k,): the largest sampling weight, in units; else None.
    """

    models: tuple[str, ...]
    tp: Counts
    fp: Counts
    fn: Counts
    tn: Counts
    positives: Counts  # TP + FN
    negatives: Counts  # FP + TN
    unit: float = 1
    sums: Floats | None = None
    largest: Floats | None = None

    def display_units(self, name: str) -> Counts:
        """Return cells or totals, (k,), as rows or weights."""
        return cast("Counts", from_units(getattr(self, name), self.unit))

    @property
    def rows(self) -> Counts:
        """Number of rows of each model, (k,), or their weight."""
        return cast("Counts", from_units(self.positives + self.negatives, self.unit))

    @classmethod
    def from_patterns(cls, patterns: PatternCounts) -> ConfusionCounts:
        """Sum the patterns of predictions; class totals are the same for every model."""
        k = len(patterns.models)
        tp = patterns.n[patterns.truth] @ patterns.votes[patterns.truth]
        fp = patterns.n[~patterns.truth] @ patterns.votes[~patterns.truth]
        positives = np.full(k, patterns.n[patterns.truth].sum())
        negatives = np.full(k, patterns.n[~patterns.truth].sum())
        sums = patterns.products()
        if sums is not None:
            indices = np.array([(i, k + i, 2 * k, 2 * k + 1) for i in range(k)])
            sums = sums[indices[:, :, None], indices[:, None, :]]
        largest = clusters_and_weights.largest_weights(patterns.clusters, k)
        cells = (tp, fp, positives - tp, negatives - fp, positives, negatives)
        return cls(patterns.models, *cells, patterns.unit, sums, largest)

    @classmethod
    def from_rows(cls, rows: Sequence[CountsRow]) -> ConfusionCounts:
        """Sum the rows of a counts table by model, in order of appearance."""
        cells = [(row.tp, row.fp, row.fn, row.tn) for row in rows]
        return cls.from_cells([row.model for row in rows], cells)

    @classmethod
    def from_cells(cls, models: Sequence[str], cells: Sequence[Sequence[float]]) -> ConfusionCounts:
        """Build from cells TP, FP, FN, TN by model; those of the same model are summed.

        TN may be NaN where it was not counted.
        """
        model_index = {model: i for i, model in enumerate(dict.fromkeys(models))}
        totals = np.zeros((3, len(model_index)), np.int64)
        are_integers = all(isinstance(model_cells[3], int) for model_cells in cells)
        tn = np.zeros(len(model_index), np.int64 if are_integers else np.float64)
        for model, model_cells in zip(models, cells, strict=True):
            totals[:, model_index[model]] += np.array(model_cells[:3], np.int64)
            tn[model_index[model]] += model_cells[3]
        tp, fp, fn = totals
        return cls(tuple(model_index), tp, fp, fn, tn, tp + fn, fp + tn)

    def take(self, indices: Ints | Sequence[int] | slice) -> ConfusionCounts:
        """Return the tables at some indices, in any order, with repeats."""
        model_indices = np.arange(len(self.models))[indices]
        cells = (self.tp, self.fp, self.fn, self.tn, self.positives, self.negatives)
        tp, fp, fn, tn, p, n = (cell_counts[model_indices] for cell_counts in cells)
        names = tuple(self.models[i] for i in model_indices.tolist())
        sums = None if self.sums is None else self.sums[model_indices]
        largest = None if self.largest is None else self.largest[model_indices]
        return ConfusionCounts(names, tp, fp, fn, tn, p, n, self.unit, sums, largest)

    def __add__(self, other: ConfusionCounts) -> ConfusionCounts:
        """Add the counts of other rows, model by model; ValueError for counts by cluster."""
        if self.sums is not None or other.sums is not None:
            raise ValueError("add patterns: clusters may have rows in both tables")
        models = tuple(dict.fromkeys((*self.models, *other.models)))
        model_index = {model: i for i, model in enumerate(models)}
        totals = np.zeros((6, len(models)), np.result_type(self.tp, other.tp))
        for counts in (self, other):
            cells = (counts.tp, counts.fp, counts.fn, counts.tn, counts.positives, counts.negatives)
            totals[:, [model_index[model] for model in counts.models]] += cells
        tp, fp, fn, tn, p, n = totals
        return ConfusionCounts(models, tp, fp, fn, tn, p, n, common_unit(self, other))

    def digest(self) -> str:
        """Return the sha256 of the counts, independent of the order of models."""
        cell_rows = zip(*(self.display_units(name).tolist() for name in CELLS), strict=True)
        cells_of_models = zip(self.models, cell_rows, strict=True)
        lines = [f"{name!r} {' '.join(map(repr, cells))}" for name, cells in cells_of_models]
        if self.sums is not None:
            lines = [
                f"{line} {products}"
                for line, products in zip(lines, self.sums.tolist(), strict=True)
            ]
        return sha256("\n".join(sorted(lines)).encode()).hexdigest()
