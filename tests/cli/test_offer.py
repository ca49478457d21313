"""The command line that is proposed: what was typed, with the options that answer it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import pytest

from clfeval.cli.command import command_line_with_fixes
from clfeval.methods.command_lookup import command_of

CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "a range": ("t.csv", {"rescale": {"mcc": (-1.0, 1.0)}}, "t.csv --rescale mcc=-1:1"),
    "ends with places": (
        "t.csv",
        {"rescale": {"x": (0.1234567, 2e6)}},
        "t.csv --rescale x=0.1234567:2000000",
    ),
    "a direction": ("t.csv", {"direction": {"a b": "min"}}, "t.csv --direction 'a b=min'"),
    "weights": ("t.csv", {"weight": {"f1": 0.5, "n": 0.0}}, "t.csv --weight f1=0.5 --weight n=0"),
    "several of one kind": (
        "t.csv",
        {"ignore": ("n", "fit time")},
        "t.csv --ignore n --ignore 'fit time'",
    ),
    "a range given before": (
        "t.csv --rescale mcc=0:1 --rescale=f1=0:2",
        {"rescale": {"mcc": (-1.0, 1.0)}},
        "t.csv --rescale=f1=0:2 --rescale mcc=-1:1",
    ),
    "one value in place of another": (
        "t.csv --delimiter , -d: --id x",
        {"delimiter": ";"},
        "t.csv --id x --delimiter ';'",
    ),
    "a switch taken away": ("--transpose t.csv --dry-run", {"transpose": False}, "t.csv"),
    "a switch": ("t.csv", {"transpose": True}, "t.csv --transpose"),
    "a value taken away": ("t.csv --layout long", {"layout": None}, "t.csv"),
    "a name that looks like an option": ("t.csv", {"ignore": ("-x",)}, "t.csv --ignore=-x"),
    "others are kept with the new ones": (
        "t.csv --ignore a",
        {"ignore": ("b",)},
        "t.csv --ignore a --ignore b",
    ),
    "before the names": ("-q -- -odd.csv", {"id": "m"}, "-q --id m -- -odd.csv"),
    "no name": ("t.csv", {"id": ""}, "t.csv --id ''"),
    "an option of another name": ("t.csv", {"source": "predictions"}, "t.csv --from predictions"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_proposed(case: str) -> None:
    typed, fixes, wanted = CASES[case]
    assert propose(typed, fixes) == f"clfeval mlcps {wanted}"


def propose(typed: str, fixes: Mapping[str, Any]) -> str:
    """Return the line proposed where some words were typed."""
    options = command_of("mlcps").options()
    return command_line_with_fixes(["mlcps", *shlex.split(typed)], options, fixes)
