"""Limits of gates: their text, and which rows and measures of a result each is on."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from os import PathLike
from typing import Annotated, Any, Literal, get_args

from clfeval import COMMANDS
from clfeval.compare.baseline.read import Labelled, rows_by_label, slice_names, subject_name
from clfeval.document import PARTS, Bounds, Cell, Document, Estimate, Part, Severity
from clfeval.errors import ErrorCollector, UsageError, bad_option, list_names, suggestion
from clfeval.measures.catalog import (
    CATALOG,
    TWO_AREAS,
    all_spellings,
    equivalent_names,
    find_measure,
    threshold_hint,
)
from clfeval.options.declaration import Opt, as_list
from clfeval.pages.schema import COMPARISONS, comparison_rows, gateable_names, page_of
from clfeval.records import dataclass

LimitKind = Literal["fail-under", "fail-over", "warn-under", "warn-over", "max-drop"]
WhenMissing = Literal["fail", "skip"]
SHAPE = "METRIC=VALUE"


@dataclass(frozen=True, slots=True)
class Limit:
    """A parsed `[any:][MODEL:]METRIC[:KEY=V][[SLICE]][.low|.high|.change|.gap ...]=VALUE`.

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


_LEFT = re.compile(
    r"(?:(?P<which>any|all):)?(?:(?P<model>.*?):)?"
    r"(?P<metric>[^:=\[\]]+(?::\w+=[^:=,\[]+(?:,\w+=[^:=,\[]+)*)?)"
    r"(?:\[(?P<slices>.+)\](?P<part>\.[a-z.]+)?)?",
    re.DOTALL,
)


def parse_limit(kind: LimitKind, text: str) -> Limit:
    """Parse a gate; a model's name may hold any character, the metric's may not hold `:` or `=`.

    But for its parameters: `rf:f_beta:beta=2=0.8`. A slice follows in brackets:
    `rf:recall[site=a].low=0.8`. A drop may be a share of the baseline's value: `recall=2%`.
    """
    left, _, number = text.rpartition("=")
    share = kind == "max-drop" and number.endswith("%")
    try:
        number = number if number.isascii() else "?"  # full-width digits look like others
        limit = float(number.removesuffix("%") if share else number) / (100 if share else 1)
    except ValueError:
        limit = math.nan
    found = _LEFT.fullmatch(left)
    part = found and found["part"] and found["part"][1:]
    if found is None or not math.isfinite(limit) or (part and part not in PARTS):
        hint = f"for example --{kind} recall=0.9 or --{kind} 'rf:recall.low=0.8'"
        if kind == "max-drop":
            hint = "for example --max-drop recall=0.02, or recall=2% of the baseline's value"
        if number.endswith("%") and kind != "max-drop":
            hint = f"write a share as 0.7, not as 70%; {hint}"
        elif part:
            hint = f"after a slice write one of {', '.join(f'.{name}' for name in PARTS)}"
        raise UsageError.new(f"--{kind} '{text}' is not {SHAPE}", "bad-gate", hint=hint)
    metric, slices, which = found["metric"], found["slices"], found["which"] == "any"
    known: Part = next((name for name in PARTS if name == part), "value")
    if slices is None:
        known = next((name for name in PARTS if metric.endswith(f".{name}")), "value")
        metric = metric.removesuffix(f".{known}")
    return Limit(kind, metric, known, found["model"], limit, slices, share, which)


def _limit_texts(flag: str, given: Any) -> tuple[str, ...]:
    """Return limits as texts, from texts or a mapping such as `{"recall": [0.01, "2%"]}`."""
    if given is None:
        return ()
    if isinstance(given, Mapping):
        texts = []
        for name, limits in given.items():
            if not as_list(limits):
                raise bad_option(f"{flag}: '{name}' has no limit", f"{{{name!r}: 0.8}}")
            numbers = (one if isinstance(one, str) else repr(one) for one in as_list(limits))
            texts += [f"{name}={one}" for one in numbers]
        given = texts
    given = as_list(given)
    for text in given:
        if not isinstance(text, str):
            raise bad_option(f"{flag} {text!r:.60} is not METRIC=VALUE")
    return tuple(given)


def _as_given(flag: str, given: Any) -> Any:
    """Return a result, known by its signature, or a file name unchanged; else UsageError."""
    named = isinstance(given, (str, PathLike)) and str(given)
    if given is None or named or hasattr(given, "signature"):
        return given
    raise bad_option(f"{flag} {given!r:.60} is neither a file nor a result")


GATES = "Gates"  # panel


def _limit_option(words: str, metavar: str = SHAPE, *, shell: bool = True) -> Opt:
    return Opt(words, GATES, metavar=metavar, completes="metric", accept=_limit_texts, takes=Bounds,
               shell=shell)  # fmt: skip


