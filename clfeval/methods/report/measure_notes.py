"""The notes on measures of a report: bounds, hidden counts, contradicted probabilities, caveats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.counts.sample import Sample
from clfeval.document import ResultNote
from clfeval.document.cells import Row, cell_value
from clfeval.methods import provenance
from clfeval.methods.measurement.measure_rows import caveat_notes
from clfeval.methods.measurement.requested_measures import NET_BENEFIT, RequestedMeasure
from clfeval.methods.report.answer import bound_notes, score_notes
from clfeval.methods.report.model_estimates import thresholds_differ
from clfeval.methods.report.options import ReportOptions
from clfeval.methods.report.question import ReportQuestion


def smallest_count(sample: Sample) -> int:
    """Return below which counts are hidden; 0 if none are."""
    return 0 if sample.predictions is None else sample.predictions.min_cell


def bounds_of_lead(measure_rows: Sequence[Row], lead_measure: str) -> dict[str, float]:
    """Return how far the leading measure of each model can be from that of the rows."""
    return {
        row["model"]: cell_value(row.get("bound")) or 0.0
        for row in measure_rows
        if row["measure"] == lead_measure
    }


def measure_notes(
    sample: Sample, question: ReportQuestion, measure_rows: Sequence[Row], options: ReportOptions
) -> list[ResultNote]:
    """Return the notes on bounds of the leading measure, and on hidden counts."""
    return bound_notes(
        bounds_of_lead(measure_rows, question.lead),
        question.lead,
        smallest_count(sample),
        compared=options.reference is not None and len(sample.slices) > 1,
        by=bool({*sample.roles.by} - {"file"}),
    )


def net_benefit_notes(
    sample: Sample, question: ReportQuestion, options: ReportOptions
) -> Iterator[ResultNote]:
    """Yield why net benefits are not compared: a threshold is what an alarm costs in them."""
    compares_net_benefit = any(measure.name == NET_BENEFIT for measure in question.compared)
    if compares_net_benefit and options.reference is not None and thresholds_differ(sample):
        message = "net benefits are not compared: models have different thresholds, "
        yield ResultNote("own-thresholds", f"{message}which are different costs of an alarm")


def contradiction_notes(
    sample: Sample,
    requested: Sequence[RequestedMeasure],
    contradicted: Mapping[str, float],
    model_rows: Sequence[Row],
) -> Iterator[ResultNote]:
    """Yield the warnings on probabilities; contradicted: rows whose class had probability 0."""
    # requested log losses; the first screen has none with two classes
    asks_log_loss = any(
        requested_measure.measure.id in ("log_loss", "log_loss_skill")
        and requested_measure.by != "default"
        for requested_measure in requested
    )
    yield from score_notes(model_rows, contradicted, sample.positive)
    if asks_log_loss:
        yield from provenance.clipped_note(contradicted)
    yield from caveat_notes(requested)
