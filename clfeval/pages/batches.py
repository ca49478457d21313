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
RUN = Column(
    "run", "text", meaning="name in the YAML file, with the values of the matrix or the file"
)
BATCH_TABLES = (
    Table(
        "runs",
        (
            RUN,
            Column("command", "text", meaning="command of the run"),
            Column("input", "text?", meaning="table that the run reads"),
            Column("state", "text", among=STATES, meaning="outcome of the run"),
            Column("code", "count", meaning="exit code of the run alone"),
            *cols("count?", "rows"),
            *cols(
                "count",
                {
                    "gates": "number of gates",
                    "missed": "number of missed gates",
                    "warnings": "number of missed gates that only warn",
                },
            ),
            *cols(
                "text?",
                {
                    "answer": "first error of the run, or the first sentence of its answer",
                    "page": "the HTML page that the run wrote",
                },
            ),
        ),
        when="",
    ),
    Table(
        "answers",
        (RUN, *cols("text", {"code": "code of the sentence", "text": "sentence of the answer"})),
    ),
    Table(
        "gates",
        (
            RUN,
            *cols("text", "kind metric"),
            *cols("text?", "model slice"),
            *cols("number", "limit"),
            Column(
                "limit_text",
                "text?",
                meaning="the limit as written, if it is a percentage of the baseline",
            ),
            *cols("number?", "value"),
            Column("among", "count?", meaning="number of models of which one must meet the gate"),
            Column(
                "severity",
                "text",
                among=get_args(Severity),
                meaning="whether a missed gate fails or only warns",
            ),
            Column("state", "text?", among=get_args(GateState), meaning="outcome of the gate"),
            *cols("flag?", "passed"),
            *cols("text?", "reason"),
            Column("text", "text", meaning="the gate as a sentence"),
        ),
        when="",
    ),
    Table("problems", (RUN, Column("text", "text", meaning="line of an error")), when=""),
    Table("reading", (RUN, *cols("text", "column taken why"))),
    Table(
        "files",
        (RUN, Column("use", "text", meaning="read, write or append"), *cols("text", "file")),
    ),
)


def batch_headline(result: Document) -> list[str]:
    """Return the headline: the files, and the number of runs."""
    names_text = ", ".join(file.name for file in result.inputs)
    kind_phrase = "Dry run of a batch" if result.parameters["dry_run"] else "Batch"
    return [f"{kind_phrase}: {names_text}, {format_count(result.summary['runs'], 'run')}"]


def batch_tables(result: Document, _: int) -> Iterator[TableView]:
    """Yield errors and the first sentence of each run, then the table of all runs."""
    tables = result.tables
    is_dry_run = result.parameters["dry_run"]
    if tables["problems"]:
        title = "Problems to fix" if is_dry_run else "Errors"
        yield TableView("problems", title, rank="asked")
    if is_dry_run:
        yield TableView("reading", "Columns as read", {"run": "run", **READING}, rank="asked")
        yield TableView("files", "Files", rank="asked")
        if tables["gates"]:
            yield TableView("gates", "Gates", "run text", rank="asked")
    else:
        first_answer_of_run = {row["run"]: row for row in reversed(tables["answers"])}
        rows = [
            first_answer_of_run[row["run"]]
            for row in tables["runs"]
            if row["run"] in first_answer_of_run
        ]
        if rows:
            yield TableView("answers", "Summary", "run text", rows, name="first", rank="asked")
        yield TableView("answers", "All sentences of each run", "run text")
        if tables["gates"]:
            yield TableView("gates", "Gates", "run state text")
    count_columns = "" if is_dry_run else "missed warnings rows "
    columns: dict[str, Source] = {
        name: name for name in f"run state gates {count_columns}command input".split()
    }
    title = "Planned runs" if is_dry_run else "Runs"
    yield TableView("runs", title, columns, rank="main", most=1000, lead="state")


