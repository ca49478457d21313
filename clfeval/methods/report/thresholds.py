"""Thresholds chosen by rules, with the measures expected on new data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

import numpy as np

from clfeval.counts.patterns import CELLS, ConfusionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Estimate, Row
from clfeval.errors import UsageError, bad_option, format_option
from clfeval.inference.resampling import percentile_limits
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.odds import OutcomeCosts
from clfeval.measures.record import CLASS_REASONS, undefined_reason
from clfeval.methods.curves import RocPoints, roc_points
from clfeval.methods.estimates import make_estimate
from clfeval.methods.measurement.label_measures import (
    LabelLimitSettings,
    estimate_label_measure,
    float_confusion,
)
from clfeval.methods.measurement.requested_measures import (
    AT_RISK,
    NET_BENEFIT,
    RequestedMeasure,
    parse_measures,
)
from clfeval.methods.measurement.score_measures import confusions_at
from clfeval.methods.options import IntervalSettings
from clfeval.methods.threshold_performance import (
    INFINITE,
    ChosenThresholds,
    ThresholdRule,
    extend_limits,
    measure_value,
)
from clfeval.options import syntax

FLAG = "--best-threshold"
SENSITIVITY, SPECIFICITY = "sensitivity", "specificity"
# measures that are best if all rows are predicted alike, and need a limit on another
ONE_SIDED = {
    SENSITIVITY: ("positive", "spec>=.95"), "fnr": ("positive", "spec>=.95"),
    SPECIFICITY: ("negative", "sens>=.9"), "fpr": ("negative", "sens>=.9"),
}  # fmt: skip
OF_NEGATIVES = (SENSITIVITY, "fnr", "npv", "for")  # limits on these constrain predicted negatives
SAFE, SAFE_SUFFIXES = (*ONE_SIDED,), (".low", ".high")  # rules with a confidence limit
_LIMIT = re.compile(r"(.+?)\s*(>=|<=|≥|≤|>|<|=)\s*([^<>=]+)")


def parse_rules(texts: Sequence[str]) -> tuple[ThresholdRule, ...]:
    """Return the requested rules, each once; UsageError for an invalid one."""
    found = [_parse_limit_rule(text) or _parse_best_rule(text) for text in texts]
    return tuple({one.name: one for one in found}.values())


def _parse_best_rule(text: str) -> ThresholdRule:
    one = _parse_rule_measure(text)
    if one.name in ONE_SIDED:
        answer, within = ONE_SIDED[one.name]
        what = f"{FLAG} {text}: {one.name} is best if every row is predicted {answer}"
        hint = f"set a limit on the other class: {format_option(FLAG, within)}"
        if one.measure.sign > 0:
            hint = f"set a limit in quotes: {format_option(FLAG, f'{text}>=.9')}"
        raise bad_option(what, hint)
    if not one.measure.sign:
        what = f"{FLAG} {text}: {one.measure.title} has no better direction"
        raise bad_option(what, f"for example {FLAG} j_index")
    return ThresholdRule(one.name, one)


def _parse_limit_rule(text: str) -> ThresholdRule | None:
    """Return the rule of a limit, `sens>=.9`; None for other texts."""
    parts = _LIMIT.fullmatch(text.strip())
    if parts is None:
        return None
    given_, between, number = parts[1], parts[2], parts[3]
    if between == "=" and ":" in given_:
        return None  # a parameter
    name, _, end = given_.rpartition(".") if given_.endswith(SAFE_SUFFIXES) else (given_, "", "")
    one = _parse_rule_measure(name)
    if end and (one.name not in SAFE or (end == "low") != (between == ">=")):
        what = f"{FLAG} {text}: .low needs >= and sensitivity or specificity"
        hint = f"write {format_option(FLAG, 'sens.low>=.9')}"
        raise bad_option(f"{what}; .high needs <= and fnr or fpr", hint)
    if between in ("<", "=", ">"):
        sign = between if between != "=" else "<" if one.measure.sign < 0 else ">"
        hint = f"write {format_option(FLAG, f'{given_}{sign}={number}')}"
        raise bad_option(f"{FLAG} {text}: a constraint needs >= or <=", hint)
    try:
        at = syntax.parse_share(FLAG, [number.strip()])
    except UsageError as error:
        what = f"{FLAG} {text}: '{number}' is not a number"
        hint = f"for example {format_option(FLAG, f'{name}{between}.9')}"
        raise bad_option(what, hint) from error
    up = between in (">=", "≥")
    if one.measure.sign and up != (one.measure.sign > 0):
        better, sign = ("low", "<=") if up else ("high", ">=")
        what = f"{FLAG} {text}: {one.measure.title} is better when {better}: use {sign}"
        raise bad_option(what, f"write {format_option(FLAG, f'{name}{sign}{number}')}")
    if not one.measure.low <= at <= one.measure.high:
        what = f"{FLAG} {text}: {one.measure.title} lies between {one.measure.low:g} and "
        raise bad_option(f"{what}{one.measure.high:g}")
    best = SPECIFICITY if one.name in OF_NEGATIVES else SENSITIVITY
    written = f"{one.name}{end and f'.{end}'}{'>=' if up else '<='}{at:g}"
    goal = RequestedMeasure(best, CATALOG[best], {})
    return ThresholdRule(written, goal, one, at, 1 if up else -1, bool(end))


def _parse_rule_measure(text: str) -> RequestedMeasure:
    """Return a measure of the 2 x 2 table by name, with its parameters."""
    name, _, settings = text.strip().partition(":")
    if name.casefold() == NET_BENEFIT and not settings:
        what = f"{FLAG} {text}: the threshold probability is missing"
        raise bad_option(what, f"for example {FLAG} net_benefit:t=0.1")
    found = parse_measures((text,), FLAG)
    if len(found) != 1 or found[0].by != "name":
        raise bad_option(f"{FLAG} {text}: name one measure", f"for example {FLAG} j_index")
    one = found[0]
    if one.measure.twin in (SENSITIVITY, "precision"):  # one name for all aliases
        one = RequestedMeasure(one.measure.twin, CATALOG[one.measure.twin], one.settings)
    if one.measure.id == AT_RISK:  # computed from the table at any threshold
        t = one.settings.get("t", 0.5)
        stakes = {"stakes": OutcomeCosts(t, 1 - t)}
        name = f"{NET_BENEFIT}:t={t:g}"
        return RequestedMeasure(name, CATALOG[NET_BENEFIT].with_settings(**stakes), stakes)
    if one.needs != "confusion":
        what = f"{FLAG} {text}: {one.measure.title} does not depend on a threshold"
        raise bad_option(what, f"for example {FLAG} j_index")
    return one


RATES = {name: RequestedMeasure(name, CATALOG[name], {}) for name in (
    "sensitivity", "specificity", "precision", "npv")}  # fmt: skip
FLAGGED_MEASURE = RequestedMeasure("flagged", CATALOG["detection_prevalence"], {})
BLOCK = 2**10  # tables per block of limits
UNMET = "limit_unmet"
ALWAYS, NEVER, FROM = "always positive", "never positive", "score >= t"


def chosen_thresholds(
    name: str, counts: ScoreCounts, rules: Sequence[ThresholdRule], wanted: IntervalSettings
) -> ChosenThresholds:
    """Return the thresholds that rules choose on scores; name: of the random stream."""
    rules = [_kept_safely(one, counts, wanted) if one.safe else one for one in rules]
    return ChosenThresholds.from_scores(counts, rules, wanted.seed, name)


def _kept_safely(
    rule: ThresholdRule, counts: ScoreCounts, wanted: IntervalSettings
) -> ThresholdRule:
    """Return the rule with the last value whose confidence limit satisfies the limit.

    Fixed-sequence testing of thresholds, from the lowest up for sensitivity, from the highest down
    for specificity: error probability (1 - level) / 2 at most. Source: Angelopoulos et al. 2021,
    arXiv 2110.01052.
    """
    within, at, points = rule.within, rule.sign * np.inf, roc_points(counts)
    assert within is not None
    upwards = within.name in OF_NEGATIVES  # the limit constrains predicted negatives
    _, places = np.unique(points.tp if upwards else points.fp, return_index=True)
    places = places[::-1] if upwards else places
    for start in range(0, len(places), BLOCK):
        some = places[start : start + BLOCK]
        found = _estimate_measure(within, confusions_at(counts, points.thresholds[some]), wanted)
        for one in found:
            end = one.low if rule.sign > 0 else one.high
            if one.value is None or end is None or rule.sign * (end - rule.at) < 0:
                return replace(rule, at=at)
            at = one.value
    return replace(rule, at=at)


def cutoff_rows(
    label: str | None, model: str, rules: Sequence[ThresholdRule], wanted: IntervalSettings,
    found: ChosenThresholds,
) -> list[Row]:  # fmt: skip
    """Return the best threshold by each rule: one row each, as table `cutoffs` has them.

    value: on the rows that chose the threshold. honest, and the rates: expected on new data, less
    the optimism of the two rates. Limits are those of a fixed threshold, from these rates, and
    include the value here. threshold_low, threshold_high: percentiles of the bootstrap thresholds.
    Undefined without a row of a class, where no threshold satisfies the limit, or in fewer than
    half of the bootstrap tables (limit_seldom_met), of infinite scores, and of one row or cluster
    of a class: the honest values (too_few_rows, too_few_clusters).
    """
    points, rows = found.points, list[Row]()
    for i, (rule, place) in enumerate(zip(rules, found.at.tolist(), strict=True)):
        reason = _explain_unmet(rule, points) if place < 0 else None
        reason = INFINITE if found.unknown[i] == INFINITE else reason
        who = {"slice": label, "model": model, "chosen_by": rule.name}
        if reason is not None:
            none = Estimate(None, reason=reason)
            rows.append(
                {
                    **who, **dict.fromkeys(
                        ("threshold", "threshold_low", "threshold_high", "rule", *CELLS)),
                    "measure": rule.best.name, "value": none, "corrected": none,
                    "limited": none if rule.within else None,
                    **dict.fromkeys((*RATES, "flagged"), none),
                }
            )  # fmt: skip
            continue
        every = [one for one in (rule.best, rule.within, *RATES.values(), FLAGGED_MEASURE) if one]
        mine, honest, wanders = found.here.take([i]), found.unknown[i], (np.nan, np.nan)
        if found.choices is not None and wanted.level is not None:
            low, high, _ = percentile_limits(found.choices.thresholds[i], level=wanted.level)
            wanders = low.item(), high.item()
        values = [float(measure_value(one, float_confusion(mine))[0]) for one in every]
        judged = [Estimate(None, reason=honest)] * len(every)
        if honest is None:
            judged = estimate_measures(every, found.expected.take([i]), wanted)
            judged = [*map(extend_limits, judged, values)]
        if rule.safe and rule.within is not None:  # the rule promises one of the limits
            judged = [_apply_safe_limit(value, rule) if one.name == rule.within.name else value
                      for one, value in zip(every, judged, strict=True)]  # fmt: skip
        *_, called = judged
        rows.append(
            {
                **who, "threshold": _finite_or_none(points.thresholds[place].item()),
                "threshold_low": _finite_or_none(wanders[0]),
                "threshold_high": _finite_or_none(wanders[1]),
                "rule": NEVER if place == 0 else ALWAYS if place == len(points.tp) - 1 else FROM,
                **{cell: mine.display_units(cell)[0].item() for cell in CELLS},
                "measure": rule.best.name, "value": make_estimate(values[0]),
                "corrected": judged[0], "limited": judged[1] if rule.within else None,
                **dict(zip(RATES, judged[-len(RATES) - 1 :], strict=False)), "flagged": called,
            }
        )  # fmt: skip
    return rows


def _apply_safe_limit(one: Estimate, rule: ThresholdRule) -> Estimate:
    """Return an estimate whose confidence limit satisfies the limit of a safe rule."""
    if one.value is None or one.low is None or one.high is None:
        return one
    if rule.sign > 0:
        return replace(one, low=min(one.value, max(one.low, rule.at)))
    return replace(one, high=max(one.value, min(one.high, rule.at)))


def estimate_measures(
    every: Sequence[RequestedMeasure], table: ConfusionCounts, wanted: IntervalSettings
) -> list[Estimate]:
    """Return measures of a table, with the limits that each has by its record."""
    return [_estimate_measure(one, table, wanted)[0] for one in every]


def _estimate_measure(
    one: RequestedMeasure, tables: ConfusionCounts, wanted: IntervalSettings
) -> list[Estimate]:
    """Return a measure of tables of the same rows, with the limits that it has by its record."""
    m = len(tables.models)  # without the standard errors, which need the number of clusters
    sure = LabelLimitSettings(replace(wanted, how="exact"), tables.models, [None] * m, [0.0] * m)
    return [known.value for known in estimate_label_measure(one, tables, sure)]


def _explain_unmet(rule: ThresholdRule, points: RocPoints) -> str:
    """Return the reason why no threshold is best."""
    measure, last = rule.best.measure, points.tables
    ends = Confusion(*(cell[-1:] for cell in (last.tp, last.fp, last.fn, last.tn)))
    single = next((one for one in CLASS_REASONS if undefined_reason((one, ""), ends) == one), None)
    if single is not None:
        return single
    return undefined_reason(measure.undefined, ends) if rule.within is None else UNMET


def _finite_or_none(cut: float) -> float | None:
    return cut if isfinite(cut) else None
