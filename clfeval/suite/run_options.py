"""Values of a run in YAML: options, tables by path, pattern or link, and output paths."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from glob import escape, glob, has_magic
from pathlib import Path
from types import NoneType
from typing import Any

from clfeval import COMMANDS
from clfeval.compare.gates.limits import Gates
from clfeval.errors import ClfevalError, UsageError, suggestion
from clfeval.options.declaration import Option, build_group, convert_value, options_of
from clfeval.options.syntax import fill_error, yaml_dialect
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass
from clfeval.suite.reading import BatchErrors, FilledText, Node, path_beside_file
from clfeval.suite.schema import RunKeys, accepts_type, names_a_file, run_keys
from clfeval.tables.frames import as_text
from clfeval.tables.input import split_calibrator
from clfeval.tables.yaml import plain_scalar_value
from clfeval.views.files import format_of_file, is_file_of_rows


def resolve_path(node: Node, path_text: str) -> str:
    """Return the path of a file or pattern, relative to the folder of its YAML file."""
    path = path_beside_file(node, path_text)
    if has_magic(path_text) and not os.path.exists(path):
        return os.path.join(escape(os.path.dirname(node.file.name)), path_text)
    return path


def read_options(
    command_keys: RunKeys, nodes: Mapping[str, Node], errors: BatchErrors
) -> dict[str, Any]:
    """Return the valid options of a run, by name; report errors of values, then of combinations."""
    option_values: dict[str, Any] = {}
    for name, node in nodes.items():
        option = command_keys.option(name)
        boxed_value = _read_value(option, node, errors)
        if boxed_value is not None:  # else an error is reported
            (option_value,) = boxed_value
            option_values[option.name] = option_value
    try:
        command_keys.command.build_groups(option_values)
        _ = build_group(Gates, option_values).limits
        build_group(command_keys.output, option_values)
    except ClfevalError as error:
        if len(option_values) == len(nodes):
            fill_for_yaml(error, command_keys, nodes)
            errors.take(error, next(iter(nodes.values()), None))
        return {}
    return option_values


def fill_for_yaml(error: ClfevalError, command_keys: RunKeys, nodes: Mapping[str, Node]) -> None:
    """Reword an error for a batch, with the place of its option."""
    places = {command_keys.option_name(name): node.place for name, node in nodes.items()}
    all_keys = (run_keys(name, command_keys.output) for name in COMMANDS)
    options_of_commands = (option for keys in all_keys for option in keys.options)
    fill_error(error, [*options_of_commands, *command_keys.options], yaml_dialect(places.get))


def _read_value(option: Option, node: Node, errors: BatchErrors) -> tuple[Any] | None:
    """Return the value of an option as a tuple of one; None, with an error reported, if invalid."""
    if errors.closed & {node.place, *(child.place for _, child in node.children())}:
        return None  # the value of a variable is unknown
    error_count_before = errors.times
    _check_mappings(option, node, errors)
    value = _value_of_type(option, node, errors)
    if option.kinds == (bool,) and not isinstance(value, (bool, NoneType)):
        message = f"{option.key} must be true or false, not {node.written or repr(value):.60}"
        errors.add_problem(node, message, _quotes_hint(option, node))
    if value is None and option.holds == "several" and option in options_of(Gates):
        message = f"{option.key} has no limit"
        errors.add_problem(node, message, "add a limit, remove the key, or write []")
    if errors.times > error_count_before:
        return None
    if isinstance(value, str) and names_a_file(option) and ("\0" in value or not value.strip()):
        errors.add_problem(node, f"{option.key}: {value!r:.60} is not a path")
        return None
    value = _resolve_paths(option, node, value)
    try:
        _check(option, value)
    except ClfevalError as error:
        refused_node = _refused_entry(option, node, value) or node
        fill_error(error, [option], yaml_dialect(lambda _: refused_node.place))
        error.hint = error.hint or _quotes_hint(option, refused_node)
        errors.take(error, refused_node)
        return None
    return (value,)


def _check_mappings(option: Option, node: Node, errors: BatchErrors) -> None:
    """Report a mapping, or mappings in a list, that an option does not take."""
    if isinstance(node.value, dict) and not accepts_type(option, Mapping):
        errors.add_problem(node, f"{option.key} does not take a mapping")
    for _, child in node.children():
        if isinstance(child.value, dict) and not accepts_type(option, Any):
            errors.add_problem(child, f"{option.key} does not take a mapping")


def _resolve_paths(option: Option, node: Node, value: object) -> object:
    """Return a value with its paths relative to the folder of its YAML file."""
    if isinstance(value, str) and names_a_file(option):
        return resolve_path(node, value)
    if isinstance(value, list) and option.opt.reads:
        return [resolve_path(node, path) if isinstance(path, str) else path for path in value]
    return _resolve_calibrators(node, value) if option.field == "model" else value


def _resolve_calibrators(node: Node, value: object) -> object:
    """Return models with the files of calibrators relative to the folder of their YAML file."""
    if isinstance(value, list):
        return [_resolve_calibrators(node, text) for text in value]
    pair = split_calibrator(value) if isinstance(value, str) else None
    if pair is None:
        return value
    model, calibrator_file = pair
    return f"{model}:{resolve_path(node, calibrator_file)}"


def _quotes_hint(option: Option, node: Node) -> str | None:
    """Return the hint to remove quotes, if the unquoted value would be valid."""
    unquoted_value = plain_scalar_value(node.value) if isinstance(node.value, str) else None
    if isinstance(unquoted_value, (str, NoneType)):
        return None
    try:
        _check(option, unquoted_value)
    except ClfevalError:
        return None
    key = node.path[-1]
    key_text = f"{key}: " if isinstance(key, str) else ""
    return f"remove the quotes: {key_text}{node.value}"


def _check(option: Option, value: object) -> None:
    """Raise ClfevalError for a value that is not valid for an option or gate."""
    converted = convert_value(option, value)
    if option in options_of(Gates):
        _ = Gates(**{option.field: converted}).limits


def _refused_entry(option: Option, node: Node, value: Any) -> Node | None:
    """Return the only invalid entry of a mapping or list; None for none or several."""
    children = dict(node.children())
    refused_children = []
    for key, child in children.items():
        single_entry = {key: value[key]} if isinstance(value, dict) else [value[key]]
        try:
            _check(option, single_entry)
        except UsageError:
            refused_children.append(child)
    return refused_children[0] if len(refused_children) == 1 and len(children) > 1 else None


def _value_of_type(option: Option, node: Node, errors: BatchErrors) -> Any:
    """Return a value converted for an option; report texts that YAML reads as other types."""
    value = node.value
    if isinstance(value, list):
        for _, child in node.children():
            if child.value is None:
                hint = "put the text in quotes" if child.written else None
                errors.add_problem(child, f"{option.key}: an entry of the list is empty", hint)
        return [_value_of_type(option, child, errors) for _, child in node.children()]
    if isinstance(value, dict):
        return {key: _value_of_type(option, child, errors) for key, child in node.children()}
    if isinstance(value, FilledText) and accepts_type(option, int, float, bool):
        if plain_scalar_value(value) is None:
            errors.add_problem(node, f"{option.key}: the variable's value '{value}' means null")
        return plain_scalar_value(value)
    is_number = isinstance(value, (bool, int, float)) and option.type is not Any
    if is_number and not accepts_type(option, int, float, bool, Any):
        written_text = node.written or str(value)
        text = as_text(value) if accepts_type(option, object) else None
        if text != written_text:
            type_phrase = "true or false" if isinstance(value, bool) else f"the number {value}"
            message = f"{option.key}: YAML reads {written_text} as {type_phrase}"
            errors.add_problem(
                node, message, f"put a text in quotes: {option.key}: '{written_text}'"
            )
    return value


_OF_SHELL = re.compile(r"\$([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class RunLink:
    """A link to a table of another run's result, by default its first."""

    run: str
    table: str | None
    node: Node


