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

LEAST_METRICS = 3  # corners of a polygon: at least as many metrics remain
MOST_TEXTS = 3  # distinct texts among numbers that may all mean missing
_POINT = re.compile(r"[-+]?\d*\.\d+")
_COMMA = re.compile(r"[-+]?\d*,\d+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")


def smallest_exclusion(is_lacking: Bools, *, metrics: bool) -> tuple[list[int], int] | None:
    """Return the metrics, and the number of models, to exclude with the fewest cells.

    At least one model and three metrics (or all, if there are fewer) stay, else None. is_lacking
    (k, n): which values of models and metrics are missing. metrics: whether they may be excluded.
    """
    lacking_counts = is_lacking.sum(axis=0)
    model_count, metric_count = is_lacking.shape
    limits = {0, *lacking_counts.tolist()} if metrics else {lacking_counts.max()}
    exclusions: list[tuple[int, list[int], int]] = []
    for limit in sorted(limits, reverse=True):  # of missing cells of a metric that stays
        excluded_metrics = np.flatnonzero(lacking_counts > limit).tolist()
        remaining = np.delete(is_lacking, excluded_metrics, axis=1)
        lost_model_count = int(remaining.any(axis=1).sum())
        if remaining.shape[1] < min(LEAST_METRICS, metric_count) or lost_model_count == model_count:
            continue
        lost_cells = lost_model_count * metric_count
        lost_cells += (model_count - lost_model_count) * len(excluded_metrics)
        exclusions.append((lost_cells, excluded_metrics, lost_model_count))
    if not exclusions:
        return None
    _, excluded_metrics, lost_model_count = min(
        exclusions, key=lambda exclusion: (exclusion[0], len(exclusion[1]))
    )
    return excluded_metrics, lost_model_count


