"""What is wrong with a batch is told at once: file, line, column, key, and what may be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from clfeval.errors import ClfevalError, UsageError
from tests.suite.door import plan_of, refused, written


def test_everything_wrong_is_told_in_one_pass_in_the_order_of_the_file(tmp_path: Path) -> None:
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
    assert refused(tmp_path, text) == [
        "suite.yaml:2:1: unknown key 'defualts' [configuration]",
        "hint: did you mean 'defaults'?",
        "suite.yaml:5:5: command: no command 'raport' [configuration]",
        "hint: did you mean 'report'?",
        "suite.yaml:9:5: best 'many' is not a whole number from 1 up [bad-option]",
        "suite.yaml:10:5: key 'best' is given twice, first at suite.yaml:9:5 [configuration]",
        "hint: keep one of the two",
        "suite.yaml:11:5: unknown key 'tresh' [configuration]",
        "hint: did you mean 'threshold'?",
        "suite.yaml:12:5: id: 01 is read as the number 1 [configuration]",
        "hint: for a text write id: '01'",
        "suite.yaml:13:23: input: a circle of runs: c -> d -> c [configuration]",
    ]


def test_what_tables_show_is_told_with_what_the_file_shows(tmp_path: Path) -> None:
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
      e: {command: mars, input: fold.csv}
      f: {command: mlcps, input: none.csv}
      g: {command: mars, input: "$HOME/t.csv"}
    """
    columns = "columns: 'id', 'truth', 'a', 'b' [unknown-column]"
    assert refused(tmp_path, text) == [
        "suite.yaml:3:1: unknown key 'histroy' [configuration]",
        "hint: did you mean 'history'?",
        "suite.yaml:5:38: fail-under: no model 'nobody' [unknown-model]",
        "hint: models: 'a', 'b'",
        "suite.yaml:5:38: fail-under: no metric 'recal' [unknown-metric]",
        "hint: did you mean 'recall'?",
        "suite.yaml:6:3: none.csv: no such file [no-such-file]",
        "suite.yaml:6:39: unknown key 'feature' of mars: phidelta has it [configuration]",
        "suite.yaml:7:3: t.csv: no model matches 'aa'; models: 'a', 'b' [unknown-model]",
        "hint: did you mean 'a'?",
        "suite.yaml:7:38: no variable ${week} [configuration]",
        "hint: set: {week: ...}, or --set week=...",
        f"suite.yaml:8:3: t.csv: no column 'site'; {columns}",
        "suite.yaml:8:38: threshold 'high' is not a number [bad-option]",
        "suite.yaml:9:3: fold.csv: column 'fold': called like the runs of models (folds, seeds): "
        "is it one of them, or a model? [stray-run]",
        "hint: run: fold of report and phidelta tells them apart; ignore: [fold] takes all rows "
        "together; model, once for each model, says that it is one",
        "suite.yaml:10:3: none.csv: no such file [no-such-file]",
        "suite.yaml:11:22: input: $HOME is of the environment, which is never read [configuration]",
        "hint: write ${home}, and --set home=$HOME in the shell",
    ]


