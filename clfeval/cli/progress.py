"""A sign of life: a spinner on a terminal's stderr, after a second, gone when done."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

DELAY = 1.0  # seconds before anything is shown


@contextmanager
def waiting(tables: Sequence[str]) -> Iterator[None]:
    """Show a spinner while the block runs, if it runs long and somebody watches stderr."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_spin, args=(tables, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _spin(tables: Sequence[str], done: threading.Event) -> None:
    if done.wait(DELAY):
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    with console.status(Text(f"reading {', '.join(tables)}")):
        done.wait()
