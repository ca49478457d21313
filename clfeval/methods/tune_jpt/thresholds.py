"""The threshold that is best for a measure in a population, and what it is honestly worth.

It is found on the hull of the ROC points; its worth is that of thresholds chosen on some folds and
judged on the one left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clfeval.arrays import Counts, Floats, Ints
from clfeval.counts.clusters import ClusterCounts
from clfeval.counts.count import Sample
from clfeval.counts.scores import ScoreCounts
from clfeval.inference.folds import deal
from clfeval.inference.resampling import stream
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from clfeval.measures.population import Population
from clfeval.methods.estimates import column, estimate
from clfeval.methods.roc import RocPoints, candidates, ranks_by_delta, unbeaten, vertices
from clfeval.methods.tune_jpt.options import LARGE, REPEATS, TuneOptions
from clfeval.methods.tune_jpt.tables import Formula, formulas, places_of
from clfeval.result import Estimate, Row, Rows

Fixed = tuple[float | None, Confusion]
_TIE = 1e-12  # relative
_CELLS = 2**18  # tables measured at a time, few enough to stay in the cache


def repeats_of(given: Sample) -> int:
    """Return how often cross-fitting deals the rows anew: once where there are many."""
    return REPEATS if given.slices[None].rows.max() < LARGE else 1


def threshold_tables(
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
    places = {label: places_of(given, label, options) for label in given.slices}
    ratios = {label: np.array([at.ratio for _, at in there]) for label, there in places.items()}
    repeats = repeats_of(given)
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
            tp, fp, p, n = (
                part[i].item()
                for part in (counts.tp, counts.fp, counts.positives, counts.negatives)
            )
            if not (p and n) or model.name in unbounded:
                continue
            by_slice[label] += threshold_rows(
                label, model.name, candidates(scores), places[label], chosen,
                (given.thresholds.get(model.name), Confusion(tp, fp, p - tp, n - fp)),
                honest_estimates(
                    scores, ratios[label], chosen, folds=options.folds, repeats=repeats,
                    rng=stream(options.seed, f"folds\0{model.name}\0{label or ''}"),
                ),
            )  # fmt: skip
    if not digests:
        return {}, [], []
    rows = [row for found in by_slice.values() for row in found]
    return {"thresholds": rows, "cutoffs": cutoff_rows(rows)}, sorted(digests), unbounded


def best_points(
    points: RocPoints, ratios: Floats, measures: Mapping[str, Formula]
) -> dict[str, tuple[Ints, Floats]]:
    """Return, by measure, the best of h points at each of g odds: its place (g,), its value (g,).

    Best is largest or smallest as the catalog says; an infinite value beats every other. Values
    equal up to 1e-12 relative are ties: of them the largest delta = tp - fp, then the highest
    threshold is taken. A point where the measure is undefined is never best: where it is so at
    every point the place is -1 and the value NaN. Measures that do not change with the class ratio
    are looked at once. O(g h) for each measure; with the points of `roc.candidates` the best is
    that of the whole curve.
    """
    return _peaks(points.tables, points.tables, points.preference, ratios, measures)


def _peaks(
    tables: Confusion, still: Confusion, rank: Ints, ratios: Floats, measures: Mapping[str, Formula]
) -> dict[str, tuple[Ints, Floats]]:
    """Return `best_of` tables (..., h) by measure at g odds, (g, ...) each.

    A measure that the odds do not change is looked for once, in `still`.
    """
    step = max(1, _CELLS // rank.size)
    parts: dict[str, list[tuple[Ints, Floats]]] = {name: [] for name in measures}
    for start in range(0, len(ratios), step):
        tuned = tables.tuned(ratios[start : start + step].reshape(-1, *[1] * rank.ndim))
        for name, measure in measures.items():
            if not CATALOG[name].invariant:
                parts[name].append(best_of(name, measure(tuned), rank))
            elif not start:
                parts[name] = [best_of(name, measure(still)[None], rank)] * len(ratios)
    found = {}
    for name, blocks in parts.items():
        place, value = (np.concatenate(column) for column in zip(*blocks, strict=True))
        found[name] = place, value
    return found


def at_odds(name: str, table: Confusion, ratios: Floats) -> Confusion:
    """Return the table at the odds, or as it is for a measure that they do not change.

    So the same counts give the same value to the last bit, wherever they are compared.
    """
    return table if CATALOG[name].invariant else table.tuned(ratios)


def best_of(name: str, values: Floats, rank: Ints) -> tuple[Ints, Floats]:
    """Return the place, or -1, and the value of the best along the last axis of (..., h).

    rank (..., h) broadcasts: of ties the one of lowest rank is taken.
    """
    gains = -values if CATALOG[name].best == "min" else values
    top = np.fmax.reduce(gains, axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):  # undefined values are never close
        close = gains >= top - np.where(np.isfinite(top), _TIE * np.abs(top), 0.0)
    place = np.where(close, rank, rank.size).argmin(axis=-1)
    value = np.take_along_axis(values, place[..., None], axis=-1)[..., 0]
    none = np.isnan(top[..., 0])
    return np.where(none, -1, place), np.where(none, np.nan, value)


def threshold_rows(
    label: str | None, model: str, points: RocPoints, populations: Sequence[tuple[str, Population]],
    measures: Mapping[str, Formula], fixed: Fixed, honest: Mapping[str, Sequence[Estimate]],
) -> list[Row]:  # fmt: skip
    """Return the rows of table `thresholds` of one slice and model: per measure and population.

    points: the model's `roc.candidates`, or all points; measures that have no best are left out.
    populations: pairs of the kind ("sample", "1:1", "target", "sweep") and the population.
    fixed: the threshold in use, None for votes of the largest class, and the table it was counted
    to give, or that of its rates. honest: by measure an estimate per population, from
    `honest_estimates`.

    The value is that of the best threshold on the rows it was chosen on, which flatters it. The
    loss is how much better that is than the fixed threshold, in the unit of the measure and never
    below 0; the honest gain is how much better the cross-fitted value is, and below 0 where moving
    the threshold would do harm.
    """
    threshold, table = fixed
    ratios = np.array([population.ratio for _, population in populations])
    # phi has no best value to look for
    chosen = {name: one for name, one in measures.items() if CATALOG[name].best != "zero"}
    found = best_points(points, ratios, chosen)
    rows: list[Row] = []
    for name, measure in chosen.items():
        kept = np.broadcast_to(measure(at_odds(name, table, ratios)), ratios.shape)
        columns = (populations, *(x.tolist() for x in (*found[name], kept)), honest[name])
        for (kind, at), place, value, old, judged in zip(*columns, strict=True):
            best = _value(name, value, points, place)
            before = estimate(old, undefined=CATALOG[name].tuned, table=table)
            rows.append(
                {
                    "slice": label, "model": model, "measure": name, "population": kind,
                    "prevalence": at.prevalence, "odds": at.odds, "ratio": at.ratio,
                    **_threshold(points, place), "value": best, "fixed_threshold": threshold,
                    "fixed_value": before, "loss": _loss(name, best, before), "honest": judged,
                    "honest_gain": _gain(name, judged, before),
                }
            )  # fmt: skip
    return rows


def cutoff_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of table `cutoffs`: per model and measure, the whole table's thresholds.

    From few positives to many, each class ratio once. A threshold of None is above every score.
    """
    names = ("model", "measure", "odds", "threshold", "rule")
    found: dict[tuple[str, str], dict[float, Row]] = {}
    for row in rows:
        if row["slice"] is None and row["rule"] is not None:
            by_ratio = found.setdefault((str(row["model"]), str(row["measure"])), {})
            by_ratio.setdefault(float(str(row["ratio"])), {name: row[name] for name in names})
    return [by_ratio[ratio] for by_ratio in found.values() for ratio in sorted(by_ratio)]


