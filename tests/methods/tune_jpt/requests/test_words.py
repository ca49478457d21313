"""Odd values, options that would do nothing, and what the messages name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clfeval
from tests.methods.tune_jpt.requests.door import CCP, COUNTS, command, usage_message
from tests.texts import check_text, problem_places


@pytest.mark.parametrize(
    "words",
    [
        ["--delimiter", ";"],
        ["--margin", "tar=0.1"],
        ["--reference", "ccp"],
        ["--counts", f"={COUNTS}"],
    ],
    ids=str,
)
def test_an_option_that_does_nothing_is_refused(words: list[str]) -> None:
    """Once: Accepted without a word; other table options are refused without a table."""
    assert command("--counts", COUNTS, *words)[0] == 2


@pytest.mark.parametrize(
    ("options", "typed"),
    [
        ({"sweep": "1:1.."}, "--sweep"),
        ({"sweep": "..1:1"}, "--sweep"),
        ({"sweep": "0:1..1:1"}, "--sweep"),
        ({"sweep": "0.001..0.1"}, "--sweep"),
        ({"prevalence": "0.02..0.001"}, "0.02..0.001"),
        ({"measure": "cost:fp=-1,fn=2"}, "cost:fp=-1,fn=2"),
        ({"measure": "cost:fp=inf,fn=1"}, "inf"),
        ({"prevalence_beta": (0, 2)}, "0,2"),
    ],
    ids=str,
)
def test_a_message_names_what_was_typed(options: dict[str, Any], typed: str) -> None:
    """Once: --sweep 1:1.. named another option."""
    first = usage_message(counts=CCP, **options).splitlines()[0]
    assert typed in first
    assert ("--prevalence " in first) == ("prevalence" in options)


def test_counts_without_a_class_have_a_fitting_hint() -> None:
    """Once: "is the right class --positive?", where no class has a name."""
    message = command("--counts", "0,5,0,95")[1]
    assert problem_places(message) == ["--counts: [single-class]"]
    assert "--positive" not in message
    check_text(message)


# what a caller of the Python function may well pass: refused by name or taken, never a TypeError
PYTHON: list[dict[str, Any]] = [
    {"points": 2.5},
    {"points": np.int64(5)},
    {"points": "5"},
    {"seed": 0.5},
    {"seed": None},
    {"interval": "bootstrap", "resamples": 100.5},
    {"level": "0.95"},
    {"interval": "bootstrap", "resamples": 10**23},
    {"level": None},
    {"seed": np.int64(1)},
    {"population": np.int64(500)},
    {"margin": {"tar": np.float32(2)}},
    {"margin": "tar=0.1"},
    {"margin": 0.1},
    {"prevalence": "0.001..0.02"},
    {"prevalence": (0.1, "1:9")},
    {"prevalence_beta": "2,98"},
    {"measure": None},
    {"measure": 5},
    {"reference": ["mcc"]},
    {"sweep": ("1:9", "9:1")},
    {"sweep": "none"},
    {"prevalence": np.array(0.01)},
    {"counts": np.array(CCP)},
    {"counts": {"tp": 67, "fp": 5, "fn": 33, "tn": 95}},
    {"counts": {"a": 5}},
    {"counts": {1: CCP}},
    {"counts": (67, 5, 33, None)},
]


@pytest.mark.parametrize("options", PYTHON, ids=str)
def test_the_python_function_takes_it_or_names_it(options: dict[str, Any]) -> None:
    request = {"counts": CCP, "sweep": "1:9..9:1", **options}
    try:
        output = clfeval.tune_jpt(**request).to_json()
    except clfeval.UsageError as error:
        output = str(error)
        check_text(output)
    assert output.startswith(("{", *options))
    assert not output.startswith("{") or options not in ({"points": 2.5}, {"seed": 0.5})
