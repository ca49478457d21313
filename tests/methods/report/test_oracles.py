"""What `clfeval.report` says of random tables, measure by measure, beside other programs.

Weights are whole, and the others get the rows repeated. The guide names them: see the last test.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk
import statsmodels.api as sm
from scipy import optimize, special, stats
from statsmodels.stats.contingency_tables import Table2x2
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

import clfeval
from tests.results import Line, limits_of, row_of, rows_by, value_and_limits, value_of
from tests.texts import check_text
from tests.thoroughness import thinned

GUIDE = Path(clfeval.__file__).parent / "guide" / "report.md"
Z = stats.norm.ppf(0.975)


@dataclass(frozen=True)
class Rows:
    """Truth y, probabilities p and votes v of rows, each as often as its weight w says."""

    frame: pl.DataFrame
    y: Any
    p: Any

    @property
    def v(self) -> Any:
        return self.p >= 0.5

    @property
    def logit(self) -> Any:
        clipped = np.clip(self.p, 2.0**-52, 1 - 2.0**-52)
        return np.log(clipped) - np.log1p(-clipped)

    @property
    def cells(self) -> tuple[int, int, int, int]:
        tn, fp, fn, tp = sk.confusion_matrix(self.y, self.v, labels=[False, True]).ravel().tolist()
        return tp, fp, fn, tn


def random_rows(seed: int, digits: int, share: float, *, ends: bool = False) -> Rows:
    """Rows whose probabilities have so many digits (few: ties); with `ends`, 0 and 1."""
    rng = np.random.default_rng([seed, digits, int(100 * share)])
    y = rng.random(150) < share
    p = np.clip(np.round(special.expit(rng.normal(2 * y - 1, 1.5)), digits), 0.01, 0.99)
    if ends:
        p[:3], y[:2] = (0, 1, 1), (False, True)
    w = rng.integers(1, 4, 150)
    frame = pl.DataFrame({"truth": y.astype(int), "m": p, "w": w})
    return Rows(frame, np.repeat(y, w), np.repeat(p, w))


def measure_rows(rows: Rows, **options: Any) -> dict[str, Line]:
    """Return what the report says: its rows by measure."""
    result = clfeval.report(rows.frame, weight="w", positive="1", **options)
    return rows_by(result, "measures", "measure")


def pr_area(rows: Rows) -> float:
    precision, recall, _ = sk.precision_recall_curve(rows.y, rows.p)
    return float(sk.auc(recall, precision))


def line(rows: Rows) -> Any:
    model = sm.Logit(rows.y.astype(float), sm.add_constant(rows.logit))
    return model.fit(disp=0, method="newton", tol=1e-14, maxiter=100)


def shifted(rows: Rows) -> float:
    model = sm.GLM(
        rows.y.astype(float), np.ones(len(rows.y)), sm.families.Binomial(), offset=rows.logit
    )
    return float(model.fit(tol=1e-14, maxiter=100).params[0])


def ks_statistic(rows: Rows) -> float:
    return float(stats.ks_2samp(rows.p[rows.y], rows.p[~rows.y]).statistic)


def clipped(rows: Rows) -> Any:
    return np.clip(rows.p, 2.0**-52, 1 - 2.0**-52)


Oracle = Callable[[Rows], float]
OF_SCORES: dict[str, tuple[str, Oracle]] = {
    "roc_auc": ("sklearn roc_auc_score", lambda r: sk.roc_auc_score(r.y, r.p)),
    "gini": ("sklearn roc_auc_score", lambda r: 2 * sk.roc_auc_score(r.y, r.p) - 1),
    "average_precision": (
        "sklearn average_precision_score",
        lambda r: sk.average_precision_score(r.y, r.p),
    ),
    "pr_auc": ("sklearn precision_recall_curve, auc", pr_area),
    "partial_auc": (
        "sklearn roc_auc_score(max_fpr)",
        lambda r: sk.roc_auc_score(r.y, r.p, max_fpr=0.1),
    ),
    "ks": ("scipy ks_2samp", ks_statistic),
    "brier": ("sklearn brier_score_loss", lambda r: sk.brier_score_loss(r.y, r.p)),
    "brier_sum": ("sklearn brier_score_loss", lambda r: 2 * sk.brier_score_loss(r.y, r.p)),
    "brier_skill": ("sklearn d2_brier_score", lambda r: sk.d2_brier_score(r.y, r.p)),
    "log_loss": ("sklearn log_loss", lambda r: sk.log_loss(r.y, clipped(r))),
    "log_loss_skill": (
        "sklearn d2_log_loss_score",
        lambda r: sk.d2_log_loss_score(r.y, clipped(r)),
    ),
    "calibration_slope": ("statsmodels Logit", lambda r: line(r).params[1]),
    "calibration_intercept": ("statsmodels Logit", lambda r: line(r).params[0]),
    "calibration_in_the_large": ("statsmodels GLM with offset", shifted),
    "oe_ratio": ("numpy", lambda r: r.y.sum() / r.p.sum()),
    "spiegelhalter_z": (
        "numpy",
        lambda r: (
            ((r.y - r.p) * (1 - 2 * r.p)).sum()
            / math.sqrt(((1 - 2 * r.p) ** 2 * r.p * (1 - r.p)).sum())
        ),
    ),
}
OF_VOTES: dict[str, tuple[str, Oracle]] = {
    "sensitivity": ("sklearn recall_score", lambda r: sk.recall_score(r.y, r.v)),
    "specificity": ("sklearn recall_score", lambda r: sk.recall_score(~r.y, ~r.v)),
    "precision": ("sklearn precision_score", lambda r: sk.precision_score(r.y, r.v)),
    "npv": ("sklearn precision_score", lambda r: sk.precision_score(~r.y, ~r.v)),
    "fpr": ("sklearn recall_score", lambda r: 1 - sk.recall_score(~r.y, ~r.v)),
    "fnr": ("sklearn recall_score", lambda r: 1 - sk.recall_score(r.y, r.v)),
    "accuracy": ("sklearn accuracy_score", lambda r: sk.accuracy_score(r.y, r.v)),
    "error_rate": ("sklearn zero_one_loss", lambda r: sk.zero_one_loss(r.y, r.v)),
    "balanced_accuracy": (
        "sklearn balanced_accuracy_score",
        lambda r: sk.balanced_accuracy_score(r.y, r.v),
    ),
    "mcc": ("sklearn matthews_corrcoef", lambda r: sk.matthews_corrcoef(r.y, r.v)),
    "f1": ("sklearn f1_score", lambda r: sk.f1_score(r.y, r.v)),
    "f_beta:beta=2": ("sklearn fbeta_score", lambda r: sk.fbeta_score(r.y, r.v, beta=2)),
    "jaccard": ("sklearn jaccard_score", lambda r: sk.jaccard_score(r.y, r.v)),
    "fowlkes_mallows": (
        "sklearn recall_score, precision_score",
        lambda r: math.sqrt(sk.recall_score(r.y, r.v) * sk.precision_score(r.y, r.v)),
    ),
    "kappa": ("sklearn cohen_kappa_score", lambda r: sk.cohen_kappa_score(r.y, r.v)),
    "lr_pos": (
        "sklearn class_likelihood_ratios",
        lambda r: sk.class_likelihood_ratios(r.y, r.v)[0],
    ),
    "lr_neg": (
        "sklearn class_likelihood_ratios",
        lambda r: sk.class_likelihood_ratios(r.y, r.v)[1],
    ),
    "dor": ("statsmodels Table2x2", lambda r: two_by_two(r).oddsratio),
    "mutual_information": (
        "sklearn mutual_info_score, in bits",
        lambda r: sk.mutual_info_score(r.y, r.v) / math.log(2),
    ),
    "net_benefit": ("numpy", lambda r: (r.y[r.v].sum() - (~r.y[r.v]).sum()) / len(r.y)),
}


def two_by_two(rows: Rows) -> Table2x2:
    tp, fp, fn, tn = rows.cells
    return Table2x2(np.array([[tp, fn], [fp, tn]]))


TABLES = [(seed, digits, share) for seed in range(3) for digits in (1, 12) for share in (0.5, 0.2)]


@pytest.mark.parametrize(("seed", "digits", "share"), thinned(TABLES, TABLES[1::4]))
@pytest.mark.parametrize("ends", [False, True])
def test_values(seed: int, digits: int, share: float, ends: bool) -> None:
    rows = random_rows(seed, digits, share, ends=ends)
    found = measure_rows(rows, measure=["all", "partial_auc", "f_beta:beta=2"], interval="none")
    for name, (_, oracle) in {**OF_SCORES, **OF_VOTES}.items():
        if name.startswith("calibration") and ends:
            continue  # statsmodels stops at log odds of 36: see tests/measures/test_oracles.py
        expected = float(oracle(rows))
        assert value_of(found[name]["value"]) == pytest.approx(expected, rel=1e-12, abs=1e-12), name


@pytest.mark.parametrize("one", [0, 1])
def test_a_class_without_rows(one: int) -> None:
    """What needs one class is what the others say, and what needs both is undefined."""
    rows = random_rows(5, 2, 0.5)
    frame = rows.frame.with_columns(truth=pl.lit(one))
    rows = Rows(frame, np.full_like(rows.y, bool(one)), rows.p)
    found = measure_rows(rows, measure="all", classes=["0", "1"])
    expected = {
        "brier": ((one - rows.p) ** 2).mean(),
        "log_loss": sk.log_loss(rows.y, rows.p, labels=[False, True]),
        "accuracy": sk.accuracy_score(rows.y, rows.v),
        ("sensitivity" if one else "specificity"): (rows.v == one).mean(),
    }
    for name, value in expected.items():
        assert value_of(found[name]["value"]) == pytest.approx(value, rel=1e-12), name
    both = (
        "roc_auc",
        "ks",
        "brier_skill",
        "calibration_slope",
        "calibration_in_the_large",
        "balanced_accuracy",
        "mcc" if one else "sensitivity",
    )
    assert [found[name]["value"].value for name in both] == [None] * len(both)


def test_the_guide_names_the_programs() -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    listed = {
        name: program
        for names, program in re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", guide, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", names)
    }
    for name, (program, _) in {**OF_SCORES, **OF_VOTES}.items():
        assert listed[name] == program, name


def test_no_interval() -> None:
    rows = random_rows(0, 2, 0.5)
    result = clfeval.report(rows.frame, weight="w", positive="1", interval="none")
    assert result.parameters["interval_methods"] == {}
    for row in result.tables["measures"]:
        assert (*value_and_limits(row["value"])[1:], row["method"]) == (None, None, "none")


# ---- intervals: by the method that `metrics` names


def test_methods_of_intervals() -> None:
    check_text(
        f"{name}: {row['method']}" for name, row in measure_rows(random_rows(0, 2, 0.4)).items()
    )


@pytest.mark.parametrize("seed", range(4))
def test_limits_of_the_two_by_two_table(seed: int) -> None:
    rows = random_rows(seed, 2, 0.4)
    measures = ("f1", "balanced_accuracy", "dor", "lr_pos", "kappa")
    found, (tp, fp, fn, tn) = measure_rows(rows, measure=measures), rows.cells
    low, high = proportion_confint(tp, tp + fp + fn, method="beta")  # of Jaccard's index J
    f1 = limits_of(found["f1"]["value"])
    assert f1 == pytest.approx((2 * low / (1 + low), 2 * high / (1 + high)), abs=1e-9)
    parts = [
        (k / n, *proportion_confint(k, n, method="wilson"))
        for k, n in ((tp, tp + fn), (tn, fp + tn))
    ]
    mean = (parts[0][0] + parts[1][0]) / 2
    down, up = (math.hypot(*(one[end] - one[0] for one in parts)) / 2 for end in (1, 2))
    balanced = limits_of(found["balanced_accuracy"]["value"])
    assert balanced == pytest.approx((mean - down, mean + up), abs=1e-12)
    odds = limits_of(found["dor"]["value"])
    assert odds == pytest.approx(two_by_two(rows).oddsratio_confint(), rel=1e-9)
    # of the positive answer: the positive likelihood ratio
    risk = two_by_two(rows).riskratio_confint()
    assert limits_of(found["lr_pos"]["value"]) == pytest.approx(risk, rel=1e-9)
    kappa = cohens_kappa(np.array([[tp, fn], [fp, tn]])).std_kappa
    assert found["kappa"]["se"] == pytest.approx(kappa, rel=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_limits_of_the_area(seed: int) -> None:
    """DeLong's variance of all placements in O(P N), back from the logit."""
    rows = random_rows(seed, 1, 0.4)
    x, y = rows.p[rows.y], rows.p[~rows.y]
    wins = (x[:, None] > y) + (x[:, None] == y) / 2
    area = wins.mean()
    error = math.sqrt(
        wins.mean(axis=1).var(ddof=1) / len(x) + wins.mean(axis=0).var(ddof=1) / len(y)
    )
    reach = Z * error / (area * (1 - area))
    expected = special.expit(special.logit(area) + np.array([-reach, reach]))
    row = measure_rows(rows)["roc_auc"]
    assert row["se"] == pytest.approx(error, rel=1e-12)
    assert limits_of(row["value"]) == pytest.approx(tuple(expected), abs=1e-12)


