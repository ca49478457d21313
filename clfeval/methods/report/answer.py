"""What the report answers: who may be best, how lucky that is, whether to believe and to act."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite

from clfeval.inference.best import POWER, detectable
from clfeval.measures.catalog import CATALOG
from clfeval.methods.report.calibration_verdict import calibration_answer
from clfeval.methods.report.together import Race
from clfeval.result import Answer, Row, estimate, whole
from clfeval.words import between, exact, many, named, number, quoted

SENTENCES, LINES, LINE = 5, 9, 78  # at most, of a screen of 80 columns
SCORED = "roc_auc"  # of models with scores
LABELS = "Labels alone tell nothing of calibration, or of other thresholds."
LEAST = ("resolution", "same-answers")  # what is left out first
LISTED = 6  # models that may be as good, by name
MOST_RANGES = 3  # of risks at which acting helps, listed
FEW, SEEN = 3, 0.0005  # models, and how much luck, from which on it is worth a word


def report_answer(
    models: Sequence[Row], lead: str, race: Race | None, decision: Sequence[Row],
    level: float | None, *, same: Sequence[Sequence[str]] = (), of: str = "labels",
    worth: Race | None = None, tests: Sequence[Row] = (),
) -> tuple[Answer, ...]:  # fmt: skip
    """Say it in at most five sentences: best, luck, twins, probabilities, decisions, limits.

    same: models whose labels, or `of` what, are alike in every row. worth: who has the largest net
    benefit at one threshold. tests: the table of calibration tests.
    """
    ranked = _ranked(models, lead)
    if not ranked:
        text = f"{CATALOG[lead].title} is undefined for every model: a class has no row."
        return (Answer("no-leader", text),)
    best = str(ranked[0]["model"])
    said = [_best(ranked, lead, race, level)]
    if race is not None and len(race.models) >= FEW and race.found.optimism >= SEEN:
        said.append(_luck(ranked[0], lead, race))
    said += _twins(same, of)
    if not any(SCORED in row for row in models):
        said.append(Answer("labels-only", LABELS))
    said += calibration_answer(ranked, race, tests, level)
    said += _worth(ranked, worth)
    said += _helps(best, whole(decision), level)
    said += _cannot_tell(race, lead, level)
    return at_most(said)


def at_most(said: Sequence[Answer]) -> tuple[Answer, ...]:
    """Leave out what matters least, where there is more to say than people read."""
    left = list(said)
    for code in LEAST:
        if len(left) > SENTENCES or sum(ceil(len(one.text) / LINE) for one in left) > LINES:
            left = [one for one in left if one.code != code]
    return tuple(left[:SENTENCES])


def _ranked(rows: Sequence[Row], name: str) -> list[Row]:
    """Sort models by a measure, the best first; those without it are left out."""
    sign = -1 if CATALOG[name].best == "max" else 1
    there = [row for row in rows if estimate(row.get(name)).value is not None]
    return sorted(there, key=lambda row: sign * (estimate(row[name]).value or 0.0))


def _best(ranked: Sequence[Row], lead: str, race: Race | None, level: float | None) -> Answer:
    """Name the model with the best value, and those that may be as good."""
    top = estimate(ranked[0][lead])
    value, title = top.value or 0.0, CATALOG[lead].title
    leaders = [str(row["model"]) for row in ranked if estimate(row[lead]).value == value]
    has = "has" if len(leaders) == 1 else "have"
    said = between(value, top.low, top.high)
    first = f"{named(leaders)} {has} the largest {title}, {said}"
    if len(ranked) == 1:
        first = f"{named(leaders)} has {title} {said}"
        return Answer("best", f"{first}.", tuple(leaders), lead, value, top.low, top.high)
    if len(leaders) == len(ranked):
        first = f"No model has a larger {title} than another: {said} each"
    if race is None:
        why = "no intervals are computed" if level is None else "their rows may differ"
        more = f"whether that is chance is not tested: {why}"
    else:
        order, may_be = [str(row["model"]) for row in ranked], race.may_be_best
        others = [name for name in order if may_be.get(name) and name not in leaders]
        more = f"{named(others, most=LISTED)} may be the best as well" if others else (
            "no other model may be the best" if len(leaders) < len(ranked) else "")  # fmt: skip
        if len(others) == len(ranked) - len(leaders) > FEW:
            more = f"any of the {len(others):,} others may be the best as well"
    text = f"{first}; {more}." if more else f"{first}."
    return Answer("best", text, tuple(leaders), lead, value, top.low, top.high)


def _twins(same: Sequence[Sequence[str]], of: str) -> list[Answer]:
    """Say which models give the same answers in every row."""
    if not same:
        return []
    text = f"{named(same[0], most=LISTED)} give the same {of} in every row"
    text += f", as do {named(same[1], most=LISTED)} among themselves" if len(same) > 1 else ""
    text += f" and {many(len(same) - 2, 'more such group')}" if len(same) > 2 else ""
    return [Answer("same-answers", f"{text}.", tuple(name for some in same for name in some))]


def _luck(first: Row, lead: str, race: Race) -> Answer:
    """Say how much of the winner's value is luck of the best of so many on the same rows.

    A limit that nothing lies above, as that of a model without an error, stays where it is.
    """
    top, luck = estimate(first[lead]), race.found.optimism
    was = top.value or 0.0
    value = was - luck
    low = None if top.low is None else max(top.low - luck, CATALOG[lead].low)
    high = top.high
    if high is not None and high - was >= SEEN:
        high -= luck
    count = len(race.models)
    text = f"Luck of the best of {count} on the same rows is {number(luck)}: expect "
    text += f"{between(value, low, high)}."
    return Answer("luck", text, (str(first["model"]),), lead, value, low, high)


def _worth(ranked: Sequence[Row], worth: Race | None) -> list[Answer]:
    """Say at the threshold in force whose net benefit surely is larger than the best model's."""
    best = str(ranked[0]["model"])
    if worth is None or worth.may_be_best.get(best, True):
        return []
    most = worth.models[worth.found.winner]
    row = next(row for row in ranked if row["model"] == most)
    one, own = estimate(row["net_benefit"]), estimate(ranked[0]["net_benefit"]).value or 0.0
    value, at = between(one.value or 0.0, one.low, one.high), exact(float(str(row["threshold"])))
    text = f"At threshold {at} the net benefit of {quoted(best)}, {number(own)}, surely is not the "
    text += f"largest: {quoted(most)} has {value}."
    return [Answer("worth", text, (most,), "net_benefit", one.value, one.low, one.high)]


