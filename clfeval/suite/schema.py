"""Schema of a batch: the keys of runs, from the options of commands, and its JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from clfeval import COMMANDS
from clfeval.compare.gates.kinds import LIMIT_KINDS
from clfeval.compare.gates.limits import Gates
from clfeval.errors import say_which_have_it, suggestion
from clfeval.measures.catalog import find_measure
from clfeval.methods.command_lookup import command_of
from clfeval.options.declaration import Command, Opt, Option, options_of, union_types
from clfeval.options.syntax import MEANT
from clfeval.placeholders import fill_for_shell
from clfeval.records import dataclass
from clfeval.suite.reading import TOP, VERSION, BatchErrors, Node

RUN = ("command", "input", "inputs", "matrix", "exclude", "baseline")  # in addition to the options
LOOK = ("size", "caption", "font")  # options on pictures
SAVED = ("save", "show", "digits", *LOOK)  # options on output that a run has
BATCH_KEYS = ("dry_run",)  # of the whole batch, not of a run
LIMITS = frozenset(name for kind in LIMIT_KINDS for name in (kind.name, kind.option))
# keys that users may write, with the keys of a run they mean
OTHER_KEYS = {
    **dict.fromkeys(
        ("table", "tables", "file", "files", "data", "path", "predictions"), "input: FILE"
    ),
    **dict.fromkeys(("method", "subcommand", "run"), "command: NAME"),
    "gates": "fail_under: {METRIC: VALUE} or fail_over: {METRIC: VALUE}",
    **dict.fromkeys(("output", "outputs", "out"), "save: FILE"),
}


@dataclass(frozen=True)
class RunKeys:
    """The options of a command's runs; output: the group of options on saving."""

    command: Command
    output: type

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """All options of a run."""
        command_options = (
            option for option in self.command.options() if option.field not in BATCH_KEYS
        )
        output_options = (option for option in options_of(self.output) if option.field in SAVED)
        return (*command_options, *options_of(Gates), *output_options)

    @cached_property
    def options_by_name(self) -> dict[str, Option]:
        """The options by all of their names."""
        by_key = {option.key.replace("-", "_"): option for option in self.options}
        by_name = {option.name: option for option in self.options}
        return {
            name: option for name, option in {**by_key, **by_name}.items() if name != "baseline"
        }

    def option_name(self, key: str) -> str:
        """Return the Python name of an option by any of its names; another key unchanged."""
        return self.options_by_name[key].name if key in self.options_by_name else key

    def option(self, name: str) -> Option:
        """Return an option by name, including the baseline, which has its own key."""
        return self.options_by_name.get(name) or next(
            option for option in options_of(Gates) if option.name == name
        )


@cache
def run_keys(command: str, output: type) -> RunKeys:
    """Return the keys of runs of a command."""
    return RunKeys(command_of(command), output)


@cache
def all_run_keys(output: type) -> frozenset[str]:
    """Return the keys of runs of any command."""
    return frozenset(
        name for command in COMMANDS for name in run_keys(command, output).options_by_name
    )


def report_unknown_key(
    node: Node, key: str, keys: RunKeys | Iterable[str], errors: BatchErrors
) -> None:
    """Report an unknown key, with a similar key or the command that has it."""
    message = f"unknown key '{node.path[-1]}'"
    if isinstance(keys, RunKeys):
        owners = [
            command for command in COMMANDS if key in run_keys(command, keys.output).options_by_name
        ]
        message += f" of {keys.command.name}: {say_which_have_it(owners)}" if owners else ""
        keys = keys.options_by_name
    names = [name.replace("_", "-") for name in (*RUN, *keys)]
    empty_limits = _empty_limits(node)
    measure = str(node.path[-1]).rpartition(":")[2].partition(".")[0]
    meant = fill_for_shell(MEANT.get(f"--{key.replace('_', '-')}", ""))
    hint = None
    if empty_limits and find_measure(measure):
        hint = f"write limits indented below {empty_limits[0]}"
    elif key in TOP:
        hint = f"move {key} to the top level of the file"
    elif key in OTHER_KEYS:
        hint = f"use {OTHER_KEYS[key]}"
    elif meant.startswith("--"):
        hint = f"use {meant[2:].replace(' ', ': ', 1)}"
    elif not message.endswith(" it"):
        hint = suggestion(key.replace("_", "-"), names)
    errors.add_problem(node, message, hint)


