"""`clfeval.tune_jpt`: the same classifiers at other prevalences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from clfeval.api.entry import public_function
from clfeval.api.questions import OnOpen, PreparedResult
from clfeval.counts.count import read_sample
from clfeval.counts.row_digests import truth_digest
from clfeval.errors import UsageError, bad_option
from clfeval.methods.tune_jpt.options import TUNE_JPT, TuneOptions
from clfeval.methods.tune_jpt.result import (
    sample_from_counts,
    sample_from_rates,
    sample_from_table,
    tune_result,
)
from clfeval.options.declaration import changed_options
from clfeval.tables.input import Input
from clfeval.tables.prediction import open_predictions
from clfeval.tables.source import table_paths


@public_function(TUNE_JPT)
def tune_jpt(
    table: Any, said: Input, options: TuneOptions, on_open: OnOpen
) -> Iterator[PreparedResult]:
    """Compute measures of 2 x 2 tables at other prevalences of the positive class.

    A table is normalised by dividing its positives by P and its negatives by N. Odds r give
    TP = r TP/P, FN = r FN/P, FP = FP/N, TN = TN/N, up to a factor; prevalence is r / (1 + r).
    Every measure is given in the sample, at odds 1:1 and at each target, or undefined with a
    reason. Intervals assume independent samples of positives and negatives.

    A table holds predictions or counts. Without a table, give `counts`: (TP, FP, FN, TN), or a
    mapping of models to these. Or give the two rates `sensitivity` and `specificity`. Each
    `prevalence` is a number, odds ("1:100") or a range ("0.001..0.02"). Two numbers in
    `prevalence_beta` are those of a Beta distribution. Raises UsageError and DataError.
    Source: Eiland and Liebrock 2013, Advances in Artificial Intelligence 2013:427958.
    """
    options = options.settled()
    rates = options.sensitivity is not None or options.specificity is not None
    sources = {
        "a table": table is not None,
        "--counts": options.counts,
        "--sensitivity and --specificity": rates,
    }
    said_by = [name for name, there in sources.items() if there]
    if not said_by:
        hint = "give a table, or --counts TP,FP,FN,TN, or --sensitivity and --specificity"
        raise UsageError.new("there is no table and there are no counts", "no-input", hint=hint)
    if len(said_by) > 1:
        commas = None
        if options.counts and all(path.isdecimal() for path in table_paths(table)):
            first = ",".join(f"{n:g}" for n in next(iter(options.counts.values())))
            commas = f"separate counts by commas: --counts {','.join([first, *table_paths(table)])}"
        raise bad_option(f"{' and '.join(said_by)} exclude each other", commas or "give one")
    if table is None:
        for option in changed_options(said):
            if option.field not in ("positive", "dry_run"):
                raise bad_option(f"{option.flag} needs a table")
        if rates:
            given = sample_from_rates(options.sensitivity, options.specificity, said)
        else:
            given = sample_from_counts(options.counts, said)
        yield PreparedResult(lambda: tune_result(given, options), given.facts)
        return
    with open_predictions(table, said, keep_counts=True) as predictions:
        on_open(predictions)
        sample = sample_from_table(read_sample(predictions))
        yield PreparedResult(
            lambda: tune_result(sample, options), sample.facts, partial(truth_digest, sample)
        )
