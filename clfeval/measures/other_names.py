"""Names that other programs have for measures, names that mislead, and typing errors."""

from __future__ import annotations

import re
from collections.abc import Iterable

from clfeval.placeholders import END, OPTION

# by id: names of scikit-learn, torchmetrics, yardstick, of boosting libraries, in credit scoring
# and in the verification of forecasts
_NAMES_BY_ID = {
    "accuracy": "percent_correct f1_micro precision_micro recall_micro recall_weighted "
    "binary_accuracy categorical_accuracy sparse_categorical_accuracy",
    "error_rate": "hamming_loss hamming_distance binary_hamming_distance binary_error "
    "misclassification_rate",
    "balanced_accuracy": "recall_macro macro_recall multiclass_accuracy multiclass_recall",
    "sensitivity": "pod probability_of_detection true_positive_rate binary_recall",
    "specificity": "true_negative_rate binary_specificity",
    "precision": "success_ratio binary_precision positive_predictive_value",
    "npv": "negative_predictive_value",
    "fpr": "pofd probability_of_false_detection false_alarm_rate false_acceptance_rate",
    "fdr": "false_alarm_ratio",
    "f1": "binary_f1_score dice dice_score",
    "jaccard": "csi jaccard_index iou binary_jaccard_index",
    "j_index": "tss pss true_skill_statistic true_skill_score peirce_skill_score hanssen_kuipers "
    "hanssen_kuipers_discriminant youden_index youden_j youdens_j",
    "mcc": "matthews_corr_coef matthews_correlation phi_coefficient binary_matthews_corr_coef "
    "multiclass_matthews_corr_coef",
    "kappa": "hss heidke_skill_score cohens_kappa binary_cohen_kappa multiclass_cohen_kappa",
    "lr_pos": "positive_likelihood_ratio",
    "lr_neg": "negative_likelihood_ratio",
    "dor": "diagnostic_odds_ratio",
    "roc_auc": "roc_auc_ovo binary_auroc rocauc",
    "roc_auc_ovr": "roc_aunu multiclass_auroc",
    "gini": "gini_coefficient somers_d accuracy_ratio",
    "ks": "ks_statistic kolmogorov_smirnov",
    "average_precision": "binary_average_precision",
    "brier": "bs binary_brier_score",
    "brier_skill": "bss brier_skill_score",
    "log_loss": "binary_logloss multi_logloss binary_crossentropy",
    "oe_ratio": "o_e oe",
}
OTHER_NAMES = {name: key for key, names in _NAMES_BY_ID.items() for name in names.split()}

_REGRESSION = "it is a measure of numbers, and clfeval evaluates classes"
_USE = f"use {OPTION}--measure "
_BINS = f"ece has 10 bins; for 15 bins of equal width {_USE}ece:bins=15{END}"
# names without a measure of their own, and what there is in their place
_MISSING = {
    "ets gss equitable_threat_score gilbert_skill_score": f"{_USE}jaccard{END} (CSI, without "
    f"correction for chance) or {_USE.removeprefix('use ')}kappa{END} (HSS)",
    "fbias frequency_bias fbi": "divide detection_prevalence by prevalence",
    "rpss rps_skill_score": f"{_USE}rps{END}, and compare it with a reference",
    "hinge_loss binary_hinge_loss multiclass_hinge_loss": f"{_USE}log_loss{END} or brier",
    "calibration_error binary_calibration_error multiclass_calibration_error": _BINS,
    "roc_aunp roc_auc_ovr_weighted roc_auc_ovo_weighted": f"{_USE}roc_auc_ovr{END}: the classes "
    "have equal weight",
    "psi population_stability_index iv information_value": "it compares inputs, not predictions",
    "classification_cost": f"{_USE}cost:fp=1,fn=5{END}",
    "max_error rmse mse mae r2 rsq explained_variance mean_squared_error mean_absolute_error "
    "median_absolute_error root_mean_squared_error mean_absolute_percentage_error mape "
    "d2_absolute_error_score d2_pinball_score d2_tweedie_score huber_loss ccc": _REGRESSION,
}
MISSING = {name: hint for names, hint in _MISSING.items() for name in names.split()}
_FAR = "far false_alarm"
_AVERAGE = "macro|micro|weighted|samples"
_AVERAGED = rf"(?P<first>{_AVERAGE})_(?P<of>\w+)|(?P<name>\w+?)_(?P<last>{_AVERAGE})"
_ARROW = r"\s*(?:[↑↓]|→\s*[01])\s*$"  # of a heading
_OBSERVED_EXPECTED = r"(?i)(?<![a-z0-9])o:e(?:\s+ratio)?(?![a-z0-9])"


