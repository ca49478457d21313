"""Parsers of option values: 5%, 1:10, MODEL=0.3, NAME=A,B, METRIC=LOW:HIGH."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from clfeval.errors import UsageError, bad_option
from clfeval.options.declaration import format_value


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
