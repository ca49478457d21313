"""Small counts hidden in counts files: what the files tell, and what is known from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import clfeval
from clfeval.document.cells import Estimate
from clfeval.errors import DataError, UsageError
from clfeval.tables.layouts.counts_file import METADATA
from tests.counts.test_counts_file import table_of
from tests.results import row_of, rows_by, value_of
from tests.samples import informed_scores, logistic
from tests.thoroughness import examples

LEAST = 5


def hidden_counts(
    table: pl.DataFrame, place: Path, **said: Any
) -> tuple[pl.DataFrame, dict[str, Any]]:
    clfeval.count(table, positive="yes", min_cell=LEAST, **said).save(place)
    return pl.read_parquet(place), json.loads(pl.read_parquet_metadata(place)[METADATA])


def awkward(table: pl.DataFrame, dice: np.random.Generator) -> pl.DataFrame:
    """Return scores that crowd at the ends, at the threshold and a unit of the last place apart."""
    kinds = [0.0, 1.0, 5e-324, 1 - 2.0**-53, 0.5, np.nextafter(0.5, 0), 0.3, 1e-200, 1e-31, 0.1234]
    odd = pl.Series(dice.choice(kinds, len(table)))
    return table.with_columns(odd=pl.when(pl.col("truth") == "yes").then(1 - odd).otherwise(odd))


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(30, 600), st.booleans(), st.sampled_from(["exact", None]))
def test_no_small_count_is_in_the_file_nor_follows_from_it(
    tmp_path: Path, seed: int, rows: int, by: bool, scores: str | None
) -> None:
    """All models of a slice have the same sums, and runs do not overlap."""
    dice = np.random.default_rng(seed)
    table = awkward(table_of(dice, rows), dice)
    table = table if by else table.drop("site")
    if min((table["truth"] == name).sum() for name in ("yes", "no")) < 3 * LEAST:
        return  # a site may have hardly any row of a class
    said = {"by": "site"} if by else {}
    found, about = hidden_counts(
        table, tmp_path / "x.counts.parquet", scores=scores or "buckets:6", **said
    )
    slices = ["b0"] if by else []
    assert set(found["block"]) == {"scores"}  # combinations of labels would divide runs
    assert found.select("m1", "m2", "pattern").null_count().row(0) == (len(found),) * 3
    assert found["n"].min() >= LEAST
    for _, mine in found.group_by("model", *slices):
        for truth in (True, False):
            ends = mine.filter(truth=truth).sort("lo")["lo", "hi"].rows()
            # runs of buckets may have the same number of four digits in common
            assert all(
                low > high_before if scores else low >= low_before and high >= high_before
                for (low_before, high_before), (low, high) in pairwise(ends)
            )
    of_class = found.group_by("model", "truth", *slices).agg(pl.col("n").sum())
    assert of_class.group_by("truth", *slices).agg(pl.col("n").n_unique())["n"].max() == 1
    shown = found.filter(model=found["model"][0])
    assert about["rows"] == shown["n"].sum()
    # no end of a run tells a score
    given = {*table["many"].to_list()} - {round(one, 4) for one in table["many"].to_list()}
    assert not given & {*found["lo"].to_list(), *found["hi"].to_list()}


def test_labels_are_told_where_both_sides_have_enough_rows(tmp_path: Path) -> None:
    """Written out: of 40 rows 12 positives and 28 negatives; a side of 1 to 4 rows is unknown."""
    score = [0.6] * 7 + [0.2] * 5 + [0.7] * 8 + [0.1] * 20
    few = [0.6] * 8 + [0.2] * 4 + [0.7] * 8 + [0.1] * 20
    table = pl.DataFrame(
        {
            "truth": ["yes"] * 12 + ["no"] * 28,
            "a": score,
            "b": few,
            "rule": ["yes"] * 10 + ["no"] * 30,
        }
    )
    found, _ = hidden_counts(table, place := tmp_path / "x.counts.parquet")
    runs = {
        name: sorted(found.filter(model=name).select("truth", "n").rows())
        for name in ("a", "b", "rule")
    }
    assert runs == {
        "a": [(False, 8), (False, 20), (True, 5), (True, 7)],
        "b": [(False, 28), (True, 12)],
        "rule": [(False, 28), (True, 12)],
    }
    result = clfeval.report(place, measure="mutual_information")
    cells = {
        key: row["rows"]
        for key, row in rows_by(result, "confusion", "model", "truth", "predicted").items()
    }
    assert cells == {
        ("a", "yes", "yes"): 7,
        ("a", "yes", "no"): 5,
        ("a", "no", "yes"): 8,
        ("a", "no", "no"): 20,
    }
    rows = rows_by(result, "measures", "model", "measure")
    assert value_of(rows["a", "sensitivity"]["value"]) == pytest.approx(7 / 12)
    for name in ("b", "rule"):
        assert rows[name, "sensitivity"]["value"] == Estimate(0.5, 0, 1)  # 0 to 12 of 12
        assert rows[name, "mutual_information"]["value"].reason == "hidden_counts"
    # 7 x 20 pairs of positives above and negatives below; the others lie in one run or reversed
    low, high = 7 * 20 / 336, (12 * 28 - 5 * 8) / 336
    assert value_of(rows["a", "roc_auc"]["value"]) == pytest.approx((low + high) / 2)
    assert rows["a", "roc_auc"]["bound"] == pytest.approx((high - low) / 2)


@pytest.mark.parametrize(("rows", "most"), [(500, 0.15), (2000, 0.035), (20000, 0.0025)])
def test_values_lie_within_their_bounds(rows: int, most: float, tmp_path: Path) -> None:
    """Half-widths of runs between edges that no class decides, about twice those of the least."""
    dice, every = np.random.default_rng(rows), "all" if rows < 2000 else "default"
    parts, paths = [], []
    for k in range(3):
        z = dice.normal(size=rows)
        truth = np.where(dice.random(rows) < logistic(1.4 * z - 2.9), "yes", "no")
        chances = {
            name: logistic(1.4 * (z + dice.normal(size=rows) * spread) - 2.9)
            for name, spread in (("a", 0.5), ("b", 1))
        }
        parts.append(pl.DataFrame({"truth": truth, **chances, "file": f"{k}"}))
        hidden_counts(parts[-1].drop("file"), tmp_path / f"{k}.counts.parquet")
        paths.append(str(tmp_path / f"{k}.counts.parquet"))
    result = clfeval.report(
        pl.concat(parts), positive="yes", by="file", measure=every, interval="none"
    )
    exact = rows_by(result, "measures", "slice", "model", "measure")
    known = 0
    found = clfeval.report(paths, by="file", measure=every, resamples=200)
    for row in found.tables["measures"]:
        if row["value"].value is not None:
            value = exact[row["slice"], row["model"], row["measure"]]["value"].value
            assert abs(row["value"].value - value) <= (row["bound"] or 0) + 1e-12, row
            known += 1
        if row["measure"] == "roc_auc" and row["slice"] is not None:
            assert 0 < row["bound"] < most
    assert known > (100 if rows < 2000 else 60)
    assert {row["measure"] for row in found.tables["heterogeneity"]} == {"roc_auc", "oe_ratio"}
    assert all(row["q"] is None for row in found.tables["slices"])
    assert "extremes" not in found.tables


def test_what_hidden_counts_cannot_answer_is_refused(tmp_path: Path) -> None:
    table = table_of(np.random.default_rng(5), 500).drop("site")
    hidden_counts(table, place := tmp_path / "x.counts.parquet")
    clfeval.count(table, positive="yes").save(plain := tmp_path / "plain.counts.parquet")
    for function in (clfeval.mars, clfeval.phidelta, clfeval.tune_jpt):
        with pytest.raises(UsageError, match="hides small counts"):
            function(place)
    result = clfeval.report(place)
    assert {"decision", "best", "curves", "calibration", "thresholds"} & {*result.tables} == set()
    assert any(note.code == "hidden-counts" for note in result.warnings)
    assert "small counts are hidden" in result.answer[0].text
    for said in ({"best_threshold": "youden"}, {"prevalence": 0.1}, {"reference": "many"}):
        with pytest.raises(UsageError, match="small ones are hidden"):
            clfeval.report(place, **said)
    for scores in ("exact", "buckets:6"):
        with pytest.raises(UsageError, match="cannot be counted otherwise"):
            clfeval.report(place, scores=scores)
    with pytest.raises(DataError, match="cannot be judged"):
        result.check(fail_under={"many:calibration_slope": 0.5})
    with pytest.raises(UsageError, match="groups of equal size"):
        clfeval.count(table, positive="yes", min_cell=5, model="few", by="many:4")
    crossed = table.with_columns(age=pl.col("few"))
    with pytest.raises(UsageError, match="takes one by"):
        clfeval.count(crossed, positive="yes", min_cell=5, model="many", by=["age:0.5,0.9", "rule"])
    with pytest.raises(UsageError, match="at least 3"):
        clfeval.count(table, positive="yes", min_cell=2)
    with pytest.raises(UsageError, match="cannot be combined"):
        clfeval.count(table, positive="yes", min_cell=5, joint="pairs")
    with pytest.raises(UsageError, match="hidden already"):
        clfeval.count(place, min_cell=5)
    with pytest.raises(DataError, match="min-cell"):
        clfeval.report([place, plain])
    with pytest.raises(DataError, match="fewer than 400 rows of a class"):
        clfeval.count(table, positive="yes", min_cell=400)


def test_hidden_counts_add_up_in_any_order(tmp_path: Path) -> None:
    dice, paths = np.random.default_rng(3), []
    for k in range(3):
        hidden_counts(table_of(dice, 300), path := tmp_path / f"{k}.counts.parquet", by="site")
        paths.append(str(path))
    one, other = tmp_path / "m.counts.parquet", tmp_path / "n.counts.parquet"
    clfeval.count(paths).save(one)
    clfeval.count(paths[:2]).save(tmp_path / "p.counts.parquet")
    clfeval.count([paths[2], str(tmp_path / "p.counts.parquet")]).save(other)
    assert pl.read_parquet(one).equals(pl.read_parquet(other))
    tables = [clfeval.report(said).to_dict()["tables"] for said in (paths[::-1], str(one))]
    assert tables[0] == tables[1]


def sites_of(dice: np.random.Generator, sizes: Mapping[str, tuple[int, int]]) -> pl.DataFrame:
    """Return log odds of positives and negatives of sites, which have no threshold."""
    parts = [
        pl.DataFrame(
            {
                "truth": ["yes"] * positives + ["no"] * negatives,
                "site": [site] * (positives + negatives),
                "odds": np.append(dice.normal(2, 3, positives), dice.normal(-2, 3, negatives)),
            }
        )
        for site, (positives, negatives) in sizes.items()
    ]
    return pl.concat(parts)


def test_small_slices_are_left_out_with_others_so_that_the_rest_is_enough(tmp_path: Path) -> None:
    """Site d has 3 rows of one class: c, the smallest other one, is left out with it."""
    sizes = {"a": (40, 60), "b": (30, 30), "c": (20, 20), "d": (3, 0)}
    table = sites_of(np.random.default_rng(4), sizes)
    result = clfeval.count(table, positive="yes", by="site", min_cell=LEAST)
    result.save(place := tmp_path / "x.counts.parquet")
    said = result.to_dict()
    assert (said["summary"]["rows"], said["inputs"][0]["rows"]) == (160, 160)
    assert said["inputs"][0]["sha256"] is None  # which would confirm a guess of all rows
    assert "of each class together: 43 rows." in result.answer[0].text
    about = json.loads(pl.read_parquet_metadata(place)[METADATA])
    assert about["rows"] == 160
    low, high = about["uncut"]["odds"]
    assert low < table["odds"].min() < table["odds"].max() < high
    found = clfeval.report(place)
    exact = clfeval.report(
        table.filter(pl.col("site").is_in(["a", "b"])).drop("site"), positive="yes"
    ).tables["measures"][0]["value"]
    row = found.tables["measures"][0]
    assert row["measure"] == "roc_auc"
    assert abs(row["value"].value - exact.value) <= row["bound"]
    assert any("left out" in note.message for note in found.warnings)


def test_no_slice_is_published_where_the_rest_would_be_told(tmp_path: Path) -> None:
    table = sites_of(np.random.default_rng(4), {"a": (40, 60), "b": (3, 0)})
    with pytest.raises(DataError, match="fewer than 5 rows of a class") as caught:
        clfeval.count(table, positive="yes", by="site", min_cell=LEAST)
    assert "leave out by" in str(caught.value.hint)


def test_names_of_several_negative_classes_are_not_told(tmp_path: Path) -> None:
    table = sites_of(np.random.default_rng(4), {"a": (40, 60)}).drop("site")
    rare = table.with_columns(
        truth=pl.when(pl.int_range(pl.len()) == 50).then(pl.lit("rare")).otherwise("truth")
    )
    _, about = hidden_counts(rare, tmp_path / "x.counts.parquet")
    assert about["classes"] == ["(other)", "yes"]
    assert "rare" not in clfeval.count(rare, positive="yes", min_cell=LEAST).to_json()


def test_a_model_of_the_same_order_has_only_edges_that_tell_nothing_more(tmp_path: Path) -> None:
    """Labels of a score at another threshold, and a recalibration, and one that is unlike."""
    dice = np.random.default_rng(7)
    truth = dice.random(400) < 0.4
    score = informed_scores(dice, truth, 0.3)
    table = pl.DataFrame(
        {
            "truth": np.where(truth, "yes", "no"),
            "a": score,
            "labels": np.where(score >= 0.9, "yes", "no"),
            "squared": score**2,
            "other": dice.random(400),
        }
    )
    found, _ = hidden_counts(table, tmp_path / "x.counts.parquet")
    sums: dict[str, set[tuple[int, int]]] = {}
    for (name,), rows in found.group_by("model"):
        sides = [
            rows.filter(truth=side).sort("lo")["n"].to_numpy().cumsum() for side in (True, False)
        ]
        sums[str(name)] = set(zip(*(side.tolist() for side in sides), strict=True))
    assert len(sums["a"]) > 3
    assert sums["labels"] <= sums["a"]
    assert sums["squared"] <= sums["a"]
    assert len(sums["other"] - sums["a"]) > 1


def test_a_limit_of_an_interval_is_judged_on_its_safe_side(tmp_path: Path) -> None:
    """The interval of the rows is within it, and may end anywhere before the largest value."""
    hidden_counts(
        table_of(np.random.default_rng(5), 500).drop("site"), tmp_path / "x.counts.parquet"
    )
    result = clfeval.report(tmp_path / "x.counts.parquet")
    row = row_of(result, "measures", model="many", measure="roc_auc")
    low, most = row["value"].low, row["value"].value + row["bound"]
    assert result.check(fail_under={"many:roc_auc.low": low - 1e-6}).passed
    assert not result.check(fail_under={"many:roc_auc.low": most + 1e-6}).passed
    for limit in (low + row["bound"], most - 1e-6):
        with pytest.raises(DataError, match="known within"):
            result.check(fail_under={"many:roc_auc.low": limit})


def test_a_model_is_not_first_whose_rank_is_unknown(tmp_path: Path) -> None:
    dice = np.random.default_rng(9)
    truth = dice.random(200) < 0.3
    table = pl.DataFrame(
        {
            "truth": np.where(truth, "yes", "no"),
            **{name: informed_scores(dice, truth, 0.3) for name in ("a", "b")},
            "c": dice.random(200),
        }
    )
    hidden_counts(table, place := tmp_path / "x.counts.parquet")
    result = clfeval.report(place)
    rows = rows_by(result, "measures", "model", measure="roc_auc")
    areas = {name: (value_of(row["value"]), row["bound"]) for name, row in rows.items()}
    assert abs(areas["a"][0] - areas["b"][0]) < areas["a"][1] + areas["b"][1]
    assert max(areas["a"][0], areas["b"][0]) - areas["c"][0] > areas["a"][1] + areas["c"][1]
    assert " may have the highest ROC AUC; " in result.answer[0].text
    assert {*result.answer[0].text.partition(" may")[0].split(" and ")} == {"a", "b"}


def test_a_change_is_as_uncertain_as_the_bounds_of_both_values(tmp_path: Path) -> None:
    dice, results = np.random.default_rng(2), []
    for k in range(2):
        hidden_counts(table_of(dice, 300).drop("site"), path := tmp_path / f"{k}.counts.parquet")
        clfeval.report(path).save(tmp_path / f"{k}.json")
        results.append(clfeval.report(path))
    found = results[1].check(baseline=tmp_path / "0.json")
    area = {"model": "many", "measure": "roc_auc"}
    bounds = sum(row_of(result, "measures", **area)["bound"] for result in results)
    change = row_of(found, "comparisons", **area)["difference"]
    assert change.high - change.value > bounds
    assert change.value - change.low > bounds
