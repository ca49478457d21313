"""Small languages of option values: counts, thresholds by model, groups of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from clfeval.errors import Problem, UsageError

Cut = Literal["median", "mean", "best", "soft"] | float


def count_of(option: str, text: str | None) -> int | Literal["all"] | None:
    """Parse a whole number from 1 up, or `all`."""
    if text is None or text == "all":
        return text  # type: ignore[return-value]
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise UsageError(
        Problem(f"--{option} '{text}' is neither a whole number from 1 up nor all", "bad-option")
    )


def cut_of(text: str | None) -> Cut | None:
    """Parse `median`, `mean`, `best`, `soft` or a number; other words are refused later."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text  # type: ignore[return-value]


def isometrics_of(texts: Sequence[str]) -> dict[str, list[float]]:
    """Parse `MEASURE=V,V`."""
    lines: dict[str, list[float]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        try:
            numbers = [float(value) for value in values.split(",")]
        except ValueError:
            equals, numbers = "", []
        if not equals:
            raise UsageError(
                Problem(f"--isometrics '{text}' is not MEASURE=VALUE,VALUE", "bad-option"),
                hint="for example --isometrics precision=0.5,0.8",
            )
        lines.setdefault(name, []).extend(numbers)
    return lines


def only_one(option: str, values: Sequence[str]) -> str | None:
    """Return the value of an option that may be given once."""
    if len(values) > 1:
        raise UsageError(
            Problem(f"{option} is given {len(values)} times, and takes one column", "bad-option"),
            hint="join the columns into one first, such as repeat 1 fold 2",
        )
    return values[0] if values else None


def thresholds_of(texts: Sequence[str]) -> dict[str | None, float]:
    """Parse `T` and `MODEL=T`."""
    thresholds: dict[str | None, float] = {}
    for text in texts:
        model, equals, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if value != value:
            raise UsageError(
                Problem(f"--threshold '{text}' is not a number or MODEL=NUMBER", "bad-option")
            )
        thresholds[model if equals else None] = value
    return thresholds


def groups_of(texts: Sequence[str]) -> dict[str, list[str]]:
    """Parse `NAME=A,B`; a member with a comma is quoted as in CSV."""
    import csv

    groups: dict[str, list[str]] = {}
    for text in texts:
        name, equals, members = text.partition("=")
        names = next(csv.reader([members]), [])
        if not equals or not name or not names or not all(names) or name in groups:
            raise UsageError(
                Problem(f"--group '{text}' is not NAME=MODEL,MODEL with a new name", "bad-group"),
                hint="for example --group trees=forest,boosting",
            )
        groups[name] = names
    return groups


def counts_of(texts: Sequence[str]) -> dict[str, list[float]] | None:
    """Parse `[MODEL=]TP,FP,FN,TN`; how many numbers and which is judged later."""
    counts: dict[str, list[float]] = {}
    for text in texts:
        model, equals, numbers = text.rpartition("=")
        try:
            values = [_number(number) for number in numbers.split(",")]
        except ValueError:
            raise UsageError(
                Problem(f"--counts '{text}' is not [MODEL=]TP,FP,FN,TN", "bad-counts"),
                hint="for example --counts rf=69,15,31,85",
            ) from None
        name = model if equals else "model"
        if name in counts:
            raise UsageError(
                Problem(f"--counts names '{name}' twice", "bad-counts"),
                hint="name each model: --counts rf=69,15,31,85 --counts ccp=67,5,33,95",
            )
        counts[name] = values
    return counts or None


def shares_of(option: str, texts: Sequence[str]) -> list[float]:
    """Parse shares written as 0.005, 0.5% or 1/200."""
    shares = []
    for text in texts:
        number, percent = text.removesuffix("%"), text.endswith("%")
        part, slash, whole = number.partition("/")
        try:
            share = float(part) / (float(whole) if slash else 1.0)
        except (ValueError, ZeroDivisionError):
            raise UsageError(
                Problem(f"{option} '{text}' is not a share of positives", "bad-option"),
                hint=f"for 1 positive in 200: {option} 0.005, 0.5% or 1/200",
            ) from None
        shares.append(share / 100 if percent else share)
    return shares


def _number(text: str) -> float:
    """Return a whole number as it is written, for it is said back; others as floats."""
    if text.strip().removeprefix("-").isdecimal():
        return int(text)
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(text)
    return number


def weights_of(texts: Sequence[str]) -> dict[str, float] | str | None:
    """Parse `METRIC=W` for each metric, or the name of one YAML file that holds them all."""
    weights: dict[str, float] = {}
    for text in texts:
        metric, equals, number = text.rpartition("=")
        if not equals and text.endswith((".yaml", ".yml", ".json")) and len(texts) == 1:
            return text
        try:
            weight = float(number)
        except ValueError:
            equals = ""
        if not equals or not metric:
            raise UsageError(
                Problem(f"--weight '{text}' is not METRIC=NUMBER", "bad-option"),
                hint="for example --weight recall=2, or one file of all: --weight weights.yaml",
            )
        _refuse_again("--weight", metric, weights)
        weights[metric] = weight
    return weights or None


def directions_of(texts: Sequence[str]) -> dict[str, Literal["max", "min"]]:
    """Parse `METRIC=max` and `METRIC=min`."""
    directions: dict[str, Literal["max", "min"]] = {}
    for text in texts:
        metric, _, direction = text.rpartition("=")
        if not metric or direction not in ("max", "min"):
            raise UsageError(
                Problem(f"--direction '{text}' is not METRIC=max or METRIC=min", "bad-option"),
                hint="for example --direction val_loss=min: less of it is better",
            )
        _refuse_again("--direction", metric, directions)
        directions[metric] = direction  # type: ignore[assignment]
    return directions


def ranges_of(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Parse `METRIC=LOW:HIGH`."""
    ranges: dict[str, tuple[float, float]] = {}
    for text in texts:
        metric, _, ends = text.rpartition("=")
        left, _, right = ends.partition(":")
        try:
            both = float(left), float(right)
        except ValueError:
            metric = ""
        if not metric:
            raise UsageError(
                Problem(f"--rescale '{text}' is not METRIC=LOW:HIGH", "bad-option"),
                hint="for example --rescale mcc=-1:1, or --rescale accuracy=0:100 for percentages",
            )
        _refuse_again("--rescale", metric, ranges)
        ranges[metric] = both
    return ranges


def _refuse_again(option: str, metric: str, known: Mapping[str, object]) -> None:
    if metric in known:
        raise UsageError(Problem(f"{option} names '{metric}' twice", "bad-option"))


def pair_of(
    option: str, text: str | None, between: str, example: str
) -> tuple[float, float] | None:
    """Parse two numbers with `between` between them, as in 1:10, 2,98 or 0.001..0.02."""
    if text is None:
        return None
    left, there, right = text.partition(between)
    try:
        pair = float(left), float(right)
    except ValueError:
        there = ""
    if not there:
        raise UsageError(
            Problem(f"{option} '{text}' is not two numbers with {between} between", "bad-option"),
            hint=f"for example {option} {example}",
        )
    return pair
