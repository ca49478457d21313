"""Recalibration methods fitted to several tables of score counts, `auto` by a closed test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints
from clfeval.measures.calibrators import (
    PARAMETERS,
    PRIOR_ROWS,
    Calibrator,
    LogOddsCalibrator,
    LogOddsMethod,
    calibrate_tables,
    fit_isotonic,
    fit_log_odds,
)
from clfeval.measures.probability import log_losses
from clfeval.measures.venn_abers import fit_venn_abers
from clfeval.methods.recalibration.method_names import Method
from clfeval.records import dataclass

NESTED: tuple[LogOddsMethod, ...] = ("none", "shift", "logistic", "beta")  # of the closed test
FLEXIBLE: tuple[Method, ...] = ("beta", "isotonic", "venn-abers")
FLEXIBLE_ROWS = 1000  # from which these are fitted
# 95 % points of chi-square with 1, 2 and 3 degrees of freedom
_CRITICAL = np.array([3.841458820694124, 5.991464547107979, 7.814727903251179])


@dataclass(frozen=True, slots=True, eq=False)
class TableFits:
    """Calibrators of one method for several tables, and the scores that they recalibrate.

    selected: the method of each table, which `auto` selects; calibrators: one a table, None where
    there is no fit; probabilities (tables, m): recalibrated scores, unchanged without a fit.
    """

    selected: tuple[Method, ...]
    calibrators: tuple[Calibrator | None, ...]
    probabilities: Floats


@dataclass(frozen=True, slots=True, eq=False)
class MethodFitter:
    """Fits of methods to tables of counts at the same scores (m,), ascending.

    rows: the number of rows of all tables together, if weighted the effective one. effect: the
    design effect by which likelihood ratios of clusters or weights are divided. row_weight: that of
    one row in the counts, of sampling weights the mean one.
    """

    scores: Floats
    rows: float
    effect: float = 1.0
    row_weight: float = 1.0

    @property
    def candidates(self) -> tuple[LogOddsMethod, ...]:
        """The methods among which `auto` chooses."""
        return NESTED if self.rows >= FLEXIBLE_ROWS else NESTED[:-1]

    def fit_all(
        self, methods: Sequence[Method], positives: Counts, negatives: Counts
    ) -> dict[Method, TableFits]:
        """Fit methods to each table, those among which `auto` chooses once.

        Shapes: positives and negatives (tables, m).
        """
        single_methods: dict[Method, None] = dict.fromkeys(methods)
        if "auto" in single_methods:
            single_methods |= dict.fromkeys(self.candidates)
            del single_methods["auto"]
        fits_by_method = {
            method: self._fit_method(method, positives, negatives) for method in single_methods
        }
        if "auto" in methods:
            fits_by_method["auto"] = self._choose(fits_by_method, positives, negatives)
        return {method: fits_by_method[method] for method in methods}

    def _fit_method(self, method: Method, positives: Counts, negatives: Counts) -> TableFits:
        """Fit a method other than `auto` to each table."""
        if method == "isotonic":
            return self._fit_each(method, self._isotonic, positives, negatives)
        if method == "venn-abers":
            return self._fit_each(method, self._venn_abers, positives, negatives)
        assert method != "auto"
        assert method != "one-vs-rest"
        coefficients = fit_log_odds(method, self.scores, positives, negatives)
        return self._from_coefficients(method, coefficients)

    def _from_coefficients(self, method: Method, coefficients: Floats) -> TableFits:
        calibrators = tuple(
            None
            if np.isnan(table_coefficients).any()
            else LogOddsCalibrator(*table_coefficients.tolist())
            for table_coefficients in coefficients
        )
        probabilities = calibrate_tables(coefficients, self.scores)
        return TableFits((method,) * len(calibrators), calibrators, probabilities)

    def _fit_each(
        self,
        method: Method,
        fit_table: Callable[[Counts, Counts], Calibrator],
        positives: Counts,
        negatives: Counts,
    ) -> TableFits:
        """Fit a method of steps to one table after the other."""
        calibrators = tuple(
            fit_table(*class_counts) for class_counts in zip(positives, negatives, strict=True)
        )
        probabilities = np.array([calibrator.calibrate(self.scores) for calibrator in calibrators])
        return TableFits((method,) * len(calibrators), calibrators, probabilities)

    def _isotonic(self, positives: Counts, negatives: Counts) -> Calibrator:
        prior_rows = PRIOR_ROWS * self.row_weight
        return fit_isotonic(self.scores, positives, negatives, prior_rows=prior_rows)

    def _venn_abers(self, positives: Counts, negatives: Counts) -> Calibrator:
        return fit_venn_abers(self.scores, positives, negatives, row_weight=self.row_weight)

    def _choose(
        self, fits_by_method: Mapping[Method, TableFits], positives: Counts, negatives: Counts
    ) -> TableFits:
        """Return the fit that the closed test chooses for each table; none if classes separate.

        Source: Vergouwe et al. 2017, Statistics in Medicine 36:4529.
        """
        candidate_fits = [fits_by_method[method] for method in self.candidates]
        probabilities = np.array([method_fits.probabilities for method_fits in candidate_fits])
        has_fit = np.array(
            [
                [calibrator is not None for calibrator in method_fits.calibrators]
                for method_fits in candidate_fits
            ]
        )
        likelihoods = _log_likelihoods(probabilities, positives, negatives)
        choices = closed_test(likelihoods / self.effect, has_fit, self.candidates)
        calibrators = np.array([method_fits.calibrators for method_fits in candidate_fits], object)
        calibrators[:, has_fit.sum(axis=0) == 1] = None  # only `none` has a fit
        table_indices = np.arange(len(choices))
        return TableFits(
            tuple(self.candidates[index] for index in choices.tolist()),
            tuple(calibrators[choices, table_indices].tolist()),
            probabilities[choices, table_indices],
        )


def _log_likelihoods(probabilities: Floats, positives: Counts, negatives: Counts) -> Floats:
    """Return the log likelihood of tables (tables, m) by probabilities (methods, tables, m)."""
    losses = positives * log_losses(probabilities, True)
    losses += negatives * log_losses(probabilities, False)
    return np.asarray(-losses.sum(axis=2))


def closed_test(likelihoods: Floats, has_fit: Bools, methods: Sequence[LogOddsMethod]) -> Ints:
    """Return the index of the simplest method not rejected against the most flexible: (tables,).

    Each method is tested by the likelihood ratio against the most flexible one that has a fit, at
    5 %, chi-square with as many degrees of freedom as it has fewer parameters; the first that is
    not rejected is chosen. Those without a fit are left out.

    Shapes: likelihoods and has_fit (methods, tables), the simplest method first.
    """
    table_indices = np.arange(likelihoods.shape[1])
    most_flexible = len(methods) - 1 - has_fit[::-1].argmax(axis=0)
    parameters = np.array([PARAMETERS[method] for method in methods])
    choices: Ints = np.array(most_flexible)
    for index in range(len(methods) - 2, -1, -1):
        df = np.maximum(parameters[most_flexible] - parameters[index], 1)
        critical_ratio = _CRITICAL[df - 1]
        likelihood_ratio = 2 * (likelihoods[most_flexible, table_indices] - likelihoods[index])
        is_chosen = has_fit[index] & (index < most_flexible) & (likelihood_ratio <= critical_ratio)
        choices[is_chosen] = index
    return choices
