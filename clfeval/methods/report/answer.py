"""What the report answers: the best and tied models, calibration, net benefit."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from clfeval.compare.families import POWER, BestSet, detectable
from clfeval.document import Answer, Row, at_most, estimate, whole
from clfeval.lazy import where
from clfeval.measures.catalog import CATALOG
from clfeval.methods.report.calibration_verdict import TIED, calibration_answer
from clfeval.words import exact, interval, many, named, number, quoted, ties

SCORED = "roc_auc"  # of models with scores
LABELS = "Labels show neither calibration nor performance at other thresholds."
LISTED = 6  # identical models, by name
MOST_RANGES = 3  # of thresholds at which net benefit is higher, listed
FEW, SEEN = 3, 0.0005  # models, or sentences, and how much optimism, from which on it is said


def report_answer(
    models: Sequence[Row], lead: str, tested: BestSet | None, decision: Sequence[Row],
    level: float | None, *, same: Sequence[Sequence[str]] = (), of: str = "labels",
    worth: BestSet | None = None, tests: Sequence[Row] = (), untested: str = "",
) -> tuple[Answer, ...]:  # fmt: skip
    """Return at most five sentences: best model, corrected value, calibration, net benefit.

    same: models with equal labels, or `of` what. worth: the best by net benefit at one threshold.
    tests: the table of calibration tests.
    """
    ranked = _ranked(models, lead)
    if not ranked:
        text = f"{CATALOG[lead].title} is undefined for every model: a class has no row."
        return (Answer("no-leader", text),)
    best = str(ranked[0]["model"])
    said = [_best(ranked, lead, tested, level, untested)]
    if tested is not None and len(tested.models) >= FEW and tested.optimism >= SEEN:
        said.append(_corrected(ranked[0], lead, tested))
    said += _twins(same, of)
    if not any(SCORED in row for row in models):
        said.append(Answer("labels-only", LABELS))
    said += calibration_answer(ranked, tested, tests, level)
    said += _worth(ranked, worth)
    its = said[-1].code == "probabilities" and TIED not in said[-1].text
    said += _helps(best, whole(decision), level, its=its)
    if len(said) <= FEW:
        said += _detectable(tested, lead, level)
    elif len(said) > FEW + 1:  # what matters least is left out
        said = [one for one in said if one.code != "same-predictions"]
    return at_most(said)


def _ranked(rows: Sequence[Row], name: str) -> list[Row]:
    """Sort models by a measure, the best first; those without it are left out."""
    sign = -1 if CATALOG[name].best == "max" else 1
    there = [row for row in rows if estimate(row.get(name)).value is not None]
    return sorted(there, key=lambda row: sign * (estimate(row[name]).value or 0.0))


def _best(
    ranked: Sequence[Row], lead: str, tested: BestSet | None, level: float | None, untested: str
) -> Answer:
    """Name the best model and those not significantly different; untested: why not compared."""
    top = estimate(ranked[0][lead])
    value, title = top.value or 0.0, CATALOG[lead].title
    leaders = [str(row["model"]) for row in ranked if estimate(row[lead]).value == value]
    size = interval(value, top.low, top.high, level or 0.95)
    has = "has" if len(leaders) == 1 else "have"
    first, more = f"{named(leaders)} {has} the highest {title}: {size}.", ""
    if len(ranked) == 1:
        first = f"{named(leaders)} has {title} {size}."
    elif len(leaders) == len(ranked):
        first = f"All models have the same {title}: {size}."
    elif tested is None:
        more = untested
    else:
        known, order = tested.ties, [str(row["model"]) for row in ranked[len(leaders) :]]
        worse = [name for name in order if not known.get(name, True)]
        more = ties([name for name in order if name not in worse], worse)
    text = f"{first} {more}".rstrip()
    return Answer("best", text, tuple(leaders), lead, value, top.low, top.high)


def _twins(same: Sequence[Sequence[str]], of: str) -> list[Answer]:
    """Say which models give the same predictions in every row."""
    if not same:
        return []
    text = f"{named(same[0], most=LISTED)} have identical {of}"
    text += f"; so have {named(same[1], most=LISTED)}" if len(same) > 1 else ""
    text += f" and {many(len(same) - 2, 'more group')} of models" if len(same) > 2 else ""
    return [Answer("same-predictions", f"{text}.", tuple(name for some in same for name in some))]


def _corrected(first: Row, lead: str, tested: BestSet) -> Answer:
    """Return the sentence on the best value corrected for selection bias; limits of 1 stay."""
    top, bias = estimate(first[lead]), tested.optimism
    was = top.value or 0.0
    value = was - bias
    low = None if top.low is None else max(top.low - bias, CATALOG[lead].low)
    high = top.high
    if high is not None and high - was >= SEEN:
        high -= bias
    name, title = str(first["model"]), CATALOG[lead].title
    text = f"Corrected for selection, the {title} of {quoted(name)} is {number(value)}."
    return Answer("corrected", text, (name,), lead, value, low, high)


def _worth(ranked: Sequence[Row], worth: BestSet | None) -> list[Answer]:
    """Say at the threshold in force whose net benefit is significantly higher than the leader's."""
    best = str(ranked[0]["model"])
    if worth is None or worth.ties.get(best, True):
        return []
    most = worth.models[worth.leader]
    row = next(row for row in ranked if row["model"] == most)
    one, own = estimate(row["net_benefit"]), estimate(ranked[0]["net_benefit"]).value or 0.0
    value, at = interval(one.value or 0.0, one.low, one.high), exact(float(str(row["threshold"])))
    text = f"At threshold {at}, {quoted(most)} has significantly higher net benefit than "
    text += f"{quoted(best)}: {value} compared with {number(own)}."
    return [Answer("worth", text, (most,), "net_benefit", one.value, one.low, one.high)]


def _helps(
    best: str, decision: Sequence[Row], level: float | None, *, its: bool
) -> list[Answer]:  # fmt: skip
    """Say at which thresholds net benefit is significantly higher than treat-all and treat-none.

    Simultaneously for all thresholds of one range. its: the sentence before has the same subject.
    """
    mine = where(decision, "model", best)
    if not mine or level is None:
        return []
    at = [float(str(row["threshold"])) for row in mine if row["helps"]]
    what = "its net benefit" if its else f"the net benefit of {quoted(best)}"
    if not at:
        text = f"At no threshold does {what} significantly exceed treat-all and treat-none."
        return [Answer("helps-nowhere", text, (best,), "net_benefit")]
    ranges = _ranges(at)
    said = [f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in ranges]
    more = len(ranges) - MOST_RANGES
    shown = " and ".join(said[:MOST_RANGES]) + (f" and {many(more, 'more range')}" * (more > 0))
    text = f"{what[0].upper()}{what[1:]} exceeds treat-all and treat-none at "
    text += f"threshold{'s' * (len(at) > 1)} {shown}."
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


def _detectable(tested: BestSet | None, lead: str, level: float | None) -> list[Answer]:
    """Say which difference from the next best model this table can detect."""
    if tested is None or level is None or tested.tied.sum() == 1:
        return []  # where one is significantly the best, the question has its answer
    least = float(detectable(tested.error, level=level, df=tested.df))
    if not (isfinite(least) and least):
        return []
    pair = [tested.models[place] for place in (tested.leader, tested.second)]
    measure = CATALOG[lead]
    text = f"A difference in {measure.title} of {number(least)} between {named(pair)} is "
    text += f"detected with power {POWER:g}."
    if least >= measure.high - measure.low:
        text = f"{named(pair)} cannot be compared by {measure.title}: there are too few rows."
    return [Answer("resolution", text, (), lead, least)]
