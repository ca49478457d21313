"""Columns that are easily misread, and the lines above them.

What a refusal proposes is run, and finds nothing more to ask.
"""

from __future__ import annotations

import pytest

import clfeval
from tests.process.program import clfeval as program
from tests.tables.asking import asked, found
from tests.tables.door import write


def test_everything_is_asked_at_once() -> None:
    rows = "".join(
        f"L{i},{('bad', 'good', 'good')[i % 3]},{('bad', 'good')[i % 2]},{'nsew'[i % 4]}\n"
        for i in range(24)
    )
    lines = asked(f"loan,Status,rf,region\n{rows}")
    assert [line.rpartition("[")[2] for line in lines if line.endswith("]")] == [
        "no-truth]", "positive-needed]", "unknown-label]", "unknown-label]",
    ]  # fmt: skip
    assert lines[-1] == (
        "try: clfeval mars t.csv -q --truth Status --positive bad --id loan --ignore region"
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
    with pytest.raises(clfeval.UsageError, match=r"^ignore leaves out 'a', and feature names it"):
        clfeval.phidelta("t.csv", features=True, ignore="a", feature="a")


def test_a_model_that_is_named_is_not_proposed_to_be_left_out() -> None:
    rows = "".join(f"{i % 2},{i % 3 % 2},{i * 7 % 50 + 20}\n" for i in range(20))
    write("t.csv", f"truth,rf,age\n{rows}")
    done = program("mars", "t.csv", "--model", "rf", "--model", "age", "-q")
    assert (done.code, len(done.err.splitlines())) == (3, 2)  # no command, and no contradiction
    assert "leaves out" not in done.err


def test_a_cell_is_named_once() -> None:
    write("t.csv", "truth,a,b\n1,0.9,.1\n0,,.3\n1,n/a,.2\n0,.2,\n1,.4,.5\n")
    lines = program("mars", "t.csv", "-q").err.splitlines()
    assert lines == [
        "t.csv:3: column 'a': missing [missing-value]",
        "t.csv:4: column 'a': 'n/a' is not a number [bad-number]",
        "t.csv:5: column 'b': missing [missing-value]",
        "hint: fill the cells, or add --missing drop to leave such rows out",
        "when the rest is mended, try: clfeval mars t.csv -q --null-value n/a",
    ]


def test_a_table_of_metrics_is_told_its_command() -> None:
    write("t.csv", "model,accuracy,f1\nrf,.8,.7\ngb,.9,.6\n")
    assert "clfeval mlcps ranks its models" in program("mars", "t.csv").err


def test_an_id_that_is_called_so_needs_no_question() -> None:
    write("t.csv", "loan_id,truth,rf\nA1,1,1\nA2,0,1\nA3,1,0\n")
    assert found() == {"rf": (1, 1, 1, 0)}


@pytest.mark.parametrize("name", ["y", "gold", "ground_truth", "Class", "diagnosis", "Outcome"])
def test_a_name_that_only_truth_has_is_taken(name: str) -> None:
    write("t.csv", f"{name},rf,gb\n1,1,0\n0,0,0\n0,1,1\n")
    assert found() == {"rf": (1, 1, 0, 1), "gb": (0, 1, 1, 1)}


@pytest.mark.parametrize("name", ["status", "Churn", "relevant"])
def test_a_likely_name_of_truth_is_proposed(name: str) -> None:
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


@pytest.mark.parametrize("name", ["weight", "Weights", "sample_weight", "w"])
def test_a_column_called_like_weights_is_no_model_unasked(name: str) -> None:
    lines = asked(f"truth,a,{name}\n1,1,2\n1,0,1\n0,0,3\n0,1,1\n")
    assert lines == [
        f"t.csv: column '{name}': called like the weights of rows: is it one of them, or a model? "
        "[stray-weight]",
        f"hint: --weight '{name}' weighs the rows by it; --ignore '{name}' leaves it out; --model, "
        "once for each model, says that it is one",
        f"try: clfeval mars t.csv -q --weight {name}",
    ]
    assert found(weight=name) == {"a": (2, 1, 1, 3)}
    assert found(ignore=name) == {"a": (1, 1, 1, 1)}


@pytest.mark.parametrize("name", ["fold", "Seed", "run"])
def test_a_column_called_like_runs_is_no_model_unasked(name: str) -> None:
    lines = asked(f"truth,a,{name}\n1,1,0\n1,0,1\n0,0,0\n0,1,1\n")
    assert lines == [
        f"t.csv: column '{name}': called like the runs of models (folds, seeds): is it one of "
        "them, or a model? [stray-run]",
        f"hint: --run '{name}' of report and phidelta tells them apart; --ignore '{name}' takes "
        "all rows together; --model, once for each model, says that it is one",
        f"try: clfeval mars t.csv -q --ignore {name}",
    ]
    assert found(ignore=name) == {"a": (1, 1, 1, 1)}
    assert [*found_in(f"truth,{name}\n1,.1\n0,.5\n")] == [name]


def test_of_two_columns_called_like_weights_one_weighs() -> None:
    lines = asked("truth,a,w,weight\n1,1,.5,2\n0,0,.5,1\n0,1,.7,1\n")
    assert lines[-1] == "try: clfeval mars t.csv -q --weight weight --ignore w"
    # labels of truth, a name that somebody said, and the only column are models
    assert [*found_in("truth,a,w\n1,1,0\n0,0,1\n")] == ["a", "w"]
    assert [*found_in("truth,a,weight\n1,.1,.4\n0,.5,.6\n", model=["a", "weight"])] == [
        "a",
        "weight",
    ]
    assert [*found_in("truth,weight\n1,.1\n0,.5\n")] == ["weight"]


def found_in(content: str, **options: object) -> dict[str, tuple[int, int, int, int]]:
    """Write a table and return the 2 x 2 tables of its models."""
    write("t.csv", content)
    return found(**options)
