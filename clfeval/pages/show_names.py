"""Meanings of the names that `--show` takes, and of words on all screens."""

from __future__ import annotations

from collections.abc import Mapping

_PER_MODEL = "2 x 2 table and measures of each model, with --by also of each slice"
_REQUESTED_MEASURES = "the measures requested by --measure, with the methods of their intervals"
_AT_PREVALENCE = "PPV, NPV and alarms at a prevalence, at the chosen threshold"
_SLICES = "the models in each slice of --by"
EVERYWHERE: Mapping[str, str] = {
    "comparisons": "differences from a reference, the rows outside a slice, a baseline or a label",
    "baseline": "changes since the baseline, worst first",
    "baseline_changes": "rows that a model predicted correctly in the baseline, and wrongly now",
    "intervals": "every confidence interval next to its value, in all tables shown",
    "plots": "all plots of the command",
    "all": "every table and plot",
}
WORDS: Mapping[str, str] = {  # of sentences and screens, which are no tables
    "clusters": "values of the --cluster column, such as patients; rows of one cluster are "
    "correlated, and intervals allow for it",
    "power": "probability that a test on this number of rows detects a given difference",
    "design effect": "variance relative to that of independent rows; the effective sample size is "
    "the number of rows divided by it",
    "cross-fitted": "chosen on some folds and evaluated on the remaining fold, in turn: expected "
    "on new data",
    "summary": "the main sentences of the answer, repeated at the end of a small screen",
    "≈": "tied: not significantly different from the best",
    "treat-all": "predict every row positive; treat-none: predict no row positive",
    "O:E": "observed positives / expected positives (sum of the probabilities): 1 if calibrated",
    "corrected for selection": "value of the best of several models without the bias of choosing "
    "it (Efron 2011)",
    "joint maximum": "adjustment for several comparisons of correlated models, by the maximum of "
    "their statistics (Hothorn, Bretz and Westfall 2008)",
    "Holm": "adjustment of p-values that controls any false positive (Holm 1979)",
    "q": "p adjusted to control the false discovery rate (Benjamini and Hochberg 1995)",
    "DeLong": "variance of ROC AUC and of differences of correlated AUCs (DeLong et al. 1988)",
}
NAMES_BY_COMMAND: Mapping[str, Mapping[str, str]] = {
    "mars": {
        "alone": "unique true positives and unique misses of each model",
        "rates": "the 2 x 2 tables with accuracy, precision and recall",
        "cuts": "detections of each model at each threshold of --sweep",
        "models": _PER_MODEL, "pairs": "detections of each pair of models, joint and unique",
        "subsets": "all subsets of models that were evaluated",
        "best": "the subset of each size that detects most",
        "max_effort": "the subset that detects most within --max-effort",
        "slices": _SLICES, "sweep": "detections at every threshold of --sweep",
        "exclusive": "the rows that one model alone detects or misses",
        "measures": _REQUESTED_MEASURES,
        "bars": "plot: unique true positives of each model",
        "matrix": "plot: ShineThrough of every pair",
        "curves": "plot: detections over the thresholds of --sweep",
    },
    "phidelta": {
        "readings": "interpretation of each point of the diamond",
        "rates": "the 2 x 2 tables, sensitivity and specificity",
        "unbiased": "the measures at a class ratio of 1:1",
        "sample": "the measures at the class ratio of the rows",
        "regions": "joint confidence region of sensitivity and specificity",
        "slices": _SLICES, "plane": "the points at the class ratios of --prevalence",
        "break-even": "thresholds of largest δ and of no bias (φ = 0)",
        "spread": "spread of the runs of each model",
        "models": _PER_MODEL, "run_spread": "mean and spread of the runs of each model",
        "runs": "the points of single runs",
        "curves": "Gini and largest δ of each curve of --curve",
        "curve": "points of the curves of --curve",
        "populations": "measures at the class ratios of --prevalence",
        "measures": _REQUESTED_MEASURES, "features": "discrimination and bias of each feature",
        "selected": "the selected features",
        "implications": "implications between features and classes that always held",
        "corners": "corners of the diamond at each class ratio",
        "isometrics": "isometrics: lines on which a measure is constant",
        "diamond": "plot: δ over φ, one point per model",
    },
    "tune-jpt": {
        "slices": _SLICES, "cells": "2 x 2 tables at each class ratio",
        "moving": "measures that depend on the class ratio",
        "odds": "measures as odds", "cost": "expected costs of the errors",
        "unmoved": "measures that do not depend on the class ratio", "models": _PER_MODEL,
        "at_prevalence": _AT_PREVALENCE,
        "expected": "expected true and false predictions in a population",
        "sweep": "the measures at every class ratio of --sweep",
        "crossovers": "class ratios at which one model overtakes another",
        "winners": "leading model in each population or range of class ratios",
        "thresholds": "the best threshold of each model in each population",
        "cutoffs": "the best threshold of each model at each class ratio",
        "ranges": "smallest and largest value over a range of prevalences",
        "simulated": "measures under an uncertain prevalence, simulated",
        "curves": "plot: a measure by class ratio", "cuts": "plot: best thresholds",
    },
    "mlcps": {
        "firm": "stability of the scores: order of the metrics, mean, Pareto front",
        "changes": "effect of leaving one metric out, or of doubling its weight",
        "goals": "desirability goals of the metrics",
        "models": "metrics, scores and rank of each model",
        "ranks": "rank of each model by each score",
        "metrics": "range, direction and weight of each metric",
        "profile": "each metric of each model, as given and as scaled for the score; also a plot",
        "redundant": "redundant metrics",
        "dominance": "models that dominate others: as good in all metrics, better in one",
        "splits": "scores in each split of a cross-validation",
        "weights": "share of random weights under which each model ranks first",
        "desirability": "desirability of each value",
        "agreement": "rank agreement with the table of --compare",
        "compared": "ranks in this table and in that of --compare",
        "radars": "plot: polygons of the best models",
        "scatter": "plot: SD of the metrics over the score",
    },
    "report": {
        "probabilities": "ranking and probabilities: AUC, Brier score, calibration, net benefit",
        "errors": "classification measures at the threshold used",
        "classes": "per-class results: each class against the rest",
        "confusions": "most frequent confusions between classes",
        "matrix": "confusion matrix: true classes in rows, predictions in columns",
        "slices": "differences of each slice from the rows outside, by each measure",
        "gaps": "the same for the best model, all measures",
        "extremes": "largest difference between two slices, by each measure",
        "spread": "score distribution by class",
        "cutoffs": "the threshold of each rule, with its performance expected on new data",
        "abstentions": "performance with abstention",
        "risk": "error rate over coverage; also a plot",
        "at_prevalence": _AT_PREVALENCE,
        "mcnemar": "rows that only the model, or only the reference, predicts correctly",
        "best": "models tied with the best by each measure, with rank intervals",
        "winner": "value of the best of three or more models, corrected for selection",
        "run_spread": "mean and standard deviation over runs, by each measure",
        "runs": "every measure of each run",
        "together": "Cochran's Q: whether all models have the same accuracy",
        "baselines": "every measure under permuted truth and of constant models, with p",
        "resolution": "sample size needed to detect a difference",
        "changes": "rows that exactly one of model and reference predicts correctly",
        "models": "main measures and 2 x 2 table of each model",
        "measures": "every measure of every model, with the method of its interval",
        "confusion": "rows by true and predicted class",
        "calibration": "observed share of positives by score; also a plot",
        "calibration_tests": "two tests of calibration per model",
        "curves": "rates, precision and lift at each threshold",
        "thresholds": "counts and rates at thresholds",
        "decision": "net benefit at each threshold, with treat-all and treat-none",
        "distribution": "rows of each class by bins of the score",
        "roc": "plot, ROC curve: sensitivity over 1 - specificity",
        "pr": "plot: precision over recall",
        "gain": "plot: share of positives detected over share of rows flagged",
        "lift": "plot: lift over share of rows flagged",
        "benefit": "plot: net benefit over the threshold probability",
    },
}  # fmt: skip


def name_meanings(command: str) -> Mapping[str, str]:
    """Return the meanings of the `--show` names of a command, and of words on screens."""
    return {**NAMES_BY_COMMAND.get(command, {}), **EVERYWHERE, **WORDS}
