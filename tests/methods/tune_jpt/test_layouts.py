"""The way in is no matter: predictions of any layout, weights, slices, files, counts."""

from __future__ import annotations

import random

import polars as pl
from hypothesis import given

import clfeval
from clfeval.api.result import Result
from tests.methods.tune_jpt.reference import Cells, counts_frame
from tests.reference import Row, confusion, repeated
from tests.results import Line, four_cells, row_of, rows_of, value_of, warning_codes
from tests.strategies import frame_of, tables
from tests.thoroughness import examples

both_classes = tables(models=(1, 3), rows=(2, 10)).filter(
    lambda table: len({row.truth for row in table}) == 2
)
ODDS = ["1:1000", "3:2"]
FEW = ["tar", "ppv", "sensitivity", "lr_neg"]

# truth, m0, m1
ROWS = [
    Row(1, (1, 0), 3),
    Row(1, (1, 1), 5),
    Row(1, (0, 1), 2),
    Row(0, (1, 0), 4),
    Row(0, (0, 0), 6),
]


def tune(table: object, **options: object) -> Result:
    return clfeval.tune_jpt(table, **{"prevalence": ODDS, "sweep": None} | options)  # type: ignore[arg-type]


def rows_by_table(result: Result) -> dict[str, list[Line]]:
    return {name: rows_of(result, name) for name in result.tables}


def tuned_counts(rows: list[Row], **options: object) -> Result:
    """Count the cells row by row and tune those."""
    k = len(rows[0].votes)
    return tune(None, counts={f"m{j}": confusion(rows, j) for j in range(k)}, **options)


@examples(20)
@given(both_classes)
def test_predictions_are_the_counts_they_make(rows: list[Row]) -> None:
    plain = {"interval": "none", "measure": "cost:fp=1,fn=5"}
    expected = rows_of(tuned_counts(rows, **plain), "models")
    assert rows_of(tune(frame_of(rows), weight="n", **plain), "models") == expected
    expanded = repeated(rows)
    assert rows_of(tune(frame_of(expanded, weight=False), **plain), "models") == expected
    random.Random(0).shuffle(expanded)
    assert rows_of(tune(frame_of(expanded, weight=False), **plain), "models") == expected


def test_intervals_too_whatever_the_way_in() -> None:
    expected = rows_of(tuned_counts(ROWS), "models")
    frame = frame_of(ROWS)
    cells = {f"m{j}": Cells(*confusion(ROWS, j)) for j in range(2)}
    assert rows_of(tune(counts_frame(cells)), "models") == expected
    assert rows_of(tune(frame, weight="n"), "models") == expected
    everything = rows_by_table(tune(frame, weight="n"))
    assert rows_by_table(tune(frame_of(repeated(ROWS), weight=False))) == everything
    assert rows_by_table(tune(frame.reverse(), weight="n")) == everything
    assert rows_by_table(tune(frame.to_pandas(), weight="n")) == everything


def test_models_of_one_table_are_those_of_single_ones() -> None:
    together = tune(frame_of(ROWS), weight="n", measure=FEW)
    for j in range(2):
        alone = tune(frame_of(ROWS), weight="n", model=f"m{j}", measure=FEW)
        assert rows_of(alone, "models") == rows_of(together, "models", model=f"m{j}")
        assert "crossovers" not in alone.tables
        assert "winners" not in alone.tables


def test_each_slice_is_the_table_of_its_rows() -> None:
    north, south = (
        ROWS,
        [Row(1, (0, 1), 2), Row(1, (1, 1), 3), Row(0, (0, 1), 7), Row(0, (1, 0), 2)],
    )
    frame = pl.concat(
        [
            frame_of(rows).with_columns(site=pl.lit(site))
            for site, rows in (("N", north), ("S", south))
        ]
    )
    options = {"weight": "n", "prevalence": "0.01..0.1", "sweep": "1:10..10:1", "points": 3}
    sliced = rows_by_table(tune(frame, by="site", measure=FEW, **options))
    whole = rows_by_table(tune(frame.drop("site"), measure=FEW, **options))
    assert set(sliced) == set(whole)
    assert {"crossovers", "winners", "sweep", "ranges"} < set(sliced)
    parts = {
        label: rows_by_table(tune(frame_of(part), measure=FEW, **options))
        for label, part in (("site=N", north), ("site=S", south))
    }
    for name, rows in sliced.items():
        assert [row for row in rows if row.get("slice") is None] == whole[name], name
        if name == "at_prevalence":  # of the whole table only
            continue
        for label, alone in parts.items():
            slice_rows = [row for row in rows if row["slice"] == label]
            # swept odds are for the whole table only
            expected = [
                {**row, "slice": label}
                for row in alone[name]
                if name != "sweep" and row.get("population") != "sweep"
            ]
            assert slice_rows == expected, (name, label)


def test_a_slice_without_a_class_is_undefined_and_said_so() -> None:
    """Site B has no positives: nothing can be tuned there, the rest stands."""
    frame = pl.DataFrame(
        {"truth": [1, 1, 0, 0, 0, 0], "m": [1, 0, 0, 1, 1, 0], "site": list("AAAABB")}
    )
    result = tune(frame, by="site", measure=["specificity", "sensitivity", "ppv", "tar"])
    assert "single-class" in warning_codes(result)
    sample = row_of(result, "models", slice="site=B", population="sample")
    assert four_cells(sample) == (0, 1, 0, 1)
    assert value_of(sample["specificity"]) == 0.5
    assert sample["sensitivity"].value is None
    assert sample["sensitivity"].reason == "no_positive_truth"
    for row in rows_of(result, "models", slice="site=B"):
        if row["population"] != "sample":
            assert row["ppv"].value is None
            assert row["ppv"].reason == row["tar"].reason == "no_positive_truth"
    assert row_of(result, "models", slice="site=A", population="sample")["tar"].value == 0.5


def test_another_positive_class_exchanges_the_cells() -> None:
    """TP <-> TN and FP <-> FN; odds 1:1000 are then those of the other class."""
    frame = frame_of(ROWS).with_columns(
        pl.col("truth", "m0", "m1").replace_strict({0: "no", 1: "yes"})
    )
    yes, no = (tune(frame, weight="n", positive=label, measure=FEW) for label in ("yes", "no"))
    for j in range(2):
        tp, fp, fn, tn = confusion(ROWS, j)
        for result, cells in ((yes, (tp, fp, fn, tn)), (no, (tn, fn, fp, tp))):
            expected = tune(None, counts={f"m{j}": cells}, measure=FEW)
            assert rows_of(result, "models", model=f"m{j}") == rows_of(expected, "models")
