"""What recalibrate says of awkward scores, and the files it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.errors import DataError, UsageError
from clfeval.measures.calibrators import LogOddsCalibrator, StepCalibrator, shift_log_odds
from clfeval.measures.venn_abers import VennAbersCalibrator
from clfeval.methods.recalibrate.files import sql_expression
from clfeval.tables.calibrator_files import StoredCalibrator, read_calibrators
from tests.methods.recalibrate.test_cross_fitting import random_table
from tests.process.program import clfeval as program
from tests.results import answers_of, row_of, rows_of, warning_codes, warning_messages

EXTREME = [0.0, 5e-324, 1e-300, 1e-17, 0.3, 0.5, 1 - 2.0**-53, 1.0]


def awkward(scores: Any, truth: Any | None = None) -> pl.DataFrame:
    """Return a table of model m beside a model that is well behaved."""
    table = random_table(1).select("id", "truth", good="gbm")
    y = table["truth"].to_numpy() if truth is None else truth
    values = scores(y) if callable(scores) else scores
    return table.with_columns(truth=pl.Series(y), m=pl.Series(values))


NOISE = np.random.default_rng(3).random(300)
AWKWARD = {  # scores of a model from the truth; the reason in its cells, and words of the answer
    "0 and 1 only": (lambda y: (0.3 + 0.4 * y > NOISE) * 1.0, "separation", "equal or separate"),
    "reversed": (lambda y: np.round(0.3 - 0.1 * y + 0.5 * NOISE, 3), "reversed_scores", "reverse"),
}


@pytest.mark.parametrize("case", AWKWARD)
def test_awkward_scores_have_a_reason_and_no_gain(case: str) -> None:
    scores, reason, words = AWKWARD[case]
    result = clfeval.recalibrate(awkward(scores), positive="1", model=["good", "m"])
    good, model = rows_of(result, "models")
    assert good["gain"].value is not None
    assert (model["gain"].value, model["gain"].reason, model["verdict"]) == (None, reason, None)
    assert any(words in sentence.text and "m" in sentence.models for sentence in result.answer)
    assert {row["model"] for row in rows_of(result, "mapping")} == {"good"}


def test_equal_scores_are_shifted_to_the_prevalence() -> None:
    result = clfeval.recalibrate(awkward(lambda y: 0.05 + 0 * y), positive="1", model=["good", "m"])
    row = row_of(result, "models", model="m")
    assert (row["method"], row["verdict"]) == ("shift", "helps")
    share = float(awkward(lambda y: 0 * y)["truth"].mean())
    assert result.calibrators["m"].calibrate(0.05) == pytest.approx(share)


def test_scores_outside_0_to_1_and_labels_have_a_reason() -> None:
    table = random_table(1).select("id", "truth", good="gbm")
    table = table.with_columns(logit=pl.col("good") * 9 - 4, rule=(pl.col("good") > 0.5) * 1)
    reasons = {"good": None, "rule": "needs_scores", "logit": "not_probabilities"}
    for names in (["good", "rule"], ["logit"]):
        result = clfeval.recalibrate(table, positive="1", model=names)
        for row in rows_of(result, "models"):
            assert row["gain"].reason == reasons[row["model"]]


def test_a_class_of_fewer_than_ten_rows_has_a_shift_only() -> None:
    truth = np.arange(300) < 9
    scores = np.where(truth, 0.5, 0.2) + 0.3 * NOISE
    result = clfeval.recalibrate(awkward(scores, truth * 1), positive="1")
    assert row_of(result, "methods", model="m")["method"] == "shift"
    row = row_of(result, "models", model="m")
    assert (row["gain"].reason, row["power"]) == ("too_few_rows", 1)
    assert "few-rows" in warning_codes(result)


def test_few_clusters_have_a_fit_without_a_gain() -> None:
    table = random_table(1).with_columns(patient=pl.col("patient") % 4)
    result = clfeval.recalibrate(table, positive="1", model="gbm", cluster="patient")
    row = row_of(result, "models")
    assert (row["gain"].value, row["gain"].reason) == (None, "few_clusters")
    assert len(result.tables["mapping"]) > 0
    (sentence,) = result.answer
    assert "4 clusters are too few, as limits of a gain need 5" in sentence.text
    assert "get rows of more clusters" in sentence.text


@pytest.mark.parametrize("clusters", [8, 19, 20])
@pytest.mark.parametrize("models", [["gbm"], ["gbm", "other"]])
def test_undecided_gains_of_few_clusters_say_what_follows(models: list[str], clusters: int) -> None:
    table = random_table(1, 300, slope=0.95).with_columns(patient=pl.col("id") % clusters)
    table = table.with_columns(other=pl.col("gbm"))
    result = clfeval.recalibrate(table, positive="1", model=models, cluster="patient")
    rows = rows_of(result, "models")
    assert {row["verdict"] for row in rows} == {"undecided"}
    (sentence,) = answers_of(result, "recalibration-undecided")
    says_so = f"limits of {clusters} clusters are wide" in sentence.text
    assert says_so == (clusters < 20)
    assert "clusters" in sentence.text or clusters == 20
    high = max(row["gain"].high for row in rows)
    assert (f"a fall of up to {high:.3f}" in sentence.text) or (len(models) == 1 and not says_so)


@pytest.mark.parametrize(("rows", "method"), [(999, "auto"), (1000, "auto"), (1000, "isotonic")])
def test_the_note_on_scores_of_0_and_1_names_what_the_rows_allow(rows: int, method: Any) -> None:
    table = random_table(1, rows).with_columns(
        gbm=pl.when(pl.col("id") % 10 == 0).then(pl.col("gbm").round(0)).otherwise("gbm")
    )
    result = clfeval.recalibrate(table, positive="1", model="gbm", method=method)
    (note,) = warning_messages(result, "scores-at-ends")
    assert ("isotonic" in note) == (rows == 1000)
    assert ("with fewer than 1,000 rows, or 10 of a class: get more rows" in note) == (rows < 1000)
    isotonic = clfeval.recalibrate(table, positive="1", model="gbm", method="isotonic")
    assert (row_of(isotonic, "models")["gain"].reason == "flexible_rows") == (rows < 1000)


def test_an_infinite_log_loss_is_decided_by_the_brier_score() -> None:
    table = random_table(2, slope=0.3)
    contradicted = pl.when((pl.col("truth") == 1) & (pl.col("gbm") < 0.05)).then(0.0)
    table = table.with_columns(gbm=contradicted.otherwise(pl.col("gbm")))
    result = clfeval.recalibrate(table, positive="1", model="gbm")
    row = row_of(result, "models")
    assert row["loss"] == "brier"
    assert row["log_loss_gain"].reason == "contradicted"
    assert row["gain"] == row["brier_gain"]
    rows = table.filter((pl.col("truth") == 1) & (pl.col("gbm") == 0)).height
    assert any(f"gbm {rows} row" in note.message for note in result.warnings)


REFUSED = {  # arguments after the table, what is in the message, exit code
    "labels only": (["labels.csv"], "every model has labels only [needs-scores]", 2),
    "one class": (["one.csv"], "no positive row", 3),
    "unknown method": (["rows.csv", "--method", "platt"], "--method", 2),
    "no fit to save": (["turned.csv", "--save", "x.sql"], "none could be fitted", 2),
    "a name that needs quotes": (["named.csv", "--save", "x.sql"], "needs quotes in SQL", 2),
    "a reserved word": (["select.csv", "--save", "x.sql"], "needs quotes in SQL", 2),
    "steps without SQL": (
        ["many.csv", "--method", "venn-abers", "--save", "x.sql"],
        "use --save NAME.calibrator.json or --method isotonic",
        2,
    ),
    "another command": (["rows.csv", "--save", "x.counts.parquet"], "only `count` writes", 2),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_done_is_said(case: str, folder: Path) -> None:
    table = random_table(1).select("id", "truth", "gbm")
    table.write_csv("rows.csv")
    table.with_columns(gbm=(pl.col("gbm") > 0.5) * 1).write_csv("labels.csv")
    table.with_columns(truth=0).write_csv("one.csv")
    table.with_columns(gbm=1 - pl.col("gbm")).write_csv("turned.csv")
    random_table(1, 1000).select("id", "truth", "gbm").write_csv("many.csv")
    table.rename({"gbm": "my model"}).write_csv("named.csv")
    table.rename({"gbm": "select"}).write_csv("select.csv")
    arguments, words, code = REFUSED[case]
    done = program("recalibrate", *arguments, "--positive", "1")
    assert (done.code, words in done.err) == (code, True), done.err
    assert not Path("x.sql").exists()


UNWRITTEN = ("no fit to save", "a name that needs quotes", "a reserved word")


@pytest.mark.parametrize("case", UNWRITTEN)
def test_an_answer_is_printed_where_its_calibrator_cannot_be_written(
    case: str, folder: Path
) -> None:
    table = random_table(1).select("id", "truth", "gbm")
    table.with_columns(gbm=1 - pl.col("gbm")).write_csv("turned.csv")
    table.rename({"gbm": "my model"}).write_csv("named.csv")
    table.rename({"gbm": "select"}).write_csv("select.csv")
    (name, *options), words, code = REFUSED[case]
    alone = program("recalibrate", name, "--positive", "1")
    done = program("recalibrate", name, *options, "--save", "x.json", "--positive", "1")
    assert alone.code == 0
    assert (done.code, done.out) == (code, alone.out)
    assert done.err.index(name) < done.err.index(words)
    assert not Path("x.json").exists()
    as_json = program("recalibrate", name, *options, "--positive", "1", "-f", "json")
    assert json.loads(as_json.out)["command"] == "recalibrate"


def test_sql_of_a_method_that_has_none_is_refused_before_a_table_is_read(folder: Path) -> None:
    done = program("recalibrate", "gone.csv", "--method", "venn-abers", "--save", "X.SQL")
    assert (done.code, done.out, "[no-sql]" in done.err) == (2, "", True)
    random_table(1).select("id", "truth", "gbm").write_csv("rows.csv")
    run = {"command": "recalibrate", "input": "rows.csv", "method": "venn-abers", "save": "x.sql"}
    Path("b.yaml").write_text(json.dumps({"version": 1, "runs": {"a": run}}), encoding="utf-8")
    batch = program("batch", "b.yaml", "-q")
    assert (batch.code, "venn-abers has no SQL expression" in batch.out) == (2, True)


@pytest.mark.parametrize("method", ["logistic", "isotonic", "venn-abers"])
def test_saved_calibrators_are_read_back(method: str, folder: Path) -> None:
    table = random_table(1, 1000, slope=0.4)
    result = clfeval.recalibrate(table, positive="1", model="gbm", method=method)
    result.save("gbm.calibrator.json")
    file = read_calibrators("gbm.calibrator.json", Path("gbm.calibrator.json").read_text())
    (stored,) = file.calibrators
    assert file.positive == "1"
    assert (stored.model, stored.method) == ("gbm", method)
    assert stored.column == f"gbm+{method}"
    mapping = pl.DataFrame(result.tables["mapping"])
    places = mapping["probability"].to_numpy()
    assert stored.calibrator.calibrate(places).tolist() == mapping["recalibrated"].to_list()
    if isinstance(stored.calibrator, VennAbersCalibrator):
        limits = [part.tolist() for part in stored.calibrator.limits(places)]
        assert limits == [mapping[name].to_list() for name in ("low", "high")]
    else:
        assert mapping["low"].null_count() == mapping["high"].null_count() == len(mapping)


DAMAGE = {  # path into the file, another value
    "parameters": (("calibrators", 0, "power"), "x"),
    "a falling calibrator": (("calibrators", 0, "power"), -1.0),
    "no digest": (("calibrators", 0, "digest"), None),
    "scores that fall": (("calibrators", 1, "scores"), [0.4, 0.2]),
    "too few limits": (("calibrators", 1, "p0"), [0, 0.1, 0.2]),
    "limits that fall": (("calibrators", 1, "p1"), [0.5, 0.4, 0.6, 0.8, 1]),
    "limits that cross": (("calibrators", 1, "p0"), [0, 0.9, 0.9, 0.9, 0.9]),
    "a limit above 1": (("calibrators", 1, "p1"), [0.3, 0.4, 0.6, 0.8, 1.1]),
    "a missing limit": (("calibrators", 1, "p1"), None),
    "another schema": (("schema",), "clfeval.calibrators/9"),
    "no range": (("calibrators", 0, "score_range"), [0.5]),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_calibrators_are_refused(case: str) -> None:
    document = {
        "schema": "clfeval.calibrators/1",
        "positive": "1",
        "rows": 9,
        "calibrators": [
            {
                "model": "gbm",
                "method": "logistic",
                "score_range": [0.1, 0.9],
                "digest": "0" * 64,
                "intercept": 0.1,
                "power": 1.2,
                "complement_power": 1.2,
            },
            {
                "model": "forest",
                "method": "venn-abers",
                "score_range": [0.1, 0.9],
                "digest": "0" * 64,
                "scores": [0.2, 0.4],
                "p0": [0, 0.1, 0.1, 0.3, 0.5],
                "p1": [0.3, 0.4, 0.6, 0.8, 1],
            },
        ],
    }
    text = json.dumps(document)
    assert len(read_calibrators("x.calibrator.json", text).calibrators) == 2
    place: Any = document
    path, value = DAMAGE[case]
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    with pytest.raises(DataError):
        read_calibrators("x.calibrator.json", json.dumps(document))


CALIBRATORS = {
    "logistic": LogOddsCalibrator(0.6391112515935915, 1.2043345487510346, 1.2043345487510346),
    "beta": LogOddsCalibrator(-0.2254618, 0.9172188, 1.9521475),
    "steep": LogOddsCalibrator(3.5, 40.0, 40.0),
    "isotonic": StepCalibrator(
        np.array([0.1, 0.2, 0.2001, 0.9]), np.array([0.05, 0.05, 0.3, 0.95])
    ),
}


@pytest.mark.parametrize("name", CALIBRATORS)
@pytest.mark.parametrize("rows", [1000, pytest.param(10**6, marks=pytest.mark.slow)])
def test_sql_gives_the_numbers_of_the_calibrator(name: str, rows: int) -> None:
    calibrator = CALIBRATORS[name]
    stored = StoredCalibrator("gbm", name, calibrator, (0.0, 1.0), "")
    scores = np.append(np.random.default_rng(1).random(rows), EXTREME)
    table = pl.DataFrame({"gbm": [*scores.tolist(), None]})
    query = f"SELECT {sql_expression(stored)} AS q FROM table"
    with duckdb.connect() as connection:
        connection.register("table", table)
        column = connection.sql(query.replace("FROM table", 'FROM "table"')).pl()["q"]
    assert column[-1] is None
    assert column[:-1].to_numpy() == pytest.approx(calibrator.calibrate(scores), abs=1e-12)


def test_another_prevalence_moves_the_log_odds_by_the_ratio_of_odds() -> None:
    """Rows have prevalence p; at 1:49 the log odds fall by ln(p / (1 - p)) + ln 49."""
    table = random_table(1, slope=0.4)
    plain, shifted = (
        clfeval.recalibrate(table, positive="1", model="gbm", method="logistic", prevalence=pi)
        for pi in (None, "1:49")
    )
    positives = int(table["truth"].sum())
    shift = -np.log(49) - np.log(positives / (300 - positives))
    p = np.array([0.1, 0.5, 0.9])
    before, after = (result.calibrators["gbm"].calibrate(p) for result in (plain, shifted))
    assert np.log(after / (1 - after)) - np.log(before / (1 - before)) == pytest.approx(shift)
    assert plain.tables["models"] == shifted.tables["models"]
    assert any("label shift" in sentence.text for sentence in shifted.answer)


def test_steps_are_shifted_at_their_knots() -> None:
    steps = StepCalibrator(np.array([0.2, 0.6]), np.array([0.0, 0.5]))
    shifted = shift_log_odds(steps, np.log(3))
    assert shifted.calibrate([0.2, 0.6]) == pytest.approx([0, 0.75])


def test_one_calibrator_is_for_one_prevalence() -> None:
    with pytest.raises(UsageError, match="is one number here"):
        clfeval.recalibrate(random_table(1), positive="1", model="gbm", prevalence=[0.1, 0.2])
