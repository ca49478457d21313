"""All rows are read as the first ones are, whatever the numbers are written like."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pytest

from clfeval.api.commands import report
from clfeval.errors import DataError
from clfeval.tables import recognition
from clfeval.tables.csv import SAMPLE_ROWS
from clfeval.tables.input import InputOptions
from clfeval.tables.prediction_files import open_files
from clfeval.tables.profiles import ColumnProfile, profile_all_rows, profile_sample
from tests.tables.door import write

LONG, SHORT = SAMPLE_ROWS + 1500, SAMPLE_ROWS - 1500
Notation = tuple[Callable[[float], str], Mapping[str, Any]]
NOTATIONS: Mapping[str, Notation] = {
    "points": (lambda share: f"{share:.5f}", {}),
    "exponents": (lambda share: f"{share:.4e}", {}),
    "decimal commas": (lambda share: f"{share:.5f}".replace(".", ","), {"decimal": ","}),
    "percent signs": (lambda share: f"{100 * share:.4f} %", {}),
    "percent with commas": (
        lambda share: f"{100 * share:.4f}%".replace(".", ","),
        {"decimal": ","},
    ),
}


def readings_of(rows: int, notation: Notation) -> list[dict[str, Any]]:
    """Return the options offered for scores next to whole numbers, without a known truth."""
    spell, options = notation
    numbers = random.Random(4)
    lines = ["sick;rf;gb;visits"]
    for _ in range(rows):
        sick = numbers.random() < 0.4
        scores = [0.6 * numbers.random() + 0.3 * sick for _ in range(2)]
        visits = numbers.randrange(1, 60)
        lines.append(f"{int(sick)};{spell(scores[0])};{spell(scores[1])};{visits}")
    write("t.csv", "\n".join(lines) + "\n")
    with pytest.raises(DataError) as caught:
        report("t.csv", delimiter=";", **options)
    return [dict(reading.options) for reading in caught.value.readings]


@pytest.mark.parametrize("name", NOTATIONS)
def test_more_rows_than_the_first_ones_are_offered_alike(name: str) -> None:
    offered = readings_of(LONG, NOTATIONS[name])
    assert offered == readings_of(SHORT, NOTATIONS[name])
    assert {*offered[0]["model"]} == {"rf", "gb", "visits"}
    assert offered[1] == {"truth": "sick", "ignore": ("visits",)}


def test_all_rows_are_profiled_once_while_readings_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passes = []

    def profile(*arguments: Any, **options: Any) -> dict[str, ColumnProfile]:
        passes.append(arguments)
        return profile_all_rows(*arguments, **options)

    monkeypatch.setattr(recognition, "profile_all_rows", profile)
    assert len(readings_of(LONG, NOTATIONS["points"])) > 1
    assert len(passes) == 1


def test_profiles_are_not_those_of_other_rows_or_options() -> None:
    rows = range(2 * LONG)
    lines = [f"{row % 2},{row % 7}" for row in rows]
    write("t.csv", "\n".join(["truth,a", *lines]) + "\n")
    with recognition.remembering_profiles():
        every = profiles_by(InputOptions())
        assert profiles_by(InputOptions()) == every
        assert every["a"].counts["6"] == sum(row % 7 == 6 for row in rows)
        some = profiles_by(InputOptions(where="truth=1"))
        assert some["a"].counts["6"] == sum(row % 14 == 13 for row in rows)
        assert "6" not in profiles_by(InputOptions(null_value=("6",)))["a"].texts


def profiles_by(roles: InputOptions) -> dict[str, ColumnProfile]:
    with open_files(["t.csv"], roles) as files:
        return recognition.profiles_of_file(files[0], roles)


def profiles_of(*paths: str, **options: Any) -> dict[str, ColumnProfile]:
    roles = InputOptions(**options)
    with open_files(list(paths), roles) as files:
        sample = profile_sample(files[0], roles.null_value, roles.decimal)
        return profile_all_rows(files, sample, roles.null_value, roles.decimal)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_profile_holds_what_the_last_rows_alone_have(suffix: str) -> None:
    """Missing cells, words, extremes, and values with their rows, of two files, counted by hand."""
    scores = [f"{(row % 4999 + 1) / 10_000}" for row in range(LONG)]
    scores[-4:] = ["-7.5", "9", "", "lost"]
    groups = ["a", "b", "a"] * (LONG // 3) + ["late"] * (LONG % 3 + 1)
    frame = pl.DataFrame({"scores": scores, "groups": groups[:LONG]})
    frame = frame.with_columns(pl.col("scores").replace("", None))
    for name in ("one", "two"):
        getattr(frame, f"write_{suffix}")(f"{name}.{suffix}")
    profiles = profiles_of(f"one.{suffix}", f"two.{suffix}")
    numbers = profiles["scores"]
    assert (numbers.rows, numbers.missing) == (2 * LONG, 2)
    assert (min(numbers.numbers), max(numbers.numbers)) == (-7.5, 9.0)
    assert "lost" in numbers.texts
    assert numbers.mostly_numeric
    assert not numbers.all_numbers
    counted = {value: 2 * groups[:LONG].count(value) for value in ("a", "b", "late")}
    assert dict(profiles["groups"].counts) == {k: n for k, n in counted.items() if n}


@pytest.mark.parametrize("notation", ["decimal commas", "percent with commas", "percent signs"])
def test_written_numbers_are_numbers_in_all_rows(notation: str) -> None:
    spell, options = NOTATIONS[notation]
    shares = [(row % 4999 + 1) / 5000 for row in range(LONG)]
    shares[-1] = 0.00005
    write("t.csv", "a;b\n" + "".join(f"{spell(share)};1\n" for share in shares))
    profile = profiles_of("t.csv", delimiter=";", **options)["a"]
    assert profile.all_numbers
    assert min(profile.numbers) == pytest.approx(0.00005)
    assert max(profile.numbers) == pytest.approx(4999 / 5000)
