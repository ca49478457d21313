"""From feature counts to the Result of phidelta for features.

tp is the share of positives that have a binary feature, fp the share of negatives. |delta| is its
importance; phi > 0 where it is mostly true, < 0 where mostly false.
Source: Armano 2015, Information Sciences 325:466.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Counts, Floats, Ints, divide, safe_for_products
from clfeval.counts.features.count import CountedFeatures
from clfeval.counts.features.cuts import ClassCounts, Cut, FeatureCounts
from clfeval.counts.patterns import from_units
from clfeval.document import Document, ResultNote
from clfeval.document.cells import Estimate, Row, Rows, as_row
from clfeval.document.rows import LazyRows
from clfeval.errors import UsageError, list_names
from clfeval.inference.hypothesis_tests import (
    benjamini_hochberg,
    proportions_p_value,
    smirnov_p_value,
)
from clfeval.inference.proportions import combine_proportions
from clfeval.measures.odds import phi_delta_of_counts
from clfeval.measures.record import Population
from clfeval.methods.estimates import fractional_weights_error, proportion_estimates
from clfeval.methods.phidelta.answer import (
    ChanceTests,
    StrongestFeatures,
    covers_zero,
    feature_answer,
)
from clfeval.methods.phidelta.options import FeatureOptions, PlaneOptions
from clfeval.methods.phidelta.result import isometric_notes, plane_parameters, plane_tables
from clfeval.methods.provenance import build_parameters, build_signature, exclusion_notes
from clfeval.placeholders import END, OPTION
from clfeval.records import dataclass

LARGEST = float(np.finfo(np.float64).max)  # stands for infinity, which JSON lacks
NEARLY = 0.8  # |phi| from which a feature is nearly always, or nearly never, true
CONSTANT = "constant_feature"
MAX_NAMED = 3  # features of equal delta, by name
ROUNDING = 1e-14
PHI_AND_DELTA = (1, -1)  # signs of the share of negatives


@dataclass(frozen=True, slots=True, eq=False)
class RankedFeatures:
    """Features in order of importance, with their phi and delta; all arrays (k,).

    cells (k, 4): TP, FP, FN, TN. constant: one value in every row, soft votes undefined.
    """

    counts: FeatureCounts
    cells: Counts
    phi: Floats
    delta: Floats
    constant: Bools

    @classmethod
    def from_counts(cls, counts: FeatureCounts) -> RankedFeatures:
        """Sort features by |delta|, largest first; ties by |phi|, then by name."""
        tp, fp, positives, negatives = counts.tp, counts.fp, counts.positives, counts.negatives
        phi, delta = phi_delta_of_counts(*safe_for_products(tp, fp, positives, negatives))
        true_count = tp + fp
        is_uniform = (true_count == 0) | (true_count == positives + negatives)
        is_constant = np.isnan(true_count) | (is_uniform & (positives + negatives > 0))
        name_order = np.argsort(np.array(counts.names, object), kind="stable")
        name_ranks = np.argsort(name_order)  # the inverse of the order
        # fourteen digits: what differs by rounding alone is equal
        sort_keys = (name_ranks, np.round(np.abs(phi), 14), -np.round(np.abs(delta), 14))
        order = np.lexsort([np.nan_to_num(key, nan=2.0) for key in sort_keys])
        cells = np.column_stack([tp, fp, positives - tp, negatives - fp])
        return cls(counts, cells, phi, delta, is_constant).take(order)

    def take(self, indices: Ints) -> RankedFeatures:
        """Return the features at these indices."""
        arrays: list[Any] = [self.cells, self.phi, self.delta, self.constant]
        return RankedFeatures(self.counts.take(indices), *(array[indices] for array in arrays))


def select_features(ranked: RankedFeatures, options: FeatureOptions) -> Ints:
    """Return the indices of the selected features: |phi| < phi_max, |phi| + |delta|/delta_min >= 1.

    In order of |delta|, at most `top`.
    """
    phi_max, delta_min = options.limits
    abs_phi = np.abs(ranked.phi)
    abs_delta = np.abs(ranked.delta)
    with np.errstate(invalid="ignore"):
        is_selected = (abs_phi < phi_max) & (abs_phi + abs_delta / delta_min >= 1 - 1e-12)
    selected_indices = np.flatnonzero(is_selected)
    return selected_indices if options.top is None else selected_indices[: options.top]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureNumbers:
    """Counts and rates of k features, as their rows show them.

    totals (k, 2): rows, and rows with missing values. rates (k, 3): cut, sensitivity, fpr.
    """

    ranked: RankedFeatures
    totals: Counts
    rates: Floats

    @classmethod
    def from_ranked(cls, ranked: RankedFeatures) -> FeatureNumbers:
        """Return the numbers of all features, computed at once."""
        counts = ranked.counts
        tp, fp = ranked.cells.T[:2]
        # a row of an array becomes numbers at once, which is much faster than one by one
        row_totals = np.column_stack([counts.positives + counts.negatives, counts.missing])
        cuts = np.clip(counts.cuts, -LARGEST, LARGEST)
        cuts_and_rates = [cuts, divide(tp, counts.positives), divide(fp, counts.negatives)]
        return cls(ranked, from_units(row_totals, counts.unit), np.column_stack(cuts_and_rates))

    def row(self, index: int) -> dict[str, Any]:
        """Return the columns of a feature before `phi`."""
        counts = self.ranked.counts
        rows, missing = self.totals[index].tolist()
        cells = self.ranked.cells[index]
        # None for NaN, an integer for a whole number
        support, tp, fp, fn, tn = (
            None if number != number else int(number) if number == int(number) else number
            for number in from_units(np.append(cells[:2].sum(), cells), counts.unit).tolist()
        )
        cut, sensitivity, fpr = map(_none_for_nan, self.rates[index].tolist())
        return {
            "feature": counts.names[index],
            "column": counts.columns[index],
            "kind": counts.kinds[index],
            "cut": cut,
            "rule": counts.rules[index],
            "rows": rows,
            "missing": missing,
            "support": support,
            "tp": tp,
            "fp": fp,
            "fn": fn,
            "tn": tn,
            "sensitivity": sensitivity,
            "fpr": fpr,
        }


def feature_table(
    ranked: RankedFeatures,
    level: float | None,
    selected_indices: Ints | None,
    is_significant: list[bool] | None,
    *,
    corrected: bool = False,
) -> Rows:
    """Return one row per feature; with `selected_indices` also whether it is selected.

    is_significant: whether each feature differs from chance, by Benjamini-Hochberg p-values; None
    without a level. corrected: also delta of cuts by cross-fitting, which roles use.
    """
    selected_set = None if selected_indices is None else set(selected_indices.tolist())
    feature_numbers = FeatureNumbers.from_ranked(ranked)
    limited_positions = [_with_limits(ranked, sign, level) for sign in PHI_AND_DELTA]
    tested_positions = limited_positions
    if corrected:
        tested_positions = [
            _with_limits(ranked, sign, level, held_out=True) for sign in PHI_AND_DELTA
        ]
        if is_significant is None:  # a chosen threshold cannot be tested without a level
            is_significant = [False] * len(ranked.counts)

    def make_row(index: int) -> Row:
        row = feature_numbers.row(index)
        phi, delta = (_position_estimate(ranked, index, position) for position in limited_positions)
        tested_estimates = [
            _position_estimate(ranked, index, position) for position in tested_positions
        ]
        row |= {"phi": phi, "delta": delta}
        if corrected:
            row["corrected_delta"] = tested_estimates[1]
        is_on_border = 0 in (row["tp"], row["fp"], row["fn"], row["tn"])
        implied_rules = implications(ranked, index) if is_on_border else []
        row["role"] = feature_role(
            *tested_estimates, significant=None if is_significant is None else is_significant[index]
        )
        row["implications"] = [rule for rule, _ in implied_rules]
        if selected_set is not None:
            row["selected"] = index in selected_set
        return as_row(row)

    return LazyRows(len(ranked.counts), make_row)


def differ_from_chance(ranked: RankedFeatures, level: float | None) -> list[bool] | None:
    """Return which features differ from chance, at a false discovery rate of 1 - level."""
    if level is None:
        return None
    is_significant = benjamini_hochberg(chance_p_values(ranked)) < 1 - level
    return list((is_significant | _soft_features(ranked.counts)).tolist())


def chance_p_values(ranked: RankedFeatures) -> Floats:
    """Return the p-values of delta = 0, (k,); NaN for soft votes, which have no interval.

    For a chosen threshold the greater of the cross-fitted p and that of the largest delta of any.
    """
    counts = ranked.counts
    tp, fp = _held_out_counts(counts)
    is_soft = np.isnan(tp) | _soft_features(counts)
    tp = np.where(is_soft, 0, tp)
    fp = np.where(is_soft, 0, fp)
    p_values = proportions_p_value(tp, counts.positives, fp, counts.negatives)
    is_cross_fitted = _cross_fitted_features(counts)
    if is_cross_fitted.any():
        largest_p_values = smirnov_p_value(np.abs(ranked.delta), counts.positives, counts.negatives)
        p_values = np.where(is_cross_fitted, np.maximum(p_values, largest_p_values), p_values)
    return np.where(is_soft, np.nan, p_values)


def _soft_features(counts: FeatureCounts) -> Bools:
    """Return which features have soft votes, (k,)."""
    return np.array([rule == "soft" for rule in counts.rules], bool)


def _cross_fitted_features(counts: FeatureCounts) -> Bools:
    """Return which features have a threshold chosen on these rows, (k,)."""
    return ~np.isnan(counts.held_tp)


def _held_out_counts(counts: FeatureCounts) -> tuple[Floats, Floats]:
    """Return TP and FP; of features with a chosen threshold those of held-out folds, or NaN."""
    has_no_chosen_cut = np.isnan(counts.held_tp)
    is_unassigned = np.isinf(counts.held_tp)
    held_tp, held_fp = (
        np.where(is_unassigned, np.nan, held_counts)
        for held_counts in (counts.held_tp, counts.held_fp)
    )
    return np.where(has_no_chosen_cut, counts.tp, held_tp), np.where(
        has_no_chosen_cut, counts.fp, held_fp
    )


def feature_role(phi: Estimate, delta: Estimate, *, significant: bool | None = None) -> str | None:
    """Return the role of a feature, or None.

    |phi| >= 0.8: pervasive (phi > 0, nearly always true) or rare (phi < 0, nearly never); else
    covariant (delta > 0) or contravariant (delta < 0), where significantly different from 0.
    """
    if phi.value is None or delta.value is None:
        return None
    if abs(phi.value) >= NEARLY:
        return "pervasive" if phi.value > 0 else "rare"
    if significant is None:
        significant = not covers_zero(delta)
    if not delta.value or not significant:
        return None
    return "covariant" if delta.value > 0 else "contravariant"


def implications(ranked: RankedFeatures, index: int) -> list[tuple[str, int]]:
    """Return the implications without an exception in these rows, with their support.

    fp = 0: f -> c (upper left border); fn = 0: not f -> not c (upper right); tp = 0: f -> not c
    (lower left); tn = 0: not f -> c (lower right). None for constant features or one class.
    """
    counts = ranked.counts
    has_both_classes = counts.positives[index] > 0 and counts.negatives[index] > 0
    if ranked.constant[index] or counts.rules[index] == "soft" or not has_both_classes:
        return []
    tp, fp, fn, tn = ranked.cells[index].tolist()
    rules = (("f → c", fp, tp), ("¬f → ¬c", fn, tn), ("f → ¬c", tp, fp), ("¬f → c", tn, fn))
    return [(rule, support) for rule, exceptions, support in rules if not exceptions and support]


def implication_table(ranked: RankedFeatures, level: float | None) -> Rows:
    """Return one row per implication: support, and confidence with its exact lower limit.

    confidence: rows with both sides / rows with the left one; no limit for chosen thresholds.
    """
    counts = ranked.counts
    border_indices = np.flatnonzero((ranked.cells == 0).any(axis=1)).tolist()
    implied_rules = [
        (index, *implication)
        for index in border_indices
        for implication in implications(ranked, index)
    ]
    supports = np.array([support for *_, support in implied_rules])
    estimates = proportion_estimates(supports, supports, "too_few_rows", level=level)
    is_cross_fitted = _cross_fitted_features(counts)
    return [
        as_row(
            {
                "feature": counts.names[index],
                "implication": rule,
                "support": from_units(support, counts.unit),
                "confidence": Estimate(confidence.value) if is_cross_fitted[index] else confidence,
            }
        )
        for (index, rule, support), confidence in zip(implied_rules, estimates, strict=True)
    ]


def _with_limits(
    ranked: RankedFeatures, sign: int, level: float | None, *, held_out: bool = False
) -> Floats:
    """Return phi (sign 1) or delta (sign -1) with its limits, (k, 3).

    There are no limits for soft votes, nor for chosen thresholds unless held out.
    """
    counts = ranked.counts
    shift = -1.0 if sign == 1 else 0.0
    values = ranked.phi if sign == 1 else ranked.delta
    is_cross_fitted = _cross_fitted_features(counts)
    has_no_limits = _soft_features(counts)
    if held_out:
        tp, fp = _held_out_counts(counts)
        held_out_values = divide(tp, counts.positives) + sign * divide(fp, counts.negatives) + shift
        values = np.where(is_cross_fitted, held_out_values, values)
    else:
        tp, fp = counts.tp, counts.fp
        has_no_limits |= is_cross_fitted
    lower, upper = np.full((2, len(counts)), np.nan)
    if level is not None and not has_no_limits.all():
        tp = np.where(has_no_limits, 0, tp)
        fp = np.where(has_no_limits, 0, fp)
        _, *bounds = combine_proportions(
            1, sign, tp, counts.positives, fp, counts.negatives, level=level
        )
        lower, upper = (np.where(has_no_limits, np.nan, bound + shift) for bound in bounds)
    return np.column_stack([values, np.minimum(lower, values), np.maximum(upper, values)])


def _position_estimate(ranked: RankedFeatures, index: int, limited_positions: Floats) -> Estimate:
    """Return phi or delta of a feature; limited_positions (k, 3): see `_with_limits`."""
    value, low, high = map(_none_for_nan, limited_positions[index].tolist())
    reason = CONSTANT if ranked.constant[index] else None
    if value is None and reason is None:
        reason = "too_few_rows" if ranked.counts.unit == 1 else "fractional_weights"
    return Estimate(value, low, high, reason)


def _none_for_nan(number: float) -> float | None:
    """Return None for NaN."""
    return None if number != number else number


def feature_result(
    features: CountedFeatures, plane: PlaneOptions, options: FeatureOptions
) -> Document:
    """Return the result of phidelta for features with every requested table."""
    level = plane.confidence
    _refuse_features(features, level, options.cut)
    ranked = RankedFeatures.from_counts(features.counts)
    selected_indices = select_features(ranked, options) if options.select else None
    is_significant = differ_from_chance(ranked, level)
    feature_rows = feature_table(
        ranked, level, selected_indices, is_significant, corrected=options.cut == "best"
    )
    tables: dict[str, Rows] = {}
    if selected_indices is not None:
        tables["selected"] = LazyRows(
            len(selected_indices), lambda row_index: feature_rows[int(selected_indices[row_index])]
        )
    tables |= {"features": feature_rows, "implications": implication_table(ranked, level)}
    tables |= plane_tables(plane)
    answer = feature_answer(
        strongest_features(ranked, feature_rows, level),
        _chance_tests(is_significant, len(feature_rows), level),
        None if selected_indices is None else len(selected_indices),
        options.top,
    )
    summary = _class_summary(features.classes) | {
        "features": len(ranked.counts),
        "constant": int(ranked.constant.sum()),
        **({} if selected_indices is None else {"selected": len(selected_indices)}),
    }
    return Document(
        command="phidelta",
        signature=_feature_signature(features, plane, options),
        inputs=features.files,
        parameters=_feature_parameters(features, plane, options),
        summary=summary,
        tables=tables,
        answer=answer,
        warnings=(
            *_counting_notes(features, ranked, options),
            *_selection_notes(tables.get("selected", ())),
            *isometric_notes(plane, tables, summary["odds"]),
        ),
    )


def _refuse_features(features: CountedFeatures, level: float | None, cut: Cut | None) -> None:
    """Raise UsageError for intervals of fractional weights, and for --cut without numbers."""
    if level is not None and features.classes.fractional:
        raise fractional_weights_error()
    if cut is not None and not any(rule is not None for rule in features.counts.rules):
        message = f"{OPTION}--cut{END} needs numeric features, and no feature is numeric"
        raise UsageError.new(message, "needs-numbers", hint=f"omit {OPTION}--cut{END}")


def strongest_features(
    ranked: RankedFeatures, feature_rows: Rows, level: float | None
) -> StrongestFeatures:
    """Return the features with the largest |delta|; `feature_rows`: of all features."""
    with np.errstate(invalid="ignore"):
        tie_count = int((np.abs(ranked.delta) > abs(ranked.delta[:1]) - ROUNDING).sum())
    # of the first feature, adjusted by Bonferroni's rule
    first_p = chance_p_values(ranked.take(np.arange(min(len(feature_rows), 1))))
    adjusted_p = first_p * len(feature_rows)
    may_be_chance = level is not None and bool((adjusted_p >= 1 - level).any())
    return StrongestFeatures(
        feature_rows[: min(tie_count, MAX_NAMED) or 1], tie_count, may_be_chance, level or 0.95
    )


def _chance_tests(
    is_significant: list[bool] | None, feature_count: int, level: float | None
) -> ChanceTests:
    """Return how many features do not differ from chance; none are tested without a level."""
    error_rate = 0.0 if level is None else 1 - level
    return ChanceTests(
        feature_count,
        insignificant=is_significant.count(False) if is_significant else 0,
        false_positives=error_rate * feature_count,
    )


def _class_summary(classes: ClassCounts) -> dict[str, Any]:
    """Return rows and class totals, and the class ratio."""
    population = Population.from_counts(classes.positives, classes.negatives, classes.unit)
    return {
        "rows": from_units(classes.positives + classes.negatives, classes.unit),
        "positives": from_units(classes.positives, classes.unit),
        "negatives": from_units(classes.negatives, classes.unit),
        "prevalence": population.prevalence,
        "odds": population.odds,
    }


def _feature_signature(
    features: CountedFeatures, plane: PlaneOptions, options: FeatureOptions
) -> str:
    """Return the settings that change numbers, and the hashes of files and statistics."""
    phi_max, delta_min = options.limits
    selection_text = f"{phi_max:g},{delta_min:g},{options.top or 'all'}" if options.select else None
    return build_signature(
        "cmd pos cut miss only weight select ci",
        {
            "cmd": "phidelta features",
            "pos": features.classes.positive,
            "cut": "default" if options.cut is None else options.cut,
            "miss": features.roles.missing,
            "only": ",".join(features.requested),
            "weight": "yes" if features.roles.weight else None,
            "select": selection_text,
            "ci": plane.signed,
        },
        features.roles,
        plane,
        options,
        files=features.files,
        statistics=features.counts.digest(),
    )


def _feature_parameters(
    features: CountedFeatures, plane: PlaneOptions, options: FeatureOptions
) -> dict[str, Any]:
    """Return every setting of the result, in its resolved form."""
    classes = features.classes
    phi_max, delta_min = options.limits if options.select else (None, None)
    return build_parameters(
        "mode positive negative level interval interval_methods targets isometrics missing "
        "cut phi_max delta_min top",
        {
            "mode": "features",
            "positive": classes.positive,
            "negative": [name for name in classes.classes if name != classes.positive],
            "phi_max": phi_max,
            "delta_min": delta_min,
            **plane_parameters(plane),
        },
        features.roles,
        plane,
        options,
        omitted="by",
    )


def _counting_notes(
    features: CountedFeatures, ranked: RankedFeatures, options: FeatureOptions
) -> Iterator[ResultNote]:
    """Yield notes on rows, entries and values left out, chosen thresholds, constant features."""
    yield from exclusion_notes(features.files, features.blank_rows)
    if features.nameless:
        text = f"{features.nameless:,} entries lack a row or a feature and are left out"
        yield ResultNote("dropped", text)
    if options.cut == "best":
        text = "thresholds are chosen on these rows; the corrected δ is expected on new data"
        yield ResultNote("chosen-cuts", text)
    gap_count = int((features.counts.missing > 0).sum())
    if gap_count:
        subject, pronoun = ("feature has", "its") if gap_count == 1 else ("features have", "their")
        text = f"{gap_count:,} {subject} missing values, which are left out of {pronoun} counts"
        yield ResultNote("feature-gaps", text)
    if ranked.constant.any():
        constant_names = list_names(compress(ranked.counts.names, ranked.constant), 5)
        text = f"constant features, true in every row or in no row: {constant_names}"
        yield ResultNote("constant-features", text)
    if features.entries:
        text = (
            f"only rows with an entry count; {OPTION}--truth-table{END} (Python, batches) adds "
            "others"
        )
        yield ResultNote("rows-from-entries", text)


def _selection_notes(selected_rows: Rows) -> Iterator[ResultNote]:
    """Yield a note on selected features that are not significantly different from chance."""
    unsure_count = sum(
        covers_zero(row.get("corrected_delta", row["delta"])) for row in selected_rows
    )
    if unsure_count:
        text = f"{unsure_count:,} of the {len(selected_rows):,} selected features are not "
        text += f"significantly different from chance (δ 0); a lower {OPTION}--phi-max{END} "
        text += "excludes more of them"
        yield ResultNote("unsure-selected", text)
