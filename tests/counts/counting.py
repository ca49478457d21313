"""Counting a table as the commands do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clfeval.counts.count import count_predictions
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.tables.input import InputOptions
from clfeval.tables.prediction_files import open_predictions


@contextmanager
def open_counts(table: Any, **options: Any) -> Iterator[PredictionCounts]:
    """Yield the counts of a table while its rows can be read again."""
    with open_predictions(table, InputOptions(**options)) as predictions:
        yield count_predictions(predictions)


def count_table(table: Any, **options: Any) -> PredictionCounts:
    """Return the counts of a table after it is closed."""
    with open_counts(table, **options) as counts:
        return counts
