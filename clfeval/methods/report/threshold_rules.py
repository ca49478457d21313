"""Rules of thresholds and zones of abstention: as options write them, and in sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite, isnan

from clfeval import formatting
from clfeval.document import Answer
from clfeval.document.cells import Estimate, Row, Rows, as_estimate, cell_number, cell_text
from clfeval.errors import UsageError, bad_option, format_option
from clfeval.measures.catalog import CATALOG, normalize_name
from clfeval.measures.odds import OutcomeCosts
from clfeval.measures.record import Measure
from clfeval.methods.measurement.requested_measures import (
    AT_RISK,
    NET_BENEFIT,
    RequestedMeasure,
    parse_measures,
)
from clfeval.methods.other_prevalences import prevalence_answer, prevalence_phrase
from clfeval.methods.report.threshold_consequences import consequence_answer
from clfeval.methods.threshold_optimism import ThresholdRule
from clfeval.options import syntax
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

FLAG = "--best-threshold"
SENSITIVITY, SPECIFICITY = "sensitivity", "specificity"
# measures that are best if all rows are predicted alike, and need a limit on another
ONE_SIDED = {
    SENSITIVITY: ("positive", "spec>=.95"),
    "fnr": ("positive", "spec>=.95"),
    SPECIFICITY: ("negative", "sens>=.9"),
    "fpr": ("negative", "sens>=.9"),
}
OF_NEGATIVES = (SENSITIVITY, "fnr", "npv", "for")  # limits on these constrain predicted negatives
UNMET = "limit_unmet"
ALWAYS, NEVER, FROM = "always positive", "never positive", "score >= t"
SAFE, SAFE_SUFFIXES = (*ONE_SIDED,), (".low", ".high")  # rules with a confidence limit
_LIMIT = r"(.+?)\s*(>=|<=|≥|≤|>|<|=)\s*([^<>=]+)"


def parse_rules(texts: Sequence[str]) -> tuple[ThresholdRule, ...]:
    """Return the requested rules, each once; UsageError for an invalid one."""
    rules = [_parse_limit_rule(text) or _parse_best_rule(text) for text in texts]
    return tuple({rule.name: rule for rule in rules}.values())


def _parse_best_rule(text: str) -> ThresholdRule:
    measure = _parse_rule_measure(text)
    if measure.name in ONE_SIDED:
        answer, limit = ONE_SIDED[measure.name]
        message = (
            f"{OPTION}{FLAG}{END} {text}: {measure.name} is best if every row is predicted {answer}"
        )
        hint = f"set a limit on the other class: {format_option(FLAG, limit)}"
        if measure.measure.sign > 0:
            hint = f"set a limit in quotes: {format_option(FLAG, f'{text}>=.9')}"
        raise bad_option(message, hint)
    if not measure.measure.sign:
        message = f"{OPTION}{FLAG}{END} {text}: {measure.measure.title} has no better direction"
        raise bad_option(message, f"for example {OPTION}{FLAG} j_index{END}")
    return ThresholdRule(measure.name, measure)


def _parse_limit_rule(text: str) -> ThresholdRule | None:
    """Return the rule of a limit, `sens>=.9`; None for other texts."""
    parts = re.fullmatch(_LIMIT, text.strip())
    if parts is None:
        return None
    left, comparison, number = parts.groups()
    if comparison == "=" and ":" in left:
        return None  # a parameter
    name = left
    suffix = ""
    if left.endswith(SAFE_SUFFIXES):
        name, suffix = left.rsplit(".", 1)
    limited = _parse_rule_measure(name)
    if suffix and (limited.name not in SAFE or (suffix == "low") != (comparison == ">=")):
        message = f"{OPTION}{FLAG}{END} {text}: .low needs >= and sensitivity or specificity"
        hint = f"write {format_option(FLAG, 'sens.low>=.9')}"
        raise bad_option(f"{message}; .high needs <= and fnr or fpr", hint)
    if comparison in ("<", "=", ">"):
        sign = comparison
        if comparison == "=":
            sign = "<" if limited.measure.sign < 0 else ">"
        hint = f"write {format_option(FLAG, f'{left}{sign}={number}')}"
        raise bad_option(f"{OPTION}{FLAG}{END} {text}: a constraint needs >= or <=", hint)
    limit = _parse_limit_number(text, number, f"{name}{comparison}")
    is_lower = comparison in (">=", "≥")
    _check_limit(text, limited.measure, limit, is_lower, (name, number))
    best = SPECIFICITY if limited.name in OF_NEGATIVES else SENSITIVITY
    rule = f"{limited.name}{suffix and f'.{suffix}'}{'>=' if is_lower else '<='}{limit:g}"
    goal = RequestedMeasure(best, CATALOG[best], {})
    return ThresholdRule(rule, goal, limited, limit, 1 if is_lower else -1, bool(suffix))


def _parse_limit_number(text: str, number: str, start: str) -> float:
    """Return the limit of a rule; UsageError for no number. start: of the rule in the hint."""
    try:
        return syntax.parse_share(FLAG, [number.strip()])
    except UsageError as error:
        message = f"{OPTION}{FLAG}{END} {text}: '{number}' is not a number"
        hint = f"for example {format_option(FLAG, f'{start}.9')}"
        raise bad_option(message, hint) from error


def _check_limit(
    text: str, measure: Measure, limit: float, is_lower: bool, parts: tuple[str, str]
) -> None:
    """Refuse a limit on the better side of a measure, or beyond its range.

    parts: name and number as they were written.
    """
    if measure.sign and is_lower != (measure.sign > 0):
        better, sign = ("low", "<=") if is_lower else ("high", ">=")
        message = f"{OPTION}{FLAG}{END} {text}: {measure.title} is better when {better}: use {sign}"
        raise bad_option(message, f"write {format_option(FLAG, sign.join(parts))}")
    if not measure.low <= limit <= measure.high:
        message = f"{OPTION}{FLAG}{END} {text}: {measure.title} lies between {measure.low:g} and "
        raise bad_option(f"{message}{measure.high:g}")


def _parse_rule_measure(text: str) -> RequestedMeasure:
    """Return a measure of the 2 x 2 table by name, with its parameters."""
    name, _, settings = text.strip().partition(":")
    if normalize_name(name) == NET_BENEFIT and not settings:
        message = f"{OPTION}{FLAG}{END} {text}: the threshold probability is missing"
        raise bad_option(message, f"for example {OPTION}{FLAG} net_benefit:t=0.1{END}")
    measures = parse_measures((text,), FLAG)
    if len(measures) != 1 or measures[0].by != "name":
        raise bad_option(
            f"{OPTION}{FLAG}{END} {text}: name one measure",
            f"for example {OPTION}{FLAG} j_index{END}",
        )
    measure = measures[0]
    if measure.measure.twin in (SENSITIVITY, "precision"):  # one name for all aliases
        measure = RequestedMeasure(
            measure.measure.twin, CATALOG[measure.measure.twin], measure.settings
        )
    if measure.measure.id == AT_RISK:  # computed from the table at any threshold
        t = measure.settings.get("t", 0.5)
        stakes = {"stakes": OutcomeCosts(t, 1 - t)}
        name = f"{NET_BENEFIT}:t={t:g}"
        return RequestedMeasure(name, CATALOG[NET_BENEFIT].with_settings(**stakes), stakes)
    if measure.needs != "confusion":
        message = (
            f"{OPTION}{FLAG}{END} {text}: {measure.measure.title} does not depend on a threshold"
        )
        raise bad_option(message, f"for example {OPTION}{FLAG} j_index{END}")
    return measure


ABSTAIN = "--abstain"
COSTS = ("fp", "fn", "abstain")


@dataclass(frozen=True, slots=True)
class AbstentionZone:
    """An abstention zone: a share of rows nearest the threshold, or costs of FP, FN, abstention."""

    name: str
    share: float = 0.0
    costs: tuple[float, float, float] | None = None


def parse_zones(texts: Sequence[str]) -> tuple[AbstentionZone, ...]:
    """Return the requested zones without duplicates; UsageError for an invalid one."""
    zones = [_of_costs(text) or _of_share(text) for text in texts]
    return tuple({zone.name: zone for zone in zones}.values())


def _of_share(text: str) -> AbstentionZone:
    try:
        share = syntax.parse_share(ABSTAIN, [text.strip()])
    except UsageError as error:
        message = f"{OPTION}{ABSTAIN}{END} '{text}' is neither a share of the rows nor costs"
        hint = (
            f"for example {OPTION}{ABSTAIN} 5%{END}, or "
            f"{OPTION}{ABSTAIN} cost:fp=1,fn=5,abstain=0.2{END}"
        )
        raise bad_option(message, hint) from error
    if not 0 < share < 1:
        message = f"{OPTION}{ABSTAIN}{END} {text} is not a share of the rows between 0 and 1"
        fix = (
            f"write {OPTION}{ABSTAIN} {share / 100:g}{END} for {share:g}%"
            if 1 <= share < 100
            else None
        )
        raise bad_option(message, fix)
    return AbstentionZone(f"{share:g}", share)


def _of_costs(text: str) -> AbstentionZone | None:
    name, colon, settings = text.strip().partition(":")
    if name.casefold() not in ("cost", "expected_cost"):
        return None
    cost_texts = dict(part.partition("=")[::2] for part in settings.split(",") if part)
    if not colon or {key.strip() for key in cost_texts} != {*COSTS}:
        message = f"{OPTION}{ABSTAIN}{END} {text}: give the costs fp, fn and abstain"
        raise bad_option(message, f"for example {OPTION}{ABSTAIN} cost:fp=1,fn=5,abstain=0.2{END}")
    costs = {}
    for key in COSTS:
        value = syntax.parse_share(
            ABSTAIN, [next(v for k, v in cost_texts.items() if k.strip() == key)]
        )
        if not (isfinite(value) and value > 0):
            raise bad_option(f"{OPTION}{ABSTAIN}{END} {text}: {key} must be above 0, not {value:g}")
        costs[key] = value
    written = ",".join(f"{key}={value:g}" for key, value in sorted(costs.items()))
    return AbstentionZone(f"cost:{written}", costs=(costs["fp"], costs["fn"], costs["abstain"]))


MOST = 2  # rules, and zones, with a sentence each
NOWHERE = {
    "needs_threshold": f"its threshold is unknown; add {OPTION}--threshold T{END}",
    "not_probabilities": "costs need probabilities, but its scores are outside 0 to 1",
    "infinite_scores": "some of its scores are infinite",
}


def threshold_answers(
    tables: Mapping[str, Rows], models: Sequence[str], level: float
) -> tuple[Answer, ...]:
    """Return sentences on thresholds of the first of `models` with scores, else the first."""
    at_prevalence = tables.get("at_prevalence", ())
    model = _first_model(at_prevalence, models)
    prevalence_rows = [row for row in at_prevalence if row["model"] == model]
    answers = list[Answer]()
    rule_answers = _model_answers(
        tables.get("cutoffs", ()), models, partial(_threshold_answer, level=level)
    )
    for place, (rule, answer) in enumerate(rule_answers):
        answers.append(answer)
        if place:  # the first rule is in force
            continue
        rows = [row for row in prevalence_rows if row["chosen_by"] == rule]
        answers += map(consequence_answer, _first_and_last(rows))
    if not answers:
        answers = [prevalence_answer(row, level) for row in _first_and_last(prevalence_rows)]
    zones = tables.get("abstentions", ())
    answers += [
        answer
        for _, answer in _model_answers(zones, models, partial(_abstention_answer, level=level))
    ]
    return tuple(answers)


def _first_and_last(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of two prevalences: the ends of a range."""
    return [*rows[:1], *rows[1:][-1:]]


