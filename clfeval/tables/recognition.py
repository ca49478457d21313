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


def recognise(
    file: str, profiles: Mapping[str, ColumnProfile], input_options: InputOptions
) -> Recognised:
    """Recognise the layout of a table, and the roles of its columns; DataError if several fit."""
    facets = parse_facets(input_options, list(profiles))
    slice_columns = input_options.by
    input_options = replace(input_options, by=tuple(dict.fromkeys(chain(*facets))))
    ignored_columns = _ignored_columns(file, profiles, input_options)
    used_profiles = {
        name: profile for name, profile in profiles.items() if name not in ignored_columns
    }
    percent_names = percent_columns(used_profiles, input_options)
    used_profiles |= {name: divided_profile(used_profiles[name]) for name in percent_names}
    try:
        layout, reading = _choose_layout(file, used_profiles, input_options)
    except DataError:
        if input_options.decimal == ".":  # scores with a comma are texts
            refuse_decimal_commas(file, used_profiles, "", used_profiles, input_options)
        raise
    if input_options.confidences and layout is not wide.LAYOUT:
        message = f"{OPTION}--kind confidence{END} needs a wide table, not a {layout.name} one"
        raise bad_option(message, "write a column of labels and one of confidences")
    _refuse_truth_elsewhere(reading.columns.truth, used_profiles, input_options)
    for name in slice_columns:
        flag = "--run" if name == input_options.run else "--by"
        row_selection.refuse_many_slices(name, used_profiles.get(name), flag)
    if input_options.decimal == ".":
        value_columns = _value_columns(reading, used_profiles)
        refuse_decimal_commas(
            file, value_columns, reading.columns.truth, used_profiles, input_options
        )
    run_column = reading.roles.run
    if run_column is not None and run_column != input_options.run:
        facets = ((run_column,),)
    resolved_columns = replace(
        reading.columns,
        unused=_unused_columns(reading, chain(*facets)),
        facets=facets,
        weight=reading.roles.weight,
        run=reading.roles.run,
        cluster=reading.roles.cluster,
        null_values=input_options.null_value,
        fold=input_options.fold_labels,
        ignored=(*reading.columns.ignored, *ignored_columns),
        spelled=_spelled_columns(reading.columns, used_profiles, reading.roles),
        written=frozenset(_written_columns(used_profiles, input_options)),
    )
    resolved_columns = with_scales(resolved_columns, used_profiles, input_options, percent_names)
    return Recognised(layout, resolved_columns, reading.roles)


def _value_columns(reading: Reading, profiles: Mapping[str, ColumnProfile]) -> list[str]:
    """Return the columns of predictions; where none can be, also all columns with decimal commas.

    None can be where they have neither scores nor labels of truth. Scores that all differ look like
    ids if their commas are not read.
    """
    columns = reading.columns
    names = [name for model in columns.models for name in model.columns]
    if columns.answer:
        names.append(columns.answer)
    truth_profile = profiles.get(columns.truth)
    truth_labels = truth_profile.texts if truth_profile is not None else frozenset[str]()
    read_profiles = [profiles[name] for name in names if name in profiles]
    if not read_profiles or any(_may_predict(profile, truth_labels) for profile in read_profiles):
        return names
    return [*names, *(name for name, profile in profiles.items() if profile.commas)]


def _may_predict(profile: ColumnProfile, labels: Collection[str]) -> bool:
    """Return whether a column has labels of truth only, or more numbers than a flag."""
    is_numeric = profile.mostly_numeric and len(profile.texts) > 2
    return is_numeric or profile.texts.issubset(labels)


def _unused_columns(reading: Reading, slice_columns: Iterable[str]) -> dict[str, str]:
    """Return why columns have no part, without those that options give one."""
    input_options = reading.roles
    columns_with_roles = {
        input_options.run,
        input_options.cluster,
        input_options.weight,
        *slice_columns,
    }
    unused = reading.columns.unused
    return {name: reason for name, reason in unused.items() if name not in columns_with_roles}


