"""Odd values, options that would do nothing, and what the messages say to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clfeval
from tests.methods.tune_jpt.requests.door import (
    CCP,
    COUNTS,
    command,
    data_message,
    usage_message,
)

CALM = ["--counts", COUNTS]


@pytest.mark.parametrize("options", [
    {"measure": "f_beta:beta=1e200"},  # OverflowError
    {"level": 0.9999999999999999},  # ValueError: math domain error; mars and phidelta too?
    {"interval": "bootstrap", "resamples": 10**12},  # MemoryError
    {"interval": "bootstrap", "resamples": 10**23},  # ValueError
    {"sweep": "1:9..9:1", "points": 10**9},  # MemoryError
], ids=str)  # fmt: skip
def test_a_number_out_of_reach_is_no_bug(options: dict[str, Any]) -> None:
    """Once: exit 70, "this is a bug"."""
    assert usage_message(counts=CCP, **options)


@pytest.mark.parametrize("words", [
    ["--delimiter", ";"], ["--margin", "tar=0.1"], ["--reference", "ccp"],
], ids=str)  # fmt: skip
def test_an_option_that_does_nothing_is_refused(words: list[str]) -> None:
    """Once: Accepted without a word; other table options are refused without a table."""
    code, _ = command("--counts", COUNTS, *words)
    assert code == 2


def test_a_model_without_a_name_is_refused() -> None:
    """Once: --counts =67,5,33,95 makes a model ''."""
    assert command("--counts", f"={COUNTS}")[0] == 2


@pytest.mark.parametrize(("options", "typed"), [
    ({"sweep": "1:1.."}, "--sweep"), ({"sweep": "..1:1"}, "--sweep"),
    ({"sweep": "0:1..1:1"}, "--sweep"), ({"sweep": "0.001..0.1"}, "--sweep"),
    ({"prevalence": "0.02..0.001"}, "0.02..0.001"),
    ({"measure": "cost:fp=-1,fn=2"}, "cost:fp=-1,fn=2"),
    ({"measure": "cost:fp=inf,fn=1"}, "inf"), ({"prevalence_beta": (0, 2)}, "0,2"),
], ids=str)  # fmt: skip
def test_a_message_names_what_was_typed(options: dict[str, Any], typed: str) -> None:
    """Once: --sweep 1:1.. named another option."""
    first = usage_message(counts=CCP, **options).splitlines()[0]
    assert typed in first
    assert ("--prevalence " in first) == ("prevalence" in options)


@pytest.mark.parametrize(("text", "echo"), [
    ("67,5,33", "67,5,33 "), ("67,5,33,-95", "TN is -95,"), ("1e400,5,33,95", "1e400"),
])  # fmt: skip
def test_counts_are_shown_as_they_were_typed(text: str, echo: str) -> None:
    """Once: --counts 67.0,5.0,33.0 is not four numbers; TN is -95.0; TP is inf."""
    assert echo in command("--counts", text)[1].replace("'", " ")


def test_too_large_a_count_is_not_called_a_fraction() -> None:
    """Once: TN is 1e+19, not a whole number ... of rates alone: --sensitivity 0.67."""
    assert "not a whole number" not in command("--counts", "67,5,33,10000000000000000000")[1]


def test_percents_are_explained() -> None:
    """Once: --prevalence 5: hint 0.01 for 1 in 100; --sensitivity 95 has "0.95 for 95 %"."""
    assert "0.05" in command(*CALM, "--prevalence", "5")[1]
    assert "0.95" in command(*CALM, "--level", "95")[1]


def test_an_alias_is_suggested() -> None:
    """Once: --measure acuracy: no suggestion, but a list of 22 that lacks accuracy."""
    for typed, meant in (("acuracy", "accuracy"), ("precison", "precision"), ("recal", "recall")):
        assert f"did you mean '{meant}'" in command(*CALM, "--measure", typed)[1]


def test_measures_are_repeated_not_joined() -> None:
    """Once: --measure ppv,npv: "did you mean 'ppv'?"."""
    message = command("--counts", COUNTS, "--measure", "ppv,npv")[1]
    assert message.endswith("\nhint: one at a time: --measure ppv --measure npv\n")


def test_counts_without_a_class_have_a_fitting_hint() -> None:
    """Once: "is the right class --positive?", where no class has a name."""
    message = command("--counts", "0,5,0,95")[1]
    assert "--positive" not in message
    assert "TP" in message, "TP and FN are 0; the order is TP,FP,FN,TN"


def test_a_table_without_a_class_says_what_truth_holds() -> None:
    """Once: phidelta: column 'truth': no negative row: truth holds '1'."""
    message = data_message("truth,a\n1,1\n1,0\n")
    assert "column 'truth'" in message
    assert "hint" in message


def test_three_sources_are_not_both() -> None:
    assert "both" not in command("t.csv", "--counts", COUNTS, "--sensitivity", ".67")[1]


# what a caller of the Python function may well pass: refused by name or taken, never a TypeError
PYTHON: list[dict[str, Any]] = [
    {"points": 2.5}, {"points": np.int64(5)}, {"points": "5"}, {"seed": 0.5},
    {"seed": None}, {"interval": "bootstrap", "resamples": 100.5}, {"level": "0.95"},
    {"level": None}, {"seed": np.int64(1)}, {"population": np.int64(500)},
    {"margin": {"tar": np.float32(2)}}, {"margin": "tar=0.1"}, {"margin": 0.1},
    {"prevalence": "0.001..0.02"}, {"prevalence": (0.1, "1:9")}, {"prevalence_beta": "2,98"},
    {"measure": None}, {"measure": 5}, {"reference": ["mcc"]}, {"sweep": ("1:9", "9:1")},
    {"sweep": "none"}, {"prevalence": np.array(0.01)}, {"counts": np.array(CCP)},
    {"counts": {"tp": 67, "fp": 5, "fn": 33, "tn": 95}}, {"counts": {"a": 5}},
    {"counts": {1: CCP}}, {"counts": (67, 5, 33, None)},
]  # fmt: skip


@pytest.mark.parametrize("options", PYTHON, ids=str)
def test_the_python_function_takes_it_or_names_it(options: dict[str, Any]) -> None:
    given = {"counts": CCP, "sweep": "1:9..9:1", **options}
    assert _said(given).startswith(("{", *options))


def _said(options: dict[str, Any]) -> str:
    """Return the document, or the words of the refusal."""
    try:
        return clfeval.tune_jpt(**options).to_json()
    except clfeval.UsageError as error:
        return str(error)


def test_half_a_point_is_no_point() -> None:
    with pytest.raises(clfeval.UsageError, match=r"^points 2\.5 is not a whole number"):
        clfeval.tune_jpt(counts=CCP, points=2.5)  # type: ignore[arg-type]
    with pytest.raises(clfeval.UsageError, match=r"^seed 0\.5 is not a whole number"):
        clfeval.tune_jpt(counts=CCP, seed=0.5)  # type: ignore[arg-type]
