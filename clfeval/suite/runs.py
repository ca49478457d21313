"""Runs of a batch: own keys and defaults, one run per combination of a matrix and per file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from json import dumps
from math import prod
from pathlib import Path
from typing import Any

from clfeval import COMMANDS
from clfeval.compare.gates.kinds import KINDS
from clfeval.compare.gates.limits import Gates
from clfeval.errors import UsageError, list_names, suggestion
from clfeval.options.declaration import READING, as_list, options_of
from clfeval.output_files import target_path
from clfeval.records import dataclass, replace
from clfeval.suite import run_options, schema
from clfeval.suite.reading import BatchDeclaration, BatchErrors, Node
from clfeval.tables.input import Input, split_path
from clfeval.tables.source import display_name

_NOTHING = Node(None, None, ())  # type: ignore[arg-type]
MOST = 10_000  # runs of a batch


@dataclass(frozen=True, slots=True)
class Run:
    """One run. group: its key in the file; given: its nodes.

    home: the folder of the file that names its table. whole: without errors. lost: gates of the
    defaults that it overrides.
    """

    name: str
    group: str
    keys: schema.RunKeys
    input: tuple[str, ...] | run_options.RunLink | None
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
        return self.input.run if isinstance(self.input, run_options.RunLink) else None

    @property
    def reads(self) -> tuple[str, ...]:
        """Every file it reads, by name or pattern: table, others, baseline."""
        given = [
            self.options.get(one.name) for one in self.keys.options if schema.names_a_file(one)
        ]
        others = [one for value in given for one in as_list(value) if isinstance(one, str)]
        return (*(split_path(path)[1] for path in self.files), *others)

    @property
    def wide(self) -> tuple[str, ...]:
        """The patterns of `inputs`, which may match other files in a later run."""
        several = self.given.get("inputs", _NOTHING)
        texts = (one for one in as_list(several.value) if isinstance(one, str))
        return tuple(split_path(run_options.resolve_path(several, one))[1] for one in texts)


def describe_input(run: Run) -> str:
    """Return the text on the input of a run: files relative to the YAML file, or by name."""
    if isinstance(run.input, run_options.RunLink):
        return f"{run.input.run}: {run.input.table or 'its first table'}"
    shown = [display_path(run, split_path(path)[1]) for path in run.files]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")


def display_path(run: Run, path: str) -> str:
    """Return a path relative to the folder of the YAML file; of files outside it the name."""
    whole, home = Path(os.path.abspath(path)), os.path.abspath(run.home)
    if not whole.is_relative_to(home):
        return display_name(path)
    return whole.relative_to(home).as_posix().encode(errors="replace").decode()


def build_runs(sheet: BatchDeclaration, output: type, wrong: BatchErrors) -> list[Run]:
    """Return the runs in the order of the file, with matrices expanded."""
    found: list[Run] = []
    for group, own in sheet.runs.items():
        start = wrong.times
        keys = _keys(group, own, sheet, output, wrong)
        if keys is None:
            continue
        named = _options_by_name(own, keys, wrong)
        for key in own.keys() - keys.options_by_name.keys() - {*schema.RUN}:
            schema.report_unknown_key(own[key], key, keys, wrong)
        known = _defaults(sheet, keys, named, wrong)
        own_gates = [name for name in known if name in schema.LIMITS and name in named]
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
) -> schema.RunKeys | None:
    """Return the keys of a run's command; None, with an error reported, for an unknown one."""
    command = own.get("command") or sheet.defaults.get("command")
    known = schema.all_run_keys(output)
    if command is not None:
        word = command.value.replace("_", "-") if isinstance(command.value, str) else None
        if word in COMMANDS:
            return schema.run_keys(word, output)
        hint = suggestion(word or "", COMMANDS) or f"use one of {', '.join(COMMANDS)}"
        wrong.add_problem(command, f"command: no command {command.value!r:.60}", hint)
    else:
        where = next(iter(own.values()), None)
        file = where.file if where else sheet.files[0]
        hint = f"add command: NAME, one of {', '.join(COMMANDS)}"
        wrong.add_problem(file.place("runs", group), f"run '{group}' has no command", hint)
    for key, one in own.items():
        if key not in known and key not in schema.RUN:
            schema.report_unknown_key(one, key, known, wrong)
    return None


