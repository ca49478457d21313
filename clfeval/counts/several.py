"""Tables of several labels a row, and class columns of other classes: refused with what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clfeval.counts.counted import Counted
from clfeval.errors import DataError, Problem, listing
from clfeval.late import pl
from clfeval.tables.diagnose import FILE, ROW, numbered

SEPARATORS = re.compile(r"\s*[;|,]\s*")
RECIPE = (
    "make it long, one label a line: columns row, label, truth and prediction (1 where the row has "
    "it), then --by label --cluster row --positive 1"
)


def refuse_several(counted: Counted) -> None:
    """Raise for cells of truth with several classes, as `a;b`, and for columns of other classes."""
    classes = [*counted.classes]
    joined = [name for name in classes if _parts(name) and {*_parts(name)} <= {*classes}]
    if joined:
        file, row = _first(counted, joined)
        what = (
            f"{listing(joined, 3)}: several of the classes {listing(_parts(joined[0]), 3)} in one"
        )
        raise DataError.of(what, "multi-label", file, row, counted.truth, hint=RECIPE)
    known = {*classes, *counted.roles.labels}
    problems = []
    for model in counted.models:
        strange = [name for name in model.classes if name not in known]
        lacking = [name for name in classes if name not in model.classes]
        if strange and lacking and model.kind == "classes":
            columns = (model.columns[model.classes.index(name)] for name in strange)
            what = f"no row of truth has this class, and {listing(lacking, 3)} has no column"
            problems += [Problem(what, "class-column", counted.name, 1, name) for name in columns]
    if problems:
        hint = "name the columns as the classes are written in truth, or declare with --labels " \
               "what truth happens to lack"  # fmt: skip
        raise DataError(problems, hint=hint)


def _parts(name: str) -> Sequence[str]:
    """Return the labels in a cell that has several, else none."""
    parts = [part for part in SEPARATORS.split(name.strip()) if part]
    return parts if len(parts) > 1 else ()


def _first(counted: Counted, names: Sequence[str]) -> tuple[str, int]:
    """Return the file and the row of the first cell that is one of the names."""
    settled = counted.kept.settled
    text = pl.col(counted.truth).cast(pl.String).str.strip_chars()
    rows = [
        numbered(file, settled.columns.null_values)
        .filter(text.is_in([name.strip() for name in names]))
        .select(FILE, ROW)
        .head(1)
        for file in settled.files
    ]
    file, row = pl.concat(rows).head(1).collect().row(0)
    return file, row
