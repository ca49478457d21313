"""Buckets of scores: their keys, and the bounds of measures on distributions made to break them."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.counts.buckets import with_buckets
from clfeval.counts.read_files import score_counts_by_slice
from clfeval.counts.scores import ScoreCounts
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measurement.bucket_bounds import PARTS, RISING
from clfeval.methods.measurement.score_measures import estimate_score_measure
from clfeval.methods.options import IntervalSettings
from tests.results import rows_by, rows_of
from tests.samples import informed_scores, logistic
from tests.thoroughness import thinned

NO_LIMITS = IntervalSettings(None, "exact", "random", 200, 0)
EDGES = [
    0.0,
    5e-324,
    2.0**-1022,
    2.0**-64,
    1e-300,
    1e-25,
    2.0**-53,
    2.0**-52,
    1e-9,
    0.1,
    0.3,
    0.5,
    0.7,
    1 - 2.0**-52,
    1 - 2.0**-53,
    1.0,
]
SETTINGS = {"bins": 10, "fpr": (0.0, 0.1), "t": 0.123, "k": 0.1}
MEASURES = [
    one.with_settings(**SETTINGS)
    for one in CATALOG.values()
    if one.needs in ("scores", "probabilities") and one.compute is not None
]
Table = tuple[np.ndarray, np.ndarray]


def in_buckets(tables: Sequence[Table], bits: int) -> list[ScoreCounts]:
    """Return the buckets of tables of scores and truth, counted together."""
    kinds = {"i": pl.Int64, "s": pl.Float64, "truth": pl.Boolean}
    parts = [pl.DataFrame({"i": k, "s": s, "truth": y}, kinds) for k, (s, y) in enumerate(tables)]
    rows, s = with_buckets(nw.from_native(pl.concat(parts).lazy()), "s", bits, 0.5), pl.col("s")
    found = (
        rows.to_native()
        .group_by("i", "truth", "key")
        .agg(n=pl.len(), m1=pl.col("d1").sum(), m2=pl.col("d2").sum(), lo=s.min(), hi=s.max())
    )
    counted = found.with_columns(pattern=pl.lit(None, pl.String)).collect()
    return [score_counts_by_slice(counted.filter(i=k), (), {})[None] for k in range(len(tables))]


def adversarial_table(rng: np.random.Generator, k: int) -> Table:
    """Return scores that crowd, tie or lie a unit of the last place apart, and truth."""
    n, centre = int(rng.integers(2, 400)), rng.choice(EDGES)
    kinds = [
        lambda: rng.random(n),
        lambda: rng.random(n) ** 40,
        lambda: 1 - rng.random(n) ** 40,
        lambda: rng.choice(EDGES, n),
        lambda: rng.integers(0, 8, n) / 7,
        lambda: np.clip(centre + rng.integers(-3, 4, n) * np.spacing(max(centre, 1e-300)), 0, 1),
        lambda: rng.random(n).astype(np.float32).astype(float),
        lambda: np.exp(-rng.exponential(40, n)),
        lambda: np.clip(rng.normal(0.3, 1e-4, n), 0, 1),
        lambda: np.round(rng.beta(0.3, 0.3, n), 2),
        lambda: rng.normal(0, 8, n),
        lambda: rng.normal(3, 1, n).astype(np.float32).astype(float),
    ]
    scores = np.concatenate([kinds[k % len(kinds)](), rng.choice(EDGES, k % 3)])
    slope = rng.choice([-3.0, 0.0, 1.0, 8.0])
    chance = logistic(np.clip(slope * (scores - np.median(scores)), -700, 700))
    return scores, rng.random(len(scores)) < chance


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # of ratios of 1e-300
@pytest.mark.parametrize("seed", thinned(range(20), range(2)))
def test_bounds_hold_on_adversarial_scores(seed: int) -> None:
    """The value from buckets lies within its bound of the value of the scores: 1,000 tables."""
    rng, known = np.random.default_rng(seed), set[str]()
    tables = [adversarial_table(rng, 50 * seed + k) for k in range(50)]
    held = {bits: in_buckets(tables, bits) for bits in (4, 10)}
    for k, (scores, truth) in enumerate(tables):
        bits = (4, 10)[k // 12 % 2]  # both, of each of the twelve kinds of tables
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
    assert known >= {*RISING, *PARTS, "ks", "brier", "log_loss", "calibration_slope", "ece"}


def test_the_log_loss_of_scores_below_the_least_probability_lies_within_its_bound() -> None:
    """Positives below 2**-52 lose 52 ln 2 each, wherever they lie in their bucket."""
    others = np.linspace(0.5, 0.53, 10) ** 2 * 2
    scores = np.concatenate([2.0**-53 * np.linspace(1, 1.06, 30), others])
    (counts,) = in_buckets([(scores, np.ones(40, bool))], 4)
    estimate = estimate_score_measure(CATALOG["log_loss"], counts, NO_LIMITS, "")
    assert estimate.value.value is not None
    assert estimate.bound is not None
    expected = (30 * 52 * np.log(2) - np.log(others).sum()) / 40
    assert 1e-9 < estimate.bound < 1e-4
    assert abs(estimate.value.value - expected) <= estimate.bound


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


def test_keys_by_hand() -> None:
    """With M = 10, and t = 0.5 as the threshold.

    0.3 is doubled once: 126 octaves of 1,024, floor(0.1 * 2,048) = 204 buckets and 1 for 0, and 30
    hundredths start a bucket. 0.9 is 0.1 from 1, doubled three times, counted from the top; 2 is
    divided by 2**64 and doubled 62 times; -2 lies as far on the other side of all keys, below the
    hundredth 0.
    """
    top = 2 * 128 * 1024 + 1
    keys = {
        0.0: 0,
        0.3: 126 * 1024 + 204 + 1 + 30,
        0.9: top - (124 * 1024 + 614 + 1) + 90 + 1,
        2.0: top + (65 * 1024 + 1) + 1 + 100 + 1,
        -2.0: -1 - (65 * 1024 + 1) - 1,
    }
    rows = with_buckets(nw.from_native(pl.LazyFrame({"s": [*keys]})), "s", 10, 0.5)
    found = rows.to_native().collect()
    assert dict(found["s", "key"].rows()) == keys
    assert found.filter(s=0.3)["d1", "d2"].row(0) == (int(0.6 * 2**31), int(0.36 * 2**31))


def test_the_bound_of_an_area_by_hand() -> None:
    """3 positives and 2 negatives share a bucket: of 4 x 4 pairs 6 are won, or lost, or tied."""
    scores = np.array([0.3001, 0.30015, 0.3002, 0.9, 0.3001, 0.3002, 0.1, 0.1])
    (held,) = in_buckets([(scores, np.arange(8) < 4)], 10)
    found = estimate_score_measure(CATALOG["roc_auc"], held, NO_LIMITS, "")
    assert found.value.value == 13 / 16
    assert found.bound == pytest.approx(3 / 16)


def test_a_report_of_buckets_is_that_of_scores_within_its_bounds() -> None:
    dice, rows = np.random.default_rng(8), 1000
    truth = dice.random(rows) < 0.3
    scores = {name: informed_scores(dice, truth, 0.2) for name in ("a", "b")}
    table = pl.DataFrame({"truth": truth.astype(int), **scores})
    options = {"positive": "1", "resamples": 200}  # limits from buckets are of no bootstrap
    found = clfeval.report(table, **options, measure="all", reference="a", scores="buckets:6")
    defined = {row["measure"] for row in found.tables["measures"] if row["value"].value is not None}
    exact = clfeval.report(table, **options, measure=sorted(defined))
    known = rows_by(exact, "measures", "model", "measure")
    undefined = set[str]()
    for row in found.tables["measures"]:
        value = row["value"].value
        if value is None:
            undefined.add(row["measure"])
            continue
        one = known[row["model"], row["measure"]]["value"]
        off = row["bound"] or 0.0
        assert abs(value - one.value) <= off + 1e-9, row
        if row["value"].low is not None:  # nearly as wide
            assert row["value"].low <= one.low + 0.02
            assert row["value"].high >= one.high - 0.02
    assert "overconfidence" in undefined
    assert not undefined & {row["measure"] for row in found.tables["comparisons"]}
    for name, each in scores.items():
        bins = rows_of(found, "calibration", model=name)
        assert sum(row["rows"] for row in bins) == rows
        total = sum(row["rows"] * row["mean_score"] for row in bins)
        assert total == pytest.approx(each.sum(), rel=1e-8)


@pytest.mark.parametrize("least", [0.3, 1e-3, 2.0**-8, 1e-7, 1e-20, 0.0])
def test_steps_that_no_score_needs_change_no_key(least: float) -> None:
    dice = np.random.default_rng(9)
    low = np.maximum(np.exp(-dice.exponential(20, 2000)), least)
    scores = np.concatenate([[least, 1 - least, 0.5], np.clip(low, least, 1 - least), 1 - low])
    scores = scores[(scores >= least) & (1 - scores >= least)]
    frame = nw.from_native(pl.LazyFrame({"s": scores}))
    known, found = (
        with_buckets(frame, "s", 10, 0.5, *one).to_native().collect() for one in ((), (least,))
    )
    assert known.equals(found)
