"""DuckDB and Spark make the same counts as polars, and say in one line what they cannot do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.counts import score_tables
from clfeval.errors import ClfevalError, DataError, UsageError
from clfeval.tables import engines, invalid_cells, row_selection
from clfeval.tables.frames import collect
from clfeval.tables.input import InputOptions
from tests.conftest import ROOT
from tests.counts.engine_tables import ENGINES, KINDS, counts_of, random_table, write_parquet
from tests.process.program import clfeval as clfeval_program
from tests.samples import logistic
from tests.thoroughness import full, thinned

# DuckDB, which is quick, counts every kind of truth with every kind of scores. Spark, of which each
# count takes both processors for seconds, has every kind of scores, and every one of truth as a
# file and as a folder of parts
SEEDS_OF_GATE = {"duckdb": range(len(KINDS)), "spark": (0, 1, 6, 9, 12, 13)}


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """One session for all tests of Spark, which are in one module, so that one worker runs them."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed, which Spark needs")
    conf = {
        "spark.master": "local[2]",
        "spark.driver.memory": "700m",
        "spark.sql.shuffle.partitions": "2",
    }
    session = engines._spark_session(conf)
    yield session
    session.stop()


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> str:
    """An engine by name; Spark on the session of all tests, which alone needs Java."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    return str(request.param)


@dataclass(frozen=True)
class CountedTable:
    """A random table that polars has counted: its path and options, its counts, their metadata."""

    path: str
    options: dict[str, Any]
    counts: pl.DataFrame
    about: str


@pytest.fixture(scope="module")
def counted_by_polars(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], CountedTable]:
    """The random table of a seed, written and counted once for all other engines."""

    @cache
    def counted_table(seed: int) -> CountedTable:
        table, options = random_table(seed)
        folder = tmp_path_factory.mktemp("rows")
        partitions = seed % 4 == 1
        path = write_parquet(table, folder, partitions=partitions)
        options |= {"ignore": "more"} if partitions else {}
        place = tmp_path_factory.mktemp("counts") / "x.counts.parquet"
        counts, about = counts_of(path, place, engine="polars", **options)
        return CountedTable(path, options, counts, about)

    return counted_table


@pytest.mark.parametrize(
    ("seed", "engine"),
    thinned(
        product(range(100), ENGINES[1:]),
        [(seed, engine) for engine, seeds in SEEDS_OF_GATE.items() for seed in seeds],
    ),
    indirect=["engine"],
)
def test_all_engines_make_the_same_file(
    seed: int, engine: str, tmp_path: Path, counted_by_polars: Callable[[int], CountedTable]
) -> None:
    """Byte for byte of its columns, and in what it says of itself, as polars does."""
    wanted = counted_by_polars(seed)
    place = tmp_path / "x.counts.parquet"
    counts, about = counts_of(wanted.path, place, engine=engine, **wanted.options)
    assert counts.equals(wanted.counts)
    assert about == wanted.about
    if seed == 0:
        result = clfeval.report(wanted.path, engine=engine, **wanted.options)
        assert result.to_dict()["tables"] == clfeval.report(place).to_dict()["tables"]


def test_spark_counts_many_rows_in_parts(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200,000 rows of a frame, whose session is used: no step has all rows in one place."""
    dice, n = np.random.default_rng(1), 200_000
    truth = dice.random(n) < 0.1
    pl.DataFrame(
        {
            "truth": truth.astype(int),
            **{name: logistic(truth - 2 + dice.normal(size=n)) for name in ("a", "b")},
        }
    ).write_parquet(tmp_path / "t.parquet")
    plans, steps = list[str](), list[str]()

    def collect(frame: Any, step: str = "", known: Any = score_tables.collect) -> Any:
        plans.append(frame.to_native()._jdf.queryExecution().toString())
        steps.append(step)  # for the line of progress
        return known(frame, step)

    monkeypatch.setattr(score_tables, "collect", collect)
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    mine = counts_of(frame, tmp_path / "s.counts.parquet", positive="1", scores="buckets")
    assert steps == ["scores of a", "scores of b"]
    assert not any("SinglePartition" in one for one in plans)
    assert all(one.count("Exchange hashpartitioning") == 1 for one in plans)
    monkeypatch.undo()
    frame.createOrReplaceTempView("preds")
    named = counts_of(
        "preds", tmp_path / "n.counts.parquet", engine="spark", positive="1", scores="buckets"
    )
    plain = counts_of(
        tmp_path / "t.parquet", tmp_path / "p.counts.parquet", positive="1", scores="buckets"
    )
    assert mine[0].equals(plain[0])
    assert named[0].equals(plain[0])
    assert mine[1] == named[1] == plain[1]


