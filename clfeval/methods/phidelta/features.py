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

from clfeval.arrays import Bools, Counts, Floats, Ints, divide
from clfeval.counts.features.count import CountedFeatures
from clfeval.counts.features.cuts import FeatureCounts
from clfeval.counts.patterns import from_units, safe_for_products
from clfeval.document import Document, Estimate, ResultNote, Row, Rows
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
from clfeval.methods.phidelta.answer import covers_zero, feature_answer
from clfeval.methods.phidelta.options import FeatureOptions, PlaneOptions
from clfeval.methods.phidelta.result import isometric_notes, plane_parameters, plane_tables
from clfeval.methods.provenance import build_parameters, build_signature, exclusion_notes
from clfeval.records import dataclass

LARGEST = float(np.finfo(np.float64).max)  # stands for infinity, which JSON lacks
NEARLY = 0.8  # |phi| from which a feature is nearly always, or nearly never, true
CONSTANT = "constant_feature"
MAX_NAMED = 3  # features of equal delta, by name
ROUNDING = 1e-14


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
        said = tp + fp
        constant = np.isnan(said) | (((said == 0) | (said == p + n)) & (p + n > 0))
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
    phi, delta = np.abs(ranked.phi), np.abs(ranked.delta)
    with np.errstate(invalid="ignore"):
        inside = (phi < phi_max) & (phi + delta / delta_min >= 1 - 1e-12)
    places = np.flatnonzero(inside)
    return places if options.top is None else places[: options.top]


def feature_table(
    ranked: RankedFeatures,
    level: float | None,
    selected: Ints | None,
    told: list[bool] | None,
    *,
    honest: bool = False,
) -> Rows:
    """Return one row per feature; with `selected` (places) also whether it is selected.

    honest: also delta of cuts by cross-fitting. Roles use it, and Benjamini-Hochberg p-values.
    """
    counts, (tp, fp) = ranked.counts, ranked.cells.T[:2]
    kept = None if selected is None else set(selected.tolist())
    # a row of an array becomes numbers at once, which is much faster than one by one
    both = np.column_stack([counts.positives + counts.negatives, counts.missing])
    totals = from_units(both, counts.unit)
    cuts = np.clip(counts.cuts, -LARGEST, LARGEST)
    numbers = np.column_stack([cuts, divide(tp, counts.positives), divide(fp, counts.negatives)])
    phis, deltas = _with_limits(ranked, 1, level), _with_limits(ranked, -1, level)
    held = [_with_limits(ranked, sign, level, held=True) for sign in (1, -1)] if honest else []
    if honest and told is None:  # a chosen threshold cannot be tested without a level
        told = [False] * len(counts)

    def make(i: int) -> Row:
        rows, missing = totals[i].tolist()
        cells = ranked.cells[i]
        # None for NaN, an integer for a whole number
        support, tp, fp, fn, tn = (
            None if n != n else int(n) if n == int(n) else n
            for n in from_units(np.append(cells[:2].sum(), cells), counts.unit).tolist()
        )
        cut, sensitivity, fpr = map(_none_for_nan, numbers[i].tolist())
        phi, delta = _position_estimate(ranked, i, phis), _position_estimate(ranked, i, deltas)
        border = 0 in (tp, fp, fn, tn)
        judged = [_position_estimate(ranked, i, places) for places in held] or [phi, delta]
        known = None if told is None else told[i]
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
            "phi": phi,
            "delta": delta,
            **({"corrected_delta": judged[1]} if honest else {}),
            "role": feature_role(*judged, told=known),
            "implications": [name for name, _ in implications(ranked, i)] if border else [],
            **({} if kept is None else {"selected": i in kept}),
        }

    return LazyRows(len(counts), make)


def differ_from_chance(ranked: RankedFeatures, level: float | None) -> list[bool] | None:
    """Return which features differ from chance, at a false discovery rate of 1 - level."""
    if level is None:
        return None
    soft = np.array([rule == "soft" for rule in ranked.counts.rules], bool)
    return list(((benjamini_hochberg(chance_p_values(ranked)) < 1 - level) | soft).tolist())


def chance_p_values(ranked: RankedFeatures) -> Floats:
    """Return the p-values of delta = 0, (k,); NaN for soft votes, which have no interval.

    For a chosen threshold the greater of the cross-fitted p and that of the largest delta of any.
    """
    counts, (tp, fp) = ranked.counts, _held_out_counts(ranked.counts)
    soft = np.isnan(tp) | np.array([rule == "soft" for rule in counts.rules], bool)
    tp, fp = np.where(soft, 0, tp), np.where(soft, 0, fp)
    p = proportions_p_value(tp, counts.positives, fp, counts.negatives)
    chosen = ~np.isnan(counts.held_tp)
    if chosen.any():
        largest = smirnov_p_value(np.abs(ranked.delta), counts.positives, counts.negatives)
        p = np.where(chosen, np.maximum(p, largest), p)
    return np.where(soft, np.nan, p)


