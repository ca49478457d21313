"""Help and completion by name: guides, explained terms, columns and classes of the table."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import TextWrapper
from typing import TYPE_CHECKING

import typer

from clfeval.cli.output import detect_screen, print_result
from clfeval.errors import DataError, bad_option, suggestion
from clfeval.pages.command_pages import page_of
from clfeval.pages.schema import HISTORY, SUITE, Page, gateable_names
from clfeval.tables.input import ColumnNames, InputOptions, find_column, split_path

if TYPE_CHECKING:
    from clfeval.methods.measurement.requested_measures import AvailableMeasures

FOLDER = Path(__file__).parent.parent / "guide"
COMMAND = re.compile(r"^\$ .+$", re.MULTILINE)  # in a block of a guide
BREAKS = r" (?=--|\||clfeval )"
CONTINUES = " \\"
MARGIN = 2  # columns of a block in addition to its text
NO_PAGER = (126, 127)  # exit codes of a shell for a command that cannot run


def guide_names() -> list[str]:
    """Return the names of the guides."""
    return sorted(file.stem for file in FOLDER.glob("*.md"))


def print_guide(name: str | None) -> None:
    """Print a guide, formatted and paged on a terminal, and exit; UsageError for an unknown one."""
    if name is None:
        return
    if name not in guide_names():
        hint = suggestion(name, guide_names()) or f"one of {', '.join(guide_names())}"
        raise bad_option(f"no guide '{name}'", hint)
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    if sys.stdout is None or not sys.stdout.isatty():
        print_result([text], for_people=True)
        raise typer.Exit
    import subprocess

    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(color_system=None)  # no styles: not every pager shows them
    text = COMMAND.sub(lambda line: break_command(line[0], console.width), text)
    with console.capture() as formatted:
        console.print(Markdown(text))
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a pager may stop reading early
    pager = os.environ.get("PAGER") or "less"
    process = subprocess.run(pager, shell=True, input=formatted.get().encode(), check=False)
    if process.returncode in NO_PAGER:
        print_result([formatted.get()], for_people=True)
    raise typer.Exit


def break_command(line: str, width: int) -> str:
    """Break a long command between its options, so that it can be copied from the screen."""
    first, *parts = re.split(BREAKS, line)
    lines = [first]
    for part in parts:
        if len(lines[-1]) + 1 + len(part) + len(CONTINUES) > width - MARGIN:
            lines[-1] += CONTINUES
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}"
    return "\n".join(lines)


NARROWEST = 30  # minimum width that lines are folded to
MEASURES = "measures"  # lists all measures
WIDTH = 80  # if the width of the screen is unknown
OTHER_PAGES = {"a history": HISTORY, "a batch": SUITE}  # whose names every command explains


def explain_name(ctx: typer.Context, name: str | None) -> None:
    """Print the meaning of a name in this command, and exit."""
    if name is None or ctx.resilient_parsing:
        return
    from clfeval.pages.explain import ALL, explain_page, explainable_names

    if name == MEASURES:
        from clfeval.methods.measurement.measure_rows import list_measures

        lines = list_measures(str(ctx.info_name), askable_measures(str(ctx.info_name)))
        print_result([f"{line}\n" for line in lines], for_people=True)
        raise typer.Exit
    page = page_of(str(ctx.info_name))
    is_all = name.strip().casefold() == ALL
    parts = list(explain_page(page)) if is_all else _explain_terms(page, name)
    if not parts:
        from clfeval.methods.measurement.requested_measures import refuse_measure

        refuse_measure(name, "--explain")
        pages = (page, *map(page_of, OTHER_PAGES.values()))
        names = [term for searched_page in pages for term in explainable_names(searched_page)]
        hint = suggestion(name, names) or f"{ctx.command_path} --explain {ALL} lists every name"
        raise bad_option(f"no heading, measure or code is named '{name}'", hint)
    fold = TextWrapper(
        max(detect_screen().width or WIDTH, NARROWEST),
        initial_indent="  ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    texts = []
    for title, meanings in parts:
        rows = [row for line in meanings for row in fold.wrap(line)]
        texts.append("\n".join([title, *rows]))
    print_result(["\n\n".join(texts), "\n"], for_people=True)
    raise typer.Exit


def _explain_terms(page: Page, name: str) -> list[tuple[str, list[str]]]:
    """Return titles and lines of the terms of a name in a page, in a history and in a batch."""
    from clfeval.pages.explain import find_terms

    terms = find_terms(page, name)
    for owner, other_page in OTHER_PAGES.items():
        terms += [
            replace(term, tables=tuple(f"{table} of {owner}" for table in term.tables))
            for term in find_terms(page_of(other_page), name)
            if term.tables and term.short and term not in terms
        ]
    explained_measures: list[object] = []
    parts: list[tuple[str, list[str]]] = []
    for term in terms:
        parts.append(
            (term.title, list(term.lines(with_measure=term.measure not in explained_measures)))
        )
        explained_measures.append(term.measure)
    return parts


def askable_measures(command: str) -> AvailableMeasures:
    """Return the measures that can be requested from a command."""
    if command == "tune-jpt":
        from clfeval.methods.tune_jpt.options import tunable_measures

        return tunable_measures()
    if command == "mlcps":
        from clfeval.methods.mlcps.answer import MLCPS_MEASURES

        return MLCPS_MEASURES
    from clfeval.methods.measurement import requested_measures

    if command == "report":
        return requested_measures.OF_PREDICTIONS
    return requested_measures.OF_TWO_CLASSES


QUOTES = "_CLFEVAL_QUOTES"  # set by the scripts in completions/, which quote what they insert
_PLAIN = r"[\w.%+,@/:-]+"

SampleRows = Sequence[Sequence[str | None]]


def complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the columns of the table."""
    return _with_prefix(_read_head_of_first(ctx)[0], incomplete)


