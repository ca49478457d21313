"""What the screen of a report claims: nothing without a test, and at which thresholds it holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import clfeval
from clfeval.api.result import Result
from clfeval.pages.command_pages import page_of
from clfeval.views.table_layout import layout_table, sort_tables
from clfeval.views.terminal import as_text
from tests.results import rows_by, value_of
from tests.samples import logistic
from tests.texts import check_text, numbers_in


def noisy_models(*models: str, rows: int = 120) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    truth = rng.random(rows) < 0.4
    noise = {name: rng.standard_normal(rows) * (1 + i / 2) for i, name in enumerate(models)}
    scores = {name: logistic(2 * truth - 1 + x, 3) for name, x in noise.items()}
    return pl.DataFrame({"truth": truth.astype(int), "site": list("ABC") * (rows // 3), **scores})


def table_lines(result: Result, name: str) -> list[str]:
    """Return the lines of a table on a screen of 80 columns, from its title to the next blank."""
    shown = next(one for one in sort_tables(result).opened if (one.name or one.table) == name)
    title = layout_table(shown, result).title
    lines = as_text(result, width=80).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(title))
    return lines[start : lines.index("", start) if "" in lines[start:] else len(lines)]


def test_each_model_at_its_own_threshold_says_which() -> None:
    alone = clfeval.report(noisy_models("a", "b"), ignore="site", threshold=0.3)
    assert {0.3} <= {*numbers_in(table_lines(alone, "errors")[0])}
    own = clfeval.report(noisy_models("a", "b"), ignore="site", threshold={"b": 0.25})
    title, heads, _, first, second, *_ = table_lines(own, "errors")
    check_text([*table_lines(alone, "errors")[:1], title, heads])
    assert (first.split()[:2], second.split()[:2]) == (["a", "0.5"], ["b", "0.25"])
    # net benefits at several thresholds are no contest
    check_text(table_lines(own, "probabilities"))


def test_slices_name_no_best_model_that_nobody_tested() -> None:
    result = clfeval.report(noisy_models("a", "b"), by="site")
    title, heads, _, *rows = table_lines(result, "slices")
    check_text([title, heads])
    found = {row.split()[0]: row.split()[3] for row in rows[:3]}
    assert found == {
        label: f"{value_of(row['roc_auc']):.3f}"
        for label, row in rows_by(result, "models", "slice", model="a").items()
        if label is not None
    }


def test_the_best_is_marked_where_it_was_tested() -> None:
    counts = pl.DataFrame(
        {"model": ["a", "b"], "tp": [40, 35], "fp": [10, 5], "fn": [10, 15], "tn": [90, 95]}
    )
    untested = (
        as_text(clfeval.report(counts), width=80).splitlines(),
        table_lines(
            clfeval.report(noisy_models("a", "b"), ignore="site", interval="none"), "probabilities"
        ),
        table_lines(
            clfeval.report(noisy_models("a"), ignore="site"), "probabilities"
        ),  # one of one
    )
    assert not any("*" in line for lines in untested for line in lines)
    tested = clfeval.report(noisy_models("a", "b"), ignore="site")
    assert "a      *" in "\n".join(table_lines(tested, "probabilities"))


def test_curves_are_held_against_chance_and_begin_with_the_best_model() -> None:
    result = clfeval.report(noisy_models("a", "b", "c"), ignore="site")
    charts = {chart.name: chart for chart in page_of("report").charts(result)}
    share = result.summary["positives"] / result.summary["rows"]
    against = {
        "roc": {"chance": (0, 1)},
        "pr": {"chance": (share, share)},
        "gain": {"chance": (0, 1)},
        "lift": {"chance": (1, 1)},
        "calibration": {"calibrated": (0, 1)},
    }
    best = max(result.tables["models"], key=lambda row: value_of(row["roc_auc"]))["model"]
    for name, lines in against.items():
        first, *_ = charts[name].series
        assert first.name == best
        drawn = {one.name: one.parts[0] for one in charts[name].series if one.letter}
        assert drawn == {k: ((0.0, a), (1.0, b)) for k, (a, b) in lines.items()}
        assert charts[name].x.range == (0, 1)
    drawn = {one.name: one.parts[0] for one in charts["benefit"].series if one.letter}
    assert drawn["treat none"] == ((0, 0), (1, 0))
    assert len(drawn) == 2


@pytest.mark.parametrize(("prevalence", "points"), [(0.3, 31), (0.01, 2), (0.0001, 0)])
def test_treat_all_is_drawn_as_far_as_it_is_not_deeply_negative(
    prevalence: float, points: int, tmp_path: Path
) -> None:
    """Net benefit p - (1 - p) t / (1 - t): 0 at t = p; thresholds are 0.01, 0.02, ...

    At p 0.3 it is 0.293 at 0.01 and above -0.05 x 0.293 for t / (1 - t) <= 0.4495, t <= 0.31. At p
    0.01 it is 0 at 0.01 and negative at 0.02, at p 0.0001 negative from 0.01 on.
    """
    result = clfeval.report(noisy_models("a", "b"), ignore="site", prevalence=prevalence)
    (chart,) = (chart for chart in page_of("report").charts(result) if chart.name == "benefit")
    drawn = {series.name: series.parts[0] for series in chart.series}
    assert len(drawn.get("treat all", ())) == points
    for t, benefit in drawn.get("treat all", ())[:-1]:
        assert benefit == pytest.approx(prevalence - (1 - prevalence) * t / (1 - t), abs=1e-12)
    result.save(f"{tmp_path}/pictures/")
    picture = (tmp_path / "pictures" / "benefit.svg").read_text(encoding="utf-8")
    assert ("treat all" in picture) == (points > 0)


def test_the_screen_has_the_intercept_at_slope_1_and_says_so() -> None:
    """Odds of 3 and 1/3, halved, came as 2 and 1/2: one slope too steep, all of them ln 2 low.

    At slope 1 the middle of the two lies ln 2 = 0.693 off; at the slope ln 2 / ln 3 it is 0.437.
    """
    odds = {3: (1, 1, 0), 1 / 3: (1, 0, 0)}
    rows = [(y, x / 2 / (1 + x / 2)) for x, came in odds.items() for y in came * 20]
    result = clfeval.report(
        pl.DataFrame({"truth": [y for y, _ in rows], "a": [p for _, p in rows]})
    )
    lines = table_lines(result, "probabilities")
    check_text(lines)
    row = next(line.split() for line in lines if line.startswith("a "))
    assert "0.693" in row
    assert "0.437" not in row
