"""Columns of class probabilities: of which models and classes, and with labels beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clfeval
from tests.process.program import clfeval as program
from tests.results import four_cells, row_of, warning_messages
from tests.tables.asking import refusal_and_options, refused
from tests.tables.door import confusion, mars_confusion, write
from tests.texts import check_text

CLASSES = ("mild", "moderate", "critical")
# truth and the probabilities of A and of B; A names 3 of 4 rightly, B 2
ROWS = (
    ("mild", (0.7, 0.2, 0.1), (0.2, 0.7, 0.1)),
    ("moderate", (0.2, 0.7, 0.1), (0.1, 0.8, 0.1)),
    ("critical", (0.1, 0.3, 0.6), (0.5, 0.3, 0.2)),
    ("critical", (0.5, 0.3, 0.2), (0.1, 0.1, 0.8)),
)
FOUND = {"A": (1, 0, 1, 2), "B": (1, 0, 1, 2)}  # of critical: one of two found, none in vain


def probabilities_text(
    pattern: str, rows: tuple[tuple[str, tuple[float, ...], tuple[float, ...]], ...]
) -> str:
    names = [pattern.format(m=model, c=label) for model in "AB" for label in CLASSES]
    lines = [",".join(map(str, (truth, *a, *b))) for truth, a, b in rows]
    return "\n".join([",".join(["truth", *names]), *lines]) + "\n"


def refusal_of_report(name: str, *words: str) -> tuple[str, str]:
    """Ask for a report of a file; return what is wrong where, and what is proposed further."""
    return refusal_and_options(Path(name).read_text(), *words, command="report")


@pytest.mark.parametrize(
    "pattern",
    [
        "{m}_{c}",
        "{m}.{c}",
        "{m} {c}",
        "{m}-{c}",
        "{m}/{c}",
        "{m}__{c}",
        "{m}_prob_{c}",
        "prob_{m}_{c}",
        "{m}_p_{c}",
        "p_{m}_{c}",
        "{m}_pred_{c}",
        "{c}_{m}",
        "p_{c}_{m}",
        "{m}:{c}",
        "{m}_{c}_proba",
    ],
)
def test_columns_of_model_and_class_are_recognised(pattern: str) -> None:
    write("t.csv", probabilities_text(pattern, ROWS))
    result = clfeval.mars("t.csv", positive="critical", interval="none")
    assert confusion(result) == FOUND


def test_classes_that_the_first_rows_lack_are_in_the_names() -> None:
    critical = ("critical", (0.1, 0.3, 0.6), (0.5, 0.3, 0.2))
    write("t.csv", probabilities_text("{m}_{c}", (critical,) * 5000 + ROWS))
    found = confusion(clfeval.mars("t.csv", positive="critical", interval="none"))
    assert found == {"A": (5001, 0, 1, 2), "B": (1, 0, 5001, 2)}


def test_sums_that_are_not_1_are_asked_about() -> None:
    off = (("mild", (0.7, 0.2, 0.6), (0.2, 0.7, 0.1)), *ROWS[1:])
    write("t.csv", probabilities_text("{m}_{c}", off))
    assert refusal_of_report("t.csv") == ("2:A_mild bad-sum", "--renormalize")


@pytest.mark.parametrize("pattern", ["{c}", "A_{c}", "{c} score", "A {c} prob"])
def test_capitals_in_names_of_columns_do_not_count(pattern: str) -> None:
    names = ",".join(pattern.format(c=label.title()) for label in CLASSES)
    rows = "".join(f"{truth},{','.join(map(str, a))}\n" for truth, a, _ in ROWS)
    write("t.csv", f"truth,{names}\n{rows}")
    found = confusion(clfeval.mars("t.csv", positive="critical", interval="none"))
    assert [*found.values()] == [FOUND["A"]]


def test_class_columns_of_another_scale_are_no_scores_of_one_class() -> None:
    percent = tuple((t, *(tuple(100 * p for p in one) for one in some)) for t, *some in ROWS)
    write("t.csv", probabilities_text("{m}_{c}", percent))  # type: ignore[arg-type]
    spots, proposed = refusal_of_report("t.csv")
    assert "bad-probability" in spots
    assert proposed == "--renormalize"
    found = confusion(clfeval.mars("t.csv", positive="critical", renormalize=True))
    assert found == FOUND
    logits = tuple((t, *(tuple(p - 1 for p in one) for one in some)) for t, *some in ROWS)
    write("t.csv", probabilities_text("{m}_{c}", logits))  # type: ignore[arg-type]
    refused("report", "t.csv")


def test_scores_of_classes_that_are_named_to_be_models_are_models() -> None:
    write("t.csv", probabilities_text("{m}_{c}", ROWS))
    one = clfeval.mars("t.csv", positive="critical", model="A_critical", interval="none")
    assert confusion(one) == {"A_critical": (1, 0, 1, 2)}
    each = clfeval.mars("t.csv", positive="critical", kind="score", interval="none")
    assert len(confusion(each)) == 6


@pytest.mark.parametrize(
    "names",
    [
        "p0,p1",
        "prob0,prob1",
        "prob_0,prob_1",
        "proba_0,proba_1",
        "score_0,score_1",
        "0,1",
        "p(0),p(1)",
        "P(y=0),P(y=1)",
        "class_0,class_1",
    ],
)
def test_both_columns_of_two_classes_are_one_model(names: str) -> None:
    rows = "1,.3,.7\n0,.8,.2\n1,.6,.4\n0,.4,.6\n"
    write("t.csv", f"truth,{names}\n{rows}")
    found = confusion(clfeval.mars("t.csv", interval="none"))
    assert [*found.values()] == [(1, 1, 1, 1)]
    # with labels beside them, as .5 cuts them
    lines = [row.split(",") for row in rows.splitlines()]
    beside = "".join(f"{t},{int(float(p) > 0.5)},{q},{p}\n" for t, q, p in lines)
    write("t.csv", f"y_true,y_pred,{names}\n{beside}")
    assert confusion(clfeval.mars("t.csv", interval="none")) == found


@pytest.mark.parametrize("names", ["p0,p1", "prob_0,prob_1", "rf_proba_0,rf_proba_1"])
@pytest.mark.parametrize("kind", [pl.Boolean, pl.Float64, pl.Int8])
def test_0_and_1_in_names_are_the_classes_of_a_frame(names: str, kind: Any) -> None:
    low, high = names.split(",")
    frame = pl.DataFrame(
        {
            "truth": pl.Series([1, 0, 1, 0]).cast(kind),
            low: [0.3, 0.8, 0.6, 0.4],
            high: [0.7, 0.2, 0.4, 0.6],
            "y_pred": pl.Series([1, 0, 0, 1]).cast(kind),
        }
    )
    frame = frame.drop("y_pred") if names.startswith("rf") else frame
    found = confusion(clfeval.mars(frame, interval="none"))
    assert [*found.values()] == [(1, 1, 1, 1)]


def test_labels_with_class_probabilities_are_one_model() -> None:
    rows = [("a", "a", ".7,.2,.1"), ("b", "c", ".1,.2,.7"), ("c", "c", ".2,.2,.6")]
    head = "truth,y_pred,prob_a,prob_b,prob_c\n"
    write("t.csv", head + "".join(f"{t},{v},{p}\n" for t, v, p in rows))
    result = clfeval.report("t.csv", interval="none")
    assert [row["model"] for row in result.tables["models"]] == ["prob"]
    check_text(warning_messages(result, "labels-and-scores"))
    reading = clfeval.report("t.csv", dry_run=True).tables["reading"]
    assert reading[1]["column"] == "y_pred"
    check_text([str(reading[1][key]) for key in ("taken", "why")])


def test_labels_that_are_not_the_most_probable_class_are_asked_about() -> None:
    rows = "a,a,.7,.2,.1\nb,b,.1,.2,.7\nc,c,.2,.2,.6\nb,c,.1,.45,.45\n"  # the last one ties
    write("t.csv", f"truth,y_pred,prob_a,prob_b,prob_c\n{rows}")
    either = "--ignore y_pred | --model y_pred --model prob"
    assert refusal_of_report("t.csv") == ("y_pred which-role", either)
    for words in ("--ignore", "y_pred"), ("--ignore", "prob_*"):
        assert program("report", "t.csv", "-q", *words).code == 0


PAIRED = ["rf_pred,rf_prob", "pred_rf,prob_rf", "y_pred_rf,y_prob_rf", "rf_pred,rf_proba_1"]
ALONE = ["prediction,probability", "pred_label,pred_prob", "pred_class,pred_proba", "y_pred,prob"]
ROW_NUMBERS = "".join(f"{i},{i % 2},{i % 3 % 2}\n" for i in range(12))
Confusion = tuple[int, int, int, int]
# a table, the positive class, and what is counted
READ: list[tuple[str, str | None, dict[str, Confusion]]] = [
    *(
        (
            f"y_true,{names},{names.replace('rf', 'gb')}\n1,1,.7,0,.2\n0,0,.2,1,.8\n",
            None,
            {"rf": (1, 0, 0, 1), "gb": (0, 1, 1, 0)},
        )
        for names in (*PAIRED, "rf_label,rf_score")
    ),
    *(
        (f"y_true,{names}\n1,1,.7\n0,0,.2\n1,0,.4\n", None, {"model": (1, 0, 1, 1)})
        for names in (*ALONE, "y_hat,y_score", "predicted_class,confidence")
    ),
    *(
        (
            f"truth,{one},{other}\n1,.3,.7\n0,.8,.2\n1,.6,.5\n",
            None,
            {one: (1, 1, 1, 0), other: (2, 0, 0, 1)},
        )
        for one, other in (("rf", "gb"), ("rf0", "rf1"), ("a_1", "b_0"))
    ),
    ("truth,rf no,rf yes\nyes,.3,.7\nno,.8,.2\nyes,.6,.4\nno,.4,.6\n", "yes", {"rf": (1, 1, 1, 1)}),
    # of the index of a frame: both bits in six of twelve rows
    *(
        (f"{name},target,pred_rf\n{ROW_NUMBERS}", None, {"pred_rf": (2, 2, 4, 4)})
        for name in ("Unnamed: 0", "__index_level_0__")
    ),
]


@pytest.mark.parametrize(("content", "positive", "expected"), READ)
def test_columns_are_taken_together_by_their_names(
    content: str, positive: str | None, expected: dict[str, Confusion]
) -> None:
    write("t.csv", content)
    found = clfeval.mars("t.csv", positive=positive, interval="none")
    assert confusion(found) == expected


def test_the_confidence_of_the_predicted_class_is_no_score_of_the_positive_class() -> None:
    write("t.csv", "actual,predicted,confidence\n1,1,.7\n0,0,.9\n1,0,.6\n0,1,.8\n")
    result = clfeval.report("t.csv")
    model = row_of(result, "models")
    assert four_cells(model) == (1, 1, 1, 1)
    assert "roc_auc" not in model
    # of another name it may be a score
    write("t.csv", "actual,predicted,trust\n1,1,.7\n0,0,.9\n1,0,.6\n0,1,.8\n")
    either = "--model predicted --model trust | --kind confidence --model predicted+trust"
    assert refusal_of_report("t.csv") == ("trust which-role", either)
    write("t.csv", "target,prediction,confidence\na,a,.4\nb,b,.9\nc,a,.6\nb,c,.8\n")
    assert program("report", "t.csv", "--positive", "a", "-q").code == 0


@pytest.mark.parametrize("names", ["score_neg,score_pos", "prob_0,prob_1", "m_yes,m_no"])
def test_of_scores_that_are_1_less_the_next_the_name_says_which_is_one(names: str) -> None:
    rows = "".join(f"{'ill' if i % 3 else 'well'},.{9 - i},.{1 + i}\n" for i in range(8))
    write("t.csv", f"truth,{names}\n{rows}")
    model = row_of(clfeval.report("t.csv", positive="ill"), "models")
    assert model["model"] in ("score_pos", "prob_1", "m_yes")
    both = [word for name in names.split(",") for word in ("--model", name)]
    assert program("report", "t.csv", "-q", "--positive", "ill", *both).code == 0


def test_scores_that_are_1_less_the_next_are_asked_about_unless_some_row_denies_it() -> None:
    rows = "".join(f"{i % 2},{i % 10 / 10},{1 - i % 10 / 10}\n" for i in range(40))
    write("t.csv", f"truth,a,b\n{rows}")
    either = "--model b | --model a | --model a --model b"
    assert refusal_of_report("t.csv") == ("a which-role, b which-role", either)
    write("t.csv", f"truth,a,b\n{rows}1,.3,.4\n")
    assert program("report", "t.csv", "-q").code == 0


def test_a_word_for_missing_that_has_a_column_of_probabilities_is_a_class() -> None:
    rows = "none,.7,.2,.1\nmild,.2,.7,.1\nsevere,.1,.3,.6\nnone,.5,.3,.2\n"
    for names in "prob_none,prob_mild,prob_severe", "none,mild,severe", "A_none,A_mild,A_severe":
        write("t.csv", f"truth,{names}\n{rows}")
        done = program("report", "t.csv", "-q", "-f", "json")
        assert done.code == 0, done.err
        (model,) = {row["model"] for row in json.loads(done.out)["tables"]["models"]}
        assert model in ("prob", "model", "A")
    # one that models predict is a class too; another is asked about
    write("t.csv", "truth,rf\nnone,none\nmild,mild\nsevere,mild\n")
    done = program("report", "t.csv", "-q", "-f", "json")
    assert (done.code, json.loads(done.out)["summary"]["classes"]) == (0, 3), done.err
    write("t.csv", "truth,rf\nnone,mild\nmild,mild\nsevere,mild\n")
    assert "[missing-word]" in program("report", "t.csv", "-q").err


def test_bits_among_other_labels_of_truth_are_scores_if_that_is_said() -> None:
    write("t.csv", "truth,pred\nyes,1\nno,0\nno,1\nyes,0\n")
    assert refusal_of_report("t.csv", "--positive", "yes") == ("pred unknown-label", "--kind score")
    # as numbers they are the labels
    write("t.csv", "truth,pred\n1.0,1\n0.0,0\n0.0,1\n1.0,0\n")
    assert mars_confusion() == {"pred": (1, 1, 1, 1)}
    write("t.csv", "truth,tree\n1,1.0\n0,0.0\n0,1.0\n")  # a tree that is sure of everything
    assert mars_confusion() == {"tree": (1, 1, 0, 1)}


@pytest.mark.parametrize("words", ["report", "report --positive x", "phidelta --positive x"])
def test_a_column_with_the_name_of_a_model_of_probabilities_may_be_its_labels(words: str) -> None:
    rows = (("x", ".6,.2,.2"), ("y", ".1,.7,.2"), ("z", ".1,.2,.7"))
    command, *options = words.split()
    for cell in (".5", "{}"):
        lines = "".join(f"{y},{p},{cell.format(y)}\n" for y, p in rows)
        write("q.csv", f"truth,m:x,m:y,m:z,m\n{lines}")
        assert program(command, "q.csv", *options, "-q").code == 0
