"""Calibration and curves: reliability, ROC, precision-recall, net benefit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf, isfinite, sqrt
from typing import Any, Literal

import numpy as np

from clfeval.arrays import Floats, Ints, divide
from clfeval.compare.change import number_or_none
from clfeval.compare.families import BestSet
from clfeval.counts.clusters_and_weights import ClusterCounts, RowWeights
from clfeval.counts.patterns import ConfusionCounts, from_units
from clfeval.counts.scores import ScoreCounts
from clfeval.document import Answer, Estimate, Row, Rows, as_estimate, cell_value
from clfeval.document.rows import deferred_rows
from clfeval.formatting import (
    format_count,
    format_number,
    format_p_value,
    join_names,
    quote_if_ambiguous,
)
from clfeval.inference.distributions import critical_value
from clfeval.inference.hypothesis_tests import (
    BY_CLUSTERS,
    CalibrationTests,
    calibration_tests,
    clustered_score_tests,
)
from clfeval.inference.proportions import holm
from clfeval.inference.resampling import random_stream
from clfeval.measures.catalog import CATALOG
from clfeval.measures.logistic import log_odds, log_odds_slice
from clfeval.methods.confidence_limits import exact_limits
from clfeval.methods.curves import MOST_POINTS
from clfeval.methods.estimates import Cells, Design, estimate_column, rows_from_columns
from clfeval.methods.measurement.label_measures import float_confusion
from clfeval.methods.measurement.score_measures import confusions_at, confusions_between
from clfeval.records import dataclass, replace

BINS = 10
TESTS = ("intercept and slope", "groups by score")
MOST = 2**17  # scores of rows in clusters, or with weights, that are tested one by one


def calibration_rows(
    label: str | None, model: str, counts: ScoreCounts, level: float | None, design: Design
) -> Rows:
    """Return the bins of the reliability diagram: about a tenth of the rows each, by score.

    Equal scores are in one bin. observed: the share of positives, with Clopper-Pearson limits, in
    clusters of counts divided by the design effect.
    Scores must be probabilities. Source: Murphy and Winkler 1977, Applied Statistics 26:41.
    """
    below = counts.running.sum(axis=0)
    m, total = len(counts.scores), below[-1]
    tenths = first_reaching(
        lambda i: np.asarray(BINS * (below[i] + below[i + 1]) / (2 * total)),
        np.arange(1.0, BINS),
        m,
    )
    starts = np.append(0, tenths)
    starts = starts[np.diff(below[starts], append=total) > 0]
    first = np.searchsorted(below, below[starts], side="right") - 1  # the first with rows
    last = np.searchsorted(below, np.append(below[starts[1:]], total)) - 1
    found = confusions_between(counts, first, last + 1)
    bins = [slice(*ends) for ends in pairwise([*starts.tolist(), m])]
    sums = [counts.sums(one).sum() for one in bins]
    cells, rows = Cells.at_prevalence(found), found.tp + found.fp
    columns = {
        "bin": range(1, len(first) + 1),
        "from": counts.scores[first].tolist(),
        "to": counts.highest[last].tolist(),
        "rows": from_units(rows, counts.unit).tolist(),
        "mean_score": (sums / rows).tolist(),
    }

    def made() -> list[Row]:
        bounds = None
        if level is not None:  # of the precision, where the rows of a bin are predicted positive
            bounds = exact_limits("precision", cells, level=level, design=design)
        observed = estimate_column(divide(found.tp, rows), bounds, cells, ())
        return rows_from_columns({**columns, "observed": observed}, slice=label, model=model)

    return deferred_rows(len(first), made)


def calibration_test_rows(model: str, counts: ScoreCounts, level: float, seed: int) -> list[Row]:
    """Return both score tests of the probabilities of a model, of scores other than 0 and 1.

    p_adjusted: twice the smaller p. contradicted: rows whose class had probability 0.
    """
    inner = log_odds_slice(counts.scores)
    lost = counts.positives[: inner.start].sum() + counts.negatives[inner.stop :].sum()
    none = np.full(2, np.nan)  # where every score is 0 or 1
    found = CalibrationTests(none, none, none, "none", np.zeros(0), np.zeros(0))
    if inner.start < inner.stop:
        found = _run_score_tests(counts, inner, random_stream(seed, f"{model}\0calibration"))
    off = np.abs(found.gaps) > critical_value(level) * found.errors  # significant, unadjusted
    gaps = {"groups_off": int(off.sum()), "largest_gap": np.abs(found.gaps).max(initial=0).item()}
    smaller = float(np.minimum(2 * found.p.min(), 1))
    return [
        {
            "model": model,
            "test": name,
            **{key: number_or_none(getattr(found, key)[i]) for key in ("statistic", "df", "p")},
            "p_adjusted": number_or_none(smaller),
            "method": found.method,
            "contradicted": from_units(lost, counts.unit).item(),
            **(gaps if i and len(found.gaps) else dict.fromkeys(gaps)),
        }
        for i, name in enumerate(TESTS)
    ]


def adjust_calibration_tests(rows: Sequence[Row]) -> list[Row]:
    """Return tests of several models with p_adjusted by Holm's rule over the models."""
    p = np.array([row["p_adjusted"] for row in rows[:: len(TESTS)]], np.float64)  # None is NaN
    adjusted = np.where(np.isnan(p), np.nan, holm(np.where(np.isnan(p), 1.0, p).tolist()))
    each = np.repeat(adjusted, len(TESTS)).tolist()
    return [{**row, "p_adjusted": number_or_none(one)} for row, one in zip(rows, each, strict=True)]