def complete_model(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the models: named files, names in a long table, or columns without a role."""
    labels = [split_path(name)[0] for name in ctx.params.get("tables") or ctx.args]
    if any(labels):  # one file per model
        return _with_prefix((name for name in labels if name), incomplete)
    columns, rows = _read_head_of_first(ctx)
    model = find_column(columns, ColumnNames.MODEL)
    if model and find_column(columns, (*ColumnNames.PREDICTION, "tp")):
        return _with_prefix(_values(columns, rows, model), incomplete)
    options = ctx.params
    slice_columns = options.get("by") or ()
    columns_with_role = {*slice_columns, *(options.get("model") or ())}
    columns_with_role |= {name for crossed in slice_columns for name in crossed.split("*")}
    columns_with_role |= {options.get("weight"), options.get("cluster")}
    columns_with_role.add(options.get("id") or find_column(columns, ColumnNames.ID))
    columns_with_role.add(options.get("truth") or find_column(columns, ColumnNames.LONG_TRUTH))
    return _with_prefix((name for name in columns if name not in columns_with_role), incomplete)


def complete_class(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the classes in the first rows of the truth column; delimited text only."""
    columns, rows = _read_head_of_first(ctx)
    truth = ctx.params.get("truth") or find_column(columns, ColumnNames.LONG_TRUTH)
    return _with_prefix(_values(columns, rows, truth), incomplete)


def complete_metric(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the metrics a gate can limit, up to the equals sign."""
    metrics = gateable_names(page_of(str(ctx.info_name)))
    return _with_prefix((f"{name}=" for name in metrics), incomplete)


def complete_show(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to tables and plots of the command's results."""
    return _with_prefix(page_of(str(ctx.info_name)).names, incomplete)


def complete_measure(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the measures of the command by any of their names, and to sets of them."""
    return _with_prefix(askable_measures(str(ctx.info_name)).names, incomplete)


def complete_explain(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the names the command can explain: columns, headings, measures, codes."""
    from clfeval.pages.explain import explainable_names

    return _with_prefix(explainable_names(page_of(str(ctx.info_name))), incomplete)


def complete_ranked(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the metric columns of a table of metrics, or to measures of predictions."""
    if ctx.params.get("source") == "predictions":
        return complete_measure(ctx, incomplete)
    columns, _ = _read_head_of_first(ctx)
    model = ctx.params.get("id") or find_column(columns, ColumnNames.MODEL)
    used = {model, *(ctx.params.get("metric") or ())}
    return _with_prefix((name for name in columns if name not in used), incomplete)


def _with_prefix(values: Iterable[str], incomplete: str) -> list[str]:
    """Return values with this prefix that the shell can insert as one word.

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
        and (not bare or re.fullmatch(_PLAIN, value.removesuffix("=")))
    ]


def _values(columns: Sequence[str], rows: SampleRows, column: str | None) -> list[str]:
    if column not in columns:
        return []
    position = columns.index(column)
    return sorted({row[position] or "" for row in rows})


def _read_head_of_first(ctx: typer.Context) -> tuple[Sequence[str], SampleRows]:
    """Return columns and (for delimited text) first rows of the first table; empty if none."""
    # an option without its value stops the parser: then the tables are in `args`
    for name in ctx.params.get("tables") or ctx.args:
        path = _expand_path(name)
        if path is not None:
            try:
                reading_options = InputOptions(
                    input_format=ctx.params.get("input_format"),
                    delimiter=ctx.params.get("delimiter"),
                )
                return _read_file_head(path, reading_options)
            except Exception:  # the command itself will report errors of the table
                break
    return (), ()


def _expand_path(name: str) -> str | None:
    """Return the file that a word names, with ~ and $NAME expanded, which shells do later."""
    import glob

    name = split_path(name)[1]
    for path in (name, os.path.expanduser(os.path.expandvars(name))):
        if os.path.isfile(path):
            return path
        # not recursive: ** could search for minutes
        match = next(filter(os.path.isfile, glob.iglob(path)), None)
        if match:
            return match
    return None


def _read_file_head(name: str, reading_options: InputOptions) -> tuple[Sequence[str], SampleRows]:
    """Return header and first rows of a file, using polars only if the format needs it."""
    from tempfile import TemporaryDirectory

    from clfeval.tables.csv import read_csv_head, skip_comments
    from clfeval.tables.source import open_sources

    with TemporaryDirectory(prefix="clfeval-") as folder:
        plain = _unpacked_head(name, folder)
        with open_sources([plain], reading_options) as sources:
            source = sources[0]
        if source.text:
            head = read_csv_head(skip_comments(source))
            return head.columns, head.sample
        if source.format == "ndjson":
            import json

            with source.path.open("rb") as lines:
                return list(json.loads(lines.readline())), ()
        from clfeval.tables.scan import open_typed

        return open_typed(source).columns, ()


def _unpacked_head(name: str, folder: str) -> str:
    """Return the file itself, or an unpacked copy of its first bytes in the folder."""
    from io import BytesIO

    from clfeval.tables.source import CHUNK, packing_of, unpack

    with open(name, "rb") as stream:
        start = stream.read(CHUNK)
    packing = packing_of(start)
    if packing is None:
        return name
    plain = Path(folder) / f"plain{Path(Path(name).stem).suffix}"
    # the start of a large file is enough
    with plain.open("wb") as out, contextlib.suppress(DataError):
        unpack(name, BytesIO(start), out.write, packing)
    return str(plain)
