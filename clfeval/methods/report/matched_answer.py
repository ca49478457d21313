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
SPELT_OUT = 2  # models with their values, where they are no worse
HARMS = 3  # models with their values, where they are worse
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
    name = describe_reference(str(rows[0]["reference"]), reference)
    if all(row["method"] == FEW_NEGATIVES for row in rows):
        text = f"Models are not compared at the specificity of {name}: it has fewer than 5 false "
        return Answer(CODE, f"{text}positives or true negatives.", (), MEASURE)
    tested = [row for row in rows if row["p_adjusted"] is not None]
    if not tested:
        return _untested_answer(rows, name)
    harms = [row for row in tested if row["verdict"] == WORSE]
    gains = [row for row in tested if row["verdict"] == BETTER]
    equal = [row for row in tested if row["verdict"] == UNDECIDED]
    harms.sort(key=lambda row: as_estimate(row["difference"]).value or 0.0)
    undecided = _undecided_sentences(equal, level)
    texts = list[str]()
    for most in (HARMS, 1):
        sentences = _named_sentences(harms, most, level)
        sentences += _named_sentences(gains, min(most, SPELT_OUT), level)
        sentences += undecided
        sentences[0] = f"{_operating_point(rows, name)}, {sentences[0]}"
        sentences += _equal_flagged_sentence(rows, name)
        texts.append(" ".join(f"{sentence}." for sentence in sentences))
    ranked = (*harms, *gains, *equal)
    difference = as_estimate(ranked[0]["difference"])
    models = tuple(row["model"] for row in (*harms, *gains))
    return Answer(
        CODE,
        texts[0],
        models,
        MEASURE,
        difference.value,
        difference.low,
        difference.high,
        brief=texts[1],
        harm=bool(harms),
    )


def _named_sentences(rows: Sequence[Row], most: int, level: float) -> list[str]:
    """Return the sentences on models of one verdict, with their values for the first ones."""
    sentences = [_significant_sentence(row, level) for row in rows[:most]]
    if further := rows[most:]:
        verb = "detects" if len(further) == 1 else "detect"
        claim = CLAIMS[str(further[0]["verdict"])]
        sentences.append(f"{_names(further)} also {verb} {claim} positives")
    return sentences


def _operating_point(rows: Sequence[Row], name: str) -> str:
    """Return where models are compared: the specificity and the sensitivity of the reference."""
    if len({row["reference"] for row in rows}) > 1:
        return f"At the specificity of {name}"
    specificity = _format_cell(rows[0], "specificity")
    sensitivity = _format_cell(rows[0], "reference_sensitivity")
    return f"At the specificity of {name} ({specificity}; sensitivity {sensitivity})"


def _names(rows: Sequence[Row]) -> str:
    return join_names([row["model"] for row in rows])


def _significant_sentence(row: Row, level: float) -> str:
    """Return that a model detects significantly more, or fewer, positives."""
    model = quote_if_ambiguous(row["model"])
    claim = CLAIMS[cell_text(row["verdict"])]
    return f"{model} detects {claim} positives: {_values(row, level)}"


def _undecided_sentences(rows: Sequence[Row], level: float) -> list[str]:
    """Return that models are not significantly different, with the values of a single one."""
    if not rows:
        return []
    if len(rows) == 1:
        return [f"{_names(rows)} is not significantly different: {_values(rows[0], level)}"]
    return [f"{_names(rows)} are not significantly different"]


def _values(row: Row, level: float) -> str:
    """Format the sensitivity of a model, and its difference with the adjusted interval and p."""
    difference = as_estimate(row["difference_adjusted"])
    adjusted = "" if difference == as_estimate(row["difference"]) else "adjusted "
    text = format_difference(difference.value or 0.0, difference.low, difference.high, level)
    text = text.replace(" (", f", {adjusted}").rstrip(")")
    p = format_p_value(cell_number(row["p_adjusted"]))
    return f"{_format_cell(row, 'sensitivity')} ({text}, {p})"


def _equal_flagged_sentence(rows: Sequence[Row], name: str) -> list[str]:
    """Return what few models detect where they flag as many rows as the reference."""
    if len(rows) > SPELT_OUT or len({row["flagged"] for row in rows}) > 1:
        return []
    values = [_format_cell(row, "flagged_sensitivity") for row in rows]
    flagged = format_count(cell_number(rows[0]["flagged"]), "row")
    verb = "detects" if len(rows) == 1 else "detect"
    models = [quote_if_ambiguous(row["model"]) for row in rows]
    if len(rows) == 1:
        return [f"Flagging as many rows as {name} ({flagged}), {models[0]} {verb} {values[0]}"]
    parts = [f"{model} detects {value}" for model, value in zip(models, values, strict=True)]
    return [f"Flagging as many rows as {name} ({flagged}), {join_words(parts)}"]


def _format_cell(row: Row, column: str) -> str:
    return format_number(cell_number(row[column]))


def _untested_answer(rows: Sequence[Row], name: str) -> Answer:
    """Return the sentence with values of models that are not tested, and the reason."""
    parts = [
        f"{quote_if_ambiguous(str(row['model']))} {_format_cell(row, 'sensitivity')}"
        for row in rows
        if row["sensitivity"] is not None
    ]
    reason = str(rows[0]["method"]).removeprefix("none: ")
    text = f"{_operating_point(rows, name)}, models have sensitivity: {join_words(parts)}. "
    return Answer(CODE, f"{text}No significance test: {reason}.", (), MEASURE)