def _first_model(rows: Sequence[Row], models: Sequence[str]) -> str | None:
    """Return the first of the given models that has rows, else the first that has any."""
    with_rows = [row["model"] for row in rows]
    return next(
        (model for model in models if model in with_rows), with_rows[0] if with_rows else None
    )


def _model_answers(
    rows: Sequence[Row], models: Sequence[str], sentence: Callable[[Row], Answer]
) -> Iterator[tuple[str, Answer]]:
    """Yield the first rules of a model and their sentences."""
    all_rows = [row for row in rows if row["slice"] is None]
    model = _first_model(all_rows, models)
    rows_of_model = [row for row in all_rows if row["model"] == model]
    further = len(rows_of_model) - MOST
    for i, row in enumerate(rows_of_model[:MOST]):
        answer = sentence(row)
        if further > 0 and i == MOST - 1:
            count = formatting.format_count(further, "more rule")
            answer = replace(answer, text=f"{answer.text} The table below has {count}.")
        yield cell_text(row["chosen_by"]), answer


def _threshold_answer(row: Row, level: float) -> Answer:
    """Return the sentence on the threshold of a rule, and values expected on new data."""
    model = row["model"]
    name = formatting.quote_if_ambiguous(model)
    rule = _name_rule(row, level)
    corrected, value, limited = (as_estimate(row[key]) for key in ("corrected", "value", "limited"))
    measure = row["measure"].partition(":")[0]
    if row["rule"] is None:
        reason = "" if value.reason == UNMET else ", which is undefined at every threshold"
        text = _at_its_prevalence(row, f"No threshold of {name} has {rule}{reason}.")
        return Answer("best-cut", text, (model,), measure)
    text = _at_its_prevalence(row, _choice_clause(row, name, rule))
    title = CATALOG[measure].title
    if corrected.value is None:
        text += f". {title} is {_format_estimate(value, level)} on these rows"
        text += " and unknown on new data."
        return Answer("best-cut", text, (model,), measure)
    expected = f"{title} {_format_estimate(corrected, level)}"
    limit_sentence = ""
    if limited.value is None:
        expected += f", compared with {_format_estimate(value, level)} on these rows"
    else:
        phrase, limit_sentence = _limit_phrase(row, limited, level)
        expected = f"{phrase} and {expected}"
    text += f". On new data expect {expected.removeprefix('expected ')}.{limit_sentence}"
    return Answer(
        "best-cut", text, (model,), measure, corrected.value, corrected.low, corrected.high
    )


