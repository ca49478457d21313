"""The program: `clfeval`, and `python -m clfeval`, which is the same."""

from __future__ import annotations

import os

from clfeval.interrupt import set_handlers

TYPE_CHECKING = False  # as type checkers take it: no import comes before the handlers
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Make the program end well whenever it is told to, then load it and run it."""
    set_handlers()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # others wait for work at full speed
    from clfeval.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
