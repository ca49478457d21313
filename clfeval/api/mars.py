"""`clfeval.mars`: which positives each classifier alone detects or misses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from clfeval.api.entry import public_function
from clfeval.api.questions import OnOpen, PreparedResult
from clfeval.counts.count import Sample, count_predictions
from clfeval.counts.row_digests import truth_digest
from clfeval.methods.mars.options import MARS, MarsOptions
from clfeval.methods.mars.result import mars_result
from clfeval.tables.input import Input
from clfeval.tables.prediction import open_predictions


@public_function(MARS)
def mars(
    table: Any, said: Input, options: MarsOptions, on_open: OnOpen
) -> Iterator[PreparedResult]:
    """Compute ShineThrough and Occlusion of every model and pair, and of subsets on request.

    TTP is the number of target rows (the positives) that at least one model detects.
    ShineThrough(S) = ETP(S) / TTP: the share of these that S alone detects. Occlusion(S) =
    EFN(S) / TTP: the share that S misses and every model outside S detects (`occlusion="any"`:
    some model outside S). Both lie in 0 to 1, or are undefined with a reason.

    `threshold` is a number, or a mapping of models to numbers; the key None means all other models.
    `on_open` is called with the recognised columns before rows are counted. Tables are never
    changed. Raises UsageError and DataError.
    Source: Restrepo et al. 2022, F1000Research 11:391 v2.
    """
    with open_predictions(table, said) as predictions:
        on_open(predictions)
        counted = count_predictions(predictions, top=options.top)
        sample = Sample.from_predictions(counted)
        truth = partial(truth_digest, sample)
        yield PreparedResult(lambda: mars_result(counted, options), sample.facts, truth)
