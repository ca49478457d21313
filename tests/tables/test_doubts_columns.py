"""Columns that are easily misread, and the lines above them.

What a refusal proposes is run, and finds nothing more to ask.
"""

from __future__ import annotations

import pytest

import clfeval
from tests.process.program import clfeval as program
from tests.tables.asking import START, refusal_and_options, refused, spots_in
from tests.tables.door import mars_confusion, write
from tests.texts import check_text

Confusion = tuple[int, int, int, int]
THREE = "{},rf,gb\n1,1,0\n0,0,0\n0,1,1\n"
A_B = "truth,a,b\n1,1,0\n0,0,0\n0,1,1\n"
COUNTED = {"a": (1, 1, 0, 1), "b": (0, 1, 1, 1)}


def found_in(content: str, **options: object) -> dict[str, Confusion]:
    """Write a table and return the 2 x 2 tables of its models."""
    write("t.csv", content)
    return mars_confusion(**options)


LOANS = "loan,Status,rf,region\n" + "".join(
    f"L{i},{('bad', 'good', 'good')[i % 3]},{('bad', 'good')[i % 2]},{'nsew'[i % 4]}\n"
    for i in range(24)
)
USUAL = ("status", "Churn", "relevant")
WEIGHTS = ("weight", "Weights", "w", "sample_weight")
WEIGHED = "truth,a,{}\n1,1,2\n1,0,1\n0,0,3\n0,1,1\n"
RUNS = "truth,a,{}\n1,1,0\n1,0,1\n0,0,0\n0,1,1\n"
TWO_TRUTHS = "label,target,a\n1,1,1\n0,0,0\n0,1,1\n"
PATIENTS = "truth,a,patient\n1,.9,p1\n0,.2,p1\n1,.4,p2\n0,.3,p2\n1,.7,p3\n0,.6,p3\n"
NO_NAMES = "sick,fever,a\n1,0,.9\n0,0,.2\n1,1,.4\n0,1,.3\n"
ASKED: dict[str, tuple[str, str, str]] = {
    "two truths": (TWO_TRUTHS, "which-truth", "--truth target | --truth label"),
    "no model is left": (
        "truth,target\n1,1\n0,0\n0,1\n",
        "which-truth",
        "--truth truth | --truth target",
    ),
    "no names": (
        NO_NAMES,
        "no-truth, sick which-role, fever which-role",
        "--truth fever --model sick --model a | --truth fever --ignore sick | "
        "--truth sick --model fever --model a | --truth sick --ignore fever",
    ),
    "two weights": (
        "truth,a,w,weight\n1,1,.5,2\n0,0,.5,1\n0,1,.7,1\n",
        "w which-role, weight which-role",
        "--weight w --ignore weight | --weight weight --ignore w | --ignore w --ignore weight",
    ),
    "counts": (
        "truth,a,n\n1,1,2\n1,0,1\n0,0,3\n0,1,1\n0,1,2\n",
        "n which-role",
        "--weight n | --ignore n",
    ),
    "clusters": (PATIENTS, "patient which-role", "--cluster patient | --ignore patient"),
}


