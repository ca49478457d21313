"""Random tables through files: CSV says what the frame says, sparse what the dense matrix says."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tests.methods.features import brute
from tests.methods.features.door import rows_by_feature
from tests.methods.features.mixed import agree
from tests.thoroughness import examples

MANY = examples(60)
CUTS = st.sampled_from([None, "median", "mean", "best", "soft", 0.5, 2.0])


Entries = dict[tuple[int, str], float]
VALUES = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])


@st.composite
def entries(draw: st.DrawFn) -> tuple[list[int], Entries]:
    """Draw the classes of some rows, and what some of them show of features a, b and c."""
    truth = [1, 0, *draw(st.lists(st.integers(0, 1), max_size=8))]
    keys = st.tuples(st.integers(0, len(truth) - 1), st.sampled_from("abc"))
    shown = draw(st.dictionaries(keys, VALUES, min_size=1, max_size=16))
    return truth, shown


def sparse(shown: Entries) -> pl.DataFrame:
    rows = [(row, feature, value) for (row, feature), value in shown.items()]
    return pl.DataFrame(rows, schema=["row", "feature", "value"], orient="row")


def owners(truth: list[int]) -> pl.DataFrame:
    return pl.DataFrame({"row": range(len(truth)), "truth": truth})


@MANY
@given(table=entries(), cut=CUTS)
def test_entries_say_what_the_dense_matrix_says(table: tuple[list[int], Entries], cut: Any) -> None:
    truth, shown = table
    rows = rows_by_feature(sparse(shown), truth_table=owners(truth), cut=cut)
    assert set(rows) == {feature for _, feature in shown}
    classes = [t == 1 for t in truth]
    for feature, row in rows.items():
        column = [shown.get((i, feature), 0.0) for i in range(len(truth))]
        if cut is None:
            agree(row, brute.binary(classes, [int(value != 0) for value in column]))
        else:
            agree(row, brute.numeric(classes, column, cut))


@MANY
@given(table=entries(), cut=CUTS, data=st.data())
def test_the_order_of_entries_and_of_classes_changes_nothing(
    table: tuple[list[int], Entries], cut: Any, data: Any
) -> None:
    truth, shown = table
    mixed = dict(data.draw(st.permutations(list(shown.items()))))
    first = rows_by_feature(sparse(shown), truth_table=owners(truth), cut=cut)
    second = rows_by_feature(sparse(mixed), truth_table=owners(truth)[::-1], cut=cut)
    assert list(first.items()) == list(second.items())
