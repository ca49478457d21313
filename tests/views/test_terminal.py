"""Tables on a screen: names that differ stay apart, words stay whole, nothing is lost."""

from __future__ import annotations

from functools import cache

import pytest
from rich.cells import cell_len

import clfeval
from clfeval.api.result import Result
from clfeval.document import Answer
from clfeval.pages.schema import ALL
from clfeval.records import replace
from clfeval.views.canvas import KeyEntry, key_lines, shorten_names_apart
from clfeval.views.plots import draw_plots
from clfeval.views.terminal import as_text, put_answer_last
from tests.methods.phidelta.byhand import Cells, counts_frame
from tests.texts import check_text
from tests.thoroughness import thinned

LONG = [f"gradient boosting with a long name and all options, run {i}, tuned" for i in (1, 2)]


def tuned(names: list[str]) -> Result:
    """Return what models that all have the same counts are worth at a prevalence."""
    frame = counts_frame({name: Cells(40, 10, 5, 45) for name in names})
    return clfeval.tune_jpt(frame, prevalence=[0.05])


@pytest.mark.parametrize("width", thinned([20, 30, 40, 60, 80, 100, 140, 200], [20, 40, 80, 140]))
def test_no_line_is_wider_than_the_screen_and_no_heading_breaks_a_word(width: int) -> None:
    text = as_text(tuned([*LONG, "line\nbreak", "esc\x1b[31mred"]), width=width, names=[ALL])
    assert max(map(cell_len, text.splitlines())) <= width
    assert "\x1b" not in text


def test_a_name_takes_one_line_of_the_main_table_in_a_pipe_too() -> None:
    lines = as_text(tuned(["line\nbreak", "plain"])).splitlines()
    assert any(line.startswith(r"line\nbreak ") for line in lines)


def test_names_that_are_cut_stay_apart() -> None:
    cut = shorten_names_apart(LONG, 24)
    assert len({*cut.values()}) == 2
    for (name, short), number in zip(cut.items(), ("1", "2"), strict=True):
        assert cell_len(short) <= 24
        assert number in short
        assert name.startswith(short.partition("…")[0])
    assert shorten_names_apart(["short", "names"], 24) == {"short": "short", "names": "names"}


def test_keys_and_bars_of_plots_keep_them_apart_too() -> None:
    drawn = draw_plots(tuned(LONG), width=60)
    keys = key_lines(("model",), [KeyEntry("a", name, ()) for name in LONG], width=30, color=False)
    for lines in (drawn.splitlines(), keys):
        first, second = ([line for line in lines if f" {i}, " in line] for i in (1, 2))
        assert first
        assert second


def test_names_of_which_one_goes_on_stay_apart() -> None:
    names = ["a" * 24, "a" * 25, "a" * 26]
    assert len({*shorten_names_apart(names, 12).values()}) == 3


FORMULAS = {
    "slope": "p' = logit⁻¹(1.141 + 3.624 logit p)",
    "beta": "p' = logit⁻¹(-0.5137 + 0.5408 ln p - 1.234 ln(1 - p))",
    "temperature": "p_k' proportional to p_k^3.543",
    "one-vs-rest": "p_k' proportional to logit⁻¹(a_k + b_k logit p_k)",
}


@cache
def result_of_one_model() -> Result:
    """Return a result, computed once."""
    return tuned(["a"])


def answered(text: str) -> Result:
    """Return a result with one sentence."""
    return replace(result_of_one_model(), answer=(Answer("recalibrate", text, ("a",)),))


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_that_fits_a_line_is_not_broken(name: str, width: int) -> None:
    for length in range(1, 100, 3):
        result = answered(f"{'m' * length} is recalibrated by this formula: {FORMULAS[name]}.")
        screen = as_text(result, width=width)
        assert f"{FORMULAS[name]}." in screen
        assert max(map(cell_len, screen.splitlines())) <= width
        last = put_answer_last(screen, result, width=width, color=False, height=3)
        assert f"{FORMULAS[name]}." in last.partition("\n\n")[2]


def test_a_formula_wider_than_the_screen_is_broken_at_spaces() -> None:
    lines = as_text(
        answered(f"The model is recalibrated: {FORMULAS['beta']}."), width=30
    ).splitlines()
    assert "= logit⁻¹(-0.5137 + 0.5408 ln" in lines
    assert " ".join(lines).count(FORMULAS["beta"]) == 1


def test_a_screen_too_narrow_to_tell_names_apart_cuts_them_all_the_same() -> None:
    assert all(cell_len(short) <= 5 for short in shorten_names_apart(LONG, 5).values())


def test_what_is_said_below_a_table_stays_under_its_first_line() -> None:
    check_text(as_text(tuned(LONG), width=60))
