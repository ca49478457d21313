"""The sentence on models at the specificity of a reference that has labels only."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.compare.change import BETTER, UNDECIDED, WORSE
from clfeval.document import Answer
from clfeval.document.cells import Row, as_estimate, cell_number, cell_text
from clfeval.formatting import (
    describe_reference,
    format_count,
    format_difference,
    format_number,
    format_p_value,
    join_names,
    join_words,
    quote_if_ambiguous,
)
from clfeval.methods.report.matched_operating_point import FEW_NEGATIVES, MEASURE

CODE = "same-specificity"
MAX_DETAILED = 2  # models with their values, where they are no worse
MAX_DETAILED_WORSE = 3  # models with their values, where they are worse
CLAIMS = {WORSE: "significantly fewer", BETTER: "significantly more"}


def put_same_specificity_first(
    answers: Sequence[Answer], rows: Sequence[Row], reference: str | None, level: float
) -> list[Answer]:
    """Return the sentences on a reference, after that on models at its specificity if any."""
    if not rows or reference is None:
        return [*answers]
    return [same_specificity_answer(rows, reference, level), *answers]


def same_specificity_answer(rows: Sequence[Row], reference: str, level: float) -> Answer:
    """Return the sentence on models at the specificity of a reference: the worst harms first."""
    reference_name = describe_reference(str(rows[0]["reference"]), reference)
    if all(row["method"] == FEW_NEGATIVES for row in rows):
        text = f"Models are not compared at the specificity of {reference_name}: "
        text += "it has fewer than 5 false positives or true negatives."
        return Answer(CODE, text, (), MEASURE)
    tested_rows = [row for row in rows if row["p_adjusted"] is not None]
    if not tested_rows:
        return _untested_answer(rows, reference_name)
    worse_rows = [row for row in tested_rows if row["verdict"] == WORSE]
    better_rows = [row for row in tested_rows if row["verdict"] == BETTER]
    undecided_rows = [row for row in tested_rows if row["verdict"] == UNDECIDED]
    worse_rows.sort(key=lambda row: as_estimate(row["difference"]).value or 0.0)
    undecided_sentences = _undecided_sentences(undecided_rows, level)
    answer_texts = list[str]()
    for detailed_count in (MAX_DETAILED_WORSE, 1):
        sentences = _verdict_sentences(worse_rows, detailed_count, level)
        sentences += _verdict_sentences(better_rows, min(detailed_count, MAX_DETAILED), level)
        sentences += undecided_sentences
        sentences[0] = f"{_operating_point(rows, reference_name)}, {sentences[0]}"
        sentences += _equal_flagged_sentence(rows, reference_name)
        answer_texts.append(" ".join(f"{sentence}." for sentence in sentences))
    full_text, brief_text = answer_texts
    ranked_rows = (*worse_rows, *better_rows, *undecided_rows)
    difference = as_estimate(ranked_rows[0]["difference"])
    decided_models = tuple(row["model"] for row in (*worse_rows, *better_rows))
    return Answer(
        CODE,
        full_text,
        decided_models,
        MEASURE,
        difference.value,
        difference.low,
        difference.high,
        brief=brief_text,
        harm=bool(worse_rows),
    )


def _verdict_sentences(rows: Sequence[Row], detailed_count: int, level: float) -> list[str]:
    """Return the sentences on models of one verdict, with values of the first `detailed_count`."""
    sentences = [_significant_sentence(row, level) for row in rows[:detailed_count]]
    if further_rows := rows[detailed_count:]:
        verb = "detects" if len(further_rows) == 1 else "detect"
        claim = CLAIMS[str(further_rows[0]["verdict"])]
        sentences.append(f"{_names(further_rows)} also {verb} {claim} positives")
    return sentences


def _operating_point(rows: Sequence[Row], reference_name: str) -> str:
    """Return where models are compared: the specificity and the sensitivity of the reference."""
    if len({row["reference"] for row in rows}) > 1:
        return f"At the specificity of {reference_name}"
    specificity = _format_cell(rows[0], "specificity")
    sensitivity = _format_cell(rows[0], "reference_sensitivity")
    return f"At the specificity of {reference_name} ({specificity}; sensitivity {sensitivity})"


def _names(rows: Sequence[Row]) -> str:
    return join_names([row["model"] for row in rows])


def _significant_sentence(row: Row, level: float) -> str:
    """Return that a model detects significantly more, or fewer, positives."""
    model = quote_if_ambiguous(row["model"])
    claim = CLAIMS[cell_text(row["verdict"])]
    return f"{model} detects {claim} positives: {_format_sensitivity(row, level)}"


def _undecided_sentences(rows: Sequence[Row], level: float) -> list[str]:
    """Return that models are not significantly different, with the values of a single one."""
    if not rows:
        return []
    if len(rows) == 1:
        return [
            f"{_names(rows)} is not significantly different: {_format_sensitivity(rows[0], level)}"
        ]
    return [f"{_names(rows)} are not significantly different"]


def _format_sensitivity(row: Row, level: float) -> str:
    """Format the sensitivity of a model, and its difference with the adjusted interval and p."""
    difference = as_estimate(row["difference_adjusted"])
    adjusted = "" if difference == as_estimate(row["difference"]) else "adjusted "
    difference_text = format_difference(
        difference.value or 0.0, difference.low, difference.high, level
    )
    difference_text = difference_text.replace(" (", f", {adjusted}").rstrip(")")
    p = format_p_value(cell_number(row["p_adjusted"]))
    return f"{_format_cell(row, 'sensitivity')} ({difference_text}, {p})"


def _equal_flagged_sentence(rows: Sequence[Row], reference_name: str) -> list[str]:
    """Return what few models detect where they flag as many rows as the reference."""
    if len(rows) > MAX_DETAILED or len({row["flagged"] for row in rows}) > 1:
        return []
    sensitivity_texts = [_format_cell(row, "flagged_sensitivity") for row in rows]
    flagged_phrase = format_count(cell_number(rows[0]["flagged"]), "row")
    models = [quote_if_ambiguous(row["model"]) for row in rows]
    model_clauses = [
        f"{model} detects {sensitivity_text}"
        for model, sensitivity_text in zip(models, sensitivity_texts, strict=True)
    ]
    condition_clause = f"Flagging as many rows as {reference_name} ({flagged_phrase})"
    return [f"{condition_clause}, {join_words(model_clauses)}"]


def _format_cell(row: Row, column: str) -> str:
    return format_number(cell_number(row[column]))


def _untested_answer(rows: Sequence[Row], reference_name: str) -> Answer:
    """Return the sentence with values of models that are not tested, and the reason."""
    model_clauses = [
        f"{quote_if_ambiguous(str(row['model']))} {_format_cell(row, 'sensitivity')}"
        for row in rows
        if row["sensitivity"] is not None
    ]
    reason = str(rows[0]["method"]).removeprefix("none: ")
    lead_clause = f"{_operating_point(rows, reference_name)}, models have sensitivity"
    text = f"{lead_clause}: {join_words(model_clauses)}. No significance test: {reason}."
    return Answer(CODE, text, (), MEASURE)
