"""How options and their values are written: in the shell, in Python and in YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from json import dumps
from typing import Any, Literal

from clfeval.errors import ClfevalError, Problem, UsageError, bad_option, unquote_word
from clfeval.options.declaration import Option, format_value
from clfeval.placeholders import ADD, COMMAND, END, OPTION, SWITCH, fill_for_shell
from clfeval.records import dataclass, replace

_BARE = r"(?!(?i:true|false|null|yes|no|on|off)$)[A-Za-z_][\w-]*"
_METAVAR = r"[A-Z]+"
_NUMBER = r"[-+.\deE]*\d[\d.eE%/+-]*|[A-Z]+"
# unknown flags that users may type, with the options they mean
MEANT = {
    "--labels": f"{OPTION}--classes CLASS{END}",
    "--odds": f"{OPTION}--prevalence P:N{END}",
    "--table": f"{OPTION}--show NAME{END}",
    "--cost": f"{OPTION}--measure cost:fp=1,fn=5{END}",
    "--benefit": f"{OPTION}--measure cost:fp=1,fn=5,tp=5{END}",
    "--beta": f"{OPTION}--measure f_beta:beta=2{END}",
    "--crossover": f"{OPTION}--measure MEASURE{END}",
    "--plot": f"{OPTION}--show plots{END}",
    "--no-plot": "a pipe: only a terminal shows plots by default",
    "--color": "the environment: NO_COLOR=1 or FORCE_COLOR=1",
    **dict.fromkeys(
        ("--fail-below", "--min", "--at-least", "--require"),
        f"{OPTION}--fail-under METRIC=LIMIT{END}",
    ),
    **dict.fromkeys(
        ("--fail-above", "--max", "--at-most"), f"{OPTION}--fail-over METRIC=LIMIT{END}"
    ),
    "--row-weight": f"{OPTION}--weight COLUMN{END}",
    "--prevalence-range": f"{OPTION}--prevalence 0.001..0.02{END}",
    "--config": f"{COMMAND}clfeval batch{END}",
    "--history": f"{COMMAND}clfeval history{END}",
    "--list-measures": f"{OPTION}--explain measures{END}",
    "--from-result": f"{COMMAND}clfeval report SAVED.json{END}",
}
# the same of an option that only other commands have, with another meaning there
MEANT_ELSEWHERE = {
    "--direction": f"{OPTION}--model NAME:reversed{END} if low scores mean the positive class"
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Syntax of option values; place: returns the place of an option in a file, by its name.

    arrays: the names of options that are given as arrays by name.
    """

    gives: str
    several: str
    yes: str
    verbose_hint: str
    place: Callable[[str], str | None] | None = None
    arrays: frozenset[str] = frozenset()


PYTHON = Dialect("=", "()", "=True", "error.problems lists all")


def yaml_dialect(place: Callable[[str], str | None]) -> Dialect:
    """Return the syntax of a batch; place: returns the place of an option in its file."""
    return Dialect(": ", "[]", ": true", f"add {OPTION}--verbose{END} to list all", place)


# an option alone or with its value; then the same option with further values
_PLACEHOLDER = re.compile(
    f"{OPTION}(?P<flag>--[\\w-]+)(?:[ =](?P<value>[^{END}]*))?{END}(?P<further>(?: "
    f"{OPTION}(?P=flag)[ =][^{END}]*{END})*)|{SWITCH}(?P<switch>--[\\w-]+){END}"
)
_FURTHER_VALUE = re.compile(f"{OPTION}--[\\w-]+[ =]([^{END}]*){END}")


def fill_text(text: str, options: Sequence[Option], dialect: Dialect) -> str:
    """Return a text with its placeholders filled; options that are not known stay those of a shell.

    The same option with several values, `--ignore a --ignore b`, is written once, with a list.
    """
    if text.isascii():
        return text
    options_by_flag = {option.flag: option for option in options}
    if dialect.place is None:
        text = text.replace(ADD, "call")
    fill_placeholder = partial(_fill_placeholder, options_by_flag=options_by_flag, dialect=dialect)
    return fill_for_shell(_PLACEHOLDER.sub(fill_placeholder, text))


