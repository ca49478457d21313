"""Buckets of scores: their keys, and the bounds of measures on distributions made to break them."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from clfeval.counts.buckets import with_buckets
from clfeval.counts.read_files import score_counts_by_slice
from clfeval.counts.scores import ScoreCounts
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.bucket_bounds import RISING
from clfeval.methods.measurement.score_measures import estimate_score_measure
from clfeval.methods.options import IntervalSettings

NO_LIMITS = IntervalSettings(None, "exact", "random", 200, 0)
EDGES = [0.0, 5e-324, 2.0**-1022, 2.0**-64, 1e-300, 1e-25, 2.0**-53, 2.0**-52, 1e-9, 0.1, 0.3,
         0.5, 0.7, 1 - 2.0**-52, 1 - 2.0**-53, 1.0]  # fmt: skip
SETTINGS = {"bins": 10, "fpr": (0.0, 0.1), "t": 0.123, "k": 0.1}
MEASURES = [one.with_settings(**SETTINGS) for one in CATALOG.values()
            if one.needs in ("scores", "probabilities") and one.of is not None]  # fmt: skip
Table = tuple[np.ndarray, np.ndarray]


def in_buckets(tables: Sequence[Table], bits: int) -> list[ScoreCounts]:
    """Return the buckets of tables of scores and truth, counted together."""
    kinds = {"i": pl.Int64, "s": pl.Float64, "truth": pl.Boolean}
    parts = [pl.DataFrame({"i": k, "s": s, "truth": y}, kinds) for k, (s, y) in enumerate(tables)]
    rows, s = with_buckets(nw.from_native(pl.concat(parts).lazy()), "s", bits, 0.5), pl.col("s")
    found = rows.to_native().group_by("i", "truth", "key").agg(
        n=pl.len(), m1=pl.col("d1").sum(), m2=pl.col("d2").sum(), lo=s.min(), hi=s.max()
    )  # fmt: skip
    counted = found.with_columns(pattern=pl.lit(None, pl.String)).collect()
    return [score_counts_by_slice(counted.filter(i=k), (), {})[None] for k in range(len(tables))]


def adversarial_table(rng: np.random.Generator, k: int) -> Table:
    """Return scores that crowd, tie or lie a unit of the last place apart, and truth."""
    n, centre = int(rng.integers(2, 400)), rng.choice(EDGES)
    kinds = [
        lambda: rng.random(n), lambda: rng.random(n) ** 40, lambda: 1 - rng.random(n) ** 40,
        lambda: rng.choice(EDGES, n), lambda: rng.integers(0, 8, n) / 7,
        lambda: np.clip(centre + rng.integers(-3, 4, n) * np.spacing(max(centre, 1e-300)), 0, 1),
        lambda: rng.random(n).astype(np.float32).astype(float),
        lambda: np.exp(-rng.exponential(40, n)), lambda: np.clip(rng.normal(0.3, 1e-4, n), 0, 1),
        lambda: np.round(rng.beta(0.3, 0.3, n), 2), lambda: rng.normal(0, 8, n),
        lambda: rng.normal(3, 1, n).astype(np.float32).astype(float),
    ]  # fmt: skip
    scores = np.concatenate([kinds[k % len(kinds)](), rng.choice(EDGES, k % 3)])
    slope = rng.choice([-3.0, 0.0, 1.0, 8.0])
    chance = 1 / (1 + np.exp(np.clip(-slope * (scores - np.median(scores)), -700, 700)))
    return scores, rng.random(len(scores)) < chance


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # of ratios of 1e-300
@pytest.mark.parametrize("seed", range(20))
def test_bounds_hold_on_adversarial_scores(seed: int) -> None:
    """The value from buckets lies within its bound of the value of the scores: 1,000 tables."""
    rng, known = np.random.default_rng(seed), set[str]()
    tables = [adversarial_table(rng, 50 * seed + k) for k in range(50)]
    held = {bits: in_buckets(tables, bits) for bits in (4, 10)}
    for k, (scores, truth) in enumerate(tables):
        bits = (4, 10)[k % 2]
        mine, exact = held[bits][k], ScoreCounts.from_rows(scores, truth, np.ones(len(truth), int))
        assert (mine.positives.sum(), mine.negatives.sum()) == (truth.sum(), (~truth).sum())
        for one in MEASURES:
            found = estimate_score_measure(one, mine, NO_LIMITS, "")
            if found.value.value is not None:
                value = float(one.function(exact.scores, exact.positives, exact.negatives))
                assert found.bound is not None
                off, rounding = abs(found.value.value - value), 1e-12 * max(1, abs(value))
                assert off <= found.bound + rounding, (one.id, k, bits, value, found)
                known.add(one.id)
    assert known >= {*RISING, "ks", "brier", "log_loss", "calibration_slope", "ece", "oe_ratio"}


def test_hundredths_start_buckets_whatever_the_other_rows() -> None:
    """polars divides many rows by a constant in another way than a single one."""
    hundredths = np.arange(101) / 100
    below = np.nextafter(hundredths[1:], 0)

    def keys(scores: np.ndarray) -> list[int]:
        rows = with_buckets(nw.from_native(pl.LazyFrame({"s": scores})), "s", 10, None)
        return rows.to_native().collect()["key"].to_list()

    every = keys(np.concatenate([hundredths, below, np.linspace(0, 1, 5000)]))
    assert not {*every[:101]} & {*every[101:201]}
    for k in range(0, 101, 7):
        assert keys(hundredths[k : k + 1]) == every[k : k + 1]
