"""Sentences of MARS: the model that detects most, ties with it, and redundant models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress

import numpy as np

from clfeval import formatting
from clfeval.arrays import Bools, Counts
from clfeval.counts.patterns import TargetCounts, from_units
from clfeval.document import Answer, Estimate, Row, Rows, cell_value, whole_table_rows
from clfeval.inference.influence_and_clusters import count_divisor
from clfeval.inference.proportions import holm
from clfeval.methods.comparison_answer import reference_answers
from clfeval.methods.estimates import share_estimates
from clfeval.methods.mars import best_subsets
from clfeval.methods.mars.options import MarsOptions
from clfeval.methods.mars.tables import sign_test_p
from clfeval.methods.measurement.label_measures import share_design

MEASURE = {"positive": "recall", "negative": "specificity"}
TITLE = {"positive": "sensitivity", "negative": "specificity"}
EXACT = 10  # models up to which all sets are searched for the smallest that detects all


def mars_answer(
    counts: TargetCounts, tables: Mapping[str, Rows], options: MarsOptions
) -> tuple[Answer, ...]:
    """Return sentences on the model and pair that detect most, and on redundant models.

    The best model detects most; ties: fewest rows flagged, then order. Others are compared with it
    by the exact sign test, adjusted by Holm's rule. A model that flags every row is left out where
    others do not.
    """
    rows, target = counts.hit_n.sum().item(), options.target
    if not rows:
        text = f"{TITLE[target].capitalize()} is undefined: no row is {target}."
        return (Answer("no-target", text),)
    if not counts.hits[counts.hit_n > 0].any():
        text = f"No model detects any of the {_format_count(rows, counts)} {target}s."
        return (Answer("detects-none", text),)
    called = np.vstack([counts.hits[counts.hit_n > 0], counts.alarms[counts.alarm_n > 0]])
    every: Bools = np.asarray(called.all(axis=0))
    if counts.alarm_n.any() and every.any() and not every.all():
        spared, names = (tuple(compress(counts.models, which)) for which in (every, ~every))
        others = replace(
            counts, models=names, hits=counts.hits[:, ~every], alarms=counts.alarms[:, ~every]
        )
        one = len(spared) == 1
        text = (
            f"{formatting.join_names(spared)} {_flagging_phrase('every row', target, one=one)} and "
        )
        text += f"{'is' if one else 'are'} left out of this summary."
        return (*mars_answer(others, tables, options), Answer("flags-everything", text, spared))
    covered = counts.hit_n @ counts.hits
    effort = covered + counts.alarm_n @ counts.alarms
    order = np.lexsort((effort, -covered)).tolist()
    said = [_best_model_answer(counts, options, order, covered, effort)]
    if "comparisons" in tables:
        lead, rows_of_all, to = MEASURE[target], tables["comparisons"], str(options.reference)
        said += reference_answers(rows_of_all, lead, to, options.margin.get(lead), options.level)
    elif options.confidence is not None and len(order) > 1:
        said.append(_ties_answer(counts, options, order, covered))
    if options.max_effort is not None:
        said += _within_effort_answer(counts, whole_table_rows(tables["max_effort"]), options)
    elif len(order) > 2:
        members = {*counts.models}
        pairs, best = (
            [row for row in whole_table_rows(tables.get(name, ())) if members >= {*_models(row)}]
            for name in ("pairs", "best")
        )
        said.append(_best_pair_answer(counts, options, order[0], pairs, best))
    if len(order) > 1:
        said.append(_redundancy_answer(counts, covered, target))
    return tuple(said)


def _within_effort_answer(
    counts: TargetCounts, chosen: Sequence[Row], options: MarsOptions
) -> Iterator[Answer]:
    """Yield the sentence on the set that detects most within the limit of flagged rows."""
    for row in chosen:
        names, target = _models(row), options.target
        covered, effort = (float(str(row[name])) for name in ("covered", "effort"))
        share = _detected_share(counts, covered, names, options)
        limit = _flagging_phrase(f"at most {options.max_effort:,.10g} rows", target, one=False)
        text = (
            f"Of all sets that {limit}, {' + '.join(map(formatting.quote_if_ambiguous, names))} "
            "detects the most: "
            f"{covered:,.10g} ({_format_rate(share, options)}; {_corrected_phrase(row, counts)})"
            f", and {_flagging_phrase(f'{effort:,.10g} rows', target, one=True)}."
        )
        yield _set_answer("within-effort", text, names, share, target)


def _models(row: Row) -> tuple[str, ...]:
    """Return the models of a set."""
    return tuple(map(str, row["models"]))  # type: ignore[arg-type]


def _set_answer(
    code: str, text: str, names: tuple[str, ...], share: Estimate, target: str
) -> Answer:
    """Return the sentence on a set of models, with the share of target rows that it detects."""
    return Answer(code, text, names, MEASURE[target], share.value, share.low, share.high)


def _detected_share(
    counts: TargetCounts, found: float, names: Sequence[str], options: MarsOptions
) -> Estimate:
    """Return the share of target rows that a set of models detects, with its interval."""
    clusters, level, by = counts.clusters, options.confidence, None
    if clusters is not None and level is not None:
        members = np.array([[name in names for name in counts.models]])
        patterns = np.concatenate([counts.hits, counts.alarms])
        target = best_subsets.target_patterns(counts)[None]
        # models that are not among these flag every row
        claims = (best_subsets.overlap_counts(patterns, members) > 0) | (
            not {*counts.models} >= {*names}
        )
        by = count_divisor(*share_design(clusters, claims & target, target), level=level)
    units, rows = np.rint(np.array([found]) * counts.unit), counts.hit_n.sum().item()
    return share_estimates(
        MEASURE[options.target], units, rows, **options.interval_arguments, divided=by
    )[0]


def _format_count(n: Counts | float, counts: TargetCounts) -> str:
    """Write a number of units as rows, or as weight."""
    return f"{from_units(n, counts.unit):,.10g}"


def _format_rate(share: Estimate, options: MarsOptions) -> str:
    """Format the sensitivity or specificity with its interval."""
    size = formatting.with_interval(share.value or 0.0, share.low, share.high, options.level)
    return f"{TITLE[options.target]} {size}".replace(" (", ", ").removesuffix(")")


def _flagging_phrase(rows: str, target: str, *, one: bool) -> str:
    """Return the phrase that models flag some rows, or predict them negative."""
    return (
        f"flag{'s' * one} {rows}"
        if target == "positive"
        else (f"predict{'s' * one} {rows} negative")
    )


def _corrected_phrase(row: Row, counts: TargetCounts) -> str:
    """Return the phrase on the share detected, corrected for selection."""
    found = cell_value(row["corrected"])
    if found is None:
        return "lower on new data"
    return f"{formatting.format_number(found / counts.hit_n.sum().item())} corrected for selection"


def _best_model_answer(
    counts: TargetCounts,
    options: MarsOptions,
    order: Sequence[int],
    covered: Counts,
    effort: Counts,
) -> Answer:
    best, models, target = order[0], counts.models, options.target
    first = [models[j] for j in order if covered[j] == covered[best]]
    found = from_units(covered[best], counts.unit)
    shares = [_detected_share(counts, found, [name], options) for name in first]
    share, size = shares[0], f"{found:,.10g} of {_format_count(counts.hit_n.sum(), counts)}"
    rate = _format_rate(share if {*shares} == {share} else Estimate(share.value), options)
    many = "equally many" if len(first) == len(models) else "the most"
    text = f"{formatting.join_names(first)} detect {many} {target}s: {size} ({rate})."
    if len(first) == 1:
        size = f"{size} {target}s" if len(models) == 1 else f"the most {target}s, {size}"
        flags = _flagging_phrase(f"{_format_count(effort[best], counts)} rows", target, one=True)
        text = f"{formatting.join_names(first)} detects {size} ({rate}), and {flags}."
    return _set_answer("detects-most", text, (models[best],), share, target)


def _ties_answer(
    counts: TargetCounts, options: MarsOptions, order: Sequence[int], covered: Counts
) -> Answer:
    best, *others = order
    hits, mine = counts.hits, counts.hits[:, best]
    chance = holm([sign_test_p(counts, mine & ~hits[:, j], hits[:, j] & ~mine) for j in others])
    equal = [j for j, p in zip(others, chance, strict=True) if p > 1 - options.level]
    tied = [counts.models[j] for j in equal if covered[j] < covered[best]]
    text = formatting.describe_ties(tied, [counts.models[j] for j in others if j not in equal])
    if not equal:
        return Answer("significantly-worse", text, (counts.models[best],))
    names = tuple(counts.models[j] for j in equal)
    return Answer("not-significantly-different", text or "They do not differ significantly.", names)


def _best_pair_answer(
    counts: TargetCounts,
    options: MarsOptions,
    best: int,
    pairs: Sequence[Row],
    judged: Sequence[Row],
) -> Answer:
    """Return the sentence on the best pair and its gain; judged: sets with corrected values."""
    row = min(pairs, key=lambda row: (-float(str(row["covered"])), float(str(row["effort"]))))
    names, alone = _models(row), formatting.quote_if_ambiguous(counts.models[best])
    members = [counts.models.index(name) for name in names]
    n, together, mine = counts.hit_n, counts.hits[:, members].any(axis=1), counts.hits[:, best]
    gained, lost = (n[one].sum().item() for one in (together & ~mine, mine & ~together))
    if gained <= lost:
        return Answer("no-better-pair", f"No pair detects more than {alone} alone.", names)
    chance = ""
    if options.confidence is not None and lost:
        p = sign_test_p(counts, together & ~mine, mine & ~together)
        chance = ", not significant" if len(pairs) * p > 1 - options.level else ""
    found, flagged = (float(str(row[name])) for name in ("covered", "effort"))
    both = " + ".join(map(formatting.quote_if_ambiguous, names))
    text = (
        f"The best pair on these rows, {both}, detects "
        f"{found:,.10g} ({_format_count(gained - lost, counts)} more than {alone}{chance}) and "
        f"{_flagging_phrase(f'{flagged:,.10g}', options.target, one=True)}"
    )
    same = [one for one in judged if one["models"] == row["models"]]
    text += f" ({TITLE[options.target]} {_corrected_phrase(same[0], counts)})." if same else "."
    share = _detected_share(counts, found, names, options)
    return _set_answer("best-pair", text, names, share, options.target)


def _redundancy_answer(counts: TargetCounts, covered: Counts, target: str) -> Answer:
    models, hits = counts.models, counts.hits[counts.hit_n > 0]
    detected = best_subsets.total_detected(counts)
    some = _format_count(detected, counts)
    if len(models) <= EXACT:
        every = (one.scores for one in best_subsets.best_subsets(counts, len(models)))
        smallest = next(one.members[0] for one in every if one.covered[0] == detected)
        kept = tuple(np.flatnonzero(smallest).tolist())
    else:
        kept = _without_needless(hits, covered)
    left = tuple(name for j, name in enumerate(models) if j not in kept)
    if not left:
        text = f"Each model detects {target}s that no other detects; together they detect {some}."
        return Answer("all-needed", text, models)
    names = formatting.join_names([models[j] for j in kept], most=len(models))
    text = f"{'Together, ' * (len(kept) > 1)}{names} detect{'s' * (len(kept) == 1)} all {some} "
    return Answer("could-be-left-out", f"{text}{target}s that any model detects.", left)


def _without_needless(hits: Bools, covered: Counts) -> tuple[int, ...]:
    """Return models that detect all, by backward elimination from the least sensitive."""
    finders, kept = hits.sum(axis=1), set(range(hits.shape[1]))
    for j in np.argsort(covered, kind="stable").tolist():
        if not (finders[hits[:, j]] == 1).any():
            finders = finders - hits[:, j]
            kept.remove(j)
    return tuple(sorted(kept))
