"""The tables of calibration: groups of scores, curves with their bands, tests."""

from __future__ import annotations

from clfeval.pages.schema import MODEL, SLICE, Column, Table, cols
from clfeval.pages.shared_tables import ROWS

ISOTONIC = Column(
    "isotonic", "part", meaning="share of positives by isotonic regression on the score"
)
CALIBRATION_TABLES = (
    Table(
        "calibration",
        (
            SLICE,
            MODEL,
            Column(
                "bin",
                "count",
                meaning="group of about a tenth of the rows by score; equal scores share a group",
            ),
            *cols("part", {"from": "lowest score of the bin", "to": "highest score of the bin"}),
            ROWS,
            Column("mean_score", "part", "mean score", meaning="mean score of the bin"),
            Column(
                "observed",
                "share",
                meaning="share of positives in the bin; equals the mean score if well calibrated",
            ),
        ),
    ),
    Table(
        "calibration_curve",
        (
            SLICE,
            MODEL,
            *cols("part", {"from": "lowest score of the step", "to": "highest score of the step"}),
            ROWS,
            ISOTONIC,
        ),
    ),
    Table(
        "calibration_band",
        (
            SLICE,
            MODEL,
            Column(
                "score",
                "part",
                meaning="predicted probability, from the 1st to the 99th percentile",
            ),
            Column(
                "rows", "weight", meaning="rows with scores nearer to this one than to the others"
            ),
            *cols(
                "part?",
                {
                    "curve": "observed share of positives by a spline on the log odds; of up to 20 "
                    "distinct scores the share at each",
                    "low": "lower confidence limit of the curve at this score",
                    "high": "upper confidence limit of the curve at this score",
                    "low_all": "lower confidence limit of the curve, simultaneous for all scores",
                    "high_all": "upper confidence limit of the curve, simultaneous for all scores",
                },
            ),
            ISOTONIC,
            *cols(
                "part?",
                {
                    "consistency_low": "lower quantile of isotonic curves if calibrated; none with "
                    "clusters",
                    "consistency_high": "upper quantile of isotonic curves if calibrated; none "
                    "with clusters",
                },
            ),
        ),
    ),
    Table(
        "calibration_tests",
        (
            MODEL,
            Column(
                "test",
                "text",
                meaning="intercept 0 and slope 1 jointly, or about ten groups of equal size by "
                "score",
            ),
            *cols(
                "number?",
                {
                    "statistic": "score statistic; close to df if well calibrated",
                    "df": "degrees of freedom of the statistic",
                },
            ),
            *cols(
                "p?",
                {
                    "p": "p-value under perfect calibration",
                    "p_adjusted": "smaller p of both tests, Bonferroni-adjusted, then "
                    "Holm-adjusted over models",
                },
            ),
            Column(
                "method",
                "text",
                meaning="simulation of calibrated outcomes, chi-square, or sandwich variance of "
                "clusters or weights",
            ),
            Column(
                "contradicted",
                "weight",
                meaning="rows whose observed outcome was given probability 0",
            ),
            Column(
                "groups_off",
                "count?",
                meaning="groups whose share of positives differs from the mean score (unadjusted)",
            ),
            Column(
                "largest_gap",
                "part?",
                meaning="largest difference of mean score and share of positives in a group",
            ),
            Column(
                "verdict",
                "text?",
                meaning="well calibrated: 95% intervals of slope and CITL lie inside 0.8 to 1.25 "
                "and ±0.25, of several models by Hochberg's rule",
            ),
        ),
    ),
)
