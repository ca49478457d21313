"""Entry point of the program: `clfeval`, and `python -m clfeval`, which is the same."""

from __future__ import annotations

import os
import sys

from clfeval.interrupt import set_handlers

TYPE_CHECKING = False  # type checkers set it to True; no import may precede the handlers
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Set the signal handlers, import the program and run it, and end the process.

    All output is flushed by then, and all files are closed: freeing a million objects one by one
    would only take time. A debugger or profiler ends the process in its own way.
    """
    set_handlers()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # idle ones use the CPU fully
    from clfeval.cli.app import main as run

    try:
        run()
    except SystemExit as leaving:
        import atexit
        from contextlib import suppress

        if isinstance(leaving.code, int) and not (sys.gettrace() or sys.getprofile()):
            atexit._run_exitfuncs()
            with suppress(OSError, AttributeError):  # closed, or none
                sys.stderr.flush()
            os._exit(leaving.code)
        raise


if __name__ == "__main__":
    main()
