"""Two models: how much better one is in a population, where they change places, who leads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Floats, Ints
from clfeval.counts.count import Sample
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.inference.paired_measures import correlation, difference, slopes
from clfeval.inference.special import halved
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import Stakes
from clfeval.measures.population import Population
from clfeval.methods.estimates import Cells, column, limits
from clfeval.methods.tune_jpt.options import FULL_SWEEP, TuneOptions, sweep
from clfeval.methods.tune_jpt.tables import Place, places_of
from clfeval.result import Estimate, Row, Rows

_GRID = 2001  # odds at which signs are compared, evenly in the logarithm
_LOOKS = 13  # odds at which a lead without crossing is tested
_HALVINGS = 60
_SETTLED = 30  # halvings of a limit
_EQUAL = 1e-12  # relative; a smaller difference is rounding
_STEP, _GROWTH = 0.01, 1.3  # outwards from a crossing, in the logarithm of the odds

# what a measure says of m models, each at odds of its own, (5, m): value, lower and upper limit,
# slopes along the true and the false positive rate; NaN without intervals
Standing = Floats


def contest_tables(given: Sample, options: TuneOptions) -> dict[str, Rows]:
    """Return which model leads where, over the swept odds or else over the full range."""
    populations = (*(options.swept or sweep(FULL_SWEEP, 2)), *options.populations)
    looked_at = [one.ratio for one in populations]
    tables: dict[str, list[Row]] = {"crossovers": [], "winners": []}
    for label, counts in given.slices.items():
        both = _shared_answers(given.patterns.get(label))
        level = options.confidence if given.sampled else None
        name, rest = str(options.compared), (options.beta, options.stakes)
        contest = Contest(name, counts, both, level, *rest)
        tables["crossovers"] += crossover_rows(label, contest, (min(looked_at), max(looked_at)))
        places = [place for place in places_of(given, label, options) if place[0] != "1:1"]
        if places:
            tables["winners"] += winner_rows(label, contest, places)
    return dict(tables)


def _shared_answers(patterns: PatternCounts | None) -> tuple[Floats, Floats] | None:
    """Return how many positives, and negatives, each two models both call positive: (k, k) each."""
    if patterns is None:
        return None
    sides = []
    for rows in (patterns.truth, ~patterns.truth):
        votes = patterns.votes[rows].astype(np.float64)
        sides.append((votes.T * patterns.n[rows]) @ votes)
    return sides[0], sides[1]


@dataclass(frozen=True, slots=True)
class Crossing:
    """Models `below` and `above` are equal at odds `ratio`, and each leads on its side.

    low, high: the nearest odds at which the interval of the difference excludes 0; None where it
    covers 0 up to the end of the range.
    """

    below: int
    above: int
    ratio: float
    low: float | None = None
    high: float | None = None


def crossings(contest: Contest, ratios: Floats, values: Floats, i: int, j: int) -> list[Crossing]:
    """Return where models i and j change places, from few positives to many.

    What is linear in the rates (TAR, cost) has the closed form r = w dfp / dtp, with w = 1 for
    TAR: the prevalence dtnr / (dtnr - dtpr). Other measures are compared by their `values` (g, k)
    at a fine grid of `ratios` (g,), and each change of sign is halved down.
    """
    d_tp, d_fp = _gaps(contest, i, j)
    if not (d_tp or d_fp) or CATALOG[contest.name].invariant:
        return []
    weight = _linear_weight(contest)
    if weight is not None:
        ratio = weight * d_fp / d_tp if d_tp else 0.0
        if not ratios[0] < ratio < ratios[-1]:
            return []
        # with more positives the model of higher sensitivity leads
        return [Crossing(j, i, ratio) if d_tp > 0 else Crossing(i, j, ratio)]
    signs, out = contest.signs(values, i, j), []
    told = np.flatnonzero(signs)
    turns = np.flatnonzero(signs[told[:-1]] * signs[told[1:]] < 0)  # never beside a NaN
    for a, b in zip(told[turns], told[turns + 1], strict=True):
        low, high = ratios[a].item(), ratios[b].item()
        for _ in range(_HALVINGS):
            middle = float(np.sqrt(low * high))
            here = contest.signs(contest.values(np.array([middle])), i, j)[0]
            if here == 0.0:
                low = high = middle
                break
            low, high = (middle, high) if here == signs[a] else (low, middle)
        ratio = float(np.sqrt(low * high))
        out.append(Crossing(i, j, ratio) if signs[a] > 0 else Crossing(j, i, ratio))
    return out


def settled(
    contest: Contest, found: Sequence[Crossing], ends: tuple[float, float]
) -> list[Crossing]:
    """Return the crossings with the nearest odds, on either side, where a lead excludes 0."""
    if contest.level is None or not found:
        return list(found)
    below, above = (np.array([getattr(one, name) for one in found]) for name in ("below", "above"))
    # on the left of each crossing, then on the right
    leaders, others = np.concatenate([below, above]), np.concatenate([above, below])
    near = start = np.tile(np.log([one.ratio for one in found]), 2)
    side, end = np.repeat([-1.0, 1.0], len(found)), np.repeat(np.log(ends), len(found))
    far, step, looking = np.full(len(start), np.nan), _STEP, np.ones(len(start), bool)
    while looking.any():
        at = np.where(side < 0, np.maximum(start - step, end), np.minimum(start + step, end))
        sure = contest.duel(leaders, others, np.exp(at))[1] > 0
        far = np.where(looking & sure, at, far)
        near = np.where(looking & ~sure, at, near)
        looking &= ~sure & (at != end)
        step *= _GROWTH
    some = np.flatnonzero(~np.isnan(far))
    leaders, others = leaders[some], others[some]
    if len(some):
        _, far[some] = halved(
            lambda at: ~(contest.duel(leaders, others, np.exp(at))[1] > 0), near[some], far[some],
            times=_SETTLED,
        )  # fmt: skip
    limits = [None if x != x else x for x in np.exp(far).tolist()]
    pairs = zip(limits[: len(found)], limits[len(found) :], strict=True)
    return [replace(one, low=low, high=high) for one, (low, high) in zip(found, pairs, strict=True)]


def _gaps(contest: Contest, i: int, j: int) -> tuple[float, float]:
    """Return tp_i - tp_j and fp_i - fp_j as rates times all totals: whole numbers stay exact."""
    c = contest.counts
    (p1, n1, tp1, fp1), (p2, n2, tp2, fp2) = (
        tuple(part[m].item() for part in (c.positives, c.negatives, c.tp, c.fp)) for m in (i, j)
    )
    return (tp1 * p2 - tp2 * p1) * n1 * n2, (fp1 * n2 - fp2 * n1) * p1 * p2


def _linear_weight(contest: Contest) -> float | None:
    """Return what a false positive costs in true positives, for measures linear in the rates.

    So are those whose limits are derived from a linear one, which they rise with.
    """
    measure = CATALOG[contest.name]
    if measure.interval == "derived" and measure.base is not None:
        measure = CATALOG[measure.base]
    if measure.interval != "linear":
        return None
    a, b, _ = measure.given(beta=contest.beta, stakes=contest.stakes).terms(0.5, 0.5)
    return float(-b / a)


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """k models and the measure they are compared by; level None means no intervals.

    both: how many positives, and how many negatives, each two models both call positive, (k, k);
    None where nobody knows which rows they share, and they are taken as judged on other rows.
    """

    name: str
    counts: ConfusionCounts
    both: tuple[Floats, Floats] | None
    level: float | None
    beta: float = 1.0
    stakes: Stakes | None = None

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return -1 if CATALOG[self.name].best == "min" else 1

    @property
    def measure(self) -> Callable[[Confusion], Floats]:
        """The measure as a function of tables."""
        return CATALOG[self.name].given(beta=self.beta, stakes=self.stakes).function

    def values(self, ratios: Floats) -> Floats:
        """Return the measure of every model at every ratio: (g, k)."""
        return self.measure(Cells.of(self.counts, ratios).tuned).reshape(len(ratios), -1)

    def signs(self, values: Floats, i: int, j: int) -> Floats:
        """Return, of values (g, k), 1 where i is better, -1 where j is, 0: equal up to rounding."""
        a, b = values[:, i], values[:, j]
        with np.errstate(invalid="ignore"):
            gap = self.sign * (a - b)
            same = np.isfinite(gap) & (np.abs(gap) <= _EQUAL * np.maximum(np.abs(a), np.abs(b)))
        return np.where(same | (a == b), 0.0, np.sign(gap))

    def standing(self, models: Ints, ratios: Floats) -> Standing:
        """Return what is to be said of models at ratios, (m,) each, before they are compared."""
        cells = Cells.picked(self.counts, models, ratios)
        value = self.measure(cells.tuned)
        found = np.full((5, len(ratios)), np.nan)
        found[0] = value
        if self.level is None:
            return found
        low, high = limits(self.name, cells, level=self.level, beta=self.beta, stakes=self.stakes)
        found[1:3] = np.minimum(low, value), np.maximum(high, value)
        if self.both is not None:
            of = self.measure
            found[3:] = slopes(lambda tp, fp: of(Confusion.of_rates(tp, fp, ratios)), *cells.rates)
        return found

    def duel(self, first: Ints, second: Ints, ratios: Floats) -> tuple[Floats, Floats, Floats]:
        """Return by how much `first` is better than `second` at ratios, with limits: (m,) each."""
        both = (self.standing(models, ratios) for models in (first, second))
        return self.compare(first, second, *both)

    def compare(
        self, first: Ints, second: Ints, one: Standing, other: Standing
    ) -> tuple[Floats, Floats, Floats]:
        """Return by how much each of `first` is better than that of `second`, with limits: (m,).

        The limits of two estimates are put together by square-and-add, with the correlation that
        the rows in common give them. More than 0 is better for `first`, whichever way the measure
        goes; NaN limits without intervals.
        """
        if self.level is None:
            with np.errstate(invalid="ignore"):
                value = one[0] - other[0]
            low = high = np.full(len(value), np.nan)
        else:
            rho = self._correlation(first, second, one, other)
            (a, low1, high1, *_), (b, low2, high2, *_) = one, other
            value, low, high = difference(a, low1, high1, b, low2, high2, rho)
        return (-value, -high, -low) if self.sign < 0 else (value, low, high)

    def _correlation(self, first: Ints, second: Ints, one: Standing, other: Standing) -> Floats:
        """Return how two estimates go together, 0 for models judged on other rows."""
        if self.both is None:
            return np.zeros(len(first))
        c = self.counts
        tables = []
        for both, called, total in (
            (self.both[0], c.tp, c.positives), (self.both[1], c.fp, c.negatives),
        ):  # fmt: skip
            shared, a, b = both[first, second], called[first], called[second]
            neither = np.maximum(total[first] - a - b + shared, 0)
            tables.append((shared, np.maximum(a - shared, 0), np.maximum(b - shared, 0), neither))
        return correlation((one[3], one[4]), (other[3], other[4]), tables[0], tables[1])


def winner_rows(label: str | None, contest: Contest, places: Sequence[Place]) -> list[Row]:
    """Return, per population, the model with the best value; a winner only if it beats every other.

    `winner` is that model where the interval of each difference, paired on the rows the models
    share, excludes 0; else None, and `undecided` names the models it does not beat for sure. Each
    interval is at 1 - (1 - level) / (models - 1) (Bonferroni), so that all hold together.
    """
    names = contest.counts.models
    if contest.level is not None:
        contest = replace(contest, level=1 - (1 - contest.level) / max(len(names) - 1, 1))
    ratios = np.array([population.ratio for _, population in places])
    values = contest.values(ratios)
    ranked = np.where(np.isnan(values), -np.inf, contest.sign * values)
    leaders = ranked.argmax(axis=1)
    k = len(names)
    every = np.tile(np.arange(k), len(places))
    standing, at = contest.standing(every, np.repeat(ratios, k)), np.arange(len(places))
    ahead = standing[:, np.repeat(at * k + leaders, k)]
    _, low, _ = contest.compare(np.repeat(leaders, k), every, ahead, standing)
    sure = (low > 0).reshape(len(places), k)
    cells = Cells.picked(contest.counts, leaders, ratios)
    best = column(values[at, leaders], None, cells, CATALOG[contest.name].tuned)
    rows: list[Row] = []
    for g, (kind, population) in enumerate(places):
        leader = int(leaders[g])
        others = [j for j in range(k) if j != leader and not np.isnan(values[g, j])]
        undecided = [names[j] for j in others if not sure[g, j]]
        defined = not np.isnan(values[g, leader])
        called = defined and not undecided and bool(others) and contest.level is not None
        rows.append(
            {
                "slice": label, "measure": contest.name, "population": kind,
                "prevalence": population.prevalence, "odds": population.odds,
                "ratio": population.ratio, "leader": names[leader] if defined else None,
                "value": best[g], "winner": names[leader] if called else None,
                "undecided": undecided if defined else [],
            }
        )  # fmt: skip
    return rows


def crossover_rows(label: str | None, contest: Contest, ends: tuple[float, float]) -> list[Row]:
    """Return a row for every crossing of every pair of models, and one for a pair without any.

    The limits of a crossing are the prevalences, on either side of it, from which on the interval
    of the difference excludes 0; None where it covers 0 up to the end of the range. `ends` are
    odds, the lower first. The value is a prevalence inside them, or None and the reason: `none`,
    `identical`, `invariant` or `undefined`.
    Source: Eiland and Liebrock 2013 for TAR; the limits invert the interval of the difference.
    """
    names = contest.counts.models
    pairs = list(combinations(range(len(names)), 2))
    ratios = np.geomspace(*ends, _GRID)
    values = contest.values(ratios)
    found = {pair: crossings(contest, ratios, values, *pair) for pair in pairs}
    judged = iter(settled(contest, [one for pair in pairs for one in found[pair]], ends))
    certain = _certainty(contest, ends)
    rows: list[Row] = []
    for i, j in pairs:
        head = {"slice": label, "measure": contest.name, "first": names[i], "second": names[j]}
        rows += [{**head, **_crossed(contest, next(judged))} for _ in found[i, j]]
        if not found[i, j]:
            rows.append({**head, **_uncrossed(contest, ends, values, i, j, certain)})
    return rows


def _crossed(contest: Contest, one: Crossing) -> dict[str, Any]:
    low, high = (None if r is None else r / (1 + r) for r in (one.low, one.high))
    below, above = (contest.counts.models[i] for i in (one.below, one.above))
    at = Population.of_ratio(one.ratio)
    verdict = f"{below} leads below prevalence {at.prevalence:.3g} ({at.rough}), {above} above"
    if contest.level is not None and None in (low, high):
        sure = f"only the lead of {below if low is not None else above}"
        verdict += f"; {'no lead' if low is high else sure} is certain"
    return {
        "crossing": Estimate(at.prevalence, low, high), "odds": at.odds, "leads_below": below,
        "leads_above": above, "verdict": verdict,
    }  # fmt: skip


def _uncrossed(
    contest: Contest, ends: tuple[float, float], values: Floats, i: int, j: int,
    certain: Bools | None,
) -> dict[str, Any]:  # fmt: skip
    """Say why there is no crossing, who leads throughout, and how surely."""
    signs = contest.signs(values, i, j)
    low, high = (Population.of_ratio(end).rough for end in ends)
    reason, leader, words = "none", None, ""
    if np.isnan(signs).all():
        reason, words = "undefined", "undefined for one of them at least"
    elif not signs[~np.isnan(signs)].any():
        reason, words = "identical", "equal at every class ratio"
    else:
        ahead, behind = (i, j) if np.nansum(signs) > 0 else (j, i)
        leader = contest.counts.models[ahead]
        if CATALOG[contest.name].invariant:
            reason, words = "invariant", "does not move with the class ratio; "
        words += f"{leader} leads from {low} to {high}"
        if certain is not None:
            sure = certain[:, ahead, behind]
            how = "for certain" if sure.all() else "in part for certain" if sure.any() else ""
            words += f", {how or 'nowhere for certain'}"
    return {
        "crossing": Estimate(None, reason=reason), "odds": None, "leads_below": leader,
        "leads_above": leader, "verdict": f"none: {words}",
    }  # fmt: skip


def _certainty(contest: Contest, ends: tuple[float, float]) -> Bools | None:
    """Return at a few odds which model's lead over which excludes 0: (looks, k, k)."""
    k = len(contest.counts.models)
    if contest.level is None:
        return None
    every = np.arange(k)
    first, second = np.repeat(every, k), np.tile(every, k)
    sure = np.empty((_LOOKS, k, k), bool)
    for place, ratio in enumerate(np.geomspace(*ends, _LOOKS)):
        here = contest.standing(every, np.full(k, ratio))
        low = contest.compare(first, second, here[:, first], here[:, second])[1]
        sure[place] = (low > 0).reshape(k, k)
    return sure
