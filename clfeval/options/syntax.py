"""How options and their values are written: in the shell, in Python and in YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from json import dumps
from typing import Any, Literal

from clfeval.errors import WORD, ClfevalError, UsageError, bad_option, unquote_word
from clfeval.options.declaration import Option, format_value
from clfeval.records import dataclass, replace

_FLAG = rf"'[^']*'|(?P<flag>--[a-z]+(?:-[a-z]+)*)(?:[ =](?P<value>{WORD}))?"
_BARE = r"(?!(?i:true|false|null|yes|no|on|off)$)[A-Za-z_][\w-]*"
_METAVAR = r"[A-Z]+"
_NUMBER = r"[-+.\deE]*\d[\d.eE%/+-]*|[A-Z]+"
# unknown flags that users may type, with the options they mean
MEANT = {
    "--labels": "--classes CLASS",
    "--odds": "--prevalence P:N",
    "--table": "--show NAME",
    "--cost": "--measure cost:fp=1,fn=5",
    "--benefit": "--measure cost:fp=1,fn=5,tp=5",
    "--beta": "--measure f_beta:beta=2",
    "--crossover": "--measure MEASURE",
    "--plot": "--show plots",
    "--no-plot": "a pipe: only a terminal shows plots by default",
    "--color": "the environment: NO_COLOR=1 or FORCE_COLOR=1",
    "--row-weight": "--weight COLUMN",
    "--prevalence-range": "--prevalence 0.001..0.02",
    "--config": "clfeval batch",
    "--history": "clfeval history",
    "--list-measures": "--explain measures",
    "--from-result": "clfeval report SAVED.json",
}


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
        first = re.match(_FLAG, problem.what)
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
    (r"(?:-f|--format) csv", "result.frame()"),
    (r"(?:-f|--format) json", "result.to_json()"),
    (r"--show (\w+)", r"result.show('\1')"),
    (r"--save ([\w.]+)", r"result.save('\1')"),
)


def reword_for_python(text: str, options: Sequence[Option]) -> str:
    """Return a text of a result with options of a shell reworded as keywords of Python."""
    if "-" not in text:
        return text
    for shell, python in _OUTPUT:
        text = re.sub(shell, python, text)
    known = {option.flag: option for option in options} if "--" in text else {}
    return _reword(f" {text}", known, PYTHON)[1:]


def _reword(text: str, known: Mapping[str, Option], dialect: Dialect) -> str:
    """Reword the options of a text, and write repeated ones `ignore='a' ignore='b'` as a list."""
    text = re.sub(_FLAG, lambda found: _reword_option(found, known, dialect), text)
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
        if not (
            re.fullmatch(plain, part) or re.fullmatch(bare, part)
        ):  # quoted for Python and YAML
            simple = part.isprintable() and not {"'", "\\"} & {*part}
            part = f"'{part}'" if simple else dumps(part)
        words.append(part)
    value = words[0]
    if option.holds == "several" and dialect.place is not None:
        return f"[{value}]"
    if len(words) > 1:
        value = f"{dialect.several[0]}{', '.join(words)}{dialect.several[1]}"
    return f"{{{key!r}: {value}}}" if equals else value


def parse_count_or_all(flag: str, texts: Sequence[str]) -> int | Literal["all"]:
    """Parse a whole number from 1 up, or `all`."""
    text = texts[-1]
    if text == "all":
        return "all"
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise bad_option(f"{flag} '{text}' is neither a positive whole number nor all")


def parse_number_or_word(_: str, texts: Sequence[str]) -> float | str:
    """Parse a number; words are returned unchanged, and checked later."""
    try:
        return float(texts[-1])
    except ValueError:
        return texts[-1]


def parse_one_column(flag: str, texts: Sequence[str]) -> str | None:
    """Return the value of an option that may be given only once."""
    if len(texts) > 1:
        what = f"{flag} is given {len(texts)} times, but takes one column"
        raise bad_option(what, "combine the columns into one, such as 'repeat 1 fold 2'")
    return texts[0] if texts else None


def parse_words(_: str, texts: Sequence[str]) -> list[str]:
    """Return words separated by commas, of one text or several."""
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def parse_share(flag: str, texts: Sequence[str]) -> float:
    """Parse a number or a percentage: 90% is 0.9."""
    text = texts[-1]
    try:
        return float(f"{text.removesuffix('%').rstrip()}e-2" if text.endswith("%") else text)
    except ValueError:
        raise bad_option(f"{flag} '{text}' is not a number", f"for example {flag} 0.9") from None


def parse_thresholds(flag: str, texts: Sequence[str]) -> dict[str | None, float]:
    """Parse `T` and `MODEL=T`: thresholds by model, None for all others."""
    found: dict[str | None, float] = {}
    for text in texts:
        model, equals, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if value != value:
            hint = None
            if number.endswith("%") and number[:-1].replace(".", "", 1).isdecimal():
                part = float(number[:-1]) / 100
                hint = f"write {flag} {model}{equals}{part:g} for {number}"
            raise bad_option(f"{flag} '{text}' is not a number or MODEL=NUMBER", hint)
        key = model if equals else None
        if found.setdefault(key, value) != value:
            which = f"model '{model}'" if equals else "all models"
            hint = f"give one threshold; for a single model write {flag} MODEL=NUMBER"
            raise bad_option(f"{flag} gives two thresholds for {which}", hint)
    return found


def parse_groups(flag: str, texts: Sequence[str]) -> dict[str, list[str]]:
    """Parse `NAME=A,B`; a member with a comma is quoted as in CSV."""
    import csv

    found: dict[str, list[str]] = {}
    for text in texts:
        name, equals, members = text.partition("=")
        names = next(csv.reader([members]), [])
        if not equals or not name or not names or not all(names) or name in found:
            what = f"{flag} '{text}' is not NAME=MODEL,MODEL with a unique name"
            hint = f"for example {flag} trees=forest,boosting"
            raise UsageError.new(what, "bad-group", hint=hint)
        found[name] = names
    return found


def parse_counts(flag: str, texts: Sequence[str]) -> dict[str, list[float]] | None:
    """Parse `[MODEL=]TP,FP,FN,TN`; the number of counts and their values are checked later."""
    found: dict[str, list[float]] = {}
    for text in texts:
        model, equals, numbers = text.rpartition("=")
        try:
            values = [_number(number) for number in numbers.split(",")]
        except ValueError:
            what = f"{flag} '{text}' is not [MODEL=]TP,FP,FN,TN"
            hint = f"for example {flag} rf=69,15,31,85"
            raise UsageError.new(what, "bad-counts", hint=hint) from None
        name = model if equals else "model"
        if name in found:
            hint = f"name each model: {flag} rf=69,15,31,85 {flag} ccp=67,5,33,95"
            raise UsageError.new(f"{flag} names '{name}' twice", "bad-counts", hint=hint)
        found[name] = values
    return found or None


def _number(text: str) -> float:
    """Parse a whole number as int, so that messages quote it unchanged, else a finite float."""
    if text.strip().removeprefix("-").isdecimal():
        return int(text)
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(text)
    return number


def parse_weights(flag: str, texts: Sequence[str]) -> dict[str, float] | str | None:
    """Parse `METRIC=W` for each metric, or the name of one YAML file with all weights."""
    if len(texts) == 1 and "=" not in texts[0] and texts[0].endswith((".yaml", ".yml", ".json")):
        return texts[0]
    example = f"for example {flag} recall=2, or {flag} weights.yaml with all weights"
    return _of_metrics(flag, texts, float, "METRIC=NUMBER", example) or None


def parse_margins(flag: str, texts: Sequence[str]) -> dict[str, float]:
    """Parse `MEASURE=DELTA`."""
    return _of_metrics(
        flag, texts, float, "MEASURE=DELTA", f"name the measure: {flag} MEASURE=0.02"
    )


def parse_directions(flag: str, texts: Sequence[str]) -> dict[str, str]:
    """Parse `METRIC=max` and `METRIC=min`."""
    example = f"for example {flag} val_loss=min (lower is better)"
    return _of_metrics(flag, texts, _direction, "METRIC=max or METRIC=min", example)


def parse_ranges(flag: str, texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Parse `METRIC=LOW:HIGH`."""
    example = f"for example {flag} mcc=-1:1, or {flag} accuracy=0:100 for percentages"
    return _of_metrics(flag, texts, _range, "METRIC=LOW:HIGH", example)


