"""The counts of a prediction table, with further statistics on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from clfeval.counts.buckets import BITS
from clfeval.counts.classes import (
    ClassPatterns,
    ClassScores,
    ProbabilityRows,
    class_order,
    grouped_labels,
    read_class_scores,
    read_labels,
    read_probability_rows,
)
from clfeval.counts.evaluated_rows import EvaluatedRows, JointCounts, joint_counts
from clfeval.counts.invalid_rows import PatternCheck, patterns_by_slice
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.counts.read_files import StoredCounts, parse_bits
from clfeval.counts.score_tables import ScoreSource, bucketed_scores, has_many_scores
from clfeval.counts.scores import ScoreCounts, TopRows, count_model_scores
from clfeval.counts.settings import CountSettings, input_file, raw_values_of
from clfeval.document import InputFile
from clfeval.errors import bad_option
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field, replace
from clfeval.tables.columns import ModelColumns
from clfeval.tables.frames import collect, nw
from clfeval.tables.input import InputOptions
from clfeval.tables.readings.positive import is_multiclass

S = TypeVar("S")
FEW = 1 << 14  # rows of a statistic that is cached, at most


@dataclass(frozen=True, slots=True, eq=False)
class PredictionCounts:
    """The counts of a prediction table; further statistics are computed on demand.

    slices: patterns of the whole table under None, then of every slice.
    thresholds: in force by model, None for labels and for predictions of the most probable class.
    uncut: the range of scores of models without a threshold, whose votes are meaningless. order:
    the classes of truth, --classes and columns, as declared, else in natural order. labelled:
    counts the labels of more than two classes, None where a model holds probabilities. stored:
    counts that were read from files, where there are no rows. ranges: of the scores of each model,
    where there are rows.
    """

    slices: Mapping[str | None, PatternCounts]
    files: tuple[InputFile, ...]
    positive: str
    classes: tuple[str, ...]
    models: tuple[ModelColumns, ...]
    thresholds: Mapping[str, float | None]
    ties: Mapping[str, int]
    blank_rows: int
    roles: InputOptions
    evaluated: EvaluatedRows
    order: tuple[str, ...] = ()
    labelled: Callable[[], dict[str | None, ClassPatterns]] | None = None
    top: TopRows | None = None
    uncut: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    stored: StoredCounts | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_patterns(
        cls, check: PatternCheck, settings: CountSettings, top: TopRows | None = None
    ) -> PredictionCounts:
        """Build from checked patterns; top: the numbers of rows that --top predicts as positive."""
        raw_patterns = check.grouped
        positive = settings.positive
        models = settings.columns.models
        files = _input_files(check, settings)
        order = class_order(check, settings)
        uncut = check.unbounded if settings.roles.ranks else {}
        votes_of_models = zip(models, raw_patterns.votes, strict=True)
        label_values = tuple(
            raw_values_of(values, positive) if model.kind == "label" else ()
            for model, values in votes_of_models
        )
        evaluated = EvaluatedRows(
            settings,
            raw_patterns.mode,
            raw_values_of(raw_patterns.truth, positive),
            label_values,
            complete=not check.missing.any(),
            rows=sum(file.rows for file in files),
        )
        return cls(
            slices=patterns_by_slice(check, settings),
            files=files,
            positive=positive,
            classes=check.classes,
            models=models,
            thresholds=_thresholds_in_force(settings, uncut),
            ties={name: count for name, count in raw_patterns.ties.items() if count},
            blank_rows=check.blank,
            roles=settings.roles,
            evaluated=evaluated,
            order=order,
            labelled=grouped_labels(check, settings, order),
            top=top,
            uncut=uncut,
            ranges=_clipped_ranges(raw_patterns.ranges, models),
        )

    @property
    def name(self) -> str:
        """Name of the table in messages."""
        return self.evaluated.settled.name

    @property
    def negative(self) -> tuple[str, ...]:
        """The classes other than the positive one."""
        return tuple(name for name in self.classes if name != self.positive)

    @property
    def truth(self) -> str:
        """The column of true labels."""
        return self.evaluated.settled.columns.truth

    @property
    def patterns(self) -> PatternCounts:
        """The patterns of the whole table."""
        return self.slices[None]

    @property
    def multiclass(self) -> bool:
        """True if more than two classes are evaluated, without a positive one."""
        return is_multiclass(self.classes, self.roles, self.models)

    @property
    def ordered(self) -> bool:
        """True if the order of all classes was declared."""
        return {*self.order} <= {*self.roles.classes}

    @property
    def size(self) -> float:
        """Number of rows counted; for fractional weights, of rows with a weight above 0."""
        if not self.patterns.fractional:
            return float(self.patterns.n.sum())
        is_evaluated = nw.col("w") > 0
        return float(
            sum(
                collect(frame.select(is_evaluated.sum()))["w"].item()
                for frame in self.evaluated.frames()
            )
        )

    @property
    def units_per_row(self) -> float:
        """Number of units in a row: of a weight of 1, or of the mean sampling weight."""
        if self.roles.sampling_weights:
            return float(self.patterns.n.sum()) / self.size
        return self.patterns.unit if self.stored is not None else self.evaluated.settled.weight_unit

    def grouped(self, groups: Mapping[str, tuple[str, ...]], target: str) -> PredictionCounts:
        """Return the counts with groups of models merged, as by `PatternCounts.grouped`."""
        if not groups:
            return self
        slices = {
            label: patterns.grouped(groups, target) for label, patterns in self.slices.items()
        }
        return replace(self, slices=slices, _known={})

    @property
    def confusions(self) -> Mapping[str | None, ConfusionCounts]:
        """The 2 x 2 tables of all models, for the whole table (None) and every slice."""
        build = ConfusionCounts.from_patterns
        return self._once(
            "confusions",
            lambda: {label: build(patterns) for label, patterns in self.slices.items()},
            len,
        )

    def joint(self, *, scores: bool) -> JointCounts:
        """Return the distinct rows of predictions, or (one more pass) of predictions and scores."""
        if scores and any(model.kind != "label" for model in self.models):
            if self.stored is not None:
                self.evaluated.frames()  # which has none
            return self._once(
                "joint", partial(joint_counts, self.evaluated), lambda counts: len(counts.n)
            )
        patterns = self.patterns
        return JointCounts.from_rows(
            patterns.models,
            patterns.truth,
            patterns.votes,
            scores=None,
            n=patterns.n,
            unit=patterns.unit,
        )

    @property
    def bits(self) -> int | None:
        """The bits of the buckets of scores; None where scores are counted one by one."""
        requested_scores = self.roles.scores
        if self.stored is not None:
            return parse_bits(self.stored.description["scores"])
        bits = None if requested_scores is None else parse_bits(requested_scores)
        has_only_labels = all(model.kind == "label" for model in self.models)
        has_sampling_units = self.patterns.fractional or self.patterns.clusters is not None
        if has_sampling_units or has_only_labels or self.multiclass:
            if bits is not None:
                message = (
                    "buckets are for scores of two classes, without clusters or sampling weights"
                )
                raise bad_option(
                    f"{OPTION}--scores{END} {requested_scores}: {message}", "leave it out"
                )
            return None
        if requested_scores is not None:
            return bits
        check_scores = partial(has_many_scores, self.evaluated, self.models)
        has_many_distinct = self._once("many", check_scores, lambda _: 1)
        return BITS if has_many_distinct else None

    @property
    def score_source(self) -> ScoreSource:
        """The rows with scores, and how these are counted."""
        return ScoreSource(self.evaluated, self.models, self.bits, self.thresholds, self.ranges)

    @property
    def min_cell(self) -> int:
        """Below which counts are hidden, so that scores and some labels are not known; or 0."""
        return 0 if self.stored is None else self.stored.description["min_cell"]

    @property
    def unknown(self) -> Mapping[tuple[str | None, str], tuple[int, int]]:
        """Positives and negatives whose predicted labels are hidden, by slice and model."""
        return {} if self.stored is None else self.stored.unknown

    def knows_labels(self, label: str | None, model: str) -> bool:
        """Return whether the predicted labels of a model are known in a slice."""
        return model not in self.uncut and (label, model) not in self.unknown

    @property
    def compares_scores(self) -> bool:
        """True if scores of models can be compared: of rows, or of files with joint sums."""
        return self.stored is None or bool(self.stored.joint)

    def scores(self, i: int) -> Mapping[str | None, ScoreCounts]:
        """Return the score counts of model i, for the whole table and slices: one more pass."""
        if self.stored is not None:
            return self.stored.scores[i]
        count_scores: Callable[[], Mapping[str | None, ScoreCounts]]
        count_scores = partial(count_model_scores, self.evaluated, i)
        if self.bits is not None:
            count_scores = partial(bucketed_scores, self.score_source, i)
        has_buckets = self.bits is not None
        return self._once(
            ("scores", i),
            count_scores,
            lambda counts: len(counts) if has_buckets else len(counts[None].scores),
        )

    def labels(self) -> Mapping[str | None, ClassPatterns]:
        """Return the labels of all models, for the whole table and every slice.

        One more pass with class probabilities. Of many classes without models of one score.
        """

        def count_labels() -> dict[str | None, ClassPatterns]:
            if len(self.order) > 2:
                return self.labelled() if self.labelled else read_labels(self.evaluated, self.order)
            build = ClassPatterns.from_binary_patterns
            slice_patterns = self.slices.items()
            return {
                label: build(patterns, self.order, self.positive)
                for label, patterns in slice_patterns
            }

        return self._once(
            "labels",
            count_labels,
            lambda counts: sum(len(patterns.n) for patterns in counts.values()),
        )

    def class_scores(self, i: int) -> Mapping[str | None, ClassScores]:
        """Return the class probabilities of model i, for the whole table and slices: one more pass.

        Errors: ValueError for a model without them.
        """
        count = partial(read_class_scores, self.evaluated, i, self.order)
        return self._once(("class scores", i), count, lambda counts: counts[None].p.size)

    def probability_rows(self, i: int) -> ProbabilityRows:
        """Return the class probabilities of model i row by row: one more pass."""
        return read_probability_rows(self.evaluated, i, self.order)

    def _once(self, key: object, make: Callable[[], S], size: Callable[[S], int]) -> S:
        """Return a statistic, cached if it is small: ten million scores would fill the memory.

        key: of the cache; make: computes the statistic; size: tells how many rows it has.
        """
        if key in self._known:
            cached: S = self._known[key]
            return cached
        statistic = make()
        if size(statistic) <= FEW:
            self._known[key] = statistic
        return statistic


def _clipped_ranges(
    ranges: Mapping[str, tuple[float, float]], models: Sequence[ModelColumns]
) -> dict[str, tuple[float, float]]:
    """Return the range of the scores of each model, within 0 to 1 where they are clipped."""
    clipped_models = {model.name for model in models if model.rounded}
    return {
        name: (max(low, 0.0), min(high, 1.0)) if name in clipped_models else (low, high)
        for name, (low, high) in ranges.items()
    }


def _input_files(check: PatternCheck, settings: CountSettings) -> tuple[InputFile, ...]:
    """Return the files with their numbers of evaluated rows and of rows left out."""
    raw_patterns = check.grouped
    is_left_out = check.missing & ~check.excused
    tasks = iter(settings.tasks)
    files = list[InputFile]()
    for index, file in enumerate(settings.files):
        row_counts = raw_patterns.rows * (raw_patterns.origin == index)
        evaluated_count = int(row_counts[~check.missing].sum())
        left_out_count = int(row_counts[is_left_out].sum()) + file.lost
        first_part, *other_parts = file.files  # rows of several files are counted in the first
        files.append(input_file(first_part, next(tasks), evaluated_count, left_out_count))
        files += [input_file(other_part, next(tasks), rows=0) for other_part in other_parts]
    return tuple(files)


def _thresholds_in_force(
    settings: CountSettings, uncut: Mapping[str, tuple[float, float]]
) -> dict[str, float | None]:
    """Return the finite threshold of each model with scores, None for the other models."""
    models = settings.columns.models
    thresholds: dict[str, float | None] = dict.fromkeys(model.name for model in models)
    for model in models:
        threshold = settings.thresholds[model.name]
        if model.kind != "label" and model.name not in uncut and np.isfinite(threshold):
            thresholds[model.name] = threshold
    return thresholds