def test_a_session_that_reads_any_text_as_a_number_is_refused(tmp_path: Path, spark: Any) -> None:
    table, said = random_table(0)
    table.write_parquet(tmp_path / "t.parquet")
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    spark.conf.set(engines.STRICT, "false")
    try:
        for given, engine in ((frame, None), (str(tmp_path / "t.parquet"), "spark")):
            with pytest.raises(UsageError, match=engines.STRICT):
                clfeval.count(given, engine=engine, **said)
    finally:
        spark.conf.set(engines.STRICT, "true")


def test_the_commands_of_the_guide_run(tmp_path: Path, spark: Any, capfd: Any) -> None:
    """Those of a billion rows, here of 500, on the session that runs."""
    guide = (ROOT / "clfeval/guide/engines.md").read_text(encoding="utf-8")
    block = guide.split("## A billion rows on Spark")[1].split("```sh\n")[1].split("```")[0]
    table, _ = random_table(1)
    table.select(
        truth=pl.Series(np.arange(len(table)) % 3 == 0).cast(int), a="a", site="site"
    ).write_parquet(tmp_path / "preds.parquet")
    spark.read.parquet(str(tmp_path / "preds.parquet")).createOrReplaceTempView("preds")
    lines = block.strip().splitlines()
    assert len(lines) == 3
    for line in lines:
        words = [
            str(tmp_path / word) if word.endswith(".counts.parquet") else word
            for word in line.split()
        ]
        done = clfeval_program(*words[1:])
        assert done.code == 0, done.err
        assert "WARN" not in done.err
        assert "Stage" not in done.err
    assert "WARN" not in capfd.readouterr().err


