"""Completion of values: the columns and classes of the table already on the command line."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Sequence

import typer

from clfeval.tables.input import Input, Names, find

QUOTES = "_CLFEVAL_QUOTES"  # set by the scripts in completions/, which quote what they insert
_PLAIN = re.compile(r"[\w.%+,@/:-]+")

SampleRows = Sequence[Sequence[str | None]]


def complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the columns of the table."""
    return _starting(_head(ctx)[0], incomplete)


def complete_model(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the models: what files or a long table name, else the columns left over."""
    from clfeval.tables.source import named

    called = [named(name)[0] for name in ctx.params.get("tables") or ctx.args]
    if any(called):  # one file per model
        return _starting((name for name in called if name), incomplete)
    columns, rows = _head(ctx)
    model = find(columns, Names.MODEL)
    if model and find(columns, (*Names.PREDICTION, "tp")):
        return _starting(_values(columns, rows, model), incomplete)
    taken = {*(ctx.params.get("by") or ()), *(ctx.params.get("model") or ())}
    taken |= {name for crossed in ctx.params.get("by") or () for name in crossed.split("*")}
    taken |= {
        ctx.params.get("weight"),
        ctx.params.get("cluster"),
        ctx.params.get("id") or find(columns, Names.ID),
    }
    taken.add(ctx.params.get("truth") or find(columns, Names.LONG_TRUTH))
    return _starting((name for name in columns if name not in taken), incomplete)


def complete_class(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the classes in the first rows of the truth column; delimited text only."""
    columns, rows = _head(ctx)
    truth = ctx.params.get("truth") or find(columns, Names.LONG_TRUTH)
    return _starting(_values(columns, rows, truth), incomplete)


def complete_metric(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the metrics a gate can limit, up to the equals sign."""
    from clfeval.pages import page_of
    from clfeval.schema import gated

    metrics = gated(page_of(str(ctx.info_name)))
    return _starting((f"{name}=" for name in metrics), incomplete)


def complete_shown(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to what may be shown of a result of the command."""
    from clfeval.pages import page_of

    return _starting(page_of(str(ctx.info_name)).names, incomplete)


def complete_measure(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the measures of the command by any name, and its sets."""
    from clfeval.cli.explain import known_to

    return _starting(known_to(str(ctx.info_name)).names, incomplete)


def complete_explained(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to what the command can explain: columns, headings, measures, codes."""
    from clfeval.pages import page_of
    from clfeval.pages.explain import known_names

    return _starting(known_names(page_of(str(ctx.info_name))), incomplete)


def complete_ranked(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the metric columns of a table of metrics, or to measures of predictions."""
    if ctx.params.get("source") == "predictions":
        return complete_measure(ctx, incomplete)
    columns, _ = _head(ctx)
    taken = {ctx.params.get("id") or find(columns, Names.MODEL), *(ctx.params.get("metric") or ())}
    return _starting((name for name in columns if name not in taken), incomplete)


def _starting(values: Iterable[str], incomplete: str) -> list[str]:
    """Keep values with this prefix that the shell can insert as one word.

    No value may hold a line end. Typer's own scripts for bash and zsh do not quote, and zsh
    evaluates: they get plain names only.
    """
    request = os.environ.get("_CLFEVAL_COMPLETE", "")
    bare = request in ("complete_bash", "complete_zsh") and QUOTES not in os.environ
    return [
        value
        for value in values
        if value.startswith(incomplete)
        and value
        and all(character >= " " and character != "\x7f" for character in value)
        and (not bare or _PLAIN.fullmatch(value.removesuffix("=")))
    ]


def _values(columns: Sequence[str], rows: SampleRows, column: str | None) -> list[str]:
    if column not in columns:
        return []
    position = columns.index(column)
    return sorted({row[position] or "" for row in rows})


def _head(ctx: typer.Context) -> tuple[Sequence[str], SampleRows]:
    """Read the columns, and of delimited text the first rows, of the first table, or nothing."""
    # an option still without its value stops the parser: the tables then are in `args`
    for name in ctx.params.get("tables") or ctx.args:
        path = _existing(name)
        if path is not None:
            try:
                given = ctx.params.get
                said = Input(input_format=given("input_format"), delimiter=given("delimiter"))
                return _read(path, said)
            except Exception:  # whatever is wrong with the table, its own command will say
                break
    return (), ()


def _existing(name: str) -> str | None:
    """Find the file a word means: shells complete before they expand ~ and $NAME."""
    import glob

    from clfeval.tables.source import named

    name = named(name)[1]
    for path in (name, os.path.expanduser(os.path.expandvars(name))):
        if os.path.isfile(path):
            return path
        # not recursive: ** could search for minutes
        found = next(filter(os.path.isfile, glob.iglob(path)), None)
        if found is not None:
            return found
    return None


def _read(name: str, said: Input) -> tuple[Sequence[str], SampleRows]:
    """Read the head of one file, with polars only where the format leaves no other way."""
    from tempfile import TemporaryDirectory

    from clfeval.tables.csv import read_csv_head, with_comments
    from clfeval.tables.source import open_sources

    with TemporaryDirectory(prefix="clfeval-") as folder:
        plain = _unpacked_head(name, folder)
        with open_sources([plain], said) as sources:
            source = sources[0]
        if source.text:
            head = read_csv_head(with_comments(source))
            return head.columns, head.sample
        if source.format == "ndjson":
            import json

            with source.path.open("rb") as lines:
                return list(json.loads(lines.readline())), ()
        from clfeval.tables.scan import open_typed

        return open_typed(source).columns, ()


def _unpacked_head(name: str, folder: str) -> str:
    """Return the file itself, or a copy in the folder of what its first bytes unpack to."""
    from io import BytesIO
    from pathlib import Path

    from clfeval.errors import DataError
    from clfeval.tables.source import CHUNK, packing_of, unpack

    with open(name, "rb") as stream:
        start = stream.read(CHUNK)
    packing = packing_of(start)
    if packing is None:
        return name
    plain = Path(folder) / f"plain{Path(Path(name).stem).suffix}"
    # of a large file it has the start, all that is wanted
    with plain.open("wb") as out, contextlib.suppress(DataError):
        unpack(name, BytesIO(start), out.write, packing)
    return str(plain)