def percent_metrics(status: Status) -> Bools:
    """Return which metrics (n) have a percent sign at all of their numbers."""
    is_percent = status == PERCENT
    is_plain_number = np.isin(status, (PERCENT, MISSING, UNDEFINED, TEXT), invert=True)
    return np.asarray(is_percent.any(axis=0) & ~is_plain_number.any(axis=0))


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
    """The invalid cells of a sheet. Masks of cells are (k, n), those of metrics (n,)."""

    grid: Grid
    sheet: Sheet
    status: Status
    is_chosen: bool
    drop: bool

    def errors(self) -> Iterable[DataError]:
        """Yield one error for each kind of invalid cell."""
        status = self.status
        is_spelled, is_percent, is_infinite, is_text = (
            status == kind for kind in (SPELLED, PERCENT, INFINITE, TEXT)
        )
        is_filled = ~np.isin(status, (MISSING, UNDEFINED))
        is_text_metric = self._text_metrics(is_text, is_filled)
        is_excluded = np.zeros(status.shape[1], bool)
        if self._may_exclude(is_text_metric):
            is_excluded |= is_text_metric
        if is_spelled.any():
            yield from self._decimal(is_spelled, is_excluded)
        if is_percent.any():
            first_text = self._texts(is_percent)[0].strip()
            fraction = float(first_text.rstrip("%").rstrip().replace(",", ".")) / 100
            hint = f"write percent signs at all numbers or none; '{first_text}' is {fraction:g}"
            message = "has a percent sign, but other values do not"
            yield self._error(is_percent, hint, {}, message)
        if is_infinite.any():
            yield self._left_out(is_infinite, is_excluded, "replace the infinite value")
        for is_selected in (is_text & is_excluded, is_text & ~is_excluded):
            if is_selected.any():
                yield from self._words(is_selected, is_excluded)
        if not is_filled.all():
            is_lacking = (~is_filled | is_text)[:, ~is_excluded]
            hint, fixes = self._gaps(is_lacking, is_excluded)
            yield self._error(~is_filled, f"fill the cells, or {hint}", fixes)

    def _text_metrics(self, is_text: Bools, is_filled: Bools) -> Bools:
        """Return which metrics are of text rather than numbers: half of the cells, or many texts.

        is_text, is_filled: of cells.
        """
        has_text = is_text.any(axis=0)
        is_text_metric = has_text & (2 * is_text.sum(axis=0) >= is_filled.sum(axis=0))
        for metric_index in np.flatnonzero(has_text & ~is_text_metric).tolist():
            distinct_texts = {*self._texts(is_text, [metric_index])}
            is_text_metric[metric_index] = len(distinct_texts) > MOST_TEXTS
        return np.asarray(is_text_metric)

    def _may_exclude(self, is_excluded: Bools) -> bool:
        """Return whether metrics may be excluded: none was requested, and three remain."""
        return not self.is_chosen and len(is_excluded) - int(is_excluded.sum()) >= LEAST_METRICS

    def _texts(
        self, is_selected: Bools, metric_indices: Iterable[int] | None = None, *, typed: bool = True
    ) -> list[str]:
        """Return some cells as text; typed: also those of numeric types, which use a point."""
        selected_metrics = range(is_selected.shape[1]) if metric_indices is None else metric_indices
        indices = (
            (model_index, metric_index)
            for metric_index in selected_metrics
            for model_index in np.flatnonzero(is_selected[:, metric_index]).tolist()
        )
        cells = [self._raw(model_index, metric_index) for model_index, metric_index in indices]
        return [str(cell) for cell in cells if typed or isinstance(cell, str)]

    def _raw(self, model_index: int, metric_index: int) -> object:
        """Return the cell of a model and a metric as it is in the table."""
        record, column = self.sheet.places.place_of(model_index, metric_index)
        cell = self.grid.cells[column][record]
        return cell["value"] if is_estimate(cell) else cell

    def _decimal(self, is_spelled: Bools, is_excluded: Bools) -> Iterable[DataError]:
        """Yield the error of numbers with another decimal sign, or with thousands separators."""
        spelled_texts = self._texts(is_spelled)
        first_text = spelled_texts[0].strip()
        has_commas = self.grid.decimal == "."
        other_pattern = _POINT if has_commas else _COMMA
        is_other = is_numeric(self.status) & ~is_spelled
        ambiguity_hint = comma_hint(spelled_texts) if has_commas else None
        if not any(
            other_pattern.search(other_text) for other_text in self._texts(is_other, typed=False)
        ):
            if ambiguity_hint is None:
                yield self._other_sign(is_spelled, first_text, "," if has_commas else ".")
            else:
                yield self._error(is_spelled, ambiguity_hint, {}, COMMA)
        elif has_commas and all(map(_THOUSANDS.fullmatch, map(str.strip, spelled_texts))):
            yield self._left_out(
                is_spelled, is_excluded, f"write '{first_text}' as {first_text.replace(',', '')}"
            )
        else:
            old_sign, new_sign = (",", ".") if has_commas else (".", ",")
            hint = f"if the {'comma' if has_commas else 'point'} is decimal,"
            yield self._error(
                is_spelled,
                f"{hint} write '{first_text}' as {first_text.replace(old_sign, new_sign)}",
                {},
            )

    def _other_sign(self, is_spelled: Bools, first_text: str, sign: str) -> DataError:
        """Return the error of columns with another decimal sign than the declared one."""
        places = self.sheet.places
        cell_of_column = {
            places.place_of(model_index, metric_index)[1]: (model_index, metric_index)
            for model_index, metric_index in reversed(np.argwhere(is_spelled).tolist())
        }
        sign_name = "comma" if sign == "," else "point"
        problems = []
        for column, cell in sorted(cell_of_column.items()):
            message = (
                f"numbers with a decimal {sign_name}, such as '{str(self._raw(*cell)).strip()}'"
            )
            cell_place = self.grid.name, None, self.grid.columns[column]
            problems.append(Problem(message, "decimal-comma", *cell_place))
        number_text = first_text.replace(",", ".")
        hint = f"add {OPTION}--decimal '{sign}'{END} to read '{first_text}' as {number_text}"
        return DataError(problems, hint=hint, fixes={"decimal": sign})

    def _left_out(self, is_selected: Bools, is_excluded: Bools, hint: str) -> DataError:
        """Return the error of metrics that are best excluded, if enough others remain.

        is_excluded: the metrics excluded so far, to which these are added.
        """
        is_left_out = np.asarray(is_selected.any(axis=0))
        if not self._may_exclude(is_left_out | is_excluded):
            return self._error(
                is_selected, f"{hint}, or choose other metrics with {OPTION}--metric{END}", {}
            )
        is_excluded |= is_left_out
        return self._error(
            is_selected, f"{hint}, or leave out {self._names(is_left_out)}", self._fix(is_left_out)
        )

    def _words(self, is_selected: Bools, is_excluded: Bools) -> Iterable[DataError]:
        """Yield the error of texts that may mean missing, or are in metrics to exclude."""
        is_text_metric = np.asarray(is_selected.any(axis=0))
        texts = list(dict.fromkeys(self._texts(is_selected)))
        first_text = texts[0].strip()
        if is_excluded[is_text_metric].all():
            hint = f"{null_value_hint(first_text)}; if it is not a metric, "
            hint += f"leave out {self._names(is_text_metric)}"
            yield self._error(is_selected, hint, self._fix(is_text_metric))
            return
        hint = null_value_hint(first_text)
        gap_hint = ""
        fixes: dict[str, Any] = {}
        if not np.isin(self.status, (MISSING, UNDEFINED)).any():  # else the hint is on those
            gap_hint, fixes = self._gaps(is_selected[:, ~is_excluded], is_excluded)
        if fixes:
            hint += f", and {gap_hint}"
        if not means_missing(first_text):
            hint += f"; if a column is not a metric, add {OPTION}--ignore COLUMN{END}"
        yield self._error(is_selected, hint, {"null_value": tuple(texts), **fixes})

    def _gaps(self, is_lacking: Bools, is_excluded: Bools) -> tuple[str, dict[str, Any]]:
        """Return the options that exclude the fewest values so that none is missing.

        is_lacking: of the cells of the metrics that are not excluded.
        """
        remaining_metrics = np.flatnonzero(~is_excluded)
        exclusion = (
            None if self.drop else smallest_exclusion(is_lacking, metrics=not self.is_chosen)
        )
        if exclusion is None:
            return f"add {OPTION}--missing drop{END} to leave such models out", {}
        is_left_out = np.zeros(len(is_excluded), bool)
        metric_indices, model_count = exclusion
        is_left_out[remaining_metrics[metric_indices]] = True
        phrases = []
        fixes = dict[str, Any]()
        if metric_indices:
            fixes |= self._fix(is_left_out)
            share_text = f"{len(metric_indices)} of {len(is_excluded)} metrics"
            phrases.append(f"leave out {share_text} ({self._names(is_left_out)})")
        if model_count:
            fixes |= {"missing": "drop"}
            share_text = f"{model_count} of {len(is_lacking)} models"
            phrases.append(f"add {OPTION}--missing drop{END} to leave out {share_text}")
        return " and ".join(phrases), fixes

    def _names(self, in_metrics: Bools) -> str:
        """Return the names of some metrics, in words."""
        return list_names(self._fix(in_metrics)["ignore"], MOST_TEXTS)

    def _fix(self, in_metrics: Bools) -> dict[str, Any]:
        """Return the option that excludes some metrics."""
        return {
            "ignore": tuple(
                self.sheet.metrics[metric_index]
                for metric_index in np.flatnonzero(in_metrics).tolist()
            )
        }

    def _error(
        self, is_selected: Bools, hint: str, fixes: Mapping[str, Any], message: str | None = None
    ) -> DataError:
        """Return the error of some cells; message: words that follow the text of each."""
        cell_indices = (
            np.argwhere(is_selected.T)[:, ::-1] if self.sheet.turned else np.argwhere(is_selected)
        )
        problems = [
            self._problem(model_index, metric_index, message)
            for model_index, metric_index in cell_indices[:MAX_PROBLEMS].tolist()
        ]
        totals = Counter(CODES[kind] for kind in self.status[is_selected].tolist())
        return DataError(problems, hint=hint, totals=totals, fixes=fixes)

    def _problem(self, model_index: int, metric_index: int, fault: str | None) -> Problem:
        """Return the problem of one cell; fault: words that follow its text."""
        grid, sheet = self.grid, self.sheet
        status = int(self.status[model_index, metric_index])
        record, column = sheet.places.place_of(model_index, metric_index)
        if record < 0:
            message = f"model '{sheet.models[model_index]}' has no '{sheet.metrics[metric_index]}'"
            return Problem(message, "missing-value", grid.name)
        reason_column = sheet.reasons.get(column)
        reason = None if reason_column is None else grid.cells[reason_column][record]
        message = describe_flaw(grid.cells[column][record], status, reason)
        if fault is not None:
            message = f"'{str(self._raw(model_index, metric_index)).strip()}' {fault}"
        return Problem(message, CODES[status], grid.name, grid.rows[record], grid.columns[column])
