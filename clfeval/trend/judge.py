"""Changes from line to line, and of measures from the accepted line, as independent samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from clfeval.baseline.answer import SIGNIFICANT
from clfeval.baseline.changes import LEVEL, ChangeKey, change_rows
from clfeval.compare.change import Change, change_of_independent
from clfeval.document import Estimate, Row
from clfeval.history.line import HistoryLine, same_rows, same_values
from clfeval.inference.special import critical_value

ROWS, MODEL, SETTINGS = "rows", "model", "settings"
EITHER, PROGRAM = "rows or model", "model or program"  # where nobody can tell


def line_changes(lines: Sequence[HistoryLine]) -> list[tuple[str, ...]]:
    """Return what changed at each of one model's lines since the line before.

    Rows changed where their digest did; the model where only a value did.
    """
    return [(), *(_changes_since(*pair) for pair in pairwise(lines))]


def _changes_since(before: HistoryLine, now: HistoryLine) -> tuple[str, ...]:
    settings = (SETTINGS,) if before.settings != now.settings else ()
    same = same_rows(before, now)
    if same is False:
        return (*settings, ROWS)
    if settings or same_values(now, before):
        return settings
    if same is None:
        return (EITHER,)
    return (MODEL,) if before.version == now.version else (PROGRAM,)


def measure_changes(
    series: Mapping[str, Sequence[HistoryLine]], accepted: Mapping[str, HistoryLine], last: str,
    command: str,
) -> tuple[list[Row], list[Row]]:  # fmt: skip
    """Return changes of each measure at the last label from the accepted line, and their step.

    Rows of `comparisons`: from the line before where none was accepted. Rows of `steps`, of
    significant changes: since: the label of the change point of the mean; cause: what changed
    there.
    """
    found, sides = dict[ChangeKey, Change](), dict[str, HistoryLine]()
    for name, lines in series.items():
        now, base = lines[-1], accepted.get(name, lines[-2] if len(lines) > 1 else None)
        if now.label == last and base is not None and base != now:
            sides[name] = base
            for measure in dict.fromkeys((*now.measures, *base.measures)):
                found[name, measure] = change_between(base, now, measure)
    rows = change_rows(
        "label", found, command,
        lambda name: (sides[name].label, series[name][-1].level or LEVEL),
    )  # fmt: skip
    told = [row for row in rows if row["p_adjusted"] is not None and row["verdict"] in SIGNIFICANT]
    return rows, [_step_row(row,
                            lines_since_accepted(series[str(row["model"])],
                                                 sides[str(row["model"])]))
                  for row in told]  # fmt: skip


def change_between(base: HistoryLine, now: HistoryLine, measure: str) -> Change:
    """Return the change of a measure from line to line, as of two independent samples."""
    old, new = (one.measures[measure].estimate if measure in one.measures else None
                for one in (base, now))  # fmt: skip
    change = change_of_independent(old, new, level=now.level or LEVEL)
    if base.settings != now.settings:
        return Change(change.old, change.new, Estimate(None, reason="other_settings"))
    return change


def _step_row(row: Row, path: Sequence[HistoryLine]) -> Row:
    """Return at which label a measure changed, and what changed there."""
    at = change_point(path, str(row["measure"]))
    cause = "" if at is None else ", ".join(line_changes(path)[at])
    return {"model": row["model"], "measure": row["measure"],
            "since": None if at is None else path[at].label, "cause": cause}  # fmt: skip


def lines_since_accepted(lines: Sequence[HistoryLine], base: HistoryLine) -> list[HistoryLine]:
    """Return the line that was accepted and those of later labels."""
    labels = [line.label for line in lines]
    after = labels.index(base.label) + 1 if base.label in labels else 0
    return [base, *(lines[after:] or lines[-1:])]


def change_point(path: Sequence[HistoryLine], measure: str) -> int | None:
    """Return the change point of a measure's mean, by least squares.

    The k that makes (mean of k.. - mean of ..k)² a b / (a + b) largest, a and b the sums of the
    weights 1 / se² of either side; equal weights where some se is unknown. None without two lines
    of these settings.
    """
    places, values, errors = [], [], []
    for place, line in enumerate(path):
        cell = line.measures.get(measure)
        if cell is not None and cell.value is not None and line.settings == path[-1].settings:
            places.append(place)
            values.append(cell.value)
            se = cell.se
            if se is None and cell.low is not None and cell.high is not None:
                se = (cell.high - cell.low) / 2 / critical_value(line.level or LEVEL)
            errors.append(se)
    if len(places) < 2:
        return None
    x = np.array(values, np.float64)
    known = np.clip(np.array([one for one in errors if one], np.float64), 1e-50, 1e50)
    w = known**-2.0 if len(known) == len(errors) else np.ones(len(x))
    a, s = np.cumsum(w)[:-1], np.cumsum(w * x)[:-1]
    b, t = (np.cumsum(one[::-1])[-2::-1] for one in (w, w * x))
    return places[1 + int(np.argmax((t / b - s / a) ** 2 * a * b / (a + b)))]
