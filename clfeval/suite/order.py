"""Which runs, and in which order: those that take another's table after it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter

from clfeval.errors import UsageError, list_names, suggestion
from clfeval.pages import page_of
from clfeval.suite.entries import BatchErrors
from clfeval.suite.inputs import RunLink
from clfeval.suite.runs import Run


def required_runs(run: Run) -> list[str]:
    """Return the names of the runs whose tables a run takes."""
    return [run.input.run] if isinstance(run.input, RunLink) else []


def check_links(runs: Sequence[Run], broken: Collection[str], wrong: BatchErrors) -> None:
    """Report missing tables of other runs and cycles; broken: runs with errors."""
    known = {run.name: run for run in runs}
    for run in runs:
        if not isinstance(run.input, RunLink):
            continue
        other = known.get(run.input.run)
        if other is None and run.input.run.partition("[")[0] in broken:
            continue
        if other is None:
            inside = [name for name, one in known.items() if one.group == run.input.run]
            hint = f"name one of its runs: {list_names(inside)}" if inside else None
            hint = hint or suggestion(run.input.run, known) or f"runs: {list_names(known)}"
            wrong.say(run.input.given, f"input: no run '{run.input.run}'", hint)
        elif run.input.table is not None:
            tables = [table.name for table in page_of(other.command).tables]
            if run.input.table not in tables:
                hint = suggestion(run.input.table, tables) or f"tables: {list_names(tables, 40)}"
                what = f"input: {other.command} has no table '{run.input.table}'"
                wrong.say(run.input.given, what, hint)
    while names := _find_cycle(known):
        link = known.pop(names[0]).input
        assert isinstance(link, RunLink)
        wrong.say(link.given, f"input: runs need each other in a cycle: {' -> '.join(names)}")


def _find_cycle(known: Mapping[str, Run]) -> list[str]:
    """Return runs that wait for each other, the first at the end again; none where none do."""
    try:
        _sorter([*known.values()], known).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]][::-1]
    return []


def order_runs(runs: Sequence[Run], only: Sequence[str]) -> list[Run]:
    """Return the runs that are asked for, and those whose tables they take, in order."""
    known = {run.name: run for run in runs}
    wanted = select_runs(runs, only)
    names = dict.fromkeys(run.name for run in wanted)
    left = [*names]
    while left:
        left = [one for name in left for one in required_runs(known[name]) if one not in names]
        names |= dict.fromkeys(left)
    sorter = _sorter([run for run in runs if run.name in names], known)
    sorter.prepare()
    place = {run.name: i for i, run in enumerate(runs)}
    found: list[Run] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=place.__getitem__)
        found += [known[name] for name in ready]
        sorter.done(*ready)
    return found


def select_runs(runs: Sequence[Run], only: Iterable[str]) -> list[Run]:
    """Return the runs of names or patterns (brackets are literal); UsageError without a match."""
    picked: set[str] = set()
    for pattern in only:
        glob = pattern.replace("[", "[[]")
        found = {run.name for run in runs if pattern in (run.name, run.group)}
        found = found or {run.name for run in runs if fnmatchcase(run.name, glob)}
        if not found:
            names = [*dict.fromkeys(name for run in runs for name in (run.name, run.group))]
            hint = suggestion(pattern, names) or f"runs: {list_names(names)}"
            raise UsageError.new(f"--only '{pattern}' matches no run", "unknown-run", hint=hint)
        picked |= found
    return [run for run in runs if not only or run.name in picked]


def _sorter(runs: Sequence[Run], known: Mapping[str, Run]) -> TopologicalSorter[str]:
    return TopologicalSorter(
        {run.name: [one for one in required_runs(run) if one in known] for run in runs}
    )
