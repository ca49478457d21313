"""The threshold that is best on these rows, what it is worth on others, and how far it wanders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import isfinite

import numpy as np

from clfeval.arrays import Floats, over
from clfeval.counts.patterns import CELLS, ConfusionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.counts.weights import RowWeights
from clfeval.inference.resampling import percentiles
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.record import BOTH, why
from clfeval.methods.estimates import estimate
from clfeval.methods.measured.asked import Asked
from clfeval.methods.measured.decisions import confusions_at
from clfeval.methods.measured.hard import HardLimits, measured, table_of
from clfeval.methods.options import Certainty
from clfeval.methods.report.cutting.rules import SPECIFICITY, CutRule
from clfeval.methods.roc import RocPoints, roc_points
from clfeval.methods.threshold_optimism import (
    SELDOM,
    BootstrapChoices,
    bootstrap_choices,
    corrected,
    expected_counts,
    reaching,
    why_unknown,
)
from clfeval.result import Estimate, Row

RATES = {name: Asked(name, CATALOG[name], {}) for name in (
    "sensitivity", "specificity", "precision", "npv")}  # fmt: skip
CALLED = Asked("claimed", CATALOG["detection_prevalence"], {})
PREDICTIVE = ("precision", "npv", "fdr", "for")
UNMET, INFINITE = "limit_unmet", "infinite_scores"
ALWAYS, NEVER, FROM = "always positive", "never positive", "score >= t"


def cutoff_rows(
    label: str | None, model: str, counts: ScoreCounts, rules: Sequence[CutRule], wanted: Certainty
) -> list[Row]:
    """Return the best threshold by each rule: one row each, as table `cutoffs` has them.

    value: of what is best, on the rows that chose the threshold, which flatters it. honest, and the
    rates, are to be expected of others: those of the table at the threshold less the optimism of
    its two rates. Limits are those of a threshold that is given, made from these rates; they reach
    to the value here, for a choice at the end of a curve may owe nothing to luck. threshold_low,
    threshold_high: percentiles of the bootstrap thresholds.

    Undefined without a row of a class, where no threshold keeps to the limit, where fewer than half
    of the bootstrap tables have one that does (limit_seldom_met), of infinite scores, and of one
    row or cluster of a class: the honest values (too_few_rows, too_few_clusters).
    """
    points = roc_points(counts)
    places = np.array([rule.places(points.tp, points.fp) for rule in rules])
    unknown = why_unknown(counts)
    infinite = len(counts.scores) > 0 and not np.isfinite(counts.scores).all()
    here = less = confusions_at(counts, points.thresholds[places])
    choices = None
    if not (unknown or infinite):
        choices = bootstrap_choices(
            counts, lambda tp, fp: np.stack([rule.places(tp, fp) for rule in rules]), wanted.seed,
            f"{model}\0{label or ''}",
        )  # fmt: skip
        tp, fp = _within_limits(here, rules, choices, *expected_counts(here, choices))
        less = corrected(
            here, tp, fp, partial(_gains, rules), alone=isinstance(counts.clusters, RowWeights)
        )
    rows = list[Row]()
    for i, (rule, place) in enumerate(zip(rules, places.tolist(), strict=True)):
        reason = INFINITE if infinite else _unmet(rule, points) if place < 0 else None
        who = {"slice": label, "model": model, "chosen_by": rule.name}
        if reason is not None:
            rows.append({**who, **_without(rule, reason)})
            continue
        every = [rule.best, *([rule.within] if rule.within else []), *RATES.values(), CALLED]
        mine, honest, wanders = here.at([i]), unknown, (np.nan, np.nan)
        if choices is not None:
            honest = SELDOM if choices.chosen[i] < 0.5 else None
            if wanted.level is not None:
                low, high, _ = percentiles(choices.thresholds[i], level=wanted.level)
                wanders = low.item(), high.item()
        values = [_value(one, mine) for one in every]
        judged = [Estimate(None, reason=honest)] * len(every)
        if honest is None:
            judged = [
                reaching(*both)
                for both in zip(judged_by(every, less.at([i]), wanted), values, strict=True)
            ]
        best, *limited, sens, spec, ppv, npv, called = judged
        rows.append(
            {
                **who, "threshold": _finite(points.thresholds[place].item()),
                "threshold_low": _finite(wanders[0]), "threshold_high": _finite(wanders[1]),
                "rule": NEVER if place == 0 else ALWAYS if place == len(points.tp) - 1 else FROM,
                **{cell: mine.shown(cell)[0].item() for cell in CELLS},
                "measure": rule.best.name, "value": estimate(values[0]), "honest": best,
                "limited": limited[0] if limited else None, "sensitivity": sens,
                "specificity": spec, "precision": ppv, "npv": npv, "claimed": called,
            }
        )  # fmt: skip
    return rows


def _value(one: Asked, table: ConfusionCounts) -> float:
    """Return a measure of a single table."""
    with np.errstate(all="ignore"):
        return float(np.asarray(one.measure.function(table_of(table))).ravel()[0])


def _gains(rules: Sequence[CutRule], tables: Confusion) -> Floats:
    """Return what each rule has best in its table, (r,); NaN within a limit, which costs some."""
    cells = zip(tables.tp, tables.fp, tables.fn, tables.tn, strict=True)
    return np.array([np.nan if rule.within else rule.gain(Confusion(*four))
                     for rule, four in zip(rules, cells, strict=True)])  # fmt: skip


def _within_limits(
    here: ConfusionCounts, rules: Sequence[CutRule], choices: BootstrapChoices, tp: Floats,
    fp: Floats,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return TP and FP where predictive values that are limits are less their own optimism.

    What they owe to the choice is no function of the rates' means: a draw keeps precision with few
    rows called positive as well as with many. So the rate that the rule has best stays as expected,
    and the other errors among its answers are as many as the limited measure has.
    """
    for i, rule in enumerate(rules):
        limit = rule.within
        if limit is None or limit.name not in PREDICTIVE:
            continue
        wrong = _value(limit, here.at([i])) - choices.optimism(limit.measure.function)[i]
        wrong = min(max(1 - wrong if limit.measure.sign > 0 else wrong, 0.0), 1.0)
        right = here.negatives[i] - fp[i] if rule.best.name == SPECIFICITY else tp[i]
        if right > 0 and rule.best.name == SPECIFICITY:
            tp[i] = here.positives[i] - over(right * wrong, 1 - wrong)
        elif right > 0:
            fp[i] = over(right * wrong, 1 - wrong)
    return tp, fp


