"""Runs of a batch, and their input: files, patterns of files, or a table of another run."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from glob import glob
from pathlib import Path
from typing import Any

from clfeval import COMMANDS
from clfeval.compare.gates.limits import Gates
from clfeval.errors import suggestion
from clfeval.options.declaration import READING, as_list, options_of
from clfeval.output_files import target_path
from clfeval.records import dataclass, replace
from clfeval.suite.keys import (
    LIMITS,
    MOST,
    RUN,
    RunKeys,
    all_run_keys,
    combinations,
    names_a_file,
    read_options,
    report_unknown_key,
    resolve_path,
    run_keys,
    too_many_runs_error,
)
from clfeval.suite.outputs import output_paths, safe_file_name
from clfeval.suite.reading import BatchDeclaration, BatchErrors, Node
from clfeval.tables.input import Input, split_path

_OF_SHELL = re.compile(r"\$([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class RunLink:
    """A link to a table of another run's result, by default its first."""

    run: str
    table: str | None
    given: Node


def run_tables(
    given: Mapping[str, Node], keys: RunKeys, group: str, place: str, wrong: BatchErrors
) -> Iterator[tuple[str, tuple[str, ...] | RunLink | None]]:
    """Yield the tables of a run with their labels, one for each file of `inputs`."""
    if "inputs" in given:
        if "input" in given:
            hint = "keep input for one table, or inputs for one run per file"
            wrong.add_problem(given["inputs"], "input and inputs are both given", hint)
        found: list[str] = []
        for path in _paths(given["inputs"], wrong):
            plain = os.path.exists(path) or os.path.dirname(path).startswith("/**")
            # a pattern that matches nothing, or could search the whole disk, stays as it is
            found += ([] if plain else sorted(glob(path, recursive=True))) or [path]
        yield from zip(_stems(found), ((path,) for path in found), strict=True)
    elif one := given.get("input"):
        linked = isinstance(one.value, dict)
        yield "", _link(one, wrong) if linked else tuple(_paths(one, wrong))
    elif not keys.command.optional:
        wrong.add_problem(place, f"run '{group}' has no table", "add input: FILE, or inputs: FILES")
    else:
        yield "", None


def _paths(given: Node, wrong: BatchErrors) -> list[str]:
    """Return the named files, relative to the YAML file."""
    several = [one for _, one in given.children()] if isinstance(given.value, list) else [given]
    found = []
    for one in several:
        if not isinstance(one.value, str) or not one.value.strip() or "\0" in one.value:
            what = f"{given.path[-1]}: {one.value!r:.60} is not a path"
            wrong.add_problem(one, what, "give a path, a pattern, or a list of paths")
        elif one.value == "-":
            wrong.add_problem(
                one, f"{given.path[-1]}: a batch cannot read standard input", "name a file"
            )
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
                wrong.add_problem(one, what, hint)
            else:
                found.append(whole)
    if not several:
        wrong.add_problem(given, f"{given.path[-1]}: the list of tables is empty")
    return found


def _stems(paths: Sequence[str]) -> list[str]:
    """Return distinct labels of files: their stems, else paths without suffix, else paths."""
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
            wrong.add_problem(one, f"input: unknown key '{key}'", hint)
        elif not isinstance(one.value, str):
            wrong.add_problem(one, f"input: {key} must be a name, not {one.value!r:.60}")
    if "run" not in entries:
        wrong.add_problem(
            given, "input: the key 'run' is missing", "write input: {run: NAME, table: NAME}"
        )
        return None
    table = entries.get("table")
    return RunLink(str(entries["run"].value), None if table is None else str(table.value), given)


