"""`clfeval.mars`: what each classifier finds or misses that the others do not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from clfeval.api.ask import OnOpen, Ready
from clfeval.api.entry import entry
from clfeval.counts.count import Sample, count
from clfeval.counts.truth import truth_digest
from clfeval.methods.mars.options import MARS, MarsOptions
from clfeval.methods.mars.result import mars_result
from clfeval.tables.input import Input
from clfeval.tables.prediction import open_predictions


@entry(MARS)
def mars(table: Any, said: Input, options: MarsOptions, on_open: OnOpen) -> Iterator[Ready]:
    """Compute ShineThrough and Occlusion of every model, pair and, if asked, subset.

    ShineThrough(S) = ETP(S) / TTP: of the target rows some model finds, the share that S finds and
    no model outside S. Occlusion(S) = EFN(S) / TTP: the share that S misses and every model outside
    finds (`occlusion="any"`: some model outside). Both in 0..1; undefined, with a reason, when
    nothing is found, and for Occlusion of all models together.

    `threshold` is a number, or a mapping of model to number in which None stands for all other
    models. `on_open` sees the recognised columns before rows are counted. Tables are never changed.
    Raises UsageError and DataError.
    Source: Restrepo et al. 2022, F1000Research 11:391 v2.
    """
    with open_predictions(table, said) as predictions:
        on_open(predictions)
        counted = count(predictions, top=options.top)
        sample = Sample.of(counted)
        truth = partial(truth_digest, sample)
        yield Ready(lambda: mars_result(counted, options), sample.facts, truth)
