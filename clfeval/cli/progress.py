"""Waiting: Ctrl-C ends it at once, and after a second a terminal's stderr shows a spinner."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

DELAY = 1.0  # seconds before anything is shown


def stop_at_once() -> None:
    """Let Ctrl-C end a read that waits: importing polars makes such calls start over."""
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)


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
