"""phidelta and tune-jpt of rows that share patients: intervals against patients counted here."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import polars as pl
import pytest
from scipy import stats

from clfeval.api.commands import phidelta, tune_jpt
from clfeval.document.cells import Estimate
from tests.limits import wilson
from tests.methods.patients import shared_rows
from tests.results import answer_codes, limits_of, row_of, value_of, warning_codes, warning_messages
from tests.samples import logistic
from tests.texts import check_text, numbers_in

Z = stats.norm.ppf(0.975)
three_models = partial(shared_rows, positive=0.4, rates=(0.85, 0.75, 0.6))


def counts(frame: pl.DataFrame, model: str) -> np.ndarray:
    """Return TP, FP, P and N of each patient, (c, 4)."""
    cells = []
    for _, part in frame.group_by("patient", maintain_order=True):
        t, v = part["truth"].to_numpy() == 1, part[model].to_numpy() == 1
        cells.append((int((t & v).sum()), int((~t & v).sum()), int(t.sum()), int((~t).sum())))
    return np.array(cells, float)


def share(k: np.ndarray, n: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return the share, by what its counts are divided, and its influence by patient."""
    p, g = k.sum() / n.sum(), n.sum() ** 2 / (n**2).sum()
    residual = (k - p * n) * math.sqrt(g / (g - 1)) / n.sum()
    half_cluster = ((n**2).sum() / n.sum() * (0.5 - p)) ** 2 / 2 / n.sum() ** 2
    effect = max((residual @ residual + half_cluster) / (p * (1 - p) / n.sum()), 1)
    return p, effect * (stats.t.ppf(0.975, g - 1) / Z) ** 2, residual


def linear(frame: pl.DataFrame, a: float, b: float) -> tuple[float, float]:
    """Return the limits of a tp + b fp by square-and-add of counts divided."""
    tp, fp, p, n = counts(frame, "a").T
    (s, by1, r1), (f, by2, r2) = share(tp, p), share(fp, n)
    both = 1 + 2 * a * b * (r1 @ r2) / (a * a * (r1 @ r1) + b * b * (r2 @ r2))
    rows1, rows2 = p.sum() / by1 / both, n.sum() / by2 / both
    limits1 = sorted(a * limit for limit in wilson(s * rows1, rows1))
    limits2 = sorted(b * limit for limit in wilson(f * rows2, rows2))
    value = a * s + b * f
    down, up = (math.hypot(a * s - limits1[i], b * f - limits2[i]) for i in (0, 1))
    return value - down, value + up


def exact(k: np.ndarray, n: np.ndarray) -> tuple[float, float]:
    _, by, _ = share(k, n)
    hits, rows = k.sum() / by, n.sum() / by
    return (
        float(stats.beta.ppf(0.025, hits, rows - hits + 1)),
        float(stats.beta.ppf(0.975, hits + 1, rows - hits)),
    )


def test_position_and_shares() -> None:
    frame = three_models()
    row = row_of(phidelta(frame, cluster="patient"), "models", model="a")
    low, high = linear(frame, 1, 1)
    assert limits_of(row["delta"]) == pytest.approx(linear(frame, 1, -1))
    assert limits_of(row["phi"]) == pytest.approx((low - 1, high - 1))
    tp, fp, p, n = counts(frame, "a").T
    assert limits_of(row["sensitivity"]) == pytest.approx(exact(tp, p))
    assert limits_of(row["accuracy"]) == pytest.approx(exact(tp + n - fp, p + n))
    assert limits_of(row["precision"]) == pytest.approx(exact(tp, tp + fp))


def test_slices_are_judged_by_their_own_clusters() -> None:
    frame = three_models().with_columns(site=pl.Series(["x", "y"] * 100))
    result = phidelta(frame, cluster="patient", by="site")
    row = row_of(result, "models", slice="site=y", model="a")
    assert limits_of(row["delta"]) == pytest.approx(
        linear(frame.filter(pl.col("site") == "y"), 1, -1)
    )


def test_another_population() -> None:
    frame = three_models(150)  # enough of them for the logit
    result = tune_jpt(frame, cluster="patient", prevalence="1:3", sweep=None)
    row = row_of(result, "models", population="target", model="a")
    low, high = linear(frame, 0.25, -0.75)
    assert limits_of(row["tar"]) == pytest.approx((low + 0.75, high + 0.75))
    # logit PPV has the slopes 1/tp and -1/fp along the rates
    tp, fp, p, n = counts(frame, "a").T
    (s, by1, r1), (f, by2, r2) = share(tp, p), share(fp, n)
    parts = np.array([r1 @ r1 / s**2, r2 @ r2 / f**2])
    both = 1 - 2 * (r1 @ r2) / (s * f) / parts.sum()
    n1, n2 = p.sum() / by1 / both, n.sum() / by2 / both
    ppv = s / (s + 3 * f)
    half = Z * math.sqrt((1 - s) / (n1 * s) + (1 - f) / (n2 * f))
    centre = math.log(ppv / (1 - ppv))
    expected = [logistic(centre - half), logistic(centre + half)]
    assert limits_of(row["ppv"]) == pytest.approx(expected)


