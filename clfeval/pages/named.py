"""What stands behind every name that `--show` takes, and words that all screens have."""

from __future__ import annotations

from collections.abc import Mapping

_EACH = "one row a model: its 2 x 2 table and its measures; with --by one for each slice too"
_ASKED = "the measures that --measure asked for, one row each, with the method of their intervals"
_THERE = "PPV, NPV and alarms at a prevalence, at the threshold chosen"
_SLICES = "how the models do in each slice of --by"
EVERYWHERE: Mapping[str, str] = {
    "comparisons": "each model against a reference, the other rows, a baseline or a label",
    "baseline": "how measures changed since the baseline, the worst first",
    "baseline_changes": "rows that a model had right in the baseline, and has wrong now",
    "intervals": "not a table: every interval beside its value, in all tables that are shown",
    "plots": "all pictures of the command",
    "all": "every table and picture",
}
WORDS: Mapping[str, str] = {  # of sentences and screens, which are no tables
    "clusters": "the values of the --cluster column, whose rows belong together: a patient, a "
    "document; intervals count them, and not rows",
    "power": "how often so many rows as these would show a difference of a given size, of 1",
    "design effect": "how many times the variance of independent rows there is, with clusters or "
    "weights: so many times fewer rows would tell as much",
    "cross-fitted": "chosen on some of the rows and measured on the others, in turn: what a choice "
    "is worth on rows that it was not made on",
    "summary": "the first sentence of the answer again, where the top has left the screen",
    "≈": "cannot be told from the best: with these rows it may be the best too",
}
NAMED: Mapping[str, Mapping[str, str]] = {
    "mars": {
        "alone": "what each model alone finds, and what it alone misses",
        "rates": "the 2 x 2 tables with accuracy, precision and recall",
        "cuts": "what each model finds at each cut of --sweep",
        "models": _EACH, "pairs": "what two models find together, and each of them alone",
        "subsets": "the sets of models that were searched for the best",
        "best": "of each size the set of models that finds most",
        "max_effort": "the set that finds most within the effort that --max-effort allows",
        "slices": _SLICES, "sweep": "what is found at every cut of --sweep",
        "exclusive": "the rows that one model alone finds or misses", "measures": _ASKED,
        "bars": "a picture: what each model alone finds",
        "matrix": "a picture: ShineThrough of every pair",
        "curves": "a picture: what is found over the cuts of --sweep",
    },
    "phidelta": {
        "readings": "what each point of the diamond says of its model, in words",
        "rates": "the 2 x 2 tables, sensitivity and specificity",
        "unbiased": "the measures at a class ratio of 1:1",
        "sample": "the measures at the class ratio of the rows",
        "regions": "the region that holds sensitivity and specificity together",
        "slices": _SLICES, "plane": "the points where the populations of --prevalence put them",
        "break-even": "where the curves over the class ratio are largest, and where they do not "
        "lean to either class",
        "spread": "how far the runs of a model lie apart",
        "models": _EACH, "run_spread": "one row a model: mean and spread of its runs",
        "runs": "the points of single runs",
        "curves": "one row a curve of --curve: its area, its largest value and where it is",
        "curve": "the points of the curves of --curve",
        "populations": "measures at the class ratios that --prevalence names",
        "measures": _ASKED, "features": "one row a feature: how well it alone tells the classes",
        "selected": "the features that were chosen",
        "implications": "features whose value tells the class, and how surely",
        "corners": "where the corners of the diamond lie at each class ratio",
        "isometrics": "the lines of equal value in the diamond",
        "diamond": "a picture: delta over phi, a point a model",
    },
    "tune-jpt": {
        "slices": _SLICES, "cells": "the 2 x 2 tables that measures are made of",
        "moving": "measures that move with the class ratio",
        "odds": "measures as odds", "cost": "what the errors cost",
        "unmoved": "measures that the class ratio does not move", "models": _EACH,
        "at_prevalence": _THERE,
        "expected": "rows of a population that each model is expected to call right and wrong",
        "sweep": "the measures at every odds of --sweep",
        "crossovers": "the odds at which one model passes another",
        "winners": "which model leads in which population, or between which odds",
        "thresholds": "the best threshold of each model in each population",
        "cutoffs": "the best thresholds side by side",
        "ranges": "the least and the largest value over a range of prevalences",
        "simulated": "the measures over draws from an uncertain prevalence",
        "curves": "a picture: a measure over the odds", "cuts": "a picture: best thresholds",
    },
    "mlcps": {
        "firm": "how firm the scores are: other orders of the metrics, the mean, the Pareto front",
        "changes": "what changes if one metric is left out or has double weight",
        "goals": "what is wished for of each metric",
        "models": "one row a model: its metrics, the scores that sum them up, its place",
        "ranks": "the place of each model by each score", "metrics": "the metrics, one row each",
        "profile": "the value of each metric of each model as given, and as it enters the score; "
        "a picture of them too",
        "redundant": "metrics that say the same",
        "dominance": "models that are as good as another everywhere and better somewhere",
        "splits": "the scores in each split of a cross-validation",
        "weights": "how much of all weights makes each model the first",
        "desirability": "how desirable each value is, by the wishes",
        "agreement": "how far this table and that of --compare rank alike",
        "compared": "the places in the table that --compare names",
        "radars": "a picture: the polygons of the best",
        "scatter": "a picture: SD of the metrics over the score",
    },
    "report": {
        "probabilities": "ranking and probabilities: AUC, Brier score, calibration, net benefit",
        "errors": "the measures of answers at the threshold in force",
        "classes": "one row for each of several classes: how it is told from the rest",
        "confusions": "which class is taken for which other, the most frequent first",
        "matrix": "answers by true class, a row a true class, a column an answer",
        "slices": "each slice of --by less all other rows: by each measure, with q over all slices",
        "gaps": "the same of the best model by every measure; the words of fairness",
        "extremes": "by each measure the slice with the largest value less that with the smallest",
        "spread": "how the scores of each class spread: rows in bins from the least to the largest",
        "cutoffs": "the threshold that each rule chooses, and what it is worth on other rows",
        "abstentions": "answers outside of a zone in which no row has one",
        "risk": "share of errors over the share of rows answered; a picture of it too",
        "at_prevalence": _THERE,
        "mcnemar": "how many rows each model has right and the reference wrong, and the other way",
        "best": "by each measure who may be the best, and the limits of each model's place",
        "winner": "by each measure the best of three or more, corrected for its selection",
        "run_spread": "by each measure one row a model: the mean of its runs, and how far they lie",
        "runs": "every measure of each run by itself",
        "together": "whether all models are right in as many rows: Cochran's Q",
        "baselines": "what each measure is worth without information, and p",
        "resolution": "how many rows it takes to see the difference that --resolution names",
        "changes": "rows that a model and the reference answer otherwise, one of them right",
        "models": "one row a model: the measures of the first screen, and its 2 x 2 table",
        "measures": "every measure of every model, one row each, with the method of its interval",
        "confusion": "rows by true class and answer",
        "calibration": "positives among rows of about one score; a picture of them too",
        "calibration_tests": "tests whether the probabilities are calibrated, two a model",
        "curves": "the points of the curves: rates, precision and lift at each threshold",
        "thresholds": "counts and rates at thresholds",
        "decision": "net benefit of acting on the model at each risk, beside treating all or none",
        "distribution": "rows of each class in bins of the score",
        "roc": "a picture, the ROC curve: sensitivity over 1 - specificity, from the highest "
        "score down",
        "pr": "a picture: precision over sensitivity",
        "gain": "a picture: share of positives found over share of rows called positive",
        "lift": "a picture: precision over prevalence, over the share of rows called positive",
        "benefit": "a picture: net benefit over the threshold probability",
    },
}  # fmt: skip


def names_of(command: str) -> Mapping[str, str]:
    """Return what each name means that a command's `--show` takes, and each word of screens."""
    return {**NAMED.get(command, {}), **EVERYWHERE, **WORDS}