def _run_score_tests(
    counts: ScoreCounts, inner: slice, rng: np.random.Generator
) -> CalibrationTests:
    """Return the score tests of scores with log odds; with clusters, scores may be grouped."""
    if counts.clusters is None:
        rows, x = counts.positives[inner] + counts.negatives[inner], log_odds(counts.scores)[inner]
        return calibration_tests(counts.scores[inner], x, counts.positives[inner], rows, rng)
    few, heavy = counts.coarser(MOST), np.ones(2)
    owned, both = few.clusters, np.array([few.positives, few.negatives])
    if isinstance(owned, RowWeights):
        halves = (one.reshape(2, -1).sum(axis=1) for one in (owned.squares, owned.n))
        heavy = np.nan_to_num(divide(*halves), nan=owned.weight)
    assert owned is not None
    x, inner = log_odds(few.scores), log_odds_slice(few.scores)
    tests = clustered_score_tests(few.scores, x, both, inner, owned, heavy)
    return replace(tests, method=BY_CLUSTERS) if isinstance(owned, ClusterCounts) else tests


SLOPE, LEVEL, OVERCONFIDENCE = "calibration_slope", "calibration_in_the_large", "overconfidence"
GROSS = (0.5, 2.0)  # slopes at or beyond which probabilities are grossly miscalibrated
HARDLY = 0.02  # negligible difference of shares
MISCALIBRATED = "{} is miscalibrated: {}"
WELL = "{} is well calibrated"
TIED = ", tied with it,"
UNSURE = "the joint test of calibration has"  # after the value of a model that has a fault
FAULTY = ("miscalibrated", "in reverse", UNSURE)  # words of a sentence on a fault


