"""All problems of a feature table come at once, in row order, as for predictions (DESIGN 4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.methods.features.door import refusal
from tests.tables.door import spots, write

MISSING_CLASS = "truth,f\n1,1\n0,\n,1\n0,0\n"
NUMBERS = "truth,f,g\n1,1.5,0.5\n0,x,2.5\n1,2.5,\n0,3.5,4\n"
WEIGHT = "truth,f,n\n1,1.5,1\n0,x,1\n1,2.5,-1\n0,3.5,4\n"
ID_TWICE = "id,truth,f\n1,1,1\n2,0,\n2,0,1\n"
CASES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "gaps in all kinds of columns": (
        "id,truth,bit,number,word\n1,1,1,0.5,a\n2,0,,1.5,b\n3,1,0,,a\n4,0,1,2.5,\n5,1,1,NaN,b\n",
        {},
        [f"{place} missing-value" for place in ("3:bit", "4:number", "5:word", "6:number")],
    ),
    "a missing class": (MISSING_CLASS, {}, ["3:f missing-value", "4:truth missing-value"]),
    "numbers": (NUMBERS, {}, ["3:f bad-number", "4:g missing-value"]),
    "a weight": (WEIGHT, {"weight": "n"}, ["3:f bad-number", "4:n bad-weight"]),
    "an id twice": (ID_TWICE, {}, ["3:f missing-value", "4:id duplicate-id"]),
    "entries": (
        "row,feature,value,truth\n1,a,2,1\n1,a,3,1\n2,b,,0\n,c,1,0\n"
        "3,,1,0\n1,d,1,0\n4,e,x,0\n4,f,1,\n",
        {},
        [
            "3:feature duplicate-row",
            "4:value missing-value",
            "5:row missing-value",
            "6:feature missing-value",
            "7:truth conflicting-truth",
            "8:value bad-number",
            "9:truth missing-value",
        ],
    ),
    "entries without values": (
        "row,feature,truth\n1,a,1\n1,a,1\n2,,0\n,c,0\n1,d,0\n4,f,\n",
        {},
        [
            "3:feature duplicate-row",
            "4:feature missing-value",
            "5:row missing-value",
            "6:truth conflicting-truth",
            "7:truth missing-value",
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_all_problems_come_together(case: str) -> None:
    content, options, expected = CASES[case]
    assert spots(refusal(write("t.csv", content), **options)).split(", ") == expected