def _least_option(what: str) -> Opt:
    words = f"Exit 1 if the table, or a slice with a gate, has fewer {what}."
    return Opt(words, GATES, least=1, shell=False)


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
    min_rows: Annotated[int | None, _least_option("rows")] = None
    min_positives: Annotated[int | None, _least_option("positives")] = None
    still_best: Annotated[
        tuple[str, ...],
        Opt("Exit 1 if this model is significantly worse than the best; repeat.", GATES,
            metavar="MODEL", completes="model", shell=False),
    ] = ()  # fmt: skip
    baseline: Annotated[
        Any,
        Opt("Compare with an earlier table, result, history.", GATES, metavar="FILE",
            accept=_as_given),
    ] = None  # fmt: skip
    baseline_missing: Annotated[
        WhenMissing,
        Opt("What to do if the baseline file does not exist.", GATES,
            needs=("baseline", "needs a baseline")),
    ] = "fail"  # fmt: skip
    max_drop: Annotated[
        tuple[str, ...],
        _limit_option("Exit 1 if worse than the baseline by more than VALUE or P%.",
               "METRIC=DELTA"),
    ] = ()  # fmt: skip
    significant: Annotated[
        bool,
        Opt("Judge only changes whose confidence interval excludes 0.", GATES,
            needs=("max_drop", "applies to drops only"), shell=False),
    ] = False  # fmt: skip

    @property
    def written(self) -> Iterator[tuple[LimitKind, str]]:
        """Yield the kind and the text of each limit."""
        for kind in get_args(LimitKind):
            for text in getattr(self, kind.replace("-", "_")):
                yield kind, text

    @property
    def limits(self) -> list[Limit]:
        """The parsed limits; UsageError that lists all invalid ones."""
        found, wrong = list[Limit](), ErrorCollector()
        for kind, text in self.written:
            with wrong.going_on():
                found.append(parse_limit(kind, text))
        wrong.stop()
        return found

    @property
    def required_sizes(self) -> dict[str, int]:
        """The required numbers of rows and of positives."""
        numbers = {"rows": self.min_rows, "positives": self.min_positives}
        return {name: number for name, number in numbers.items() if number is not None}

    @property
    def any(self) -> bool:
        """Whether any limit is set."""
        return bool(self.limits or self.required_sizes or self.still_best)

    def severity(self, kind: str) -> Severity:
        """Return the severity of a missed limit of this kind."""
        return "warn" if kind.startswith("warn-") and not self.strict else "fail"


LIMITED = ("confusion", "scores", "probabilities")  # what a report measures where a limit names it
REPORT = "report"
DIFFERENCE_SUFFIX = "_difference"  # behind a measure: the model's value less the reference's


def whole_table_rows(result: Document) -> Labelled:
    """Return the rows of the whole table by label, with differences from the reference."""
    return slice_rows(result, None)


def slice_rows(result: Document, part: str | None) -> Labelled:
    """Return the rows of one slice by label, with differences from the reference if there is one.

    part: the slice; None for the whole table.
    """
    found = dict(rows_by_label(result, part))
    if result.parameters.get("reference") == "all-pairs":
        return found
    for row in result.tables.get(COMPARISONS, ()):
        label, name = str(row["model"]), f"{row['measure']}{DIFFERENCE_SUFFIX}"
        if row["against"] in ("reference", "run") and row["slice"] == part and label in found:
            found[label] = {**found[label], name: row["difference"]}
    return found


def match_slices(limit: Limit, known: Sequence[str]) -> list[str]:
    """Return the slices with a name, or that match a pattern; UsageError where there are none."""
    wanted = str(limit.slices)
    found = [wanted] if wanted in known else [one for one in known if fnmatchcase(one, wanted)]
    if not found:
        hint = suggestion(wanted, known) or f"slices: {list_names(known)}"
        if not known:
            hint = "add --by COLUMN to define slices"
        raise UsageError.new(f"--{limit.kind}: no slice '{wanted}'", "unknown-slice", hint=hint)
    return found


def match_models(rows: Labelled, model: str | None, kind: str) -> Labelled:
    """Return the rows of a model, or of the models that match a pattern; all rows for None."""
    if model is None:
        return rows
    found = {k: row for k, row in rows.items() if model in (k, subject_name(row))}
    found = found or {k: row for k, row in rows.items() if fnmatchcase(subject_name(row), model)}
    if not found:
        names = list(dict.fromkeys(subject_name(row) for row in rows.values()))
        hint = suggestion(model, names) or f"models: {list_names(names)}"
        raise UsageError.new(f"--{kind}: no model '{model}'", "unknown-model", hint=hint)
    return found


