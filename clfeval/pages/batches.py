"""Pages of a batch, of a dry run and of a history of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from clfeval.document import Document, GateState, Severity
from clfeval.document.cells import EMPTY_ROW, Cell, Row, as_row, cell_text, cell_value
from clfeval.formatting import format_count, format_number, join_names
from clfeval.pages.chart import Axis, Chart, Mark, Note, Point, Series
from clfeval.pages.schema import Column, Page, Source, Table, TableView, cols, comparison_rows
from clfeval.placeholders import END, OPTION

VERDICTS = ("worse", "better", "changed")
STATES = (
    "computed",
    "gates met",
    "gate missed",
    "not computed",
    "left out",
    "ready",
    "ambiguous",
    "waits",
    "warned",
)
COMPUTED, MET, MISSED, FAILED, LEFT_OUT, READY, DOUBTFUL, WAITS, WARNED = STATES
RUN = Column("run", "text")
BATCH_TABLES = (
    Table(
        "runs",
        (
            RUN,
            *cols("text", "command"),
            *cols("text?", "input"),
            Column("state", "text", among=STATES),
            *cols("count", "code"),
            *cols("count?", "rows"),
            *cols("count", "gates missed warnings"),
            *cols("text?", "answer page"),
        ),
        when="",
    ),
    Table("answers", (RUN, *cols("text", "code text"))),
    Table(
        "gates",
        (
            RUN,
            *cols("text", "kind metric"),
            *cols("text?", "model slice"),
            *cols("number", "limit"),
            *cols("text?", "limit_text"),
            *cols("number?", "value"),
            *cols("count?", "among"),
            Column("severity", "text", among=get_args(Severity)),
            Column("state", "text?", among=get_args(GateState)),
            *cols("flag?", "passed"),
            *cols("text?", "reason"),
            *cols("text", "text"),
        ),
        when="",
    ),
    Table("problems", (RUN, *cols("text", "text")), when=""),
    Table("reading", (RUN, *cols("text", "column taken why"))),
    Table("files", (RUN, *cols("text", "use file"))),
)
BATCH_GLOSSARY = {
    "run": "name in the YAML file, with the values of the matrix or the file",
    "runs.command": "command of the run",
    "runs.input": "table that the run reads",
    "runs.state": "outcome of the run",
    "runs.code": "exit code of the run alone",
    "runs.gates": "number of gates",
    "missed": "number of missed gates",
    "runs.warnings": "number of missed gates that only warn",
    "runs.answer": "first error of the run, or the first sentence of its answer",
    "page": "the HTML page that the run wrote",
    "answers.code": "code of the sentence",
    "answers.text": "sentence of the answer",
    "gates.text": "the gate as a sentence",
    "problems.text": "line of an error",
    "limit_text": "the limit as written, if it is a percentage of the baseline",
    "severity": "whether a missed gate fails or only warns",
    "gates.state": "outcome of the gate",
    "among": "number of models of which one must meet the gate",
    "use": "read, write or append",
}


def batch_headline(result: Document) -> list[str]:
    """Return the headline: the files, and the number of runs."""
    names = ", ".join(file.name for file in result.inputs)
    kind = "Dry run of a batch" if result.parameters["dry_run"] else "Batch"
    return [f"{kind}: {names}, {format_count(result.summary['runs'], 'run')}"]


def batch_tables(result: Document, _: int) -> Iterator[TableView]:
    """Yield errors and the first sentence of each run, then the table of all runs."""
    tables = result.tables
    dry = result.parameters["dry_run"]
    if tables["problems"]:
        title = "Problems to fix" if dry else "Errors"
        yield TableView("problems", title, "run text", rank="asked")
    if dry:
        yield TableView("reading", "Columns as read", {"run": "run", **READING}, rank="asked")
        yield TableView("files", "Files", "run use file", rank="asked")
        if tables["gates"]:
            yield TableView("gates", "Gates", "run text", rank="asked")
    else:
        first = {row["run"]: row for row in reversed(tables["answers"])}
        rows = [first[row["run"]] for row in tables["runs"] if row["run"] in first]
        if rows:
            yield TableView("answers", "Summary", "run text", rows, name="first", rank="asked")
        yield TableView("answers", "All sentences of each run", "run text")
        if tables["gates"]:
            yield TableView("gates", "Gates", "run state text")
    counts = "" if dry else "missed warnings rows "
    heads: dict[str, Source] = {
        name: name for name in f"run state gates {counts}command input".split()
    }
    title = "Planned runs" if dry else "Runs"
    yield TableView("runs", title, heads, rank="main", most=1000, lead="state")


SUITE_PAGE = Page(
    "suite",
    BATCH_TABLES,
    batch_headline,
    batch_tables,
    lambda _: (),
    parts=("first",),
    glossary=BATCH_GLOSSARY,
)

READING = {"column": "column", "read as": "taken", "reason": "why"}
DRY_RUN_TABLES = (
    Table("reading", cols("text", "column taken why"), when=""),
    Table(
        "ambiguities",
        (
            *cols("text", "code"),
            *cols("text?", "file"),
            *cols("whole?", "row"),
            *cols("text?", "column"),
            *cols("text", "text"),
            *cols("text?", "hint"),
        ),
    ),
    Table("readings", cols("text", "meaning command"), when=""),
    Table("plan", cols("text", "what value"), when=""),
)


def dry_run_headline(result: Document) -> list[str]:
    """Return the headline: the command of the dry run."""
    return [f"Dry run of {result.parameters['of']}: nothing was computed"]


def dry_run_tables(result: Document, _: int) -> Iterator[TableView]:
    """Yield the tables, that of questions first if there are any."""
    title = "Columns as read"
    if result.tables["ambiguities"]:
        columns = {"problem": "text", "column": "column", "remedy": "hint"}
        yield TableView("ambiguities", "Ambiguities", columns, rank="asked", most=None)
        title += " with the suggested options"
    if result.tables["reading"]:
        yield TableView("reading", title, READING, rank="asked", most=None)
    if result.tables["plan"]:
        yield TableView("plan", "Planned computation", "what value", rank="asked")


DRY_RUN_PAGE = Page("dry-run", DRY_RUN_TABLES, dry_run_headline, dry_run_tables, lambda _: ())

LAST = 4  # last labels, always shown
MOVES = 7  # changes that are shown
GATE_MISSED = "gate missed"
CURVES = 8  # models of a chart
SEGMENTED = 3  # of them, with segment means
NAMED_LABELS = 4  # labels of a change that are named
TABLES = (
    Table(
        "steps",
        (
            *cols("text", "model measure"),
            *cols("text?", "since cause"),
            Column("verdict", "text", among=VERDICTS),
            *cols("text", "first until"),
            *cols("estimate", "old new difference"),
            *cols("number?", "p p_adjusted"),
        ),
        when="",
    ),
    Table("events", cols("text", "label model changed"), when=""),
    Table(
        "history",
        (
            *cols("text", "label model measure"),
            *cols("estimate", "value"),
            *cols("number?", "se"),
            *cols("estimate", "change"),
            Column("marks", "text*"),
            *cols("flag", "accepted"),
            *cols("flag?", "met"),
            *cols("number?", "limit"),
        ),
        when="",
    ),
)
GLOSSARY = {
    "history.change": "change since the line before, with the interval of independent samples",
    "since": "label from which on the mean of the measure is significantly different",
    "first": "label of the first line of the mean before the change",
    "until": "label of the last line of the mean before the change",
    "steps.old": "mean of the lines before the change",
    "steps.new": "mean of the lines from the change on",
    "steps.p": "p of the largest of all changes between two means",
    "cause": "what changed at that label: rows, model or settings",
    "changed": "rows: truth or ids differ; model: values differ on the same rows",
    "marks": "changes since the line before (rows, model, settings); accepted; gate missed",
    "accepted": "line that later results are compared with",
    "met": "whether its gates were met",
    "history.limit": "limit of a gate on the measure",
    "label": "name of a result in the history, such as a week",
    "measure": "measure of the model",
}


def headline(result: Document) -> list[str]:
    """Return the headline: command, file, and numbers of labels and models."""
    labels = format_count(result.summary["labels"], "label")
    models = format_count(result.summary["models"], "model")
    return [f"History of {result.parameters['of']} in {result.inputs[0].name}: {labels}, {models}"]


def _line_rows(result: Document) -> list[Row]:
    """Return a row for each of the last labels, and for changes, of a model with its measures."""
    lines: dict[tuple[Cell, Cell], dict[str, Cell]] = {}
    for row in result.tables["history"]:
        marks = row["marks"] if isinstance(row["marks"], list) else []
        all_marks = ", ".join([*marks, *(["accepted"] if row["accepted"] else [])])
        new_line: dict[str, Cell] = {
            "label": row["label"],
            "model": row["model"],
            "marks": all_marks,
        }
        line = lines.setdefault((row["label"], row["model"]), new_line)
        line[row["measure"]] = row["value"]
        if row["met"] is False and GATE_MISSED not in str(line["marks"]):
            line["marks"] = ", ".join(filter(None, (str(line["marks"]), GATE_MISSED)))
    labels = list(dict.fromkeys(label for label, _ in lines))
    last = set(labels[-LAST:])
    return [as_row(line) for line in lines.values() if line["marks"] or line["label"] in last]


def page_tables(result: Document, _: int) -> Iterator[TableView]:
    """Yield the tables: changes of leading measures and significant ones, then lines."""
    leading = result.parameters["leading"]
    steps = {(row["model"], row["measure"]): row for row in result.tables["steps"]}
    changes = comparison_rows(result, "label")
    rows = []
    for row in changes:
        step = steps.get((row["model"], row["measure"]), EMPTY_ROW)
        if row["measure"] in leading or step:
            rows.append(as_row({**row, "since": step.get("since"), "cause": step.get("cause")}))
    if rows:
        yield TableView(
            "comparisons",
            "Changes at the last label",
            {
                "model": "model",
                "measure": "measure",
                "change": "difference",
                "verdict": "verdict",
                "cause": "cause",
                "since": "since",
                "old": "old",
                "new": "new",
                "p, adjusted": "p_adjusted",
                "reference": "reference",
            },
            rows,
            rank="asked",
            lead="difference",
            most=MOVES,
            places=(),
            name="steps",
            legend=("p_adjusted", "cause", "since"),
            total=len(changes),
        )
    lines = _line_rows(result)
    columns: dict[str, Source] = {"label": "label", "model": "model", "event": "marks"}
    columns |= {measure: measure for measure in leading}
    title = (
        "Lines"
        if len(lines) == result.summary["labels"] * result.summary["models"]
        else f"Series: changes and the last {LAST} labels"
    )
    yield TableView(
        "history",
        title,
        columns,
        lines,
        rank="main",
        places=(),
        lead=leading[0] if leading else "",
        legend=("marks",),
        rest_hint=f"{OPTION}--format csv --show history{END}",
    )
    if result.tables["events"]:
        yield TableView("events", "Changes by label", "label model changed", legend=("changed",))


def page_charts(result: Document) -> Iterator[Chart]:
    """Yield the leading measures over the labels, a line for each model, and its segment means.

    The first chart marks changes of rows, models and settings, which are those of all charts.
    """
    labels = list(dict.fromkeys(row["label"] for row in result.tables["history"]))
    if len(labels) < 2:
        return
    places = {label: float(place) for place, label in enumerate(labels, start=1)}
    marks, note = _event_marks(result, places)
    axis = Axis(
        f"labels from {labels[0]} (1) to {labels[-1]} ({len(labels)})",
        range=(1.0, float(len(labels))),
    )
    for index, measure in enumerate(result.parameters["leading"]):
        points: dict[str, list[Point]] = {}
        for row in result.tables["history"]:
            if row["measure"] == measure and (value := cell_value(row["value"])) is not None:
                point = (places[row["label"]], value)
                points.setdefault(row["model"], []).append(point)
        curves = [Series(name, (tuple(curve),)) for name, curve in points.items()][:CURVES]
        yield Chart(
            "lines",
            f"{measure} by label",
            axis,
            series=(*curves, *_segment_means(result, measure, places)),
            marks=() if index else marks,
            key=() if index else note,
            left=len(points) - len(curves),
            name="trend",
            rank="detail" if index else "main",
        )


def _event_marks(
    result: Document, places: Mapping[str, float]
) -> tuple[tuple[Mark, ...], tuple[Note, ...]]:
    """Return marks of the labels at which something changed, and a note on them.

    places: of labels. Rows that differ at each label have no marks.
    """
    labels_by_change: dict[str, dict[str, None]] = {}
    for row in result.tables["events"]:
        labels_by_change.setdefault(cell_text(row["changed"]), {})[row["label"]] = None
    texts: list[str] = []
    names: list[str] = []
    letters: dict[str, str] = {}
    for changed, labels in labels_by_change.items():
        if len(labels) == len(places) - 1 > 1:
            texts.append(f"{changed}: different at each label")
            continue
        letter = changed[0].upper()
        texts.append(f"{letter}: {changed} changed at {{}}")
        names.append(join_names([*labels], most=NAMED_LABELS))
        letters |= dict.fromkeys(labels, letter)
    marks = tuple(Mark(letter, places[label]) for label, letter in letters.items())
    return marks, (Note("; ".join(texts), tuple(names)),) if texts else ()


def _segment_means(result: Document, measure: str, places: Mapping[str, float]) -> Iterator[Series]:
    """Yield the means before and after the change points of a measure, of a few models.

    places: of labels.
    """
    steps = [row for row in result.tables["steps"] if row["measure"] == measure]
    last = str(result.parameters["last"])
    for row in steps[:SEGMENTED]:
        first, until, since = (str(row[name]) for name in ("first", "until", "since"))
        middle = places[since] - 0.5
        model = f"{row['model']}: " if result.summary["models"] > 1 else ""
        for mean, start, stop, labels in (
            (row["old"], places[first], middle, _label_range(first, until)),
            (row["new"], middle, places[last], _label_range(since, last)),
        ):
            y = cell_value(mean) or 0.0
            name = f"{model}{format_number(y)} ({labels})"
            yield Series(name, (((start, y), (stop, y)),), letter="-")


def _label_range(first: str, last: str) -> str:
    """Return the words on the labels from one to another."""
    return first if first == last else f"{first} to {last}"


HISTORY_PAGE = Page(
    "history", TABLES, headline, page_tables, page_charts, plots=("trend",), glossary=GLOSSARY
)
