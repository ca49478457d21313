"""What gates look at: cells of the whole table and of slices, by what limits call them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase

from clfeval import COMMANDS
from clfeval.baseline.models import Labelled, labelled, name_of, slices_of
from clfeval.bounds import PARTS
from clfeval.document import Cell, Document, Estimate, Row
from clfeval.errors import UsageError, listing, suggestion
from clfeval.limits import Limit
from clfeval.measures.catalog import (
    CATALOG,
    TWO_AREAS,
    at_cut,
    find_measure,
    same_measure,
    spellings,
)
from clfeval.pages import page_of
from clfeval.schema import COMPARISONS, comparisons, gated

LIMITED = ("confusion", "scores", "probabilities")  # what a report measures where a limit names it
REPORT = "report"
APART = "_difference"  # behind a measure: the model's value less the reference's


def whole_rows(result: Document) -> dict[str, Row]:
    """Return the rows of the whole table by label, with what comparisons say of them."""
    return _compared(result, labelled(result), None)


def slice_rows(result: Document, part: str) -> dict[str, Row]:
    """Return the same of one slice."""
    return _compared(result, labelled(result, part), part)


def named_slices(limit: Limit, known: Sequence[str]) -> list[str]:
    """Return the slices of a name, or of a pattern; UsageError where there are none."""
    wanted = str(limit.slices)
    found = [wanted] if wanted in known else [one for one in known if fnmatchcase(one, wanted)]
    if not found:
        hint = suggestion(wanted, known) or f"slices: {listing(known)}"
        if not known:
            hint = "add --by COLUMN to define slices"
        raise UsageError.of(f"--{limit.kind}: no slice '{wanted}'", "unknown-slice", hint=hint)
    return found


def named_models(rows: Labelled, model: str, kind: str) -> dict[str, Row]:
    """Return the rows of a model, or of those that a pattern fits."""
    found = {k: row for k, row in rows.items() if model in (k, name_of(row))}
    found = found or {k: row for k, row in rows.items() if fnmatchcase(name_of(row), model)}
    if not found:
        names = list(dict.fromkeys(name_of(row) for row in rows.values()))
        hint = suggestion(model, names) or f"models: {listing(names)}"
        raise UsageError.of(f"--{kind}: no model '{model}'", "unknown-model", hint=hint)
    return found


def named_metric(limit: Limit, cells: Mapping[str, Cell], result: Document) -> str:
    """Return what a limit is on: a cell of this name, or the only one with parameters."""
    stem = limit.metric.removesuffix(APART)
    end = limit.metric.removeprefix(stem)
    for name in same_measure(stem):
        if name + end in cells:
            return name + end
        found = [cell for cell in cells if cell.startswith(f"{name}:") and cell.endswith(end)]
        if len(found) > 1:
            what = f"--{limit.kind}: '{limit.metric}' matches several measures"
            raise UsageError.of(what, "bad-gate", hint=f"choose one of {listing(found)}")
        if found:
            return found[0]
    known = [name for name, cell in cells.items() if is_number(cell)]
    alike = [name for name in known if _parts(name) == _parts(limit.metric)]
    if alike:
        return alike[0]
    what = f"--{limit.kind}: no metric '{limit.metric}'"
    model, dot, rest = limit.metric.partition(".")
    if dot and any(row.get("model") == model for row in result.tables.get("models", ())):
        raise UsageError.of(what, "unknown-metric", hint=f"write '{model}:{rest}'")
    close = _left_out(result, limit.metric) or _part_of(limit.metric, known)
    if end and {*same_measure(stem)} & {*known}:
        close = close or f"add --reference MODEL and --measure {stem}"
    if stem.casefold() in TWO_AREAS:
        close = "write average_precision (steps) or pr_auc (trapezoids)"
    close = close or at_cut(limit.metric) or _elsewhere(result.command, limit.metric)
    close = close or suggestion(limit.metric, _callable(result, known))
    close = close or f"metrics: {listing(known)}"
    raise UsageError.of(what, "unknown-metric", hint=close)


def _parts(metric: str) -> tuple[frozenset[str], dict[str, str]]:
    """Return the names of a measure, and its parameters: 0.10 is .1."""
    name, _, settings = metric.partition(":")
    found = dict(part.partition("=")[::2] for part in settings.split(",") if part)
    for key, text in found.items():
        with suppress(ValueError):
            found[key] = repr(float(text))
    return frozenset({name, *same_measure(name)}), found


def gaps(result: Document, limit: Limit, metric: str) -> Iterator[tuple[str, str, Cell]]:
    """Yield model, slice and gap, or the extreme slices; UsageError without table or measure."""
    every = [(row, "gap") for row in result.tables.get("extremes", ())]
    if limit.part.startswith("gap"):
        every = [(row, "difference") for row in comparisons(result, "slice", inside=True)]
    rows = [(row, name) for row, name in every if row["measure"] == metric]
    if not rows:
        hint = "use report with --by COLUMN"
        if every:
            hint = f"compared: {listing(dict.fromkeys(str(row['measure']) for row, _ in every))}"
            hint += f"; for others add --measure {limit.metric}"
        what = f"--{limit.kind}: slices are not compared by '{limit.metric}'"
        raise UsageError.of(what, "unknown-metric", hint=hint)
    wanted = [] if limit.slices is None else named_slices(limit, slices_of(result))
    for row, name in rows:
        part = str(row["slice"]) if name == "difference" else (
            f"{row['largest']} less {row['smallest']}")  # fmt: skip
        if name == "gap" or limit.slices is None or part in wanted:
            yield str(row["model"]), part, row[name]


def is_number(cell: Cell) -> bool:
    """Tell whether a cell holds a number or an estimate."""
    return isinstance(cell, (Estimate, int, float)) and not isinstance(cell, bool)


def _compared(result: Document, rows: Labelled, part: str | None) -> dict[str, Row]:
    """Add how far each model lies from the reference, where there is one of each."""
    found = dict(rows)
    if result.parameters.get("reference") == "all-pairs":
        return found
    for row in result.tables.get(COMPARISONS, ()):
        label = str(row["model"])
        if row["against"] in ("reference", "run") and row["slice"] == part and label in found:
            found[label] = {**found[label], f"{row['measure']}{APART}": row["difference"]}
    return found


def _elsewhere(command: str, metric: str) -> str | None:
    """Say which other commands have a measure that this one has not."""
    names = {metric, *same_measure(metric)}
    others = [n for n in COMMANDS if n != command and not names.isdisjoint(gated(page_of(n)))]
    named = " or ".join(filter(None, (", ".join(others[:-1]), *others[-1:])))
    return f"{command} does not compute it; use {named}" if others else None


def _callable(result: Document, known: Sequence[str]) -> list[str]:
    """Return every name that a limit may use: of cells, and of what a report computes for it."""
    more = [one.id for one in CATALOG.values() if one.needs in LIMITED and result.command == REPORT]
    return list(dict.fromkeys([*known, *spellings([*filter(CATALOG.get, known), *more])]))


def _left_out(result: Document, metric: str) -> str | None:
    """Say how to get a measure that this result has not, where it can be asked for."""
    needs = {"measures": ("confusion",), "measure": LIMITED}
    measure = None if at_cut(metric) else find_measure(metric.partition(":")[0])
    if measure is None or not any(
        option in result.parameters and measure.needs in known for option, known in needs.items()
    ):
        return None
    if metric in result.parameters.get("measure", ()):
        return f"this table does not give it: --explain {measure.id} says what it needs"
    return f"it was not computed: add --measure {metric}"


def _part_of(metric: str, known: list[str]) -> str | None:
    """Suggest a part of a measure that is there: `.low` for `.lo`."""
    name, dot, _ = metric.rpartition(".")
    names = [one for one in same_measure(name) if one in known] if dot else []
    parts = [f"{name}.{part}" for part in PARTS if names]
    return suggestion(metric, parts) or (f"parts: {listing(parts)}" if parts else None)
