"""Fewer than five clusters have no limits and no tests; corrections need two of each class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from clfeval.api.commands import mars, phidelta, report, tune_jpt
from clfeval.api.result import Result
from clfeval.counts.clusters_and_weights import ClusterCounts
from clfeval.document import whole_table_rows
from clfeval.document.cells import Estimate
from tests.results import answers_of, estimate_of
from tests.samples import logistic


def test_clusters_with_rows_of_a_class_are_counted() -> None:
    """Of 12 patients 5 have positives and 9 have negatives: p0 and p1 have both."""
    names = [f"p{i}" for i in range(12)] + ["p0", "p1"]
    place = np.array([0] * 5 + [1] * 7 + [1, 1])
    clusters = ClusterCounts.from_entries(names, place, np.ones(14, np.int64))
    positive = np.array([True, False])
    assert (clusters.having(positive), clusters.having(~positive)) == (5, 9)


def corrected_estimates(result: Result, table: str) -> list[Estimate]:
    """Return the corrected values of the rows of the whole table."""
    return [estimate_of(row["corrected"]) for row in whole_table_rows(result.tables[table])]


def test_a_class_of_one_patient_has_no_honest_value() -> None:
    frame = pl.DataFrame(
        {
            "patient": ["x", "x", "x", "y", "y", "z"],
            "truth": [1, 1, 1, 0, 0, 0],
            "a": [0.9, 0.8, 0.2, 0.1, 0.6, 0.3],
            "b": [0.7, 0.1, 0.6, 0.3, 0.2, 0.9],
        }
    )
    negatives = {"patient": [*"uvw"], "truth": [0] * 3, "a": [0.1] * 3, "b": [0.3] * 3}
    frame = pl.concat([frame, pl.DataFrame(negatives)])
    sets = corrected_estimates(mars(frame, cluster="patient", best=2), "best")
    assert sets == [Estimate(None, reason="too_few_clusters")] * 2
    tuned = tune_jpt(frame, cluster="patient", measure="j_index", points=3)
    thresholds = corrected_estimates(tuned, "thresholds")
    assert {estimate.reason for estimate in thresholds} == {"too_few_clusters"}
    three_patients = corrected_estimates(mars(frame.head(6), cluster="patient", best=2), "best")
    assert {estimate.reason for estimate in three_patients} == {"few_clusters"}
    # as rows there are enough
    of_rows = corrected_estimates(mars(frame.drop("patient"), best=2), "best")
    assert {estimate.reason for estimate in of_rows} == {None}


def patients(count: int, members: int = 40, *, classes: int = 2) -> pl.DataFrame:
    """Return rows of this many patients, with two models: scores, or labels of several classes."""
    rng = np.random.default_rng(8)
    truth = rng.integers(0, classes, count * members)
    columns: dict[str, Any] = {"truth": truth, "patient": np.repeat(np.arange(count), members)}
    for name, right in (("a", 0.8), ("b", 0.7)):
        others = (truth + rng.integers(1, classes, len(truth))) % classes
        labels = np.where(rng.random(len(truth)) < right, truth, others)
        scores = logistic(rng.normal(size=len(truth)) + 1.5 * labels - 0.8, 3)
        columns[name] = [f"c{k}" for k in labels] if classes > 2 else scores
    if classes > 2:
        columns["truth"] = [f"c{k}" for k in truth]
    return pl.DataFrame(columns).with_columns(pl.col("patient").cast(pl.String))


def estimates(result: Result, label: str | None = None) -> Iterator[Estimate]:
    """Yield the values of a slice, without those of measures that never have limits."""
    for rows in result.tables.values():
        for row in rows:
            if row.get("slice", None) == label:
                cells = {key: cell for key, cell in row.items() if key not in ("old", "value_old")}
                yield from (cell for cell in cells.values() if isinstance(cell, Estimate))


CASES: dict[str, tuple[Callable[..., Result], dict[str, Any]]] = {
    "report": (report, {"measure": "all", "resamples": 200}),
    "reference": (report, {"reference": "a", "measure": "hard", "resamples": 200}),
    "bootstrap": (report, {"interval": "bootstrap", "measure": "ranking", "resamples": 200}),
    "wilson": (report, {"interval": "wilson"}),
    "thresholds": (report, {"best_threshold": "j", "prevalence": 0.1}),
    "mars": (mars, {"best": 2}),
    "tune-jpt": (tune_jpt, {"prevalence": 0.1, "points": 3}),
    "phidelta": (phidelta, {"curve": True}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("count", "has_limits"), [(1, False), (4, False), (5, True)])
def test_no_value_has_limits_with_fewer_than_five_clusters(
    name: str, count: int, *, has_limits: bool
) -> None:
    command, options = CASES[name]
    cells = [*estimates(command(patients(count), cluster="patient", **options))]
    limits = [cell for cell in cells if cell.low is not None or cell.high is not None]
    assert bool(limits) == has_limits
    explained = [cell for cell in cells if cell.value is not None and cell.reason == "few_clusters"]
    assert bool(explained) != has_limits


@pytest.mark.parametrize(("count", "has_limits"), [(4, False), (5, True)])
def test_no_value_of_several_classes_has_limits_with_fewer_than_five_clusters(
    count: int, *, has_limits: bool
) -> None:
    cells = [*estimates(report(patients(count, classes=3), cluster="patient", measure="hard"))]
    assert any(cell.low is not None for cell in cells) == has_limits
    assert any(cell.reason == "few_clusters" for cell in cells) != has_limits


def test_slices_of_few_clusters_have_no_limits_and_are_not_tested() -> None:
    few = pl.col("patient").cast(pl.Int64) < 4
    frame = patients(14).with_columns(site=pl.when(few).then(pl.lit("x")).otherwise(pl.lit("y")))
    result = report(frame, cluster="patient", by="site")
    assert not any(cell.low is not None for cell in estimates(result, "site=x"))
    assert {cell.reason for cell in estimates(result, "site=x")} >= {"few_clusters"}
    assert any(cell.low is not None for cell in estimates(result, "site=y"))
    assert any(cell.low is not None for cell in estimates(result))
    (answer,) = answers_of(result, "slices")
    assert answer.text.endswith("are needed inside and outside the slice, of 5 clusters.")


def test_sentences_and_notes_speak_of_clusters() -> None:
    three, seven, twelve = (report(patients(n), cluster="patient") for n in (3, 7, 12))
    texts = " ".join(answer.text for answer in three.answer)
    assert "No significance test: there are fewer than 5 clusters." in texts
    assert "There are too few clusters to assess the calibration of a (slope " in texts
    notes = [[note.message for note in result.warnings] for result in (three, seven, twelve)]
    assert notes[0] == ["only 3 clusters: intervals and tests need 5"]
    assert notes[1] == [
        "only 7 clusters: intervals are approximate, by Student's t with 6 degrees of freedom"
    ]
    assert notes[2] == ["only 12 clusters: intervals are approximate"]


def test_gates_on_a_limit_of_few_clusters_are_missed_with_the_reason() -> None:
    few, enough = (report(patients(n), cluster="patient") for n in (4, 12))
    few = few.check(fail_under={"roc_auc.low": 0.1, "roc_auc": 0.1})
    outcomes = {(gate.metric, gate.passed, gate.reason) for gate in few.gates}
    assert outcomes == {("roc_auc.low", False, "few_clusters"), ("roc_auc", True, None)}
    for new, old in ((few, enough), (enough, few)):
        checked = new.check(baseline=old, max_drop={"roc_auc.low": 0.5})
        assert {
            (gate.passed, gate.reason) for gate in checked.gates if gate.kind == "max-drop"
        } == {(False, "few_clusters")}