SUITE_PAGE = Page(
    "suite", BATCH_TABLES, batch_headline, batch_tables, lambda _: (), parts=("first",)
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
        yield TableView("plan", "Planned computation", rank="asked")


DRY_RUN_PAGE = Page("dry-run", DRY_RUN_TABLES, dry_run_headline, dry_run_tables, lambda _: ())

LAST_LABELS = 4  # last labels, always shown
MAX_CHANGES = 7  # changes that are shown
GATE_MISSED = "gate missed"
MAX_CURVES = 8  # models of a chart
MAX_SEGMENTED = 3  # of them, with segment means
NAMED_LABELS = 4  # labels of a change that are named
LABEL = Column("label", "text", meaning="name of a result in the history, such as a week")
MEASURE = Column("measure", "text", meaning="measure of the model")
TABLES = (
    Table(
        "steps",
        (
            *cols("text", "model"),
            MEASURE,
            *cols(
                "text?",
                {
                    "since": "label from which on the mean of the measure is significantly "
                    "different",
                    "cause": "what changed at that label: rows, model or settings",
                },
            ),
            Column("verdict", "text", among=VERDICTS),
            *cols(
                "text",
                {
                    "first": "label of the first line of the mean before the change",
                    "until": "label of the last line of the mean before the change",
                },
            ),
            *cols(
                "estimate",
                {
                    "old": "mean of the lines before the change",
                    "new": "mean of the lines from the change on",
                },
            ),
            *cols("estimate", "difference"),
            Column("p", "number?", meaning="p of the largest of all changes between two means"),
            *cols("number?", "p_adjusted"),
        ),
        when="",
    ),
    Table(
        "events",
        (
            LABEL,
            *cols("text", "model"),
            Column(
                "changed",
                "text",
                meaning="rows: truth or ids differ; model: values differ on the same rows",
            ),
        ),
        when="",
    ),
    Table(
        "history",
        (
            LABEL,
            *cols("text", "model"),
            MEASURE,
            *cols("estimate", "value"),
            *cols("number?", "se"),
            Column(
                "change",
                "estimate",
                meaning="change since the line before, with the interval of independent samples",
            ),
            Column(
                "marks",
                "text*",
                meaning="changes since the line before (rows, model, settings); accepted; gate "
                "missed",
            ),
            Column("accepted", "flag", meaning="line that later results are compared with"),
            Column("met", "flag?", meaning="whether its gates were met"),
            Column("limit", "number?", meaning="limit of a gate on the measure"),
        ),
        when="",
    ),
)


def headline(result: Document) -> list[str]:
    """Return the headline: command, file, and numbers of labels and models."""
    labels = format_count(result.summary["labels"], "label")
    models = format_count(result.summary["models"], "model")
    return [f"History of {result.parameters['of']} in {result.inputs[0].name}: {labels}, {models}"]


def _line_rows(result: Document) -> list[Row]:
    """Return a row for each model and label: of the last labels, and of those with marks."""
    cells_of_line: dict[tuple[Cell, Cell], dict[str, Cell]] = {}
    for row in result.tables["history"]:
        change_marks = row["marks"] if isinstance(row["marks"], list) else []
        all_marks = ", ".join([*change_marks, *(["accepted"] if row["accepted"] else [])])
        new_line: dict[str, Cell] = {
            "label": row["label"],
            "model": row["model"],
            "marks": all_marks,
        }
        cells = cells_of_line.setdefault((row["label"], row["model"]), new_line)
        cells[row["measure"]] = row["value"]
        if row["met"] is False and GATE_MISSED not in str(cells["marks"]):
            cells["marks"] = ", ".join(filter(None, (str(cells["marks"]), GATE_MISSED)))
    labels = list(dict.fromkeys(label for label, _ in cells_of_line))
    last_labels = set(labels[-LAST_LABELS:])
    return [
        as_row(cells)
        for cells in cells_of_line.values()
        if cells["marks"] or cells["label"] in last_labels
    ]


def page_tables(result: Document, _: int) -> Iterator[TableView]:
    """Yield the tables: changes of leading measures and significant ones, then lines."""
    leading_measures = result.parameters["leading"]
    step_of_measure = {(row["model"], row["measure"]): row for row in result.tables["steps"]}
    change_rows = comparison_rows(result, "label")
    rows = []
    for row in change_rows:
        step = step_of_measure.get((row["model"], row["measure"]), EMPTY_ROW)
        if row["measure"] in leading_measures or step:
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
            most=MAX_CHANGES,
            places=(),
            name="steps",
            legend=("cause", "since"),
            total=len(change_rows),
        )
    line_rows = _line_rows(result)
    columns: dict[str, Source] = {"label": "label", "model": "model", "event": "marks"}
    columns |= {measure: measure for measure in leading_measures}
    title = (
        "Lines"
        if len(line_rows) == result.summary["labels"] * result.summary["models"]
        else f"Series: changes and the last {LAST_LABELS} labels"
    )
    yield TableView(
        "history",
        title,
        columns,
        line_rows,
        rank="main",
        places=(),
        lead=leading_measures[0] if leading_measures else "",
        legend=("marks",),
        rest_hint=f"{OPTION}--format csv --show history{END}",
    )
    if result.tables["events"]:
        yield TableView("events", "Changes by label", legend=("changed",))


