"""Keys of a run: options of its command, of gates and of files, and their values in YAML."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from glob import escape, has_magic
from itertools import product
from json import dumps
from math import prod
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from clfeval import COMMANDS
from clfeval.compare.gates.limits import Gates, LimitKind
from clfeval.errors import ClfevalError, UsageError, list_names, say_which_have_it, suggestion
from clfeval.measures.catalog import find_measure
from clfeval.options.declaration import Command, Option, build_group, convert_value, options_of
from clfeval.options.syntax import MEANT, reword_error, yaml_dialect
from clfeval.records import dataclass
from clfeval.suite.reading import TOP, BatchErrors, FilledText, Node, path_beside_file
from clfeval.tables.engine import as_text
from clfeval.tables.input import command_of
from clfeval.tables.yaml import plain_scalar_value

RUN = ("command", "input", "inputs", "matrix", "exclude", "baseline")  # in addition to the options
SAVED = ("save", "show", "digits")  # options on output that a run has
BATCH_KEYS = ("dry_run",)  # of the whole batch, not of a run
LIMITS = frozenset(name for kind in get_args(LimitKind) for name in (kind, kind.replace("-", "_")))
# keys that users may write, with the keys of a run they mean
OTHER_KEYS = {
    **dict.fromkeys(("table", "tables", "file", "files", "data", "path", "predictions"),
                    "input: FILE"),
    **dict.fromkeys(("method", "subcommand", "run"), "command: NAME"),
    "gates": "fail_under: {METRIC: VALUE} or fail_over: {METRIC: VALUE}",
    **dict.fromkeys(("output", "outputs", "out"), "save: FILE"),
}  # fmt: skip


@dataclass(frozen=True)
class RunKeys:
    """The options of a command's runs; output: the group of options on saving."""

    command: Command
    output: type

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """All options of a run."""
        own = (one for one in self.command.options() if one.field not in BATCH_KEYS)
        saved = (one for one in options_of(self.output) if one.field in SAVED)
        return (*own, *options_of(Gates), *saved)

    @cached_property
    def options_by_name(self) -> dict[str, Option]:
        """The options by all of their names."""
        by_key = {one.key.replace("-", "_"): one for one in self.options}
        by_name = {one.name: one for one in self.options}
        return {name: one for name, one in {**by_key, **by_name}.items() if name != "baseline"}

    def option(self, name: str) -> Option:
        """Return an option by name, including the baseline, which has its own key."""
        return self.options_by_name.get(name) or next(
            one for one in options_of(Gates) if one.name == name
        )


@cache
def run_keys(command: str, output: type) -> RunKeys:
    """Return the keys of runs of a command."""
    return RunKeys(command_of(command), output)


@cache
def all_run_keys(output: type) -> frozenset[str]:
    """Return the keys of runs of any command."""
    return frozenset(name for one in COMMANDS for name in run_keys(one, output).options_by_name)


def report_unknown_key(
    given: Node, key: str, known: RunKeys | Iterable[str], wrong: BatchErrors
) -> None:
    """Report an unknown key, with a similar key or the command that has it."""
    what = f"unknown key '{given.path[-1]}'"
    if isinstance(known, RunKeys):
        owners = [one for one in COMMANDS if key in run_keys(one, known.output).options_by_name]
        what += f" of {known.command.name}: {say_which_have_it(owners)}" if owners else ""
        known = known.options_by_name
    names = [name.replace("_", "-") for name in (*RUN, *known)]
    parent: Any = given.file.value
    for step in given.path[:-1]:
        parent = parent[step]
    empty = [name for name, one in parent.items() if one is None and name in LIMITS]
    measure = str(given.path[-1]).rpartition(":")[2].partition(".")[0]
    meant, hint = MEANT.get(f"--{key.replace('_', '-')}", ""), None
    if empty and find_measure(measure):
        hint = f"write limits indented below {empty[0]}"
    elif key in TOP:
        hint = f"move {key} to the top level of the file"
    elif key in OTHER_KEYS:
        hint = f"use {OTHER_KEYS[key]}"
    elif meant.startswith("--"):
        hint = f"use {meant[2:].replace(' ', ': ', 1)}"
    elif not what.endswith(" it"):
        hint = suggestion(key.replace("_", "-"), names)
    wrong.add_problem(given, what, hint)


