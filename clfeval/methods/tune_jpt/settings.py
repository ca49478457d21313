"""What a Result of tune-jpt says beside its tables: settings, sample, signature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from clfeval.counts.sample import Sample
from clfeval.measures.catalog import CATALOG
from clfeval.measures.population import Population
from clfeval.methods.document import cuts_in_force, parameters, signature
from clfeval.methods.tune_jpt.options import LARGE, REPEATS, ROWS, TuneOptions
from clfeval.methods.tune_jpt.ranges import DRAWS

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
        "positive": given.positive,
        "negative": list(given.negative),
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
        "draws": None if options.prevalence_beta is None else DRAWS,
        "repeats": repeats_of(given),
    }
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
        "rows": sum(both) if sample else None,
        "positives": both[0],
        "negatives": both[1],
        "prevalence": sample.prevalence if sample else None,
        "odds": sample.odds if sample else None,
    }


def signature_of(given: Sample, options: TuneOptions, statistics: Sequence[str]) -> str:
    """Return the settings that change numbers, and the hash of the sufficient statistics."""
    sweep, stakes = options.swept, options.stakes
    sure = f"{options.interval}-{options.level!r}" if options.confidence is not None else "none"
    if options.interval == "bootstrap":
        sure += f"-{options.resamples}"
    found = {
        "cmd": "tune-jpt",
        "pos": given.positive,
        "cut": cuts_in_force(given.thresholds),
        "miss": given.roles.missing,
        "weight": "yes" if given.roles.weight else None,
        "by": ",".join(given.roles.by),
        "odds": ",".join(map(_exact, options.populations)),
        "sweep": f"{sweep.first.odds}..{sweep.last.odds}/{sweep.points}" if sweep else None,
        "range": options.prevalence_range and "..".join(map(repr, options.prevalence_range)),
        "prior": options.prevalence_beta and ",".join(map(repr, options.prevalence_beta)),
        "measures": ",".join(options.measure),
        "by-measure": options.compared,
        "cost": stakes and ",".join(map(repr, asdict(stakes).values())),
        "folds": options.folds,
        "seed": options.seed,
        "ci": sure,
    }
    return signature(
        "cmd pos cut miss weight by odds sweep range prior measures ratio per by-measure beta cost "
        "folds seed ci",
        found, options, given.roles, files=given.files,
        statistics=sha256("".join(statistics).encode()).hexdigest(),
    )  # fmt: skip
