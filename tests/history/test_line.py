"""A line: sorted keys, nothing but itself needed, refused where it is none."""

from __future__ import annotations

import json

import pytest

from clfeval.api.result import Result
from clfeval.compare.baseline.read import lines_to_result, result_lines
from clfeval.compare.history.file import AcceptedLabel, parse_line
from clfeval.document import Gate, InputFile, settings_of
from clfeval.document.cells import Estimate
from tests.history.lines import history_measure, line
from tests.texts import check_text

LINE = line("W1", "ümlaut | x", gates={"roc_auc": True}, roc_auc=history_measure(0.8, 0.02))
RESULT = Result(
    "report",
    "cmd:report|pos:1|data:11|stats:22|clfeval:0.1.0",
    (InputFile("t.csv", "ab", 9),),
    {"level": 0.9},
    {"rows": 9, "positives": 4},
    {
        "models": [
            {
                "slice": None,
                "model": "a",
                "tp": 3,
                "roc_auc": Estimate(0.7, 0.6, 0.8),
                "npv": Estimate(None, reason="no_negative_prediction"),
            },
            {
                "slice": "s=1",
                "model": "a",
                "tp": 1,
                "roc_auc": Estimate(0.1),
                "npv": Estimate(None),
            },
        ],
        "measures": [
            {
                "slice": None,
                "model": "a",
                "measure": "roc_auc",
                "value": Estimate(0.7, 0.6, 0.8),
                "se": 0.05,
            }
        ],
    },
    gates=(
        Gate("fail-under", "roc_auc.low", "a", 0.5, 0.6, True),
        Gate("fail-under", "roc_auc", "a", 0.75, 0.7, False),
        Gate("fail-under", "npv.low", "a", 0.5, 0.1, False, slice="site=a"),
        Gate("warn-under", "net_benefit@t:t=0.1", "a", 0.5, 0.1, False, severity="warn"),
        Gate("fail-under", "net_benefit@t:t=0.1.low", "a", 0.0, 0.1, True),
    ),
    truth="ids:cc",
)


def test_a_line_is_read_back_as_it_was() -> None:
    assert parse_line(LINE.text()) == LINE
    assert parse_line(AcceptedLabel("report", "W1").text()) == AcceptedLabel("report", "W1")


def test_keys_are_sorted_and_the_line_ends() -> None:
    text = LINE.text()
    assert text.count("\n") == 1
    assert text.endswith("\n")
    said = json.loads(text)
    assert list(said) == sorted(said)
    assert text == json.dumps(said, sort_keys=True, ensure_ascii=False) + "\n"


def test_a_line_keeps_measures_settings_and_gates_of_a_result() -> None:
    (found,) = result_lines(RESULT, "W1", {"a": RESULT.tables["models"][0]})
    assert found.settings == "cmd:report|pos:1"
    assert (found.data, found.truth, found.rows, found.positives) == (("ab",), "ids:cc", 9, 4)
    assert (found.level, found.version, found.run) == (0.9, RESULT.version, None)
    assert list(found.measures) == ["roc_auc", "npv"]  # no count, and nothing of a slice
    roc, npv = found.measures.values()
    assert (roc.value, roc.low, roc.high, roc.se, roc.reason) == (0.7, 0.6, 0.8, 0.05, None)
    assert (npv.value, npv.se, npv.reason) == (None, None, "no_negative_prediction")
    # one of two was missed; what only warns is not
    assert found.gates == {"roc_auc": False, "net_benefit@t:t=0.1": True}


def test_lines_are_a_result_to_compare_with() -> None:
    found = lines_to_result({"rf": LINE})
    assert found.signature == settings_of(found.signature) == LINE.settings
    assert found.tables["models"][0]["roc_auc"] == LINE.measures["roc_auc"].estimate
    assert found.tables["measures"][0]["se"] == 0.02
    assert found.truth == "ids:aa"


def test_an_older_line_may_lack_what_came_later() -> None:
    said = {"schema": "clfeval.history/1", "command": "report", "label": "a", "model": "m"}
    found = parse_line(json.dumps({**said, "measures": {}}))
    assert (found.truth, found.gates, found.run) == (None, {}, None)  # type: ignore[union-attr]
    later = parse_line(json.dumps({**json.loads(LINE.text()), "news": [1]}))
    assert later == LINE


WRONG = {
    "schema": "clfeval.history/2",
    "label": 3,
    "rows": "9",
    "positives": True,
    "data": "x",
    "measures": [],
    "gates": {"a": 1},
    "truth": [],
}


SCHEMA = '{"schema": "clfeval.history/1"'
BROKEN = {
    "{": "{",
    "a list": "[1]",
    "nothing": "{}",
    "a result": '{"schema": "clfeval.result/1"}',
    "no command": SCHEMA + "}",
    "NaN": SCHEMA + ', "x": NaN}',
    "deep": "[" * 100_000,
    "limits exchanged": SCHEMA + ', "command": "a", "label": "b", "model": "c", "measures": '
    '{"m": {"value": 0.5, "low": 0.6, "high": 0.4}}}',
    "no value": SCHEMA + ', "command": "a", "label": "b", "model": "c", "measures": {"m": {}}}',
    "infinite": SCHEMA + ', "command": "a", "label": "b", "model": "c", "measures": '
    '{"m": {"value": 1e999}}}',
    **{key: json.dumps({**json.loads(LINE.text()), key: wrong}) for key, wrong in WRONG.items()},
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_line_is_refused(case: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is kept
        parse_line(BROKEN[case])
    check_text(str(caught.value))
