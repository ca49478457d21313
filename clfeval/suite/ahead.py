"""What of a run's gates and names can be refused without its table, and how gates are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from clfeval.dialect import retell, yaml
from clfeval.document import Cell, Document, Gate, Row
from clfeval.errors import Collected, UsageError
from clfeval.gates.check import check_compared, check_ranges
from clfeval.gates.looked import APART, named_metric, named_models, named_slices
from clfeval.gates.standing import still_best
from clfeval.limits import Gates, Limit, parse_limit
from clfeval.measures.catalog import CATALOG
from clfeval.options import listed, taken
from clfeval.pages import page_of
from clfeval.suite.entries import Node, Wrong
from clfeval.suite.runs import Run
from clfeval.views.files import check_names

_MODEL = re.compile(r".* (?:of|by) '(.*)'", re.DOTALL)  # how a dry run says whose a column is
SUMMED = ("rows", "positives", "negatives", "found", "missed_by_all", "models", "runs", "classes")


def limits_of(gates: Gates) -> Iterator[tuple[Limit, str]]:
    """Yield the limits, each with how it is written."""
    return ((parse_limit(kind, text), text) for kind, text in gates.written)


def asked_of(run: Run) -> list[tuple[Gate, str]]:
    """Return the gates of a run, nothing of them judged, each with how it is written."""
    gates = taken(Gates, run.options)
    found = []
    for limit, text in limits_of(gates):
        part = "" if limit.part == "value" else f".{limit.part}"
        severity = gates.severity(limit.kind)
        one = Gate(limit.kind, f"{limit.metric}{part}", limit.model, limit.limit, None, True,
                   severity=severity, slice=limit.slices)  # fmt: skip
        found.append((one, f"{limit.kind} {text}"))
    for name, least in gates.least:
        kind = f"min-{name}"
        found.append((Gate(kind, name, None, least, None, True), f"{kind} {least:,}"))
    for model in gates.still_best:
        kind = "still-best"
        found.append((Gate(kind, kind, model, 1.0, None, True), f"{kind} {model}"))
    return found


def check_ahead(run: Run, wrong: Wrong) -> None:
    """Say which gates, tables and pictures there cannot be, whatever the table holds."""
    gates = taken(Gates, run.options)
    for limit, text in limits_of(gates):
        given = _entry(run.given[limit.kind.replace("-", "_")], text.rpartition("=")[0])
        _try(partial(check_ranges, [limit]), run, given, wrong)
        _try(partial(_check_limit, run, gates, limit), run, given, wrong)
    if gates.still_best and run.command != "report":
        models = partial(still_best, _empty(run), gates.still_best)
        _try(lambda: [*models()], run, run.given["still_best"], wrong)
    if names := listed(run.options.get("show")):
        _try(partial(check_names, run.command, names, "--show "), run, run.given["show"], wrong)


def check_read(run: Run, reading: Sequence[Row]) -> None:
    """Refuse limits on models and measures that a table, as it is read, has not; UsageError."""
    if not (gates := taken(Gates, run.options)).limits:
        return
    page = page_of(run.command)
    found = (_MODEL.fullmatch(str(row["taken"])) for row in reading)
    known = [one[1] for one in found if one]
    models: dict[str, Row] = {
        name: {"model": name} for name in (*known, *(run.options.get("group") or ())) if known
    }
    names = {column.name for table in page.tables for column in table.columns}
    names |= {*SUMMED, *listed(run.options.get("measure"))}
    names |= {*CATALOG} if run.command == "report" else {column.name for column in page.summary}
    cells: dict[str, Cell] = {name + end: 0.0 for name in names for end in ("", APART)}
    wrong = Collected()
    for limit in gates.limits:
        with wrong.going_on():
            if models and limit.model is not None and " at " not in limit.model:  # a population's
                named_models(models, limit.model, limit.kind)
            if run.command != "mlcps" and ":" not in limit.metric:
                named_metric(limit, cells, _empty(run))
    wrong.stop()


def _empty(run: Run) -> Document:
    """Return a result of a run's command that holds nothing."""
    return Document(run.command, "", (), {}, {}, {})


def _check_limit(run: Run, gates: Gates, limit: Limit) -> None:
    """Refuse a limit that compares with nothing, or is on slices of a table that has none."""
    if gates.baseline is None:
        check_compared(limit)
    sliced = any(run.options.get(name) for name in ("by", "run"))
    if limit.slices is not None and "by" in run.keys.known and not sliced:
        named_slices(limit, ())


def _try(check: Callable[[], object], run: Run, given: Node, wrong: Wrong) -> None:
    """Keep what is refused, in the words of a batch and with its place."""
    try:
        check()
    except UsageError as error:
        retell(error, run.keys.options, yaml(lambda _: given.place))
        told = (replace(one, what=f"{one.what}, in run '{run.group}'") for one in error.problems)
        error.problems = tuple(told)
        wrong.take(error, given)


def _entry(given: Node, name: str) -> Node:
    """Return the entry of a limit in a mapping, else all that is given."""
    return dict(given.pairs()).get(name, given) if isinstance(given.value, dict) else given
