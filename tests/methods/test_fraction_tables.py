"""Random tables with fractional weights against exact fractions, all commands, gates included."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import inf
from typing import Any

import pytest

import clfeval
from clfeval.api.result import Result
from tests.methods.fractions import (
    SCORES,
    Cells,
    Weighed,
    cells_of,
    coverage_of,
    decimal,
    frame_of,
    is_close,
    is_number,
    random_weighed_rows,
    ratio,
    subsets,
)
from tests.results import four_cells, rows_by, rows_of
from tests.thoroughness import full

OPTIONS: dict[str, Any] = {"weight": "w", "interval": "none"}
Number = Fraction | float | None
TABLES, PARTS = 5000, 10
SWEPT = 20  # one table of so many is tuned to the ratios of the sweep too, which no test looks at


SeededTables = list[tuple[int, list[Weighed]]]


@pytest.fixture(params=range(PARTS))
def seeded_tables(request: pytest.FixtureRequest) -> SeededTables:
    """A tenth of the tables; in the gate every five hundredth."""
    step = PARTS if full() else PARTS * 500
    return [(seed, random_weighed_rows(seed)) for seed in range(request.param, TABLES, step)]


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


def are_close(numbers: Iterable[Any], expected: Cells) -> bool:
    return all(is_close(x, y) for x, y in zip(numbers, expected, strict=True))


def check_gates(
    result: Result, model: str, measure: str, expected: Number, *, exactly: bool
) -> None:
    """Hold a measure to limits: met from the value on, missed above, and never met undefined."""
    number = None if expected in (None, inf) else float(expected)  # type: ignore[arg-type]
    limits = [0.5]
    if number is not None:
        neighbours = [min(number + 1e-9, 1.0), max(number - 1e-9, 0)]
        limits = [*neighbours, *([number] if exactly or number in (0, 1) else [])]
    for limit in limits:
        check = result.check(fail_under={f"{model}:{measure}": limit})
        met = expected == inf or (number is not None and number >= limit)
        assert check.passed == met, (measure, expected, limit)
        check = result.check(fail_over={f"{model}:{measure}": limit})
        assert check.passed == (number is not None and number <= limit), (measure, expected, limit)


def test_mars(seeded_tables: SeededTables) -> None:
    for seed, table in seeded_tables:
        target, rule = ("positive", "negative")[seed % 2], ("all", "any")[seed // 2 % 2]
        k, exactly = len(table[0].scores), decimal(table)
        is_positive = int(target == "positive")
        scored = {members: coverage_of(table, members, is_positive) for members in subsets(k)}
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
            ("exclusive_tp", "exclusive_fn") if is_positive else ("exclusive_tn", "exclusive_fp")
        )
        assert is_close(result.summary["rows"], len(table))
        assert is_close(result.summary["found"], ttp)
        for j, row in enumerate(rows_by(result, "models", "model").values()):
            cells = cells_of(table, lambda row, j=j: row.votes[j])  # type: ignore[misc]
            assert are_close(four_cells(row), cells), seed
            numbers = rates(cells)
            numbers["recall"] = numbers["sensitivity"]
            for name in ("accuracy", "precision", "recall"):
                assert is_number(row[name], numbers[name], exactly=exactly), (seed, name)
        name = ("accuracy", "precision", "recall")[seed % 3]
        check_gates(result, f"m{k - 1}", name, numbers[name], exactly=exactly)
        for row in rows_of(result, "subsets"):
            members = tuple(int(name[1:]) for name in row["models"])
            coverage = scored[members]
            hidden = None if members == every and ttp else ratio(coverage[rule], ttp)
            for column, rows in {
                "covered": coverage["covered"],
                "effort": coverage["effort"],
                alone: coverage["alone"],
                missed: coverage[rule] if members != every else Fraction(0),
            }.items():
                assert is_close(row[column], rows), (seed, members, column)
            for column, expected in {
                "yield": ratio(coverage["covered"], coverage["effort"]),
                "shine_through": ratio(coverage["alone"], ttp),
                "occlusion": hidden,
            }.items():
                assert is_number(row[column], expected, exactly=exactly), (seed, members, column)
        check_choices(seed, table, result, scored, limit)


def check_choices(
    seed: int, table: list[Weighed], result: Result, scored: Any, limit: float
) -> None:
    """The best of each size, and within an effort: most covered, least effort, first models."""
    exact = Fraction(limit) * (1 + Fraction(1, 10**12))

    def order(members: tuple[int, ...]) -> Any:
        absent = [j not in members for j in range(len(table[0].scores))]
        return -scored[members]["covered"], scored[members]["effort"], len(members), absent

    for row in result.tables["best"]:
        best = min((members for members in scored if len(members) == row["size"]), key=order)
        assert row["models"] == [f"m{j}" for j in best], (seed, row["size"])
    allowed = [members for members in scored if scored[members]["effort"] <= exact]
    models = [row["models"] for row in result.tables["max_effort"]]
    assert models == ([[f"m{j}" for j in min(allowed, key=order)]] if allowed else []), seed


def test_sweeps(seeded_tables: SeededTables) -> None:
    for seed, table in seeded_tables:
        k, exactly = len(table[0].scores), decimal(table)
        result = clfeval.mars(
            frame_of(table, votes=False), **OPTIONS, kind="score", sweep="threshold"
        )
        for line in rows_of(result, "sweep"):
            threshold, j = line["threshold"], int(line["model"][1:])
            positives = [row for row in table if row.truth]
            votes = [[row.scores[i] >= threshold for i in range(k)] for row in positives]
            voted = list(zip(positives, votes, strict=True))
            hits = [row.n for row, v in voted if v[j]]
            only = [row.n for row, v in voted if v[j] and sum(v) == 1]
            ttp = [row.n for row, v in voted if any(v)]
            for column, parts in (("hits", hits), ("exclusive_tp", only), ("found", ttp)):
                assert is_close(line[column], sum(parts, Fraction(0))), (seed, column)
            share = ratio(sum(only, Fraction(0)), sum(ttp, Fraction(0)))
            assert is_number(line["shine_through"], share, exactly=exactly), seed


def test_phidelta(seeded_tables: SeededTables) -> None:
    for seed, table in seeded_tables:
        exactly = decimal(table)
        result = clfeval.phidelta(
            frame_of(table, votes=False), **OPTIONS, kind="score", curve=True, reference="m0"
        )
        for j, row in enumerate(rows_by(result, "models", "model").values()):
            cells = cells_of(table, lambda row, j=j: row.votes[j])  # type: ignore[misc]
            numbers = rates(cells)
            assert are_close(four_cells(row), cells), seed
            for name, number in numbers.items():
                assert is_number(row[name], number, exactly=exactly), (seed, name)
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
                assert is_number(row[name], number, exactly=False), (seed, name)
        check_gates(result, f"m{j}", "npv", numbers["npv"], exactly=exactly)
        check_gates(result, f"m{j}", "sensitivity", numbers["sensitivity"], exactly=exactly)
        check_curves(seed, table, result)


def check_curves(seed: int, table: list[Weighed], result: Result) -> None:
    for j, line in enumerate(rows_by(result, "curves", "model").values()):
        pairs = won = Fraction(0)
        for positive in (row for row in table if row.truth):
            for negative in (row for row in table if not row.truth):
                a, b = positive.scores[j], negative.scores[j]
                pairs += positive.n * negative.n
                won += positive.n * negative.n * (Fraction(1, 2) if a == b else int(a > b))
        assert is_number(line["roc_auc"], won / pairs, exactly=False), seed
    for line in rows_of(result, "curve"):
        j, cut = int(line["model"][1:]), line["threshold"]
        cells = cells_of(table, lambda row: cut is not None and row.scores[j] >= cut)  # noqa: B023
        assert is_close(line["tp"], cells[0]), seed
        assert is_close(line["fp"], cells[1]), seed


def test_features(seeded_tables: SeededTables) -> None:
    for seed, table in seeded_tables:
        cut = ("median", "best", 0.5)[seed % 3]
        frame = frame_of(table, votes=cut == 0.5 and seed % 2 == 0)
        options: dict[str, Any] = {} if cut == 0.5 and seed % 2 == 0 else {"cut": cut}
        result = clfeval.phidelta(frame, **OPTIONS, features=True, **options)
        for name, line in rows_by(result, "features", "feature").items():
            j, rule, place = int(name[1:]), line["rule"], line["cut"]

            def true(row: Weighed, j: int = j, rule: Any = rule, place: Any = place) -> bool:
                if rule is None:
                    return row.votes[j]
                return bool(row.scores[j] > place if rule == ">" else row.scores[j] >= place)

            cells = cells_of(table, true)
            assert are_close(four_cells(line), cells), seed
            tp, fp, fn, tn = cells
            delta = tp / (tp + fn) - fp / (fp + tn)
            assert is_number(line["delta"], delta, exactly=False), seed
            constant = not (tp + fp and fn + tn)
            borders = (
                [] if constant else [tp and not fp, tn and not fn, fp and not tp, fn and not tn]
            )
            assert len(line["implications"]) == sum(map(bool, borders)), seed
            if cut == "best" and rule == ">=" and len({row.scores[j] for row in table}) > 2:
                gains = [
                    abs(c[0] / (tp + fn) - c[1] / (fp + tn))
                    for score in SCORES
                    for c in [cells_of(table, lambda row: row.scores[j] >= score)]  # noqa: B023
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


def test_tune_jpt(seeded_tables: SeededTables) -> None:
    for seed, table in seeded_tables:
        is_swept = (seed // PARTS + seed) % SWEPT == 0
        result = clfeval.tune_jpt(
            frame_of(table, votes=False),
            **OPTIONS,
            **({} if is_swept else {"sweep": None}),
            kind="score",
            prevalence="1:4",
            measure=JPT,
        )
        odds = {"1:1": Fraction(1), "target": Fraction(1, 4)}
        for population in ("sample", "1:1", "target"):
            rows = rows_by(result, "models", "model", population=population)
            for j, row in enumerate(rows.values()):
                in_sample = cells_of(table, lambda row, j=j: row.votes[j])  # type: ignore[misc]
                cells = in_sample if population == "sample" else at(in_sample, odds[population])
                for name, number in jpt(cells).items():
                    assert is_number(row[name], number, exactly=False), (seed, population, name)
                if population == "sample":
                    assert are_close(four_cells(row), cells), seed
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
    measures = {
        (j, population): [
            jpt(at(cells_of(table, lambda row: row.scores[j] >= cut), ratio))  # noqa: B023
            for cut in (*SCORES, inf)
        ]
        for j in range(len(table[0].scores))
        for population, ratio in odds.items()
    }
    for line in rows_of(result, "thresholds"):
        name, population, j = line["measure"], line["population"], int(line["model"][1:])
        if population not in odds or name not in ("tar", "j_index", "ppv", "npv"):
            continue
        at_cuts = [measures_of_cut[name] for measures_of_cut in measures[j, population]]
        values = [Fraction(value) for value in at_cuts if value is not None]
        assert is_number(line["value"], max(values), exactly=False), (seed, name)
