"""Entry point of the program: `clfeval`, and `python -m clfeval`, which is the same."""

from __future__ import annotations

import os

from clfeval.interrupt import set_handlers

TYPE_CHECKING = False  # type checkers set it to True; no import may precede the handlers
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Set the signal handlers, then import the program and run it."""
    set_handlers()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # idle ones use the CPU fully
    from clfeval.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
