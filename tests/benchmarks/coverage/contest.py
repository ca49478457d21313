"""False and true claims of comparisons: leads called certain, references, features with a role."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from clfeval.arrays import Bools, Floats
from clfeval.compare.families import family_of, pairs_of
from clfeval.counts.features.cuts import FeatureCounts, split
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.shares import combination
from clfeval.measures.catalog import CATALOG
from clfeval.methods.measured.asked import Asked
from clfeval.methods.measured.label_estimates import label_estimates
from clfeval.methods.phidelta.features import Ranked, feature_table
from clfeval.methods.tune_jpt.contest import Contest
from tests.benchmarks.coverage import Line

RATIOS = np.geomspace(1e-3, 1e3, 25)
AT_ONCE = 50  # tables put into one contest
FEATURES = 60


def lines(replicates: int) -> list[Line]:
    """Return every line, each of so many tables."""
    return [*_certain(replicates), *_against(replicates), *_chosen(replicates), *_noise(replicates)]


def _votes(rng: np.random.Generator, n: int, apart: Sequence[float], rho: float) -> Bools:
    """Return truth, then the answers of each model, (1 + k, n), of scores with a part in common."""
    truth = rng.random(n) < 0.3
    d = np.array(apart)[:, None]
    own = rng.standard_normal((len(apart), n))
    scores = d * truth + math.sqrt(rho) * rng.standard_normal(n) + math.sqrt(1 - rho) * own
    return np.vstack([truth, scores >= d / 2])


def _certain(replicates: int) -> Iterator[Line]:
    for models, n, rho in [
        (k, n, rho) for k in (2, 3, 6, 12) for n in (150, 300) for rho in (0, 0.6)
    ]:
        rng = np.random.default_rng([1, models, n])
        found = [_led(rng, n, [1.5] * models, rho, "tar") for _ in range(_parts(replicates))]
        share = float(np.mean([part.any(axis=(1, 2)) for part in found]))
        setting = f"{models} equal models, n {n}, rho {rho:g}: any lead called certain"
        yield Line("tune-jpt certain, TAR", setting, AT_ONCE * len(found), share, most=0.05)
    for models in (2, 6):
        rng = np.random.default_rng([2, models])
        apart = [1.5] + [1.0] * (models - 1)
        found = [_led(rng, 300, apart, 0.6, "tar") for _ in range(_parts(replicates))]
        share = float(np.mean([part[:, 0, 1] for part in found]))
        setting = f"{models} models, n 300, d' 1.5 against 1: the better one called"
        yield Line("tune-jpt certain, TAR", setting, AT_ONCE * len(found), share)


def _parts(replicates: int) -> int:
    return max(1, replicates // AT_ONCE)


def _led(rng: np.random.Generator, n: int, apart: Sequence[float], rho: float, name: str) -> Bools:
    """Return whether i is called better than j anywhere, (tables, k, k)."""
    k, tables = len(apart), [_votes(rng, n, apart, rho) for _ in range(AT_ONCE)]
    truth = np.array([table[0] for table in tables])
    votes = np.array([table[1:] for table in tables]).astype(float)
    both = []
    for side in (truth, ~truth):
        shared, every = (
            (votes * side[:, None]) @ votes.transpose(0, 2, 1),
            np.zeros((AT_ONCE * k,) * 2),
        )
        for t in range(AT_ONCE):
            every[t * k : (t + 1) * k, t * k : (t + 1) * k] = shared[t]
        both.append(every)
    p = np.repeat(truth.sum(axis=1), k)
    tp, fp = (np.diag(one).astype(np.int64) for one in both)
    names = tuple(map(str, range(AT_ONCE * k)))
    counts = ConfusionCounts(names, tp, fp, p - tp, n - p - fp, p, n - p)
    contest = Contest(name, counts, (both[0], both[1]), 0.95)
    contest = contest.together(k * (k - 1) // 2, everywhere=True)
    places = np.arange(AT_ONCE)[:, None, None] * k
    first = np.broadcast_to(places + np.arange(k)[:, None], (AT_ONCE, k, k)).ravel()
    second = np.broadcast_to(places + np.arange(k), (AT_ONCE, k, k)).ravel()
    called = np.zeros((AT_ONCE, k, k), bool)
    for ratio in RATIOS:
        here = contest.standing(np.arange(AT_ONCE * k), np.full(AT_ONCE * k, ratio))
        low = contest.compare(first, second, here[:, first], here[:, second])[1]
        called |= (low > 0).reshape(called.shape)
    return called


def _against(replicates: int) -> Iterator[Line]:
    for others in (1, 4, 5):
        rng, told, alone = np.random.default_rng([3, others]), 0, 0
        for _ in range(replicates):
            truth, *votes = _votes(rng, 150, [1.5] * (others + 1), 0.3)
            names = tuple(f"m{i}" for i in range(others + 1))
            patterns = PatternCounts.of(names, truth, np.array(votes).T, np.ones(150, np.int64))
            one = label_estimates(patterns, Asked("delta", CATALOG["delta"], {}))
            family = family_of(one, pairs_of("m0", names), level=0.95, seed=0) if one else None
            if family is not None:
                told += family.significant.any().item()
                alone += (family.p < 0.05).any().item()
        setting = f"{others} equal models against one, n 150: any called different"
        yield Line("phidelta --reference", setting, replicates, told / replicates, most=0.05)
        yield Line("the same, each by itself", setting, replicates, alone / replicates)


def _chosen(replicates: int) -> Iterator[Line]:
    for d, n in [(d, n) for d in (0.0, 0.5, 1.0) for n in (60, 100, 300)]:
        rng, held, plain = np.random.default_rng([4, n]), 0, 0
        for _ in range(replicates):
            truth = rng.random(n) < 0.4
            done = split(
                ScoreCounts.of_rows(rng.standard_normal(n) + d * truth, truth, None), "best"
            )
            p = int(truth.sum())
            true = _above(done.cut - d) - _above(done.cut)
            held += _covers(done.held or (0.0, 0.0), p, n - p, true)
            plain += _covers((done.tp, done.fp), p, n - p, true)
        setting = f"--cut best, d' {d:g}, n {n}: the true delta of the chosen cut"
        yield Line("cross-fitted delta", setting, replicates, held / replicates, least=0.92)
        yield Line("delta on the same rows", setting, replicates, plain / replicates)


def _above(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def _covers(hits: tuple[float, float], p: int, n: int, true: float) -> bool:
    _, low, high = combination(1, -1, hits[0], p, hits[1], n, level=0.95)
    return bool(low <= true <= high)


def _noise(replicates: int) -> Iterator[Line]:
    tables = max(20, replicates * 3 // 20)
    for cut, n, prevalence in product(("median", "best"), (60, 100, 300), (0.4, 0.1)):
        rng, any_told, all_told = np.random.default_rng([9, n]), 0, 0
        for _ in range(tables):
            truth = rng.random(n) < prevalence
            ranked = _ranked(rng.standard_normal((FEATURES, n)), truth, cut)
            table = feature_table(ranked, 0.95, None, honest=cut == "best")
            told = sum(row["role"] is not None for row in table)  # of any kind, rare too
            any_told, all_told = any_told + (told > 0), all_told + told
        setting = f"{FEATURES} of noise, --cut {cut}, n {n}, prevalence {prevalence:g}"
        share = all_told / tables / FEATURES
        yield Line("noise with a role", setting, tables * FEATURES, share, most=0.05)
        yield Line("tables where any has", setting, tables, any_told / tables)


def _ranked(x: Floats, truth: Bools, cut: str) -> Ranked:
    p = int(truth.sum())
    return Ranked.of(FeatureCounts.of(
        (f"x{i}", f"x{i}", "numeric", split(ScoreCounts.of_rows(row, truth, None), cut),  # type: ignore[arg-type]
         p, len(truth) - p, 0)
        for i, row in enumerate(x)
    ))  # fmt: skip


if __name__ == "__main__":
    for one in lines(400):
        print(f"{one.interval:28}{one.setting:72}{one.replicates:6}{100 * one.covered:7.1f} %")
