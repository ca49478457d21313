"""Formats of tables of metrics: which columns are no metrics, and of which lower is better."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from clfeval.records import dataclass


@dataclass(frozen=True, slots=True)
class MetricFormat:
    """A format of tables of metrics that a tool writes, with patterns of column names.

    needs: columns that such a table has. settings: columns that are no metrics. minimised: metrics
    of which lower is better, without an upper bound.
    """

    tool: str
    needs: tuple[str, ...]
    settings: str
    minimised: str

    def applies_to(self, names: Collection[str]) -> bool:
        """Return whether a table with columns of these names has the format."""
        return all(any(re.fullmatch(need, name) for name in names) for need in self.needs)


METRIC_FORMATS = (
    MetricFormat(
        "AutoGluon",
        needs=(r"score_(?:val|test)", r"fit_time"),
        settings=r"stack_level|fit_order|can_infer|eval_metric|num_\w+|\w*memory_size\w*",
        minimised=r"(?:fit|pred)_time\w*",
    ),
)


def columns_of_settings(names: Collection[str]) -> list[str]:
    """Return the columns of a table that are no metrics in its format."""
    patterns = [record.settings for record in METRIC_FORMATS if record.applies_to(names)]
    return [name for name in names if any(re.fullmatch(pattern, name) for pattern in patterns)]


def is_minimised(metric: str, names: Iterable[str]) -> bool:
    """Return whether lower is better for a metric of a table in the format of a tool."""
    columns = list(names)
    formats = [record for record in METRIC_FORMATS if record.applies_to(columns)]
    return any(re.fullmatch(record.minimised, metric) for record in formats)
