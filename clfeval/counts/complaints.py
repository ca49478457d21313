"""Turning a bad judgement into the error a user can act on: rows, columns, codes and a hint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import narwhals as nw

from clfeval.counts.judge import Judged
from clfeval.counts.patterns import Bools
from clfeval.counts.raw import CountPlan, RawCounts, collect
from clfeval.errors import KEPT, DataError, Problem
from clfeval.tables.diagnose import (
    Check,
    bad_number,
    bad_weight,
    long_checks,
    missing_label,
    missing_score,
    numbered,
    repeated,
    run_checks,
    unequal_ids,
    unknown_label,
)
from clfeval.tables.prediction import Predictions
from clfeval.tables.scan import scan


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
    predictions: Predictions, judged: Judged, plan: CountPlan, raw: RawCounts, known: list[str]
) -> None:
    """Find the rows to blame in every file and raise them all; return if there is none."""
    problems: list[Problem] = []
    totals: Counter[str] = Counter()
    long = predictions.layout.name == "long"
    for file in predictions.files:
        frame = numbered(file, predictions.roles.null_values)
        checks = (
            _long(predictions, plan, known) if long else _wide(predictions, judged, plan, known)
        )
        if raw.bad_weights and predictions.roles.weight:
            checks.append(bad_weight(predictions.roles.weight))
        found, counts = run_checks(frame, file.name, checks)
        if long and judged.bad_flags and len(predictions.files) == 1:
            layout = predictions.layout
            names = [model.name for model in predictions.layout.models]
            more, total = unequal_ids(frame, file.name, str(layout.id), layout.model_column, names)
            found, counts = found + more, counts + Counter({"unequal-ids": total})
        problems += sorted(found, key=lambda problem: problem.row or 0)
        totals += counts
    if problems:
        raise DataError(problems[:KEPT], hint=_hint(problems), totals=totals)


def _wide(
    predictions: Predictions, judged: Judged, plan: CountPlan, known: list[str]
) -> list[Check]:
    strict = predictions.roles.missing == "error"
    checks = [missing_label(plan.truth)] if strict else []
    for model in plan.models:
        for column in model.columns:
            if model.kind == "label":
                checks += [missing_label(column)] if strict else []
                if model.name in judged.unknown:
                    checks.append(unknown_label(column, known))
            else:
                checks += [missing_score(column)] if strict else []
                checks.append(bad_number(column))
    return checks


def _long(predictions: Predictions, plan: CountPlan, known: list[str]) -> list[Check]:
    layout, strict = predictions.layout, predictions.roles.missing == "error"
    kinds = {model.kind for model in plan.models}
    checks = long_checks(str(layout.id), layout.model_column, layout.truth)
    checks += [missing_label(str(layout.id)), missing_label(layout.model_column)]
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
    value = first.what.split("'")[1] if "'" in first.what else ""
    return {
        "missing-value": "fill the cells, or add --missing drop to leave such rows out",
        "bad-number": f"if '{value}' means missing, add --null-value '{value}'",
        "unknown-label": f"a class truth happens to lack is declared with --labels '{value}'; "
        "a column that is no model is left out by naming the others with --model",
        "bad-weight": "weights count how often a row stands for itself",
        "duplicate-row": "each observation needs one row per model",
        "unequal-ids": "each observation needs one row per model",
        "conflicting-truth": "all rows of one observation need the same truth",
    }.get(first.code)


def refuse_unbounded(name: str, unbounded: Mapping[str, tuple[float, float]]) -> None:
    """Raise for scores outside 0..1 that came without a threshold."""
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
        hint=f"give one, for example --threshold '{first}=0'; "
        "if the column is no model, name the models with --model",
    )


def check_ids(predictions: Predictions) -> None:
    """Raise when an id of a wide table stands in more than one row."""
    layout = predictions.layout
    if layout.id is None or layout.name == "long":
        return
    frames = [scan(file, {layout.id: "text"}) for file in predictions.files]
    frame = (nw.concat(frames) if len(frames) > 1 else frames[0]).drop_nulls()
    counted = collect(frame.select(n=nw.col(layout.id).n_unique(), rows=nw.len()))
    if counted["n"].item() == counted["rows"].item():
        return
    for file in predictions.files:
        problems, totals = run_checks(numbered(file), file.name, [repeated(layout.id)])
        if problems:
            raise DataError(problems, hint="each observation stands in one row", totals=totals)
    raise DataError(
        Problem("an id stands in more than one file", "duplicate-id", predictions.files[0].name,
                None, layout.id),
        hint="each observation stands in one row",
    )  # fmt: skip
