"""MARS: what each model, pair and subset finds or misses that the others do not, as a Result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clfeval.counts.patterns import Counts, PatternCounts
from clfeval.inference.proportions import sign_test
from clfeval.methods.mars.cover import Choice, best_subsets, best_within_effort
from clfeval.methods.mars.coverage import SubsetScores, found, pairs, score_subsets, singles
from clfeval.methods.mars.options import MarsOptions
from clfeval.methods.mars.subsets import score_up_to, subset_table
from clfeval.methods.mars.view import View, subset_rows
from clfeval.methods.proportions import fractional_weights
from clfeval.result import Row, Table


def mars_tables(
    slices: Mapping[str | None, PatternCounts],
    options: MarsOptions,
    thresholds: Mapping[str, float | None],
) -> dict[str, Table]:
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
        target = counts.targets(options.target).grouped(options.groups)
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
    result: dict[str, Table] = dict(tables)
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
        "rows": counts.rows,
        "positives": counts.n[counts.truth].sum().item(),
        "negatives": counts.n[~counts.truth].sum().item(),
        "found": ttp,
        "missed_by_all": target.hit_n.sum().item() - ttp,
    }


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
    accuracy = view.estimates(tp + tn, tp + fp + fn + tn, "too_few_rows")
    precision = view.estimates(tp, tp + fp, "no_positive_prediction")
    recall = view.estimates(tp, tp + fn, "no_positive_truth")
    return [
        {
            "slice": view.label,
            "model": model,
            "threshold": thresholds.get(model),
            "tp": tp[i].item(),
            "fp": fp[i].item(),
            "fn": fn[i].item(),
            "tn": tn[i].item(),
            "accuracy": accuracy[i],
            "precision": precision[i],
            "recall": recall[i],
            **scores[i],
        }
        for i, model in enumerate(counts.models)
    ]


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
