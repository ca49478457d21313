"""Leading models by class ratio: the tables of winners and of crossings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from clfeval.arrays import Floats, Ints
from clfeval.compare.change import EQUIVALENT, NOT_WORSE, UNDECIDED, Change, estimate_or_none
from clfeval.compare.families import adjusted_family, family_pairs, reference_rows
from clfeval.compare.rate_estimates import RateEstimates
from clfeval.counts.count import Sample
from clfeval.document import Estimate, Row, Rows
from clfeval.measures.catalog import CATALOG
from clfeval.measures.record import Population
from clfeval.methods.estimates import Cells, concatenate_counts, estimate_column
from clfeval.methods.tune_jpt.options import FULL_SWEEP, TuneOptions, sweep_populations
from clfeval.methods.tune_jpt.pairwise import (
    Crossings,
    DifferenceSigns,
    PairwiseComparison,
    add_crossing_limits,
    find_crossings,
    rate_covariance,
)
from clfeval.methods.tune_jpt.tables import slice_populations

MOST_PAIRED = 30  # models up to which all pairs are compared by default
_GRID = 2001  # odds at which signs are compared, evenly in the logarithm
_LOOKS = 13  # odds at which a lead without crossing is tested


def lead_tables(given: Sample, options: TuneOptions) -> dict[str, Rows]:
    """Return the leading models over the swept odds, or else over the full range."""
    populations = (*(options.swept or sweep_populations(FULL_SWEEP, 2)), *options.populations)
    looked_at, crossovers, winners = [one.ratio for one in populations], list[Row](), list[Row]()
    alike: dict[int, list[str | None]] = {}  # slices with equally many models share one level
    for label, counts in given.slices.items():
        alike.setdefault(len(counts.models), []).append(label)
    for many, labels in alike.items():
        contest = _pairwise_comparison(given, labels, options)
        if options.measure or options.reference or many <= MOST_PAIRED:
            ends = min(looked_at), max(looked_at)
            crossovers += (
                row for row in crossover_rows(labels, contest, ends)
                if options.reference in (None, row["first"], row["second"])
            )  # fmt: skip
        places = [slice_populations(given, label, options) for label in labels]
        for kinds in (("sample", "target"), ("sweep",)):
            chosen = [(i, *one) for i, its in enumerate(places) for one in its if one[0] in kinds]
            winners += winner_rows(labels, contest, chosen, options)
    place: dict[Any, int] = {label: i for i, label in enumerate(given.slices)}
    for rows in (crossovers, winners):
        rows.sort(key=lambda row: place[row["slice"]])
    tables: dict[str, Rows] = {"crossovers": crossovers} if crossovers else {}
    return tables | {"winners": winners}


def _pairwise_comparison(
    given: Sample, labels: Sequence[str | None], options: TuneOptions
) -> PairwiseComparison:
    """Return the pairwise comparison of models in slices with equally many models."""
    patterns = [given.patterns[label] for label in labels if label in given.patterns]
    _, counts = concatenate_counts({label: given.slices[label] for label in labels})
    level = options.confidence if given.sampled else None
    measure = CATALOG[str(options.compared)].with_settings(
        beta=options.beta, stakes=options.outcome_costs
    )
    rates = None if level is None else rate_covariance(counts, patterns)
    return PairwiseComparison(measure, counts, rates, level, parts=len(labels))


def reference_comparisons(given: Sample, options: TuneOptions, reference: str) -> Iterator[Row]:
    """Yield differences from a reference at each target, by `ppv:prevalence=0.02` and the like."""
    contest = _pairwise_comparison(given, [None], options)
    places = slice_populations(given, None, options)
    kind = "target" if options.populations else places[0][0]
    models, level = np.arange(contest.models_per_part), contest.level or 0.0
    for its, population in places:
        if its != kind or contest.rates is None:
            continue
        known = contest.rates.measures_at_odds(
            contest.measure, models, np.full(len(models), population.ratio)
        )
        at = "" if kind == "sample" else f":prevalence={population.prevalence:.6g}"
        one = known.paired(f"{contest.measure.id}{at}", models)
        pairs = family_pairs(reference, one.models)
        family = adjusted_family(one, pairs, level=level, seed=options.seed)
        if family is not None:
            values = [Estimate(value) for value in one.values.tolist()]
            rows, margin = float(contest.counts.rows[0]), options.least_difference
            yield from reference_rows(family, values, rows, reference, margin=margin)


def winner_rows(
    labels: Sequence[str | None], contest: PairwiseComparison,
    places: Sequence[tuple[int, str, Population]],
    options: TuneOptions,
) -> Iterator[Row]:  # fmt: skip
    """Yield, per population of a part, the model with the best value, and those tied with it.

    `winner` is that model where every other one is significantly worse; else None, and `tied`
    names the models that are not. All pairs of a population are adjusted by the joint maximum, of
    many models by Bonferroni's rule, swept rows as crossings. With a margin also the verdict on the
    leader, models `equivalent` to it, and those `possibly_better` by the margin.

    places: the part, the kind (all swept, or none) and the population of each row.
    """
    if not places:
        return
    k, names, measure = contest.models_per_part, contest.counts.models, contest.measure
    margin = options.least_difference
    ratios = np.array([population.ratio for *_, population in places])
    start, at = np.array([part for part, *_ in places]) * k, np.arange(len(places))
    every, odds = (start[:, None] + np.arange(k)).ravel(), np.repeat(ratios, k)
    values = contest.function(every, odds).reshape(len(places), k)
    leaders = np.where(np.isnan(values), -np.inf, contest.sign * values).argmax(axis=1)
    p, ends = np.full(values.shape, np.nan), np.full((3, *values.shape), np.nan)
    levels = np.ones(len(places))
    if contest.rates is not None:
        known = contest.rates.measures_at_odds(measure, every, odds)
        first = np.repeat(at * k + leaders, k)
        p = known.p_values(first, np.arange(len(every))).reshape(values.shape)
        levels = _interval_levels(contest, known, p, options, everywhere=places[0][1] == "sweep")
        for i in range(len(places)) if margin is not None else ():
            here = slice(i * k, (i + 1) * k)
            ends[:, i] = known.intervals(first[here], np.arange(len(every))[here], level=levels[i])
    tied = ~(p < 1 - levels[:, None])
    if contest.sign < 0:
        ends = -ends[[0, 2, 1]]
    cells = Cells.picked(contest.counts, start + leaders, ratios)
    best = estimate_column(values[at, leaders], None, cells, measure.undefined_at_odds)
    columns = (x.tolist() for x in (start, leaders, np.isnan(values), tied, *ends))
    for (part, kind, population), value, begin, leader, unknown, ties, *leads in zip(
        places, best, *columns, strict=True
    ):
        its = names[begin : begin + k]
        others = [j for j in range(k) if j != leader and not unknown[j]]
        undecided = [its[j] for j in others if ties[j]]
        defined = not unknown[leader]
        called = defined and not undecided and bool(others) and contest.level is not None
        row: dict[str, Any] = {
            "slice": labels[part], "measure": measure.id, "population": kind,
            "prevalence": population.prevalence, "odds": population.odds,
            "ratio": population.ratio, "leader": its[leader] if defined else None,
            "value": value, "winner": its[leader] if called else None,
            "tied": undecided if defined else [],
        }  # fmt: skip
        if margin is not None:
            by = {its[j]: estimate_or_none(*(x[j] for x in leads)) for j in others if defined}
            row |= _margin_cells(by, margin)
        yield row


def _interval_levels(
    contest: PairwiseComparison, known: RateEstimates, p: Floats, options: TuneOptions, *,
    everywhere: bool
) -> Floats:  # fmt: skip
    """Return the level of intervals for all pairs of each row, (g,): joint or `together`."""
    g, k = p.shape
    alone = contest.level or 0.0
    levels = np.full(g, contest.simultaneous(k * (k - 1) // 2, everywhere=everywhere).level)
    if everywhere or k > MOST_PAIRED:
        return levels
    # the joint maximum lies between Bonferroni's rule and each pair by itself
    matters = ((p < 1 - alone) & (p >= 1 - levels[:, None])).any(axis=1)
    for i in np.flatnonzero(matters | (options.least_difference is not None)).tolist():
        one = known.paired(contest.measure.id, np.arange(i * k, (i + 1) * k))
        pairs = family_pairs(None, one.models)
        family = adjusted_family(one, pairs, level=alone, seed=options.seed)
        levels[i] = levels[i] if family is None else family.each_level
    return levels


def _margin_cells(leads: Mapping[str, Estimate], margin: float) -> dict[str, Any]:
    """Return the cells that compare the leader with the other models by the margin."""
    none, kinds, lows = Estimate(None), dict[str, str | None](), list[float]()
    for name, one in leads.items():
        if one.low is not None:
            change = Change(none, none, one, float(one.low <= 0))
            kinds[name] = change.verdict("", 0.5, margin=margin, best="max")
            lows.append(one.low)
    found, together = {*kinds.values()}, None
    if kinds and len(kinds) == len(leads):
        mixed = UNDECIDED if UNDECIDED in found else NOT_WORSE
        together = found.pop() if len(found) == 1 else mixed
    return {
        "verdict": together, "least_lead": min(lows, default=None),
        "equivalent": [name for name, one in kinds.items() if one == EQUIVALENT],
        "possibly_better": [name for name, one in kinds.items() if one == UNDECIDED],
    }  # fmt: skip


def crossover_rows(
    labels: Sequence[str | None], contest: PairwiseComparison, ends: tuple[float, float]
) -> Iterator[Row]:
    """Yield a row for every crossing of every pair of models, and one for a pair without any.

    The limits are the prevalences, on either side, beyond which the interval of the difference
    excludes 0, or None. `ends` are odds, the lower first. The value is a prevalence inside them, or
    None and the reason: `none`, `identical`, `invariant` or `undefined`. Intervals of a part are
    simultaneous over every class ratio and pair.
    Source: Eiland and Liebrock 2013 for TAR; the limits invert the interval of the difference.
    """
    k, names, measure = contest.models_per_part, contest.counts.models, contest.measure.id
    pairs = np.array([*combinations(range(k), 2)], np.int64).reshape(-1, 2)
    contest = contest.simultaneous(len(pairs), everywhere=True)
    every = (np.arange(contest.parts)[:, None, None] * k + pairs).reshape(-1, 2)
    first, second = every[:, 0], every[:, 1]
    found, rest, seen = find_crossings(contest, np.geomspace(*ends, _GRID), first, second)
    cells = [*_crossing_cells(contest, add_crossing_limits(contest, found, ends))]
    cells += _no_crossing_cells(contest, ends, first[rest], second[rest], seen)
    whose = np.concatenate([found.pair, rest])
    for place in np.argsort(whose, kind="stable").tolist():
        i, j = every[whose[place]].tolist()
        who = {"slice": labels[i // k], "measure": measure, "first": names[i], "second": names[j]}
        yield {**who, **cells[place]}


def _crossing_cells(contest: PairwiseComparison, found: Crossings) -> Iterator[dict[str, Any]]:
    """Yield the cells of each crossing."""
    names = contest.counts.models
    parts = (found.below, found.above, found.ratio, found.low, found.high)
    for i, j, ratio, *limits in zip(*(part.tolist() for part in parts), strict=True):
        low, high = (None if r != r else r / (1 + r) for r in limits)
        below, above, at = names[i], names[j], Population.from_ratio(ratio)
        where = f"below prevalence {at.prevalence:.3g} ({at.rough})"
        verdict = f"{below} leads {where}, {above} above"
        if contest.level is not None and None in (low, high):
            one = f"only the lead of {below if low is not None else above}"
            verdict += f"; {'neither lead' if low is high else one} is significant"
        yield {
            "crossing": Estimate(at.prevalence, low, high), "odds": at.odds, "leads_below": below,
            "leads_above": above, "verdict": verdict,
        }  # fmt: skip


def _no_crossing_cells(
    contest: PairwiseComparison,
    ends: tuple[float, float],
    first: Ints,
    second: Ints,
    seen: DifferenceSigns,
) -> Iterator[dict[str, Any]]:
    """Yield the reason for no crossing, the leader, and whether its lead is significant."""
    low, high = (Population.from_ratio(end).rough for end in ends)
    ahead = np.where(seen.ahead > 0, first, second)
    pairs = np.concatenate([ahead, first + second - ahead])
    some, place = np.unique(pairs, return_inverse=True)
    one, other = place.reshape(2, -1)
    leads = np.array([  # at a few odds
        contest.significant(one, other, some, np.full(len(some), ratio))
        for ratio in np.geomspace(*ends, _LOOKS)
    ])  # fmt: skip
    parts = (seen.defined, seen.differ, ahead, leads.all(axis=0), leads.any(axis=0))
    for defined, differ, leader, everywhere, some_of_it in zip(
        *(x.tolist() for x in parts), strict=True
    ):
        reason, name, words = "none", None, ""
        if not defined:
            reason, words = "undefined", "undefined for at least one model"
        elif not differ:
            reason, words = "identical", "equal at every class ratio"
        else:
            name = contest.counts.models[leader]
            if contest.measure.invariant:
                reason, words = "invariant", "does not depend on the class ratio; "
            words += f"{name} leads from {low} to {high}"
            if contest.level is not None:
                where = (
                    "everywhere" if everywhere else "at some ratios" if some_of_it else "nowhere"
                )
                words += f"; its lead is significant {where}"
        yield {
            "crossing": Estimate(None, reason=reason), "odds": None, "leads_below": name,
            "leads_above": name, "verdict": f"none: {words}",
        }  # fmt: skip
