"""Labels are text: nothing is merged, nothing is lost, in no view."""

from __future__ import annotations

import csv
import html
import io
import json
import re

import pytest

from clfeval.api.commands import mars
from clfeval.api.result import Result
from clfeval.views.documents import GAP, csv_lines, markdown_lines
from clfeval.views.page import as_html
from clfeval.views.terminal import as_text
from tests.tables.door import mars_confusion, places, told, write

LABELS = [
    "no",
    "NO",
    "yes",
    "NA",
    "null",
    "None",
    "nan",
    "inf",
    "01",
    "1.0",
    "1e0",
    "+1",
    "-",
    "",
    " x ",
    "[red]",
    "[/red]",
    "[bold]x[/bold]",
    "<b>",
    "</td>",
    "&amp;",
    "a|b",
    "a,b",
    'a"b',
    "a'b",
    "a\nb",
    "a\\b",
    "*x*",
    "_x_",
    "`x`",
    "# x",
    "~x~",
    "café",
    "日本",
    "🙂",
    ":smile:",
    "{x}",
    "%s",
    "$HOME",
    "-->",
    "=1+1",
    "truth",
    "model",
]
RESULTS: dict[str, Result] = {}


def table_of(label: str, *, group: bool = False) -> str:
    """Write a table whose positive class and one model have the label as their name."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    name = f"model {label}"
    rows = [["gold", name], [label, label], ["other", label], [label, "other"]]
    writer.writerows([[*row, "group" if row is rows[0] else row[0]][: 2 + group] for row in rows])
    return write("t.csv", out.getvalue())


def result_of(label: str) -> Result:
    """Return the result of that table, with a slice named by the label too; computed once."""
    if label not in RESULTS:
        table = table_of(label, group=True)
        RESULTS[label] = mars(table, truth="gold", positive=label, by="group")
    return RESULTS[label]


@pytest.mark.parametrize("label", LABELS)
def test_a_label_counts_as_it_is_written(label: str) -> None:
    assert mars_confusion(table_of(label), truth="gold", positive=label) == {
        f"model {label}": (1, 1, 1, 0)
    }


@pytest.mark.parametrize("label", LABELS)
def test_json_keeps_a_label(label: str) -> None:
    text = result_of(label).to_json()
    document = json.loads(text)
    assert document["parameters"]["positive"] == label
    assert document["tables"]["models"][0]["model"] == f"model {label}"
    assert f"group={label}" in {row["slice"] for row in document["tables"]["models"]}
    assert Result.from_json(text).to_json() == text


@pytest.mark.parametrize("label", LABELS)
def test_csv_keeps_a_label(label: str) -> None:
    lines = "".join(csv_lines(result_of(label), "models"))
    rows = list(csv.DictReader(io.StringIO(lines, newline="")))
    assert {row["model"] for row in rows} == {f"model {label}"}
    assert {row["slice"] for row in rows} == {"", f"group={label}", "group=other"}


@pytest.mark.parametrize("label", LABELS)
def test_the_terminal_keeps_a_label(label: str) -> None:
    text = as_text(result_of(label))
    for part in (f"model {label}", f"group={label}"):
        for line in part.split("\n"):
            assert line.rstrip() in text


@pytest.mark.parametrize("label", LABELS)
def test_markdown_keeps_a_label_and_every_row_its_cells(label: str) -> None:
    text = "".join(markdown_lines(result_of(label)))
    body, signature = text.rstrip("\n").rsplit("\n\n", 1)
    assert signature[:1] == signature[-1:] == "`"
    plain = html.unescape(re.sub(r"\\([^\sA-Za-z0-9])", r"\1", body)).replace(GAP, "")
    assert f"model {label}".replace("\n", " ") in plain
    assert f"group={label}".replace("\n", " ") in plain
    assert not re.search(r"<(?!!--|/?details>|/?summary>)", re.sub(r"\\<", "", body))
    for block in body.split("\n\n"):
        rows = [re.sub(r"\\\\|\\\|", "", row) for row in block.splitlines() if row[:1] == "|"]
        assert len({row.count("|") for row in rows}) <= 1


@pytest.mark.parametrize("label", LABELS)
def test_html_keeps_a_label(label: str) -> None:
    text = as_html(result_of(label))
    assert html.escape(f"group={label}") in text
    tags = set(re.findall(r"</?([a-z0-9]+)", text))
    allowed = "div style details summary p strong h3 table thead tbody tr th td code"
    allowed += " svg title desc g text line rect path circle ellipse"
    assert tags <= set(allowed.split())


def test_01_and_1_are_two_labels() -> None:
    content = "truth,a\n1,1\n01,01\n001,1\n"
    assert mars_confusion(write("t.csv", content), positive="1") == {"a": (1, 1, 0, 1)}
    assert mars_confusion("t.csv", positive="01") == {"a": (1, 0, 0, 2)}
    assert told(content) == "positive-needed"


@pytest.mark.parametrize("cell", ["01", "+1", "00", "-0"])
@pytest.mark.parametrize("options", [{}, {"kind": "label"}], ids=str)
def test_another_spelling_of_0_or_1_is_no_vote(cell: str, options: dict[str, str]) -> None:
    assert places(f"truth,a\n1,1\n0,0\n1,{cell}\n", **options) == "4:a unknown-label"


@pytest.mark.parametrize("word", ["NA", "NaN", "null", "None", "N/A"])
def test_a_word_for_missing_is_a_label_unless_declared(word: str) -> None:
    content = f"truth,a\n{word},y\ny,{word}\ny,y\n{word},{word}\n"
    assert mars_confusion(write("t.csv", content), positive="y") == {"a": (1, 1, 1, 1)}
    assert mars_confusion("t.csv", positive="y", null_value=word, missing="drop") == {
        "a": (1, 0, 0, 0)
    }
    assert places(content, positive="y", null_value=word).split(", ") == [
        "2:truth missing-value",
        "3:a missing-value",
        "5:truth missing-value",
        "5:a missing-value",
    ]


def test_a_quoted_nothing_is_a_label_and_an_empty_field_is_missing() -> None:
    content = 'truth,a\n"",""\ny,y\ny,""\n'
    assert mars_confusion(write("t.csv", content), positive="y") == {"a": (1, 0, 1, 1)}
    expected = "2:a unknown-label, 4:a missing-value"
    assert told('truth,a\ny,""\nn,n\ny,\n', positive="y") == expected


def test_a_label_differs_from_the_same_label_with_spaces() -> None:
    assert told("truth,a\ny, y\nn,n\n", positive="y") == "a label-twins"
    assert mars_confusion("t.csv", positive="y", fold_labels=True) == {"a": (1, 0, 0, 1)}
    assert mars_confusion("t.csv", positive="y", classes=["y", " y"]) == {"a": (0, 0, 1, 1)}


def test_a_model_differs_from_the_same_name_with_spaces() -> None:
    content = "truth,a, a\n1,1,0\n0,0,0\n"
    assert mars_confusion(write("t.csv", content)) == {"a": (1, 0, 0, 1), " a": (0, 0, 1, 1)}
    assert told(content, exit_code=2, model="b") == "unknown-model"
