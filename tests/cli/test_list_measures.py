"""The catalogue at the door: every measure by every name, what it needs, how it misleads."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import cast

import pytest
import typer

from clfeval.cli.help_and_completion import askable_measures, complete_measure, complete_ranked
from clfeval.measures.catalog import CATALOG, find_measure
from tests.process.program import clfeval
from tests.texts import check_text

# what each name of the field stands for here
NAMES = """
acc accuracy | error_rate error_rate | zero_one_loss error_rate | bal_accuracy balanced_accuracy
sensitivity sensitivity | recall recall | sens recall | tpr recall | specificity specificity
spec specificity | tnr specificity | precision precision | ppv ppv | npv npv | fpr fpr | fnr fnr
fdr fdr | for for | ppv_at ppv_at | npv_at npv_at | f1 f1 | f_beta f_beta | f_meas f_beta
jaccard jaccard | g_mean g_mean | fowlkes_mallows fowlkes_mallows | j_index j_index
youden delta | informedness delta | delta delta | phi phi | markedness markedness | mcc mcc
mcc_normalised mcc_u | mcc_u mcc_u | kappa kappa | kappa_linear kappa_linear
kappa_quadratic kappa_quadratic | lr_pos lr_pos | lr_neg lr_neg | dor dor | dp dp | epa epa
tor tor | f_odds f_odds | ic ic | prevalence prevalence
detection_prevalence detection_prevalence | no_information_rate no_information_rate
log_loss log_loss | cross_entropy log_loss | brier brier | brier_sum brier_sum
brier_per_class brier_per_class | brier_skill brier_skill | d2_brier brier_skill
log_loss_skill log_loss_skill | d2_log_loss log_loss_skill | roc_auc roc_auc
c_statistic roc_auc | roc_auc_ovr roc_auc_ovr | partial_auc partial_auc
average_precision average_precision | ap average_precision | pr_auc_step average_precision
pr_auc pr_auc | gini gini | gain_capture gini | gain@k gain@k | lift@k lift@k
precision@k precision@k | recall@k recall@k | ks ks | ece ece | mce mce
ece_debiased ece_debiased | calibration_slope calibration_slope
calibration_intercept calibration_intercept | brier_uncertainty brier_uncertainty
rps rps | ordinal_mae ordinal_mae | ordinal_mse ordinal_mse
ordinal_rmse ordinal_rmse | accuracy_within_1 accuracy_within_1 | expected_cost expected_cost
net_benefit net_benefit | net_benefit@t net_benefit@t | top_k_accuracy top_k_accuracy
auprg auprg | aurc aurc | selective_accuracy selective_accuracy | hosmer_lemeshow hosmer_lemeshow
interventions_avoided interventions_avoided | net_benefit_standardised net_benefit_standardised
"""
PAIRS = [tuple(pair.split()) for line in NAMES.strip().splitlines() for pair in line.split(" | ")]
MISLEADING = ("accuracy", "error_rate", "f1", "f_beta", "hosmer_lemeshow", "ece", "pr_auc")


@pytest.fixture(scope="module")
def listed() -> str:
    done = clfeval("report", "--explain", "measures")
    assert (done.code, done.err) == (0, "")
    return done.out


@pytest.mark.parametrize(("name", "measure"), PAIRS)
def test_a_name_of_the_field_is_found_and_explained(name: str, measure: str, listed: str) -> None:
    assert find_measure(name) is CATALOG[measure]
    assert re.search(rf"^{re.escape(measure)} ", listed, re.MULTILINE)
    done = clfeval("report", "--explain", name)
    assert done.code == 0
    assert measure in done.out


def test_a_line_says_range_direction_need_and_interval(listed: str) -> None:
    rows = (re.split("  +", line) for line in listed.splitlines() if line[:1].strip())
    lines = {name: cells for name, *cells in rows}
    ranges = {"mcc": "-1 to 1", "log_loss": "0 to ∞", "calibration_slope": "-∞ to ∞"}
    best = {"mcc": "max", "log_loss": "min", "calibration_slope": "1", "prevalence": "none"}
    needs = {"mcc": "labels", "roc_auc": "scores", "log_loss": "probabilities"}
    for place, known in enumerate((ranges, best, needs)):
        assert {name: lines[name][place] for name in known} == known
    assert max(map(len, listed.splitlines())) <= 80
    check_text(listed)


@pytest.mark.parametrize("name", MISLEADING)
def test_what_misleads_says_so(name: str, listed: str) -> None:
    caveat = CATALOG[name].caveat
    assert caveat is not None
    assert caveat in " ".join(listed.split())
    assert caveat in " ".join(clfeval("report", "--explain", name).out.split())


@pytest.mark.parametrize(
    ("command", "there", "absent"),
    [
        ("mars", "kappa roc_auc net_benefit@t rps", "accuracy_within_1 shine_through mlcps"),
        ("phidelta", "kappa roc_auc net_benefit@t rps", "accuracy_within_1 mlcps"),
        ("tune-jpt", "kappa tar f_beta expected_cost", "roc_auc brier ppv_at prevalence"),
        ("mlcps", "kappa roc_auc ppv_at ece net_benefit@t", "phi calibration_slope prevalence"),
        ("report", "kappa roc_auc accuracy_within_1 top_k_accuracy", "shine_through"),
    ],
)
def test_a_command_lists_what_it_can_be_asked_for_and_completes_to_it(
    command: str, there: str, absent: str
) -> None:
    done = clfeval(command, "--explain", "measures")
    assert (done.code, done.err) == (0, "")
    names = {line.split()[0] for line in done.out.splitlines() if not line.startswith(" ")}
    assert names > {*there.split()}
    assert names.isdisjoint(absent.split())
    assert f"clfeval {command} --explain NAME" in done.out
    assert {*askable_measures(command).ids} < names
    asked = cast(
        typer.Context, SimpleNamespace(info_name=command, params={"source": "predictions"})
    )
    for complete in (complete_measure, complete_ranked):
        found = {*complete(asked, "")}
        assert found > {*there.split(), "default", "hard"}
        assert {"kappa", "kap"} <= {*complete(asked, "ka")} < found
