"""Rows that repeat: ids that occur once per value of another column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

from clfeval.errors import DataError, OfferedReading, Problem, join_texts, quote_name
from clfeval.placeholders import END, OPTION
from clfeval.records import replace
from clfeval.tables.frames import collect, concatenate_frames, natural_sort_key, nw
from clfeval.tables.input import ColumnNames, InputOptions, find_column
from clfeval.tables.profiles import ColumnProfile, ColumnProfiles, count_rows, is_score
from clfeval.tables.readings.candidate_columns import MOSTLY
from clfeval.tables.readings.names import is_certain_truth, is_likely_truth, tags_of
from clfeval.tables.readings.pair_facts import PairFacts
from clfeval.tables.readings.reading import MOST_OFFERED
from clfeval.tables.readings.requirements import MOST_CLASSES, MOST_RUNS
from clfeval.tables.readings.truths import truth_candidates
from clfeval.tables.scan import TableFile, count_distinct_values, scan

MOST_TRUTHS = 3  # columns that may be truth, of a table without a name that says so
MOST_PARTS = 3  # values of a setting that are offered
FEWEST_CHANGES = 12  # from one class to another; fewer may be equal in other rows by chance
FEWEST_IDS = 5  # fewer may be unique with another column by chance


def refuse_settings(
    files: Sequence[TableFile],
    profiles: ColumnProfiles,
    input_options: InputOptions,
    excluded: Sequence[str],
    is_long: Callable[[InputOptions], bool],
) -> None:
    """Raise for rows that occur once for each value of another column: which to evaluate?

    excluded: columns with another part, such as the model names of a long table. is_long: whether
    a table can be read as a long one with some options.
    """
    if (
        input_options.run is not None
        or input_options.cluster is not None
        or input_options.layout is not None
    ):
        return
    profiles = {
        name: profile
        for name, profile in profiles.items()
        if not any(fnmatchcase(name, pattern) for pattern in input_options.ignore)
    }
    for row_id in _repeated_ids(profiles, input_options):
        if row_id in excluded:
            return
        key_columns = [row_id, *(name for name in excluded if name != row_id)]
        has_id_name = is_named_id(row_id, input_options)
        if has_id_name and are_unique(files, key_columns, input_options):
            return
        for name in _possible_settings(profiles, input_options, [*key_columns, *excluded]):
            is_possible = has_id_name or _fits_once_per_value(profiles[row_id], profiles[name])
            if is_possible and _occurs_once_per_value(files, key_columns, name, input_options):
                raise _settings_error(files, row_id, name, input_options, is_long)
    if excluded or input_options.by:
        return
    for name in _settings_with_equal_truths(profiles, input_options):
        raise _settings_error(files, None, name, input_options, is_long)


def _settings_with_equal_truths(
    profiles: ColumnProfiles, input_options: InputOptions
) -> Iterator[str]:
    """Yield the columns for each value of which the values of a possible truth come again."""
    candidates = truth_candidates(profiles, input_options, PairFacts(profiles))[:MOST_TRUTHS]
    for truth in [candidate.name for candidate in candidates if candidate.name in profiles]:
        for name in _possible_settings(profiles, input_options, [truth]):
            has_fractions = profiles[name].mostly_numeric and profiles[name].pointed
            if not has_fractions and _repeats_truth(profiles[truth], profiles[name]):
                yield name


def _repeated_ids(profiles: ColumnProfiles, input_options: InputOptions) -> list[str]:
    """Return the columns of ids whose values repeat: the one given, those called so, or others.

    The others have texts that are no classes, or whole numbers.
    """
    if input_options.id is not None:
        candidates = [input_options.id]
    else:
        id_column = find_column(profiles, ColumnNames.ID)
        named_ids = (
            [id_column]
            if id_column
            else [name for name in profiles if "like an id" in tags_of(name)]
        )
        role_columns = {
            input_options.truth,
            input_options.weight,
            *input_options.by,
            *input_options.model,
            "",
        }
        other_columns = (
            []
            if id_column
            else [name for name in profiles if name not in {*named_ids, *role_columns}]
        )
        candidates = named_ids + [
            name for name in other_columns if _names_rows(name, profiles[name])
        ]
    return [name for name in candidates if _repeats(profiles.get(name))]


def _names_rows(name: str, profile: ColumnProfile) -> bool:
    """Return whether a column without such a name may have ids: many texts, or whole numbers."""
    if tags_of(name) & {"prediction", "confidence"} or len(profile.texts) <= MOST_CLASSES:
        return False
    return not profile.mostly_numeric or (profile.is_integer and not profile.pointed)


def _fits_once_per_value(ids: ColumnProfile, setting: ColumnProfile) -> bool:
    """Return whether most values of a column can occur once for each value of another one."""
    expected = len(ids.texts) * len(setting.texts)
    return MOSTLY * expected <= ids.rows - ids.missing <= expected


def _repeats_truth(truth: ColumnProfile, setting: ColumnProfile) -> bool:
    """Return whether the rows of each value of a column have the same truth, in order.

    It has several classes that change often enough to rule chance out.
    """
    labels_of_value: dict[str, list[str]] = {}
    for label, value in zip(truth.sample, setting.sample, strict=True):
        if label is None or value is None:
            return False
        labels_of_value.setdefault(value, []).append(label)
    if len(labels_of_value) < 2:
        return False  # the first rows have one value
    first_labels, *other_labels = labels_of_value.values()
    change_count = sum(label != next_label for label, next_label in pairwise(first_labels))
    return change_count >= FEWEST_CHANGES and all(labels == first_labels for labels in other_labels)


def _repeats(profile: ColumnProfile | None) -> bool:
    """Return whether some values of a column occur twice, and none in most rows."""
    if profile is None or profile.distinct or not profile.texts:
        return False
    return len(profile.texts) * 10 > profile.rows - profile.missing


def _possible_settings(
    profiles: ColumnProfiles, input_options: InputOptions, excluded: Sequence[str]
) -> list[str]:
    """Return the columns of a few values that are neither truth nor predictions."""
    role_columns = {
        *excluded,
        input_options.truth,
        input_options.weight,
        *input_options.by,
        *input_options.model,
        "",
    }
    return [
        name
        for name, profile in profiles.items()
        if name not in role_columns
        and 1 < len(profile.texts) <= MOST_RUNS
        and "prediction" not in tags_of(name)
        and not ("model" in tags_of(name) and profile.mostly_numeric)
        and not (is_certain_truth(name) or is_likely_truth(name))
    ]


def _occurs_once_per_value(
    files: Sequence[TableFile], key_columns: Sequence[str], name: str, input_options: InputOptions
) -> bool:
    """Return whether most rows of an id occur, once, for each value of another column."""
    if not are_unique(files, [*key_columns, name], input_options):
        return False
    readings = dict.fromkeys([*key_columns, name], "text")
    frames = [scan(file, readings, null_values=input_options.null_value) for file in files]
    rows = concatenate_frames(frames).drop_nulls()
    rows_of_ids = collect(rows.group_by(*key_columns).agg(nw.len().alias("__clfeval_rows")))
    rows_of_values = collect(rows.group_by(name).agg(nw.len().alias("__clfeval_rows")))
    expected_rows = len(rows_of_ids) * len(rows_of_values)
    return (
        len(rows_of_ids) >= FEWEST_IDS
        and rows_of_ids["__clfeval_rows"].sum() >= MOSTLY * expected_rows
    )


def are_unique(
    files: Sequence[TableFile], columns: Sequence[str], input_options: InputOptions
) -> bool:
    """Return whether no two rows of all files have the same values in some columns."""
    readings = dict.fromkeys(columns, "text")
    frames = [scan(file, readings, null_values=input_options.null_value) for file in files]
    rows = concatenate_frames(frames).drop_nulls()
    row_counts = collect(rows.group_by(*columns).agg(nw.len().alias("__clfeval_rows")))
    return bool((row_counts["__clfeval_rows"] == 1).all())


def is_named_id(name: str, input_options: InputOptions) -> bool:
    """Return whether a column is one of ids by an option or by its name."""
    return name == input_options.id or bool(tags_of(name) & {"id", "like an id", "cluster"})


def rows_of_value(
    name: str, value: str, rows: int, options: Mapping[str, Any] | None = None
) -> OfferedReading:
    """Return the reading of the rows with one value of a column, which is no model then."""
    meaning = f"only the {count_rows(rows)} with {name} = {quote_name(value)}"
    quoted_column = '"{}"'.format(name.replace('"', '""'))
    condition = "{} = '{}'".format(quoted_column, value.replace("'", "''"))
    ignore_option = {"ignore": (name,)} if is_score(value) else {}
    return OfferedReading(meaning, {"where": condition, **ignore_option, **(options or {})})


def _settings_error(
    files: Sequence[TableFile],
    row_id: str | None,
    name: str,
    input_options: InputOptions,
    is_long: Callable[[InputOptions], bool],
) -> DataError:
    """Build the error that offers clusters, a model or a run for each value, or one value.

    row_id: the column of ids; None where rows are the same by their order.
    """
    counts = count_distinct_values(files, name, input_options.null_value)
    values = sorted(counts, key=natural_sort_key)
    value_phrases = [f"{quote_name(value)} ({count_rows(counts[value])})" for value in values]
    subject = "the same rows" if row_id is None else f"ids of {quote_name(row_id)}"
    question_text = f"{subject} occur once for each value: which should be evaluated? "
    problem = Problem(
        question_text + join_texts(value_phrases, 5), "repeated-rows", files[0].name, None, name
    )
    readings = []
    id_option = {} if row_id is None or is_named_id(row_id, input_options) else {"id": row_id}
    if row_id is not None and "cluster" in tags_of(row_id):
        meaning = (
            f"all {count_rows(counts.total())}, those of one {quote_name(row_id)} as a cluster"
        )
        readings.append(OfferedReading(meaning, {"cluster": row_id}))
    long_roles = replace(input_options, layout="long", id=row_id)
    has_models = row_id is not None and "run" not in tags_of(name) and is_long(long_roles)
    if has_models:
        meaning = f"each value of {quote_name(name)} is a model"
        readings.append(OfferedReading(meaning, {"id": row_id, "layout": "long"}))
    elif input_options.runs and not input_options.by:
        meaning = f"each value of {quote_name(name)} is a run"
        readings.append(OfferedReading(meaning, {"run": name, **id_option}))
    offered_count = min(MOST_PARTS, MOST_OFFERED - len(readings))
    for value in values[:offered_count]:
        readings.append(rows_of_value(name, value, counts[value], id_option))
    other_values = [quote_name(value) for value in values[offered_count:]]
    further = (
        f"{len(other_values)} more: {OPTION}--where{END} with {join_texts(other_values, 5)}"
        if other_values
        else None
    )
    return DataError(problem, readings=readings, further=further)
