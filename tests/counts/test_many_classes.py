"""More than two classes are taken as they are by who can, unless one of them is named positive."""

from __future__ import annotations

from pathlib import Path

import pytest

from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.sample import Sample
from clfeval.errors import DataError
from tests.counts.counting import count_table

THREE = "truth,m\na,a\nb,c\nc,c\na,b\n"
LONG = "id,model,prediction,truth\n1,m,a,a\n2,m,c,b\n3,m,c,c\n"
SHARES = "truth,m:a,m:b,m:c\na,.8,.1,.1\nb,.2,.2,.6\na,.1,.6,.3\n"


def counts_of_text(tmp_path: Path, text: str, **options: object) -> PredictionCounts:
    (tmp_path / "t.csv").write_text(text)
    return count_table(str(tmp_path / "t.csv"), **options)


@pytest.mark.parametrize("text", [THREE, LONG, SHARES])
def test_three_classes_need_no_positive_one(tmp_path: Path, text: str) -> None:
    found = counts_of_text(tmp_path, text, several=True)
    assert found.multiclass
    assert found.order == ("a", "b", "c")
    assert found.labels()[None].n.sum() == text.count("\n") - 1
    assert Sample.from_predictions(found).facts["classes"] == "3: 'a', 'b', 'c'"
    with pytest.raises(DataError, match="positive-needed"):
        counts_of_text(tmp_path, text)


def test_a_named_class_is_one_against_the_rest(tmp_path: Path) -> None:
    found = counts_of_text(tmp_path, THREE, several=True, positive="b")
    assert not found.multiclass
    assert found.positive == "b"
    assert (
        found.patterns.truth.tolist()
        == counts_of_text(tmp_path, THREE, positive="b").patterns.truth.tolist()
    )


def test_two_classes_are_asked_about_and_1_is_positive_as_ever(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="positive-needed"):
        counts_of_text(tmp_path, "truth,m\na,a\nb,a\n", several=True)
    found = counts_of_text(tmp_path, "truth,m\n0,1\n1,1\n", several=True)
    assert (found.positive, found.multiclass) == ("1", False)


def test_a_class_that_truth_lacks_counts_where_it_is_declared_or_has_a_column(
    tmp_path: Path,
) -> None:
    assert counts_of_text(
        tmp_path, "truth,m\n0,2\n1,1\n", several=True, classes=("0", "1", "2")
    ).multiclass
    found = counts_of_text(tmp_path, SHARES.replace("b,.2", "a,.2"), several=True)
    assert found.multiclass
    assert found.order == ("a", "b", "c")


def test_one_score_a_row_is_of_one_class_which_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="positive-needed"):
        counts_of_text(tmp_path, "truth,m\na,.5\nb,.3\nc,.1\n", several=True)


def test_numbers_are_classes_though_the_first_thousands_of_rows_hold_two_of_them(
    tmp_path: Path,
) -> None:
    text = "truth,m\n" + "0,1\n1,1\n" * 4000 + "2,2\n2,0\n"
    found = counts_of_text(tmp_path, text, several=True)
    assert found.multiclass
    assert found.order == ("0", "1", "2")
    assert found.labels()[None].tables[0].tolist() == [[0, 4000, 0], [0, 4000, 0], [1, 0, 1]]
