"""A result in Python: show it, return tables as data frames, save it, check gates."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from importlib import import_module
from inspect import Parameter, Signature
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, cast, get_args

from clfeval import COMMANDS
from clfeval.api.result_source import ResultSource
from clfeval.api.signatures import keyword_parameter
from clfeval.api.texts import fill_result
from clfeval.compare.answer_length import limit_answer
from clfeval.compare.gates.kinds import gate_sentence
from clfeval.compare.gates.limits import Gates
from clfeval.document import Document, Gate
from clfeval.errors import ClfevalError, bad_option
from clfeval.formatting import MOST_DIGITS, format_count
from clfeval.methods.command_lookup import command_of
from clfeval.options.declaration import Option, build_group, options_of
from clfeval.options.syntax import PYTHON, accept_size, fill_error, fill_text
from clfeval.records import field_values
from clfeval.views.files import OutputRequest, SavedFiles, check_names, table_or_first

if TYPE_CHECKING:
    from clfeval import _GateOptions
    from clfeval.measures.calibrators import Calibrator

Backend = Literal["polars", "pandas", "pyarrow"]
OFFER = "result.show(NAME) or result.show('all')"


@contextmanager
def _in_python(command: str | None = None) -> Iterator[None]:
    """Fill the texts of errors of the block for Python."""
    try:
        yield
    except ClfevalError as error:
        fill_error(error, _options_of_gates(command), PYTHON)
        raise


def _options_of_gates(command: str | None) -> list[Option]:
    """Return the options of gates, and of a command."""
    command_options = command_of(command).options() if command in COMMANDS else ()
    return [*options_of(Gates), *command_options]


class PrintableGate(Gate):
    """A gate of a result in Python, whose text is its sentence."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the sentence on the value and its limit."""
        return gate_sentence(self)

    def __repr__(self) -> str:
        """Return the fields, as of any gate."""
        return repr(Gate(**field_values(self)))

    def __eq__(self, gate: object) -> bool:
        """Return whether another gate has the same fields."""
        return isinstance(gate, Gate) and field_values(self) == field_values(gate)

    __hash__ = Gate.__hash__


