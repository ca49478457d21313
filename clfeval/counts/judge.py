"""Judging the few distinct raw values: classes, unknown labels, missing values, odd scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clfeval.counts.patterns import Bools, PatternCounts
from clfeval.counts.raw import MISSING, CountPlan, RawCounts
from clfeval.errors import DataError, Problem, UsageError, listing, suggestion
from clfeval.tables.labels import BINARY, PARTNERS, known_labels, natural
from clfeval.tables.peek import as_text, distinct_texts
from clfeval.tables.roles import Roles

MOST_SLICES = 1000


@dataclass(frozen=True, slots=True)
class Judged:
    """What the distinct values say: which patterns lack a value and what is not acceptable."""

    classes: tuple[str, ...]
    missing: Bools  # per raw pattern: truth or some model's answer is absent
    empty: Bools  # per raw pattern: truth and every answer are absent (blank lines look so)
    unknown: Mapping[str, frozenset[str]]  # per label model: values that are no class
    unbounded: Mapping[str, tuple[float, float]]  # score models without threshold outside 0..1
    bad_flags: bool


def judge(raw: RawCounts, plan: CountPlan, roles: Roles) -> Judged:
    """Compare the distinct raw values with what the roles allow."""
    classes = tuple(sorted(distinct_texts(raw.truth), key=natural))
    known = known_labels(classes, roles)
    absent = [_is_absent(raw.truth)]
    unknown = {}
    for model, values in zip(plan.models, raw.votes, strict=True):
        if model.kind == "label":
            absent.append(_is_absent(values))
            strange = distinct_texts(values) - known
            if strange:
                unknown[model.name] = frozenset(strange)
        else:
            absent.append(np.array(values, np.int8) == MISSING)
    probabilities = {model.name for model in plan.models if model.kind == "classes"}
    unbounded = {
        name: limits
        for name, limits in raw.ranges.items()
        if (limits[0] < 0 or limits[1] > 1)
        and (name in probabilities or not roles.has_threshold(name))
    }
    copies = len(plan.models)
    bad_flags = any(
        set(values) - ({1} if position < copies else {0})
        for position, values in enumerate(raw.flags)
    )
    missing, empty = np.logical_or.reduce(absent), np.logical_and.reduce(absent)
    return Judged(classes, missing, empty, unknown, unbounded, bad_flags)


def resolve_positive(file: str, classes: tuple[str, ...], roles: Roles) -> str:
    """Return the positive class: the named one, or 1 / true of a 0 / 1 or false / true truth."""
    if roles.positive is not None:
        if classes and roles.positive not in {*classes, *roles.labels} and len(classes) > 1:
            raise DataError(
                Problem(
                    f"truth has no class '{roles.positive}'; its classes: {listing(classes)}",
                    "unknown-positive", file,
                ),
                hint=suggestion(roles.positive, classes)
                or f"a class truth happens to lack is declared with --labels {roles.positive}",
            )  # fmt: skip
        return roles.positive
    default = default_positive(classes)
    if default is None:
        raise DataError(
            Problem(
                f"which class is positive? truth has {listing(classes)}", "positive-needed", file
            ),
            hint=f"name it, for example --positive {_shell(classes[-1])}; all others are negative",
        )
    return default


def default_positive(classes: tuple[str, ...] | frozenset[str]) -> str | None:
    """Return 1 or true (as it is written) when the classes are 0 / 1 or false / true."""
    folded = {name.casefold(): name for name in classes}
    if len(folded) != len(classes) or not folded:
        return None
    if set(folded) <= BINARY[0]:
        return "1"
    if set(folded) <= BINARY[1]:
        return folded.get("true") or PARTNERS.get(folded["false"], "true")
    return None


def slices_of(
    raw: RawCounts,
    plan: CountPlan,
    by: tuple[str, ...],
    keep: Bools,
    positive: str,
    option: str = "--by",
) -> dict[str | None, PatternCounts]:
    """Return the pattern counts of the kept rows: the whole under None, then every slice."""
    truth = _is_label(raw.truth, positive)
    votes = np.column_stack(
        [
            _is_label(values, positive) if model.kind == "label" else np.array(values) == 1
            for model, values in zip(plan.models, raw.votes, strict=True)
        ]
    )
    names = tuple(model.name for model in plan.models)
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
            raise UsageError(
                Problem(f"{option} {listing(by)} makes {len(found):,} parts", "too-many-slices"),
                hint=f"at most {MOST_SLICES}: name a column with few values",
            )
        for label in found:
            mask = keep & (labels == label)
            slices[label] = PatternCounts.of(names, truth[mask], votes[mask], n[mask])
    return slices


def slice_label(by: tuple[str, ...], values: tuple[Any, ...]) -> str:
    """Name a slice: `site=A`, or `site=A, sex=f` for several columns."""
    texts = [as_text(value) for value in values]
    return ", ".join(
        f"{column}={'(missing)' if text is None else text}"
        for column, text in zip(by, texts, strict=True)
    )


def values_of(values: list[Any], label: str) -> tuple[Any, ...]:
    """Return the distinct raw values that read as the label."""
    return tuple(value for value in set(values) if as_text(value) == label)


def _is_absent(values: list[Any]) -> Bools:
    absent = {value: as_text(value) is None for value in set(values)}
    return np.array([absent[value] for value in values], bool)


def _is_label(values: list[Any], label: str) -> NDArray[np.bool_]:
    same = set(values_of(values, label))
    return np.array([value in same for value in values], bool)


def _shell(text: str) -> str:
    from shlex import quote

    return quote(text)
