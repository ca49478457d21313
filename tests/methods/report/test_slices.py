"""Slices and the other rows: from reports of the two parts by themselves, and by hand."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from clfeval.methods.report import scores
from clfeval.methods.report.slice_answer import SliceModels, slice_answer
from clfeval.pages.intervals import leading_models
from clfeval.pages.report.requested_tables import slice_models
from clfeval.pages.schema import comparison_rows
from clfeval.views.terminal import as_text
from tests.results import (
    Line,
    answers_of,
    estimate_of,
    limits_of,
    row_of,
    rows_by,
    rows_of,
    value_and_limits,
    value_of,
)
from tests.samples import informed_scores, logistic
from tests.texts import check_text, numbers_in

JUDGED = ("roc_auc", "oe_ratio", "sensitivity", "specificity")


def two_models_at_sites(
    m: int = 400, slices: int = 4, seed: int = 0, worse: int | None = None
) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    truth, site = rng.integers(0, 2, m), np.arange(m) % slices
    columns: dict[str, Any] = {"truth": truth, "site": [f"s{one}" for one in site]}
    for i in range(2):
        z = truth * np.where(site == worse, -0.5, 1.5 + i) + rng.normal(size=m)
        columns[f"m{i}"] = logistic(z - 0.7, 2)
    return pl.DataFrame(columns)


def slice_differences(result: Result, metric: str, model: str) -> dict[str, Line]:
    """Return the rows that compare each slice with the other rows, by slice."""
    rows = rows_by(result, "comparisons", "slice", against="slice", measure=metric, model=model)
    assert None not in rows
    return rows


def interval_of(result: Result, metric: str, model: str) -> tuple[float, float, float]:
    """Return value and limits of a measure of all rows, of which none is undefined."""
    (cell,) = (
        row["value"]
        for row in rows_of(result, "measures", measure=metric, model=model, slice=None)
        if row["estimator"] in ("binary", "multiclass", "macro")
    )
    return value_of(cell), *limits_of(cell)


def from_parts(
    x: tuple[float, ...], y: tuple[float, ...], rho: float = 0.0
) -> tuple[float, float, float]:
    """Zou and Donner's limits of x - y, written out."""
    reach = [
        sqrt(a * a + b * b - 2 * rho * a * b)
        for a, b in ((x[0] - x[1], y[2] - y[0]), (x[2] - x[0], y[0] - y[1]))
    ]
    d = x[0] - y[0]
    return d, d - reach[0], d + reach[1]


def parts(frame: pl.DataFrame, label: str, **options: Any) -> list[Result]:
    """Reports of a slice, and of the other rows, by themselves."""
    return [
        clfeval.report(frame.filter(which).drop("site"), **options)
        for which in (pl.col("site") == label, pl.col("site") != label)
    ]


@pytest.mark.parametrize("weights", [None, "count", "fraction"])
def test_a_change_is_that_of_two_reports(weights: str | None) -> None:
    frame = two_models_at_sites(300, 3)
    options = {"positive": "1", "measure": ["log_loss", "brier", "mcc"]}
    if weights:
        w = np.random.default_rng(3).integers(1, 4, 300)
        frame = frame.with_columns(w=w if weights == "count" else w + 0.5)
        options["weight"] = "w"
    result = clfeval.report(frame, by=["site"], **options)
    for label in ("s0", "s2"):
        one, other = parts(frame, label, **options)
        for metric in (*JUDGED, "log_loss", "brier", "mcc"):
            row = slice_differences(result, metric, "m1")[f"site={label}"]
            expected = from_parts(*(interval_of(x, metric, "m1") for x in (one, other)))
            assert value_and_limits(row["difference"]) == pytest.approx(expected, abs=1e-9), metric