def test_limits_of_an_area_of_few_rows() -> None:
    """The outer one of DeLong's and of Newcombe's score limits, which brentq finds as well."""
    y = np.array([1] * 12 + [0] * 20, bool)
    p = np.round(special.expit(np.random.default_rng(3).normal(2.0 * y - 1, 1.2)), 3)
    rows = Rows(pl.DataFrame({"truth": y.astype(int), "m": p, "w": 1}), y, p)
    area, s = float(sk.roc_auc_score(y, p)), (12 + 20) / 2 - 1

    def beyond(a: float) -> float:
        more = 1 + s * (1 - a) / (2 - a) + s * a / (1 + a)
        return float((area - a) ** 2 - Z**2 * a * (1 - a) / (12 * 20) * more)

    outer = (optimize.brentq(beyond, 1e-9, area), optimize.brentq(beyond, area, 1 - 1e-9))
    wins = (p[y][:, None] > p[~y]) + (p[y][:, None] == p[~y]) / 2
    error = math.sqrt(wins.mean(axis=1).var(ddof=1) / 12 + wins.mean(axis=0).var(ddof=1) / 20)
    reach = Z * error / (area * (1 - area))
    inner = special.expit(special.logit(area) + np.array([-reach, reach]))
    expected = min(outer[0], inner[0]), max(outer[1], inner[1])
    assert limits_of(measure_rows(rows)["roc_auc"]["value"]) == pytest.approx(expected, abs=1e-9)