def test_a_lost_session_is_one_line_and_nothing_is_written(tmp_path: Path, spark: Any) -> None:
    table, _ = random_table(0)
    table.write_parquet(tmp_path / "t.parquet")
    program = f"""
import clfeval
from clfeval.tables.engines import _spark_session
session = _spark_session({{"spark.master": "local[1]"}})
frame = session.read.parquet({str(tmp_path / "t.parquet")!r})
session.stop()
clfeval.count(frame, positive="yes", ignore="site").save({str(tmp_path / "x.counts.parquet")!r})
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-2:]
    assert re.search("UsageError: <frame>: spark failed: .* \\[engine-failed\\]", last[0]), last
    assert [one.name for one in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.parametrize("seed", [0, 6])
def test_what_needs_rows_or_cannot_be_read_is_refused(seed: int, tmp_path: Path) -> None:
    table, said = random_table(seed)
    path = write_parquet(table, tmp_path, partitions=False)
    said = {name: said[name] for name in ("positive", "model")}
    there: dict[str, Any] = {"engine": "duckdb", **said}
    refused: list[tuple[type[ClfevalError], str, Any, dict[str, Any]]] = [
        (UsageError, "needs rows", clfeval.mars, {"list": "found"}),
        (UsageError, "needs rows", clfeval.mars, {"top": "5"}),
        (UsageError, "needs rows", clfeval.report, {"cluster": "site"}),
        (UsageError, "needs rows", clfeval.report, {"run": "site"}),
        (UsageError, "does not apply", clfeval.phidelta, {"features": True, "model": ()}),
        (UsageError, "--join|join", clfeval.report, {"join": "site"}),
        (UsageError, "write '1'", clfeval.report, {"where": "site = 1"}),
        (DataError, "no row matches", clfeval.report, {"where": "site = 'nowhere'"}),
    ]
    for kind, text, function, options in refused:
        with pytest.raises(kind, match=text):
            function(path, **{**there, **options})
    with pytest.raises(DataError, match="no Parquet file"):
        clfeval.report(str(tmp_path / "absent.parquet"), engine="duckdb")
    with pytest.raises(DataError, match="standard input is read by polars only"):
        clfeval.report("-", engine="duckdb")
    clfeval.count(path, **said).save(tmp_path / "x.counts.parquet")
    with pytest.raises(DataError, match="holds counts, for which no engine is needed"):
        clfeval.report(str(tmp_path / "x.counts.parquet"), engine="duckdb")


def test_nan_that_duckdb_does_not_see_is_refused(tmp_path: Path) -> None:
    """A relation of the user's own connection, which takes statistics without NaN for a proof."""
    table, said = random_table(2)
    table.with_columns(age=pl.col("b b") * 100).write_parquet(tmp_path / "t.parquet")
    relation = duckdb.connect().sql(f"select * from '{tmp_path / 't.parquet'}'")
    said["model"] = "a"
    for options in ({"model": "b b"}, {"where": "age >= 1"}, {"by": "age:40,65"}):
        with pytest.raises(DataError, match="DuckDB does not see NaN"):
            clfeval.count(relation, **said | options)


