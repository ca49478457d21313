"""A sweep covers exactly the rows the votes cover, whichever class probability is absent."""

from __future__ import annotations

import polars as pl
import pytest

import clfeval

# three positives ('b'): rows 1, 2, 3; each class lacks its probability in one row of its own
FRAME = pl.DataFrame(
    {
        "truth": ["b", "b", "b", "a", "c", "c"],
        "m:a": [0.1, None, 0.2, 0.8, 0.1, 0.2],
        "m:b": [0.8, 0.9, 0.7, 0.1, 0.1, 0.1],
        "m:c": [0.1, 0.1, 0.1, 0.1, 0.8, None],
    }
)


@pytest.mark.parametrize(
    ("options", "positives"),
    [
        ({}, 2),  # the largest of three needs all three: row 2 is left out
        ({"threshold": 0.5}, 3),  # a threshold needs only the positive's own
    ],
)
def test_the_sweep_and_the_votes_leave_out_the_same_rows(
    options: dict[str, float], positives: int
) -> None:
    result = clfeval.mars(
        FRAME, positive="b", missing="drop", sweep="threshold", threshold=options.get("threshold")
    )
    assert result.summary["positives"] == positives
    lowest = result.tables["sweep"][0]
    assert lowest["found"] == positives  # at the lowest cut every positive is found
