"""Files of a result: their formats, targets and drafts, and folders of pictures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import Any, Protocol

from clfeval import COMMANDS
from clfeval.document import Document, ResultNote
from clfeval.errors import UsageError, format_option, list_names, say_which_have_it, suggestion
from clfeval.formatting import DIGITS, join_names
from clfeval.options.syntax import accept_size
from clfeval.output_files import Draft, ProtectedFiles, target_path
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import SUITE
from clfeval.placeholders import ADD, COMMAND, END, OPTION
from clfeval.records import dataclass, field


@dataclass(frozen=True, slots=True)
class FileFormat:
    """An output format: suffix of its files, their writer, and the options that it takes.

    command: the only one that writes it; content: what it then holds.
    """

    suffix: str
    writer: str
    asks: tuple[str, ...] = ()
    lists_gates: bool = False
    command: str = ""
    content: str = ""


FORMATS = {
    "json": FileFormat(".json", "clfeval.document:Document.json_lines"),
    "csv": FileFormat(".csv", "clfeval.views.documents:csv_lines", ("table",)),
    "markdown": FileFormat(".md", "clfeval.views.documents:markdown_lines", ("digits", "names")),
    "html": FileFormat(".html", "clfeval.views.page:as_page", ("digits", "names", "target")),
    "junit": FileFormat(".xml", "clfeval.views.ci:as_junit", lists_gates=True),
    "metrics": FileFormat(".metrics.json", "clfeval.views.documents:as_metrics"),
    "svg": FileFormat(".svg", "clfeval.views.svg.picture:as_svg", ("picture", "options")),
    "png": FileFormat(".png", "clfeval.views.svg.picture:as_png", ("picture", "options")),
    "counts": FileFormat(
        ".counts.parquet", "clfeval.counts.files:as_counts_file", command="count", content="counts"
    ),
    "calibrators": FileFormat(
        ".calibrator.json",
        "clfeval.methods.recalibrate.files:as_calibrators",
        command="recalibrate",
        content="calibrators",
    ),
    "sql": FileFormat(
        ".sql",
        "clfeval.methods.recalibrate.files:as_sql",
        command="recalibrate",
        content="calibrators",
    ),
}
COUNTS_SUFFIX = ".counts.parquet"
TABLE_SUFFIXES = (".json", ".csv")  # which a program would read
ROW_SUFFIXES = (".parquet", ".csv", ".ndjson")  # of a table with the columns of stored calibrators
METHOD_WITHOUT_SQL = "venn-abers"  # of recalibrate
PICTURES = (".svg", ".png")  # suffixes of pictures; a name that ends in / is a folder of them
FORMAT_OF_SUFFIX = {form.suffix: form for form in FORMATS.values()}
Pieces = Iterable[str | bytes]  # of a file, in order


def format_of_file(name: str, option: str = "") -> FileFormat:
    """Return the format of a file by its longest suffix; UsageError, which names the option."""
    base_name = os.path.basename(name).lower()
    matching_suffixes = [
        suffix for suffix in FORMAT_OF_SUFFIX if base_name.endswith(suffix) and base_name != suffix
    ]
    if not matching_suffixes:
        message = f"{option}'{name}': unknown suffix"
        hint = f"one of {', '.join(FORMAT_OF_SUFFIX)}; or a folder of pictures, ending in /"
        if base_name.endswith(".parquet"):
            hint = f"write counts as {name[: -len('.parquet')]}{COUNTS_SUFFIX}; else {hint}"
            hint += f"; rows are written by recalibrate {OPTION}--calibrator FILE{END}"
        raise UsageError.new(message, "bad-suffix", hint=hint)
    return FORMAT_OF_SUFFIX[max(matching_suffixes, key=len)]


class OutputOptions(Protocol):
    """The options on output that a request needs."""

    @property
    def show(self) -> tuple[str, ...]:
        """Tables and plots by name."""
        ...

    @property
    def digits(self) -> int:
        """Number of decimals on the screen."""
        ...

    @property
    def size(self) -> str | None:
        """Width and height of pictures, as `WIDTHxHEIGHT`."""
        ...

    @property
    def caption(self) -> str | None:
        """The caption of pictures."""
        ...

    @property
    def font(self) -> str | None:
        """The font of pictures."""
        ...


@dataclass(frozen=True, slots=True)
class OutputRequest:
    """The requested output: a table for CSV, names of additional tables and plots, digits.

    drawing: of pictures: size, caption, font. rows: whether the files with a suffix of
    `ROW_SUFFIXES` hold the rows of the input.
    """

    table: str | None
    names: tuple[str, ...]
    digits: int
    drawing: Mapping[str, Any] = field(default_factory=dict)
    rows: bool = False

    @classmethod
    def from_options(cls, command: str, output: OutputOptions) -> OutputRequest:
        """Return the request of options on output: of `show`, the first table is that of CSV."""
        names: tuple[str, ...] = output.show
        table_names = {table.name for table in page_of(command).every} if names else {}
        table_of_csv = next((name for name in names if name in table_names), None)
        drawing = {"size": accept_size("--size", output.size), "caption": output.caption}
        return cls(table_of_csv, names, output.digits, {**drawing, "font": output.font})


def picture_named(
    commands: Sequence[str], target: str, names: Sequence[str], option: str = ""
) -> str:
    """Return the name of the picture in a file: its stem, else the only one of `names`.

    In Python, where no option is named, that of `names` first. Raises UsageError where neither is
    a picture of the commands.
    """
    stem = Path(target).stem
    picture_names = [
        *dict.fromkeys(name for command in commands for name in page_of(command).all_pictures)
    ]
    requested_pictures = [name for name in names if name in picture_names]
    names_come_first = not option and bool(names)
    if stem in picture_names and not names_come_first:
        return stem
    if len(requested_pictures) == 1:
        return requested_pictures[0]
    if not picture_names:
        raise UsageError.new(f"{option}'{target}': there are no pictures", "unknown-table")
    all_names = f"name the file after one: {list_names(picture_names, len(picture_names))}"
    name_hint = suggestion(stem, picture_names) or all_names
    show_option = f"{OPTION}--show NAME{END}" if option else "picture=NAME"
    message = f"{option}'{target}': which picture is not known"
    raise UsageError.new(message, "unknown-table", hint=f"{name_hint}; or give {show_option}")


def check_names(command: str, names: Sequence[str], option: str = "") -> None:
    """Raise UsageError, which names the option, for names unknown to the command's results."""
    if not names:
        return
    known_names = page_of(command).names
    for requested_name in names:
        if requested_name not in known_names:
            message = f"{option}'{requested_name}': {command} has no such table or plot"
            hint = _hint_for_name(requested_name, known_names)
            raise UsageError.new(message, "unknown-table", hint=hint)


