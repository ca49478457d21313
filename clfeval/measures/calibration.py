"""Calibration of probabilities, overconfidence, and accuracy by confidence (risk-coverage).

Scores (m,), ascending, are distinct probabilities of the positive class, with positives and
negatives (..., m) at each; results are (...). ValueError for scores outside 0..1. row: how many
counts make a row.
"""

from __future__ import annotations

import math
from math import inf
from typing import Any

import numpy as np

from clfeval.arrays import Counts, Floats, Influence, Ints, cache_last_call, divide
from clfeval.measures.logistic import (
    fisher_information,
    fit_intercept,
    fit_line,
    fitted_probabilities,
    log_odds,
    log_odds_slice,
)
from clfeval.measures.probability import (
    check_probabilities,
    class_totals,
    distinct_starts,
    given_probabilities,
    loss_influence,
    mean_class_loss,
    sum_at_scores,
    sum_of_powers,
)
from clfeval.measures.record import Measure

BINS = 10  # default number
_DECILES = 10
_BORDER = 1e-9  # of the rows in a tenth: tolerance for rounded weights at its end
ERF = np.vectorize(math.erf, otypes=[np.float64])


def calibration_slope(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the calibration slope b of the logistic regression of truth on the log odds x.

    P(positive) = 1 / (1 + exp(-a - b x))   x = ln(p / (1 - p))

    over the rows with p within 2**-52..1 - 2**-52. Below 1 probabilities are too extreme, above 1
    too moderate. Best 1; NaN with one class (single_class), and where a probability separates the
    classes or there is only one (separation).
    Source: Cox 1958, Biometrika 45:562; Van Calster et al. 2019, BMC Medicine 17:230.
    """
    return np.asarray(fit_line(*_finite_scores(scores, positives, negatives))[1])


def calibration_intercept(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the intercept a of the regression of `calibration_slope`; best 0; else as there."""
    return np.asarray(fit_line(*_finite_scores(scores, positives, negatives))[0])


def calibration_in_the_large(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return calibration-in-the-large: the intercept a with the slope b fixed at 1.

    Above 0 probabilities are too low, below 0 too high; best 0; NaN with one class.
    """
    return fit_intercept(*_finite_scores(scores, positives, negatives))


@cache_last_call
def _finite_scores(scores: Counts, positives: Counts, negatives: Counts) -> Any:
    """Return log odds, positives and negatives of scores with log odds, as three arrays."""
    inner_slice = log_odds_slice(scores)
    finite_columns = np.empty(3, object)
    for column_index, column in enumerate((log_odds(scores), positives, negatives)):
        finite_columns[column_index] = column[..., inner_slice]
    return finite_columns


def slope_influence(scores: Counts, positives: Counts, negatives: Counts) -> Influence:
    """Return the influence on the slope: M x inverse information x score function of a row.

    f = M (y - mu) (x - mean) / sum w (x - mean)²   w = n mu (1 - mu), mean = sum w x / sum w

    Its variance is the sandwich's; 0 for rows without log odds. NaN as the slope is.
    Source: Huber 1967, Fifth Berkeley Symposium 1:221.
    """
    finite_columns = _finite_scores(scores, positives, negatives)
    sums = _sandwich(*finite_columns)
    _, mean, inverse_squares = sums[:3].tolist()  # the last: M / sum w (x - mean)²
    counts = scores, positives, negatives
    return _line_influence(
        counts, fit_line(*finite_columns), -mean * inverse_squares, inverse_squares, sums
    )


def intercept_influence(scores: Counts, positives: Counts, negatives: Counts) -> Influence:
    """Return the influence on the intercept, M (y - mu) / sum w - mean times that on the slope."""
    finite_columns = _finite_scores(scores, positives, negatives)
    sums = _sandwich(*finite_columns)
    inverse_weight, mean, inverse_squares = sums[:3].tolist()  # see `fisher_information`
    c = inverse_weight + mean**2 * inverse_squares
    counts = scores, positives, negatives
    return _line_influence(counts, fit_line(*finite_columns), c, -mean * inverse_squares, sums)


def _line_influence(
    counts: tuple[Counts, Counts, Counts], line: Floats, c: float, d: float, sums: Floats
) -> Influence:
    """Return (y - mu) (c + d x), scaled to M rows, of rows with log odds; 0 for other rows.

    counts: scores, positives and negatives. line: intercept a and slope b, which give mu. sums:
    those of `fisher_information`.
    """
    scores, positives, negatives = counts
    x = log_odds(scores)
    inner_slice = log_odds_slice(scores)
    a, b = line.tolist()
    inner_rows = positives[inner_slice].sum() + negatives[inner_slice].sum()
    scale = float(divide(positives.sum() + negatives.sum(), inner_rows))
    c, d = c * scale, d * scale

    def values_at(indices: Ints | slice, y: bool) -> Floats:
        influence = (y - fitted_probabilities(x[indices], a, b)) * (c + d * x[indices])
        positions = np.arange(len(x))[indices] if isinstance(indices, slice) else indices
        return np.asarray(
            influence * ((positions >= inner_slice.start) & (positions < inner_slice.stop))
        )

    shift = c + d * float(sums[3])  # c + d x is shift + d (x - centre)
    squares = sum_of_powers(2, shift, d, sums[4:7])
    fourth_powers = sum_of_powers(4, shift, d, sums[7:])
    return Influence(len(x), values_at, lambda: (squares, fourth_powers))


@cache_last_call
def _sandwich(x: Floats, positives: Counts, negatives: Counts) -> Floats:
    """Return `fisher_information` at the fitted line."""
    return fisher_information(x, positives, negatives, *fit_line(x, positives, negatives).tolist())


def in_the_large_influence(scores: Counts, positives: Counts, negatives: Counts) -> Influence:
    """Return the influence on the intercept at slope 1: M (y - mu) / sum n mu (1 - mu)."""
    x, pos, neg = _finite_scores(scores, positives, negatives)
    a = fit_intercept(x, pos, neg)
    sums = fisher_information(x, pos, neg, float(a), 1.0, free_slope=False)
    line = np.array([a, 1.0])
    return _line_influence((scores, positives, negatives), line, sums[0], 0.0, sums)


def oe_ratio(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return observed positives / expected ones, P / sum of the probabilities; best 1.

    Above 1 the probabilities are too low, below 1 too high. Range 0..inf; NaN for 0/0.
    Source: Debray et al. 2017, BMJ 356:i6460, where 1 is best.
    """
    p, n = class_totals(positives, negatives)
    return divide(p, (p + n) * mean_class_loss(given_probabilities, scores, positives, negatives))


def oe_influence(scores: Counts, positives: Counts, negatives: Counts) -> Influence:
    """Return the influence on observed / expected, (y - O/E p) / mean p."""
    counts = scores, positives, negatives
    ratio = oe_ratio(*counts)
    ratio = np.where(np.isfinite(ratio), ratio, np.nan)
    mean_p = mean_class_loss(given_probabilities, *counts)
    return loss_influence(given_probabilities, counts, *divide([-ratio, 1, 0], mean_p))


def ece(scores: Counts, positives: Counts, negatives: Counts, bins: int = BINS) -> Floats:
    """Return the expected calibration error: sum of n_b / M |share of positives - mean p| by bin.

    Bins of equal width: [a, b), the last closed; empty ones count nothing. Range 0..1, best 0,
    biased upwards; NaN without rows. ValueError unless bins >= 1, and for scores not ascending.
    Source: Naeini, Cooper and Hauskrecht 2015, AAAI 29:2901.
    """
    gaps, rows, _ = _bin_sums(scores, positives, negatives, bins)
    return divide(np.abs(gaps).sum(axis=-1), rows.sum(axis=-1))


def mce(scores: Counts, positives: Counts, negatives: Counts, bins: int = BINS) -> Floats:
    """Return the maximum |share of positives - mean probability| over bins; else as `ece`."""
    gaps, rows, _ = _bin_sums(scores, positives, negatives, bins)
    bin_errors = np.divide(np.abs(gaps), rows, out=np.zeros_like(gaps), where=rows > 0)
    return np.where(rows.sum(axis=-1) > 0, bin_errors.max(axis=-1, initial=0.0), np.nan)


def ece_debiased(
    scores: Counts, positives: Counts, negatives: Counts, bins: int = BINS, row: float = 1
) -> Floats:
    """Return the expected calibration error corrected for its bias, at least 0; else as `ece`.

    sum over bins of n_b / M (2 |d| - E|X|)   X normal around d with variance s² = o (1 - o) / n_b
    E|X| = s sqrt(2/pi) exp(-d²/(2 s²)) + |d| erf(|d| / (s sqrt 2))   d = o - mean probability

    o: the share of positives. Source: Kumar, Liang and Ma 2019, NeurIPS 32, the normal
    approximation of their program, here without its random draws.
    """
    gaps, n, observed = _bin_sums(scores, positives, negatives, bins)
    d = np.divide(np.abs(gaps), n, out=np.zeros_like(n), where=n > 0)
    o = np.divide(observed, n, out=np.zeros_like(n), where=n > 0)
    s = np.sqrt(np.divide(o * (1 - o) * row, n, out=np.zeros_like(n), where=n > 0))
    z = np.divide(d, s, out=np.full_like(d, inf), where=s > 0)
    expected_error = s * math.sqrt(2 / math.pi) * np.exp(-z * z / 2) + d * ERF(z / math.sqrt(2))
    return np.maximum(divide((n * (2 * d - expected_error)).sum(axis=-1), n.sum(axis=-1)), 0.0)


def _bin_sums(
    scores: Counts, positives: Counts, negatives: Counts, bins: int
) -> tuple[Floats, Floats, Floats]:
    """Return observed - expected positives, rows and positives of nonempty bins, (..., b)."""
    if bins < 1 or int(bins) != bins:
        raise ValueError(f"{bins} bins")
    inner_edges = np.arange(1, bins) / bins
    starts = distinct_starts(
        np.searchsorted(inner_edges, check_probabilities(scores), side="right")
    )
    observed, rows, expected = _group_sums(scores, positives, negatives, starts)
    return observed - expected, rows, observed


def _group_sums(
    scores: Counts, positives: Counts, negatives: Counts, starts: Ints
) -> tuple[Floats, Floats, Floats]:
    """Return positives, rows and expected positives of groups of neighbouring scores, (..., g)."""
    rows = positives + negatives
    columns = positives, rows, rows * check_probabilities(scores)
    observed, row_sums, expected = (
        np.add.reduceat(column, starts, axis=-1, dtype=np.float64) for column in columns
    )
    return observed, row_sums, expected


def hosmer_lemeshow(scores: Counts, positives: Counts, negatives: Counts, row: float = 1) -> Floats:
    """Return the Hosmer-Lemeshow statistic: sum of (O - E)² / (E (1 - E / n)) over deciles.

    Equal scores are in one group. On new data chi-square with as many degrees of freedom as groups,
    if calibrated. Range 0..inf, best 0; NaN without rows. ValueError for scores not ascending.
    Source: Hosmer and Lemeshow 1980, Communications in Statistics A 9:1043.
    """
    observed, n, expected = _group_sums(scores, positives, negatives, distinct_starts(scores))
    total_rows = n.sum(axis=-1)
    middle_shares = divide(n.cumsum(axis=-1) - n / 2, np.maximum(total_rows, 1e-300)[..., None])
    group_indices = np.minimum((_DECILES * middle_shares + _BORDER).astype(np.int64), _DECILES - 1)
    shape = (-1, n.shape[-1])
    # the cells of tables follow one another, ten groups each
    table_starts = np.arange(int(np.prod(n.shape[:-1])))[:, None] * _DECILES
    cell_indices = table_starts + group_indices.reshape(shape)
    o, e, m = (
        np.bincount(cell_indices.ravel(), counts.ravel(), _DECILES * len(cell_indices)).reshape(
            -1, _DECILES
        )
        for counts in (observed, expected, n)
    )
    squares = (o - e) ** 2
    variances = np.maximum(e * (1 - divide(e, np.maximum(m, 1))), 0.0)
    terms = np.where(squares > 0, divide(squares, variances), 0.0)
    return np.where(total_rows > 0, terms.sum(axis=-1).reshape(total_rows.shape) / row, np.nan)


def spiegelhalter_z(scores: Counts, positives: Counts, negatives: Counts, row: float = 1) -> Floats:
    """Return Spiegelhalter's z: the Brier score against its expectation under calibration.

    sum (y - p) (1 - 2 p) / sqrt(sum (1 - 2 p)² p (1 - p)), normal where they are calibrated

    Best 0; NaN where all probabilities are 0, 1/2 or 1 and no row is contrary.
    Source: Spiegelhalter 1986, Statistics in Medicine 5:421.
    """
    p = check_probabilities(scores)
    n = positives + negatives
    numerator = ((positives - n * p) * (1 - 2 * p)).sum(axis=-1)
    return divide(numerator, np.sqrt(row * (n * (1 - 2 * p) ** 2 * p * (1 - p)).sum(axis=-1)))


_COX = "Cox 1958, Biometrika 45:562"
_NAEINI = "Naeini et al. 2015, AAAI 29:2901"
_FEW, _SEPARATED_CLASSES = ("too_few_rows",), ("single_class", "separation")
_EDGES = f"{BINS} bins of equal width [a, b) by default, the last one closed"
_TOP = "; for more classes, of the largest probability and the accuracy"
_BIASED = "biased upwards, most with few rows per bin; it depends on the bins"

CALIBRATION = (
    Measure(
        "ece",
        "ECE",
        ece,
        "probabilities",
        _FEW,
        "null",
        f"mean over bins of |share of positives - mean score|, {_EDGES}{_TOP}",
        _NAEINI,
        ("expected_calibration_error",),
        best="min",
        takes=("bins",),
        caveat=_BIASED,
    ),
    Measure(
        "mce",
        "MCE",
        mce,
        "probabilities",
        _FEW,
        "null",
        f"greatest |share of positives - mean score| over bins, {_EDGES}{_TOP}",
        _NAEINI,
        ("maximum_calibration_error",),
        best="min",
        takes=("bins",),
        caveat=_BIASED,
    ),
    Measure(
        "ece_debiased",
        "ECE (debiased)",
        ece_debiased,
        "probabilities",
        _FEW,
        "null",
        "ECE minus its expected bias in each bin",
        "Kumar et al. 2019, NeurIPS 32",
        best="min",
        takes=("bins",),
        fills=("row",),
        caveat="some bias remains, and it depends on the bins",
    ),
    Measure(
        "calibration_slope",
        "calibration slope",
        calibration_slope,
        "probabilities",
        _SEPARATED_CLASSES,
        "influence",
        "b of the logistic regression logit P(y = 1) = a + b ln(p / (1 - p))",
        _COX,
        ("slope",),
        best="one",
        low=-inf,
        high=inf,
        influence=slope_influence,
    ),
    Measure(
        "calibration_intercept",
        "calibration intercept",
        calibration_intercept,
        "probabilities",
        _SEPARATED_CLASSES,
        "influence",
        "a of the logistic regression logit P(y = 1) = a + b ln(p / (1 - p))",
        _COX,
        best="zero",
        low=-inf,
        high=inf,
        influence=intercept_influence,
    ),
    Measure(
        "calibration_in_the_large",
        "calibration-in-the-large",
        calibration_in_the_large,
        "probabilities",
        _SEPARATED_CLASSES,
        "influence",
        "a of the logistic regression logit P(y = 1) = a + ln(p / (1 - p))",
        _COX,
        ("citl",),
        best="zero",
        low=-inf,
        high=inf,
        influence=in_the_large_influence,
    ),
    Measure(
        "oe_ratio",
        "O:E ratio",
        oe_ratio,
        "probabilities",
        ("nothing_expected",),
        "influence",
        "positives / sum of the probabilities",
        "Debray et al. 2017, BMJ 356:i6460",
        ("observed_expected",),
        best="one",
        high=inf,
        influence=oe_influence,
        scale="log",
    ),
    Measure(
        "hosmer_lemeshow",
        "Hosmer-Lemeshow",
        hosmer_lemeshow,
        "probabilities",
        _FEW,
        "null",
        "sum over ten groups of (O - E)² / (E (1 - E / n))",
        "Hosmer and Lemeshow 1980, Communications in Statistics A 9:1043",
        best="min",
        high=inf,
        caveat="it grows with the number of rows and depends on the groups; prefer calibration"
        " slope and intercept",
        fills=("row",),
    ),
    Measure(
        "spiegelhalter_z",
        "Spiegelhalter z",
        spiegelhalter_z,
        "probabilities",
        ("no_uncertainty",),
        "null",
        "sum (y - p) (1 - 2p) / sqrt(sum (1 - 2p)² p (1 - p))",
        "Spiegelhalter 1986, Statistics in Medicine 5:421",
        best="zero",
        low=-inf,
        high=inf,
        caveat="a test statistic: it grows with the number of rows",
        fills=("row",),
    ),
)


COVERAGE = 0.8  # the default
DIGITS = 14  # of a confidence: .3 and .7 have the same, though 1 - .7 is not .3 in binary digits


def risk_coverage_area(confidence: Floats, right: Counts, errors: Counts) -> Floats:
    """Return the area under the risk-coverage curve: the mean risk over all distinct coverages.

    risk(c) = errors / rows among the rows whose confidence is at least c

    Shapes: confidence (m,); right and errors (..., m). Range 0..1, best 0; NaN without rows.
    Source: El-Yaniv and Wiener 2010, Journal of Machine Learning Research 11:1605, the curve;
    Geifman, Uziel and El-Yaniv 2019, ICLR, the mean.
    """
    errors, rows = _descending_confidence(confidence, right, errors)
    has_rows = rows > 0  # no new coverage where a resample has no row
    risk = divide(errors.cumsum(axis=-1), np.maximum(rows.cumsum(axis=-1), 1e-300))
    return divide((risk * has_rows).sum(axis=-1), has_rows.sum(axis=-1))


def confident_accuracy(
    confidence: Floats, right: Counts, errors: Counts, coverage: float = COVERAGE
) -> Floats:
    """Return the accuracy of the given share of rows with the highest confidence; 0..1, best 1.

    Ties count in expectation; NaN without rows. Shapes and source as `risk_coverage_area`: one
    point of the curve. ValueError unless 0 < coverage <= 1.
    """
    if not 0 < coverage <= 1:
        raise ValueError(f"the coverage {coverage:g} is not above 0 and at most 1")
    errors, rows = _descending_confidence(confidence, right, errors)
    classified_rows = coverage * rows.sum(axis=-1)
    rows_above = rows.cumsum(axis=-1) - rows
    included_rows = np.clip(classified_rows[..., None] - rows_above, 0, rows)
    included_shares = np.divide(included_rows, rows, out=np.zeros_like(rows), where=rows > 0)
    return np.asarray(1 - divide((errors * included_shares).sum(axis=-1), classified_rows))


def _descending_confidence(
    confidence: Floats, right: Counts, errors: Counts
) -> tuple[Floats, Floats]:
    """Return errors and rows at each distinct confidence, in descending order."""
    order = np.argsort(-confidence, kind="stable")
    starts = distinct_starts(-confidence[order])
    error_sums, row_sums = (
        np.add.reduceat(row_counts[..., order], starts, axis=-1, dtype=np.float64)
        for row_counts in (errors, right + errors)
    )
    return error_sums, row_sums


def _likelier_class(
    scores: Counts, positives: Counts, negatives: Counts
) -> tuple[Floats, Counts, Counts]:
    """Return the confidence of the more probable class, and correct and wrong predictions."""
    p = check_probabilities(scores)
    pos, neg, _ = sum_at_scores(p, positives, negatives)
    p = p[distinct_starts(p)]
    is_positive = p >= 0.5  # the default threshold
    confidence = np.asarray(np.round(np.maximum(p, 1 - p), DIGITS), np.float64)
    return confidence, np.where(is_positive, pos, neg), np.where(is_positive, neg, pos)


def aurc(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the area under the risk-coverage curve of the more probable of two classes.

    Errors: ValueError for scores not ascending.
    """
    return risk_coverage_area(*_likelier_class(scores, positives, negatives))


def selective_accuracy(
    scores: Counts, positives: Counts, negatives: Counts, coverage: float = COVERAGE
) -> Floats:
    """Return the `confident_accuracy` of the more probable class; shapes, errors as `aurc`."""
    return confident_accuracy(*_likelier_class(scores, positives, negatives), coverage)


def overconfidence(scores: Counts, positives: Counts, negatives: Counts) -> Floats:
    """Return the mean confidence max(p, 1 - p) minus the accuracy: -1/2..1, best 0.

    Above 0 overconfident, below 0 underconfident; NaN without rows. Errors: as `aurc`.
    Source: Lichtenstein, Fischhoff and Phillips 1982, in Judgment under Uncertainty, chapter 22.
    """
    confidence, right, errors = _likelier_class(scores, positives, negatives)
    rows = right + errors
    return divide((rows * confidence - right).sum(axis=-1), rows.sum(axis=-1))


def overconfidence_influence(scores: Counts, positives: Counts, negatives: Counts) -> Influence:
    """Return the influence on the overconfidence, that of a mean: max(p, 1 - p) - right - mean."""
    p = check_probabilities(scores)
    mean = overconfidence(scores, positives, negatives)
    confidence = np.maximum(p, 1 - p)
    is_positive = p >= 0.5

    def values_at(indices: Ints | slice, y: bool) -> Floats:
        return np.asarray(confidence[indices] - (is_positive[indices] == y) - mean)

    return Influence(len(p), values_at)


_YANIV = "El-Yaniv and Wiener 2010, Journal of Machine Learning Research 11:1605"

SELECTIVE = (
    Measure(
        "aurc",
        "AURC",
        aurc,
        "probabilities",
        ("too_few_rows",),
        "drawn",
        "mean error rate over all coverages, rows in order of their largest class probability",
        _YANIV,
        ("risk_coverage",),
        best="min",
    ),
    Measure(
        "selective_accuracy",
        "selective accuracy",
        selective_accuracy,
        "probabilities",
        ("too_few_rows",),
        "drawn",
        "accuracy in the rows with the largest class probabilities",
        _YANIV,
        ("accuracy_at_coverage",),
        takes=("coverage",),
    ),
    Measure(
        "overconfidence",
        "overconfidence",
        overconfidence,
        "probabilities",
        ("too_few_rows",),
        "influence",
        "mean of the largest class probability - accuracy",
        "Lichtenstein, Fischhoff and Phillips 1982, in Judgment under Uncertainty, chapter 22",
        best="zero",
        low=-1,
        influence=overconfidence_influence,
        caveat="over- and underconfidence in different rows cancel out; see also ece",
    ),
)