TIMES = [datetime(2024, 1, 1, hour) for hour in range(0, 24, 2)]
# which hours, counted from 0
CONDITIONS: list[tuple[str, Callable[[int], bool]]] = [
    ("plain >= '2024-01-01 06:00'", lambda hour: hour >= 6),
    ("plain < '2024-01-01T08:00+02:00'", lambda hour: hour < 6),
    ("zoned >= '2024-01-01 06:00'", lambda hour: hour >= 6),
    ("zoned = '2024-01-01T08:00+02:00'", lambda hour: hour == 6),
    ("there >= '2024-01-01 06:00'", lambda hour: hour >= 6),
    ("coarse > '2024-01-01 06:00:00.0005'", lambda hour: hour >= 8),
    ("day > '2024-01-01' and day != '2024-01-03'", lambda hour: hour // 2 not in (0, 2)),
    ("flag = 'true'", lambda hour: hour % 4 == 0),
    ("single = 0.1 or single > .4", lambda hour: hour in (2, 10) or hour > 12),
    ("not single < .5", lambda hour: hour >= 10 and hour != 12),  # NaN meets no comparison
    ("single <= 0.3 and single != .2", lambda hour: hour <= 6 and hour != 4),
    ("price >= 1.5", lambda hour: hour >= 6),
    ("text in ('x 2', 'x 4') or text > 'x 8'", lambda hour: hour in (2, 4)),
    ("whole = '4' or whole in (6, 8)", lambda hour: hour in (4, 6, 8)),
]


def test_a_condition_has_one_meaning_in_all_engines(tmp_path: Path, spark: Any) -> None:
    """Or is refused: of numbers and texts, dates, times with and without a zone, booleans."""
    hours = [time.hour for time in TIMES]
    pl.DataFrame(
        {
            "truth": [int(hour % 6 == 0) for hour in hours],
            "m": [hour / 24 for hour in hours],
            "plain": TIMES,
            "zoned": [time.replace(tzinfo=UTC) for time in TIMES],
            "there": pl.Series(TIMES)
            .dt.replace_time_zone("UTC")
            .dt.convert_time_zone("Asia/Tokyo"),
            "coarse": pl.Series(TIMES).cast(pl.Datetime("ms")),
            "day": [date(2024, 1, 1 + k) for k in range(len(hours))],
            "flag": [hour % 4 == 0 for hour in hours],
            "text": [f"x {hour}" for hour in hours],
            "single": pl.Series([hour / 20 if hour != 12 else np.nan for hour in hours]).cast(
                pl.Float32
            ),
            "price": pl.Series([Decimal(hour) / 4 for hour in hours], dtype=pl.Decimal(8, 2)),
            "whole": hours,
        }
    ).write_parquet(tmp_path / "t.parquet")
    path, said = str(tmp_path / "t.parquet"), {"positive": "1", "model": "m"}
    kept = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        for condition, wanted in CONDITIONS:
            for one in ENGINES:
                file = engines.open_in_engine([path], InputOptions(engine=one))
                rows = collect(row_selection.filtered_rows(file, condition).native)
                assert len(rows) == sum(map(wanted, hours)), (condition, one)
    finally:
        spark.conf.set("spark.sql.session.timeZone", kept)
    for one in ENGINES:
        with pytest.raises(UsageError, match="holds dates or times, but 'yesterday' is not one"):
            clfeval.count(path, engine=one, where="plain > 'yesterday'", **said)
        with pytest.raises(DataError, match=r"'text' has the values 'x .*' \(1\)"):
            clfeval.count(path, engine=one, where="text = 'nowhere'", **said)
    for one in ENGINES[1:]:
        for condition, remedy in (("text = 1", "write '1'"), ("single = '0.1'", "0.1 without")):
            with pytest.raises(UsageError, match=remedy):
                clfeval.count(path, engine=one, where=condition, **said)


def test_marks_of_missing_values_are_none_in_columns_of_text(tmp_path: Path) -> None:
    table, said = random_table(0)
    marked = pl.when(pl.col("a") < 0.1).then(pl.lit("?")).otherwise(pl.col("a").cast(pl.String))
    table.with_columns(a=marked).write_parquet(tmp_path / "t.parquet")
    said |= {"model": "a", "null_value": "?", "missing": "drop", "ignore": ("b b", "rule")}
    place, path = tmp_path / "x.counts.parquet", str(tmp_path / "t.parquet")
    found = [counts_of(path, place, engine=one, **said) for one in ENGINES[:2]]
    assert found[0][0].equals(found[1][0])
    assert found[0][0].filter(block="patterns")["n"].sum() == (table["a"] >= 0.1).sum()


def test_a_server_that_does_not_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Soon, and without Java; what a lost server and a lost worker say is the cause."""
    monkeypatch.setattr(engines, "PATIENCE", 0.2)
    for address, what in (("sc://localhost:1", "no server answers"), ("localhost", "must start")):
        with pytest.raises(UsageError, match=f"no Spark session: .*{what}") as caught:
            clfeval.count(
                str(tmp_path / "t.parquet"), engine="spark", spark_conf={"spark.remote": address}
            )
        assert "spark.remote" in str(caught.value)
    lost = '<_InactiveRpcError of RPC that terminated with:\n\tdetails = "Connection refused"\n>'
    assert engines.first_line(ValueError(lost)) == "Connection refused"
    told = "\norg.apache.spark.SparkException: Job aborted\n\tat java.base"
    assert engines.first_line(ValueError(told)) == "Job aborted"


def test_slices_are_written_alike(tmp_path: Path, spark: Any) -> None:
    """Numbers without a sign, zeros with one, times with and without a zone, texts in paths."""
    table, said = random_table(0)
    n, said = len(table), {"positive": "yes", "model": "a"}
    some = [datetime(2024, 3, 31, hour) for hour in (0, 1, 2)]
    slices: dict[str, tuple[pl.Series, list[str]]] = {
        "unsigned": (pl.Series([2, 1, 0], dtype=pl.UInt64), ["0", "1", "2"]),
        "zero": (pl.Series([-0.0, 0.0, 0.5]), ["0.0", "0.5"]),
        "plain": (pl.Series(some), [f"2024-03-31 0{hour}:00:00" for hour in (0, 1, 2)]),
        "coarse": (
            pl.Series(some).cast(pl.Datetime("ms")),
            [f"2024-03-31 0{hour}:00:00" for hour in (0, 1, 2)],
        ),
        "fold": (
            pl.Series([datetime(2024, 10, 27, hour) for hour in (0, 1, 2)])
            .dt.replace_time_zone("UTC")
            .dt.convert_time_zone("Europe/Berlin"),
            [f"2024-10-27 0{hour}:00:00+00:00" for hour in (0, 1, 2)],
        ),
        "zoned": (
            pl.Series(some).dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin"),
            [f"2024-03-31 0{hour}:00:00+00:00" for hour in (0, 1, 2)],
        ),
        "word": (pl.Series(["é", "x y", "ü%"]), ["x y", "é", "ü%"]),
    }
    for name, (values, wanted) in slices.items():
        rows = table.select("truth", "a", values.gather(np.arange(n) % 3).alias(name))
        (folder := tmp_path / name).mkdir()
        rows.write_parquet(pl.PartitionBy(folder, key=name) if name == "word" else folder / "0")
        found = [
            counts_of(str(folder), tmp_path / "x.counts.parquet", engine=one, by=name, **said)
            for one in ENGINES
        ]
        assert sorted({*found[0][0]["b0"]}) == wanted
        assert found[0][0].equals(found[1][0]), name
        assert found[0][0].equals(found[2][0]), name
        whole = clfeval.report(rows, by=name, **said)  # which reads the rows
        found_by_rows = {row["slice"] for row in whole.tables["confusion"]}
        assert found_by_rows == {None, *(f"{name}={text}" for text in wanted)}


def test_slices_by_nanoseconds_are_kept_apart(tmp_path: Path) -> None:
    table = random_table(0)[0]
    n = len(table)
    fine = pl.Series(np.arange(n) % 3 * 300).cast(pl.Datetime("ns"))
    table.select("truth", "a", fine=fine).write_parquet(tmp_path / "t.parquet")
    for one in ENGINES[:2]:
        found = clfeval.count(str(tmp_path / "t.parquet"), engine=one, by="fine", positive="yes")
        assert found.extras["table"]["b0"].n_unique() == 3
    said: dict[str, Any] = {"positive": "yes", "ignore": "fine"}
    for condition, rows in (("fine < '2300-01-01'", n), ("fine > '1970-01-01'", n - (n + 2) // 3)):
        for one in ENGINES[:2]:
            path = str(tmp_path / "t.parquet")
            assert clfeval.count(path, engine=one, where=condition, **said).summary["rows"] == rows


@pytest.mark.parametrize("engine", ENGINES[1:], indirect=True)
def test_mars_reads_rows_once(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the numbers of polars, and whole weights only; samples of Spark tell many scores."""
    table, said = random_table(3)
    table = table.with_columns(w=pl.Series(np.arange(len(table)) % 3), v=pl.lit(0.3))
    table.write_parquet(tmp_path / "t.parquet")
    path, said = str(tmp_path / "t.parquet"), {"positive": "yes", "model": ("a", "rule")}
    wanted = clfeval.mars(path, weight="w", by="site", **said).to_dict()["tables"]
    found = clfeval.mars(path, weight="w", by="site", engine=engine, **said)
    assert found.to_dict()["tables"] == wanted
    with pytest.raises(UsageError, match="whole numbers"):
        clfeval.mars(path, weight="v", engine=engine, **said)
    for most, scores in ((40, "buckets:10"), (4000, "exact")):
        monkeypatch.setattr(score_tables, "MOST_DISTINCT", most)
        counted = clfeval.count(path, engine=engine, **said)
        assert counted.extras["about"]["scores"] == scores


GAP = pl.int_range(pl.len()) % 9 == 0
INVALID: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("'a': missing value", {"a": pl.when(~GAP).then("a")}, {}),
    ("'truth': missing value", {"truth": pl.when(~GAP).then("truth")}, {}),
    ("'rule': 'ys' is not among", {"rule": pl.when(GAP).then(pl.lit("ys")).otherwise("rule")}, {}),
    ("'i': some ids are in more than one row", {"i": pl.int_range(pl.len()) % 99}, {"id": "i"}),
    ("'a': scores from .* need a threshold", {"a": pl.col("a") * 100}, {}),
    (
        "a text means missing",
        {"a": pl.when(GAP).then(pl.lit("x")).otherwise(pl.col("a").cast(pl.String))},
        {},
    ),
    ("Spark does not say which", {"a": pl.when(pl.int_range(pl.len()) < 300).then("a")}, {}),
]