def calibration_answer(
    ranked: Sequence[Row], tested: BestSet | None, tests: Sequence[Row], level: float | None
) -> list[Answer]:
    """Return sentences on the calibration of the best model and of those tied with it."""
    verdict, text, measure = _verdict(ranked[0], tests, level)
    if not verdict:
        return []
    ties = {} if tested is None else tested.ties
    wanted = WELL if verdict == MISCALIBRATED else MISCALIBRATED
    contradicted = {str(row["model"]) for row in tests if cell_value(row.get("contradicted"))}
    others = [  # a note names those that gave probability 0 to observed outcomes
        str(row["model"])
        for row in ranked[1:]
        if row["model"] not in contradicted
        if ties.get(str(row["model"])) and _verdict(row, tests, level)[0] == wanted
    ]
    if others:
        how = "well calibrated" if wanted == WELL else "miscalibrated"
        text += ". " if verdict == UNSURE else "; "
        text += f"{join_names(others)}{TIED} {'is' if len(others) == 1 else 'are'} {how}"
    one = as_estimate(ranked[0][measure])
    return [
        Answer(
            "probabilities",
            f"{text}.",
            (str(ranked[0]["model"]),),
            measure,
            one.value,
            one.low,
            one.high,
            harm=any(word in text for word in FAULTY),
        )
    ]


def _verdict(row: Row, tests: Sequence[Row], level: float | None) -> tuple[str, str, str]:
    """Return the verdict on a model, the sentence, and the measure, or empty strings.

    Miscalibrated: a row has a class of probability 0, or p, adjusted for both tests and all models,
    is below 1 - level; slightly so where no fault is large. Well calibrated: intervals contain the
    ideal and exclude a large fault.
    """
    overconfidence, slope, shift = (
        as_estimate(row.get(name)) for name in (OVERCONFIDENCE, SLOPE, LEVEL)
    )
    if overconfidence.value is not None:
        facts = _overconfidence_facts(overconfidence, level)
    elif slope.value is None and slope.reason != "separation":
        return "", "", ""
    else:
        facts = _slope_facts(slope, shift, as_estimate(row["roc_auc"]).value, level)
    verdict = "The calibration of {} is unknown"
    fault = f"its probabilities are {' and '.join(facts.faults)}" if facts.faults else ""
    test = next((test for test in reversed(tests) if test["model"] == row["model"]), {})
    p, contradicted = (cell_value(test.get(name)) for name in ("p_adjusted", "contradicted"))
    few_clusters = p is None and test.get("method") == BY_CLUSTERS
    model = quote_if_ambiguous(str(row["model"]))
    if contradicted or (p is not None and level is not None and p < 1 - level):
        verdict = MISCALIBRATED
        if facts.close and not contradicted and (cell_value(test["largest_gap"]) or 0.0) <= HARDLY:
            verdict = "{} is miscalibrated, but only slightly: {}"
        fault = _name_fault(fault, test, facts.measure)
    elif facts.known and (few_clusters or (p is not None and level is not None)):
        units = "clusters" if test.get("method") == BY_CLUSTERS else "rows"
        verdict = f"There are too few {units} to assess the calibration of {{}}"
        if few_clusters:
            return verdict, f"{verdict.format(model)} ({facts.text})", facts.measure
        if facts.faults or facts.narrow:
            verdict = UNSURE if facts.faults else WELL
    text = verdict
    if slope.high is not None and slope.high < 0:
        text = "{} ranks in reverse: rows with higher scores are less often positive"
    sentence = f"{text.format(model, fault)} ({facts.text})"
    if text == UNSURE:
        sentence = _describe_unadjusted_fault(str(row["model"]), facts, tests)
    return verdict, sentence, facts.measure


def _describe_unadjusted_fault(model: str, facts: _CalibrationFacts, tests: Sequence[Row]) -> str:
    """Return the sentence on a fault whose joint test is not significant: its p, and adjusted."""
    models = dict.fromkeys(row["model"] for row in tests if cell_value(row["p"]) is not None)
    rows = [row for row in tests if row["model"] == model]
    p_values = [p for row in rows if (p := cell_value(row["p"])) is not None]
    alone = min(1.0, len(TESTS) * min(p_values))
    adjusted = cell_value(rows[-1]["p_adjusted"]) or 0.0
    value, _, interval = facts.text.partition(", ")
    text = f"{quote_if_ambiguous(model)} has {value}"
    text += f" ({interval})" if interval else ""
    text += f", {' and '.join(facts.faults)}; {UNSURE} {format_p_value(alone)}"
    if len(models) > 1:
        adjusted_text = format_p_value(adjusted).removeprefix("p ")
        text += f", {adjusted_text} adjusted for {len(models):,} models"
    return text


