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
    guide_text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    if sys.stdout is None or not sys.stdout.isatty():
        print_result([guide_text], for_people=True)
        raise typer.Exit
    import subprocess

    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(color_system=None)  # no styles: not every pager shows them
    guide_text = COMMAND.sub(lambda match: break_command(match[0], console.width), guide_text)
    with console.capture() as captured_text:
        console.print(Markdown(guide_text))
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a pager may stop reading early
    pager_command = os.environ.get("PAGER") or "less"
    pager_process = subprocess.run(
        pager_command, shell=True, input=captured_text.get().encode(), check=False
    )
    if pager_process.returncode in NO_PAGER:
        print_result([captured_text.get()], for_people=True)
    raise typer.Exit


def break_command(line: str, width: int) -> str:
    """Break a long command between its options, so that it can be copied from the screen."""
    first_part, *other_parts = re.split(BREAKS, line)
    lines = [first_part]
    for part in other_parts:
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

        measure_lines = list_measures(str(ctx.info_name), askable_measures(str(ctx.info_name)))
        print_result([f"{line}\n" for line in measure_lines], for_people=True)
        raise typer.Exit
    page = page_of(str(ctx.info_name))
    explains_all = name.strip().casefold() == ALL
    titles_and_meanings = list(explain_page(page)) if explains_all else _explain_terms(page, name)
    if not titles_and_meanings:
        from clfeval.methods.measurement.requested_measures import refuse_measure

        refuse_measure(name, "--explain")
        pages = (page, *map(page_of, OTHER_PAGES.values()))
        known_names = [term for searched_page in pages for term in explainable_names(searched_page)]
        hint = (
            suggestion(name, known_names) or f"{ctx.command_path} --explain {ALL} lists every name"
        )
        raise bad_option(f"no heading, measure or code is named '{name}'", hint)
    text_wrapper = TextWrapper(
        max(detect_screen().width or WIDTH, NARROWEST),
        initial_indent="  ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    paragraphs = []
    for title, meanings in titles_and_meanings:
        folded_lines = [folded_line for line in meanings for folded_line in text_wrapper.wrap(line)]
        paragraphs.append("\n".join([title, *folded_lines]))
    print_result(["\n\n".join(paragraphs), "\n"], for_people=True)
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
    titles_and_lines: list[tuple[str, list[str]]] = []
    for term in terms:
        titles_and_lines.append(
            (term.title, list(term.lines(with_measure=term.measure not in explained_measures)))
        )
        explained_measures.append(term.measure)
    return titles_and_lines


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
    columns, _ = _read_head_of_first(ctx)
    return _with_prefix(columns, incomplete)


def complete_model(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the models: named files, names in a long table, or columns without a role."""
    table_words = ctx.params.get("tables") or ctx.args
    file_labels = [label for label, _ in map(split_path, table_words)]
    if any(file_labels):  # one file per model
        return _with_prefix((name for name in file_labels if name), incomplete)
    columns, sample_rows = _read_head_of_first(ctx)
    model_column = find_column(columns, ColumnNames.MODEL)
    if model_column and find_column(columns, (*ColumnNames.PREDICTION, "tp")):
        return _with_prefix(_values(columns, sample_rows, model_column), incomplete)
    parameters = ctx.params
    slice_columns = parameters.get("by") or ()
    columns_with_role = {*slice_columns, *(parameters.get("model") or ())}
    columns_with_role |= {
        name for crossed_columns in slice_columns for name in crossed_columns.split("*")
    }
    columns_with_role |= {parameters.get("weight"), parameters.get("cluster")}
    columns_with_role.add(parameters.get("id") or find_column(columns, ColumnNames.ID))
    columns_with_role.add(parameters.get("truth") or find_column(columns, ColumnNames.LONG_TRUTH))
    return _with_prefix((name for name in columns if name not in columns_with_role), incomplete)


def complete_class(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete to the classes in the first rows of the truth column; delimited text only."""
    columns, sample_rows = _read_head_of_first(ctx)
    truth_column = ctx.params.get("truth") or find_column(columns, ColumnNames.LONG_TRUTH)
    return _with_prefix(_values(columns, sample_rows, truth_column), incomplete)


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
    model_column = ctx.params.get("id") or find_column(columns, ColumnNames.MODEL)
    used_columns = {model_column, *(ctx.params.get("metric") or ())}
    return _with_prefix((name for name in columns if name not in used_columns), incomplete)


def _with_prefix(values: Iterable[str], incomplete: str) -> list[str]:
    """Return values with this prefix that the shell can insert as one word.

    No value may hold a line end. Typer's own scripts for bash and zsh do not quote, and zsh
    evaluates: they get plain names only.
    """
    completion_request = os.environ.get("_CLFEVAL_COMPLETE", "")
    plain_only = (
        completion_request in ("complete_bash", "complete_zsh") and QUOTES not in os.environ
    )
    return [
        value
        for value in values
        if value.startswith(incomplete)
        and value
        and all(character >= " " and character != "\x7f" for character in value)
        and (not plain_only or re.fullmatch(_PLAIN, value.removesuffix("=")))
    ]


def _values(columns: Sequence[str], sample_rows: SampleRows, column: str | None) -> list[str]:
    if column not in columns:
        return []
    column_index = columns.index(column)
    return sorted({row[column_index] or "" for row in sample_rows})


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


def _expand_path(word: str) -> str | None:
    """Return the file that a word names, with ~ and $NAME expanded, which shells do later."""
    import glob

    _, path_text = split_path(word)
    for path in (path_text, os.path.expanduser(os.path.expandvars(path_text))):
        if os.path.isfile(path):
            return path
        # not recursive: ** could search for minutes
        matching_file = next(filter(os.path.isfile, glob.iglob(path)), None)
        if matching_file:
            return matching_file
    return None


def _read_file_head(
    file_name: str, reading_options: InputOptions
) -> tuple[Sequence[str], SampleRows]:
    """Return header and first rows of a file, using polars only if the format needs it."""
    from tempfile import TemporaryDirectory

    from clfeval.output_files import temporary_folder
    from clfeval.tables.csv import read_csv_head, skip_comments
    from clfeval.tables.source import open_sources

    with TemporaryDirectory(prefix="clfeval-", dir=temporary_folder()) as folder:
        unpacked_name = _unpacked_head(file_name, folder)
        with open_sources([unpacked_name], reading_options) as sources:
            source = sources[0]
        if source.text:
            csv_head = read_csv_head(skip_comments(source))
            return csv_head.columns, csv_head.sample
        if source.format == "ndjson":
            import json

            with source.path.open("rb") as stream:
                return list(json.loads(stream.readline())), ()
        from clfeval.tables.scan import open_typed

        return open_typed(source).columns, ()


def _unpacked_head(file_name: str, folder: str) -> str:
    """Return the file itself, or an unpacked copy of its first bytes in the folder."""
    from io import BytesIO

    from clfeval.tables.source import CHUNK, packing_of, unpack

    with open(file_name, "rb") as stream:
        first_bytes = stream.read(CHUNK)
    packing = packing_of(first_bytes)
    if packing is None:
        return file_name
    unpacked_path = Path(folder) / f"plain{Path(Path(file_name).stem).suffix}"
    # the start of a large file is enough
    with unpacked_path.open("wb") as unpacked_stream, contextlib.suppress(DataError):
        unpack(file_name, BytesIO(first_bytes), unpacked_stream.write, packing)
    return str(unpacked_path)
