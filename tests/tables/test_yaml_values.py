"""YAML 1.2 scalars: what each must be, and that all JSON is read as JSON reads it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from clfeval.tables.yaml import plain_scalar_value, read_yaml
from tests.thoroughness import examples

# by the core schema, YAML 1.2.2 section 10.3.2: text, though YAML 1.1 reads most otherwise
WORDS = ["yes", "no", "on", "off", "y", "N", "tRUE", "nULL", "none", "inf", "nan", "=", "<<"]
SIGNS = ["0o8", "0X1F", "-0x1F", "0b11", "1_000", "1e", "e3", ".", "1.2.3", "80%", "١"]
TIMES = ["12:30:45", "190:20:30.15", "2020-01-01", "2020-01-01 10:00:00"]
SCALARS: dict[str, object] = {
    **{text: text for text in (*WORDS, *SIGNS, *TIMES)},
    **dict.fromkeys(["true", "True", "TRUE"], True),
    **dict.fromkeys(["false", "False", "FALSE"], False),
    **dict.fromkeys(["~", "null", "Null", "NULL"]),
    **dict.fromkeys(["+1", "01"], 1),
    "0": 0,
    "-1": -1,
    "010": 10,  # 1.1: 8
    **dict.fromkeys(["08", "0o10"], 8),  # 1.1: text
    **dict.fromkeys(["0x1F", "0x1f"], 31),
    **dict.fromkeys(["0.5", ".5", "+.5"], 0.5),
    **dict.fromkeys(["5.", ".5e1"], 5.0),
    "-.5": -0.5,
    "1e-3": 0.001,  # PyYAML: text
    "1E3": 1000.0,  # PyYAML: text
    "1.5e+3": 1500.0,
    **dict.fromkeys(["1e400", ".inf", "+.INF"], math.inf),
    "-.Inf": -math.inf,
}


def yaml_value(text: str, name: str = "w.yaml") -> object:
    Path(name).write_text(text, encoding="utf-8")
    return read_yaml(name).value


@pytest.mark.parametrize(("text", "value"), SCALARS.items())
def test_a_scalar_is_what_yaml_1_2_says(text: str, value: object) -> None:
    found = yaml_value(f"- {text}\n- '{text}'\n- {{a: {text}}}")
    assert found == [value, text, {"a": value}]
    assert isinstance(found, list)
    assert type(found[0]) is type(value)  # True == 1 == 1.0


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_no_number(text: str) -> None:
    found = plain_scalar_value(text)
    assert isinstance(found, float)
    assert math.isnan(found)


def test_an_integer_longer_than_any_float_is_no_error_here() -> None:
    assert plain_scalar_value("9" * 5000) == math.inf
    assert plain_scalar_value("-" + "9" * 5000) == -math.inf


def test_keys_are_text_as_written() -> None:
    keys = ["no", "01", "1", "1e-3", "0x1F", "true", "~", "2020-01-01", "12:30", "=", ".inf"]
    found = yaml_value("\n".join(f"{key}: {i}" for i, key in enumerate(keys)))
    assert found == {key: i for i, key in enumerate(keys)}


def test_quotes_and_blocks_are_text() -> None:
    found = yaml_value("a: '1'\nb: \"true\"\nc: |\n  1\nd: >-\n  null\n'<<': ''\n")
    assert found == {"a": "1", "b": "true", "c": "1\n", "d": "null", "<<": ""}


def test_an_empty_value_is_null() -> None:
    assert yaml_value("a:\nb: [~, ]\nc: {d: , e}\n") == {
        "a": None,
        "b": [None],
        "c": {"d": None, "e": None},
    }


def test_an_alias_repeats_a_value() -> None:
    text = "a: &one {low: 0, high: &top 1}\nb: *one\nc: [*top, *top]\n"
    one = {"low": 0, "high": 1}
    assert yaml_value(text) == {"a": one, "b": one, "c": [1, 1]}


texts = st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFD), max_size=20)
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
trees = st.recursive(
    leaves | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(trees, st.sampled_from([None, 2]))
def test_json_is_yaml(folder: Path, tree: object, indent: int | None) -> None:
    text = json.dumps(tree, indent=indent)
    assert yaml_value(text) == json.loads(text)
