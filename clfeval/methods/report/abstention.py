"""Abstention near the threshold, and the accuracy of the other predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Literal

import numpy as np

from clfeval.arrays import Bools, Floats
from clfeval.counts.patterns import CELLS, ConfusionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Estimate, Row
from clfeval.errors import UsageError, bad_option
from clfeval.measures.catalog import CATALOG
from clfeval.measures.decisions import DIGITS, risk_coverage_area
from clfeval.methods.curves import MOST_POINTS
from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.methods.options import IntervalSettings
from clfeval.methods.report.thresholds import FLAGGED_MEASURE, RATES, estimate_measures
from clfeval.methods.threshold_performance import INFINITE
from clfeval.options import syntax
from clfeval.records import dataclass

FLAG = "--abstain"
COSTS = ("fp", "fn", "abstain")
ESTIMATED = ("coverage", "accuracy", "accuracy_of_all", *RATES)
COLUMNS = (
    *("threshold", "low", "high", "coverage", *CELLS, *ESTIMATED[1:]),
    *("cost", "cost_of_all", "aurc"),
)
ANSWERED = {"accuracy": RequestedMeasure("accuracy", CATALOG["accuracy"], {}), **RATES}


@dataclass(frozen=True, slots=True)
class AbstentionZone:
    """An abstention zone: a share of rows nearest the threshold, or costs of FP, FN, abstention."""

    name: str
    share: float = 0.0
    costs: tuple[float, float, float] | None = None


def parse_zones(texts: Sequence[str]) -> tuple[AbstentionZone, ...]:
    """Return the requested zones without duplicates; UsageError for an invalid one."""
    found = [_of_costs(text) or _of_share(text) for text in texts]
    return tuple({one.name: one for one in found}.values())


def _of_share(text: str) -> AbstentionZone:
    try:
        share = syntax.parse_share(FLAG, [text.strip()])
    except UsageError as error:
        what = f"{FLAG} '{text}' is neither a share of the rows nor costs"
        hint = f"for example {FLAG} 5%, or {FLAG} cost:fp=1,fn=5,abstain=0.2"
        raise bad_option(what, hint) from error
    if not 0 < share < 1:
        what = f"{FLAG} {text} is not a share of the rows between 0 and 1"
        fix = f"write {FLAG} {share / 100:g} for {share:g}%" if 1 <= share < 100 else None
        raise bad_option(what, fix)
    return AbstentionZone(f"{share:g}", share)


def _of_costs(text: str) -> AbstentionZone | None:
    name, colon, settings = text.strip().partition(":")
    if name.casefold() not in ("cost", "expected_cost"):
        return None
    given = dict(part.partition("=")[::2] for part in settings.split(",") if part)
    if not colon or {key.strip() for key in given} != {*COSTS}:
        what = f"{FLAG} {text}: give the costs fp, fn and abstain"
        raise bad_option(what, f"for example {FLAG} cost:fp=1,fn=5,abstain=0.2")
    costs = {}
    for key in COSTS:
        value = syntax.parse_share(FLAG, [next(v for k, v in given.items() if k.strip() == key)])
        if not (isfinite(value) and value > 0):
            raise bad_option(f"{FLAG} {text}: {key} must be above 0, not {value:g}")
        costs[key] = value
    written = ",".join(f"{key}={value:g}" for key, value in sorted(costs.items()))
    return AbstentionZone(f"cost:{written}", costs=(costs["fp"], costs["fn"], costs["abstain"]))


def abstention_rows(
    label: str | None, model: str, counts: ScoreCounts, cut: float | None,
    zones: Sequence[AbstentionZone],
    wanted: IntervalSettings,
) -> list[Row]:  # fmt: skip
    """Return the measures of predictions outside each zone, as table `abstentions` has them.

    Of a share, the zone holds the scores nearest the threshold, equal distances together. Of costs
    it is Chow's rule: abstain where p fn and (1 - p) fp are both more than abstention costs; the
    threshold without a zone is fp / (fp + fn). Scores in [low, high) abstain, those >= high are
    positive.
    Undefined without a threshold (needs_threshold), of infinite scores, and by costs of scores that
    are no probabilities.
    Source: Chow 1970, IEEE Transactions on Information Theory 16:41; El-Yaniv and Wiener 2010,
    Journal of Machine Learning Research 11:1605.
    """
    rows: list[Row] = []
    for zone in zones:
        who = {"slice": label, "model": model, "chosen_by": zone.name}
        at, reason = _zone_threshold(zone, counts, cut)
        if at is None:
            none = Estimate(None, reason=reason)
            rows.append({**who, **{key: none if key in ESTIMATED else None for key in COLUMNS}})
            continue
        first, last, low, high = _zone_ends(zone, counts, at)
        place = np.arange(len(counts.scores))
        outside = (place < first) | (place >= last)
        answered = _confusion_table(counts, place >= last, outside)
        every = _confusion_table(counts, counts.scores >= at, place >= 0)
        accuracy, *rates = estimate_measures([*ANSWERED.values()], answered, wanted)
        # rows outside the zone count as predicted positive
        covered = _confusion_table(counts, outside, place >= 0)
        (coverage,) = estimate_measures([FLAGGED_MEASURE], covered, wanted)
        risk = _distances_and_errors(counts, at)
        cost, before = (_mean_cost(one, counts, zone) for one in (answered, every))
        rows.append(
            {
                **who, "threshold": at, "low": low, "high": high, "coverage": coverage,
                **{cell: answered.display_units(cell)[0].item() for cell in CELLS},
                "accuracy": accuracy,
                "accuracy_of_all": estimate_measures([ANSWERED["accuracy"]], every, wanted)[0],
                **dict(zip(RATES, rates, strict=True)), "cost": cost, "cost_of_all": before,
                "aurc": float(risk_coverage_area(*risk)),
            }
        )  # fmt: skip
    return rows


def risk_rows(
    label: str | None, model: str, counts: ScoreCounts, cut: float | None,
    most: int | Literal["all"] | None,
) -> Iterator[Row]:  # fmt: skip
    """Yield the risk-coverage curve: the share of errors among rows farthest from the threshold."""
    if cut is None or not len(counts.scores) or not np.isfinite(counts.scores).all():
        return
    distance, right, wrong = _distances_and_errors(counts, cut)
    away, place = np.unique(-distance, return_inverse=True)
    missed, rows = (np.bincount(place, part, len(away)).cumsum() for part in (wrong, right + wrong))
    limit = MOST_POINTS if most is None else most
    places = np.arange(len(away))
    if limit != "all" and len(places) > limit:
        places = np.unique(np.searchsorted(rows, np.linspace(rows[0], rows[-1], limit)))
    for i in np.minimum(places, len(away) - 1).tolist():
        yield {
            "slice": label, "model": model, "distance": float(-away[i]),
            "coverage": float(rows[i] / rows[-1]), "risk": float(missed[i] / rows[i]),
        }  # fmt: skip


def _zone_threshold(
    zone: AbstentionZone, counts: ScoreCounts, cut: float | None
) -> tuple[float | None, str | None]:
    """Return the threshold without abstention, or the reason why there is none."""
    if not len(counts.scores):
        return None, "too_few_rows"
    if not np.isfinite(counts.scores).all():
        return None, INFINITE
    if zone.costs is None:
        return cut, "needs_threshold"
    if counts.scores[0] < 0 or counts.scores[-1] > 1:
        return None, "not_probabilities"
    fp, fn, _ = zone.costs
    return fp / (fp + fn), None


def _zone_ends(
    zone: AbstentionZone, counts: ScoreCounts, at: float
) -> tuple[int, int, float, float | None]:
    """Return the range of indices of the scores in a zone, and its two thresholds."""
    scores = counts.scores
    if zone.costs is not None:
        fp, fn, none = zone.costs
        low, high = none / fn, 1 - none / fp
        if not low < high:
            low = high = at
        return *np.searchsorted(scores, [low, high]).tolist(), low, high
    n = (counts.positives + counts.negatives).astype(np.float64)
    distance = _distances(scores, at)
    each, place = np.unique(distance, return_inverse=True)
    inside = np.concatenate([[0.0], np.bincount(place, n).cumsum()])
    many = int(np.argmin(np.abs(inside - zone.share * n.sum())))
    if not many:
        first = int(np.searchsorted(scores, at))
        return first, first, at, at
    where = np.flatnonzero(distance <= each[many - 1])
    first, last = int(where[0]), int(where[-1]) + 1
    return first, last, scores[first].item(), scores[last].item() if last < len(scores) else None


def _distances(scores: Floats, at: float) -> Floats:
    """Return the distances of scores from a threshold, rounded so that equal ones tie."""
    away = np.abs(scores - at)
    scale = away.max() or 1.0
    return np.asarray(np.round(away / scale, DIGITS) * scale)


def _distances_and_errors(counts: ScoreCounts, at: float) -> tuple[Floats, Floats, Floats]:
    """Return distances from the threshold, and correct and wrong rows at each score."""
    yes = counts.scores >= at
    right = np.where(yes, counts.positives, counts.negatives)
    wrong = np.where(yes, counts.negatives, counts.positives)
    return _distances(counts.scores, at), right.astype(np.float64), wrong.astype(np.float64)


def _confusion_table(counts: ScoreCounts, called: Bools, among: Bools) -> ConfusionCounts:
    """Return the 2 x 2 table of some scores, and of their clusters."""
    sides = (counts.positives, counts.negatives)
    tp, fp = (np.array([part[called].sum()]) for part in sides)
    p, n = (np.array([part[among].sum()]) for part in sides)
    sums = None
    if counts.clusters is not None:
        none = np.zeros(len(called))
        kinds = [np.concatenate(pair) for pair in (
            (called, none), (none, called), (among, none), (none, among))]  # fmt: skip
        sums = counts.clusters.products(np.array(kinds, np.float64))[None]
    return ConfusionCounts(("",), tp, fp, p - tp, n - fp, p, n, counts.unit, sums)


def _mean_cost(table: ConfusionCounts, counts: ScoreCounts, zone: AbstentionZone) -> float | None:
    """Return the mean cost of a row, abstentions included; None for a zone without costs."""
    if zone.costs is None:
        return None
    fp, fn, none = zone.costs
    rows = float((counts.positives + counts.negatives).sum())
    silent = rows - float((table.positives + table.negatives)[0])
    return (fp * float(table.fp[0]) + fn * float(table.fn[0]) + none * silent) / rows
