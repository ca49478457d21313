"""Every value of `report` with fractional and sampling weights, beside other programs.

References: scikit-learn with `sample_weight`, statsmodels with `freq_weights`, sums over rows, and
for 2 x 2 tables exact fractions. With --full some 60,000 values.
"""

from __future__ import annotations

import math
from fractions import Fraction
from math import log, log2, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk
import statsmodels.api as sm
from sklearn.isotonic import IsotonicRegression

import clfeval
from tests.results import estimate_of
from tests.samples import logistic
from tests.thoroughness import thinned

NEAR = 1e-9
NAMED = (
    "all",
    "hosmer_lemeshow",
    "ece",
    "mce",
    "ece_debiased",
    "ece:bins=4",
    "f_beta:beta=2",
    "f_odds",
    "expected_cost:fp=1,fn=5",
    "net_benefit:t=.2",
    "ppv_at:prevalence=.01",
    "npv_at:prevalence=.01",
    "selective_accuracy:coverage=.6",
    "partial_auc:fpr=0..0.3",
    "interventions_avoided:t=.2",
    "net_benefit_standardised:t=.2",
    *(f"{name}@k:k={k}" for name in ("precision", "recall", "gain", "lift") for k in ("0.2", "7")),
)
TABLES = range(120)


def of_table(y: Any, v: Any, w: list[Fraction]) -> dict[str, Any]:
    """Return what the 2 x 2 table says; None where it is undefined or infinite."""
    tp, fp, fn, tn = (
        sum((one for one, a, b in zip(w, y, v, strict=True) if (a, b) == cell), Fraction(0))
        for cell in ((1, 1), (0, 1), (1, 0), (0, 0))
    )
    p, n = tp + fn, fp + tn
    m = p + n

    def over(a: Any, b: Any) -> Any:
        return None if a is None or not b else a / b

    def root(x: Any) -> Any:
        return None if x is None else sqrt(x)

    def bits(*cells: Any) -> float:
        """Return the mutual information of a table tp, fp, fn, tn of shares."""
        a, b, c, d = cells
        sides = ((a, a + c, a + b), (b, b + d, a + b), (c, a + c, c + d), (d, b + d, c + d))
        return float(sum(q * log2(q / (x * z)) for q, x, z in sides if q))

    se, sp, ppv, npv = over(tp, p), over(tn, n), over(tp, tp + fp), over(tn, tn + fn)
    f1, lr = over(2 * tp, 2 * tp + fp + fn), over(se, 1 - sp)
    j, dor = se + sp - 1, over(tp * tn, fp * fn)
    a, b, c, d = se, 1 - sp, 1 - se, sp  # at classes of one size
    margins = (tp + fp) * (fn + tn) * p * n
    chance = ((tp + fp) * p + (fn + tn) * n) / m**2
    f2, few = over(5 * tp, 5 * tp + 4 * fn + fp), Fraction(1, 100)
    odds = (over(tp, fp), over(tn, fn))
    entropy = -float(p / m) * log2(p / m) - float(n / m) * log2(n / m)
    return {
        "sensitivity": se,
        "specificity": sp,
        "precision": ppv,
        "npv": npv,
        "accuracy": (tp + tn) / m,
        "error_rate": (fp + fn) / m,
        "fpr": 1 - sp,
        "fnr": 1 - se,
        "fdr": over(fp, tp + fp),
        "for": over(fn, fn + tn),
        "balanced_accuracy": (se + sp) / 2,
        "f1": f1,
        "f_beta:beta=2": f2,
        "f_odds": over(f1, 1 - f1),
        "jaccard": over(tp, tp + fp + fn),
        "g_mean": root(se * sp),
        "fowlkes_mallows": None if ppv is None else root(se * ppv),
        "markedness": None if None in (ppv, npv) else ppv + npv - 1,
        "mcc": over(float(tp * tn - fp * fn), sqrt(margins)),
        "kappa": over((tp + tn) / m - chance, 1 - chance),
        "lr_pos": lr,
        "lr_neg": over(1 - se, sp),
        "dor": dor,
        "dp": None if not dor else sqrt(3) / math.pi * math.log(dor),
        "epa": None if None in odds else (odds[0] + odds[1]) / 2,
        "ppv_odds": odds[0],
        "npv_odds": odds[1],
        "tor": over(tp + tn, fp + fn),
        "prevalence": p / m,
        "detection_prevalence": (tp + fp) / m,
        "no_information_rate": max(p, n) / m,
        "phi": se - sp,
        "delta": j,
        "phi_b": 2 * (n * (1 - sp) - p * (1 - se)) / m,
        "delta_b": 2 * (tp + tn) / m - 1,
        "accuracy_u": (1 + j) / 2,
        "error_u": (1 - j) / 2,
        "precision_u": over(a, a + b),
        "npv_u": over(d, c + d),
        "f1_u": over(2 * a, 2 * a + b + c),
        "mcc_u": over(float(j), sqrt((a + b) * (c + d))),
        "net_benefit": (tp - fp) / m,
        "expected_cost:fn=5,fp=1": (fp + 5 * fn) / m,
        "ppv_at:prevalence=0.01": over(few * se, few * se + (1 - few) * (1 - sp)),
        "npv_at:prevalence=0.01": over((1 - few) * sp, (1 - few) * sp + few * (1 - se)),
        "mutual_information": bits(tp / m, fp / m, fn / m, tn / m),
        "ic": bits(tp / m, fp / m, fn / m, tn / m) / entropy,
        "mutual_information_u": bits(a / 2, b / 2, c / 2, d / 2),
    }