def page_charts(result: Document) -> Iterator[Chart]:
    """Yield the leading measures over the labels, a line for each model, and its segment means.

    The first chart marks changes of rows, models and settings, which are those of all charts.
    """
    labels = list(dict.fromkeys(row["label"] for row in result.tables["history"]))
    if len(labels) < 2:
        return
    position_of_label = {label: float(position) for position, label in enumerate(labels, start=1)}
    event_marks, event_notes = _event_marks(result, position_of_label)
    axis = Axis(
        f"labels from {labels[0]} (1) to {labels[-1]} ({len(labels)})",
        range=(1.0, float(len(labels))),
    )
    for chart_index, measure in enumerate(result.parameters["leading"]):
        points_of_model: dict[str, list[Point]] = {}
        for row in result.tables["history"]:
            if row["measure"] == measure and (value := cell_value(row["value"])) is not None:
                point = (position_of_label[row["label"]], value)
                points_of_model.setdefault(row["model"], []).append(point)
        curves = [Series(name, (tuple(curve),)) for name, curve in points_of_model.items()][
            :MAX_CURVES
        ]
        yield Chart(
            "lines",
            f"{measure} by label",
            axis,
            series=(*curves, *_segment_means(result, measure, position_of_label)),
            marks=() if chart_index else event_marks,
            key=() if chart_index else event_notes,
            left=len(points_of_model) - len(curves),
            name="trend",
            rank="detail" if chart_index else "main",
        )


def _event_marks(
    result: Document, position_of_label: Mapping[str, float]
) -> tuple[tuple[Mark, ...], tuple[Note, ...]]:
    """Return marks of the labels at which something changed, and a note on them.

    Rows that differ at each label have no marks.
    """
    labels_by_change: dict[str, dict[str, None]] = {}
    for row in result.tables["events"]:
        labels_by_change.setdefault(cell_text(row["changed"]), {})[row["label"]] = None
    clauses: list[str] = []
    names_of_labels: list[str] = []
    letter_of_label: dict[str, str] = {}
    for change, labels in labels_by_change.items():
        if len(labels) == len(position_of_label) - 1 > 1:
            clauses.append(f"{change}: different at each label")
            continue
        letter = change[0].upper()
        clauses.append(f"{letter}: {change} changed at {{}}")
        names_of_labels.append(join_names([*labels], most=NAMED_LABELS))
        letter_of_label |= dict.fromkeys(labels, letter)
    marks = tuple(
        Mark(letter, position_of_label[label]) for label, letter in letter_of_label.items()
    )
    return marks, (Note("; ".join(clauses), tuple(names_of_labels)),) if clauses else ()


def _segment_means(
    result: Document, measure: str, position_of_label: Mapping[str, float]
) -> Iterator[Series]:
    """Yield the means before and after the change points of a measure, of a few models."""
    steps = [row for row in result.tables["steps"] if row["measure"] == measure]
    last_label = str(result.parameters["last"])
    for row in steps[:MAX_SEGMENTED]:
        first_label, until_label, since_label = (
            str(row[name]) for name in ("first", "until", "since")
        )
        middle_x = position_of_label[since_label] - 0.5
        model_prefix = f"{row['model']}: " if result.summary["models"] > 1 else ""
        for mean, x_start, x_end, labels_text in (
            (
                row["old"],
                position_of_label[first_label],
                middle_x,
                _label_range(first_label, until_label),
            ),
            (
                row["new"],
                middle_x,
                position_of_label[last_label],
                _label_range(since_label, last_label),
            ),
        ):
            y = cell_value(mean) or 0.0
            name = f"{model_prefix}{format_number(y)} ({labels_text})"
            yield Series(name, (((x_start, y), (x_end, y)),), letter="-")


def _label_range(first_label: str, last_label: str) -> str:
    """Return the labels from one to another as text."""
    return first_label if first_label == last_label else f"{first_label} to {last_label}"


HISTORY_PAGE = Page("history", TABLES, headline, page_tables, page_charts, plots=("trend",))
