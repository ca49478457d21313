"""The exact test of few differing rows: against every swap, and how often equal models differ."""

from __future__ import annotations

from itertools import product
from math import comb, factorial

import numpy as np
import pytest

from clfeval.compare.label_swaps import MOST_SWAPPED
from clfeval.compare.paired_estimates import SWAPPED, PairedEstimates
from clfeval.counts.patterns import PatternCounts
from clfeval.measures.confusion import Confusion
from clfeval.methods.measurement.label_measures import label_estimates
from clfeval.methods.measurement.requested_measures import parse_measures
from tests.thoroughness import thinned

MEASURES = (
    "mcc",
    "f1",
    "kappa",
    "precision",
    "npv",
    "sensitivity",
    "markedness",
    "f_beta:beta=2",
    "dor",
    "lr_neg",
)
PAIR = np.array([0]), np.array([1])


def estimates_of(
    measure: str, truth: np.ndarray, votes: np.ndarray, weights: np.ndarray | None = None
) -> PairedEstimates:
    """Return the paired estimates of models, votes (rows, models), by a measure."""
    names = [f"m{place}" for place in range(votes.shape[1])]
    n = np.ones(len(truth), np.int64) if weights is None else weights
    patterns = PatternCounts.from_votes(names, truth, votes, n)
    (requested,) = parse_measures([measure])
    estimates = label_estimates(patterns, requested)
    assert estimates is not None
    return estimates


def table_of(truth: np.ndarray, votes: np.ndarray) -> Confusion:
    """Return the 2 x 2 table of one model."""
    cells = (truth & votes, ~truth & votes, truth & ~votes, ~truth & ~votes)
    return Confusion(*(np.float64(cell.sum()) for cell in cells))


def p_of_all_swaps(measure: str, truth: np.ndarray, votes: np.ndarray) -> float:
    """Return the share of all swaps of differing rows with a larger difference, equal ones half."""
    (requested,) = parse_measures([measure])
    function = requested.measure.function
    relevant = truth if measure == "sensitivity" else np.ones(len(truth), bool)
    differing = np.flatnonzero((votes[:, 0] != votes[:, 1]) & relevant)

    def difference(of_swap: np.ndarray) -> float:
        with np.errstate(invalid="ignore", divide="ignore"):
            first, second = (function(table_of(truth, of_swap[:, model])) for model in (0, 1))
        return abs(float(first) - float(second))

    observed = difference(votes)
    larger = 0.0
    for swap in product([False, True], repeat=len(differing)):
        swapped = votes.copy()
        rows = differing[np.array(swap, bool)]
        swapped[rows] = votes[rows][:, ::-1]
        equal = difference(swapped) == pytest.approx(observed, rel=1e-9)
        larger += 0.5 if equal else not difference(swapped) < observed
    return larger / 2 ** len(differing)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seed", range(3))
def test_p_is_at_least_the_mid_p_of_all_swaps(measure: str, seed: int) -> None:
    """Whatever p the error gives; and both agree on whether the interval excludes 0."""
    rng = np.random.default_rng(seed)
    truth = rng.random(60) < 0.4
    votes = np.repeat((rng.random(60) < 0.2)[:, None], 2, axis=1)
    differing = rng.permutation(60)[: 4 + seed]
    votes[differing, 0] = truth[differing]
    votes[differing, 1] = ~truth[differing]
    estimates = estimates_of(measure, truth, votes)
    exact = p_of_all_swaps(measure, truth, votes)
    (by_error,) = estimates._p_values_by_error(*PAIR)
    (p,) = estimates.p_values(*PAIR)
    assert p == pytest.approx(max(by_error, exact), abs=1e-12)
    _, low, high, extended = estimates.intervals(*PAIR, level=0.95)
    assert bool(low[0] > 0 or high[0] < 0) == (p < 0.05)
    assert bool(extended[0]) == (by_error < 0.05 <= exact)
    assert estimates.method(0, 1, wide=bool(extended[0])).endswith(SWAPPED) == bool(extended[0])


