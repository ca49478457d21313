"""What follows from a chosen threshold for 1,000 people: flagged, detected, net benefit."""

from __future__ import annotations

from clfeval.document import Answer
from clfeval.document.cells import Row, as_estimate, cell_number
from clfeval.formatting import format_close, quote_if_ambiguous
from clfeval.methods.other_prevalences import net_benefit_clause, prevalence_phrase

PEOPLE = 1_000  # as many as the rows of `alarms`
LEAST_POSITIVES = 10  # among the people of a sentence
MANY_ALARMS = 10  # per case; from here on without decimals


def consequence_answer(row: Row) -> Answer:
    """Return the sentence on people flagged and cases detected; row: of `prevalence_rows`."""
    model = row["model"]
    names = ("ppv", "sensitivity", "alarms", "alarms_per_case")
    estimates = [as_estimate(row[column]) for column in names]
    ppv, sensitivity, alarms, alarms_per_case = estimates
    phrase = prevalence_phrase(row)
    if ppv.value is None or alarms.value is None or sensitivity.value is None:
        text = f"{phrase}, {quote_if_ambiguous(model)} predicts no positives: PPV is undefined."
        return Answer("at-prevalence", text, (model,), "ppv")
    prevalence = cell_number(row["prevalence"])
    people = _population_size(prevalence)
    positives = people * prevalence
    flagged_text = _format_people(alarms.value * people / PEOPLE)
    detected_text = _format_people(sensitivity.value * positives)
    text = f"{phrase}, of {people:,} people {flagged_text} are flagged and {detected_text} of the "
    text += f"{round(positives):,} positives are "
    text += "detected"
    if alarms_per_case.value is not None:
        text += f": {_format_alarms(alarms_per_case.value)} alarms per case"
    text += net_benefit_clause(row)
    return Answer("at-prevalence", f"{text}.", (model,), "ppv", ppv.value, ppv.low, ppv.high)


def _population_size(prevalence: float) -> int:
    """Return 1,000, or the power of ten from which on 10 people are positive."""
    people = PEOPLE
    while people * prevalence < LEAST_POSITIVES - 0.5:
        people *= 10
    return people


def _format_people(people: float) -> str:
    """Write a number of people, with a decimal where a whole number has one digit."""
    return f"{round(people):,}" if people >= LEAST_POSITIVES - 0.05 else f"{round(people, 1):g}"


def _format_alarms(per_case: float) -> str:
    """Write a number of alarms per case with about two digits."""
    return f"{round(per_case):,}" if per_case >= MANY_ALARMS else format_close(per_case, 1)
