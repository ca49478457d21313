"""Rows that repeat: ids that occur once per value of another column."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.errors import DataError, OfferedReading, Problem, join_texts, quote_name
from clfeval.placeholders import END, OPTION
from clfeval.tables.frames import collect, concatenate_frames, natural_sort_key, nw
from clfeval.tables.input import ColumnNames, Input, find_column
from clfeval.tables.profiles import ColumnProfile, ColumnProfiles, count_rows
from clfeval.tables.readings.names import is_certain_truth, is_likely_truth, tags_of
from clfeval.tables.readings.requirements import MOST_RUNS, MOSTLY
from clfeval.tables.scan import TableFile, count_distinct_values, scan

MOST_PARTS = 3  # values of a setting that are offered
FEWEST_IDS = 5  # fewer may be unique with another column by chance


def refuse_settings(
    files: Sequence[TableFile], profiles: ColumnProfiles, roles: Input, excluded: Sequence[str]
) -> None:
    """Raise for ids that occur once for each value of another column: which is to be evaluated?

    excluded: columns with another part, such as the model names of a long table.
    """
    if roles.run is not None or roles.cluster is not None:
        return
    row_id = _repeated_id(profiles, roles)
    if row_id is None or row_id in excluded:
        return
    keys = [row_id, *(name for name in excluded if name != row_id)]
    if are_unique(files, keys, roles):
        return
    for name in _possible_settings(profiles, roles, [*keys, *excluded]):
        if _occurs_once_per_value(files, keys, name, roles):
            raise _settings_error(files, row_id, name, roles)


def _repeated_id(profiles: ColumnProfiles, roles: Input) -> str | None:
    """Return the column of ids whose values repeat: the one given, or by its name."""
    if roles.id is not None:
        candidates = [roles.id]
    else:
        certain = find_column(profiles, ColumnNames.ID)
        candidates = [certain] if certain else [n for n in profiles if "like an id" in tags_of(n)]
    return next((name for name in candidates if _repeats(profiles.get(name))), None)


def _repeats(profile: ColumnProfile | None) -> bool:
    """Return whether some values of a column occur twice, and none in most rows."""
    if profile is None or profile.distinct or not profile.texts:
        return False
    return len(profile.texts) * 10 > profile.rows - profile.missing


def _possible_settings(
    profiles: ColumnProfiles, roles: Input, excluded: Sequence[str]
) -> list[str]:
    """Return the columns of a few values that are neither truth nor predictions."""
    parts = {*excluded, roles.truth, roles.weight, *roles.by, *roles.model, ""}
    return [
        name
        for name, profile in profiles.items()
        if name not in parts
        and 1 < len(profile.texts) <= MOST_RUNS
        and not tags_of(name) & {"prediction", "model"}
        and not (is_certain_truth(name) or is_likely_truth(name))
    ]


def _occurs_once_per_value(
    files: Sequence[TableFile], keys: Sequence[str], name: str, roles: Input
) -> bool:
    """Return whether most rows of an id occur, once, for each value of another column."""
    if not are_unique(files, [*keys, name], roles):
        return False
    readings = dict.fromkeys([*keys, name], "text")
    frames = [scan(file, readings, null_values=roles.null_value) for file in files]
    rows = concatenate_frames(frames).drop_nulls()
    per_id = collect(rows.group_by(*keys).agg(nw.len().alias("__clfeval_rows")))
    values = collect(rows.group_by(name).agg(nw.len().alias("__clfeval_rows")))
    expected = len(per_id) * len(values)
    return len(per_id) >= FEWEST_IDS and per_id["__clfeval_rows"].sum() >= MOSTLY * expected


def are_unique(files: Sequence[TableFile], columns: Sequence[str], roles: Input) -> bool:
    """Return whether no two rows of all files have the same values in some columns."""
    readings = dict.fromkeys(columns, "text")
    frames = [scan(file, readings, null_values=roles.null_value) for file in files]
    rows = concatenate_frames(frames).drop_nulls()
    row_counts = collect(rows.group_by(*columns).agg(nw.len().alias("__clfeval_rows")))
    return bool((row_counts["__clfeval_rows"] == 1).all())


def _settings_error(files: Sequence[TableFile], row_id: str, name: str, roles: Input) -> DataError:
    """Build the error that offers all rows in clusters, each value as a run, or one value each."""
    counts = count_distinct_values(files, name, roles.null_value)
    values = sorted(counts, key=natural_sort_key)
    rows = [f"{quote_name(value)} ({count_rows(counts[value])})" for value in values]
    text = f"ids of {quote_name(row_id)} occur once for each value: which should be evaluated? "
    problem = Problem(text + join_texts(rows, 5), "repeated-rows", files[0].name, None, name)
    column = '"{}"'.format(name.replace('"', '""'))
    readings = []
    if "cluster" in tags_of(row_id):
        words = f"all {count_rows(counts.total())}, those of one {quote_name(row_id)} as a cluster"
        readings.append(OfferedReading(words, {"cluster": row_id}))
    if roles.runs and not roles.by:
        words = f"each value of {quote_name(name)} is a run"
        readings.append(OfferedReading(words, {"run": name}))
    for value in values[:MOST_PARTS]:
        words = f"only the {count_rows(counts[value])} with {name} = {quote_name(value)}"
        condition = "{} = '{}'".format(column, value.replace("'", "''"))
        readings.append(OfferedReading(words, {"where": condition}))
    left = [quote_name(value) for value in values[MOST_PARTS:]]
    further = f"{len(left)} more: {OPTION}--where{END} with {join_texts(left, 5)}" if left else None
    return DataError(problem, readings=readings, further=further)