def _threshold(points: RocPoints, place: int) -> dict[str, float | str | None]:
    if place < 0:
        return {"threshold": None, "rule": None, "sensitivity": None, "specificity": None}
    tp, fp = (n[place].item() / n[-1].item() for n in (points.tp, points.fp))
    there = {"sensitivity": tp, "specificity": 1 - fp}
    if place == 0:
        return {"threshold": None, "rule": "never positive", **there}
    rule = "always positive" if place == len(points.tp) - 1 else "score >= t"
    return {"threshold": points.thresholds[place].item(), "rule": rule, **there}


def _value(name: str, value: float, points: RocPoints, place: int) -> Estimate:
    (tp, fp), (p, n) = ((points.tp[i].item(), points.fp[i].item()) for i in (place, -1))
    table = Confusion(tp, fp, p - tp, n - fp)
    return estimate(value, undefined=CATALOG[name].tuned, table=table)


def _loss(name: str, best: Estimate, kept: Estimate) -> Estimate:
    """Return by how much the best value beats the kept one: not at all where they tie."""
    lost = _gain(name, best, kept)
    if lost.value is None or best.value is None:
        return lost
    return Estimate(lost.value if lost.value > _TIE * abs(best.value) else 0.0)


def _gain(name: str, new: Estimate, old: Estimate) -> Estimate:
    """Return by how much a value is better than another; two infinite ones are alike."""
    for one in (new, old):
        if one.value is None and one.reason not in _INFINITE:
            return Estimate(None, reason=one.reason)
    sign = -1 if CATALOG[name].best == "min" else 1
    a, b = (
        one.value if one.value is not None else _INFINITE[str(one.reason)] for one in (new, old)
    )
    return estimate(0.0 if a == b else sign * (a - b))


