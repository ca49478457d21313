"""From counts to the Result of tune-jpt: its tables, settings and signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

import numpy as np

from clfeval.arrays import Floats
from clfeval.counts.count import Sample
from clfeval.counts.patterns import ConfusionCounts, PatternCounts
from clfeval.errors import bad_option
from clfeval.inference.resampling import stream
from clfeval.measures.catalog import CATALOG
from clfeval.measures.population import BALANCED, Population
from clfeval.methods.document import cuts_in_force, parameters, signature
from clfeval.methods.estimates import fractional_weights, undrawable_weights
from clfeval.methods.roc import candidates
from clfeval.methods.tune_jpt.contest import (
    Contest,
    Place,
    crossover_rows,
    winner_rows,
)
from clfeval.methods.tune_jpt.notes import warnings_of
from clfeval.methods.tune_jpt.options import FULL_SWEEP, LARGE, REPEATS, ROWS, Sweep, TuneOptions
from clfeval.methods.tune_jpt.tables import (
    DRAWS,
    Tuner,
    expected_rows,
    formulas,
    range_rows,
    simulated_rows,
)
from clfeval.methods.tune_jpt.thresholds import Fixed, cutoff_rows, honest_estimates, threshold_rows
from clfeval.result import Result, Row, Rows

METHODS = {
    "sensitivity, specificity; tar, ppv, npv as counted": "Clopper-Pearson",
    "ppv, npv and their odds elsewhere": "Mercaldo logit",
    "lr_pos, lr_neg, dor, dp": "log (Woolf)",
    "tar, tor, j_index, phi, delta, cost, net benefit": "square-and-add of Wilson limits",
    "f_beta, mcc, ic, epa; ratios with an empty cell": "range over the score region (Newcombe)",
    "differences of models": "square-and-add with the correlation of the rows they share",
}


def sample_of(given: Sample, label: str | None) -> Population | None:
    """Return the class ratio of a slice; None where models differ in it or nothing was counted."""
    counts = given.slices[label]
    pairs = set(zip(counts.positives.tolist(), counts.negatives.tolist(), strict=True))
    if not given.sampled or len(pairs) != 1 or 0 in next(iter(pairs)):
        return None
    return Population.of_counts(*pairs.pop())


def repeats_of(given: Sample) -> int:
    """Return how often cross-fitting deals the rows anew: once where there are many."""
    counts = given.slices[None]
    return REPEATS if (counts.positives + counts.negatives).max() < LARGE else 1


def parameters_of(given: Sample, options: TuneOptions) -> dict[str, Any]:
    """Return every setting, and which method makes which interval."""
    sweep = options.swept
    sure = options.confidence is not None and given.sampled
    exact = dict(METHODS) if sure and options.interval == "exact" else {}
    drawn = {
        "measures of models and sweep": "percentile bootstrap, positives and negatives apart",
        "everywhere else": "by formula, as with exact",
    }
    found = {
        "positive": given.positive, "negative": list(given.negative),
        "interval": options.interval if given.sampled else "none",
        "interval_methods": drawn if sure and options.interval == "bootstrap" else exact,
        "measures": list(options.measures),
        "invariant": [name for name in options.measures if CATALOG[name].invariant],
        "targets": [{"prevalence": t.prevalence, "odds": t.odds} for t in options.populations],
        "sweep": None
        if sweep is None
        else {"from": sweep.first.odds, "to": sweep.last.odds, "points": sweep.points},
        "crossover": options.compared if len(given.slices[None].models) > 1 else None,
        "paired": bool(given.patterns),
        "cost": None if options.stakes is None else asdict(options.stakes),
        "risk_threshold": None if options.stakes is None else options.stakes.probability,
        "rows_per": ROWS,
        "range": None if options.prevalence_range is None else list(options.prevalence_range),
        "beta_prior": None if options.prevalence_beta is None else list(options.prevalence_beta),
        "draws": None if options.prevalence_beta is None else DRAWS, "repeats": repeats_of(given),
    }  # fmt: skip
    order = (
        "positive negative level interval interval_methods measures invariant beta targets sweep "
        "crossover paired cost risk_threshold ratio rows_per population range beta_prior draws "
        "folds repeats resamples seed missing by"
    )
    return parameters(order, found, options, given.roles)


def _exact(one: Population) -> str:
    """Write odds as they were given, or with every digit where that says less than the ratio."""
    left, _, right = one.odds.partition(":")
    return one.odds if float(left) / float(right) == one.ratio else f"{one.ratio!r}:1"


def summary_of(given: Sample) -> dict[str, Any]:
    """Return the class totals and the ratio of the sample, null where models differ in them."""
    sample = sample_of(given, None)
    counts = given.slices[None]
    both = [counts.positives[0].item(), counts.negatives[0].item()] if sample else [None, None]
    return {
        "rows": sum(both) if sample else None, "positives": both[0], "negatives": both[1],
        "prevalence": sample.prevalence if sample else None,
        "odds": sample.odds if sample else None,
    }  # fmt: skip


def signature_of(given: Sample, options: TuneOptions, statistics: Sequence[str]) -> str:
    """Return the settings that change numbers, and the hash of the sufficient statistics."""
    sweep, stakes = options.swept, options.stakes
    sure = f"{options.interval}-{options.level!r}" if options.confidence is not None else "none"
    if options.interval == "bootstrap":
        sure += f"-{options.resamples}"
    found = {
        "cmd": "tune-jpt", "pos": given.positive, "cut": cuts_in_force(given.thresholds),
        "miss": given.roles.missing, "weight": "yes" if given.roles.weight else None,
        "by": ",".join(given.roles.by), "odds": ",".join(map(_exact, options.populations)),
        "sweep": f"{sweep.first.odds}..{sweep.last.odds}/{sweep.points}" if sweep else None,
        "range": options.prevalence_range and "..".join(map(repr, options.prevalence_range)),
        "prior": options.prevalence_beta and ",".join(map(repr, options.prevalence_beta)),
        "measures": ",".join(options.measure), "by-measure": options.compared,
        "cost": stakes and ",".join(map(repr, asdict(stakes).values())), "folds": options.folds,
        "seed": options.seed, "ci": sure,
    }  # fmt: skip
    return signature(
        "cmd pos cut miss weight by odds sweep range prior measures ratio per by-measure beta cost "
        "folds seed ci",
        found, options, given.roles, files=given.files,
        statistics=sha256("".join(statistics).encode()).hexdigest(),
    )  # fmt: skip


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
    tables["models"], swept, failed = everything.rows()
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
        tables["sweep"] = swept
    return Result(
        command="tune-jpt", signature=signature_of(given, options, statistics),
        inputs=given.files, parameters=parameters_of(given, options),
        summary=summary_of(given), tables=tables,
        warnings=warnings_of(given, options, tables, failed, unbounded),
    )  # fmt: skip


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
            name=str(options.compared), counts=counts,
            both=_shared_answers(given.patterns.get(label)),
            level=options.confidence if given.sampled else None, beta=options.beta,
            stakes=options.stakes,
        )  # fmt: skip
        crossovers += crossover_rows(label, contest, ends)
        places = [place for place in _places(given, label, options) if place[0] != "1:1"]
        if places:
            winners += winner_rows(label, contest, places)
    return {"crossovers": crossovers, "winners": winners}


def _shared_answers(patterns: PatternCounts | None) -> tuple[Floats, Floats] | None:
    """Return how many positives, and negatives, each two models both call positive: (k, k) each."""
    if patterns is None:
        return None
    sides = []
    for rows in (patterns.truth, ~patterns.truth):
        votes = patterns.votes[rows].astype(np.float64)
        sides.append((votes.T * patterns.n[rows]) @ votes)
    return sides[0], sides[1]


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
                label, model.name, candidates(scores), places, chosen,
                Fixed(
                    given.thresholds.get(model.name), counts.tp[i].item(), counts.fp[i].item(),
                    counts.positives[i].item(), counts.negatives[i].item(),
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
