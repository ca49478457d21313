"""Errors as data (problem, place, code, hint), and the quoting of words for a shell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from errno import ENAMETOOLONG, ENOENT
from shlex import quote
from typing import Any, Self

from clfeval.placeholders import END, OPTION, fill_for_shell
from clfeval.records import dataclass, field, replace

MAX_PRINTED_PROBLEMS = 5  # problems printed without --verbose
AFTER_FIXING = "after fixing the rest, "
HEADER_ONLY = "the table has a header but no rows"
_SPOT = r"(.+?):(\d+):\d+"  # a place in a configuration: file:line:column
MAX_PROBLEMS = 1000  # problems kept in an error; beyond that only totals


class ExitCode(IntEnum):
    """Exit codes of the process; part of the public contract."""

    OK = 0
    GATE_MISSED = 1
    USAGE = 2
    DATA = 3
    BUG = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem, shown as `file:row: column 'name': message [code]`; row 1 is the header."""

    message: str
    code: str
    file: str | None = None
    row: int | None = None
    column: str | None = None

    @property
    def place(self) -> tuple[str | None, int | None]:
        """The file and the row; in a configuration file the line."""
        match = re.fullmatch(_SPOT, self.file or "") if self.row is None else None
        return (match[1], int(match[2])) if match else (self.file, self.row)

    def __str__(self) -> str:
        """Render the one-line form used on stderr."""
        place = self.file or ""
        if self.row is not None:
            place += f":{self.row}"
        column_text = f"column '{self.column}': " if self.column is not None else ""
        return f"{place + ': ' if place else ''}{column_text}{self.message} [{self.code}]"


@dataclass(frozen=True, slots=True)
class OfferedReading:
    """A way to read a table: what it means, the options that say so, and the command with them."""

    meaning: str
    options: Mapping[str, Any]
    command: str = ""


class ClfevalError(Exception):
    """Base class of every error that clfeval raises on purpose; holds all problems of one pass.

    fixes: the options, by name, that mend it. readings: the ways to read the table, of which one
    has to be chosen; further: the options of those that are not listed. parts: the errors
    combined. settled: the fixes, or each reading, resolve everything. offer: the command with the
    fixes.
    """

    exit_code = ExitCode.BUG

    def __init__(
        self,
        problems: Problem | Sequence[Problem],
        *,
        hint: str | None = None,
        totals: Counter[str] | None = None,
        fixes: Mapping[str, Any] | None = None,
        readings: Sequence[OfferedReading] = (),
        further: str | None = None,
    ) -> None:
        """Keep the problems in the given order; `totals` counts also those that are not kept."""
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.hint = hint
        self.fixes = fixes or {}
        self.readings = tuple(readings)
        self.further = further
        self.parts: tuple[ClfevalError, ...] = ()
        self.settled = False
        self.offer: str | None = None
        self.totals = totals or Counter(problem.code for problem in self.problems)
        self.verbose_hint = f"add {OPTION}--verbose{END} to list all"
        super().__init__("\n".join(self.lines()))

    @classmethod
    def new(
        cls,
        message: str,
        code: str,
        file: str | None = None,
        row: int | None = None,
        column: str | None = None,
        *,
        hint: str | None = None,
        fixes: Mapping[str, Any] | None = None,
    ) -> Self:
        """Build the error of one problem."""
        return cls(Problem(message, code, file, row, column), hint=hint, fixes=fixes)

    @classmethod
    def from_errors(cls, errors: Sequence[ClfevalError]) -> Self:
        """Combine errors into one, with their problems in order."""
        totals = sum((error.totals for error in errors), Counter[str]())
        combined_error = cls(
            [problem for error in errors for problem in error.problems], totals=totals
        )
        combined_error.parts = tuple(
            single_error for error in errors for single_error in error.parts or (error,)
        )
        combined_error.args = ("\n".join(combined_error.lines()),)
        return combined_error

    @classmethod
    def from_errors_with_fixes(cls, errors: Sequence[ClfevalError]) -> Self:
        """Combine the errors that have fixes, or all errors if none has."""
        fixable_errors = [error for error in errors if error.fixes] or errors
        combined_error = cls.from_errors(fixable_errors)
        if len(fixable_errors) == 1:
            only_error = fixable_errors[0]
            combined_error = cls(
                only_error.problems, hint=only_error.hint, totals=only_error.totals
            )
        merged_fixes: dict[str, Any] = {}
        for error in fixable_errors:
            for name, value in error.fixes.items():
                merged_fixes[name] = _combine_fixes(merged_fixes.get(name), value)
        combined_error.fixes = merged_fixes
        return combined_error

    def lines(self, *, verbose: bool = False) -> list[str]:
        """Return the message: the first problems, how many more of each code, hint and offer."""
        if self.parts:
            lines = [line for error in self.parts for line in error.lines(verbose=verbose)]
            return lines + [fill_for_shell(line) for line in self._offered()]
        printed_problems = self.problems if verbose else self.problems[:MAX_PRINTED_PROBLEMS]
        lines = [str(problem) for problem in printed_problems]
        unprinted_totals = self.totals - Counter(problem.code for problem in printed_problems)
        if unprinted_totals:
            totals_text = ", ".join(
                f"{count} more [{code}]" for code, count in sorted(unprinted_totals.items())
            )
            lines.append(f"  ... {totals_text}" + ("" if verbose else f"; {self.verbose_hint}"))
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return [fill_for_shell(line) for line in lines + self._offered()]

    def fill_texts(self, fill: Callable[[str], str]) -> None:
        """Fill the placeholders of the problems, the hint and the readings, and of all parts."""
        for part in self.parts:
            part.fill_texts(fill)
        self.problems = tuple(
            replace(
                problem, message=fill(problem.message), file=problem.file and fill(problem.file)
            )
            for problem in self.problems
        )
        self.hint = self.hint and fill(self.hint)
        self.further = self.further and fill(self.further)
        self.readings = tuple(
            replace(reading, meaning=fill(reading.meaning)) for reading in self.readings
        )
        self.args = ("\n".join(self.lines()),)

    def add_commands(self, offer: Callable[[Mapping[str, Any]], str]) -> None:
        """Add the command with the fixes, or that of each reading, as `offer` writes options."""
        self.offer = offer(self.fixes) if self.fixes and not self.readings else None
        self.readings = tuple(
            replace(reading, command=offer(reading.options)) for reading in self.readings
        )
        self.args = ("\n".join(self.lines()),)

    def _offered(self) -> list[str]:
        """Return the lines of the command with the fixes, or of the readings with theirs."""
        if self.offer:
            return [f"{'' if self.settled else AFTER_FIXING}try: {self.offer}"]
        readings = [reading for reading in self.readings if reading.command]
        if not readings:
            return []
        heading = "possible readings:" if len(readings) > 1 else "possible reading:"
        lines = [heading if self.settled else f"{AFTER_FIXING}{heading}"]
        for reading in readings:
            lines += [f"- {reading.meaning}", f"    {reading.command}"]
        return lines + ([f"- {self.further}"] if self.further else [])


