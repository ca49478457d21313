"""The history a batch adds its runs to, each under its name, when all is well enough to compute."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from clfeval.errors import ClfevalError, bad_option, suggestion
from clfeval.history.file import check_target
from clfeval.suite.entries import BatchErrors, Node
from clfeval.suite.reading import path_beside_file
from clfeval.suite.saving import check_inside_folder

KEYS = ("file", "label", "accept")


@dataclass(frozen=True, slots=True)
class HistoryTarget:
    """A history, the label of what is added, and whether that is what others are held to."""

    file: str
    label: str
    accept: bool


def can_make_folder(path: str) -> bool:
    """Tell whether the folder of a file is missing, and can be made where others are."""
    folder = missing = os.path.dirname(os.path.abspath(path))
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return folder != missing and os.path.isdir(folder) and os.access(folder, os.W_OK)


def read_history_target(
    given: Node | None, label: str | None, wrong: BatchErrors, *, accept: bool
) -> HistoryTarget | None:
    """Return the history of `history: FILE` or `{file:, label:, accept:}`; arguments override."""
    if given is None:
        for flag, asked in (("--label", label is not None), ("--accept", accept)):
            if asked:
                hint = "add history: FILE at the top level of the YAML file"
                wrong.take(bad_option(f"{flag} needs a history, and the batch has none", hint))
        return None
    parts: Mapping[str, Node] = {"file": given}
    if isinstance(given.value, dict):
        parts = dict(given.pairs())
        for key, one in parts.items():
            if key not in KEYS:
                hint = suggestion(key, KEYS) or f"keys: {', '.join(KEYS)}"
                wrong.say(one, f"history: unknown key '{key}'", hint)
    file, said, accepts = (parts.get(key) for key in KEYS)
    name = file.value if file else None
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        wrong.say(file or given, "history must name a file", "write history: history.jsonl")
        return None
    if accepts is not None and not isinstance(accepts.value, bool):
        wrong.say(accepts, "history: accept must be true or false")
    if said is not None and not isinstance(said.value, str):
        wrong.say(said, "history: the label must be text", f"label: '{said.written or said.value}'")
        return None
    label = label or (str(said.value) if said is not None else None)
    if not label or not label.strip():
        hint = "add --label 2026-W47, or history: {file: FILE, label: TEXT}"
        wrong.say(given, "history: the label is missing", hint)
        return None
    check_inside_folder(file or given, "history", name, wrong)
    path = path_beside_file(file or given, name)
    try:
        if not can_make_folder(path):
            check_target(path, ())
    except ClfevalError as error:
        wrong.take(error, file or given)
    return HistoryTarget(path, label, accept or bool(accepts and accepts.value))
