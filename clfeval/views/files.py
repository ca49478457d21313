"""Files of a result: their formats, targets and drafts, and folders of pictures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from clfeval import COMMANDS
from clfeval.document import Document
from clfeval.errors import UsageError, list_names, say_which_have_it, suggestion
from clfeval.output_files import Draft, ProtectedFiles, target_path
from clfeval.records import dataclass, field


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
    "svg": FileFormat(".svg", "clfeval.views.svg.picture:as_svg", ("picture", "look")),
    "png": FileFormat(".png", "clfeval.views.svg.png:as_png", ("picture", "look")),
}
PICTURES = (".svg", ".png")  # suffixes of pictures; a name that ends in / is a folder of them
BY_SUFFIX = {form.suffix: form for form in FORMATS.values()}


def format_of_file(name: str, said: str = "") -> FileFormat:
    """Return the format of a file by its longest suffix; UsageError, naming the option `said`."""
    end = os.path.basename(name).lower()
    fits = [suffix for suffix in BY_SUFFIX if end.endswith(suffix) and end != suffix]
    if not fits:
        what = f"{said}'{name}': unknown suffix"
        hint = f"one of {', '.join(BY_SUFFIX)}; or a folder of pictures, ending in /"
        raise UsageError.new(what, "bad-suffix", hint=hint)
    return BY_SUFFIX[max(fits, key=len)]


@dataclass(frozen=True, slots=True)
class OutputRequest:
    """The requested output: a table for CSV, names of additional tables and plots, digits.

    look: keywords of pictures: size, caption, font.
    """

    table: str | None
    names: tuple[str, ...]
    digits: int
    look: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_names(
        cls,
        command: str,
        names: tuple[str, ...],
        digits: int,
        look: Mapping[str, Any] | None = None,
    ) -> OutputRequest:
        """Return the request of these names: the first that is a table is the one of CSV."""
        from clfeval.pages.schema import page_of

        tables = {one.name for one in page_of(command).every} if names else {}
        table = next((name for name in names if name in tables), None)
        return cls(table, names, digits, look or {})


def picture_named(command: str, target: str, names: Sequence[str], said: str = "") -> str:
    """Return the name of the picture in a file: its stem, else the only one of `names`.

    Raises UsageError where neither is a picture of the command.
    """
    from clfeval.pages.schema import page_of

    known, stem = page_of(command).all_pictures, Path(target).stem
    wanted = [stem] if stem in known else [name for name in names if name in known]
    if len(wanted) == 1:
        return wanted[0]
    what = f"{said}'{target}': which picture is not known"
    there = list_names(known, len(known)) if known else "no pictures of this command"
    hint = suggestion(stem, known) or f"name the file, or --show, after one: {there}"
    raise UsageError.new(what, "unknown-table", hint=hint)


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
        self, names: Sequence[str], *, inputs: Sequence[str], gates: bool, said: str = "",
        command: str = "", shown: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Open a draft for each target; said: the option that names them.

        inputs: names, or patterns, of inputs. command, shown: whose pictures, and which. Raises
        UsageError for a bad name or folder, a target that is also an input, and one named twice.
        """
        self._said, self._command, self._shown = said, command, shown
        self._inputs, self._places = ProtectedFiles(inputs), set[str]()
        self._stack = ExitStack()
        self._folders = [name for name in names if name.endswith(("/", os.sep))]
        try:
            for name in self._folders:
                self._check_folder(name)
            rest = [name for name in names if name not in self._folders]
            self._drafts = [self._open(name, gates=gates) for name in rest]
        except BaseException:
            self._stack.close()
            raise

    def __exit__(self, *_: object) -> None:
        """Remove drafts that were not put in place."""
        self._stack.close()

    def _check_folder(self, name: str) -> None:
        folder = Path(name)
        if folder.exists() and not folder.is_dir():
            raise UsageError.new(f"cannot write '{name}': it is a file", "output")
        if not os.access(folder if folder.exists() else folder.parent, os.W_OK):
            raise UsageError.new(
                f"cannot write '{name}': no such folder, or not writable", "output"
            )

    def _open(self, name: str, *, gates: bool) -> Draft:
        path, form = Path(name), format_of_file(name, self._said)
        if form.suffix in PICTURES:
            picture_named(self._command, name, self._shown, self._said)
        if form.lists_gates and not gates:
            what = f"{self._said}'{name}': a JUnit file lists gates; there are none"
            hint = "add --fail-under, --fail-over or --max-drop"
            raise UsageError.new(what, "no-gates", hint=hint)
        return self._draft(name, path)

    def _draft(self, name: str, path: Path) -> Draft:
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
        drafts = [(draft, "") for draft in self._drafts]
        name: str | Path = ""
        try:
            for name in self._folders:
                from clfeval.views.svg.picture import picture_names

                os.makedirs(name, exist_ok=True)
                for i, picture in enumerate(picture_names(result), start=1):
                    path = os.path.join(name, f"{i:02}-{picture}.svg")
                    drafts.append((self._draft(path, Path(path)), picture))
            for draft, picture in drafts:
                name = draft.target
                form = format_of_file(name.name)
                if form.suffix in PICTURES and not picture:
                    picture = picture_named(result.command, str(name), wanted.names)
                for piece in render_format(form, result, wanted, str(name), picture):
                    if isinstance(piece, bytes):
                        draft.stream.buffer.write(piece)
                    else:
                        draft.stream.write(piece)
                draft.stream.flush()
            for draft, _ in drafts:
                name = draft.target
                draft.replace_target(_default_file_mode())
        except OSError as error:
            raise UsageError.new(f"cannot write '{name}': {error.strerror}", "output") from error
        return [*(str(draft.target) for draft in self._drafts), *self._folders]


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


def render_format(
    form: FileFormat, result: Document, wanted: OutputRequest, target: str = "", picture: str = ""
) -> Iterable[str | bytes]:
    """Return the pieces of a result in a format; target: the file; picture: which one is in it."""
    from pkgutil import resolve_name

    given = {
        "table": table_or_first(result, wanted.table), "digits": wanted.digits,
        "names": wanted.names, "target": target, "picture": picture, "look": wanted.look,
    }  # fmt: skip
    asked = {name: given[name] for name in form.asks}
    made: str | bytes | Iterable[str] = resolve_name(form.writer)(result, **asked)
    return [made] if isinstance(made, (str, bytes)) else made


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
