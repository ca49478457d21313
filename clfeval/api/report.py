"""`clfeval.report`: everything that matters of a table of predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from clfeval.api.ask import OnOpen, PreparedResult
from clfeval.api.entry import public_function
from clfeval.api.saved import saved_result
from clfeval.counts.count import read_sample
from clfeval.counts.several import refuse_multilabel
from clfeval.counts.truth import truth_digest
from clfeval.document import Document
from clfeval.errors import bad_option
from clfeval.methods.report.asked_classes import parse_multiclass_measures
from clfeval.methods.report.options import REPORT, ReportOptions
from clfeval.methods.report.result import report_result
from clfeval.options import changed_options
from clfeval.tables.input import Input
from clfeval.tables.prediction import open_predictions


@public_function(REPORT)
def report(
    table: Any, said: Input, options: ReportOptions, on_open: OnOpen
) -> Iterator[PreparedResult]:
    """Evaluate predictions: discrimination, calibration, net benefit, errors.

    Table `measures` has a confidence interval and its method for every measure: exact for
    proportions, DeLong's for ROC AUC, influence functions for means, a bootstrap elsewhere. Table
    `models` has one row per model, `decision` the net benefit at each threshold probability. Three
    tables describe the scores: `curves`, `thresholds` and `distribution`. Keyword `best_threshold`
    chooses a threshold, `reference` compares with a model, `by` evaluates slices. A saved result in
    place of a table is shown again. Tables are never changed. Raises UsageError and DataError.
    Source: Van Calster et al. 2025, arXiv 2412.10288.
    """
    if (saved := saved_result(table)) is not None:
        for one in (*changed_options(options), *changed_options(said)):
            if one.name != "dry_run":
                what = f"{one.flag} does not apply to a saved result"
                raise bad_option(what, "remove it, or give the table")
        yield PreparedResult(lambda: saved, {})
        return
    # other methods need two classes, and a threshold
    roles = replace(said, several=not options.methods, ranks=not options.methods)
    roles = roles.with_runs(options.run, files=options.run_files)
    if options.runs and options.methods:
        raise bad_option("--with cannot be used with runs, which may repeat rows")
    with open_predictions(table, roles, keep_counts=True) as predictions:
        on_open(predictions)
        sample = read_sample(predictions)
        if sample.counted is not None:
            refuse_multilabel(sample.counted)
            if sample.counted.several:
                order, name = sample.counted.order, sample.counted.name
                sure = sample.counted.ordered
                parse_multiclass_measures(options.measure, order, ordered=sure, file=name)

        def made() -> Document:
            found = report_result(sample, options)
            if not options.methods:
                return found
            from clfeval.api.beside import compute_other_methods

            return replace(found, methods=compute_other_methods(sample, options))

        yield PreparedResult(made, sample.facts, partial(truth_digest, sample))
