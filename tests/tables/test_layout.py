"""Layouts: wide, long, probabilities and counts are recognised from the header."""

from __future__ import annotations

import pytest

from clfeval.errors import DataError, UsageError
from tests.tables.door import EXPECTED, counted, data_message, opened, refusal, write

WIDE = "id,truth,a,b\n1,1,1,0\n2,0,0,0\n3,1,0,1\n4,0,1,0\n"
ANSWERS = [  # id, model, prediction, truth: WIDE, one answer a row
    "1,a,1,1",
    "1,b,0,1",
    "2,a,0,0",
    "2,b,0,0",
    "3,a,0,1",
    "3,b,1,1",
    "4,a,1,0",
    "4,b,0,0",
]


def described(content: str, **options: object) -> str:
    """Return the line stderr gets about a table."""
    return opened(write("t.csv", content), **options).described()


def test_a_wide_table_is_stated() -> None:
    assert described(WIDE) == "t.csv: wide; truth 'truth'; id 'id'; labels of 'a', 'b'"


def test_labels_and_scores_are_told_apart() -> None:
    text = described("y_true,rf,svm,net\nyes,yes,0.7,1e-3\nno,no,0.2,1\n", positive="yes")
    assert text == "t.csv: wide; truth 'y_true'; labels of 'rf'; scores of 'svm', 'net'"


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
    row_id, model, prediction, truth = header.split(",")
    assert described(content) == (
        f"t.csv: long; truth '{truth}'; id '{row_id}'; "
        f"models in '{model}', answers in '{prediction}'"
    )
    assert counted("t.csv") == EXPECTED


def test_a_long_table_may_list_its_rows_in_any_order() -> None:
    content = "\n".join(["id,model,prediction,truth", *ANSWERS[::-1], ""])
    assert counted(write("t.csv", content)) == EXPECTED


@pytest.mark.parametrize("name", ["score", "y_score", "y_prob", "prob", "Probability"])
def test_a_long_table_of_scores(name: str) -> None:
    content = f"id,model,{name},truth\n1,a,.9,1\n1,b,.1,1\n2,a,.4,0\n2,b,.6,0\n"
    assert counted(write("t.csv", content)) == {"a": (1, 0, 0, 1), "b": (0, 1, 1, 0)}


def test_labels_beside_scores_of_a_long_table_are_asked_about() -> None:
    rows = "1,a,1,0,.4\n1,b,1,1,.1\n2,a,0,0,.3\n2,b,0,1,.6\n"
    assert data_message(f"id,model,truth,y_pred,y_prob\n{rows}") == (
        "t.csv: 'y_pred' has labels and 'y_prob' scores [which-layout]\n"
        "hint: which are the answers? --ignore 'y_pred' takes the scores, --ignore 'y_prob' the "
        "labels"
    )
    scores = {"a": (0, 0, 1, 1), "b": (0, 1, 1, 0)}
    assert counted("t.csv", ignore="y_pred") == counted("t.csv", kind="score") == scores
    assert counted("t.csv", kind="label") == {"a": (0, 0, 1, 1), "b": (1, 1, 0, 0)}


def test_models_named_in_rows_without_known_answers_are_told_what_is_lacking() -> None:
    rows = "".join(f"{i},{m},{i % 2},.{i}\n" for i in range(1, 9) for m in ("rf", "svm"))
    assert "hint: does 'model' name models? Then call the column of their answers 'score'" in (
        data_message(f"id,model,truth,p\n{rows}")
    )


def test_a_long_table_may_name_its_id() -> None:
    content = "\n".join(["patient,model,prediction,truth", *ANSWERS, ""])
    assert data_message(content) == (
        "t.csv: a long table needs a column that names the row each line is about [no-id]\n"
        "hint: name it with --id COLUMN, or number the rows of each model alike"
    )
    assert counted("t.csv", id="patient") == EXPECTED
    content = "\n".join(["document,model,prediction,truth", *ANSWERS, ""])
    assert data_message(content).endswith("hint: --id 'document': its name")


def test_models_of_a_long_table_are_chosen_by_name() -> None:
    content = "\n".join(["id,model,prediction,truth", *ANSWERS, ""])
    assert counted(write("t.csv", content), model="b") == {"b": EXPECTED["b"]}


def test_tidymodels_probabilities_are_one_model() -> None:
    content = "truth,.pred_class,.pred_no,.pred_yes\nyes,yes,.2,.8\nno,yes,.4,.6\nno,no,.9,.1\n"
    assert described(content, positive="yes") == (
        "t.csv: probabilities; truth 'truth'; class probabilities of 'pred'"
    )
    assert counted("t.csv", positive="yes") == {"pred": (1, 1, 0, 1)}


def test_prob_columns_are_one_model_and_classes_may_hold_spaces() -> None:
    content = "truth,prob_grade 2,prob_not seen\ngrade 2,.8,.2\nnot seen,.3,.7\n"
    assert described(content, positive="grade 2") == (
        "t.csv: probabilities; truth 'truth'; class probabilities of 'prob'"
    )
    assert counted("t.csv", positive="grade 2") == {"prob": (1, 0, 0, 1)}
    assert counted("t.csv", positive="not seen") == {"prob": (1, 0, 0, 1)}


def test_colons_bind_models_to_classes_and_both_may_hold_colons_and_spaces() -> None:
    content = "truth,net v2:a:b,net v2:c d,k:c d,k:a:b\na:b,.9,.1,.6,.4\nc d,.2,.8,.7,.3\n"
    assert described(content, positive="a:b") == (
        "t.csv: probabilities; truth 'truth'; class probabilities of 'net v2', 'k'"
    )
    assert counted("t.csv", positive="a:b") == {"net v2": (1, 0, 0, 1), "k": (0, 0, 1, 1)}


