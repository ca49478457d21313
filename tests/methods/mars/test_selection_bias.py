"""Sets of models and their gain, corrected for having been chosen on the same rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

import clfeval
from clfeval.api.result import Result
from clfeval.counts.patterns import PatternCounts, TargetCounts
from clfeval.document.cells import Estimate
from clfeval.inference.resampling import resampled_counts
from clfeval.methods.mars import best_subsets, selection_bias
from clfeval.methods.mars.lead import DetectionRanking, corrected_gain, pair_scores
from clfeval.methods.mars.options import MarsOptions
from clfeval.methods.mars.selection_bias import correct_best_set, correct_set_within_effort
from tests.results import answers_of, limits_of, row_of, rows_by, rows_of, value_of, warning_codes
from tests.samples import logistic
from tests.texts import check_text, numbers_in

MODELS = ["m0", "m1", "m2", "m3"]


def targets(truth: np.ndarray, votes: np.ndarray) -> TargetCounts:
    names = tuple(f"m{j}" for j in range(votes.shape[1]))
    ones = np.ones(len(truth), np.int64)
    patterns = PatternCounts.from_votes(names, truth.astype(bool), votes.astype(bool), ones)
    return patterns.targets("positive")


def random_votes(n: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the truth, 40 % positive, and k models of sensitivity .6 and specificity .8."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    return truth, np.where(truth[:, None], rng.random((n, k)) < 0.6, rng.random((n, k)) < 0.2)


def random_targets(n: int, k: int, seed: int) -> TargetCounts:
    return targets(*random_votes(n, k, seed))


def share_of(counts: TargetCounts, choice: best_subsets.ChosenSubset) -> Estimate:
    share = choice.scores.covered[0].item() / counts.hit_n.sum().item()
    return Estimate(share, max(share - 0.1, 0), min(share + 0.1, 1))


@pytest.mark.parametrize("size", [1, 2, None])
@pytest.mark.parametrize("seed", range(3))
def test_the_optimism_row_by_row(
    size: int | None, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draw the patterns as it did, choose among all sets and count rows one by one."""
    counts = random_targets(40, 4, seed)
    classes: list[list[np.ndarray]] = []  # the drawn counts of each class, table by table

    def recorded(*arguments: Any, **named: Any) -> Any:
        classes.append([])
        for block in resampled_counts(*arguments, **named):
            classes[-1].extend(block)
            yield block

    monkeypatch.setattr(selection_bias, "resampled_counts", recorded)
    rng, effort = np.random.default_rng(seed), 20.0
    if size is None:
        within = best_subsets.best_within_effort(counts, effort)
        assert within is not None
        corrected = correct_set_within_effort(counts, within, share_of(counts, within), effort, rng)
        choice = within
    else:
        choice = best_subsets.best_subsets(counts, size)[-1]
        corrected = correct_best_set(counts, choice, share_of(counts, choice), rng)
    tables = [np.concatenate(parts) for parts in zip(*classes, strict=True)]
    sizes = [size] if size else range(1, 5)
    sets = [members for many in sizes for members in combinations(range(4), many)]
    positives = len(counts.hit_n)
    patterns = np.vstack([counts.hits, counts.alarms])
    shares, fits = np.zeros((len(tables), len(sets))), np.ones((len(tables), len(sets)), bool)
    for number, table in enumerate(tables):
        for place, members in enumerate(sets):
            flags = patterns[:, list(members)].any(axis=1)
            hits = sum(table[i] for i in range(positives) if flags[i])
            shares[number, place] = hits / table[:positives].sum()
            if size is None:
                fits[number, place] = (table * flags).sum() <= effort / 40 * table.sum() + 1e-9
    excess = []
    for number in range(len(tables)):
        allowed = np.where(fits[number], shares[number], -1)
        if allowed.max() >= 0:
            winners = allowed == allowed.max()
            excess.append((shares[number] - shares.mean(axis=0))[winners].mean())
    expected = choice.scores.covered[0] - np.mean(excess) * counts.hit_n.sum()
    assert len(tables) == selection_bias.DRAWS
    assert corrected.detected.value == pytest.approx(expected, abs=1e-9)
    assert np.mean(excess) > 0


def test_equal_disjoint_models_are_not_corrected_below_their_intervals() -> None:
    """Two models detect 20 of 40 each, no row twice: folds gave .33, below both intervals."""
    votes = np.array([[1, 0]] * 20 + [[0, 1]] * 20 + [[0, 0]] * 10)
    counts = targets(np.arange(50) < 40, votes)
    single, pair = best_subsets.best_subsets(counts, 2)
    rng = np.random.default_rng(0)
    corrected = correct_best_set(counts, single, Estimate(0.5, 0.338, 0.662), rng).detected
    # the larger of Binomial(40, 1/2) and 40 minus it: 1/2 + E|Z| sqrt(1 / 160) = 0.563
    expected = 0.5 - (2 / np.pi) ** 0.5 * (1 / 160) ** 0.5
    assert value_of(corrected) / 40 == pytest.approx(expected, abs=0.01)
    assert 0.338 < value_of(corrected) / 40 < 0.662
    # of both models nothing is chosen
    unchosen = correct_best_set(counts, pair, Estimate(1.0, 0.9, 1.0), rng)
    assert (unchosen.detected.value, unchosen.yield_.value) == (40, 1)


