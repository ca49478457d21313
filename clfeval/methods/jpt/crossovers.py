"""Where two models change places: the class ratio at which they are equal by a measure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from clfeval.measures.catalog import CATALOG
from clfeval.measures.jpt import Floats
from clfeval.measures.population import Population
from clfeval.methods.jpt.contest import Contest, Index
from clfeval.result import Estimate, Row

_GRID = 2001  # odds at which signs are compared, evenly in the logarithm
_HALVINGS = 60
_SETTLED = 30  # halvings of a limit
_LOOKS = 13  # odds at which a lead without crossing is tested
_EQUAL = 1e-12  # relative; a smaller difference is rounding
_STEP, _GROWTH = 0.01, 1.3  # outwards from a crossing, in the logarithm of the odds


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


def crossover_rows(label: str | None, contest: Contest, ends: tuple[float, float]) -> list[Row]:
    """Return a row for every crossing of every pair of models, and one for a pair without any."""
    names = contest.counts.models
    pairs = list(combinations(range(len(names)), 2))
    found = {pair: crossings(contest, *pair, ends) for pair in pairs}
    flat = _with_limits(contest, [one for pair in pairs for one in found[pair]], ends)
    rows: list[Row] = []
    for i, j in pairs:
        head = {
            "slice": label, "measure": contest.name, "first": names[i], "second": names[j],
        }  # fmt: skip
        here = [next(flat) for _ in found[i, j]]
        rows += [{**head, **_crossed(names, one, judged=contest.level is not None)} for one in here]
        if not here:
            rows.append({**head, **_uncrossed(contest, i, j, ends)})
    return rows


def crossings(contest: Contest, i: int, j: int, ends: tuple[float, float]) -> list[Crossing]:
    """Return where models i and j change places between two odds, from few positives to many.

    What is linear in the rates (TAR, cost) has the closed form r = w dfp / dtp, with w = 1 for TAR
    (METHODS: p = dtnr / (dtnr - dtpr)); other measures are compared on a fine grid of odds and each
    change of sign is halved down.
    """
    low, high = ends
    d_tp, d_fp = _gaps(contest, i, j)
    if not (d_tp or d_fp) or CATALOG[contest.name].invariant:
        return []
    weight = _linear_weight(contest)
    if weight is not None:
        ratio = weight * d_fp / d_tp if d_tp else 0.0
        if not low < ratio < high:
            return []
        # with more positives the model of higher sensitivity leads
        return [Crossing(j, i, ratio) if d_tp > 0 else Crossing(i, j, ratio)]
    grid = np.geomspace(low, high, _GRID)
    signs = _signs(contest, i, j, grid)
    known = np.flatnonzero(signs)
    out = []
    for a, b in pairwise(known):
        if signs[a] != signs[b] and not np.isnan(signs[a : b + 1]).any():
            ratio = _halved(contest, i, j, float(grid[a]), float(grid[b]), float(signs[a]))
            out.append(Crossing(i, j, ratio) if signs[a] > 0 else Crossing(j, i, ratio))
    return out


def _gaps(contest: Contest, i: int, j: int) -> tuple[float, float]:
    """Return tp_i - tp_j and fp_i - fp_j as rates times all totals: whole numbers stay exact."""
    c = contest.counts
    (p1, n1, tp1, fp1), (p2, n2, tp2, fp2) = (
        tuple(part[m].item() for part in (c.positives, c.negatives, c.tp, c.fp)) for m in (i, j)
    )
    return (tp1 * p2 - tp2 * p1) * n1 * n2, (fp1 * n2 - fp2 * n1) * p1 * p2


def _linear_weight(contest: Contest) -> float | None:
    """Return what a false positive costs in true positives, for measures linear in the rates."""
    if contest.name in ("tar", "tor"):
        return 1.0
    if contest.name in ("expected_cost", "net_benefit") and contest.stakes is not None:
        return contest.stakes.exchange
    return None


def _signs(contest: Contest, i: int, j: int, ratios: Floats) -> Floats:
    """Return 1 where i is better, -1 where j is, 0 where they are equal up to rounding, or NaN."""
    values = contest.values(ratios)
    a, b = values[:, i], values[:, j]
    with np.errstate(invalid="ignore"):
        gap = contest.sign * (a - b)
        same = np.abs(gap) <= _EQUAL * np.maximum(np.abs(a), np.abs(b))
    return np.where(same | (a == b), 0.0, np.sign(gap))


def _halved(contest: Contest, i: int, j: int, low: float, high: float, sign: float) -> float:
    """Return the odds between two at which the sign changes."""
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        here = float(_signs(contest, i, j, np.array([middle]))[0])
        if here == 0.0:
            return middle
        low, high = (middle, high) if here == sign else (low, middle)
    return float(np.sqrt(low * high))


def _with_limits(
    contest: Contest, found: list[Crossing], ends: tuple[float, float]
) -> Iterator[Crossing]:
    """Yield the crossings with the odds, on either side, where a lead is beyond doubt."""
    if contest.level is None or not found:
        yield from found
        return
    below, above = (
        np.array(index) for index in zip(*((x.below, x.above) for x in found), strict=True)
    )
    # on the left of each crossing, then on the right
    leaders, others = np.concatenate([below, above]), np.concatenate([above, below])
    start = np.tile(np.log([one.ratio for one in found]), 2)
    side = np.repeat([-1.0, 1.0], len(found))
    limits = _settled(contest, leaders, others, start, side, np.repeat(np.log(ends), len(found)))
    pairs = zip(limits[: len(found)], limits[len(found) :], strict=True)
    for one, (low, high) in zip(found, pairs, strict=True):
        yield Crossing(one.below, one.above, one.ratio, low, high)


def _settled(
    contest: Contest, leaders: Index, others: Index, start: Floats, side: Floats, end: Floats
) -> list[float | None]:
    """Return the odds next to `start` from which a leader's lead excludes 0, None up to `end`."""
    near, far = start.copy(), np.full(len(start), np.nan)
    step = _STEP
    looking = np.ones(len(start), bool)
    while looking.any():
        at = np.where(side < 0, np.maximum(start - step, end), np.minimum(start + step, end))
        sure = contest.duel(leaders, others, np.exp(at))[1] > 0
        far = np.where(looking & sure, at, far)
        near = np.where(looking & ~sure, at, near)
        looking &= ~sure & (at != end)
        step *= _GROWTH
    none = np.isnan(far)
    for _ in range(_SETTLED):
        middle = np.where(none, near, (near + far) / 2)
        sure = contest.duel(leaders, others, np.exp(middle))[1] > 0
        near, far = np.where(sure, near, middle), np.where(sure & ~none, middle, far)
    return [None if x != x else float(np.exp(x)) for x in far.tolist()]


