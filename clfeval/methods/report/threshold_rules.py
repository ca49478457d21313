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


def _parse_best_rule(rule_text: str) -> ThresholdRule:
    measure = _parse_rule_measure(rule_text)
    if measure.name in ONE_SIDED:
        constant_class, limit_example = ONE_SIDED[measure.name]
        message = (
            f"{OPTION}{FLAG}{END} {rule_text}: {measure.name} is best if every row is predicted "
            f"{constant_class}"
        )
        hint = f"set a limit on the other class: {format_option(FLAG, limit_example)}"
        if measure.measure.sign > 0:
            hint = f"set a limit in quotes: {format_option(FLAG, f'{rule_text}>=.9')}"
        raise bad_option(message, hint)
    if not measure.measure.sign:
        message = (
            f"{OPTION}{FLAG}{END} {rule_text}: {measure.measure.title} has no better direction"
        )
        raise bad_option(message, f"for example {OPTION}{FLAG} j_index{END}")
    return ThresholdRule(measure.name, measure)


def _parse_limit_rule(rule_text: str) -> ThresholdRule | None:
    """Return the rule of a limit, `sens>=.9`; None for other texts."""
    match = re.fullmatch(_LIMIT, rule_text.strip())
    if match is None:
        return None
    measure_text, operator, limit_text = match.groups()
    if operator == "=" and ":" in measure_text:
        return None  # a parameter
    measure_name = measure_text
    suffix = ""
    if measure_text.endswith(SAFE_SUFFIXES):
        measure_name, suffix = measure_text.rsplit(".", 1)
    limited_measure = _parse_rule_measure(measure_name)
    if suffix and (limited_measure.name not in SAFE or (suffix == "low") != (operator == ">=")):
        message = f"{OPTION}{FLAG}{END} {rule_text}: .low needs >= and sensitivity or specificity"
        hint = f"write {format_option(FLAG, 'sens.low>=.9')}"
        raise bad_option(f"{message}; .high needs <= and fnr or fpr", hint)
    if operator in ("<", "=", ">"):
        allowed_operator = _constraint_operator(operator, limited_measure.measure)
        hint = f"write {format_option(FLAG, f'{measure_text}{allowed_operator}{limit_text}')}"
        raise bad_option(f"{OPTION}{FLAG}{END} {rule_text}: a constraint needs >= or <=", hint)
    limit = _parse_limit_number(rule_text, limit_text, f"{measure_name}{operator}")
    is_lower = operator in (">=", "≥")
    _check_limit(rule_text, limited_measure.measure, limit, is_lower, (measure_name, limit_text))
    goal_id = SPECIFICITY if limited_measure.name in OF_NEGATIVES else SENSITIVITY
    goal = RequestedMeasure(goal_id, CATALOG[goal_id], {})
    limited_name = f"{limited_measure.name}.{suffix}" if suffix else limited_measure.name
    return ThresholdRule(
        f"{limited_name}{'>=' if is_lower else '<='}{limit:g}",
        goal,
        limited_measure,
        limit,
        sign=1 if is_lower else -1,
        safe=bool(suffix),
    )


def _constraint_operator(operator: str, measure: Measure) -> str:
    """Return >= or <= in place of <, = or >; of = the one that keeps a measure from being worse."""
    if operator == "=":
        return "<=" if measure.sign < 0 else ">="
    return f"{operator}="


def _parse_limit_number(rule_text: str, limit_text: str, rule_start: str) -> float:
    """Return the limit of a rule; UsageError for no number.

    rule_start: the rule up to the limit, for the hint.
    """
    try:
        return syntax.parse_share(FLAG, [limit_text.strip()])
    except UsageError as error:
        message = f"{OPTION}{FLAG}{END} {rule_text}: '{limit_text}' is not a number"
        hint = f"for example {format_option(FLAG, f'{rule_start}.9')}"
        raise bad_option(message, hint) from error


def _check_limit(
    rule_text: str, measure: Measure, limit: float, is_lower: bool, name_and_number: tuple[str, str]
) -> None:
    """Refuse a limit on the better side of a measure, or beyond its range.

    name_and_number: as they were written.
    """
    if measure.sign and is_lower != (measure.sign > 0):
        direction, operator = ("low", "<=") if is_lower else ("high", ">=")
        message = f"{OPTION}{FLAG}{END} {rule_text}: {measure.title} is better when {direction}"
        message += f": use {operator}"
        raise bad_option(message, f"write {format_option(FLAG, operator.join(name_and_number))}")
    if not measure.low <= limit <= measure.high:
        message = (
            f"{OPTION}{FLAG}{END} {rule_text}: {measure.title} lies between {measure.low:g} and "
        )
        raise bad_option(f"{message}{measure.high:g}")


