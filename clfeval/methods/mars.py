"""MARS: what each model, pair and subset finds or misses that the others do not, as a Result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any, Literal

import numpy as np

from clfeval.counts.patterns import Bools, Counts, PatternCounts, TargetCounts
from clfeval.errors import Problem, UsageError
from clfeval.inference.proportions import sign_test
from clfeval.methods.cover import Choice, best_subsets, best_within_effort
from clfeval.methods.coverage import (
    EXACT_MODELS,
    SubsetScores,
    combinations_of,
    found,
    pairs,
    score_all_subsets,
    score_subsets,
    singles,
)
from clfeval.methods.mars_options import MarsOptions, estimates, fractional_weights
from clfeval.result import Estimate, LazyRows, Row, Table

MOST_SUBSETS = 2_000_000


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
        view = _View(label, target, options, found(target))
        tables["models"] += _model_rows(view, thresholds)
        tables["pairs"] += _pair_rows(view)
        if options.subsets is not None:
            lazy.append((label, _subsets(target, options.subsets), np.asarray(view.ttp)))
        if options.best is not None:
            tables["best"] += _best_rows(view, best_subsets(target, options.best))
        if options.max_effort is not None:
            choice = best_within_effort(target, options.max_effort)
            tables["max_effort"] += _best_rows(view, [choice]) if choice else []
    result: dict[str, Table] = dict(tables)
    if lazy:
        result["subsets"] = _subset_table(lazy, options, slices)
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


@dataclass(frozen=True, slots=True)
class _View:
    """One slice seen from the target class."""

    label: str | None
    counts: TargetCounts
    options: MarsOptions
    ttp: int | float

    def estimates(self, k: Counts, n: Counts | int | float, reason: str) -> list[Estimate]:
        """Return k / n with intervals, one per row; undefined with the reason where n is 0."""
        return estimates(k, n, reason, self.options)

    def scores(self, subsets: SubsetScores) -> list[dict[str, Any]]:
        """Return the four MARS columns of each subset."""
        options = self.options
        missed = subsets.missed(options.rule)
        shine = self.estimates(subsets.exclusive_found, self.ttp, "nothing_found")
        hidden = self.estimates(missed, self.ttp, "nothing_found")
        everyone = np.asarray(subsets.members.all(axis=1))
        return [
            {
                options.found_name: subsets.exclusive_found[i].item(),
                "shine_through": shine[i],
                options.missed_name: missed[i].item(),
                "occlusion": Estimate(None, reason="no_other_model")
                if everyone[i] and self.ttp
                else hidden[i],
            }
            for i in range(len(subsets))
        ]


def _model_rows(view: _View, thresholds: Mapping[str, float | None]) -> list[Row]:
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


def _pair_rows(view: _View) -> list[Row]:
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
        for row, members in zip(_subset_rows(view, subsets), subsets.members, strict=True)
    ]


def _subset_rows(view: _View, subsets: SubsetScores) -> list[dict[str, Any]]:
    gained = view.estimates(subsets.covered, subsets.effort, "zero_margin")
    return [
        {
            "slice": view.label,
            "models": _names(view.counts, subsets.members[i]),
            "covered": subsets.covered[i].item(),
            "effort": subsets.effort[i].item(),
            "yield": gained[i],
            **scores,
        }
        for i, scores in enumerate(view.scores(subsets))
    ]


def _best_rows(view: _View, choices: list[Choice]) -> list[Row]:
    rows: list[Row] = []
    covered_before: dict[int, float] = {0: 0}
    for choice in choices:
        size = int(choice.scores.members.sum())
        row = _subset_rows(view, choice.scores)[0]
        before = covered_before.get(size - 1, 0)
        covered_before[size] = max(row["covered"], covered_before.get(size, 0))
        rows.append({"size": size, "gain": row["covered"] - before, "method": choice.method, **row})
    return rows


def _subsets(counts: TargetCounts, up_to: int | Literal["all"]) -> SubsetScores:
    """Score every subset up to a size: by size, then most covered, least effort, table order."""
    k = len(counts.models)
    most = k if up_to == "all" else min(up_to, k)
    if k <= EXACT_MODELS:
        scores = score_all_subsets(counts)
        size = scores.members.sum(axis=1)
        scores = scores.take((size > 0) & (size <= most))
    else:
        total = sum(comb(k, size) for size in range(1, most + 1))
        if total > MOST_SUBSETS:
            raise UsageError(
                Problem(
                    f"{k} models have {total:,} subsets of up to {most}; the limit is "
                    f"{MOST_SUBSETS:,}", "too-many-subsets",
                ),
                hint="a smaller --subsets, or --best K, which searches without listing",
            )  # fmt: skip
        members = np.vstack([combinations_of(k, size) for size in range(1, most + 1)])
        scores = score_subsets(counts, members)
    size = scores.members.sum(axis=1)
    first = [~scores.members[:, i] for i in reversed(range(k))]
    return scores.take(np.lexsort((*first, scores.effort, -scores.covered, size)))


def _subset_table(
    parts: list[tuple[str | None, SubsetScores, Counts]],
    options: MarsOptions,
    slices: Mapping[str | None, PatternCounts],
) -> Table:
    """Return rows made on demand, a block at a time: there may be a million."""
    block = 1024
    views = [
        _View(
            label,
            slices[label].targets(options.target).grouped(options.groups),
            options,
            ttp.item(),
        )
        for label, _, ttp in parts
    ]
    starts = np.cumsum([0, *(len(scores) for _, scores, _ in parts)])
    made: dict[tuple[int, int], list[dict[str, Any]]] = {}

    def make_row(index: int) -> Row:
        part = int(np.searchsorted(starts, index, side="right")) - 1
        number, offset = divmod(index - int(starts[part]), block)
        if (part, number) not in made:
            made.clear()
            scores = parts[part][1]
            rows = np.arange(number * block, min((number + 1) * block, len(scores)))
            made[part, number] = _subset_rows(views[part], scores.take(rows))
        return made[part, number][offset]

    return LazyRows(int(starts[-1]), make_row)


def _names(counts: TargetCounts, members: Bools) -> list[str]:
    return [counts.models[j] for j in np.flatnonzero(members)]
