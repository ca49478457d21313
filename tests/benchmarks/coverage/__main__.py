"""Print the table of coverage; exit 1 when an interval or a claim is not what is promised."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from tests.benchmarks import coverage
from tests.benchmarks.coverage import Line

HEADER = ("interval", "setting", "replicates", "percent", "+-", "width", "promised", "met")


def topics() -> dict[str, Callable[[int], list[Line]]]:
    """Return the topics of this package by name."""
    names = sorted(one.name for one in iter_modules(coverage.__path__) if one.name != "__main__")
    modules = {name: import_module(f"{coverage.__name__}.{name}") for name in names}
    return {name: one.lines for name, one in modules.items() if hasattr(one, "lines")}


def main() -> int:
    known = topics()
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.coverage", description=__doc__
    )
    parser.add_argument("--only", metavar="NAME,NAME", help=f"of {', '.join(known)}; default all")
    parser.add_argument("--replicates", type=int, default=2000, metavar="N", help="default 2000")
    asked = parser.parse_args()
    chosen = asked.only.split(",") if asked.only else list(known)
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        parser.error(f"no topic {', '.join(unknown)}; topics: {', '.join(known)}")
    missed = 0
    for name in chosen:
        lines = known[name](asked.replicates)
        print(f"{name}\n{table(lines)}\n", flush=True)
        missed += sum(not line.met for line in lines)
    print(f"{missed} not as promised" if missed else "all as promised")
    return int(missed > 0)


def table(lines: list[Line], header: tuple[str, ...] = HEADER) -> str:
    """Write the lines below each other, the numbers to the right."""
    rows = [header, *map(_cells, lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            text.rjust(width) if 2 <= i <= 5 else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _cells(line: Line) -> tuple[str, ...]:
    width = "" if line.width is None else f"{line.width:.3f}"
    ends = [
        f"{sign} {100 * end:g}"
        for sign, end in ((">=", line.least), ("<=", line.most))
        if end is not None
    ]
    shown = f"{100 * line.covered:.1f}", f"{100 * line.error:.1f}"
    met = ("yes" if line.met else "NO") if ends else ""
    return line.interval, line.setting, f"{line.replicates:,}", *shown, width, ", ".join(ends), met


if __name__ == "__main__":
    sys.exit(main())
