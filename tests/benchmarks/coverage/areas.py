"""Areas under the ROC curve: near an end, with few rows, of classes spread unalike; differences."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import ndtr, ndtri

from clfeval.compare.paired import PairedEstimates, errors_of_rows
from clfeval.inference.delong import delong_auc
from clfeval.measures.catalog import CATALOG
from tests.benchmarks.coverage import Line

LEVEL, LEAST = 0.95, 0.92
SIZES = (60, 150, 300)
# prevalence, distance of the normal scores, standard deviation of the positives (negatives 1)
SETTINGS = (
    (0.15, 2.9, 1.0), (0.5, 3.93, 1.0), (0.3, 2.0, 1.0), (0.3, 0.8, 1.0), (0.15, 4.5, 2.0),
    (0.85, 2.25, 0.5),
)  # fmt: skip
PAIRS = ((0.96, 0.86), (0.8, 0.75), (0.9, 0.9), (0.99, 0.95))
RARE, ALIKE = (0.05, 0.1, 0.5), (0.5, 0.9)
MOST = 0.06  # of what is said falsely


def lines(replicates: int) -> list[Line]:
    """Return a line per setting and number of rows; of differences, what they say falsely too."""
    found = [_line(rows, *setting, replicates) for setting, rows in product(SETTINGS, SIZES)]
    for rows, pair, share, alike in product((100, 200, 1000), PAIRS, RARE, ALIKE):
        found += _differing(rows, pair, share, alike, replicates)
    return found


def _line(rows: int, prevalence: float, far: float, spread: float, replicates: int) -> Line:
    rng, inside, widths = np.random.default_rng([6, rows]), 0, []
    area = float(ndtr(far / np.hypot(1, spread)))
    while len(widths) < replicates:
        truth = rng.random(rows) < prevalence
        if not 1 < truth.sum() < rows - 1:
            continue  # with one row of a class there is no interval
        scores = rng.standard_normal(rows) * np.where(truth, spread, 1) + far * truth
        positive = truth[np.argsort(scores)]
        found = delong_auc(positive, ~positive, level=LEVEL)
        inside += found.low <= area <= found.high
        widths.append(found.high - found.low)
    setting = f"{rows} rows, prevalence {prevalence:g}, area {area:.3f}, spread {spread:g} to 1"
    if min(widths) <= 0:
        raise AssertionError(f"an interval of width zero: {setting}")
    covered, width = inside / replicates, np.mean(widths).item()
    return Line("ROC AUC", setting, replicates, covered, least=LEAST, width=width)


def _differing(
    rows: int, pair: tuple[float, float], share: float, alike: float, replicates: int
) -> list[Line]:
    """Return how often the limits of a difference hold, and exclude 0, or the true one from it.

    Of unequal areas that is how often the lesser is not worse by the margin that is the truth.
    """
    rng, apart = np.random.default_rng([8, rows]), np.sqrt(2) * ndtri(pair)
    ends: list[tuple[float, float]] = []
    while len(ends) < replicates:
        truth = rng.random(rows) < share
        if not 1 < truth.sum() < rows - 1:
            continue
        noise = rng.standard_normal((3, rows))
        scores = np.sqrt(alike) * noise[0] + np.sqrt(1 - alike) * noise[1:]
        scores += apart[:, None] * truth
        areas, moved = zip(*(_placed(one, truth) for one in scores), strict=True)
        sizes = np.array([rows - truth.sum(), truth.sum()], np.float64)
        known = errors_of_rows(moved, None, None, fewest=sizes.min().item())
        both = PairedEstimates("roc_auc", CATALOG["roc_auc"], ("a", "b"), np.array(areas), known,
                               sizes.min().item(), np.ones((2, 2)), sizes)  # fmt: skip
        _, low, high, _ = both.intervals(np.array([0]), np.array([1]), level=LEVEL)
        ends.append((low.item(), high.item()))
    (low, high), true = np.array(ends).T, pair[0] - pair[1]
    held = ((low <= true) & (true <= high)).mean().item()
    setting = (
        f"{rows} rows, prevalence {share:g}, areas {pair[0]:g} and {pair[1]:g}, {alike:g} alike"
    )
    width = np.median(high - low).item()
    found = [Line("difference of ROC AUC", setting, replicates, held, least=0.93, width=width)]
    false = (high < true) if true else (low > 0) | (high < 0)
    what = "not worse" if true else "better or worse"
    return [*found, Line(f"{what} (false)", setting, replicates, false.mean().item(), most=MOST)]


def _placed(scores: np.ndarray, truth: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the area and the influence of rows on it, as DeLong has it."""
    wins = (scores[truth][:, None] > scores[~truth]) * 1.0
    area, rows, moved = wins.mean().item(), len(truth), np.empty(len(truth))
    for which, each in ((truth, wins.mean(axis=1)), (~truth, wins.mean(axis=0))):
        n = which.sum()
        moved[which] = (each - area) * rows / n * np.sqrt(n / (n - 1) * (rows - 1) / rows)
    return area, moved
