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
    """The sentence on calibration.

    names_fault: whether it calls any model miscalibrated. ends_with_best: whether it names the best
    model last. miscalibrated: the models called so, the best first, without other models that have
    contradicted rows.
    """

    answer: Answer
    names_fault: bool
    ends_with_best: bool
    miscalibrated: Sequence[str] = ()


def calibration_answer(
    ranked_rows: Sequence[Row],
    best_set: BestSet | None,
    test_rows: Sequence[Row],
    level: float | None,
    references: Collection[str] = (),
) -> CalibrationAnswer | None:
    """Return the sentence on the calibration of the best model and of those that compete with it.

    These are the models tied with it; with `references` the others that are compared with them. A
    model that gave probability 0 to an observed outcome is named in any case, with these rows:
    before the best one, if that is well calibrated.

    ranked_rows: of the models, the best first. test_rows: of table `calibration_tests`.
    """
    best_row = ranked_rows[0]
    verdict, sentence, measure = _verdict(
        best_row, test_rows, level, _models_called_well(test_rows)
    )
    rivals = _Rivals.from_tests(ranked_rows, best_set, test_rows, level, references)
    if not verdict:
        rivals = replace(rivals, tied="")  # no best model is named, with which they are tied
    if not verdict and not rivals.has_fault:
        return None
    clauses = rivals.clauses(verdict)
    sentence = _append_clauses(sentence, clauses, verdict)
    contradicted_clause = rivals.contradicted_clause()
    contradicted_first = bool(contradicted_clause) and verdict not in (*MISCALIBRATIONS, UNSURE)
    parts = (
        [contradicted_clause, sentence] if contradicted_first else [sentence, contradicted_clause]
    )
    separator = "; "
    if contradicted_first and verdict in (TOO_FEW, TOO_FEW_CLUSTERS, UNKNOWN):
        separator = ". "
    # tied models are harms too, but not of the model that a reader asks about
    is_miscalibrated = verdict in MISCALIBRATIONS
    miscalibrated = [best_row["model"]] if is_miscalibrated else []
    miscalibrated += rivals.miscalibrated
    is_harm = is_miscalibrated or (bool(references) and rivals.has_fault)
    estimate = as_estimate(best_row.get(measure))
    answer = Answer(
        MISCALIBRATED_CODE if is_harm else CALIBRATION_CODE,
        f"{separator.join(part for part in parts if part)}.",
        (best_row["model"],),
        measure or None,
        estimate.value,
        estimate.low,
        estimate.high,
        harm=verdict in (*MISCALIBRATIONS, UNSURE) or rivals.has_fault or _is_reversed(best_row),
    )
    return CalibrationAnswer(
        answer,
        names_fault=is_miscalibrated or rivals.has_fault,
        ends_with_best=not clauses and (contradicted_first or not contradicted_clause),
        miscalibrated=miscalibrated,
    )


def _append_clauses(sentence: str, clauses: Sequence[str], verdict: str) -> str:
    """Return the sentence on the best model, which may be empty, with clauses on its rivals.

    verdict: on the best model.
    """
    for clause in clauses:
        separator = ""
        if sentence:
            separator = ". " if verdict == UNSURE or clause.startswith("So ") else "; "
        sentence += f"{separator}{clause}"
    return sentence