def test_newcombe_has_this_difference_of_shares() -> None:
    """Newcombe 1998, example (a): 56 of 70 less 48 of 80 is .2, method 10: .0524 to .3339."""
    counts = pl.DataFrame(
        {
            "model": ["m", "m"],
            "site": ["x", "y"],
            "tp": [56, 48],
            "fn": [14, 32],
            "fp": [10, 10],
            "tn": [90, 90],
        }
    )
    result = clfeval.report(counts, by=["site"], interval="wilson")
    rows = slice_differences(result, "sensitivity", "m")
    difference = value_and_limits(rows["site=x"]["difference"])
    assert difference == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert value_of(rows["site=y"]["difference"]) == pytest.approx(-0.2)
    row = row_of(result, "slices", slice="site=x")
    assert (row["rows"], row["positives"]) == (170, 70)


def test_several_classes_have_the_changes_of_two_reports() -> None:
    rng = np.random.default_rng(5)
    truth = np.array([*"abc"])[rng.integers(0, 3, 360)]
    said = np.where(rng.random(360) < 0.7, truth, np.array([*"abc"])[rng.integers(0, 3, 360)])
    p = rng.dirichlet([1, 1, 1], 360)
    p[np.arange(360), ["abc".index(one) for one in truth]] += 0.5
    shares = {f"prob_{c}": p[:, k] / p.sum(axis=1) for k, c in enumerate("abc")}
    site = [f"s{one % 3}" for one in range(360)]
    for frame, model, metrics in (
        (pl.DataFrame({"truth": truth, "m": said, "site": site}), "m", ("accuracy", "mcc")),
        (
            pl.DataFrame({"truth": truth, **shares, "site": site}),
            "prob",
            ("accuracy", "roc_auc", "overconfidence"),
        ),
    ):
        result = clfeval.report(frame, by=["site"], measure=["mcc"])
        one, other = parts(frame, "s1", measure=["mcc"])
        for metric in metrics:
            row = slice_differences(result, metric, model)["site=s1"]
            expected = from_parts(*(interval_of(x, metric, model) for x in (one, other)))
            assert value_and_limits(row["difference"]) == pytest.approx(expected, abs=1e-9), metric


def test_clusters_in_both_parts_go_together() -> None:
    """rho = sum F G / sqrt(sum F² sum G²) over patients, F and G sums of f over their rows."""
    rng = np.random.default_rng(7)
    who = rng.integers(0, 60, 600)
    easy = rng.normal(size=60)[who]
    truth = rng.integers(0, 2, 600)
    right = rng.random(600) < logistic(easy + 1)
    p = informed_scores(rng, np.where(right, truth, 1 - truth), 0.6, 2)
    site = np.where(rng.random(600) < 0.4, "x", "y")
    frame = pl.DataFrame({"truth": truth, "m": p, "site": site, "patient": who})
    options: dict[str, Any] = {
        "positive": "1",
        "cluster": "patient",
        "measure": ["accuracy", "brier"],
    }
    result = clfeval.report(frame, by=["site"], **options)
    one, other = parts(frame, "x", **options)
    says = (p >= 0.5).astype(int)
    for metric, each in (("accuracy", (says == truth).astype(float)), ("brier", (p - truth) ** 2)):
        sums = []
        for part in ("x", "y"):
            mine = site == part
            f = np.where(mine, each - each[mine].mean(), 0.0)
            sums.append(np.array([f[who == c].sum() for c in range(60)]))
        rho = (sums[0] @ sums[1]) / sqrt((sums[0] @ sums[0]) * (sums[1] @ sums[1]))
        assert rho > 0.1
        row = slice_differences(result, metric, "m")["site=x"]
        expected = from_parts(*(interval_of(x, metric, "m") for x in (one, other)), rho)
        assert value_and_limits(row["difference"]) == pytest.approx(expected, abs=1e-6)


def test_one_family_has_all_tested_models_slices_and_measures() -> None:
    result = clfeval.report(
        two_models_at_sites(600, 6), positive="1", by=["site"], model=["m0", "m1"]
    )
    rows = [
        row
        for model in ("m0", "m1")
        for name in JUDGED
        for row in slice_differences(result, name, model).values()
    ]
    assert len(rows) == 48
    q = stats.false_discovery_control([row["p"] for row in rows])
    assert [row["p_adjusted"] for row in rows] == pytest.approx(q.tolist())
    for row in rows:
        low, high = limits_of(row["difference"])
        assert (row["p"] < 0.05) == (not low <= 0 <= high)


