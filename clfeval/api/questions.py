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
    groups: Sequence[object],
    read: Sequence[OpenedTable],
    error: ClfevalError | None,
    facts: Facts,
) -> Document:
    """Return how tables are read, what is ambiguous, and what a command would compute.

    groups: its options. read: empty if a table could not be opened. Tables: `reading`
    (column taken why), `ambiguities` (code file row column text hint), `readings`
    (meaning command), `plan` (what value).
    """
    parts = (error.parts or (error,)) if error else ()
    doubts = [row for part in parts for row in _question_problems(part)]
    roles = [role for table in read for role in table.column_roles()]
    offered: list[Row] = [
        as_row({"meaning": offer.meaning, "command": offer.command})
        for offer in (error.readings if error else ())
    ]
    reading: list[Row] = [
        as_row({"column": role.column, "taken": role.role, "why": role.why}) for role in roles
    ]
    pairs = [(group, option) for group in groups for option in changed_options(group)]
    changed = {
        f"{OPTION}{option.flag}{END}": _shell_value(option, getattr(group, option.field))
        for group, option in pairs
    }
    plan: list[Row] = [
        as_row({"what": name, "value": str(value)}) for name, value in {**facts, **changed}.items()
    ]
    answer = Answer("readable", f"Nothing is ambiguous: {command.name} can evaluate this table.")
    if error:
        text = f"Resolve {format_count(len(parts), 'problem')} before {command.name} can run."
        answer = Answer("ambiguous", text)
    return Document(
        command=DRY_RUN,
        signature=f"cmd:{DRY_RUN}|of:{command.name}|clfeval:{__version__}",
        inputs=(),
        parameters={"of": command.name, "offer": error and error.offer},
        summary={"ambiguities": len(parts)},
        tables={"reading": reading, "ambiguities": doubts, "readings": offered, "plan": plan},
        answer=(answer,),
    )


