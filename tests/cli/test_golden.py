"""Every documented way of showing a result prints, byte for byte, what fixtures/golden holds.

The files guard the layout; the numbers in them are checked by the tests of methods and inference.
"""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.golden import CALLS, COMMANDS, FOLDER, made
from tests.texts import with_kept_digits


@pytest.mark.parametrize("file", [*COMMANDS, *CALLS])
def test_standard_output_is_as_kept(file: str) -> None:
    """To the byte, but for the last digits of full-precision numbers: processors differ there."""
    kept = (FOLDER / file).read_text(encoding="utf-8")
    assert with_kept_digits(made(file), kept) == kept


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p 0.12345678901235e0, q 2", "p 0.12345678901234e0, q 2"),
        ("p 0.12345678911234e0, q 2", "p 0.12345678911234e0, q 2"),
        ("p 0.12345678901235e0, q 3", "p 0.12345678901235e0, q 3"),
        ("p 0.12345678901235e1, q 2", "p 0.12345678901235e1, q 2"),
    ],
)
def test_only_the_last_digits_may_differ(text: str, expected: str) -> None:
    assert with_kept_digits(text, "p 0.12345678901234e0, q 2") == expected


def test_no_golden_file_is_left_over() -> None:
    kept = {path.name for path in FOLDER.glob("*.*")} - {"ORIGIN.md", "mistakes.txt"}
    assert kept == {*COMMANDS, *CALLS}


def test_nothing_printed_for_a_screen_is_wider_than_it() -> None:
    columns_of = {file: columns for file, (columns, _) in COMMANDS.items()}
    columns_of |= {file: call.columns for file, call in CALLS.items()}
    for file, columns in columns_of.items():
        if columns and "colour" not in file:
            for line in (FOLDER / file).read_text(encoding="utf-8").splitlines():
                assert len(line) <= columns, (file, line)


def test_what_is_piped_is_never_cut() -> None:
    text = (FOLDER / "paper-piped.txt").read_text(encoding="utf-8")
    assert "…" not in text
    assert "[0.043, 0.777]" in text  # the interval of 2 out of 6, beside its value


def test_without_colour_there_is_no_escape_and_with_it_nothing_else_changes() -> None:
    plain = (FOLDER / "paper-80.txt").read_text(encoding="utf-8")
    coloured = (FOLDER / "paper-colour.txt").read_text(encoding="utf-8")
    assert "\x1b" not in plain
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()


def test_the_json_kept_is_one_document_at_full_precision() -> None:
    document = json.loads((FOLDER / "paper.json").read_text(encoding="utf-8"))
    c1 = document["tables"]["models"][0]
    assert c1["shine_through"]["value"] == 2 / 6
    assert c1["occlusion"]["value"] == 1 / 6
