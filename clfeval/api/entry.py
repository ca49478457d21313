"""The door for Python: a function of groups becomes one of keywords, each with its type.

Every message below the doors says `--level` and, in hints, `--id 'x'` or `add --curve`: what to
type. `retell` rewrites those words, and no others, for callers of Python (`level`, `id='x'`,
`add curve=True`) and for a batch (`suite.yaml:4:7: level`, `id: 'x'`). What stands in quotes is a
name or a value of the user's and is left alone. Notes inside a result are part of its document,
which is the same whoever asks for it, and keep the shell's words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from inspect import Parameter, Signature, cleandoc
from json import dumps
from types import NoneType
from typing import Any, get_args, get_origin

from clfeval.api.ask import OnOpen, Steps, answered, with_fixes
from clfeval.errors import ClfevalError
from clfeval.options import Command, Option
from clfeval.result import Result
from clfeval.shell import WORD, unquoted
from clfeval.tables.input import with_input

_FLAG = re.compile(rf"'[^']*'|(?P<flag>--[a-z]+(?:-[a-z]+)*)(?:[ =](?P<value>{WORD}))?")
_BARE = re.compile(r"(?!(?i:true|false|null|yes|no|on|off)$)[A-Za-z_][\w-]*")
_METAVAR = re.compile(r"[A-Z]+")
_NUMBER = re.compile(r"[-+.\deE]*\d[\d.eE%/+-]*|[A-Z]+")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a value is given to an option: what stands between, around several, and what says yes.

    place: where an option stands in a file, from its name; None where it does not.
    """

    gives: str
    several: str
    yes: str
    listed: str
    place: Callable[[str], str | None] | None = None

    def called(self, option: Option) -> str:
        """Return what an option is called."""
        return option.name if self.place is None else option.key


PYTHON = Dialect("=", "()", "=True", "error.problems holds them")


def yaml(place: Callable[[str], str | None]) -> Dialect:
    """Return the dialect of a batch, whose options stand at places of a file."""
    return Dialect(": ", "[]", ": true", "--verbose lists them", place)


def retell(error: ClfevalError, options: Sequence[Option], dialect: Dialect) -> None:
    """Put an error, which names options as a shell does, into the words of another door."""
    known = {option.flag: option for option in options}
    for part in error.parts:
        retell(part, options, dialect)

    def told(text: str) -> str:
        return _FLAG.sub(lambda found: _word(found, known, dialect), text)

    problems = []
    for problem in error.problems:
        first = _FLAG.match(problem.what)
        subject = known.get(first["flag"] or "") if first else None
        file = problem.file and told(problem.file)
        if subject is not None and dialect.place is not None:
            file = file or dialect.place(subject.name)
        problems.append(replace(problem, what=told(problem.what), file=file))
    error.problems = tuple(problems)
    if error.hint and not error.hint.startswith("clfeval "):  # what a shell is to run stays so
        error.hint = told(f" {error.hint}")[1:]  # no option opens a hint
    error.listed = dialect.listed
    error.args = ("\n".join(error.lines()),)


def _word(found: re.Match[str], known: Mapping[str, Option], dialect: Dialect) -> str:
    """Return one option in the words of a door: alone where it opens a message, else as given."""
    option, value = known.get(found["flag"] or ""), found["value"] or ""
    if option is None:
        return found[0]
    name = dialect.called(option)
    text, before = value.rstrip(",;:.)"), found.string[: found.start()]
    if option.kinds == (bool,):
        wanted = before.endswith(("add ", ": "))
        return found[0].replace(option.flag, name + (dialect.yes if wanted else ""), 1)
    ends = text != value or found.end() == len(found.string)
    # else it may be the next word of the sentence the option stands in
    given = text in option.choices or any(one in "'=:%" or not one.islower() for one in text)
    if not (before and text and (ends or given)):
        return found[0].replace(option.flag, name, 1)
    return f"{name}{dialect.gives}{_literal(text, option, dialect)}{value[len(text) :]}"


