"""The page of a history: changes, their labels and causes, lines of the leading measures."""

from __future__ import annotations

from collections.abc import Iterator

from clfeval.document import Cell, Document, Row, cell_value
from clfeval.formatting import format_count
from clfeval.pages.schema import (
    Axis,
    Chart,
    Column,
    Mark,
    Page,
    Point,
    Series,
    Source,
    Table,
    TableView,
    cols,
    comparison_rows,
)

LAST = 4  # last labels, always shown
MOVES = 8  # changes that are shown
GATE_MISSED = "gate missed"
CURVES = 8  # models of a chart
TABLES = (
    Table("steps", (*cols("text", "model measure"), *cols("text?", "since cause")), when=""),
    Table("events", cols("text", "label model changed"), when=""),
    Table("history", (
        *cols("text", "label model measure"), *cols("estimate", "value"), *cols("number?", "se"),
        *cols("estimate", "change"), Column("marks", "text*"), *cols("flag", "accepted"),
        *cols("flag?", "met"),
    ), when=""),
)  # fmt: skip
GLOSSARY = {
    "history.change": "change since the line before, with the interval of independent samples",
    "since": "label at which the measure changed (best fit of two means)",
    "cause": "what changed at that label: rows, model or settings",
    "changed": "rows: truth or ids differ; model: values differ on the same rows",
    "marks": "changes since the line before (rows, model, settings); accepted; gate missed",
    "accepted": "line that later results are compared with", "met": "whether its gates were met",
    "label": "name of a result in the history, such as a week", "measure": "measure of the model",
}  # fmt: skip


def headline(result: Document) -> list[str]:
    """Return the headline: command, file, and numbers of labels and models."""
    labels, models = (format_count(result.summary[f"{of}s"], of) for of in ("label", "model"))
    return [f"History of {result.parameters['of']} in {result.inputs[0].name}: {labels}, {models}"]


def _line_rows(result: Document) -> list[Row]:
    """Return a row for each of the last labels, and for changes, of a model with its measures."""
    found: dict[tuple[Cell, Cell], dict[str, Cell]] = {}
    for row in result.tables["history"]:
        marks = row["marks"] if isinstance(row["marks"], list) else []
        said = ", ".join([*marks, *(["accepted"] if row["accepted"] else [])])
        new = {"label": row["label"], "model": row["model"], "marks": said}
        line = found.setdefault((row["label"], row["model"]), new)
        line[str(row["measure"])] = row["value"]
        if row["met"] is False and GATE_MISSED not in str(line["marks"]):
            line["marks"] = ", ".join(filter(None, (str(line["marks"]), GATE_MISSED)))
    labels = list(dict.fromkeys(label for label, _ in found))
    last = set(labels[-LAST:])
    return [line for line in found.values() if line["marks"] or line["label"] in last]


def page_tables(result: Document, _: int) -> Iterator[TableView]:
    """Yield the tables: changes of leading measures and significant ones, then lines."""
    leading = result.parameters["leading"]
    steps = {(row["model"], row["measure"]): row for row in result.tables["steps"]}
    changes, none = comparison_rows(result, "label"), {"since": None, "cause": None}
    rows = [
        {**row, **steps.get((row["model"], row["measure"]), none)}
        for row in changes
        if row["measure"] in leading or (row["model"], row["measure"]) in steps
    ]
    if rows:
        yield TableView(
            "comparisons", "Changes at the last label", {
                "model": "model", "measure": "measure", "change": "difference",
                "verdict": "verdict", "cause": "cause", "since": "since", "old": "old",
                "new": "new", "p, adjusted": "p_adjusted", "reference": "reference",
            }, rows, rank="asked", lead="difference", most=MOVES, places=(), name="steps",
            legend=("p_adjusted", "cause", "since"), total=len(changes),
        )  # fmt: skip
    lines = _line_rows(result)
    columns: dict[str, Source] = {"label": "label", "model": "model", "event": "marks"}
    columns |= {measure: measure for measure in leading}
    title = "Lines" if len(lines) == result.summary["labels"] * result.summary["models"] else (
        f"Lines with changes, and the last {LAST} labels"
    )  # fmt: skip
    yield TableView(
        "history", title, columns, lines, rank="main",
        places=(), lead=leading[0] if leading else "", legend=("marks",),
        more="--format csv --show history",
    )  # fmt: skip
    if result.tables["events"]:
        yield TableView("events", "Changes by label", "label model changed", legend=("changed",))


def page_charts(result: Document) -> Iterator[Chart]:
    """Yield the leading measures over the labels, a line for each model."""
    labels = list(dict.fromkeys(str(row["label"]) for row in result.tables["history"]))
    if len(labels) < 2:
        return
    place = {label: i for i, label in enumerate(labels, start=1)}
    changed = {str(row["label"]): str(row["changed"])[0].upper() for row in result.tables["events"]}
    marks = tuple(Mark(letter, float(place[label])) for label, letter in changed.items())
    axis = Axis(f"labels from {labels[0]} (1) to {labels[-1]} ({len(labels)})",
                ends=(1.0, float(len(labels))))  # fmt: skip
    for index, measure in enumerate(result.parameters["leading"]):
        points: dict[str, list[Point]] = {}
        for row in result.tables["history"]:
            if row["measure"] == measure and (value := cell_value(row["value"])) is not None:
                at = float(place[str(row["label"])])
                points.setdefault(str(row["model"]), []).append((at, value))
        series = tuple(Series(name, (tuple(found),)) for name, found in points.items())[:CURVES]
        yield Chart(
            "lines", f"{measure} by label", axis, series=series, marks=marks,
            left=len(points) - len(series), name="trend", rank="detail" if index else "main",
        )  # fmt: skip


PAGE = Page(
    "history", TABLES, headline, page_tables, page_charts, plots=("trend",), glossary=GLOSSARY
)
