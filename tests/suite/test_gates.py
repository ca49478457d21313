"""Gates of a batch: whole in every form, warnings and skips apart, what cannot be is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from clfeval.suite.running import RunOutcome, execute_runs
from tests.process.program import clfeval
from tests.suite.door import ROWS, plan_of, problems, write_batch
from tests.test_schema import wrong_with
from tests.texts import check_text, numbers_in

HEAD = "version: 1\nruns:\n"
# of b at .5 the positive rows 1, 2 and 5 have .2, .7 and .9: of site n it finds one of two
SITES = ["site", *"nsnsns"]
HELD = """\
version: 1
defaults: {id: id, by: site}
runs:
  held:
    command: report
    input: sites.csv
    fail-under: {"b:recall[site=n]": 0.6, "any:recall": 0.8}
    warn-under: {"b:f1": 0.9, "b:roc_auc": 0.9}
    baseline: {input: then.csv, max-drop: {"b:recall": "2%"}}
  fine: {command: report, input: sites.csv, warn-under: {"b:f1": 0.9, "b:roc_auc": 0.9}}
  skips: {command: report, input: sites.csv, baseline: {input: no.json, missing: skip}}
"""


def sites(folder: Path, text: str) -> str:
    rows = zip(ROWS.splitlines(), SITES, strict=True)
    for name in ("sites.csv", "then.csv"):
        (folder / name).write_text("".join(f"{row},{site}\n" for row, site in rows))
        rows = zip(ROWS.splitlines(), SITES, strict=True)
    return write_batch(folder, text)


def test_the_table_of_gates_has_slices_severity_and_how_many_any_is_of(tmp_path: Path) -> None:
    name = sites(tmp_path, HELD)
    done = clfeval("batch", name, "-q", "-f", "json")
    document = json.loads(done.out)
    assert wrong_with(document) == []
    rows = [row for row in document["tables"]["gates"] if row["run"] == "held"]
    told = {row["text"]: row for row in rows}
    assert [numbers_in(text.partition("max-drop")[0]) for text in told] == [
        [0.5, 0.6],  # 1 of 2
        [2, 1.0, 0.8],  # 3 of 3
        [0.667, 0.9],  # 2 * 2 / (2 * 2 + 1 + 1)
        [0.778, 0.9],  # 7 of 9 pairs
        [],
    ]
    assert 0.0133 in numbers_in([*told][-1])  # .02 * 2 / 3
    check_text(told)
    sliced, any_, warned, _, drop = told.values()
    assert (sliced["slice"], sliced["severity"], sliced["state"]) == ("site=n", "fail", "missed")
    assert (any_["among"], any_["slice"], any_["state"]) == (2, None, "met")
    assert (warned["severity"], warned["state"], warned["passed"]) == ("warn", "warned", False)
    assert drop["limit_text"] == "2%"
    words = ["--save", str(tmp_path / "all.csv"), "--show", "gates"]
    clfeval("batch", name, "-q", *words)
    with (tmp_path / "all.csv").open() as stream:
        lines = [*csv.DictReader(stream)]
    assert [line["text"] for line in lines if line["run"] == "held"] == [*told]
    assert lines[0]["slice"] == "site=n"


def test_pages_show_what_is_missed_and_warnings_are_no_failure(tmp_path: Path) -> None:
    name, page = sites(tmp_path, HELD), tmp_path / "all.md"
    done = clfeval("batch", name, "--save", str(page), FORCE_COLOR="1")
    assert done.code == 1
    check_text(done.out.replace(f"{tmp_path}/", ""))
    check_text(done.err.replace(f"{tmp_path}/", ""))
    marked = page.read_text().replace("\\", "")
    missed = [line for line in done.out.splitlines() if "sensitivity[site=n]" in line]
    assert any("\x1b[1;31m" in line for line in missed)  # bold and red
    for sign, numbers in (("❌", [0.5, 0.6]), ("⚠️", [0.667, 0.9])):
        assert any(numbers_in(line)[-2:] == numbers for line in marked.split("\n") if sign in line)


def dry_run_outcome(folder: Path, line: str) -> RunOutcome:
    text = f"version: 1\nruns:\n  r: {{command: report, input: t.csv, {line}}}\n"
    (outcome,) = execute_runs(plan_of(folder, text).runs, dry=True)
    return outcome


def test_a_dry_run_writes_gates_as_they_are_asked_for(tmp_path: Path) -> None:
    done = dry_run_outcome(
        tmp_path,
        'by: id, fail-under: {"any:recall[id=1].low": 0.8}, min-rows: 3, min-positives: 2, '
        "still-best: a, baseline: {input: t.csv, max-drop: {f1: [2%, 0.01]}}",
    )
    assert done.written == (
        "fail-under any:recall[id=1].low=0.8",
        "max-drop f1=2%",
        "max-drop f1=0.01",
        "min-rows 3",
        "min-positives 2",
        "still-best a",
    )
    assert (done.state, done.code) == ("ready", 0)


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ('fail-under: {"c:recall": 0.5, recal: 0.5}', "not computed"),
        ("baseline: no.json", "ambiguous"),
        ("baseline: {input: no.json, missing: skip}", "ready"),
    ],
)
def test_a_dry_run_names_limits_that_cannot_be(line: str, state: str, tmp_path: Path) -> None:
    done = dry_run_outcome(tmp_path, line)
    assert done.state == state
    check_text(text.replace(f"{tmp_path}/", "") for text in done.lines)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (
            "report",
            'measure: [g_mean], fail-under: {g_mean: 0.1}, fail-over: {"any:b:brier.low": 1}',
        ),
        ("report", "reference: a, fail-under: {recall_difference: -1}, fail-over: {rows: 9}"),
        ("mars", 'group: {g: [a, b]}, fail-under: {"g:recall": 0}'),
        ("mars", "fail-under: {recall: 0.5, shine_through: 0, found: 0}"),
        ("phidelta", "fail-under: {delta: 0, positives: 3}"),
        ("tune-jpt", 'prevalence: 0.1, fail-under: {ppv: 0, "a at 1:9:ppv": 0}'),
    ],
)
def test_a_limit_that_is_judged_is_not_refused_by_the_dry_run(
    command: str, line: str, tmp_path: Path
) -> None:
    text = f"{HEAD}  r: {{command: {command}, input: t.csv, id: id, {line}}}\n"
    runs = plan_of(tmp_path, text).runs
    for dry in (True, False):
        (done,) = execute_runs(runs, dry=dry)
        assert done.code in (0, 1), done.lines


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("max-drop: {recall: 0.1}", 16),
        ("fail-under: {recall.change: -0.1}", 18),
        ("fail-under: {'recall[s]': 0.1}", 18),
        ("fail-under: {recall: 3}", 18),
        ("still-best: a", 5),
        ("show: [rocc]", 5),
        ("table: metrix", 5),
    ],
)
def test_what_needs_no_table_is_refused_before_anything_runs(
    line: str, column: int, tmp_path: Path
) -> None:
    text = f"{HEAD}  r:\n    command: mars\n    input: t.csv\n    {line}\n  s: {{}}\n"
    first, *more = problems(tmp_path, text)
    assert first.startswith(f"6:{column} ")
    assert any(one.startswith("7:3 ") for one in more)  # run s names no command


def test_the_files_of_a_dry_run_are_all_it_reads_and_writes(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    text = """\
    version: 1
    history: {file: past/h.jsonl, label: W1}
    runs:
      m:
        command: report
        input: t.csv
        matrix: {threshold: [0.1, 0.5]}
        baseline: {input: "base/{name}.json", missing: skip}
        save: out/{name}.json
    """
    name = write_batch(tmp_path, text)
    dry = clfeval("batch", name, "--dry-run", "-f", "json", "-q")
    files = [(row["use"], row["file"]) for row in json.loads(dry.out)["tables"]["files"]]
    assert files[:4] == [
        ("read", "t.csv"),
        ("read", "base/m-threshold=0.1.json"),
        ("write", "out/m-threshold=0.1.json"),
        ("append", "past/h.jsonl"),
    ]
    assert not (tmp_path / "past").exists()
    assert clfeval("batch", name, "-q").code == 0
    assert (tmp_path / "past" / "h.jsonl").is_file()
    (tmp_path / "out").rename(tmp_path / "base2")
    (tmp_path / "base").rmdir()
    (tmp_path / "base2").rename(tmp_path / "base")
    again = json.loads(clfeval("batch", name, "-f", "json", "-q").out)
    assert [row["gates"] for row in again["tables"]["runs"]] == [0, 0]  # each has its own now


def test_gates_of_a_run_in_place_of_those_of_the_defaults_are_noted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("truth,m\n1,1\n0,0\n1,0\n0,1\n")
    (tmp_path / "s.yaml").write_text(
        "version: 1\ndefaults: {fail-under: {accuracy: 0.1}}\nruns:\n"
        "  same: {command: mars, input: t.csv}\n"
        "  other: {command: mars, input: t.csv, fail-under: {recall: 0.1}}\n"
        "  none: {command: mars, input: t.csv, fail-under: []}\n"
    )
    done = clfeval("batch", str(tmp_path / "s.yaml"), "-f", "json", "-q")
    notes = [one["message"] for one in json.loads(done.out)["warnings"]]
    (note,) = notes
    assert "'other'" in note
