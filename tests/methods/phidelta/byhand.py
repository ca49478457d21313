"""The phi-delta plane by hand: METHODS section 2 cell by cell, in fractions where it can be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from tests.reference import Row, confusion
from tests.results import Line, four_cells, rows_by

POSITION = ("sensitivity", "specificity", "phi", "delta")
UNBIASED = (
    "accuracy_u",
    "error_u",
    "precision_u",
    "npv_u",
    "f1_u",
    "mcc_u",
    "mutual_information_u",
)
BIASED = (
    "accuracy",
    "error_rate",
    "precision",
    "npv",
    "f1",
    "mcc",
    "mutual_information",
    "phi_b",
    "delta_b",
)
EVERY = (*POSITION, *UNBIASED, *BIASED)


@dataclass(frozen=True)
class Cells:
    """A 2 x 2 table; P = tp + fn positives, N = fp + tn negatives."""

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def positives(self) -> int:
        return self.tp + self.fn

    @property
    def negatives(self) -> int:
        return self.fp + self.tn

    @property
    def prevalence(self) -> Fraction:
        return Fraction(self.positives, self.positives + self.negatives)

    def exchanged(self) -> Cells:
        """Exchange the classes, in the truth and in the answers."""
        return Cells(tp=self.tn, fp=self.fn, fn=self.fp, tn=self.tp)

    def times(self, positives: int, negatives: int) -> Cells:
        """Repeat the rows of each class."""
        return Cells(
            self.tp * positives, self.fp * negatives, self.fn * positives, self.tn * negatives
        )

    def __add__(self, other: Cells) -> Cells:
        return Cells(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn)

    def values(self) -> dict[str, float | None]:
        """Return every value of a row of `models`; there must be both classes."""
        x, y = Fraction(self.tp, self.positives), Fraction(self.fp, self.negatives)
        even, own = at(x, y, Fraction(1, 2)), at(x, y, self.prevalence)
        exact = {
            "sensitivity": x,
            "specificity": 1 - y,
            "phi": x + y - 1,
            "delta": x - y,
            "error_u": 1 - even["accuracy"],
            "error_rate": 1 - own["accuracy"],
            "phi_b": own["phi_b"],
            "delta_b": own["delta_b"],
            **{f"{name}_u": even[name] for name in MEASURES},
            **{name: own[name] for name in MEASURES},
        }
        return {name: None if v is None else float(v) for name, v in exact.items()}


MEASURES = ("accuracy", "precision", "npv", "f1", "mcc", "mutual_information")


def at(x: Fraction, y: Fraction, p: Fraction) -> dict[str, Any]:
    """Return the measures of a classifier of rates x = TP / P and y = FP / N at prevalence p.

    The cells are shares of all rows; None for 0 / 0.
    """
    n = 1 - p
    tp, fp, fn, tn = p * x, n * y, p * (1 - x), n * (1 - y)
    margins = (tp + fp) * (fn + tn) * (tp + fn) * (fp + tn)
    return {
        "accuracy": tp + tn,
        "precision": _over(tp, tp + fp),
        "npv": _over(tn, tn + fn),
        "f1": _over(2 * tp, 2 * tp + fp + fn),
        "mcc": float(tp * tn - fp * fn) / math.sqrt(margins) if margins else None,
        "mutual_information": bits((tp, fp), (fn, tn)),
        "phi_b": 2 * (fp - fn),
        "delta_b": 2 * (tp + tn) - 1,
    }


def bits(*rows: Sequence[Fraction]) -> float:
    """Return the mutual information of a table of shares: H(rows) + H(columns) - H(cells)."""
    columns = list(zip(*rows, strict=True))
    joint = [cell for row in rows for cell in row]
    return _entropy(map(sum, rows)) + _entropy(map(sum, columns)) - _entropy(joint)


def _entropy(shares: Any) -> float:
    return -math.fsum(float(q) * math.log2(q) for q in shares if q)


def _over(part: Fraction, whole: Fraction) -> Fraction | None:
    return part / whole if whole else None


def cells_of(rows: Sequence[Row], model: int = 0) -> Cells:
    """Count a model's cells row by row."""
    return Cells(*confusion(rows, model))


def counts_frame(tables: Mapping[str, Cells]) -> pl.DataFrame:
    """Write tables as a counts table, one row per model."""
    lines = [(name, c.tp, c.fp, c.fn, c.tn) for name, c in tables.items()]
    return pl.DataFrame(lines, schema=["model", "tp", "fp", "fn", "tn"], orient="row")


def model_rows(table: Any, **options: Any) -> dict[str, Line]:
    """Return the rows of `models` of the whole table by the name of the model."""
    return rows_by_model(clfeval.phidelta(table, **options))


def rows_by_model(result: Result, table: str = "models") -> dict[str, Line]:
    """Return the rows of a table that hold for all rows of the data, by the name of the model."""
    return rows_by(result, table, "model", slice=None)


def model_row(cells: Cells, **options: Any) -> Line:
    """Return the row of `models` of a single 2 x 2 table."""
    return model_rows(counts_frame({"m": cells}), **options)["m"]


def cells_shown(row: Line) -> Cells:
    """Return the cells that a row of a result shows."""
    return Cells(*four_cells(row))


def reasons(row: Line) -> dict[str, str]:
    """Return why each undefined value of a row is undefined; a defined one must have no reason."""
    undefined = {}
    for name, cell in row.items():
        if isinstance(cell, Estimate):
            assert (cell.value is None) == (cell.reason is not None), (name, cell)
            if cell.value is None:
                assert (cell.low, cell.high) == (None, None)
                undefined[name] = str(cell.reason)
    return undefined
