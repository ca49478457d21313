"""From opened predictions to what methods take: opened, settled, grouped, judged, counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from clfeval.counts.group import group
from clfeval.counts.judge import (
    Judged,
    accept,
    check_thresholds,
    judge,
    otherwise,
    raise_culprits,
    raise_nameless_runs,
    slices_of,
)
from clfeval.counts.kept import JointCounts, Kept, joint_counts
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.counts.scores import ScoreCounts, model_scores, read_scores, top_count, top_cuts
from clfeval.counts.settle import (
    FileCount,
    Settled,
    check_structure,
    explained,
    file_count,
    settle,
    values_of,
)
from clfeval.errors import UsageError
from clfeval.tables.cells import known_labels, natural
from clfeval.tables.diagnose import Suspicion
from clfeval.tables.input import Input
from clfeval.tables.prediction import ModelColumns, Predictions
from clfeval.tables.scan import engine_errors

S = TypeVar("S")
FEW = 1 << 14  # rows of a statistic that is remembered


@dataclass(frozen=True, slots=True)
class Top:
    """How many of the highest rows were asked for, and how many each model takes, ties included."""

    count: float
    taken: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What was counted of a prediction table; further statistics are taken when asked for.

    slices: patterns of the whole table under None, then of every slice.
    thresholds: per model the cut in force, None for labels and for largest-class votes.
    reread: models whose first rows looked like labels and which hold scores.
    """

    slices: Mapping[str | None, PatternCounts]
    files: tuple[FileCount, ...]
    positive: str
    classes: tuple[str, ...]
    models: tuple[ModelColumns, ...]
    thresholds: Mapping[str, float | None]
    ties: Mapping[str, int]
    blank_rows: int
    reread: tuple[str, ...]
    roles: Input
    kept: Kept
    top: Top | None = None
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, judged: Judged, settled: Settled, top: Top | None = None) -> Counted:
        """Take what was accepted."""
        grouped, models = judged.grouped, settled.columns.models
        out = judged.missing & ~judged.excused
        by_file = [
            (grouped.rows * (grouped.origin == index)) for index in range(len(settled.files))
        ]
        files = tuple(
            file_count(file, task, int(rows[~judged.missing].sum()), int(rows[out].sum()))
            for file, task, rows in zip(settled.files, settled.tasks, by_file, strict=True)
        )
        slices = slices_of(judged, settled)
        return cls(
            slices=slices,
            files=files,
            positive=settled.positive,
            classes=judged.classes,
            models=models,
            thresholds={
                model.name: cut if model.kind != "label" and np.isfinite(cut) else None
                for model in models
                for cut in [settled.thresholds[model.name]]
            },
            ties={model: count for model, count in grouped.ties.items() if count},
            blank_rows=judged.blank,
            reread=tuple(sorted(settled.reread)),
            roles=settled.roles,
            kept=Kept(
                settled=settled,
                mode=grouped.mode,
                positive_values=values_of(grouped.truth, settled.positive),
                vote_values=tuple(
                    values_of(votes, settled.positive) if model.kind == "label" else ()
                    for model, votes in zip(models, grouped.votes, strict=True)
                ),
                complete=not judged.missing.any(),
                whole=slices[None].n.dtype == np.int64,
                rows=sum(file.rows for file in files),
            ),
            top=top,
        )

    @property
    def name(self) -> str:
        """What the table is called in messages."""
        return self.kept.settled.name

    @property
    def truth(self) -> str:
        """The column of true labels."""
        return self.kept.settled.columns.truth

    @property
    def patterns(self) -> PatternCounts:
        """The patterns of the whole table."""
        return self.slices[None]

    @property
    def confusions(self) -> Mapping[str | None, ConfusionCounts]:
        """The 2 x 2 tables of every model, of the whole table and of every slice."""
        return self._once(
            "confusions",
            lambda: {name: ConfusionCounts.of_patterns(one) for name, one in self.slices.items()},
            len,
        )

    def joint(self, *, scores: bool) -> JointCounts:
        """Return the distinct rows of votes; with `scores`, one pass more, of votes and scores."""
        if not scores or all(model.kind == "label" for model in self.models):
            return JointCounts.of_patterns(self.patterns)
        return self._once("joint", lambda: joint_counts(self.kept), lambda found: len(found.n))

    def scores(self, i: int) -> Mapping[str | None, ScoreCounts]:
        """Return the scores of model i, of the whole table and of every slice: one pass more."""
        return self._once(
            ("scores", i), lambda: model_scores(self.kept, i), lambda found: len(found[None].scores)
        )

    def _once(self, key: Any, make: Callable[[], S], size: Callable[[S], int]) -> S:
        """Make a statistic, and remember it where it is small: ten million scores are no trifle."""
        if key in self._known:
            known: S = self._known[key]
            return known
        made = make()
        if size(made) <= FEW:
            self._known[key] = made
        return made


def count(opened: Predictions, *, top: str | None = None, any_range: bool = False) -> Counted:
    """Count the patterns of a prediction table.

    `top` takes each model's highest rows for positive, in place of thresholds, after a first count;
    `any_range` admits scores outside 0..1 without threshold, of which only the order matters.

    Raises DataError with every problem of the table, found in one second look.
    """
    try:
        if top is None:
            return _count(opened, {}, any_range=any_range)
        if opened.roles.threshold:
            raise UsageError.of(
                "--top and --threshold both say what is positive: give one", "bad-option"
            )
        first = _count(opened, {}, any_range=True)
        table, _ = read_scores(first.kept, "all")
        rows = top_count(top, first.patterns.rows)
        cuts, taken = top_cuts(table, rows)
        return _count(opened, cuts, any_range=True, top=Top(rows, taken))
    except engine_errors() as error:
        raise explained(opened.files, error) from error


def _count(
    opened: Predictions, cuts: Mapping[str, float], *, any_range: bool, top: Top | None = None
) -> Counted:
    settled = settle(opened, cuts)
    if settled.strange:
        for file, task in zip(settled.files, settled.tasks, strict=True):
            check_structure(file, task)
        known = sorted(known_labels(settled.classes, settled.roles), key=natural)
        strict = settled.roles.missing == "error"
        raise_culprits(settled, Suspicion(known, settled.strange, strict))
    while True:
        grouped = group(settled)  # the one pass
        judged = judge(grouped, settled)
        better = otherwise(judged, settled)
        if better is None:
            break
        settled = better
    accept(judged, settled, any_range=any_range)
    counted = Counted.of(judged, settled, top)
    check_thresholds(settled)
    if f"{settled.columns.run}=(missing)" in counted.slices:
        raise_nameless_runs(settled.files, settled.columns)
    return counted
