"""Stored calibrators: scores read through them in every command, and tables with their columns."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.errors import DataError
from clfeval.measures.calibrators import Calibrator, LogOddsCalibrator, StepCalibrator
from clfeval.methods.recalibrate.files import sql_expression
from clfeval.tables.calibrator_files import CalibratorFile, StoredCalibrator, read_calibrators
from clfeval.tables.frames import nw
from clfeval.tables.readings.calibrated_scores import with_calibrated_column
from tests.engines import ENGINES
from tests.methods.recalibrate.test_command import CALIBRATORS, EXTREME
from tests.methods.recalibrate.test_cross_fitting import random_table
from tests.process.program import clfeval as program
from tests.results import warning_messages

LOGISTIC = LogOddsCalibrator(0.25, 0.5, 0.5)
FILE = "m.calibrator.json"
THROUGH = f"gbm:{FILE}"


def stored(
    calibrator: Calibrator = LOGISTIC, method: str = "logistic", model: str = "gbm"
) -> StoredCalibrator:
    """Return a calibrator of a model, fitted to rows that no test has."""
    return StoredCalibrator(model, method, calibrator, (0.05, 0.95), "0" * 64)


@pytest.fixture(name="new")
def _new(folder: Path) -> pl.DataFrame:
    """Return rows that no calibrator was fitted to, in new.csv, with the file of a calibrator."""
    del folder
    table = random_table(2, 300, slope=0.5).with_columns(other=pl.col("gbm").sqrt().round(3))
    table.write_csv("new.csv")
    Path(FILE).write_text(CalibratorFile("1", [stored()], 300).to_json(), encoding="utf-8")
    return table


def check_close(part: Any, expected: Any) -> None:
    """Check that two documents are equal, their numbers to 1e-9."""
    if isinstance(expected, Mapping):
        assert part.keys() == expected.keys()
        for key, value in expected.items():
            check_close(part[key], value)
    elif isinstance(expected, list):
        assert len(part) == len(expected)
        for element, expected_element in zip(part, expected, strict=True):
            check_close(element, expected_element)
    elif isinstance(expected, float) and isinstance(part, (int, float)):
        assert part == pytest.approx(expected, rel=1e-9, abs=1e-9)
    else:
        assert part == expected


def tables_of(*words: str) -> Any:
    """Return the tables of a command."""
    done = program(*words, "-f", "json", "-q")
    assert done.code == 0, done.err
    return json.loads(done.out)["tables"]


COMMANDS = (
    "report",
    "mars",
    "phidelta",
    "tune-jpt",
    "count",
    "recalibrate",
    "mlcps --from predictions",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_scores_as_if_the_column_were_there(
    command: str, new: pl.DataFrame
) -> None:
    ready = new.with_columns(pl.Series("gbm+logistic", LOGISTIC.calibrate(new["gbm"].to_numpy())))
    ready.select("id", "truth", "gbm", "gbm+logistic", "other", "patient").write_csv("ready.csv")
    both = ["--model", "gbm", "--model"]
    actual = tables_of(*command.split(), "new.csv", *both, THROUGH)
    check_close(actual, tables_of(*command.split(), "ready.csv", *both, "gbm+logistic"))


@pytest.mark.parametrize("models", [["gbm", THROUGH], [THROUGH], [THROUGH, "other"]])
@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_long_tables_are_read_as_wide_ones(kind: str, models: list[str], new: pl.DataFrame) -> None:
    scores = [new.select("id", "truth", model=pl.lit(n), score=n) for n in ("gbm", "other")]
    long = pl.concat(scores)
    long.write_csv("long.csv")
    long.write_parquet("long.parquet")
    words = ["--positive", "1", *(word for name in models for word in ("--model", name))]
    actual = tables_of("report", f"long{kind}", *words)
    wide = tables_of("report", "new.csv", "--id", "id", *words)
    for table in ("models", "calibration"):
        by_model = [
            sorted(tables[table], key=lambda row: row["model"]) for tables in (actual, wide)
        ]
        check_close(*by_model)


def test_a_reference_compares_the_model_with_itself_recalibrated(new: pl.DataFrame) -> None:
    both = ["--model", "gbm", "--model", THROUGH]
    rows = tables_of("report", "new.csv", *both, "--reference", "gbm")["comparisons"]
    assert {(row["model"], row["reference"]) for row in rows} == {("gbm+logistic", "gbm")}
    alone = tables_of("report", "new.csv", "--model", THROUGH)["models"]
    assert [row["model"] for row in alone] == ["gbm+logistic"]
    cuts = ["--threshold", "gbm+logistic=0.3"]
    (row,) = tables_of("phidelta", "new.csv", "--model", THROUGH, *cuts)["models"]
    flagged = LOGISTIC.calibrate(new["gbm"].to_numpy()) >= 0.3
    positive = new["truth"].to_numpy() == 1
    assert (row["tp"], row["fp"]) == ((flagged & positive).sum(), (flagged & ~positive).sum())


@pytest.mark.parametrize(
    ("names", "models"),
    [
        (["gbm:FILE"], {"gbm+logistic"}),
        (["*:FILE"], {"gbm+logistic"}),
        (["other", "*:FILE"], {"other", "gbm+logistic"}),
        (["*", "gbm:FILE"], {"gbm", "other", "gbm+logistic"}),
        (["*", "*:FILE"], {"gbm", "other", "gbm+logistic"}),
        (["g*", "gbm:FILE"], {"gbm", "gbm+logistic"}),
    ],
)
def test_models_are_named_with_and_without_a_calibrator(
    names: list[str], models: set[str], new: pl.DataFrame
) -> None:
    new.drop("patient").write_csv("two.csv")
    words = [word for name in names for word in ("--model", name.replace("FILE", FILE))]
    options = ["--id", "id", "--positive", "1", "--interval", "none"]
    actual = tables_of("report", "two.csv", *options, *words)["models"]
    assert {row["model"] for row in actual} == models


@pytest.mark.parametrize("scale", ["percent", "reversed"])
def test_a_calibrator_changes_scores_as_they_are_evaluated(scale: str, new: pl.DataFrame) -> None:
    table = new.with_columns(gbm=pl.col("gbm") * 100 if scale == "percent" else 1 - pl.col("gbm"))
    table.write_csv("scaled.csv")
    words = ["--model", f"gbm:{scale}", "--model", THROUGH, "--positive", "1"]
    actual = tables_of("report", "scaled.csv", *words)["models"]
    plain = ["--model", "gbm", "--model", THROUGH, "--positive", "1"]
    check_close(actual, tables_of("report", "new.csv", *plain)["models"])


SCALES = {  # option, the column from probabilities, words of the error
    "percent": ("gbm:percent", lambda p: p * 100, "divided by 100, but here they are as they are"),
    "reversed": ("gbm:reversed", lambda p: 1 - p, "subtracted from 1, but here they are as they"),
}


@pytest.mark.parametrize("scale", SCALES)
def test_a_calibrator_is_for_scores_on_the_scale_it_was_fitted_to(scale: str, folder: Path) -> None:
    """Also its SQL: probabilities p are 100 p or 1 - p in the column."""
    del folder
    option, column_of, words = SCALES[scale]
    table = random_table(1, 300, slope=0.4).rename({"gbm": "p"})
    p = table["p"].to_numpy()
    table = table.with_columns(gbm=pl.Series(column_of(p))).drop("p")
    table.write_csv("fit.csv")
    fit = ["--model", option, "--method", "logistic", "--save", FILE, "--save", "m.sql", "-q"]
    assert program("recalibrate", "fit.csv", "--id", "id", *fit).code == 0
    file = read_calibrators(FILE, Path(FILE).read_text(encoding="utf-8"))
    q = file.by_model["gbm"].calibrate(p)
    other = table.with_columns(truth=1 - pl.col("truth"))
    other.write_csv("other.csv")
    arguments = ["--id", "id", "--positive", "1", "--model", THROUGH]
    tables_of("report", "other.csv", *arguments, "--model", option)
    save = ["--calibrator", FILE, "--save", "out.parquet", "-q"]
    assert program("recalibrate", "other.csv", *save, "--model", option).code == 0
    assert pl.read_parquet("out.parquet")["gbm+logistic"].to_numpy() == pytest.approx(q, abs=1e-12)
    expression = Path("m.sql").read_text(encoding="utf-8")
    with duckdb.connect() as connection:
        connection.register("rows", table)
        actual = connection.sql(f'SELECT id, {expression} FROM "rows" ORDER BY id').pl()
    assert actual["gbm_logistic"].to_numpy() == pytest.approx(q, abs=1e-12)
    random_table(3).write_csv("plain.csv")
    for command in (["report", "plain.csv", *arguments], ["recalibrate", "plain.csv", *save]):
        done = program(*command)
        assert (done.code, "[other-scale]" in done.err, words in done.err) == (3, True, True)
        assert f"add --model {option}" in done.err


@pytest.mark.parametrize("engine", ENGINES)
def test_frames_of_every_library_are_read_through_calibrators(
    engine: str, new: pl.DataFrame
) -> None:
    frame = new.select(truth=pl.col("truth").cast(pl.String), gbm="gbm")
    actual = clfeval.report(ENGINES[engine](frame), model=["gbm", THROUGH], positive="1")
    expected = clfeval.report(new.drop("id"), model=["gbm", THROUGH], positive="1")
    check_close(actual.frame("models").to_dicts(), expected.frame("models").to_dicts())
    note = warning_messages(actual, "recalibrated")[0]
    assert note == f"'gbm+logistic' has the scores of 'gbm' as {FILE} recalibrates them"


SCORES = [*EXTREME, *np.random.default_rng(4).random(300).tolist()]
KNOTS = np.sort(np.random.default_rng(5).random((2, 1500)), axis=1)
MORE_CALIBRATORS = {
    **CALIBRATORS,
    "one knot": StepCalibrator(np.array([0.4]), np.array([0.3])),
    "many knots": StepCalibrator(*KNOTS),
}


@pytest.mark.parametrize("name", MORE_CALIBRATORS)
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_expressions_give_the_numbers_of_the_calibrator(engine: str, name: str) -> None:
    calibrator = MORE_CALIBRATORS[name]
    frame = pl.DataFrame({"row": range(len(SCORES) + 1), "p": [*SCORES, None]})
    rows = with_calibrated_column(
        nw.from_native(ENGINES[engine](frame)).lazy(), "p", "q", calibrator
    )
    actual = rows.collect().to_polars().sort("row")["q"]
    assert actual[-1] is None
    assert actual[:-1].to_numpy() == pytest.approx(calibrator.calibrate(SCORES), abs=1e-12)


@pytest.mark.slow
def test_json_sql_and_expressions_agree_on_a_million_scores_in_engines(folder: Path) -> None:
    """Of DuckDB, and of Spark where Java is installed."""
    scores = np.append(np.random.default_rng(1).random(10**6), EXTREME)
    pl.DataFrame({"row": np.arange(len(scores)), "gbm": scores}).write_parquet("scores.parquet")
    frames: dict[str, Any] = {"duckdb": duckdb.sql("select * from 'scores.parquet'")}
    if shutil.which("java") is not None or "JAVA_HOME" in os.environ:
        session = pytest.importorskip("pyspark.sql").SparkSession
        building = session.builder.master("local[1]").config("spark.ui.enabled", "false")
        frames["spark"] = building.getOrCreate().read.parquet(str(folder / "scores.parquet"))
    for engine, frame in frames.items():
        for name, calibrator in CALIBRATORS.items():
            rows = with_calibrated_column(nw.from_native(frame).lazy(), "gbm", "q", calibrator)
            expression = sql_expression(stored(calibrator, name))
            if engine == "spark":
                native = rows.to_native().selectExpr("row", "q", f"{expression} AS s")
            else:
                native = rows.to_native().project(f"row, q, {expression} AS s")
            actual = nw.from_native(native).lazy().collect().to_polars().sort("row")
            for column in "qs":
                wrong = np.abs(actual[column].to_numpy() - calibrator.calibrate(scores)).max()
                assert wrong <= 1e-12, (engine, name, column)


def test_columns_of_single_precision_are_calibrated_by_their_decimals(new: pl.DataFrame) -> None:
    single = new.with_columns(pl.col("gbm").cast(pl.Float32))
    actual = clfeval.report(single, model=THROUGH, positive="1", id="id")
    expected = clfeval.report(new, model=THROUGH, positive="1", id="id")
    assert actual.tables["models"] == expected.tables["models"]


FORMS = ("same file", "other order", "parquet", "packed", "other columns", "long", "duckdb")


@pytest.mark.parametrize("cluster", ["", "patient"])
def test_rows_that_fitted_a_calibrator_are_refused_in_any_form(cluster: str, folder: Path) -> None:
    del folder
    table = random_table(1, 300, slope=0.4)
    table.write_csv("fit.csv")
    arguments = ["--cluster", cluster] if cluster else []
    saved = ["--save", FILE, "--method", "logistic", "-q"]
    assert program("recalibrate", "fit.csv", "--model", "gbm", *arguments, *saved).code == 0
    mixed = table.sample(fraction=1, shuffle=True, seed=1)
    mixed.write_csv("other order")
    table.write_parquet("parquet")
    Path("packed").write_bytes(gzip.compress(Path("fit.csv").read_bytes()))
    mixed.with_columns(id=pl.col("id") + 7, more=pl.lit("x")).write_csv("other columns")
    shutil.copy("fit.csv", "same file")
    parts = [table.select("id", "truth", model=pl.lit(n), score="gbm") for n in ("gbm", "rf")]
    pl.concat(parts).write_csv("long")
    table.write_parquet("duckdb")
    for form in FORMS:
        words = ["--engine", "duckdb"] if form == "duckdb" else []
        done = program("report", form, "--model", THROUGH, "--id", "id", *words)
        assert (done.code, "[fitted-rows]" in done.err) == (3, True), (form, done.err)
    table[:-1].write_csv("fewer.csv")
    table.with_columns(truth=1 - pl.col("truth")).write_csv("turned.csv")
    for other in ("fewer.csv", "turned.csv"):
        words = ["--model", THROUGH, "--id", "id", "--interval", "none", "-q"]
        assert program("report", other, *words).code == 0
    words = ["--calibrator", FILE, "--save", "out.csv", "-q"]
    assert program("recalibrate", "fit.csv", *words).code == 0


def variant(name: str) -> None:
    """Write a file of calibrators that differs from the usual one."""
    document = json.loads(Path(FILE).read_text(encoding="utf-8"))
    (record,) = document["calibrators"]
    if name == "other.json":
        record["model"] = "gbn"
    elif name == "class.json":
        document["positive"] = "0"
    elif name == "schema.json":
        document["schema"] = "clfeval.result/1"
    elif name == "falling.json":
        record["power"] = -1
    elif name == "names.json":
        record["model"] = "patient"
    elif name == "word.json":
        record["model"] = "word"
    Path(name).write_text(json.dumps(document), encoding="utf-8")


VARIANTS = ("other.json", "class.json", "schema.json", "falling.json", "names.json", "word.json")
REFUSED = {  # words after the command; code, exit code, words of the message and the hint
    "no file": ("report new.csv --model gbm:x.json", "no-such-file", 3, "x.json: no such file of"),
    "nearly the name": (
        "report new.csv --model gbm:n.calibrator.json",
        "no-such-file",
        3,
        f"did you mean '{FILE}'?",
    ),
    "a model without calibrator": (
        "report new.csv --model gbm:other.json",
        "no-calibrator",
        3,
        "did you mean 'gbn'?",
    ),
    "another class": (
        "report new.csv --model gbm:class.json",
        "other-positive",
        3,
        "fitted with positive class '0', but here it is '1'",
    ),
    "another schema": ("report new.csv --model gbm:schema.json", "other-schema", 3, "recalibrate"),
    "damage": (
        "report new.csv --model gbm:falling.json",
        "damaged-file",
        3,
        "calibrators[0].power: the calibrator does not rise",
    ),
    "labels": ("report labels.csv --model word:word.json", "bad-option", 2, "'word' has labels"),
    "scores outside 0 to 1": (
        f"report margins.csv --model {THROUGH} --threshold 0.5",
        "not-probabilities",
        3,
        "a calibrator needs probabilities, but a score is",
    ),
    "no such column": (f"report new.csv --model gb:{FILE}", "unknown-model", 2, "gbm"),
    "a column of the name": (f"report twice.csv --model {THROUGH}", "column-exists", 3, "rename"),
    "counts": (f"report n.counts.parquet --model {THROUGH}", "needs-predictions", 2, "count"),
    "joined files": (
        f"report a=new.csv b=new.csv --join id --model {THROUGH}",
        "bad-option",
        2,
        "--join cannot be combined",
    ),
    "three classes": (
        f"report three.csv --model {THROUGH}",
        "positive-needed",
        3,
        "which class is positive?",
    ),
    "not saved": (f"recalibrate new.csv --calibrator {FILE}", "no-output", 2, "--save NAME"),
    "saved as a table of the result only": (
        f"recalibrate new.csv --calibrator {FILE} --save x.json",
        "no-output",
        2,
        "which is not saved",
    ),
    "rows without calibrator": (
        "recalibrate new.csv --save x.parquet",
        "bad-suffix",
        2,
        "recalibrate --calibrator FILE",
    ),
    "truth": (
        f"recalibrate new.csv --calibrator {FILE} --truth truth --save x.csv",
        "bad-option",
        2,
        "--truth does not apply",
    ),
    "a method": (
        f"recalibrate new.csv --calibrator {FILE} --method beta --save x.csv",
        "bad-option",
        2,
        "--method does not apply",
    ),
    "another class to add": (
        f"recalibrate new.csv --calibrator {FILE} --positive 0 --save x.csv",
        "other-positive",
        3,
        "'1', not '0'",
    ),
    "no model there": (
        "recalibrate new.csv --calibrator other.json --save x.csv",
        "no-models",
        3,
        "did you mean 'gbm'?",
    ),
    "a column of the name to add": (
        f"recalibrate twice.csv --calibrator {FILE} --save x.csv",
        "column-exists",
        3,
        "rename",
    ),
    "margins to add": (
        f"recalibrate margins.csv --calibrator {FILE} --save x.csv",
        "not-probabilities",
        3,
        "margins.csv:2: column 'gbm'",
    ),
    "words to add": (
        "recalibrate labels.csv --calibrator word.json --save x.csv",
        "bad-number",
        3,
        "labels.csv:2: column 'word': 'yes' is not a number",
    ),
    "the file itself": (
        f"recalibrate new.csv --calibrator {FILE} --save {FILE} --save x.csv",
        "output",
        2,
        "would overwrite an input file",
    ),
    "the file of --model": (
        f"recalibrate new.csv --model {THROUGH} --save {FILE}",
        "output",
        2,
        "would overwrite an input file",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_said(case: str, new: pl.DataFrame) -> None:
    for name in VARIANTS:
        variant(name)
    words, code, number, part = REFUSED[case]
    name = words.split()[1]
    if name == "labels.csv":
        new.with_columns(word=pl.lit("yes")).with_columns(
            truth=pl.when(pl.col("truth") == 1).then(pl.lit("yes")).otherwise(pl.lit("no"))
        ).write_csv(name)
    elif name == "margins.csv":
        new.with_columns(gbm=pl.col("gbm") * 8 - 6).write_csv(name)
    elif name == "twice.csv":
        new.with_columns(pl.lit(0.5).alias("gbm+logistic")).write_csv(name)
    elif name == "three.csv":
        new.with_columns(truth=pl.col("id") % 3).write_csv(name)
    elif name == "n.counts.parquet":
        assert program("count", "new.csv", "--model", "gbm", "--save", name, "-q").code == 0
    done = program(*words.split())
    assert (done.code, f"[{code}]" in done.err) == (number, True), done.err
    assert part in done.err
    assert not Path("x.csv").exists()


DAMAGE = {  # path into the file, another value (None: none), the place that is named
    "no text": ((), "{", "Expecting"),
    "a list": ((), "[]", "is not a file of calibrators of schema"),
    "no calibrators": (("calibrators",), None, "calibrators is missing"),
    "no object": (("calibrators", 0), 3, "calibrators[0] is not an object"),
    "no number": (("calibrators", 0, "power"), "x", "calibrators[0].power is not a finite number"),
    "infinity": (("calibrators", 0, "intercept"), 1e999, "calibrators[0].intercept is not a"),
    "a truth value": (("rows",), True, "rows is not a finite number"),
    "no class": (("positive",), 1, "positive is not a text"),
    "one limit": (("calibrators", 0, "score_range"), [0.5], "calibrators[0].score_range is not a"),
    "a range outside": (("calibrators", 0, "score_range"), [0.5, 2], "is not a range within 0"),
    "half a scale": (("calibrators", 0, "scale"), [1], "calibrators[0].scale is not a pair"),
    "a scale of 0": (("calibrators", 0, "scale"), [1, 0], "calibrators[0].scale divides by 0"),
    "no knots": (("calibrators", 0, "knots"), [], "calibrators[0].knots is empty"),
    "falling knots": (("calibrators", 0, "knots"), [[0.1, 0.5], [0.2, 0.4]], "knots[1] does not"),
    "a knot outside": (("calibrators", 0, "knots"), [[0.1, 1.5]], "knots[0] is not in 0 to 1"),
    "half a knot": (("calibrators", 0, "knots"), [[0.1]], "knots[0] is not a pair of numbers"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_named_with_its_place(case: str) -> None:
    document: Any = json.loads(CalibratorFile("1", [stored()], 300).to_json())
    path, value, words = DAMAGE[case]
    text = value
    if path:
        place = document
        for key in path[:-1]:
            place = place[key]
        if value is None:
            del place[path[-1]]
        else:
            place[path[-1]] = value
        text = json.dumps(document)
    with pytest.raises(DataError, match=re.escape(words)):
        read_calibrators("x.json", text)


def test_a_model_has_one_calibrator_in_a_file() -> None:
    with pytest.raises(DataError, match="a model has several"):
        read_calibrators("x.json", CalibratorFile("1", [stored(), stored()], 300).to_json())


def test_files_are_read_back_as_they_were() -> None:
    calibrators = [stored(each, name, name) for name, each in MORE_CALIBRATORS.items()]
    text = CalibratorFile("ja", calibrators, 300).to_json()
    again = read_calibrators("x.json", text)
    assert again.to_json().replace("300.0", "300") == text


CELLS = (
    'code,gbm,note,n\n007,0.2,"a, b",1e3\n 8 ,,"say ""x""",\n'
    "09,1.0,,0\n10,0.99,é,-0\n11,0.01,line,1\n12,0,NA,x\n"
)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".ndjson"])
def test_cells_are_copied_as_they_are(suffix: str, new: pl.DataFrame) -> None:
    del new
    Path("cells.csv").write_text(CELLS, encoding="utf-8")
    done = program("recalibrate", "cells.csv", "--calibrator", FILE, "--save", f"out{suffix}")
    assert done.code == 0, done.err
    before = pl.read_csv("cells.csv", infer_schema=False)
    read = {
        ".csv": lambda path: pl.read_csv(path, infer_schema=False),
        ".parquet": pl.read_parquet,
        ".ndjson": pl.read_ndjson,
    }[suffix]
    after = read(f"out{suffix}")
    assert after.select(before.columns).equals(before)
    q = after["gbm+logistic"].cast(pl.Float64)
    expected = LOGISTIC.calibrate([0.2, 1, 0.99, 0.01, 0]).tolist()
    assert q.to_list() == [pytest.approx(expected[0]), None, *map(pytest.approx, expected[1:])]
    notes = done.out.replace("\n", " ")
    assert "scores of exactly 0 and 1 keep their values: 'gbm' 2 rows" in notes
    assert "'gbm' 4 rows outside 0.05 to 0.95" in notes
    assert "missing scores stay missing: 'gbm' 1 row" in notes


