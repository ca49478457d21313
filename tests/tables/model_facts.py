"""Numbers of models, recomputed from definitions: AUC by ranks, 2 x 2 counts, accuracy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from tests.tables.table_drafts import Array, Facts, Meaning, Model

TOLERANCE = 1e-9


def rank_auc(truth: Array, score: Array, weight: Array | None = None) -> float:
    """Return the share of pairs that are ranked right, ties one half; weights are repeats."""
    weight = np.ones(len(truth)) if weight is None else weight
    _, rank = np.unique(score, return_inverse=True)
    positive = np.bincount(rank, weight * (truth == 1))
    negative = np.bincount(rank, weight * (truth == 0))
    lower = np.cumsum(negative) - negative
    pairs = positive.sum() * negative.sum()
    return float((positive * (lower + negative / 2)).sum() / pairs) if pairs else float("nan")


def binary_facts(truth: Array, codes: Array, weight: Array | None = None) -> Facts:
    """Return tp, fp, fn, tn, sensitivity, specificity and accuracy."""
    weight = np.ones(len(truth)) if weight is None else weight
    tp, fp, fn, tn = (
        float(weight[(truth == t) & (codes == c)].sum())
        for t, c in ((1, 1), (0, 1), (1, 0), (0, 0))
    )
    facts: Facts = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    facts["sensitivity"] = tp / (tp + fn) if tp + fn else None
    facts["specificity"] = tn / (tn + fp) if tn + fp else None
    facts["accuracy"] = (tp + tn) / (tp + fp + fn + tn)
    return facts


def many_class_facts(truth: Array, codes: Array, weight: Array | None = None) -> Facts:
    """Return accuracy and the mean recall of the classes."""
    weight = np.ones(len(truth)) if weight is None else weight
    hit = weight * (truth == codes)
    recalls = [hit[truth == code].sum() / weight[truth == code].sum() for code in np.unique(truth)]
    return {
        "accuracy": float(hit.sum() / weight.sum()),
        "balanced_accuracy": float(np.mean(recalls)),
    }


def rows_facts(meaning: Meaning, model: Model, rows: Array) -> Facts:
    """Return the numbers of a model on some rows."""
    truth = meaning.truth[rows]
    weight = None if meaning.weight is None else meaning.weight[rows]
    label = None if model.label is None else model.label[rows]
    if not meaning.binary:
        assert label is not None
        facts = many_class_facts(truth, label, weight)
        if model.probabilities is not None and weight is None:
            shares = model.probabilities[rows]
            facts["roc_auc"] = float(roc_auc_score(truth, shares, multi_class="ovo"))
        return facts
    facts = {}
    if model.score is None:
        facts["roc_auc"] = None
    else:
        score = model.score[rows]
        facts["roc_auc"] = rank_auc(truth, score, weight)
        is_unit = model.score.min() >= 0 and model.score.max() <= 1
        if label is None and model.cut is not None and (model.cut > 1 or is_unit):
            label = (score >= model.cut).astype(int)
    return facts if label is None else facts | binary_facts(truth, label, weight)


def mean_over_runs(runs: Array | None, size: int, compute: Callable[[Array], Facts]) -> Facts:
    """Return the facts of all rows, or their means over the runs."""
    if runs is None:
        return compute(np.ones(size, bool))
    parts = [compute(runs == run) for run in np.unique(runs)]
    means: Facts = {}
    for measure in parts[0]:
        numbers = [part[measure] for part in parts if part[measure] is not None]
        means[measure] = float(np.mean(numbers)) if numbers else None  # type: ignore[arg-type]
    return means


def model_facts(meaning: Meaning, model: Model) -> Facts:
    """Return the numbers of a model of a reading."""
    if model.facts is not None:
        return model.facts
    return mean_over_runs(
        meaning.runs, len(meaning.truth), lambda rows: rows_facts(meaning, model, rows)
    )


def cell_value(row: Mapping[str, Any], measure: str) -> float | None:
    """Return a number of a row of the result's table of models."""
    cell = row.get(measure)
    return cell["value"] if isinstance(cell, dict) else cell


