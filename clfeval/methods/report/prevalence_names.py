"""The prevalence of each sentence of a report, where others than that of the rows are asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clfeval.counts.clusters_and_weights import RowWeights
from clfeval.counts.sample import Sample
from clfeval.document import Answer
from clfeval.formatting import format_share
from clfeval.measures.catalog import CATALOG
from clfeval.methods.other_prevalences import population_cells, prevalence_phrase
from clfeval.methods.report.calibration_answer import CALIBRATION_CODE
from clfeval.methods.report.options import ReportOptions
from clfeval.records import replace

CURVE_CODES = ("helps", "helps-nowhere")
AT_ITS_PREVALENCE = ("at-prevalence", "best-cut")  # these sentences name it
OPENINGS = ("Its ", "The ", "There ", "At ", "No ", "It ", "Compared ")  # of sentences, not models


def name_prevalences(
    answers: Sequence[Answer], sample: Sample, options: ReportOptions
) -> Iterator[Answer]:
    """Yield sentences that name the prevalence at which their values hold, if others are asked."""
    if not options.populations:
        yield from answers
        return
    confusions = sample.slices[None]
    prevalence = float((confusions.display_units("positives") / confusions.rows)[0])
    rows_phrase = f"At the prevalence of these rows ({format_share(prevalence)})"
    target_population = options.single_population
    for answer in answers:
        measure_id = str(answer.measure).partition(":")[0]
        depends_on_prevalence = measure_id in CATALOG and not CATALOG[measure_id].invariant
        if answer.code in AT_ITS_PREVALENCE or not depends_on_prevalence:
            yield answer
            continue
        prevalence_clause = rows_phrase
        if answer.code in CURVE_CODES and target_population is not None:
            prevalence_clause = prevalence_phrase(population_cells("target", target_population))
        text = _begin_with(prevalence_clause, answer.text)
        yield replace(answer, text=text, brief=_begin_with(prevalence_clause, answer.brief))


def _begin_with(opening: str, text: str) -> str:
    """Return a text that begins with an opening clause; empty if the text is."""
    if text.startswith(OPENINGS):
        text = f"{text[0].lower()}{text[1:]}"
    return f"{opening}, {text}" if text else ""


def sample_size(sample: Sample) -> float:
    """Return the number of rows: of sampling weights the effective one, else the counted rows."""
    counts = sample.slices[None]
    patterns = sample.patterns.get(None)
    if patterns is not None and isinstance(patterns.clusters, RowWeights):
        return patterns.clusters.size
    if counts.fractional or sample.roles.sampling_weights:
        return float(sum(file.rows for file in sample.files))
    row_counts = counts.display_units("positives") + counts.display_units("negatives")
    return float(row_counts.max())


def restrict_answers(
    answers: Sequence[Answer], options: ReportOptions, *, shortened: bool = False
) -> list[Answer]:
    """Return the sentences that hold with chosen thresholds and at other prevalences.

    What follows from a chosen threshold says its net benefit, instead of the curve. shortened:
    without the corrected value, so that a sentence on slices has room.
    """
    is_restricted = options.uses_thresholds or options.populations or shortened
    excluded_codes = ["corrected"] if is_restricted else []
    # with a threshold, only that the model is miscalibrated
    excluded_codes += (*CURVE_CODES, CALIBRATION_CODE) if options.best_threshold else ()
    return [answer for answer in answers if answer.code not in excluded_codes]
