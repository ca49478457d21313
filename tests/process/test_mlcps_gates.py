"""Gates of mlcps: limits on scores, on their limits and on ranks, baselines, JUnit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.process.program import Done, json_document, write_files
from tests.process.program import clfeval_in_lines as clfeval
from tests.process.test_mlcps import TABLE, VALUES, area

WISHES = "recall: {goal: maximize, low: 0.5, high: 1}\nspecificity: {goal: box, low: 0.72}\n"
# recall, precision, specificity of both models
LABELS = "truth,a,b\n" + "1,1,1\n" * 40 + "1,0,1\n" * 9 + "1,1,0\n" + "0,0,0\n" * 45 + "0,0,1\n" * 5


@pytest.fixture(autouse=True)
def input_files(folder: Path) -> None:
    write_files(folder, {"m.csv": TABLE, "w.yaml": WISHES, "p.csv": LABELS})


def rank(*words: str) -> Done:
    return clfeval("mlcps", *words, "-q", "-f", "json")


def gates(done: Done) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json_document(done)["gates"]
    return rows


def test_a_missed_gate_exits_1_and_says_why() -> None:
    done = rank("m.csv", "--fail-under", "mlcps=0.8", "--fail-over", "rf:rank=1")
    # ½ sin 120° (.7 .6 + .6 .9 + .9 .7) = .688 is below .8
    assert done.code == 1
    told = [(gate["model"], gate["passed"], round(gate["value"], 3)) for gate in gates(done)]
    assert told[2:] == [("lr", False, 0.688), ("rf", False, 2)]
    assert [passed for _, passed, _ in told[:2]] == [True, True]
    assert json_document(done)["passed"] is False


def test_one_model_is_judged_where_one_is_named() -> None:
    done = rank("m.csv", "--fail-under", "rf:mlcps=0.8", "--fail-under", "rf:normalised=0.6")
    assert (done.code, done.err) == (0, "")
    assert [gate["model"] for gate in gates(done)] == ["rf", "rf"]
    values = [gate["value"] for gate in gates(done)]
    assert values == pytest.approx([area(VALUES["rf"]), (0.72 + 0.56 + 0.63) / 3], rel=1e-12)


def test_a_limit_of_an_interval_needs_an_interval() -> None:
    wished = ["--desirability", "w.yaml"]
    none = rank("m.csv", *wished, "--fail-under", "svm:desirability.low=0")
    assert (none.code, [gate["reason"] for gate in gates(none)]) == (1, ["no_interval"])
    predicted = [
        "p.csv",
        "--from",
        "predictions",
        *wished,
        "--metric",
        "recall",
        "--metric",
        "precision",
        "--metric",
        "specificity",
    ]
    some = rank(*predicted, "--fail-under", "desirability.low=0.2", "--fail-over", "mlcps.high=1.4")
    low, *_ = (gate for gate in gates(some) if gate["model"] == "a")
    by_model = {row["model"]: row for row in json_document(some)["tables"]["models"]}
    assert low["value"] == by_model["a"]["desirability"]["low"]
    assert low["value"] < by_model["a"]["desirability"]["value"]
    assert (some.code, some.err) == (0, "")
    assert [gate["metric"] for gate in gates(some)] == ["desirability.low"] * 2 + ["mlcps.high"] * 2


def test_a_dealbreaker_makes_desirability_0_and_misses_a_gate() -> None:
    done = rank("m.csv", "--desirability", "w.yaml", "--fail-under", "desirability=0.01")
    assert (done.code, [gate["passed"] for gate in gates(done)].count(False)) == (1, 1)
    values = {gate["model"]: gate["value"] for gate in gates(done)}
    # d of recall is (x - .5) / .5, that of specificity 1 from .72 on
    expected = {"rf": 0.0, "svm": (0.6 * 1) ** 0.5, "lr": (0.4 * 1) ** 0.5}
    assert values == pytest.approx(expected, rel=1e-12)


def test_counts_of_the_summary_have_gates() -> None:
    # rf is best in recall, svm in precision, lr in specificity: all three are on the front
    met = rank("m.csv", "--fail-under", "pareto_front=3", "--fail-over", "order_dependent=0")
    assert (met.code, [gate["value"] for gate in gates(met)]) == (0, [3, 0])
    assert rank("m.csv", "--fail-under", "pareto_front=4").code == 1


@pytest.mark.parametrize(
    ("gate", "part"),
    [
        ("mlcsp=0.5", "'mlcps'"),
        ("knn:mlcps=0.5", "[unknown-model]"),
        ("mlcps", "'mlcps'"),
        ("rank.low=1", "'rank'"),
        ("best=1", "'best'"),
    ],
)
def test_a_gate_that_cannot_be_judged_is_a_usage_error(gate: str, part: str) -> None:
    done = rank("m.csv", "--fail-under", gate, "--save", "r.json")
    assert (done.code, done.out) == (2, "")
    assert part in done.err
    assert not Path("r.json").exists()


def saved(name: str, *words: str) -> list[str]:
    """Save a baseline and return the words that compare with it."""
    assert clfeval("mlcps", "m.csv", "-q", *words, "--save", name).code == 0
    return ["--baseline", name, "--max-drop"]


def test_a_baseline_of_the_same_settings() -> None:
    drop = saved("old.json")
    same = rank("m.csv", *drop, "mlcps=0")
    assert (same.code, {gate["value"] for gate in gates(same)}) == (0, {0.0})
    Path("m.csv").write_text(TABLE.replace("rf,0.9,0.8,0.7", "rf,0.8,0.8,0.7"), encoding="utf-8")
    fall = area((0.9, 0.8, 0.7)) - area((0.8, 0.8, 0.7))  # ½ sin 120° .1 (.8 + .7) = .065
    worse = rank("m.csv", *drop, "mlcps=0.06")
    assert worse.code == 1
    assert gates(worse)[0]["value"] == pytest.approx(fall, rel=1e-9)
    assert [gate["passed"] for gate in gates(worse)] == [False, True, True]
    assert rank("m.csv", *drop, "mlcps=0.07").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["--metric-weight", "recall=2"],
        ["--rescale", "recall=0:2"],
        ["--level", "0.9", "--weight-sensitivity"],
        ["--direction", "recall=min"],
        ["--desirability", "w.yaml"],
        ["--metric", "specificity", "--metric", "recall", "--metric", "precision"],
    ],
)
def test_a_baseline_of_other_settings_is_refused(words: list[str]) -> None:
    drop = saved("old.json")
    done = rank("m.csv", *words, *drop, "mean=1")
    assert (done.code, done.out) == (2, "")
    assert "[baseline]" in done.err
