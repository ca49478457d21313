"""Class probabilities, and labels beside scores, that are easily misread.

What a refusal proposes is run, and finds nothing more to ask.
"""

from __future__ import annotations

import pytest

import clfeval
from tests.process.program import clfeval as program
from tests.tables.asking import asked, found
from tests.tables.door import confusion, write


@pytest.mark.parametrize("prefix", ["", "p_", "prob_", "proba_", ".pred_"])
def test_probabilities_named_by_class_are_one_model(prefix: str) -> None:
    header = ",".join(f"{prefix}{name}" for name in ("barbera", "barolo", "grignolino"))
    rows = "barbera,.7,.2,.1\nbarolo,.2,.7,.1\ngrignolino,.1,.45,.45\nbarolo,.5,.3,.2\n"
    write("t.csv", f"truth,{header}\n{rows}")
    # of the two that tie the first class is taken
    assert list(found(positive="barolo").values()) == [(1, 1, 1, 1)]


def test_labels_are_folded_in_the_names_of_probabilities_too() -> None:
    rows = "Bad,.7,.3\nBAD,.2,.8\ngood,.6,.4\ngood,.1,.9\n"
    for header in ("p_Bad,p_good", "rf:BAD,rf:Good", "Bad,good"):
        write("t.csv", f"truth,{header}\n{rows}")
        assert [*found(positive="bad", fold_labels=True).values()] == [(1, 1, 1, 1)]


def test_probabilities_that_do_not_sum_to_1_are_named_with_the_worst_row() -> None:
    rows = "a,.7,.2,.1\nb,.2,.7,.1\nc,.1,.2,.35\nb,.25,.15,.1\na,.6,.3,.1\n"
    lines = asked(f"truth,p_a,p_b,p_c\n{rows}", "--positive", "b")
    assert lines == [
        "t.csv:5: column 'p_a': the class probabilities of 'model' sum to 0.5, at worst [bad-sum]",
        "hint: --renormalize divides them by their sum in each row",
        "try: clfeval mars t.csv --positive b -q --renormalize",
    ]
    # .7 of 1, .15 of .5: at .29 both of b are found, at .31 one
    low = found(positive="b", renormalize=True, threshold=0.29)
    high = found(positive="b", renormalize=True, threshold=0.31)
    assert (low["model"], high["model"]) == ((2, 2, 0, 1), (1, 0, 1, 3))


def test_two_decimal_places_are_exact_enough() -> None:
    write("t.csv", "truth,p_a,p_b,p_c\na,.33,.33,.33\nb,.17,.67,.17\nc,.01,.01,.99\n")
    assert found(positive="b")["model"] == (1, 0, 0, 2)


def test_a_class_without_a_column_leaves_no_sum_to_check() -> None:
    write("t.csv", "truth,p_a,p_b\na,.7,.2\nb,.2,.7\nc,.1,.2\n")
    assert found(positive="b")["model"] == (1, 0, 0, 2)


def test_y_pred_and_y_prob_are_one_model() -> None:
    write("t.csv", "y_true,y_pred,y_prob\n1,1,0.7\n0,0,0.2\n1,0,0.3\n0,1,0.6\n")
    result = clfeval.mars("t.csv")
    assert confusion(result) == {"model": (1, 1, 1, 1)}
    assert [note.message for note in result.warnings if note.code == "labels-and-scores"] == [
        "'y_pred' and 'y_prob' are one model, 'model': scores from 0.5 on are positive; any "
        "threshold above 0.3 and up to 0.6 gives the same labels"
    ]


