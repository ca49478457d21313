"""Whether the best model is calibrated, and the models tied with it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from clfeval.compare.families import BestSet
from clfeval.document import Answer, Estimate, Row, as_estimate, cell_value
from clfeval.words import format_count, format_number, join_names, quote_if_ambiguous

SLOPE, LEVEL, OVERCONFIDENCE = "calibration_slope", "calibration_in_the_large", "overconfidence"
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
    lost = {str(row["model"]) for row in tests if cell_value(row.get("contradicted"))}
    others = [  # a note names those that gave probability 0 to observed outcomes
        str(row["model"]) for row in ranked[1:] if row["model"] not in lost
        if ties.get(str(row["model"])) and _verdict(row, tests, level)[0] == wanted
    ]  # fmt: skip
    if others:
        how = "well calibrated" if wanted == WELL else "miscalibrated"
        text += f"; {join_names(others)}{TIED} {'is' if len(others) == 1 else 'are'} {how}"
    one = as_estimate(ranked[0][measure])
    return [Answer("probabilities", f"{text}.", (str(ranked[0]["model"]),), measure,
                   one.value, one.low, one.high)]  # fmt: skip


def _verdict(row: Row, tests: Sequence[Row], level: float | None) -> tuple[str, str, str]:
    """Return the verdict on a model, the sentence, and its measure, or empty strings.

    Miscalibrated: a row has a class of probability 0, or p, adjusted for both tests and all models,
    is below 1 - level; slightly so where no fault is large. Well calibrated: intervals contain the
    ideal and exclude a large fault.
    """
    over, slope, shift = (as_estimate(row.get(name)) for name in (OVERCONFIDENCE, SLOPE, LEVEL))
    if over.value is not None:
        measure, fact = OVERCONFIDENCE, _format_estimate(OVERCONFIDENCE, over, level)
        faults = _interval_faults(over, 0, "underconfident", "overconfident")
        close, narrow = (
            _farthest_distance(over, 0) <= HARDLY,
            (over.high or inf) - (over.low or -inf) <= WIDE,
        )
    elif slope.value is None and slope.reason != "separation":
        return "", "", ""
    else:
        measure, fact = SLOPE, _format_estimate("slope", slope, level)
        faults = _interval_faults(slope, 1, "too extreme", "not extreme enough")
        average = _interval_faults(shift, 0, "too high on average", "too low on average")
        if average and not faults:
            fact = _format_estimate("calibration-in-the-large", shift, level)
        if slope.value is None:
            area = as_estimate(row["roc_auc"]).value
            fact = f"slope undefined: {_explain_undefined_slope(area, shift)}"
            faults = ["not extreme enough"] * (area == 1)
        faults += average
        close = max(_farthest_distance(slope, 1), _farthest_distance(shift, 0)) <= CLOSE
        narrow = GROSS[0] <= (slope.low or 0.0) and (slope.high or inf) <= GROSS[1]
    verdict, fault = UNKNOWN, f"its probabilities are {' and '.join(faults)}" if faults else ""
    test = next((one for one in reversed(tests) if one["model"] == row["model"]), {})
    p, lost = cell_value(test.get("p_adjusted")), cell_value(test.get("contradicted"))
    if lost or (p is not None and level is not None and p < 1 - level):
        gap, off = (cell_value(test[key]) or 0.0 for key in ("largest_gap", "groups_off"))
        verdict = SLIGHTLY if close and gap <= HARDLY and not lost else MISCALIBRATED
        if lost:
            what = "0 for the observed outcome" if over.value is None else "1 for another class"
            zero = f"{format_count(lost, 'row')} had probability {what}"
            fault = f"{fault}, and {zero}" if fault else zero
        elif not fault and off:
            fault = "the share of positives deviates from the mean score in "
            fault += f"{format_count(off, 'score group')} by up to {format_number(gap)}"
        fault = fault or "slope and intercept jointly differ from 1 and 0"
    elif p is not None and level is not None and as_estimate(row.get(measure)).value is not None:
        verdict = UNSURE if faults else WELL if narrow else FEW
    text = BACKWARDS if _interval_faults(slope, 0, "backwards", "") == ["backwards"] else verdict
    if text == UNSURE:
        fact = f"adjusted p = {format_number(p or 0.0)}; {fact.replace(', ', ', unadjusted ')}"
    return verdict, f"{text.format(quote_if_ambiguous(str(row['model'])), fault)} ({fact})", measure


def _explain_undefined_slope(area: float | None, shift: Estimate) -> str:
    """Say why there is no slope."""
    if shift.value is None:
        return "nearly all scores are 0 or 1"
    why = {0.5: "all scores are equal", 1.0: "scores separate the classes",
           0.0: "scores separate the classes in reverse"}  # fmt: skip
    return why.get(area or 0.0, "scores between 0 and 1 nearly separate the classes")


def _format_estimate(name: str, one: Estimate, level: float | None) -> str:
    """Write a measure with its confidence interval, where there is one."""
    text = f"{name} {format_number(one.value or 0.0)}"
    if level is None or one.low is None or one.high is None:
        return text
    return f"{text}, {100 * level:g}% CI {format_number(one.low)} to {format_number(one.high)}"


def _interval_faults(one: Estimate, ideal: float, below: str, above: str) -> list[str]:
    """Return what a value is whose interval excludes the ideal."""
    if one.high is not None and one.high < ideal:
        return [below]
    return [above] if one.low is not None and one.low > ideal else []


def _farthest_distance(one: Estimate, ideal: float) -> float:
    """Return how far from the ideal the farther limit is; infinite where one is unknown."""
    return max(inf if end is None else abs(end - ideal) for end in (one.low, one.high))
