"""One observation is a "row" in everything people read: help, guides, messages and screens."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from clfeval import COMMANDS
from clfeval.cli.output import Output
from clfeval.commands import command_of
from clfeval.history.options import History
from clfeval.limits import Gates

ROOT = Path(__file__).parent.parent
OTHERS = re.compile(r"\b(?:observations?|patients?|cases?|samples)\b", re.IGNORECASE)
# what these words are there for: statistics' two samples, a suffix of scikit-learn, XML, a shell
MEANT = (
    "of two samples", "two independent samples", "two samples", "|samples|", "{cases}</testsuite>",
    "Of 100 patients it finds 67", "case $code in", "independent samples",
    # alarms for each positive row found
    "per case detected", "alarms / case", "alarms\n/ case", "/ case ", "/ case\n", "/ case\x1b",
    # what clusters are called
    "a patient, a document", "share a patient or a document", "patients or documents",
    "images of one patient are not ten patients", "`--cluster patient`", "belong to a patient",
    "of a patient", "named patients",
)  # fmt: skip
SCREENS = sorted((ROOT / "fixtures" / "golden").glob("*.*"))
GUIDES = sorted((ROOT / "clfeval" / "guide").glob("*.md"))


def other_words(text: str) -> list[str]:
    for meant in MEANT:
        text = text.replace(meant, "")
    return OTHERS.findall(text)


def literals(path: Path) -> list[str]:
    """Return every text of a file but its docstrings: what may be printed."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    silent = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent
    ]


def test_messages_and_headings_say_row() -> None:
    # of columns that other programs write
    names = {"sample", "samples", "sample_id", "patient", "case"}
    found = {
        str(path.relative_to(ROOT)): words
        for path in sorted((ROOT / "clfeval").rglob("*.py"))
        # shells have `case`, tables of others have classes and columns of such names
        if path.name not in ("completions.py", "positive.py", "remedy.py")
        for text in literals(path)
        if text not in names and (words := other_words(text))
    }
    assert found == {}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_row(command: str) -> None:
    declared = command_of(command)
    said = [declared.help, declared.tables, declared.have, declared.want]
    said += [option.opt.help for option in declared.options(Output, Gates, History)]
    assert [words for text in said if (words := other_words(text))] == []


@pytest.mark.parametrize("path", [*SCREENS, *GUIDES], ids=lambda path: path.name)
def test_screens_and_guides_say_row(path: Path) -> None:
    assert other_words(path.read_text(encoding="utf-8")) == []
