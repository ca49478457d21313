"""The one table of measures: what each is called, which way is better, and what it means."""

from __future__ import annotations

from math import inf

from clfeval.measures.catalog_report import REPORT
from clfeval.measures.measure import Measure

_MARS = "Restrepo et al. 2022, F1000Research 11:391 v2"
_ARMANO = "Armano 2015, Information Sciences 325:466"
_JPT = "Eiland and Liebrock 2013, Advances in Artificial Intelligence 2013:427958"
_BOTH = "no_positive_truth, no_negative_truth"

CATALOG: dict[str, Measure] = {
    measure.id: measure
    for measure in (
        Measure(
            "accuracy", "accuracy", "max", 0, 1, "(TP + TN) / (P + N)",
            "too_few_rows", "textbook", ("acc",),
        ),
        Measure(
            "precision", "precision", "max", 0, 1, "TP / (TP + FP)",
            "no_positive_prediction", "textbook", ("ppv",),
        ),
        Measure(
            "recall", "recall", "max", 0, 1, "TP / P",
            "no_positive_truth", "textbook", ("sensitivity", "sens", "tpr"), invariant=True,
        ),
        Measure(
            "sensitivity", "sensitivity", "max", 0, 1, "TP / P",
            "no_positive_truth", "textbook", ("recall", "sens", "tpr"), invariant=True,
        ),
        Measure(
            "specificity", "specificity", "max", 0, 1, "TN / N",
            "no_negative_truth", "textbook", ("spec", "tnr"), invariant=True,
        ),
        Measure(
            "error_rate", "error rate", "min", 0, 1, "(FP + FN) / (P + N)",
            "too_few_rows", "textbook", ("zero_one_loss",),
        ),
        Measure(
            "npv", "NPV", "max", 0, 1, "TN / (TN + FN)", "no_negative_prediction", "textbook",
            ("npv_at",),
        ),
        Measure(
            "f1", "F1", "max", 0, 1, "2 TP / (2 TP + FP + FN)", "zero_margin", "textbook",
            ("f1_score", "f_measure"),
        ),
        Measure(
            "mcc", "MCC", "max", -1, 1, "(TP TN - FP FN) / sqrt((TP + FP) (FN + TN) P N)",
            "zero_margin", "Matthews 1975, Biochimica et Biophysica Acta 405:442",
            ("matthews_corrcoef",),
        ),
        Measure(
            "mutual_information", "mutual information", "max", 0, 1,
            "bits that an answer tells of the truth: sum over the 2 x 2 table of"
            " q log2(q / (row share x column share))", "single_class", _ARMANO,
        ),
        Measure(
            "phi", "φ", "zero", -1, 1, "tp + fp - 1 = sensitivity - specificity", _BOTH, _ARMANO,
            invariant=True,
        ),
        Measure(
            "delta", "δ", "max", -1, 1, "tp - fp = sensitivity + specificity - 1", _BOTH, _ARMANO,
            ("j_index", "youden", "informedness"), invariant=True,
        ),
        Measure(
            "phi_b", "φ_b", "zero", -2, 2, "2 (n fp - p fn), p the prevalence and n = 1 - p",
            _BOTH, _ARMANO,
        ),
        Measure(
            "delta_b", "δ_b", "max", -1, 1, "2 (p tp + n (1 - fp)) - 1 = 2 accuracy - 1",
            _BOTH, _ARMANO,
        ),
        Measure(
            "accuracy_u", "unbiased accuracy", "max", 0, 1, "(1 + δ) / 2", _BOTH, _ARMANO,
            ("balanced_accuracy", "bal_accuracy"), invariant=True,
        ),
        Measure(
            "error_u", "unbiased error", "min", 0, 1, "(1 - δ) / 2", _BOTH, _ARMANO, invariant=True
        ),
        Measure(
            "precision_u", "unbiased precision", "max", 0, 1, "tp / (tp + fp)",
            f"{_BOTH}, no_positive_prediction", _ARMANO, invariant=True,
        ),
        Measure(
            "npv_u", "unbiased NPV", "max", 0, 1, "tn / (tn + fn)",
            f"{_BOTH}, no_negative_prediction", _ARMANO, invariant=True,
        ),
        Measure(
            "f1_u", "unbiased F1", "max", 0, 1, "2 tp / (2 tp + fn + fp)", _BOTH, _ARMANO,
            invariant=True,
        ),
        Measure(
            "mcc_u", "unbiased MCC", "max", -1, 1, "δ / sqrt((tp + fp) (tn + fn))",
            f"{_BOTH}, zero_margin", _ARMANO, ("mcc_normalised",), invariant=True,
        ),
        Measure(
            "mutual_information_u", "unbiased mutual information", "max", 0, 1,
            "mutual information at prevalence 1/2, in bits", "single_class", _ARMANO,
            invariant=True,
        ),
        Measure(
            "gini", "Gini", "max", -1, 1, "2 AUC - 1, the area between the curve and the φ axis",
            "single_class", _ARMANO, ("gain_capture",), invariant=True,
        ),
        Measure(
            "roc_auc", "ROC AUC", "max", 0, 1,
            "P(score of a positive > score of a negative), ties ½", "single_class",
            "Hanley and McNeil 1982, Radiology 143:29", ("c_statistic", "auc", "auroc"),
            invariant=True,
        ),
        Measure(
            "tar", "TAR (accuracy)", "max", 0, 1, "(TP + TN) / M", _BOTH, _JPT, ("accuracy", "acc"),
        ),
        Measure("tor", "TOR", "max", 0, inf, "(TP + TN) / (FP + FN)", _BOTH, _JPT),
        Measure(
            "ppv", "PPV", "max", 0, 1, "TP / (TP + FP)", f"{_BOTH}, no_positive_prediction",
            "Mercaldo, Lau and Zhou 2007, Statistics in Medicine 26:2170", ("precision", "ppv_at"),
        ),
        Measure(
            "ppv_odds", "PPV odds", "max", 0, inf, "TP / FP", f"{_BOTH}, no_positive_prediction",
            _JPT,
        ),
        Measure(
            "npv_odds", "NPV odds", "max", 0, inf, "TN / FN", f"{_BOTH}, no_negative_prediction",
            _JPT,
        ),
        Measure(
            "epa", "EPA", "max", 0, inf, "(TP / FP + TN / FN) / 2",
            f"{_BOTH}, no_positive_prediction, no_negative_prediction", _JPT,
        ),
        Measure(
            "f_beta", "F", "max", 0, 1, "(1 + b²) TP / ((1 + b²) TP + b² FN + FP)", _BOTH,
            "van Rijsbergen 1979, Information Retrieval, chapter 7", ("f1", "f_meas"),
        ),
        Measure("f_odds", "F odds", "max", 0, inf, "F / (1 - F)", _BOTH, _JPT),
        Measure(
            "ic", "IC", "max", 0, 1, "I(truth; prediction) / H(truth)", _BOTH, _JPT,
            ("information_coefficient",),
        ),
        Measure(
            "j_index", "J", "max", -1, 1, "sensitivity + specificity - 1", _BOTH,
            "Youden 1950, Cancer 3:32", ("youden", "informedness", "delta"), invariant=True,
        ),
        Measure(
            "dor", "DOR", "max", 0, inf, "TP TN / (FP FN)", f"{_BOTH}, zero_margin",
            "Glas et al. 2003, Journal of Clinical Epidemiology 56:1129", invariant=True,
        ),
        Measure(
            "dp", "DP", "max", -inf, inf, "sqrt(3)/π ln(DOR), natural logarithm",
            f"{_BOTH}, zero_margin", _JPT, ("discriminant_power",), invariant=True,
        ),
        Measure(
            "lr_pos", "LR+", "max", 0, inf, "sensitivity / (1 - specificity)",
            f"{_BOTH}, no_positive_prediction", "textbook", invariant=True,
        ),
        Measure(
            "lr_neg", "LR-", "min", 0, inf, "(1 - sensitivity) / specificity",
            f"{_BOTH}, no_negative_prediction", "textbook", invariant=True,
        ),
        Measure(
            "expected_cost", "expected cost", "min", -inf, inf,
            "(cost FP + cost FN - benefit TP - benefit TN) / M, of a row", _BOTH,
            "Elkan 2001, IJCAI 17:973",
        ),
        Measure(
            "net_benefit", "net benefit", "max", -inf, 1,
            "TP / M - w FP / M, w = (cost FP + benefit TN) / (cost FN + benefit TP)", _BOTH,
            "Vickers and Elkin 2006, Medical Decision Making 26:565",
        ),
        Measure(
            "shine_through", "ShineThrough", "max", 0, 1,
            "rows of the target class found by S and by no model outside / rows found by any model",
            "nothing_found", _MARS,
        ),
        Measure(
            "occlusion", "Occlusion", "min", 0, 1,
            "rows of the target class missed by S and found by every model outside (rule all; some"
            " model outside under rule any) / rows found by any model",
            "nothing_found, or no_other_model when S holds every model", _MARS,
        ),
        Measure(
            "yield", "yield", "max", 0, 1, "covered / effort", "zero_margin", _MARS,
        ),
        *REPORT,
    )
}  # fmt: skip


def find_measure(name: str) -> Measure | None:
    """Look a measure up by id or alias."""
    return next((CATALOG[other] for other in same_measure(name) if other in CATALOG), None)


def same_measure(name: str) -> list[str]:
    """Return the names a measure may stand under in a result: as asked, ids, then aliases."""
    folded = name.casefold()
    found = [m for m in CATALOG.values() if folded == m.id or folded in m.aliases]
    found.sort(key=lambda m: m.id != folded)
    return list(
        dict.fromkeys([name, *(m.id for m in found), *(a for m in found for a in m.aliases)])
    )
