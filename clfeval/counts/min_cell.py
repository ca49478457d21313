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

    def points(self, part: int) -> set[tuple[int, int]]:
        """Return positives and negatives of a slice below each of its edges."""
        sums = self.groups.n[part].cumsum(axis=1)
        places = [int(self.edges.places[edge]) - 1 for edge in self.edges_of_slice[part]]
        return {(int(sums[0, place]), int(sums[1, place])) for place in places}


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
    published = _published_slices(totals, min_cell)
    if not published:
        raise _too_few_rows_error(name, min_cell, by)
    divided: list[DividedModel] = []
    parts = [table[:0]]
    for place, model in enumerate(description["models"]):
        groups, cut = _groups_of_model(table, description, place, by, slices)
        earlier = [
            earlier_model
            for earlier_place, earlier_model in enumerate(divided)
            if _may_rank_alike(groups, earlier_model.groups)
            and not _labels_cross(table, place, earlier_place)
        ]
        result = _divide(groups, cut, published, min_cell, earlier)
        divided.append(result)
        parts += [
            _runs_of_slice(
                result, part, {"model": model["name"], **dict(zip(by, slices[part], strict=True))}
            )
            for part in published
        ]
    hidden = pl.concat(parts, how="diagonal").sort("block", *by, "model", "truth", "key")
    description = _describe_hidden(hidden, description, min_cell)
    return hidden, {**description, "parts": digests(hidden, description)}


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
            text = (
                f"{OPTION}--by{END} '{column}' makes groups of equal size, from which small counts "
                "follow"
            )
            raise bad_option(text, f"say where to split: {OPTION}--by '{name}:40,65'{END}")


def _describe_hidden(
    hidden: pl.DataFrame, description: Mapping[str, Any], min_cell: int
) -> dict[str, Any]:
    """Return the description of hidden counts, without their digest."""
    first = hidden.filter(model=description["models"][0]["name"])
    negative = [name for name in description["classes"] if name != description["positive"]]
    if len(negative) > 1:
        negative = [OTHER_CLASSES]
    limits = {name: hidden.filter(model=name) for name in description["uncut"]}
    return {
        **description,
        "classes": [*negative, description["positive"]],
        "rows": first["n"].sum(),
        "min_cell": min_cell,
        "scores": RUNS,
        "joint": {},
        "dropped": description["dropped"] if description["dropped"] >= min_cell else 0,
        "uncut": {name: [rows["lo"].min(), rows["hi"].max()] for name, rows in limits.items()},
    }


def _class_totals(table: pl.DataFrame, by: Sequence[str]) -> tuple[list[SliceKey], Counts]:
    """Return the slices, one without columns of slices, and the rows of each class, (s, 2)."""
    sums = table.filter(block=PATTERNS).group_by(*by, "truth").agg(pl.col("n").sum())
    rows = {(tuple(row[: len(by)]), row[-2]): row[-1] for row in sums.rows()}
    slices = sorted({key for key, _ in rows}, key=_sort_key)
    totals = [[rows.get((key, truth), 0) for truth in (True, False)] for key in slices]
    return slices, np.array(totals, np.int64)


def _sort_key(key: SliceKey) -> list[tuple[bool, str]]:
    return [(text is not None, text or "") for text in key]


def _published_slices(totals: Counts, min_cell: int) -> list[int]:
    """Return the slices with enough rows of each class, so that the rest is enough or nothing."""
    published = [*range(len(totals))]
    for enough in range(SMALLEST, min_cell + 1):
        able = [part for part in published if (totals[part] >= enough).all()]
        published = _keep_rest_large(totals[:, :, None], able, enough)
    return published


def _keep_rest_large(n: Counts, slices: Sequence[int], min_cell: int) -> list[int]:
    """Return slices without the smallest, so that all others together are enough, or nothing.

    n (s, 2, c): rows of every slice, class and cell, each of which has to be enough.
    """
    remaining = sorted(slices, key=lambda part: (int(n[part].sum()), part))
    everything = n.sum(axis=0)
    while remaining:
        rest = everything - n[remaining].sum(axis=0)
        if len(remaining) == len(n) or bool((rest >= min_cell).all()):
            return sorted(remaining)
        remaining = remaining[1:]
    return []


def _groups_of_model(
    table: pl.DataFrame,
    description: Mapping[str, Any],
    place: int,
    by: Sequence[str],
    slices: Sequence[SliceKey],
) -> tuple[ScoreGroups, float]:
    """Return the groups of scores of the model at a place, and its threshold."""
    rows, cut = _rows_of_model(table, description, place)
    order = np.argsort(rows["lo"].to_numpy(), kind="stable")
    low = rows["lo"].to_numpy()[order]
    high = rows["hi"].to_numpy()[order]
    starts = np.append(True, low[1:] > np.maximum.accumulate(high)[:-1])
    group = starts.cumsum() - 1
    codes = {key: code for code, key in enumerate(slices)}
    keys = rows.select(by).rows() if by else [()] * len(rows)
    part = np.array([codes[key] for key in keys], np.int64)[order]
    side = (~rows["truth"].to_numpy()[order]).astype(np.int64)
    n = np.zeros((len(slices), 2, int(group[-1]) + 1), np.int64)
    np.add.at(n, (part, side, group), rows["n"].to_numpy()[order])
    first = np.flatnonzero(starts)
    return ScoreGroups(n, low[first], np.maximum.reduceat(high, first)), cut