def _held_out_counts(counts: FeatureCounts) -> tuple[Floats, Floats]:
    """Return TP and FP, from held-out folds for features with a chosen threshold."""
    free, undealt = np.isnan(counts.held_tp), np.isinf(counts.held_tp)
    tp, fp = (np.where(undealt, np.nan, part) for part in (counts.held_tp, counts.held_fp))
    return np.where(free, counts.tp, tp), np.where(free, counts.fp, fp)


def feature_role(phi: Estimate, delta: Estimate, *, told: bool | None = None) -> str | None:
    """Return the role of a feature, or None.

    |phi| >= 0.8: pervasive (phi > 0, nearly always true) or rare (phi < 0, nearly never); else
    covariant (delta > 0) or contravariant (delta < 0), where significantly different from 0.
    """
    if phi.value is None or delta.value is None:
        return None
    if abs(phi.value) >= NEARLY:
        return "pervasive" if phi.value > 0 else "rare"
    if not delta.value or (covers_zero(delta) if told is None else not told):
        return None
    return "covariant" if delta.value > 0 else "contravariant"


def implications(ranked: RankedFeatures, i: int) -> list[tuple[str, int]]:
    """Return the implications without an exception in these rows, with their support.

    fp = 0: f -> c (upper left border); fn = 0: not f -> not c (upper right); tp = 0: f -> not c
    (lower left); tn = 0: not f -> c (lower right). None for constant features or one class.
    """
    counts = ranked.counts
    both = counts.positives[i] > 0 and counts.negatives[i] > 0
    if ranked.constant[i] or counts.rules[i] == "soft" or not both:
        return []
    tp, fp, fn, tn = ranked.cells[i].tolist()
    rules = (("f → c", fp, tp), ("¬f → ¬c", fn, tn), ("f → ¬c", tp, fp), ("¬f → c", tn, fn))
    return [(rule, support) for rule, against, support in rules if not against and support]


def implication_table(ranked: RankedFeatures, level: float | None) -> Rows:
    """Return one row per implication: support, and confidence with its exact lower limit.

    confidence: rows with both sides / rows with the left one; no limit for chosen thresholds.
    """
    counts, on_borders = ranked.counts, np.flatnonzero((ranked.cells == 0).any(axis=1)).tolist()
    found = [(i, *implied) for i in on_borders for implied in implications(ranked, i)]
    supports = np.array([support for _, _, support in found])
    sure = proportion_estimates(supports, supports, "too_few_rows", level=level)
    chosen = ~np.isnan(counts.held_tp)
    return [
        {
            "feature": counts.names[i],
            "implication": rule,
            "support": from_units(support, counts.unit),
            "confidence": Estimate(one.value) if chosen[i] else one,
        }
        for (i, rule, support), one in zip(found, sure, strict=True)
    ]


def _with_limits(
    ranked: RankedFeatures, sign: int, level: float | None, *, held: bool = False
) -> Floats:
    """Return phi (sign 1) or delta (-1), (k, 3), no limits for soft votes, chosen thresholds."""
    counts, shift = ranked.counts, -1.0 if sign == 1 else 0.0
    values, chosen = ranked.phi if sign == 1 else ranked.delta, ~np.isnan(counts.held_tp)
    none = np.array([rule == "soft" for rule in counts.rules], bool)
    tp, fp = _held_out_counts(counts) if held else (counts.tp, counts.fp)
    if held:
        there = divide(tp, counts.positives) + sign * divide(fp, counts.negatives) + shift
        values = np.where(chosen, there, values)
    else:
        none |= chosen
    low, high = np.full((2, len(counts)), np.nan)
    if level is not None and not none.all():
        tp, fp = np.where(none, 0, tp), np.where(none, 0, fp)
        _, *ends = combine_proportions(
            1, sign, tp, counts.positives, fp, counts.negatives, level=level
        )
        low, high = (np.where(none, np.nan, bound + shift) for bound in ends)
    return np.column_stack([values, np.minimum(low, values), np.maximum(high, values)])


def _position_estimate(ranked: RankedFeatures, i: int, places: Floats) -> Estimate:
    value, low, high = map(_none_for_nan, places[i].tolist())
    why = CONSTANT if ranked.constant[i] else None
    if value is None and why is None:
        why = "too_few_rows" if ranked.counts.unit == 1 else "fractional_weights"
    return Estimate(value, low, high, why)


def _none_for_nan(number: float) -> float | None:
    """Return None for NaN."""
    return None if number != number else number


