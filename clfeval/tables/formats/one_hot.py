"""One-hot classes: one 0/1 column per class, of which every row has exactly one 1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from clfeval.errors import DataError, list_names
from clfeval.records import dataclass
from clfeval.tables.formats.frames import numbered_frame, with_frame
from clfeval.tables.formats.record import Converted, FormatTable
from clfeval.tables.frames import pl
from clfeval.tables.invalid_cells import ROW
from clfeval.tables.readings.names import is_certain_truth, tags_of
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.truths import named_truth
from clfeval.tables.scan import TableFile

TRUTH = "truth"
FEWEST_ROWS = 10  # in fewer, several labels may be one in each row by chance
_TRUE = r"(?:y_?true|y|true|truth|target|actual|label|gt|gold|ground_?truth|one_?hot)"
_BEFORE = re.compile(rf"(?i)({_TRUE}[\W_]+)(.+)")
_AFTER = re.compile(rf"(?i)(.+?)([\W_]+{_TRUE})")


@dataclass(frozen=True, slots=True)
class OneHotSet:
    """Columns of 0 and 1, by class; prefix, suffix: what their names have around the class."""

    columns: Mapping[str, str]
    prefix: str = ""
    suffix: str = ""


def convert_one_hot(
    table: FormatTable, columns_by_pattern: Mapping[str, Sequence[str]]
) -> Converted | None:
    """Return the table with a column of truth in place of one 0/1 column per class.

    In one file, other columns are called like them; a file that is joined to others has no more
    columns than ids.
    """
    del columns_by_pattern
    if table.options.truth is not None or any(map(is_certain_truth, table.names)):
        return None
    if not _may_have_bits(table.file):
        return None
    bit_columns = [name for name in table.names if _has_bits(table, name)]
    truth_set = (
        _joined_truth(table, bit_columns) if table.joined else _truth_of_pairs(table, bit_columns)
    )
    if truth_set is None or not _is_one_hot(table, truth_set):
        return None
    other_profiles = {
        name: table.profiles[name] for name in table.names if name not in truth_set.columns.values()
    }
    if named_truth(other_profiles, table.options) is not None:
        return None
    file = _with_classes(table.file, truth_set, TRUTH)
    predicted_set = None if table.joined else _one_hot_predictions(table, truth_set, bit_columns)
    if predicted_set is not None:
        file = _with_classes(file, predicted_set, _name_of_predictions(predicted_set))
    names = list_names([*truth_set.columns.values()], 3)
    return Converted(file, {}, f"the 1 of {names} is the true class")


def _may_have_bits(file: TableFile) -> bool:
    """Return whether the first row of a text has several cells 0 or 1; True for typed data."""
    if file.head is None or not file.head.sample:
        return True
    return sum(cell in ("0", "1", "0.0", "1.0") for cell in file.head.sample[0]) > 1


def _has_bits(table: FormatTable, name: str) -> bool:
    profile = table.profiles[name]
    return bool(profile.texts) and profile.all_numbers and {*profile.numbers} <= {0.0, 1.0}


def _is_one_hot(table: FormatTable, one_hot_set: OneHotSet) -> bool:
    """Return whether there are enough rows, each with exactly one 1 in the columns of a set."""
    names = [*one_hot_set.columns.values()]
    if len(names) < 2 or table.profiles[names[0]].rows < FEWEST_ROWS:
        return False
    return PairFacts(table.profiles).sum_to_one(names)


def _joined_truth(table: FormatTable, bit_columns: Sequence[str]) -> OneHotSet | None:
    """Return the columns of a file with no others but ids and texts."""
    other_columns = [name for name in table.names if name not in bit_columns]
    if any(
        table.profiles[name].mostly_numeric and not (tags_of(name) or table.profiles[name].distinct)
        for name in other_columns
    ):
        return None
    truth_sets = list(_sets_called_truth(bit_columns))
    return truth_sets[0] if truth_sets else OneHotSet({name: name for name in bit_columns})


def _sets_called_truth(bit_columns: Sequence[str]) -> Iterator[OneHotSet]:
    """Yield the columns that a word for truth precedes or follows, such as `true_cat`."""
    for pattern, affix_group, class_group in ((_BEFORE, 1, 2), (_AFTER, 2, 1)):
        columns_by_affix: dict[str, dict[str, str]] = {}
        for name in bit_columns:
            if match := pattern.fullmatch(name):
                columns_by_affix.setdefault(match[affix_group], {})[match[class_group]] = name
        for affix, column_of_label in columns_by_affix.items():
            if len(column_of_label) > 1:
                prefix, suffix = (affix, "") if class_group == 2 else ("", affix)
                yield OneHotSet(column_of_label, prefix, suffix)


def _truth_of_pairs(table: FormatTable, bit_columns: Sequence[str]) -> OneHotSet | None:
    """Return the columns of truth for each of which another column is called like its class."""
    candidates = [*_sets_called_truth(bit_columns), *_bare_sets(bit_columns, table.names)]
    for candidate in candidates:
        labels = [*candidate.columns]
        if _partner_affixes(labels, [*candidate.columns.values()], table.names):
            return candidate
    return None


def _bare_sets(bit_columns: Sequence[str], names: Sequence[str]) -> Iterator[OneHotSet]:
    """Yield the columns called by class alone, which the names of others contain."""
    columns_by_affix: dict[tuple[str, str], dict[str, str]] = {}
    for label in bit_columns:
        for affix in _affixes(label, names):
            columns_by_affix.setdefault(affix, {})[label] = label
    yield from (OneHotSet(columns) for columns in columns_by_affix.values() if len(columns) > 1)


def _affixes(label: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return what names have before and after a label, set off by a sign."""
    pattern = re.compile(rf"(.+[\W_])?{re.escape(label)}([\W_].+)?")
    matches = [pattern.fullmatch(name) for name in names if name != label]
    return [(match[1] or "", match[2] or "") for match in matches if match]


