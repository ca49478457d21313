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
        tp, fp, p, n = counts.tp, counts.fp, counts.positives, counts.negatives
        phi, delta = phi_delta_of_counts(*safe_for_products(tp, fp, p, n))
        true_rows = tp + fp
        uniform = (true_rows == 0) | (true_rows == p + n)
        constant = np.isnan(true_rows) | (uniform & (p + n > 0))
        names = np.argsort(np.argsort(np.array(counts.names, object), kind="stable"))
        # fourteen digits: what differs by rounding alone is equal
        keys = (names, np.round(np.abs(phi), 14), -np.round(np.abs(delta), 14))
        order = np.lexsort([np.nan_to_num(key, nan=2.0) for key in keys])
        cells = np.column_stack([tp, fp, p - tp, n - fp])
        return cls(counts, cells, phi, delta, constant).take(order)

    def take(self, places: Ints) -> RankedFeatures:
        """Return the features at these places."""
        arrays: list[Any] = [self.cells, self.phi, self.delta, self.constant]
        return RankedFeatures(self.counts.take(places), *(array[places] for array in arrays))


def select_features(ranked: RankedFeatures, options: FeatureOptions) -> Ints:
    """Return the places of the selected features: |phi| < phi_max, |phi| + |delta|/delta_min >= 1.

    In order of |delta|, at most `top`.
    """
    phi_max, delta_min = options.limits
    phi = np.abs(ranked.phi)
    delta = np.abs(ranked.delta)
    with np.errstate(invalid="ignore"):
        within_limits = (phi < phi_max) & (phi + delta / delta_min >= 1 - 1e-12)
    places = np.flatnonzero(within_limits)
    return places if options.top is None else places[: options.top]


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
        """Compute the numbers of all features at once."""
        counts = ranked.counts
        tp, fp = ranked.cells.T[:2]
        # a row of an array becomes numbers at once, which is much faster than one by one
        rows = np.column_stack([counts.positives + counts.negatives, counts.missing])
        cuts = np.clip(counts.cuts, -LARGEST, LARGEST)
        rates = [cuts, divide(tp, counts.positives), divide(fp, counts.negatives)]
        return cls(ranked, from_units(rows, counts.unit), np.column_stack(rates))

    def row(self, i: int) -> dict[str, Any]:
        """Return the columns of a feature before `phi`."""
        counts = self.ranked.counts
        rows, missing = self.totals[i].tolist()
        cells = self.ranked.cells[i]
        # None for NaN, an integer for a whole number
        support, tp, fp, fn, tn = (
            None if n != n else int(n) if n == int(n) else n
            for n in from_units(np.append(cells[:2].sum(), cells), counts.unit).tolist()
        )
        cut, sensitivity, fpr = map(_none_for_nan, self.rates[i].tolist())
        return {
            "feature": counts.names[i],
            "column": counts.columns[i],
            "kind": counts.kinds[i],
            "cut": cut,
            "rule": counts.rules[i],
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
    selected: Ints | None,
    significant: list[bool] | None,
    *,
    corrected: bool = False,
) -> Rows:
    """Return one row per feature; with `selected` (places) also whether it is selected.

    significant: whether each feature differs from chance, by Benjamini-Hochberg p-values; None
    without a level. corrected: also delta of cuts by cross-fitting, which roles use.
    """
    places = None if selected is None else set(selected.tolist())
    numbers = FeatureNumbers.from_ranked(ranked)
    positions = [_with_limits(ranked, sign, level) for sign in PHI_AND_DELTA]
    tested_positions = positions
    if corrected:
        tested_positions = [
            _with_limits(ranked, sign, level, held_out=True) for sign in PHI_AND_DELTA
        ]
        if significant is None:  # a chosen threshold cannot be tested without a level
            significant = [False] * len(ranked.counts)

    def make_row(i: int) -> Row:
        row = numbers.row(i)
        phi, delta = (_position_estimate(ranked, i, position) for position in positions)
        tested = [_position_estimate(ranked, i, position) for position in tested_positions]
        row |= {"phi": phi, "delta": delta}
        if corrected:
            row["corrected_delta"] = tested[1]
        on_border = 0 in (row["tp"], row["fp"], row["fn"], row["tn"])
        implied = implications(ranked, i) if on_border else []
        row["role"] = feature_role(
            *tested, significant=None if significant is None else significant[i]
        )
        row["implications"] = [rule for rule, _ in implied]
        if places is not None:
            row["selected"] = i in places
        return as_row(row)

    return LazyRows(len(ranked.counts), make_row)