def _hint_for_name(name: str, known_names: Sequence[str]) -> str:
    """Return what to write instead of a name, or which commands have it."""
    name_parts = name.split("_")
    contained_name = next(
        (known_name for known_name in known_names if known_name in name_parts), None
    )
    if contained_name is not None:
        return f"did you mean '{contained_name}'?"
    commands = [command for command in COMMANDS if name in page_of(command).names]
    if commands:
        return say_which_have_it(commands)
    return suggestion(name, known_names) or f"there are {list_names(known_names, 40)}"


class SavedFiles(AbstractContextManager["SavedFiles"]):
    """Files to write: opened before anything is computed, put in place when they are complete."""

    def __init__(
        self,
        names: Sequence[str],
        *,
        inputs: Sequence[str],
        gates: bool,
        option: str = "",
        command: str = "",
        request: OutputRequest | None = None,
    ) -> None:
        """Open a draft for each target; option: the one that names the targets.

        names: the targets; one that ends in a slash is a folder of pictures. inputs: names, or
        patterns, of inputs. gates: whether the result has any. command: the one that computes it.
        request: the requested output. Raises UsageError for a bad name or folder, a target that is
        also an input, and one named twice.
        """
        self._option = option
        self._request = request or OutputRequest(table=None, names=(), digits=DIGITS)
        # a saved result may be of another command, and a report has those of others
        of_any_command = command in ("", "report") or any(name.endswith(".json") for name in inputs)
        self._commands = [command, *(COMMANDS if of_any_command else ())]
        self._inputs = ProtectedFiles(inputs)
        self._places: set[str] = set()
        self._stack = ExitStack()
        self._folders = [name for name in names if name.endswith(("/", os.sep))]
        try:
            for name in self._folders:
                self._check_folder(name)
            file_names = [name for name in names if name not in self._folders]
            self._drafts = [self._open(name, gates=gates) for name in file_names]
        except BaseException:
            self._stack.close()
            raise

    def __exit__(self, *_: object) -> None:
        """Remove drafts that were not put in place."""
        self._stack.close()

    def _check_folder(self, name: str) -> None:
        """Raise UsageError for a folder of pictures that cannot be written."""
        folder = Path(name)
        if self._commands == [SUITE]:
            raise UsageError.new(f"{self._option}'{name}': a batch has no pictures", "output")
        try:
            exists = bool(os.stat(folder))
        except FileNotFoundError:
            exists = False
        except OSError as error:
            raise _refused_target(name, error) from error
        if exists and not os.path.isdir(folder):
            raise UsageError.new(f"cannot write '{name}': it is a file", "output")
        if not os.access(folder if exists else folder.parent, os.W_OK):
            message = f"cannot write '{name}': no such folder, or not writable"
            hint = "create the folder above it, or choose another one"
            raise UsageError.new(message, "output", hint=hint)
        self._check_place(name)

    def _check_place(self, name: str) -> None:
        if name in self._inputs:
            message = f"{self._option}'{name}' would overwrite an input file"
            raise UsageError.new(message, "output", hint="choose a different name")
        if target_path(name.rstrip("/")) in self._places:
            raise UsageError.new(f"{self._option}'{name}' is named twice", "output")
        self._places.add(target_path(name.rstrip("/")))

    def _open(self, name: str, *, gates: bool) -> Draft:
        """Return the draft of a target; UsageError for one that cannot be written."""
        if self._request.rows and is_file_of_rows(name):
            return self._draft(name, Path(name))
        file_format = format_of_file(name, self._option)
        if file_format.suffix in PICTURES:
            picture_named(self._commands, name, self._request.names, self._option)
        if file_format.command not in ("", self._commands[0]):
            message = (
                f"{self._option}'{name}': only `{file_format.command}` writes {file_format.content}"
            )
            hint = f"{COMMAND}clfeval {file_format.command} TABLE --save {name}{END}"
            raise UsageError.new(message, "bad-suffix", hint=hint)
        if file_format.suffix == ".png":
            from clfeval.views.svg.picture import usable_font

            usable_font(self._request.drawing.get("font"))
        if file_format.lists_gates and not gates:
            message = f"{self._option}'{name}': a JUnit file lists gates; there are none"
            hint = (
                f"add {OPTION}--fail-under{END}, {OPTION}--fail-over{END} or "
                f"{OPTION}--max-drop{END}"
            )
            raise UsageError.new(message, "no-gates", hint=hint)
        return self._draft(name, Path(name))

    def _draft(self, name: str, path: Path) -> Draft:
        """Return a draft next to its target; the draft is removed at the end."""
        self._check_place(name)
        try:
            if os.path.isdir(path):
                raise IsADirectoryError(21, "Is a directory")
            draft = Draft(path)
        except OSError as error:
            raise _refused_target(name, error) from error
        self._stack.callback(draft.close)
        return draft

    @property
    def notes(self) -> Sequence[ResultNote]:
        """Notes on files that summarise counts but do not hold them."""
        if self._commands[0] != "count":
            return ()
        return summary_notes([draft.target.name for draft in self._drafts])

    def write(self, result: Document, request: OutputRequest) -> list[str]:
        """Write every file whole, then put all in place; return their names."""
        target: str | Path = ""  # the one that is being written, for the message of an error
        try:
            row_drafts = [
                draft
                for draft in self._drafts
                if request.rows and is_file_of_rows(draft.target.name)
            ]
            pieces_of_drafts = [
                (draft, self._pieces(draft, result, request))
                for draft in self._drafts
                if draft not in row_drafts
            ]
            for folder in self._folders:
                target = folder
                pieces_of_drafts += self._pictures_of_folder(folder, result, request)
            for draft, pieces in pieces_of_drafts:
                target = draft.target
                _write_pieces(draft, pieces)
            for draft in row_drafts:
                target = draft.target
                result.extras["recalibrated"].write(draft.path, draft.target.suffix.lower())
            for draft in [*row_drafts, *(draft for draft, _ in pieces_of_drafts)]:
                target = draft.target
                draft.replace_target(_default_file_mode())
        except OSError as error:
            raise UsageError.new(f"cannot write '{target}': {error.strerror}", "output") from error
        return [*(str(draft.target) for draft in self._drafts), *self._folders]

    def _pieces(self, draft: Draft, result: Document, request: OutputRequest) -> Pieces:
        """Return the pieces of a file in its format."""
        file_format = format_of_file(draft.target.name)
        picture_name = ""
        if file_format.suffix in PICTURES:
            target_name = str(draft.target)
            picture_name = picture_named(self._commands, target_name, request.names, self._option)
        return render_format(file_format, result, request, draft.target, picture_name)

    def _pictures_of_folder(
        self, folder: str, result: Document, request: OutputRequest
    ) -> list[tuple[Draft, Pieces]]:
        """Return a draft and the text of each picture, in a folder, which is made."""
        from clfeval.views.svg.picture import as_svg, pictures_by_name

        text_of_path = {
            os.path.join(folder, f"{picture}.svg"): as_svg(
                result, picture=picture, options=request.drawing
            )
            for picture in pictures_by_name(result)
        }
        os.makedirs(folder, exist_ok=True)
        return [(self._draft(path, Path(path)), [text]) for path, text in text_of_path.items()]


