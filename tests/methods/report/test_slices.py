"""Slices beside the other rows: from reports of the two parts by themselves, and by hand."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import clfeval
from clfeval.inference.gaps import chances
from clfeval.inference.paired_measures import difference
from clfeval.methods.report import scores
from clfeval.result import Estimate, Result
from clfeval.views.terminal import as_text


def table(m: int = 400, slices: int = 4, seed: int = 0, worse: int | None = None) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    truth, site = rng.integers(0, 2, m), np.arange(m) % slices
    columns: dict[str, Any] = {"truth": truth, "site": [f"s{one}" for one in site]}
    for i in range(2):
        z = truth * np.where(site == worse, -0.5, 1.5 + i) + rng.normal(size=m)
        columns[f"m{i}"] = np.round(1 / (1 + np.exp(-z + 0.7)), 2)
    return pl.DataFrame(columns)


def rows(result: Result, metric: str, model: str) -> dict[str, Any]:
    found = result.tables["slices"]
    return {str(r["slice"]): r for r in found if (r["metric"], r["model"]) == (metric, model)}


def gap(row: Any) -> Estimate:
    found = row["gap"]
    assert isinstance(found, Estimate)
    return found


def ends(result: Result, metric: str, model: str) -> tuple[float, float, float]:
    found = next(
        r["value"] for r in result.tables["metrics"]
        if (r["metric"], r["model"]) == (metric, model) and r["slice"] is None
        and r["estimator"] in ("binary", "multiclass", "macro")
    )  # fmt: skip
    assert isinstance(found, Estimate)
    assert None not in (found.value, found.low, found.high)
    return found.value, found.low, found.high  # type: ignore[return-value]


def from_parts(x: tuple[float, ...], y: tuple[float, ...], rho: float = 0.0) -> list[float]:
    """Zou and Donner's limits of x - y, written out."""
    reach = [
        sqrt(a * a + b * b - 2 * rho * a * b)
        for a, b in ((x[0] - x[1], y[2] - y[0]), (x[2] - x[0], y[0] - y[1]))
    ]
    d = x[0] - y[0]
    return [d, d - reach[0], d + reach[1]]


def parts(frame: pl.DataFrame, label: str, **options: Any) -> list[Result]:
    """Reports of a slice, and of the other rows, by themselves."""
    return [
        clfeval.report(frame.filter(which).drop("site"), **options)
        for which in (pl.col("site") == label, pl.col("site") != label)
    ]


SCORED = ("roc_auc", "brier", "net_benefit", "sensitivity", "mcc", "f1", "log_loss", "ece")


@pytest.mark.parametrize("weights", [None, "count", "fraction"])
def test_a_gap_is_that_of_two_reports(weights: str | None) -> None:
    frame, options = table(300, 3), {"positive": "1", "measure": ["log_loss", "ece"]}
    if weights:
        w = np.random.default_rng(3).integers(1, 4, 300)
        frame = frame.with_columns(w=w if weights == "count" else w + 0.5)
        options["weight"] = "w"
    found = clfeval.report(frame, by=["site"], **options)
    for label in ("s0", "s2"):
        one, other = parts(frame, label, **options)
        for metric in SCORED:
            row = rows(found, metric, "m1")[f"site={label}"]
            if metric == "ece":  # resampled by names that are not those of the parts
                values = [ends(x, metric, "m1")[0] for x in (one, other)]
                assert gap(row).value == pytest.approx(values[0] - values[1], abs=1e-12)
                continue
            expected = from_parts(*(ends(x, metric, "m1") for x in (one, other)))
            assert [gap(row).value, gap(row).low, gap(row).high] == pytest.approx(
                expected, abs=1e-9
            ), metric


