"""Scores that are log odds: read as probabilities by an option, and offered where they are not."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.errors import DataError, UsageError
from clfeval.tables.calibrator_files import CalibratorFile, read_calibrators
from tests.engines import ENGINES
from tests.methods.recalibrate.test_cross_fitting import random_table
from tests.methods.recalibrate.test_stored_calibrators import (
    COMMANDS,
    FILE,
    check_close,
    stored,
    tables_of,
)
from tests.process.program import clfeval as program
from tests.results import row_of, value_of

LOGIT = ["--model", "gbm:logit"]


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return probabilities of log odds, by their definition on the side where it is exact."""
    positive = 1 / (1 + np.exp(-np.maximum(x, 0)))
    e = np.exp(np.minimum(x, 0))
    return np.where(x >= 0, positive, e / (1 + e))


@pytest.fixture(name="log_odds_rows")
def _log_odds_rows(folder: Path) -> pl.DataFrame:
    """Return rows with log odds, in rows.csv; in probabilities.csv they are probabilities."""
    del folder
    table = random_table(2, 300, slope=0.5).select("id", "truth", "gbm")
    p = table["gbm"].to_numpy()
    x = np.round(np.log(p / (1 - p)), 4)
    table = table.with_columns(gbm=pl.Series(x))
    table.write_csv("rows.csv")
    table.with_columns(gbm=pl.Series(sigmoid(x))).write_csv("probabilities.csv")
    return table


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_log_odds_as_their_probabilities(
    command: str, log_odds_rows: pl.DataFrame
) -> None:
    del log_odds_rows
    words = [*command.split(), "rows.csv", *LOGIT]
    expected = tables_of(*command.split(), "probabilities.csv", "--model", "gbm")
    done = program(*words, "-f", "json", "-q")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    check_close(document["tables"], expected)
    warnings = document["warnings"]
    (note,) = (note["message"] for note in warnings if note["code"] == "log-odds")
    assert note.startswith("'gbm' is read as log odds")


def test_reversed_log_odds_are_those_of_minus_them(log_odds_rows: pl.DataFrame) -> None:
    log_odds_rows.with_columns(gbm=-pl.col("gbm")).write_csv("turned.csv")
    actual = tables_of("report", "turned.csv", *LOGIT, "--model", "gbm:reversed")
    check_close(
        actual["models"], tables_of("report", "probabilities.csv", "--model", "gbm")["models"]
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_frames_of_every_library_hold_log_odds(engine: str, log_odds_rows: pl.DataFrame) -> None:
    frame = log_odds_rows.select(pl.col("truth").cast(pl.String), "gbm")
    result = clfeval.report(ENGINES[engine](frame), model="gbm:logit", positive="1")
    (expected,) = tables_of("report", "probabilities.csv", "--model", "gbm")["models"]
    row = row_of(result, "models")
    for measure in ("roc_auc", "brier", "calibration_slope"):
        assert value_of(row[measure]) == pytest.approx(expected[measure]["value"], abs=1e-9)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_engines_and_parquet_read_them_alike(engine: str, log_odds_rows: pl.DataFrame) -> None:
    log_odds_rows.write_parquet("rows.parquet")
    pl.read_csv("probabilities.csv").write_parquet("probabilities.parquet")
    by_engine = ["--engine", engine]
    actual = tables_of("report", "rows.parquet", *LOGIT, *by_engine)["models"]
    check_close(
        actual, tables_of("report", "probabilities.parquet", "--model", "gbm", *by_engine)["models"]
    )


@pytest.mark.parametrize("scale", ["logit", "percent", "reversed"])
def test_columns_of_single_precision_are_read_by_their_decimals(
    scale: str, log_odds_rows: pl.DataFrame
) -> None:
    table = log_odds_rows
    if scale == "percent":
        table = table.with_columns(gbm=pl.Series(sigmoid(table["gbm"].to_numpy()) * 100).round(3))
    single = table.with_columns(pl.col("gbm").cast(pl.Float32))
    row, expected = (
        row_of(clfeval.report(frame, model=f"gbm:{scale}", positive="1"), "models")
        for frame in (single, table)
    )
    assert row == expected


def test_extreme_log_odds_are_0_and_1_and_missing_ones_stay_missing() -> None:
    x = [-1e308, -800.0, -40.0, 0.0, 40.0, 800.0, 1e308, None]
    frame = pl.DataFrame({"truth": list("00001111"), "gbm": x})
    result = clfeval.report(frame, model="gbm:logit", positive="1", missing="drop")
    row = row_of(result, "models")
    # losses: 0, 0, 0, 1/4 of score 0.5, 0, 0, 0 to 4e-18
    assert value_of(row["brier"]) == pytest.approx(0.25 / 7, abs=1e-12)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.9])
def test_thresholds_are_probabilities(threshold: float, log_odds_rows: pl.DataFrame) -> None:
    (row,) = tables_of("phidelta", "rows.csv", *LOGIT, "--threshold", f"{threshold}")["models"]
    flagged = sigmoid(log_odds_rows["gbm"].to_numpy()) >= threshold
    positive = log_odds_rows["truth"].to_numpy() == 1
    assert (row["tp"], row["fp"]) == ((flagged & positive).sum(), (flagged & ~positive).sum())


@pytest.mark.parametrize(("threshold", "proposed"), [("0", "0.5"), ("-2", "0.119203")])
def test_thresholds_of_log_odds_are_refused_with_their_probability(
    threshold: str, proposed: str, log_odds_rows: pl.DataFrame
) -> None:
    del log_odds_rows
    done = program("report", "rows.csv", *LOGIT, f"--threshold={threshold}")
    assert done.code == 2
    assert done.err.splitlines()[-1].endswith(f"are --threshold {proposed}")