def _options_by_name(
    given: Mapping[str, Node], keys: schema.RunKeys, wrong: BatchErrors
) -> dict[str, Node]:
    """Return the nodes by the Python name of their options."""
    found: dict[str, Node] = {}
    for key, one in given.items():
        name = keys.option_name(key)
        if name in found:
            before = found[name].path[-1]
            wrong.add_problem(
                one, f"'{one.path[-1]}' and '{before}' are the same option", "keep one"
            )
        elif name in keys.options_by_name or name in schema.RUN:
            found[name] = one
    return found


def _defaults(
    sheet: BatchDeclaration, keys: schema.RunKeys, own: Mapping[str, Node], wrong: BatchErrors
) -> dict[str, Node]:
    """Return the defaults that apply to a run; column roles apply to predictions only."""
    known = schema.all_run_keys(keys.output)
    for key, one in sheet.defaults.items():
        if key not in known and key not in schema.RUN:
            schema.report_unknown_key(one, key, known, wrong)
        elif key in ("inputs", "matrix", "exclude"):
            wrong.add_problem(one, f"'{key}' belongs to a run and cannot be a default")
    usable = {
        k: v for k, v in sheet.defaults.items() if k in keys.options_by_name or k in schema.RUN[:2]
    }
    usable |= {k: v for k, v in sheet.defaults.items() if k == "baseline"}
    found = _options_by_name(usable, keys, wrong)
    if "inputs" in own:
        found.pop("input", None)
    linked = isinstance((own.get("input") or found.get("input") or _NOTHING).value, dict)
    source = (own.get("source") or found.get("source") or _NOTHING).value
    metrics = keys.command.name == "mlcps" and source != "predictions"
    unused = {
        one.name
        for one in keys.command.options_of(Input)
        if linked or (metrics and one.opt.panel != READING)
    }
    unused |= {kind.option for kind in KINDS if not kind.applies_to(keys.command.name)}
    return {name: one for name, one in found.items() if name not in unused}


def _expand_run(
    group: str, given: Mapping[str, Node], keys: schema.RunKeys, wrong: BatchErrors, room: int
) -> Iterator[Run]:
    """Yield a run for each combination of a matrix, and for each file of `inputs`."""
    fixed = {k: v for k, v in given.items() if k not in ("command", "matrix", "exclude")}
    anywhere = next(iter(given.values()))
    place = anywhere.file.place("runs", group)
    source = given.get("inputs") or given.get("input") or anywhere
    home = os.path.dirname(source.file.name)
    for label, chosen in combinations(given, keys, wrong, room):
        mine = {**fixed, **chosen}
        tables = [*run_options.run_tables(mine, keys, group, place, wrong)]
        if len(tables) > room:
            raise too_many_runs_error(place)
        room -= len(tables)
        asked = {k: v for k, v in mine.items() if k == "inputs"}
        mine = {k: v for k, v in mine.items() if k not in ("input", "inputs")}
        if "baseline" in mine:
            mine |= _baseline_gates(mine.pop("baseline"), mine, wrong)
        # an invalid one stops the batch after all of it is read
        options = run_options.read_options(keys, mine, wrong)
        written = tuple(as_list(options.pop("save", ())))
        rows = options.get("calibrator") is not None
        for stem, table in tables:
            label_ = ",".join(filter(None, (stem, label)))
            name = f"{group}[{label_}]" if label_ else group
            save: tuple[str, ...] = ()
            if written:
                save = run_options.output_paths(mine["save"], written, name, wrong, rows=rows)
            options_ = dict(options)
            if baseline := options.get("baseline"):
                options_["baseline"] = baseline.replace("{name}", run_options.safe_file_name(name))
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


