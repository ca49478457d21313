"""Messages speak the dialect of the caller: `--level` at the shell, `level` in Python and YAML."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.errors import ClfevalError, Problem, UsageError
from clfeval.methods.command_lookup import command_of
from clfeval.options.syntax import reword_error, yaml_dialect
from clfeval.tables.yaml import read_yaml
from tests.shell import at_shell
from tests.texts import check_text, numbers_in, problem_places

TABLE = pl.DataFrame({"truth": ["1", "0", "1"], "a": ["1", "0", "x"], "b": ["1", "1", "0"]})
MARS, MLCPS = command_of("mars"), command_of("mlcps")
SCORES = TABLE.with_columns(a=pl.Series([0.2, 0.9, 3.5]))
METRICS = pl.DataFrame(
    {"model": ["a", "b"], "x": [0.1, 0.2], "y": [0.3, 1.2], "z": [0.5, 0.1], "--cut": [0.1, 0.4]}
)
# what is wrong -> the call, what a shell would type, what Python would
CALLS: dict[str, tuple[Any, Any, dict[str, Any], str, str]] = {
    "a number": (clfeval.mars, TABLE, {"best": "two"}, "--best 'two'", "best 'two'"),
    "a choice": (clfeval.mars, TABLE, {"occlusion": "some"}, "--occlusion ", "occlusion "),
    "a switch": (clfeval.phidelta, SCORES, {"points": 5}, "--curve", "curve=True"),
    "a keyword of Python": (
        clfeval.mlcps,
        METRICS,
        {"truth": "t"},
        "--from predictions",
        "source='predictions'",
    ),
    "a name in a hint": (
        clfeval.mars,
        SCORES.select("truth", "a"),
        {},
        "--threshold 'a=T'",
        "threshold={'a': T}",
    ),
    "a text in a hint": (clfeval.mars, TABLE, {}, "--classes 'x'", "classes='x'"),
    "a share": (
        clfeval.phidelta,
        TABLE,
        {"prevalence": "100"},
        "--prevalence 0.01",
        "prevalence='0.01'",
    ),
    "numbers of a measure": (
        clfeval.tune_jpt,
        None,
        {"counts": (1, 2, 3, 4), "measure": "net_benefit"},
        "--measure cost:fp=1,fn=10",
        "measure='cost:fp=1,fn=10'",
    ),
    "two sources": (
        clfeval.tune_jpt,
        None,
        {"counts": (1, 2, 3, 4), "specificity": 0.5},
        "--counts",
        "counts",
    ),
    "numbers of models": (
        clfeval.tune_jpt,
        None,
        {"counts": {"": (1, 2, 3, 4)}},
        "--counts rf=69,15,31,85",
        "counts={'rf': (69, 15, 31, 85)}",
    ),
    "a place that is no file": (
        clfeval.tune_jpt,
        None,
        {"counts": (0, 2, 0, 4)},
        "--counts: ",
        "counts: ",
    ),
    "more problems": (
        clfeval.mars,
        pl.concat([TABLE] * 9),
        {"positive": "1"},
        "--verbose",
        "error.problems",
    ),
    "a range of a metric": (
        clfeval.mlcps,
        METRICS,
        {"direction": {"--cut": "max", "x": "max", "z": "max"}},
        "--rescale y=0:X",
        "rescale={'y': (0, X)}",
    ),
    "a name that looks like an option": (
        clfeval.mlcps,
        METRICS,
        {"metric": "--metric"},
        "'--cut'",
        "'--cut'",
    ),
}


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
    check_text([str(shell.value), str(python.value)])
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
        MARS.build_groups(options)
    dialect = yaml_dialect(lambda name: file.place("runs", 0, "options", name))
    reword_error(caught.value, MARS.options(), dialect)
    text = str(caught.value).replace(f"{tmp_path}/", "")
    check_text(text)
    assert problem_places(text) == ["suite.yaml:5:5: [bad-option]"]
    assert 0.95 in numbers_in(text)


def test_hints_of_a_batch_are_yaml() -> None:
    hint = "--rescale mcc=-1:1, --id 'x', --metric f1; or add --transpose"
    error = UsageError(Problem("no column 'a --id b'", "unknown-column", "t.csv"), hint=hint)
    reword_error(error, MLCPS.options(), yaml_dialect(lambda _: None))
    assert error.hint == "rescale: {'mcc': [-1, 1]}, id: x, metric: [f1]; or add transpose: true"
    assert error.problems[0].what == "no column 'a --id b'"


def test_values_of_a_hint_can_be_given_back() -> None:
    """What a hint says in Python is Python: the call works as it is told."""
    with pytest.raises(UsageError) as caught:
        clfeval.tune_jpt(counts=(1, 2, 3, 4), measure="net_benefit")
    (told,) = re.findall(r"\w+='[^']*'", str(caught.value.hint))
    given = eval(f"dict({told})", {})
    result = clfeval.tune_jpt(counts=(1, 2, 3, 4), **given)
    assert result.parameters["cost"] == {"fp": 1, "fn": 10, "tp": 0, "tn": 0}
