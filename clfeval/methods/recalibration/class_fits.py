"""Recalibration methods fitted to tables of class probabilities, `auto` by likelihood ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.counts.classes import ClassScores
from clfeval.counts.scores import group_starts
from clfeval.inference.distributions import chi_square_quantile
from clfeval.measures.calibrators import fit_log_odds
from clfeval.measures.class_calibrators import (
    ClassCalibrator,
    OneVsRestCalibrator,
    RelativeLogs,
    TemperatureCalibrator,
    fit_temperatures,
)
from clfeval.methods.recalibration.method_fits import FLEXIBLE_ROWS
from clfeval.methods.recalibration.method_names import CLASS_METHODS, Method
from clfeval.records import dataclass, replace

CHOICE_LEVEL = 0.95  # of the tests by which `auto` takes a method of more parameters
FEWEST_FOR_LINE = 10  # rows of a class, and of all other classes, from which its line is fitted
_LEAST = 1e-300  # of a probability whose logarithm is taken


@dataclass(frozen=True, slots=True, eq=False)
class ClassFits:
    """Calibrators of one method for several tables: None where there is no fit.

    selected: the method of each table, which `auto` selects.
    """

    selected: tuple[Method, ...]
    calibrators: tuple[ClassCalibrator | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ClassColumn:
    """The probabilities of one class in the rows of a table.

    scores (s,): the distinct ones, ascending. score_indices (m,): which of them each row has.
    is_true (m,): whether the class is the true one.
    """

    scores: Floats
    score_indices: Ints
    is_true: Ints

    @classmethod
    def from_rows(cls, p: Floats, is_true: Ints) -> ClassColumn:
        """Build from the probabilities of the class, (m,), and 1 where it is the true one."""
        scores, score_indices = np.unique(p, return_inverse=True)
        return cls(scores, score_indices.astype(np.int32), is_true)

    def merge(self, n: Counts, max_scores: int) -> ClassColumn:
        """Merge neighbours among the probabilities into at most `max_scores`, by rows n (m,).

        A group has its lowest probability.
        """
        first_indices = group_starts(
            np.bincount(self.score_indices, n, len(self.scores)), max_scores
        )
        group_indices = np.searchsorted(first_indices, self.score_indices, side="right") - 1
        return ClassColumn(self.scores[first_indices], group_indices.astype(np.int32), self.is_true)

    def rows_at_scores(self, n: Counts) -> tuple[Floats, Floats]:
        """Return the rows at each probability, and those of the class: (t, s) of n (t, m)."""
        s = len(self.scores)
        rows = np.array([np.bincount(self.score_indices, table_rows, s) for table_rows in n])
        true_rows = np.array(
            [np.bincount(self.score_indices, table_rows * self.is_true, s) for table_rows in n]
        )
        return rows, true_rows


def fit_line(scores: Floats, rows: Floats, true_rows: Floats) -> Floats:
    """Return intercept and power of the logistic recalibration of tables (t, s): (t, 2).

    NaN where there is no fit that rises.
    """
    lines = fit_log_odds("logistic", scores, true_rows, rows - true_rows)[:, :2]
    return np.where(lines[:, 1:] > 0, lines, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class ClassFitter:
    """Fits of methods to tables of the rows of class probabilities.

    rows: the number of rows, if weighted the effective one; effect: the design effect by which
    likelihood ratios of clusters or weights are divided. columns: of each class; has_line (K,):
    whether the class has enough rows for a line of its own.
    """

    scores: ClassScores
    rows: float
    logs: RelativeLogs
    effect: float
    columns: Sequence[ClassColumn]
    has_line: Bools

    @classmethod
    def from_scores(
        cls, scores: ClassScores, rows: float, logs: RelativeLogs, effect: float
    ) -> ClassFitter:
        """Prepare the columns of the classes."""
        truth_flags = [(scores.truth == k).astype(np.int8) for k in range(len(scores.classes))]
        columns = [
            ClassColumn.from_rows(scores.p[:, k], is_true) for k, is_true in enumerate(truth_flags)
        ]
        class_sizes = np.array([(scores.n * is_true).sum() for is_true in truth_flags])
        smaller_sizes = np.minimum(class_sizes, scores.n.sum() - class_sizes) / scores.unit
        return cls(scores, rows, logs, effect, columns, smaller_sizes >= FEWEST_FOR_LINE)

    def with_groups(self, max_scores: int) -> ClassFitter:
        """Return the fitter with at most `max_scores` different probabilities of each class."""
        columns = [column.merge(self.scores.n, max_scores) for column in self.columns]
        return replace(self, columns=columns)

    @property
    def parameters(self) -> dict[str, int]:
        """The number of parameters of each method."""
        line_count = int(self.has_line.sum()) + (not self.has_line.all())
        return {"none": 0, "temperature": 1, "one-vs-rest": 2 * line_count}

    @property
    def candidates(self) -> tuple[Method, ...]:
        """The methods among which `auto` chooses, of fewest parameters first."""
        return CLASS_METHODS[:3] if self.rows >= FLEXIBLE_ROWS else CLASS_METHODS[:2]

    def fit_all(self, methods: Sequence[Method], n: Counts) -> dict[Method, ClassFits]:
        """Fit methods to each table of rows n (t, m), those among which `auto` chooses once."""
        single_methods = dict.fromkeys(methods)
        if "auto" in single_methods:
            single_methods |= dict.fromkeys(self.candidates)
            del single_methods["auto"]
        fits_by_method = {method: self._fit_method(method, n) for method in single_methods}
        if "auto" in methods:
            fits_by_method["auto"] = self._choose(fits_by_method, n)
        return {method: fits_by_method[method] for method in methods}

    def _fit_method(self, method: Method, n: Counts) -> ClassFits:
        """Fit a method other than `auto` to each table."""
        calibrators: list[ClassCalibrator | None] = [TemperatureCalibrator(1.0)] * len(n)
        if method == "temperature":
            powers = fit_temperatures(self.logs, n).tolist()
            calibrators = [
                None if isnan(power) else TemperatureCalibrator(power) for power in powers
            ]
        elif method == "one-vs-rest":
            calibrators = [*self._fit_lines(n)]
        return ClassFits((method,) * len(n), tuple(calibrators))

    def _fit_lines(self, n: Counts) -> list[ClassCalibrator | None]:
        """Fit one logistic recalibration a class; None where the common one is needed and lacks.

        A class with too few rows, or that its probabilities separate, has the line of all classes
        together: of every row and class.
        """
        lines = np.full((len(self.columns), len(n), 2), np.nan)
        class_counts = [column.rows_at_scores(n) for column in self.columns]
        for k in np.flatnonzero(self.has_line).tolist():
            lines[k] = fit_line(self.columns[k].scores, *class_counts[k])
        lacks_line = np.isnan(lines).any(axis=2)
        if lacks_line.any():
            scores = np.concatenate([column.scores for column in self.columns])
            order = np.argsort(scores, kind="stable")
            rows, true_rows = (
                np.hstack(arrays)[:, order] for arrays in zip(*class_counts, strict=True)
            )
            common_lines = fit_line(scores[order], rows, true_rows)
            lines = np.where(lacks_line[:, :, None], common_lines[None], lines)
        return [
            None if np.isnan(table_lines).any() else OneVsRestCalibrator(*table_lines.T)
            for table_lines in lines.transpose(1, 0, 2)
        ]

    def _choose(self, fits_by_method: Mapping[Method, ClassFits], n: Counts) -> ClassFits:
        """Return the fit that likelihood ratios choose for each table; none without other fits."""
        candidate_fits = [fits_by_method[method] for method in self.candidates]
        has_fit = np.array(
            [
                [
                    calibrator is not None and calibrator.rises
                    for calibrator in class_fits.calibrators
                ]
                for class_fits in candidate_fits
            ]
        )
        likelihoods = np.array(
            [self._log_likelihoods(class_fits, n) for class_fits in candidate_fits]
        )
        parameters = [self.parameters[method] for method in self.candidates]
        choices = forward_choice(likelihoods / self.effect, has_fit, parameters)
        lacks_fit = has_fit.sum(axis=0) == 1  # only `none` has one
        calibrators = [
            None if lacks_fit[table] else candidate_fits[index].calibrators[table]
            for table, index in enumerate(choices)
        ]
        return ClassFits(tuple(self.candidates[index] for index in choices), tuple(calibrators))

    def _log_likelihoods(self, class_fits: ClassFits, n: Counts) -> list[float]:
        """Return the log likelihood of each table of rows n (t, m) by its calibrator."""
        pairs = zip(class_fits.calibrators, n, strict=True)
        return [self.log_likelihood(calibrator, table) for calibrator, table in pairs]

    def log_likelihood(self, calibrator: ClassCalibrator | None, n: Counts) -> float:
        """Return the log likelihood of one table of rows n (m,), without rows that fit nothing."""
        if isinstance(calibrator, TemperatureCalibrator):
            return float((n * self.logs.row_terms(calibrator.power)[0]).sum())
        if calibrator is None:
            return 0.0
        log_likelihood_sum = 0.0
        for block in self.logs.blocks():
            truth = self.scores.truth[block]
            calibrated = calibrator.calibrate(self.scores.p[block])
            likelihoods = calibrated[np.arange(len(truth)), truth]
            has_fit = self.logs.is_used[block]
            log_likelihoods = np.log(np.maximum(likelihoods, _LEAST))
            log_likelihood_sum += float((n[block] * has_fit * log_likelihoods).sum())
        return log_likelihood_sum


def forward_choice(likelihoods: Floats, has_fit: Bools, parameters: Sequence[int]) -> list[int]:
    """Return the index of the method chosen for each table, from the simplest one forwards.

    A method takes the place of a simpler one if their likelihood ratio exceeds the 95 % point of
    chi-square with as many degrees of freedom as it has more parameters. So a method of many
    parameters does not hide that one parameter is needed.

    Shapes: likelihoods and has_fit (methods, tables), the simplest method, which has a fit, first.
    """
    level = np.array([CHOICE_LEVEL])
    choices = list[int]()
    for table in range(likelihoods.shape[1]):
        choice = 0
        for index in range(1, len(parameters)):
            df = max(parameters[index] - parameters[choice], 1)
            likelihood_ratio = 2 * (likelihoods[index, table] - likelihoods[choice, table])
            if has_fit[index, table] and likelihood_ratio > chi_square_quantile(df, level)[0]:
                choice = index
        choices.append(choice)
    return choices
