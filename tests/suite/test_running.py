"""Runs of a batch: what fails harms no other, the worst exit code wins, memory holds small rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clfeval import COMMANDS
from clfeval.api.commands import mars
from clfeval.api.result import Result
from clfeval.cli.output import Output
from clfeval.errors import ExitCode
from clfeval.pages.batches import COMPUTED, FAILED, LEFT_OUT, MISSED
from clfeval.suite.plan import build_plan
from clfeval.suite.run_options import safe_file_name
from clfeval.suite.running import RunOutcome, execute_runs, suite_result
from tests.process.program import clfeval
from tests.suite.door import plan_of, write_batch
from tests.suite.mutants import ROOT, SUITE
from tests.test_schema import VALIDATOR, wrong_with
from tests.texts import check_text, numbers_in

MIXED = """\
version: 1
runs:
  fine: {command: mars, input: t.csv}
  gone: {command: mars, input: nowhere.csv}
  after: {command: mlcps, input: {run: gone}}
  strict: {command: report, input: t.csv, fail-under: {roc_auc: 0.9}}
  wrong: {command: report, input: t.csv, reference: nobody}
  last: {command: tune-jpt, input: t.csv, prevalence: 0.1}
"""


def outcomes(folder: Path, text: str, **given: Any) -> list[RunOutcome]:
    return [*execute_runs(plan_of(folder, text).runs, **given)]


def states_and_codes(done: list[RunOutcome]) -> dict[str, tuple[str, int]]:
    return {one.run.name: (one.state, int(one.code)) for one in done}


def test_a_failing_run_harms_no_other_and_the_worst_code_is_kept(tmp_path: Path) -> None:
    done = outcomes(tmp_path, MIXED)
    assert states_and_codes(done) == {
        "fine": (COMPUTED, 0),
        "gone": (FAILED, 3),
        "strict": (MISSED, 1),
        "wrong": (FAILED, 2),
        "last": (COMPUTED, 0),
        "after": (LEFT_OUT, 3),
    }
    (wrong,) = (outcome for outcome in done if outcome.run.name == "wrong")
    assert wrong.lines[0].startswith(f"{tmp_path}/suite.yaml:7:42: ")  # the place of the key
    result = suite_result(plan_of(tmp_path, MIXED), done, dry=False)
    assert not result.passed
    assert result.summary == {"runs": 6, "missed": 1, "failed": 3, "ambiguities": 0, "code": 3}
    assert wrong_with(json.loads(result.to_json())) == []
    assert Result.from_json(result.to_json()).gates == result.gates
    # of a every positive lies above every negative; of b .2 does of one of three: (1 + 3 + 3) / 9
    assert [(g.run, g.model, g.passed) for g in result.gates] == [
        ("strict", "a", True),
        ("strict", "b", False),
    ]


def test_fail_fast_leaves_the_rest_out(tmp_path: Path) -> None:
    done = states_and_codes(outcomes(tmp_path, MIXED, fail_fast=True))
    assert done["fine"] == (COMPUTED, 0)
    assert done["gone"] == (FAILED, 3)
    assert {done[name][0] for name in ("strict", "wrong", "last", "after")} == {LEFT_OUT}


def test_a_bug_in_one_run_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        """As engines raise it."""

    def broken(*_: object, **__: object) -> None:
        raise Panic("broke off")

    monkeypatch.setattr(mars, "compute", broken)
    done = outcomes(tmp_path, MIXED)
    assert states_and_codes(done)["fine"] == (FAILED, 70)
    assert states_and_codes(done)["last"] == (COMPUTED, 0)
    assert any("broke off" in line for line in done[0].lines)
    assert max(one.code for one in done) == ExitCode.BUG


def test_a_table_of_another_run_is_that_of_its_file(tmp_path: Path) -> None:
    """The frame that is handed over holds what CSV of the same table does."""
    text = """\
    version: 1
    defaults: {id: id, positive: "1", save: "{name}.json"}
    runs:
      last: {command: mlcps, input: {run: first, table: measures}, metric: [roc_auc, brier, mcc]}
      first: {command: report, input: t.csv, save: ["first.json", "first.csv"], show: measures}
    """
    done = outcomes(tmp_path, text)
    assert [one.run.name for one in done] == ["first", "last"]
    again = """\
    version: 1
    runs:
      again: {command: mlcps, input: first.csv, metric: [roc_auc, brier, mcc], save: again.json}
    """
    done += outcomes(tmp_path, again)
    assert {one.code for one in done} == {0}, [one.lines for one in done]
    tables = [json.loads((tmp_path / f"{n}.json").read_text())["tables"] for n in ("last", "again")]
    assert tables[0] == tables[1]


def test_a_matrix_an_exclusion_and_files_make_runs_in_order(tmp_path: Path) -> None:
    write_batch(tmp_path, "")
    (tmp_path / "u.csv").write_text((tmp_path / "t.csv").read_text())
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "t.csv").write_text((tmp_path / "t.csv").read_text())
    text = """\
    version: 1
    runs:
      m:
        command: report
        input: t.csv
        matrix: {threshold: [0.1, 0.50], by: [[a], [a, b]]}
        exclude: [{threshold: 0.1, by: [a, b]}]
      f: {command: mars, inputs: "*.csv"}
      g: {command: mars, inputs: ["t.csv", "sub/*.csv"], matrix: {target: [positive, negative]}}
      n: {command: mars, inputs: "none-*.csv"}
    """
    plan = plan_of(tmp_path, text)
    assert [run.name for run in plan.runs] == [
        "m[threshold=0.1,by=a]",
        "m[threshold=0.50,by=a]",
        "m[threshold=0.50,by=a+b]",
        "f[t]",
        "f[u]",
        "g[t,target=positive]",
        "g[sub/t,target=positive]",
        "g[t,target=negative]",
        "g[sub/t,target=negative]",
        "n[none-*]",
    ]


def test_a_later_file_wins_key_by_key_and_the_shell_wins_over_both(tmp_path: Path) -> None:
    first = write_batch(
        tmp_path,
        """\
        version: 1
        set: {t: 0.1, f: t.csv}
        defaults: {positive: "1"}
        runs: {a: {command: report, input: "${f}", threshold: 0.3, level: 0.9}}
    """,
    )
    second = write_batch(
        tmp_path,
        """\
        version: 1
        set: {t: 0.2}
        runs: {a: {threshold: "${t}"}, b: {command: mars, input: t.csv, id: "a$$b $c"}}
    """,
        "b.yaml",
    )
    plan = build_plan([first, second], Output)
    assert plan.runs[0].options == {"positive": "1", "threshold": 0.2, "level": 0.9}
    assert plan.runs[1].options == {"positive": "1", "id": "a$b $c"}
    plan = build_plan([first, second], Output, variables=["t=0.7", "t=0.8"])
    assert plan.runs[0].options["threshold"] == 0.8


def test_only_takes_names_groups_globs_and_what_they_need(tmp_path: Path) -> None:
    text = """\
    version: 1
    runs:
      m: {command: report, input: t.csv, matrix: {threshold: [0.1, 0.5]}}
      r: {command: mlcps, input: {run: "m[threshold=0.5]", table: measures}}
      x: {command: mars, input: t.csv}
    """
    for only, names in {
        "x": ["x"],
        "m": ["m[threshold=0.1]", "m[threshold=0.5]"],
        "m[*0.1]": ["m[threshold=0.1]"],
        "r": ["m[threshold=0.5]", "r"],
        "m[threshold=0.5]": ["m[threshold=0.5]"],
    }.items():
        assert [run.name for run in plan_of(tmp_path, text, only=(only,)).runs] == names


def test_the_program_says_one_line_a_run_and_leaves_with_the_worst_code(tmp_path: Path) -> None:
    name = write_batch(tmp_path, MIXED)
    done = clfeval("batch", name, "-f", "json")
    assert done.code == 3
    lines = [line for line in done.err.splitlines() if line.startswith("[")]
    assert [line.partition(" ")[0] for line in lines] == [f"[{i}/6]" for i in range(1, 7)]
    check_text(done.err.replace(f"{tmp_path}/", ""))
    document = json.loads(done.out)
    assert [row["run"] for row in document["tables"]["runs"]] == [
        "fine",
        "gone",
        "strict",
        "wrong",
        "last",
        "after",
    ]
    for only in ("strict", "gone"):
        done = clfeval("batch", name, "--only", only)
        assert done.err.startswith(f"[1/1] {only}: ")
        check_text(done.err.replace(f"{tmp_path}/", ""))
    quiet = clfeval("batch", name, "-q", "--only", "fine")
    assert (quiet.code, quiet.err) == (0, "")
    assert clfeval("batch", name, "--only", "strict").code == 1
    assert clfeval("batch", name, "--only", "wrong").code == 2
    assert clfeval("batch", name, "--fail-fast", "--only", "strict").code == 1


def test_every_form_holds_all_runs_and_the_summary_stands_last(tmp_path: Path) -> None:
    name = write_batch(tmp_path, MIXED)
    names = ["fine", "gone", "strict", "wrong", "last", "after"]
    files = [str(tmp_path / f"all{end}") for end in (".json", ".csv", ".md", ".html", ".xml")]
    saved = [word for path in files for word in ("--save", path)]
    shown = clfeval("batch", name, "-q", *saved)
    for text in (shown.out, *(Path(path).read_text() for path in files[:4])):
        assert all(one in text for one in names)
    last = shown.out.rstrip().splitlines()
    assert last[-3].startswith("after")
    assert 0.778 in numbers_in(last[-2])  # 7 of 9 pairs
    lines = shown.out.replace(f"{tmp_path}/", "").splitlines()
    check_text(line for line in lines if line.strip("─") or not line)  # whose length has the path's
    assert "strict" in Path(files[4]).read_text()
    csv = clfeval("batch", name, "-q", "-f", "csv").out.splitlines()
    assert csv[0] == "run,command,input,state,code,rows,gates,missed,warnings,answer,page"
    assert [line.split(",")[0] for line in csv[1:]] == names


def test_a_dry_run_reads_tables_writes_nothing_and_says_the_order(tmp_path: Path) -> None:
    text = """\
    version: 1
    defaults: {save: "out/{name}.json"}
    runs:
      last: {command: mlcps, input: {run: first, table: measures}}
      first: {command: report, input: t.csv, id: id, positive: "1", fail-under: {roc_auc.low: 0.1}}
    """
    done = clfeval("batch", write_batch(tmp_path, text), "--dry-run", "-f", "json")
    document = json.loads(done.out)
    assert done.code == 0, done.err
    assert wrong_with(document) == []
    assert [(row["run"], row["state"]) for row in document["tables"]["runs"]] == [
        ("first", "ready"),
        ("last", "waits"),
    ]
    assert document["tables"]["gates"][0]["metric"] == "roc_auc.low"
    reading = [(row["run"], row["column"]) for row in document["tables"]["reading"]]
    assert ("first", "truth") in reading
    assert {"run": "last", "use": "write", "file": "out/last.json"} in document["tables"]["files"]
    assert not (tmp_path / "out").exists()


def test_the_example_of_the_guide_runs_all_commands_and_saves_each(tmp_path: Path) -> None:
    guide = (ROOT / "clfeval" / "guide" / "batch.md").read_text(encoding="utf-8")
    assert f"```yaml\n{SUITE.read_text(encoding='utf-8')}```\n" in guide
    done = clfeval("batch", str(SUITE), "--set", f"out={tmp_path}", "-f", "json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert wrong_with(document) == []
    rows = document["tables"]["runs"]
    assert {row["command"] for row in rows} == {*COMMANDS} - {"count"}
    saved = {path.name for path in tmp_path.iterdir()}
    assert saved == {
        f"{safe_file_name(row['run'])}{end}" for row in rows for end in (".json", ".html")
    }
    for row in rows:
        whole = json.loads((tmp_path / f"{safe_file_name(row['run'])}.json").read_text())
        assert VALIDATOR.is_valid(whole)
        assert whole["command"] == row["command"]
        assert len(whole["gates"]) == row["gates"]
        first, *more = [sentence["text"] for sentence in whole["answer"]]
        assert row["answer"] in (first, " ".join([first, *more[:1]]))


@pytest.mark.parametrize(
    "words",
    [
        "batch s.yaml --positive x",
        "batch s.yaml --fail-under f1=0.5",
        "report --only x t.csv",
        "report",
    ],
)
def test_what_a_batch_does_not_take_is_refused(words: str) -> None:
    done = clfeval(*words.split())
    assert done.code == 2
    check_text(done.err)


def test_every_computed_run_adds_its_lines_to_the_history(tmp_path: Path) -> None:
    text = """\
    version: 1
    set: {week: W47}
    history: {file: past.jsonl, label: "${week}"}
    runs:
      one: {command: report, input: t.csv}
      two: {command: mars, input: t.csv}
      gone: {command: mars, input: nowhere.csv}
    """
    name = write_batch(tmp_path, text)
    assert clfeval("batch", name, "-q", "--dry-run", "--only", "one").code == 0
    assert not (tmp_path / "past.jsonl").exists()
    assert clfeval("batch", name, "-q").code == 3
    lines = [json.loads(line) for line in (tmp_path / "past.jsonl").read_text().splitlines()]
    assert {(line["run"], line["model"], line["label"]) for line in lines if "model" in line} == {
        (run, model, "W47") for run in ("one", "two") for model in ("a", "b")
    }
    assert clfeval("batch", name, "-q", "--only", "one", "--label", "W48").code == 0
    assert '"W48"' in (tmp_path / "past.jsonl").read_text().splitlines()[-1]


def test_a_baseline_and_what_stands_with_it_are_gates_of_the_run(tmp_path: Path) -> None:
    """A table joined by its ids, with a drop that is none: the table of then is that of today."""
    text = """\
    version: 1
    defaults: {id: id}
    runs:
      same:
        command: report
        input: t.csv
        baseline: {input: u.csv, max-drop: {roc_auc: 0.01}, significant: true}
      gone:
        command: report
        input: t.csv
        baseline: {input: none.json, missing: skip, max-drop: {roc_auc: 0.01}}
      warned: {command: report, input: t.csv, warn-under: {roc_auc: 0.9}}
    """
    write_batch(tmp_path, "")
    (tmp_path / "u.csv").write_text((tmp_path / "t.csv").read_text())
    done = outcomes(tmp_path, text)
    assert [int(one.code) for one in done] == [0, 0, 0], [one.lines for one in done]
    assert [(gate.kind, gate.value) for gate in done[0].gates] == [("max-drop", 0.0)] * 2
    assert (done[2].state, done[2].warned) == ("warned", 1)
    assert numbers_in(done[2].lines[0]) == [0.778, 0.9]  # 7 of 9 pairs


def test_a_dry_run_of_an_ambiguous_table_ends_with_the_code_of_data(tmp_path: Path) -> None:
    """The column looks like clusters, which is a question to the run."""
    rows = [f"{i % 2},{(i * 37 % 100) / 100},{i // 10}" for i in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["truth,m,patient", *rows]), encoding="utf-8")
    batch = tmp_path / "s.yaml"
    batch.write_text("version: 1\nruns:\n  a: {command: report, input: t.csv}\n", encoding="utf-8")
    done = clfeval("batch", str(batch), "--dry-run")
    assert done.code == 3
    assert "are its values clusters of rows?" in done.out
    assert "this is a bug" not in done.err
