"""Models compared by measures without influence: against rows drawn again by hand, and streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from clfeval.methods.measurement import score_measures
from tests.methods.report.test_model_comparisons import models_sharing_noise
from tests.results import Line, estimate_of, limits_of, row_of, value_of
from tests.texts import check_text, numbers_in

MEASURES = ["ks", "ece", "aurc", "partial_auc"]
OPTIONS: dict[str, Any] = {"positive": "1", "reference": "m0", "measure": MEASURES}


def comparison_row(result: Result, metric: str, model: str = "m1") -> Line:
    return row_of(result, "comparisons", measure=metric, model=model)


def differences(result: Result, model: str = "m1") -> dict[str, tuple[Estimate, Any, Any]]:
    """Return difference, p and standard error of each measure."""
    rows = {name: comparison_row(result, name, model) for name in MEASURES}
    return {
        name: (estimate_of(row["difference"]), row["p"], row["se"]) for name, row in rows.items()
    }


def ks(y: Any, x: Any) -> float:
    """Return the largest distance of the two shares of scores up to any score."""
    shares = [np.searchsorted(np.sort(part), x, side="right") / len(part) for part in (x[y], x[~y])]
    return float(abs(shares[0] - shares[1]).max())


def ece(y: Any, x: Any) -> float:
    """Ten bins of equal width, [a, b), the last one closed."""
    place, total = np.minimum((x * 10).astype(int), 9), 0.0
    for one in range(10):
        some = place == one
        if some.any():
            total += some.mean() * abs(y[some].mean() - x[some].mean())
    return total


@pytest.mark.parametrize(("metric", "of"), [("ks", ks), ("ece", ece)])
def test_limits_are_those_of_rows_drawn_by_hand(metric: str, of: Any) -> None:
    """A percentile of r draws errs by sqrt(.025 .975 / r) over the density there: .11 SD of 1,000,
    .08 of 2,000; the SD by 1 / sqrt(2 r) of itself. Within three such errors of both together.
    """
    table = models_sharing_noise(200, 2)
    row = comparison_row(clfeval.report(table, **OPTIONS | {"measure": metric}), metric)
    y, x, z = (table[name].to_numpy() for name in ("truth", "m1", "m0"))
    y, rng, draws = y == 1, np.random.default_rng(5), list[float]()
    for _ in range(1000):
        at = rng.integers(0, 200, 200)
        draws.append(of(y[at], x[at]) - of(y[at], z[at]))
    m, spread = min(y.sum(), (~y).sum()), np.std(draws, ddof=1)
    if metric == "ks":
        assert ks(y, x) == pytest.approx(stats.ks_2samp(x[y], x[~y]).statistic)
    d, error = of(y, x) - of(y, z), spread * np.sqrt(m / (m - 1))
    assert value_of(row["difference"]) == pytest.approx(d)
    assert row["se"] == pytest.approx(error, rel=3 * np.sqrt(1 / 2000 + 1 / 4000))
    low, high = np.quantile(draws, [0.025, 0.975])
    reach = stats.t.ppf(0.975, m - 1) * error
    expected = min(low, d - reach), max(high, d + reach)
    slack = 3 * np.hypot(0.11, 0.08) * spread
    assert limits_of(row["difference"]) == pytest.approx(expected, abs=slack)
    assert row["method"] == "bootstrap"


@pytest.mark.slow
def test_nothing_but_these_two_models_moves_a_comparison() -> None:
    """Other models, their order, that of the rows, the way round: the same numbers."""
    table = models_sharing_noise(150, 4)
    few = clfeval.report(table.select("truth", "m0", "m1"), **OPTIONS)
    for other in (
        clfeval.report(table, **OPTIONS),
        clfeval.report(table.select("truth", "m3", "m1", "m0"), **OPTIONS),
        clfeval.report(table.sample(fraction=1, shuffle=True, seed=3), **OPTIONS),
    ):
        assert differences(other) == differences(few)
    turned = clfeval.report(table, **OPTIONS | {"reference": "m1"})
    for name, (own, p, se) in differences(turned, "m0").items():
        before, as_before, error = differences(few)[name]
        expected = Estimate(-before.value, -before.high, -before.low)
        assert (own, p) == (expected, as_before)
        assert se == pytest.approx(error, rel=1e-12)
    assert differences(clfeval.report(table, **OPTIONS, seed=1)) != differences(few)


def test_rows_that_repeat_are_weights_of_rows() -> None:
    table = models_sharing_noise(80, 2).with_columns(n=pl.Series([1, 2, 3, 1] * 20))
    every = table.select(pl.all().repeat_by("n")).explode(pl.all()).drop("n")
    assert differences(clfeval.report(table, weight="n", **OPTIONS)) == differences(
        clfeval.report(every, **OPTIONS)
    )


def test_clusters_are_drawn_whole() -> None:
    """Each row twice in its cluster tells as much as once; as rows it would tell 1.4 as much."""
    one = models_sharing_noise(120, 2).with_columns(patient=pl.int_range(120))
    alone = clfeval.report(one.drop("patient"), **OPTIONS)
    twice = clfeval.report(pl.concat([one, one]), cluster="patient", **OPTIONS)
    for name, (own, _, se) in differences(twice).items():
        assert own.value == pytest.approx(differences(alone)[name][0].value)
        assert se == pytest.approx(differences(alone)[name][2], rel=0.08), name


def test_sampling_weights_share_out_each_row() -> None:
    """Weights all alike are rows that count by a random share: the errors of rows."""
    table = models_sharing_noise(200, 2)
    alone = differences(clfeval.report(table, **OPTIONS))
    alike = differences(clfeval.report(table.with_columns(w=pl.lit(0.5)), weight="w", **OPTIONS))
    for name, (own, _, se) in alike.items():
        assert own.value == pytest.approx(alone[name][0].value)
        assert se == pytest.approx(alone[name][2], rel=0.12), name


def test_models_of_the_same_scores_never_differ() -> None:
    table = models_sharing_noise(60, 1).with_columns(twin=pl.col("m0"))
    for name in MEASURES:
        row = comparison_row(clfeval.report(table, **OPTIONS), name, "twin")
        assert (row["p"], row["difference"], row["verdict"]) == (1, Estimate(0.0), "undecided")
        assert row["se"] is None
    check_text(str(row["method"]))


def test_resamples_are_as_many_as_asked_for_or_said(monkeypatch: pytest.MonkeyPatch) -> None:
    result = clfeval.report(models_sharing_noise(150, 2), **OPTIONS, resamples=100)
    assert comparison_row(result, "ks")["method"] == "bootstrap"
    monkeypatch.setattr(score_measures, "MOST_DRAWN", 8 * 300 * 150)
    result = clfeval.report(models_sharing_noise(150, 2), **OPTIONS)
    assert numbers_in(str(comparison_row(result, "ks")["method"])) == [300]


def test_draws_without_a_class_are_counted() -> None:
    """Two of 20 rows are positive: (18 / 20)^20 = 12 % of the draws have none."""
    table = pl.DataFrame(
        {"truth": [1] * 2 + [0] * 18, "m0": np.arange(20) / 40, "m1": np.arange(20) * 7 % 20 / 40}
    )
    row = comparison_row(clfeval.report(table, **OPTIONS), "ks")
    many, of = sorted(numbers_in(str(row["method"])))
    assert of == 2000
    assert many == pytest.approx(2000 * 0.9**20, abs=4 * np.sqrt(2000 * 0.12 * 0.88))


def test_of_several_classes_probabilities_are_drawn_too() -> None:
    """ECE of the likeliest class, by hand on 600 draws of rows."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 150)
    p = [rng.dirichlet([1, 1, 1], 150) for _ in range(2)]
    for one in p:
        one[np.arange(150), truth] += 0.6
        one /= one.sum(axis=1, keepdims=True)
    columns = {f"m{i}:{'abc'[k]}": p[i][:, k] for i in (0, 1) for k in range(3)}
    table = pl.DataFrame({"truth": [*map("abc".__getitem__, truth)], **columns})
    row = comparison_row(clfeval.report(table, reference="m0", measure="ece"), "ece")
    right, sure = [one.argmax(axis=1) == truth for one in p], [one.max(axis=1) for one in p]
    draws = []
    for _ in range(600):
        at = rng.integers(0, 150, 150)
        draws.append(ece(right[1][at], sure[1][at]) - ece(right[0][at], sure[0][at]))
    difference = ece(right[1], sure[1]) - ece(right[0], sure[0])
    assert value_of(row["difference"]) == pytest.approx(difference)
    m = min(np.bincount(truth))
    assert row["se"] == pytest.approx(np.std(draws) * np.sqrt(m / (m - 1)), rel=0.12)
    assert row["method"] == "bootstrap"
