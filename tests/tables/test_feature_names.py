"""Names and categories that trouble shells, CSV, globs, markup and format strings."""

from __future__ import annotations

import csv
import io
import json

import polars as pl
import pytest

from clfeval.tables.feature import FeatureTable
from clfeval.views.documents import csv_lines, markdown_lines
from tests.methods.features.door import FEATURES, cells_of, features
from tests.results import four_cells
from tests.tables.door import encoded, spots, write

NAMES = [
    "a b",
    " a",
    "truth ",
    "[x]",
    "[red]",
    "[/x]",
    "it's",
    '"q"',
    "x,y",
    "x;y",
    "new\nline",
    "🙂",
    "é",
    "--truth",
    "--select",
    "-f",
    "median",
    "truth=1",
    "a=b",
    "{x}",
    "{}",
    "%s",
    "a*",
    "?",
    "[0-9]",
    "^a",
    "a$",
    "|",
    "<b>",
    "\\",
    "\t",
    "1",
    "all:a",
    "nan",
    "Truth",
    "value",
    "count",
]
BITS = {n: [1, int(i % 2), int(i % 3 == 0), int(i % 5 == 0)] for i, n in enumerate(NAMES)}
FRAME = pl.DataFrame({"truth": [1, 1, 0, 0]} | BITS)
EXPECTED = {
    name: (sum(bits[:2]), sum(bits[2:]), 2 - sum(bits[:2]), 2 - sum(bits[2:]))
    for name, bits in BITS.items()
}
ROWS = [("1", 1), ("2", 1), ("3", 0), ("4", 0)]
ENTRIES = pl.DataFrame(
    [(row, name, truth) for i, (row, truth) in enumerate(ROWS) for name in NAMES if BITS[name][i]],
    schema=["row", "feature", "truth"],
    orient="row",
)


@pytest.mark.parametrize("how", ["csv", "tsv", "parquet", "ndjson", "arrow"])
def test_files_keep_every_name(how: str) -> None:
    assert cells_of(write(f"t.{how}", encoded(FRAME, how)), truth="truth") == EXPECTED
    assert cells_of(write(f"e.{how}", encoded(ENTRIES, how))) == EXPECTED


def test_frames_keep_every_name() -> None:
    assert cells_of(FRAME) == EXPECTED
    assert cells_of(FRAME.to_pandas()) == EXPECTED
    assert cells_of(FRAME.to_arrow()) == EXPECTED


@pytest.mark.parametrize("name", NAMES)
def test_a_feature_is_chosen_by_its_name(name: str) -> None:
    """A name that is also a glob means itself."""
    assert cells_of(FRAME, feature=name) == {name: EXPECTED[name]}
    assert cells_of(ENTRIES, feature=[name]) == {name: EXPECTED[name]}


def test_a_glob_chooses_several() -> None:
    assert set(cells_of(FRAME, feature="--*")) == {"--truth", "--select"}
    assert set(cells_of(ENTRIES, feature=["x?y", "[[]x]"])) == {"x,y", "x;y", "[x]"}


def test_the_order_asked_for_does_not_matter_and_twice_is_once() -> None:
    one, other = (
        features(FRAME, feature=names).tables["features"]
        for names in (["a b", "é"], ["é", "a b", "a b"])
    )
    assert list(one) == list(other)


def test_the_class_may_have_any_name() -> None:
    for name in NAMES:
        frame = pl.DataFrame({name: [1, 1, 0, 0], "feat": [1, 0, 1, 0]})
        assert cells_of(frame, truth=name) == {"feat": (1, 1, 1, 1)}


CATEGORIES = [name for name in NAMES if name not in ("1", "nan")]


@pytest.mark.parametrize("how", ["csv", "parquet"])
def test_categories_keep_every_text(how: str) -> None:
    texts = CATEGORIES + CATEGORIES[::-1]
    frame = pl.DataFrame({"truth": [i % 2 for i in range(len(texts))], "c": texts})
    expected = {}
    for text in CATEGORIES:
        tp = sum(t == text and i % 2 for i, t in enumerate(texts))
        fp = texts.count(text) - tp
        half = len(texts) // 2
        expected[f"c={text}"] = (tp, fp, half - tp, half - fp)
    assert cells_of(write(f"t.{how}", encoded(frame, how))) == expected


