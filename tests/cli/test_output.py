"""Which table of a result CSV holds."""

from __future__ import annotations

import pytest

from clfeval.errors import UsageError
from clfeval.result import Result
from clfeval.views.files import known_table

RESULT = Result("any", "", (), {}, {}, tables={"features": [], "selected": []})


def test_without_a_name_it_is_the_first() -> None:
    assert known_table(RESULT, None) == "features"
    assert known_table(RESULT, "selected") == "selected"


def test_a_table_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError) as caught:
        known_table(RESULT, "zzz")
    assert caught.value.lines(verbose=False) == [
        "no table 'zzz'; this result has 'features', 'selected' [unknown-table]",
        "hint: some tables exist only when an option asks for them",
    ]
