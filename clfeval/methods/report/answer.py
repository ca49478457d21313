"""What the report answers: who may be best, how lucky that is, whether to believe and to act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb, isfinite

from clfeval.compare.families import POWER, BestSet, detectable
from clfeval.measures.catalog import CATALOG
from clfeval.result import Answer, Estimate, Row, at_most, estimate, whole
from clfeval.words import between, exact, interval, many, named, number, quoted, ties

VAGUE = (0.5, 1.5)  # a slope that may be less, and more, is not known
CLOSE = 0.1  # of a slope from 1, of log odds on average from 0: it hardly matters
SURE = "overconfidence"  # of several classes
HARDLY, UNSURE = 0.02, 0.2  # so much of it hardly matters; an interval so wide tells little
SCORED = "roc_auc"  # of models with scores
LABELS = "Labels alone tell nothing of calibration, or of other thresholds."
LISTED = 6  # models that may be as good, by name
MOST_RANGES = 3  # of risks at which acting helps, listed
FEW, SEEN = 3, 0.0005  # models, and how much luck, from which on it is worth a word


def report_answer(
    models: Sequence[Row], lead: str, tested: BestSet | None, decision: Sequence[Row],
    level: float | None, lost: Mapping[str, float] | None = None, *,
    same: Sequence[Sequence[str]] = (), of: str = "labels", worth: BestSet | None = None,
    bins: Sequence[Row] = (), untested: str = "",
) -> tuple[Answer, ...]:  # fmt: skip
    """Say it in at most five sentences: best, corrected, twins, probabilities, decisions, limits.

    lost: how many rows of each model had probability 0 for what they are. same: models whose
    labels, or `of` what, are alike in every row. worth: who has the largest net benefit at one
    threshold. bins: the table of calibration.
    """
    ranked = _ranked(models, lead)
    if not ranked:
        text = f"{CATALOG[lead].title} is undefined for every model: a class has no row."
        return (Answer("no-leader", text),)
    best = str(ranked[0]["model"])
    said = [_best(ranked, lead, tested, level, untested)]
    if tested is not None and len(tested.models) >= FEW and tested.optimism >= SEEN:
        said.append(_corrected(ranked[0], lead, tested, level))
    said += _twins(same, of)
    if not any(SCORED in row for row in models):
        said.append(Answer("labels-only", LABELS))
    said += _sure(ranked[0])
    said += _believable(ranked, tested, {} if lost is None else lost, whole(bins), level)
    said += _worth(ranked, worth)
    said += _helps(best, whole(decision), level)
    said += _detectable(tested, lead, level)
    return at_most(said)


def _ranked(rows: Sequence[Row], name: str) -> list[Row]:
    """Sort models by a measure, the best first; those without it are left out."""
    sign = -1 if CATALOG[name].best == "max" else 1
    there = [row for row in rows if estimate(row.get(name)).value is not None]
    return sorted(there, key=lambda row: sign * (estimate(row[name]).value or 0.0))


def _best(
    ranked: Sequence[Row], lead: str, tested: BestSet | None, level: float | None, untested: str
) -> Answer:
    """Name the model with the best value, and those that are not significantly different.

    untested: why nobody is compared with the best, where that is so.
    """
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
    """Say which models give the same answers in every row."""
    if not same:
        return []
    text = f"{named(same[0], most=LISTED)} give the same {of} in every row"
    text += f", as do {named(same[1], most=LISTED)} among themselves" if len(same) > 1 else ""
    text += f" and {many(len(same) - 2, 'more such group')}" if len(same) > 2 else ""
    return [Answer("same-answers", f"{text}.", tuple(name for some in same for name in some))]


def _corrected(first: Row, lead: str, tested: BestSet, level: float | None) -> Answer:
    """Say the winner's value corrected for the selection of the best of several.

    A limit that nothing lies above, as that of a model without an error, stays where it is.
    """
    top, bias = estimate(first[lead]), tested.optimism
    was = top.value or 0.0
    value = was - bias
    low = None if top.low is None else max(top.low - bias, CATALOG[lead].low)
    high = top.high
    if high is not None and high - was >= SEEN:
        high -= bias
    text = f"Corrected for choosing the best of {len(tested.models)}, its {CATALOG[lead].title} is "
    text += f"{interval(value, low, high, level or 0.95)}."
    return Answer("corrected", text, (str(first["model"]),), lead, value, low, high)


def _believable(
    ranked: Sequence[Row], tested: BestSet | None, lost: Mapping[str, float], bins: Sequence[Row],
    level: float | None,
) -> list[Answer]:  # fmt: skip
    """Say whether the probabilities of the best model can be believed: Cox's slope and level.

    Also whose cannot of those that may be the best as well.
    """
    slope = estimate(ranked[0].get("calibration_slope"))
    first, wrong = str(ranked[0]["model"]), _wrong(ranked[0])
    if slope.reason == "separation":
        return [_no_slope(ranked[0], wrong)]
    if slope.value is None or estimate(ranked[0].get("calibration_in_the_large")).value is None:
        return []
    facts, name, off = _facts(ranked[0]), quoted(first), _off(first, bins, level)
    vague = slope.low is not None and slope.low < VAGUE[0] and (slope.high or 0.0) > VAGUE[1]
    if slope.value < 0 and _outside(slope, 0):
        text = f"{name} ranks the wrong way round: higher scores are positive less often ({facts})"
    elif never := lost.get(first):
        rows = many(never, "row")
        text = f"The probabilities of {name} cannot be taken as they are: {rows} had probability 0"
        text += f" for what came true ({facts})"
    elif slope.low is None:
        text = f"{name}: {facts}; whether its probabilities can be believed is not tested"
    elif wrong and _close(ranked[0]):
        text = f"The probabilities of {name} are close to what came, if slightly {wrong} ({facts})"
    elif wrong:
        text = f"The probabilities of {name} cannot be taken as they are: {wrong} ({facts})"
    elif vague:
        text = f"So few rows cannot tell whether to believe the probabilities of {name} ({facts})"
    elif off:
        text = f"The probabilities of {name} cannot be taken as they are: level and slope fit "
        text += f"({facts}), but not what came in {off} of its rows (--show calibration)"
    else:
        text = f"Nothing here speaks against the probabilities of {name} ({facts})"
    may = {} if tested is None else tested.ties
    others = [row for row in ranked[1:] if may.get(str(row["model"]))]
    if wrong and not _close(ranked[0]):
        some = [str(row["model"]) for row in others if _fits(row, bins, level, lost)]
        text += f"; nothing here speaks against those of {named(some)}" if some else ""
    elif not wrong:
        some = [str(row["model"]) for row in others if _wrong(row) and not _close(row)]
        text += f"; those of {named(some)} cannot be taken as they are" if some else ""
    return [Answer("probabilities", f"{text}.", (first,), "calibration_slope",
                   slope.value, slope.low, slope.high)]  # fmt: skip


def _sure(row: Row) -> list[Answer]:
    """Say of several classes whether the best model is as sure of its answers as it is right."""
    found, name = estimate(row.get(SURE)), quoted(str(row["model"]))
    if found.value is None:
        return []
    fact = f"overconfidence {between(found.value, found.low, found.high)}"
    if found.low is None or found.high is None:
        text = f"{name}: {fact}; whether its probabilities can be believed is not tested"
    elif _outside(found, 0) and max(-found.low, found.high) <= HARDLY:
        text = f"{name} is about as sure of its answers as it is right ({fact})"
    elif _outside(found, 0):
        how = "too sure" if found.value > 0 else "not sure enough"
        text = f"The probabilities of {name} cannot be taken as they are: it is {how} of its "
        text += f"answers ({fact})"
    elif found.high - found.low > UNSURE:
        text = f"So few rows cannot tell whether {name} is as sure of its answers as right ({fact})"
    else:
        text = f"Nothing here speaks against how sure {name} is of its answers ({fact})"
    return [Answer("probabilities", f"{text}.", (str(row["model"]),), SURE,
                   found.value, found.low, found.high)]  # fmt: skip


def _facts(row: Row) -> str:
    """Write the slope, or the level where that alone is wrong."""
    slope, level = (estimate(row[f"calibration_{name}"]) for name in ("slope", "in_the_large"))
    if _outside(level, 0) and not _outside(slope, 1):
        return f"in the large {between(level.value or 0.0, level.low, level.high)}"
    return f"slope {between(slope.value or 0.0, slope.low, slope.high)}"


def _fits(row: Row, bins: Sequence[Row], level: float | None, lost: Mapping[str, float]) -> bool:
    """Tell whether slope, level and every tenth of the rows were tested, and are as they should."""
    slope, name = estimate(row.get("calibration_slope")), str(row["model"])
    tested = slope.low is not None and slope.low >= VAGUE[0] and (slope.high or 0.0) <= VAGUE[1]
    return tested and not (_wrong(row) or lost.get(name) or _off(name, bins, level))


def _off(model: str, bins: Sequence[Row], level: float | None) -> str:
    """Say in how many tenths of the rows what came is surely not what was given; or nothing.

    In so many that it is no chance: of b bins with limits of their own more than would be off in
    a share 1 - level of tables.
    """
    mine = [(estimate(row["observed"]), row["mean_score"]) for row in bins if row["model"] == model]
    if level is None:
        return ""
    off = sum(_outside(one, float(str(mean))) for one, mean in mine)
    b, p = len(mine), 1 - level
    chance = sum(comb(b, i) * p**i * (1 - p) ** (b - i) for i in range(off, b + 1))
    return f"{off} of {b} parts" if off and chance < p else ""


def _no_slope(row: Row, wrong: str) -> Answer:
    """Say why nothing is known of the slope: all scores are one, or they part the classes."""
    name, area = quoted(str(row["model"])), estimate(row["roc_auc"]).value
    if area == 0.5:  # where they part the classes more pairs are in one order than in the other
        text = f"{name} gives every row the same score: no slope tells whether to believe its "
        text += "probabilities"
    else:
        how = {1.0: "they part the classes", 0.0: "they part the classes, the wrong way round"}
        what = how.get(area or 0.0, "they part the classes, ties aside, or hardly differ")
        text = f"No slope tells whether to believe the probabilities of {name}: {what}"
    text += f"; they are {wrong}" if wrong else ""
    return Answer("probabilities", f"{text}.", (str(row["model"]),), "calibration_slope")


def _wrong(row: Row) -> str:
    """Say what is wrong with the probabilities of a model; nothing where nothing is sure."""
    slope = estimate(row.get("calibration_slope"))
    level = estimate(row.get("calibration_in_the_large"))
    wrong = []
    if slope.value is not None and _outside(slope, 1):
        wrong.append("too extreme" if slope.value < 1 else "not extreme enough")
    if level.value is not None and _outside(level, 0):
        wrong.append("too low on average" if level.value > 0 else "too high on average")
    return " and ".join(wrong)


def _close(row: Row) -> bool:
    """Tell whether slope and level lie so near the ideal that it hardly matters."""
    slope, level = (estimate(row.get(f"calibration_{name}")) for name in ("slope", "in_the_large"))
    ends = [abs(end - 1) for end in (slope.low, slope.high) if end is not None]
    ends += [abs(end) for end in (level.low, level.high) if end is not None]
    return len(ends) == 4 and max(ends) <= CLOSE


def _outside(one: Estimate, ideal: float) -> bool:
    """Tell whether an interval excludes the ideal value."""
    return (one.low is not None and one.low > ideal) or (one.high is not None and one.high < ideal)


def _worth(ranked: Sequence[Row], worth: BestSet | None) -> list[Answer]:
    """Say at the threshold in force whose net benefit is significantly higher than the leader's."""
    best = str(ranked[0]["model"])
    if worth is None or worth.ties.get(best, True):
        return []
    most = worth.models[worth.leader]
    row = next(row for row in ranked if row["model"] == most)
    one, own = estimate(row["net_benefit"]), estimate(ranked[0]["net_benefit"]).value or 0.0
    value, at = interval(one.value or 0.0, one.low, one.high), exact(float(str(row["threshold"])))
    text = f"At threshold {at} {quoted(most)} has significantly higher net benefit than "
    text += f"{quoted(best)}: {value} compared with {number(own)}."
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


def _detectable(tested: BestSet | None, lead: str, level: float | None) -> list[Answer]:
    """Say which difference from the next best model this table can detect."""
    if tested is None or level is None or tested.tied.sum() == 1:
        return []  # where one is significantly the best, the question has its answer
    least = detectable(tested.error, level=level, df=tested.df)
    if not (isfinite(least) and least):
        return []
    pair = [tested.models[place] for place in (tested.leader, tested.second)]
    measure = CATALOG[lead]
    text = f"A difference in {measure.title} of {number(least)} between {named(pair)} would be "
    text += f"detected with power {POWER:g}."
    if least >= measure.high - measure.low:
        text = f"These rows are too few to compare {named(pair)} by {measure.title}."
    return [Answer("resolution", text, (), lead, least)]
