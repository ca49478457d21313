"""The tables of thresholds: curves over them, net benefit, chosen ones, abstention."""

from __future__ import annotations

from clfeval.pages.schema import MODEL, SLICE, Column, Table, cols
from clfeval.pages.shared_tables import (
    CELLS,
    GAIN,
    ODDS,
    POPULATION,
    PREVALENCE,
    RATE_MEANINGS,
    RULES,
    THRESHOLD,
)
from clfeval.records import replace

FLAGGED_MEANING = "share of rows predicted positive"
FLAGGED = Column("flagged", "part", meaning=FLAGGED_MEANING)
CORRECTED = Column(
    "corrected",
    "estimate",
    meaning="value expected on new data: corrected for optimism by the bootstrap",
)


def _counts(which_rows: str) -> tuple[Column, ...]:
    """Return the cells of the 2 x 2 table of certain rows; empty for a model without threshold."""
    return tuple(
        replace(cell, kind="weight?", best=None, meaning=f"{cell.meaning}, {which_rows}")
        for cell in CELLS
    )


def _rates(which_rows: str, meanings: dict[str, str]) -> tuple[Column, ...]:
    """Return shares of certain rows."""
    return cols("share", {name: f"{meaning}, {which_rows}" for name, meaning in meanings.items()})


CUTOFF_TABLES = (
    Table(
        "curves",
        (
            SLICE,
            MODEL,
            THRESHOLD,
            *(replace(cell, title=None, best=None) for cell in CELLS[:2]),
            *cols("part?", "sensitivity fpr precision"),
            replace(FLAGGED, kind="part?"),
            Column("lift", "weight?", meaning="precision / prevalence"),
        ),
    ),
    Table(
        "roc_band",
        (
            SLICE,
            MODEL,
            THRESHOLD,
            Column(
                "sensitivity",
                "share",
                meaning="share of positives predicted positive; its interval and that of fpr hold "
                "jointly",
            ),
            *cols("share", "fpr"),
        ),
    ),
    Table(
        "thresholds",
        (
            SLICE,
            MODEL,
            Column(
                "threshold", "cut?", meaning="rows with this score or more are predicted positive"
            ),
            *CELLS,
            FLAGGED,
            *cols("share", "sensitivity specificity precision npv f1"),
            *cols("signed", "mcc"),
        ),
    ),
    Table(
        "decision",
        (
            SLICE,
            MODEL,
            Column(
                "prevalence",
                "prevalence",
                when="?",
                meaning="the requested prevalence, at which net benefit holds",
            ),
            Column(
                "threshold",
                "part",
                meaning="threshold probability: rows with this risk or more are treated",
            ),
            Column(
                "flagged",
                "part?",
                meaning="share of these rows predicted positive at the threshold",
            ),
            *cols("estimate", "net_benefit"),
            Column("treat_all", "number", "treat all", meaning="net benefit of treat-all"),
            GAIN,
            Column(
                "helps",
                "flag?",
                meaning="whether net benefit is significantly higher than treat-all and "
                "treat-none, adjusted for all thresholds",
            ),
        ),
    ),
    Table(
        "cutoffs",
        (
            SLICE,
            MODEL,
            Column(
                "chosen_by",
                "text",
                meaning="rule: the measure that is optimized, or the constraint",
            ),
            replace(POPULATION, among=("sample", "target")),
            replace(PREVALENCE, kind="prevalence?"),
            replace(ODDS, kind="odds?"),
            *cols(
                "cut?",
                {
                    "threshold": "scores at or above it are predicted positive; empty if no row is "
                    "predicted positive or no threshold meets the rule",
                    "threshold_low": "lower confidence limit of the threshold, by the bootstrap",
                    "threshold_high": "upper confidence limit of the threshold, by the bootstrap",
                },
            ),
            Column("rule", "text", among=(None, *RULES), meaning="how the threshold is applied"),
            *_counts("at the threshold"),
            Column(
                "measure",
                "text",
                meaning="measure that is maximized; with a constraint: specificity, or sensitivity "
                "if the constraint is on the negatives",
            ),
            Column(
                "value",
                "estimate",
                meaning="value at the threshold on the same rows, which is optimistic",
            ),
            replace(CORRECTED, title="value on new data"),
            Column(
                "limited",
                "estimate?",
                "constrained measure on new data",
                meaning="constrained measure expected on new data, corrected for optimism",
            ),
            Column(
                "misses_limit",
                "flag?",
                meaning="whether the constrained measure, expected on new data, is beyond its "
                "limit",
            ),
            *_rates("expected on new data", {**RATE_MEANINGS, "flagged": FLAGGED_MEANING}),
        ),
        "best_threshold?",
    ),
    Table(
        "abstentions",
        (
            SLICE,
            MODEL,
            Column(
                "chosen_by",
                "text",
                meaning="share of rows without a prediction, or costs of the error types",
            ),
            *cols(
                "cut?",
                {
                    "threshold": "the threshold if every row has a prediction",
                    "low": "lower bound of the abstention zone",
                    "high": "upper bound of the abstention zone: scores at or above it are "
                    "predicted positive",
                },
            ),
            Column(
                "coverage",
                "share",
                meaning="share of rows with a prediction, those farthest from the threshold",
            ),
            *_counts("among rows with a prediction"),
            Column("accuracy", "share", meaning="accuracy, among rows with a prediction"),
            Column(
                "accuracy_of_all",
                "share",
                "accuracy of all",
                meaning="accuracy if every row has a prediction",
            ),
            *_rates("among rows with a prediction", RATE_MEANINGS),
            *cols(
                "number?",
                {
                    "cost": "mean cost per row, abstentions included",
                    "cost_of_all": "mean cost per row without abstention, at `threshold`",
                    "aurc": "area under the risk-coverage curve: mean error rate over all "
                    "coverages",
                },
            ),
        ),
        "abstain?",
    ),
    Table(
        "risk",
        (
            SLICE,
            MODEL,
            Column(
                "distance",
                "number",
                meaning="rows with scores closer than this to the threshold get no prediction",
            ),
            Column("coverage", "part", meaning="share of rows with a prediction"),
            Column("risk", "part", meaning="error rate among rows with a prediction"),
        ),
        "abstain?",
    ),
)