_NOTHING = Node(None, None, ())  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Run:
    """One run. group: its key in the file; given: its nodes.

    home: the folder of the file that names its table. whole: without errors. lost: gates of the
    defaults that it overrides.
    """

    name: str
    group: str
    keys: RunKeys
    input: tuple[str, ...] | RunLink | None
    options: Mapping[str, Any]
    given: Mapping[str, Node]
    place: str
    home: str = ""
    save: tuple[str, ...] = ()
    whole: bool = True
    lost: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The name of its command."""
        return self.keys.command.name

    @property
    def files(self) -> tuple[str, ...]:
        """The files of its table."""
        return self.input if isinstance(self.input, tuple) else ()

    @property
    def required(self) -> str | None:
        """The name of the run whose table it reads, if any."""
        return self.input.run if isinstance(self.input, RunLink) else None

    @property
    def reads(self) -> tuple[str, ...]:
        """Every file it reads, by name or pattern: table, others, baseline."""
        given = [self.options.get(one.name) for one in self.keys.options if names_a_file(one)]
        others = [one for value in given for one in as_list(value) if isinstance(one, str)]
        return (*(split_path(path)[1] for path in self.files), *others)

    @property
    def wide(self) -> tuple[str, ...]:
        """The patterns of `inputs`, which may match other files in a later run."""
        several = self.given.get("inputs", _NOTHING)
        texts = (one for one in as_list(several.value) if isinstance(one, str))
        return tuple(split_path(resolve_path(several, one))[1] for one in texts)


def build_runs(sheet: BatchDeclaration, output: type, wrong: BatchErrors) -> list[Run]:
    """Return the runs in the order of the file, with matrices expanded."""
    found: list[Run] = []
    for group, own in sheet.runs.items():
        start = wrong.times
        keys = _keys(group, own, sheet, output, wrong)
        if keys is None:
            continue
        named = _options_by_name(own, keys, wrong)
        for key in own.keys() - keys.options_by_name.keys() - {*RUN}:
            report_unknown_key(own[key], key, keys, wrong)
        known = _defaults(sheet, keys, named, wrong)
        own_gates = [name for name in known if name in LIMITS and name in named]
        lost = tuple(name.replace("_", "-") for name in own_gates if named[name].value != [])
        room = MOST - len(found)
        found += (
            replace(run, whole=wrong.times == start, lost=lost)
            for run in _expand_run(group, {**known, **named}, keys, wrong, room)
        )
    _check_names(found, wrong)
    return found


def _keys(
    group: str, own: Mapping[str, Node], sheet: BatchDeclaration, output: type, wrong: BatchErrors
) -> RunKeys | None:
    """Return the keys of a run's command; None, with an error reported, for an unknown one."""
    command = own.get("command") or sheet.defaults.get("command")
    known = all_run_keys(output)
    if command is not None:
        word = command.value.replace("_", "-") if isinstance(command.value, str) else None
        if word in COMMANDS:
            return run_keys(word, output)
        hint = suggestion(word or "", COMMANDS) or f"use one of {', '.join(COMMANDS)}"
        wrong.add_problem(command, f"command: no command {command.value!r:.60}", hint)
    else:
        where = next(iter(own.values()), None)
        file = where.file if where else sheet.files[0]
        hint = f"add command: NAME, one of {', '.join(COMMANDS)}"
        wrong.add_problem(file.place("runs", group), f"run '{group}' has no command", hint)
    for key, one in own.items():
        if key not in known and key not in RUN:
            report_unknown_key(one, key, known, wrong)
    return None


def _options_by_name(
    given: Mapping[str, Node], keys: RunKeys, wrong: BatchErrors
) -> dict[str, Node]:
    """Return the nodes by the Python name of their options."""
    found: dict[str, Node] = {}
    for key, one in given.items():
        name = keys.options_by_name[key].name if key in keys.options_by_name else key
        if name in found:
            before = found[name].path[-1]
            wrong.add_problem(
                one, f"'{one.path[-1]}' and '{before}' are the same option", "keep one"
            )
        elif name in keys.options_by_name or name in RUN:
            found[name] = one
    return found


def _defaults(
    sheet: BatchDeclaration, keys: RunKeys, own: Mapping[str, Node], wrong: BatchErrors
) -> dict[str, Node]:
    """Return the defaults that apply to a run; column roles apply to predictions only."""
    known = all_run_keys(keys.output)
    for key, one in sheet.defaults.items():
        if key not in known and key not in RUN:
            report_unknown_key(one, key, known, wrong)
        elif key in ("inputs", "matrix", "exclude"):
            wrong.add_problem(one, f"'{key}' belongs to a run and cannot be a default")
    usable = {k: v for k, v in sheet.defaults.items() if k in keys.options_by_name or k in RUN[:2]}
    usable |= {k: v for k, v in sheet.defaults.items() if k == "baseline"}
    found = _options_by_name(usable, keys, wrong)
    if "inputs" in own:
        found.pop("input", None)
    linked = isinstance((own.get("input") or found.get("input") or _NOTHING).value, dict)
    source = (own.get("source") or found.get("source") or _NOTHING).value
    metrics = keys.command.name == "mlcps" and source != "predictions"
    unused = {
        one.name for one in keys.command.options_of(Input)
        if linked or (metrics and one.opt.panel != READING)
    }  # fmt: skip
    if keys.command.name != "report":  # no other reports the best model
        unused |= {"still_best"}
    return {name: one for name, one in found.items() if name not in unused}


