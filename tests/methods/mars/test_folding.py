"""Sets of models judged on rows they were not chosen on."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.counts.patterns import PatternCounts, TargetCounts
from clfeval.document import Estimate
from clfeval.inference.resampling import split_into_folds
from clfeval.methods.mars import best_subsets
from tests.texts import check_text, numbers_in

Rows = list[tuple[bool, ...]]


def targets(truth: np.ndarray, votes: np.ndarray) -> TargetCounts:
    names = tuple(f"m{j}" for j in range(votes.shape[1]))
    ones = np.ones(len(truth), np.int64)
    return PatternCounts.from_votes(names, truth.astype(bool), votes.astype(bool), ones).targets(
        "positive"
    )


def drawn(n: int, k: int, seed: int, positives: float = 0.4) -> TargetCounts:
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < positives
    votes = np.where(truth[:, None], rng.random((n, k)) < 0.6, rng.random((n, k)) < 0.2)
    return targets(truth, votes)


def expanded(patterns: np.ndarray, n: np.ndarray) -> Rows:
    return [
        tuple(row)
        for row, many in zip(patterns.tolist(), n.tolist(), strict=True)
        for _ in range(many)
    ]


def tally(members: tuple[int, ...], rows: Rows) -> int:
    return sum(any(row[j] for j in members) for row in rows)


def chosen(k: int, hits: Rows, alarms: Rows, size: int | None, effort: float) -> tuple[int, ...]:
    """Most covered, least effort, fewest models, the first: row by row, over all sets."""
    sizes = [size] if size else range(1, k + 1)
    best: list[Any] = []
    for members in (s for one in sizes for s in combinations(range(k), one)):
        covered = tally(members, hits)
        called = covered + tally(members, alarms)
        if called <= effort:
            best.append((-covered, called, len(members), members))
    return min(best)[-1] if best else ()


@pytest.mark.parametrize("effort", [None, 22.0, 16.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_row_by_row(
    effort: float | None, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deal as it did, choose among all sets and count rows one by one."""
    counts, folds = drawn(40, 4, seed), []

    def recorded(n: np.ndarray, many: int, rng: np.random.Generator) -> np.ndarray:
        folds.append(split_into_folds(n, many, rng))
        return folds[-1]

    monkeypatch.setattr(best_subsets, "split_into_folds", recorded)
    rng = np.random.default_rng(seed)
    if effort is None:
        choices = best_subsets.best_subsets(counts, 3)
        found = best_subsets.cross_validate_best(counts, choices, 3, rng)
    else:
        choice = best_subsets.best_within_effort(counts, effort)
        assert choice is not None
        found = [best_subsets.cross_validate_within_effort(counts, choice, effort, rng)]
    assert len(folds) == 2 * best_subsets.REPEATS
    for i, (covered, gained) in enumerate(found):
        hits = called = 0
        for some, others in zip(folds[::2], folds[1::2], strict=True):
            for held, alarms in zip(some, others[::-1], strict=True):
                rest = (
                    expanded(counts.hits, counts.hit_n - held),
                    expanded(counts.alarms, counts.alarm_n - alarms),
                )
                part = sum(map(len, rest)) / 40
                size, most = (i + 1, 99) if effort is None else (None, effort * part)
                members = chosen(4, *rest, size, most)
                here = tally(members, expanded(counts.hits, held))
                hits += here
                called += here + tally(members, expanded(counts.alarms, alarms))
        assert covered.value == pytest.approx(hits / best_subsets.REPEATS)
        assert gained.value == pytest.approx(hits / called)


def test_two_models_that_find_as_much_find_nothing_where_they_were_not_chosen() -> None:
    """Two rows each, one left out: of the other three the other model finds more."""
    truth = np.array([1, 1, 1, 1, 0, 0])
    votes = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [0, 0]])
    counts = targets(truth, votes)
    choices = best_subsets.best_subsets(counts, 2)
    assert [one.scores.covered[0] for one in choices] == [2, 4]
    one, both = best_subsets.cross_validate_best(counts, choices, 2, np.random.default_rng(0))
    # the negative that both call is in the effort: 0 of 1, and 4 of 5
    assert (one[0].value, one[1].value) == (0, 0)
    assert (both[0].value, both[1].value) == (4, 4 / 5)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "least"), [(60, 0.08), (150, 0.05)])
def test_eight_equal_models_flatter_and_folds_do_not(n: int, least: float) -> None:
    """Each finds .6 of the positives: the best of eight .08 more or better, on other rows .6."""
    apparent, honest = [], []
    for seed in range(40):
        counts = drawn(n, 8, 100 + seed)
        positives = counts.hit_n.sum()
        choices = best_subsets.best_subsets(counts, 1)
        ((found, _),) = best_subsets.cross_validate_best(
            counts, choices, 1, np.random.default_rng(seed)
        )
        apparent.append(choices[0].scores.covered[0] / positives)
        honest.append((found.value or 0) / positives)
    assert np.mean(apparent) > 0.6 + least
    assert abs(np.mean(honest) - 0.6) < 3 * np.std(honest) / 40**0.5