@dataclass(frozen=True, slots=True)
class _CalibrationFacts:
    """What the intervals of a model say of its calibration.

    measure: by which; known: it has a value; text: its value; faults: of the probabilities. close:
    the limits are near the ideal; narrow: they exclude a large fault.
    """

    measure: str
    known: bool
    text: str
    faults: Sequence[str]
    close: bool
    narrow: bool


def _overconfidence_facts(overconfidence: Estimate, level: float | None) -> _CalibrationFacts:
    """Return what the overconfidence of a model of several classes says."""
    return _CalibrationFacts(
        OVERCONFIDENCE,
        overconfidence.value is not None,
        _format_estimate(OVERCONFIDENCE, overconfidence, level),
        _interval_faults(overconfidence, 0, "underconfident", "overconfident"),
        _farthest_distance(overconfidence, 0) <= HARDLY,
        (overconfidence.high or inf) - (overconfidence.low or -inf) <= 0.2,
    )


def _slope_facts(
    slope: Estimate, shift: Estimate, area: float | None, level: float | None
) -> _CalibrationFacts:
    """Return what calibration slope and calibration-in-the-large say; area: the ROC AUC."""
    text = _format_estimate("slope", slope, level)
    faults = _interval_faults(slope, 1, "too extreme", "not extreme enough")
    average = _interval_faults(shift, 0, "too high on average", "too low on average")
    if average and not faults:
        text = _format_estimate("calibration-in-the-large", shift, level)
    if slope.value is None:
        text = f"slope undefined: {_explain_undefined_slope(area, shift)}"
        faults = ["not extreme enough"] * (area == 1)
    return _CalibrationFacts(
        SLOPE,
        slope.value is not None,
        text,
        [*faults, *average],
        max(_farthest_distance(slope, 1), _farthest_distance(shift, 0)) <= 0.1,
        GROSS[0] <= (slope.low or 0.0) and (slope.high or inf) <= GROSS[1],
    )


def _name_fault(fault: str, test: Row, measure: str) -> str:
    """Return the fault of a miscalibrated model, by its score tests where intervals show none."""
    contradicted = cell_value(test.get("contradicted"))
    if contradicted:
        certain = "0 for the observed outcome" if measure == SLOPE else "1 for another class"
        zero = f"{format_count(contradicted, 'row')} had probability {certain}"
        return f"{fault}, and {zero}" if fault else zero
    groups, gap = (cell_value(test[name]) or 0.0 for name in ("groups_off", "largest_gap"))
    if not fault and groups:
        fault = "the share of positives deviates from the mean score in "
        fault += f"{format_count(groups, 'score group')} by up to {format_number(gap)}"
    return fault or "slope and intercept jointly differ from 1 and 0"


def _explain_undefined_slope(area: float | None, shift: Estimate) -> str:
    """Return why the slope is undefined."""
    if shift.value is None:
        return "nearly all scores are 0 or 1"
    why = {
        0.5: "all scores are equal",
        1.0: "scores separate the classes",
        0.0: "scores separate the classes in reverse",
    }
    return why.get(area or 0.0, "scores between 0 and 1 nearly separate the classes")


def _format_estimate(name: str, one: Estimate, level: float | None) -> str:
    """Write a measure with its confidence interval, where there is one."""
    text = f"{name} {format_number(one.value or 0.0)}"
    if level is None or one.low is None or one.high is None:
        return text
    return f"{text}, {100 * level:g}% CI {format_number(one.low)} to {format_number(one.high)}"


