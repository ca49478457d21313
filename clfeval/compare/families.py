"""Families of pairs of models: p-values adjusted by the joint maximum, models tied for best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import ceil, erf, sqrt

import numpy as np
from numpy.typing import ArrayLike

from clfeval.arrays import Bools, Floats, Ints
from clfeval.compare.change import Change, comparison_row, estimate_or_none, number_or_none
from clfeval.compare.paired_estimates import PairedEstimates
from clfeval.document.cells import Estimate, Row, as_row
from clfeval.formatting import NAMESAKES
from clfeval.inference.distributions import critical_value, normal_quantile_array, student_quantile
from clfeval.inference.resampling import random_stream
from clfeval.records import dataclass, replace

BEST, ALL_PAIRS = "best", "all-pairs"  # in place of a reference
EVERY = (BEST, ALL_PAIRS)  # of which any two models are compared
# the first-screen measures of a report, by which models are compared with a reference
ON_SCREEN = (
    "roc_auc",
    "brier",
    "net_benefit",
    "balanced_accuracy",
    "sensitivity",
    "specificity",
    "precision",
    "npv",
    "mcc",
    "f1",
    "accuracy",
)
CALIBRATION = ("calibration_slope", "calibration_in_the_large", "oe_ratio")
# the measures whose changes since a baseline are tested together
CHANGING = (*ON_SCREEN, *CALIBRATION, "overconfidence", "kappa_quadratic")
POWER = 0.8
MIN_PLANNING_ROWS = 10  # of each class, from which on an error plans a study
DRAWS = 10_000
_MIN_DRAWS, _MOST = 1_000, 5 * 10**7  # draws, and differences drawn
_SINGLE = 10**5  # pairs from which on differences of draws have 24 bits
_EQUAL = 1e-9  # of the spread of draws: equal

PairPositions = Sequence[tuple[int, int]]


def family_pairs(reference: str | None, models: Sequence[str]) -> PairPositions:
    """Return the pairs of a family, by index: each model with the reference, or any two.

    Of `old:*` each `NAME:MODEL` with `old:MODEL`. Without a reference, any two.
    """
    if reference is None or reference in EVERY:
        return list(combinations(range(len(models)), 2))
    if reference.endswith(NAMESAKES):
        prefix = reference.removesuffix("*")
        references = {
            name.removeprefix(prefix): model_index
            for model_index, name in enumerate(models)
            if name.startswith(prefix)
        }
        model_names = [name.partition(":")[2] for name in models]
        return [
            (model_index, references[model_name])
            for model_index, model_name in enumerate(model_names)
            if references.get(model_name, model_index) != model_index
        ]
    if reference not in models:
        return []
    reference_index = models.index(reference)
    return [
        (model_index, reference_index)
        for model_index in range(len(models))
        if model_index != reference_index
    ]


@dataclass(frozen=True, slots=True, eq=False)
class PairFamily:
    """Pairs of models by one measure, tested together: all arrays (q,).

    first, second: indices of the models. p: unadjusted, adjusted: for all pairs. each_level: of
    single intervals that jointly keep level.
    """

    estimates: PairedEstimates
    first: Ints
    second: Ints
    p: Floats
    adjusted: Floats
    level: float
    each_level: float

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs, as indices of models."""
        return list(zip(self.first.tolist(), self.second.tolist(), strict=True))

    @property
    def significant(self) -> Bools:
        """Which pairs differ significantly, adjusted for all pairs."""
        return np.asarray(self.adjusted < 1 - self.level)

    def changes(
        self, values: Sequence[Estimate] | None = None, rows: float | None = None
    ) -> list[Change]:
        """Return the change from the second to the first model of each pair.

        values: of the models, with their own intervals.
        """
        if values is None:
            values = [Estimate(value) for value in self.estimates.values.tolist()]
        pairs = (self.first, self.second)
        *own_interval, _ = self.estimates.intervals(*pairs, level=self.level)
        _, *joint_limits, _ = self.estimates.intervals(*pairs, level=self.each_level)
        changes = []
        for (model, reference), difference, low, high, joint_low, joint_high, p, adjusted in zip(
            self.pairs,
            *(column.tolist() for column in (*own_interval, *joint_limits, self.p, self.adjusted)),
            strict=True,
        ):
            changes.append(
                Change(
                    values[reference],
                    values[model],
                    estimate_or_none(difference, low, high),
                    number_or_none(p),
                    number_or_none(adjusted),
                    estimate_or_none(difference, joint_low, joint_high),
                    paired=True,
                    rows=rows,
                )
            )
        return changes


