"""The public functions: a path or data frame in, a Result out; the command line calls the same."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from clfeval.errors import Problem, UsageError
from clfeval.methods.mars.options import Interval, MarsOptions, Rule, Sweep, Target
from clfeval.methods.mars.result import mars_result
from clfeval.result import Result
from clfeval.tables.peek import as_text
from clfeval.tables.prediction import Predictions, open_predictions
from clfeval.tables.roles import Kind, LayoutName, Missing, Roles

Names = str | Sequence[str]


def mars(
    table: Any,
    *,
    truth: str | None = None,
    model: Names = (),
    id: str | None = None,  # noqa: A002
    positive: object = None,
    labels: Sequence[object] = (),
    kind: Kind | None = None,
    threshold: float | Mapping[str | None, float] | None = None,
    weight: str | None = None,
    by: Names = (),
    missing: Missing = "error",
    null_value: Names = (),
    layout: LayoutName | None = None,
    input_format: str | None = None,
    delimiter: str | None = None,
    target: Target = "positive",
    occlusion: Rule = "all",
    level: float = 0.95,
    interval: Interval = "exact",
    subsets: int | Literal["all"] | None = None,
    best: int | None = None,
    max_effort: float | None = None,
    top: str | float | None = None,
    sweep: Sweep | None = None,
    points: int | Literal["all"] | None = None,
    lists: Sequence[str] = (),
    groups: Mapping[str, Sequence[str]] | None = None,
    on_open: Callable[[Predictions], None] | None = None,
) -> Result:
    """Compute ShineThrough and Occlusion of every model, pair and, if asked, subset.

    ShineThrough(S) = ETP(S) / TTP: of the target rows some model finds, the share that S finds and
    no model outside S. Occlusion(S) = EFN(S) / TTP: the share that S misses and every model outside
    finds (`occlusion="any"`: some model outside). Both in 0..1; undefined, with a reason, when
    nothing is found, and for Occlusion of all models together.

    `table` is a path, a list of paths, or a polars, pandas or Arrow frame (never changed). The
    options are those of `clfeval mars`; `threshold` is a number, or a mapping of model to number
    in which None stands for all other models. `on_open` sees the recognised columns before rows
    are counted. Raises UsageError and DataError.
    Source: Restrepo et al. 2022, F1000Research 11:391 v2.
    """
    roles = Roles(
        truth=truth,
        models=_strings(model),
        id=id,
        positive=as_text(positive),
        labels=tuple(text for text in map(as_text, _items(labels)) if text is not None),
        kind=kind,
        thresholds=_thresholds(threshold),
        weight=weight,
        by=_strings(by),
        missing=missing,
        null_values=_strings(null_value),
        layout=layout,
    )
    options = MarsOptions(
        target=target,
        rule=occlusion,
        level=level,
        interval=interval,
        subsets=subsets,
        best=best,
        max_effort=max_effort,
        groups=tuple((name, tuple(members)) for name, members in (groups or {}).items()),
        top=None if top is None else str(top),
        sweep=sweep,
        points=points,
        lists=tuple(dict.fromkeys(lists)),
    )
    roles.check()
    options.check()
    if isinstance(table, (str, os.PathLike)):
        table = [table]
    if isinstance(table, (list, tuple)) and not table:
        raise UsageError(Problem("no table given", "no-input"))
    with open_predictions(
        table, roles, input_format=input_format, delimiter=delimiter
    ) as predictions:
        if on_open is not None:
            on_open(predictions)
        return mars_result(predictions, options)


def _strings(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _items(values: object) -> Sequence[object]:
    return (values,) if isinstance(values, str) else tuple(values)  # type: ignore[arg-type]


def _thresholds(
    threshold: float | Mapping[str | None, float] | None,
) -> dict[str | None, float]:
    if threshold is None:
        return {}
    chosen: dict[str | None, float] = {}
    chosen.update(threshold if isinstance(threshold, Mapping) else {None: threshold})
    for value in chosen.values():
        if not math.isfinite(value):
            raise UsageError(Problem(f"the threshold {value} is no finite number", "bad-option"))
    return chosen