def test_the_threshold_that_relates_labels_to_scores_is_found() -> None:
    rows = "yes,yes,0.34\nno,no,0.2\nyes,no,0.3\nno,yes,0.6\n"
    write("t.csv", f"truth,rf_pred,rf_prob,gb_pred,gb_prob\n{_twice(rows)}")
    result = clfeval.mars("t.csv", positive="yes")
    assert confusion(result) == {"rf": (1, 1, 1, 1), "gb": (1, 1, 1, 1)}
    assert [note.message for note in result.warnings if note.code == "labels-and-scores"] == [
        f"'{m}_pred' and '{m}_prob' are one model, '{m}': scores from 0.32 on are positive; any "
        "threshold above 0.3 and up to 0.34 gives the same labels"
        for m in ("rf", "gb")
    ]
    # a threshold that is given goes before
    assert found(positive="yes", threshold=0.5)["rf"] == (0, 1, 2, 1)


def _twice(rows: str) -> str:
    lines = (line.split(",") for line in rows.splitlines())
    return "".join(f"{t},{v},{s},{v},{s}\n" for t, v, s in lines)


def test_labels_that_no_threshold_makes_are_asked_about() -> None:
    lines = asked("y_true,y_pred,y_prob\n1,1,0.2\n0,0,0.7\n1,0,0.3\n0,1,0.6\n")
    assert lines == [
        "t.csv: column 'y_pred': its labels are not 'y_prob' cut at one threshold: '1' from 0.2 "
        "on, others up to 0.7 [labels-differ]",
        "hint: --ignore 'y_pred' takes the scores, --ignore 'y_prob' takes the labels",
        "try: clfeval mars t.csv -q --ignore y_pred",
    ]
    assert found(ignore="y_pred") == {"y_prob": (0, 2, 2, 0)}
    assert found(ignore="y_prob") == {"y_pred": (1, 1, 1, 1)}
    assert set(found(model=["y_pred", "y_prob"])) == {"y_pred", "y_prob"}


def test_a_flag_beside_scores_is_asked_about() -> None:
    rows = "1,.7,.4,1\n0,.2,.3,1\n1,.3,.6,0\n0,.6,.1,1\n"
    assert asked(f"truth,rf,gb,is_member\n{rows}") == [
        "t.csv: column 'is_member': only 0 and 1, beside scores of other models: is it a model? "
        "[stray-labels]",
        "hint: --ignore leaves it out; --model, once for each model, says that it is one",
        "try: clfeval mars t.csv -q --ignore is_member",
    ]
    assert set(found(ignore="is_*")) == {"rf", "gb"}
    assert set(found(model="*")) == {"rf", "gb", "is_member"}


def test_a_number_beside_labels_is_no_model() -> None:
    rows = "".join(f"{i % 2},{i % 3 % 2},{i % 5 % 2},{i * 7 % 50 + 20}\n" for i in range(20))
    lines = asked(f"truth,rf,gb,age\n{rows}")
    assert lines[0].startswith("t.csv: column 'age': called like a property of the rows")
    assert lines[-1] == "try: clfeval mars t.csv -q --ignore age"


@pytest.mark.parametrize("name", ["P{}", "{}"])
def test_a_column_of_patients_is_taken_for_clusters(name: str) -> None:
    rows = "".join(
        f"{name.format(i // 2 + 7)},{i % 2},{i % 3 % 2},{i % 5 % 2}\n" for i in range(30)
    )
    lines = asked(f"patient,truth,rf,gb\n{rows}")
    assert "--cluster 'patient' (mars, phidelta, tune-jpt, report)" in lines[-2]
    assert lines[-1] == "try: clfeval mars t.csv -q --cluster patient"
    # mlcps has no clusters
    done = program("mlcps", "t.csv", "--from", "predictions", "--metric", "recall", "--metric",
                   "accuracy", "--metric", "f1", "-q")  # fmt: skip
    assert done.err.splitlines()[-1].endswith(" -q --ignore patient")


def test_a_tree_that_is_sure_of_everything_is_no_flag() -> None:
    write("t.csv", "truth,rf,tree\n1,.7,1.0\n0,.2,0.0\n1,.3,0.0\n")
    assert found()["tree"] == (1, 0, 1, 1)
