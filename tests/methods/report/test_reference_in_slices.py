"""Models compared with the reference in each slice: reports of the slices alone, statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.multitest import multipletests

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Row
from tests.results import rows_by, rows_of, value_and_limits, value_of
from tests.samples import logistic
from tests.texts import check_text
from tests.thoroughness import thinned


def three_models(
    rows: int = 900, slices: int = 3, seed: int = 0, gain: float = 0.8
) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    truth, site = rng.integers(0, 2, rows), np.arange(rows) % slices
    z = rng.normal(size=(3, rows)) + truth * np.array([[1.0], [1.2], [1.0]])
    z[1] += gain * truth * (site == 0)
    p = logistic(z - 0.6, 2)
    columns = {"old": p[0], "new": p[1], "other": p[2]}
    return pl.DataFrame({"truth": truth, "site": [f"s{one}" for one in site], **columns})


def slice_comparisons(result: Result, metric: str) -> dict[tuple[str, str], Row]:
    """Return the comparisons with the reference within slices by slice and model."""
    rows = [row for row in result.tables.get("comparisons", ()) if row["slice"] is not None]
    assert {row["against"] for row in rows} <= {"reference", "slice"}
    return {
        (str(r["slice"]), str(r["model"])): r
        for r in rows
        if r["measure"] == metric and r["against"] == "reference"
    }


def sentences_on_slices(result: Result) -> list[str]:
    """Return those on differences within slices, also those that are left out."""
    answers = [one for shown in result.answer for one in (shown, *shown.left_out)]
    return [one.text for one in answers if one.code == "within"]


@pytest.mark.parametrize("extra", thinned([{}, {"weight": "w"}, {"cluster": "who"}], [{}]))
def test_a_difference_is_that_of_the_slice_alone_and_q_is_benjamini_and_hochbergs(
    extra: dict[str, str],
) -> None:
    rng = np.random.default_rng(4)
    table = three_models().with_columns(w=rng.integers(1, 4, 900), who=rng.integers(0, 150, 900))
    table = table.select("truth", "site", "old", "new", "other", *extra.values())
    options: dict[str, Any] = {"reference": "old", "measure": ["mcc", "brier"], **extra}
    result = clfeval.report(table, by=["site"], **options)
    alone = {
        label: clfeval.report(table.filter(pl.col("site") == label).drop("site"), **options)
        for label in ("s0", "s1", "s2")
    }
    for metric in ("roc_auc", "mcc", "brier"):
        rows = slice_comparisons(result, metric)
        assert len(rows) == 6
        for label, of_slice in alone.items():
            for comparison in rows_of(of_slice, "comparisons", measure=metric):
                row = rows[f"site={label}", comparison["model"]]
                expected = value_and_limits(comparison["difference"])
                assert value_and_limits(row["difference"]) == pytest.approx(expected)
                assert row["p"] == pytest.approx(comparison["p"])
        p = [row["p"] for row in rows.values()]
        assert [row["p_adjusted"] for row in rows.values()] == pytest.approx(
            multipletests(p, method="fdr_bh")[1]
        )


@pytest.mark.parametrize(
    ("gain", "verdicts"), [(2.5, ["better", "undecided", "undecided"]), (0.0, ["undecided"] * 3)]
)
def test_the_sentence_names_slices_in_which_one_model_differs(
    gain: float, verdicts: list[str]
) -> None:
    table = three_models(gain=gain)
    if not gain:
        table = table.with_columns(new=pl.col("old").reverse().over("site", "truth"))
    result = clfeval.report(table, by=["site"], reference="old", model=["new", "old"])
    assert [row["verdict"] for row in slice_comparisons(result, "roc_auc").values()] == verdicts
    (text,) = sentences_on_slices(result)
    assert ["site=s0" in text, "site=s1" in text] == [bool(gain), False]
    check_text(text)


WORSE_IN = {0: [], 1: ["s0"], 2: ["s0", "s2"]}  # slices in which the scores of `new` are turned


@pytest.mark.parametrize("slices", WORSE_IN)
@pytest.mark.parametrize(
    ("reference", "names"),
    [
        ("old", {"old": "old", "new": "new", "other": "other"}),
        # `old:m` is the reference of `new:m`, and `old:k` of `new:k`
        ("old:*", {"old": "old:m", "new": "new:m", "other": "old:k"}),
    ],
)
def test_the_sentence_names_slice_model_value_and_q_of_several_models(
    slices: int, reference: str, names: dict[str, str]
) -> None:
    turned = pl.when(pl.col("site").is_in(WORSE_IN[slices])).then(1 - pl.col("new"))
    table = three_models(gain=0.8 if slices else 2.5).with_columns(
        turned.otherwise("new").alias("new")
    )
    table = table.rename(names)
    if reference != "old":
        table = table.with_columns(pl.col("old:k").alias("new:k"))
    result = clfeval.report(table, by=["site"], reference=reference)
    rows = slice_comparisons(result, "roc_auc")
    (text,) = sentences_on_slices(result)
    verdict = "worse" if slices else "better"
    assert f"significantly {verdict} than" in text
    for (label, model), row in rows.items():
        difference = value_of(row["difference"])
        q = float(str(row["p_adjusted"]))
        size = f"({difference:+.3f}, q {'<0.001' if q < 0.0005 else f'{q:.3f}'})"
        assert (f"{model} in {label} {size}" in text) == (row["verdict"] == verdict)
    check_text(text)


def test_best_is_the_best_of_all_rows() -> None:
    result = clfeval.report(three_models(), by=["site"], reference="best")
    rows = slice_comparisons(result, "roc_auc")
    models = rows_by(result, "models", "model", slice=None)
    best = max(models, key=lambda model: value_of(models[model]["roc_auc"]))
    assert {row["reference"] for row in rows.values()} == {best}
    assert len(rows) == 6


@pytest.mark.parametrize("options", [{}, {"reference": "all-pairs"}])
def test_without_one_reference_slices_are_not_compared(options: dict[str, str]) -> None:
    assert not slice_comparisons(clfeval.report(three_models(), by=["site"], **options), "roc_auc")


def test_small_slices_and_those_of_one_class_are_not_tested() -> None:
    table = three_models().with_columns(
        site=pl.when(pl.int_range(900) < 20)
        .then(pl.lit("few"))
        .when((pl.col("site") == "s1") & (pl.col("truth") == 1))
        .then(pl.lit("ill"))
        .otherwise("site")
    )
    table = table.filter(pl.col("site") != "s1")
    result = clfeval.report(table, by=["site"], reference="old", measure=["accuracy"])
    assert {label for label, _ in slice_comparisons(result, "roc_auc")} == {"site=s0", "site=s2"}
    assert {label for label, _ in slice_comparisons(result, "accuracy")} == {"site=s0", "site=s2"}


def test_the_order_of_rows_does_not_matter_and_weights_are_repeated_rows() -> None:
    table = three_models(300)
    options = {"by": ["site"], "reference": "old", "measure": ["brier", "f1"]}
    times = np.arange(300) % 3 + 1
    one = clfeval.report(table.sample(fraction=1, shuffle=True, seed=2), **options)
    rows = table[np.repeat(np.arange(300), times)]
    for a, b in (
        (one, clfeval.report(table, **options)),
        (
            clfeval.report(table.with_columns(n=times), weight="n", **options),
            clfeval.report(rows, **options),
        ),
    ):
        for metric in ("roc_auc", "brier", "f1"):
            first, second = slice_comparisons(a, metric), slice_comparisons(b, metric)
            assert [*first] == [*second]
            for key, row in first.items():
                for name in ("difference", "difference_adjusted"):
                    expected = value_and_limits(second[key][name])
                    assert value_and_limits(row[name]) == pytest.approx(expected, 1e-8)


def test_a_margin_judges_slices_too() -> None:
    """None of some 140 rows of a class differs: 1 - .025^(1/140) = .026 at most."""
    table = three_models().with_columns(new=pl.col("old"))
    for margin, verdict in ((0.01, "undecided"), (0.04, "equivalent")):
        result = clfeval.report(
            table, by=["site"], reference="old", model=["new", "old"], margin={"roc_auc": margin}
        )
        assert {row["verdict"] for row in slice_comparisons(result, "roc_auc").values()} == {
            verdict
        }