def _rows_of_model(
    table: pl.DataFrame, description: Mapping[str, Any], place: int
) -> tuple[pl.DataFrame, float]:
    """Return the rows with the scores of the model at a place, or its labels, and its threshold."""
    model = description["models"][place]
    if model["kind"] == "label":
        label = pl.col("pattern").str.slice(place, 1).cast(pl.Float64)
        return table.filter(block=PATTERNS).with_columns(lo=label, hi=label), LABELS
    threshold = description["thresholds"][model["name"]]
    rows = table.filter(block=SCORES, model=model["name"])
    return rows, np.inf if threshold is None else threshold


def _may_rank_alike(groups: ScoreGroups, earlier: ScoreGroups) -> bool:
    """Return whether two models may have the same order of rows, by their numbers of each class.

    They cannot where below some score of one there are more positives, but fewer negatives, than
    below some score of the other one.
    """
    path = groups.path()
    earlier_path = earlier.path()
    later = np.searchsorted(earlier_path[0], path[0], side="right")
    sooner = np.searchsorted(earlier_path[0], path[0], side="left") - 1
    negatives = earlier_path[1]
    # of the other one: the most negatives with fewer positives, the fewest with more
    most = np.where(sooner >= 0, negatives[np.maximum(sooner, 0)], 0)
    fewest = np.append(negatives, negatives[-1])[later]
    return bool(((most <= path[1]) & (path[1] <= fewest)).all())


def _labels_cross(table: pl.DataFrame, place: int, earlier: int) -> bool:
    """Return whether each of two models is positive in a row in which the other is negative."""
    patterns = table.filter(block=PATTERNS)["pattern"]
    labels = {text[place] + text[earlier] for text in patterns.unique().to_list()}
    return {"01", "10"} <= labels


def _divide(
    groups: ScoreGroups,
    cut: float,
    published: Sequence[int],
    min_cell: int,
    earlier: Sequence[DividedModel],
) -> DividedModel:
    """Return the model with the edges at which each published slice is divided."""
    edges = _edges_between(groups, cut)
    tree = DivisionTree.from_groups(groups, edges, cut)
    points = [{part: model.points(part) for part in published} for model in earlier]
    edges_of_slice = {part: [*range(len(edges.values))] for part in published}
    for enough in range(SMALLEST, min_cell + 1):
        edges_of_slice = tree.divide(edges_of_slice, points, enough)
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
    def from_groups(cls, groups: ScoreGroups, edges: Edges, cut: float) -> DivisionTree:
        """Add up the rows of groups."""
        expected = _expected_rows(groups)
        sums = groups.n.cumsum(axis=2)
        sums = np.concatenate([np.zeros_like(sums[:, :, :1]), sums], axis=2)
        return cls(edges, _threshold_edge(edges, expected, cut), expected, sums)

    def divide(
        self,
        allowed: Mapping[int, Sequence[int]],
        points: Sequence[Mapping[int, Collection[tuple[int, int]]]],
        enough: int,
    ) -> dict[int, list[int]]:
        """Return the edges of each slice, ascending, among those that are allowed.

        points: positives and negatives below the edges of other models, of which a slice has to
        have the same. enough: rows of each class on either side of an edge.
        """
        edges_of_slice: dict[int, list[int]] = {part: [] for part in allowed}
        allowed_edges = {part: {*edges} for part, edges in allowed.items()}
        waiting = [(0, self.sums.shape[2] - 1, [*allowed], self.root)]
        while waiting:
            start, stop, parts, edge = waiting.pop()
            edge = _best_edge(self.edges, self.expected, start, stop) if edge is None else edge
            if edge is None:
                continue
            place = int(self.edges.places[edge])
            cells = np.diff(self.sums[:, :, [start, place, stop]], axis=2)
            able = [
                part
                for part in parts
                if edge in allowed_edges[part]
                and (cells[part] >= enough).all()
                and all(
                    tuple(self.sums[part, :, place].tolist()) in known_points[part]
                    for known_points in points
                )
            ]
            divided = _keep_rest_large(cells, able, enough)
            for part in divided:
                edges_of_slice[part].append(edge)
            if divided:
                waiting += [(start, place, divided, None), (place, stop, divided, None)]
        return {part: sorted(numbers) for part, numbers in edges_of_slice.items()}