def _helps(best: str, decision: Sequence[Row], level: float | None) -> list[Answer]:
    """Say at which threshold probabilities acting on the model beats treating all and none.

    What is said holds for all of them together; ends are those of one range without a gap.
    """
    mine = [row for row in decision if row["model"] == best]
    if not mine or level is None:
        return []
    at = [float(str(row["threshold"])) for row in mine if row["helps"]]
    name = quoted(best)
    if not at:
        text = (
            f"At no threshold of risk is acting on {name} surely better than treating all and none."
        )
        return [Answer("helps-nowhere", text, (best,), "net_benefit")]
    ranges = _ranges(at)
    said = [f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in ranges]
    more = len(ranges) - MOST_RANGES
    shown = " and ".join(said[:MOST_RANGES]) + (f" and {many(more, 'more range')}" * (more > 0))
    text = f"Acting on {name} beats treating all and treating none at risks of {shown}."
    ends = ranges[0] if len(ranges) == 1 else (None, None)
    return [Answer("helps", text, (best,), "net_benefit", None, *ends)]


def _ranges(at: Sequence[float]) -> list[tuple[float, float]]:
    """Join neighbouring hundredths; one that is missing parts two ranges."""
    found: list[tuple[float, float]] = []
    for t in at:
        if found and t - found[-1][1] < 0.0101:
            found[-1] = found[-1][0], t
        else:
            found.append((t, t))
    return found


def _cannot_tell(race: Race | None, lead: str, level: float | None) -> list[Answer]:
    """Say which difference from the next best model is too small to be seen in this table."""
    if race is None or level is None or sum(race.may_be_best.values()) == 1:
        return []  # where one is surely the best, the question has its answer
    least = detectable(race.found.error, level=level, df=race.df)
    if not (isfinite(least) and least):
        return []
    pair = [race.models[place] for place in (race.found.winner, race.found.second)]
    measure = CATALOG[lead]
    text = (
        f"Between {named(pair)} a difference of {measure.title} of {number(least)} would be seen "
        f"with power {POWER:g}, a smaller one less often."
    )
    if least >= measure.high - measure.low:
        text = f"So few rows hardly show any difference of {measure.title} between {named(pair)}."
    return [Answer("resolution", text, (), lead, least)]
