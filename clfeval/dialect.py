"""How messages name options: as a shell does, until the door they leave by retells them.

Every message below the doors says `--level` and, in hints, `--id 'x'` or `add --curve`: what to
type. `retell` rewrites those words, and no others, for callers of Python (`level`, `id='x'`,
`add curve=True`) and for a batch (`suite.yaml:4:7: level`, `id: 'x'`). What stands in quotes is a
name or a value of the user's and is left alone. Notes inside a result are part of its document,
which is the same whoever asks for it, and keep the shell's words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from clfeval.errors import ClfevalError
from clfeval.options import Option

_FLAG = re.compile(r"'[^']*'|(?P<flag>--[a-z]+(?:-[a-z]+)*)(?: (?P<value>(?:'[^']*'|[^\s'])+))?")
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


PYTHON = Dialect("=", "()", "=True", "error.problems holds them")


def yaml(place: Callable[[str], str | None]) -> Dialect:
    """Return the dialect of a batch, whose options stand at places of a file."""
    return Dialect(": ", "[]", ": true", "--verbose lists them", place)


def retell(error: ClfevalError, options: Iterable[Option], dialect: Dialect) -> None:
    """Put an error, which names options as a shell does, into the words of another door."""
    known = {option.flag: option for option in options}

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
    error.hint = error.hint and told(f" {error.hint}")[1:]  # no option opens a hint
    error.listed = dialect.listed
    error.args = ("\n".join(error.lines()),)


def _word(found: re.Match[str], known: Mapping[str, Option], dialect: Dialect) -> str:
    """Return one option in the words of a door: alone where it opens a message, else as given."""
    option, value = known.get(found["flag"] or ""), found["value"] or ""
    if option is None:
        return found[0]
    text, before = value.rstrip(",;:.)"), found.string[: found.start()]
    if option.kinds == (bool,):
        wanted = before.endswith(("add ", ": "))
        return found[0].replace(option.flag, option.name + (dialect.yes if wanted else ""), 1)
    ends = text != value or found.end() == len(found.string)
    if not (before and text and (ends or _is_value(text, option))):
        return found[0].replace(option.flag, option.name, 1)
    return f"{option.name}{dialect.gives}{_literal(text, option, dialect)}{value[len(text) :]}"


def _is_value(text: str, option: Option) -> bool:
    """Tell the value of an option from the next word of the sentence it stands in."""
    return text in option.choices or any(one in "'=:%" or not one.islower() for one in text)


def _literal(text: str, option: Option, dialect: Dialect) -> str:
    """Write what a shell takes for this option as Python and YAML do."""
    key, equals, value = "", "", text.replace("'", "")
    if option.holds == "mapping":
        key, equals, value = value.rpartition("=")
    parts = [value] if option.holds in ("one", "several") else re.split(r"[:,]|\.\.", value)
    plain = _NUMBER if option.holds == "mapping" or option.numeric else _METAVAR
    words = [part if plain.fullmatch(part) else f"'{part}'" for part in parts]
    value = words[0]
    if len(words) > 1:
        value = f"{dialect.several[0]}{', '.join(words)}{dialect.several[1]}"
    return f"{{{key!r}: {value}}}" if equals else value