def top(y: Any, p: Any, w: Any, k: float) -> float:
    """Return the positives among the top k, those of equal scores by the same share."""
    room = k * w.sum() if k <= 1 else k
    hits = 0.0
    for score in np.unique(p)[::-1]:
        here = w[p == score].sum()
        part = min(1.0, max(room, 0.0) / here)
        hits += part * w[(p == score) & y].sum()
        room -= here
    return hits


def area_over(y: Any, p: Any, w: Any, most: float) -> float:
    """Return McClish's standardised area up to a false positive rate, by scikit-learn's curve."""
    fpr, tpr, _ = sk.roc_curve(y, p, sample_weight=w, drop_intermediate=False)
    end = np.interp(most, fpr, tpr)
    x, z = np.append(fpr[fpr < most], most), np.append(tpr[fpr < most], end)
    area = float(np.trapezoid(z, x))
    return 0.5 * (1 + (area - most**2 / 2) / (most - most**2 / 2))


def gain_area(y: Any, p: Any, w: Any) -> float:
    """Return the area below precision gain over recall gain, by a fine walk along each line."""
    pos, total = w[y].sum(), w.sum()
    area, before = 0.0, (0.0, 0.0)
    start = pos * pos / total
    r = pos / (total - pos)
    for score in np.unique(p)[::-1]:
        now = w[(p >= score) & y].sum(), w[(p >= score) & ~y].sum()
        if now[0] > max(start, before[0]):
            low = max(start, before[0])
            fp = before[1] + (now[1] - before[1]) * (low - before[0]) / (now[0] - before[0])
            ends = [1 - r * b / a for a, b in ((low, fp), now)]
            width = (1 - r * (pos - now[0]) / now[0]) - (1 - r * (pos - low) / low)
            area += width * sum(ends) / 2
        before = now
    return area


def binned(y: Any, p: Any, w: Any, bins: int) -> tuple[float, float, float]:
    """Return ECE, MCE and the debiased ECE, bin by bin."""
    gaps, debiased, total = [], 0.0, w.sum()
    for k in range(bins):
        some = np.minimum((p * bins).astype(int), bins - 1) == k
        if not some.any():
            continue
        n, o = w[some].sum(), (w * y)[some].sum() / w[some].sum()
        d, s = abs(o - (w * p)[some].sum() / n), sqrt(o * (1 - o) / n)
        gaps.append((n, d))
        z = d / s if s else math.inf
        debiased += n * (
            2 * d - s * sqrt(2 / math.pi) * math.exp(-z * z / 2) - d * math.erf(z / sqrt(2))
        )
    return sum(n * d for n, d in gaps) / total, max(d for _, d in gaps), max(debiased / total, 0.0)


def groups_of_ten(y: Any, p: Any, w: Any, exact: list[Fraction]) -> float:
    """Return Hosmer and Lemeshow's statistic, the tenths told apart in exact fractions."""
    found, below, total = {}, Fraction(0), sum(exact)
    for score in np.unique(p):
        here = sum((one for one, x in zip(exact, p, strict=True) if x == score), Fraction(0))
        k = min(int(10 * (below + here / 2) / total), 9)
        found[k] = found.get(k, False) | (p == score)
        below += here
    parts = [((w * y)[g].sum(), (w * p)[g].sum(), w[g].sum()) for g in found.values()]
    return float(sum((o - e) ** 2 / (e * (1 - e / n)) for o, e, n in parts))


