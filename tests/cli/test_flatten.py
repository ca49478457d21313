"""Groups of options become flat parameters, and groups again when the command is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from clfeval.cli import groups, options
from clfeval.cli.flatten import flattened

Names = Annotated[list[str], typer.Argument()]
Shout = Annotated[str, typer.Option("--shout", help="How loud.")]


@dataclass(frozen=True)
class Paint:
    color: Annotated[str, typer.Option("--color")] = "red"
    shades: Annotated[list[str], typer.Option("--shade")] = field(default_factory=list)


@dataclass(frozen=True)
class Voice:
    shout: Shout = "low"
    times: Annotated[int, typer.Option("--times", min=1)] = 1


def names_of(command: Callable[..., None]) -> list[str]:
    return list(inspect.signature(flattened(command)).parameters)


def invoked(command: Callable[..., None], *words: str) -> str:
    """Run a command as a typer program of its own; it must succeed."""
    app = typer.Typer()
    app.command()(flattened(command))
    done = CliRunner().invoke(app, words, env={"COLUMNS": "100", "TERMINAL_WIDTH": "100"})
    assert done.exit_code == 0, done.output
    return done.output


def test_fields_become_parameters_where_their_group_stands() -> None:
    def command(names: Names, paint: Paint, *, deep: bool = False, voice: Voice) -> None:
        """Do it."""

    assert names_of(command) == ["names", "color", "shades", "deep", "shout", "times"]
    flat = flattened(command)
    assert list(flat.__annotations__) == names_of(command)
    assert flat.__doc__ == "Do it."
    shown = inspect.signature(flat).parameters
    assert shown["names"].default is inspect.Parameter.empty
    assert [shown[name].default for name in ("color", "shades", "shout")] == ["red", [], "low"]


def test_a_command_line_fills_the_groups() -> None:
    seen = []

    def command(names: Names, paint: Paint, voice: Voice) -> None:
        seen.append((names, paint, voice))

    invoked(command, "a", "b")
    invoked(command, "--shade", "dark", "a", "--times", "3", "--shade", "light")
    assert seen == [
        (["a", "b"], Paint(), Voice()),
        (["a"], Paint("red", ["dark", "light"]), Voice("low", 3)),
    ]
    with pytest.raises(FrozenInstanceError):
        seen[0][1].color = "blue"  # type: ignore[misc]


def test_help_lists_options_in_the_order_of_the_fields() -> None:
    def command(paint: Paint, voice: Voice) -> None: ...

    shown = invoked(command, "--help")
    places = [shown.index(name) for name in ("--color", "--shade", "--shout", "--times")]
    assert places == sorted(places)


def test_no_call_sees_what_another_did_to_a_default() -> None:
    seen = []

    def command(paint: Paint, *, extra: Annotated[list[str], typer.Option()] = []) -> None:  # noqa: B006
        seen.append((list(paint.shades), list(extra)))
        paint.shades.append("left")
        extra.append("left")

    flat = flattened(command)
    flat()
    flat()
    flattened(command)()
    app = typer.Typer()
    app.command()(flat)
    for _ in range(2):
        CliRunner().invoke(app, [])
    assert seen == [([], [])] * 5


def test_a_plain_parameter_stands_in_the_place_of_a_field() -> None:
    seen = []

    def command(
        voice: Voice,
        paint: Paint,
        *,
        shout: Annotated[str, typer.Option("--shout", help="Louder here.")] = "high",
    ) -> None:
        seen.append((shout, voice.shout))

    assert names_of(command) == ["shout", "times", "color", "shades"]
    shown = invoked(command, "--help")
    assert "Louder here. [default: high]" in shown
    assert "How loud." not in shown
    invoked(command)
    invoked(command, "--shout", "no")
    flattened(command)()
    assert seen == [("high", "high"), ("no", "no"), ("high", "high")]


def test_a_group_made_from_another_keeps_its_order() -> None:
    @dataclass(frozen=True)
    class Low(Paint):
        color: Annotated[str, typer.Option("--color", help="Only blue.")] = "blue"
        frame: Annotated[bool, typer.Option("--frame")] = False

    flat = flattened(_with_annotation(Low))
    assert list(inspect.signature(flat).parameters) == ["color", "shades", "frame"]
    assert inspect.signature(flat).parameters["color"].default == "blue"


def _with_annotation(group: type) -> Callable[..., None]:
    def command(paint: Paint) -> None: ...

    command.__annotations__["paint"] = group
    return command


def test_something_required_after_something_optional_is_refused_when_flattened() -> None:
    def late(paint: Paint, needed: Annotated[str, typer.Option()]) -> None: ...

    with pytest.raises(ValueError, match="non-default argument"):
        flattened(late)

    @dataclass(frozen=True)
    class Needs:
        needed: Annotated[str, typer.Option("--needed")]
        more: Annotated[int, typer.Option("--more")] = 1

    def middle(names: Names, paint: Paint, needs: Needs) -> None: ...

    middle.__annotations__["needs"] = Needs
    with pytest.raises(ValueError, match="non-default argument"):
        flattened(middle)
    early = _with_annotation(Needs)
    with pytest.raises(TypeError, match="needed"):
        flattened(early)()


def test_one_name_in_two_groups_is_refused_when_flattened() -> None:
    @dataclass(frozen=True)
    class Other:
        color: Annotated[str, typer.Option("--color")] = "red"

    def command(paint: Paint, other: Other) -> None: ...

    command.__annotations__["other"] = Other
    with pytest.raises(ValueError, match="duplicate parameter name: 'color'"):
        flattened(command)


def test_a_group_cannot_be_given_whole() -> None:
    def command(paint: Paint) -> None: ...

    with pytest.raises(TypeError, match="unexpected"):
        flattened(command)(paint=Paint())


def test_every_shared_option_is_in_one_group() -> None:
    """So that one added to the options alone is not forgotten."""
    shared = {
        name
        for group in (groups.TableOptions, groups.OutputOptions, groups.GateOptions)
        for name in inspect.signature(group).parameters
    }
    declared = [
        info.default
        for alias in vars(options).values()
        for info in getattr(alias, "__metadata__", ())
        if isinstance(info, typer.models.OptionInfo)
    ]
    assert len(declared) == len(shared)


def test_the_table_options_are_arguments_of_the_public_function() -> None:
    import clfeval

    taken = inspect.signature(clfeval.mars).parameters
    assert set(inspect.signature(groups.TableOptions).parameters) <= set(taken)
