"""From an opened feature table to the Result of phidelta for features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clfeval.counts.features import CountedFeatures, count_features
from clfeval.errors import Problem, UsageError
from clfeval.measures.population import Population
from clfeval.methods.notes import blank_lines, dropped_rows
from clfeval.methods.phidelta import features
from clfeval.methods.phidelta.options import DELTA_MIN, PHI_MAX, FeatureOptions, PlaneOptions
from clfeval.methods.phidelta.plane import lines_missing, plane_parameters, plane_tables
from clfeval.methods.proportions import fractional_weights
from clfeval.methods.signature import signature
from clfeval.result import Estimate, Input, Result, Table, Warn
from clfeval.tables.feature import FeatureTable


def feature_result(table: FeatureTable, plane: PlaneOptions, options: FeatureOptions) -> Result:
    """Count the features and compute every table the options ask for."""
    counted = count_features(table, options.cut)
    classes, level = counted.classes, plane.confidence
    if level is not None and classes.fractional:
        raise fractional_weights()
    _check_cut(counted, options)
    ranked = features.Ranked.of(counted.counts)
    selected = features.chosen(ranked, options) if options.select else None
    everything = features.feature_table(ranked, level, selected)
    tables: dict[str, Table] = {}
    if selected is not None:
        tables["selected"] = features.feature_table(
            ranked.take(selected), level, np.arange(len(selected))
        )
    tables["features"] = everything
    tables["implications"] = features.implication_table(ranked, level)
    tables |= plane_tables(plane)
    ratio = Population.of_counts(classes.positives, classes.negatives)
    return Result(
        command="phidelta",
        signature=_signature(counted, plane, options),
        inputs=tuple(Input(f.name, f.sha256, f.rows, f.dropped) for f in counted.files),
        parameters={
            "mode": "features",
            "positive": classes.positive,
            "negative": [name for name in classes.classes if name != classes.positive],
            **plane_parameters(plane),
            "missing": table.roles.missing,
            "cut": options.cut,
            "phi_max": _limit(options, options.phi_max, PHI_MAX),
            "delta_min": _limit(options, options.delta_min, DELTA_MIN),
            "top": options.top,
        },
        summary={
            "rows": classes.positives + classes.negatives,
            "positives": classes.positives,
            "negatives": classes.negatives,
            "prevalence": ratio.prevalence,
            "odds": ratio.odds,
            **features.summary(ranked, selected),
        },
        tables=tables,
        warnings=(
            *_warnings(counted, ranked, options),
            *_unsure(tables),
            *lines_missing(plane, tables, ratio.odds),
        ),
    )


def _check_cut(counted: CountedFeatures, options: FeatureOptions) -> None:
    if options.cut is not None and not any(rule is not None for rule in counted.counts.rules):
        raise UsageError(
            Problem("--cut has nothing to act on: no feature is numeric", "needs-numbers"),
            hint="leave it out",
        )


def _limit(options: FeatureOptions, given: float | None, default: float) -> float | None:
    if not options.select:
        return None
    return default if given is None else given


def _signature(counted: CountedFeatures, plane: PlaneOptions, options: FeatureOptions) -> str:
    roles = counted.table.roles
    settings: list[tuple[str, Any]] = [
        ("cmd", "phidelta features"),
        ("pos", counted.classes.positive),
        ("cut", "default" if options.cut is None else options.cut),
        ("miss", roles.missing),
        *([("only", ",".join(counted.table.only))] if counted.table.only else []),
        *([("weight", "yes")] if roles.weight else []),
        *(
            [
                ("select", f"{_limit(options, options.phi_max, PHI_MAX):g}"
                f",{_limit(options, options.delta_min, DELTA_MIN):g},{options.top or 'all'}")
            ]
            if options.select
            else []
        ),
        ("ci", "none" if plane.confidence is None else f"{plane.level!r}"),
    ]  # fmt: skip
    return signature(settings, counted.files, counted.counts.digest())


def _unsure(tables: Mapping[str, Table]) -> list[Warn]:
    """Say how many of the selected features may not discriminate at all."""
    chosen = [row["delta"] for row in tables.get("selected", ())]
    unsure = sum(
        isinstance(delta, Estimate)
        and delta.low is not None
        and delta.high is not None
        and delta.low <= 0 <= delta.high
        for delta in chosen
    )
    if not unsure:
        return []
    text = (
        f"{unsure:,} of the {len(chosen):,} selected have an interval of δ that covers 0: the rule "
        "admits features near a side corner; a lower --phi-max keeps those out"
    )
    return [Warn("unsure-selected", text)]


def _warnings(
    counted: CountedFeatures, ranked: features.Ranked, options: FeatureOptions
) -> list[Warn]:
    said = [*dropped_rows(counted.files), *blank_lines(counted.blank_rows)]
    if counted.nameless:
        text = f"{counted.nameless:,} entries without a row or a feature were left out"
        said.append(Warn("dropped", text))
    if options.cut == "best":
        text = "best cuts were chosen on these rows: on new ones expect a smaller |δ|"
        said.append(Warn("chosen-cuts", text))
    gaps = int((counted.counts.missing > 0).sum())
    if gaps:
        which = "1 feature lacks" if gaps == 1 else f"{gaps:,} features lack"
        text = f"{which} values in some rows, which were left out of its own counts only"
        text = text if gaps == 1 else text.replace("its own", "their own")
        said.append(Warn("feature-gaps", text))
    if ranked.constant.any():
        names = [n for n, c in zip(ranked.counts.names, ranked.constant, strict=True) if c]
        shown = ", ".join(f"'{name}'" for name in names[:5])
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        said.append(Warn("constant-features", f"true in every row, or in none: {shown}{more}"))
    if counted.table.layout == "long" and counted.table.classes is None:
        text = "rows are those with an entry; --truth-table counts rows without any too"
        said.append(Warn("rows-from-entries", text))
    return said
