"""Numeric columns of --by in bins: by quantiles, at numbers, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import clfeval
from tests.results import rows_by
from tests.samples import informed_scores


def ages_and_scores(ages: list[float | None]) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    truth = np.arange(len(ages)) % 2
    score = informed_scores(rng, truth, 0.3, 3)
    return pl.DataFrame({"truth": truth, "age": ages, "m": score})


def sizes(table: object, by: str) -> dict[str, int]:
    """Return the rows of each bin of a report by ages."""
    result = clfeval.report(table, truth="truth", by=[by], model=["m"])
    by_slice = rows_by(result, "slices", "slice")
    return {label.removeprefix("age="): row["rows"] for label, row in by_slice.items()}


@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_columns_are_cut_at_numbers_and_at_quantiles(kind: str, tmp_path: Path) -> None:
    """Ages 1 to 100: below 40 are 39, 40 to 64 are 25, from 65 on 36; quarters of 25."""
    table: object = ages_and_scores([float(age) for age in range(1, 101)])
    if kind == "csv":
        assert isinstance(table, pl.DataFrame)
        table.with_columns(pl.col("age").cast(pl.Int64)).write_csv(tmp_path / "t.csv")
        table = tmp_path / "t.csv"
    assert sizes(table, "age:40,65") == {"under 40": 39, "40 to <65": 25, "65 or more": 36}
    quarters = sizes(table, "age:4")
    assert sorted(quarters.values()) == [24, 25, 25, 26]  # a cut belongs to the bin above it


def test_quantiles_that_all_are_the_least_number_part_it_from_the_rest() -> None:
    """61 of 80 are 0, and so are all three quartiles; or all 80 are."""
    assert sizes(ages_and_scores([*[0.0] * 61, *[3.0] * 19]), "age:4") == {
        "under 3": 61,
        "3 or more": 19,
    }
    assert sizes(ages_and_scores([5.0] * 80), "age:2") == {"5 or more": 80}


def test_a_missing_age_is_a_slice_of_its_own() -> None:
    found = sizes(ages_and_scores([*([30.0, 50.0] * 40), *([None] * 20)]), "age:40,60")
    assert found == {"under 40": 40, "40 to <60": 40, "(missing)": 20}


@pytest.mark.parametrize(
    ("by", "code"),
    [
        ("age:1", "bad-option"),
        ("age:21", "bad-option"),
        ("age:65,40", "bad-option"),
        ("m2:4", "unknown-column"),
        ("sex:2", "bad-number"),
    ],
)
def test_what_cannot_be_cut_is_refused(by: str, code: str) -> None:
    table = ages_and_scores([1.0, 2.0] * 40).with_columns(sex=pl.Series(["f", "m"] * 40))
    with pytest.raises(clfeval.ClfevalError, match=code):
        clfeval.report(table, truth="truth", by=[by], model=["m"])


def test_bins_are_in_the_order_of_their_numbers() -> None:
    """Not of the alphabet: -5 after -10, and `under` first."""
    ages = [float(age) for age in range(-20, 80)]
    found = sizes(ages_and_scores(ages), "age:-10,-5,9,40")
    assert [*found] == ["under -10", "-10 to <-5", "-5 to <9", "9 to <40", "40 or more"]
    crossed = ages_and_scores(ages).with_columns(sex=pl.Series(["m", "f"] * 50))
    found = sizes(crossed, "sex*age:9,40")
    names = [name.split("age=")[-1] for name in found]
    assert names == [*["under 9", "9 to <40", "40 or more"] * 2]


def test_bins_of_a_number_have_no_heterogeneity() -> None:
    ages = [float(age) for age in range(400)]
    table = ages_and_scores(ages).with_columns(site=pl.Series([*"aabbccdd"] * 50))
    found = clfeval.report(table, truth="truth", by=["age:4", "site"], model=["m"])
    assert {row["by"] for row in found.tables["heterogeneity"]} == {"site"}
