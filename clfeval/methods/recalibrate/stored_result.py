"""The Result of `recalibrate` with stored calibrators: the columns that they add to a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from hashlib import sha256

from clfeval.counts.invalid_rows import raise_found_problems
from clfeval.counts.settings import input_file, start_fingerprints
from clfeval.document import Answer, Document, ResultNote
from clfeval.document.cells import Row, as_row
from clfeval.errors import DataError, bad_option, join_texts, list_names, quote_name
from clfeval.formatting import format_count, format_exact
from clfeval.methods.provenance import build_signature, verdict_notes
from clfeval.methods.recalibrate.options import RecalibrateOptions
from clfeval.options.declaration import changed_options
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables.calibrator_files import CalibratorFile
from clfeval.tables.columns import CalibratedColumn
from clfeval.tables.input import InputOptions
from clfeval.tables.invalid_cells import check_structure
from clfeval.tables.recalibrated_table import RecalibratedTable, ScoreFacts

# options on reading that apply to rows without truth
READING = ("input_format", "delimiter", "null_value", "decimal", "model", "positive", "dry_run")
HINTS = {
    "bad-number": f"correct the cells, or declare missing ones by {OPTION}--null-value{END}",
    "not-probabilities": "a calibrator needs probabilities; percentages need "
    f"{OPTION}--model NAME:percent{END}, log odds {OPTION}--model NAME:logit{END}",
}


def check_options(input_options: InputOptions, options: RecalibrateOptions) -> None:
    """Raise UsageError for options that do not apply to a table without truth."""
    refused_options = [
        option for option in changed_options(input_options) if option.field not in READING
    ]
    refused_options += [
        option for option in changed_options(options) if option.field != "calibrator"
    ]
    if refused_options:
        flag = refused_options[0].flag
        message = f"{OPTION}{flag}{END} does not apply with {OPTION}--calibrator{END}"
        raise bad_option(message, f"leave out {OPTION}{flag}{END}")


def stored_result(
    table: RecalibratedTable, input_options: InputOptions, options: RecalibrateOptions
) -> Document:
    """Return what stored calibrators add to a table; its files are written when it is saved.

    Errors: DataError for another positive class than that of the file, and for cells that are no
    probabilities.
    """
    calibrators = table.calibrators
    if input_options.positive is not None and calibrators.classes:
        message = f"{OPTION}--positive{END} does not apply, as {calibrators.name} is of "
        message += f"{len(calibrators.classes)} classes"
        raise bad_option(message, f"leave out {OPTION}--positive{END}")
    if input_options.positive not in (None, calibrators.positive):
        message = f"{calibrators.name} was fitted with positive class "
        requested_class = quote_name(str(input_options.positive))
        message += f"{quote_name(calibrators.positive)}, not {requested_class}"
        raise DataError.new(message, "other-positive", table.files[0].name)
    tasks = start_fingerprints(table.files)
    facts_by_file = table.facts()
    check_structure(table.files, tasks)
    if any(facts.invalid for by_name in facts_by_file for facts in by_name.values()):
        raise_found_problems(table.files, table.problems(), HINTS)
    files = [
        input_file(file, task, next(iter(by_name.values())).rows)
        for file, task, by_name in zip(table.files, tasks, facts_by_file, strict=True)
    ]
    facts = {
        name: reduce(ScoreFacts.__add__, (by_name[name] for by_name in facts_by_file))
        for name in table.added
    }
    return Document(
        command="recalibrate",
        signature=build_signature(
            "cmd pos",
            {"cmd": "recalibrate", "pos": calibrators.positive},
            options,
            files=files,
            statistics=sha256(f"{calibrators.to_json()}{facts}".encode()).hexdigest(),
        ),
        inputs=tuple(files),
        parameters={
            "calibrator": calibrators.name,
            "positive": calibrators.positive or None,
            **({"classes": list(calibrators.classes)} if calibrators.classes else {}),
            "model": [column.stored.model for column in table.columns.calibrated.values()],
        },
        summary={"rows": sum(file.rows for file in files)},
        tables={
            "columns": [
                _column_row(name, column, facts[name]) for name, column in table.added.items()
            ]
        },
        answer=(_answer(table),),
        extras={"recalibrated": table, "calibrators": _applied_calibrators(table)},
        warnings=tuple(_notes(table.added, facts)),
    )


def _applied_calibrators(table: RecalibratedTable) -> CalibratorFile:
    """Return the calibrators of the added columns."""
    calibrators = [column.stored for column in table.columns.calibrated.values()]
    return replace(table.calibrators, calibrators=calibrators)


def _column_row(name: str, column: CalibratedColumn, facts: ScoreFacts) -> Row:
    """Return the row of an added column."""
    return as_row(
        {
            "model": column.stored.model,
            "method": column.stored.method,
            "column": name,
            "rows": facts.rows,
            "missing": facts.missing,
            "outside": facts.outside_range,
            "at_ends": facts.at_ends,
        }
    )


def _answer(table: RecalibratedTable) -> Answer:
    """Return the sentence on the added columns."""
    column_names = [*table.added]
    verb = "has" if len(column_names) == 1 else "have"
    columns_phrase = list_names(column_names)
    if table.calibrators.classes:
        columns_by_model = [[*column.class_columns] for column in table.columns.calibrated.values()]
        range_texts = [
            f"{quote_name(class_columns[0])} to {quote_name(class_columns[-1])}"
            for class_columns in columns_by_model
        ]
        columns_phrase = f"The columns {join_texts(range_texts)}"
    text = f"{columns_phrase} {verb} the scores as {table.calibrators.name} recalibrates them; "
    text += "the other columns are copied."
    return Answer("recalibrated", text, tuple(column_names))


def _notes(
    added: Mapping[str, CalibratedColumn], facts: Mapping[str, ScoreFacts]
) -> Iterator[ResultNote]:
    """Yield notes on scores outside the fitted range, at 0 and 1, or missing, and on verdicts."""
    score_ranges = {column.stored.model: column.stored.score_range for column in added.values()}
    outside_texts = _most_rows(
        added, {name: column_facts.outside_range for name, column_facts in facts.items()}
    )
    if outside_texts:
        text = "scores are outside those that the calibrator was fitted to: "
        text += ", ".join(
            f"{rows} outside {' to '.join(map(format_exact, score_ranges[model]))}"
            for model, rows in outside_texts.items()
        )
        yield ResultNote("outside-fitted", text)
    unchanged_columns = {name: column for name, column in added.items() if column.stored.keeps_ends}
    end_texts = _most_rows(
        unchanged_columns, {name: facts[name].at_ends for name in unchanged_columns}
    )
    if end_texts:
        text = f"scores of exactly 0 and 1 keep their values: {', '.join(end_texts.values())}"
        yield ResultNote("scores-at-ends", text)
    missing_texts = _most_rows(
        added, {name: column_facts.missing for name, column_facts in facts.items()}
    )
    if missing_texts:
        text = f"missing scores stay missing: {', '.join(missing_texts.values())}"
        yield ResultNote("missing-scores", text)
    yield from verdict_notes(added.values())


def _most_rows(
    added: Mapping[str, CalibratedColumn], rows_by_column: Mapping[str, int]
) -> dict[str, str]:
    """Return the largest number of rows of a column of each model, as text, where it is above 0."""
    count_texts = dict[str, str]()
    rows_by_model = dict[str, list[int]]()
    for column_name, column in added.items():
        rows_by_model.setdefault(column.stored.model, []).append(rows_by_column[column_name])
    for model, column_rows in rows_by_model.items():
        prefix = "up to " if len(column_rows) > 1 else ""
        if any(column_rows):
            count_text = format_count(max(column_rows), "row")
            count_texts[model] = f"{quote_name(model)} {prefix}{count_text}"
    return count_texts
