"""Class probabilities, and labels with scores, that are easily misread.

What a refusal proposes is run, and finds nothing more to ask.
"""

from __future__ import annotations

import pytest

import clfeval
from tests.process.program import clfeval as program
from tests.results import warning_messages
from tests.tables.asking import refusal_and_options
from tests.tables.door import confusion, mars_confusion, write
from tests.texts import check_text, numbers_in


@pytest.mark.parametrize("prefix", ["", "p_", "prob_", "proba_", ".pred_"])
def test_probabilities_named_by_class_are_one_model(prefix: str) -> None:
    header = ",".join(f"{prefix}{name}" for name in ("barbera", "barolo", "grignolino"))
    rows = "barbera,.7,.2,.1\nbarolo,.2,.7,.1\ngrignolino,.1,.45,.45\nbarolo,.5,.3,.2\n"
    write("t.csv", f"truth,{header}\n{rows}")
    # of the two that tie the first class is taken
    assert list(mars_confusion(positive="barolo").values()) == [(1, 1, 1, 1)]


@pytest.mark.parametrize("header", ["p_Bad,p_good", "rf:BAD,rf:Good", "Bad,good"])
def test_labels_are_folded_in_the_names_of_probabilities_too(header: str) -> None:
    write("t.csv", f"truth,{header}\nBad,.7,.3\nBAD,.2,.8\ngood,.6,.4\ngood,.1,.9\n")
    assert [*mars_confusion(positive="bad", fold_labels=True).values()] == [(1, 1, 1, 1)]


def test_probabilities_that_do_not_sum_to_1_are_named_with_the_worst_row() -> None:
    rows = "a,.7,.2,.1\nb,.2,.7,.1\nc,.1,.2,.35\nb,.25,.15,.1\na,.6,.3,.1\n"
    spots, proposed = refusal_and_options(f"truth,p_a,p_b,p_c\n{rows}", "--positive", "b")
    assert (spots, proposed) == ("5:p_a bad-sum", "--renormalize")
    # .7 of 1, .15 of .5: at .29 both of b are found, at .31 one
    low = mars_confusion(positive="b", renormalize=True, threshold=0.29)
    high = mars_confusion(positive="b", renormalize=True, threshold=0.31)
    assert (low["model"], high["model"]) == ((2, 2, 0, 1), (1, 0, 1, 3))


EXACT = "truth,p_a,p_b,p_c\na,.33,.33,.33\nb,.17,.67,.17\nc,.01,.01,.99\n"
NO_SUM = "truth,p_a,p_b\na,.7,.2\nb,.2,.7\nc,.1,.2\n"


@pytest.mark.parametrize("content", [EXACT, NO_SUM])
def test_sums_that_raise_no_question(content: str) -> None:
    write("t.csv", content)
    assert mars_confusion(positive="b")["model"] == (1, 0, 0, 2)


def test_y_pred_and_y_prob_are_one_model() -> None:
    write("t.csv", "y_true,y_pred,y_prob\n1,1,0.7\n0,0,0.2\n1,0,0.3\n0,1,0.6\n")
    result = clfeval.mars("t.csv")
    assert confusion(result) == {"model": (1, 1, 1, 1)}
    (note,) = warning_messages(result, "labels-and-scores")
    assert numbers_in(note) == [0.5, 0.3, 0.6]
    check_text(note)


def test_the_threshold_that_relates_labels_to_scores_is_found() -> None:
    rows = [("yes", "yes,0.34"), ("no", "no,0.2"), ("yes", "no,0.3"), ("no", "yes,0.6")]
    lines = "".join(f"{truth},{said},{said}\n" for truth, said in rows)
    write("t.csv", f"truth,rf_pred,rf_prob,gb_pred,gb_prob\n{lines}")
    result = clfeval.mars("t.csv", positive="yes")
    # between .3 and .34, so as to cut as the labels do
    assert confusion(result) == {"rf": (1, 1, 1, 1), "gb": (1, 1, 1, 1)}
    notes = warning_messages(result, "labels-and-scores")
    assert [numbers_in(note) for note in notes] == [[0.32, 0.3, 0.34]] * 2
    # a threshold that is given goes before
    assert mars_confusion(positive="yes", threshold=0.5)["rf"] == (0, 1, 2, 1)


def test_labels_that_no_threshold_makes_are_asked_about() -> None:
    spots, proposed = refusal_and_options(
        "y_true,y_pred,y_prob\n1,1,0.2\n0,0,0.7\n1,0,0.3\n0,1,0.6\n"
    )
    either = "--model y_pred | --model y_prob | --model y_pred --model y_prob"
    assert (spots, proposed) == ("y_pred which-role, y_prob which-role", either)
    assert mars_confusion(ignore="y_pred") == {"y_prob": (0, 2, 2, 0)}
    assert mars_confusion(ignore="y_prob") == {"y_pred": (1, 1, 1, 1)}
    assert set(mars_confusion(model=["y_pred", "y_prob"])) == {"y_pred", "y_prob"}


def test_a_flag_among_scores_is_asked_about() -> None:
    rows = "1,.7,.4,1\n0,.2,.3,1\n1,.3,.6,0\n0,.6,.1,1\n"
    spots, proposed = refusal_and_options(f"truth,rf,gb,is_member\n{rows}")
    either = "--model rf --model gb --model is_member | --ignore is_member"
    assert (spots, proposed) == ("is_member which-role", either)
    assert set(mars_confusion(ignore="is_*")) == {"rf", "gb"}
    assert set(mars_confusion(model="*")) == {"rf", "gb", "is_member"}


@pytest.mark.parametrize("name", ["P{}", "{}"])
def test_a_column_of_patients_may_hold_clusters(name: str) -> None:
    rows = "".join(
        f"{name.format(i // 2 + 7)},{i % 2},{i % 3 % 2},{i % 5 % 2}\n" for i in range(30)
    )
    either = "--cluster patient | --ignore patient"
    assert refusal_and_options(f"patient,truth,rf,gb\n{rows}")[1] == either
    # mlcps has no clusters
    done = program(
        "mlcps",
        "t.csv",
        "--from",
        "predictions",
        "--metric",
        "recall",
        "--metric",
        "accuracy",
        "--metric",
        "f1",
        "-q",
    )
    assert done.err.splitlines()[-1].endswith(" -q --ignore patient")
