"""Records of the measures that no method of its own brings: of 2 x 2 tables, scores and metrics."""

from __future__ import annotations

from math import inf, pi

from clfeval.measures.measure import Measure

_BOTH = "no_positive_truth, no_negative_truth"
_BRIER = "Brier 1950, Monthly Weather Review 78:1"
_COHEN = "Cohen 1960, Educational and Psychological Measurement 20:37"
_MLCPS = "Akshay et al. 2023, GigaScience 12: giad108"
_SCORES = "of predicted probabilities p of the true class"

REPORT: tuple[Measure, ...] = (
    Measure(
        "fpr", "FPR", "min", 0, 1, "FP / N", "no_negative_truth", "textbook",
        ("fall_out", "false_positive_rate"), invariant=True,
    ),
    Measure(
        "fnr", "FNR", "min", 0, 1, "FN / P", "no_positive_truth", "textbook",
        ("miss_rate", "false_negative_rate"), invariant=True,
    ),
    Measure(
        "fdr", "FDR", "min", 0, 1, "FP / (TP + FP)", "no_positive_prediction", "textbook",
        ("false_discovery_rate",),
    ),
    Measure(
        "for", "FOR", "min", 0, 1, "FN / (TN + FN)", "no_negative_prediction", "textbook",
        ("false_omission_rate",),
    ),
    Measure(
        "jaccard", "Jaccard", "max", 0, 1, "TP / (TP + FP + FN)", "zero_margin", "textbook",
        ("critical_success_index", "threat_score"),
    ),
    Measure(
        "g_mean", "G-mean", "max", 0, 1, "sqrt(sensitivity specificity)", _BOTH,
        "Kubat and Matwin 1997, ICML 14:179", invariant=True,
    ),
    Measure(
        "fowlkes_mallows", "Fowlkes-Mallows", "max", 0, 1, "sqrt(precision sensitivity)",
        "no_positive_truth, no_positive_prediction",
        "Fowlkes and Mallows 1983, Journal of the American Statistical Association 78:553",
    ),
    Measure(
        "markedness", "markedness", "max", -1, 1, "precision + NPV - 1",
        "no_positive_prediction, no_negative_prediction",
        "Powers 2011, Journal of Machine Learning Technologies 2:37",
    ),
    Measure(
        "kappa", "kappa", "max", -1, 1, "(observed - expected agreement) / (1 - expected)",
        "expected_agreement_one", _COHEN, ("cohen_kappa", "kap"),
    ),
    Measure(
        "kappa_linear", "linear kappa", "max", -1, 1,
        "1 - sum w n / sum w e, w the distance of the classes", "expected_agreement_one", _COHEN,
    ),
    Measure(
        "kappa_quadratic", "quadratic kappa", "max", -1, 1,
        "1 - sum w n / sum w e, w the squared distance of the classes", "expected_agreement_one",
        _COHEN,
    ),
    Measure(
        "log_loss", "log loss", "min", 0, inf, f"mean of -ln p, {_SCORES}", "too_few_rows",
        "Good 1952, Journal of the Royal Statistical Society B 14:107",
        ("cross_entropy", "logloss", "mn_log_loss"),
    ),
    Measure(
        "log_loss_skill", "log loss skill", "max", -inf, 1,
        "1 - log loss / log loss of the sample's class shares", "single_class", "textbook",
        ("d2_log_loss", "d2_log_loss_score"),
    ),
    Measure(
        "brier", "Brier", "min", 0, 1, "mean of sum (y - p)² / 2 over classes", "too_few_rows",
        _BRIER, ("brier_score", "brier_class", "brier_score_loss"),
    ),
    Measure(
        "brier_sum", "Brier (sum)", "min", 0, 2, "mean of sum (y - p)² over classes",
        "too_few_rows", _BRIER,
    ),
    Measure(
        "brier_skill", "Brier skill", "max", -inf, 1,
        "1 - Brier / Brier of the sample's class shares", "single_class", _BRIER,
        ("d2_brier_score",),
    ),
    Measure(
        "roc_auc_ovr", "ROC AUC (one class against the rest)", "max", 0, 1,
        "mean over classes of the area for this class", "single_class",
        "Provost and Domingos 2000, NYU Stern IS-00-04",
    ),
    Measure(
        "partial_auc", "partial AUC", "max", 0, 1,
        "the area over a range of false positive rates, standardised", "single_class",
        "McClish 1989, Medical Decision Making 9:190",
    ),
    Measure(
        "average_precision", "average precision", "max", 0, 1,
        "sum (R_i - R_(i-1)) P_i over distinct scores", "no_positive_truth", "textbook",
        ("pr_auc_step", "ap"),
    ),
    Measure(
        "pr_auc", "PR AUC", "max", 0, 1, "the area below precision over recall, by trapezoids",
        "no_positive_truth", "textbook",
    ),
    Measure(
        "ks", "KS", "max", 0, 1, "greatest |tp rate - fp rate| over thresholds", "single_class",
        "Kolmogorov-Smirnov distance of two samples", invariant=True,
    ),
    Measure(
        "ece", "ECE", "min", 0, 1, "mean over bins of |share of positives - mean score|",
        "too_few_rows", "Naeini et al. 2015, AAAI 29:2901", ("expected_calibration_error",),
    ),
    Measure(
        "mce", "MCE", "min", 0, 1, "greatest |share of positives - mean score| over bins",
        "too_few_rows", "Naeini et al. 2015, AAAI 29:2901", ("maximum_calibration_error",),
    ),
    Measure(
        "ece_debiased", "ECE (debiased)", "min", 0, 1, "ECE less what chance adds to each bin",
        "too_few_rows", "Kumar et al. 2019, NeurIPS 32",
    ),
    Measure(
        "rps", "RPS", "min", 0, 1,
        "mean of sum (cumulated y - cumulated p)² over classes / (C - 1)", "too_few_rows",
        "Epstein 1969, Journal of Applied Meteorology 8:985", ("ranked_prob_score",),
    ),
    Measure(
        "ordinal_mae", "ordinal MAE", "min", 0, inf, "mean distance of class positions",
        "too_few_rows", "textbook",
    ),
    Measure(
        "ordinal_mse", "ordinal MSE", "min", 0, inf, "mean squared distance of class positions",
        "too_few_rows", "textbook",
    ),
    Measure(
        "ordinal_rmse", "ordinal RMSE", "min", 0, inf, "square root of the ordinal MSE",
        "too_few_rows", "textbook",
    ),
    Measure(
        "accuracy_within_1", "accuracy within 1", "max", 0, 1,
        "share of rows at most one class off", "too_few_rows", "textbook",
    ),
    Measure(
        "mlcps", "MLcps", "max", 0, pi,
        "½ sin(2π/n) sum d_i d_(i+1): the area of the metrics' polygon", "too_few_metrics", _MLCPS,
    ),
    Measure(
        "order_free", "order-free", "max", 0, pi,
        "the mean of MLcps over all orders: ½ sin(2π/n) ((sum d)² - sum d²) / (n - 1)",
        "too_few_metrics", _MLCPS,
    ),
    Measure(
        "desirability", "D", "max", 0, 1, "product of d ** (w / sum w)", "too_few_metrics",
        "Derringer and Suich 1980, Journal of Quality Technology 12:214", ("d",),
    ),
)  # fmt: skip
