"""Numbers at the edges: large counts, infinite scores, targets that are nearly the same."""

from __future__ import annotations

import math
import warnings
from typing import Any

import polars as pl
import pytest

from clfeval.measures.catalog import CATALOG
from clfeval.result import Estimate
from tests.methods.tune_jpt.requests.door import CCP, RF, command, one, rows_of, tuned, value

POWER_OF_4 = math.sqrt(3) / math.pi * math.log(4)


@pytest.mark.parametrize("n", [4 * 10**9, 10**10, 2**60])
def test_dor_of_large_counts_does_not_overflow(n: int) -> None:
    """Once: TP TN and FP FN are int64 products: DOR -0.92 at 4e9 rows a cell, DP undefined."""
    result = tuned(counts=(n, n // 2, n // 2, n))
    for population in ("sample", "1:1"):
        assert value(result, "dor", population) == pytest.approx(4, rel=1e-9)
        assert value(result, "dp", population) == pytest.approx(
            math.sqrt(3) / math.pi * math.log(4)
        )


def test_counts_on_the_command_line_keep_every_digit() -> None:
    """Once: Parsed as float: 9007199254740993 becomes ...992, without a word."""
    _, out = command("--counts", "9007199254740993,5,33,95", "--measure", "ppv", "-f", "csv")
    assert ",9007199254740993," in out.splitlines()[1]


def test_the_limit_of_tar_is_not_above_1() -> None:
    """Once: high 1.0000000000000002 at 1:1000 for a perfect classifier."""
    result = tuned(counts=(60, 0, 0, 60), sweep="1:1000..1000:1", points=31)
    for row in (*result.tables["sweep"], *result.tables["models"]):
        for name, cell in row.items():
            if isinstance(cell, Estimate) and cell.high is not None:
                assert cell.high <= CATALOG[name].high, (row["odds"], name)


def test_mcc_of_a_perfect_classifier_is_1() -> None:
    """Once: 0.9999999999999998 at 1:1 of 100 and 100 rows, so --fail-under mcc=1 is missed."""
    for n in (60, 100, 7):
        assert value(tuned(counts=(n, 0, 0, n)), "mcc", "1:1") == 1.0


def test_a_bias_is_better_near_0() -> None:
    """Once: "always leads throughout, for certain", for phi = 1."""
    models = {"fair": (800, 200, 200, 800), "always": (1000, 1000, 0, 0)}
    assert tuned(counts=models, measure="phi").parameters["compared_by"] == "tar"


def scores(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame(columns)


def test_infinite_scores_have_no_thresholds() -> None:
    """Once: PPV of s >= inf is 1; said was "always positive", 0.4, below the fixed one."""
    frame = scores(truth=[1, 0, 1, 0, 0], s=[math.inf, 0.1, math.inf, 0.9, 0.2])
    result = tuned(frame, threshold=0.5, measure="ppv")
    assert list(result.tables["thresholds"]) == []
    assert "infinite-scores" in [warning.code for warning in result.warnings]
    # at .5: both positives found, one of three negatives alarmed
    assert value(result, "ppv", "sample") == pytest.approx(2 / 3, rel=1e-15)


def test_a_lowest_score_of_minus_infinity_can_be_saved() -> None:
    """Once: ValueError: Out of range float values are not JSON compliant, exit 70."""
    frame = scores(truth=[1, 0, 1, 0], s=[-math.inf, 0.1, 0.3, 0.9])
    result = tuned(frame, threshold=0.5, measure="tar", prevalence="1000:1")
    assert "infinite-scores" in result.to_json()


def test_a_simulation_says_nothing_on_stderr() -> None:
    """Once: numpy's RuntimeWarning with its path: a mean over +inf and -inf (dp, tor ...)."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned(counts=(1, 1, 1, 1), prevalence_beta=(2, 98))
        tuned(counts=CCP, prevalence_beta=(0.001, 0.001), measure="cost:fp=1e-09,fn=1000000000.0")


def test_a_simulation_takes_no_empty_cell_for_known() -> None:
    """Once: mean, low and high are null without a reason: infinite is not undefined."""
    result = tuned(counts=(60, 0, 33, 60), prevalence_beta=(2, 98))
    (row,) = (row for row in result.tables["simulated"] if row["measure"] == "ppv_odds")
    # the rates are drawn from what 0 of 60 leaves plausible, so PPV odds are finite
    assert all(0 < row[part] < math.inf for part in ("mean", "median", "low", "high"))


def test_the_reason_of_a_rate_is_its_own_class() -> None:
    """Once: specificity of a model without any row: no_positive_truth, though it needs none."""
    result = tuned(counts={"a": CCP, "c": (0, 0, 0, 0)})
    for population in ("sample", "1:1"):
        assert rows_of(result, population)["c"]["specificity"].reason == "no_negative_truth"


def test_targets_with_one_odds_text_are_one_row() -> None:
    """Once: 0.3333333333333333 and 1:2: two rows "1:2", one judged."""
    result = tuned(counts=CCP, prevalence=[1 / 3, "1:2"])
    targets = [row["odds"] for row in result.tables["models"] if row["population"] == "target"]
    assert len(targets) == len(set(targets))


@pytest.mark.parametrize("alias", ["youden", "informedness"])
def test_youden_is_j(alias: str) -> None:
    """Once: --measure youden shows the column delta."""
    two = {"a": CCP, "b": RF}
    assert tuned(counts=two, measure=alias).parameters["compared_by"] == "j_index"


def test_nobody_leads_where_nobody_is_compared() -> None:
    """Once: 'none: not defined for both' is said where one of two models is undefined."""
    result = tuned(counts={"a": CCP, "b": (0, 5, 0, 95)}, prevalence="1:9")
    (row,) = result.tables["crossovers"]
    assert (row["crossing"].reason, row["leads_below"]) == ("undefined", None)
    assert row["verdict"] == "none: undefined for one of them at least"


def test_intervals_none_leave_limits_out() -> None:
    assert one(tuned(counts=RF, prevalence="1:9", interval="none"), "ppv").low is None
