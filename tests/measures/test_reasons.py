"""Why measures are undefined, on every 2 x 2 table with cells 0, 1 and 2, by rules of their own."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import polars as pl
import pytest

import clfeval
from clfeval.document.cells import Estimate

TABLES = [cells for cells in product(range(3), repeat=4) if sum(cells)]
POSITIVES, NEGATIVES = "no_positive_truth", "no_negative_truth"


def model_name(cells: tuple[int, ...]) -> str:
    return "".join(map(str, cells))


def reasons_of(rows: Any) -> dict[tuple[str, str], str]:
    """Return the reason of each undefined cell, by table and measure; infinite is defined."""
    return {
        (str(row["model"]), name): str(cell.reason)
        for row in rows
        for name, cell in row.items()
        if isinstance(cell, Estimate) and cell.reason and "infinite" not in cell.reason
    }


def rule(name: str, tp: int, fp: int, fn: int, tn: int, *, tuned: bool) -> str | None:
    """Say in words of the table why a measure is undefined; None where it is not.

    tuned: at equal classes, where a class without rows leaves nothing to weigh.
    """
    p, n, said, denied = tp + fn, fp + tn, tp + fp, fn + tn
    lacking = POSITIVES if not p else NEGATIVES if not n else None
    if name in ("sensitivity", "recall"):
        return None if p else POSITIVES
    if name == "specificity":
        return None if n else NEGATIVES
    if name in ("accuracy", "error_rate"):
        return None  # there are rows
    if name in ("phi", "delta", "phi_b", "delta_b", "accuracy_u", "error_u", "f1_u", "j_index"):
        return lacking
    if name.startswith("mutual_information"):
        return "single_class" if lacking else None
    if name == "f1":
        return None if tp + fp + fn else "nothing_positive"
    if name == "mcc" and not tuned:
        return None if p and n and said and denied else "zero_margin"
    if name in ("mcc_u", "mcc"):
        return lacking or (None if said and denied else "zero_margin")
    if name == "precision":
        return None if said else "no_positive_prediction"
    if name == "npv" and not tuned:
        return None if denied else "no_negative_prediction"
    if name in ("precision_u", "ppv", "ppv_odds", "lr_pos"):
        return lacking or (None if said else "no_positive_prediction")
    if name in ("npv_u", "npv", "npv_odds", "lr_neg"):
        return lacking or (None if denied else "no_negative_prediction")
    if name == "epa":
        empty = None if denied else "no_negative_prediction"
        return lacking or (empty if said else "no_positive_prediction")
    if name in ("dor", "dp"):  # 0/0: a right and a wrong cell are empty
        return lacking or (None if tp * tn or fp * fn else "zero_margin")
    assert name in ("tar", "tor", "f_beta", "f_odds", "ic"), name
    return lacking


def test_mars() -> None:
    found: Counter[str] = Counter()
    for tp, fp, fn, tn in TABLES:
        truth = [1] * tp + [0] * fp + [1] * fn + [0] * tn
        vote = [1] * (tp + fp) + [0] * (fn + tn)
        result = clfeval.mars(pl.DataFrame({"truth": truth, "m": vote}), positive="1")
        reasons = {name: why for (_, name), why in reasons_of(result.tables["models"]).items()}
        # rows of one model: none found, or no other model that could have missed them
        none = None if tp else "nothing_found"
        assert reasons.pop("shine_through", None) == none
        assert reasons.pop("occlusion") == (none or "no_other_model")
        expected = {
            name: rule(name, tp, fp, fn, tn, tuned=False)
            for name in ("accuracy", "precision", "recall")
        }
        assert reasons == {name: why for name, why in expected.items() if why}
        found.update(reasons.values())
    assert found == {POSITIVES: 8, "no_positive_prediction": 8}


@pytest.fixture(scope="module")
def counts() -> pl.DataFrame:
    columns = {
        name: [cells[i] for cells in TABLES] for i, name in enumerate(("tp", "fp", "fn", "tn"))
    }
    return pl.DataFrame({"model": [model_name(cells) for cells in TABLES], **columns})


def test_phidelta(counts: pl.DataFrame) -> None:
    rows = clfeval.phidelta(counts).tables["models"]
    reasons = reasons_of(rows)
    names = [name for name, cell in rows[0].items() if isinstance(cell, Estimate)]
    for cells, name in product(TABLES, names):
        expected = rule(name.removeprefix("region_"), *cells, tuned=False)
        assert reasons.pop((model_name(cells), name), None) == expected, (cells, name)
    assert not reasons


def test_tune_jpt_at_equal_classes(counts: pl.DataFrame) -> None:
    rows = clfeval.tune_jpt(counts, sweep=None).tables["models"]
    even = [row for row in rows if row["population"] == "1:1"]
    reasons = reasons_of(even)
    names = [name for name, cell in even[0].items() if isinstance(cell, Estimate)]
    assert len(names) == 20
    for cells, name in product(TABLES, names):
        expected = rule(name, *cells, tuned=True)
        assert reasons.pop((model_name(cells), name), None) == expected, (cells, name)
    assert not reasons