def of_influence(f: Any, few: int) -> tuple[float, float]:
    """Return the standard error of a mean of f, and the quantile of t that goes with it."""
    m = len(f)
    df = min(2 * m / (m * (f**4).sum() / (f**2).sum() ** 2 - 1), few - 1)
    return math.sqrt((f**2).sum() / m**2 * m / (m - 1)), float(stats.t.ppf(0.975, df))


@pytest.mark.parametrize("seed", range(4))
def test_limits_by_influence(seed: int) -> None:
    """Row by row: losses about their mean, and statsmodels' sandwich for the line."""
    rows = random_rows(seed, 3, 0.4)
    found, few = measure_rows(rows), int(min(rows.y.sum(), (~rows.y).sum()))
    losses = {
        "brier": (rows.y - rows.p) ** 2,
        "log_loss": -np.log(np.where(rows.y, rows.p, 1 - rows.p)),
    }
    for name, scale, slope, back in (
        ("brier", "logit", lambda x: 1 / (x * (1 - x)), special.expit),
        ("log_loss", "log", lambda x: 1 / x, np.exp),
    ):
        mean = float(losses[name].mean())
        error, t = of_influence(losses[name] - mean, few)
        there = special.logit(mean) if scale == "logit" else math.log(mean)
        expected = back(there + np.array([-1, 1]) * t * error * slope(mean))
        assert found[name]["se"] == pytest.approx(error, rel=1e-12)
        ends = limits_of(found[name]["value"])
        assert ends == pytest.approx(tuple(expected), rel=1e-9), name
    fit, m = line(rows), len(rows.y)
    robust = sm.Logit(rows.y.astype(float), sm.add_constant(rows.logit)).fit(
        disp=0, method="newton", tol=1e-14, cov_type="HC0"
    )
    mu = fit.predict()
    x = sm.add_constant(rows.logit)
    inverse = np.linalg.inv(x.T @ (x * (mu * (1 - mu))[:, None]) / m)
    each = ((rows.y - mu)[:, None] * x) @ inverse
    for j, name in enumerate(("calibration_intercept", "calibration_slope")):
        error, t = of_influence(each[:, j], few)
        assert error == pytest.approx(robust.bse[j] * math.sqrt(m / (m - 1)), rel=1e-9)
        expected = fit.params[j] - t * error, fit.params[j] + t * error
        assert found[name]["se"] == pytest.approx(error, rel=1e-9)
        assert limits_of(found[name]["value"]) == pytest.approx(expected, rel=1e-8)


