"""Measures asked of tune-jpt by name: any of a 2 x 2 table, and why others are not tuned."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.counts.scores import ScoreCounts
from clfeval.errors import UsageError
from clfeval.measures.catalog import CATALOG
from clfeval.measures.odds import JPT, TUNABLE
from clfeval.methods.curves import candidate_points, roc_points
from clfeval.methods.tune_jpt.options import parse_tuned_measures, tunable_measures
from tests.methods.tune_jpt.test_thresholds import best_of
from tests.results import row_of, rows_by, value_of
from tests.shell import at_shell
from tests.texts import check_text

COUNTS = (67, 5, 33, 95)  # 100 of each class
MORE = TUNABLE[len(JPT) :]


def tuned(**options: Any) -> Any:
    return clfeval.tune_jpt(counts=COUNTS, prevalence="1:50", sweep=None, **options)


def test_kappa_by_hand_as_counted_at_equal_classes_and_tuned() -> None:
    """At 1:50 the cells are .67, 5, .33 and 50 x .95 ... of 51: as .67 2.5 .33 47.5."""
    rows = rows_by(tuned(measure="kappa"), "models", "population")
    tables = {"sample": COUNTS, "1:1": (0.67, 0.05, 0.33, 0.95), "target": (0.67, 2.5, 0.33, 47.5)}
    for kind, (tp, fp, fn, tn) in tables.items():
        total = tp + fp + fn + tn
        agreed = (tp + tn) / total
        chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / total**2
        kappa = (agreed - chance) / (1 - chance)
        assert value_of(rows[kind]["kappa"]) == pytest.approx(kappa, rel=1e-12)


def test_as_counted_every_measure_is_that_of_the_report() -> None:
    rows = rows_by(clfeval.report(_counts(), measure="hard"), "measures", "measure")
    sample = row_of(tuned(measure="hard"), "models", population="sample")
    for name in MORE:
        assert sample[name] == rows[name]["value"], name


def _counts() -> Any:
    names = dict(zip(("tp", "fp", "fn", "tn"), COUNTS, strict=True))
    return pl.DataFrame({"model": ["model"], **{name: [n] for name, n in names.items()}})


@pytest.mark.parametrize(
    ("named", "plain"),
    [
        ({"measure": "f_beta:beta=2"}, {"measure": ["f_beta:beta=2", "f_beta"]}),
        (
            {"measure": ["expected_cost:fp=1,fn=10", "mcc"]},
            {"measure": ["cost:fp=1,fn=10", "expected_cost", "mcc"]},
        ),
        (
            {"measure": "expected_cost:fp=1,fn=10,tp=2"},
            {"measure": ["cost:fp=1,fn=10,tp=2,tn=0", "expected_cost"]},
        ),
    ],
)
def test_parameters_in_a_name_are_the_options_of_that_name(
    named: dict[str, Any], plain: dict[str, Any]
) -> None:
    assert json.loads(tuned(**named).to_json()) == json.loads(tuned(**plain).to_json())


def test_two_sets_of_numbers_are_one_too_many() -> None:
    for more in (
        {"measure": ["f_beta:beta=2", "f_odds:beta=3"]},
        {"measure": ["f_beta:beta=3", "f_beta:beta=2"]},
        {"measure": ["cost:fp=1,fn=10", "expected_cost:fp=1,fn=2"]},
    ):
        with pytest.raises(UsageError) as caught:
            tuned(**more)
        check_text(str(caught.value))


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("roc_auc", ""),
        ("ks", ""),
        ("average_precision", ""),
        ("brier", ""),
        ("ranking", ""),
        ("net_benefit@t:t=.1", "--measure net_benefit:fp=1,fn=9"),
        ("ppv_at:prevalence=.01", "ppv --prevalence 0.01"),
        ("prevalence", "--population N"),
        ("f2", "f_beta:beta=2"),
        ("mcc,kappa", "--measure mcc --measure kappa"),
        ("AUPRC", "--measure pr_auc"),
    ],
)
def test_what_is_not_tuned_says_why(name: str, typed: str) -> None:
    with pytest.raises(UsageError) as caught:
        at_shell(clfeval.tune_jpt)(counts=COUNTS, measure=name)
    assert typed in str(caught.value)
    check_text(str(caught.value))


def test_sets_hold_what_can_be_tuned_and_every_name_offered_is_taken() -> None:
    assert set(parse_tuned_measures("--measure", ["hard"])) >= {*MORE, "tar", "mcc"}
    assert parse_tuned_measures("--measure", ["all"]) == parse_tuned_measures("--measure", ["hard"])
    assert {*parse_tuned_measures("--measure", ["default", "kappa"])} - {*JPT} == {"kappa"}
    for name in tunable_measures().names:
        assert parse_tuned_measures("--measure", [name])


def test_the_best_of_all_thresholds_is_found_for_every_measure_but_one() -> None:
    """The geometric mean of the rates may be best off the hull: no threshold is chosen by it."""
    names = [name for name in MORE if CATALOG[name].best != "zero" and name != "g_mean"]
    formulas = {name: CATALOG[name].function for name in names}
    ratios = [0.001, 0.3, 1.0, 40.0]
    for seed in range(25):
        dice = np.random.default_rng(seed)
        positives, negatives = dice.integers(0, 6, (2, 12))
        positives[0], negatives[-1] = 1, 1
        if seed % 2:  # worse than chance
            positives, negatives = np.sort(positives)[::-1], np.sort(negatives)
        scores = ScoreCounts(np.arange(12.0), positives, negatives)
        of_hull, of_all = (
            best_of(points(scores), ratios, formulas) for points in (candidate_points, roc_points)
        )
        for name in names:
            np.testing.assert_allclose(of_hull[name][1], of_all[name][1], rtol=1e-12, atol=1e-15)
    frame = [{"truth": i % 2, "m": i / 9} for i in range(10)]
    tables = clfeval.tune_jpt(pl.DataFrame(frame), measure="g_mean", prevalence="1:9").tables
    assert "g_mean" in tables["models"][0]
    assert "g_mean" not in {row["measure"] for row in tables["thresholds"]}