def _expand_run(
    group: str, given: Mapping[str, Node], keys: RunKeys, wrong: BatchErrors, room: int
) -> Iterator[Run]:
    """Yield a run for each combination of a matrix, and for each file of `inputs`."""
    fixed = {k: v for k, v in given.items() if k not in ("command", "matrix", "exclude")}
    anywhere = next(iter(given.values()))
    place = anywhere.file.place("runs", group)
    source = given.get("inputs") or given.get("input") or anywhere
    home = os.path.dirname(source.file.name)
    for label, chosen in combinations(given, keys, wrong, room):
        mine = {**fixed, **chosen}
        tables = [*run_tables(mine, keys, group, place, wrong)]
        if len(tables) > room:
            raise too_many_runs_error(place)
        room -= len(tables)
        asked = {k: v for k, v in mine.items() if k == "inputs"}
        mine = {k: v for k, v in mine.items() if k not in ("input", "inputs")}
        if "baseline" in mine:
            mine |= _baseline_gates(mine.pop("baseline"), mine, wrong)
        # an invalid one stops the batch after all of it is read
        options = read_options(keys, mine, wrong)
        written = tuple(as_list(options.pop("save", ())))
        for stem, table in tables:
            label_ = ",".join(filter(None, (stem, label)))
            name = f"{group}[{label_}]" if label_ else group
            save = output_paths(mine["save"], written, name, wrong) if written else ()
            options_ = dict(options)
            if baseline := options.get("baseline"):
                options_["baseline"] = baseline.replace("{name}", safe_file_name(name))
            yield Run(name, group, keys, table, options_, {**mine, **asked}, place, home, save)


def _baseline_gates(given: Node, beside: Mapping[str, Node], wrong: BatchErrors) -> dict[str, Node]:
    """Return the options on gates in a baseline: its file and the keys next to it."""
    if not isinstance(given.value, dict):
        return {"baseline": given}
    names = {one.name for one in options_of(Gates)} - {"baseline"}
    found: dict[str, Node] = {}
    for key, one in given.pairs():
        name = key.replace("-", "_")
        name = name if name in names else f"baseline_{name}"
        if key == "input" and one.value is not None:
            found["baseline"] = one
        elif key == "input":
            wrong.add_problem(
                one, "baseline: input must name a file", "write baseline: {input: FILE}"
            )
        elif name not in names:
            known = ["input", *(other.replace("_", "-") for other in sorted(names))]
            hint = suggestion(key, known) or f"keys: {', '.join(known)}"
            wrong.add_problem(one, f"baseline: unknown key '{key}'", hint)
        elif name in found or name in beside:
            wrong.add_problem(one, f"baseline: {key} is given twice", "keep one of the two")
        else:
            found[name] = one
    if "input" not in given.value:
        wrong.add_problem(
            given, "baseline: the key 'input' is missing", "write baseline: {input: FILE}"
        )
    return found


def _check_names(runs: Sequence[Run], wrong: BatchErrors) -> None:
    """Report runs with the same name, and runs that save the same file."""
    for name, times in Counter(run.name for run in runs).items():
        if times > 1:
            where = next(run.place for run in runs if run.name == name)
            wrong.add_problem(where, f"{times} runs have the name '{name}'", "give each value once")
    owners: dict[str, Run] = {}
    for run in runs:
        for path in run.save:
            other = owners.setdefault(target_path(path), run)
            if other is not run:
                what = f"save: runs '{other.name}' and '{run.name}' both write '{path}'"
                wrong.add_problem(
                    run.given["save"], what, "put {name} in the path for the name of the run"
                )
        if len({*map(target_path, run.save)}) < len(run.save):
            wrong.add_problem(run.given["save"], "save: a file is named twice")
