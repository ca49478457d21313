"""Numbers that are easily misread: signs, scales, thresholds.

What a refusal proposes is run, and finds nothing more to ask.
"""

from __future__ import annotations

import shlex

import pytest

import clfeval
from tests.process.program import clfeval as program
from tests.tables.asking import refusal_and_options, refused
from tests.tables.door import mars_confusion, write


def test_percent_signs_are_read() -> None:
    write("t.csv", "truth,rf,gb\n1,70%,4.5%\n0,20 %,3%\n1,57.1%,60%\n0,57.0%,1%\n")
    assert mars_confusion(threshold=0.571) == {"rf": (2, 0, 0, 2), "gb": (1, 0, 1, 2)}


SCALES = "1,.7,70.5,2.5\n0,.2,20.5,-1.5\n1,.8,55.5,.5\n0,.4,45.5,-.5\n"
COMMAS = "truth;rf;w\n1;0,7;1,000\n0;0,2;2,000\n"
SEMI, WEIGHED = ("-d", ";"), ("-d", ";", "--weight", "w", "--interval", "none")
LONG = "id,model,score,truth\n" + "".join(
    f"{i},rf,{i * 37 % 100 / 100},{i % 2}\n{i},lr,{i * 53 % 100}.5,{i % 2}\n" for i in range(20)
)
PERCENTAGES = "truth,rf,gb\n1,150%,20%\n0,57.1%,30%\n1,20%,10%\n"
DECIMAL_COMMA = 'truth;rf;gb\n1;0,7;0,4\n0;0,2;0,3\n1;0,3;"0,6"\n0;0,6;0,1\n'
CASE_0_TO_100 = "truth,rf,gb\n1,70,4\n0,20,3\n1,80,60\n0,55,1\n"
MARGINS = "truth,rf,gb\n1,2.5,1\n0,-1,-2\n1,-.5,3\n0,1,-1\n"
LITTLE_ABOVE_1 = "truth,a,b\n1,.7,1.02\n0,.2,.5\n1,.8,.4\n"
DISTINCT_COMMAS = (
    "truth;p_no;p_yes;flag\nno;0,424;0,576;1\nyes;0,609;0,391;0\nno;0,7;0,3;0\nyes;0,2;0,8;1\n"
)
SUMS_PROPOSED = " | ".join(
    f"""--where '"sick" <> '"'"'12'"'"'' --truth sick --positive {code}""" for code in "12"
)
ASKED: dict[str, tuple[str, tuple[str, ...], str, str]] = {
    "percentages": (PERCENTAGES, (), "rf needs-threshold", "--threshold rf=0.5"),
    "percentages of classes": (
        "truth,p_a,p_b\na,70%,20%\nb,20%,70%\na,30%,20%\n",
        ("--positive", "a"),
        "4:p_a bad-sum",
        "--renormalize",
    ),
    "labels and percentages": (
        "y_true,y_pred,y_prob\n1,1,20%\n0,0,57.1%\n1,0,20%\n",
        (),
        "y_pred which-role, y_prob which-role",
        "--model y_pred | --model y_prob | --model y_pred --model y_prob",
    ),
    "a decimal comma": (DECIMAL_COMMA, SEMI, "rf decimal-comma, gb decimal-comma", "--decimal ,"),
    # scores that all differ look like ids, and a flag like the model
    "a decimal comma next to a flag": (
        DISTINCT_COMMAS,
        SEMI,
        "p_no decimal-comma, p_yes decimal-comma",
        "--decimal ,",
    ),
    # 12 and 13 are the sums of columns of 1 and 2; a condition on `rf` would leave it out
    "a last row of sums": (
        "sick,rf\n1,1\n2,2\n2,1\n1,2\n1,2\n1,2\n2,2\n2,1\n12,13\n",
        (),
        "sick summary-row",
        SUMS_PROPOSED,
    ),
    # the order of scores is the same either way
    "a comma of either": (
        "truth;rf\n1;70,010\n0;20,200\n",
        SEMI,
        "rf decimal-comma",
        "--decimal , --threshold 50",
    ),
    # 0,7 tells which
    "a comma by another": (COMMAS, WEIGHED, "rf decimal-comma, w decimal-comma", "--decimal ,"),
    "0 to 100": (CASE_0_TO_100, (), "rf needs-threshold, gb needs-threshold", "--threshold 50"),
    "margins": (MARGINS, (), "rf needs-threshold, gb needs-threshold", "--threshold 0"),
    "a column of another scale": (
        "truth,rf,visits\n1,.7,51\n0,.2,33\n1,.8,60\n0,.55,21\n",
        (),
        "visits which-role",
        "--model rf --model visits --threshold visits=50 | --ignore visits",
    ),
    "scores of three scales": (
        f"truth,a,b,c\n{SCALES}",
        (),
        "b which-role, c which-role",
        "--model a --model b --model c --threshold b=50 --threshold c=0 | --ignore b --ignore c",
    ),
    "one scale in a long table": (LONG, (), "score needs-threshold", "--threshold lr=50"),
    "a little above 1": (LITTLE_ABOVE_1, (), "b needs-threshold", "--threshold b=0.5"),
}


@pytest.mark.parametrize("case", ASKED)
def test_numbers_that_may_be_misread_are_asked_about(case: str) -> None:
    content, words, spots, proposed = ASKED[case]
    assert refusal_and_options(content, *words) == (spots, proposed)


