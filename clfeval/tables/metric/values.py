"""Missing, text and infinite values: their errors, and options that exclude the fewest values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from clfeval.arrays import Bools
from clfeval.errors import MAX_PROBLEMS, DataError, Problem, list_names
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass
from clfeval.tables.metric.grid import (
    CODES,
    INFINITE,
    MISSING,
    PERCENT,
    SPELLED,
    TEXT,
    UNDEFINED,
    Grid,
    Sheet,
    Status,
    describe_flaw,
    is_estimate,
    is_numeric,
)
from clfeval.tables.readings.notations import COMMA, comma_hint, means_missing, null_value_hint

CORNERS = 3  # corners of a polygon: at least as many metrics remain
WORDS = 3  # distinct texts among numbers that may all mean missing
_POINT = re.compile(r"[-+]?\d*\.\d+")
_COMMA = re.compile(r"[-+]?\d*,\d+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")


def smallest_exclusion(lacking: Bools, *, metrics: bool) -> tuple[list[int], int] | None:
    """Return the metrics, and the number of models, to exclude with the fewest cells of (k, n).

    At least one model and three metrics stay, else None. metrics: whether they may be excluded.
    """
    counts = lacking.sum(axis=0)
    exclusions: list[tuple[int, list[int], int]] = []
    for most in sorted({0, *counts.tolist()} if metrics else {counts.max()}, reverse=True):
        gone = np.flatnonzero(counts > most).tolist()
        remaining = np.delete(lacking, gone, axis=1)
        dropped = int(remaining.any(axis=1).sum())
        if remaining.shape[1] < min(CORNERS, len(counts)) or dropped == len(lacking):
            continue
        lost = dropped * len(counts) + (len(lacking) - dropped) * len(gone)
        exclusions.append((lost, gone, dropped))
    return (
        min(exclusions, key=lambda exclusion: (exclusion[0], len(exclusion[1])))[1:]
        if exclusions
        else None
    )


def percent_metrics(status: Status) -> Bools:
    """Return which metrics (n) have a percent sign at all of their numbers."""
    signed = status == PERCENT
    plain = np.isin(status, (PERCENT, MISSING, UNDEFINED, TEXT), invert=True)
    return np.asarray(signed.any(axis=0) & ~plain.any(axis=0))


def check_values(
    grid: Grid, sheet: Sheet, status: Status, *, is_chosen: bool = False, drop: bool = False
) -> None:
    """Raise DataError for all missing, text and infinite values of a sheet.

    is_chosen: metrics are those requested, so hints exclude none. drop: models with gaps are
    excluded.
    """
    if status.any():
        invalid = _InvalidCells(grid, sheet, status, is_chosen, drop)
        raise DataError.from_errors_with_fixes(list(invalid.errors()))


@dataclass(frozen=True, slots=True, eq=False)
class _InvalidCells:
    grid: Grid
    sheet: Sheet
    status: Status
    is_chosen: bool
    drop: bool

    def errors(self) -> Iterable[DataError]:
        """Yield one error for each kind of invalid cell."""
        status = self.status
        spelled, signed, endless, words = (
            status == kind for kind in (SPELLED, PERCENT, INFINITE, TEXT)
        )
        # metrics of text rather than numbers: half of the cells, or many texts
        filled = ~np.isin(status, (MISSING, UNDEFINED))
        wordy = words.any(axis=0) & (2 * words.sum(axis=0) >= filled.sum(axis=0))
        for j in np.flatnonzero(words.any(axis=0) & ~wordy).tolist():
            wordy[j] = len({*self._texts(words, [j])}) > WORDS
        lost = np.zeros(status.shape[1], bool)
        if self._may_go(wordy):
            lost |= wordy
        if spelled.any():
            yield from self._decimal(spelled, lost)
        if signed.any():
            first = self._texts(signed)[0].strip()
            share = float(first.rstrip("%").rstrip().replace(",", ".")) / 100
            hint = f"write percent signs at all numbers or none; '{first}' is {share:g}"
            message = "has a percent sign, but other values do not"
            yield self._error(signed, hint, {}, message)
        if endless.any():
            yield self._left_out(endless, lost, "replace the infinite value")
        for cells in (words & lost, words & ~lost):
            if cells.any():
                yield from self._words(cells, lost)
        if not filled.all():
            hint, fixes = self._gaps((~filled | words)[:, ~lost], lost)
            yield self._error(~filled, f"fill the cells, or {hint}", fixes)

    def _may_go(self, metrics: Bools) -> bool:
        return not self.is_chosen and len(metrics) - int(metrics.sum()) >= CORNERS

    def _texts(
        self, selected: Bools, metrics: Iterable[int] | None = None, *, typed: bool = True
    ) -> list[str]:
        """Return some cells as text; typed: also those of numeric types, which use a point."""
        columns = range(selected.shape[1]) if metrics is None else metrics
        places = ((i, j) for j in columns for i in np.flatnonzero(selected[:, j]).tolist())
        cells = [self._raw(i, j) for i, j in places]
        return [str(cell) for cell in cells if typed or isinstance(cell, str)]

    def _raw(self, i: int, j: int) -> object:
        record, column = self.sheet.places.place_of(i, j)
        cell = self.grid.cells[column][record]
        return cell["value"] if is_estimate(cell) else cell

    def _decimal(self, spelled: Bools, lost: Bools) -> Iterable[DataError]:
        texts = self._texts(spelled)
        first, comma = texts[0].strip(), self.grid.decimal == "."
        theirs = _POINT if comma else _COMMA
        others = is_numeric(self.status) & ~spelled
        either = comma_hint(texts) if comma else None
        if not any(theirs.search(text) for text in self._texts(others, typed=False)):
            if either is None:
                yield self._other_sign(spelled, first, "," if comma else ".")
            else:
                yield self._error(spelled, either, {}, COMMA)
        elif comma and all(map(_THOUSANDS.fullmatch, map(str.strip, texts))):
            yield self._left_out(spelled, lost, f"write '{first}' as {first.replace(',', '')}")
        else:
            old, new = (",", ".") if comma else (".", ",")
            hint = f"if the {'comma' if comma else 'point'} is decimal,"
            yield self._error(spelled, f"{hint} write '{first}' as {first.replace(old, new)}", {})

    def _other_sign(self, spelled: Bools, first: str, sign: str) -> DataError:
        """Return the error of columns with another decimal sign than the declared one."""
        places = self.sheet.places
        columns = {
            places.place_of(i, j)[1]: (i, j) for i, j in reversed(np.argwhere(spelled).tolist())
        }
        word = "comma" if sign == "," else "point"
        problems = []
        for column, cell in sorted(columns.items()):
            message = f"numbers with a decimal {word}, such as '{str(self._raw(*cell)).strip()}'"
            place = self.grid.name, None, self.grid.columns[column]
            problems.append(Problem(message, "decimal-comma", *place))
        value = first.replace(",", ".")
        hint = f"add {OPTION}--decimal '{sign}'{END} to read '{first}' as {value}"
        return DataError(problems, hint=hint, fixes={"decimal": sign})

    def _left_out(self, cells: Bools, lost: Bools, hint: str) -> DataError:
        """Return the error of metrics that are best excluded, if enough others remain."""
        left_out = np.asarray(cells.any(axis=0))
        if not self._may_go(left_out | lost):
            return self._error(
                cells, f"{hint}, or choose other metrics with {OPTION}--metric{END}", {}
            )
        lost |= left_out
        return self._error(
            cells, f"{hint}, or leave out {self._names(left_out)}", self._fix(left_out)
        )

    def _words(self, cells: Bools, lost: Bools) -> Iterable[DataError]:
        left_out = np.asarray(cells.any(axis=0))
        texts = list(dict.fromkeys(self._texts(cells)))
        text = texts[0].strip()
        if lost[left_out].all():
            hint = (
                f"{null_value_hint(text)}; if it is not a metric, leave out {self._names(left_out)}"
            )
            yield self._error(cells, hint, self._fix(left_out))
            return
        hint, then = null_value_hint(text), ""
        fixes: dict[str, Any] = {}
        if not np.isin(self.status, (MISSING, UNDEFINED)).any():  # else the hint is on those
            then, fixes = self._gaps(cells[:, ~lost], lost)
        hint += f", and {then}" * bool(fixes)
        if not means_missing(text):
            hint += f"; if a column is not a metric, add {OPTION}--ignore COLUMN{END}"
        yield self._error(cells, hint, {"null_value": tuple(texts), **fixes})

    def _gaps(self, lacking: Bools, lost: Bools) -> tuple[str, dict[str, Any]]:
        """Return the options that exclude the fewest values so that none is missing."""
        kept_places = np.flatnonzero(~lost)
        plan = None if self.drop else smallest_exclusion(lacking, metrics=not self.is_chosen)
        if plan is None:
            return f"add {OPTION}--missing drop{END} to leave such models out", {}
        left_out = np.zeros(len(lost), bool)
        metrics, models = plan
        left_out[kept_places[metrics]] = True
        parts, fixes = [], dict[str, Any]()
        if metrics:
            fixes |= self._fix(left_out)
            share = f"{len(metrics)} of {len(lost)} metrics"
            parts.append(f"leave out {share} ({self._names(left_out)})")
        if models:
            fixes |= {"missing": "drop"}
            parts.append(
                f"add {OPTION}--missing drop{END} to leave out {models} of {len(lacking)} models"
            )
        return " and ".join(parts), fixes

    def _names(self, metrics: Bools) -> str:
        return list_names(self._fix(metrics)["ignore"], WORDS)

    def _fix(self, metrics: Bools) -> dict[str, Any]:
        return {"ignore": tuple(self.sheet.metrics[j] for j in np.flatnonzero(metrics).tolist())}

    def _error(
        self, selected: Bools, hint: str, fixes: Mapping[str, Any], message: str | None = None
    ) -> DataError:
        pairs = np.argwhere(selected.T)[:, ::-1] if self.sheet.turned else np.argwhere(selected)
        problems = [self._problem(i, j, message) for i, j in pairs[:MAX_PROBLEMS].tolist()]
        totals = Counter(CODES[kind] for kind in self.status[selected].tolist())
        return DataError(problems, hint=hint, totals=totals, fixes=fixes)

    def _problem(self, i: int, j: int, fault: str | None) -> Problem:
        grid, sheet, status = self.grid, self.sheet, int(self.status[i, j])
        record, column = sheet.places.place_of(i, j)
        if record < 0:
            message = f"model '{sheet.models[i]}' has no '{sheet.metrics[j]}'"
            return Problem(message, "missing-value", grid.name)
        reason_column = sheet.reasons.get(column)
        reason = None if reason_column is None else grid.cells[reason_column][record]
        message = describe_flaw(grid.cells[column][record], status, reason)
        if fault is not None:
            message = f"'{str(self._raw(i, j)).strip()}' {fault}"
        return Problem(message, CODES[status], grid.name, grid.rows[record], grid.columns[column])
