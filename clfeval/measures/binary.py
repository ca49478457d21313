"""Measures of a 2 x 2 table as functions of its two rates and a prevalence.

tp is the true positive rate (sensitivity), fp the false positive rate (1 - specificity), both
0..1; p is the share of positives, n = 1 - p. All arguments broadcast; NaN where undefined. At
p = 1/2 the class ratio plays no part: these are the unbiased measures of the phi-delta plane.
Source: Armano 2015, Information Sciences 325:466.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Number = Any  # a float or an array of floats


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
    return np.asarray(p * tp + (1 - p) * (1 - fp), np.float64)


def precision(tp: Number, fp: Number, p: Number) -> Floats:
    """Return how often a positive answer is right: p tp / (p tp + n fp); 0..1, best 1.

    Undefined where nothing is called positive.
    """
    return _ratio(p * tp, p * tp + (1 - p) * fp)


def npv(tp: Number, fp: Number, p: Number) -> Floats:
    """Return how often a negative answer is right: n tn / (n tn + p fn); 0..1, best 1.

    Undefined where nothing is called negative.
    """
    return _ratio((1 - p) * (1 - fp), (1 - p) * (1 - fp) + p * (1 - tp))


def f1(tp: Number, fp: Number, p: Number) -> Floats:
    """Return F1: 2 p tp / (2 p tp + n fp + p fn); 0..1, best 1."""
    return _ratio(2 * p * tp, p * (1 + tp) + (1 - p) * fp)


def mcc(tp: Number, fp: Number, p: Number) -> Floats:
    """Return Matthews' correlation: sqrt(p n) (tp - fp) / sqrt(p' n'); -1..1, best 1.

    p' = p tp + n fp is the share called positive, n' = 1 - p'; undefined where one of them is 0.
    """
    said = p * tp + (1 - p) * fp
    denied = p * (1 - tp) + (1 - p) * (1 - fp)
    return _ratio(np.sqrt(p * (1 - p)) * (tp - fp), np.sqrt(said * denied))


def mutual_information(tp: Number, fp: Number, p: Number) -> Floats:
    """Return what an answer tells of the truth, in bits: sum of q log2(q / (row column)).

    0 where tp = fp, at most the entropy of the class ratio; a perfect and a perfectly wrong
    classifier both reach it.
    """
    n = 1 - p
    said = p * tp + n * fp
    denied = p * (1 - tp) + n * (1 - fp)
    cells = (
        (p * tp, p, said),
        (n * fp, n, said),
        (p * (1 - tp), p, denied),
        (n * (1 - fp), n, denied),
    )
    total = sum(_term(joint, row * column) for joint, row, column in cells)
    return np.asarray(np.where(np.asarray(tp == fp), 0.0, np.maximum(total, 0.0)), np.float64)


def _term(joint: Number, independent: Number) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = joint * np.log2(np.divide(joint, independent))
    return np.asarray(np.where(np.asarray(joint) > 0, bits, 0.0 * np.asarray(joint)), np.float64)


def _ratio(part: Number, whole: Number) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.divide(part, whole)
    return np.asarray(np.where(np.asarray(whole) > 0, share, np.nan), np.float64)
