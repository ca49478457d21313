"""Recognition of prediction tables: the layouts in order, and the roles of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import cast

from clfeval.errors import DataError, bad_option, list_names, unknown_column_error
from clfeval.records import dataclass, replace
from clfeval.tables.columns import ColumnPeek, ColumnRole, Columns, Layout
from clfeval.tables.guesses import known_labels, refuse_decimal_commas, spell_as_truth
from clfeval.tables.input import FILE_NAME, Input, match_names, parse_facets, refuse_ignored_columns
from clfeval.tables.invalid_cells import read_head
from clfeval.tables.row_selection import filter_columns, refuse_score_slices
from clfeval.tables.scan import Reading, TableFile, check_names, open_typed
from clfeval.tables.source import SourceFile


def layouts() -> tuple[Layout, ...]:
    """Return the layouts in order of recognition, imported on first use."""
    from clfeval.tables.layouts import long, wide

    return (long.COUNTS_LAYOUT, long.LAYOUT, wide.PROBABILITIES, wide.LAYOUT)


def open_source(source: SourceFile) -> TableFile:
    """Open a source as a table, with its header if it is text."""
    if not source.text:
        return open_typed(source)
    source, head = read_head(source)
    check_names(source.name, head.columns, row=head.header_row)
    return TableFile(source.name, head.columns, source, head=head)


def recognise(file: str, peeks: Mapping[str, ColumnPeek], roles: Input) -> tuple[Layout, Columns]:
    """Recognise the layout of a table, and the roles of its columns, from header and first rows."""
    columns = list(peeks)
    facets, asked = parse_facets(roles, columns), roles.by
    roles = replace(roles, by=tuple(dict.fromkeys(chain(*facets))))
    alone = {"truth": roles.truth, "id": roles.id, "weight": roles.weight, "cluster": roles.cluster}
    named: dict[str, Sequence[str | None]] = {f"--{one}": (name,) for one, name in alone.items()}
    named["--by"] = roles.by
    used = {*chain(*named.values()), *roles.model, roles.run}
    ignored = match_names(file, columns, roles.ignore, what="column")
    ignored += filter_columns(roles, peeks, (*used, *ignored))
    peeks = {name: column for name, column in peeks.items() if name not in ignored}
    refuse_ignored_columns(ignored, {**named, "--model": roles.model})
    for flag, name in ((flag, name) for flag, names in named.items() for name in names):
        if name is not None and name not in peeks and name != FILE_NAME:
            raise unknown_column_error(file, name, columns, flag)
    wanted = roles.layout
    for layout in layouts():
        if wanted not in (None, layout.name, *layout.asked):
            continue
        if (found := layout.recognise(file, peeks, roles)) is not None:
            few = found.truth in peeks and len(peeks[found.truth].texts) < 3
            for flag in ("--cluster", "--weight", "--id", *["--by"] * few):  # slices are classes
                if found.truth in named[flag]:
                    classes = "results of each class: add --show confusion"
                    raise bad_option(f"{flag} '{found.truth}' is the column of true labels",
                                     classes if flag == "--by" else None)  # fmt: skip
            for name in {*asked}:
                refuse_score_slices(name, peeks.get(name))
            if roles.decimal == ".":
                numbers = [name for one in found.models for name in one.columns]
                refuse_decimal_commas(file, [*numbers, found.answer], found.truth, peeks, roles)
            return layout, replace(
                found,
                facets=facets,
                weight=roles.weight,
                run=roles.run,
                cluster=roles.cluster,
                null_values=roles.null_value,
                fold=roles.fold_labels,
                ignored=(*found.ignored, *ignored),
                bits=_recoded_columns(found, peeks, roles),
                written=frozenset(
                    name
                    for name, column in peeks.items()
                    if column.percent or (roles.decimal == "," and not column.typed_number)
                ),
            )
    layout = next(layout for layout in layouts() if layout.name == wanted)
    what = f"not a {wanted} table" if wanted != "probabilities" else "no class probabilities"
    what += f"; columns: {list_names(columns)}"
    hint = f"that layout needs columns such as {layout.needs}"
    raise DataError.new(what, "wrong-layout", file, hint=hint)


def _recoded_columns(
    columns: Columns, peeks: Mapping[str, ColumnPeek], roles: Input
) -> dict[str, Reading]:
    """Return the 0/1 columns of labels that truth spells differently, with truth's spelling."""
    if columns.truth not in peeks:
        return {}
    labels = [name for one in columns.models if one.kind == "label" for name in one.columns]
    labels += [one.beside for one in columns.models if one.beside]
    labels += [columns.answer] if columns.answer and roles.kind != "score" else []
    classes = known_labels(peeks[columns.truth].texts, roles)
    found = {name: spell_as_truth(peeks[name].texts, classes) for name in labels}
    return {name: cast(Reading, "/".join(pair)) for name, pair in found.items() if pair}


