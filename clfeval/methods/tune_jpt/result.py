"""From counts to the Result of tune-jpt: every table the options ask for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.sample import Sample
from clfeval.errors import bad_option
from clfeval.inference.resampling import stream
from clfeval.measures.population import BALANCED
from clfeval.methods.document import inputs
from clfeval.methods.estimates import fractional_weights, undrawable_weights
from clfeval.methods.roc import candidates
from clfeval.methods.tune_jpt.contest import Contest, shared_answers
from clfeval.methods.tune_jpt.crossfit import honest_estimates
from clfeval.methods.tune_jpt.notes import warnings_of
from clfeval.methods.tune_jpt.options import FULL_SWEEP, Sweep, TuneOptions
from clfeval.methods.tune_jpt.ranges import range_rows, simulated_rows
from clfeval.methods.tune_jpt.settings import (
    parameters_of,
    repeats_of,
    sample_of,
    signature_of,
    summary_of,
)
from clfeval.methods.tune_jpt.tables import Tuner, expected_rows, formulas
from clfeval.methods.tune_jpt.thresholds import Fixed, cutoff_rows, threshold_rows
from clfeval.methods.tune_jpt.winners import Place, crossover_rows, winner_rows
from clfeval.result import Result, Row, Rows


def tune_result(given: Sample, options: TuneOptions) -> Result:
    """Tune the tables of every model to every population asked for.

    Errors: UsageError for weights that are not whole where intervals are wanted, and for comparing
    a single model; DataError from reading scores.
    """
    fractions = given.sampled and given.slices[None].tp.dtype.kind == "f"
    if fractions and options.confidence is not None:
        raise fractional_weights() if options.interval == "exact" else undrawable_weights()
    if options.crossover is not None and len(given.slices[None].models) == 1:
        raise bad_option("--crossover compares models, and there is only one")

    def tuner(slices: Mapping[str | None, ConfusionCounts]) -> Tuner:
        return Tuner.of_slices(slices, given.thresholds, options, sampled=given.sampled)

    everything = tuner(given.slices)
    tables: dict[str, Rows] = {}
    tables["models"], failed = everything.model_rows()
    if options.population is not None:
        tables["expected"] = [
            row
            for label, counts in given.slices.items()
            for row in expected_rows(
                tuner({label: counts}), _few(given, label, options), options.population
            )
        ]
    statistics = [given.slices[None].digest()]
    if options.compared is not None and len(given.slices[None].models) > 1:
        tables |= _contests(given, options)
        if given.patterns:
            statistics.append(given.patterns[None].digest())
    found, scores, unbounded = _thresholds(given, options)
    tables |= found
    statistics += scores
    if options.prevalence_range is not None:
        tables["ranges"] = range_rows(everything, options.prevalence_range)
    if options.prevalence_beta is not None:
        tables["simulated"] = simulated_rows(everything, options.prevalence_beta)
    if options.swept is not None:
        whole = tuner({None: given.slices[None]})
        tables["sweep"], lost = whole.sweep_rows(options.swept.populations)
        failed = max(failed, lost)
    return Result(
        command="tune-jpt",
        signature=signature_of(given, options, statistics),
        inputs=inputs(given.files),
        parameters=parameters_of(given, options),
        summary=summary_of(given),
        tables=tables,
        warnings=warnings_of(given, options, tables, failed, unbounded),
    )


def _places(given: Sample, label: str | None, options: TuneOptions) -> list[Place]:
    """Return the populations of a slice by kind, its own where its models share one.

    Swept odds are for the whole table only.
    """
    sample = sample_of(given, label)
    swept = options.swept.populations if options.swept is not None and label is None else ()
    return [
        *([("sample", sample)] if sample is not None else []),
        ("1:1", BALANCED),
        *(("target", target) for target in options.populations),
        *(("sweep", one) for one in swept),
    ]


def _few(given: Sample, label: str | None, options: TuneOptions) -> list[Place]:
    """Return the populations of a slice but the swept ones."""
    return [one for one in _places(given, label, options) if one[0] != "sweep"]


def _contests(given: Sample, options: TuneOptions) -> dict[str, Rows]:
    """Return which model leads where, over the swept odds or else over the full range."""
    sweep = options.swept or Sweep.parse(FULL_SWEEP, 2)
    looked_at = [sweep.first.ratio, sweep.last.ratio, *(one.ratio for one in options.populations)]
    ends = min(looked_at), max(looked_at)
    crossovers: list[Row] = []
    winners: list[Row] = []
    for label, counts in given.slices.items():
        contest = Contest(
            name=str(options.compared),
            counts=counts,
            both=shared_answers(given.patterns.get(label)),
            level=options.confidence if given.sampled else None,
            beta=options.beta,
            stakes=options.stakes,
        )
        crossovers += crossover_rows(label, contest, ends)
        places = [place for place in _places(given, label, options) if place[0] != "1:1"]
        if places:
            winners += winner_rows(label, contest, places)
    return {"crossovers": crossovers, "winners": winners}


def _thresholds(
    given: Sample, options: TuneOptions
) -> tuple[dict[str, Rows], list[str], list[str]]:
    """Return the tables of thresholds, the digests of scores, and models with infinite scores.

    One model's scores are held at a time. Where scores are infinite no threshold can be written.
    """
    counted = given.counted
    if counted is None or not options.tuned:
        return {}, [], []
    known = formulas(options.beta, options.stakes)
    chosen = {name: known[name] for name in options.tuned}
    by_slice: dict[str | None, list[Row]] = {label: [] for label in given.slices}
    digests: list[str] = []
    unbounded: list[str] = []
    for i, model in enumerate(counted.models):
        if model.kind == "label":
            continue
        for label, scores in counted.scores(i).items():
            if label is None:
                digests.append(f"{model.name}{scores.digest()}")
                if not np.isfinite(scores.scores).all():
                    unbounded.append(model.name)
            counts = given.slices[label]
            if not (counts.positives[i] and counts.negatives[i]) or model.name in unbounded:
                continue
            places = _places(given, label, options)
            ratios = np.array([place.ratio for _, place in places])
            by_slice[label] += threshold_rows(
                label,
                model.name,
                candidates(scores),
                places,
                chosen,
                Fixed(
                    given.thresholds.get(model.name),
                    counts.tp[i].item(),
                    counts.fp[i].item(),
                    counts.positives[i].item(),
                    counts.negatives[i].item(),
                ),
                honest_estimates(
                    scores, ratios, chosen, folds=options.folds, repeats=repeats_of(given),
                    rng=stream(options.seed, f"folds\0{model.name}\0{label or ''}"),
                ),
            )  # fmt: skip
    if not digests:
        return {}, [], []
    rows = [row for found in by_slice.values() for row in found]
    return {"thresholds": rows, "cutoffs": cutoff_rows(rows)}, sorted(digests), unbounded
