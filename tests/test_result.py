"""The Result as data: JSON there and back, its schema, and rows made on demand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from clfeval.api.result import Result
from clfeval.compare.gates.evaluate import evaluate_limits
from clfeval.compare.gates.limits import parse_limit
from clfeval.document import SCHEMA, SCHEMA_VERSION, Answer, Gate, InputFile, ResultNote
from clfeval.document.cells import Estimate, Row
from clfeval.document.rows import LazyRows
from tests.thoroughness import examples

COUNT = st.integers(0, 2**63 - 1)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(max_size=8)
ESTIMATE = st.builds(
    Estimate, st.none() | NUMBER, st.none() | NUMBER, st.none() | NUMBER, st.none() | TEXT
)
# what a saved result has at least
SIGNATURE = "cmd:mars|pos:1|data:11|stats:0123abcd|clfeval:0.1.0"
WHOLE = Estimate(0.5, 0.1, 0.9)
PARAMETERS: dict[str, Any] = {
    "positive": "1",
    "negative": ["0"],
    "target": "positive",
    "occlusion": "all",
    "level": 0.95,
    "interval": "exact",
    **dict.fromkeys(("missing", "top", "sweep", "groups", "by")),
}
SUMMARY: dict[str, Any] = {
    **dict.fromkeys(("rows", "positives", "negatives", "found", "missed_by_all"), 1),
    **dict.fromkeys(("rule", "target")),
}
MODEL: Row = {
    "slice": None,
    "model": "a",
    "threshold": None,
    **dict.fromkeys(("tp", "fp", "fn", "tn"), 1),
    **dict.fromkeys(("exclusive_tp", "exclusive_tn", "exclusive_fn", "exclusive_fp"), 0),
    **dict.fromkeys(("accuracy", "precision", "recall", "shine_through", "occlusion"), WHOLE),
}
CELL = st.none() | st.booleans() | st.integers() | NUMBER | TEXT | st.lists(TEXT) | ESTIMATE
COLUMNS = st.lists(TEXT, unique=True, max_size=4)
# a measure is a column of all rows of its table
ROWS = COLUMNS.flatmap(
    lambda columns: st.lists(st.fixed_dictionaries(dict.fromkeys(columns, CELL)), max_size=3)
)
# a result of this schema, and anything else besides: of a later version
RESULTS = st.builds(
    Result,
    command=st.just("mars"),
    signature=st.just(SIGNATURE),
    inputs=st.tuples(
        st.builds(
            InputFile,
            TEXT.map(lambda text: text.replace("/", "-")),
            st.none() | st.just("0" * 64),
            COUNT,
            COUNT,
        )
    ),
    parameters=st.dictionaries(TEXT, st.none() | NUMBER | TEXT | st.lists(TEXT), max_size=3).map(
        lambda drawn: {**drawn, **PARAMETERS}
    ),
    summary=st.dictionaries(TEXT, st.integers() | NUMBER | TEXT, max_size=3).map(
        lambda drawn: {**drawn, **SUMMARY}
    ),
    tables=st.dictionaries(TEXT, ROWS, max_size=3).map(
        lambda drawn: {**drawn, "models": [MODEL], "pairs": []}
    ),
    gates=st.tuples(
        st.builds(
            Gate,
            st.sampled_from(("fail-under", "max-drop")),
            TEXT,
            st.none() | TEXT,
            NUMBER,
            st.none() | NUMBER,
            st.booleans(),
            TEXT,
        )
    ),
    warnings=st.tuples(st.builds(ResultNote, st.just("one-model"), TEXT)),
    answer=st.just((Answer("best", "One is the best."),)),
    version=st.just("0.1.0"),
)


def small(**changes: Any) -> Result:
    tables: dict[str, Any] = {"models": [MODEL], "pairs": []}
    inputs = (InputFile("t.csv", None, 3),)
    answer = (Answer("best", "One is the best."),)
    whole = Result("mars", SIGNATURE, inputs, PARAMETERS, SUMMARY, tables, answer=answer)
    return replace(whole, **changes)


@examples(60)
@given(RESULTS)
def test_json_there_and_back(result: Result) -> None:
    text = result.to_json()
    again = Result.from_json(text)
    assert again == result
    assert again.to_json() == text
    assert json.loads(text) == json.loads(json.dumps(result.to_dict()))


def test_a_real_result_there_and_back(paper: Path) -> None:
    run = clfeval.mars(paper / "scores.csv", subsets="all", best=2, sweep="top", list=["found"])
    judged = evaluate_limits(run, [parse_limit("fail-under", "recall.low=0.9")])
    again = Result.from_json(judged.to_json())
    assert again.to_json() == judged.to_json()
    assert again.tables == judged.tables
    assert not again.passed
    assert (
        clfeval.mars(paper / "scores.csv").to_json() == clfeval.mars(paper / "scores.csv").to_json()
    )


def test_the_document_has_the_promised_shape() -> None:
    document = small().to_dict()
    assert list(document) == [
        "schema",
        "command",
        "version",
        "signature",
        "answer",
        "inputs",
        "parameters",
        "summary",
        "tables",
        "gates",
        "passed",
        "warnings",
    ]
    assert document["schema"] == "clfeval.result/1"
    cell = document["tables"]["models"][0]["recall"]
    assert cell == {"value": 0.5, "low": 0.1, "high": 0.9, "reason": None}


def test_passed_needs_every_gate() -> None:
    met, missed = Gate("k", "m", None, 0, 1, True), Gate("k", "m", None, 0, 1, False)
    assert small().passed
    assert small(gates=(met, met)).passed
    assert not small(gates=(met, missed)).passed


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("where", ["summary", "cell", "estimate", "parameters"])
def test_nan_and_infinity_are_refused(bad: float, where: str) -> None:
    broken = {
        "summary": small(summary={"found": bad}),
        "parameters": small(parameters={"level": bad}),
        "cell": small(tables={"models": [{"tp": bad}]}),
        "estimate": small(tables={"models": [{"recall": Estimate(0.5, bad)}]}),
    }[where]
    with pytest.raises(ValueError, match="not JSON compliant"):
        broken.to_json()


@pytest.mark.parametrize(
    "schema",
    [
        None,
        "",
        "clfeval.result",
        "clfeval.result/x",
        "other/1",
        1,
        f"clfeval.result/{SCHEMA_VERSION + 1}",
    ],
)
def test_a_foreign_or_newer_document_is_refused(schema: object) -> None:
    newer = str(schema).endswith(str(SCHEMA_VERSION + 1))
    with pytest.raises(ValueError, match=SCHEMA if newer else "clfeval"):
        Result.from_dict({**small().to_dict(), "schema": schema})


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "{}", '{"schema": 1}'])
def test_text_that_is_no_result_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - JSON's own message for broken JSON
        Result.from_json(text)


@pytest.mark.parametrize("key", ["command", "signature", "inputs", "tables", "gates", "version"])
def test_an_incomplete_document_is_refused(key: str) -> None:
    document = small().to_dict()
    del document[key]
    with pytest.raises(ValueError, match=key):
        Result.from_dict(document)


@pytest.mark.parametrize("where", ["document", "input", "gate", "warning"])
def test_keys_added_later_under_the_same_schema_are_read_over(where: str) -> None:
    """Adding keys keeps the schema's number, so this program must not stumble over them."""
    whole = small(
        inputs=(InputFile("t.csv", None, 3),),
        gates=(Gate("fail-under", "recall", "a", 0.1, 0.5, True),),
        warnings=(ResultNote("one-model", "one model"),),
    )
    document = whole.to_dict()
    place = {
        "document": document,
        "input": document["inputs"][0],
        "gate": document["gates"][0],
        "warning": document["warnings"][0],
    }[where]
    place["added_in_a_later_version"] = 1
    assert Result.from_dict(document) == whole


