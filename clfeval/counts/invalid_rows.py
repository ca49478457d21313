"""Errors of rows and values: invalid labels, scores out of range, rows without a value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Ints
from clfeval.counts import ambiguous_columns
from clfeval.counts.clusters_and_weights import Owners, select_owners
from clfeval.counts.evaluated_rows import slice_rows
from clfeval.counts.group_rows import MISSING, RawPatterns
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.settings import (
    CountSettings,
    declarable_labels,
    raw_values_of,
    resolve_positive,
)
from clfeval.counts.unknown_labels import (
    refuse_disjoint_labels,
    refuse_mixed_predictions,
    refuse_multilabel_cells,
)
from clfeval.errors import (
    HEADER_ONLY,
    MAX_PROBLEMS,
    DataError,
    Problem,
    UsageError,
    format_option,
    list_names,
    unknown_model_error,
)
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace
from clfeval.tables.columns import ModelColumns
from clfeval.tables.engines import counts_only
from clfeval.tables.frames import as_text, count_texts, distinct_texts, natural_sort_key, pl
from clfeval.tables.input import InputOptions
from clfeval.tables.invalid_cells import (
    FILE,
    PLACE,
    ROW,
    Check,
    Suspicion,
    count_blank,
    duplicate_id,
    missing_cell,
    numbered_rows,
    run_checks,
    unknown_rows_error,
)
from clfeval.tables.profiles import NEAR_ONE, ROUNDED, ColumnProfile
from clfeval.tables.readings.candidate_columns import RATED
from clfeval.tables.readings.labels import known_labels
from clfeval.tables.readings.notations import means_missing, null_value_hint
from clfeval.tables.row_selection import MOST_SLICES
from clfeval.tables.scan import TableFile, all_distinct

# by the code of the first problem; {value} is the quoted value, the others are options with it
HINTS = {
    "missing-value": f"fill in the cells, or add {OPTION}--missing drop{END} to drop these rows",
    "bad-sum": f"add {OPTION}--missing drop{END} to drop these rows",
    "bad-number": "if '{value}' means missing, add {null_value}",
    "bad-weight": "a weight must be a finite number of at least 0",
    "duplicate-id": "each id must occur once",
}


PART_OF_RANGE = 0.01  # that scores lie beyond 0 to 1 by rounding, at most
ROW_HINTS = HINTS | {
    "duplicate-id": "each id must occur once; if rows share a patient or document, use "
    "{cluster} instead (mars, phidelta, tune-jpt, report); for several runs, seeds or folds, "
    f"add {OPTION}--run COLUMN{END} (phidelta, report)",
    "decimal-comma": "if this is a decimal comma, write '{value}' as {point}",
    "unknown-label": "if it is a class without rows in truth, add {classes}; if the column is "
    f"not a model, add {OPTION}--model NAME{END} for each model",
    "duplicate-row": "each id needs one row per model",
    "unequal-ids": "each id needs one row per model",
    "conflicting-value": "all rows of an id must have the same slices and weights",
    "conflicting-truth": "all rows of an id must have the same truth",
}


_OPTIONS = ("null_value", "classes")  # in hints, of the quoted value
Looks = Iterable[tuple["pl.LazyFrame", Iterable[Check]]]


def raise_found_problems(
    files: Sequence[TableFile],
    frame_checks: Looks,
    hints: Mapping[str, str],
    declared: Sequence[str] = (),
) -> None:
    """Run the checks over numbered rows, in a second pass, and raise all problems.

    In the order of the files; `declared`: labels that are probably classes.
    """
    problems = list[Problem]()
    totals = Counter[str]()
    for frame, checks in frame_checks:
        problems_of_frame, counts = run_checks(frame, checks)
        problems += problems_of_frame
        totals += counts
    if not problems:
        return
    if all(problem.row is None for problem in problems):  # of some rows of Spark
        problems = list(dict.fromkeys(problems))
        totals = Counter()
    file_names = [file.name for file in files]
    problems.sort(key=lambda problem: (file_names.index(str(problem.file)), problem.row or 0))
    fixes: dict[str, Any] = {}
    marks = _missing_marks(problems)
    if declared and {*totals} == {"unknown-label"}:
        fixes = {"classes": tuple(declared)}
    elif marks:
        fixes = {"null_value": marks}
    hint = null_value_hint(*marks, drop=True) if marks else _row_hint(problems[0], hints)
    raise DataError(problems[:MAX_PROBLEMS], hint=hint, totals=totals, fixes=fixes)


def _missing_marks(problems: Iterable[Problem]) -> tuple[str, ...]:
    """Return the texts that mean missing values among invalid numbers and unknown labels."""
    texts = {
        _quoted_value(problem)
        for problem in problems
        if problem.code in ("bad-number", "unknown-label")
    }
    return tuple(sorted(filter(means_missing, texts)))


def _row_hint(problem: Problem, hints: Mapping[str, str]) -> str | None:
    """Return the hint of the first problem, with its value filled in."""
    value = _quoted_value(problem)
    is_decimal_comma = "decimal-comma" in hints and re.fullmatch(r"-?\d+,\d+", value)
    replacements = {name: format_option(f"--{name.replace('_', '-')}", value) for name in _OPTIONS}
    replacements |= {"value": value, "point": value.replace(",", ".")}
    replacements["cluster"] = format_option("--cluster", str(problem.column))
    return (
        hints.get("decimal-comma" if is_decimal_comma else problem.code, "").format(**replacements)
        or None
    )


def _quoted_value(problem: Problem) -> str:
    """Return the value that a problem quotes."""
    quotation = re.match(r"'(.*?)' (?:is|already|differs) ", problem.message, re.DOTALL)
    return quotation[1] if quotation else ""


def refuse_invalid_rows(
    settings: CountSettings,
    classes: Iterable[str],
    unknown: Mapping[str, Collection[str]],
    *,
    has_conflicts: bool = False,
    weights: bool = False,
    lacks_clusters: bool = False,
) -> None:
    """Raise DataError with the invalid rows of all files, if any.

    has_conflicts: rows of an id contradict each other. weights: some may be invalid.
    lacks_clusters: some rows have no cluster.
    """
    classes = [*classes]
    labels = sorted(known_labels(classes, settings.roles), key=natural_sort_key)
    suspicion = Suspicion(
        labels, unknown, settings.roles.missing == "error", has_conflicts, weights
    )
    if not settings.numbers_rows:
        file = settings.files[0]
        first_rows = numbered_rows(file, settings.columns.null_values, first=True)
        frame_checks = settings.layout.checks(settings.columns, suspicion, [first_rows])
        raise_found_problems(settings.files, frame_checks, ROW_HINTS)
        raise unknown_rows_error(file.name)
    refuse_mixed_predictions(settings, labels)
    refuse_multilabel_cells(settings, classes, unknown.values())
    refuse_disjoint_labels(settings, labels, unknown)
    frames = [numbered_rows(file, settings.columns.null_values) for file in settings.files]
    hints = ROW_HINTS | ({"missing-value": "every row needs a cluster"} if lacks_clusters else {})
    frame_checks = settings.layout.checks(settings.columns, suspicion, frames)
    raise_found_problems(
        settings.files, frame_checks, hints, declared=declarable_labels(settings, unknown)
    )


def refuse_rows_without_run(settings: CountSettings) -> None:
    """Raise for the rows without a run."""
    hints = {"missing-value": "every row needs a run"}
    for file in settings.files:
        frame = numbered_rows(file, settings.columns.null_values)
        raise_found_problems(
            [file], [(frame, [missing_cell(str(settings.columns.run), frame)])], hints
        )


def check_ids(
    files: Sequence[TableFile],
    column: str,
    null_values: Sequence[str],
    profile: ColumnProfile | None = None,
    run: str | None = None,
    hints: Mapping[str, str] = HINTS,
) -> None:
    """Raise if an id occurs in more than one row of the files, or of one run."""
    if all_distinct(files, column, null_values, profile.texts if profile else ()):
        return
    if counts_only(files[0].native, InputOptions()):
        message, hint = "some ids are in more than one row", "each id must occur once"
        raise DataError.new(message, "duplicate-id", files[0].name, None, column, hint=hint)
    key_columns = [column] if run is None else [column, run]
    column_names = list(dict.fromkeys([FILE, ROW, PLACE, *key_columns]))
    frame = pl.concat([numbered_rows(file, null_values).select(column_names) for file in files])
    raise_found_problems(files, [(frame, [duplicate_id(*key_columns)])], hints)


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
    rows: Mapping[str, int]  # of each class

    @property
    def owners(self) -> Owners | None:
        """The cluster of each pattern, or its sum of squared weights."""
        clusters = self.grouped.clusters
        return self.grouped.squares if clusters is None else list(map(str, map(as_text, clusters)))

    def evaluated_slices(self, settings: CountSettings) -> tuple[Ints, dict[str, Ints]]:
        """Return the indices of the evaluated patterns, and those of each slice among them."""
        evaluated_indices = np.flatnonzero(~self.missing)
        columns = settings.columns
        slice_values = {
            name: [values[i] for i in evaluated_indices.tolist()]
            for name, values in zip(columns.by, self.grouped.by, strict=True)
        }
        return evaluated_indices, slice_rows(columns.facets, slice_values)


def check_patterns(raw_patterns: RawPatterns, settings: CountSettings) -> PatternCheck:
    """Check the distinct raw values against the roles of their columns."""
    models = settings.columns.models
    counts = count_texts(raw_patterns.truth, raw_patterns.rows.tolist())
    rows = {name: counts[name] for name in sorted(counts, key=natural_sort_key)}
    classes = tuple(rows)
    missing_masks = [[value is None for value in raw_patterns.truth]]
    for model, values in zip(models, raw_patterns.votes, strict=True):
        missing_value = None if model.kind == "label" else MISSING
        missing_masks.append([value == missing_value for value in values])
    unknown = _unknown_labels(raw_patterns, models, known_labels(classes, settings.roles))
    unbounded = _unbounded_models(raw_patterns, settings)
    is_empty = np.logical_and.reduce(missing_masks)
    empty_row_count = raw_patterns.rows[is_empty].sum()
    blank_rows = sum(map(count_blank, settings.files)) if empty_row_count else 0
    # rows without any value are blank lines, unless there are more of them than blank lines
    is_excused = is_empty & (empty_row_count <= blank_rows)
    is_incomplete = np.logical_or.reduce(missing_masks)
    return PatternCheck(
        raw_patterns, classes, is_incomplete, is_excused, unknown, unbounded, blank_rows, rows
    )


def _unknown_labels(
    raw_patterns: RawPatterns, models: Sequence[ModelColumns], labels: AbstractSet[str]
) -> dict[str, frozenset[str]]:
    """Return the values of each label model that are none of the known labels."""
    unknown = {}
    for model, values in zip(models, raw_patterns.votes, strict=True):
        if model.kind == "label" and (unknown_values := distinct_texts(values) - labels):
            unknown[model.name] = frozenset(unknown_values)
    return unknown


def _unbounded_models(
    raw_patterns: RawPatterns, settings: CountSettings
) -> dict[str, tuple[float, float]]:
    """Return the range of the scores of models without threshold that leave 0..1."""
    unbounded = {}
    for model in settings.columns.models:
        low, high = raw_patterns.ranges.get(model.name, (0.0, 1.0))
        reproduces_labels = model.name in (settings.related or {})  # a threshold gives its labels
        if model.rounded:
            continue
        is_probability = model.kind == "classes" or model.confidence
        has_threshold = reproduces_labels or settings.roles.has_threshold(model.name)
        is_checked = is_probability or not has_threshold
        if is_checked and (low < 0 or (high > 1 and not model.shares)):
            unbounded[model.name] = low, high
    return unbounded


_EDGES = (0.0, 1.0, NEAR_ONE, float(RATED), 100.0)  # of the scales of scores


def has_other_facts(raw_patterns: RawPatterns, settings: CountSettings) -> bool:
    """Return whether all rows show what the first rows did not: labels, scales, other cells."""
    if raw_patterns.mode == "loose":
        return True
    columns, profiles = settings.columns, settings.profiles
    if distinct_texts(raw_patterns.truth) - profiles[columns.truth].texts:
        return True
    for model, values in zip(columns.models, raw_patterns.votes, strict=True):
        if model.kind == "label":
            if distinct_texts(values) - settings.texts(model):
                return True
            continue
        if model.name not in raw_patterns.ranges:
            continue
        column_names = (columns.answer,) if columns.answer else model.columns
        sample_numbers = [number for name in column_names for number in profiles[name].numbers]
        if not sample_numbers or [
            _scale_part(min(sample_numbers)),
            _scale_part(max(sample_numbers)),
        ] != [*map(_scale_part, raw_patterns.ranges[model.name])]:
            return True
    return False


def _scale_part(number: float) -> int:
    """Return between which edges of scales a number lies."""
    edges_below = sum(number > edge for edge in _EDGES)
    return edges_below - 1 if number < 0 else edges_below


def corrected_settings(check: PatternCheck, settings: CountSettings) -> CountSettings | None:
    """Return corrected settings to count again with another positive class; None if it is right."""
    if not check.classes:
        return None
    settings.refuse_similar_labels(check.rows)
    truth, models = settings.columns.truth, settings.columns.models
    positive = resolve_positive(settings.name, truth, check.rows, settings.roles, models)
    if positive == settings.positive:
        return _with_rounded_scores(check, settings)
    # another class: other thresholds relate labels to scores
    return replace(settings, positive=positive, related=None)


def _with_rounded_scores(check: PatternCheck, settings: CountSettings) -> CountSettings | None:
    """Return settings that clip scores outside 0 to 1 by rounding; None if there are no such.

    Rounding is at most 1 in 100 of the range of the scores, so that hardly any rows become equal.
    """
    models = list(settings.columns.models)
    for i, model in enumerate(models):
        low, high = check.unbounded.get(model.name, (0.0, 1.0))
        excess = max(-low, high - 1)
        if model.kind == "score" and 0 < excess <= min(ROUNDED, PART_OF_RANGE * (high - low)):
            models[i] = replace(model, rounded=excess)
    if models == [*settings.columns.models]:
        return None
    return replace(settings, columns=replace(settings.columns, models=tuple(models)))


def refuse_invalid_patterns(
    check: PatternCheck, settings: CountSettings, *, any_range: bool
) -> None:
    """Raise all problems of the rows, named in a second pass if needed."""
    raw_patterns, name, columns = check.grouped, settings.name, settings.columns
    settings.refuse_similar_labels(check.rows, check.unknown)
    owners, evaluated_indices = raw_patterns.clusters, np.flatnonzero(~check.missing)
    lacks_clusters = owners is not None and any(
        owners[i] is None for i in evaluated_indices.tolist()
    )
    has_errors = bool(
        check.unknown or raw_patterns.invalid or raw_patterns.bad_weights or lacks_clusters
    )
    has_missing = bool((check.missing & ~check.excused).any())
    if has_errors or (
        has_missing and (settings.roles.missing == "error" or raw_patterns.mode == "loose")
    ):
        has_conflicts, has_bad_weights = raw_patterns.invalid > 0, raw_patterns.bad_weights > 0
        refuse_invalid_rows(
            settings,
            check.classes,
            check.unknown,
            has_conflicts=has_conflicts,
            weights=has_bad_weights,
            lacks_clusters=lacks_clusters,
        )
        if has_errors:
            raise DataError.new("invalid values in unknown rows", "bad-values", name)
    ambiguous_columns.refuse_unbounded_scores(settings, check.unbounded, any_range=any_range)
    if not any_range:
        ambiguous_columns.refuse_shared_threshold(settings, raw_patterns.ranges)
    ambiguous_columns.refuse_probability_sums(settings, check.classes, raw_patterns.farthest_off)
    if not raw_patterns.n[evaluated_indices].sum() > 0:
        hint = HEADER_ONLY
        if raw_patterns.rows.sum() > check.blank or columns.weight:
            hint = "every row has a missing value or weight 0"
        raise DataError.new("no rows to evaluate", "empty-table", name, hint=hint)
    checks_ids = settings.roles.id or not counts_only(settings.files[0].native, settings.roles)
    if columns.id is not None and checks_ids and not settings.layout.gathers:
        profile = settings.profiles[columns.id]
        check_ids(settings.files, columns.id, columns.null_values, profile, columns.run, ROW_HINTS)


def patterns_by_slice(
    check: PatternCheck, settings: CountSettings
) -> dict[str | None, PatternCounts]:
    """Return the pattern counts of evaluated rows: of the whole table (None) and every slice."""
    raw_patterns = check.grouped
    positive = settings.positive
    columns = settings.columns
    names = tuple(model.name for model in columns.models)
    truth = _is_label(raw_patterns.truth, positive)
    votes = np.column_stack(
        [
            _is_label(values, positive) if model.kind == "label" else np.array(values) == 1
            for model, values in zip(columns.models, raw_patterns.votes, strict=True)
        ]
    )

    def count_patterns(rows: Ints) -> PatternCounts:
        owners = select_owners(check.owners, rows)
        return PatternCounts.from_votes(
            names, truth[rows], votes[rows], raw_patterns.n[rows], settings.unit, owners=owners
        )

    evaluated_indices, rows_by_slice = check.evaluated_slices(settings)
    if len(rows_by_slice) > MOST_SLICES:
        option = "--by" if columns.run is None else "--run"
        message = (
            f"{OPTION}{option}{END} {list_names(columns.by)} gives {len(rows_by_slice):,} groups"
        )
        hint = f"use a column with at most {MOST_SLICES} values"
        raise UsageError.new(message, "too-many-slices", hint=hint)
    counts: dict[str | None, PatternCounts] = {None: count_patterns(evaluated_indices)}
    for label, rows in rows_by_slice.items():
        counts[label] = count_patterns(evaluated_indices[rows])
    return counts


def _is_label(values: list[Any], label: str) -> Bools:
    """Return which raw values have the text of a label, (r,)."""
    raw_values = set(raw_values_of(values, label))
    return np.array([value in raw_values for value in values], bool)


def check_thresholds(settings: CountSettings) -> None:
    """Raise UsageError for thresholds of unknown models, or of models with labels."""
    kinds = {model.name: model.kind for model in settings.columns.models}
    thresholds = settings.roles.threshold
    for name in thresholds:
        if name is not None and name not in kinds:
            raise unknown_model_error("--threshold", name, kinds)
        if name is not None and kinds[name] == "label":
            raise UsageError.new(
                f"{OPTION}--threshold{END} names '{name}', which has no scores", "needs-scores"
            )
    if thresholds and {*kinds.values()} == {"label"}:
        message = f"{OPTION}--threshold{END} needs scores, but all models have labels"
        hint = "leave it out, or use a table of scores"
        raise UsageError.new(message, "needs-scores", hint=hint)