def test_typed_columns_keep_their_types(new: pl.DataFrame) -> None:
    typed = new.with_columns(
        pl.col("gbm").cast(pl.Float32),
        day=pl.date(2026, 1, 1) + pl.duration(days=pl.col("id")),
        flag=pl.col("id") % 2 == 0,
        site=pl.lit("a").cast(pl.Categorical),
    )
    typed.write_parquet("typed.parquet")
    words = ["--calibrator", FILE, "--save", "out.parquet", "-q"]
    assert program("recalibrate", "typed.parquet", *words).code == 0
    after = pl.read_parquet("out.parquet")
    assert after.drop("gbm+logistic").equals(typed)
    assert after.drop("gbm+logistic").schema == typed.schema
    expected = LOGISTIC.calibrate(new["gbm"].to_numpy())
    assert after["gbm+logistic"].to_numpy() == pytest.approx(expected, abs=1e-12)


def test_several_models_files_and_scales_are_recalibrated_together(new: pl.DataFrame) -> None:
    steps = StepCalibrator(np.array([0.1, 0.6]), np.array([0.2, 0.9]))
    calibrators = [stored(), stored(steps, "isotonic", "other"), stored(model="absent")]
    Path("all.json").write_text(CalibratorFile("1", calibrators, 9).to_json(), encoding="utf-8")
    percents = new.drop("truth").with_columns(pl.col("gbm") * 100)
    percents[:100].write_csv("a.csv")
    percents[100:].write_csv("b.csv")
    words = ["--calibrator", "all.json", "--model", "gbm:percent", "--model", "other"]
    words += ["--save", "out.parquet", "--save", "again.calibrator.json"]
    result = tables_of("recalibrate", "a.csv", "b.csv", *words)
    again = read_calibrators("again", Path("again.calibrator.json").read_text(encoding="utf-8"))
    assert again.models == ["gbm", "other"]
    assert [row["column"] for row in result["columns"]] == ["gbm+logistic", "other+isotonic"]
    assert [row["rows"] for row in result["columns"]] == [300, 300]
    after = pl.read_parquet("out.parquet")
    for name, calibrator in (("gbm", LOGISTIC), ("other", steps)):
        method = "logistic" if name == "gbm" else "isotonic"
        expected = calibrator.calibrate(new[name].to_numpy())
        assert after[f"{name}+{method}"].to_numpy() == pytest.approx(expected, abs=1e-12)


