"""--by: columns apart and crossed, in every command; names that are awkward."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.counts.evaluated_rows import facet_of, slice_rows
from clfeval.errors import ClfevalError
from clfeval.tables.input import InputOptions, parse_facets
from tests.results import rows_by
from tests.samples import informed_scores


def scores_by_site(rows: int = 240, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, rows)
    return pl.DataFrame(
        {
            "truth": truth,
            "m1": informed_scores(rng, truth, 0.3, 2),
            "m2": informed_scores(rng, truth, 0.2, 2),
            "site": rng.choice(["x", "y", "01", "1", "no", ""], rows),
            "sex": rng.choice(["f", "m"], rows),
        }
    )


def results_by_command(**options: Any) -> dict[str, Result]:
    options["model"], table = ["m1", "m2"], scores_by_site()
    labels = table.with_columns((pl.col("m1", "m2") >= 0.5).cast(pl.Int8))
    return {
        "report": clfeval.report(table, **options),
        "mars": clfeval.mars(labels, **options),
        "phidelta": clfeval.phidelta(table, **options),
        "tune-jpt": clfeval.tune_jpt(table, **options),
    }


def labels_of(result: Result) -> list[str]:
    found = dict.fromkeys(row["slice"] for row in result.tables["models"])
    return [str(label) for label in found if label is not None]


def hits_by_slice(result: Result) -> dict[str | None, int]:
    return {label: row["tp"] for label, row in rows_by(result, "models", "slice").items()}


def test_two_columns_are_apart_in_every_command() -> None:
    both = results_by_command(by=["site", "sex"])
    one, other = (results_by_command(by=[name]) for name in ("site", "sex"))
    for name, result in both.items():
        tables = [each[name].tables for each in (one, other)]
        found, *parts = (
            [row for row in each["slices" if name == "mars" else "models"] if row["slice"]]
            for each in (result.tables, *tables)
        )
        assert found == parts[0] + parts[1], name
        assert [*dict.fromkeys(row["slice"] for row in found)] == [
            *(f"site={one}" for one in ("", "01", "1", "no", "x", "y")),
            "sex=f",
            "sex=m",
        ]


def test_crossed_columns_are_those_of_a_column_of_both() -> None:
    table, options = scores_by_site(900).filter(pl.col("site") != ""), {"model": ["m1", "m2"]}
    both = table.with_columns(site=pl.format("{}, sex={}", "site", "sex"))
    crossed = clfeval.report(table, by=["site*sex"], **options)
    named = clfeval.report(both, by=["site"], **options)
    assert len(labels_of(crossed)) == 10
    for name in ("models", "slices", "calibration", "extremes"):
        assert list(crossed.tables[name]) == list(named.tables[name])


def test_a_column_called_like_a_crossing_is_that_column() -> None:
    table = scores_by_site().rename({"sex": "site*sex"})
    found = clfeval.report(table, by=["site*sex"], model=["m1"])
    assert labels_of(found) == ["site*sex=f", "site*sex=m"]


def test_a_crossing_names_the_column_it_lacks() -> None:
    with pytest.raises(ClfevalError) as caught:
        clfeval.report(scores_by_site(), by=["site*sx"])
    assert "'sx'" in str(caught.value)


def test_one_name_for_two_slices_is_refused() -> None:
    odd = scores_by_site().select(
        "truth",
        "m1",
        b=pl.lit("2"),
        a=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("1, b=2")).otherwise(pl.lit("1")),
    )
    assert labels_of(clfeval.report(odd, by=["a"], model=["m1"])) == ["a=1", "a=1, b=2"]
    with pytest.raises(ClfevalError, match="same-slice"):
        clfeval.report(odd, by=["a", "a*b"], model=["m1"])


def test_counts_of_slices_are_apart_too() -> None:
    """sex=f: 10 + 20 of 100 + 100, site=x: 10 + 5 of 100 + 100."""
    counts = pl.DataFrame(
        {
            "model": ["m"] * 4,
            "site": ["x", "y", "x", "y"],
            "sex": ["f", "f", "m", "m"],
            "tp": [10, 20, 5, 7],
            "fp": [1, 2, 3, 4],
            "fn": [90, 80, 95, 93],
            "tn": [9, 8, 7, 6],
        }
    )
    found = clfeval.report(counts, by=["site", "sex"])
    assert hits_by_slice(found) == {None: 42, "site=x": 15, "site=y": 27, "sex=f": 30, "sex=m": 12}
    crossed = clfeval.report(counts, by=["sex*site"])
    assert hits_by_slice(crossed) == {
        None: 42,
        "sex=f, site=x": 10,
        "sex=f, site=y": 20,
        "sex=m, site=x": 5,
        "sex=m, site=y": 7,
    }


def test_places_are_those_of_a_loop() -> None:
    rng = np.random.default_rng(1)
    columns = {name: rng.choice(["a", "b", "c"], 90).tolist() for name in ("p", "q")}
    found = slice_rows((("p",), ("q", "p")), columns)
    assert list(found) == [
        *(f"p={one}" for one in "abc"),
        *(f"q={one}, p={two}" for one in "abc" for two in "abc"),
    ]
    for label, places in found.items():
        wanted = dict(part.split("=") for part in label.split(", "))
        assert places.tolist() == [
            i for i in range(90) if all(columns[name][i] == value for name, value in wanted.items())
        ]


def test_extremes_are_of_each_column_by_itself() -> None:
    """Slices of two columns share rows: their largest and smallest are no two samples."""
    table = scores_by_site(900)
    both = clfeval.report(table, by=["site", "sex"], model=["m1"]).tables["extremes"]
    alone = [
        row
        for name in ("site", "sex")
        for row in clfeval.report(table, by=[name], model=["m1"]).tables["extremes"]
    ]
    assert sorted(map(str, both)) == sorted(map(str, alone))
    facets = (("a",), ("a", "b"), ("b=c",))
    assert [facet_of(one, facets) for one in ("a=1", "a=1, b=2", "b=c=1", "c=1")] == [
        ("a",),
        ("a", "b"),
        ("b=c",),
        (),
    ]


def test_entries_are_columns_crossings_and_named_once() -> None:
    roles = InputOptions(by=("a", "a*b", "b * a", "c*d", "a", "a*a"))
    assert parse_facets(roles, ["a", "b", "c*d"]) == (("a",), ("a", "b"), ("b", "a"), ("c*d",))