def fill_error(error: ClfevalError, options: Sequence[Option], dialect: Dialect) -> None:
    """Fill the texts of an error, and name the place in a batch of the option it is about."""
    for part in error.parts:
        fill_error(part, options, dialect)  # each problem by the place of its option
    if dialect.place is not None:
        options_by_flag = {option.flag: option for option in options}
        error.problems = tuple(
            _with_place(problem, options_by_flag, dialect.place) for problem in error.problems
        )
    error.verbose_hint = dialect.verbose_hint
    error.fill_texts(lambda text: fill_text(text, options, dialect))


def _with_place(
    problem: Problem, options_by_flag: Mapping[str, Option], place: Callable[[str], str | None]
) -> Problem:
    """Return a problem with the place of the option that it begins with, if it has none."""
    placeholder = _PLACEHOLDER.match(problem.message)
    if placeholder is None or problem.file:
        return problem
    option = options_by_flag.get(placeholder["flag"] or placeholder["switch"])
    return problem if option is None else replace(problem, file=place(option.name))


def _fill_placeholder(
    placeholder: re.Match[str], options_by_flag: Mapping[str, Option], dialect: Dialect
) -> str:
    """Return one option in a dialect: its name alone, or with its values."""
    flag = placeholder["flag"] or placeholder["switch"]
    value_text = placeholder["value"]
    option = options_by_flag.get(flag)
    if option is None:
        is_python = dialect.place is None
        result_method = _method_of_result(flag, value_text) if is_python and value_text else None
        return result_method or placeholder[0]
    option_name = option.name if dialect.place is None else option.key
    if placeholder["switch"]:
        return f"{option_name}{dialect.yes}"
    if value_text is None:
        return option_name
    value_texts = [value_text, *_FURTHER_VALUE.findall(placeholder["further"])]
    literals = [_format_literal(text, option, dialect) for text in value_texts]
    return f"{option_name}{dialect.gives}{_join_literals(literals, option, dialect)}"


def _method_of_result(flag: str, value_text: str) -> str | None:
    """Return the method of a result that does what an option on output does in a shell."""
    if flag == "--format":
        output_format, *show_words = value_text.split()  # such as: csv --show models
        table_literal = repr(show_words[-1]) if show_words else ""
        method_by_format = {"csv": f"result.frame({table_literal})", "json": "result.to_json()"}
        return method_by_format.get(output_format)
    method_by_flag = {"--show": "show", "--save": "save"}
    return f"result.{method_by_flag[flag]}({value_text!r})" if flag in method_by_flag else None


def _join_literals(literals: Sequence[str], option: Option, dialect: Dialect) -> str:
    """Return the values of an option as one literal."""
    if option.name in dialect.arrays:
        return f"{{{', '.join(f'{literal}: values' for literal in literals)}}}"
    if len(literals) == 1:
        return literals[0]
    if all(literal.startswith("{") for literal in literals):
        return f"{{{', '.join(literal[1:-1] for literal in literals)}}}"
    if option.holds == "several" and dialect.place is not None:
        literals = [literal[1:-1] for literal in literals]
    return f"[{', '.join(literals)}]"


def _format_literal(text: str, option: Option, dialect: Dialect) -> str:
    """Write a value of the shell as a literal of Python or YAML."""
    text = unquote_word(text)
    if option.holds != "mapping":
        return _format_value_literal(text, option, dialect)
    mapping_key, equals, value_text = text.rpartition("=")
    value_literal = _format_value_literal(value_text, option, dialect)
    return f"{{{mapping_key!r}: {value_literal}}}" if equals else value_literal


