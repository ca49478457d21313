"""What Python does with a result: show it, take a table as a frame, save it, hold it to limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from html import escape
from importlib import import_module
from typing import Any, Literal, get_args

from clfeval import COMMANDS
from clfeval.commands import command_of
from clfeval.dialect import PYTHON, in_python, retell
from clfeval.errors import ClfevalError, bad_option
from clfeval.limits import Gates
from clfeval.options import options_of, taken
from clfeval.result import Result
from clfeval.views.files import SavedFiles, Wanted, check_names, known_table
from clfeval.words import MOST_DIGITS, many

Backend = Literal["polars", "pandas", "pyarrow"]
OFFER = "result.show(NAME) or result.show('all')"


@contextmanager
def _in_python(command: str | None = None) -> Iterator[None]:
    """Tell errors about limits, and about options of a command, in the words of Python."""
    try:
        yield
    except ClfevalError as error:
        options = command_of(command).options() if command in COMMANDS else []
        retell(error, [*options_of(Gates), *options], PYTHON)
        raise


def shown(result: Result, names: Sequence[str], *, width: int | None, digits: int) -> str:
    """Return the text of a result with the named tables and plots."""
    from clfeval.views.render import check_shown
    from clfeval.views.terminal import as_text

    for name in names:
        if not isinstance(name, str):
            raise bad_option(f"{name!r:.60} is not the name of a table or plot")
    _check_digits(digits)
    if width is not None and width < 1:
        raise bad_option(f"width {width} is less than 1")
    with _in_python(result.command):
        check_names(result.command, names)
        check_shown(result, names)
    plots = ""
    if names:
        from clfeval.views.plots import asked

        plots = asked(result, names, width=width)
    return as_text(result, width=width, digits=digits, names=names, plots=plots, offer=OFFER)


def _check_digits(digits: int) -> None:
    if not 0 <= digits <= MOST_DIGITS:
        raise bad_option(f"digits {digits} is not in 0 to {MOST_DIGITS}")


def framed(result: Result, table: str | None, backend: str) -> Any:
    """Return a table as a frame; every estimate has four columns, as in CSV."""
    from clfeval.views.csv import columns_of, texts_of

    if backend not in get_args(Backend):
        raise bad_option(f"backend '{backend}' is not one of {', '.join(get_args(Backend))}")
    if not isinstance(table, (str, type(None))):
        raise bad_option(f"there is no table '{table}'")
    name = known_table(result, table)
    columns = columns_of(result, name)
    empty = [name for name, cells in columns.items() if all(cell is None for cell in cells)]
    texts = texts_of(result, name)
    try:
        if backend == "pandas":
            kinds: Any = {name: float for name in empty if name not in texts}
            return import_module("pandas").DataFrame(columns).astype(kinds)
        import polars as pl

        kinds = {name: pl.String if name in texts else pl.Float64 for name in empty}
        frame = pl.DataFrame(columns, schema_overrides=kinds, strict=False)
        return frame if backend == "polars" else frame.to_arrow()
    except ImportError as error:
        what = f"backend '{backend}' needs a library that is not installed"
        raise bad_option(what, hint=f"pip install {backend}") from error


def saved(result: Result, names: Sequence[str], *, table: str | None, digits: int) -> list[str]:
    """Write files in the formats of their suffixes; each is written completely or not at all."""
    _check_digits(digits)
    with _in_python():
        known_table(result, table)
        inputs = [item.name for item in result.inputs]
        with SavedFiles(names, inputs=inputs, gates=bool(result.gates)) as files:
            return files.write(result, Wanted(table, (), digits))


def checked(result: Result, **limits: Any) -> Result:
    """Return the result with its gates; an undefined value misses its gate."""
    from clfeval.gates.judge import judged

    with _in_python(result.command):
        found = judged(result, taken(Gates, limits))
    return GateReport(**{one.name: getattr(found, one.name) for one in fields(found)})


class GateReport(Result):
    """A result with its gates; true if none failed, and as text the list of missed gates."""

    def __bool__(self) -> bool:
        """True where no gate failed."""
        return self.passed

    def __str__(self) -> str:
        """Say which gates failed, or how many were met."""
        about = [one.text for one in self.answer if one.code.startswith("baseline")]
        gates, options = [gate for gate in self.gates if not gate.passed], options_of(Gates)
        failed = [f"gate missed: {in_python(str(gate), options)}" for gate in gates]
        return "\n".join(failed + about) or f"{many(len(self.gates), 'gate')} met"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