def _crossed(names: tuple[str, ...], one: Crossing, *, judged: bool) -> Row:
    at = Population.of_ratio(one.ratio)
    low, high = (None if r is None else r / (1 + r) for r in (one.low, one.high))
    below, above = names[one.below], names[one.above]
    verdict = f"{below} leads below prevalence {at.prevalence:.3g} ({at.rough}), {above} above"
    if judged and None in (low, high):
        sure = below if low is not None else above
        verdict += (
            "; no lead is certain" if low is high else f"; only the lead of {sure} is certain"
        )
    return {
        "crossing": Estimate(at.prevalence, low, high),
        "odds": at.odds,
        "leads_below": below,
        "leads_above": above,
        "verdict": verdict,
    }


def _uncrossed(contest: Contest, i: int, j: int, ends: tuple[float, float]) -> Row:
    """Say why there is no crossing, and who leads throughout."""
    names = contest.counts.models
    signs = _signs(contest, i, j, np.geomspace(*ends, _GRID))
    if np.isnan(signs).all():
        reason, leader, words = "undefined", None, "not defined for both"
    elif not signs[~np.isnan(signs)].any():
        reason, leader, words = "identical", None, "equal at every class ratio"
    else:
        leader = names[i if np.nansum(signs) > 0 else j]
        invariant = CATALOG[contest.name].invariant
        reason = "invariant" if invariant else "none"
        why = "does not move with the class ratio; " if invariant else ""
        words = f"{why}{leader} leads throughout{_certainty(contest, i, j, leader, ends)}"
    return {
        "crossing": Estimate(None, reason=reason),
        "odds": None,
        "leads_below": leader,
        "leads_above": leader,
        "verdict": f"none: {words}",
    }


def _certainty(contest: Contest, i: int, j: int, leader: str, ends: tuple[float, float]) -> str:
    """Say whether a lead is beyond doubt at a few odds over the range."""
    if contest.level is None:
        return ""
    ahead, behind = (i, j) if leader == contest.counts.models[i] else (j, i)
    at = np.geomspace(*ends, _LOOKS)
    sure = contest.duel(np.full(_LOOKS, ahead), np.full(_LOOKS, behind), at)[1] > 0
    return (
        ", for certain"
        if sure.all()
        else ", in part for certain"
        if sure.any()
        else (", nowhere for certain")
    )
