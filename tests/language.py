"""The dictionary of the guide `words` as regular expressions, and what a text breaks of it.

As a plugin it holds every sentence, warning and error that any test makes to the dictionary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, wraps
from pathlib import Path
from typing import Any

import pytest

from clfeval.document import Answer, ResultNote
from clfeval.errors import Problem
from clfeval.placeholders import fill_for_shell

PAGE = Path(__file__).parent.parent / "clfeval" / "guide" / "words.md"
WORDS = 25  # of a sentence at most, names and numbers not counted
_COMMAND = re.compile(
    r"(?m)^(?:\$ |try: |    ).*|`[^`\n]*`|--[a-z][\w-]*(?:[ =]\d\S*)?|\[[a-z0-9-]+\]$"
    r"|(?<!\w)'[^'\n]{1,40}'(?!\w)"
)
_END = re.compile(r"(?<=[.!?:;])\s+(?=[^\W\d_]|$)|\n\n+")
_WORD = re.compile(r"[^\W\d_][\w'-]*")


@cache
def dictionary() -> list[tuple[re.Pattern[str], re.Pattern[str] | None, str]]:
    """Return what is not to be written, where it is allowed, and what to write instead."""
    table = PAGE.read_text(encoding="utf-8").partition("| do not write ")[2].split("\n")[2:]
    rows = []
    for line in table:
        if line.startswith("|"):
            wrong, right, allowed = re.split(r" \|(?: |$)", line.removeprefix("| "))[:3]
            rows.append((_pattern(wrong, r"\b(?:{})\b"), _pattern(allowed, "{}"), right))
    return [(wrong, allowed, right) for wrong, allowed, right in rows if wrong]


def _pattern(cell: str, around: str) -> re.Pattern[str] | None:
    """Return one expression of those in a cell of the table."""
    parts = re.findall(r"``\s(.+?)\s``|`([^`]+)`", cell)
    one = "|".join(f"(?:{quoted or plain})" for quoted, plain in parts)
    return re.compile(around.format(one), re.IGNORECASE) if parts else None


def forbidden(text: str) -> list[str]:
    """Return what a text says that the dictionary does not allow, with what to write instead."""
    plain = _COMMAND.sub(lambda match: " " * len(match[0]), text)
    found = []
    for wrong, allowed, right in dictionary():
        spans = [match.span() for match in allowed.finditer(text)] if allowed else []
        for match in wrong.finditer(plain):
            if not any(start < match.end() and match.start() < end for start, end in spans):
                found.append(f"'{match[0]}': {right}")
    return found


def long_sentences(text: str, names: Iterable[str] = ()) -> list[str]:
    """Return the sentences of more than 25 words, names and numbers not counted."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "")
    return [one for one in _END.split(text) if len(_WORD.findall(one)) > WORDS]


@cache
def faults(text: str) -> list[str]:
    """Return everything that is wrong with a text of the program, with the text."""
    return [f"{text!r}: {one}" for one in forbidden(text)]


_made: dict[str, bool] = {}  # by the running test, numbers left out; whether an answer


def _watch(kind: type, text: Any) -> None:
    """Keep the text of everything of this kind that is made from now on."""
    made = kind.__init__

    @wraps(made)
    def init(self: Any, *given: Any, **named: Any) -> None:
        made(self, *given, **named)
        _made[re.sub(r"\d+(?:\.\d+)?", "0", fill_for_shell(text(self)))] = kind is Answer

    kind.__init__ = init  # type: ignore[misc]


def _without_models(answer: Answer) -> str:
    text = answer.text
    for name in sorted(answer.models, key=len, reverse=True):
        text = text.replace(name, "")
    return text


def pytest_configure() -> None:
    _watch(Answer, _without_models)
    _watch(ResultNote, lambda warning: warning.message)
    _watch(Problem, lambda problem: problem.message)


@pytest.fixture
def long_names() -> None:
    """Let names of models be of many words: sentences are as long as they are."""


@pytest.fixture
def quoted_words() -> None:
    """Let texts quote what other libraries say, and random values, in any words."""


@pytest.fixture(autouse=True)
def plain_english(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hold what the test made the program say to the dictionary, answers to 25 words."""
    _made.clear()
    yield
    if quoted_words.__name__ in request.fixturenames:
        return
    assert [one for text in sorted(_made) for one in faults(text)] == []
    if long_names.__name__ not in request.fixturenames:
        assert [one for text, said in _made.items() if said for one in long_sentences(text)] == []
