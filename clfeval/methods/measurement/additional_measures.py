"""Measures that options request beside a command's own: of all models, and of slices."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from clfeval.counts.count import Sample
from clfeval.document import ResultNote, Row
from clfeval.methods.options import IntervalSettings
from clfeval.records import dataclass

if TYPE_CHECKING:
    from clfeval.methods.measurement.requested_measures import RequestedMeasure


@dataclass(frozen=True, slots=True, eq=False)
class AdditionalMeasures:
    """Tables of requested measures. digests: of their scores; notes: caveats of named measures."""

    tables: dict[str, list[Row]]
    digests: tuple[str, ...] = ()
    notes: tuple[ResultNote, ...] = ()

    def statistics(self, digest: str) -> str:
        """Return the digest of a command's own statistics and of these scores."""
        both = "".join([digest, *self.digests])
        return sha256(both.encode()).hexdigest() if self.digests else digest


def compute_additional_measures(
    sample: Sample, names: Sequence[str], wanted: IntervalSettings
) -> AdditionalMeasures:
    """Compute the requested measures of all models in the table and its slices."""
    if not names:
        return AdditionalMeasures({})
    # most runs request none and start without these
    from clfeval.methods.measurement import measure_rows
    from clfeval.methods.measurement.requested_measures import parse_measures, set_row_units

    asked = set_row_units(parse_measures(names), sample.counted)
    rows = [
        *measure_rows.label_measure_rows(sample, asked, wanted),
        *measure_rows.unscored_model_rows(sample, asked),
    ]
    digests = list[str]()
    if measure_rows.has_scored_model(sample) and any(map(measure_rows.takes_scores, asked)):
        for some, digest in _of_scores(sample, asked, wanted):
            rows += some
            digests.append(digest)
    table = measure_rows.sort_measure_rows(rows, sample, asked)
    return AdditionalMeasures(
        {"measures": table}, tuple(sorted(digests)), tuple(measure_rows.caveat_notes(asked))
    )


def _of_scores(
    sample: Sample, asked: Sequence[RequestedMeasure], wanted: IntervalSettings
) -> list[tuple[list[Row], str]]:
    """Return the rows of measures of scores of each model, and the digests of these scores."""
    counted, shown = sample.counted, sample.slices[None].models
    assert counted is not None
    from clfeval.counts.rows import read_scored_rows
    from clfeval.methods.measurement import measure_rows

    every = read_scored_rows(counted.kept)
    names = [counted.models[i].name for i in every.models]

    def one(j: int) -> tuple[list[Row], str] | None:
        model, rows = names[j], list[Row]()
        if model not in shown:  # merged into a group, which has no scores
            return None
        whole, place = every.ranked(j)
        for label in sample.slices:
            here = (whole if label is None else every.slice_scores(whole, place, label)[0]).frozen()
            cut = sample.thresholds.get(model)
            rows += measure_rows.score_measure_rows(label, model, here, cut, asked, wanted)
        return rows, f"{model}{whole.digest()}"

    return [each for each in every.map_models(one) if each is not None]
