"""Stored calibrators of more than two classes: read through in every command, added to tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.errors import DataError
from clfeval.measures.class_calibrators import (
    ClassCalibrator,
    OneVsRestCalibrator,
    TemperatureCalibrator,
)
from clfeval.tables.calibrator_files import CalibratorFile, StoredCalibrator, read_calibrators
from tests.methods.recalibrate.test_classes import NAMES, random_table
from tests.methods.recalibrate.test_stored_calibrators import check_close, tables_of
from tests.process.program import clfeval as program

FILE = "m.calibrator.json"
THROUGH = f"m:{FILE}"
CALIBRATORS: dict[str, ClassCalibrator] = {
    "temperature": TemperatureCalibrator(0.6),
    "one-vs-rest": OneVsRestCalibrator(
        np.array([0.25, -1.0, 0.0, 0.5]), np.array([0.5, 1.5, 1.0, 2.0])
    ),
}


def calibrator_file(method: str = "temperature", columns: Any = NAMES) -> CalibratorFile:
    """Return a file of the calibrator of model m, fitted to rows that no test has."""
    sources = {name: f"m:{name}" for name in columns}
    stored = StoredCalibrator(
        "m", method, CALIBRATORS[method], (0.0, 1.0), "0" * 64, columns=sources
    )
    return CalibratorFile("", [stored], 300.0, classes=NAMES)


@pytest.fixture(name="new")
def _new(folder: Path) -> pl.DataFrame:
    """Return rows that no calibrator was fitted to, in new.csv, with the file of a calibrator."""
    del folder
    table = random_table(21, 200, power=0.6)
    table.write_csv("new.csv")
    Path(FILE).write_text(calibrator_file().to_json(), encoding="utf-8")
    return table


def probabilities(table: pl.DataFrame, model: str = "m") -> Any:
    return table.select(f"{model}:{name}" for name in NAMES).to_numpy()


@pytest.mark.parametrize("method", CALIBRATORS)
def test_files_are_read_back_as_they_were(method: str) -> None:
    text = calibrator_file(method).to_json()
    file = read_calibrators("x.json", text)
    assert file.to_json() == text
    assert file.classes == NAMES
    p = np.random.default_rng(0).dirichlet(np.ones(4), 50)
    assert (file.by_model["m"].calibrate(p) == CALIBRATORS[method].calibrate(p)).all()


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".ndjson"])
@pytest.mark.parametrize("method", CALIBRATORS)
def test_columns_are_added_as_the_calibrator_has_them(
    method: str, suffix: str, new: pl.DataFrame
) -> None:
    Path(FILE).write_text(calibrator_file(method).to_json(), encoding="utf-8")
    done = program("recalibrate", "new.csv", "--calibrator", FILE, "--save", f"out{suffix}", "-q")
    assert done.code == 0, done.err
    readers: dict[str, Any] = {
        ".parquet": pl.read_parquet,
        ".csv": pl.read_csv,
        ".ndjson": pl.read_ndjson,
    }
    out = readers[suffix](f"out{suffix}")
    assert out.columns == [*new.columns, *(f"m+{method}:{name}" for name in NAMES)]
    expected = CALIBRATORS[method].calibrate(probabilities(new))
    assert probabilities(out, f"m+{method}") == pytest.approx(expected, abs=1e-14)
    assert "'m+" in done.out


def test_rows_with_a_missing_probability_have_none_recalibrated(new: pl.DataFrame) -> None:
    lacking = pl.when(pl.col("id") > 2).then(pl.col("m:bee")).alias("m:bee")
    new.with_columns(lacking).write_csv("new.csv")
    done = program("recalibrate", "new.csv", "--calibrator", FILE, "--save", "out.parquet")
    assert done.code == 0, done.err
    assert "missing scores stay missing: 'm' up to 3 rows" in done.out
    out = pl.read_parquet("out.parquet")
    for name in NAMES:
        assert out[f"m+temperature:{name}"].is_null().to_list() == [True] * 3 + [False] * 197
    expected = CALIBRATORS["temperature"].calibrate(probabilities(new)[3:])
    assert probabilities(out, "m+temperature")[3:] == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("positive", [[], ["--positive", "cat"]])
@pytest.mark.parametrize("method", CALIBRATORS)
def test_report_reads_probabilities_as_if_the_columns_were_there(
    method: str, positive: list[str], new: pl.DataFrame
) -> None:
    Path(FILE).write_text(calibrator_file(method).to_json(), encoding="utf-8")
    q = CALIBRATORS[method].calibrate(probabilities(new))
    columns = [pl.Series(f"m+{method}:{name}", q[:, k]) for k, name in enumerate(NAMES)]
    new.with_columns(columns).write_csv("there.csv")
    words = ["--reference", "m", *positive]
    actual = tables_of("report", "new.csv", "--model", "m", "--model", THROUGH, *words)
    check_close(actual, tables_of("report", "there.csv", *words))


@pytest.mark.parametrize("form", ["fit.csv", "permuted.csv", "reordered.csv"])
def test_rows_that_fitted_a_calibrator_are_refused_in_any_form(
    form: str, new: pl.DataFrame
) -> None:
    new.write_csv("fit.csv")
    new.sample(fraction=1, shuffle=True, seed=3).write_csv("permuted.csv")
    new.select("id", *(f"m:{name}" for name in reversed(NAMES)), "truth").write_csv("reordered.csv")
    assert program("recalibrate", "fit.csv", "--save", FILE, "-q").code == 0
    done = program("report", form, "--model", THROUGH, "--id", "id")
    assert (done.code, "[fitted-rows]" in done.err) == (3, True), done.err
    new[:-1].write_csv("fewer.csv")
    assert program("report", "fewer.csv", "--model", THROUGH, "--id", "id", "-q").code == 0


def variant(name: str) -> None:
    """Write a file of calibrators that differs from the usual one."""
    document = json.loads(Path(FILE).read_text(encoding="utf-8"))
    if name == "lacks.json":
        document["classes"] = ["ape", "bee", "cat"]
        document["calibrators"][0]["columns"] = document["calibrators"][0]["columns"][:3]
    elif name == "two.json":
        document = {
            "schema": "clfeval.calibrators/1",
            "positive": "ape",
            "rows": 10,
            "calibrators": [
                {
                    "model": "m",
                    "method": "shift",
                    "score_range": [0, 1],
                    "digest": "0",
                    "intercept": 1,
                    "power": 1,
                    "complement_power": 1,
                }
            ],
        }
    Path(name).write_text(json.dumps(document), encoding="utf-8")


REFUSED = {  # words after the command; code, exit code, words of the message and the hint
    "fewer classes": ("report new.csv --model m:lacks.json", "other-classes", 3, "'ape', 'bee'"),
    "a calibrator of two classes": (
        "report new.csv --model m:two.json",
        "bad-option",
        2,
        "needs a model with one score per row",
    ),
    "one score per row": (
        f"report scores.csv --positive ape --model {THROUGH}",
        "bad-option",
        2,
        "needs a column of probabilities for each class",
    ),
    "another engine": (
        f"report new.parquet --engine duckdb --model {THROUGH}",
        "no-sql",
        2,
        "by polars only",
    ),
    "a column of the name": (f"report twice.csv --model {THROUGH}", "column-exists", 3, "rename"),
    "SQL": ("recalibrate new.csv --save x.sql", "no-sql", 2, "more than two classes"),
    "a positive class": (
        f"recalibrate new.csv --positive ape --calibrator {FILE} --save x.csv",
        "bad-option",
        2,
        "--positive does not apply",
    ),
    "a class without column": (
        f"recalibrate narrow.csv --calibrator {FILE} --save x.csv",
        "no-models",
        3,
        "add 'm:dog'",
    ),
    "no probabilities": (
        f"recalibrate margins.csv --calibrator {FILE} --save x.csv",
        "not-probabilities",
        3,
        "margins.csv:",
    ),
    "divided by their sum": (
        "recalibrate shares.csv --renormalize --save x.calibrator.json",
        "no-calibrator",
        2,
        "are computed from other numbers",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_said(case: str, new: pl.DataFrame) -> None:
    for name in ("lacks.json", "two.json"):
        variant(name)
    words, code, number, part = REFUSED[case]
    table = words.split()[1]
    new.write_parquet("new.parquet")
    if table == "scores.csv":
        new.select("id", "truth", m="m:ape").write_csv(table)
    elif table == "twice.csv":
        new.with_columns(pl.lit(0.5).alias("m+temperature:cat")).write_csv(table)
    elif table == "narrow.csv":
        new.drop("m:dog").write_csv(table)
    elif table == "margins.csv":
        new.with_columns(pl.col("m:bee") * 8 - 2).write_csv(table)
    elif table == "shares.csv":
        new.with_columns(pl.col(f"m:{name}") * 7 for name in NAMES).write_csv(table)
    done = program(*words.split())
    assert (done.code, f"[{code}]" in done.err) == (number, True), done.err
    assert part in done.err
    assert not Path("x.csv").exists()


DAMAGE: dict[str, tuple[str, Any, str]] = {  # key of the calibrator, another value, the place
    "no power": ("power", None, "calibrators[0].power is missing"),
    "a falling power": ("power", -1, "calibrators[0]: the calibrator does not rise"),
    "a class that is not there": ("columns", [["emu", "m:emu"]], "calibrators[0].columns has none"),
    "half a pair": ("columns", [["ape"]], "calibrators[0].columns is not a list of pairs"),
    "a column twice": ("columns", [["ape", "x"], ["bee", "x"]], "is not a list of different texts"),
    "too few lines": ("lines", [[0, 1]], "calibrators[0].lines does not have one line a class"),
    "a line of one": ("lines", [[0]] * 4, "is not a pair of numbers"),
    "a falling line": ("lines", [[0, -1]] * 4, "calibrators[0]: the calibrator does not rise"),
    "a range outside": ("score_range", [0, 2], "is not a range within 0 to 1"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_named_with_its_place(case: str) -> None:
    key, value, place = DAMAGE[case]
    document = json.loads(calibrator_file().to_json())
    if value is None:
        del document["calibrators"][0][key]
    else:
        document["calibrators"][0][key] = value
    with pytest.raises(DataError) as caught:
        read_calibrators("x.json", json.dumps(document))
    assert "[damaged-file]" in str(caught.value)
    assert place in str(caught.value)


def test_a_file_needs_three_different_classes() -> None:
    document = json.loads(calibrator_file().to_json())
    for classes in (["ape", "bee"], ["ape", "ape", "bee"], [1, 2, 3], "ape"):
        with pytest.raises(DataError, match="classes"):
            read_calibrators("x.json", json.dumps({**document, "classes": classes}))


def test_python_gives_the_calibrators_that_a_file_has(new: pl.DataFrame) -> None:
    result = clfeval.recalibrate(new, method="one-vs-rest")
    result.save(FILE)
    p = probabilities(new)
    file = read_calibrators(FILE, Path(FILE).read_text(encoding="utf-8"))
    q = result.calibrators["m"].calibrate(p)
    assert q.shape == (200, 4)
    assert q.sum(axis=1) == pytest.approx(1)
    assert (file.by_model["m"].calibrate(p) == q).all()


def test_rows_with_a_missing_probability_are_dropped_through_a_calibrator(
    new: pl.DataFrame,
) -> None:
    new[3:].write_csv("fewer.csv")
    lacking = pl.when(pl.col("id") > 2).then(pl.col("m:bee")).alias("m:bee")
    new.with_columns(lacking).write_csv("new.csv")
    words = ["--model", THROUGH]
    actual = tables_of("report", "new.csv", *words, "--missing", "drop")
    check_close(actual["models"], tables_of("report", "fewer.csv", *words)["models"])
