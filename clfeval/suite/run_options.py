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
            fill_for_yaml(error, keys, given)
            wrong.take(error, next(iter(given.values()), None))
        return {}
    return found


def fill_for_yaml(error: ClfevalError, keys: RunKeys, given: Mapping[str, Node]) -> None:
    """Reword an error for a batch, with the place of its option."""
    places = {keys.option_name(name): one.place for name, one in given.items()}
    others = (one for name in COMMANDS for one in run_keys(name, keys.output).options)
    fill_error(error, [*others, *keys.options], yaml_dialect(places.get))


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
    elif option.field == "model":
        value = _resolve_calibrators(given, value)
    try:
        _check(option, value)
    except ClfevalError as error:
        where = _refused_entry(option, given, value) or given
        fill_error(error, [option], yaml_dialect(lambda _: where.place))
        error.hint = error.hint or _quotes_hint(option, where)
        wrong.take(error, where)
        return None
    return (value,)


def _resolve_calibrators(node: Node, value: object) -> object:
    """Return models with the files of calibrators relative to the folder of their YAML file."""
    if isinstance(value, list):
        return [_resolve_calibrators(node, text) for text in value]
    pair = split_calibrator(value) if isinstance(value, str) else None
    return value if pair is None else f"{pair[0]}:{resolve_path(node, pair[1])}"


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


def _check(option: Option, value: object) -> None:
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
    is_number = isinstance(value, (bool, int, float)) and option.type is not Any
    if is_number and not accepts_type(option, int, float, bool, Any):
        written = given.written or str(value)
        text = as_text(value) if accepts_type(option, object) else None
        if text != written:
            kind = "true or false" if isinstance(value, bool) else f"the number {value}"
            what = f"{option.key}: YAML reads {written} as {kind}"
            wrong.add_problem(given, what, f"put a text in quotes: {option.key}: '{written}'")
    return value


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
                hint = f"write ${{{low}}}, and run with {OPTION}--set {low}=${shell[1]}{END}"
                what = f"{given.path[-1]}: environment variables, such as ${shell[1]}, are not read"
                wrong.add_problem(one, what, hint)
            else:
                found.append(whole)
    if not several:
        wrong.add_problem(given, f"{given.path[-1]}: the list of tables is empty")
    return found


def _stems(paths: Sequence[str]) -> list[str]:
    """Return distinct labels of files: their stems, else paths without suffix, else paths.

    Paths are relative to their common folder, or as given where some are absolute.
    """
    stems = [Path(path).name.split(".")[0] or Path(path).name for path in paths]
    absolute = {os.path.isabs(path) for path in paths}
    folder = os.path.commonpath(paths) if len(paths) > 1 and len(absolute) == 1 else ""
    relative = [os.path.relpath(path, folder) if folder else path for path in paths]
    for labels in (stems, [str(Path(path).with_suffix("")) for path in relative]):
        if len({*labels}) == len(labels):
            return [label.translate({ord("["): "(", ord("]"): ")"}) for label in labels]
    return relative


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


LONGEST = 120  # characters of a run's name in a file name, at most
_UNSAFE = re.compile(r"[^\w.=+,-]+")
_PART = re.compile(r"\{(\w*)\}")


def safe_file_name(name: str) -> str:
    """Return the name of a run for a file name, without separators, brackets or blanks."""
    return _UNSAFE.sub("-", name).strip("-.")[:LONGEST] or "run"


def output_paths(
    given: Node, texts: tuple[str, ...], name: str, wrong: BatchErrors, *, rows: bool = False
) -> tuple[str, ...]:
    """Return the files a run is saved in, with `{name}` replaced by its name.

    rows: a table of rows may be one of them.
    """
    found = []
    for text in texts:
        for part in _PART.findall(text):
            if part != "name":
                hint = "write {name} for the run's name"
                wrong.add_problem(given, f"save: '{{{part}}}' is unknown", hint)
        path = text.replace("{name}", safe_file_name(name))
        if "\0" in path:
            wrong.add_problem(given, f"save: {text!r} is not a file name")
            continue
        try:
            if not (path.endswith("/") or (rows and is_file_of_rows(path))):  # a folder of pictures
                format_of_file(path)
        except UsageError as error:
            wrong.add_problem(given, f"save: {error.problems[0].what}", error.hint)
            continue
        check_inside_folder(given, "save", path, wrong)
        found.append(path_beside_file(given, path))
    return tuple(found)


def check_inside_folder(given: Node, key: str, path: str, wrong: BatchErrors) -> None:
    """Report a relative path that a link leads out of the folder of the YAML file."""
    if not os.path.isabs(path) and ".." not in Path(path).parts:
        home = os.path.realpath(os.path.dirname(given.file.name))
        folder = os.path.realpath(os.path.dirname(path_beside_file(given, path)))
        if os.path.commonpath([home, folder]) != home:
            what = f"{key}: a link in '{path}' leads outside the folder of the YAML file"
            wrong.add_problem(given, what, "write the real path of the folder")
