"""`clfeval.mars`: what each classifier finds or misses that the others do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from clfeval.api.roles import Names, Thresholds, roles_of, tables_of
from clfeval.counts.count import count
from clfeval.methods.mars.options import Interval, MarsOptions, Rule, Sweep, Target
from clfeval.methods.mars.result import mars_result
from clfeval.result import Result
from clfeval.tables.prediction import Predictions, open_predictions
from clfeval.tables.roles import Kind, LayoutName, Missing


def mars(
    table: Any,
    *,
    truth: str | None = None,
    model: Names = (),
    id: str | None = None,  # noqa: A002
    positive: object = None,
    labels: Sequence[object] = (),
    kind: Kind | None = None,
    threshold: Thresholds = None,
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
    roles = roles_of(
        truth=truth, model=model, id=id, positive=positive, labels=labels, kind=kind,
        threshold=threshold, weight=weight, by=by, missing=missing, null_value=null_value,
        layout=layout,
    )  # fmt: skip
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
    options.check()
    with open_predictions(
        tables_of(table), roles, input_format=input_format, delimiter=delimiter
    ) as predictions:
        if on_open is not None:
            on_open(predictions)
        return mars_result(count(predictions, top=options.top), options)