def _parse_rule_measure(rule_text: str) -> RequestedMeasure:
    """Return a measure of the 2 x 2 table by name, with its parameters."""
    name, _, settings_text = rule_text.strip().partition(":")
    if normalize_name(name) == NET_BENEFIT and not settings_text:
        message = f"{OPTION}{FLAG}{END} {rule_text}: the threshold probability is missing"
        raise bad_option(message, f"for example {OPTION}{FLAG} net_benefit:t=0.1{END}")
    measures = parse_measures((rule_text,), FLAG)
    if len(measures) != 1 or measures[0].by != "name":
        raise bad_option(
            f"{OPTION}{FLAG}{END} {rule_text}: name one measure",
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
        message = f"{OPTION}{FLAG}{END} {rule_text}: {measure.measure.title} "
        message += "does not depend on a threshold"
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
    zones = [_parse_cost_zone(text) or _parse_share_zone(text) for text in texts]
    return tuple({zone.name: zone for zone in zones}.values())


def _parse_share_zone(zone_text: str) -> AbstentionZone:
    try:
        share = syntax.parse_share(ABSTAIN, [zone_text.strip()])
    except UsageError as error:
        message = f"{OPTION}{ABSTAIN}{END} '{zone_text}' is neither a share of the rows nor costs"
        hint = (
            f"for example {OPTION}{ABSTAIN} 5%{END}, or "
            f"{OPTION}{ABSTAIN} cost:fp=1,fn=5,abstain=0.2{END}"
        )
        raise bad_option(message, hint) from error
    if not 0 < share < 1:
        message = f"{OPTION}{ABSTAIN}{END} {zone_text} is not a share of the rows between 0 and 1"
        fix = (
            f"write {OPTION}{ABSTAIN} {share / 100:g}{END} for {share:g}%"
            if 1 <= share < 100
            else None
        )
        raise bad_option(message, fix)
    return AbstentionZone(f"{share:g}", share)


def _parse_cost_zone(zone_text: str) -> AbstentionZone | None:
    name, colon, settings_text = zone_text.strip().partition(":")
    if name.casefold() not in ("cost", "expected_cost"):
        return None
    settings = [setting.partition("=") for setting in settings_text.split(",") if setting]
    cost_texts = {raw_name.strip(): cost_text for raw_name, _, cost_text in settings}
    if not colon or {*cost_texts} != {*COSTS} or len(settings) > len(COSTS):
        message = f"{OPTION}{ABSTAIN}{END} {zone_text}: give the costs fp, fn and abstain"
        message += " once each" if len(settings) > len(cost_texts) else ""
        raise bad_option(message, f"for example {OPTION}{ABSTAIN} cost:fp=1,fn=5,abstain=0.2{END}")
    costs = {}
    for cost_name in COSTS:
        cost = syntax.parse_share(ABSTAIN, [cost_texts[cost_name]])
        if not (isfinite(cost) and cost > 0):
            message = (
                f"{OPTION}{ABSTAIN}{END} {zone_text}: {cost_name} must be above 0, not {cost:g}"
            )
            raise bad_option(message)
        costs[cost_name] = cost
    costs_text = ",".join(f"{cost_name}={cost:g}" for cost_name, cost in sorted(costs.items()))
    return AbstentionZone(f"cost:{costs_text}", costs=(costs["fp"], costs["fn"], costs["abstain"]))


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
    for rule_index, (rule, answer) in enumerate(rule_answers):
        answers.append(answer)
        if rule_index:  # the first rule is in force
            continue
        rows = [row for row in prevalence_rows if row["chosen_by"] == rule]
        answers += map(consequence_answer, _first_and_last(rows))
    if not answers:
        answers = [prevalence_answer(row, level) for row in _first_and_last(prevalence_rows)]
    zone_rows = tables.get("abstentions", ())
    answers += [
        answer
        for _, answer in _model_answers(zone_rows, models, partial(_abstention_answer, level=level))
    ]
    return tuple(answers)


def _first_and_last(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of two prevalences: the ends of a range."""
    return [*rows[:1], *rows[1:][-1:]]


def _first_model(rows: Sequence[Row], models: Sequence[str]) -> str | None:
    """Return the first of the given models that has rows, else the first that has any."""
    models_with_rows = [row["model"] for row in rows]
    first_with_rows = models_with_rows[0] if models_with_rows else None
    return next((model for model in models if model in models_with_rows), first_with_rows)


def _model_answers(
    rows: Sequence[Row], models: Sequence[str], make_answer: Callable[[Row], Answer]
) -> Iterator[tuple[str, Answer]]:
    """Yield the first rules of a model and their sentences."""
    all_rows = [row for row in rows if row["slice"] is None]
    model = _first_model(all_rows, models)
    rows_of_model = [row for row in all_rows if row["model"] == model]
    unlisted_count = len(rows_of_model) - MOST
    for i, row in enumerate(rows_of_model[:MOST]):
        answer = make_answer(row)
        if unlisted_count > 0 and i == MOST - 1:
            count = formatting.format_count(unlisted_count, "more rule")
            answer = replace(answer, text=f"{answer.text} The table below has {count}.")
        yield cell_text(row["chosen_by"]), answer


def _threshold_answer(row: Row, level: float) -> Answer:
    """Return the sentence on the threshold of a rule, and values expected on new data."""
    model = row["model"]
    quoted_name = formatting.quote_if_ambiguous(model)
    rule_phrase = _name_rule(row, level)
    corrected, value, limited = (as_estimate(row[key]) for key in ("corrected", "value", "limited"))
    measure_id = row["measure"].partition(":")[0]
    if row["rule"] is None:
        reason = "" if value.reason == UNMET else ", which is undefined at every threshold"
        text = _at_its_prevalence(row, f"No threshold of {quoted_name} has {rule_phrase}{reason}.")
        return Answer("best-cut", text, (model,), measure_id)
    text = _at_its_prevalence(row, _choice_clause(row, quoted_name, rule_phrase))
    title = CATALOG[measure_id].title
    if corrected.value is None:
        text += f". {title} is {_format_estimate(value, level)} on these rows"
        text += " and unknown on new data."
        return Answer("best-cut", text, (model,), measure_id)
    expected_clause = f"{title} {_format_estimate(corrected, level)}"
    limit_sentence = ""
    if limited.value is None:
        expected_clause += f", compared with {_format_estimate(value, level)} on these rows"
    else:
        limit_clause, limit_sentence = _limit_phrase(row, limited, level)
        expected_clause = f"{limit_clause} and {expected_clause}"
    text += f". On new data expect {expected_clause.removeprefix('expected ')}.{limit_sentence}"
    return Answer(
        "best-cut", text, (model,), measure_id, corrected.value, corrected.low, corrected.high
    )


def _at_its_prevalence(row: Row, text: str) -> str:
    """Return a sentence that names the prevalence if its rule depends on it."""
    measure_names = (row["measure"], _limited_measure(row))
    dependent_measures = [
        name for name in measure_names if name and not CATALOG[name.partition(":")[0]].invariant
    ]
    if not dependent_measures or row["prevalence"] is None:
        return text
    return f"{prevalence_phrase(row)}, {text[0].lower()}{text[1:]}"


def _limited_measure(row: Row) -> str:
    """Return the name of the measure that the rule limits; empty for other rules."""
    name, comparison, _ = re.split("(>=|<=|$)", cell_text(row["chosen_by"]), maxsplit=1)
    return name.removesuffix(".low").removesuffix(".high") if comparison else ""


def _choice_clause(row: Row, quoted_name: str, rule_phrase: str) -> str:
    """Return the clause on the threshold that a rule chooses, without its full stop."""
    threshold_clause = _threshold_phrase(row, quoted_name)
    _, _, limit = _parse_limit(row)
    if isnan(limit) or row["rule"] in (NEVER, ALWAYS):
        return f"{threshold_clause} has {rule_phrase}"
    return f"For {rule_phrase}, use {threshold_clause[0].lower()}{threshold_clause[1:]}"


def _threshold_phrase(row: Row, quoted_name: str) -> str:
    """Return the subject of a sentence on a rule: its threshold, or constant predictions."""
    if row["rule"] in (NEVER, ALWAYS):
        constant_class = "positive" if row["rule"] == ALWAYS else "negative"
        return f"Only predicting every row as {constant_class}, without {quoted_name},"
    low = row["threshold_low"]
    high = row["threshold_high"]
    phrase = f"Threshold {_format_threshold(row['threshold'])} of {quoted_name}"
    if low is not None and high is not None:
        phrase += f" (bootstrap {_format_threshold(low)} to {_format_threshold(high)})"
    return phrase


def _limit_phrase(row: Row, limited: Estimate, level: float) -> tuple[str, str]:
    """Return the phrase on the limited measure on new data, and the sentence on a missed limit."""
    title, is_lower, limit = _parse_limit(row)
    phrase = f"{title} {_format_estimate(limited, level)}"
    if not row["misses_limit"]:
        return phrase, ""
    sentence = f" The expected {title} misses the limit of {limit:g}"
    name, _, limit_text = cell_text(row["chosen_by"]).partition(">=" if is_lower else "<=")
    if name in SAFE:
        safe_rule = f"{name}{'.low>=' if is_lower else '.high<='}{limit_text}"
        sentence += f"; choose '{safe_rule}' for {_format_confidence(level)} confidence"
    return phrase, f"{sentence}."


def _parse_limit(row: Row) -> tuple[str, bool, float]:
    """Return the title of the limited measure, whether the limit is a lower one, and the limit."""
    rule = cell_text(row["chosen_by"])
    is_lower = ">=" in rule
    name, _, limit_text = rule.partition(">=" if is_lower else "<=")
    measure_id = name.removesuffix(".low").removesuffix(".high").partition(":")[0]
    return CATALOG[measure_id].title, is_lower, float(limit_text or "nan")


def _name_rule(row: Row, level: float) -> str:
    """Return the phrase for a rule."""
    rule = cell_text(row["chosen_by"])
    title, _, limit = _parse_limit(row)
    if not isnan(limit):
        if not rule.partition("=")[0][:-1].endswith(SAFE_SUFFIXES):
            return rule
        limit_clause = rule.replace(".low", "").replace(".high", "")
        return f"{limit_clause} with {_format_confidence(level)} confidence"
    name, _, settings = rule.partition(":")
    direction = "lowest" if CATALOG[name].best == "min" else "largest"
    settings_phrase = f" ({settings.replace(',', ', ')})" if settings else ""
    return f"the {direction} {title}{settings_phrase}"


def _format_confidence(level: float) -> str:
    """Write the confidence level of one limit."""
    return f"{50 * (1 + level):g}%"


def _abstention_answer(row: Row, level: float) -> Answer:
    """Return the sentence on the effect of abstention."""
    model, code = row["model"], "abstention"
    quoted_name = formatting.quote_if_ambiguous(model)
    accuracy = as_estimate(row["accuracy"])
    accuracy_of_all = as_estimate(row["accuracy_of_all"])
    coverage = as_estimate(row["coverage"]).value
    if coverage is None or accuracy_of_all.value is None:
        reason = NOWHERE.get(str(accuracy.reason), "its threshold is unknown")
        return Answer(code, f"{quoted_name} abstains on no row: {reason}.", (model,))
    is_by_costs = cell_text(row["chosen_by"]).startswith("cost")
    if accuracy.value is None:
        return Answer(code, f"{quoted_name} abstains on every row.", (model,))
    if coverage == 1:
        sentence = f"{quoted_name} abstains on no row: no score is close enough to the threshold."
        if is_by_costs:
            sentence = f"{quoted_name} abstains on no row: "
            sentence += "abstention never has the lowest expected cost."
        return Answer(
            code, sentence, (model,), "accuracy", accuracy.value, accuracy.low, accuracy.high
        )
    score_range = f"of {_format_threshold(row['low'])} or more"
    if row["high"] is not None:
        score_range = (
            f"from {_format_threshold(row['low'])} to below {_format_threshold(row['high'])}"
        )
    abstained_percent = formatting.format_percent(1 - coverage)
    sentence = (
        f"{quoted_name} abstains on {abstained_percent}% of the rows (scores {score_range}). "
    )
    sentence += f"Accuracy of the other rows is {_format_estimate(accuracy, level)}, of all rows "
    sentence += f"{formatting.format_number(accuracy_of_all.value)}."
    if is_by_costs:
        cost, cost_of_all = (
            formatting.format_number(cell_number(row[key])) for key in ("cost", "cost_of_all")
        )
        sentence += f" Mean cost per row is {cost}, compared with {cost_of_all} without abstention."
    return Answer(code, sentence, (model,), "accuracy", accuracy.value, accuracy.low, accuracy.high)


def _format_estimate(estimate: Estimate, level: float) -> str:
    """Write a value with its confidence interval."""
    if estimate.value is None:
        return "undefined" if estimate.reason != "infinite" else "infinite"
    return formatting.with_interval(estimate.value, estimate.low, estimate.high, level)


def _format_threshold(threshold: object) -> str:
    return formatting.format_exact(cell_number(threshold))


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
    share_zone = next((zone for zone in zones if zone.costs is None), None)
    has_threshold = any(threshold is not None for threshold in thresholds.values())
    if share_zone is not None and not has_threshold:
        message = f"{OPTION}--abstain{END} {share_zone.name} needs a threshold, but none is known"
        raise bad_option(
            message, f"add {OPTION}--threshold T{END}: scores of T or more are predicted positive"
        )
