"""From counts to the Result of MARS: tables, signature and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clfeval.arrays import Counts
from clfeval.counts.count import Counted
from clfeval.counts.kept import list_exclusive
from clfeval.counts.patterns import PatternCounts
from clfeval.counts.scores import grouped_scores, ranks, read_scores
from clfeval.errors import UsageError, unknown_model
from clfeval.inference.shares import sign_test
from clfeval.methods.document import counting_notes, cuts_in_force, parameters, signature
from clfeval.methods.estimates import fractional_weights
from clfeval.methods.mars.cover import Choice, best_subsets, best_within_effort
from clfeval.methods.mars.coverage import (
    SubsetScores,
    View,
    found,
    pairs,
    score_subsets,
    score_up_to,
    singles,
    subset_rows,
    subset_table,
)
from clfeval.methods.mars.options import MarsOptions
from clfeval.methods.mars.sweep import choose_cuts, distinct_cuts, sweep, sweep_rows
from clfeval.result import Result, Row, Rows, Warn


def mars_tables(
    slices: Mapping[str | None, PatternCounts],
    options: MarsOptions,
    thresholds: Mapping[str, float | None],
) -> dict[str, Rows]:
    """Compute the tables of MARS for the whole (slice None) and every slice.

    models: per model confusion counts, accuracy, precision, recall, ShineThrough, Occlusion.
    pairs: the same scores for two models together; `p_value` is the exact test that both find
    equally much alone. subsets, best, max_effort: as asked for. slices: one row per slice.
    Errors: UsageError for fractional weights with exact intervals, and for too many subsets.
    """
    if options.interval == "exact":
        for counts in slices.values():
            if counts.n.dtype.kind == "f":
                raise fractional_weights()
    names: list[str] = ["models", "pairs"]
    names += ["subsets"] if options.subsets is not None else []
    names += ["best"] if options.best is not None else []
    names += ["max_effort"] if options.max_effort is not None else []
    tables: dict[str, list[Any]] = {name: [] for name in names}
    lazy: list[tuple[str | None, SubsetScores, Counts]] = []
    for label, counts in slices.items():
        target = counts.targets(options.target).grouped(options.group)
        view = View(label, target, options, found(target))
        tables["models"] += _model_rows(view, thresholds)
        tables["pairs"] += _pair_rows(view)
        if options.subsets is not None:
            lazy.append((label, score_up_to(target, options.subsets), np.asarray(view.ttp)))
        if options.best is not None:
            tables["best"] += _best_rows(view, best_subsets(target, options.best))
        if options.max_effort is not None:
            choice = best_within_effort(target, options.max_effort)
            rows = _best_rows(view, [choice]) if choice else []
            tables["max_effort"] += [{k: v for k, v in row.items() if k != "gain"} for row in rows]
    result: dict[str, Rows] = dict(tables)
    if lazy:
        result["subsets"] = subset_table(lazy, options, slices)
    if len(slices) > 1:
        result["slices"] = [
            {"slice": label, **summary(counts, options)}
            for label, counts in slices.items()
            if label is not None
        ]
    return result


def summary(counts: PatternCounts, options: MarsOptions) -> dict[str, Any]:
    """Return rows, positives, negatives, and how many target rows some model or no model finds."""
    target = counts.targets(options.target)
    ttp = found(target)
    return {
        "rows": counts.rows, "positives": counts.n[counts.truth].sum().item(),
        "negatives": counts.n[~counts.truth].sum().item(), "found": ttp,
        "missed_by_all": target.hit_n.sum().item() - ttp,
    }  # fmt: skip


def _model_rows(view: View, thresholds: Mapping[str, float | None]) -> list[Row]:
    counts, options = view.counts, view.options
    k = len(counts.models)
    scores = view.scores(score_subsets(counts, singles(k)))
    hit = counts.hit_n @ counts.hits
    alarm = counts.alarm_n @ counts.alarms
    missed, passed = counts.hit_n.sum() - hit, counts.alarm_n.sum() - alarm
    # seen from the negative class, a hit is a true negative and an alarm a false one
    tp, fp, fn, tn = hit, alarm, missed, passed
    if options.target == "negative":
        tp, fp, fn, tn = passed, missed, alarm, hit
    accuracy = view.estimates("accuracy", tp + tn, tp + fp + fn + tn)
    precision = view.estimates("precision", tp, tp + fp)
    recall = view.estimates("recall", tp, tp + fn)
    return [
        {
            "slice": view.label, "model": model, "threshold": thresholds.get(model),
            "tp": tp[i].item(), "fp": fp[i].item(), "fn": fn[i].item(), "tn": tn[i].item(),
            "accuracy": accuracy[i], "precision": precision[i], "recall": recall[i], **scores[i],
        }
        for i, model in enumerate(counts.models)
    ]  # fmt: skip


def _pair_rows(view: View) -> list[Row]:
    counts = view.counts
    k = len(counts.models)
    alone = score_subsets(counts, singles(k)).exclusive_found.tolist()
    subsets = score_subsets(counts, pairs(k))
    whole = counts.hit_n.dtype.kind != "f"
    return [
        {
            **row,
            "p_value": sign_test(*(alone[j] for j in np.flatnonzero(members))) if whole else None,
        }
        for row, members in zip(subset_rows(view, subsets), subsets.members, strict=True)
    ]


def _best_rows(view: View, choices: list[Choice]) -> list[Row]:
    rows: list[Row] = []
    covered_before: dict[int, float] = {0: 0}
    for choice in choices:
        size = int(choice.scores.members.sum())
        row = subset_rows(view, choice.scores)[0]
        before = covered_before.get(size - 1, 0)
        covered_before[size] = max(row["covered"], covered_before.get(size, 0))
        gain = row["covered"] - before
        rows.append({"slice": None, "size": size, "gain": gain, "method": choice.method, **row})
    return rows


def mars_result(counted: Counted, options: MarsOptions) -> Result:
    """Compute every table the options ask for."""
    warnings = _top_notes(counted, options)
    _check_groups(counted, options)
    members = {member for _, names in options.group.items() for member in names}
    thresholds = {name: t for name, t in counted.thresholds.items() if name not in members}
    tables = mars_tables(counted.slices, options, thresholds)
    if options.sweep is not None:
        tables["sweep"], more = _sweep_table(counted, options)
        warnings += more
    if options.list:
        tables["exclusive"] = list_exclusive(
            counted.kept, options.list, target=options.target, rule=options.occlusion,
            groups=options.group,
        )  # fmt: skip
    if options.max_effort is not None and not tables["max_effort"]:
        text = f"no model claims as few as {options.max_effort:g} rows"
        warnings.append(Warn("nothing-affordable", text))
    whole, said = counted.patterns, counted.roles
    groups = {name: list(members) for name, members in options.group.items()}
    exact = options.interval == "exact"
    return Result(
        command="mars",
        signature=signature(
            "cmd target rule pos cut group miss weight ci",
            {
                "cmd": "mars", "target": options.target, "rule": options.occlusion,
                "pos": counted.positive,
                "cut": f"top {options.top}" if options.top else cuts_in_force(counted.thresholds),
                "group": ",".join(f"{n}={'+'.join(sorted(m))}" for n, m in sorted(groups.items())),
                "miss": said.missing, "weight": "yes" if said.weight else None,
                "ci": f"{options.level:g}" if exact else "none",
            },
            said, options, files=counted.files, statistics=whole.digest(),
        ),
        inputs=counted.files,
        parameters=parameters(
            "positive negative target occlusion level interval missing top sweep groups by",
            {
                "positive": counted.positive,
                "negative": [name for name in counted.classes if name != counted.positive],
                "interval": "clopper-pearson" if exact else "none", "groups": groups,
            },
            said,
            options,
        ),
        summary={**summary(whole, options), "rule": options.occlusion, "target": options.target},
        tables=tables, warnings=(*warnings, *_warnings(counted, options)),
    )  # fmt: skip


def _top_notes(counted: Counted, options: MarsOptions) -> list[Warn]:
    """Say where more rows were asked for than there are, and where ties took more than that."""
    if counted.top is None:
        return []
    count, rows, said = counted.top.count, counted.patterns.rows, []
    tied = [f"'{name}' {number:g}" for name, number in counted.top.taken.items() if number > count]
    if count > rows:
        text = f"--top {options.top} takes every row: there are {rows}"
        said.append(Warn("top-takes-all", text))
    if tied:
        text = f"ties at the cut: of the {count:g} highest rows asked for, {', '.join(tied)} taken"
        said.append(Warn("ties-at-cut", text))
    return said


def _check_groups(counted: Counted, options: MarsOptions) -> None:
    names = [model.name for model in counted.models]
    seen: set[str] = set()
    for group, members in options.group.items():
        for member in members:
            if member not in names:
                raise unknown_model(f"--group {group}", member, names)
            if member in seen:
                raise UsageError.of(f"'{member}' is in two groups", "bad-group")
            seen.add(member)
    for group, members in options.group.items():
        if group in names and group not in members:
            raise UsageError.of(f"--group {group} has the name of a model outside it", "bad-group")


def _sweep_table(counted: Counted, options: MarsOptions) -> tuple[Rows, list[Warn]]:
    target, masks = read_scores(counted.kept, options.target)
    if options.sweep == "top":
        everything, _ = read_scores(counted.kept, "all")
        target = ranks(everything, target)
    target = grouped_scores(target, options.group, options.target)
    if not len(target.n):
        return [], []
    every = distinct_cuts(target.scores)
    points = len(every) if options.points == "all" else options.points
    cuts = choose_cuts(every, points)
    warnings = []
    if len(cuts) < len(every):
        text = f"the sweep lists {len(cuts):,} of {len(every):,} cuts; --points all lists all"
        warnings.append(Warn("cuts-thinned", text))
    rows: list[Row] = []
    for label, mask in [(None, np.ones(len(target.n), bool)), *masks.items()]:
        part = target.where(mask)
        if len(part.n):
            steps = sweep(part.scores, part.n, options.target, cuts)
            rows += sweep_rows(steps, part.models, label, options)
    return rows, warnings


def _warnings(counted: Counted, options: MarsOptions) -> list[Warn]:
    """State what a reader of the numbers must know."""
    whole = summary(counted.patterns, options)
    targets = whole["positives"] if options.target == "positive" else whole["negatives"]
    said = []
    if not targets:
        said.append(
            Warn("no-target", f"the table has no {options.target} row: nothing can be found")
        )
    elif not whole["found"]:
        said.append(
            Warn("nothing-found", f"no model finds any of the {targets} {options.target} rows")
        )
    if len(counted.models) == 1:
        said.append(Warn("one-model", "one model: all it finds it finds alone"))
    return [*said, *counting_notes(counted)]
