"""Messages speak the dialect of the caller: `--level` at the shell, `level` in Python and YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.commands import command_of
from clfeval.dialect import retell, yaml
from clfeval.errors import ClfevalError, Problem, UsageError
from clfeval.yaml import read_yaml
from tests.shell import at_shell

TABLE = pl.DataFrame({"truth": ["1", "0", "1"], "a": ["1", "0", "x"], "b": ["1", "1", "0"]})
MARS, MLCPS = command_of("mars"), command_of("mlcps")
SCORES = TABLE.with_columns(a=pl.Series([0.2, 0.9, 3.5]))
METRICS = pl.DataFrame(
    {"model": ["a", "b"], "x": [0.1, 0.2], "y": [0.3, 1.2], "z": [0.5, 0.1], "--cut": [0.1, 0.4]}
)
CALLS: dict[str, tuple[Any, Any, dict[str, Any], str, str]] = {
    "a number": (
        clfeval.mars, TABLE, {"best": "two"}, "--best 'two' is not a whole number from 1 up",
        "best 'two' is not a whole number from 1 up",
    ),
    "a choice": (
        clfeval.mars, TABLE, {"occlusion": "some"}, "--occlusion is one of all, any, not 'some'",
        "occlusion is one of all, any, not 'some'",
    ),
    "a switch to add": (
        clfeval.phidelta, SCORES, {"points": 5},
        "--points says how many points a curve lists: add --curve",
        "points says how many points a curve lists: add curve=True",
    ),
    "a keyword of Python": (
        clfeval.mlcps, METRICS, {"truth": "t"},
        "hint: --from predictions measures the models of a prediction table",
        "hint: source='predictions' measures the models of a prediction table",
    ),
    "a name in a hint": (
        clfeval.mars, TABLE.rename({"truth": "status"}), {}, "hint: --truth 'status': its name",
        "hint: truth='status': its name",
    ),
    "a text in a hint": (
        clfeval.mars, TABLE, {}, "is declared with --classes 'x'", "is declared with classes='x'",
    ),
    "a share": (
        clfeval.phidelta, TABLE, {"prevalence": "100"}, "for example --prevalence 0.01 for",
        "for example prevalence='0.01' for",
    ),
    "numbers of a measure": (
        clfeval.tune_jpt, None, {"counts": (1, 2, 3, 4), "measure": "net_benefit"},
        "hint: --measure cost:fp=1,fn=10 where a miss",
        "hint: measure='cost:fp=1,fn=10' where a miss",
    ),
    "two sources": (
        clfeval.tune_jpt, None, {"counts": (1, 2, 3, 4), "specificity": 0.5},
        "--counts and --sensitivity and --specificity each say what to tune: give one",
        "counts and sensitivity and specificity each say what to tune: give one",
    ),
    "numbers of models": (
        clfeval.tune_jpt, None, {"counts": {"": (1, 2, 3, 4)}},
        "for example --counts rf=69,15,31,85", "for example counts={'rf': (69, 15, 31, 85)}",
    ),
    "a place that is no file": (
        clfeval.tune_jpt, None, {"counts": (0, 2, 0, 4)}, "--counts: no positive row",
        "counts: no positive row",
    ),
    "more problems": (
        clfeval.mars, pl.concat([TABLE] * 9), {"positive": "1"}, "--verbose lists them",
        "error.problems holds them",
    ),
    "a range of a metric": (
        clfeval.mlcps, METRICS, {"direction": {"--cut": "max", "x": "max", "z": "max"}},
        "--rescale y=0:X, with X", "rescale={'y': (0, X)}, with X",
    ),
    "a name that looks like an option": (
        clfeval.mlcps, METRICS, {"metric": "--metric"}, "'--cut'", "'--cut'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_message_is_said_as_the_caller_would_type(name: str) -> None:
    function, table, options, typed, called = CALLS[name]
    with pytest.raises(ClfevalError) as shell:
        at_shell(function)(table, **options)
    with pytest.raises(ClfevalError) as python:
        function(table, **options)
    assert typed in str(shell.value)
    assert called in str(python.value)
    assert (typed in str(python.value)) == (typed == called)
    assert python.value.lines() == str(python.value).split("\n")
    codes = [[one.code for one in error.value.problems] for error in (shell, python)]
    assert codes[0] == codes[1]


def test_a_batch_names_file_line_and_column(tmp_path: Path) -> None:
    """As `suite` will: options are taken as Python gives them, and refused where they stand."""
    (tmp_path / "suite.yaml").write_text(
        "runs:\n- table: t.csv\n  options:\n    best: 2\n    level: 95\n", encoding="utf-8"
    )
    file = read_yaml(tmp_path / "suite.yaml")
    options = file.value["runs"][0]["options"]
    with pytest.raises(UsageError) as caught:
        MARS.taken(options)
    dialect = yaml(lambda name: file.place("runs", 0, "options", name))
    retell(caught.value, MARS.options(), dialect)
    first, hint = str(caught.value).replace(f"{tmp_path}/", "").split("\n")
    assert first.startswith("suite.yaml:5:5: level 95 is not between 0 and 1")
    assert hint == "hint: 0.95 for 95 %"


def test_hints_of_a_batch_are_yaml() -> None:
    hint = "--rescale mcc=-1:1, --id 'x', --metric f1; or add --transpose"
    error = UsageError(Problem("no column 'a --id b'", "unknown-column", "t.csv"), hint=hint)
    retell(error, MLCPS.options(), yaml(lambda _: None))
    assert error.hint == "rescale: {'mcc': [-1, 1]}, id: x, metric: [f1]; or add transpose: true"
    assert error.problems[0].what == "no column 'a --id b'"


def test_values_of_a_hint_can_be_given_back() -> None:
    """What a hint says in Python is Python: the call works as it is told."""
    with pytest.raises(UsageError) as caught:
        clfeval.tune_jpt(counts=(1, 2, 3, 4), measure="net_benefit")
    told = str(caught.value.hint).partition(" where")[0]
    given = eval(f"dict({told})", {})
    result = clfeval.tune_jpt(counts=(1, 2, 3, 4), **given)
    assert result.parameters["cost"] == {"fp": 1, "fn": 10, "tp": 0, "tn": 0}
