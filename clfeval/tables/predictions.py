"""Layouts of prediction tables, and opened predictions with the roles of their columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

from clfeval.errors import list_names
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, replace
from clfeval.tables.columns import Also, ColumnRole, Columns, Mode, ModelColumns
from clfeval.tables.frames import Frame, pl
from clfeval.tables.input import InputOptions, LayoutName
from clfeval.tables.invalid_cells import Check, Suspicion
from clfeval.tables.profiles import ColumnProfile
from clfeval.tables.readings.reading import Reading
from clfeval.tables.scan import TableFile


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout of prediction tables, with the functions that read it.

    needs: required columns. readings: the readings of a table by its names and profiles; none if it
    has another layout. rows: lazy frames with a row per observation and a column
    for each prediction; one per file, or one for all. checks: numbered rows and their checks.
    models: finds models in rows. expand: the predictions of rows that are 2 x 2 tables. joined:
    from several files.
    """

    name: LayoutName
    needs: str
    readings: Callable[[str, Mapping[str, ColumnProfile], InputOptions], Sequence[Reading]]
    rows: Callable[[Sequence[TableFile], Columns, Mode, Also], list[Frame]]
    checks: Callable[
        [Columns, Suspicion, Sequence[pl.LazyFrame]], list[tuple[pl.LazyFrame, list[Check]]]
    ]
    models: (
        Callable[[Sequence[TableFile], Columns, Mapping[str, ColumnProfile], InputOptions], Columns]
        | None
    ) = None
    expand: Callable[[TableFile, str, InputOptions], tuple[TableFile, InputOptions]] | None = None
    joined: bool = False

    @property
    def gathers(self) -> bool:
        """True if an observation has several rows: one per model, or one per joined file."""
        return self.joined or self.models is not None


Facts = Mapping[str, object]  # counts of rows, models, classes etc. by name
KINDS = {
    "label": "labels",
    "score": "scores",
    "confidence": "confidences",
    "classes": "class probabilities",
}
WHY = {
    "label": "its values are truth's labels",
    "score": "its values are numbers",
    "confidence": f"{OPTION}--kind{END}",
    "classes": "its name contains a class",
}


def _kind_of_numbers(model: ModelColumns) -> str:
    """Return the kind of a model, or "confidence"."""
    return "confidence" if model.confidence else model.kind


@dataclass(frozen=True, slots=True)
class Predictions:
    """Files with the same columns, the layout, and the roles of the columns.

    roles: the options, with what the reading adds. is_whole: the profiles are those of all rows.
    requested: the options as given, by which the table is read again. heard: called with it then.
    """

    files: tuple[TableFile, ...]
    layout: Layout
    columns: Columns
    profiles: Mapping[str, ColumnProfile]
    roles: InputOptions
    joined: str = ""  # what was joined, and how
    is_whole: bool = True
    requested: InputOptions | None = None
    heard: Callable[[Predictions], object] | None = None

    def announced(self, on_open: Callable[[Predictions], object]) -> Predictions:
        """Call a function with the table, now and if it is read again."""
        on_open(self)
        return replace(self, heard=on_open)

    def described(self) -> str:
        """Return one line on how the table was read."""
        columns = self.columns
        further_count = len(self.files) - 1
        files_text = self.files[0].name
        if further_count:
            plural = "s" if further_count > 1 else ""
            files_text += f" and {further_count:,} more file{plural}"
        column_of_role = {
            "truth": columns.truth or None,
            "ids": None if self.joined else columns.id,
            "clusters": columns.cluster,
            "weights": columns.weight,
            "models": columns.naming or None,
            "predictions": (columns.naming and columns.answer) or None,  # of a long table
        }
        columns_text = ", ".join(
            f"{role} in '{name}'" for role, name in column_of_role.items() if name is not None
        )
        format_text = f" ({self.files[0].format})" if self.files[0].format else ""
        phrases = [
            self.joined or f"{files_text}: {self.layout.name} table{format_text}",
            columns_text,
        ]
        models_by_kind: dict[str, list[str]] = {}
        for model in columns.models:
            models_by_kind.setdefault(_kind_of_numbers(model), []).append(model.name)
        for kind, title in KINDS.items():
            if names := models_by_kind.get(kind):
                phrases.append(f"{title} of {list_names(names)}")
        if columns.spelled:
            phrases.append(f"labels of {list_names(columns.spelled)} in truth's spelling")
        if columns.ignored:
            phrases.append(f"ignored {list_names(columns.ignored)}")
        if columns.unused:
            phrases.append(f"not used: {list_names(columns.unused)}")
        return "; ".join(phrases)

    def column_roles(self) -> list[ColumnRole]:
        """Return the role of every column of the files, with the reason."""
        columns, input_options = self.columns, self.roles
        id_reason = f"{OPTION}--id{END}" if input_options.id else "its name"
        role_of: dict[str | None, tuple[str, str]] = {
            columns.truth: (
                "truth",
                f"{OPTION}--truth{END}" if input_options.truth else "its name",
            ),
            columns.id: ("id", f"{OPTION}--join{END}" if self.joined else id_reason),
            columns.naming: ("model names", "its name"),
            columns.answer: ("predictions", "its name"),
            columns.weight: (
                "weight",
                "its name" if input_options.weight is None else f"{OPTION}--weight{END}",
            ),
            columns.cluster: ("cluster", f"{OPTION}--cluster{END}"),
            **dict.fromkeys(
                columns.by, ("slice" if columns.run is None else "run", f"{OPTION}--by{END}")
            ),
        }
        for model in columns.models:
            if model.label_column:
                role_of[model.label_column] = (f"labels of '{model.name}'", "its name")
            for name, label in zip_longest(columns.sources(model), model.classes):
                kind = _kind_of_numbers(model)
                role = f"{KINDS[kind]} of '{model.name}'"
                if label is not None:
                    role = f"probability of '{label}' by '{model.name}'"
                by_option = bool(input_options.kind) and model.kind != "classes"
                reason = f"{OPTION}--kind{END}" if by_option else WHY[kind]
                role_of.setdefault(name, (role, reason))
        for name in columns.ignored:
            role_of.setdefault(name, ("left out", f"{OPTION}--ignore{END}"))
        for name, reason in columns.unused.items():
            role_of.setdefault(name, ("not used", reason))
        default_role = ("not used", "no option names it")
        names = self.files[0].columns
        return [ColumnRole(name, *role_of.get(name, default_role)) for name in names]