def test_newcombe_has_this_difference_of_shares() -> None:
    """Newcombe 1998, example (a): 56 of 70 less 48 of 80 is .2, method 10: .0524 to .3339."""
    counts = pl.DataFrame({
        "model": ["m", "m"], "site": ["x", "y"], "tp": [56, 48], "fn": [14, 32], "fp": [10, 10],
        "tn": [90, 90],
    })  # fmt: skip
    found = rows(clfeval.report(counts, by=["site"], interval="wilson"), "sensitivity", "m")
    one = gap(found["site=x"])
    assert one.value == pytest.approx(0.2)
    assert [one.low, one.high] == pytest.approx([0.0524, 0.3339], abs=5e-5)
    assert found["site=x"]["rows"] == 70 + 100
    assert gap(found["site=y"]).value == pytest.approx(-0.2)


def test_several_classes_have_the_gaps_of_two_reports() -> None:
    rng = np.random.default_rng(5)
    truth = np.array([*"abc"])[rng.integers(0, 3, 360)]
    said = np.where(rng.random(360) < 0.7, truth, np.array([*"abc"])[rng.integers(0, 3, 360)])
    p = rng.dirichlet([1, 1, 1], 360)
    p[np.arange(360), ["abc".index(one) for one in truth]] += 0.5
    shares = {f"prob_{c}": p[:, k] / p.sum(axis=1) for k, c in enumerate("abc")}
    site = [f"s{one % 3}" for one in range(360)]
    for frame, model, metrics in (
        (pl.DataFrame({"truth": truth, "m": said, "site": site}), "m",
         ("balanced_accuracy", "mcc", "accuracy")),
        (pl.DataFrame({"truth": truth, **shares, "site": site}), "prob", ("roc_auc", "brier")),
    ):  # fmt: skip
        found = clfeval.report(frame, by=["site"])
        one, other = parts(frame, "s1")
        for metric in metrics:
            row = rows(found, metric, model)["site=s1"]
            expected = from_parts(*(ends(x, metric, model) for x in (one, other)))
            assert [gap(row).value, gap(row).low, gap(row).high] == pytest.approx(
                expected, abs=1e-9
            ), metric


def test_clusters_in_both_parts_go_together() -> None:
    """rho = sum F G / sqrt(sum F² sum G²) over patients, F and G sums of f over their rows."""
    rng = np.random.default_rng(7)
    who = rng.integers(0, 60, 600)
    easy = rng.normal(size=60)[who]
    truth = rng.integers(0, 2, 600)
    right = rng.random(600) < 1 / (1 + np.exp(-easy - 1))
    p = np.round(np.clip(np.where(right, truth, 1 - truth) * 0.6 + 0.4 * rng.random(600), 0, 1), 2)
    site = np.where(rng.random(600) < 0.4, "x", "y")
    frame = pl.DataFrame({"truth": truth, "m": p, "site": site, "patient": who})
    options: dict[str, Any] = {"positive": "1", "cluster": "patient"}
    found = clfeval.report(frame, by=["site"], **options)
    one, other = parts(frame, "x", **options)
    says = (p >= 0.5).astype(int)
    for metric, each in (
        ("accuracy", (says == truth).astype(float)),
        ("brier", (p - truth) ** 2),
    ):
        sums = []
        for part in ("x", "y"):
            mine = site == part
            f = np.where(mine, each - each[mine].mean(), 0.0)
            sums.append(np.array([f[who == c].sum() for c in range(60)]))
        rho = (sums[0] @ sums[1]) / sqrt((sums[0] @ sums[0]) * (sums[1] @ sums[1]))
        assert rho > 0.1
        row = rows(found, metric, "m")["site=x"]
        expected = from_parts(*(ends(x, metric, "m") for x in (one, other)), rho)
        assert [gap(row).value, gap(row).low, gap(row).high] == pytest.approx(expected, abs=1e-6)