@pytest.mark.parametrize("case", ASKED)
def test_columns_that_may_be_misread_are_asked_about(case: str) -> None:
    content, spots, proposed = ASKED[case]
    assert refusal_and_options(content) == (spots, proposed)


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (TWO_TRUTHS, {"truth": "label"}, dict.fromkeys(["target", "a"], (1, 1, 0, 1))),
        ("truth,target\n1,1\n0,0\n0,1\n", {"truth": "truth"}, {"target": (1, 1, 0, 1)}),
        (WEIGHED.format("w"), {"weight": "w"}, {"a": (2, 1, 1, 3)}),
        (WEIGHED.format("w"), {"ignore": "w"}, {"a": (1, 1, 1, 1)}),
        (RUNS.format("run"), {"ignore": "run"}, {"a": (1, 1, 1, 1)}),
        # names that often are those of truth
        *((THREE.format(name), {}, {"rf": (1, 1, 0, 1), "gb": (0, 1, 1, 1)}) for name in USUAL),
        # names of weights, of runs where the command has none, and texts of no class
        *((WEIGHED.format(name), {}, {"a": (2, 1, 1, 3)}) for name in WEIGHTS),
        *((RUNS.format(name), {}, {"a": (1, 1, 1, 1)}) for name in ("fold", "Seed", "run")),
        (LOANS, {}, {"rf": (4, 8, 4, 8)}),
        # labels of truth, a name that somebody said, and the only column are models
        ("truth,a,w\n1,1,0\n0,0,1\n", {}, {"a": (1, 0, 0, 1), "w": (0, 1, 1, 0)}),
        (
            "truth,a,weight\n1,.1,.4\n0,.5,.6\n",
            {"model": ["a", "weight"]},
            {"a": (0, 1, 1, 0), "weight": (0, 1, 1, 0)},
        ),
        ("truth,weight\n1,.1\n0,.5\n", {}, {"weight": (0, 1, 1, 0)}),
        ("truth,fold\n1,.1\n0,.5\n", {}, {"fold": (0, 1, 1, 0)}),
        ("loan_id,truth,rf\nA1,1,1\nA2,0,1\nA3,1,0\n", {}, {"rf": (1, 1, 1, 0)}),
    ],
)
def test_columns_are_taken_as_somebody_says(
    content: str, options: dict[str, object], expected: dict[str, Confusion]
) -> None:
    assert found_in(content, **options) == expected


def test_an_answer_that_leaves_no_model_is_not_proposed() -> None:
    write("t.csv", "truth,name\n" + "".join(f"{i % 2},N{i}\n" for i in range(24)))
    assert refused("mars", "t.csv") == ("no-models", "")


@pytest.mark.parametrize(
    "words",
    [
        ("--cluster", "truth"),
        ("--ignore", "b", "--by", "b"),
        ("--ignore", "b*", "--model", "b"),
        ("--weight", "truth"),
        ("--id", "truth"),
    ],
)
def test_a_column_has_one_part(words: tuple[str, ...]) -> None:
    write("t.csv", "truth,a,b\n1,1,0\n0,0,0\n")
    done = program("mars", "t.csv", *words)
    assert (done.code, spots_in(done.err)) == (2, "bad-option")
    check_text(done.err)


@pytest.mark.parametrize("name", ["model", "prediction"])
def test_the_column_of_models_is_no_id_of_a_long_table(name: str) -> None:
    write("t.csv", "id,model,prediction,truth\n1,a,1,1\n2,a,0,1\n")
    done = program("mars", "t.csv", "--id", name)
    assert (done.code, spots_in(done.err)) == (2, "bad-option")
    check_text(done.err)


def test_what_is_left_out_is_not_asked_for_in_other_commands() -> None:
    write("m.csv", "model,f1,acc,auc\na,.5,.6,.7\nb,.6,.5,.8\n")
    done = program("mlcps", "m.csv", "--ignore", "f1", "--metric", "f1")
    assert (done.code, spots_in(done.err)) == (2, "bad-option")
    write("t.csv", "truth,a,b\n1,.7,.1\n0,.2,.4\n")
    with pytest.raises(clfeval.UsageError, match="'a'"):
        clfeval.phidelta("t.csv", features=True, ignore="a", feature="a")


def test_a_model_that_is_named_is_not_proposed_to_be_left_out() -> None:
    rows = "".join(f"{i % 2},{i % 3 % 2},{i * 7 % 50 + 20}\n" for i in range(20))
    write("t.csv", f"truth,rf,age\n{rows}")
    words = ("--model", "rf", "--model", "age")
    assert refused("mars", "t.csv", *words)[1].endswith("--model age -q --threshold 50")


def test_a_cell_is_named_once() -> None:
    write("t.csv", "truth,a,b\n1,0.9,.1\n0,,.3\n1,n/a,.2\n0,.2,\n1,.4,.5\n")
    assert refused("mars", "t.csv") == (
        "3:a missing-value, 4:a bad-number, 5:b missing-value",
        "mars t.csv -q --null-value n/a",
    )


