"""Texts that the program prints, kept in files: a test checks facts, the file holds the words.

`check_text` compares a text with the one kept for the running test in
`fixtures/golden/texts/FOLDER.txt`; `pytest --write-texts PATH` writes what is said now, to be read
in the diff. `problem_places` and `numbers_in` take from a text what does not depend on its words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import currently_in_test_context

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "fixtures" / "golden" / "texts"
HEAD, NEXT = "== ", "--"
Texts = dict[str, list[str]]

_PLACED = re.compile(r"((?:.+?:\d+(?::\d+)?: |[^ :]+: )?(?:column '[^']*': )?).*?(\[[a-z0-9-]+\])$")
_NUMBER = re.compile(r"(?<![\w.-])-?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e-?\d+)?(?![\w])")
_PRECISE = re.compile(r"-?\d+\.\d{6,}(?:e-?\d+)?")
_running: list[str] = []  # the name of the running test
_written: Texts = {}
_writing: list[bool] = []


def room_of(test: str) -> str:
    """Return the folder whose file keeps the texts of a test: tests/tables/test_x.py::y: tables."""
    return "-".join(Path(test.partition("::")[0]).parts[1:-1]) or "top"


def texts_of_room(room: str) -> Texts:
    """Return the kept texts of a folder, by test."""
    path = FOLDER / f"{room}.txt"
    texts: Texts = {}
    for line in path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []:
        if line.startswith(HEAD):
            mine = texts.setdefault(line.removeprefix(HEAD), [])
            lines: list[str] = []
        elif line == NEXT:
            mine.append("\n".join(lines))
            lines = []
        else:
            lines.append(line)
    return texts


kept = cache(texts_of_room)


def check_text(text: str | Iterable[str]) -> None:
    """Check that a text, or lines, is what is kept for this call in the running test."""
    if currently_in_test_context():  # drawn by hypothesis: another one each time
        return
    text = text if isinstance(text, str) else "\n".join(text)
    (test,) = _running
    said = _written.setdefault(test, [])
    said.append(text)
    if not _writing:
        expected = kept(room_of(test)).get(test, [])
        place = f"{room_of(test)}.txt, {test}: text {len(said)}"
        assert len(said) <= len(expected), f"{place} is not kept: pytest --write-texts"
        assert text == expected[len(said) - 1], place


def problem_places(message: str | Iterable[str]) -> list[str]:
    """Return where an error names which problem: `t.csv:3: column 'b': [short-row]`, by line."""
    lines = message.split("\n") if isinstance(message, str) else message
    matches = [_PLACED.fullmatch(line) for line in lines]
    return [f"{found[1]}{found[2]}" for found in matches if found]


def numbers_in(text: str) -> list[float]:
    """Return the numbers of a text in their order, 12% and 1,234 as 12 and 1234."""
    found = [one for one in _NUMBER.findall(text) if any(map(str.isdigit, one))]
    return [float(one.replace(",", "")) for one in found]


def with_kept_digits(text: str, kept_text: str) -> str:
    """Return the kept text if a text differs from it by the last digits of precise numbers only.

    Processors differ there, by less than 1e-12 of the number.
    """
    if _PRECISE.split(text) != _PRECISE.split(kept_text):
        return text
    pairs = zip(_PRECISE.findall(text), _PRECISE.findall(kept_text), strict=True)
    is_same = all(math.isclose(float(now), float(then), rel_tol=1e-12) for now, then in pairs)
    return kept_text if is_same else text


def write(texts: Texts) -> None:
    """Write the texts of tests that ran; drop those of tests that are gone."""
    for room in {room_of(test) for test in texts}:
        mine = {test: said for test, said in texts.items() if said and room_of(test) == room}
        merged = {
            test: said for test, said in {**texts_of_room(room), **mine}.items() if exists(test)
        }
        lines = [
            line
            for test, said in sorted(merged.items())
            for line in (f"{HEAD}{test}", *(part for one in said for part in (one, NEXT)))
        ]
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{room}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")


def exists(test: str) -> bool:
    """Tell whether the function of a test still stands in its file."""
    file, _, name = test.partition("::")
    path, function = ROOT / file, name.split("::")[-1].partition("[")[0]
    return path.exists() and f"def {function}(" in path.read_text(encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-texts", action="store_true", help="keep the texts as they are now")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("write_texts"):
        _writing.append(True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    _running[:] = [item.nodeid]
    _written.pop(item.nodeid, None)
    return (yield)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _writing and hasattr(session.config, "workeroutput"):
        session.config.workeroutput["texts"] = _written
    elif _writing:
        write(_written)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _written.update(getattr(node, "workeroutput", {}).get("texts", {}))
