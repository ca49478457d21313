"""Features at the shell: files and pipes in and out, exit codes, and a silent stdout on errors."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from clfeval import phidelta
from tests.process.program import NEEDS_BASH, Done, clfeval, json_document, shell, write_files
from tests.results import four_cells
from tests.texts import check_text

PAGES = Path(__file__).parents[2] / "fixtures" / "manual-pages"
TERMS, CLASSES = str(PAGES / "terms.parquet"), str(PAGES / "classes.csv")
WIDE = "id,truth,f,g,x\n1,1,1,0,0.5\n2,1,1,1,2\n3,0,0,1,1\n4,0,1,0,0.25\n"
ENTRIES = "row,feature,value\n1,a,2\n2,a,1\n3,b,4\n"
BITS = "truth,f\n1,1\n0,1\n0,0\n"
OWNERS = "row,truth\n1,1\n2,0\n3,0\n4,1\n"


@pytest.fixture(autouse=True)
def input_files(folder: Path) -> None:
    write_files(folder, {"w.csv": WIDE, "s.csv": ENTRIES, "c.csv": OWNERS, "b.csv": BITS})


def features(*words: str) -> Done:
    return clfeval("phidelta", *words, "--features", "-q")


def rows_of_table(done: Done, table: str = "features") -> list[dict[str, Any]]:
    assert (done.code, done.err) == (0, "")
    rows: list[dict[str, Any]] = json_document(done)["tables"][table]
    return rows


def counts_by_feature(done: Done) -> dict[str, tuple[int, ...]]:
    return {row["feature"]: four_cells(row) for row in rows_of_table(done)}


def test_the_selected_features_are_saved_for_the_next_tool() -> None:
    done = phidelta(TERMS, features=True, truth_table=CLASSES, positive="function", select=5)
    done.save("features.csv")
    with open("features.csv", encoding="utf-8", newline="") as file:
        saved = list(csv.DictReader(file))
    entries, owners = pl.read_parquet(TERMS), pl.read_csv(CLASSES)
    vote = pl.when(pl.col("section") == "function").then(1).otherwise(-1)
    sections = entries.join(owners, on="doc").group_by("term").agg(delta=vote.sum() / 150)
    deltas = dict(sections.select("term", "delta").iter_rows())
    best = sorted(deltas, key=lambda term: (-abs(deltas[term]), term))[:5]
    assert len(saved) == 5
    assert {row["feature"] for row in saved} == set(best)
    for row in saved:
        assert float(row["delta"]) == pytest.approx(deltas[row["feature"]], abs=1e-15)
        assert float(row["delta_low"]) <= float(row["delta"]) <= float(row["delta_high"])
    assert [row["feature"] for row in done.tables["selected"]] == [row["feature"] for row in saved]


def test_a_selection_of_nothing_is_still_a_table() -> None:
    """The next tool finds the header, not an empty file."""
    phidelta("w.csv", features=True, select="all", phi_max=0.0001).save("none.csv")
    assert Path("none.csv").read_text(encoding="utf-8").startswith("feature,")


@NEEDS_BASH
def test_the_features_in_csv_are_read_by_anybody() -> None:
    done = shell("clfeval phidelta w.csv --features -q -f csv | head -1")
    columns = done.out.strip().split(",")
    assert columns[:2] == ["feature", "column"]
    assert {"delta", "delta_low", "delta_high", "delta_reason", "role", "support"} <= set(columns)


def test_packed_files() -> None:
    Path("s.csv.gz").write_bytes(gzip.compress(ENTRIES.encode()))
    Path("c.csv.gz").write_bytes(gzip.compress(OWNERS.encode()))
    result = phidelta("s.csv.gz", features=True, truth_table="c.csv.gz")
    cells = {row["feature"]: four_cells(row) for row in result.tables["features"]}
    assert cells == {"a": (1, 1, 1, 1), "b": (0, 1, 2, 1)}


def test_what_was_read_goes_to_stderr() -> None:
    done = clfeval("phidelta", "w.csv", "--features", "-f", "json")
    check_text(done.err)
    assert all(name in done.err for name in ("'truth'", "'id'", "'f', 'g'", "'x'"))


def test_a_feature_named_like_an_option() -> None:
    Path("o.csv").write_text("truth,--cut,median\n1,1,0\n0,0,1\n0,1,1\n", encoding="utf-8")
    assert counts_by_feature(features("o.csv", "-f", "json"))["--cut"] == (1, 1, 0, 1)
    assert "--cut" in features("o.csv").out


def test_a_feature_that_never_varies_is_no_crash() -> None:
    Path("k.csv").write_text("truth,k,f\n1,1,1\n0,1,0\n", encoding="utf-8")
    done = features("k.csv")
    assert done.code == 0
    (constant,) = [
        row for row in rows_of_table(features("k.csv", "-f", "json")) if row["feature"] == "k"
    ]
    assert constant["delta"]["reason"] == "constant_feature"


ERRORS: dict[str, tuple[list[str], int, str]] = {
    "a cut misspelt": (["w.csv", "--cut", "medain"], 2, "'median'"),
    "a cut that is nan": (["w.csv", "--cut", "nan"], 2, "--cut"),
    "a cut that is infinite": (["w.csv", "--cut", "inf"], 2, "--cut"),
    "a cut of bits": (["b.csv", "--cut", "best"], 2, "--cut"),
    "a number of features that is none": (["w.csv", "--select", "x"], 2, "--select 'x'"),
    "an option of classifiers": (["w.csv", "--curve"], 2, "--curve"),
    "another": (["w.csv", "--threshold", "0.5"], 2, "--threshold"),
    "an unknown class column": (["w.csv", "--truth", "truht"], 3, "'truth'"),
    "three classes": (["w.csv", "--truth", "id"], 3, "--positive"),
    "no class column": (["s.csv"], 3, "--truth-table"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_their_code_and_nothing_on_stdout(name: str) -> None:
    words, code, hint = ERRORS[name]
    done = features(*words)
    assert (done.code, done.out) == (code, "")
    assert hint in done.err
    check_text(done.err)


@pytest.mark.parametrize("words", [["--cut", "best"], ["--select", "all"]])
def test_options_of_features_without_features(words: list[str]) -> None:
    done = clfeval("phidelta", "w.csv", *words, "-q")
    assert (done.code, done.out, "--features" in done.err) == (2, "", True)
    check_text(done.err)