def test_answers_are_taken_as_they_are_given() -> None:
    write("t.csv", ASKED["a decimal comma"][0])
    assert mars_confusion(delimiter=";", decimal=",") == {"rf": (1, 1, 1, 1), "gb": (1, 0, 1, 2)}
    write("t.csv", ASKED["0 to 100"][0])
    assert mars_confusion(threshold=50)["rf"] == (2, 1, 0, 1)
    write("t.csv", f"truth,a,b,c\n{SCALES}")
    assert mars_confusion(threshold={"b": 50, "c": 0}) == dict.fromkeys("abc", (2, 0, 0, 2))


def test_percentages_of_metrics_are_quoted_as_they_stand_in_the_file() -> None:
    write("t.csv", "model,f1,acc,auc\na,150%,20%,.5\nb,57.1%,-30%,.7\n")
    message = program("mlcps", "t.csv", "-q").err
    assert "150%" in message
    assert "-30%" in message


def test_a_cell_that_is_no_percentage_is_named() -> None:
    write("t.csv", "truth,rf\n1,70%\n0,x%\n1,57.1%\n0,3%\n")
    assert refused("mars", "t.csv", kept=False)[0] == "3:rf bad-number"


def test_a_comma_of_thousands_is_no_decimal_comma() -> None:
    write("t.csv", COMMAS.replace("0,7", "1").replace("0,2", "0"))
    assert refused("mars", "t.csv", "-d", ";", "--weight", "w") == ("w decimal-comma", "")


@pytest.mark.parametrize(
    ("cut", "more"),
    [("0.3", "--threshold b=50 --threshold c=0"), ("50", "--threshold a=0.5 --threshold c=0")],
)
def test_one_threshold_does_not_cut_two_scales_unasked(cut: str, more: str) -> None:
    write("t.csv", f"truth,a,b,c\n{SCALES}")
    models = ("--model", "a", "--model", "b", "--model", "c")
    _, proposed = refused("mars", "t.csv", *models, "--threshold", cut)
    assert proposed == f"mars t.csv {' '.join(models)} --threshold {cut} -q {more}"
    # who says so of each is not asked, nor is there a question where all are of one scale
    assert mars_confusion(threshold={None: 0.3, "b": 0.3, "c": 0.3})["b"] == (2, 2, 0, 0)
    assert mars_confusion(threshold=50, model="b") == {"b": (2, 0, 0, 2)}


def test_ratings_are_no_percentages() -> None:
    write("t.csv", "truth,a,b\n1,5,4\n0,1,2\n1,3,5\n0,2,1\n")
    assert refused("mars", "t.csv")[1] == ""


@pytest.mark.parametrize("slip", ["-0.0005", "1.0003", "57"])
def test_one_score_beyond_0_and_1_is_named_with_its_row(slip: str) -> None:
    rows = [f"{i % 2},{i % 97 / 100}" for i in range(1000)]
    rows[499] = f"1,{slip}"  # the header is row 1
    write("t.csv", "truth,rf\n" + "\n".join(rows) + "\n")
    spots, proposed = refused("report", "t.csv")
    assert spots == "501:rf needs-threshold"
    assert proposed == "report t.csv -q --threshold rf=0.5"
    gap = f"--null-value={slip}"
    for words in ("--threshold", "rf=0.5"), (gap, "--missing", "drop"):
        assert program("report", "t.csv", "-q", *words).code == 0
    # probabilities again, without the row
    result = clfeval.report("t.csv", null_value=slip, missing="drop", interval="none")
    assert result.tables["models"][0]["brier"].value is not None


@pytest.mark.parametrize("others", ["", ",gb"])
@pytest.mark.parametrize(
    ("slips", "options"),
    [
        (["1.2"] * 10, " --null-value '1.2'"),
        (["1.2", "-0.3"] * 5, " --null-value '1.2' --null-value='-0.3'"),
        ([f"1.{i}5" for i in range(10)], None),
    ],
)
def test_up_to_a_tenth_of_the_scores_beyond_0_and_1_is_named(
    others: str, slips: list[str], options: str | None
) -> None:
    rows = [f"{i % 2},{i % 89 / 100}" for i in range(90)] + [f"1,{slip}" for slip in slips]
    more = ",.5" if others else ""
    write("t.csv", f"truth,rf{others}\n" + "".join(f"{row}{more}\n" for row in rows))
    spots, proposed = refused("report", "t.csv")
    assert spots == "92:rf needs-threshold"
    hint = program("report", "t.csv", "-q").err.splitlines()[1]
    assert ("--missing drop" in hint) == (options is not None)
    if options:
        assert f"{options} --missing drop" in hint
        words = [*shlex.split(options), "--missing", "drop"]
        assert program("report", "t.csv", "-q", *words).code == 0
    assert program(*shlex.split(proposed)).code == 0
    # one more than a tenth are of another scale
    write("t.csv", "truth,rf\n" + "".join(f"{row}\n" for row in [*rows, "0,2", "0,2"]))
    assert program("report", "t.csv", "-q").code == 0


def test_one_score_of_one_model_of_a_long_table_is_named() -> None:
    rows = [f"{i},{m},{i % 97 / 100},{i % 2}" for m in ("a", "b") for i in range(300)]
    rows[310] = "10,b,1.0001001,0"
    write("t.csv", "id,model,score,truth\n" + "\n".join(rows) + "\n")
    expected = ("312:score needs-threshold", "mars t.csv -q --threshold b=0.5")
    assert refused("mars", "t.csv") == expected


def test_many_scores_beyond_0_and_1_are_of_another_scale() -> None:
    rows = "".join(f"a{i},{i % 2},{(i % 50 - 5) / 40},.5\n" for i in range(1000))
    write("t.csv", f"id,truth,rf,gb\n{rows}")
    assert refused("mars", "t.csv")[0] == "rf needs-threshold"
