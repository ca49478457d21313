"""Random tables with fractional weights against exact fractions, all commands, gates included."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any

import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.document.cells import Row
from tests.methods.fractions import (
    SCORES,
    Cells,
    Weighed,
    cells_of,
    decimal,
    drawn,
    found_by,
    frame_of,
    is_close,
    ratio,
    same,
    subsets,
)
from tests.thoroughness import full

OPTIONS: dict[str, Any] = {"weight": "w", "interval": "none"}
Number = Fraction | float | None
TABLES, PARTS = 5000, 10


@pytest.fixture(params=range(PARTS))
def tables(request: pytest.FixtureRequest) -> list[tuple[int, list[Weighed]]]:
    """A tenth of the tables; in the gate every five hundredth."""
    step = PARTS if full() else PARTS * 500
    return [(seed, drawn(seed)) for seed in range(request.param, TABLES, step)]


def rates(cells: Cells) -> dict[str, Number]:
    """Return what is a ratio of cells."""
    tp, fp, fn, tn = cells
    p, n = tp + fn, fp + tn
    return {
        "accuracy": ratio(tp + tn, p + n),
        "precision": ratio(tp, tp + fp),
        "npv": ratio(tn, tn + fn),
        "sensitivity": ratio(tp, p),
        "specificity": ratio(tn, n),
    }


def at(cells: Cells, odds: Fraction) -> Cells:
    """Return the shares of the four cells at other odds of positives to negatives."""
    tp, fp, fn, tn = cells
    p, n, share = tp + fn, fp + tn, odds / (1 + odds)
    return share * tp / p, (1 - share) * fp / n, share * fn / p, (1 - share) * tn / n


def judged(result: Result, model: str, measure: str, expected: Number, *, exactly: bool) -> None:
    """Hold a measure to limits: met from the value on, missed above, and never met undefined."""
    number = None if expected in (None, inf) else float(expected)  # type: ignore[arg-type]
    limits = [0.5]
    if number is not None:
        near = [min(number + 1e-9, 1.0), max(number - 1e-9, 0)]
        limits = [*near, *([number] if exactly or number in (0, 1) else [])]
    for limit in limits:
        check = result.check(fail_under={f"{model}:{measure}": limit})
        met = expected == inf or (number is not None and number >= limit)
        assert check.passed == met, (measure, expected, limit)
        check = result.check(fail_over={f"{model}:{measure}": limit})
        assert check.passed == (number is not None and number <= limit), (measure, expected, limit)


def by_model(rows: Sequence[Row], **where: Any) -> dict[str, Row]:
    kept = (row for row in rows if all(row[key] == value for key, value in where.items()))
    return {str(row["model"]): row for row in kept}


def test_mars(tables: list[tuple[int, list[Weighed]]]) -> None:
    for seed, table in tables:
        target, rule = ("positive", "negative")[seed % 2], ("all", "any")[seed // 2 % 2]
        k, exactly = len(table[0].scores), decimal(table)
        wanted = int(target == "positive")
        scored = {few: found_by(table, few, wanted) for few in subsets(k)}
        limit = float(scored[subsets(k)[seed % k]]["effort"])  # met to the last digit
        result = clfeval.mars(
            frame_of(table),
            **OPTIONS,
            target=target,
            occlusion=rule,
            subsets="all",
            best=k,
            max_effort=limit,
        )
        every = tuple(range(k))
        ttp = scored[every]["covered"]
        alone, missed = (
            ("exclusive_tp", "exclusive_fn") if wanted else ("exclusive_tn", "exclusive_fp")
        )
        assert is_close(result.summary["rows"], len(table))
        assert is_close(result.summary["found"], ttp)
        for j, row in enumerate(by_model(result.tables["models"]).values()):
            cells = cells_of(table, lambda one, j=j: one.votes[j])  # type: ignore[misc]
            for name, cell in zip(("tp", "fp", "fn", "tn"), cells, strict=True):
                assert is_close(row[name], cell), (seed, name)
            numbers = rates(cells)
            numbers["recall"] = numbers["sensitivity"]
            for name in ("accuracy", "precision", "recall"):
                assert same(row[name], numbers[name], exactly=exactly), (seed, name)
        name = ("accuracy", "precision", "recall")[seed % 3]
        judged(result, f"m{k - 1}", name, numbers[name], exactly=exactly)
        for row in result.tables["subsets"]:
            members = tuple(int(str(name)[1:]) for name in row["models"])  # type: ignore[union-attr]
            known = scored[members]
            hidden = None if members == every and ttp else ratio(known[rule], ttp)
            for column, rows in {
                "covered": known["covered"],
                "effort": known["effort"],
                alone: known["alone"],
                missed: known[rule] if members != every else Fraction(0),
            }.items():
                assert is_close(row[column], rows), (seed, members, column)
            for column, expected in {
                "yield": ratio(known["covered"], known["effort"]),
                "shine_through": ratio(known["alone"], ttp),
                "occlusion": hidden,
            }.items():
                assert same(row[column], expected, exactly=exactly), (seed, members, column)
        check_choices(seed, table, result, scored, limit)


def check_choices(
    seed: int, table: list[Weighed], result: Result, scored: Any, limit: float
) -> None:
    """The best of each size, and within an effort: most covered, least effort, first models."""
    exact = Fraction(limit) * (1 + Fraction(1, 10**12))

    def order(few: tuple[int, ...]) -> Any:
        out = [j not in few for j in range(len(table[0].scores))]
        return -scored[few]["covered"], scored[few]["effort"], len(few), out

    for row in result.tables["best"]:
        chosen = min((few for few in scored if len(few) == row["size"]), key=order)
        assert row["models"] == [f"m{j}" for j in chosen], (seed, row["size"])
    within = [few for few in scored if scored[few]["effort"] <= exact]
    found = [row["models"] for row in result.tables["max_effort"]]
    assert found == ([[f"m{j}" for j in min(within, key=order)]] if within else []), seed


def test_sweeps(tables: list[tuple[int, list[Weighed]]]) -> None:
    for seed, table in tables:
        k, exactly = len(table[0].scores), decimal(table)
        result = clfeval.mars(
            frame_of(table, votes=False), **OPTIONS, kind="score", sweep="threshold"
        )
        for row in result.tables["sweep"]:
            cut, j = row["threshold"], int(str(row["model"])[1:])
            says = [[one.scores[i] >= cut for i in range(k)] for one in table]  # type: ignore[operator]
            hits = [one.n for one, v in zip(table, says, strict=True) if one.truth and v[j]]
            only = [
                one.n
                for one, v in zip(table, says, strict=True)
                if one.truth and v[j] and sum(v) == 1
            ]
            ttp = [one.n for one, v in zip(table, says, strict=True) if one.truth and any(v)]
            for column, parts in (("hits", hits), ("exclusive_tp", only), ("found", ttp)):
                assert is_close(row[column], sum(parts, Fraction(0))), (seed, column)
            share = ratio(sum(only, Fraction(0)), sum(ttp, Fraction(0)))
            assert same(row["shine_through"], share, exactly=exactly), seed


def test_phidelta(tables: list[tuple[int, list[Weighed]]]) -> None:
    for seed, table in tables:
        exactly = decimal(table)
        result = clfeval.phidelta(
            frame_of(table, votes=False), **OPTIONS, kind="score", curve=True, reference="m0"
        )
        for j, row in enumerate(by_model(result.tables["models"]).values()):
            cells = cells_of(table, lambda one, j=j: one.votes[j])  # type: ignore[misc]
            numbers = rates(cells)
            for name, cell in zip(("tp", "fp", "fn", "tn"), cells, strict=True):
                assert is_close(row[name], cell), (seed, name)
            for name, number in numbers.items():
                assert same(row[name], number, exactly=exactly), (seed, name)
            tpr, fpr = numbers["sensitivity"], 1 - numbers["specificity"]  # type: ignore[operator]
            even = rates(at(cells, Fraction(1)))
            for name, number in (
                ("phi", tpr + fpr - 1),
                ("delta", tpr - fpr),  # type: ignore[operator]
                ("accuracy_u", even["accuracy"]),
                ("precision_u", even["precision"]),
                ("npv_u", even["npv"]),
                ("f1", ratio(2 * cells[0], 2 * cells[0] + cells[1] + cells[2])),
            ):
                assert same(row[name], number, exactly=False), (seed, name)
        judged(result, f"m{j}", "npv", numbers["npv"], exactly=exactly)
        judged(result, f"m{j}", "sensitivity", numbers["sensitivity"], exactly=exactly)
        check_curves(seed, table, result)


def check_curves(seed: int, table: list[Weighed], result: Result) -> None:
    for j, row in enumerate(by_model(result.tables["curves"]).values()):
        pairs = won = Fraction(0)
        for one in (row for row in table if row.truth):
            for other in (row for row in table if not row.truth):
                a, b = one.scores[j], other.scores[j]
                pairs += one.n * other.n
                won += one.n * other.n * (Fraction(1, 2) if a == b else int(a > b))
        assert same(row["roc_auc"], won / pairs, exactly=False), seed
    for row in result.tables["curve"]:
        j, cut = int(str(row["model"])[1:]), row["threshold"]
        cells = cells_of(table, lambda one: cut is not None and one.scores[j] >= cut)  # type: ignore[operator] # noqa: B023
        assert is_close(row["tp"], cells[0]), seed
        assert is_close(row["fp"], cells[1]), seed


def test_features(tables: list[tuple[int, list[Weighed]]]) -> None:
    for seed, table in tables:
        cut = ("median", "best", 0.5)[seed % 3]
        frame = frame_of(table, votes=cut == 0.5 and seed % 2 == 0)
        given: dict[str, Any] = {} if cut == 0.5 and seed % 2 == 0 else {"cut": cut}
        result = clfeval.phidelta(frame, **OPTIONS, features=True, **given)
        for name, row in {str(row["feature"]): row for row in result.tables["features"]}.items():
            j, rule, place = int(name[1:]), row["rule"], row["cut"]

            def true(one: Weighed, j: int = j, rule: Any = rule, place: Any = place) -> bool:
                if rule is None:
                    return one.votes[j]
                return bool(one.scores[j] > place if rule == ">" else one.scores[j] >= place)

            cells = cells_of(table, true)
            for column, cell in zip(("tp", "fp", "fn", "tn"), cells, strict=True):
                assert is_close(row[column], cell), (seed, column)
            tp, fp, fn, tn = cells
            delta = tp / (tp + fn) - fp / (fp + tn)
            assert same(row["delta"], delta, exactly=False), seed
            constant = not (tp + fp and fn + tn)
            borders = (
                [] if constant else [tp and not fp, tn and not fn, fp and not tp, fn and not tn]
            )
            assert len(row["implications"]) == sum(map(bool, borders)), seed  # type: ignore[arg-type]
            if cut == "best" and rule == ">=" and len({one.scores[j] for one in table}) > 2:
                gains = [
                    abs(c[0] / (tp + fn) - c[1] / (fp + tn))
                    for score in SCORES
                    for c in [cells_of(table, lambda one: one.scores[j] >= score)]  # noqa: B023
                ]
                assert abs(delta) >= max(gains) - Fraction(1, 10**12), seed


JPT = ("tar", "tor", "ppv", "npv", "ppv_odds", "npv_odds", "lr_pos", "lr_neg", "dor", "j_index")


def jpt(cells: Cells) -> dict[str, Number]:
    """Return measures of tune-jpt, of a table whose classes are not empty."""
    tp, fp, fn, tn = cells
    p, n = tp + fn, fp + tn
    return {
        "tar": (tp + tn) / (p + n),
        "tor": ratio(tp + tn, fp + fn),
        "ppv": ratio(tp, tp + fp),
        "npv": ratio(tn, tn + fn),
        "ppv_odds": ratio(tp, fp),
        "npv_odds": ratio(tn, fn),
        "lr_pos": ratio(tp * n, fp * p),
        "lr_neg": ratio(fn * n, tn * p),
        "dor": ratio(tp * tn, fp * fn),
        "j_index": tp / p - fp / n,
    }


def test_tune_jpt(tables: list[tuple[int, list[Weighed]]]) -> None:
    for seed, table in tables:
        result = clfeval.tune_jpt(
            frame_of(table, votes=False), **OPTIONS, kind="score", prevalence="1:4", measure=JPT
        )
        odds = {"1:1": Fraction(1), "target": Fraction(1, 4)}
        for population in ("sample", "1:1", "target"):
            rows = by_model(result.tables["models"], population=population)
            for j, row in enumerate(rows.values()):
                counted = cells_of(table, lambda one, j=j: one.votes[j])  # type: ignore[misc]
                cells = counted if population == "sample" else at(counted, odds[population])
                for name, number in jpt(cells).items():
                    assert same(row[name], number, exactly=False), (seed, population, name)
                if population == "sample":
                    for name, cell in zip(("tp", "fp", "fn", "tn"), cells, strict=True):
                        assert is_close(row[name], cell), (seed, name)
        at_target = jpt(cells)
        for name in ("npv", "lr_neg", "tor", "dor"):
            value = at_target[name]
            if name != "lr_neg":  # of which lower values are better
                passed = result.check(fail_under={f"m{j}:{name}": 0.5}).passed
                assert passed == (value is not None and value >= 0.5), (seed, name)
            passed = result.check(fail_over={f"m{j}:{name}": 0.5}).passed
            assert passed == (value is not None and value <= 0.5), (seed, name)
        check_thresholds(seed, table, result)


def check_thresholds(seed: int, table: list[Weighed], result: Result) -> None:
    """No cut is better than the one named as best, and that one is worth what is said."""
    odds = {"1:1": Fraction(1), "target": Fraction(1, 4)}
    for row in result.tables["thresholds"]:
        name, population, j = str(row["measure"]), row["population"], int(str(row["model"])[1:])
        if population not in odds or name not in ("tar", "j_index", "ppv", "npv"):
            continue
        worth: list[Fraction] = []
        for cut in (*SCORES, inf):
            cells = cells_of(table, lambda one: one.scores[j] >= cut)  # noqa: B023
            value = jpt(at(cells, odds[str(population)]))[name]
            worth += [Fraction(value)] if value is not None else []
        assert same(row["value"], max(worth), exactly=False), (seed, name)