def test_the_family_of_others_is_without_what_is_named() -> None:
    """Named slices leave with their q; the others are a family of their own."""
    result = clfeval.report(sites(1500, 4, shift={"b": 1.6}, flip={}), by=["site"])
    rows = [row for name in JUDGED for row in slice_differences(result, name, "m").values()]
    others = [row for row in rows if row["slice"] != "site=b"]
    assert len(others) == 12
    q = stats.false_discovery_control([row["p"] for row in others])
    assert [row["p_adjusted"] for row in others] == pytest.approx(q.tolist())


def tied(seed: int = 6, rows: int = 1200) -> pl.DataFrame:
    """Three tied models, of which `lr` reads too high at one of four sites."""
    rng = np.random.default_rng(seed)
    truth, site = rng.random(rows) < 0.3, np.arange(rows) % 4
    columns: dict[str, Any] = {"truth": truth * 1, "site": [[*"abcd"][k] for k in site]}
    for name in ("simple", "lr", "rf"):
        z = 1.5 * (rng.normal(size=rows) + 1.5 * truth) - 1.97
        z[(site == 0) & (name == "lr")] += 1.5
        columns[name] = logistic(z)
    return pl.DataFrame(columns)


def test_a_harm_of_a_tied_model_is_named_and_no_model_is_cleared_with_it() -> None:
    result = clfeval.report(tied(), positive="1", by=["site"])
    models = rows_by(result, "models", "model", slice=None)
    assert {name: row["tied"] for name, row in models.items()} == {
        "simple": True,
        "lr": True,
        "rf": True,
    }
    (answer,) = answers_of(result, "slices")
    assert answer.models == ("lr",)
    check_text(answer.text)
    assert result.tables["slices"][0]["slice"] == "site=a"
    assert result.tables["slices"][0]["model"] == "lr"
    assert "site=a" in as_text(result, width=100).split("Slices", 1)[1].split("\n\n")[0]


def test_a_model_that_is_not_tested_has_no_q_and_is_not_cleared() -> None:
    frame = tied().with_columns(bad=pl.col("simple").shuffle(seed=1), lr=pl.col("rf") * 0.999)
    result = clfeval.report(frame, positive="1", by=["site"])
    (answer,) = answers_of(result, "slices")
    assert "bad" not in answer.models
    assert "bad" not in answer.text
    assert {row["q"] for row in rows_of(result, "slices", model="bad")} == {None}
    rows = comparison_rows(result, "slice", within_slices=True)
    assert {row["verdict"] for row in rows if row["model"] == "bad"} == {"undecided"}
    assert "not tested: bad; for a test, call model=NAME" in " ".join(as_text(result).split())


def test_with_a_reference_the_candidate_comes_first_and_the_reference_next() -> None:
    result = clfeval.report(tied(), positive="1", by=["site"], reference="rf")
    models = rows_by(result, "models", "model", slice=None)
    candidate = max(("simple", "lr"), key=lambda name: value_of(models[name]["roc_auc"]))
    assert slice_models(result) == [candidate, "rf"]
    assert leading_models(result, 4)[:2] == [candidate, "rf"]


def test_drops_that_are_not_excluded_are_inside_bonferroni_limits() -> None:
    """Limits of the difference, each as much farther as z at 1 - .05 / tests is than at .95."""
    result = clfeval.report(
        two_models_at_sites(600, 4, seed=3), positive="1", by=["site"], model=["m0", "m1"]
    )
    rows = [
        row for row in comparison_rows(result, "slice", within_slices=True) if row["p"] is not None
    ]
    assert not [row for row in rows if row["verdict"] in ("worse", "changed")]
    drops = []
    for row in rows:
        if row["measure"] in ("sensitivity", "specificity"):
            d = value_of(row["difference"])
            low, _ = limits_of(row["difference"])
            wider = stats.norm.ppf(1 - 0.025 / len(rows)) / stats.norm.ppf(0.975)
            drop = wider * (d - low) - d
            assert estimate_of(row["difference_adjusted"]).low == pytest.approx(-drop)
            drops.append(drop)
    (answer,) = answers_of(result, "slices")
    check_text(answer.text)
    assert round(max(drops), 3) in numbers_in(answer.text)