def _ignored_columns(
    file: str, profiles: Mapping[str, ColumnProfile], input_options: InputOptions
) -> list[str]:
    """Return the columns that options leave out; DataError for options that name no column."""
    columns = list(profiles)
    single_options = ("truth", "id", "weight", "cluster")
    columns_of_flag = {
        f"--{option}": (getattr(input_options, option),) for option in single_options
    } | {"--by": input_options.by}
    used_columns = {*chain(*columns_of_flag.values()), *input_options.model, input_options.run}
    ignored_columns = match_names(file, columns, input_options.ignore, kind="column")
    ignored_columns += row_selection.filter_columns(
        input_options, profiles, (*used_columns, *ignored_columns)
    )
    refuse_ignored_columns(ignored_columns, {**columns_of_flag, "--model": input_options.model})
    flags_and_names = ((flag, name) for flag, names in columns_of_flag.items() for name in names)
    for flag, name in flags_and_names:
        if (
            name is not None
            and (name not in profiles or name in ignored_columns)
            and name != FILE_NAME
        ):
            raise unknown_column_error(file, name, columns, flag)
    return ignored_columns


def _choose_layout(
    file: str, profiles: Mapping[str, ColumnProfile], input_options: InputOptions
) -> tuple[Layout, Reading]:
    """Return the first layout that claims a table, with its only reading; DataError otherwise."""
    required_layout = input_options.layout
    layouts = [candidate for candidate in LAYOUTS if required_layout in (None, candidate.name)]
    if required_layout is None:
        layouts.remove(wide.PROBABILITIES)  # the wide layout has them too
    has_no_truth_name = required_layout is None and named_truth(profiles, input_options) is None
    if has_no_truth_name and (is_table_of_metrics(profiles) or has_columns_of_labels(profiles)):
        layouts = layouts[:1]  # no other reading of a table that is something else
    for layout in layouts:
        if readings := layout.readings(file, profiles, input_options):
            reading = choose_reading(file, profiles, readings)
            if layout is wide.LAYOUT and any(
                model.kind == "classes" for model in reading.columns.models
            ):
                layout = wide.PROBABILITIES
            return layout, reading
    if required_layout in ("long", "counts", "probabilities"):
        layout = next(candidate for candidate in LAYOUTS if candidate.name == required_layout)
        message = (
            f"not a {required_layout} table"
            if required_layout != "probabilities"
            else "no class probabilities"
        )
        message += f"; columns: {list_names(profiles)}"
        hint = f"that layout needs columns such as {layout.needs}"
        raise DataError.new(message, "wrong-layout", file, hint=hint)
    if named_truth(profiles, input_options) is not None:
        raise no_models_error(file, profiles)
    raise no_truth_error(file, profiles)


def _refuse_truth_elsewhere(
    truth_column: str, profiles: Mapping[str, ColumnProfile], input_options: InputOptions
) -> None:
    """Raise where an option gives the column of truth another part."""
    # with two classes, slices by truth are the classes themselves
    is_binary = truth_column in profiles and len(profiles[truth_column].texts) < 3
    columns_of_flag: dict[str, tuple[str | None, ...]] = {
        "--cluster": (input_options.cluster,),
        "--weight": (input_options.weight,),
        "--id": (input_options.id,),
    }
    if is_binary:
        columns_of_flag["--by"] = input_options.by
    for flag, names in columns_of_flag.items():
        if truth_column in names:
            class_hint = f"results of each class: {ADD} {OPTION}--show confusion{END}"
            message = f"{OPTION}{flag}{END} '{truth_column}' is the column of true labels"
            raise bad_option(message, class_hint if flag == "--by" else None)


def _written_columns(
    profiles: Mapping[str, ColumnProfile], input_options: InputOptions
) -> list[str]:
    """Return the columns of formatted numbers: with percent signs, or a declared decimal comma."""
    reads_commas = input_options.decimal == ","
    return [
        name
        for name, profile in profiles.items()
        if profile.percent or (reads_commas and not profile.typed_number)
    ]


