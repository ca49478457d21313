"""Tables of several labels a row, and class columns of other classes: refused with what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clfeval.counts.counted import Counted
from clfeval.counts.settle import refuse_other_classes
from clfeval.errors import DataError, listing
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
    declared = (name for name in counted.roles.labels if name not in classes)
    refuse_other_classes(counted.name, counted.models, [*classes, *declared])


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