def test_limits_of_the_net_benefit() -> None:
    """Square-and-add of Wilson's limits of the shares p of TP and q of FP, at odds of 1.

    rho = -sqrt(p q / ((1 - p) (1 - q))), Zou and Donner 2008
    """
    rows = random_rows(2, 2, 0.4)
    tp, fp, _, _ = rows.cells
    m = len(rows.y)
    (p, a, b), (q, c, d) = ((k / m, *proportion_confint(k, m, method="wilson")) for k in (tp, fp))
    rho = -math.sqrt(p * q / ((1 - p) * (1 - q)))
    down = math.sqrt((p - a) ** 2 + (d - q) ** 2 - 2 * rho * (p - a) * (d - q))
    up = math.sqrt((b - p) ** 2 + (q - c) ** 2 - 2 * rho * (b - p) * (q - c))
    expected = p - q - down, p - q + up
    assert limits_of(measure_rows(rows)["net_benefit"]["value"]) == pytest.approx(
        expected, abs=1e-12
    )


def partial_areas(rows: Rows, drawn: list[Any], most: float) -> Any:
    """Return what sklearn's `roc_auc_score(max_fpr=most)` says of draws of rows, of all at once.

    Between two scores the curve is straight, also where it is cut off.
    """
    scores, place = np.unique(-rows.p, return_inverse=True)
    shares = []
    for is_drawn in (~rows.y, rows.y):
        counts = [np.bincount(place[at][is_drawn[at]], minlength=len(scores)) for at in drawn]
        sums = np.cumsum(counts, axis=1)
        shares.append(np.pad(sums / sums[:, -1:], ((0, 0), (1, 0))))
    x, y = shares
    wide, high = np.diff(x), np.diff(y)
    inside = np.clip(most - x[:, :-1], 0, wide)
    slope = np.divide(high, wide, out=np.zeros_like(high), where=wide > 0)
    areas = (inside * (y[:, :-1] + slope * inside / 2)).sum(axis=1)
    least = most**2 / 2
    return (1 + (areas - least) / (most - least)) / 2


