"""Whether the best model is calibrated, and the models tied with it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from clfeval.compare.families import BestSet
from clfeval.document import Answer, Estimate, Row, estimate, value_of
from clfeval.words import many, named, number, quoted

SLOPE, LEVEL, SURE = "calibration_slope", "calibration_in_the_large", "overconfidence"
GROSS = (0.5, 2.0)  # slopes from which on, and up to which, probabilities are grossly wrong
CLOSE = 0.1  # of a slope from 1, of log odds on average from 0: it hardly matters
HARDLY, WIDE = 0.02, 0.2  # so much of a share hardly matters; an interval so wide tells little
MISCALIBRATED = "{} is miscalibrated: {}"
SLIGHTLY = "{} is miscalibrated, but only slightly: {}"
WELL = "{} is well calibrated"
TIED = ", tied with it,"
FEW = "There are too few rows to assess the calibration of {}"
UNSURE = "{} is not significantly miscalibrated"
UNKNOWN = "The calibration of {} is unknown"
BACKWARDS = "{} ranks in reverse: rows with higher scores are less often positive"


def calibration_answer(
    ranked: Sequence[Row], tested: BestSet | None, tests: Sequence[Row], level: float | None
) -> list[Answer]:
    """Return sentences on the calibration of the best model and of those tied with it."""
    verdict, text, measure = _verdict(ranked[0], tests, level)
    if not verdict:
        return []
    ties = {} if tested is None else tested.ties
    wanted = WELL if verdict == MISCALIBRATED else MISCALIBRATED
    lost = {str(row["model"]) for row in tests if value_of(row.get("contradicted"))}
    others = [  # a note names those that gave probability 0 to observed outcomes
        str(row["model"]) for row in ranked[1:] if row["model"] not in lost
        if ties.get(str(row["model"])) and _verdict(row, tests, level)[0] == wanted
    ]  # fmt: skip
    if others:
        how = "well calibrated" if wanted == WELL else "miscalibrated"
        text += f"; {named(others)}{TIED} {'is' if len(others) == 1 else 'are'} {how}"
    one = estimate(ranked[0][measure])
    return [Answer("probabilities", f"{text}.", (str(ranked[0]["model"]),), measure,
                   one.value, one.low, one.high)]  # fmt: skip


def _verdict(row: Row, tests: Sequence[Row], level: float | None) -> tuple[str, str, str]:
    """Return the verdict on a model, the sentence, and its measure, or empty strings.

    Miscalibrated: a row has a class of probability 0, or p, adjusted for both tests and all models,
    is below 1 - level; slightly so where no fault is large. Well calibrated: intervals contain the
    ideal and exclude a large fault.
    """
    over, slope, shift = (estimate(row.get(name)) for name in (SURE, SLOPE, LEVEL))
    if over.value is not None:
        measure, fact = SURE, _stated(SURE, over, level)
        faults = _faults(over, 0, "underconfident", "overconfident")
        close, narrow = _reach(over, 0) <= HARDLY, (over.high or inf) - (over.low or -inf) <= WIDE
    elif slope.value is None and slope.reason != "separation":
        return "", "", ""
    else:
        measure, fact = SLOPE, _stated("slope", slope, level)
        faults = _faults(slope, 1, "too extreme", "not extreme enough")
        average = _faults(shift, 0, "too high on average", "too low on average")
        if average and not faults:
            fact = _stated("calibration-in-the-large", shift, level)
        if slope.value is None:
            area = estimate(row["roc_auc"]).value
            fact = f"slope undefined: {_undefined(area, shift)}"
            faults = ["not extreme enough"] * (area == 1)
        faults += average
        close = max(_reach(slope, 1), _reach(shift, 0)) <= CLOSE
        narrow = GROSS[0] <= (slope.low or 0.0) and (slope.high or inf) <= GROSS[1]
    verdict, fault = UNKNOWN, f"its probabilities are {' and '.join(faults)}" if faults else ""
    test = next((one for one in reversed(tests) if one["model"] == row["model"]), {})
    p, lost = value_of(test.get("p_adjusted")), value_of(test.get("contradicted"))
    if lost or (p is not None and level is not None and p < 1 - level):
        gap, off = (value_of(test[key]) or 0.0 for key in ("largest_gap", "groups_off"))
        verdict = SLIGHTLY if close and gap <= HARDLY and not lost else MISCALIBRATED
        if lost:
            what = "0 for the observed outcome" if over.value is None else "1 for another class"
            zero = f"{many(lost, 'row')} had probability {what}"
            fault = f"{fault}, and {zero}" if fault else zero
        elif not fault and off:
            fault = "the share of positives deviates from the mean score in "
            fault += f"{many(off, 'score group')} by up to {number(gap)}"
        fault = fault or "slope and intercept jointly differ from 1 and 0"
    elif p is not None and level is not None and estimate(row.get(measure)).value is not None:
        verdict = UNSURE if faults else WELL if narrow else FEW
    text = BACKWARDS if _faults(slope, 0, "backwards", "") == ["backwards"] else verdict
    if text == UNSURE:
        fact = f"adjusted p = {number(p or 0.0)}; {fact.replace(', ', ', unadjusted ')}"
    return verdict, f"{text.format(quoted(str(row['model'])), fault)} ({fact})", measure


def _undefined(area: float | None, shift: Estimate) -> str:
    """Say why there is no slope."""
    if shift.value is None:
        return "nearly all scores are 0 or 1"
    why = {0.5: "all scores are equal", 1.0: "scores separate the classes",
           0.0: "scores separate the classes in reverse"}  # fmt: skip
    return why.get(area or 0.0, "scores between 0 and 1 nearly separate the classes")


def _stated(name: str, one: Estimate, level: float | None) -> str:
    """Write a measure with its confidence interval, where there is one."""
    text = f"{name} {number(one.value or 0.0)}"
    if level is None or one.low is None or one.high is None:
        return text
    return f"{text}, {100 * level:g}% CI {number(one.low)} to {number(one.high)}"


def _faults(one: Estimate, ideal: float, below: str, above: str) -> list[str]:
    """Return what a value is whose interval excludes the ideal."""
    if one.high is not None and one.high < ideal:
        return [below]
    return [above] if one.low is not None and one.low > ideal else []


def _reach(one: Estimate, ideal: float) -> float:
    """Return how far from the ideal the farther limit is; infinite where one is unknown."""
    return max(inf if end is None else abs(end - ideal) for end in (one.low, one.high))
