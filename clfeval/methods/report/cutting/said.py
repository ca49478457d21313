"""What is said of a chosen threshold, and of answers that are not given, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from clfeval.measures.catalog import CATALOG
from clfeval.methods.report.cutting.chosen import ALWAYS, NEVER, UNMET
from clfeval.result import Answer, Estimate, Row, estimate
from clfeval.words import between, exact, many, number, percent, quoted

MOST = 2  # rules, and zones, of which a screen has a sentence each
NOWHERE = {
    "needs_threshold": "nobody knows from which score on it says positive (--threshold T)",
    "not_probabilities": "costs need probabilities, and its scores are none",
    "infinite_scores": "some of its scores are infinite",
}
OTHERS = "to expect on other rows"


def cutting_answer(
    cutoffs: Sequence[Row], abstentions: Sequence[Row], models: Sequence[str]
) -> tuple[Answer, ...]:
    """Say where to cut the best model by each rule, and what leaving rows without an answer does.

    models: the best ones; where none of them has scores, the first model that has.
    """
    return (*_each(cutoffs, models, _cut), *_each(abstentions, models, _zone))


def _each(
    rows: Sequence[Row], models: Sequence[str], say: Callable[[Row], Answer]
) -> Iterator[Answer]:
    whole = [row for row in rows if row["slice"] is None]
    there = [str(row["model"]) for row in whole]
    model = next((one for one in models if one in there), there[0] if there else None)
    mine = [row for row in whole if row["model"] == model]
    for i, row in enumerate(mine[:MOST]):
        said, more = say(row), len(mine) - MOST
        if more > 0 and i == MOST - 1:
            text = f"{said.text[:-1]}; by {many(more, 'more rule')} see below."
            said = replace(said, text=text)
        yield said


def _cut(row: Row) -> Answer:
    """Say which threshold a rule chooses, and what it is worth."""
    model, code = str(row["model"]), "best-cut"
    name, rule = quoted(model), _rule(row)
    honest, value = estimate(row["honest"]), estimate(row["value"])
    measure = str(row["measure"]).partition(":")[0]
    if row["rule"] is None:
        text = f"No threshold of {name} has {rule}."
        if value.reason != UNMET:
            text = f"No threshold of {name} can be chosen by {rule}: it is undefined at each."
        return Answer(code, text, (model,), measure)
    if row["rule"] in (NEVER, ALWAYS):
        answer = "positive" if row["rule"] == ALWAYS else "negative"
        what = f"For {rule} call every row {answer}, whatever {name} says"
    else:
        what = f"Cut {name} at {_at(row['threshold'])} for {rule}"
    title = CATALOG[measure].title
    said = f"{title} {_with(honest)}"
    if honest.value is None:
        text = f"{what}: {title} {_with(value)} on these rows; what it is on others is not known."
        return Answer(code, text, (model,), measure)
    limited = row["limited"]
    if isinstance(limited, Estimate) and limited.value is not None:
        said = f"{_title(row)} {_with(limited)} and {said}"
    text = f"{what}: {said} {OTHERS}, {title} {_with(value)} on these{_wanders(row)}."
    return Answer(code, text, (model,), measure, honest.value, honest.low, honest.high)


def _wanders(row: Row) -> str:
    """Say between which thresholds the rule chooses on tables drawn again."""
    low, high = row["threshold_low"], row["threshold_high"]
    known = row["rule"] not in (NEVER, ALWAYS) and None not in (low, high)
    return f"; drawn again, rows would choose {_at(low)} to {_at(high)}" if known else ""


def _title(row: Row) -> str:
    """Name the measure of the limit."""
    name = str(row["chosen_by"]).partition(">")[0].partition("<")[0].partition(":")[0]
    return CATALOG[name].title


def _rule(row: Row) -> str:
    """Name a rule in a sentence."""
    rule = str(row["chosen_by"])
    for sign, words in ((">=", "from {} up"), ("<=", "up to {}")):
        _, between_, number_ = rule.partition(sign)
        if between_:
            return f"{_title(row)} {words.format(number_)}"
    name, _, settings = rule.partition(":")
    title, best = CATALOG[name].title, "least" if CATALOG[name].best == "min" else "largest"
    return f"the {best} {title}" + f" ({settings.replace(',', ', ')})" * bool(settings)


def _zone(row: Row) -> Answer:
    """Say what is gained where some rows have no answer."""
    model, code = str(row["model"]), "abstention"
    name, accuracy, before = (
        quoted(model), estimate(row["accuracy"]), estimate(row["accuracy_of_all"]),
    )  # fmt: skip
    coverage = estimate(row["coverage"]).value
    if coverage is None or before.value is None:
        why = NOWHERE.get(str(accuracy.reason), "nobody knows where its answers change")
        return Answer(code, f"{name} has an answer for every row: {why}.", (model,))
    costs = str(row["chosen_by"]).startswith("cost")
    if accuracy.value is None:
        text = f"No row of {name} would have an answer."
        return Answer(code, text, (model,))
    if coverage == 1:
        text = f"{name} would answer every row here: no score is nearer than these ask for."
        if costs:
            text = f"By these costs {name} answers every row here: none is so doubtful."
        return Answer(code, text, (model,), "accuracy", accuracy.value, accuracy.low, accuracy.high)
    ends = f"from {_at(row['low'])} up"
    if row["high"] is not None:
        ends = f"from {_at(row['low'])} to below {_at(row['high'])}"
    text = f"Without an answer for {percent(1 - coverage)} % of the rows, scores of {name} {ends}, "
    text += f"accuracy of the rest is {_with(accuracy)}"
    if costs:
        cost, old = (number(float(str(row[key]))) for key in ("cost", "cost_of_all"))
        text += f"; a row here costs {cost} on average, {old} cut at {_at(row['threshold'])}."
    else:
        text += f", of all rows {number(before.value)}."
    return Answer(code, text, (model,), "accuracy", accuracy.value, accuracy.low, accuracy.high)


def _with(one: Estimate) -> str:
    """Write a value with its limits."""
    if one.value is None:
        return "undefined" if one.reason != "infinite" else "infinite"
    return between(one.value, one.low, one.high)


def _at(cut: object) -> str:
    return exact(float(str(cut)))
