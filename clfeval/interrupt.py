"""Handling of Ctrl-C and other signals: temporary files are removed and the process ends.

Imported first, so this file imports only modules that Python has loaded already. The handler ends
the process without raising an exception.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # its types are those of `signal`
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


class CleanupState:
    """State to restore at a signal: temporary files, the descriptor of stderr, the terminal."""

    litter: ClassVar[set[str]] = set()
    stderr: ClassVar[int] = 2
    restoring: ClassVar[bytes] = b""


def set_handlers() -> None:
    """Set the signal handlers; signals that the caller ignores (nohup) stay ignored."""
    if hasattr(_signal, "SIGPIPE"):
        _signal.signal(_signal.SIGPIPE, exit_on_signal)  # `| head` ends the process quietly: 141
    for number in _numbers():
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, exit_on_signal)


def exit_on_signal(number: int, _: object = None) -> None:
    """Delete temporary files, and exit with the code that shells use for this signal."""
    for ignored in _numbers():
        _signal.signal(ignored, _signal.SIG_IGN)  # a second Ctrl-C changes nothing
    for name in CleanupState.litter:
        try:
            os.unlink(name)
        except OSError:
            continue  # deleted already, or without permission
    message = b"interrupted\n" if number == _signal.SIGINT and sys.stderr is not None else b""
    try:
        os.write(CleanupState.stderr, CleanupState.restoring + message)
    finally:  # a closed or full standard error changes nothing either
        os._exit(128 + number)


def _numbers() -> list[int]:
    return [getattr(_signal, name) for name in ENDING if hasattr(_signal, name)]