def test_one_patient_has_no_intervals_and_no_claims() -> None:
    frame = three_models(1, 80)
    for result in (
        phidelta(frame, cluster="patient", reference="a"),
        tune_jpt(frame, cluster="patient", prevalence="1:9"),
        tune_jpt(frame, cluster="patient", prevalence="1:9", interval="bootstrap", resamples=100),
    ):
        for rows in result.tables.values():
            for row in rows:
                for name, cell in row.items():
                    assert not isinstance(cell, Estimate) or cell.low is cell.high is None, name
        assert "significantly-worse" not in answer_codes(result)
        assert "few-clusters" in warning_codes(result)


def test_clusters_unlike_in_size_tell_as_much_as_fewer() -> None:
    frame = three_models(30, 2)
    uneven = pl.concat([frame, *[frame.filter(pl.col("patient") == frame["patient"][0])] * 9])
    assert "few-clusters" not in warning_codes(phidelta(frame, cluster="patient"))
    # 29 of 2 rows, one of 20: 78² / (29 2² + 20²) = 11.8
    (note,) = warning_messages(phidelta(uneven, cluster="patient"), "few-clusters")
    assert {30, 12} <= {*numbers_in(note)}
    # the same by weight: one patient of ten times 2 rows, weights of 1.1 and 11
    weighted = frame.with_columns(
        w=pl.when(pl.col("patient") == frame["patient"][0]).then(11.0).otherwise(1.1)
    )
    result = phidelta(weighted, cluster="patient", weight="w")
    (weighted_note,) = warning_messages(result, "few-clusters")
    assert 12 in numbers_in(weighted_note)
    check_text([note, weighted_note])


def test_differences_of_two_models() -> None:
    frame = three_models()
    delta_of_a = {"model": "a", "measure": "delta"}
    row = row_of(phidelta(frame, cluster="patient", reference="b"), "comparisons", **delta_of_a)
    plain = row_of(phidelta(frame.drop("patient"), reference="b"), "comparisons", **delta_of_a)
    low, high = limits_of(row["difference"])
    p, n = counts(frame, "a")[:, 2:].T
    more_tp, more_fp = (counts(frame, "a") - counts(frame, "b"))[:, :2].T
    d = more_tp / p.sum() - more_fp / n.sum()
    r1 = more_tp - more_tp.sum() / p.sum() * p
    r2 = more_fp - more_fp.sum() / n.sum() * n
    influence = r1 / p.sum() - r2 / n.sum()
    se = math.sqrt(influence @ influence * 40 / 39)
    assert value_of(row["difference"]) == pytest.approx(d.sum())
    assert value_of(row["difference"]) == pytest.approx(value_of(plain["difference"]))
    # half a row more of each class in which they differ, of 200 of them
    assert row["se"] == pytest.approx(se, rel=0.05)
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 34) * row["se"], rel=0.05)


def test_the_curve_takes_clusters() -> None:
    rng = np.random.default_rng(1)
    frame = three_models().drop("b", "c")
    frame = frame.with_columns(a=pl.Series(rng.random(200) * 0.6 + 0.3 * frame["truth"].to_numpy()))
    clustered, plain, of_single_rows = (
        row_of(result, "curves")["roc_auc"]
        for result in (
            phidelta(frame, cluster="patient", curve=True),
            phidelta(frame.drop("patient"), curve=True),
            phidelta(frame.with_columns(patient=pl.int_range(200)), cluster="patient", curve=True),
        )
    )
    assert value_of(clustered) == pytest.approx(value_of(plain))
    assert limits_of(clustered) != limits_of(plain)
    assert limits_of(of_single_rows) == pytest.approx(limits_of(plain), abs=2e-3)


def test_the_bootstrap_draws_patients() -> None:
    frame = three_models()
    result = tune_jpt(frame, cluster="patient", prevalence="1:3", interval="bootstrap", sweep=None)
    times = np.random.default_rng(5).multinomial(40, np.full(40, 1 / 40), size=20_000)
    tp, fp, p, n = (times @ counts(frame, "a")).T
    tar = 0.25 * tp / p + 0.75 * (1 - fp / n)
    row = row_of(result, "models", population="target", model="a")
    assert limits_of(row["tar"]) == pytest.approx(np.quantile(tar, [0.025, 0.975]), abs=0.012)


def test_runs_are_clustered_each_by_itself() -> None:
    frame = three_models().with_columns(run=pl.Series((["1"] * 100) + (["2"] * 100)))
    row = row_of(phidelta(frame, cluster="patient", run="run"), "runs", run="2", model="a")
    part = frame.filter(pl.col("run") == "2")
    assert limits_of(row["delta"]) == pytest.approx(linear(part, 1, -1))