def differ_from_chance(ranked: RankedFeatures, level: float | None) -> list[bool] | None:
    """Return which features differ from chance, at a false discovery rate of 1 - level."""
    if level is None:
        return None
    significant = benjamini_hochberg(chance_p_values(ranked)) < 1 - level
    return list((significant | _soft_features(ranked.counts)).tolist())


def chance_p_values(ranked: RankedFeatures) -> Floats:
    """Return the p-values of delta = 0, (k,); NaN for soft votes, which have no interval.

    For a chosen threshold the greater of the cross-fitted p and that of the largest delta of any.
    """
    counts = ranked.counts
    tp, fp = _held_out_counts(counts)
    soft = np.isnan(tp) | _soft_features(counts)
    tp = np.where(soft, 0, tp)
    fp = np.where(soft, 0, fp)
    p = proportions_p_value(tp, counts.positives, fp, counts.negatives)
    cross_fitted = _cross_fitted_features(counts)
    if cross_fitted.any():
        largest = smirnov_p_value(np.abs(ranked.delta), counts.positives, counts.negatives)
        p = np.where(cross_fitted, np.maximum(p, largest), p)
    return np.where(soft, np.nan, p)


def _soft_features(counts: FeatureCounts) -> Bools:
    """Return which features have soft votes, (k,)."""
    return np.array([rule == "soft" for rule in counts.rules], bool)


def _cross_fitted_features(counts: FeatureCounts) -> Bools:
    """Return which features have a threshold chosen on these rows, (k,)."""
    return ~np.isnan(counts.held_tp)


def _held_out_counts(counts: FeatureCounts) -> tuple[Floats, Floats]:
    """Return TP and FP, from held-out folds for features with a chosen threshold."""
    free = np.isnan(counts.held_tp)
    is_unassigned = np.isinf(counts.held_tp)
    tp, fp = (np.where(is_unassigned, np.nan, cells) for cells in (counts.held_tp, counts.held_fp))
    return np.where(free, counts.tp, tp), np.where(free, counts.fp, fp)


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


def implications(ranked: RankedFeatures, i: int) -> list[tuple[str, int]]:
    """Return the implications without an exception in these rows, with their support.

    fp = 0: f -> c (upper left border); fn = 0: not f -> not c (upper right); tp = 0: f -> not c
    (lower left); tn = 0: not f -> c (lower right). None for constant features or one class.
    """
    counts = ranked.counts
    has_both_classes = counts.positives[i] > 0 and counts.negatives[i] > 0
    if ranked.constant[i] or counts.rules[i] == "soft" or not has_both_classes:
        return []
    tp, fp, fn, tn = ranked.cells[i].tolist()
    rules = (("f → c", fp, tp), ("¬f → ¬c", fn, tn), ("f → ¬c", tp, fp), ("¬f → c", tn, fn))
    return [(rule, support) for rule, exceptions, support in rules if not exceptions and support]


def implication_table(ranked: RankedFeatures, level: float | None) -> Rows:
    """Return one row per implication: support, and confidence with its exact lower limit.

    confidence: rows with both sides / rows with the left one; no limit for chosen thresholds.
    """
    counts = ranked.counts
    on_borders = np.flatnonzero((ranked.cells == 0).any(axis=1)).tolist()
    rules = [(i, *implied) for i in on_borders for implied in implications(ranked, i)]
    supports = np.array([support for *_, support in rules])
    estimates = proportion_estimates(supports, supports, "too_few_rows", level=level)
    cross_fitted = _cross_fitted_features(counts)
    return [
        as_row(
            {
                "feature": counts.names[i],
                "implication": rule,
                "support": from_units(support, counts.unit),
                "confidence": Estimate(confidence.value) if cross_fitted[i] else confidence,
            }
        )
        for (i, rule, support), confidence in zip(rules, estimates, strict=True)
    ]


def _with_limits(
    ranked: RankedFeatures, sign: int, level: float | None, *, held_out: bool = False
) -> Floats:
    """Return phi (sign 1) or delta (-1), (k, 3), no limits for soft votes, chosen thresholds."""
    counts = ranked.counts
    shift = -1.0 if sign == 1 else 0.0
    values = ranked.phi if sign == 1 else ranked.delta
    cross_fitted = _cross_fitted_features(counts)
    unlimited = _soft_features(counts)
    if held_out:
        tp, fp = _held_out_counts(counts)
        estimates = divide(tp, counts.positives) + sign * divide(fp, counts.negatives) + shift
        values = np.where(cross_fitted, estimates, values)
    else:
        tp, fp = counts.tp, counts.fp
        unlimited |= cross_fitted
    low, high = np.full((2, len(counts)), np.nan)
    if level is not None and not unlimited.all():
        tp = np.where(unlimited, 0, tp)
        fp = np.where(unlimited, 0, fp)
        _, *limits = combine_proportions(
            1, sign, tp, counts.positives, fp, counts.negatives, level=level
        )
        low, high = (np.where(unlimited, np.nan, limit + shift) for limit in limits)
    return np.column_stack([values, np.minimum(low, values), np.maximum(high, values)])


