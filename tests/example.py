"""The worked example of the MARS paper (Table 2), as sets of row numbers and as bit strings."""

from __future__ import annotations

from tests.reference import Row

ROWS = set(range(1, 11))
TRUE = {2, 4, 6, 7, 8, 10}  # rows of the positive class
SAYS = {"C1": {1, 5, 6, 7, 8}, "C2": {1, 2, 3, 4, 9}, "C3": {2, 5, 9}, "C4": {2, 3, 4, 7, 10}}

TRUTH = "0101011101"
VOTES = ("1000111100", "1111000010", "0100100010", "0111001001")
PAPER = [
    Row(int(truth), tuple(map(int, votes))) for truth, *votes in zip(TRUTH, *VOTES, strict=True)
]
