"""Files as runs of the same models, and the names of the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from clfeval.errors import bad_option
from clfeval.tables.scan import TableFile


def run_files(files: Sequence[TableFile]) -> tuple[TableFile, ...]:
    """Return files with their names as runs, numbered if equal; UsageError for a single file."""
    if len(files) < 2:
        what = "--run-files needs several files, but only one is given"
        raise bad_option(what, "name several files, or add --run COLUMN")
    often, numbers, found = Counter(file.shown for file in files), Counter[str](), []
    for file in files:
        numbers[file.shown] += 1
        number = f" ({numbers[file.shown]})" if often[file.shown] > 1 else ""
        found.append(replace(file, run=f"{file.shown}{number}"))
    return tuple(found)
