"""The JSON Schema of saved results, by which they are checked before anything reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from clfeval.json_schema import JsonSchema


class DamagedResultError(ValueError):
    """A saved result lacks a key, or has a value of another type or outside its range."""


@cache
def _result_schema() -> JsonSchema:
    text = resources.files(__package__).joinpath("result-1.json").read_text(encoding="utf-8")
    return JsonSchema(json.loads(text))


def check_document(document: Mapping[str, Any]) -> None:
    """Raise DamagedResultError with the first place at which a result breaks its schema."""
    if violation := _result_schema().violation(document):
        raise DamagedResultError(str(violation))
