"""The best threshold by a rule: every one tried in plain loops, and the luck of the choice."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import clfeval
from clfeval.api.result import Result
from clfeval.counts.patterns import ConfusionCounts
from clfeval.counts.scores import ScoreCounts
from clfeval.errors import ClfevalError, UsageError
from clfeval.formatting import format_exact
from clfeval.inference.resampling import random_stream
from clfeval.methods.measurement.score_measures import resample_rows
from clfeval.methods.report.threshold_rules import parse_rules
from clfeval.methods.threshold_optimism import DRAWS, thinned_products
from tests.reference import ScoredRow
from tests.results import answers_of, estimate_of, four_cells, limits_of, row_of, rows_of, value_of
from tests.samples import logistic
from tests.strategies import scored_tables
from tests.texts import check_text
from tests.thoroughness import examples

CANCER = Path(__file__).parents[3] / "fixtures" / "breast-cancer" / "scores.csv"
Cells = tuple[float, float, float, float]  # TP, FP, FN, TN


def _over(a: float, b: float) -> float | None:
    return a / b if b else None


def _mcc(tp: float, fp: float, fn: float, tn: float) -> float | None:
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(margins) if margins else None


def _kappa(tp: float, fp: float, fn: float, tn: float) -> float | None:
    m = tp + fp + fn + tn
    chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / m**2
    return (((tp + tn) / m) - chance) / (1 - chance) if chance < 1 else None


def _sens(tp: float, _: float, fn: float, __: float) -> float | None:
    return _over(tp, tp + fn)


def _spec(_: float, fp: float, __: float, tn: float) -> float | None:
    return _over(tn, fp + tn)


def _within(
    best: Callable[..., float | None], limited: Callable[..., float | None], keeps: Any
) -> Callable[..., float | None]:
    def value(*cells: float) -> float | None:
        limit = limited(*cells)
        return None if limit is None or not keeps(limit) else best(*cells)

    return value


# what each rule makes largest, by the textbook
RULES: dict[str, Callable[..., float | None]] = {
    "j_index": lambda tp, fp, fn, tn: tp / (tp + fn) + tn / (fp + tn) - 1,
    "f1": lambda tp, fp, fn, tn: _over(2 * tp, 2 * tp + fp + fn),
    "mcc": _mcc,
    "kappa": _kappa,
    "accuracy": lambda tp, fp, fn, tn: (tp + tn) / (tp + fp + fn + tn),
    "cost:fp=1,fn=5": lambda tp, fp, fn, tn: -(fp + 5 * fn) / (tp + fp + fn + tn),
    "net_benefit:t=0.2": lambda tp, fp, fn, tn: (tp - fp * 0.25) / (tp + fp + fn + tn),
    "sens>=.7": _within(_spec, _sens, lambda x: x >= 0.7 - 1e-12),
    "spec>=60%": _within(_sens, _spec, lambda x: x >= 0.6 - 1e-12),
    "ppv>=.8": _within(_sens, lambda tp, fp, *_: _over(tp, tp + fp), lambda x: x >= 0.8 - 1e-12),
    "npv>=.9": _within(_spec, lambda _, __, fn, tn: _over(tn, fn + tn), lambda x: x >= 0.9 - 1e-12),
    "fpr<=0.25": _within(_sens, lambda _, fp, __, tn: fp / (fp + tn), lambda x: x <= 0.25 + 1e-12),
}


def cells(rows: Sequence[tuple[float, int, float]], cut: float) -> Cells:
    """Count one row after the other: score, truth, how often."""
    found = dict.fromkeys(((1, True), (0, True), (1, False), (0, False)), 0.0)
    for score, truth, n in rows:
        found[truth, score >= cut] += n
    return found[1, True], found[0, True], found[1, False], found[0, False]


def best_cut(
    rows: Sequence[tuple[float, int, float]],
    value: Callable[..., float | None],
    cuts: Sequence[float],
) -> float | None:
    """Try every cut, the highest first: the best value, then the largest J."""
    best: tuple[float, float] | None = None
    at = None
    for cut in cuts:
        table = cells(rows, cut)
        here = value(*table)
        if here is None:
            continue
        tp, fp, fn, tn = table
        j = tp / (tp + fn) - fp / (fp + tn)
        near = best is not None and math.isclose(here, best[0], rel_tol=1e-11, abs_tol=1e-12)
        if best is None or (here > best[0] and not near) or (near and j > best[1] + 1e-12):
            best, at = (here, j), cut
    return at


def report_with_rules(
    rows: Sequence[tuple[float, int, float]], *rules: str, **options: Any
) -> Result:
    frame = pl.DataFrame(
        {
            "truth": [row[1] for row in rows],
            "m": [float(row[0]) for row in rows],
            "n": [int(row[2]) for row in rows],
        }
    )
    return clfeval.report(
        frame, positive="1", weight="n", kind="score", best_threshold=rules, **options
    )


def scores_truth_and_weights(table: Sequence[ScoredRow]) -> list[tuple[float, int, float]]:
    return [(row.scores[0], row.truth, row.n) for row in table]


def has_both_classes(rows: Sequence[tuple[float, int, float]]) -> bool:
    return {row[1] for row in rows} == {0, 1}


@examples(30)
@given(scored_tables(models=(1, 1), rows=(2, 12)))
def test_no_other_threshold_is_better(table: list[ScoredRow]) -> None:
    rows = scores_truth_and_weights(table)
    if not has_both_classes(rows):
        return
    cuts = [math.inf, *sorted({row[0] for row in rows}, reverse=True)]
    cutoffs = rows_of(report_with_rules(rows, *RULES), "cutoffs")
    assert len(cutoffs) == len(RULES)
    for row, (name, value) in zip(cutoffs, RULES.items(), strict=True):
        at = best_cut(rows, value, cuts)
        if at is None:
            assert (row["rule"], row["threshold"]) == (None, None), name
            continue
        assert row["threshold"] == (None if at == math.inf else at), name
        kind = "always positive" if at == cuts[-1] else "score >= t"
        assert row["rule"] == ("never positive" if at == math.inf else kind), name
        table_here = cells(rows, at)
        assert four_cells(row) == table_here, name
        sign = -1 if name.startswith("cost") else 1
        assert value_of(row["value"]) == pytest.approx(sign * (value(*table_here) or 0)), name


@pytest.mark.parametrize(
    "rule", ["j_index", "mcc", "sens>=.7", "ppv>=.8", "npv>=.9", "cost:fp=1,fn=5"]
)
def test_optimism_is_what_draws_lose_on_all_rows(rule: str) -> None:
    """The same draws, each judged row by row, by another program.

    Of a predictive value that is a limit, the value itself is less its own optimism: with the rate
    that is best as expected, the other errors are as many as it says.
    """
    rng = np.random.default_rng(5)
    truth = rng.random(60) < 0.4
    scores = np.round(rng.standard_normal(60) + 1.2 * truth, 1)
    rows = [(s, int(t), 1.0) for s, t in zip(scores.tolist(), truth.tolist(), strict=True)]
    counts = ScoreCounts.from_rows(scores, truth, None)
    tpr, fpr, limits, places = [], [], [], []
    limit = {
        "ppv": lambda tp, fp, *_: _over(tp, tp + fp),
        "npv": lambda _, __, fn, tn: _over(tn, tn + fn),
    }.get(rule[:3], lambda *_: None)
    cuts = [math.inf, *counts.scores[::-1].tolist()]
    value = RULES[rule]
    n, rng = np.concatenate([counts.positives, counts.negatives]), random_stream(0, "cut\0m\0")
    for block in resample_rows(n, counts.clusters, DRAWS, rng):
        for drawn in block.tolist():
            pos, neg = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
            again = [
                (s, y, float(n))
                for y, part in ((1, pos), (0, neg))
                for s, n in zip(counts.scores.tolist(), part, strict=True)
                if n
            ]
            at = best_cut(again, value, cuts) if has_both_classes(again) else None
            if at is None:
                continue
            one, every = cells(again, at), cells(rows, at)
            tpr.append(one[0] / sum(pos) - every[0] / sum(truth))
            fpr.append(one[1] / sum(neg) - every[1] / sum(~truth))
            places.append(at)
            both = limit(*one), limit(*every)
            if None not in both:
                limits.append(both[0] - both[1])  # type: ignore[operator]
    row = row_of(report_with_rules(rows, rule), "cutoffs")
    kept = 1 - 1 / math.e
    sens = row["tp"] / sum(truth) - np.mean(tpr) / kept
    fall = row["fp"] / sum(~truth) - np.mean(fpr) / kept
    p, n = sum(truth), sum(~truth)
    if limits:
        here = limit(*four_cells(row))
        found = here - np.mean(limits) / kept  # type: ignore[operator]
        assert value_of(row["limited"]) == pytest.approx(found)
        if rule[:3] == "ppv":  # sens p / (sens p + fall n) is as found
            fall = sens * p * (1 - found) / found / n
        else:  # (1 - fall) n / ((1 - fall) n + (1 - sens) p) is
            sens = 1 - (1 - fall) * n * (1 - found) / found / p
    assert value_of(row["sensitivity"]) == pytest.approx(min(1, max(0, sens)))
    assert value_of(row["specificity"]) == pytest.approx(min(1, max(0, 1 - fall)))
    ends = np.sort(places)[[round(0.025 * (len(places) - 1)), round(0.975 * (len(places) - 1))]]
    near = [float(row[key]) for key in ("threshold_low", "threshold_high")]
    assert near == pytest.approx(ends, abs=0.11)


@examples(15)
@given(scored_tables(models=(1, 1), rows=(6, 12)), st.sampled_from(["mcc", "f1", "kappa"]))
def test_other_rows_are_never_better_and_the_answer_says_so(
    table: list[ScoredRow], rule: str
) -> None:
    rows = scores_truth_and_weights(table)
    if not has_both_classes(rows):
        return
    result = report_with_rules(rows, rule)
    row = row_of(result, "cutoffs")
    corrected, apparent = (estimate_of(row[name]).value for name in ("corrected", "value"))
    assert answers_of(result, "best-cut")[0].value == corrected
    if corrected is not None and apparent is not None:
        assert corrected <= apparent + 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_a_safe_limit_is_kept_by_the_limits_that_are_told(seed: int) -> None:
    """Clopper and Pearson's limit of the rows is at least .8, and so is that of new data."""
    rng = np.random.default_rng(seed)
    truth = rng.random(200) < 0.4
    x = logistic(rng.normal(truth * 1.5 - 0.5, 1), 3)
    rows = [(float(s), int(y), 1.0) for s, y in zip(x, truth, strict=True)]
    row = row_of(report_with_rules(rows, "sens.low>=.8"), "cutoffs")
    assert stats.beta.ppf(0.025, row["tp"], row["fn"] + 1) >= 0.8
    for name in ("limited", "sensitivity"):
        low, _ = limits_of(row[name])
        assert 0.8 <= low <= value_of(row[name])


