"""A history that somebody damaged: read, or refused with the number of the line."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from clfeval.compare.history.file import AcceptedLabel, append_entries, read_history
from clfeval.compare.history.trend import trend_result
from clfeval.errors import UsageError
from tests.history.lines import history_measure, line

PIECES = [
    b"",
    b"null",
    b"{",
    b"}",
    b'"',
    b",",
    b"\n",
    b"\x00",
    b"\xff",
    b"1e999",
    b"-1",
    b"NaN",
    b"[]",
    b"true",
    b"\\ud800",
    b'"\\u0000"',
    b"clfeval.history/2",
    b"0.5",
]
NUMBERED = re.compile(r"^h\.jsonl:\d+: \S")


@pytest.mark.parametrize("count", [300, pytest.param(5000, marks=pytest.mark.slow)])
def test_a_damaged_history_is_read_or_refused(count: int) -> None:
    cells = {"roc_auc": history_measure(0.8, 0.02), "brier": history_measure(0.1, 0.02)}
    append_entries(
        "h.jsonl",
        [
            line("W1", **cells),
            AcceptedLabel("report", "W1"),
            line("W2", truth="ids:b", gates={"brier": False}, **cells),
        ],
    )
    whole, rng = Path("h.jsonl").read_bytes(), random.Random(5)
    refused = 0
    for _ in range(count):
        start = rng.randrange(len(whole))
        stop = start + rng.choice([0, 1, 1, 5, 200])
        Path("h.jsonl").write_bytes(whole[:start] + rng.choice(PIECES) + whole[stop:])
        try:
            found = trend_result(read_history("h.jsonl"), "report")
        except UsageError as error:
            refused += 1
            first = str(error).splitlines()[0]
            assert NUMBERED.match(first) or first.startswith("h.jsonl: ")
        else:
            assert str(found)
            assert found.to_json()
    assert refused > count / 2


def test_half_a_character_in_a_name_is_kept() -> None:
    append_entries("h.jsonl", [line("W\ud800", "m\udfff", roc_auc=history_measure(0.8, 0.1))])
    (found,) = read_history("h.jsonl").lines
    assert (found.label, found.model) == ("W\ud800", "m\udfff")
