"""Reading of batch files: YAML, includes, and the entries of a mapping with their places."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from clfeval.document import InputFile
from clfeval.errors import ClfevalError, Problem, UsageError, list_names, suggestion
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass, field, replace
from clfeval.tables.yaml import CODE, Value, YamlFile, read_yaml

_PLACE = re.compile(r"(.*):(\d+):(\d+)", re.DOTALL)
MAX_ERRORS = 20  # errors listed one by one with their hints, at most

Keypath: TypeAlias = "tuple[str | int, ...]"


class FilledText(str):
    """A text that is a single `${name}`, filled in: it becomes a number if one is needed."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a YAML file, with its file and path of keys."""

    value: Value
    file: YamlFile
    path: Keypath

    @property
    def place(self) -> str:
        """Place of its key: `file:line:column`."""
        return self.file.place(*self.path)

    @property
    def written(self) -> str | None:
        """Its text in the file, if it is an unquoted scalar."""
        return self.file.written(*self.path)

    def children(self) -> Iterator[tuple[str | int, Node]]:
        """Yield the entries of a mapping or list; none for other values."""
        value: Any = self.value
        if isinstance(value, (dict, list)):
            for key, child in value.items() if isinstance(value, dict) else enumerate(value):
                yield key, replace(self, value=child, path=(*self.path, key))

    def pairs(self) -> Iterator[tuple[str, Node]]:
        """Yield the entries of a mapping."""
        return ((key, child) for key, child in self.children() if isinstance(key, str))

    def pairs_without_anchors(self) -> Iterator[tuple[str, Node]]:
        """Yield the entries of a mapping, except keys for anchors, which begin with `x-`."""
        return ((key, child) for key, child in self.pairs() if not key.startswith("x-"))


@dataclass(slots=True)
class BatchErrors:
    """The errors in the files of a batch, without repetitions."""

    parts: list[UsageError] = field(default_factory=list)
    times: int = 0  # number of errors reported, repetitions included
    reported: set[tuple[str | None, str]] = field(default_factory=set)  # by place and message
    closed: set[str] = field(default_factory=set)  # places without further errors

    def add_problem(self, place: Node | str, message: str, hint: str | None = None) -> None:
        """Report an error at a place, or at the place of a node."""
        place_text = place if isinstance(place, str) else place.place
        self.take(UsageError.new(message, CODE, place_text, hint=hint))

    def take(self, error: ClfevalError, node: Node | None = None) -> None:
        """Collect an error; node: the place of problems without one."""
        self.times += 1
        problems = error.problems
        if node is not None:
            problems = tuple(with_place(problem, node.place) for problem in problems)
        new_problems: list[Problem] = []
        for problem in problems:
            place_and_message = problem.file, problem.message
            if place_and_message not in self.reported and problem.file not in self.closed:
                self.reported.add(place_and_message)
                new_problems.append(problem)
        if new_problems:
            self.parts.append(UsageError(new_problems, hint=error.hint))

    def raise_problems(self) -> None:
        """Raise UsageError with all errors, if there are any."""
        parts = sorted(self.parts, key=_error_position)
        further_problems = [problem for part in parts[MAX_ERRORS:] for problem in part.problems]
        if further_problems:
            parts[MAX_ERRORS:] = [UsageError(further_problems)]
        if parts:
            raise parts[0] if len(parts) == 1 else UsageError.from_errors(parts)


def with_place(problem: Problem, place: str) -> Problem:
    """Return a problem with a place in a YAML file, added if it has none."""
    if _PLACE.fullmatch(problem.file or ""):
        return problem
    prefix = f"{problem.file}: " if problem.file else ""
    return replace(problem, file=place, message=f"{prefix}{problem.message}")


def _error_position(error: UsageError) -> tuple[str, int, int]:
    """Return the place of an error's first problem, for sorting."""
    match = _PLACE.fullmatch(error.problems[0].file or "")
    return (match[1], int(match[2]), int(match[3])) if match else ("", 0, 0)


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_MARK = re.compile(r"\$\$|\$\{(?P<name>[^{}$]*)\}|(?P<open>\$\{)")
LONGEST = 4096  # characters of a variable
MOST = 1 << 22  # characters of all texts with variables, after filling in


def variables_from_shell(texts: Sequence[str]) -> dict[str, str]:
    """Return the variables of `--set NAME=VALUE`, the last of repeated ones; UsageError."""
    variables = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not NAME.fullmatch(name):
            hint = f"write, for example, {OPTION}--set date=2026-11-22{END}"
            raise UsageError.new(
                f"{OPTION}--set{END} '{text}' is not NAME=VALUE", "bad-option", hint=hint
            )
        value_fault = _value_fault(value)
        if value_fault:
            raise UsageError.new(f"{OPTION}--set{END} {name}: {value_fault}", "bad-option")
        variables[name] = value
    return variables


