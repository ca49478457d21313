"""Tables of several labels a row, and class columns of other classes: refused with what to do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from clfeval.counts.settle import CountSettings, refuse_class_columns_not_in_truth
from clfeval.errors import DataError, list_names
from clfeval.tables.diagnose import FILE, ROW, column_as_text, read_numbered_rows

if TYPE_CHECKING:
    from clfeval.counts.counted import PredictionCounts

SEPARATORS, COMMAS = re.compile(r"\s*[;|,]\s*"), re.compile(",")
RECIPE = (
    "write one row per label, with columns row, label, truth and prediction (1 where the label "
    "applies), then add --by label --cluster row --positive 1"
)


def refuse_multilabel(counted: PredictionCounts) -> None:
    """Raise for cells with several classes, as `a;b`, and for columns of other classes."""
    classes = [*counted.classes]
    refuse_multilabel_cells(counted.kept.settled, classes)
    declared = (name for name in counted.roles.classes if name not in classes)
    refuse_class_columns_not_in_truth(counted.name, counted.models, [*classes, *declared])


def refuse_multilabel_cells(
    settled: CountSettings, classes: Iterable[str], others: Iterable[Iterable[str]] = ()
) -> None:
    """Raise for cells of several labels, as `a;b`, unless declared.

    Their parts are labels, or parts of other cells. others: predictions that are not classes.
    """
    roles, columns = settled.roles, settled.columns
    models = [model for model in columns.models if model.kind == "label"]
    every = {*classes}.union(*others, *(settled.texts(model) for model in models))
    meant = {*roles.classes, roles.positive}
    cells = {
        name: {*_split_labels(name)}
        for name in sorted(every)
        if _split_labels(name) and name not in meant
    }
    known = every - cells.keys()
    held = Counter(chain.from_iterable(p for name, p in cells.items() if not COMMAS.search(name)))
    known |= {part for part, times in held.items() if times > 1}
    joined = [name for name, parts in cells.items() if parts <= known]
    if joined:
        names = [columns.truth, *(columns.source(model) for model in models)]
        file, row, column = _first(settled, joined, list(dict.fromkeys(names)))
        labels = list_names(_split_labels(joined[0]), 3)
        what = f"{list_names(joined, 3)}: a cell has several classes ({labels})"
        raise DataError.new(what, "multi-label", file, row, column, hint=RECIPE)


def _split_labels(name: str) -> Sequence[str]:
    """Return the labels in a cell that has several, else none."""
    parts = [part for part in SEPARATORS.split(name.strip()) if part]
    return parts if len(parts) > 1 else ()


def _first(
    settled: CountSettings, names: Sequence[str], columns: Sequence[str]
) -> tuple[str, int | None, str]:
    """Return file, row and column of the first cell that is one of the names."""
    wanted = [name.strip() for name in names]
    for column in columns:
        text = column_as_text(column).str.strip_chars()
        for file in settled.files:
            frame = read_numbered_rows(file, settled.columns.null_values).filter(text.is_in(wanted))
            for place in frame.select(FILE, ROW).head(1).collect().rows():
                return (*place, column)
    return settled.name, None, columns[0]