def test_clusters_and_sampling_weights_have_wider_limits_than_rows() -> None:
    """Ten copies of a row in a cluster tell as much as one; weights of .5 as many as they are."""
    rng = np.random.default_rng(13)
    truth = np.repeat(rng.random(60) < 0.5, 10)
    score = np.repeat(rng.standard_normal(60), 10) + truth
    frame = pl.DataFrame({"truth": truth, "m": score, "patient": np.repeat(np.arange(60), 10)})

    def width(**options: Any) -> float:
        every = {"positive": "true", "kind": "score", "where": "copy >= 1"}
        options = {**every, "best_threshold": "mcc", **options}
        result = clfeval.report(options.pop("frame", frame), **options)
        low, high = limits_of(row_of(result, "cutoffs")["corrected"])
        return high - low

    alone = width(model="m")
    assert width(cluster="patient", model="m") > 2 * alone
    halves = frame.with_columns(w=pl.lit(0.5))
    assert width(frame=halves, weight="w", model="m") == pytest.approx(alone, rel=0.15)
    uneven = frame.with_columns(w=pl.Series(np.where(np.arange(600) % 10, 0.1, 5.1)))
    assert width(frame=uneven, weight="w", model="m") > 1.5 * alone


def rules_and_reasons(result: Result) -> list[tuple[Any, str | None]]:
    """Return rule of each cutoff, and why its corrected value is undefined."""
    rows = rows_of(result, "cutoffs")
    return [(row["rule"], estimate_of(row["corrected"]).reason) for row in rows]


