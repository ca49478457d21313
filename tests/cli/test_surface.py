"""How much a command line has: names in all and in a command, lines of help, words meant."""

from __future__ import annotations

import re

import pytest

from clfeval import COMMANDS
from clfeval.cli.command import OTHERS, find_option
from clfeval.options.syntax import MEANT
from clfeval.placeholders import fill_for_shell
from tests.process.program import clfeval
from tests.texts import problem_places

EVERY = (*COMMANDS, *OTHERS)
LINES, COLUMNS = 32, 80
IN_COMMAND, IN_ALL = 51, 89


def names_of(*command: str) -> set[str]:
    shown = clfeval(*command, COLUMNS="200").out
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+(?= )", shown))


def test_a_command_has_few_options_and_all_together_too() -> None:
    found = {command: names_of(command, "--help-all") for command in EVERY}
    assert {name: len(one) for name, one in found.items() if len(one) > IN_COMMAND} == {}
    assert len(set().union(*found.values(), names_of("--help"))) <= IN_ALL


@pytest.mark.parametrize("command", EVERY)
def test_help_is_one_screen(command: str) -> None:
    lines = clfeval(command, "--help", COLUMNS=str(COLUMNS)).out.splitlines()
    assert len(lines) <= LINES
    assert [line for line in lines if len(line) > COLUMNS] == []


@pytest.mark.parametrize("word", MEANT)
def test_what_is_called_otherwise_is_named(word: str) -> None:
    """A word that people type is no option, and what it is called instead exists."""
    assert not any(find_option(command, word) for command in EVERY)
    done, meant = clfeval("tune-jpt", "t.csv", word, "x"), fill_for_shell(MEANT[word])
    assert (done.code, meant in done.err) == (2, True)
    assert problem_places(done.err) == ["[command-line]"]
    first, *others = meant.split(" ")
    if first == "clfeval":
        assert others[0] in EVERY
    elif first.startswith("--") and first != "--explain":
        assert any(find_option(one, first) for one in EVERY)


def test_a_direction_of_scores_is_named_where_only_metrics_have_that_option() -> None:
    done = clfeval("report", "t.csv", "--direction", "m=min")
    assert done.code == 2
    assert "use --model NAME:reversed if low scores mean the positive class" in done.err
