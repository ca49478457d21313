"""Judging distinct raw values: which class each is, and the error when one is none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Ints
from clfeval.counts.doubts import (
    refuse_binary_predictions,
    refuse_complements,
    refuse_disjoint_labels,
    refuse_mixed_answers,
    refuse_probability_sums,
    refuse_shared_threshold,
    refuse_stray_columns,
    refuse_text_columns,
    refuse_threshold_of_other_scale,
    refuse_unbounded_scores,
)
from clfeval.counts.group import MISSING, RawPatterns
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.settle import (
    CountSettings,
    declarable_labels,
    raw_values_of,
    resolve_positive,
    with_model_kinds,
)
from clfeval.counts.several import refuse_multilabel_cells
from clfeval.counts.slices import slice_rows
from clfeval.counts.twins import refuse_similar_labels
from clfeval.counts.weights import Owners, select_owners
from clfeval.errors import (
    HEADER_ONLY,
    MAX_PROBLEMS,
    DataError,
    Problem,
    UsageError,
    list_names,
    unknown_model,
)
from clfeval.late import pl
from clfeval.shell import format_option
from clfeval.tables.cells import (
    as_text,
    count_texts,
    distinct_texts,
    known_labels,
    missing_word_hint,
    natural_sort_key,
)
from clfeval.tables.diagnose import (
    FILE,
    PLACE,
    ROW,
    Check,
    Suspicion,
    count_blank,
    duplicate_id,
    missing_cell,
    read_numbered_rows,
    run_checks,
)
from clfeval.tables.input import ColumnNames, find_column
from clfeval.tables.peek import ColumnPeek, is_score
from clfeval.tables.scan import TableFile, all_distinct

# by the code of the first problem; {value} is what it quotes, the others are options with it
HINTS = {
    "missing-value": "fill in the cells, or add --missing drop to drop these rows",
    "bad-sum": "add --missing drop to drop these rows",
    "bad-number": "if '{value}' means missing, add {null_value}",
    "bad-weight": "a weight must be a finite number of at least 0",
    "duplicate-id": "each id must occur once",
}
_HINTS = HINTS | {
    "duplicate-id": "each id must occur once; if rows share a patient or document, use "
    "{cluster} instead (mars, phidelta, tune-jpt, report); for several runs, seeds or folds, add "
    "--run COLUMN (phidelta, report)",
    "decimal-comma": "if this is a decimal comma, write '{value}' as {point}",
    "unknown-label": "if it is a class without rows in truth, add {classes}; "
    "if the column is not a model, add --model NAME for each model",
    "duplicate-row": "each id needs one row per model",
    "unequal-ids": "each id needs one row per model",
    "conflicting-value": "all rows of an id must have the same slices and weights",
    "conflicting-truth": "all rows of an id must have the same truth",
}


def raise_found_problems(
    files: Sequence[TableFile],
    looks: Iterable[tuple[pl.LazyFrame, Iterable[Check]]],
    hints: Mapping[str, str],
    more: Iterable[Problem] = (),
    declared: tuple[str, ...] = (),
) -> None:
    """Run the checks over numbered rows, in a second pass, and raise all problems.

    In the order of the files; `more`: further problems; `declared`: labels that are probably
    classes.
    """
    problems = list(more)
    totals = Counter(problem.code for problem in problems)
    for frame, checks in looks:
        found, counts = run_checks(frame, checks)
        problems += found
        totals += counts
    if problems:
        order = [file.name for file in files]
        problems.sort(key=lambda problem: (order.index(str(problem.file)), problem.row or 0))
        hint, fixes = _hint(problems[0], hints), _null_value_fix(problems)
        if declared and {*totals} == {"unknown-label"}:
            fixes = {"classes": declared}
        raise DataError(problems[:MAX_PROBLEMS], hint=hint, totals=totals, fixes=fixes)


def refuse_invalid_rows(
    settled: CountSettings, classes: Iterable[str], unknown: Mapping[str, Collection[str]], *,
    wrong: bool = False, weights: bool = False, lost: bool = False,
) -> None:  # fmt: skip
    """Raise DataError with the invalid rows of every file, if any; lost: clusters are missing."""
    classes = [*classes]
    known = sorted(known_labels(classes, settled.roles), key=natural_sort_key)
    refuse_mixed_answers(settled, known)
    refuse_multilabel_cells(settled, classes, unknown.values())
    refuse_text_columns(settled, known, unknown)
    refuse_disjoint_labels(settled, known, unknown)
    suspicion = Suspicion(
        known, unknown, settled.roles.missing == "error", wrong, weights,
        settled.columns.written, settled.columns.fold, settled.columns.bits,
    )  # fmt: skip
    parts = [read_numbered_rows(file, settled.columns.null_values) for file in settled.files]
    hints = _HINTS | ({"missing-value": "every row needs a cluster"} if lost else {})
    looks = settled.layout.checks(settled.columns, suspicion, parts)
    raise_found_problems(settled.files, looks, hints, declared=declarable_labels(settled, unknown))


def _null_value_fix(problems: Sequence[Problem]) -> dict[str, Any]:
    """Return the words of missing values that fix all problems, if of cells only."""
    codes = {problem.code for problem in problems}
    if codes == {"missing-value"}:
        return {}
    words = {_value(problem) for problem in problems if problem.code != "missing-value"}
    if codes <= {"missing-value", "bad-number", "unknown-label"} and all(
        map(missing_word_hint, words)
    ):
        return {"null_value": tuple(sorted(words))}
    return {}


def _value(problem: Problem) -> str:
    """Return what a problem quotes."""
    found = re.match(r"'(.*?)' (?:is|already|differs) ", problem.what, re.DOTALL)
    return found[1] if found else ""


def _hint(first: Problem, hints: Mapping[str, str]) -> str | None:
    value = _value(first)
    if first.code == "unknown-label" and (hint := missing_word_hint(value)):
        return hint
    comma = "decimal-comma" in hints and re.fullmatch(r"-?\d+,\d+", value)
    hint = hints.get("decimal-comma" if comma else first.code, "")
    words = {
        "null_value": format_option("--null-value", value),
        "classes": format_option("--classes", value),
        "cluster": format_option("--cluster", str(first.column)),
    }
    return hint.format(value=value, point=value.replace(",", "."), **words) or None


def refuse_rows_without_run(settled: CountSettings) -> None:
    """Raise for the rows that do not say which run they belong to."""
    hints = {"missing-value": "every row needs a run"}
    for file in settled.files:
        frame = read_numbered_rows(file, settled.columns.null_values)
        raise_found_problems(
            [file], [(frame, [missing_cell(str(settled.columns.run), frame)])], hints
        )


def check_ids(
    files: Sequence[TableFile], column: str, null_values: Sequence[str],
    peek: ColumnPeek | None = None,
    run: str | None = None, hints: Mapping[str, str] = HINTS,
) -> None:  # fmt: skip
    """Raise when an id stands in more than one row of the files, or of one run."""
    if not all_distinct(files, column, null_values, peek.texts if peek else ()):
        row = [column] if run is None else [column, run]
        wanted = list(dict.fromkeys([FILE, ROW, PLACE, *row]))
        frame = pl.concat([read_numbered_rows(file, null_values).select(wanted) for file in files])
        if len(files) > 1 and run is None:
            _refuse_same_rows(files, column, frame)
        raise_found_problems(files, [(frame, [duplicate_id(*row)])], hints)


def _refuse_same_rows(files: Sequence[TableFile], column: str, frame: pl.LazyFrame) -> None:
    """Raise where most ids stand in several files, and once in each: files of different models."""
    each = frame.group_by(column).agg(pl.len().alias("rows"), pl.col(FILE).n_unique().alias("in"))
    once, share = each.select(
        (pl.col("rows") == pl.col("in")).all(), (pl.col("in") > 1).mean().alias("share")
    ).collect().row(0)  # fmt: skip
    if once and share >= MOST_SHARED:
        what = f"{100 * share:.3g}% of the ids occur in more than one file"
        join = format_option("--join", column)
        hint = f"if the files have predictions for the same rows, add {join}; "
        hint += "if they are runs of one model, add --run COLUMN (phidelta, report)"
        raise DataError.new(what, "duplicate-id", files[1].name, None, column, hint=hint,
                           fixes={"join": column})  # fmt: skip


MOST_SLICES = 1000
MOST_SHARED = 0.5  # of the ids


@dataclass(frozen=True, slots=True)
class PatternCheck:
    """Missing and invalid values among the distinct patterns; blank: blank lines of the files."""

    grouped: RawPatterns
    classes: tuple[str, ...]
    missing: Bools  # per raw pattern: truth or some model's answer is absent
    excused: Bools  # of these, what are blank lines
    unknown: Mapping[str, frozenset[str]]  # per label model: values that are no class
    unbounded: Mapping[str, tuple[float, float]]  # score models without threshold outside 0..1
    blank: int

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each class has."""
        counts = count_texts(self.grouped.truth, self.grouped.rows.tolist())
        return {name: counts[name] for name in self.classes}


