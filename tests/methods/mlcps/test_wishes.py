"""Wishes as they are written: the YAML file, the mapping of the API, and all that is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from clfeval.errors import UsageError
from clfeval.methods.mlcps.wishes import Wish, read_wishes, wishes_of

FILE = """\
# what we want
sensitivity: maximize
specificity: {goal: maximise, low: 0.8, high: 1, gamma: 2, weight: 2}
brier:
  goal: minimise
  low: 0
  high: 1e-1
found: {goal: target, low: .1, target: 0.3, high: 0.6, gamma: [1, 2]}
predictors: {goal: box, below: 20}
latency_ms: {goal: custom, points: [[0, 1], [50, 0.8], [200, 0]], weight: 0}
no: {goal: box, above: 0, high: 5}
"""

WISHES = (
    Wish("sensitivity", "maximize", low=0, high=1, gamma=(1,)),
    Wish("specificity", "maximize", low=0.8, high=1, gamma=(2,), weight=2),
    Wish("brier", "minimize", low=0, high=0.1, gamma=(1,)),
    Wish("found", "target", low=0.1, target=0.3, high=0.6, gamma=(1, 2)),
    Wish("predictors", "box", below=20),
    Wish("latency_ms", "custom", points=((0, 1), (50, 0.8), (200, 0)), weight=0),
    Wish("no", "box", above=0, high=5),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages name bare files."""
    monkeypatch.chdir(tmp_path)


