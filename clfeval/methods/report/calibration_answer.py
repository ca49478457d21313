"""The sentence on calibration: of the best model, and of those that compete with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import erfc, inf, sqrt

from clfeval.compare.families import BestSet
from clfeval.document import Answer
from clfeval.document.cells import Estimate, Row, as_estimate, as_row, cell_value
from clfeval.formatting import (
    format_count,
    format_number,
    format_p_value,
    join_names,
    quote_if_ambiguous,
)
from clfeval.inference.distributions import critical_value
from clfeval.inference.hypothesis_tests import BY_CLUSTERS
from clfeval.inference.proportions import hochberg
from clfeval.methods.report.calibration import TESTS
from clfeval.records import dataclass, replace

SLOPE, LEVEL, OVERCONFIDENCE = "calibration_slope", "calibration_in_the_large", "overconfidence"
GROSS = (0.5, 2.0)  # slopes at or beyond which probabilities are grossly miscalibrated
HARDLY = 0.02  # negligible difference of shares
MISCALIBRATED = "{} is miscalibrated: {}"
SLIGHTLY = "{} is miscalibrated, but only slightly: {}"
MISCALIBRATIONS = (MISCALIBRATED, SLIGHTLY)
WELL = "{} is well calibrated"
NOT_DETECTED = "{} shows no significant miscalibration"
TOO_FEW = "There are too few rows to assess the calibration of {}"
TOO_FEW_CLUSTERS = "There are too few clusters to assess the calibration of {}"
UNKNOWN = "The calibration of {} is unknown"
# what is called well calibrated: 95% intervals of the slope and of calibration-in-the-large, in
# logits, lie inside these, of several models by Hochberg's rule
EQUIVALENT_SLOPES = (0.8, 1.25)
EQUIVALENT_SHIFT = 0.25
EQUIVALENCE_LEVEL = 0.95  # of intervals, at least
_ROUNDING = 1e-9
TIED = ", tied with it,"
MAX_RIVALS = 6  # by name
CALIBRATION_CODE, MISCALIBRATED_CODE = "probabilities", "miscalibrated"
ADVICE_CODE = "recalibrate"  # after it
UNSURE = "the joint test of calibration has"  # after the value of a model that has a fault
# verdicts as the table of tests has them
VERDICT_WORDS = {
    MISCALIBRATED: "miscalibrated",
    SLIGHTLY: "slightly miscalibrated",
    WELL: "well calibrated",
    NOT_DETECTED: "no miscalibration detected",
    UNSURE: "undecided",
    TOO_FEW: "too few rows",
    TOO_FEW_CLUSTERS: "too few clusters",
    UNKNOWN: "unknown",
    "": None,
}


@dataclass(frozen=True, slots=True)
class CalibrationAnswer:
    """The sentence on calibration; names_fault: of any model; ends_with_best: it is named last.

    miscalibrated: the models called so, the best first, without those with contradicted rows only.
    """

    answer: Answer
    names_fault: bool
    ends_with_best: bool
    miscalibrated: Sequence[str] = ()


def calibration_answer(
    ranked: Sequence[Row],
    tested: BestSet | None,
    tests: Sequence[Row],
    level: float | None,
    references: Collection[str] = (),
) -> CalibrationAnswer | None:
    """Return the sentence on the calibration of the best model and of those that compete with it.

    These are the models tied with it; with `references` the others that are compared with them. A
    model that gave probability 0 to an observed outcome is named in any case, with these rows:
    before the best one, if that is well calibrated.
    """
    verdict, text, measure = _verdict(ranked[0], tests, level, _models_called_well(tests))
    rivals = _Rivals.from_tests(ranked, tested, tests, level, references)
    rivals = rivals if verdict else replace(rivals, tied="")  # no best one is named
    if not verdict and not rivals.has_fault:
        return None
    clauses = rivals.clauses(verdict)
    sentence = text
    for clause in clauses:
        separator = ". " if verdict == UNSURE or clause.startswith("So ") else "; "
        sentence += f"{separator if sentence else ''}{clause}"
    contradicted = rivals.contradicted_clause()
    is_first = bool(contradicted) and verdict not in (*MISCALIBRATIONS, UNSURE)
    parts = [contradicted, sentence] if is_first else [sentence, contradicted]
    starts_anew = is_first and verdict in (TOO_FEW, TOO_FEW_CLUSTERS, UNKNOWN)
    # tied models are harms too, but not of the model that a reader asks about
    is_harm = verdict in MISCALIBRATIONS or (bool(references) and rivals.has_fault)
    estimate = as_estimate(ranked[0].get(measure))
    answer = Answer(
        MISCALIBRATED_CODE if is_harm else CALIBRATION_CODE,
        f"{('. ' if starts_anew else '; ').join(part for part in parts if part)}.",
        (ranked[0]["model"],),
        measure or None,
        estimate.value,
        estimate.low,
        estimate.high,
        harm=verdict in (*MISCALIBRATIONS, UNSURE) or rivals.has_fault or _is_reversed(ranked[0]),
    )
    return CalibrationAnswer(
        answer,
        names_fault=verdict in MISCALIBRATIONS or rivals.has_fault,
        ends_with_best=not clauses and (is_first or not contradicted),
        miscalibrated=[*[ranked[0]["model"]] * (verdict in MISCALIBRATIONS), *rivals.miscalibrated],
    )


@dataclass(frozen=True, slots=True)
class _Rivals:
    """The models that compete with the best one, by the verdict on their calibration.

    tied: what a sentence calls them. contradicted: rows that had probability 0, by model; with
    several classes 1 for another one.
    """

    tied: str
    contradicted: Mapping[str, float]
    miscalibrated: Sequence[str]
    calibrated: Sequence[str]

    @classmethod
    def from_tests(
        cls,
        ranked: Sequence[Row],
        tested: BestSet | None,
        tests: Sequence[Row],
        level: float | None,
        references: Collection[str],
    ) -> _Rivals:
        """Choose the models that compete, and judge them."""
        ties = {} if tested is None else tested.ties
        equivalent = _models_called_well(tests)
        verdicts = {
            row["model"]: _verdict(row, tests, level, equivalent)[0]
            for row in ranked[1:]
            if (row["model"] not in references if references else ties.get(row["model"]))
        }
        rows_by_model = {
            row["model"]: rows
            for row in tests
            if (rows := cell_value(row.get("contradicted"))) and row["model"] in verdicts
        }
        miscalibrated = [model for model in verdicts if verdicts[model] in MISCALIBRATIONS]
        return cls(
            "" if references else TIED,
            rows_by_model,
            [model for model in miscalibrated if model not in rows_by_model],
            [model for model in verdicts if verdicts[model] == WELL],
        )

    @property
    def has_fault(self) -> bool:
        """Whether one of these models is miscalibrated."""
        return bool(self.contradicted or self.miscalibrated)

    def clauses(self, verdict: str) -> list[str]:
        """Return what is said of these models; verdict: on the best one."""
        clauses = list[str]()
        if self.miscalibrated:
            clauses.append(self._call_miscalibrated(too=verdict in MISCALIBRATIONS))
        if verdict == MISCALIBRATED and self.calibrated:
            clauses.append(self._judge(self.calibrated, "well calibrated"))
        return clauses

    def contradicted_clause(self) -> str:
        """Return which models gave observed outcomes probability 0, the most outcomes first."""
        if not self.contradicted:
            return ""
        models = sorted(self.contradicted, key=lambda model: -self.contradicted[model])
        outcomes = format_count(self.contradicted[models[0]], "outcome")
        most = "up to " if len(models) > 1 else ""
        return f"{join_names(models, most=MAX_RIVALS)} gave {most}{outcomes} probability 0"

    def _call_miscalibrated(self, *, too: bool) -> str:
        """Return that models are miscalibrated; too: the sentence before says it of the best."""
        models = self.miscalibrated
        if not too:
            return self._judge(models, "miscalibrated")
        names = join_names(models, most=MAX_RIVALS)
        return f"So {'is' if len(models) == 1 else 'are'} {names}{self.tied.removesuffix(',')}"

    def _judge(self, models: Sequence[str], verdict: str) -> str:
        """Return a verdict on models."""
        names = join_names(models, most=MAX_RIVALS)
        return f"{names}{self.tied} {'is' if len(models) == 1 else 'are'} {verdict}"


def _verdict(
    row: Row, tests: Sequence[Row], level: float | None, equivalent: Collection[str]
) -> tuple[str, str, str]:
    """Return the verdict on a model, the sentence, and the measure, or empty strings.

    equivalent: the models whose intervals exclude a fault that matters (`_equivalent_models`).

    Miscalibrated: a row has a class of probability 0, or p, adjusted for both tests and all models,
    is below 1 - level; slightly so where no fault is large. Well calibrated is a claim of
    equivalence: the intervals contain the ideal, the model is equivalent, and p, adjusted for both
    tests only, is not below 1 - level. No miscalibration detected: the intervals contain the ideal
    and exclude a gross fault.
    """
    facts = _model_facts(row, level)
    if facts is None:
        return "", "", ""
    verdict = _judge_model(row["model"], facts, tests, level, equivalent)
    return verdict, _calibration_sentence(row, verdict, facts, tests, level), facts.measure


def _model_facts(row: Row, level: float | None) -> _CalibrationFacts | None:
    """Return what the intervals of a model say of its calibration; None without probabilities."""
    overconfidence = as_estimate(row.get(OVERCONFIDENCE))
    if overconfidence.value is not None:
        return _overconfidence_facts(overconfidence, level)
    slope = as_estimate(row.get(SLOPE))
    if slope.value is None and slope.reason != "separation":
        return None
    return _slope_facts(
        slope, as_estimate(row.get(LEVEL)), as_estimate(row["roc_auc"]).value, level
    )


def _judge_model(
    model: str,
    facts: _CalibrationFacts,
    tests: Sequence[Row],
    level: float | None,
    equivalent: Collection[str],
) -> str:
    """Return the verdict on the calibration of a model, as `_verdict` defines it."""
    test = _test_of_groups(model, tests)
    p = cell_value(test.get("p_adjusted"))
    contradicted = cell_value(test.get("contradicted"))
    by_clusters = test.get("method") == BY_CLUSTERS
    if contradicted:
        return MISCALIBRATED
    if p is not None and level is not None and p < 1 - level:
        is_slight = facts.close and (cell_value(test["largest_gap"]) or 0.0) <= HARDLY
        return SLIGHTLY if is_slight else MISCALIBRATED
    if p is not None and level is not None and facts.is_defined:
        is_well = model in equivalent and _p_of_both_tests(model, tests) >= 1 - level
        return _undetected_verdict(facts, is_well=is_well, by_clusters=by_clusters)
    if p is None and by_clusters and facts.is_defined:
        return TOO_FEW_CLUSTERS
    return UNKNOWN


def _calibration_sentence(
    row: Row, verdict: str, facts: _CalibrationFacts, tests: Sequence[Row], level: float | None
) -> str:
    """Return the sentence on the calibration of a model; verdict: on it."""
    model = row["model"]
    fault = f"its probabilities are {' and '.join(facts.faults)}" if facts.faults else ""
    if verdict in MISCALIBRATIONS:
        fault = _name_fault(fault, _test_of_groups(model, tests), facts.measure)
    text = verdict
    if _is_reversed(row):
        text = "{} ranks in reverse: rows with higher scores are less often positive"
    if text == UNSURE:
        return _describe_unadjusted_fault(model, facts, tests)
    value = facts.text
    ratio = as_estimate(row.get("oe_ratio"))
    if verdict == WELL and ratio.value is not None:
        value += f"; {_format_estimate('O:E ratio', ratio, level)}"
    return f"{text.format(quote_if_ambiguous(model), fault)} ({value})"


def _test_of_groups(model: str, tests: Sequence[Row]) -> Row:
    """Return the last test of a model, which is that of groups; empty if it has none."""
    return next((test for test in reversed(tests) if test["model"] == model), as_row({}))


def _undetected_verdict(facts: _CalibrationFacts, *, is_well: bool, by_clusters: bool) -> str:
    """Return the verdict on a model whose tests, adjusted for all models, are not significant."""
    if facts.faults:
        return UNSURE
    if is_well:
        return WELL
    if facts.narrow:
        return NOT_DETECTED
    return TOO_FEW_CLUSTERS if by_clusters else TOO_FEW


def _equivalent_models(models: Sequence[Row], level: float | None) -> set[str]:
    """Return the models whose slope and calibration-in-the-large exclude a fault that matters.

    Both intervals lie inside EQUIVALENT_SLOPES and EQUIVALENT_SHIFT, and the p-value of a value
    outside, adjusted by Hochberg's rule for all models with a slope, is at most 1 - level: any of
    several models is so by chance as seldom as one.
    """
    if level is None or level < EQUIVALENCE_LEVEL:
        return set()
    p_values = {
        row["model"]: max(
            _p_of_value_outside(as_estimate(row.get(SLOPE)), *EQUIVALENT_SLOPES, level),
            _p_of_value_outside(
                as_estimate(row.get(LEVEL)), -EQUIVALENT_SHIFT, EQUIVALENT_SHIFT, level
            ),
        )
        for row in models
        if as_estimate(row.get(SLOPE)).value is not None
    }
    adjusted = hochberg(list(p_values.values()))
    return {
        model
        for model, p in zip(p_values, adjusted, strict=True)
        if p_values[model] < 1 and p <= (1 - level) * (1 + _ROUNDING)
    }


def _p_of_value_outside(estimate: Estimate, lowest: float, highest: float, level: float) -> float:
    """Return the larger one-sided p of a value below `lowest` and above `highest`.

    From its interval; 1 if that does not lie inside. The estimate is taken as normal, with the
    standard errors of its limits.
    """
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None or low is None or high is None or low < lowest or high > highest:
        return 1.0
    margins = ((value - lowest, value - low), (highest - value, high - value))
    ratios = [margin / half_width for margin, half_width in margins if half_width > 0]
    errors = critical_value(level) * min(ratios, default=inf)
    return erfc(errors / sqrt(2)) / 2


def _models_called_well(tests: Sequence[Row]) -> set[str]:
    """Return the models that tests with verdicts call well calibrated."""
    return {test["model"] for test in tests if test.get("verdict") == VERDICT_WORDS[WELL]}


def _is_reversed(row: Row) -> bool:
    """Return whether rows with higher scores are significantly less often positive."""
    slope = as_estimate(row.get(SLOPE))
    return slope.high is not None and slope.high < 0


def _p_of_both_tests(model: str, tests: Sequence[Row]) -> float:
    """Return the smaller p of the tests of a model, adjusted for their number only."""
    p_values = [cell_value(row["p"]) for row in tests if row["model"] == model]
    return min(1.0, len(TESTS) * min(p for p in p_values if p is not None))


def with_calibration_verdicts(
    tests: Sequence[Row], models: Sequence[Row], level: float | None
) -> list[Row]:
    """Return the rows of tests with the verdict on their model; models: rows of the first screen.

    None where a model has no verdict.
    """
    whole_table = [row for row in models if row["slice"] is None]
    equivalent = _equivalent_models(whole_table, level)
    verdicts = {
        row["model"]: VERDICT_WORDS[_verdict(row, tests, level, equivalent)[0]]
        for row in whole_table
    }
    return [as_row({**row, "verdict": verdicts.get(row["model"])}) for row in tests]


def with_well_calibrated(models: Sequence[Row], tests: Sequence[Row]) -> list[Row]:
    """Return rows of models with 1 where one is called well calibrated, else 0; None: unknown.

    tests: with verdicts.
    """
    verdicts = {row["model"]: row["verdict"] for row in tests}
    rows = list[Row]()
    for row in models:
        verdict = verdicts.get(row["model"]) if row["slice"] is None else None
        is_well = None if verdict is None else int(verdict == VERDICT_WORDS[WELL])
        rows.append(as_row({**row, "well_calibrated": is_well}))
    return rows


def _describe_unadjusted_fault(model: str, facts: _CalibrationFacts, tests: Sequence[Row]) -> str:
    """Return the sentence on a fault whose joint test is not significant: its p, and adjusted."""
    models = dict.fromkeys(row["model"] for row in tests if cell_value(row["p"]) is not None)
    alone = _p_of_both_tests(model, tests)
    adjusted = next(cell_value(row["p_adjusted"]) or 0.0 for row in tests if row["model"] == model)
    value, _, interval = facts.text.partition(", ")
    text = f"{quote_if_ambiguous(model)} has {value}"
    text += f" ({interval})" if interval else ""
    text += f", {' and '.join(facts.faults)}; {UNSURE} {format_p_value(alone)}"
    if len(models) > 1:
        adjusted_text = format_p_value(adjusted).removeprefix("p ")
        text += f", {adjusted_text} adjusted for {len(models):,} models"
    return text


@dataclass(frozen=True, slots=True)
class _CalibrationFacts:
    """What the intervals of a model say of its calibration.

    measure: by which; is_defined: it has a value; text: its value; faults: of the probabilities.
    close: the limits are near the ideal; narrow: they exclude a gross fault.
    """

    measure: str
    is_defined: bool
    text: str
    faults: Sequence[str]
    close: bool
    narrow: bool


def _overconfidence_facts(overconfidence: Estimate, level: float | None) -> _CalibrationFacts:
    """Return what the overconfidence of a model of several classes says."""
    return _CalibrationFacts(
        OVERCONFIDENCE,
        overconfidence.value is not None,
        _format_estimate(OVERCONFIDENCE, overconfidence, level),
        _interval_faults(overconfidence, 0, "underconfident", "overconfident"),
        _farthest_distance(overconfidence, 0) <= HARDLY,
        (overconfidence.high or inf) - (overconfidence.low or -inf) <= 0.2,
    )


def _slope_facts(
    slope: Estimate, shift: Estimate, area: float | None, level: float | None
) -> _CalibrationFacts:
    """Return what calibration slope and calibration-in-the-large say; area: the ROC AUC."""
    text = _format_estimate("slope", slope, level)
    faults = _interval_faults(slope, 1, "too extreme", "not extreme enough")
    average = _interval_faults(shift, 0, "too high on average", "too low on average")
    if average and not faults:
        text = _format_estimate("calibration-in-the-large", shift, level)
    if slope.value is None:
        text = f"slope undefined: {_explain_undefined_slope(area, shift)}"
        faults = ["not extreme enough"] * (area == 1)
    return _CalibrationFacts(
        SLOPE,
        slope.value is not None,
        text,
        [*faults, *average],
        max(_farthest_distance(slope, 1), _farthest_distance(shift, 0)) <= 0.1,
        GROSS[0] <= (slope.low or 0.0) and (slope.high or inf) <= GROSS[1],
    )


def _name_fault(fault: str, test: Row, measure: str) -> str:
    """Return the fault of a miscalibrated model, by its score tests where intervals show none."""
    contradicted = cell_value(test.get("contradicted"))
    if contradicted:
        certain = "0 for the observed outcome" if measure == SLOPE else "1 for another class"
        zero = f"{format_count(contradicted, 'row')} had probability {certain}"
        return f"{fault}, and {zero}" if fault else zero
    groups, gap = (cell_value(test[name]) or 0.0 for name in ("groups_off", "largest_gap"))
    if not fault and groups:
        fault = "the share of positives deviates from the mean score in "
        fault += f"{format_count(groups, 'score group')} by up to {format_number(gap)}"
    return fault or "slope and intercept jointly differ from 1 and 0"


def _explain_undefined_slope(area: float | None, shift: Estimate) -> str:
    """Return why the slope is undefined."""
    if shift.value is None:
        return "nearly all scores are 0 or 1"
    reasons = {
        0.5: "all scores are equal",
        1.0: "scores separate the classes",
        0.0: "scores separate the classes in reverse",
    }
    return reasons.get(area or 0.0, "scores between 0 and 1 nearly separate the classes")


def _format_estimate(name: str, estimate: Estimate, level: float | None) -> str:
    """Write a measure with its confidence interval, where there is one."""
    text = f"{name} {format_number(estimate.value or 0.0)}"
    if level is None or estimate.low is None or estimate.high is None:
        return text
    interval = f"{format_number(estimate.low)} to {format_number(estimate.high)}"
    return f"{text}, {100 * level:g}% CI {interval}"


def _interval_faults(estimate: Estimate, ideal: float, below: str, above: str) -> list[str]:
    """Return the fault of a value whose interval excludes the ideal, else an empty list."""
    if estimate.high is not None and estimate.high < ideal:
        return [below]
    return [above] if estimate.low is not None and estimate.low > ideal else []


def _farthest_distance(estimate: Estimate, ideal: float) -> float:
    """Return the distance of the farther limit from the ideal; infinite if unknown."""
    return max(inf if end is None else abs(end - ideal) for end in (estimate.low, estimate.high))