def lazy(length: int) -> tuple[LazyRows, list[Row], list[int]]:
    """Return lazy rows, the list they stand for, and a record of which rows were made."""
    made: list[int] = []

    def make(index: int) -> Row:
        made.append(index)
        return {"i": index}

    return LazyRows(length, make), [{"i": index} for index in range(length)], made


@examples(60)
@given(st.integers(0, 6), st.integers(-9, 9), st.slices(6))
def test_lazy_rows_behave_like_the_list(length: int, index: int, part: slice) -> None:
    rows, plain, _ = lazy(length)
    assert isinstance(rows, Sequence)
    assert (len(rows), bool(rows)) == (len(plain), bool(plain))
    assert list(rows) == plain
    assert list(reversed(rows)) == plain[::-1]
    assert rows[part] == plain[part]
    if -length <= index < length:
        assert rows[index] == plain[index]
        assert rows.index(plain[index]) == plain.index(plain[index])
        assert rows.count(plain[index]) == 1
    else:
        with pytest.raises(IndexError):
            rows[index]


def test_lazy_rows_compare_as_the_list() -> None:
    rows, plain, _ = lazy(3)
    assert rows == plain
    assert plain == rows
    assert rows == lazy(3)[0]
    assert rows != plain[:2]
    assert rows != [{"i": 9}, *plain[1:]]
    assert rows != "abc"
    assert {"i": 1} in rows
    assert {"i": 7} not in rows
    with pytest.raises(TypeError, match=r"^unhashable type"):
        hash(rows)


def test_lazy_rows_are_made_when_asked_for() -> None:
    rows, _, made = lazy(1_000_000)
    assert (len(rows), made) == (1_000_000, [])
    assert rows[-1] == {"i": 999_999}
    assert rows[10:12] == [{"i": 10}, {"i": 11}]
    assert made == [999_999, 10, 11]


def test_lazy_and_plain_tables_give_the_same_bytes() -> None:
    rows, plain, _ = lazy(3)
    assert small(tables={"subsets": rows}).to_json() == small(tables={"subsets": plain}).to_json()
    tables = {"models": [MODEL], "pairs": [], "subsets": lazy(0)[0]}
    empty = small(tables=tables)
    assert Result.from_json(empty.to_json()).tables == {**tables, "subsets": []}


def test_infinite_scores_are_no_numbers_of_json() -> None:
    """Thresholds of the table `thresholds` are scores."""
    scores = [inf, 0.2, 0.7, -inf, 3.0, 2.0]
    result = clfeval.report([1, 0, 1, 0, 1, 0], {"a": scores})
    thresholds = [row["threshold"] for row in json.loads(result.to_json())["tables"]["thresholds"]]
    assert len(thresholds) > 2
    assert thresholds[0] is None
    assert thresholds[-1] is None
    assert all(isinstance(number, float) for number in thresholds[1:-1])