def _format_value_literal(text: str, option: Option, dialect: Dialect) -> str:
    """Write a value, without the key of a mapping, as a literal of Python or YAML."""
    value_parts = [text] if option.holds in ("one", "several") else re.split(r"[:,]|\.\.", text)
    plain_pattern = _NUMBER if option.holds == "mapping" or option.numeric else _METAVAR
    # YAML needs no quotes around a word
    bare_pattern = _BARE if dialect.place is not None else plain_pattern
    literals = [
        value_part
        if re.fullmatch(plain_pattern, value_part) or re.fullmatch(bare_pattern, value_part)
        else _quote_literal(value_part)
        for value_part in value_parts
    ]
    if option.holds == "several" and dialect.place is not None:
        return f"[{literals[0]}]"
    if len(literals) == 1:
        return literals[0]
    return f"{dialect.several[0]}{', '.join(literals)}{dialect.several[1]}"


def _quote_literal(text: str) -> str:
    """Quote a text for Python and YAML."""
    is_simple = text.isprintable() and not {"'", "\\"} & {*text}
    return f"'{text}'" if is_simple else dumps(text)


def parse_count_or_all(flag: str, texts: Sequence[str]) -> int | Literal["all"]:
    """Parse a whole number from 1 up, or `all`."""
    text = texts[-1]
    if text == "all":
        return "all"
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise bad_option(f"{OPTION}{flag}{END} '{text}' is neither a positive whole number nor all")


def parse_number_or_word(_: str, texts: Sequence[str]) -> float | str:
    """Parse a number; words are returned unchanged, and checked later."""
    try:
        return float(texts[-1])
    except ValueError:
        return texts[-1]


def parse_one_column(flag: str, texts: Sequence[str]) -> str | None:
    """Return the value of an option that may be given only once."""
    if len(texts) > 1:
        message = f"{OPTION}{flag}{END} is given {len(texts)} times, but takes one column"
        raise bad_option(message, "combine the columns into one, such as 'repeat 1 fold 2'")
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
        raise bad_option(
            f"{OPTION}{flag}{END} '{text}' is not a number", f"for example {OPTION}{flag} 0.9{END}"
        ) from None


def parse_thresholds(flag: str, texts: Sequence[str]) -> dict[str | None, float]:
    """Parse `T` and `MODEL=T`: thresholds by model, None for all others."""
    thresholds: dict[str | None, float] = {}
    for text in texts:
        model, equals, number_text = text.rpartition("=")
        try:
            threshold = float(number_text)
        except ValueError:
            threshold = float("nan")
        if threshold != threshold:  # NaN
            hint = None
            if number_text.endswith("%") and number_text[:-1].replace(".", "", 1).isdecimal():
                fraction = float(number_text[:-1]) / 100
                hint = f"write {OPTION}{flag} {model}{equals}{fraction:g}{END} for {number_text}"
            raise bad_option(f"{OPTION}{flag}{END} '{text}' is not a number or MODEL=NUMBER", hint)
        model_key = model if equals else None
        if thresholds.setdefault(model_key, threshold) != threshold:
            subject = f"model '{model}'" if equals else "all models"
            hint = f"give one threshold; for a single model write {OPTION}{flag} MODEL=NUMBER{END}"
            raise bad_option(f"{OPTION}{flag}{END} gives two thresholds for {subject}", hint)
    return thresholds


def parse_groups(flag: str, texts: Sequence[str]) -> dict[str, list[str]]:
    """Parse `NAME=A,B`; a member with a comma is quoted as in CSV."""
    import csv

    groups: dict[str, list[str]] = {}
    for text in texts:
        group_name, equals, members_text = text.partition("=")
        member_names = next(csv.reader([members_text]), [])
        if (
            not equals
            or not group_name
            or not member_names
            or not all(member_names)
            or group_name in groups
        ):
            message = f"{OPTION}{flag}{END} '{text}' is not NAME=MODEL,MODEL with a unique name"
            hint = f"for example {OPTION}{flag} trees=forest,boosting{END}"
            raise UsageError.new(message, "bad-group", hint=hint)
        groups[group_name] = member_names
    return groups


