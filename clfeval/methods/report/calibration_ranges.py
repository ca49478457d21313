"""The sentence on where the probabilities of a miscalibrated model are too low or too high."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from clfeval.document import Answer
from clfeval.document.cells import Row, cell_value
from clfeval.document.rows import rows_where
from clfeval.formatting import format_close, format_exact, join_words, quote_if_ambiguous
from clfeval.measures.calibration_spline import LEVELS

CODE = "miscalibrated-ranges"
MOST_RANGES = 3  # named, those with the most rows
MOST_MODELS = 2
TOO_LOW, TOO_HIGH = "too low", "too high"

ScoreRange = tuple[float, float, str]  # the lowest and the highest score, and the fault


def calibration_ranges_answer(models: Sequence[str], band: Sequence[Row]) -> list[Answer]:
    """Return the sentence on the ranges of scores in which the calibration curve is off.

    models: those that the tests call miscalibrated, the best first; the sentence describes, and is
    no test. band: of table `calibration_band`; a range is where the simultaneous limits exclude
    the score, from the 1st to the 99th percentile of scores. Nothing where they nowhere do.
    """
    sentences: list[str] = []
    named_models: list[str] = []
    for model in models[:MOST_MODELS]:
        band_rows = rows_where(band, "model", model)
        clauses = [
            *_describe_ranges(miscalibrated_ranges(band_rows), by_level=len(band_rows) <= LEVELS)
        ]
        if clauses:
            sentences.append(f"Probabilities of {quote_if_ambiguous(model)} {', '.join(clauses)}.")
            named_models.append(model)
    return [Answer(CODE, " ".join(sentences), tuple(named_models))] if sentences else []


def miscalibrated_ranges(band_rows: Sequence[Row]) -> list[ScoreRange]:
    """Return the ranges of neighbouring scores with one fault that have the most rows, by score."""
    sized_ranges: list[tuple[float, ScoreRange]] = []
    for fault, fault_rows in groupby(band_rows, _fault):
        points = [*fault_rows]
        if fault:
            row_count = sum(cell_value(point["rows"]) or 0.0 for point in points)
            low, high = (cell_value(points[index]["score"]) or 0.0 for index in (0, -1))
            sized_ranges.append((row_count, (low, high, fault)))
    largest_ranges = sorted(sized_ranges, key=lambda sized_range: -sized_range[0])[:MOST_RANGES]
    return sorted(score_range for _, score_range in largest_ranges)


def _fault(row: Row) -> str:
    """Return whether probabilities at a score are too low or too high, else an empty text."""
    score, low, high = (cell_value(row[name]) for name in ("score", "low_all", "high_all"))
    if score is None or low is None or high is None:
        return ""
    return TOO_LOW if low > score else TOO_HIGH if high < score else ""


def _describe_ranges(ranges: Sequence[ScoreRange], *, by_level: bool) -> Iterator[str]:
    """Yield a clause on each run of ranges with one fault; the first has the verb.

    by_level: whether there are so few scores that each is a level.
    """
    verb = " are"
    for fault, fault_ranges in groupby(ranges, lambda score_range: score_range[2]):
        range_texts = [
            _describe_range(low, high, by_level=by_level) for low, high, _ in fault_ranges
        ]
        yield f"{join_words(range_texts, most=len(range_texts))}{verb} {fault}"
        verb = ""


def _describe_range(low: float, high: float, *, by_level: bool) -> str:
    """Return the place of a range in words: a level or two, else from where to where."""
    if by_level:
        low_text = format_exact(low)
        high_text = format_exact(high)
        return f"at {low_text}" if low == high else f"from {low_text} to {high_text}"
    low_text = format_close(low, 2)
    high_text = format_close(high, 2)
    return f"near {low_text}" if low_text == high_text else f"between {low_text} and {high_text}"
