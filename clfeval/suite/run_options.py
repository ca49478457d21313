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


def resolve_path(node: Node, text: str) -> str:
    """Return the path of a file or pattern, relative to the folder of its YAML file."""
    path = path_beside_file(node, text)
    if has_magic(text) and not os.path.exists(path):
        return os.path.join(escape(os.path.dirname(node.file.name)), text)
    return path


def read_options(keys: RunKeys, nodes: Mapping[str, Node], errors: BatchErrors) -> dict[str, Any]:
    """Return the valid options of a run, by name; report errors of values, then of combinations."""
    values: dict[str, Any] = {}
    for name, node in nodes.items():
        option = keys.option(name)
        value = _read_value(option, node, errors)
        if value is not None:
            values[option.name] = value[0]
    try:
        keys.command.build_groups(values)
        _ = build_group(Gates, values).limits
        build_group(keys.output, values)
    except ClfevalError as error:
        if len(values) == len(nodes):
            fill_for_yaml(error, keys, nodes)
            errors.take(error, next(iter(nodes.values()), None))
        return {}
    return values


def fill_for_yaml(error: ClfevalError, keys: RunKeys, nodes: Mapping[str, Node]) -> None:
    """Reword an error for a batch, with the place of its option."""
    places = {keys.option_name(name): node.place for name, node in nodes.items()}
    commands = (run_keys(name, keys.output) for name in COMMANDS)
    options_of_commands = (option for command in commands for option in command.options)
    fill_error(error, [*options_of_commands, *keys.options], yaml_dialect(places.get))


def _read_value(option: Option, node: Node, errors: BatchErrors) -> tuple[Any] | None:
    """Return the value of an option as a tuple of one; None, with an error reported, if invalid."""
    if errors.closed & {node.place, *(child.place for _, child in node.children())}:
        return None  # the value of a variable is unknown
    errors_before = errors.times
    _check_mappings(option, node, errors)
    value = _value_of_type(option, node, errors)
    if option.kinds == (bool,) and not isinstance(value, (bool, NoneType)):
        message = f"{option.key} must be true or false, not {node.written or repr(value):.60}"
        errors.add_problem(node, message, _quotes_hint(option, node))
    if value is None and option.holds == "several" and option in options_of(Gates):
        message = f"{option.key} has no limit"
        errors.add_problem(node, message, "add a limit, remove the key, or write []")
    if errors.times > errors_before:
        return None
    if isinstance(value, str) and names_a_file(option) and ("\0" in value or not value.strip()):
        errors.add_problem(node, f"{option.key}: {value!r:.60} is not a path")
        return None
    value = _resolve_paths(option, node, value)
    try:
        _check(option, value)
    except ClfevalError as error:
        refused = _refused_entry(option, node, value) or node
        fill_error(error, [option], yaml_dialect(lambda _: refused.place))
        error.hint = error.hint or _quotes_hint(option, refused)
        errors.take(error, refused)
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
    return value if pair is None else f"{pair[0]}:{resolve_path(node, pair[1])}"


def _quotes_hint(option: Option, node: Node) -> str | None:
    """Return the hint to remove quotes, if the unquoted value would be valid."""
    plain = plain_scalar_value(node.value) if isinstance(node.value, str) else None
    if isinstance(plain, (str, NoneType)):
        return None
    try:
        _check(option, plain)
    except ClfevalError:
        return None
    key = node.path[-1]
    return f"remove the quotes: {f'{key}: ' if isinstance(key, str) else ''}{node.value}"


def _check(option: Option, value: object) -> None:
    """Raise ClfevalError for a value that is not valid for an option or gate."""
    converted = convert_value(option, value)
    if option in options_of(Gates):
        _ = Gates(**{option.field: converted}).limits


def _refused_entry(option: Option, node: Node, value: Any) -> Node | None:
    """Return the only invalid entry of a mapping or list; None for none or several."""
    children = dict(node.children())
    refused = []
    for key, child in children.items():
        single = {key: value[key]} if isinstance(value, dict) else [value[key]]
        try:
            _check(option, single)
        except UsageError:
            refused.append(child)
    return refused[0] if len(refused) == 1 and len(children) > 1 else None


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
        written = node.written or str(value)
        text = as_text(value) if accepts_type(option, object) else None
        if text != written:
            kind = "true or false" if isinstance(value, bool) else f"the number {value}"
            message = f"{option.key}: YAML reads {written} as {kind}"
            errors.add_problem(node, message, f"put a text in quotes: {option.key}: '{written}'")
    return value