def _of_metrics(
    flag: str, texts: Sequence[str], value_of: Callable[[str], Any], form: str, example: str
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in texts:
        metric, _, number = text.rpartition("=")
        try:
            value = value_of(number)
        except ValueError:
            metric = ""
        if not metric:
            raise bad_option(f"{flag} '{text}' is not {form}", example)
        if metric in found:
            raise bad_option(f"{flag} names '{metric}' twice")
        found[metric] = value
    return found


def format_range(ends: Sequence[float]) -> str:
    """Write `LOW:HIGH`."""
    return ":".join(map(format_value, ends))


def _direction(text: str) -> str:
    if text not in ("max", "min"):
        raise ValueError(text)
    return text


def _range(text: str) -> tuple[float, float]:
    left, _, right = text.partition(":")
    return float(left), float(right)


SMALLEST = 240  # pixels of a side of a picture


def accept_size(flag: str, given: object) -> tuple[int, int] | None:
    """Return width and height from a text such as 480x360, or a pair; UsageError for others."""
    if given is None:
        return None
    text = "x".join(map(str, given)) if isinstance(given, (tuple, list)) else str(given)
    found = re.fullmatch(r"(\d{3,4})x(\d{3,4})", text.strip())
    if found is None or min(int(found[1]), int(found[2])) < SMALLEST:
        what = f"{flag} '{text}' is not WIDTHxHEIGHT in pixels, each {SMALLEST} to 9999"
        raise bad_option(what, "for example 480x360")
    return int(found[1]), int(found[2])
