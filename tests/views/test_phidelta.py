"""How phidelta's results read: the answer, what was asked for, one table, the rest by name."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from clfeval.pages.command_pages import page_of
from clfeval.pages.table_parts import sort_by_column
from clfeval.views.documents import markdown_lines
from clfeval.views.plots import draw_plots
from clfeval.views.table_layout import TextTable, layout_table, more_table_names, sort_tables
from clfeval.views.terminal import as_text
from tests.texts import check_text

LABELS = "fixtures/breast-cancer/labels.csv"
SCORES = "fixtures/breast-cancer/scores.csv"
RUNS = "fixtures/armano/runs.csv"
LONG = [
    "Random Forest [n=200], bagged, with balanced classes, v. 2026",
    "Random Forest [n=200], bagged, with balanced classes, v. 2025",
    "k-NN, k=5",
    "日本語のモデル",
    "<b>bold</b>",
    "[red]a | b[/red]",
]


def cancer(table: str = LABELS, **options: Any) -> Result:
    return clfeval.phidelta(table, positive="malignant", **options)


def first_open(result: Result) -> TextTable:
    """Return what stands directly under the answer, without any more intervals."""
    return layout_table(sort_tables(result).opened[0], result, wide=False)


def main(result: Result) -> TextTable:
    """Return the main table."""
    (one,) = (shown for shown in sort_tables(result).opened if shown.rank == "main")
    return layout_table(one, result, wide=False)


def column_cells(part: TextTable, heading: str) -> list[str]:
    """Return the cells of a column."""
    (column,) = (column for column in part.columns if column.heading.split("\n")[0] == heading)
    return list(column.cells)


def test_the_main_table_has_the_largest_delta_first_and_marks_who_may_be_as_good() -> None:
    part = main(cancer())
    assert column_cells(part, "model") == ["svm", "logreg", "forest", "knn", "tree", "naive_bayes"]
    assert part.signs == ("*", "≈", "≈", "≈", "≈", "")
    assert [column.heading.startswith("95") for column in part.columns].count(True) == 1


@pytest.mark.parametrize(
    ("delta", "phi", "reading"),
    [
        ((0.81, 0.9), (0, 0.05), "near oracle"),
        ((0.7, 0.9), (0, 0.05), "informative or near oracle"),
        ((0.7, 0.8), (0, 0.05), "informative or near oracle"),
        ((0.2, 0.3), (0.11, 0.3), "informative, biased towards positive"),
        ((0.2, 0.3), (-0.3, -0.11), "informative, biased towards negative"),
        ((0.2, 0.3), (0.1, 0.3), "informative"),
        ((-0.05, 0.05), (0, 0.05), "no better than chance"),
        ((-0.5, 0.05), (0, 0.05), "worse than chance or no better than chance"),
        ((-0.5, -0.2), (0, 0.05), "worse than chance"),
    ],
)
def test_a_reading_in_few_words_says_what_the_interval_covers(
    delta: tuple[float, float], phi: tuple[float, float], reading: str
) -> None:
    row = {"slice": None, "model": "a", "threshold": None, "tp": 1, "fp": 1, "fn": 1, "tn": 1}
    row |= {"phi": Estimate(sum(phi) / 2, *phi), "delta": Estimate(sum(delta) / 2, *delta)}
    row |= {
        "sensitivity": Estimate(0.5),
        "specificity": Estimate(0.5),
        "reading": None,
        "reading_withheld": "",
    }
    parameters, summary = {"mode": "classifiers", "level": 0.95}, {"odds": "1:1"}
    result = Result("phidelta", "", (), parameters, summary, {"models": [row]})
    assert column_cells(main(result), "reading") == [reading]


def test_without_intervals_there_is_no_reading_in_the_main_table() -> None:
    assert "reading" not in main(cancer(interval="none")).headings


@pytest.mark.parametrize(
    ("options", "table", "name"),
    [
        ({"reference": "tree"}, LABELS, "comparisons"),
        ({"prevalence": (0.01,)}, LABELS, "populations"),
        ({"prevalence": (0.01, 0.1)}, LABELS, "populations"),
        ({"curve": True}, SCORES, "curves"),
        ({"by": ("svm",), "model": ("tree",)}, LABELS, "slices"),
    ],
)
def test_what_is_asked_for_stands_directly_under_the_answer(
    options: dict[str, Any], table: str, name: str
) -> None:
    result = cancer(table, **options)
    first = sort_tables(result).opened[0]
    assert (first.name or first.table) == name
    lines = as_text(result, width=80).splitlines()
    assert lines.index("") <= 9  # the headline and the answer
    assert lines[lines.index("") + 1] == first_open(result).title
    check_text(first_open(result).title)


def test_populations_are_sorted_by_what_decides_and_differences_by_measure() -> None:
    result = cancer(reference="svm")
    leading, others = (
        layout_table(view, result)
        for view in sort_tables(result).opened
        if view.table == "comparisons"
    )
    for part, measure in ((leading, "delta"), (others, "phi")):
        assert column_cells(part, "model") == ["logreg", "naive_bayes", "knn", "tree", "forest"]
        assert {*column_cells(part, "measure")} == {measure}
    rows: list[Any] = [
        {"prevalence": p, "precision": Estimate(v)}
        for p, v in ((0.1, 0.2), (0.1, None), (0.1, 0.4), (0.5, 0.1), (0.5, 0.9))
    ]
    values = [row["precision"].value for row in sort_by_column(rows, "precision")]
    assert values == [0.4, 0.2, None, 0.9, 0.1]


def test_runs_have_their_means_as_the_main_table_and_few_pairs_above_it() -> None:
    result = clfeval.phidelta(RUNS, run="run")
    part = main(result)
    assert column_cells(part, "model") == ["E11", "C21"]
    assert part.signs == ("*", "")
    frame = pl.DataFrame(
        [(f"m{i}", run, 9 - i, 1, 1 + i, 9) for i in range(6) for run in "ab"],
        schema=["model", "run", "tp", "fp", "fn", "tn"],
        orient="row",
    )
    many = clfeval.phidelta(frame, run="run")  # fifteen pairs
    assert sort_tables(many).opened[0].rank == "main"
    assert "comparisons" in more_table_names(many, sort_tables(many), ())
    asked = clfeval.phidelta(frame, run="run", reference="m3")
    check_text(first_open(one).title for one in (result, many, asked))


def test_features_are_ranked_and_the_strongest_is_marked() -> None:
    frame = pl.DataFrame({"truth": [1, 1, 0, 0], "weak": [1, 0, 0, 0], "strong": [1, 1, 0, 0]})
    result = clfeval.phidelta(frame, features=True, positive=1)
    part = main(result)
    assert (column_cells(part, "feature"), part.signs) == (["strong", "weak"], ("*", ""))
    assert [one.name or one.table for one in sort_tables(result).folded] == ["implications"]
    selected = clfeval.phidelta(frame, features=True, positive=1, select=1)
    assert column_cells(main(selected), "feature") == ["strong"]
    assert [one.name or one.table for one in sort_tables(selected).folded] == [
        "implications",
        "features",
    ]


@pytest.mark.parametrize(
    "options", [{"reference": "svm", "prevalence": (0.01,)}, {"curve": True}, {"by": ("svm",)}]
)
def test_whatever_may_be_shown_has_a_name_to_ask_for_it(options: dict[str, Any]) -> None:
    result = cancer(SCORES if "curve" in options else LABELS, **options)
    names = page_of("phidelta").names
    shown = sort_tables(result, ("all",)).opened
    for one in shown:
        assert (one.name or one.table) in names
        text = as_text(result, names=(one.name or one.table,))
        assert layout_table(one, result).title in text
    held = {one.table for one in shown} | {"corners", "curve"}  # these are drawn
    assert held >= set(result.tables)


def test_every_measure_of_a_model_is_shown_where_all_is_asked_for() -> None:
    check_text(as_text(cancer(), names=("all",)))


def awkward(models: int = 6, rows: int = 60) -> pl.DataFrame:
    names = [*LONG, *(f"{LONG[0]} {i}" for i in range(6))][:models]
    columns = {
        name: [int((i * (j + 3)) % 7 < 3 or (i + j) % 5 == 0) for i in range(rows)]
        for j, name in enumerate(names)
    }
    return pl.DataFrame({"truth": [i % 2 for i in range(rows)], **columns})


def test_awkward_names_survive_and_rows_stay_rows() -> None:
    result = clfeval.phidelta(awkward(12), positive=1, truth="truth")
    piped, narrow = as_text(result), as_text(result, width=80)
    for name in LONG:
        assert name in piped
    assert len(narrow.splitlines()) <= 55
    table = narrow.split("\n\n")[1].splitlines()
    assert len(table[3:15]) == 12
    assert all("[" in line and "]" in line for line in table[3:15])  # the interval, on its row
    assert "\\[red\\]a \\| b\\[/red\\]" in "".join(markdown_lines(result))


def test_the_diamond_is_drawn_by_default_by_name_and_with_all_plots() -> None:
    result = cancer(prevalence=(0.1,))
    corner = " v\n"  # the lowest
    assert draw_plots(result, ()).count(corner) == 1
    assert "1:9" in draw_plots(result, ())  # what was asked for
    for names in (("diamond",), ("plots",), ("all",)):
        assert draw_plots(result, names).count(corner) == 2
