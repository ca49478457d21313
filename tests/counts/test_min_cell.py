"""Small cells hidden in counts files, and comparisons of scores from counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import clfeval
from clfeval.errors import DataError, UsageError
from clfeval.tables.layouts.counts_file import METADATA
from tests.counts.test_counts_file import table_of
from tests.thoroughness import examples

LEAST = 5


def rounded(value: Any) -> Any:
    """Return a value of JSON with 9 digits of each number."""
    return json.loads(json.dumps(value), parse_float=lambda text: float(f"{float(text):.9g}"))


def hidden_counts(
    table: pl.DataFrame, place: Path, **said: Any
) -> tuple[pl.DataFrame, dict[str, Any]]:
    clfeval.count(table, positive="yes", min_cell=LEAST, **said).save(place)
    return pl.read_parquet(place), json.loads(pl.read_parquet_metadata(place)[METADATA])


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(30, 600), st.booleans())
def test_no_small_count_is_in_the_file_nor_follows_from_it(
    tmp_path: Path, seed: int, rows: int, by: bool
) -> None:
    """Every count, sum of a slice and difference of two sums of a class is 0 or at least 5."""
    table = table_of(np.random.default_rng(seed), rows)
    table = table if by else table.drop("site")
    if min((table["truth"] == name).sum() for name in ("yes", "no")) < 3 * LEAST:
        return  # a site may have hardly any row of a class
    found, about = hidden_counts(table, tmp_path / "x.counts.parquet", by="site" if by else ())
    slices = ["b0"] if by else []
    assert found["n"].min() >= LEAST
    of_class = found.group_by("block", "model", "truth", *slices).agg(pl.col("n").sum())
    assert of_class["n"].min() >= LEAST
    # all blocks and models have the same sums: their differences tell nothing
    assert of_class.group_by("truth", *slices).agg(pl.col("n").n_unique())["n"].max() == 1
    assert about["rows"] == found.filter(block="patterns")["n"].sum()
    assert about["hidden"] is None or about["hidden"] == 0 or about["hidden"] >= LEAST
    assert rows - about["rows"] == (about["hidden"] or rows - about["rows"])
    scores = found.filter(block="scores")
    # with labels a run that ends at the threshold would tell how many rare rows lie above it
    assert not {0.5} & {*scores["lo"].to_list()}
    # the ends of runs are those of buckets, not scores of rows
    held = {*table["many"].to_list(), *table["few"].to_list()}
    ends = {*scores["lo"].to_list(), *scores["hi"].to_list()} - {0.0, 1.0}
    assert len(ends & held) <= 10  # of eleven tenths


@pytest.mark.parametrize(("rows", "most"), [(500, 0.08), (2000, 0.016), (20000, 0.0016)])
def test_values_lie_within_their_bounds(rows: int, most: float, tmp_path: Path) -> None:
    """FIELD measured half-widths of .045, .012 to .013 and .0012 with other tables."""
    dice = np.random.default_rng(rows)
    z = dice.normal(size=rows)
    truth = np.where(dice.random(rows) < 1 / (1 + np.exp(2.9 - 1.4 * z)), "yes", "no")
    chances = {name: 1 / (1 + np.exp(2.9 - 1.4 * (z + dice.normal(size=rows) * spread)))
               for name, spread in (("a", 0.5), ("b", 1))}  # fmt: skip
    table = pl.DataFrame({"truth": truth, **chances})
    hidden_counts(table, place := tmp_path / "x.counts.parquet")
    exact = {(row["model"], row["measure"]): row["value"].value
             for row in clfeval.report(table, positive="yes").tables["measures"]}  # fmt: skip
    known = 0
    for row in clfeval.report(place).tables["measures"]:
        if row["value"].value is not None:
            off = abs(row["value"].value - exact[row["model"], row["measure"]])
            assert off <= (row["bound"] or 0) + 1e-12, row
            known += 1
        if row["measure"] == "roc_auc":
            assert 0 < row["bound"] < most
    assert known > 20


def test_only_report_reads_hidden_cells(tmp_path: Path) -> None:
    table = table_of(np.random.default_rng(5), 500).drop("site")
    hidden_counts(table, place := tmp_path / "x.counts.parquet")
    for function in (clfeval.mars, clfeval.phidelta, clfeval.tune_jpt):
        with pytest.raises(UsageError, match="hides small cells"):
            function(place)
    result = clfeval.report(place)
    assert {"decision", "best", "slices"} & {*result.tables} == set()
    assert any(note.code == "hidden-cells" for note in result.warnings)
    with pytest.raises(UsageError, match="cannot be combined"):
        clfeval.count(table, positive="yes", min_cell=5, joint="pairs")


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
        clfeval.count(part, joint="pairs", against=str(places[2]), **said).save(place)
    wanted = clfeval.report(table, reference="many", **said).to_dict()
    found = clfeval.report([str(place) for place in places[3:]], reference="many").to_dict()
    for name in ("comparisons", "mcnemar"):
        assert rounded(wanted["tables"][name]) == rounded(found["tables"][name])
    assert wanted["answer"] == found["answer"]
    alone = clfeval.report(str(places[3])).to_dict()  # whose sums are by the counts of both
    assert "best" not in alone["tables"]
    with pytest.raises(DataError, match="not among those"):
        clfeval.count(table[:200], joint="pairs", against=str(places[2]), **said)


def test_a_gate_within_the_bound_is_not_judged(tmp_path: Path) -> None:
    table = table_of(np.random.default_rng(7), 400).select("truth", "many")
    rows = clfeval.report(table, positive="yes", scores="buckets:4").tables["measures"]
    row = next(one for one in rows if one["measure"] == "roc_auc")
    value, bound = row["value"].value, row["bound"]
    result = clfeval.report(table, positive="yes", scores="buckets:4")
    assert result.check(fail_under={"roc_auc": value - 1.5 * bound}).passed
    near = {"roc_auc": value - 0.5 * bound}
    with pytest.raises(DataError, match="as near as buckets of scores tell"):
        result.check(fail_under=near)
    assert clfeval.report(table, positive="yes").check(fail_under=near).gates


@pytest.mark.parametrize("text", ["bucket", "buckets:3", "buckets:x", "exact:2", "buckets:21"])
def test_other_kinds_of_scores_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="neither exact nor buckets"):
        clfeval.report(table_of(np.random.default_rng(1), 50), positive="yes", scores=text)
