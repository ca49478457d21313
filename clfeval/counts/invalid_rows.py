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
    files: Sequence[TableFile], looks: Looks, hints: Mapping[str, str], declared: Sequence[str] = ()
) -> None:
    """Run the checks over numbered rows, in a second pass, and raise all problems.

    In the order of the files; `declared`: labels that are probably classes.
    """
    problems = list[Problem]()
    totals = Counter[str]()
    for frame, checks in looks:
        problems_of_frame, counts = run_checks(frame, checks)
        problems += problems_of_frame
        totals += counts
    if not problems:
        return
    if all(problem.row is None for problem in problems):  # of some rows of Spark
        problems = list(dict.fromkeys(problems))
        totals = Counter()
    order = [file.name for file in files]
    problems.sort(key=lambda problem: (order.index(str(problem.file)), problem.row or 0))
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
    comma = "decimal-comma" in hints and re.fullmatch(r"-?\d+,\d+", value)
    words = {name: format_option(f"--{name.replace('_', '-')}", value) for name in _OPTIONS}
    words |= {"value": value, "point": value.replace(",", ".")}
    words["cluster"] = format_option("--cluster", str(problem.column))
    return hints.get("decimal-comma" if comma else problem.code, "").format(**words) or None


def _quoted_value(problem: Problem) -> str:
    """Return the value that a problem quotes."""
    quotation = re.match(r"'(.*?)' (?:is|already|differs) ", problem.message, re.DOTALL)
    return quotation[1] if quotation else ""


def refuse_invalid_rows(
    settled: CountSettings,
    classes: Iterable[str],
    unknown: Mapping[str, Collection[str]],
    *,
    has_conflicts: bool = False,
    weights: bool = False,
    lost: bool = False,
) -> None:
    """Raise DataError with the invalid rows of all files, if any; lost: clusters are missing."""
    classes = [*classes]
    labels = sorted(known_labels(classes, settled.roles), key=natural_sort_key)
    suspicion = Suspicion(labels, unknown, settled.roles.missing == "error", has_conflicts, weights)
    if not settled.numbers_rows:
        file = settled.files[0]
        first_rows = numbered_rows(file, settled.columns.null_values, first=True)
        looks = settled.layout.checks(settled.columns, suspicion, [first_rows])
        raise_found_problems(settled.files, looks, ROW_HINTS)
        raise unknown_rows_error(file.name)
    refuse_mixed_predictions(settled, labels)
    refuse_multilabel_cells(settled, classes, unknown.values())
    refuse_disjoint_labels(settled, labels, unknown)
    parts = [numbered_rows(file, settled.columns.null_values) for file in settled.files]
    hints = ROW_HINTS | ({"missing-value": "every row needs a cluster"} if lost else {})
    looks = settled.layout.checks(settled.columns, suspicion, parts)
    raise_found_problems(settled.files, looks, hints, declared=declarable_labels(settled, unknown))


