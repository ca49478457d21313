"""Recognition of prediction tables: layout and roles of columns, from the first or all rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import chain

from clfeval.errors import DataError, UsageError, bad_option, list_names, unknown_column_error
from clfeval.placeholders import ADD, END, OPTION
from clfeval.records import dataclass, replace
from clfeval.tables import invalid_cells, row_selection
from clfeval.tables.columns import Columns
from clfeval.tables.input import (
    FILE_NAME,
    ColumnNames,
    InputOptions,
    find_column,
    match_names,
    parse_facets,
    refuse_ignored_columns,
)
from clfeval.tables.layouts import counts_table, long, wide
from clfeval.tables.predictions import Layout, Predictions
from clfeval.tables.profiles import ColumnProfile, profile_all_rows, profile_sample, sample_is_whole
from clfeval.tables.readings.abstentions import refuse_abstentions
from clfeval.tables.readings.candidate_columns import kind_of_cells
from clfeval.tables.readings.choice import (
    choose_reading,
    has_columns_of_labels,
    is_table_of_metrics,
    no_models_error,
    no_truth_error,
)
from clfeval.tables.readings.copied_rows import refuse_copies
from clfeval.tables.readings.labels import known_labels, spelling_as_truth, variants_of
from clfeval.tables.readings.notations import refuse_decimal_commas
from clfeval.tables.readings.reading import Reading
from clfeval.tables.readings.repeated_rows import refuse_settings
from clfeval.tables.readings.rows_in_files import refuse_rows_in_files
from clfeval.tables.readings.score_scales import (
    divided_profile,
    percent_columns,
    scaled_profiles,
    with_scales,
)
from clfeval.tables.readings.summary_rows import refuse_summary_rows
from clfeval.tables.readings.truths import named_truth
from clfeval.tables.scan import SPELLED, CellReading, TableFile, all_distinct

# in order of recognition
LAYOUTS = (counts_table.COUNTS_LAYOUT, long.LAYOUT, wide.PROBABILITIES, wide.LAYOUT)


@dataclass(frozen=True, slots=True)
class Recognised:
    """The layout of a table, the roles of its columns, and the options with what these add."""

    layout: Layout
    columns: Columns
    roles: InputOptions


def recognise(file: str, profiles: Mapping[str, ColumnProfile], roles: InputOptions) -> Recognised:
    """Recognise the layout of a table, and the roles of its columns; DataError if several fit."""
    facets, slice_columns = parse_facets(roles, list(profiles)), roles.by
    roles = replace(roles, by=tuple(dict.fromkeys(chain(*facets))))
    ignored = _ignored_columns(file, profiles, roles)
    used = {name: column for name, column in profiles.items() if name not in ignored}
    percents = percent_columns(used, roles)
    used |= {name: divided_profile(used[name]) for name in percents}
    try:
        layout, reading = _choose_layout(file, used, roles)
    except DataError:
        if roles.decimal == ".":  # scores with a comma are texts
            refuse_decimal_commas(file, used, "", used, roles)
        raise
    if roles.confidences and layout is not wide.LAYOUT:
        message = f"{OPTION}--kind confidence{END} needs a wide table, not a {layout.name} one"
        raise bad_option(message, "write a column of labels and one of confidences")
    _refuse_truth_elsewhere(reading.columns.truth, used, roles)
    for name in slice_columns:
        flag = "--run" if name == roles.run else "--by"
        row_selection.refuse_many_slices(name, used.get(name), flag)
    if roles.decimal == ".":
        value_columns = _value_columns(reading, used)
        refuse_decimal_commas(file, value_columns, reading.columns.truth, used, roles)
    run = reading.roles.run
    if run is not None and run != roles.run:
        facets = ((run,),)
    columns_in_full = replace(
        reading.columns,
        unused=_unused_columns(reading, chain(*facets)),
        facets=facets,
        weight=reading.roles.weight,
        run=reading.roles.run,
        cluster=reading.roles.cluster,
        null_values=roles.null_value,
        fold=roles.fold_labels,
        ignored=(*reading.columns.ignored, *ignored),
        spelled=_spelled_columns(reading.columns, used, reading.roles),
        written=frozenset(_written_columns(used, roles)),
    )
    columns_in_full = with_scales(columns_in_full, used, roles, percents)
    return Recognised(layout, columns_in_full, reading.roles)


def _value_columns(reading: Reading, profiles: Mapping[str, ColumnProfile]) -> list[str]:
    """Return the columns of predictions; where none can be, also all columns with decimal commas.

    None can be where they have neither scores nor labels of truth. Scores that all differ look like
    ids if their commas are not read.
    """
    columns = reading.columns
    names = [name for model in columns.models for name in model.columns]
    names += [columns.answer] * bool(columns.answer)
    truth = profiles.get(columns.truth)
    labels = truth.texts if truth is not None else frozenset[str]()
    read_profiles = [profiles[name] for name in names if name in profiles]
    if not read_profiles or any(_may_predict(profile, labels) for profile in read_profiles):
        return names
    return [*names, *(name for name, profile in profiles.items() if profile.commas)]


def _may_predict(profile: ColumnProfile, labels: Collection[str]) -> bool:
    """Return whether a column has labels of truth only, or more numbers than a flag."""
    is_numeric = profile.mostly_numeric and len(profile.texts) > 2
    return is_numeric or profile.texts.issubset(labels)


def _unused_columns(reading: Reading, slice_columns: Iterable[str]) -> dict[str, str]:
    """Return why columns have no part, without those that options give one."""
    roles = reading.roles
    with_roles = {roles.run, roles.cluster, roles.weight, *slice_columns}
    unused = reading.columns.unused
    return {name: reason for name, reason in unused.items() if name not in with_roles}


def _ignored_columns(
    file: str, profiles: Mapping[str, ColumnProfile], roles: InputOptions
) -> list[str]:
    """Return the columns that options leave out; DataError for options that name no column."""
    columns = list(profiles)
    alone = ("truth", "id", "weight", "cluster")
    columns_of_flag = {f"--{option}": (getattr(roles, option),) for option in alone} | {
        "--by": roles.by
    }
    used = {*chain(*columns_of_flag.values()), *roles.model, roles.run}
    ignored = match_names(file, columns, roles.ignore, kind="column")
    ignored += row_selection.filter_columns(roles, profiles, (*used, *ignored))
    refuse_ignored_columns(ignored, {**columns_of_flag, "--model": roles.model})
    for flag, name in ((flag, name) for flag, names in columns_of_flag.items() for name in names):
        if name is not None and (name not in profiles or name in ignored) and name != FILE_NAME:
            raise unknown_column_error(file, name, columns, flag)
    return ignored


def _choose_layout(
    file: str, profiles: Mapping[str, ColumnProfile], roles: InputOptions
) -> tuple[Layout, Reading]:
    """Return the first layout that claims a table, with its only reading; DataError otherwise."""
    required = roles.layout
    layouts = [candidate for candidate in LAYOUTS if required in (None, candidate.name)]
    if required is None:
        layouts.remove(wide.PROBABILITIES)  # the wide layout has them too
    unnamed = required is None and named_truth(profiles, roles) is None
    if unnamed and (is_table_of_metrics(profiles) or has_columns_of_labels(profiles)):
        layouts = layouts[:1]  # no other reading of a table that is something else
    for layout in layouts:
        if readings := layout.readings(file, profiles, roles):
            reading = choose_reading(file, profiles, readings)
            if layout is wide.LAYOUT and any(
                model.kind == "classes" for model in reading.columns.models
            ):
                layout = wide.PROBABILITIES
            return layout, reading
    if required in ("long", "counts", "probabilities"):
        layout = next(candidate for candidate in LAYOUTS if candidate.name == required)
        message = (
            f"not a {required} table" if required != "probabilities" else "no class probabilities"
        )
        message += f"; columns: {list_names(profiles)}"
        hint = f"that layout needs columns such as {layout.needs}"
        raise DataError.new(message, "wrong-layout", file, hint=hint)
    if named_truth(profiles, roles) is not None:
        raise no_models_error(file, profiles)
    raise no_truth_error(file, profiles)


def _refuse_truth_elsewhere(
    truth: str, profiles: Mapping[str, ColumnProfile], roles: InputOptions
) -> None:
    """Raise where an option gives the column of truth another part."""
    is_binary = truth in profiles and len(profiles[truth].texts) < 3  # slices are classes
    columns_of_flag: dict[str, tuple[str | None, ...]] = {
        "--cluster": (roles.cluster,),
        "--weight": (roles.weight,),
        "--id": (roles.id,),
    }
    if is_binary:
        columns_of_flag["--by"] = roles.by
    for flag, names in columns_of_flag.items():
        if truth in names:
            classes = f"results of each class: {ADD} {OPTION}--show confusion{END}"
            message = f"{OPTION}{flag}{END} '{truth}' is the column of true labels"
            raise bad_option(message, classes if flag == "--by" else None)


def _written_columns(profiles: Mapping[str, ColumnProfile], roles: InputOptions) -> list[str]:
    """Return the columns of formatted numbers: with percent signs, or a declared decimal comma."""
    comma = roles.decimal == ","
    return [
        name
        for name, profile in profiles.items()
        if profile.percent or (comma and not profile.typed_number)
    ]


def _spelled_columns(
    columns: Columns, profiles: Mapping[str, ColumnProfile], roles: InputOptions
) -> dict[str, CellReading]:
    """Return the columns of labels that truth spells differently, with truth's spelling."""
    if columns.truth not in profiles:
        return {}
    labels = [name for model in columns.models if model.kind == "label" for name in model.columns]
    labels += [model.label_column for model in columns.models if model.label_column]
    classes = known_labels(profiles[columns.truth].texts, roles)
    if columns.answer in profiles and roles.kind != "score":
        has_labels = kind_of_cells(profiles[columns.answer], classes) == "label"
        labels += [columns.answer] if has_labels else []
    readings: dict[str, CellReading] = {}
    for name in labels:
        if name not in profiles:
            continue
        spelling = spelling_as_truth(profiles[name].texts, classes)
        if all(text == label for text, label in spelling.items()):
            continue
        texts_of: dict[str, list[str]] = {}
        for text, label in spelling.items():
            texts_of.setdefault(label, []).append(text)
        variants = {label: variants_of(label, texts_of.get(label, ())) for label in sorted(classes)}
        readings[name] = f"{SPELLED}{variants!r}"
    return readings