def quantile_of_rows(values: Any, w: Any, share: float) -> float:
    """Return a quantile, linear between the rows around (rows - 1) x share; w counts rows."""
    order = np.argsort(values)
    running = np.round(np.cumsum(w[order]), 7)
    place = round(share * (running[-1] - 1), 7)
    low, high = (
        values[order][min(np.searchsorted(running, math.floor(place) + k, "right"), len(w) - 1)]
        for k in (0, 1)
    )
    return float(low + (place % 1) * (high - low))


def spline_distances(y: Any, p: Any, w: Any) -> dict[str, float]:
    """Return ICI, E50 and E90 of a spline of three knots, or of a line below 50 rows of a class."""
    x = np.log(p) - np.log1p(-p)
    design = [np.ones(len(x)), x]
    assert len(np.unique(p)) > 20
    assert max((w * y).sum(), (w * ~y).sum()) < 200
    if min((w * y).sum(), (w * ~y).sum()) >= 50:
        a, b, c = (quantile_of_rows(x, w, share) for share in (0.1, 0.5, 0.9))
        cubes = [np.maximum(x - knot, 0) ** 3 for knot in (a, b, c)]
        term = cubes[0] - cubes[1] * (c - a) / (c - b) + cubes[2] * (b - a) / (c - b)
        design.append(term / (c - a) ** 2)
    fit = sm.GLM(y.astype(float), np.array(design).T, sm.families.Binomial(), freq_weights=w)
    distances = np.abs(fit.fit(tol=1e-14, maxiter=200).mu - p)
    return {
        "ici": np.average(distances, weights=w),
        "e50": quantile_of_rows(distances, w, 0.5),
        "e90": quantile_of_rows(distances, w, 0.9),
    }


def of_scores(y: Any, p: Any, w: Any, exact: list[Fraction]) -> dict[str, Any]:
    """Return what scores say; w counts rows, by exact fractions for borders."""
    a: dict[str, Any] = {"sample_weight": w}
    total, share = w.sum(), (w * y).sum() / w.sum()
    logit = np.log(p) - np.log1p(-p)
    brier, losses = sk.brier_score_loss(y, p, **a), sk.log_loss(y, p, **a)
    fit = sm.GLM(y.astype(float), sm.add_constant(logit), sm.families.Binomial(), freq_weights=w)
    line = fit.fit(tol=1e-14, maxiter=200).params
    ones = sm.GLM(
        y.astype(float), np.ones(len(y)), sm.families.Binomial(), offset=logit, freq_weights=w
    ).fit(tol=1e-14, maxiter=200)
    isotonic = np.clip(IsotonicRegression().fit(p, y, w).predict(p), 0, 1)
    after = sk.brier_score_loss(y, isotonic, **a), sk.log_loss(y, isotonic, **a)
    entropy = -share * log(share) - (1 - share) * log(1 - share)
    sure = np.round(np.maximum(p, 1 - p), 12)  # 1 - .42 is no .58 in floats
    right = (p > 0.5) == y
    risks = [(w * ~right)[sure >= c].sum() / w[sure >= c].sum() for c in np.unique(sure)]
    roc = sk.roc_auc_score(y, p, **a)
    precision, recall, _ = sk.precision_recall_curve(y, p, **a)
    fpr, tpr, _ = sk.roc_curve(y, p, **a)
    at = p >= 0.2
    benefit = ((w * y)[at].sum() - (w * ~y)[at].sum() / 4) / total
    ece, mce, debiased = binned(y, p, w, 10)
    found = {
        "roc_auc": roc,
        "gini": 2 * roc - 1,
        "average_precision": sk.average_precision_score(y, p, **a),
        "pr_auc": sk.auc(recall, precision),
        "ks": np.abs(tpr - fpr).max(),
        "partial_auc:fpr=0..0.3": area_over(y, p, w, 0.3),
        "auprg": gain_area(y, p, w),
        "brier": brier,
        "brier_sum": 2 * brier,
        "brier_skill": 1 - brier / (share * (1 - share)),
        "log_loss": losses,
        "log_loss_skill": sk.d2_log_loss_score(y, p, **a),
        "mean_score": (w * p).sum() / total,
        "oe_ratio": (w * y).sum() / (w * p).sum(),
        "calibration_slope": line[1],
        "calibration_intercept": line[0],
        "calibration_in_the_large": ones.params[0],
        "ece": ece,
        "mce": mce,
        "ece_debiased": debiased,
        "ece:bins=4": binned(y, p, w, 4)[0],
        "hosmer_lemeshow": groups_of_ten(y, p, w, exact),
        "spiegelhalter_z": (w * (y - p) * (1 - 2 * p)).sum()
        / sqrt((w * (1 - 2 * p) ** 2 * p * (1 - p)).sum()),
        "brier_uncertainty": share * (1 - share),
        "brier_miscalibration": brier - after[0],
        "brier_discrimination": share * (1 - share) - after[0],
        "log_loss_uncertainty": entropy,
        "log_loss_miscalibration": losses - after[1],
        "log_loss_discrimination": entropy - after[1],
        **spline_distances(y, p, w),
        "overconfidence": ((w * sure).sum() - (w * right).sum()) / total,
        "aurc": np.mean(risks),
        "selective_accuracy:coverage=0.6": top(right, sure, w, 0.6) / (0.6 * total),
        "net_benefit:t=0.2": benefit,
        "net_benefit@t:t=0.2": benefit,
        "net_benefit_standardised:t=0.2": benefit / share,
        "interventions_avoided:t=0.2": 400 * (benefit - (share - (1 - share) / 4)),
    }
    for k in (0.2, 7.0):
        hits, taken = top(y, p, w, k), k * total if k <= 1 else k
        there = total >= taken
        found |= {
            f"precision@k:k={k:g}": hits / taken if there else None,
            f"recall@k:k={k:g}": hits / (w * y).sum() if there else None,
            f"lift@k:k={k:g}": hits / taken / share if there else None,
        }
        found[f"gain@k:k={k:g}"] = found[f"recall@k:k={k:g}"]
    return found