def accepts_type(option: Option, *kinds: type) -> bool:
    """Return whether an option accepts values of these types, or collections of them."""
    whole = option.type if option.opt.takes is None else option.opt.takes
    return any(kind in kinds for kind in _nested_types(whole))


def _nested_types(kind: Any) -> Iterator[Any]:
    yield get_origin(kind) or kind
    for one in get_args(kind):
        yield from _nested_types(one)


@cache
def names_a_file(option: Option) -> bool:
    """Return whether an option takes a path."""
    return option.opt.reads or option.field == "baseline" or accepts_type(option, Path)


def resolve_path(given: Node, text: str) -> str:
    """Return the path of a file or pattern, relative to the folder of its YAML file."""
    path = path_beside_file(given, text)
    if has_magic(text) and not os.path.exists(path):
        return os.path.join(escape(os.path.dirname(given.file.name)), text)
    return path


def read_options(keys: RunKeys, given: Mapping[str, Node], wrong: BatchErrors) -> dict[str, Any]:
    """Return the valid options of a run, by name; report errors of values, then of combinations."""
    read = {name: _read(keys.option(name), one, wrong) for name, one in given.items()}
    found = {keys.option(name).name: one[0] for name, one in read.items() if one is not None}
    try:
        keys.command.build_groups(found)
        _ = build_group(Gates, found).limits
        build_group(keys.output, found)
    except ClfevalError as error:
        if len(found) == len(given):
            reword_for_yaml(error, keys, given)
            wrong.take(error, next(iter(given.values()), None))
        return {}
    return found


def reword_for_yaml(error: ClfevalError, keys: RunKeys, given: Mapping[str, Node]) -> None:
    """Reword an error for a batch, with the place of its option."""
    places = {
        keys.options_by_name[name].name if name in keys.options_by_name else name: one.place
        for name, one in given.items()
    }
    others = (one for name in COMMANDS for one in run_keys(name, keys.output).options)
    reword_error(error, [*others, *keys.options], yaml_dialect(places.get))


def _read(option: Option, given: Node, wrong: BatchErrors) -> tuple[Any] | None:
    """Return the value of an option as a tuple of one; None, with an error reported, if invalid."""
    if wrong.closed & {given.place, *(one.place for _, one in given.children())}:
        return None  # the value of a variable is unknown
    before = wrong.times
    for kind, one in [(Mapping, given), *((Any, one) for _, one in given.children())]:
        if isinstance(one.value, dict) and not accepts_type(option, kind):
            wrong.add_problem(one, f"{option.key} does not take a mapping")
    value = _value_of_type(option, given, wrong)
    if option.kinds == (bool,) and not isinstance(value, (bool, NoneType)):
        what = f"{option.key} must be true or false, not {given.written or repr(value):.60}"
        wrong.add_problem(given, what, _quotes_hint(option, given))
    if value is None and option.holds == "several" and option in options_of(Gates):
        what = f"{option.key} has no limit"
        wrong.add_problem(given, what, "add a limit, remove the key, or write []")
    if wrong.times > before:
        return None
    if isinstance(value, str) and names_a_file(option):
        if "\0" in value or not value.strip():
            wrong.add_problem(given, f"{option.key}: {value!r:.60} is not a path")
            return None
        value = resolve_path(given, value)
    elif isinstance(value, list) and option.opt.reads:
        value = [resolve_path(given, one) if isinstance(one, str) else one for one in value]
    try:
        _check(option, value)
    except ClfevalError as error:
        where = _refused_entry(option, given, value) or given
        reword_error(error, [option], yaml_dialect(lambda _: where.place))
        error.hint = error.hint or _quotes_hint(option, where)
        wrong.take(error, where)
        return None
    return (value,)