def recognise_predictions(
    files: tuple[TableFile, ...], roles: InputOptions, *, all_rows: bool = False
) -> Predictions:
    """Recognise a table by its first rows, or, where these do not decide, by all rows."""
    profiles = profile_sample(files[0], roles.null_value, roles.decimal, fold=roles.fold_labels)
    has_all_rows = sample_is_whole(files, profiles)
    is_whole = has_all_rows
    if not is_whole and (all_rows or _are_remembered(files, roles)):
        profiles = profiles_of_all_rows(files, profiles, roles)
        is_whole = True
    try:
        refuse_summary_rows(files, profiles, roles)
        if not roles.model:
            row_selection.refuse_train_and_test(files, profiles, roles)
        refuse_rows_in_files(files, profiles, roles)
        is_long = partial(_is_long_table, files[0].name, profiles)
        if not counts_table.holds_counts(profiles, roles):
            names = _model_names_of(profiles, roles, is_long)
            refuse_settings(files, profiles, roles, names, is_long)
        recognised = recognise(files[0].name, profiles, roles)
        refuse_abstentions(files[0].name, recognised.columns, profiles, roles)
        refuse_copies(files, profiles, roles, is_whole=has_all_rows)
        if not is_whole and _needs_all_rows(files, recognised, profiles):
            return recognise_predictions(files, roles, all_rows=True)
    except UsageError:
        # labels and scores that are one model in all rows may be two in the first ones, and truth
        # may have one class there
        if is_whole:
            raise
        return recognise_predictions(files, roles, all_rows=True)
    except DataError as error:
        if not is_whole:
            return recognise_predictions(files, roles, all_rows=True)
        invalid_cells.refuse_other_structure(files)
        raise invalid_cells.with_delimiter_hint(files[0], error) from error
    columns = recognised.columns
    if columns.spelled:
        classes = known_labels(profiles[columns.truth].texts, roles)
        profiles |= {
            name: profiles[name].with_spelling(spelling_as_truth(profiles[name].texts, classes))
            for name in columns.spelled
        }
    profiles |= scaled_profiles(columns, profiles)
    edges = row_selection.find_bin_edges(files, roles.by, files[0].columns, roles.null_value)
    columns = replace(columns, edges=edges)
    resolved = _resolved_options(roles, recognised)
    return Predictions(
        files, recognised.layout, columns, profiles, resolved, is_whole=is_whole, requested=roles
    )


