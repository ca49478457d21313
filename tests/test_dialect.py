"""Messages speak the dialect of the caller: `--level` at the shell, `level` in Python and YAML."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import clfeval
from clfeval.errors import ClfevalError, Problem, UsageError, format_option
from clfeval.methods.command_lookup import command_of
from clfeval.options.declaration import Option
from clfeval.options.syntax import PYTHON, Dialect, fill_error, fill_text, yaml_dialect
from clfeval.placeholders import ADD, COMMAND, END, OPTION, SWITCH, fill_for_shell
from clfeval.tables.yaml import read_yaml
from tests.results import problem_codes
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
    codes = [problem_codes(error.value) for error in (shell, python)]
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
    fill_error(caught.value, MARS.options(), dialect)
    text = str(caught.value).replace(f"{tmp_path}/", "")
    check_text(text)
    assert problem_places(text) == ["suite.yaml:5:5: [bad-option]"]
    assert 0.95 in numbers_in(text)


def test_hints_of_a_batch_are_yaml() -> None:
    hint = f"{OPTION}--rescale mcc=-1:1{END}, {OPTION}--id 'x'{END}, {OPTION}--metric f1{END}; "
    hint += f"or add {SWITCH}--transpose{END}"
    error = UsageError(Problem("no column 'a --id b'", "unknown-column", "t.csv"), hint=hint)
    fill_error(error, MLCPS.options(), yaml_dialect(lambda _: None))
    assert error.hint == "rescale: {'mcc': [-1, 1]}, id: x, metric: [f1]; or add transpose: true"
    assert error.problems[0].message == "no column 'a --id b'"


def test_values_of_a_hint_can_be_given_back() -> None:
    """What a hint says in Python is Python: the call works as it is told."""
    with pytest.raises(UsageError) as caught:
        clfeval.tune_jpt(counts=(1, 2, 3, 4), measure="net_benefit")
    (told,) = re.findall(r"\w+='[^']*'", str(caught.value.hint))
    given = eval(f"dict({told})", {})
    result = clfeval.tune_jpt(counts=(1, 2, 3, 4), **given)
    assert result.parameters["cost"] == {"fp": 1, "fn": 10, "tp": 0, "tn": 0}


YAML = yaml_dialect(lambda _: None)
OPTIONS = {
    (name, option.flag): option
    for name in clfeval.COMMANDS
    for option in command_of(name).options()
}
# texts of a shell for values of an option, by what it holds
NUMBERS, NAMES = (
    ("0.5", "2"),
    ("malignant", "a b", "age:4", "it's", "x,y", "--x", "1", "true", "‹é›"),
)


def shell_values(option: Option) -> list[str]:
    """Return values of an option as words of a shell."""
    if option.choices:
        return [*option.choices]
    if option.holds == "mapping":
        return [f"{key}={value}" for key in ("a", "b c") for value in ("0.5", "x")]
    return [*(NUMBERS if option.numeric else NAMES)]


def hint_on(option: Option, *values: str) -> str:
    """Return a hint to add an option with its values, followed by further words."""
    if option.kinds == (bool,):
        return f"add {SWITCH}{option.flag}{END} if it fits"
    words = " ".join(format_option(option.flag, value) for value in values)
    return f"add {words} if it fits"


def expected_text(value: str, option: Option) -> str:
    """Return a value as text, as a literal of Python or YAML gives it back."""
    return value.partition("=")[2] if option.holds == "mapping" else value


def texts_of(value: Any, option: Option) -> list[str]:
    """Return the values that a literal gives back, as texts of a shell."""
    if option.holds == "mapping":
        (value,) = value.values()
    return [str(one) for one in (value if isinstance(value, (list, tuple)) else [value])]


def split_text(value: str, option: Option) -> list[str]:
    """Return the parts of a value as a literal lists them."""
    if option.holds in ("one", "several"):
        return [value]
    return re.split(r"[:,]|\.\.", value)


@pytest.mark.parametrize(("command", "flag"), OPTIONS)
def test_a_hint_in_python_and_yaml_gives_back_its_option_and_value(command: str, flag: str) -> None:
    option, options = OPTIONS[command, flag], command_of(command).options()
    for value in shell_values(option):
        hint = hint_on(option, value)
        parts = split_text(expected_text(value, option), option)
        in_python = fill_text(hint, options, PYTHON)
        found = re.fullmatch(r"add (.*) if it fits", in_python)
        assert found is not None
        (name, literal), *others = eval(f"dict({found[1]})", {}).items()
        assert (name, others) == (option.name, [])
        in_yaml = fill_text(hint, options, YAML)
        found = re.fullmatch(r"add (.*) if it fits", in_yaml)
        assert found is not None
        ((key, loaded),) = yaml.safe_load(f"{{{found[1]}}}").items()
        assert key == option.key
        if option.kinds == (bool,):
            assert (literal, loaded) == (True, True)
            assert fill_for_shell(hint) == f"add {flag} if it fits"
            continue
        assert texts_of(literal, option) == parts
        assert texts_of(loaded, option) == parts
        assert shlex.split(fill_for_shell(hint))[1:3] in ([flag, value], [f"{flag}={value}", "if"])


def test_a_value_ends_where_it_is_marked() -> None:
    """A word of the shell without quotes is a value, and the next word of the sentence is not."""
    hint = f"add {OPTION}--positive malignant{END} if it fits, or {OPTION}--positive{END} malignant"
    options = command_of("report").options()
    expected = "add positive='malignant' if it fits, or positive malignant"
    assert fill_text(hint, options, PYTHON) == expected
    assert fill_text(hint, options, YAML) == expected.replace("='malignant'", ": malignant")


@pytest.mark.parametrize(("command", "flag"), OPTIONS)
def test_several_values_of_an_option_are_one_list(command: str, flag: str) -> None:
    option, options = OPTIONS[command, flag], command_of(command).options()
    if option.holds != "several" or option.numeric:
        return
    values = shell_values(option)[:3]
    hint = hint_on(option, *values)
    found = re.fullmatch(r"add (.*) if it fits", fill_text(hint, options, PYTHON))
    assert found is not None
    assert eval(f"dict({found[1]})", {}) == {option.name: values}
    found = re.fullmatch(r"add (.*) if it fits", fill_text(hint, options, YAML))
    assert found is not None
    assert yaml.safe_load(f"{{{found[1]}}}") == {option.key: values}


@pytest.mark.parametrize("dialect", [PYTHON, YAML])
def test_user_data_is_never_a_placeholder(dialect: Dialect) -> None:
    name = "--id b ‹--id c› {OPTION}--id{END} add --format csv"
    text = f"{OPTION}--id{END} '{name}' is no column"
    assert fill_text(text, MARS.options(), dialect) == f"id '{name}' is no column"
    assert fill_for_shell(text) == f"--id '{name}' is no column"
    for mark in {*OPTION, *SWITCH, *COMMAND, *ADD, *END} - {*"add"}:
        with pytest.raises(UnicodeEncodeError):
            mark.encode()
        assert mark not in bytes(range(256)).decode(errors="surrogateescape")


def test_output_options_are_methods_of_a_result() -> None:
    pairs = {
        f"{ADD} {OPTION}--format csv --show models{END}": "call result.frame('models')",
        f"{ADD} {OPTION}--format csv{END}": "call result.frame()",
        f"{ADD} {OPTION}--format json{END}": "call result.to_json()",
        f"{ADD} {OPTION}--show confusion{END}": "call result.show('confusion')",
        f"a file of {OPTION}--save page.html{END}": "a file of result.save('page.html')",
        f"{COMMAND}clfeval count t.csv --by x{END}": "clfeval count t.csv --by x",
    }
    for text, in_python in pairs.items():
        assert fill_text(text, MARS.options(), PYTHON) == in_python


@pytest.mark.parametrize("name", clfeval.COMMANDS)
def test_the_documentation_of_a_function_names_keywords(name: str) -> None:
    function = getattr(clfeval, name.replace("-", "_"))
    assert re.findall(r"--[a-z]+", function.__doc__) == []
