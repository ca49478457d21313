"""Whether the probabilities of the best model are calibrated, and those of models tied with it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from clfeval.methods.report.together import Race
from clfeval.result import Answer, Estimate, Row, estimate, value_of
from clfeval.words import many, named, number, quoted

SLOPE, LEVEL, SURE = "calibration_slope", "calibration_in_the_large", "overconfidence"
GROSS = (0.5, 2.0)  # slopes from which on, and up to which, probabilities are grossly wrong
CLOSE = 0.1  # of a slope from 1, of log odds on average from 0: it hardly matters
HARDLY, WIDE = 0.02, 0.2  # so much of a share hardly matters; an interval so wide tells little
MISCALIBRATED = "The probabilities of {} are miscalibrated: {}"
SLIGHTLY = "The probabilities of {} are slightly miscalibrated, which hardly matters: {}"
WELL = "The probabilities of {} are well calibrated"
FEW = "The rows are too few to tell whether the probabilities of {} are well calibrated"
UNSURE = "No miscalibration of {} is significant after adjusting for both tests and all models"
UNKNOWN = "It is unknown whether the probabilities of {} are well calibrated"
BACKWARDS = "{} ranks the wrong way round: higher scores are positive less often"


class CalibrationEstimate(NamedTuple):
    """The slope of a model, or its overconfidence, in words too.

    faults: what intervals say is wrong. close: they exclude what would matter; narrow: gross
    faults. backwards: the slope is below 0.
    """

    measure: str
    value: Estimate
    text: str
    faults: list[str]
    close: bool
    narrow: bool
    backwards: bool = False


def calibration_answer(
    ranked: Sequence[Row], race: Race | None, tests: Sequence[Row], level: float | None
) -> list[Answer]:
    """Say whether the probabilities of the best model are calibrated.

    Also which are, of the models tied with it, where its own are not, or else which are not.
    """
    found = _estimated(ranked[0], level)
    if found is None:
        return []
    verdict, text = _verdict(ranked[0], found, tests, level)
    may = {} if race is None else race.may_be_best
    wanted = WELL if verdict == MISCALIBRATED else MISCALIBRATED
    tied = [row for row in ranked[1:] if may.get(str(row["model"]))]
    same = [
        str(row["model"]) for row in tied
        if (one := _estimated(row, level)) and _verdict(row, one, tests, level)[0] == wanted
    ]  # fmt: skip
    text += f" ({found.text})"
    if same:
        how = "well calibrated" if wanted == WELL else "miscalibrated"
        text += f"; those of {named(same)} are {how}"
    value = found.value
    return [Answer("probabilities", f"{text}.", (str(ranked[0]["model"]),), found.measure,
                   value.value, value.low, value.high)]  # fmt: skip


def _verdict(
    row: Row, found: CalibrationEstimate, tests: Sequence[Row], level: float | None
) -> tuple[str, str]:
    """Return what is said of a model, and the sentence.

    Miscalibrated: a row has a class of probability 0, or p, adjusted for both tests and all models,
    is below 1 - level; slightly so where nothing is off by as much as would matter. Well
    calibrated: intervals hold the ideal, and exclude a gross fault.
    """
    model, verdict, fault = quoted(str(row["model"])), UNKNOWN, ""
    test = next((one for one in reversed(tests) if one["model"] == row["model"]), {})
    p, lost = value_of(test.get("p_adjusted")), value_of(test.get("contradicted"))
    if lost or (p is not None and level is not None and p < 1 - level):
        gap, off = (value_of(test[key]) or 0.0 for key in ("largest_gap", "groups_off"))
        verdict = SLIGHTLY if found.close and gap <= HARDLY and not lost else MISCALIBRATED
        fault = " and ".join(found.faults)
        if lost:
            fault = f"{many(lost, 'row')} had probability 0 for the observed outcome"
        elif not fault and off:
            fault = f"observed outcomes differ in {many(off, 'tenth')} of the rows, by up to "
            fault += f"{number(gap)} (--show calibration_tests)"
        fault = fault or "slope and intercept together differ from 1 and 0"
    elif p is not None and found.value.value is not None:
        verdict = UNSURE if found.faults else WELL if found.narrow else FEW
    text = BACKWARDS if found.backwards else verdict
    return verdict, text.format(model, fault)


def _estimated(row: Row, level: float | None) -> CalibrationEstimate | None:
    """Return the slope of two classes, or the overconfidence of several; None where neither is."""
    over, slope, shift = (estimate(row.get(name)) for name in (SURE, SLOPE, LEVEL))
    if over.value is not None:
        faults = _faults(over, 0, "underconfident", "overconfident")
        narrow = over.low is not None and (over.high or 0.0) - over.low <= WIDE
        close = _reach(over, 0) <= HARDLY
        return CalibrationEstimate(SURE, over, _stated(SURE, over, level), faults, close, narrow)
    faults = _faults(slope, 1, "too extreme", "not extreme enough")
    average = _faults(shift, 0, "too high on average", "too low on average")
    text = _stated("slope", slope, level)
    if slope.value is None:
        if slope.reason != "separation":
            return None
        area = estimate(row["roc_auc"]).value
        why = {0.5: "every row has the same score", 1.0: "its scores separate the classes",
               0.0: "its scores separate the classes, the wrong way round"}  # fmt: skip
        text = why.get(area or 0.0, "its scores between 0 and 1 nearly separate the classes")
        text = f"its calibration slope is undefined: {text}"
        faults = ["not extreme enough"] * (area == 1)
    elif average and not faults:
        text = _stated("calibration-in-the-large", shift, level)
    close = max(_reach(slope, 1), _reach(shift, 0)) <= CLOSE
    narrow = GROSS[0] <= (slope.low or 0.0) and (slope.high or inf) <= GROSS[1]
    turned = (slope.high or 0.0) < 0
    return CalibrationEstimate(SLOPE, slope, text, faults + average, close, narrow, turned)


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
