"""What is wrong with a batch is said at once: file, line, column, key, and what may be meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clfeval.cli.output import Output
from clfeval.errors import UsageError
from clfeval.suite.plan import build_plan
from tests.results import problem_codes
from tests.suite.door import plan_of, problems, write_batch


def test_all_problems_come_in_one_pass_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = """\
    version: 1
    defualts: {}
    runs:
      a:
        command: raport
      b:
        command: mars
        input: t.csv
        best: many
        best: 3
        tresh: 1
        id: 01
      c: {command: mlcps, input: {run: d}}
      d: {command: mlcps, input: {run: c}}
    """
    assert problems(tmp_path, text) == [
        "2:1 configuration",
        "5:5 configuration",
        "9:5 bad-option",
        "10:5 configuration",
        "11:5 configuration",
        "12:5 configuration",
        "13:23 configuration",
    ]


def test_problems_of_tables_come_with_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "fold.csv").write_text(
        "id,truth,a,fold\n" + "".join(f"{i},{i % 2},.{i},{i % 3}\n" for i in range(1, 9))
    )
    text = """\
    version: 1
    defaults: {truth: truth}
    histroy: h.jsonl
    runs:
      a: {command: report, input: t.csv, fail-under: {"nobody:recall": 0.5, recal: 0.5}}
      b: {command: mars, input: none.csv, feature: a}
      c: {command: report, input: t.csv, id: "${week}", model: [aa]}
      d: {command: report, input: t.csv, threshold: high, by: site}
      e: {command: report, input: fold.csv}
      f: {command: mlcps, input: none.csv}
      g: {command: mars, input: "$HOME/t.csv"}
    """
    assert problems(tmp_path, text) == [
        "3:1 configuration",
        "5:38 unknown-model",
        "5:38 unknown-metric",
        "6:3 no-such-file",
        "6:39 configuration",
        "7:3 unknown-model",
        "7:38 configuration",
        "8:3 unknown-column",
        "8:38 bad-option",
        "9:3 which-role",
        "10:3 no-such-file",
        "11:22 configuration",
    ]


LINES = {
    "positive: 01": "6:5",
    "positive: 1.50": "6:5",
    "positive: True": "6:5",
    "classes: [yes, 007]": "6:20",
    "classes: [yes, null]": "6:20",
    "truth: 3": "6:5",
    "threshold: '0.5'": "6:5",
    "threshold: {a: 0.5, b: high}": "6:25",
    "best: 2.5": "6:5",
    "fold-labels: 1": "6:5",
    "fail-under: {recall: high}": "6:5",
    "fail-under: {recall: 0.5, f1: .inf}": "6:31",
    "digits: 99": "6:5",
    "missing: dorp": "6:5",
    "dry-run: true": "6:5",
    "save: [x.jsn]": "6:5",
    "save: '{nmae}.json'": "6:5",
    "save: t.csv": "6:5",
    "baseline: {inptu: x.json}": "6:16",
    "exclude: [{threshold: 1}]": "6:5",
    "matrix: {threshold: 0.5}": "6:14",
    "matrix: {threshold: [0.5, 0.5]}": "3:3",
    "matrix: {threshold: [0.1, x]}": "6:31",
    "fail_under: {recall: 0.5}\n    fail-under: {f1: 0.5}": "7:5",
    "inputs: t.csv": "6:5",
    "id: ${idd}": "6:5",
    "id: ${": "6:5",
    "<<: {a: 1}": "6:5",
    "id: !!python/name:os.system": "6:9",
    "id: *unset": "6:9",
    "group: {g: {a: b}}": "6:13",
    "history: h.jsonl": "6:5",
    "by: {a: b}": "6:5",
    **dict.fromkeys(("baseline: 5", "baseline: true", "baseline: []", "baseline: ''"), "6:5"),
    **dict.fromkeys(("baseline: {input: 5}", "baseline: {input: [a.csv]}"), "6:16"),
    **dict.fromkeys(("baseline: {input: ''}", "baseline: {input: {run: b}}"), "6:16"),
    **dict.fromkeys(("baseline: {}", "baseline: [a.json]"), "6:5"),
    "baseline: {input: }": "6:16",
    "fail-under:": "6:5",
    "fail-under: {recall: }": "6:5",
    "fail-under: {f1: 0.5, recall: []}": "6:27",
    "fail-under:\n    recall: 0.5": "7:5",
    "matrix: {fail-under: [[]], fail_under: [[]]}": "6:32",
    "matrix: {baseline: [a, b]}": "6:14",
    "matrix: {command: [mars]}": "6:14",
    "matrix: {x-ray: [1]}": "6:14",
    "ignore: *.csv": "6:14",
    "fail-under: {recall[site=a]: 0.3}": "6:17",
    "baseline: {input: base/{name}.json}": "6:15",
}


@pytest.mark.parametrize("line", LINES)
def test_a_wrong_line_is_refused_with_its_place(line: str, tmp_path: Path) -> None:
    text = f"version: 1\nruns:\n  r:\n    command: mars\n    input: t.csv\n    {line}\n"
    assert LINES[line] in [one.partition(" ")[0] for one in problems(tmp_path, text)]


RUN = "{command: mars, input: t.csv}"
BATCHES = {  # RUN stands for a run that is right
    "no version": "runs: {a: RUN}",
    "a newer version": "version: 2\nruns: {a: RUN}",
    "a version in quotes": "version: '1'\nruns: {a: RUN}",
    "version alone": "version: 1",
    "a list": "- version: 1",
    "a number": "version: 1\nruns: {a: 3}",
    "brackets": "version: 1\nruns: {'a[b]': RUN}",
    "a variable in a key": "version: 1\nruns: {'${x}': RUN}",
    "no table": "version: 1\nruns: {a: {command: mars}}",
    "no command": "version: 1\nruns: {a: {input: t.csv}}",
    "a list in a variable": "version: 1\nset: {a: [1]}\nruns: {a: RUN}",
    "a variable in a variable": "version: 1\nset: {a: '${b}'}\nruns: {a: RUN}",
    "a matrix of all": "version: 1\ndefaults: {matrix: {}}\nruns: {a: RUN}",
    "no such run": "version: 1\nruns: {a: {command: mlcps, input: {run: b}}}",
    "a circle": "version: 1\nruns: {a: {command: mlcps, input: {run: a}}}",
    "a table of a run": (
        "version: 1\nruns: {a: RUN, b: {command: mlcps, input: {run: a, table: modles}}}"
    ),
    "two of one name": (
        "version: 1\ndefaults: {command: mars, input: t.csv}\n"
        "runs: {a: {save: x.json}, b: {save: ./x.json}}"
    ),
    "feature": "version: 1\nruns: {a: {command: mars, input: t.csv, feature: x}}",
    "refrence": "version: 1\ndefaults: {refrence: x}\nruns: {a: RUN}",
    "margin": "version: 1\nruns: {a: {command: report, input: t.csv, margin: {mcc: 0.1}}}",
}


@pytest.mark.parametrize("case", BATCHES)
def test_a_wrong_batch_is_refused_with_a_place(case: str, tmp_path: Path) -> None:
    assert problems(tmp_path, BATCHES[case].replace("RUN", RUN))


def test_many_faults_are_counted_and_verbose_lists_them(tmp_path: Path) -> None:
    keys = "".join(f"\nk{i}: 1" for i in range(40))
    with pytest.raises(UsageError) as caught:
        plan_of(tmp_path, f"version: 1\nruns: {{a: {{command: mars, input: t.csv}}}}{keys}")
    brief, whole = caught.value.lines(), caught.value.lines(verbose=True)
    assert sum("[configuration]" in line for line in brief) == 20 + 5 + 1
    assert "15 more [configuration]" in "\n".join(brief)
    assert sum("[configuration]" in line for line in whole) == 40


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ("variables", "date"),
        ("variables", "a=${b}"),
        ("variables", "a=" + "x" * 5000),
        ("only", "on"),
    ],
    ids=["no value", "a variable", "long", "only"],
)
def test_a_wrong_word_of_the_shell_is_refused(option: str, word: str, tmp_path: Path) -> None:
    given: Any = {option: (word,)}
    assert problems(tmp_path, f"version: 1\nruns: {{one: {RUN}}}", **given)


def test_a_file_that_is_none_and_a_wrong_one_are_refused_together(tmp_path: Path) -> None:
    name = write_batch(tmp_path, f"version: 1\nbad: 1\nruns: {{a: {RUN}}}")
    with pytest.raises(UsageError) as caught:
        build_plan([str(tmp_path / "suit.yaml"), name], Output)
    assert problem_codes(caught.value) == ["no-such-file", "configuration"]
    assert "'suite.yaml'" in str(caught.value)
