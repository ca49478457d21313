"""Files that mean harm: bounded, refused, nothing executed, nothing written elsewhere."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from clfeval.cli.output import Output
from clfeval.errors import UsageError
from clfeval.suite.plan import build_plan
from clfeval.suite.run_options import safe_file_name
from clfeval.suite.running import execute_runs
from tests.suite.door import plan_of, problems, write_batch

HEAD = "version: 1\nruns:\n  r:\n    command: mars\n    input: t.csv\n"
LAUGHS = "x-0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"x-{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
)


VARIABLES = "set: {a: " + "x" * 4000 + "}\n" + HEAD + "    id: " + "${a}" * 2000
MATRIX = "{threshold: [" + "0.1, " * 20 + "0.2], digits: [" + "1, " * 999 + "1]}"
HOSTILE = {
    "laughs": LAUGHS + HEAD,
    "lists": HEAD + "    x-a: " + "[" * 200 + "]" * 200,
    "maps": HEAD + "    x-a: " + "{a: " * 5000 + "1" + "}" * 5000,
    "long": HEAD + "    id: " + "x" * (10 << 20),
    "a call": HEAD + "    id: !!python/object/apply:os.system [touch pwned]",
    "binary": HEAD + "    id: !!binary aGVsbG8=",
    "inside itself": HEAD + "    id: &a [*a]",
    "two documents": HEAD + "---\nversion: 1\n",
    "bell": HEAD + "    id: \x07",
    "tag": "%YAML 1.1\n%TAG ! tag:x,2000:\n---\n" + HEAD + "    id: !y z",
    "matrix": HEAD + f"    matrix: {MATRIX}",
    "variables": VARIABLES,
    "digits": HEAD + "    save: x.json\n    digits: 999999999999999999999",
    "NUL in a name": HEAD.replace("t.csv", '"\\0"'),
    "standard input": HEAD.replace("t.csv", "'-'"),
    "NUL in a file": HEAD + '    save: "a\\0.json"',
    "a script": HEAD + "    save: run.sh",
    "itself": HEAD + "    save: suite.yaml",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_refused(case: str, tmp_path: Path) -> None:
    started = time.process_time()
    assert problems(tmp_path, HOSTILE[case])
    assert time.process_time() - started < 60  # a bomb would take for ever
    assert sorted(one.name for one in tmp_path.iterdir()) == ["suite.yaml", "t.csv"]


def test_many_runs_by_many_files_are_counted_before_they_are_made(tmp_path: Path) -> None:
    for i in range(60):
        (tmp_path / f"f{i}.csv").touch()
    values = ", ".join(map(str, range(100, 300)))
    text = HEAD.replace("input: t.csv", "inputs: '*.csv'") + f"    matrix: {{best: [{values}]}}"
    assert problems(tmp_path, text)


def test_names_lead_nowhere() -> None:
    assert safe_file_name("screening[threshold=0.5]") == "screening-threshold=0.5"
    assert safe_file_name("../../etc/passwd") == "etc-passwd"
    assert safe_file_name("/abs") == "abs"
    assert safe_file_name("..") == "run"
    assert safe_file_name("a\nb\0c\u202ed") == "a-b-c-d"
    assert len(safe_file_name("x" * 999)) == 120


def test_a_run_called_like_a_path_is_saved_beside_the_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    text = """\
    version: 1
    runs:
      ../../up: {command: mars, input: t.csv, save: "{name}.json", matrix: {by: [["../x"]]}}
    """
    plan = plan_of(home, text)
    assert plan.runs[0].save == (str(home / "up-by=..-x.json"),)


def test_a_link_leads_no_file_out_of_the_folder(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    (home / "out").symlink_to(other)
    (home / "in").mkdir()
    (home / "inner").symlink_to(home / "in")
    assert problems(home, HEAD + "    save: out/x.json") == ["6:5 configuration"]
    assert plan_of(home, HEAD + "    save: inner/x.json")
    assert plan_of(home, HEAD + "    save: ../other/x.json")  # its author says so
    assert plan_of(home, HEAD + f"    save: {other}/x.json")


def test_a_link_in_the_place_of_a_result_is_replaced_and_not_followed(tmp_path: Path) -> None:
    home, secret = tmp_path / "home", tmp_path / "secret.json"
    home.mkdir()
    secret.write_text("mine")
    (home / "x.json").symlink_to(secret)
    plan = plan_of(home, HEAD + "    save: x.json")
    assert [one.code for one in execute_runs(plan.runs)] == [0]
    assert secret.read_text() == "mine"
    assert not (home / "x.json").is_symlink()


def test_a_link_to_a_table_is_not_written_over(tmp_path: Path) -> None:
    write_batch(tmp_path, "")
    (tmp_path / "sub").mkdir()
    os.link(tmp_path / "t.csv", tmp_path / "sub" / "same.csv")
    (tmp_path / "sub" / "link.csv").symlink_to(tmp_path / "t.csv")
    text = HEAD.replace("t.csv", "sub/link.csv") + "    save: t.csv"
    assert problems(tmp_path, text) == ["6:5 configuration"]


def test_only_what_is_named_is_written(tmp_path: Path) -> None:
    text = HEAD + "    save: ['deep/er/{name}.json', flat.csv]\n"
    before = {"suite.yaml", "t.csv"}
    for one in execute_runs(plan_of(tmp_path, text).runs):
        assert one.code == 0
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == before | {"deep/er/r.json", "flat.csv"}


def test_a_result_that_cannot_be_written_fails_its_run_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    text = HEAD + "    save: file/x.json\n  s: {command: mars, input: t.csv}\n"
    done = [*execute_runs(plan_of(tmp_path, text).runs)]
    assert [int(one.code) for one in done] == [2, 0]
    assert done[0].lines[0].startswith(f"{tmp_path}/suite.yaml:3:3: ")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "."])
def test_what_is_no_file_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        build_plan([path], Output)
    done = [*execute_runs(plan_of(tmp_path, HEAD.replace("t.csv", path)).runs)]
    assert [int(one.code) for one in done] == [3]