def claim_rates(measure: str, truth: np.ndarray, common: int) -> dict[tuple[int, int], float]:
    """Return how often p is below 0.05 for equal models that differ in c positives, e negatives.

    common: rows of each class that both flag. Of all 2 ** (c + e) shares of the differing rows.
    """
    positives = int(truth.sum())
    rates = {}
    for c, e in product(range(9), range(9)):
        if not common and c + e < 2:
            continue  # one of the two flags no row
        columns = []
        for x, z in product(range(c + 1), range(e + 1)):
            votes = np.zeros((2, len(truth)), bool)
            votes[:, :common] = votes[:, positives : positives + common] = True
            of_positives = np.arange(common, common + c)
            of_negatives = np.arange(positives + common, positives + common + e)
            votes[0, of_positives[:x]] = votes[0, of_negatives[:z]] = True
            votes[1, of_positives[x:]] = votes[1, of_negatives[z:]] = True
            columns += [*votes]
        estimates = estimates_of(measure, truth, np.array(columns).T)
        places = {name: place for place, name in enumerate(estimates.models)}
        rate = 0.0
        for k, (x, z) in enumerate(product(range(c + 1), range(e + 1))):
            pair = (f"m{2 * k}", f"m{2 * k + 1}")
            if not {*pair} <= {*places}:  # precision without a flagged row
                continue
            (p,) = estimates.p_values(*(np.array([places[name]]) for name in pair))
            rate += (p < 0.05) * comb(c, x) * comb(e, z) / 2 ** (c + e)
        rates[c, e] = rate
    return rates


@pytest.mark.parametrize(
    ("measure", "rows", "positives", "common"),
    thinned(
        [
            (measure, *table)
            for table in ((200, 100, 0), (400, 40, 1))
            for measure in ("mcc", "f1", "kappa", "precision", "precision_u")
        ],
        [("mcc", 200, 100, 0), ("f1", 400, 40, 1), ("precision", 200, 100, 0)],
    ),
)
def test_equal_models_with_few_flagged_rows_differ_in_at_most_one_table_of_twenty(
    measure: str, rows: int, positives: int, common: int
) -> None:
    """Enumerated: on average over Poisson numbers of differing rows; a cell as McNemar's mid-p."""
    rates = claim_rates(measure, np.arange(rows) < positives, common)
    assert max(rates.values()) <= 2 * (1 + 8) / 2**8  # 7 of 8, and 8 of 8, are claimed
    for mean in (0.5, 1, 2, 3, 4):
        weights = {(c, e): mean ** (c + e) / (factorial(c) * factorial(e)) for c, e in rates}
        total = sum(weights.values())
        assert sum(rates[cell] * weights[cell] for cell in rates) / total <= 0.05


def test_many_differing_rows_keep_the_p_value_of_their_error() -> None:
    """The test is of at most 20 rows of a class."""
    truth = np.arange(200) < 100
    votes = np.zeros((200, 2), bool)
    votes[: MOST_SWAPPED + 1, 0] = True
    votes[100:102, 1] = True
    estimates = estimates_of("mcc", truth, votes)
    assert estimates.swaps is not None
    assert estimates.swaps.p_values(*PAIR).tolist() == [0.0]
    assert estimates.p_values(*PAIR) == estimates._p_values_by_error(*PAIR)


def test_a_row_of_weight_three_is_three_rows() -> None:
    """Whole weights that stand for rows are swapped as rows."""
    truth = np.arange(40) < 20
    votes = np.zeros((40, 2), bool)
    votes[0, 0] = votes[20, 1] = True
    weights = np.where(np.arange(40) % 20 == 0, 3, 1)
    repeated = estimates_of("mcc", np.repeat(truth, weights), np.repeat(votes, weights, axis=0))
    weighted = estimates_of("mcc", truth, votes, weights)
    assert weighted.p_values(*PAIR).tolist() == repeated.p_values(*PAIR).tolist()
    assert weighted.p_values(*PAIR) >= 2 / 2**6
