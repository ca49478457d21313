"""Rows for people: the only place where numbers are rounded and columns get their headings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clfeval.measures.catalog import CATALOG
from clfeval.result import Cell, Estimate, Gate, Result, Row

DIGITS = 3
GATES = 50  # gates shown one by one
ABSENT = "–"
INTERVAL = "% interval"
EXACT = (
    "threshold", "top", "p_value", "cut", "best_threshold", "break_even_threshold", "prevalence",
    "t", "value",
)  # fmt: skip

HEADINGS = {
    "tp": "TP", "fp": "FP", "fn": "FN", "tn": "TN",
    "exclusive_tp": "found alone", "exclusive_tn": "found alone",
    "exclusive_fn": "missed alone", "exclusive_fp": "missed alone",
    "missed_by_all": "missed by all", "p_value": "p",
    "phi_difference": "difference of φ", "delta_difference": "difference of δ",
    "phi_mean": "mean φ", "phi_sd": "SD of φ", "delta_mean": "mean δ", "delta_sd": "SD of δ",
    "accuracy_u_mean": "mean unbiased accuracy", "accuracy_u_sd": "SD of it",
    "best_threshold": "at threshold", "best_phi": "φ there", "best_delta": "largest δ",
    "break_even_threshold": "near threshold", "break_even_delta": "δ at φ = 0",
    "region_sensitivity": "sensitivity", "region_specificity": "specificity",
    "fpr": "share of negatives", "odds": "positives:negatives",
    "differing_positives": "P differing", "differing_negatives": "N differing",
}  # fmt: skip

REASONS = {
    "nothing_found": "no model finds any row of the target class",
    "no_other_model": "no model is outside, so nothing can be missed alone",
    "no_positive_prediction": "the model never says positive",
    "no_positive_truth": "no row is positive",
    "no_negative_prediction": "the model never says negative",
    "no_negative_truth": "no row is negative",
    "zero_margin": "a margin of the 2 x 2 table is empty",
    "single_class": "the rows are of one class",
    "too_few_rows": "no rows",
}


@dataclass(frozen=True, slots=True)
class Section:
    """One table as shown: headings, text cells, which columns are numbers, a closing note."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    note: str = ""


def show(cell: Cell, digits: int = DIGITS) -> str:
    """Write one cell: rounded, `∞` for infinite, a dash for undefined or absent."""
    if isinstance(cell, Estimate):
        if cell.value is None:
            return "∞" if cell.reason == "infinite" else ABSENT
        return number(cell.value, digits)
    if cell is None:
        return ABSENT
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return number(cell, digits)
    if isinstance(cell, list):
        return " + ".join(cell)
    return str(cell)


def exact(cell: Cell) -> str:
    """Write a cut or a p-value with four digits that count, however small it is."""
    return f"{cell:.4g}" if isinstance(cell, float) else show(cell)


def number(value: float, digits: int) -> str:
    """Round to `digits` decimal places, but never show 1 or 0 for what is not quite."""
    text = f"{value:.{digits}f}"
    if 0 < value < 1 and float(text) in (0.0, 1.0) and digits:
        unit = 10.0**-digits
        return f"<{unit:.{digits}f}" if value < 0.5 else f">{1 - unit:.{digits}f}"
    return text


def interval(cell: Cell, digits: int = DIGITS) -> str:
    """Write an estimate's interval, empty when there is none."""
    if not isinstance(cell, Estimate) or cell.low is None or cell.high is None:
        return ""
    return f"[{number(cell.low, digits)}, {number(cell.high, digits)}]"


def heading(column: str) -> str:
    """Name a column for people, with an arrow towards better."""
    measure = CATALOG.get(column)
    if measure:
        return f"{measure.title} {measure.arrow}"
    return HEADINGS.get(column, column.replace("_", " "))


def section(
    title: str,
    rows: Sequence[Row],
    columns: Sequence[str],
    *,
    digits: int = DIGITS,
    total: int | None = None,
    note: str = "",
    level: float = 0.95,
) -> Section:
    """Lay out chosen columns of a table; an estimate with intervals takes a second column.

    `total` is how many rows the whole table has, when only its first are given.
    """
    headings: list[str] = []
    cells: list[list[str]] = []
    numeric: list[bool] = []
    for column in columns:
        values = [row.get(column) for row in rows]
        headings.append(heading(column))
        cells.append([exact(v) if column in EXACT else show(v, digits) for v in values])
        numeric.append(not any(isinstance(value, (str, list)) for value in values))
        if any(isinstance(value, Estimate) and value.low is not None for value in values):
            headings.append(f"{level * 100:g} {INTERVAL}")
            cells.append([interval(value, digits) for value in values])
            numeric.append(True)
    if total is not None and total > len(rows):
        more = total - len(rows)
        left_out = f"{more:,} more row{'s' * (more > 1)}"
        note = f"{left_out}; {note}" if note else left_out
    texts = tuple(zip(*cells, strict=True)) if cells and rows else ()
    return Section(title, tuple(headings), texts, tuple(numeric), note)


def gate_lines(result: Result) -> tuple[list[Gate], str]:
    """Return the gates to show, all if they are few, else the first missed; and what was left."""
    if len(result.gates) <= GATES:
        return list(result.gates), ""
    missed = [gate for gate in result.gates if not gate.passed]
    shown = missed[:GATES]
    left = len(missed) - len(shown)
    met = len(result.gates) - len(missed)
    more = f"{left:,} more missed, " if left else ""
    return shown, f"{more}{met:,} gates met; all of them: --format json"


def reasons(result: Result) -> list[str]:
    """Explain the dashes in words: which measures are undefined and why, each once."""
    said: dict[str, None] = {}
    for name in ("models", "pairs"):
        for row in result.tables.get(name, ()):
            for column, cell in row.items():
                if isinstance(cell, Estimate) and cell.reason and cell.reason != "infinite":
                    title = CATALOG[column].title if column in CATALOG else column
                    words = REASONS.get(cell.reason, cell.reason.replace("_", " "))
                    said[f"{ABSENT} {title} is undefined: {words}"] = None
    return list(said)
