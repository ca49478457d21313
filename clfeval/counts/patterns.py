"""Pattern counts and confusion counts: how often models' votes occur with each truth, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Counts
from clfeval.counts.units import shown
from clfeval.tables.layouts.counts import CountsRow


def for_products(*counts: Counts) -> list[Counts]:
    """Return counts as they are, or as floats where four products of two would not fit 64 bits."""
    most = max((float(np.max(part)) for part in counts if part.size), default=0.0)
    if most**2 < 2.0**61:
        return list(counts)
    return [part.astype(np.float64) for part in counts]


def stacked(one: Any, other: Any, *names: str) -> list[Counts]:
    """Return the arrays of these names of two statistics, those of the second behind the first."""
    return [np.concatenate([getattr(one, name), getattr(other, name)]) for name in names]


def same_unit(one: Any, other: Any) -> float:
    """Return the unit of two statistics that can be added up."""
    unit: float = one.unit
    if unit != other.unit:
        raise ValueError(f"different units: {unit:g} and {other.unit:g} make one")
    return unit


@dataclass(frozen=True, slots=True, eq=False)
class PatternCounts:
    """The sufficient statistic of MARS: m distinct patterns over k models.

    truth (m,) and votes (m, k) are True for the positive class; n (m,) is how many rows, or what
    weight, show the pattern, in units of which `unit` are one. Patterns are distinct and in a fixed
    order, so equal tables are equal arrays whatever order their rows came in.
    """

    models: tuple[str, ...]
    truth: Bools
    votes: Bools
    n: Counts
    unit: float = 1

    @classmethod
    def of(
        cls, models: Sequence[str], truth: Bools, votes: Bools, n: Counts, unit: float = 1
    ) -> PatternCounts:
        """Merge equal patterns, drop those never seen, and put the rest in order."""
        keep = n > 0
        table = np.column_stack([truth[keep], votes[keep]])
        if not len(table):
            return cls(tuple(models), truth[:0], votes[:0].reshape(0, len(models)), n[:0], unit)
        packed = np.packbits(table, axis=1)
        _, first, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        total = np.zeros(len(first), n.dtype)
        np.add.at(total, group.ravel(), n[keep])
        return cls(tuple(models), table[first, 0], table[first, 1:], total, unit)

    def __add__(self, other: PatternCounts) -> PatternCounts:
        """Add the counts of two tables of the same models: files, shards or machines."""
        if self.models != other.models:
            raise ValueError(f"different models: {self.models} and {other.models}")
        truth, votes, n = stacked(self, other, "truth", "votes", "n")
        return PatternCounts.of(self.models, truth, votes, n, same_unit(self, other))

    @property
    def fractional(self) -> bool:
        """True where weights are no whole numbers, and no rows."""
        return self.unit != 1

    @property
    def rows(self) -> int | float:
        """Rows in all, or the sum of their weights."""
        total: int | float = shown(self.n.sum(), self.unit).item()
        return total

    def digest(self) -> str:
        """Return the sha256 of the counts, whatever the order of rows and columns was."""
        order = by_name(self.models)
        lines = sorted(
            f"{t:d}{''.join('1' if v else '0' for v in row)} {count!r}"
            for t, row, count in zip(
                self.truth.tolist(),
                self.votes[:, order].tolist(),
                shown(self.n, self.unit).tolist(),
                strict=True,
            )
        )
        names = [self.models[index] for index in order]
        return sha256("\n".join([repr(names), *lines]).encode()).hexdigest()

    def targets(self, target: str) -> TargetCounts:
        """Return who finds what for the target class: `positive`, or `negative` (all exchanged)."""
        found, wanted = self.votes, self.truth
        if target == "negative":
            found, wanted = ~found, ~wanted
        return TargetCounts(
            self.models, found[wanted], self.n[wanted], found[~wanted], self.n[~wanted], self.unit
        )


def by_name(models: Sequence[str]) -> list[int]:
    """Return the places of the models in the order of their names."""
    return sorted(range(len(models)), key=models.__getitem__)


def merged(models: Sequence[str], groups: Mapping[str, tuple[str, ...]]) -> dict[str, list[int]]:
    """Return, for each group and each model in none, the places of what it is made of."""
    member_of = {member: name for name, members in groups.items() for member in members}
    places: dict[str, list[int]] = {}
    for i, model in enumerate(models):
        places.setdefault(member_of.get(model, model), []).append(i)
    return places


def any_of(votes: Bools, places: Mapping[str, Sequence[int]]) -> Bools:
    """Return a column for each group: what any of its members finds, it finds."""
    return np.column_stack([votes[:, columns].any(axis=1) for columns in places.values()])


@dataclass(frozen=True, slots=True, eq=False)
class TargetCounts:
    """Pattern counts seen from the target class.

    hits (p, k): which models find the rows of the target class, hit_n (p,) how many such rows;
    alarms (q, k): which models claim rows of the other class, alarm_n (q,) how many. Both are in
    units of which `unit` are one.
    """

    models: tuple[str, ...]
    hits: Bools
    hit_n: Counts
    alarms: Bools
    alarm_n: Counts
    unit: float = 1

    @property
    def fractional(self) -> bool:
        """True where weights are no whole numbers, and no rows."""
        return self.unit != 1

    def grouped(self, groups: Mapping[str, tuple[str, ...]]) -> TargetCounts:
        """Replace the members of each group by one model that finds what any member finds."""
        if not groups:
            return self
        together = merged(self.models, groups)
        hits, alarms = any_of(self.hits, together), any_of(self.alarms, together)
        return TargetCounts(tuple(together), hits, self.hit_n, alarms, self.alarm_n, self.unit)


CELLS = ("tp", "fp", "fn", "tn")


@dataclass(frozen=True, slots=True, eq=False)
class ConfusionCounts:
    """The 2 x 2 tables of k models; the arrays are (k,) and hold rows, or their weight.

    Weights are in units of which `unit` are one.
    """

    models: tuple[str, ...]
    tp: Counts
    fp: Counts
    fn: Counts
    tn: Counts
    positives: Counts  # TP + FN
    negatives: Counts  # FP + TN
    unit: float = 1

    @property
    def fractional(self) -> bool:
        """True where weights are no whole numbers, and no rows."""
        return self.unit != 1

    def shown(self, name: str) -> Counts:
        """Return cells or totals, (k,), as people read them."""
        found: Counts = shown(getattr(self, name), self.unit)
        return found

    @property
    def rows(self) -> Counts:
        """Rows of each model in all, (k,), or their weight."""
        found: Counts = shown(self.positives + self.negatives, self.unit)
        return found

    @classmethod
    def of_patterns(cls, patterns: PatternCounts) -> ConfusionCounts:
        """Sum the patterns of a table of predictions; every model has the same class totals."""
        sides = []
        for rows in (patterns.truth, ~patterns.truth):
            n, votes = patterns.n[rows], patterns.votes[rows]
            found = n @ votes
            total = np.full(len(patterns.models), n.sum())
            sides.append((found, total - found, total))
        (tp, fn, positives), (fp, tn, negatives) = sides
        return cls(patterns.models, tp, fp, fn, tn, positives, negatives, patterns.unit)

    @classmethod
    def of_rows(cls, rows: Sequence[CountsRow]) -> ConfusionCounts:
        """Add up the rows of a counts table, model by model, in the order they come in."""
        cells = [(row.tp, row.fp, row.fn, row.tn) for row in rows]
        return cls.of_cells([row.model for row in rows], cells)

    @classmethod
    def of_cells(cls, models: Sequence[str], cells: Sequence[Sequence[int]]) -> ConfusionCounts:
        """Take TP, FP, FN, TN for each model named; those of one model are added up."""
        place = {model: i for i, model in enumerate(dict.fromkeys(models))}
        totals = np.zeros((4, len(place)), np.int64)
        for model, four in zip(models, cells, strict=True):
            totals[:, place[model]] += four
        tp, fp, fn, tn = totals
        return cls(tuple(place), tp, fp, fn, tn, tp + fn, fp + tn)

    def __add__(self, other: ConfusionCounts) -> ConfusionCounts:
        """Add the counts of other rows, model by model; each may have models of its own."""
        models = tuple(dict.fromkeys((*self.models, *other.models)))
        place = {model: i for i, model in enumerate(models)}
        totals = np.zeros((6, len(models)), np.result_type(self.tp, other.tp))
        for one in (self, other):
            cells = (one.tp, one.fp, one.fn, one.tn, one.positives, one.negatives)
            totals[:, [place[model] for model in one.models]] += cells
        tp, fp, fn, tn, p, n = totals
        return ConfusionCounts(models, tp, fp, fn, tn, p, n, same_unit(self, other))

    def digest(self) -> str:
        """Return the sha256 of the counts, whatever the order of models was."""
        numbers = zip(*(self.shown(name).tolist() for name in CELLS), strict=True)
        lines = sorted(
            f"{m!r} {' '.join(map(repr, n))}" for m, n in zip(self.models, numbers, strict=True)
        )
        return sha256("\n".join(lines).encode()).hexdigest()
