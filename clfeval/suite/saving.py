"""Output paths of runs: relative to the YAML file.

Paths in the file and in `--set` may be absolute or contain `..`. Names of runs and tables are made
safe. A link that leads a plain path out of the folder is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from clfeval.errors import UsageError
from clfeval.suite.entries import BatchErrors, Node
from clfeval.suite.reading import path_beside_file
from clfeval.targets import ProtectedFiles
from clfeval.views.files import format_of_file

LONGEST = 120  # characters of a name in a file name
_UNSAFE = re.compile(r"[^\w.=+,-]+")
_PART = re.compile(r"\{(\w*)\}")


def safe_file_name(name: str) -> str:
    """Return the name of a run as part of a file name: no separator, no bracket, no blank."""
    return _UNSAFE.sub("-", name).strip("-.")[:LONGEST] or "run"


def output_paths(
    given: Node, texts: tuple[str, ...], name: str, wrong: BatchErrors
) -> tuple[str, ...]:
    """Return the files that a run is saved in; `{name}` stands for its name."""
    paths = (_output_path(given, text, name, wrong) for text in texts)
    return tuple(path for path in paths if path is not None)


def _output_path(given: Node, text: str, name: str, wrong: BatchErrors) -> str | None:
    for part in _PART.findall(text):
        if part != "name":
            wrong.say(given, f"save: '{{{part}}}' is unknown", "write {name} for the run's name")
    path = text.replace("{name}", safe_file_name(name))
    if "\0" in path:
        wrong.say(given, f"save: {text!r} is not a file name")
        return None
    try:
        format_of_file(path)
    except UsageError as error:
        wrong.say(given, f"save: {error.problems[0].what}", error.hint)
        return None
    whole = path_beside_file(given, path)
    check_inside_folder(given, "save", path, wrong)
    return whole


def check_inside_folder(given: Node, key: str, path: str, wrong: BatchErrors) -> None:
    """Say where a link leads a plain path out of the folder of the YAML file."""
    if not os.path.isabs(path) and ".." not in Path(path).parts:
        home = os.path.realpath(os.path.dirname(given.file.name))
        folder = os.path.realpath(os.path.dirname(path_beside_file(given, path)))
        if os.path.commonpath([home, folder]) != home:
            what = f"{key}: a link in '{path}' leads outside the folder of the YAML file"
            wrong.say(given, what, "write the real path of the folder")


def check_overwrites(saved: Mapping[str, Node], read: Iterable[str], wrong: BatchErrors) -> None:
    """Report outputs that would overwrite inputs or the history; saved: their nodes."""
    spared = ProtectedFiles(read)
    for path, given in saved.items():
        if path in spared:
            what = f"save: '{path}' would overwrite a file that the batch reads or appends to"
            wrong.say(given, what, "choose another name")
