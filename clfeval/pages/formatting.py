"""Cells, names of columns and notes as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from clfeval import formatting
from clfeval.document import Cell, Document, Estimate, Row
from clfeval.formatting import DIGITS, format_count, format_number
from clfeval.measures.catalog import CATALOG, measure_title
from clfeval.pages.schema import Column, Write

T = TypeVar("T")
ABSENT = "–"
INFINITE = {"infinite": "∞", "minus_infinite": "-∞"}
WIDE = 12  # columns of a bar
ARROWS = {"max": "↑", "min": "↓"}

REASONS = {
    "needs_scores": "the model has labels only, no scores",
    "needs_threshold": "the threshold of the model is unknown",
    "not_probabilities": "scores are outside 0 to 1",
    "nothing_found": "no model detects any row of the target class",
    "no_other_model": "every model is in the set",
    "no_positive_prediction": "the model predicts no positives",
    "no_positive_truth": "there is no positive row",
    "no_negative_prediction": "the model predicts no negatives",
    "no_negative_truth": "there is no negative row",
    "zero_margin": "a row or column of the 2 x 2 table is empty",
    "nothing_positive": "there are no positives, true or predicted",
    "expected_agreement_one": "truth and predictions are all of one class",
    "class_absent": "truth lacks one of the classes",
    "single_class": "only one class occurs", "too_few_rows": "no rows, or too few",
    "separation": "scores are all 0 or 1, equal, or separate the classes",
    "nothing_expected": "all probabilities are 0",
    "no_uncertainty": "all probabilities are 0, 1/2 or 1",
    "certain_threshold": "the threshold is 0 or 1",
    "fractional_weights": "weights are fractions",
    "too_few_metrics": "a polygon needs 3 metrics",
    "missing_component": "a metric has no value", "zero_weight": "all weights are 0",
    "outside_scale": "a value is outside the range of the metric",
    "too_many_subsets": "the search takes too long to cross-validate",
    "too_few_clusters": "a class has rows of one cluster only",
    "limit_unmet": "no threshold meets the limit",
    "limit_seldom_met": "fewer than half of the bootstrap tables meet the limit",
    "infinite_scores": "scores are infinite",
    "too_few_splits": "there is only one split", "constant": "all models have the same value",
    "first": "there is no earlier line", "other_settings": "it was made with other settings",
    "not_in_both": "one of the two lacks this measure",
    "not_in_baseline": "the baseline lacks this measure",
}  # fmt: skip


def format_cell(cell: Cell, digits: int = DIGITS, write: Write = format_number) -> str:
    """Return a cell as text: rounded, `∞` for infinite, a dash for undefined or absent."""
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
        return " + ".join(map(formatting.quote_if_ambiguous, cell))
    return str(cell)


def draw_bar(share: float | None, wide: int = WIDE) -> str:
    """Return 0..1 as a bar of blocks on a dotted track; full only for 1, empty only for 0."""
    if share is None:
        return ""
    steps = 8 * wide
    filled = min(max(round(share * steps), 0), steps)
    if 0 < share < 1:
        filled = min(max(filled, 1), steps - 1)
    whole, eighths = divmod(filled, 8)
    return ("█" * whole + ("▏▎▍▌▋▊▉"[eighths - 1] if eighths else "")).ljust(wide, "·")


def format_exact(cell: Cell) -> str:
    """Return a threshold or p-value with four significant digits, also close to 0 or 1."""
    return formatting.format_exact(cell) if isinstance(cell, float) else format_cell(cell)


def format_interval(cell: Cell, digits: int = DIGITS, write: Write = format_number) -> str:
    """Return an estimate's interval as text, empty without one; a missing limit is infinite."""
    if not isinstance(cell, Estimate) or cell.low is cell.high is None:
        return ""
    low = "-∞" if cell.low is None else write(cell.low, digits)
    return f"[{low}, {'∞' if cell.high is None else write(cell.high, digits)}]"