def variables_from_file(nodes: Mapping[str, Node], errors: BatchErrors) -> dict[str, str]:
    """Return the variables of `set:` as text as written."""
    variables = {}
    for name, node in nodes.items():
        if not NAME.fullmatch(name):
            errors.add_problem(
                node, f"'{name}' is not a variable name: use letters, digits, _ and -"
            )
        elif isinstance(node.value, (list, dict)) or node.value is None:
            errors.add_problem(node, f"{name}: a variable must be a text or a number")
        else:
            written_text = node.written
            variables[name] = str(node.value) if written_text is None else written_text
            value_fault = _value_fault(variables[name])
            if value_fault:
                errors.add_problem(node, f"{name}: {value_fault}")
    return variables


def _value_fault(value: str) -> str | None:
    if "${" in value:
        return "a variable cannot contain another variable"
    return f"longer than {LONGEST:,} characters" if len(value) > LONGEST else None


def check_used(
    shell_variables: Iterable[str], file_variables: Collection[str], errors: BatchErrors
) -> None:
    """Report variables of the shell that no file uses; file_variables: set or used in files."""
    for name in shell_variables:
        if name not in file_variables:
            message = f"{OPTION}--set{END} {name}: the files do not use this variable"
            hint = f"write ${{{name}}}"
            if file_variables:
                names = list_names(sorted(file_variables))
                hint = suggestion(name, file_variables) or f"variables: {names}"
            errors.take(UsageError.new(message, "bad-option", hint=hint))


@dataclass(slots=True)
class Filler:
    """Fills in variables; room: characters that may still be written; used: names used."""

    variables: Mapping[str, str]
    errors: BatchErrors
    room: int = MOST
    used: set[str] = field(default_factory=set)

    def fill(self, node: Node) -> Node:
        """Return a node with variables filled in, in all texts but not in keys."""
        value: Any = node.value
        if isinstance(value, str):
            value = self._fill_text(node, value)
        elif isinstance(value, list):
            value = [self.fill(child).value for _, child in node.children()]
        elif isinstance(value, dict):
            value = {key: self.fill(child).value for key, child in node.children()}
        return replace(node, value=value)

    def _fill_text(self, node: Node, text: str) -> str:
        """Return a text with its variables filled in; node: where it stands."""
        if "$" not in text:
            return text
        text_pieces: list[str] = []
        match_end = 0
        for match in _MARK.finditer(text):
            text_pieces += [text[match_end : match.start()], self._filled_mark(node, match)]
            match_end = match.end()
            self.room -= len(text_pieces[-1]) + len(text_pieces[-2])
            if self.room < 0:
                message = f"the texts with variables exceed {MOST:,} characters"
                raise UsageError.new(message, "configuration", node.place)
        full_match = _MARK.fullmatch(text)
        filled_text = "".join([*text_pieces, text[match_end:]])
        is_single_variable = full_match and full_match["name"] is not None
        return FilledText(filled_text) if is_single_variable else filled_text

    def _filled_mark(self, node: Node, match: re.Match[str]) -> str:
        """Return the value of one `${name}`, or `$` for `$$`; report others."""
        name = match["name"]
        if match["open"]:
            hint = "write ${name} for a variable, $${ for the two characters"
            self._refuse(node, "'${' starts a variable without a closing brace", hint)
        elif name is None:
            return "$"
        elif name in self.variables:
            self.used.add(name)
            return self.variables[name]
        else:
            hint = f"add set: {{{name}: ...}}, or {OPTION}--set {name}=...{END}"
            if self.variables:
                hint = (
                    suggestion(name, self.variables) or f"variables: {list_names(self.variables)}"
                )
            self._refuse(node, f"the variable ${{{name}}} is undefined", hint)
        return ""

    def _refuse(self, node: Node, message: str, hint: str) -> None:
        """Report a variable that cannot be filled in, and suppress further errors at its place."""
        self.errors.add_problem(node, message, hint)
        self.errors.closed.add(node.place)


VERSION = 1
TOP = ("version", "set", "defaults", "runs", "history")


@dataclass(slots=True)
class BatchDeclaration:
    """The merged content of the files: defaults, and nodes of each run; keys as in Python."""

    variables: dict[str, Node] = field(default_factory=dict)
    defaults: dict[str, Node] = field(default_factory=dict)
    runs: dict[str, dict[str, Node]] = field(default_factory=dict)
    files: list[YamlFile] = field(default_factory=list)
    history: Node | None = None


