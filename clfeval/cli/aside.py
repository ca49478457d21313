"""Keeping the words of engines, which write past Python, from whoever reads ours."""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from clfeval.cli.output import print_notes
from clfeval.errors import ClfevalError
from clfeval.interrupt import CleanupState
from clfeval.unnamed import open_scratch_file

PANIC = "panicked at"  # how an engine begins to say that it broke off


@contextmanager
def capture_engine_output() -> Iterator[None]:
    """Capture what native libraries write to descriptor 2; print it only for internal errors.

    Python's own output is not captured. Descriptors are swapped while no other thread prints.
    """
    shown = sys.stderr
    if not _is_descriptor_2(shown) or _memory_is_limited():
        yield
        return
    words, CleanupState.stderr, ours = open_scratch_file(), os.dup(2), True
    sys.stderr = open(  # noqa: SIM115 - closed with the descriptor below
        CleanupState.stderr, "w", 1, encoding=shown.encoding, errors=shown.errors, closefd=False
    )
    try:
        os.dup2(words.fileno(), 2)
        with _last_words(sys.stderr):
            yield
        ours = False
    except (ClfevalError, SystemExit, KeyboardInterrupt):
        ours = False
        raise
    finally:
        if sys.stderr is not None:  # else nobody can be told any more
            sys.stderr.flush()
            sys.stderr = shown
        kept, CleanupState.stderr = CleanupState.stderr, 2
        os.dup2(kept, 2)
        os.close(kept)
        with words:
            words.seek(0)
            said = words.read().decode(errors="replace")
        if said and (ours or PANIC not in said):
            print_notes(*said.splitlines())


def _is_descriptor_2(stream: TextIO | None) -> bool:
    """Tell whether a stream writes to descriptor 2."""
    with suppress(OSError, ValueError, AttributeError):
        return stream is not None and stream.fileno() == 2
    return False


def _memory_is_limited() -> bool:
    """Tell whether memory may well end, of which the engine's last words are all that is said."""
    with suppress(ImportError):
        import resource

        return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    return False


@contextmanager
def _last_words(stream: TextIO) -> Iterator[None]:
    """Let Python say where a library ended the process, for its own words are set aside."""
    if faulthandler.is_enabled():
        yield
        return
    faulthandler.enable(stream, all_threads=False)
    try:
        yield
    finally:
        faulthandler.disable()