def adjusted_family(
    estimates: PairedEstimates,
    pairs: PairPositions,
    *,
    level: float,
    seed: int,
    measures: int = 1,
    alone: bool = False,
) -> PairFamily | None:
    """Return p-values of pairs of models, adjusted by the joint maximum; None without a pair.

    adjusted = P(max |Z_i - Z_j| / s_ij >= z), z the normal quantile of a pair's own p, over draws
    Z ~ N(0, V) of the pairs whose error is known: Tukey's of all pairs, Dunnett's of those with a
    reference; at most Bonferroni's p, at least the own. Without V, of independent estimates of one
    variance. each_level: that of the z whose adjusted p is 1 - level.

    pairs: indices of models. measures: number of measures in the family, by Bonferroni's rule.
    alone: no adjustment.

    Source: Hothorn, Bretz and Westfall 2008, Biometrical Journal 50:346.
    """
    if not pairs:
        return None
    first_models, second_models = np.array(pairs, np.int64).T
    p = estimates.p_values(first_models, second_models)
    adjusted = p.copy()
    each_level = 1 - (1 - level) / measures
    if not alone:
        is_equal = (estimates.pair_errors.errors[first_models, second_models] == 0) & (p == 1)
        tested_indices = np.flatnonzero(~np.isnan(p) & ~is_equal)
        root, covariance, name_ranks = _by_name(estimates)
        rng = random_stream(seed, f"family\0{estimates.metric}")
        first_ranks, second_ranks = name_ranks[[first_models, second_models]][:, tested_indices]
        adjusted[tested_indices], each_level = joint_maximum_p_values(
            p[tested_indices],
            first_ranks,
            second_ranks,
            covariance,
            level=each_level,
            rng=rng,
            root=root,
        )
    adjusted = np.minimum(measures * adjusted, 1.0)
    return PairFamily(estimates, first_models, second_models, p, adjusted, level, each_level)


def joint_maximum_p_values(
    p: Floats,
    first_models: Ints,
    second_models: Ints,
    covariance: Floats,
    *,
    level: float,
    rng: np.random.Generator,
    root: Floats | None = None,
) -> tuple[Floats, float]:
    """Return p-values of pairs, (q,), adjusted for all of them, and the level of single intervals.

    See `adjusted_family`. first_models, second_models: indices. covariance (k, k) of the estimates,
    in any unit where unknown; root: its root, where known.
    """
    if len(p) < 2:
        return p, level
    root = covariance_root(covariance) if root is None else root
    maxima = np.sort(_draw_maxima(covariance, root, first_models, second_models, rng))
    # the table itself is a draw: no p of 0 (Davison and Hinkley 1997, 4.2.5)
    draw_count = len(maxima) + 1
    z = np.abs(normal_quantile_array(np.clip(p, 1e-300, 1) / 2))
    exceedance = (draw_count - np.searchsorted(maxima, z, side="left")) / draw_count
    # draws that may exceed a significant one
    exceeding_count = ceil((1 - level) * draw_count - 1 - 1e-9)
    critical_z = critical_value(1 - (1 - level) / len(p))
    if exceeding_count > 0:
        critical_z = min(critical_z, float(maxima[-exceeding_count]))
    return np.minimum(np.maximum(exceedance, p), p * len(p)), max(level, erf(critical_z / sqrt(2)))


