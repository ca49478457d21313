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


def convert_counts(
    table: FormatTable, columns_by_pattern: Mapping[str, Sequence[str]]
) -> Converted | None:
    """Return the table with its counts as weights, if no two rows have the same classes."""
    count_columns = list(chain(*columns_by_pattern.values()))
    other_columns = [name for name in table.names if name not in count_columns]
    index_columns = [name for name in other_columns if "index" in tags_of(name)]
    class_columns = [name for name in other_columns if name not in index_columns]
    if len(count_columns) != 1 or len(class_columns) < 2 or table.joined:
        return None
    if not all(_has_few_classes(table, name) for name in class_columns):
        return None
    counts = [float(cell or 0) for cell in table.profiles[count_columns[0]].sample]
    is_counted = sum(counts) > len(counts) and PairFacts(table.profiles).are_unique(class_columns)
    if not is_counted:
        return None
    return Converted(table.file, {"weight": count_columns[0]})


def _has_few_classes(table: FormatTable, name: str) -> bool:
    return has_classes(table.profiles[name], MOST_CLASSES)


def convert_true_positives(
    table: FormatTable, columns_by_pattern: Mapping[str, Sequence[str]]
) -> Converted | None:
    """Return the table with the columns model, tp, fp, fn of counts, and tn if it is there.

    Models are named by a column called so, else by the texts of each row.
    """
    count_columns = [matches[0] for matches in columns_by_pattern.values()]
    true_negatives = [name for name in table.names if re.fullmatch(TN, name)]
    role_of_column = dict(
        zip([*count_columns, *true_negatives[:1]], ColumnNames.COUNT, strict=False)
    )
    name_column = find_column(table.names, ColumnNames.MODEL)
    if name_column is not None and {*role_of_column} == {*role_of_column.values()}:
        return None
    text_columns = [
        name
        for name in table.names
        if name not in role_of_column
        and not table.profiles[name].mostly_numeric
        and table.profiles[name].texts
    ]
    name_parts = [name_column] if name_column is not None else text_columns
    model = pl.lit(ONLY_MODEL)
    if name_parts:
        model = pl.concat_str([pl.col(name).cast(pl.String) for name in name_parts], separator=" ")
    slice_columns = _slice_columns(table)
    frame = numbered_frame(table.file).select(
        ROW,
        model.alias("model"),
        *(pl.col(name).alias(role) for name, role in role_of_column.items()),
        *slice_columns,
    )
    new_columns = ["model", *role_of_column.values(), *slice_columns]
    return Converted(with_frame(table.file, frame, new_columns))


def _slice_columns(table: FormatTable) -> list[str]:
    """Return the columns of a table that make slices, alone, with another one or in bins."""
    slice_texts = [
        slice_text for by_text in table.options.by for slice_text in (by_text, *by_text.split("*"))
    ]
    requested_names = {
        name.strip()
        for slice_text in slice_texts
        for name in (slice_text, slice_text.partition(":")[0])
    }
    return [name for name in table.names if name in requested_names]


def refuse_two_truths(table: FormatTable, columns_by_pattern: Mapping[str, Sequence[str]]) -> None:
    """Raise for true positives that are counted among truth and among calls, as by hap.py."""
    (name, *_), *_ = columns_by_pattern.values()
    message = f"'{name}' and the calls count different true positives, and there is no tn"
    hint = "rank the rows by METRIC.Recall and METRIC.Precision with clfeval mlcps"
    raise DataError.new(message, "no-tn", table.file.name, 1, name, hint=hint)