def _literal(text: str, option: Option, dialect: Dialect) -> str:
    """Write what a shell takes for this option as Python and YAML do."""
    key, equals, value = "", "", unquoted(text)
    if option.holds == "mapping":
        key, equals, value = value.rpartition("=")
    parts = [value] if option.holds in ("one", "several") else re.split(r"[:,]|\.\.", value)
    plain = _NUMBER if option.holds == "mapping" or option.numeric else _METAVAR
    bare = _BARE if dialect.place is not None else plain  # YAML needs no quotes around a word
    words = [p if plain.fullmatch(p) or bare.fullmatch(p) else _quoted(p) for p in parts]
    value = words[0]
    if option.holds == "several" and dialect.place is not None:
        return f"[{value}]"
    if len(words) > 1:
        value = f"{dialect.several[0]}{', '.join(words)}{dialect.several[1]}"
    return f"{{{key!r}: {value}}}" if equals else value


def _quoted(text: str) -> str:
    """Write text as Python and YAML both do."""
    plain = text.isprintable() and not {"'", "\\"} & {*text}
    return f"'{text}'" if plain else dumps(text)


def entry(command: Command) -> Callable[[Steps], Callable[..., Result]]:
    """Return what makes a function of a table and keywords of the steps that read and compute.

    Its documentation ends with a line for each keyword. `asked` is the same function of options by
    name, whose errors speak as a shell does.
    """
    command = with_input(command)
    options, shape = command.options(), signature_of(command)
    shown = {name: option.name for option in options for name in option.names}

    def made(steps: Steps) -> Callable[..., Result]:
        @wraps(steps)
        def called(*table: Any, on_open: OnOpen | None = None, **given: Any) -> Result:
            try:
                bound = shape.bind(
                    *table, on_open=on_open, **{shown.get(n, n): v for n, v in given.items()}
                )
            except TypeError as error:
                raise TypeError(f"{called.__name__}() {error}") from None
            try:
                seen = (lambda _: None) if on_open is None else on_open
                table_given = bound.arguments.pop("table", None)
                write = partial(_offered, called.__name__, options, given)
                return answered(command, steps, table_given, given, seen, write)
            except ClfevalError as error:
                retell(error, options, PYTHON)
                raise

        words = (
            f"    {one.name}: {one.opt.help}".replace("; repeat", "; or several") for one in options
        )
        called.__doc__ = "\n".join([cleandoc(steps.__doc__ or ""), "", "Keywords:", *words])
        called.__signature__ = shape  # type: ignore[attr-defined]
        called.command = command  # type: ignore[attr-defined]
        called.asked = partial(answered, command, steps)  # type: ignore[attr-defined]
        return called

    return made


def _offered(
    name: str, options: Sequence[Option], given: Mapping[str, Any], fixes: Mapping[str, Any]
) -> str:
    """Write a call with these options, which hold what was given for them too."""
    known = {option.name for option in options}
    whole = with_fixes(given, fixes)
    words = [f"{key}={whole[key]!r}" for key in fixes if key in known]
    return f"clfeval.{name}(..., {', '.join(words)})"


def signature_of(command: Command) -> Signature:
    """Return the signature of a command's public function."""
    default = None if command.optional else Parameter.empty
    table = Parameter("table", Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=Any)
    on_open = Parameter("on_open", Parameter.KEYWORD_ONLY, default=None, annotation=OnOpen | None)
    return Signature(
        [table, *map(_parameter, command.options()), on_open], return_annotation=Result
    )


def _parameter(option: Option) -> Parameter:
    takes = option.type if option.opt.takes is None else option.opt.takes
    arguments = get_args(takes)
    if get_origin(takes) is tuple:
        several: Any = Sequence[arguments[0]]  # type: ignore[valid-type]
        takes = arguments[0] | several if arguments[-1] is Ellipsis else several
    default = None if NoneType in get_args(takes) and not option.default else option.default
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=takes)
