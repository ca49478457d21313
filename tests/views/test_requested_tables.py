"""What is asked for by name is shown in every view for people, or refused; never left out."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.errors import UsageError
from clfeval.views.documents import markdown_lines
from clfeval.views.page import as_html
from clfeval.views.table_layout import check_available, more_table_names, sort_tables
from tests.cli.golden import CANCER, METRICS, output_of
from tests.methods.phidelta.byhand import Cells, counts_frame
from tests.process.runner import run

LABELS = "fixtures/breast-cancer/labels.csv"


def marked(**options: object) -> Result:
    return clfeval.mars(LABELS, positive="malignant", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["curves", "cuts"])
def test_plots_that_are_not_there_are_refused(name: str) -> None:
    frame = counts_frame({"a": Cells(40, 10, 5, 45), "b": Cells(30, 10, 15, 45)})
    result = marked() if name == "curves" else clfeval.tune_jpt(frame, prevalence=[0.05])
    with pytest.raises(UsageError, match=f"'{name}'") as refused:
        check_available(result, [name])
    assert "'plots'" in str(refused.value)


def test_without_plots_none_are_offered_and_none_can_be_had() -> None:
    frame = counts_frame({"a": Cells(40, 10, 5, 45), "b": Cells(30, 10, 15, 45)})
    result = clfeval.tune_jpt(frame, prevalence=[0.05], sweep=None)
    assert "plots" not in more_table_names(result, sort_tables(result), ())
    with pytest.raises(UsageError, match="'plots'"):
        check_available(result, ["plots"])


def test_intervals_that_are_not_there_are_refused() -> None:
    result = clfeval.mlcps(METRICS)
    assert "intervals" not in more_table_names(result, sort_tables(result), ())
    with pytest.raises(UsageError, match="'intervals'"):
        check_available(result, ["intervals"])
    check_available(result, ["all", "ranks", "scatter"])


def test_markdown_has_the_plots_that_are_asked_for() -> None:
    lines = "".join(markdown_lines(marked(), names=["bars"]))
    _, block, _ = lines.split("```")
    assert block.startswith("text\n")
    assert "█" in block
    assert "```" not in "".join(markdown_lines(marked(), names=["pairs"]))


def test_no_name_ends_a_block_of_a_plot() -> None:
    frame = counts_frame({"````": Cells(40, 10, 5, 45), "b": Cells(30, 10, 15, 45)})
    result = clfeval.tune_jpt(frame, prevalence=[0.05])
    lines = "".join(markdown_lines(result, names=["curves"]))
    assert lines.count("\n`````") == 2


class Opened(HTMLParser):
    """Collects the titles of tables outside of what is folded."""

    def __init__(self) -> None:
        super().__init__()
        self.folded = 0
        self.tag = ""
        self.titles: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tag = tag
        self.folded += tag == "details"

    def handle_endtag(self, tag: str) -> None:
        self.tag = ""
        self.folded -= tag == "details"

    def handle_data(self, data: str) -> None:
        if self.tag == "h3" and not self.folded:
            self.titles.append(data)


def titles(names: tuple[str, ...]) -> list[str]:
    parser = Opened()
    parser.feed(as_html(marked(), names=names))
    return parser.titles


def test_a_page_opens_the_tables_that_are_asked_for() -> None:
    assert len(titles(())) == 1
    assert {*titles(("pairs",))} > {*titles(())}
    assert {*titles(("all",))} > {*titles(("pairs",))}


def test_what_people_ask_for_is_refused_where_none_of_it_would_show() -> None:
    done = run(["mars", *CANCER.split(), "--show", "pairs", "-f", "json"], b"", {})
    assert (done.code, done.out) == (2, "")
    assert "--show" in done.err


def test_all_has_the_plots_too_and_one_of_them_comes_alone() -> None:
    """Bars have ends of blocks that cells of a matrix have not."""
    whole, named, plain = (
        output_of(80, f"mars {CANCER}{show}") for show in (" --show all", " --show matrix", "")
    )
    assert whole.count("█") > named.count("█") > plain.count("█") == 0
