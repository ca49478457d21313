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
from clfeval.api.result import Result
from tests.methods.patients import MODELS, ends, shared_rows

Row = Mapping[str, Any]
table = partial(shared_rows, positive=0.6, rates=(0.85, 0.7, 0.6))


def limits(
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
    more = (total / g * (0.5 - p)) ** 2 / 2  # half a cluster of which half the rows are hits
    variance = (g / (g - 1) * squares + more) / total**2
    effect = max(variance / (p * (1 - p) / total), 1.0)
    by = effect * (stats.t.ppf(0.975, g - 1) / stats.norm.ppf(0.975)) ** 2
    k_eff, n_eff = hits / by, total / by
    return (
        float(stats.beta.ppf(0.025, k_eff, n_eff - k_eff + 1)),
        float(stats.beta.ppf(0.975, k_eff + 1, n_eff - k_eff)),
    )


def whole(found: Result, name: str) -> list[Any]:
    return [row for row in found.tables[name] if row["slice"] is None]


def others(row: Row, *mine: str) -> bool:
    return any(row[name] for name in MODELS if name not in mine)


def test_every_measure_of_a_model() -> None:
    frame = table()
    (row, *_) = whole(mars(frame, cluster="patient"), "models")
    expected = {
        "accuracy": limits(frame, lambda r: r["a"] == r["truth"], lambda _: True),
        "precision": limits(frame, lambda r: r["truth"] == 1, lambda r: r["a"] == 1),
        "recall": limits(frame, lambda r: r["a"] == 1, lambda r: r["truth"] == 1),
        "shine_through": limits(
            frame,
            lambda r: r["a"] and not others(r, "a"),
            lambda r: bool(r["truth"] and (r["a"] or others(r, "a"))),
        ),
        "occlusion": limits(
            frame,
            lambda r: not r["a"] and r["b"] and r["c"],
            lambda r: bool(r["truth"] and (r["a"] or others(r, "a"))),
        ),
    }
    for name, both in expected.items():
        assert ends(row[name]) == pytest.approx(both, rel=1e-9), name


def test_subsets_the_other_target_and_groups() -> None:
    frame = table()
    found = mars(frame, cluster="patient", target="negative", subsets=2, best=2)
    pair = next(row for row in whole(found, "subsets") if row["models"] == ["a", "b"])

    def says(row: Row) -> bool:
        return not (row["a"] and row["b"])  # some member says negative

    assert ends(pair["yield"]) == pytest.approx(limits(frame, lambda r: not r["truth"], says))
    alone = limits(
        frame,
        lambda r: says(r) and bool(r["c"]),
        lambda r: not r["truth"] and not (r["a"] and r["b"] and r["c"]),
    )
    assert ends(pair["shine_through"]) == pytest.approx(alone)
    grouped = mars(frame, cluster="patient", group={"ab": ("a", "b")})
    recall = limits(frame, lambda r: bool(r["a"] or r["b"]), lambda r: bool(r["truth"]))
    row = next(row for row in whole(grouped, "models") if row["model"] == "ab")
    assert ends(row["recall"]) == pytest.approx(recall)


def test_slices_have_clusters_of_their_own() -> None:
    frame = table().with_columns(site=pl.Series(["x", "y"] * 100))
    found = mars(frame, cluster="patient", by="site")
    row = next(r for r in found.tables["models"] if (r["slice"], r["model"]) == ("site=x", "b"))
    part = frame.filter(pl.col("site") == "x")
    expected = limits(part, lambda r: r["b"] == 1, lambda r: r["truth"] == 1)
    assert ends(row["recall"]) == pytest.approx(expected)


def test_sentences_have_the_limits_of_the_tables() -> None:
    frame = table()
    found = mars(frame, cluster="patient")
    first = found.answer[0]
    best = next(row for row in whole(found, "models") if row["model"] == first.models[0])
    assert (first.low, first.high) == ends(best["recall"])
    pair = next(one for one in found.answer if one.code in ("best-pair", "no-better-pair"))
    if pair.low is not None:
        names = pair.models
        expected = limits(
            frame, lambda r: any(r[name] for name in names), lambda r: bool(r["truth"])
        )
        assert (pair.low, pair.high) == pytest.approx(expected)


def test_p_values_flip_patients() -> None:
    frame = table(patients=9)
    found = whole(mars(frame, cluster="patient"), "pairs")
    row = next(row for row in found if row["models"] == ["a", "b"])
    more: dict[int, int] = {}
    for one in frame.filter(pl.col("truth") == 1).iter_rows(named=True):
        alone = [name for name in MODELS if one[name]]
        step = {("a",): 1, ("b",): -1}.get(tuple(alone), 0)
        more[one["patient"]] = more.get(one["patient"], 0) + step
    d = [x for x in more.values() if x]
    every = [
        abs(sum(s * x for s, x in zip(signs, d, strict=True))) >= abs(sum(d))
        for signs in product((1, -1), repeat=len(d))
    ]
    assert row["p_value"] == pytest.approx(np.mean(every))


def test_a_patient_a_row_is_almost_no_patient() -> None:
    frame = table().with_columns(patient=pl.int_range(200))
    mine_of, plain_of = mars(frame, cluster="patient"), mars(frame.drop("patient"))
    for mine, plain in zip(whole(mine_of, "models"), whole(plain_of, "models"), strict=True):
        assert mine["recall"].value == plain["recall"].value
        # 118 positives: a factor 118/117 and t for z
        assert ends(mine["recall"]) == pytest.approx(ends(plain["recall"]), abs=2e-3)
        assert mine["recall"].low <= plain["recall"].low


def test_one_patient_has_no_intervals() -> None:
    found = mars(table(patients=1, rows=60), cluster="patient")
    assert all(row["recall"].low is None is row["recall"].high for row in whole(found, "models"))
    assert "few-clusters" in {note.code for note in found.warnings}


def test_a_sweep_has_none_either() -> None:
    rng = np.random.default_rng(0)
    frame = table().with_columns(a=pl.Series(rng.random(200)), b=pl.Series(rng.random(200)))
    found = mars(frame.drop("c"), cluster="patient", sweep="threshold")
    assert found.tables["sweep"][0]["shine_through"].low is None
    assert found.tables["models"][0]["shine_through"].low is not None
    assert "sweep-unsure" in {note.code for note in found.warnings}
