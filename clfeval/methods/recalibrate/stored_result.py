"""The Result of `recalibrate` with stored calibrators: the columns that they add to a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from hashlib import sha256

from clfeval.counts.invalid_rows import raise_found_problems
from clfeval.counts.settings import input_file, start_fingerprints
from clfeval.document import Answer, Document, ResultNote, Row
from clfeval.errors import DataError, bad_option, list_names, quote_name
from clfeval.formatting import format_count, format_exact
from clfeval.methods.provenance import build_signature, verdict_notes
from clfeval.methods.recalibrate.options import RecalibrateOptions
from clfeval.options.declaration import changed_options
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables.calibrator_files import CalibratorFile
from clfeval.tables.columns import CalibratedColumn
from clfeval.tables.input import Input
from clfeval.tables.invalid_cells import check_structure
from clfeval.tables.recalibrated_table import RecalibratedTable, ScoreFacts

# options on reading that apply to rows without truth
READING = ("input_format", "delimiter", "null_value", "decimal", "model", "positive", "dry_run")
HINTS = {
    "bad-number": f"correct the cells, or declare missing ones by {OPTION}--null-value{END}",
    "not-probabilities": "a calibrator needs probabilities; percentages need "
    f"{OPTION}--model NAME:percent{END}, log odds {OPTION}--model NAME:logit{END}",
}


def check_options(reading: Input, options: RecalibrateOptions) -> None:
    """Raise UsageError for options that do not apply to a table without truth."""
    refused = [option for option in changed_options(reading) if option.field not in READING]
    refused += [option for option in changed_options(options) if option.field != "calibrator"]
    if refused:
        flag = refused[0].flag
        message = f"{OPTION}{flag}{END} does not apply with {OPTION}--calibrator{END}"
        raise bad_option(message, f"leave out {OPTION}{flag}{END}")


def stored_result(
    table: RecalibratedTable, reading: Input, options: RecalibrateOptions
) -> Document:
    """Return what stored calibrators add to a table; its files are written when it is saved.

    Errors: DataError for another positive class than that of the file, and for cells that are no
    probabilities.
    """
    calibrators = table.calibrators
    if reading.positive not in (None, calibrators.positive):
        message = f"{calibrators.name} was fitted with positive class "
        message += f"{quote_name(calibrators.positive)}, not {quote_name(str(reading.positive))}"
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
            "positive": calibrators.positive,
            "model": [column.stored.model for column in table.added.values()],
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
    calibrators = [column.stored for column in table.added.values()]
    return replace(table.calibrators, calibrators=calibrators)


def _column_row(name: str, column: CalibratedColumn, facts: ScoreFacts) -> Row:
    """Return the row of an added column."""
    return {
        "model": column.stored.model,
        "method": column.stored.method,
        "column": name,
        "rows": facts.rows,
        "missing": facts.missing,
        "outside": facts.outside,
        "at_ends": facts.at_ends,
    }


def _answer(table: RecalibratedTable) -> Answer:
    """Return the sentence on the added columns."""
    names = [*table.added]
    verb = "has" if len(names) == 1 else "have"
    text = f"{list_names(names)} {verb} the scores as {table.calibrators.name} recalibrates them; "
    text += "the other columns are copied."
    return Answer("recalibrated", text, tuple(names))


def _notes(
    added: Mapping[str, CalibratedColumn], facts: Mapping[str, ScoreFacts]
) -> Iterator[ResultNote]:
    """Yield notes on scores outside the fitted range, at 0 and 1, or missing, and on verdicts."""
    beyond_range = [
        f"{quote_name(column.stored.model)} {format_count(facts[name].outside, 'row')} outside "
        + " to ".join(map(format_exact, column.stored.score_range))
        for name, column in added.items()
        if facts[name].outside
    ]
    if beyond_range:
        text = (
            f"scores are outside those that the calibrator was fitted to: {', '.join(beyond_range)}"
        )
        yield ResultNote("outside-fitted", text)
    at_ends = _row_counts(
        [
            (column.stored.model, facts[name].at_ends)
            for name, column in added.items()
            if column.stored.keeps_ends
        ]
    )
    if at_ends:
        yield ResultNote(
            "scores-at-ends", f"scores of exactly 0 and 1 keep their values: {at_ends}"
        )
    missing = _row_counts(
        [(column.stored.model, facts[name].missing) for name, column in added.items()]
    )
    if missing:
        yield ResultNote("missing-scores", f"missing scores stay missing: {missing}")
    yield from verdict_notes(added.values())


def _row_counts(rows_by_model: Sequence[tuple[str, int]]) -> str:
    """Return models with their numbers of rows, without those that have none."""
    return ", ".join(
        f"{quote_name(model)} {format_count(rows, 'row')}" for model, rows in rows_by_model if rows
    )