def run_tables(
    nodes_by_key: Mapping[str, Node],
    command_keys: RunKeys,
    group: str,
    place: str,
    errors: BatchErrors,
) -> Iterator[tuple[str, tuple[str, ...] | RunLink | None]]:
    """Yield the tables of a run with their labels, one for each file of `inputs`.

    nodes_by_key: the values of the run. group, place: its key in the file, and where that is.
    """
    if "inputs" in nodes_by_key:
        if "input" in nodes_by_key:
            hint = "keep input for one table, or inputs for one run per file"
            errors.add_problem(nodes_by_key["inputs"], "input and inputs are both given", hint)
        paths: list[str] = []
        for path in _paths(nodes_by_key["inputs"], errors):
            is_unexpanded = os.path.exists(path) or os.path.dirname(path).startswith("/**")
            # a pattern that matches nothing, or could search the whole disk, stays as it is
            matching_paths = [] if is_unexpanded else sorted(glob(path, recursive=True))
            paths += matching_paths or [path]
        yield from zip(_stems(paths), ((path,) for path in paths), strict=True)
    elif "input" in nodes_by_key:
        node = nodes_by_key["input"]
        is_link = isinstance(node.value, dict)
        yield "", _link(node, errors) if is_link else tuple(_paths(node, errors))
    elif not command_keys.command.optional:
        errors.add_problem(
            place, f"run '{group}' has no table", "add input: FILE, or inputs: FILES"
        )
    else:
        yield "", None


def _paths(node: Node, errors: BatchErrors) -> list[str]:
    """Return the named files, relative to the YAML file."""
    path_nodes = [child for _, child in node.children()] if isinstance(node.value, list) else [node]
    if not path_nodes:
        errors.add_problem(node, f"{node.path[-1]}: the list of tables is empty")
    paths = (_path(path_node, f"{node.path[-1]}", errors) for path_node in path_nodes)
    return [path for path in paths if path is not None]