def read_declaration(
    file_names: Sequence[str], variables: Mapping[str, str], errors: BatchErrors
) -> BatchDeclaration:
    """Read the files, fill in variables (arguments override files) and collect all errors."""
    declaration = BatchDeclaration()
    for file_name in file_names:
        try:
            file = read_yaml(file_name, errors.take)
        except UsageError as error:  # nothing of this file can be read
            errors.take(error)
        else:
            declaration.files.append(file)
            _merge_file(Node(file.value, file, ()), declaration, errors)
    filler = Filler({**variables_from_file(declaration.variables, errors), **variables}, errors)
    for nodes_by_key in (declaration.defaults, *declaration.runs.values()):
        nodes_by_key.update({key: filler.fill(node) for key, node in nodes_by_key.items()})
    declaration.history = filler.fill(declaration.history) if declaration.history else None
    if len(declaration.files) == len(file_names):  # else keys of unreadable files are unknown
        check_used(variables, {*declaration.variables} | filler.used, errors)
        if declaration.files and not declaration.runs and not errors.parts:
            errors.add_problem(
                declaration.files[-1].place("runs"), "no runs", "add runs: {NAME: {...}}"
            )
    return declaration


def _merge_file(file_node: Node, declaration: BatchDeclaration, errors: BatchErrors) -> None:
    """Merge a file into those before it."""
    if not _is_mapping(file_node, "the file", errors):
        return
    nodes_by_key = dict(file_node.pairs_without_anchors())
    for key, node in nodes_by_key.items():
        if key not in TOP:
            hint = suggestion(key, TOP) or f"keys of a batch: {', '.join(TOP)}, and x-..."
            errors.add_problem(node, f"unknown key '{key}'", hint)
    version = nodes_by_key.get("version")
    if version is None:
        errors.add_problem(
            file_node, "the key 'version' is missing", f"begin with version: {VERSION}"
        )
    elif version.value is True or version.value != VERSION:
        is_newer = isinstance(version.value, int) and version.value > VERSION
        reason = "is newer than this program" if is_newer else "is not a version"
        message = f"version: {version.value!r:.20} {reason}"
        errors.add_problem(version, message, f"this program reads version: {VERSION}")
    if "set" in nodes_by_key and _is_mapping(nodes_by_key["set"], "set", errors):
        declaration.variables.update(nodes_by_key["set"].pairs())
    if "defaults" in nodes_by_key and _is_mapping(nodes_by_key["defaults"], "defaults", errors):
        declaration.defaults.update(_nodes_by_name(nodes_by_key["defaults"], errors))
    declaration.history = nodes_by_key.get("history", declaration.history)
    if "runs" in nodes_by_key and _is_mapping(nodes_by_key["runs"], "runs", errors):
        _merge_runs(nodes_by_key["runs"], declaration, errors)


def _merge_runs(runs_node: Node, declaration: BatchDeclaration, errors: BatchErrors) -> None:
    """Merge the runs of a file into those of the files before it."""
    for name, run_node in runs_node.pairs():
        if not name.strip() or not name.isprintable() or {*"[]"} & {*name}:
            hint = "write text without brackets: they mark the runs of a matrix"
            errors.add_problem(run_node, f"'{name}' is not a valid name of a run", hint)
        elif "${" in name:
            errors.add_problem(run_node, f"'{name}': variables work in values, not in names")
        if _is_mapping(run_node, f"run '{name}'", errors):
            declaration.runs.setdefault(name, {}).update(_nodes_by_name(run_node, errors))


def _is_mapping(node: Node, subject: str, errors: BatchErrors) -> bool:
    if not isinstance(node.value, dict):
        hint = "write lines of KEY: VALUE"
        if isinstance(node.value, list) and subject == "runs":
            hint = "write 'NAME:' in place of '- name: NAME', and the keys of the run below it"
        errors.add_problem(node, f"{subject} must map keys to values", hint)
    return isinstance(node.value, dict)


def _nodes_by_name(mapping: Node, errors: BatchErrors) -> dict[str, Node]:
    """Return the entries of a mapping by Python name, with `-` replaced by `_`."""
    nodes: dict[str, Node] = {}
    for key, node in mapping.pairs_without_anchors():
        name = key.replace("-", "_")
        if name in nodes:
            first_node = nodes[name]
            first_key = first_node.path[-1]
            message = f"key '{key}' is given twice, first as '{first_key}' at {first_node.place}"
            errors.add_problem(node, message, "keep one of the two")
        nodes[name] = node
    return nodes


def path_beside_file(node: Node, path_text: str) -> str:
    """Return a path relative to the folder of its YAML file."""
    return os.path.join(os.path.dirname(node.file.name), path_text)


def input_files(declaration: BatchDeclaration, run_count: int) -> tuple[InputFile, ...]:
    """Return the records of the YAML files for a result; the first has the runs as rows."""
    return tuple(
        InputFile(
            Path(file.name).name.encode(errors="replace").decode(),
            sha256(Path(file.name).read_bytes()).hexdigest(),
            run_count if file_index == 0 else 0,
        )
        for file_index, file in enumerate(declaration.files)
    )