def _combine_fixes(first: object, second: object) -> object:
    """Return the value of an option that mends what two values of it mend, or the second."""
    if isinstance(first, tuple) and isinstance(second, tuple):
        return tuple(dict.fromkeys((*first, *second)))
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return {**first, **second}
    return second


@dataclass(slots=True)
class ErrorCollector:
    """Collects errors to raise them together as one."""

    errors: list[ClfevalError] = field(default_factory=list)

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Catch a UsageError of the block, and keep it to raise later."""
        try:
            yield
        except UsageError as error:
            if str(error) not in map(str, self.errors):
                self.errors.append(error)

    def raise_problems(self) -> None:
        """Raise the collected errors as one, if there are any."""
        if len(self.errors) > 1:
            combined_error = UsageError.from_errors(self.errors)
            combined_error.hint = next((error.hint for error in self.errors if error.hint), None)
            raise combined_error
        if self.errors:
            raise self.errors[0]


class UsageError(ClfevalError):
    """The command line or an output is wrong."""

    exit_code = ExitCode.USAGE


class DataError(ClfevalError):
    """The table is wrong."""

    exit_code = ExitCode.DATA


NO_SUCH_FILE = (ENOENT, ENAMETOOLONG)  # numbers of errors: no file has a longer name
# of a message: the code, the text and the remedy
_SHORTAGES: Mapping[str, tuple[str, str, str]] = {
    r"Too many open files": (
        "open-files",
        "the system allows too few open files",
        "raise the limit: ulimit -n 256",
    ),
    r"Cannot allocate memory|os error 12\b": (
        "memory",
        "not enough memory",
        "raise the limit (ulimit -v), or use fewer rows or models",
    ),
}


def raise_shortage(error: object) -> None:
    """Raise UsageError where a message is of too little memory, or of too many open files."""
    for message_pattern, (code, message, hint) in _SHORTAGES.items():
        if re.search(message_pattern, str(error)):
            raise UsageError.new(message, code, hint=hint)


def suggestion(name: str, candidates: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return `did you mean 'x'?` for the closest known name, ignoring white space and case."""
    from difflib import get_close_matches

    candidate_names = list(candidates)
    name_of_folded = {candidate.strip().casefold(): candidate for candidate in candidate_names}
    closest_folded = get_close_matches(name.strip().casefold(), name_of_folded, n=1, cutoff=cutoff)
    return (
        f"did you mean {quote_name(name_of_folded[closest_folded[0]])}?" if closest_folded else None
    )


