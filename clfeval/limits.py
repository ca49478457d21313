"""Limits a result is held to: the options of gates, and what they say."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from clfeval.errors import UsageError, bad_option
from clfeval.options import Opt, listed
from clfeval.result import Bounds

LimitKind = Literal["fail-under", "fail-over", "max-drop"]
Part = Literal["value", "low", "high", "change", "change.low", "change.high"]
PARTS: tuple[Part, ...] = ("change.low", "change.high", "change", "low", "high")


@dataclass(frozen=True, slots=True)
class Limit:
    """A parsed `[MODEL:]METRIC[:KEY=V][.low|.high|.change|.change.low|.change.high]=VALUE`."""

    kind: LimitKind
    metric: str
    part: Part
    model: str | None
    limit: float


_SETTINGS = re.compile(r":\w+=[^:=,]+(?:,\w+=[^:=,]+)*$")


def parse_limit(kind: LimitKind, text: str) -> Limit:
    """Parse a gate; a model's name may hold any character, the metric's may not hold `:` or `=`.

    But for its parameters: `rf:f_beta:beta=2=0.8`.
    """
    left, equals, number = text.rpartition("=")
    try:
        limit = float(number)
    except ValueError:
        equals = ""
    if not equals or not math.isfinite(limit):
        hint = f"for example --{kind} recall=0.9 or --{kind} 'rf:recall.low=0.8'"
        if number.endswith("%"):
            hint = f"a share is written as 0.7, not as 70 %; {hint}"
        raise UsageError.of(f"--{kind} '{text}' is not [MODEL:]METRIC=VALUE", "bad-gate", hint=hint)
    settings = _SETTINGS.search(left)
    end = len(left) if settings is None else settings.start()
    model, colon, metric = left[:end].rpartition(":")
    metric += left[end:]
    part: Part = "value"
    for name in PARTS:
        if part == "value" and metric.endswith(f".{name}"):
            metric, part = metric.removesuffix(f".{name}"), name
    return Limit(kind, metric, part, model if colon else None, limit)


def _limits(flag: str, given: Any) -> tuple[str, ...]:
    """Return limits as a shell writes them, from such texts or a mapping of names to numbers."""
    if isinstance(given, Mapping):
        given = [f"{name}={limit!r}" for name, limit in given.items()]
    texts = listed(given)
    for text in texts:
        if not isinstance(text, str):
            raise bad_option(f"{flag} {text!r:.60} is no limit: METRIC=VALUE")
    return tuple(texts)


def _as_given(_: str, given: Any) -> Any:
    """Take what is read elsewhere: a result, or the name of its file."""
    return given


GATES = "Gates"  # panel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Gates:
    """What a result must keep to, else the program exits with 1."""

    fail_under: Annotated[
        tuple[str, ...],
        Opt("Exit 1 when below; repeat.", GATES, metavar="[MODEL:]METRIC[.low]=VALUE",
            completes="metric", accept=_limits, takes=Bounds, common=True),
    ] = ()  # fmt: skip
    fail_over: Annotated[
        tuple[str, ...],
        Opt("Exit 1 when above; repeat.", GATES, metavar="[MODEL:]METRIC[.high]=VALUE",
            completes="metric", accept=_limits, takes=Bounds),
    ] = ()  # fmt: skip
    baseline: Annotated[
        Any,
        Opt("A saved result to compare with.", GATES, metavar="RESULT.json", common=True,
            accept=_as_given),
    ] = None  # fmt: skip
    max_drop: Annotated[
        tuple[str, ...],
        Opt("Exit 1 when worse than the baseline by more; repeat.", GATES,
            metavar="[MODEL:]METRIC=DELTA", completes="metric", accept=_limits, takes=Bounds,
            common=True),
    ] = ()  # fmt: skip

    @property
    def limits(self) -> list[Limit]:
        """The limits, parsed; UsageError for what is none."""
        given: tuple[tuple[LimitKind, tuple[str, ...]], ...] = (
            ("fail-under", self.fail_under), ("fail-over", self.fail_over),
            ("max-drop", self.max_drop),
        )  # fmt: skip
        return [parse_limit(kind, text) for kind, texts in given for text in texts]