def _interval_faults(one: Estimate, ideal: float, below: str, above: str) -> list[str]:
    """Return the fault of a value whose interval excludes the ideal, else an empty list."""
    if one.high is not None and one.high < ideal:
        return [below]
    return [above] if one.low is not None and one.low > ideal else []


def _farthest_distance(one: Estimate, ideal: float) -> float:
    """Return the distance of the farther limit from the ideal; infinite if unknown."""
    return max(inf if end is None else abs(end - ideal) for end in (one.low, one.high))


CURVE_BINS = 20  # of a distribution
BAND = 30  # points of a band around a ROC curve
SHARES = ("sensitivity", "specificity", "precision", "npv")  # of a table of thresholds


def roc_band_rows(
    label: str | None, model: str, counts: ScoreCounts, level: float | None, design: Design
) -> Rows:
    """Return regions of both rates at up to `BAND` points of the ROC curve, evenly along it.

    sensitivity, fpr: with exact limits at the square root of the level, so that both hold jointly,
    as rows of the two classes are independent.
    """
    cuts = np.append(counts.scores, np.inf)[len(counts.scores) - choose_points(counts, BAND)]
    cuts = cuts[np.isfinite(cuts)]
    found, joint = confusions_at(counts, cuts), level and sqrt(level)
    return deferred_rows(
        len(cuts),
        lambda: rows_from_columns(
            {"threshold": cuts.tolist(), **_rates(found, ("sensitivity", "fpr"), joint, design)},
            slice=label,
            model=model,
        ),
    )


def choose_points(counts: ScoreCounts, most: int | Literal["all"] | None) -> Ints:
    """Return the indices of points to list, at even steps of both rates with both ends."""
    ends, limit = counts.running, MOST_POINTS if most is None else most
    m, each = ends.shape[1], np.maximum(ends[:, -1:], 1e-300)
    if limit == "all" or m <= limit:
        return np.arange(m)

    def along(i: Ints) -> Floats:
        return np.asarray(((ends[:, -1:] - ends[:, m - 1 - i]) / each).sum(axis=0) + i / m)

    last = np.array([m - 1])
    at = first_reaching(along, np.linspace(0, along(last)[0], limit), m)
    return np.unique(np.concatenate([[0], np.minimum(at, m - 1), last]))


def first_reaching(rising: Callable[[Ints], Floats], targets: Floats, m: int) -> Ints:
    """Return the first of m indices at which a rising function reaches each target, else m."""
    low, high = np.zeros(len(targets), np.int64), np.full(len(targets), m)
    while (between := low < high).any():
        middle = (low + high) // 2
        before = rising(np.minimum(middle, m - 1)) < targets
        low = np.where(between & before, middle + 1, low)
        high = np.where(between & ~before, middle, high)
    return low


def curve_rows(
    label: str | None, model: str, counts: ScoreCounts, most: int | Literal["all"] | None
) -> Rows:
    """Return points of ROC, precision-recall, gain and lift (precision / prevalence) curves."""
    places, ends = len(counts.scores) - choose_points(counts, most), counts.running
    (p, n), (tp, fp) = ends[:, -1].tolist(), ends[:, -1:] - ends[:, places]
    precision = divide(tp, tp + fp)
    columns = {
        "threshold": np.append(counts.scores, np.inf)[places],
        "tp": from_units(tp, counts.unit),
        "fp": from_units(fp, counts.unit),
        "sensitivity": divide(tp, p),
        "fpr": divide(fp, n),
        "precision": precision,
        "flagged": divide(tp + fp, p + n),
        "lift": divide(precision * (p + n), p),
    }
    # None is undefined, or above every score
    return deferred_rows(
        len(tp),
        lambda: rows_from_columns(
            {
                name: np.where(np.isfinite(values), values.astype(object), np.array(None)).tolist()
                for name, values in columns.items()
            },
            slice=label,
            model=model,
        ),
    )


