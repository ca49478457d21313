"""The texts of a result with the placeholders of options filled for the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from clfeval.document import Answer, Document, ResultNote
from clfeval.document.cells import Cell, Row, Rows, as_row
from clfeval.pages.schema import DRY_RUN
from clfeval.records import replace

D = TypeVar("D", bound=Document)


def fill_result(
    result: D, fill: Callable[[str], str], further_notes: Sequence[ResultNote] = ()
) -> D:
    """Return a result with the placeholders of its answer, notes and further results filled.

    A dry run has texts in its tables, too. further_notes: put after those of the result.
    """
    filled_answer = tuple(_fill_sentence(sentence, fill) for sentence in result.answer)
    notes = (*result.warnings, *further_notes)
    filled_warnings = tuple(replace(note, message=fill(note.message)) for note in notes)
    return replace(
        result,
        answer=filled_answer,
        warnings=filled_warnings,
        methods={
            name: fill_result(method_result, fill) for name, method_result in result.methods.items()
        },
        tables=_fill_tables(result.tables, fill) if result.command == DRY_RUN else result.tables,
    )


def _fill_sentence(sentence: Answer, fill: Callable[[str], str]) -> Answer:
    filled_omissions = tuple(
        _fill_sentence(omitted_sentence, fill) for omitted_sentence in sentence.left_out
    )
    return replace(
        sentence, text=fill(sentence.text), brief=fill(sentence.brief), left_out=filled_omissions
    )


def _fill_tables(tables: Mapping[str, Rows], fill: Callable[[str], str]) -> dict[str, Rows]:
    return {name: [as_row(_fill_row(row, fill)) for row in rows] for name, rows in tables.items()}


def _fill_row(row: Row, fill: Callable[[str], str]) -> dict[str, Cell]:
    return {key: fill(cell) if isinstance(cell, str) else cell for key, cell in row.items()}