def test_q_is_benjamini_and_hochbergs_over_the_slices_judged() -> None:
    found = clfeval.report(table(600, 6, worse=2), positive="1", by=["site"])
    for metric in ("roc_auc", "brier", "sensitivity"):
        each = [row for row in rows(found, metric, "m0").values() if row["shown"]]
        assert len(each) == 6
        _, q, *_ = multipletests([row["p"] for row in each], method="fdr_bh")
        assert [row["q"] for row in each] == pytest.approx(q.tolist())
        for row in each:
            low, high = gap(row).low, gap(row).high
            assert low is not None
            assert high is not None
            assert (row["p"] < 0.05) == (not low <= 0 <= high)


def test_p_is_that_of_the_limit_towards_zero() -> None:
    """d = 2, limits 1 to 4 at 95 %: z = 2 x 1.959964 / 1; of t with 5, 2 x 2.570582 / 1."""
    d, low, high = (np.array([one]) for one in (2.0, 1.0, 4.0))
    normal = chances(d, low, high, np.inf, level=0.95)
    assert normal == pytest.approx([2 * stats.norm.sf(2 * stats.norm.ppf(0.975))])
    student = chances(-d, -high, -low, 5, level=0.95)
    assert student == pytest.approx([2 * stats.t.sf(2 * stats.t.ppf(0.975, 5), 5)])
    assert chances([0.0], [-1.0], [1.0], 5, level=0.95) == [1]
    assert np.isnan(chances([0.1], [np.nan], [1.0], 5, level=0.95)).all()


def test_correlated_limits_are_narrower() -> None:
    """a = b = 3, rho = .5: sqrt(9 + 9 - 9) = 3; rho = -1: 6."""
    x, y = np.array([[5.0], [2.0], [8.0]]), np.array([[1.0], [-2.0], [4.0]])
    assert np.ravel(difference(*x, *y, 0.5)) == pytest.approx([4, 1, 7], rel=1e-12)
    assert np.ravel(difference(*x, *y, -1.0)) == pytest.approx([4, -2, 10], rel=1e-12)


def test_the_worst_stands_first_and_is_said() -> None:
    found = clfeval.report(table(600, 4, worse=2), positive="1", by=["site"])
    for metric, sign in (("roc_auc", 1), ("brier", -1)):
        gaps = [sign * (gap(row).value or 0.0) for row in rows(found, metric, "m1").values()]
        assert gaps == sorted(gaps)
    said = next(one for one in found.answer if one.code == "slices")
    assert "is worse in site=s2 than outside: ROC AUC less by" in said.text
    (top,) = [row for row in rows(found, "roc_auc", said.models[0]).values()
              if row["slice"] == "site=s2"]  # fmt: skip
    assert (said.value, said.low, said.high) == (gap(top).value, gap(top).low, gap(top).high)


def test_small_slices_are_counted_and_not_judged() -> None:
    """29 rows, and 4 of a class of 40, are too few; a class without rows has no AUC."""
    sizes = {"a": (15, 14), "b": (4, 36), "c": (0, 35), "d": (40, 40), "e": (30, 30)}
    rng = np.random.default_rng(1)
    lines = [(1, k) for k, (p, _) in sizes.items() for _ in range(p)]
    lines += [(0, k) for k, (_, n) in sizes.items() for _ in range(n)]
    frame = pl.DataFrame(
        {"truth": [y for y, _ in lines], "site": [k for _, k in lines],
         "m": np.round(rng.random(len(lines)), 2)}
    )  # fmt: skip
    found = clfeval.report(frame, positive="1", by=["site"])
    mine = rows(found, "roc_auc", "m")
    assert {name: row["shown"] for name, row in mine.items()} == {
        "site=a": False, "site=b": False, "site=c": False, "site=d": True, "site=e": True,
    }  # fmt: skip
    assert all((row["q"] is None) == (not row["shown"]) for row in mine.values())
    assert [mine[f"site={k}"]["rows"] for k in sizes] == [29, 40, 35, 80, 60]
    assert gap(mine["site=c"]).value is None
    (ends_,) = [row for row in found.tables["extremes"] if row["metric"] == "roc_auc"]
    assert ends_["slices"] == 2


