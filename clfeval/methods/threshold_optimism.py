"""How optimistic a threshold is where the rows that chose it judge it, by the bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import e

import numpy as np

from clfeval.arrays import Counts, Floats, Ints
from clfeval.counts.clusters import ClusterCounts
from clfeval.counts.patterns import ConfusionCounts, for_products
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.influence import smaller_class
from clfeval.inference.resampling import resampled_counts, stream
from clfeval.measures.confusion import Confusion, sensitivity, specificity
from clfeval.measures.record import BOTH
from clfeval.methods.estimates import estimate
from clfeval.methods.measured.hard import table_of
from clfeval.result import Estimate

DRAWS = 400  # bootstrap tables
GROUPS = 2**10  # of scores, among which these choose
DRAWN = 1 - 1 / e  # of the rows, each draw has about so many
SELDOM = "limit_seldom_met"
TIE = 1e-12  # relative
# places of the best points of b curves by r rules, (r, b), from tp and fp (b, h)
PlaceRule = Callable[[Counts, Counts], Ints]


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapChoices:
    """What r rules choose on b bootstrap tables; the arrays are (r, b), NaN where it is nothing.

    drawn: the 2 x 2 tables at these thresholds of the draw itself; whole: those of all rows.
    """

    thresholds: Floats
    drawn: Confusion
    whole: Confusion

    @property
    def chosen(self) -> Floats:
        """The share of the draws on which each rule chooses a threshold, (r,)."""
        return np.asarray((~np.isnan(self.thresholds)).mean(axis=1))

    def optimism(self, of: Callable[[Confusion], Floats]) -> Floats:
        """Return by how much a measure is larger on the rows that choose than on others, (r,).

        mean over draws (measure of the draw - measure of all rows) / (1 - 1/e)

        A draw has about 1 - 1/e of the rows, and only those it has not are rows that did not
        choose: the difference to all rows is so much of the difference to them.
        """
        gaps = np.asarray(of(self.drawn) - of(self.whole))
        known = ~np.isnan(gaps)
        return np.asarray(np.where(known, gaps, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
                          / DRAWN)  # fmt: skip


def bootstrap_choices(
    counts: ScoreCounts, choose: PlaceRule, seed: int, who: str
) -> BootstrapChoices:
    """Return what rules choose on tables of rows, or clusters, drawn again from a stream `who`.

    Scores are put into at most 1024 groups. Rows of unequal weight get random shares of themselves.
    Source: Efron 1983, Journal of the American Statistical Association 78:316 (the optimism, and
    why it is divided by .632); Noma et al. 2021, Statistics in Medicine 40:5691.
    """
    few = counts.coarser(GROUPS)
    (tp,), (fp,) = (_from_above(part[None]) for part in (few.positives, few.negatives))
    cuts = np.concatenate([[np.inf], few.scores[::-1]])
    parts: list[tuple[Floats, ...]] = []
    for block in resampled_scores(few, stream(seed, f"cut\0{who}")):
        both = block.reshape(len(block), 2, -1)
        both = both[(both.sum(axis=2) > 0).all(axis=1)]
        hits, false = _from_above(both[:, 0]), _from_above(both[:, 1])
        place, each = choose(hits, false), np.arange(len(both))
        columns = (cuts[place], hits[each, place], false[each, place],
                   *np.broadcast_arrays(hits[:, -1], false[:, -1], place)[:2],
                   tp[place], fp[place])  # fmt: skip
        parts.append(tuple(np.where(place < 0, np.nan, one) for one in columns))
    at, hit, miss, p, n, a, b = (np.concatenate(one, axis=1) for one in zip(*parts, strict=True))
    whole = Confusion(a, b, tp[-1] - a, fp[-1] - b)
    return BootstrapChoices(at, Confusion(hit, miss, p - hit, n - miss), whole)


def resampled_scores(counts: ScoreCounts, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield how often each count is drawn when rows, or clusters, are drawn again, (b, 2 m)."""
    n = np.concatenate([counts.positives, counts.negatives])
    if counts.clusters is not None:
        yield from counts.clusters.redraws(len(n), resamples=DRAWS, rng=rng)
        return
    some = n > 0
    for block in resampled_counts(n[some], resamples=DRAWS, rng=rng):
        drawn = np.zeros((len(block), len(n)), np.int64)
        drawn[:, some] = block
        yield drawn


