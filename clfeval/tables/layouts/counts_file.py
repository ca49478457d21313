"""Files of `clfeval count`: recognised by their metadata, and checked before they are merged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from clfeval.errors import DataError, UsageError, list_names
from clfeval.placeholders import COMMAND, END, OPTION
from clfeval.records import fields, replace
from clfeval.tables.columns import Columns, ModelColumns
from clfeval.tables.frames import pl
from clfeval.tables.input import InputOptions
from clfeval.tables.layouts.counts_schema import (
    COLUMN_TYPES,
    SCHEMA,
    SCHEMA_KIND,
    damaged_counts,
    description_problem,
)
from clfeval.tables.predictions import Layout, Predictions
from clfeval.tables.scan import TableFile
from clfeval.tables.source import SourceFile

METADATA = "clfeval.counts"  # the key of the description among the metadata of the file
# fields of `InputOptions` that do not select or read rows
APPLY = ("positive", "dry_run", "input_format", "several", "ranks", "scores", "runs", "reference")
NOT_COUNTED = {  # options that `count` lacks, and what follows where they are left out
    "weight": "counts have no weights",
    "sampling_weights": "counts have no weights",
    "cluster": "counts have no clusters, and intervals assume independent rows",
}
FILE = "file"  # slices of --by: a file each
ALIKE = {
    "positive": "positive class",
    "models": "models",
    "thresholds": "thresholds",
    "facets": "slices",
    "edges": "edges of slices",
    "min_cell": "--min-cell",
}
COUNTS_FILE = Layout("counts", "", lambda *_: [], lambda *_: [], lambda *_: [])


def refuse_counts(sources: Sequence[SourceFile], hint: str) -> None:
    """Raise DataError for a file of counts where rows are needed."""
    for source in sources:
        if source.format == "parquet" and _metadata(source.path, source.path.stat().st_mtime_ns):
            raise DataError.new(
                "holds counts of predictions", "holds-counts", source.name, hint=hint
            )


def read_description(file: TableFile) -> dict[str, Any] | None:
    """Return what a counts file says of itself; None for other files. DataError if it is newer."""
    if file.source is None or file.source.format != "parquet":
        return None
    path = file.source.path
    text = _metadata(path, path.stat().st_mtime_ns)
    if text is not None:
        return _parse_description(text, file.columns, file.name)
    if {*file.columns} >= {*COLUMN_TYPES}:
        raise damaged_counts("its description is missing", file.name)
    return None


@cache  # of a file that is opened, read and merged
def _parse_description(text: str, columns: tuple[str, ...], file_name: str) -> dict[str, Any]:
    """Return the description of a counts file; DataError where it is damaged or of another schema.

    columns: those of the file.
    """
    try:
        description = json.loads(text)
    except (ValueError, RecursionError):
        raise damaged_counts("its description is not JSON", file_name) from None
    file_schema = description.get("schema") if isinstance(description, dict) else None
    if type(file_schema) is int or (
        file_schema != SCHEMA and str(file_schema).startswith(f"{SCHEMA_KIND}/")
    ):
        message = f"counts of schema {file_schema}, but this version reads schema {SCHEMA}"
        hint = "count the table again with this version, or read the file with the newer one"
        raise DataError.new(message, "other-schema", file_name, hint=hint)
    if problem := description_problem(description, columns):
        raise damaged_counts(problem, file_name)
    return dict(description)


@cache  # of a file, until it changes
def _metadata(path: Path, _: int) -> str | None:
    return pl.read_parquet_metadata(path).get(METADATA)


def are_counts_files(files: Sequence[TableFile]) -> bool:
    """Return whether files hold counts; DataError if only some do."""
    holds_counts = [read_description(file) is not None for file in files]
    if any(holds_counts) and not all(holds_counts):
        table_name = files[holds_counts.index(False)].name
        counts_name = files[holds_counts.index(True)].name
        message = f"is a table of rows, but {counts_name} holds counts"
        hint = (
            f"count it first, as {counts_name} was: "
            f"{COMMAND}clfeval count {table_name} --save NAME.counts.parquet{END}"
        )
        raise DataError.new(message, "mixed-inputs", table_name, hint=hint)
    return any(holds_counts)


def open_counts_files(files: tuple[TableFile, ...], input_options: InputOptions) -> Predictions:
    """Return counts files as an opened table; DataError for files that do not fit together.

    Raises UsageError for options that only apply where rows are read.
    """
    slices_are_files = input_options.by == (FILE,)
    _refuse_options_of_rows(files[0].name, input_options)
    descriptions = [read_description(file) or {} for file in files]
    _refuse_hidden_counts(files[0].name, descriptions, input_options)
    first_file_name = files[0].name
    first_description = descriptions[0]
    file_by_digest: dict[str, str] = {}
    for file, description in zip(files, descriptions, strict=True):
        refuse_unlike_counts(description, first_description, file.name, first_file_name)
        _refuse_other_classes(description, first_description, file.name, first_file_name)
        for part_digest in description["parts"]:  # of each table that was counted
            if part_digest in file_by_digest:
                message = f"counts rows that {file_by_digest[part_digest]} counts as well"
                hint = "give the counts of each table once"
                raise DataError.new(message, "same-counts", file.name, hint=hint)
            file_by_digest[part_digest] = file.name
    positive = first_description["positive"]
    if input_options.positive not in (None, positive):
        message = f"its positive class is '{positive}', not '{input_options.positive}'"
        hint = f"count the table with the other {OPTION}--positive{END}"
        raise DataError.new(message, "unknown-positive", first_file_name, hint=hint)
    if slices_are_files and first_description["facets"] not in ([], [[FILE]]):
        message = f"{OPTION}--by{END} file: {first_file_name} has slices already"
        raise UsageError.new(
            message, "bad-option", hint=f"leave it out, or count without {OPTION}--by{END}"
        )
    return counts_as_table(files, first_description, input_options)


def _refuse_hidden_counts(
    file: str, descriptions: Sequence[Mapping[str, Any]], input_options: InputOptions
) -> None:
    """Raise UsageError for counts that hide small ones, where more than a report is requested."""
    if input_options.ranks and not input_options.scores:
        return
    if not any(description["min_cell"] for description in descriptions):
        return
    message = (
        f"hides small counts (count {OPTION}--min-cell{END}), so that only report and count read it"
    )
    if input_options.scores:
        message = "hides small counts: scores cannot be counted otherwise"
    hint = f"count the table without {OPTION}--min-cell{END}"
    raise UsageError.new(message, "needs-predictions", file, hint=hint)


def _refuse_other_classes(
    description: Mapping[str, Any], first_description: Mapping[str, Any], file: str, first_file: str
) -> None:
    """Raise DataError if each of two counts has a negative class that the other one lacks."""
    negative_classes = {*description["classes"]} - {description["positive"]}
    first_negative_classes = {*first_description["classes"]} - {first_description["positive"]}
    if negative_classes <= first_negative_classes or first_negative_classes <= negative_classes:
        return
    message = f"its classes are {_format_values(description['classes'])}, in {first_file} "
    message += _format_values(first_description["classes"])
    raise DataError.new(message, "unequal-counts", file, hint="spell classes alike")


def _refuse_options_of_rows(file_name: str, input_options: InputOptions) -> None:
    """Raise UsageError for options that only apply where rows are read.

    file_name: that of a counts file, for the message.
    """
    defaults = InputOptions()
    applicable_fields = (*APPLY, "by") if input_options.by == (FILE,) else APPLY
    for field in fields(InputOptions):
        field_name = field.name
        is_default = getattr(input_options, field_name) == getattr(defaults, field_name)
        if is_default or field_name in applicable_fields:
            continue
        option_text = f"{OPTION}--{field_name.replace('_', '-')}{END}"
        message = f"{option_text} needs rows, but {file_name} holds counts"
        hint = "give it to clfeval count"
        if field_name in NOT_COUNTED:
            hint = f"give the table of rows in place of {file_name}, or leave {option_text} out: "
            hint += NOT_COUNTED[field_name]
        raise UsageError.new(message, "needs-predictions", hint=hint)


def counts_as_table(
    files: tuple[TableFile, ...], description: Mapping[str, Any], input_options: InputOptions
) -> Predictions:
    """Return counts as an opened table; description: that of each file."""
    slices_are_files = input_options.by == (FILE,)
    models = tuple(
        ModelColumns(model["name"], model["kind"], (model["name"],))
        for model in description["models"]
    )
    facets = ((FILE,),) if slices_are_files else tuple(map(tuple, description["facets"]))
    columns = Columns("truth", models=models, facets=facets)
    input_options = replace(
        input_options,
        by=(FILE,) if slices_are_files else tuple(description["by"]),
        missing=description["missing"],
        positive=description["positive"],
        threshold=dict(description["threshold"]),
    )
    return Predictions(files, COUNTS_FILE, columns, {}, input_options)


def refuse_unlike_counts(
    description: Mapping[str, Any], first_description: Mapping[str, Any], file: str, first_file: str
) -> None:
    """Raise DataError if two counts do not fit together, as of other models or thresholds."""
    for key, property_name in ALIKE.items():
        if description[key] != first_description[key]:
            message = f"its {property_name}: {_format_values(description[key])}; in {first_file}: "
            hint = (
                f"count both tables with the same options, such as {OPTION}--model{END}, "
                f"{OPTION}--by{END} and {OPTION}--min-cell{END}"
            )
            message += _format_values(first_description[key])
            raise DataError.new(message, "unequal-counts", file, hint=hint)


def _format_values(value: object) -> str:
    if isinstance(value, Mapping):
        return list_names([f"{model}={threshold}" for model, threshold in value.items()])
    if isinstance(value, list):
        return list_names(list(map(_format_member, value))) or "none"
    return f"'{value}'" if value else "none"


def _format_member(value: object) -> str:
    """Write a model, the columns of a slice, or a text."""
    if isinstance(value, dict):
        return f"{value['name']} ({value['kind']}s)"
    return "*".join(value) if isinstance(value, list) else str(value)
