"""Judge a result: a gate for each limit and model it applies to, and what a baseline tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from os.path import basename

from clfeval.baseline.beside import Baseline
from clfeval.baseline.compare import best_of
from clfeval.baseline.read import read_baseline
from clfeval.errors import UsageError
from clfeval.gates.decide import Judging, dropped, held, slack
from clfeval.gates.looked import (
    gaps,
    is_number,
    named_metric,
    named_models,
    named_slices,
    slice_rows,
    whole_rows,
)
from clfeval.gates.standing import enough_rows, still_best
from clfeval.limits import Gates, Limit
from clfeval.measures.catalog import CATALOG, same_measure
from clfeval.pages import page_of
from clfeval.result import Cell, Estimate, Gate, Result, Row, Warn

ADD = "add --baseline FILE: a table, or a result saved earlier"
NO_BASELINE = "baseline_missing"


def judged(result: Result, gates: Gates, beside: Baseline | None = None) -> Result:
    """Return the result with a Gate for each limit that is asked for, the baseline read.

    beside: the baseline, where it is a table: whoever knows how the table was read has it.
    """
    if not gates.any and gates.baseline is None:
        return result
    limits = gates.limits
    if beside is None and gates.baseline is not None:
        found = read_baseline(gates.baseline, result)
        if found is None:
            return _without(result, limits, gates)
        named = isinstance(gates.baseline, (str, PathLike))
        name = basename(fspath(gates.baseline)) if named else "the baseline"
        beside = Baseline.of(result, found, name)
    return judge(result, limits, beside, gates)


def _without(result: Result, limits: Sequence[Limit], gates: Gates) -> Result:
    """Judge without the baseline there is not yet: it is missed, or what needs it is left out."""
    assert isinstance(gates.baseline, (str, PathLike))
    name = basename(fspath(gates.baseline))
    left = [limit for limit in limits if not limit.compares]
    result = judge(result, left, None, gates)
    skips = gates.baseline_missing == "skip"
    what = "what compares with it is left out" if skips else "it is missed"
    said = Warn("baseline-missing", f"there is no baseline '{name}': {what}")
    missing = Gate("baseline", name, None, 0.0, None, skips, NO_BASELINE)
    return replace(result, gates=(*result.gates, missing), warnings=(*result.warnings, said))


def judge(
    result: Result, limits: Iterable[Limit], baseline: Baseline | Result | None = None,
    gates: Gates | None = None,
) -> Result:  # fmt: skip
    """Return the result with one Gate for each limit and model it applies to."""
    gates, limits = Gates() if gates is None else gates, list(limits)
    beside = Baseline.of(result, baseline) if isinstance(baseline, Result) else baseline
    if beside is None and any(limit.kind == "max-drop" for limit in limits):
        raise UsageError.of("--max-drop compares with a baseline", "bad-gate", hint=ADD)
    looked, found = _Looked(result, beside), list[Gate]()
    shares = {limit.subject for limit in limits if limit.share}
    for limit in limits:
        both = any(one.subject == limit.subject and not one.share for one in limits)
        if limit.share and both:
            continue  # judged with the other
        mine = [one.limit for one in limits if one.share and one.subject == limit.subject]
        found += looked.judged(limit, mine if limit.subject in shares else (), gates)
    parts = dict.fromkeys(gate.slice for gate in found if gate.slice in looked.slices)
    found += enough_rows(result, gates, [str(part) for part in parts])
    found += still_best(result, gates.still_best)
    warnings = (*result.warnings, *_turned(looked, limits))
    result = replace(result, gates=tuple(found), warnings=warnings)
    return result if beside is None else beside.shown(result)


class _Looked:
    """The rows of a result that limits look at, slices made when one is asked for."""

    def __init__(self, result: Result, beside: Baseline | None) -> None:
        self.result, self.beside = result, beside
        self.whole = whole_rows(result)
        self.slices: dict[str, Mapping[str, Row]] = {}

    @property
    def cells(self) -> dict[str, Cell]:
        """What the whole table has under each name."""
        rows = {name: cell for row in self.whole.values() for name, cell in row.items()}
        return {**rows, **self.result.summary}

    def judged(self, limit: Limit, shares: Sequence[float], gates: Gates) -> list[Gate]:
        """Return the gates of one limit: of each model, or the best of them."""
        apart = limit.part.startswith(("gap", "extremes"))
        metric = named_metric(limit, self.cells, self.result)
        best, severity = best_of(self.result, metric), gates.severity(limit.kind)
        asked = Judging(limit, metric, best, severity, shares, gates.significant)
        if apart:
            found = self._gaps(asked)
        elif metric in self.result.summary and limit.model is None and limit.slices is None:
            found = [self._summary(asked)]
        elif limit.slices is None:
            found = self._rows(asked, self.whole, None)
        else:
            found = []
            for part in named_slices(self.result, limit):
                if part not in self.slices:
                    self.slices[part] = slice_rows(self.result, part)
                found += self._rows(asked, self.slices[part], part)
        return [_best_of_any(found)] if limit.any else found

    def _summary(self, asked: Judging) -> Gate:
        value, limit, metric = self.result.summary[asked.metric], asked.limit, asked.metric
        if not isinstance(value, (int, float)):
            why = "is no number" if value is not None else "is not the same for all models"
            raise UsageError.of(f"'{metric}' {why}", "bad-gate")
        if limit.part != "value":
            raise UsageError.of(f"'{metric}' is a count: it has no .{limit.part}", "bad-gate")
        if limit.kind == "max-drop" and self.beside is not None:
            return dropped(asked, None, None, self.beside.of_summary(metric, value))
        return held(asked, None, None, value)

    def _rows(self, asked: Judging, rows: Mapping[str, Row], part: str | None) -> list[Gate]:
        limit, metric = asked.limit, asked.metric
        if limit.model is not None:
            rows = named_models(rows, limit.model, limit.kind)
        # the reference has no difference from itself
        rows = {model: row for model, row in rows.items() if metric in row}
        if not rows:
            whose = f"'{limit.model}'" if part is None else f"the slice '{part}'"
            what = f"--{limit.kind}: '{metric}' is nothing that {whose} has"
            raise UsageError.of(what, "bad-gate", hint="leave it out, or name another")
        cells = [row[metric] for row in rows.values()]
        _check_limit(limit, metric, next(filter(is_number, cells), cells[0]))
        if not limit.compares:
            return [held(asked, model, part, row[metric]) for model, row in rows.items()]
        if self.beside is None:
            what = f"--{limit.kind}: '{limit.metric}.change' compares with a baseline"
            raise UsageError.of(what, "bad-gate", hint=ADD)
        found = []
        for model, row in rows.items():
            moved = self.beside.moved(model, metric, row[metric], part)
            if limit.kind == "max-drop":
                found.append(dropped(asked, model, part, moved))
            else:
                found.append(held(asked, model, part, moved.change))
        return found

    def _gaps(self, asked: Judging) -> list[Gate]:
        limit = asked.limit
        wanted = self.whole
        if limit.model is not None:
            wanted = named_models(self.whole, limit.model, limit.kind)
        return [
            held(asked, model, part, cell)
            for model, part, cell in gaps(self.result, limit, asked.metric)
            if model in wanted
        ]


def _best_of_any(gates: Sequence[Gate]) -> Gate:
    """Return the gate of the model that comes nearest, by the slice in which it is worst."""
    worst: dict[str | None, Gate] = {}
    for gate in gates:
        known = worst.get(gate.model)
        worst[gate.model] = gate if known is None else min(known, gate, key=slack)
    best = max(worst.values(), key=slack)
    return replace(best, among=len(worst))


def _check_limit(limit: Limit, metric: str, cell: Cell) -> None:
    """Refuse a part that a count does not have, and a limit beyond what the measure may be."""
    if limit.part != "value" and is_number(cell) and not isinstance(cell, Estimate):
        raise UsageError.of(f"'{metric}' is a count: it has no .{limit.part}", "bad-gate")
    if not is_number(cell):
        raise UsageError.of(f"--{limit.kind}: '{metric}' is no number", "bad-gate")
    _check_range(limit, metric)


def check_ranges(limits: Iterable[Limit]) -> None:
    """Refuse limits beyond what their measures may be, before anything is computed."""
    for limit in limits:
        known = (name for name in same_measure(limit.metric) if name in CATALOG)
        _check_range(limit, next(known, limit.metric))


def _check_range(limit: Limit, metric: str) -> None:
    name = metric.partition(":")[0]
    if name not in CATALOG or limit.share:
        return
    low, high = CATALOG[name].low, CATALOG[name].high
    if limit.compares or limit.part not in ("value", "low", "high"):
        low, high = low - high, high - low
    if limit.limit > high or (limit.limit < low and not limit.kind.endswith("-under")):
        hint = f"{limit.limit:g} % is {limit.limit / 100:g}" if 1 < limit.limit <= 100 else None
        what = (
            f"--{limit.kind}: {limit.limit:g} is beyond '{metric}', which lies in {low:g}..{high:g}"
        )
        raise UsageError.of(what, "bad-gate", hint=hint)


def _turned(looked: _Looked, limits: Sequence[Limit]) -> Iterator[Warn]:
    """Yield a note for each limit that fails what is better, and is no end of a range."""
    for limit in limits:
        word, _, side = limit.kind.partition("-")
        other = {"under": f"{word}-over", "over": f"{word}-under"}.get(side)
        if other is None or limit.part.startswith(("gap", "extremes")):
            continue
        metric = named_metric(limit, looked.cells, looked.result)
        column = page_of(looked.result.command).column(metric)
        sure = metric.partition(":")[0] in CATALOG or (column is not None and column.best)
        wrong = {"under": "min", "over": "max"}[side]
        ends = [one.kind for one in limits if one.metric == limit.metric]
        if sure and best_of(looked.result, metric) == wrong and other not in ends:
            part = "" if limit.part == "value" else f".{limit.part}"
            what = "less" if wrong == "min" else "more"
            text = f"--{limit.kind} {limit.metric}{part}: of '{metric}' {what} is better; is " \
                   f"--{other} {limit.metric}{part}={limit.limit:g} meant?"  # fmt: skip
            yield Warn("gate-turned", text)
