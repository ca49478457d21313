"""Entry point of the program: `clfeval`, and `python -m clfeval`, which is the same."""

from __future__ import annotations

import gc
import os
import sys

from clfeval import __version__
from clfeval.interrupt import set_handlers

TYPE_CHECKING = False  # type checkers set it to True; no import may precede the handlers
if TYPE_CHECKING:
    from typing import Any, NoReturn


OBJECTS_BETWEEN_COLLECTIONS = 300_000  # more than a start makes


def main() -> NoReturn:
    """Set the signal handlers, then import the program and run it."""
    set_handlers()
    if sys.argv[1:] == ["--version"] and _print_version():
        sys.exit(0)
    # imports and rows make hardly any reference cycles: garbage collection would take a
    # quarter of a short run
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # idle ones use the CPU fully
    from clfeval.cli.app import main as run

    run()


def _print_version() -> bool:
    """Print the version without any import; False where the program has to say why it cannot."""
    if sys.stdout is None:
        return False
    try:
        print(f"clfeval {__version__}", flush=True)  # noqa: T201
    except OSError:
        return False
    return True


def run_script() -> NoReturn:
    """Run the program and end the process at once, as the console script does.

    All files are closed by then: freeing a million objects one by one would only take time. A
    debugger, profiler or notebook has work left, and the process ends as usual.
    """
    try:
        main()
    except SystemExit as leaving:
        monitoring: Any = getattr(sys, "monitoring", None)  # since Python 3.12
        watched = monitoring is not None and any(map(monitoring.get_tool, range(6)))
        if watched or sys.gettrace() or sys.getprofile() or "IPython" in sys.modules:
            raise
        import atexit
        from contextlib import suppress

        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # full, closed, or none
                stream.flush()
        os._exit(leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None))


if __name__ == "__main__":
    main()
