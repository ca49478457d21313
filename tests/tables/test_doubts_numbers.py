"""Numbers that are easily misread: signs, scales, thresholds.

What a refusal proposes is run, and finds nothing more to ask.
"""

from __future__ import annotations

import shlex

import pytest

import clfeval
from tests.process.program import clfeval as program
from tests.tables.asking import START, asked, found
from tests.tables.door import write


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


@pytest.mark.parametrize("slip", ["-0.0005", "1.0003", "57"])
def test_one_score_beyond_0_and_1_is_named_with_its_row(slip: str) -> None:
    rows = [f"{i % 2},{i % 97 / 100}" for i in range(1000)]
    rows[499] = f"1,{slip}"  # the header is row 1
    write("t.csv", "truth,rf\n" + "\n".join(rows) + "\n")
    done = program("report", "t.csv", "-q")
    first, hint, last = done.err.splitlines()
    assert first == (
        f"t.csv:501: column 'rf': {slip} lies outside 0..1; 999 scores lie within [needs-threshold]"
    )
    assert hint == (
        "hint: by rounding or by mistake? Mend what lies outside, or leave it out with "
        f"--null-value{'=' if slip[0] == '-' else ' '}'{slip}' --missing drop; --threshold "
        "'rf=0.5' takes the column as scores that are no probabilities"
    )
    assert last == "try: clfeval report t.csv -q --threshold rf=0.5"
    gap = f"--null-value={slip}"
    for words in shlex.split(last.removeprefix(START))[2:], (gap, "--missing", "drop"):
        assert program("report", "t.csv", "-q", *words).code == 0
    # probabilities again, without the row
    result = clfeval.report("t.csv", null_value=slip, missing="drop", interval="none")
    assert result.tables["models"][0]["brier"].value is not None


@pytest.mark.parametrize("others", ["", ",gb"])
@pytest.mark.parametrize(("slips", "options"), [
    (["1.2"] * 10, " --null-value '1.2'"),
    (["1.2", "-0.3"] * 5, " --null-value '1.2' --null-value='-0.3'"),
    ([f"1.{i}5" for i in range(10)], None),
])  # fmt: skip
def test_up_to_a_tenth_of_the_scores_beyond_0_and_1_is_named(
    others: str, slips: list[str], options: str | None
) -> None:
    rows = [f"{i % 2},{i % 89 / 100}" for i in range(90)] + [f"1,{slip}" for slip in slips]
    more = ",.5" if others else ""
    write("t.csv", f"truth,rf{others}\n" + "".join(f"{row}{more}\n" for row in rows))
    done = program("report", "t.csv", "-q")
    assert done.code == 3
    first, hint, last = done.err.splitlines()
    assert first == (
        f"t.csv:92: column 'rf': {slips[0]} lies outside 0..1, and so do 9 more; 90 scores lie "
        "within [needs-threshold]"
    )
    assert ("leave it out" in hint) == (options is not None)
    if options:
        assert f"leave it out with{options} --missing drop" in hint
        assert (
            program("report", "t.csv", "-q", *shlex.split(options), "--missing", "drop").code == 0
        )
    assert program(*shlex.split(last.removeprefix(START))).code == 0
    # one more than a tenth are of another scale
    write("t.csv", "truth,rf\n" + "".join(f"{row}\n" for row in [*rows, "0,2", "0,2"]))
    assert program("report", "t.csv", "-q").code == 0


def test_one_score_of_one_model_of_a_long_table_is_named() -> None:
    rows = [f"{i},{m},{i % 97 / 100},{i % 2}" for m in ("a", "b") for i in range(300)]
    rows[310] = "10,b,1.00001,0"
    write("t.csv", "id,model,score,truth\n" + "\n".join(rows) + "\n")
    error = program("mars", "t.csv", "-q").err
    assert error.startswith(
        "t.csv:312: column 'score': 1.00001 lies outside 0..1; 299 scores lie within ["
    )
    assert error.splitlines()[-1].endswith(" --threshold b=0.5")


def test_many_scores_beyond_0_and_1_are_of_another_scale() -> None:
    rows = "".join(f"{i % 2},{(i % 50 - 5) / 40}\n" for i in range(1000))
    write("t.csv", f"truth,rf,gb\n{rows}".replace("\n", ",.5\n").replace("gb,.5", "gb"))
    assert "scores from -0.125 to 1.1 are no probabilities" in program("mars", "t.csv", "-q").err