def _write_pieces(draft: Draft, pieces: Pieces) -> None:
    """Write the pieces of a file."""
    for piece in pieces:
        if isinstance(piece, bytes):
            draft.stream.buffer.write(piece)
        else:
            draft.stream.write(piece)
    draft.stream.flush()


def _refused_target(file_name: str, error: OSError) -> UsageError:
    """Return the error on a file that cannot be created, with the remedy if it is known."""
    folder = os.path.dirname(file_name)
    reason = error.strerror
    hint = None
    if isinstance(error, FileNotFoundError) and folder and not os.path.exists(folder):
        reason = f"there is no folder '{folder}'"
        hint = "create the folder, or choose another one"
    elif isinstance(error, PermissionError):
        hint = "choose a file and a folder that you have permission to write"
    return UsageError.new(f"cannot write '{file_name}': {reason}", "output", hint=hint)


def is_file_of_rows(name: str) -> bool:
    """Return whether a file can hold the rows of a table with the columns of calibrators."""
    return name.lower().endswith(ROW_SUFFIXES) and not name.lower().endswith(COUNTS_SUFFIX)


def refuse_unsaved_rows(file_names: Sequence[str]) -> None:
    """Raise UsageError if no file holds the rows with the columns of stored calibrators."""
    if not any(map(is_file_of_rows, file_names)):
        message = f"{OPTION}--calibrator{END} adds columns to a table, which is not saved"
        hint = f"add {OPTION}--save NAME.parquet{END}, .csv or .ndjson"
        raise UsageError.new(message, "no-output", hint=hint)