def _draw_maxima(
    v: Floats, root: Floats, first_models: Ints, second_models: Ints, rng: np.random.Generator
) -> Floats:
    """Return draws of the largest |Z_i - Z_j| / s_ij over some pairs, (d,).

    v: the covariance; root: R with R R' = V. Pairs that never differ have draws of their own.
    """
    draws = int(np.clip(_MOST // len(first_models), _MIN_DRAWS, DRAWS))
    float_type = np.float32 if len(first_models) > _SINGLE else np.float64
    z = np.ascontiguousarray(normal_draws(root, draws, rng).T, float_type)
    variance = np.diag(v)
    maxima = np.zeros(draws)
    for model in sorted({*first_models.tolist()}):
        partner_models = second_models[first_models == model]
        s = np.sqrt(
            np.maximum(
                variance[model] + variance[partner_models] - 2 * v[model, partner_models], 0.0
            )
        )
        differs = s > _EQUAL * np.sqrt(variance[model] + variance[partner_models])
        z_of_equal_pairs = rng.standard_normal((draws, int((~differs).sum()))).T
        z_of_pairs = z[partner_models[differs]]
        z_of_pairs -= z[model]
        z_of_pairs /= s[differs, None].astype(float_type)
        for statistics in (z_of_pairs, z_of_equal_pairs):
            np.maximum(maxima, statistics.max(axis=0, initial=0.0), out=maxima)
            np.maximum(maxima, -statistics.min(axis=0, initial=0.0), out=maxima)
    return maxima


@dataclass(frozen=True, slots=True, eq=False)
class BestSet:
    """Models not significantly different from the best of k by one measure, and selection bias.

    tied (k,): not significantly worse than the leader, adjusted for all pairs; the set holds the
    best model with probability `level` at least. comparable (k,): see `comparable_pairs`, with the
    leader. first (k,): share of joint draws in which each is best. low_rank, high_rank (k,):
    confidence limits of the rank. leader, second: positions of the largest values. optimism:
    selection bias of the best of k. detectable: difference of the first two, NaN if unknown.
    """

    models: tuple[str, ...]
    tied: Bools
    comparable: Bools
    first: Floats
    low_rank: Ints
    high_rank: Ints
    leader: int
    second: int
    optimism: float
    detectable: float

    @property
    def ties(self) -> dict[str, bool | None]:
        """Whether each model is tied with the best; None if they cannot be compared."""
        return {
            model: None if is_tied and not is_comparable else is_tied
            for model, is_tied, is_comparable in zip(
                self.models, self.tied.tolist(), self.comparable.tolist(), strict=True
            )
        }


def best_set(
    family: PairFamily | None, estimates: PairedEstimates, *, level: float, seed: int
) -> BestSet | None:
    """Return the models tied with the best, from the family of all pairs; None without errors.

    optimism = mean over draws Z ~ N(0, V) of (x + Z)_w - x_w

    x: the values, with the sign by which larger is better; w: the largest of the draw.
    Source: METHODS of the guide `numbers`; Efron 2011, Journal of the American Statistical
    Association 106:1602, by draws.
    """
    covariance = estimates.pair_errors.covariance
    k = len(estimates.models)
    if covariance is None or not estimates.sign or not np.isfinite(covariance).all():
        return None
    signed_values = estimates.sign * estimates.values
    leader = int(signed_values.argmax())
    is_worse = _significantly_worse(family, signed_values)
    drawn_values = _drawn_values(estimates, signed_values, seed)
    winners = drawn_values.argmax(axis=1)
    gains = drawn_values[np.arange(len(drawn_values)), winners] - signed_values[winners]
    optimism = float(gains.mean()) if k > 1 else 0.0
    model_indices = np.arange(k)
    second = int(np.where(model_indices == leader, -np.inf, signed_values).argmax())
    return BestSet(
        estimates.models,
        ~is_worse[:, leader],
        comparable_pairs(estimates, np.full(k, leader), model_indices, level=level)
        | (model_indices == leader),
        _shares_of_first(drawn_values),
        1 + is_worse.sum(axis=1),
        k - is_worse.sum(axis=0),
        leader,
        second,
        max(0.0, optimism),
        float(planned_differences(estimates, leader, second, level=level)),
    )


def _significantly_worse(family: PairFamily | None, signed_values: Floats) -> Bools:
    """Return whether each model is significantly worse than each other one, (k, k)."""
    is_worse = np.zeros((len(signed_values), len(signed_values)), bool)
    if family is not None:
        for (i, j), is_significant in zip(family.pairs, family.significant.tolist(), strict=True):
            if is_significant and signed_values[i] != signed_values[j]:
                worse_index, better_index = (
                    (i, j) if signed_values[i] < signed_values[j] else (j, i)
                )
                is_worse[worse_index, better_index] = True
    return is_worse


def _drawn_values(estimates: PairedEstimates, signed_values: Floats, seed: int) -> Floats:
    """Return draws around the signed values, (r, k), from the joint distribution of estimates."""
    root, _, name_ranks = _by_name(estimates)
    draws = int(np.clip(_MOST // 20 // len(signed_values), _MIN_DRAWS, DRAWS))
    rng = random_stream(seed, f"best\0{estimates.metric}")
    return np.asarray(signed_values + normal_draws(root, draws, rng)[:, name_ranks])


def _shares_of_first(drawn_values: Floats) -> Floats:
    """Return the share of draws (r, k) in which each model is the best, ties shared equally."""
    tolerance = (
        _EQUAL * float(np.abs(drawn_values - drawn_values.mean(axis=0)).max(initial=0.0)) or 1.0
    )
    # two that never differ are equal
    is_best = drawn_values >= drawn_values.max(axis=1, keepdims=True) - tolerance
    return np.asarray((is_best / is_best.sum(axis=1, keepdims=True)).mean(axis=0))


@lru_cache(1)  # of 1,000 models a root takes a second
def _by_name(estimates: PairedEstimates) -> tuple[Floats, Floats, Ints]:
    """Return root and V with models sorted by name, and the rank of each model.

    V is the identity where it is unknown.
    """
    covariance = estimates.pair_errors.covariance
    name_order = sorted(range(len(estimates.models)), key=estimates.models.__getitem__)
    covariance = (
        np.eye(len(name_order))
        if covariance is None
        else covariance[np.ix_(name_order, name_order)]
    )
    return covariance_root(covariance), covariance, np.argsort(name_order)


def detectable_difference(
    error: ArrayLike, *, level: float, df: ArrayLike = np.inf, power: float = POWER
) -> Floats:
    """Return the smallest true difference that is detected with a probability of `power`.

    (t at (1 + level) / 2 + t at power) x standard error of the difference, Student's t with df

    Shapes: as error and df, which broadcast.
    Source: Cohen 1988, Statistical Power Analysis for the Behavioral Sciences, chapter 2.
    """
    quantiles = student_quantile(df, level=level) + student_quantile(df, level=2 * power - 1)
    return np.asarray(quantiles * np.asarray(error, np.float64))


def planned_differences(
    estimates: PairedEstimates, first_models: Ints | int, second_models: Ints | int, *, level: float
) -> Floats:
    """Return the detectable differences of pairs, (q,); NaN where the rows do not tell.

    That is with fewer than 10 rows of a class, by which the error is estimated, without an error,
    and where no possible difference is large enough.
    """
    errors = estimates.pair_errors.errors[first_models, second_models]
    df = estimates.pair_errors.df[first_models, second_models]
    detectable = detectable_difference(errors, level=level, df=df)
    is_known = (
        (estimates.fewest >= MIN_PLANNING_ROWS) & (errors > 0) & (detectable < estimates.span)
    )
    return np.where(is_known, detectable, np.nan)


def comparable_pairs(
    estimates: PairedEstimates, first_models: Ints, second_models: Ints, *, level: float
) -> Bools:
    """Return which pairs can differ significantly, (q,): those that differ in no row count.

    Others need a p-value, and an error with which the largest possible difference is detected with
    power 0.8. Without an error, of areas, that difference needs a significant p.
    """
    errors = estimates.pair_errors.errors[first_models, second_models]
    df = estimates.pair_errors.df[first_models, second_models]
    p = estimates.p_values(first_models, second_models)
    is_detected = ~(detectable_difference(errors, level=level, df=df) >= estimates.span)
    smallest_p = 2 * (1 - 1 / sqrt(2)) ** estimates.fewest  # see `p_values`, of areas at both ends
    is_testable = np.where(errors == 0, smallest_p < 1 - level, is_detected)
    differs_in_no_row = (errors == 0) & (p == 1)
    return np.asarray(differs_in_no_row | (~np.isnan(p) & is_testable))


def covariance_root(covariance: Floats) -> Floats:
    """Return R with R R' = V, (k, k), also of a V that is singular."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def normal_draws(root: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Return draws from N(0, R R'), (draws, k)."""
    return np.asarray(rng.standard_normal((draws, len(root))) @ root.T)


def best_set_rows(best_set: BestSet, measure: str) -> Iterator[Row]:
    """Yield whether each of several models is tied with the best, and the limits of its rank."""
    if len(best_set.models) < 2:
        return
    ties = best_set.ties
    for model_index, model in enumerate(best_set.models):
        yield as_row(
            {
                "measure": measure,
                "model": model,
                "tied": ties[model],
                "p_first": best_set.first[model_index].item(),
                "rank_low": best_set.low_rank[model_index].item(),
                "rank_high": best_set.high_rank[model_index].item(),
            }
        )


def reference_rows(
    family: PairFamily,
    values: Sequence[Estimate],
    rows: float,
    reference: str,
    *,
    margin: float | None = None,
) -> Iterator[Row]:
    """Yield differences of models from a reference by a measure, on the same rows.

    With `best` only pairs with the leader, adjusted for all pairs. values: of the models, with
    their own intervals; rows: the number of rows.
    """
    estimates = family.estimates
    pairs = (family.first, family.second)
    leader_index = int((estimates.sign * estimates.values).argmax()) if reference == BEST else None
    _, _, _, is_widened = estimates.intervals(*pairs, level=family.level)
    detectable_differences = planned_differences(estimates, *pairs, level=family.level).tolist()
    changes = family.changes(values, rows)
    for pair_index, (i, j) in enumerate(family.pairs):
        if leader_index not in (None, i, j):
            continue  # a pair without the leader
        is_turned = leader_index == i  # the leader is the reference
        model_index, reference_index = (j, i) if is_turned else (i, j)
        error = float(estimates.pair_errors.errors[i, j])
        yield comparison_row(
            "reference",
            estimates.metric,
            estimates.models[model_index],
            estimates.models[reference_index],
            changes[pair_index].turned() if is_turned else changes[pair_index],
            family.level,
            margin=margin,
            se=number_or_none(error) or None,
            df=estimates.student_df(i, j),
            method=estimates.method(i, j, wide=bool(is_widened[pair_index])),
            detectable=number_or_none(detectable_differences[pair_index]),
        )


def slice_reference_rows(
    slice_estimates: Mapping[str, Mapping[str, PairedEstimates]],
    whole_estimates: Mapping[str, PairedEstimates],
    sizes: Mapping[str, tuple[float, bool]],
    reference: str,
    *,
    level: float,
    seed: int,
    margins: Mapping[str, float],
) -> Iterator[Row]:
    """Yield differences of models from the reference within each slice that is large enough.

    p_adjusted: by Benjamini and Hochberg over all slices and models by a measure. slice_estimates:
    by measure and slice. whole_estimates: of all rows, by measure, for the reference `best`. sizes:
    rows of a slice, and whether it is tested.
    """
    for metric, by_slice in slice_estimates.items():
        reference_model = reference
        if reference == BEST:
            overall_estimates = whole_estimates[metric]
            reference_model = overall_estimates.models[
                int((overall_estimates.sign * overall_estimates.values).argmax())
            ]
        tested_pairs = list[tuple[str, PairedEstimates, tuple[int, int]]]()
        changes = list[Change]()
        for slice_name, estimates in by_slice.items():
            rows, is_tested = sizes[slice_name]
            slice_pairs: PairPositions = (
                family_pairs(reference_model, estimates.models) if is_tested else ()
            )
            family = adjusted_family(estimates, slice_pairs, level=level, seed=seed, alone=True)
            if family is not None:
                tested_pairs += [(slice_name, estimates, slice_pair) for slice_pair in family.pairs]
                changes += family.changes(None, rows)
        for (slice_name, estimates, (model_index, reference_index)), change in zip(
            tested_pairs, adjusted_fdr(changes), strict=True
        ):
            yield comparison_row(
                "reference",
                metric,
                estimates.models[model_index],
                estimates.models[reference_index],
                change,
                level,
                margin=margins.get(metric),
                label=slice_name,
                df=estimates.student_df(model_index, reference_index),
                method=estimates.method(model_index, reference_index, wide=False),
            )


def adjusted_fdr(changes: Sequence[Change]) -> Iterator[Change]:
    """Yield changes with p adjusted over all of them by Benjamini and Hochberg's rule."""
    from clfeval.inference.hypothesis_tests import benjamini_hochberg

    p = np.array([math.nan if change.p is None else change.p for change in changes])
    for change, q in zip(changes, benjamini_hochberg(p).tolist(), strict=True):
        yield replace(change, adjusted=number_or_none(q))
