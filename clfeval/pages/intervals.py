"""Charts of intervals that several commands share: the deciding measure of each model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from clfeval.document import Answer, Document, Estimate, Row, as_estimate, cell_value
from clfeval.formatting import format_number
from clfeval.measures.catalog import CATALOG, measure_title
from clfeval.pages.chart import Axis, Chart, Guide, Series
from clfeval.pages.schema import GATE_CODES
from clfeval.pages.table_parts import best_and_tied_signs, sort_by_column


def deciding_measure(result: Document) -> str:
    """Return the measure of the first sentence that is in the main table, else its first one."""
    rows = next(iter(result.tables.values()), ())
    known = [name for name, cell in rows[0].items() if isinstance(cell, Estimate)] if rows else []
    said = (one.measure for one in result.answer if one.code not in GATE_CODES)
    defined = (name for name in known if any(cell_value(row[name]) is not None for row in rows))
    return next((one for one in said if one in known), next(defined, "")) or ""


def leading_models(result: Document, most: int) -> list[str]:
    """Return the best model and those tied with it, by the main table."""
    rows = sort_by_column(result.whole("models"), deciding_measure(result))
    tied = [str(row["model"]) for row in rows if row.get("tied")]
    return (tied or [str(row["model"]) for row in rows[:1]])[:most]


def sentence(result: Document, *codes: str) -> str:
    """Return the sentences of the answer with these codes."""
    said: list[Answer] = [one for one in result.answer if one.code in codes]
    return " ".join(one.text for one in said)


def title_of(measure: str) -> str:
    """Return the title of a measure."""
    return measure_title(measure, None) if measure in CATALOG else measure.replace("_", " ")


def interval_words(one: Estimate, digits: int = 3) -> str:
    """Return a value and its limits for the end of a row."""
    if one.value is None:
        return "undefined"
    if one.low is None or one.high is None:
        return format_number(one.value, digits)
    low, high = format_number(one.low, digits), format_number(one.high, digits)
    return f"{format_number(one.value, digits)} [{low}, {high}]".replace("-", "−")


def interval_row(name: str, cell: object, **more: str) -> Series:
    """Return the row of an estimate in a chart of intervals."""
    one = as_estimate(cell)
    made = Series(
        name, values=(one.value,), spans=((one.low, one.high),), words=interval_words(one)
    )
    return replace(made, **more)  # type: ignore[arg-type]


def intervals_of_models(result: Document, measure: str = "") -> Iterator[Chart]:
    """Yield each model's deciding measure with its interval, limits of gates, and who is tied."""
    measure = measure or deciding_measure(result)
    whole = result.whole("models")
    if not measure or not whole:
        return
    rows = sort_by_column(whole, measure)
    down = measure in CATALOG and CATALOG[measure].arrow == "↓"
    rows = rows[::-1] if down else rows
    signs = best_and_tied_signs(rows) if "tied" in rows[0] else _signs_of_answer(result, rows)
    series = tuple(
        interval_row(str(row["model"]), row[measure], sign=sign)
        for row, sign in zip(rows, signs or [""] * len(rows), strict=True)
    )
    level = result.parameters.get("level")
    title = title_of(measure)
    title = f"{title[:1].upper()}{title[1:]}" if title[:1].isascii() else title
    title += f" with {100 * level:g}% confidence intervals" if level else ""
    key = "shaded: best, and not significantly different from it" if any(signs) else ""
    yield Chart(
        "intervals", title, Axis(key or title_of(measure)), series=series, name="forest",
        rank="main", finding=first_sentences(result), guides=tuple(_gate_limits(result, measure)),
    )  # fmt: skip


def _signs_of_answer(result: Document, rows: Sequence[Row]) -> list[str]:
    said = [one for one in result.answer if one.code not in GATE_CODES]
    best = {name for one in said[:1] for name in one.models}
    ties = [one for one in said if one.code == "not-significantly-different"]
    everyone = any("The other models" in one.text for one in ties)
    tied = {name for one in ties for name in one.models}
    return ["best" if row["model"] in best else "equal" if everyone or row["model"] in tied else ""
            for row in rows] if ties else []  # fmt: skip


def first_sentences(result: Document) -> str:
    """Return the first sentence of the answer, and who is not significantly different."""
    said = [one for one in result.answer if one.code not in GATE_CODES]
    also = [one.text for one in said[1:2] if one.code == "not-significantly-different"]
    return " ".join([*(one.text for one in said[:1]), *also])


def _gate_limits(result: Document, measure: str) -> Iterator[Guide]:
    signs = {"under": "≥", "over": "≤"}
    for gate in dict.fromkeys((g.kind, g.metric, g.limit, g.slice) for g in result.gates):
        kind, metric, limit, inside = gate
        sign = signs.get(kind.rpartition("-")[2])
        if sign and inside is None and metric in (measure, f"{measure}.low", f"{measure}.high"):
            part = metric.removeprefix(measure).replace(".", " ")
            yield Guide(f"gate{part} {sign} {limit:g}", x=limit, limit=True)