def combinations(
    given: Mapping[str, Node], keys: schema.RunKeys, wrong: BatchErrors, room: int
) -> list[tuple[str, dict[str, Node]]]:
    """Return the combinations of a matrix, with labels; a single empty one without a matrix."""
    if "matrix" not in given:
        if "exclude" in given:
            wrong.add_problem(given["exclude"], "exclude needs a matrix")
        return [("", {})]
    axes: dict[str, list[Node]] = {}
    matrix = given["matrix"]
    if not isinstance(matrix.value, dict) or not matrix.value:
        wrong.add_problem(
            matrix, "matrix must map options to lists", "write {threshold: [0.1, 0.5]}"
        )
        return []
    for key, one in matrix.pairs():
        name = keys.option_name(key.replace("-", "_"))
        if name in schema.RUN and name != "input":
            wrong.add_problem(one, f"a matrix cannot vary '{key}'")
        elif name not in keys.options_by_name and name != "input":
            schema.report_unknown_key(one, name, keys, wrong)
        elif name in axes:
            wrong.add_problem(
                one, f"{key}: this option is given twice", "keep one list of its values"
            )
        elif not isinstance(one.value, list) or not one.value:
            wrong.add_problem(
                one, f"{key} needs a list of values in a matrix", f"write {key}: [...]"
            )
        else:
            axes[name] = [value for _, value in one.children()]
    if prod(map(len, axes.values())) > room:
        raise too_many_runs_error(matrix.place)
    left_out = _read_exclusions(given.get("exclude"), axes, keys, wrong)
    every = (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))
    kept = [
        one
        for one in every
        if not any(
            all(k in one and one[k].value == v.value for k, v in rule.items()) for rule in left_out
        )
    ]
    if axes and not kept:
        wrong.add_problem(given["exclude"], "exclude removes every combination of the matrix")
    return [
        (",".join(f"{key.replace('_', '-')}={_text(value)}" for key, value in one.items()), one)
        for one in kept
    ]


def _read_exclusions(
    given: Node | None, axes: Mapping[str, Sequence[Node]], keys: schema.RunKeys, wrong: BatchErrors
) -> list[dict[str, Node]]:
    """Return the combinations to exclude."""
    if given is None:
        return []
    write = "write exclude: [{threshold: 0.5}]"
    if not isinstance(given.value, list):
        wrong.add_problem(given, "exclude must be a list of mappings", write)
        return []
    rules = []
    for _, one in given.children():
        if not isinstance(one.value, dict) or not one.value:
            wrong.add_problem(one, "exclude: entries must be mappings", write)
            continue
        rule = {}
        for key, value in one.pairs():
            name = keys.option_name(key.replace("-", "_"))
            if name not in axes:
                what = f"exclude: the matrix has no '{key}'"
                wrong.add_problem(
                    value, what, suggestion(key, axes) or f"its keys: {list_names(axes)}"
                )
            elif all(value.value != other.value for other in axes[name]):
                there = ", ".join(map(_text, axes[name]))
                wrong.add_problem(
                    value, f"exclude: {key} has no value {_text(value)}", f"values: {there}"
                )
            rule[name] = value
        rules.append(rule)
    return rules


def _text(given: Node) -> str:
    """Write a value of a matrix for the name of its run."""
    if isinstance(given.value, list):
        return "+".join(_text(one) for _, one in given.children())
    if isinstance(given.value, dict):
        return ",".join(f"{key}:{_text(one)}" for key, one in given.children())
    if isinstance(given.value, str):
        return given.value
    return given.written or dumps(given.value)


def too_many_runs_error(place: str) -> UsageError:
    """Build the error for more runs than a batch may have."""
    return UsageError.new(f"the batch has more than {MOST:,} runs", "configuration", place)
