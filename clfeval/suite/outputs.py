"""Output paths of runs, and the history to which a batch appends."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from clfeval.compare.history.file import check_target
from clfeval.errors import ClfevalError, UsageError, bad_option, suggestion
from clfeval.output_files import ProtectedFiles
from clfeval.records import dataclass
from clfeval.suite.reading import BatchErrors, Node, path_beside_file
from clfeval.views.files import format_of_file

LONGEST = 120  # characters of a run's name in a file name, at most
_UNSAFE = re.compile(r"[^\w.=+,-]+")
_PART = re.compile(r"\{(\w*)\}")


def safe_file_name(name: str) -> str:
    """Return the name of a run for a file name, without separators, brackets or blanks."""
    return _UNSAFE.sub("-", name).strip("-.")[:LONGEST] or "run"


def output_paths(
    given: Node, texts: tuple[str, ...], name: str, wrong: BatchErrors
) -> tuple[str, ...]:
    """Return the files a run is saved in, with `{name}` replaced by its name."""
    found = []
    for text in texts:
        for part in _PART.findall(text):
            if part != "name":
                hint = "write {name} for the run's name"
                wrong.add_problem(given, f"save: '{{{part}}}' is unknown", hint)
        path = text.replace("{name}", safe_file_name(name))
        if "\0" in path:
            wrong.add_problem(given, f"save: {text!r} is not a file name")
            continue
        try:
            format_of_file(path)
        except UsageError as error:
            wrong.add_problem(given, f"save: {error.problems[0].what}", error.hint)
            continue
        check_inside_folder(given, "save", path, wrong)
        found.append(path_beside_file(given, path))
    return tuple(found)


def check_inside_folder(given: Node, key: str, path: str, wrong: BatchErrors) -> None:
    """Report a relative path that a link leads out of the folder of the YAML file."""
    if not os.path.isabs(path) and ".." not in Path(path).parts:
        home = os.path.realpath(os.path.dirname(given.file.name))
        folder = os.path.realpath(os.path.dirname(path_beside_file(given, path)))
        if os.path.commonpath([home, folder]) != home:
            what = f"{key}: a link in '{path}' leads outside the folder of the YAML file"
            wrong.add_problem(given, what, "write the real path of the folder")


def check_overwrites(saved: Mapping[str, Node], read: Iterable[str], wrong: BatchErrors) -> None:
    """Report outputs that would overwrite inputs or the history; saved: nodes by path."""
    spared = ProtectedFiles(read)
    for path, given in saved.items():
        if path in spared:
            what = f"save: '{path}' would overwrite a file that the batch reads or appends to"
            wrong.add_problem(given, what, "choose another name")


KEYS = ("file", "label", "accept")


@dataclass(frozen=True, slots=True)
class HistoryTarget:
    """A history file, the label of new lines, and whether these become the reference."""

    file: str
    label: str
    accept: bool


def can_make_folder(path: str) -> bool:
    """Return whether the folder of a file is missing, and can be created."""
    folder = missing = os.path.dirname(os.path.abspath(path))
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return folder != missing and os.path.isdir(folder) and os.access(folder, os.W_OK)


def read_history_target(
    given: Node | None, label: str | None, wrong: BatchErrors, *, accept: bool
) -> HistoryTarget | None:
    """Return the history of `history: FILE` or `{file:, label:, accept:}`; arguments override."""
    if given is None:
        for flag in ["--label"] * (label is not None) + ["--accept"] * accept:
            hint = "add history: FILE at the top level of the YAML file"
            wrong.take(bad_option(f"{flag} needs a history, and the batch has none", hint))
        return None
    parts: Mapping[str, Node] = {"file": given}
    if isinstance(given.value, dict):
        parts = dict(given.pairs())
        for key, one in parts.items():
            if key not in KEYS:
                hint = suggestion(key, KEYS) or f"keys: {', '.join(KEYS)}"
                wrong.add_problem(one, f"history: unknown key '{key}'", hint)
    file, said, accepts = (parts.get(key) for key in KEYS)
    name = file.value if file else None
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        wrong.add_problem(file or given, "history must name a file", "write history: history.jsonl")
        return None
    if accepts is not None and not isinstance(accepts.value, bool):
        wrong.add_problem(accepts, "history: accept must be true or false")
    if said is not None and not isinstance(said.value, str):
        wrong.add_problem(
            said, "history: the label must be text", f"label: '{said.written or said.value}'"
        )
        return None
    label = label or (str(said.value) if said is not None else "")
    if not label.strip():
        hint = "add --label 2026-W47, or history: {file: FILE, label: TEXT}"
        wrong.add_problem(given, "history: the label is missing", hint)
        return None
    check_inside_folder(file or given, "history", name, wrong)
    path = path_beside_file(file or given, name)
    try:
        if not can_make_folder(path):
            check_target(path, ())
    except ClfevalError as error:
        wrong.take(error, file or given)
    return HistoryTarget(path, label, accept or bool(accepts and accepts.value))
