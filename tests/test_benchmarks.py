"""The simulations behind the guide's tables run against today's code, and read what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics

from clfeval.document import Answer
from clfeval.document.cells import Estimate
from tests.benchmarks.claims import SEED, run, said
from tests.benchmarks.claims.__main__ import cells
from tests.benchmarks.claims.planted_faults import UNAFFECTED, WORSE, in_two_tenths
from tests.benchmarks.claims.populations import FAULTS, Sample, against_old, equal, join, sample
from tests.benchmarks.claims.reports import report_of
from tests.benchmarks.claims.slice_arrays import slices_tested, worse_slices
from tests.benchmarks.claims.tied_models import FAULTS as TIED_FAULTS
from tests.benchmarks.claims.tied_models import FAULTY, PREVALENCE, SLICE_COUNT, draw, in_a_class
from tests.benchmarks.coverage import guide_table
from tests.benchmarks.coverage.__main__ import topics
from tests.conftest import ROOT
from tests.results import rows_by
from tests.samples import logistic

FEW = 10  # tables of each setting: enough for one of them to have what is measured
SOME = (
    "slices/shift/200",
    "baseline/prevalence/200",
    "reference/less-specific/200",
    "calibration/two-tenths/200",
    "no-fault/4/200",
    "equal/2/scores/reference",
    "equal/5/labels/alone",
    "tied/recall/200",
    "tied/false/clusters/none",
    "tied/false/weights/specificity",
)
MODELS = ("m0", "m1")
MANY = 300_000  # rows, of which every measure is known to about 0.002


@pytest.mark.slow
@pytest.mark.parametrize("topic", "AFGJKNOQ")
def test_every_topic_whose_tables_can_be_small_runs_whole(topic: str) -> None:
    """Targets may be missed, as they are for large tables, but every script ends."""
    words = [sys.executable, "-m", "tests.benchmarks", "--only", topic, "--rows", "2000"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert f"\n{topic}  " in done.stdout


def test_the_table_of_coverage_is_put_below_its_heading() -> None:
    """Without the heading it is put before the next section, else in place of what is there."""
    heading, following = guide_table.HEADING, guide_table.NEXT
    before, after = "# numbers\n\n## First\n\ntext\n\n", f"{following}\n\nmore\n"
    once = guide_table.with_section(before + after, ["| a |", "| 1 |"])
    assert once == f"{before}{heading}\n\n| a |\n| 1 |\n\n{after}"
    assert guide_table.with_section(once, ["| 2 |"]) == once.replace("| a |\n| 1 |", "| 2 |")
    assert f"{following}\n" in guide_table.GUIDE.read_text(encoding="utf-8")


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


def test_planted_faults_are_read_from_answers_and_tables(tmp_path: Path) -> None:
    """A shift of one site's scores, since a week without it, which has as many positives."""
    rng, week = np.random.default_rng(3), tmp_path / "old.csv"
    site = np.repeat(["e", "n", "s", "w"], 1000).tolist()
    sample(rng, 1000).frame(MODELS, site=["e"] * 1000).write_csv(week)
    parts = [sample(rng, 1000, fault="shift" if one == 1 else None) for one in range(4)]
    now = join(parts).frame(MODELS, first=5000, site=site)
    found = report_of(now, by="site", baseline=week)
    assert said.slices_named(found) == {"site=n": {"oe_ratio", "specificity"}}
    changed = said.claimed(found, said.BASELINE)
    assert "specificity" in changed
    assert not changed & {"roc_auc", "prevalence"}
    assert said.claimed(found, said.BASELINE, unless="m0") == set()
    (rows,) = said.answers(found, said.BASELINE_ROWS)
    assert said.described(found, "prevalence") == (rows.low, rows.high)
    shifted = said.described(found, "mean_score")
    assert shifted is None or 0 < shifted[0] < shifted[1]
    assert said.described(found, "kappa@x") is None
    assert said.tied_set(found) == {"m0": True, "m1": False}
    assert [one[:3] for one in said.relations(found)] == [("m1", "m0", True)]
    assert said.astray(found) == []


def test_slices_straight_from_arrays_have_the_tests_of_the_report() -> None:
    """By sums of their own: p, q and the sentence are those of the report of the table."""
    table = draw(np.random.default_rng(5), 150, "specificity")
    tested = slices_tested(table.scores, table.truth, table.site, SLICE_COUNT, PREVALENCE)
    frame = pl.DataFrame(
        {
            "id": np.arange(len(table.truth)),
            "truth": table.truth * 1,
            "site": [f"s{s}" for s in table.site.tolist()],
            **table.scores,
        }
    )
    names = [*table.scores]
    found = report_of(frame, by="site", model=names, threshold=PREVALENCE)
    rows = rows_by(found, "comparisons", "model", "slice", "measure", against="slice")
    assert len(rows) == len(tested.comparisons) == len(names) * SLICE_COUNT * 4
    for row in tested.comparisons:
        expected = rows[row["model"], row["slice"], row["measure"]]
        for name in ("p", "p_adjusted"):
            assert row[name] == pytest.approx(expected[name], rel=1e-9)
    assert said.harms_named(found) == worse_slices(tested)