def test_a_calibrator_of_log_odds_needs_them_again(log_odds_rows: pl.DataFrame) -> None:
    save = ["--method", "logistic", "--save", FILE, "--save", "m.sql", "-q"]
    assert program("recalibrate", "rows.csv", *LOGIT, *save).code == 0
    (calibrator,) = read_calibrators(FILE, Path(FILE).read_text(encoding="utf-8")).calibrators
    assert (calibrator.scale, calibrator.log_odds) == ((0.0, 1.0), True)
    x = log_odds_rows["gbm"].to_numpy()
    q = calibrator.calibrator.calibrate(sigmoid(x))
    expression = Path("m.sql").read_text(encoding="utf-8")
    with duckdb.connect() as connection:
        connection.register("rows", log_odds_rows)
        actual = connection.sql(f'SELECT {expression} FROM "rows"').pl()["gbm_logistic"]
    assert actual.to_numpy() == pytest.approx(q, abs=1e-12)
    added = ["--calibrator", FILE, "--save", "out.parquet", "-q"]
    assert program("recalibrate", "rows.csv", *LOGIT, *added).code == 0
    written = pl.read_parquet("out.parquet")
    assert written["gbm+logistic"].to_numpy() == pytest.approx(q, abs=1e-12)
    assert written["gbm"].cast(pl.Float64).to_list() == x.tolist()
    log_odds_rows.with_columns(truth=1 - pl.col("truth")).write_csv("other.csv")
    through = ["--model", f"gbm:{FILE}", "--positive", "1"]
    rows_by_model = {
        row["model"]: row for row in tables_of("report", "other.csv", *through, *LOGIT)["models"]
    }
    brier = np.mean((q - (1 - log_odds_rows["truth"].to_numpy())) ** 2)
    assert rows_by_model["gbm+logistic"]["brier"]["value"] == pytest.approx(brier, abs=1e-12)
    for words in (["report", "other.csv", *through], ["recalibrate", "other.csv", *added]):
        done = program(*words)
        assert (done.code, "[other-scale]" in done.err) == (3, True)
        assert "read as log odds, but here they are as they are" in done.err
        assert "hint: add --model gbm:logit" in done.err


def test_a_calibrator_of_probabilities_proposes_the_option(log_odds_rows: pl.DataFrame) -> None:
    del log_odds_rows
    Path(FILE).write_text(CalibratorFile("1", [stored()], 300).to_json(), encoding="utf-8")
    words = ["report", "rows.csv", "--model", f"gbm:{FILE}"]
    done = program(*words)
    assert (done.code, "if the scores are log odds, add --model gbm:logit" in done.err) == (3, True)
    assert program(*words, *LOGIT).code == 0
    added = program("recalibrate", "rows.csv", "--calibrator", FILE, "--save", "x.csv")
    assert (added.code, "log odds --model NAME:logit" in added.err) == (3, True)
    assert (
        program("recalibrate", "rows.csv", "--calibrator", FILE, "--save=x.csv", *LOGIT).code == 0
    )


def test_a_damaged_mark_of_log_odds_is_named() -> None:
    document: Any = json.loads(CalibratorFile("1", [stored()], 300).to_json())
    document["calibrators"][0]["log_odds"] = "yes"
    with pytest.raises(DataError, match="log_odds is not true or false"):
        read_calibrators("x.json", json.dumps(document))


@pytest.mark.parametrize("command", ["report", "recalibrate"])
def test_what_is_proposed_for_scores_below_0_ends_in_a_result(
    command: str, log_odds_rows: pl.DataFrame
) -> None:
    """It claims nothing of scores that have no values below 0."""
    words = [command, "rows.csv", "--model", "gbm"]
    screen = " ".join(program(*words).out.split())
    proposed = screen.partition("log odds, add ")[2].partition(" to read probabilities")[0]
    assert "if these are log odds" in screen
    assert shlex.split(proposed) == LOGIT
    actual = tables_of(*words, *shlex.split(proposed))["models"]
    check_close(actual, tables_of(command, "probabilities.csv", "--model", "gbm")["models"])
    log_odds_rows.with_columns(pl.col("gbm").abs() + 2).write_csv("distances.csv")
    assert "log odds" not in program(command, "distances.csv", "--model", "gbm").out


@pytest.mark.parametrize("command", ["report", "recalibrate"])
@pytest.mark.parametrize("kind", ["counts", "long"])
def test_where_the_option_does_not_apply_the_conversion_is_named(
    kind: str, command: str, log_odds_rows: pl.DataFrame
) -> None:
    name = "long.csv"
    log_odds_rows.select("id", "truth", model=pl.lit("gbm"), score="gbm").write_csv(name)
    if kind == "counts":
        name = "x.counts.parquet"
        assert program("count", "rows.csv", "--model", "gbm", "--save", name, "-q").code == 0
    screen = " ".join(program(command, name).out.split())
    assert "if these are log odds, 1 / (1 + exp(-x)) converts them to probabilities" in screen


REFUSED = {
    "percentages too": (["gbm:logit", "gbm:percent"], "cannot be combined"),
    "labels": (["rule:logit"], "needs a model with one score per row"),
    "an unknown model": (["gmb:logit"], "gmb"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_are_no_log_odds_is_refused(case: str, log_odds_rows: pl.DataFrame) -> None:
    models, words = REFUSED[case]
    labels = log_odds_rows.with_columns(rule=pl.when(pl.col("gbm") > 0).then(1).otherwise(0))
    with pytest.raises((UsageError, DataError), match=words):
        clfeval.report(labels, model=models, positive="1")
