"""Measures of a 2 x 2 table as functions of its two rates and a prevalence.

tp is the true positive rate (sensitivity), fp the false positive rate (1 - specificity), both
0..1; p is the share of positives, n = 1 - p. All arguments broadcast; NaN where undefined. At
p = 1/2 the class ratio plays no part: these are the unbiased measures of the phi-delta plane.
Source: Armano 2015, Information Sciences 325:466.
"""

from __future__ import annotations

import numpy as np

from clfeval.arrays import Floats
from clfeval.measures import table
from clfeval.measures.jpt import Jpt, Number


def delta(tp: Number, fp: Number) -> Floats:
    """Return the discriminant capability: tp - fp, Youden's J; -1..1, best 1, chance 0."""
    return np.asarray(tp - fp, np.float64)


def phi(tp: Number, fp: Number) -> Floats:
    """Return the characteristic capability: tp + fp - 1; -1 always negative, 1 always positive."""
    return np.asarray(tp + fp - 1, np.float64)


def prior_delta(tp: Number, fp: Number, p: Number) -> Floats:
    """Return delta at a prevalence: 2 (p tp + n (1 - fp)) - 1 = 2 accuracy - 1; -1..1."""
    return np.asarray(2 * (p * tp + (1 - p) * (1 - fp)) - 1, np.float64)


def prior_phi(tp: Number, fp: Number, p: Number) -> Floats:
    """Return phi at a prevalence: 2 (n fp - p fn), twice the excess of positive answers; -2..2."""
    return np.asarray(2 * ((1 - p) * fp - p * (1 - tp)), np.float64)


def accuracy(tp: Number, fp: Number, p: Number) -> Floats:
    """Return the share of right answers: p tp + n (1 - fp); 0..1, best 1."""
    return table.tar(_table(tp, fp, p))


def precision(tp: Number, fp: Number, p: Number) -> Floats:
    """Return how often a positive answer is right: p tp / (p tp + n fp); 0..1, best 1.

    Undefined where nothing is called positive.
    """
    return table.ppv(_table(tp, fp, p))


def npv(tp: Number, fp: Number, p: Number) -> Floats:
    """Return how often a negative answer is right: n tn / (n tn + p fn); 0..1, best 1.

    Undefined where nothing is called negative.
    """
    return table.npv(_table(tp, fp, p))


def f1(tp: Number, fp: Number, p: Number) -> Floats:
    """Return F1: 2 p tp / (2 p tp + n fp + p fn); 0..1, best 1."""
    return table.f_beta(_table(tp, fp, p))


def mcc(tp: Number, fp: Number, p: Number) -> Floats:
    """Return Matthews' correlation: sqrt(p n) (tp - fp) / sqrt(p' n'); -1..1, best 1.

    p' = p tp + n fp is the share called positive, n' = 1 - p'; undefined where one of them is 0.
    """
    return table.mcc(_table(tp, fp, p))


def mutual_information(tp: Number, fp: Number, p: Number) -> Floats:
    """Return what an answer tells of the truth, in bits: sum of q log2(q / (row column)).

    0 where tp = fp, at most the entropy of the class ratio; a perfect and a perfectly wrong
    classifier both reach it.
    """
    return np.asarray(table.information(_table(tp, fp, p)) / np.log(2))


def _table(tp: Number, fp: Number, p: Number) -> Jpt:
    """Return the table with these rates at a prevalence, total 1."""
    n = 1 - p
    return Jpt(p * tp, n * fp, p * (1 - tp), n * (1 - fp))
