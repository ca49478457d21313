"""Gates at the shell: exit 1 and why on stderr; an error outranks a missed gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.process.program import NEEDS_BASH, NEEDS_FULL, Done, clfeval, json_document, shell
from tests.texts import check_text, numbers_in, problem_places


def test_a_missed_gate_exits_1_and_says_why() -> None:
    done = clfeval("mars", "t.csv", "--fail-under", "recall=0.9", "--fail-over", "b:occlusion=0.1")
    assert (done.code, "t.csv" in done.out) == (1, True)
    _, *lines = done.err.splitlines()
    check_text(lines)
    assert [numbers_in(line) for line in lines] == [[0.5, 0.9], [0.5, 0.9], [0.5, 0.1]]
    quiet = clfeval("mars", "t.csv", "-q", "--fail-under", "a:recall=0.9")
    assert (quiet.code, quiet.err) == (1, f"{lines[0]}\n")


def test_an_undefined_value_misses_its_gate() -> None:
    Path("t.csv").write_text("truth,a,b\n0,0,1\n0,0,0\n", encoding="utf-8")
    done = clfeval("mars", "t.csv", "-q", "-f", "json", "--fail-under", "a:recall=0")
    assert done.code == 1
    (gate,) = json_document(done)["gates"]
    assert (gate["value"], gate["passed"]) == (None, False)
    assert gate["reason"] in done.err


@pytest.mark.parametrize("gate", ["recall", "recall=x", "recall=nan", "recall>0.5"])
def test_a_gate_that_cannot_be_read_is_a_usage_error_before_reading(gate: str) -> None:
    done = clfeval("mars", "gone.csv", "--fail-under", gate)
    assert (done.code, done.out) == (2, "")
    assert f"'{gate}'" in done.err


def test_unknown_models_and_metrics_of_gates_are_usage_errors() -> None:
    metric = clfeval("mars", "t.csv", "-q", "--fail-under", "recal=0.5")
    assert (metric.code, metric.out, "'recall'" in metric.err) == (2, "", True)
    assert problem_places(metric.err) == ["--fail-under: [unknown-metric]"]
    model = clfeval("mars", "t.csv", "-q", "--fail-over", "c:recall=0.5")
    assert (model.code, model.out, "'a', 'b'" in model.err) == (2, "", True)
    assert problem_places(model.err) == ["--fail-over: [unknown-model]"]
    check_text([metric.err, model.err])


def test_bad_data_outranks_a_missed_gate() -> None:
    Path("t.csv").write_text("id,truth,a\n", encoding="utf-8")
    assert clfeval("mars", "t.csv", "--fail-under", "recall=0.9").code == 3


@NEEDS_BASH
@NEEDS_FULL
def test_an_unwritable_result_outranks_a_missed_gate() -> None:
    assert shell("clfeval mars t.csv -q --fail-under recall=0.9 > /dev/full").code == 2


def test_a_baseline_is_compared_and_a_drop_exits_1() -> None:
    assert clfeval("mars", "t.csv", "-q", "--save", "old.json").code == 0
    Path("t.csv").write_text("id,truth,a,b\n1,1,0,0\n2,0,0,0\n3,1,0,1\n4,0,1,0\n", encoding="utf-8")
    gate = ["--baseline", "old.json", "--max-drop"]
    worse = clfeval("mars", "t.csv", "-q", *gate, "recall=0.1")
    last = worse.err.splitlines()[-1]
    assert (worse.code, numbers_in(last)) == (1, [0.5, 0.1, 0.314])
    check_text(last)
    assert clfeval("mars", "t.csv", "-q", *gate, "recall=0.5").code == 0


@pytest.mark.parametrize("content", ["[]", '{"schema": "clfeval.result/99"}', "\xff"])
def test_a_baseline_that_is_none_is_a_usage_error(content: str) -> None:
    Path("old.json").write_bytes(content.encode("latin-1"))
    done = clfeval("mars", "t.csv", "-q", "--baseline", "old.json", "--max-drop", "recall=0.1")
    assert (done.code, done.out) == (2, "")
    assert problem_places(done.err) == ["old.json: [baseline]"]


SCORED = "truth,a\n" + "1,.9\n0,.2\n1,.6\n0,.7\n1,.8\n0,.1\n" * 5


@pytest.mark.parametrize(
    ("option", "asked", "hint"),
    [
        ("--fail-under", "a:roc_auc.lo=0.9", "'roc_auc.low'"),
        ("--fail-under", "sensitivity@0.1=0.3", "--threshold 0.1"),
        ("--fail-under", "sensitivity:t=0.1=0.3", "--threshold 0.1"),
        ("--measure", "sensitivity@0.1", "--threshold 0.1"),
        ("--measure", "f1@0.1", "--threshold 0.1"),
        ("--measure", "recall:t=.1", "--threshold .1"),
    ],
)
def test_what_is_not_there_is_refused_with_the_way_to_get_it(
    option: str, asked: str, hint: str
) -> None:
    Path("s.csv").write_text(SCORED)
    done = clfeval("report", "s.csv", "-q", option, asked)
    assert (done.code, hint in done.err.splitlines()[-1]) == (2, True)
    check_text(done.err)


@pytest.mark.parametrize(
    ("words", "code", "meant"),
    [
        (("--fail-over", "a:roc_auc=0.99"), 0, "--fail-under roc_auc=0.99"),
        (("--fail-over", "roc_auc.low=.1"), 1, "--fail-under roc_auc.low=0.1"),
        (("--fail-under", "roc_auc=0.5"), 0, None),
        (("--fail-over", "brier=0.9"), 0, None),
        (("--fail-under", "roc_auc=0.5", "--fail-over", "roc_auc=0.99"), 0, None),  # a range
    ],
)
def test_a_limit_that_fails_what_is_better_is_noted(
    words: tuple[str, ...], code: int, meant: str | None
) -> None:
    Path("s.csv").write_text(SCORED)
    done = clfeval("report", "s.csv", *words, "-f", "csv")
    assert done.code == code, done.err
    notes = [line for line in done.err.splitlines() if "[gate-turned]" in line]
    assert len(notes) == (meant is not None)
    assert meant is None or meant in notes[0]
    check_text(notes)


def run_batch(command: str, **gates: Any) -> Done:
    """Run one command of a batch on t.csv: it has gates that a shell lacks."""
    run = {"command": command, "input": "t.csv", "save": "r.json", **gates}
    Path("s.yaml").write_text(json.dumps({"version": 1, "runs": {"r": run}}), encoding="utf-8")
    return clfeval("batch", "s.yaml", "-q")


def test_a_warning_exits_0_and_strict_makes_it_1() -> None:
    done = run_batch("mars", **{"warn-under": {"recall": 0.9}})
    assert (done.code, json.loads(Path("r.json").read_text())["passed"]) == (0, True)
    check_text(done.out)
    strict = run_batch("mars", strict=True, **{"warn-under": {"recall": 0.9}})
    assert (strict.code, json.loads(Path("r.json").read_text())["passed"]) == (1, False)
    check_text(strict.err)


def test_a_report_has_the_measures_that_limits_name() -> None:
    Path("p.csv").write_text("truth,a\n1,.9\n1,.6\n0,.2\n0,.7\n", encoding="utf-8")
    words = ("report", "p.csv", "-q", "-f", "json", "--fail-under", "net_benefit@t:t=0.1=0.4")
    done = clfeval(*words)
    # two hits and, at .2 and .7 alike, two false alarms: 2/4 - 2/4 x .1/.9
    (gate,) = json_document(done)["gates"]
    assert (done.code, gate["passed"]) == (0, True)
    assert gate["value"] == pytest.approx(1 / 2 - 1 / 2 * 0.1 / 0.9)


SITES = "truth,a,site\n" + "1,1,x\n0,0,x\n1,0,y\n0,1,y\n" * 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--fail-under", "recall[site=x]=1"), 0),
        (("--fail-under", "recall[site=*]=1"), 1),
        (("--fail-under", "recall[site=z]=0"), 2),
        (("--max-drop", "recall=0.1"), 2),
        (("--fail-under", "any:recall=0.5"), 0),
    ],
)
def test_every_kind_of_gate_has_its_exit_code(words: tuple[str, ...], code: int) -> None:
    Path("t.csv").write_text(SITES, encoding="utf-8")
    done = clfeval("report", "t.csv", "--by", "site", "-q", *words)
    assert done.code == code, done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        ({"warn-under": {"recall[*]": 1}}, 0),
        ({"min-rows": 8}, 0),
        ({"min-rows": 9}, 1),
        ({"min-positives": 5}, 1),
        ({"min-rows": 0}, 2),
        ({"still-best": "a"}, 2),
        ({"min-rows": 8, "fail-under": {"recall[site=x]": 0}}, 1),  # the slice has 4
        ({"significant": True}, 2),
    ],
)
def test_every_kind_of_gate_of_a_batch_has_its_exit_code(gates: dict[str, Any], code: int) -> None:
    Path("t.csv").write_text(SITES, encoding="utf-8")
    done = run_batch("report", by="site", **gates)
    assert done.code == code, done.err
    assert "Traceback" not in done.err
