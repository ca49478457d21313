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
        rows = rows_where(band, "model", model)
        parts = [*_describe_ranges(miscalibrated_ranges(rows), by_level=len(rows) <= LEVELS)]
        if parts:
            sentences.append(f"Probabilities of {quote_if_ambiguous(model)} {', '.join(parts)}.")
            named_models.append(model)
    return [Answer(CODE, " ".join(sentences), tuple(named_models))] if sentences else []


def miscalibrated_ranges(rows: Sequence[Row]) -> list[ScoreRange]:
    """Return the ranges of neighbouring scores with one fault, of the most rows, by score."""
    ranges: list[tuple[float, ScoreRange]] = []
    for fault, group in groupby(rows, _fault):
        points = [*group]
        if fault:
            size = sum(cell_value(point["rows"]) or 0.0 for point in points)
            low, high = (cell_value(points[place]["score"]) or 0.0 for place in (0, -1))
            ranges.append((size, (low, high, fault)))
    largest = sorted(ranges, key=lambda sized: -sized[0])[:MOST_RANGES]
    return sorted(score_range for _, score_range in largest)


def _fault(row: Row) -> str:
    """Return whether probabilities at a score are too low or too high, else an empty text."""
    score, low, high = (cell_value(row[name]) for name in ("score", "low_all", "high_all"))
    if score is None or low is None or high is None:
        return ""
    return TOO_LOW if low > score else TOO_HIGH if high < score else ""


def _describe_ranges(ranges: Sequence[ScoreRange], *, by_level: bool) -> Iterator[str]:
    """Yield the clauses on each run of ranges with one fault; the first has the verb."""
    verb = " are"
    for fault, group in groupby(ranges, lambda named_range: named_range[2]):
        places = [_describe_range(low, high, by_level=by_level) for low, high, _ in group]
        yield f"{join_words(places, most=len(places))}{verb} {fault}"
        verb = ""


def _describe_range(low: float, high: float, *, by_level: bool) -> str:
    """Return the place of a range in words: a level or two, else from where to where."""
    if by_level:
        lowest = format_exact(low)
        highest = format_exact(high)
        return f"at {lowest}" if low == high else f"from {lowest} to {highest}"
    lowest = format_close(low, 2)
    highest = format_close(high, 2)
    return f"near {lowest}" if lowest == highest else f"between {lowest} and {highest}"
