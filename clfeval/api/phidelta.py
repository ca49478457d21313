"""`clfeval.phidelta`: classifiers, runs and features in the phi-delta plane."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from clfeval.api.entry import public_function
from clfeval.api.questions import OnOpen, PreparedResult
from clfeval.counts.count import read_sample
from clfeval.counts.features import count_features
from clfeval.counts.row_digests import truth_digest
from clfeval.errors import bad_option
from clfeval.methods.phidelta.features import feature_result
from clfeval.methods.phidelta.options import (
    PHIDELTA,
    ClassifierOptions,
    FeatureOptions,
    PlaneOptions,
)
from clfeval.methods.phidelta.result import classifier_result
from clfeval.options.declaration import changed_options
from clfeval.tables.feature import open_features
from clfeval.tables.input import Input
from clfeval.tables.prediction import open_predictions
from clfeval.tables.source import table_paths


@public_function(PHIDELTA)
def phidelta(
    table: Any,
    said: Input,
    plane: PlaneOptions,
    classifiers: ClassifierOptions,
    features: FeatureOptions,
    on_open: OnOpen,
) -> Iterator[PreparedResult]:
    """Measure discrimination (delta) and bias towards a class (phi) of classifiers or features.

    delta = tp - fp = sensitivity + specificity - 1, phi = tp + fp - 1 = sensitivity - specificity;
    |phi| + |delta| <= 1. delta is 1 for perfect predictions, 0 for chance and -1 if all are wrong.
    phi is 1 if every row is predicted positive, -1 if none is. Both do not depend on prevalence.
    The pair at a given prevalence is phi_b = 2 (n fp - p fn), delta_b = 2 accuracy - 1. All are
    undefined, with a reason, without rows of both classes.

    With `features` the columns of the table are features, or its rows are entries of a sparse
    table; `truth_table` is a path or frame. Keyword `isometrics` maps a measure to values. Tables
    are never changed. Raises UsageError and DataError.
    Source: Armano 2015, Information Sciences 325:466.
    """
    if features.features:
        others = ("model", "kind", "threshold", "by", "cluster", "join")
        given = [one for one in changed_options(said) if one.field in others]
        if given := [*changed_options(classifiers), *given]:
            flag = given[0].flag
            hint = f"remove {flag}" + "; use --cut for features" * (flag == "--threshold")
            raise bad_option(f"{flag} applies to classifiers, not to --features", hint)
        if plane.interval not in ("exact", "none"):
            raise bad_option(f"--interval {plane.interval} does not apply to --features")
        if said.layout not in (None, "wide", "long"):
            raise bad_option(f"--layout {said.layout} does not apply to --features")
        if "-" in table_paths(table) and "-" in table_paths(features.truth_table):
            raise bad_option("the table and --truth-table cannot both be standard input")
        truth, wanted = features.truth_table, features.feature
        with open_features(table, said, wanted=wanted, truth_table=truth) as opened:
            on_open(opened)
            found = count_features(opened, features.cut)
            yield PreparedResult(lambda: feature_result(found, plane, features), found.facts)
        return
    classifiers.check_together()
    roles = said.with_runs(classifiers.run, files=classifiers.run_files)
    with open_predictions(table, roles, keep_counts=True) as predictions:
        on_open(predictions)
        sample = read_sample(predictions)
        yield PreparedResult(
            lambda: classifier_result(sample, plane, classifiers),
            sample.facts,
            partial(truth_digest, sample),
        )
