"""MARS of rows that share patients: each interval against a count of patients written out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from clfeval.api.commands import mars
from tests.methods.patients import MODELS, shared_rows
from tests.results import limits_of, row_of, rows_of, value_of, warning_codes

Row = Mapping[str, Any]
three_models = partial(shared_rows, positive=0.6, rates=(0.85, 0.7, 0.6))


def korn_graubard_limits(
    frame: pl.DataFrame, part: Callable[[Row], bool], whole: Callable[[Row], bool]
) -> tuple[float, float]:
    """Return Korn and Graubard's limits of the share of `part` among `whole`."""
    k: dict[int, int] = {}
    n: dict[int, int] = {}
    for row in frame.iter_rows(named=True):
        k[row["patient"]] = k.get(row["patient"], 0) + (whole(row) and part(row))
        n[row["patient"]] = n.get(row["patient"], 0) + whole(row)
    hits, total = sum(k.values()), sum(n.values())
    p = hits / total
    g = total**2 / sum(size**2 for size in n.values())
    squares = sum((k[i] - p * n[i]) ** 2 for i in k)
    half_cluster = (total / g * (0.5 - p)) ** 2 / 2  # of which half the rows are hits
    variance = (g / (g - 1) * squares + half_cluster) / total**2
    effect = max(variance / (p * (1 - p) / total), 1.0)
    by = effect * (stats.t.ppf(0.975, g - 1) / stats.norm.ppf(0.975)) ** 2
    k_eff, n_eff = hits / by, total / by
    return (
        float(stats.beta.ppf(0.025, k_eff, n_eff - k_eff + 1)),
        float(stats.beta.ppf(0.975, k_eff + 1, n_eff - k_eff)),
    )


def others_detect(row: Row, *members: str) -> bool:
    return any(row[name] for name in MODELS if name not in members)


def test_every_measure_of_a_model() -> None:
    frame = three_models()
    row = row_of(mars(frame, cluster="patient"), "models", model="a")
    expected = {
        "accuracy": korn_graubard_limits(frame, lambda r: r["a"] == r["truth"], lambda _: True),
        "precision": korn_graubard_limits(frame, lambda r: r["truth"] == 1, lambda r: r["a"] == 1),
        "recall": korn_graubard_limits(frame, lambda r: r["a"] == 1, lambda r: r["truth"] == 1),
        "shine_through": korn_graubard_limits(
            frame,
            lambda r: r["a"] and not others_detect(r, "a"),
            lambda r: bool(r["truth"] and (r["a"] or others_detect(r, "a"))),
        ),
        "occlusion": korn_graubard_limits(
            frame,
            lambda r: not r["a"] and r["b"] and r["c"],
            lambda r: bool(r["truth"] and (r["a"] or others_detect(r, "a"))),
        ),
    }
    for name, limits in expected.items():
        assert limits_of(row[name]) == pytest.approx(limits, rel=1e-9), name


def test_subsets_the_other_target_and_groups() -> None:
    frame = three_models()
    result = mars(frame, cluster="patient", target="negative", subsets=2, best=2)
    pair = row_of(result, "subsets", models=["a", "b"])

    def says(row: Row) -> bool:
        return not (row["a"] and row["b"])  # some member says negative

    assert limits_of(pair["yield"]) == pytest.approx(
        korn_graubard_limits(frame, lambda r: not r["truth"], says)
    )
    alone = korn_graubard_limits(
        frame,
        lambda r: says(r) and bool(r["c"]),
        lambda r: not r["truth"] and not (r["a"] and r["b"] and r["c"]),
    )
    assert limits_of(pair["shine_through"]) == pytest.approx(alone)
    grouped = mars(frame, cluster="patient", group={"ab": ("a", "b")})
    recall = korn_graubard_limits(
        frame, lambda r: bool(r["a"] or r["b"]), lambda r: bool(r["truth"])
    )
    row = row_of(grouped, "models", model="ab")
    assert limits_of(row["recall"]) == pytest.approx(recall)


def test_slices_have_clusters_of_their_own() -> None:
    frame = three_models().with_columns(site=pl.Series(["x", "y"] * 100))
    row = row_of(mars(frame, cluster="patient", by="site"), "models", slice="site=x", model="b")
    part = frame.filter(pl.col("site") == "x")
    expected = korn_graubard_limits(part, lambda r: r["b"] == 1, lambda r: r["truth"] == 1)
    assert limits_of(row["recall"]) == pytest.approx(expected)


def test_sentences_have_the_limits_of_the_tables() -> None:
    frame = three_models()
    result = mars(frame, cluster="patient")
    answer = result.answer[0]
    best = row_of(result, "models", model=answer.models[0])
    assert (answer.low, answer.high) == limits_of(best["recall"])
    codes = ("best-pair", "no-better-pair")
    pair = next(sentence for sentence in result.answer if sentence.code in codes)
    if pair.low is not None:
        names = pair.models
        expected = korn_graubard_limits(
            frame, lambda r: any(r[name] for name in names), lambda r: bool(r["truth"])
        )
        assert (pair.low, pair.high) == pytest.approx(expected)


def test_p_values_flip_patients() -> None:
    frame = three_models(patients=9)
    pair = row_of(mars(frame, cluster="patient"), "pairs", models=["a", "b"])
    sums: dict[int, int] = {}
    for row in frame.filter(pl.col("truth") == 1).iter_rows(named=True):
        alone = [name for name in MODELS if row[name]]
        step = {("a",): 1, ("b",): -1}.get(tuple(alone), 0)
        sums[row["patient"]] = sums.get(row["patient"], 0) + step
    d = [x for x in sums.values() if x]
    every = [
        abs(sum(s * x for s, x in zip(signs, d, strict=True))) >= abs(sum(d))
        for signs in product((1, -1), repeat=len(d))
    ]
    assert pair["p_value"] == pytest.approx(np.mean(every))


def test_a_patient_a_row_is_almost_no_patient() -> None:
    frame = three_models().with_columns(patient=pl.int_range(200))
    clustered, plain = (
        [row["recall"] for row in rows_of(result, "models")]
        for result in (mars(frame, cluster="patient"), mars(frame.drop("patient")))
    )
    for wider, recall in zip(clustered, plain, strict=True):
        assert value_of(wider) == value_of(recall)
        # 118 positives: a factor 118/117 and t for z
        assert limits_of(wider) == pytest.approx(limits_of(recall), abs=2e-3)
        assert wider.low <= recall.low


def test_one_patient_has_no_intervals() -> None:
    result = mars(three_models(patients=1, rows=60), cluster="patient")
    recalls = [row["recall"] for row in rows_of(result, "models")]
    assert all(recall.low is None is recall.high for recall in recalls)
    assert "few-clusters" in warning_codes(result)


def test_a_sweep_has_none_either() -> None:
    rng = np.random.default_rng(0)
    scores = {name: pl.Series(rng.random(200)) for name in "ab"}
    frame = three_models().with_columns(**scores).drop("c")
    result = mars(frame, cluster="patient", sweep="threshold")
    assert rows_of(result, "sweep")[0]["shine_through"].low is None
    assert rows_of(result, "models")[0]["shine_through"].low is not None
    assert "sweep-unsure" in warning_codes(result)
