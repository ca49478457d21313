"""Measures asked of any command are those of a report of the same table, to the last digit."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.errors import UsageError
from tests.process.program import clfeval as program
from tests.process.program import piped
from tests.results import Line, rows_of
from tests.samples import informed_scores
from tests.texts import check_text
from tests.thoroughness import thinned

REQUESTED = (
    "mcc",
    "f_beta:beta=2",
    "ppv_at:prevalence=.01",
    "acc",
    "roc_auc",
    "ks",
    "partial_auc",
    "brier",
    "net_benefit",
    "net_benefit@t:t=.2",
    "expected_cost:fp=1,fn=10",
)
COMMANDS = {"mars": clfeval.mars, "phidelta": clfeval.phidelta}


def scores_and_labels(rows: int = 60) -> pl.DataFrame:
    """Return two models with scores and one with labels, of two sites, in clusters, weighted."""
    dice = np.random.default_rng(4)
    truth = dice.random(rows) < 0.4
    a, b = (informed_scores(dice, truth, 0.3, 2) for _ in "ab")
    return pl.DataFrame(
        {
            "truth": truth.astype(int),
            "a": a,
            "b": b,
            "c": (dice.random(rows) < b).astype(int),
            "site": [f"s{i % 2}" for i in range(rows)],
            "who": [f"p{i // 4}" for i in range(rows)],
            "n": [1 + i % 3 for i in range(rows)],
        }
    )


def measure_rows(command: Any, table: Any, measures: Any, **options: Any) -> list[Line]:
    """Return the rows of the table `measures` of a command that is asked for measures."""
    return rows_of(command(table, measure=measures, **options), "measures")


LEFT = {"ignore": ["site", "who", "n"]}
ALL = {"model": ["a", "b", "c"]}


OPTIONS: list[dict[str, Any]] = [
    {**LEFT, **ALL},
    {**LEFT, **ALL, "interval": "none"},
    {"ignore": ["who"], **ALL, "by": "site", "weight": "n", "threshold": 0.4},
    {"ignore": ["site", "n"], "model": ["a", "b"], "cluster": "who", "level": 0.9},
    {**LEFT, "model": ["c"]},
]


@cache
def rows_of_report(place: int) -> list[Line]:
    """Return what a report with the options at this place says, computed once."""
    return measure_rows(clfeval.report, scores_and_labels(), REQUESTED, **OPTIONS[place])


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("options", thinned(OPTIONS, OPTIONS[2:4]))
def test_a_measure_is_that_of_the_report(name: str, options: dict[str, Any]) -> None:
    rows = measure_rows(COMMANDS[name], scores_and_labels(), REQUESTED, **options)
    ids = dict.fromkeys(row["measure"] for row in rows)
    assert len(ids) == len(REQUESTED)
    report_rows = rows_of_report(OPTIONS.index(options))
    order = {metric: i for i, metric in enumerate(ids)}
    models = {model: i for i, model in enumerate(options["model"])}
    slices = list(dict.fromkeys(row["slice"] for row in report_rows))
    expected = sorted(
        (row for row in report_rows if row["measure"] in ids),
        key=lambda row: (slices.index(row["slice"]), models[row["model"]], order[row["measure"]]),
    )
    assert rows == expected


def test_a_counts_table_has_the_measures_of_its_labels() -> None:
    counts = pl.DataFrame({"model": ["x"], "tp": [9], "fp": [2], "fn": [3], "tn": [20]})
    mcc, ks = measure_rows(clfeval.phidelta, counts, ["mcc", "ks"])
    # (9 20 - 2 3) / sqrt(11 12 22 23)
    assert mcc["value"].value == pytest.approx(174 / (11 * 12 * 22 * 23) ** 0.5)
    assert ks["value"].reason == "needs_scores"
    assert [mcc] == rows_of(clfeval.report(counts), "measures", measure="mcc")


@pytest.mark.parametrize("target", ["positive", "negative"])
def test_a_group_is_measured_as_the_one_model_it_is(target: str) -> None:
    """It finds what any member finds: of the negative class it is positive where all are."""
    frame = scores_and_labels().select(
        "truth", c=pl.col("c"), d=(pl.col("a") > 0.6).cast(int), e=(pl.col("b") > 0.6).cast(int)
    )
    rows = measure_rows(clfeval.mars, frame, "mcc", group={"g": ("c", "d")}, target=target)
    united = (pl.max_horizontal if target == "positive" else pl.min_horizontal)("c", "d")
    as_model = frame.select("truth", g=united, e=pl.col("e"))
    assert rows == measure_rows(clfeval.mars, as_model, "mcc", target=target)


def test_a_group_of_scored_models_has_no_score() -> None:
    frame = scores_and_labels().select("truth", "a", "b")
    rows = measure_rows(clfeval.mars, frame, "ks", group={"g": ("a",)})
    assert (rows[0]["model"], rows[0]["value"].reason) == ("g", "needs_scores")
    assert rows[1] == measure_rows(clfeval.mars, frame, "ks")[1]


def test_nothing_is_added_unasked_and_what_is_changes_no_other_table() -> None:
    frame = scores_and_labels().select("truth", "a", "b")
    for command in COMMANDS.values():
        plain = command(frame)
        extended = command(frame, measure="brier")
        assert "measures" not in plain.tables
        assert {**extended.tables, "measures": []} == {**plain.tables, "measures": []}
        assert "measures:brier" in extended.signature
        assert (
            extended.signature.split("|")[-2] != plain.signature.split("|")[-2]
        )  # other statistics
        assert command(frame, measure="mcc").signature.split("|")[-2] in plain.signature


def test_a_gate_judges_what_was_asked_for_and_tells_how_to_ask() -> None:
    text = scores_and_labels().select("truth", "a", "b").write_csv().encode()
    for command in COMMANDS:
        limit = ("--fail-under", "a:ks.low=0.99", "--fail-over", "f_beta=0")
        done = piped(text, command, "-", "--measure", "ks", "--measure", "f_beta:beta=2", *limit)
        assert done.code == 1
        assert "a: ks.low" in done.err
        assert "b: f_beta:beta=2" in done.err
        done = piped(text, command, "-", "--fail-under", "ks=0.1")
        assert done.code == 2
        assert "--measure ks" in done.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_name_is_refused_before_the_table_is_read(command: str) -> None:
    done = program(command, "no-such-table.csv", "--measure", "f2")
    assert (done.code, done.out) == (2, "")
    assert "'f_beta:beta=2'" in done.err


def test_runs_and_features_are_refused_with_the_reason() -> None:
    for options in ({"measure": "mcc", "run": "site", **ALL}, {"measure": "mcc", "features": True}):
        with pytest.raises(UsageError) as caught:
            clfeval.phidelta(scores_and_labels(), **options)
        assert str(caught.value).startswith("measure ")
        check_text(str(caught.value))
