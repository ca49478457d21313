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
def run_keys(command: str, output_group: type) -> RunKeys:
    """Return the keys of runs of a command; output_group: the group of options on saving."""
    return RunKeys(command_of(command), output_group)


@cache
def all_run_keys(output_group: type) -> frozenset[str]:
    """Return the keys of runs of any command."""
    return frozenset(
        name for command in COMMANDS for name in run_keys(command, output_group).options_by_name
    )


def report_unknown_key(
    node: Node, key: str, known_keys: RunKeys | Iterable[str], errors: BatchErrors
) -> None:
    """Report an unknown key, with a similar key or the command that has it."""
    message = f"unknown key '{node.path[-1]}'"
    if isinstance(known_keys, RunKeys):
        owner_commands = [
            command
            for command in COMMANDS
            if key in run_keys(command, known_keys.output).options_by_name
        ]
        message += (
            f" of {known_keys.command.name}: {say_which_have_it(owner_commands)}"
            if owner_commands
            else ""
        )
        known_keys = known_keys.options_by_name
    key_names = [name.replace("_", "-") for name in (*RUN, *known_keys)]
    empty_limits = _empty_limits(node)
    _, _, limit_name = str(node.path[-1]).rpartition(":")  # may begin with a model
    measure_name, _, _ = limit_name.partition(".")
    meant_phrase = fill_for_shell(MEANT.get(f"--{key.replace('_', '-')}", ""))
    hint = None
    if empty_limits and find_measure(measure_name):
        hint = f"write limits indented below {empty_limits[0]}"
    elif key in TOP:
        hint = f"move {key} to the top level of the file"
    elif key in OTHER_KEYS:
        hint = f"use {OTHER_KEYS[key]}"
    elif meant_phrase.startswith("--"):
        hint = f"use {meant_phrase[2:].replace(' ', ': ', 1)}"
    elif not message.endswith(" it"):
        hint = suggestion(key.replace("_", "-"), key_names)
    errors.add_problem(node, message, hint)


def _empty_limits(node: Node) -> list[str]:
    """Return the keys of limits beside a node that have no value."""
    parent: Any = node.file.value
    for key in node.path[:-1]:
        parent = parent[key]
    return [name for name, limits in parent.items() if limits is None and name in LIMITS]


def accepts_type(option: Option, *types: type) -> bool:
    """Return whether an option accepts values of these types, or collections of them."""
    value_type = option.type if option.opt.takes is None else option.opt.takes
    return any(nested_type in types for nested_type in _nested_types(value_type))


def _nested_types(value_type: object) -> Iterator[Any]:
    yield get_origin(value_type) or value_type
    for argument in get_args(value_type):
        yield from _nested_types(argument)


@cache
def names_a_file(option: Option) -> bool:
    """Return whether an option takes a path."""
    return option.opt.reads or option.field == "baseline" or accepts_type(option, Path)


ID = f"clfeval.suite/{VERSION}"
TEXT = {"type": "string"}
TEXTS = {"anyOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 1}]}
VARIABLE = {"type": "string", "pattern": r"^\$\{[A-Za-z_][A-Za-z0-9_-]*\}$"}


def suite_schema(output_group: type) -> dict[str, Any]:
    """Return the JSON Schema of a batch; output_group: the group of options on saving."""
    definition_names = {name: f"{name.replace('-', '_')}_keys" for name in COMMANDS}
    definitions = {definition_names[name]: _keys(name, output_group) for name in COMMANDS}
    underscored_names = (name.replace("-", "_") for name in COMMANDS if "-" in name)
    command_schema = {"enum": [*COMMANDS, *underscored_names]}
    link_schema = _mapping(
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
                {**_default_options(definitions.values()), "command": command_schema},
                custom=True,
                description="Defaults for every run whose command has the option.",
            ),
            "run": {
                "type": "object",
                "properties": {"command": command_schema},
                "allOf": [_keys_if_command(name, definition_names[name]) for name in COMMANDS],
            },
            "input": {"anyOf": [*TEXTS["anyOf"], link_schema]},
            **definitions,
        },
    }


def _file_schema() -> dict[str, Any]:
    """Return the JSON Schema of the top level of a batch file."""
    history_schema = {"file": TEXT, "label": TEXT, "accept": {"type": "boolean"}}
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
                "anyOf": [TEXT, _mapping(history_schema, "file")],
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


