"""Chosen thresholds: at the prevalence asked, in force below, and what follows for 1,000 people."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clfeval
from clfeval.arrays import Floats
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.sample import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.document.cells import Estimate, Row
from clfeval.errors import UsageError
from clfeval.methods.curves import roc_points
from clfeval.methods.report import answer as report_sentences
from clfeval.methods.report.answer import helpful_ranges
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.report.rules_at_prevalence import rules_in_force
from clfeval.methods.report.threshold_consequences import consequence_answer
from clfeval.methods.report.thresholds import threshold_tables
from clfeval.tables.input import InputOptions
from tests.results import Line, row_of, rows_by, rows_of, warning_messages
from tests.samples import logistic

CANCER = Path(__file__).parents[3] / "fixtures" / "breast-cancer" / "scores.csv"


def rates_by_threshold() -> list[tuple[float, float, float]]:
    """Threshold, sensitivity and 1 - specificity of logreg at each of its scores, by counting."""
    table = pl.read_csv(CANCER)
    scores, ill = table["logreg"].to_numpy(), (table["truth"] == "malignant").to_numpy()
    return [
        (t, (scores[ill] >= t).mean(), (scores[~ill] >= t).mean())
        for t in sorted(set(scores.tolist()))
    ]


def report_of_logreg(**options: Any) -> Any:
    options = {"positive": "malignant", "model": ["logreg"], **options}
    return clfeval.report(CANCER, **options)


def first_cutoff(result: Any) -> Line:
    """Return the row of the first chosen threshold of the whole table."""
    return rows_of(result, "cutoffs")[0]


def number(cell: Any) -> float:
    """Return a number, or the value of an estimate that is defined."""
    value = cell.value if isinstance(cell, Estimate) else cell
    assert value is not None
    return float(value)


@pytest.mark.parametrize("prevalence", [0.01, 0.1, 0.6])
def test_a_limit_on_ppv_holds_at_the_requested_prevalence(prevalence: float) -> None:
    pi = prevalence
    best = max(
        (
            (sens, -fpr, t)
            for t, sens, fpr in rates_by_threshold()
            # Bayes' rule
            if sens * pi / (sens * pi + fpr * (1 - pi)) >= 0.3
        )
    )
    row = first_cutoff(report_of_logreg(best_threshold="ppv>=.3", prevalence=pi))
    assert row["threshold"] == best[2]
    assert row["population"] == "target"
    assert number(row["prevalence"]) == pytest.approx(pi)
    sens, spec = (number(row[name]) for name in ("sensitivity", "specificity"))
    # the predictive values are those of the rates expected on new data, by Bayes' rule
    assert number(row["precision"]) == pytest.approx(
        sens * pi / (sens * pi + (1 - spec) * (1 - pi)), rel=1e-9
    )
    assert number(row["npv"]) == pytest.approx(
        spec * (1 - pi) / (spec * (1 - pi) + (1 - sens) * pi), rel=1e-9
    )
    assert number(row["flagged"]) == pytest.approx(sens * pi + (1 - spec) * (1 - pi), rel=1e-9)


@pytest.mark.parametrize(
    ("rule", "loss"),
    [
        ("cost:fp=1,fn=10", lambda sens, fpr, pi: 10 * pi * (1 - sens) + (1 - pi) * fpr),
        ("net_benefit:t=0.2", lambda sens, fpr, pi: -(pi * sens - (1 - pi) * fpr * 0.2 / 0.8)),
    ],
)
def test_costs_and_net_benefit_choose_at_the_requested_prevalence(rule: str, loss: Any) -> None:
    pi = 0.01
    row = first_cutoff(report_of_logreg(best_threshold=rule, prevalence=pi))
    losses = {t: loss(sens, fpr, pi) for t, sens, fpr in rates_by_threshold()}
    assert losses[row["threshold"]] == pytest.approx(min(losses.values()), abs=1e-12)
    assert abs(number(row["value"])) == pytest.approx(abs(min(losses.values())), rel=1e-9)
    at_sample = first_cutoff(report_of_logreg(best_threshold=rule))
    assert at_sample["threshold"] != row["threshold"]
    assert number(at_sample["prevalence"]) == pytest.approx(106 / 285)


def test_rules_that_depend_on_the_prevalence_need_one() -> None:
    with pytest.raises(UsageError) as error:
        report_of_logreg(best_threshold="ppv>=.3", prevalence="0.01..0.1")
    assert "depends on the prevalence" in str(error.value)
    assert error.value.hint == "give one prevalence per run"
    kept = report_of_logreg(best_threshold="sens>=.95", prevalence="0.01..0.1")
    assert first_cutoff(kept)["population"] == "sample"


def test_every_sentence_names_its_prevalence() -> None:
    result = report_of_logreg(best_threshold="ppv>=.3", prevalence=0.01)
    for answer in result.answer:
        if answer.code != "best":  # ROC AUC does not depend on it
            assert answer.text.startswith(("At prevalence 0.01 (1:99)", "At the prevalence of"))


def test_the_decision_curve_holds_at_the_requested_prevalence() -> None:
    pi = 0.1
    by_threshold = pl.read_csv(CANCER)
    scores, ill = by_threshold["logreg"].to_numpy(), (by_threshold["truth"] == "malignant")
    for row in report_of_logreg(prevalence=pi).tables["decision"]:
        t = float(str(row["threshold"]))
        odds = t / (1 - t)
        called = scores >= t
        sens, fpr = called[ill.to_numpy()].mean(), called[~ill.to_numpy()].mean()
        benefit = pi * sens - (1 - pi) * fpr * odds
        treat_all = pi - (1 - pi) * odds
        assert number(row["prevalence"]) == pi
        assert number(row["flagged"]) == pytest.approx(called.mean())
        assert number(row["net_benefit"]) == pytest.approx(benefit, abs=1e-12)
        assert number(row["treat_all"]) == pytest.approx(treat_all, abs=1e-12)
        assert number(row["gain"]) == pytest.approx(benefit - max(treat_all, 0), abs=1e-12)
    assert "prevalence" not in next(iter(report_of_logreg().tables["decision"]))


def test_a_curve_at_the_prevalence_of_the_rows_has_their_values() -> None:
    same = report_of_logreg(prevalence=106 / 285).tables["decision"]
    for row, own in zip(same, report_of_logreg().tables["decision"], strict=True):
        assert number(row["net_benefit"]) == pytest.approx(number(own["net_benefit"]), abs=1e-9)
        assert number(row["gain"]) == pytest.approx(number(own["gain"]), abs=1e-9)


def test_tables_below_use_the_chosen_threshold() -> None:
    result = report_of_logreg(best_threshold="sens>=.95")
    threshold = first_cutoff(result)["threshold"]
    row = row_of(result, "models")
    sens, fpr = next((s, f) for t, s, f in rates_by_threshold() if t == threshold)
    assert row["threshold"] == threshold
    assert number(row["sensitivity"]) == pytest.approx(sens)
    assert number(row["specificity"]) == pytest.approx(1 - fpr)
    cell = row_of(result, "confusion", truth="malignant", predicted="malignant")
    assert cell["rows"] == pytest.approx(106 * sens)
    assert "chosen by sensitivity>=0.95" in str(result)


def test_a_given_threshold_wins_over_a_rule() -> None:
    result = clfeval.report(
        CANCER,
        positive="malignant",
        model=["logreg", "svm"],
        threshold={"logreg": 0.7},
        best_threshold="sens>=.95",
    )
    models, cutoffs = (rows_by(result, table, "model") for table in ("models", "cutoffs"))
    assert models["logreg"]["threshold"] == 0.7 != cutoffs["logreg"]["threshold"]
    assert models["svm"]["threshold"] == cutoffs["svm"]["threshold"]


def test_counts_of_a_file_say_which_threshold_to_count_again(tmp_path: Path) -> None:
    path = tmp_path / "cancer.counts.parquet"
    clfeval.count(CANCER, positive="malignant", model=["logreg"]).save(path)
    result = clfeval.report(path, best_threshold="sens>=.95")
    threshold = first_cutoff(result)["threshold"]
    (note,) = warning_messages(result, "threshold-not-applied")
    assert note.endswith(f"count again with threshold={{'logreg': {threshold!r}}}")
    assert row_of(result, "models")["threshold"] == 0.5


def consequence(**cells: Any) -> str:
    """The sentence on a threshold with given rates at a prevalence, written out here."""
    pi, sens, spec = cells["prevalence"], cells["sensitivity"], cells["specificity"]
    flagged = sens * pi + (1 - spec) * (1 - pi)
    row: Row = {
        "model": "m",
        "population": "target",
        "prevalence": pi,
        "odds": f"1:{round(1 / pi) - 1}",
        "sensitivity": Estimate(sens),
        "ppv": Estimate(sens * pi / flagged),
        "alarms": Estimate(1000 * flagged),
        "alarms_per_case": Estimate(flagged / (sens * pi)),
        "net_benefit": cells.get("net_benefit", Estimate(None)),
        "gain": cells.get("gain", Estimate(None)),
    }
    return consequence_answer(row).text


def test_the_sentence_counts_people_flagged_and_cases_detected() -> None:
    # 10 of 1,000 are ill, 9 of them flagged, and 272 of 990 others: 281 / 9 = 31.2 alarms per case
    below = Estimate(-0.03, -0.04, -0.02)
    assert consequence(
        prevalence=0.01, sensitivity=0.9, specificity=1 - 272 / 990, net_benefit=below, gain=below
    ) == (
        "At prevalence 0.01 (1:99), of 1,000 people 281 are flagged and 9 of the 10 positives are "
        "detected: 31 alarms per case; the net benefit is significantly below treat-none."
    )
    # 50 of 10,000 are ill: of 1,000 that would be 5
    assert consequence(prevalence=0.005, sensitivity=0.8, specificity=0.99) == (
        "At prevalence 0.005 (1:199), of 10,000 people 140 are flagged and 40 of the 50 positives "
        "are detected: 3.5 alarms per case."
    )


@pytest.mark.parametrize(
    ("benefit", "gain", "verdict"),
    [
        ((0.2, 0.1, 0.3), (0.2, 0.1, 0.3), "significantly exceeds treat-all and treat-none"),
        ((0.2, 0.1, 0.3), (0.05, -0.1, 0.1), "is not significantly different from treat-all"),
        ((0.2, 0.1, 0.3), (-0.05, -0.1, -0.01), "is significantly below treat-all"),
        ((0.01, -0.1, 0.3), (0.01, -0.1, 0.3), "is not significantly different from treat-none"),
        ((-0.1, -0.2, -0.05), (-0.1, -0.2, -0.05), "is significantly below treat-none"),
    ],
)
def test_the_net_benefit_is_compared_with_both_defaults(
    benefit: tuple[float, ...], gain: tuple[float, ...], verdict: str
) -> None:
    text = consequence(
        prevalence=0.3,
        sensitivity=0.9,
        specificity=0.9,
        net_benefit=Estimate(*benefit),
        gain=Estimate(*gain),
    )
    assert text.endswith(f"; the net benefit {verdict}.")


def test_gain_is_net_benefit_less_the_larger_default() -> None:
    result = report_of_logreg(best_threshold="sens>=.95", prevalence=[0.01, 0.6])
    for row in result.tables["at_prevalence"]:
        pi, t = float(str(row["prevalence"])), float(str(row["threshold"]))
        sens, spec, odds = (number(row["sensitivity"]), number(row["specificity"]), t / (1 - t))
        benefit = sens * pi - (1 - spec) * (1 - pi) * odds
        assert number(row["net_benefit"]) == pytest.approx(benefit, abs=1e-9)
        default = max(pi - (1 - pi) * odds, 0.0)
        assert number(row["gain"]) == pytest.approx(benefit - default, abs=1e-9)


def curve(helps: str, flagged: list[int]) -> list[Row]:
    """Rows of a decision curve at consecutive hundredths: y where the model helps."""
    return [
        {"threshold": (i + 1) / 100, "helps": sign == "y", "flagged": rows / 100}
        for i, (sign, rows) in enumerate(zip(helps, flagged, strict=True))
    ]


def test_gaps_of_fewer_than_five_rows_are_no_gaps() -> None:
    # 4 rows have a score of 0.02 up to 0.04
    assert helpful_ranges(curve("yynyy", [50, 40, 37, 36, 30]), 100) == [(0.01, 0.05)]
    # 5 rows do
    assert helpful_ranges(curve("yynyy", [50, 40, 37, 35, 30]), 100) == [(0.01, 0.02), (0.04, 0.05)]
    assert helpful_ranges(curve("nnn", [3, 2, 1]), 100) == []


def gap_table() -> pl.DataFrame:
    """Scores 0.2 of 40 negatives, 0.45 of 3 rows, 0.8 of 37 positives."""
    truth = [0] * 40 + [1, 0, 0] + [1] * 37
    return pl.DataFrame({"truth": truth, "m": [0.2] * 40 + [0.45] * 3 + [0.8] * 37})


@pytest.mark.parametrize(
    ("columns", "options", "rows_at_gap"),
    [
        ({}, {}, 3),
        ({"w": [1.5] * 80}, {"weight": "w"}, 3),
        # a share of 45 / 160.5 = 0.28 of (160.5)² / (77 · 2.25 + 3 · 225) = 30.4 effective rows
        ({"w": [1.5] * 40 + [15.0] * 3 + [1.5] * 37}, {"weight": "w"}, 45 * 160.5 / 848.25),
        ({"w": [2] * 80}, {"weight": "w"}, 6),
        ({"g": [*range(80)]}, {"cluster": "g"}, 3),
    ],
)
def test_gaps_between_thresholds_are_measured_in_rows(
    columns: dict[str, list[float]], options: dict[str, Any], rows_at_gap: float
) -> None:
    table = gap_table().with_columns(**{k: pl.Series(v) for k, v in columns.items()})
    with patch.object(report_sentences, "helpful_ranges", return_value=[]) as ranges:
        clfeval.report(table, **options)
    (rows, sample_size), _ = ranges.call_args
    flagged = {row["threshold"]: float(str(row["flagged"])) for row in rows}
    assert sample_size * (flagged[0.4] - flagged[0.5]) == pytest.approx(rows_at_gap)


def binormal_table(rng: np.random.Generator, positives: int, negatives: int, d: float) -> Any:
    """Scores of two normal classes, d standard deviations apart, as probabilities."""
    z = np.concatenate([rng.normal(d, 1, positives), rng.normal(0, 1, negatives)])
    base = np.log(positives / negatives)
    p = logistic(d * z - d * d / 2 + base, 6)
    return p, np.arange(len(z)) < positives


def score_counts(p: Floats, truth: Any) -> ScoreCounts:
    """The counts of scores by class."""
    scores, place = np.unique(p, return_inverse=True)
    sides = (np.bincount(place, side, len(scores)).astype(np.int64) for side in (truth, ~truth))
    return ScoreCounts(scores, *sides)


def test_a_threshold_that_fails_at_the_target_prevalence_only_is_replaced() -> None:
    """PPV of at least 0.3 holds at the 30 % of the rows, and not at 1 %: in 200 of 200 tables."""
    rng, replaced, faults = np.random.default_rng(58), 0, 0
    rules = {
        target: rules_in_force(
            ReportOptions(best_threshold=("ppv>=.3",), prevalence=(0.01,) if target else ())
        )
        for target in (False, True)
    }
    while faults < 200:
        p, truth = binormal_table(rng, 90, 210, 2.0)
        points = roc_points(score_counts(p, truth))
        ppv = {}
        for target, (rule,) in rules.items():
            place = int(rule.places(points.tp, points.fp))
            sens, fpr = points.tp[place] / 90, points.fp[place] / 210
            ppv[target] = sens * 0.01 / (sens * 0.01 + fpr * 0.99) if place >= 0 else None
        if ppv[False] is None or ppv[False] >= 0.3:
            continue
        faults += 1
        replaced += ppv[True] is None or ppv[True] >= 0.3
    assert replaced >= 180


def claims_net_benefit(p: Floats, truth: Any, pi: float, rule: str) -> tuple[bool, float, float]:
    """Whether the sentence claims a higher net benefit; and the threshold, and its odds."""
    counts = score_counts(p, truth)
    cells = [[int(truth.sum()), int((~truth).sum()), 0, 0]]
    sample = Sample.from_confusions(
        {None: ConfusionCounts.from_cells(["m"], cells)}, [], InputOptions()
    )
    options = ReportOptions(best_threshold=(rule,), prevalence=(pi,))
    tables = dict(threshold_tables(None, "m", counts, sample, options))
    rows = tables.get("at_prevalence", [])
    if not rows or rows[0]["threshold"] is None:
        return False, 1.0, 1.0
    t = float(str(rows[0]["threshold"]))
    return "exceeds treat-all" in consequence_answer(rows[0]).text, t, t / (1 - t) if t < 1 else 1.0


@pytest.mark.slow
@pytest.mark.parametrize("d", [0.0, 0.5])
def test_net_benefit_claims_are_false_in_at_most_five_percent(d: float) -> None:
    """2,000 tables; the truth is that of the normal distributions at the chosen threshold."""
    rng, false, tables, pi = np.random.default_rng(580), 0, 2000, 0.3
    for _ in range(tables):
        p, truth = binormal_table(rng, 60, 140, d or 1.0)
        if not d:
            p = rng.permutation(p)  # scores that say nothing
        claimed, t, odds = claims_net_benefit(p, truth, pi, "j_index")
        if not claimed:
            continue
        if d:
            z = (np.log(t / (1 - t)) - np.log(60 / 140) + d * d / 2) / d
            sens, fpr = stats.norm.sf(z - d), stats.norm.sf(z)
        else:
            sens = fpr = 0.5  # any equal rates: never above the larger default
        benefit = sens * pi - fpr * (1 - pi) * odds
        false += benefit <= max(pi - (1 - pi) * odds, 0.0)
    error = (0.05 * 0.95 / tables) ** 0.5
    assert false / tables <= 0.05 + 2 * error, false
