"""Judging distinct raw values: which class each is, and the error when one is none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clfeval.arrays import Bools
from clfeval.counts.group import MISSING, Grouped
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.settle import Settled, resolve_positive, slice_label, values_of, with_kinds
from clfeval.errors import HEADER_ONLY, KEPT, DataError, Problem, UsageError, listing, unknown_model
from clfeval.late import pl
from clfeval.tables.cells import as_text, distinct_texts, known_labels, means_missing, natural
from clfeval.tables.diagnose import (
    FILE,
    PLACE,
    ROW,
    Suspicion,
    count_blank,
    missing_of,
    numbered,
    repeated,
    run_checks,
)
from clfeval.tables.prediction import Columns
from clfeval.tables.scan import Peek, TableFile, all_distinct, is_score

FOREIGN = 10  # so many different values, none of them a label, are no labels with typing errors


def raise_culprits(settled: Settled, suspicion: Suspicion) -> None:
    """Find the rows to blame in every file and raise them all; return if there is none."""
    columns, files = settled.columns, settled.files
    problems = _foreign(settled, suspicion)
    totals = Counter(problem.code for problem in problems)
    skipped = {problem.column for problem in problems}
    parts = [numbered(file, columns.null_values) for file in files]
    for frame, checks in settled.layout.checks(columns, suspicion, parts):
        found, counts = run_checks(frame, [one for one in checks if one.column not in skipped])
        problems += found
        totals += counts
    if problems:
        order = [file.name for file in files]
        problems.sort(key=lambda problem: (order.index(str(problem.file)), problem.row or 0))
        raise DataError(problems[:KEPT], hint=_hint(problems), totals=totals)


def _foreign(settled: Settled, suspicion: Suspicion) -> list[Problem]:
    """Return one problem for each column without a single label: an id or a text, no model."""
    known, found = suspicion.known, []
    for model in () if settled.columns.answer else settled.columns.models:
        texts = settled.texts(model)
        if model.name in suspicion.unknown and len(texts) >= FOREIGN and not texts & set(known):
            what = (
                f"no value is one of truth's labels {listing(known)}: {listing(sorted(texts), 3)}"
            )
            found.append(Problem(what, "unknown-label", settled.name, None, model.columns[0]))
    return found


def _hint(problems: list[Problem]) -> str | None:
    first = problems[0]
    if first.code == "unknown-label" and first.row is None:
        return f"is it no model? --id '{first.column}', --by '{first.column}', or name the models"
    value = first.what.split("'")[1] if "'" in first.what else ""
    if first.code == "unknown-label" and (hint := means_missing(value)):
        return hint
    if re.fullmatch(r"-?\d+,\d+", value):
        return f"a decimal comma? write '{value}' as {value.replace(',', '.')}"
    return {
        "missing-value": "fill the cells, or add --missing drop to leave such rows out",
        "bad-number": f"if '{value}' means missing, add --null-value '{value}'",
        "unknown-label": f"a class truth happens to lack is declared with --labels '{value}'; "
        "a column that is no model is left out by naming the others with --model",
        "bad-weight": "weights count how often a row stands for itself",
        "duplicate-row": "each observation needs one row per model",
        "unequal-ids": "each observation needs one row per model",
        "conflicting-value": "slices and weights belong to the observation, not to the model",
        "conflicting-truth": "all rows of one observation need the same truth",
    }.get(first.code)


def raise_nameless_runs(files: Sequence[TableFile], columns: Columns) -> None:
    """Raise for the rows that do not say which run they belong to."""
    for file in files:
        frame = numbered(file, columns.null_values)
        problems, totals = run_checks(frame, [missing_of(str(columns.run), frame)])
        if problems:
            raise DataError(problems, hint="every row belongs to a run", totals=totals)


def check_ids(files: Sequence[TableFile], column: str, peek: Peek, run: str | None = None) -> None:
    """Raise when an id stands in more than one row of the files, or of one run."""
    if all_distinct(files, column, peek):
        return
    row = [column] if run is None else [column, run]
    wanted = list(dict.fromkeys([FILE, ROW, PLACE, *row]))
    frame = pl.concat([numbered(file).select(wanted) for file in files])
    problems, totals = run_checks(frame, [repeated(*row)])
    if problems:
        raise DataError(problems, hint="each observation stands in one row", totals=totals)


MOST_SLICES = 1000


@dataclass(frozen=True, slots=True)
class Judged:
    """What the distinct values say: which patterns lack a value and what is not acceptable.

    blank: blank lines of the files, looked for only where some pattern looks like one.
    """

    grouped: Grouped
    classes: tuple[str, ...]
    missing: Bools  # per raw pattern: truth or some model's answer is absent
    excused: Bools  # of these, what are blank lines
    unknown: Mapping[str, frozenset[str]]  # per label model: values that are no class
    unbounded: Mapping[str, tuple[float, float]]  # score models without threshold outside 0..1
    blank: int


def judge(grouped: Grouped, settled: Settled) -> Judged:
    """Compare the distinct raw values with what the roles allow."""
    roles, models = settled.roles, settled.columns.models
    classes = tuple(sorted(distinct_texts(grouped.truth), key=natural))
    known = known_labels(classes, roles)
    absent = [_is_absent(grouped.truth)]
    unknown = {}
    for model, values in zip(models, grouped.votes, strict=True):
        if model.kind == "label":
            absent.append(_is_absent(values))
            strange = distinct_texts(values) - known
            if strange:
                unknown[model.name] = frozenset(strange)
        else:
            absent.append(np.array(values, np.int8) == MISSING)
    probabilities = {model.name for model in models if model.kind == "classes"}
    unbounded = {
        name: limits
        for name, limits in grouped.ranges.items()
        if (limits[0] < 0 or limits[1] > 1)
        and (name in probabilities or not roles.has_threshold(name))
    }
    empty = np.logical_and.reduce(absent)
    looks_blank = grouped.rows[empty].sum()
    blank = sum(map(count_blank, settled.files)) if looks_blank else 0
    # rows without any value are blank lines, unless there are more of them than blank lines
    excused = empty & (looks_blank <= blank)
    missing = np.logical_or.reduce(absent)
    return Judged(grouped, classes, missing, excused, unknown, unbounded, blank)


def otherwise(judged: Judged, settled: Settled) -> Settled | None:
    """Return what the rows show the table to be, if not what it was taken for: count it again.

    Another class is positive, or labels that are no class and all numbers are scores.
    """
    scores = set()
    if settled.roles.kind is None:
        scores = {name for name, values in judged.unknown.items() if all(map(is_score, values))}
    positive = settled.positive
    if judged.classes:
        positive = resolve_positive(settled.name, judged.classes, settled.roles)
    if not scores and positive == settled.positive:
        return None
    settled = with_kinds(settled, dict.fromkeys(scores, "score"))
    return replace(settled, positive=positive, reread=settled.reread | scores)


def accept(judged: Judged, settled: Settled, *, any_range: bool) -> None:
    """Raise for all that is wrong with the rows, named in a second look where there is need."""
    grouped, name = judged.grouped, settled.name
    strict = settled.roles.missing == "error"
    missing = bool((judged.missing & ~judged.excused).any())
    surely = bool(judged.unknown or grouped.wrong or grouped.bad_weights)
    if surely or (missing and (strict or grouped.mode == "loose")):
        known = sorted(known_labels(judged.classes, settled.roles), key=natural)
        wrong, weights = grouped.wrong > 0, grouped.bad_weights > 0
        raise_culprits(settled, Suspicion(known, judged.unknown, strict, wrong, weights))
        if surely:
            raise DataError.of("values that fit no role, not found again", "bad-values", name)
    if judged.unbounded:
        probabilities = {m.name for m in settled.columns.models if m.kind == "classes"}
        _refuse_unbounded(name, judged.unbounded, probabilities, any_range=any_range)
    if not grouped.n[~judged.missing].sum() > 0:
        hint = HEADER_ONLY
        if grouped.rows.sum() > judged.blank or settled.columns.weight:
            hint = "every row lacks a value or has weight 0"
        raise DataError.of("no rows to evaluate", "empty-table", name, hint=hint)
    row_id = settled.columns.id
    if not settled.layout.gathers and row_id is not None:
        peek = (settled.peeks or {})[row_id]
        check_ids(settled.files, row_id, peek, settled.columns.run)


def slices_of(judged: Judged, settled: Settled) -> dict[str | None, PatternCounts]:
    """Return the pattern counts of the kept rows: the whole under None, then every slice."""
    raw, keep, positive = judged.grouped, ~judged.missing, settled.positive
    models, by = settled.columns.models, settled.columns.by
    truth = _is_label(raw.truth, positive)
    votes = np.column_stack(
        [
            _is_label(values, positive) if model.kind == "label" else np.array(values) == 1
            for model, values in zip(models, raw.votes, strict=True)
        ]
    )
    names = tuple(model.name for model in models)
    n = raw.n
    slices: dict[str | None, PatternCounts] = {
        None: PatternCounts.of(names, truth[keep], votes[keep], n[keep])
    }
    if by:
        combined = list(zip(*raw.by, strict=True))
        named = {values: slice_label(by, values) for values in set(combined)}
        labels = np.array([named[values] for values in combined], object)
        found = sorted(set(labels[keep]), key=natural)
        if len(found) > MOST_SLICES:
            option = "--by" if settled.columns.run is None else "--run"
            raise UsageError(
                Problem(f"{option} {listing(by)} makes {len(found):,} parts", "too-many-slices"),
                hint=f"at most {MOST_SLICES}: name a column with few values",
            )
        for label in found:
            mask = keep & (labels == label)
            slices[label] = PatternCounts.of(names, truth[mask], votes[mask], n[mask])
    return slices


def _is_absent(values: list[Any]) -> Bools:
    absent = {value: as_text(value) is None for value in set(values)}
    return np.array([absent[value] for value in values], bool)


def _is_label(values: list[Any], label: str) -> Bools:
    same = set(values_of(values, label))
    return np.array([value in same for value in values], bool)


def _refuse_unbounded(
    name: str,
    unbounded: Mapping[str, tuple[float, float]],
    probabilities: Container[str],
    *,
    any_range: bool,
) -> None:
    """Raise for class probabilities outside 0..1, and for such scores that have no threshold."""
    impossible = [
        Problem(f"class probabilities from {low:g} to {high:g}", "bad-probability", name, None, m)
        for m, (low, high) in unbounded.items()
        if m in probabilities
    ]
    if impossible:
        raise DataError(impossible, hint="probabilities lie between 0 and 1")
    if any_range:
        return
    problems = [
        Problem(
            f"scores from {low:g} to {high:g} are no probabilities, so no threshold is understood",
            "needs-threshold", name, None, model,
        )
        for model, (low, high) in unbounded.items()
    ]  # fmt: skip
    first = next(iter(unbounded))
    raise DataError(
        problems,
        hint=f"give one, for example --threshold '{first}=0'; if these are labels truth lacks, "
        "declare them with --labels; if the column is no model, name the models with --model",
    )


def check_thresholds(settled: Settled) -> None:
    """Raise UsageError for thresholds of models that are not there or hold labels."""
    models = {model.name: model for model in settled.columns.models}
    given = settled.roles.threshold
    for name in given:
        if name is None:
            continue
        if name not in models:
            raise unknown_model("--threshold", name, models)
        if models[name].kind == "label":
            raise UsageError.of(f"--threshold for '{name}', which holds labels", "needs-scores")
    if given and all(model.kind == "label" for model in models.values()):
        raise UsageError(
            Problem("--threshold has nothing to act on: all models hold labels", "needs-scores"),
            hint="leave it out, or give a table of scores",
        )
