"""`clfeval.report`: evaluation of predictions, saved results, and results of other methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from os import fspath
from pathlib import Path
from typing import Any, TypeVar

from clfeval.api.entry import public_function
from clfeval.api.questions import OnOpen, PreparedResult
from clfeval.compare.baseline.read import read_result
from clfeval.compare.gates.limit_targets import LIMITED
from clfeval.compare.gates.limits import Gates
from clfeval.counts.count import Sample, read_sample
from clfeval.counts.doubtful_scores import refuse_multilabel
from clfeval.counts.prediction_counts import PredictionCounts
from clfeval.counts.row_digests import truth_digest
from clfeval.document import Document, ResultNote
from clfeval.errors import UsageError, bad_option, format_command_line
from clfeval.measures.catalog import equivalent_names, find_measure
from clfeval.methods.measurement.requested_measures import DEFAULT
from clfeval.methods.report.multiclass_measures import parse_multiclass_measures
from clfeval.methods.report.options import REPORT, ReportOptions
from clfeval.methods.report.result import report_result
from clfeval.options.declaration import Command, as_list, changed_options
from clfeval.tables.foreign_files import holds_result
from clfeval.tables.input import Input
from clfeval.tables.prediction import open_predictions
from clfeval.tables.source import split_path, table_paths


def saved_result(given: Any) -> Document | None:
    """Return the saved result, None for tables; UsageError for several results."""
    if isinstance(given, Document):
        return replace(given, gates=(), again=True)
    if not (saved := saved_files(given)):
        return None
    files = [split_path(path)[1] for path in table_paths(given)]
    if len(files) > 1:
        hint = format_command_line(["clfeval", "report", files[0], "--baseline", files[1]])
        raise bad_option("report takes one saved result; use --baseline to compare two", hint)
    result = read_result(fspath(saved[0]), "give a file written by --save NAME.json")
    return replace(result, gates=(), again=True, python=False)


def saved_files(given: Any) -> list[str]:
    """Return the files that hold a saved result."""
    files = [split_path(path)[1] for path in table_paths(given)]
    return [file for file in files if Path(file).is_file() and holds_result(Path(file))]


def add_gate_measures(
    command: Command, table: Any, given: Mapping[str, Any], gates: Gates
) -> dict[str, Any]:
    """Return the options of a report, with the measures of its gates added."""
    if command.name != "report" or saved_files(table):  # a saved result has fixed measures
        return dict(given)
    more = []
    for limit in gates.limits:
        measure = find_measure(limit.metric.partition(":")[0])
        there = not {*equivalent_names(limit.metric)}.isdisjoint(DEFAULT)  # by any name
        if measure is not None and measure.needs in LIMITED and not there:
            more.append(limit.metric)
    asked = tuple(dict.fromkeys((*as_list(given.get("measure")), *more)))
    return {**given, "measure": asked} if more else dict(given)


G = TypeVar("G")
SHARED = ("level", "seed", "totals", "prevalence")  # also `interval` if it is none


def _mars(sample: Sample, asked: ReportOptions) -> Document:
    from clfeval.methods.mars.options import MarsOptions
    from clfeval.methods.mars.result import mars_result

    return mars_result(_need_predictions(sample, "mars"), _options_like_report(MarsOptions, asked))


def _phidelta(sample: Sample, asked: ReportOptions) -> Document:
    from clfeval.methods.phidelta.options import ClassifierOptions, PlaneOptions
    from clfeval.methods.phidelta.result import classifier_result

    plane = _options_like_report(PlaneOptions, asked)
    return classifier_result(sample, plane, _options_like_report(ClassifierOptions, asked))


def _tune_jpt(sample: Sample, asked: ReportOptions) -> Document:
    from clfeval.methods.tune_jpt.options import TuneOptions
    from clfeval.methods.tune_jpt.result import sample_from_table, tune_result

    options = _options_like_report(TuneOptions, asked).settled()
    return tune_result(sample_from_table(sample), options)


def _mlcps(sample: Sample, asked: ReportOptions) -> Document:
    from clfeval.methods.mlcps.answer import DEFAULT
    from clfeval.methods.mlcps.metric_values import measure_predictions
    from clfeval.methods.mlcps.options import MlcpsOptions
    from clfeval.methods.mlcps.result import mlcps_result

    counted, notes = _need_predictions(sample, "mlcps"), list[ResultNote]()
    options = _options_like_report(MlcpsOptions, asked, source="predictions")
    if sample.roles.cluster is not None:
        options = replace(options, interval="none")
        text = "MLcps has no intervals here: its bootstrap assumes rows without clusters"
        notes.append(ResultNote("no-cluster-bootstrap", text))
    if sample.roles.by:
        notes.append(ResultNote("whole-table", "MLcps is computed on all rows, not by slice"))
    options = options.over(DEFAULT)
    given = measure_predictions(counted, DEFAULT, options)
    found = mlcps_result(given, options, sample.roles, other=None)
    return replace(found, warnings=(*found.warnings, *notes))


_RESULTS = {"mars": _mars, "phidelta": _phidelta, "tune-jpt": _tune_jpt, "mlcps": _mlcps}


def _need_predictions(sample: Sample, name: str) -> PredictionCounts:
    if sample.counted is None:
        what = f"--with {name} needs rows, but the table holds counts"
        hint = "for counts use --with phidelta,tune-jpt"
        raise UsageError.new(what, "needs-predictions", hint=hint)
    return sample.counted


def _options_like_report(group: type[G], asked: ReportOptions, **more: Any) -> G:
    """Return a group of options with defaults, and those it shares with the report."""
    names: Sequence[str] = [field.name for field in fields(group)]  # type: ignore[arg-type]
    known = {name: getattr(asked, name) for name in SHARED if name in names}
    if asked.interval == "none" and "interval" in names:
        known["interval"] = "none"
    return group(**known, **more)


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
    # other methods need two classes and a threshold
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
            methods = {name: _RESULTS[name](sample, options) for name in options.methods}
            return replace(found, methods=methods)

        yield PreparedResult(made, sample.facts, partial(truth_digest, sample))