def feature_result(
    counted: CountedFeatures, plane: PlaneOptions, options: FeatureOptions
) -> Document:
    """Return the result of phidelta for features with every requested table."""
    classes, level = counted.classes, plane.confidence
    if level is not None and classes.fractional:
        raise fractional_weights_error()
    if options.cut is not None and not any(rule is not None for rule in counted.counts.rules):
        what = "--cut needs numeric features, and no feature is numeric"
        raise UsageError.new(what, "needs-numbers", hint="omit --cut")
    ranked = RankedFeatures.from_counts(counted.counts)
    selected = select_features(ranked, options) if options.select else None
    tables: dict[str, Rows] = {}
    told = differ_from_chance(ranked, level)
    everything = feature_table(ranked, level, selected, told, honest=options.cut == "best")
    if selected is not None:
        tables["selected"] = LazyRows(len(selected), lambda i: everything[int(selected[i])])
    tables |= {"features": everything, "implications": implication_table(ranked, level)}
    tables |= plane_tables(plane)
    with np.errstate(invalid="ignore"):
        alike = int((np.abs(ranked.delta) > abs(ranked.delta[:1]) - ROUNDING).sum())
    many, wrong = len(everything), 0.0 if level is None else 1 - level
    # adjusted by Bonferroni's rule
    p = chance_p_values(ranked.take(np.arange(min(many, 1)))) * many
    by_chance = level is not None and bool((p >= wrong).any())
    answer = feature_answer(
        everything[: min(alike, MAX_NAMED) or 1],
        alike,
        told.count(False) if told else 0,
        many,
        None if selected is None else len(selected),
        by_chance=by_chance,
        top=options.top,
        expected=wrong * many,
        level=level or 0.95,
    )
    ratio = Population.from_counts(classes.positives, classes.negatives, classes.unit)
    totals = {"positives": classes.positives, "negatives": classes.negatives}
    said, limits = counted.roles, options.limits if options.select else None
    wanted = limits and f"{limits[0]:g},{limits[1]:g},{options.top or 'all'}"
    return Document(
        command="phidelta",
        signature=build_signature(
            "cmd pos cut miss only weight select ci",
            {
                "cmd": "phidelta features",
                "pos": classes.positive,
                "cut": "default" if options.cut is None else options.cut,
                "miss": said.missing,
                "only": ",".join(counted.wanted),
                "weight": "yes" if said.weight else None,
                "select": wanted,
                "ci": plane.signed,
            },
            said,
            plane,
            options,
            files=counted.files,
            statistics=counted.counts.digest(),
        ),
        inputs=counted.files,
        parameters=build_parameters(
            "mode positive negative level interval interval_methods targets isometrics missing "
            "cut phi_max delta_min top",
            {
                "mode": "features",
                "positive": classes.positive,
                "negative": [name for name in classes.classes if name != classes.positive],
                "phi_max": limits and limits[0],
                "delta_min": limits and limits[1],
                **plane_parameters(plane),
            },
            said,
            plane,
            options,
            without="by",
        ),
        summary={
            "rows": from_units(classes.positives + classes.negatives, classes.unit),
            **{name: from_units(n, classes.unit) for name, n in totals.items()},
            "prevalence": ratio.prevalence,
            "odds": ratio.odds,
            "features": len(ranked.counts),
            "constant": int(ranked.constant.sum()),
            **({} if selected is None else {"selected": len(selected)}),
        },
        tables=tables,
        answer=answer,
        warnings=(
            *_warnings(counted, ranked, options, tables.get("selected", ())),
            *isometric_notes(plane, tables, ratio.odds),
        ),
    )


def _warnings(
    counted: CountedFeatures, ranked: RankedFeatures, options: FeatureOptions, selected: Rows
) -> Iterator[ResultNote]:
    yield from exclusion_notes(counted.files, counted.blank_rows)
    if counted.nameless:
        text = f"{counted.nameless:,} entries lack a row or a feature and are left out"
        yield ResultNote("dropped", text)
    if options.cut == "best":
        text = "thresholds are chosen on these rows; the corrected δ is expected on new data"
        yield ResultNote("chosen-cuts", text)
    gaps = int((counted.counts.missing > 0).sum())
    if gaps:
        lack, its = ("feature has", "its") if gaps == 1 else ("features have", "their")
        text = f"{gaps:,} {lack} missing values, which are left out of {its} counts"
        yield ResultNote("feature-gaps", text)
    if ranked.constant.any():
        names = list_names(compress(ranked.counts.names, ranked.constant), 5)
        text = f"constant features, true in every row or in no row: {names}"
        yield ResultNote("constant-features", text)
    if counted.entries:
        text = "only rows with an entry count; --truth-table (Python, batches) adds others"
        yield ResultNote("rows-from-entries", text)
    unsure = sum(covers_zero(row.get("corrected_delta", row["delta"])) for row in selected)
    if unsure:
        text = f"{unsure:,} of the {len(selected):,} selected features are not significantly "
        text += "different from chance (δ 0); a lower --phi-max excludes more of them"
        yield ResultNote("unsure-selected", text)
