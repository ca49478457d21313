"""Sampling weights: linearised errors by loops and jackknife, effective rows, and no crash."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from clfeval.inference.distributions import critical_value, student_quantile
from clfeval.inference.proportions import clopper_pearson
from clfeval.measures.catalog import CATALOG
from clfeval.measures.confusion import Confusion
from tests.methods.fractions import frame_of, random_weighed_rows
from tests.results import (
    estimate_of,
    limits_of,
    row_of,
    rows_by,
    value_and_limits,
    value_of,
    warning_messages,
)
from tests.samples import informed_scores, logistic
from tests.texts import check_text, numbers_in
from tests.thoroughness import full, thinned

ROWS = 250


def weighted_models(rows: int = ROWS, seed: int = 3) -> pl.DataFrame:
    """Draw rows of two models whose weights differ, by score, by as much as ten times."""
    rng = np.random.default_rng(seed)
    truth = rng.random(rows) < 0.4
    z = rng.normal(size=(2, rows)) + 1.3 * truth
    one, other = logistic(z - 0.9, 3)
    weights = np.exp(0.5 * rng.normal(size=rows) - 0.4 * z[0])
    return pl.DataFrame(
        {"who": np.arange(rows), "y": truth * 1, "w": weights, "a": one, "b": other}
    )


def weighted_report(frame: pl.DataFrame, **options: Any) -> Result:
    options = {"weight": "w", "ignore": () if "cluster" in options else ("who",)} | options
    return clfeval.report(frame, truth="y", **options)


def estimates(result: Result, model: str = "a") -> dict[str, tuple[Estimate, float]]:
    """Return the estimate and the standard error of every measure of a model."""
    rows = rows_by(result, "measures", "measure", model=model)
    return {name: (estimate_of(row["value"]), row["se"]) for name, row in rows.items()}


@pytest.mark.parametrize("command", ["report", "mars", "phidelta", "tune_jpt"])
@pytest.mark.parametrize("cluster", thinned([None, "who"], ["who"]))
def test_whole_weights_that_are_said_to_be_sampling_weights(
    command: str, cluster: str | None
) -> None:
    """2, 5 and 10 have the limits of 1, 2.5 and 5, and no more rows than there are."""
    rng = np.random.default_rng(2)
    frame = weighted_models().with_columns(w=rng.choice([2, 5, 10], ROWS), who=np.arange(ROWS) // 3)
    options = {"truth": "y", "weight": "w", "positive": "1", "threshold": 0.5}
    options |= {"cluster": cluster} if cluster else {"ignore": "who"}
    of = getattr(clfeval, command)
    said = of(frame, sampling_weights=True, **options)
    halves = of(frame.with_columns(w=pl.col("w") / 2), **options)
    rows = of(frame, **options)
    name = "measures" if command == "report" else "models"
    for one, other in zip(said.tables[name], halves.tables[name], strict=True):
        for key, value in one.items():
            if isinstance(value, Estimate):
                expected = value_and_limits(other[key])
                assert value_and_limits(value) == pytest.approx(expected, rel=1e-9), key
    assert said.tables[name] != rows.tables[name]
    with pytest.raises(clfeval.UsageError, match="weight"):
        of(frame.drop("w"), sampling_weights=True, **{**options, "weight": None})


def test_standard_errors_row_by_row() -> None:
    """V = g / (g-1) sum w² f² / (sum w)², of the AUC class by class, with loops over rows."""
    frame = weighted_models(80)
    y, w, p = (frame[name].to_numpy() for name in ("y", "w", "a"))
    found = estimates(weighted_report(frame))

    def kish(weights: Any) -> float:
        return float(weights.sum() ** 2 / (weights**2).sum())

    def spread(weights: Any, f: Any, g: float) -> float:
        return float(g / (g - 1) * ((weights * f) ** 2).sum() / weights.sum() ** 2)

    g, right = kish(w), (p >= 0.5) == y
    accuracy, loss = (w * right).sum() / w.sum(), (p - y) ** 2
    brier = (w * loss).sum() / w.sum()
    pos, neg = y == 1, y == 0
    hits = (w * right)[pos].sum() / w[pos].sum()
    expected = {
        "accuracy": (accuracy, spread(w, right - accuracy, g)),
        "brier": (brier, spread(w, loss - brier, g)),
        "sensitivity": (hits, spread(w[pos], right[pos] - hits, g)),
    }
    below = np.array([(w[neg] * ((s > p[neg]) + (s == p[neg]) / 2)).sum() for s in p[pos]])
    above = np.array([(w[pos] * ((s < p[pos]) + (s == p[pos]) / 2)).sum() for s in p[neg]])
    below, above = below / w[neg].sum(), above / w[pos].sum()
    area = float((w[pos] * below).sum() / w[pos].sum())
    sides = [(w[pos], below), (w[neg], above)]
    expected["roc_auc"] = (area, sum(spread(n, v - area, kish(n)) for n, v in sides))
    for name, (value, variance) in expected.items():
        assert found[name][0].value == pytest.approx(value, rel=1e-9), name
        assert found[name][1] == pytest.approx(variance**0.5, rel=1e-7), name


def test_standard_errors_follow_each_weight() -> None:
    """V = g / (g-1) sum (w dm/dw)², each slope from a weight a little more and less.

    Not far from the jackknife, (n-1)/n sum (m_-i - mean)², which leaves each row out.
    """
    frame = weighted_models().sort("a")
    y, w, p = (frame[name].to_numpy() for name in ("y", "w", "a"))
    found, said, step = estimates(weighted_report(frame)), p >= 0.5, 1e-4
    g = w.sum() ** 2 / (w**2).sum()

    def measures(name: str, change: float) -> Any:
        """Return a measure of tables with one weight changed by this part, (n,)."""
        each = w * (1 + change * np.eye(ROWS))
        pos, neg = each * y, each * (1 - y)
        measure = CATALOG[name]
        if measure.needs == "confusion":
            return measure.function(Confusion(pos @ said, neg @ said, pos @ ~said, neg @ ~said))
        return np.array([measure.function(p, *sides) for sides in zip(pos, neg, strict=True)])

    for name in ("calibration_slope", "brier_skill", "mcc", "kappa", "f1", "roc_auc"):
        slopes = (measures(name, step) - measures(name, -step)) / (2 * step)
        error = np.sqrt(g / (g - 1) * (slopes**2).sum())
        # each class has a correction of its own in the variance of the area
        assert found[name][1] == pytest.approx(error, rel=0.02 if name == "roc_auc" else 1e-5), name
        without = measures(name, -1)
        jackknife = np.sqrt((ROWS - 1) / ROWS * ((without - without.mean()) ** 2).sum())
        assert found[name][1] == pytest.approx(jackknife, rel=0.08), name


def test_weights_that_are_alike_are_rows() -> None:
    """All of one half, or one quarter: as many rows, each of which might be a cluster."""
    frame = weighted_models(60)
    half, quarter = (weighted_report(frame.with_columns(w=pl.lit(n))) for n in (0.5, 0.25))
    alone = weighted_report(frame.drop("w"), cluster="who", weight=None)
    assert half.summary["effective_rows"] == quarter.summary["effective_rows"] == 60
    for model in ("a", "b"):
        ours, same, theirs = (estimates(one, model) for one in (half, quarter, alone))
        for name, (value, error) in ours.items():
            assert (value.low, value.high) == pytest.approx((same[name][0].low, same[name][0].high))
            assert (value.value, error) == pytest.approx(
                (theirs[name][0].value, theirs[name][1]), rel=1e-9
            )
            if name != "roc_auc":  # of few rows, which clusters do not look at
                ends = [(one.low, one.high) for one in (value, theirs[name][0])]
                assert ends[0] == pytest.approx(ends[1], rel=1e-7), name


def test_what_the_page_says() -> None:
    frame = weighted_models(45)
    result = weighted_report(frame)
    effective = frame["w"].sum() ** 2 / (frame["w"] ** 2).sum()
    (line,) = [
        line for line in str(result).splitlines() if {round(effective), 45} <= {*numbers_in(line)}
    ]
    y, w = frame["y"].to_numpy(), frame["w"].to_numpy()
    size = w[y == 1].sum() ** 2 / (w[y == 1] ** 2).sum()
    notes = warning_messages(result, "small-class")
    assert [round(size) in numbers_in(one) for one in notes] == [True, False]
    check_text([line, *notes, *result.parameters["interval_methods"]])
    assert not weighted_report(frame, interval="none").parameters.get("interval_methods")


def test_neither_order_nor_scale_of_weights_changes_limits() -> None:
    frame = weighted_models(150)
    first = weighted_report(frame)
    again = weighted_report(frame.sample(fraction=1, shuffle=True, seed=1))
    assert [first.tables[name] == again.tables[name] for name in first.tables] == [True] * len(
        first.tables
    )
    assert re.findall("stats:[^|]*", first.signature) == re.findall("stats:[^|]*", again.signature)
    larger = estimates(weighted_report(frame.with_columns(pl.col("w") * 1000)))
    for name, (value, error) in estimates(first).items():
        mine = (value.low, value.high, error)
        assert mine == pytest.approx((larger[name][0].low, larger[name][0].high, larger[name][1]))


def test_no_scale_of_weights_changes_what_clusters_tell() -> None:
    """Of weights / 700 a class weighs less than one row: its clusters are as many as before."""
    frame = weighted_models(150).with_columns(site=pl.col("who") // 3)
    results = [
        weighted_report(frame.with_columns(pl.col("w") / by), cluster="site", ignore="who")
        for by in (1, 700)
    ]
    told, small = (
        [row["tied"] for row in one.tables["models"]] + [len(one.answer), *one.warnings]
        for one in results
    )
    assert told == small


def test_three_classes_without_an_error_have_limits_however_rows_are_drawn() -> None:
    """Sixty rows told right, of weight 1/2 each, in clusters of one: Clopper-Pearson of 60."""
    frame = pl.DataFrame(
        {"y": [*"abc"] * 20, "m": [*"abc"] * 20, "w": [0.5] * 60, "who": range(60)}
    )
    low, _ = clopper_pearson(60.0, 60.0, level=0.95)
    for options in ({"weight": "w", "ignore": "who"}, {"cluster": "who", "ignore": "w"}):
        result = clfeval.report(frame, truth="y", **options)
        rows = rows_by(result, "measures", "measure", estimator="multiclass")
        assert estimate_of(rows["accuracy"]["value"]).low == pytest.approx(float(low), rel=1e-9)
        for name in ("mcc", "kappa", "balanced_accuracy"):
            lower, _ = limits_of(rows[name]["value"])
            assert 0.5 < lower < value_of(rows[name]["value"]) == 1


def test_the_answer_of_mars_has_weights_and_not_their_units() -> None:
    frame = weighted_models(60).with_columns(w=pl.lit(0.125), b=pl.col("a"))
    result = clfeval.mars(frame, truth="y", weight="w", ignore="who")
    row = result.tables["models"][1]
    assert any(row["tp"] in numbers_in(one.text) for one in result.answer)


def test_rows_that_are_missing_may_be_heavy() -> None:
    """Twenty of twenty claims are right, of weight 1; a wrong one, of weight 4.5, was not seen.

    Then they tell as much as 20 / 4.5 rows: 4.5 is the weight of the negatives, 1 is that of all.
    """
    frame = pl.DataFrame(
        {"y": [1] * 30 + [0] * 50, "w": [1.0] * 30 + [4.5] * 50, "a": [1] * 20 + [0] * 60}
    )
    rows = [estimates(weighted_report(frame, ignore=()))["precision"][0]]
    rows.append(clfeval.mars(frame, truth="y", weight="w").tables["models"][0]["precision"])  # type: ignore[arg-type]
    t = student_quantile(19, level=0.95) / critical_value(0.95)
    low, _ = clopper_pearson(20 / 4.5 / t**2, 20 / 4.5 / t**2, level=0.95)
    for found in rows:
        assert (found.value, found.high) == (1, 1)
        assert found.low == pytest.approx(float(low), rel=1e-6)


@pytest.mark.parametrize(
    "by", thinned([{}, {"cluster": "site"}, {"by": "site"}], [{"cluster": "site"}]), ids=str
)
def test_limits_enclose_values_in_any_table(by: dict[str, str]) -> None:
    for seed in range(40 if full() else 1):
        rows = random_weighed_rows(seed)
        frame = frame_of(rows, votes=False).with_columns(site=pl.Series([one.site for one in rows]))
        options = {**by, "weight": "w", "threshold": 0.5} | ({} if by else {"ignore": "site"})
        results = [
            clfeval.report(
                frame,
                interval=how,
                resamples=100,
                **options,
                measure=["all"] if full() else ["ece", "roc_auc"],
            )
            for how in ("exact", "wilson", "bootstrap")
        ] + [
            clfeval.mars(frame, sweep="threshold", best=2, **options),
            clfeval.phidelta(frame, curve=True, **options),
            clfeval.tune_jpt(frame, interval="exact" if seed else "bootstrap", **options),
        ]
        for result in results:
            str(result)
            for rows_of in result.tables.values():
                for cell in (cell for row in rows_of for cell in row.values()):
                    if isinstance(cell, Estimate) and None not in (cell.value, cell.low, cell.high):
                        assert cell.low <= cell.value <= cell.high  # type: ignore[operator]


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_in_clusters_say_as_how_many_clusters_they_count(classes: int) -> None:
    """(sum W)² / sum W² of W 1.25, 1.25, 3, 3 and 1.5, the weights of clusters: 100 / 23.375."""
    truth = list("ab") * 6 if classes == 2 else list("abc") * 4
    frame = pl.DataFrame(
        {
            "y": truth,
            "m": list("abcb" if classes == 3 else "abbb") * 3,
            "w": [0.5, 0.5, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1.5, 1.5, 1.5, 1.5],
            "site": list("pppqqqrrrsst"),
        }
    )
    more = {"positive": "a"} if classes == 2 else {}
    result = clfeval.report(frame, truth="y", weight="w", cluster="site", **more)
    assert result.summary["effective_clusters"] == pytest.approx(100 / 23.375)
    assert result.summary["design_effect"] is None
    (line,) = [line for line in str(result).splitlines() if "'site'" in line]
    assert {5, 4} <= {*numbers_in(line)}  # clusters, and as many as equal ones
    check_text(line)
    plain = clfeval.report(frame, truth="y", ignore="w", cluster="site", **more)
    assert "effective_clusters" not in plain.summary


@pytest.mark.parametrize("heavy", [1e3, 1e6, 1e12])
@pytest.mark.parametrize("seed", thinned(range(6), [0, 1]))
def test_one_row_with_all_the_weight_leaves_limits_unknown(heavy: float, seed: int) -> None:
    """Kish's size is 1.06 and less: with so few degrees of freedom t was 1e16, and 1e145."""
    rng, rows = np.random.default_rng(seed), 30
    y = rng.integers(0, 2, rows)
    frame = pl.DataFrame(
        {
            "who": np.arange(rows),
            "y": y,
            "w": [heavy, *[1.25] * (rows - 1)],
            "a": informed_scores(rng, y, 0.5, 3),
            "b": informed_scores(rng, y, 0.4, 3),
        }
    )
    result = weighted_report(frame, reference="a", measure="average_precision")
    for row in result.tables["comparisons"]:
        ranges = 2 if row["measure"] == "mcc" else 1
        for one in (row["difference"], row["difference_adjusted"]):
            assert isinstance(one, Estimate)
            assert one.low is None or -ranges <= one.low <= (one.high or 0) <= ranges, row
        assert row["detectable"] is None or float(str(row["detectable"])) < ranges, row
    for metric in result.tables["measures"]:
        limits = value_and_limits(metric["value"])[1:]
        assert all(abs(limit) < 1e6 for limit in limits if limit is not None), metric
    if heavy > 1e3:
        assert result.answer[0].code == "compared"
        assert result.tables["comparisons"][0]["verdict"] == "undecided"