def column_heading(column: Column | str) -> str:
    """Return the heading of a column, with an arrow in the better direction."""
    name, title = (column, None) if isinstance(column, str) else (column.name, column.title)
    if title is None and name in CATALOG:
        return f"{CATALOG[name].title} {CATALOG[name].arrow}".rstrip()
    return title or name.replace("_", " ")


def column_title(name: str, beta: float | None = None, column: Column | None = None) -> str:
    """Return the title of a measure or another column; that of F depends on beta."""
    title = measure_title(name, beta) if name in CATALOG else column and column.title
    return title or name


def format_amount(number: float, digits: int) -> str:
    """Return an expected number of rows as text, with about `digits` significant digits."""
    if not number:
        return "0"
    if number < 1:
        return f"{number:#.{max(1, digits)}g}" if number >= 1e-4 else f"{number:.{digits}g}"
    size = len(f"{number:.0f}")
    return f"{number:,.{max(1 if size < 4 else 0, digits - size)}f}"


def format_class_counts(result: Document) -> str:
    """Return the number of rows, and of each class, as text, with the name of the positive one."""
    summary, others = result.summary, len(result.parameters["negative"])
    if summary["rows"] is None:
        return "models with different class totals"
    name = formatting.quote_if_ambiguous(str(result.parameters["positive"]))
    name = f"class {name}" if name[:1].isdigit() else name
    which = "" if name == "positive" else f" ({name})"
    merged = f" ({others} other classes)" if others > 1 else ""
    lines, rows = sum(file.rows for file in result.inputs), format_count(summary["rows"], "row")
    weighed = "" if lines == summary["rows"] else f" by the weights of {lines:,}"
    positives, negatives = f"{summary['positives']:,.10g}", f"{summary['negatives']:,.10g}"
    return f"{rows}{weighed}, {positives} positive{which}, {negatives} negative{merged}"


def independence_note(result: Document) -> str:
    """Return the note on what intervals assume to be independent, empty where that is obvious."""
    said, clusters = result.parameters.get("independence"), result.summary.get("clusters")
    if result.summary.get("runs"):  # intervals are those of means over them
        return ""
    if clusters is None:
        some = result.summary.get("effective_rows")
        rows = sum(file.rows for file in result.inputs)
        weights = "" if some is None else f", effective sample size {some:,.0f} of {rows:,} rows"
        return f"assumes {said}{weights}" if said else weights[2:]
    effect, equal = result.summary["design_effect"], result.summary.get("effective_clusters")
    more = "" if effect is None else f", design effect up to {effect:.2g}"
    more += "" if equal is None else f", weighted like {equal:,.0f} equal clusters"
    return f"assumes {clusters:,} {said}{more}"


def majority_class_note(prevalences: Sequence[Cell]) -> str:
    """Return the note on the accuracy of the majority class, at each share of positives.

    Source: Kuhn and Johnson, Applied Machine Learning for Tabular Data, section 15.2 (the
    no-information rate).
    """
    known = sorted({max(p, 1 - p) for p in prevalences if isinstance(p, (int, float))})
    if not known:
        return ""
    ends = dict.fromkeys(formatting.format_close(share, DIGITS) for share in (known[0], known[-1]))
    return f"always predicting the majority class: accuracy {' to '.join(ends)}"


def threshold_note(rows: Sequence[Row]) -> str:
    """Return the note on the threshold of models with scores, if they share it."""
    cuts = [*{row["threshold"]: None for row in rows}]
    return "" if len(cuts) != 1 or cuts[0] is None else f" at threshold {format_exact(cuts[0])}"


def evenly_spaced(values: Sequence[T], most: int) -> set[T]:
    """Return `most` values, two or more, at even steps from the first to the last."""
    last = len(values) - 1
    return {values[round(i * last / (most - 1))] for i in range(most)} if values else set()


def join_names(cell: Cell) -> str:
    """Return the names in a cell as one text, in which commas of names cannot mislead."""
    return ", ".join(map(formatting.quote_if_ambiguous, cell)) if isinstance(cell, list) else ""