def judged_by(every: Sequence[Asked], table: ConfusionCounts, wanted: Certainty) -> list[Estimate]:
    """Return measures of a table, with the limits that each has by its record."""
    many = 0.0 if table.sums is None else _parts(table)
    sure = HardLimits(replace(wanted, how="exact"), table.models, [None], [many])
    return [measured(one, table, sure).values[0] for one in every]


def _parts(table: ConfusionCounts) -> float:
    """Return how many clusters of one size tell as much."""
    total = float((table.positives + table.negatives)[0])
    squares = 0.0 if table.sums is None else float(table.sums[0, 2:, 2:].sum())
    return float(over(total**2, squares))


def _unmet(rule: CutRule, points: RocPoints) -> str:
    """Return why there is no best threshold."""
    measure, last = rule.best.measure, points.tables
    ends = Confusion(*(cell[-1:] for cell in (last.tp, last.fp, last.fn, last.tn)))
    single = next((one for one in BOTH if why((one, ""), ends) == one), None)
    if single is not None:
        return single
    return why(measure.undefined, ends) if rule.within is None else UNMET


def _without(rule: CutRule, reason: str) -> Row:
    """Return the cells of a rule by which no threshold is chosen."""
    none = Estimate(None, reason=reason)
    cells = dict.fromkeys(("threshold", "threshold_low", "threshold_high", "rule", *CELLS))
    return {
        **cells, "measure": rule.best.name, "value": none, "honest": none,
        "limited": none if rule.within else None, **dict.fromkeys((*RATES, "claimed"), none),
    }  # fmt: skip


def _finite(cut: float) -> float | None:
    return cut if isfinite(cut) else None
