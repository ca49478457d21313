"""Who leads where: significantly where the interval of the difference leaves out 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from clfeval.measures.catalog import CATALOG
from tests.methods.tune_jpt.differences import Two, difference, everywhere
from tests.methods.tune_jpt.reference import Cells, ratio_of
from tests.results import (
    answers_of,
    limits_of,
    row_of,
    rows_of,
    value_of,
    warning_codes,
    warning_messages,
)
from tests.texts import check_text, numbers_in

# b finds fewer positives and alarms less often
CLEAR = Two((600, 150, 50, 200), (100, 200, 40, 660))
LOOSE = Two((30, 9, 4, 7), (6, 9, 3, 42))
ONE_SIDE = Two((67, 0, 2, 31), (5, 0, 10, 85))
TABLES = (CLEAR, LOOSE, ONE_SIDE)


def tune(two: Two, *, paired: bool = True, **options: Any) -> Result:
    options = {"measure": "tar", "points": 2} | options
    if paired:
        return clfeval.tune_jpt(two.weighted_rows(), weight="n", **options)
    return clfeval.tune_jpt(counts=two.counts(), **options)


def significant_winner(two: Two, r: float, **options: Any) -> str | None:
    """Return who is significantly better, by hand."""
    _, low, high = difference(two, r, **options)
    return "a" if low > 0 else "b" if high < 0 else None


@pytest.mark.parametrize("two", TABLES)
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_winner_beats_the_other(two: Two, paired: bool, level: float) -> None:
    result = tune(two, paired=paired, level=level, prevalence=["1:30", "2:1"], points=41)
    rows = rows_of(result, "winners")
    assert {row["population"] for row in rows} == {"sample", "target", "sweep"}
    assert len(rows) == 1 + 2 + 41
    for row in rows:
        value = {
            name: Cells(*two.counts()[name]).tuned(ratio_of(row["odds"])).values()["tar"]
            for name in "ab"
        }
        leader = max(value, key=lambda name: value[name])
        assert row["leader"] == leader
        assert row["value"] == Estimate(pytest.approx(float(value[leader]), rel=1e-5))
        row_level = everywhere(level) if row["population"] == "sweep" else level
        winner = significant_winner(two, row["ratio"], paired=paired, level=row_level)
        assert row["winner"] == winner
        (second,) = {"a", "b"} - {leader}
        assert row["tied"] == ([] if winner else [second])


@pytest.mark.parametrize("two", TABLES)
@pytest.mark.parametrize("paired", [True, False])
def test_the_limits_of_a_crossing_are_where_leads_become_significant(
    two: Two, paired: bool
) -> None:
    """The interval of the difference covers 0 just inside them and no longer just outside.

    It is so wide that such intervals hold at all class ratios together.
    """
    row = row_of(tune(two, paired=paired), "crossovers")
    level = everywhere(0.95)
    crossing = row["crossing"]
    assert crossing.value is not None
    below, above = row["leads_below"], row["leads_above"]
    for limit, leads, sign in ((crossing.low, below, -1), (crossing.high, above, 1)):
        if limit is None:
            assert significant_winner(two, 1000.0**sign, paired=paired, level=level) is None
        else:
            r = limit / (1 - limit)
            assert (
                significant_winner(two, r * (1 - sign * 1e-6), paired=paired, level=level) is None
            )
            assert (
                significant_winner(two, r * (1 + sign * 1e-6), paired=paired, level=level) == leads
            )
    if crossing.low is not None and crossing.high is not None:
        assert crossing.low < crossing.value < crossing.high
    check_text(row["verdict"])


def test_shared_rows_tell_more() -> None:
    """The same counts from the same rows: fewer odds are undecided than from other rows."""
    paired, unpaired = (tune(CLEAR, paired=is_paired) for is_paired in (True, False))
    crossing, wider = (row_of(result, "crossovers")["crossing"] for result in (paired, unpaired))
    assert value_of(crossing) == pytest.approx(value_of(wider), rel=1e-12)
    # dtnr = (860 - 700) / 1000 of dtnr - dtpr = .16 + .1
    assert value_of(crossing) == pytest.approx(0.16 / 0.26, rel=1e-9)
    assert wider.low < crossing.low
    assert crossing.high < wider.high
    assert "unpaired" in warning_codes(unpaired)
    assert "unpaired" not in warning_codes(paired)


@pytest.mark.parametrize(
    "measure",
    [
        "tar",
        "mcc",
        "f_beta",
        "ic",
        "epa",
        "ppv",
        "npv",
        "lr_neg",
        "dor",
        "expected_cost",
        "net_benefit",
    ],
)
def test_the_leader_has_the_best_value(measure: str) -> None:
    """Least cost, least LR-, most of the others."""
    counts = {"a": (700, 60, 300, 940), "b": (900, 300, 100, 700), "c": (400, 2, 600, 998)}
    options: dict[str, Any] = {
        "measure": [measure, "cost:fp=1,fn=20"],
        "prevalence": "1:200",
        "points": 5,
    }
    result = clfeval.tune_jpt(counts=counts, **options)
    for row in rows_of(result, "winners"):
        assert row["measure"] == measure
        values = {}
        for name, cells in counts.items():
            tuned = Cells(*cells).tuned(ratio_of(row["odds"]))
            values[name] = float((tuned.values() | tuned.stakes(1, 20))[measure])  # type: ignore[arg-type]
        sign = -1 if CATALOG[measure].best == "min" else 1
        assert row["leader"] == max(values, key=lambda name: sign * values[name])
        assert row["value"].value == pytest.approx(values[row["leader"]], rel=1e-5)
        assert set(row["tied"]) <= set(counts) - {row["leader"]}
        assert (row["winner"] is None) == bool(row["tied"])
        assert row["winner"] in (None, row["leader"])


def test_a_winner_beats_every_other() -> None:
    """Twins lead where positives are rare: neither wins, and only the other is undecided."""
    frame = CLEAR.weighted_rows().with_columns(c=pl.col("b"))
    result = clfeval.tune_jpt(
        frame, weight="n", measure="tar", prevalence=["1:50", "50:1"], sweep=None
    )
    rare, common = (row_of(result, "winners", odds=odds) for odds in ("1:50", "50:1"))
    assert rare["leader"] in ("b", "c")
    assert rare["winner"] is None
    assert {rare["leader"], *rare["tied"]} == {"b", "c"}
    assert (common["leader"], common["winner"], common["tied"]) == ("a", "a", [])


def test_without_intervals_there_are_leaders_and_no_winners() -> None:
    for row in rows_of(tune(CLEAR, interval="none", prevalence="1:50"), "winners"):
        assert row["leader"] in ("a", "b")
        assert row["winner"] is None
    crossing = row_of(tune(CLEAR, interval="none"), "crossovers")["crossing"]
    assert (crossing.low, crossing.high) == (None, None)
    assert crossing.value == pytest.approx(0.16 / 0.26, rel=1e-9)


def test_bootstrap_intervals_call_much_the_same() -> None:
    exact, bootstrap = (
        row_of(tune(CLEAR, interval=kind), "crossovers")["crossing"]
        for kind in ("exact", "bootstrap")
    )
    assert value_of(bootstrap) == value_of(exact)
    assert limits_of(bootstrap) == pytest.approx(limits_of(exact), abs=0.03)


def test_an_undefined_model_leads_nowhere() -> None:
    """m never says positive: no PPV."""
    counts = {"m": (0, 0, 10, 10), "k": (8, 2, 2, 8)}
    result = clfeval.tune_jpt(counts=counts, measure="ppv", points=3)
    for row in rows_of(result, "winners"):
        assert row["leader"] == "k"
    undefined = clfeval.tune_jpt(
        counts={"m": (0, 0, 10, 10), "k": (0, 0, 9, 9)}, measure="ppv", points=3
    )
    for row in rows_of(undefined, "winners"):
        assert (row["leader"], row["winner"], row["value"].value) == (None, None, None)
        assert row["value"].reason == "no_positive_prediction"


def test_all_pairs_of_a_class_ratio_are_judged_together() -> None:
    """Alone a is better than b below p, of three models below P(largest of three |Z| >= z).

    Of 71 positives that a detects b misses 9, c 18; they detect no others.
    """
    positives = {"a": (1,) * 71, "b": (1,) * 60 + (0,) * 9 + (1,) * 2, "c": (0,) * 9 + (1,) * 53}
    columns = {name: [*x, *[0] * (200 - len(x))] for name, x in positives.items()}
    three = pl.DataFrame({"truth": [1] * 100 + [0] * 100} | columns)

    def winner(frame: pl.DataFrame, p: float) -> tuple[Any, Any]:
        result = clfeval.tune_jpt(frame, prevalence=0.5, sweep=None, level=1 - p)
        row = row_of(result, "winners", population="target")
        return row["winner"], row["tied"]

    x = three.select(*"abc").to_numpy()[:100] / 200  # what each positive adds to TAR
    v = 100 * np.cov(x.T, bias=True)
    half_row = (0.5 / 101 * 202 / 200) ** 2  # of each of the two classes
    s = np.sqrt((v[0, 0] + v[1, 1] - 2 * v[0, 1] + 2 * half_row) * 200 / 199)
    z = (x[:, 0] - x[:, 1]).sum() / s
    alone = 2 * float(stats.t.sf(z, 99))
    two = three.drop("c")
    assert winner(two, alone * 1.001) == ("a", [])
    assert winner(two, alone * 0.999) == (None, ["b"])
    normal = np.random.default_rng(1).multivariate_normal(np.zeros(3), v, 400_000)
    largest = np.max(
        [
            np.abs(normal[:, i] - normal[:, j]) / np.sqrt(v[i, i] + v[j, j] - 2 * v[i, j])
            for i, j in ((0, 1), (0, 2), (1, 2))
        ],
        axis=0,
    )
    joint = float((largest >= stats.norm.isf(alone / 2)).mean())
    assert 1.5 * alone < joint < 2.9 * alone
    assert winner(three, joint * 1.15) == ("a", [])
    assert "b" in winner(three, joint * 0.85)[1]


def test_limits_of_crossings_hold_for_all_pairs_together() -> None:
    """Three models are three pairs: each is judged at a third of the 5 % that all may err."""
    three = CLEAR.weighted_rows().with_columns(never=pl.lit(0))
    result = clfeval.tune_jpt(three, weight="n", measure="tar", points=2)
    row = row_of(result, "crossovers", first="a", second="b")
    level = everywhere(0.95, pairs=3)
    assert level > everywhere(0.95)
    for limit, sign in zip(limits_of(row["crossing"]), (-1, 1), strict=True):
        r = limit / (1 - limit)
        assert significant_winner(CLEAR, r * (1 - sign * 1e-6), level=level) is None
        assert significant_winner(CLEAR, r * (1 + sign * 1e-6), level=level) == (
            "a" if sign > 0 else "b"
        )


@pytest.mark.slow
@pytest.mark.parametrize(("models", "rows"), [(2, 150), (3, 300), (6, 150)])
def test_equal_models_seldom_differ_significantly_anywhere(models: int, rows: int) -> None:
    """In 5 % of tables at most, but for the 2 % by which 200 tables may err by themselves."""
    rng = np.random.default_rng([models, rows])
    truth = rng.random((200, rows)) < 0.3
    scores = 1.5 * truth[..., None] + rng.standard_normal((200, rows, models))
    columns = {f"m{i}": (scores[..., i] > 0.75).ravel() * 1 for i in range(models)}
    table = np.repeat(np.arange(200), rows)
    frame = pl.DataFrame({"table": table, "truth": truth.ravel() * 1} | columns)
    result = clfeval.tune_jpt(frame, by="table", measure="tar", sweep=None)
    # x leads everywhere, significantly nowhere
    of_few = clfeval.tune_jpt(counts={"x": (6, 4, 4, 6), "y": (5, 5, 5, 5)}, points=2)
    nowhere = row_of(of_few, "crossovers")["verdict"].split()[-1]
    claimed = {
        row["slice"]
        for row in rows_of(result, "crossovers")
        if row["slice"] is not None
        and row["crossing"].reason != "identical"  # a table in which both models are equal
        and (
            (row["crossing"].low, row["crossing"].high) != (None, None)
            if row["odds"]
            else not row["verdict"].endswith(nowhere)
        )
    }
    assert len(claimed) <= 0.07 * 200


def test_pairs_of_many_models_are_compared_on_request() -> None:
    counts = {f"m{i:02}": (60 + i, 5 + i, 40 - i, 95 - i) for i in range(31)}
    options: dict[str, Any] = {"points": 2, "sweep": "1:10..10:1"}
    result = clfeval.tune_jpt(counts=counts, **options)
    assert "crossovers" not in result.tables
    assert len(rows_of(result, "winners", population="sweep")) == 2
    (note,) = warning_messages(result, "pairs-on-request")
    assert note.endswith("measure='tar'")
    check_text(note)
    requested = clfeval.tune_jpt(counts=counts, measure="tar", **options)
    assert len(rows_of(requested, "crossovers")) == 31 * 30 / 2
    assert "pairs-on-request" not in warning_codes(requested)
    few = clfeval.tune_jpt(counts=dict(list(counts.items())[:30]), **options)
    assert len(rows_of(few, "crossovers")) == 30 * 29 / 2


@pytest.mark.parametrize(
    ("margin", "verdict", "equivalent", "possibly_better"),
    [
        (None, None, None, None),
        (0.2, "equivalent", ["b"], []),
        (0.04, "not worse", [], []),
        (0.005, "undecided", [], ["b"]),
    ],
)
def test_a_margin_says_which_differences_matter(
    margin: float | None,
    verdict: str | None,
    equivalent: list[str] | None,
    possibly_better: list[str] | None,
) -> None:
    """TAR at 1:1 of 40 pairs: the leader is .04 better, give or take twice that."""
    two = Two((60, 20, 14, 6), (10, 4, 10, 76))
    value, low, high = difference(two, 1.0)
    assert value == pytest.approx((20 - 14) / 200 + (10 - 4) / 200)
    assert -0.04 < low < -0.005
    assert 0.04 < high < 0.2
    result = tune(two, prevalence="1:1", sweep=None, margin=margin and {"tar": margin})
    row = row_of(result, "winners", population="target")
    assert row["leader"] == "a"
    assert [row.get(name) for name in ("verdict", "equivalent", "possibly_better")] == [
        verdict,
        equivalent,
        possibly_better,
    ]
    texts = [sentence.text for sentence in answers_of(result, "margin")]
    check_text(texts)
    assert len(texts) == (margin is not None)
    if margin is not None:
        assert row["least_lead"] == pytest.approx(low, rel=1e-9)
        assert margin in numbers_in(texts[0])


def test_a_lead_may_be_as_large_as_matters_or_not() -> None:
    """a of CLEAR is .13 better at 1:1, by .09 at least."""
    value, low, _ = difference(CLEAR, 5.0)
    assert value > low > 0
    for margin in (low * 0.9, low * 1.1):
        result = tune(CLEAR, prevalence="5:1", sweep=None, margin={"tar": margin})
        assert row_of(result, "winners", population="target")["verdict"] == "better"
        check_text(sentence.text for sentence in answers_of(result, "margin"))


def test_a_margin_needs_models_to_compare() -> None:
    with pytest.raises(clfeval.UsageError, match=r"^margin .*\[bad-option\]"):
        clfeval.tune_jpt(counts=(67, 5, 33, 95), margin={"tar": 0.1})
