"""Prediction tables: the opened files, their layout, and how each column is to be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from clfeval.errors import DataError, Problem, listing
from clfeval.tables.confusion import expand_counts
from clfeval.tables.files import open_files, peek_at, with_delimiter_hint
from clfeval.tables.layout import Layout, recognise
from clfeval.tables.peek import Peek
from clfeval.tables.roles import Roles
from clfeval.tables.scan import TableFile

KINDS = {"label": "labels", "score": "scores", "classes": "class probabilities"}


@dataclass(frozen=True, slots=True)
class Predictions:
    """Files of one schema with the layout recognised in the first."""

    files: tuple[TableFile, ...]
    layout: Layout
    peeks: dict[str, Peek]
    roles: Roles

    @property
    def columns_used(self) -> list[str]:
        """Every column the counts need, each once."""
        layout = self.layout
        names = [layout.truth, *(self.roles.by)]
        if self.roles.weight:
            names.append(self.roles.weight)
        if layout.name == "long":
            names += [str(layout.id), layout.model_column, layout.prediction]
        else:
            names += [column for model in layout.models for column in model.columns]
        return list(dict.fromkeys(names))

    def described(self) -> str:
        """Say in one line how the table was read."""
        layout = self.layout
        parts = [f"{self.files[0].name}: {layout.name}"]
        if layout.name == "counts":
            parts.append(f"models in '{layout.model_column}'")
        else:
            parts.append(f"truth '{layout.truth}'")
        if len(self.files) > 1:
            parts[0] = f"{len(self.files)} files like {parts[0]}"
        if layout.id is not None:
            parts.append(f"id '{layout.id}'")
        if layout.name == "long":
            parts.append(f"models in '{layout.model_column}', answers in '{layout.prediction}'")
        for kind in ("label", "score", "classes"):
            names = [model.name for model in layout.models if model.kind == kind]
            if names:
                parts.append(f"{KINDS[kind]} of {listing(names)}")
        if layout.ignored:
            parts.append(f"ignored {listing(layout.ignored)}")
        return "; ".join(parts)


@contextmanager
def open_predictions(
    tables: Any,
    roles: Roles,
    *,
    input_format: str | None = None,
    delimiter: str | None = None,
    keep_counts: bool = False,
) -> Iterator[Predictions]:
    """Open a list of paths, or one data frame, as a prediction table.

    A counts table of one model becomes the predictions it counts, unless `keep_counts`: then the
    layout is `counts`, for `read_confusions`.
    Temporary copies of pipes and packed files live as long as the block.
    """
    with open_files(tables, input_format=input_format, delimiter=delimiter) as files:
        yield _recognised(files, roles, keep_counts=keep_counts)


def _recognised(
    files: tuple[TableFile, ...], roles: Roles, *, keep_counts: bool = False
) -> Predictions:
    first = files[0]
    peeks = dict(peek_at(first, roles.null_values))
    try:
        layout = recognise(first.name, peeks, roles)
    except DataError as error:
        raise with_delimiter_hint(first, error) from error
    if layout.name == "counts" and not keep_counts:
        if len(files) > 1:
            raise DataError(Problem("one counts table at a time", "several-counts", files[1].name))
        file, roles = expand_counts(first, layout.model_column, roles)
        return _recognised((file,), roles)
    return Predictions(files, layout, peeks, roles)