def _is_long_table(file: str, profiles: Mapping[str, ColumnProfile], roles: InputOptions) -> bool:
    """Return whether a table can be read as a long one with some options."""
    try:
        return bool(long.LAYOUT.readings(file, profiles, roles))
    except DataError:
        return False


def _model_names_of(
    profiles: Mapping[str, ColumnProfile],
    roles: InputOptions,
    is_long: Callable[[InputOptions], bool],
) -> list[str]:
    """Return the column of model names of a long table, if there is one."""
    naming = find_column(profiles, ColumnNames.MODEL)
    answer = find_column(profiles, ColumnNames.PREDICTION)
    return [naming] if naming and (answer or is_long(roles)) else []


def _resolved_options(roles: InputOptions, recognised: Recognised) -> InputOptions:
    """Return the options with what a reading adds to them, and the recalibrated models."""
    reading_roles = recognised.roles
    return replace(
        roles,
        model=(*roles.model, *recognised.columns.calibrated),
        positive=reading_roles.positive,
        weight=reading_roles.weight,
        sampling_weights=reading_roles.sampling_weights,
        cluster=reading_roles.cluster,
        kind=reading_roles.kind,
        run=reading_roles.run,
        by=roles.by or reading_roles.by,
    )


def profiles_of_file(file: TableFile, roles: InputOptions) -> dict[str, ColumnProfile]:
    """Return the profiles of all rows of a file."""
    profiles = profile_sample(file, roles.null_value, roles.decimal, fold=roles.fold_labels)
    if sample_is_whole([file], profiles):
        return profiles
    return profiles_of_all_rows([file], profiles, roles)


