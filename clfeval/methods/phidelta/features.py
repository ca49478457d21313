"""From feature counts to the Result of phidelta for features.

A binary feature is a classifier with one feature: tp is the share of positives that have it, fp
the share of negatives. |delta| is its importance; phi tells whether it is nearly always true
(stop words) or nearly always false (rare terms).
Source: Armano 2015, Information Sciences 325:466.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Floats, Ints, over
from clfeval.counts.features import CountedFeatures
from clfeval.counts.features.cuts import FeatureCounts
from clfeval.counts.patterns import for_products
from clfeval.errors import Problem, UsageError
from clfeval.inference.shares import combination
from clfeval.measures.plane import counted_position
from clfeval.measures.population import Population
from clfeval.methods.document import blank_lines, dropped_rows, parameters, signature
from clfeval.methods.estimates import fractional_weights, proportions
from clfeval.methods.phidelta.options import FeatureOptions, PlaneOptions
from clfeval.methods.phidelta.result import lines_missing, plane_found, plane_tables, sure
from clfeval.result import Estimate, LazyRows, Result, Row, Rows, Warn

LARGEST = float(np.finfo(np.float64).max)  # stands for infinity, which JSON has not
NEARLY = 0.8  # |phi| from which a feature is nearly always, or nearly never, true
CONSTANT = "constant_feature"


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Features in order of importance, with their place in the plane; all arrays (k,).

    constant: true, or not true, in every row; soft votes of such a feature are undefined.
    """

    counts: FeatureCounts
    tp: Floats
    fp: Floats
    phi: Floats
    delta: Floats
    constant: Bools

    @classmethod
    def of(cls, counts: FeatureCounts) -> Ranked:
        """Order features by |delta|, largest first; equal ones by |phi|, then by name."""
        tp, fp = over(counts.tp, counts.positives), over(counts.fp, counts.negatives)
        whole = for_products(counts.tp, counts.fp, counts.positives, counts.negatives)
        phi, delta = counted_position(*whole)
        said = counts.tp + counts.fp
        everything = counts.positives + counts.negatives
        constant = np.isnan(said) | (((said == 0) | (said == everything)) & (everything > 0))
        names = np.argsort(np.argsort(np.array(counts.names, object), kind="stable"))
        # fourteen digits: what differs by rounding alone is equal
        keys = (names, np.round(np.abs(phi), 14), -np.round(np.abs(delta), 14))
        order = np.lexsort([np.nan_to_num(key, nan=2.0) for key in keys])
        return cls(counts, tp, fp, phi, delta, constant).take(order)

    def take(self, places: Ints) -> Ranked:
        """Return the features at these places."""
        return Ranked(
            self.counts.take(places), self.tp[places], self.fp[places], self.phi[places],
            self.delta[places], self.constant[places],
        )  # fmt: skip


def chosen(ranked: Ranked, options: FeatureOptions) -> Ints:
    """Return the places of the selected features: |phi| < phi_max, |phi| + |delta|/delta_min >= 1.

    They are in order of |delta|, and no more than `top` of them. The second rule admits whatever
    discriminates by delta_min or more, and less of that the nearer a feature is to a side corner.
    """
    phi_max, delta_min = options.limits
    phi, delta = np.abs(ranked.phi), np.abs(ranked.delta)
    with np.errstate(invalid="ignore"):
        inside = (phi < phi_max) & (phi + delta / delta_min >= 1 - 1e-12)
    places = np.flatnonzero(inside)
    return places if options.top is None else places[: options.top]


def feature_table(ranked: Ranked, level: float | None, selected: Ints | None = None) -> Rows:
    """Return one row per feature; with `selected` (places) also whether it is."""
    counts = ranked.counts
    marked = np.zeros(len(counts), bool)
    if selected is not None:
        marked[selected] = True
    p, n, tp, fp = counts.positives, counts.negatives, counts.tp, counts.fp
    # a row of an array becomes numbers at once, which is much faster than one by one
    totals = np.column_stack([p + n, counts.missing])
    cells = np.column_stack([tp + fp, tp, fp, p - tp, n - fp])
    numbers = np.column_stack([np.clip(counts.cuts, -LARGEST, LARGEST), ranked.tp, ranked.fp])
    phis, deltas = _with_bounds(ranked, 1, level), _with_bounds(ranked, -1, level)

    def make(i: int) -> Row:
        rows, missing = totals[i].tolist()
        support, tp, fp, fn, tn = map(_count, cells[i].tolist())
        cut, sensitivity, fpr = map(_number, numbers[i].tolist())
        phi, delta = _estimate(ranked, i, phis), _estimate(ranked, i, deltas)
        border = 0 in (tp, fp, fn, tn)
        return {
            "feature": counts.names[i], "column": counts.columns[i], "kind": counts.kinds[i],
            "cut": cut, "rule": counts.rules[i], "rows": rows, "missing": missing,
            "support": support, "tp": tp, "fp": fp, "fn": fn, "tn": tn, "sensitivity": sensitivity,
            "fpr": fpr, "phi": phi, "delta": delta, "role": role(phi, delta),
            "implications": [name for name, _ in implications(ranked, i)] if border else [],
            **({"selected": bool(marked[i])} if selected is not None else {}),
        }  # fmt: skip

    return LazyRows(len(counts), make)