def _path(node: Node, key: str, errors: BatchErrors) -> str | None:
    """Return the file that a node names, with its label; None, with an error reported."""
    path_text = node.value
    if not isinstance(path_text, str) or not path_text.strip() or "\0" in path_text:
        message = f"{key}: {path_text!r:.60} is not a path"
        errors.add_problem(node, message, "give a path, a pattern, or a list of paths")
        return None
    if path_text == "-":
        errors.add_problem(node, f"{key}: a batch cannot read standard input", "name a file")
        return None
    label, equals, file_name = path_text.partition("=")
    path = resolve_path(node, path_text)
    if equals and not os.path.exists(path) and not os.path.dirname(label):
        path = f"{label}={resolve_path(node, file_name)}"
    shell_match = _OF_SHELL.search(path_text)
    if shell_match and not os.path.exists(path):
        shell_name = shell_match[1]
        name = shell_name.lower()
        hint = f"write ${{{name}}}, and run with {OPTION}--set {name}=${shell_name}{END}"
        message = f"{key}: environment variables, such as ${shell_name}, are not read"
        errors.add_problem(node, message, hint)
        return None
    return path


def _stems(paths: Sequence[str]) -> list[str]:
    """Return distinct labels of files: their stems, else paths without suffix, else paths.

    Paths are relative to their common folder, or as given where some are absolute.
    """
    stems = [Path(path).name.split(".")[0] or Path(path).name or path for path in paths]
    are_absolute = {os.path.isabs(path) for path in paths}
    common_folder = os.path.commonpath(paths) if len(paths) > 1 and len(are_absolute) == 1 else ""
    relative_paths = [
        os.path.relpath(path, common_folder) if common_folder else path for path in paths
    ]
    for labels in (stems, list(map(_without_suffix, relative_paths))):
        if len({*labels}) == len(labels):
            return [label.translate({ord("["): "(", ord("]"): ")"}) for label in labels]
    return relative_paths


def _without_suffix(path: str) -> str:
    """Return a path without the suffix of its last part, if it has one: `/` and `.` have none."""
    return str(Path(path).with_suffix("")) if Path(path).name else path


def _link(node: Node, errors: BatchErrors) -> RunLink | None:
    """Return the link of an input; None, with an error reported, if it names no run."""
    nodes_by_key = dict(node.pairs())
    for key, child in nodes_by_key.items():
        if key not in ("run", "table"):
            hint = suggestion(key, ("run", "table")) or "write input: {run: NAME, table: NAME}"
            errors.add_problem(child, f"input: unknown key '{key}'", hint)
        elif not isinstance(child.value, str):
            errors.add_problem(child, f"input: {key} must be a name, not {child.value!r:.60}")
    if "run" not in nodes_by_key:
        errors.add_problem(
            node, "input: the key 'run' is missing", "write input: {run: NAME, table: NAME}"
        )
        return None
    table_node = nodes_by_key.get("table")
    table = None if table_node is None else str(table_node.value)
    return RunLink(str(nodes_by_key["run"].value), table, node)


LONGEST = 120  # characters of a run's name in a file name, at most
_UNSAFE = re.compile(r"[^\w.=+,-]+")
_PART = re.compile(r"\{(\w*)\}")


def safe_file_name(name: str) -> str:
    """Return the name of a run for a file name, without separators, brackets or blanks."""
    return _UNSAFE.sub("-", name).strip("-.")[:LONGEST] or "run"


def output_paths(
    node: Node, path_texts: tuple[str, ...], name: str, errors: BatchErrors, *, rows: bool = False
) -> tuple[str, ...]:
    """Return the files a run is saved in, with `{name}` replaced by its name.

    path_texts: the files as written. name: that of the run. rows: a table of rows may be one of
    them.
    """
    paths = []
    for path_text in path_texts:
        for placeholder in _PART.findall(path_text):
            if placeholder != "name":
                hint = "write {name} for the run's name"
                errors.add_problem(node, f"save: '{{{placeholder}}}' is unknown", hint)
        path = path_text.replace("{name}", safe_file_name(name))
        if "\0" in path:
            errors.add_problem(node, f"save: {path_text!r} is not a file name")
            continue
        try:
            if not (path.endswith("/") or (rows and is_file_of_rows(path))):  # a folder of pictures
                format_of_file(path)
        except UsageError as error:
            errors.add_problem(node, f"save: {error.problems[0].message}", error.hint)
            continue
        check_inside_folder(node, "save", path, errors)
        paths.append(path_beside_file(node, path))
    return tuple(paths)


def check_inside_folder(node: Node, key: str, path: str, errors: BatchErrors) -> None:
    """Report a relative path that a link leads out of the folder of the YAML file."""
    if not os.path.isabs(path) and ".." not in Path(path).parts:
        yaml_folder = os.path.realpath(os.path.dirname(node.file.name))
        path_folder = os.path.realpath(os.path.dirname(path_beside_file(node, path)))
        if os.path.commonpath([yaml_folder, path_folder]) != yaml_folder:
            message = f"{key}: a link in '{path}' leads outside the folder of the YAML file"
            errors.add_problem(node, message, "write the real path of the folder")
