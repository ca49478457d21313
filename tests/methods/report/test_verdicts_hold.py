"""Whatever the table, no verdict is stronger than its interval, no sentence than its verdict."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import clfeval
from clfeval.result import Estimate, Result
from tests.thoroughness import examples

LEVEL = 0.9
LESS_IS_BETTER = ("brier", "ece")
OF_SCORES = ("roc_auc", "brier", "ks", "ece")
MARGINS = (*OF_SCORES, "mcc", "accuracy", "balanced_accuracy", "net_benefit")
SAID = {  # what a sentence calls the models that it lists, and the verdict it claims
    r"(?:is|are) better": "better", r"(?:is|are) worse": "worse",
    r"(?:is|are) equivalent within \S+": "equivalent",
    r"(?:is|are) not worse by \S+": "not worse", r"cannot be told from it": "undecided",
}  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> tuple[pl.DataFrame, dict[str, Any]]:
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
        p = np.round(1 / (1 + np.exp(-z)), digits)
        columns[f"m{i}"] = (p >= 0.5) * 1 if labels else p
    reference = draw(st.sampled_from(["m0", "best", "all-pairs"]))
    most = draw(st.sampled_from([0.05, 0.1, 0.2, 0.5, None]))
    measures = [name for name in MARGINS if not labels or name not in OF_SCORES]
    more: dict[str, Any] = {
        "model": [f"m{i}" for i in range(k)], "positive": "1", "labels": ["0", "1"],
        "reference": reference, "level": LEVEL, "kind": "label" if labels else None,
        "margin": None if most is None else dict.fromkeys(measures, most), "resamples": 100,
    }  # fmt: skip
    if draw(st.booleans()):
        columns["patient"] = rng.integers(0, max(2, rows // 3), rows)
        more["cluster"] = "patient"
    if draw(st.booleans()):
        columns["n"] = rng.integers(1, 4, rows)
        more["weight"] = "n"
    return pl.DataFrame(columns), more


@examples(80)
@given(case=tables())
def test_no_verdict_is_stronger_than_its_interval(
    case: tuple[pl.DataFrame, dict[str, Any]],
) -> None:
    table, options = case
    result = clfeval.report(table, **options)
    margins = options["margin"] or {}
    for row in result.tables.get("comparisons", ()):
        turn = -1 if row["metric"] in LESS_IS_BETTER else 1
        own, together = (ends(row[name], turn) for name in ("difference", "difference_adjusted"))
        most, p, found = margins.get(row["metric"]), row["p_adjusted"], row["verdict"]
        if found in ("better", "worse"):
            assert p is not None
            assert float(str(p)) < 1 - LEVEL
            assert own is not None
            assert own[0] > 0 if found == "better" else own[1] < 0
        elif found in ("equivalent", "not worse"):
            assert own is not None
            assert together is not None
            assert most is not None
            assert own[0] > -most
            assert together[0] > -most
            if found == "equivalent":
                assert own[1] < most
                assert together[1] < most
        else:
            assert found == "undecided"
    claims_no_more(result, options["reference"])


def ends(value: object, turn: int) -> tuple[float, float] | None:
    """Return an interval, turned for more to be better."""
    assert isinstance(value, Estimate)
    if value.low is None or value.high is None:
        return None
    low, high = sorted((turn * value.low, turn * value.high))
    return low, high


def claims_no_more(result: Result, reference: str) -> None:
    """Read the sentences: each names its models with the verdict that the table has."""
    for one in result.answer:
        if one.code != "compared":
            continue
        rows = [row for row in result.tables["comparisons"] if row["metric"] == one.measure]
        found = {str(row["model"]): str(row["verdict"]) for row in rows}
        if len(rows) == 1:
            (model,) = found
            assert one.text.startswith(f"{model} ")
            assert read_one(one.text) == found[model]
        elif reference == "all-pairs":
            told = sum(str(row["verdict"]) in ("better", "worse") for row in rows)
            assert one.text.startswith(f"{told} of {len(rows)} pairs of models are told apart")
        else:
            assert read_several(one.text, list(found)) == found


def read_one(text: str) -> str:
    """Return what a sentence on two models claims."""
    claims = {"is better than": "better", "is worse than": "worse", "cannot be told": "undecided",
              "is equivalent to": "equivalent", "is not worse than": "not worse"}  # fmt: skip
    (found,) = [verdict for words, verdict in claims.items() if words in text]
    return found


def read_several(text: str, models: list[str]) -> dict[str, str]:
    """Return what a sentence on several models claims of each."""
    claimed = dict[str, str]()
    for part in text.partition(": ")[2].rstrip(".").split("; "):
        if part == "no model can be told from it":
            claimed |= dict.fromkeys(models, "undecided")
            continue
        (verdict,) = [found for words, found in SAID.items() if re.search(rf"{words}$", part)]
        named = [model for model in models if re.search(rf"\b{model}\b", part)]
        assert named, part
        claimed |= dict.fromkeys(named, verdict)
    return claimed