def quote_name(name: str) -> str:
    """Return a name in quotes for a message, in one line."""
    if not name.isprintable():
        name = "".join(map(_escape_control, name))
    return f"'{name}'"


def _escape_control(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def list_names(names: Iterable[str], limit: int = 10) -> str:
    """Join quoted names for a message, with the number of those omitted."""
    return join_texts([quote_name(name) for name in names], limit)


def join_texts(texts: Sequence[str], limit: int = 10) -> str:
    """Join texts for a message, with the number of those omitted."""
    rest_clause = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + rest_clause


def say_which_have_it(owners: Sequence[str]) -> str:
    """Return the clause that names the commands that have an option: `a, b and c have it`."""
    last_clause = f" and {owners[-1]} have it" if len(owners) > 1 else f"{owners[0]} has it"
    return ", ".join(owners[:-1]) + last_clause


def bad_option(message: str, hint: str | None = None) -> UsageError:
    """Build the error for an option's value, or a combination of options, that is not valid."""
    return UsageError.new(message, "bad-option", hint=hint)


def not_a_table_error(value: object, flag: str | None = None) -> UsageError:
    """Build the error for an object that is not a table; flag: the option that should name one."""
    hint = "pass a path, a list of paths, or a polars, pandas or Arrow data frame"
    hint += "" if flag else "; or two arrays: (y_true, y_prob)"
    subject = f"{OPTION}{flag}{END} {value!r:.60}" if flag else type(value).__name__
    return UsageError.new(f"{subject} is not a table", "no-input", hint=hint)


def unknown_model_error(
    flag: str, name: str, models: Iterable[str], *, part: str = ""
) -> UsageError:
    """Build the error for an option, or a part of its value, that names an unknown model."""
    models = list(models)
    hint = suggestion(name, models) or f"choose one of {list_names(models)}"
    message = f"{OPTION}{flag}{END}{part}: unknown model {quote_name(name)}"
    return UsageError.new(message, "unknown-model", hint=hint)


def unknown_column_error(
    file: str | None, name: str, columns: Iterable[str], flag: str | None = None
) -> DataError:
    """Build the error for an unknown column; flag: the option that names it."""
    columns = list(columns)
    name_parts = [part.strip() for part in name.split(",")]
    repetition = None
    if flag is not None and len(name_parts) > 1 and {*name_parts} <= {*columns}:
        repetition = (
            f"repeat the option: {' '.join(format_option(flag, part) for part in name_parts)}"
        )
    hint = (
        repetition
        or suggestion(name, columns)
        or (flag and f"add {OPTION}{flag} NAME{END} with one of these columns")
    )
    message = f"no column {quote_name(name)}; columns: {list_names(columns)}"
    return DataError.new(message, "unknown-column", file, hint=hint)


_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", "'": r"\'"}
# the pieces of a word as `quote_word` writes it
_PIECE = r"""\$'(?P<escaped>(?:\\.|[^'\\])*)'|'(?P<plain>[^']*)'|"(?P<mark>[^"$`\\!]*)"|(.)"""


def quote_word(text: str, *, bare: bool = True) -> str:
    """Quote text as one shell word, if needed or not `bare`; `$'..'` for control characters."""
    if not text.isprintable():
        return f"$'{''.join(map(_escape_character, text))}'"
    if "'" in text and not {*text} & {*'"$`\\!'}:
        return f'"{text}"'
    return quote(text) if bare or "'" in text else f"'{text}'"


def format_option(flag: str, value: str, *, bare: bool = False) -> str:
    """Write an option with its value in quotes; a value that begins with `-` follows `=`."""
    separator = "=" if value.startswith("-") and value != "-" else " "
    return f"{OPTION}{flag}{separator}{quote_word(value, bare=bare)}{END}"


def format_command_line(words: Iterable[str]) -> str:
    """Join words into a command line, quoted as needed."""
    return " ".join(map(quote_word, words))


def unquote_word(text: str) -> str:
    """Return the text of a shell word that `quote_word` wrote."""
    return "".join(map(_unquote_piece, re.finditer(_PIECE, text)))


def _escape_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode(errors="surrogateescape"))


def _unquote_piece(piece: re.Match[str]) -> str:
    """Return the text of a piece of a shell word, a match of `_PIECE`."""
    if piece["escaped"] is None:
        return next(group for group in piece.groups()[1:] if group is not None)
    byte_of_escape = {
        escape_text[1:].encode(): character.encode() for character, escape_text in _ESCAPES.items()
    }

    def escaped_byte(escape: re.Match[bytes]) -> bytes:
        return byte_of_escape.get(escape[1]) or bytes([int(escape[1][1:], 16)])

    raw_bytes = re.sub(rb"\\(x[0-9a-f]{2}|.)", escaped_byte, piece["escaped"].encode())
    return raw_bytes.decode(errors="surrogateescape")
