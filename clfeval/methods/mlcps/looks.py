"""Wide tables that are not what they look like: turned, without a header, a metric of text."""

from __future__ import annotations

from clfeval.errors import DataError, Problem, listing
from clfeval.measures.metric_names import measure_of
from clfeval.tables.metric import MetricTable


def check_sides(table: MetricTable, *, chosen: bool) -> None:
    """Raise DataError for a table whose numbers would be ranked and mean something else.

    Not where the metrics were chosen by name: then somebody knows what they are.
    """
    if chosen:
        return
    known = [name for name in table.ignored if measure_of(name) is not None]
    if known:
        raise DataError(
            [Problem("holds text, no numbers", "bad-number", table.name, None, n) for n in known],
            hint="write plain numbers, or name the metrics to take with --metric",
        )
    if all(map(_is_number, table.metrics)) and not all(map(str.isdigit, table.metrics)):
        raise DataError(
            Problem(
                f"the columns are called {listing(table.metrics, 4)}: is the header missing?",
                "no-header", table.name, 1,
            ),
            hint="put a line of names on top, such as model,f1,recall,roc_auc",
        )  # fmt: skip
    rows_known = all(measure_of(name) is not None for name in table.models)
    if rows_known and not any(measure_of(name) is not None for name in table.metrics):
        raise DataError(
            Problem(
                f"its rows are metrics ({listing(table.models, 3)}) and its columns models",
                "turned-table", table.name,
            ),
            hint="add --transpose",
        )  # fmt: skip


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
