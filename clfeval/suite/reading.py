"""Reading of batch files, merged in order: a later value of a run's key replaces an earlier one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from clfeval.document import InputFile
from clfeval.errors import UsageError, suggestion
from clfeval.suite.entries import BatchErrors, Filler, Node, check_used, variables_from_file
from clfeval.tables.yaml import YamlFile, read_yaml

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
            wrong.say(sheet.files[-1].place("runs"), "no runs", "add runs: {NAME: {...}}")
    return sheet


def _merge_file(top: Node, sheet: BatchDeclaration, wrong: BatchErrors) -> None:
    """Merge a file into those before it."""
    if not _is_mapping(top, "the file", wrong):
        return
    given = dict(top.meant())
    for key, one in given.items():
        if key not in TOP:
            hint = suggestion(key, TOP) or f"keys of a batch: {', '.join(TOP)}, and x-..."
            wrong.say(one, f"unknown key '{key}'", hint)
    version = given.get("version")
    if version is None:
        wrong.say(top, "the key 'version' is missing", f"begin with version: {VERSION}")
    elif version.value is True or version.value != VERSION:
        newer = isinstance(version.value, int) and version.value > VERSION
        why = "is newer than this program" if newer else "is not a version"
        what = f"version: {version.value!r:.20} {why}"
        wrong.say(version, what, f"this program reads version: {VERSION}")
    for key, into in (("set", sheet.variables), ("defaults", sheet.defaults)):
        if key in given and _is_mapping(given[key], key, wrong):
            into.update(given[key].pairs() if key == "set" else _entries_by_name(given[key], wrong))
    sheet.history = given.get("history", sheet.history)
    if "runs" in given and _is_mapping(given["runs"], "runs", wrong):
        for name, run in given["runs"].pairs():
            if not name.strip() or not name.isprintable() or {*"[]"} & {*name}:
                hint = "write text without brackets: they mark the runs of a matrix"
                wrong.say(run, f"'{name}' is not a valid name of a run", hint)
            elif "${" in name:
                wrong.say(run, f"'{name}': variables work in values, not in names")
            if _is_mapping(run, f"run '{name}'", wrong):
                sheet.runs.setdefault(name, {}).update(_entries_by_name(run, wrong))


def _is_mapping(given: Node, what: str, wrong: BatchErrors) -> bool:
    if not isinstance(given.value, dict):
        hint = "write lines of KEY: VALUE"
        if isinstance(given.value, list) and what == "runs":
            hint = "write 'NAME:' in place of '- name: NAME', and the keys of the run below it"
        wrong.say(given, f"{what} must map keys to values", hint)
    return isinstance(given.value, dict)


def _entries_by_name(mapping: Node, wrong: BatchErrors) -> dict[str, Node]:
    """Return the entries of a mapping by Python name, with `-` replaced by `_`."""
    found: dict[str, Node] = {}
    for key, one in mapping.meant():
        name = key.replace("-", "_")
        if name in found:
            first = found[name]
            what = f"key '{key}' is given twice, first as '{first.path[-1]}' at {first.place}"
            wrong.say(one, what, "keep one of the two")
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