def digits(rows: int = 1200, lost: float = 0.1) -> pl.DataFrame:
    """Labels of four classes at three sites; at site b one model hardly detects class c2."""
    rng = np.random.default_rng(11)
    truth, site = rng.integers(0, 4, rows), np.arange(rows) % 3
    columns: dict[str, Any] = {
        "truth": [f"c{k}" for k in truth],
        "site": [[*"abc"][k] for k in site],
    }
    for name in ("net", "tree"):
        recall = np.where((name == "tree") & (site == 1) & (truth == 2), lost, 0.85)
        said = np.where(rng.random(rows) < recall, truth, (truth + rng.integers(1, 4, rows)) % 4)
        columns[name] = [f"c{k}" for k in said]
    return pl.DataFrame(columns)


def test_a_class_that_is_not_detected_in_a_slice_is_named() -> None:
    frame = digits()
    result = clfeval.report(frame, truth="truth", by=["site"], model=["net", "tree"])
    (answer,) = answers_of(result, "slices")
    assert answer.models == ("tree",)
    assert answer.measure == "recall:class=c2"
    check_text(answer.text)
    row = slice_differences(result, "recall:class=c2", "tree")["site=b"]
    mine = frame.filter(pl.col("truth") == "c2")
    hits = mine.select(pl.col("site") == "b", hit=pl.col("tree") == "c2")
    inside, outside = (hits.filter(pl.col("site") == here)["hit"].mean() for here in (True, False))
    assert value_of(row["difference"]) == pytest.approx(inside - outside)  # type: ignore[operator]
    assert "c2" in as_text(result, width=100).split("recall ▼", 1)[1].split("\n\n")[0]


def test_a_class_with_few_rows_in_a_slice_is_not_tested() -> None:
    frame = digits()
    rare = (pl.col("truth") == "c3") & (pl.col("site") == "a")
    kept = frame.filter(~rare | (rare.cast(pl.Int64).cum_sum() <= 4))
    result = clfeval.report(kept, truth="truth", by=["site"], model=["net", "tree"])
    assert sorted(slice_differences(result, "recall:class=c3", "net")) == ["site=b", "site=c"]
    assert sorted(slice_differences(result, "recall:class=c1", "net")) == [
        "site=a",
        "site=b",
        "site=c",
    ]


def test_at_most_three_harms_have_values_and_the_table_lists_all() -> None:
    result = clfeval.report(
        two_models_at_sites(3000, 10, seed=5).with_columns(
            m0=pl.when(pl.int_range(3000) % 2 == 0).then(1 - pl.col("m0")).otherwise("m0")
        ),
        positive="1",
        by=["site"],
        model=["m0"],
    )
    (answer,) = answers_of(result, "slices")
    check_text(answer.text)
    worse = [row["slice"] for row in result.tables["slices"] if row["worse"]]
    assert len(worse) == 5
    named = [name for name in worse if f"In {name}, " in answer.text]
    assert 1 <= len(named) <= 3
    assert (
        f"Another {5 - len(named)} slices of m0 are significantly worse, listed below"
        in answer.text
    )
    shown = as_text(result, width=100).split("Slices of m0", 1)[1].split("\n\n")[0]
    assert all(str(name) in shown for name in worse)


def sites(n: int, seed: int, *, shift: dict[str, float], flip: dict[str, float]) -> pl.DataFrame:
    """Calibrated scores at four sites; at some the log odds are shifted, or labels flipped."""
    rng = np.random.default_rng(seed)
    site = np.repeat([*"abcd"], n)
    x = rng.normal(0, 1.5, 4 * n)
    y = rng.random(4 * n) < logistic(x)
    x += np.vectorize(lambda one: shift.get(one, 0.0))(site)
    y ^= rng.random(4 * n) < np.vectorize(lambda one: flip.get(one, 0.0))(site)
    return pl.DataFrame({"truth": y.astype(int), "site": site, "m": logistic(x)})