def test_the_class_itself_may_be_any_text() -> None:
    for text in CATEGORIES:
        frame = pl.DataFrame({"truth": [text, text, "other"], "f": [1, 0, 1]})
        assert cells_of(frame, positive=text) == {"f": (1, 1, 1, 0)}


def test_views_lose_no_name() -> None:
    result = features(FRAME, select="all", delta_min=1.0)
    document = json.loads(result.to_json())
    assert {row["feature"] for row in document["tables"]["features"]} == set(NAMES)
    table = list(csv.DictReader(io.StringIO("".join(csv_lines(result, "features")), newline="")))
    assert {row["feature"] for row in table} == set(NAMES)
    shown = ["[red]", "[/x]", "{x}", "--select", "it's", "%s"]
    few = features(FRAME, feature=shown)  # a screen lists the first twenty
    text, markdown = str(few), "".join(markdown_lines(few))
    for name in shown:
        assert name in text
        assert name in markdown.replace("\\", "")


@pytest.mark.parametrize("name", ["gen 1", "GENE 1", "--selectt", "truht "])
def test_an_unknown_feature_gets_a_suggestion(name: str) -> None:
    frame = pl.DataFrame({"truth": [1, 0], "gene 1": [1, 0], "--select": [0, 1], "truth ": [0, 0]})
    near = {"--selectt": "--select", "truht ": "truth "}.get(name, "gene 1")
    error = FEATURES.refusal(frame, feature=name)
    assert spots(error) == "unknown-feature"
    assert f"'{near}'" in (error.hint or "")


def test_names_that_are_patterns_unknown_or_twice_are_refused() -> None:
    assert FEATURES.told("truth,^a$\n1,1\n0,0\n") == "1 bad-column-name"
    assert FEATURES.told("truth,a,a\n1,1,1\n0,0,0\n") == "1 duplicate-column"
    entries = ENTRIES.filter(pl.col("feature") != "é")
    assert FEATURES.told(entries, exit_code=2, feature="it s") == "unknown-feature"


@pytest.mark.parametrize("other", ["Truth", "truth ", "TRUTH", " truth"])
def test_the_class_column_is_the_one_of_exactly_that_name(other: str) -> None:
    """Wherever it stands: a column that is only alike is a feature."""
    frame = pl.DataFrame({other: [0, 1, 1], "truth": [1, 0, 0]})
    assert cells_of(frame) == {other: (0, 2, 1, 0)}
    assert cells_of(frame.select("truth", other)) == {other: (0, 2, 1, 0)}


def test_many_columns_of_ndjson_keep_the_order_of_the_file() -> None:
    """Nothing that is said or printed may change from one run to the next."""
    frame = pl.DataFrame({"truth": [1, 0]} | {f"f{i}": [i % 2, 1] for i in range(60)})
    seen: list[FeatureTable] = []
    features(write("t.ndjson", encoded(frame, "ndjson")), on_open=seen.append)
    assert list(seen[0].kinds or {}) == frame.columns[1:]


def test_two_columns_whose_categories_spell_alike_stay_apart() -> None:
    """Column `a` holds `b=c`, column `a=b` holds `c`: both are `a=b=c`."""
    frame = pl.DataFrame({"truth": [1, 0], "a": ["b=c", "x"], "a=b": ["y", "c"]})
    rows = [dict(row) for row in features(frame).tables["features"]]
    assert {(row["column"], row["feature"]): four_cells(row) for row in rows} == {
        ("a", "a=b=c"): (1, 0, 0, 1),
        ("a", "a=x"): (0, 1, 1, 0),
        ("a=b", "a=b=y"): (1, 0, 0, 1),
        ("a=b", "a=b=c"): (0, 1, 1, 0),
    }