def _at_its_prevalence(row: Row, text: str) -> str:
    """Return a sentence that names the prevalence if its rule depends on it."""
    names = (row["measure"], _limited_measure(row))
    dependent = [name for name in names if name and not CATALOG[name.partition(":")[0]].invariant]
    if not dependent or row["prevalence"] is None:
        return text
    return f"{prevalence_phrase(row)}, {text[0].lower()}{text[1:]}"


def _limited_measure(row: Row) -> str:
    """Return the name of the measure that the rule limits; empty for other rules."""
    name, comparison, _ = re.split("(>=|<=|$)", cell_text(row["chosen_by"]), maxsplit=1)
    return name.removesuffix(".low").removesuffix(".high") if comparison else ""


def _choice_clause(row: Row, name: str, rule: str) -> str:
    """Return the clause on the threshold that a rule chooses, without its full stop."""
    phrase = _threshold_phrase(row, name)
    if isnan(_parse_limit(row)[2]) or row["rule"] in (NEVER, ALWAYS):
        return f"{phrase} has {rule}"
    return f"For {rule}, use {phrase[0].lower()}{phrase[1:]}"


def _threshold_phrase(row: Row, name: str) -> str:
    """Return the subject of a sentence on a rule: its threshold, or constant predictions."""
    if row["rule"] in (NEVER, ALWAYS):
        answer = "positive" if row["rule"] == ALWAYS else "negative"
        return f"Only predicting every row as {answer}, without {name},"
    low = row["threshold_low"]
    high = row["threshold_high"]
    phrase = f"Threshold {_format_threshold(row['threshold'])} of {name}"
    if low is not None and high is not None:
        phrase += f" (bootstrap {_format_threshold(low)} to {_format_threshold(high)})"
    return phrase