def match_metric(limit: Limit, cells: Mapping[str, Cell], result: Document) -> str:
    """Return the name of a limit's cell: this name, or the only one of it with parameters."""
    stem = limit.metric.removesuffix(DIFFERENCE_SUFFIX)
    end = limit.metric.removeprefix(stem)
    for name in equivalent_names(stem):
        if name + end in cells:
            return name + end
        found = [cell for cell in cells if cell.startswith(f"{name}:") and cell.endswith(end)]
        if len(found) > 1:
            what = f"--{limit.kind}: '{limit.metric}' matches several measures"
            raise UsageError.new(what, "bad-gate", hint=f"choose one of {list_names(found)}")
        if found:
            return found[0]
    known = [name for name, cell in cells.items() if is_number(cell)]
    wanted = _name_and_parameters(limit.metric)
    if alike := [name for name in known if _name_and_parameters(name) == wanted]:
        return alike[0]
    what = f"--{limit.kind}: no metric '{limit.metric}'"
    model, dot, rest = limit.metric.partition(".")
    if dot and any(row.get("model") == model for row in result.tables.get("models", ())):
        raise UsageError.new(what, "unknown-metric", hint=f"write '{model}:{rest}'")
    if stem.casefold() in TWO_AREAS:
        close: str | None = "write average_precision (steps) or pr_auc (trapezoids)"
    else:
        close = _left_out(result, limit.metric) or _part_of(limit.metric, known)
        if end and {*equivalent_names(stem)} & {*known}:
            close = close or f"add --reference MODEL and --measure {stem}"
        close = close or threshold_hint(limit.metric)
        close = close or _other_command_hint(result.command, limit.metric)
    if not close:  # all names that a limit may use: of cells, and of what a report computes for it
        limited = (one.id for one in CATALOG.values() if one.needs in LIMITED)
        more = limited if result.command == REPORT else ()
        names = [*known, *all_spellings([*filter(CATALOG.get, known), *more])]
        close = suggestion(limit.metric, list(dict.fromkeys(names)))
    close = close or f"metrics: {list_names(known)}"
    raise UsageError.new(what, "unknown-metric", hint=close)


def _name_and_parameters(metric: str) -> tuple[frozenset[str], dict[str, str]]:
    """Return the names of a measure, and its parameters: 0.10 is .1."""
    name, _, settings = metric.partition(":")
    found = dict(part.partition("=")[::2] for part in settings.split(",") if part)
    for key, text in found.items():
        with suppress(ValueError):
            found[key] = repr(float(text))
    return frozenset({name, *equivalent_names(name)}), found


def slice_gaps(result: Document, limit: Limit, metric: str) -> Iterator[tuple[str, str, Cell]]:
    """Yield model, slice and gap, or the extreme slices; UsageError without table or measure."""
    every = [(row, "gap") for row in result.tables.get("extremes", ())]
    if limit.part.startswith("gap"):
        every = [(row, "difference") for row in comparison_rows(result, "slice", inside=True)]
    rows = [(row, name) for row, name in every if row["measure"] == metric]
    if not rows:
        hint = "use report with --by COLUMN"
        if every:
            hint = f"compared: {list_names(dict.fromkeys(str(row['measure']) for row, _ in every))}"
            hint += f"; for others add --measure {limit.metric}"
        what = f"--{limit.kind}: slices are not compared by '{limit.metric}'"
        raise UsageError.new(what, "unknown-metric", hint=hint)
    wanted = [] if limit.slices is None else match_slices(limit, slice_names(result))
    for row, name in rows:
        part = str(row["slice"]) if name == "difference" else (
            f"{row['largest']} less {row['smallest']}")  # fmt: skip
        if name == "gap" or limit.slices is None or part in wanted:
            yield str(row["model"]), part, row[name]


def is_number(cell: Cell) -> bool:
    """Return whether a cell holds a number or an estimate."""
    return isinstance(cell, (Estimate, int, float)) and not isinstance(cell, bool)


def _other_command_hint(command: str, metric: str) -> str | None:
    """Return the hint on other commands that compute a measure, or None."""
    names = {metric, *equivalent_names(metric)}
    others = [
        n for n in COMMANDS if n != command and not names.isdisjoint(gateable_names(page_of(n)))
    ]
    named = " or ".join(filter(None, (", ".join(others[:-1]), *others[-1:])))
    return f"{command} does not compute it; use {named}" if others else None


def _left_out(result: Document, metric: str) -> str | None:
    """Return the hint on how to request a measure that a result lacks, or None."""
    needs = {"measures": ("confusion",), "measure": LIMITED}
    measure = None if threshold_hint(metric) else find_measure(metric.partition(":")[0])
    if measure is None or not any(
        option in result.parameters and measure.needs in known for option, known in needs.items()
    ):
        return None
    if metric in result.parameters.get("measure", ()):
        return f"this table does not give it: --explain {measure.id} says what it needs"
    return f"it was not computed: add --measure {metric}"


def _part_of(metric: str, known: list[str]) -> str | None:
    """Return a suggestion for an unknown part of a measure: `.low` for `.lo`."""
    name, dot, _ = metric.rpartition(".")
    names = [one for one in equivalent_names(name) if one in known] if dot else []
    parts = [f"{name}.{part}" for part in PARTS if names]
    return suggestion(metric, parts) or (f"parts: {list_names(parts)}" if parts else None)
