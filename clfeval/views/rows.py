"""Rows for people: the only place where numbers are rounded and columns get their headings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import floor, log10

from clfeval.measures.catalog import CATALOG
from clfeval.result import Cell, Estimate, Gate, Result, Row

DIGITS = 3
GATES = 50  # gates shown one by one
MANY = 3  # measures undefined for one reason that are named together
ABSENT = "–"
INFINITE = {"infinite": "∞", "minus_infinite": "-∞"}
FINEST = 9  # decimal places, at most
ROUNDING = 1e-11  # as near to 1 as this is 1
INTERVAL = "% interval"
EXPLAINED = 1000  # rows of a table looked through for undefined cells
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
    "fixed_value": "value at the fixed threshold", "honest": "cross-fitted value",
    "honest_gain": "gain from moving",
    "sd": "SD", "split_mean": "mean over splits", "split_sd": "SD over splits",
    "kendall": "Kendall's τ", "spearman": "Spearman's ρ",
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
    "too_few_rows": "no rows, or too few",
    "fractional_weights": "weights are fractions, and rows cannot be split",
    "too_few_metrics": "fewer than 3 metrics make no polygon",
    "missing_component": "a metric has no value",
    "zero_weight": "there is no weight above 0",
    "outside_scale": "a value is outside the metric's scale",
    "too_few_splits": "one split has no spread",
    "constant": "all models have one value",
}


@dataclass(frozen=True, slots=True)
class Section:
    """One table as shown: headings, text cells, which columns are numbers, a closing note.

    A table that may be split has its columns put in blocks, rather than lose its intervals, where
    the screen is narrow.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    note: str = ""
    split: bool = False


def number(value: float, digits: int) -> str:
    """Round to `digits` decimal places, but never show 1 or 0 for what is not quite."""
    text = f"{value:.{digits}f}"
    if 0 < abs(value) < 1 and float(text) in (-1.0, 0.0, 1.0) and digits:
        small, unit = abs(value) < 0.5, 10.0**-digits
        limit = unit if small else 1 - unit
        sign = "<" if small == (value > 0) else ">"
        return f"{sign}{'-' * (value < 0)}{limit:.{digits}f}"
    return text if float(text) else text.removeprefix("-")


def close(value: float, digits: int) -> str:
    """Round, with more places where a value is close to 0 or 1, and fewer for large odds."""
    size = abs(value)
    if size >= 100:
        places = max(0, digits - (1 if size < 1000 else 3))
        return f"{value:,.{places}f}" if size < 1e15 else f"{value:.{digits}e}"
    count = min(digits, 2 if digits > 2 else 1)  # digits that tell the value from 0 or 1
    if abs(size - 1) < ROUNDING:
        return number(float(round(value)), digits)
    gaps = [gap for gap in (size, abs(1 - size)) if gap]
    needed = max(count - 1 - floor(log10(gap)) for gap in gaps) if count else 0
    return number(value, max(digits, min(needed, FINEST)))


Write = Callable[[float, int], str]


def show(cell: Cell, digits: int = DIGITS, write: Write = number) -> str:
    """Write one cell: rounded, `∞` for infinite, a dash for undefined or absent."""
    if isinstance(cell, Estimate):
        if cell.value is None:
            return INFINITE.get(cell.reason or "", ABSENT)
        return write(cell.value, digits)
    if cell is None:
        return ABSENT
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return write(cell, digits)
    if isinstance(cell, list):
        return " + ".join(cell)
    return str(cell)


def value_of(cell: object) -> float | None:
    """Return an estimate's value; None where it has none, and for other cells."""
    return cell.value if isinstance(cell, Estimate) else None


def plain(text: str) -> str:
    """Write text on one line: what does not print is written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def exact(cell: Cell) -> str:
    """Write a cut or a p-value with four digits that count, however small it is or close to 1."""
    if not isinstance(cell, float):
        return show(cell)
    text = f"{cell:.4g}"
    return close(cell, 4) if abs(cell) < 1 and text in ("1", "-1") else text


def interval(cell: Cell, digits: int = DIGITS, write: Write = number) -> str:
    """Write an estimate's interval, empty when there is none; an end without number is infinite."""
    if not isinstance(cell, Estimate) or cell.low is cell.high is None:
        return ""
    low = "-∞" if cell.low is None else write(cell.low, digits)
    return f"[{low}, {'∞' if cell.high is None else write(cell.high, digits)}]"


def heading(column: str) -> str:
    """Name a column for people, with an arrow towards better."""
    measure = CATALOG.get(column)
    if column in HEADINGS or measure is None:  # a feature's FPR is as good high as low
        return HEADINGS.get(column, column.replace("_", " "))
    return f"{measure.title} {measure.arrow}"


def section(
    title: str,
    rows: Sequence[Row],
    columns: Sequence[str],
    *,
    digits: int = DIGITS,
    total: int | None = None,
    note: str = "",
    level: float = 0.95,
    write: Write = number,
    split: bool = False,
) -> Section:
    """Lay out chosen columns of a table; an estimate with intervals takes a second column.

    `total` is how many rows the whole table has, when only its first are given; `write` rounds.
    """
    headings: list[str] = []
    cells: list[list[str]] = []
    numeric: list[bool] = []
    for column in columns:
        values = [row.get(column) for row in rows]
        headings.append(heading(column))
        cells.append([exact(v) if column in EXACT else show(v, digits, write) for v in values])
        numeric.append(not any(isinstance(value, (str, list)) for value in values))
        intervals = [interval(value, digits, write) for value in values]
        if any(intervals):
            headings.append(f"{level * 100:g} {INTERVAL}")
            cells.append(intervals)
            numeric.append(True)
    if total is not None and total > len(rows):
        more = total - len(rows)
        left_out = f"{more:,} more row{'s' * (more > 1)}"
        note = f"{left_out}; {note}" if note else left_out
    texts = tuple(zip(*cells, strict=True)) if cells and rows else ()
    return Section(title, tuple(headings), texts, tuple(numeric), note, split)


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
    struck: dict[str, dict[str, None]] = {}
    beta = result.parameters.get("beta")
    for rows in _explained(result):
        known = {*INFINITE, *struck}
        for row in rows:
            for column, cell in row.items():
                reason = cell.reason if isinstance(cell, Estimate) else None
                if reason and reason not in known:
                    struck.setdefault(reason, {})[title_of(column, beta)] = None
    said = []
    for reason, titles in struck.items():
        words = REASONS.get(reason, reason.replace("_", " "))
        *names, last = titles
        if len(titles) < MANY:
            said += [f"{ABSENT} {title} is undefined: {words}" for title in titles]
        else:
            said.append(f"{ABSENT} {', '.join(names)} and {last} are undefined: {words}")
    return said


def title_of(column: str, beta: float | None = None) -> str:
    """Name a measure or another column of estimates; F by the weight of recall."""
    if column in ("f_beta", "f_odds") and beta is not None:
        return f"F{beta:g}{' odds' * (column == 'f_odds')}"
    return CATALOG[column].title if column in CATALOG else HEADINGS.get(column, column)


def _explained(result: Result) -> Iterator[Iterable[Row]]:
    """Yield rows shown to people; a reason said of the first is not said again of the others."""
    tables = result.tables
    yield (row for name in ("models", "pairs") for row in islice(tables.get(name, ()), EXPLAINED))
    yield tables.get("ranges", ())
    yield tables.get("agreement", ())
    yield (row for row in tables.get("thresholds", ()) if row["population"] != "sweep")
