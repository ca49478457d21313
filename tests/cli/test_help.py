"""Help and guides: the common options, then all; whole words at 80 columns; examples first."""

from __future__ import annotations

import re

import pytest
from typer.main import get_command

from clfeval import COMMANDS
from clfeval.cli.app import app
from clfeval.cli.help_and_completion import break_command, guide_names
from clfeval.cli.output import Output
from clfeval.compare.gates.limits import Gates
from clfeval.compare.history.file import HistoryOptions
from clfeval.methods.command_lookup import command_of
from tests.process.program import ESCAPE, clfeval, on_terminal

SCREEN = 32  # lines of the short help
NARROW = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}


def help_text(*words: str) -> str:
    done = clfeval(*words, **NARROW)
    assert done.code == 0
    return done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_one_screen_and_help_all_has_every_option_of_a_shell(command: str) -> None:
    declared = command_of(command)
    brief, whole = help_text(command, "--help"), help_text(command, "--help-all")
    usual = {f"--{word}" for word in declared.brief.split()}
    for option in declared.options(Output, Gates, HistoryOptions):
        assert (f"│ {option.flag} " in whole) == option.opt.shell, option.flag
        assert (f"\n  {option.flag} " in brief) == (option.flag in usual), option.flag
        assert option.opt.shell >= (option.flag in usual), option.flag
    assert len(brief.splitlines()) <= SCREEN
    assert max(map(len, brief.splitlines())) <= 80
    more = int(re.search(rf"^(\d+) more options: clfeval {command} --help-all;", brief, re.M)[1])
    flags = {*re.findall(r"│ (--[a-z-]+) ", whole)}
    assert more == len(flags - usual) - 1  # itself
    assert "more options:" not in whole


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_in_help_breaks_inside_a_word_at_80_columns(command: str) -> None:
    whole = help_text(command, "--help-all")
    made = get_command(app).get_command(None, command)  # type: ignore[attr-defined, arg-type]
    for parameter in made.params:
        if parameter.metavar and parameter.name != "tables":
            assert parameter.metavar in whole, parameter.metavar
        for word in (parameter.help or "").split():
            assert word in whole, word


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_come_first_each_on_one_line(command: str) -> None:
    brief, whole = help_text(command, "--help"), help_text(command, "--help-all")
    examples = command_of(command).examples.splitlines()
    assert len(examples) >= 4
    for example in examples:
        assert whole.index(f" {example}") < whole.index("Arguments")
    for example in examples[:4]:
        assert brief.index(f"\n  {example}\n") < brief.index("\n  --")


def test_the_program_says_which_command_is_for_what() -> None:
    text = help_text("--help")
    head = text[: text.index("Commands")]
    for command in COMMANDS:
        assert re.search(rf"^ {command_of(command).have} .*{command}\s*$", head, re.MULTILINE)
    assert len(re.findall(r"^ clfeval \w", head, re.MULTILINE)) == 2


def test_every_command_shows_its_guide_and_every_guide_is_shown() -> None:
    for command in COMMANDS:
        assert help_text("--guide", command).startswith(f"# {command}: ")
    others = {
        "batch",
        "tables",
        "gates",
        "history",
        "ci",
        "numbers",
        "pictures",
        "words",
        "source",
        "engines",
    }
    assert {*COMMANDS, *others} == {*guide_names()}
    done = clfeval("--guide", "table")
    assert (done.code, "'tables'" in done.err) == (2, True)


def test_a_guide_is_printed_where_its_letters_cannot_be() -> None:
    done = clfeval("--guide", "phidelta", PYTHONIOENCODING="ascii")
    assert (done.code, done.err) == (0, "")
    assert "## Features" in done.out
    assert done.out.isascii()


@pytest.mark.parametrize("pager", ["cat", "no-such-pager-here", "/"])
def test_on_a_terminal_a_guide_is_laid_out_for_the_pager_or_without_one(pager: str) -> None:
    done = on_terminal("--guide", "gates", PAGER=pager, COLUMNS="80")
    assert done.code == 0
    assert "Output, gates and exit codes" in done.out
    assert "# Output" not in done.out  # laid out, not as written
    assert "svm:recall.low=0.8" in done.out
    assert ESCAPE not in done.out


def test_a_command_of_a_guide_can_be_copied_from_a_narrow_screen() -> None:
    line = "$ clfeval mars t.csv --positive 'a b' --best 3 --quiet | head -3"
    assert break_command(line, 80) == line
    folded = break_command(line, 40)
    assert all(len(part) <= 38 for part in folded.splitlines())
    assert folded.replace(" \\\n    ", " ") == line  # what a shell makes of it


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_help_is_printed_where_its_letters_cannot_be(encoding: str) -> None:
    for words in (["--help"], ["phidelta", "--help-all"]):
        done = clfeval(*words, PYTHONIOENCODING=encoding)
        assert (done.code, done.err) == (0, "")
        assert "Usage: clfeval" in done.out
