"""Whatever the table and the options, a report is a valid document that every view can show."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from clfeval.views.documents import markdown_lines
from clfeval.views.page import as_html
from clfeval.views.terminal import as_text
from tests.test_schema import wrong_with
from tests.texts import check_text
from tests.thoroughness import examples

HOW = ("exact", "wilson", "jeffreys", "agresti-coull", "bootstrap", "none")


@st.composite
def small_tables_with_options(draw: st.DrawFn) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Draw a small table of labels and scores with ties and ends, and options for it."""
    rows = draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    share = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    truth = (rng.random(rows) < share).astype(int)
    columns: dict[str, Any] = {"truth": truth, "a b": rng.integers(0, 2, rows)}
    kinds = draw(st.lists(st.sampled_from(["ties", "ends", "same", "fine"]), max_size=3))
    for i, kind in enumerate(kinds):
        columns[f"s{i}"] = {
            "ties": np.round(rng.random(rows), 1),
            "ends": rng.integers(0, 2, rows) * 1.0,
            "same": np.full(rows, 0.5),
            "fine": rng.random(rows),
        }[kind]
    models = [name for name in columns if name != "truth"]
    more: dict[str, Any] = {
        "model": models,
        "positive": "1",
        "classes": ["0", "1"],
        "interval": draw(st.sampled_from(HOW)),
        "resamples": 100,
    }
    if kinds:
        more["kind"] = None
        more["measure"] = draw(st.sampled_from([(), ("all",), ("ks", "net_benefit@t:t=0.3")]))
    if draw(st.booleans()):
        columns["site"] = rng.choice(["x", "[red]y"], rows)
        more["by"] = "site"
    if draw(st.booleans()):
        columns["patient"] = rng.integers(0, max(1, rows // 3), rows)
        more["cluster"] = "patient"
    if draw(st.booleans()):
        columns["n"] = rng.integers(1, 4, rows)
        more["weight"] = "n"
    return pl.DataFrame(columns), more


@examples(60)
@given(case=small_tables_with_options())
def test_it_is_valid_and_can_be_shown(case: tuple[pl.DataFrame, dict[str, Any]]) -> None:
    table, options = case
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = clfeval.report(table, **options)
    assert wrong_with(json.loads(result.to_json())) == []
    for shown in (as_text(result, width=80), "".join(markdown_lines(result)), as_html(result)):
        assert all(name.split()[0] in shown for name in options["model"])
    for row in result.tables["measures"]:
        value: Any = row["value"]
        if value.value is not None and value.low is not None and value.high is not None:
            assert value.low <= value.value <= value.high
            sure = options["interval"] in ("exact", "none") and value.low == value.high
            assert not sure, row


def test_without_intervals_the_best_is_still_named() -> None:
    table = pl.DataFrame(
        {"truth": [1, 0, 1, 0], "a": [0.9, 0.2, 0.4, 0.5], "b": [0.1, 0.2, 0.3, 0.4]}
    )
    result = clfeval.report(table, interval="none")
    assert result.answer[0].measure == "roc_auc"
    assert result.answer[0].models == ("a",)
    check_text(result.answer[0].text)


@pytest.mark.parametrize("how", HOW)
def test_the_same_seed_gives_the_same_bytes(how: str) -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(60) < 0.4).astype(int)
    table = pl.DataFrame({"truth": truth, "a": rng.random(60), "b": rng.random(60)})
    first, second = (
        clfeval.report(frame, interval=how, measure="ks", resamples=100).to_json()
        for frame in (table, table)
    )
    assert first == second
    turned = clfeval.report(table.reverse(), interval=how, measure="ks", resamples=100)
    assert json.loads(turned.to_json())["tables"] == json.loads(first)["tables"]
