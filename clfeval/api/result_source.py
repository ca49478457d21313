"""What a result in Python was computed from, to read a baseline in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clfeval.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ResultSource:
    """The table and options that a result in Python was computed from.

    function: the name of the public function. table: None where its rows are not kept, as they have
    no ids; then only the options are of use.
    """

    function: str
    table: object
    options: Mapping[str, Any]
