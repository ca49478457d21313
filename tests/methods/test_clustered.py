"""phidelta and tune-jpt of rows that share patients: intervals against patients counted here."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from clfeval.api.commands import phidelta, tune_jpt
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from tests.methods.patients import ends, shared_rows
from tests.texts import check_text, numbers_in

Z = stats.norm.ppf(0.975)
table = partial(shared_rows, positive=0.4, rates=(0.85, 0.75, 0.6))


def counts(frame: pl.DataFrame, model: str) -> np.ndarray:
    """Return TP, FP, P and N of each patient, (c, 4)."""
    found = []
    for _, part in frame.group_by("patient", maintain_order=True):
        t, v = part["truth"].to_numpy() == 1, part[model].to_numpy() == 1
        found.append((int((t & v).sum()), int((~t & v).sum()), int(t.sum()), int((~t).sum())))
    return np.array(found, float)


def share(k: np.ndarray, n: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return the share, by what its counts are divided, and its influence by patient."""
    p, g = k.sum() / n.sum(), n.sum() ** 2 / (n**2).sum()
    residual = (k - p * n) * math.sqrt(g / (g - 1)) / n.sum()
    more = ((n**2).sum() / n.sum() * (0.5 - p)) ** 2 / 2 / n.sum() ** 2
    effect = max((residual @ residual + more) / (p * (1 - p) / n.sum()), 1)
    return p, effect * (stats.t.ppf(0.975, g - 1) / Z) ** 2, residual


def wilson(p: float, n: float) -> tuple[float, float]:
    middle, half = p + Z**2 / 2 / n, Z * math.sqrt(p * (1 - p) / n + Z**2 / 4 / n**2)
    return (middle - half) / (1 + Z**2 / n), (middle + half) / (1 + Z**2 / n)


def linear(frame: pl.DataFrame, a: float, b: float) -> tuple[float, float]:
    """Return the limits of a tp + b fp by square-and-add of counts divided."""
    tp, fp, p, n = counts(frame, "a").T
    (s, by1, r1), (f, by2, r2) = share(tp, p), share(fp, n)
    both = 1 + 2 * a * b * (r1 @ r2) / (a * a * (r1 @ r1) + b * b * (r2 @ r2))
    (low1, high1), (low2, high2) = (
        wilson(rate, total / by / both)
        for rate, total, by in ((s, p.sum(), by1), (f, n.sum(), by2))
    )
    ends1, ends2 = sorted((a * low1, a * high1)), sorted((b * low2, b * high2))
    value = a * s + b * f
    down, up = (math.hypot(a * s - ends1[i], b * f - ends2[i]) for i in (0, 1))
    return value - down, value + up


def exact(k: np.ndarray, n: np.ndarray) -> tuple[float, float]:
    _, by, _ = share(k, n)
    hits, rows = k.sum() / by, n.sum() / by
    return (
        float(stats.beta.ppf(0.025, hits, rows - hits + 1)),
        float(stats.beta.ppf(0.975, hits + 1, rows - hits)),
    )


def first(found: Result, name: str = "models", **wanted: object) -> dict[str, Any]:
    return next(
        {**row}
        for row in found.tables[name]
        if all(row[key] == value for key, value in {"slice": None, **wanted}.items())
    )


def test_position_and_shares() -> None:
    frame = table()
    row = first(phidelta(frame, cluster="patient"))
    low, high = linear(frame, 1, 1)
    assert ends(row["delta"]) == pytest.approx(linear(frame, 1, -1))
    assert ends(row["phi"]) == pytest.approx((low - 1, high - 1))
    tp, fp, p, n = counts(frame, "a").T
    assert ends(row["sensitivity"]) == pytest.approx(exact(tp, p))
    assert ends(row["accuracy"]) == pytest.approx(exact(tp + n - fp, p + n))
    assert ends(row["precision"]) == pytest.approx(exact(tp, tp + fp))


def test_slices_are_judged_by_their_own_clusters() -> None:
    frame = table().with_columns(site=pl.Series(["x", "y"] * 100))
    row = first(phidelta(frame, cluster="patient", by="site"), slice="site=y", model="a")
    assert ends(row["delta"]) == pytest.approx(linear(frame.filter(pl.col("site") == "y"), 1, -1))


def test_another_population() -> None:
    frame = table(150)  # enough of them for the logit
    found = tune_jpt(frame, cluster="patient", prevalence="1:3", sweep=None)
    row = first(found, population="target", model="a")
    low, high = linear(frame, 0.25, -0.75)
    assert ends(row["tar"]) == pytest.approx((low + 0.75, high + 0.75))
    # logit PPV has the slopes 1/tp and -1/fp along the rates
    tp, fp, p, n = counts(frame, "a").T
    (s, by1, r1), (f, by2, r2) = share(tp, p), share(fp, n)
    parts = np.array([r1 @ r1 / s**2, r2 @ r2 / f**2])
    both = 1 - 2 * (r1 @ r2) / (s * f) / parts.sum()
    n1, n2 = p.sum() / by1 / both, n.sum() / by2 / both
    ppv = s / (s + 3 * f)
    half = Z * math.sqrt((1 - s) / (n1 * s) + (1 - f) / (n2 * f))
    centre = math.log(ppv / (1 - ppv))
    expected = [1 / (1 + math.exp(-(centre + sign * half))) for sign in (-1, 1)]
    assert ends(row["ppv"]) == pytest.approx(expected)


