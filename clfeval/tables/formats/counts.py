"""Tables of counts, as of R: a row for each pair of a true and a predicted class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clfeval.tables.formats.record import Converted, FormatTable
from clfeval.tables.readings.names import tags_of
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.truths import has_classes

MOST_CLASSES = 20


def convert_counts(table: FormatTable, columns: Mapping[str, Sequence[str]]) -> Converted | None:
    """Return the table with its counts as weights, if no two rows have the same classes."""
    names = [name for found in columns.values() for name in found]
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
