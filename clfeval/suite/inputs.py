"""What a run reads: files beside the YAML file, a pattern of several, a table of another run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from clfeval.errors import suggestion
from clfeval.suite.entries import BatchErrors, Node
from clfeval.suite.keys import RunKeys, resolve_path

_OF_SHELL = re.compile(r"\$([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class RunLink:
    """A table of another run's result, by default its first."""

    run: str
    table: str | None
    given: Node


def run_tables(
    given: Mapping[str, Node], keys: RunKeys, group: str, place: str, wrong: BatchErrors
) -> Iterator[tuple[str, tuple[str, ...] | RunLink | None]]:
    """Yield the tables of a run, one for each file of `inputs`, with the label of its run."""
    if "inputs" in given:
        if "input" in given:
            hint = "keep input for one table, or inputs for one run per file"
            wrong.say(given["inputs"], "input and inputs are both given", hint)
        paths = _paths(given["inputs"], wrong)
        found = [one for path in paths for one in _expand_pattern(path)]
        yield from zip(_stems(found), ((path,) for path in found), strict=True)
    elif "input" in given:
        one = given["input"]
        if isinstance(one.value, dict):
            yield "", _link(one, wrong)
        else:
            yield "", tuple(_paths(one, wrong))
    elif not keys.command.optional:
        wrong.say(place, f"run '{group}' has no table", "add input: FILE, or inputs: FILES")
    else:
        yield "", None


def _paths(given: Node, wrong: BatchErrors) -> list[str]:
    """Return the files that are named, where they lie."""
    several = [one for _, one in given.inside()] if isinstance(given.value, list) else [given]
    found = []
    for one in several:
        if not isinstance(one.value, str) or not one.value.strip() or "\0" in one.value:
            what = f"{given.path[-1]}: {one.value!r:.60} is not a path"
            wrong.say(one, what, "give a path, a pattern, or a list of paths")
        elif one.value == "-":
            wrong.say(one, f"{given.path[-1]}: a batch cannot read standard input", "name a file")
        else:
            name, equals, path = one.value.partition("=")
            whole = resolve_path(one, one.value)
            if equals and not os.path.exists(whole) and not os.path.dirname(name):
                whole = f"{name}={resolve_path(one, path)}"
            shell = _OF_SHELL.search(one.value)
            if shell and not os.path.exists(whole):
                low = shell[1].lower()
                hint = f"write ${{{low}}}, and run with --set {low}=${shell[1]}"
                what = f"{given.path[-1]}: environment variables, such as ${shell[1]}, are not read"
                wrong.say(one, what, hint)
            else:
                found.append(whole)
    if not several:
        wrong.say(given, f"{given.path[-1]}: the list of tables is empty")
    return found


def _expand_pattern(path: str) -> list[str]:
    """Return the files of a pattern; itself where there is none, for the run to say so."""
    if os.path.exists(path) or not has_magic(path) or os.path.dirname(path).startswith("/**"):
        return [path]
    return sorted(glob(path, recursive=True)) or [path]


def _stems(paths: Sequence[str]) -> list[str]:
    """Return what tells files apart: their stems, else their paths without a suffix, else those."""
    short = [Path(path).name.split(".")[0] or Path(path).name for path in paths]
    folder = os.path.commonpath(paths) if len(paths) > 1 else ""
    whole = [os.path.relpath(path, folder) if folder else path for path in paths]
    for names in (short, [str(Path(path).with_suffix("")) for path in whole]):
        if len({*names}) == len(names):
            return [name.translate({ord("["): "(", ord("]"): ")"}) for name in names]
    return whole


def _link(given: Node, wrong: BatchErrors) -> RunLink | None:
    entries = dict(given.pairs())
    for key, one in entries.items():
        if key not in ("run", "table"):
            hint = suggestion(key, ("run", "table")) or "write input: {run: NAME, table: NAME}"
            wrong.say(one, f"input: unknown key '{key}'", hint)
        elif not isinstance(one.value, str):
            wrong.say(one, f"input: {key} must be a name, not {one.value!r:.60}")
    if "run" not in entries:
        wrong.say(given, "input: the key 'run' is missing", "write input: {run: NAME, table: NAME}")
        return None
    table = entries.get("table")
    return RunLink(str(entries["run"].value), None if table is None else str(table.value), given)