@pytest.mark.parametrize("seed", thinned(TABLES, [0, 1, 2, 3]))
def test_all_measures_of_two_classes(seed: int) -> None:
    rng = np.random.default_rng([17, seed])
    n, sampling = int(rng.integers(60, 160)), bool(seed % 2)
    y = rng.random(n) < 0.4
    y[:2] = True, False
    models = {}
    for name in "ab":
        z = rng.normal(1.5 * y - 1, 1.2)
        p = np.clip(logistic(z, (2, 4, 9)[seed % 3]), 0.01, 0.99)
        models[name] = np.where(p == 0.5, 0.51, p)
    places = (1, 2, 3, 6)[seed // 2 % 4]
    texts = [f"{x:.{places}f}" for x in rng.gamma(2.0, 0.6, n) + 0.1]
    if sampling and seed % 4 == 1:
        texts = [str(x) for x in rng.choice([1, 10, 25, 40], n)]
    exact = [Fraction(one) for one in texts]
    site = rng.choice(["s", "t"], n)
    frame = pl.DataFrame(
        {"y": y.astype(int), **models, "w": [float(one) for one in texts], "site": site}
    )
    result = clfeval.report(
        frame,
        truth="y",
        weight="w",
        sampling_weights=sampling,
        by="site",
        measure=NAMED,
        interval="none",
    )
    mean = sum(exact) / n if sampling else Fraction(1)
    compared, known = 0, dict[tuple[Any, str], dict[str, Any]]()
    for row in result.tables["measures"]:
        part, model, metric = row["slice"], str(row["model"]), str(row["measure"])
        if (part, model) not in known:
            some = np.ones(n, bool) if part is None else site == str(part)[-1]
            w = [one / mean for one, yes in zip(exact, some, strict=True) if yes]
            mine = y[some], models[model][some]
            known[part, model] = of_table(mine[0], mine[1] >= 0.5, w) | of_scores(
                *mine, np.array([float(one) for one in w]), w
            )
        expected, value = known[part, model].pop(metric), estimate_of(row["value"]).value
        if expected is None:
            assert value is None, metric
        else:
            assert value == pytest.approx(float(expected), rel=NEAR, abs=NEAR), metric
        compared += 1
    assert compared > 500