@pytest.mark.parametrize("fault", TIED_FAULTS)
def test_a_fault_in_one_slice_of_a_tied_model_is_named_and_nothing_else(fault: str) -> None:
    """In most of a few tables; `claims --only tied` has all of them."""
    named = others = 0
    for i in range(5):
        table = draw(np.random.default_rng([SEED, i]), 2000, fault)
        tested = slices_tested(table.scores, table.truth, table.site, SLICE_COUNT, PREVALENCE)
        pairs = {(model, label) for model, label, _ in worse_slices(tested)}
        named += (FAULTY, f"site=s{table.faulty}") in pairs
        others += bool(pairs - {(FAULTY, f"site=s{table.faulty}")})
    assert named >= 4
    assert others <= 1


def test_half_of_the_recall_of_one_class_is_named(tmp_path: Path) -> None:
    events, _ = in_a_class(400, np.random.default_rng(SEED), 0, tmp_path)
    assert events["fault named"].happened
    assert not events["another slice or model named"].happened


def test_a_worse_specificity_is_read_and_an_equal_area_is_none() -> None:
    table = against_old(np.random.default_rng(3), 3000, "less specific").frame(("new", "old"))
    found = report_of(table, reference="old")
    assert said.claimed(found, said.OPERATING) == {"specificity"}
    assert not said.ranked_worse(found)
    assert said.contradictions(said.relations(found)) == []
    assert said.slices_named(found) == {}
    calibrated = report_of(equal(np.random.default_rng(2), 1000, 2).frame(MODELS))
    assert not said.miscalibrated(calibrated)
    events, _ = in_two_tenths(1000, np.random.default_rng(4), 0, Path())
    assert events["fault named"].happened


def test_an_answer_that_is_not_of_its_table_and_tables_that_contradict_are_found() -> None:
    row: Any = {
        "against": "reference",
        "slice": None,
        "measure": "roc_auc",
        "model": "m1",
        "reference": "m0",
        "difference": Estimate(-0.1, -0.2, -0.05),
        "verdict": "worse",
    }
    tied: Any = [{"measure": "roc_auc", "model": name, "tied": True} for name in MODELS]
    answer = Answer("compared", "", ("m1",), "roc_auc", -0.1, -0.2, -0.05)
    best = Answer("best", "", ("m0",), "roc_auc", 0.9)
    found: Any = SimpleNamespace(answer=(answer, best), tables={"comparisons": [row]})
    assert said.astray(found) == []
    assert said.contradictions(said.relations(found)) == []
    wrong = Answer("compared", "", ("m1",), "roc_auc", -0.3, -0.4, -0.2)
    found = SimpleNamespace(answer=(wrong, best), tables={"comparisons": [row], "best": tied})
    assert said.astray(found) == [wrong]
    assert len(said.contradictions(said.relations(found))) == 1


def measures_of(found: Sample, model: int = 0) -> dict[str, float]:
    """Return measures of a model, by scikit-learn."""
    truth, score = found.truth, logistic(found.logits[model])
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
        "prevalence": truth.mean(),
        "mean_score": score.mean(),
        "oe_ratio": truth.mean() / score.mean(),
    }


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_change_what_they_are_said_to_change(fault: str) -> None:
    """What is not listed as unaffected differs, and what is listed as worse in a slice is worse."""
    rng = np.random.default_rng(7)
    old, new = measures_of(sample(rng, MANY)), measures_of(sample(rng, MANY, fault=fault))
    apart = {name: new[name] - old[name] for name in old}
    same = UNAFFECTED[fault]
    assert all((abs(d) < 0.004) == (name in same) for name, d in apart.items()), apart
    farther = abs(np.log(new["oe_ratio"])) > abs(np.log(old["oe_ratio"])) + 0.005
    worse = {"oe_ratio"} if farther else set()
    worse |= {one for one in ("roc_auc", "sensitivity", "specificity") if apart[one] < -0.004}
    assert worse == WORSE[fault] - {"prevalence"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "changed", "by"),
    [("less specific", "specificity", -0.10), ("more sensitive", "sensitivity", 0.08)],
)
def test_a_new_model_differs_on_one_side_of_its_point(fault: str, changed: str, by: float) -> None:
    found = against_old(np.random.default_rng(8), MANY, fault)
    new, old = (measures_of(found, model) for model in (0, 1))
    for name in ("roc_auc", "sensitivity", "specificity"):
        assert new[name] - old[name] == pytest.approx(by if name == changed else 0, abs=0.004)