def _limit_phrase(row: Row, limited: Estimate, level: float) -> tuple[str, str]:
    """Return the phrase on the limited measure on new data, and the sentence on a missed limit."""
    title, is_lower, limit = _parse_limit(row)
    phrase = f"{title} {_format_estimate(limited, level)}"
    if not row["misses_limit"]:
        return phrase, ""
    text = f" The expected {title} misses the limit of {limit:g}"
    name, _, number = cell_text(row["chosen_by"]).partition(">=" if is_lower else "<=")
    if name in SAFE:
        safe = f"{name}{'.low>=' if is_lower else '.high<='}{number}"
        text += f"; choose '{safe}' for {_format_confidence(level)} confidence"
    return phrase, f"{text}."


def _parse_limit(row: Row) -> tuple[str, bool, float]:
    """Return the title of the limited measure, whether the limit is a lower one, and the limit."""
    rule = cell_text(row["chosen_by"])
    is_lower = ">=" in rule
    name, _, bound = rule.partition(">=" if is_lower else "<=")
    measure = name.removesuffix(".low").removesuffix(".high").partition(":")[0]
    return CATALOG[measure].title, is_lower, float(bound or "nan")


def _name_rule(row: Row, level: float) -> str:
    """Return the phrase for a rule."""
    rule = cell_text(row["chosen_by"])
    title, _, limit = _parse_limit(row)
    if limit == limit:
        if not rule.partition("=")[0][:-1].endswith(SAFE_SUFFIXES):
            return rule
        bound = rule.replace(".low", "").replace(".high", "")
        return f"{bound} with {_format_confidence(level)} confidence"
    name, _, settings = rule.partition(":")
    best = "lowest" if CATALOG[name].best == "min" else "largest"
    return f"the {best} {title}" + f" ({settings.replace(',', ', ')})" * bool(settings)


