"""From counts to the Result of MARS: its sentences, signature and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np

from clfeval.arrays import Bools, Counts
from clfeval.counts.count import PredictionCounts, Sample
from clfeval.counts.evaluated_rows import list_exclusive
from clfeval.counts.patterns import PatternCounts, TargetCounts, from_units
from clfeval.document import (
    Answer,
    Document,
    Estimate,
    ResultNote,
    Row,
    Rows,
    cell_value,
    whole_table_rows,
)
from clfeval.errors import unknown_model_error
from clfeval.formatting import (
    describe_ties,
    format_number,
    join_names,
    quote_if_ambiguous,
    with_interval,
)
from clfeval.inference.proportions import holm
from clfeval.inference.standard_errors import count_divisor
from clfeval.methods.comparison_answer import comparison_rows, reference_answers
from clfeval.methods.estimates import share_estimates
from clfeval.methods.mars import best_subsets
from clfeval.methods.mars.options import COMPARED, MarsOptions
from clfeval.methods.mars.tables import mars_tables, sign_test_p, sweep_table
from clfeval.methods.measurement.label_measures import share_design
from clfeval.methods.options import IntervalSettings
from clfeval.methods.provenance import (
    build_parameters,
    build_signature,
    cluster_summary,
    counting_notes,
    format_thresholds,
    prefix_threshold,
)

MEASURE = {"positive": "recall", "negative": "specificity"}
TITLE = {"positive": "sensitivity", "negative": "specificity"}
EXACT = 10  # models up to which all sets are searched for the smallest that detects all


def mars_result(counted: PredictionCounts, options: MarsOptions) -> Document:
    """Return the result of MARS with every requested table.

    models: per model confusion counts, accuracy, precision, recall, ShineThrough, Occlusion.
    pairs: the same scores for two models together; `p_value` is of the exact test that both have
    equally many unique detections. subsets, best, max_effort, sweep: as requested. All of the whole
    table (slice None) and every slice. slices: one row per slice. exclusive: rows of the input.
    Errors: UsageError for too many subsets.
    """
    warnings = [*_top_notes(counted, options)]
    options.check_groups([model.name for model in counted.models])
    tables = mars_tables(counted, options)
    if len(counted.slices) > 1:
        tables["slices"] = [
            {"slice": label, **summarize_detections(counts, options)}
            for label, counts in counted.slices.items()
            if label is not None
        ]
    if options.sweep is not None:
        tables["sweep"], more = sweep_table(counted, options)
        warnings += more
    if options.list:
        tables["exclusive"] = list_exclusive(
            counted.kept, options.list, target=options.target, rule=options.occlusion,
            groups=options.group,
        )  # fmt: skip
    said = counted.roles
    totals = summarize_detections(counted.patterns, options) | cluster_summary(counted.patterns)
    groups = {name: list(members) for name, members in options.group.items()}
    together = counted.grouped(options.group, options.target)
    seen = together.patterns.targets(options.target)
    sample = Sample.from_predictions(together)
    how = IntervalSettings(options.confidence, options.interval, seed=options.seed)
    statistics, notes = counted.patterns.digest(), list[ResultNote]()
    if options.measure:  # most runs request none and start without these
        from clfeval.methods.measurement.measure_rows import additional_measure_rows

        tables["measures"], statistics, notes = additional_measure_rows(
            sample, options.measure, how, statistics
        )
    if options.reference is not None:
        if options.reference not in seen.models:
            raise unknown_model_error("--reference", options.reference, seen.models)
        lead = MEASURE[options.target]
        # the count of every model, not of the target alone
        tables["comparisons"] = [
            *comparison_rows(together.slices, tables["models"], options.reference, options.level,
                             options.margin, tuple(dict.fromkeys((lead, *COMPARED))))
        ]  # fmt: skip
    first, *others = mars_answer(seen, tables, options)
    return Document(
        command="mars",
        signature=build_signature(
            "cmd target rule pos cut group miss weight cluster ci folds measures seed",
            {
                "cmd": "mars", "target": options.target, "rule": options.occlusion,
                "pos": counted.positive,
                "cut": f"top {options.top}" if options.top else format_thresholds(
                    counted.thresholds),
                "group": ",".join(f"{n}={'+'.join(sorted(m))}" for n, m in sorted(groups.items())),
                "miss": said.missing, "weight": "yes" if said.weight else None,
                "ci": options.signed,
                "folds": options.seed if {"best", "max_effort"} & {*tables} else None,
                "measures": ",".join(options.measure),
                "seed": options.seed if options.measure else None,
            },
            said, options, files=counted.files, statistics=statistics,
        ),
        inputs=counted.files,
        parameters=build_parameters(
            "positive negative target occlusion level interval independence missing top sweep "
            "groups by cluster measure",
            {
                "positive": counted.positive, "negative": list(counted.negative),
                "groups": groups,
            },
            said, options, weighed=counted.patterns.fractional,
        ),
        summary={**totals, "rule": options.occlusion, "target": options.target},
        answer=(prefix_threshold(first, counted.thresholds), *others),
        tables=tables,
        warnings=(*warnings, *_warnings(counted, options, tables, totals), *notes),
    )  # fmt: skip


def summarize_detections(counts: PatternCounts, options: MarsOptions) -> dict[str, Any]:
    """Return rows, positives, negatives, and target rows detected by some model or by none."""
    target = counts.targets(options.target)
    ttp = best_subsets.total_detected(target)
    totals = {
        "rows": counts.n.sum(), "positives": counts.n[counts.truth].sum(),
        "negatives": counts.n[~counts.truth].sum(), "found": np.asarray(ttp),
        "missed_by_all": target.hit_n.sum() - ttp,
    }  # fmt: skip
    return {name: from_units(total, counts.unit).item() for name, total in totals.items()}


def _top_notes(counted: PredictionCounts, options: MarsOptions) -> Iterator[ResultNote]:
    if counted.top is None:
        return
    count, rows = counted.top.count, counted.patterns.rows
    tied = [f"'{name}' {number:g}" for name, number in counted.top.taken.items() if number > count]
    if count > rows:
        text = f"--top {options.top} flags every row: the table has {rows}"
        yield ResultNote("top-takes-all", text)
    if tied:
        text = f"scores are tied at --top {count:g}, so more rows are flagged: {', '.join(tied)}"
        yield ResultNote("ties-at-cut", text)


def _warnings(
    counted: PredictionCounts, options: MarsOptions, tables: dict[str, Rows], whole: dict[str, Any]
) -> Iterator[ResultNote]:
    if tables.get("best") or tables.get("max_effort"):
        text = "subsets of models are chosen and evaluated on the same rows; the column `corrected`"
        yield ResultNote("chosen-models", f"{text} has the value expected on new data")
    if options.max_effort is not None and not tables["max_effort"]:
        text = f"every model flags more than {options.max_effort:g} rows"
        yield ResultNote("nothing-affordable", text)
    targets = whole[f"{options.target}s"]
    if not targets:
        yield ResultNote("no-target", f"the table has no {options.target} rows")
    elif not whole["found"]:
        text = f"no model detects any of the {targets} {options.target}s"
        yield ResultNote("nothing-detected", text)
    if len(counted.models) == 1:
        yield ResultNote("one-model", "with only one model, every detection is unique to it")
    if options.sweep is not None and counted.patterns.clusters is not None:
        why = "fractional weights" if counted.patterns.fractional else "clustered rows"
        yield ResultNote("sweep-unsure", f"a sweep has no confidence intervals for {why}")
    yield from counting_notes(counted)


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
        text = f"{join_names(spared)} {_flagging_phrase('every row', target, one=one)} and "
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
            f"Of all sets that {limit}, {' + '.join(map(quote_if_ambiguous, names))} "
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
    size = with_interval(share.value or 0.0, share.low, share.high, options.level)
    return f"{TITLE[options.target]} {size}".replace(" (", ", ").removesuffix(")")


def _flagging_phrase(rows: str, target: str, *, one: bool) -> str:
    """Return the phrase that models flag some rows, or predict them negative."""
    return f"flag{'s' * one} {rows}" if target == "positive" else (
        f"predict{'s' * one} {rows} negative")  # fmt: skip


def _corrected_phrase(row: Row, counts: TargetCounts) -> str:
    """Return the phrase on the share detected, corrected for selection."""
    found = cell_value(row["corrected"])
    if found is None:
        return "lower on new data"
    return f"{format_number(found / counts.hit_n.sum().item())} corrected for selection"


def _best_model_answer(
    counts: TargetCounts, options: MarsOptions, order: Sequence[int], covered: Counts,
    effort: Counts,
) -> Answer:  # fmt: skip
    best, models, target = order[0], counts.models, options.target
    first = [models[j] for j in order if covered[j] == covered[best]]
    found = from_units(covered[best], counts.unit)
    shares = [_detected_share(counts, found, [name], options) for name in first]
    share, size = shares[0], f"{found:,.10g} of {_format_count(counts.hit_n.sum(), counts)}"
    rate = _format_rate(share if {*shares} == {share} else Estimate(share.value), options)
    many = "equally many" if len(first) == len(models) else "the most"
    text = f"{join_names(first)} detect {many} {target}s: {size} ({rate})."
    if len(first) == 1:
        size = f"{size} {target}s" if len(models) == 1 else f"the most {target}s, {size}"
        flags = _flagging_phrase(f"{_format_count(effort[best], counts)} rows", target, one=True)
        text = f"{join_names(first)} detects {size} ({rate}), and {flags}."
    return _set_answer("detects-most", text, (models[best],), share, target)


def _ties_answer(
    counts: TargetCounts, options: MarsOptions, order: Sequence[int], covered: Counts
) -> Answer:
    best, *others = order
    hits, mine = counts.hits, counts.hits[:, best]
    chance = holm([sign_test_p(counts, mine & ~hits[:, j], hits[:, j] & ~mine) for j in others])
    equal = [j for j, p in zip(others, chance, strict=True) if p > 1 - options.level]
    tied = [counts.models[j] for j in equal if covered[j] < covered[best]]
    text = describe_ties(tied, [counts.models[j] for j in others if j not in equal])
    if not equal:
        return Answer("significantly-worse", text, (counts.models[best],))
    names = tuple(counts.models[j] for j in equal)
    return Answer("not-significantly-different", text or "They do not differ significantly.", names)


def _best_pair_answer(
    counts: TargetCounts, options: MarsOptions, best: int, pairs: Sequence[Row],
    judged: Sequence[Row],
) -> Answer:  # fmt: skip
    """Return the sentence on the best pair and its gain; judged: sets with corrected values."""
    row = min(pairs, key=lambda row: (-float(str(row["covered"])), float(str(row["effort"]))))
    names, alone = _models(row), quote_if_ambiguous(counts.models[best])
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
    text = (
        f"The best pair on these rows, {' + '.join(map(quote_if_ambiguous, names))}, detects "
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
    names = join_names([models[j] for j in kept], most=len(models))
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
