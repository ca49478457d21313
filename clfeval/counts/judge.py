"""Judging distinct raw values: which class each is, and the error when one is none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from clfeval.arrays import Bools
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.raw import MISSING, CountPlan, RawCounts
from clfeval.errors import KEPT, DataError, Problem, UsageError, listing, suggestion
from clfeval.tables.diagnose import (
    FILE,
    PLACE,
    ROW,
    Check,
    bad_number,
    bad_weight,
    long_checks,
    missing_label,
    missing_of,
    missing_score,
    numbered,
    repeated,
    run_checks,
    unequal_ids,
    unknown_label,
)
from clfeval.tables.names import BINARY, PARTNERS, known_labels, natural
from clfeval.tables.peek import Peek, all_distinct, as_text, distinct_texts
from clfeval.tables.prediction import Predictions
from clfeval.tables.roles import Roles
from clfeval.tables.scan import TableFile

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


def _is_label(values: list[Any], label: str) -> Bools:
    same = set(values_of(values, label))
    return np.array([value in same for value in values], bool)


def _shell(text: str) -> str:
    from shlex import quote

    return quote(text)


MISSING_WORDS = {"", "na", "n/a", "nan", "null", "none", "-", "?", ".", "missing"}
FOREIGN = 10  # so many different values, none of them a label, are no labels with typing errors


def needs_rows(
    judged: Judged, raw: RawCounts, predictions: Predictions, excused: Bools, *, loose: bool
) -> bool:
    """Tell whether something is wrong that only a second pass can name; blank lines are excused."""
    missing = bool((judged.missing & ~excused).any())
    return bool(
        judged.unknown
        or judged.bad_flags
        or raw.bad_weights
        or (missing and (loose or predictions.roles.missing == "error"))
    )


def raise_complaints(
    predictions: Predictions,
    judged: Judged,
    known: Sequence[str],
    *,
    bad_weights: bool = False,
) -> None:
    """Find the rows to blame in every file and raise them all; return if there is none."""
    layout, roles = predictions.layout, predictions.roles
    long = layout.name == "long"
    parts = [numbered(file, roles.null_values) for file in predictions.files]
    # an observation of a long table may have its rows in several files
    frames = [pl.concat(parts)] if long else parts
    if long:
        chosen = pl.col(layout.model_column).is_in([model.name for model in layout.models])
        frames = [frames[0].filter(chosen | pl.col(layout.model_column).is_null())]
    foreign = [] if long else _foreign(predictions, judged, known)
    problems = list(foreign)
    totals = Counter(problem.code for problem in problems)
    skipped = {problem.column for problem in foreign}
    for frame in frames:
        checks = _long(predictions, known, frame) if long else _wide(predictions, judged, known)
        checks = [check for check in checks if check.column not in skipped]
        if bad_weights and roles.weight:
            checks.append(bad_weight(roles.weight))
        found, counts = run_checks(frame, checks)
        if long and judged.bad_flags:
            names = [model.name for model in layout.models]
            more, count = unequal_ids(frame, str(layout.id), layout.model_column, names, roles.run)
            found, counts = found + more, counts + count
        problems += found
        totals += counts
    if problems:
        order = [file.name for file in predictions.files]
        problems.sort(key=lambda problem: (order.index(str(problem.file)), problem.row or 0))
        raise DataError(problems[:KEPT], hint=_hint(problems), totals=totals)


def _foreign(predictions: Predictions, judged: Judged, known: Sequence[str]) -> list[Problem]:
    """Return one problem for each column without a single label: an id or a text, no model."""
    found = []
    for model in predictions.layout.models:
        texts = predictions.peeks[model.columns[0]].texts
        if model.name in judged.unknown and len(texts) >= FOREIGN and not texts & set(known):
            what = (
                f"no value is one of truth's labels {listing(known)}: {listing(sorted(texts), 3)}"
            )
            file = predictions.files[0].name
            found.append(Problem(what, "unknown-label", file, None, model.columns[0]))
    return found


def _wide(predictions: Predictions, judged: Judged, known: Sequence[str]) -> list[Check]:
    strict = predictions.roles.missing == "error"
    checks = [missing_label(predictions.layout.truth)] if strict else []
    for model in predictions.layout.models:
        for column in model.columns:
            if model.kind == "label":
                checks += [missing_label(column)] if strict else []
                if model.name in judged.unknown:
                    checks.append(unknown_label(column, known))
            else:
                checks += [missing_score(column)] if strict else []
                checks.append(bad_number(column))
    if predictions.roles.run is not None:
        checks.append(missing_label(predictions.roles.run))
    if predictions.layout.id is not None:
        checks.append(repeated(predictions.layout.id, predictions.roles.run))
    return checks


def _long(predictions: Predictions, known: Sequence[str], frame: pl.LazyFrame) -> list[Check]:
    layout, roles = predictions.layout, predictions.roles
    strict = roles.missing == "error"
    kinds = {model.kind for model in layout.models}
    constants = [layout.truth, *roles.by, *([roles.weight] if roles.weight else [])]
    checks = long_checks(str(layout.id), layout.model_column, constants, roles.run)
    checks += [missing_label(str(layout.id)), missing_label(layout.model_column)]
    checks += [missing_of(roles.run, frame)] if roles.run is not None else []
    if strict:
        checks.append(missing_label(layout.truth))
        checks.append((missing_label if kinds == {"label"} else missing_score)(layout.prediction))
    if kinds == {"label"}:
        checks.append(unknown_label(layout.prediction, known))
    else:
        checks.append(bad_number(layout.prediction))
    return checks


def _hint(problems: list[Problem]) -> str | None:
    first = problems[0]
    if first.code == "unknown-label" and first.row is None:
        return f"is it no model? --id '{first.column}', --by '{first.column}', or name the models"
    value = first.what.split("'")[1] if "'" in first.what else ""
    if first.code == "unknown-label" and value.casefold() in MISSING_WORDS:
        return f"if '{value}' means missing, add --null-value '{value}'"
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


def refuse_unbounded(
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


def missing_run(predictions: Predictions) -> None:
    """Raise for the rows that do not say which run they belong to."""
    column, nulls = str(predictions.roles.run), predictions.roles.null_values
    for file in predictions.files:
        frame = numbered(file, nulls)
        problems, totals = run_checks(frame, [missing_of(column, frame)])
        if problems:
            raise DataError(problems, hint="every row belongs to a run", totals=totals)


def check_ids(files: Sequence[TableFile], column: str, peek: Peek, run: str | None = None) -> None:
    """Raise when an id stands in more than one row of the files, or of one run."""
    if all_distinct(files, column, peek):
        return
    names = [column] if run is None else [column, run]
    wanted = list(dict.fromkeys([FILE, ROW, PLACE, *names]))
    frame = pl.concat([numbered(file).select(wanted) for file in files])
    problems, totals = run_checks(frame, [repeated(column, run)])
    if problems:
        raise DataError(problems, hint="each observation stands in one row", totals=totals)
