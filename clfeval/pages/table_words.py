"""What further tables of a screen hold, in a few words each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clfeval.formatting import format_count

LENGTH = 79  # characters of one line of a screen of 80 columns
TABLE_WORDS: Mapping[str, str] = {
    "abstentions": "rows in the zone",
    "agreement": "ranks that agree",
    "alone": "unique detections",
    "answers": "sentences of runs",
    "at_prevalence": "PPV, NPV, alarms",
    "baseline": "changes",
    "baseline_changes": "newly wrong rows",
    "baselines": "dummy models",
    "best": "ranks by measure",
    "best_pair": "corrected gain",
    "break-even": "where models are equal",
    "calibration": "predicted, observed",
    "calibration_band": "curve, limits",
    "calibration_curve": "smoothed",
    "calibration_tests": "p-values",
    "cells": "rates, likelihood ratios",
    "changes": "ranks without a metric",
    "classes": "each class",
    "compared": "ranks of both",
    "comparisons": "differences",
    "confusion": "counts",
    "confusions": "errors by class",
    "corners": "of the diamond",
    "cost": "expected cost",
    "crossovers": "where the lead changes",
    "curve": "ROC by threshold",
    "curves": "ROC, PR",
    "cutoffs": "chosen thresholds",
    "cuts": "rates by threshold",
    "decision": "net benefit",
    "desirability": "functions",
    "distribution": "scores by class",
    "dominance": "better in all metrics",
    "equal_effort": "same rows flagged",
    "equally_flagged": "as many rows flagged",
    "errors": "largest errors",
    "events": "changed rows, models",
    "exclusive": "rows of one model",
    "expected": "counts",
    "extremes": "best, worst slice",
    "features": "all",
    "files": "read, written",
    "firm": "stability of the first",
    "first": "answers of runs",
    "gaps": "largest gap of slices",
    "gates": "limits",
    "goals": "direction of metrics",
    "heterogeneity": "between slices",
    "history": "all lines",
    "implications": "of features",
    "intervals": "of every value",
    "isometrics": "equal values",
    "lead_tests": "tests of the lead",
    "matrix": "confusion of classes",
    "max_effort": "sets by rows flagged",
    "mcnemar": "discordant rows",
    "measures": "every measure",
    "metrics": "rays",
    "models": "main table",
    "moving": "depend on prevalence",
    "odds": "PPV, NPV as odds",
    "operating_points": "rates",
    "pairs": "of models",
    "plane": "position",
    "plots": "charts",
    "populations": "other class ratios",
    "probabilities": "calibration",
    "problems": "errors",
    "profile": "values by metric",
    "ranges": "over prevalences",
    "ranks": "by order of metrics",
    "rates": "sensitivity, PPV",
    "reading": "how tables are read",
    "readings": "interpretations",
    "redundant": "correlated metrics",
    "regions": "joint intervals",
    "resolution": "detectable differences",
    "risk": "scores at a rate",
    "roc_band": "band of the ROC",
    "run_spread": "over runs",
    "runs": "each run",
    "same_specificity": "at the rule's specificity",
    "sample": "at these class sizes",
    "selected": "features",
    "simulated": "uncertain prevalence",
    "slices": "each slice",
    "splits": "train, test",
    "spread": "over runs",
    "steps": "change points",
    "subsets": "sets of models",
    "sweep": "by class ratio",
    "thresholds": "rates by threshold",
    "together": "models that err together",
    "unbiased": "without bias",
    "unmoved": "independent of prevalence",
    "weights": "by metric",
    "winner": "tests of the best",
    "winners": "best by class ratio",
}


def describe_tables(names: Sequence[str], offer: str) -> str:
    """Return the names of further tables with what they hold, as many as one line has room for.

    offer: how to request one. Those without room are counted.
    """
    if not names:
        return ""
    text = f"more tables ({offer}): "
    descriptions = list[str]()
    for index, name in enumerate(names):
        description = f"{name} ({TABLE_WORDS[name]})" if name in TABLE_WORDS else name
        left_count = len(names) - index - 1
        end_clause = f", {format_count(left_count, 'other')}" if left_count else ""
        if (
            descriptions
            and len(f"{text}{', '.join([*descriptions, description])}{end_clause}") > LENGTH
        ):
            return f"{text}{', '.join(descriptions)}, {format_count(left_count + 1, 'other')}"
        descriptions.append(description)
    return f"{text}{', '.join(descriptions)}"
