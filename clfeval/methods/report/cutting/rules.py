"""What a threshold is chosen by: the best value of a measure, or the best within a limit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clfeval import notation
from clfeval.errors import UsageError, bad_option
from clfeval.measures.catalog import CATALOG
from clfeval.measures.odds import OutcomeCosts
from clfeval.methods.measured.asked import AT_RISK, NET_BENEFIT, RequestedMeasure, parse_measures
from clfeval.methods.threshold_optimism import ThresholdRule
from clfeval.shell import format_option

FLAG = "--best-threshold"
SENSITIVITY, SPECIFICITY = "sensitivity", "specificity"
# measures that are best if all rows are predicted alike, and need a limit on another
ONE_SIDED = {
    SENSITIVITY: ("positive", "spec>=.95"), "fnr": ("positive", "spec>=.95"),
    SPECIFICITY: ("negative", "sens>=.9"), "fpr": ("negative", "sens>=.9"),
}  # fmt: skip
OF_NEGATIVES = (SENSITIVITY, "fnr", "npv", "for")  # limits within which negatives are to be many
SAFE, SAFE_SUFFIXES = (
    (SENSITIVITY, "fnr", SPECIFICITY, "fpr"),
    (".low", ".high"),
)  # kept with confidence
CALLED_ONCE = (SENSITIVITY, "precision")  # whatever name they are asked for by
_LIMIT = re.compile(r"(.+?)\s*(>=|<=|≥|≤|>|<|=)\s*([^<>=]+)")


def parse_rules(texts: Sequence[str], flag: str = FLAG) -> tuple[ThresholdRule, ...]:
    """Return the requested rules, each once; UsageError for an invalid one."""
    found = [_parse_limit_rule(text, flag) or _parse_best_rule(text, flag) for text in texts]
    return tuple({one.name: one for one in found}.values())


def _parse_best_rule(text: str, flag: str) -> ThresholdRule:
    one = _parse_rule_measure(text, flag)
    if one.name in ONE_SIDED:
        answer, within = ONE_SIDED[one.name]
        what = f"{flag} {text}: {one.name} is best if every row is predicted {answer}"
        hint = f"set a limit on the other class: {format_option(flag, within)}"
        if one.measure.sign > 0:
            hint = f"set a limit in quotes: {format_option(flag, f'{text}>=.9')}"
        raise bad_option(what, hint)
    if not one.measure.sign:
        what = f"{flag} {text}: {one.measure.title} has no better direction"
        raise bad_option(what, f"for example {flag} j_index")
    return ThresholdRule(one.name, one)


def _parse_limit_rule(text: str, flag: str) -> ThresholdRule | None:
    """Return the rule of a limit, `sens>=.9`; None for other texts."""
    parts = _LIMIT.fullmatch(text.strip())
    if parts is None:
        return None
    given_, between, number = parts[1], parts[2], parts[3]
    if between == "=" and ":" in given_:
        return None  # a parameter
    name, _, end = given_.rpartition(".") if given_.endswith(SAFE_SUFFIXES) else (given_, "", "")
    one = _parse_rule_measure(name, flag)
    if end and (one.name not in SAFE or (end == "low") != (between == ">=")):
        what = f"{flag} {text}: .low needs >= and sensitivity or specificity"
        hint = f"write {format_option(flag, 'sens.low>=.9')}"
        raise bad_option(f"{what}; .high needs <= and fnr or fpr", hint)
    if between in ("<", "=", ">"):
        sign = between if between != "=" else "<" if one.measure.sign < 0 else ">"
        hint = f"write {format_option(flag, f'{given_}{sign}={number}')}"
        raise bad_option(f"{flag} {text}: a constraint needs >= or <=", hint)
    try:
        at = notation.parse_share(flag, [number.strip()])
    except UsageError as error:
        what = f"{flag} {text}: '{number}' is not a number"
        raise bad_option(
            what, f"for example {format_option(flag, f'{name}{between}.9')}"
        ) from error
    up = between in (">=", "≥")
    if one.measure.sign and up != (one.measure.sign > 0):
        better = "high" if one.measure.sign > 0 else "low"
        sign = ">=" if one.measure.sign > 0 else "<="
        what = f"{flag} {text}: {one.measure.title} is better when {better}: use {sign}"
        raise bad_option(what, f"write {format_option(flag, f'{name}{sign}{number}')}")
    if not one.measure.low <= at <= one.measure.high:
        what = f"{flag} {text}: {one.measure.title} lies between {one.measure.low:g} and "
        raise bad_option(f"{what}{one.measure.high:g}")
    best = SPECIFICITY if one.name in OF_NEGATIVES else SENSITIVITY
    written = f"{one.name}{end and f'.{end}'}{'>=' if up else '<='}{at:g}"
    return ThresholdRule(
        written, RequestedMeasure(best, CATALOG[best], {}), one, at, 1 if up else -1, bool(end)
    )


def _parse_rule_measure(text: str, flag: str) -> RequestedMeasure:
    """Return a measure of the 2 x 2 table by name, with its parameters."""
    name, _, settings = text.strip().partition(":")
    if name.casefold() == NET_BENEFIT and not settings:
        what = f"{flag} {text}: the threshold probability is missing"
        raise bad_option(what, f"for example {flag} net_benefit:t=0.1")
    found = parse_measures((text,), flag)
    if len(found) != 1 or found[0].by != "name":
        raise bad_option(f"{flag} {text}: name one measure", f"for example {flag} j_index")
    one = found[0]
    if one.measure.twin in CALLED_ONCE:
        one = RequestedMeasure(one.measure.twin, CATALOG[one.measure.twin], one.settings)
    if one.measure.id == AT_RISK:  # of the table, wherever the cut is
        t = one.settings.get("t", 0.5)
        stakes = {"stakes": OutcomeCosts(t, 1 - t)}
        return RequestedMeasure(
            f"{NET_BENEFIT}:t={t:g}", CATALOG[NET_BENEFIT].given(**stakes), stakes
        )
    if one.needs != "confusion":
        what = f"{flag} {text}: {one.measure.title} does not depend on a threshold"
        raise bad_option(what, f"for example {flag} j_index")
    return one
