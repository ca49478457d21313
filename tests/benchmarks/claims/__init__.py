"""How often the sentences of a report are right, and how often false: simulations of whole tables.

A module of this package has `cells() -> list[Cell]`. A cell draws tables of one kind, calls
`clfeval.report` on each and judges what it says by `said`.
`python -m tests.benchmarks.claims` runs them. The seed was fixed before the code that they judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple
from zlib import crc32

import numpy as np

from clfeval.api.result import Result
from tests.benchmarks.coverage import Line

SEED = 28


class Event(NamedTuple):
    """Whether something happened in a table, and whether the sentence on it was there at all."""

    happened: bool
    said: bool = True


class Promise(NamedTuple):
    """The share of tables, 0..1, promised of an event, up to so many Monte-Carlo errors."""

    least: float | None = None
    most: float | None = None
    slack: float = 2.0


Judged = tuple[Mapping[str, Event], Sequence[Result]]
Judge = Callable[[np.random.Generator, int, Path], Judged]


@dataclass(frozen=True, slots=True)
class Cell:
    """Tables of one kind: how many there are to be, and the judge of one.

    judge: takes a generator, the number of the table and a folder for files; returns events by
    name, and the reports. An event that does not apply to a table is left out. promises: by the
    name of the event.
    """

    name: str
    tables: int
    judge: Judge
    promises: Mapping[str, Promise] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Lines of a cell, seconds a table by clock and processor, answers that broke a promise."""

    lines: list[Line]
    seconds: float
    processor: float
    examples: list[tuple[int, str, str]]


def run(cell: Cell, tables: int, seed: int, folder: Path, examples: int = 0) -> Outcome:
    """Judge the first so many tables of a cell: table i is the same however many there are."""
    happened, said, of = (dict[str, int]() for _ in range(3))
    shown: list[tuple[int, str, str]] = []
    start, began = perf_counter(), process_time()
    for i in range(tables):
        rng = np.random.default_rng([seed, crc32(cell.name.encode()), i])
        events, results = cell.judge(rng, i, folder)
        for name, event in events.items():
            happened[name] = happened.get(name, 0) + event.happened
            said[name] = said.get(name, 0) + event.said
            of[name] = of.get(name, 0) + 1
            promise = cell.promises.get(name, Promise())
            broken = event.happened if promise.most is not None else not event.happened
            if name in cell.promises and broken and len(shown) < examples:
                shown.append((i, name, _texts(results)))
    took, used = perf_counter() - start, process_time() - began
    lines = [
        Line(
            name,
            cell.name,
            n,
            happened[name] / n,
            *cell.promises.get(name, Promise())[:2],
            width=said[name] / n,
            slack=cell.promises.get(name, Promise()).slack,
        )
        for name, n in sorted(of.items(), key=lambda one: one[0].endswith(" rows"))
    ]
    return Outcome(lines, took / tables, used / tables, shown)


def _texts(results: Sequence[Result]) -> str:
    return "\n".join(f"    {one.code}: {one.text}" for each in results for one in each.answer)