KINDS = {"label": "labels", "score": "scores", "classes": "class probabilities"}
WHY = {
    "label": "its values are truth's labels",
    "score": "its values are numbers",
    "classes": "its name contains a class",
}


@dataclass(frozen=True, slots=True)
class Predictions:
    """Files with the same columns, and the layout recognised in the first."""

    files: tuple[TableFile, ...]
    layout: Layout
    columns: Columns
    peeks: Mapping[str, ColumnPeek]
    roles: Input
    joined: str = ""  # what was joined, and how

    def described(self) -> str:
        """Return one line on how the table was read."""
        columns = self.columns
        left = len(self.files) - 1
        files = self.files[0].name + f" and {left:,} more file{'s' * (left > 1)}" * bool(left)
        ids = None if self.joined else columns.id
        named = {"truth": columns.truth or None, "ids": ids, "clusters": columns.cluster,
                 "weights": columns.weight, "models": columns.naming or None,
                 "predictions": (columns.naming and columns.answer) or None}  # fmt: skip
        places = [f"{what} in '{name}'" for what, name in named.items() if name is not None]
        parts = [self.joined or f"{files}: {self.layout.name} table", ", ".join(places)]
        for kind, what in KINDS.items():
            names = [model.name for model in columns.models if model.kind == kind]
            if names:
                parts.append(f"{what} of {list_names(names)}")
        for pair in dict.fromkeys(columns.bits.values()):
            alike = list_names(name for name, one in columns.bits.items() if one == pair)
            no, yes = pair.split("/")
            given = "false and true" if yes in ("1", "1.0") else "0 and 1"
            parts.append(f"{given} of {alike} read as '{no}' and '{yes}'")
        if columns.ignored:
            parts.append(f"ignored {list_names(columns.ignored)}")
        return "; ".join(parts)

    def column_roles(self) -> list[ColumnRole]:
        """Return the role of every column of the files, with the reason."""
        columns, roles = self.columns, self.roles
        known: dict[str | None, tuple[str, str]] = {
            columns.truth: ("truth", "--truth" if roles.truth else "its name"),
            columns.id: ("id", "--join" if self.joined else "--id" if roles.id else "its name"),
            columns.naming: ("model names", "its name"),
            columns.answer: ("predictions", "its name"),
            columns.weight: ("weight", "--weight"),
            columns.cluster: ("cluster", "--cluster"),
            **dict.fromkeys(columns.by, ("slice" if columns.run is None else "run", "--by")),
        }
        for model in columns.models:
            if model.beside:
                known[model.beside] = (f"labels of '{model.name}'", "its name")
            for name, label in zip_longest(model.columns, model.classes):
                what = f"{KINDS[model.kind]} of '{model.name}'"
                if label is not None:
                    what = f"probability of '{label}' by '{model.name}'"
                classes = model.kind == "classes"
                why = "--kind" if roles.kind and not classes else WHY[model.kind]
                known.setdefault(name, (what, why))
        said = dict.fromkeys(columns.ignored, ("left out", "--ignore"))
        other = ("not used", "no option names it")
        names = self.files[0].columns
        return [ColumnRole(name, *known.get(name) or said.get(name, other)) for name in names]
