"""Corrections for choice that need rows of each class in at least two clusters."""

from __future__ import annotations

import numpy as np
import polars as pl

from clfeval.api.commands import mars, tune_jpt
from clfeval.api.result import Result
from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.document import Estimate, whole_table_rows


def test_clusters_with_rows_of_a_class_are_counted() -> None:
    """Of 12 patients 5 have positives and 9 have negatives: p0 and p1 have both."""
    names = [f"p{i}" for i in range(12)] + ["p0", "p1"]
    place = np.array([0] * 5 + [1] * 7 + [1, 1])
    clusters = ClusterCounts.from_entries(names, place, np.ones(14, np.int64))
    positive = np.array([True, False])
    assert (clusters.having(positive), clusters.having(~positive)) == (5, 9)


def honest_of(result: Result, table: str) -> list[Estimate]:
    return [row["corrected"] for row in whole_table_rows(result.tables[table])]  # type: ignore[misc]


def test_a_class_of_one_patient_has_no_honest_value() -> None:
    frame = pl.DataFrame(
        {
            "patient": ["x", "x", "x", "y", "y", "z"],
            "truth": [1, 1, 1, 0, 0, 0],
            "a": [0.9, 0.8, 0.2, 0.1, 0.6, 0.3],
            "b": [0.7, 0.1, 0.6, 0.3, 0.2, 0.9],
        }
    )
    found = honest_of(mars(frame, cluster="patient", best=2), "best")
    assert found == [Estimate(None, reason="too_few_clusters")] * 2
    found = honest_of(tune_jpt(frame, cluster="patient", measure="j_index"), "thresholds")
    assert {one.reason for one in found} == {"too_few_clusters"}
    # as rows there are enough
    assert {one.reason for one in honest_of(mars(frame.drop("patient"), best=2), "best")} == {None}