def _edges_between(groups: ScoreGroups, cut: float) -> Edges:
    """Return the numbers of the grid, and the threshold, that divide groups: the shortest ones."""
    values, digits = _grid()
    if np.isfinite(cut) and cut not in values:
        place = int(np.searchsorted(values, cut))
        values = np.insert(values, place, cut)
        digits = np.insert(digits, place, LONGEST)
    places = np.searchsorted(groups.low, values)
    divides = (places > 0) & (places < len(groups.low))
    divides &= groups.high[np.maximum(places - 1, 0)] < values
    values, digits, places = values[divides], digits[divides], places[divides]
    # of those between the same two groups the shortest, then the lowest
    digits = np.where(values == cut, 0, digits)
    order = np.lexsort((values, digits, places))
    first = order[np.append(True, np.diff(places[order]) > 0)] if len(order) else order
    return Edges(values[first], digits[first], places[first])


@cache
def _grid() -> tuple[Floats, Ints]:
    """Return the numbers at which runs can end, and the digits of each.

    Of at most four digits, the number or its distance from 1; and where buckets of scores start.
    """
    integers = np.arange(1000, 10000)
    digits = 4 - sum((integers % power == 0).astype(np.int64) for power in (10, 100, 1000))
    small = [integers / 10.0**place for place in range(33)]
    large = [integers * 10.0**place for place in range(20)]
    starts = np.ldexp(np.arange(2**BITS, 2 ** (BITS + 1)), -BITS - 1 - np.arange(OCTAVES)[:, None])
    sizes = np.concatenate([*small, *large, starts.reshape(-1)])
    lengths = np.concatenate(
        [np.tile(digits, len(small) + len(large)), np.full(starts.size, BUCKET_DIGITS)]
    )
    shares = sizes < 0.5
    values = np.concatenate([[0.0], sizes, -sizes, 1 - sizes[shares]])
    every = np.concatenate([[1], lengths, lengths, lengths[shares]])
    order = np.lexsort((every, values))
    values, every = values[order], every[order]
    new = np.append(True, np.diff(values) > 0)
    return values[new], every[new]


def _expected_rows(groups: ScoreGroups) -> Floats:
    """Return the positives and negatives expected below each group and in all, (2, m + 1).

    Scores between 0 and 1 are taken as probabilities, others as log odds; classes have no part.
    """
    scores = (groups.low + groups.high) / 2
    if groups.low[0] < 0 or groups.high[-1] > 1:
        scores = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
    rows = groups.n.sum(axis=(0, 1))
    sums = np.cumsum([scores * rows, (1 - scores) * rows], axis=1)
    return np.concatenate([np.zeros((2, 1)), sums], axis=1)


def _threshold_edge(edges: Edges, expected: Floats, cut: float) -> int | None:
    """Return the edge at the threshold, None where there is none or too few rows are expected."""
    (numbers,) = np.nonzero(edges.values == cut)
    if not len(numbers):
        return None
    below = expected[:, edges.places[numbers[0]]]
    smallest = np.minimum(below, expected[:, -1] - below).min()
    return int(numbers[0]) if smallest >= EXPECTED_AT_THRESHOLD else None


def _best_edge(edges: Edges, expected: Floats, start: int, stop: int) -> int | None:
    """Return the edge that halves the rows of groups start..stop best: None if there is none.

    It leaves as many expected rows of the smaller class as possible on the smaller side; of edges
    that are nearly as good the one of the fewest digits.
    """
    first, last = np.searchsorted(edges.places, [start + 1, stop])
    if first == last:
        return None
    below = expected[:, edges.places[first:last]] - expected[:, [start]]
    above = expected[:, [stop]] - expected[:, edges.places[first:last]]
    smallest = np.minimum(below, above).min(axis=0)
    good = smallest >= NEARLY_BEST * smallest.max()
    digits = np.where(good, edges.digits[first:last], LONGEST)
    return int(first + np.lexsort((-smallest, digits))[0])


def _runs_of_slice(model: DividedModel, part: int, names: Mapping[str, Any]) -> pl.DataFrame:
    """Return the counts of the classes between the edges of a slice."""
    groups, numbers = model.groups, model.edges_of_slice[part]
    values = model.edges.values[numbers]
    starts = np.concatenate([[0], model.edges.places[numbers]]).astype(np.int64)
    n = np.add.reduceat(groups.n[part], starts, axis=1)
    lowest, highest = _limits(groups)
    low = np.append(lowest, values)
    high = np.append(np.nextafter(values, -np.inf), highest)
    side = np.repeat([0, 1], len(starts))
    runs = pl.DataFrame(
        {
            "truth": side == 0,
            "key": np.tile(exact_keys(low), 2),
            "n": n.reshape(-1),
            "lo": np.tile(low, 2),
            "hi": np.tile(high, 2),
        }
    )
    texts = {"block": SCORES, **names}
    return runs.with_columns(**{key: pl.lit(text, pl.String) for key, text in texts.items()})


def _limits(groups: ScoreGroups) -> tuple[float, float]:
    """Return the limits of scores of this kind, which are no scores themselves."""
    if groups.low[0] >= 0 and groups.high[-1] <= 1:
        return 0.0, 1.0
    return -LARGEST, LARGEST