def _question_problems(part: ClfevalError) -> Iterator[Row]:
    """Yield the first problems of an error, and the number of further ones by code."""
    printed = part.problems[:MAX_PRINTED_PROBLEMS]
    for problem in printed:
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
    for code, left in (part.totals - Counter(problem.code for problem in printed)).items():
        yield as_row(
            {
                "code": code,
                "file": None,
                "row": None,
                "column": None,
                "text": f"and {left:,} more",
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
    opening = contextmanager(steps)
    with ExitStack() as stack:
        stack.enter_context(reading_pipes_once())
        stack.enter_context(remembering_profiles())
        opened: list[OpenedTable] = []
        option_groups = command.build_groups(options)
        dry_run = option_groups[0].dry_run

        def hear(read: OpenedTable) -> None:
            opened.append(read)
            if not dry_run:
                on_open(read)

        try:
            ready = stack.enter_context(opening(table, *option_groups, hear))
        except ClfevalError as error:
            questions = Questions(command, opening, table, options, opened)
            combined = questions.collect(error)
            combined.add_commands(offer)
            if dry_run and isinstance(error, DataError):
                return dry_result(command, option_groups[1:], opened[-1:], combined, {})
            raise combined from error.__cause__
        if dry_run:
            return dry_result(command, option_groups[1:], opened[-1:], None, ready.facts)
        try:
            result = ready.result()
        except ClfevalError as error:
            if not error.readings:
                raise
            questions = Questions(command, opening, table, options, opened, to_the_end=True)
            combined = questions.collect(error)
            combined.add_commands(offer)
            raise combined from error.__cause__
        return replace(result, truth=ready.truth()) if truth else result


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

    def collect(self, first: ClfevalError) -> ClfevalError:
        """Return the error with all problems of the table, and its readings with their options."""
        chain = self._mend(first, {})
        if not chain.readings:
            return self._combined(chain.errors, chain.fixes, settled=chain.settled)
        tried = [self._try_reading(reading, chain.fixes) for reading in chain.readings]
        # of each answer the first reading, then of each the second
        in_turn = [attempt for row in zip_longest(*tried) for attempt in row if attempt is not None]
        offered = [attempt for attempt in in_turn if not attempt.is_refused]
        if any(attempt.settled for attempt in offered):
            offered = [attempt for attempt in offered if not attempt.is_doubtful]
        if not offered:
            return self._combined([*chain.errors, *in_turn[0].errors], chain.fixes, settled=False)
        settled = all(attempt.settled for attempt in offered[:MOST_OFFERED])
        left = [] if settled else list(offered[0].errors)
        error = self._combined([*chain.errors, *left], chain.fixes, settled=settled)
        error.readings = tuple(attempt.reading for attempt in offered[:MOST_OFFERED])
        error.further = chain.further or _count_of_others(offered[MOST_OFFERED:])
        return error

    def _mend(self, first: ClfevalError, options: Mapping[str, Any]) -> MendedChain:
        """Apply fixes one after the other, until a reading is asked for or nothing is left."""
        fixes = dict(options)
        errors = [first]
        messages = {str(first)}
        last = first
        settled = False
        while not last.readings and self._fixes_of(last) and len(messages) < MOST:
            fixes = with_fixes(fixes, self._fixes_of(last))
            error = self._open(fixes)
            if error is None:
                settled = True
                break
            code = error.problems[0].code
            excluded = code == "bad-option" and "ignore" in self._fixes_of(last)
            if str(error) in messages or code in NOTHING or excluded:
                fixes = {k: v for k, v in fixes.items() if k not in last.fixes or k in options}
                break  # the fix did not resolve it
            messages.add(str(error))
            errors.append(error)
            last = error
        return MendedChain(fixes, errors, settled, last.readings, last.further)

    def _try_reading(
        self, reading: OfferedReading, fixes: Mapping[str, Any], depth: int = 0
    ) -> list[TriedReading]:
        """Return a reading with the options that it needs further, or the readings that it has."""
        if not reading.options.keys() <= self._option_names:
            return []  # the command has no such part
        options = with_fixes(fixes, reading.options)
        error = self._open(options)
        if error is None:
            return [TriedReading(replace(reading, options=options), (), settled=True)]
        chain = self._mend(error, options)
        if chain.readings and depth < 2:
            return [
                tried
                for further in chain.readings
                for tried in self._try_reading(
                    replace(further, meaning=f"{reading.meaning}; {further.meaning}"),
                    chain.fixes,
                    depth + 1,
                )
            ]
        mended = replace(reading, options=chain.fixes)
        return [TriedReading(mended, tuple(chain.errors), settled=chain.settled)]

    def _open(self, options: Mapping[str, Any]) -> ClfevalError | None:
        """Read the table with further options; return the error, None if there is none."""
        try:
            groups = self.command.build_groups(with_fixes(self.options, options))
            with self.opening(self.table, *groups, self.opened.append) as ready:
                if self.to_the_end:
                    ready.result()
                return None
        except ClfevalError as error:
            return error

    @property
    def _option_names(self) -> set[str]:
        return {option.name for option in self.command.options()}

    def _fixes_of(self, error: ClfevalError) -> dict[str, Any]:
        """Return the fixes of an error for this command; one option only if it excludes others."""
        fixes = {name: value for name, value in error.fixes.items() if name in self._option_names}
        alone = next((name for name in ALONE if name in fixes), None)
        return fixes if alone is None else {alone: fixes[alone]}

    def _combined(
        self, errors: Sequence[ClfevalError], fixes: Mapping[str, Any], *, settled: bool
    ) -> ClfevalError:
        """Return one error with the problems of several; its fixes leave out no rows."""
        first, *others = errors
        parts = [first]
        for error in others:
            parts += _new_problems(error, parts)
        combined = first if len(parts) == 1 else type(first).from_errors(parts)
        # no proposal drops rows: the user has to fill in missing values, or to drop their rows
        combined.settled = settled and "missing" not in fixes
        combined.fixes = {name: value for name, value in fixes.items() if name != "missing"}
        combined.readings = ()
        return combined


def _count_of_others(tried: Sequence[TriedReading]) -> str | None:
    """Return how many readings are not listed, and the options that say them; None if all are."""
    if not tried:
        return None
    names = dict.fromkeys(name for attempt in tried for name in attempt.reading.options)
    flags = join_texts([f"{OPTION}--{name.replace('_', '-')}{END}" for name in names], 4)
    return f"{len(tried)} more, with other values of {flags}"


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


def _new_problems(error: ClfevalError, earlier: Sequence[ClfevalError]) -> list[ClfevalError]:
    """Return an error with the problems of cells not named by earlier errors; or none."""
    cells = {_problem_cell(problem) for part in earlier for problem in part.problems}
    lines = {str(problem) for part in earlier for problem in part.problems}
    fresh = [
        problem_of_cell
        for problem_of_cell in error.problems
        if str(problem_of_cell) not in lines
        and (problem_of_cell.row is None or _problem_cell(problem_of_cell) not in cells)
    ]
    if error.parts or len(fresh) == len(error.problems):
        return [error]
    if not fresh and error.hint in [part.hint for part in earlier]:
        return []
    totals = error.totals - Counter(
        problem_of_cell.code for problem_of_cell in error.problems if problem_of_cell not in fresh
    )
    return [type(error)(fresh, hint=error.hint, totals=totals)]


def _problem_cell(problem: Problem) -> tuple[str | None, int | None, str | None]:
    return problem.file, problem.row, problem.column


def with_fixes(options: Mapping[str, Any], fixes: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with fixes added: appended to lists and mappings, else replaced."""
    merged = dict(options)
    for name, value in fixes.items():
        earlier = merged.get(name)
        if isinstance(value, tuple):
            merged[name] = tuple(dict.fromkeys((*as_list(earlier), *value)))
        elif isinstance(value, Mapping):
            single = {} if earlier is None else {None: earlier}
            merged[name] = {**(earlier if isinstance(earlier, Mapping) else single), **value}
        else:
            merged[name] = value
    return merged
