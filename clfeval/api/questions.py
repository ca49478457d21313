"""Dry runs and errors on ambiguous tables, with the options that resolve them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import zip_longest
from typing import Any, Protocol

from clfeval import __version__
from clfeval.document import Answer, Document
from clfeval.document.cells import Row, as_row
from clfeval.errors import (
    MAX_PRINTED_PROBLEMS,
    ClfevalError,
    DataError,
    OfferedReading,
    Problem,
    join_texts,
)
from clfeval.formatting import format_count
from clfeval.options.declaration import Command, Option, as_list, changed_options, format_value
from clfeval.pages.schema import DRY_RUN
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace
from clfeval.tables.columns import OpenedTable
from clfeval.tables.input import table_paths
from clfeval.tables.predictions import Facts
from clfeval.tables.readings.reading import MOST_OFFERED
from clfeval.tables.recognition import remembering_profiles
from clfeval.tables.source import FRAME, display_name, reading_pipes_once


def dry_result(
    command: Command,
    option_groups: Sequence[object],
    opened_tables: Sequence[OpenedTable],
    error: ClfevalError | None,
    facts: Facts,
) -> Document:
    """Return how tables are read, what is ambiguous, and what a command would compute.

    option_groups: the options of the command. opened_tables: empty if a table could not be opened.
    facts: on the counts, by name. Tables: `reading`
    (column taken why), `ambiguities` (code file row column text hint), `readings`
    (meaning command), `plan` (what value).
    """
    error_parts = (error.parts or (error,)) if error else ()
    ambiguity_rows = [row for part in error_parts for row in _question_problems(part)]
    column_roles = [role for opened_table in opened_tables for role in opened_table.column_roles()]
    offered_rows: list[Row] = [
        as_row({"meaning": reading.meaning, "command": reading.command})
        for reading in (error.readings if error else ())
    ]
    reading_rows: list[Row] = [
        as_row({"column": role.column, "taken": role.role, "why": role.why})
        for role in column_roles
    ]
    changed_pairs = [
        (option_group, option)
        for option_group in option_groups
        for option in changed_options(option_group)
    ]
    changed_texts = {
        f"{OPTION}{option.flag}{END}": _shell_value(option, getattr(option_group, option.field))
        for option_group, option in changed_pairs
    }
    plan_rows: list[Row] = [
        as_row({"what": fact_name, "value": str(value)})
        for fact_name, value in {**facts, **changed_texts}.items()
    ]
    answer = Answer("readable", f"Nothing is ambiguous: {command.name} can evaluate this table.")
    if error:
        text = f"Resolve {format_count(len(error_parts), 'problem')} before {command.name} can run."
        answer = Answer("ambiguous", text)
    return Document(
        command=DRY_RUN,
        signature=f"cmd:{DRY_RUN}|of:{command.name}|clfeval:{__version__}",
        inputs=(),
        parameters={"of": command.name, "offer": error and error.offer},
        summary={"ambiguities": len(error_parts)},
        tables={
            "reading": reading_rows,
            "ambiguities": ambiguity_rows,
            "readings": offered_rows,
            "plan": plan_rows,
        },
        answer=(answer,),
    )


def _question_problems(part: ClfevalError) -> Iterator[Row]:
    """Yield the first problems of an error, and the number of further ones by code."""
    printed_problems = part.problems[:MAX_PRINTED_PROBLEMS]
    for problem in printed_problems:
        yield as_row(
            {
                "code": problem.code,
                "file": problem.file,
                "row": problem.row,
                "column": problem.column,
                "text": problem.message,
                "hint": part.hint,
            }
        )
    printed_counts = Counter(problem.code for problem in printed_problems)
    for code, unprinted_count in (part.totals - printed_counts).items():
        yield as_row(
            {
                "code": code,
                "file": None,
                "row": None,
                "column": None,
                "text": f"and {unprinted_count:,} more",
                "hint": None,
            }
        )


def _shell_value(option: Option, value: object) -> str:
    """Write the value of an option for a shell; a table by its name without folders."""
    if option.opt.reads:
        return join_texts([display_name(path) for path in table_paths(value)] or [FRAME])
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return join_texts(
            [f"{key}={_shell_value(option, item_value)}" for key, item_value in value.items()]
        )
    if option.opt.write is not format_value or not isinstance(value, tuple):
        return option.opt.write(value)
    return join_texts([format_value(item_value) for item_value in value])


MOST = 25  # errors collected, at most
ALONE = ("features",)  # a fix with one of these is used without its other options
NOTHING = ("empty-table", "no-models")  # codes that show that a fix does not work
# codes of readings whose columns cannot have their roles
IMPOSSIBLE = (
    "no-models",
    "no-id",
    "unknown-model",
    "no-class-column",
    "class-column",
    "wrong-layout",
    "truth-of-ids",
    "other-positive",
)
# codes of readings that are left out where another reading is settled
DOUBTFUL = ("duplicate-row", "duplicate-id", "positive-needed")
UNKNOWN_LABEL = "unknown-label"  # of all rows, where no row is named
OnOpen = Callable[[OpenedTable], None]
Offer = Callable[[Mapping[str, Any]], str]  # writes the call with fixes added


@dataclass(frozen=True, slots=True)
class PreparedResult:
    """A function that computes the result, and facts on the counts so far.

    truth: the digest of ids and truth, if rows are known.
    """

    result: Callable[[], Document]
    facts: Facts
    truth: Callable[[], str | None] = lambda: None


Steps = Callable[..., Iterator[PreparedResult]]


class PublicFunction(Protocol):
    """A public function of Python, with what computes its result for the command line."""

    __name__: str

    def compute(
        self,
        table: object,
        options: Mapping[str, Any],
        on_open: OnOpen,
        offer: Offer,
        *,
        truth: bool = False,
    ) -> Document:
        """Return the result, with options by name, and errors worded for the shell."""
        ...


PUBLIC_FUNCTIONS: dict[str, PublicFunction] = {}  # by name, once their modules are imported


def compute_or_ask(
    command: Command,
    steps: Steps,
    table: object,
    options: Mapping[str, Any],
    on_open: OnOpen,
    offer: Offer,
    *,
    truth: bool = False,
) -> Document:
    """Read a table with the given options, and compute; raise all ambiguities together.

    `steps` reads, yields a `PreparedResult`, and closes what it opened. truth: with the digest
    of truth, which may need one more pass.
    """
    open_steps = contextmanager(steps)
    with ExitStack() as open_files:
        open_files.enter_context(reading_pipes_once())
        open_files.enter_context(remembering_profiles())
        opened_tables: list[OpenedTable] = []
        option_groups = command.build_groups(options)
        dry_run = option_groups[0].dry_run

        def note_opened(opened_table: OpenedTable) -> None:
            opened_tables.append(opened_table)
            if not dry_run:
                on_open(opened_table)

        try:
            prepared = open_files.enter_context(open_steps(table, *option_groups, note_opened))
        except ClfevalError as error:
            questions = Questions(command, open_steps, table, options, opened_tables)
            combined_error = questions.collect(error)
            combined_error.add_commands(offer)
            if dry_run and isinstance(error, DataError):
                return dry_result(
                    command, option_groups[1:], opened_tables[-1:], combined_error, {}
                )
            raise combined_error from error.__cause__
        if dry_run:
            return dry_result(command, option_groups[1:], opened_tables[-1:], None, prepared.facts)
        try:
            result = prepared.result()
        except ClfevalError as error:
            if not error.readings:
                raise
            questions = Questions(
                command, open_steps, table, options, opened_tables, to_the_end=True
            )
            combined_error = questions.collect(error)
            combined_error.add_commands(offer)
            raise combined_error from error.__cause__
        return replace(result, truth=prepared.truth()) if truth else result


@dataclass(frozen=True, slots=True)
class Questions:
    """The errors of a table that options mend, and the readings that it may have.

    Mending options are tried one after the other, and so are the options of every reading.
    to_the_end: until the result, else until the rows are counted.
    """

    command: Command
    opening: Callable[..., Any]
    table: Any
    options: Mapping[str, Any]
    opened: list[OpenedTable]
    to_the_end: bool = False

    def collect(self, first_error: ClfevalError) -> ClfevalError:
        """Return the error with all problems of the table, and its readings with their options."""
        mended_chain = self._mend(first_error, {})
        if not mended_chain.readings:
            return self._combined(
                mended_chain.errors, mended_chain.fixes, settled=mended_chain.settled
            )
        readings_by_answer = [
            self._try_reading(reading, mended_chain.fixes) for reading in mended_chain.readings
        ]
        # of each answer the first reading, then of each the second
        tried_readings = [
            tried_reading
            for readings_of_rank in zip_longest(*readings_by_answer)
            for tried_reading in readings_of_rank
            if tried_reading is not None
        ]
        offered_readings = [
            tried_reading for tried_reading in tried_readings if not tried_reading.is_refused
        ]
        if any(tried_reading.settled for tried_reading in offered_readings):
            offered_readings = [
                tried_reading for tried_reading in offered_readings if not tried_reading.is_doubtful
            ]
        if not offered_readings:
            return self._combined(
                [*mended_chain.errors, *tried_readings[0].errors], mended_chain.fixes, settled=False
            )
        listed_readings = offered_readings[:MOST_OFFERED]
        is_settled = all(tried_reading.settled for tried_reading in listed_readings)
        unsettled_errors = [] if is_settled else list(offered_readings[0].errors)
        error = self._combined(
            [*mended_chain.errors, *unsettled_errors], mended_chain.fixes, settled=is_settled
        )
        error.readings = tuple(tried_reading.reading for tried_reading in listed_readings)
        error.further = mended_chain.further or _count_of_others(offered_readings[MOST_OFFERED:])
        return error

    def _mend(self, first_error: ClfevalError, reading_options: Mapping[str, Any]) -> MendedChain:
        """Apply fixes one after the other, until a reading is asked for or nothing is left.

        reading_options: those of the reading, which stay where a fix does not help.
        """
        fixes = dict(reading_options)
        errors = [first_error]
        messages = {str(first_error)}
        last_error = first_error
        is_settled = False
        while not last_error.readings and self._fixes_of(last_error) and len(messages) < MOST:
            fixes = with_fixes(fixes, self._fixes_of(last_error))
            error = self._open(fixes)
            if error is None:
                is_settled = True
                break
            code = error.problems[0].code
            is_excluded = code == "bad-option" and "ignore" in self._fixes_of(last_error)
            if str(error) in messages or code in NOTHING or is_excluded:
                fixes = {
                    name: value
                    for name, value in fixes.items()
                    if name not in last_error.fixes or name in reading_options
                }
                break  # the fix did not resolve it
            messages.add(str(error))
            errors.append(error)
            last_error = error
        return MendedChain(fixes, errors, is_settled, last_error.readings, last_error.further)

    def _try_reading(
        self, reading: OfferedReading, fixes: Mapping[str, Any], depth: int = 0
    ) -> list[TriedReading]:
        """Return a reading with the options that it needs further, or the readings that it has."""
        if not reading.options.keys() <= self._option_names:
            return []  # the command has no such part
        reading_options = with_fixes(fixes, reading.options)
        error = self._open(reading_options)
        if error is None:
            return [TriedReading(replace(reading, options=reading_options), (), settled=True)]
        mended_chain = self._mend(error, reading_options)
        if mended_chain.readings and depth < 2:
            return [
                tried_reading
                for next_reading in mended_chain.readings
                for tried_reading in self._try_reading(
                    replace(next_reading, meaning=f"{reading.meaning}; {next_reading.meaning}"),
                    mended_chain.fixes,
                    depth + 1,
                )
            ]
        mended_reading = replace(reading, options=mended_chain.fixes)
        return [
            TriedReading(mended_reading, tuple(mended_chain.errors), settled=mended_chain.settled)
        ]

    def _open(self, added_options: Mapping[str, Any]) -> ClfevalError | None:
        """Read the table with added options; return the error, None if there is none."""
        try:
            option_groups = self.command.build_groups(with_fixes(self.options, added_options))
            with self.opening(self.table, *option_groups, self.opened.append) as prepared:
                if self.to_the_end:
                    prepared.result()
                return None
        except ClfevalError as error:
            return error

    @property
    def _option_names(self) -> set[str]:
        return {option.name for option in self.command.options()}

    def _fixes_of(self, error: ClfevalError) -> dict[str, Any]:
        """Return the fixes of an error for this command; one option only if it excludes others."""
        fixes = {name: value for name, value in error.fixes.items() if name in self._option_names}
        excluding_name = next((name for name in ALONE if name in fixes), None)
        return fixes if excluding_name is None else {excluding_name: fixes[excluding_name]}

    def _combined(
        self, errors: Sequence[ClfevalError], fixes: Mapping[str, Any], *, settled: bool
    ) -> ClfevalError:
        """Return one error with the problems of several; its fixes leave out no rows."""
        first_error, *other_errors = errors
        parts = [first_error]
        for error in other_errors:
            parts += _new_problems(error, parts)
        combined_error = first_error if len(parts) == 1 else type(first_error).from_errors(parts)
        # no proposal drops rows: the user has to fill in missing values, or to drop their rows
        combined_error.settled = settled and "missing" not in fixes
        combined_error.fixes = {name: value for name, value in fixes.items() if name != "missing"}
        combined_error.readings = ()
        return combined_error


def _count_of_others(other_readings: Sequence[TriedReading]) -> str | None:
    """Return how many readings are not listed, and the options that select them; None if none."""
    if not other_readings:
        return None
    option_names = dict.fromkeys(
        name for tried_reading in other_readings for name in tried_reading.reading.options
    )
    flags = join_texts([f"{OPTION}--{name.replace('_', '-')}{END}" for name in option_names], 4)
    return f"{len(other_readings)} more, with other values of {flags}"


@dataclass(frozen=True, slots=True)
class MendedChain:
    """The fixes of errors that were met one after the other, and the readings asked for at last."""

    fixes: Mapping[str, Any]
    errors: Sequence[ClfevalError]
    settled: bool
    readings: Sequence[OfferedReading]
    further: str | None


@dataclass(frozen=True, slots=True)
class TriedReading:
    """A reading with all options that it needs, and the errors that are left."""

    reading: OfferedReading
    errors: Sequence[ClfevalError]
    settled: bool

    @property
    def problems(self) -> list[Problem]:
        """The problems of the reading; none if its options mend them all."""
        if self.settled:
            return []
        return [problem for error in self.errors for problem in error.problems]

    @property
    def is_refused(self) -> bool:
        """True if the columns of the reading cannot have their roles, whatever is corrected."""
        return any(
            problem.code in IMPOSSIBLE or (problem.code == UNKNOWN_LABEL and problem.row is None)
            for problem in self.problems
        )

    @property
    def is_doubtful(self) -> bool:
        """True if ids that have to be unique repeat, or no class of truth can be positive."""
        return any(problem.code in DOUBTFUL for problem in self.problems)


def _new_problems(
    error: ClfevalError, earlier_errors: Sequence[ClfevalError]
) -> list[ClfevalError]:
    """Return an error with the problems of cells not named by earlier errors; or none."""
    known_cells = {
        _problem_cell(problem)
        for earlier_error in earlier_errors
        for problem in earlier_error.problems
    }
    known_texts = {
        str(problem) for earlier_error in earlier_errors for problem in earlier_error.problems
    }
    new_problems = [
        new_problem
        for new_problem in error.problems
        if str(new_problem) not in known_texts
        and (new_problem.row is None or _problem_cell(new_problem) not in known_cells)
    ]
    if error.parts or len(new_problems) == len(error.problems):
        return [error]
    if not new_problems and error.hint in [earlier_error.hint for earlier_error in earlier_errors]:
        return []
    repeated_counts = Counter(
        problem.code for problem in error.problems if problem not in new_problems
    )
    remaining_totals = error.totals - repeated_counts
    return [type(error)(new_problems, hint=error.hint, totals=remaining_totals)]


def _problem_cell(problem: Problem) -> tuple[str | None, int | None, str | None]:
    return problem.file, problem.row, problem.column


def with_fixes(options: Mapping[str, Any], fixes: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with fixes added: appended to lists and mappings, else replaced."""
    merged_options = dict(options)
    for name, value in fixes.items():
        earlier_value = merged_options.get(name)
        if isinstance(value, tuple):
            merged_options[name] = tuple(dict.fromkeys((*as_list(earlier_value), *value)))
        elif isinstance(value, Mapping):
            # the key None means all models
            earlier_mapping: Mapping[Any, Any] = (
                {} if earlier_value is None else {None: earlier_value}
            )
            if isinstance(earlier_value, Mapping):
                earlier_mapping = earlier_value
            merged_options[name] = {**earlier_mapping, **value}
        else:
            merged_options[name] = value
    return merged_options
