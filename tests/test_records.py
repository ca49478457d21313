"""The quick dataclasses behave as those of the standard library, but for `frozen`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from clfeval import records


def define(dataclass: Callable[..., Any], **options: Any) -> Any:
    @dataclass(**options)
    class Part:
        """A record with a default and with a field that is neither compared nor shown."""

        name: str
        size: float = 1.0
        note: str = records.field(default="", compare=False, repr=False)

    return Part


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"slots": True},
        {"frozen": True, "slots": True},
        {"frozen": True, "eq": False},
        {"frozen": True, "repr": False},
        {"kw_only": True, "slots": True},
    ],
    ids=str,
)
def test_a_quick_dataclass_is_one(options: dict[str, Any]) -> None:
    ours, theirs = define(records.dataclass, **options), define(dataclasses.dataclass, **options)
    for given in ({"name": "a"}, {"name": "a", "size": 2.0}, {"name": "b", "note": "x"}):
        quick, real = ours(**given), theirs(**given)
        assert dataclasses.asdict(quick) == dataclasses.asdict(real)
        for other in ({"name": "a"}, {"name": "a", "note": "y"}, {"name": "b"}):
            assert (quick == ours(**other)) == (real == theirs(**other))
        assert (quick == real, quick == "a") == (False, False)
        if options.get("repr", True):
            assert repr(quick) == repr(real)
        assert dataclasses.replace(quick, size=5.0).size == 5.0
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)
    assert hasattr(ours, "__slots__") == hasattr(theirs, "__slots__")
    if options.get("frozen") and options.get("eq", True):
        assert hash(ours("a", note="x")) == hash(ours("a", note="y")) != hash(ours("b"))
