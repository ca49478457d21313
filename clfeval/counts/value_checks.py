"""Checks of distinct raw values: missing values, unknown classes, and the resulting errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Ints
from clfeval.counts.clusters_and_weights import Owners, select_owners
from clfeval.counts.doubtful_columns import (
    refuse_binary_predictions,
    refuse_complements,
    refuse_probability_sums,
    refuse_shared_threshold,
    refuse_stray_columns,
    refuse_threshold_of_other_scale,
    refuse_unbounded_scores,
)
from clfeval.counts.group_rows import MISSING, RawPatterns
from clfeval.counts.invalid_rows import ROW_HINTS, check_ids, refuse_invalid_rows, refuse_same_rows
from clfeval.counts.label_checks import refuse_similar_labels
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.settings import CountSettings, raw_values_of, resolve_positive, with_model_kinds
from clfeval.counts.slices import slice_rows
from clfeval.errors import HEADER_ONLY, DataError, UsageError, list_names, unknown_model
from clfeval.tables.cells import (
    as_text,
    count_texts,
    distinct_texts,
    known_labels,
    natural_sort_key,
)
from clfeval.tables.input import ColumnNames, find_column
from clfeval.tables.invalid_cells import FILE, count_blank, numbered_rows
from clfeval.tables.lazy_imports import pl
from clfeval.tables.peek import is_score

MOST_SLICES = 1000


@dataclass(frozen=True, slots=True)
class PatternCheck:
    """Missing and invalid values among the distinct patterns; blank: blank lines of the files."""

    grouped: RawPatterns
    classes: tuple[str, ...]
    missing: Bools  # per raw pattern: truth or some prediction is missing
    excused: Bools  # of these, blank lines
    unknown: Mapping[str, frozenset[str]]  # per label model: values that are not classes
    unbounded: Mapping[str, tuple[float, float]]  # score models without threshold outside 0..1
    blank: int

    @property
    def rows(self) -> dict[str, int]:
        """Number of rows of each class."""
        counts = count_texts(self.grouped.truth, self.grouped.rows.tolist())
        return {name: counts[name] for name in self.classes}


def check_patterns(grouped: RawPatterns, settled: CountSettings) -> PatternCheck:
    """Check the distinct raw values against the roles of their columns."""
    roles, models = settled.roles, settled.columns.models
    classes = tuple(sorted(distinct_texts(grouped.truth), key=natural_sort_key))
    known = known_labels(classes, roles)
    absent = [[value is None for value in grouped.truth]]
    unknown = {}
    for model, values in zip(models, grouped.votes, strict=True):
        if model.kind == "label":
            absent.append([value is None for value in values])
            if strange := distinct_texts(values) - known:
                unknown[model.name] = frozenset(strange)
        else:
            absent.append([value == MISSING for value in values])
    probabilities = {model.name for model in models if model.kind == "classes"}
    shares = {model.name for model in models if model.shares}
    unbounded = {
        name: limits
        for name, limits in grouped.ranges.items()
        if (limits[0] < 0 or (limits[1] > 1 and name not in shares))
        and (name in probabilities or not roles.has_threshold(name))
    }
    empty = np.logical_and.reduce(absent)
    looks_blank = grouped.rows[empty].sum()
    blank = sum(map(count_blank, settled.files)) if looks_blank else 0
    # rows without any value are blank lines, unless there are more of them than blank lines
    excused = empty & (looks_blank <= blank)
    missing = np.logical_or.reduce(absent)
    return PatternCheck(grouped, classes, missing, excused, unknown, unbounded, blank)


def corrected_settings(judged: PatternCheck, settled: CountSettings) -> CountSettings | None:
    """Return corrected settings to count again: another positive class, or scores for labels."""
    scores = set()
    if settled.roles.kind is None:
        scores = {name for name, values in judged.unknown.items() if all(map(is_score, values))}
    positive = settled.positive
    if judged.classes:
        models = settled.columns.models
        refuse_similar_labels(
            settled.name,
            settled.columns.truth,
            judged.rows,
            settled.roles,
            models,
            predicted=settled.predicted,
        )
        positive = resolve_positive(settled.name, judged.rows, settled.roles, models)
    if not scores and positive == settled.positive:
        return None
    settled = with_model_kinds(settled, dict.fromkeys(scores, "score"))
    # another class: other thresholds relate labels to scores
    related = settled.related if positive == settled.positive else None
    return replace(settled, positive=positive, reread=settled.reread | scores, related=related)


def refuse_invalid_patterns(
    judged: PatternCheck, settled: CountSettings, *, any_range: bool
) -> None:
    """Raise all problems of the rows, named in a second pass if needed."""
    grouped, name = judged.grouped, settled.name
    strict = settled.roles.missing == "error"
    missing = bool((judged.missing & ~judged.excused).any())
    lost = _lacks_cluster(judged)
    surely = bool(judged.unknown or grouped.wrong or grouped.bad_weights or lost)
    refuse_stray_columns(
        settled,
        [
            votes if model.kind == "label" else settled.texts(model)
            for model, votes in zip(settled.columns.models, grouped.votes, strict=True)
        ],
        judged.unbounded,
    )
    refuse_binary_predictions(settled, judged.classes)
    refuse_complements(settled)
    refuse_similar_labels(
        name, settled.columns.truth, judged.rows, settled.roles, settled.columns.models,
        {settled.column(model): labels for model, labels in judged.unknown.items()},
        settled.predicted,
    )  # fmt: skip
    if surely or (missing and (strict or grouped.mode == "loose")):
        wrong, weights = grouped.wrong > 0, grouped.bad_weights > 0
        refuse_invalid_rows(
            settled, judged.classes, judged.unknown, wrong=wrong, weights=weights, lost=lost
        )
        if surely:
            raise DataError.new("invalid values in unknown rows", "bad-values", name)
    refuse_unbounded_scores(settled, judged.unbounded, any_range=any_range)
    if not any_range:
        refuse_shared_threshold(settled, grouped.ranges)
        refuse_threshold_of_other_scale(settled, grouped.ranges)
    refuse_probability_sums(settled, judged.classes, grouped.off)
    if not grouped.n[~judged.missing].sum() > 0:
        hint = HEADER_ONLY
        if grouped.rows.sum() > judged.blank or settled.columns.weight:
            hint = "every row has a missing value or weight 0"
        raise DataError.new("no rows to evaluate", "empty-table", name, hint=hint)
    row_id = settled.columns.id
    if not settled.layout.gathers and row_id is not None:
        nulls, run = settled.columns.null_values, settled.columns.run
        check_ids(settled.files, row_id, nulls, settled.peeks[row_id], run, ROW_HINTS)
    cluster = settled.columns.cluster
    if (
        cluster
        and len(settled.files) > 1
        and find_column([cluster], ColumnNames.ID)
        and row_id is None
    ):
        nulls = settled.columns.null_values
        frames = [numbered_rows(file, nulls).select(FILE, cluster) for file in settled.files]
        refuse_same_rows(settled.files, cluster, pl.concat(frames))


def _lacks_cluster(judged: PatternCheck) -> bool:
    """Return whether an evaluated row has no cluster."""
    clusters = judged.grouped.clusters
    if clusters is None:
        return False
    return any(clusters[i] is None for i in np.flatnonzero(~judged.missing).tolist())


def patterns_by_slice(
    judged: PatternCheck, settled: CountSettings
) -> dict[str | None, PatternCounts]:
    """Return the pattern counts of the kept rows: of the whole table (None) and every slice."""
    raw, positive = judged.grouped, settled.positive
    models = settled.columns.models
    names = tuple(model.name for model in models)
    truth = _is_label(raw.truth, positive)
    votes = np.column_stack(
        [
            _is_label(values, positive) if model.kind == "label" else np.array(values) == 1
            for model, values in zip(models, raw.votes, strict=True)
        ]
    )

    owners: Owners | None = raw.squares
    if raw.clusters is not None:
        owners = list(map(str, map(as_text, raw.clusters)))

    def patterns(rows: Ints) -> PatternCounts:
        of = select_owners(owners, rows)
        return PatternCounts.from_votes(
            names, truth[rows], votes[rows], raw.n[rows], settled.unit, owners=of
        )

    kept = np.flatnonzero(~judged.missing)
    rows = kept.tolist()
    by = {name: [values[i] for i in rows]
          for name, values in zip(settled.columns.by, raw.by, strict=True)}  # fmt: skip
    found = slice_rows(settled.columns.facets, by)
    if len(found) > MOST_SLICES:
        option = "--by" if settled.columns.run is None else "--run"
        what = f"{option} {list_names(by)} gives {len(found):,} groups"
        hint = f"use a column with at most {MOST_SLICES} values"
        raise UsageError.new(what, "too-many-slices", hint=hint)
    return {None: patterns(kept)} | {label: patterns(kept[some]) for label, some in found.items()}


def _is_label(values: list[Any], label: str) -> Bools:
    same = set(raw_values_of(values, label))
    return np.array([value in same for value in values], bool)


def check_thresholds(settled: CountSettings) -> None:
    """Raise UsageError for thresholds of unknown models, or of models with labels."""
    models = {model.name: model for model in settled.columns.models}
    given = settled.roles.threshold
    for name in given:
        if name is None:
            continue
        if name not in models:
            raise unknown_model("--threshold", name, models)
        if models[name].kind == "label":
            raise UsageError.new(f"--threshold names '{name}', which has no scores", "needs-scores")
    if given and all(model.kind == "label" for model in models.values()):
        what = "--threshold needs scores, but all models have labels"
        hint = "leave it out, or use a table of scores"
        raise UsageError.new(what, "needs-scores", hint=hint)