@pytest.mark.parametrize(
    ("line", "column", "what"),
    [
        ("positive: 01", 5, "positive: 01 is read as the number 1"),
        ("positive: 0x1F", 5, "positive: 0x1F is read as the number 31"),
        ("positive: 1.50", 5, "positive: 1.50 is read as the number 1.5"),
        ("positive: True", 5, "positive: True is read as true or false"),
        ("classes: [yes, 007]", 20, "classes: 007 is read as the number 7"),
        ("classes: [yes, null]", 20, "classes: nothing stands here"),
        ("truth: 3", 5, "truth: 3 is read as the number 3"),
        ("threshold: '0.5'", 5, "threshold '0.5' is not a number"),
        ("threshold: {a: 0.5, b: high}", 25, "threshold 'high' is not a number"),
        ("best: 2.5", 5, "best '2.5' is not a whole number from 1 up"),
        ("fold-labels: 1", 5, "fold-labels is true or false, not 1"),
        ("fail-under: {recall: high}", 5, "fail-under 'recall=high' is not"),
        ("fail-under: {recall: 0.5, f1: .inf}", 31, "fail-under 'f1=inf' is not"),
        ("digits: 99", 5, "digits 99 is not a whole number from 0 to"),
        ("missing: dorp", 5, "missing is one of error, drop, not 'dorp'"),
        ("dry-run: true", 5, "unknown key 'dry-run'"),
        ("save: [x.jsn]", 5, "save: 'x.jsn': the suffix says no format"),
        ("save: '{nmae}.json'", 5, "save: '{nmae}' stands for nothing"),
        ("save: t.csv", 5, "would replace a file that the batch reads"),
        ("baseline: {inptu: x.json}", 16, "baseline: unknown key 'inptu'"),
        ("exclude: [{threshold: 1}]", 5, "exclude: there is no matrix"),
        ("matrix: {threshold: 0.5}", 14, "threshold: a matrix takes a list of values"),
        ("matrix: {threshold: [0.5, 0.5]}", 3, "2 runs are called 'r[threshold=0.5]'"),
        ("matrix: {threshold: [0.1, x]}", 31, "threshold 'x' is not a number"),
        ("fail_under: {recall: 0.5}\n    fail-under: {f1: 0.5}", 5, "is given twice, first as"),
        ("inputs: t.csv", 5, "inputs: there is an input too"),
        ("id: ${idd}", 5, "no variable ${idd}"),
        ("id: ${", 5, "'${' begins a variable that does not end"),
        ("<<: {a: 1}", 5, "'<<' merges nothing"),
        ("id: !!python/name:os.system", 9, "tags are not read"),
        ("id: *nobody", 9, "*nobody is not defined above"),
    ],
)
def test_a_wrong_line_is_told_with_its_place(
    line: str, column: int, what: str, tmp_path: Path
) -> None:
    text = f"version: 1\nruns:\n  r:\n    command: mars\n    input: t.csv\n    {line}\n"
    said = refused(tmp_path, text)
    row = 3 if "are called" in what else 7 if "given twice" in what else 6
    start = f"suite.yaml:{row}:{column}: "
    assert any(one.startswith(start) and what in one for one in said), said


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("runs: {a: {command: mars, input: t.csv}}", "the key 'version' is missing"),
        ("version: 2\nruns: {a: {command: mars, input: t.csv}}", "2 is newer than this program"),
        ("version: '1'\nruns: {a: {command: mars, input: t.csv}}", "'1' is no version"),
        ("version: 1", "no run in any file"),
        ("- version: 1", "the file is no mapping"),
        ("version: 1\nruns: {a: 3}", "run 'a' is no mapping"),
        ("version: 1\nruns: {'a[b]': {command: mars, input: t.csv}}", "is no name of a run"),
        ("version: 1\nruns: {'${x}': {command: mars, input: t.csv}}", "in values, and in no key"),
        ("version: 1\nruns: {a: {command: mars}}", "run 'a' has no table"),
        ("version: 1\nruns: {a: {input: t.csv}}", "run 'a' names no command"),
        ("version: 1\nset: {a: [1]}\nruns: {a: {command: mars, input: t.csv}}", "a: a variable is"),
        ("version: 1\nset: {a: '${b}'}\nruns: {a: {command: mars, input: t.csv}}", "filled in"),
        ("version: 1\ndefaults: {matrix: {}}\nruns: {a: {command: mars, input: t.csv}}",
         "'matrix' is of one run"),
        ("version: 1\nruns: {a: {command: mlcps, input: {run: b}}}", "input: no run 'b'"),
        ("version: 1\nruns: {a: {command: mlcps, input: {run: a}}}", "a circle of runs: a -> a"),
        ("version: 1\nruns: {a: {command: mars, input: t.csv},"
         " b: {command: mlcps, input: {run: a, table: modles}}}", "mars has no table 'modles'"),
        ("version: 1\nruns: {a: {command: mars, input: t.csv, save: x.json},"
         " b: {command: mars, input: t.csv, save: ./x.json}}", "is of run 'a' and of run 'b'"),
        ("version: 1\nruns: {a: {command: mars, input: t.csv, feature: x}}",
         "unknown key 'feature'"),
        ("version: 1\ndefaults: {refrence: x}\nruns: {a: {command: mars, input: t.csv}}",
         "unknown key 'refrence'"),
        ("version: 1\nruns: {a: {command: report, input: t.csv, margin: {mcc: 0.1}}}",
         "margin"),
    ],
)  # fmt: skip
def test_a_wrong_batch_is_told_with_a_place(text: str, what: str, tmp_path: Path) -> None:
    said = refused(tmp_path, text)
    assert any(one.startswith("suite.yaml:") and what in one for one in said), said


def test_many_faults_are_counted_and_verbose_lists_them(tmp_path: Path) -> None:
    keys = "".join(f"\nk{i}: 1" for i in range(40))
    with pytest.raises(UsageError) as caught:
        plan_of(tmp_path, f"version: 1\nruns: {{a: {{command: mars, input: t.csv}}}}{keys}")
    brief, whole = caught.value.lines(), caught.value.lines(verbose=True)
    assert sum("unknown key" in line for line in brief) == 20 + 5
    assert any("15 more [configuration]" in line for line in brief)
    assert sum("unknown key" in line for line in whole) == 40


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"variables": ("date",)}, "--set 'date' is not NAME=VALUE"),
        ({"variables": ("a=${b}",)}, "filled in once"),
        ({"variables": ("a=" + "x" * 5000,)}, "longer than 4,096 characters"),
        ({"only": ("on",)}, "--only 'on' fits no run"),
    ],
)
def test_a_wrong_word_of_the_shell_is_told(
    given: dict[str, tuple[str, ...]], what: str, tmp_path: Path
) -> None:
    with pytest.raises(ClfevalError) as caught:
        plan_of(tmp_path, "version: 1\nruns: {one: {command: mars, input: t.csv}}", **given)
    assert what in str(caught.value)


def test_a_file_that_is_none_and_a_wrong_one_are_told_together(tmp_path: Path) -> None:
    from clfeval.cli.output import Output
    from clfeval.suite.plan import planned

    name = written(tmp_path, "version: 1\nbad: 1\nruns: {a: {command: mars, input: t.csv}}")
    with pytest.raises(UsageError) as caught:
        planned([str(tmp_path / "suit.yaml"), name], Output)
    said = str(caught.value)
    assert "suit.yaml: no such file [no-such-file]\nhint: did you mean 'suite.yaml'?" in said
    assert "suite.yaml:2:1: unknown key 'bad'" in said