def best_places(gains: Floats, tp: Counts, fp: Counts, p: Counts, n: Counts) -> Ints:
    """Return which of h points have the largest gain, -1 where it is NaN at each: (..., h): (...).

    Of gains equal up to rounding that of the largest tp / p - fp / n, then the first.
    """
    known = ~np.isnan(gains)
    most = np.where(known, gains, -np.inf).max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        near = known & ((gains == most) | (gains >= most - TIE * np.abs(most)))
    hits, false, p, n = for_products(tp, fp, p, n)
    delta = hits * n - false * p  # whole numbers, so that equal means equal
    delta = np.where(near, delta, delta.min(axis=-1, keepdims=True) - 1)
    return np.where(known.any(axis=-1), delta.argmax(axis=-1), -1)


def expected_counts(here: ConfusionCounts, choices: BootstrapChoices) -> tuple[Floats, Floats]:
    """Return TP and FP of r chosen thresholds, less what their rates owe to the choice."""
    tp = here.tp - choices.optimism(sensitivity) * here.positives
    fp = here.fp + choices.optimism(specificity) * here.negatives
    return tp, fp


def corrected(
    here: ConfusionCounts, tp: Floats, fp: Floats, gain: Callable[[Confusion], Floats], *,
    alone: bool,
) -> ConfusionCounts:  # fmt: skip
    """Return r tables with other TP and FP, but as they are where that would be better.

    gain: of r tables, (r,), larger is better; NaN where that is no matter. Nothing is better on
    other rows than on those that chose; and calling all rows alike has the same rates on any rows.
    alone: each row is drawn by itself.
    """
    p, n = here.positives, here.negatives
    tp, fp = np.clip(tp, 0, p), np.clip(fp, 0, n)
    with np.errstate(invalid="ignore"):
        better = gain(Confusion(tp, fp, p - tp, n - fp)) > gain(table_of(here))
    better |= (here.tp + here.fp == 0) | (here.fn + here.tn == 0)
    tp, fp = np.where(better, here.tp, tp), np.where(better, here.fp, fp)
    less = replace(here, tp=tp, fp=fp, fn=p - tp, tn=n - fp)
    if here.sums is None:
        return less
    sums = [thinned(here.at(slice(i, i + 1)), less.at(slice(i, i + 1)), rows=alone)
            for i in range(len(tp))]  # fmt: skip
    return replace(less, sums=np.array(sums))


def thinned(here: ConfusionCounts, less: ConfusionCounts, *, rows: bool) -> Floats:
    """Return the sums of products, (4, 4), where some hits are none, or some others are hits.

    Of TP of which every row stays with the chance a, wherever it is: a TP, and a² times the sum of
    squares with a (1 - a) times that of the rows; of TP that grow the same of FN.
    """
    assert here.sums is not None
    sums, moved, alone = here.sums[0], np.eye(4), np.zeros(4)
    for i, hit, other in ((0, "tp", "fn"), (1, "fp", "tn")):
        before, after = (float(getattr(one, hit)[0]) for one in (here, less))
        which, left = np.eye(4)[i], hit
        if after > before:  # fewer of the others
            which, left = np.eye(4)[2 + i] - which, other
        old, new = (float(getattr(one, left)[0]) for one in (here, less))
        stays = new / old if new != old else 1.0
        moved[i] = np.eye(4)[2 + i] - stays * which if left == other else stays * which
        alone[i] = stays * (1 - stays) * (float(which @ sums @ which) if rows else old * here.unit)
    return np.asarray(moved @ sums @ moved.T + np.diag(alone))


def why_unknown(counts: ScoreCounts) -> str | None:
    """Return why nothing is known of other rows; None where something is."""
    n = np.concatenate([counts.positives, counts.negatives])
    if not counts.positives.sum():
        return BOTH[0]
    if not counts.negatives.sum():
        return BOTH[1]
    if smaller_class(n, counts.clusters) >= 2:
        return None
    return "too_few_clusters" if isinstance(counts.clusters, ClusterCounts) else "too_few_rows"


def reaching(one: Estimate, value: float) -> Estimate:
    """Return an estimate whose limits, where it has some, reach to a value."""
    if one.low is None or one.high is None or value != value:
        return one
    return estimate(float(str(one.value)), min(one.low, value), max(one.high, value))


def _from_above(each: Counts) -> Counts:
    """Return how many stand at or above every threshold: (b, m) ascending scores: (b, m + 1)."""
    found = np.zeros((len(each), each.shape[1] + 1), each.dtype)
    np.cumsum(each[:, ::-1], axis=1, out=found[:, 1:])
    return found
