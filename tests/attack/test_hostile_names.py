"""Names of models, classes, slices, columns and files, and captions, that mean harm.

In pages, pictures, JUnit and the completion of a shell they are texts: no element, attribute or
command comes from a name.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from clfeval.formatting import printable
from tests.attack.attempts import answer
from tests.cli.shells import Bash
from tests.process.program import environment
from tests.thoroughness import thinned

HARMLESS = "harmless"
HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "javascript:alert(1)",
    '<a href="javascript:alert(1)">x</a>',
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "]]><script>alert(1)</script>",
    "--><script>alert(1)</script><!--",
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]>&a;',
    "</style><style>*{display:none}",
    "</title></svg></table><script>alert(1)</script>",
    "\x01\x08\x0b\x1b[31m\x7f\x9b",
    "\u202e\u2066\ufffe\uffff\ufdd0",
    "${alert(1)}`{{7*7}}`%s%n",
    'x" onmouseover="alert(1)" style=\'x:expression(alert(1))',
    "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==#@import'//x'",
)
COMMANDS = ("report", "mars")
CASES = [(name, command) for name in HOSTILE for command in COMMANDS]
PICTURES = ("roc", "calibration", "benefit", "scores")
ADDRESSES = ("href", "src", "action", "data", "xlink:href", "srcset")

pytestmark = pytest.mark.usefixtures("folder", "long_names", "quoted_words")


def table_of(name: str) -> pl.DataFrame:
    """Return two models, two classes and two slices, one of each with this name."""
    dice = np.random.default_rng(8)
    truth = dice.random(120) < 0.4
    scores = np.clip(0.5 + 0.3 * (truth - 0.5) + dice.normal(0, 0.2, 120), 0, 1)
    return pl.DataFrame(
        {
            "truth": np.where(truth, name, "no"),
            name: np.round(scores, 3),
            "other": np.round(dice.random(120), 3),
            f"{name} site": np.where(dice.random(120) < 0.5, name, "elsewhere"),
        }
    )


def saved_files(name: str, command: str, *files: str) -> dict[str, str]:
    """Return the files that a command saves, on a table and with a caption of this name."""
    table = f"{name.replace('/', '|')}.csv"
    table_of(name).write_csv(table)
    saves = [word for file in files for word in ("--save", file)]
    roles = ("--truth", "truth", "--positive", name, "--by", f"{name} site")
    gates = ("--fail-under", f"{name}:recall=0.999", "--fail-under", f"{name}:recall.low=0.001")
    caption = ("--caption", name) if any(file.endswith(".svg") for file in files) else ()
    words = (command, f"./{table}", *roles, *gates, *saves, *caption)
    run = answer(f"named {name!r}", *words, form="table")
    assert run.code == 1, run.err  # a gate is missed
    return {file: Path(file).read_text(encoding="utf-8") for file in files}


class Elements(HTMLParser):
    """The elements of a page with their attributes, its scripts, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str, str]] = []
        self.kinds: set[tuple[str, str]] = set()
        self.scripts: list[str] = []
        self.text = ""
        self.inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag
        self.kinds |= {(tag, ""), *((tag, name) for name, _ in attrs)}
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts[-1] += data
        self.text += data


def elements_of_picture(text: str) -> set[tuple[str, str]]:
    """Return the elements and attributes of a picture, which is XML."""
    tree = [*ElementTree.fromstring(text).iter()]
    return {(node.tag, name) for node in tree for name in ("", *node.keys())}


@cache
def harmless_files(command: str, *files: str) -> dict[str, str]:
    """Return the same files for a name that means no harm."""
    return saved_files(HARMLESS, command, *files)


def is_executed(page: Elements) -> Iterator[str]:
    """Yield what a browser would execute or load, but for scripts that the policy names."""
    policy = next(value for _, name, value in page.attributes if "-src" in value)
    for script in page.scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        if f"'sha256-{digest}'" not in policy and not _is_json(script):
            yield script
    for tag, name, value in page.attributes:
        if name.startswith("on") or (name in ADDRESSES and not value.startswith("#")):
            yield f"{tag} {name}={value}"


def _is_json(script: str) -> bool:
    return script.lstrip().startswith("{")


@pytest.mark.parametrize(("name", "command"), thinned(CASES, CASES[:1]))
def test_a_page_and_junit_show_a_hostile_name_as_text(name: str, command: str) -> None:
    files = ("p.html", "g.xml")
    harmless = Elements(harmless_files(command, *files)["p.html"])
    saved = saved_files(name, command, *files)
    page = Elements(saved["p.html"])
    assert page.kinds <= harmless.kinds
    assert len(page.scripts) == len(harmless.scripts)
    assert [*is_executed(page)] == []
    assert printable(name) in page.text
    suites = ElementTree.fromstring(saved["g.xml"])
    cases = [*suites.iter("testcase")]
    assert {node.tag for node in suites.iter()} <= {
        *("testsuites", "testsuite", "testcase", "failure", "properties", "property", "system-out")
    }
    assert len(cases) == 2
    assert all(case.get("name", "").startswith(printable(name)) for case in cases)


@pytest.mark.parametrize("name", thinned(HOSTILE[:8], HOSTILE[:1]))
def test_a_picture_shows_a_hostile_name_as_text(name: str) -> None:
    files = tuple(f"{picture}.svg" for picture in PICTURES)
    harmless = harmless_files("report", *files)
    for file, text in saved_files(name, "report", *files).items():
        assert elements_of_picture(text) <= elements_of_picture(harmless[file])
        words = "".join(ElementTree.fromstring(text).itertext())
        assert printable(name)[:6] in words


# columns, classes and files of which a shell would run or expand the names
COMMAND_NAMES = (
    "$(touch RAN)",
    "`touch RAN`",
    ";touch RAN;",
    "|touch RAN",
    "a b'\"\\$(touch RAN)",
    "*[a]?~{b,c}!!",
)


@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_bash_completion_runs_no_name(name: str, folder: Path) -> None:
    bash = Bash(environment(HOME=str(folder)), folder)
    frame: dict[str, Any] = {"truth": [name, "no"] * 2, "x": [0.1, 0.2] * 2, name: [1, 0] * 2}
    pl.DataFrame(frame).write_csv("t.csv")
    pl.DataFrame(frame).write_csv(f"{name}.csv")
    for table in ("t.csv", f"{name}.csv"):
        for option in ("--truth", "--ignore", "--positive"):
            answers = bash.reply("clfeval", "mars", shlex.quote(table), option, "")
            assert f"1 {name}" in bash.words(answers), (table, option, answers)
    assert not Path("RAN").exists()
    assert sorted(re.sub("^t$", name, path.stem) for path in folder.iterdir()) == [name] * 2