def reasons(counts: TargetCounts) -> set[str | None]:
    choices = best_subsets.best_subsets(counts, 2)
    found = best_subsets.cross_validate_best(counts, choices, 2, np.random.default_rng(0))
    return {one.reason for pair in found for one in pair}


def test_why_there_is_none() -> None:
    few = targets(np.array([1, 0, 0]), np.array([[1, 0], [1, 1], [0, 0]]))
    assert reasons(few) == {"too_few_rows"}
    counts = drawn(40, 2, 1)
    assert reasons(replace(counts, unit=2)) == {"fractional_weights"}


def test_a_greedy_set_beside_the_best_is_not_judged() -> None:
    """Of 21 models: one finds 5 of 8 rows, two others 4 and 4, which together find all."""
    rows = np.repeat(np.arange(8), 9)
    hits = np.column_stack([rows < 5, rows % 2 == 0, rows % 2 == 1, *[rows == 9] * 18])
    counts = targets(np.ones(len(rows)), hits)
    choices = best_subsets.best_subsets(counts, 2)
    assert [one.method for one in choices].count(best_subsets.GREEDY) == 1
    found = best_subsets.cross_validate_best(counts, choices, 2, np.random.default_rng(0))
    known = [one[0].value for one in found]
    # whatever nine tenths of the rows are, the same sets are best: 45 and 72 rows
    assert known == [45, 72, None]
    assert found[2][0].reason == "too_many_subsets"


def table(n: int = 80, k: int = 4, seed: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    votes = np.where(truth[:, None], rng.random((n, k)) < 0.6, rng.random((n, k)) < 0.2)
    columns = {f"m{j}": votes[:, j].astype(int) for j in range(k)}
    where = ["north", "south"] * (n // 2)
    return pl.DataFrame({"truth": truth.astype(int), **columns, "site": where})


MODELS = ["m0", "m1", "m2", "m3"]


def of(**options: Any) -> Result:
    return clfeval.mars(table(), model=MODELS, **options)


def honest(result: Result, name: str = "best") -> list[float]:
    return [row["corrected"].value for row in result.tables[name]]  # type: ignore[union-attr, misc]


def test_it_stands_beside_what_was_chosen_and_a_note_says_so() -> None:
    result = of(best=4, max_effort=45)
    for row in result.tables["best"]:
        value: Any = row["corrected"]
        assert isinstance(value, Estimate)
        assert value.low is None
        assert value.value <= row["covered"]
    # of all four nothing is chosen
    every: Any = result.tables["best"][3]
    assert every["corrected"].value == every["covered"]
    assert every["corrected_yield"].value == pytest.approx(every["yield"].value)
    codes = [one.code for one in result.warnings]
    assert codes.count("chosen-models") == 1
    within = next(one.text for one in result.answer if one.code == "within-effort")
    (found,) = honest(result, "max_effort")
    positives = result.summary["positives"]
    assert round(found / positives, 3) in numbers_in(within)
    assert "chosen-models" not in [one.code for one in of().warnings]


def test_the_best_pair_of_the_answer_is_judged_where_sets_are_asked_for() -> None:
    result = of(best=2)
    pair = next(one for one in result.answer if one.code == "best-pair")
    share = honest(result)[1] / result.summary["positives"]
    assert round(share, 3) in numbers_in(pair.text)
    plain = next(one for one in of().answer if one.code == "best-pair")
    assert pair.models == plain.models
    check_text([pair.text, plain.text])


def test_seeds_and_slices() -> None:
    result = of(best=2)
    assert honest(of(best=2)) == honest(result)
    assert honest(of(best=2, seed=1)) != honest(result)
    assert "|folds:0|" in result.signature
    assert "folds" not in of(seed=3).signature
    sliced = of(best=2, by=["site"])
    assert [row["slice"] for row in sliced.tables["best"]][::2] == [
        None,
        "site=north",
        "site=south",
    ]
    assert honest(sliced)[:2] == honest(result)


def test_fractional_weights_say_less() -> None:
    frame = table().with_columns(w=pl.lit(0.5))
    result = clfeval.mars(frame, model=MODELS, weight="w", interval="none", max_effort=20)
    (row,) = result.tables["max_effort"]
    one: Any = row["corrected"]
    assert (one.value, one.reason) == (None, "fractional_weights")
    check_text(result.answer[1].text)