def choose_thresholds(counts: ScoreCounts, asked: int | Literal["all"] | Sequence[float]) -> Floats:
    """Return the thresholds of a table: those listed, all scores, or about `asked` quantiles."""
    if asked == "all":
        return counts.scores[::-1]
    if not isinstance(asked, int):
        cuts = np.array(sorted({*map(float, asked)}, reverse=True))
        if counts.buckets is None or not len(counts.scores):
            return cuts
        at = np.minimum(np.searchsorted(counts.scores, cuts), len(counts.scores) - 1)
        return np.unique(counts.scores[at])[::-1]  # where a bucket starts
    m, ends = len(counts.scores), counts.running
    if m <= asked:
        return counts.scores[::-1]
    rows = ends[:, -1].sum()
    at = first_reaching(
        lambda i: np.asarray(rows - ends[:, m - 1 - i].sum(axis=0)),
        rows * np.arange(1, asked + 1) / (asked + 1),
        m,
    )
    return np.asarray(counts.scores[m - 1 - np.unique(at)])


def threshold_rows(
    label: str | None,
    model: str,
    counts: ScoreCounts,
    cuts: Floats,
    level: float | None,
    design: Design,
) -> Rows:
    """Return rows of thresholds: the 2 x 2 table, rates with exact intervals, F1, MCC."""
    found = confusions_at(counts, cuts)
    return deferred_rows(
        len(cuts),
        lambda: rows_from_columns(
            _at_thresholds(found, cuts, level, design), slice=label, model=model
        ),
    )


def _at_thresholds(
    confusions: ConfusionCounts, cuts: Floats, level: float | None, design: Design
) -> dict[str, Sequence[Any]]:
    """Return the columns of a table of thresholds; those at infinite scores have no number."""
    table = float_confusion(confusions)
    columns: dict[str, Sequence[Any]] = {
        "threshold": [cut if isfinite(cut) else None for cut in cuts.tolist()]
    }
    cells = ("tp", "fp", "fn", "tn")
    columns |= {name: confusions.display_units(name).tolist() for name in cells}
    columns["flagged"] = divide(table.tp + table.fp, table.total).tolist()
    return columns | _rates(confusions, (*SHARES, "f1", "mcc"), level, design)


def _rates(
    found: ConfusionCounts, names: Sequence[str], level: float | None, design: Design
) -> dict[str, Sequence[Any]]:
    """Return measures of 2 x 2 tables by name, shares with exact limits."""
    cells, table = Cells.at_prevalence(found), float_confusion(found)
    columns = dict[str, Sequence[Any]]()
    for name in names:
        measure, bounds = CATALOG[name], None
        if level is not None and name in (*SHARES, "fpr"):
            bounds = exact_limits(name, cells, level=level, design=design)
        columns[name] = estimate_column(measure.function(table), bounds, cells, measure.undefined)
    return columns


def distribution_rows(
    label: str | None, model: str, counts: ScoreCounts, classes: tuple[str, str]
) -> list[Row]:
    """Return the histogram of scores by class, in bins [low, high) of 0..1 or of finite scores."""
    finite, low, high = counts.scores[np.isfinite(counts.scores)], 0.0, 1.0
    if len(finite) and (finite.min() < 0 or finite.max() > 1):
        low, high = float(finite.min()), float(finite.max())
    edges = low + (high - low) * (np.arange(CURVE_BINS + 1) / CURVE_BINS)
    inner = np.searchsorted(counts.scores, edges[1:-1])
    ends = counts.running[:, np.concatenate([[0], inner, [len(counts.scores)]])]
    return [
        {
            "slice": label,
            "model": model,
            "class": name,
            "from": float(edges[i]),
            "to": float(edges[i + 1]),
            "rows": from_units(found[i], counts.unit).item(),
            "share": float(found[i] / found.sum()) if found.any() else None,
        }
        for name, found in zip(classes, np.diff(ends), strict=True)
        for i in range(CURVE_BINS)
    ]