def test_probability_columns_are_bound_by_name_not_by_order() -> None:
    content = "truth,m:z,m:a\na,.1,.9\nz,.8,.2\n"
    assert counted(write("t.csv", content), positive="a") == {"m": (1, 0, 0, 1)}


def test_more_than_two_classes_vote_by_the_largest_probability() -> None:
    content = "truth,m:a,m:b,m:c\na,.4,.3,.3\nb,.4,.5,.1\nc,.45,.1,.45\n"  # the last row ties
    assert counted(write("t.csv", content), positive="a") == {"m": (1, 1, 0, 1)}
    assert counted("t.csv", positive="a", threshold=0.42) == {"m": (0, 1, 1, 1)}


def test_a_model_without_the_positive_class_is_refused() -> None:
    content = "truth,m:a,k:a,k:b\na,.9,.2,.8\nb,.3,.2,.8\n"
    assert data_message(content, positive="b") == (
        "t.csv: model 'm' has no probability column for the positive class 'b'; "
        "it has 'a' [no-class-column]"
    )


def test_one_bad_cell_leaves_a_probability_column_what_it_is() -> None:
    content = "id,truth,m:a,m:b\n1,a,.9,.1\n2,b,x,.7\n3,b,.2,.8\n"
    assert data_message(content, positive="a") == (
        "t.csv:3: column 'm:a': 'x' is not a number [bad-number]\n"
        "hint: if 'x' means missing, add --null-value 'x'"
    )


def test_counts_of_one_model_are_enough() -> None:
    assert counted(write("t.csv", "model,tp,fp,fn,tn\na,1,2,3,4\n")) == {"a": (1, 2, 3, 4)}


def test_counts_of_several_models_do_not_say_what_they_share() -> None:
    assert data_message("model,TP,FP,FN,TN\na,1,2,3,4\nb,2,1,2,5\n") == (
        "t.csv: counts per model ('a', 'b') do not say which rows the models share "
        "[needs-predictions]\n"
        "hint: give the predictions themselves, one column per model, or one --model; clfeval "
        "phidelta and clfeval tune-jpt take counts of several"
    )


def test_a_weighted_table_counts_each_row_as_often_as_it_says() -> None:
    content = "truth,a,n\n1,1,5\n1,0,3\n0,1,2\n0,0,0\n"
    assert counted(write("t.csv", content), weight="n") == {"a": (5, 2, 3, 0)}


@pytest.mark.parametrize(("layout", "needs"), [
    ("long", "id, model, prediction, truth"), ("counts", "model, tp, fp, fn, tn"),
])  # fmt: skip
def test_a_layout_asked_for_must_be_there(layout: str, needs: str) -> None:
    assert data_message(WIDE, layout=layout) == (
        f"t.csv: no {layout} table: columns 'id', 'truth', 'a', 'b' [wrong-layout]\n"
        f"hint: that layout needs columns like {needs}"
    )


def test_a_layout_asked_for_outranks_the_header() -> None:
    content = "truth,model,score\n1,1,1\n0,1,0\n"  # two models with unlucky names
    assert data_message(content).startswith("t.csv: a long table needs a column that names")
    assert counted("t.csv", layout="wide") == {"model": (1, 1, 0, 0), "score": (1, 0, 0, 1)}


@pytest.mark.parametrize("names", [
    ["truth", "y_true", "target", "actual", "label", "true_label"],
])  # fmt: skip
def test_truth_is_the_first_of_the_usual_names(names: list[str]) -> None:
    for position, name in enumerate(names):
        header = ["m", *reversed(names[position:])]  # the later names come first in the file
        content = f"{','.join(header)}\n{','.join('1' * len(header))}\n"
        others = names[position + 1 :]
        assert opened(write("t.csv", content), ignore=others).columns.truth == name
        if others:  # who names none is asked
            assert "[two-truths]" in data_message(content)


def test_truth_outranks_the_usual_names_when_given() -> None:
    assert described("truth,gold,a\n0,1,1\n0,0,0\n", truth="gold") == (
        "t.csv: wide; truth 'gold'; labels of 'truth', 'a'"
    )


def test_without_a_truth_column_nothing_is_guessed() -> None:
    assert data_message("id,gold,a\n1,1,1\n") == (
        "t.csv: no truth column; columns: 'id', 'gold', 'a' [no-truth]\n"
        "hint: name it with --truth COLUMN"
    )


def test_without_model_columns_there_is_nothing_to_do() -> None:
    assert data_message("id,truth\n1,1\n") == (
        "t.csv: no model columns; columns: 'id', 'truth' [no-models]\n"
        "hint: a wide table has one column per model beside the truth"
    )


@pytest.mark.parametrize("option", ["truth", "id", "weight", "by"])
def test_an_unknown_column_gets_a_suggestion(option: str) -> None:
    error = refusal(write("t.csv", "id,truth,site name,a\n1,1,x,1\n"), **{option: "Site-name"})
    assert isinstance(error, DataError)
    assert str(error) == (
        "t.csv: no column 'Site-name'; columns: 'id', 'truth', 'site name', 'a' [unknown-column]\n"
        "hint: did you mean 'site name'?"
    )


def test_an_unknown_model_gets_a_suggestion() -> None:
    error = refusal(write("t.csv", "truth,forest,svm\n1,1,1\n"), model="Forrest")
    assert isinstance(error, UsageError)
    assert str(error) == (
        "t.csv: no model matches 'Forrest'; models: 'forest', 'svm' [unknown-model]\n"
        "hint: did you mean 'forest'?"
    )
