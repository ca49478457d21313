"""The document of a feature result: valid JSON by the schema, the same again when read back."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from clfeval.api.result import Result
from tests.methods.features.door import features
from tests.test_schema import wrong_with

FRAME = pl.DataFrame(
    {
        "truth": [1, 1, 0, 0],
        "same": [1, 1, 1, 1],
        "number": [0.5, 1.0, 2.0, None],
        "word": ["a", "b", None, "a"],
        "nothing": [None] * 4,
        "n": [2, 1, 1, 3],
        "share": [0.5, 1.0, 2.0, 3.0],
    }
)
ENTRIES = pl.DataFrame({"row": [1, 2, 3], "feature": ["a", "a", "b"], "value": [1, 2, 3]})
OWNERS = pl.DataFrame({"row": [1, 2, 3, 4], "truth": ["x", "y", "y", "x"]})
ASKED: dict[str, dict[str, Any]] = {
    "plain": {},
    "soft": {"cut": "soft"},
    "best": {"cut": "best"},
    "number": {"cut": 1},
    "selected": {"select": 2},
    "nothing selected": {"select": "all", "phi_max": 1e-9},
    "weights": {"weight": "n"},
    "fractions": {"weight": "share", "interval": "none"},
    "plane": {"isometrics": {"precision": [0.5]}, "prevalence": [0.1, "1:100"]},
}


@pytest.mark.parametrize("name", ASKED)
def test_a_wide_result_is_valid_and_comes_back(name: str) -> None:
    check(features(FRAME, missing="drop", **ASKED[name]))


@pytest.mark.parametrize("cut", [None, "best", "soft", 2])
def test_a_sparse_result_is_valid_and_comes_back(cut: Any) -> None:
    check(features(ENTRIES, truth_table=OWNERS, positive="x", cut=cut))


def check(result: Result) -> None:
    text = result.to_json()
    assert wrong_with(json.loads(text)) == []
    assert Result.from_json(text).to_json() == text


def test_the_signature_knows_the_data_but_not_their_order() -> None:
    first, second, third = (
        dict(part.split(":", 1) for part in features(frame, missing="drop").signature.split("|"))
        for frame in (FRAME, FRAME[::-1], FRAME[:3])
    )
    assert first == second
    assert first["stats"] != third["stats"]


def test_the_signature_knows_the_settings() -> None:
    signatures = {
        features(FRAME, missing="drop", **options).signature.partition("|data")[0]
        for options in (
            {},
            {"cut": "best"},
            {"cut": 1},
            {"level": 0.9},
            {"select": "all"},
            {"select": 1},
            {"positive": 0},
            {"interval": "none"},
        )
    }
    assert len(signatures) == 8


def test_the_summary_counts() -> None:
    summary = features(FRAME, missing="drop", select="all").summary
    assert {name: summary[name] for name in ("rows", "positives", "negatives", "prevalence")} == {
        "rows": 4,
        "positives": 2,
        "negatives": 2,
        "prevalence": 0.5,
    }
    # same, number, n, share, word=a, word=b, nothing
    assert (summary["features"], summary["constant"]) == (7, 1)
    assert summary["selected"] == len(
        features(FRAME, missing="drop", select="all").tables["selected"]
    )
