"""The prevalence of each sentence of a report, where others than that of the rows are asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clfeval.counts.sample import Sample
from clfeval.document import Answer
from clfeval.formatting import format_share
from clfeval.measures.catalog import CATALOG
from clfeval.methods.other_prevalences import population_cells, prevalence_phrase
from clfeval.methods.report.options import ReportOptions
from clfeval.records import replace

CURVE_CODES = ("helps", "helps-nowhere")
AT_ITS_PREVALENCE = ("at-prevalence", "best-cut")  # these sentences name it
OPENINGS = ("Its ", "The ", "At ", "No ", "It ", "Compared ")  # of sentences, not models


def name_prevalences(
    answers: Sequence[Answer], sample: Sample, options: ReportOptions
) -> Iterator[Answer]:
    """Yield sentences that name the prevalence at which their values hold, if others are asked."""
    if not options.populations:
        yield from answers
        return
    totals = sample.slices[None]
    share = float((totals.positives / totals.rows)[0])
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
        text = answer.text
        if text.startswith(OPENINGS):
            text = f"{text[0].lower()}{text[1:]}"
        yield replace(answer, text=f"{phrase}, {text}")