def test_one_slice_has_no_other_rows() -> None:
    found = clfeval.report(table(100, 1), positive="1", by=["site"])
    (row,) = rows(found, "roc_auc", "m1").values()
    assert gap(row) == Estimate(None, reason="single_class")
    assert (row["q"], row["shown"]) == (None, False)
    said = next(one for one in found.answer if one.code == "slices")
    assert said.text.startswith("No slice can be judged by ROC AUC")
    assert "extremes" not in found.tables


def test_forty_slices_show_fifteen() -> None:
    found = clfeval.report(table(2000, 40), positive="1", by=["site"])
    text = as_text(found, width=90)
    block = text.split("the worst first")[1].split("gap: less the value")[0]
    assert block.count("site=s") == 15
    assert len(rows(found, "roc_auc", "m0")) == 40


def test_the_largest_less_the_smallest_holds_for_any_two() -> None:
    """Of 5 slices there are 10 pairs: 1 - .05 / 10 = .995, each reach as much wider as z is."""
    found = clfeval.report(table(1000, 5), positive="1", by=["site"])
    for metric in ("specificity", "sensitivity"):
        values = {
            name: row["value"] for name, row in rows(found, metric, "m0").items()
        }  # fmt: skip
        (row,) = [r for r in found.tables["extremes"]
                  if (r["metric"], r["model"]) == (metric, "m0")]  # fmt: skip
        top, last = (pick(values, key=lambda name: values[name].value) for pick in (max, min))
        assert (row["largest"], row["smallest"], row["slices"]) == (top, last, 5)
        x, y = ((values[k].value, values[k].low, values[k].high) for k in (top, last))
        d, low, high = from_parts(x, y)
        wider = stats.norm.ppf(1 - 0.005 / 2) / stats.norm.ppf(0.975)
        assert [gap(row).value, gap(row).low, gap(row).high] == pytest.approx(
            [d, d - wider * (d - low), d + wider * (high - d)]
        )


@pytest.mark.parametrize("seed", range(12))
def test_what_is_said_is_never_more_than_q_bears(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = table(int(rng.integers(60, 500)), int(rng.integers(1, 7)), seed,
                  worse=[None, 0, 1][seed % 3])  # fmt: skip
    found = clfeval.report(frame, positive="1", by=["site"])
    (said,) = [one for one in found.answer if one.code == "slices"]
    each = rows(found, "roc_auc", said.models[0])
    worse = {
        name for name, row in each.items()
        if row["q"] is not None and row["q"] < 0.05 and (gap(row).high or 0.0) < 0
    }  # fmt: skip
    named = {name for name in each if f"{name} " in said.text or f"{name}," in said.text}
    assert named <= worse
    assert bool(worse) == ("is worse in" in said.text)


def test_what_no_screen_shows_of_slices_is_made_when_somebody_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = list[str]()
    made = scores._in_slices

    def heard(*given: Any) -> Any:
        asked.append(given[3])
        return made(*given)

    monkeypatch.setattr(scores, "_in_slices", heard)
    data = table()
    found = clfeval.report(data, by="site")
    as_text(found, width=100)
    assert asked == []
    mine = data.filter(pl.col("site") == "s1").drop("site")
    alone = clfeval.report(mine)
    for name in ("metrics", "models", "calibration", "decision", "curves", "distribution"):
        known = found.tables[name]
        here = [{**row, "slice": None} for row in known if row["slice"] == "site=s1"]
        assert [row["slice"] for row in known[: len(alone.tables[name])]] == [None] * len(here)
        for one, other in zip(here, alone.tables[name], strict=True):
            assert {**one, "may_be_best": 0} == {**other, "may_be_best": 0}
    assert sorted(asked) == ["m0", "m1"]  # once, for all tables