def _spelled_columns(
    columns: Columns, profiles: Mapping[str, ColumnProfile], input_options: InputOptions
) -> dict[str, CellReading]:
    """Return the columns of labels that truth spells differently, with truth's spelling."""
    if columns.truth not in profiles:
        return {}
    label_columns = [
        name for model in columns.models if model.kind == "label" for name in model.columns
    ]
    label_columns += [model.label_column for model in columns.models if model.label_column]
    classes = known_labels(profiles[columns.truth].texts, input_options)
    if columns.answer in profiles and input_options.kind != "score":
        has_labels = kind_of_cells(profiles[columns.answer], classes) == "label"
        label_columns += [columns.answer] if has_labels else []
    readings: dict[str, CellReading] = {}
    for name in label_columns:
        if name not in profiles:
            continue
        spelling = spelling_as_truth(profiles[name].texts, classes)
        if all(text == label for text, label in spelling.items()):
            continue
        texts_of_label: dict[str, list[str]] = {}
        for text, label in spelling.items():
            texts_of_label.setdefault(label, []).append(text)
        variants = {
            label: variants_of(label, texts_of_label.get(label, ())) for label in sorted(classes)
        }
        readings[name] = f"{SPELLED}{variants!r}"
    return readings


def recognise_predictions(
    files: tuple[TableFile, ...], input_options: InputOptions, *, all_rows: bool = False
) -> Predictions:
    """Recognise a table by its first rows, or, where these do not decide, by all rows."""
    profiles = profile_sample(
        files[0], input_options.null_value, input_options.decimal, fold=input_options.fold_labels
    )
    has_all_rows = sample_is_whole(files, profiles)
    is_whole = has_all_rows
    if not is_whole and (all_rows or _are_remembered(files, input_options)):
        profiles = profiles_of_all_rows(files, profiles, input_options)
        is_whole = True
    try:
        refuse_summary_rows(files, profiles, input_options)
        if not input_options.model:
            row_selection.refuse_train_and_test(files, profiles, input_options)
        refuse_rows_in_files(files, profiles, input_options)
        is_long = partial(_is_long_table, files[0].name, profiles)
        if not counts_table.holds_counts(profiles, input_options):
            model_name_columns = _model_names_of(profiles, input_options, is_long)
            refuse_settings(files, profiles, input_options, model_name_columns, is_long)
        recognised = recognise(files[0].name, profiles, input_options)
        refuse_abstentions(files[0].name, recognised.columns, profiles, input_options)
        refuse_copies(files, profiles, input_options, is_whole=has_all_rows)
        if not is_whole and _needs_all_rows(files, recognised, profiles):
            return recognise_predictions(files, input_options, all_rows=True)
    except UsageError:
        # labels and scores that are one model in all rows may be two in the first ones, and truth
        # may have one class there
        if is_whole:
            raise
        return recognise_predictions(files, input_options, all_rows=True)
    except DataError as error:
        if not is_whole:
            return recognise_predictions(files, input_options, all_rows=True)
        invalid_cells.refuse_other_structure(files)
        raise invalid_cells.with_delimiter_hint(files[0], error) from error
    columns = recognised.columns
    if columns.spelled:
        classes = known_labels(profiles[columns.truth].texts, input_options)
        profiles |= {
            name: profiles[name].with_spelling(spelling_as_truth(profiles[name].texts, classes))
            for name in columns.spelled
        }
    profiles |= scaled_profiles(columns, profiles)
    edges = row_selection.find_bin_edges(
        files, input_options.by, files[0].columns, input_options.null_value
    )
    columns = replace(columns, edges=edges)
    resolved_options = _resolved_options(input_options, recognised)
    return Predictions(
        files,
        recognised.layout,
        columns,
        profiles,
        resolved_options,
        is_whole=is_whole,
        requested=input_options,
    )


def _is_long_table(
    file: str, profiles: Mapping[str, ColumnProfile], input_options: InputOptions
) -> bool:
    """Return whether a table can be read as a long one with some options."""
    try:
        return bool(long.LAYOUT.readings(file, profiles, input_options))
    except DataError:
        return False


