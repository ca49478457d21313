"""Whatever the table, no verdict is stronger than its interval, no sentence than its verdict."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from clfeval.api.result import Result
from tests.results import answers_of, estimate_of, rows_of
from tests.samples import logistic
from tests.thoroughness import examples

LEVEL = 0.9
LESS_IS_BETTER = ("brier", "ece")
OF_SCORES = ("roc_auc", "brier", "ks", "ece")
MARGINS = (*OF_SCORES, "mcc", "accuracy", "balanced_accuracy", "net_benefit")


@st.composite
def similar_models_with_options(draw: st.DrawFn) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Draw models much alike or not, of few rows or many, of labels or scores, with ties."""
    rows, k = draw(st.sampled_from([150, 600, 40, 12, 4])), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    truth = (rng.random(rows) < draw(st.sampled_from([0.5, 0.3, 0.1, 1.0]))).astype(int)
    alike, luck = draw(st.sampled_from([0.0, 0.7, 1.0])), rng.normal(size=rows)
    columns: dict[str, Any] = {"truth": truth}
    labels, digits = draw(st.booleans()), draw(st.sampled_from([1, 6]))
    for i in range(k):
        own = alike * luck + (1 - alike) * rng.normal(size=rows)
        z = truth * draw(st.sampled_from([0.0, 1.0, 3.0])) + own
        p = logistic(z, digits)
        columns[f"m{i}"] = (p >= 0.5) * 1 if labels else p
    reference = draw(st.sampled_from(["m0", "best", "all-pairs"]))
    most = draw(st.sampled_from([0.05, 0.1, 0.2, 0.5, None]))
    measures = [name for name in MARGINS if not labels or name not in OF_SCORES]
    more: dict[str, Any] = {
        "model": [f"m{i}" for i in range(k)],
        "positive": "1",
        "classes": ["0", "1"],
        "reference": reference,
        "level": LEVEL,
        "kind": "label" if labels else None,
        "margin": None if most is None else dict.fromkeys(measures, most),
        "resamples": 100,
    }
    if draw(st.booleans()):
        columns["patient"] = rng.integers(0, max(2, rows // 3), rows)
        more["cluster"] = "patient"
    if draw(st.booleans()):
        columns["n"] = rng.integers(1, 4, rows)
        more["weight"] = "n"
    return pl.DataFrame(columns), more


@examples(80)
@given(case=similar_models_with_options())
def test_no_verdict_is_stronger_than_its_interval(
    case: tuple[pl.DataFrame, dict[str, Any]],
) -> None:
    table, options = case
    result = clfeval.report(table, **options)
    margins = options["margin"] or {}
    for row in result.tables.get("comparisons", ()):
        turn = -1 if row["measure"] in LESS_IS_BETTER else 1
        own, together = (
            turned_limits(row[name], turn) for name in ("difference", "difference_adjusted")
        )
        most, p, found = margins.get(row["measure"]), row["p_adjusted"], row["verdict"]
        if own is None or together is None:
            assert found == "undecided"
            continue
        significant = isinstance(p, float) and p < 1 - LEVEL
        for interval, chance in ((own, row["p"]), (together, p)):
            assert (interval[0] > 0 or interval[1] < 0) == (float(str(chance)) < 1 - LEVEL)
        assert together[0] <= own[0] <= own[1] <= together[1]
        expected = "undecided"
        if most is not None and -most < together[0] and together[1] < most:
            expected = "equivalent"
        elif significant:
            expected = "better" if together[0] > 0 else "worse"
        elif most is not None and together[0] > -most:
            expected = "not worse"
        assert found == expected
    claims_no_more(result, options["reference"])
    ties_agree(result, options["reference"])


def turned_limits(cell: object, turn: int) -> tuple[float, float] | None:
    """Return the limits of an estimate if it has any, turned for more to be better."""
    estimate = estimate_of(cell)
    if estimate.low is None or estimate.high is None:
        return None
    low, high = sorted((turn * estimate.low, turn * estimate.high))
    return low, high


def ties_agree(result: Result, reference: str) -> None:
    """With every pair compared, a model is tied unless its pair with the best is significant."""
    best = next(iter(answers_of(result, "best")), None)
    if reference == "m0" or best is None:
        return
    rows = [row for row in result.tables.get("comparisons", ()) if row["measure"] == best.measure]
    of = {frozenset((row["model"], row["reference"])): row["p_adjusted"] for row in rows}
    for row in result.tables["models"]:
        p = of.get(frozenset((row["model"], best.models[0])))
        if isinstance(p, float) and row["tied"] is not None:
            assert row["tied"] == (p >= 1 - LEVEL)
        elif isinstance(p, float):  # the rows cannot tell: not comparable
            assert p >= 1 - LEVEL


def claims_no_more(result: Result, reference: str) -> None:
    """Hold the sentences about models compared against the verdicts of the table."""
    for answer in answers_of(result, "compared"):
        rows = rows_of(result, "comparisons", measure=answer.measure)
        if len(rows) > 1 and reference == "all-pairs":
            assert answer.value == sum(row["verdict"] in ("better", "worse") for row in rows)
        elif len(rows) == 1:
            difference = estimate_of(rows[0]["difference"]).value
            assert (answer.models, answer.value) == ((rows[0]["model"],), difference)
        else:
            assert {*answer.models} == {row["model"] for row in rows if row["verdict"] == "better"}
