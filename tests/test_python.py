"""What Python does with a result: frames, files, limits, text; errors in the words of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.errors import UsageError
from clfeval.methods.command_lookup import command_of
from tests.texts import check_text

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
    frame = result.frame("models", backend="pandas")
    assert frame["threshold"].dtype == float
    assert frame["threshold"].isna().all()
    assert frame["recall_reason"].isna().all()
    assert frame["recall_reason"].dtype == object


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
        ("a", "recall", False),
        ("b", "recall", True),
        ("b", "precision", True),
        ("a", "fp", True),
        ("b", "fp", False),
    ]
    assert (result.gates, result.passed) == ((), True)  # a result never changes
    assert result.check(fail_under=["recall=0.5"]).passed


def test_every_form_is_written_and_read_back(result: Result, tmp_path: Path) -> None:
    checked = result.check(fail_under={"recall": 0.6})
    names = [tmp_path / f"r.{suffix}" for suffix in ("json", "csv", "md", "html", "xml")]
    checked.save(*names)
    assert Result.from_json(names[0].read_text()).to_dict() == checked.to_dict()
    page = names[3].read_text()
    first = checked.answer[0].text
    assert page.index(first) < page.index("gate MISSED: a: recall ") < page.index("<svg")
    assert page.index("<svg") < page.index("<details") < page.index("<table>")


def test_the_text_and_the_page_begin_with_the_answer(
    result: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = str(result).splitlines()
    assert lines[1] == result.answer[0].text
    check_text(lines[-1])
    assert result._repr_html_().index(result.answer[0].text) < result._repr_html_().index("<table>")
    result.show("rates", width=80)
    assert capsys.readouterr().out not in str(result)
    result.show("pairs")  # of two models: all that the table holds
    assert "a + b" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda r: r.show(["pairs"]), "['pairs']"),
        (lambda r: r.frame(3), "'3'"),
        (lambda r: r.show(digits=16), "16"),
        (lambda r: r.save(digits=-1), "-1"),
        (lambda r: r.show(width=0), "0"),
        (lambda r: r.frame("none"), "'models', 'pairs'"),
        (lambda r: r.frame(backend="dask"), "'dask'"),
        (lambda r: r.save("r.doc"), "'r.doc'"),
        (lambda r: r.save("r.xml"), "'r.xml'"),
        (lambda r: r.save("r.csv", table="none"), "'none'"),
        (lambda r: r.show("pears"), "'pears'"),
        (lambda r: r.show("best"), "'best'"),
        (lambda r: r.check(fail_under="recall"), "fail_under 'recall'"),
        (lambda r: r.check(fail_under=3), "fail_under 3"),
        (lambda r: r.check(max_drop={"recall": 0.1}), "max_drop"),
        (lambda r: r.check(fail_under={"recall": 70}), "'recall'"),
    ],
    ids=range(16),
)
def test_errors_speak_python(result: Result, call: Any, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        call(result)
    text = str(caught.value)
    assert (named in text, "--" in text) == (True, False)
    check_text(text)


def test_help_explains_every_keyword() -> None:
    for name in clfeval.FUNCTIONS:
        function = getattr(clfeval, name)
        words = str(function.__doc__).split("Keywords:\n")[1].splitlines()
        explained = [line.split(":")[0].strip() for line in words]
        assert explained == [option.name for option in command_of(name).options()]
        assert all(line.partition(": ")[2] for line in words)


def test_names_of_columns_that_are_no_texts_are_written_as_texts() -> None:
    truth, score = [0, 1] * 10, [0.1, 0.9] * 10
    for name, model in ((0, "0"), (("a", "x"), "a x"), (1.5, "1.5")):
        found = clfeval.report(pd.DataFrame({"truth": truth, name: score}))
        assert {row["model"] for row in found.tables["models"]} == {model}


def test_frames_that_hold_no_cells_are_refused() -> None:
    twice = pd.DataFrame([[0, 0.1, 0.2], [1, 0.9, 0.8]] * 5, columns=["truth", "a", "a"])
    with pytest.raises(clfeval.DataError, match=r"column 'a': .*duplicate-column"):
        clfeval.report(twice)
    lists = pd.DataFrame({"truth": [0, 1], "a": [0.1, 0.9], "l": [[1], [2]]})
    with pytest.raises(clfeval.DataError, match=r"column 'l': .*bad-type"):
        clfeval.report(lists)
    with pytest.raises(clfeval.UsageError, match="bad-option"):
        clfeval.report(pd.DataFrame({"truth": [0, 1], "a": [0.1, 0.9]})).frame([])  # type: ignore[arg-type]


def test_one_threshold_for_all_models_is_proposed_as_a_number() -> None:
    truth = [row % 3 == 0 for row in range(60)]
    scores = [20 + row % 50 + 10 * positive for row, positive in enumerate(truth)]
    with pytest.raises(clfeval.DataError, match=r"mars\(\.\.\., threshold=50\.0\)"):
        clfeval.mars([int(positive) for positive in truth], scores)
