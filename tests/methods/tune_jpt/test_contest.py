"""Contests of many parts say what each part alone says, and quick looks what thorough ones do."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from clfeval.api.tune_jpt import tune_jpt
from clfeval.counts.patterns import ConfusionCounts
from clfeval.inference.score_region import range_over_region, range_within_region
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.tune_jpt.contest import Contest
from tests.thoroughness import thinned


def contest(name: str, seed: int, k: int = 40) -> Contest:
    """Return models of 30 positives and 70 negatives, a few with an empty cell."""
    rng = np.random.default_rng(seed)
    tp, fp = rng.integers(0, 31, k), rng.integers(0, 40, k)
    p, n = np.full(k, 30), np.full(k, 70)
    cells = (tp, fp, p - tp, n - fp, p, n)
    counts = ConfusionCounts(tuple(f"m{i}" for i in range(k)), *cells)
    both = (np.minimum.outer(tp, tp) * 0.9, np.minimum.outer(fp, fp) * 0.7)
    return Contest(name, counts, both, 0.95)


@pytest.mark.parametrize("name", ["mcc", "f_beta", "f_odds", "ic", "epa", "tar"])
def test_quick_looks_decide_nothing_otherwise(name: str) -> None:
    rng = np.random.default_rng(1)
    one = contest(name, 0)
    first, second = rng.integers(0, 40, (2, 400))
    ratios = np.exp(rng.uniform(-6, 6, 400))
    slow = one.duel(first, second, ratios)[1] > 0
    assert 0 < slow.sum() < 400
    assert one.sure(first, second, ratios).tolist() == slow.tolist()
    assert not replace(one, level=None).sure(first, second, ratios).any()


@pytest.mark.parametrize("name", ["mcc", "f_beta", "ic"])
def test_the_quick_range_is_within_the_range(name: str) -> None:
    rng = np.random.default_rng(2)
    tp, fp = rng.integers(1, 30, 50).astype(float), rng.integers(1, 70, 50).astype(float)
    counts = (tp, np.full(50, 30.0), fp, np.full(50, 70.0))
    of = CATALOG[name].function
    wide, quick = (
        found(lambda a, b: of(Confusion.of_rates(a, b, 0.2)), *counts, level=0.9)
        for found in (range_over_region, range_within_region)
    )
    assert (quick[0] >= wide[0]).all()
    assert (quick[1] <= wide[1]).all()
    if name != "ic":  # whose least value may lie inside
        # a sixty-fourth of a turn beside the best direction a cosine has fallen by 0.5 %
        assert (quick[1] - quick[0] >= 0.98 * (wide[1] - wide[0])).all()


WAYS: list[dict[str, object]] = [{}, {"crossover": "mcc"}, {"cluster": "who"}, {"margin": 0.05}]


@pytest.mark.parametrize("more", thinned(WAYS, WAYS[1:3]))
def test_slices_are_compared_as_tables_of_their_own(more: dict[str, object]) -> None:
    rng = np.random.default_rng(3)
    n = 240
    truth, site = rng.random(n) < 0.4, rng.integers(0, 3, n)
    columns = {"truth": truth.astype(int), "site": [f"s{i}" for i in site]}
    if "cluster" in more:
        columns["who"] = [f"p{i}" for i in rng.integers(0, 60, n)]
    for i in range(3):
        columns[f"m{i}"] = np.where(rng.random(n) < 0.15 + 0.1 * i, ~truth, truth).astype(int)
    table = pl.DataFrame(columns)
    together = tune_jpt(table, by=["site"], **more)
    for label in ("s0", "s1", "s2"):
        alone = tune_jpt(table.filter(pl.col("site") == label).drop("site"), sweep=None, **more)
        for name in ("winners", "crossovers"):
            mine = [
                {**row, "slice": None} for row in together.tables[name]
                if row["slice"] == f"site={label}"
            ]  # fmt: skip
            kept = [row for row in alone.tables[name] if row.get("population") != "sweep"]
            assert kept
            assert mine == kept
