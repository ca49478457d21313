"""Labels that are easily misread.

What a refusal proposes is run, and finds nothing more to ask.
"""

from __future__ import annotations

import polars as pl
import pytest

import clfeval
from tests.process.program import clfeval as program
from tests.tables.asking import refusal_and_options, refused
from tests.tables.door import confusion, mars_confusion, write

TWINS = "truth,rf\n default,default\ndefault,default\npaid,paid\npaid,default\n"
CAPITALS = "truth,rf\nDefault,default\nDefault,DEFAULT\npaid,Paid\npaid,paid\n"


def test_labels_that_differ_by_spaces_are_no_negatives() -> None:
    spots, proposed = refusal_and_options(TWINS, "--positive", "default")
    assert (spots, proposed) == ("truth label-twins", "--fold-labels")
    assert mars_confusion(positive="default", fold_labels=True) == {"rf": (2, 1, 0, 1)}
    apart = mars_confusion(positive="default", classes=["default", " default"])
    assert apart == {"rf": (1, 2, 0, 1)}


def test_labels_that_differ_by_case_in_truth_and_votes() -> None:
    spots, proposed = refusal_and_options(CAPITALS, "--positive", "Default")
    assert (spots, proposed) == ("rf label-twins, rf label-twins", "--fold-labels")
    assert mars_confusion(positive="Default", fold_labels=True) == {"rf": (2, 0, 0, 2)}
    write("t.csv", CAPITALS.replace("Default,DEFAULT", "default,DEFAULT"))
    assert mars_confusion(positive="DEFAULT", fold_labels=True) == {"rf": (2, 0, 0, 2)}


@pytest.mark.parametrize(
    ("classes", "positive"),
    [
        ({"no": 3, "yes": 9}, "yes"),
        ({"benign": 1, "malignant": 2}, "malignant"),
        ({"z": 2, "a": 3}, "z"),
        ({"b": 3, "a": 3}, "a"),
        ({"good": 4, "bad": 3}, "bad"),
        ({"not_spam": 2, "spam": 7}, "spam"),
        ({"relapse": 9, "remission": 5}, "relapse"),
        ({"safe": 9, "unsafe": 2}, "unsafe"),
        ({"1": 2, "2": 5}, "1"),
        ({"1": 5, "2": 2}, "2"),
        ({"ham": 9, "eggs": 1}, "eggs"),
        ({"x": 5, "y z": 2, "w": 9}, "y z"),
        ({"healthy": 2, "dx": 7}, "dx"),
    ],
)
def test_which_class_is_proposed(classes: dict[str, int], positive: str) -> None:
    from clfeval.tables.readings.labels import guess_positive

    assert guess_positive(classes)[0] == positive


@pytest.mark.parametrize("pair", [("-1", "1"), ("0.0", "1.0"), ("-1.0", "1.0"), ("0", "1")])
def test_one_is_positive_however_it_is_written(pair: tuple[str, str]) -> None:
    no, yes = pair
    write("t.csv", f"truth,a\n{yes},{yes}\n{no},{yes}\n{yes},{no}\n{yes},{yes}\n")
    assert mars_confusion() == {"a": (2, 1, 1, 0)}
    frame = pl.DataFrame({"truth": [1.0, 0.0, 1.0], "a": [1, 1, 0]})
    assert confusion(clfeval.mars(frame)) == {"a": (1, 1, 1, 0)}


def test_a_word_for_missing_among_the_classes_is_asked_about() -> None:
    write("t.csv", "truth,a,b\n1,1,0\n0,0,0\nn/a,1,1\n1,n/a,1\n0,0,1\n")
    # no row is left out by what is proposed
    spots, proposed = refused("mars", "t.csv")
    assert spots.startswith("truth missing-word")
    assert proposed == "mars t.csv -q --null-value n/a"
    assert mars_confusion(null_value="n/a", missing="drop") == {
        "a": (1, 0, 0, 2),
        "b": (0, 1, 1, 1),
    }
    assert mars_confusion(classes="n/a", positive="1") == {"a": (1, 1, 1, 2), "b": (1, 2, 1, 1)}


def test_answers_without_any_label_of_truth_are_refused() -> None:
    rows = "ill,yes,yes\nhealthy,no,yes\nhealthy,yes,no\n"
    lines = (row.split(",") for row in rows.splitlines())
    long = "".join(f"{i},a,{a},{t}\n{i},b,{b},{t}\n" for i, (t, a, b) in enumerate(lines))
    for content, spots in (
        (f"truth,a,b\n{rows}", "a unknown-label, b unknown-label"),
        (f"id,model,prediction,truth\n{long}", "prediction unknown-label"),
        ("truth,a\nill,u\nhealthy,v\n", "a unknown-label"),  # nothing says which is which
    ):
        write("t.csv", content)
        assert refused("mars", "t.csv", "--positive", "ill") == (spots, "")


def test_labels_and_scores_in_one_column_of_a_long_table() -> None:
    rows = [("yes", 0.7, "yes"), ("no", 0.2, "no"), ("no", 0.6, "yes")]
    long = "".join(f"{i},rf,{s},{t}\n{i},lr,{v},{t}\n" for i, (t, s, v) in enumerate(rows))
    spots, proposed = refusal_and_options(f"id,model,prediction,truth\n{long}", "--positive", "yes")
    readings = "--model rf --kind score | --model lr --kind label"
    assert (spots, proposed) == ("prediction wrong-layout", readings)
    assert mars_confusion(positive="yes", model="rf") == {"rf": (1, 1, 0, 1)}
    assert mars_confusion(positive="yes", model="lr", kind="label") == {"lr": (1, 1, 0, 1)}


def test_a_class_that_truth_lacks_and_models_say_often_is_declared() -> None:
    rows = "a,a,a\nb,b,c\na,a,c\nb,c,b\n" * 5  # c five times of m, ten times of k
    either = "--positive a --classes c | --positive b --classes c"
    assert refusal_and_options(f"truth,m,k\n{rows}")[1] == either
    assert mars_confusion(positive="a", classes="c") == {"m": (10, 0, 0, 10), "k": (5, 0, 5, 10)}
    spots, proposed = refused("report", "t.csv")
    assert "positive-needed" not in spots  # of three classes none need be positive
    assert proposed == "report t.csv -q --classes c"
    assert program("report", "t.csv", "-q", "--classes", "c").code == 0
    # four of them may be slips
    write("t.csv", "truth,m\n" + "a,a\nb,b\n" * 20 + "a,c\n" * 4)
    assert "--classes" not in refused("report", "t.csv")[1]
