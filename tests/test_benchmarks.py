"""The simulations behind the guide's tables run against today's code, and read what it says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from clfeval.result import Answer
from tests.benchmarks.claims import SEED, run
from tests.benchmarks.claims.__main__ import cells
from tests.benchmarks.claims.planted_faults import UNAFFECTED, WORSE
from tests.benchmarks.claims.populations import FAULTS, Sample, against_old, sample
from tests.benchmarks.claims.sentences import (
    BASELINE,
    OPERATING,
    claimed,
    described,
    miscalibrated,
    ranking,
    slices_named,
)
from tests.benchmarks.coverage.__main__ import topics

FEW = 10  # tables of each setting: enough for one of them to have what is measured
SOME = ("slices/shift/200", "baseline/prevalence/200", "reference/less-specific/200",
        "calibration/two-tenths/200", "no-fault/4/200", "equal/2/scores/reference",
        "equal/5/labels/alone")  # fmt: skip
MODELS = ("m0", "m1", "m2", "m3", "m4")
MANY = 300_000  # rows, of which every measure is known to about 0.002


@pytest.mark.slow
@pytest.mark.parametrize("topic", topics())
def test_every_simulation_has_lines(topic: str) -> None:
    """They say something of each setting, and it is a share."""
    lines = topics()[topic](FEW)
    assert lines
    assert all(0 <= line.covered <= 1 for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_claims_are_judged_on_todays_reports(name: str, tmp_path: Path) -> None:
    """Every event that is promised something happens, or does not, in each table."""
    (cell,) = (one for one in cells() if one.name == name)
    found = run(cell, 2, SEED, tmp_path)
    assert {*cell.promises} <= {line.interval for line in found.lines}
    assert all(0 <= line.covered <= 1 for line in found.lines)


def saying(code: str, text: str) -> Any:
    """Return as much of a result as is read: a leader, and a sentence."""
    best = Answer("best", "m0 has the highest ROC AUC: 0.9." if code != "best" else text, ("m0",))
    return SimpleNamespace(answer=(best,) if code == "best" else (Answer(code, text), best))


@pytest.mark.parametrize(("text", "named"), [
    ("In site=east specificity is 0.44 (0.87 elsewhere, q < 0.001) and predicted risk 0.70 "
     "against 0.40 observed; ranking is unaffected.", {"site=east": {"specificity", "oe_ratio"}}),
    ("m0 is significantly worse in site=east: specificity 0.44 (elsewhere 0.87, q <0.001), and in "
     "site=west: ROC AUC 0.80 (elsewhere 0.92, q 0.003); its sensitivity is unaffected.",
     {"site=east": {"specificity"}, "site=west": {"roc_auc"}}),
    ("In site=b2 O:E is 0.71 (elsewhere 1.02, q 0.002) and ROC AUC is not significantly different.",
     {"site=b2": {"oe_ratio"}}),
    ("In no slice is m0 significantly worse than elsewhere (4 slices, 4 measures).", {}),
    ("No slice can be judged: site=a has 12 rows.", {}),
])  # fmt: skip
def test_slices_are_read_with_their_measures(text: str, named: dict[str, set[str]]) -> None:
    assert slices_named(saying("slices", text)) == named


@pytest.mark.parametrize(("codes", "text", "measures"), [
    (OPERATING, "At threshold 0.5 m1 detects 12 more of 212 positives (p 0.001); specificity not "
     "significantly changed.", {"sensitivity"}),
    (OPERATING, "At threshold 0.5 m1 detects 3 more of 212 positives (p 0.40); its specificity is "
     "lower by 0.10 (p <0.001).", {"specificity"}),
    (OPERATING, "At threshold 0.5 sensitivity and specificity of m1 are not significantly "
     "different from those of m0.", set()),
    (BASELINE, "Since old.csv m0 is significantly worse: Brier +0.020 (95% CI 0.010 to 0.030), "
     "balanced accuracy -0.08; ROC AUC not significantly changed.", {"brier", "balanced_accuracy"}),
    (BASELINE, "No measure of m0 or m1 has significantly changed since old.csv.", set()),
    (BASELINE, "Beside old.csv, by ROC AUC: m0 is worse, -0.1; m1 cannot be told from before.",
     {"roc_auc"}),
])  # fmt: skip
def test_claims_are_read_with_their_measures(
    codes: tuple[str, ...], text: str, measures: set[str]
) -> None:
    assert claimed(saying(codes[0], text), codes) == measures


@pytest.mark.parametrize(("text", "worse", "tied"), [
    ("m0 has the highest ROC AUC: 0.986 (95% CI 0.963 to 0.995). m1 and m2 are not significantly "
     "different; the other models are significantly worse.", "m3<m0 m4<m0", "m1=m0 m2=m0"),
    ("m0 has the highest ROC AUC, 0.9; every other model is significantly worse.",
     "m1<m0 m2<m0 m3<m0 m4<m0", ""),
    ("m0 has the highest ROC AUC, 0.9; m1 is significantly worse, and m2, m3 and m4 are tied.",
     "m1<m0", "m2=m0 m3=m0 m4=m0"),
    ("m0 has the largest ROC AUC, 0.9; any of the 4 others may be the best as well.", "",
     "m1=m0 m2=m0 m3=m0 m4=m0"),
    ("m1 is significantly better than m0 and m2 is significantly worse than m0.", "m0<m1 m2<m0",
     ""),
    ("m1 is not significantly different from m2: ROC AUC 0.06 higher (95% CI -0.01 to 0.13).", "",
     "m1=m2"),
    ("Compared with m0, by ROC AUC: m1 is significantly worse; no other model is significantly "
     "different.", "m1<m0", "m2=m0 m3=m0 m4=m0"),
])  # fmt: skip
def test_relations_of_models_are_read(text: str, worse: str, tied: str) -> None:
    """The same of a sentence on the leader and of one on the reference."""
    for code in ("best", "compared"):
        found = ranking(saying(code, text), MODELS, "m0")
        assert {f"{one.first}<{one.second}" for one in found if one.worse} == {*worse.split()}
        assert {f"{one.first}={one.second}" for one in found if not one.worse} == {*tied.split()}


@pytest.mark.parametrize(("text", "wrong"), [
    ("The probabilities of m0 are well calibrated (slope 1.17, 95% CI 0.82 to 1.52).", False),
    ("The probabilities of m0 show no significant miscalibration.", False),
    ("The probabilities of m0 are miscalibrated: too extreme (slope 0.70).", True),
    ("The probabilities of m0 are well calibrated; those of m1 are miscalibrated.", True),
])  # fmt: skip
def test_miscalibration_is_read(text: str, wrong: bool) -> None:
    assert miscalibrated(saying("probabilities", text)) == wrong


def test_intervals_of_changed_rows_are_read() -> None:
    text = "Prevalence was 0.37 and is 0.20: -0.17 (95% CI -0.19 to -0.15); mean score 0.37 and "
    said = saying("baseline-rows", f"{text}0.40: +0.03 (95% CI \u22120.01 to 0.07).")
    assert described(said, "prevalence") == (-0.19, -0.15)
    assert described(said, "mean_score") == (-0.01, 0.07)
    assert described(said, "brier") is None


def measured(found: Sample, model: int = 0) -> dict[str, float]:
    """Return measures of a model, by scikit-learn."""
    truth, score = found.truth, 1 / (1 + np.exp(-found.logits[model]))
    label = score >= 0.5
    return {
        "roc_auc": metrics.roc_auc_score(truth, score),
        "brier": metrics.brier_score_loss(truth, score),
        "balanced_accuracy": metrics.balanced_accuracy_score(truth, label),
        "sensitivity": metrics.recall_score(truth, label),
        "specificity": metrics.recall_score(truth, label, pos_label=0),
        "precision": metrics.precision_score(truth, label),
        "npv": metrics.precision_score(truth, label, pos_label=0),
        "mcc": metrics.matthews_corrcoef(truth, label),
        "prevalence": truth.mean(), "mean_score": score.mean(),
        "oe_ratio": truth.mean() / score.mean(),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_change_what_they_are_said_to_change(fault: str) -> None:
    """What is not listed as unaffected differs, and what is listed as worse in a slice is worse."""
    rng = np.random.default_rng(7)
    old, new = measured(sample(rng, MANY)), measured(sample(rng, MANY, fault=fault))
    apart = {name: new[name] - old[name] for name in old}
    same = UNAFFECTED[fault]
    assert all((abs(d) < 0.004) == (name in same) for name, d in apart.items()), apart
    farther = abs(np.log(new["oe_ratio"])) > abs(np.log(old["oe_ratio"])) + 0.005
    worse = {"oe_ratio"} if farther else set()
    worse |= {one for one in ("roc_auc", "sensitivity", "specificity") if apart[one] < -0.004}
    assert worse == WORSE[fault] - {"prevalence"}


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "changed", "by"), [
    ("less specific", "specificity", -0.10), ("more sensitive", "sensitivity", 0.08),
])  # fmt: skip
def test_a_new_model_differs_on_one_side_of_its_point(fault: str, changed: str, by: float) -> None:
    found = against_old(np.random.default_rng(8), MANY, fault)
    new, old = (measured(found, model) for model in (0, 1))
    for name in ("roc_auc", "sensitivity", "specificity"):
        assert new[name] - old[name] == pytest.approx(by if name == changed else 0, abs=0.004)
