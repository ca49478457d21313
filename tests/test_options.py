"""Options are declared once: what the shell, Python, YAML and documents read from a group."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from unittest import mock

import jsonschema
import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval import COMMANDS
from clfeval.api.public_functions import signature_of
from clfeval.cli.command import RESULT_GROUPS, build_typer_command, compute_command
from clfeval.cli.output import Output
from clfeval.compare.gates.limits import Gates
from clfeval.compare.history.file import HistoryOptions
from clfeval.errors import UsageError
from clfeval.methods.command_lookup import command_of
from clfeval.options.declaration import (
    Command,
    Opt,
    build_group,
    changed_options,
    document_parameters,
    options_of,
    signature_settings,
)
from clfeval.suite.schema import options_schema
from tests.stub import STUB, stub_of
from tests.texts import check_text, problem_places
from tests.thoroughness import full

ROOT = Path(__file__).parent.parent
FUNCTIONS = {command.name.replace("-", "_"): command for command in map(command_of, COMMANDS)}


def halves(_: str, texts: Any) -> tuple[float, float]:
    left, right = texts[-1].split("/")
    return float(left), float(right)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paint:
    """A group with an option of every kind."""

    hue: Annotated[Literal["red", "blue"], Opt("Of it.", "Paint", is_parameter=True)] = "red"
    coats: Annotated[int, Opt("How many.", "Paint", minimum=1, maximum=9, signed="coats")] = 2
    dots: Annotated[int | Literal["all"] | None, Opt("So many.", "Paint", minimum=1)] = None
    gloss: Annotated[
        float | None,
        Opt(
            "Share.", "Paint", above=0, maximum=1, bounds_error="is not a share", is_parameter=True
        ),
    ] = None
    shade: Annotated[tuple[str, ...], Opt("Names.", "Paint", is_parameter=True)] = ()
    mix: Annotated[tuple[float, float] | None, Opt("Two.", "Paint", parse=halves)] = None
    dry: Annotated[bool, Opt("Wait.", "Paint", needs=("gloss", "waits for the gloss"))] = False
    walls: Annotated[Mapping[str, float], Opt("Sizes.", "Paint", accept=lambda _, x: dict(x))] = (
        field(default_factory=dict)
    )
    note: str = "no option"


def refused(**given: Any) -> str:
    with pytest.raises(UsageError) as caught:
        build_group(Paint, given)
    return str(caught.value)


def test_a_field_without_opt_is_no_option() -> None:
    names = [option.name for option in options_of(Paint)]
    assert names == ["hue", "coats", "dots", "gloss", "shade", "mix", "dry", "walls"]


def test_values_of_any_kind_of_number_and_one_for_several_are_taken() -> None:
    paint = build_group(
        Paint, {"coats": np.int64(3), "gloss": np.float32(0.5), "shade": "dark", "mix": [1, 2]}
    )
    assert (paint.coats, paint.gloss, paint.shade, paint.mix) == (3, 0.5, ("dark",), (1.0, 2.0))
    assert type(paint.coats) is int
    assert type(paint.gloss) is float
    assert build_group(Paint, {"dots": "all"}).dots == "all"
    assert build_group(Paint, {"shade": ["a", "b"]}).shade == ("a", "b")
    assert build_group(Paint, {"shade": None, "gloss": None}) == Paint()


WRONG: tuple[dict[str, Any], ...] = (
    {"hue": "green"},
    {"coats": 10},
    {"coats": 1.5},
    {"coats": None},
    {"dots": 0},
    {"dots": "some"},
    {"gloss": 2},
    {"gloss": 0},
    {"gloss": float("nan")},
    {"gloss": "much"},
    {"shade": 5},
    {"shade": ["a", 5]},
    {"mix": (1, 2, 3)},
    {"mix": "12"},
    {"dry": "yes"},
    {"dry": True},
)


@pytest.mark.parametrize("given", WRONG, ids=str)
def test_what_no_option_takes_is_refused_by_its_name(given: dict[str, Any]) -> None:
    text = refused(**given)
    assert text.startswith(f"--{next(iter(given))} ")
    assert text.partition("\n")[0].endswith(" [bad-option]")
    check_text(text)


def test_a_document_holds_what_is_stated_and_a_signature_what_changes_numbers() -> None:
    paint = build_group(Paint, {"coats": 3, "shade": ["a", "b"]})
    assert document_parameters(paint) == {"hue": "red", "gloss": None, "shade": ["a", "b"]}
    assert signature_settings(paint) == {"coats": 3}
    assert signature_settings(Paint()) == {}
    assert [option.field for option in changed_options(paint)] == ["coats", "shade"]


def test_no_call_sees_what_another_did_to_a_default() -> None:
    build_group(Paint, {}).walls["north"] = 2.5  # type: ignore[index]
    assert build_group(Paint, {}).walls == {}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_may_be_changed_is_made_anew_for_every_call(command: str) -> None:
    declared = command_of(command)
    options = [one for one in declared.options() if isinstance(one.default, dict)]
    assert options or command == "recalibrate"  # which has no mapping
    for option in options:
        for given in ({}, {option.name: option.default}):  # as Python and as a shell leave it out
            groups = [group for _ in range(2) for group in declared.build_groups(given)]
            values = [getattr(group, option.field, None) for group in groups]
            made = [value for value in values if isinstance(value, dict)]
            assert made == [{}, {}]
            assert len({id(one) for one in (*made, option.default)}) == 3


# -- the shell --

PAINT = Command("mars", (Paint,), help="Paint it.", examples="", tables="Walls.")


def of_shell(command: Command) -> Any:
    """Return a command as typer makes it."""
    made = (command, compute_command, RESULT_GROUPS)
    with mock.patch("clfeval.cli.command.find_declaration", return_value=made):
        return build_typer_command(command.name)


def test_help_lists_options_in_the_order_of_the_fields(capsys: pytest.CaptureFixture[str]) -> None:
    of_shell(PAINT).main(["--help-all"], standalone_mode=False)
    shown = capsys.readouterr().out
    flags = ("--hue", "--coats", "--dots", "--gloss", "--shade", "--mix", "--dry", "--walls")
    places = [shown.index(flag) for flag in (*flags, "--format", "--fail-under")]
    assert places == sorted(places)
    assert "Paint it." in shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """A group with an option that another one has too."""

    height: Annotated[float, Opt("Of it.", "Wall")] = 2.5
    hue: Annotated[str, Opt("Of it.", "Wall")] = "red"


@pytest.mark.parametrize("door", [of_shell, signature_of], ids=["shell", "python"])
def test_one_name_in_two_groups_is_refused_at_every_door(door: Callable[[Command], Any]) -> None:
    twice = Command("mars", (Paint, Wall), help="Paint it.", examples="", tables="Walls.")
    with pytest.raises(ValueError, match="duplicate parameter name: 'hue'"):
        door(twice)


# -- Python --


@pytest.mark.parametrize("command", FUNCTIONS)
def test_every_option_is_a_keyword_of_the_public_function(command: str) -> None:
    function = getattr(clfeval, command)
    names = list(inspect.signature(function).parameters)
    options = [one.name for one in FUNCTIONS[command].options()]
    assert names == ["table", "predictions", *options, "on_open"]
    wanted = rf"^{command}\(\) got an unexpected keyword argument 'nosuch'$"
    with pytest.raises(TypeError, match=wanted):
        function("t.csv", nosuch=1)


def test_a_table_is_required_where_a_command_requires_one() -> None:
    with pytest.raises(TypeError, match=r"^mars\(\) missing .*: 'table'; mars\(y_true, y_prob\)"):
        clfeval.mars()  # type: ignore[call-arg]
    assert clfeval.tune_jpt(counts=(1, 2, 3, 4)).command == "tune-jpt"


def test_the_stub_is_what_the_options_say() -> None:
    commands = [FUNCTIONS[name] for name in clfeval.FUNCTIONS]
    assert STUB.read_text(encoding="utf-8") == stub_of(commands), "out of date: make stub"


@pytest.mark.slow
def test_a_type_checker_finds_a_wrong_value_and_a_wrong_name(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import clfeval\n"
        "result: clfeval.Result = clfeval.mars('t.csv', occlusion='any', best=2, model=['a'])\n"
        "clfeval.mars('t.csv', occlusion='some')\n"
        "clfeval.mlcps('t.csv', metric_wieght={'f1': 2})\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    wrong = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.split(": error: ")[0].rpartition(":")[2] for line in wrong] == ["3", "4"]
    assert "some" in done.stdout
    assert "metric_wieght" in done.stdout


ODD: tuple[Any, ...] = (
    "nope",
    "",
    b"x",
    0,
    -1,
    1.5,
    float("nan"),
    float("inf"),
    True,
    [],
    ["a"],
    [None],
    [[1]],
    (1, 2, 3),
    {},
    {"a": 1},
    {"a": "x"},
    {"a": [1]},
    {"a": None},
    {"a": ["x"]},
    {None: None},
    {1: 2},
    object(),
    set(),
    np.array([1.0, 2.0]),
    np.array(3),
    Decimal("1.5"),
    len,
    10**400,
    {"a": 10**400},
    {"a": {"b": 1}},
    {"a": (1, 2)},
)


# a label may be of any type, and which number of rows is a top is for the table to say
ANYTHING = {"--positive", "--classes", "mars --top"}
PROBABILITIES = pl.DataFrame(
    {"truth": [1, 0, 1, 0], "a": [0.9, 0.1, 0.7, 0.3], "b": [0.8, 0.4, 0.6, 0.2]}
)
RANKED = pl.DataFrame(
    {"model": ["a", "b"], "f1": [0.1, 0.2], "recall": [0.3, 0.2], "npv": [0.5, 0.1]}
)


@pytest.mark.parametrize("command", COMMANDS)
def test_whatever_python_gives_is_taken_or_refused_by_the_options_name(command: str) -> None:
    declared = command_of(command)
    for option in declared.options():
        refused = []
        for value in ODD:
            try:
                declared.build_groups({option.name: value})
            except UsageError as error:  # no other kind may come
                refused.append(str(error))
        assert bool(refused) != bool({option.flag, f"{command} {option.flag}"} & ANYTHING)
        for message in refused:
            if problem_places(message) != ["nope: [no-such-file]"]:
                assert message.startswith((f"{option.flag} ", f"{option.flag}: ", option.name))


def refusals(
    command: str, option: str, values: Sequence[Any] = ODD, **others: Any
) -> list[str | None]:
    """Return what a public function says to each odd value; None where it computes."""
    said: list[str | None] = []
    for value in values:
        try:
            getattr(clfeval, command.replace("-", "_"))(**others, **{option: value})
            said.append(None)
        except clfeval.ClfevalError as error:  # no other kind may come
            said.append(str(error))
    return said


def taken_of(said: list[str | None], values: Sequence[Any] = ODD) -> list[str]:
    return [repr(value) for value, message in zip(values, said, strict=True) if message is None]


def test_only_a_number_of_rows_or_a_share_of_them_is_a_top() -> None:
    said = refusals("mars", "top", table=PROBABILITIES)
    assert taken_of(said) == ["array(3)"]
    for message in filter(None, said):
        assert message.startswith("top ")


def test_what_is_compared_with_is_a_table() -> None:
    said = refusals("mlcps", "compare", table=RANKED)
    assert taken_of(said) == []
    missing = {f"{name}: [no-such-file]" for name in ("nope", "a")}
    places = [problem_places(message)[0] for message in filter(None, said)]
    assert missing < {*places}
    assert all(one in missing or one.endswith("[no-input]") for one in places)


def one_of_each_type(values: Sequence[Any]) -> list[Any]:
    """Return the first value of each type, and what is not a number as if it were one more."""
    kinds = [
        (type(value), value != value) if isinstance(value, float) else type(value)
        for value in values
    ]
    return [value for place, value in enumerate(values) if kinds[place] not in kinds[:place]]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_label_may_be_anything_and_truth_has_it_or_not(command: str) -> None:
    more: dict[str, Any] = {} if command in ("count", "recalibrate") else {"interval": "none"}
    more |= {"mlcps": {"source": "predictions"}, "tune-jpt": {"sweep": None}}.get(command, {})
    values = ODD if full() or command == "report" else one_of_each_type(ODD)
    said = refusals(command, "positive", values, table=PROBABILITIES, **more)
    assert taken_of(said, values) == ["0", "nan"]  # which is no label, as None
    for message in filter(None, said):
        assert message.startswith("<frame>: ")
    assert {*refusals(command, "classes", values, table=PROBABILITIES, **more)} == {None}


def test_options_import_no_library() -> None:
    heavy = ["polars", "numpy", "typer", "rich", "narwhals", "yaml"]
    rooms = ", ".join(f"clfeval.methods.{name}.options" for name in FUNCTIONS)
    script = f"import sys, {rooms}\nfrom clfeval.methods.command_lookup import with_input\n"
    script += (
        "with_input(clfeval.methods.mars.options.MARS).build_groups({'level': 0.9, 'model': 'a'})"
    )
    script += f"\nprint([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


# -- batches --


@pytest.mark.parametrize(
    ("command", "good"),
    [
        ("mars", {"occlusion": "any", "best": 2, "group": {"g": ["rf", "gb"]}, "list": "found"}),
        ("mars", {"threshold": {"rf": 0.3}, "model": ["a", "b"], "points": "all", "by": "site"}),
        ("phidelta", {"prevalence": [0.1, 0.2], "isometrics": {"precision": [0.5]}, "curve": True}),
        ("tune_jpt", {"prevalence": "0.1..0.2", "measure": "ppv", "sweep": None}),
        ("tune_jpt", {"counts": [1, 2, 3, 4]}),
        ("mlcps", {"rescale": {"mcc": [-1, 1]}, "direction": {"f1": "max"}, "level": 0.9}),
        ("mlcps", {"metric_weight": {"f1": 2}, "metric": ["f1"]}),
        ("mlcps", {"metric_weight": "w.yaml", "weight": "n"}),
    ],
)
def test_a_batch_may_say_what_python_may(command: str, good: dict[str, Any]) -> None:
    schema = options_schema(FUNCTIONS[command].options(Output, Gates, HistoryOptions))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(good, schema)


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("mars", {"occlusion": "some"}),
        ("mars", {"best": 0}),
        ("mars", {"best": "two"}),
        ("mars", {"nosuch": 1}),
        ("mars", {"list": ["lost"]}),
        ("mars", {"level": 1.5}),
        ("mars", {"format": "yaml"}),
        ("mars", {"digits": 16}),
        ("phidelta", {"curve": "yes"}),
        ("tune_jpt", {"counts": {"a": "1,2"}}),
        ("tune_jpt", {"points": 10_001}),
        ("mlcps", {"direction": {"f1": "up"}}),
        ("mlcps", {"draws": 99}),
        ("mlcps", {"by": "site"}),
    ],
)
def test_a_schema_refuses_what_no_option_takes(command: str, wrong: dict[str, Any]) -> None:
    schema = options_schema(FUNCTIONS[command].options(Output, Gates, HistoryOptions))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)


def test_a_switch_that_is_none_is_as_if_not_given() -> None:
    """Notebooks pass None on: it asks for nothing."""
    table = pl.DataFrame({"truth": [1, 0, 1, 0], "a": [0.9, 0.2, 0.4, 0.6]})
    assert clfeval.phidelta(table, curve=None) == clfeval.phidelta(table)
    assert clfeval.phidelta(table, curve=None) != clfeval.phidelta(table, curve=True)
