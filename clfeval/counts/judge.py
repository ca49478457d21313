"""Judging distinct raw values: which class each is, and the error when one is none."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clfeval.arrays import Bools
from clfeval.counts.culprits import check_ids, raise_culprits
from clfeval.counts.group import MISSING, Grouped
from clfeval.counts.labels import resolve_positive, slice_label, values_of
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.settle import Settled, with_kinds
from clfeval.errors import HEADER_ONLY, DataError, Problem, UsageError, listing, unknown_model
from clfeval.tables.cells import as_text, distinct_texts
from clfeval.tables.columns import Suspicion
from clfeval.tables.diagnose import count_blank
from clfeval.tables.names import known_labels, natural
from clfeval.tables.peek import is_score

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
