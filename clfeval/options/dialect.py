"""Syntax of options in messages: `--level` in a shell, `level=0.9` in Python, `level: 0.9` in YAML.

Messages name options as in a shell (`--level`, `--id 'x'`, `add --curve`). `reword_error` rewrites
them for Python (`level`, `id='x'`, `add curve=True`) and for a batch (`suite.yaml:4:7: level`,
`id: 'x'`); `reword_for_python` those of warnings, sentences and tables. Quoted text is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from json import dumps

from clfeval.errors import WORD, ClfevalError, unquote_word
from clfeval.options.declaration import Option

_FLAG = re.compile(rf"'[^']*'|(?P<flag>--[a-z]+(?:-[a-z]+)*)(?:[ =](?P<value>{WORD}))?")
_BARE = re.compile(r"(?!(?i:true|false|null|yes|no|on|off)$)[A-Za-z_][\w-]*")
_METAVAR = re.compile(r"[A-Z]+")
_NUMBER = re.compile(r"[-+.\deE]*\d[\d.eE%/+-]*|[A-Z]+")


# unknown flags that users may type, with the options they mean
MEANT = {
    "--labels": "--classes CLASS", "--odds": "--prevalence P:N", "--table": "--show NAME",
    "--cost": "--measure cost:fp=1,fn=5", "--benefit": "--measure cost:fp=1,fn=5,tp=5",
    "--beta": "--measure f_beta:beta=2", "--crossover": "--measure MEASURE",
    "--plot": "--show plots", "--no-plot": "a pipe: only a terminal shows plots by default",
    "--color": "the environment: NO_COLOR=1 or FORCE_COLOR=1", "--row-weight": "--weight COLUMN",
    "--prevalence-range": "--prevalence 0.001..0.02", "--config": "clfeval batch",
    "--history": "clfeval history", "--list-measures": "--explain measures",
    "--from-result": "clfeval report SAVED.json",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dialect:
    """Syntax of option values; place: returns the place of an option in a file, by its name."""

    gives: str
    several: str
    yes: str
    listed: str
    place: Callable[[str], str | None] | None = None


PYTHON = Dialect("=", "()", "=True", "error.problems lists all")


def yaml_dialect(place: Callable[[str], str | None]) -> Dialect:
    """Return the syntax of a batch; place: returns the place of an option in its file."""
    return Dialect(": ", "[]", ": true", "add --verbose to list all", place)


def reword_error(error: ClfevalError, options: Sequence[Option], dialect: Dialect) -> None:
    """Reword an error, which names options as in a shell, in the syntax of Python or YAML."""
    known = {option.flag: option for option in options}
    for part in error.parts:
        reword_error(part, options, dialect)

    problems = []
    for problem in error.problems:
        first = _FLAG.match(problem.what)
        subject = known.get(first["flag"] or "") if first else None
        file = problem.file and _reword(problem.file, known, dialect)
        if subject is not None and dialect.place is not None:
            file = file or dialect.place(subject.name)
        what = _reword(problem.what, known, dialect)
        problems.append(replace(problem, what=what, file=file))
    error.problems = tuple(problems)
    if error.hint and not error.hint.startswith("clfeval "):  # a command line is not reworded
        # an option at the start of a hint keeps its value
        error.hint = _reword(f" {error.hint}", known, dialect)[1:]
    error.listed = dialect.listed
    error.args = ("\n".join(error.lines()),)


# output options of a shell, and the methods of a result in Python
_OUTPUT = (
    (r"\badd (?=(?:-f|--format|--show|--save) [\w.])", "call "),
    (r"(?:-f|--format) csv --show (\w+)", r"result.frame('\1')"),
    (r"(?:-f|--format) csv", "result.frame()"), (r"(?:-f|--format) json", "result.to_json()"),
    (r"--show (\w+)", r"result.show('\1')"), (r"--save ([\w.]+)", r"result.save('\1')"),
)  # fmt: skip


def reword_for_python(text: str, options: Sequence[Option]) -> str:
    """Return a text of a result with options of a shell reworded as keywords of Python."""
    if "-" not in text:
        return text
    for shell, python in _OUTPUT:
        text = re.sub(shell, python, text)
    known = {option.flag: option for option in options}
    return _reword(f" {text}", known, PYTHON)[1:]


def _reword(text: str, known: Mapping[str, Option], dialect: Dialect) -> str:
    """Reword the options of a text, and write repeated ones `ignore='a' ignore='b'` as a list."""
    text = _FLAG.sub(lambda found: _reword_option(found, known, dialect), text)
    between = re.escape(dialect.gives)

    def listed(found: re.Match[str]) -> str:
        values = re.findall(rf"{found[1]}{between}\[?('[^']*'|[\w.-]+)\]?", found[0])
        return f"{found[1]}{dialect.gives}[{', '.join(values)}]"

    value = r"\[?(?:'[^']*'|[\w.-]+)\]?"
    return re.sub(rf"\b(\w+){between}{value}(?: \1{between}{value})+", listed, text)


def _reword_option(found: re.Match[str], known: Mapping[str, Option], dialect: Dialect) -> str:
    """Return one option reworded: its name alone at the start of a message, else with its value."""
    option, value = known.get(found["flag"] or ""), found["value"] or ""
    if option is None:
        return found[0]
    name = option.name if dialect.place is None else option.key
    text, before = value.rstrip(",;:.)"), found.string[: found.start()]
    if option.kinds == (bool,):
        wanted = before.endswith(("add ", ": "))
        return found[0].replace(option.flag, name + (dialect.yes if wanted else ""), 1)
    ends = text != value or found.end() == len(found.string)
    # else the value may be the next word of the sentence
    given = text in option.choices or any(one in "'=:%" or not one.islower() for one in text)
    if not (before and text and (ends or given)):
        return found[0].replace(option.flag, name, 1)
    return f"{name}{dialect.gives}{_format_literal(text, option, dialect)}{value[len(text) :]}"


def _format_literal(text: str, option: Option, dialect: Dialect) -> str:
    """Write a value of the shell as a literal of Python or YAML."""
    key, equals, value = "", "", unquote_word(text)
    if option.holds == "mapping":
        key, equals, value = value.rpartition("=")
    parts = [value] if option.holds in ("one", "several") else re.split(r"[:,]|\.\.", value)
    plain = _NUMBER if option.holds == "mapping" or option.numeric else _METAVAR
    bare = _BARE if dialect.place is not None else plain  # YAML needs no quotes around a word
    words = []
    for part in parts:
        if not (plain.fullmatch(part) or bare.fullmatch(part)):  # quoted for Python and YAML
            simple = part.isprintable() and not {"'", "\\"} & {*part}
            part = f"'{part}'" if simple else dumps(part)
        words.append(part)
    value = words[0]
    if option.holds == "several" and dialect.place is not None:
        return f"[{value}]"
    if len(words) > 1:
        value = f"{dialect.several[0]}{', '.join(words)}{dialect.several[1]}"
    return f"{{{key!r}: {value}}}" if equals else value