def differences(row: Mapping[str, Any], facts: Facts, optional: Collection[str] = ()) -> list[str]:
    """Return the measures in which a row differs from what it should be; optional ones or none."""
    complaints = []
    for measure, value in facts.items():
        number = cell_value(row, measure)
        if measure in optional and number is None:
            continue
        if value is None or number is None:
            is_equal = value is None and number is None
        else:
            is_equal = bool(np.isclose(number, value, rtol=TOLERANCE, atol=TOLERANCE))
        if not is_equal:
            complaints.append(f"{measure} {number}, not {value}")
    return complaints


def optional_measures(model: Model, facts: Facts) -> set[str]:
    """Return the measures that a result may leave out: those of a threshold nobody states."""
    measures = {"roc_auc"} if model.unranked else set()
    if model.foreign_labels:  # recalls of classes without rows are undefined
        measures.add("balanced_accuracy")
    if model.label is None and model.cut not in (None, 0.5):
        measures |= {*facts} - {"roc_auc"}
    return measures


def unknown_threshold(row: Mapping[str, Any], model: Model) -> list[str]:
    """Return a complaint about labels of scores whose threshold nobody can know."""
    is_cut = row.get("tp") is not None and row.get("threshold") is not None
    if model.score is None or model.label is not None or model.cut is not None or not is_cut:
        return []
    return [f"threshold {row['threshold']}, which nothing says"]


def model_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of all models over the whole table."""
    return [row for row in result["tables"]["models"] if row.get("slice") is None]


def shown_weights(result: Mapping[str, Any], weight: Any) -> Any:
    """Return weights as a result shows them: sampling weights in rows of their mean."""
    is_sampling = "effective_rows" in result["summary"]
    return weight * (len(weight) / weight.sum()) if is_sampling else weight


def summary_differences(result: Mapping[str, Any], meaning: Meaning) -> list[str]:
    """Return in what the rows, the kind of weights and the remarks differ from a reading."""
    complaints = []
    total = len(meaning.truth) if meaning.weight is None else meaning.weight.sum()
    rows = result["summary"]["rows"]
    has_rows = all(model.facts is None for model in meaning.models)
    if has_rows and not np.isclose(rows, total):
        complaints.append(f"{rows} rows, not {total}")
    is_sampling = "effective_rows" in result["summary"]
    if meaning.sampling is not None and meaning.sampling != is_sampling:
        complaints.append("weights of a sample are counts, or the other way round")
    if meaning.noted and meaning.noted not in str([result["answer"], result["warnings"]]):
        complaints.append(f"no word on {meaning.noted}")
    return complaints


def reading_differences(
    result: Mapping[str, Any], meaning: Meaning, uncut: bool = False
) -> list[str]:
    """Return in what a result differs from a reading; nothing if it has exactly its numbers.

    uncut: no option states a threshold, so scores of an unknown one must not be cut.
    """
    if meaning.weight is not None:
        meaning = replace(meaning, weight=shown_weights(result, meaning.weight))
    rows = {str(row["model"]): row for row in model_rows(result)}
    if len(rows) != len(meaning.models):
        return [f"models {', '.join(rows)}; not {', '.join(m.name for m in meaning.models)}"]
    complaints = summary_differences(result, meaning)
    names = sorted(meaning.models, key=lambda model: model.name not in rows)
    for model in names:
        facts = model_facts(meaning, model)
        possible = [model.name] if model.name in rows else [*rows]
        optional = optional_measures(model, facts)
        comparisons = {
            name: differences(rows[name], facts, optional)
            + (unknown_threshold(rows[name], model) if uncut else [])
            for name in possible
        }
        right = [name for name, differing in comparisons.items() if not differing]
        if right:
            del rows[right[0]]
        else:
            closest = (
                min(comparisons, key=lambda name: len(comparisons[name]))
                if comparisons
                else "no row"
            )
            complaints.append(
                f"{model.name} ({closest}): {'; '.join(comparisons.get(closest, []))}"
            )
    return complaints
