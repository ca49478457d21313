"""`clfeval.phidelta`: classifiers, runs and features in the phi-delta plane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from operator import index
from typing import Any, Literal, SupportsFloat

from clfeval.api.populations import populations_of
from clfeval.api.roles import Names, Thresholds, roles_of, strings, tables_of
from clfeval.counts.features.count import count_features
from clfeval.counts.features.cuts import Cut
from clfeval.counts.sample import read_sample
from clfeval.errors import bad_option
from clfeval.methods.phidelta.features import feature_result
from clfeval.methods.phidelta.options import (
    ClassifierOptions,
    FeatureOptions,
    Interval,
    PlaneOptions,
)
from clfeval.methods.phidelta.result import classifier_result
from clfeval.result import Result
from clfeval.tables.feature import FeatureTable, open_features
from clfeval.tables.prediction import Predictions, open_predictions
from clfeval.tables.roles import Kind, LayoutName, Missing, Roles
from clfeval.tables.scan import FILE_NAME


def phidelta(
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
    level: float = 0.95,
    interval: Interval = "exact",
    prevalence: float | Sequence[float] = (),
    odds: Names = (),
    isometrics: Mapping[str, Sequence[float]] | None = None,
    reference: str | None = None,
    curve: bool = False,
    points: int | Literal["all"] | None = None,
    run: str | None = None,
    run_files: bool = False,
    train_fraction: float | None = None,
    features: bool = False,
    feature: Names = (),
    truth_table: Any = None,
    cut: Cut | None = None,
    select: bool = False,
    phi_max: float | None = None,
    delta_min: float | None = None,
    top: int | None = None,
    on_open: Callable[[Predictions | FeatureTable], None] | None = None,
) -> Result:
    """Place classifiers, or features, by what they discriminate (delta) and how they lean (phi).

    delta = tp - fp = sensitivity + specificity - 1, phi = tp + fp - 1 = sensitivity - specificity;
    |phi| + |delta| <= 1. delta is 1 for the oracle, 0 for chance, -1 for the anti-oracle; phi is 1
    for a classifier that always says positive, -1 for one that never does. Both are free of the
    class ratio; the pair at a prevalence is phi_b = 2 (n fp - p fn), delta_b = 2 accuracy - 1.
    Undefined, with a reason, without rows of both classes.

    `table` is a path, a list of paths, or a polars, pandas or Arrow frame (never changed); with
    `features` its columns are features, or its rows are entries of a sparse table. The options are
    those of `clfeval phidelta`. `odds` are texts `positives:negatives`; `isometrics` maps a measure
    to values; `truth_table` is a path or frame. Raises UsageError and DataError.
    Source: Armano 2015, Information Sciences 325:466.
    """
    if isometrics is not None and not isinstance(isometrics, Mapping):
        raise bad_option("isometrics is no mapping of measures to values")
    plane = PlaneOptions(
        level=level,
        interval=interval,
        populations=populations_of(prevalence, odds),
        isometrics=tuple((name, tuple(values)) for name, values in (isometrics or {}).items()),
    )
    plane.check()
    classifiers = ClassifierOptions(
        reference=reference,
        curve=curve,
        points=points,
        run=run,
        run_files=run_files,
        train_fraction=train_fraction,
    )
    chosen = FeatureOptions(
        cut=_number(cut),
        wanted=strings(feature),
        select=select,
        phi_max=phi_max,
        delta_min=delta_min,
        top=top if top is None else _whole(top),
    )
    roles = roles_of(
        truth=truth, model=model, id=id, positive=positive, labels=labels, kind=kind,
        threshold=threshold, weight=weight, missing=missing, null_value=null_value, layout=layout,
        **_slices(by, FILE_NAME if run_files else run, "--run-files" if run_files else "--run"),
    )  # fmt: skip
    tables = tables_of(table)
    if features:
        _refuse_others("--features", _given(classifiers, ClassifierOptions()) | _given_roles(roles))
        if layout not in (None, "wide", "long"):
            raise bad_option(f"--layout {layout} is for classifiers, not with --features")
        if "-" in _names(table) and "-" in _names(truth_table):
            raise bad_option("--truth-table - and the table itself cannot both be standard input")
        chosen.check()
        with open_features(
            tables, roles, wanted=chosen.wanted,
            truth_table=None if truth_table is None else tables_of(truth_table),
            input_format=input_format, delimiter=delimiter,
        ) as opened:  # fmt: skip
            if on_open is not None:
                on_open(opened)
            return feature_result(count_features(opened, chosen.cut), plane, chosen)
    only = _given(chosen, FeatureOptions())
    if truth_table is not None:
        only["truth_table"] = truth_table
    if only:
        raise bad_option(f"{_option(next(iter(only)))} is for features: add --features")
    classifiers.check()
    with open_predictions(
        tables, roles, input_format=input_format, delimiter=delimiter, keep_counts=True
    ) as predictions:
        if on_open is not None:
            on_open(predictions)
        return classifier_result(read_sample(predictions), plane, classifiers)


def _names(table: Any) -> list[Any]:
    return (
        list(table)
        if isinstance(table, (list, tuple))
        else [table]
        if isinstance(table, str)
        else []
    )


def _slices(by: Names, run: str | None, option: str) -> dict[str, Any]:
    """Return the columns that tell rows apart: slices, or the run."""
    if run is None:
        return {"by": by}
    if by:
        raise bad_option(f"{option} and --by: one at a time")
    return {"by": run, "run": run}


def _given(options: Any, defaults: Any) -> dict[str, Any]:
    """Return the options that differ from their defaults."""
    names = (name for name in options.__dataclass_fields__)
    pairs = {name: getattr(options, name) for name in names}
    return {name: value for name, value in pairs.items() if value != getattr(defaults, name)}


def _given_roles(roles: Roles) -> dict[str, Any]:
    """Return the roles that only classifiers have."""
    every = {
        "model": roles.models, "kind": roles.kind, "threshold": roles.thresholds, "by": roles.by,
    }  # fmt: skip
    return {name: value for name, value in every.items() if value}


def _refuse_others(mode: str, given: Mapping[str, Any]) -> None:
    if given:
        raise bad_option(f"{_option(next(iter(given)))} is for classifiers, not with {mode}")


def _option(name: str) -> str:
    return f"--{({'wanted': 'feature'}.get(name, name)).replace('_', '-')}"


def _number(cut: Any) -> Cut | None:
    """Return a cut of whatever kind of number as a float; a word as it is."""
    if cut is None or isinstance(cut, str):
        return cut  # type: ignore[return-value]
    if isinstance(cut, (bool, complex)) or not isinstance(cut, (Number, SupportsFloat)):
        raise bad_option(f"--cut '{cut}' is neither a word nor a number")
    return float(cut)  # type: ignore[arg-type]


def _whole(top: Any) -> int:
    """Return whatever kind of whole number as an int; UsageError for others."""
    try:
        return index(top)
    except TypeError:
        raise bad_option(f"--top '{top}' is not a whole number of features from 1 up") from None
