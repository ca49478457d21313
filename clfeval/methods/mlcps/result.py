"""From models by metrics to the Result of mlcps: every table the options ask for."""

from __future__ import annotations

from collections.abc import Sequence

from clfeval.errors import bad_option
from clfeval.methods.mlcps.compare import compared
from clfeval.methods.mlcps.given import Given
from clfeval.methods.mlcps.influence import metric_rows
from clfeval.methods.mlcps.options import MlcpsOptions
from clfeval.methods.mlcps.ranking import ranking_of
from clfeval.methods.mlcps.redundancy import redundancy_note, redundant_rows
from clfeval.methods.mlcps.scale import RAYS, Scale
from clfeval.methods.mlcps.scaling import scaled_alike, scales_of
from clfeval.methods.mlcps.sensitivity import dethroning_rows, factors_of, weight_rows
from clfeval.methods.mlcps.settings import parameters_of, signature_of, summary_of
from clfeval.methods.mlcps.tables import (
    MOST_PAIRS,
    desirability_rows,
    dominance_rows,
    model_rows,
    profile_rows,
    rank_rows,
    scored_splits,
    split_rows,
)
from clfeval.methods.mlcps.words import ranking_notes
from clfeval.result import Result, Table, Warn


def mlcps_result(
    given: Given, options: MlcpsOptions, *, other: Given | None = None, missing: str = "error"
) -> Result:
    """Rank the models by MLcps, or by desirability where there are wishes.

    Errors: UsageError and DataError of `scales_of`; UsageError where weights are to be varied and
    there is no polygon; DataError when `other` has fewer than two of the models.
    """
    options = options.over(given.metrics)
    scales, notes = scales_of(given, options)
    ranking = ranking_of(given, scales, options)
    if options.draws is not None and len(scales) < RAYS:
        raise bad_option(f"--weight-sensitivity varies the weights of {RAYS} metrics or more")
    splits = scored_splits(ranking)
    tables: dict[str, Table] = {
        "models": model_rows(ranking, splits),
        "ranks": rank_rows(ranking),
        "metrics": metric_rows(ranking),
        "profile": profile_rows(ranking),
    }
    used = {scale.metric for scale in scales if scale.weight > 0}
    used |= {wish.metric for wish in options.wishes if wish.weight > 0}
    places = [place for place, metric in enumerate(given.metrics) if metric in used]
    redundant = redundant_rows(
        [given.metrics[place] for place in places],
        given.values[:, places],
        _less_is_better(scales, options),
    )
    tables["redundant"] = redundant
    notes += redundancy_note(redundant)
    if len(given.models) <= MOST_PAIRS:
        tables["dominance"] = dominance_rows(ranking)
    if splits is not None:
        tables["splits"] = split_rows(ranking, splits)
    if options.draws is not None:
        factors = factors_of(ranking)
        tables["weights"] = weight_rows(ranking, factors, options.draws)
        tables["dethroning"] = dethroning_rows(ranking, factors)
    if options.wishes:
        tables["desirability"] = desirability_rows(ranking)
    if other is not None:
        tables["agreement"], tables["compared"], absent = compared(
            ranking, ranking_of(other, scaled_alike(other, scales), options, all_orders=False)
        )
        notes += absent
    return Result(
        command="mlcps",
        signature=signature_of(ranking, missing, other),
        inputs=given.inputs + (other.inputs if other is not None else ()),
        parameters=parameters_of(ranking, other.inputs[0].name if other else None, missing),
        summary=summary_of(ranking),
        tables=tables,
        warnings=(*given.notes, *notes, *ranking_notes(ranking), *_notes_of(other)),
    )


def _less_is_better(scales: Sequence[Scale], options: MlcpsOptions) -> set[str]:
    """Return the metrics of which less is better: as rays, else as wished."""
    wished = {w.metric for w in options.wishes if w.goal == "minimize" and w.weight > 0}
    rays = {scale.metric for scale in scales}
    return {scale.metric for scale in scales if scale.best == "min"} | (wished - rays)


def _notes_of(other: Given | None) -> list[Warn]:
    """Say what was left out of the table compared with."""
    if other is None:
        return []
    return [Warn(note.code, f"{other.name}: {note.message}") for note in other.notes]