def test_pipes_and_frames_are_recalibrated(new: pl.DataFrame) -> None:
    words = ["--calibrator", FILE, "-q"]
    assert program("recalibrate", "new.csv", *words, "--save", "plain.csv").code == 0
    Path("new.csv.gz").write_bytes(gzip.compress(Path("new.csv").read_bytes()))
    assert program("recalibrate", "new.csv.gz", *words, "--save", "packed.csv").code == 0
    assert Path("packed.csv").read_bytes() == Path("plain.csv").read_bytes()
    result = clfeval.recalibrate(new, calibrator=Path(FILE))
    result.save("frame.csv")
    assert Path("frame.csv").read_bytes() == Path("plain.csv").read_bytes()
    assert not [*Path().glob(".clfeval-*")]


def test_what_is_written_is_read_as_what_it_was_computed_from(new: pl.DataFrame) -> None:
    del new
    save = ["--calibrator", FILE, "--save", "out.parquet", "-q"]
    assert program("recalibrate", "new.csv", *save).code == 0
    words = ["--positive", "1", "--id", "id", "--model"]
    actual = tables_of("report", "out.parquet", *words, "gbm+logistic")
    check_close(actual, tables_of("report", "new.csv", *words, THROUGH))


def test_proposals_and_dry_runs_keep_the_calibrator(new: pl.DataFrame) -> None:
    labels = pl.when(pl.col("truth") == 1).then(pl.lit("b")).otherwise(pl.lit("a"))
    new.with_columns(truth=labels).write_csv("ab.csv")
    text = CalibratorFile("b", [stored()], 300).to_json()
    Path(FILE).write_text(text, encoding="utf-8")
    done = program("report", "ab.csv", "--model", THROUGH, "--id", "id")
    assert done.code == 3
    (line,) = [line for line in done.err.splitlines() if "clfeval report" in line]
    proposed = line[line.index("clfeval ") :].split()[1:]
    assert proposed[-2:] == ["--positive", "b"]
    assert THROUGH in proposed
    assert program(*proposed, "-q").code == 0
    dry = program("report", "new.csv", "--model", THROUGH, "--dry-run", "-f", "json")
    roles = {row["column"]: row["taken"] for row in json.loads(dry.out)["tables"]["reading"]}
    assert roles["gbm"] == "scores of 'gbm+logistic'"
    wrong = program("report", "ab.csv", "--model", THROUGH, "--id", "id", "--positive", "a")
    assert "[other-positive]" in wrong.err
    assert "--positive" in wrong.err.splitlines()[-1]


