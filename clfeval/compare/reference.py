"""Rows of the table `comparisons`: models against a reference, on all rows and within slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.compare.change import Change, adjusted_fdr, comparison_row, number_or_none
from clfeval.compare.families import (
    BEST,
    PairFamily,
    PairPlaces,
    adjusted_family,
    detectable_difference,
    family_pairs,
)
from clfeval.compare.paired import PairedEstimates
from clfeval.document import Estimate, Row


def reference_rows(
    family: PairFamily, values: Sequence[Estimate], rows: float, reference: str, *,
    margin: float | None = None,
) -> Iterator[Row]:  # fmt: skip
    """Yield differences of models from a reference by a measure, on the same rows.

    With `best` only pairs with the leader, adjusted for all pairs. values: of the models, with
    their own intervals; rows: number compared.
    """
    one, level = family.estimates, family.level
    leader = int((one.sign * one.values).argmax()) if reference == BEST else None
    _, _, _, wide = one.intervals(family.first, family.second, level=level)
    at = family.first, family.second
    seen = detectable_difference(one.known.errors[at], level=level, df=one.known.df[at]).tolist()
    changes = zip(family.pairs, family.changes(values, rows), wide.tolist(), seen, strict=True)
    for (i, j), change, reaching, least in changes:
        if leader not in (None, i, j):
            continue
        turned = leader == i  # the leader is the reference
        model, other = (j, i) if turned else (i, j)
        error = float(one.known.errors[i, j])
        yield comparison_row(
            "reference", one.metric, one.models[model], one.models[other],
            change.turned() if turned else change, level, margin=margin,
            se=number_or_none(error) or None, method=one.method(i, j, wide=reaching),
            detectable=least if error > 0 and least < one.span else None,
        )  # fmt: skip


def slice_reference_rows(
    inside: Mapping[str, Mapping[str, PairedEstimates]], whole: Mapping[str, PairedEstimates],
    sizes: Mapping[str, tuple[float, bool]], reference: str, *, level: float, seed: int,
    margins: Mapping[str, float],
) -> Iterator[Row]:  # fmt: skip
    """Yield differences of models from the reference within each slice that is large enough.

    p_adjusted: by Benjamini and Hochberg over all slices and models by a measure. inside: by
    measure and slice. sizes: rows of a slice, and whether it is tested.
    """
    for metric, by_slice in inside.items():
        of = reference
        if reference == BEST:
            one = whole[metric]
            of = one.models[int((one.sign * one.values).argmax())]
        found = list[tuple[str, PairFamily, tuple[int, int], Change]]()
        for label, one in by_slice.items():
            pairs: PairPlaces = family_pairs(of, one.models) if sizes[label][1] else ()
            family = adjusted_family(one, pairs, level=level, seed=seed, alone=True)
            if family is not None:
                both = zip(family.pairs, family.changes(None, sizes[label][0]), strict=True)
                found += [(label, family, pair, change) for pair, change in both]
        judged = adjusted_fdr([change for *_, change in found])
        for (label, family, (i, j), _), change in zip(found, judged, strict=True):
            one = family.estimates
            yield comparison_row("reference", metric, one.models[i], one.models[j], change, level,
                                 margin=margins.get(metric), part=label,
                                 method=one.method(i, j, wide=False))  # fmt: skip
