"""Two metric tables against SciPy, metrics that repeat others, and what the command writes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy import stats

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Estimate
from tests.methods.mlcps import reference as ref
from tests.results import Line, row_of, rows_by, rows_of, value_of, warning_messages
from tests.shell import at_shell
from tests.texts import check_text

Eighths = dict[str, list[int]]


def random_eighths(names: str, seed: int, n: int = 5, top: int = 8) -> Eighths:
    rng = random.Random(seed)
    return {name: [rng.randint(0, top) for _ in range(n)] for name in names}


def metric_table(models: Eighths) -> pl.DataFrame:
    return ref.named_metric_frame(models, 8)


def whole_numbers(models: Eighths, names: list[str]) -> dict[str, list[Any]]:
    """Return every measure of the models as whole numbers, of which equal ones tie."""
    rows = [models[name] for name in names]
    return {
        "mlcps": [ref.around(row) for row in rows],
        "order_free": [sum(row) ** 2 - sum(v * v for v in row) for row in rows],
        "mean": [sum(row) for row in rows],
        **{f"x{i}": list(column) for i, column in enumerate(zip(*rows, strict=True))},
    }


def winners(names: list[str], numbers: list[Any]) -> list[str]:
    return [name for name, v in zip(names, numbers, strict=True) if v == max(numbers)]


def check_agreement(result: Result, here: Eighths, there: Eighths) -> None:
    """Compare tables `agreement` and `compared` with SciPy's and the reference's numbers."""
    common = [name for name in here if name in there]
    numbers_here, numbers_there = whole_numbers(here, common), whole_numbers(there, common)
    rows = rows_by(result, "agreement", "measure")
    assert list(rows) == list(numbers_here)
    for measure, row in rows.items():
        x, y = numbers_here[measure], numbers_there[measure]
        tau, rho = value_of(row["kendall"]), value_of(row["spearman"])
        assert tau == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
        assert rho == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert row["models"] == len(common)
        assert row["top_here"] == winners(common, x)
        assert row["top_there"] == winners(common, y)
        assert row["same_top"] is (winners(common, x) == winners(common, y))
    moves = rows_of(result, "compared")
    assert ref.column(moves, "model") == common
    ranks = [ref.dense(numbers["mlcps"]) for numbers in (numbers_here, numbers_there)]
    assert ref.column(moves, "rank_here") == ranks[0]
    assert ref.column(moves, "rank_there") == ranks[1]
    assert ref.column(moves, "moved") == [b - a for a, b in zip(*ranks, strict=True)]
    for side, numbers in (("here", numbers_here), ("there", numbers_there)):
        areas = [ref.area(v / 64, len(numbers) - 3) for v in numbers["mlcps"]]
        assert ref.column(moves, side) == pytest.approx(areas, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_agreement_against_scipy(seed: int) -> None:
    here, there = random_eighths("abcdefgh", seed), random_eighths("abcdefgh", seed + 100)
    check_agreement(clfeval.mlcps(metric_table(here), compare=metric_table(there)), here, there)


@pytest.mark.parametrize("seed", range(3))
def test_many_ties(seed: int) -> None:
    here, there = (
        random_eighths("abcdefghijkl", seed, 4, 2),
        random_eighths("abcdefghijkl", seed + 9, 4, 2),
    )
    assert len({ref.around(row) for row in here.values()}) < 9
    check_agreement(clfeval.mlcps(metric_table(here), compare=metric_table(there)), here, there)


def test_only_models_of_both_tables_count_in_whatever_order() -> None:
    here, there = random_eighths("abcdefgh", 1), random_eighths("hxfcyab", 2)
    here["d"] = [8] * 5  # first of its table, but not in the other
    there["x"] = [8] * 5
    result = clfeval.mlcps(metric_table(here), compare=metric_table(there))
    assert result.summary["best"] == ["d"]
    check_agreement(result, here, there)
    turned = dict(reversed(there.items()))
    again = clfeval.mlcps(metric_table(here), compare=metric_table(turned))
    for name in ("agreement", "compared"):
        rows, rows_again = rows_of(result, name), rows_of(again, name)
        for row in rows + rows_again:
            row["top_there"] = sorted(row.get("top_there", []))
        assert rows == rows_again
    notes = " ".join(warning.message for warning in result.warnings)
    assert all(repr(name) in notes for name in "degxy")


def test_columns_in_another_order_and_from_files(tmp_path: Path) -> None:
    here, there = random_eighths("abcde", 5), random_eighths("abcde", 6)
    metric_table(here).write_csv(tmp_path / "test.csv")
    train = metric_table(there)
    train.select(*reversed(train.columns)).write_csv(tmp_path / "train.csv")
    result = clfeval.mlcps(tmp_path / "test.csv", compare=tmp_path / "train.csv")
    check_agreement(result, here, there)
    assert result.parameters["compare"] == "train.csv"


def test_weights_and_directions_hold_for_both_tables() -> None:
    names = ["f1", "recall", "brier"]
    rows = {"a": [0.9, 0.8, 0.1], "b": [0.5, 0.9, 0.3], "c": [0.6, 0.2, 0.05], "d": [0.2, 0.9, 0.5]}
    other = {"a": [0.7, 0.6, 0.2], "b": [0.9, 0.9, 0.4], "c": [0.9, 0.3, 0.1], "d": [0.4, 0.5, 0.3]}
    tables = [
        pl.DataFrame(
            {"model": list(t), **dict(zip(names, zip(*t.values(), strict=True), strict=True))}
        )
        for t in (rows, other)
    ]
    result = clfeval.mlcps(tables[0], compare=tables[1], metric_weight={"recall": 3})
    areas = [[ref.shoelace([f1, 3 * r, 1 - b]) for f1, r, b in t.values()] for t in (rows, other)]
    agreement = rows_by(result, "agreement", "measure")
    tau = stats.kendalltau(*areas).statistic
    assert value_of(agreement["mlcps"]["kendall"]) == pytest.approx(tau)
    assert ref.column(result.tables["compared"], "there") == pytest.approx(areas[1], rel=1e-12)
    brier = agreement["brier"]
    assert (brier["top_here"], brier["top_there"]) == (["c"], ["c"])
    # .1, .3, .05, .5 and .2, .4, .1, .3: of six pairs only b, d is turned round
    assert value_of(brier["kendall"]) == pytest.approx(4 / 6)


def test_a_column_without_any_difference_agrees_with_nothing() -> None:
    here, there = random_eighths("abcde", 7), random_eighths("abcde", 8)
    for row in here.values():
        row[2] = 5
    result = clfeval.mlcps(metric_table(here), compare=metric_table(there))
    row = row_of(result, "agreement", measure="x2")
    assert row["kendall"] == row["spearman"] == Estimate(None, reason="constant")
    assert row["top_here"] == [*"abcde"]


def test_areas_that_tie_by_rank_tie_for_kendall_too() -> None:
    """Both are 32 hundredths, in floats a last digit apart; METHODS: equal scores are equal."""
    here = [[3, 2, 5, 2], [1, 7, 3, 1], [1, 1, 1, 1]]
    there = [[5, 5, 5, 5], [5, 5, 5, 5], [1, 1, 1, 1]]
    result = clfeval.mlcps(ref.metric_frame(here, 10), compare=ref.metric_frame(there, 10))
    assert ref.column(result.tables["compared"], "rank_here") == [1, 1, 2]
    assert ref.column(result.tables["compared"], "rank_there") == [1, 1, 2]
    row = row_of(result, "agreement", measure="mlcps")
    assert (value_of(row["kendall"]), value_of(row["spearman"])) == (1, 1)


def test_both_tables_span_the_same_polygon() -> None:
    """Stars need no scale beside a wish, but in one table they happen to lie in 0..1."""
    models = {"f1": [0.9, 0.5, 0.7], "recall": [0.8, 0.6, 0.3], "npv": [0.7, 0.9, 0.6]}
    many, few = (
        pl.DataFrame({"model": [*"abc"], "stars": stars, **models})
        for stars in ([30.0, 10.0, 5.0], [0.5, 0.25, 1.0])
    )
    wishes = {"stars": {"goal": "maximize", "low": 0, "high": 100}, "f1": "maximize"}

    def agreement_of(table: pl.DataFrame, compare: pl.DataFrame, **options: Any) -> dict[str, Line]:
        result = clfeval.mlcps(table, compare=compare, desirability=wishes, **options)
        return rows_by(result, "agreement", "measure")

    agreement = agreement_of(many, few)
    assert [value_of(agreement[name]["kendall"]) for name in models] == [1, 1, 1]
    assert "stars" not in agreement
    assert "stars" not in agreement_of(few, many)
    assert {*agreement_of(few, many, rescale={"stars": (0, 30)})} >= {"stars", *models}


@pytest.mark.parametrize("common", ["", "a"])
def test_one_common_model_or_none_is_refused(common: str) -> None:
    with pytest.raises(clfeval.DataError, match="model"):
        at_shell(clfeval.mlcps)(
            metric_table(random_eighths("abc", 1)),
            compare=metric_table(random_eighths("xyz" + common, 2)),
        )


def test_metrics_that_say_the_same() -> None:
    f1 = [0.5, 0.8, 0.6, 0.9]
    columns = {
        "f1": f1,
        "jaccard": [0.4, 0.7, 0.3, 0.6],  # one formula in two forms, whatever the numbers
        "same": f1,
        "line": [0.2 + v / 2 for v in f1],
        "other": [0.8, 0.9, 0.1, 0.3],
    }
    table = pl.DataFrame({"model": [*"abcd"], **columns})
    direction = dict.fromkeys(("same", "line", "other"), "max")
    rows = rows_by(clfeval.mlcps(table, direction=direction), "redundant", "first", "second")
    assert {pair: row["why"] for pair, row in rows.items()} == {
        ("f1", "jaccard"): "same measure",
        ("f1", "same"): "identical",
        ("f1", "line"): "correlated",
        ("same", "line"): "correlated",
    }
    for (name1, name2), row in rows.items():
        assert row["r"] == pytest.approx(ref.pearson(columns[name1], columns[name2]))


def test_correlation_just_above_and_below_the_limit() -> None:
    x = [0.1, 0.3, 0.5, 0.7, 0.9]
    near = [0.1, 0.3, 0.5, 0.72, 0.9]  # r = .99957
    far = [0.1, 0.34, 0.5, 0.7, 0.9]  # r = .99863
    assert ref.pearson(x, near) > 0.999 > max(ref.pearson(x, far), ref.pearson(near, far))
    table = pl.DataFrame({"model": [*"abcde"], "x": x, "near": near, "far": far})
    rows = clfeval.mlcps(table).tables["redundant"]
    assert [(row["first"], row["second"]) for row in rows] == [("x", "near")]


def test_a_metric_that_falls_as_another_rises_does_not_say_the_same() -> None:
    """Together they do not weigh double: they weigh each other out."""
    x = [0.1, 0.3, 0.5, 0.7, 0.9]
    table = pl.DataFrame(
        {"model": [*"abcde"], "x": x, "opposite": x[::-1], "y": [0.5, 0.3, 0.5, 0.9, 0.1]}
    )
    result = clfeval.mlcps(table)
    row = row_of(result, "redundant")
    assert (row["first"], row["second"], row["why"]) == ("x", "opposite", "opposite")
    assert row["r"] == pytest.approx(-1)
    # a loss that falls as the other rises says the same once it is turned round
    turned = clfeval.mlcps(table, direction={"opposite": "min"})
    assert row_of(turned, "redundant")["why"] != "opposite"
    check_text(
        message for each in (result, turned) for message in warning_messages(each, "redundant")
    )