def test_one_patient_has_no_intervals_and_no_claims() -> None:
    frame = table(1, 80)
    for found in (
        phidelta(frame, cluster="patient", reference="a"),
        tune_jpt(frame, cluster="patient", prevalence="1:9"),
        tune_jpt(frame, cluster="patient", prevalence="1:9", interval="bootstrap", resamples=100),
    ):
        for rows in found.tables.values():
            for row in rows:
                for name, cell in row.items():
                    assert not isinstance(cell, Estimate) or cell.low is cell.high is None, name
        assert "significantly-worse" not in {one.code for one in found.answer}
        assert "few-clusters" in {note.code for note in found.warnings}


def test_clusters_unlike_in_size_tell_as_much_as_fewer() -> None:
    frame = table(30, 2)
    much = pl.concat([frame, *[frame.filter(pl.col("patient") == frame["patient"][0])] * 9])
    codes = [
        {one.code: one.message for one in phidelta(rows, cluster="patient").warnings}
        for rows in (frame, much)
    ]
    assert "few-clusters" not in codes[0]
    # 29 of 2 rows, one of 20: 78² / (29 2² + 20²) = 11.8
    assert {30, 12} <= {*numbers_in(codes[1]["few-clusters"])}
    # the same by weight: one patient of ten times 2 rows, weights of 1.1 and 11
    rows = frame.with_columns(
        w=pl.when(pl.col("patient") == frame["patient"][0]).then(11.0).otherwise(1.1)
    )
    notes = {
        one.code: one.message for one in phidelta(rows, cluster="patient", weight="w").warnings
    }
    assert 12 in numbers_in(notes["few-clusters"])
    check_text([codes[1]["few-clusters"], notes["few-clusters"]])


def test_differences_of_two_models() -> None:
    frame = table()
    found = phidelta(frame, cluster="patient", reference="b")
    row = first(found, "comparisons", model="a", measure="delta")
    plain = first(phidelta(frame.drop("patient"), reference="b"), "comparisons", model="a")
    low, high = ends(row["difference"])
    mine, theirs = counts(frame, "a"), counts(frame, "b")
    d = (mine - theirs)[:, 0] / mine[:, 2].sum() - (mine - theirs)[:, 1] / mine[:, 3].sum()
    r1 = (mine - theirs)[:, 0] - (mine - theirs)[:, 0].sum() / mine[:, 2].sum() * mine[:, 2]
    r2 = (mine - theirs)[:, 1] - (mine - theirs)[:, 1].sum() / mine[:, 3].sum() * mine[:, 3]
    spread = r1 / mine[:, 2].sum() - r2 / mine[:, 3].sum()
    se = math.sqrt(spread @ spread * 40 / 39)
    assert row["difference"].value == pytest.approx(d.sum())
    assert row["difference"].value == pytest.approx(plain["difference"].value)
    # half a row more of each class in which they differ, of 200 of them
    assert row["se"] == pytest.approx(se, rel=0.05)
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 34) * row["se"], rel=0.05)


def test_the_curve_takes_clusters() -> None:
    rng = np.random.default_rng(1)
    frame = table().with_columns(
        a=pl.Series(rng.random(200) * 0.6 + 0.3 * table()["truth"].to_numpy())
    )
    found = phidelta(frame.drop("b", "c"), cluster="patient", curve=True)
    plain = phidelta(frame.drop("b", "c", "patient"), curve=True)
    mine, other = first(found, "curves"), first(plain, "curves")
    assert mine["roc_auc"].value == pytest.approx(other["roc_auc"].value)
    assert ends(mine["roc_auc"]) != ends(other["roc_auc"])
    same = phidelta(
        frame.drop("b", "c").with_columns(patient=pl.int_range(200)), cluster="patient", curve=True
    )
    assert ends(first(same, "curves")["roc_auc"]) == pytest.approx(ends(other["roc_auc"]), abs=2e-3)


def test_the_bootstrap_draws_patients() -> None:
    frame = table()
    found = tune_jpt(frame, cluster="patient", prevalence="1:3", interval="bootstrap", sweep=None)
    x = counts(frame, "a")
    drawn = np.random.default_rng(5).multinomial(40, np.full(40, 1 / 40), size=20_000) @ x
    tar = 0.25 * drawn[:, 0] / drawn[:, 2] + 0.75 * (1 - drawn[:, 1] / drawn[:, 3])
    row = first(found, population="target", model="a")
    assert ends(row["tar"]) == pytest.approx(np.quantile(tar, [0.025, 0.975]), abs=0.012)


def test_runs_are_clustered_each_by_itself() -> None:
    frame = table().with_columns(run=pl.Series((["1"] * 100) + (["2"] * 100)))
    found = phidelta(frame, cluster="patient", run="run")
    row = next(r for r in found.tables["runs"] if (r["run"], r["model"]) == ("2", "a"))
    part = frame.filter(pl.col("run") == "2")
    assert ends(row["delta"]) == pytest.approx(linear(part, 1, -1))
