"""Targets of limits: the models, slices and measures of a result that a limit is on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase

from clfeval import COMMANDS
from clfeval.compare.baseline.read import Labelled, rows_by_label, slice_names, subject_name
from clfeval.compare.gates.limits import Limit
from clfeval.document import PARTS, Cell, Document, Estimate
from clfeval.errors import UsageError, list_names, suggestion
from clfeval.measures.catalog import (
    CATALOG,
    TWO_AREAS,
    all_spellings,
    equivalent_names,
    find_measure,
    threshold_hint,
)
from clfeval.pages.schema import COMPARISONS, comparison_rows, gateable_names, page_of

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
