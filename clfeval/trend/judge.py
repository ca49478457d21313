"""What changed from line to line, and how far measures moved from the line that was accepted.

Nobody kept the rows of earlier lines, so every change is one of two independent samples; of the
same rows its interval is wider than it need be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from clfeval.baseline.compare import (
    BETTER,
    MOVED,
    NEW,
    OPEN,
    SAME,
    UNKNOWN,
    WORSE,
    best_of,
    difference,
)
from clfeval.compare.change import limits_p
from clfeval.history.line import PastLine, PastMeasure, as_result
from clfeval.inference.chance import benjamini_hochberg
from clfeval.inference.special import critical_value
from clfeval.measures.record import AIMS
from clfeval.result import Estimate, Row, estimate

LEVEL = 0.95  # of lines that do not say theirs
ALIKE = 1e-9  # of a value: sums in another order differ by less
ROWS, MODEL, SETTINGS = "rows", "model", "settings"
EITHER, PROGRAM = "rows or model", "model or program"  # where nobody can tell
OTHER = "other settings"  # a verdict
NONE = PastMeasure(None, reason="not_in_both")


def marks_of(lines: Sequence[PastLine]) -> list[tuple[str, ...]]:
    """Return what changed at each of one model's lines since the line before; nothing at the first.

    Rows changed where their digest did. The model changed where the rows did not and some value
    did; with other settings, or on other rows, nobody can tell.
    """
    return [(), *(_marks(*pair) for pair in pairwise(lines))]


def _marks(before: PastLine, now: PastLine) -> tuple[str, ...]:
    settings = (SETTINGS,) if before.settings != now.settings else ()
    same = same_rows(before, now)
    if same is False:
        return (*settings, ROWS)
    if settings or not _moved(before, now):
        return settings
    if same is None:
        return (EITHER,)
    return (MODEL,) if before.version == now.version else (PROGRAM,)


def same_rows(one: PastLine, other: PastLine) -> bool | None:
    """Tell whether two lines are of the same rows; None where nobody knows."""
    digests = [line.truth for line in (one, other) if line.truth is not None]
    if len(digests) == 2 and len({digest.partition(":")[0] for digest in digests}) == 1:
        return digests[0] == digests[1]
    if (one.rows, one.positives) != (other.rows, other.positives):
        return False
    if one.data and None not in one.data and one.data == other.data:
        return True
    return None


def _moved(before: PastLine, now: PastLine) -> bool:
    """Tell whether a measure that both lines have is another."""
    return any(
        not _alike(before.measures[name], cell)
        for name, cell in now.measures.items()
        if name in before.measures
    )


def _alike(one: PastMeasure, other: PastMeasure) -> bool:
    if one.value is None or other.value is None:
        return one.reason == other.reason and one.value == other.value
    return math.isclose(one.value, other.value, rel_tol=ALIKE, abs_tol=ALIKE)


def changes_of(
    series: Mapping[str, Sequence[PastLine]], accepted: Mapping[str, PastLine], last: str
) -> list[Row]:
    """Return how far each measure at the last label is from the accepted line of its model.

    From the line before where none was accepted; models without either are new, and of models
    whose accepted line is the last there is nothing to say. p: of no change, at which the interval
    of the change would end at 0. q: p by Benjamini and Hochberg's rule over all models and measures
    that no gate names. A change is told by q at most 1 - level; where a gate names the measure, by
    its interval. since: the label at which the lines from the accepted one on fall best into two
    means; cause: what changed there.
    """
    rows: list[dict[str, Any]] = []
    for name, lines in series.items():
        now, base = lines[-1], accepted.get(name, lines[-2] if len(lines) > 1 else None)
        if now.label == last and base != now:
            rows += _of_model(name, lines, base, now)
    p = np.array([row["p"] if not row["gated"] else None for row in rows], np.float64)
    for row, q in zip(rows, benjamini_hochberg(p).tolist(), strict=True):
        row["q"] = None if math.isnan(q) else q
    return [_told(row) for row in rows]


def _of_model(
    name: str, lines: Sequence[PastLine], base: PastLine | None, now: PastLine
) -> Iterator[dict[str, Any]]:
    """Yield a row for each measure, without a verdict where it takes the others to say one."""
    level = now.level or LEVEL
    alike = base is None or base.settings == now.settings
    model = as_result({name: now})
    path = [] if base is None else path_of(lines, base)
    marks = marks_of(path)
    for measure in dict.fromkeys((*now.measures, *(base.measures if base else ()))):
        old, new = (
            (base.measures if base else {}).get(measure, NONE),
            now.measures.get(measure, NONE),
        )
        change = Estimate(None, reason="other_settings" if not alike else "not_in_both")
        if alike and NONE not in (old, new):
            change = difference(old.estimate, new.estimate)
        at = changed_at(path, measure) if change.value else None
        yield {
            "model": name, "measure": measure, "label": now.label,
            "reference": base and base.label, "old": old.estimate, "new": new.estimate,
            "change": change, "p": chance_of_none(change, level), "q": None,
            "gated": measure in now.gates, "best": best_of(model, measure), "alike": alike,
            "since": None if at is None else path[at].label,
            "cause": "" if at is None else ", ".join(marks[at]), "level": level,
        }  # fmt: skip


def _told(row: dict[str, Any]) -> Row:
    """Return a row with its verdict; since when, and why, only where it is one."""
    verdict = _verdict(row)
    told = verdict in (BETTER, WORSE, MOVED)
    kept = ["model", "measure", "reference", "old", "new", "change", "p", "q"]
    return {
        **{name: row[name] for name in kept}, "verdict": verdict,
        "since": row["since"] if told else None, "cause": row["cause"] if told else None,
    }  # fmt: skip


def _verdict(row: Mapping[str, Any]) -> str:
    change, best = estimate(row["change"]), str(row["best"])
    if row["reference"] is None:
        return NEW
    if not row["alike"]:
        return OTHER
    if change.value is None:
        return UNKNOWN
    if change.value == 0:
        return SAME
    if change.low is None or change.high is None:
        return MOVED
    q, level = row["q"], row["level"]
    sure = not change.low <= 0 <= change.high
    if not row["gated"]:
        sure = isinstance(q, float) and isinstance(level, float) and q <= 1 - level
    if not sure:
        return OPEN
    if best in AIMS or best == "none":
        return MOVED
    return BETTER if (change.value > 0) == (best == "max") else WORSE


def chance_of_none(change: Estimate, level: float) -> float | None:
    """Return p of no change: at which level its interval would end at 0; None without one."""
    if change.value is None or change.low is None or change.high is None:
        return None
    return float(limits_p(change.value, change.low, change.high, math.inf, level=level))


def path_of(lines: Sequence[PastLine], base: PastLine) -> list[PastLine]:
    """Return the line that was accepted and those of later labels."""
    labels = [line.label for line in lines]
    after = labels.index(base.label) + 1 if base.label in labels else 0
    return [base, *(lines[after:] or lines[-1:])]


def changed_at(path: Sequence[PastLine], measure: str) -> int | None:
    """Return the place from which on a measure has another mean: least squares of two means.

    The k that makes (mean of k.. - mean of ..k)² a b / (a + b) largest, a and b the sums of the
    weights 1 / se² of either side; equal weights where some se is not known. Lines of other
    settings are left out. None without two lines.
    """
    places, values, errors = [], [], []
    for place, line in enumerate(path):
        cell = line.measures.get(measure)
        if cell is not None and cell.value is not None and line.settings == path[-1].settings:
            places.append(place)
            values.append(cell.value)
            errors.append(_error(cell, line.level or LEVEL))
    if len(places) < 2:
        return None
    x = np.array(values)
    known = [one for one in errors if one]
    w = np.array(known) ** -2.0 if len(known) == len(errors) else np.ones(len(x))
    a, s = np.cumsum(w)[:-1], np.cumsum(w * x)[:-1]
    b, t = w.sum() - a, (w * x).sum() - s
    return places[1 + int(np.argmax((t / b - s / a) ** 2 * a * b / (a + b)))]


def _error(cell: PastMeasure, level: float) -> float | None:
    """Return a standard error: as kept, else from the width of the interval."""
    if cell.se is not None or cell.low is None or cell.high is None:
        return cell.se
    return (cell.high - cell.low) / 2 / critical_value(level)
