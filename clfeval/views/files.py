"""Files of a result: formats, targets, and CSV, JSON and Parquet of its tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from clfeval import COMMANDS
from clfeval.document import Document
from clfeval.errors import UsageError, list_names, say_which_have_it, suggestion
from clfeval.output_files import Draft, ProtectedFiles, target_path
from clfeval.records import dataclass


@dataclass(frozen=True, slots=True)
class FileFormat:
    """An output format: suffix of its files, their writer, and the options that it takes."""

    suffix: str
    writer: str
    asks: tuple[str, ...] = ()
    lists_gates: bool = False


FORMATS = {
    "json": FileFormat(".json", "clfeval.document:Document.json_lines"),
    "csv": FileFormat(".csv", "clfeval.views.documents:csv_lines", ("table",)),
    "markdown": FileFormat(".md", "clfeval.views.documents:markdown_lines", ("digits", "names")),
    "html": FileFormat(".html", "clfeval.views.page:as_page", ("digits", "names", "target")),
    "junit": FileFormat(".xml", "clfeval.views.ci:as_junit", lists_gates=True),
    "metrics": FileFormat(".metrics.json", "clfeval.views.documents:as_metrics"),
}
BY_SUFFIX = {form.suffix: form for form in FORMATS.values()}


def format_of_file(name: str, said: str = "") -> FileFormat:
    """Return the format of a file by its longest suffix; UsageError, naming the option `said`."""
    end = os.path.basename(name).lower()
    fits = [suffix for suffix in BY_SUFFIX if end.endswith(suffix) and end != suffix]
    if not fits:
        what = f"{said}'{name}': unknown suffix"
        hint = f"one of {', '.join(BY_SUFFIX)}; plots are in .html"
        raise UsageError.new(what, "bad-suffix", hint=hint)
    return BY_SUFFIX[max(fits, key=len)]


@dataclass(frozen=True, slots=True)
class OutputRequest:
    """The requested output: a table for CSV, names of additional tables and plots, digits."""

    table: str | None
    names: tuple[str, ...]
    digits: int

    @classmethod
    def from_names(cls, command: str, names: tuple[str, ...], digits: int) -> OutputRequest:
        """Return the request of these names: the first that is a table is the one of CSV."""
        from clfeval.pages.schema import page_of

        tables = {one.name for one in page_of(command).every} if names else {}
        return cls(next((name for name in names if name in tables), None), names, digits)


def check_names(command: str, names: Sequence[str], said: str = "") -> None:
    """Raise UsageError, naming the option `said`, for names unknown to the command's results."""
    if names:
        from clfeval.pages.schema import page_of

        known = page_of(command).names
        for name in names:
            if name not in known:
                what = f"{said}'{name}': {command} has no such table or plot"
                near = [one for one in known if one in name.split("_")]
                others = [one for one in COMMANDS if name in page_of(one).names]
                hint = suggestion(name, known) or f"there are {list_names(known, 40)}"
                hint = say_which_have_it(others) or hint if others else hint
                hint = f"did you mean '{near[0]}'?" if near else hint
                raise UsageError.new(what, "unknown-table", hint=hint)


class SavedFiles(AbstractContextManager["SavedFiles"]):
    """Files to write: opened before anything is computed, put in place when they are complete."""

    def __init__(
        self, names: Sequence[str], *, inputs: Sequence[str], gates: bool, said: str = ""
    ) -> None:
        """Open a draft for each target; said: the option that names them.

        inputs: names, or patterns, of inputs. Raises UsageError for a bad name or folder, a target
        that is also an input, and one named twice.
        """
        self._said = said
        self._inputs, self._places = ProtectedFiles(inputs), set[str]()
        self._stack = ExitStack()
        try:
            self._drafts = [self._open(name, gates=gates) for name in names]
        except BaseException:
            self._stack.close()
            raise

    def __exit__(self, *_: object) -> None:
        """Remove drafts that were not put in place."""
        self._stack.close()

    def _open(self, name: str, *, gates: bool) -> Draft:
        path, form = Path(name), format_of_file(name, self._said)
        if form.lists_gates and not gates:
            what = f"{self._said}'{name}': a JUnit file lists gates; there are none"
            hint = "add --fail-under, --fail-over or --max-drop"
            raise UsageError.new(what, "no-gates", hint=hint)
        if name in self._inputs:
            what = f"{self._said}'{name}' would overwrite an input file"
            raise UsageError.new(what, "output", hint="choose a different name")
        if target_path(name) in self._places:
            raise UsageError.new(f"{self._said}'{name}' is named twice", "output")
        self._places.add(target_path(name))
        try:
            if path.is_dir():
                raise IsADirectoryError(21, "Is a directory")
            draft = Draft(path)
        except OSError as error:
            raise UsageError.new(f"cannot write '{name}': {error.strerror}", "output") from error
        self._stack.callback(draft.close)
        return draft

    def write(self, result: Document, wanted: OutputRequest) -> list[str]:
        """Write every file whole, then put all in place; return their names."""
        try:
            for draft in self._drafts:
                name = draft.target
                draft.stream.writelines(render_format(format_of_file(name.name), result, wanted))
                draft.stream.flush()
            for draft in self._drafts:
                name = draft.target
                draft.replace_target(_default_file_mode())
        except OSError as error:
            raise UsageError.new(f"cannot write '{name}': {error.strerror}", "output") from error
        return [str(draft.target) for draft in self._drafts]


def _default_file_mode() -> int:
    """Return the permissions of a new file."""
    os.umask(mask := os.umask(0))  # it cannot be read without being set
    return 0o666 & ~mask


def write_atomically(path: Path, text: str) -> None:
    """Replace a file by a text, whole or not at all; raises UsageError."""
    try:
        draft = Draft(path)
        try:
            draft.stream.write(text)
            draft.replace_target(_default_file_mode())
        finally:
            draft.close()
    except OSError as error:
        raise UsageError.new(f"cannot write '{path}': {error.strerror}", "output") from error


def render_format(form: FileFormat, result: Document, wanted: OutputRequest) -> Iterable[str]:
    """Return the pieces of a result in a format."""
    from pkgutil import resolve_name

    given = {
        "table": table_or_first(result, wanted.table), "digits": wanted.digits,
        "names": wanted.names,
    }  # fmt: skip
    asked = {name: given[name] for name in form.asks}
    made: str | Iterable[str] = resolve_name(form.writer)(result, **asked)
    return [made] if isinstance(made, str) else made


def table_or_first(result: Document, table: str | None) -> str:
    """Return the requested table, or the first; raises UsageError when the result lacks it."""
    if table is None:
        return next(iter(result.tables))
    if table not in result.tables:
        there = list_names(result.tables, len(result.tables))
        what = f"no table '{table}'; this result has {there}"
        hint = suggestion(table, result.tables) or "some tables need an option"
        raise UsageError.new(what, "unknown-table", hint=hint)
    return table