class Result(Document):
    """The result of a command: its answer, summary, tables, gates and warnings.

    Attributes are those of a `Document`; `tables` holds the numbers. source: what it was computed
    from, None of one that was read from a file.
    """

    source: ResultSource | None = None

    def __post_init__(self) -> None:
        """Make the gates printable."""
        gates = tuple(PrintableGate(**field_values(gate)) for gate in self.gates)
        object.__setattr__(self, "gates", gates)

    @classmethod
    def from_document(cls, document: Document) -> Self:
        """Return a document as a Result, with the methods for Python."""
        return cls(**{field.name: getattr(document, field.name) for field in fields(document)})

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError with a hint on tables, measures and charts."""
        hint = "tables are in .tables and .frame(NAME), charts in .show('plots')"
        raise AttributeError(f"a Result has no '{name}'; {hint}")

    @property
    def calibrators(self) -> Mapping[str, Calibrator]:
        """The calibrators of a result of `recalibrate` by model; empty of others.

        `result.calibrators["gbm"].calibrate(p)` recalibrates probabilities of any shape.
        """
        stored = self.extras.get("calibrators")
        return {} if stored is None else stored.by_model

    def frame(self, table: str | None = None, *, backend: Backend = "polars") -> Any:
        """Return a table, by default the first, as a data frame with the columns of CSV.

        A measure has four columns: `recall`, `recall_low`, `recall_high` and `recall_reason`.
        Raises UsageError for an unknown table or a library that is not installed.
        """
        from clfeval.views.documents import table_columns, text_columns

        if backend not in get_args(Backend):
            raise bad_option(f"backend '{backend}' is not one of {', '.join(get_args(Backend))}")
        if not isinstance(table, (str, type(None))):
            raise bad_option(f"there is no table '{table}'")
        table_name = table_or_first(self, table)
        cells_by_column = table_columns(self, table_name)
        empty_columns = [
            column
            for column, cells in cells_by_column.items()
            if all(cell is None for cell in cells)
        ]
        columns_of_text = text_columns(self, table_name)
        try:
            if backend == "pandas":
                column_types: Any = {
                    column: float for column in empty_columns if column not in columns_of_text
                }
                return import_module("pandas").DataFrame(cells_by_column).astype(column_types)
            import polars as pl

            column_types = {
                column: pl.String if column in columns_of_text else pl.Float64
                for column in empty_columns
            }
            frame = pl.DataFrame(cells_by_column, schema_overrides=column_types, strict=False)
            return frame if backend == "polars" else frame.to_arrow()
        except ImportError as error:
            message = f"backend '{backend}' needs a library that is not installed"
            raise bad_option(message, hint=f"pip install {backend}") from error

    def show(self, *names: str, width: int | None = None, digits: int = 3) -> None:
        """Print the answer and the main table, or the named tables and plots.

        names: tables and plots, "intervals", "plots" or "all". Raises UsageError for other names.
        """
        print(terminal_text(self, names, width=width, digits=digits), end="")  # noqa: T201

    def save(
        self,
        *paths: str | PathLike[str],
        table: str | None = None,
        digits: int = 3,
        picture: str | None = None,
        size: tuple[int, int] | None = None,
        caption: str | None = None,
        font: str | PathLike[str] | None = None,
    ) -> None:
        """Write files in the format of their suffixes: .json, .csv, .md, .html, .svg, .png, .xml.

        table: the table of CSV, by default the first. digits: decimal places of .md and .html.
        picture: that of .svg and .png, by default the one the file is named after; a name ending
        in / is a folder of all. size: width and height in pixels. caption: the line below it. font:
        a .ttf file for .png. Either all files are written completely, or none. Raises UsageError.
        """
        _check_digits(digits)
        with _in_python():
            table_or_first(self, table)
            file_names = [fspath(path) for path in paths]
            picture_names = () if picture is None else (picture,)
            picture_options = {
                "size": accept_size("size", size),
                "caption": caption,
                "font": font and fspath(font),
            }
            has_rows = "recalibrated" in self.extras  # files may hold the rows of the input
            request = OutputRequest(table, picture_names, digits, picture_options, has_rows)
            with SavedFiles(
                file_names,
                inputs=[file.name for file in self.inputs],
                gates=bool(self.gates),
                command=self.command,
                request=request,
            ) as saved_files:
                for note in saved_files.notes:
                    warnings.warn(fill_text(note.message, (), PYTHON), stacklevel=2)
                saved_files.write(self, request)

    def picture(
        self,
        name: str | None = None,
        *,
        size: tuple[int, int] | None = None,
        caption: str | None = None,
    ) -> str:
        """Return a picture, by default the first, as SVG; see `save` for size and caption.

        Raises UsageError for a name that is no picture of this result.
        """
        from clfeval.views.svg.picture import picture_of

        with _in_python(self.command):
            return picture_of(self, name, size=accept_size("size", size), caption=caption)

    def check(self, **limits: Unpack[_GateOptions]) -> GateReport:
        """Return this result with a gate for each limit and model; `passed` is true if all are met.

        Limits are a mapping such as {"recall": 0.8, "svm:recall[site=a].low": 0.7}, or texts such
        as "recall=0.8". Warnings count only if strict. baseline: a result, its file, a history, or
        a table like that of this result, to which `max_drop` refers; where both tables have ids,
        their rows are paired. An undefined value misses its gate. Raises UsageError.
        """
        from clfeval.api.result_baseline import result_baseline
        from clfeval.compare.gates.evaluate import evaluate_gates

        _refuse_unknown_keywords(limits)
        with _in_python(self.command):
            gates = build_group(Gates, limits)
            baseline = None if self.source is None else result_baseline(self, self.source, gates)
            evaluated_result = limit_answer(evaluate_gates(self, gates, baseline))
            fill = partial(fill_text, options=_options_of_gates(self.command), dialect=PYTHON)
            return GateReport.from_document(fill_result(evaluated_result, fill))

    def __str__(self) -> str:
        """Render the terminal view without colour."""
        return terminal_text(self, (), width=None, digits=3)

    def _repr_html_(self) -> str:
        """Render the tables for a notebook."""
        from clfeval.views.page import as_html

        return as_html(self)


def terminal_text(result: Document, names: Sequence[str], *, width: int | None, digits: int) -> str:
    """Return the text of the answer and tables, with the named tables and plots."""
    from clfeval.views.table_layout import check_available
    from clfeval.views.terminal import as_text

    for name in names:
        if not isinstance(name, str):
            raise bad_option(f"{name!r:.60} is not the name of a table or plot")
    _check_digits(digits)
    if width is not None and width < 1:
        raise bad_option(f"width {width} is less than 1")
    with _in_python(result.command):
        check_names(result.command, names)
        check_available(result, names)
    plots = ""
    if names:
        from clfeval.views.plots import draw_requested_plots

        plots = draw_requested_plots(result, names, width=width)
    return as_text(result, width=width, digits=digits, names=names, plots=plots, offer=OFFER)


def _check_digits(digits: int) -> None:
    if not 0 <= digits <= MOST_DIGITS:
        raise bad_option(f"digits {digits} is not in 0 to {MOST_DIGITS}")


def _refuse_unknown_keywords(limits: Mapping[str, Any]) -> None:
    """Raise TypeError for keywords that are no options of gates, in the words of Python itself."""
    try:
        Gates(**limits)
    except TypeError as error:
        message = str(error).replace(Gates.__init__.__qualname__, Result.check.__qualname__)
        raise TypeError(message) from None


class GateReport(Result):
    """A result with its gates; true if none failed, and as text the list of missed gates."""

    def __bool__(self) -> bool:
        """True if no gate failed."""
        return self.passed

    def __str__(self) -> str:
        """Return the missed gates, or the number of gates met."""
        change_sentences = [
            sentence.text for sentence in self.answer if sentence.code.startswith("baseline")
        ]
        options = options_of(Gates)
        fill = partial(fill_text, options=options, dialect=PYTHON)
        missed_sentences = [
            f"gate missed: {gate_sentence(gate, fill)}" for gate in self.gates if not gate.passed
        ]
        return (
            "\n".join(missed_sentences + change_sentences)
            or f"{format_count(len(self.gates), 'gate')} met"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def _check_signature() -> Signature:
    """Return the signature of `Result.check`, from the options of gates."""
    self_parameter = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    keyword_parameters = map(keyword_parameter, options_of(Gates))
    return Signature([self_parameter, *keyword_parameters], return_annotation=GateReport)


cast("Any", Result.check).__signature__ = _check_signature()