def _model_names_of(
    profiles: Mapping[str, ColumnProfile],
    input_options: InputOptions,
    is_long: Callable[[InputOptions], bool],
) -> list[str]:
    """Return the column of model names of a long table, if there is one."""
    name_column = find_column(profiles, ColumnNames.MODEL)
    prediction_column = find_column(profiles, ColumnNames.PREDICTION)
    return [name_column] if name_column and (prediction_column or is_long(input_options)) else []


def _resolved_options(input_options: InputOptions, recognised: Recognised) -> InputOptions:
    """Return the options with what a reading adds to them, and the recalibrated models."""
    reading_roles = recognised.roles
    return replace(
        input_options,
        model=(*input_options.model, *recognised.columns.calibrated),
        positive=reading_roles.positive,
        weight=reading_roles.weight,
        sampling_weights=reading_roles.sampling_weights,
        cluster=reading_roles.cluster,
        kind=reading_roles.kind,
        run=reading_roles.run,
        by=input_options.by or reading_roles.by,
    )


def profiles_of_file(file: TableFile, input_options: InputOptions) -> dict[str, ColumnProfile]:
    """Return the profiles of all rows of a file."""
    profiles = profile_sample(
        file, input_options.null_value, input_options.decimal, fold=input_options.fold_labels
    )
    if sample_is_whole([file], profiles):
        return profiles
    return profiles_of_all_rows([file], profiles, input_options)


def profiles_of_all_rows(
    files: Sequence[TableFile], sample: Mapping[str, ColumnProfile], input_options: InputOptions
) -> dict[str, ColumnProfile]:
    """Return the profiles of all rows, by one more pass over the columns, if they are not known."""
    row_key = _key_of_rows(files, input_options)
    remembered_profiles = _REMEMBERED.get()
    if remembered_profiles is not None and row_key in remembered_profiles:
        return dict(remembered_profiles[row_key])
    profiles = profile_all_rows(
        files,
        sample,
        input_options.null_value,
        input_options.decimal,
        fold=input_options.fold_labels,
    )
    if remembered_profiles is not None and row_key is not None:
        remembered_profiles[row_key] = dict(profiles)
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


def _key_of_rows(files: Sequence[TableFile], input_options: InputOptions) -> Hashable | None:
    """Return what the profiles of files depend on; None for tables that are no files."""
    sources = [file.source for file in files if file.source is not None]
    if len(sources) < len(files):
        return None
    source_keys = tuple((source.path, source.format, source.delimiter) for source in sources)
    table_keys = tuple((file.columns, file.run, file.numbered, file.format) for file in files)
    return (
        source_keys,
        table_keys,
        input_options.where,
        input_options.null_value,
        input_options.decimal,
        input_options.fold_labels,
    )


def _are_remembered(files: Sequence[TableFile], input_options: InputOptions) -> bool:
    remembered = _REMEMBERED.get()
    return remembered is not None and _key_of_rows(files, input_options) in remembered


def _needs_all_rows(
    files: Sequence[TableFile], recognised: Recognised, profiles: Mapping[str, ColumnProfile]
) -> bool:
    """Return whether all rows deny that the values of an unused column are all different.

    Other facts of the first rows are checked by the pass that counts.
    """
    distinct_names = [name for name in recognised.columns.unused if profiles[name].distinct]
    null_values = recognised.columns.null_values
    return any(
        not all_distinct(files, name, null_values, profiles[name].texts) for name in distinct_names
    )


def read_again(opened: Predictions, denied_pairs: Sequence[tuple[str, str]] = ()) -> Predictions:
    """Return a table as it is read from the profiles of all rows.

    denied_pairs: pairs of columns of which all rows deny what the first rows show.
    """
    given_options = opened.requested or opened.roles
    new_options = replace(given_options, denied=(*given_options.denied, *denied_pairs))
    new_predictions = recognise_predictions(opened.files, new_options, all_rows=True)
    new_predictions = replace(
        new_predictions, heard=opened.heard, requested=new_options, joined=opened.joined
    )
    is_unchanged = (
        new_predictions.columns == opened.columns
        and new_predictions.roles.positive == opened.roles.positive
    )
    if opened.heard is not None and not is_unchanged:
        opened.heard(new_predictions)
    return new_predictions