@dataclass(frozen=True, slots=True)
class _Rivals:
    """The models that compete with the best one, by the verdict on their calibration.

    tied: the words after their names that say they are tied with the best. contradicted: by model,
    how many rows had probability 0, with several classes 1 for another one; only of models with
    such rows.
    """

    tied: str
    contradicted: Mapping[str, float]
    miscalibrated: Sequence[str]
    calibrated: Sequence[str]

    @classmethod
    def from_tests(
        cls,
        ranked_rows: Sequence[Row],
        best_set: BestSet | None,
        test_rows: Sequence[Row],
        level: float | None,
        references: Collection[str],
    ) -> _Rivals:
        """Choose the models that compete, and judge them."""
        ties = {} if best_set is None else best_set.ties
        well_calibrated = _models_called_well(test_rows)
        verdicts = {
            row["model"]: _verdict(row, test_rows, level, well_calibrated)[0]
            for row in ranked_rows[1:]
            # those that are compared with references, else those tied with the best
            if (row["model"] not in references if references else ties.get(row["model"]))
        }
        contradicted = {
            row["model"]: row_count
            for row in test_rows
            if (row_count := cell_value(row.get("contradicted"))) and row["model"] in verdicts
        }
        miscalibrated = [model for model in verdicts if verdicts[model] in MISCALIBRATIONS]
        return cls(
            "" if references else TIED,
            contradicted,
            [model for model in miscalibrated if model not in contradicted],
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
        outcomes_text = format_count(self.contradicted[models[0]], "outcome")
        qualifier = "up to " if len(models) > 1 else ""
        return (
            f"{join_names(models, most=MAX_RIVALS)} gave {qualifier}{outcomes_text} probability 0"
        )

    def _call_miscalibrated(self, *, too: bool) -> str:
        """Return the clause that models are miscalibrated; too: as is the best one."""
        models = self.miscalibrated
        if not too:
            return self._judge(models, "miscalibrated")
        names_text = join_names(models, most=MAX_RIVALS)
        verb = "is" if len(models) == 1 else "are"
        return f"So {verb} {names_text}{self.tied.removesuffix(',')}"

    def _judge(self, models: Sequence[str], verdict: str) -> str:
        """Return a verdict on models."""
        names_text = join_names(models, most=MAX_RIVALS)
        verb = "is" if len(models) == 1 else "are"
        return f"{names_text}{self.tied} {verb} {verdict}"


def _verdict(
    model_row: Row,
    test_rows: Sequence[Row],
    level: float | None,
    equivalent_models: Collection[str],
) -> tuple[str, str, str]:
    """Return the verdict on a model, the sentence, and the measure, or empty strings.

    model_row: with its estimates. equivalent_models: the models whose intervals exclude a fault
    that matters (`_equivalent_models`), or which tests with verdicts call well calibrated.

    Miscalibrated: a row has a class of probability 0, or p, adjusted for both tests and all models,
    is below 1 - level; slightly so where no fault is large. Well calibrated is a claim of
    equivalence: the intervals contain the ideal, the model is equivalent, and p, adjusted for both
    tests only, is not below 1 - level. No miscalibration detected: the intervals contain the ideal
    and exclude a gross fault.
    """
    facts = _model_facts(model_row, level)
    if facts is None:
        return "", "", ""
    verdict = _judge_model(model_row["model"], facts, test_rows, level, equivalent_models)
    return (
        verdict,
        _calibration_sentence(model_row, verdict, facts, test_rows, level),
        facts.measure,
    )


def _model_facts(model_row: Row, level: float | None) -> _CalibrationFacts | None:
    """Return what the intervals of a model say of its calibration; None without probabilities."""
    overconfidence = as_estimate(model_row.get(OVERCONFIDENCE))
    if overconfidence.value is not None:
        return _overconfidence_facts(overconfidence, level)
    slope = as_estimate(model_row.get(SLOPE))
    if slope.value is None and slope.reason != "separation":
        return None
    return _slope_facts(
        slope, as_estimate(model_row.get(LEVEL)), as_estimate(model_row["roc_auc"]).value, level
    )


def _judge_model(
    model: str,
    facts: _CalibrationFacts,
    test_rows: Sequence[Row],
    level: float | None,
    equivalent_models: Collection[str],
) -> str:
    """Return the verdict on the calibration of a model, as `_verdict` defines it."""
    group_test = _test_of_groups(model, test_rows)
    p = cell_value(group_test.get("p_adjusted"))
    contradicted = cell_value(group_test.get("contradicted"))
    by_clusters = group_test.get("method") == BY_CLUSTERS
    if contradicted:
        return MISCALIBRATED
    if p is not None and level is not None and p < 1 - level:
        is_slight = facts.close and (cell_value(group_test["largest_gap"]) or 0.0) <= HARDLY
        return SLIGHTLY if is_slight else MISCALIBRATED
    if p is not None and level is not None and facts.is_defined:
        is_well = model in equivalent_models and _p_of_both_tests(model, test_rows) >= 1 - level
        return _undetected_verdict(facts, is_well=is_well, by_clusters=by_clusters)
    if p is None and by_clusters and facts.is_defined:
        return TOO_FEW_CLUSTERS
    return UNKNOWN


def _calibration_sentence(
    model_row: Row,
    verdict: str,
    facts: _CalibrationFacts,
    test_rows: Sequence[Row],
    level: float | None,
) -> str:
    """Return the sentence on the calibration of a model; verdict: on it."""
    model = model_row["model"]
    fault = f"its probabilities are {' and '.join(facts.faults)}" if facts.faults else ""
    if verdict in MISCALIBRATIONS:
        fault = _name_fault(fault, _test_of_groups(model, test_rows), facts.measure)
    template = verdict  # every verdict but UNSURE is a template
    if _is_reversed(model_row):
        template = "{} ranks in reverse: rows with higher scores are less often positive"
    if template == UNSURE:
        return _describe_unadjusted_fault(model, facts, test_rows)
    value_text = facts.text
    oe_ratio = as_estimate(model_row.get("oe_ratio"))
    if verdict == WELL and oe_ratio.value is not None:
        value_text += f"; {_format_estimate('O:E ratio', oe_ratio, level)}"
    sentence = template.format(quote_if_ambiguous(model), fault)
    return f"{sentence} ({value_text})"


def _test_of_groups(model: str, test_rows: Sequence[Row]) -> Row:
    """Return the last test of a model, which is that of groups; empty if it has none."""
    return next((test for test in reversed(test_rows) if test["model"] == model), as_row({}))


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
    adjusted_p_values = hochberg(list(p_values.values()))
    return {
        model
        for model, adjusted_p in zip(p_values, adjusted_p_values, strict=True)
        if p_values[model] < 1 and adjusted_p <= (1 - level) * (1 + _ROUNDING)
    }


def _p_of_value_outside(estimate: Estimate, lowest: float, highest: float, level: float) -> float:
    """Return the larger one-sided p of a value below `lowest` and above `highest`.

    It follows from the interval; 1 if this is not inside. The estimate is presumed normal; its
    standard error on each side is that of the limit there.
    """
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None or low is None or high is None or low < lowest or high > highest:
        return 1.0
    sides = ((value - lowest, value - low), (highest - value, high - value))
    ratios = [margin / half_width for margin, half_width in sides if half_width > 0]
    z = critical_value(level) * min(ratios, default=inf)
    return erfc(z / sqrt(2)) / 2


def _models_called_well(test_rows: Sequence[Row]) -> set[str]:
    """Return the models that tests with verdicts call well calibrated."""
    return {test["model"] for test in test_rows if test.get("verdict") == VERDICT_WORDS[WELL]}


def _is_reversed(model_row: Row) -> bool:
    """Return whether rows with higher scores are significantly less often positive."""
    slope = as_estimate(model_row.get(SLOPE))
    return slope.high is not None and slope.high < 0


def _p_of_both_tests(model: str, test_rows: Sequence[Row]) -> float:
    """Return the smaller p of the tests of a model, adjusted for their number only."""
    p_values = [cell_value(row["p"]) for row in test_rows if row["model"] == model]
    return min(1.0, len(TESTS) * min(p for p in p_values if p is not None))


def with_calibration_verdicts(
    test_rows: Sequence[Row], models: Sequence[Row], level: float | None
) -> list[Row]:
    """Return the rows of tests with the verdict on their model; models: rows of the first screen.

    None where a model has no verdict. test_rows: those of all models.
    """
    whole_table_rows = [row for row in models if row["slice"] is None]
    equivalent_models = _equivalent_models(whole_table_rows, level)
    verdicts = {
        row["model"]: VERDICT_WORDS[_verdict(row, test_rows, level, equivalent_models)[0]]
        for row in whole_table_rows
    }
    return [as_row({**row, "verdict": verdicts.get(row["model"])}) for row in test_rows]


def with_well_calibrated(models: Sequence[Row], test_rows: Sequence[Row]) -> list[Row]:
    """Return rows of models with 1 where one is called well calibrated, else 0; None: unknown.

    test_rows: with verdicts.
    """
    verdicts = {row["model"]: row["verdict"] for row in test_rows}
    rows = list[Row]()
    for row in models:
        verdict = verdicts.get(row["model"]) if row["slice"] is None else None
        is_well = None if verdict is None else int(verdict == VERDICT_WORDS[WELL])
        rows.append(as_row({**row, "well_calibrated": is_well}))
    return rows


def _describe_unadjusted_fault(
    model: str, facts: _CalibrationFacts, test_rows: Sequence[Row]
) -> str:
    """Return the sentence on a fault whose joint test is not significant, with p and adjusted p."""
    tested_models = dict.fromkeys(
        row["model"] for row in test_rows if cell_value(row["p"]) is not None
    )
    unadjusted_p = _p_of_both_tests(model, test_rows)
    adjusted_p = next(
        cell_value(row["p_adjusted"]) or 0.0 for row in test_rows if row["model"] == model
    )
    value_text, _, interval_text = facts.text.partition(", ")
    text = f"{quote_if_ambiguous(model)} has {value_text}"
    text += f" ({interval_text})" if interval_text else ""
    text += f", {' and '.join(facts.faults)}; {UNSURE} {format_p_value(unadjusted_p)}"
    if len(tested_models) > 1:
        adjusted_text = format_p_value(adjusted_p).removeprefix("p ")
        text += f", {adjusted_text} adjusted for {len(tested_models):,} models"
    return text


@dataclass(frozen=True, slots=True)
class _CalibrationFacts:
    """What the intervals of a model say of its calibration.

    measure: the id; is_defined: whether it has a value; text: its value with its interval;
    faults: of the probabilities, in words. close: whether the limits are near the ideal; narrow:
    whether they exclude a gross fault.
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
        is_defined=overconfidence.value is not None,
        text=_format_estimate(OVERCONFIDENCE, overconfidence, level),
        faults=_interval_faults(overconfidence, 0, "underconfident", "overconfident"),
        close=_farthest_distance(overconfidence, 0) <= HARDLY,
        narrow=(overconfidence.high or inf) - (overconfidence.low or -inf) <= 0.2,
    )


def _slope_facts(
    slope: Estimate, shift: Estimate, area: float | None, level: float | None
) -> _CalibrationFacts:
    """Return what calibration slope and calibration-in-the-large (`shift`) say; area: ROC AUC."""
    text = _format_estimate("slope", slope, level)
    slope_faults = _interval_faults(slope, 1, "too extreme", "not extreme enough")
    average_faults = _interval_faults(shift, 0, "too high on average", "too low on average")
    if average_faults and not slope_faults:
        text = _format_estimate("calibration-in-the-large", shift, level)
    if slope.value is None:
        text = f"slope undefined: {_explain_undefined_slope(area, shift)}"
        slope_faults = ["not extreme enough"] if area == 1 else []
    gross_low, gross_high = GROSS
    return _CalibrationFacts(
        SLOPE,
        is_defined=slope.value is not None,
        text=text,
        faults=[*slope_faults, *average_faults],
        close=max(_farthest_distance(slope, 1), _farthest_distance(shift, 0)) <= 0.1,
        narrow=gross_low <= (slope.low or 0.0) and (slope.high or inf) <= gross_high,
    )


def _name_fault(fault: str, group_test: Row, measure: str) -> str:
    """Return the fault of a miscalibrated model, by its score tests where intervals show none.

    fault: by its intervals, or empty. group_test: the row of its test of groups.
    """
    contradicted = cell_value(group_test.get("contradicted"))
    if contradicted:
        probability_text = (
            "0 for the observed outcome" if measure == SLOPE else "1 for another class"
        )
        zero_clause = f"{format_count(contradicted, 'row')} had probability {probability_text}"
        return f"{fault}, and {zero_clause}" if fault else zero_clause
    group_count, largest_gap = (
        cell_value(group_test[name]) or 0.0 for name in ("groups_off", "largest_gap")
    )
    if not fault and group_count:
        fault = "the share of positives deviates from the mean score in "
        fault += f"{format_count(group_count, 'score group')} by up to {format_number(largest_gap)}"
    return fault or "slope and intercept jointly differ from 1 and 0"


def _explain_undefined_slope(area: float | None, shift: Estimate) -> str:
    """Return why the slope is undefined; area: the ROC AUC; shift: calibration-in-the-large."""
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
    interval_text = f"{format_number(estimate.low)} to {format_number(estimate.high)}"
    return f"{text}, {100 * level:g}% CI {interval_text}"


def _interval_faults(estimate: Estimate, ideal: float, below: str, above: str) -> list[str]:
    """Return the fault of a value whose interval excludes the ideal, else an empty list."""
    if estimate.high is not None and estimate.high < ideal:
        return [below]
    return [above] if estimate.low is not None and estimate.low > ideal else []


def _farthest_distance(estimate: Estimate, ideal: float) -> float:
    """Return the distance of the farther limit from the ideal; infinite if unknown."""
    return max(
        inf if limit is None else abs(limit - ideal) for limit in (estimate.low, estimate.high)
    )
