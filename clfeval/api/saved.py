"""A saved result in the place of a table: shown and judged again, without its data."""

from __future__ import annotations

from dataclasses import replace
from os import fspath
from pathlib import Path
from typing import Any

from clfeval.baseline.read import read_result
from clfeval.document import Document
from clfeval.errors import bad_option
from clfeval.shell import format_command_line
from clfeval.tables.foreign import holds_result
from clfeval.tables.source import split_named_path, table_paths


def saved_result(given: Any) -> Document | None:
    """Return the result that was saved, None where tables are given; UsageError for several."""
    if isinstance(given, Document):
        return replace(given, gates=(), again=True)
    if not (saved := saved_files(given)):
        return None
    files = [split_named_path(path)[1] for path in table_paths(given)]
    if len(files) > 1:
        hint = format_command_line(["clfeval", "report", files[0], "--baseline", files[1]])
        raise bad_option("report takes one saved result; use --baseline to compare two", hint)
    result = read_result(fspath(saved[0]), "give a file written by --save NAME.json")
    return replace(result, gates=(), again=True, python=False)


def saved_files(given: Any) -> list[str]:
    """Return those of some files that hold a saved result."""
    files = [split_named_path(path)[1] for path in table_paths(given)]
    return [file for file in files if Path(file).is_file() and holds_result(Path(file))]