def parse_counts(flag: str, texts: Sequence[str]) -> dict[str, list[float]] | None:
    """Parse `[MODEL=]TP,FP,FN,TN`; the number of counts and their values are checked later."""
    counts: dict[str, list[float]] = {}
    for text in texts:
        model, equals, numbers_text = text.rpartition("=")
        try:
            model_counts = [_number(number_text) for number_text in numbers_text.split(",")]
        except ValueError:
            message = f"{OPTION}{flag}{END} '{text}' is not [MODEL=]TP,FP,FN,TN"
            hint = f"for example {OPTION}{flag} rf=69,15,31,85{END}"
            raise UsageError.new(message, "bad-counts", hint=hint) from None
        model_name = model if equals else "model"
        if model_name in counts:
            hint = (
                f"name each model: {OPTION}{flag} rf=69,15,31,85{END} "
                f"{OPTION}{flag} ccp=67,5,33,95{END}"
            )
            raise UsageError.new(
                f"{OPTION}{flag}{END} names '{model_name}' twice", "bad-counts", hint=hint
            )
        counts[model_name] = model_counts
    return counts or None


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
    example = (
        f"for example {OPTION}{flag} recall=2{END}, or {OPTION}{flag} weights.yaml{END} with all "
        "weights"
    )
    return _of_metrics(flag, texts, float, "METRIC=NUMBER", example) or None


def parse_margins(flag: str, texts: Sequence[str]) -> dict[str, float]:
    """Parse `MEASURE=DELTA`."""
    return _of_metrics(
        flag, texts, float, "MEASURE=DELTA", f"name the measure: {OPTION}{flag} MEASURE=0.02{END}"
    )


def parse_directions(flag: str, texts: Sequence[str]) -> dict[str, str]:
    """Parse `METRIC=max` and `METRIC=min`."""
    example = f"for example {OPTION}{flag} val_loss=min{END} (lower is better)"
    return _of_metrics(flag, texts, _direction, "METRIC=max or METRIC=min", example)


def parse_ranges(flag: str, texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Parse `METRIC=LOW:HIGH`."""
    example = (
        f"for example {OPTION}{flag} mcc=-1:1{END}, or {OPTION}{flag} accuracy=0:100{END} for "
        "percentages"
    )
    return _of_metrics(flag, texts, _range, "METRIC=LOW:HIGH", example)


def _of_metrics(
    flag: str, texts: Sequence[str], parse_value: Callable[[str], Any], form_text: str, hint: str
) -> dict[str, Any]:
    """Parse `METRIC=VALUE` into values by metric; form_text: the form as messages name it."""
    values_by_metric: dict[str, Any] = {}
    for text in texts:
        metric, _, value_text = text.rpartition("=")
        try:
            value = parse_value(value_text)
        except ValueError:
            metric = ""  # refused as a text without a metric
        if not metric:
            raise bad_option(f"{OPTION}{flag}{END} '{text}' is not {form_text}", hint)
        if metric in values_by_metric:
            raise bad_option(f"{OPTION}{flag}{END} names '{metric}' twice")
        values_by_metric[metric] = value
    return values_by_metric


def format_range(bounds: Sequence[float]) -> str:
    """Write `LOW:HIGH`."""
    return ":".join(map(format_value, bounds))


def _direction(text: str) -> str:
    if text not in ("max", "min"):
        raise ValueError(text)
    return text


def _range(text: str) -> tuple[float, float]:
    low_text, _, high_text = text.partition(":")
    return float(low_text), float(high_text)


SMALLEST = 240  # pixels of a side of a picture


def accept_size(flag: str, value: object) -> tuple[int, int] | None:
    """Return width and height from a text such as 480x360, or a pair; UsageError for others."""
    if value is None:
        return None
    size_text = "x".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
    match = re.fullmatch(r"(\d{3,4})x(\d{3,4})", size_text.strip())
    if match is None or min(int(match[1]), int(match[2])) < SMALLEST:
        message = f"{OPTION}{flag}{END} '{size_text}' is not WIDTHxHEIGHT in pixels, "
        message += f"each {SMALLEST} to 9999"
        raise bad_option(message, "for example 480x360")
    return int(match[1]), int(match[2])
