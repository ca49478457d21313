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
            for key, one in value.items() if isinstance(value, dict) else enumerate(value):
                yield key, replace(self, value=one, path=(*self.path, key))

    def pairs(self) -> Iterator[tuple[str, Node]]:
        """Yield the entries of a mapping."""
        return ((key, one) for key, one in self.children() if isinstance(key, str))

    def meant(self) -> Iterator[tuple[str, Node]]:
        """Yield the entries of a mapping, except keys for anchors, which begin with `x-`."""
        return ((key, one) for key, one in self.pairs() if not key.startswith("x-"))


@dataclass(slots=True)
class BatchErrors:
    """The errors in the files of a batch, without repetitions."""

    parts: list[UsageError] = field(default_factory=list)
    times: int = 0  # number of errors reported, repetitions included
    told: set[tuple[str | None, str]] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)  # places without further errors

    def add_problem(self, where: Node | str, what: str, hint: str | None = None) -> None:
        """Report an error at a place."""
        place = where if isinstance(where, str) else where.place
        self.take(UsageError.new(what, CODE, place, hint=hint))

    def take(self, error: ClfevalError, where: Node | None = None) -> None:
        """Collect an error; where: the node for problems without a place."""
        self.times += 1
        fresh: list[Problem] = []
        for one in error.problems:
            problem = with_place(one, where.place) if where else one
            line = problem.file, problem.what
            if line not in self.told and problem.file not in self.closed:
                self.told.add(line)
                fresh.append(problem)
        if fresh:
            self.parts.append(UsageError(fresh, hint=error.hint))

    def raise_problems(self) -> None:
        """Raise UsageError with all errors, if there are any."""
        parts = sorted(self.parts, key=_error_position)
        if left := [problem for part in parts[MAX_ERRORS:] for problem in part.problems]:
            parts[MAX_ERRORS:] = [UsageError(left)]
        if parts:
            raise parts[0] if len(parts) == 1 else UsageError.from_errors(parts)


def with_place(problem: Problem, place: str) -> Problem:
    """Return a problem with a place in a YAML file, added if it has none."""
    if _PLACE.fullmatch(problem.file or ""):
        return problem
    named = f"{problem.file}: " if problem.file else ""
    return replace(problem, file=place, what=f"{named}{problem.what}")


def _error_position(error: UsageError) -> tuple[str, int, int]:
    """Return the place of an error's first problem, for sorting."""
    found = _PLACE.fullmatch(error.problems[0].file or "")
    return (found[1], int(found[2]), int(found[3])) if found else ("", 0, 0)


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_MARK = re.compile(r"\$\$|\$\{(?P<name>[^{}$]*)\}|(?P<open>\$\{)")
LONGEST = 4096  # characters of a variable
MOST = 1 << 22  # characters of all texts with variables, after filling in


