"""What escapes the reading of files although it should not: whether one of them is to blame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from clfeval.errors import ClfevalError, DataError, UsageError
from clfeval.late import pl
from clfeval.tables.csv import inspect_structure, read_csv_head
from clfeval.tables.scan import engine_errors, open_typed, unreadable_error
from clfeval.tables.source import SourceFile

DAMAGED_HINT = "write or copy the file again"
FEWER = "raise the limit (ulimit -u), or use fewer threads: POLARS_MAX_THREADS=1 clfeval ..."
# what Python says, and the engine, where a thread cannot be started
_NO_THREAD = ("can't start new thread", "Resource temporarily unavailable", "WouldBlock")
_OURS = (ClfevalError, KeyboardInterrupt, SystemExit, GeneratorExit)


@contextmanager
def converting_engine_errors(sources: Sequence[SourceFile]) -> Iterator[None]:
    """Convert errors (and panics) of the engine into DataError where a file is the cause."""
    try:
        yield
    except _OURS:
        raise
    except BaseException as error:
        if any(sign in str(error) for sign in _NO_THREAD):
            what = "the system cannot start more threads"
            raise UsageError.new(what, "no-threads", hint=FEWER) from error
        if isinstance(error, (*engine_errors(), _panic_class(), RecursionError)):
            for source in sources:
                found = _find_damage(source, error)
                if found is not None:
                    raise found from error
        raise


def _panic_class() -> type[BaseException]:
    found: type[BaseException] = pl.exceptions.PanicException
    return found


def _find_damage(source: SourceFile, error: BaseException) -> DataError | None:
    """Return what is wrong with a file, read once more by itself."""
    if isinstance(error, RecursionError):
        if source.format not in ("json", "ndjson"):
            return None
        return unreadable_error(source.name, source.format, "nested too deeply")
    try:
        if source.text:
            inspect_structure(source, read_csv_head(source).columns)
            return None
        _read_whole(source)
    except DataError as found:
        return found
    except BaseException as found:
        if isinstance(found, (*engine_errors(), OSError)):
            return unreadable_error(source.name, source.format, found)
        if not isinstance(found, _panic_class()):
            raise
        what = f"the {source.format} data is damaged and cannot be read to the end"
        return DataError.new(what, "damaged-file", source.name, hint=DAMAGED_HINT)
    return None


def _read_whole(source: SourceFile) -> None:
    """Read every value of a typed file, with nothing of what a command does with them."""
    native = open_typed(source).native
    assert native is not None
    frame: pl.LazyFrame = native.to_native()
    flat = [name for name, kind in frame.collect_schema().items() if not kind.is_nested()]
    # nulls are counted without a look at values, hashes are not
    frame.select(pl.all().null_count()).collect(engine="streaming")
    frame.select(pl.col(flat).hash().sum()).collect(engine="streaming")