def _quotes_hint(option: Option, given: Node) -> str | None:
    """Return the hint to remove quotes, if the unquoted value would be valid."""
    plain = plain_scalar_value(given.value) if isinstance(given.value, str) else None
    if isinstance(plain, (str, NoneType)):
        return None
    try:
        _check(option, plain)
    except ClfevalError:
        return None
    key = given.path[-1]
    return f"remove the quotes: {f'{key}: ' if isinstance(key, str) else ''}{given.value}"


def _check(option: Option, value: Any) -> None:
    """Raise ClfevalError for a value that is not valid for an option or gate."""
    made = convert_value(option, value)
    if option in options_of(Gates):
        _ = Gates(**{option.field: made}).limits


def _refused_entry(option: Option, given: Node, value: Any) -> Node | None:
    """Return the only invalid entry of a mapping or list; None for none or several."""
    inside = dict(given.children())
    bad = []
    for key, one in inside.items():
        single = {key: value[key]} if isinstance(value, dict) else [value[key]]
        try:
            _check(option, single)
        except UsageError:
            bad.append(one)
    return bad[0] if len(bad) == 1 and len(inside) > 1 else None


def _value_of_type(option: Option, given: Node, wrong: BatchErrors) -> Any:
    """Return a value converted for an option; report texts that YAML reads as other types."""
    value = given.value
    if isinstance(value, list):
        for _, one in given.children():
            if one.value is None:
                hint = "put the text in quotes" if one.written else None
                wrong.add_problem(one, f"{option.key}: an entry of the list is empty", hint)
        return [_value_of_type(option, one, wrong) for _, one in given.children()]
    if isinstance(value, dict):
        return {key: _value_of_type(option, one, wrong) for key, one in given.children()}
    if isinstance(value, FilledText) and accepts_type(option, int, float, bool):
        if plain_scalar_value(value) is None:
            wrong.add_problem(given, f"{option.key}: the variable's value '{value}' means null")
        return plain_scalar_value(value)
    if isinstance(value, (bool, int, float)) and not accepts_type(option, int, float, bool, Any):
        written = given.written or str(value)
        text = as_text(value) if accepts_type(option, object) else None
        if text != written:
            kind = "true or false" if isinstance(value, bool) else f"the number {value}"
            what = f"{option.key}: YAML reads {written} as {kind}"
            wrong.add_problem(given, what, f"put a text in quotes: {option.key}: '{written}'")
    return value


MOST = 10_000  # runs of a batch


def too_many_runs_error(place: str) -> UsageError:
    """Build the error for more runs than a batch may have."""
    return UsageError.new(f"the batch has more than {MOST:,} runs", "configuration", place)


def combinations(
    given: Mapping[str, Node], keys: RunKeys, wrong: BatchErrors, room: int
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
        name = key.replace("-", "_")
        name = keys.options_by_name[name].name if name in keys.options_by_name else name
        if name in RUN and name != "input":
            wrong.add_problem(one, f"a matrix cannot vary '{key}'")
        elif name not in keys.options_by_name and name != "input":
            report_unknown_key(one, name, keys, wrong)
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
    kept = [one for one in every if not any(
        all(k in one and one[k].value == v.value for k, v in rule.items()) for rule in left_out
    )]  # fmt: skip
    if axes and not kept:
        wrong.add_problem(given["exclude"], "exclude removes every combination of the matrix")
    return [(",".join(f"{key.replace('_', '-')}={_text(value)}" for key, value in one.items()), one)
            for one in kept]  # fmt: skip


def _read_exclusions(
    given: Node | None, axes: Mapping[str, Sequence[Node]], keys: RunKeys, wrong: BatchErrors
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
            name = key.replace("-", "_")
            name = keys.options_by_name[name].name if name in keys.options_by_name else name
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
