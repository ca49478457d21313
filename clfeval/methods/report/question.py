"""What a report is asked: the measures, those that compare models, and the leading one."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.methods.measurement.requested_measures import RequestedMeasure
from clfeval.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ReportQuestion:
    """The requested measures, those that compare models, and the leading one."""

    requested: Sequence[RequestedMeasure]
    compared: Sequence[RequestedMeasure]
    lead: str
