"""The tables of calibration: groups of scores, curves with their bands, tests; their meanings."""

from __future__ import annotations

from collections.abc import Mapping

from clfeval.pages.schema import Column, Table, cols
from clfeval.pages.table_parts import MODEL, SLICE

CALIBRATION_TABLES = (
    Table(
        "calibration",
        (
            SLICE,
            MODEL,
            *cols("count", "bin"),
            *cols("part", "from to"),
            *cols("weight", "rows"),
            Column("mean_score", "part", "mean score"),
            *cols("share", "observed"),
        ),
    ),
    Table(
        "calibration_curve",
        (
            SLICE,
            MODEL,
            *cols("part", "from to"),
            *cols("weight", "rows"),
            *cols("part", "isotonic"),
        ),
    ),
    Table(
        "calibration_band",
        (
            SLICE,
            MODEL,
            *cols("part", "score"),
            *cols("weight", "rows"),
            *cols("part?", "curve low high low_all high_all"),
            *cols("part", "isotonic"),
            *cols("part?", "consistency_low consistency_high"),
        ),
    ),
    Table(
        "calibration_tests",
        (
            MODEL,
            *cols("text", "test"),
            *cols("number?", "statistic df"),
            *cols("p?", "p p_adjusted"),
            *cols("text", "method"),
            *cols("weight", "contradicted"),
            *cols("count?", "groups_off"),
            *cols("part?", "largest_gap"),
            *cols("text?", "verdict"),
        ),
    ),
)
CALIBRATION_MEANINGS: Mapping[str, str] = {
    "calibration.from": "lowest score of the bin",
    "calibration.to": "highest score of the bin",
    "test": "intercept 0 and slope 1 jointly, or about ten groups of equal size by score",
    "isotonic": "share of positives by isotonic regression on the score",
    "calibration_band.score": "predicted probability, from the 1st to the 99th percentile",
    "calibration_band.rows": "rows with scores nearer to this one than to the others",
    "curve": "observed share of positives by a spline on the log odds; of up to 20 distinct scores "
    "the share at each",
    "calibration_band.low": "lower confidence limit of the curve at this score",
    "calibration_band.high": "upper confidence limit of the curve at this score",
    "low_all": "lower confidence limit of the curve, simultaneous for all scores",
    "high_all": "upper confidence limit of the curve, simultaneous for all scores",
    "consistency_low": "lower quantile of isotonic curves if calibrated; none with clusters",
    "consistency_high": "upper quantile of isotonic curves if calibrated; none with clusters",
    "calibration_curve.from": "lowest score of the step",
    "calibration_curve.to": "highest score of the step",
    "calibration_tests.statistic": "score statistic; close to df if well calibrated",
    "df": "degrees of freedom of the statistic",
    "calibration_tests.p": "p-value under perfect calibration",
    "calibration_tests.p_adjusted": "smaller p of both tests, Bonferroni-adjusted, then "
    "Holm-adjusted over models",
    "calibration_tests.method": "simulation of calibrated outcomes, chi-square, or sandwich "
    "variance of clusters or weights",
    "contradicted": "rows whose observed outcome was given probability 0",
    "mean_score": "mean score of the bin",
    "observed": "share of positives in the bin; equals the mean score if well calibrated",
}