def _default_options(command_schemas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the options of all commands, each with the schemas that any command gives it."""
    schemas_by_key: dict[str, list[Any]] = {}
    for command_schema in command_schemas:
        for key, key_schema in command_schema["properties"].items():
            key_schemas = schemas_by_key.setdefault(key, [])
            if key_schema not in key_schemas:
                key_schemas.append(key_schema)
    return {
        key: key_schemas[0] if len(key_schemas) == 1 else {"anyOf": key_schemas}
        for key, key_schemas in schemas_by_key.items()
        if key not in ("inputs", "matrix", "exclude")
    }


def _keys_if_command(command: str, definition_name: str) -> dict[str, Any]:
    """Return that a run of a command, spelt with - or with _, has the keys of a definition."""
    spellings = list(dict.fromkeys((command, command.replace("-", "_"))))
    return {
        "if": {"properties": {"command": {"enum": spellings}}, "required": ["command"]},
        "then": {"$ref": f"#/$defs/{definition_name}"},
    }


def _keys(command: str, output_group: type) -> dict[str, Any]:
    """Return the JSON Schema of a run of a command, with options spelt with - and with _."""
    command_keys = run_keys(command, output_group)
    option_schemas = options_schema(command_keys.options)["properties"]
    schemas_by_name = {
        name: _allow_variables(option_schemas[option.key.replace("-", "_")])
        for name, option in command_keys.options_by_name.items()
    }
    matrix_schemas = {
        name: {"type": "array", "minItems": 1} for name in (*schemas_by_name, "input")
    }
    gate_schemas = {
        option.name: schemas_by_name[option.name]
        for option in options_of(Gates)
        if option.field != "baseline"
    }
    gate_schemas |= {
        name.removeprefix("baseline_"): gate_schema
        for name, gate_schema in gate_schemas.items()
        if name.startswith("baseline_")
    }
    run_schemas = {
        "command": True,
        "input": {"description": "One table, in one or several files.", "$ref": "#/$defs/input"},
        "inputs": {"description": "Files, or a pattern; one run per file.", **TEXTS},
        "matrix": _mapping(
            _both_spellings(matrix_schemas), description="Lists of values; one run per combination."
        ),
        "exclude": {
            "description": "Combinations of the matrix to leave out.",
            "type": "array",
            "items": {"type": "object"},
        },
        "baseline": {
            "description": "Baseline to compare with, and limits on the change.",
            "anyOf": [TEXT, _mapping({"input": TEXT, **_both_spellings(gate_schemas)}, "input")],
        },
    }
    return _mapping({**run_schemas, **_both_spellings(schemas_by_name)}, custom=True)


def _allow_variables(value_schema: dict[str, Any]) -> dict[str, Any]:
    """Allow a variable in place of a number or boolean."""
    schema_without_text = {
        keyword: keyword_value
        for keyword, keyword_value in value_schema.items()
        if keyword != "description"
    }
    if not schema_without_text or schema_without_text == TEXT:
        return value_schema
    return {"description": value_schema["description"], "anyOf": [schema_without_text, VARIABLE]}


def _both_spellings(schemas_by_name: dict[str, Any]) -> dict[str, Any]:
    name_schema_pairs = schemas_by_name.items()
    return {
        spelling: schema
        for name, schema in name_schema_pairs
        for spelling in (name.replace("_", "-"), name)
    }


def options_schema(options: Iterable[Option]) -> dict[str, Any]:
    """Return the JSON Schema of a mapping of options, as in a batch."""
    option_schemas: dict[str, Any] = {}
    for option in options:
        value_type = option.type if option.opt.takes is None else option.opt.takes
        option_schema = _schema(value_type, option.opt)
        if option.holds == "several" and option.opt.takes is None:
            option_schema = {"anyOf": [option_schema["items"], option_schema]}
        if NoneType in get_args(option.type) and option_schema:
            option_schema = {"anyOf": [option_schema, {"type": "null"}]}
        option_schemas[option.key.replace("-", "_")] = {
            **option_schema,
            "description": fill_for_shell(option.opt.help),
        }
    return _mapping(option_schemas)


def _mapping(
    properties: Mapping[str, Any], *required_keys: str, custom: bool = False, **keywords: object
) -> dict[str, Any]:
    """Return the JSON Schema of a mapping without other keys; custom: but keys for anchors."""
    mapping_schema = {**keywords, "type": "object"}
    mapping_schema |= {"required": [*required_keys]} if required_keys else {}
    mapping_schema |= {"properties": properties}
    mapping_schema |= {"patternProperties": {"^x-": True}} if custom else {}
    return {**mapping_schema, "additionalProperties": False}


def _schema(value_type: object, opt: Opt) -> dict[str, Any]:
    """Return the JSON Schema of the values of a type."""
    member_types = union_types(value_type)
    origin = get_origin(value_type)
    if len(member_types) != 1:
        return {"anyOf": [_schema(member_type, opt) for member_type in member_types]}
    if member_types != (value_type,):
        return _schema(member_types[0], opt)
    if origin is Literal:
        return {"enum": list(get_args(value_type))}
    if value_type in (int, float):
        bounds = {
            "minimum": opt.minimum,
            "maximum": opt.maximum,
            "exclusiveMinimum": opt.above,
            "exclusiveMaximum": opt.below,
        }
        set_bounds = {keyword: bound for keyword, bound in bounds.items() if bound is not None}
        return {"type": "integer" if value_type is int else "number", **set_bounds}
    if value_type in (str, bool):
        return {"type": "string" if value_type is str else "boolean"}
    type_arguments = get_args(value_type)
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(type_arguments[1], opt)}
    if origin is tuple and type_arguments[-1] is not Ellipsis:
        element_count = len(type_arguments)
        element_schema = _schema(type_arguments[0], opt)
        return {
            "type": "array",
            "items": element_schema,
            "minItems": element_count,
            "maxItems": element_count,
        }
    if origin is not None:
        return {"type": "array", "items": _schema(type_arguments[0], opt)}
    return {}