_OF_SHELL = re.compile(r"\$([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class RunLink:
    """A link to a table of another run's result, by default its first."""

    run: str
    table: str | None
    node: Node


def run_tables(
    nodes: Mapping[str, Node], keys: RunKeys, group: str, place: str, errors: BatchErrors
) -> Iterator[tuple[str, tuple[str, ...] | RunLink | None]]:
    """Yield the tables of a run with their labels, one for each file of `inputs`."""
    if "inputs" in nodes:
        if "input" in nodes:
            hint = "keep input for one table, or inputs for one run per file"
            errors.add_problem(nodes["inputs"], "input and inputs are both given", hint)
        paths: list[str] = []
        for path in _paths(nodes["inputs"], errors):
            plain = os.path.exists(path) or os.path.dirname(path).startswith("/**")
            # a pattern that matches nothing, or could search the whole disk, stays as it is
            paths += ([] if plain else sorted(glob(path, recursive=True))) or [path]
        yield from zip(_stems(paths), ((path,) for path in paths), strict=True)
    elif "input" in nodes:
        node = nodes["input"]
        linked = isinstance(node.value, dict)
        yield "", _link(node, errors) if linked else tuple(_paths(node, errors))
    elif not keys.command.optional:
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
    text = node.value
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        message = f"{key}: {text!r:.60} is not a path"
        errors.add_problem(node, message, "give a path, a pattern, or a list of paths")
        return None
    if text == "-":
        errors.add_problem(node, f"{key}: a batch cannot read standard input", "name a file")
        return None
    label, equals, file = text.partition("=")
    path = resolve_path(node, text)
    if equals and not os.path.exists(path) and not os.path.dirname(label):
        path = f"{label}={resolve_path(node, file)}"
    shell = _OF_SHELL.search(text)
    if shell and not os.path.exists(path):
        variable = shell[1].lower()
        hint = f"write ${{{variable}}}, and run with {OPTION}--set {variable}=${shell[1]}{END}"
        message = f"{key}: environment variables, such as ${shell[1]}, are not read"
        errors.add_problem(node, message, hint)
        return None
    return path


def _stems(paths: Sequence[str]) -> list[str]:
    """Return distinct labels of files: their stems, else paths without suffix, else paths.

    Paths are relative to their common folder, or as given where some are absolute.
    """
    stems = [Path(path).name.split(".")[0] or Path(path).name or path for path in paths]
    absolute = {os.path.isabs(path) for path in paths}
    folder = os.path.commonpath(paths) if len(paths) > 1 and len(absolute) == 1 else ""
    relative = [os.path.relpath(path, folder) if folder else path for path in paths]
    for labels in (stems, list(map(_without_suffix, relative))):
        if len({*labels}) == len(labels):
            return [label.translate({ord("["): "(", ord("]"): ")"}) for label in labels]
    return relative


def _without_suffix(path: str) -> str:
    """Return a path without the suffix of its last part, if it has one: `/` and `.` have none."""
    return str(Path(path).with_suffix("")) if Path(path).name else path


def _link(node: Node, errors: BatchErrors) -> RunLink | None:
    children = dict(node.pairs())
    for key, child in children.items():
        if key not in ("run", "table"):
            hint = suggestion(key, ("run", "table")) or "write input: {run: NAME, table: NAME}"
            errors.add_problem(child, f"input: unknown key '{key}'", hint)
        elif not isinstance(child.value, str):
            errors.add_problem(child, f"input: {key} must be a name, not {child.value!r:.60}")
    if "run" not in children:
        errors.add_problem(
            node, "input: the key 'run' is missing", "write input: {run: NAME, table: NAME}"
        )
        return None
    table = children.get("table")
    return RunLink(str(children["run"].value), None if table is None else str(table.value), node)


LONGEST = 120  # characters of a run's name in a file name, at most
_UNSAFE = re.compile(r"[^\w.=+,-]+")
_PART = re.compile(r"\{(\w*)\}")


def safe_file_name(name: str) -> str:
    """Return the name of a run for a file name, without separators, brackets or blanks."""
    return _UNSAFE.sub("-", name).strip("-.")[:LONGEST] or "run"


def output_paths(
    node: Node, texts: tuple[str, ...], name: str, errors: BatchErrors, *, rows: bool = False
) -> tuple[str, ...]:
    """Return the files a run is saved in, with `{name}` replaced by its name.

    rows: a table of rows may be one of them.
    """
    paths = []
    for text in texts:
        for part in _PART.findall(text):
            if part != "name":
                hint = "write {name} for the run's name"
                errors.add_problem(node, f"save: '{{{part}}}' is unknown", hint)
        path = text.replace("{name}", safe_file_name(name))
        if "\0" in path:
            errors.add_problem(node, f"save: {text!r} is not a file name")
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
        home = os.path.realpath(os.path.dirname(node.file.name))
        folder = os.path.realpath(os.path.dirname(path_beside_file(node, path)))
        if os.path.commonpath([home, folder]) != home:
            message = f"{key}: a link in '{path}' leads outside the folder of the YAML file"
            errors.add_problem(node, message, "write the real path of the folder")