def _empty_limits(node: Node) -> list[str]:
    """Return the keys of limits beside a node that have no value."""
    parent: Any = node.file.value
    for step in node.path[:-1]:
        parent = parent[step]
    return [name for name, content in parent.items() if content is None and name in LIMITS]


def accepts_type(option: Option, *kinds: type) -> bool:
    """Return whether an option accepts values of these types, or collections of them."""
    value_type = option.type if option.opt.takes is None else option.opt.takes
    return any(kind in kinds for kind in _nested_types(value_type))


def _nested_types(kind: object) -> Iterator[Any]:
    yield get_origin(kind) or kind
    for argument in get_args(kind):
        yield from _nested_types(argument)


@cache
def names_a_file(option: Option) -> bool:
    """Return whether an option takes a path."""
    return option.opt.reads or option.field == "baseline" or accepts_type(option, Path)


ID = f"clfeval.suite/{VERSION}"
TEXT = {"type": "string"}
TEXTS = {"anyOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 1}]}
VARIABLE = {"type": "string", "pattern": r"^\$\{[A-Za-z_][A-Za-z0-9_-]*\}$"}


def suite_schema(output: type) -> dict[str, Any]:
    """Return the JSON Schema of a batch; output: the group of options on saving."""
    definitions = {command: f"{command.replace('-', '_')}_keys" for command in COMMANDS}
    keys = {definitions[command]: _keys(command, output) for command in COMMANDS}
    with_underscore = (name.replace("-", "_") for name in COMMANDS if "-" in name)
    command = {"enum": [*COMMANDS, *with_underscore]}
    table_of_run = _mapping(
        {"run": TEXT, "table": TEXT},
        "run",
        description="A table of another run's result; by default the first.",
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        **_file_schema(),
        "$defs": {
            "defaults": _mapping(
                {**_default_options(keys.values()), "command": command},
                custom=True,
                description="Defaults for every run whose command has the option.",
            ),
            "run": {
                "type": "object",
                "properties": {"command": command},
                "allOf": [_keys_if_command(name, definitions[name]) for name in COMMANDS],
            },
            "input": {"anyOf": [*TEXTS["anyOf"], table_of_run]},
            **keys,
        },
    }


def _file_schema() -> dict[str, Any]:
    """Return the JSON Schema of the top level of a batch file."""
    history = {"file": TEXT, "label": TEXT, "accept": {"type": "boolean"}}
    return _mapping(
        {
            "version": {"const": VERSION},
            "set": {
                "description": "Variables, used as ${name} in values.",
                "type": "object",
                "additionalProperties": {"type": ["string", "number", "boolean"]},
            },
            "defaults": {"$ref": "#/$defs/defaults"},
            "history": {
                "description": "File to which every run appends its lines.",
                "anyOf": [TEXT, _mapping(history, "file")],
            },
            "runs": {
                "description": "Runs, by name.",
                "type": "object",
                "additionalProperties": {"$ref": "#/$defs/run"},
            },
        },
        "version",
        custom=True,
        title="Batch file, run by: clfeval batch suite.yaml",
    )


def _default_options(keys_of_commands: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the options of all commands, each with the shapes that any command gives it."""
    shapes_by_key: dict[str, list[Any]] = {}
    for keys in keys_of_commands:
        for key, shape in keys["properties"].items():
            shapes = shapes_by_key.setdefault(key, [])
            if shape not in shapes:
                shapes.append(shape)
    return {
        key: shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
        for key, shapes in shapes_by_key.items()
        if key not in ("inputs", "matrix", "exclude")
    }


def _keys_if_command(command: str, definition: str) -> dict[str, Any]:
    """Return that a run of a command, spelt with - or with _, has the keys of a definition."""
    spellings = list(dict.fromkeys((command, command.replace("-", "_"))))
    return {
        "if": {"properties": {"command": {"enum": spellings}}, "required": ["command"]},
        "then": {"$ref": f"#/$defs/{definition}"},
    }


def _keys(command: str, output: type) -> dict[str, Any]:
    """Return the JSON Schema of a run of a command, with options spelt with - and with _."""
    keys = run_keys(command, output)
    shapes = options_schema(keys.options)["properties"]
    options = {
        name: _allow_variables(shapes[option.key.replace("-", "_")])
        for name, option in keys.options_by_name.items()
    }
    matrix = {name: {"type": "array", "minItems": 1} for name in (*options, "input")}
    gates = {
        option.name: options[option.name]
        for option in options_of(Gates)
        if option.field != "baseline"
    }
    gates |= {
        name.removeprefix("baseline_"): shape
        for name, shape in gates.items()
        if name.startswith("baseline_")
    }
    run_shapes = {
        "command": True,
        "input": {"description": "One table, in one or several files.", "$ref": "#/$defs/input"},
        "inputs": {"description": "Files, or a pattern; one run per file.", **TEXTS},
        "matrix": _mapping(
            _both_spellings(matrix), description="Lists of values; one run per combination."
        ),
        "exclude": {
            "description": "Combinations of the matrix to leave out.",
            "type": "array",
            "items": {"type": "object"},
        },
        "baseline": {
            "description": "Baseline to compare with, and limits on the change.",
            "anyOf": [TEXT, _mapping({"input": TEXT, **_both_spellings(gates)}, "input")],
        },
    }
    return _mapping({**run_shapes, **_both_spellings(options)}, custom=True)


def _allow_variables(shape: dict[str, Any]) -> dict[str, Any]:
    """Allow a variable in place of a number or boolean."""
    bare = {key: value for key, value in shape.items() if key != "description"}
    if not bare or bare == TEXT:
        return shape
    return {"description": shape["description"], "anyOf": [bare, VARIABLE]}


def _both_spellings(options: dict[str, Any]) -> dict[str, Any]:
    pairs = options.items()
    return {spelt: shape for name, shape in pairs for spelt in (name.replace("_", "-"), name)}


def options_schema(options: Iterable[Option]) -> dict[str, Any]:
    """Return the JSON Schema of a mapping of options, as in a batch."""
    properties: dict[str, Any] = {}
    for option in options:
        takes = option.type if option.opt.takes is None else option.opt.takes
        shape = _schema(takes, option.opt)
        if option.holds == "several" and option.opt.takes is None:
            shape = {"anyOf": [shape["items"], shape]}
        if NoneType in get_args(option.type) and shape:
            shape = {"anyOf": [shape, {"type": "null"}]}
        properties[option.key.replace("-", "_")] = {
            **shape,
            "description": fill_for_shell(option.opt.help),
        }
    return _mapping(properties)


def _mapping(
    properties: Mapping[str, Any], *required: str, custom: bool = False, **keywords: object
) -> dict[str, Any]:
    """Return the JSON Schema of a mapping without other keys; custom: but keys for anchors."""
    shape = {**keywords, "type": "object"}
    shape |= {"required": [*required]} if required else {}
    shape |= {"properties": properties}
    shape |= {"patternProperties": {"^x-": True}} if custom else {}
    return {**shape, "additionalProperties": False}


def _schema(kind: object, opt: Opt) -> dict[str, Any]:
    """Return the JSON Schema of the values of a type."""
    kinds = union_types(kind)
    origin = get_origin(kind)
    if len(kinds) != 1:
        return {"anyOf": [_schema(member, opt) for member in kinds]}
    if kinds != (kind,):
        return _schema(kinds[0], opt)
    if origin is Literal:
        return {"enum": list(get_args(kind))}
    if kind in (int, float):
        bounds = {
            "minimum": opt.minimum,
            "maximum": opt.maximum,
            "exclusiveMinimum": opt.above,
            "exclusiveMaximum": opt.below,
        }
        limits = {key: bound for key, bound in bounds.items() if bound is not None}
        return {"type": "integer" if kind is int else "number", **limits}
    if kind in (str, bool):
        return {"type": "string" if kind is str else "boolean"}
    arguments = get_args(kind)
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], opt)}
    if origin is tuple and arguments[-1] is not Ellipsis:
        size = len(arguments)
        shape = _schema(arguments[0], opt)
        return {"type": "array", "items": shape, "minItems": size, "maxItems": size}
    if origin is not None:
        return {"type": "array", "items": _schema(arguments[0], opt)}
    return {}