def refuse_method_without_sql(file_names: Sequence[str], method: object) -> None:
    """Raise UsageError for an SQL file of a recalibration method that has no expression."""
    for file_name in file_names:
        if method == METHOD_WITHOUT_SQL and file_name.lower().endswith(FORMATS["sql"].suffix):
            message = f"{OPTION}--save{END} '{file_name}': {method} has no SQL expression"
            hint = f"use {OPTION}--save NAME.calibrator.json{END} or {OPTION}--method isotonic{END}"
            raise UsageError.new(message, "no-sql", hint=hint)


def summary_notes(file_names: Sequence[str]) -> tuple[ResultNote, ...]:
    """Return the note on files of `count` that hold its summary only; none with one of counts."""
    format_of_name = {file_name: format_of_file(file_name) for file_name in file_names}
    if any(file_format.suffix == COUNTS_SUFFIX for file_format in format_of_name.values()):
        return ()
    summary_names = [
        file_name
        for file_name, file_format in format_of_name.items()
        if file_format.suffix in TABLE_SUFFIXES or "count" in file_name
    ]
    if not summary_names:
        return ()
    file_name = summary_names[0][: -len(format_of_name[summary_names[0]].suffix)].removesuffix(
        ".counts"
    )
    verb = "is a summary" if len(summary_names) == 1 else "are summaries"
    message = f"{join_names(summary_names)} {verb} without the counts; for report, {ADD} "
    message += format_option("--save", f"{file_name}{COUNTS_SUFFIX}", bare=True)
    return (ResultNote("summary-only", message),)


def _default_file_mode() -> int:
    """Return the permissions of a new file."""
    umask = os.umask(0)  # it cannot be read without being set
    os.umask(umask)
    return 0o666 & ~umask


def write_atomically(path: Path, text: str) -> None:
    """Replace a file by a text, whole or not at all; raises UsageError."""
    try:
        with closing(Draft(path)) as draft:
            draft.stream.write(text)
            draft.replace_target(_default_file_mode())
    except OSError as error:
        raise UsageError.new(f"cannot write '{path}': {error.strerror}", "output") from error


def render_format(
    file_format: FileFormat,
    result: Document,
    request: OutputRequest,
    target: Path | None = None,
    picture: str = "",
) -> Pieces:
    """Return the pieces of a result in a format; target: the file; picture: its picture's name."""
    from pkgutil import resolve_name

    available_arguments = {
        "table": table_or_first(result, request.table),
        "digits": request.digits,
        "names": request.names,
        "target": str(target or ""),
        "picture": picture,
        "options": request.drawing,
    }
    writer_arguments = {name: available_arguments[name] for name in file_format.asks}
    content: str | bytes | Iterable[str] = resolve_name(file_format.writer)(
        result, **writer_arguments
    )
    return [content] if isinstance(content, (str, bytes)) else content


def table_or_first(result: Document, table: str | None) -> str:
    """Return the requested table, or the first; raises UsageError when the result lacks it."""
    if table is None:
        return next(iter(result.tables))
    if table not in result.tables:
        names_text = list_names(result.tables, len(result.tables))
        message = f"no table '{table}'; this result has {names_text}"
        hint = suggestion(table, result.tables) or "some tables need an option"
        raise UsageError.new(message, "unknown-table", hint=hint)
    return table
