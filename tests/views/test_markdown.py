"""Markdown as others render it: names stay names, tables whole, and a comment holds the page."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import clfeval
from clfeval.document import Answer, InputFile
from clfeval.formatting import escape_control_characters
from clfeval.views.documents import (
    CLOSED,
    CUT,
    GAP,
    LONGEST,
    OPENED,
    ROWS,
    comment_marker,
    escape_markdown,
    markdown_lines,
    pieces_that_fit,
)
from tests.thoroughness import thinned

COMMENT = 65_536  # characters a comment on GitHub may have
# as GitHub renders: CommonMark with tables, strikethrough and links that nobody marked as such
RENDERER = MarkdownIt("commonmark", {"linkify": True}).enable(["table", "strikethrough", "linkify"])
NAMES = [
    "a|b",
    "`code`",
    "``",
    "<b>bold</b>",
    "<script>",
    "@someone",
    "me@example.org",
    "two\nlines",
    "cr\rlf\r\n",
    "🤖 forest",
    ":smile:",
    "#12",
    "GH-12",
    "https://example.org",
    "www.example.org",
    "[x](y)",
    "![x](y)",
    "*a* _b_ ~~c~~ **d**",
    "$x^2$",
    "&amp; &copy; &#124;",
    "back\\slash\\",
    "a\\|b",
    "1. first",
    "- item",
    "+ item",
    "---",
    "# head",
    "> quote",
    "<!-- comment -->",
    "</details>",
    "```",
    "~~~",
    "***",
    "=",
    "==",
    "-",
    "+",
    "1)",
    "[^1]",
    "[ ] task",
    "a\u200bb",
    "\x1b[31m",
    "\u202eright",
    "\ud800",
]
ALLOWED = {
    "p",
    "strong",
    "ul",
    "li",
    "blockquote",
    "code",
    "pre",
    "details",
    "summary",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
}
# what GitHub makes of text that is rendered already
MADE = re.compile(r"(?<!\w)@\w|#\d|\bGH-\d|:[\w+-]+:|://|(?<!\w)www\.", re.IGNORECASE)
RENDERER.linkify.set({"fuzzy_link": False})  # GitHub takes no bare name for a link, but www


class Page(HTMLParser):
    """Collects tags, the cells of each row of each table, and the text outside of code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.text = ""
        self.comments: list[str] = []
        self.open: list[str] = []
        self.feed(RENDERER.render(text))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & {*self.open}:
            self.tables[-1][-1][-1] += data
        if "code" not in self.open:
            self.text += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def visible_name(name: str) -> str:
    """Return what a reader sees of a name, white space aside."""
    return " ".join(escape_control_characters(name).replace(GAP, "").split())


def result_of(names: list[str]) -> clfeval.Result:
    votes = {f"{name}": [1, 0, i % 2, 1] for i, name in enumerate(names)}
    return clfeval.mars(pl.DataFrame({"truth": [1, 0, 1, 0], **votes}))


def page_of(result: clfeval.Result, **asked: object) -> Page:
    return Page("".join(markdown_lines(result, **asked)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "\ud800"], ids=repr)
def test_a_model_is_called_what_it_is_called(name: str) -> None:
    result = result_of([name, "other"])
    page = page_of(result, names=["all"])
    assert {*page.tags} <= ALLOWED
    main = next(table for table in page.tables if table[0][0] == "model")
    assert visible_name(name) in {" ".join(row[0].replace(GAP, "").split()) for row in main}
    for table in page.tables:
        assert len({len(row) for row in table}) == 1
    assert page.open == []
    assert not MADE.search(page.text), MADE.search(page.text)
    assert len(page.comments) == 1


@given(
    st.text(st.characters(codec=None), min_size=1) | st.lists(st.sampled_from(NAMES)).map("".join)
)
@example("-")
@example("1)")
@example("a\\")
@example("a-- ://x")
def test_any_text_is_one_paragraph_of_itself(text: str) -> None:
    text = text.strip()
    page = Page(escape_markdown(text))
    assert page.tags in ([], ["p"])
    assert " ".join(page.text.replace(GAP, "").split()) == visible_name(text)
    assert not MADE.search(page.text)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_any_text_is_one_cell(texts: list[str]) -> None:
    row = f"| {' | '.join(map(escape_markdown, texts))} |\n"
    page = Page(f"{row}|{'---|' * len(texts)}\n{row}")
    assert len(page.tables) == 1
    for cells in page.tables[0]:
        assert [" ".join(c.replace(GAP, "").split()) for c in cells] == [*map(visible_name, texts)]


def test_a_sentence_that_begins_like_a_list_is_a_sentence() -> None:
    said = tuple(Answer("one-model", f"{name} is best.") for name in ("1. rf", "- rf", "+ rf"))
    page = page_of(replace(result_of(["a"]), answer=said))
    assert "ol" not in page.tags
    for sentence in said:
        assert sentence.text in page.text


