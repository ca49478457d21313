"""Dry runs and errors on ambiguous tables, with the options that resolve them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from clfeval import __version__
from clfeval.document import Answer, Document, Row
from clfeval.errors import MAX_PRINTED_PROBLEMS, ClfevalError, DataError, Problem, join_texts
from clfeval.formatting import format_count
from clfeval.options.declaration import Command, Option, as_list, changed_options, format_value
from clfeval.pages.schema import DRY_RUN
from clfeval.records import dataclass, replace
from clfeval.tables.columns import Facts, OpenedTable
from clfeval.tables.input import table_paths
from clfeval.tables.source import FRAME, display_name, reading_pipes_once


def dry_result(
    command: Command,
    groups: Sequence[object],
    read: Sequence[OpenedTable],
    asked: ClfevalError | None,
    facts: Facts,
) -> Document:
    """Return how tables are read, what is ambiguous, and what a command would compute.

    groups: its options. read: empty if a table could not be opened. Tables: `reading`
    (column taken why), `ambiguities` (code file row column text hint), `plan` (what value).
    """
    parts = (asked.parts or (asked,)) if asked else ()
    doubts = [row for part in parts for row in _question_problems(part)]
    roles = [one for table in read for one in table.column_roles()]
    reading: list[Row] = [
        {"column": one.column, "taken": one.role, "why": one.why} for one in roles
    ]
    pairs = [(one, option) for one in groups for option in changed_options(one)]
    wanted = {
        option.flag: _shell_value(option, getattr(one, option.field)) for one, option in pairs
    }
    plan: list[Row] = [{"what": k, "value": str(v)} for k, v in {**facts, **wanted}.items()]
    said = Answer("readable", f"Nothing is ambiguous: {command.name} can evaluate this table.")
    if asked:
        text = f"Resolve {format_count(len(parts), 'problem')} before {command.name} can run."
        said = Answer("ambiguous", text)
    return Document(
        command=DRY_RUN,
        signature=f"cmd:{DRY_RUN}|of:{command.name}|clfeval:{__version__}",
        inputs=(),
        parameters={"of": command.name, "offer": asked and asked.offer},
        summary={"ambiguities": len(parts)},
        tables={"reading": reading, "ambiguities": doubts, "plan": plan},
        answer=(said,),
    )


def _question_problems(part: ClfevalError) -> Iterator[Row]:
    """Yield the first problems of an error, and the number of further ones by code."""
    shown = part.problems[:MAX_PRINTED_PROBLEMS]
    for one in shown:
        yield {
            "code": one.code,
            "file": one.file,
            "row": one.row,
            "column": one.column,
            "text": one.what,
            "hint": part.hint,
        }
    for code, left in (part.totals - Counter(one.code for one in shown)).items():
        yield {
            "code": code,
            "file": None,
            "row": None,
            "column": None,
            "text": f"and {left:,} more",
            "hint": None,
        }


def _shell_value(option: Option, value: Any) -> str:
    """Write the value of an option for a shell; a table by its name without folders."""
    if option.opt.reads:
        return join_texts([display_name(path) for path in table_paths(value)] or [FRAME])
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return join_texts([f"{key}={_shell_value(option, one)}" for key, one in value.items()])
    if option.opt.write is not format_value or not isinstance(value, tuple):
        return option.opt.write(value)
    return join_texts([format_value(one) for one in value])


MOST = 25  # errors collected, at most
ALONE = ("features", "cluster")  # a fix with one of these is used without its other options
REPEATED = "duplicate-id"
NOTHING = ("empty-table", "no-models")  # codes that show that a fix does not work
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


def compute_or_ask(
    command: Command,
    steps: Steps,
    table: Any,
    given: Mapping[str, Any],
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
        seen: list[OpenedTable] = []
        taken = command.build_groups(given)

        def hear(read: OpenedTable) -> None:
            seen.append(read)
            if not taken[0].dry_run:
                on_open(read)

        try:
            ready = stack.enter_context(opening(table, *taken, hear))
        except ClfevalError as error:
            asked = _collect_ambiguities(error, command, opening, table, given, seen)
            asked.offer = offer(asked.fixes) if asked.fixes else None
            if taken[0].dry_run and isinstance(error, DataError):
                return dry_result(command, taken[1:], seen[-1:], asked, {})
            raise asked from error.__cause__
        if taken[0].dry_run:
            return dry_result(command, taken[1:], seen[-1:], None, ready.facts)
        result = ready.result()
        return replace(result, truth=ready.truth()) if truth else result


def _collect_ambiguities(
    first: ClfevalError,
    command: Command,
    opening: Callable[..., Any],
    table: Any,
    given: Mapping[str, Any],
    seen: list[OpenedTable],
) -> ClfevalError:
    """Return the error with all ambiguities of a table, applying fixes one after the other."""
    known = {option.name for option in command.options()}

    def answers(error: ClfevalError) -> dict[str, Any]:
        """Return the fixes of an error for this command; one option only if it excludes others."""
        left_out = as_list(error.fixes.get("ignore"))
        chosen = error.instead if given.get("reference") in left_out else error.fixes
        mine = {name: value for name, value in chosen.items() if name in known}
        alone = next((name for name in ALONE if name in mine), None)
        return mine if alone is None else {alone: mine[alone]}

    parts, fixes, told = [first], answers(first), {str(first)}
    settled = not fixes
    last, errors = first, [first]
    while answers(last) and not settled and len(told) < MOST:
        try:
            with opening(table, *command.build_groups(with_fixes(given, fixes)), seen.append):
                settled = True
        except ClfevalError as another:
            if str(another) in told:
                break  # the fix did not resolve it
            code = another.problems[0].code
            runs = next((one for one in errors if "run" in one.instead), None)
            if code == REPEATED and runs is not None and "run" in known and "run" not in fixes:
                kept = {name: value for name, value in fixes.items() if name not in runs.fixes}
                fixes = with_fixes(kept, runs.instead)
                continue
            errors.append(another)
            if code in NOTHING or (code == "bad-option" and "ignore" in answers(last)):
                fixes = {name: value for name, value in fixes.items() if name not in last.fixes}
                break
            told.add(str(another))
            parts += _new_problems(another, parts)
            fixes = with_fixes(fixes, answers(another))
            last = another
    asked = first if len(parts) == 1 else type(first).from_errors(parts)
    # no proposal drops rows: the user has to fill in missing values, or to drop their rows
    asked.settled = settled and "missing" not in fixes
    asked.fixes = {name: value for name, value in fixes.items() if name != "missing"}
    asked.args = ("\n".join(asked.lines()),)
    return asked


def _new_problems(error: ClfevalError, told: Sequence[ClfevalError]) -> list[ClfevalError]:
    """Return an error with the problems of cells not named by earlier errors; or none."""
    cells = {_problem_cell(problem) for part in told for problem in part.problems}
    lines = {str(problem) for part in told for problem in part.problems}
    fresh = [
        one
        for one in error.problems
        if str(one) not in lines and (one.row is None or _problem_cell(one) not in cells)
    ]
    if error.parts or len(fresh) == len(error.problems):
        return [error]
    if not fresh and error.hint in [part.hint for part in told]:
        return []
    totals = error.totals - Counter(one.code for one in error.problems if one not in fresh)
    return [type(error)(fresh, hint=error.hint, totals=totals)]


def _problem_cell(problem: Problem) -> tuple[str | None, int | None, str | None]:
    return problem.file, problem.row, problem.column


def with_fixes(given: Mapping[str, Any], fixes: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with fixes added: appended to lists and mappings, else replaced."""
    merged = dict(given)
    for name, value in fixes.items():
        before = merged.get(name)
        if isinstance(value, tuple):
            merged[name] = tuple(dict.fromkeys((*as_list(before), *value)))
        elif isinstance(value, Mapping):
            single = {} if before is None else {None: before}
            merged[name] = {**(before if isinstance(before, Mapping) else single), **value}
        else:
            merged[name] = value
    return merged