def refused(text: str) -> str:
    """Write a file of wishes, see it refused (exit 2), and return the message."""
    Path("w.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_wishes("w.yaml")
    assert {problem.code for problem in caught.value.problems} == {"configuration"}
    return str(caught.value).replace(" [configuration]", "")


def test_a_file_of_all_goals() -> None:
    Path("w.yaml").write_text(FILE, encoding="utf-8")
    found = read_wishes("w.yaml")
    assert found == WISHES
    assert [wish.assumed for wish in found] == [("low", "high"), *[()] * 6]


def test_a_mapping_may_hold_arrays_and_numbers_of_numpy() -> None:
    found = wishes_of(
        {
            "a": {"goal": "custom", "points": np.array([[0, 1], [2, 0.5]]), "weight": np.int64(2)},
            "b": {
                "goal": "target",
                "low": 0,
                "target": np.float32(0.5),
                "high": 1,
                "gamma": (2, 1),
            },
        }
    )
    assert found == (
        Wish("a", "custom", points=((0, 1), (2, 0.5)), weight=2),
        Wish("b", "target", low=0, target=0.5, high=1, gamma=(2, 1)),
    )


@pytest.mark.parametrize(
    ("metric", "goal", "low", "high", "assumed"),
    [
        ("accuracy", "maximize", 0, 1, ("low", "high")),
        ("Sens", "maximise", 0, 1, ("low", "high")),
        ("mcc", "maximize", -1, 1, ("low", "high")),
        ("error_rate", "minimize", 0, 1, ("low", "high")),
        ("lr_pos", {"goal": "maximize", "high": 10}, 0, 10, ("low",)),
        ("net_benefit", {"goal": "maximize", "low": 0.2}, 0.2, 1, ("high",)),
        ("mcc", {"goal": "maximize", "low": 0}, 0, 1, ("high",)),
    ],
)
def test_ends_left_out_are_those_of_the_measure(
    metric: str, goal: object, low: float, high: float, assumed: tuple[str, ...]
) -> None:
    (wish,) = wishes_of({metric: goal})
    assert (wish.metric, wish.low, wish.high, wish.assumed) == (metric, low, high, assumed)


# a file of one line, the column of what is wrong, what is said
NO_GOALS = [
    ("f1: maximum", 1, "unknown goal 'maximum'\nhint: did you mean 'maximize'?"),
    ("f1: {low: 0, goal: max}", 14, "unknown goal 'max'\nhint: did you mean 'maximize'?"),
    ("f1: up", 1, "unknown goal 'up'\nhint: goals: maximize, minimize, target, box, custom"),
    ("f1: {goal: 3}", 6, "goal is 3\nhint: goals: maximize, minimize"),
    ("f1: {goal: [box]}", 6, "goal is a list\nhint: goals: maximize"),
    ("f1: {goal: }", 6, "goal is empty\nhint: goals: maximize"),
    ("f1: {low: 0}", 1, "no goal\nhint: goals: maximize"),
    ("f1: {gaol: box}", 6, "a wish takes no 'gaol'\nw.yaml:1:1: no goal\nhint: did you mean"),
    ("f1: 0.5", 1, "'f1' is 0.5, neither a goal nor a mapping with one\nhint: for example {"),
    ("f1:", 1, "'f1' is empty, neither a goal nor"),
    ("f1: [maximize]", 1, "'f1' is a list, neither a goal nor"),
    ("f1: true", 1, "'f1' is true, neither a goal nor"),
    ("{f1:maximize}", 2, "'f1:maximize' is empty, neither a goal nor a mapping with one\n"
     "hint: a space goes after the ':'"),
    ("f1: >\n  " + "very " * 30, 1, "unknown goal '" + "very " * 7 + "very...'\n"),
    ("{}", 1, "wishes are a mapping from metrics, this is empty\nhint: a line for each metric"),
    ("maximize", 1, "wishes are a mapping from metrics, this is 'maximize'"),
    ("- f1: maximize", 1, "wishes are a mapping from metrics, this is a list"),
    ("f1: {goal: maximize, weight: 0}", 1, "every weight is 0\nhint: give one metric a weight"),
]  # fmt: skip

NO_KEYS = [
    ("ours: maximize", 1, "maximize needs low and high: no range is known for 'ours'\n"
     "hint: for example {goal: maximize, low: 0.8, high: 1}: low is worth 0, high 1"),
    ("ours: {goal: minimize, low: 0}", 1, "minimize needs high: no upper end is known for 'ours'"),
    ("lr_pos: maximize", 1, "maximize needs high: no upper end is known for 'lr_pos'"),
    ("net_benefit: maximize", 1, "maximize needs low: no lower end is known for 'net_benefit'"),
    ("f1: target", 1, "target needs low and target and high\nhint: for example {goal: target"),
    ("f1: {goal: target, target: 1, low: 0}", 1, "target needs high\n"),
    ("f1: box", 1, "a box needs an end: low, high, above or below\nhint: for example {goal: box"),
    ("f1: custom", 1, "custom needs points\nhint: for example {goal: custom"),
    ("f1: {goal: maximize, gama: 2}", 22, "maximize takes no 'gama'\nhint: did you mean 'gamma'?"),
    ("f1: {goal: box, low: 0, gamma: 2}", 25, "box takes no 'gamma'\n"
     "hint: box takes goal, low, high, above, below, weight"),
    ("f1: {goal: maximize, low:0.5}", 22, "maximize takes no 'low:0.5'\nhint: a space goes"),
    ("{f1: maximize, f1: box}", 16, "key 'f1' is given twice, first at w.yaml:1:2"),
]  # fmt: skip

MAXIMIZE = "f1: {goal: maximize, "  # 21 columns
NO_NUMBERS = [
    (MAXIMIZE + "low: yes}", 22, "low is 'yes', not a number"),
    (MAXIMIZE + "low: true}", 22, "low is true, not a number"),
    (MAXIMIZE + "low: }", 22, "low is empty, not a number"),
    (MAXIMIZE + "low: [0]}", 22, "low is a list, not a number"),
    (MAXIMIZE + "low: {}}", 22, "low is a mapping, not a number"),
    (MAXIMIZE + "low: 80%}", 22, "low is '80%', not a number\nhint: write 0.8"),
    (MAXIMIZE + "low: '0.8'}", 22, "low is '0.8', not a number\nhint: write 0.8, a plain number"),
    (MAXIMIZE + "low: 1_000}", 22, "low is '1_000', not a number\nhint: write 1000, a plain"),
    (MAXIMIZE + "high: .inf}", 22, "high is inf, not a finite number"),
    (MAXIMIZE + "low: .nan}", 22, "low is nan, not a finite number"),
    (MAXIMIZE + "high: 1" + "0" * 350 + "}", 22, "high is inf, not a finite number"),
    (MAXIMIZE + "gamma: 0}", 22, "gamma 0 is not above 0"),
    (MAXIMIZE + "gamma: -2}", 22, "gamma -2 is not above 0"),
    (MAXIMIZE + "gamma: [1, 2]}", 22, "gamma is a list, not a number"),
    (MAXIMIZE + "weight: -1}", 22, "weight -1 is negative"),
    (MAXIMIZE + "weight: high}", 22, "weight is 'high', not a number"),
    ("f1: {goal: custom, points: 5}", 20, "points is 5, not a list of [raw value, 0..1]"),
    ("f1: {goal: custom, points: [[0, 1], 3]}", 37, "point 2 is 3, not a list of two: [raw value"),
    ("f1: {goal: custom, points: [[0, 1, 2]]}", 29, "point 1 is a list of 3, not a list of two"),
    ("f1: {goal: custom, points: [[a, 1]]}", 30, "point 1 (raw value) is 'a', not a number"),
]

TARGET = "f1: {goal: target, low: 0, target: 1, high: 2, "  # 47 columns
NO_RELATIONS = [
    (MAXIMIZE + "low: 1, high: 1}", 1, "low 1 is not less than high 1\nhint: for example {goal"),
    (MAXIMIZE + "low: 80}", 1, "low 80 is not less than high 1\n"),
    ("f1: {goal: minimize, low: 0.1, high: 0}", 1, "low 0.1 is not less than high 0\n"
     "hint: for example {goal: minimize, low: 0, high: 0.1}: low is worth 1, high 0"),
    ("f1: {goal: target, low: 0, target: 2, high: 1}", 1, "target 2 is not less than high 1"),
    (TARGET + "gamma: [1]}", 48, "gamma is a list of 1, not a list of two: [below the target, "),
    (TARGET + "gamma: [1, 0]}", 59, "gamma (above it) 0 is not above 0"),
    (TARGET + "gamma: 0}", 48, "gamma 0 is not above 0"),
    (TARGET + "gamma_low: 0}", 48, "gamma_low 0 is not above 0"),
    (TARGET + "gamma: 1, gamma_low: 2}", 48, "gamma beside gamma_low or gamma_high\n"
     "hint: for example gamma: [1, 2], below the target and above it"),
    ("f1: {goal: box, low: 1, above: 1}", 1, "a box takes one end on each side: low or above, "),
    ("f1: {goal: box, above: 2, high: 1}", 1, "above 2 is not less than high 1"),
    ("f1: {goal: custom, points: [[0, 1]]}", 1, "two points [x, d] or more are needed"),
    ("f1: {goal: custom, points: [[1, 1], [1, 0]]}", 1, "x 1 is not less than the next x 1"),
    ("f1: {goal: custom, points: [[0, 1], [1, 2]]}", 1, "d 2 of the point at 1 is not in 0..1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "column", "message"), [*NO_GOALS, *NO_KEYS, *NO_NUMBERS, *NO_RELATIONS]
)
def test_what_is_no_wish_is_refused_with_its_place(line: str, column: int, message: str) -> None:
    assert refused(line).startswith(f"w.yaml:1:{column}: {message}")


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = "f1: maximum\nmcc: {goal: maximize, low: a, high: b, weight: -1, x: 0}\nours: minimize\n"
    Path("w.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_wishes("w.yaml")
    assert [str(problem.file) for problem in caught.value.problems] == [
        "w.yaml:1:1", "w.yaml:2:52", "w.yaml:2:23", "w.yaml:2:31", "w.yaml:2:40", "w.yaml:3:1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"brier": {"goal": "minimize", "low": 1, "high": 0}},
         "desirability of 'brier': low 1 is not less than high 0"),
        ({"brier": {"goal": "box", "low": np.bool_(True)}}, "'brier': low is a bool, not a number"),
        ({"brier": {"goal": "box", "low": math.inf}}, "'brier': low is inf, not a finite number"),
        ({"brier": {"goal": "box", "low": 10**400}}, "'brier': low is inf, not a finite number"),
        ({"brier": {"goal": "box", 3: 1}}, "desirability of 'brier': box takes no '3'"),
        ({3: "maximize"}, "desirability of '3': the name of a metric is text, not 3"),
        ({}, "desirability: wishes are a mapping from metrics, this is empty"),
        (None, "desirability: wishes are a mapping from metrics, this is empty"),
        (["f1"], "desirability: wishes are a mapping from metrics, this is a list"),
    ],
)  # fmt: skip
def test_a_mapping_of_the_api_is_refused_by_metric(wishes: object, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        wishes_of(wishes)
    assert message in str(caught.value)


def test_a_missing_file_is_a_question_of_usage() -> None:
    with pytest.raises(UsageError, match=r"none\.yaml: no such file \[no-such-file\]"):
        read_wishes("none.yaml")
