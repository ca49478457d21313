"""Small counts hidden in a counts file: neighbouring scores are counted together.

What is published of a model are the numbers of each class between edges. The edges are the same
for every file of the same rows, whatever `min_cell` is and whether rows are in slices, or fewer:

1. They come from a fixed grid, and halve the rows again and again by their scores alone. The
   classes decide only where halving stops: at the first edge with fewer than `min_cell` rows of a
   class on either side. So no edge tells the class of a row, even to whom all scores are known,
   and every difference of two published counts is a sum of published ones.
2. A slice is divided at an edge only if the rows of all slices that are not divided there, if any,
   are enough on both sides too, and only where it is for a smaller `min_cell`. So the whole less
   the slices tells no small count either, nor does one file less another.
3. A model whose scores may have the same order as those of an earlier model, such as its labels or
   a recalibration, has only edges at which the earlier one has the same counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from clfeval.arrays import Counts, Floats, Ints
from clfeval.counts.buckets import BITS, OCTAVES
from clfeval.counts.read_files import PATTERNS, RUNS, SCORES, digests, exact_keys
from clfeval.errors import DataError, bad_option
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass
from clfeval.tables.frames import pl

SMALLEST = 3  # value of `min_cell`
LABELS = 0.5  # labels are counted as scores 0 and 1
OTHER_CLASSES = "(other)"  # in place of the negative classes of which there are several
LARGEST = 1e300  # a limit of scores that are not between 0 and 1
NEARLY_BEST = 0.8  # of the expected rows at the best edge: from there on the shortest number counts
BUCKET_DIGITS = 5  # of a number at which a bucket starts, more than others have
LONGEST = 99  # more digits than any number of the grid has
EXPECTED_AT_THRESHOLD = 10  # rows of each class on either side of it, to halve there first
SliceKey = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreGroups:
    """The scores of a model that cannot be divided: n (slices, 2 classes, m), low and high (m,).

    Groups are in the order of their scores and do not overlap; positives are class 0.
    """

    n: Counts
    low: Floats
    high: Floats

    def path(self) -> Counts:
        """Return positives and negatives of all slices below each group and in all, (2, m + 1)."""
        sums = self.n.sum(axis=0).cumsum(axis=1)
        return np.concatenate([np.zeros((2, 1), np.int64), sums], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Edges between groups: values (e,), digits (e,) each has, and the groups below it, (e,)."""

    values: Floats
    digits: Ints
    places: Ints


@dataclass(frozen=True, slots=True, eq=False)
class DividedModel:
    """A model whose scores are divided: its groups, and the edges of each published slice."""

    groups: ScoreGroups
    edges: Edges
    edges_of_slice: Mapping[int, Sequence[int]]  # places in `edges`, ascending

    def points(self, slice_index: int) -> set[tuple[int, int]]:
        """Return positives and negatives of a slice below each of its edges."""
        sums = self.groups.n[slice_index].cumsum(axis=1)
        last_indices = [
            int(self.edges.places[edge]) - 1 for edge in self.edges_of_slice[slice_index]
        ]
        return {
            (int(sums[0, group_index]), int(sums[1, group_index])) for group_index in last_indices
        }


