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
    totals = sample.slices[None]
    share = float((totals.display_units("positives") / totals.rows)[0])
    of_rows = f"At the prevalence of these rows ({format_share(share)})"
    population = options.single_population
    for answer in answers:
        measure = str(answer.measure).partition(":")[0]
        depends = measure in CATALOG and not CATALOG[measure].invariant
        if answer.code in AT_ITS_PREVALENCE or not depends:
            yield answer
            continue
        phrase = of_rows
        if answer.code in CURVE_CODES and population is not None:
            phrase = prevalence_phrase(population_cells("target", population))
        text = _begin_with(phrase, answer.text)
        yield replace(answer, text=text, brief=_begin_with(phrase, answer.brief))


def _begin_with(phrase: str, text: str) -> str:
    """Return a text that begins with a phrase; empty if the text is."""
    if text.startswith(OPENINGS):
        text = f"{text[0].lower()}{text[1:]}"
    return f"{phrase}, {text}" if text else ""


def sample_size(sample: Sample) -> float:
    """Return the number of rows: of sampling weights the effective one, else the counted rows."""
    counts = sample.slices[None]
    patterns = sample.patterns.get(None)
    if patterns is not None and isinstance(patterns.clusters, RowWeights):
        return patterns.clusters.size
    if counts.fractional or sample.roles.sampling_weights:
        return float(sum(file.rows for file in sample.files))
    totals = counts.display_units("positives") + counts.display_units("negatives")
    return float(totals.max())


def restrict_answers(
    answers: Sequence[Answer], options: ReportOptions, *, shortened: bool = False
) -> list[Answer]:
    """Return the sentences that hold with chosen thresholds and at other prevalences.

    What follows from a chosen threshold says its net benefit, instead of the curve. shortened:
    without the corrected value, so that a sentence on slices has room.
    """
    has_others = options.uses_thresholds or options.populations or shortened
    left_out = ["corrected"] if has_others else []
    # with a threshold, only that the model is miscalibrated
    left_out += (*CURVE_CODES, CALIBRATION_CODE) if options.best_threshold else ()
    return [answer for answer in answers if answer.code not in left_out]
