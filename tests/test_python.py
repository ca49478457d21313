"""What Python does with a result: frames, files, limits, text; errors in the words of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import clfeval
from clfeval.errors import UsageError
from clfeval.result import Result

FRAME = pl.DataFrame({"truth": [1, 1, 0, 0], "a": [1, 0, 0, 0], "b": [1, 1, 1, 0]})


@pytest.fixture(scope="module")
def result() -> Result:
    return clfeval.mars(FRAME)


def test_a_frame_is_flat_as_the_csv(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "r.csv", table="models")
    frame = result.frame("models")
    read = pl.read_csv(tmp_path / "r.csv", infer_schema_length=None)
    assert frame.columns == read.columns
    assert (
        frame.select("model", "tp", "recall", "recall_low", "recall_reason").rows()
        == read.select("model", "tp", "recall", "recall_low", "recall_reason").rows()
    )
    assert frame.select("model", "tp", "recall").rows() == [("a", 1, 0.5), ("b", 2, 1.0)]
    assert frame.equals(result.frame())  # the first table


def test_a_column_without_any_value_has_its_type(result: Result) -> None:
    schema = result.frame("models").schema
    assert schema["threshold"] == pl.Float64
    assert schema["recall_reason"] == pl.String
    assert schema["slice"] == pl.String
    assert clfeval.mars(FRAME, interval="none").frame().schema["recall_low"] == pl.Float64


def test_a_column_of_numbers_without_any_is_one_in_pandas_too(result: Result) -> None:
    frame = result.frame("models", backend="pandas")
    assert frame["threshold"].dtype == float
    assert frame["threshold"].isna().all()
    assert frame["recall_reason"].isna().all()
    assert frame["recall_reason"].dtype == object


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda r: r.show(["pairs"]), r"\['pairs'\] is no name"),
        (lambda r: r.frame(3), "no table '3'"),
        (lambda r: r.show(digits=16), "digits 16 is not in 0..15"),
        (lambda r: r.save(digits=-1), "digits -1 is not in 0..15"),
        (lambda r: r.show(width=0), "width 0 is less than 1"),
    ],
)
def test_what_is_of_another_kind_is_refused(result: Result, call: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        call(result)


def test_other_libraries_get_their_own_frames(result: Result) -> None:
    frame = result.frame("pairs", backend="pandas")
    assert isinstance(frame, pd.DataFrame)
    assert frame["models"].tolist() == ["a + b"]
    table = result.frame("pairs", backend="pyarrow")
    assert isinstance(table, pa.Table)
    assert table.column("covered").to_pylist() == [2]


def test_a_table_without_rows_has_its_columns() -> None:
    frame = clfeval.mars(FRAME, model="a").frame("pairs")
    assert frame.height == 0
    assert {"models", "covered", "yield", "yield_low"} <= set(frame.columns)


def test_limits_are_mappings_or_texts(result: Result) -> None:
    checked = result.check(fail_under={"recall": 0.6, "b:precision": 0.6}, fail_over="fp=0")
    assert not checked.passed
    assert [(g.model, g.metric, g.passed) for g in checked.gates] == [
        ("a", "recall", False), ("b", "recall", True), ("b", "precision", True),
        ("a", "fp", True), ("b", "fp", False),
    ]  # fmt: skip
    assert (result.gates, result.passed) == ((), True)  # a result never changes
    assert result.check(fail_under=["recall=0.5"]).passed


def test_every_form_is_written_and_read_back(result: Result, tmp_path: Path) -> None:
    checked = result.check(fail_under={"recall": 0.6})
    names = [tmp_path / f"r.{suffix}" for suffix in ("json", "csv", "md", "html", "xml")]
    checked.save(*names)
    assert Result.from_json(names[0].read_text()).to_dict() == checked.to_dict()
    page = names[3].read_text()
    assert page.index("finds most") < page.index("❌ a: recall is 0.5") < page.index("<table>")
    assert "<details>" in page
    assert page.index("<summary>Plots</summary>") < page.index("█") < page.index("</pre>")


def test_the_text_and_the_page_begin_with_the_answer(
    result: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = str(result).splitlines()
    assert lines[1] == result.answer[0].text
    assert lines[-1] == (
        "also: alone, rates, pairs, intervals, plots (result.show(NAME), result.show('all'))"
    )
    assert result._repr_html_().index(result.answer[0].text) < result._repr_html_().index("<table>")
    result.show("rates", width=80)
    out = capsys.readouterr().out
    assert "Each model by itself" in out
    assert "Each model by itself" not in str(result)
    result.show("pairs")  # of two models: all that the table holds
    assert "a + b" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda r: r.frame("none"), "no table 'none'; this result has 'models', 'pairs'"),
        (lambda r: r.frame(backend="dask"), "backend 'dask' is none of polars, pandas, pyarrow"),
        (lambda r: r.save("r.doc"), "'r.doc': the suffix says no format"),
        (lambda r: r.save("r.xml"), "'r.xml': a JUnit file lists gates"),
        (lambda r: r.save("r.csv", table="none"), "no table 'none'"),
        (lambda r: r.show("pears"), "'pears': mars has no such table or plot"),
        (lambda r: r.show("best"), "no 'best' in this result; there are 'all', 'alone'"),
        (lambda r: r.check(fail_under="recall"), "fail_under 'recall' is not"),
        (lambda r: r.check(fail_under=3), "fail_under 3 is no limit"),
        (lambda r: r.check(max_drop={"recall": 0.1}), "max_drop compares with a baseline"),
        (lambda r: r.check(fail_under={"recall": 70}), "fail_under: 70 is beyond 'recall'"),
    ],
)
def test_errors_speak_python(result: Result, call: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(clfeval.UsageError) as caught:
        call(result)
    assert str(caught.value).startswith(told)
    assert "--" not in str(caught.value)


def test_help_explains_every_keyword() -> None:
    for name in clfeval.FUNCTIONS:
        function = getattr(clfeval, name)
        words = str(function.__doc__).split("Keywords:\n")[1].splitlines()
        explained = [line.split(":")[0].strip() for line in words]
        assert explained == [option.name for option in function.command.options()]
        assert all(line.partition(": ")[2] for line in words)


def test_names_of_columns_that_are_no_texts_are_written_as_texts() -> None:
    truth, score = [0, 1] * 10, [0.1, 0.9] * 10
    for names, models in (
        (["truth", 0], {"0"}),
        (["truth", ("a", "x")], {"a x"}),
        (["truth", 1.5], {"1.5"}),
    ):
        frame = pd.DataFrame(dict(zip(names, (truth, score), strict=True)))
        found = clfeval.report(frame)
        assert {row["model"] for row in found.tables["models"]} == models


def test_frames_that_hold_no_cells_are_refused() -> None:
    twice = pd.DataFrame([[0, 0.1, 0.2], [1, 0.9, 0.8]] * 5, columns=["truth", "a", "a"])
    with pytest.raises(clfeval.DataError, match=r"column 'a': two columns .*duplicate-column"):
        clfeval.report(twice)
    lists = pd.DataFrame({"truth": [0, 1], "a": [0.1, 0.9], "l": [[1], [2]]})
    with pytest.raises(clfeval.DataError, match=r"column 'l': holds values .*bad-type"):
        clfeval.report(lists)
    with pytest.raises(clfeval.UsageError, match="no table"):
        clfeval.report(pd.DataFrame({"truth": [0, 1], "a": [0.1, 0.9]})).frame([])  # type: ignore[arg-type]