def test_a_table_of_metrics_names_its_command() -> None:
    write("t.csv", "model,accuracy,f1\nrf,.8,.7\ngb,.9,.6\n")
    assert "clfeval mlcps" in program("mars", "t.csv").err


@pytest.mark.parametrize("name", ["y", "gold", "ground_truth", "Class", "diagnosis", "Outcome"])
def test_a_name_that_only_truth_has_is_taken(name: str) -> None:
    assert found_in(THREE.format(name)) == {"rf": (1, 1, 0, 1), "gb": (0, 1, 1, 1)}


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_delimiter_is_recognised_though_names_hold_commas(delimiter: str) -> None:
    content = "loan_id|truth|k-NN, k=5|rf\n1|1|.7|.3\n2|0|.2|.1\n".replace("|", delimiter)
    shown = "'\\t'" if delimiter == "\t" else f"'{delimiter}'"
    write("t.csv", content)
    _, proposed = refused("mars", "t.csv", "--id", "loan_id")
    assert proposed == f"mars t.csv --id loan_id -q --delimiter {shown}"


@pytest.mark.parametrize(
    "mark",
    [
        '# made by "me, on Monday\n# v2\n',
        "\ufeff# by me\n",
        "# by me, a, b\n",
        "# by\n\n# me\n\n",
        "#a\r\n#b\r\n",
    ],
)
def test_comments_on_top_are_passed_over(mark: str) -> None:
    assert found_in(mark + A_B) == COUNTED
    write("t.csv", mark + A_B + "1,x,0\n")
    row = mark.count("\n") + 5
    assert refused("mars", "t.csv", kept=False)[0] == f"{row}:a unknown-label"


def test_a_header_may_begin_like_a_comment() -> None:
    assert found_in("#truth,a\n1,1\n0,1\n", truth="#truth") == {"a": (1, 1, 0, 0)}


@pytest.mark.parametrize("mark", ["sep=;\n", '"sep=;"\r\n', "\ufeffSEP=;\n"])
def test_the_line_that_says_the_delimiter_to_excel_is_passed_over(mark: str) -> None:
    assert found_in(mark + A_B.replace(",", ";")) == COUNTED
    write("t.csv", mark + "truth;a\n1;1\n0;x\n")
    assert refused("mars", "t.csv", kept=False)[0] == "4:a unknown-label"  # sep=; is row 1
    write("m.csv", mark + "model;f1;acc;auc\na;.5;.6;.7\nb;.6;.7;.8\n")
    assert program("mlcps", "m.csv").code == 0


@pytest.mark.parametrize(
    ("title", "row"),
    [("Predictions of June\n", 2), ("Predictions of June,,\n", 2), ("Predictions, June\n\n", 3)],
)
def test_a_title_above_the_names_is_called_so(title: str, row: int) -> None:
    sign = ";" if row == 3 else ","
    write("t.csv", title + "truth,a,b\n1,1,0\n0,0,0\n".replace(",", sign))
    for words in ("mars",), ("phidelta", "--features"):
        assert refused(*words, "t.csv") == ("1 no-header", "")
        assert f"tail -n +{row} " in program(*words, "t.csv", "-q").err


def test_files_of_two_delimiters_are_not_read_together() -> None:
    write("a.csv", "truth,a\n1,1\n0,1\n")
    write("b.csv", "truth;a\n1;1\n0;1\n")
    write("c.csv", "truth;a\n1;1\n0;0\n")
    assert refused("mars", "a.csv", "b.csv")[0] == "b.csv different-columns"
    assert refused("mars", "b.csv", "a.csv")[0] == "a.csv different-columns"
    assert refused("mars", "b.csv", "c.csv")[1] == "mars b.csv c.csv -q --delimiter ';'"
    assert START in program("mars", "b.csv", "c.csv", "-q").err