def test_the_gain_of_a_pair_is_corrected_for_both_choices() -> None:
    counts = random_targets(200, 5, 4)
    ranking, pairs = DetectionRanking.from_counts(counts), pair_scores(counts)
    gain = corrected_gain(ranking, pairs, MarsOptions())
    apparent = pairs.covered[0].item() - ranking.covered[ranking.best].item()
    low, high = limits_of(gain)
    assert value_of(gain) <= apparent
    assert low < value_of(gain) < high
    # without a level there is no interval
    bare = corrected_gain(ranking, pairs, MarsOptions(interval="none"))
    assert (bare.value, bare.low) == (gain.value, None)


def _latent_votes(rng: np.random.Generator, rows: int, models: int) -> np.ndarray:
    """Return correlated detections, each of probability .6."""
    shared = rng.standard_normal((rows, 1))
    single = rng.standard_normal((rows, models))
    return np.asarray(0.6**0.5 * shared + 0.4**0.5 * single < 0.2533)


@pytest.mark.slow
@pytest.mark.parametrize("positives", [15, 90, 100, 600])  # 300 and 2,000 rows, 5 and 30 %
@pytest.mark.parametrize("clusters", [False, True])
def test_coverage_of_the_corrected_gain(positives: int, clusters: bool) -> None:
    """Of 5 models of equal detections; clusters of 2 rows that are alike."""
    rng = np.random.default_rng([positives, clusters])
    population = _latent_votes(rng, 400_000, 5)
    alone = population.mean(axis=0)
    tables, covered = 400, 0
    for _ in range(tables):
        votes = _latent_votes(rng, positives // (1 + clusters), 5)
        votes = np.repeat(votes, 1 + clusters, axis=0)
        names = tuple(f"m{j}" for j in range(5))
        patterns = PatternCounts.from_votes(
            names,
            np.ones(len(votes), bool),
            votes,
            np.ones(len(votes), np.int64),
            owners=np.arange(len(votes)) // 2 if clusters else None,
        )
        counts = patterns.targets("positive")
        ranking, pairs = DetectionRanking.from_counts(counts), pair_scores(counts)
        gain = corrected_gain(ranking, pairs, MarsOptions())
        first, second = np.flatnonzero(pairs.members[0]).tolist()
        both = (population[:, first] | population[:, second]).mean()
        true = (both - alone[ranking.best]) * len(votes)
        low, high = limits_of(gain)
        covered += low <= true <= high
    assert covered / tables >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize(("n", "least"), [(60, 0.08), (150, 0.05)])
def test_eight_equal_models_flatter_and_the_correction_less(n: int, least: float) -> None:
    """Each detects .6 of the positives: the best of eight .08 more or better.

    The bootstrap draws from these rows, on which the models differ: it removes most of the bias,
    not all, and the interval covers what is left.
    """
    apparent, corrected, covered = [], [], 0
    for seed in range(300):
        counts = random_targets(n, 8, 100 + seed)
        positives = counts.hit_n.sum().item()
        (choice,) = best_subsets.best_subsets(counts, 1)
        hits = choice.scores.covered[0].item()
        exact = binomtest(hits, positives).proportion_ci(method="exact")
        share = Estimate(hits / positives, exact.low, exact.high)
        rng = np.random.default_rng(seed)
        estimate = correct_best_set(counts, choice, share, rng).detected
        low, high = limits_of(estimate)
        apparent.append(share.value)
        corrected.append(value_of(estimate) / positives)
        covered += low <= 0.6 * positives <= high
    assert np.mean(apparent) > 0.6 + least
    assert abs(np.mean(corrected) - 0.6) < 0.4 * (np.mean(apparent) - 0.6)
    assert covered / 300 >= 0.93


def reasons(counts: TargetCounts) -> set[str | None]:
    rng = np.random.default_rng(0)
    corrected = [
        correct_best_set(counts, choice, Estimate(0.5), rng)
        for choice in best_subsets.best_subsets(counts, 2)
    ]
    return {cell.reason for sets in corrected for cell in (sets.detected, sets.yield_)}


def test_why_there_is_none() -> None:
    few = targets(np.array([1, 0, 0]), np.array([[1, 0], [1, 1], [0, 0]]))
    assert reasons(few) == {"too_few_rows"}
    counts = random_targets(40, 2, 1)
    assert reasons(replace(counts, unit=2)) == {"fractional_weights"}


def four_models_at_two_sites() -> pl.DataFrame:
    truth, votes = random_votes(80, 4, 5)
    columns = {f"m{j}": votes[:, j].astype(int) for j in range(4)}
    return pl.DataFrame({"truth": truth.astype(int), **columns, "site": ["north", "south"] * 40})


def result_of_four(**options: Any) -> Result:
    return clfeval.mars(four_models_at_two_sites(), model=MODELS, **options)


def corrected_values(result: Result, table: str = "best") -> list[float]:
    return [value_of(row["corrected"]) for row in rows_of(result, table)]


def test_it_stands_beside_what_was_chosen_and_a_note_says_so() -> None:
    result = result_of_four(best=4, max_effort=45)
    *chosen, full_set = rows_of(result, "best")
    for row in chosen:
        low, high = limits_of(row["corrected"])
        assert low < value_of(row["corrected"]) < high
        assert value_of(row["corrected"]) < row["covered"]
    # of all four nothing is chosen
    assert len(chosen) == 3
    assert value_of(full_set["corrected"]) == pytest.approx(full_set["covered"])
    assert value_of(full_set["corrected_yield"]) == pytest.approx(value_of(full_set["yield"]))
    assert warning_codes(result).count("chosen-models") == 1
    (answer,) = answers_of(result, "within-effort")
    (detected,) = corrected_values(result, "max_effort")
    assert round(detected / result.summary["positives"], 3) in numbers_in(answer.text)
    assert "chosen-models" not in warning_codes(result_of_four())


def test_the_sentence_on_the_best_pair_is_its_row_of_the_tests() -> None:
    result = result_of_four()
    (pair,) = answers_of(result, "best-pair")
    row = row_of(result, "best_pair")
    assert tuple(row["models"]) == pair.models
    numbers = {round(number, 1) for number in (value_of(row["gain"]), *limits_of(row["gain"]))}
    assert numbers <= {*numbers_in(pair.text)}
    check_text(pair.text)


def test_seeds_and_slices() -> None:
    result = result_of_four(best=2)
    assert corrected_values(result_of_four(best=2)) == corrected_values(result)
    assert corrected_values(result_of_four(best=2, seed=1)) != corrected_values(result)
    sliced = result_of_four(best=2, by=["site"])
    assert [row["slice"] for row in sliced.tables["best"]][::2] == [
        None,
        "site=north",
        "site=south",
    ]
    assert corrected_values(sliced)[:2] == corrected_values(result)


def scores_and_a_rule(n: int = 400) -> pl.DataFrame:
    """Return scores of two models that share nothing but the truth, and labels of a third."""
    rng = np.random.default_rng(3)
    truth = rng.random(n) < 0.3
    good, weak = (truth * shift + rng.standard_normal(n) for shift in (2.0, 1.2))
    rule = ((truth + 0.8 * rng.standard_normal(n)) > 1.2).astype(int)
    scores = {"good": logistic(good), "weak": logistic(weak)}
    return pl.DataFrame({"truth": truth.astype(int), **scores, "rule": rule})


@pytest.mark.parametrize("target", ["positive", "negative"])
def test_single_models_at_the_effort_of_the_best_pair(target: str) -> None:
    """By sorting: the highest scores are flagged, or the lowest, at most as many as by the pair."""
    frame = scores_and_a_rule()
    result = clfeval.mars(frame, target=target)
    effort = row_of(result, "best_pair")["effort"]
    truth = frame["truth"].to_numpy() == (target == "positive")
    rows = rows_by(result, "equal_effort", "model")
    assert {*rows} == {"good", "weak"}
    for name, row in rows.items():
        scores = frame[name].to_numpy()
        order = np.argsort(-scores if target == "positive" else scores)
        assert row["effort"] == effort  # all scores differ
        assert row["covered"] == truth[order[: int(effort)]].sum()
        flags = scores >= row["threshold"] if target == "positive" else scores < row["threshold"]
        assert flags.sum() == effort
    best = max(rows.values(), key=lambda row: row["covered"])
    (sentence,) = answers_of(result, "equal-effort")
    assert sentence.models == (best["model"],)
    assert {float(best["covered"]), float(effort)} <= {*numbers_in(sentence.text)}


def test_fractional_weights() -> None:
    frame = four_models_at_two_sites().with_columns(w=pl.lit(0.5))
    result = clfeval.mars(frame, model=MODELS, weight="w", interval="none", max_effort=40)
    row = row_of(result, "max_effort")
    corrected = row["corrected"]
    assert corrected.reason == "fractional_weights" or corrected.value <= row["covered"]
    check_text(result.answer[1].text)