ONE = [(0.2, 0, 1), (0.9, 1, 1), (0.4, 0, 1)]
FLAT = [(0.5, 0, 4), (0.5, 1, 4)]
NONE = [(0.5, 0, 4), (0.6, 0, 4)]


@pytest.mark.parametrize(
    ("rows", "rule", "wanted"),
    [
        (ONE, "j_index", ("score >= t", "too_few_rows")),
        (FLAT, "mcc", (None, "zero_margin")),
        (FLAT, "j_index", ("never positive", None)),
        (FLAT, "ppv>=.8", (None, "limit_unmet")),
        (FLAT, "sens>=.9", ("always positive", None)),
        (NONE, "j_index", (None, "no_positive_truth")),
        ([(0.9, 1, 1), (0.8, 0, 3), (0.7, 1, 5), (0.1, 0, 9)], "ppv>=.99", ("score >= t", None)),
        ([(0.1, 0, 3), (math.inf, 1, 4)], "mcc", (None, "infinite_scores")),
    ],
)
def test_what_cannot_be_known_has_a_reason(rows: Any, rule: str, wanted: Any) -> None:
    assert rules_and_reasons(report_with_rules(rows, rule)) == [wanted]


def test_slices_choose_for_themselves_and_labels_have_no_threshold() -> None:
    frame = pl.DataFrame(
        {"truth": [0, 1] * 30, "m": [i / 60 for i in range(60)], "site": ["a"] * 30 + ["b"] * 30}
    )
    result = clfeval.report(frame, positive="1", by="site", best_threshold=["mcc", "j"])
    rows = rows_of(result, "cutoffs")
    assert [(row["slice"], row["model"], row["chosen_by"]) for row in rows] == [
        (label, "m", rule) for label in (None, "site=a", "site=b") for rule in ("mcc", "j_index")
    ]
    with pytest.raises(UsageError) as caught:
        clfeval.report(
            frame.select("truth", said=pl.Series([0, 1, 1] * 20)),
            positive="1",
            best_threshold="mcc",
        )
    check_text(str(caught.value))