def _format_confidence(level: float) -> str:
    """Write the confidence level of one limit."""
    return f"{50 * (1 + level):g}%"


def _abstention_answer(row: Row, level: float) -> Answer:
    """Return the sentence on the effect of abstention."""
    model, code = row["model"], "abstention"
    name = formatting.quote_if_ambiguous(model)
    accuracy = as_estimate(row["accuracy"])
    accuracy_of_all = as_estimate(row["accuracy_of_all"])
    coverage = as_estimate(row["coverage"]).value
    if coverage is None or accuracy_of_all.value is None:
        reason = NOWHERE.get(str(accuracy.reason), "its threshold is unknown")
        return Answer(code, f"{name} abstains on no row: {reason}.", (model,))
    costs = cell_text(row["chosen_by"]).startswith("cost")
    if accuracy.value is None:
        return Answer(code, f"{name} abstains on every row.", (model,))
    if coverage == 1:
        text = f"{name} abstains on no row: no score is close enough to the threshold."
        if costs:
            text = f"{name} abstains on no row: abstention never has the lowest expected cost."
        return Answer(code, text, (model,), "accuracy", accuracy.value, accuracy.low, accuracy.high)
    score_range = f"of {_format_threshold(row['low'])} or more"
    if row["high"] is not None:
        score_range = (
            f"from {_format_threshold(row['low'])} to below {_format_threshold(row['high'])}"
        )
    share = formatting.format_percent(1 - coverage)
    text = f"{name} abstains on {share}% of the rows (scores {score_range}). "
    text += f"Accuracy of the other rows is {_format_estimate(accuracy, level)}, of all rows "
    text += f"{formatting.format_number(accuracy_of_all.value)}."
    if costs:
        cost, old = (
            formatting.format_number(cell_number(row[key])) for key in ("cost", "cost_of_all")
        )
        text += f" Mean cost per row is {cost}, compared with {old} without abstention."
    return Answer(code, text, (model,), "accuracy", accuracy.value, accuracy.low, accuracy.high)


def _format_estimate(estimate: Estimate, level: float) -> str:
    """Write a value with its confidence interval."""
    if estimate.value is None:
        return "undefined" if estimate.reason != "infinite" else "infinite"
    return formatting.with_interval(estimate.value, estimate.low, estimate.high, level)


def _format_threshold(cut: object) -> str:
    return formatting.format_exact(cell_number(cut))


def check_scores_available(
    best_thresholds: Sequence[str],
    zones: Sequence[AbstentionZone],
    thresholds: Mapping[str, float | None],
    *,
    scored: bool,
    single: bool,
) -> None:
    """Raise if thresholds are to be chosen without scores, or abstention has no threshold.

    single: scores are counted one by one, as abstention needs them.
    """
    if zones and not single:
        message = f"{OPTION}--abstain{END} needs every score, but scores are counted in buckets"
        raise UsageError.new(message, "needs-scores", hint=f"add {OPTION}--scores exact{END}")
    for flag, is_given in (("--best-threshold", bool(best_thresholds)), ("--abstain", bool(zones))):
        if is_given and not scored:
            message = f"{OPTION}{flag}{END} needs scores, but every model has labels only"
            hint = "add a column of scores, such as the probability of the positive class"
            raise UsageError.new(message, "needs-scores", hint=hint)
    share = next((zone for zone in zones if zone.costs is None), None)
    if share is not None and not any(cut is not None for cut in thresholds.values()):
        message = f"{OPTION}--abstain{END} {share.name} needs a threshold, but none is known"
        raise bad_option(
            message, f"add {OPTION}--threshold T{END}: scores of T or more are predicted positive"
        )
