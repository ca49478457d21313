"""Every threshold of a table of scores, one after the other, with plain formulas."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from clfeval.counts.scores import ScoreCounts

FIXTURES = Path(__file__).parents[3] / "fixtures"
TIE = 1e-12

Point = tuple[float, int, int]  # threshold, positives and negatives at or above it
MINIMISED = ("expected_cost", "lr_neg")
COST_FP, COST_FN = 1, 5


def ratio(part: float, whole: float) -> float:
    """Divide: NaN for 0/0, infinite for more than 0 over 0."""
    if whole:
        return part / whole
    return math.inf if part else math.nan


def measure_value(
    name: str, tp: int, fp: int, p: int, n: int, odds: float, beta: float = 1
) -> float:
    """Return a measure of tp of p positives and fp of n negatives at `odds` : 1."""
    tn, fn = n - fp, p - tp
    # weights of one positive and of one negative, which together make the odds
    a, b, c, d = odds * tp / p, fp / n, odds * fn / p, tn / n
    m = odds + 1
    match name:
        case "tar":
            return (a + d) / m
        case "tor":
            return ratio(a + d, b + c)
        case "ppv":
            return ratio(a, a + b)
        case "npv":
            return ratio(d, d + c)
        case "ppv_odds":
            return ratio(a, b)
        case "npv_odds":
            return ratio(d, c)
        case "epa":
            return (ratio(a, b) + ratio(d, c)) / 2
        case "f_beta":
            return (1 + beta**2) * a / ((1 + beta**2) * a + beta**2 * c + b)
        case "mcc":
            # odds cancel out of TP TN - FP FN = odds (tp tn - fp fn) / (p n)
            return ratio((tp * tn - fp * fn) * odds / (p * n), math.sqrt((a + b) * (c + d) * odds))
        case "ic":
            if tp * n == fp * p:
                return 0.0
            cells = ((a, odds, a + b), (b, 1, a + b), (c, odds, c + d), (d, 1, c + d))
            shared = sum(x * math.log(x * m / (y * z)) for x, y, z in cells if x)
            return shared / (m * math.log(m) - odds * math.log(odds))
        case "sensitivity":
            return tp / p
        case "specificity":
            return tn / n
        case "j_index":
            return tp / p - fp / n
        case "lr_pos":
            return ratio(tp / p, fp / n)
        case "lr_neg":
            return ratio(fn / p, tn / n)
        case "dor":
            return ratio(tp * tn, fp * fn)
        case "expected_cost":
            return (COST_FP * b + COST_FN * c) / m
    raise ValueError(name)


def every_point(rows: Iterable[tuple[float, int]]) -> list[Point]:
    """Return all thresholds of (score, truth) rows from infinity down, asking every row."""
    table = list(rows)
    cuts = [math.inf, *sorted({score for score, _ in table}, reverse=True)]
    points = []
    for cut in cuts:
        tp = sum(truth for score, truth in table if score >= cut)
        points.append((cut, tp, sum(1 for score, _ in table if score >= cut) - tp))
    return points


def best_point(
    points: Sequence[Point], name: str, odds: float, beta: float = 1
) -> tuple[float, float | None]:
    """Return the best value and its threshold, None where all are undefined.

    Of values equal to 1e-12 the point of larger delta, then of higher threshold.
    """
    _, p, n = points[-1]
    sign = -1 if name in MINIMISED else 1
    values = [measure_value(name, tp, fp, p, n, odds, beta) for _, tp, fp in points]
    known = [sign * value for value in values if not math.isnan(value)]
    if not known:
        return math.nan, None
    top = max(known)
    least = top if math.isinf(top) else top - TIE * abs(top)
    tied = [
        (Fraction(tp, p) - Fraction(fp, n), cut, value)
        for (cut, tp, fp), value in zip(points, values, strict=True)
        if sign * value >= least
    ]
    _, cut, value = max(tied)
    return value, cut


def score_counts(rows: Iterable[tuple[float, int]]) -> ScoreCounts:
    """Count (score, truth) rows without any of clfeval's counting."""
    table = list(rows)
    hits = Counter(score for score, truth in table if truth)
    misses = Counter(score for score, truth in table if not truth)
    scores = sorted({*hits, *misses})
    columns = ([hits[score] for score in scores], [misses[score] for score in scores])
    return ScoreCounts(
        np.array(scores, np.float64), *(np.array(column, np.int64) for column in columns)
    )


def fixture(
    name: str, column: str, positive: str, decimals: int | None = None
) -> list[tuple[float, int]]:
    """Read the scores of a fixture, rounded if asked for, which makes many ties."""
    with (FIXTURES / name).open(encoding="utf-8") as stream:
        rows = [(float(row[column]), row["truth"]) for row in csv.DictReader(stream)]
    return [
        (score if decimals is None else round(score, decimals), int(truth == positive))
        for score, truth in rows
    ]
