"""A saved result that somebody damaged is refused in words, as a result and as a baseline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from tests.process.program import clfeval as program
from tests.samples import informed_scores
from tests.texts import check_text

DAMAGE: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "a limit": (("tables", "models", 0, "roc_auc", "low"), "x"),
    "a sentence": (("answer", 0, "text"), 1),
    "limits exchanged": (("tables", "models", 0, "roc_auc", "low"), 1.5),
    "a negative count": (("tables", "models", 0, "tp"), -1),
    "an unknown interval": (("parameters", "interval"), "x"),
    "an infinite number": (("tables", "models", 0, "tp"), float("inf")),
    "a table of words": (("tables", "later"), ["word"]),
    "a table of one number": (("tables", "later"), 5),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_the_damage_is_named_where_a_result_is_read(how: str, folder: Path) -> None:
    rng = np.random.default_rng(3)
    truth = rng.random(40) < 0.4
    scores = {name: informed_scores(rng, truth, 0.3, 2) for name in ("rf", "svm")}
    result = clfeval.report(pl.DataFrame({"truth": truth.astype(int), **scores}))
    way, value = DAMAGE[how]
    document = json.loads(result.to_json())
    at: Any = document
    for key in way[:-1]:
        at = at[key]
    at[way[-1]] = value
    Path("r.json").write_text(json.dumps(document), encoding="utf-8")
    result.save("good.json")
    shown = program("report", "r.json")
    assert (shown.code, shown.out) == (3, "")
    beside = program("report", "good.json", "--baseline", "r.json")
    assert (beside.code, beside.out) == (3, "")
    check_text([shown.err, beside.err])
    assert shown.err.startswith("r.json: ")


KEYS = ("positive", "negative", "level", "interval", "interval_methods", "totals", "missing", "by")


def sliced_document() -> dict[str, Any]:
    """Return the document of a report of two models and two sites, with a MARS analysis in it."""
    scores = [0.1, 0.8, 0.3, 0.6] * 15
    table = pl.DataFrame({"truth": [0, 1, 1] * 20, "site": ["x", "y"] * 30, "a": scores})
    result = clfeval.report(table.with_columns(b=1 - table["a"]), by="site", methods="mars")
    document: dict[str, Any] = json.loads(result.to_json())
    return document


@pytest.mark.parametrize(
    ("damage", "row", "missing"),
    [
        ("renamed", 0, "[1].snsitivity"),
        ("renamed", 2, "[2].sensitivity"),
        ("missing", 0, "[0].sensitivity"),
        ("missing", 2, "[2].sensitivity"),
        ("added", 0, "[1].f9"),
        ("added", 2, "[0].f9"),
    ],
)
def test_a_measure_that_one_row_lacks_is_refused(
    damage: str, row: int, missing: str, folder: Path
) -> None:
    """Which measures there are depends on the request, so that the schema requires none."""
    document = sliced_document()
    cells = document["tables"]["slices"][row]
    if damage == "added":
        cells["f9"] = cells["sensitivity"]
    else:
        cell = cells.pop("sensitivity")
        cells.update({"snsitivity": cell} if damage == "renamed" else {})
    Path("k.json").write_text(json.dumps(document), encoding="utf-8")
    done = program("report", "k.json")
    assert (done.code, done.out) == (3, "")
    assert f"'tables.slices{missing}' is missing" in done.err


def test_a_measure_that_a_row_of_another_method_lacks_is_refused(folder: Path) -> None:
    document = sliced_document()
    Path("k.json").write_text(json.dumps(document), encoding="utf-8")
    assert program("report", "k.json").code == 0
    cells = document["methods"]["mars"]["tables"]["models"][1]
    cells["f9"] = cells["shine_through"]
    Path("k.json").write_text(json.dumps(document), encoding="utf-8")
    done = program("report", "k.json")
    assert (done.code, done.out) == (3, "")
    assert "'methods.mars.tables.models[0].f9' is missing" in done.err


def test_columns_that_only_some_rows_have_are_read(folder: Path) -> None:
    """A slice of one class has no net benefit at another prevalence, and names none."""
    truth = [0, 1] * 30 + [0] * 20
    sites = ["x"] * 60 + ["y"] * 20
    table = pl.DataFrame({"truth": truth, "site": sites, "a": [0.2, 0.7, 0.4, 0.9] * 20})
    result = clfeval.report(table, by="site", prevalence=0.01, interval="none")
    assert len({frozenset(row) for row in result.tables["decision"]}) == 2
    result.save("k.json")
    done = program("report", "k.json", "-f", "json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["tables"] == json.loads(result.to_json())["tables"]


@pytest.mark.parametrize("place", ["parameters", "summary", "tables", "top"])
def test_a_result_without_a_key_is_read_or_refused_by_its_name(place: str, folder: Path) -> None:
    """Whatever key that is: what a screen needs is required."""
    clfeval.report(pl.DataFrame({"truth": [0, 1] * 9, "a": [0.1, 0.8, 0.3] * 6})).save("r.json")
    document = json.loads(Path("r.json").read_text())
    parent = document if place == "top" else document[place]
    required = {*KEYS} if place == "parameters" else set()
    for key in [*parent]:
        others = {other: value for other, value in parent.items() if other != key}
        changed = others if place == "top" else {**document, place: others}
        Path("k.json").write_text(json.dumps(changed), encoding="utf-8")
        done = program("report", "k.json", "--show", "all", "-q")
        name = key if place == "top" else f"{place}.{key}"
        if done.code:
            assert (done.code, done.out) == (3, ""), key
            assert key == "schema" or f"'{name}' is missing" in done.err, (key, done.err)
            required.discard(key)
    assert required == set()
