"""The order of the sentences of a report: no harm stands behind what is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clfeval.compare.change import BETTER, WORSE
from clfeval.counts.sample import Sample
from clfeval.document import Answer
from clfeval.document.cells import Row, Rows
from clfeval.methods.measurement.requested_measures import OPERATING_POINT
from clfeval.methods.report import calibration_ranges, matched_answer, unpredicted_classes
from clfeval.methods.report.calibration_answer import ADVICE_CODE, MISCALIBRATED_CODE
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.report.prevalence_names import name_prevalences, restrict_answers
from clfeval.methods.report.slice_answer import HARMS
from clfeval.records import dataclass

FURTHER_COMPARED_CODE = "also-compared"
COMPARED_CODES = ("compared", "operating-point", FURTHER_COMPARED_CODE)
THRESHOLD_CODES = ("best-cut", "at-prevalence", "abstention")
LEADER_CODES = ("best", "no-leader", "corrected")
HINT_CODE, SLICES_CODE, WITHIN_CODE = "unordered-classes", "slices", "within"
HETEROGENEITY_CODE = "heterogeneity"
# at the specificity of a rule comes before at thresholds, which differ from that of the rule
HINT, SAME_SPECIFICITY = "hint", "same specificity"
COMPARED, BETTER_THAN = "compared, no gain", "compared, better"
WORSE_SLICE, NO_WORSE_SLICE = "worse slice", "no worse slice"
WORSE_WITHIN, NOT_WORSE_WITHIN = "worse than the reference in a slice", "within slices"
DEAD_CLASS, MISCALIBRATED = "dead class", "miscalibrated"
# heterogeneity decides where no slice is worse; else it adds to these
DECIDING_HETEROGENEITY, FURTHER_HETEROGENEITY = "deciding heterogeneity", "heterogeneity"
THRESHOLD, LEADER, OTHER = "threshold", "leader", "other"

WITH_REFERENCE = (
    *(HINT, SAME_SPECIFICITY, COMPARED, WORSE_SLICE, WORSE_WITHIN, DEAD_CLASS, MISCALIBRATED),
    *(
        DECIDING_HETEROGENEITY,
        BETTER_THAN,
        THRESHOLD,
        NO_WORSE_SLICE,
        NOT_WORSE_WITHIN,
        FURTHER_HETEROGENEITY,
        LEADER,
    ),
    OTHER,
)
WITH_THRESHOLDS = (
    *(HINT, WORSE_SLICE, THRESHOLD, DEAD_CLASS, MISCALIBRATED, DECIDING_HETEROGENEITY),
    *(NO_WORSE_SLICE, LEADER, FURTHER_HETEROGENEITY, OTHER),
)
WITHOUT_OPTIONS = (
    *(HINT, WORSE_SLICE, DECIDING_HETEROGENEITY, NO_WORSE_SLICE, LEADER),
    *(DEAD_CLASS, MISCALIBRATED, FURTHER_HETEROGENEITY, OTHER),
)


def order_answers(answers: Sequence[Answer], comparisons: Sequence[Row]) -> list[Answer]:
    """Return the sentences, the most important first, as the shortening of an answer needs them.

    The answer to the question that an option asks is first, unless it is that a model is better:
    then every harm of a model that competes comes before it. comparisons: rows of that table.
    """
    verdicts = _Verdicts(comparisons)
    kind_by_answer = {id(answer): verdicts.kind(answer) for answer in answers}
    ordered_kinds: tuple[str, ...] = WITHOUT_OPTIONS
    if {SAME_SPECIFICITY, COMPARED, BETTER_THAN} & {*kind_by_answer.values()}:
        ordered_kinds = WITH_REFERENCE
    elif THRESHOLD in kind_by_answer.values():
        ordered_kinds = WITH_THRESHOLDS

    def rank(answer: Answer) -> int:
        kind = kind_by_answer[id(answer)]
        if kind == DECIDING_HETEROGENEITY and WORSE_SLICE in kind_by_answer.values():
            kind = FURTHER_HETEROGENEITY
        return ordered_kinds.index(kind)

    return sorted(answers, key=rank)


@dataclass(frozen=True, slots=True, eq=False)
class _Verdicts:
    """The verdicts on which sentences rest."""

    comparisons: Sequence[Row]

    def kind(self, answer: Answer) -> str:
        """Return the kind of a sentence, by which it is ordered."""
        kind_by_code = {
            HINT_CODE: HINT,
            matched_answer.CODE: SAME_SPECIFICITY,
            unpredicted_classes.CODE: DEAD_CLASS,
            MISCALIBRATED_CODE: MISCALIBRATED,
            calibration_ranges.CODE: MISCALIBRATED,
            ADVICE_CODE: MISCALIBRATED,
            **dict.fromkeys(THRESHOLD_CODES, THRESHOLD),
            **dict.fromkeys(LEADER_CODES, LEADER),
        }
        if answer.code in COMPARED_CODES:
            verdicts = self._against_reference(answer)
            if answer.code == FURTHER_COMPARED_CODE and WORSE not in verdicts:
                return OTHER
            return BETTER_THAN if BETTER in verdicts and WORSE not in verdicts else COMPARED
        if answer.code == WITHIN_CODE:
            is_harm = WORSE in self._against_reference(answer)
            return WORSE_WITHIN if is_harm else NOT_WORSE_WITHIN
        if answer.code == SLICES_CODE:
            return WORSE_SLICE if self._has_worse_slice(answer) else NO_WORSE_SLICE
        if answer.code == HETEROGENEITY_CODE:
            return DECIDING_HETEROGENEITY
        return kind_by_code.get(answer.code, OTHER)

    def _against_reference(self, answer: Answer) -> set[object]:
        """Return the verdicts of a sentence on models and the reference."""
        compared_measures = (
            OPERATING_POINT if answer.code == "operating-point" else (answer.measure,)
        )
        in_slices = answer.code == WITHIN_CODE
        return {
            row["verdict"]
            for row in self.comparisons
            if row["against"] == "reference"
            and (row["slice"] is not None) == in_slices
            and row["measure"] in compared_measures
        }

    def _has_worse_slice(self, answer: Answer) -> bool:
        """Return whether a sentence on slices names one in which a model is worse."""
        return any(
            row["against"] == "slice" and row["verdict"] in HARMS and row["model"] in answer.models
            for row in self.comparisons
        )


def two_class_answer(
    sample: Sample,
    comparison_answers: Sequence[Answer],
    leader_answers: Sequence[Answer],
    unpredicted_answers: Sequence[Answer],
    tables: Mapping[str, Rows],
    options: ReportOptions,
) -> tuple[Answer, ...]:
    """Return the sentences on two classes, in order.

    comparison_answers: those on the reference and on slices. leader_answers: the one on the best
    model first. unpredicted_answers: those on classes that are never predicted.
    """
    leader_answer, *further_leader_answers = leader_answers
    has_heterogeneity = any(answer.code == HETEROGENEITY_CODE for answer in comparison_answers)
    answers = (
        *comparison_answers,
        *_threshold_answers(tables, leader_answer, options),
        *(leader_answer, *unpredicted_answers),
        *restrict_answers(further_leader_answers, options, shortened=has_heterogeneity),
    )
    ordered_answers = order_answers(answers, tables.get("comparisons", ()))
    return tuple(name_prevalences(ordered_answers, sample, options))


def _threshold_answers(
    tables: Mapping[str, Rows], leader_answer: Answer, options: ReportOptions
) -> tuple[Answer, ...]:
    """Return the sentences on chosen thresholds and on prevalences."""
    if not (options.uses_thresholds or options.populations):
        return ()
    from clfeval.methods.report.threshold_rules import threshold_answers

    return threshold_answers(tables, leader_answer.models, options.level)