def test_a_slice_is_named_by_what_is_worse_and_by_what_is_not() -> None:
    result = clfeval.report(sites(2000, 3, shift={"b": 1.0}, flip={}), by=["site"])
    (answer,) = answers_of(result, "slices")
    assert "site=b" in answer.text
    check_text(answer.text)
    assert not any(f"site={one}" in answer.text for one in "acd")
    first = rows_of(result, "slices")[0]
    assert first["slice"] == "site=b"
    assert set(first["worse"]) == {"oe_ratio", "specificity"}
    text = as_text(result, width=100)
    assert text.count("▼") >= 2
    predicted = first["positives"] / first["rows"] / value_of(first["oe_ratio"])
    assert round(predicted, 3) in numbers_in(answer.text)


def test_slices_that_are_named_are_left_out_of_the_rest_of_others() -> None:
    """Site b is far off and makes c, which is off by less, look good beside all other rows."""
    frame = sites(1500, 4, shift={"b": 1.6, "c": 0.5}, flip={})
    result = clfeval.report(frame, by=["site"], measure=["oe_ratio"])
    row = slice_differences(result, "oe_ratio", "m")["site=c"]
    assert row["verdict"] == "worse"
    without = frame.filter(pl.col("site") != "b")
    one, other = parts(without, "c")
    expected = from_parts(*(interval_of(x, "oe_ratio", "m") for x in (one, other)))
    assert value_and_limits(row["difference"]) == pytest.approx(expected, abs=1e-9)
    assert log(value_of(row["new"])) < log(value_of(row["old"])) < 0.1


def test_slices_need_rows_by_measure() -> None:
    """Sensitivity 5 positives, specificity 5 negatives, the area both, O:E 30 rows."""
    sizes = {"a": (4, 40), "b": (40, 4), "c": (14, 15), "d": (60, 60)}
    rng = np.random.default_rng(1)
    lines = [(1, k) for k, (p, _) in sizes.items() for _ in range(p)]
    lines += [(0, k) for k, (_, n) in sizes.items() for _ in range(n)]
    frame = pl.DataFrame(
        {
            "truth": [y for y, _ in lines],
            "site": [k for _, k in lines],
            "m": np.round(rng.random(len(lines)), 2),
        }
    )
    result = clfeval.report(frame, positive="1", by=["site"])
    judged = {
        name: [
            k for k in "abcd" if slice_differences(result, name, "m")[f"site={k}"]["p"] is not None
        ]
        for name in JUDGED
    }
    assert judged == {
        "sensitivity": [*"bcd"],
        "specificity": [*"acd"],
        "roc_auc": [*"cd"],
        "oe_ratio": [*"abd"],
    }


@pytest.mark.parametrize("truth", [0, 1])
def test_o_e_of_a_slice_of_one_class_has_exact_limits(truth: int) -> None:
    """None, or all, of 100 rows are positive: 0 of n is .025, so the share is 1 - .025**(1/n)."""
    alone = pl.DataFrame({"truth": [truth] * 100, "site": ["e"] * 100, "m": [0.3] * 100})
    frame = pl.concat([sites(500, 3, shift={}, flip={}), alone])
    result = clfeval.report(frame, positive="1", by=["site"])
    row = row_of(result, "slices", slice="site=e")
    least = 0.025 ** (1 / 100)
    limits = (least / 0.3, 1 / 0.3) if truth else (0, (1 - least) / 0.3)
    assert limits_of(row["oe_ratio"]) == pytest.approx(limits)
    assert "oe_ratio" in row["worse"]


def test_one_slice_has_no_other_rows() -> None:
    result = clfeval.report(two_models_at_sites(100, 1), positive="1", by=["site"])
    (row,) = slice_differences(result, "roc_auc", "m1").values()
    assert row["difference"] == Estimate(None, reason="single_class")
    answer = answers_of(result, "slices")[0]
    check_text(answer.text)
    assert "extremes" not in result.tables


