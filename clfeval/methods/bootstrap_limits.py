"""Percentile limits of measures of 2 x 2 tables, at any class ratio."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from clfeval.arrays import Counts, Floats, Ints, divide
from clfeval.inference.resampling import percentile_limits, random_stream, resampled_rates
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.methods.clustered import TableResampler
from clfeval.methods.estimates import RANDOM, Cells, Design, Limits

Formula = Callable[[Confusion], Floats]


def bootstrap_limits(
    known: Mapping[str, Formula], cells: Cells, models: Ints, names: tuple[str, ...], *,
    level: float, resamples: int, seed: int, design: Design = RANDOM,
    redrawn: Callable[[int], TableResampler | None] = lambda _: None,
) -> tuple[dict[str, Limits], int]:  # fmt: skip
    """Return percentile limits by measure, (m,) each, and the most undefined replicates of any.

    models (m,): index of each table into `names`; each has its own random stream. Classes are
    resampled separately, with random totals all rows together. NaN for models without a class.
    redrawn: the resampler of a model with clusters or weights.
    Errors: ValueError for counts that are not whole.
    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapters 8 and 13.
    """
    out = {name: (np.full(len(cells.tp), np.nan), np.full(len(cells.tp), np.nan)) for name in known}
    failed = 0
    for i, model in enumerate(names):
        here = np.flatnonzero(models == i)
        tp, p, fp, n = (
            int(part[here[0]]) for part in (cells.tp, cells.positives, cells.fp, cells.negatives)
        )
        if not (p and n):
            continue
        sampled = design.totals == "random" and cells.sampled[here].any()
        each = redrawn(i)
        if each is None:
            tpr, fpr = resampled_rates(
                tp, p, fp, n, resamples=resamples, rng=random_stream(seed, model)
            )
            cell = np.array([tp, fp, p - tp, n - fp]) / (p + n)
            rows = random_stream(seed, f"rows\0{model}").multinomial(
                p + n, cell, resamples * sampled
            )
        elif each.clusters.size <= 1:
            continue
        else:
            found: Counts = each.tables(resamples, random_stream(seed, model))
            tpr, fpr = divide(found[0], found[0] + found[2]), divide(found[1], found[1] + found[3])
            rows = found.T
        drawn = Confusion.from_rates(tpr[:, None], fpr[:, None], cells.ratio[here])
        for name, measure in known.items():
            values = np.broadcast_to(measure(drawn), (resamples, len(here)))
            if sampled and not CATALOG[name].invariant:
                together = measure(Confusion(*rows.T))[:, None]
                values = np.where(cells.sampled[here], together, values)
            low, high, lost = percentile_limits(values, level=level)
            out[name][0][here], out[name][1][here] = low, high
            failed = max(failed, int(np.max(lost)))
    return out, failed