def _partner_affixes(
    labels: Sequence[str], columns: Sequence[str], names: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the affixes with which every label is the name of another column."""
    other_columns = [name for name in names if name not in columns]
    bare_affixes = [("", "")] if {*labels} <= {*other_columns} else []
    affix_sets = [{*_affixes(label, other_columns)} for label in labels]
    if not affix_sets:
        return []
    return bare_affixes + sorted(set[tuple[str, str]].intersection(*affix_sets))


def _one_hot_predictions(
    table: FormatTable, truth_set: OneHotSet, bit_columns: Sequence[str]
) -> OneHotSet | None:
    """Return the only other columns that are one-hot, of the same classes; None without them."""
    labels = [*truth_set.columns]
    truth_columns = [*truth_set.columns.values()]
    predicted_sets = []
    for prefix, suffix in _partner_affixes(labels, truth_columns, table.names):
        column_of_label = {label: f"{prefix}{label}{suffix}" for label in labels}
        if {*column_of_label.values()} <= {*bit_columns} and PairFacts(table.profiles).sum_to_one(
            [*column_of_label.values()]
        ):
            predicted_sets.append(OneHotSet(column_of_label, prefix, suffix))
    return predicted_sets[0] if len(predicted_sets) == 1 else None


def _name_of_predictions(one_hot_set: OneHotSet) -> str:
    """Return the name of predictions: what the names of the columns have around the class."""
    name = re.sub(r"^[\W_]+|[\W_]+$", "", one_hot_set.prefix + one_hot_set.suffix)
    return name or "prediction"


def _with_classes(file: TableFile, one_hot_set: OneHotSet, new_name: str) -> TableFile:
    """Return a table with a column of classes in place of the 0/1 columns; DataError for others."""
    bit_columns = [*one_hot_set.columns.values()]
    rows = numbered_frame(file)
    bits = [pl.col(name).cast(pl.Float64, strict=False) for name in bit_columns]
    _refuse_other_rows(file.name, rows, bit_columns, bits)
    label: pl.Expr = pl.lit(None, pl.String)
    for class_name, bit in zip(one_hot_set.columns, bits, strict=True):
        label = pl.when(bit == 1).then(pl.lit(class_name)).otherwise(label)
    new_columns = [*(name for name in file.columns if name not in bit_columns), new_name]
    frame = rows.with_columns(label.alias(new_name))
    return with_frame(file, frame.select(ROW, *new_columns), new_columns)


def _refuse_other_rows(
    file: str, rows: pl.LazyFrame, names: Sequence[str], bits: Sequence[pl.Expr]
) -> None:
    """Raise for the first row that has not exactly one 1 among some columns, and 0 in the rest."""
    is_other = (pl.sum_horizontal(bits, ignore_nulls=False) != 1).fill_null(value=True)
    is_other |= pl.any_horizontal((bit != 0) & (bit != 1) for bit in bits)
    first_row = rows.filter(is_other).select(ROW).head(1).collect(engine="streaming")
    if first_row.height:
        message = f"the row has not exactly one 1 among {list_names(names, 3)}"
        hint = "0/1 columns of several classes say one class if every row has exactly one 1"
        raise DataError.new(message, "one-hot", file, first_row[ROW][0], names[0], hint=hint)
