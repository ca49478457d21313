"""Tables of counts: of pairs of a true and a predicted class, or of true and false positives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from clfeval.errors import DataError
from clfeval.tables.formats.frames import numbered_frame, with_frame
from clfeval.tables.formats.record import Converted, FormatTable
from clfeval.tables.frames import pl
from clfeval.tables.input import ColumnNames, find_column
from clfeval.tables.invalid_cells import ROW
from clfeval.tables.readings.names import tags_of
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.truths import has_classes

MOST_CLASSES = 20
TP = r"(?i)(?:n_?)?(?:tp|true[ _]?positives?)"
FP = r"(?i)(?:n_?)?(?:fp|false[ _]?positives?)"
FN = r"(?i)(?:n_?)?(?:fn|false[ _]?negatives?)"
TN = r"(?i)(?:n_?)?(?:tn|true[ _]?negatives?)"
ONLY_MODEL = "model"


def convert_counts(table: FormatTable, columns: Mapping[str, Sequence[str]]) -> Converted | None:
    """Return the table with its counts as weights, if no two rows have the same classes."""
    names = list(chain(*columns.values()))
    others = [name for name in table.names if name not in names]
    index = [name for name in others if "index" in tags_of(name)]
    classes = [name for name in others if name not in index]
    if len(names) != 1 or len(classes) < 2 or table.joined:
        return None
    if not all(_is_few(table, name) for name in classes):
        return None
    numbers = [float(cell or 0) for cell in table.profiles[names[0]].sample]
    is_counted = sum(numbers) > len(numbers) and PairFacts(table.profiles).are_unique(classes)
    if not is_counted:
        return None
    return Converted(table.file, {"weight": names[0]})


def _is_few(table: FormatTable, name: str) -> bool:
    profile = table.profiles[name]
    return has_classes(profile, MOST_CLASSES)


def convert_true_positives(
    table: FormatTable, columns: Mapping[str, Sequence[str]]
) -> Converted | None:
    """Return the table with the columns model, tp, fp, fn of counts, and tn if it is there.

    Models are named by a column called so, else by the texts of each row.
    """
    names = [matching[0] for matching in columns.values()]
    true_negatives = [name for name in table.names if re.fullmatch(TN, name)]
    counts = dict(zip([*names, *true_negatives[:1]], ColumnNames.COUNT, strict=False))
    naming = find_column(table.names, ColumnNames.MODEL)
    if naming is not None and {*counts} == {*counts.values()}:
        return None
    texts = [
        name
        for name in table.names
        if name not in counts
        and not table.profiles[name].mostly_numeric
        and table.profiles[name].texts
    ]
    parts = [naming] if naming is not None else texts
    model = pl.lit(ONLY_MODEL)
    if parts:
        model = pl.concat_str([pl.col(name).cast(pl.String) for name in parts], separator=" ")
    slice_columns = _slice_columns(table)
    frame = numbered_frame(table.file).select(
        ROW,
        model.alias("model"),
        *(pl.col(name).alias(role) for name, role in counts.items()),
        *slice_columns,
    )
    new_columns = ["model", *counts.values(), *slice_columns]
    return Converted(with_frame(table.file, frame, new_columns))


def _slice_columns(table: FormatTable) -> list[str]:
    """Return the columns of a table that make slices, alone, with another one or in bins."""
    texts = [text for by_text in table.options.by for text in (by_text, *by_text.split("*"))]
    requested_names = {name.strip() for text in texts for name in (text, text.partition(":")[0])}
    return [name for name in table.names if name in requested_names]


def refuse_two_truths(table: FormatTable, columns: Mapping[str, Sequence[str]]) -> None:
    """Raise for true positives that are counted among truth and among calls, as by hap.py."""
    (name, *_), *_ = columns.values()
    message = f"'{name}' and the calls count different true positives, and there is no tn"
    hint = "rank the rows by METRIC.Recall and METRIC.Precision with clfeval mlcps"
    raise DataError.new(message, "no-tn", table.file.name, 1, name, hint=hint)
