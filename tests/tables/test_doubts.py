"""Tables that are easily misread: refused with every question at once, or read rightly.

What a refusal proposes is run, and finds nothing more to ask.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from tests.process.program import clfeval as program
from tests.tables.door import confusion, write
from tests.thoroughness import examples

START = "try: clfeval "


def asked(content: str | bytes, *words: str, name: str = "t.csv") -> list[str]:
    """Write a table, see it refused, run what is proposed; return the lines of the refusal."""
    write(name, content)
    done = program("mars", name, *words, "-q")
    assert done.code == 3, done
    assert not done.out
    *lines, last = done.err.splitlines()
    assert last.startswith(START), done.err
    again = program(*shlex.split(last.removeprefix(START)))
    assert again.code == 0, again.err
    return [*lines, last]


def found(name: str = "t.csv", **options: Any) -> dict[str, tuple[int, int, int, int]]:
    """Return the 2 x 2 tables of models."""
    return confusion(clfeval.mars(name, interval="none", **options))


# ------------------------------------------------------------------ labels


def test_labels_that_differ_by_spaces_are_no_negatives() -> None:
    content = "truth,rf\n default,default\ndefault,default\npaid,paid\npaid,default\n"
    assert asked(content, "--positive", "default") == [
        "t.csv: column 'truth': labels that differ only by capitals or outer spaces: "
        "' default' (1), 'default' (1) [label-twins]",
        "hint: --fold-labels takes them for one; --labels ' default' --labels 'default' keeps them "
        "apart",
        "try: clfeval mars t.csv --positive default -q --fold-labels",
    ]
    assert found(positive="default", fold_labels=True) == {"rf": (2, 1, 0, 1)}
    apart = found(positive="default", labels=["default", " default"])
    assert apart == {"rf": (1, 2, 0, 1)}


def test_labels_that_differ_by_case_in_truth_and_votes() -> None:
    content = "truth,rf\nDefault,default\nDefault,DEFAULT\npaid,Paid\npaid,paid\n"
    assert asked(content, "--positive", "Default")[:2] == [
        "t.csv: column 'rf': labels that differ only by capitals or outer spaces: 'Default', "
        "'DEFAULT', 'default' [label-twins]",
        "t.csv: column 'rf': labels that differ only by capitals or outer spaces: 'paid', 'Paid' "
        "[label-twins]",
    ]
    assert found(positive="Default", fold_labels=True) == {"rf": (2, 0, 0, 2)}
    write("t.csv", content.replace("Default,DEFAULT", "default,DEFAULT"))
    assert found(positive="DEFAULT", fold_labels=True) == {"rf": (2, 0, 0, 2)}


def test_the_positive_class_that_is_proposed_is_the_one_that_is_looked_for() -> None:
    content = "truth,rf\ndefault,default\npaid,paid\npaid,default\n"
    assert asked(content) == [
        "t.csv: which class is positive? truth has 'default' (1 row), 'paid' (2 rows) "
        "[positive-needed]",
        "hint: --positive default: its name says so; all others are negative",
        "try: clfeval mars t.csv -q --positive default",
    ]


@pytest.mark.parametrize(("classes", "positive"), [
    ({"no": 3, "yes": 9}, "yes"), ({"benign": 1, "malignant": 2}, "malignant"),
    ({"z": 2, "a": 3}, "z"), ({"b": 3, "a": 3}, "a"), ({"good": 4, "bad": 3}, "bad"),
    ({"not_spam": 2, "spam": 7}, "spam"), ({"relapse": 9, "remission": 5}, "relapse"),
    ({"safe": 9, "unsafe": 2}, "unsafe"), ({"1": 2, "2": 5}, "1"), ({"1": 5, "2": 2}, "2"),
    ({"ham": 9, "eggs": 1}, "eggs"),
    ({"x": 5, "y z": 2, "w": 9}, "y z"), ({"healthy": 2, "dx": 7}, "dx"),
])  # fmt: skip
def test_which_class_is_proposed(classes: dict[str, int], positive: str) -> None:
    from clfeval.tables.positive import guess_positive

    assert guess_positive(classes)[0] == positive


@pytest.mark.parametrize("pair", [("-1", "1"), ("0.0", "1.0"), ("-1.0", "1.0"), ("0", "1")])
def test_one_is_positive_however_it_is_written(pair: tuple[str, str]) -> None:
    no, yes = pair
    write("t.csv", f"truth,a\n{yes},{yes}\n{no},{yes}\n{yes},{no}\n{yes},{yes}\n")
    assert found() == {"a": (2, 1, 1, 0)}


def test_a_float_truth_of_a_frame_is_1_and_0() -> None:
    frame = pl.DataFrame({"truth": [1.0, 0.0, 1.0], "a": [1, 1, 0]})
    assert confusion(clfeval.mars(frame)) == {"a": (1, 1, 1, 0)}


def test_a_word_for_missing_among_the_classes_is_asked_about() -> None:
    rows = "1,1,0\n0,0,0\nn/a,1,1\n1,n/a,1\n0,0,1\n"
    lines = asked(f"truth,a,b\n{rows}")
    assert lines[:2] == [
        "t.csv: column 'truth': a class, or missing: 'n/a' (1)? [missing-word]",
        "hint: --null-value 'n/a' says that it is missing; --labels 'n/a' that it is a class",
    ]
    assert lines[-1] == "try: clfeval mars t.csv -q --null-value n/a --missing drop"
    assert found(null_value="n/a", missing="drop") == {"a": (1, 0, 0, 2), "b": (0, 1, 1, 1)}
    assert found(labels="n/a", positive="1") == {"a": (1, 1, 1, 2), "b": (1, 2, 1, 1)}


def test_answers_without_any_label_of_truth_are_told_so() -> None:
    rows = "ill,yes,yes\nhealthy,no,yes\nhealthy,yes,no\n"
    told = [
        "hint: no label in common: write the classes alike in the file, one for the other, such as "
        "'ill' for 'yes' if that is meant; a column that is no model is left out with --ignore"
    ]
    what = "answers 'no', 'yes', and truth 'truth' has 'healthy', 'ill' [unknown-label]"
    write("t.csv", f"truth,a,b\n{rows}")
    done = program("mars", "t.csv", "--positive", "ill", "-q")
    assert (done.code, done.err.splitlines()) == (3, [
        f"t.csv: column 'a': {what}", f"t.csv: column 'b': {what}", *told,
    ])  # fmt: skip
    lines = (row.split(",") for row in rows.splitlines())
    long = "".join(f"{i},a,{a},{t}\n{i},b,{b},{t}\n" for i, (t, a, b) in enumerate(lines))
    write("t.csv", f"id,model,prediction,truth\n{long}")
    done = program("mars", "t.csv", "--positive", "ill", "-q")
    assert done.err.splitlines() == [f"t.csv: column 'prediction': {what}", *told]
    # nothing says which of u and v is which
    write("t.csv", "truth,a\nill,u\nhealthy,v\n")
    assert "such as" not in program("mars", "t.csv", "--positive", "ill", "-q").err


def test_labels_and_scores_in_one_column_of_a_long_table() -> None:
    rows = [("yes", 0.7, "yes"), ("no", 0.2, "no"), ("no", 0.6, "yes")]
    long = "".join(f"{i},rf,{s},{t}\n{i},lr,{v},{t}\n" for i, (t, s, v) in enumerate(rows))
    lines = asked(f"id,model,prediction,truth\n{long}", "--positive", "yes")
    assert lines == [
        "t.csv: column 'prediction': labels of 'lr' and scores of 'rf' in one column "
        "[wrong-layout]",
        "hint: --model 'rf' --kind score takes the scores, --model 'lr' --kind label the labels; "
        "or give each a column of its own",
        "try: clfeval mars t.csv --positive yes -q --model rf --kind score",
    ]
    assert found(positive="yes", model="rf") == {"rf": (1, 1, 0, 1)}
    assert found(positive="yes", model="lr", kind="label") == {"lr": (1, 1, 0, 1)}


def test_one_odd_label_of_one_model_is_named_with_its_row() -> None:
    rows = "1,a,yes,yes\n1,b,maybe,yes\n2,a,no,no\n2,b,no,no\n"
    write("t.csv", f"id,model,prediction,truth\n{rows}")
    done = program("mars", "t.csv", "--positive", "yes", "-q")
    assert done.err.startswith("t.csv:3: column 'prediction': 'maybe' is not among truth's labels")


# ------------------------------------------------------------------ probabilities


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


# ------------------------------------------------------------------ labels beside scores


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
    assert asked(f"truth,rf,gb,is_test\n{rows}") == [
        "t.csv: column 'is_test': only 0 and 1, beside scores of other models: is it a model? "
        "[stray-labels]",
        "hint: --ignore leaves it out; --model, once for each model, says that it is one",
        "try: clfeval mars t.csv -q --ignore is_test",
    ]
    assert set(found(ignore="is_*")) == {"rf", "gb"}
    assert set(found(model="*")) == {"rf", "gb", "is_test"}


def test_a_number_beside_labels_is_no_model() -> None:
    rows = "".join(f"{i % 2},{i % 3 % 2},{i % 5 % 2},{i * 7 % 50 + 20}\n" for i in range(20))
    lines = asked(f"truth,rf,gb,age\n{rows}")
    assert lines[0].startswith("t.csv: column 'age': scores from 20 to ")
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


# ------------------------------------------------------------------ numbers


def test_percent_signs_are_read() -> None:
    write("t.csv", "truth,rf,gb\n1,70%,4.5%\n0,20 %,3%\n1,57.1%,60%\n0,57.0%,1%\n")
    assert found(threshold=0.571) == {"rf": (2, 0, 0, 2), "gb": (1, 0, 1, 2)}


def test_percentages_are_quoted_as_they_stand_in_the_file() -> None:
    lines = asked("truth,rf,gb\n1,150%,20%\n0,57.1%,30%\n1,20%,10%\n")
    assert lines[0].startswith("t.csv: column 'rf': scores from 20% to 150% are no probabilities")
    lines = asked("truth,p_a,p_b\na,70%,20%\nb,20%,70%\na,30%,20%\n", "--positive", "a")
    assert "the class probabilities of 'model' sum to 50%, at worst" in lines[0]
    lines = asked("y_true,y_pred,y_prob\n1,1,20%\n0,0,57.1%\n1,0,20%\n")
    assert "'1' from 20% on, others up to 57.1% [" in lines[0]
    write("m.csv", "model,f1,acc,auc\na,150%,20%,.5\nb,57.1%,-30%,.7\n")
    done = program("mlcps", "m.csv", "-q")
    assert "column 'f1': 150% is above 1, and" in done.err
    assert "column 'acc': -30% is negative: " in done.err


def test_a_cell_that_is_no_percentage_is_named() -> None:
    write("t.csv", "truth,rf\n1,70%\n0,x%\n1,57.1%\n0,3%\n")
    done = program("mars", "t.csv")
    assert (done.code, done.err.splitlines()[1]) == (
        3, "t.csv:3: column 'rf': 'x%' is not a number [bad-number]",
    )  # fmt: skip


def test_a_decimal_comma_is_asked_about() -> None:
    content = 'truth;rf;gb\n1;0,7;0,4\n0;0,2;0,3\n1;0,3;"0,6"\n0;0,6;0,1\n'
    assert asked(content, "-d", ";") == [
        "t.csv: column 'rf': numbers with a decimal comma, such as '0,2' [decimal-comma]",
        "t.csv: column 'gb': numbers with a decimal comma, such as '0,1' [decimal-comma]",
        "hint: --decimal ',' reads them so",
        "try: clfeval mars t.csv -d ';' -q --decimal ,",
    ]
    assert found(delimiter=";", decimal=",") == {"rf": (1, 1, 1, 1), "gb": (1, 0, 1, 2)}


def test_a_comma_of_thousands_is_no_decimal_comma() -> None:
    content = "truth;rf;w\n1;0,7;1,000\n0;0,2;2,000\n"
    write("t.csv", content.replace("0,7", "1").replace("0,2", "0"))
    done = program("mars", "t.csv", "-d", ";", "--weight", "w", "-q")
    assert (done.code, done.err.splitlines()) == (3, [
        "t.csv: column 'w': '1,000' has a comma that may be a decimal sign or part thousands "
        "[decimal-comma]",
        "hint: --decimal ',' reads '1,000' as 1.000; if it is 1000, leave out its comma",
    ])  # fmt: skip
    # the order of scores is the same either way
    lines = asked("truth;rf\n1;70,010\n0;20,200\n", "-d", ";")
    assert "'20,200' has a comma that may be a decimal sign or part thousands" in lines[0]
    assert lines[-1] == "try: clfeval mars t.csv -d ';' -q --decimal , --threshold 50"
    # 0,7 tells which
    lines = asked(content, "-d", ";", "--weight", "w", "--interval", "none")
    assert lines[-1] == "try: clfeval mars t.csv -d ';' --weight w --interval none -q --decimal ,"


def test_scores_from_0_to_100_are_cut_half_way() -> None:
    lines = asked("truth,rf,gb\n1,70,4\n0,20,3\n1,80,60\n0,55,1\n")
    assert lines[2:] == [
        "hint: percentages? --threshold 50 cuts half-way; else --threshold 'rf=T' says from which "
        "score on it is positive; divided by 100 they are scores 0..1",
        "try: clfeval mars t.csv -q --threshold 50",
    ]
    assert found(threshold=50)["rf"] == (2, 1, 0, 1)


def test_margins_are_cut_at_0() -> None:
    lines = asked("truth,rf,gb\n1,2.5,1\n0,-1,-2\n1,-.5,3\n0,1,-1\n")
    assert lines[-1] == "try: clfeval mars t.csv -q --threshold 0"


def test_a_column_of_another_scale_is_no_model() -> None:
    lines = asked("truth,rf,age\n1,.7,51\n0,.2,33\n1,.8,60\n0,.55,21\n")
    assert lines[-1] == "try: clfeval mars t.csv -q --ignore age"


def test_scores_of_another_scale_than_the_others_have_a_cut_of_their_own() -> None:
    rows = "1,.7,70.5,2.5\n0,.2,20.5,-1.5\n1,.8,55.5,.5\n0,.4,45.5,-.5\n"
    lines = asked(f"truth,a,b,c\n{rows}")
    assert lines[-1] == "try: clfeval mars t.csv -q --threshold b=50 --threshold c=0"
    assert found(threshold={"b": 50, "c": 0}) == dict.fromkeys("abc", (2, 0, 0, 2))
    write("t.csv", "truth,a,b\n1,.7,1.02\n0,.2,.5\n1,.8,.4\n")
    assert program("mars", "t.csv", "-q").err.splitlines()[-1].endswith(" -q --threshold b=0.5")


def test_one_threshold_does_not_cut_two_scales_unasked() -> None:
    rows = "1,.7,70.5,2.5\n0,.2,20.5,-1.5\n1,.8,55.5,.5\n0,.4,45.5,-.5\n"
    write("t.csv", f"truth,a,b,c\n{rows}")
    odd = {"0.3": "b=50 --threshold c=0", "50": "a=0.5 --threshold c=0"}
    for cut, theirs in odd.items():
        done = program("mars", "t.csv", "-q", "--threshold", cut)
        assert (done.code, done.out) == (3, "")
        assert f"of another scale than others: is --threshold {cut} theirs?" in done.err
        assert done.err.splitlines()[-1] == (
            f"try: clfeval mars t.csv -q --threshold {cut} --threshold {theirs}"
        )
    # who says so of each is not asked, nor is there a question where all are of one scale
    assert found(threshold={None: 0.3, "b": 0.3, "c": 0.3})["b"] == (2, 2, 0, 0)
    assert found(threshold=50, model="b") == {"b": (2, 0, 0, 2)}


def test_one_model_of_a_long_table_has_another_scale() -> None:
    rows = "".join(
        f"{i},rf,{i * 37 % 100 / 100},{i % 2}\n{i},lr,{i * 53 % 100}.5,{i % 2}\n" for i in range(20)
    )
    lines = asked(f"id,model,score,truth\n{rows}")
    assert lines[-1] == "try: clfeval mars t.csv -q --threshold lr=50"


def test_ratings_are_no_percentages() -> None:
    write("t.csv", "truth,a,b\n1,5,4\n0,1,2\n1,3,5\n0,2,1\n")
    done = program("mars", "t.csv", "-q")
    assert done.code == 3
    assert "hint: ratings, or another scale? --threshold 'a=T'" in done.err
    assert START not in done.err


# ------------------------------------------------------------------ columns


def test_everything_is_asked_at_once() -> None:
    rows = "".join(
        f"L{i},{('bad', 'good', 'good')[i % 3]},{('bad', 'good')[i % 2]},{'nsew'[i % 4]}\n"
        for i in range(24)
    )
    lines = asked(f"loan,Class,rf,region\n{rows}")
    assert [line.rpartition("[")[2] for line in lines if line.endswith("]")] == [
        "no-truth]", "positive-needed]", "unknown-label]", "unknown-label]",
    ]  # fmt: skip
    assert lines[-1] == (
        "try: clfeval mars t.csv -q --truth Class --positive bad --id loan --ignore region"
    )


def test_two_columns_called_like_truth_are_asked_about() -> None:
    lines = asked("label,target,a\n1,1,1\n0,0,0\n0,1,1\n")
    assert lines[0] == (
        "t.csv: column 'label': called like truth, as 'target' is: which of them is it? "
        "[two-truths]"
    )
    assert lines[-1] == "try: clfeval mars t.csv -q --truth target --ignore label"
    assert found(truth="label") == {"target": (1, 1, 0, 1), "a": (1, 1, 0, 1)}


def test_an_answer_that_leaves_no_model_is_not_proposed() -> None:
    write("t.csv", "truth,name\n" + "".join(f"{i % 2},N{i}\n" for i in range(24)))
    assert program("mars", "t.csv", "-q").err.splitlines() == [
        "t.csv: column 'name': no value is one of truth's labels '0', '1': 'N0', 'N1', 'N10' and "
        "21 more [unknown-label]",
        "hint: is it no model? --id 'name', --by 'name', or --ignore 'name'",
    ]
    lines = asked("truth,target\n1,1\n0,0\n0,1\n")
    assert lines[-1] == "try: clfeval mars t.csv -q --truth truth"
    assert found(truth="truth") == {"target": (1, 1, 0, 1)}


@pytest.mark.parametrize(("words", "message"), [
    (("--cluster", "truth"), "--cluster 'truth' is the column of true labels [bad-option]"),
    (("--ignore", "b", "--by", "b"), "--ignore leaves out 'b', and --by names it [bad-option]"),
    (("--ignore", "b*", "--model", "b"),
     "--ignore leaves out 'b', and --model names it [bad-option]"),
    (("--weight", "truth"), "--weight 'truth' is the column of true labels [bad-option]"),
    (("--id", "truth"), "--id 'truth' is the column of true labels [bad-option]"),
])  # fmt: skip
def test_a_column_has_one_part(words: tuple[str, ...], message: str) -> None:
    write("t.csv", "truth,a,b\n1,1,0\n0,0,0\n")
    done = program("mars", "t.csv", *words)
    assert (done.code, done.err.splitlines()[0]) == (2, message)


def test_the_column_of_models_is_no_id_of_a_long_table() -> None:
    write("t.csv", "id,model,prediction,truth\n1,a,1,1\n2,a,0,1\n")
    for name, part in ("model", "the models' names"), ("prediction", "their answers"):
        done = program("mars", "t.csv", "--id", name)
        assert (done.code, done.err.splitlines()) == (
            2, [f"--id '{name}' is the column of {part} [bad-option]", "hint: --id 'id'"],
        )  # fmt: skip


def test_what_is_left_out_is_not_asked_for_in_other_commands() -> None:
    write("m.csv", "model,f1,acc,auc\na,.5,.6,.7\nb,.6,.5,.8\n")
    done = program("mlcps", "m.csv", "--ignore", "f1", "--metric", "f1")
    assert (done.code, done.err) == (
        2,
        "--ignore leaves out 'f1', and --metric names it [bad-option]\n",
    )
    write("t.csv", "truth,a,b\n1,.7,.1\n0,.2,.4\n")
    done = program("phidelta", "t.csv", "--features", "--ignore", "a", "--feature", "a")
    assert (done.code, done.err) == (
        2,
        "--ignore leaves out 'a', and --feature names it [bad-option]\n",
    )


def test_a_model_that_is_named_is_not_proposed_to_be_left_out() -> None:
    rows = "".join(f"{i % 2},{i % 3 % 2},{i * 7 % 50 + 20}\n" for i in range(20))
    write("t.csv", f"truth,rf,age\n{rows}")
    done = program("mars", "t.csv", "--model", "rf", "--model", "age", "-q")
    assert (done.code, len(done.err.splitlines())) == (3, 2)  # no command, and no contradiction
    assert "leaves out" not in done.err


def test_a_cell_is_named_once() -> None:
    lines = asked("truth,a,b\n1,0.9,.1\n0,,.3\n1,n/a,.2\n0,.2,\n1,.4,.5\n")
    assert lines == [
        "t.csv:3: column 'a': missing [missing-value]",
        "t.csv:4: column 'a': 'n/a' is not a number [bad-number]",
        "t.csv:5: column 'b': missing [missing-value]",
        "hint: fill the cells, or add --missing drop to leave such rows out",
        "try: clfeval mars t.csv -q --null-value n/a --missing drop",
    ]


def test_a_table_of_metrics_is_told_its_command() -> None:
    write("t.csv", "model,accuracy,f1\nrf,.8,.7\ngb,.9,.6\n")
    assert "clfeval mlcps ranks its models" in program("mars", "t.csv").err


def test_an_id_that_is_called_so_needs_no_question() -> None:
    write("t.csv", "loan_id,truth,rf\nA1,1,1\nA2,0,1\nA3,1,0\n")
    assert found() == {"rf": (1, 1, 1, 0)}


@pytest.mark.parametrize("name", ["y", "gold", "ground_truth", "Class", "diagnosis", "Outcome"])
def test_truth_under_another_name_is_proposed(name: str) -> None:
    lines = asked(f"{name},rf,gb\n1,1,0\n0,0,0\n0,1,1\n")
    assert lines[1:] == [
        f"hint: --truth '{name}': its name",
        f"try: clfeval mars t.csv -q --truth {name}",
    ]


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_delimiter_is_recognised_though_names_hold_commas(delimiter: str) -> None:
    content = "loan_id|truth|k-NN, k=5|rf\n1|1|.7|.3\n2|0|.2|.1\n".replace("|", delimiter)
    lines = asked(content, "--id", "loan_id")
    shown = "'\\t'" if delimiter == "\t" else f"'{delimiter}'"
    assert lines[1] == f"hint: is the delimiter another? --delimiter {shown}"
    assert lines[-1] == f"try: clfeval mars t.csv --id loan_id -q --delimiter {shown}"


def test_comments_on_top_are_passed_over() -> None:
    body = "truth,a,b\n1,1,0\n0,0,0\n0,1,1\n"
    write("t.csv", '# made by "me, on Monday\n# v2\n' + body)
    assert found() == {"a": (1, 1, 0, 1), "b": (0, 1, 1, 1)}
    write("u.csv", "# made by me\n" + body + "1,x,0\n")
    error = program("mars", "u.csv").err
    assert "u.csv:6: column 'a': 'x' is not among truth's labels '0', '1' [unknown-label]" in error
    for mark in ("\ufeff# by me\n", "# by me, a, b\n", "# by\n\n# me\n\n", "#a\r\n#b\r\n"):
        write("w.csv", mark + body)
        assert found("w.csv") == found()
    write("v.csv", "#truth,a\n1,1\n0,1\n")
    assert found("v.csv", truth="#truth") == {"a": (1, 1, 0, 0)}


@pytest.mark.parametrize("mark", ["sep=;\n", '"sep=;"\r\n', "\ufeffSEP=;\n"])
def test_the_line_that_tells_excel_the_delimiter_is_passed_over(mark: str) -> None:
    write("t.csv", mark + "truth;a;b\n1;1;0\n0;0;0\n0;1;x\n".replace("x", "1"))
    assert found() == {"a": (1, 1, 0, 1), "b": (0, 1, 1, 1)}
    write("u.csv", mark + "truth;a\n1;1\n0;x\n")
    assert "u.csv:4: column 'a': 'x' is not" in program("mars", "u.csv").err  # sep=; is row 1
    write("m.csv", mark + "model;f1;acc;auc\na;.5;.6;.7\nb;.6;.7;.8\n")
    assert program("mlcps", "m.csv").code == 0


@pytest.mark.parametrize(("title", "row"), [
    ("Predictions of June\n", 2), ("Predictions of June,,\n", 2), ("Predictions, June\n\n", 3),
])  # fmt: skip
def test_a_title_above_the_names_is_called_so(title: str, row: int) -> None:
    sign = ";" if row == 3 else ","
    write("t.csv", title + "truth,a,b\n1,1,0\n0,0,0\n".replace(",", sign))
    for words in ("mars",), ("phidelta", "--features"):
        done = program(*words, "t.csv", "-q")
        first, hint = done.err.splitlines()
        assert (done.code, first.partition("'")[0]) == (3, "t.csv:1: ")
        assert first.endswith("' is a title or a comment, no header [no-header]")
        assert hint == f"hint: the names stand in row {row}: tail -n +{row} FILE > NEW"


def test_files_of_two_delimiters_are_not_read_together() -> None:
    write("a.csv", "truth,a\n1,1\n0,1\n")
    write("b.csv", "truth;a\n1;1\n0;1\n")
    for one, two, signs in ("a.csv", "b.csv", ";,"), ("b.csv", "a.csv", ",;"):
        done = program("mars", one, two, "-q")
        assert (done.code, done.err.splitlines()[0]) == (
            3, f"{two}: its delimiter is '{signs[0]}', and that of {one} '{signs[1]}' "
            "[different-columns]",
        )  # fmt: skip
    write("c.csv", "truth;a\n1;1\n0;0\n")
    assert program("mars", "b.csv", "c.csv", "-q").err.splitlines()[-1] == (
        "try: clfeval mars b.csv c.csv -q --delimiter ';'"
    )


# ------------------------------------------------------------------ options


def test_an_option_of_one_value_is_not_given_twice() -> None:
    write("t.csv", "truth,a\n1,1\n0,1\n")
    done = program("mars", "t.csv", "--positive", "1", "--positive=0")
    assert (done.code, done.err) == (
        2,
        "--positive takes one value, and is given 2 times [bad-option]\n"
        "hint: leave all but one out\n",
    )


def test_classes_with_commas_between_them_are_told_how_to_be_given() -> None:
    rows = "".join(f"{t},{t}\n" for t in "xyzx")
    write("t.csv", f"truth,a\n{rows}")
    for command in ("report", "mars --positive x", "report --measure rps"):
        done = program(*command.split(), "t.csv", "--labels", "x, y,z", "-q")
        assert (done.code, done.err) == (
            2,
            "--labels 'x, y,z' is one class, and truth has none so called [bad-option]\n"
            "hint: one at a time: --labels 'x' --labels 'y' --labels 'z'\n",
        )
    # a class may be called so
    write("t.csv", f'truth,a\n{rows}"x,w",x\n')
    for label in ("x,w", "v,w"):  # or truth happens to lack it
        assert program("report", "t.csv", "--labels", label, "-q").code == 0


def test_names_with_commas_between_them_are_told_how_to_be_given() -> None:
    write("t.csv", "truth,rf,g b\n1,1,1\n0,1,0\n")
    done = program("mars", "t.csv", "--model", "rf,g b")
    assert done.err.splitlines()[-1] == "hint: one each time: --model rf --model 'g b'"


@pytest.mark.parametrize(("words", "hint"), [
    (("mars", "t.csv", "--threshold", "50%"), "50 % of 0..1 is --threshold 0.5"),
    (("mars", "t.csv", "--threshold", "a=12.5%"), "12.5 % of 0..1 is --threshold a=0.125"),
    (("tune-jpt", "--counts", "67", "5", "33", "95"),
     "the four counts with commas: --counts 67,5,33,95"),
    (("mars", "t.csv", "-q", "--fail-under", "f1=0.8"),
     "it is left out of this result: add --measure f1"),
    (("mars", "t.csv", "-q", "--fail-under", "recall=70"), "70 % is 0.7"),
])  # fmt: skip
def test_what_is_nearly_right_is_told_how_it_is_written(words: tuple[str, ...], hint: str) -> None:
    write("t.csv", "truth,a\n1,.7\n0,.2\n1,.6\n")
    done = program(*words)
    assert (done.code, done.err.splitlines()[-1]) == (2, f"hint: {hint}")


@pytest.mark.parametrize("rate", ["90%", "90 %", "0.9", ".9"])
def test_a_rate_may_be_a_percentage(rate: str) -> None:
    words = ("tune-jpt", "--sensitivity", rate, "--specificity", "80%", "-f", "json")
    done = program(*words, "--dry-run")
    plan = {row["what"]: row["value"] for row in json.loads(done.out)["tables"]["plan"]}
    assert (plan["--sensitivity"], plan["--specificity"]) == ("0.9", "0.8")
    done = program("tune-jpt", "--sensitivity", "90", "--specificity", ".8")
    assert done.err.splitlines() == [
        "--sensitivity 90 is not between 0 and 1 [bad-option]", "hint: a share: 0.9 for 90 %",
    ]  # fmt: skip
    done = program("tune-jpt", "--sensitivity", "x", "--specificity", ".8")
    assert (done.code, done.err.splitlines()[0]) == (
        2, "--sensitivity 'x' is not a number [bad-option]",
    )  # fmt: skip


def test_a_table_of_rates_is_told_what_is_taken() -> None:
    write("t.csv", "study,sensitivity,specificity\nA,.9,.8\nB,.7,.9\n")
    done = program("tune-jpt", "t.csv", "-q")
    assert (done.code, len(done.err.splitlines())) == (3, 2)
    assert "takes their counts (columns model, tp, fp, fn, tn), or the rates of one" in done.err


def test_features_are_proposed_to_be_features() -> None:
    rows = "".join(
        f"{'MB'[i % 2]},{i % 7 + 6},{i * 31 % 400 + 150},{i % 5 / 10}\n" for i in range(40)
    )
    write(
        "t.csv",
        f"diagnosis,radius,area,smooth\n{rows}".replace("smooth", "perimeter").replace(
            ",0.", ",90."
        ),
    )
    done = program("phidelta", "t.csv", "--positive", "M", "-q")
    assert done.code == 3
    last = done.err.splitlines()[-1]
    assert last == "try: clfeval phidelta t.csv --positive M -q --truth diagnosis --features"
    assert program(*shlex.split(last.removeprefix(START))).code == 0


# ------------------------------------------------------------------ in Python, and as a table


def test_python_is_told_in_its_own_words() -> None:
    write("t.csv", "Class,rf,flag\nbad,.3,1\ngood,.4,0\ngood,.2,1\n")
    with pytest.raises(clfeval.DataError) as caught:
        clfeval.mars("t.csv")
    assert caught.value.lines()[-1] == (
        "try: clfeval.mars(..., truth='Class', positive='bad', ignore=('flag',))"
    )
    assert caught.value.fixes == {"truth": "Class", "positive": "bad", "ignore": ("flag",)}
    clfeval.mars("t.csv", **caught.value.fixes)


def test_a_dry_run_shows_the_reading_and_computes_nothing() -> None:
    write("t.csv", "id,truth,rf,flag,w\n1,1,.3,1,2\n2,0,.4,0,1\n3,0,.6,1,1\n")
    result = clfeval.mars("t.csv", weight="w", dry_run=True)
    assert [(row["column"], row["taken"]) for row in result.tables["reading"]] == [
        ("id", "id"), ("truth", "truth"), ("rf", "scores of 'rf'"), ("flag", "left out"),
        ("w", "weight"),
    ]  # fmt: skip
    assert [row["code"] for row in result.tables["doubts"]] == ["stray-labels"]
    assert result.parameters == {
        "of": "mars", "offer": "clfeval.mars(..., ignore=('flag',))",
    }  # fmt: skip
    plan = clfeval.mars("t.csv", weight="w", ignore="flag", dry_run=True).tables["plan"]
    assert [(row["what"], row["value"]) for row in plan] == [
        ("rows", "3"), ("positive: '1'", "2"), ("negative: '0'", "2"), ("models", "1"),
        ("thresholds", "0.5"),
    ]  # fmt: skip


@pytest.mark.parametrize("command", clfeval.COMMANDS)
def test_every_command_has_a_dry_run(command: str) -> None:
    write("t.csv", "Class,rf,gb,flag\nbad,.7,.8,1\ngood,.4,.9,0\ngood,.6,.1,1\n")
    words = ("--from", "predictions") if command == "mlcps" else ()
    done = program(command, "t.csv", *words, "--dry-run")
    assert done.code == 3
    assert done.out.startswith(f"Dry run of {command}: nothing was computed\n")
    last = done.err.splitlines()[-1]
    again = program(*shlex.split(last.removeprefix(START)), "--dry-run", "-f", "json")
    assert again.code == 0
    assert '"plan": [\n' in again.out


def test_a_dry_run_says_what_was_asked_for() -> None:
    write("t.csv", "truth,a,b\n1,.7,.1\n0,.2,.4\n0,.6,.3\n")
    write("m.csv", "model,f1,recall,accuracy\na,.7,.8,.9\nb,.6,.7,.9\n")
    plans = {
        ("mars", "t.csv", "--best", "2", "--sweep", "top", "--target", "negative"):
            {"--best": "2", "--sweep": "top", "--target": "negative"},
        ("phidelta", "t.csv", "--reference", "a", "--prevalence", ".1", "--curve"):
            {"--reference": "a", "--prevalence": "0.1", "--curve": "yes"},
        ("mlcps", "m.csv", "--rescale", "f1=0:1", "--weight", "recall=2", "--compare", "m.csv"):
            {"--rescale": "f1=0:1", "--weight": "recall=2", "--compare": "m.csv"},
        ("tune-jpt", "--counts", "69,15,31,85", "--sweep", "1:100..1:1"):
            {"rows": "200", "--counts": "model=69, 15, 31, 85", "--sweep": "1:100..1:1"},
    }  # fmt: skip
    for words, wanted in plans.items():
        done = program(*words, "--dry-run", "-f", "json")
        assert done.code == 0, done.err
        plan = {row["what"]: row["value"] for row in json.loads(done.out)["tables"]["plan"]}
        assert {key: plan.get(key) for key in wanted} == wanted
        given = [key for key in plan if key.startswith("--")]
        assert given == [key for key in [*plan] if key in wanted and key.startswith("--")]


def test_counts_of_several_models_are_said_in_a_plan_with_their_ends() -> None:
    done = program("tune-jpt", "--counts", "a=1,2,3,4", "--counts", "b=3,2,4,4", "--dry-run",
                   "-f", "json")  # fmt: skip
    plan = {row["what"]: row["value"] for row in json.loads(done.out)["tables"]["plan"]}
    assert plan["positive: 'positive'"] == "4 to 7"  # 1 + 3 and 3 + 4


@pytest.mark.parametrize(("limit", "code"), [("recall=7", 2), ("recall=0.7", 0), ("rf:mcc=2", 2)])
def test_a_limit_beyond_its_measure_is_refused_in_a_dry_run(limit: str, code: int) -> None:
    write("t.csv", "truth,rf\n1,1\n0,0\n0,1\n")
    done = program("phidelta", "t.csv", "--dry-run", "--fail-under", limit)
    assert done.code == code
    assert ("[bad-gate]" in done.err) == (code == 2)


def test_a_dry_run_with_questions_is_not_passed() -> None:
    write("t.csv", "truth,rf,flag\n1,.3,1\n0,.4,0\n0,.6,1\n")
    for more, passed in ((), False), (("--ignore", "flag"), True):
        done = program("mars", "t.csv", *more, "--dry-run", "-f", "json")
        assert json.loads(done.out)["passed"] is passed


def test_a_dry_run_may_stand_before_any_line_and_writes_nothing() -> None:
    write("t.csv", "truth,a,b\n1,1,0\n0,0,0\n0,1,1\n")
    words = ("mars", "t.csv", "--show", "pairs", "--table", "models", "--save", "o.json",
             "--fail-under", "recall=0.99", "--dry-run")  # fmt: skip
    done = program(*words)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Dry run of mars: nothing was computed\n")
    assert not Path("o.json").exists()
    plan = program("mars", "t.csv", "--dry-run", "-f", "csv", "--table", "plan")
    assert plan.out.startswith("what,value\nrows,3\n")


# ------------------------------------------------------------------ any of it together

CLASSES = st.sampled_from([("no", "yes"), ("0", "1"), ("-1", "1"), ("Bad ", "good"), ("a", "b")])


@examples(300)
@given(
    classes=CLASSES, seed=st.integers(0, 10**6), truth=st.sampled_from(["truth", "Class", "label"]),
    kind=st.sampled_from(["labels", "scores", "percent", "margins", "both", "classes"]),
    delimiter=st.sampled_from(",;\t"), comma=st.booleans(), more=st.sets(
        st.sampled_from(["loan", "row_id", "region", "age", "flag", "twins", "gaps", "halves"])
    ),
)  # fmt: skip
def test_what_is_proposed_finds_no_further_question(
    classes: tuple[str, str], seed: int, truth: str, kind: str, delimiter: str, comma: bool,
    more: set[str],
) -> None:  # fmt: skip
    import random

    chance, rows = random.Random(seed), 40
    votes = [[classes[chance.random() < 0.4] for _ in range(rows)] for _ in range(3)]
    numbers = [[chance.random() for _ in range(rows)] for _ in range(2)]
    columns: dict[str, list[str]] = {truth: votes[0]}
    if "twins" in more:
        columns[truth] = [v.upper() if chance.random() < 0.3 else v for v in columns[truth]]
    point = "," if comma and delimiter != "," else "."

    def written(value: float) -> str:
        return f"{value:.3f}".replace(".", point)

    if kind == "labels":
        columns |= {"rf": votes[1], "gb, 2": votes[2]}
    elif kind == "both":
        columns |= {"y_pred": votes[1], "y_prob": [written(x) for x in numbers[0]]}
    elif kind == "classes":
        half = 2 if "halves" in more else 1
        columns |= {f"p_{classes[0]}": [written(1 - x) for x in numbers[0]]}
        columns |= {f"p_{classes[1]}": [written(x / half) for x in numbers[0]]}
    else:
        scale = {"scores": (1, 0), "percent": (100, 0), "margins": (8, 4)}[kind]
        for name, values in zip(("rf", "gb, 2"), numbers, strict=True):
            columns[name] = [written(x * scale[0] - scale[1]) for x in values]
    others = {
        "loan": [f"L{i}" for i in range(rows)], "row_id": [f"{i}" for i in range(rows)],
        "region": [chance.choice(["north", "south"]) for _ in range(rows)],
        "age": [f"{chance.randrange(20, 90)}" for _ in range(rows)],
        "flag": [f"{chance.randrange(2)}" for _ in range(rows)],
    }  # fmt: skip
    columns |= {name: others[name] for name in others if name in more}
    if "gaps" in more:
        last = [*columns][1]
        columns[last] = ["" if i % 13 == 5 else v for i, v in enumerate(columns[last])]
    table = [[*columns], *zip(*columns.values(), strict=True)]

    def cell(text: str) -> str:
        return f'"{text}"' if delimiter in text else text

    write("p.csv", "\n".join(delimiter.join(map(cell, row)) for row in table) + "\n")
    done = program("mars", "p.csv", "-q", "--interval", "none")
    if done.code == 0:
        return
    assert done.code == 3, done.err
    last = done.err.splitlines()[-1]
    assert last.startswith(START), done.err
    again = program(*shlex.split(last.removeprefix(START)))
    assert again.code == 0, (done.err, again.err)
