"""A notebook run from top to bottom: page, text, frame, files, limits and a baseline."""

from __future__ import annotations

import json
import sys
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.texts import check_text, problem_places

CELLS = (
    """
import polars as pl
import clfeval

frame = pl.DataFrame({"truth": [1, 1, 1, 0], "a": [1, 1, 0, 0], "b": [1, 0, 0, 1]})
result = clfeval.mars(frame)
result
""",
    "print(result)",
    "result.show('pairs', 'rates')",
    "result.frame('models', backend='pandas')[['model', 'tp', 'recall']]",
    """
result.save("old.json", "page.html")
later = clfeval.mars(frame.with_columns(a=pl.Series([1, 1, 1, 0])))
checked = later.check(fail_under={"recall": 0.5}, baseline="old.json", max_drop={"recall": 0.1})
[str(gate) for gate in checked.gates], checked.passed
""",
    """
rows = checked.frame("comparisons").filter(measure="recall")
rows["model", "old", "new", "verdict"].rows()
""",
    """
try:
    result.check(fail_under={"recal": 0.5})
except clfeval.UsageError as error:
    print(error)
""",
)


@pytest.fixture(scope="module")
def cell_outputs(tmp_path_factory: pytest.TempPathFactory) -> list[list[Any]]:
    """Return the outputs of each cell."""
    folder = tmp_path_factory.mktemp("notebook")
    kernels = folder / "kernels" / "here"
    kernels.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    written = {"argv": command, "display_name": "here", "language": "python"}
    (kernels / "kernel.json").write_text(json.dumps(written))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        client = NotebookClient(
            notebook, timeout=120, kernel_name="here", resources={"metadata": {"path": str(folder)}}
        )
        client.execute()
    assert (folder / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    return [cell["outputs"] for cell in notebook["cells"]]


def text_of_output(outputs: list[Any]) -> str:
    """Return what a cell printed, or its value as text; it has one output."""
    (only,) = outputs
    return str(only["text"] if only["output_type"] == "stream" else only["data"]["text/plain"])


def test_the_last_line_of_a_cell_is_a_page_that_opens_with_the_answer(
    cell_outputs: list[Any],
) -> None:
    (only,) = cell_outputs[0]
    page, answer = only["data"]["text/html"], text_of_output(cell_outputs[1]).splitlines()[1]
    assert page.index(answer) < page.index("<table>") < page.index("<details>")


def test_print_gives_the_whole_text_in_one_piece(cell_outputs: list[Any]) -> None:
    check_text(text_of_output(cell_outputs[1]))


def test_show_prints_what_is_asked_for(cell_outputs: list[Any]) -> None:
    assert "a + b" in text_of_output(cell_outputs[2])
    assert "a + b" not in text_of_output(cell_outputs[1])


def test_a_table_is_a_frame(cell_outputs: list[Any]) -> None:
    (only,) = cell_outputs[3]
    assert "<table" in only["data"]["text/html"]  # as pandas shows it
    assert text_of_output(cell_outputs[3]).split() == [
        "model",
        "tp",
        "recall",
        "0",
        "a",
        "2",
        "0.666667",
        "1",
        "b",
        "1",
        "0.333333",
    ]


def test_limits_and_a_baseline_are_judged(cell_outputs: list[Any]) -> None:
    text = text_of_output(cell_outputs[4])
    check_text(text)
    assert text.endswith("False)")
    rows = eval(text_of_output(cell_outputs[5]))
    assert [(row[0], round(row[1], 3), row[2], row[3]) for row in rows] == [
        ("a", 0.667, 1.0, "undecided"),
        ("b", 0.333, 1 / 3, "undecided"),
    ]


def test_an_error_speaks_python(cell_outputs: list[Any]) -> None:
    assert problem_places(text_of_output(cell_outputs[6])) == ["fail_under: [unknown-metric]"]
