"""Models against the reference in each slice: reports of the slices alone, statsmodels, loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

import clfeval
from clfeval.result import Estimate, Result, Row
from tests.thoroughness import thinned


def frame(rows: int = 900, slices: int = 3, seed: int = 0, gain: float = 0.8) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    truth, site = rng.integers(0, 2, rows), np.arange(rows) % slices
    z = rng.normal(size=(3, rows)) + truth * np.array([[1.0], [1.2], [1.0]])
    z[1] += gain * truth * (site == 0)
    p = np.round(1 / (1 + np.exp(-z + 0.6)), 2)
    columns = {"old": p[0], "new": p[1], "other": p[2]}
    return pl.DataFrame({"truth": truth, "site": [f"s{one}" for one in site], **columns})


def found(result: Result, metric: str) -> dict[tuple[str, str], Row]:
    rows = result.tables.get("slice_comparisons", ())
    return {(str(r["slice"]), str(r["model"])): r for r in rows if r["metric"] == metric}


def said(result: Result) -> list[str]:
    return [one.text for one in result.answer if one.code == "within"]


@pytest.mark.parametrize("extra", thinned([{}, {"weight": "w"}, {"cluster": "who"}], [{}]))
def test_a_difference_is_that_of_the_slice_alone_and_p_is_holms(extra: dict[str, str]) -> None:
    rng = np.random.default_rng(4)
    table = frame().with_columns(w=rng.integers(1, 4, 900), who=rng.integers(0, 150, 900))
    table = table.select("truth", "site", "old", "new", "other", *extra.values())
    options: dict[str, Any] = {"reference": "old", "measure": ["mcc", "brier"], **extra}
    result = clfeval.report(table, by=["site"], **options)
    for metric in ("roc_auc", "mcc", "brier"):
        rows = found(result, metric)
        assert len(rows) == 6
        for label in ("s0", "s1", "s2"):
            alone = clfeval.report(table.filter(pl.col("site") == label).drop("site"), **options)
            for one in alone.tables["comparisons"]:
                if one["metric"] == metric:
                    row = rows[f"site={label}", str(one["model"])]
                    a, b = row["difference"], one["difference"]
                    assert isinstance(a, Estimate)
                    assert isinstance(b, Estimate)
                    assert [a.value, a.low, a.high] == pytest.approx([b.value, b.low, b.high])
                    assert row["p"] == pytest.approx(one["p"])
                    assert row["newly_right"] == one["newly_right"]
        p = [row["p"] for row in rows.values()]
        assert [row["p_adjusted"] for row in rows.values()] == pytest.approx(
            multipletests(p, method="holm")[1]
        )


def test_shares_are_tested_by_mcnemar() -> None:
    table = frame()
    result = clfeval.report(table, by=["site"], reference="old", measure=["accuracy"])
    for label in ("s0", "s1", "s2"):
        part = table.filter(pl.col("site") == label)
        right = {name: (part[name] >= 0.5) == (part["truth"] == 1) for name in ("old", "new")}
        both = [[((right["new"] == a) & (right["old"] == b)).sum() for b in (True, False)]
                for a in (True, False)]  # fmt: skip
        row = found(result, "accuracy")[f"site={label}", "new"]
        assert (row["newly_right"], row["newly_wrong"]) == (both[0][1], both[1][0])
        n, k = both[0][1] + both[1][0], min(both[0][1], both[1][0])
        exact = mcnemar(both, exact=True).pvalue
        from scipy.stats import binom

        assert row["p"] == pytest.approx(exact - binom.pmf(k, n, 0.5), abs=1e-9)


def test_the_sentence_counts_verdicts_of_one_model() -> None:
    result = clfeval.report(frame(gain=2.5), by=["site"], reference="old", model=["new", "old"])
    rows = found(result, "roc_auc")
    verdicts = [row["verdict"] for row in rows.values()]
    assert verdicts == ["better", "undecided", "undecided"]
    assert said(result) == [
        "Within 3 slices, by ROC AUC, new against old is better in 1: site=s0; worse in none "
        "(3 tests together, by Holm's rule)."
    ]


def test_models_that_cannot_be_told_apart_are_said_to_be_so() -> None:
    table = frame().with_columns(new=pl.col("old").reverse().over("site", "truth"))
    result = clfeval.report(table, by=["site"], reference="old", model=["new", "old"])
    assert said(result) == [
        "Within 3 slices, by ROC AUC, new cannot be told from old in any (3 tests together, by "
        "Holm's rule)."
    ]


def test_best_is_the_best_of_all_rows_and_counts_all_pairs() -> None:
    result = clfeval.report(frame(), by=["site"], reference="best")
    rows = found(result, "roc_auc")
    best = max(result.whole("models"), key=lambda row: row["roc_auc"].value)["model"]  # type: ignore
    assert {row["reference"] for row in rows.values()} == {best}
    assert len(rows) == 6
    (text,) = said(result)
    assert "(9 tests together" in text  # any two of three models, in three slices
    assert [float(str(row["p_adjusted"])) >= float(str(row["p"])) for row in rows.values()]


@pytest.mark.parametrize("options", [{}, {"reference": "all-pairs"}])
def test_without_one_reference_slices_are_not_compared(options: dict[str, str]) -> None:
    assert "slice_comparisons" not in clfeval.report(frame(), by=["site"], **options).tables


def test_small_slices_and_those_of_one_class_are_not_tested() -> None:
    table = frame().with_columns(
        site=pl.when(pl.int_range(900) < 20).then(pl.lit("few"))
        .when((pl.col("site") == "s1") & (pl.col("truth") == 1)).then(pl.lit("ill"))
        .otherwise("site")
    )  # fmt: skip
    table = table.filter(pl.col("site") != "s1")
    result = clfeval.report(table, by=["site"], reference="old", measure=["accuracy"])
    assert {label for label, _ in found(result, "roc_auc")} == {"site=s0", "site=s2"}
    assert {label for label, _ in found(result, "accuracy")} == {"site=s0", "site=s2"}


def test_the_order_of_rows_does_not_matter_and_weights_are_repeated_rows() -> None:
    table, options = frame(300), {"by": ["site"], "reference": "old", "measure": ["brier", "f1"]}
    times = np.arange(300) % 3 + 1
    one = clfeval.report(table.sample(fraction=1, shuffle=True, seed=2), **options)
    rows = table[np.repeat(np.arange(300), times)]
    for a, b in (
        (one, clfeval.report(table, **options)),
        (clfeval.report(table.with_columns(n=times), weight="n", **options),
         clfeval.report(rows, **options)),
    ):  # fmt: skip
        for metric in ("roc_auc", "brier", "f1"):
            first, second = found(a, metric), found(b, metric)
            assert [*first] == [*second]
            for key, row in first.items():
                for name in ("difference", "difference_adjusted"):
                    x, y = row[name], second[key][name]
                    assert isinstance(x, Estimate)
                    assert isinstance(y, Estimate)
                    assert [x.value, x.low, x.high] == pytest.approx([y.value, y.low, y.high], 1e-8)


def test_a_margin_judges_slices_too() -> None:
    table = frame().with_columns(new=pl.col("old"))
    result = clfeval.report(table, by=["site"], reference="old", model=["new", "old"],
                            margin={"roc_auc": 0.01})  # fmt: skip
    assert {row["verdict"] for row in found(result, "roc_auc").values()} <= {
        "equivalent", "undecided",
    }  # fmt: skip
