"""Values of a shape nobody takes, names that begin with x-, and what messages say to write."""

from __future__ import annotations

from pathlib import Path

import pytest

import clfeval
from clfeval.errors import UsageError
from clfeval.suite.running import execute_runs
from clfeval.suite.runs import describe_input
from tests.process.program import clfeval as program
from tests.suite.door import plan_of, problems, write_batch
from tests.texts import check_text, problem_places

HEAD = "version: 1\nruns:\n  r:\n    command: report\n    input: t.csv\n"


def test_names_of_runs_and_variables_may_begin_with_x(tmp_path: Path) -> None:
    text = """\
    version: 1
    x-held: &held {recall: 0.1}
    set: {x-t: 0.5}
    defaults: {x-more: 1}
    runs:
      x-ray: {command: report, input: t.csv, x-why: 1, threshold: "${x-t}", fail-under: *held}
    """
    (run,) = plan_of(tmp_path, text).runs
    assert (run.name, run.options["threshold"]) == ("x-ray", 0.5)


def test_limits_that_are_none_are_refused_in_python_too(tmp_path: Path) -> None:
    result = clfeval.mars(write_batch(tmp_path, "").replace("suite.yaml", "t.csv"), id="id")
    assert result.check(fail_under=[]).gates == result.check(fail_under=None).gates == ()
    for none in ({"recall": None}, {"recall": []}):
        with pytest.raises(UsageError):
            result.check(fail_under=none)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["", "null", "~"])
def test_a_variable_that_holds_nothing_is_no_number(value: str, tmp_path: Path) -> None:
    text = f'{HEAD}    threshold: "${{t}}"\n    id: "${{t}}"\n'
    assert "6:5 configuration" in problems(tmp_path, text, variables=(f"t={value}",))


def test_a_variable_of_the_shell_that_nothing_has_is_refused(tmp_path: Path) -> None:
    text = f'set: {{seed: 3}}\n{HEAD}    level: "${{level}}"\n'
    plan_of(tmp_path, text, variables=("level=0.9", "seed=4"))  # used, and declared
    assert problems(tmp_path, text, variables=("level=0.9", "sed=4"))[0] == "bad-option"


@pytest.mark.parametrize("words", [["--label", "W1"], ["--accept"]])
def test_what_is_of_a_history_needs_one(words: list[str], tmp_path: Path) -> None:
    done = program("batch", write_batch(tmp_path, HEAD), *words)
    assert (done.code, problem_places(done.err)) == (2, ["[bad-option]"])
    check_text(done.err)


def test_no_variable_of_the_environment_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "t.csv")
    assert problems(tmp_path, HEAD.replace("t.csv", '"${SECRET}"')) == ["5:5 configuration"]
    assert problems(tmp_path, HEAD.replace("t.csv", "$HOME/x.csv")) == ["5:5 configuration"]
    (tmp_path / "a$b.csv").write_text("")
    assert plan_of(tmp_path, HEAD.replace("t.csv", "a$$b.csv"))


def test_every_circle_is_named_and_runs_of_a_matrix(tmp_path: Path) -> None:
    text = """\
    version: 1
    runs:
      a: {command: mlcps, input: {run: b}}
      b: {command: mlcps, input: {run: a}}
      c: {command: mlcps, input: {run: d}}
      d: {command: mlcps, input: {run: c}}
      m: {command: report, input: t.csv, matrix: {threshold: [0.1, 0.5]}}
      n: {command: mlcps, input: {run: m}}
    """
    expected = ["3:23 configuration", "5:23 configuration", "8:23 configuration"]
    assert problems(tmp_path, text) == expected


def test_a_table_of_another_run_is_called_by_it(tmp_path: Path) -> None:
    text = """\
    version: 1
    defaults: {id: id}
    runs:
      m: {command: report, input: t.csv, matrix: {threshold: [0.5]}}
      fine: {command: mlcps, input: {run: "m[threshold=0.5]", table: measures}, save: fine.json}
      bad:
        command: mlcps
        input: {run: "m[threshold=0.5]", table: measures}
        metric: nobody
    """
    fine, bad = [*execute_runs(plan_of(tmp_path, text).runs)][1:]
    called = "m[threshold=0.5]: measures"
    assert f'"name": "{called}"' in (tmp_path / "fine.json").read_text()
    assert fine.code == 0
    assert bad.lines[0].startswith(f"{tmp_path}/suite.yaml:6:3: {called}: ")


def test_tables_are_shown_from_the_folder_of_the_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for folder in ("w1", "w2"):
        (home / folder).mkdir(parents=True)
        (home / folder / "labels.csv").write_text("")
    (tmp_path / "above.csv").write_text("")
    text = f"""\
    version: 1
    runs:
      weeks: {{command: mars, inputs: "w*/labels.csv"}}
      whole: {{command: mars, input: {home}/w1/labels.csv}}
      above: {{command: mars, input: ../above.csv}}
    """
    shown = [describe_input(run) for run in plan_of(home, text).runs]
    assert shown == ["w1/labels.csv", "w2/labels.csv", "w1/labels.csv", "above.csv"]


def test_what_is_offered_can_be_pasted_into_the_file(tmp_path: Path) -> None:
    from clfeval.tables.yaml import read_yaml

    (tmp_path / "c.csv").write_text("model,acc,f1,loss\na,0.5,0.4,3\nb,0.4,0.3,2.5\nc,0.1,0.2,1\n")
    text = "version: 1\nruns: {r: {command: mlcps, input: c.csv}}"
    (done,) = execute_runs(plan_of(tmp_path, text).runs)
    (offer,) = [line for line in done.lines if "try: " in line]
    pairs = offer[offer.index("direction:") :]
    (tmp_path / "offer.yaml").write_text(f"{{{pairs}}}")
    offered = read_yaml(tmp_path / "offer.yaml").value
    assert isinstance(offered, dict)
    assert offered["direction"] == {"loss": "min"}
    assert offered["rescale"] == {"loss": [0.0, 5.0]}


def test_an_absolute_and_a_relative_table_of_one_name(folder: Path) -> None:
    for name in ("north", "south"):
        Path(name).mkdir()
        Path(name, "p.csv").write_text("id,truth,a,b\n1,1,1,0\n2,0,0,0\n3,1,1,1\n")
    tables = [str(folder / "north/p.csv"), "south/p.csv"]
    Path("s.yaml").write_text(f"version: 1\nruns: {{r: {{command: mars, inputs: {tables}}}}}\n")
    done = program("batch", "s.yaml", "-q", "--dry-run")
    assert done.code == 0, done.err
    assert f"r[{folder}/north/p]" in done.out
    assert "r[south/p]" in done.out