def test_the_marker_stands_first_and_is_of_names_and_settings_not_of_the_data() -> None:
    one = clfeval.mars("fixtures/mars-paper/wide.csv")
    text = "".join(markdown_lines(one))
    first = text.partition("\n")[0]
    assert f"{first}\n" == comment_marker(one)
    assert re.fullmatch(r"<!-- clfeval:mars [0-9a-f]{8} -->", first)
    assert text.count("<!--") == 1
    data = replace(one, signature=re.sub("(data|stats|clfeval):[^|]*", r"\1:x", one.signature))
    assert data.signature != one.signature
    assert comment_marker(data) == comment_marker(one)
    (file,) = one.inputs
    others = [
        clfeval.mars("fixtures/mars-paper/wide.csv", occlusion="any"),
        replace(one, command="phidelta"),
        replace(one, inputs=(InputFile("other.csv", file.sha256, file.rows),)),
    ]
    assert len({comment_marker(one), *map(comment_marker, others)}) == 4


def test_a_marker_ends_where_it_ends_whatever_a_file_is_called() -> None:
    named = replace(result_of(["a"]), inputs=(InputFile("--><b>\n", None, 4),))
    assert re.fullmatch(r"<!-- clfeval:mars [0-9a-f]{8} -->\n", comment_marker(named))


def test_results_beside_have_no_marker_of_their_own() -> None:
    scores = "fixtures/breast-cancer/scores.csv"
    models = ["svm", "tree"]
    result = clfeval.report(scores, positive="malignant", model=models, methods="all")
    assert "".join(markdown_lines(result)).count("<!--") == 1


def many(models: int, name: str = "model number") -> clfeval.Result:
    table = {"truth": [i % 2 for i in range(40)]}
    for k in range(models):
        table[f"{name} {k} @team"] = [(i * (k + 3)) % 7 % 2 for i in range(40)]
    return clfeval.mars(pl.DataFrame(table))


@pytest.mark.parametrize("models", thinned([2, 60, 61, 400], [2, 60, 61]))
def test_a_comment_holds_the_page_and_says_where_the_rest_is(models: int) -> None:
    result = many(models).check(fail_under={"recall": 0.5})
    text = "".join(markdown_lines(result, names=["all"]))
    assert len(text) <= LONGEST < COMMENT
    page = Page(text)
    assert page.open == []
    for table in page.tables:
        assert len({len(row) for row in table}) == 1
        assert len(table) - 1 <= ROWS
    assert len(page.tables[0]) - 1 == min(models, ROWS)
    if models > ROWS:
        assert f"{models - ROWS:,}" in page.text
        assert "result.frame()" in page.text


@pytest.mark.usefixtures("long_names")
def test_what_is_folded_gives_way_first_and_the_signature_stays() -> None:
    result = many(60, name="of a long name " * 12)
    text = "".join(markdown_lines(result))
    assert LONGEST - 1000 < len(text) <= LONGEST
    assert CUT in text
    assert text.index(OPENED) < text.index(CUT) < text.index(CLOSED)
    assert f"`{result.signature}`" in text


@given(
    st.lists(st.integers(1, 30), max_size=12),
    st.lists(st.integers(1, 30), max_size=12),
    st.lists(st.integers(1, 30), max_size=6),
    st.integers(300, 700),
)
def test_pieces_are_whole_and_together_no_longer_than_asked(
    before: list[int], folded: list[int], after: list[int], most: int
) -> None:
    def made(letter: str, sizes: list[int]) -> list[str]:
        return [letter * size + "\n" for size in sizes]

    pieces = [*made("b", before), OPENED, *made("f", folded), CLOSED, *made("a", after)]
    kept = list(pieces_that_fit(pieces, most))
    assert sum(map(len, kept)) <= most
    assert (kept == pieces) or CUT in kept
    left = [piece for piece in kept if piece != CUT]
    rest = iter(pieces)
    assert all(piece in rest for piece in left)  # in order, none changed
    assert kept.count(OPENED) == kept.count(CLOSED) == 1
    outside = [*made("b", before), *made("a", after)]
    if sum(map(len, outside)) + len(OPENED) + len(CLOSED) + 2 * len(CUT) <= most:
        assert [piece for piece in kept if piece[0] in "ab"] == outside


@given(st.text("`x|", max_size=30))
def test_no_plot_ends_its_fence(text: str) -> None:
    from clfeval.views.documents import _backtick_fence

    fence = _backtick_fence(text, 3)
    tokens = RENDERER.parse(f"{fence}text\n{text}\n{fence}\n\nafter\n")
    assert tokens[0].type == "fence"
    assert tokens[0].content == f"{text}\n"