def test_batches_read_calibrators_beside_their_file(new: pl.DataFrame) -> None:
    del new
    Path("weekly").mkdir()
    for name in ("new.csv", FILE):
        shutil.move(name, f"weekly/{name}")
    runs = {
        "judge": {"command": "report", "input": "new.csv", "model": ["gbm", THROUGH]},
        "apply": {
            "command": "recalibrate",
            "input": "new.csv",
            "calibrator": FILE,
            "save": "out.parquet",
        },
    }
    Path("weekly/suite.yaml").write_text(json.dumps({"version": 1, "runs": runs}), encoding="utf-8")
    done = program("batch", "weekly/suite.yaml", "-q")
    assert done.code == 0, done.err + done.out
    assert "gbm+logistic" in pl.read_parquet("weekly/out.parquet").columns


@pytest.mark.parametrize("model", [THROUGH, "gbm:reversed"])
def test_a_table_is_a_baseline_of_scores_that_are_read_alike(model: str, new: pl.DataFrame) -> None:
    """Changes are of the scores as they are read, and say why rows are not paired."""
    new.with_columns(gbm=pl.col("gbm").reverse()).write_csv("old.csv")
    words = ["--id", "id", "--model", model, "--baseline", "old.csv", "--max-drop", "roc_auc=0.9"]
    done = program("report", "new.csv", *words, "-f", "json")
    document = json.loads(done.out)
    (change,) = [
        row
        for row in document["tables"]["comparisons"]
        if row["measure"] == "roc_auc" and row["slice"] is None
    ]
    alone = tables_of("report", "old.csv", "--id", "id", "--model", model, "--positive", "1")
    assert change["old"]["value"] == pytest.approx(alone["models"][0]["roc_auc"]["value"], abs=1e-9)
    assert any(
        "not paired: --model changes scores" in note["message"] for note in document["warnings"]
    )