def refuse_rows_without_run(settled: CountSettings) -> None:
    """Raise for the rows without a run."""
    hints = {"missing-value": "every row needs a run"}
    for file in settled.files:
        frame = numbered_rows(file, settled.columns.null_values)
        raise_found_problems(
            [file], [(frame, [missing_cell(str(settled.columns.run), frame)])], hints
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
    row = [column] if run is None else [column, run]
    column_names = list(dict.fromkeys([FILE, ROW, PLACE, *row]))
    frame = pl.concat([numbered_rows(file, null_values).select(column_names) for file in files])
    raise_found_problems(files, [(frame, [duplicate_id(*row)])], hints)


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

    def evaluated_slices(self, settled: CountSettings) -> tuple[Ints, dict[str, Ints]]:
        """Return the indices of the evaluated patterns, and those of each slice among them."""
        evaluated = np.flatnonzero(~self.missing)
        columns = settled.columns
        by = {
            name: [values[i] for i in evaluated.tolist()]
            for name, values in zip(columns.by, self.grouped.by, strict=True)
        }
        return evaluated, slice_rows(columns.facets, by)


def check_patterns(grouped: RawPatterns, settled: CountSettings) -> PatternCheck:
    """Check the distinct raw values against the roles of their columns."""
    models = settled.columns.models
    counts = count_texts(grouped.truth, grouped.rows.tolist())
    rows = {name: counts[name] for name in sorted(counts, key=natural_sort_key)}
    classes = tuple(rows)
    absent = [[value is None for value in grouped.truth]]
    for model, values in zip(models, grouped.votes, strict=True):
        missing_value = None if model.kind == "label" else MISSING
        absent.append([value == missing_value for value in values])
    unknown = _unknown_labels(grouped, models, known_labels(classes, settled.roles))
    unbounded = _unbounded_models(grouped, settled)
    empty = np.logical_and.reduce(absent)
    looks_blank = grouped.rows[empty].sum()
    blank = sum(map(count_blank, settled.files)) if looks_blank else 0
    # rows without any value are blank lines, unless there are more of them than blank lines
    excused = empty & (looks_blank <= blank)
    missing = np.logical_or.reduce(absent)
    return PatternCheck(grouped, classes, missing, excused, unknown, unbounded, blank, rows)


def _unknown_labels(
    grouped: RawPatterns, models: Sequence[ModelColumns], labels: AbstractSet[str]
) -> dict[str, frozenset[str]]:
    """Return the values of each label model that are none of the known labels."""
    unknown = {}
    for model, values in zip(models, grouped.votes, strict=True):
        if model.kind == "label" and (strange := distinct_texts(values) - labels):
            unknown[model.name] = frozenset(strange)
    return unknown


def _unbounded_models(
    grouped: RawPatterns, settled: CountSettings
) -> dict[str, tuple[float, float]]:
    """Return the range of the scores of models without threshold that leave 0..1."""
    unbounded = {}
    for model in settled.columns.models:
        low, high = grouped.ranges.get(model.name, (0.0, 1.0))
        labelled = model.name in (settled.related or {})  # a threshold gives its labels
        if model.rounded:
            continue
        is_probability = model.kind == "classes" or model.confidence
        has_threshold = labelled or settled.roles.has_threshold(model.name)
        needed = is_probability or not has_threshold
        if needed and (low < 0 or (high > 1 and not model.shares)):
            unbounded[model.name] = low, high
    return unbounded


_EDGES = (0.0, 1.0, NEAR_ONE, float(RATED), 100.0)  # of the scales of scores


def has_other_facts(grouped: RawPatterns, settled: CountSettings) -> bool:
    """Return whether all rows show what the first rows did not: labels, scales, other cells."""
    if grouped.mode == "loose":
        return True
    columns, profiles = settled.columns, settled.profiles
    if distinct_texts(grouped.truth) - profiles[columns.truth].texts:
        return True
    for model, values in zip(columns.models, grouped.votes, strict=True):
        if model.kind == "label":
            if distinct_texts(values) - settled.texts(model):
                return True
            continue
        if model.name not in grouped.ranges:
            continue
        names = (columns.answer,) if columns.answer else model.columns
        sample_numbers = [number for name in names for number in profiles[name].numbers]
        if not sample_numbers or [
            _scale_part(min(sample_numbers)),
            _scale_part(max(sample_numbers)),
        ] != [*map(_scale_part, grouped.ranges[model.name])]:
            return True
    return False


def _scale_part(number: float) -> int:
    """Return between which edges of scales a number lies."""
    return sum(number > edge for edge in _EDGES) + (number < 0) * -1


def corrected_settings(check: PatternCheck, settled: CountSettings) -> CountSettings | None:
    """Return corrected settings to count again with another positive class; None if it is right."""
    if not check.classes:
        return None
    settled.refuse_similar_labels(check.rows)
    truth, models = settled.columns.truth, settled.columns.models
    positive = resolve_positive(settled.name, truth, check.rows, settled.roles, models)
    if positive == settled.positive:
        return _with_rounded_scores(check, settled)
    # another class: other thresholds relate labels to scores
    return replace(settled, positive=positive, related=None)


def _with_rounded_scores(check: PatternCheck, settled: CountSettings) -> CountSettings | None:
    """Return settings that clip scores outside 0 to 1 by rounding; None if there are no such.

    Rounding is at most 1 in 100 of the range of the scores, so that hardly any rows become equal.
    """
    models = list(settled.columns.models)
    for position, model in enumerate(models):
        low, high = check.unbounded.get(model.name, (0.0, 1.0))
        beyond = max(-low, high - 1)
        if model.kind == "score" and 0 < beyond <= min(ROUNDED, PART_OF_RANGE * (high - low)):
            models[position] = replace(model, rounded=beyond)
    if models == [*settled.columns.models]:
        return None
    return replace(settled, columns=replace(settled.columns, models=tuple(models)))


def refuse_invalid_patterns(
    check: PatternCheck, settled: CountSettings, *, any_range: bool
) -> None:
    """Raise all problems of the rows, named in a second pass if needed."""
    grouped, name, columns = check.grouped, settled.name, settled.columns
    settled.refuse_similar_labels(check.rows, check.unknown)
    owners, evaluated = grouped.clusters, np.flatnonzero(~check.missing)
    lost = owners is not None and any(owners[i] is None for i in evaluated.tolist())
    has_errors = bool(check.unknown or grouped.invalid or grouped.bad_weights or lost)
    missing = bool((check.missing & ~check.excused).any())
    if has_errors or (missing and (settled.roles.missing == "error" or grouped.mode == "loose")):
        has_conflicts, weights = grouped.invalid > 0, grouped.bad_weights > 0
        refuse_invalid_rows(
            settled,
            check.classes,
            check.unknown,
            has_conflicts=has_conflicts,
            weights=weights,
            lost=lost,
        )
        if has_errors:
            raise DataError.new("invalid values in unknown rows", "bad-values", name)
    ambiguous_columns.refuse_unbounded_scores(settled, check.unbounded, any_range=any_range)
    if not any_range:
        ambiguous_columns.refuse_shared_threshold(settled, grouped.ranges)
    ambiguous_columns.refuse_probability_sums(settled, check.classes, grouped.farthest_off)
    if not grouped.n[evaluated].sum() > 0:
        hint = HEADER_ONLY
        if grouped.rows.sum() > check.blank or columns.weight:
            hint = "every row has a missing value or weight 0"
        raise DataError.new("no rows to evaluate", "empty-table", name, hint=hint)
    ids_matter = settled.roles.id or not counts_only(settled.files[0].native, settled.roles)
    if columns.id is not None and ids_matter and not settled.layout.gathers:
        profile = settled.profiles[columns.id]
        check_ids(settled.files, columns.id, columns.null_values, profile, columns.run, ROW_HINTS)


def patterns_by_slice(
    check: PatternCheck, settled: CountSettings
) -> dict[str | None, PatternCounts]:
    """Return the pattern counts of evaluated rows: of the whole table (None) and every slice."""
    grouped = check.grouped
    positive = settled.positive
    columns = settled.columns
    names = tuple(model.name for model in columns.models)
    truth = _is_label(grouped.truth, positive)
    votes = np.column_stack(
        [
            _is_label(values, positive) if model.kind == "label" else np.array(values) == 1
            for model, values in zip(columns.models, grouped.votes, strict=True)
        ]
    )

    def patterns(rows: Ints) -> PatternCounts:
        owners = select_owners(check.owners, rows)
        return PatternCounts.from_votes(
            names, truth[rows], votes[rows], grouped.n[rows], settled.unit, owners=owners
        )

    evaluated, rows_by_slice = check.evaluated_slices(settled)
    if len(rows_by_slice) > MOST_SLICES:
        option = "--by" if columns.run is None else "--run"
        message = (
            f"{OPTION}{option}{END} {list_names(columns.by)} gives {len(rows_by_slice):,} groups"
        )
        hint = f"use a column with at most {MOST_SLICES} values"
        raise UsageError.new(message, "too-many-slices", hint=hint)
    counts: dict[str | None, PatternCounts] = {None: patterns(evaluated)}
    for label, rows in rows_by_slice.items():
        counts[label] = patterns(evaluated[rows])
    return counts


def _is_label(values: list[Any], label: str) -> Bools:
    raw_values = set(raw_values_of(values, label))
    return np.array([value in raw_values for value in values], bool)


def check_thresholds(settled: CountSettings) -> None:
    """Raise UsageError for thresholds of unknown models, or of models with labels."""
    kinds = {model.name: model.kind for model in settled.columns.models}
    thresholds = settled.roles.threshold
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
