"""Sentences about chosen thresholds and about abstention."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from clfeval.document import Answer, Estimate, Row, estimate
from clfeval.measures.catalog import CATALOG
from clfeval.methods.predictive_values import prevalence_answer
from clfeval.methods.report.cutting.chosen import ALWAYS, NEVER, UNMET
from clfeval.methods.report.cutting.rules import ENDS, SAFE
from clfeval.words import exact, interval, many, number, percent, quoted

MOST = 2  # rules, and zones, with a sentence each
NOWHERE = {
    "needs_threshold": "its threshold is unknown; add --threshold T",
    "not_probabilities": "costs need probabilities, but its scores are outside 0 to 1",
    "infinite_scores": "some of its scores are infinite",
}


def cutting_answer(
    cutoffs: Sequence[Row], abstentions: Sequence[Row], models: Sequence[str],
    at_prevalence: Sequence[Row], level: float,
) -> tuple[Answer, ...]:  # fmt: skip
    """Return sentences on thresholds, abstention and predictive values of the best model.

    models: the best ones; where none of them has scores, the first model that has.
    """
    there: dict[object, Row] = {}
    for row in at_prevalence:
        if row["model"] == _first(at_prevalence, models):
            held = there.setdefault(row["odds"], row)
            there[row["odds"]] = row if held["chosen_by"] is None else held
    means = [prevalence_answer(row, level) for row in [*there.values()][:MOST]]
    cuts = _each(cutoffs, models, partial(_cut, level=level))
    return (*cuts, *means, *_each(abstentions, models, partial(_zone, level=level)))


def _first(rows: Sequence[Row], models: Sequence[str]) -> str | None:
    """Return the first of some models that has rows, else the first that has."""
    there = [str(row["model"]) for row in rows]
    return next((one for one in models if one in there), there[0] if there else None)


def _each(
    rows: Sequence[Row], models: Sequence[str], say: Callable[[Row], Answer]
) -> Iterator[Answer]:
    whole = [row for row in rows if row["slice"] is None]
    model = _first(whole, models)
    mine = [row for row in whole if row["model"] == model]
    for i, row in enumerate(mine[:MOST]):
        said, more = say(row), len(mine) - MOST
        if more > 0 and i == MOST - 1:
            text = f"{said.text} The table below has {many(more, 'more rule')}."
            said = replace(said, text=text)
        yield said


def _cut(row: Row, level: float) -> Answer:
    """Say which threshold a rule chooses, and what to expect of it."""
    model, code = str(row["model"]), "best-cut"
    name, rule = quoted(model), _rule(row, level)
    honest, value, limited = (estimate(row[key]) for key in ("corrected", "value", "limited"))
    measure = str(row["measure"]).partition(":")[0]
    title = CATALOG[measure].title
    if row["rule"] is None:
        text = f"No threshold of {name} has {rule}."
        if value.reason != UNMET:
            text = f"No threshold of {name} has {rule}, which is undefined at every threshold."
        return Answer(code, text, (model,), measure)
    if row["rule"] in (NEVER, ALWAYS):
        answer = "positive" if row["rule"] == ALWAYS else "negative"
        what = f"Only predicting every row as {answer}, without {name}, has {rule}"
    else:
        what = f"Threshold {_at(row['threshold'])} of {name}{_wanders(row)} has {rule}"
    if honest.value is None:
        why = f"{title} is {_with(value, level)} on these rows and unknown on new data"
        return Answer(code, f"{what}. {why}.", (model,), measure)
    said, more = f"{title} {_with(honest, level)}", ""
    asked, up, at = _limit(row)
    if limited.value is None:
        said += f", compared with {_with(value, level)} on these rows"
    else:
        beyond = ""
        if limited.value < at if up else limited.value > at:
            beyond = f", {'below' if up else 'above'} {at:g},"
            name, _, end = str(row["chosen_by"]).partition(">=" if up else "<=")
            if name in SAFE:
                safe = f"{name}{'.low>=' if up else '.high<='}{end}"
                more = f" Choose '{safe}' for {_confidence(level)} confidence."
        said = f"{asked} {_with(limited, level)}{beyond} and {said}"
    text = f"{what}. On new data expect {said.removeprefix('expected ')}.{more}"
    return Answer(code, text, (model,), measure, honest.value, honest.low, honest.high)


def _wanders(row: Row) -> str:
    """Say between which thresholds the rule chooses on bootstrap tables."""
    low, high = row["threshold_low"], row["threshold_high"]
    return "" if low is None or high is None else f" (bootstrap {_at(low)} to {_at(high)})"


def _limit(row: Row) -> tuple[str, bool, float]:
    """Return the title of the measure of a limit, whether it is a lower one, and the limit."""
    rule = str(row["chosen_by"])
    up = ">=" in rule
    name, _, at = rule.partition(">=" if up else "<=")
    measure = name.removesuffix(".low").removesuffix(".high").partition(":")[0]
    return CATALOG[measure].title, up, float(at or "nan")


def _rule(row: Row, level: float) -> str:
    """Name a rule in a sentence."""
    rule = str(row["chosen_by"])
    title, _, at = _limit(row)
    if at == at:
        if not rule.partition("=")[0][:-1].endswith(ENDS):
            return rule
        bound = rule.replace(".low", "").replace(".high", "")
        return f"{bound} with {_confidence(level)} confidence"
    name, _, settings = rule.partition(":")
    best = "lowest" if CATALOG[name].best == "min" else "largest"
    return f"the {best} {title}" + f" ({settings.replace(',', ', ')})" * bool(settings)


def _confidence(level: float) -> str:
    """Write the confidence level of one limit."""
    return f"{50 * (1 + level):g}%"


def _zone(row: Row, level: float) -> Answer:
    """Say what abstention changes."""
    model, code = str(row["model"]), "abstention"
    name, accuracy, before = (
        quoted(model), estimate(row["accuracy"]), estimate(row["accuracy_of_all"]),
    )  # fmt: skip
    coverage = estimate(row["coverage"]).value
    if coverage is None or before.value is None:
        why = NOWHERE.get(str(accuracy.reason), "its threshold is unknown")
        return Answer(code, f"{name} abstains on no row: {why}.", (model,))
    costs = str(row["chosen_by"]).startswith("cost")
    if accuracy.value is None:
        return Answer(code, f"{name} abstains on every row.", (model,))
    if coverage == 1:
        text = f"{name} abstains on no row: no score is close enough to the threshold."
        if costs:
            text = f"{name} abstains on no row: abstention never has the lowest expected cost."
        return Answer(code, text, (model,), "accuracy", accuracy.value, accuracy.low, accuracy.high)
    ends = f"of {_at(row['low'])} or more"
    if row["high"] is not None:
        ends = f"from {_at(row['low'])} to below {_at(row['high'])}"
    text = f"{name} abstains on {percent(1 - coverage)}% of the rows (scores {ends}). "
    text += f"Accuracy of the other rows is {_with(accuracy, level)}, of all rows "
    text += f"{number(before.value)}."
    if costs:
        cost, old = (number(float(str(row[key]))) for key in ("cost", "cost_of_all"))
        text += f" Mean cost per row is {cost}, compared with {old} without abstention."
    return Answer(code, text, (model,), "accuracy", accuracy.value, accuracy.low, accuracy.high)


def _with(one: Estimate, level: float) -> str:
    """Write a value with its confidence interval."""
    if one.value is None:
        return "undefined" if one.reason != "infinite" else "infinite"
    return interval(one.value, one.low, one.high, level)


def _at(cut: object) -> str:
    return exact(float(str(cut)))
