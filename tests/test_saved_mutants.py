"""A saved result that somebody damaged: refused in words, or shown and compared in every form."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.api.result import shown
from clfeval.baseline.changes import Baseline
from clfeval.baseline.read import Earlier, read_result
from clfeval.errors import UsageError
from clfeval.result import Result
from tests.process.program import clfeval as program

VALUES: list[Any] = [None, "x", "", 3, -1.5, 0, True, [], {}, ["x"], {"x": 1}, 1e308, 10**400, -1]
Way = tuple[str | int, ...]


@cache
def results() -> dict[str, Result]:
    """Return a result of each command, and one with all methods beside it."""
    rng = np.random.default_rng(3)
    truth = rng.random(40) < 0.4
    scores = {m: np.round(truth * 0.3 + rng.random(40) * 0.7, 2) for m in ("rf", "svm")}
    table = pl.DataFrame({"id": np.arange(40), "truth": truth.astype(int), **scores})
    metrics = pl.DataFrame({"model": ["a", "b", "c"], "x": [0.1, 0.5, 0.7], "y": [0.3, 0.4, 0.5],
                            "z": [0.2, 0.9, 0.4]})  # fmt: skip
    sites = table.with_columns(site=pl.Series(["a", "b"] * 20))
    return {
        "report": clfeval.report(sites, id="id", by="site", reference="rf").check(
            fail_under={"roc_auc": 0.5}
        ),
        "mars": clfeval.mars(table, id="id"),
        "phidelta": clfeval.phidelta(table, id="id"),
        "tune-jpt": clfeval.tune_jpt(table, id="id", prevalence=0.1),
        "mlcps": clfeval.mlcps(metrics),
        "with": clfeval.report(table, id="id", methods=["all"]),
    }


def places(value: Any, path: Way = ()) -> Iterator[Way]:
    """Yield the way to each value of a document, to parts that hold others too."""
    if path:
        yield path
    many = [*value.items()] if isinstance(value, dict) else []
    for key, one in [*enumerate(value)] if isinstance(value, list) else many:
        yield from places(one, (*path, key))


def damaged(document: dict[str, Any], ways: list[Way], rng: random.Random) -> dict[str, Any]:
    """Return a document with one value replaced, or taken away."""
    found = copy.deepcopy(document)
    at: Any = found
    *way, last = rng.choice(ways)
    for key in way:
        at = at[key]
    how = rng.randrange(len(VALUES) + 1)
    if how < len(VALUES):
        at[last] = VALUES[how]
    else:
        del at[last]
    return found


def used(result: Result, whole: Result, folder: Path) -> None:
    """Show a result in every form, and put it beside another, both ways round."""
    assert str(result)
    shown(result, ["all"], width=80, digits=3)
    ends = ("json", "md", "html", "csv", *(["xml"] if result.gates else []))
    result.save(*(folder / f"r.{end}" for end in ends))
    for name in result.tables:
        result.frame(name)
    for one, other in ((whole, result), (result, whole)):
        assert Baseline.from_results(one, Earlier(other, "it")).shown(one).tables["comparisons"]


@pytest.mark.parametrize(
    ("command", "count"),
    [("phidelta", 12), ("mlcps", 12)] + [
        pytest.param(command, 500, marks=pytest.mark.slow)
        for command in ("report", "mars", "phidelta", "tune-jpt", "mlcps", "with")
    ],
)  # fmt: skip
def test_a_damaged_result_is_refused_in_words_or_is_one(
    command: str, count: int, tmp_path: Path
) -> None:
    document = json.loads(results()[command].to_json())
    whole, rng, refused = Result.from_dict(document), random.Random(11), 0
    used(whole, whole, tmp_path)
    ways, path = [*places(document)], tmp_path / "r.json"
    for _ in range(count):
        path.write_text(json.dumps(damaged(document, ways, rng)), encoding="utf-8")
        try:
            used(read_result(str(path), "a hint"), whole, tmp_path)
        except UsageError:  # of the settings it says it was made with, too
            refused += 1
    assert count / 4 < refused < count


DAMAGE = {
    "a cell": (("tables", "models", 0, "tp"), "3", "table 'models', row 1: 'tp' is '3'"),
    "a limit": (
        ("tables", "models", 0, "roc_auc", "low"), "x",
        "not a complete clfeval result: 'low' is 'x'"
    ),
    "limits the wrong way round": (
        ("tables", "models", 0, "roc_auc", "low"), 2.0,
        "table 'models', row 1: 'roc_auc' is Estimate"
    ),
    "a sentence": (("answer", 0, "text"), 1, "not a complete clfeval result: 'text' is 1"),
    "an infinite number": (("tables", "models", 0, "tp"), float("inf"), "holds Infinity, which is"),
    "the command": (("command",), "marz", "'marz' is no command"),
    "a parameter": (("parameters", "negative"), 4, "its parts do not fit together: TypeError"),
}  # fmt: skip


@pytest.mark.parametrize("how", DAMAGE)
def test_the_damage_is_named_where_a_result_is_read(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    way, value, said = DAMAGE[how]
    document = json.loads(results()["report"].to_json())
    at: Any = document
    for key in way[:-1]:
        at = at[key]
    at[way[-1]] = value
    Path("r.json").write_text(json.dumps(document), encoding="utf-8")
    results()["report"].save("good.json")
    shown = program("report", "--from-result", "r.json")
    assert (shown.code, shown.out) == (2, "")
    assert f"r.json: no usable result: {said}" in shown.err
    beside = program("report", "--from-result", "good.json", "--baseline", "r.json")
    assert (beside.code, beside.out) == (2, "")
    assert f"r.json: no usable baseline: {said}" in beside.err
