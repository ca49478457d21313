"""Completion of values: column and model names of the table already on the command line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

METRICS = (
    "accuracy",
    "precision",
    "recall",
    "shine_through",
    "occlusion",
    "found",
    "missed_by_all",
)


def complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the columns of the table."""
    return _starting(_columns(ctx), incomplete)


def complete_model(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the columns of the table that may be models."""
    roles = {"truth", "y_true", "target", "actual", "label", "true_label", "id"}
    taken = roles | {str(ctx.params.get(name)) for name in ("truth", "id", "weight")}
    return _starting((name for name in _columns(ctx) if name not in taken), incomplete)


def complete_metric(incomplete: str) -> list[str]:
    """Complete to the metrics a gate can limit, up to the equals sign."""
    return _starting((f"{name}=" for name in METRICS), incomplete)


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _columns(ctx: typer.Context) -> list[str]:
    """Read the header of the first table named; no table, no suggestions, and never an error."""
    tables = ctx.params.get("tables") or []
    if not tables or tables[0] == "-" or not os.path.isfile(tables[0]):
        return []
    from clfeval.errors import ClfevalError
    from clfeval.tables.csv_head import read_csv_head
    from clfeval.tables.source import open_sources

    delimiter = ctx.params.get("delimiter")
    try:
        with open_sources(tables[:1], delimiter=delimiter) as sources:
            source = sources[0]
            if source.text:
                return list(read_csv_head(source).columns)
            from clfeval.tables.scan import open_typed

            return list(open_typed(source).columns)
    except ClfevalError:
        return []
