"""Charts of intervals that several commands share: the deciding measure of each model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clfeval.document import Document
from clfeval.document.cells import Estimate, Row, as_estimate
from clfeval.formatting import DIGITS, candidates_first, format_number, is_reference
from clfeval.measures.catalog import CATALOG, measure_title
from clfeval.pages.chart import Axis, Chart, Series
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import GATE_CODES, Sign
from clfeval.pages.table_parts import best_and_tied_signs, format_interval, sort_by_column

FOREST = "forest"  # the picture of intervals of models


def deciding_measure(result: Document) -> str:
    """Return the leading column of the main table, by which the answer names the best model."""
    views = page_of(result.command).views(result, DIGITS)
    return next((view.lead for view in views if view.rank == "main" and view.lead), "")


def leading_models(result: Document, most: int) -> list[str]:
    """Return at most `most` models: the best and those tied with it, by the main table.

    With a reference, the best model that is compared with it, the reference, and the others.
    """
    rows = sort_by_column(result.unsliced_rows("models"), deciding_measure(result))
    reference = result.parameters.get("reference")
    names = [row["model"] for row in rows]
    if any(is_reference(name, reference) for name in names):
        return candidates_first(names, reference)[:most]
    tied_models = [
        row["model"] for row, sign in zip(rows, _signs(result, rows), strict=True) if sign
    ]
    return (tied_models or [row["model"] for row in rows[:1]])[:most]


def sentences_on(result: Document, *codes: str) -> str:
    """Return the sentences of the answer with these codes."""
    return " ".join(sentence.text for sentence in result.answer if sentence.code in codes)


def best_sentence(result: Document) -> str:
    """Return the sentence on the best model by the deciding measure, and who is tied with it."""
    measure = deciding_measure(result)
    unwanted_codes = {*GATE_CODES, "compared", "slices", "within", "heterogeneity", "corrected"}
    sentences = [sentence for sentence in result.answer if sentence.code not in unwanted_codes]
    measures = [sentence.measure for sentence in sentences]
    if measure not in measures:
        return ""
    first_index = measures.index(measure)
    texts = [sentences[first_index].text]
    for sentence in sentences[first_index + 1 : first_index + 2]:
        if sentence.code in ("not-significantly-different", "significantly-worse"):
            texts.append(sentence.text)
    return " ".join(texts)


def title_of(measure: str) -> str:
    """Return the title of a measure, of two classes sensitivity instead of recall."""
    measure = "sensitivity" if measure == "recall" else measure
    return measure_title(measure, None) if measure in CATALOG else measure.replace("_", " ")


def heading_of(measure: str) -> str:
    """Return the title of a measure with a capital, but for Greek letters."""
    title = title_of(measure)
    return f"{title[:1].upper()}{title[1:]}" if title[:1].isascii() else title


def interval_words(estimate: Estimate) -> str:
    """Return a value and its limits for the end of a row."""
    value_text = "undefined" if estimate.value is None else format_number(estimate.value)
    return f"{value_text} {format_interval(estimate)}".rstrip().replace("-", "−")


def interval_row(name: str, cell: object, suffix: str = "", sign: Sign = "") -> Series:
    """Return the row of an estimate in a chart of intervals; suffix: words after its numbers."""
    estimate = as_estimate(cell)
    words = f"{interval_words(estimate)}{suffix}"
    limits = (estimate.low, estimate.high)
    return Series(name, values=(estimate.value,), words=words, spans=(limits,), sign=sign)


def intervals_of_models(result: Document) -> Iterator[Chart]:
    """Yield each model's deciding measure with its interval, and who is tied."""
    measure = deciding_measure(result)
    models = result.unsliced_rows("models")
    if not measure or not models or measure not in models[0]:
        return
    rows = sort_by_column(models, measure)
    rows = rows[::-1] if measure in CATALOG and CATALOG[measure].arrow == "↓" else rows
    signs = _signs(result, rows)
    rows_of_chart = tuple(
        interval_row(row["model"], row[measure], sign=sign)
        for row, sign in zip(rows, signs, strict=True)
    )
    title = heading_of(measure)
    level = result.parameters.get("level")
    finding = (
        best_sentence(result) or f"{title} of {rows_of_chart[0].name}: {rows_of_chart[0].words}."
    )
    if level and any(model.spans[0] != (None, None) for model in rows_of_chart):
        title += f" with {100 * level:g}% confidence intervals"
    sign_key = "shaded: best, and not significantly different from it" if any(signs) else ""
    yield Chart(
        "intervals",
        title,
        Axis(sign_key or title_of(measure)),
        series=rows_of_chart,
        name=FOREST,
        rank="main",
        finding=finding,
    )


def _signs(result: Document, rows: Sequence[Row]) -> Sequence[Sign]:
    """Return the sign of each row's model: from the table, else from the answer's sentences."""
    no_signs: list[Sign] = [""] * len(rows)
    if rows and "tied" in rows[0]:
        return best_and_tied_signs(rows) or no_signs
    measure = deciding_measure(result)
    tie_sentences = [
        sentence for sentence in result.answer if sentence.code == "not-significantly-different"
    ]
    best_sentences = [sentence for sentence in result.answer if sentence.measure == measure][:1]
    if not tie_sentences or not best_sentences:
        return no_signs
    sign_of_model: dict[str, Sign] = {
        name: "equal" for sentence in tie_sentences for name in sentence.models
    }
    sign_of_model |= dict.fromkeys(best_sentences[0].models, "best")
    return [sign_of_model.get(row["model"], "") for row in rows]
