"""Measures of ordered classes; declared, for metric tables name them, and not computed yet."""

from __future__ import annotations

from math import inf

from clfeval.measures.record import Measure

_COHEN = "Cohen 1960, Educational and Psychological Measurement 20:37"
_FEW = ("too_few_rows",)

MEASURES = (
    Measure("kappa_linear", "linear kappa", None, "ordinal", "max", -1, 1,
            ("expected_agreement_one",), "drawn",
            "1 - sum w n / sum w e, w the distance of the classes", _COHEN),
    Measure("kappa_quadratic", "quadratic kappa", None, "ordinal", "max", -1, 1,
            ("expected_agreement_one",), "drawn",
            "1 - sum w n / sum w e, w the squared distance of the classes", _COHEN),
    Measure("rps", "RPS", None, "ordinal", "min", 0, 1, _FEW, "drawn",
            "mean of sum (cumulated y - cumulated p)² over classes / (C - 1)",
            "Epstein 1969, Journal of Applied Meteorology 8:985", ("ranked_prob_score",)),
    Measure("ordinal_mae", "ordinal MAE", None, "ordinal", "min", 0, inf, _FEW, "drawn",
            "mean distance of class positions", "textbook"),
    Measure("ordinal_mse", "ordinal MSE", None, "ordinal", "min", 0, inf, _FEW, "drawn",
            "mean squared distance of class positions", "textbook"),
    Measure("ordinal_rmse", "ordinal RMSE", None, "ordinal", "min", 0, inf, _FEW, "drawn",
            "square root of the ordinal MSE", "textbook"),
    Measure("accuracy_within_1", "accuracy within 1", None, "ordinal", "max", 0, 1, _FEW, "drawn",
            "share of rows at most one class off", "textbook"),
)  # fmt: skip