_INFINITE = {"infinite": np.inf, "minus_infinite": -np.inf}


_GROUPS = 2**13
_FEWEST = 2**8  # however many folds
_DEALT = 2**22  # counts of groups in folds


def honest_estimates(
    counts: ScoreCounts, ratios: Floats, measures: Mapping[str, Formula], *, folds: int,
    repeats: int, rng: np.random.Generator,
) -> dict[str, list[Estimate]]:  # fmt: skip
    """Return, by measure, the cross-fitted value of the best threshold at each of g odds (g,).

    The best threshold on some rows flatters on the same rows. So positives and negatives are dealt
    to K folds, each class by itself and as evenly as can be; per fold, odds and measure the best
    threshold is chosen on the other folds, by the rule of `best_points`, and the fold's
    rows are judged by it: a score at or above it is positive, also where it lies between two
    scores that were chosen from. The judged counts are added up over the folds and averaged over
    the repeats, each with a new deal, and the measure is that of this one table at the odds.

    Choosing among 8192 thresholds is as good as among more: above that many distinct scores
    (fewer with more than 512 folds) neighbours are put together, into groups of about equal rows
    and of ever fewer ones towards both ends. From 10**9 rows in a class on, each row is dealt by
    itself, which at that number is even to a hundredth of a percent.

    No interval is given: the folds' thresholds differ, and limits of the pooled counts as if they
    were one held the truth in as few as 71 % of simulated tables where 95 % were asked for.

    Undefined with fewer than two rows in a class (too_few_rows), with rows of fractional weight,
    which cannot be dealt (fractional_weights), and where the measure is undefined at every
    threshold of some training part or in the pooled table.

    Rows that share clusters are dealt by whole clusters, those with positives by themselves; with
    fewer than two clusters that have rows of a class the value is undefined (too_few_clusters).
    Errors: ValueError unless folds >= 2 and repeats >= 1.
    Source: Stone 1974, Journal of the Royal Statistical Society B 36:111 (cross-validatory choice
    and assessment).
    """
    if folds < 2 or repeats < 1:
        raise ValueError("cross-fitting needs at least two folds and one repeat")
    totals = counts.positives.sum().item(), counts.negatives.sum().item()
    reason = "fractional_weights" if counts.fractional else None
    reason = reason or ("too_few_rows" if min(totals) == 1 else None)
    reason = reason or ("too_few_clusters" if _lumped(counts) else None)
    if reason or not min(totals):
        never = Confusion(0, 0, *totals)
        reasons = {name: (reason,) if reason else CATALOG[name].tuned for name in measures}
        return {
            name: [estimate(np.nan, undefined=said, table=never)] * len(ratios)
            for name, said in reasons.items()
        }
    judged = dict.fromkeys(measures, (np.zeros(len(ratios)), np.zeros(len(ratios))))
    folds = min(folds, max(totals) if counts.clusters is None else len(counts.clusters))
    groups = grouped(counts, max(_FEWEST, min(_GROUPS, _DEALT // folds)))
    for _ in range(repeats):
        dealt = _dealt(groups, folds, rng)
        for name, more in _judged(*dealt, ratios, measures).items():
            judged[name] = (judged[name][0] + more[0], judged[name][1] + more[1])
    found: dict[str, list[Estimate]] = {}
    for name, (tp, fp) in judged.items():
        pooled = Confusion(tp, fp, repeats * totals[0] - tp, repeats * totals[1] - fp)
        values = np.broadcast_to(measures[name](at_odds(name, pooled, ratios)), ratios.shape)
        found[name] = column(values, None, pooled, CATALOG[name].tuned)
    return found


def _lumped(counts: ScoreCounts) -> bool:
    """Tell whether all rows of a class are of one cluster."""
    if counts.clusters is None:
        return False
    positive = np.arange(2 * len(counts.scores)) < len(counts.scores)
    return min(counts.clusters.having(positive), counts.clusters.having(~positive)) < 2


Groups = tuple[Counts, Counts, ClusterCounts | None]


def _dealt(groups: Groups, folds: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the positives and negatives of each fold in m groups, (folds, m) each."""
    positives, negatives, clusters = groups
    if clusters is None:
        return deal(positives, folds, rng), deal(negatives, folds, rng)[::-1]
    m = len(positives)
    dealt = clusters.dealt(folds, np.arange(2 * m) < m, rng)
    return dealt[:, :m], dealt[:, m:]


def grouped(counts: ScoreCounts, most: int) -> Groups:
    """Return positives and negatives from the highest score down, in so many groups at most.

    Also how often these occur in each cluster.
    """
    positives, negatives = counts.positives[::-1], counts.negatives[::-1]
    first = np.arange(len(positives))
    if len(positives) > most:
        above = np.cumsum(positives + negatives)
        rows = int(above[-1])
        # half of the ends evenly, a quarter from each end at distances in geometric progression
        near = np.geomspace(1, rows, most // 4)
        ends = np.concatenate([np.linspace(1, rows, most // 2), near, rows - near])
        last = np.unique(np.searchsorted(above, np.clip(ends, 1, rows)))
        first = np.concatenate([[0], last[:-1] + 1])
        positives, negatives = (np.add.reduceat(one, first) for one in (positives, negatives))
    if counts.clusters is None:
        return positives, negatives, None
    down = np.arange(len(counts.scores))[::-1]
    place = np.searchsorted(first, down, side="right") - 1
    both = np.concatenate([place, place + len(first)])
    return positives, negatives, counts.clusters.placed(both)


def _judged(
    positives: Ints, negatives: Ints, ratios: Floats, measures: Mapping[str, Formula]
) -> dict[str, tuple[Floats, Floats]]:
    """Return, by measure, the pooled true and false positives at each odds, (g,) each.

    positives, negatives (K, m): the counts of the folds. Thresholds are chosen on what is left of
    the rows without each, among h candidates; where a part has fewer, 0 (none positive) fills up.
    """
    held = _running(positives), _running(negatives)
    tp, fp = (one.sum(axis=0) - one for one in held)
    cuts = _candidates(tp, fp)
    p, n = tp[:, -1:], fp[:, -1:]
    tp, fp = np.take_along_axis(tp, cuts, axis=1), np.take_along_axis(fp, cuts, axis=1)
    rank = ranks_by_delta(tp, fp, p, n)
    tables, folds = Confusion(tp, fp, p - tp, n - fp).normalised(), np.arange(len(cuts))
    found = {}
    for name, (place, _) in _peaks(tables, tables.tuned(1.0), rank, ratios, measures).items():
        cut = cuts[folds, place]
        hits, alarms = (np.where(place < 0, np.nan, one[folds, cut]).sum(axis=1) for one in held)
        found[name] = hits, alarms
    return found


def _running(dealt: Ints) -> Ints:
    """Return how many rows of each fold stand at or above every threshold: 0 at the first."""
    return np.concatenate([np.zeros((len(dealt), 1), np.int64), dealt.cumsum(axis=1)], axis=1)


def _candidates(tp: Ints, fp: Ints) -> Ints:
    """Return the candidates (K, h) of K curves with m + 1 points each, filled up with zeros."""
    k, width = tp.shape
    starts = np.zeros(tp.shape, bool)
    starts[:, 0] = True
    upper = vertices(tp.ravel(), fp.ravel(), starts.ravel())
    chosen = np.zeros(tp.size, bool)
    chosen[upper] = chosen[vertices(fp.ravel(), tp.ravel(), starts.ravel())] = True
    for i in np.flatnonzero(np.bincount(upper // width, minlength=k) <= 2):
        chosen[i * width + unbeaten(tp[i], fp[i])] = True
    places = np.flatnonzero(chosen)  # np.unique would import numpy.ma first
    row = places // width
    many = np.bincount(row, minlength=k)
    before = np.cumsum(many) - many
    cuts = np.zeros((k, many.max()), np.int64)
    cuts[row, np.arange(len(places)) - before[row]] = places % width
    return cuts
