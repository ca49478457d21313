"""Whether a stored calibrator was found to help: in its file, and wherever it is applied."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import clfeval
from clfeval.errors import DataError
from clfeval.records import replace
from clfeval.tables.calibrator_files import CalibratorFile, StoredGain, read_calibrators
from tests.methods.recalibrate.test_cross_fitting import random_table
from tests.methods.recalibrate.test_stored_calibrators import COMMANDS, FILE, THROUGH, stored
from tests.process.program import clfeval as program
from tests.results import limits_of, row_of, value_of
from tests.thoroughness import thinned

WITHOUT_LIMITS = ("count", "recalibrate")  # which have no choice of intervals
GAINS = {  # of a stored calibrator, and what a note says
    "helps": (StoredGain("helps", "log_loss", 0.05, 0.01, 0.09, 0.95), None),
    "harms": (
        StoredGain("harms", "log_loss", -0.05, -0.09, -0.01, 0.95),
        "harms: it raises the log loss of new rows; keep the scores",
    ),
    "undecided": (
        StoredGain("undecided", "brier", 0.01, -0.01, 0.03, 0.9),
        "is undecided: it may raise the Brier score of new rows; keep the scores, or get more rows",
    ),
    "none": (None, "has no verdict; whether it lowers the loss of new rows is unknown"),
}


def save_calibrator(case: str) -> None:
    """Write the file of a calibrator with a gain, and rows that it was not fitted to."""
    calibrator = replace(stored(), gain=GAINS[case][0])
    Path(FILE).write_text(CalibratorFile("1", [calibrator], 300).to_json(), encoding="utf-8")
    random_table(2, 300, slope=0.5).drop("patient").write_csv("new.csv")


def expected_notes(case: str) -> list[str]:
    """Return the notes on a calibrator with a gain of this case."""
    words = GAINS[case][1]
    return [] if words is None else [f"{FILE}: recalibration of 'gbm' {words}"]


def notes_of(*words: str) -> list[str]:
    """Return the notes on verdicts of a command."""
    done = program(*words, "-f", "json")
    assert done.code == 0, done.err
    warnings = json.loads(done.out)["warnings"]
    return [note["message"] for note in warnings if note["code"] == "calibrator-verdict"]


CASES = [(command, case) for case in GAINS for command in COMMANDS]


@pytest.mark.parametrize(
    ("command", "case"),
    thinned(CASES, [pair for pair in CASES if "report" in pair or "harms" in pair]),
)
def test_every_command_says_that_a_calibrator_was_not_found_to_help(
    command: str, case: str, folder: Path
) -> None:
    save_calibrator(case)
    words = (
        command.split() if command in WITHOUT_LIMITS else [*command.split(), "--interval", "none"]
    )
    notes = notes_of(*words, "new.csv", "--model", "gbm", "--model", THROUGH)
    assert notes == expected_notes(case)


@pytest.mark.parametrize("case", GAINS)
def test_a_table_with_its_column_says_so_too(case: str, folder: Path) -> None:
    save_calibrator(case)
    notes = notes_of("recalibrate", "new.csv", "--calibrator", FILE, "--save", "x.parquet")
    assert notes == expected_notes(case)


@pytest.mark.parametrize("slope", [0.4, 0.95])
def test_files_state_the_verdict_of_the_table(slope: float, folder: Path) -> None:
    table = random_table(1, 300, slope=slope)
    result = clfeval.recalibrate(table, positive="1", model="gbm", method="logistic", level=0.9)
    result.save("gbm.calibrator.json")
    result.save("gbm.sql")
    row = row_of(result, "models")
    document: Any = json.loads(Path("gbm.calibrator.json").read_text(encoding="utf-8"))
    (record,) = document["calibrators"]
    assert row["verdict"] == {0.4: "helps", 0.95: "undecided"}[slope]
    assert (document["rows"], record["verdict"], record["loss"]) == (
        300,
        row["verdict"],
        "log_loss",
    )
    value = value_of(row["gain"])
    low, high = limits_of(row["gain"])
    assert record["gain"] == {"value": value, "low": low, "high": high, "level": 0.9}
    comment, expression = Path("gbm.sql").read_text(encoding="utf-8").splitlines()
    assert comment.startswith(f"/* {row['verdict']}: the log loss of new rows falls by ")
    assert comment.endswith("; fitted to 300 rows */")
    assert f"{value:.3f} (90% CI {low:.3f} to {high:.3f})" in comment
    for text in (f"{comment}\n{expression}", f"{comment} {expression}"):  # lines may be joined
        ((score,),) = duckdb.sql(f"SELECT {text} FROM (SELECT 0.3e0 AS gbm)").fetchall()
        expected = float(result.calibrators["gbm"].calibrate(0.3))
        assert score == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("case", ["another prevalence", "too few rows"])
def test_what_was_not_judged_has_no_verdict(case: str, folder: Path) -> None:
    table = random_table(1, 300, slope=0.4)
    options: Any = {"prevalence": [0.1]}
    if case == "too few rows":
        is_positive = pl.col("truth") == 1
        table = pl.concat([table.filter(~is_positive), table.filter(is_positive).head(12)])
        options = {}
    result = clfeval.recalibrate(table, positive="1", model="gbm", **options)
    result.save("gbm.calibrator.json")
    result.save("gbm.sql")
    file = read_calibrators("x", Path("gbm.calibrator.json").read_text(encoding="utf-8"))
    assert [calibrator.gain for calibrator in file.calibrators] == [None]
    assert Path("gbm.sql").read_text(encoding="utf-8").startswith("/* no verdict; fitted to ")


def test_gains_are_read_back_as_they_were() -> None:
    for gain, _ in GAINS.values():
        text = CalibratorFile("1", [replace(stored(), gain=gain)], 300).to_json()
        (calibrator,) = read_calibrators("x", text).calibrators
        assert calibrator.gain == gain


def test_a_file_of_an_older_release_has_no_verdict() -> None:
    document: Any = json.loads(CalibratorFile("1", [stored()], 300).to_json())
    for key in ("verdict", "loss", "gain"):
        del document["calibrators"][0][key]
    (calibrator,) = read_calibrators("x", json.dumps(document)).calibrators
    assert calibrator.gain is None


DAMAGE = {
    "verdict": ("better", "calibrators[0].verdict is none of helps, harms, undecided"),
    "loss": ("mse", "calibrators[0].loss is none of log_loss, brier"),
    "gain": (3, "calibrators[0].gain is not an object"),
    "gain.low": ({"value": 0.1, "low": "x", "high": 1, "level": 0.95}, "calibrators[0].gain.low"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_gains_are_named_with_their_place(case: str) -> None:
    gain, _ = GAINS["helps"]
    document: Any = json.loads(CalibratorFile("1", [replace(stored(), gain=gain)], 300).to_json())
    value, words = DAMAGE[case]
    document["calibrators"][0][case.partition(".")[0]] = value
    with pytest.raises(DataError, match=re.escape(words)):
        read_calibrators("x.json", json.dumps(document))