def variables_from_shell(texts: Sequence[str]) -> dict[str, str]:
    """Return the variables of `--set NAME=VALUE`, the last of repeated ones; UsageError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not NAME.fullmatch(name):
            hint = f"write, for example, {OPTION}--set date=2026-11-22{END}"
            raise UsageError.new(
                f"{OPTION}--set{END} '{text}' is not NAME=VALUE", "bad-option", hint=hint
            )
        if fault := _value_fault(value):
            raise UsageError.new(f"{OPTION}--set{END} {name}: {fault}", "bad-option")
        found[name] = value
    return found


def variables_from_file(variables: Mapping[str, Node], wrong: BatchErrors) -> dict[str, str]:
    """Return the variables of `set:` as text as written."""
    found = {}
    for name, given in variables.items():
        if not NAME.fullmatch(name):
            wrong.add_problem(
                given, f"'{name}' is not a variable name: use letters, digits, _ and -"
            )
        elif isinstance(given.value, (list, dict)) or given.value is None:
            wrong.add_problem(given, f"{name}: a variable must be a text or a number")
        else:
            written = given.written
            found[name] = str(given.value) if written is None else written
            if fault := _value_fault(found[name]):
                wrong.add_problem(given, f"{name}: {fault}")
    return found


def _value_fault(value: str) -> str | None:
    if "${" in value:
        return "a variable cannot contain another variable"
    return f"longer than {LONGEST:,} characters" if len(value) > LONGEST else None


def check_used(given: Iterable[str], known: Collection[str], wrong: BatchErrors) -> None:
    """Report variables of the shell that no file uses."""
    for name in given:
        if name not in known:
            what = f"{OPTION}--set{END} {name}: the files do not use this variable"
            there = f"variables: {list_names(sorted(known))}" if known else f"write ${{{name}}}"
            wrong.take(UsageError.new(what, "bad-option", hint=suggestion(name, known) or there))


@dataclass(slots=True)
class Filler:
    """Fills in variables; left: characters that may still be written; used: names used."""

    variables: Mapping[str, str]
    wrong: BatchErrors
    left: int = MOST
    used: set[str] = field(default_factory=set)

    def fill(self, given: Node) -> Node:
        """Return a node with variables filled in, in all texts but not in keys."""
        value: Any = given.value
        if isinstance(value, str):
            value = self._text(given, value)
        elif isinstance(value, list):
            value = [self.fill(one).value for _, one in given.children()]
        elif isinstance(value, dict):
            value = {key: self.fill(one).value for key, one in given.children()}
        return replace(given, value=value)

    def _text(self, given: Node, text: str) -> str:
        if "$" not in text:
            return text
        parts, end = [], 0
        for found in _MARK.finditer(text):
            parts += [text[end : found.start()], self._filled(given, found)]
            end = found.end()
            self.left -= len(parts[-1]) + len(parts[-2])
            if self.left < 0:
                what = f"the texts with variables exceed {MOST:,} characters"
                raise UsageError.new(what, "configuration", given.place)
        whole = _MARK.fullmatch(text)
        made = "".join([*parts, text[end:]])
        return FilledText(made) if whole and whole["name"] is not None else made

    def _filled(self, given: Node, found: re.Match[str]) -> str:
        name = found["name"]
        if found["open"]:
            hint = "write ${name} for a variable, $${ for the two characters"
            self._refuse(given, "'${' starts a variable without a closing brace", hint)
        elif name is None:
            return "$"
        elif name in self.variables:
            self.used.add(name)
            return self.variables[name]
        else:
            there = f"variables: {list_names(self.variables)}" if self.variables else None
            close = suggestion(name, self.variables) or there
            way = f"add set: {{{name}: ...}}, or {OPTION}--set {name}=...{END}"
            self._refuse(given, f"the variable ${{{name}}} is undefined", close or way)
        return ""

    def _refuse(self, given: Node, what: str, hint: str) -> None:
        """Report a variable that cannot be filled in, and suppress further errors at its place."""
        self.wrong.add_problem(given, what, hint)
        self.wrong.closed.add(given.place)


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
    names: Sequence[str], variables: Mapping[str, str], wrong: BatchErrors
) -> BatchDeclaration:
    """Read the files, fill in variables (arguments override files) and collect all errors."""
    sheet = BatchDeclaration()
    for name in names:
        try:
            file = read_yaml(name, wrong.take)
        except UsageError as error:  # nothing of this file can be read
            wrong.take(error)
        else:
            sheet.files.append(file)
            _merge_file(Node(file.value, file, ()), sheet, wrong)
    filler = Filler({**variables_from_file(sheet.variables, wrong), **variables}, wrong)
    for group in (sheet.defaults, *sheet.runs.values()):
        group.update({key: filler.fill(one) for key, one in group.items()})
    sheet.history = filler.fill(sheet.history) if sheet.history else None
    if len(sheet.files) == len(names):  # else keys of unreadable files are unknown
        check_used(variables, {*sheet.variables} | filler.used, wrong)
        if sheet.files and not sheet.runs and not wrong.parts:
            wrong.add_problem(sheet.files[-1].place("runs"), "no runs", "add runs: {NAME: {...}}")
    return sheet


def _merge_file(top: Node, sheet: BatchDeclaration, wrong: BatchErrors) -> None:
    """Merge a file into those before it."""
    if not _is_mapping(top, "the file", wrong):
        return
    given = dict(top.meant())
    for key, one in given.items():
        if key not in TOP:
            hint = suggestion(key, TOP) or f"keys of a batch: {', '.join(TOP)}, and x-..."
            wrong.add_problem(one, f"unknown key '{key}'", hint)
    version = given.get("version")
    if version is None:
        wrong.add_problem(top, "the key 'version' is missing", f"begin with version: {VERSION}")
    elif version.value is True or version.value != VERSION:
        newer = isinstance(version.value, int) and version.value > VERSION
        why = "is newer than this program" if newer else "is not a version"
        what = f"version: {version.value!r:.20} {why}"
        wrong.add_problem(version, what, f"this program reads version: {VERSION}")
    for key, into in (("set", sheet.variables), ("defaults", sheet.defaults)):
        if key in given and _is_mapping(given[key], key, wrong):
            into.update(given[key].pairs() if key == "set" else _entries_by_name(given[key], wrong))
    sheet.history = given.get("history", sheet.history)
    if "runs" in given and _is_mapping(given["runs"], "runs", wrong):
        for name, run in given["runs"].pairs():
            if not name.strip() or not name.isprintable() or {*"[]"} & {*name}:
                hint = "write text without brackets: they mark the runs of a matrix"
                wrong.add_problem(run, f"'{name}' is not a valid name of a run", hint)
            elif "${" in name:
                wrong.add_problem(run, f"'{name}': variables work in values, not in names")
            if _is_mapping(run, f"run '{name}'", wrong):
                sheet.runs.setdefault(name, {}).update(_entries_by_name(run, wrong))


def _is_mapping(given: Node, what: str, wrong: BatchErrors) -> bool:
    if not isinstance(given.value, dict):
        hint = "write lines of KEY: VALUE"
        if isinstance(given.value, list) and what == "runs":
            hint = "write 'NAME:' in place of '- name: NAME', and the keys of the run below it"
        wrong.add_problem(given, f"{what} must map keys to values", hint)
    return isinstance(given.value, dict)


def _entries_by_name(mapping: Node, wrong: BatchErrors) -> dict[str, Node]:
    """Return the entries of a mapping by Python name, with `-` replaced by `_`."""
    found: dict[str, Node] = {}
    for key, one in mapping.meant():
        name = key.replace("-", "_")
        if name in found:
            first = found[name]
            what = f"key '{key}' is given twice, first as '{first.path[-1]}' at {first.place}"
            wrong.add_problem(one, what, "keep one of the two")
        found[name] = one
    return found


def path_beside_file(given: Node, text: str) -> str:
    """Return a path relative to the folder of its YAML file."""
    return os.path.join(os.path.dirname(given.file.name), text)


def input_files(sheet: BatchDeclaration, runs: int) -> tuple[InputFile, ...]:
    """Return the records of the YAML files for a result, with runs as rows."""
    return tuple(
        InputFile(
            Path(file.name).name.encode(errors="replace").decode(),
            sha256(Path(file.name).read_bytes()).hexdigest(),
            runs if number == 0 else 0,
        )
        for number, file in enumerate(sheet.files)
    )