def hide_small_cells(
    table: pl.DataFrame, description: Mapping[str, Any], min_cell: int, name: str
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return counts of `min_cell` rows or more of each class, from which no smaller follow.

    See the head of this file. Sums of scores, combinations of labels and names of several negative
    classes are left out. Raises DataError where no slice has enough rows.
    """
    _refuse_open_slices(description)
    by = [column for column in table.columns if column.startswith("b") and column != "block"]
    slices, totals = _class_totals(table, by)
    published_slices = _published_slices(totals, min_cell)
    if not published_slices:
        raise _too_few_rows_error(name, min_cell, by)
    divided_models: list[DividedModel] = []
    run_tables = [table[:0]]
    for model_index, model in enumerate(description["models"]):
        groups, threshold = _groups_of_model(table, description, model_index, by, slices)
        similar_models = [
            earlier_model
            for earlier_index, earlier_model in enumerate(divided_models)
            if _may_rank_alike(groups, earlier_model.groups)
            and not _labels_cross(table, model_index, earlier_index)
        ]
        divided_model = _divide(groups, threshold, published_slices, min_cell, similar_models)
        divided_models.append(divided_model)
        run_tables += [
            _runs_of_slice(
                divided_model,
                slice_index,
                {"model": model["name"], **dict(zip(by, slices[slice_index], strict=True))},
            )
            for slice_index in published_slices
        ]
    runs = pl.concat(run_tables, how="diagonal").sort("block", *by, "model", "truth", "key")
    description = _describe_hidden(runs, description, min_cell)
    return runs, {**description, "parts": digests(runs, description)}


def _too_few_rows_error(name: str, min_cell: int, by: Sequence[str]) -> DataError:
    """Build the error for a table without a slice that may be published; by: its columns."""
    message = f"it has fewer than {min_cell} rows of a class"
    hint = "give a smaller number"
    if by:
        message += " in every slice, or in the slices that are left out for it"
        hint += f", or leave out {OPTION}--by{END}"
    return DataError.new(message, "empty-table", name, hint=hint)


def _refuse_open_slices(description: Mapping[str, Any]) -> None:
    """Raise UsageError for slices from whose sizes or sums small counts follow."""
    if len(description["facets"]) > 1:  # each would lack the rows of small slices of the others
        hint = f"cross them: {OPTION}--by '{'*'.join(description['by'])}'{END}"
        raise bad_option(f"{OPTION}--min-cell{END} takes one {OPTION}--by{END}", hint)
    for column in (column for text in description["by"] for column in text.split("*")):
        name, _, bins = column.rpartition(":")
        if bins.strip().isdecimal() and name.strip() in description["edges"]:
            message = (
                f"{OPTION}--by{END} '{column}' makes groups of equal size, from which small counts "
                "follow"
            )
            raise bad_option(message, f"say where to split: {OPTION}--by '{name}:40,65'{END}")


def _describe_hidden(
    runs: pl.DataFrame, description: Mapping[str, Any], min_cell: int
) -> dict[str, Any]:
    """Return the description of counts whose small ones are hidden, without their digest.

    runs: the published counts, between the edges of each slice and model.
    """
    first_model_runs = runs.filter(model=description["models"][0]["name"])
    negative_classes = [name for name in description["classes"] if name != description["positive"]]
    if len(negative_classes) > 1:
        negative_classes = [OTHER_CLASSES]
    uncut_runs = {name: runs.filter(model=name) for name in description["uncut"]}
    return {
        **description,
        "classes": [*negative_classes, description["positive"]],
        "rows": first_model_runs["n"].sum(),
        "min_cell": min_cell,
        "scores": RUNS,
        "joint": {},
        "dropped": description["dropped"] if description["dropped"] >= min_cell else 0,
        "uncut": {
            name: [model_runs["lo"].min(), model_runs["hi"].max()]
            for name, model_runs in uncut_runs.items()
        },
    }


def _class_totals(table: pl.DataFrame, by: Sequence[str]) -> tuple[list[SliceKey], Counts]:
    """Return the slices, one without columns of slices, and the rows of each class, (s, 2)."""
    sums = table.filter(block=PATTERNS).group_by(*by, "truth").agg(pl.col("n").sum())
    row_counts = {(tuple(row[: len(by)]), row[-2]): row[-1] for row in sums.rows()}
    slices = sorted({key for key, _ in row_counts}, key=_sort_key)
    totals = [[row_counts.get((key, truth), 0) for truth in (True, False)] for key in slices]
    return slices, np.array(totals, np.int64)


def _sort_key(key: SliceKey) -> list[tuple[bool, str]]:
    return [(text is not None, text or "") for text in key]


def _published_slices(totals: Counts, min_cell: int) -> list[int]:
    """Return the slices with enough rows of each class, so that the rest is enough or nothing."""
    slice_indices = [*range(len(totals))]
    for min_rows in range(SMALLEST, min_cell + 1):
        large_slices = [
            slice_index for slice_index in slice_indices if (totals[slice_index] >= min_rows).all()
        ]
        slice_indices = _keep_rest_large(totals[:, :, None], large_slices, min_rows)
    return slice_indices


def _keep_rest_large(n: Counts, slice_indices: Sequence[int], min_cell: int) -> list[int]:
    """Return slices without the smallest, so that all others together are enough, or nothing.

    n (s, 2, c): rows of every slice, class and cell, each of which has to be enough.
    """
    remaining = sorted(
        slice_indices, key=lambda slice_index: (int(n[slice_index].sum()), slice_index)
    )
    totals = n.sum(axis=0)
    while remaining:
        other_counts = totals - n[remaining].sum(axis=0)
        if len(remaining) == len(n) or bool((other_counts >= min_cell).all()):
            return sorted(remaining)
        remaining = remaining[1:]
    return []


def _groups_of_model(
    table: pl.DataFrame,
    description: Mapping[str, Any],
    model_index: int,
    by: Sequence[str],
    slices: Sequence[SliceKey],
) -> tuple[ScoreGroups, float]:
    """Return the groups of scores of the model at an index, and its threshold."""
    rows, threshold = _rows_of_model(table, description, model_index)
    order = np.argsort(rows["lo"].to_numpy(), kind="stable")
    low = rows["lo"].to_numpy()[order]
    high = rows["hi"].to_numpy()[order]
    is_start = np.append(True, low[1:] > np.maximum.accumulate(high)[:-1])
    group_index = is_start.cumsum() - 1
    slice_codes = {key: code for code, key in enumerate(slices)}
    slice_keys = rows.select(by).rows() if by else [()] * len(rows)
    slice_index = np.array([slice_codes[key] for key in slice_keys], np.int64)[order]
    class_index = (~rows["truth"].to_numpy()[order]).astype(np.int64)
    n = np.zeros((len(slices), 2, int(group_index[-1]) + 1), np.int64)
    np.add.at(n, (slice_index, class_index, group_index), rows["n"].to_numpy()[order])
    start_indices = np.flatnonzero(is_start)
    return ScoreGroups(n, low[start_indices], np.maximum.reduceat(high, start_indices)), threshold


def _rows_of_model(
    table: pl.DataFrame, description: Mapping[str, Any], model_index: int
) -> tuple[pl.DataFrame, float]:
    """Return the rows of the scores, or labels, of the model at an index, and its threshold."""
    model = description["models"][model_index]
    if model["kind"] == "label":
        label = pl.col("pattern").str.slice(model_index, 1).cast(pl.Float64)
        return table.filter(block=PATTERNS).with_columns(lo=label, hi=label), LABELS
    threshold = description["thresholds"][model["name"]]
    rows = table.filter(block=SCORES, model=model["name"])
    return rows, np.inf if threshold is None else threshold


def _may_rank_alike(groups: ScoreGroups, earlier: ScoreGroups) -> bool:
    """Return whether two models may have the same order of rows, by their numbers of each class.

    They cannot where below some score of one there are more positives, but fewer negatives, than
    below some score of the other one.
    """
    positives, negatives = groups.path()
    earlier_positives, earlier_negatives = earlier.path()
    next_index = np.searchsorted(earlier_positives, positives, side="right")
    previous_index = np.searchsorted(earlier_positives, positives, side="left") - 1
    # of the other one: the most negatives with fewer positives, the fewest with more
    most_negatives = np.where(
        previous_index >= 0, earlier_negatives[np.maximum(previous_index, 0)], 0
    )
    fewest_negatives = np.append(earlier_negatives, earlier_negatives[-1])[next_index]
    return bool(((most_negatives <= negatives) & (negatives <= fewest_negatives)).all())


def _labels_cross(table: pl.DataFrame, model_index: int, earlier_index: int) -> bool:
    """Return whether each of two models is positive in a row in which the other is negative."""
    patterns = table.filter(block=PATTERNS)["pattern"]
    label_pairs = {text[model_index] + text[earlier_index] for text in patterns.unique().to_list()}
    return {"01", "10"} <= label_pairs


def _divide(
    groups: ScoreGroups,
    threshold: float,
    published_slices: Sequence[int],
    min_cell: int,
    similar_models: Sequence[DividedModel],
) -> DividedModel:
    """Return the model with the edges at which each published slice is divided."""
    edges = _edges_between(groups, threshold)
    tree = DivisionTree.from_groups(groups, edges, threshold)
    points_of_models = [
        {slice_index: model.points(slice_index) for slice_index in published_slices}
        for model in similar_models
    ]
    edges_of_slice = {slice_index: [*range(len(edges.values))] for slice_index in published_slices}
    for min_rows in range(SMALLEST, min_cell + 1):
        edges_of_slice = tree.divide(edges_of_slice, points_of_models, min_rows)
    return DividedModel(groups, edges, edges_of_slice)


@dataclass(frozen=True, slots=True, eq=False)
class DivisionTree:
    """How a model is divided: edges, the first of them, and the rows below each group.

    expected (2, m + 1): of each class, by the scores alone. sums (slices, 2, m + 1): counted.
    """

    edges: Edges
    root: int | None
    expected: Floats
    sums: Counts

    @classmethod
    def from_groups(cls, groups: ScoreGroups, edges: Edges, threshold: float) -> DivisionTree:
        """Add up the rows of groups."""
        expected = _expected_rows(groups)
        sums = groups.n.cumsum(axis=2)
        sums = np.concatenate([np.zeros_like(sums[:, :, :1]), sums], axis=2)
        return cls(edges, _threshold_edge(edges, expected, threshold), expected, sums)

    def divide(
        self,
        allowed: Mapping[int, Sequence[int]],
        points_of_models: Sequence[Mapping[int, Collection[tuple[int, int]]]],
        min_rows: int,
    ) -> dict[int, list[int]]:
        """Return the edges of each slice, ascending, among those that are allowed.

        points_of_models: of each similar model, by slice, the positives and negatives below its
        edges; the slice is divided only where its own are among them. min_rows: fewest rows of each
        class on either side of an edge.
        """
        edges_of_slice: dict[int, list[int]] = {slice_index: [] for slice_index in allowed}
        allowed_edges = {slice_index: {*edges} for slice_index, edges in allowed.items()}
        pending_ranges = [(0, self.sums.shape[2] - 1, [*allowed], self.root)]
        while pending_ranges:
            start, stop, slice_indices, edge = pending_ranges.pop()
            edge = _best_edge(self.edges, self.expected, start, stop) if edge is None else edge
            if edge is None:
                continue
            edge_group = int(self.edges.places[edge])
            cell_counts = np.diff(self.sums[:, :, [start, edge_group, stop]], axis=2)
            able_slices = [
                slice_index
                for slice_index in slice_indices
                if edge in allowed_edges[slice_index]
                and (cell_counts[slice_index] >= min_rows).all()
                and all(
                    tuple(self.sums[slice_index, :, edge_group].tolist())
                    in known_points[slice_index]
                    for known_points in points_of_models
                )
            ]
            divided_slices = _keep_rest_large(cell_counts, able_slices, min_rows)
            for slice_index in divided_slices:
                edges_of_slice[slice_index].append(edge)
            if divided_slices:
                pending_ranges += [
                    (start, edge_group, divided_slices, None),
                    (edge_group, stop, divided_slices, None),
                ]
        return {
            slice_index: sorted(slice_edges) for slice_index, slice_edges in edges_of_slice.items()
        }


def _edges_between(groups: ScoreGroups, threshold: float) -> Edges:
    """Return the numbers of the grid, and the threshold, that divide groups: the shortest ones."""
    values, digits = _grid()
    scored_range = slice(*np.searchsorted(values, groups.low[[0, -1]], side="right"))
    values, digits = values[scored_range], digits[scored_range]
    if np.isfinite(threshold) and threshold not in values:
        insert_index = int(np.searchsorted(values, threshold))
        values = np.insert(values, insert_index, threshold)
        digits = np.insert(digits, insert_index, LONGEST)
    groups_below = np.searchsorted(groups.low, values)
    is_divider = (groups_below > 0) & (groups_below < len(groups.low))
    is_divider &= groups.high[np.maximum(groups_below - 1, 0)] < values
    values, digits, groups_below = values[is_divider], digits[is_divider], groups_below[is_divider]
    # of those between the same two groups the shortest, then the lowest
    digits = np.where(values == threshold, 0, digits)
    order = np.lexsort((values, digits, groups_below))
    best_indices = order[np.append(True, np.diff(groups_below[order]) > 0)] if len(order) else order
    return Edges(values[best_indices], digits[best_indices], groups_below[best_indices])


@cache
def _grid() -> tuple[Floats, Ints]:
    """Return the numbers at which runs can end, and the digits of each.

    Of at most four digits, the number or its distance from 1; and where buckets of scores start.
    """
    integers = np.arange(1000, 10000)
    digits = 4 - sum((integers % power == 0).astype(np.int64) for power in (10, 100, 1000))
    small_numbers = [integers / 10.0**exponent for exponent in range(33)]
    large_numbers = [integers * 10.0**exponent for exponent in range(20)]
    bucket_starts = np.ldexp(
        np.arange(2**BITS, 2 ** (BITS + 1)), -BITS - 1 - np.arange(OCTAVES)[:, None]
    )
    magnitudes = np.concatenate([*small_numbers, *large_numbers, bucket_starts.reshape(-1)])
    magnitude_digits = np.concatenate(
        [
            np.tile(digits, len(small_numbers) + len(large_numbers)),
            np.full(bucket_starts.size, BUCKET_DIGITS),
        ]
    )
    is_below_half = magnitudes < 0.5
    values = np.concatenate([[0.0], magnitudes, -magnitudes, 1 - magnitudes[is_below_half]])
    value_digits = np.concatenate(
        [[1], magnitude_digits, magnitude_digits, magnitude_digits[is_below_half]]
    )
    order = np.lexsort((value_digits, values))
    values, value_digits = values[order], value_digits[order]
    is_new = np.append(True, np.diff(values) > 0)
    return values[is_new], value_digits[is_new]


def _expected_rows(groups: ScoreGroups) -> Floats:
    """Return the positives and negatives expected below each group and in all, (2, m + 1).

    Scores between 0 and 1 are taken as probabilities, others as log odds; classes have no part.
    """
    scores = (groups.low + groups.high) / 2
    if groups.low[0] < 0 or groups.high[-1] > 1:
        scores = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
    row_counts = groups.n.sum(axis=(0, 1))
    sums = np.cumsum([scores * row_counts, (1 - scores) * row_counts], axis=1)
    return np.concatenate([np.zeros((2, 1)), sums], axis=1)


def _threshold_edge(edges: Edges, expected: Floats, threshold: float) -> int | None:
    """Return the edge at the threshold, None where there is none or too few rows are expected."""
    (edge_indices,) = np.nonzero(edges.values == threshold)
    if not len(edge_indices):
        return None
    rows_below = expected[:, edges.places[edge_indices[0]]]
    smallest_count = np.minimum(rows_below, expected[:, -1] - rows_below).min()
    return int(edge_indices[0]) if smallest_count >= EXPECTED_AT_THRESHOLD else None


def _best_edge(edges: Edges, expected: Floats, start: int, stop: int) -> int | None:
    """Return the edge that halves the rows of groups start..stop best: None if there is none.

    It leaves as many expected rows of the smaller class as possible on the smaller side; of edges
    that are nearly as good the one of the fewest digits.
    """
    first_edge, stop_edge = np.searchsorted(edges.places, [start + 1, stop])
    if first_edge == stop_edge:
        return None
    rows_below = expected[:, edges.places[first_edge:stop_edge]] - expected[:, [start]]
    rows_above = expected[:, [stop]] - expected[:, edges.places[first_edge:stop_edge]]
    smallest_counts = np.minimum(rows_below, rows_above).min(axis=0)
    is_nearly_best = smallest_counts >= NEARLY_BEST * smallest_counts.max()
    digits = np.where(is_nearly_best, edges.digits[first_edge:stop_edge], LONGEST)
    order = np.lexsort((-smallest_counts, digits))
    return int(first_edge + order[0])


def _runs_of_slice(
    model: DividedModel, slice_index: int, slice_texts: Mapping[str, Any]
) -> pl.DataFrame:
    """Return the counts of the classes between the edges of a slice.

    slice_texts: cells of the columns of models and slices.
    """
    groups, edge_indices = model.groups, model.edges_of_slice[slice_index]
    values = model.edges.values[edge_indices]
    starts = np.concatenate([[0], model.edges.places[edge_indices]]).astype(np.int64)
    n = np.add.reduceat(groups.n[slice_index], starts, axis=1)
    lowest, highest = _limits(groups)
    low = np.append(lowest, values)
    high = np.append(np.nextafter(values, -np.inf), highest)
    class_index = np.repeat([0, 1], len(starts))
    runs = pl.DataFrame(
        {
            "truth": class_index == 0,
            "key": np.tile(exact_keys(low), 2),
            "n": n.reshape(-1),
            "lo": np.tile(low, 2),
            "hi": np.tile(high, 2),
        }
    )
    texts = {"block": SCORES, **slice_texts}
    return runs.with_columns(**{key: pl.lit(text, pl.String) for key, text in texts.items()})


def _limits(groups: ScoreGroups) -> tuple[float, float]:
    """Return the limits of scores of this kind, which are no scores themselves."""
    if groups.low[0] >= 0 and groups.high[-1] <= 1:
        return 0.0, 1.0
    return -LARGEST, LARGEST
