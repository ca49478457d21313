"""Colour and width: who decides about escape codes, and that a pipe gets whole lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.process.program import ESCAPE, clfeval, json_document, many_models, on_terminal
from tests.results import four_cells
from tests.thoroughness import thinned

# environment, escape codes in a pipe, escape codes on a terminal (None: not tried)
EXPECTATIONS: list[tuple[dict[str, str], bool, bool | None]] = [
    ({}, False, True),
    ({"NO_COLOR": "1"}, False, False),
    ({"NO_COLOR": ""}, False, True),  # empty is as good as unset
    ({"FORCE_COLOR": "1"}, True, None),
    ({"FORCE_COLOR": "0"}, True, None),  # any text forces, as force-color.org has it
    ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
    ({"GITHUB_ACTIONS": "true"}, False, None),
    ({"TERM": "dumb"}, False, False),
    ({"TERM": "dumb", "FORCE_COLOR": "1"}, True, None),
]


@pytest.mark.parametrize(("changes", "piped"), [line[:2] for line in EXPECTATIONS], ids=str)
def test_escape_codes_in_a_pipe(changes: dict[str, str], piped: bool) -> None:
    done = clfeval("mars", "t.csv", **changes)
    assert done.code == 0
    assert (ESCAPE in done.out) is piped
    assert ESCAPE not in done.err


@pytest.mark.parametrize(
    ("changes", "shown"),
    thinned(
        [(line[0], line[2]) for line in EXPECTATIONS if line[2] is not None],
        [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ),
    ids=str,
)
def test_escape_codes_on_a_terminal(changes: dict[str, str], shown: bool) -> None:
    done = on_terminal("mars", "t.csv", **changes)
    assert done.code == 0
    assert (ESCAPE in done.out) is shown
    assert ESCAPE not in done.err


def test_colour_takes_no_text_away() -> None:
    plain = clfeval("mars", "t.csv", "-q", "--show", "plots").out
    coloured = clfeval("mars", "t.csv", "-q", "--show", "plots", FORCE_COLOR="1").out
    assert ESCAPE in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split() == plain.split()


def test_machine_formats_have_no_colour() -> None:
    assert ESCAPE not in clfeval("mars", "t.csv", "-f", "markdown", FORCE_COLOR="1").out


def test_plots_come_on_a_terminal_or_when_asked_for() -> None:
    diamond = "φ = -1 <"  # its left corner
    high = {"NO_COLOR": "1", "LINES": "120"}
    assert diamond in on_terminal("phidelta", "t.csv", **high).out
    # where it would drive the answer off the screen it is not drawn unasked
    low = {"NO_COLOR": "1", "LINES": "24"}
    assert diamond not in on_terminal("phidelta", "t.csv", **low).out
    assert diamond in on_terminal("phidelta", "t.csv", "--show", "plots", **low).out
    assert diamond in on_terminal("phidelta", "t.csv", "--show", "diamond", **low).out
    assert diamond not in clfeval("phidelta", "t.csv").out
    assert diamond in clfeval("phidelta", "t.csv", "--show", "plots").out
    # those of mars repeat its tables: they come when they are asked for
    assert "█" not in on_terminal("mars", "t.csv", NO_COLOR="1").out
    for words in (["--show", "plots"], ["--show", "bars"]):
        assert "█" in clfeval("mars", "t.csv", *words).out


NAME = "a_model_with_a_long_name_that_nobody_would_like_to_see_cut_"


def test_a_pipe_gets_twelve_models_uncut() -> None:
    Path("t.csv").write_text(many_models(12, 200, name=NAME), encoding="utf-8")
    rows = json_document(clfeval("mars", "t.csv", "-q", "-f", "json"))["tables"]["models"]
    words = ("mars", "t.csv", "-q", "--show", "rates")
    text = clfeval(*words).out
    assert clfeval(*words, TERM="dumb").out == text
    forced = clfeval(*words, TERM="dumb", FORCE_COLOR="1").out
    assert re.sub(r"\x1b\[[0-9;]*m", "", forced).split() == text.split()
    assert "…" not in text
    assert "..." not in text
    for row in rows:
        cells = [row["model"], *map(str, four_cells(row))]
        cells += [f"{row[key]['value']:.3f}" for key in ("accuracy", "precision", "recall")]
        assert re.search(r"^" + r"\s.*?".join(map(re.escape, cells)), text, re.MULTILINE)


@pytest.mark.parametrize("columns", [40, 80])
def test_a_narrow_screen_cuts_no_number(columns: int) -> None:
    Path("t.csv").write_text(many_models(12, 200), encoding="utf-8")
    text = clfeval("mars", "t.csv", "-q", COLUMNS=str(columns)).out
    assert "…" not in text
    assert re.findall(r"(?<![\d.])[01]\.\d{3}(?!\d)", text)
    assert not re.findall(r"(?<![\d.])[01]\.\d{0,2}(?![\d])", text)


def test_where_the_answer_scrolls_away_it_is_printed_last() -> None:
    words = ("mars", "t.csv", "-q")
    whole = on_terminal(*words, NO_COLOR="1", LINES="60").out
    lines = whole.count("\n")
    short = on_terminal(
        *words, NO_COLOR="1", LINES=str(lines)
    ).out  # the prompt needs a line as well
    title, _, rest = whole.partition("\n")
    tables = short.removeprefix(f"{title}\n").rpartition("\n\n")[0]
    answer = short.rpartition("\n\n")[2]
    assert rest.startswith(answer)
    assert rest.removeprefix(answer).rstrip("\n") == tables
    assert on_terminal(*words, NO_COLOR="1", LINES=str(lines + 1)).out == whole
    piped = " ".join(clfeval(*words, LINES="5").out.split())  # where nothing scrolls
    assert piped.startswith(" ".join(f"{title} {answer}".split()))