def test_what_spark_has_no_rows_for_is_told(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The column and the value of some row, without its number; or that it is not among them."""
    table, _ = random_table(0)
    monkeypatch.setattr(invalid_cells, "FIRST_ROWS", 200)
    for text, columns, said in INVALID:
        table.select("truth", "a", "rule").with_columns(**columns).write_parquet(
            tmp_path / "t.parquet"
        )
        said = {"positive": "yes", "model": ("a", "rule"), **said}
        with pytest.raises(DataError, match=text):
            clfeval.count(str(tmp_path / "t.parquet"), engine="spark", **said)


def test_values_that_would_all_come_here_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, said = random_table(0)
    table.write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(row_selection, "MOST_COUNTED", 50)
    said |= {"model": "rule", "ignore": ("b b", "site")}
    edges = clfeval.count(str(tmp_path / "t.parquet"), engine="duckdb", **said | {"by": "a:.4,.6"})
    assert edges.extras["about"]["edges"] == {"a": [0.4, 0.6]}
    with pytest.raises(UsageError, match="different values, too many to be read here"):
        clfeval.count(str(tmp_path / "t.parquet"), engine="duckdb", **said | {"by": "a:4"})


def test_folders_whose_files_differ(tmp_path: Path, spark: Any) -> None:
    """All engines read the same files of a folder, or none does."""
    table, said = random_table(0)
    (folder := tmp_path / "rows[1]").mkdir()
    said |= {"by": "month"}
    for name in ("month=01/day=1", "month=1/day=2", "_temporary/0", "month=01/.hidden"):
        (folder / "year=2024" / name).mkdir(parents=True)
        part = table.drop("site") if name != "month=1/day=2" else table
        part.write_parquet(folder / "year=2024" / name / "a.parquet")
    place, path = tmp_path / "x.counts.parquet", str(folder / "year=2024")
    said["ignore"] = ("site", "day")
    found = [counts_of(path, place, engine=one, **said) for one in ENGINES]
    assert found[0][0].equals(found[1][0])
    assert found[0][0].equals(found[2][0])
    assert set(found[0][0]["b0"]) == {"01", "1"}
    assert found[0][0].filter(block="patterns")["n"].sum() == 2 * len(table)
    (folder / "year=2024/month=1/day=2/README").write_text("x", encoding="utf-8")
    for one in ENGINES:
        with pytest.raises(DataError, match="README: is not a Parquet file"):
            clfeval.count(path, engine=one, **said)
    (folder / "year=2024/month=1/day=2/README").unlink()
    kept = spark.conf.get(engines.PARTITIONS)
    table.rename({"a": "A"}).with_columns(a="A").write_parquet(tmp_path / "case.parquet")
    table.write_csv(tmp_path / "t.csv")
    for one in ENGINES[1:]:
        with pytest.raises(DataError, match="has the same letters as"):
            clfeval.count(str(tmp_path / "case.parquet"), engine=one, **said)
        with pytest.raises(DataError, match="not a Parquet file"):
            clfeval.count(str(tmp_path / "t.csv"), engine=one, **said)
        with pytest.raises(DataError, match="named twice"):
            clfeval.count([str(tmp_path / "case.parquet")] * 2, engine=one, **said)
    part.cast({"a": pl.String}).write_parquet(folder / "year=2024/month=1/day=2/b.parquet")
    for one in ENGINES:
        with pytest.raises(DataError, match=r"holds (String|Float64), but (String|Float64) in"):
            clfeval.count(path, engine=one, **said)
    table.write_parquet(folder / "year=2024/month=1/b.parquet")
    for one in ENGINES:
        with pytest.raises(DataError, match="different partitions"):
            clfeval.count(path, engine=one, **said)
    assert spark.conf.get(engines.PARTITIONS) == kept


def test_tables_of_a_database_file(tmp_path: Path) -> None:
    table, said = random_table(0)
    table.write_parquet(tmp_path / "t.parquet")
    with duckdb.connect(str(tmp_path / "w h.duckdb")) as connection:
        connection.execute(f"create table preds as select * from '{tmp_path / 't.parquet'}'")
    found = counts_of(
        f"{tmp_path / 'w h.duckdb'}:preds", tmp_path / "d.counts.parquet", engine="duckdb", **said
    )
    assert found[0].equals(counts_of(table, tmp_path / "p.counts.parquet", **said)[0])


def test_an_engine_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, extra in (("duckdb", "duckdb"), ("pyspark.sql", "spark")):
        monkeypatch.setitem(sys.modules, name, None)
        remedy = re.escape(f"pip install 'clfeval[{extra}]'")
        with pytest.raises(UsageError, match=remedy) as caught:
            clfeval.report("preds", engine=extra)
        assert caught.value.exit_code == 2


ODD_NAMES = ["p[1]", "p*", "p?", 'p"', "p'", "p\\", "p%20", "p é", "p;", "p\\[1]", "~"]
# engine and kind of path: signs that the engine misreads there
MISREAD = {("duckdb", "above"): "?\\", ("duckdb", "value"): "?\\", ("polars", "value"): "*"}


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_names_of_files_and_folders_are_no_patterns(engine: str, folder: Path) -> None:
    """Nor SQL, nor the home: every name counts its own file, or is refused."""
    table = random_table(0)[0].select("truth", "a")
    table.head(7).write_parquet("p1.parquet")  # of which the names are patterns
    for rows, name in enumerate(ODD_NAMES, start=20):
        places = [
            ("file", f"{name}.parquet", ""),
            ("folder", name, "p1"),
            ("above", f"{name}=1/rows", "site=A/p1"),
            ("value", f"v{rows}", f"site={name}/p1"),
        ]
        if engine == "spark" and not full():
            places = [places[rows % len(places)]]
        for kind, path, parts in places:
            file = Path(path, parts)
            file.parent.mkdir(parents=True, exist_ok=True)
            table.head(rows).write_parquet(file.absolute())  # polars would take `~` for the home
            said: dict[str, Any] = {"by": "site"} if "site=" in parts else {}
            said |= {"positive": "yes", "engine": engine}
            if {*name} & {*MISREAD.get((engine, kind), "")}:
                with pytest.raises(DataError, match="write it as %"):
                    clfeval.count(path, **said)
            else:
                assert clfeval.count(path, **said).summary["rows"] == rows, path


def test_a_name_of_a_folder_runs_no_sql(folder: Path) -> None:
    above = "k\") from (select 1 as k); copy (select 'x') to 'x.txt'; select 1 as k --=1"
    Path(above, "data/site=A").mkdir(parents=True)
    table = random_table(0)[0].select("truth", "a")
    table.write_parquet(Path(above, "data/site=A/f.parquet"))
    result = clfeval.count(f"{above}/data", engine="duckdb", positive="yes", by="site")
    assert result.summary["rows"] == len(table)
    assert os.listdir() == [above]
