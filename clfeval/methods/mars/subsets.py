"""Tables of many subsets: scored at once, turned into rows only when somebody reads them."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Any, Literal

import numpy as np

from clfeval.counts.patterns import Counts, PatternCounts, TargetCounts
from clfeval.errors import Problem, UsageError
from clfeval.methods.mars.coverage import (
    EXACT_MODELS,
    SubsetScores,
    combinations_of,
    score_all_subsets,
    score_subsets,
)
from clfeval.methods.mars.options import MarsOptions
from clfeval.methods.mars.view import View, subset_rows
from clfeval.result import LazyRows, Row, Table

MOST_SUBSETS = 2_000_000


def score_up_to(counts: TargetCounts, up_to: int | Literal["all"]) -> SubsetScores:
    """Score every subset up to a size: by size, then most covered, least effort, table order."""
    k = len(counts.models)
    most = k if up_to == "all" else min(up_to, k)
    if k <= EXACT_MODELS:
        scores = score_all_subsets(counts)
        size = scores.members.sum(axis=1)
        scores = scores.take((size > 0) & (size <= most))
    else:
        total = sum(comb(k, size) for size in range(1, most + 1))
        if total > MOST_SUBSETS:
            raise UsageError(
                Problem(
                    f"{k} models have {total:,} subsets of up to {most}; the limit is "
                    f"{MOST_SUBSETS:,}", "too-many-subsets",
                ),
                hint="a smaller --subsets, or --best K, which searches without listing",
            )  # fmt: skip
        members = np.vstack([combinations_of(k, size) for size in range(1, most + 1)])
        scores = score_subsets(counts, members)
    size = scores.members.sum(axis=1)
    first = [~scores.members[:, i] for i in reversed(range(k))]
    return scores.take(np.lexsort((*first, scores.effort, -scores.covered, size)))


def subset_table(
    parts: list[tuple[str | None, SubsetScores, Counts]],
    options: MarsOptions,
    slices: Mapping[str | None, PatternCounts],
) -> Table:
    """Return rows made on demand, a block at a time: there may be a million."""
    block = 1024
    views = [
        View(
            label,
            slices[label].targets(options.target).grouped(options.groups),
            options,
            ttp.item(),
        )
        for label, _, ttp in parts
    ]
    starts = np.cumsum([0, *(len(scores) for _, scores, _ in parts)])
    made: dict[tuple[int, int], list[dict[str, Any]]] = {}

    def make_row(index: int) -> Row:
        part = int(np.searchsorted(starts, index, side="right")) - 1
        number, offset = divmod(index - int(starts[part]), block)
        if (part, number) not in made:
            made.clear()
            scores = parts[part][1]
            rows = np.arange(number * block, min((number + 1) * block, len(scores)))
            made[part, number] = subset_rows(views[part], scores.take(rows))
        return made[part, number][offset]

    return LazyRows(int(starts[-1]), make_row)
