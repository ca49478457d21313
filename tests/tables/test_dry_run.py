"""Doubts in Python, and a dry run that shows the reading.

What a refusal proposes is run, and finds nothing more to ask.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import clfeval
from tests.process.program import clfeval as program
from tests.tables.asking import proposals
from tests.tables.door import write
from tests.texts import check_text, numbers_in


def test_python_gets_options_of_python() -> None:
    write("t.csv", "Sick,rf,flag\n1,.3,1\n0,.4,0\n0,.2,1\n")
    with pytest.raises(clfeval.DataError) as caught:
        clfeval.mars("t.csv")
    first = caught.value.readings[0]
    assert first.command == "clfeval.mars(..., truth='Sick', model=('rf', 'flag'))"
    assert first.options == {"truth": "Sick", "model": ("rf", "flag")}
    lines = caught.value.lines()
    first_offer = lines.index("possible readings:") + 1
    assert lines[first_offer : first_offer + 2] == [f"- {first.meaning}", f"    {first.command}"]
    for reading in caught.value.readings:
        clfeval.mars("t.csv", **reading.options)


def test_a_dry_run_shows_the_reading_and_computes_nothing() -> None:
    write("t.csv", "id,truth,rf,flag,w\n1,1,.3,1,2\n2,0,.4,0,1\n3,0,.6,1,1\n")
    result = clfeval.mars("t.csv", weight="w", dry_run=True)
    reading = result.tables["reading"]
    assert [row["column"] for row in reading] == ["id", "truth", "rf", "flag", "w"]
    check_text(f"{row['taken']}: {row['why']}" for row in reading)
    assert [row["code"] for row in result.tables["ambiguities"]] == ["which-role"]
    assert [row["command"] for row in result.tables["readings"]] == [
        "clfeval.mars(..., model=('rf', 'flag'))",
        "clfeval.mars(..., ignore=('flag',))",
    ]
    assert result.parameters == {"of": "mars", "offer": None}
    plan = clfeval.mars("t.csv", weight="w", ignore="flag", dry_run=True).tables["plan"]
    assert [row["value"] for row in plan] == ["3", "2", "2", "1", "0.5"]
    check_text(str(row["what"]) for row in plan)


@pytest.mark.parametrize("command", clfeval.COMMANDS)
def test_every_command_has_a_dry_run(command: str) -> None:
    write("t.csv", "Class,rf,gb,flag\n1,.7,.8,1\n0,.4,.9,0\n0,.6,.1,1\n")
    words = ("--from", "predictions") if command == "mlcps" else ()
    done = program(command, "t.csv", *words, "--dry-run")
    assert done.code == 3
    assert command in done.out.splitlines()[0]
    for command_line in proposals(done.err):
        again = program(*shlex.split(command_line), "--dry-run", "-f", "json")
        assert again.code == 0
        assert '"plan": [\n' in again.out


def test_a_dry_run_says_what_was_asked_for() -> None:
    write("t.csv", "truth,a,b\n1,.7,.1\n0,.2,.4\n0,.6,.3\n")
    write("m.csv", "model,f1,recall,accuracy\na,.7,.8,.9\nb,.6,.7,.9\n")
    plans = {
        ("mars", "t.csv", "--best", "2", "--top", "1"): {"--best": "2", "--top": "1"},
        ("phidelta", "t.csv", "--reference", "a", "--prevalence", ".1", "--curve"): {
            "--reference": "a",
            "--prevalence": ".1",
            "--curve": "yes",
        },
        (
            "mlcps",
            "m.csv",
            "--rescale",
            "f1=0:1",
            "--metric-weight",
            "f1=2",
            "--compare",
            "m.csv",
        ): {"--rescale": "f1=0:1", "--metric-weight": "f1=2", "--compare": "m.csv"},
        ("tune-jpt", "--counts", "69,15,31,85", "--prevalence", "1:100..1:1"): {
            "rows": "200",
            "--counts": "model=69, 15, 31, 85",
            "--prevalence": "1:100..1:1",
        },
    }
    for words, wanted in plans.items():
        done = program(*words, "--dry-run", "-f", "json")
        assert done.code == 0, done.err
        plan = {row["what"]: row["value"] for row in json.loads(done.out)["tables"]["plan"]}
        assert {key: plan.get(key) for key in wanted} == wanted
        given = [key for key in plan if key.startswith("--")]
        assert given == [key for key in [*plan] if key in wanted and key.startswith("--")]


def test_a_plan_has_the_least_and_the_most_of_several_counts() -> None:
    done = program(
        "tune-jpt", "--counts", "a=1,2,3,4", "--counts", "b=3,2,4,4", "--dry-run", "-f", "json"
    )
    values = [row["value"] for row in json.loads(done.out)["tables"]["plan"]]
    assert [4, 7] in [numbers_in(value) for value in values]  # positives: 1 + 3 and 3 + 4


@pytest.mark.parametrize(("limit", "code"), [("recall=7", 2), ("recall=0.7", 0), ("rf:mcc=2", 2)])
def test_a_limit_beyond_its_measure_is_refused_in_a_dry_run(limit: str, code: int) -> None:
    write("t.csv", "truth,rf\n1,1\n0,0\n0,1\n")
    done = program("phidelta", "t.csv", "--dry-run", "--fail-under", limit)
    assert done.code == code
    assert ("[bad-gate]" in done.err) == (code == 2)


def test_a_dry_run_with_questions_is_not_passed() -> None:
    write("t.csv", "truth,rf,flag\n1,.3,1\n0,.4,0\n0,.6,1\n")
    for more, passed in ((), False), (("--ignore", "flag"), True):
        done = program("mars", "t.csv", *more, "--dry-run", "-f", "json")
        assert json.loads(done.out)["passed"] is passed


def test_a_dry_run_may_stand_before_any_line_and_writes_nothing() -> None:
    write("t.csv", "truth,a,b\n1,1,0\n0,0,0\n0,1,1\n")
    words = (
        "mars",
        "t.csv",
        "--show",
        "pairs",
        "--save",
        "o.json",
        "--fail-under",
        "recall=0.99",
        "--dry-run",
    )
    done = program(*words)
    assert (done.code, done.err) == (0, "")
    check_text(done.out)
    assert not Path("o.json").exists()
    plan = program("mars", "t.csv", "--dry-run", "-f", "csv", "--show", "plan")
    assert plan.out.startswith("what,value\nrows,3\n")


def test_a_dry_run_lists_a_few_of_many_repeated_ids() -> None:
    write("t.csv", "id,truth,rf\n" + "".join(f"{i // 2},{i % 2},.{i % 9}\n" for i in range(4000)))
    result = clfeval.report("t.csv", dry_run=True)
    texts = [str(row["text"]) for row in result.tables["ambiguities"]]
    assert [numbers_in(text) for text in texts[:-1]] == [[i, 2 * i + 2] for i in range(5)]
    assert numbers_in(texts[-1]) == [1995]
    assert result.summary == {"ambiguities": 1}
    check_text([*texts, result.answer[0].text])