def test_limits_by_bootstrap() -> None:
    """Of a partial AUC, against 4,000 draws of the rows: both quantiles have an error of .003."""
    rows = random_rows(1, 2, 0.4)
    rng = np.random.default_rng(8)
    drawn = [rng.integers(0, len(rows.y), len(rows.y)) for _ in range(4000)]
    draws = partial_areas(rows, drawn, 0.5)
    some = [sk.roc_auc_score(rows.y[at], rows.p[at], max_fpr=0.5) for at in drawn[:200]]
    assert draws[:200] == pytest.approx(some, abs=1e-12)
    name = "partial_auc:fpr=0..0.5"
    limits = limits_of(measure_rows(rows, measure=name, resamples=4000)[name]["value"])
    assert limits == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.01)


def test_ks_has_a_p_value_by_permutation_and_no_interval() -> None:
    """That of scipy's exact test of 60 rows without ties; of one measure by its own draws."""
    rng = np.random.default_rng(4)
    y = np.repeat([True, False], [25, 35])
    x = rng.permutation(60) / 60 + 0.12 * y
    frame = pl.DataFrame({"truth": y * 1, "m": x / 2})
    result = clfeval.report(frame, truth="truth", measure="ks")
    row = row_of(result, "measures", measure="ks")
    exact = stats.ks_2samp(x[y], x[~y], method="exact")
    assert value_and_limits(row["value"]) == (pytest.approx(exact.statistic), None, None)
    assert row["p"] == pytest.approx(exact.pvalue, abs=3.5 * np.sqrt(exact.pvalue / 999))
    assert row["method"] == "999 permutations"
    (gate,) = result.check(fail_under="ks.low=0.1").gates
    assert (gate.passed, gate.reason) == (False, "no_interval")


def test_ks_of_many_rows_has_the_p_value_of_kolmogorovs_distribution() -> None:
    rng = np.random.default_rng(5)
    y = np.arange(40_000) % 4 == 0
    x = rng.random(40_000) + 0.015 * y
    frame = pl.DataFrame({"truth": y * 1, "m": x / 2})
    result = clfeval.report(frame, truth="truth", measure="ks")
    row = row_of(result, "measures", measure="ks")
    d = float(stats.ks_2samp(x[y], x[~y]).statistic)
    assert row["p"] == pytest.approx(stats.kstwobign.sf(d * np.sqrt(10_000 * 30_000 / 40_000)))