def plain_heading(text: str) -> str:
    """Return the name in a heading: `sens. ↑` as `sens`, `O:E` as `oe_ratio`."""
    text = re.sub(_ARROW, "", text)
    return re.sub(_OBSERVED_EXPECTED, "oe_ratio", text).strip().rstrip(".")


def macro_stem(name: str) -> str | None:
    """Return the measure of which a name is the macro average: `f1` of `f1_macro`; else None.

    It is the value of the measure with more than two classes.
    """
    if multiclass_match := re.fullmatch(r"multiclass_(f1|precision|specificity|jaccard)\w*", name):
        return multiclass_match[1]
    name_parts = re.fullmatch(_AVERAGED, name)
    if name_parts is None or "macro" not in (name_parts["first"], name_parts["last"]):
        return None
    return name_parts["of"] or name_parts["name"]


def missing_measure(name: str) -> tuple[str, str] | None:
    """Return why a name of another program has no measure, and the remedy; None for others."""
    if negated_match := re.fullmatch(r"(?:.*_)?neg_(\w+)", name):
        loss = negated_match[1]
        if loss in MISSING:
            return "is not available", MISSING[loss]
        remedy = f"{_USE}{loss}{END}, and turn the sign and the side of a limit"
        return f"is minus {loss}", remedy
    if name in _FAR.split():
        return (
            "is ambiguous: the ratio FP/(TP+FP) or the rate FP/(FP+TN)",
            "use fdr for the ratio, as in forecast verification, or fpr for the rate",
        )
    if name in MISSING:
        return "is not available", MISSING[name]
    name_parts = re.fullmatch(_AVERAGED, name)
    if name_parts is None and macro_stem(name) is None:
        return None
    stem = macro_stem(name)
    if stem is not None:
        remedy = f"with more than two classes {stem} is the macro average; with two it is of the "
        return "is not available for two classes", f"{remedy}positive class"
    assert name_parts is not None
    stem = name_parts["of"] or name_parts["name"]
    return "is not available", f"{_USE}{stem}{END}, which lists the averages over classes"


LONG, VERY_LONG = 4, 8  # letters of a word that may have one wrong letter, or two


def typing_error_of(name: str, names: Iterable[str]) -> str | None:
    """Return the known name of which a name is a typing error; None if none is, or several are.

    Words between underscores differ by one letter at most, or two in long words, and short words
    by none: `fpr` is no typing error of `fnr`.
    """
    name_words = re.split("[_@]", name)
    distances = {}
    for candidate in names:
        distance = _typing_distance(name_words, re.split("[_@]", candidate))
        if candidate.replace("_", "") == name.replace("_", ""):
            distance = 0
        if distance is not None:
            distances[candidate] = distance
    smallest_distance = min(distances.values(), default=None)
    closest_names = [
        candidate for candidate, distance in distances.items() if distance == smallest_distance
    ]
    return closest_names[0] if len(closest_names) == 1 else None


def _typing_distance(name_words: list[str], candidate_words: list[str]) -> int | None:
    """Return the number of wrong letters; None if some word is another one."""
    if len(name_words) != len(candidate_words):
        return None
    total_distance = 0
    for word, candidate in zip(name_words, candidate_words, strict=True):
        shorter_length = min(len(word), len(candidate))
        allowed_distance = 2 if shorter_length >= VERY_LONG else 1 if shorter_length >= LONG else 0
        distance = _edit_distance(word, candidate)
        if distance > allowed_distance:
            return None
        total_distance += distance
    return total_distance


def _edit_distance(word: str, candidate: str) -> int:
    """Return the least number of letters to add, leave out, replace or exchange (neighbours).

    Each row has the distances of a beginning of the word from the beginnings of the candidate.
    """
    distance_rows = [list(range(len(candidate) + 1))]
    for i, letter in enumerate(word, start=1):
        distances = [i]
        for j, candidate_letter in enumerate(candidate, start=1):
            costs = [
                distance_rows[-1][j] + 1,
                distances[-1] + 1,
                distance_rows[-1][j - 1] + (letter != candidate_letter),
            ]
            if i > 1 and j > 1 and letter == candidate[j - 2] and word[i - 2] == candidate_letter:
                costs.append(distance_rows[-2][j - 2] + 1)
            distances.append(min(costs))
        distance_rows.append(distances)
    return distance_rows[-1][-1]
