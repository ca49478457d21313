"""Limits of gates as options: their text, parsed and checked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Annotated, Any, Literal, get_args

from clfeval.document import PARTS, Bounds, Document, Part
from clfeval.errors import ErrorCollector, UsageError, bad_option
from clfeval.measures.other_names import plain_heading
from clfeval.options.declaration import Opt, as_list, changed_options
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

LimitKind = Literal["fail-under", "fail-over", "warn-under", "warn-over", "max-drop"]
WhenMissing = Literal["fail", "skip"]
LIMIT_SHAPE = "METRIC=VALUE"
# needs of the measures that a report computes where a limit names them
LIMITED = ("confusion", "scores", "probabilities")


@dataclass(frozen=True, slots=True)
class Limit:
    """A parsed `[any:][MODEL:]METRIC[:KEY=V][[SLICE]][.low|.high|.change|.gap|.excess ...]=VALUE`.

    slices: a slice's name or a pattern, None for the whole table. share: the limit is relative to
    the baseline's value. any: one model that meets it suffices.
    """

    kind: LimitKind
    metric: str
    part: Part
    model: str | None
    limit: float
    slices: str | None = None
    share: bool = False
    any: bool = False

    @property
    def compares(self) -> bool:
        """Whether the limit needs a baseline."""
        return self.kind == "max-drop" or self.part.startswith("change")

    @property
    def is_gap(self) -> bool:
        """Whether the limit is on a gap between slices."""
        return self.part.startswith(("gap", "extremes"))


# not all that Python reads: `1_0`, ` 1 ` and full-width digits may be slips
_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_LEFT = (
    r"(?s)(?:(?P<quantifier>any|all):)?(?:(?P<model>.*?):)?"
    r"(?P<metric>[^:=\[\]]+(?::\w+=[^:=,\[]+(?:,\w+=[^:=,\[]+)*)?)"
    r"(?:\[(?P<slices>.+)\](?P<part>\.[a-z.]+)?)?"
)


def parse_limit(kind: LimitKind, text: str) -> Limit:
    """Parse a gate; a model's name may hold any character, the metric's may not hold `:` or `=`.

    But for its parameters: `rf:f_beta:beta=2=0.8`. A slice follows in brackets:
    `rf:recall[site=a].low=0.8`. A drop may be a share of the baseline's value: `recall=2%`.
    """
    left_side, _, number_text = text.rpartition("=")
    left_side = plain_heading(left_side)
    is_share = kind == "max-drop" and number_text.endswith("%")
    limit = math.nan
    if re.fullmatch(_NUMBER, number_text.removesuffix("%") if is_share else number_text):
        limit = float(number_text.removesuffix("%")) / (100 if is_share else 1)
    match = re.fullmatch(_LEFT, left_side)
    part_text = match and match["part"] and match["part"][1:]
    if match is None or not math.isfinite(limit) or (part_text and part_text not in PARTS):
        raise UsageError.new(
            f"{OPTION}--{kind}{END} '{text}' is not {LIMIT_SHAPE}",
            "bad-gate",
            hint=_limit_hint(kind, number_text, part_text),
        )
    metric = match["metric"]
    slices = match["slices"]
    part: Part = next((name for name in PARTS if name == part_text), "value")
    if slices is None:
        part = next((name for name in PARTS if metric.endswith(f".{name}")), "value")
        metric = plain_heading(metric.removesuffix(f".{part}"))
    is_any = match["quantifier"] == "any"
    return Limit(kind, metric, part, match["model"], limit, slices, is_share, is_any)


def _limit_hint(kind: LimitKind, number_text: str, part_text: str | None) -> str:
    """Return how to write a gate; number_text: its limit; part_text: what follows a slice."""
    if part_text and (kind == "max-drop" or not number_text.endswith("%")):
        return f"after a slice write one of {', '.join(f'.{name}' for name in PARTS)}"
    if kind == "max-drop":
        return (
            f"for example {OPTION}--max-drop recall=0.02{END}, or recall=2% of the baseline's value"
        )
    examples_text = (
        f"for example {OPTION}--{kind} recall=0.9{END} or {OPTION}--{kind} 'rf:recall.low=0.8'{END}"
    )
    return (
        f"write a share as 0.7, not as 70%; {examples_text}"
        if number_text.endswith("%")
        else examples_text
    )


def _limit_texts(flag: str, limits: object) -> tuple[str, ...]:
    """Return limits as texts, from texts or a mapping such as `{"recall": [0.01, "2%"]}`."""
    if limits is None:
        return ()
    if isinstance(limits, Mapping):
        return tuple(_mapping_texts(flag, limits))
    texts = as_list(limits)
    for text in texts:
        if not isinstance(text, str):
            raise bad_option(f"{OPTION}{flag}{END} {text!r:.60} is not METRIC=VALUE")
    return tuple(texts)


def _mapping_texts(flag: str, limits: Mapping[Any, object]) -> Iterator[str]:
    """Yield the limits of a mapping from metrics to one limit or several as texts."""
    for metric, limit_values in limits.items():
        if not as_list(limit_values):
            raise bad_option(
                f"{OPTION}{flag}{END}: '{metric}' has no limit", f"{{{metric!r}: 0.8}}"
            )
        for limit in as_list(limit_values):
            yield f"{metric}={_limit_text(limit)}"


def _limit_text(limit: object) -> str:
    """Return a limit as text: a text as it is, numbers of numpy as those of Python."""
    if isinstance(limit, str):
        return limit
    return repr(limit.item() if hasattr(limit, "item") else limit)


def _check_baseline(flag: str, baseline: object) -> Any:
    """Return a result, known by its signature, or a file name unchanged; else UsageError."""
    is_name = isinstance(baseline, (str, PathLike)) and str(baseline)
    if baseline is None or is_name or hasattr(baseline, "signature"):
        return baseline
    raise bad_option(f"{OPTION}{flag}{END} {baseline!r:.60} is neither a file nor a result")


GATES = "Gates"  # panel
# fields of `Gates` that set no limit, but say what limits compare with, and how they are evaluated
FIELDS_WITHOUT_LIMIT = ("strict", "baseline", "baseline_missing", "significant")


def _limit_option(help_text: str, metavar: str = LIMIT_SHAPE, *, shell: bool = True) -> Opt:
    """Return the option of a kind of limit; metavar: what help shows for its value."""
    return Opt(
        help_text,
        GATES,
        metavar=metavar,
        completes="metric",
        accept=_limit_texts,
        takes=Bounds,
        shell=shell,
    )


def _minimum_option(noun: str) -> Opt:
    help_text = f"Exit 1 if the table, or a slice with a gate, has fewer {noun}."
    return Opt(help_text, GATES, minimum=1, shell=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Gates:
    """Limits that a result must meet, else the program exits with 1."""

    fail_under: Annotated[
        tuple[str, ...], _limit_option("Exit 1 if METRIC, or METRIC.low, is below VALUE.")
    ] = ()
    fail_over: Annotated[
        tuple[str, ...], _limit_option("Exit 1 if METRIC is above VALUE; repeat.")
    ] = ()
    warn_under: Annotated[
        tuple[str, ...], _limit_option("Warn if below VALUE; repeat.", shell=False)
    ] = ()
    warn_over: Annotated[
        tuple[str, ...], _limit_option("Warn if above VALUE; repeat.", shell=False)
    ] = ()
    strict: Annotated[bool, Opt("Treat warnings as missed gates.", GATES, shell=False)] = False
    min_rows: Annotated[int | None, _minimum_option("rows")] = None
    min_positives: Annotated[int | None, _minimum_option("positives")] = None
    still_best: Annotated[
        tuple[str, ...],
        Opt(
            "Exit 1 if this model is significantly worse than the best; repeat.",
            GATES,
            metavar="MODEL",
            completes="model",
            shell=False,
        ),
    ] = ()
    baseline: Annotated[
        Any,
        Opt(
            "Compare with an earlier table, result, history.",
            GATES,
            metavar="FILE",
            accept=_check_baseline,
            takes=str | PathLike[str] | Document | None,
        ),
    ] = None
    baseline_missing: Annotated[
        WhenMissing,
        Opt(
            "What to do if the baseline file does not exist.",
            GATES,
            needs=("baseline", "needs a baseline"),
        ),
    ] = "fail"
    max_drop: Annotated[
        tuple[str, ...],
        _limit_option(
            "Exit 1 if worse than the baseline by more than VALUE or P%.", "METRIC=DELTA"
        ),
    ] = ()
    significant: Annotated[
        bool,
        Opt(
            "Judge only changes whose confidence interval excludes 0.",
            GATES,
            needs=("max_drop", "applies to drops only"),
            shell=False,
        ),
    ] = False

    @property
    def written(self) -> Iterator[tuple[LimitKind, str]]:
        """Yield the kind and the text of each limit."""
        for kind in get_args(LimitKind):
            for text in getattr(self, kind.replace("-", "_")):
                yield kind, text

    @property
    def limits(self) -> list[Limit]:
        """The parsed limits; UsageError that lists all invalid ones."""
        limits: list[Limit] = []
        errors = ErrorCollector()
        for kind, text in self.written:
            with errors.going_on():
                limits.append(parse_limit(kind, text))
        errors.raise_problems()
        return limits

    @property
    def any(self) -> bool:
        """Whether any limit is set; UsageError for invalid limits."""
        changed_fields = {option.field for option in changed_options(self)}
        return bool(self.limits or changed_fields.difference(FIELDS_WITHOUT_LIMIT))