def test_several_classes_need_a_positive_one() -> None:
    frame = pl.DataFrame({"truth": list("abcabc"), "m": list("abccba")})
    for option in ({"best_threshold": "mcc"}, {"abstain": "5%"}):
        with pytest.raises(ClfevalError) as caught:
            clfeval.report(frame, **option)
        assert "positive" in str(caught.value.hint)
        check_text(str(caught.value))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("sens", "'sens>=.9'"),
        ("fpr", "'sens>=.9'"),
        ("sens>.9", "'sens>=.9'"),
        ("sens=.9", "'sens>=.9'"),
        ("sens<=.9", "'sens>=.9'"),
        ("fpr>=.1", "'fpr<=.1'"),
        ("ppv>=2", ""),
        ("ppv>=x", "'ppv>=.9'"),
        ("roc_auc", "j_index"),
        ("hard", "j_index"),
        ("phi", "j_index"),
        ("cost", "fp=1,fn=1"),
        ("net_benefit", "net_benefit:t=0.1"),
        ("nothing_like_it", ""),
    ],
)
def test_what_is_no_rule_is_refused_with_one_that_is(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_rules([text])
    assert hint in str(caught.value.hint or "")
    check_text(str(caught.value))


def test_a_rule_asked_for_twice_is_one_whatever_it_is_called() -> None:
    names = [
        rule.name for rule in parse_rules(["sens>=.9", "recall >= 90%", "tpr≥0.9", "mcc", "MCC"])
    ]
    assert names == ["sensitivity>=0.9", "mcc"]


@pytest.mark.parametrize(("tp", "fp"), [(2.4, 3.0), (4.5, 1.5), (4.0, 3.9)])
@pytest.mark.parametrize("rows", [True, False])
def test_rows_that_change_sides_do_so_wherever_they_are(tp: float, fp: float, rows: bool) -> None:
    """Every way to let each row stay or go, with its chance: the mean of the products."""
    kinds = [
        ("tp", 0),
        ("tp", 0),
        ("fn", 0),
        ("tp", 1),
        ("tn", 1),
        ("fp", 1),
        ("fn", 2),
        ("fp", 2),
        ("fp", 0),
        ("tn", 2),
        ("tp", 2),
    ]
    cluster = np.arange(len(kinds)) if rows else np.array([c for _, c in kinds])
    cell = np.array([kind for kind, _ in kinds])
    truth, says = np.isin(cell, ["tp", "fn"]), np.isin(cell, ["tp", "fp"])

    def products(says: Any) -> Any:
        each = np.zeros((cluster.max() + 1, 4))
        for c, y, said in zip(cluster, truth, says, strict=True):
            each[c] += [y and said, not y and said, y, not y]
        return each.T @ each

    def chance(y: bool, said: bool) -> float:
        """Return with what chance a row is called positive in the end."""
        total, kept = (tp, 4.0) if y else (fp, 3.0)
        if total < kept:
            return total / kept if said else 0.0
        others = float((truth == y).sum()) - kept
        return 1.0 if said else (total - kept) / others

    chances = np.array([chance(bool(y), bool(s)) for y, s in zip(truth, says, strict=True)])
    wanted = np.zeros((4, 4))
    for other in np.ndindex(*[2] * len(kinds)):
        weight = np.prod(np.where(other, chances, 1 - chances))
        if weight:
            wanted += weight * products(np.array(other, bool))
    p, n = (np.array([float(side.sum())]) for side in (truth, ~truth))
    here, less = (
        ConfusionCounts(("",), t, f, p - t, n - f, p, n, 1, products(says)[None])
        for t, f in ((np.array([4.0]), np.array([3.0])), (np.array([tp]), np.array([fp])))
    )
    assert thinned_products(here, less, rows=rows) == pytest.approx(wanted)


def test_the_sentence_says_how_far_the_threshold_wanders_and_what_has_none() -> None:
    result = clfeval.report(
        CANCER, positive="malignant", model="svm", best_threshold=["mcc", "f1", "j_index", "kappa"]
    )
    sentences = [answer.text for answer in answers_of(result, "best-cut")]
    row = rows_of(result, "cutoffs")[0]
    for column in ("threshold_low", "threshold_high", "threshold"):
        assert format_exact(row[column]) in sentences[0]
    check_text(sentences)