def check_patterns(grouped: RawPatterns, settled: CountSettings) -> PatternCheck:
    """Compare the distinct raw values with what the roles allow."""
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
    """Raise for all that is wrong with the rows, named in a second look where there is need."""
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
        check_ids(settled.files, row_id, nulls, settled.peeks[row_id], run, _HINTS)
    cluster = settled.columns.cluster
    if (
        cluster
        and len(settled.files) > 1
        and find_column([cluster], ColumnNames.ID)
        and row_id is None
    ):
        nulls = settled.columns.null_values
        frames = [read_numbered_rows(file, nulls).select(FILE, cluster) for file in settled.files]
        _refuse_same_rows(settled.files, cluster, pl.concat(frames))


def _lacks_cluster(judged: PatternCheck) -> bool:
    """Tell whether a row that counts does not say which cluster it belongs to."""
    clusters = judged.grouped.clusters
    if clusters is None:
        return False
    return any(clusters[i] is None for i in np.flatnonzero(~judged.missing).tolist())


def patterns_by_slice(
    judged: PatternCheck, settled: CountSettings
) -> dict[str | None, PatternCounts]:
    """Return the pattern counts of the kept rows: the whole under None, then every slice."""
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
    """Raise UsageError for thresholds of models that are not there or hold labels."""
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