def role(phi: Estimate, delta: Estimate) -> str | None:
    """Name the corner a feature is drawn to, None for none.

    |phi| >= 0.8: pervasive (phi > 0, nearly always true) or rare (phi < 0, nearly never); else
    covariant (delta > 0) or contravariant (delta < 0), unless the interval of delta covers 0.
    """
    if phi.value is None or delta.value is None:
        return None
    if abs(phi.value) >= NEARLY:
        return "pervasive" if phi.value > 0 else "rare"
    unsure = delta.low is not None and delta.high is not None and delta.low <= 0 <= delta.high
    if unsure or not delta.value:
        return None
    return "covariant" if delta.value > 0 else "contravariant"


def implications(ranked: Ranked, i: int) -> list[tuple[str, int]]:
    """Return what always held in these rows, with the number of rows that show it.

    fp = 0: f -> c (upper left border); fn = 0: not f -> not c (upper right); tp = 0: f -> not c
    (lower left); tn = 0: not f -> c (lower right). Nothing follows from a constant feature, nor
    where the feature is known of one class only.
    """
    counts = ranked.counts
    both = counts.positives[i] > 0 and counts.negatives[i] > 0
    if ranked.constant[i] or counts.rules[i] == "soft" or not both:
        return []
    tp, fp = counts.tp[i].item(), counts.fp[i].item()
    fn, tn = counts.positives[i].item() - tp, counts.negatives[i].item() - fp
    rules = (
        ("f → c", fp, tp), ("¬f → ¬c", fn, tn), ("f → ¬c", tp, fp), ("¬f → c", tn, fn),
    )  # fmt: skip
    return [(rule, support) for rule, against, support in rules if not against and support]


def implication_table(ranked: Ranked, level: float | None) -> Rows:
    """Return one row per implication: its support, and how surely it holds beyond these rows.

    confidence: the share of rows with the left side that have the right side, 1 here; its lower
    bound is exact.
    """
    found = [
        (i, rule, support) for i in _on_borders(ranked) for rule, support in implications(ranked, i)
    ]
    supports = np.array([support for _, _, support in found])
    sure = proportions(supports, supports, "too_few_rows", level=level)
    return [
        {
            "feature": ranked.counts.names[i], "implication": rule, "support": support,
            "confidence": confidence,
        }
        for (i, rule, support), confidence in zip(found, sure, strict=True)
    ]  # fmt: skip


def _on_borders(ranked: Ranked) -> list[int]:
    counts = ranked.counts
    cells = (counts.tp, counts.fp, counts.positives - counts.tp, counts.negatives - counts.fp)
    return np.flatnonzero(np.logical_or.reduce([cell == 0 for cell in cells])).tolist()


def _with_bounds(ranked: Ranked, sign: int, level: float | None) -> Floats:
    """Return phi (sign 1) or delta (-1) with its interval, (k, 3); soft votes have no interval."""
    counts, shift = ranked.counts, -1.0 if sign == 1 else 0.0
    values = ranked.phi if sign == 1 else ranked.delta
    soft = np.array([rule == "soft" for rule in counts.rules], bool)
    if level is None or soft.all():
        nowhere = np.full(len(counts), np.nan)
        return np.column_stack([values, nowhere, nowhere])
    tp, fp = np.where(soft, 0, counts.tp), np.where(soft, 0, counts.fp)
    _, low, high = combination(1, sign, tp, counts.positives, fp, counts.negatives, level=level)
    low, high = (np.where(soft, np.nan, bound + shift) for bound in (low, high))
    return np.column_stack([values, np.minimum(low, values), np.maximum(high, values)])


def _estimate(ranked: Ranked, i: int, places: Floats) -> Estimate:
    value, low, high = places[i].tolist()
    reason = CONSTANT if ranked.constant[i] else None
    if value != value:
        return Estimate(None, reason=reason or "too_few_rows")
    if low != low:
        return Estimate(value, reason=reason)
    return Estimate(value, low, high, reason)


def _number(number: float) -> float | None:
    """Return None for NaN."""
    return None if number != number else number


def _count(number: float) -> float | None:
    """Return a plain count: whole where it is, as beside soft votes arrays hold floats."""
    if isinstance(number, int) or number != number:
        return _number(number)
    return int(number) if number == int(number) else number


