"""Many models against one: p values and verdicts that hold together, and a margin that matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from clfeval.methods.verdict import verdict
from scipy.optimize import brentq
from statsmodels.stats.multitest import multipletests

import clfeval
from clfeval.methods.phidelta.answer import _that_matters
from clfeval.result import Estimate, Result, estimate
from tests.methods.phidelta.test_comparisons import newcombe

P = N = 200
# of 200 positives and 200 negatives: found by both, only by the model, only by ref; alarms alike
SHARED, ALONE = 150, {"best": (20, 0), "more": (13, 3), "same": (6, 6), "less": (4, 12)}
REF = 30


def frame() -> pl.DataFrame:
    """Return models that differ from ref among positives only, each in rows of its own."""
    truth = np.repeat([1, 0], [P, N])
    ref = np.zeros(P + N, int)
    ref[: SHARED + REF] = 1
    columns: dict[str, Any] = {"truth": truth, "ref": ref}
    for name, (more, less) in ALONE.items():
        votes = ref.copy()
        votes[SHARED + REF : SHARED + REF + more] = 1
        votes[:less] = 0
        columns[name] = votes
    return pl.DataFrame(columns)


def rows_of(result: Result) -> dict[str, dict[str, Any]]:
    return {str(row["model"]): dict(row) for row in result.tables["comparisons"]}


def chance(name: str) -> float:
    """Return the alpha at which the interval of the difference ends at 0, by hand."""
    more, less = ALONE[name]
    table = SHARED + REF - less, more, less, P - SHARED - REF - more
    none = (0, 0, 0, N)

    def end(alpha: float) -> float:
        d1, down1, up1 = newcombe(table, 1 - alpha)
        d2, down2, up2 = newcombe(none, 1 - alpha)
        low, high = d1 - d2 - np.hypot(down1, up2), d1 - d2 + np.hypot(up1, down2)
        return float(low if d1 > 0 else -high)

    return float(brentq(end, 1e-9, 0.999, xtol=1e-15))


def test_p_values_are_those_of_the_intervals_and_adjusted_by_holm() -> None:
    found = rows_of(clfeval.phidelta(frame(), reference="ref"))
    alone = {name: 1.0 if name == "same" else chance(name) for name in ALONE}
    together = dict(zip(alone, multipletests([*alone.values()], method="holm")[1], strict=True))
    for name, row in found.items():
        assert row["p_value"] == pytest.approx(alone[name], rel=1e-6)
        assert row["p_adjusted"] == pytest.approx(together[name], rel=1e-6)
    # 16 rows differ from ref: by itself certain, with three others compared not
    assert found["more"]["p_value"] < 0.05 < found["more"]["p_adjusted"]
    assert estimate(found["more"]["delta_difference"]).low > 0  # type: ignore[operator]
    verdicts = {name: row["verdict"] for name, row in found.items()}
    assert verdicts == {
        "best": "better", "more": "undecided", "same": "undecided", "less": "undecided",
    }  # fmt: skip


def test_sentence_and_table_say_the_same() -> None:
    result = clfeval.phidelta(frame(), reference="ref")
    (one,) = (one for one in result.answer if one.code == "against-reference")
    assert one.text == (
        "Against ref, on the same rows: best discriminates more; more, same and less cannot be "
        "told from it."
    )
    assert one.models == ("best",)


def test_the_adjusted_interval_is_at_a_quarter_of_what_may_err() -> None:
    found = rows_of(clfeval.phidelta(frame(), reference="ref"))
    alone = rows_of(clfeval.phidelta(frame(), reference="ref", level=1 - 0.05 / 4))
    for name, row in found.items():
        assert row["delta_adjusted"] == alone[name]["delta_difference"]


def test_one_comparison_is_not_adjusted() -> None:
    (row,) = rows_of(clfeval.phidelta(frame().select("truth", "ref", "more"), reference="ref")
                     ).values()  # fmt: skip
    assert row["p_value"] == row["p_adjusted"]
    assert row["delta_adjusted"] == row["delta_difference"]
    assert row["verdict"] == "better"


def test_without_intervals_there_is_no_verdict() -> None:
    for row in rows_of(clfeval.phidelta(frame(), reference="ref", interval="none")).values():
        names = ("p_value", "p_adjusted", "phi_p_value", "phi_p_adjusted", "verdict")
        assert [row[name] for name in names] == [None] * 5


@pytest.mark.parametrize(
    ("low", "high", "told", "margin", "expected"),
    [
        (0.01, 0.05, 1, None, "better"), (-0.05, -0.01, -1, None, "worse"),
        (-0.01, 0.05, 0, None, "undecided"), (0.01, 0.05, 1, 0.02, "better"),
        (0.01, 0.019, 1, 0.02, "equivalent"), (-0.019, 0.019, 0, 0.02, "equivalent"),
        (-0.019, 0.05, 0, 0.02, "not worse"), (-0.02, 0.05, 0, 0.02, "undecided"),
        (-0.05, 0.01, 0, 0.02, "undecided"), (-0.05, -0.01, -1, 0.02, "worse"),
        (-0.019, -0.001, -1, 0.02, "equivalent"),
    ],
)  # fmt: skip
def test_verdicts(low: float, high: float, told: int, margin: float | None, expected: str) -> None:
    assert verdict(low, high, told, margin) == expected


def test_a_margin_in_rows_and_in_a_sentence() -> None:
    """Each interval is at 98.75 %: that of same, 0 of 200 rows, is about -+ .05."""
    result = clfeval.phidelta(frame(), reference="ref", margin=0.07)
    found = rows_of(result)
    verdicts = {name: row["verdict"] for name, row in found.items()}
    assert verdicts == {
        "best": "better", "more": "not worse", "same": "equivalent", "less": "undecided",
    }  # fmt: skip
    for name, row in found.items():
        sure = estimate(row["delta_adjusted"])
        inside = sure.low > -0.07 and sure.high < 0.07  # type: ignore[operator]
        assert inside == (name == "same")
    by = "by more" if estimate(found["best"]["delta_adjusted"]).low > 0.07 else "perhaps by less"  # type: ignore[operator]
    text = next(one.text for one in result.answer if one.code == "that-matters")
    assert text == (
        f"If δ has to differ by 0.07 to matter: best is better than ref{', ' * (by[0] == 'p')}"
        f"{' ' * (by[0] == 'b')}{by}; same is equivalent to ref; more is not worse than ref by so "
        "much; less is not better than ref by so much, and perhaps worse."
    )
    assert result.parameters["margin"] == 0.07
    assert "|margin:0.07|" in result.signature


@pytest.mark.parametrize(
    ("low", "high", "told", "words"),
    [
        (0.06, 0.20, 1, "m is better than ref by more"),
        (0.04, 0.20, 1, "m is better than ref, perhaps by less"),
        # a test of all together tells more than intervals that hold together
        (-0.06, 0.20, 1, "m is better than ref, perhaps by less"),
        (-0.20, -0.06, -1, "m is worse than ref by more"),
        (-0.20, -0.04, -1, "m is worse than ref, perhaps by less"),
        (-0.20, 0.06, -1, "m is worse than ref, perhaps by less"),
        (-0.04, 0.04, 0, "m is equivalent to ref"),
        (0.01, 0.04, 1, "m is equivalent to ref"),
        (-0.04, 0.20, 0, "m is not worse than ref by so much"),
        (-0.20, 0.06, 0, "m may be worse than ref by so much, or better"),
        (-0.20, 0.04, 0, "m is not better than ref by so much, and perhaps worse"),
        (-0.20, -0.01, 0, "m is not better than ref by so much, and perhaps worse"),
    ],
)
def test_what_is_said_of_an_interval_is_true_of_all_of_it(
    low: float, high: float, told: int, words: str
) -> None:
    row = {
        "model": "m", "delta_adjusted": Estimate((low + high) / 2, low, high),
        "verdict": verdict(low, high, told, 0.05),
    }  # fmt: skip
    (said,) = _that_matters("ref", [row], 0.05)
    assert said.text == f"If δ has to differ by 0.05 to matter: {words}."
    inside = np.linspace(low, high, 1001)
    for claim, holds in (
        ("better than ref by more", (inside > 0.05).all()),
        ("worse than ref by more", (inside < -0.05).all()),
        ("equivalent", (abs(inside) < 0.05).all()),
        ("not worse than", (inside > -0.05).all()),
        ("not better than", (inside < 0.05).all()),
        (", or better", (inside >= 0.05).any()),
    ):
        assert claim not in words or holds, claim


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"margin": 0.1}, "add reference"),
        ({"margin": 0, "reference": "ref"}, "not a number"),
        ({"margin": -1, "reference": "ref"}, "not a number"),
    ],
)
def test_a_margin_that_judges_nothing_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(clfeval.UsageError, match=words):
        clfeval.phidelta(frame(), **options)


def test_runs_are_adjusted_too() -> None:
    rng = np.random.default_rng(0)
    parts = []
    for fold in range(8):
        truth = rng.random(60) < 0.5
        columns = {
            name: (truth ^ (rng.random(60) < errs)) * 1
            for name, errs in {"a": 0.1, "b": 0.2, "c": 0.35}.items()
        }
        parts.append(pl.DataFrame({"fold": f"{fold}", "truth": truth * 1} | columns))
    result = clfeval.phidelta(pl.concat(parts), run="fold", train_fraction=0.8)
    rows = result.tables["run_comparisons"]
    alone = [float(str(row["p_value"])) for row in rows]
    expected = multipletests(alone, method="holm")[1]
    assert [row["p_adjusted"] for row in rows] == pytest.approx(list(expected))
    free = clfeval.phidelta(pl.concat(parts), run="fold").tables["run_comparisons"]
    assert [row["p_adjusted"] for row in free] == [None] * 3


@pytest.mark.slow
def test_equal_models_are_seldom_called_different() -> None:
    """Four against one, all alike: any is called in 5 % of tables at most, up to chance."""
    rng = np.random.default_rng(5)
    n, tables = 120, 200
    truth = rng.random((tables, n)) < 0.4
    votes = (1.2 * truth[..., None] + rng.standard_normal((tables, n, 5))) > 0.6
    columns = {f"m{i}": votes[..., i].ravel() * 1 for i in range(5)}
    table = pl.DataFrame(
        {"t": np.repeat(np.arange(tables), n), "truth": truth.ravel() * 1, **columns}
    )
    rows = clfeval.phidelta(table, by="t", reference="m0").tables["comparisons"]
    named = [row for row in rows if row["slice"] is not None]
    called = {row["slice"] for row in named if row["verdict"] != "undecided"}
    each = {row["slice"] for row in named if not _covers(row["delta_difference"])}
    assert len(called) <= 0.08 * tables < len(each)


def _covers(cell: Any) -> bool:
    assert isinstance(cell, Estimate)
    return cell.low is not None and cell.high is not None and cell.low <= 0 <= cell.high
