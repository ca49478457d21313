"""Wishes as they are written: the YAML file, the mapping of the API, and all that is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from clfeval.errors import UsageError
from clfeval.methods.mlcps.desirability_goals import DesirabilityGoal, read_goals
from tests.results import problem_codes
from tests.texts import check_text, problem_places

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
    DesirabilityGoal("sensitivity", "maximize", low=0, high=1, gamma=(1,)),
    DesirabilityGoal("specificity", "maximize", low=0.8, high=1, gamma=(2,), weight=2),
    DesirabilityGoal("brier", "minimize", low=0, high=0.1, gamma=(1,)),
    DesirabilityGoal("found", "target", low=0.1, target=0.3, high=0.6, gamma=(1, 2)),
    DesirabilityGoal("predictors", "box", below=20),
    DesirabilityGoal("latency_ms", "custom", points=((0, 1), (50, 0.8), (200, 0)), weight=0),
    DesirabilityGoal("no", "box", above=0, high=5),
)


pytestmark = pytest.mark.usefixtures("folder")  # messages name bare files


def refusal_of(text: str) -> str:
    """Write a file of wishes, see it refused (exit 2), and return the message."""
    Path("w.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_goals("w.yaml")
    assert {*problem_codes(caught.value)} == {"configuration"}
    return str(caught.value)


def test_a_file_of_all_goals() -> None:
    Path("w.yaml").write_text(FILE, encoding="utf-8")
    goals = read_goals("w.yaml")
    assert goals == WISHES
    assert [wish.assumed for wish in goals] == [("low", "high"), *[()] * 6]


def test_a_mapping_may_hold_arrays_and_numbers_of_numpy() -> None:
    goals = read_goals(
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
    assert goals == (
        DesirabilityGoal("a", "custom", points=((0, 1), (2, 0.5)), weight=2),
        DesirabilityGoal("b", "target", low=0, target=0.5, high=1, gamma=(2, 1)),
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
    (wish,) = read_goals({metric: goal})
    assert (wish.metric, wish.low, wish.high, wish.assumed) == (metric, low, high, assumed)


# files of one line, and the column of what is wrong
MAXIMIZE = "f1: {goal: maximize, "  # 21 columns
TARGET = "f1: {goal: target, low: 0, target: 1, high: 2, "  # 47 columns
WRONG = {
    "goals": [
        ("f1: maximum", 1),
        ("f1: {low: 0, goal: max}", 14),
        ("f1: up", 1),
        ("f1: {goal: 3}", 6),
        ("f1: {goal: [box]}", 6),
        ("f1: {goal: }", 6),
        ("f1: {low: 0}", 1),
        ("f1: {gaol: box}", 6),
        ("f1: 0.5", 1),
        ("f1:", 1),
        ("f1: [maximize]", 1),
        ("f1: true", 1),
        ("{f1:maximize}", 2),
        ("f1: >\n  " + "very " * 30, 1),
        ("{}", 1),
        ("maximize", 1),
        ("- f1: maximize", 1),
        ("f1: {goal: maximize, weight: 0}", 1),
    ],
    "keys": [
        ("ours: maximize", 1),
        ("ours: {goal: minimize, low: 0}", 1),
        ("lr_pos: maximize", 1),
        ("net_benefit: maximize", 1),
        ("f1: target", 1),
        ("f1: {goal: target, target: 1, low: 0}", 1),
        ("f1: box", 1),
        ("f1: custom", 1),
        (MAXIMIZE + "gama: 2}", 22),
        ("f1: {goal: box, low: 0, gamma: 2}", 25),
        (MAXIMIZE + "low:0.5}", 22),
        ("{f1: maximize, f1: box}", 16),
    ],
    "numbers": [
        *(
            (MAXIMIZE + end, 22)
            for end in (
                "low: yes}",
                "low: true}",
                "low: }",
                "low: [0]}",
                "low: {}}",
                "low: 80%}",
                "low: '0.8'}",
                "low: 1_000}",
                "high: .inf}",
                "low: .nan}",
                "high: 1" + "0" * 350 + "}",
                "gamma: 0}",
                "gamma: -2}",
                "gamma: [1, 2]}",
                "weight: -1}",
                "weight: high}",
            )
        ),
        ("f1: {goal: custom, points: 5}", 20),
        ("f1: {goal: custom, points: [[0, 1], 3]}", 37),
        ("f1: {goal: custom, points: [[0, 1, 2]]}", 29),
        ("f1: {goal: custom, points: [[a, 1]]}", 30),
    ],
    "relations": [
        (MAXIMIZE + "low: 1, high: 1}", 1),
        (MAXIMIZE + "low: 80}", 1),
        ("f1: {goal: minimize, low: 0.1, high: 0}", 1),
        ("f1: {goal: target, low: 0, target: 2, high: 1}", 1),
        (TARGET + "gamma: [1]}", 48),
        (TARGET + "gamma: [1, 0]}", 59),
        (TARGET + "gamma: 0}", 48),
        (TARGET + "gamma_low: 0}", 48),
        (TARGET + "gamma: 1, gamma_low: 2}", 48),
        ("f1: {goal: box, low: 1, above: 1}", 1),
        ("f1: {goal: box, above: 2, high: 1}", 1),
        ("f1: {goal: custom, points: [[0, 1]]}", 1),
        ("f1: {goal: custom, points: [[1, 1], [1, 0]]}", 1),
        ("f1: {goal: custom, points: [[0, 1], [1, 2]]}", 1),
    ],
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_wish_is_refused_with_its_place(kind: str) -> None:
    messages = [refusal_of(line) for line, _ in WRONG[kind]]
    for message, (line, column) in zip(messages, WRONG[kind], strict=True):
        assert problem_places(message)[0] == f"w.yaml:1:{column}: [configuration]", line
    check_text(messages)


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = "f1: maximum\nmcc: {goal: maximize, low: a, high: b, weight: -1, x: 0}\nours: minimize\n"
    Path("w.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_goals("w.yaml")
    assert [str(problem.file) for problem in caught.value.problems] == [
        "w.yaml:1:1",
        "w.yaml:2:52",
        "w.yaml:2:23",
        "w.yaml:2:31",
        "w.yaml:2:40",
        "w.yaml:3:1",
    ]


NO_WISHES: list[object] = [
    {"brier": {"goal": "minimize", "low": 1, "high": 0}},
    {"brier": {"goal": "box", "low": np.bool_(True)}},
    {"brier": {"goal": "box", "low": math.inf}},
    {"brier": {"goal": "box", "low": 10**400}},
    {"brier": {"goal": "box", 3: 1}},
    {3: "maximize"},
    {},
    None,
    ["f1"],
]


def test_what_is_no_mapping_of_wishes_is_refused() -> None:
    for wishes in NO_WISHES:
        with pytest.raises(UsageError) as caught:
            read_goals(wishes)  # type: ignore[arg-type]
        assert problem_codes(caught.value) == ["configuration"]
        check_text(str(caught.value))


def test_a_missing_file_is_a_question_of_usage() -> None:
    with pytest.raises(UsageError) as caught:
        read_goals("none.yaml")
    assert problem_places(str(caught.value)) == ["none.yaml: [no-such-file]"]
