"""A command line run up to its result, which is neither printed nor saved, but with --full."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest import mock

from clfeval.api.texts import fill_result
from clfeval.cli.run import CommandRequest
from clfeval.document import Document, plain_row
from clfeval.placeholders import fill_for_shell
from tests.process.program import clfeval
from tests.process.runner import Done
from tests.thoroughness import full

PlainRows = list[dict[str, Any]]


class PlainTables(Mapping[str, PlainRows]):
    """The tables of a result as its JSON has them; each is computed when it is looked at."""

    def __init__(self, document: Document) -> None:
        self._tables = document.tables

    def __getitem__(self, name: str) -> PlainRows:
        return [plain_row(row) for row in self._tables[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def computed(*words: str) -> tuple[Done, dict[str, Any] | None]:
    """Run `clfeval WORDS`; return how it ended, and its result as in JSON, None where refused.

    WORDS ask for JSON. Nothing is printed of a result, and its gates do not change the exit code,
    but with --full: then the result is what the program prints.
    """
    if full():
        done = clfeval(*words)
        return done, json.loads(done.out) if done.code in (0, 1) else None
    documents: list[Document] = []

    def keep_result(request: CommandRequest, compute: Callable[[], Document], **_: Any) -> None:
        documents.append(fill_result(compute(), fill_for_shell))

    with mock.patch("clfeval.cli.run.run_command", keep_result):
        done = clfeval(*words)
    if not documents:
        return done, None
    (document,) = documents
    return done, {**document.head(), "tables": PlainTables(document), **document.tail()}
