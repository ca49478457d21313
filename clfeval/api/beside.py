"""Other methods about what a report has counted, each as its own command gives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from clfeval.counts.count import Sample
from clfeval.counts.counted import PredictionCounts
from clfeval.document import Document, ResultWarning
from clfeval.errors import UsageError
from clfeval.methods.report.options import ReportOptions

G = TypeVar("G")
SHARED = ("level", "seed", "totals", "prevalence")  # and no intervals at all


def compute_other_methods(sample: Sample, options: ReportOptions) -> Mapping[str, Document]:
    """Return the results of the methods that are asked for, by command; raises what they raise."""
    return {name: _RESULTS[name](sample, options) for name in options.methods}


def _mars(sample: Sample, asked: ReportOptions) -> Document:
    from clfeval.methods.mars.options import MarsOptions
    from clfeval.methods.mars.result import mars_result

    return mars_result(_need_predictions(sample, "mars"), _options_like_report(MarsOptions, asked))


def _phidelta(sample: Sample, asked: ReportOptions) -> Document:
    from clfeval.methods.phidelta.options import ClassifierOptions, PlaneOptions
    from clfeval.methods.phidelta.result import classifier_result

    plane, classifiers = (
        _options_like_report(PlaneOptions, asked),
        _options_like_report(ClassifierOptions, asked),
    )
    return classifier_result(sample, plane, classifiers)


def _tune_jpt(sample: Sample, asked: ReportOptions) -> Document:
    from clfeval.methods.tune_jpt.options import TuneOptions
    from clfeval.methods.tune_jpt.result import sample_from_table, tune_result

    return tune_result(
        sample_from_table(sample), _options_like_report(TuneOptions, asked).settled()
    )


def _mlcps(sample: Sample, asked: ReportOptions) -> Document:
    from clfeval.methods.mlcps.asked import DEFAULT
    from clfeval.methods.mlcps.given import measure_predictions
    from clfeval.methods.mlcps.options import MlcpsOptions
    from clfeval.methods.mlcps.result import mlcps_result

    counted, notes = _need_predictions(sample, "mlcps"), list[ResultWarning]()
    options = _options_like_report(MlcpsOptions, asked, source="predictions")
    if sample.roles.cluster is not None:
        options = replace(options, interval="none")
        text = "MLcps has no intervals here: its bootstrap assumes rows without clusters"
        notes.append(ResultWarning("no-cluster-bootstrap", text))
    if sample.roles.by:
        notes.append(ResultWarning("whole-table", "MLcps is computed on all rows, not by slice"))
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
    """Return a group of options as by default, but as sure as those of the report."""
    names: Sequence[str] = [field.name for field in fields(group)]  # type: ignore[arg-type]
    known = {name: getattr(asked, name) for name in SHARED if name in names}
    if asked.interval == "none" and "interval" in names:
        known["interval"] = "none"
    return group(**known, **more)