def light_errors(rows: int = 60) -> pl.DataFrame:
    """Return rows whose heaviest negatives weigh 8.5, none of them predicted positive."""
    rng = np.random.default_rng(12)
    truth = np.arange(rows) % 3 == 0
    weights = np.where(truth, 9.5, np.round(1 + 7 * rng.random(rows), 1) + 0.5)
    return pl.DataFrame(
        {
            "y": truth * 1,
            "w": weights,
            "a": np.where(truth, 0.9, 0.2) - 0.7 * (np.arange(rows) % 4 == 0) * truth,
            "part": np.where(np.arange(rows) < rows // 2, "x", "z"),
        }
    )


def limit_of_no_error(weights: np.ndarray, largest: float) -> float:
    """Return the lower limit of a share of 1: of at most sum / largest rows, by Student's t."""
    g = weights.sum() ** 2 / (weights**2).sum()
    effect = largest * (student_quantile(g - 1, level=0.95) / critical_value(0.95)) ** 2
    return float(0.025 ** (1 / (weights.sum() / effect)))


@pytest.mark.parametrize("model", ["scores", "labels"])
def test_no_error_seen_counts_rows_of_the_largest_weight(model: str) -> None:
    """A heavy false positive may be among the rows that were not sampled."""
    frame = light_errors()
    if model == "labels":
        frame = frame.with_columns(a=(pl.col("a") >= 0.5).cast(pl.Int64))
    result = clfeval.report(frame, truth="y", weight="w", by="part", sampling_weights=True)
    for label, rows in ((None, frame), ("part=x", frame.filter(pl.col("part") == "x"))):
        negatives = rows.filter(pl.col("y") == 0)["w"].to_numpy()
        row = row_of(result, "measures", measure="specificity", slice=label)
        expected = limit_of_no_error(negatives, float(rows["w"].max()))  # type: ignore[arg-type]
        assert row["value"] == Estimate(1.0, pytest.approx(expected, rel=1e-6), 1.0)


def test_predictive_values_count_rows_of_the_largest_weight() -> None:
    """PPV and precision at prevalence 1/2 take the false positive rate of as many rows."""
    frame = light_errors()
    heavier = frame.with_columns(w=pl.when(pl.col("y") == 1).then(30.0).otherwise(pl.col("w")))
    lower = [
        estimates(weighted_report(one, ignore=("part",), measure=["precision_u"]))["precision_u"][
            0
        ].low
        for one in (frame, heavier)
    ]
    assert lower[0] is not None
    assert lower[1] is not None
    assert lower[1] < lower[0] < 1
