"""Differences at class ratios; false and true claims of leads, references, features with a role."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from scipy.stats import norm

from clfeval.arrays import Bools, Floats
from clfeval.compare.families import adjusted_family, family_pairs
from clfeval.compare.paired_estimates import RateCovariance
from clfeval.counts.features.cuts import FeatureCounts, split_feature
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.proportions import combine_proportions
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.estimates import concatenate_counts
from clfeval.methods.measurement.label_measures import label_estimates
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.phidelta.features import RankedFeatures, differ_from_chance, feature_table
from clfeval.methods.tune_jpt.leading_models import PairwiseComparison, rate_covariance
from tests.benchmarks.coverage import Line

RATIOS = np.geomspace(1e-3, 1e3, 25)
AT_ONCE = 50  # tables put into one contest
FEATURES = 60
# prevalence, sensitivities and specificities of two models, correlation of their errors
TRUE = {
    "unlike": (0.3, (0.8, 0.75), (0.85, 0.9), 0.6),
    "alike": (0.3, (0.8, 0.8), (0.9, 0.9), 0.97),
    "one without a miss": (0.3, (1.0, 0.9), (0.85, 0.9), 0.6),
    "one without a false positive": (0.3, (0.7, 0.8), (1.0, 0.97), 0.6),
    "one without an error": (0.3, (1.0, 0.95), (1.0, 0.97), 0.6),
    "both without a miss": (0.3, (1.0, 1.0), (0.9, 0.9), 0.6),
    "rare positives": (0.1, (0.8, 0.7), (0.9, 0.95), 0.6),
}
OF_A_PATIENT, ICC = 5, 0.5


def lines(replicates: int) -> list[Line]:
    """Return every line, each of so many tables."""
    return [
        *_differences(replicates),
        *_significant(replicates),
        *_against(replicates),
        *_chosen(replicates),
        *_noise(replicates),
    ]


def _votes(rng: np.random.Generator, n: int, apart: Sequence[float], rho: float) -> Bools:
    """Return truth, then the answers of each model, (1 + k, n), of scores with a part in common."""
    truth = rng.random(n) < 0.3
    d = np.array(apart)[:, None]
    own = rng.standard_normal((len(apart), n))
    scores = d * truth + math.sqrt(rho) * rng.standard_normal(n) + math.sqrt(1 - rho) * own
    return np.vstack([truth, scores >= d / 2])


def pair(
    rng: np.random.Generator, n: int, setting: str, *, clusters: bool
) -> tuple[Bools, Bools, list[str] | None]:
    """Return truth (n,), the answers of two models (2, n) and of which patient each row is."""
    prevalence, sens, spec, rho = TRUE[setting]
    truth, patient = rng.random(n) < prevalence, np.arange(n) // OF_A_PATIENT
    errors = rng.standard_normal((3, n))  # of both models, and of each
    if clusters:
        alike = rng.standard_normal((3, n))[:, patient]
        errors = math.sqrt(ICC) * alike + math.sqrt(1 - ICC) * errors
    z = math.sqrt(rho) * errors[0] + math.sqrt(1 - rho) * errors[1:]
    rate = np.where(truth, np.array(sens)[:, None], np.array(spec)[:, None])
    right = z < norm.ppf(rate)
    return truth, right == truth, [*map(str, patient.tolist())] if clusters else None


def _differences(replicates: int) -> Iterator[Line]:
    cases = [(n, one, clusters) for n in (100, 1000) for clusters in (False, True) for one in TRUE]
    for n, setting, clusters in cases:
        rng = np.random.default_rng([8, n, clusters])
        parts: list[PatternCounts] = []
        while len(parts) < replicates:
            truth, votes, owners = pair(rng, n, setting, clusters=clusters)
            if 1 < truth.sum() < n - 1:
                ones = np.ones(n, np.int64)
                parts.append(PatternCounts.from_votes("ab", truth, votes.T, ones, owners=owners))
        known = _rates(parts)
        first, (_, sens, spec, _) = 2 * np.arange(replicates), TRUE[setting]
        for name in ("tar", "mcc", "f_beta"):
            measure = CATALOG[name].with_settings(beta=1.0)
            for odds in (1.0, 0.1, 0.01):
                models = np.arange(2 * replicates)
                found = known.measures_at_odds(measure, models, np.full(len(models), odds))
                _, low, high = found.intervals(first, first + 1, level=0.95)
                rates = np.array(sens), 1 - np.array(spec)
                one, other = measure.function(Confusion.from_rates(*rates, odds)).tolist()
                words = f"{setting}, n {n}{', patients' * clusters}, odds {odds:g}"
                ends = np.stack([low - 1e-12, high + 1e-12], axis=1)
                yield Line.of(f"difference in {name}", words, ends, one - other, 0.93)


def _rates(parts: Sequence[PatternCounts]) -> RateCovariance:
    counts = {i: ConfusionCounts.from_patterns(one) for i, one in enumerate(parts)}
    return rate_covariance(concatenate_counts(counts)[1], parts)


def _significant(replicates: int) -> Iterator[Line]:
    for models, n, rho in [
        (k, n, rho) for k in (2, 3, 6, 12) for n in (150, 300) for rho in (0, 0.6)
    ]:
        rng = np.random.default_rng([1, models, n])
        found = [_led(rng, n, [1.5] * models, rho, "tar") for _ in range(_parts(replicates))]
        share = float(np.mean([part.any(axis=(1, 2)) for part in found]))
        setting = f"{models} equal models, n {n}, rho {rho:g}: any lead called significant"
        yield Line("tune-jpt leads, TAR", setting, AT_ONCE * len(found), share, most=0.05)
    for models in (2, 6):
        rng = np.random.default_rng([2, models])
        apart = [1.5] + [1.0] * (models - 1)
        found = [_led(rng, 300, apart, 0.6, "tar") for _ in range(_parts(replicates))]
        share = float(np.mean([part[:, 0, 1] for part in found]))
        setting = f"{models} models, n 300, d' 1.5 against 1: the better one called"
        yield Line("tune-jpt leads, TAR", setting, AT_ONCE * len(found), share)


def _parts(replicates: int) -> int:
    return max(1, replicates // AT_ONCE)


def _led(rng: np.random.Generator, n: int, apart: Sequence[float], rho: float, name: str) -> Bools:
    """Return whether i is called better than j anywhere, (tables, k, k)."""
    k, tables = len(apart), [_votes(rng, n, apart, rho) for _ in range(AT_ONCE)]
    names, ones = [f"m{i}" for i in range(k)], np.ones(n, np.int64)
    rates = _rates([PatternCounts.from_votes(names, one[0], one[1:].T, ones) for one in tables])
    contest = PairwiseComparison(CATALOG[name], rates.counts, rates, 0.95, parts=AT_ONCE)
    contest = contest.simultaneous(k * (k - 1) // 2, everywhere=True)
    places = np.arange(AT_ONCE)[:, None, None] * k
    first = np.broadcast_to(places + np.arange(k)[:, None], (AT_ONCE, k, k)).ravel()
    second = np.broadcast_to(places + np.arange(k), (AT_ONCE, k, k)).ravel()
    called, models = np.zeros((AT_ONCE, k, k), bool), np.arange(AT_ONCE * k)
    for ratio in RATIOS:
        some = contest.significant(first, second, models, np.full(len(models), ratio))
        called |= some.reshape(called.shape)
    return called


def _against(replicates: int) -> Iterator[Line]:
    for others in (1, 4, 5):
        rng, told, alone = np.random.default_rng([3, others]), 0, 0
        for _ in range(replicates):
            truth, *votes = _votes(rng, 150, [1.5] * (others + 1), 0.3)
            names = tuple(f"m{i}" for i in range(others + 1))
            patterns = PatternCounts.from_votes(
                names, truth, np.array(votes).T, np.ones(150, np.int64)
            )
            one = label_estimates(patterns, RequestedMeasure("delta", CATALOG["delta"], {}))
            family = (
                adjusted_family(one, family_pairs("m0", names), level=0.95, seed=0) if one else None
            )
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
            done = split_feature(
                ScoreCounts.from_rows(rng.standard_normal(n) + d * truth, truth, None), "best"
            )
            p = int(truth.sum())
            true = _above(done.cut - d) - _above(done.cut)
            held += _covers(done.cross_fitted or (0.0, 0.0), p, n - p, true)
            plain += _covers((done.tp, done.fp), p, n - p, true)
        setting = f"--cut best, d' {d:g}, n {n}: the true delta of the chosen cut"
        yield Line("cross-fitted delta", setting, replicates, held / replicates, least=0.92)
        yield Line("delta on the same rows", setting, replicates, plain / replicates)


def _above(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def _covers(hits: tuple[float, float], p: int, n: int, true: float) -> bool:
    _, low, high = combine_proportions(1, -1, hits[0], p, hits[1], n, level=0.95)
    return bool(low <= true <= high)


def _noise(replicates: int) -> Iterator[Line]:
    tables = max(20, replicates * 3 // 20)
    for cut, n, prevalence in product(("median", "best"), (60, 100, 300), (0.4, 0.1)):
        rng, any_told, all_told = np.random.default_rng([9, n]), 0, 0
        for _ in range(tables):
            truth = rng.random(n) < prevalence
            ranked = _ranked(rng.standard_normal((FEATURES, n)), truth, cut)
            told = differ_from_chance(ranked, 0.95)
            table = feature_table(ranked, 0.95, None, told, corrected=cut == "best")
            told = sum(row["role"] is not None for row in table)  # of any kind, rare too
            any_told, all_told = any_told + (told > 0), all_told + told
        setting = f"{FEATURES} of noise, --cut {cut}, n {n}, prevalence {prevalence:g}"
        share = all_told / tables / FEATURES
        yield Line("noise with a role", setting, tables * FEATURES, share, most=0.05)
        yield Line("tables where any has", setting, tables, any_told / tables)


def _ranked(x: Floats, truth: Bools, cut: str) -> RankedFeatures:
    p = int(truth.sum())
    return RankedFeatures.from_counts(
        FeatureCounts.from_features(
            (
                f"x{i}",
                f"x{i}",
                "numeric",
                split_feature(ScoreCounts.from_rows(row, truth, None), cut),  # type: ignore[arg-type]
                p,
                len(truth) - p,
                0,
            )
            for i, row in enumerate(x)
        )
    )


if __name__ == "__main__":
    for one in lines(400):
        print(f"{one.interval:28}{one.setting:72}{one.replicates:6}{100 * one.covered:7.1f} %")
