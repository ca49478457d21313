"""What mlcps is told at the shell: YAML files, odd names, labels as text, and what is signed."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import polars as pl
import pytest

from tests.process.program import NEEDS_BASH, Done, json_document, script, write_files
from tests.process.program import clfeval_in_lines as clfeval
from tests.process.test_mlcps import TABLE, VALUES, area, scores_by_model
from tests.process.test_mlcps_pipes import signed
from tests.tables.door import encoded
from tests.texts import check_text


@pytest.fixture(autouse=True)
def input_files(folder: Path) -> None:
    wishes = "f1: maximize\nbrier: {goal: minimize, high: 0.2}\n"
    write_files(folder, {"m.csv": TABLE, "wishes.yaml": wishes})


def rank(*words: str) -> Done:
    return clfeval("mlcps", *words, "-q", "-f", "json")


def yaml(text: str) -> str:
    Path("w.yaml").write_text(text, encoding="utf-8")
    return "w.yaml"


def test_weights_from_a_file_are_those_of_the_command_line() -> None:
    file = rank("m.csv", "--metric-weight", yaml("recall: 2\nspecificity: 0.5 # half\n"))
    words = rank("m.csv", "--metric-weight", "recall=2", "--metric-weight", "specificity=0.5")
    assert file == words
    weighted = {name: area((2 * a, b, c / 2)) for name, (a, b, c) in VALUES.items()}
    assert scores_by_model(file) == pytest.approx(weighted, rel=1e-12)
    assert json_document(file)["parameters"]["weights"] == {
        "recall": 2,
        "precision": 1,
        "specificity": 0.5,
    }


def test_wishes_from_a_file() -> None:
    wishes = yaml(
        "recall:\n  goal: minimize\n  low: 0.6\n  high: 1\n  gamma: 2\n  weight: 3\n"
        "precision: {goal: box, above: 0.6}\n"
    )
    found = json_document(rank("m.csv", "--desirability", wishes))
    assert found["parameters"]["ranked_by"] == "desirability"
    assert found["parameters"]["desirability"]["recall"] == {
        "goal": "minimize",
        "low": 0.6,
        "high": 1,
        "gamma": 2,
        "weight": 3,
    }
    rows = {row["model"]: row for row in found["tables"]["models"]}
    values = {name: row["desirability"]["value"] for name, row in rows.items()}
    # d of recall is ((x - 1) / (0.6 - 1))², at three quarters of the weight; that of precision is 1
    expected = {name: ((x - 1) / -0.4) ** (2 * 3 / 4) for name, (x, _, _) in VALUES.items()}
    assert values == pytest.approx({**expected, "lr": 0.0}, rel=1e-12)
    assert rows["lr"]["dealbreakers"] == ["precision"]
    assert [row["rank"] for row in rows.values()] == [2, 1, 3]


BROKEN: dict[str, tuple[str, str, str]] = {
    "a weight twice": ("--metric-weight", "recall: 2\nrecall: 3\n", "w.yaml:2:1: "),
    "a weight that is text": ("--metric-weight", "recall: 2\nprecision: two\n", "w.yaml:2:1: "),
    "a weight below 0": ("--metric-weight", "recall: -1\n", "w.yaml:1:1: "),
    "a list of weights": ("--metric-weight", "- recall\n", "w.yaml:1:1: "),
    "no YAML": ("--metric-weight", "recall: [2\n", "w.yaml:1:9: "),
    "nothing": ("--metric-weight", "", "w.yaml: "),
    "an unknown goal": ("--desirability", "recall: maximum\n", "w.yaml:1:1: "),
    "no end": ("--desirability", "recall: {goal: target, low: 0}\n", "w.yaml:1:1: "),
    "an unknown key": ("--desirability", "recall: {goal: box, low: 0, hihg: 1}\n", "'high'"),
    "an unknown metric": ("--desirability", "recal: {goal: box, low: 0}\n", "'recall'"),
    "a tag": ("--desirability", "recall: !!python/object:x maximize\n", "w.yaml:1:9: "),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_says_something_else_is_a_usage_error(name: str) -> None:
    option, text, part = BROKEN[name]
    done = clfeval("mlcps", "m.csv", option, yaml(text), "-q")
    assert (done.code, done.out) == (2, "")
    assert part in done.err
    check_text(done.err)


def test_words_of_yaml_1_1_are_names_of_metrics_and_models() -> None:
    Path("m.csv").write_text("model,no,01,1e-3,~\nyes,.5,.6,.7,.8\n01,.6,.5,.8,.7\n1,.1,.1,.1,.1\n")
    done = rank("m.csv", "--metric-weight", yaml("no: 2\n01: 3\n1e-3: 0\n~: 1e0\n"))
    assert json_document(done)["parameters"]["weights"] == {"no": 2, "01": 3, "~": 1}
    areas = {"yes": area((1, 1.8, 0.8)), "01": area((1.2, 1.5, 0.7)), "1": area((0.2, 0.3, 0.1))}
    assert scores_by_model(done) == pytest.approx(areas, rel=1e-12)
    one = rank("m.csv", "--model", "01", "--fail-under", "01:mlcps=0.1")
    assert (one.code, list(scores_by_model(one))) == (0, ["01"])


ODD = ["random forest", "a=b", "[red]x[/red]", "rf:2", "é, è", 'say "hi"', "-9", "mlcps"]
METRICS = ["F 1", "x=y", "[auc]", "a:b"]


def test_odd_names_come_through_unchanged() -> None:
    rows = [[name, *(f"0.{i + j + 1}" for j in range(4))] for i, name in enumerate(ODD, 1)]
    with open("odd.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["model", *METRICS], *rows])
    words = [
        "--metric-weight",
        "x=y=2",
        "--metric-weight",
        "F 1=3",
        "--rescale",
        "[auc]=0:2",
        "--direction",
        "a:b=min",
        "--fail-under",
        "rf:2:mlcps=0.1",
        "--fail-over",
        "a=b:rank=8",
    ]
    done = rank("odd.csv", *words)
    found = json_document(done)
    assert (done.code, list(scores_by_model(done))) == (0, ODD)
    assert found["parameters"]["weights"] == {"F 1": 3, "x=y": 2, "[auc]": 1, "a:b": 1}
    assert [gate["model"] for gate in found["gates"]] == ["rf:2", "a=b"]
    a, b, c, d = (float(cell) for cell in rows[3][1:])
    expected = area((3 * a, 2 * b, c / 2, 1 - d))
    assert scores_by_model(done)["rf:2"] == pytest.approx(expected, rel=1e-12)
    table = clfeval("mlcps", "odd.csv", *words, "-q", "-f", "csv").out
    assert [row["model"] for row in csv.DictReader(io.StringIO(table))] == ODD
    shown = clfeval("mlcps", "odd.csv", *words, "-q").out
    assert [name for name in ODD if name not in shown] == []
    chosen = rank("odd.csv", *(word for name in reversed(METRICS) for word in ("--metric", name)))
    assert json_document(chosen)["parameters"]["metrics"] == METRICS[::-1]


@NEEDS_BASH
def test_a_table_with_an_odd_name() -> None:
    Path("a [1].csv").write_text(TABLE, encoding="utf-8")
    done = script("clfeval mlcps 'a [1].csv' --compare ./a*.csv -q -f json")
    assert [item["name"] for item in json_document(done)["inputs"]] == ["a [1].csv"] * 2
    assert json_document(done)["parameters"]["compare"] == "a [1].csv"
    assert done.err == ""


LABELS = "truth,a,b\nno,no,no\n01,01,no\nno,no,01\n01,01,01\nno,01,no\n01,01,01\n"


def test_labels_of_predictions_are_text() -> None:
    Path("p.csv").write_text(LABELS, encoding="utf-8")
    words = ["p.csv", "--from", "predictions", "--interval", "none", "--positive"]
    # a: 2 of 3 no are found, all 3 of 01; b: 2 of 3 each
    a = (2 / 3, 1, 1, 3 / 4)  # sensitivity, specificity, precision, npv of the class no
    areas = {"a": area(a), "b": area((2 / 3,) * 4)}
    assert scores_by_model(rank(*words, "no")) == pytest.approx(areas, rel=1e-12)
    other = rank(*words, "01")
    assert json_document(other)["parameters"]["positive"] == "01"
    turned = {"a": area((a[1], a[0], a[3], a[2])), "b": areas["b"]}
    assert scores_by_model(other) == pytest.approx(turned, rel=1e-12)
    wrong = rank(*words, "1")
    assert (wrong.code, wrong.out, "'01', 'no'" in wrong.err) == (3, "", True)


def test_several_files_of_predictions_are_one_table() -> None:
    head, *rows = LABELS.splitlines()
    for name, part in {"p1.csv": rows[:2], "p2.csv": rows[2:], "p.csv": rows}.items():
        Path(name).write_text("\n".join([head, *part, ""]), encoding="utf-8")
    words = ["--from", "predictions", "--positive", "no"]
    whole, *parts = (
        json_document(rank(*t, *words)) for t in (["p.csv"], ["p1.csv", "p2.csv"], ["p?.csv"])
    )
    for one in parts:
        assert [item["rows"] for item in one["inputs"]] == [2, 4]
        assert one["tables"] == whole["tables"]
        assert signed(one)["stats"] == signed(whole)["stats"]


def test_rows_and_format_of_predictions_change_only_the_hash_of_the_data() -> None:
    frame = pl.read_csv(io.StringIO(LABELS), infer_schema=False)
    frame = pl.concat([frame] * 5)
    Path("p.csv").write_bytes(encoded(frame, "csv"))
    Path("r.csv").write_bytes(encoded(frame.reverse(), "csv"))
    Path("p.parquet").write_bytes(encoded(frame, "parquet"))
    words = ["--from", "predictions", "--positive", "no"]
    found = [json_document(rank(name, *words)) for name in ("p.csv", "r.csv", "p.parquet")]
    assert len({signed(one)["data"] for one in found}) == 3
    for one in found[1:]:
        assert one["tables"] == found[0]["tables"]
        assert signed(one) | {"data": ""} == signed(found[0]) | {"data": ""}
