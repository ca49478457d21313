"""`clfeval.mlcps`: many metrics folded into one score, and how firm its ranking is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clfeval.api.metrics import of_metrics
from clfeval.api.mlcps_given import (
    Weights,
    Wishes,
    check_kinds,
    draws_of,
    refuse_predicted,
    stdin_once,
    weights_of,
    wishes_from,
)
from clfeval.api.numbers import number, pair, whole
from clfeval.api.roles import Names, Thresholds, roles_of, strings, tables_of
from clfeval.counts.count import count
from clfeval.errors import DataError, Problem, UsageError, bad_option, listing
from clfeval.methods.mlcps.given import (
    DEFAULT,
    Given,
    measure_names,
    of_predictions,
    only_ranks,
)
from clfeval.methods.mlcps.options import (
    Direction,
    From,
    Interval,
    MlcpsOptions,
    ZeroWeight,
)
from clfeval.methods.mlcps.result import mlcps_result
from clfeval.methods.mlcps.scale import check_ahead
from clfeval.result import Result
from clfeval.tables.metric.table import MetricTable, read_metrics
from clfeval.tables.prediction import Predictions, open_predictions
from clfeval.tables.roles import Kind, LayoutName, Missing, Roles

OnOpen = Callable[[MetricTable | Predictions], None] | None


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is to be read, where its name and first bytes do not say it."""

    input_format: str | None
    delimiter: str | None


def mlcps(
    table: Any,
    *,
    source: From = "metrics",
    metric: Names = (),
    transpose: bool = False,
    weight: Weights = None,
    zero_weight: ZeroWeight = "drop",
    direction: Mapping[str, Direction] | None = None,
    rescale: Mapping[str, Sequence[float]] | None = None,
    desirability: Wishes = None,
    compare: Any = None,
    weight_sensitivity: bool = False,
    draws: int | None = None,
    truth: str | None = None,
    model: Names = (),
    id: str | None = None,  # noqa: A002
    positive: object = None,
    labels: Sequence[object] = (),
    kind: Kind | None = None,
    threshold: Thresholds = None,
    row_weight: str | None = None,
    missing: Missing = "error",
    null_value: Names = (),
    layout: LayoutName | None = None,
    input_format: str | None = None,
    delimiter: str | None = None,
    interval: Interval = "bootstrap",
    level: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
    on_open: OnOpen = None,
) -> Result:
    """Rank models by the area of the polygon that their metrics span, and say how firm that is.

    MLcps = ½ sin(2π/n) sum d_i d_(i+1), n metrics d in 0..1 as rays at equal angles, each times its
    weight; it depends on the order of the metrics, so its mean, least and greatest value over all
    orders stand beside it. Range 0 .. n/2 sin(2π/n), `normalised` 0..1; undefined below three
    metrics.

    `table` is a path or a polars, pandas or Arrow frame (never changed) of metrics, one row per
    model; with `source="predictions"` a prediction table, whose measures named in `metric` are
    computed. `weight` maps metrics to weights, `direction` to "max" or "min", `rescale` to the two
    ends of the range that becomes 0..1; `weight` and `desirability` may be YAML files. `compare` is
    a second table of the same models. The other options are those of `clfeval mlcps`. Raises
    UsageError and DataError.
    Source: Akshay et al. 2023, GigaScience 12: giad108; Derringer and Suich 1980, Journal of
    Quality Technology 12:214.
    """
    check_kinds(
        metric=metric, id=id, direction=direction, rescale=rescale, weight=weight,
        desirability=desirability,
    )  # fmt: skip
    options = MlcpsOptions(
        source=source,
        weights=weights_of(weight),
        zero_weight=zero_weight,
        directions=dict(direction or {}),
        rescale={
            name: ends
            for name, both in (rescale or {}).items()
            if (ends := pair(f"--rescale {name}", both)) is not None
        },
        draws=draws_of(draws, wanted=weight_sensitivity),
        wishes=wishes_from(desirability),
        interval=interval,
        level=number("--level", level),
        resamples=None if resamples is None else whole("--resamples", resamples),
        seed=whole("--seed", seed),
    )
    options.check()
    stdin_once(table, compare)
    roles = roles_of(
        truth=truth, model=model, id=id, positive=positive, labels=labels, kind=kind,
        threshold=threshold, weight=row_weight, missing=missing, null_value=null_value,
        layout=layout,
    )  # fmt: skip
    wanted = strings(metric)
    reading = Reading(input_format, delimiter)
    if source == "predictions":
        if transpose:
            raise bad_option("--transpose turns a metric table, and these are predictions")
        if interval == "none" and resamples is not None:
            raise bad_option("--resamples is of the bootstrap, and --interval none wants none")
        wanted = measure_names(wanted) or DEFAULT
        options = options.over(wanted)
        check_ahead(wanted, options)
        given = _measured(table, roles, wanted, options, reading, on_open)
        plain = replace(options, interval="none")  # its intervals are not shown
        other = compare if compare is None else _measured(
            compare, roles, given.metrics, plain, Reading(None, delimiter), on_open
        )  # fmt: skip
        return mlcps_result(given, options, other=other, missing=missing)
    refuse_predicted(roles, resamples)
    if transpose and layout == "long":
        raise bad_option("--transpose turns a wide table, and --layout long says it is none")
    given = _read(table, roles, wanted, transpose, reading, on_open)
    other = None
    if compare is not None:
        try:
            other = _read(
                compare, roles, given.metrics, transpose, Reading(None, delimiter), on_open
            )
            if lacking := [name for name in given.metrics if name not in other.metrics]:
                what = f"no metric {listing(lacking)}; metrics: {listing(other.metrics)}"
                raise UsageError(Problem(what, "unknown-metric", other.name))
        except UsageError as error:
            if error.problems[0].code != "unknown-metric":
                raise
            hint = "name the metrics that both tables have, each with --metric"
            raise DataError(error.problems, hint=hint) from error
    return mlcps_result(given, options, other=other, missing=missing)


def _read(
    table: Any,
    roles: Roles,
    wanted: Sequence[str],
    transpose: bool,
    reading: Reading,
    on_open: OnOpen,
) -> Given:
    """Read a metric table."""
    layout = roles.layout
    if layout not in (None, "wide", "long"):
        raise bad_option(f"--layout {layout} is for predictions: a metric table is wide or long")
    found = read_metrics(
        tables_of(table), wanted=wanted, models=roles.models, id=roles.id, transpose=transpose,
        layout=layout, missing=roles.missing, null_values=roles.null_values,
        input_format=reading.input_format, delimiter=reading.delimiter,
    )  # fmt: skip
    if on_open is not None:
        on_open(found)
    return of_metrics(found, chosen=bool(wanted))


def _measured(
    table: Any,
    roles: Roles,
    metrics: Sequence[str],
    options: MlcpsOptions,
    reading: Reading,
    on_open: OnOpen,
) -> Given:
    """Measure the models of a prediction table."""
    with open_predictions(
        tables_of(table), roles, input_format=reading.input_format, delimiter=reading.delimiter
    ) as predictions:
        if on_open is not None:
            on_open(predictions)
        return of_predictions(
            count(predictions, any_range=only_ranks(metrics)),
            metrics,
            resamples=options.replicates,
            seed=options.seed,
            unused=options.unused,
        )
