"""Comparisons of scores from counts files, and gates within the bound of buckets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clfeval
from clfeval.errors import DataError, UsageError
from tests.computed import PlainTables
from tests.counts.test_counts_file import table_of
from tests.results import row_of, value_of


def rounded(value: Any) -> Any:
    """Return a value of JSON with 9 digits of each number."""
    return json.loads(json.dumps(value), parse_float=lambda text: float(f"{float(text):.9g}"))


@pytest.mark.parametrize("scores", ["exact", "buckets:6"])
def test_comparisons_of_counts_are_those_of_rows(scores: str, tmp_path: Path) -> None:
    """Two places count twice, the second time against the counts of both."""
    table = table_of(np.random.default_rng(6), 700).drop("site")
    said: dict[str, Any] = {"positive": "yes", "scores": scores}
    places = [tmp_path / f"{name}.counts.parquet" for name in "abmcd"]
    parts = (table[:300], table[300:])
    for part, place in zip(parts, places[:2], strict=True):
        clfeval.count(part, **said).save(place)
    clfeval.count([str(place) for place in places[:2]]).save(places[2])
    for part, place in zip(parts, places[3:], strict=True):
        clfeval.count(part, joint=str(places[2]), **said).save(place)
    of_rows = clfeval.report(table, reference="many", **said)
    of_counts = clfeval.report([str(place) for place in places[3:]], reference="many")
    for name in ("comparisons", "mcnemar"):
        wanted = PlainTables(of_rows)[name]
        assert rounded(wanted) == rounded(PlainTables(of_counts)[name])
    assert of_rows.answer == of_counts.answer
    alone = clfeval.report(str(places[3]))  # whose sums are by the counts of both
    assert "best" not in alone.tables
    with pytest.raises(DataError, match="not among those"):
        clfeval.count(table[:200], joint=str(places[2]), **said)


def test_a_gate_within_the_bound_is_not_judged(tmp_path: Path) -> None:
    table = table_of(np.random.default_rng(7), 400).select("truth", "many")
    result = clfeval.report(table, positive="yes", scores="buckets:4")
    row = row_of(result, "measures", measure="roc_auc")
    value, bound = value_of(row["value"]), row["bound"]
    assert result.check(fail_under={"roc_auc": value - 1.5 * bound}).passed
    near = {"roc_auc": value - 0.5 * bound}
    with pytest.raises(DataError, match="known within"):
        result.check(fail_under=near)
    exact = clfeval.report(table, positive="yes").check(fail_under=near)
    area = value_of(row_of(exact, "measures", measure="roc_auc")["value"])
    assert exact.gates[0].passed == (area >= near["roc_auc"])


@pytest.mark.parametrize("text", ["bucket", "buckets:3", "buckets:x", "exact:2", "buckets:21"])
def test_other_kinds_of_scores_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="neither exact nor buckets"):
        clfeval.report(table_of(np.random.default_rng(1), 50), positive="yes", scores=text)
