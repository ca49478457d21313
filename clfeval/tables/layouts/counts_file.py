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
from clfeval.tables.input import Input
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
# fields of `Input` that do not select or read rows
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
    for one in sources:
        if one.format == "parquet" and _metadata(one.path, one.path.stat().st_mtime_ns):
            raise DataError.new("holds counts of predictions", "holds-counts", one.name, hint=hint)


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
def _parse_description(text: str, columns: tuple[str, ...], name: str) -> dict[str, Any]:
    """Return the description of a counts file; DataError where it is damaged or of another schema.

    columns: those of the file.
    """
    try:
        description = json.loads(text)
    except (ValueError, RecursionError):
        raise damaged_counts("its description is not JSON", name) from None
    schema = description.get("schema") if isinstance(description, dict) else None
    if type(schema) is int or (schema != SCHEMA and str(schema).startswith(f"{SCHEMA_KIND}/")):
        message = f"counts of schema {schema}, but this version reads schema {SCHEMA}"
        hint = "count the table again with this version, or read the file with the newer one"
        raise DataError.new(message, "other-schema", name, hint=hint)
    if problem := description_problem(description, columns):
        raise damaged_counts(problem, name)
    return dict(description)


@cache  # of a file, until it changes
def _metadata(path: Path, _: int) -> str | None:
    return pl.read_parquet_metadata(path).get(METADATA)


def are_counts_files(files: Sequence[TableFile]) -> bool:
    """Return whether files hold counts; DataError if only some do."""
    held = [read_description(file) is not None for file in files]
    if any(held) and not all(held):
        table, counts = files[held.index(False)].name, files[held.index(True)].name
        what = f"is a table of rows, but {counts} holds counts"
        hint = (
            f"count it first, as {counts} was: "
            f"{COMMAND}clfeval count {table} --save NAME.counts.parquet{END}"
        )
        raise DataError.new(what, "mixed-inputs", table, hint=hint)
    return any(held)


def open_counts_files(files: tuple[TableFile, ...], roles: Input) -> Predictions:
    """Return counts files as an opened table; DataError for files that do not fit together.

    Raises UsageError for options that only apply where rows are read.
    """
    by_file = roles.by == (FILE,)
    _refuse_options_of_rows(files[0].name, roles)
    found = [read_description(file) or {} for file in files]
    if (not roles.ranks or roles.scores) and any(one["min_cell"] for one in found):
        what = (
            f"hides small counts (count {OPTION}--min-cell{END}), so that only report and count "
            "read it"
        )
        what = "hides small counts: scores cannot be counted otherwise" if roles.scores else what
        hint = f"count the table without {OPTION}--min-cell{END}"
        raise UsageError.new(what, "needs-predictions", files[0].name, hint=hint)
    first, about = files[0].name, found[0]
    counted: dict[str, str] = {}
    for file, one in zip(files, found, strict=True):
        refuse_unlike_counts(one, about, file.name, first)
        mine, others = ({*each["classes"]} - {each["positive"]} for each in (one, about))
        if not (mine <= others or others <= mine):
            what = f"its classes are {_format_values(one['classes'])}, in {first} "
            what += _format_values(about["classes"])
            raise DataError.new(what, "unequal-counts", file.name, hint="spell classes alike")
        for part in one["parts"]:
            if part in counted:
                what = f"counts rows that {counted[part]} counts as well"
                hint = "give the counts of each table once"
                raise DataError.new(what, "same-counts", file.name, hint=hint)
            counted[part] = file.name
    if roles.positive not in (None, about["positive"]):
        what = f"its positive class is '{about['positive']}', not '{roles.positive}'"
        hint = f"count the table with the other {OPTION}--positive{END}"
        raise DataError.new(what, "unknown-positive", first, hint=hint)
    if by_file and about["facets"] not in ([], [[FILE]]):
        what = f"{OPTION}--by{END} file: {first} has slices already"
        raise UsageError.new(
            what, "bad-option", hint=f"leave it out, or count without {OPTION}--by{END}"
        )
    return counts_as_table(files, about, roles)


def _refuse_options_of_rows(name: str, roles: Input) -> None:
    """Raise UsageError for options that only apply where rows are read; name: of a counts file."""
    defaults = Input()
    applicable = (*APPLY, "by") if roles.by == (FILE,) else APPLY
    for option_name in (field.name for field in fields(Input)):
        is_default = getattr(roles, option_name) == getattr(defaults, option_name)
        if is_default or option_name in applicable:
            continue
        option = f"{OPTION}--{option_name.replace('_', '-')}{END}"
        message = f"{option} needs rows, but {name} holds counts"
        hint = "give it to clfeval count"
        if option_name in NOT_COUNTED:
            hint = f"give the table of rows in place of {name}, or leave {option} out: "
            hint += NOT_COUNTED[option_name]
        raise UsageError.new(message, "needs-predictions", hint=hint)


def counts_as_table(
    files: tuple[TableFile, ...], about: Mapping[str, Any], roles: Input
) -> Predictions:
    """Return counts as an opened table; about: what all files say of themselves."""
    names, by_file = [(one["name"], one["kind"]) for one in about["models"]], roles.by == (FILE,)
    models = tuple(ModelColumns(name, kind, (name,)) for name, kind in names)
    facets = ((FILE,),) if by_file else tuple(map(tuple, about["facets"]))
    columns = Columns("truth", models=models, facets=facets)
    roles = replace(
        roles,
        by=(FILE,) if by_file else tuple(about["by"]),
        missing=about["missing"],
        positive=about["positive"],
        threshold=dict(about["threshold"]),
    )
    return Predictions(files, COUNTS_FILE, columns, {}, roles)


def refuse_unlike_counts(
    one: Mapping[str, Any], other: Mapping[str, Any], name: str, first: str
) -> None:
    """Raise DataError if two counts do not fit together, as of other models or thresholds."""
    for key, what in ALIKE.items():
        if one[key] != other[key]:
            said = f"its {what}: {_format_values(one[key])}; in {first}: "
            hint = (
                f"count both tables with the same options, such as {OPTION}--model{END}, "
                f"{OPTION}--by{END} and {OPTION}--min-cell{END}"
            )
            said += _format_values(other[key])
            raise DataError.new(said, "unequal-counts", name, hint=hint)


def _format_values(value: object) -> str:
    if isinstance(value, Mapping):
        return list_names([f"{name}={cut}" for name, cut in value.items()])
    if isinstance(value, list):
        parts = [
            f"{one['name']} ({one['kind']}s)"
            if isinstance(one, dict)
            else "*".join(one)
            if isinstance(one, list)
            else str(one)
            for one in value
        ]
        return list_names(parts) or "none"
    return f"'{value}'" if value else "none"
