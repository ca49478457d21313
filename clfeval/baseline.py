"""A result beside one saved earlier: what was, what is, how far it moved, and how sure that is."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping

from clfeval.errors import UsageError, listing
from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import AIMS
from clfeval.pages import page_of
from clfeval.result import POPULATIONS, Cell, Estimate, Result, Row, Rows, Warn, size_of

BETTER, WORSE, OPEN, SAME, MOVED = "better", "worse", "not told apart", "the same", "changed"
NEW, GONE, UNKNOWN = "new", "gone", "undefined"


def read_baseline(baseline: str | os.PathLike[str] | Result) -> Result:
    """Return a saved result; raises UsageError when it is none of ours or too new."""
    if isinstance(baseline, Result):
        return baseline
    name = os.fspath(baseline)
    try:
        with open(name, encoding="utf-8") as stream:
            return Result.from_json(stream.read())
    except OSError as error:
        what = f"cannot read the baseline: {error.strerror}"
        raise UsageError.of(what, "baseline", name) from error
    except ValueError as error:
        hint = "a baseline is a result saved as .json"
        raise UsageError.of(f"no usable baseline: {error}", "baseline", name, hint=hint) from error


def check_comparable(result: Result, baseline: Result) -> None:
    """Refuse a baseline made with other settings; the data may differ, that is the point."""

    def settings(item: Result) -> dict[str, str]:
        pairs = (part.partition(":") for part in item.signature.split("|"))
        return {key: value for key, _, value in pairs if key not in ("data", "stats", "clfeval")}

    ours, theirs = settings(result), settings(baseline)
    if ours != theirs:
        differ = [
            f"{key} {theirs.get(key, 'not given')} there, {ours.get(key, 'not given')} here"
            for key in ours | theirs
            if ours.get(key) != theirs.get(key)
        ]
        what = f"the baseline was made with other settings: {'; '.join(differ)}"
        hint = "compare like with like: make the baseline with the same options"
        raise UsageError.of(what, "baseline", hint=hint)


def labelled(result: Result) -> Mapping[str, Row]:
    """Return the rows that speak for the whole table by label: of models, or of features."""
    whole = result.whole("models" if "models" in result.tables else "features")
    several = bool(len(whole)) and whole[0].get("population") == POPULATIONS[0]
    found = {f"{name_of(row)} at {row['odds']}" if several else name_of(row): row for row in whole}
    more = _by_measure(result.whole("metrics"))
    return {label: {**more.get(label, {}), **row} for label, row in found.items()}


def _by_measure(tidy: Rows) -> dict[str, dict[str, Cell]]:
    """Return the values of a table of measures by model, and by the name with its parameters."""
    found: dict[str, dict[str, Cell]] = {}
    for row in tidy:
        if "model" in row:  # other tables of that name are about measures alone
            name = str(row["metric"])
            found.setdefault(str(row["model"]), {}).setdefault(name, row["value"])
    return found


def name_of(row: Row) -> str:
    """Return the name of a model or feature."""
    return str(row.get("model", row.get("feature")))


def gone_note(result: Result, baseline: Result) -> tuple[Warn, ...]:
    """Name the models, or features, that only the baseline has."""
    gone = sorted(set(labelled(baseline)) - set(labelled(result)))
    if not gone:
        return ()
    return (Warn("baseline-models", f"models of the baseline that are gone: {listing(gone)}"),)


def baseline_rows(result: Result, baseline: Result) -> list[Row]:
    """Return each model's measures then and now, the change, its interval and a verdict.

    change = new - old   low = change - sqrt((new - new.low)² + (old.high - old)²)
    high = change + sqrt((new.high - new)² + (old - old.low)²)

    as of two independent samples; where both results are of the same rows it is wider than it need
    be. Undefined, without interval, where one of the two is. A change is better or worse where its
    interval excludes 0; without intervals, or where 0 is best, a value is only the same or changed.
    Source: Zou and Donner 2008, Statistics in Medicine 27:1693 (MOVER).
    """
    before, now = labelled(baseline), labelled(result)
    rows: list[Row] = []
    for model in dict.fromkeys((*now, *before)):
        old, new = before.get(model, {}), now.get(model, {})
        for name in dict.fromkeys((*new, *old)):
            cells = [cell for cell in (old.get(name), new.get(name)) if isinstance(cell, Estimate)]
            if cells:
                was, is_ = (
                    cell if isinstance(cell, Estimate) else None
                    for cell in (old.get(name), new.get(name))
                )
                rows.append(_row(result, model, name, was, is_))
    return rows


def _row(result: Result, model: str, name: str, old: Estimate | None, new: Estimate | None) -> Row:
    if old is None or new is None:
        change, verdict = Estimate(None, reason="not_in_both"), GONE if new is None else NEW
    else:
        change = difference(old, new)
        verdict = _verdict(change, best_of(result, name))
    return {
        "model": model, "measure": name, "old": old or Estimate(None, reason="not_in_both"),
        "new": new or Estimate(None, reason="not_in_both"), "change": change, "verdict": verdict,
    }  # fmt: skip


def difference(old: Estimate, new: Estimate) -> Estimate:
    """Return new - old with its interval, each estimate's distances added in squares.

    A limit on the wrong side of its value, as a percentile may be, counts as the value.
    """
    if old.value is None or new.value is None:
        return _endless(old, new)
    value = new.value - old.value
    if None in (old.low, old.high, new.low, new.high):
        return Estimate(value)
    ends = old.low, old.high, new.low, new.high
    low, high, now_low, now_high = (float(end or 0.0) for end in ends)
    down = math.hypot(max(new.value - now_low, 0.0), max(high - old.value, 0.0))
    up = math.hypot(max(now_high - new.value, 0.0), max(old.value - low, 0.0))
    return Estimate(value, value - down, value + up)


def _endless(old: Estimate, new: Estimate) -> Estimate:
    """Return a change without a finite value: to or away from what is infinite, or undefined."""
    before, now = size_of(old), size_of(new)
    if before is None or now is None:
        return Estimate(None, reason=(new if now is None else old).reason or "undefined")
    reasons = {math.inf: "infinite", -math.inf: "minus_infinite"}
    return Estimate(None, reason=reasons.get(now - before, "undefined"))


def best_of(result: Result, metric: str) -> str:
    """Say which way is better: of a measure as it says, of another column as its table says."""
    column, name = page_of(result.command).column(metric), metric.partition(":")[0]
    return CATALOG[name].best if name in CATALOG else (column and column.best) or "max"


def _verdict(change: Estimate, best: str) -> str:
    if size_of(change) is None:
        return UNKNOWN
    if change.value == 0:
        return SAME
    if change.low is None or change.high is None:
        return MOVED
    if change.low <= 0 <= change.high:
        return OPEN
    if best in AIMS or best == "none":
        return MOVED
    return BETTER if (change.low > 0) == (best == "max") else WORSE