def profiles_of_all_rows(
    files: Sequence[TableFile], sample: Mapping[str, ColumnProfile], roles: InputOptions
) -> dict[str, ColumnProfile]:
    """Return the profiles of all rows, by one more pass over the columns, if they are not known."""
    key = _key_of_rows(files, roles)
    remembered = _REMEMBERED.get()
    if remembered is not None and key in remembered:
        return dict(remembered[key])
    profiles = profile_all_rows(
        files, sample, roles.null_value, roles.decimal, fold=roles.fold_labels
    )
    if remembered is not None and key is not None:
        remembered[key] = dict(profiles)
    return profiles


_REMEMBERED: ContextVar[dict[Hashable, dict[str, ColumnProfile]] | None] = ContextVar(
    "profiles", default=None
)


@contextmanager
def remembering_profiles() -> Iterator[None]:
    """Profile all rows of files once within the block, however often these are read."""
    token = _REMEMBERED.set({})
    try:
        yield
    finally:
        _REMEMBERED.reset(token)


def _key_of_rows(files: Sequence[TableFile], roles: InputOptions) -> Hashable | None:
    """Return what the profiles of files depend on; None for tables that are no files."""
    sources = [file.source for file in files if file.source is not None]
    if len(sources) < len(files):
        return None
    places = tuple((source.path, source.format, source.delimiter) for source in sources)
    columns = tuple((file.columns, file.run, file.numbered, file.format) for file in files)
    return places, columns, roles.where, roles.null_value, roles.decimal, roles.fold_labels


def _are_remembered(files: Sequence[TableFile], roles: InputOptions) -> bool:
    remembered = _REMEMBERED.get()
    return remembered is not None and _key_of_rows(files, roles) in remembered


def _needs_all_rows(
    files: Sequence[TableFile], recognised: Recognised, profiles: Mapping[str, ColumnProfile]
) -> bool:
    """Return whether all rows deny that the values of an unused column are all different.

    Other facts of the first rows are checked by the pass that counts.
    """
    names = [name for name in recognised.columns.unused if profiles[name].distinct]
    nulls = recognised.columns.null_values
    return any(not all_distinct(files, name, nulls, profiles[name].texts) for name in names)


def read_again(opened: Predictions, denied: Sequence[tuple[str, str]] = ()) -> Predictions:
    """Return a table as it is read from the profiles of all rows; denied: facts of two columns."""
    options = opened.requested or opened.roles
    roles = replace(options, denied=(*options.denied, *denied))
    again = recognise_predictions(opened.files, roles, all_rows=True)
    again = replace(again, heard=opened.heard, requested=roles, joined=opened.joined)
    is_equal = again.columns == opened.columns and again.roles.positive == opened.roles.positive
    if opened.heard is not None and not is_equal:
        opened.heard(again)
    return again