def _position_estimate(ranked: RankedFeatures, i: int, positions: Floats) -> Estimate:
    value, low, high = map(_none_for_nan, positions[i].tolist())
    reason = CONSTANT if ranked.constant[i] else None
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
    selected = select_features(ranked, options) if options.select else None
    significant = differ_from_chance(ranked, level)
    rows = feature_table(ranked, level, selected, significant, corrected=options.cut == "best")
    tables: dict[str, Rows] = {}
    if selected is not None:
        tables["selected"] = LazyRows(len(selected), lambda i: rows[int(selected[i])])
    tables |= {"features": rows, "implications": implication_table(ranked, level)}
    tables |= plane_tables(plane)
    answer = feature_answer(
        strongest_features(ranked, rows, level),
        _chance_tests(significant, len(rows), level),
        None if selected is None else len(selected),
        options.top,
    )
    summary = _class_summary(features.classes) | {
        "features": len(ranked.counts),
        "constant": int(ranked.constant.sum()),
        **({} if selected is None else {"selected": len(selected)}),
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
    ranked: RankedFeatures, rows: Rows, level: float | None
) -> StrongestFeatures:
    """Return the features with the largest |delta|; `rows`: of all features."""
    with np.errstate(invalid="ignore"):
        ties = int((np.abs(ranked.delta) > abs(ranked.delta[:1]) - ROUNDING).sum())
    # adjusted by Bonferroni's rule
    p = chance_p_values(ranked.take(np.arange(min(len(rows), 1)))) * len(rows)
    by_chance = level is not None and bool((p >= 1 - level).any())
    return StrongestFeatures(rows[: min(ties, MAX_NAMED) or 1], ties, by_chance, level or 0.95)


def _chance_tests(
    significant: list[bool] | None, features: int, level: float | None
) -> ChanceTests:
    """Return how many features do not differ from chance; none are tested without a level."""
    error_rate = 0.0 if level is None else 1 - level
    return ChanceTests(
        features,
        insignificant=significant.count(False) if significant else 0,
        false_positives=error_rate * features,
    )


def _class_summary(classes: ClassCounts) -> dict[str, Any]:
    """Return rows and class totals, and the class ratio."""
    ratio = Population.from_counts(classes.positives, classes.negatives, classes.unit)
    return {
        "rows": from_units(classes.positives + classes.negatives, classes.unit),
        "positives": from_units(classes.positives, classes.unit),
        "negatives": from_units(classes.negatives, classes.unit),
        "prevalence": ratio.prevalence,
        "odds": ratio.odds,
    }


def _feature_signature(
    features: CountedFeatures, plane: PlaneOptions, options: FeatureOptions
) -> str:
    phi_max, delta_min = options.limits
    selection = f"{phi_max:g},{delta_min:g},{options.top or 'all'}" if options.select else None
    return build_signature(
        "cmd pos cut miss only weight select ci",
        {
            "cmd": "phidelta features",
            "pos": features.classes.positive,
            "cut": "default" if options.cut is None else options.cut,
            "miss": features.roles.missing,
            "only": ",".join(features.requested),
            "weight": "yes" if features.roles.weight else None,
            "select": selection,
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
    gaps = int((features.counts.missing > 0).sum())
    if gaps:
        lack, its = ("feature has", "its") if gaps == 1 else ("features have", "their")
        text = f"{gaps:,} {lack} missing values, which are left out of {its} counts"
        yield ResultNote("feature-gaps", text)
    if ranked.constant.any():
        names = list_names(compress(ranked.counts.names, ranked.constant), 5)
        text = f"constant features, true in every row or in no row: {names}"
        yield ResultNote("constant-features", text)
    if features.entries:
        text = (
            f"only rows with an entry count; {OPTION}--truth-table{END} (Python, batches) adds "
            "others"
        )
        yield ResultNote("rows-from-entries", text)


def _selection_notes(selected: Rows) -> Iterator[ResultNote]:
    """Yield a note on selected features that are not significantly different from chance."""
    unsure = sum(covers_zero(row.get("corrected_delta", row["delta"])) for row in selected)
    if unsure:
        text = f"{unsure:,} of the {len(selected):,} selected features are not significantly "
        text += f"different from chance (δ 0); a lower {OPTION}--phi-max{END} excludes more of them"
        yield ResultNote("unsure-selected", text)
