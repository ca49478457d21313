"""What a report of two classes notes: few rows of a class, ranking backwards, the impossible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clfeval.counts.count import Sample
from clfeval.document import ResultWarning, Row, as_estimate
from clfeval.methods.document import class_rows, counting_notes
from clfeval.words import format_count, format_exact, join_names

AREA = "roc_auc"


def score_notes(
    models: Sequence[Row], lost: Mapping[str, float], positive: str
) -> Iterator[ResultWarning]:
    """Say which models rank the wrong way round, and which exclude what was observed."""
    areas = {str(row["model"]): as_estimate(row.get(AREA)).high for row in models}
    turned = [model for model, high in areas.items() if high is not None and high < 0.5]
    if turned:
        verb = "ranks" if len(turned) == 1 else "rank"
        text = (
            f"{join_names(turned)} {verb} in reverse; check whether high scores mean '{positive}'"
        )
        yield ResultWarning("backwards", text)
    if impossible := [model for model, rows in lost.items() if rows]:
        text = f"{join_names(impossible)} gave probability 0 to some observed outcomes; "
        text += "slope and CITL exclude these rows"
        yield ResultWarning("impossible", text)


def sample_notes(sample: Sample) -> list[ResultWarning]:
    """Say which class has few rows, which scores have no threshold, and how rows were counted."""
    counts, said = sample.slices[None], list[ResultWarning]()
    about = "about " if counts.fractional else ""
    both = (counts.positives, counts.negatives)
    for name, totals, sizes in zip(
        ("positive", "negative"), both, class_rows(sample, None), strict=True
    ):
        if not totals.all():
            text = f"no {name} row: measures that need both classes are undefined"
            said.append(ResultWarning("single-class", text))
        elif min(sizes) < 30:
            text = f"{about}{format_count(min(sizes), f'{name} row')}: estimates from them "
            said.append(ResultWarning("small-class", f"{text}are imprecise"))
    if sample.counted is None:
        return said
    uncut = sample.counted.uncut.values()
    if uncut:
        low, high = min(low for low, _ in uncut), max(high for _, high in uncut)
        text = (
            f"scores from {format_exact(low)} to {format_exact(high)} are not probabilities; add "
            "--threshold T for measures of predicted positives"
        )
        said.append(ResultWarning("no-threshold", text))
    return said + counting_notes(sample.counted)
