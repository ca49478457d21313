"""Layouts: wide, long, probabilities and counts are recognised from the header."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tables.door import (
    EXPECTED,
    Confusion,
    mars_confusion,
    opened,
    places,
    refusal,
    spots,
    told,
    write,
)
from tests.texts import check_text

WIDE = "id,truth,a,b\n1,1,1,0\n2,0,0,0\n3,1,0,1\n4,0,1,0\n"
# id, model, prediction, truth: WIDE, one answer a row
ANSWERS = ("1,a,1,1", "1,b,0,1", "2,a,0,0", "2,b,0,0", "3,a,0,1", "3,b,1,1", "4,a,1,0", "4,b,0,0")
LONG = "\n".join(["id,model,prediction,truth", *ANSWERS, ""])

# positive class, the line about the table (kept), and counts
TIDYMODELS = "truth,.pred_class,.pred_no,.pred_yes\nyes,yes,.2,.8\nno,yes,.4,.6\nno,no,.9,.1\n"
PROB_CLASSES_WITH_SPACES = "truth,prob_grade 2,prob_not seen\ngrade 2,.8,.2\nnot seen,.3,.7\n"
BOUND_BY_NAME_NOT_BY_ORD = "truth,m:z,m:a\na,.1,.9\nz,.8,.2\n"
THREE_CLASSES_THE_LAST_R = "truth,m:a,m:b,m:c\na,.4,.3,.3\nb,.4,.5,.1\nc,.45,.1,.45\n"
READ: dict[str, tuple[str, str | None, dict[str, Confusion]]] = {
    "wide": (WIDE, None, EXPECTED),
    "labels and scores": (
        "y_true,rf,svm,net\nyes,yes,0.7,1e-3\nno,no,0.2,1\n",
        "yes",
        {"rf": (1, 0, 0, 1), "svm": (1, 0, 0, 1), "net": (0, 1, 1, 0)},
    ),
    "long": (LONG, None, EXPECTED),
    "tidymodels": (TIDYMODELS, "yes", {"pred": (1, 1, 0, 1)}),
    "prob, classes with spaces": (PROB_CLASSES_WITH_SPACES, "grade 2", {"prob": (1, 0, 0, 1)}),
    "colons and spaces in both": (
        "truth,net v2:a:b,net v2:c d,k:c d,k:a:b\na:b,.9,.1,.6,.4\nc d,.2,.8,.7,.3\n",
        "a:b",
        {"net v2": (1, 0, 0, 1), "k": (0, 0, 1, 1)},
    ),
    "bound by name, not by order": (BOUND_BY_NAME_NOT_BY_ORD, "a", {"m": (1, 0, 0, 1)}),
    "three classes, the last row ties": (THREE_CLASSES_THE_LAST_R, "a", {"m": (1, 1, 0, 1)}),
    "counts": ("model,tp,fp,fn,tn\na,1,2,3,4\n", None, {"a": (1, 2, 3, 4)}),
}


@pytest.mark.parametrize("case", READ)
def test_a_layout_is_recognised(case: str) -> None:
    content, positive, expected = READ[case]
    check_text(opened(write("t.csv", content), positive=positive).described())
    assert mars_confusion("t.csv", positive=positive) == expected


@pytest.mark.parametrize(
    "header",
    [
        "id,model,prediction,truth",
        "Instance ID,classifier,pred_label,true_label",  # the MARS authors' template
        "OBSERVATION_ID,CLASSIFIER_NAME,PREDICTED_CLASS,ACTUAL_CLASS",  # and their readme
        "row_id,system,y_pred,y_true",
        " Id , Model ,predicted,TARGET",
        "id,model,yhat,y_true",
    ],
)
def test_a_long_table_is_recognised_by_its_header(header: str) -> None:
    content = "\n".join([header, *ANSWERS, ""])
    assert mars_confusion(write("t.csv", content)) == EXPECTED


def test_a_long_table_may_list_its_rows_in_any_order() -> None:
    content = "\n".join(["id,model,prediction,truth", *ANSWERS[::-1], ""])
    assert mars_confusion(write("t.csv", content)) == EXPECTED
    assert mars_confusion(write("t.csv", LONG), model="b") == {"b": EXPECTED["b"]}


@pytest.mark.parametrize("name", ["score", "y_score", "y_prob", "prob", "Probability"])
def test_a_long_table_of_scores(name: str) -> None:
    content = f"id,model,{name},truth\n1,a,.9,1\n1,b,.1,1\n2,a,.4,0\n2,b,.6,0\n"
    assert mars_confusion(write("t.csv", content)) == {"a": (1, 0, 0, 1), "b": (0, 1, 1, 0)}


def test_labels_beside_scores_of_a_long_table_are_asked_about() -> None:
    rows = "1,a,1,0,.4\n1,b,1,1,.1\n2,a,0,0,.3\n2,b,0,1,.6\n"
    assert told(f"id,model,truth,y_pred,y_prob\n{rows}") == "which-layout"
    scores = {"a": (0, 0, 1, 1), "b": (0, 1, 1, 0)}
    assert (
        mars_confusion("t.csv", ignore="y_pred") == mars_confusion("t.csv", kind="score") == scores
    )
    assert mars_confusion("t.csv", kind="label") == {"a": (0, 0, 1, 1), "b": (1, 1, 0, 0)}


def test_the_only_numbers_of_a_table_with_model_names_are_predictions() -> None:
    rows = "".join(f"{i},{m},{i % 2},.{i}\n" for i in range(1, 9) for m in ("rf", "svm"))
    write("t.csv", f"id,model,truth,p\n{rows}")
    assert mars_confusion("t.csv") == dict.fromkeys(["rf", "svm"], (2, 2, 2, 2))


def test_a_long_table_may_name_its_id() -> None:
    content = LONG.replace("id,", "patient,", 1)
    assert (
        mars_confusion(write("t.csv", content)) == mars_confusion("t.csv", id="patient") == EXPECTED
    )


def test_a_threshold_cuts_probabilities_of_three_classes() -> None:
    content = READ["three classes, the last row ties"][0]
    expected = {"m": (0, 1, 1, 1)}
    assert mars_confusion(write("t.csv", content), positive="a", threshold=0.42) == expected


ONE_BAD_CELL = "id,truth,m:a,m:b\n1,a,.9,.1\n2,b,x,.7\n3,b,.2,.8\n"
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "no column of the positive class": (
        "truth,m:a,k:a,k:b\na,.9,.2,.8\nb,.3,.2,.8\n",
        {"positive": "b"},
        "no-class-column",
    ),
    "one bad cell": (ONE_BAD_CELL, {"positive": "a"}, "3:m:a bad-number"),
    "counts of several": ("model,TP,FP,FN,TN\na,1,2,3,4\nb,2,1,2,5\n", {}, "needs-predictions"),
    "no id": (LONG.replace("id,", "place,", 1), {}, "no-id"),
    "long": (WIDE, {"layout": "long"}, "wrong-layout"),
    "counts": (WIDE, {"layout": "counts"}, "wrong-layout"),
    "no truth": ("id,m,a\n1,x,1\n2,x,1\n", {}, "no-truth"),
    "no models": ("id,truth\n1,1\n", {}, "no-models"),
    "no such column": ("id,truth,site name,a\n1,1,x,1\n", {"by": "Site-name"}, "unknown-column"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_layout_that_is_not_there_is_refused(case: str) -> None:
    content, options, expected = REFUSED[case]
    assert told(content, **options) == expected


def test_a_weighted_table_counts_each_row_as_often_as_it_says() -> None:
    content = "truth,a,n\n1,1,5\n1,0,3\n0,1,2\n0,0,0\n"
    assert mars_confusion(write("t.csv", content), weight="n") == {"a": (5, 2, 3, 0)}


def test_a_layout_asked_for_outranks_the_header() -> None:
    content = "truth,model,score\n1,1,1\n0,1,0\n"  # two models with unlucky names
    assert places(content) == "no-id"
    assert mars_confusion("t.csv", layout="wide") == {"model": (1, 1, 0, 0), "score": (1, 0, 0, 1)}


def test_truth_is_the_first_of_the_usual_names() -> None:
    names = ["truth", "y_true", "target", "actual", "label", "true_label"]
    for position, name in enumerate(names):
        header = ["m", *reversed(names[position:])]  # the later names come first in the file
        content = f"{','.join(header)}\n{','.join('1' * len(header))}\n"
        others = names[position + 1 :]
        assert opened(write("t.csv", content), ignore=others).columns.truth == name
        if others:  # who names none is asked
            assert "which-truth" in places(content)


def test_truth_outranks_the_usual_names_when_given() -> None:
    columns = opened(write("t.csv", "truth,gold,a\n0,1,1\n0,0,0\n"), truth="gold").columns
    assert (columns.truth, [one.name for one in columns.models]) == ("gold", ["truth", "a"])


@pytest.mark.parametrize("option", ["truth", "id", "weight"])
def test_an_unknown_column_gets_a_suggestion(option: str) -> None:
    error = refusal(write("t.csv", "id,truth,site name,a\n1,1,x,1\n"), **{option: "Site-name"})
    assert spots(error) == "unknown-column"
    assert "'site name'" in (error.hint or "")