def summary(ranked: Ranked, selected: Ints | None) -> dict[str, Any]:
    """Return how many features there are, how many never vary, how many are selected."""
    return {
        "features": len(ranked.counts),
        "constant": int(ranked.constant.sum()),
        **({"selected": len(selected)} if selected is not None else {}),
    }


def feature_result(
    counted: CountedFeatures, plane: PlaneOptions, options: FeatureOptions
) -> Result:
    """Compute every table the options ask for."""
    classes, level = counted.classes, plane.confidence
    if level is not None and classes.fractional:
        raise fractional_weights()
    _check_cut(counted, options)
    ranked = Ranked.of(counted.counts)
    selected = chosen(ranked, options) if options.select else None
    everything = feature_table(ranked, level, selected)
    tables: dict[str, Rows] = {}
    if selected is not None:
        tables["selected"] = feature_table(ranked.take(selected), level, np.arange(len(selected)))
    tables["features"] = everything
    tables["implications"] = implication_table(ranked, level)
    tables |= plane_tables(plane)
    ratio = Population.of_counts(classes.positives, classes.negatives)
    said, limits = counted.roles, options.limits if options.select else None
    return Result(
        command="phidelta",
        signature=signature(
            "cmd pos cut miss only weight select ci",
            {
                "cmd": "phidelta features", "pos": classes.positive,
                "cut": "default" if options.cut is None else options.cut, "miss": said.missing,
                "only": ",".join(counted.wanted), "weight": "yes" if said.weight else None,
                "select": None
                if limits is None
                else f"{limits[0]:g},{limits[1]:g},{options.top or 'all'}",
                "ci": sure(plane),
            },
            said, plane, options, files=counted.files, statistics=counted.counts.digest(),
        ),
        inputs=counted.files,
        parameters=parameters(
            "mode positive negative level interval interval_methods prevalences isometrics missing "
            "cut phi_max delta_min top",
            {
                "mode": "features", "positive": classes.positive,
                "negative": [name for name in classes.classes if name != classes.positive],
                "phi_max": limits and limits[0], "delta_min": limits and limits[1],
                **plane_found(plane),
            },
            said, plane, options, without="by",
        ),
        summary={
            "rows": classes.positives + classes.negatives, "positives": classes.positives,
            "negatives": classes.negatives, "prevalence": ratio.prevalence, "odds": ratio.odds,
            **summary(ranked, selected),
        },
        tables=tables,
        warnings=(
            *_warnings(counted, ranked, options), *_unsure(tables),
            *lines_missing(plane, tables, ratio.odds),
        ),
    )  # fmt: skip


def _check_cut(counted: CountedFeatures, options: FeatureOptions) -> None:
    if options.cut is not None and not any(rule is not None for rule in counted.counts.rules):
        raise UsageError(
            Problem("--cut has nothing to act on: no feature is numeric", "needs-numbers"),
            hint="leave it out",
        )


def _unsure(tables: Mapping[str, Rows]) -> list[Warn]:
    """Say how many of the selected features may not discriminate at all."""
    chosen = [row["delta"] for row in tables.get("selected", ())]
    unsure = sum(
        isinstance(delta, Estimate)
        and delta.low is not None
        and delta.high is not None
        and delta.low <= 0 <= delta.high
        for delta in chosen
    )
    if not unsure:
        return []
    text = (
        f"{unsure:,} of the {len(chosen):,} selected have an interval of δ that covers 0: the rule "
        "admits features near a side corner; a lower --phi-max keeps those out"
    )
    return [Warn("unsure-selected", text)]


def _warnings(counted: CountedFeatures, ranked: Ranked, options: FeatureOptions) -> list[Warn]:
    said = [*dropped_rows(counted.files), *blank_lines(counted.blank_rows)]
    if counted.nameless:
        text = f"{counted.nameless:,} entries without a row or a feature were left out"
        said.append(Warn("dropped", text))
    if options.cut == "best":
        text = "best cuts were chosen on these rows: on new ones expect a smaller |δ|"
        said.append(Warn("chosen-cuts", text))
    gaps = int((counted.counts.missing > 0).sum())
    if gaps:
        which = "1 feature lacks" if gaps == 1 else f"{gaps:,} features lack"
        text = f"{which} values in some rows, which were left out of its own counts only"
        text = text if gaps == 1 else text.replace("its own", "their own")
        said.append(Warn("feature-gaps", text))
    if ranked.constant.any():
        names = [n for n, c in zip(ranked.counts.names, ranked.constant, strict=True) if c]
        shown = ", ".join(f"'{name}'" for name in names[:5])
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        said.append(Warn("constant-features", f"true in every row, or in none: {shown}{more}"))
    if counted.entries:
        text = "rows are those with an entry; --truth-table counts rows without any too"
        said.append(Warn("rows-from-entries", text))
    return said