def test_the_largest_less_the_smallest_holds_for_any_two() -> None:
    """Of 5 slices there are 10 pairs: 1 - .05 / 10 = .995, each reach as much wider as z is."""
    result = clfeval.report(two_models_at_sites(1000, 5), positive="1", by=["site"])
    for metric in ("specificity", "sensitivity"):
        rows = rows_by(result, "slices", "slice", model="m0")
        values = {label: value_of(row[metric]) for label, row in rows.items()}
        row = row_of(result, "extremes", measure=metric, model="m0")
        top, last = (pick(values, key=values.__getitem__) for pick in (max, min))
        assert (row["largest"], row["smallest"], row["slices"]) == (top, last, 5)
        x, y = ((values[k], *limits_of(rows[k][metric])) for k in (top, last))
        d, low, high = from_parts(x, y)
        wider = stats.norm.ppf(1 - 0.005 / 2) / stats.norm.ppf(0.975)
        assert value_and_limits(row["gap"]) == pytest.approx(
            (d, d - wider * (d - low), d + wider * (high - d))
        )


@pytest.mark.parametrize("seed", range(12))
def test_what_is_said_is_what_the_table_marks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = two_models_at_sites(
        int(rng.integers(60, 500)), int(rng.integers(1, 7)), seed, worse=[None, 0, 1][seed % 3]
    )
    result = clfeval.report(frame, positive="1", by=["site"])
    answer = answers_of(result, "slices")[0]
    worse = [row["slice"] for row in result.tables["slices"] if row["worse"]]
    assert all(str(name) in answer.text for name in worse[:3])
    for row in comparison_rows(result, "slice", within_slices=True):
        if row["verdict"] == "worse":
            assert row["p_adjusted"] < 0.05  # type: ignore[operator]


def test_what_no_screen_shows_of_slices_is_made_when_somebody_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = list[str]()
    made = scores._in_slices

    def heard(*given: Any) -> Any:
        asked.append(given[3])
        return made(*given)

    monkeypatch.setattr(scores, "_in_slices", heard)
    data = two_models_at_sites()
    result = clfeval.report(data, by="site")
    as_text(result, width=100)
    assert asked == []
    mine = data.filter(pl.col("site") == "s1").drop("site")
    alone = clfeval.report(mine)
    for name in ("measures", "models", "calibration", "decision", "curves", "distribution"):
        known = result.tables[name]
        here = [{**row, "slice": None} for row in known if row["slice"] == "site=s1"]
        assert [row["slice"] for row in known[: len(alone.tables[name])]] == [None] * len(here)
        for one, other in zip(here, alone.tables[name], strict=True):
            without = {"tied": 0, "well_calibrated": None}  # of the whole table only
            assert {**one, **without} == {**other, **without}
    assert sorted(asked) == ["m0", "m1"]  # once, for all tables


def test_a_significant_change_without_a_direction_is_never_called_no_difference() -> None:
    """O:E 1.2 inside and 0.87 outside: both are wrong, and they differ."""
    size = {"model": "m", "slice": "site=east", "rows": 100, "positives": 48}
    oe = {"measure": "oe_ratio", "new": Estimate(1.2), "old": Estimate(0.87), "p_adjusted": 0.04}
    auc = {"measure": "roc_auc", "new": Estimate(0.9), "old": Estimate(0.91), "p_adjusted": 0.8}
    both = [
        {"model": "m", "slice": "site=east", **oe, "verdict": "changed"},
        {"model": "m", "slice": "site=east", **auc, "verdict": "undecided"},
    ]
    (answer,) = slice_answer([size], both, SliceModels(["m"], every=True), 0.95)
    assert (answer.measure, answer.value) == ("oe_ratio", 1.2)
    # 48 of 100 observed; 0.48 / 1.2 predicted
    assert {0.4, 0.48, 1.2, 0.87, 0.04} <= {*numbers_in(answer.text)}
    check_text(answer.text)
